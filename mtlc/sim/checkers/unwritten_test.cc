// The expected sets come from following the paths of these programs by hand.

#include "mtlc/sim/checkers/unwritten.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mtlc/sim/testing/harness.h"

namespace mtlc::sim {
namespace {

using Names = std::vector<std::string>;  // Sorted.

constexpr std::string_view kHeader = ".version 8.8\n.target sm_90\n.address_size 64\n";
constexpr std::string_view kRegisters =
    "  .reg .pred %p<4>;\n  .reg .b32 %r<10>;\n  .reg .b64 %rd<10>;\n  .reg .f32 %f<10>;\n";

// Names of the registers of `function` that may be unwritten.
Names unwrittenIn(Harness& h, std::string_view function) {
  const Kernel* k = h.module()->kernel("k");
  const Program& p = h.module()->program(*k);
  std::vector<std::vector<Ref>> found = maybeUnwritten(p);
  EXPECT_EQ(found.size(), p.functions.size());
  Names out;
  for (size_t f = 0; f < found.size(); ++f) {
    if (p.functions[f].name != function) continue;
    for (Ref r : found[f]) {
      std::string name = "?";
      for (const RegisterName& n : p.names) {
        if (n.function == f && n.ref == r) name = n.name;
      }
      out.push_back(name);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

void expectKernel(std::string_view body, const Names& expected) {
  SCOPED_TRACE(body);
  std::string text = std::string(kHeader) + ".visible .entry k(.param .u64 out) {\n" +
                     std::string(kRegisters) + "  mov.u32 %r0, %tid.x;\n" + std::string(body) +
                     "  ret;\n}\n";
  Harness h(text);
  ASSERT_TRUE(h.ok()) << h.errors();
  EXPECT_EQ(unwrittenIn(h, "k"), expected);
}

TEST(Unwritten, StraightLines) {
  expectKernel("  add.u32 %r1, %r0, 1;\n  add.u32 %r2, %r1, %r0;\n", {});
  expectKernel("  add.u32 %r1, %r0, %r2;\n  mov.u32 %r2, 1;\n", {"%r2"});
  expectKernel("  add.u32 %r1, %r1, %r0;\n", {"%r1"});
  // Never read: no matter.
  expectKernel("  mov.u32 %r1, 1;\n", {});
  // The banks are told apart.
  expectKernel("  add.u64 %rd1, %rd2, %rd3;\n  @%p1 add.f32 %f1, %f2, %f2;\n  mov.u64 %rd2, 0;\n",
               {"%f2", "%p1", "%rd2", "%rd3"});
}

TEST(Unwritten, GuardedWritesCountAsNone) {
  expectKernel(
      "  setp.eq.u32 %p1, %r0, 3;\n  @%p1 mov.u32 %r1, 1;\n  add.u32 %r2, %r1, 1;\n  @%p1 mov.u32 "
      "%r3, %r2;\n",
      {"%r1"});
}

TEST(Unwritten, BranchesMeet) {
  constexpr std::string_view kDiamond =
      "  setp.eq.u32 %p1, %r0, 3;\n  @%p1 bra other;\n  mov.u32 %r1, 1;\n  mov.u32 %r2, 1;\n"
      "  bra.uni done;\nother:\n  mov.u32 %r1, 2;\ndone:\n";
  expectKernel(std::string(kDiamond) + "  add.u32 %r3, %r1, 1;\n", {});
  expectKernel(std::string(kDiamond) + "  add.u32 %r3, %r2, 1;\n", {"%r2"});
  // Behind an exit there is no path.
  expectKernel("  bra.uni done;\n  add.u32 %r3, %r2, 1;\ndone:\n", {});
}

TEST(Unwritten, Loops) {
  // Written in the loop, read behind it: the loop may not have run.
  expectKernel(
      "loop:\n  setp.eq.u32 %p1, %r0, 0;\n  @%p1 bra done;\n  mov.u32 %r1, 1;\n  sub.u32 %r0, %r0, "
      "1;\n  bra.uni loop;\ndone:\n  add.u32 %r2, %r1, 1;\n",
      {"%r1"});
  // A loop that runs at least once.
  expectKernel(
      "loop:\n  mov.u32 %r1, 1;\n  sub.u32 %r0, %r0, 1;\n  setp.ne.u32 %p1, %r0, 0;\n  @%p1 bra "
      "loop;\n  add.u32 %r2, %r1, 1;\n",
      {});
  // Read in the first round, written for the second.
  expectKernel(
      "loop:\n  add.u32 %r2, %r1, 1;\n  mov.u32 %r1, 1;\n  sub.u32 %r0, %r0, 1;\n  setp.ne.u32 "
      "%p1, "
      "%r0, 0;\n  @%p1 bra loop;\n",
      {"%r1"});
}

TEST(Unwritten, TablesOfBranches) {
  expectKernel(
      "table: .branchtargets one, two;\n  mov.u32 %r4, 1;\n  and.b32 %r1, %r0, 1;\n  brx.idx %r1, "
      "table;\none:\n  mov.u32 %r2, 1;\n  mov.u32 %r3, 1;\n  bra.uni done;\ntwo:\n  mov.u32 %r2, "
      "1;\ndone:\n  add.u32 %r5, %r2, %r3;\n  add.u32 %r5, %r5, %r4;\n",
      {"%r3"});
}

TEST(Unwritten, SeveralOperands) {
  expectKernel(
      "  ld.param.u64 %rd1, [out];\n  ld.global.v2.u32 {%r1, %r2}, [%rd1];\n  st.global.v2.u32 "
      "[%rd1], {%r1, %r3};\n  add.u32 %r4, %r2, 1;\n",
      {"%r3"});
  expectKernel("  mov.u64 %rd1, 5;\n  mov.b64 {%r1, %r2}, %rd1;\n  mov.b64 %rd2, {%r2, %r3};\n",
               {"%r3"});
  expectKernel(
      "  ld.param.u64 %rd1, [out];\n  atom.global.cas.b32 %r1, [%rd1], %r2, %r3;\n  "
      "red.global.add.u32 "
      "[%rd1], %r4;\n",
      {"%r2", "%r3", "%r4"});
  expectKernel("  setp.eq.u32 %p1|%p2, %r0, 1;\n  selp.u32 %r1, %r0, %r2, %p2;\n", {"%r2"});
}

// What a shuffle reads may be a register of a lane that took another path.
TEST(Unwritten, SourcesOfShuffles) {
  expectKernel("  shfl.sync.bfly.b32 %r1, %r0, 1, 31, -1;\n  add.u32 %r2, %r1, 1;\n", {"%r0"});
}

TEST(Unwritten, Functions) {
  std::string text = std::string(kHeader) +
                     ".func (.reg .u32 result) f(.reg .u32 a, .reg .u32 b) {\n  .reg .b32 %r<3>;\n"
                     "  add.u32 %r0, a, b;\n  add.u32 result, %r0, %r1;\n  ret;\n}\n"
                     ".func (.reg .u32 result) g(.reg .u32 a) {\n  ret;\n}\n"
                     ".visible .entry k(.param .u64 out) {\n" +
                     std::string(kRegisters) +
                     "  mov.u32 %r0, 1;\n  call (%r1), f, (%r0, %r2);\n  call (%r3), g, (%r1);\n"
                     "  add.u32 %r4, %r3, %r1;\n  ret;\n}\n";
  Harness h(text);
  ASSERT_TRUE(h.ok()) << h.errors();
  EXPECT_EQ(unwrittenIn(h, "f"), Names{"%r1"});
  EXPECT_EQ(unwrittenIn(h, "g"), Names{"?"});  // The result; only %r… have names.
  EXPECT_EQ(unwrittenIn(h, "k"), Names{"%r2"});
}

}  // namespace
}  // namespace mtlc::sim
