// Random schedules by seed: repeatable, different from each other, and harmless to programs that
// are right in any order.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "mtlc/sim/testing/harness.h"

namespace mtlc::sim {
namespace {

std::string module(std::string_view body) {
  return ".version 8.8\n.target sm_90\n.address_size 64\n" + std::string(body);
}

// Every thread takes a ticket; lanes go through a divergent branch before.
const char kTickets[] = R"(
.visible .entry k(.param .u64 counter, .param .u64 out) {
  .reg .pred %p<2>;
  .reg .b32 %r<9>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [counter];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.u32 %r4, %r2, %r3, %r1;
  and.b32 %r5, %r1, 1;
  setp.eq.u32 %p1, %r5, 0;
  @%p1 bra even;
  atom.global.add.u32 %r6, [%rd1], 1;
  bra done;
even:
  atom.global.add.u32 %r6, [%rd1], 1;
done:
  mul.wide.u32 %rd3, %r4, 4;
  add.u64 %rd4, %rd2, %rd3;
  st.global.u32 [%rd4], %r6;
  ret;
})";

constexpr uint32_t kThreads = 3 * 70;

std::vector<uint32_t> tickets(uint64_t seed, Checks checks = Checks::none) {
  Harness h(module(kTickets));
  EXPECT_TRUE(h.ok()) << h.errors();
  h.config.seed = seed;
  h.config.threads = 4;
  h.config.checks = checks;
  auto counter = h.buffer<uint32_t>({0});
  auto out = h.poison<uint32_t>(kThreads);
  LaunchResult r = h.run("k", {3, 1, 1}, {70, 1, 1}, counter, out);
  EXPECT_EQ(r.status, LaunchStatus::ok) << h.errors();
  EXPECT_EQ(counter[0], kThreads);
  return out.values();
}

TEST(Schedule, SeedsRepeatAndDiffer) {
  std::set<std::vector<uint32_t>> seen;
  bool lastBlockWins = false, oddFirst = false, evenFirst = false;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    std::vector<uint32_t> t = tickets(seed);
    EXPECT_EQ(t, tickets(seed)) << seed;
    // Every ticket goes to one thread.
    EXPECT_EQ(std::set<uint32_t>(t.begin(), t.end()).size(), kThreads);
    EXPECT_LT(*std::max_element(t.begin(), t.end()), kThreads);
    lastBlockWins = lastBlockWins || t[2 * 70] < t[0];
    oddFirst = oddFirst || t[1] < t[0];
    evenFirst = evenFirst || t[0] < t[1];
    seen.insert(t);
  }
  EXPECT_GT(seen.size(), 55u);
  EXPECT_TRUE(lastBlockWins);
  EXPECT_TRUE(oddFirst && evenFirst);
}

TEST(Schedule, CheckersDoNotChangeTheOrder) {
  for (uint64_t seed : {3, 77, 1234567}) EXPECT_EQ(tickets(seed), tickets(seed, Checks::all));
}

// Without a seed the order is the same every time, whatever the number of threads asked for: the
// tickets make the launch sequential. A kernel without them gives the same memory on any number.
TEST(Schedule, OneAndTwoThreadsAgree) {
  EXPECT_EQ(tickets(0), tickets(0));
  Harness h(module(R"(
.visible .entry k(.param .u64 sum, .param .u64 out) {
  .reg .pred %p<2>;
  .reg .b32 %r<9>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [sum];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.u32 %r4, %r2, %r3, %r1;
  mov.u32 %r5, 0;
  mov.u32 %r6, 0;
again:
  mad.lo.u32 %r6, %r6, 1664525, %r4;
  add.u32 %r5, %r5, 1;
  setp.le.u32 %p1, %r5, %r1;
  @%p1 bra again;
  red.global.add.u32 [%rd1], %r6;
  mul.wide.u32 %rd3, %r4, 4;
  add.u64 %rd4, %rd2, %rd3;
  st.global.u32 [%rd4], %r6;
  ret;
})"));
  ASSERT_TRUE(h.ok()) << h.errors();
  constexpr uint32_t kBlocks = 203, kSize = 96;
  // By its definition.
  std::vector<uint32_t> want(kBlocks * kSize);
  uint32_t total = 0;
  for (uint32_t i = 0; i < want.size(); ++i) {
    for (uint32_t k = 0; k <= i % kSize; ++k) want[i] = want[i] * 1664525u + i;
    total += want[i];
  }
  uint64_t instructions = 0;
  for (unsigned threads : {1u, 2u, 2u, 5u}) {
    h.config.threads = threads;
    auto sum = h.buffer<uint32_t>({0});
    auto out = h.poison<uint32_t>(want.size());
    LaunchResult r = h.run("k", {kBlocks, 1, 1}, {kSize, 1, 1}, sum, out);
    ASSERT_EQ(r.status, LaunchStatus::ok) << h.errors();
    EXPECT_EQ(out.values(), want);
    EXPECT_EQ(sum[0], total);
    if (instructions == 0) instructions = r.stats.laneInstructions;
    EXPECT_EQ(r.stats.laneInstructions, instructions);
  }
}

// Locks, barriers and collectives that are right in any order.
TEST(Schedule, LocksAndBarriersUnderManySeeds) {
  Harness h(module(R"(
.shared .align 4 .b8 tile[512];
.visible .entry k(.param .u64 lock, .param .u64 counter, .param .u64 out) {
  .reg .pred %p<4>;
  .reg .b32 %r<16>;
  .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [lock];
  ld.param.u64 %rd2, [counter];
  ld.param.u64 %rd3, [out];
  mov.u32 %r13, %laneid;
  and.b32 %r13, %r13, 7;
  setp.ne.u32 %p2, %r13, 0;
  @%p2 bra meet;
again:
  atom.acquire.gpu.global.cas.b32 %r1, [%rd1], 0, 1;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra again;
  ld.global.u32 %r2, [%rd2];
  add.u32 %r2, %r2, 1;
  st.global.u32 [%rd2], %r2;
  atom.release.gpu.global.exch.b32 %r3, [%rd1], 0;
meet:
  mov.u32 %r4, %tid.x;
  mov.u32 %r5, tile;
  shl.b32 %r6, %r4, 2;
  add.u32 %r7, %r5, %r6;
  st.shared.u32 [%r7], %r4;
  bar.sync 0;
  xor.b32 %r8, %r6, 252;
  add.u32 %r8, %r5, %r8;
  ld.shared.u32 %r9, [%r8];
  shfl.sync.bfly.b32 %r10, %r9, 31, 31, -1;
  mov.u32 %r11, %ctaid.x;
  mad.lo.u32 %r12, %r11, 64, %r4;
  mul.wide.u32 %rd4, %r12, 4;
  add.u64 %rd5, %rd3, %rd4;
  st.global.u32 [%rd5], %r10;
  ret;
})"));
  ASSERT_TRUE(h.ok()) << h.errors();
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    h.config.seed = seed;
    h.config.maxSteps = 1000000;
    h.config.checks = seed % 8 == 0 ? Checks::all : Checks::none;
    auto lock = h.buffer<uint32_t>({0}), counter = h.buffer<uint32_t>({0});
    auto out = h.poison<uint32_t>(128);
    LaunchResult r = h.run("k", {2, 1, 1}, {64, 1, 1}, lock, counter, out);
    ASSERT_EQ(r.status, LaunchStatus::ok) << seed << h.errors();
    ASSERT_TRUE(r.reports.empty()) << seed << h.errors();
    ASSERT_EQ(counter[0], 16u) << seed;
    // 63 - tid is read, from the lane 31 - lane of the same warp.
    for (uint32_t i = 0; i < 128; ++i) {
      uint32_t tid = i % 64;
      ASSERT_EQ(out[i], 63 - (tid / 32 * 32 + 31 - tid % 32)) << seed;
    }
  }
}

// Masks name lanes, whichever call brought them to the instruction.
TEST(Schedule, CollectiveReachedThroughTwoCalls) {
  Harness h(module(R"(
.func (.param .b32 r) neighbour(.param .b32 v) {
  .reg .b32 %r<3>;
  ld.param.b32 %r1, [v];
  shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;
  st.param.b32 [r], %r2;
  ret;
}
.visible .entry k(.param .u64 out) {
  .reg .pred %p<2>;
  .reg .b32 %r<5>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mul.lo.u32 %r2, %r1, 3;
  and.b32 %r3, %r1, 1;
  setp.eq.u32 %p1, %r3, 0;
  @%p1 bra even;
  {
    .param .b32 a;
    .param .b32 b;
    st.param.b32 [a], %r2;
    call (b), neighbour, (a);
    ld.param.b32 %r4, [b];
  }
  bra done;
even:
  {
    .param .b32 a;
    .param .b32 b;
    st.param.b32 [a], %r2;
    call (b), neighbour, (a);
    ld.param.b32 %r4, [b];
  }
done:
  mad.wide.u32 %rd2, %r1, 4, %rd1;
  st.global.u32 [%rd2], %r4;
  ret;
})"));
  ASSERT_TRUE(h.ok()) << h.errors();
  h.config.checks = Checks::all;
  for (uint64_t seed = 0; seed <= 100; ++seed) {
    h.config.seed = seed;
    auto out = h.poison<uint32_t>(64);
    LaunchResult r = h.run("k", {1, 1, 1}, {64, 1, 1}, out);
    ASSERT_EQ(r.status, LaunchStatus::ok) << seed << h.errors();
    for (uint32_t i = 0; i < 64; ++i) ASSERT_EQ(out[i], (i ^ 1) * 3) << seed;
  }
}

// One warp's turn between two looks at the clock is short even where branches are far apart.
TEST(Schedule, TimeLimitInLongBlocks) {
  std::string body = "\n.visible .entry k(.param .u64 p) {\n  .reg .f32 %f<3>;\nagain:\n";
  for (int i = 0; i < 2000; ++i) body += "  fma.rn.f32 %f1, %f1, %f1, %f2;\n";
  Harness h(module(body + "  bra again;\n}"));
  ASSERT_TRUE(h.ok()) << h.errors();
  for (uint64_t seed : {0, 1}) {
    h.config.seed = seed;
    h.config.maxSeconds = 0.05;
    LaunchResult r = h.run("k", {2, 1, 1}, {1024, 1, 1}, uint64_t{0});
    EXPECT_EQ(r.status, LaunchStatus::timeLimit);
    EXPECT_GE(r.stats.seconds, 0.05);
    EXPECT_LT(r.stats.seconds, 1.0);  // Far above one turn, for machines under load.
  }
  h.config.maxSeconds = 1e300;
  h.config.maxSteps = 1000;
  EXPECT_EQ(h.run("k", {1, 1, 1}, {32, 1, 1}, uint64_t{0}).status, LaunchStatus::stepLimit);
}

}  // namespace
}  // namespace mtlc::sim
