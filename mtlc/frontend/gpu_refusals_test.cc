// Every refusal of GPU operations: a minimal source, the row, where it points, and for descriptors
// what is said.

#include <string>

#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "mtlc/frontend/test_util.h"

namespace mtlc::frontend {
namespace {

// The body of a kernel with a backtick before the place that the only message must name, which
// holds all of `words`.
void expectOnly(DiagId id, std::string body, std::initializer_list<const char*> words = {}) {
  const std::string head =
      "kernel k(u: uint32*, s: int32*, l: int64*, f: float32*, d: float64*, h: uint16*, b: uint8*, "
      "i: int32, n: uint32, x: float32, p: bool) {\n";
  const size_t mark = body.find('`');
  ASSERT_NE(mark, std::string::npos) << body;
  body.erase(mark, 1);
  uint32_t line = 2, column = 1;
  for (size_t i = 0; i < mark; ++i) {
    column = body[i] == '\n' ? 1 : column + 1;
    line += body[i] == '\n';
  }
  Compiled c(head + body + "\n}\n");
  ASSERT_EQ(c.diagnostics.all().size(), 1u) << body << "\n" << c.text();
  const Diagnostic& d = c.diagnostics.all()[0];
  EXPECT_EQ(d.id, id) << body << "\n" << c.text();
  EXPECT_EQ(d.range.begin, SourceLoc(1, line, column)) << body << "\n" << c.text();
  EXPECT_EQ(c.module, nullptr) << body;
  for (const char* w : words) {
    EXPECT_NE((d.message + " " + d.hint).find(w), std::string::npos) << w << "\n" << c.text();
  }
}

struct Case {
  DiagId id;
  const char* body;
};

TEST(GpuRefusals, FencesAndNamedArguments) {
  const Case cases[] = {
      {DiagId::FenceWord, "fence(`relaxed)"},
      {DiagId::FenceWord, "fence(`order: acquire)"},
      {DiagId::FenceWord, "fence(1 `+ 1)"},
      {DiagId::FenceScope, "fence(scope: `work_item)"},
      {DiagId::FenceScope, "fence(scope: `i)"},
      {DiagId::RepeatedWord, "fence(scope: device, `scope: system)"},
      {DiagId::RepeatedWord, "fence(global, `global)"},
      {DiagId::TwoOrders, "fence(acquire, `release)"},
      {DiagId::PositionalAfterNamed, "atomic_fetch_add(u, order: relaxed, `0, 1)"},
      {DiagId::PositionalCount, "`atomic_load(u)"},
      {DiagId::PositionalCount, "`atomic_store(u, 0, order: relaxed)"},
      {DiagId::PositionalCount, "`tensor_epilogue(f, f, shape: m8n8, element: f32)"},
      {DiagId::TypeArgumentCount, "u[0] = `atomic_load<uint32>(u, 0)"},
      {DiagId::TypeArgumentCount, "u[0] = `subgroup_reduce_add<uint32>(n)"},
      {DiagId::UnknownOption, "atomic_fetch_add(u, 0, 1, `ordre: relaxed)"},
      {DiagId::UnknownOption, "atomic_load(u, 0, `failure_order: relaxed)"},
      {DiagId::RepeatedOption, "atomic_fetch_add(u, 0, 1, order: relaxed, `order: relaxed)"},
      {DiagId::RepeatedOption, "tensor_epilogue(f, shape: m8n8, element: f32, `element_type: f32)"},
      {DiagId::NamedArgument, "u[0] = subgroup_reduce_add(`value: n)"},
      {DiagId::ArgumentCount, "u[0] = `subgroup_broadcast(n)"},
      {DiagId::ArgumentCount, "`async_copy_wait()"},
  };
  for (const Case& c : cases) expectOnly(c.id, c.body);
  expectOnly(DiagId::UnknownOption, "atomic_fetch_add(u, 0, 1, `ordre: relaxed)", {"'order'"});
}

TEST(GpuRefusals, Subgroups) {
  const Case cases[] = {
      {DiagId::SubgroupType, "d[0] = subgroup_reduce_add(`d[0])"},
      {DiagId::SubgroupType, "l[0] = subgroup_reduce_max(`l[0])"},
      {DiagId::SubgroupType, "h[0] = subgroup_scan_inclusive_add(`h[0])"},
      {DiagId::SubgroupType, "u[0] = (uint32)subgroup_reduce_add(`p)"},
      {DiagId::SubgroupType, "b[0] = subgroup_shuffle(`b[0], 0)"},
      {DiagId::SubgroupType, "u = subgroup_broadcast(`u, 0)"},
      {DiagId::SubgroupPredicate, "p = subgroup_any(`i)"},
      {DiagId::SubgroupPredicate, "u[0] = subgroup_ballot(`n, 0)"},
      {DiagId::FloatNeedsCast, "u[0] = subgroup_broadcast(n, `x)"},
  };
  for (const Case& c : cases) expectOnly(c.id, c.body);
}

// BC-23: orders that an operation can't have, and failure orders stronger than success.
TEST(GpuRefusals, Atomics) {
  const Case cases[] = {
      {DiagId::AtomicPointer, "atomic_fetch_add(`h, 0, 1)"},
      {DiagId::AtomicPointer, "atomic_fetch_add(`i, 0, 1)"},
      {DiagId::AtomicPointer, "atomic_fetch_max(`f, 0, 1.0)"},
      {DiagId::AtomicPointer, "f[0] = atomic_load(`f, 0)"},
      {DiagId::IndexType, "atomic_fetch_add(u, `x, 1)"},
      {DiagId::AtomicValue, "atomic_fetch_add(u, 0, `i)"},
      {DiagId::AtomicValue, "atomic_fetch_add(u, 0, `-1)"},
      {DiagId::AtomicValue, "atomic_fetch_add(s, 0, `1.0)"},
      {DiagId::AtomicValue, "atomic_fetch_add(u, 0, `4294967296)"},
      {DiagId::AtomicValue, "atomic_fetch_add(f, 0, `d[0])"},
      {DiagId::AtomicValue, "atomic_compare_exchange(u, 0, n, `i)"},
      {DiagId::AtomicOrder, "u[0] = atomic_load(u, 0, order: `release)"},
      {DiagId::AtomicOrder, "u[0] = atomic_load(u, 0, order: `acq_rel)"},
      {DiagId::AtomicOrder, "atomic_store(u, 0, n, order: `acquire)"},
      {DiagId::AtomicOrder, "atomic_store(u, 0, n, order: `acq_rel)"},
      {DiagId::AtomicOrder, "atomic_compare_exchange(u, 0, n, n, failure_order: `release)"},
      {DiagId::FailureOrder,
       "atomic_compare_exchange(u, 0, n, n, success_order: relaxed, failure_order: `acquire)"},
      {DiagId::FailureOrder,
       "atomic_compare_exchange(u, 0, n, n, failure_order: `seq_cst, success_order: acq_rel)"},
      {DiagId::OptionValue, "atomic_fetch_add(u, 0, 1, order: `consume)"},
      {DiagId::OptionValue, "atomic_fetch_add(u, 0, 1, order: `0)"},
      {DiagId::OptionValue, "atomic_fetch_add(u, 0, 1, scope: `grid)"},
      {DiagId::OptionValue, "atomic_fetch_add(u, 0, 1, space: `private)"},
      {DiagId::AtomicScope,
       "workgroup var w: uint32[1]\n atomic_fetch_add(w, 0, 1, scope: `device)"},
      {DiagId::AtomicScope, "atomic_fetch_add(u, 0, 1, space: workgroup, scope: `system)"},
      {DiagId::AtomicSpace, "var v: uint32 = 1\n atomic_fetch_add(`&v, 0, 1)"},
      {DiagId::AtomicOtherSpace, "atomic_fetch_add(`u, 0, 1, space: workgroup)"},
      {DiagId::AtomicOtherSpace,
       "workgroup var w: uint32[1]\n atomic_fetch_add(`w, 0, 1, space: global)"},
  };
  for (const Case& c : cases) expectOnly(c.id, c.body);
}

TEST(GpuRefusals, Staging) {
  const std::string store = "workgroup var w: float32[64]\n";
  const Case cases[] = {
      {DiagId::OptionNumber, "async_copy_workgroup(w, f, `i)"},
      {DiagId::OptionNumber, "async_copy_workgroup(w, f, `0)"},
      {DiagId::OptionNumber, "async_copy_workgroup(w, f, `4097)"},
      {DiagId::OptionNumber, "async_copy_workgroup(w, f, `-1)"},
      {DiagId::OptionNumber, "async_copy_wait(`8)"},
      {DiagId::OptionNumber, "async_copy_wait(`i)"},
      {DiagId::OptionNumber, "async_copy_wait(`1.0)"},
      {DiagId::AsyncTransaction, "async_copy_workgroup(w, f, 4, transaction: `12)"},
      {DiagId::AsyncTransaction, "async_copy_workgroup(w, f, 4, transaction: `i)"},
      {DiagId::AsyncCache, "async_copy_workgroup(w, f, 4, cache: `global)"},
      {DiagId::AsyncCache, "async_copy_workgroup(w, f, 4, transaction: 8, cache: `global)"},
      {DiagId::AsyncBytes, "async_copy_workgroup(w, f, `3, transaction: 8)"},
      {DiagId::AsyncBytes, "async_copy_workgroup((uint16*)w, h, `3)"},
      {DiagId::AsyncPointers, "`async_copy_workgroup(w, h, 4)"},
      {DiagId::AsyncPointers, "`async_copy_workgroup(w, x, 4)"},
      {DiagId::AsyncSpace, "async_copy_workgroup(`f, f, 4)"},
      {DiagId::AsyncSpace, "async_copy_workgroup(w, `w, 4)"},
      {DiagId::OptionValue, "async_copy_workgroup(w, f, 4, cache: `streaming)"},
  };
  for (const Case& c : cases) expectOnly(c.id, store + c.body);
}

TEST(GpuRefusals, TensorOptions) {
  const Case cases[] = {
      {DiagId::MissingOption, "`tensor_mma(h, h, f, f, input_type: f16, output_type: f32)"},
      {DiagId::MissingOption,
       "`tensor_mma(h, h, f, f, m: 16, n: 8, input_type: f16, output_type: f32)"},
      {DiagId::MissingOption, "`tensor_mma(h, h, f, f, shape: m16n8k16, output_type: f32)"},
      {DiagId::MissingOption,
       "`tensor_mma(h, h, f, f, shape: m16n8k16, a_type: f16, output_type: f32)"},
      {DiagId::MissingOption, "`tensor_mma(h, h, f, f, shape: m16n8k16, input_type: f16)"},
      {DiagId::MissingOption,
       "`tensor_mma(h, h, f, f, shape: m16n8k16, input_type: f16, result_type: f32)"},
      {DiagId::ShapeWord,
       "tensor_mma(h, h, f, f, shape: `m16n8, input_type: f16, output_type: f32)"},
      {DiagId::ShapeWord,
       "tensor_mma(h, h, f, f, shape: `m16n0k8, input_type: f16, output_type: f32)"},
      {DiagId::ShapeWord, "tensor_mma(h, h, f, f, shape: `16, input_type: f16, output_type: f32)"},
      {DiagId::ShapeWord,
       "tensor_mma(h, h, f, f, shape: `m65536n8k8, input_type: f16, output_type: f32)"},
      {DiagId::OptionNumber,
       "tensor_mma(h, h, f, f, m: 16, n: 8, k: `n, input_type: f16, output_type: f32)"},
      {DiagId::OptionConflict,
       "tensor_mma(h, h, f, f, shape: m16n8k16, `k: 16, input_type: f16, output_type: f32)"},
      {DiagId::OptionConflict,
       "tensor_mma(h, h, f, f, shape: m16n8k16, input_type: f16, `a_type: f16, output_type: f32)"},
      {DiagId::OptionConflict,
       "tensor_mma(h, h, f, f, shape: m16n8k16, input_type: f16, `result_type: f32, output_type: "
       "f32)"},
      {DiagId::OptionValue,
       "tensor_mma(h, h, f, f, shape: m16n8k16, input_type: `half, output_type: f32)"},
      {DiagId::OptionValue,
       "tensor_mma(h, h, f, f, shape: m16n8k16, input_type: f16, output_type: f32, a_layout: "
       "`diagonal)"},
      {DiagId::OptionNumber,
       "tensor_mma(h, h, f, f, shape: m16n8k16, input_type: f16, output_type: f32, transpose_a: "
       "`2)"},
      {DiagId::TensorCarrier,
       "tensor_mma(`f, h, f, f, shape: m16n8k16, input_type: f16, output_type: f32)"},
      {DiagId::TensorCarrier,
       "tensor_mma(h, h, f, `h, shape: m16n8k16, input_type: f16, output_type: f32)"},
      {DiagId::TensorCarrier,
       "tensor_mma(h, `n, f, f, shape: m16n8k16, input_type: f16, output_type: f32)"},
      {DiagId::TensorCarrier,
       "tensor_mma(h, h, f, f, shape: m16n8k32, input_type: f16, output_type: f32, sparsity: "
       "structured_2_to_4, metadata: `u)"},
      {DiagId::TensorSpace,
       "var t: float32[256]\n tensor_mma(h, h, `t, f, shape: m16n8k16, input_type: f16, "
       "output_type: f32)"},
      {DiagId::StrideType,
       "tensor_mma(h, h, f, f, shape: m16n8k16, input_type: f16, output_type: f32, lda: `x)"},
      {DiagId::StrideType,
       "tensor_mma(h, h, f, f, shape: m16n8k16, input_type: f16, output_type: f32, lda: `16.0)"},
      {DiagId::OptionNumber,
       "tensor_mma(h, h, f, f, shape: m16n8k16, input_type: f16, output_type: f32, lda: `0)"},
      {DiagId::OptionNumber,
       "tensor_mma(h, h, f, f, shape: m16n8k16, input_type: f16, output_type: f32, lda: `-16)"},
      {DiagId::OptionNumber,
       "tensor_mma(h, h, f, f, shape: m16n8k16, input_type: f16, output_type: f32, lda: "
       "`4294967296)"},
      {DiagId::MissingOption,
       "`tensor_mma(h, h, f, f, shape: m16n8k32, input_type: f16, output_type: f32, sparsity: "
       "structured_2_to_4)"},
      {DiagId::OptionMeaningless,
       "tensor_mma(h, h, f, f, shape: m16n8k16, input_type: f16, output_type: f32, `metadata: b)"},
      {DiagId::MissingOption,
       "`tensor_mma(b, b, f, f, shape: m16n8k32, input_type: e4m3, output_type: f32, a_scale_mode: "
       "block32, a_scale: b)"},
      {DiagId::MissingOption,
       "`tensor_mma(b, b, f, f, shape: m16n8k32, input_type: e4m3, output_type: f32, b_scale_mode: "
       "per_tensor, b_scale_type: ue8m0)"},
      {DiagId::OptionMeaningless,
       "tensor_mma(b, b, f, f, shape: m16n8k32, input_type: e4m3, output_type: f32, `a_scale: b)"},
      {DiagId::OptionMeaningless,
       "tensor_mma(b, b, f, f, shape: m16n8k32, input_type: e4m3, output_type: f32, `ldsb: 4)"},
      {DiagId::OptionMeaningless,
       "tensor_mma(b, b, f, f, shape: m16n8k32, input_type: e4m3, output_type: f32, a_scale_mode: "
       "per_tensor, a_scale: b, a_scale_type: ue8m0, `ldsa: n)"},
      {DiagId::MissingOption,
       "`tensor_matmul(h, h, f, f, 0, 0, n, n, n, shape: m16n8k16, input_type: f16, output_type: "
       "f32, "
       "lda: n, ldb: n, ldc: n)"},
      {DiagId::SignedControl,
       "tensor_matmul(h, h, f, f, 0, 0, `i, n, n, shape: m16n8k16, input_type: f16, output_type: "
       "f32, "
       "lda: n, ldb: n, ldc: n, ldd: n)"},
      {DiagId::SignedControl,
       "tensor_matmul(h, h, f, f, `-1, 0, n, n, n, shape: m16n8k16, input_type: f16, output_type: "
       "f32, lda: n, ldb: n, ldc: n, ldd: n)"},
      {DiagId::StrideType,
       "tensor_matmul(h, h, f, f, 0, 0, `x, n, n, shape: m16n8k16, input_type: f16, output_type: "
       "f32, "
       "lda: n, ldb: n, ldc: n, ldd: n)"},
  };
  for (const Case& c : cases) expectOnly(c.id, c.body);
}

TEST(GpuRefusals, TensorDescriptorsSayFieldValueAndReason) {
  constexpr DiagId kId = DiagId::TensorDescriptor;
  expectOnly(kId,
             "tensor_mma(h, h, f, f, shape: m16n8k16, input_type: f16, output_type: f32, lda: `8)",
             {"'lda'", "8", "16", "shorter"});
  expectOnly(kId,
             "tensor_mma(h, h, f, f, shape: m16n8k16, input_type: f16, output_type: f32, lda: `17)",
             {"'lda'", "17", "16 bytes"});
  expectOnly(kId, "tensor_mma(f, f, f, f, shape: m16n8k16, input_type: `f32, output_type: f32)",
             {"'input_type: f32'", "f32 times f32"});
  expectOnly(
      kId, "tensor_mma(h, h, f, f, shape: m16n8k16, a_type: f16, b_type: `bf16, output_type: f32)",
      {"'b_type: bf16'", "f16 times bf16"});
  expectOnly(kId,
             "tensor_mma(h, h, h, h, shape: m16n8k16, input_type: bf16, accumulator_type: `f16, "
             "result_type: f16)",
             {"'accumulator_type: f16'", "bf16 inputs give f32"});
  expectOnly(kId,
             "tensor_mma(h, h, f, f, shape: m16n8k16, input_type: f16, output_type: f32, rounding: "
             "`up)",
             {"'rounding: up'", "f64"});
  expectOnly(kId,
             "tensor_mma(h, h, f, f, shape: m16n8k16, input_type: f16, output_type: f32, overflow: "
             "`saturate_finite)",
             {"'overflow: saturate_finite'", "integers"});
  expectOnly(kId,
             "tensor_mma(h, h, f, f, shape: m16n8k16, input_type: f16, output_type: f32, math: "
             "`xor_popcount)",
             {"'math: xor_popcount'", "b1"});
  expectOnly(
      kId,
      "tensor_mma(h, h, f, f, shape: m16n8k16, input_type: f16, output_type: f32, a_packing: "
      "`packed)",
      {"'a_packing: packed'", "f16"});
  expectOnly(kId,
             "tensor_mma(h, h, f, f, shape: m16n8k16, input_type: f16, output_type: f32, scope: "
             "`device)",
             {"'scope: device'", "subgroup or"});
  expectOnly(kId,
             "tensor_mma(b, b, f, f, shape: m16n8k32, input_type: e4m3, output_type: f32, "
             "a_scale_mode: block32, a_scale: b, a_scale_type: `e4m3)",
             {"'a_scale_type: e4m3'", "ue8m0"});
  // A default that is wrong is the operation's fault, and names the option.
  expectOnly(kId, "`tensor_mma(b, b, s, s, shape: m16n8k128, input_type: b1, output_type: i32)",
             {"'math'", "xor_popcount"});
  expectOnly(kId, "tensor_epilogue(b, shape: m8n8, element: `e4m3)", {"'element: e4m3'", "bf16"});
  expectOnly(kId, "tensor_epilogue(f, shape: m8n16, element: f32, ldd: `8)", {"'ldd'", "16"});
}

TEST(GpuRefusals, EpilogueContract) {
  const Case cases[] = {
      {DiagId::MissingOption, "`tensor_epilogue(f, shape: m8n8)"},
      {DiagId::MissingOption, "`tensor_epilogue(f, element: f32)"},
      {DiagId::MissingOption, "`tensor_epilogue(f, shape: m8n8, element: f32, bias_mode: row)"},
      {DiagId::OptionMeaningless, "tensor_epilogue(f, shape: m8n8, element: f32, `bias: f)"},
      {DiagId::OptionMeaningless, "tensor_epilogue(f, shape: m8n8, element: f32, `beta: 2.0)"},
      {DiagId::OptionMeaningless,
       "tensor_epilogue(f, shape: m8n8, element: f32, bias_mode: row, bias: f, `ldbias: 8)"},
      {DiagId::OptionMeaningless,
       "tensor_epilogue(f, shape: m8n8, element: f32, bias_mode: row, bias: f, `bias_layout: row)"},
      {DiagId::MissingOption,
       "`tensor_epilogue(f, shape: m8n8, element: f32, activation: clamp, clamp_min: 0.0)"},
      {DiagId::OptionMeaningless,
       "tensor_epilogue(f, shape: m8n8, element: f32, activation: relu, `clamp_max: 1.0)"},
      {DiagId::TensorCarrier,
       "tensor_epilogue(f, shape: m8n8, element: f32, bias_mode: row, bias: `h)"},
      {DiagId::TensorCarrier, "tensor_epilogue(`h, shape: m8n8, element: f32)"},
      {DiagId::CannotConvert, "tensor_epilogue(f, shape: m8n8, element: f32, alpha: `f)"},
      {DiagId::ShapeWord, "tensor_epilogue(f, shape: `m8n8k8, element: f32)"},
  };
  for (const Case& c : cases) expectOnly(c.id, c.body);
}

TEST(GpuRefusals, TransferGeometry) {
  const std::string store = "workgroup var w: float32[64]\n";
  const std::string one = "rank: 1, element: f32, ";
  const std::pair<DiagId, std::string> cases[] = {
      {DiagId::MissingOption, "`tensor_transfer_workgroup(w, f, element: f32)"},
      {DiagId::MissingOption, "`tensor_transfer_workgroup(w, f, rank: 1)"},
      {DiagId::OptionNumber, "tensor_transfer_workgroup(w, f, rank: `6, element: f32)"},
      {DiagId::OptionNumber, "tensor_transfer_workgroup(w, f, rank: `i, element: f32)"},
      {DiagId::MissingOption,
       "`tensor_transfer_workgroup(w, f, " + one + "tile0: 8, coordinate0: 0)"},
      {DiagId::MissingOption,
       "`tensor_transfer_workgroup(w, f, " + one + "extent0: n, coordinate0: 0)"},
      {DiagId::MissingOption, "`tensor_transfer_workgroup(w, f, " + one + "extent0: n, tile0: 8)"},
      {DiagId::MissingOption,
       "`tensor_transfer_workgroup(w, f, rank: 2, element: f32, extent0: n, tile0: 8, coordinate0: "
       "0, extent1: n, tile1: 2, coordinate1: 0)"},
      {DiagId::OptionMeaningless, "tensor_transfer_workgroup(w, f, " + one +
                                      "extent0: n, tile0: 8, coordinate0: 0, `extent1: n)"},
      {DiagId::OptionNumber,
       "tensor_transfer_workgroup(w, f, " + one + "extent0: n, tile0: `n, coordinate0: 0)"},
      {DiagId::OptionNumber,
       "tensor_transfer_workgroup(w, f, " + one + "extent0: `0, tile0: 8, coordinate0: 0)"},
      {DiagId::StrideType,
       "tensor_transfer_workgroup(w, f, " + one + "extent0: `x, tile0: 8, coordinate0: 0)"},
      {DiagId::FloatNeedsCast,
       "tensor_transfer_workgroup(w, f, " + one + "extent0: n, tile0: 8, coordinate0: `x)"},
      {DiagId::ContiguousStride, "tensor_transfer_workgroup(w, f, " + one +
                                     "extent0: n, stride0: `8, tile0: 8, coordinate0: 0)"},
      {DiagId::TensorDescriptor,
       "tensor_transfer_workgroup(w, f, rank: 2, element: f32, extent0: n, "
       "tile0: 8, coordinate0: 0, extent1: n, tile1: 2, coordinate1: 0, "
       "stride1: `33)"},
      {DiagId::TensorDescriptor,
       "`tensor_transfer_workgroup(w, f, " + one + "extent0: n, tile0: 16385, coordinate0: 0)"},
      {DiagId::TensorCarrier,
       "tensor_transfer_workgroup(w, `h, " + one + "extent0: n, tile0: 8, coordinate0: 0)"},
      {DiagId::TensorSpace,
       "tensor_transfer_workgroup(`f, f, " + one + "extent0: n, tile0: 8, coordinate0: 0)"},
      {DiagId::TensorSpace, "tensor_transfer_workgroup(w, `f, " + one +
                                "direction: store, extent0: n, tile0: 8, coordinate0: 0)\n//"},
  };
  for (const auto& [id, body] : cases) {
    if (body.ends_with("//")) continue;  // Both sides are wrong: see the next test.
    expectOnly(id, store + body);
  }
}

TEST(GpuRefusals, AStoreIntoWorkgroupMemoryIsWrongOnBothSides) {
  Compiled c(
      "kernel k(f: float32*) {\n  workgroup var w: float32[8]\n  tensor_transfer_workgroup(w, f, "
      "rank: 1, element: f32, direction: store, extent0: 8, tile0: 8, coordinate0: 0)\n}\n");
  ASSERT_EQ(c.diagnostics.all().size(), 2u) << c.text();
  for (const Diagnostic& d : c.diagnostics.all()) EXPECT_EQ(d.id, DiagId::TensorSpace);
}

TEST(GpuRefusals, OutsideDeviceCode) {
  const char* operations[] = {
      "fence()",
      "atomic_fetch_add(u, 0, 1, order: relaxed)",
      "subgroup_size()",
      "async_copy_commit()",
      "tensor_epilogue(f, shape: m8n8, element: f32)",
  };
  for (const char* op : operations) {
    Compiled c(
        absl::StrFormat("fn g(u: uint32*, f: float32*) { %s }\nfn main() { g(0, 0) }\n"
                        "kernel k() { }\n",
                        op));
    ASSERT_EQ(c.diagnostics.all().size(), 1u) << op << "\n" << c.text();
    EXPECT_EQ(c.diagnostics.all()[0].id, DiagId::GpuOutsideDevice) << op;
  }
}

TEST(GpuRefusals, AllOfACallAtOnce) {
  Compiled c(R"(
kernel k(h: uint16*, f: float32*, x: float32) {
  tensor_mma(f, h, f, f, shape: m16n8k16, input_type: f16, output_type: f32, a_layout: up, lda: x,
             colour: red, metadata: h)
  atomic_fetch_add(f, x, h, order: consume)
}
)");
  std::vector<DiagId> ids;
  for (const Diagnostic& d : c.diagnostics.all()) ids.push_back(d.id);
  EXPECT_EQ(ids,
            (std::vector<DiagId>{DiagId::UnknownOption, DiagId::OptionValue, DiagId::StrideType,
                                 DiagId::OptionMeaningless, DiagId::TensorCarrier,
                                 DiagId::OptionValue, DiagId::IndexType, DiagId::AtomicValue}))
      << c.text();
}

}  // namespace
}  // namespace mtlc::frontend
