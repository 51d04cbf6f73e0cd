#include <cstdio>
#include <fstream>
#include <random>
#include <sstream>
#include <string>

#include "gtest/gtest.h"
#include "mtlc/analysis/device_verifier.h"
#include "mtlc/capi/include/mtlc/mtlc.h"
#include "mtlc/ir/ir.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"

namespace {

MtlcType* scalar(MtlcTypeKind kind) { return mtlc_type_scalar(kind); }
MtlcType* const kI32 = scalar(MTLC_TYPE_INT32);
MtlcType* const kU32 = scalar(MTLC_TYPE_UINT32);
MtlcType* const kI64 = scalar(MTLC_TYPE_INT64);
MtlcType* const kF32 = scalar(MTLC_TYPE_FLOAT32);
MtlcType* const kF64 = scalar(MTLC_TYPE_FLOAT64);
MtlcType* const kBool = scalar(MTLC_TYPE_BOOL);

std::string text(MtlcModule* m) {
  size_t length = 0;
  char* bytes = mtlc_module_to_text(m, &length);
  std::string s(bytes, length);
  mtlc_free(bytes);
  return s;
}

// A kernel `k(p: pointer to float32, n: int32)` under construction.
struct Kernel {
  MtlcBuilder* b = mtlc_builder_create();
  MtlcFn* fn = nullptr;
  MtlcValue p, n;
  explicit Kernel(MtlcType* element = kF32) {
    const char* names[] = {"p", "n"};
    MtlcType* types[] = {mtlc_type_pointer(element), kI32};
    fn = mtlc_builder_kernel(b, "k", names, types, 2);
    p = mtlc_fn_param(fn, 0);
    n = mtlc_fn_param(fn, 1);
  }
  // The text of the finished module, or the error.
  std::string finish() {
    if (!mtlc_builder_check(b)) {
      std::string error = mtlc_builder_error(b);
      EXPECT_NE(error, "");
      EXPECT_EQ(mtlc_builder_finish(b), nullptr);
      return error;
    }
    MtlcModule* m = mtlc_builder_finish(b);
    std::string s = text(m);
    mtlc_module_destroy(m);
    return s;
  }
};

bool contains(const std::string& s, std::string_view part) {
  return s.find(part) != std::string::npos;
}
#define EXPECT_HAS(s, part) EXPECT_TRUE(contains(s, part)) << s

TEST(CApi, TypesAreInternedAndDescribed) {
  EXPECT_EQ(scalar(MTLC_TYPE_INT32), kI32);
  EXPECT_EQ(scalar(MTLC_TYPE_STRUCT), nullptr);
  EXPECT_EQ(scalar(static_cast<MtlcTypeKind>(99)), nullptr);
  EXPECT_EQ(scalar(static_cast<MtlcTypeKind>(-1)), nullptr);
  MtlcType* p = mtlc_type_pointer_in(kF32, MTLC_ADDRESS_SPACE_WORKGROUP);
  EXPECT_EQ(p, mtlc_type_pointer_in(kF32, MTLC_ADDRESS_SPACE_WORKGROUP));
  EXPECT_NE(p, mtlc_type_pointer(kF32));
  EXPECT_EQ(mtlc_type_pointer(nullptr), nullptr);
  EXPECT_EQ(mtlc_type_pointer_in(kF32, static_cast<MtlcAddressSpace>(17)), nullptr);
  EXPECT_EQ(mtlc_type_size(p), 8u);
  EXPECT_EQ(mtlc_type_size(scalar(MTLC_TYPE_BOOL)), 1u);
  EXPECT_EQ(mtlc_type_is_unsigned(kU32), 1);
  EXPECT_EQ(mtlc_type_is_unsigned(kI32), 0);
  EXPECT_EQ(mtlc_type_is_integer(kBool), 0);
  EXPECT_EQ(mtlc_type_is_float(kF64), 1);
  EXPECT_EQ(mtlc_type_is_float(nullptr), 0);
  EXPECT_STREQ(mtlc_type_kind_name(MTLC_TYPE_TAGGED_ENUM), "tagged_enum");
  EXPECT_STREQ(mtlc_arch_name(MTLC_ARCH_PTX), "ptx");
}

TEST(CApi, VariablesBecomeValues) {
  // sum = 0; for (i = 0; i < n; i = i + 1) sum = sum + p[i]; p[0] = sum
  Kernel k;
  MtlcFn* f = k.fn;
  MtlcValue sum = mtlc_local(f, "sum", kF32), i = mtlc_local(f, "i", kI32);
  mtlc_assign(f, sum, mtlc_const_float(f, kF32, 0));
  mtlc_assign(f, i, mtlc_const_int(f, kI32, 0));
  mtlc_label(f, "head");
  mtlc_branch_if_zero(f, mtlc_binary(f, "<", i, k.n, kBool), "done");
  MtlcValue offset = mtlc_binary(f, "*", i, mtlc_const_int(f, kI64, 4), kI64);
  MtlcValue at = mtlc_binary(f, "+", k.p, offset, mtlc_type_pointer(kF32));
  mtlc_assign(f, sum, mtlc_binary(f, "+", sum, mtlc_load(f, at, kF32), kF32));
  mtlc_assign(f, i, mtlc_binary(f, "+", i, mtlc_const_int(f, kI32, 1), kI32));
  mtlc_jump(f, "head");
  mtlc_label(f, "done");
  mtlc_store(f, k.p, sum, kF32);
  const std::string s = k.finish();
  EXPECT_HAS(s, "^head(");
  EXPECT_HAS(s, "sum: f32");
  EXPECT_FALSE(contains(s, "alloc.private")) << s;
  EXPECT_HAS(s, "sext");  // int32 widens by its sign.
}

TEST(CApi, SignednessIsThatOfTheOperands) {
  for (auto [type, div, cmp, shr] :
       {std::tuple{kI32, "sdiv", "cmp.slt", "ashr"}, std::tuple{kU32, "udiv", "cmp.ult", "lshr"}}) {
    Kernel k;
    MtlcFn* f = k.fn;
    MtlcValue a = mtlc_load(f, k.p, type);
    MtlcValue b = mtlc_binary(f, "/", a, mtlc_cast(f, k.n, type), type);
    MtlcValue c = mtlc_binary(f, "<", a, b, kBool);
    MtlcValue d = mtlc_binary(f, ">>", b, k.n, type);
    mtlc_store(f, k.p, mtlc_binary(f, "+", mtlc_cast(f, c, type), d, type), type);
    const std::string s = k.finish();
    EXPECT_HAS(s, div);
    EXPECT_HAS(s, cmp);
    EXPECT_HAS(s, shr);
  }
}

TEST(CApi, GpuOperations) {
  Kernel k(kU32);
  MtlcFn* f = k.fn;
  MtlcValue w = mtlc_address_space_alloc(f, "tile", kF32, 64, MTLC_ADDRESS_SPACE_WORKGROUP);
  mtlc_dynamic_workgroup_view(f, "arena", kF32);
  mtlc_async_copy_workgroup(f, w, k.p, kF32, 16, 16, MTLC_ASYNC_CACHE_GLOBAL);
  mtlc_async_copy_commit(f);
  mtlc_async_copy_wait(f, 0);
  mtlc_workgroup_barrier(f, MTLC_MEMORY_ORDER_DEFAULT,
                         MTLC_MEMORY_REGION_WORKGROUP | MTLC_MEMORY_REGION_GLOBAL);
  mtlc_fence(f, MTLC_MEMORY_ORDER_RELEASE, MTLC_MEMORY_REGION_GLOBAL, MTLC_MEMORY_SCOPE_DEFAULT);
  MtlcValue add[] = {k.p, k.n, mtlc_const_int(f, kU32, 1)};
  MtlcValue old = mtlc_intrinsic_memory(f, MTLC_INTRINSIC_GPU_ATOMIC_ADD_U32, add, 3, kU32,
                                        MTLC_ADDRESS_SPACE_GLOBAL, MTLC_MEMORY_ORDER_RELAXED,
                                        MTLC_MEMORY_SCOPE_WORKGROUP);
  mtlc_atomic_compare_exchange(f, MTLC_INTRINSIC_GPU_ATOMIC_COMPARE_EXCHANGE_U64, k.p, k.n, old,
                               old, kU32, MTLC_ADDRESS_SPACE_DEFAULT, MTLC_MEMORY_ORDER_ACQ_REL,
                               MTLC_MEMORY_ORDER_DEFAULT, MTLC_MEMORY_SCOPE_DEFAULT);
  MtlcValue lanes[] = {old, mtlc_const_int(f, kI32, 0)};
  MtlcValue b = mtlc_intrinsic(f, MTLC_INTRINSIC_GPU_SUBGROUP_BROADCAST_F32, lanes, 2, kF32);
  MtlcValue m = mtlc_intrinsic(f, MTLC_INTRINSIC_GPU_SUBGROUP_REDUCE_MAX_F32, &b, 1, kF32);
  mtlc_store(f, w, m, kF32);
  const std::string s = k.finish();
  EXPECT_HAS(s, "alloc.workgroup f32[64]");
  EXPECT_HAS(s, "alloc.dynamic f32");
  EXPECT_HAS(s, "16 x f32 transaction 16 cache global");
  EXPECT_HAS(s, "barrier {workgroup, global} seq_cst");
  EXPECT_HAS(s, "fence {global} release device");
  EXPECT_HAS(s, "atomic.rmw add i32");
  EXPECT_HAS(s, "relaxed workgroup");
  EXPECT_HAS(s, "atomic.cas i64");
  EXPECT_HAS(s, "acq_rel acquire device");
  EXPECT_HAS(s, "subgroup.broadcast");
  EXPECT_HAS(s, "subgroup.reduce fmax");
}

TEST(CApi, TensorOperations) {
  Kernel k(scalar(MTLC_TYPE_UINT16));
  MtlcFn* f = k.fn;
  MtlcTensorMmaDesc d = mtlc_tensor_mma_f16_f32_m16n16k16_desc();
  mtlc_tensor_mma(f, &d, k.p, k.p, k.p, k.p);
  mtlc_tensor_mma_strided(f, &d, k.p, k.p, k.p, k.p, k.n, MTLC_NO_VALUE, MTLC_NO_VALUE, k.n);
  MtlcTensorMatmulOperands o;
  mtlc_tensor_matmul_operands_init(&o);
  o.matrix.a = o.matrix.b = o.matrix.c = o.matrix.d = k.p;
  o.row_origin = o.column_origin = o.problem_m = o.problem_n = o.problem_k = k.n;
  mtlc_tensor_matmul(f, &d, &o);
  MtlcTensorEpilogueDesc e = {};
  e.m = e.n = 16;
  e.element = MTLC_TENSOR_ELEMENT_FLOAT32;
  e.layout = MTLC_TENSOR_LAYOUT_ROW_MAJOR;
  e.bias_mode = MTLC_TENSOR_BIAS_PER_ROW;
  e.activation = MTLC_TENSOR_ACTIVATION_RELU;
  e.scale_output = 1;
  MtlcTensorEpilogueOperands eo;
  mtlc_tensor_epilogue_operands_init(&eo);
  eo.destination = eo.bias = k.p;
  eo.alpha = mtlc_const_float(f, kF64, 0.5);
  mtlc_tensor_epilogue(f, &e, &eo);
  MtlcTensorTransferDesc t = {};
  t.rank = 2;
  t.element = MTLC_TENSOR_ELEMENT_FLOAT16;
  t.global_extent[0] = t.global_extent[1] = 100;
  t.global_stride_bytes[0] = 2;
  t.global_stride_bytes[1] = 200;
  t.tile_extent[0] = t.tile_extent[1] = 8;
  t.element_stride[0] = t.element_stride[1] = 1;
  MtlcTensorTransferOperands to;
  mtlc_tensor_transfer_operands_init(&to);
  to.destination =
      mtlc_address_space_alloc(f, "w", scalar(MTLC_TYPE_UINT16), 64, MTLC_ADDRESS_SPACE_WORKGROUP);
  to.source = k.p;
  to.coordinates[0] = to.coordinates[1] = k.n;
  mtlc_tensor_transfer_workgroup(f, &t, &to);
  EXPECT_EQ(mtlc_tensor_transfer_desc_is_valid(&t), 1);
  EXPECT_EQ(mtlc_tensor_epilogue_desc_is_valid(&e), 1);
  const std::string s = k.finish();
  EXPECT_HAS(s, "{m16n16k16, a=f16, acc=f32}");
  EXPECT_HAS(s, "lda=%n, ldd=%n");
  EXPECT_HAS(s, "tensor.matmul");
  EXPECT_HAS(s, "bias=row, activation=relu");
  EXPECT_HAS(s, "tile=[8, 8], extent=[100, 100], stride=[2, 200]");
}

TEST(CApi, DescriptorProblemsAreNamed) {
  MtlcTensorMmaDesc d = mtlc_tensor_mma_f16_f32_m16n16k16_desc();
  char buffer[256];
  EXPECT_EQ(mtlc_tensor_mma_desc_problems(&d, buffer, sizeof buffer), 0u);
  d.b_element = MTLC_TENSOR_ELEMENT_BFLOAT16;
  EXPECT_EQ(mtlc_tensor_mma_desc_is_valid(&d), 0);
  size_t length = mtlc_tensor_mma_desc_problems(&d, buffer, sizeof buffer);
  EXPECT_GT(length, 0u);
  EXPECT_HAS(std::string(buffer), "f16 times bf16");
  // A small buffer gets a part, and the whole length.
  char small[8];
  EXPECT_EQ(mtlc_tensor_mma_desc_problems(&d, small, sizeof small), length);
  EXPECT_EQ(std::string(small).size(), sizeof small - 1);
  EXPECT_EQ(mtlc_tensor_mma_desc_problems(&d, nullptr, 0), length);
  d.a_layout = static_cast<MtlcTensorLayout>(9);
  EXPECT_EQ(mtlc_tensor_mma_desc_is_valid(&d), 0);
  EXPECT_EQ(mtlc_tensor_mma_desc_is_valid(nullptr), 0);
  EXPECT_EQ(mtlc_tensor_epilogue_desc_is_valid(nullptr), 0);
  EXPECT_EQ(mtlc_tensor_transfer_desc_is_valid(nullptr), 0);
}

TEST(CApi, ErrorsLatchAndHaveAPlace) {
  Kernel k;
  mtlc_fn_set_location(k.fn, "input.lang", 12, 5);
  EXPECT_EQ(mtlc_binary(k.fn, "**", k.n, k.n, kI32), MTLC_NO_VALUE);
  mtlc_fn_set_location(k.fn, "input.lang", 13, 1);
  EXPECT_EQ(mtlc_const_int(k.fn, kI32, 1), MTLC_NO_VALUE);
  mtlc_jump(k.fn, "nowhere");
  const std::string s = k.finish();
  // DiagId::CapiMisuse
  EXPECT_HAS(s, "input.lang:12:5: error: mtlc_binary: '**' is no operator");
  EXPECT_FALSE(contains(s, "nowhere")) << s;
}

TEST(CApi, MisuseIsAnError) {
  auto error = [](auto build) {
    Kernel k;
    build(k);
    return k.finish();
  };
  EXPECT_HAS(error([](Kernel& k) { mtlc_jump(k.fn, "nowhere"); }),
             "label 'nowhere', which is nowhere");
  EXPECT_HAS(error([](Kernel& k) {
               mtlc_label(k.fn, "a");
               mtlc_label(k.fn, "a");
             }),
             "defined twice");
  EXPECT_HAS(error([](Kernel& k) { mtlc_fn_param(k.fn, 2); }), "no number 2");
  EXPECT_HAS(error([](Kernel& k) { mtlc_assign(k.fn, 77, k.n); }), "77 is no value");
  EXPECT_HAS(error([](Kernel& k) { mtlc_assign(k.fn, mtlc_const_int(k.fn, kI32, 1), k.n); }),
             "constant cannot be assigned");
  EXPECT_HAS(error([](Kernel& k) { mtlc_call(k.fn, "missing", nullptr, 0, nullptr); }),
             "no function 'missing'");
  EXPECT_HAS(error([](Kernel& k) { mtlc_call(k.fn, "k", nullptr, 3, nullptr); }), "NULL");
  EXPECT_HAS(error([](Kernel& k) { mtlc_return(k.fn, k.n); }), "returns nothing");
  EXPECT_HAS(error([](Kernel& k) {
               mtlc_intrinsic(k.fn, static_cast<MtlcIntrinsic>(1000), nullptr, 0, kI32);
             }),
             "1000 is no intrinsic");
  EXPECT_HAS(error([](Kernel& k) {
               mtlc_address_space_alloc(k.fn, "a", kF32, 0, MTLC_ADDRESS_SPACE_PRIVATE);
             }),
             "array of 0 elements");
  EXPECT_HAS(error([](Kernel& k) { mtlc_local(k.fn, "x", scalar(MTLC_TYPE_VOID)); }),
             "variable of type");
  EXPECT_HAS(error([](Kernel& k) {
               MtlcValue x = mtlc_local(k.fn, "x", mtlc_type_pointer(kF32));
               mtlc_assign(k.fn, x, k.p);
               mtlc_assign(
                   k.fn, x,
                   mtlc_address_space_alloc(k.fn, "w", kF32, 4, MTLC_ADDRESS_SPACE_WORKGROUP));
             }),
             "GENERIC space");
  EXPECT_HAS(
      error([](Kernel& k) { mtlc_workgroup_barrier(k.fn, static_cast<MtlcMemoryOrder>(42), 0); }),
      "no value of its enumeration");
  EXPECT_HAS(error([](Kernel& k) { mtlc_tensor_mma(k.fn, nullptr, 0, 0, 0, 0); }), "NULL");
  // What comes with later versions says so. DiagId::CapiNotInBuild
  EXPECT_HAS(error([](Kernel& k) { mtlc_builder_global(k.b, "g", kI32, 1, 0); }),
             "'g' is not in this build");
  EXPECT_HAS(error([](Kernel& k) { mtlc_global_ref(k.fn, "g"); }), "'g' is not in this build");
}

TEST(CApi, ProtobufForm) {
  Kernel k;
  mtlc_store(k.fn, k.p, mtlc_cast(k.fn, k.n, kF32), kF32);
  MtlcModule* m = mtlc_builder_finish(k.b);
  ASSERT_NE(m, nullptr);
  MtlcContext* c = mtlc_context_create();
  size_t length = 0;
  void* bytes = mtlc_module_to_protobuf(c, m, &length);
  ASSERT_NE(bytes, nullptr);
  MtlcModule* read = mtlc_module_from_protobuf(c, "k.mtirpb", bytes, length);
  ASSERT_NE(read, nullptr) << mtlc_context_error(c);
  EXPECT_EQ(text(read), text(m));
  mtlc_module_destroy(read);
  EXPECT_EQ(mtlc_module_from_protobuf(c, "k.mtirpb", bytes, length - 1), nullptr);
  EXPECT_HAS(std::string(mtlc_context_error(c)), "k.mtirpb");
  EXPECT_HAS(std::string(mtlc_context_error(c)), "damaged");
  EXPECT_EQ(mtlc_module_from_protobuf(c, nullptr, "module", 6), nullptr);
  EXPECT_HAS(std::string(mtlc_context_error(c)), "no IR module in protobuf form");
  EXPECT_EQ(mtlc_module_from_protobuf(c, "k", nullptr, 6), nullptr);
  EXPECT_HAS(std::string(mtlc_context_error(c)), "NULL");
  EXPECT_EQ(mtlc_module_to_protobuf(c, nullptr, &length), nullptr);
  EXPECT_HAS(std::string(mtlc_context_error(c)), "NULL");
  mtlc_free(bytes);
  mtlc_module_destroy(m);
  mtlc_context_destroy(c);
}

TEST(CApi, NullIsNoCrash) {
  mtlc_builder_destroy(nullptr);
  mtlc_context_destroy(nullptr);
  mtlc_module_destroy(nullptr);
  mtlc_free(nullptr);
  EXPECT_EQ(mtlc_builder_finish(nullptr), nullptr);
  EXPECT_STREQ(mtlc_builder_error(nullptr), "");
  EXPECT_STREQ(mtlc_context_error(nullptr), "");
  EXPECT_EQ(mtlc_module_to_text(nullptr, nullptr), nullptr);
  EXPECT_EQ(mtlc_module_function_count(nullptr), 0u);
  EXPECT_EQ(mtlc_optimize(nullptr, nullptr), 0);
  EXPECT_EQ(mtlc_emit(nullptr, nullptr, MTLC_ARCH_PTX, "x"), 0);
  EXPECT_EQ(mtlc_builder_function(nullptr, "f", nullptr, nullptr, nullptr, 0, 0), nullptr);
  EXPECT_EQ(mtlc_fn_param(nullptr, 0), MTLC_NO_VALUE);
  mtlc_return(nullptr, 0);
  mtlc_label(nullptr, "x");
}

TEST(CApi, CallsMayComeBeforeTheFunction) {
  Kernel k;
  MtlcValue r = mtlc_call(k.fn, "twice", &k.n, 1, kI32);
  mtlc_store(k.fn, k.p, mtlc_cast(k.fn, r, kF32), kF32);
  const char* names[] = {"x"};
  MtlcType* types[] = {kI32};
  MtlcFn* f = mtlc_builder_function(k.b, "twice", kI32, names, types, 1, 0);
  MtlcValue x = mtlc_fn_param(f, 0);
  mtlc_assign(f, x, mtlc_binary(f, "+", x, x, kI32));  // Parameters are variables.
  mtlc_return(f, x);
  const std::string s = k.finish();
  EXPECT_HAS(s, "call @twice(%n) : i32");
  EXPECT_HAS(s, "func @twice(%x: i32) -> i32");
}

TEST(CApi, EmitsAndReportsLikeTheTools) {
  Kernel k;
  mtlc_store(k.fn, k.p, mtlc_cast(k.fn, k.n, kF32), kF32);
  MtlcModule* m = mtlc_builder_finish(k.b);
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(mtlc_module_function_count(m), 1u);
  MtlcContext* c = mtlc_context_create();
  EXPECT_EQ(mtlc_context_set_ptx_target(c, "sm_90a", 8, 0), 1) << mtlc_context_error(c);
  EXPECT_EQ(mtlc_context_set_ptx_target(c, "sm_999", 0, 0), 0);
  EXPECT_HAS(std::string(mtlc_context_error(c)), "sm_999");
  EXPECT_STREQ(mtlc_context_ptx_target(c), "sm_90a");  // Unchanged.
  EXPECT_EQ(mtlc_optimize(c, m), 1);
  char* ptx = nullptr;
  size_t length = 0;
  ASSERT_EQ(mtlc_emit_to_memory(c, m, MTLC_ARCH_PTX, &ptx, &length), 1) << mtlc_context_error(c);
  EXPECT_HAS(std::string(ptx, length), ".target sm_90a");
  const std::string path = testing::TempDir() + "/k.ptx";
  ASSERT_EQ(mtlc_emit(c, m, MTLC_ARCH_PTX, path.c_str()), 1) << mtlc_context_error(c);
  std::ifstream file(path);
  std::stringstream whole;
  whole << file.rdbuf();
  EXPECT_EQ(whole.str(), std::string(ptx, length));
  mtlc_free(ptx);
  // DiagId::CapiWriteFailed
  EXPECT_EQ(mtlc_emit(c, m, MTLC_ARCH_PTX, "/nowhere/at/all/k.ptx"), 0);
  EXPECT_HAS(std::string(mtlc_context_error(c)), "cannot write /nowhere/at/all/k.ptx");
  for (MtlcArch arch : {MTLC_ARCH_X86_64, MTLC_ARCH_ARM64}) {
    EXPECT_EQ(mtlc_emit(c, m, arch, path.c_str()), 0);
    EXPECT_HAS(std::string(mtlc_context_error(c)), "not in this build");
  }
  MtlcMlOptStats stats = {1, 2, 3, 4, 5};
  EXPECT_EQ(mtlc_apply_ml_opt(c, m, &stats), 0);
  EXPECT_EQ(stats.proposals + stats.validated + stats.proven + stats.rejected + stats.skipped, 0);
  EXPECT_EQ(mtlc_emit_object(c, m, "x.o"), 0);
  EXPECT_EQ(mtlc_build_executable(c, m, "x"), 0);

  // Text comes back as it went; nonsense is a located error.
  const std::string s = text(m);
  MtlcModule* again = mtlc_module_from_text(c, "again.mtir", s.data(), s.size());
  ASSERT_NE(again, nullptr) << mtlc_context_error(c);
  EXPECT_EQ(text(again), s);
  EXPECT_EQ(mtlc_module_from_text(c, "bad.mtir", "module \"x\"\nkernel", 17), nullptr);
  EXPECT_HAS(std::string(mtlc_context_error(c)), "bad.mtir:2:");
  mtlc_module_destroy(again);
  mtlc_module_destroy(m);
  mtlc_context_destroy(c);
}

TEST(CApi, EmitsSpirv) {
  Kernel k;
  mtlc_store(k.fn, k.p, mtlc_cast(k.fn, k.n, kF32), kF32);
  MtlcModule* m = mtlc_builder_finish(k.b);
  ASSERT_NE(m, nullptr);
  MtlcContext* c = mtlc_context_create();
  EXPECT_STREQ(mtlc_context_spirv_target(c), "spirv-opencl2.0");
  auto words = [&] {
    char* bytes = nullptr;
    size_t length = 0;
    EXPECT_EQ(mtlc_emit_to_memory(c, m, MTLC_ARCH_SPIRV, &bytes, &length), 1)
        << mtlc_context_error(c);
    std::vector<uint32_t> copy(length / 4);
    EXPECT_EQ(length % 4, 0u);
    std::memcpy(copy.data(), bytes, length);
    mtlc_free(bytes);
    return copy;
  };
  // The header of SPIR-V: magic number, version, generator, bound, 0.
  const std::vector<uint32_t> first = words();
  ASSERT_GT(first.size(), 20u);
  EXPECT_EQ(first[0], 0x07230203u);
  EXPECT_EQ(first[1], 0x00010000u);
  EXPECT_EQ(first[4], 0u);
  EXPECT_EQ(words(), first);
  const std::string path = testing::TempDir() + "/k.spv";
  ASSERT_EQ(mtlc_emit(c, m, MTLC_ARCH_SPIRV, path.c_str()), 1) << mtlc_context_error(c);
  std::ifstream file(path, std::ios::binary);
  std::stringstream whole;
  whole << file.rdbuf();
  EXPECT_EQ(whole.str(),
            std::string(reinterpret_cast<const char*>(first.data()), first.size() * 4));

  EXPECT_EQ(mtlc_context_set_spirv_target(c, "spirv1.3-opencl"), 1) << mtlc_context_error(c);
  EXPECT_EQ(words()[1], 0x00010300u);
  EXPECT_EQ(mtlc_context_set_spirv_target(c, "spirv9"), 0);
  EXPECT_HAS(std::string(mtlc_context_error(c)), "spirv-opencl2.0");
  EXPECT_EQ(mtlc_context_set_spirv_target(c, "spirv1.6-cooperative"), 0);
  EXPECT_HAS(std::string(mtlc_context_error(c)), "SPV_KHR_cooperative_matrix");
  EXPECT_EQ(mtlc_context_set_spirv_target(c, nullptr), 0);
  EXPECT_EQ(mtlc_context_set_spirv_target(nullptr, "spirv1.3-opencl"), 0);
  EXPECT_STREQ(mtlc_context_spirv_target(c), "spirv1.3-opencl");  // Unchanged.
  EXPECT_EQ(mtlc_context_tensor_replay(c), 0);
  mtlc_context_set_tensor_replay(c, 1);
  EXPECT_EQ(mtlc_context_tensor_replay(c), 1);
  mtlc_module_destroy(m);
  mtlc_context_destroy(c);
}

TEST(CApi, VerifierErrorsReachTheCaller) {
  MtlcContext* c = mtlc_context_create();
  Kernel k;
  // A barrier that only some work-items reach.
  MtlcValue t = mtlc_intrinsic(k.fn, MTLC_INTRINSIC_GPU_LOCAL_ID_X, nullptr, 0, kI32);
  mtlc_fn_set_location(k.fn, "lang", 7, 3);
  mtlc_branch_if_zero(k.fn, t, "skip");
  mtlc_workgroup_barrier(k.fn, MTLC_MEMORY_ORDER_DEFAULT, 0);
  mtlc_label(k.fn, "skip");
  MtlcModule* m = mtlc_builder_finish(k.b);
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(mtlc_verify(c, m), 0);
  EXPECT_HAS(std::string(mtlc_context_error(c)), "lang:7:3: error: barrier");
  mtlc_module_destroy(m);
  mtlc_context_destroy(c);
}

// Any sequence of calls ends in a module that verifies, or in an error with a text.
TEST(CApi, RandomCalls) {
  int modules = 0, errors = 0;
  for (uint32_t seed = 0; seed < 20000; ++seed) {
    std::mt19937 random(seed);
    auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    // Wild seeds use numbers that are no values or enumerators.
    const bool wild = seed % 2 == 1;
    Kernel k(seed % 3 == 0 ? kU32 : kF32);
    MtlcFn* f = k.fn;
    std::vector<MtlcValue> values = {k.p, k.n};
    auto value = [&] {
      if (wild && pick(40) == 0) return static_cast<MtlcValue>(pick(200) - 20);
      return values[static_cast<size_t>(pick(static_cast<int>(values.size())))];
    };
    auto type = [&]() -> MtlcType* {
      if (wild && pick(30) == 0) return nullptr;
      MtlcType* t = scalar(static_cast<MtlcTypeKind>(pick(11)));
      return pick(5) == 0 ? mtlc_type_pointer_in(t, static_cast<MtlcAddressSpace>(pick(3))) : t;
    };
    auto keep = [&](MtlcValue v) {
      if (v != MTLC_NO_VALUE) values.push_back(v);
    };
    const char* const ops[] = {"+",  "-",  "*", "/",  "%", "&",  "|",  "^",  "<<", ">>",
                               "==", "!=", "<", "<=", ">", ">=", "&&", "||", "?"};
    const int steps = 1 + pick(seed % 16 == 0 ? 60 : 12);
    for (int i = 0; i < steps; ++i) {
      MtlcValue args[4] = {value(), value(), value(), value()};
      switch (pick(14)) {
        case 0:
          keep(mtlc_const_int(f, type(), static_cast<long long>(random())));
          break;
        case 1:
          keep(mtlc_const_float(f, pick(2) ? kF32 : kF64, pick(1000) / 7.0));
          break;
        case 2: {
          MtlcValue v = mtlc_local(f, "v", type());
          mtlc_assign(f, v, value());
          keep(v);
          break;
        }
        case 3:
        case 4:
          keep(mtlc_binary(f, ops[pick(wild ? 19 : 18)], args[0], args[1], type()));
          break;
        case 5:
          keep(mtlc_unary(f, pick(2) ? "-" : pick(2) ? "!" : "~", args[0], type()));
          break;
        case 6:
          keep(mtlc_cast(f, args[0], type()));
          break;
        case 7:
          mtlc_assign(f, args[0], args[1]);
          break;
        case 8:
          keep(mtlc_load(f, args[0], type()));
          break;
        case 9:
          mtlc_store(f, args[0], args[1], type());
          break;
        case 10: {
          const int which = wild ? pick(80) - 5 : 1 + pick(41);
          const size_t count = static_cast<size_t>(pick(4));
          keep(mtlc_intrinsic(f, static_cast<MtlcIntrinsic>(which), args, count, type()));
          break;
        }
        case 11: {
          const std::string label = "l" + std::to_string(i);
          mtlc_branch_if_zero(f, args[0], label.c_str());
          keep(mtlc_binary(f, "+", k.n, k.n, kI32));
          mtlc_label(f, label.c_str());
          break;
        }
        case 12:
          keep(mtlc_intrinsic_memory(
              f, static_cast<MtlcIntrinsic>(42 + pick(22)), args, static_cast<size_t>(2 + pick(2)),
              type(), static_cast<MtlcAddressSpace>(pick(6)), static_cast<MtlcMemoryOrder>(pick(6)),
              static_cast<MtlcMemoryScope>(pick(6))));
          break;
        default: {
          MtlcTensorMmaDesc d = mtlc_tensor_mma_f16_f32_m16n16k16_desc();
          if (wild) d.a_element = static_cast<MtlcTensorElement>(pick(25) - 3);
          mtlc_tensor_mma(f, &d, args[0], args[1], args[2], args[3]);
        }
      }
    }
    if (!mtlc_builder_check(k.b)) {
      EXPECT_STRNE(mtlc_builder_error(k.b), "") << "seed " << seed;
      EXPECT_EQ(mtlc_builder_finish(k.b), nullptr);
      ++errors;
      continue;
    }
    MtlcModule* m = mtlc_builder_finish(k.b);
    ASSERT_NE(m, nullptr) << "seed " << seed;
    auto* module = static_cast<mtlc::ir::Module*>(mtlc_module_ir(m));
    mtlc::DiagnosticEngine diags;
    EXPECT_TRUE(mtlc::ir::verify(*module, diags)) << "seed " << seed << "\n"
                                                  << renderHuman(diags, module->sources());
    ++modules;
    mtlc_module_destroy(m);
  }
  EXPECT_GT(modules, 1000);
  EXPECT_GT(errors, 1000);
}

}  // namespace
