// Pieces that several function templates share.

#ifndef MTLC_SUPPORT_MATH_POLYNOMIAL_H_
#define MTLC_SUPPORT_MATH_POLYNOMIAL_H_

#include <cstddef>

namespace mtlc::math {

// Horner's rule with one fma a step; coefficients lowest power first, at least two.
template <typename F, typename Number, size_t kCount>
F polynomial(F x, const Number (&coefficients)[kCount]) {
  F sum = coefficients[kCount - 1];
  for (size_t i = kCount - 1; i-- > 0;) sum = fma(sum, x, F(coefficients[i]));
  return sum;
}

// The sign bit of `sign` put on `magnitude`, whose own sign bit must be 0.
template <typename D>
typename D::F32 withSign(typename D::F32 magnitude, typename D::F32 sign) {
  return asF32(bits(magnitude) | (bits(sign) & typename D::I32(0x80000000)));
}
template <typename D>
typename D::F64 withSign(typename D::F64 magnitude, typename D::F64 sign) {
  return asF64(bits(magnitude) | (bits(sign) & typename D::I64(0x8000000000000000)));
}

}  // namespace mtlc::math

#endif  // MTLC_SUPPORT_MATH_POLYNOMIAL_H_
