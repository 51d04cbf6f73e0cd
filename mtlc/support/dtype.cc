#include "mtlc/support/dtype.h"

#include <charconv>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "mtlc/support/scalar_ops.h"

namespace mtlc {
namespace {

constexpr DTypeInfo kTypes[] = {
#define MTLC_X(id, name, bytes, isFloat, isSigned, npy) {name, bytes, isFloat, isSigned, npy},
    MTLC_DTYPES(MTLC_X)
#undef MTLC_X
};

// Of float types only.
FloatKind floatKind(DType type) {
  switch (type) {
    case DType::F16:
      return FloatKind::F16;
    case DType::BF16:
      return FloatKind::BF16;
    case DType::F32:
      return FloatKind::F32;
    default:
      return FloatKind::F64;
  }
}

absl::Status bad(DType type, std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrFormat("'%s' is no %s: %s", text, dtypeInfo(type).name, why));
}

bool isHex(std::string_view text) {
  return text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
}

// The whole of `text` as an unsigned number.
bool parseUnsigned(std::string_view text, int base, uint64_t* value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

absl::StatusOr<uint64_t> parsePattern(DType type, std::string_view text) {
  const unsigned width = dtypeInfo(type).bytes * 8;
  uint64_t bits;
  if (!parseUnsigned(text.substr(2), 16, &bits) || bits > scalar::mask(width)) {
    return bad(type, text, absl::StrFormat("a bit pattern has up to %d digits", width / 4));
  }
  return bits;
}

absl::StatusOr<uint64_t> parseWhole(DType type, std::string_view text) {
  if (isHex(text)) return parsePattern(type, text);
  const unsigned width = dtypeInfo(type).bytes * 8;
  const bool isSigned = dtypeInfo(type).isSigned;
  bool negative = !text.empty() && text[0] == '-';
  uint64_t magnitude;
  if (!parseUnsigned(text.substr(negative ? 1 : 0), 10, &magnitude)) {
    return bad(type, text, "write a decimal number, or 0x and a bit pattern");
  }
  uint64_t most = isSigned ? scalar::mask(width) >> 1 : scalar::mask(width);
  if (negative ? magnitude > (isSigned ? most + 1 : 0) : magnitude > most) {
    return bad(type, text, "it is out of range");
  }
  return scalar::wrap(width, negative ? uint64_t{0} - magnitude : magnitude);
}

absl::StatusOr<uint64_t> parseFloat(DType type, std::string_view text) {
  const bool hexadecimal = isHex(text.substr(!text.empty() && text[0] == '-' ? 1 : 0));
  if (isHex(text) && text.find_first_of("pP") == std::string_view::npos) {
    return parsePattern(type, text);
  }
  FloatKind kind = floatKind(type);
  std::string_view magnitude = text;
  bool negative = !text.empty() && text[0] == '-';
  if (negative) magnitude.remove_prefix(1);
  const uint64_t sign = negative ? scalar::signBit(scalar::floatBits(kind)) : 0;
  if (magnitude == "nan") return scalar::canonicalNan(kind) | sign;
  if (magnitude == "inf") return scalar::infinity(kind) | sign;
  if (magnitude.empty() || !(magnitude[0] == '.' || (magnitude[0] >= '0' && magnitude[0] <= '9'))) {
    return bad(type, text, "write a decimal number, nan, inf, or 0x…");
  }
  if (hexadecimal) magnitude.remove_prefix(2);
  const char* end = magnitude.data() + magnitude.size();
  const auto format = hexadecimal ? std::chars_format::hex : std::chars_format::general;
  if (kind == FloatKind::F32) {
    float value;
    auto result = std::from_chars(magnitude.data(), end, value, format);
    if (result.ptr != end) return bad(type, text, "it is not a number");
    if (result.ec == std::errc::result_out_of_range) return bad(type, text, "it is out of range");
    return f32Bits(value) | sign;
  }
  double value;
  auto result = std::from_chars(magnitude.data(), end, value, format);
  if (result.ptr != end) return bad(type, text, "it is not a number");
  if (result.ec == std::errc::result_out_of_range) return bad(type, text, "it is out of range");
  return scalar::fromDouble(kind, value) | sign;
}

}  // namespace

const DTypeInfo& dtypeInfo(DType type) { return kTypes[static_cast<size_t>(type)]; }

std::optional<DType> dtypeFromName(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kTypes[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

absl::StatusOr<uint64_t> parseScalar(DType type, std::string_view text) {
  if (type == DType::Bool) {
    if (text == "1" || text == "true") return 1;
    if (text == "0" || text == "false") return 0;
    return bad(type, text, "write 0, 1, false or true");
  }
  return dtypeInfo(type).isFloat ? parseFloat(type, text) : parseWhole(type, text);
}

uint64_t scalarFromInteger(DType type, uint64_t value) {
  if (type == DType::Bool) return value != 0;
  if (dtypeInfo(type).isFloat) return scalar::uitof(floatKind(type), 64, value);
  return scalar::wrap(dtypeInfo(type).bytes * 8, value);
}

std::string scalarText(DType type, uint64_t bits) {
  const DTypeInfo& info = dtypeInfo(type);
  if (type == DType::Bool) return bits == 0 ? "0" : bits == 1 ? "1" : absl::StrFormat("0x%x", bits);
  if (info.isFloat) {
    // Shortest text that reads back as the same value of the type.
    double value = scalar::toDouble(floatKind(type), bits);
    if (std::isnan(value)) return std::signbit(value) ? "-nan" : "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    char buffer[64];
    std::to_chars_result end =
        type == DType::F64
            ? std::to_chars(buffer, buffer + sizeof buffer, value)
            : std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value));
    return std::string(buffer, end.ptr);
  }
  if (!info.isSigned) return std::to_string(bits);
  return std::to_string(scalar::signExtend(info.bytes * 8, bits));
}

}  // namespace mtlc
