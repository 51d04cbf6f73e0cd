#include "mtlc/frontend/lexer.h"

#include <cmath>
#include <string>

#include "gtest/gtest.h"

namespace mtlc::frontend {
namespace {

struct Lexed {
  SourceManager sources;
  Interner interner;
  Arena arena;
  DiagnosticEngine diagnostics;
  TokenBuffer tokens;

  explicit Lexed(std::string text) {
    FileId file = sources.add("t.mettle", std::move(text));
    tokens = lex(sources, file, interner, arena, diagnostics);
  }
  const Token& operator[](size_t i) const { return tokens.tokens[i]; }
  size_t count() const { return tokens.tokens.size() - 1; }  // Without the end.
  uint64_t integer(size_t i) const { return tokens.integers[tokens.tokens[i].value].value; }
  double real(size_t i) const { return tokens.floats[tokens.tokens[i].value].value; }
};

TEST(Lexer, KeywordsAreKeywordsAndMnemonicsAreNames) {
  Lexed l("kernel uint8 mov eax tensor_mma barrier true _x9");
  ASSERT_EQ(l.count(), 8u);
  EXPECT_EQ(l[0].kind, TokenKind::kwKernel);
  EXPECT_EQ(l[1].kind, TokenKind::kwUint8);
  for (int i : {2, 3, 4, 6, 7}) EXPECT_EQ(l[i].kind, TokenKind::identifier) << i;
  EXPECT_EQ(l[5].kind, TokenKind::kwBarrier);
  EXPECT_EQ(l[6].name(), names::true_);
  EXPECT_EQ(l.interner.text(l[7].name()), "_x9");
}

TEST(Lexer, Integers) {
  Lexed l("0 007 18446744073709551615 0xFF 0b101 1_000_000 0xFFFF_FFFF");
  ASSERT_FALSE(l.diagnostics.hasErrors());
  ASSERT_EQ(l.count(), 7u);
  const uint64_t want[] = {0, 7, ~uint64_t{0}, 255, 5, 1000000, 0xFFFFFFFF};
  for (int i = 0; i < 7; ++i) EXPECT_EQ(l.integer(i), want[i]) << i;
  EXPECT_TRUE(l.tokens.integers[1].decimal);
  EXPECT_FALSE(l.tokens.integers[3].decimal);
}

TEST(Lexer, FloatsNeedALeadingDigitAndTwoDotsAreARange) {
  Lexed l("2. 1e3 1.5e-3 0.1f 3f 1..4 1..=4 1.5 .5");
  ASSERT_FALSE(l.diagnostics.hasErrors());
  EXPECT_EQ(l.real(0), 2.0);
  EXPECT_EQ(l.real(1), 1000.0);
  EXPECT_EQ(l.real(2), 0.0015);
  EXPECT_EQ(l.real(3), 0.1);
  EXPECT_TRUE(l.tokens.floats[3].suffixF);
  EXPECT_TRUE(l.tokens.floats[4].suffixF);
  EXPECT_EQ(l[5].kind, TokenKind::integer);
  EXPECT_EQ(l[6].kind, TokenKind::dotDot);
  EXPECT_EQ(l[7].kind, TokenKind::integer);
  EXPECT_EQ(l[9].kind, TokenKind::dotDotEqual);
  EXPECT_EQ(l[12].kind, TokenKind::dot);
}

TEST(Lexer, TinyFloatsAreNotErrors) {
  Lexed l("4.9e-324 1e-999999 1.7976931348623157e308");
  ASSERT_FALSE(l.diagnostics.hasErrors());
  EXPECT_EQ(l.real(0), std::nextafter(0.0, 1.0));
  EXPECT_EQ(l.real(1), 0.0);
  EXPECT_EQ(l.real(2), 0x1.fffffffffffffp1023);
}

TEST(Lexer, CharactersAndStrings) {
  Lexed l(R"('a' '\n' '\'' '\0' "x\"\\\n" "")");
  ASSERT_FALSE(l.diagnostics.hasErrors());
  ASSERT_EQ(l.count(), 6u);
  EXPECT_EQ(l[0].value, 97u);
  EXPECT_EQ(l[1].value, 10u);
  EXPECT_EQ(l[2].value, 39u);
  EXPECT_EQ(l[3].value, 0u);
  EXPECT_EQ(l.tokens.strings[0], "x\"\\\n");
  EXPECT_EQ(l.tokens.strings[1], "");
}

TEST(Lexer, PositionsNewlinesAndNestedComments) {
  Lexed l(
      "\xEF\xBB\xBF"
      "a /* 1 /* 2 */ 3 */ b // c\r\n  d \"x\ny\" e");
  ASSERT_FALSE(l.diagnostics.hasErrors());
  ASSERT_EQ(l.count(), 5u);
  EXPECT_EQ(l[0].loc, SourceLoc(1, 1, 1));
  EXPECT_EQ(l[1].loc, SourceLoc(1, 1, 21));
  EXPECT_FALSE(l[1].newlineBefore);
  EXPECT_EQ(l[2].loc, SourceLoc(1, 2, 3));
  EXPECT_TRUE(l[2].newlineBefore);
  EXPECT_EQ(l[3].length, 2u);  // The part on its first line.
  EXPECT_EQ(l[4].loc, SourceLoc(1, 3, 4));
  EXPECT_FALSE(l[4].newlineBefore);
}

TEST(Lexer, LongestOperatorWins) {
  Lexed l("<<= >>= << >> <= -> => ..= .. && &= - >");
  const TokenKind want[] = {TokenKind::shlEqual, TokenKind::shrEqual,    TokenKind::shl,
                            TokenKind::shr,      TokenKind::lessEqual,   TokenKind::arrow,
                            TokenKind::fatArrow, TokenKind::dotDotEqual, TokenKind::dotDot,
                            TokenKind::ampAmp,   TokenKind::ampEqual,    TokenKind::minus,
                            TokenKind::greater};
  ASSERT_EQ(l.count(), std::size(want));
  for (size_t i = 0; i < std::size(want); ++i) EXPECT_EQ(l[i].kind, want[i]) << i;
}

TEST(Lexer, Refusals) {
  struct Case {
    const char* text;
    DiagId id;
    uint32_t line, column;
  };
  const Case cases[] = {
      {"a # b", DiagId::UnexpectedCharacter, 1, 3},
      {"\n  \xC3\xA9t", DiagId::UnexpectedCharacter, 2, 3},
      {"x \xFF\xFE", DiagId::UnexpectedCharacter, 1, 3},
      {"a\n /* b /* */", DiagId::UnterminatedComment, 2, 2},
      {"  \"abc\n", DiagId::UnterminatedString, 1, 3},
      {"\"abc\\", DiagId::UnknownEscape, 1, 5},
      {"\"a\\q\"", DiagId::UnknownEscape, 1, 3},
      {"'\\q'", DiagId::UnknownEscape, 1, 2},
      {"''", DiagId::MalformedCharacter, 1, 1},
      {"'ab'", DiagId::MalformedCharacter, 1, 1},
      {"'a", DiagId::MalformedCharacter, 1, 1},
      {"'\xC3\xA9'", DiagId::MalformedCharacter, 1, 1},
      {"123abc", DiagId::MalformedNumber, 1, 1},
      {"0x", DiagId::MalformedNumber, 1, 1},
      {"0b12", DiagId::MalformedNumber, 1, 1},
      {"1e+", DiagId::MalformedNumber, 1, 1},
      {"1__0", DiagId::MalformedNumber, 1, 1},
      {"1_", DiagId::MalformedNumber, 1, 1},
      {"0x_1", DiagId::MalformedNumber, 1, 1},
      {"1._5", DiagId::MalformedNumber, 1, 1},
      {"1.5ff", DiagId::MalformedNumber, 1, 1},
      {"18446744073709551616", DiagId::IntegerTooLarge, 1, 1},
      {"0x1_0000_0000_0000_0000", DiagId::IntegerTooLarge, 1, 1},
      {"1e999999", DiagId::FloatTooLarge, 1, 1},
      {"1e39f", DiagId::FloatTooLarge, 1, 1},
  };
  for (const Case& c : cases) {
    Lexed l(c.text);
    ASSERT_GE(l.diagnostics.all().size(), 1u) << c.text;
    const Diagnostic& d = l.diagnostics.all()[0];
    EXPECT_EQ(d.id, c.id) << c.text << ": " << d.message;
    EXPECT_EQ(d.range.begin, SourceLoc(1, c.line, c.column)) << c.text;
  }
}

TEST(Lexer, AnyBytesEndInTokens) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  for (size_t n = 0; n <= all.size(); ++n) {
    Lexed l(all.substr(n) + all.substr(0, n));
    EXPECT_EQ(l.tokens.tokens.back().kind, TokenKind::endOfFile);
    EXPECT_TRUE(l.diagnostics.hasErrors());
  }
  Lexed nul(std::string("a\0b", 3));
  EXPECT_EQ(nul.count(), 3u);
  EXPECT_EQ(nul[1].kind, TokenKind::error);
}

TEST(Lexer, LongIdentifier) {
  std::string name(64 << 10, 'q');
  Lexed l(name + " " + name);
  ASSERT_EQ(l.count(), 2u);
  EXPECT_EQ(l[0].name(), l[1].name());
  EXPECT_EQ(l[0].length, name.size());
}

}  // namespace
}  // namespace mtlc::frontend
