// Modules as other compilers write them: constructs that our own emitter never uses.

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "mtlc/sim/testing/harness.h"

namespace mtlc::sim {
namespace {

// A module with a kernel k(out): `body` between the prologue and `st.global.u32 [%rd1 + 4 * tid],
// %r1`.
std::string module(std::string_view declarations, std::string_view body,
                   std::string_view directives = "") {
  return ".version 8.0\n.target sm_80\n.address_size 64\n" + std::string(declarations) +
         "\n.visible .entry k(.param .u64 out)" + std::string(directives) + R"(
{
  .reg .pred %p<10>;
  .reg .b32 %r<20>;
  .reg .b64 %rd<20>;
  mov.u32 %r0, %tid.x;
  ld.param.u64 %rd1, [out];
  mul.wide.u32 %rd0, %r0, 4;
  add.u64 %rd1, %rd1, %rd0;
)" + std::string(body) +
         "\n  st.global.u32 [%rd1], %r1;\n  ret;\n}\n";
}

void expectOut(const std::string& ptx, const std::vector<uint32_t>& want) {
  Harness h(ptx);
  ASSERT_TRUE(h.ok()) << h.errors() << ptx;
  auto out = h.poison<uint32_t>(want.size(), "out");
  h.config.checks = Checks::all;
  h.config.readBack = {out.allocation()};
  LaunchResult r = h.run("k", {1, 1, 1}, {static_cast<uint32_t>(want.size()), 1, 1}, out);
  EXPECT_EQ(r.status, LaunchStatus::ok) << h.errors() << ptx;
  EXPECT_EQ(out.values(), want) << ptx;
}

constexpr std::string_view kFunctions = R"(
.func (.param .b32 r) inner(.param .b32 x);
.func (.param .b32 r) plus1(.param .b32 x) {
  .reg .b32 %a;
  ld.param.b32 %a, [x];
  add.s32 %a, %a, 1;
  st.param.b32 [r], %a;
  ret;
}
.func (.param .b32 r) outer(.param .b32 x) {
  .reg .b32 %a;
  ld.param.b32 %a, [x];
  {
    .param .b32 p;
    .param .b32 q;
    st.param.b32 [p], %a;
    call.uni (q), inner, (p);
    ld.param.b32 %a, [q];
  }
  mul.lo.s32 %a, %a, 3;
  st.param.b32 [r], %a;
  ret;
}
.func (.param .b32 r) inner(.param .b32 x) {
  .shared .b32 box;
  .reg .b32 %a;
  ld.param.b32 %a, [x];
  add.s32 %a, %a, 10;
  st.shared.b32 [box], %a;
  ld.shared.b32 %a, [box];
  st.param.b32 [r], %a;
  ret;
}
)";

// Calls the function whose address is in %rd5 with %r0.
constexpr std::string_view kIndirect = R"(
  {
    .param .b32 p;
    .param .b32 q;
    st.param.b32 [p], %r0;
    proto: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (q), %rd5, (p), proto;
    ld.param.b32 %r1, [q];
  }
)";

TEST(Dialect, FunctionsThatOnlyMemoryKnowsCallOthers) {
  // The callee comes from a table; it calls a function, with shared memory, that nothing else
  // names.
  expectOut(
      module(std::string(kFunctions) + ".global .align 8 .u64 table[2] = {plus1, outer};\n",
             "  mov.u64 %rd4, table;\n  ld.global.u64 %rd5, [%rd4+8];\n" + std::string(kIndirect)),
      {30});
  // Through a pointer to the table.
  expectOut(module(std::string(kFunctions) + ".global .align 8 .u64 table[2] = {plus1, outer};\n"
                                             ".global .align 8 .u64 object = generic(table);\n",
                   "  ld.global.u64 %rd4, [object];\n  ld.u64 %rd5, [%rd4+8];\n" +
                       std::string(kIndirect)),
            {30});
  // The address is taken by a function of its own, which is a kernel here.
  const std::string taker =
      ".visible .entry taker(.param .u64 to) {\n.reg .b64 %rd<3>;\nld.param.u64 %rd1, [to];\n"
      "mov.u64 %rd2, outer;\nst.global.u64 [%rd1], %rd2;\nret;\n}\n";
  Harness h(module(std::string(kFunctions) + taker,
                   "  ld.global.u64 %rd5, [%rd1];\n" + std::string(kIndirect)));
  ASSERT_TRUE(h.ok()) << h.errors();
  auto out = h.buffer<uint64_t>({0}, "out");
  EXPECT_EQ(h.run("taker", {1, 1, 1}, {1, 1, 1}, out).status, LaunchStatus::ok) << h.errors();
  EXPECT_EQ(h.run("k", {1, 1, 1}, {1, 1, 1}, out).status, LaunchStatus::ok) << h.errors();
  EXPECT_EQ(static_cast<uint32_t>(out[0]), 30u);
}

}  // namespace
}  // namespace mtlc::sim
