// Patterns of IR that one PTX instruction does. They depend on the IR alone, so that both passes of
// the lowering see the same. All take constant time.

#ifndef MTLC_CODEGEN_PTX_MATCH_H_
#define MTLC_CODEGEN_PTX_MATCH_H_

#include <cstdint>
#include <optional>

#include "mtlc/codegen/ptx/profile.h"
#include "mtlc/ir/ir.h"

namespace mtlc::ptx {

// True if `v` is the result of an operation of `block` that only one operation uses, once.
inline const ir::Operation* foldable(const ir::Value* v, const ir::Block* block) {
  const ir::Operation* def = v->def();
  return def != nullptr && def->block() == block && v->hasOneUse() ? def : nullptr;
}

// An i64 that is the extension of an i8, i16 or i32.
struct Widened {
  const ir::Value* source = nullptr;
  bool isSigned = false;
  explicit operator bool() const { return source != nullptr; }
};
Widened matchWidened(const ir::Value* v);

// An i64 that mul.wide computes: widened × widened, widened × constant, widened << constant.
struct WideProduct {
  const ir::Value* a = nullptr;
  const ir::Value* b = nullptr;  // nullptr: `factor` instead.
  int64_t factor = 0;
  bool isSigned = false;
  explicit operator bool() const { return a != nullptr; }
};
WideProduct matchWideProduct(const ir::Operation& op);

// Does `factor` fit the immediate of mul.wide?
bool fitsWide(int64_t factor, bool isSigned);

// An addition of which one operand is a product that nothing else needs.
struct MulAdd {
  enum class Kind : uint8_t { None, Wide, Low, WidenOnly };
  Kind kind = Kind::None;
  WideProduct wide;              // Wide; WidenOnly: a and isSigned.
  const ir::Value* a = nullptr;  // Low: a × (b or factor)
  const ir::Value* b = nullptr;
  int64_t factor = 0;
  const ir::Value* addend = nullptr;
};
MulAdd matchMulAdd(const ir::Operation& add);

// What a ptr.add adds, in bytes.
struct PtrIndex {
  enum class Kind : uint8_t { Constant, Widened, Product, General };
  Kind kind = Kind::General;
  int64_t bytes = 0;                  // Constant
  const ir::Value* source = nullptr;  // Widened: source × factor
  bool isSigned = false;
  int64_t factor = 0;
};
PtrIndex matchPtrIndex(const ir::Operation& ptrAdd);

// The pointer of an access as base + constant, through spacecasts to generic.
struct AddressMatch {
  const ir::Value* base;
  int32_t offset;
};
AddressMatch matchAddress(const ir::Value* pointer);
// True if the pointer is known to lead into private memory, which atomics do not act on: PTX has no
// form for it, so that such an access keeps its generic address and faults where it is executed.
inline bool leadsToPrivate(const ir::Value* pointer) {
  return matchAddress(pointer).base->type().space() == ir::Space::Private;
}

// What a profile needs so that cvt does an encode or decode: it rounds f32 once and saturates.
// Decoding e5m2 takes fewer instructions without: it is the upper half of an f16.
std::optional<PtxFeature> conversionFeature(const ir::Operation& op);

// The operation that makes the array, when the base of an address is one.
const ir::Operation* asArray(const ir::Value* base);

// fma(a, b, c) with optional negations, for an fadd or fsub that may be contracted with a product.
struct Contraction {
  const ir::Operation* product = nullptr;
  const ir::Value* addend = nullptr;
  bool negateProduct = false;
  bool negateAddend = false;
  explicit operator bool() const { return product != nullptr; }
};
Contraction matchContraction(const ir::Operation& op);

// The comparison to fold into an `and` or `or` of i1, and the other operand.
struct ComparePair {
  ir::Operation* compare = nullptr;
  const ir::Value* other = nullptr;
  explicit operator bool() const { return compare != nullptr; }
};
ComparePair matchComparePair(const ir::Operation& op);

// A shift amount without the extension and mask that the shift itself makes superfluous. `width` is
// that of the shifted value.
struct Amount {
  const ir::Value* value;
  std::optional<unsigned> constant;  // Already modulo the width.
  bool below;                        // Known to be less than the width.
};
Amount matchAmount(const ir::Value* amount, unsigned width);

// Facts about the value, as an integer of its width; false means unknown.
bool knownNonZero(const ir::Value* v);
bool knownNonNegative(const ir::Value* v);

// True if every use computes with the value as a number, so that the sign and payload of a NaN
// don't matter.
bool onlyComputedWith(const ir::Value* v);

}  // namespace mtlc::ptx

#endif  // MTLC_CODEGEN_PTX_MATCH_H_
