// sin, cos and tan as templates over an arithmetic domain (host_domain.h), right over the whole
// range.
//
// x = q·π/2 + r with |r| <= π/4. Up to a limit, r comes from three fma with π/2 in three parts
// (Cody and Waite); beyond it from the product of x with the bits of 2/π that matter, in integer
// arithmetic (Payne and Hanek, 1983). The second path is rare and becomes a branch; infinity and
// NaN leave through it as NaN.

#ifndef MTLC_SUPPORT_MATH_TRIG_H_
#define MTLC_SUPPORT_MATH_TRIG_H_

#include <limits>
#include <tuple>

#include "mtlc/support/math/coefficients.h"
#include "mtlc/support/math/exp.h"
#include "mtlc/support/math/polynomial.h"

namespace mtlc::math {

// Up to here the first step of the fast reduction is exact and the three parts of π/2 suffice.
inline constexpr float kFastTrigLimitF32 = 0x1p16f;
inline constexpr double kFastTrigLimitF64 = 0x1p20;

// (r, q): x = q·π/2 + r modulo 2π; only the two low bits of q count.
template <typename D>
std::tuple<typename D::F32, typename D::I32> reduceHugeF32(typename D::F32 x) {
  using F32 = typename D::F32;
  using I32 = typename D::I32;
  using I64 = typename D::I64;
  // |x| = m · 2^(e - 150), m of 24 bits. The binary digits of 2/π before position e - 151 after the
  // point would give multiples of 4 and don't matter; the 96 from there on leave an error below
  // 2^-62. The array starts 31 places before the point.
  I32 xBits = bits(x);
  I32 e = lshr(xBits, I32(23)) & I32(0xFF);
  I32 m = (xBits & I32(0x007FFFFF)) | I32(0x00800000);
  I32 position = e - I32(120);  // 23 … 134
  I32 index = lshr(position, I32(5));
  I32 shift = position & I32(31);
  auto isAtLeast1 = ne(index, I32(0)), isAtLeast2 = ult(I32(1), index),
       isAtLeast3 = ult(I32(2), index), isAtLeast4 = ult(I32(3), index);
  auto word = [&](int i) {
    auto at = [](int k) { return I32(k == 0 ? 0 : kTwoOverPi32[k - 1]); };
    I32 low = select(isAtLeast1, at(i + 1), at(i));
    low = select(isAtLeast2, at(i + 2), low);
    low = select(isAtLeast3, at(i + 3), low);
    return select(isAtLeast4, at(i + 4), low);
  };
  I32 w0 = word(0), w1 = word(1), w2 = word(2), w3 = word(3);
  auto funnel = [&](I32 high, I32 low) {
    return shl(high, shift) | lshr(lshr(low, I32(1)), shift ^ I32(31));
  };
  I32 high = funnel(w0, w1), middle = funnel(w1, w2), low = funnel(w2, w3);
  // The product modulo 2^96, without its low word: quadrant in the top two bits.
  I64 sum = zext64(m) * zext64(middle) + zext64(umulhi(m, low));
  I64 product = sum + shl(zext64(m * high), I64(32));
  I32 q = trunc32(lshr(product + I64(0x2000000000000000), I64(62)));
  // The fraction of a quadrant, in [-1/2, 1/2), times 2^64; then as a sum of two floats.
  I64 fraction = shl(product, I64(2));
  F32 head = toF32(fraction);
  F32 tail = toF32(fraction - toI64(head));
  F32 r = fma(head, F32(kHalfPiOver2To64F32[1]), tail * F32(kHalfPiOver2To64F32[0]));
  r = fma(head, F32(kHalfPiOver2To64F32[0]), r);
  auto isNegative = x < F32(0.0f);
  r = select(isNegative, -r, r);
  q = select(isNegative, I32(0) - q, q);
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  return {select(abs(x) < F32(inf), r, F32(nan)), q};
}

template <typename D>
std::tuple<typename D::F32, typename D::I32> reduceF32(typename D::F32 x) {
  using F32 = typename D::F32;
  using I32 = typename D::I32;
  return D::branch(
      abs(x) < F32(kFastTrigLimitF32),
      [&] {
        F32 shifted = fma(x, F32(kTwoOverPiF32), F32(kRoundF32));
        F32 n = shifted - F32(kRoundF32);
        // The parts are positive, so that n = +0 leaves the sign of a zero x alone.
        F32 r = fma(n, F32(-kHalfPiF32[0]), x);  // exact
        r = fma(n, F32(-kHalfPiF32[1]), r);
        r = fma(n, F32(-kHalfPiF32[2]), r);
        return std::tuple<F32, I32>(r, bits(shifted));
      },
      [&] { return reduceHugeF32<D>(x); });
}

template <typename D>
std::tuple<typename D::F64, typename D::I32> reduceHugeF64(typename D::F64 x) {
  using F64 = typename D::F64;
  using I32 = typename D::I32;
  using I64 = typename D::I64;
  // As above with words of 64 bits: |x| = m · 2^(e - 1075), m of 53 bits; the array starts 63
  // places before the point and the window has 192 digits.
  I64 xBits = bits(x);
  I32 e = trunc32(lshr(xBits, I64(52))) & I32(0x7FF);
  I64 m = (xBits & I64(0x000FFFFFFFFFFFFF)) | I64(0x0010000000000000);
  I32 position = e - I32(1013);  // 1076 - 63; from 30 (|x| >= 2^20) to 1033
  I32 index = lshr(position, I32(6));
  I64 shift = zext64(position & I32(63));
  // words[index … index + 3], index <= 16: shift the array by 16, 8, 4, 2 and 1 words.
  constexpr int kWords = 20;
  I64 words[kWords] = {
#define MTLC_WORD(i) I64(kTwoOverPi64[i])
      I64(0),        MTLC_WORD(0),  MTLC_WORD(1),  MTLC_WORD(2),  MTLC_WORD(3),
      MTLC_WORD(4),  MTLC_WORD(5),  MTLC_WORD(6),  MTLC_WORD(7),  MTLC_WORD(8),
      MTLC_WORD(9),  MTLC_WORD(10), MTLC_WORD(11), MTLC_WORD(12), MTLC_WORD(13),
      MTLC_WORD(14), MTLC_WORD(15), MTLC_WORD(16), MTLC_WORD(17), MTLC_WORD(18),
#undef MTLC_WORD
  };
  for (int step = 16; step >= 1; step /= 2) {
    auto isSet = ne(index & I32(static_cast<uint32_t>(step)), I32(0));
    // Words beyond step + 2 can't reach the result any more.
    for (int i = 0; i < step + 3 && i + step < kWords; ++i) {
      words[i] = select(isSet, words[i + step], words[i]);
    }
  }
  auto funnel = [&](I64 high, I64 low) {
    return shl(high, shift) | lshr(lshr(low, I64(1)), shift ^ I64(63));
  };
  I64 high = funnel(words[0], words[1]), middle = funnel(words[1], words[2]),
      low = funnel(words[2], words[3]);
  // The product modulo 2^192, without its low word, as (top, next).
  I64 next = m * middle;
  I64 carryIn = umulhi(m, low);
  I64 top = m * high + umulhi(m, middle);
  next = next + carryIn;
  top = top + select(ult(next, carryIn), I64(1), I64(0));
  I32 q = trunc32(lshr(top + I64(0x2000000000000000), I64(62)));
  // The fraction of a quadrant times 2^64 (signed), and 64 more bits below.
  I64 fraction = shl(top, I64(2)) | lshr(next, I64(62));
  I64 below = shl(next, I64(2));
  // head + tail = fraction + below·2^-64, below taken as unsigned through its upper half.
  F64 head = toF64(fraction);
  F64 tail = toF64(fraction - toI64(head)) + toF64(lshr(below, I64(1))) * F64(0x1p-63);
  // A fraction that cancelled to few bits gets its value from `tail` too.
  F64 sum = head + tail;
  tail = (head - sum) + tail;
  F64 r = fma(sum, F64(kHalfPiOver2To64F64[1]), tail * F64(kHalfPiOver2To64F64[0]));
  r = fma(sum, F64(kHalfPiOver2To64F64[0]), r);
  auto isNegative = x < F64(0.0);
  r = select(isNegative, -r, r);
  q = select(isNegative, I32(0) - q, q);
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return {select(abs(x) < F64(inf), r, F64(nan)), q};
}

template <typename D>
std::tuple<typename D::F64, typename D::I32> reduceF64(typename D::F64 x) {
  using F64 = typename D::F64;
  using I32 = typename D::I32;
  return D::branch(
      abs(x) < F64(kFastTrigLimitF64),
      [&] {
        F64 shifted = fma(x, F64(kTwoOverPiF64), F64(kRoundF64));
        F64 n = shifted - F64(kRoundF64);
        F64 r = fma(n, F64(-kHalfPiF64[0]), x);  // exact
        r = fma(n, F64(-kHalfPiF64[1]), r);
        r = fma(n, F64(-kHalfPiF64[2]), r);
        return std::tuple<F64, I32>(r, trunc32(bits(shifted)));
      },
      [&] { return reduceHugeF64<D>(x); });
}

// sin(r) and cos(r), |r| <= π/4. The sine as a product, so that -0 stays.
template <typename F>
struct SinCos {
  F sine, cosine;
};
template <typename D>
SinCos<typename D::F32> sinCosF32(typename D::F32 r) {
  using F32 = typename D::F32;
  F32 s = r * r;
  F32 c = fma(polynomial(s, kCosF32), s, F32(-0.5f));
  return {r * fma(polynomial(s, kSinF32), s, F32(1.0f)), fma(c, s, F32(1.0f))};
}
template <typename D>
SinCos<typename D::F64> sinCosF64(typename D::F64 r) {
  using F64 = typename D::F64;
  F64 s = r * r;
  F64 c = fma(polynomial(s, kCosF64), s, F64(-0.5));
  return {r * fma(polynomial(s, kSinF64), s, F64(1.0)), fma(c, s, F64(1.0))};
}

// Bit 1 of the quadrant is the sign of the result.
template <typename D>
typename D::F32 applyQuadrantSign(typename D::F32 v, typename D::I32 q) {
  using I32 = typename D::I32;
  return asF32(bits(v) ^ shl(q & I32(2), I32(30)));
}
template <typename D>
typename D::F64 applyQuadrantSign(typename D::F64 v, typename D::I32 q) {
  using I32 = typename D::I32;
  using I64 = typename D::I64;
  return asF64(bits(v) ^ shl(zext64(q & I32(2)), I64(62)));
}
template <typename D>
typename D::Bool isOdd(typename D::I32 q) {
  using I32 = typename D::I32;
  return ne(q & I32(1), I32(0));
}

// What sin, cos and tan of one argument have in common.
template <typename F, typename I32>
struct TrigParts {
  F sine, cosine;  // of r
  I32 quadrant;
};
template <typename D>
TrigParts<typename D::F32, typename D::I32> trigPartsF32(typename D::F32 x) {
  auto [r, q] = reduceF32<D>(x);
  auto [s, c] = sinCosF32<D>(r);
  return {s, c, q};
}
template <typename D>
TrigParts<typename D::F64, typename D::I32> trigPartsF64(typename D::F64 x) {
  auto [r, q] = reduceF64<D>(x);
  auto [s, c] = sinCosF64<D>(r);
  return {s, c, q};
}

template <typename D, typename F>
F sinOf(const TrigParts<F, typename D::I32>& p) {
  return applyQuadrantSign<D>(select(isOdd<D>(p.quadrant), p.cosine, p.sine), p.quadrant);
}
template <typename D, typename F>
F cosOf(const TrigParts<F, typename D::I32>& p) {
  return applyQuadrantSign<D>(select(isOdd<D>(p.quadrant), p.sine, p.cosine),
                              p.quadrant + typename D::I32(1));
}
// Odd quadrants: tan(r + π/2) = -cos(r) / sin(r).
template <typename D, typename F>
F tanOf(const TrigParts<F, typename D::I32>& p) {
  auto odd = isOdd<D>(p.quadrant);
  return select(odd, -p.cosine, p.sine) / select(odd, p.sine, p.cosine);
}

}  // namespace mtlc::math

#endif  // MTLC_SUPPORT_MATH_TRIG_H_
