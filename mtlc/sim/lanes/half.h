// Narrow floating-point formats, for the sources of this folder only.

#ifndef MTLC_SIM_LANES_HALF_H_
#define MTLC_SIM_LANES_HALF_H_

#include "mtlc/sim/lanes/float_ops.h"

namespace mtlc::sim::MTLC_LANES {
namespace {

enum class Round : u8 { nearest, zero, down, up, away };  // away: nearest, ties away from zero

struct Format {
  int mantissa;  // Stored bits.
  int bias;
  u32 infinity;  // Bits past the largest finite value: infinity, NaN for e4m3, or no code at all.
  u32 nan;       // The largest value where the format has no NaN.
};
constexpr Format kHalf{10, 15, 0x7c00, 0x7fff};
constexpr Format kBHalf{7, 127, 0x7f80, 0x7fff};
constexpr Format kE4m3{3, 7, 0x7f, 0x7f};
constexpr Format kE5m2{2, 15, 0x7c, 0x7f};
constexpr Format kE2m1{1, 1, 0x8, 0x7};
constexpr Format kE2m3{3, 1, 0x20, 0x1f};
constexpr Format kE3m2{2, 3, 0x20, 0x1f};
constexpr Format kTf32{10, 127, 0xff << 10, 0x3ffff};
constexpr Format kBinary32{23, 127, 0x7f800000u, 0x7fffffffu};

MTLC_INLINE float halfToFloat(u16 h) {
  u32 magnitudeBits = h & 0x7fffu;
  u32 scaled = bitsOf(asFloat(magnitudeBits << 13) * 0x1p112f);
  u32 special = magnitudeBits << 13 | 0x7f800000u;
  return asFloat((magnitudeBits >= 0x7c00u ? special : scaled) | (h & 0x8000u) << 16);
}
MTLC_INLINE float bhalfToFloat(u16 h) { return asFloat(static_cast<u32>(h) << 16); }

// `x` rounded once to `f`: sign above exponent above mantissa, in the low bits. A NaN becomes the
// format's canonical one. `finite`: what overflows, and infinity, becomes the largest finite value.
MTLC_INLINE u32 roundToFormat(double x, const Format& f, Round mode, bool finite,
                              unsigned signBit) {
  u64 b = bitsOf(x);
  bool negative = (b >> 63) != 0;
  u32 sign = negative ? u32{1} << signBit : 0;
  u64 magnitudeBits = b & ~(u64{1} << 63);
  if (magnitudeBits > 0x7ff0000000000000u) return f.nan;
  if (magnitudeBits == 0x7ff0000000000000u) return sign | (finite ? f.infinity - 1 : f.infinity);
  if (magnitudeBits == 0) return sign;
  int biased = static_cast<int>(magnitudeBits >> 52);
  u64 m = (magnitudeBits & 0xfffffffffffffu) | (biased != 0 ? u64{1} << 52 : 0);
  int e = biased != 0 ? biased - 1023 : -1022;
  int least = 1 - f.bias;
  int exponent = e > least ? e : least;
  int drop = 52 - f.mantissa + (exponent - e);
  u64 kept = drop > 63 ? 0 : m >> drop;
  u64 rest = drop > 63 ? m : m & ((u64{1} << drop) - 1);
  // Twice the rest against the dropped unit, without overflow: m < 2^53.
  int compare = drop > 54                         ? -1
                : (rest << 1) > (u64{1} << drop)  ? 1
                : (rest << 1) == (u64{1} << drop) ? 0
                                                  : -1;
  bool up = false;
  switch (mode) {
    case Round::nearest:
      up = compare > 0 || (compare == 0 && (kept & 1) != 0);
      break;
    case Round::away:
      up = compare >= 0;
      break;
    case Round::zero:
      break;
    case Round::down:
      up = negative && rest != 0;
      break;
    case Round::up:
      up = !negative && rest != 0;
      break;
  }
  kept += up ? 1 : 0;
  u64 bits = (static_cast<u64>(exponent + f.bias - 1) << f.mantissa) + kept;
  if (bits >= f.infinity) {
    bool toInfinity = mode == Round::nearest || mode == Round::away ||
                      (mode == Round::down && negative) || (mode == Round::up && !negative);
    bits = finite || !toInfinity ? f.infinity - 1 : f.infinity;
  }
  return sign | static_cast<u32>(bits);
}

MTLC_INLINE u16 toHalf(double x, Round mode = Round::nearest, bool finite = false) {
  return static_cast<u16>(roundToFormat(x, kHalf, mode, finite, 15));
}
MTLC_INLINE u16 toBHalf(double x, Round mode = Round::nearest, bool finite = false) {
  return static_cast<u16>(roundToFormat(x, kBHalf, mode, finite, 15));
}

MTLC_INLINE Round roundOf(const Form& f) {
  if (f.has(Mod::rz) || f.has(Mod::rzi)) return Round::zero;
  if (f.has(Mod::rm) || f.has(Mod::rmi)) return Round::down;
  if (f.has(Mod::rp) || f.has(Mod::rpi)) return Round::up;
  if (f.has(Mod::rna)) return Round::away;
  return Round::nearest;
}

// Bits of imm of half-precision arithmetic, set by halfFlags.
constexpr i64 kHalfFtz = 1, kHalfSat = 2, kHalfRelu = 4, kHalfNan = 8, kHalfXorSign = 16;

template <bool kBrain>
struct Narrow {
  static constexpr u16 kExponent = kBrain ? 0x7f80 : 0x7c00;
  static MTLC_INLINE float decode(u16 h) { return kBrain ? bhalfToFloat(h) : halfToFloat(h); }
  static MTLC_INLINE u16 encode(double x) { return kBrain ? toBHalf(x) : toHalf(x); }
  static MTLC_INLINE bool nan(u16 h) { return (h & 0x7fff) > kExponent; }
  static MTLC_INLINE u16 flushed(u16 h) { return (h & kExponent) == 0 ? h & 0x8000 : h; }
};

template <bool kBrain, bool kMax>
MTLC_INLINE u16 minMax(u16 a, u16 b, i64 flags) {
  using N = Narrow<kBrain>;
  u16 sign = (a ^ b) & 0x8000;
  if ((flags & kHalfXorSign) != 0) {
    a &= 0x7fff;
    b &= 0x7fff;
  }
  u16 r;
  if (N::nan(a) || N::nan(b)) {
    r = (flags & kHalfNan) != 0 || (N::nan(a) && N::nan(b)) ? 0x7fff : N::nan(a) ? b : a;
  } else {
    float x = N::decode(a), y = N::decode(b);
    if (x == y) {
      r = kMax ? a & b : a | b;
    } else {
      r = (x < y) != kMax ? a : b;
    }
  }
  if (r != 0x7fff && (flags & kHalfXorSign) != 0) r |= sign;
  return r;
}

// The exact sum rounded to odd: a later rounding to at most 51 bits is then as if done once.
MTLC_INLINE double addRoundOdd(double a, double b) {
  double s = a + b;
  double t = s - a;
  double error = (a - (s - t)) + (b - t);
  u64 bits = bitsOf(s);
  bool inexact = error != 0 && (bits & 1) == 0 && s - s == 0;
  // Towards the error when it points away from zero, else back.
  bool grow = (error > 0) == (s > 0);
  return inexact ? asDouble(grow ? bits + 1 : bits - 1) : s;
}

}  // namespace
}  // namespace mtlc::sim::MTLC_LANES

#endif  // MTLC_SIM_LANES_HALF_H_
