/* Builds a module, call by call. A value is a number; constants aside, each can be assigned to, so
   that there are no phis: mutable values become variables in private memory, which the optimiser
   promotes.

   Errors latch: after the first one the calls of the builder do nothing and return MTLC_NO_VALUE,
   and mtlc_builder_finish() returns NULL. mtlc_builder_error() says what was wrong, and where. */

#ifndef MTLC_CAPI_INCLUDE_MTLC_BUILD_H_
#define MTLC_CAPI_INCLUDE_MTLC_BUILD_H_

#include <stddef.h>
#include <stdint.h>

#include "mtlc/intrinsic.h"
#include "mtlc/memory.h"
#include "mtlc/module.h"
#include "mtlc/tensor.h"
#include "mtlc/type.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct MtlcBuilder MtlcBuilder;
typedef struct MtlcFn MtlcFn;
typedef int MtlcValue;
#define MTLC_NO_VALUE (-1)

typedef struct MtlcDim3 {
  MtlcValue x;
  MtlcValue y;
  MtlcValue z;
} MtlcDim3;

/* Operands that an operation does not have are MTLC_NO_VALUE; mtlc_tensor_mma_operands_init() and
   its like set all of them so. */
typedef struct MtlcTensorMmaOperands {
  MtlcValue a;
  MtlcValue b;
  MtlcValue c;
  MtlcValue d;
  MtlcValue metadata;
  MtlcValue a_scale;
  MtlcValue b_scale;
  unsigned runtime_stride_mask;
  MtlcValue a_leading_dimension;
  MtlcValue b_leading_dimension;
  MtlcValue c_leading_dimension;
  MtlcValue d_leading_dimension;
} MtlcTensorMmaOperands;

typedef struct MtlcTensorMatmulOperands {
  MtlcTensorMmaOperands matrix;
  MtlcValue row_origin;
  MtlcValue column_origin;
  MtlcValue problem_m;
  MtlcValue problem_n;
  MtlcValue problem_k;
} MtlcTensorMatmulOperands;

typedef struct MtlcTensorEpilogueOperands {
  MtlcValue destination;
  MtlcValue bias;
  MtlcValue alpha;
  MtlcValue beta;
  MtlcValue clamp_min;
  MtlcValue clamp_max;
  MtlcValue leading_dimension;
  MtlcValue bias_leading_dimension;
} MtlcTensorEpilogueOperands;

typedef struct MtlcTensorTransferOperands {
  MtlcValue destination;
  MtlcValue source;
  MtlcValue prepared_view;
  MtlcValue coordinates[MTLC_TENSOR_MAX_RANK];
} MtlcTensorTransferOperands;

void mtlc_tensor_mma_operands_init(MtlcTensorMmaOperands *operands);
void mtlc_tensor_matmul_operands_init(MtlcTensorMatmulOperands *operands);
void mtlc_tensor_epilogue_operands_init(MtlcTensorEpilogueOperands *operands);
void mtlc_tensor_transfer_operands_init(MtlcTensorTransferOperands *operands);

MtlcBuilder *mtlc_builder_create(void);
void mtlc_builder_destroy(MtlcBuilder *builder);
/* Ends and checks the module, and destroys the builder. NULL after an error; to read it, call
   mtlc_builder_check() first. */
MtlcModule *mtlc_builder_finish(MtlcBuilder *builder);
/* Ends and checks the module without destroying the builder: 1, or 0 with the reason in
   mtlc_builder_error(). After it, only finish, error and destroy may be called. */
int mtlc_builder_check(MtlcBuilder *builder);
/* "" without an error; else lines "FILE:LINE:COL: error: …". Valid until the next call. */
const char *mtlc_builder_error(const MtlcBuilder *builder);

/* A function; with `is_extern` a declaration, whose body is elsewhere. Calls may come before it. */
MtlcFn *mtlc_builder_function(MtlcBuilder *builder, const char *name, MtlcType *result,
                              const char *const *names, MtlcType *const *types, size_t count,
                              int is_extern);
MtlcFn *mtlc_builder_kernel(MtlcBuilder *builder, const char *name, const char *const *names,
                            MtlcType *const *types, size_t count);
/* Not in this build: an error of the builder. */
void mtlc_builder_global(MtlcBuilder *builder, const char *name, MtlcType *type, long long initial,
                         int is_extern);

/* The source position of what is built next; line 0 is no position. */
void mtlc_fn_set_location(MtlcFn *fn, const char *file, unsigned line, unsigned column);

/* Values. */
MtlcValue mtlc_fn_param(MtlcFn *fn, size_t index);
MtlcValue mtlc_const_int(MtlcFn *fn, MtlcType *type, long long value);
MtlcValue mtlc_const_float(MtlcFn *fn, MtlcType *type, double value);
/* A variable; it holds nothing until it is assigned. */
MtlcValue mtlc_local(MtlcFn *fn, const char *name, MtlcType *type);
/* An array of `count` elements in WORKGROUP (kernels only) or PRIVATE memory; the value is its
 * address. */
MtlcValue mtlc_address_space_alloc(MtlcFn *fn, const char *name, MtlcType *element, size_t count,
                                   MtlcAddressSpace space);
/* The workgroup memory whose size the launch gives, as elements. All views begin at the same place.
 */
MtlcValue mtlc_dynamic_workgroup_view(MtlcFn *fn, const char *name, MtlcType *element);
/* Not in this build. */
MtlcValue mtlc_global_ref(MtlcFn *fn, const char *name);
/* For host code. */
MtlcValue mtlc_function_address(MtlcFn *fn, const char *name);

/* Instructions. */
void mtlc_assign(MtlcFn *fn, MtlcValue target, MtlcValue value);
/* `op`: + - * / % & | ^ << >> == != < <= > >= && ||. Both sides are evaluated. Signedness is that
   of the operands: unsigned if one of the wider ones is; of a shift, that of the left one. The
   result is converted to `type`. A pointer plus or minus an integer counts bytes. */
MtlcValue mtlc_binary(MtlcFn *fn, const char *op, MtlcValue left, MtlcValue right, MtlcType *type);
/* `op`: - + ! ~ */
MtlcValue mtlc_unary(MtlcFn *fn, const char *op, MtlcValue value, MtlcType *type);
MtlcValue mtlc_cast(MtlcFn *fn, MtlcValue value, MtlcType *type);
/* Of a variable; `type` is a pointer type. */
MtlcValue mtlc_address_of(MtlcFn *fn, MtlcValue variable, MtlcType *type);
/* `address` in bytes, `type` that of the element. */
MtlcValue mtlc_load(MtlcFn *fn, MtlcValue address, MtlcType *type);
void mtlc_store(MtlcFn *fn, MtlcValue address, MtlcValue value, MtlcType *type);
/* MTLC_NO_VALUE when `type` is NULL or void, which is no error. */
MtlcValue mtlc_call(MtlcFn *fn, const char *callee, const MtlcValue *arguments, size_t count,
                    MtlcType *type);
MtlcValue mtlc_call_indirect(MtlcFn *fn, MtlcValue callee, const MtlcValue *arguments, size_t count,
                             MtlcType *type);
MtlcValue mtlc_intrinsic(MtlcFn *fn, MtlcIntrinsic intrinsic, const MtlcValue *arguments,
                         size_t count, MtlcType *type);
/* Atomics: pointer, element index and, but for a load, the value. */
MtlcValue mtlc_intrinsic_memory(MtlcFn *fn, MtlcIntrinsic intrinsic, const MtlcValue *arguments,
                                size_t count, MtlcType *type, MtlcAddressSpace space,
                                MtlcMemoryOrder order, MtlcMemoryScope scope);
/* Pointer, element index, expected, desired; the old value. */
MtlcValue mtlc_atomic_compare_exchange(MtlcFn *fn, MtlcIntrinsic intrinsic, MtlcValue pointer,
                                       MtlcValue index, MtlcValue expected, MtlcValue desired,
                                       MtlcType *type, MtlcAddressSpace space,
                                       MtlcMemoryOrder success, MtlcMemoryOrder failure,
                                       MtlcMemoryScope scope);
/* `regions`: MtlcMemoryRegion bits; none is workgroup memory. */
void mtlc_workgroup_barrier(MtlcFn *fn, MtlcMemoryOrder order, unsigned regions);
void mtlc_fence(MtlcFn *fn, MtlcMemoryOrder order, unsigned regions, MtlcMemoryScope scope);

void mtlc_async_copy_workgroup(MtlcFn *fn, MtlcValue destination, MtlcValue source,
                               MtlcType *element, uint32_t count, uint32_t transaction,
                               MtlcAsyncCache cache);
void mtlc_async_copy_commit(MtlcFn *fn);
void mtlc_async_copy_wait(MtlcFn *fn, uint32_t pending);

void mtlc_tensor_transfer_workgroup(MtlcFn *fn, const MtlcTensorTransferDesc *desc,
                                    const MtlcTensorTransferOperands *operands);
void mtlc_tensor_mma(MtlcFn *fn, const MtlcTensorMmaDesc *desc, MtlcValue a, MtlcValue b,
                     MtlcValue c, MtlcValue d);
void mtlc_tensor_mma_ex(MtlcFn *fn, const MtlcTensorMmaDesc *desc,
                        const MtlcTensorMmaOperands *operands);
/* `count` operations with one descriptor, one after the other. */
void mtlc_tensor_mma_chain(MtlcFn *fn, const MtlcTensorMmaDesc *desc,
                           const MtlcTensorMmaOperands *tiles, size_t count);
/* Leading dimensions that are MTLC_NO_VALUE are the descriptor's. */
void mtlc_tensor_mma_strided(MtlcFn *fn, const MtlcTensorMmaDesc *desc, MtlcValue a, MtlcValue b,
                             MtlcValue c, MtlcValue d, MtlcValue a_leading_dimension,
                             MtlcValue b_leading_dimension, MtlcValue c_leading_dimension,
                             MtlcValue d_leading_dimension);
void mtlc_tensor_matmul(MtlcFn *fn, const MtlcTensorMmaDesc *desc,
                        const MtlcTensorMatmulOperands *operands);
void mtlc_tensor_epilogue(MtlcFn *fn, const MtlcTensorEpilogueDesc *desc,
                          const MtlcTensorEpilogueOperands *operands);

/* For host code: launches the kernel behind a handle. `shared` and `stream` may be MTLC_NO_VALUE.
 */
void mtlc_gpu_launch(MtlcFn *fn, MtlcValue kernel, MtlcDim3 grid, MtlcDim3 block, MtlcValue shared,
                     MtlcValue stream, const MtlcValue *arguments, MtlcType *const *types,
                     size_t count);

/* Control. A label begins a block; what comes before it goes on into it. */
void mtlc_label(MtlcFn *fn, const char *name);
void mtlc_jump(MtlcFn *fn, const char *label);
void mtlc_branch_if_zero(MtlcFn *fn, MtlcValue value, const char *label);
/* MTLC_NO_VALUE for a function without a result. */
void mtlc_return(MtlcFn *fn, MtlcValue value);

#ifdef __cplusplus
}
#endif

#endif /* MTLC_CAPI_INCLUDE_MTLC_BUILD_H_ */
