#include "mtlc/ir/descriptors.h"

#include "absl/strings/str_format.h"

namespace mtlc::ir {

namespace {

struct EnumText {
  std::string_view enumeration;
  std::string_view text;
};

constexpr EnumText kEnumTexts[] = {
#define ENUM_VALUE(Enumeration, Enumerator, text) {#Enumeration, text},
#include "mtlc/ir/descriptors.def"
};

// The values of an enumeration stand together in the table.
std::span<const std::string_view> namesOf(std::string_view enumeration) {
  static constexpr auto kTexts = [] {
    std::array<std::string_view, std::size(kEnumTexts)> texts;
    for (size_t i = 0; i < texts.size(); ++i) texts[i] = kEnumTexts[i].text;
    return texts;
  }();
  size_t first = 0;
  while (first < std::size(kEnumTexts) && kEnumTexts[first].enumeration != enumeration) ++first;
  size_t end = first;
  while (end < std::size(kEnumTexts) && kEnumTexts[end].enumeration == enumeration) ++end;
  return std::span(kTexts).subspan(first, end - first);
}

// The enumerators of the table are those of the enumeration, at their numbers.
#define ENUM_VALUE(Enumeration, Enumerator, spelling)                                           \
  static_assert([] {                                                                            \
    size_t first = 0;                                                                           \
    while (kEnumTexts[first].enumeration != std::string_view(#Enumeration)) ++first;            \
    return kEnumTexts[first + static_cast<size_t>(Enumeration::Enumerator)].text == (spelling); \
  }());
#include "mtlc/ir/descriptors.def"

struct SlotInfo {
  std::string_view name;
  SlotClass cls;
};
constexpr SlotInfo kSlots[] = {
#define SLOT(Enum, name, cls) {name, SlotClass::cls},
#include "mtlc/ir/descriptors.def"
};

}  // namespace

#define DEFINE_NAMES(Enumeration)                                                  \
  std::span<const std::string_view> enumNames(Enumeration) {                       \
    static const std::span<const std::string_view> kNames = namesOf(#Enumeration); \
    return kNames;                                                                 \
  }
DEFINE_NAMES(Layout)
DEFINE_NAMES(TensorMath)
DEFINE_NAMES(Sparsity)
DEFINE_NAMES(Rounding)
DEFINE_NAMES(Overflow)
DEFINE_NAMES(ScaleMode)
DEFINE_NAMES(Packing)
DEFINE_NAMES(BiasMode)
DEFINE_NAMES(Activation)
DEFINE_NAMES(Direction)
DEFINE_NAMES(Scope)
#undef DEFINE_NAMES

std::string_view slotName(Slot slot) { return kSlots[static_cast<int>(slot)].name; }
SlotClass slotClass(Slot slot) { return kSlots[static_cast<int>(slot)].cls; }

std::optional<Slot> slotFromName(std::string_view name) {
  for (int i = 0; i < kSlotCount; ++i) {
    if (kSlots[i].name == name) return static_cast<Slot>(i);
  }
  return std::nullopt;
}

StoredShape storedA(const MmaDesc& d) {
  uint64_t k = storedK(d.sparsity, d.k);
  return d.transposeA ? StoredShape{k, d.m} : StoredShape{d.m, k};
}
StoredShape storedB(const MmaDesc& d) {
  return d.transposeB ? StoredShape{d.n, d.k} : StoredShape{d.k, d.n};
}
StoredShape storedC(const MmaDesc& d) { return {d.m, d.n}; }

uint64_t denseLeading(const MmaDesc& d, Slot slot) {
  auto blocks = [&](ScaleMode mode) {
    uint32_t block = scaleBlock(mode);
    return block == 0 ? uint64_t{0} : (uint64_t{d.k} + block - 1) / block;
  };
  switch (slot) {
    case Slot::Lda:
      return storedA(d).minor(d.aLayout);
    case Slot::Ldb:
      return storedB(d).minor(d.bLayout);
    case Slot::Ldc:
      return storedC(d).minor(d.cLayout);
    case Slot::Ldd:
      return storedC(d).minor(d.dLayout);
    case Slot::Ldsa:  // M × blocks, row-major.
      return blocks(d.aScale);
    case Slot::Ldsb:  // blocks × N, column-major.
      return blocks(d.bScale);
    case Slot::LdMeta:
      return d.sparsity == Sparsity::Dense
                 ? 0
                 : (uint64_t{d.k} + sparseGroup(d.sparsity) - 1) / sparseGroup(d.sparsity);
    default:
      return 0;
  }
}

uint64_t denseLeading(const EpilogueDesc& d, Slot slot) {
  const StoredShape shape{d.m, d.n};
  switch (slot) {
    case Slot::Ldd:
      return shape.minor(d.layout);
    case Slot::LdBias:
      return d.bias == BiasMode::Matrix ? shape.minor(d.biasLayout) : 0;
    default:
      return 0;
  }
}

namespace {

struct Leading {
  Slot slot;
  uint32_t MmaDesc::*member;
};
constexpr Leading kLeading[] = {{Slot::Lda, &MmaDesc::lda},   {Slot::Ldb, &MmaDesc::ldb},
                                {Slot::Ldc, &MmaDesc::ldc},   {Slot::Ldd, &MmaDesc::ldd},
                                {Slot::Ldsa, &MmaDesc::ldsa}, {Slot::Ldsb, &MmaDesc::ldsb}};

}  // namespace

void setDenseLeading(MmaDesc& d, SlotSet runtime) {
  for (const Leading& l : kLeading) {
    if (d.*l.member == 0 && !runtime.has(l.slot)) {
      d.*l.member = static_cast<uint32_t>(denseLeading(d, l.slot));
    }
  }
}

void setDenseLeading(EpilogueDesc& d, SlotSet runtime) {
  if (d.ldd == 0 && !runtime.has(Slot::Ldd)) {
    d.ldd = static_cast<uint32_t>(denseLeading(d, Slot::Ldd));
  }
  if (d.ldbias == 0 && !runtime.has(Slot::LdBias)) {
    d.ldbias = static_cast<uint32_t>(denseLeading(d, Slot::LdBias));
  }
}

MmaDesc normalizedFor(MmaUse use, const MmaDesc& d) {
  MmaDesc out = d;
  if (use == MmaUse::AccBegin) {
    out = MmaDesc();
    out.m = d.m;
    out.n = d.n;
    out.acc = d.acc;
    out.result = d.result;
    out.cLayout = d.cLayout;
    out.dLayout = d.dLayout;
    out.ldc = d.ldc;
    out.ldd = d.ldd;
    out.scope = d.scope;
  } else if (use == MmaUse::AccMma) {
    out.result = d.acc;
    out.cLayout = out.dLayout = Layout::Row;
    out.ldc = out.ldd = 0;
  }
  return out;
}

Type tileType(const MmaDesc& d) {
  return Type::tile(static_cast<uint16_t>(d.m), static_cast<uint16_t>(d.n), d.acc,
                    d.scope == Scope::Workgroup);
}

// ---- Rules ----

namespace {

using Problems = std::vector<DescriptorProblem>;
using absl::StrFormat;

constexpr uint32_t kMaxTile = 65535;

std::string_view nameOf(ElementFormat f) { return elementInfo(f).name; }

void checkShape(std::string_view field, uint32_t value, Problems& out) {
  if (value >= 1 && value <= kMaxTile) return;
  out.push_back({std::string(field), StrFormat("%d is not in 1 … %d", value, kMaxTile)});
}

void checkScope(Scope scope, Problems& out) {
  if (scope == Scope::Subgroup || scope == Scope::Workgroup) return;
  out.push_back({"scope", StrFormat("%s takes no part in a tensor operation; use subgroup or "
                                    "workgroup",
                                    enumName(scope))});
}

void checkSlots(SlotSet have, SlotSet required, SlotSet allowed, Problems& out) {
  for (int i = 0; i < kSlotCount; ++i) {
    Slot s = static_cast<Slot>(i);
    if (required.has(s) && !have.has(s)) {
      out.push_back({std::string(slotName(s)), "the operand is missing"});
    } else if (have.has(s) && !required.has(s) && !allowed.has(s)) {
      out.push_back({std::string(slotName(s)), "this operation takes no such operand"});
    }
  }
}

// Formats of A that go with formats of B.
bool pairAllowed(const ElementInfo& a, const ElementInfo& b) {
  if (a.kind == ElementKind::Scale || b.kind == ElementKind::Scale) return false;
  if (a.isNarrowFloat() && b.isNarrowFloat()) return true;
  if (a.isInteger() && b.isInteger()) return a.bits == b.bits && a.bits <= 8;
  return a.name == b.name && a.name != "f32";
}

// Sums that are stored in fewer bits than they are kept in.
bool isNarrowResult(ElementFormat acc, ElementFormat result) {
  return acc == ElementFormat::F32 &&
         (result == ElementFormat::F16 || result == ElementFormat::BF16);
}

void checkFormats(const MmaDesc& d, Problems& out) {
  const ElementInfo& a = elementInfo(d.a);
  const ElementInfo& b = elementInfo(d.b);
  constexpr std::string_view kPairs =
      "inputs are f16, bf16, tf32 or f64 on both sides, any pair of e4m3 e5m2 e2m3 e3m2 e2m1, of "
      "i8 u8, of i4 u4, or b1";
  if (!pairAllowed(a, b)) {
    bool aAlone = pairAllowed(a, a);
    out.push_back({aAlone ? "b" : "a",
                   StrFormat("%s times %s is no legal combination; %s", a.name, b.name, kPairs)});
    return;
  }
  using E = ElementFormat;
  auto wrong = [&](std::string_view field, E got, std::string_view wanted) {
    out.push_back(
        {std::string(field), StrFormat("%s inputs give %s, not %s", a.name, wanted, nameOf(got))});
  };
  if (!a.isFloat()) {
    if (d.acc != E::I32) wrong("acc", d.acc, "i32");
    if (d.result != E::I32) wrong("result", d.result, "i32");
  } else if (d.a == E::F64) {
    if (d.acc != E::F64) wrong("acc", d.acc, "f64");
    if (d.result != E::F64) wrong("result", d.result, "f64");
  } else if (d.acc == E::F16 && d.a == E::F16) {
    if (d.result != E::F16) {
      out.push_back(
          {"result", StrFormat("an f16 accumulator gives f16, not %s", nameOf(d.result))});
    }
  } else if (d.acc != E::F32) {
    wrong("acc", d.acc, d.a == E::F16 ? "f16 or f32" : "f32");
  } else if (d.result != d.acc && !isNarrowResult(d.acc, d.result)) {
    out.push_back({"result", StrFormat("an f32 accumulator is stored as f32, f16 or bf16, not %s",
                                       nameOf(d.result))});
  }
}

void checkModes(const MmaDesc& d, Problems& out) {
  const ElementInfo& a = elementInfo(d.a);
  const bool bits = a.kind == ElementKind::Bit;
  if (bits != (d.math != TensorMath::MultiplyAdd)) {
    out.push_back(
        {"math", bits ? std::string("b1 inputs need xor_popcount or and_popcount")
                      : StrFormat("%s is for b1 inputs, not %s", enumName(d.math), a.name)});
  }
  if (d.rounding != Rounding::Default && d.rounding != Rounding::NearestEven &&
      d.a != ElementFormat::F64) {
    out.push_back({"rounding", StrFormat("%s is for f64, not %s; use nearest_even",
                                         enumName(d.rounding), a.name)});
  }
  if (d.overflow == Overflow::Saturate && a.isFloat()) {
    out.push_back({"overflow", StrFormat("saturate is for integers, not %s", a.name)});
  }
  if (d.sparsity != Sparsity::Dense && bits) {
    out.push_back(
        {"sparsity", StrFormat("%s needs values, not single bits", enumName(d.sparsity))});
  }
  auto packing = [&](std::string_view field, Packing p, ElementFormat f) {
    if (p == Packing::Dense && !elementInfo(f).isSubByte()) {
      out.push_back({std::string(field), StrFormat("dense packs formats below 8 bits, not %s; use "
                                                   "logical",
                                                   nameOf(f))});
    }
    if (p == Packing::Logical && f == ElementFormat::B1) {
      out.push_back({std::string(field), "b1 is always dense"});
    }
  };
  packing("packing_a", d.aPacking, d.a);
  packing("packing_b", d.bPacking, d.b);
}

void checkScale(std::string_view side, ScaleMode mode, ElementFormat scale, ElementFormat element,
                Problems& out) {
  if (mode == ScaleMode::None) return;
  const ElementInfo& e = elementInfo(element);
  if (!e.isFloat() || e.bits > 32) {
    out.push_back({StrFormat("scale_%s", side),
                   StrFormat("%s belongs to floating-point inputs of up to 32 bits, not %s",
                             enumName(mode), e.name)});
  }
  if (elementInfo(scale).kind != ElementKind::Scale) {
    out.push_back({StrFormat("scale_format_%s", side),
                   StrFormat("%s is no scale; use ue8m0 or ue4m3", nameOf(scale))});
  }
}

// A leading dimension: constant or operand, not both, and long enough.
void checkLeading(Slot slot, uint32_t value, SlotSet slots, uint64_t least, bool wanted,
                  Problems& out) {
  const std::string field(slotName(slot));
  if (slots.has(slot)) {
    if (value != 0) out.push_back({field, StrFormat("%d is given besides the operand", value)});
    return;
  }
  if (!wanted) {
    if (value != 0) out.push_back({field, StrFormat("%d means nothing here; leave it out", value)});
  } else if (value == 0) {
    out.push_back({field, "a leading dimension is a constant above 0 or an operand"});
  } else if (value < least) {
    out.push_back({field, StrFormat("%d is shorter than the stored tile's %d", value, least)});
  }
}

// tensor.mma: rows begin at multiples of 16 bytes.
void checkRowAlignment(Slot slot, uint32_t value, ElementFormat f, Packing p, Problems& out) {
  if (value == 0) return;
  const ElementInfo& e = elementInfo(f);
  const uint64_t bits = uint64_t{value} * (p == Packing::Dense ? e.bits : e.bytes * 8u);
  if (bits % 128 == 0) return;
  const uint32_t unit = 128u / (p == Packing::Dense ? (e.bits & (~e.bits + 1u)) : e.bytes * 8u);
  out.push_back(
      {std::string(slotName(slot)),
       StrFormat("%d elements of %s are no multiple of 16 bytes; use a multiple of %d, or "
                 "tensor.matmul",
                 value, e.name, unit)});
}

}  // namespace

void checkDescriptor(const MmaDesc& d, MmaUse use, SlotSet slots, Problems& out) {
  const bool inputs = use != MmaUse::AccBegin;
  const bool outputs = use != MmaUse::AccMma;
  checkShape("m", d.m, out);
  checkShape("n", d.n, out);
  if (inputs) checkShape("k", d.k, out);
  checkScope(d.scope, out);
  const size_t before = out.size();
  if (inputs) {
    checkFormats(d, out);
  }
  if (inputs && out.size() == before) {
    checkModes(d, out);
    checkScale("a", d.aScale, d.aScaleFormat, d.a, out);
    checkScale("b", d.bScale, d.bScaleFormat, d.b, out);
  }
  if (use == MmaUse::AccMma && d.acc != d.result) {
    out.push_back({"result", StrFormat("a tile keeps its accumulator's format %s between steps, "
                                       "not %s; tensor.acc.begin says what its home has",
                                       nameOf(d.acc), nameOf(d.result))});
  }
  if (use == MmaUse::AccBegin && d.acc != d.result && !isNarrowResult(d.acc, d.result)) {
    out.push_back(
        {"result",
         StrFormat("the home of a tile of %s has that format%s, not %s", nameOf(d.acc),
                   d.acc == ElementFormat::F32 ? ", f16 or bf16" : "", nameOf(d.result))});
  }

  SlotSet required, allowed;
  if (inputs) {
    required = required | SlotSet{Slot::A, Slot::B};
    allowed = allowed | SlotSet{Slot::Lda, Slot::Ldb};
    if (d.sparsity != Sparsity::Dense) {
      required.add(Slot::Metadata);
      if (use != MmaUse::Matmul) allowed.add(Slot::LdMeta);
    }
    if (d.aScale != ScaleMode::None) required.add(Slot::ScaleA);
    if (d.bScale != ScaleMode::None) required.add(Slot::ScaleB);
    if (scaleBlock(d.aScale)) allowed.add(Slot::Ldsa);
    if (scaleBlock(d.bScale)) allowed.add(Slot::Ldsb);
  }
  if (outputs) {
    required = required | SlotSet{Slot::C, Slot::D};
    allowed = allowed | SlotSet{Slot::Ldc, Slot::Ldd};
  } else {
    required.add(Slot::Tile);
  }
  if (use == MmaUse::Matmul) {
    required = required | SlotSet{Slot::Row, Slot::Col, Slot::M, Slot::N, Slot::K};
  }
  checkSlots(slots, required, allowed, out);

  const bool whole = use != MmaUse::Matmul;  // The problem's shape is not known before run time.
  for (const Leading& l : kLeading) {
    const bool ofInput = l.slot == Slot::Lda || l.slot == Slot::Ldb;
    const bool ofOutput = l.slot == Slot::Ldc || l.slot == Slot::Ldd;
    const bool ofScale = !ofInput && !ofOutput;
    const ScaleMode mode = l.slot == Slot::Ldsa ? d.aScale : d.bScale;
    const bool wanted = (ofInput && inputs) || (ofOutput && outputs) ||
                        (ofScale && inputs && scaleBlock(mode) != 0);
    checkLeading(l.slot, d.*l.member, slots, whole ? denseLeading(d, l.slot) : 1, wanted, out);
  }
  if (d.ldmeta != 0) {
    // The rows of a matmul are as long as its K.
    const bool wanted = inputs && d.sparsity != Sparsity::Dense && use != MmaUse::Matmul;
    checkLeading(Slot::LdMeta, d.ldmeta, slots, denseLeading(d, Slot::LdMeta), wanted, out);
  }
  if (use != MmaUse::Matmul) {
    if (inputs) {
      checkRowAlignment(Slot::Lda, d.lda, d.a, d.aPacking, out);
      checkRowAlignment(Slot::Ldb, d.ldb, d.b, d.bPacking, out);
    }
    if (outputs) {
      checkRowAlignment(Slot::Ldc, d.ldc, d.result, Packing::Logical, out);
      checkRowAlignment(Slot::Ldd, d.ldd, d.result, Packing::Logical, out);
    }
  }
}

void checkDescriptor(const EpilogueDesc& d, bool inTile, SlotSet slots, Problems& out) {
  checkShape("m", d.m, out);
  checkShape("n", d.n, out);
  checkScope(d.scope, out);
  using E = ElementFormat;
  if (d.element != E::F16 && d.element != E::BF16 && d.element != E::F32 && d.element != E::F64) {
    out.push_back(
        {"element", StrFormat("%s has no epilogue; use f16, bf16, f32 or f64", nameOf(d.element))});
  }
  SlotSet required, allowed{Slot::Alpha};
  if (inTile) {
    required.add(Slot::Tile);
  } else {
    required.add(Slot::D);
    allowed.add(Slot::Ldd);
  }
  if (d.bias != BiasMode::None) {
    required.add(Slot::Bias);
    allowed.add(Slot::Beta);
    if (d.bias == BiasMode::Matrix) allowed.add(Slot::LdBias);
  }
  if (d.activation == Activation::Clamp) required = required | SlotSet{Slot::Lo, Slot::Hi};
  checkSlots(slots, required, allowed, out);
  checkLeading(Slot::Ldd, d.ldd, slots, denseLeading(d, Slot::Ldd), !inTile, out);
  checkLeading(Slot::LdBias, d.ldbias, slots, denseLeading(d, Slot::LdBias),
               d.bias == BiasMode::Matrix, out);
}

void checkDescriptor(const TransferDesc& d, SlotSet slots, Problems& out) {
  if (d.rank < 1 || d.rank > kMaxRank) {
    out.push_back({"rank", StrFormat("%d is not in 1 … %d", d.rank, kMaxRank)});
    return;
  }
  const ElementInfo& e = elementInfo(d.element);
  if (d.packing == Packing::Dense && !e.isSubByte()) {
    out.push_back({"packing", StrFormat("dense packs formats below 8 bits, not %s", e.name)});
  }
  SlotSet required{Slot::Dst, Slot::Src}, allowed{Slot::View};
  const bool dense = d.packing == Packing::Dense;
  const uint64_t elementBits = dense ? e.bits : e.bytes * 8u;
  constexpr uint64_t kMaxTileBytes = 65536;
  uint64_t tileBits = elementBits;
  for (unsigned i = 0; i < kMaxRank; ++i) {
    const bool used = i < d.rank;
    if (!used) {
      if (d.extent[i] || d.stride[i] || d.tile[i] || d.step[i] != 1) {
        out.push_back({StrFormat("tile%d", i), StrFormat("dimension %d is beyond the rank", i)});
      }
      continue;
    }
    required.add(coordinateSlot(i));
    allowed.add(extentSlot(i));
    if (i > 0) allowed.add(strideSlot(i));
    if (d.tile[i] == 0) {
      out.push_back({StrFormat("tile%d", i), "a tile has at least one element in each dimension"});
    } else if (tileBits <= kMaxTileBytes * 8) {
      tileBits *= d.tile[i];
    }
    if (d.step[i] == 0) out.push_back({StrFormat("step%d", i), "an element stride is at least 1"});
    if ((d.extent[i] == 0) != slots.has(extentSlot(i))) {
      out.push_back({StrFormat("extent%d", i),
                     d.extent[i] ? "a constant is given besides the operand"
                                 : "an extent is a constant above 0 or an operand"});
    }
    if (i == 0) {
      if (d.stride[0] != (dense ? 0 : e.bytes)) {
        out.push_back({"stride0", StrFormat("%d bytes; dimension 0 is contiguous: %d", d.stride[0],
                                            dense ? 0 : e.bytes)});
      }
    } else if ((d.stride[i] == 0) != slots.has(strideSlot(i))) {
      out.push_back(
          {StrFormat("stride%d", i), d.stride[i] ? "a constant is given besides the operand"
                                                 : "a stride is a constant above 0 or an operand"});
    } else if (d.stride[i] % e.bytes != 0) {
      out.push_back(
          {StrFormat("stride%d", i),
           StrFormat("%d bytes are no multiple of an element's %d", d.stride[i], e.bytes)});
    }
  }
  if ((tileBits + 7) / 8 > kMaxTileBytes) {
    out.push_back({"tile", StrFormat("the tile is larger than %d bytes", kMaxTileBytes)});
  }
  checkSlots(slots, required, allowed, out);
}

}  // namespace mtlc::ir
