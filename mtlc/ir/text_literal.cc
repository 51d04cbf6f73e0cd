// Literals of the text form.

#include <charconv>

#include "mtlc/ir/ir.h"
#include "mtlc/ir/text_lexer.h"
#include "mtlc/support/float_format.h"

namespace mtlc::ir {
namespace {

bool floatLiteral(std::string_view s, Type type, uint64_t& bits) {
  if (s.empty() || !(s[0] == '-' || (s[0] >= '0' && s[0] <= '9'))) return false;
  if (type == kF32) {
    // Straight from decimal: through float64 would round twice.
    float f = 0;
    auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), f);
    bits = f32Bits(f);
    return error == std::errc() && end == s.data() + s.size();
  }
  double d = 0;
  auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), d);
  if (error != std::errc() || end != s.data() + s.size()) return false;
  bits = type == kF64 ? f64Bits(d) : type == kF16 ? f64ToF16(d) : f64ToBf16(d);
  return true;
}

}  // namespace

bool parseLiteral(const Token& literal, Type type, uint64_t& bits, DiagnosticEngine& diags) {
  auto bad = [&](std::string_view hint) {
    diags.report(DiagId::IrLiteral, literal.range,
                 {literal.text.substr(0, 40), typeName(type), hint});
    return false;
  };
  std::string_view s = literal.text;
  if (type.isBool()) {
    if (s != "true" && s != "false") return bad("write true or false");
    bits = s == "true";
    return true;
  }
  if (type.isPtr()) {
    if (s != "null") return bad("the only pointer constant is null");
    bits = 0;
    return true;
  }
  if (s.starts_with("0x")) {
    auto [end, error] = std::from_chars(s.data() + 2, s.data() + s.size(), bits, 16);
    if (error != std::errc() || end != s.data() + s.size() || s.size() == 2 ||
        (bits & ~type.mask()) != 0) {
      return bad("the bits have to fit the type");
    }
    return true;
  }
  if (type.isFloat())
    return floatLiteral(s, type, bits) || bad("write 1.5, -2e-3, or the bits as 0x…");
  int64_t value = 0;
  auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (error == std::errc() && end == s.data() + s.size() &&
      signExtend(static_cast<uint64_t>(value), type.bits()) == value) {
    bits = static_cast<uint64_t>(value) & type.mask();
    return true;
  }
  uint64_t wide = 0;
  auto [uend, uerror] = std::from_chars(s.data(), s.data() + s.size(), wide);
  if (uerror == std::errc() && uend == s.data() + s.size() && (wide & ~type.mask()) == 0) {
    bits = wide;
    return true;
  }
  return bad("the value has to fit the type, signed or unsigned");
}

}  // namespace mtlc::ir
