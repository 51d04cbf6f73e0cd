#include "mtlc/ir/text_lexer.h"

#include "absl/strings/str_format.h"
#include "mtlc/ir/text_names.h"

namespace mtlc::ir {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

int hexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr size_t kMaxShown = 40;

}  // namespace

Lexer::Lexer(const SourceManager& sources, FileId file, DiagnosticEngine& diags)
    : diags_(diags), text_(sources.text(file)), file_(file) {
  advance();
}

Token Lexer::take() {
  Token t = token_;
  if (t.kind != Tok::End) advance();
  return t;
}

SourceLoc Lexer::here() const {
  return SourceLoc(file_, line_, static_cast<uint32_t>(at_ - lineStart_ + 1));
}

Token Lexer::make(Tok kind, size_t begin, size_t textBegin, size_t textEnd) const {
  Token t;
  t.kind = kind;
  t.startsLine = freshLine_;
  t.text = text_.substr(textBegin, textEnd - textBegin);
  t.range = SourceRange(SourceLoc(file_, line_, static_cast<uint32_t>(begin - lineStart_ + 1)),
                        static_cast<uint32_t>(at_ - begin));
  return t;
}

void Lexer::advance() {
  freshLine_ = token_.kind == Tok::End && at_ == 0;
  for (;;) {
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == '\n') {
        ++line_;
        lineStart_ = ++at_;
        freshLine_ = true;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else if (c == '/' && at_ + 1 < text_.size() && text_[at_ + 1] == '/') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else {
        break;
      }
    }
    size_t begin = at_;
    if (at_ >= text_.size()) {
      token_ = make(Tok::End, begin, begin, begin);
      return;
    }
    char c = text_[at_++];
    auto single = [&](Tok kind) { token_ = make(kind, begin, begin, at_); };
    auto nameRun = [&] {
      size_t first = at_;
      while (at_ < text_.size() && isNameChar(text_[at_])) ++at_;
      return first;
    };
    auto string = [&](Tok kind) {
      // at_ is behind the opening quote.
      size_t first = at_;
      while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') ++at_;
      if (at_ >= text_.size() || text_[at_] == '\n') {
        token_ = make(kind, begin, first, at_);
        diags_.report(DiagId::IrUnterminatedString, token_.range);
        return;
      }
      size_t last = at_++;
      token_ = make(kind, begin, first, last);
    };
    switch (c) {
      case '(':
        return single(Tok::LParen);
      case ')':
        return single(Tok::RParen);
      case '{':
        return single(Tok::LBrace);
      case '}':
        return single(Tok::RBrace);
      case '[':
        return single(Tok::LBracket);
      case ']':
        return single(Tok::RBracket);
      case '<':
        return single(Tok::LAngle);
      case '>':
        return single(Tok::RAngle);
      case ',':
        return single(Tok::Comma);
      case ':':
        return single(Tok::Colon);
      case '=':
        return single(Tok::Equal);
      case '"':
        return string(Tok::String);
      case '%':
      case '^':
      case '@': {
        Tok kind = c == '%' ? Tok::Value : c == '^' ? Tok::Block : Tok::Symbol;
        if (c == '@' && at_ < text_.size() && text_[at_] == '"') {
          ++at_;
          return string(Tok::Symbol);
        }
        size_t first = nameRun();
        if (first < at_) {
          token_ = make(kind, begin, first, at_);
          return;
        }
        break;
      }
      default:
        if (c == '-' && at_ < text_.size() && text_[at_] == '>') {
          ++at_;
          return single(Tok::Arrow);
        }
        if (isDigit(c) || (c == '-' && at_ < text_.size() && isDigit(text_[at_]))) {
          while (at_ < text_.size()) {
            char d = text_[at_];
            bool exponentSign =
                (d == '+' || d == '-') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
            if (!isDigit(d) && !isLetter(d) && d != '.' && !exponentSign) break;
            ++at_;
          }
          return single(Tok::Number);
        }
        if (isLetter(c)) {
          while (at_ < text_.size() &&
                 (isLetter(text_[at_]) || isDigit(text_[at_]) || text_[at_] == '.')) {
            ++at_;
          }
          return single(Tok::Word);
        }
    }
    token_ = make(Tok::End, begin, begin, at_);
    unsigned char u = static_cast<unsigned char>(c);
    diags_.report(
        DiagId::IrBadCharacter, token_.range,
        {u >= 0x20 && u < 0x7F ? absl::StrFormat("'%c'", c) : absl::StrFormat("0x%02x", u)});
    if (diags_.full()) at_ = text_.size();
  }
}

std::string Lexer::unescape(std::string_view raw) {
  std::string out;
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] == '\\' && i + 2 < raw.size() && hexDigit(raw[i + 1]) >= 0 &&
        hexDigit(raw[i + 2]) >= 0) {
      out += static_cast<char>(hexDigit(raw[i + 1]) * 16 + hexDigit(raw[i + 2]));
      i += 2;
    } else {
      out += raw[i];
    }
  }
  return out;
}

std::string describe(const Token& token) {
  if (token.kind == Tok::End) return "end of file";
  std::string_view sigil;
  if (token.kind == Tok::Value) sigil = "%";
  if (token.kind == Tok::Block) sigil = "^";
  if (token.kind == Tok::Symbol) sigil = "@";
  if (token.kind == Tok::String) return "a string";
  return absl::StrFormat("'%s%s%s'", sigil, token.text.substr(0, kMaxShown),
                         token.text.size() > kMaxShown ? "…" : "");
}

}  // namespace mtlc::ir
