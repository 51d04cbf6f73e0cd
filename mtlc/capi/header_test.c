/* The headers are strict C99, each on its own and all together, and can be included twice. */
#include "mtlc/build.h"
#include "mtlc/context.h"
#include "mtlc/intrinsic.h"
#include "mtlc/memory.h"
#include "mtlc/module.h"
#include "mtlc/mtlc.h"
#include "mtlc/pipeline.h"
#include "mtlc/target.h"
#include "mtlc/tensor.h"
#include "mtlc/type.h"

/* Values that programs may have compiled in. */
#define CHECK(name, condition) typedef char name[(condition) ? 1 : -1]
CHECK(no_value, MTLC_NO_VALUE == -1);
CHECK(last_intrinsic, MTLC_INTRINSIC_GPU_ATOMIC_STORE_U64 == 63);
CHECK(barrier_intrinsic, MTLC_INTRINSIC_GPU_WORKGROUP_BARRIER == 32);
CHECK(space, MTLC_ADDRESS_SPACE_PRIVATE == 5);
CHECK(order, MTLC_MEMORY_ORDER_SEQ_CST == 5);
CHECK(scope, MTLC_MEMORY_SCOPE_SYSTEM == 5);
CHECK(element, MTLC_TENSOR_ELEMENT_INT32 == 18);
CHECK(strides, MTLC_TENSOR_RUNTIME_STRIDE_ALL == 15);
CHECK(arch, MTLC_ARCH_SPIRV == 3);
CHECK(kinds, MTLC_TYPE_VOID == 18);
CHECK(rank, MTLC_TENSOR_MAX_RANK == 5u);

int main(void) {
  MtlcTensorMmaDesc desc = mtlc_tensor_mma_f16_f32_m16n16k16_desc();
  return mtlc_tensor_mma_desc_is_valid(&desc) == 1 && mtlc_version()[0] != '\0' ? 0 : 1;
}
