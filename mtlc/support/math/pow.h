// pow as a template over an arithmetic domain (host_domain.h).
//
// x^y = 2^(y·log2 x) with the logarithm as an unevaluated sum of two numbers, because an error of
// the product is one of the result, multiplied by up to 150 (f32) or 1075 (f64) and ln(2).
// Zeros, infinities and NaN take a branch; the rules are those of C (ISO C F.10.4.4).

#ifndef MTLC_SUPPORT_MATH_POW_H_
#define MTLC_SUPPORT_MATH_POW_H_

#include <limits>

#include "mtlc/support/math/coefficients.h"
#include "mtlc/support/math/exp.h"
#include "mtlc/support/math/polynomial.h"

namespace mtlc::math {

// high + low, |low| at most half a unit of high.
template <typename F>
struct Pair {
  F high, low;
};
// The sum of a and b as a pair; |a| >= |b| or a = 0.
template <typename F>
Pair<F> fastSum(F a, F b) {
  F sum = a + b;
  return {sum, (a - sum) + b};
}

// q = 2(m-1)/(m+1) as a pair.
template <typename F>
Pair<F> logQuotient(F m, F one) {
  F f = m - one;           // exact
  F d = m + one;           // rounded
  F dLow = m - (d - one);  // what rounding lost; exact
  F numerator = f + f;
  F reciprocal = one / d;
  F q = numerator * reciprocal;
  F rest = fma(-q, dLow, fma(-q, d, numerator));
  return {q, rest * reciprocal};
}

// exponent + log·log2(e) as a pair.
template <typename F>
Pair<F> log2FromLog(F exponent, Pair<F> log, F log2e, F log2eLow) {
  F high = log.high * log2e;
  F low = fma(log.high, log2e, -high);
  low = fma(log.low, log2e, fma(log.high, log2eLow, low));
  Pair<F> sum = fastSum(exponent, high);
  return {sum.high, sum.low + low};
}

// y·l as a pair, cut off at ±limit.
template <typename F>
Pair<F> multiplyClamped(F y, Pair<F> l, F limit, F zero) {
  F high = y * l.high;
  F low = fma(y, l.low, fma(y, l.high, -high));
  auto isInside = abs(high) < limit;
  F edge = select(high < zero, -limit, limit);
  return {select(isInside, high, edge), select(isInside, low, zero)};
}

// The magnitude of x^y for a = |x| zero, infinite or NaN, or y infinite or NaN.
template <typename F>
F powSpecial(F x, F a, F y, F zero, F one, F inf, F nan) {
  auto grows = !((a > one) ^ (y > zero));
  F r = select(a == one, one, select(grows, inf, zero));
  r = select((x != x) | (y != y), nan, r);
  return select((y == zero) | (x == one), one, r);
}

// The sign of the result, and NaN for a negative finite x with a y that is no integer.
template <typename F, typename Bool>
F powSigned(F x, F a, F y, F r, Bool isSignSet, F zero, F half, F inf, F nan) {
  auto isInteger = trunc(y) == y;
  F halfY = y * half;
  auto isOdd = isInteger & (trunc(halfY) != halfY);
  r = select(isSignSet & isOdd, -r, r);
  return select((x < zero) & (a < inf) & !isInteger, nan, r);
}

template <typename D>
typename D::F32 powF32(typename D::F32 x, typename D::F32 y) {
  using F32 = typename D::F32;
  using I32 = typename D::I32;
  const F32 zero(0.0f), one(1.0f), inf(std::numeric_limits<float>::infinity()),
      nan(std::numeric_limits<float>::quiet_NaN());
  F32 a = abs(x);
  auto isOrdinary = ult(bits(a) - I32(1), I32(0x7F7FFFFF)) & (abs(y) < inf);
  F32 r = D::branch(
      isOrdinary,
      [&] {
        auto isSubnormal = a < F32(0x1p-126f);
        I32 i = bits(select(isSubnormal, a * F32(0x1p23f), a));
        I32 e = (i - I32(0x3F3504F3)) & I32(0xFF800000);  // √½ <= m < √2
        F32 exponent = fma(toF32(e), F32(0x1p-23f), select(isSubnormal, F32(-23.0f), zero));
        Pair<F32> q = logQuotient(asF32(i - e), one);
        F32 s = q.high * q.high;
        Pair<F32> log = fastSum(q.high, fma(polynomial(s, kLogQF32) * s, q.high, q.low));
        Pair<F32> l = log2FromLog(exponent, log, F32(kLog2eF32), F32(kLog2eLoF32));
        Pair<F32> t = multiplyClamped(y, l, F32(200.0f), zero);
        F32 shifted = t.high + F32(kRoundF32);
        F32 f = (t.high - (shifted - F32(kRoundF32))) + t.low;
        return scaleF32<D>(fma(polynomial(f, kExp2F32), f, one), shifted);
      },
      [&] { return powSpecial(x, a, y, zero, one, inf, nan); });
  return powSigned(x, a, y, r, slt(bits(x), I32(0)), zero, F32(0.5f), inf, nan);
}

template <typename D>
typename D::F64 powF64(typename D::F64 x, typename D::F64 y) {
  using F64 = typename D::F64;
  using I64 = typename D::I64;
  const F64 zero(0.0), one(1.0), inf(std::numeric_limits<double>::infinity()),
      nan(std::numeric_limits<double>::quiet_NaN());
  F64 a = abs(x);
  auto isOrdinary = ult(bits(a) - I64(1), I64(0x7FEFFFFFFFFFFFFF)) & (abs(y) < inf);
  F64 r = D::branch(
      isOrdinary,
      [&] {
        auto isSubnormal = a < F64(0x1p-1022);
        I64 i = bits(select(isSubnormal, a * F64(0x1p52), a));
        I64 e = (i - I64(0x3FE6A09E667F3BCD)) & I64(0xFFF0000000000000);  // √½ <= m < √2
        F64 exponent = toF64(trunc32(ashr(e, I64(52)))) + select(isSubnormal, F64(-52.0), zero);
        Pair<F64> q = logQuotient(asF64(i - e), one);
        // log m = q + q³/12 + q⁵·P(q²): the first two terms as pairs.
        F64 s = q.high * q.high;
        F64 sLow = fma(q.high + q.high, q.low, fma(q.high, q.high, -s));
        F64 cube = q.high * s;
        F64 cubeLow = fma(q.high, sLow, fma(q.low, s, fma(q.high, s, -cube)));
        F64 c = cube * F64(kTwelfthF64[0]);
        F64 cLow = fma(cube, F64(kTwelfthF64[0]), -c);
        cLow = fma(cube, F64(kTwelfthF64[1]), fma(cubeLow, F64(kTwelfthF64[0]), cLow));
        F64 low = fma(cube * s, polynomial(s, kLogQF64), cLow) + q.low;
        Pair<F64> log = fastSum(q.high, c);
        log = fastSum(log.high, log.low + low);
        Pair<F64> l = log2FromLog(exponent, log, F64(kLog2eF64), F64(kLog2eLoF64));
        Pair<F64> t = multiplyClamped(y, l, F64(1500.0), zero);
        F64 shifted = t.high + F64(kRoundF64);
        F64 f = (t.high - (shifted - F64(kRoundF64))) + t.low;
        return scaleF64<D>(fma(polynomial(f, kExp2F64), f, one), shifted);
      },
      [&] { return powSpecial(x, a, y, zero, one, inf, nan); });
  return powSigned(x, a, y, r, slt(bits(x), I64(0)), zero, F64(0.5), inf, nan);
}

}  // namespace mtlc::math

#endif  // MTLC_SUPPORT_MATH_POW_H_
