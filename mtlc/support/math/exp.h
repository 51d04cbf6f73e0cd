// exp, exp2 and tanh as templates over an arithmetic domain (host_domain.h).
//
// e^x = 2^n · e^r and 2^x = 2^n · 2^f with n the nearest integer, found by adding 1.5·2^p, after
// which n sits in the low bits of the sum. r = x - n·ln(2) with ln(2) in two parts. The factor 2^n
// is applied in two steps of about n/2, so neither step leaves the exponent range and a subnormal
// result is rounded once. Straight-line code without branches. NaN passes through: the clamps and
// every operation on the value keep it.

#ifndef MTLC_SUPPORT_MATH_EXP_H_
#define MTLC_SUPPORT_MATH_EXP_H_

#include "mtlc/support/math/coefficients.h"
#include "mtlc/support/math/polynomial.h"

namespace mtlc::math {

// 1.5 · 2^23 and 1.5 · 2^52: x + kRound is kRound + the integer nearest to x.
inline constexpr float kRoundF32 = 0x1.8p23f;
inline constexpr double kRoundF64 = 0x1.8p52;

// p · 2^n, where `shifted` = kRound + n and |n| < 252 (f32), 2044 (f64).
template <typename D>
typename D::F32 scaleF32(typename D::F32 p, typename D::F32 shifted) {
  using F32 = typename D::F32;
  using I32 = typename D::I32;
  // The high bits of kRound's pattern leave by the shift by 23.
  I32 n = bits(shifted);
  I32 half = ashr(n, I32(1));
  I32 rest = n - half;
  F32 first = asF32(shl(half, I32(23)) + I32(0x3F800000));
  F32 second = asF32(shl(rest, I32(23)) + I32(0x3F800000));
  return p * first * second;
}
template <typename D>
typename D::F64 scaleF64(typename D::F64 p, typename D::F64 shifted) {
  using F64 = typename D::F64;
  using I64 = typename D::I64;
  I64 n = bits(shifted);
  I64 half = ashr(n, I64(1));
  I64 rest = n - half;
  F64 first = asF64(shl(half, I64(52)) + I64(0x3FF0000000000000));
  F64 second = asF64(shl(rest, I64(52)) + I64(0x3FF0000000000000));
  return p * first * second;
}

template <typename D>
typename D::F32 exp2F32(typename D::F32 x) {
  using F32 = typename D::F32;
  x = fmaxNan(fminNan(x, F32(129.0f)), F32(-151.0f));
  F32 shifted = x + F32(kRoundF32);
  F32 f = x - (shifted - F32(kRoundF32));  // exact
  F32 p = fma(polynomial(f, kExp2F32), f, F32(1.0f));
  return scaleF32<D>(p, shifted);
}

template <typename D>
typename D::F32 expF32(typename D::F32 x) {
  using F32 = typename D::F32;
  x = fmaxNan(fminNan(x, F32(89.0f)), F32(-105.0f));
  F32 shifted = fma(x, F32(kLog2eF32), F32(kRoundF32));
  F32 n = shifted - F32(kRoundF32);
  F32 r = fma(n, F32(-kLn2HiF32), x);  // exact
  r = fma(n, F32(-kLn2LoF32), r);
  F32 p = fma(polynomial(r, kExpF32), r, F32(1.0f));
  return scaleF32<D>(fma(p, r, F32(1.0f)), shifted);
}

template <typename D>
typename D::F64 exp2F64(typename D::F64 x) {
  using F64 = typename D::F64;
  x = fmaxNan(fminNan(x, F64(1025.0)), F64(-1076.0));
  F64 shifted = x + F64(kRoundF64);
  F64 f = x - (shifted - F64(kRoundF64));
  F64 p = fma(polynomial(f, kExp2F64), f, F64(1.0));
  return scaleF64<D>(p, shifted);
}

template <typename D>
typename D::F64 expF64(typename D::F64 x) {
  using F64 = typename D::F64;
  x = fmaxNan(fminNan(x, F64(710.0)), F64(-746.0));
  F64 shifted = fma(x, F64(kLog2eF64), F64(kRoundF64));
  F64 n = shifted - F64(kRoundF64);
  F64 r = fma(n, F64(-kLn2HiF64), x);
  r = fma(n, F64(-kLn2LoF64), r);
  F64 p = fma(polynomial(r, kExpF64), r, F64(1.0));
  return scaleF64<D>(fma(p, r, F64(1.0)), shifted);
}

// tanh(a) = E / (E + 2) with E = e^2a - 1 = 2^n·(e^r - 1) + (2^n - 1), which keeps small arguments
// exact. Beyond the clamp the result rounds to 1.
template <typename D>
typename D::F32 tanhF32(typename D::F32 x) {
  using F32 = typename D::F32;
  using I32 = typename D::I32;
  F32 a = fminNan(abs(x), F32(9.5f));
  F32 shifted = fma(a, F32(2 * kLog2eF32), F32(kRoundF32));
  F32 n = shifted - F32(kRoundF32);
  F32 r = fma(n, F32(-kLn2HiF32), a + a);
  r = fma(n, F32(-kLn2LoF32), r);
  F32 p = fma(polynomial(r, kExpF32) * r, r, r);  // e^r - 1
  F32 power = asF32(shl(bits(shifted), I32(23)) + I32(0x3F800000));
  F32 e = fma(power, p, power - F32(1.0f));
  return withSign<D>(e / (e + F32(2.0f)), x);
}
template <typename D>
typename D::F64 tanhF64(typename D::F64 x) {
  using F64 = typename D::F64;
  using I64 = typename D::I64;
  F64 a = fminNan(abs(x), F64(20.0));
  F64 shifted = fma(a, F64(2 * kLog2eF64), F64(kRoundF64));
  F64 n = shifted - F64(kRoundF64);
  F64 r = fma(n, F64(-kLn2HiF64), a + a);
  r = fma(n, F64(-kLn2LoF64), r);
  F64 p = fma(polynomial(r, kExpF64) * r, r, r);
  F64 power = asF64(shl(bits(shifted), I64(52)) + I64(0x3FF0000000000000));
  F64 e = fma(power, p, power - F64(1.0));
  return withSign<D>(e / (e + F64(2.0)), x);
}

}  // namespace mtlc::math

#endif  // MTLC_SUPPORT_MATH_EXP_H_
