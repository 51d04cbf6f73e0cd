// Exact arithmetic on binary floating-point values, for oracles: a finite value is an integer of up
// to 128 bits times a power of two, operations are exact or keep a sticky bit for the part below,
// and rounding to a format happens once. Shares nothing with the code under test.

#ifndef MTLC_SIM_ORACLE_EXACT_H_
#define MTLC_SIM_ORACLE_EXACT_H_

#include <cstdint>

namespace mtlc::sim::oracle {

using U128 = unsigned __int128;
using I128 = __int128;

enum class Rounding : uint8_t { nearestEven, towardZero, down, up, nearestAway };

// An interchange format: sign, exponent, fraction. Without infinities, the largest exponent holds
// numbers and only the all-ones pattern is NaN (e4m3).
struct BinaryFormat {
  int exponentBits;
  int fractionBits;
  bool infinities = true;

  int bias() const { return (1 << (exponentBits - 1)) - 1; }
  int bits() const { return 1 + exponentBits + fractionBits; }
  uint64_t signBit() const { return uint64_t{1} << (bits() - 1); }
  // The magnitude of infinity, or of NaN where there are no infinities.
  uint64_t firstSpecial() const {
    uint64_t top = ((uint64_t{1} << exponentBits) - 1) << fractionBits;
    return infinities ? top : top | ((uint64_t{1} << fractionBits) - 1);
  }
};

inline constexpr BinaryFormat kBinary16{5, 10};
inline constexpr BinaryFormat kBfloat16{8, 7};
inline constexpr BinaryFormat kBinary32{8, 23};
inline constexpr BinaryFormat kBinary64{11, 52};
inline constexpr BinaryFormat kTensor32{8, 10};
inline constexpr BinaryFormat kE4M3{4, 3, false};
inline constexpr BinaryFormat kE5M2{5, 2};

struct Exact {
  enum Kind : uint8_t { finite, infinity, nan } kind = finite;
  bool negative = false;
  bool sticky = false;  // The magnitude is a little more than `mantissa`, by less than one.
  int exponent = 0;
  U128 mantissa = 0;  // The value is mantissa * 2^exponent; 0 is a zero of either sign.

  bool isZero() const { return kind == finite && mantissa == 0 && !sticky; }
  bool isNan() const { return kind == nan; }
};

Exact unpack(uint64_t bits, const BinaryFormat& format);
Exact fromInteger(I128 value);
Exact fromUnsigned(U128 value);

// `rounding` decides the sign of an exact zero sum of opposite signs, nothing else.
Exact add(const Exact& a, const Exact& b, Rounding rounding);
Exact multiply(const Exact& a, const Exact& b);  // Mantissas below 2^64.
Exact divide(const Exact& a, const Exact& b);    // Mantissas below 2^54.
Exact squareRoot(const Exact& a);                // Mantissa below 2^54.
Exact negate(Exact a);

// -1, 0, 1; neither may be NaN. Zeros of both signs are equal.
int compare(const Exact& a, const Exact& b);

// The nearest integers of `rounding`, with the sign of a zero kept.
Exact toIntegral(const Exact& a, Rounding rounding);
// `a`, integral and finite, clamped to [low, high].
I128 clampToInteger(const Exact& a, I128 low, I128 high);

// Rounds once. Overflow, and infinity, become the largest finite value when `finiteOnly`. A NaN
// gives all ones below the sign.
uint64_t round(const Exact& a, const BinaryFormat& format, Rounding rounding,
               bool finiteOnly = false);

bool isNanBits(uint64_t bits, const BinaryFormat& format);
bool isSubnormal(uint64_t bits, const BinaryFormat& format);  // Not zero.

}  // namespace mtlc::sim::oracle

#endif  // MTLC_SIM_ORACLE_EXACT_H_
