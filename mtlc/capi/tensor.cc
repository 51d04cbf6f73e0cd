// mtlc/tensor.h: descriptors from C to the IR.

#include <cstring>

#include "absl/strings/str_format.h"
#include "mtlc/capi/internal.h"

namespace mtlc::capi {
namespace {

using Problems = std::vector<ir::DescriptorProblem>;

// The enumerations count the same values in the same order, but that some begin with INVALID.
template <typename To>
To convert(int value, int first, const char* field, Problems& problems) {
  const int count = static_cast<int>(ir::enumNames(To()).size());
  if (value < first || value >= first + count) {
    problems.push_back({field, absl::StrFormat("%d is no value of this field", value)});
    return To();
  }
  return static_cast<To>(value - first);
}

ElementFormat element(MtlcTensorElement e, const char* field, Problems& problems) {
  // MTLC_TENSOR_ELEMENT_FLOAT16 … INT32, in the order of ElementFormat.
  const int value = static_cast<int>(e) - 1;
  if (value < 0 || value >= kElementFormatCount) {
    problems.push_back({field, absl::StrFormat("%d is no element format", static_cast<int>(e))});
    return ElementFormat::F16;
  }
  return static_cast<ElementFormat>(value);
}
static_assert(static_cast<int>(MTLC_TENSOR_ELEMENT_INT32) == kElementFormatCount);
static_assert(static_cast<int>(ElementFormat::E4M3) == MTLC_TENSOR_ELEMENT_FLOAT8_E4M3 - 1);
static_assert(static_cast<int>(ElementFormat::UE4M3) == MTLC_TENSOR_ELEMENT_SCALE_UE4M3 - 1);
static_assert(static_cast<int>(ElementFormat::B1) == MTLC_TENSOR_ELEMENT_BIT1 - 1);

ir::Scope tensorScope(MtlcMemoryScope s, ir::Scope otherwise, Problems& problems) {
  std::optional<ir::Scope> scope = irScope(s, otherwise);
  if (!scope) {
    problems.push_back({"scope", absl::StrFormat("%d is no scope", static_cast<int>(s))});
  }
  return scope.value_or(otherwise);
}

// The rules that hold with the operands that the descriptor asks for.
ir::SlotSet impliedSlots(const ir::MmaDesc& d) {
  ir::SlotSet slots{ir::Slot::A, ir::Slot::B, ir::Slot::C, ir::Slot::D};
  if (d.sparsity != ir::Sparsity::Dense) slots.add(ir::Slot::Metadata);
  if (d.aScale != ir::ScaleMode::None) slots.add(ir::Slot::ScaleA);
  if (d.bScale != ir::ScaleMode::None) slots.add(ir::Slot::ScaleB);
  if (d.lda == 0) slots.add(ir::Slot::Lda);
  if (d.ldb == 0) slots.add(ir::Slot::Ldb);
  if (d.ldc == 0) slots.add(ir::Slot::Ldc);
  if (d.ldd == 0) slots.add(ir::Slot::Ldd);
  return slots;
}

size_t render(const Problems& problems, char* buffer, size_t size) {
  const std::string text = describe(problems);
  if (buffer != nullptr && size > 0) {
    const size_t n = std::min(text.size(), size - 1);
    std::memcpy(buffer, text.data(), n);
    buffer[n] = '\0';
  }
  return text.size();
}

Problems problemsOf(const MtlcTensorMmaDesc* desc) {
  Problems problems;
  if (desc == nullptr) return {{"descriptor", "it is NULL"}};
  ir::MmaDesc d = irDesc(*desc, problems);
  if (problems.empty()) {
    // A matmul does not know its leading dimensions: valid is what one of the two can carry.
    const ir::SlotSet slots = impliedSlots(d);
    ir::setDenseLeading(d, slots);
    ir::checkDescriptor(d, ir::MmaUse::Mma, slots, problems);
  }
  return problems;
}

Problems problemsOf(const MtlcTensorEpilogueDesc* desc) {
  Problems problems;
  if (desc == nullptr) return {{"descriptor", "it is NULL"}};
  ir::EpilogueDesc d = irDesc(*desc, problems);
  if (!problems.empty()) return problems;
  ir::SlotSet slots{ir::Slot::D};
  if (d.bias != ir::BiasMode::None) slots.add(ir::Slot::Bias);
  if (d.activation == ir::Activation::Clamp)
    slots = slots | ir::SlotSet{ir::Slot::Lo, ir::Slot::Hi};
  ir::setDenseLeading(d, slots);
  ir::checkDescriptor(d, false, slots, problems);
  return problems;
}

Problems problemsOf(const MtlcTensorTransferDesc* desc) {
  Problems problems;
  if (desc == nullptr) return {{"descriptor", "it is NULL"}};
  const ir::TransferDesc d = irDesc(*desc, problems);
  if (!problems.empty()) return problems;
  ir::SlotSet slots{ir::Slot::Dst, ir::Slot::Src};
  for (unsigned i = 0; i < d.rank && i < ir::kMaxRank; ++i) {
    slots.add(ir::coordinateSlot(i));
    if (d.extent[i] == 0) slots.add(ir::extentSlot(i));
    if (i > 0 && d.stride[i] == 0) slots.add(ir::strideSlot(i));
  }
  ir::checkDescriptor(d, slots, problems);
  return problems;
}

}  // namespace

std::string describe(const Problems& problems) {
  std::string text;
  for (const ir::DescriptorProblem& p : problems) {
    absl::StrAppendFormat(&text, "%s%s: %s", text.empty() ? "" : "; ", p.field, p.reason);
  }
  return text;
}

ir::MmaDesc irDesc(const MtlcTensorMmaDesc& c, Problems& problems) {
  ir::MmaDesc d;
  d.m = c.m;
  d.n = c.n;
  d.k = c.k;
  d.math = convert<ir::TensorMath>(c.math_mode, 0, "math_mode", problems);
  d.sparsity = convert<ir::Sparsity>(c.sparsity, 0, "sparsity", problems);
  d.a = element(c.a_element, "a_element", problems);
  d.b = element(c.b_element, "b_element", problems);
  d.acc = element(c.accumulator_element, "accumulator_element", problems);
  d.result = element(c.result_element, "result_element", problems);
  d.aLayout = convert<ir::Layout>(c.a_layout, 1, "a_layout", problems);
  d.bLayout = convert<ir::Layout>(c.b_layout, 1, "b_layout", problems);
  d.cLayout = convert<ir::Layout>(c.c_layout, 1, "c_layout", problems);
  d.dLayout = convert<ir::Layout>(c.d_layout, 1, "d_layout", problems);
  d.lda = c.a_leading_dimension;
  d.ldb = c.b_leading_dimension;
  d.ldc = c.c_leading_dimension;
  d.ldd = c.d_leading_dimension;
  d.rounding = convert<ir::Rounding>(c.rounding, 0, "rounding", problems);
  d.overflow = convert<ir::Overflow>(c.overflow, 0, "overflow", problems);
  d.aScale = convert<ir::ScaleMode>(c.a_scale_mode, 0, "a_scale_mode", problems);
  d.bScale = convert<ir::ScaleMode>(c.b_scale_mode, 0, "b_scale_mode", problems);
  if (d.aScale != ir::ScaleMode::None) {
    d.aScaleFormat = element(c.a_scale_element, "a_scale_element", problems);
    d.ldsa = c.a_scale_leading_dimension;
  }
  if (d.bScale != ir::ScaleMode::None) {
    d.bScaleFormat = element(c.b_scale_element, "b_scale_element", problems);
    d.ldsb = c.b_scale_leading_dimension;
  }
  d.aPacking = convert<ir::Packing>(c.a_packing, 0, "a_packing", problems);
  d.bPacking = convert<ir::Packing>(c.b_packing, 0, "b_packing", problems);
  d.transposeA = c.transpose_a != 0;
  d.transposeB = c.transpose_b != 0;
  d.scope = tensorScope(c.scope, ir::Scope::Subgroup, problems);
  return d;
}

ir::EpilogueDesc irDesc(const MtlcTensorEpilogueDesc& c, Problems& problems) {
  ir::EpilogueDesc d;
  d.m = c.m;
  d.n = c.n;
  d.element = element(c.element, "element", problems);
  d.layout = convert<ir::Layout>(c.layout, 1, "layout", problems);
  d.ldd = c.leading_dimension;
  d.bias = convert<ir::BiasMode>(c.bias_mode, 0, "bias_mode", problems);
  if (d.bias == ir::BiasMode::Matrix) {
    d.biasLayout = convert<ir::Layout>(c.bias_layout, 1, "bias_layout", problems);
    d.ldbias = c.bias_leading_dimension;
  }
  d.activation = convert<ir::Activation>(c.activation, 0, "activation", problems);
  d.scope = tensorScope(c.scope, ir::Scope::Subgroup, problems);
  return d;
}

ir::TransferDesc irDesc(const MtlcTensorTransferDesc& c, Problems& problems) {
  ir::TransferDesc d;
  d.rank = c.rank;
  d.direction = convert<ir::Direction>(c.direction, 0, "direction", problems);
  d.element = element(c.element, "element", problems);
  d.packing = convert<ir::Packing>(c.packing, 0, "packing", problems);
  if (c.bounds != MTLC_TENSOR_BOUNDS_ZERO) {
    problems.push_back(
        {"bounds", absl::StrFormat("%d is no value of this field", static_cast<int>(c.bounds))});
  }
  if (tensorScope(c.scope, ir::Scope::Workgroup, problems) != ir::Scope::Workgroup) {
    problems.push_back({"scope", "a transfer is done by the workgroup"});
  }
  for (unsigned i = 0; i < ir::kMaxRank && i < c.rank; ++i) {
    d.extent[i] = c.global_extent[i];
    d.stride[i] = c.global_stride_bytes[i];
    d.tile[i] = c.tile_extent[i];
    d.step[i] = c.element_stride[i];
  }
  if (c.rank >= 1 && d.stride[0] == 0 && d.packing == ir::Packing::Logical) {
    d.stride[0] = elementInfo(d.element).bytes;
  }
  return d;
}

}  // namespace mtlc::capi

extern "C" {

MtlcTensorMmaDesc mtlc_tensor_mma_f16_f32_m16n16k16_desc(void) {
  MtlcTensorMmaDesc d = {};
  d.m = d.n = d.k = 16;
  d.a_element = d.b_element = MTLC_TENSOR_ELEMENT_FLOAT16;
  d.accumulator_element = d.result_element = MTLC_TENSOR_ELEMENT_FLOAT32;
  d.a_layout = d.c_layout = d.d_layout = MTLC_TENSOR_LAYOUT_ROW_MAJOR;
  d.b_layout = MTLC_TENSOR_LAYOUT_COLUMN_MAJOR;
  d.a_leading_dimension = d.b_leading_dimension = 16;
  d.c_leading_dimension = d.d_leading_dimension = 16;
  d.scope = MTLC_MEMORY_SCOPE_SUBGROUP;
  return d;
}

int mtlc_tensor_mma_desc_is_valid(const MtlcTensorMmaDesc* desc) {
  return mtlc::capi::problemsOf(desc).empty() ? 1 : 0;
}
int mtlc_tensor_epilogue_desc_is_valid(const MtlcTensorEpilogueDesc* desc) {
  return mtlc::capi::problemsOf(desc).empty() ? 1 : 0;
}
int mtlc_tensor_transfer_desc_is_valid(const MtlcTensorTransferDesc* desc) {
  return mtlc::capi::problemsOf(desc).empty() ? 1 : 0;
}
size_t mtlc_tensor_mma_desc_problems(const MtlcTensorMmaDesc* desc, char* buffer, size_t size) {
  return mtlc::capi::render(mtlc::capi::problemsOf(desc), buffer, size);
}
size_t mtlc_tensor_epilogue_desc_problems(const MtlcTensorEpilogueDesc* desc, char* buffer,
                                          size_t size) {
  return mtlc::capi::render(mtlc::capi::problemsOf(desc), buffer, size);
}
size_t mtlc_tensor_transfer_desc_problems(const MtlcTensorTransferDesc* desc, char* buffer,
                                          size_t size) {
  return mtlc::capi::render(mtlc::capi::problemsOf(desc), buffer, size);
}

}  // extern "C"
