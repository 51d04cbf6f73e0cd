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
  return ".version 8.3\n.target sm_80\n.address_size 64\n" + std::string(declarations) +
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
  .shared .b32 box[64];
  .reg .b32 %a, %at, %box;
  mov.u32 %at, %tid.x;
  mov.u32 %box, box;
  mad.lo.u32 %at, %at, 4, %box;
  ld.param.b32 %a, [x];
  add.s32 %a, %a, 10;
  st.shared.b32 [%at], %a;
  ld.shared.b32 %a, [%at];
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

// Word %r0 of `values` in %r1.
constexpr std::string_view kReadWord = R"(
  mov.u64 %rd4, values;
  add.u64 %rd4, %rd4, %rd0;
  ld.global.u32 %r1, [%rd4];
)";

TEST(Dialect, Initialisers) {
  struct Case {
    std::string_view declaration;
    std::vector<uint32_t> words;
  };
  const std::vector<Case> cases = {
      {".global .b32 values[4] = {1, 2, 3, 4};", {1, 2, 3, 4}},
      {".global .b32 values[4] = {1, 2};", {1, 2, 0, 0}},
      {".global .b32 values[] = {5, 6, 7};", {5, 6, 7}},
      {".global .u32 values[2][3] = {{1}, {2, 3}};", {1, 0, 0, 2, 3, 0}},
      {".global .u32 values[2][3] = {{1, 2, 3}, {4, 5, 6}};", {1, 2, 3, 4, 5, 6}},
      {".global .u32 values[][2] = {{1}, {2, 3}, {4}};", {1, 0, 2, 3, 4, 0}},
      {".global .u32 values[2][2][2] = {{{1}, {2}}, {{}, {3, 4}}};", {1, 0, 2, 0, 0, 0, 3, 4}},
      {".global .v2 .u32 values[2] = {{1, 2}, {3, 4}};", {1, 2, 3, 4}},
      {".global .align 4 .b8 values[8] = {1, 2, 3, 4, 0xff, -1, 010, 0b11};",
       {0x04030201, 0x0308ffff}},
      {".global .f32 values[4] = {1.0, 0f40000000, 0.5, -3.0};",
       {0x3f800000, 0x40000000, 0x3f000000, 0xc0400000}},
      {".global .f64 values[1] = {0d3FF0000000000000};", {0, 0x3ff00000}},
      {".global .u32 values[3] = {(1 << 4) | 3, 7 > 3 ? 10 : 20, -(5 - 8)};", {19, 10, 3}},
      {".visible .global .align 16 .u32 values = 77;", {77}},
      {".weak .global .u32 values = 78;", {78}},
      {".common .global .u32 values[2];", {0, 0}},
      {".global .attribute(.managed) .u32 values = 79;", {79}},
      {".extern .global .u32 values[];\n.visible .global .u32 values[2] = {8, 9};", {8, 9}},
      {".global .u32 a = 3, values[2] = {1, 2}, b;", {1, 2}},
  };
  for (const Case& c : cases) expectOut(module(c.declaration, kReadWord), c.words);
}

TEST(Dialect, AddressesInInitialisers) {
  // The address itself, plus a number of bytes, generic, and byte by byte.
  const std::string declarations = R"(
.global .u32 target[4] = {10, 20, 30, 40};
.const .u32 fixed[2] = {50, 60};
.global .align 8 .u64 values[4] = {target, target+8, generic(target)+4, generic(fixed)+4};
.global .align 8 .b8 bytes[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0xFF(target), 0xFF00(target), 0xFF0000(target),
  0xFF000000(target), 0xFF00000000(target), 0xFF0000000000(target), 0xFF000000000000(target),
  0xFF00000000000000(target)};
)";
  constexpr std::string_view kBody = R"(
  mov.u64 %rd4, values;
  mul.wide.u32 %rd5, %r0, 8;
  add.u64 %rd4, %rd4, %rd5;
  setp.eq.u32 %p1, %r0, 4;
  @%p1 mov.u64 %rd4, bytes+8;
  ld.global.u64 %rd6, [%rd4];
  ld.u32 %r1, [%rd6];
)";
  expectOut(module(declarations, kBody), {10, 30, 20, 60, 10});
}

TEST(Dialect, PrototypeAndTargetsBehindTheCall) {
  expectOut(module(kFunctions, R"(
  mov.u64 %rd5, outer;
  .param .b32 p;
  .param .b32 q;
  st.param.b32 [p], %r0;
  call (q), %rd5, (p), proto;
  ld.param.b32 %r1, [q];
  bra.uni past;
  proto: .callprototype (.param .b32 _) _ (.param .b32 _);
past:
)"),
            {30, 33});
  expectOut(module(kFunctions, R"(
  mov.u64 %rd5, plus1;
  .param .b32 p;
  .param .b32 q;
  st.param.b32 [p], %r0;
  call (q), %rd5, (p), some;
  ld.param.b32 %r1, [q];
  some: .calltargets plus1, outer;
)"),
            {1, 2});
}

TEST(Dialect, BranchTables) {
  constexpr std::string_view kCases = R"(
  mov.u32 %r1, 100;
%TABLE_BEFORE%
  brx.idx %r0, table;
%TABLE_BEHIND%
a: add.u32 %r1, %r1, 1;
  bra.uni done;
b: add.u32 %r1, %r1, 2;
c: add.u32 %r1, %r1, 4;
done:
)";
  for (std::string_view place : {"%TABLE_BEFORE%", "%TABLE_BEHIND%"}) {
    std::string body(kCases);
    for (std::string_view p : {"%TABLE_BEFORE%", "%TABLE_BEHIND%"}) {
      body.replace(body.find(p), p.size(), p == place ? "  table: .branchtargets a, b, c, a;" : "");
    }
    expectOut(module("", body), {101, 106, 104, 101});
  }
}

TEST(Dialect, Directives) {
  // Everything that says nothing about what the kernel computes.
  const std::string declarations = R"(
.file 1 "/tmp/a file.cu", 1700000000, 1234
.file 2 "b.cuh"
.pragma "nounroll";
.extern .func (.param .b32 r) neverCalled(.param .b64 a, .param .b64 b);
.weak .func (.param .b32 r) weakOne(.param .b32 x) .noreturn;
.section .debug_str
{
info_string0:
.b8 95, 90, 0
.b64 info_string0
}
.section .debug_abbrev { .b8 1 .b8 17, 0 { } }
)";
  expectOut(module(declarations, R"(
  .pragma "used_bytes_mask 15";
  .loc 1 12 3
  mov.u32 %r1, 7;
  .loc 2 9 0, function_name info_string0, inlined_at 1 14 5
  .loc 2 9 0, function_name info_string0+4, inlined_at 1 14 5
  add.u32 %r1, %r1, %r0;
)",
                   "\n.maxntid 128, 2, 1\n.minnctapersm 2\n.maxnreg 64\n.pragma \"x\";\n"),
            {7, 8});
  expectOut(module("", "mov.u32 %r1, 3;", " .reqntid 2"), {3, 3});
  for (std::string_view target :
       {"sm_90", "sm_90a", "sm_100a", "sm_100f", "sm_121a", "sm_90, debug"}) {
    std::string text =
        module("", "mov.u32 %r1, 5;",
               "\n.explicitcluster\n.reqnctapercluster 1, 1, 1\n.maxclusterrank 8\n");
    text.replace(text.find("sm_80"), 5, target);
    text.replace(text.find("8.3"), 3, "8.8");
    expectOut(text, {5, 5});
  }
}

TEST(Dialect, Aliases) {
  expectOut(
      module(std::string(kFunctions) +
                 ".visible .func (.param .b32 r) other(.param .b32 x);\n.alias other, plus1;\n",
             "{ .param .b32 p; .param .b32 q; st.param.b32 [p], %r0; call.uni (q), other, (p);"
             " ld.param.b32 %r1, [q]; }"),
      {1, 2});
}

TEST(Dialect, DeclarationsAndRegisters) {
  // Vector registers, ranges, shadowed names, several variables a line, names with $ and %.
  expectOut(module("", R"(
  .reg .v4 .b32 v;
  .reg .b32 $x, %y<2>, _z;
  mov.u32 $x, 1;
  mov.u32 %y0, 2;
  mov.u32 %y1, 3;
  mov.b32 v.x, $x;
  mov.b32 v.y, %y0;
  mov.b32 v.z, %y1;
  mov.b32 v.w, %r0;
  {
    .reg .b32 $x;
    mov.u32 $x, 50;
    add.u32 _z, $x, v.w;
  }
  add.u32 %r1, v.x, v.y;
  add.u32 %r1, %r1, v.b;
  add.u32 %r1, %r1, _z;
)"),
            {56, 57});
  // 128 bits in one register.
  expectOut(module("", R"(
  .reg .b128 %q;
  mov.u64 %rd4, 0x100000002;
  cvt.u64.u32 %rd5, %r0;
  mov.b128 %q, {%rd4, %rd5};
  mov.b128 {%rd6, %rd7}, %q;
  add.u64 %rd6, %rd6, %rd7;
  cvt.u32.u64 %r1, %rd6;
)"),
            {2, 3});
  // Parameters of functions in registers, and arrays of bytes.
  expectOut(module(R"(
.func (.reg .u32 r) sum(.reg .u32 x, .param .align 8 .b8 pair[16]) {
  .reg .b64 %a, %b;
  ld.param.u64 %a, [pair];
  ld.param.v2.u64 {%a, %b}, [pair];
  add.u64 %a, %a, %b;
  cvt.u32.u64 r, %a;
  add.u32 r, r, x;
  ret;
}
)",
                   R"(
  {
    .param .align 8 .b8 p[16];
    st.param.b64 [p], 30;
    st.param.b64 [p+8], 12;
    call (%r1), sum, (%r0, p);
  }
)"),
            {42, 43});
}

// A range's prefix is no name: ptxas, and Triton's inline assembly, have both side by side.
TEST(Dialect, RegistersNamedAsRanges) {
  expectOut(module("", R"(
  .reg .b32 a;
  .reg .b16 a<2>;
  mov.b32 a, 0x00050007;
  mov.b32 {a0, a1}, a;
  mov.b32 %r1, {a1, a0};
)"),
            {0x00070005, 0x00070005});
}

TEST(Dialect, AddressesOfParameters) {
  // As clang -O0 reads a structure that came by value, in a function and in a kernel.
  expectOut(module(R"(
.func (.param .b32 r) second(.param .align 8 .b8 pair[16], .param .b32 add) {
  .reg .b64 %a;
  .reg .b32 %x, %y;
  mov.b64 %a, pair;
  ld.param.u32 %x, [%a+8];
  ld.local.u32 %y, [%a+8];
  add.u32 %x, %x, %y;
  cvta.local.u64 %a, %a;
  ld.u32 %y, [%a+8];
  add.u32 %x, %x, %y;
  ld.param.u32 %y, [add];
  add.u32 %x, %x, %y;
  st.param.b32 [r], %x;
  ret;
}
)",
                   R"(
  {
    .param .align 8 .b8 p[16];
    .param .b32 q;
    .param .b32 s;
    st.param.b64 [p], 30;
    st.param.b64 [p+8], 100;
    st.param.b32 [q], %r0;
    call (s), second, (p, q);
    ld.param.u32 %r1, [s];
  }
  mov.b64 %rd5, out;
  ld.param.u64 %rd6, [%rd5];
  add.u64 %rd1, %rd6, %rd0;
)"),
            {300, 301});
}

TEST(Dialect, FlushBehindTheType) {
  // As the assembly in libraries has it: 2^x of an exact power, and 1 / denormal.
  expectOut(module("", R"(
  .reg .f32 %f<3>;
  mov.b32 %f1, 0x40400000;
  ex2.approx.f32.ftz %f2, %f1;
  cvt.rzi.u32.f32 %r2, %f2;
  mov.b32 %f1, 1;
  rcp.approx.f32.ftz %f2, %f1;
  setp.eq.f32 %p1, %f2, 0f7F800000;
  selp.u32 %r3, 100, 200, %p1;
  add.u32 %r1, %r2, %r3;
)"),
            {108});
}

TEST(Dialect, ScopesBehindTheSpace) {
  // As nvcc writes the atomics with a scope of CUDA.
  expectOut(module(".global .u32 values[1];\n.shared .u64 most;\n", R"(
  atom.global.cta.add.u32 %r2, [values], 5;
  red.global.sys.max.u32 [values], 3;
  mov.u64 %rd5, 0;
  st.shared.u64 [most], %rd5;
  atom.shared.gpu.max.u64 %rd6, [most], 7;
  ld.shared.u64 %rd7, [most];
  cvt.u32.u64 %r3, %rd7;
  add.u32 %r1, %r2, %r3;
)"),
            {7});
}

TEST(Dialect, DynamicSharedMemoryUnderSeveralNames) {
  Harness h(
      module(".extern .shared .align 16 .b8 first[];\n.extern .shared .align 8 .b64 second[];\n"
             ".shared .align 4 .b32 fixed[3];\n",
             R"(
  mov.u32 %r2, first;
  mov.u32 %r3, second;
  sub.u32 %r4, %r3, %r2;
  shl.b32 %r5, %r0, 2;
  add.u32 %r5, %r5, %r2;
  st.shared.u32 [%r5], %r0;
  ld.shared.u32 %r6, [%r5];
  st.shared.u32 [fixed+8], 9;
  add.u32 %r1, %r6, %r4;
)"));
  ASSERT_TRUE(h.ok()) << h.errors();
  auto out = h.poison<uint32_t>(1, "out");
  h.config.checks = Checks::all;
  h.config.dynamicShared = 64;
  EXPECT_EQ(h.run("k", {1, 1, 1}, {1, 1, 1}, out).status, LaunchStatus::ok) << h.errors();
  EXPECT_EQ(out[0], 0u);
}

// alloca, stacksave and stackrestore (PTX ISA 9.7.17): each lane takes as much as it wants, several
// times, and a call takes and gives back of its own.
TEST(Dialect, Alloca) {
  const std::string fill = R"(
.func (.param .b32 r) sum(.param .b32 n) {
  .reg .pred %p;
  .reg .b32 %n, %i, %s, %v;
  .reg .b64 %size, %base, %at;
  ld.param.b32 %n, [n];
  mul.wide.u32 %size, %n, 4;
  alloca.u64 %base, %size, 16;
  mov.u32 %i, 0;
  mov.u64 %at, %base;
FILL:
  setp.ge.u32 %p, %i, %n;
  @%p bra FILLED;
  st.local.u32 [%at], %i;
  add.u64 %at, %at, 4;
  add.u32 %i, %i, 1;
  bra FILL;
FILLED:
  mov.u32 %s, 0;
  cvta.local.u64 %at, %base;
ADD:
  setp.eq.u32 %p, %i, 0;
  @%p bra ADDED;
  ld.u32 %v, [%at];
  add.u64 %at, %at, 4;
  sub.u32 %i, %i, 1;
  add.u32 %s, %s, %v;
  bra ADD;
ADDED:
  st.param.b32 [r], %s;
  ret;
}
)";
  const std::string call =
      "{ .param .b32 p; .param .b32 q; st.param.b32 [p], %r2; call.uni (q), sum, (p);"
      " ld.param.b32 %r3, [q]; }\n";
  expectOut(module(fill, R"(
  add.u32 %r2, %r0, 2;
  cvt.u64.u32 %rd3, %r2;
  mov.u32 %r5, 0;
AGAIN:
  stacksave.u64 %rd4;
  alloca.u64 %rd5, %rd3;
  st.local.u8 [%rd5+1], %r2;
  )" + call + R"(
  alloca.u64 %rd6, 4000, 64;
  and.b64 %rd7, %rd6, 63;
  setp.ne.u64 %p1, %rd7, 0;
  @%p1 trap;
  st.local.u32 [%rd6+3996], %r3;
  ld.local.u8 %r4, [%rd5+1];
  ld.local.u32 %r3, [%rd6+3996];
  stackrestore.u64 %rd4;
  add.u32 %r5, %r5, 1;
  setp.lt.u32 %p1, %r5, 100;
  @%p1 bra AGAIN;
  mad.lo.u32 %r1, %r4, 1000, %r3;
)"),
            {2001, 3003, 4006, 5010, 6015});
  for (std::string_view bad : {"alloca.u64 %rd3, 64, 12;", "alloca.u64 %rd3, 64, %r1;",
                               "stacksave.u64 %rd3, %rd4;", "stackrestore.u64;"}) {
    Harness h(module("", bad));
    EXPECT_FALSE(h.ok()) << bad;
  }
}

// Memory that the system reserves lies apart from the program's own and begins with zeros.
TEST(Dialect, ReservedSharedMemory) {
  expectOut(module(".extern .shared .align 16 .b8 sized[];\n", R"(
  .shared .align 4 .b32 own;
  mov.u32 %r2, %reserved_smem_offset_1;
  mov.u32 %r3, %reserved_smem_offset_begin;
  mov.u32 %r4, %reserved_smem_offset_end;
  mov.u32 %r5, %reserved_smem_offset_cap;
  add.u32 %r6, %r3, %r5;
  setp.ne.u32 %p1, %r6, %r4;
  @%p1 trap;
  mov.u32 %r6, own;
  st.shared.u32 [own], 7;
  setp.ge.u32 %p1, %r6, %r3;
  setp.lt.and.u32 %p1, %r6, %r4, %p1;
  @%p1 trap;
  atom.or.acq_rel.cta.shared.b32 %r7, [%r2], 3;
  atom.shared.or.b32 %r7, [%r2], 8;
  ld.shared.u32 %r8, [%r2+284];
  add.u32 %r1, %r7, %r8;
)"),
            {3});
}

// Words of an opcode in orders that the ISA does not have and NVIDIA's libraries do.
TEST(Dialect, WordsInOtherOrders) {
  expectOut(module("", R"(
  .reg .f32 %f<4>;
  mov.f32 %f1, 0f40400000;
  ex2.approx.f32.ftz %f2, %f1;
  cvt.u32.f32.rzi %r1, %f2;
  setp.gt.u32 %p1, %r0, 0;
  vote.ballot.sync.b32 %r2, %p1, 0x7;
  add.u32 %r1, %r1, %r2;
  st.global.u32 [%rd1], 5;
  atom.add.gpu.u32 %r3, [%rd1], 0;
  fence.gpu.acq_rel;
  red.and.relaxed.cta.b32 [%rd1], %r3;
)"),
            {14, 14, 14});
}

// Where the blocks of a cooperative launch meet: a counter that begins at zero in every launch.
TEST(Dialect, GridWorkspace) {
  Harness h(module("", R"(
  mov.u32 %r2, %envreg1;
  mov.u32 %r3, %envreg2;
  mov.b64 %rd3, {%r3, %r2};
  mov.u32 %r1, 0;
  setp.eq.u64 %p1, %rd3, 0;
  @%p1 bra DONE;
  cvta.to.global.u64 %rd3, %rd3;
  mov.u32 %r4, %nctaid.x;
  atom.acq_rel.gpu.global.add.u32 %r5, [%rd3+4], 1;
MEET:
  ld.acquire.gpu.global.u32 %r1, [%rd3+4];
  setp.lt.u32 %p1, %r1, %r4;
  @%p1 bra MEET;
DONE:
  mov.u32 %r6, %ctaid.x;
  mul.wide.u32 %rd4, %r6, 4;
  add.u64 %rd1, %rd1, %rd4;
)"));
  ASSERT_TRUE(h.ok()) << h.errors();
  for (uint32_t blocks : {1u, 7u, 64u, 65u}) {
    auto out = h.poison<uint32_t>(blocks, "out");
    h.config.checks = Checks::all;
    h.config.readBack = {out.allocation()};
    h.config.seed = blocks;
    EXPECT_EQ(h.run("k", {blocks, 1, 1}, {1, 1, 1}, out).status, LaunchStatus::ok) << h.errors();
    // More than can be under way at the same time: no workspace.
    EXPECT_EQ(out.values(), std::vector<uint32_t>(blocks, blocks <= 64 ? blocks : 0)) << blocks;
  }
}

}  // namespace
}  // namespace mtlc::sim
