// Tokens of the text form of the IR.

#ifndef MTLC_IR_TEXT_LEXER_H_
#define MTLC_IR_TEXT_LEXER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "mtlc/ir/types.h"
#include "mtlc/support/diagnostics.h"
#include "mtlc/support/source.h"

namespace mtlc::ir {

enum class Tok : uint8_t {
  End,
  Word,    // add, ptr.add, f32, inf
  Value,   // %name      (text without the sigil)
  Block,   // ^name
  Symbol,  // @name, @"name"
  Number,  // -1, 2.5e-3, 0x7fc00000
  String,  // "text"
  LParen,
  RParen,
  LBrace,
  RBrace,
  LBracket,
  RBracket,
  LAngle,
  RAngle,
  Comma,
  Colon,
  Equal,
  Arrow,
};

struct Token {
  Tok kind = Tok::End;
  bool startsLine = false;  // First token of its line.
  std::string_view
      text;  // Without sigil and quotes; for strings with escapes see `Lexer::unescaped`.
  SourceRange range;
};

class Lexer {
 public:
  Lexer(const SourceManager& sources, FileId file, DiagnosticEngine& diags);

  const Token& peek() const { return token_; }
  Token take();

  // The text of a string or symbol token with its \HH escapes resolved.
  static std::string unescape(std::string_view raw);

 private:
  void advance();
  SourceLoc here() const;
  Token make(Tok kind, size_t begin, size_t textBegin, size_t textEnd) const;

  DiagnosticEngine& diags_;
  std::string_view text_;
  FileId file_;
  size_t at_ = 0;
  size_t lineStart_ = 0;
  uint32_t line_ = 1;
  bool freshLine_ = true;
  Token token_;
};

// A type at the lexer's place; nullopt after a diagnostic.
std::optional<Type> parseType(Lexer& lexer, DiagnosticEngine& diags, bool allowVoid = false);

// The bits of a constant of `type`; false after a diagnostic when the token is none.
bool parseLiteral(const Token& literal, Type type, uint64_t& bits, DiagnosticEngine& diags);

// For messages: "'%x'", "end of file".
std::string describe(const Token& token);

}  // namespace mtlc::ir

#endif  // MTLC_IR_TEXT_LEXER_H_
