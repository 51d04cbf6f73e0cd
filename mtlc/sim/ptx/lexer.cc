#include "mtlc/sim/ptx/lexer.h"

#include <charconv>
#include <cstring>
#include <string>

namespace mtlc::sim::ptx {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isAlpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool isHex(char c) { return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool isFollow(char c) { return isAlpha(c) || isDigit(c) || c == '_' || c == '$'; }
bool isIdentStart(char c) { return isAlpha(c) || c == '_' || c == '$' || c == '%'; }

int hexDigit(char c) {
  if (isDigit(c)) return c - '0';
  return (c | 0x20) - 'a' + 10;
}

class Lexer {
 public:
  Lexer(FileId file, std::string_view text, DiagnosticEngine& diags)
      : file_(file), text_(text), diags_(diags) {}

  std::vector<Token> run() {
    std::vector<Token> out;
    out.reserve(text_.size() / 4 + 16);
    for (;;) {
      skipBlanks();
      Token t;
      t.loc = here();
      if (pos_ >= text_.size()) {
        out.push_back(t);
        return out;
      }
      if (next(t)) out.push_back(t);
    }
  }

 private:
  char peek(size_t ahead = 0) const {
    return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0';
  }
  SourceLoc here() const {
    return SourceLoc(file_, line_, static_cast<uint32_t>(pos_ - lineStart_ + 1));
  }

  void newline() {
    ++pos_;
    ++line_;
    lineStart_ = pos_;
  }

  void skipBlanks() {
    while (pos_ < text_.size()) {
      char c = text_[pos_];
      if (c == '\n') {
        newline();
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
        ++pos_;
      } else if (c == '/' && peek(1) == '/') {
        while (pos_ < text_.size() && text_[pos_] != '\n') ++pos_;
      } else if (c == '/' && peek(1) == '*') {
        skipComment();
      } else {
        return;
      }
    }
  }

  void skipComment() {
    SourceLoc start = here();
    pos_ += 2;
    while (pos_ < text_.size()) {
      if (text_[pos_] == '*' && peek(1) == '/') {
        pos_ += 2;
        return;
      }
      if (text_[pos_] == '\n') {
        newline();
      } else {
        ++pos_;
      }
    }
    diags_.report(DiagId::PtxUnterminated, start, {"comment"});
  }

  bool next(Token& t) {
    char c = text_[pos_];
    size_t start = pos_;
    if (isIdentStart(c)) {
      // A lone % is the remainder operator.
      if (c == '%' && !isFollow(peek(1))) return punct(t);
      ++pos_;
      while (isFollow(peek())) ++pos_;
      t.kind = Tok::ident;
      t.text = text_.substr(start, pos_ - start);
      return true;
    }
    if (c == '.' && (isFollow(peek(1)))) {
      ++pos_;
      while (isFollow(peek()) || (peek() == ':' && peek(1) == ':' && isFollow(peek(2)))) {
        pos_ += peek() == ':' ? 2 : 1;
      }
      t.kind = Tok::dotWord;
      t.text = text_.substr(start + 1, pos_ - start - 1);
      return true;
    }
    if (isDigit(c)) return number(t);
    if (c == '"') return stringLiteral(t);
    return punct(t);
  }

  bool badLiteral(const Token& t, size_t start) {
    while (isFollow(peek())) ++pos_;
    diags_.report(DiagId::PtxBadLiteral, SourceRange(t.loc, static_cast<uint32_t>(pos_ - start)),
                  {text_.substr(start, pos_ - start)});
    return false;
  }

  bool number(Token& t) {
    size_t start = pos_;
    char second = peek(1);
    if (text_[pos_] == '0' && (second == 'f' || second == 'F' || second == 'd' || second == 'D')) {
      return hexFloat(t, second == 'f' || second == 'F' ? 8 : 16);
    }
    if (isDecimalFloat()) return decimalFloat(t);
    unsigned base = 10;
    if (text_[pos_] == '0' && (second == 'x' || second == 'X')) {
      base = 16;
      pos_ += 2;
    } else if (text_[pos_] == '0' && (second == 'b' || second == 'B')) {
      base = 2;
      pos_ += 2;
    } else if (text_[pos_] == '0' && isDigit(second)) {
      base = 8;
      pos_ += 1;
    }
    unsigned __int128 v = 0;
    size_t digits = 0;
    while (isHex(peek())) {
      unsigned d = static_cast<unsigned>(hexDigit(peek()));
      if (d >= base) break;
      v = v * base + d;
      if (v >> 64 != 0) return badLiteral(t, start);
      ++digits;
      ++pos_;
    }
    if (digits == 0) return badLiteral(t, start);
    if (peek() == 'U') {
      t.isUnsigned = true;
      ++pos_;
    }
    if (isFollow(peek())) return badLiteral(t, start);
    t.kind = Tok::integer;
    t.value = static_cast<uint64_t>(v);
    if (t.value >> 63 != 0) t.isUnsigned = true;
    t.text = text_.substr(start, pos_ - start);
    return true;
  }

  bool hexFloat(Token& t, unsigned digits) {
    size_t start = pos_;
    pos_ += 2;
    uint64_t v = 0;
    for (unsigned i = 0; i < digits; ++i) {
      if (!isHex(peek())) return badLiteral(t, start);
      v = v << 4 | static_cast<unsigned>(hexDigit(peek()));
      ++pos_;
    }
    if (isFollow(peek())) return badLiteral(t, start);
    t.kind = digits == 8 ? Tok::float32 : Tok::float64;
    t.value = v;
    t.text = text_.substr(start, pos_ - start);
    return true;
  }

  // A decimal float has a point or an exponent behind its digits.
  bool isDecimalFloat() const {
    size_t i = pos_;
    while (i < text_.size() && isDigit(text_[i])) ++i;
    if (i >= text_.size()) return false;
    if (text_[i] == '.') return i + 1 >= text_.size() || !isAlpha(text_[i + 1]);
    return text_[i] == 'e' || text_[i] == 'E';
  }

  bool decimalFloat(Token& t) {
    size_t start = pos_;
    double v = 0;
    auto [end, ec] = std::from_chars(text_.data() + pos_, text_.data() + text_.size(), v);
    pos_ = static_cast<size_t>(end - text_.data());
    if (ec != std::errc() || isFollow(peek())) return badLiteral(t, start);
    t.kind = Tok::float64;
    std::memcpy(&t.value, &v, sizeof v);
    t.text = text_.substr(start, pos_ - start);
    return true;
  }

  bool stringLiteral(Token& t) {
    size_t start = ++pos_;
    while (pos_ < text_.size() && text_[pos_] != '"' && text_[pos_] != '\n') {
      pos_ += text_[pos_] == '\\' && peek(1) != '\n' && peek(1) != '\0' ? 2 : 1;
    }
    t.kind = Tok::string;
    t.text = text_.substr(start, pos_ - start);
    if (peek() != '"') {
      diags_.report(DiagId::PtxUnterminated, t.loc, {"string"});
      return true;
    }
    ++pos_;
    return true;
  }

  bool punct(Token& t) {
    static constexpr std::string_view kSingle = ",;:{}[]()<>+-*/%&|^~!?=@";
    static constexpr std::string_view kDouble[] = {"==", "!=", "<=", ">=", "<<", ">>", "&&", "||"};
    char c = text_[pos_];
    if (kSingle.find(c) == std::string_view::npos || c == '\0') {
      // One report for a run of foreign bytes.
      size_t start = pos_;
      while (pos_ < text_.size() && !isIdentStart(text_[pos_]) && !isDigit(text_[pos_]) &&
             (kSingle.find(text_[pos_]) == std::string_view::npos || text_[pos_] == '\0') &&
             text_[pos_] != ' ' && text_[pos_] != '\n' && text_[pos_] != '\t' &&
             text_[pos_] != '"') {
        ++pos_;
      }
      if (pos_ == start) ++pos_;
      diags_.report(DiagId::PtxBadCharacter,
                    SourceRange(t.loc, static_cast<uint32_t>(pos_ - start)));
      return false;
    }
    t.kind = Tok::punct;
    for (std::string_view d : kDouble) {
      if (c == d[0] && peek(1) == d[1]) {
        t.punct = punct2(d[0], d[1]);
        t.text = text_.substr(pos_, 2);
        pos_ += 2;
        return true;
      }
    }
    t.punct = static_cast<unsigned char>(c);
    t.text = text_.substr(pos_, 1);
    ++pos_;
    return true;
  }

  FileId file_;
  std::string_view text_;
  DiagnosticEngine& diags_;
  size_t pos_ = 0;
  uint32_t line_ = 1;
  size_t lineStart_ = 0;
};

}  // namespace

std::vector<Token> lex(FileId file, const SourceManager& sources, DiagnosticEngine& diags) {
  return Lexer(file, sources.text(file), diags).run();
}

}  // namespace mtlc::sim::ptx
