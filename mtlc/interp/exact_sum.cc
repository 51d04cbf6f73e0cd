#include "mtlc/interp/exact_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace mtlc::interp {
namespace {

// |x| = significand · 2^exponent
struct Split {
  uint64_t significand;
  int exponent;
};
Split split(double x) {
  const uint64_t bits = f64Bits(x);
  const int biased = static_cast<int>(bits >> 52 & 0x7FF);
  const uint64_t mantissa = bits & 0x000FFFFFFFFFFFFF;
  if (biased == 0) return {mantissa, -1074};
  return {mantissa | uint64_t{1} << 52, biased - 1075};
}

}  // namespace

void ExactSum::add(bool negative, uint64_t significand, int exponent) {
  if (significand == 0) return;
  const int position = exponent - kLowest;
  const int first = position / 32;
  unsigned __int128 shifted = static_cast<unsigned __int128>(significand) << (position % 32);
  for (int i = first; i < first + 3; ++i) {
    const int64_t piece = static_cast<int64_t>(static_cast<uint32_t>(shifted));
    digits_[static_cast<size_t>(i)] += negative ? -piece : piece;
    shifted >>= 32;
  }
  low_ = std::min(low_, first);
  high_ = std::max(high_, first + 2);
  if (++terms_ == 1u << 29) carry();
}

// Brings all digits but the topmost into [0, 2^32).
void ExactSum::carry() {
  terms_ = 0;
  high_ = std::min(high_ + 1, kDigits - 1);
  for (int i = low_; i < high_; ++i) {
    int64_t& digit = digits_[static_cast<size_t>(i)];
    digits_[static_cast<size_t>(i + 1)] += digit >> 32;
    digit &= 0xFFFFFFFF;
  }
}

void ExactSum::add(double x) {
  const Split s = split(x);
  add(std::signbit(x), s.significand, s.exponent);
}

void ExactSum::addProduct(double x, double y) {
  const Split a = split(x), b = split(y);
  const bool negative = std::signbit(x) != std::signbit(y);
  const unsigned __int128 product =
      static_cast<unsigned __int128>(a.significand) * b.significand;  // Below 2^106.
  const int exponent = a.exponent + b.exponent;
  add(negative, static_cast<uint64_t>(product), exponent);
  if (product >> 64) add(negative, static_cast<uint64_t>(product >> 64), exponent + 64);
}

ExactSum::Parts ExactSum::parts() const {
  Parts parts;
  if (high_ < 0) return parts;
  // Carries, so that each digit is in [0, 2^32); what is left over has the sign of the sum.
  std::array<uint32_t, kDigits + 1> digits;
  const int end = std::min(high_ + 2, kDigits);  // The carry fits one more digit.
  auto normalise = [&](bool negate) {
    int64_t carry = 0;
    for (int i = low_; i < end; ++i) {
      const size_t at = static_cast<size_t>(i);
      const int64_t digit = (negate ? -digits_[at] : digits_[at]) + carry;
      digits[at] = static_cast<uint32_t>(digit & 0xFFFFFFFF);
      carry = digit >> 32;
    }
    return carry;
  };
  if (normalise(false) < 0) {
    parts.negative = true;
    normalise(true);
  }
  int top = end - 1;
  while (top >= low_ && digits[static_cast<size_t>(top)] == 0) --top;
  if (top < low_) return Parts();
  auto digit = [&](int i) { return i >= low_ ? uint64_t{digits[static_cast<size_t>(i)]} : 0; };
  const int lead = std::countl_zero(static_cast<uint32_t>(digit(top)));
  // 96 bits from the leading digit on; the top 64 of those that are in use.
  const unsigned __int128 window = static_cast<unsigned __int128>(digit(top)) << 64 |
                                   static_cast<unsigned __int128>(digit(top - 1)) << 32 |
                                   digit(top - 2);
  const int drop = 32 - lead;
  parts.significand = static_cast<uint64_t>(window >> drop);
  parts.sticky = (static_cast<uint64_t>(window) & ((uint64_t{1} << drop) - 1)) != 0;
  for (int i = low_; i < top - 2; ++i) parts.sticky |= digit(i) != 0;
  parts.exponent = kLowest + (top - 2) * 32 + drop;
  return parts;
}

void ExactSum::clear() {
  if (high_ >= 0) std::fill(digits_.begin() + low_, digits_.begin() + high_ + 1, 0);
  low_ = kDigits;
  high_ = -1;
  terms_ = 0;
}

uint64_t roundToF64(const ExactSum::Parts& parts, RoundingMode mode) {
  if (mode == RoundingMode::NearestEven || parts.significand == 0) {
    return encodeParts(FloatFormat::F64, parts.negative, parts.significand, parts.exponent,
                       parts.sticky);
  }
  constexpr uint64_t kInfinity = 0x7FF0000000000000;
  const uint64_t sign = parts.negative ? uint64_t{1} << 63 : 0;
  // Away from zero or towards it?
  const bool away = (mode == RoundingMode::Up && !parts.negative) ||
                    (mode == RoundingMode::Down && parts.negative);
  const int exponent = parts.exponent + 63;  // Of the leading bit.
  if (exponent > 1023) return sign | (away ? kInfinity : kInfinity - 1);
  // A code counts up through subnormals and exponents alike.
  int shift = 11;
  uint64_t base = 0;
  if (exponent >= -1022) {
    base = static_cast<uint64_t>(exponent + 1022) << 52;
  } else {
    shift += -1022 - exponent;
  }
  uint64_t code = base;
  bool inexact = parts.sticky;
  if (shift < 64) {
    code += parts.significand >> shift;
    inexact |= (parts.significand & ((uint64_t{1} << shift) - 1)) != 0;
  } else {
    inexact = true;
  }
  if (away && inexact) ++code;
  return sign | code;
}

double fusedMultiplyAdd(double x, double y, double z, RoundingMode mode) {
  if (!std::isfinite(x) || !std::isfinite(y)) return x * y + z;  // Nothing here rounds.
  if (!std::isfinite(z)) return z + 0.0;
  ExactSum sum;
  sum.addProduct(x, y);
  sum.add(z);
  ExactSum::Parts parts = sum.parts();
  if (parts.significand == 0) {
    const bool product = std::signbit(x) != std::signbit(y), addend = std::signbit(z);
    // A zero of two equal signs keeps it; otherwise it is +0, and -0 when rounding down.
    const bool zeros = (x == 0 || y == 0) && z == 0;
    parts.negative = zeros && product == addend ? product : mode == RoundingMode::Down;
  }
  return f64FromBits(roundToF64(parts, mode));
}

}  // namespace mtlc::interp
