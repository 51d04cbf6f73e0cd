#include "mtlc/support/fault.h"

#include <gtest/gtest.h>

namespace mtlc {
namespace {

TEST(CheckMask, ParsesWordsAndListsOnly) {
  EXPECT_EQ(parseCheckMask("none"), kCheckNone);
  EXPECT_EQ(parseCheckMask("all"), 0x1F);
  EXPECT_EQ(parseCheckMask("mem"), 1);
  EXPECT_EQ(parseCheckMask("race,init"), 2 | 4);
  EXPECT_EQ(parseCheckMask("sync,async,sync"), 8 | 16);
  for (const char* bad : {"", ",", "mem,", "mem,,init", "steps", "Mem", "mem init", "all,mem"}) {
    EXPECT_EQ(parseCheckMask(bad), std::nullopt) << bad;
  }
}

TEST(Dim3, UnflattenPutsXFirst) {
  Dim3 extent{3, 2, 4};
  EXPECT_EQ(unflatten(0, extent), (Dim3{0, 0, 0}));
  EXPECT_EQ(unflatten(5, extent), (Dim3{2, 1, 0}));
  EXPECT_EQ(unflatten(6, extent), (Dim3{0, 0, 1}));
  EXPECT_EQ(unflatten(23, extent), (Dim3{2, 1, 3}));
}

TEST(Fault, MessageNamesKindPlaceAndArguments) {
  SourceManager sources;
  FileId file = sources.add("k.mettle", "a\nb\n");
  Fault fault{.id = DiagId::FaultOutOfBounds,
              .kind = FaultKind::Mem,
              .loc = SourceLoc(file, 2, 1),
              .kernel = "copy",
              .block = {1, 0, 0},
              .thread = {7, 0, 0},
              .space = "global",
              .address = 0x1000,
              .size = 4,
              .args = {"read", "4 bytes", "global", "0x1000", "just past the end of buffer 1"},
              .notes = {{SourceRange(SourceLoc(file, 1, 1)), "allocated here"}}};
  EXPECT_EQ(faultMessage(fault),
            "[mem] read of 4 bytes out of bounds at global address 0x1000: just past the end of "
            "buffer 1; kernel 'copy', block (1,0,0), thread (7,0,0)");
  DiagnosticEngine diags;
  reportFault(fault, diags);
  ASSERT_EQ(diags.errorCount(), 1);
  EXPECT_EQ(diags.all()[0].id, DiagId::FaultOutOfBounds);
  EXPECT_EQ(renderHuman(diags, sources).substr(0, 28), "k.mettle:2:1: error: [mem] r");
  ASSERT_EQ(diags.all()[0].notes.size(), 1u);
  EXPECT_EQ(diags.all()[0].notes[0].message, "allocated here");
}

}  // namespace
}  // namespace mtlc
