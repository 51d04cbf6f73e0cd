// Tokens of PTX text (PTX ISA 4, "Syntax").

#ifndef MTLC_SIM_PTX_LEXER_H_
#define MTLC_SIM_PTX_LEXER_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "mtlc/support/diagnostics.h"
#include "mtlc/support/source.h"

namespace mtlc::sim::ptx {

enum class Tok : uint8_t {
  eof,
  ident,    // name, %name, $name
  dotWord,  // .name with `::` inside; text() is without the dot
  integer,  // bits in value
  float32,  // 0f…: bits in value
  float64,  // decimal or 0d…: bits in value
  string,   // text() is without the quotes
  punct,    // one of  , ; : { } [ ] ( ) < > + - * / % & | ^ ~ ! ? = @ and two-character operators,
            // see Token::punct
};

struct Token {
  Tok kind = Tok::eof;
  bool isUnsigned = false;  // integer: suffix U, or a value past int64.
  uint16_t punct = 0;       // punct: the character, or first | second << 8.
  SourceLoc loc;
  std::string_view text;
  uint64_t value = 0;
};

// Tokens of `file`, which must have a text in `sources`; the last one is eof. Texts point into the
// source. Reports malformed characters and literals into `diags` and goes on.
std::vector<Token> lex(FileId file, const SourceManager& sources, DiagnosticEngine& diags);

constexpr uint16_t punct2(char a, char b) {
  return static_cast<uint16_t>(static_cast<unsigned char>(a) | static_cast<unsigned char>(b) << 8);
}

}  // namespace mtlc::sim::ptx

#endif  // MTLC_SIM_PTX_LEXER_H_
