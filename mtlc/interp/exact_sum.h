// Sums of floating-point products without any rounding, and one rounding at the end.
//
// A fixed-point number wide enough for every product of two float64 values: digits of 32 bits in
// base 2^32, each with 31 bits of room for carries that are put off.

#ifndef MTLC_INTERP_EXACT_SUM_H_
#define MTLC_INTERP_EXACT_SUM_H_

#include <array>
#include <cstdint>

#include "mtlc/support/float_format.h"

namespace mtlc::interp {

class ExactSum {
 public:
  ExactSum() { digits_.fill(0); }

  // Adds ±significand · 2^exponent. -2176 ≤ exponent ≤ 2176.
  void add(bool negative, uint64_t significand, int exponent);
  // Adds x or x · y: finite values.
  void add(double x);
  void addProduct(double x, double y);

  // The sum is ±(significand + t) · 2^exponent, where t is 0, or with `sticky` in (0, 1). The
  // significand has its top bit set; it is 0 if the sum is 0. Leaves the sum as it is.
  struct Parts {
    bool negative = false;
    bool sticky = false;
    uint64_t significand = 0;
    int exponent = 0;
  };
  Parts parts() const;

  // Back to 0.
  void clear();

 private:
  void carry();

  static constexpr int kLowest = -2176;  // Exponent of the lowest bit.
  static constexpr int kDigits = (2 * 2176 + 64 + 96) / 32;
  std::array<int64_t, kDigits> digits_;
  int low_ = kDigits, high_ = -1;  // The digits that may differ from 0.
  uint32_t terms_ = 0;             // Since the last carry.
};

enum class RoundingMode : uint8_t { NearestEven, TowardZero, Down, Up };

// The bits of the float64 that ±(significand + t) · 2^exponent rounds to; as in Parts. Subnormals
// are kept; a zero has the sign of `parts`.
uint64_t roundToF64(const ExactSum::Parts& parts, RoundingMode mode);

// x · y + z, rounded once.
double fusedMultiplyAdd(double x, double y, double z, RoundingMode mode);

}  // namespace mtlc::interp

#endif  // MTLC_INTERP_EXACT_SUM_H_
