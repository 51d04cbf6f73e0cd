// Types in the text form.

#include <charconv>

#include "mtlc/ir/text_lexer.h"

namespace mtlc::ir {
namespace {

class TypeParser {
 public:
  TypeParser(Lexer& lexer, DiagnosticEngine& diags) : lexer_(lexer), diags_(diags) {}

  std::optional<Type> type(bool allowVoid) {
    if (!at(Tok::Word)) {
      expected("a type");
      return std::nullopt;
    }
    Token t = take();
    if (t.text == "ptr") {
      if (!expect(Tok::LAngle, "'<' and an address space")) return std::nullopt;
      Token s = take();
      std::optional<Space> space = s.kind == Tok::Word ? spaceFromName(s.text) : std::nullopt;
      if (!space) {
        diags_.report(DiagId::IrExpected, s.range,
                      {"generic, global, workgroup, private or constant", describe(s)});
        return std::nullopt;
      }
      if (!expect(Tok::RAngle, "'>'")) return std::nullopt;
      return Type::ptr(*space);
    }
    if (t.text == "tile") return tileType();
    std::optional<Type> found = scalarTypeFromName(t.text);
    if (!found || (found->isVoid() && !allowVoid)) {
      diags_.report(DiagId::IrUnknownType, t.range, {t.text.substr(0, 40)});
      return std::nullopt;
    }
    return found;
  }

 private:
  bool at(Tok kind) const { return lexer_.peek().kind == kind; }
  Token take() { return lexer_.take(); }
  bool accept(Tok kind) {
    if (!at(kind)) return false;
    take();
    return true;
  }
  bool acceptWord(std::string_view word) {
    if (!at(Tok::Word) || lexer_.peek().text != word) return false;
    take();
    return true;
  }
  bool expected(std::string_view what) {
    diags_.report(DiagId::IrExpected, lexer_.peek().range, {what, describe(lexer_.peek())});
    return false;
  }
  bool expect(Tok kind, std::string_view what) { return accept(kind) || expected(what); }

  // '<' 16x16xf32 [, workgroup] '>'
  std::optional<Type> tileType() {
    if (!expect(Tok::LAngle, "'<' and the shape of a tile")) return std::nullopt;
    uint32_t rows = 0, cols = 0;
    std::string_view s = lexer_.peek().text;
    auto dimension = [&](uint32_t& out) {
      auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), out);
      if (error != std::errc() || end == s.data() + s.size() || *end != 'x') return false;
      s.remove_prefix(static_cast<size_t>(end - s.data()) + 1);
      return out >= 1 && out <= UINT16_MAX;
    };
    std::optional<ElementFormat> format;
    if (at(Tok::Number) && dimension(rows) && dimension(cols)) format = elementFormatFromName(s);
    if (!format) {
      expected("a shape and an element format such as 16x16xf32");
      return std::nullopt;
    }
    take();
    bool workgroup = accept(Tok::Comma);
    if (workgroup && !acceptWord("workgroup")) {
      expected("'workgroup'");
      return std::nullopt;
    }
    if (!expect(Tok::RAngle, "'>'")) return std::nullopt;
    return Type::tile(static_cast<uint16_t>(rows), static_cast<uint16_t>(cols), *format, workgroup);
  }

  Lexer& lexer_;
  DiagnosticEngine& diags_;
};

}  // namespace

std::optional<Type> parseType(Lexer& lexer, DiagnosticEngine& diags, bool allowVoid) {
  return TypeParser(lexer, diags).type(allowVoid);
}

}  // namespace mtlc::ir
