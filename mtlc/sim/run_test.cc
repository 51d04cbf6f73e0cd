// Whole kernels through parser, decoder and engine.

#include <gtest/gtest.h>

#include <numeric>

#include "mtlc/sim/testing/harness.h"

namespace mtlc::sim {
namespace {

constexpr std::string_view kHeader = ".version 8.8\n.target sm_90\n.address_size 64\n";

std::string module(std::string_view body) { return std::string(kHeader) + std::string(body); }

TEST(Run, VectorAdd) {
  Harness h(module(R"(
.visible .entry vadd(.param .u64 .ptr .align 1 pa, .param .u64 pb, .param .u64 pc, .param .u32 pn) {
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<11>;
  ld.param.u64 %rd1, [pa];
  ld.param.u64 %rd2, [pb];
  ld.param.u64 %rd3, [pc];
  ld.param.u32 %r1, [pn];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.s32 %p1, %r5, %r1;
  @%p1 bra $done;
  cvta.to.global.u64 %rd4, %rd1;
  cvta.to.global.u64 %rd5, %rd2;
  cvta.to.global.u64 %rd6, %rd3;
  mul.wide.s32 %rd7, %r5, 4;
  add.s64 %rd8, %rd4, %rd7;
  add.s64 %rd9, %rd5, %rd7;
  add.s64 %rd10, %rd6, %rd7;
  ld.global.f32 %f1, [%rd8];
  ld.global.f32 %f2, [%rd9];
  add.f32 %f3, %f1, %f2;
  st.global.f32 [%rd10], %f3;
$done:
  ret;
})"));
  ASSERT_TRUE(h.ok()) << h.errors();
  constexpr int kN = 1003;
  std::vector<float> a(kN), b(kN);
  for (int i = 0; i < kN; ++i) {
    a[i] = static_cast<float>(i);
    b[i] = 0.5f * static_cast<float>(i);
  }
  auto da = h.buffer(a), db = h.buffer(b), dc = h.poison<float>(kN);
  LaunchResult r = h.run("vadd", {4, 1, 1}, {256, 1, 1}, da, db, dc, uint32_t{kN});
  ASSERT_EQ(r.status, LaunchStatus::ok) << h.errors() << r.message;
  for (int i = 0; i < kN; ++i) ASSERT_EQ(dc[i], a[i] + b[i]) << i;
  EXPECT_GT(r.stats.laneInstructions, 1003u * 20);
}

// Lane i runs i + 1 times round the loop, with an inner branch; then all lanes meet and vote.
TEST(Run, DivergentLoopReconverges) {
  Harness h(module(R"(
.visible .entry k(.param .u64 out) {
  .reg .pred %p<4>;
  .reg .b32 %r<9>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, 0;
  mov.u32 %r3, 0;
loop:
  and.b32 %r4, %r2, 1;
  setp.eq.u32 %p1, %r4, 0;
  @%p1 bra even;
  add.u32 %r3, %r3, 100;
  bra next;
even:
  add.u32 %r3, %r3, 1;
next:
  add.u32 %r2, %r2, 1;
  setp.le.u32 %p2, %r2, %r1;
  @%p2 bra loop;
  activemask.b32 %r5;
  mul.wide.u32 %rd2, %r1, 8;
  add.u64 %rd3, %rd1, %rd2;
  st.global.v2.u32 [%rd3], {%r3, %r5};
  ret;
})"));
  ASSERT_TRUE(h.ok()) << h.errors();
  auto out = h.poison<uint32_t>(64);
  ASSERT_EQ(h.run("k", {1, 1, 1}, {32, 1, 1}, out).status, LaunchStatus::ok) << h.errors();
  for (uint32_t i = 0; i < 32; ++i) {
    uint32_t trips = i + 1;
    EXPECT_EQ(out[2 * i], (trips + 1) / 2 + trips / 2 * 100) << i;
    EXPECT_EQ(out[2 * i + 1], 0xffffffffu) << i;
  }
}

TEST(Run, SharedMemoryBarrierReversal) {
  Harness h(module(R"(
.shared .align 4 .b8 tile[1024];
.visible .entry k(.param .u64 in, .param .u64 out) {
  .reg .b32 %r<9>;
  .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.u64 %rd4, %rd1, %rd3;
  ld.global.u32 %r2, [%rd4];
  mov.u32 %r3, tile;
  shl.b32 %r4, %r1, 2;
  add.u32 %r5, %r3, %r4;
  st.shared.u32 [%r5], %r2;
  bar.sync 0;
  mov.u32 %r6, 255;
  sub.u32 %r6, %r6, %r1;
  shl.b32 %r6, %r6, 2;
  add.u32 %r6, %r3, %r6;
  ld.shared.u32 %r7, [%r6];
  add.u64 %rd5, %rd2, %rd3;
  st.global.u32 [%rd5], %r7;
  ret;
})"));
  ASSERT_TRUE(h.ok()) << h.errors();
  std::vector<uint32_t> in(256);
  std::iota(in.begin(), in.end(), 1000);
  auto a = h.buffer(in), b = h.poison<uint32_t>(256);
  ASSERT_EQ(h.run("k", {1, 1, 1}, {256, 1, 1}, a, b).status, LaunchStatus::ok) << h.errors();
  for (int i = 0; i < 256; ++i) EXPECT_EQ(b[i], in[255 - i]);
}

// A lock that lanes of one warp fight for: without fair scheduling of diverged lanes this never
// ends.
TEST(Run, SpinLockInsideAWarp) {
  Harness h(module(R"(
.visible .entry k(.param .u64 lock, .param .u64 counter) {
  .reg .pred %p<2>;
  .reg .b32 %r<5>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [lock];
  ld.param.u64 %rd2, [counter];
again:
  atom.acquire.gpu.global.cas.b32 %r1, [%rd1], 0, 1;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra again;
  ld.volatile.global.u32 %r2, [%rd2];
  add.u32 %r2, %r2, 1;
  st.volatile.global.u32 [%rd2], %r2;
  fence.acq_rel.gpu;
  atom.release.gpu.global.exch.b32 %r3, [%rd1], 0;
  ret;
})"));
  ASSERT_TRUE(h.ok()) << h.errors();
  auto lock = h.buffer<uint32_t>({0}), counter = h.buffer<uint32_t>({0});
  h.config.maxSteps = 10000000;
  LaunchResult r = h.run("k", {3, 1, 1}, {96, 1, 1}, lock, counter);
  ASSERT_EQ(r.status, LaunchStatus::ok) << h.errors();
  EXPECT_EQ(counter[0], 288u);
}

TEST(Run, CallsAndRecursion) {
  Harness h(module(R"(
.func (.param .b32 r) fact(.param .b32 n) {
  .reg .pred %p<2>;
  .reg .b32 %r<5>;
  ld.param.u32 %r1, [n];
  setp.le.u32 %p1, %r1, 1;
  mov.u32 %r2, 1;
  @%p1 bra done;
  sub.u32 %r3, %r1, 1;
  {
    .param .b32 a0;
    .param .b32 r0;
    st.param.b32 [a0], %r3;
    call (r0), fact, (a0);
    ld.param.b32 %r4, [r0];
  }
  mul.lo.u32 %r2, %r4, %r1;
done:
  st.param.b32 [r], %r2;
  ret;
}
.visible .entry k(.param .u64 out) {
  .reg .b32 %r<5>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  and.b32 %r2, %r1, 7;
  {
    .param .b32 a0;
    .param .b32 r0;
    st.param.b32 [a0], %r2;
    call (r0), fact, (a0);
    ld.param.b32 %r3, [r0];
  }
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd1, %rd1, %rd2;
  st.global.u32 [%rd1], %r3;
  ret;
})"));
  ASSERT_TRUE(h.ok()) << h.errors();
  auto out = h.poison<uint32_t>(64);
  ASSERT_EQ(h.run("k", {1, 1, 1}, {64, 1, 1}, out).status, LaunchStatus::ok) << h.errors();
  constexpr uint32_t kFactorial[] = {1, 1, 2, 6, 24, 120, 720, 5040};
  for (int i = 0; i < 64; ++i) EXPECT_EQ(out[i], kFactorial[i % 8]) << i;
}

}  // namespace
}  // namespace mtlc::sim
