#include "mtlc/interp/interpreter.h"

#include <gtest/gtest.h>

#include <bit>
#include <numeric>

#include "mtlc/interp/test_util.h"

namespace mtlc::interp {
namespace {

using Ints = std::vector<int32_t>;

// out[linear thread of the grid] = some function of the position.
TEST(Interpreter, PositionsCoverGridAndBlock) {
  Bench bench(R"(
kernel @k(%out: ptr<global>) {
^entry:
  %tx = gpu.thread_id x : i32
  %ty = gpu.thread_id y : i32
  %tz = gpu.thread_id z : i32
  %bx = gpu.block_id x : i32
  %by = gpu.block_id y : i32
  %bz = gpu.block_id z : i32
  %dx = gpu.block_dim x : i32
  %dy = gpu.block_dim y : i32
  %dz = gpu.block_dim z : i32
  %gx = gpu.grid_dim x : i32
  %gy = gpu.grid_dim y : i32
  %gz = gpu.grid_dim z : i32
  %0 = mul %bz, %gy : i32
  %1 = add %0, %by : i32
  %2 = mul %1, %gx : i32
  %block = add %2, %bx : i32
  %3 = mul %tz, %dy : i32
  %4 = add %3, %ty : i32
  %5 = mul %4, %dx : i32
  %thread = add %5, %tx : i32
  %6 = mul %block, %dz : i32
  %7 = mul %6, %dy : i32
  %8 = mul %7, %dx : i32
  %i = add %8, %thread : i32
  %64 = sext %i : i32 to i64
  %p = ptr.add %out, %64 x i32 : ptr<global>
  %9 = mul %i, %gz : i32
  store i32, %9, %p : ptr<global>
  ret
}
)");
  bench.spec.grid = {2, 3, 5};
  bench.spec.block = {7, 1, 4};
  BufferId out = bench.addOutput<int32_t>(30 * 28);
  bench.spec.args = {KernelArg::buffer(out)};
  LaunchResult result = bench.runClean();
  Ints values = bench.read<int32_t>(out);
  for (int i = 0; i < 30 * 28; ++i) ASSERT_EQ(values[i], 5 * i);
  EXPECT_EQ(result.stats.blocks, 30u);
  EXPECT_EQ(result.stats.threads, 30u * 28);
  // 30 operations a thread, all counted: 12 indices, 6 + 8 arithmetic …
  EXPECT_EQ(result.stats.byOpcode[static_cast<int>(ir::Opcode::ThreadId)], 3u * 840);
  EXPECT_EQ(result.stats.byOpcode[static_cast<int>(ir::Opcode::Store)], 840u);
  EXPECT_EQ(result.stats.instructions % 840, 0u);
  uint64_t sum = 0;
  for (uint64_t n : result.stats.byOpcode) sum += n;
  EXPECT_EQ(sum, result.stats.instructions);
}

TEST(Interpreter, EmptyGridRunsNothing) {
  Bench bench("kernel @k() {\n^entry:\n  ret\n}\n");
  for (Dim3 grid : {Dim3{0, 1, 1}, Dim3{1, 0, 1}, Dim3{1, 1, 0}}) {
    bench.spec.grid = grid;
    EXPECT_EQ(bench.runClean().stats.threads, 0u);
  }
}

// BC-34: block arguments are assigned at once.
TEST(Interpreter, BlockArgumentsSwap) {
  Bench bench(R"(
kernel @k(%out: ptr<global>, %n: i32, %p0: ptr<global>, %q0: ptr<global>) {
^entry:
  %zero = const 0 : i32
  %one = const 1 : i32
  %i1 = const 1 : i64
  jump ^head(%zero, %zero, %one, %p0, %q0)
^head(%i: i32, %x: i32, %y: i32, %p: ptr<global>, %q: ptr<global>):
  %more = cmp.slt %i, %n : i32
  br %more, ^body, ^done
^body:
  %next = add %i, %one : i32
  jump ^head(%next, %y, %x, %q, %p)
^done:
  store i32, %x, %out : ptr<global>
  %out1 = ptr.add %out, %i1 x i32 : ptr<global>
  %v = load i32, %p : ptr<global>
  store i32, %v, %out1 : ptr<global>
  ret
}
)");
  BufferId a = bench.add(Ints{111});
  BufferId b = bench.add(Ints{222});
  BufferId out = bench.addOutput<int32_t>(2);
  bench.spec.args = {KernelArg::buffer(out), KernelArg::scalar(5), KernelArg::buffer(a),
                     KernelArg::buffer(b)};
  bench.runClean();
  EXPECT_EQ(bench.read<int32_t>(out), (Ints{1, 222}));
}

// A rotation of three through both edges of one branch.
TEST(Interpreter, BranchEdgesRotate) {
  Bench bench(R"(
kernel @k(%out: ptr<global>) {
^entry:
  %0 = const 0 : i32
  %1 = const 1 : i32
  %2 = const 2 : i32
  %7 = const 7 : i32
  jump ^loop(%0, %0, %1, %2)
^loop(%i: i32, %a: i32, %b: i32, %c: i32):
  %next = add %i, %1 : i32
  %more = cmp.ult %next, %7 : i32
  br %more, ^loop(%next, %b, %c, %a), ^done(%c, %a, %b)
^done(%x: i32, %y: i32, %z: i32):
  %3 = const 3 : i32
  %s = mul %x, %3 : i32
  %t = add %s, %y : i32
  %u = mul %t, %3 : i32
  %v = add %u, %z : i32
  store i32, %v, %out : ptr<global>
  ret
}
)");
  BufferId out = bench.addOutput<int32_t>(1);
  bench.spec.args = {KernelArg::buffer(out)};
  bench.runClean();
  // Six rotations of (0, 1, 2) are none; done gets (c, a, b) = (2, 0, 1).
  EXPECT_EQ(bench.read<int32_t>(out), Ints{2 * 9 + 0 * 3 + 1});
}

TEST(Interpreter, CallsPassValuesAndReturn) {
  Bench bench(R"(
func @twice(%x: i32) -> i32 {
^entry:
  %s = add %x, %x : i32
  ret %s
}
func @put(%p: ptr<global>, %x: i32) {
^entry:
  %y = call @twice(%x) : i32
  %z = call @twice(%y) : i32
  store i32, %z, %p : ptr<global>
  ret
}
kernel @k(%out: ptr<global>) {
^entry:
  %t = gpu.thread_id x : i32
  %i = sext %t : i32 to i64
  %p = ptr.add %out, %i x i32 : ptr<global>
  call @put(%p, %t)
  ret
}
)");
  BufferId out = bench.addOutput<int32_t>(5);
  bench.spec.block = {5};
  bench.spec.args = {KernelArg::buffer(out)};
  bench.runClean();
  EXPECT_EQ(bench.read<int32_t>(out), (Ints{0, 4, 8, 12, 16}));
}

// 20,000 functions deep: nothing of the host's stack is used.
TEST(Interpreter, DeepCallChain) {
  std::string text = "func @f0(%x: i32) -> i32 {\n^entry:\n  ret %x\n}\n";
  for (int i = 1; i < 20000; ++i) {
    text += "func @f" + std::to_string(i) +
            "(%x: i32) -> i32 {\n^entry:\n  %one = const 1 : i32\n" +
            "  %y = add %x, %one : i32\n  %z = call @f" + std::to_string(i - 1) +
            "(%y) : i32\n  ret %z\n}\n";
  }
  text +=
      "kernel @k(%out: ptr<global>) {\n^entry:\n  %x = const 5 : i32\n"
      "  %y = call @f19999(%x) : i32\n  store i32, %y, %out : ptr<global>\n  ret\n}\n";
  Bench bench(text);
  BufferId out = bench.addOutput<int32_t>(1);
  bench.spec.args = {KernelArg::buffer(out)};
  bench.runClean();
  EXPECT_EQ(bench.read<int32_t>(out), Ints{5 + 19999});
}

// Reverses a block through workgroup memory: what a thread reads, another wrote before the barrier.
constexpr std::string_view kReverse = R"(
kernel @k(%in: ptr<global>, %out: ptr<global>) {
^entry:
  %tile = alloc.workgroup i32[70000] : ptr<workgroup>
  %one = const 1 : i32
  %t = gpu.thread_id x : i32
  %b = gpu.block_id x : i32
  %d = gpu.block_dim x : i32
  %base = mul %b, %d : i32
  %g = add %base, %t : i32
  %g64 = sext %g : i32 to i64
  %t64 = sext %t : i32 to i64
  %pi = ptr.add %in, %g64 x i32 : ptr<global>
  %v = load i32, %pi : ptr<global>
  %pt = ptr.add %tile, %t64 x i32 : ptr<workgroup>
  store i32, %v, %pt : ptr<workgroup>
  barrier {workgroup} seq_cst
  %last = sub %d, %one : i32
  %r = sub %last, %t : i32
  %r64 = sext %r : i32 to i64
  %pr = ptr.add %tile, %r64 x i32 : ptr<workgroup>
  %w = load i32, %pr : ptr<workgroup>
  %po = ptr.add %out, %g64 x i32 : ptr<global>
  store i32, %w, %po : ptr<global>
  ret
}
)";

TEST(Interpreter, BarriersWaitInBlocksOfAnySize) {
  for (uint32_t size : {1u, 2u, 31u, 33u, 256u, 1025u, 66000u}) {
    Bench bench(kReverse);
    const uint32_t blocks = size > 1000 ? 1 : 3;
    Ints values(size * blocks);
    std::iota(values.begin(), values.end(), 1000);
    BufferId in = bench.add(values);
    BufferId out = bench.addOutput<int32_t>(values.size());
    bench.spec.grid = {blocks};
    bench.spec.block = {size};
    bench.spec.args = {KernelArg::buffer(in), KernelArg::buffer(out)};
    bench.runClean();
    Ints expected;
    for (uint32_t b = 0; b < blocks; ++b) {
      for (uint32_t t = size; t > 0; --t) {
        expected.push_back(static_cast<int32_t>(1000 + b * size + t - 1));
      }
    }
    EXPECT_EQ(bench.read<int32_t>(out), expected) << size;
  }
}

TEST(Interpreter, SeedsAndHostThreadsDoNotChangeResults) {
  Ints values(64 * 37);
  std::iota(values.begin(), values.end(), 0);
  Ints first;
  for (uint64_t seed : {0, 1, 2, 3}) {
    for (uint32_t threads : {1u, 4u}) {
      Bench bench(kReverse);
      BufferId in = bench.add(values);
      BufferId out = bench.addOutput<int32_t>(values.size());
      bench.spec.grid = {64};
      bench.spec.block = {37};
      bench.spec.args = {KernelArg::buffer(in), KernelArg::buffer(out)};
      bench.spec.options.seed = seed;
      bench.spec.options.threads = threads;
      EXPECT_EQ(bench.runClean().stats.blocks, 64u);
      if (first.empty()) first = bench.read<int32_t>(out);
      EXPECT_EQ(bench.read<int32_t>(out), first);
    }
  }
  EXPECT_EQ(first[0], 36);
}

TEST(Interpreter, SeedChangesTheOrder) {
  // Each thread appends its number: a race on purpose, with the checks off.
  Bench bench(R"(
kernel @k(%out: ptr<global>) {
^entry:
  %one = const 1 : i32
  %b = gpu.block_id x : i32
  %n = load i32, %out : ptr<global>
  %m = add %n, %one : i32
  store i32, %m, %out : ptr<global>
  %i = sext %m : i32 to i64
  %p = ptr.add %out, %i x i32 : ptr<global>
  store i32, %b, %p : ptr<global>
  ret
}
)");
  auto orderOf = [&](uint64_t seed) {
    BufferId out = bench.add(Ints(17));
    bench.spec.grid = {16};
    bench.spec.args = {KernelArg::buffer(out)};
    bench.spec.options.checks = kCheckNone;
    bench.spec.options.seed = seed;
    bench.runClean();
    Ints order = bench.read<int32_t>(out);
    order.erase(order.begin());
    return order;
  };
  Ints natural(16);
  std::iota(natural.begin(), natural.end(), 0);
  EXPECT_EQ(orderOf(0), natural);
  Ints shuffled = orderOf(7);
  EXPECT_NE(shuffled, natural);
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, natural);  // Each block once.
}

TEST(Interpreter, DynamicArenaIsOneForAllViews) {
  Bench bench(R"(
kernel @k(%out: ptr<global>) {
^entry:
  %bytes = alloc.dynamic i8 : ptr<workgroup>
  %words = alloc.dynamic i32 : ptr<workgroup>
  %v = const 0x01020304 : i32
  %one = const 1 : i64
  %w1 = ptr.add %words, %one x i32 : ptr<workgroup>
  store i32, %v, %w1 : ptr<workgroup>
  %five = const 5 : i64
  %b5 = ptr.add %bytes, %five x i8 : ptr<workgroup>
  %b = load i8, %b5 : ptr<workgroup>
  %x = zext %b : i8 to i32
  store i32, %x, %out : ptr<global>
  ret
}
)");
  BufferId out = bench.addOutput<int32_t>(1);
  bench.spec.sharedBytes = 8;
  bench.spec.args = {KernelArg::buffer(out)};
  bench.runClean();
  EXPECT_EQ(bench.read<int32_t>(out), Ints{3});
}

TEST(Interpreter, PrivateMemoryIsPerThreadAndPerCall) {
  Bench bench(R"(
func @bump(%p: ptr<generic>) -> i32 {
^entry:
  %own = alloc.private i32[1] : ptr<private>
  %one = const 1 : i32
  %x = load i32, %p : ptr<generic>
  %y = add %x, %one : i32
  store i32, %y, %own : ptr<private>
  %z = load i32, %own : ptr<private>
  store i32, %z, %p : ptr<generic>
  ret %z
}
kernel @k(%out: ptr<global>) {
^entry:
  %slot = alloc.private i32[2] : ptr<private>
  %i1 = const 1 : i64
  %t = gpu.thread_id x : i32
  %i = sext %t : i32 to i64
  %second = ptr.add %slot, %i1 x i32 : ptr<private>
  store i32, %t, %second : ptr<private>
  %g = spacecast %second : ptr<private> to ptr<generic>
  %a = call @bump(%g) : i32
  %b = call @bump(%g) : i32
  %po = ptr.add %out, %i x i32 : ptr<global>
  %back = spacecast %g : ptr<generic> to ptr<private>
  %v = load i32, %back : ptr<private>
  store i32, %v, %po : ptr<global>
  ret
}
)");
  BufferId out = bench.addOutput<int32_t>(3);
  bench.spec.block = {3};
  bench.spec.args = {KernelArg::buffer(out)};
  bench.runClean();
  EXPECT_EQ(bench.read<int32_t>(out), (Ints{2, 3, 4}));
}

TEST(Interpreter, ArgumentsAreCutToTheirWidth) {
  Bench bench(R"(
kernel @k(%out: ptr<global>, %a: i8, %b: i1, %c: i16, %p: ptr<global>) {
^entry:
  %x = sext %a : i8 to i32
  %y = zext %b : i1 to i32
  %z = sext %c : i16 to i32
  %null = const null : ptr<global>
  %isNull = cmp.eq %p, %null : ptr<global>
  %w = zext %isNull : i1 to i32
  %i1 = const 1 : i64
  %p1 = ptr.add %out, %i1 x i32 : ptr<global>
  %p2 = ptr.add %p1, %i1 x i32 : ptr<global>
  %p3 = ptr.add %p2, %i1 x i32 : ptr<global>
  store i32, %x, %out : ptr<global>
  store i32, %y, %p1 : ptr<global>
  store i32, %z, %p2 : ptr<global>
  store i32, %w, %p3 : ptr<global>
  ret
}
)");
  BufferId out = bench.addOutput<int32_t>(5);
  bench.spec.args = {KernelArg::buffer(out, 4), KernelArg::scalar(static_cast<uint64_t>(-3)),
                     KernelArg::scalar(1), KernelArg::scalar(static_cast<uint64_t>(-300)),
                     KernelArg::scalar(0)};
  bench.runClean();
  EXPECT_EQ(bench.read<int32_t>(out), (Ints{static_cast<int32_t>(0xCDCDCDCD), -3, 1, -300, 1}));
}

TEST(Interpreter, BoolsInMemory) {
  Bench bench(R"(
kernel @k(%in: ptr<global>, %out: ptr<global>) {
^entry:
  %t = gpu.thread_id x : i32
  %i = sext %t : i32 to i64
  %p = ptr.add %in, %i x i1 : ptr<global>
  %q = ptr.add %out, %i x i1 : ptr<global>
  %b = load i1, %p : ptr<global>
  store i1, %b, %q : ptr<global>
  ret
}
)");
  BufferId in = bench.add(std::vector<uint8_t>{0, 1, 2, 128, 255});
  BufferId out = bench.addOutput<uint8_t>(5);
  bench.spec.block = {5};
  bench.spec.args = {KernelArg::buffer(in), KernelArg::buffer(out)};
  bench.runClean();
  EXPECT_EQ(bench.read<uint8_t>(out), (std::vector<uint8_t>{0, 1, 1, 1, 1}));
}

// BC-17: without the flag subnormals stay, with `ftz` operands and results become signed zeros.
TEST(Interpreter, FlushesSubnormalsOnlyWhereAsked) {
  Bench bench(R"(
kernel @k(%in: ptr<global>, %out: ptr<global>) {
^entry:
  %i1 = const 1 : i64
  %half = const 0.5 : f32
  %zero = const 0.0 : f32
  %t = gpu.thread_id x : i32
  %t64 = sext %t : i32 to i64
  %i2 = const 4 : i64
  %i = mul %t64, %i2 : i64
  %pi = ptr.add %in, %t64 x f32 : ptr<global>
  %x = load f32, %pi : ptr<global>
  %p0 = ptr.add %out, %i x f32 : ptr<global>
  %p1 = ptr.add %p0, %i1 x f32 : ptr<global>
  %p2 = ptr.add %p1, %i1 x f32 : ptr<global>
  %p3 = ptr.add %p2, %i1 x f32 : ptr<global>
  %a = fmul %x, %half : f32
  %b = fmul ftz %x, %half : f32
  %c = fadd %x, %zero : f32
  %d = fadd ftz %x, %zero : f32
  store f32, %a, %p0 : ptr<global>
  store f32, %b, %p1 : ptr<global>
  store f32, %c, %p2 : ptr<global>
  store f32, %d, %p3 : ptr<global>
  ret
}
)");
  using Bits = std::vector<uint32_t>;
  BufferId in = bench.add(Bits{0x00800000, 0x80800000, 0x000116C2});  // The last is 1e-40.
  BufferId out = bench.addOutput<uint32_t>(12);
  bench.spec.block = {3};
  bench.spec.args = {KernelArg::buffer(in), KernelArg::buffer(out)};
  bench.runClean();
  EXPECT_EQ(bench.read<uint32_t>(out), (Bits{0x00400000, 0, 0x00800000, 0x00800000,           //
                                             0x80400000, 0x80000000, 0x80800000, 0x80800000,  //
                                             0x00008B61, 0, 0x000116C2, 0}));
}

TEST(Interpreter, TraceShowsOneThread) {
  Bench bench(R"(
func @inc(%x: i32) -> i32 {
^entry:
  %one = const 1 : i32
  %y = add %x, %one : i32
  ret %y
}
kernel @k(%f: f32) {
^entry:
  %slot = alloc.private i32[1] : ptr<private>
  %t = gpu.thread_id x : i32
  %u = call @inc(%t) : i32
  %v = neg %u : i32
  %w = load i32, %slot : ptr<private>
  barrier {workgroup} seq_cst
  %g = fadd %f, %f : f32
  %5 = fneg %g : f32
  ret
}
)");
  std::vector<std::string> lines;
  bench.spec.grid = {3};
  bench.spec.block = {4};
  bench.spec.args = {KernelArg::scalar(0x3F800000)};
  bench.spec.options.trace =
      TraceRequest{{1, 0, 0}, {2, 0, 0}, [&](std::string_view line) { lines.emplace_back(line); }};
  bench.runClean();
  ASSERT_EQ(lines.size(), 11u);
  EXPECT_EQ(lines[1], "t.mtir:11:3: %t = gpu.thread_id x : i32  -> 2");
  EXPECT_EQ(lines[2], "t.mtir:12:3: %u = call @inc(%t) : i32");
  EXPECT_EQ(lines[3], "t.mtir:5:3: %y = add %x, %one : i32  -> 3");
  EXPECT_EQ(lines[4], "t.mtir:6:3: ret %y");
  EXPECT_EQ(lines[5], "t.mtir:13:3: %v = neg %u : i32  -> -3 (0xfffffffd)");
  EXPECT_NE(lines[6].find("uninitialised 0xffffffff"), std::string::npos) << lines[6];
  EXPECT_EQ(lines[8], "t.mtir:16:3: %g = fadd %f, %f : f32  -> 2 (0x40000000)");
  EXPECT_EQ(lines[9], "t.mtir:17:3: %0 = fneg %g : f32  -> -2 (0xc0000000)");
}

TEST(Interpreter, TraceOfOperationsOfSeveralThreads) {
  Bench bench(R"(
kernel @k(%p: ptr<global>) {
^entry:
  %w = alloc.workgroup i32[4] : ptr<workgroup>
  %id = subgroup.local_id : i32
  %old = atomic.rmw add i32, %p, %id : ptr<global> relaxed device
  fence {global} acq_rel device
  %sum = subgroup.reduce add %id : i32
  atomic.store i32, %p, %sum : ptr<global> relaxed device
  async.copy %w, %p, 1 x i32 transaction 4 cache all
  async.commit
  async.wait 0
  ret
}
)");
  std::vector<std::string> lines;
  bench.spec.block = {4};
  bench.spec.options.subgroupSize = 2;
  bench.spec.options.checks = kCheckNone;
  bench.spec.args = {KernelArg::buffer(bench.add(std::vector<uint32_t>(1, 5)))};
  bench.spec.options.trace =
      TraceRequest{{0, 0, 0}, {1, 0, 0}, [&](std::string_view line) { lines.emplace_back(line); }};
  LaunchResult result = bench.runClean();
  ASSERT_EQ(lines.size(), 10u);
  EXPECT_EQ(lines[1], "t.mtir:5:3: %id = subgroup.local_id : i32  -> 1");
  EXPECT_EQ(lines[2],
            "t.mtir:6:3: %old = atomic.rmw add i32, %p, %id : ptr<global> relaxed device  -> 5");
  EXPECT_EQ(lines[3], "t.mtir:7:3: fence {global} acq_rel device");
  EXPECT_EQ(lines[4], "t.mtir:8:3: %sum = subgroup.reduce add %id : i32  -> 1");
  EXPECT_EQ(lines[8], "t.mtir:12:3: async.wait 0");
  EXPECT_EQ(result.stats.byOpcode[static_cast<int>(ir::Opcode::SubgroupReduce)], 4u);
  EXPECT_EQ(result.stats.byOpcode[static_cast<int>(ir::Opcode::AsyncCopy)], 4u);
}

// Unreachable from the kernel, they don't matter.
TEST(Interpreter, RefusesOperationsOfHostCode) {
  for (bool reaches : {true, false}) {
    for (std::string_view operation :
         {"%f = func.addr @other : ptr<generic>", "call.indirect %p()",
          "gpu.launch @k grid(%one, %one, %one) block(%one, %one, %one) (%p)",
          "%s = gpu.launch.status @k grid(%one, %one, %one) block(%one, %one, %one) (%p)"}) {
      std::string text = "func @other() {\n^entry:\n  ret\n}\n";
      text += "func @host(%p: ptr<generic>) {\n^entry:\n  %one = const 1 : i32\n  ";
      text += std::string(operation) + "\n  ret\n}\n";
      text += "kernel @k(%p: ptr<generic>) {\n^entry:\n";
      if (reaches) text += "  call @host(%p)\n";
      Bench bench(text + "  ret\n}\n");
      bench.spec.args = {KernelArg::scalar(0)};
      auto result = bench.tryLaunch();
      EXPECT_EQ(result.ok(), !reaches) << operation;
      if (result.ok()) continue;
      EXPECT_NE(result.status().message().find("kernel 'k' reaches 'host', which contains"),
                std::string_view::npos)
          << result.status();
    }
  }
}

TEST(Interpreter, RefusesWhatItCannotLaunch) {
  Bench bench(R"(
declare func @ext()
func @helper() {
^entry:
  call @ext()
  ret
}
kernel @k(%a: i32, %p: ptr<global>) {
^entry:
  ret
}
kernel @bounded() launch_bounds(64) {
^entry:
  ret
}
kernel @calls() {
^entry:
  call @helper()
  ret
}
kernel @big() {
^entry:
  %w = alloc.workgroup f64[100000000] : ptr<workgroup>
  ret
}
kernel @deep() {
^entry:
  %w = alloc.private f64[1000000] : ptr<private>
  ret
}
)");
  BufferId buffer = bench.add(Ints{1});
  auto says = [&](absl::StatusCode code, const char* text) {
    auto result = bench.tryLaunch();
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_EQ(result.status().code(), code) << result.status();
    EXPECT_NE(std::string(result.status().message()).find(text), std::string::npos)
        << result.status();
  };
  const auto invalid = absl::StatusCode::kInvalidArgument;
  const auto exhausted = absl::StatusCode::kResourceExhausted;
  bench.spec.kernel = "none";
  says(absl::StatusCode::kNotFound, "no kernel 'none'");
  bench.spec.kernel = "helper";
  says(absl::StatusCode::kNotFound, "no kernel 'helper'");
  bench.spec.kernel = "k";
  says(invalid, "takes 2 arguments, not 0");
  bench.spec.args = {KernelArg::buffer(buffer), KernelArg::buffer(buffer)};
  says(invalid, "argument 0 of kernel 'k' is a buffer, but its type is i32");
  bench.spec.args = {KernelArg::scalar(1), KernelArg::buffer(buffer + 1)};
  says(invalid, "no buffer 1");
  bench.spec.args = {KernelArg::scalar(1), KernelArg::buffer(buffer)};
  bench.spec.block = {8, 0, 1};
  says(invalid, "8x0x1");
  bench.spec.block = {1u << 20, 2, 1};
  says(exhausted, "1048576x2x1");
  bench.spec.block = {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF};
  says(exhausted, "the most is 1048576");
  bench.spec.block = {1};
  bench.spec.grid = {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF};
  says(exhausted, "the most is 4294967295");
  bench.spec.grid = {1};
  bench.spec.sharedBytes = uint64_t{1} << 40;
  says(exhausted, "launch-sized");
  bench.spec.sharedBytes = 0;
  bench.spec.options.subgroupSize = 0;
  says(invalid, "subgroup size");
  bench.spec.options.subgroupSize = 32;
  bench.spec.options.maxSteps = 0;
  says(invalid, "maxSteps");
  bench.spec.options.maxSteps = 1000;
  bench.runClean();
  bench.spec.args = {};
  bench.spec.kernel = "bounded";
  bench.spec.block = {65};
  says(invalid, "bound to 64");
  bench.spec.block = {64};
  bench.runClean();
  bench.spec.kernel = "calls";
  says(invalid, "calls 'ext', which has no body");
  bench.spec.kernel = "big";
  says(exhausted, "a workgroup variable of 100000000 elements");
  bench.spec.kernel = "deep";
  says(exhausted, "a private variable of 1000000 elements");
}

TEST(Interpreter, StopsWithinItsMemory) {
  Bench bench(kReverse);
  BufferId in = bench.add(Ints(4096));
  BufferId out = bench.addOutput<int32_t>(4096);
  bench.spec.block = {4096};
  bench.spec.args = {KernelArg::buffer(in), KernelArg::buffer(out)};
  bench.spec.options.maxMemoryBytes = 2 << 20;
  auto result = bench.tryLaunch();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), absl::StatusCode::kResourceExhausted);
  bench.spec.options.maxMemoryBytes = 256 << 20;
  bench.runClean();
}

// Threads take turns, so that one may wait in a loop for a value that another stores.
TEST(Interpreter, WaitingThreadsDoNotStarveOthers) {
  Bench bench(R"(
kernel @k(%flag: ptr<global>, %out: ptr<global>) {
^entry:
  %zero = const 0 : i32
  %one = const 1 : i32
  %t = gpu.thread_id x : i32
  %first = cmp.eq %t, %zero : i32
  br %first, ^wait, ^set
^wait:
  %v = load i32, %flag : ptr<global> volatile
  %go = cmp.ne %v, %zero : i32
  br %go, ^done, ^wait
^set:
  store i32, %one, %flag : ptr<global> volatile
  ret
^done:
  store i32, %v, %out : ptr<global>
  ret
}
)");
  BufferId flag = bench.add(Ints{0});
  BufferId out = bench.add(Ints{0});
  bench.spec.block = {2};
  bench.spec.args = {KernelArg::buffer(flag), KernelArg::buffer(out)};
  bench.spec.options.checks = kCheckNone;  // It is a race: that is not the point here.
  bench.runClean();
  EXPECT_EQ(bench.read<int32_t>(out), Ints{1});
}

}  // namespace
}  // namespace mtlc::interp
