#include "mtlc/support/diagnostics.h"

#include "gtest/gtest.h"
#include "mtlc/support/arena.h"

namespace mtlc {
namespace {

TEST(Diagnostics, HumanShowsCaretRangeHintAndNotes) {
  SourceManager sources;
  FileId f = sources.add("a.mettle", "\xEF\xBB\xBFone\n\tvar \xC3\xA9 = 12\r\n");
  DiagnosticEngine engine;
  engine.report(DiagId::CannotReadFile, SourceRange({f, 2, 11}, 2), {"x.y", "gone"})
      .note(SourceRange({f, 1, 1}, 3), "because of this");
  EXPECT_EQ(renderHuman(engine, sources),
            "a.mettle:2:11: error: cannot read 'x.y': gone\n"
            "   var \xC3\xA9 = 12\n"
            "           ^~\n"
            "  hint: check the path and its permissions\n"
            "a.mettle:1:1: note: because of this\n"
            "  one\n"
            "  ^~~\n");
}

TEST(Diagnostics, JsonEscapesHostileBytes) {
  EXPECT_EQ(jsonQuote("a\"\\\n\x01\xFF\xC3\xA9\xED\xA0\x80"),
            "\"a\\\"\\\\\\n\\u0001\xEF\xBF\xBD\xC3\xA9\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
  SourceManager sources;
  DiagnosticEngine engine;
  engine.report(DiagId::CannotReadFile, {}, {"x", "y"});
  EXPECT_EQ(renderJson(engine, sources),
            "{\"severity\":\"error\",\"id\":\"CannotReadFile\",\"file\":\"\",\"line\":0,\"column\":"
            "0,\"length\":0,"
            "\"message\":\"cannot read 'x': y\",\"hint\":\"check the path and its "
            "permissions\",\"notes\":[]}\n");
}

TEST(Diagnostics, StopsAtTheLimitAndSaysSo) {
  DiagnosticEngine engine(3);
  for (int i = 0; i < 10; ++i) engine.report(DiagId::CannotReadFile, {}, {"x", "y"}).note({}, "n");
  EXPECT_EQ(engine.all().size(), 4u);
  EXPECT_EQ(engine.all().back().id, DiagId::TooManyErrors);
  EXPECT_EQ(engine.errorCount(), 10);
  EXPECT_TRUE(engine.full());
}

TEST(SourceLoc, PacksAndClamps) {
  SourceLoc loc(3, 70000, 900);
  EXPECT_EQ(loc.file(), 3u);
  EXPECT_EQ(loc.line(), 70000u);
  EXPECT_EQ(loc.column(), 900u);
  EXPECT_EQ(SourceLoc(1, 0xFFFFFFFF, 0xFFFFFFFF).line(), SourceLoc::kMaxLine);
  EXPECT_EQ(SourceLoc(1, 0xFFFFFFFF, 0xFFFFFFFF).column(), SourceLoc::kMaxColumn);
  EXPECT_FALSE(SourceLoc().valid());
}

TEST(Arena, AlignsAndKeepsContents) {
  Arena arena;
  std::vector<std::pair<uint64_t*, uint64_t>> made;
  for (uint64_t i = 0; i < 20000; ++i) {
    arena.allocate(1 + i % 7, 1);
    uint64_t* p = arena.make<uint64_t>(i * 3);
    ASSERT_EQ(reinterpret_cast<uintptr_t>(p) % alignof(uint64_t), 0u);
    made.push_back({p, i * 3});
  }
  arena.makeArray<char>(5u << 20);
  for (auto [p, v] : made) ASSERT_EQ(*p, v);
  EXPECT_EQ(arena.copy("abc"), "abc");
}

}  // namespace
}  // namespace mtlc
