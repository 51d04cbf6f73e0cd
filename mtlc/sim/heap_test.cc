// The device heap: malloc() and free() of kernels, and what the checkers see of it.

#include "mtlc/sim/heap.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "mtlc/sim/testing/harness.h"

namespace mtlc::sim {
namespace {

TEST(DeviceHeap, BlocksDoNotOverlapAndFreedOnesReturnLate) {
  DeviceMemory memory(1 << 20);
  DeviceHeap heap;
  EXPECT_EQ(heap.allocate(8), 0u);  // No memory yet.
  Allocation* a = memory.allocate(4096, 256, "heap");
  heap.open(a);
  std::set<uint64_t> begins;
  uint64_t last = 0;
  for (int i = 0; i < 10; ++i) {
    uint64_t p = heap.allocate(static_cast<uint64_t>(i) * 7);
    ASSERT_NE(p, 0u);
    EXPECT_EQ(p % 16, 0u);
    EXPECT_TRUE(a->contains(p, static_cast<uint64_t>(i) * 7 + 1));
    EXPECT_GT(p, last);
    last = p + static_cast<uint64_t>(i) * 7;
    begins.insert(p);
  }
  EXPECT_EQ(begins.size(), 10u);
  for (uint64_t p : begins) EXPECT_TRUE(heap.free(p));
  for (uint64_t p : begins) EXPECT_FALSE(heap.free(p));
  uint64_t other = heap.allocate(16);
  EXPECT_EQ(begins.count(other), 0u);  // Not at once.
  EXPECT_TRUE(heap.free(other));
  // Everything comes back once it is needed.
  uint64_t most = heap.allocate(3800);
  EXPECT_NE(most, 0u);
  EXPECT_EQ(heap.allocate(3800), 0u);
  EXPECT_EQ(heap.allocate(uint64_t{0} - 1), 0u);
  EXPECT_TRUE(heap.free(most));
  EXPECT_NE(heap.allocate(3800), 0u);
}

TEST(DeviceHeap, Places) {
  DeviceMemory memory(1 << 20);
  DeviceHeap heap;
  heap.open(memory.allocate(4096, 256, "heap"));
  uint64_t p = heap.allocate(20), q = heap.allocate(4);
  EXPECT_EQ(heap.place(p, 20), DeviceHeap::Place::inside);
  EXPECT_EQ(heap.place(p + 17, 4), DeviceHeap::Place::outside);
  EXPECT_EQ(heap.place(p - 1, 1), DeviceHeap::Place::outside);
  EXPECT_EQ(heap.describe(p + 20), "0 bytes past the end of a block of 20 bytes from malloc");
  EXPECT_EQ(heap.describe(q - 2), "2 bytes before a block of 4 bytes from malloc");
  EXPECT_TRUE(heap.free(p));
  EXPECT_EQ(heap.place(p, 4), DeviceHeap::Place::freed);
  EXPECT_EQ(heap.place(q, 4), DeviceHeap::Place::inside);
  EXPECT_EQ(heap.describe(p + 4), "4 bytes into a freed block of 20 bytes from malloc");
}

// k(out): `body` with the address of a fresh block of 20 bytes in %rd2, out in %rd1.
std::string kernel(std::string_view body) {
  return R"(.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b64 r) malloc(.param .b64 size);
.extern .func free(.param .b64 p);
.visible .entry k(.param .u64 out) {
  .reg .pred %p<4>;
  .reg .b32 %r<10>;
  .reg .b64 %rd<10>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r0, %tid.x;
  { .param .b64 a; .param .b64 b; st.param.b64 [a], 20; call.uni (b), malloc, (a); ld.param.b64 %rd2, [b]; }
)" + std::string(body) +
         "\n  ret;\n}\n";
}

constexpr std::string_view kFree =
    "{ .param .b64 a; st.param.b64 [a], %rd2; call.uni free, (a); }\n";

struct Outcome {
  LaunchResult result;
  std::vector<uint32_t> out;
  std::string text;
};

Outcome run(const std::string& ptx, Checks checks = Checks::all) {
  Harness h(ptx);
  EXPECT_TRUE(h.ok()) << h.errors();
  if (!h.ok()) return {};
  auto out = h.buffer<uint32_t>(std::vector<uint32_t>(64, 0), "out");
  h.config.checks = checks;
  h.config.readBack = {out.allocation()};
  LaunchResult r = h.run("k", {2, 1, 1}, {32, 1, 1}, out);
  return {r, out.values(), h.errors()};
}

void expectOne(std::string_view body, DiagId id, std::string_view words) {
  Outcome o = run(kernel(body));
  ASSERT_EQ(o.result.reports.size(), 1u) << o.text;
  EXPECT_EQ(o.result.reports[0].id, id) << o.text;
  EXPECT_NE(o.text.find(words), std::string::npos) << o.text;
}

TEST(Heap, GoodUseReportsNothing) {
  // The result of malloc is defined, and a block that another thread had before races with nobody.
  Outcome o =
      run(kernel("st.u32 [%rd2+16], %r0;\nld.global.u32 %r1, [%rd2+16];\n"
                 "mul.wide.u32 %rd3, %r0, 4;\nadd.u64 %rd3, %rd3, %rd1;\n"
                 "mov.u32 %r2, %ctaid.x;\nmul.wide.u32 %rd4, %r2, 128;\n"
                 "add.u64 %rd3, %rd3, %rd4;\nst.global.u32 [%rd3], %r1;\n" +
                 std::string(kFree)));
  EXPECT_EQ(o.result.status, LaunchStatus::ok) << o.text;
  EXPECT_TRUE(o.result.reports.empty()) << o.text;
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(o.out[i], i % 32);
}

TEST(Heap, ReusedMemoryRacesWithNobody) {
  // More than the heap holds at once, so blocks pass from thread to thread.
  const std::string body = R"(
  mov.u32 %r3, 0;
again:
  { .param .b64 a; .param .b64 b; st.param.b64 [a], 100000; call.uni (b), malloc, (a); ld.param.b64 %rd2, [b]; }
  setp.eq.u64 %p1, %rd2, 0;
  @%p1 bra full;
  st.u32 [%rd2], %r0;
  st.u32 [%rd2+99996], %r0;
)" + std::string(kFree) + R"(
full:
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p1, %r3, 20;
  @%p1 bra again;
)";
  Outcome o = run(kernel(body));
  EXPECT_EQ(o.result.status, LaunchStatus::ok) << o.text;
}

TEST(Heap, PastTheEnd) {
  expectOne("st.u32 [%rd2+20], %r0;", DiagId::SimOutOfBounds,
            "0 bytes past the end of a block of 20 bytes from malloc");
  expectOne("ld.global.u32 %r1, [%rd2+-4];", DiagId::SimOutOfBounds, "from malloc");
}

TEST(Heap, UseAfterFree) {
  expectOne(std::string(kFree) + "ld.u32 %r1, [%rd2+8];", DiagId::SimUseAfterFree,
            "8 bytes into a freed block of 20 bytes from malloc");
}

TEST(Heap, FreshMemoryIsUninitialised) {
  // Also when the block was written in an earlier life: 8 MiB hold fewer than the 64 x 20 blocks.
  expectOne("ld.u32 %r1, [%rd2];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra end;\nend:",
            DiagId::SimUninitialised, "a branch");
  const std::string reused = R"(
  mov.u32 %r3, 0;
  mov.u64 %rd5, 0;
again:
  { .param .b64 a; .param .b64 b; st.param.b64 [a], 5000000; call.uni (b), malloc, (a); ld.param.b64 %rd2, [b]; }
  setp.eq.u64 %p1, %rd2, 0;
  @%p1 bra full;
  setp.eq.u32 %p2, %r3, 1;
  @!%p2 st.u32 [%rd2], %r0;
  @%p2 ld.u32 %r4, [%rd2];
  @%p2 setp.eq.u32 %p3, %r4, 7;
  @%p2 selp.u32 %r5, 1, 2, %p3;
  @%p2 st.global.u32 [%rd1], %r5;
)" + std::string(kFree) + R"(
full:
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p1, %r3, 2;
  @%p1 bra again;
)";
  Harness h(kernel(reused));
  ASSERT_TRUE(h.ok()) << h.errors();
  auto out = h.buffer<uint32_t>({0}, "out");
  h.config.checks = Checks::init;
  h.config.readBack = {out.allocation()};
  LaunchResult r = h.run("k", {1, 1, 1}, {1, 1, 1}, out);
  ASSERT_EQ(r.reports.size(), 1u) << h.errors();
  EXPECT_EQ(r.reports[0].id, DiagId::SimUninitReadBack) << h.errors();
}

TEST(Heap, WithoutTheMemCheckNeighboursAreReachable) {
  Outcome o = run(kernel("st.u32 [%rd2+20], %r0;"), Checks::none);
  EXPECT_EQ(o.result.status, LaunchStatus::ok) << o.text;
}

}  // namespace
}  // namespace mtlc::sim
