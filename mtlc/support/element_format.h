// Element formats of tensor operands (docs/ir.md §1): what the bytes of a matrix mean. Not types:
// memory holds bytes, descriptors name the format.

#ifndef MTLC_SUPPORT_ELEMENT_FORMAT_H_
#define MTLC_SUPPORT_ELEMENT_FORMAT_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "mtlc/support/float_format.h"

namespace mtlc {

enum class ElementKind : uint8_t {
  Float,
  Scale,   // A float format that only scales may have.
  Signed,  // Two's complement.
  Unsigned,
  Bit,  // One bit; combined by xor or and, then counted.
};

// X(Enumerator, "name", kind, logical bits, bytes of one element stored on its own, FloatFormat of
//   the kinds Float and Scale)
#define MTLC_ELEMENT_FORMATS(X)         \
  X(F16, "f16", Float, 16, 2, F16)      \
  X(BF16, "bf16", Float, 16, 2, BF16)   \
  X(TF32, "tf32", Float, 32, 4, TF32)   \
  X(F32, "f32", Float, 32, 4, F32)      \
  X(F64, "f64", Float, 64, 8, F64)      \
  X(E4M3, "e4m3", Float, 8, 1, E4M3)    \
  X(E5M2, "e5m2", Float, 8, 1, E5M2)    \
  X(E2M3, "e2m3", Float, 6, 1, E2M3)    \
  X(E3M2, "e3m2", Float, 6, 1, E3M2)    \
  X(E2M1, "e2m1", Float, 4, 1, E2M1)    \
  X(UE8M0, "ue8m0", Scale, 8, 1, UE8M0) \
  X(UE4M3, "ue4m3", Scale, 8, 1, UE4M3) \
  X(I8, "i8", Signed, 8, 1, F32)        \
  X(U8, "u8", Unsigned, 8, 1, F32)      \
  X(I4, "i4", Signed, 4, 1, F32)        \
  X(U4, "u4", Unsigned, 4, 1, F32)      \
  X(B1, "b1", Bit, 1, 1, F32)           \
  X(I32, "i32", Signed, 32, 4, F32)

enum class ElementFormat : uint8_t {
#define MTLC_X(id, ...) id,
  MTLC_ELEMENT_FORMATS(MTLC_X)
#undef MTLC_X
};

inline constexpr int kElementFormatCount = 0
#define MTLC_X(id, ...) +1
    MTLC_ELEMENT_FORMATS(MTLC_X)
#undef MTLC_X
    ;

struct ElementInfo {
  std::string_view name;
  ElementKind kind;
  uint8_t bits;        // Distance of consecutive values in dense packing.
  uint8_t bytes;       // Distance of consecutive values otherwise; the value sits in the low bits.
  FloatFormat format;  // Kinds Float and Scale.

  constexpr bool isFloat() const { return kind == ElementKind::Float; }
  constexpr bool isInteger() const {
    return kind == ElementKind::Signed || kind == ElementKind::Unsigned;
  }
  constexpr bool isSubByte() const { return bits < 8; }
  constexpr bool isNarrowFloat() const { return isFloat() && bits <= 8; }  // FP8, FP6, FP4
};

namespace internal {
inline constexpr ElementInfo kElementTable[kElementFormatCount] = {
#define MTLC_X(id, name, kind, bits, bytes, format) \
  {name, ElementKind::kind, bits, bytes, FloatFormat::format},
    MTLC_ELEMENT_FORMATS(MTLC_X)
#undef MTLC_X
};
}  // namespace internal

inline constexpr const ElementInfo& elementInfo(ElementFormat format) {
  return internal::kElementTable[static_cast<uint8_t>(format)];
}

constexpr std::optional<ElementFormat> elementFormatFromName(std::string_view name) {
  for (int i = 0; i < kElementFormatCount; ++i) {
    if (internal::kElementTable[i].name == name) return static_cast<ElementFormat>(i);
  }
  return std::nullopt;
}

}  // namespace mtlc

#endif  // MTLC_SUPPORT_ELEMENT_FORMAT_H_
