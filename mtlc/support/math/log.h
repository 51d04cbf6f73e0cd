// log and log2 as templates over an arithmetic domain (host_domain.h).
//
// x = 2^e · m with m around 1. The one test of a fast path is "positive, normal and finite". The
// slow path turns everything else into a value of the fast path: a subnormal is scaled up and the
// exponent corrected; for zero, infinity, NaN and negative numbers m is 1 and the "exponent" is the
// result itself.

#ifndef MTLC_SUPPORT_MATH_LOG_H_
#define MTLC_SUPPORT_MATH_LOG_H_

#include <limits>
#include <tuple>

#include "mtlc/support/math/coefficients.h"
#include "mtlc/support/math/polynomial.h"

namespace mtlc::math {

// x = 2^exponent · mantissa, √½ <= mantissa < √2, or mantissa 1 and a special exponent.
template <typename D>
struct SplitF32 {
  typename D::F32 exponent, mantissa;
};
template <typename D>
SplitF32<D> splitF32(typename D::F32 x) {
  using F32 = typename D::F32;
  using I32 = typename D::I32;
  auto isOrdinary = ult(bits(x) - I32(0x00800000), I32(0x7F000000));
  auto [scaled, correction] = D::branch(
      isOrdinary, [&] { return std::tuple<F32, F32>(x, F32(0.0f)); },
      [&] {
        const float inf = std::numeric_limits<float>::infinity();
        const float nan = std::numeric_limits<float>::quiet_NaN();
        auto isSubnormal = (x > F32(0.0f)) & (x < F32(0x1p-126f));
        F32 special = select(x == F32(0.0f), F32(-inf), select(x > F32(0.0f), x, F32(nan)));
        return std::tuple<F32, F32>(select(isSubnormal, x * F32(0x1p23f), F32(1.0f)),
                                    select(isSubnormal, F32(-23.0f), special));
      });
  I32 i = bits(scaled);
  I32 e = (i - I32(0x3F3504F3)) & I32(0xFF800000);  // √½
  return {fma(toF32(e), F32(0x1p-23f), correction), asF32(i - e)};
}

template <typename D>
typename D::F32 logF32(typename D::F32 x) {
  using F32 = typename D::F32;
  SplitF32<D> s = splitF32<D>(x);
  F32 f = s.mantissa - F32(1.0f);  // exact
  F32 r = fma(polynomial(f, kLogF32), f * f, f);
  return fma(s.exponent, F32(kLn2HiF32), r);
}

template <typename D>
typename D::F32 log2F32(typename D::F32 x) {
  using F32 = typename D::F32;
  SplitF32<D> s = splitF32<D>(x);
  F32 f = s.mantissa - F32(1.0f);
  F32 r = fma(f, F32(kLog2eF32), polynomial(f, kLog2F32) * f);
  return s.exponent + r;
}

template <typename D>
struct SplitF64 {
  typename D::F64 exponent, mantissa;
};
template <typename D>
SplitF64<D> splitF64(typename D::F64 x) {
  using F64 = typename D::F64;
  using I64 = typename D::I64;
  auto isOrdinary = ult(bits(x) - I64(0x0010000000000000), I64(0x7FE0000000000000));
  auto [scaled, correction] = D::branch(
      isOrdinary, [&] { return std::tuple<F64, F64>(x, F64(0.0)); },
      [&] {
        const double inf = std::numeric_limits<double>::infinity();
        const double nan = std::numeric_limits<double>::quiet_NaN();
        auto isSubnormal = (x > F64(0.0)) & (x < F64(0x1p-1022));
        F64 special = select(x == F64(0.0), F64(-inf), select(x > F64(0.0), x, F64(nan)));
        return std::tuple<F64, F64>(select(isSubnormal, x * F64(0x1p52), F64(1.0)),
                                    select(isSubnormal, F64(-52.0), special));
      });
  I64 i = bits(scaled);
  I64 e = (i - I64(0x3FE6A09E667F3BCD)) & I64(0xFFF0000000000000);  // √½
  // The exponent as an integer in 32 bits: converting those is cheaper.
  F64 exponent = toF64(trunc32(ashr(e, I64(52)))) + correction;
  return {exponent, asF64(i - e)};
}

// log(1 + f) = (f - f²/2) + t·(f²/2 + R) with t = f/(2 + f) and R = t²·P(t²), as an unevaluated
// sum: high = f - f²/2 rounded, low = what is missing.
template <typename D>
struct LogParts {
  typename D::F64 high, low;
};
template <typename D>
LogParts<D> logPartsF64(typename D::F64 mantissa) {
  using F64 = typename D::F64;
  F64 f = mantissa - F64(1.0);  // exact
  F64 t = f / (f + F64(2.0));
  F64 z = t * t;
  F64 halfF = F64(0.5) * f;
  F64 half = halfF * f;
  F64 halfLow = fma(halfF, f, -half);
  F64 high = f - half;
  F64 low = ((f - high) - half) - halfLow;
  return {high, fma(t, fma(polynomial(z, kAtanhF64), z, half), low)};
}

template <typename D>
typename D::F64 logF64(typename D::F64 x) {
  using F64 = typename D::F64;
  SplitF64<D> s = splitF64<D>(x);
  LogParts<D> l = logPartsF64<D>(s.mantissa);
  // exponent · kLn2ShortHiF64 is exact and, unless 0, larger than `high`.
  F64 main = s.exponent * F64(kLn2ShortHiF64);
  F64 sum = main + l.high;
  F64 rest = (main - sum) + l.high;
  F64 low = fma(s.exponent, F64(kLn2ShortLoF64), l.low + rest);
  // An infinite exponent makes `rest` NaN: it is then the result itself.
  return select(abs(s.exponent) < F64(2048.0), sum + low, s.exponent);
}

template <typename D>
typename D::F64 log2F64(typename D::F64 x) {
  using F64 = typename D::F64;
  SplitF64<D> s = splitF64<D>(x);
  LogParts<D> l = logPartsF64<D>(s.mantissa);
  F64 high = l.high * F64(kLog2eF64);
  F64 low = fma(l.high, F64(kLog2eF64), -high);
  low = fma(l.low, F64(kLog2eF64), fma(l.high, F64(kLog2eLoF64), low));
  F64 sum = s.exponent + high;
  F64 rest = (s.exponent - sum) + high;
  return select(abs(s.exponent) < F64(2048.0), sum + (low + rest), s.exponent);
}

}  // namespace mtlc::math

#endif  // MTLC_SUPPORT_MATH_LOG_H_
