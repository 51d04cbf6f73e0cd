// Binary floating-point formats narrower than or equal to float64: one description table, one
// generic decoder and encoder, and fast paths for the 16-bit types.
//
// Every conversion here rounds exactly once, to nearest with ties to even (IEEE 754-2019 §4.3.1),
// and keeps subnormals. NaN stays NaN: it becomes quiet and keeps its sign and as many of its top
// payload bits as the destination holds. Element formats: ir.md §1.

#ifndef MTLC_SUPPORT_FLOAT_FORMAT_H_
#define MTLC_SUPPORT_FLOAT_FORMAT_H_

#include <bit>
#include <cstdint>
#include <string_view>

namespace mtlc {

// What the codes with the largest exponent mean.
enum class FloatSpecials : uint8_t {
  Ieee,       // infinities and NaNs as in IEEE 754
  FiniteNan,  // no infinity; only the all-ones exponent and mantissa is NaN
  None,       // neither infinity nor NaN: every code is a number
};

// X(Enumerator, "name", storage bits, signed, exponent bits, mantissa bits, bias, specials, low
//   storage bits that carry no information). A format has subnormals and zero when it has
//   mantissa bits; ue8m0 has neither: code b is 2^(b - 127).
#define MTLC_FLOAT_FORMATS(X)                          \
  X(F16, "f16", 16, true, 5, 10, 15, Ieee, 0)          \
  X(BF16, "bf16", 16, true, 8, 7, 127, Ieee, 0)        \
  X(F32, "f32", 32, true, 8, 23, 127, Ieee, 0)         \
  X(F64, "f64", 64, true, 11, 52, 1023, Ieee, 0)       \
  X(TF32, "tf32", 32, true, 8, 10, 127, Ieee, 13)      \
  X(E4M3, "e4m3", 8, true, 4, 3, 7, FiniteNan, 0)      \
  X(E5M2, "e5m2", 8, true, 5, 2, 15, Ieee, 0)          \
  X(E2M3, "e2m3", 6, true, 2, 3, 1, None, 0)           \
  X(E3M2, "e3m2", 6, true, 3, 2, 3, None, 0)           \
  X(E2M1, "e2m1", 4, true, 2, 1, 1, None, 0)           \
  X(UE8M0, "ue8m0", 8, false, 8, 0, 127, FiniteNan, 0) \
  X(UE4M3, "ue4m3", 7, false, 4, 3, 7, FiniteNan, 0)

enum class FloatFormat : uint8_t {
#define MTLC_X(id, ...) id,
  MTLC_FLOAT_FORMATS(MTLC_X)
#undef MTLC_X
};

inline constexpr int kFloatFormatCount = 0
#define MTLC_X(id, ...) +1
    MTLC_FLOAT_FORMATS(MTLC_X)
#undef MTLC_X
    ;

struct FloatFormatInfo {
  std::string_view name;
  uint8_t storageBits;
  bool isSigned;
  uint8_t exponentBits;
  uint8_t mantissaBits;  // explicit ones
  int16_t bias;
  FloatSpecials specials;
  uint8_t unusedLowBits;

  constexpr bool hasSubnormals() const { return mantissaBits > 0; }
  // Code of the largest finite positive value, without the unused low bits.
  constexpr uint64_t maxFiniteCode() const {
    uint64_t ones = (uint64_t{1} << (exponentBits + mantissaBits)) - 1;
    switch (specials) {
      case FloatSpecials::Ieee:
        return ones - (uint64_t{1} << mantissaBits);
      case FloatSpecials::FiniteNan:
        return ones - 1;
      case FloatSpecials::None:
        return ones;
    }
    return ones;
  }
};

const FloatFormatInfo& floatFormatInfo(FloatFormat format);

// What a value beyond the largest finite one becomes.
enum class FloatOverflow : uint8_t {
  Default,   // infinity; NaN for a format without infinity; ±max where neither exists
  Saturate,  // ±max finite, infinities included
};

// The exact value of `code` (the low `storageBits` bits; higher bits and unused low bits are
// ignored). A NaN keeps sign and payload, left-aligned, and is quiet.
double decodeFloat(FloatFormat format, uint64_t code);

// `value` rounded once to `format`. NaN becomes NaN in both overflow modes; in a format without
// NaN it becomes the positive largest finite value (as PTX `cvt.satfinite` does). A negative value
// that does not round to zero has no code in an unsigned format and becomes its NaN; ue8m0 has no
// zero: zero and everything below 2^-127 becomes 2^-127.
uint64_t encodeFloat(FloatFormat format, double value,
                     FloatOverflow overflow = FloatOverflow::Default);

// The integer rounded once to `format`.
uint64_t encodeSigned(FloatFormat format, int64_t value,
                      FloatOverflow overflow = FloatOverflow::Default);
uint64_t encodeUnsigned(FloatFormat format, uint64_t value,
                        FloatOverflow overflow = FloatOverflow::Default);

// ±(significand + t) · 2^exponent rounded once to `format`, where t is 0, or with `sticky` some
// number in (0, 1). With `sticky`, significand needs more bits than the format's mantissa + 1.
uint64_t encodeParts(FloatFormat format, bool negative, uint64_t significand, int exponent,
                     bool sticky, FloatOverflow overflow = FloatOverflow::Default);

// float32 bits rounded to tf32 by PTX `cvt.rna.tf32.f32`: nearest, ties away from zero; infinity
// stays, NaN becomes quiet. The low 13 bits of the result are zero.
uint32_t roundToTf32TiesAway(uint32_t f32Bits);

// ---- Fast paths, on bit patterns. ----

namespace internal {
uint16_t f32ToF16Slow(uint32_t bits);
}  // namespace internal

inline uint32_t f32Bits(float value) { return std::bit_cast<uint32_t>(value); }
inline float f32FromBits(uint32_t bits) { return std::bit_cast<float>(bits); }
inline uint64_t f64Bits(double value) { return std::bit_cast<uint64_t>(value); }
inline double f64FromBits(uint64_t bits) { return std::bit_cast<double>(bits); }

inline bool isNanF16(uint16_t bits) { return (bits & 0x7FFF) > 0x7C00; }
inline bool isNanBf16(uint16_t bits) { return (bits & 0x7FFF) > 0x7F80; }
inline bool isNanF32(uint32_t bits) { return (bits & 0x7FFFFFFF) > 0x7F800000; }
inline bool isNanF64(uint64_t bits) { return (bits & 0x7FFFFFFFFFFFFFFF) > 0x7FF0000000000000; }

// Exact.
inline float f16ToF32(uint16_t bits) {
  uint32_t sign = uint32_t{bits & 0x8000u} << 16;
  uint32_t magnitude = bits & 0x7FFFu;
  if (magnitude >= 0x7C00) {
    uint32_t quiet = magnitude > 0x7C00 ? 0x00400000u : 0;
    return f32FromBits(sign | 0x7F800000u | ((magnitude & 0x3FF) << 13) | quiet);
  }
  if (magnitude >= 0x0400) return f32FromBits(sign | ((magnitude << 13) + (112u << 23)));
  // Subnormal or zero: an integer multiple of 2^-24, exact in float32.
  return f32FromBits(sign | f32Bits(static_cast<float>(magnitude) * 0x1p-24f));
}

inline uint16_t f32ToF16(float value) {
  uint32_t bits = f32Bits(value);
  uint32_t magnitude = bits & 0x7FFFFFFF;
  // Normal results that cannot carry past the largest exponent.
  if (magnitude >= 0x38800000 && magnitude < 0x477FF000) {
    uint32_t rounded = magnitude + 0xFFF + ((magnitude >> 13) & 1);
    return static_cast<uint16_t>((bits >> 16 & 0x8000) | ((rounded - (112u << 23)) >> 13));
  }
  return internal::f32ToF16Slow(bits);
}

// Exact.
inline float bf16ToF32(uint16_t bits) {
  uint32_t quiet = isNanBf16(bits) ? 0x00400000u : 0;
  return f32FromBits(uint32_t{bits} << 16 | quiet);
}

inline uint16_t f32ToBf16(float value) {
  uint32_t bits = f32Bits(value);
  if (isNanF32(bits)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

// float32 ↔ float64. Unlike a C++ cast, the NaN rule holds on every host.
inline double f32ToF64(float value) {
  uint32_t bits = f32Bits(value);
  if (isNanF32(bits)) {
    return f64FromBits(uint64_t{bits & 0x80000000u} << 32 | 0x7FF8000000000000 |
                       uint64_t{bits & 0x007FFFFFu} << 29);
  }
  return static_cast<double>(value);
}

inline float f64ToF32(double value) {
  uint64_t bits = f64Bits(value);
  if (isNanF64(bits)) {
    return f32FromBits(static_cast<uint32_t>(bits >> 32 & 0x80000000u) | 0x7FC00000u |
                       static_cast<uint32_t>(bits >> 29 & 0x007FFFFFu));
  }
  return static_cast<float>(value);
}

// One rounding each.
inline uint16_t f64ToF16(double value) {
  return static_cast<uint16_t>(encodeFloat(FloatFormat::F16, value));
}
inline uint16_t f64ToBf16(double value) {
  return static_cast<uint16_t>(encodeFloat(FloatFormat::BF16, value));
}
inline double f16ToF64(uint16_t bits) { return f32ToF64(f16ToF32(bits)); }
inline double bf16ToF64(uint16_t bits) { return f32ToF64(bf16ToF32(bits)); }

}  // namespace mtlc

#endif  // MTLC_SUPPORT_FLOAT_FORMAT_H_
