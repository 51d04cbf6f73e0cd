// Public fault reports as far as they concern the execution of PTX. The numbers (BC-21, …) are
// those of the collection of fault reports that the project keeps; the expected values are written
// down.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "mtlc/sim/testing/harness.h"

namespace mtlc::sim {
namespace {

// A kernel k(a, b) with usual registers; %tid.x in %r0, a in %rd1, b in %rd2.
std::string kernel(std::string_view body) {
  return R"(.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b) {
  .reg .pred %p<10>;
  .reg .b16 %h<10>;
  .reg .b32 %r<30>;
  .reg .b64 %rd<20>;
  .reg .f32 %f<10>;
  .reg .f64 %fd<10>;
  .shared .align 16 .b8 tile[512];
  mov.u32 %r0, %tid.x;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [b];
)" + std::string(body) +
         "\n  ret;\n}\n";
}

uint32_t bitsOf(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  return bits;
}

// Floating-point maximum and minimum by integer atomics: values with the sign bit set order the
// other way round, and unsigned, -0.0 among them.
std::string atomicByInteger(bool max) {
  std::string forPositive = max ? "max.s32" : "min.s32", forNegative = max ? "min.u32" : "max.u32";
  return kernel(R"(
  mul.wide.u32 %rd3, %r0, 4;
  add.u64 %rd3, %rd1, %rd3;
  ld.global.b32 %r1, [%rd3];
  setp.lt.s32 %p1, %r1, 0;
  @!%p1 red.global.)" +
                forPositive + R"( [%rd2], %r1;
  @%p1 red.global.)" +
                forNegative + " [%rd2], %r1;");
}

float extremum(bool max, float start, const std::vector<float>& values) {
  Harness h(atomicByInteger(max));
  EXPECT_TRUE(h.ok()) << h.errors();
  auto a = h.buffer<float>(values);
  auto b = h.buffer<float>({start});
  h.config.checks = Checks::all;
  LaunchResult r = h.run("k", {1, 1, 1}, {static_cast<uint32_t>(values.size()), 1, 1}, a, b);
  EXPECT_EQ(r.status, LaunchStatus::ok) << h.errors();
  return b[0];
}

TEST(BugCases, Bc21FloatExtremaByIntegerAtomics) {
  constexpr float kMost = std::numeric_limits<float>::max();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  auto range = [](int from, int to) {
    std::vector<float> values;
    for (int i = from; i <= to; ++i) values.push_back(static_cast<float>(i));
    return values;
  };
  EXPECT_EQ(bitsOf(extremum(true, -kMost, {-0.0f})), 0x80000000u);
  EXPECT_EQ(bitsOf(extremum(true, -kMost, {-0.0f, -1, -4})), 0x80000000u);
  EXPECT_EQ(extremum(true, -1, range(0, 511)), 511.0f);
  EXPECT_EQ(extremum(false, kMost, range(-511, -1)), -511.0f);
  std::vector<float> mixed;
  for (int i = 0; i < 64; ++i) {
    mixed.push_back((i % 2 == 0 ? 1.0f : -1.0f) * static_cast<float>(i * 37 % 64));
  }
  EXPECT_EQ(extremum(true, -kInf, mixed), *std::max_element(mixed.begin(), mixed.end()));
  EXPECT_EQ(extremum(false, kInf, mixed), *std::min_element(mixed.begin(), mixed.end()));
  EXPECT_EQ(extremum(true, -kMost, {-kInf, -kMost}), -kMost);
  // A positive NaN is above everything as an integer, and stays.
  EXPECT_TRUE(std::isnan(extremum(true, 0, {std::nanf(""), kInf, 1})));
}

// x = 0, y = 1; five times (x, y) = (y, x), with and without a spare register.
TEST(BugCases, Bc34SwapInALoop) {
  for (std::string_view swap : {"mov.u32 %r5, %r1; mov.u32 %r1, %r2; mov.u32 %r2, %r5;",
                                "mov.b64 %rd5, {%r1, %r2}; mov.b64 {%r2, %r1}, %rd5;",
                                "xor.b32 %r1, %r1, %r2; xor.b32 %r2, %r1, %r2; xor.b32 %r1, %r1, "
                                "%r2;"}) {
    Harness h(kernel("  mov.u32 %r1, 0; mov.u32 %r2, 1; mov.u32 %r3, 0;\nL:\n  " +
                     std::string(swap) +
                     "\n  add.u32 %r3, %r3, 1;\n  setp.lt.u32 %p1, %r3, 5;\n  @%p1 bra L;\n"
                     "  st.global.v2.u32 [%rd1], {%r1, %r2};"));
    ASSERT_TRUE(h.ok()) << h.errors();
    auto a = h.buffer<uint32_t>({9, 9});
    ASSERT_EQ(h.run("k", {1, 1, 1}, {1, 1, 1}, a, a).status, LaunchStatus::ok) << h.errors();
    EXPECT_EQ(a.values(), (std::vector<uint32_t>{1, 0})) << swap;
  }
}

// Buffers that change roles an odd number of times; lanes make different numbers of trips.
TEST(BugCases, Bc34PingPong) {
  Harness h(kernel(R"(
  add.u32 %r1, %r0, 1;
L:
  mov.u64 %rd3, %rd1;
  mov.u64 %rd1, %rd2;
  mov.u64 %rd2, %rd3;
  sub.u32 %r1, %r1, 1;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra L;
  mul.wide.u32 %rd4, %r0, 4;
  add.u64 %rd5, %rd1, %rd4;
  st.global.u32 [%rd5], %r0;
)"));
  ASSERT_TRUE(h.ok()) << h.errors();
  auto a = h.buffer<uint32_t>(std::vector<uint32_t>(40, 99));
  auto b = h.buffer<uint32_t>(std::vector<uint32_t>(40, 99));
  ASSERT_EQ(h.run("k", {1, 1, 1}, {40, 1, 1}, a, b).status, LaunchStatus::ok) << h.errors();
  for (uint32_t i = 0; i < 40; ++i) {
    EXPECT_EQ(a[i], i % 2 == 1 ? i : 99) << i;  // An even number of swaps.
    EXPECT_EQ(b[i], i % 2 == 0 ? i : 99) << i;
  }
}

// t0 stores 1; barrier; every thread loads; barrier; t0 stores 2; results come last.
TEST(BugCases, Bc33LoadsStayBetweenTheirBarriers) {
  Harness h(kernel(R"(
  mov.u32 %r1, tile;
  setp.ne.u32 %p1, %r0, 0;
  @!%p1 st.shared.u32 [%r1], 1;
  bar.sync 0;
  ld.shared.u32 %r2, [%r1];
  bar.sync 0;
  @!%p1 st.shared.u32 [%r1], 2;
  mul.wide.u32 %rd3, %r0, 4;
  add.u64 %rd3, %rd1, %rd3;
  st.global.u32 [%rd3], %r2;
)"));
  ASSERT_TRUE(h.ok()) << h.errors();
  for (uint64_t seed = 0; seed < 8; ++seed) {
    auto a = h.buffer<uint32_t>(std::vector<uint32_t>(96, 0));
    h.config.checks = Checks::all;
    h.config.seed = seed;
    LaunchResult r = h.run("k", {1, 1, 1}, {96, 1, 1}, a, a);
    EXPECT_EQ(r.status, LaunchStatus::ok) << h.errors();
    EXPECT_EQ(a.values(), std::vector<uint32_t>(96, 1));
  }
}

// A named barrier with a thread count is legal under a branch that whole warps take.
TEST(BugCases, Bc31PartialBarrier) {
  Harness h(kernel(R"(
  setp.ge.u32 %p1, %r0, 64;
  @%p1 bra done;
  mov.u32 %r1, tile;
  shl.b32 %r2, %r0, 2;
  add.u32 %r2, %r1, %r2;
  st.shared.u32 [%r2], %r0;
  bar.sync 1, 64;
  sub.u32 %r3, 63, %r0;
  shl.b32 %r3, %r3, 2;
  add.u32 %r3, %r1, %r3;
  ld.shared.u32 %r4, [%r3];
  mul.wide.u32 %rd3, %r0, 4;
  add.u64 %rd3, %rd1, %rd3;
  st.global.u32 [%rd3], %r4;
done:
)"));
  ASSERT_TRUE(h.ok()) << h.errors();
  auto a = h.buffer<uint32_t>(std::vector<uint32_t>(64, 99));
  h.config.checks = Checks::all;
  EXPECT_EQ(h.run("k", {1, 1, 1}, {128, 1, 1}, a, a).status, LaunchStatus::ok) << h.errors();
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(a[i], 63 - i);
}

// The sum of 32 to 47 in the second warp of a block of 48, by shuffles among its 16 lanes.
TEST(BugCases, Bc36SumInAPartialWarp) {
  Harness h(kernel(R"(
  setp.lt.u32 %p1, %r0, 32;
  @%p1 bra done;
  mov.u32 %r1, %r0;
  shfl.sync.down.b32 %r2, %r1, 8, 0x100f, 0xffff; add.u32 %r1, %r1, %r2;
  shfl.sync.down.b32 %r2, %r1, 4, 0x100f, 0xffff; add.u32 %r1, %r1, %r2;
  shfl.sync.down.b32 %r2, %r1, 2, 0x100f, 0xffff; add.u32 %r1, %r1, %r2;
  shfl.sync.down.b32 %r2, %r1, 1, 0x100f, 0xffff; add.u32 %r1, %r1, %r2;
  setp.eq.u32 %p2, %r0, 32;
  @%p2 st.global.u32 [%rd1], %r1;
done:
)"));
  ASSERT_TRUE(h.ok()) << h.errors();
  auto a = h.buffer<uint32_t>({0});
  h.config.checks = Checks::all;
  EXPECT_EQ(h.run("k", {1, 1, 1}, {48, 1, 1}, a, a).status, LaunchStatus::ok) << h.errors();
  EXPECT_EQ(a[0], 632u);
}

// 64-bit payloads travel as two halves, 16-bit ones in a wider register: bit for bit.
TEST(BugCases, Bc36WideAndNarrowPayloads) {
  Harness h(kernel(R"(
  mul.wide.u32 %rd3, %r0, 8;
  add.u64 %rd4, %rd1, %rd3;
  ld.global.b64 %rd5, [%rd4];
  mov.b64 {%r1, %r2}, %rd5;
  shfl.sync.down.b32 %r3, %r1, 1, 31, 0xffffffff;
  shfl.sync.down.b32 %r4, %r2, 1, 31, 0xffffffff;
  mov.b64 %rd6, {%r3, %r4};
  st.global.b64 [%rd4], %rd6;
  mul.wide.u32 %rd7, %r0, 2;
  add.u64 %rd8, %rd2, %rd7;
  ld.global.b16 %h1, [%rd8];
  mov.b32 %r5, {%h1, %h2};
  shfl.sync.idx.b32 %r6, %r5, 5, 31, 0xffffffff;
  mov.b32 {%h3, %h4}, %r6;
  st.global.b16 [%rd8], %h3;
)"));
  ASSERT_TRUE(h.ok()) << h.errors();
  std::vector<uint64_t> wide(32), want(32);
  for (uint32_t i = 0; i < 32; ++i) {
    double value = (1 + std::ldexp(1.0, -40)) * i;
    std::memcpy(&wide[i], &value, 8);
  }
  wide[3] = 0x0123456789abcdef;
  for (uint32_t i = 0; i < 32; ++i) want[i] = wide[std::min(i + 1, 31u)];
  std::vector<uint16_t> narrow(32, 0xffff);
  narrow[5] = 0x8000;
  auto a = h.buffer<uint64_t>(wide);
  auto b = h.buffer<uint16_t>(narrow);
  h.config.checks = Checks::all;
  h.config.readBack = {a.allocation(), b.allocation()};
  EXPECT_EQ(h.run("k", {1, 1, 1}, {32, 1, 1}, a, b).status, LaunchStatus::ok) << h.errors();
  EXPECT_EQ(a.values(), want);
  EXPECT_EQ(b.values(), std::vector<uint16_t>(32, 0x8000));
}

// Four rows of 1185 floats: only the first begins at a multiple of 16 bytes.
TEST(BugCases, Bc25VectorsOfUnalignedRows) {
  Harness h(kernel(R"(
  mad.lo.u32 %r1, %r0, 4740, 0;
  cvt.u64.u32 %rd3, %r1;
  add.u64 %rd3, %rd1, %rd3;
  ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd3];
)"));
  ASSERT_TRUE(h.ok()) << h.errors();
  auto a = h.buffer<float>(std::vector<float>(4 * 1185, 0));
  h.config.checks = Checks::all;
  LaunchResult r = h.run("k", {1, 1, 1}, {4, 1, 1}, a, a);
  ASSERT_EQ(r.reports.size(), 1u) << h.errors();
  EXPECT_TRUE(r.reports[0].id == DiagId::SimMisaligned);
  EXPECT_EQ(r.reports[0].at.thread[0], 1u);
  EXPECT_EQ(r.reports[0].occurrences, 3u);
  EXPECT_EQ(r.reports[0].bytes, 16u);
  EXPECT_EQ(r.reports[0].address, a.address() + 4740);
}

}  // namespace
}  // namespace mtlc::sim
