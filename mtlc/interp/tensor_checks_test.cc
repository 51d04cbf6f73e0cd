// What tensor operations ask of their operands and of memory: each precondition violated, and next
// to it the case that is right. Results: test/Exec/tensor_*_test.py.

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "absl/strings/str_format.h"
#include "mtlc/interp/test_util.h"

namespace mtlc::interp {
namespace {

using absl::StrFormat;
using Bytes = std::vector<uint8_t>;

#define EXPECT_SAYS(text, part) \
  EXPECT_NE((text).find(part), std::string::npos) << (text) << "lacks: " << (part)

// A kernel on four buffers of 4096 bytes that are all initialised with 0, a scratch value %n, and
// %u: uninitialised memory. Each thread executes `body`; it may use %z, %t (thread), %t64 and
// constants %c0 … %c64 (i32).
class TensorBench {
 public:
  explicit TensorBench(std::string_view body, Dim3 block = {32, 1, 1})
      : bench_(StrFormat(R"(
kernel @k(%%a: ptr<global>, %%b: ptr<global>, %%c: ptr<global>, %%d: ptr<global>, %%u: ptr<global>, %%n: i32) {
^entry:
  %%w = alloc.workgroup f16[2048] : ptr<workgroup>
  %%p = alloc.private i32[4] : ptr<private>
  %%c0 = const 0 : i32
  %%c1 = const 1 : i32
  %%c8 = const 8 : i32
  %%c16 = const 16 : i32
  %%c32 = const 32 : i32
  %%c64 = const 64 : i32
  %%l16 = const 16 : i64
  %%l32 = const 32 : i64
  %%one = const 1.0 : f32
  %%t = gpu.thread_id x : i32
  %%t64 = zext %%t : i32 to i64
  %%n64 = sext %%n : i32 to i64
  %%an = ptr.add %%a, %%n64 x i8 : ptr<global>
  %%bn = ptr.add %%b, %%n64 x i8 : ptr<global>
  %%cn = ptr.add %%c, %%n64 x i8 : ptr<global>
  %%dn = ptr.add %%d, %%n64 x i8 : ptr<global>
%s
}
)",
                         body)) {
    bench_.spec.block = block;
    for (int i = 0; i < 4; ++i) buffers[i] = bench_.add(Bytes(4096));
    buffers[4] = bench_.addOutput<uint8_t>(4096);
  }

  std::vector<Fault> run(int32_t n = 0) {
    bench_.spec.args.clear();
    for (BufferId id : buffers) bench_.spec.args.push_back(KernelArg::buffer(id));
    bench_.spec.args.push_back(KernelArg::scalar(static_cast<uint32_t>(n)));
    return bench_.run().faults;
  }
  Bench& bench() { return bench_; }
  void expectClean(int32_t n = 0) {
    for (const Fault& fault : run(n)) ADD_FAILURE() << n << ": " << bench_.text(fault);
  }
  // One fault, of this row and kind; gives its text.
  std::string expect(DiagId id, FaultKind kind, int32_t n = 0) {
    std::vector<Fault> faults = run(n);
    EXPECT_EQ(faults.size(), 1u) << n;
    if (faults.empty()) return "";
    EXPECT_EQ(faults[0].id, id) << bench_.text(faults[0]);
    EXPECT_EQ(faults[0].kind, kind);
    return bench_.text(faults[0]);
  }

  BufferId buffers[5];

 private:
  Bench bench_;
};

std::string mma(std::string_view operands, std::string_view more = "") {
  return StrFormat("  tensor.mma %s {m16n8k16, a=f16, acc=f32%s}\n  ret", operands, more);
}
constexpr std::string_view kMatmulProblem = "row=%c0, col=%c0, m=%c16, n=%c8, k=%c16";
std::string matmul(std::string_view operands, std::string_view more = "",
                   std::string_view problem = kMatmulProblem) {
  return StrFormat(
      "  tensor.matmul %s, %s {m16n8k16, a=f16, acc=f32, lda=16, ldb=16, ldc=8, ldd=8%s}\n  ret",
      operands, problem, more);
}

TEST(TensorChecks, FullSubgroups) {
  const std::string body = mma("a=%a, b=%b, c=%c, d=%d");
  TensorBench full(body);
  full.expectClean();
  TensorBench partial(body, {31, 1, 1});
  std::string text = partial.expect(DiagId::FaultTensorPartial, FaultKind::Sync);
  EXPECT_SAYS(text, "tensor.mma needs full subgroups, and here 31 of 32 threads take part");
  TensorBench second(body, {40, 1, 1});
  second.expect(DiagId::FaultTensorPartial, FaultKind::Sync);
  TensorBench block(mma("a=%a, b=%b, c=%c, d=%d", ", scope=workgroup"), {64, 1, 1});
  block.expectClean();
  TensorBench uneven(mma("a=%a, b=%b, c=%c, d=%d", ", scope=workgroup"), {40, 1, 1});
  text = uneven.expect(DiagId::FaultTensorPartial, FaultKind::Sync);
  EXPECT_SAYS(text, "40 of 64 threads");
  // tensor.matmul and tensor.epilogue don't mind.
  TensorBench any(matmul("a=%a, b=%b, c=%c, d=%d"), {5, 1, 1});
  any.expectClean();
  TensorBench epilogue("  tensor.epilogue d=%d {m4n4, element=f32}\n  ret", {5, 1, 1});
  epilogue.expectClean();
  TensorBench tile(
      "  %t0 = tensor.acc.begin c=%c, d=%d {m16n8, acc=f32} : tile<16x8xf32>\n"
      "  %t1 = tensor.acc.mma tile=%t0, a=%a, b=%b {m16n8k16, a=f16, acc=f32} : tile<16x8xf32>\n"
      "  tensor.acc.commit %t1\n  ret",
      {31, 1, 1});
  tile.expect(DiagId::FaultTensorPartial, FaultKind::Sync);
}

TEST(TensorChecks, TheSameOperandsForAll) {
  // Thread 7 has another K.
  constexpr std::string_view kVaries =
      "  %seven = const 7 : i32\n  %is = cmp.eq %t, %seven : i32\n"
      "  %k = select %is, %n, %c16 : i32\n";
  TensorBench bench(std::string(kVaries) +
                    matmul("a=%a, b=%b, c=%c, d=%d", "", "row=%c0, col=%c0, m=%c16, n=%c8, k=%k"));
  bench.expectClean(16);
  const std::string text = bench.expect(DiagId::FaultTensorOperand, FaultKind::Sync, 8);
  EXPECT_SAYS(text,
              "operand k of tensor.matmul is not the same for its scope: 0x10 of thread "
              "(0,0,0), 0x8 here");
  EXPECT_SAYS(text, "thread (7,0,0)");
  // Of another subgroup it may differ, but not where the workgroup is the scope.
  constexpr std::string_view kBySubgroup =
      "  %sg = lshr %t, %c16 : i32\n  %five = const 5 : i32\n  %s = lshr %t, %five : i32\n"
      "  %s64 = zext %s : i32 to i64\n  %k512 = const 512 : i64\n  %o = mul %s64, %k512 : i64\n"
      "  %dd = ptr.add %d, %o x i8 : ptr<global>\n";
  TensorBench two(std::string(kBySubgroup) + mma("a=%a, b=%b, c=%c, d=%dd"), {64, 1, 1});
  two.expectClean();
  TensorBench wide(std::string(kBySubgroup) + mma("a=%a, b=%b, c=%c, d=%dd", ", scope=workgroup"),
                   {64, 1, 1});
  wide.expect(DiagId::FaultTensorOperand, FaultKind::Sync);
}

TEST(TensorChecks, Divergence) {
  TensorBench bench(
      "  %in = cmp.slt %t, %n : i32\n  br %in, ^yes, ^no\n^yes:\n"
      "  tensor.mma a=%a, b=%b, c=%c, d=%d {m16n8k16, a=f16, acc=f32}\n  jump ^no\n^no:\n"
      "  barrier {workgroup} seq_cst\n  ret");
  bench.expectClean(32);
  bench.expect(DiagId::FaultCollectiveDivergence, FaultKind::Sync, 31);
}

TEST(TensorChecks, OperandsAreInitialised) {
  TensorBench bench("  %k = load i32, %u : ptr<global>\n" +
                    matmul("a=%a, b=%b, c=%c, d=%d", "", "row=%c0, col=%c0, m=%c16, n=%c8, k=%k"));
  const std::string text = bench.expect(DiagId::FaultTensorUninit, FaultKind::Init);
  EXPECT_SAYS(text, "operand k of tensor.matmul depends on uninitialised bits");
}

// Uninitialised elements are no fault until something depends on the result.
TEST(TensorChecks, UninitialisedElements) {
  TensorBench bench(mma("a=%u, b=%b, c=%c, d=%d"));
  bench.expectClean();
  std::vector<Fault> faults = bench.bench().readBack(bench.buffers[3]);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].id, DiagId::FaultUninitOutput);
  // An uninitialised alpha spoils all; D's bytes beyond the tile stay as they are.
  TensorBench alpha(
      "  %x = load f32, %u : ptr<global>\n"
      "  tensor.epilogue d=%d, alpha=%x {m4n4, element=f32}\n  ret");
  alpha.expectClean();
  EXPECT_EQ(alpha.bench().readBack(alpha.buffers[3]).size(), 1u);
  std::span<const uint8_t> uninit = alpha.bench().memory.uninit(alpha.buffers[3]);
  for (size_t i = 0; i < uninit.size(); ++i) ASSERT_EQ(uninit[i], i < 64 ? 0xFF : 0) << i;
  // Without the check nothing is uninitialised.
  bench.bench().spec.options.checks = checkBit(FaultKind::Mem);
  bench.expectClean();
  EXPECT_TRUE(bench.bench().readBack(bench.buffers[3]).empty());
  alpha.bench().spec.options.checks = checkBit(FaultKind::Mem);
  alpha.expectClean();
  EXPECT_TRUE(alpha.bench().readBack(alpha.buffers[3]).empty());
  // Padding isn't looked at.
  TensorBench padded("  tensor.epilogue d=%u {m4n4, element=f32, ldd=8}\n" +
                     mma("a=%a, b=%b, c=%c, d=%u", ", ldd=32"));
  padded.expectClean();
  uninit = padded.bench().memory.uninit(padded.buffers[4]);
  for (size_t i = 0; i < 2048; ++i) ASSERT_EQ(uninit[i], i % 128 < 32 ? 0 : 0xFF) << i;
}

TEST(TensorChecks, LeadingDimensionsOfMma) {
  TensorBench bench(mma("a=%a, b=%b, c=%c, d=%d, lda=%n"));
  bench.expectClean(16);
  bench.expectClean(24);
  std::string text = bench.expect(DiagId::FaultTensorLeading, FaultKind::Mem, 0);
  EXPECT_SAYS(text, "lda of tensor.mma is 0, and a stored line of the matrix has 16 elements");
  bench.expect(DiagId::FaultTensorLeading, FaultKind::Mem, 8);
  text = bench.expect(DiagId::FaultTensorStride, FaultKind::Mem, 20);
  EXPECT_SAYS(text, "lda of tensor.mma is 20 elements of 16 bits, no multiple of 16 bytes");
  // Unsigned: -1 is far away.
  bench.expect(DiagId::FaultOutOfBounds, FaultKind::Mem, -8);
}

TEST(TensorChecks, LeadingDimensionsOfMatmul) {
  auto with = [](std::string_view problem, std::string_view more = "",
                 std::string_view slots = "") {
    return StrFormat(
        "  tensor.matmul a=%%a, b=%%b, c=%%c, d=%%d%s, %s {m16n8k16, a=f16, acc=f32, "
        "ldb=64, ldc=64, ldd=64%s}\n  ret",
        slots, problem, more);
  };
  TensorBench bench(with(kMatmulProblem, "", ", lda=%n"));
  bench.expectClean(16);
  bench.expectClean(17);  // Any alignment.
  bench.expect(DiagId::FaultTensorLeading, FaultKind::Mem, 15);
  bench.expect(DiagId::FaultTensorLeading, FaultKind::Mem, 0);
  // A constant may be too short for what K turns out to be.
  TensorBench fixed(with("row=%c0, col=%c0, m=%c16, n=%c8, k=%n", ", lda=20"));
  fixed.expectClean(20);
  const std::string text = fixed.expect(DiagId::FaultTensorLeading, FaultKind::Mem, 21);
  EXPECT_SAYS(text, "lda of tensor.matmul is 20, and a stored line of the matrix has 21 elements");
  TensorBench empty(with("row=%c0, col=%c0, m=%c16, n=%c8, k=%c0", "", ", lda=%n"));
  empty.expectClean(1);
  empty.expect(DiagId::FaultTensorLeading, FaultKind::Mem, 0);
  TensorBench scale(with("row=%c0, col=%c0, m=%c16, n=%c8, k=%c64", ", lda=64, scale_a=block32",
                         ", scale_a=%u, ldsa=%n"));
  scale.expectClean(2);
  scale.expect(DiagId::FaultTensorLeading, FaultKind::Mem, 1);
  TensorBench epilogue("  tensor.epilogue d=%d, ldd=%n {m4n4, element=f32}\n  ret");
  epilogue.expectClean(4);
  epilogue.expect(DiagId::FaultTensorLeading, FaultKind::Mem, 3);
  TensorBench bias(
      "  tensor.epilogue d=%d, bias=%b, ldbias=%n {m4n6, element=f32, bias=matrix, "
      "layout_bias=col}\n  ret");
  bias.expectClean(4);
  bias.expect(DiagId::FaultTensorLeading, FaultKind::Mem, 3);
}

TEST(TensorChecks, Alignment) {
  for (std::string_view operands : {"a=%an, b=%b, c=%c, d=%d", "a=%a, b=%bn, c=%c, d=%d",
                                    "a=%a, b=%b, c=%cn, d=%d", "a=%a, b=%b, c=%c, d=%dn"}) {
    TensorBench bench(mma(operands));
    bench.expectClean(32);
    const std::string text = bench.expect(DiagId::FaultMisaligned, FaultKind::Mem, 16);
    EXPECT_SAYS(text, "which is not a multiple of 32");
    TensorBench any(matmul(operands));
    any.expectClean(4);
    any.expect(DiagId::FaultMisaligned, FaultKind::Mem, 1);
  }
  TensorBench bytes(
      "  tensor.matmul a=%an, b=%bn, c=%c, d=%d, row=%c0, col=%c0, m=%c16, n=%c8, k=%c16 "
      "{m16n8k16, a=e2m3, acc=f32, lda=17, ldb=19, ldc=8, ldd=8, packing_a=dense}\n  ret");
  bytes.expectClean(1);
  TensorBench epilogue("  tensor.epilogue d=%dn, bias=%bn {m4n4, element=f16, bias=row}\n  ret");
  epilogue.expectClean(2);
  epilogue.expect(DiagId::FaultMisaligned, FaultKind::Mem, 1);
  TensorBench tile(
      "  %t0 = tensor.acc.begin c=%c, d=%dn {m16n8, acc=f32} : tile<16x8xf32>\n"
      "  tensor.acc.commit %t0\n  ret");
  tile.expectClean(32);
  tile.expect(DiagId::FaultMisaligned, FaultKind::Mem, 4);
}

TEST(TensorChecks, Bounds) {
  for (std::string_view operands : {"a=%an, b=%b, c=%c, d=%d", "a=%a, b=%bn, c=%c, d=%d",
                                    "a=%a, b=%b, c=%cn, d=%d", "a=%a, b=%b, c=%c, d=%dn"}) {
    TensorBench bench(mma(operands));
    bench.expectClean(4096 - 512);
    std::string text = bench.expect(DiagId::FaultOutOfBounds, FaultKind::Mem, 4096 - 32);
    EXPECT_SAYS(text, operands.find("dn") != operands.npos ? "write of" : "read of");
    EXPECT_SAYS(text, "past the end of buffer");
    bench.expect(DiagId::FaultOutOfBounds, FaultKind::Mem, -32);
    bench.expect(DiagId::FaultOutOfBounds, FaultKind::Mem, 8192);
  }
  // The last row needs no padding.
  TensorBench padded(mma("a=%an, b=%b, c=%c, d=%d", ", lda=128"));
  padded.expectClean(4096 - 15 * 256 - 32);
  padded.expect(DiagId::FaultOutOfBounds, FaultKind::Mem, 4096 - 15 * 256);
  // Only what is in range is touched.
  TensorBench edge(
      matmul("a=%a, b=%b, c=%c, d=%dn", "", "row=%c8, col=%c0, m=%c16, n=%c8, k=%c16"));
  edge.expectClean(4096 - 512);
  edge.expect(DiagId::FaultOutOfBounds, FaultKind::Mem, 4096 - 508);
  TensorBench outside(
      matmul("a=%a, b=%b, c=%c, d=%dn", "", "row=%c16, col=%c0, m=%c16, n=%c8, k=%c16"));
  outside.expectClean(5000);
  // Metadata and scales.
  TensorBench scale(
      "  %un = ptr.add %u, %n64 x i8 : ptr<global>\n" +
      mma("a=%a, b=%b, c=%c, d=%d, scale_b=%un", ", scale_b=block16, scale_format_b=ue4m3"));
  scale.expectClean(4096 - 8);
  scale.expect(DiagId::FaultOutOfBounds, FaultKind::Mem, 4096 - 7);
  TensorBench masks("  %un = ptr.add %u, %n64 x i8 : ptr<global>\n" +
                    mma("a=%a, b=%b, c=%c, d=%d, metadata=%un", ", sparsity=structured_2_to_4"));
  masks.expectClean(4096 - 64);
  masks.expect(DiagId::FaultOutOfBounds, FaultKind::Mem, 4096 - 63);
}

TEST(TensorChecks, Addresses) {
  TensorBench null("  %null = const null : ptr<global>\n" + mma("a=%null, b=%b, c=%c, d=%d"));
  null.expect(DiagId::FaultBadAddress, FaultKind::Mem);
  TensorBench untouched(
      "  %null = const null : ptr<global>\n" +
      matmul("a=%null, b=%null, c=%c, d=%d", "", "row=%c0, col=%c0, m=%c16, n=%c8, k=%c0"));
  untouched.expectClean();
  TensorBench generic("  %g = spacecast %w : ptr<workgroup> to ptr<generic>\n" +
                      mma("a=%a, b=%b, c=%g, d=%g"));
  generic.expectClean();
  TensorBench own(
      "  %g = spacecast %p : ptr<private> to ptr<generic>\n"
      "  tensor.epilogue d=%g {m1n1, element=f32}\n  ret",
      {1, 1, 1});
  const std::string text = own.expect(DiagId::FaultBadAddress, FaultKind::Mem);
  EXPECT_SAYS(text, "it is private memory, which a tensor operation cannot use");
}

TEST(TensorChecks, Overlap) {
  // A, B and C move towards D, which begins at byte 1024 of the same buffer and has 512.
  auto at = [](std::string_view operands) {
    return "  %k1024 = const 1024 : i64\n  %d1 = ptr.add %d, %k1024 x i8 : ptr<global>\n" +
           mma(operands);
  };
  for (std::string_view operands :
       {"a=%dn, b=%b, c=%c, d=%d1", "a=%a, b=%dn, c=%c, d=%d1", "a=%a, b=%b, c=%dn, d=%d1"}) {
    TensorBench bench(at(operands));
    bench.expectClean(512);
    bench.expectClean(1536);
    const std::string text = bench.expect(DiagId::FaultTensorOverlap, FaultKind::Mem, 1504);
    EXPECT_SAYS(text, "of tensor.mma overlaps d");
  }
  // C may be D, but not with another layout or leading dimension.
  TensorBench same(mma("a=%a, b=%b, c=%d, d=%d"));
  same.expectClean();
  TensorBench layout(mma("a=%a, b=%b, c=%d, d=%d", ", layout_c=col"));
  layout.expect(DiagId::FaultTensorOverlap, FaultKind::Mem);
  TensorBench leading(mma("a=%a, b=%b, c=%d, d=%d", ", ldc=16"));
  leading.expect(DiagId::FaultTensorOverlap, FaultKind::Mem);
  // Rows of A between the rows of D.
  TensorBench between("  %da = ptr.add %d, %l32 x i8 : ptr<global>\n" +
                      mma("a=%da, b=%b, c=%c, d=%d", ", lda=32, ldd=16"));
  between.expectClean();
  TensorBench scale(mma("a=%a, b=%b, c=%c, d=%d, scale_a=%dn", ", scale_a=tensor"));
  scale.expectClean(512);
  scale.expect(DiagId::FaultTensorOverlap, FaultKind::Mem, 511);
  TensorBench masks(
      "  %v = const 0x3333333333333333 : i64\n  %t8 = ptr.add %dn, %t64 x i64 : "
      "ptr<global>\n  %in = cmp.slt %t, %c8 : i32\n  br %in, ^f, ^g\n^f:\n  store "
      "i64, %v, %t8 : ptr<global>\n  jump ^g\n^g:\n  barrier {global} seq_cst\n" +
      mma("a=%a, b=%b, c=%c, d=%d, metadata=%dn", ", sparsity=structured_2_to_4"));
  masks.expectClean(512);
  masks.expect(DiagId::FaultTensorOverlap, FaultKind::Mem, 504);
  TensorBench bias("  tensor.epilogue d=%d, bias=%dn {m4n4, element=f32, bias=row}\n  ret");
  bias.expectClean(64);
  bias.expect(DiagId::FaultTensorOverlap, FaultKind::Mem, 48);
  TensorBench home(
      "  %t0 = tensor.acc.begin c=%c, d=%d {m16n8, acc=f32} : tile<16x8xf32>\n"
      "  %t1 = tensor.acc.mma tile=%t0, a=%a, b=%dn {m16n8k16, a=f16, acc=f32} : tile<16x8xf32>\n"
      "  tensor.acc.commit %t1\n  ret");
  home.expectClean(512);
  home.expect(DiagId::FaultTensorOverlap, FaultKind::Mem, 480);
}

TEST(TensorChecks, HomesOfTiles) {
  // `between` stands between begin and commit; D has rows of 8 in lines of 16 elements.
  auto tile = [](std::string_view between, std::string_view after = "") {
    return StrFormat(
        "  %%t0 = tensor.acc.begin c=%%c, d=%%d {m16n8, acc=f32, ldd=16} : tile<16x8xf32>\n%s"
        "  %%t1 = tensor.acc.mma tile=%%t0, a=%%a, b=%%b {m16n8k16, a=f16, acc=f32} : "
        "tile<16x8xf32>\n  tensor.acc.commit %%t1\n%s  ret",
        between, after);
  };
  constexpr std::string_view kLoad = "  %x = load f32, %dn : ptr<global>\n";
  TensorBench load(tile(kLoad));
  for (int32_t n : {32, 60, 15 * 64 + 32, 2048}) load.expectClean(n);  // Beside and behind it.
  for (int32_t n : {0, 28, 64, 15 * 64 + 28}) {
    const std::string text = load.expect(DiagId::FaultTensorHome, FaultKind::Mem, n);
    EXPECT_SAYS(text, "read of 4 bytes at global address 0x");
    EXPECT_SAYS(text, "the tile begins here");
  }
  TensorBench store(tile("  store f32, %one, %dn : ptr<global>\n"), {32, 1, 1});
  store.bench().spec.options.checks &= static_cast<CheckMask>(~checkBit(FaultKind::Race));
  store.expectClean(32);
  EXPECT_SAYS(store.expect(DiagId::FaultTensorHome, FaultKind::Mem, 28), "write of 4 bytes");
  TensorBench after(tile("", kLoad));
  after.expectClean(0);
  TensorBench operand(tile("  tensor.mma a=%a, b=%dn, c=%c, d=%c {m16n8k16, a=f16, acc=f32}\n"));
  operand.expectClean(2048);
  operand.expect(DiagId::FaultTensorHome, FaultKind::Mem, 0);
  // A second tile with its rows between those of the first; and one in the same place.
  auto two = [](std::string_view d) {
    return StrFormat(
        "  %%d8 = ptr.add %%d, %%l32 x i8 : ptr<global>\n"
        "  %%t0 = tensor.acc.begin c=%%c, d=%%d {m16n8, acc=f32, ldd=16} : tile<16x8xf32>\n"
        "  %%u0 = tensor.acc.begin c=%%c, d=%s {m16n8, acc=f32, ldd=16} : tile<16x8xf32>\n"
        "  %%u1 = tensor.acc.epilogue tile=%%u0 {m16n8, element=f32} : tile<16x8xf32>\n"
        "  tensor.acc.commit %%u1\n  tensor.acc.commit %%t0\n  ret",
        d);
  };
  TensorBench apart(two("%d8"));
  apart.expectClean();
  TensorBench same(two("%d"));
  const std::vector<Fault> faults = same.run();
  ASSERT_FALSE(faults.empty());
  for (const Fault& fault : faults) EXPECT_EQ(fault.id, DiagId::FaultTensorHome);
}

TEST(TensorChecks, Masks) {
  // Thread i sets the masks of row i / 2: 0x3 each, but for one.
  TensorBench bench(
      "  %good = const 0x03030303 : i32\n  %first = cmp.eq %t, %c8 : i32\n"
      "  %v = select %first, %n, %good : i32\n  %pm = ptr.add %u, %t64 x i32 : ptr<global>\n"
      "  store i32, %v, %pm : ptr<global>\n  barrier {global} seq_cst\n" +
      mma("a=%a, b=%b, c=%c, d=%d, metadata=%u", ", sparsity=structured_2_to_4"));
  bench.expectClean(0x0C0A0503);
  bench.expectClean(static_cast<int32_t>(0xFCFAF5F3));  // The high bits mean nothing.
  const std::string text = bench.expect(DiagId::FaultTensorMask, FaultKind::Mem, 0x03070303);
  EXPECT_SAYS(text,
              "metadata of tensor.mma for row 8, group 2 is 0x07, which has not 2 of its low "
              "4 bits set");
}

TEST(TensorChecks, Races) {
  // Thread 0 writes A, or D, before or after, without a barrier.
  constexpr std::string_view kWrite =
      "  %first = cmp.eq %t, %n : i32\n  br %first, ^f, ^g\n^f:\n"
      "  store i32, %c0, %a : ptr<global>\n  jump ^g\n^g:\n";
  const std::string op = "  tensor.mma a=%a, b=%b, c=%c, d=%d {m16n8k16, a=f16, acc=f32}\n";
  // Of the same subgroup the operation orders what is before and after it.
  TensorBench before(std::string(kWrite) + op + "  ret");
  before.expectClean(31);
  TensorBench after(op + std::string(kWrite) + "  ret");
  after.expectClean(31);
  // Nothing orders it and threads of another subgroup.
  auto inFirst = [&](std::string_view more) {
    return "  %half = cmp.ult %t, %c32 : i32\n" + std::string(more) +
           "  br %half, ^mma, ^out\n^mma:\n" + op + "  jump ^out\n^out:\n";
  };
  TensorBench other(inFirst(kWrite) + "  ret", {64, 1, 1});
  other.expectClean(5);
  const std::string text = other.expect(DiagId::FaultRace, FaultKind::Race, 40);
  EXPECT_SAYS(text, "races with");
  TensorBench ordered(inFirst(std::string(kWrite) + "  barrier {global} seq_cst\n") + "  ret",
                      {64, 1, 1});
  ordered.expectClean(40);
  // Two subgroups write the same D.
  TensorBench both(op + "  ret", {64, 1, 1});
  both.expect(DiagId::FaultRace, FaultKind::Race);
  // With the workgroup as its scope it orders all of the block, in both kinds of memory.
  const std::string wide =
      "  tensor.mma a=%w, b=%b, c=%c, d=%d {m16n8k16, a=f16, acc=f32, scope=workgroup}\n";
  constexpr std::string_view kFill =
      "  %zero = const 0 : i64\n  %pw = ptr.add %w, %t64 x i64 : ptr<workgroup>\n"
      "  store i64, %zero, %pw : ptr<workgroup>\n";
  constexpr std::string_view kRead =
      "  %o = xor %t64, %l32 : i64\n  %pr = ptr.add %d, %o x f32 : ptr<global>\n"
      "  %r = load f32, %pr : ptr<global>\n  store i64, %zero, %pw : ptr<workgroup>\n";
  TensorBench block(std::string(kFill) + wide + std::string(kRead) + "  ret", {64, 1, 1});
  block.expectClean();
  // A commit writes home once more.
  TensorBench commit(
      "  %half = cmp.ult %t, %c32 : i32\n  br %half, ^mma, ^read\n^mma:\n"
      "  %t0 = tensor.acc.begin c=%c, d=%d {m16n8, acc=f32} : tile<16x8xf32>\n"
      "  jump ^mid(%t0)\n^mid(%t1: tile<16x8xf32>):\n  tensor.acc.commit %t1\n  ret\n^read:\n"
      "  %r = load f32, %d : ptr<global>\n  ret",
      {64, 1, 1});
  commit.expect(DiagId::FaultRace, FaultKind::Race);
}

// Thread 31 says with an atomic that its subgroup is done; the other one waits for that.
TEST(TensorChecks, AtomicsOrderWhatTheScopeDid) {
  auto body = [](std::string_view release, std::string_view acquire) {
    return StrFormat(
        "  %%half = cmp.ult %%t, %%c32 : i32\n  %%l31 = const 31 : i32\n  br %%half, ^mma, ^wait\n"
        "^mma:\n  tensor.mma a=%%a, b=%%b, c=%%c, d=%%d {m16n8k16, a=f16, acc=f32}\n"
        "  %%last = cmp.eq %%t, %%l31 : i32\n  br %%last, ^say, ^out\n"
        "^say:\n  atomic.store i32, %%a, %%c1 : ptr<global> %s device\n  jump ^out\n"
        "^wait:\n  %%v = atomic.load i32, %%a : ptr<global> %s device\n"
        "  %%said = cmp.eq %%v, %%c1 : i32\n  br %%said, ^read, ^wait\n"
        "^read:\n  %%r = load f32, %%d : ptr<global>\n  jump ^out\n^out:\n  ret",
        release, acquire);
  };
  // The flag is a word that the product doesn't use.
  auto flagged = [](std::string text) {
    for (size_t at = 0; (at = text.find(", %a", at)) != text.npos;) text.replace(at, 4, ", %u0");
    return "  %u0 = ptr.add %b, %kflag x i8 : ptr<global>\n" + text;
  };
  constexpr std::string_view kFlag = "  %kflag = const 2048 : i64\n";
  TensorBench ordered(std::string(kFlag) + flagged(body("release", "acquire")), {64, 1, 1});
  ordered.expectClean();
  TensorBench relaxed(std::string(kFlag) + flagged(body("relaxed", "relaxed")), {64, 1, 1});
  relaxed.expect(DiagId::FaultRace, FaultKind::Race);
}

// Blocks share the work: each does one region. The same result with any order and host threads.
TEST(TensorChecks, RegionsOfManyBlocks) {
  TensorBench bench(
      "  %bx = gpu.block_id x : i32\n  %by = gpu.block_id y : i32\n  %row = mul %bx, %c16 : i32\n"
      "  %col = mul %by, %c16 : i32\n"
      "  tensor.matmul a=%a, b=%b, c=%c, d=%d, row=%row, col=%col, m=%n, n=%n, k=%n {m16n16k16, "
      "a=i8, acc=i32, lda=30, ldb=30, ldc=30, ldd=30}\n  ret",
      {7, 1, 1});
  for (int i : {0, 1}) {
    for (size_t j = 0; j < 900; ++j) {
      bench.bench().memory.bytes(bench.buffers[i])[j] = static_cast<uint8_t>(j * 37 + 5 * i);
    }
  }
  std::span<const uint8_t> a = bench.bench().memory.bytes(bench.buffers[0]);
  std::span<const uint8_t> b = bench.bench().memory.bytes(bench.buffers[1]);
  bench.bench().spec.grid = {3, 3, 1};
  for (uint32_t threads : {1, 2, 4}) {
    for (uint64_t seed : {0, 1}) {
      bench.bench().spec.options.threads = threads;
      bench.bench().spec.options.seed = seed;
      bench.bench().memory.write(bench.buffers[3], Bytes(4096));
      bench.expectClean(30);
      const std::vector<int32_t> d = bench.bench().read<int32_t>(bench.buffers[3]);
      for (size_t i = 0; i < 900; ++i) {
        int32_t want = 0;
        for (size_t q = 0; q < 30; ++q) {
          want += static_cast<int8_t>(a[i / 30 * 30 + q]) * static_cast<int8_t>(b[i % 30 * 30 + q]);
        }
        ASSERT_EQ(d[i], want) << i;
      }
    }
  }
}

TEST(TensorChecks, Transfers) {
  auto load = [](std::string_view more, std::string_view x1 = "%n") {
    return StrFormat(
        "  tensor.transfer dst=%%w, src=%%a, x0=%%c0, x1=%s%s {direction=load, "
        "element=f16, tile=[32, 8], extent=[32, 64], stride=[2, 64]}\n  ret",
        x1, more);
  };
  TensorBench bench(load(""), {40, 1, 1});
  for (int32_t x : {0, 56, 60, 64, -4, -8, INT32_MAX, INT32_MIN}) bench.expectClean(x);
  // The extents promise more than there is.
  TensorBench beyond(
      "  tensor.transfer dst=%w, src=%a, x0=%c0, x1=%n, stride1=%c64 {direction=load, element=f16, "
      "tile=[32, 8], extent=[32, 65], stride=[2, 0]}\n  ret");
  beyond.expectClean(56);
  beyond.expect(DiagId::FaultOutOfBounds, FaultKind::Mem, 57);
  TensorBench store(
      "  tensor.transfer dst=%a, src=%w, x0=%n, x1=%c0 {direction=store, element=f16, tile=[64, "
      "64], extent=[32, 64], stride=[2, 64]}\n  ret");
  store.expect(DiagId::FaultOutOfBounds, FaultKind::Mem);  // Of workgroup memory.
  store.expectClean(40);
  TensorBench stride(
      "  tensor.transfer dst=%w, src=%a, x0=%c0, x1=%c0, stride1=%n {direction=load, element=f32, "
      "tile=[4, 4], extent=[4, 4], stride=[4, 0]}\n  ret");
  stride.expectClean(20);
  const std::string text = stride.expect(DiagId::FaultTensorStride, FaultKind::Mem, 18);
  EXPECT_SAYS(text, "stride1 of tensor.transfer is 18 bytes, no multiple of 4 bytes");
  TensorBench aligned(
      "  %wn = ptr.add %w, %n64 x i8 : ptr<workgroup>\n"
      "  tensor.transfer dst=%wn, src=%a, x0=%c0 {direction=load, element=f32, "
      "tile=[4], extent=[4]}\n  ret");
  aligned.expectClean(4);
  aligned.expect(DiagId::FaultMisaligned, FaultKind::Mem, 2);
  // All of the block takes part, and sees the result without a barrier.
  TensorBench ordered(
      "  tensor.transfer dst=%w, src=%a, x0=%c0 {direction=load, element=i32, "
      "tile=[64], extent=[1024]}\n"
      "  %o = xor %t64, %l32 : i64\n  %pw = ptr.add %w, %o x i32 : "
      "ptr<workgroup>\n  %v = load i32, %pw : ptr<workgroup>\n  ret",
      {64, 1, 1});
  ordered.expectClean();
}

TEST(TensorChecks, CostCountsAsSteps) {
  TensorBench bench(
      "  tensor.matmul a=%u, b=%u, c=%u, d=%d, row=%c0, col=%c0, m=%c32, n=%c32, k=%n {m32n32k16, "
      "a=b1, acc=i32, math=and_popcount, lda=1024, ldb=1024, ldc=32, ldd=32}\n  ret");
  bench.bench().spec.options.maxSteps = 800;
  bench.expectClean(512);
  bench.expect(DiagId::FaultStepLimit, FaultKind::Steps, 1000);
}

// Whatever is violated, and whatever is checked, the interpreter survives.
TEST(TensorChecks, WithoutChecks) {
  for (int32_t n : {0, 1, 7, 16, -1, INT32_MIN, 4096}) {
    TensorBench bench(
        "  tensor.matmul a=%an, b=%bn, c=%cn, d=%dn, metadata=%u, lda=%n, ldb=%n, ldc=%n, ldd=%n, "
        "row=%n, col=%n, m=%n, n=%n, k=%n {m64n64k16, a=f16, acc=f32, "
        "sparsity=structured_2_to_4}\n"
        "  tensor.transfer dst=%w, src=%an, x0=%n, x1=%n, extent0=%n, extent1=%n, stride1=%n "
        "{direction=load, element=f16, tile=[64, 8], extent=[0, 0], stride=[2, 0]}\n"
        "  tensor.epilogue d=%dn, bias=%dn, ldd=%n {m16n16, element=f32, bias=row}\n" +
        mma("a=%an, b=%bn, c=%cn, d=%cn, lda=%n, ldd=%n"));
    bench.bench().spec.options.checks = kCheckNone;
    for (const Fault& f : bench.run(n)) ADD_FAILURE() << bench.bench().text(f);
    bench.bench().spec.options.threads = 2;
    bench.bench().spec.grid = {3, 1, 1};
    bench.bench().spec.options.checks = kCheckAll;
    bench.run(n);
  }
}

}  // namespace
}  // namespace mtlc::interp
