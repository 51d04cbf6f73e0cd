// 1/sqrt as a template over an arithmetic domain (host_domain.h).
//
// A first guess from the halved exponent, right to 3.5 %, is improved by steps of third and second
// order: multiplications and fma only, where 1 / sqrt(x) would be two long sequences on a GPU. As
// in log.h, the slow path turns every other argument into one of the fast path and a factor.

#ifndef MTLC_SUPPORT_MATH_RSQRT_H_
#define MTLC_SUPPORT_MATH_RSQRT_H_

#include <limits>
#include <tuple>

namespace mtlc::math {

// y·(1 - d/2 + 3d²/8) with d = x·y² - 1: the error becomes about 5/2 times its third power.
template <typename F>
F rsqrtThirdOrder(F x, F y, F one, F half, F threeEighths) {
  F d = fma(x * y, y, -one);
  return fma(y * d, fma(d, threeEighths, -half), y);
}
// y·(1 - d/2): the error becomes about 3/2 times its square.
template <typename F>
F rsqrtSecondOrder(F x, F y, F one, F half) {
  F d = fma(x * y, y, -one);
  return fma(y * -half, d, y);
}

template <typename D>
typename D::F32 rsqrtF32(typename D::F32 x) {
  using F32 = typename D::F32;
  using I32 = typename D::I32;
  auto [scaled, factor] = D::branch(
      ult(bits(x) - I32(0x00800000), I32(0x7F000000)),
      [&] { return std::tuple<F32, F32>(x, F32(1.0f)); },
      [&] {
        const float inf = std::numeric_limits<float>::infinity();
        const float nan = std::numeric_limits<float>::quiet_NaN();
        auto isSubnormal = (x > F32(0.0f)) & (x < F32(0x1p-126f));
        F32 signedInf = asF32(bits(x) | I32(0x7F800000));
        F32 special = select(x == F32(0.0f), signedInf, select(x == F32(inf), F32(0.0f), F32(nan)));
        return std::tuple<F32, F32>(select(isSubnormal, x * F32(0x1p24f), F32(1.0f)),
                                    select(isSubnormal, F32(0x1p12f), special));
      });
  F32 y = asF32(I32(0x5F375A86) - lshr(bits(scaled), I32(1)));
  y = rsqrtThirdOrder(scaled, y, F32(1.0f), F32(0.5f), F32(0.375f));
  return rsqrtSecondOrder(scaled, y, F32(1.0f), F32(0.5f)) * factor;
}

template <typename D>
typename D::F64 rsqrtF64(typename D::F64 x) {
  using F64 = typename D::F64;
  using I64 = typename D::I64;
  auto [scaled, factor] = D::branch(
      ult(bits(x) - I64(0x0010000000000000), I64(0x7FE0000000000000)),
      [&] { return std::tuple<F64, F64>(x, F64(1.0)); },
      [&] {
        const double inf = std::numeric_limits<double>::infinity();
        const double nan = std::numeric_limits<double>::quiet_NaN();
        auto isSubnormal = (x > F64(0.0)) & (x < F64(0x1p-1022));
        F64 signedInf = asF64(bits(x) | I64(0x7FF0000000000000));
        F64 special = select(x == F64(0.0), signedInf, select(x == F64(inf), F64(0.0), F64(nan)));
        return std::tuple<F64, F64>(select(isSubnormal, x * F64(0x1p54), F64(1.0)),
                                    select(isSubnormal, F64(0x1p27), special));
      });
  F64 y = asF64(I64(0x5FE6EB50C7B537A9) - lshr(bits(scaled), I64(1)));
  y = rsqrtThirdOrder(scaled, y, F64(1.0), F64(0.5), F64(0.375));
  y = rsqrtThirdOrder(scaled, y, F64(1.0), F64(0.5), F64(0.375));
  return rsqrtSecondOrder(scaled, y, F64(1.0), F64(0.5)) * factor;
}

}  // namespace mtlc::math

#endif  // MTLC_SUPPORT_MATH_RSQRT_H_
