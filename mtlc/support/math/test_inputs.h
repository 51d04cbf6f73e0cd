// Input values for tests of the mathematical functions.

#ifndef MTLC_SUPPORT_MATH_TEST_INPUTS_H_
#define MTLC_SUPPORT_MATH_TEST_INPUTS_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>

#include "mtlc/support/math/accuracy.h"

namespace mtlc::math {

inline bool isTrig(MathFn fn) {
  return fn == MathFn::Sin || fn == MathFn::Cos || fn == MathFn::Tan;
}

// Where a function is neither constant, infinite nor NaN.
struct Range {
  double low, high;
};
inline Range interestingRange(MathFn fn, bool wide) {
  switch (fn) {
    case MathFn::Exp:
      return wide ? Range{-746, 710} : Range{-104, 89};
    case MathFn::Exp2:
      return wide ? Range{-1076, 1025} : Range{-151, 129};
    case MathFn::Log:
    case MathFn::Log2:
      return {0.4, 2.2};
    case MathFn::Tanh:
      return wide ? Range{-21, 21} : Range{-10, 10};
    case MathFn::Erf:
      return wide ? Range{-6.5, 6.5} : Range{-4.5, 4.5};
    case MathFn::Pow:
      return {0, 4};
    case MathFn::RSqrt:
      return {0, 8};
    default:
      return {-1000, 1000};
  }
}

// Input patterns of one function, one after the other: all exponents with corner mantissas, random
// patterns, uniform values of the interesting range; for trigonometry the neighbours of multiples
// of π/2 of every size; for pow exponents that keep the result in range, integers and halves.
template <typename Bits, typename Float>
class Inputs {
 public:
  static constexpr int kMantissa = sizeof(Bits) == 4 ? 23 : 52;
  static constexpr int kExponents = sizeof(Bits) == 4 ? 256 : 2048;

  Inputs(MathFn fn, uint64_t seed) : fn_(fn), rng_(seed) {}

  void next(uint64_t i, Bits* a, Bits* b) {
    if (i < static_cast<uint64_t>(kExponents) * 16) {
      Bits mantissa = i % 8 == 0   ? 0
                      : i % 8 == 1 ? 1
                      : i % 8 == 2 ? Bits(-1)
                                   : static_cast<Bits>(rng_());
      Bits sign = static_cast<Bits>(i / 8 % 2) << (sizeof(Bits) * 8 - 1);
      *a =
          sign | static_cast<Bits>(i / 16) << kMantissa | (mantissa & ((Bits{1} << kMantissa) - 1));
    } else if (i % 4 == 0) {
      *a = static_cast<Bits>(rng_());
    } else if (i % 4 == 1 && isTrig(fn_)) {
      int exponent = static_cast<int>(rng_() % (kExponents / 2));
      Quad multiple = static_cast<Quad>(std::floor(
          std::ldexp(0.5 + 0.5 * uniform(), sizeof(Bits) == 4 ? exponent : exponent % 900)));
      const Quad halfPi = MTLC_QUAD(acos)(static_cast<Quad>(0));
      *a = std::bit_cast<Bits>(static_cast<Float>(multiple * halfPi)) +
           static_cast<Bits>(rng_() % 3) - 1;
    } else {
      Range range = interestingRange(fn_, sizeof(Bits) == 8);
      *a =
          std::bit_cast<Bits>(static_cast<Float>(range.low + uniform() * (range.high - range.low)));
    }
    *b = static_cast<Bits>(rng_());
    if (i % 8 != 0) {
      double x = std::fabs(static_cast<double>(std::bit_cast<Float>(*a)));
      double span = sizeof(Bits) == 4 ? 300 : 2150;
      double y = (uniform() - 0.5) * span / std::log2(x);
      if (i % 8 < 3) y = std::floor(uniform() * 400 - 200) * 0.5;
      *b = std::bit_cast<Bits>(static_cast<Float>(y));
    }
  }

 private:
  double uniform() { return static_cast<double>(rng_() >> 11) * 0x1p-53; }

  MathFn fn_;
  std::mt19937_64 rng_;
};

}  // namespace mtlc::math

#endif  // MTLC_SUPPORT_MATH_TEST_INPUTS_H_
