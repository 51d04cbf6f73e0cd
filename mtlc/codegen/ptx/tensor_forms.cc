#include "mtlc/codegen/ptx/tensor_forms.h"

#include <algorithm>

namespace mtlc::ptx {

namespace {

using ir::Layout;
using ir::MmaDesc;
using ir::Packing;
using ir::ScaleMode;

constexpr TensorFormRow kForms[] = {
#define TENSOR_FORM(Api, m, n, k, Inputs, Acc, Feature, a, b, acc, Layout_, Fragments_, spelling) \
  {TensorApi::Api,                                                                                \
   m,                                                                                             \
   n,                                                                                             \
   k,                                                                                             \
   TensorInputs::Inputs,                                                                          \
   ElementFormat::Acc,                                                                            \
   PtxFeature::Feature,                                                                           \
   a,                                                                                             \
   b,                                                                                             \
   acc,                                                                                           \
   AccLayout::Layout_,                                                                            \
   Fragments::Fragments_,                                                                         \
   spelling},
#include "mtlc/codegen/ptx/tensor_forms.def"
};

bool isInt8(ElementFormat f) { return f == ElementFormat::I8 || f == ElementFormat::U8; }
bool isInt4(ElementFormat f) { return f == ElementFormat::I4 || f == ElementFormat::U4; }
bool isFp8(ElementFormat f) { return f == ElementFormat::E4M3 || f == ElementFormat::E5M2; }

bool scalesFit(const MmaDesc& d, ScaleMode block, ElementFormat format) {
  auto fits = [&](ScaleMode mode, ElementFormat f) {
    return mode == ScaleMode::None || ((mode == ScaleMode::Tensor || mode == block) && f == format);
  };
  return fits(d.aScale, d.aScaleFormat) && fits(d.bScale, d.bScaleFormat);
}

bool takes(TensorInputs inputs, const MmaDesc& d) {
  const bool scaled = d.aScale != ScaleMode::None || d.bScale != ScaleMode::None;
  using E = ElementFormat;
  auto both = [&](E f) { return d.a == f && d.b == f && !scaled; };
  const bool narrow = elementInfo(d.a).isNarrowFloat() && elementInfo(d.b).isNarrowFloat();
  switch (inputs) {
    case TensorInputs::F16:
      return both(E::F16);
    case TensorInputs::BF16:
      return both(E::BF16);
    case TensorInputs::TF32:
      return both(E::TF32);
    case TensorInputs::F64:
      return both(E::F64);
    case TensorInputs::Int8:
      return isInt8(d.a) && d.a == d.b;
    case TensorInputs::Int8Mixed:
      return isInt8(d.a) && isInt8(d.b);
    case TensorInputs::Int4:
      return isInt4(d.a) && d.a == d.b;
    case TensorInputs::Int4Mixed:
      return isInt4(d.a) && isInt4(d.b);
    case TensorInputs::B1Xor:
      return both(E::B1) && d.math == ir::TensorMath::XorPopcount;
    case TensorInputs::B1And:
      return both(E::B1) && d.math == ir::TensorMath::AndPopcount;
    case TensorInputs::Fp8:
      return isFp8(d.a) && isFp8(d.b) && !scaled;
    case TensorInputs::Narrow:
      return narrow && !scaled;
    case TensorInputs::MxNarrow:
      return narrow && scaled && scalesFit(d, ScaleMode::Block32, E::UE8M0);
    case TensorInputs::MxFp4:
      return d.a == E::E2M1 && d.b == E::E2M1 && scaled &&
             scalesFit(d, ScaleMode::Block32, E::UE8M0);
    case TensorInputs::NvFp4:
      return d.a == E::E2M1 && d.b == E::E2M1 && scaled &&
             scalesFit(d, ScaleMode::Block16, E::UE4M3);
  }
  return false;
}

// Values packed bit by bit can be loaded where they follow each other along K only.
bool loadable(Packing packing, ElementFormat format, bool alongK) {
  return alongK || packing == Packing::Logical || !elementInfo(format).isSubByte();
}

// Products of 8 bits, of which so many can be added without leaving 32 bits.
constexpr uint32_t kMaxExactK = 32768;

// Operands begin at multiples of 32 bytes; wmma.load asks for the size of a fragment.
constexpr uint32_t kOperandAlign = 32;

// Whether all native tiles of a matrix begin at addresses that wmma can load from: neighbours of
// `step` elements each along the lines in memory, of which the product has `length`.
bool cornersFit(uint32_t registers, ElementFormat format, uint32_t step, uint32_t length) {
  const uint32_t align = std::min(kOperandAlign, registers * 4);
  return step >= length || step * elementInfo(format).bits / 8 % align == 0;
}

bool cornersFit(const TensorFormRow& row, const MmaDesc& d, bool aAlongK, bool bAlongK) {
  return cornersFit(row.aRegisters, d.a, aAlongK ? row.k : row.m, aAlongK ? d.k : d.m) &&
         cornersFit(row.bRegisters, d.b, bAlongK ? row.k : row.n, bAlongK ? d.k : d.n);
}

bool accepts(const TensorFormRow& row, const MmaDesc& d) {
  if (d.scope != ir::Scope::Subgroup || d.acc != row.acc) return false;
  // Nobody knows the places of what wmma would store in other registers.
  if (d.result != row.acc && row.api == TensorApi::Wmma) return false;
  const bool sparse = d.sparsity != ir::Sparsity::Dense;
  if (sparse != (row.api == TensorApi::Sparse)) return false;
  if (sparse && d.sparsity != ir::Sparsity::S2to4) return false;
  if (!takes(row.inputs, d)) return false;
  if (d.overflow == ir::Overflow::Saturate && d.k > kMaxExactK) return false;
  const bool aAlongK = logicalLayout(d.aLayout, d.transposeA) == Layout::Row;
  const bool bAlongK = logicalLayout(d.bLayout, d.transposeB) == Layout::Col;
  if (row.api == TensorApi::Wmma) {
    // Below a byte, wmma loads rows of A and columns of B, packed.
    const bool small = elementInfo(d.a).isSubByte();
    if (!cornersFit(row, d, aAlongK, bAlongK)) return false;
    return !small ||
           (aAlongK && bAlongK && d.aPacking == Packing::Dense && d.bPacking == Packing::Dense);
  }
  if (d.rounding != ir::Rounding::Default && d.rounding != ir::Rounding::NearestEven) return false;
  return loadable(d.aPacking, d.a, aAlongK) && loadable(d.bPacking, d.b, bAlongK);
}

void replace(std::string& text, std::string_view what, std::string_view with) {
  const size_t at = text.find(what);
  if (at != std::string::npos) text.replace(at, what.size(), with);
}

}  // namespace

std::string TensorFormRow::shape() const {
  return "m" + std::to_string(m) + "n" + std::to_string(n) + "k" + std::to_string(k);
}

const TensorFormRow* findTensorForm(const PtxProfile& profile, const MmaDesc& desc,
                                    const TensorUse& use) {
  const bool preferMma = use.operandsInWorkgroup || use.biased || use.narrow;
  // The better ones first: that divide the product, that are not larger, of the preferred kind.
  const TensorFormRow* best = nullptr;
  int bestRank = 0;
  for (const TensorFormRow& row : kForms) {
    if (!profile.has(row.feature) || !accepts(row, desc)) continue;
    if (use.narrow && row.api == TensorApi::Wmma) continue;
    const bool small = row.m <= desc.m && row.n <= desc.n && row.k <= desc.k;
    const bool preferred = (row.api == TensorApi::Wmma) != preferMma;
    const int rank = 1 + (divides(row, desc) ? 4 : 0) + (small ? 2 : 0) + (preferred ? 1 : 0);
    if (rank <= bestRank) continue;
    best = &row;
    bestRank = rank;
  }
  return best;
}

bool divides(const TensorFormRow& row, const MmaDesc& desc) {
  return desc.m % row.m == 0 && desc.n % row.n == 0 && desc.k % row.k == 0;
}

std::string tensorFormNeeds(const MmaDesc& desc) {
  const TensorFormRow* best = nullptr;
  for (const TensorFormRow& row : kForms) {
    if (!accepts(row, desc)) continue;
    if (best == nullptr || ptxFeature(row.feature).version < ptxFeature(best->feature).version) {
      best = &row;
    }
  }
  return best == nullptr ? std::string() : PtxProfile::needs(best->feature);
}

TensorForm describe(const TensorFormRow& row) {
  return {row.m,
          row.n,
          row.k,
          row.aRegisters,
          row.bRegisters,
          row.accRegisters,
          static_cast<uint32_t>(row.accLayout),
          row.api != TensorApi::Wmma};
}

std::string_view ptxElementName(ElementFormat format) {
  switch (format) {
    case ElementFormat::I8:
      return "s8";
    case ElementFormat::I4:
      return "s4";
    case ElementFormat::I32:
      return "s32";
    default:
      return elementInfo(format).name;
  }
}

std::string spell(const TensorFormRow& row, const MmaDesc& d, bool stepwise) {
  std::string text(row.spelling);
  auto name = [](Layout layout) { return layout == Layout::Row ? "row" : "col"; };
  replace(text, "$la", name(logicalLayout(d.aLayout, d.transposeA)));
  replace(text, "$lb", name(logicalLayout(d.bLayout, d.transposeB)));
  replace(text, "$a", ptxElementName(d.a));
  replace(text, "$b", ptxElementName(d.b));
  replace(text, "$sat", d.overflow == ir::Overflow::Saturate && !stepwise ? ".satfinite" : "");
  constexpr std::string_view kRoundings[] = {".rn", ".rn", ".rz", ".rm", ".rp"};
  replace(text, "$rnd", kRoundings[static_cast<int>(d.rounding)]);
  return text;
}

}  // namespace mtlc::ptx
