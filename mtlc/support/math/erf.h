// erf as a template over an arithmetic domain (host_domain.h).
//
// Near zero x + x·P(x²); farther out 1 - e^-Q(|x|), where the small second term needs few bits. The
// f32 form computes both and selects; the f64 form branches.

#ifndef MTLC_SUPPORT_MATH_ERF_H_
#define MTLC_SUPPORT_MATH_ERF_H_

#include "mtlc/support/math/coefficients.h"
#include "mtlc/support/math/exp.h"
#include "mtlc/support/math/polynomial.h"

namespace mtlc::math {

template <typename D>
typename D::F32 erfF32(typename D::F32 x) {
  using F32 = typename D::F32;
  using I32 = typename D::I32;
  F32 a = abs(x);
  F32 low = fma(polynomial(x * x, kErfLowF32), x, x);
  // Beyond 4 the result rounds to 1. The exponent lies in [-18, -1]: one step of scaling.
  F32 q = -polynomial(fminNan(a, F32(4.0f)), kErfHighF32);
  F32 shifted = fma(q, F32(kLog2eF32), F32(kRoundF32));
  F32 n = shifted - F32(kRoundF32);
  F32 r = fma(n, F32(-kLn2LoF32), fma(n, F32(-kLn2HiF32), q));
  F32 p = fma(fma(polynomial(r, kExpF32), r, F32(1.0f)), r, F32(1.0f));
  F32 power = asF32(shl(bits(shifted), I32(23)) + I32(0x3F800000));
  F32 high = withSign<D>(fma(-power, p, F32(1.0f)), x);
  return select(a < F32(0.9f), low, high);
}

template <typename D>
typename D::F64 erfF64(typename D::F64 x) {
  using F64 = typename D::F64;
  using I64 = typename D::I64;
  F64 a = abs(x);
  return D::branch(
      a < F64(1.0), [&] { return fma(polynomial(x * x, kErfLowF64), x, x); },
      [&] {
        F64 q = -polynomial(fminNan(a, F64(6.0)), kErfHighF64);
        F64 shifted = fma(q, F64(kLog2eF64), F64(kRoundF64));
        F64 n = shifted - F64(kRoundF64);
        F64 r = fma(n, F64(-kLn2LoF64), fma(n, F64(-kLn2HiF64), q));
        F64 p = fma(fma(polynomial(r, kExpF64), r, F64(1.0)), r, F64(1.0));
        F64 power = asF64(shl(bits(shifted), I64(52)) + I64(0x3FF0000000000000));
        return withSign<D>(fma(-power, p, F64(1.0)), x);
      });
}

}  // namespace mtlc::math

#endif  // MTLC_SUPPORT_MATH_ERF_H_
