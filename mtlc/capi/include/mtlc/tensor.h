/* Descriptors of tensor operations. What the fields mean, and which combinations are legal:
   docs/ir.md section 11; docs/c-api.md has the table. */

#ifndef MTLC_CAPI_INCLUDE_MTLC_TENSOR_H_
#define MTLC_CAPI_INCLUDE_MTLC_TENSOR_H_

#include <stddef.h>
#include <stdint.h>

#include "mtlc/base.h"
#include "mtlc/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MTLC_TENSOR_MAX_RANK 5u

typedef enum MTLC_AS_INT {
  MTLC_TENSOR_ELEMENT_INVALID = 0,
  MTLC_TENSOR_ELEMENT_FLOAT16,
  MTLC_TENSOR_ELEMENT_BFLOAT16,
  MTLC_TENSOR_ELEMENT_TFLOAT32,
  MTLC_TENSOR_ELEMENT_FLOAT32,
  MTLC_TENSOR_ELEMENT_FLOAT64,
  MTLC_TENSOR_ELEMENT_FLOAT8_E4M3,
  MTLC_TENSOR_ELEMENT_FLOAT8_E5M2,
  MTLC_TENSOR_ELEMENT_FLOAT6_E2M3,
  MTLC_TENSOR_ELEMENT_FLOAT6_E3M2,
  MTLC_TENSOR_ELEMENT_FLOAT4_E2M1,
  MTLC_TENSOR_ELEMENT_SCALE_UE8M0,
  MTLC_TENSOR_ELEMENT_SCALE_UE4M3,
  MTLC_TENSOR_ELEMENT_INT8,
  MTLC_TENSOR_ELEMENT_UINT8,
  MTLC_TENSOR_ELEMENT_INT4,
  MTLC_TENSOR_ELEMENT_UINT4,
  MTLC_TENSOR_ELEMENT_BIT1,
  MTLC_TENSOR_ELEMENT_INT32
} MtlcTensorElement;

typedef enum MTLC_AS_INT {
  MTLC_TENSOR_LAYOUT_INVALID = 0,
  MTLC_TENSOR_LAYOUT_ROW_MAJOR,
  MTLC_TENSOR_LAYOUT_COLUMN_MAJOR
} MtlcTensorLayout;

typedef enum MTLC_AS_INT {
  MTLC_TENSOR_MATH_MULTIPLY_ADD = 0,
  MTLC_TENSOR_MATH_XOR_POPCOUNT,
  MTLC_TENSOR_MATH_AND_POPCOUNT
} MtlcTensorMathMode;

typedef enum MTLC_AS_INT {
  MTLC_TENSOR_SPARSITY_DENSE = 0,
  MTLC_TENSOR_SPARSITY_STRUCTURED_1_TO_2,
  MTLC_TENSOR_SPARSITY_STRUCTURED_2_TO_4,
  MTLC_TENSOR_SPARSITY_STRUCTURED_4_TO_8
} MtlcTensorSparsity;

typedef enum MTLC_AS_INT {
  MTLC_TENSOR_ROUND_DEFAULT = 0,
  MTLC_TENSOR_ROUND_NEAREST_EVEN,
  MTLC_TENSOR_ROUND_TOWARD_ZERO,
  MTLC_TENSOR_ROUND_DOWN,
  MTLC_TENSOR_ROUND_UP
} MtlcTensorRounding;

typedef enum MTLC_AS_INT {
  MTLC_TENSOR_OVERFLOW_WRAP = 0,
  MTLC_TENSOR_OVERFLOW_SATURATE_FINITE
} MtlcTensorOverflow;

typedef enum MTLC_AS_INT {
  MTLC_TENSOR_SCALE_NONE = 0,
  MTLC_TENSOR_SCALE_PER_TENSOR,
  MTLC_TENSOR_SCALE_BLOCK_16,
  MTLC_TENSOR_SCALE_BLOCK_32
} MtlcTensorScaleMode;

typedef enum MTLC_AS_INT {
  MTLC_TENSOR_PACKING_LOGICAL = 0,
  MTLC_TENSOR_PACKING_DENSE_SUBBYTE
} MtlcTensorPacking;

typedef enum MTLC_AS_INT {
  MTLC_TENSOR_BIAS_NONE = 0,
  MTLC_TENSOR_BIAS_PER_ROW,
  MTLC_TENSOR_BIAS_PER_COLUMN,
  MTLC_TENSOR_BIAS_MATRIX
} MtlcTensorBiasMode;

typedef enum MTLC_AS_INT {
  MTLC_TENSOR_ACTIVATION_IDENTITY = 0,
  MTLC_TENSOR_ACTIVATION_RELU,
  MTLC_TENSOR_ACTIVATION_CLAMP
} MtlcTensorActivation;

typedef enum MTLC_AS_INT {
  MTLC_TENSOR_TRANSFER_GLOBAL_TO_WORKGROUP = 0,
  MTLC_TENSOR_TRANSFER_WORKGROUP_TO_GLOBAL
} MtlcTensorTransferDirection;

typedef enum MTLC_AS_INT { MTLC_TENSOR_BOUNDS_ZERO = 0 } MtlcTensorBoundsMode;

/* Leading dimensions that are operands; bits to be combined. */
typedef enum MTLC_AS_INT {
  MTLC_TENSOR_RUNTIME_STRIDE_NONE = 0,
  MTLC_TENSOR_RUNTIME_STRIDE_A = 1u << 0,
  MTLC_TENSOR_RUNTIME_STRIDE_B = 1u << 1,
  MTLC_TENSOR_RUNTIME_STRIDE_C = 1u << 2,
  MTLC_TENSOR_RUNTIME_STRIDE_D = 1u << 3,
  MTLC_TENSOR_RUNTIME_STRIDE_ALL = (1u << 4) - 1u
} MtlcTensorRuntimeStride;

/* A leading dimension of 0 is a run-time operand, or without one the least that holds the tile; a
   scale's leading dimension of 0 is the least one. */
typedef struct MtlcTensorMmaDesc {
  uint16_t m;
  uint16_t n;
  uint16_t k;
  MtlcTensorMathMode math_mode;
  MtlcTensorSparsity sparsity;
  MtlcTensorElement a_element;
  MtlcTensorElement b_element;
  MtlcTensorElement accumulator_element;
  MtlcTensorElement result_element;
  MtlcTensorLayout a_layout;
  MtlcTensorLayout b_layout;
  MtlcTensorLayout c_layout;
  MtlcTensorLayout d_layout;
  uint32_t a_leading_dimension;
  uint32_t b_leading_dimension;
  uint32_t c_leading_dimension;
  uint32_t d_leading_dimension;
  MtlcTensorRounding rounding;
  MtlcTensorOverflow overflow;
  MtlcTensorScaleMode a_scale_mode;
  MtlcTensorScaleMode b_scale_mode;
  MtlcTensorElement a_scale_element;
  MtlcTensorElement b_scale_element;
  MtlcTensorPacking a_packing;
  MtlcTensorPacking b_packing;
  uint32_t a_scale_leading_dimension;
  uint32_t b_scale_leading_dimension;
  uint8_t transpose_a;
  uint8_t transpose_b;
  MtlcMemoryScope scope;
} MtlcTensorMmaDesc;

typedef struct MtlcTensorEpilogueDesc {
  uint16_t m;
  uint16_t n;
  MtlcTensorElement element;
  MtlcTensorLayout layout;
  uint32_t leading_dimension;
  MtlcTensorBiasMode bias_mode;
  MtlcTensorLayout bias_layout;
  uint32_t bias_leading_dimension;
  MtlcTensorActivation activation;
  uint8_t scale_output;
  uint8_t scale_bias;
  MtlcMemoryScope scope;
} MtlcTensorEpilogueDesc;

typedef struct MtlcTensorTransferDesc {
  uint8_t rank;
  MtlcTensorTransferDirection direction;
  MtlcTensorElement element;
  MtlcTensorPacking packing;
  MtlcTensorBoundsMode bounds;
  MtlcMemoryScope scope;
  uint64_t global_extent[MTLC_TENSOR_MAX_RANK];
  uint64_t global_stride_bytes[MTLC_TENSOR_MAX_RANK];
  uint32_t tile_extent[MTLC_TENSOR_MAX_RANK];
  uint32_t element_stride[MTLC_TENSOR_MAX_RANK];
} MtlcTensorTransferDesc;

/* float16 inputs, float32 accumulator and result, 16 x 16 x 16, A and C row-major, B column-major,
   dense, a subgroup. */
MtlcTensorMmaDesc mtlc_tensor_mma_f16_f32_m16n16k16_desc(void);

/* 1 when some operation could carry the descriptor, whatever its operands; 0 also for NULL. */
int mtlc_tensor_mma_desc_is_valid(const MtlcTensorMmaDesc *desc);
int mtlc_tensor_epilogue_desc_is_valid(const MtlcTensorEpilogueDesc *desc);
int mtlc_tensor_transfer_desc_is_valid(const MtlcTensorTransferDesc *desc);

/* Why not: writes at most `size` bytes, the ending zero included, of "field: reason; field: reason"
   to `buffer` and returns the length of the whole text; 0 for a valid descriptor. */
size_t mtlc_tensor_mma_desc_problems(const MtlcTensorMmaDesc *desc, char *buffer, size_t size);
size_t mtlc_tensor_epilogue_desc_problems(const MtlcTensorEpilogueDesc *desc, char *buffer,
                                          size_t size);
size_t mtlc_tensor_transfer_desc_problems(const MtlcTensorTransferDesc *desc, char *buffer,
                                          size_t size);

#ifdef __cplusplus
}
#endif

#endif /* MTLC_CAPI_INCLUDE_MTLC_TENSOR_H_ */
