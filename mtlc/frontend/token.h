// Tokens of Mettle, and interned names.

#ifndef MTLC_FRONTEND_TOKEN_H_
#define MTLC_FRONTEND_TOKEN_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "mtlc/support/arena.h"
#include "mtlc/support/source.h"

namespace mtlc::frontend {

enum class TokenKind : uint8_t {
  endOfFile,
  identifier,
  integer,    // value: index into TokenBuffer::integers
  floating,   // value: index into TokenBuffer::floats
  character,  // value: the character
  string,     // value: index into TokenBuffer::strings
  error,      // Already reported; stands for a lexeme that could not be read.
#define KEYWORD(Id, text) Id,
#define TYPE_KEYWORD(Id, text) Id,
#define PUNCT(Id, text) Id,
#include "mtlc/frontend/token.def"
};

// As in the source for keywords and punctuation; a description ("identifier") for the others.
std::string_view tokenText(TokenKind kind);

constexpr bool isKeyword(TokenKind kind) {
  return kind >= TokenKind::kwImport && kind <= TokenKind::kwString;
}
constexpr bool isTypeKeyword(TokenKind kind) {
  return kind >= TokenKind::kwInt8 && kind <= TokenKind::kwString;
}

// An interned identifier; 0 is "no name". Equal names have equal ids within one Interner.
struct Name {
  uint32_t id = 0;
  constexpr explicit operator bool() const { return id != 0; }
  friend constexpr bool operator==(Name, Name) = default;
};

// Keywords come first, in the order of token.def, then the rows of names.def.
namespace names {
enum : uint32_t {
  kNone,
#define KEYWORD(Id, text) kKeyword_##Id,
#define TYPE_KEYWORD(Id, text) kKeyword_##Id,
#include "mtlc/frontend/token.def"
#define NAME(Id, text) k_##Id,
#include "mtlc/frontend/names.def"
  kKnownCount,
};
#define NAME(Id, text) inline constexpr Name Id{k_##Id};
#include "mtlc/frontend/names.def"
}  // namespace names

class Interner {
 public:
  Interner();
  Name intern(std::string_view text);
  std::string_view text(Name name) const { return texts_[name.id]; }
  // Names have ids 0 … size() - 1.
  uint32_t size() const { return static_cast<uint32_t>(texts_.size()); }

  static constexpr bool isKeyword(Name name) {
    return name.id > names::kNone && name.id <= names::kKeyword_kwString;
  }
  static constexpr TokenKind keywordKind(Name name) {
    return static_cast<TokenKind>(static_cast<uint32_t>(TokenKind::kwImport) + name.id - 1);
  }
  static constexpr Name keywordName(TokenKind kind) {
    return Name{static_cast<uint32_t>(kind) - static_cast<uint32_t>(TokenKind::kwImport) + 1};
  }

 private:
  Arena arena_;
  std::vector<std::string_view> texts_;
  absl::flat_hash_map<std::string_view, uint32_t> ids_;
};

struct IntegerLiteral {
  uint64_t value = 0;
  bool decimal = true;
};

struct FloatLiteral {
  double value = 0;
  bool suffixF = false;
};

struct Token {
  SourceLoc loc;
  uint32_t length = 0;
  uint32_t value = 0;  // Name id for identifiers and keywords; see TokenKind for literals.
  TokenKind kind = TokenKind::endOfFile;
  bool newlineBefore = false;  // A line break lies between the previous token and this one.

  SourceRange range() const { return {loc, length}; }
  Name name() const { return Name{value}; }
};

// The tokens of one file, ended by one endOfFile token.
struct TokenBuffer {
  std::vector<Token> tokens;
  std::vector<IntegerLiteral> integers;
  std::vector<FloatLiteral> floats;
  std::vector<std::string_view> strings;  // Escapes resolved; they live in the lexer's arena.
};

}  // namespace mtlc::frontend

#endif  // MTLC_FRONTEND_TOKEN_H_
