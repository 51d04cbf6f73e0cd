// The lines of a trace, written by hand from the program.

#include <gtest/gtest.h>

#include "mtlc/sim/testing/harness.h"

namespace mtlc::sim {
namespace {

constexpr std::string_view kKernel = R"(.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out) {
  .reg .pred %p<2>;
  .reg .b32 %r<5>;
  .reg .f32 %f<3>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  add.u32 %r2, %r1, 7;
  setp.gt.u32 %p1, %r1, 40;
  @%p1 add.u32 %r2, %r2, 1;
  @%p1 bra done;
  cvt.rn.f32.u32 %f1, %r2;
  mul.f32 %f2, %f1, 0f3F000000;
  st.global.f32 [%rd1], %f2;
  fence.acq_rel.gpu;
done:
  exit;
}
)";

std::vector<std::string> traceOf(Harness& h, Buffer<float>& out, uint32_t thread, uint32_t block) {
  std::vector<std::string> lines;
  h.config.trace = true;
  h.config.traceBlock = {block, 0, 0};
  h.config.traceThread = {thread, 0, 0};
  h.config.traceLine = [&](std::string_view line) { lines.emplace_back(line); };
  EXPECT_EQ(h.run("k", {2, 1, 1}, {48, 1, 1}, out).status, LaunchStatus::ok) << h.errors();
  return lines;
}

std::string hex(uint64_t v, const char* format) {
  char text[32];
  std::snprintf(text, sizeof text, format, static_cast<unsigned long long>(v));
  return text;
}

TEST(Trace, EveryInstructionOfOneThread) {
  Harness h(kKernel);
  ASSERT_TRUE(h.ok()) << h.errors();
  auto out = h.poison<float>(1);
  std::string address = hex(out.address(), "0x%016llx"), brief = hex(out.address(), "0x%llx");
  // 33 + 7 is 40, half of it 20.
  EXPECT_EQ(
      traceOf(h, out, 33, 1),
      (std::vector<std::string>{
          "9: ld.param.u64 %rd1, [out] | load param 0x0 8 -> " + address,
          "10: mov.u32 %r1, %tid.x | 0x00000021 -> 0x00000021",
          "11: add.u32 %r2, %r1, 7 | 0x00000021 0x00000007 -> 0x00000028",
          "12: setp.gt.u32 %p1, %r1, 40 | 0x00000021 0x00000028 -> false",
          "13: @%p1 add.u32 %r2, %r2, 1 | skipped",
          "14: @%p1 bra done | not taken",
          "15: cvt.rn.f32.u32 %f1, %r2 | 0x00000028 -> 0x42200000 (40)",
          "16: mul.f32 %f2, %f1, 0f3F000000 | 0x42200000 (40) 0x3f000000 (0.5) -> 0x41a00000 (20)",
          "17: st.global.f32 [%rd1], %f2 | " + address + " 0x41a00000 (20) | store global " +
              brief + " 4",
          "18: fence.acq_rel.gpu",
          "20: exit",
      }));
}

TEST(Trace, TakenBranchAndNoSuchThread) {
  Harness h(kKernel);
  ASSERT_TRUE(h.ok()) << h.errors();
  auto out = h.poison<float>(1);
  std::vector<std::string> lines = traceOf(h, out, 41, 0);
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_EQ(lines[4], "13: @%p1 add.u32 %r2, %r2, 1 | 0x00000030 0x00000001 -> 0x00000031");
  EXPECT_EQ(lines[5], "14: @%p1 bra done | taken");
  EXPECT_TRUE(traceOf(h, out, 48, 0).empty());
  EXPECT_TRUE(traceOf(h, out, 0, 2).empty());
}

}  // namespace
}  // namespace mtlc::sim
