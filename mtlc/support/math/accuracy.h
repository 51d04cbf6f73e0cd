// Measuring the error of the mathematical functions against an independent implementation: the C
// library in double for f32, libquadmath (or a 113-bit long double) for f64. For tests.

#ifndef MTLC_SUPPORT_MATH_ACCURACY_H_
#define MTLC_SUPPORT_MATH_ACCURACY_H_

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>

#include "mtlc/support/math/eval.h"

#if LDBL_MANT_DIG == 113
using Quad = long double;
#define MTLC_QUAD(fn) fn##l
#else
#include <quadmath.h>
using Quad = __float128;
#define MTLC_QUAD(fn) fn##q
#endif

namespace mtlc::math {

// The C library's answer in double.
inline double referenceDouble(MathFn fn, double x, double y) {
  switch (fn) {
    case MathFn::RSqrt:
      return 1 / std::sqrt(x);
    case MathFn::Exp:
      return std::exp(x);
    case MathFn::Exp2:
      return std::exp2(x);
    case MathFn::Log:
      return std::log(x);
    case MathFn::Log2:
      return std::log2(x);
    case MathFn::Sin:
      return std::sin(x);
    case MathFn::Cos:
      return std::cos(x);
    case MathFn::Tan:
      return std::tan(x);
    case MathFn::Tanh:
      return std::tanh(x);
    case MathFn::Erf:
      return std::erf(x);
    case MathFn::Pow:
      return std::pow(x, y);
  }
  return 0;
}

inline Quad referenceQuad(MathFn fn, Quad x, Quad y) {
  switch (fn) {
    case MathFn::RSqrt:
      return 1 / MTLC_QUAD(sqrt)(x);
    case MathFn::Exp:
      return MTLC_QUAD(exp)(x);
    case MathFn::Exp2:
      return MTLC_QUAD(pow)(2, x);
    case MathFn::Log:
      return MTLC_QUAD(log)(x);
    case MathFn::Log2:
      return MTLC_QUAD(log2)(x);
    case MathFn::Sin:
      return MTLC_QUAD(sin)(x);
    case MathFn::Cos:
      return MTLC_QUAD(cos)(x);
    case MathFn::Tan:
      return MTLC_QUAD(tan)(x);
    case MathFn::Tanh:
      return MTLC_QUAD(tanh)(x);
    case MathFn::Erf:
      return MTLC_QUAD(erf)(x);
    case MathFn::Pow:
      return MTLC_QUAD(pow)(x, y);
  }
  return 0;
}

// Distance of `got` from `exact` in units in the last place of a format with `precision` bits,
// exponents minExponent … maxExponent: one ulp is 2^(e - precision + 1) for 2^e <= |exact| <
// 2^(e+1), and constant below 2^minExponent. Infinity counts as the first power of two that
// overflows. NaN on one side only is infinitely wrong; so is a zero of the wrong sign.
template <typename Wide>
double ulpError(double got, Wide exact, int precision, int minExponent, int maxExponent) {
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  bool gotNan = got != got, exactNan = exact != exact;
  if (gotNan || exactNan) return gotNan == exactNan ? 0 : kWrong;
  if (exact == 0) {
    return got == 0 && std::signbit(got) == std::signbit(static_cast<double>(exact)) ? 0 : kWrong;
  }
  Wide top = static_cast<Wide>(std::ldexp(1.0, maxExponent)) * 2;
  Wide g = std::isinf(got) ? (got < 0 ? -top : top) : static_cast<Wide>(got);
  if (exact > top) exact = top;
  if (exact < -top) exact = -top;
  Wide magnitude = exact < 0 ? -exact : exact;
  int exponent;
  double asDouble = static_cast<double>(magnitude);
  if (std::isinf(asDouble)) {
    exponent = maxExponent + 1;
  } else {
    std::frexp(asDouble, &exponent);
  }
  --exponent;
  if (exponent < minExponent) exponent = minExponent;
  if (exponent > maxExponent) exponent = maxExponent;
  Wide difference = g - exact;
  if (difference < 0) difference = -difference;
  // Scale in two steps: 2^1074 alone is no double.
  int scale = precision - 1 - exponent;
  Wide scaled = difference * static_cast<Wide>(std::ldexp(1.0, scale / 2)) *
                static_cast<Wide>(std::ldexp(1.0, scale - scale / 2));
  return static_cast<double>(scaled);
}

inline double ulpErrorF32(MathFn fn, uint32_t a, uint32_t b) {
  double got = f32FromBits(static_cast<uint32_t>(evalMathBits(fn, FloatKind::F32, a, b)));
  return ulpError(got, referenceDouble(fn, f32FromBits(a), f32FromBits(b)), 24, -126, 127);
}

inline double ulpErrorF64(MathFn fn, uint64_t a, uint64_t b) {
  double got = f64FromBits(evalMathBits(fn, FloatKind::F64, a, b));
  return ulpError(got, referenceQuad(fn, f64FromBits(a), f64FromBits(b)), 53, -1022, 1023);
}

}  // namespace mtlc::math

#endif  // MTLC_SUPPORT_MATH_ACCURACY_H_
