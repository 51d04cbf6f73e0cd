// Launches that are refused and kernels that fault: each is a result with its reason, never a crash
// and never a success. The limits are those of the CUDA C++ Programming Guide, "Compute
// Capabilities" (9.0), and of the PTX ISA.

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "mtlc/sim/testing/harness.h"

namespace mtlc::sim {
namespace {

using Dim = std::array<uint32_t, 3>;

constexpr std::string_view kHeader = ".version 8.8\n.target sm_90\n.address_size 64\n";

// Stores 1 to *out; `head` is between the parameter list and the body, `decls` begin the body.
std::string storesOne(std::string_view head = "", std::string_view decls = "") {
  return std::string(kHeader) + ".visible .entry k(.param .u64 out) " + std::string(head) +
         " {\n  .reg .b64 %rd<2>;\n" + std::string(decls) +
         "  ld.param.u64 %rd1, [out];\n  st.global.u32 [%rd1], 1;\n  ret;\n}\n";
}

// Launches a kernel k(out) that must be refused for `id`, with nothing written.
void expectRefused(const std::string& ptx, Dim grid, Dim block, DiagId id, std::string_view message,
                   uint32_t dynamicShared = 0) {
  SCOPED_TRACE(message);
  Harness h(ptx);
  ASSERT_TRUE(h.ok()) << h.errors();
  auto out = h.buffer<uint32_t>({0xcdcdcdcd});
  h.config.dynamicShared = dynamicShared;
  LaunchResult r = h.run("k", grid, block, out);
  EXPECT_EQ(r.status, LaunchStatus::invalidConfig);
  EXPECT_EQ(r.message, message);
  EXPECT_EQ(r.stats.instructions, 0u);
  ASSERT_EQ(h.diags().all().size(), 1u) << h.errors();
  EXPECT_TRUE(h.diags().all()[0].id == id) << h.errors();
  EXPECT_EQ(out[0], 0xcdcdcdcdu);
}

void expectRuns(const std::string& ptx, Dim grid, Dim block, uint32_t dynamicShared = 0) {
  Harness h(ptx);
  ASSERT_TRUE(h.ok()) << h.errors();
  auto out = h.buffer<uint32_t>({0});
  h.config.dynamicShared = dynamicShared;
  LaunchResult r = h.run("k", grid, block, out);
  EXPECT_EQ(r.status, LaunchStatus::ok) << r.message << h.errors();
  EXPECT_EQ(out[0], 1u);
}

TEST(Refusals, Geometry) {
  const std::string k = storesOne();
  expectRefused(k, {1, 1, 1}, {1500, 1, 1}, DiagId::SimBlockSize,
                "block dimension x is 1500, the device allows 1 to 1024");
  expectRefused(k, {1, 1, 1}, {1, 1, 65}, DiagId::SimBlockSize,
                "block dimension z is 65, the device allows 1 to 64");
  expectRefused(k, {1, 1, 1}, {32, 0, 1}, DiagId::SimBlockSize,
                "block dimension y is 0, the device allows 1 to 1024");
  expectRefused(k, {1, 1, 1}, {1024, 1024, 64}, DiagId::SimBlockThreads,
                "a block of 67108864 threads is more than the device's 1024");
  expectRefused(k, {1, 1, 1}, {5, 5, 41}, DiagId::SimBlockThreads,
                "a block of 1025 threads is more than the device's 1024");
  expectRefused(k, {1, 1, 70000}, {1, 1, 1}, DiagId::SimGridSize,
                "grid dimension z is 70000, the device allows 65535");
  expectRefused(k, {1, 65536, 1}, {1, 1, 1}, DiagId::SimGridSize,
                "grid dimension y is 65536, the device allows 65535");
  expectRefused(k, {2147483648u, 1, 1}, {1, 1, 1}, DiagId::SimGridSize,
                "grid dimension x is 2147483648, the device allows 2147483647");
  expectRuns(k, {1, 1, 1}, {4, 4, 64});
  expectRuns(k, {65536, 1, 1}, {1, 1, 1});
}

TEST(Refusals, AnEmptyGridIsASuccessThatTouchesNothing) {
  Harness h(storesOne());
  auto out = h.buffer<uint32_t>({0xcdcdcdcd});
  for (Dim grid : {Dim{0, 1, 1}, Dim{1, 0, 1}, Dim{1, 1, 0}}) {
    EXPECT_EQ(h.run("k", grid, {32, 1, 1}, out).status, LaunchStatus::ok) << h.errors();
  }
  EXPECT_EQ(out[0], 0xcdcdcdcdu);
}

TEST(Refusals, BoundsOfTheKernel) {
  expectRefused(storesOne(".maxntid 16, 8, 1"), {1, 1, 1}, {129, 1, 1}, DiagId::SimKernelThreads,
                "a block of 129 threads is more than the 128 that kernel 'k' allows (.maxntid)");
  expectRuns(storesOne(".maxntid 16, 8, 1"), {1, 1, 1}, {128, 1, 1});
  // As many threads in another shape are another block.
  expectRefused(storesOne(".reqntid 64, 1, 1"), {1, 1, 1}, {32, 2, 1}, DiagId::SimRequiredThreads,
                "kernel 'k' requires blocks of (64,1,1) threads (.reqntid), asked were (32,2,1)");
  expectRuns(storesOne(".reqntid 64, 1, 1"), {1, 1, 1}, {64, 1, 1});
  expectRefused(storesOne(".explicitcluster .reqnctapercluster 2, 1, 1"), {2, 1, 1}, {32, 1, 1},
                DiagId::SimClusterShape,
                "kernel 'k' requires clusters of (2,1,1) blocks (.reqnctapercluster)");
  expectRuns(storesOne(".reqnctapercluster 1"), {2, 1, 1}, {32, 1, 1});
}

TEST(Refusals, SharedMemory) {
  auto withShared = [](std::string_view bytes) {
    return storesOne("", "  .shared .align 4 .b8 s[" + std::string(bytes) +
                             "];\n  .reg .b32 %r<2>;\n  mov.u32 %r1, s;\n  st.shared.u32 [%r1], "
                             "1;\n");
  };
  expectRefused(withShared("65536"), {1, 1, 1}, {1, 1, 1}, DiagId::SimStaticShared,
                "kernel 'k' has 65536 bytes of static shared memory, the device allows 49152");
  expectRuns(withShared("49152"), {1, 1, 1}, {1, 1, 1});
  expectRefused(storesOne(), {1, 1, 1}, {1, 1, 1}, DiagId::SimDynamicShared,
                "536870912 bytes of dynamic shared memory make 536870912 bytes in all, the device "
                "has 232448",
                512u << 20);
  // 1024 static bytes count too: 232448 - 1024 = 231424 remain.
  expectRuns(withShared("1024"), {1, 1, 1}, {1, 1, 1}, 231424);
  expectRefused(withShared("1024"), {1, 1, 1}, {1, 1, 1}, DiagId::SimDynamicShared,
                "231425 bytes of dynamic shared memory make 232449 bytes in all, the device has "
                "232448",
                231425);
  expectRefused(withShared("1024"), {1, 1, 1}, {1, 1, 1}, DiagId::SimDynamicShared,
                "4294967295 bytes of dynamic shared memory make 4294968319 bytes in all, the "
                "device has 232448",
                4294967295u);
}

TEST(Refusals, Parameters) {
  Harness large(std::string(kHeader) +
                ".visible .entry k(.param .align 4 .b8 p[32768]) {\n  ret;\n}\n");
  ASSERT_TRUE(large.ok()) << large.errors();
  LaunchConfig c;
  c.params.resize(32768);
  DiagnosticEngine refused;
  LaunchResult r = large.device().launch(*large.module()->kernel("k"), c, refused);
  EXPECT_EQ(r.status, LaunchStatus::invalidConfig);
  ASSERT_EQ(refused.all().size(), 1u);
  EXPECT_TRUE(refused.all()[0].id == DiagId::SimParamBytes);
  EXPECT_EQ(r.message, "kernel 'k' has 32768 bytes of parameters, the device allows 32764");

  // No padding at the end: u64, u8, u32, u16 take 8 + 4 + 4 + 2 bytes.
  Harness h(std::string(kHeader) +
            ".visible .entry k(.param .u64 a, .param .u8 b, .param .u32 c, .param .u16 d) {\n"
            "  ret;\n}\n");
  ASSERT_TRUE(h.ok()) << h.errors();
  for (size_t bytes : {size_t{0}, size_t{17}, size_t{18}, size_t{19}, size_t{24}}) {
    DiagnosticEngine diags;
    c.params.assign(bytes, 0);
    r = h.device().launch(*h.module()->kernel("k"), c, diags);
    if (bytes == 18) {
      EXPECT_EQ(r.status, LaunchStatus::ok);
      continue;
    }
    EXPECT_EQ(r.status, LaunchStatus::invalidConfig);
    EXPECT_EQ(r.message,
              "kernel 'k' has 18 bytes of parameters, given were " + std::to_string(bytes));
    ASSERT_EQ(diags.all().size(), 1u);
    EXPECT_TRUE(diags.all()[0].id == DiagId::SimParamSize);
  }
}

// A kernel k(a) with usual registers and a in %rd1.
std::string kernel(std::string_view body, std::string_view module = "") {
  return std::string(kHeader) + std::string(module) + R"(
.visible .entry k(.param .u64 a) {
  .reg .pred %p<4>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [a];
  cvt.u32.u64 %r1, %rd1;
)" + std::string(body) +
         "\n  ret;\n}\n";
}

// One thread with argument `a` faults for `id`.
void expectFault(const std::string& ptx, uint64_t a, DiagId id, std::string_view message,
                 LaunchStatus status = LaunchStatus::faulted, DeviceLimits limits = {}) {
  SCOPED_TRACE(message);
  Harness h(ptx, limits);
  ASSERT_TRUE(h.ok()) << h.errors();
  h.config.maxSteps = 1000000;
  LaunchResult r = h.run("k", {1, 1, 1}, {1, 1, 1}, a);
  EXPECT_EQ(r.status, status);
  ASSERT_EQ(r.reports.size(), 1u) << h.errors();
  EXPECT_TRUE(r.reports[0].id == id) << h.errors();
  EXPECT_EQ(r.reports[0].message, message);
  EXPECT_TRUE(h.reported(id)) << h.errors();
}

void expectEnds(const std::string& ptx, uint64_t a, DeviceLimits limits = {}) {
  Harness h(ptx, limits);
  ASSERT_TRUE(h.ok()) << h.errors();
  LaunchResult r = h.run("k", {1, 1, 1}, {1, 1, 1}, a);
  EXPECT_EQ(r.status, LaunchStatus::ok) << h.errors();
  EXPECT_TRUE(r.reports.empty()) << h.errors();
}

TEST(Faults, TimeLimit) {
  Harness h(kernel("$again:\n  bra $again;"));
  ASSERT_TRUE(h.ok()) << h.errors();
  h.config.maxSeconds = 0.02;
  LaunchResult r = h.run("k", {4, 1, 1}, {64, 1, 1}, uint64_t{0});
  EXPECT_EQ(r.status, LaunchStatus::timeLimit);
  EXPECT_EQ(r.message, "[steps] kernel 'k' did not end in the time allowed");
  EXPECT_TRUE(h.reported(DiagId::SimTimeLimit)) << h.errors();
  EXPECT_GE(r.stats.seconds, 0.02);
}

// Calls itself `n` times with 64 bytes of locals each time.
constexpr std::string_view kRecursion = R"(
.func f(.param .b32 n) {
  .local .align 16 .b8 l[48];
  .reg .pred %p<2>;
  .reg .b32 %r<4>;
  .reg .b64 %rd<2>;
  ld.param.u32 %r1, [n];
  mov.u64 %rd1, l;
  st.local.u32 [%rd1], %r1;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 ret;
  sub.u32 %r2, %r1, 1;
  {
    .param .b32 m;
    st.param.b32 [m], %r2;
    call.uni f, (m);
  }
  ret;
}
)";
constexpr std::string_view kCallsRecursion =
    "  {\n    .param .b32 n;\n    st.param.b32 [n], %r1;\n    call.uni f, (n);\n  }\n";

TEST(Faults, StackOverflow) {
  const std::string k = kernel(kCallsRecursion, kRecursion);
  expectEnds(k, 100);
  expectFault(k, 0xffffffff, DiagId::SimStackOverflow,
              "[mem] the call of 'f' needs more than the thread's 65536 bytes of stack");
  DeviceLimits small;
  small.stackBytes = 1024;
  expectFault(k, 100, DiagId::SimStackOverflow,
              "[mem] the call of 'f' needs more than the thread's 1024 bytes of stack",
              LaunchStatus::faulted, small);
}

// Activations without local memory: the stack never overflows.
TEST(Faults, CallDepth) {
  expectFault(kernel("  call.uni f;\n", ".func f() {\n  call.uni f;\n  ret;\n}\n"), 0,
              DiagId::SimCallDepth, "[mem] the call of 'f' is more than 4096 calls deep");
}

TEST(Faults, HostMemory) {
  DeviceLimits large;
  large.stackBytes = 0xffffffffu;  // Times 1024 threads: 4 TiB.
  Harness h(kernel(kCallsRecursion, kRecursion), large);
  ASSERT_TRUE(h.ok()) << h.errors();
  LaunchResult r = h.run("k", {1, 1, 1}, {1024, 1, 1}, uint64_t{1});
  EXPECT_EQ(r.status, LaunchStatus::outOfMemory);
  EXPECT_EQ(r.message, "not enough host memory for a block of kernel 'k'");
  EXPECT_TRUE(h.reported(DiagId::SimHostMemory)) << h.errors();
}

constexpr std::string_view kCallees = R"(
.func one(.param .b32 x) {
  ret;
}
.func two(.param .b64 x) {
  ret;
}
)";

// Calls the address in %rd2 with one .b32 parameter; `list` says what may be called.
std::string indirect(std::string_view address, std::string_view list) {
  return kernel("$list: " + std::string(list) + ";\n" + std::string(address) + R"(
  {
    .param .b32 p;
    st.param.b32 [p], 1;
    call %rd2, (p), $list;
  }
)",
                kCallees);
}

TEST(Faults, IndirectCalls) {
  constexpr std::string_view kPrototype = ".callprototype _ (.param .b32 _)";
  expectEnds(indirect("mov.u64 %rd2, one;", kPrototype), 0);
  expectEnds(indirect("mov.u64 %rd2, one;", ".calltargets one"), 0);
  // Addresses that are no function's.
  const std::string wild = indirect("mov.u64 %rd2, %rd1;", kPrototype);
  expectFault(wild, 0, DiagId::SimBadCallee,
              "[mem] indirect call of 0x0, which is none of the functions allowed here");
  expectFault(wild, 0xdeadbeefcafe, DiagId::SimBadCallee,
              "[mem] indirect call of 0xdeadbeefcafe, which is none of the functions allowed here");
  // A function of the program, but with another parameter than the prototype.
  expectFault(indirect("mov.u64 %rd2, two;", kPrototype), 0, DiagId::SimCallMismatch,
              "[mem] the call's parameters are not those of 'two'");
}

TEST(Faults, AFunctionThatTheListDoesNotName) {
  Harness h(indirect("mov.u64 %rd2, two;", ".calltargets one"));
  ASSERT_TRUE(h.ok()) << h.errors();
  LaunchResult r = h.run("k", {1, 1, 1}, {1, 1, 1}, uint64_t{0});
  EXPECT_EQ(r.status, LaunchStatus::faulted);
  ASSERT_EQ(r.reports.size(), 1u);
  EXPECT_TRUE(r.reports[0].id == DiagId::SimBadCallee) << h.errors();
}

TEST(Faults, BuiltinWithOtherParameters) {
  expectFault(kernel(R"(
  {
    .param .b64 p;
    .param .b64 q;
    st.param.b64 [p], %rd1;
    st.param.b64 [q], %rd1;
    call.uni free, (p, q);
  }
)",
                     ".extern .func free(.param .b64 p, .param .b64 q);\n"),
              0, DiagId::SimCallMismatch,
              "[mem] the call's parameters are not those of 'the built-in function'");
}

TEST(Faults, BranchIndex) {
  const std::string k = kernel(R"(
$targets: .branchtargets $a, $b, $c;
  brx.idx %r1, $targets;
$a:
  ret;
$b:
  ret;
$c:
)");
  expectEnds(k, 2);
  expectFault(k, 3, DiagId::SimBranchIndex, "[mem] index 3 into a branch table of 3 labels");
  expectFault(k, 0xffffffff, DiagId::SimBranchIndex,
              "[mem] index 4294967295 into a branch table of 3 labels");
}

TEST(Faults, BadPrint) {
  // "%d\n" with its end, and the same bytes without one; %rd1 is the address of the argument.
  constexpr std::string_view kModule = R"(
.extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);
.global .align 4 .b8 whole[4] = {37, 100, 10, 0};
.global .align 4 .b8 endless[4] = {37, 100, 10, 10};
)";
  auto prints = [&](std::string_view format) {
    return kernel("  mov.u64 %rd2, " + std::string(format) + R"(;
  {
    .param .b64 p;
    .param .b64 q;
    .param .b32 r;
    st.param.b64 [p], %rd2;
    st.param.b64 [q], %rd1;
    call.uni (r), vprintf, (p, q);
  }
)",
                  kModule);
  };
  Harness h(prints("whole"));
  ASSERT_TRUE(h.ok()) << h.errors();
  std::string text;
  h.config.print = [&](std::string_view s) { text += s; };
  EXPECT_EQ(h.run("k", {1, 1, 1}, {1, 1, 1}, h.buffer<int32_t>({-42})).status, LaunchStatus::ok);
  EXPECT_EQ(text, "-42\n");

  constexpr std::string_view kMessage = "[mem] the format or an argument of printf is not readable";
  expectFault(prints("whole"), 0, DiagId::SimBadPrint, kMessage);     // No arguments.
  expectFault(prints("endless"), 0, DiagId::SimBadPrint, kMessage);   // No end of the format.
  expectFault(prints("%rd1"), 0, DiagId::SimBadPrint, kMessage);      // No format.
  expectFault(prints("%rd1"), ~0ull, DiagId::SimBadPrint, kMessage);  // Nor at the very end.
}

TEST(Faults, BadFree) {
  constexpr std::string_view kModule = R"(
.extern .func (.param .b64 r) malloc(.param .b64 size);
.extern .func free(.param .b64 p);
)";
  constexpr std::string_view kFree = R"(
  {
    .param .b64 p;
    st.param.b64 [p], %rd1;
    call.uni free, (p);
  }
)";
  expectEnds(kernel(kFree, kModule), 0);  // As in C, freeing null does nothing.
  expectFault(kernel(kFree, kModule), 0x1234567890, DiagId::SimBadFree,
              "[mem] free of 0x1234567890, which malloc did not give");

  const std::string allocates = R"(
  {
    .param .b64 p;
    .param .b64 r;
    st.param.b64 [p], 100;
    call.uni (r), malloc, (p);
    ld.param.b64 %rd1, [r];
  }
)";
  expectEnds(kernel(allocates + std::string(kFree), kModule), 0);
  Harness twice(kernel(allocates + std::string(kFree) + std::string(kFree), kModule));
  ASSERT_TRUE(twice.ok()) << twice.errors();
  LaunchResult r = twice.run("k", {1, 1, 1}, {1, 1, 1}, uint64_t{0});
  EXPECT_EQ(r.status, LaunchStatus::faulted);
  ASSERT_EQ(r.reports.size(), 1u);
  EXPECT_TRUE(r.reports[0].id == DiagId::SimBadFree) << twice.errors();
}

TEST(Faults, Assertion) {
  // "n>0", "a.c" and "f"; the file's name may also be unreadable.
  auto asserts = [](std::string_view file) {
    return kernel("  mov.u64 %rd2, message;\n  mov.u64 %rd4, function;\n  mov.u64 %rd3, " +
                      std::string(file) + R"(;
  {
    .param .b64 a0;
    .param .b64 a1;
    .param .b32 a2;
    .param .b64 a3;
    .param .b64 a4;
    st.param.b64 [a0], %rd2;
    st.param.b64 [a1], %rd3;
    st.param.b32 [a2], 17;
    st.param.b64 [a3], %rd4;
    st.param.b64 [a4], 1;
    call.uni __assertfail, (a0, a1, a2, a3, a4);
  }
)",
                  R"(
.extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 g,
                           .param .b64 s) .noreturn;
.global .align 1 .b8 message[4] = {110, 62, 48, 0};
.global .align 1 .b8 file[4] = {97, 46, 99, 0};
.global .align 1 .b8 function[2] = {102, 0};
)");
  };
  expectFault(asserts("file"), 0, DiagId::SimAssertion, "[trap] a.c:17: f: assertion 'n>0' failed",
              LaunchStatus::trapped);
  expectFault(asserts("%rd1"), 0, DiagId::SimAssertion, "[trap] ?:17: f: assertion 'n>0' failed",
              LaunchStatus::trapped);
}

TEST(Faults, BarrierOperands) {
  // In registers, where the text alone does not show them.
  const std::string byNumber = kernel("  bar.sync %r1;");
  expectEnds(byNumber, 15);
  expectFault(byNumber, 16, DiagId::SimBarrierNumber, "[sync] barrier 16 does not exist");
  expectFault(byNumber, 0xffffffff, DiagId::SimBarrierNumber,
              "[sync] barrier 4294967295 does not exist");
  const std::string byCount = kernel("  bar.sync 1, %r1;");
  expectEnds(byCount, 32);
  for (uint32_t count : {0u, 1u, 33u, 0xffffffffu}) {
    expectFault(byCount, count, DiagId::SimBarrierCount,
                "[sync] a barrier's thread count is a positive multiple of 32, not " +
                    std::to_string(count));
  }
}

// Gaps between variables: what they catch is named, and nothing that a program or its user can see
// counts them.
constexpr std::string_view kNeighbours = R"(
.func touch(.param .u64 p, .param .u64 q) {
  .reg .b64 %rd<4>;
  .local .align 4 .b8 own[8];
  ld.param.u64 %rd1, [p];
  ld.param.u64 %rd2, [q];
  st.local.u32 [own+4], 1;
  st.u32 [%rd1], 2;
  st.local.u32 [%rd2], 3;
  ret;
}
.visible .entry k(.param .u64 out, .param .u64 offset) {
  .reg .b32 %r<4>;
  .reg .b64 %rd<8>;
  .local .align 4 .b8 first[12];
  .local .align 16 .b8 second[16];
  .shared .align 4 .b8 third[20];
  .shared .align 8 .b8 fourth[8];
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [offset];
  mov.u64 %rd3, first;
  cvta.local.u64 %rd4, %rd3;
  add.u64 %rd4, %rd4, %rd2;
  add.u64 %rd5, %rd3, %rd2;
  call touch, (%rd4, %rd5);
  ld.local.u32 %r1, [first+8];
  mov.u64 %rd6, third;
  cvt.u32.u64 %r2, %rd2;
  st.shared.u32 [third+16], %r2;
  mov.u32 %r3, %total_smem_size;
  st.global.u32 [%rd1], %r1;
  st.global.u32 [%rd1+4], %r3;
  ret;
}
)";

TEST(Variables, AreApartInBothMemories) {
  for (Checks checks : {Checks::none, Checks::mem, Checks::all}) {
    Harness h(std::string(kHeader) + std::string(kNeighbours));
    ASSERT_TRUE(h.ok()) << h.errors();
    h.config.checks = checks;
    auto out = h.buffer<uint32_t>({0, 0});
    EXPECT_EQ(h.run("k", {2, 1, 1}, {1, 1, 1}, out, uint64_t{8}).status, LaunchStatus::ok)
        << h.errors();
    EXPECT_EQ(out[0], 3u);
    EXPECT_EQ(out[1], 32u);  // 20 bytes, 4 for the alignment of 8 more.
    const Kernel* k = h.module()->kernel("k");
    ASSERT_NE(k, nullptr);
    EXPECT_EQ(k->staticShared, 32u);
  }
}

TEST(Variables, AreNamedByWhoLeavesThem) {
  Harness h(std::string(kHeader) + std::string(kNeighbours));
  ASSERT_TRUE(h.ok()) << h.errors();
  h.config.checks = Checks::mem;
  auto out = h.buffer<uint32_t>({0, 0});
  // Both stores of the callee, through a generic and a local pointer to the caller's variable.
  LaunchResult r = h.run("k", {1, 1, 1}, {1, 1, 1}, out, uint64_t{16});
  ASSERT_EQ(r.reports.size(), 2u) << h.errors();
  for (const Report& report : r.reports) {
    EXPECT_TRUE(report.id == DiagId::SimOutOfBounds);
    EXPECT_NE(report.message.find("4 bytes past the end of 'first' (12 bytes)"), std::string::npos)
        << report.message;
  }
}

}  // namespace
}  // namespace mtlc::sim
