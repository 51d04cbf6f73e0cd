// From a function's name to its template.

#ifndef MTLC_SUPPORT_MATH_DISPATCH_H_
#define MTLC_SUPPORT_MATH_DISPATCH_H_

#include "mtlc/support/math/erf.h"
#include "mtlc/support/math/eval.h"
#include "mtlc/support/math/exp.h"
#include "mtlc/support/math/log.h"
#include "mtlc/support/math/pow.h"
#include "mtlc/support/math/rsqrt.h"
#include "mtlc/support/math/trig.h"

namespace mtlc::math {

// The function in domain D; `b` counts for functions of two arguments only.
template <typename D>
typename D::F32 computeF32(MathFn fn, typename D::F32 a, typename D::F32 b) {
  switch (fn) {
    case MathFn::RSqrt:
      return rsqrtF32<D>(a);
    case MathFn::Exp:
      return expF32<D>(a);
    case MathFn::Exp2:
      return exp2F32<D>(a);
    case MathFn::Log:
      return logF32<D>(a);
    case MathFn::Log2:
      return log2F32<D>(a);
    case MathFn::Sin:
      return sinOf<D>(trigPartsF32<D>(a));
    case MathFn::Cos:
      return cosOf<D>(trigPartsF32<D>(a));
    case MathFn::Tan:
      return tanOf<D>(trigPartsF32<D>(a));
    case MathFn::Tanh:
      return tanhF32<D>(a);
    case MathFn::Erf:
      return erfF32<D>(a);
    case MathFn::Pow:
      return powF32<D>(a, b);
  }
  return a;
}
template <typename D>
typename D::F64 computeF64(MathFn fn, typename D::F64 a, typename D::F64 b) {
  switch (fn) {
    case MathFn::RSqrt:
      return rsqrtF64<D>(a);
    case MathFn::Exp:
      return expF64<D>(a);
    case MathFn::Exp2:
      return exp2F64<D>(a);
    case MathFn::Log:
      return logF64<D>(a);
    case MathFn::Log2:
      return log2F64<D>(a);
    case MathFn::Sin:
      return sinOf<D>(trigPartsF64<D>(a));
    case MathFn::Cos:
      return cosOf<D>(trigPartsF64<D>(a));
    case MathFn::Tan:
      return tanOf<D>(trigPartsF64<D>(a));
    case MathFn::Tanh:
      return tanhF64<D>(a);
    case MathFn::Erf:
      return erfF64<D>(a);
    case MathFn::Pow:
      return powF64<D>(a, b);
  }
  return a;
}

}  // namespace mtlc::math

#endif  // MTLC_SUPPORT_MATH_DISPATCH_H_
