#include "mtlc/frontend/lexer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>
#include <system_error>

#include "absl/strings/str_format.h"

namespace mtlc::frontend {
namespace {

enum : uint8_t { kIdentStart = 1, kDigit = 2, kHexDigit = 4, kSpace = 8, kPunct = 16 };

constexpr std::array<uint8_t, 256> makeClasses() {
  std::array<uint8_t, 256> classes{};
  for (int c = 'a'; c <= 'z'; ++c) classes[c] |= kIdentStart;
  for (int c = 'A'; c <= 'Z'; ++c) classes[c] |= kIdentStart;
  classes['_'] |= kIdentStart;
  for (int c = '0'; c <= '9'; ++c) classes[c] |= kDigit | kHexDigit;
  for (int c = 'a'; c <= 'f'; ++c) classes[c] |= kHexDigit;
  for (int c = 'A'; c <= 'F'; ++c) classes[c] |= kHexDigit;
  for (char c : {' ', '\t', '\r', '\n', '\f', '\v'}) classes[static_cast<uint8_t>(c)] |= kSpace;
  for (char c : std::string_view("()[]{},;:.@?+-*/%&|^~!<>=\"'"))
    classes[static_cast<uint8_t>(c)] |= kPunct;
  return classes;
}
constexpr std::array<uint8_t, 256> kClasses = makeClasses();

constexpr bool is(char c, uint8_t classes) {
  return (kClasses[static_cast<uint8_t>(c)] & classes) != 0;
}

class Lexer {
 public:
  Lexer(std::string_view text, FileId file, Interner& interner, Arena& arena,
        DiagnosticEngine& diagnostics)
      : begin_(text.data()),
        at_(text.data()),
        end_(text.data() + text.size()),
        lineStart_(text.data()),
        file_(file),
        interner_(interner),
        arena_(arena),
        diagnostics_(diagnostics) {}

  TokenBuffer run() {
    out_.tokens.reserve(static_cast<size_t>(end_ - begin_) / 4 + 16);
    while (skipSpace()) token();
    start_ = at_;
    push(TokenKind::endOfFile, 0);
    return std::move(out_);
  }

 private:
  char peek(size_t ahead = 0) const {
    return static_cast<size_t>(end_ - at_) > ahead ? at_[ahead] : '\0';
  }
  SourceLoc locOf(const char* p) const {
    // A token may start on an earlier line than `at_` (strings), so the line start is kept with it.
    return {file_, line_, static_cast<uint32_t>(std::min<size_t>(p - lineStart_, 1u << 30)) + 1};
  }
  void newline() {
    ++line_;
    lineStart_ = at_;
  }

  void push(TokenKind kind, uint32_t value) {
    Token t;
    t.loc = startLoc_;
    if (kind == TokenKind::endOfFile) t.loc = locOf(at_);
    t.length = static_cast<uint32_t>(at_ - start_);
    t.value = value;
    t.kind = kind;
    t.newlineBefore = sawNewline_;
    sawNewline_ = false;
    out_.tokens.push_back(t);
  }

  void report(DiagId id, SourceRange at, DiagArgs args = {}) {
    if (!diagnostics_.full()) diagnostics_.report(id, at, args);
  }
  SourceRange here() const { return {startLoc_, static_cast<uint32_t>(at_ - start_)}; }

  // False at the end of the text.
  bool skipSpace() {
    for (;;) {
      while (at_ != end_ && is(*at_, kSpace)) {
        if (*at_++ == '\n') {
          sawNewline_ = true;
          newline();
        }
      }
      if (at_ == end_) return false;
      if (*at_ != '/') return true;
      if (peek(1) == '/') {
        while (at_ != end_ && *at_ != '\n') ++at_;
      } else if (peek(1) == '*') {
        blockComment();
      } else {
        return true;
      }
    }
  }

  void blockComment() {
    SourceRange opening(locOf(at_), 2);
    at_ += 2;
    size_t depth = 1;
    while (at_ != end_) {
      char c = *at_++;
      if (c == '\n') {
        sawNewline_ = true;
        newline();
      } else if (c == '/' && peek() == '*') {
        ++at_;
        ++depth;
      } else if (c == '*' && peek() == '/') {
        ++at_;
        if (--depth == 0) return;
      }
    }
    report(DiagId::UnterminatedComment, opening);
  }

  void token() {
    start_ = at_;
    startLoc_ = locOf(at_);
    char c = *at_;
    if (is(c, kIdentStart)) return identifier();
    if (is(c, kDigit)) return number();
    if (c == '"') return stringLiteral();
    if (c == '\'') return characterLiteral();
    if (is(c, kPunct)) return punctuation();
    unknownBytes();
  }

  void identifier() {
    while (at_ != end_ && is(*at_, kIdentStart | kDigit)) ++at_;
    Name name = interner_.intern({start_, static_cast<size_t>(at_ - start_)});
    push(Interner::isKeyword(name) ? Interner::keywordKind(name) : TokenKind::identifier, name.id);
  }

  void unknownBytes() {
    while (at_ != end_ && !is(*at_, kIdentStart | kDigit | kSpace | kPunct)) ++at_;
    unsigned char first = static_cast<unsigned char>(*start_);
    std::string shown = first >= 0xC2 && first < 0xF5
                            ? std::string(start_, std::min<size_t>(at_ - start_, 4))
                            : absl::StrFormat("byte 0x%02X", first);
    // Cut a sequence that a limit or the end of the run broke.
    if (first >= 0xC2) {
      size_t need = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
      if (shown.size() > need) shown.resize(need);
    } else if (first > 0x20 && first < 0x7F) {
      shown = std::string(1, static_cast<char>(first));
    }
    report(DiagId::UnexpectedCharacter, here(), {shown});
    push(TokenKind::error, 0);
  }

  // --- Numbers ---

  // Collects digits of `classes` with single `_` between them into digits_.
  // Returns false for a misplaced separator.
  bool digits(uint8_t classes) {
    bool good = true;
    bool digitBefore = false;
    while (at_ != end_ && (is(*at_, classes) || *at_ == '_')) {
      if (*at_ == '_') {
        good = good && digitBefore;
        digitBefore = false;
      } else {
        digits_ += *at_;
        digitBefore = true;
      }
      ++at_;
    }
    return good && (digitBefore || digits_.empty());
  }

  void malformed(std::string_view why) {
    while (at_ != end_ && is(*at_, kIdentStart | kDigit)) ++at_;
    report(DiagId::MalformedNumber, here(), {why});
    // A zero keeps the parser going without a second message.
    pushInteger(0, true);
  }

  void pushInteger(uint64_t value, bool decimal) {
    push(TokenKind::integer, static_cast<uint32_t>(out_.integers.size()));
    out_.integers.push_back({value, decimal});
  }

  void number() {
    digits_.clear();
    if (*at_ == '0' && (peek(1) == 'x' || peek(1) == 'X')) return prefixed(16, kHexDigit);
    if (*at_ == '0' && (peek(1) == 'b' || peek(1) == 'B')) return prefixed(2, kDigit);
    if (!digits(kDigit)) return malformed("'_' must stand between digits");
    bool floating = false;
    // `1..4` is a range, so one dot alone makes a fraction.
    if (peek() == '.' && peek(1) != '.') {
      floating = true;
      digits_ += '.';
      ++at_;
      if (peek() == '_') return malformed("'_' must stand between digits");
      if (is(peek(), kDigit) && !digits(kDigit)) return malformed("'_' must stand between digits");
    }
    if (peek() == 'e' || peek() == 'E') {
      size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
      if (!is(peek(1 + sign), kDigit)) return malformed("the exponent has no digits");
      floating = true;
      digits_ += 'e';
      if (sign) digits_ += peek(1);
      at_ += 1 + sign;
      if (!digits(kDigit)) return malformed("'_' must stand between digits");
    }
    bool suffixF = false;
    if (peek() == 'f' && !is(peek(1), kIdentStart | kDigit)) {
      suffixF = floating = true;
      ++at_;
    }
    if (is(peek(), kIdentStart | kDigit)) {
      return malformed(floating ? "unknown suffix; only 'f' may follow a floating-point number"
                                : "a name may not follow a number directly");
    }
    if (floating) return floatingValue(suffixF);
    uint64_t value = 0;
    auto [last, error] = std::from_chars(digits_.data(), digits_.data() + digits_.size(), value);
    if (error != std::errc()) {
      report(DiagId::IntegerTooLarge, here());
      value = 0;
    }
    pushInteger(value, true);
  }

  void prefixed(int base, uint8_t classes) {
    at_ += 2;
    if (peek() == '_' || !digits(classes)) return malformed("'_' must stand between digits");
    if (digits_.empty()) {
      return malformed(base == 16 ? "'0x' has no digits after it" : "'0b' has no digits after it");
    }
    if (base == 2 && digits_.find_first_not_of("01") != std::string::npos) {
      return malformed("a binary number has the digits 0 and 1 only");
    }
    if (is(peek(), kIdentStart | kDigit)) {
      return malformed("a name may not follow a number directly");
    }
    uint64_t value = 0;
    auto [last, error] =
        std::from_chars(digits_.data(), digits_.data() + digits_.size(), value, base);
    if (error != std::errc()) {
      report(DiagId::IntegerTooLarge, here());
      value = 0;
    }
    pushInteger(value, false);
  }

  void floatingValue(bool suffixF) {
    double value = 0;
    auto [last, error] = std::from_chars(digits_.data(), digits_.data() + digits_.size(), value);
    if (error != std::errc()) {
      // Both overflow and underflow end here; strtod tells them apart.
      value = std::strtod(digits_.c_str(), nullptr);
    }
    if (std::isinf(value)) {
      report(DiagId::FloatTooLarge, here(), {"float64"});
      value = 0;
    } else if (suffixF && std::isinf(static_cast<float>(value))) {
      report(DiagId::FloatTooLarge, here(), {"float32"});
      value = 0;
    }
    push(TokenKind::floating, static_cast<uint32_t>(out_.floats.size()));
    out_.floats.push_back({value, suffixF});
  }

  // --- Text ---

  // Reads the character after a backslash. False (and reported) for an unknown one.
  bool escape(char quote, char* out) {
    SourceRange at(locOf(at_ - 1), 2);
    char c = at_ == end_ ? '\0' : *at_++;
    switch (c) {
      case 'n':
        *out = '\n';
        return true;
      case 't':
        *out = '\t';
        return true;
      case 'r':
        *out = '\r';
        return true;
      case '0':
        *out = '\0';
        return at_[-1] == '0';
      case '\\':
        *out = '\\';
        return true;
      default:
        break;
    }
    if (c == quote) {
      *out = quote;
      return true;
    }
    if (c == '\n') newline();
    report(DiagId::UnknownEscape, at, {quote == '"' ? "\\\"" : "\\'"});
    *out = '?';
    return false;
  }

  void stringLiteral() {
    digits_.clear();
    ++at_;
    uint32_t firstLineLength = 0;
    for (;;) {
      if (at_ == end_) {
        report(DiagId::UnterminatedString, SourceRange(startLoc_, 1));
        break;
      }
      char c = *at_++;
      if (c == '"') break;
      if (c == '\n') {
        if (firstLineLength == 0) firstLineLength = static_cast<uint32_t>(at_ - 1 - start_);
        newline();
      }
      if (c == '\\') escape('"', &c);
      digits_ += c;
    }
    push(TokenKind::string, static_cast<uint32_t>(out_.strings.size()));
    // A range stays on one line.
    if (firstLineLength != 0) out_.tokens.back().length = firstLineLength;
    out_.strings.push_back(arena_.copy(digits_));
  }

  void characterLiteral() {
    ++at_;
    char value = 0;
    bool good = true;
    if (at_ == end_ || *at_ == '\n' || *at_ == '\'') {
      good = false;
    } else {
      value = *at_++;
      if (value == '\\') {
        if (!escape('\'', &value)) value = 0;
      } else if (static_cast<unsigned char>(value) >= 0x80) {
        good = false;
      }
    }
    if (good && peek() == '\'' && at_ != end_) {
      ++at_;
    } else {
      // Skip to the closing quote if it is near, so that the rest of the line is read as written.
      const char* p = at_;
      while (p != end_ && *p != '\n' && *p != '\'' && p - at_ < 16) ++p;
      if (p != end_ && *p == '\'') at_ = p + 1;
      report(DiagId::MalformedCharacter, here());
      value = 0;
    }
    push(TokenKind::character, static_cast<unsigned char>(value));
  }

  // --- Punctuation ---

  void one(TokenKind kind, size_t length) {
    at_ += length;
    push(kind, 0);
  }
  // `c` alone, or `c=`.
  void orEqual(TokenKind alone, TokenKind withEqual) {
    if (peek(1) == '=') return one(withEqual, 2);
    one(alone, 1);
  }

  void punctuation() {
    using K = TokenKind;
    char next = peek(1);
    switch (*at_) {
      case '(':
        return one(K::lParen, 1);
      case ')':
        return one(K::rParen, 1);
      case '[':
        return one(K::lBracket, 1);
      case ']':
        return one(K::rBracket, 1);
      case '{':
        return one(K::lBrace, 1);
      case '}':
        return one(K::rBrace, 1);
      case ',':
        return one(K::comma, 1);
      case ';':
        return one(K::semicolon, 1);
      case ':':
        return one(K::colon, 1);
      case '@':
        return one(K::at, 1);
      case '?':
        return one(K::question, 1);
      case '~':
        return one(K::tilde, 1);
      case '.':
        if (next == '.') return peek(2) == '=' ? one(K::dotDotEqual, 3) : one(K::dotDot, 2);
        return one(K::dot, 1);
      case '+':
        return orEqual(K::plus, K::plusEqual);
      case '-':
        if (next == '>') return one(K::arrow, 2);
        return orEqual(K::minus, K::minusEqual);
      case '*':
        return orEqual(K::star, K::starEqual);
      case '/':
        return orEqual(K::slash, K::slashEqual);
      case '%':
        return orEqual(K::percent, K::percentEqual);
      case '^':
        return orEqual(K::caret, K::caretEqual);
      case '!':
        return orEqual(K::bang, K::bangEqual);
      case '=':
        if (next == '>') return one(K::fatArrow, 2);
        return orEqual(K::equal, K::equalEqual);
      case '&':
        if (next == '&') return one(K::ampAmp, 2);
        return orEqual(K::amp, K::ampEqual);
      case '|':
        if (next == '|') return one(K::pipePipe, 2);
        return orEqual(K::pipe, K::pipeEqual);
      case '<':
        if (next == '<') return peek(2) == '=' ? one(K::shlEqual, 3) : one(K::shl, 2);
        return orEqual(K::less, K::lessEqual);
      case '>':
        if (next == '>') return peek(2) == '=' ? one(K::shrEqual, 3) : one(K::shr, 2);
        return orEqual(K::greater, K::greaterEqual);
      default:
        return unknownBytes();
    }
  }

  const char* begin_;
  const char* at_;
  const char* end_;
  const char* lineStart_;
  const char* start_ = nullptr;
  SourceLoc startLoc_;
  FileId file_;
  uint32_t line_ = 1;
  bool sawNewline_ = true;
  Interner& interner_;
  Arena& arena_;
  DiagnosticEngine& diagnostics_;
  std::string digits_;  // Scratch.
  TokenBuffer out_;
};

}  // namespace

TokenBuffer lex(const SourceManager& sources, FileId file, Interner& interner, Arena& arena,
                DiagnosticEngine& diagnostics) {
  return Lexer(sources.text(file), file, interner, arena, diagnostics).run();
}

}  // namespace mtlc::frontend
