// The scalar semantics of the IR (docs/ir.md §2), one definition for the constant folder, the
// reference interpreter and the host evaluation of mathematical functions.
//
// A value is its bit pattern in the low bits of a uint64_t, with zeros above. Integer widths are
// 1, 8, 16, 32 and 64. Every function returns such a value; none has undefined inputs.
//
// Arithmetic, rounding to integral and min/max with a NaN result give the canonical quiet NaN
// (positive, empty payload), so results don't depend on operand order or host. Conversions keep a
// NaN's sign and top payload bits; fneg, fabs, select and bitcast move bits.

#ifndef MTLC_SUPPORT_SCALAR_OPS_H_
#define MTLC_SUPPORT_SCALAR_OPS_H_

#include <bit>
#include <cmath>
#include <cstdint>

#include "mtlc/support/float_format.h"

namespace mtlc {

// The float types of the IR, in the order of ir::TypeKind.
enum class FloatKind : uint8_t { F16, BF16, F32, F64 };

// In the order of the comparison rows of mtlc/ir/ops.def.
enum class IntPredicate : uint8_t { Eq, Ne, Slt, Sle, Sgt, Sge, Ult, Ule, Ugt, Uge };
enum class FloatPredicate : uint8_t {
  Oeq,
  Ogt,
  Oge,
  Olt,
  Ole,
  One,
  Ord,
  Ueq,
  Ugt,
  Uge,
  Ult,
  Ule,
  Une,
  Uno,
};

constexpr FloatFormat formatOf(FloatKind kind) {
  static_assert(static_cast<int>(FloatFormat::F64) == static_cast<int>(FloatKind::F64));
  return static_cast<FloatFormat>(kind);
}

namespace scalar {

// ---- Integers ----

constexpr uint64_t mask(unsigned width) { return ~uint64_t{0} >> (64 - width); }
constexpr uint64_t wrap(unsigned width, uint64_t v) { return v & mask(width); }
constexpr int64_t signExtend(unsigned width, uint64_t v) {
  return static_cast<int64_t>(v << (64 - width)) >> (64 - width);
}
constexpr uint64_t signBit(unsigned width) { return uint64_t{1} << (width - 1); }

constexpr uint64_t add(unsigned w, uint64_t a, uint64_t b) { return wrap(w, a + b); }
constexpr uint64_t sub(unsigned w, uint64_t a, uint64_t b) { return wrap(w, a - b); }
constexpr uint64_t mul(unsigned w, uint64_t a, uint64_t b) { return wrap(w, a * b); }
constexpr uint64_t neg(unsigned w, uint64_t a) { return wrap(w, uint64_t{0} - a); }

// The high half of the double-width product.
constexpr uint64_t umulhi(unsigned w, uint64_t a, uint64_t b) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b >> w) & mask(w);
}
constexpr uint64_t smulhi(unsigned w, uint64_t a, uint64_t b) {
  return wrap(
      w, static_cast<uint64_t>(static_cast<__int128>(signExtend(w, a)) * signExtend(w, b) >> w));
}

constexpr uint64_t udiv(unsigned w, uint64_t a, uint64_t b) { return b == 0 ? mask(w) : a / b; }
constexpr uint64_t urem(unsigned, uint64_t a, uint64_t b) { return b == 0 ? a : a % b; }
constexpr uint64_t sdiv(unsigned w, uint64_t a, uint64_t b) {
  if (b == 0) return mask(w);
  if (b == mask(w)) return neg(w, a);  // -1: MIN / -1 wraps to MIN
  return wrap(w, static_cast<uint64_t>(signExtend(w, a) / signExtend(w, b)));
}
constexpr uint64_t srem(unsigned w, uint64_t a, uint64_t b) {
  if (b == 0) return a;
  if (b == mask(w)) return 0;
  return wrap(w, static_cast<uint64_t>(signExtend(w, a) % signExtend(w, b)));
}

// Amounts are taken modulo the width.
constexpr uint64_t shl(unsigned w, uint64_t a, uint64_t n) { return wrap(w, a << (n & (w - 1))); }
constexpr uint64_t lshr(unsigned w, uint64_t a, uint64_t n) { return a >> (n & (w - 1)); }
constexpr uint64_t ashr(unsigned w, uint64_t a, uint64_t n) {
  return wrap(w, static_cast<uint64_t>(signExtend(w, a) >> (n & (w - 1))));
}

constexpr uint64_t umin(unsigned, uint64_t a, uint64_t b) { return a < b ? a : b; }
constexpr uint64_t umax(unsigned, uint64_t a, uint64_t b) { return a < b ? b : a; }
constexpr uint64_t smin(unsigned w, uint64_t a, uint64_t b) {
  return signExtend(w, a) < signExtend(w, b) ? a : b;
}
constexpr uint64_t smax(unsigned w, uint64_t a, uint64_t b) {
  return signExtend(w, a) < signExtend(w, b) ? b : a;
}
constexpr uint64_t abs(unsigned w, uint64_t a) {  // MIN stays MIN
  return signExtend(w, a) < 0 ? neg(w, a) : a;
}
constexpr uint64_t clz(unsigned w, uint64_t a) {  // clz(0) = width
  return static_cast<uint64_t>(std::countl_zero(a)) - (64 - w);
}
constexpr uint64_t popcount(unsigned, uint64_t a) {
  return static_cast<uint64_t>(std::popcount(a));
}

constexpr uint64_t sext(unsigned from, unsigned to, uint64_t a) {
  return wrap(to, static_cast<uint64_t>(signExtend(from, a)));
}

constexpr bool icmp(IntPredicate p, unsigned w, uint64_t a, uint64_t b) {
  switch (p) {
    case IntPredicate::Eq:
      return a == b;
    case IntPredicate::Ne:
      return a != b;
    case IntPredicate::Slt:
      return signExtend(w, a) < signExtend(w, b);
    case IntPredicate::Sle:
      return signExtend(w, a) <= signExtend(w, b);
    case IntPredicate::Sgt:
      return signExtend(w, a) > signExtend(w, b);
    case IntPredicate::Sge:
      return signExtend(w, a) >= signExtend(w, b);
    case IntPredicate::Ult:
      return a < b;
    case IntPredicate::Ule:
      return a <= b;
    case IntPredicate::Ugt:
      return a > b;
    case IntPredicate::Uge:
      return a >= b;
  }
  return false;
}

// ---- Floats: representation ----

constexpr unsigned floatBits(FloatKind kind) {
  constexpr unsigned kBits[] = {16, 16, 32, 64};
  return kBits[static_cast<int>(kind)];
}
constexpr uint64_t canonicalNan(FloatKind kind) {
  constexpr uint64_t kNan[] = {0x7E00, 0x7FC0, 0x7FC00000, 0x7FF8000000000000};
  return kNan[static_cast<int>(kind)];
}
constexpr uint64_t infinity(FloatKind kind) {
  constexpr uint64_t kInf[] = {0x7C00, 0x7F80, 0x7F800000, 0x7FF0000000000000};
  return kInf[static_cast<int>(kind)];
}
constexpr uint64_t fneg(FloatKind kind, uint64_t a) { return a ^ signBit(floatBits(kind)); }
constexpr uint64_t fabs(FloatKind kind, uint64_t a) { return a & ~signBit(floatBits(kind)); }
constexpr bool isNan(FloatKind kind, uint64_t a) { return fabs(kind, a) > infinity(kind); }

// The exact value.
inline double toDouble(FloatKind kind, uint64_t a) {
  switch (kind) {
    case FloatKind::F16:
      return f16ToF64(static_cast<uint16_t>(a));
    case FloatKind::BF16:
      return bf16ToF64(static_cast<uint16_t>(a));
    case FloatKind::F32:
      return f32ToF64(f32FromBits(static_cast<uint32_t>(a)));
    case FloatKind::F64:
      break;
  }
  return f64FromBits(a);
}

// Any float to any other with one rounding; NaN keeps sign and top payload and becomes quiet.
inline uint64_t fromDouble(FloatKind kind, double v) {
  switch (kind) {
    case FloatKind::F16:
      return f64ToF16(v);
    case FloatKind::BF16:
      return f64ToBf16(v);
    case FloatKind::F32:
      return f32Bits(f64ToF32(v));
    case FloatKind::F64:
      break;
  }
  uint64_t bits = f64Bits(v);
  return isNanF64(bits) ? bits | 0x0008000000000000 : bits;
}
inline uint64_t fconv(FloatKind from, FloatKind to, uint64_t a) {
  return fromDouble(to, toDouble(from, a));
}

// The code of a value of `kind` in a narrow format; see encodeFloat().
inline uint64_t encode(FloatKind kind, FloatFormat format, bool saturate, uint64_t a) {
  return encodeFloat(format, toDouble(kind, a),
                     saturate ? FloatOverflow::Saturate : FloatOverflow::Default);
}
// The value of a code, rounded once to `kind`.
inline uint64_t decode(FloatFormat format, FloatKind kind, uint64_t code) {
  return fromDouble(kind, decodeFloat(format, code));
}

// ---- Floats: arithmetic ----

namespace internal {

inline uint64_t result32(float v) { return v != v ? canonicalNan(FloatKind::F32) : f32Bits(v); }
inline uint64_t result64(double v) { return v != v ? canonicalNan(FloatKind::F64) : f64Bits(v); }
inline uint64_t result16(FloatKind kind, double v) {
  return v != v ? canonicalNan(kind) : fromDouble(kind, v);
}

// a·b + c of 16-bit values, rounded to double *to odd* instead of to nearest: the product is exact
// in double, and of the two doubles around the sum the one with an odd significand is taken.
// Rounding that to 11 or fewer bits is then the correct rounding of the exact value
// (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums", 2008).
inline double fmaToOdd(double a, double b, double c) {
  double product = a * b;
  double sum = product + c;
  if (!std::isfinite(sum)) return sum;
  double cBack = sum - product;
  double error = (product - (sum - cBack)) + (c - cBack);  // exact (TwoSum)
  uint64_t bits = f64Bits(sum);
  if (error == 0 || (bits & 1) != 0) return sum;
  // Inexact with an even significand: the other neighbour of the exact value is odd.
  bool outward = (error > 0) == (sum > 0);
  return f64FromBits(outward ? bits + 1 : bits - 1);
}

// `op` is a generic callable on float and on double. For 16-bit types double has more than twice
// the precision plus two bits, so rounding its correctly rounded result again is innocuous for
// add, sub, mul, div and sqrt (Figueroa, 1995).
template <typename Op>
inline uint64_t unary(FloatKind kind, uint64_t a, Op op) {
  if (kind == FloatKind::F32) return result32(op(f32FromBits(static_cast<uint32_t>(a))));
  if (kind == FloatKind::F64) return result64(op(f64FromBits(a)));
  return result16(kind, op(toDouble(kind, a)));
}
template <typename Op>
inline uint64_t binary(FloatKind kind, uint64_t a, uint64_t b, Op op) {
  if (kind == FloatKind::F32) {
    return result32(
        op(f32FromBits(static_cast<uint32_t>(a)), f32FromBits(static_cast<uint32_t>(b))));
  }
  if (kind == FloatKind::F64) return result64(op(f64FromBits(a), f64FromBits(b)));
  return result16(kind, op(toDouble(kind, a), toDouble(kind, b)));
}

}  // namespace internal

inline uint64_t fadd(FloatKind kind, uint64_t a, uint64_t b) {
  return internal::binary(kind, a, b, [](auto x, auto y) { return x + y; });
}
inline uint64_t fsub(FloatKind kind, uint64_t a, uint64_t b) {
  return internal::binary(kind, a, b, [](auto x, auto y) { return x - y; });
}
inline uint64_t fmul(FloatKind kind, uint64_t a, uint64_t b) {
  return internal::binary(kind, a, b, [](auto x, auto y) { return x * y; });
}
inline uint64_t fdiv(FloatKind kind, uint64_t a, uint64_t b) {
  return internal::binary(kind, a, b, [](auto x, auto y) { return x / y; });
}
inline uint64_t fsqrt(FloatKind kind, uint64_t a) {
  return internal::unary(kind, a, [](auto x) { return std::sqrt(x); });
}
inline uint64_t fma(FloatKind kind, uint64_t a, uint64_t b, uint64_t c) {
  if (kind == FloatKind::F32) {
    return internal::result32(std::fma(f32FromBits(static_cast<uint32_t>(a)),
                                       f32FromBits(static_cast<uint32_t>(b)),
                                       f32FromBits(static_cast<uint32_t>(c))));
  }
  if (kind == FloatKind::F64) {
    return internal::result64(std::fma(f64FromBits(a), f64FromBits(b), f64FromBits(c)));
  }
  return internal::result16(
      kind, internal::fmaToOdd(toDouble(kind, a), toDouble(kind, b), toDouble(kind, c)));
}

inline uint64_t ffloor(FloatKind kind, uint64_t a) {
  return internal::unary(kind, a, [](auto x) { return std::floor(x); });
}
inline uint64_t fceil(FloatKind kind, uint64_t a) {
  return internal::unary(kind, a, [](auto x) { return std::ceil(x); });
}
inline uint64_t ftrunc(FloatKind kind, uint64_t a) {
  return internal::unary(kind, a, [](auto x) { return std::trunc(x); });
}
// Ties away from zero.
inline uint64_t fround(FloatKind kind, uint64_t a) {
  return internal::unary(kind, a, [](auto x) { return std::round(x); });
}
// Ties to even.
inline uint64_t froundeven(FloatKind kind, uint64_t a) {
  return internal::unary(kind, a, [](auto x) { return std::nearbyint(x); });
}

// -0 < +0. The number form gives the other operand when one is NaN; the nan form gives NaN.
inline uint64_t fmin(FloatKind kind, uint64_t a, uint64_t b) {
  if (isNan(kind, a)) return isNan(kind, b) ? canonicalNan(kind) : b;
  if (isNan(kind, b)) return a;
  double x = toDouble(kind, a), y = toDouble(kind, b);
  if (x == y) return a | b;  // differ only if zeros: the negative one
  return x < y ? a : b;
}
inline uint64_t fmax(FloatKind kind, uint64_t a, uint64_t b) {
  if (isNan(kind, a)) return isNan(kind, b) ? canonicalNan(kind) : b;
  if (isNan(kind, b)) return a;
  double x = toDouble(kind, a), y = toDouble(kind, b);
  if (x == y) return a & b;
  return x < y ? b : a;
}
inline uint64_t fminNan(FloatKind kind, uint64_t a, uint64_t b) {
  return isNan(kind, a) || isNan(kind, b) ? canonicalNan(kind) : fmin(kind, a, b);
}
inline uint64_t fmaxNan(FloatKind kind, uint64_t a, uint64_t b) {
  return isNan(kind, a) || isNan(kind, b) ? canonicalNan(kind) : fmax(kind, a, b);
}

inline bool fcmp(FloatPredicate p, FloatKind kind, uint64_t a, uint64_t b) {
  double x = toDouble(kind, a), y = toDouble(kind, b);
  bool unordered = x != x || y != y;
  switch (p) {
    case FloatPredicate::Oeq:
      return x == y;
    case FloatPredicate::Ogt:
      return x > y;
    case FloatPredicate::Oge:
      return x >= y;
    case FloatPredicate::Olt:
      return x < y;
    case FloatPredicate::Ole:
      return x <= y;
    case FloatPredicate::One:
      return !unordered && x != y;
    case FloatPredicate::Ord:
      return !unordered;
    case FloatPredicate::Ueq:
      return unordered || x == y;
    case FloatPredicate::Ugt:
      return unordered || x > y;
    case FloatPredicate::Uge:
      return unordered || x >= y;
    case FloatPredicate::Ult:
      return unordered || x < y;
    case FloatPredicate::Ule:
      return unordered || x <= y;
    case FloatPredicate::Une:
      return x != y;
    case FloatPredicate::Uno:
      return unordered;
  }
  return false;
}

// ---- Conversions between integers and floats ----

// Truncates toward zero, saturates, NaN gives 0.
inline uint64_t ftosi(FloatKind kind, unsigned width, uint64_t a) {
  double x = toDouble(kind, a);
  if (x != x) return 0;
  double limit = std::ldexp(1.0, static_cast<int>(width) - 1);  // exact
  if (x >= limit) return signBit(width) - 1;
  if (x <= -limit) return signBit(width);
  return wrap(width, static_cast<uint64_t>(static_cast<int64_t>(x)));
}
inline uint64_t ftoui(FloatKind kind, unsigned width, uint64_t a) {
  double x = toDouble(kind, a);
  if (!(x > 0)) return 0;
  if (x >= std::ldexp(1.0, static_cast<int>(width))) return mask(width);
  return static_cast<uint64_t>(x);
}

// One rounding to nearest-even. i1 true is -1 signed, 1 unsigned.
inline uint64_t sitof(FloatKind kind, unsigned width, uint64_t a) {
  int64_t v = signExtend(width, a);
  if (kind == FloatKind::F32) return f32Bits(static_cast<float>(v));
  if (kind == FloatKind::F64) return f64Bits(static_cast<double>(v));
  return encodeSigned(formatOf(kind), v);
}
inline uint64_t uitof(FloatKind kind, unsigned, uint64_t a) {
  if (kind == FloatKind::F32) return f32Bits(static_cast<float>(a));
  if (kind == FloatKind::F64) return f64Bits(static_cast<double>(a));
  return encodeUnsigned(formatOf(kind), a);
}

}  // namespace scalar
}  // namespace mtlc

#endif  // MTLC_SUPPORT_SCALAR_OPS_H_
