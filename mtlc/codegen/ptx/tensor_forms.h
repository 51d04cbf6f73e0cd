// Which matrix instruction a product becomes (tensor_forms.def), and why.
//
// wmma is the choice where it exists and A and B come from global memory: its loads take any layout
// of both, and nothing depends on the places of elements. mma is the choice where those places
// matter (an epilogue with a bias, a result of fewer bits than the accumulator), where ldmatrix can
// load (operands in workgroup memory), and for what wmma does not have.

#ifndef MTLC_CODEGEN_PTX_TENSOR_FORMS_H_
#define MTLC_CODEGEN_PTX_TENSOR_FORMS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "mtlc/codegen/ptx/fragments.h"
#include "mtlc/codegen/ptx/profile.h"
#include "mtlc/ir/descriptors.h"
#include "mtlc/transforms/target_info.h"

namespace mtlc::ptx {

enum class TensorApi : uint8_t { Wmma, Mma, Scaled, Sparse };

// What a form multiplies.
enum class TensorInputs : uint8_t {
  F16,
  BF16,
  TF32,
  F64,
  Int8,       // i8 × i8, u8 × u8
  Int8Mixed,  // Any two of i8, u8.
  Int4,
  Int4Mixed,
  B1Xor,
  B1And,
  Fp8,       // Any two of e4m3, e5m2.
  Narrow,    // Any two narrow formats, in bytes.
  MxNarrow,  // The same with ue8m0 scales for blocks of 32.
  MxFp4,     // e2m1 with ue8m0 scales for blocks of 32.
  NvFp4,     // e2m1 with ue4m3 scales for blocks of 16.
};

// How an accumulator lies in registers. Its format is the tile's.
enum class AccLayout : uint8_t {
  M16N8,  // As fragments.def says.
  M8N8,
  WmmaM16N16,
  WmmaM8N32,
  WmmaM32N8,
  WmmaM16N16K8,
  WmmaM8N8K4,
  WmmaM8N8K32,
  WmmaM8N8K128,
};

struct TensorFormRow {
  TensorApi api;
  uint32_t m, n, k;
  TensorInputs inputs;
  ElementFormat acc;
  PtxFeature feature;
  uint32_t aRegisters, bRegisters, accRegisters;  // 32 bits each.
  AccLayout accLayout;
  Fragments fragments;  // None: wmma.
  std::string_view spelling;

  // "m16n16k16", as wmma.load and wmma.store spell the shape.
  std::string shape() const;
};

// The layout of a matrix of logical coordinates: transposition swaps rows and columns.
constexpr ir::Layout logicalLayout(ir::Layout stored, bool transposed) {
  return (stored == ir::Layout::Row) != transposed ? ir::Layout::Row : ir::Layout::Col;
}

// The form for a product on the profile; nullptr if there is none. m, n and k are multiples of the
// form's unless those of no form divide them, and then only a part of the product is native.
const TensorFormRow* findTensorForm(const PtxProfile& profile, const ir::MmaDesc& desc,
                                    const TensorUse& use);
// "PTX 8.7 and one of sm_120a …": what the least demanding form needs; empty if there is none on
// any profile.
std::string tensorFormNeeds(const ir::MmaDesc& desc);
bool divides(const TensorFormRow& row, const ir::MmaDesc& desc);
TensorForm describe(const TensorFormRow& row);

// The spelling of the row for a descriptor. A saturating product in several steps along K wraps in
// each and saturates when it is added to the accumulator (`stepwise`).
std::string spell(const TensorFormRow& row, const ir::MmaDesc& desc, bool stepwise);
// "s8"
std::string_view ptxElementName(ElementFormat format);

}  // namespace mtlc::ptx

#endif  // MTLC_CODEGEN_PTX_TENSOR_FORMS_H_
