// Known-bad kernels, each reported exactly once, and matching good ones that report nothing.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "mtlc/sim/testing/harness.h"

namespace mtlc::sim {
namespace {

constexpr std::string_view kHeader = ".version 8.8\n.target sm_90\n.address_size 64\n";

// A kernel k(out) with usual registers; %tid.x in %r0, its byte offset in %rd0, out in %rd1, out +
// offset in %rd2.
std::string kernel(std::string_view body, std::string_view module = "") {
  return std::string(kHeader) + std::string(module) + R"(
.visible .entry k(.param .u64 out) {
  .reg .pred %p<10>;
  .reg .b16 %h<10>;
  .reg .b32 %r<20>;
  .reg .f32 %f<10>;
  .reg .b64 %rd<20>;
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %rd0, %r0, 4;
  ld.param.u64 %rd1, [out];
  add.u64 %rd2, %rd1, %rd0;
)" + std::string(body) +
         "\n  ret;\n}\n";
}

struct Outcome {
  std::vector<Report> reports;
  LaunchStatus status;
  std::string text;
};

struct Options {
  Checks checks = Checks::all;
  uint32_t blocks = 1;
  uint32_t threads = 64;
  uint32_t words = 64;
  bool poison = false;
  uint32_t dynamicShared = 0;
};

Outcome run(const std::string& ptx, Options o = {}) {
  Harness h(ptx);
  EXPECT_TRUE(h.ok()) << h.errors();
  if (!h.ok()) return {};
  auto out = o.poison ? h.poison<uint32_t>(o.words, "out")
                      : h.buffer<uint32_t>(std::vector<uint32_t>(o.words, 0), "out");
  h.config.checks = o.checks;
  h.config.maxSteps = 1000000;
  h.config.dynamicShared = o.dynamicShared;
  h.config.readBack = {out.allocation()};
  LaunchResult r = h.run("k", {o.blocks, 1, 1}, {o.threads, 1, 1}, out);
  return {r.reports, r.status, h.errors()};
}

// One report of `id` at the line of the text that holds `mark`.
void expectOne(const std::string& ptx, DiagId id, std::string_view mark, Options o = {}) {
  Outcome r = run(ptx, o);
  ASSERT_EQ(r.reports.size(), 1u) << r.text;
  EXPECT_EQ(r.reports[0].id, id) << r.text;
  size_t at = ptx.find(mark);
  ASSERT_NE(at, std::string::npos);
  uint32_t line =
      1 + static_cast<uint32_t>(std::count(ptx.begin(), ptx.begin() + static_cast<long>(at), '\n'));
  // Of a race, either access.
  bool found = r.reports[0].at.ptx.line() == line ||
               (r.reports[0].hasOther && r.reports[0].other.ptx.line() == line);
  EXPECT_TRUE(found) << "not at line " << line << "\n" << r.text;
}

void expectNone(const std::string& ptx, Options o = {}) {
  Outcome r = run(ptx, o);
  EXPECT_EQ(r.reports.size(), 0u) << r.text;
  EXPECT_EQ(r.status, LaunchStatus::ok) << r.text;
}

constexpr std::string_view kTile = ".shared .align 16 .b8 tile[256];\n";
// Stores %r0 to its word of the tile; the address is in %r1.
constexpr std::string_view kFillTile = R"(
  mov.u32 %r1, tile;
  shl.b32 %r2, %r0, 2;
  add.u32 %r1, %r1, %r2;
  st.shared.u32 [%r1], %r0;
)";

// ---- mem ----

TEST(Mem, GlobalOutOfBounds) {
  expectOne(kernel("st.global.u32 [%rd2+4], %r0; // here"), DiagId::SimOutOfBounds, "// here");
  expectOne(kernel("ld.global.u32 %r1, [%rd2+-4]; // here"), DiagId::SimOutOfBounds, "// here");
  expectNone(kernel("st.global.u32 [%rd2], %r0;"));
}
TEST(Mem, OutOfBoundsNamesTheAllocation) {
  Outcome r = run(kernel("st.global.u32 [%rd2+8], %r0;"));
  ASSERT_EQ(r.reports.size(), 1u);
  EXPECT_NE(r.reports[0].message.find("past the end of 'out' (256 bytes)"), std::string::npos)
      << r.text;
  EXPECT_EQ(r.reports[0].at.thread[0], 62u);
  EXPECT_EQ(r.reports[0].occurrences, 2u);
  EXPECT_EQ(r.reports[0].space, Space::global);
  EXPECT_EQ(r.reports[0].bytes, 4u);
}
TEST(Mem, SharedOutOfBounds) {
  std::string body = std::string(kFillTile) + "bar.sync 0;\n ld.shared.u32 %r3, [%r1+4]; // here\n";
  expectOne(kernel(body, kTile), DiagId::SimOutOfBounds, "// here");
}
TEST(Mem, LocalOutOfBounds) {
  expectOne(
      kernel(".local .align 4 .b8 a[16]; mov.u64 %rd3, a; st.local.u32 [%rd3+16], %r0; // here"),
      DiagId::SimOutOfBounds, "// here");
  expectNone(kernel(".local .align 4 .b8 a[16]; mov.u64 %rd3, a; st.local.u32 [%rd3+12], %r0;"));
}
TEST(Mem, Misaligned) {
  expectOne(kernel("ld.global.v2.u32 {%r1, %r2}, [%rd2]; // here"), DiagId::SimMisaligned,
            "// here");
  expectOne(kernel("add.u64 %rd3, %rd1, 2; ld.global.u32 %r1, [%rd3]; // here"),
            DiagId::SimMisaligned, "// here");
}
TEST(Mem, NullAndNowhere) {
  expectOne(kernel("mov.u64 %rd3, 0; st.global.u32 [%rd3], %r0; // here"), DiagId::SimNull,
            "// here");
  expectOne(kernel("mov.u64 %rd3, 0x700000000000000; ld.u32 %r1, [%rd3]; // here"),
            DiagId::SimOutOfBounds, "// here");
}
TEST(Mem, WrongWindow) {
  std::string body =
      "mov.u64 %rd3, tile; cvta.shared.u64 %rd3, %rd3; ld.global.u32 %r1, [%rd3]; // here";
  expectOne(kernel(body, kTile), DiagId::SimWrongWindow, "// here");
}
TEST(Mem, ConstIsReadOnly) {
  std::string module = ".const .align 4 .u32 c[2] = {1, 2};\n";
  expectOne(
      kernel("mov.u64 %rd3, c; cvta.const.u64 %rd3, %rd3; st.u32 [%rd3], %r0; // here", module),
      DiagId::SimReadOnly, "// here");
  expectNone(
      kernel("mov.u64 %rd3, c; ld.const.u32 %r1, [%rd3+4]; st.global.u32 [%rd2], %r1;", module));
}
TEST(Mem, UseAfterFree) {
  std::string ptx = kernel("ld.global.u32 %r1, [%rd2]; // here");
  Harness h(ptx);
  ASSERT_TRUE(h.ok()) << h.errors();
  auto out = h.buffer<uint32_t>(std::vector<uint32_t>(64, 0), "out");
  uint64_t address = out.address();
  ASSERT_TRUE(h.device().memory().free(address));
  h.config.checks = Checks::mem;
  LaunchResult r = h.run("k", {1, 1, 1}, {32, 1, 1}, address);
  ASSERT_EQ(r.reports.size(), 1u) << h.errors();
  EXPECT_EQ(r.reports[0].id, DiagId::SimUseAfterFree);
}
TEST(Mem, WithoutCheckTheFirstFaultEndsTheLaunch) {
  Options o;
  o.checks = Checks::none;
  Outcome r = run(kernel("st.global.u32 [%rd2+4096], %r0;\n st.global.u32 [%rd2+8192], %r0;"), o);
  EXPECT_EQ(r.status, LaunchStatus::faulted);
  EXPECT_EQ(r.reports.size(), 1u);
}

// ---- init ----

TEST(Init, BranchOnUnwrittenRegister) {
  expectOne(kernel("setp.eq.u32 %p1, %r5, 0;\n @%p1 bra L; // here\n L:"), DiagId::SimUninitialised,
            "// here");
}
TEST(Init, BranchOnUnwrittenSharedMemory) {
  std::string body =
      "mov.u32 %r1, tile; ld.shared.u32 %r2, [%r1+4]; setp.eq.u32 %p1, %r2, 7;\n"
      "@%p1 bra L; // here\n L:";
  expectOne(kernel(body, kTile), DiagId::SimUninitialised, "// here");
}
TEST(Init, AddressFromPoison) {
  Options o;
  o.poison = true;
  o.checks = Checks::init | Checks::mem;  // The addresses collide.
  expectOne(kernel("ld.global.u32 %r1, [%rd2]; and.b32 %r1, %r1, 60; cvt.u64.u32 %rd3, %r1;"
                   "add.u64 %rd3, %rd1, %rd3;\n st.global.u32 [%rd3], %r0; // here"),
            DiagId::SimUninitialised, "// here", o);
}
TEST(Init, CopiesAndPaddingAreNoFault) {
  Options o;
  o.poison = true;
  o.words = 256;
  // A 16-byte struct of which 8 bytes are written is copied whole and its written part decides.
  expectNone(kernel(R"(
    mul.wide.u32 %rd3, %r0, 16;
    add.u64 %rd3, %rd1, %rd3;
    st.global.u32 [%rd3], 5;
    st.global.u32 [%rd3+8], 6;
    ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd3];
    setp.eq.u32 %p1, %r3, 6;
    @%p1 bra L;
    trap;
  L:
    ld.global.v2.u64 {%rd4, %rd5}, [%rd3];
    cvt.u32.u64 %r5, %rd4;
    setp.eq.u32 %p1, %r5, 5;
    @%p1 bra M;
    trap;
  M:
  )"),
             o);
}
TEST(Init, MaskedBitsDecideNothing) {
  Options o;
  o.poison = true;
  expectNone(kernel("ld.global.u32 %r1, [%rd2]; and.b32 %r1, %r1, 0xff00; st.global.u8 [%rd2+1], 3;"
                    "ld.global.u32 %r2, [%rd2]; shr.u32 %r2, %r2, 8; and.b32 %r2, %r2, 255;"
                    "setp.eq.u32 %p1, %r2, 3; @%p1 bra L; trap; L:"),
             o);
  expectOne(kernel("st.global.u8 [%rd2+1], 3; ld.global.u32 %r2, [%rd2]; and.b32 %r2, %r2, 0x1ff;"
                   "setp.eq.u32 %p1, %r2, 3;\n @%p1 bra L; // here\n L:"),
            DiagId::SimUninitialised, "// here", o);
}
TEST(Init, ReadBack) {
  expectOne(kernel("st.global.u32 [%rd2], %r7; // here"), DiagId::SimUninitReadBack, "// here");
  Options o;
  o.poison = true;
  expectNone(kernel("st.global.u32 [%rd1], 1;"), o);  // The rest was never stored.
}
TEST(Init, PaddingOfACopyIsNotReadBack) {
  // Undefined bytes beside defined ones are what a structure's padding looks like; bits are not.
  expectNone(kernel("and.b32 %r3, %r7, 0xffff0000; st.global.u32 [%rd2], %r3;"));
  expectNone(kernel("and.b32 %r3, %r7, 0xff; st.global.u32 [%rd2], %r3;"));
  expectOne(kernel("and.b32 %r3, %r7, 0xfffff000; st.global.u32 [%rd2], %r3; // here"),
            DiagId::SimUninitReadBack, "// here");
  expectOne(kernel("and.b32 %r3, %r7, 1; st.global.u32 [%rd2], %r3; // here"),
            DiagId::SimUninitReadBack, "// here");
}
TEST(Init, AtomicOnPoison) {
  Options o;
  o.poison = true;
  expectOne(kernel("atom.global.add.u32 %r1, [%rd2], 1; // here"), DiagId::SimUninitialised,
            "// here", o);
}

// ---- race ----

TEST(Race, SharedWithoutBarrier) {
  std::string read =
      "xor.b32 %r3, %r2, 128;\n mov.u32 %r4, tile; add.u32 %r4, %r4, %r3;\n"
      "ld.shared.u32 %r5, [%r4]; // here\n st.global.u32 [%rd2], %r5;";
  std::string fill(kFillTile);
  Options o;
  o.checks = Checks::race;  // Without a barrier the values are uninitialised, too.
  expectOne(kernel(fill + read, kTile), DiagId::SimRace, "// here", o);
  expectNone(kernel(fill + "bar.sync 0;\n" + read, kTile));
}
TEST(Race, WithinAWarp) {
  std::string read =
      "xor.b32 %r3, %r2, 4;\n mov.u32 %r4, tile; add.u32 %r4, %r4, %r3;\n"
      "ld.shared.u32 %r5, [%r4]; // here\n st.global.u32 [%rd2], %r5;";
  std::string fill(kFillTile);
  Options o;
  o.checks = Checks::race;
  expectOne(kernel(fill + read, kTile), DiagId::SimRace, "// here", o);
  expectNone(kernel(fill + "bar.warp.sync 0xffffffff;\n" + read, kTile));
}
TEST(Race, WriteAfterRead) {
  std::string head = std::string(kFillTile) +
                     "bar.sync 0;\n"
                     "xor.b32 %r3, %r2, 128;\n mov.u32 %r4, tile; add.u32 %r4, %r4, %r3;\n"
                     "ld.shared.u32 %r5, [%r4];\n st.global.u32 [%rd2], %r5;\n";
  std::string write = "add.u32 %r6, %r5, 1; st.shared.u32 [%r1], %r6; // here\n";
  expectOne(kernel(head + write, kTile), DiagId::SimRace, "// here");
  expectNone(kernel(head + "bar.sync 0;\n" + write, kTile));
}
// More reads than the checker keeps in its list, against the order of the lanes.
TEST(Race, WriteAfterManyReads) {
  std::string head = std::string(kFillTile) +
                     "bar.sync 0;\n mov.u32 %r7, 0; sub.u32 %r3, 252, %r2;\n"
                     "mov.u32 %r4, tile; add.u32 %r4, %r4, %r3;\n"
                     "MORE: ld.shared.u32 %r5, [%r4]; add.u32 %r7, %r7, 1;\n"
                     "setp.lt.u32 %p1, %r7, 3000; @%p1 bra MORE;\n st.global.u32 [%rd2], %r5;\n";
  std::string write = "add.u32 %r6, %r5, 1; st.shared.u32 [%r1], %r6; // here\n";
  expectOne(kernel(head + write, kTile), DiagId::SimRace, "// here");
  expectNone(kernel(head + "bar.sync 0;\n" + write, kTile));
}
TEST(Race, GlobalBetweenBlocks) {
  Options o;
  o.blocks = 2;
  std::string ctaid = "mov.u32 %r1, %ctaid.x; add.u32 %r2, %r0, %r1;\n";
  expectOne(kernel(ctaid + "st.global.u32 [%rd2], %r2; // here"), DiagId::SimRace, "// here", o);
  expectNone(kernel("red.global.add.u32 [%rd2], 1;"), o);
  expectNone(kernel("st.global.u32 [%rd2], %r0;"), o);  // The same value from both.
}
TEST(Race, NamesBothAccesses) {
  Options o;
  o.blocks = 2;
  Outcome r =
      run(kernel("mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0;\n@%p1 st.global.u32 [%rd2], 7;\n"
                 "@!%p1 ld.global.u32 %r3, [%rd2];"),
          o);
  ASSERT_EQ(r.reports.size(), 1u) << r.text;
  EXPECT_TRUE(r.reports[0].hasOther);
  EXPECT_EQ(r.reports[0].at.block[0], 1u);
  EXPECT_EQ(r.reports[0].other.block[0], 0u);
  EXPECT_EQ(r.reports[0].at.thread, r.reports[0].other.thread);
  EXPECT_EQ(r.reports[0].other.ptx.line() + 1, r.reports[0].at.ptx.line());
}
// Block 0 writes a word and sets a flag; the other block spins on it and reads the word.
std::string messagePassing(std::string_view release, std::string_view acquire) {
  return kernel(R"(
    setp.ne.u32 %p1, %r0, 0;
    @%p1 bra done;
    mov.u32 %r1, %ctaid.x;
    setp.ne.u32 %p2, %r1, 0;
    @%p2 bra reader;
    st.global.u32 [%rd1+128], 42;
    )" + std::string(release) +
                R"(
    bra done;
  reader:
    )" + std::string(acquire) +
                R"(
    setp.eq.u32 %p3, %r2, 0;
    @%p3 bra reader;
    ld.global.u32 %r3, [%rd1+128]; // here
    st.global.u32 [%rd1+4], %r3;
  done:
  )");
}
TEST(Race, MessagePassing) {
  Options o;
  o.blocks = 2;
  expectNone(messagePassing("st.release.gpu.global.u32 [%rd1], 1;",
                            "ld.acquire.gpu.global.u32 %r2, [%rd1];"),
             o);
  expectNone(messagePassing("fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%rd1], 1;",
                            "ld.relaxed.gpu.global.u32 %r2, [%rd1]; fence.acq_rel.gpu;"),
             o);
  expectNone(messagePassing("membar.gl; st.volatile.global.u32 [%rd1], 1;",
                            "ld.volatile.global.u32 %r2, [%rd1]; membar.gl;"),
             o);
  expectNone(messagePassing("fence.acq_rel.gpu; atom.global.exch.b32 %r9, [%rd1], 1;",
                            "atom.global.add.u32 %r2, [%rd1], 0; fence.acq_rel.gpu;"),
             o);
  // No order on one side, or one that does not reach across blocks.
  expectOne(messagePassing("st.relaxed.gpu.global.u32 [%rd1], 1;",
                           "ld.acquire.gpu.global.u32 %r2, [%rd1];"),
            DiagId::SimRace, "// here", o);
  expectOne(messagePassing("st.release.gpu.global.u32 [%rd1], 1;",
                           "ld.relaxed.gpu.global.u32 %r2, [%rd1];"),
            DiagId::SimRace, "// here", o);
  expectOne(messagePassing("fence.acq_rel.cta; st.relaxed.gpu.global.u32 [%rd1], 1;",
                           "ld.acquire.gpu.global.u32 %r2, [%rd1];"),
            DiagId::SimRace, "// here", o);
}
TEST(Race, LockProtectsPlainData) {
  Options o;
  o.blocks = 3;
  o.checks = Checks::race | Checks::mem;
  constexpr const char* kBody = R"(
  again:
    atom.relaxed.gpu.global.cas.b32 %%r1, [%%rd1], 0, 1;
    setp.ne.u32 %%p1, %%r1, 0;
    @%%p1 bra again;
    %s
    ld.global.u32 %%r2, [%%rd1+4];
    add.u32 %%r2, %%r2, 1;
    st.global.u32 [%%rd1+4], %%r2;
    %s
    atom.relaxed.gpu.global.exch.b32 %%r3, [%%rd1], 0;
  )";
  char text[1024];
  std::snprintf(text, sizeof text, kBody, "fence.acq_rel.gpu;", "fence.acq_rel.gpu;");
  expectNone(kernel(text), o);
  std::snprintf(text, sizeof text, kBody, "", "");
  EXPECT_FALSE(run(kernel(text), o).reports.empty());
}
TEST(Race, PartialBarriersOrderTheirThreads) {
  // Warp 0 produces, warp 1 consumes: arrive and sync on barrier 1 with 64 threads.
  std::string good = std::string("setp.lt.u32 %p1, %r0, 32;\n @!%p1 bra consumer;\n") +
                     std::string(kFillTile) +
                     "bar.arrive 1, 64;\n bra done;\nconsumer:\n bar.sync 1, 64;\n"
                     "mov.u32 %r4, tile; shl.b32 %r5, %r0, 2; add.u32 %r4, %r4, %r5;\n"
                     "ld.shared.u32 %r6, [%r4+-128]; st.global.u32 [%rd2], %r6;\ndone:\n";
  expectNone(kernel(good, kTile));
  std::string bad = good;
  bad.replace(bad.find("bar.sync 1, 64;"), 15, "               ");
  Options o;
  o.checks = Checks::race;
  EXPECT_EQ(run(kernel(bad, kTile), o).reports.size(), 1u);
}
TEST(Race, BytesOfAWordDoNotConflict) {
  expectNone(kernel("cvt.u64.u32 %rd3, %r0; add.u64 %rd3, %rd1, %rd3; st.global.u8 [%rd3], %r0;"));
}
TEST(Race, DifferentValuesInOneInstruction) {
  expectOne(kernel("st.global.u32 [%rd1], %r0; // here"), DiagId::SimRace, "// here");
  expectNone(kernel("st.global.u32 [%rd1], 7;"));
}

// ---- sync ----

TEST(Sync, BarrierInDivergentCode) {
  // Two barriers in the arms of a branch that splits a warp.
  expectOne(
      kernel("setp.lt.u32 %p1, %r0, 48;\n @%p1 bra L;\n bar.sync 0; bra M; // here\n L:\n bar.sync "
             "0;\n M:"),
      DiagId::SimBarrierDiverged, "// here");
  // One arm has none: its lanes leave.
  expectOne(kernel("setp.lt.u32 %p1, %r0, 48;\n @!%p1 bra L;\n bar.sync 0; // here\n L:"),
            DiagId::SimBarrierExited, "// here");
  expectNone(kernel(
      "bar.sync 0;\n setp.lt.u32 %p1, %r0, 48;\n @!%p1 bra L;\n st.global.u32 [%rd2], 1;\n L:"));
}
TEST(Sync, BarrierAfterExit) {
  expectOne(kernel("setp.ge.u32 %p1, %r0, 32;\n @%p1 exit;\n bar.sync 0; // here"),
            DiagId::SimBarrierExited, "// here");
}
TEST(Sync, TwoBarriersDeadlock) {
  Outcome r =
      run(kernel("setp.lt.u32 %p1, %r0, 32;\n @%p1 bra L;\n bar.sync 1;\n bra done;\nL:\n bar.sync "
                 "2;\ndone:"));
  EXPECT_EQ(r.status, LaunchStatus::deadlock);
  ASSERT_EQ(r.reports.size(), 1u) << r.text;
  EXPECT_EQ(r.reports[0].id, DiagId::SimDeadlock);
  ASSERT_EQ(r.reports[0].waiting.size(), 2u);
  EXPECT_NE(r.reports[0].waiting[0].ptx.line(), r.reports[0].waiting[1].ptx.line());
}
TEST(Sync, FullMaskUnderDivergence) {
  expectOne(kernel("setp.lt.u32 %p1, %r0, 40;\n @!%p1 bra L;\n"
                   "shfl.sync.idx.b32 %r1, %r0, 0, 31, 0xffffffff; // here\n"
                   "st.global.u32 [%rd2], %r1;\n"
                   "L:\n bar.sync 0;"),
            DiagId::SimMissingLanes, "// here");
}
TEST(Sync, LaneOutsideItsMask) {
  expectOne(kernel("vote.sync.any.pred %p1, 1, 0x0000ffff; // here", ""), DiagId::SimLaneNotNamed,
            "// here");
}
TEST(Sync, ShuffleFromAbsentLane) {
  Options o;
  o.threads = 48;
  std::string ptx = kernel(
      "shfl.sync.down.b32 %r1, %r0, 16, 31, 0xffffffff; // here\n st.global.u32 [%rd2], %r1;");
  expectOne(ptx, DiagId::SimShuffleSource, "// here", o);
  o.threads = 64;
  expectNone(ptx, o);
}

TEST(Steps, EndlessLoop) {
  Outcome r = run(kernel("L:\n bra L;"));
  EXPECT_EQ(r.status, LaunchStatus::stepLimit);
  ASSERT_EQ(r.reports.size(), 1u);
  EXPECT_EQ(r.reports[0].id, DiagId::SimStepLimit);
}
TEST(Trap, IsReported) {
  Outcome r = run(kernel("trap;"));
  EXPECT_EQ(r.status, LaunchStatus::trapped);
  ASSERT_EQ(r.reports.size(), 1u);
  EXPECT_EQ(r.reports[0].id, DiagId::SimTrap);
}

}  // namespace
}  // namespace mtlc::sim
