// Descriptors of tensor operations (docs/ir.md §11): the constant part of what they do. The part
// known at run time are operands, each in a named slot.
//
// A descriptor is a plain value. check…() says everything that contradicts the rules, field by
// field; the front end, the C API and the verifier use the same functions, so that each gives the
// same reasons.

#ifndef MTLC_IR_DESCRIPTORS_H_
#define MTLC_IR_DESCRIPTORS_H_

#include <array>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mtlc/ir/types.h"
#include "mtlc/support/element_format.h"

namespace mtlc::ir {

enum class Layout : uint8_t { Row, Col };
enum class TensorMath : uint8_t { MultiplyAdd, XorPopcount, AndPopcount };
enum class Sparsity : uint8_t { Dense, S1to2, S2to4, S4to8 };
enum class Rounding : uint8_t { Default, NearestEven, TowardZero, Down, Up };
enum class Overflow : uint8_t { Wrap, Saturate };
enum class ScaleMode : uint8_t { None, Tensor, Block16, Block32 };
enum class Packing : uint8_t { Logical, Dense };
enum class BiasMode : uint8_t { None, Row, Column, Matrix };
enum class Activation : uint8_t { Identity, Relu, Clamp };
enum class Direction : uint8_t { Load, Store };  // Load: from global to workgroup memory.
// Who sees or takes part; each scope holds those before it.
enum class Scope : uint8_t { WorkItem, Subgroup, Workgroup, Device, System };

// Spellings in the text form, indexed by the enumerators.
std::span<const std::string_view> enumNames(Layout);
std::span<const std::string_view> enumNames(TensorMath);
std::span<const std::string_view> enumNames(Sparsity);
std::span<const std::string_view> enumNames(Rounding);
std::span<const std::string_view> enumNames(Overflow);
std::span<const std::string_view> enumNames(ScaleMode);
std::span<const std::string_view> enumNames(Packing);
std::span<const std::string_view> enumNames(BiasMode);
std::span<const std::string_view> enumNames(Activation);
std::span<const std::string_view> enumNames(Direction);
std::span<const std::string_view> enumNames(Scope);
template <typename E>
std::string_view enumName(E value) {
  std::span<const std::string_view> names = enumNames(E());
  size_t i = static_cast<size_t>(value);
  return i < names.size() ? names[i] : "?";
}

// ---- Slots ----

// Operands of tensor operations; those that an operation has stand in this order.
enum class Slot : uint8_t {
#define SLOT(Enum, name, cls) Enum,
#include "mtlc/ir/descriptors.def"
};
inline constexpr int kSlotCount = 0
#define SLOT(Enum, name, cls) +1
#include "mtlc/ir/descriptors.def"
    ;
static_assert(kSlotCount <= 64);

enum class SlotClass : uint8_t {
  Tile,
  Pointer,     // To global, workgroup or generic memory.
  Index,       // i32 or i64, unsigned, the same for all of the scope.
  Coordinate,  // i32, signed, the same for all of the scope.
  Float,       // f32, or f64 where the elements are f64.
};

class SlotSet {
 public:
  constexpr SlotSet() = default;
  constexpr explicit SlotSet(uint64_t bits) : bits_(bits) {}
  constexpr SlotSet(std::initializer_list<Slot> slots) {
    for (Slot s : slots) add(s);
  }
  constexpr void add(Slot s) { bits_ |= uint64_t{1} << static_cast<int>(s); }
  constexpr bool has(Slot s) const { return (bits_ >> static_cast<int>(s) & 1) != 0; }
  constexpr uint64_t bits() const { return bits_; }
  constexpr unsigned size() const { return static_cast<unsigned>(std::popcount(bits_)); }
  // How many slots of the set come before `s`: the operand index of `s`.
  constexpr unsigned indexOf(Slot s) const {
    return static_cast<unsigned>(std::popcount(bits_ & ((uint64_t{1} << static_cast<int>(s)) - 1)));
  }
  friend constexpr SlotSet operator|(SlotSet a, SlotSet b) { return SlotSet(a.bits_ | b.bits_); }
  friend constexpr SlotSet operator-(SlotSet a, SlotSet b) { return SlotSet(a.bits_ & ~b.bits_); }
  friend constexpr bool operator==(SlotSet, SlotSet) = default;

 private:
  uint64_t bits_ = 0;
};

std::string_view slotName(Slot slot);
SlotClass slotClass(Slot slot);
std::optional<Slot> slotFromName(std::string_view name);

// The slots of dimension i of a transfer.
constexpr Slot coordinateSlot(unsigned i) {
  return static_cast<Slot>(static_cast<unsigned>(Slot::X0) + i);
}
constexpr Slot extentSlot(unsigned i) {
  return static_cast<Slot>(static_cast<unsigned>(Slot::Extent0) + i);
}
constexpr Slot strideSlot(unsigned i) {  // i ≥ 1
  return static_cast<Slot>(static_cast<unsigned>(Slot::Stride1) + i - 1);
}

// ---- Descriptors ----

// tensor.mma, tensor.matmul, tensor.acc.begin, tensor.acc.mma
struct MmaDesc {
  uint32_t m = 0, n = 0, k = 0;  // Of a matmul: the region, and the preferred chunk of K.
  ElementFormat a = ElementFormat::F16, b = ElementFormat::F16;
  ElementFormat acc = ElementFormat::F32, result = ElementFormat::F32;
  Layout aLayout = Layout::Row, bLayout = Layout::Col;
  Layout cLayout = Layout::Row, dLayout = Layout::Row;
  // In stored elements; 0 where the slot of the same name has the value.
  uint32_t lda = 0, ldb = 0, ldc = 0, ldd = 0;
  TensorMath math = TensorMath::MultiplyAdd;
  Sparsity sparsity = Sparsity::Dense;
  Rounding rounding = Rounding::Default;
  Overflow overflow = Overflow::Wrap;
  ScaleMode aScale = ScaleMode::None, bScale = ScaleMode::None;
  ElementFormat aScaleFormat = ElementFormat::UE8M0, bScaleFormat = ElementFormat::UE8M0;
  uint32_t ldsa = 0, ldsb = 0;
  // Bytes from one row of metadata to the next; 0: without gaps, or the slot has it.
  uint32_t ldmeta = 0;
  Packing aPacking = Packing::Logical, bPacking = Packing::Logical;
  bool transposeA = false, transposeB = false;
  Scope scope = Scope::Subgroup;

  friend bool operator==(const MmaDesc&, const MmaDesc&) = default;
};

// tensor.epilogue, tensor.acc.epilogue
struct EpilogueDesc {
  uint32_t m = 0, n = 0;
  ElementFormat element = ElementFormat::F32;
  Layout layout = Layout::Row;
  uint32_t ldd = 0;  // 0: the slot has it. Of acc.epilogue: unused, the tile knows its home.
  BiasMode bias = BiasMode::None;
  Layout biasLayout = Layout::Row;  // Matrix bias.
  uint32_t ldbias = 0;
  Activation activation = Activation::Identity;
  Scope scope = Scope::Subgroup;

  friend bool operator==(const EpilogueDesc&, const EpilogueDesc&) = default;
};

inline constexpr unsigned kMaxRank = 5;

// tensor.transfer
struct TransferDesc {
  uint8_t rank = 0;
  Direction direction = Direction::Load;
  ElementFormat element = ElementFormat::F32;
  Packing packing = Packing::Logical;
  std::array<uint64_t, kMaxRank> extent{};  // Elements; 0: the slot has it.
  std::array<uint64_t, kMaxRank> stride{};  // Bytes; [0] is one element; 0: the slot has it.
  std::array<uint32_t, kMaxRank> tile{};    // Elements.
  std::array<uint32_t, kMaxRank> step{1, 1, 1, 1, 1};  // Element strides within the global tensor.

  // Scope is the workgroup.
  friend bool operator==(const TransferDesc&, const TransferDesc&) = default;
};

// ---- Derived facts ----

// The packing of a format where none is written: dense for i4, u4 and b1.
constexpr Packing defaultPacking(ElementFormat f) {
  return f == ElementFormat::I4 || f == ElementFormat::U4 || f == ElementFormat::B1
             ? Packing::Dense
             : Packing::Logical;
}
// Logical values in a group of a sparsity, of which half are stored; 1 for dense.
constexpr uint32_t sparseGroup(Sparsity s) {
  constexpr uint32_t kGroups[] = {1, 2, 4, 8};
  return kGroups[static_cast<int>(s)];
}
// Stored values of a row of A for `k` logical ones: a partial last group stores half of its size,
// too.
constexpr uint64_t storedK(Sparsity s, uint64_t k) {
  uint64_t g = sparseGroup(s);
  return s == Sparsity::Dense ? k : (k + g - 1) / g * (g / 2);
}
// Length of a block of a scale mode along K; 0 for none and tensor.
constexpr uint32_t scaleBlock(ScaleMode mode) {
  return mode == ScaleMode::Block16 ? 16 : mode == ScaleMode::Block32 ? 32 : 0;
}

// Stored rows and columns of an operand of the tile, transposition and sparsity applied.
struct StoredShape {
  uint64_t rows = 0, cols = 0;
  // The least leading dimension.
  uint64_t minor(Layout layout) const { return layout == Layout::Row ? cols : rows; }
};
StoredShape storedA(const MmaDesc& d);
StoredShape storedB(const MmaDesc& d);
StoredShape storedC(const MmaDesc& d);  // and D

// The least leading dimension of the slot of a tile (Lda … Ldsb), which is what a descriptor
// without one means.
uint64_t denseLeading(const MmaDesc& d, Slot slot);
uint64_t denseLeading(const EpilogueDesc& d, Slot slot);  // Ldd, LdBias

// Fills each leading dimension that is 0 and not in `runtime` with the least one.
void setDenseLeading(MmaDesc& d, SlotSet runtime);
void setDenseLeading(EpilogueDesc& d, SlotSet runtime);

enum class MmaUse : uint8_t { Mma, Matmul, AccBegin, AccMma };

// The descriptor with what the use does not look at at its default: the inputs of acc.begin, the
// outputs' leading dimensions of acc.mma.
MmaDesc normalizedFor(MmaUse use, const MmaDesc& d);
// The type of the tile that acc.begin makes.
Type tileType(const MmaDesc& d);

// ---- Rules ----

// What is wrong with a descriptor or its operands: the field or slot as the text form spells it,
// and why.
struct DescriptorProblem {
  std::string field;
  std::string reason;  // Says the value, what it contradicts, and what would be right.
};

// All problems of the descriptor on its own; `slots` are those that the operation has.
void checkDescriptor(const MmaDesc& d, MmaUse use, SlotSet slots,
                     std::vector<DescriptorProblem>& problems);
// `inTile`: of tensor.acc.epilogue.
void checkDescriptor(const EpilogueDesc& d, bool inTile, SlotSet slots,
                     std::vector<DescriptorProblem>& problems);
void checkDescriptor(const TransferDesc& d, SlotSet slots,
                     std::vector<DescriptorProblem>& problems);

}  // namespace mtlc::ir

#endif  // MTLC_IR_DESCRIPTORS_H_
