#include "mtlc/interp/exact_sum.h"

#include <cfenv>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace mtlc::interp {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

double rounded(const ExactSum& sum, RoundingMode mode = RoundingMode::NearestEven) {
  return f64FromBits(roundToF64(sum.parts(), mode));
}

TEST(ExactSum, NothingIsLost) {
  ExactSum sum;
  EXPECT_EQ(sum.parts().significand, 0u);
  sum.addProduct(0x1p1023, 0x1p1023);
  sum.addProduct(0x1p-1074, 0x1p-1074);
  sum.addProduct(-0x1p1023, 0x1p1023);
  ExactSum::Parts parts = sum.parts();
  EXPECT_EQ(parts.significand, uint64_t{1} << 63);
  EXPECT_EQ(parts.exponent, -2148 - 63);
  EXPECT_FALSE(parts.sticky);
  EXPECT_FALSE(parts.negative);
  sum.addProduct(0x1p-1074, -0x1p-1074);
  EXPECT_EQ(sum.parts().significand, 0u);
  sum.add(-3.5);
  EXPECT_EQ(rounded(sum), -3.5);
  sum.clear();
  EXPECT_EQ(sum.parts().significand, 0u);
  sum.add(1e300);
  EXPECT_EQ(rounded(sum), 1e300);
}

TEST(ExactSum, StickyStandsForWhatIsBelow) {
  ExactSum sum;
  sum.add(1);
  sum.add(0x1p-53);  // A tie, which goes to even,
  EXPECT_EQ(rounded(sum), 1);
  sum.addProduct(0x1p-1000, 0x1p-1000);  // and just above it.
  EXPECT_TRUE(sum.parts().sticky);
  EXPECT_EQ(rounded(sum), 1 + 0x1p-52);
  sum.addProduct(-0x1p-999, 0x1p-1000);  // Just below it.
  EXPECT_EQ(rounded(sum), 1);
}

// Against integers of 128 bits, with many changes of sign.
TEST(ExactSum, AgreesWithIntegers) {
  std::mt19937_64 rng(1);
  for (int round = 0; round < 2000; ++round) {
    ExactSum sum;
    __int128 want = 0;
    for (int i = 0; i < 50; ++i) {
      const double x = static_cast<double>(static_cast<int64_t>(rng()) >> (11 + rng() % 52));
      const double y = static_cast<double>(static_cast<int64_t>(rng()) >> (11 + rng() % 52));
      sum.addProduct(x, y);
      want += static_cast<__int128>(x) * static_cast<__int128>(y);
    }
    const ExactSum::Parts parts = sum.parts();
    const unsigned __int128 magnitude =
        want < 0 ? -static_cast<unsigned __int128>(want) : static_cast<unsigned __int128>(want);
    ASSERT_EQ(parts.significand == 0, want == 0);
    if (want == 0) continue;
    ASSERT_EQ(parts.negative, want < 0);
    if (parts.exponent >= 0) {
      ASSERT_EQ(static_cast<uint64_t>(magnitude >> parts.exponent), parts.significand);
      const unsigned __int128 rest =
          magnitude & ((static_cast<unsigned __int128>(1) << parts.exponent) - 1);
      ASSERT_EQ(parts.sticky, rest != 0);
    } else {
      ASSERT_EQ(magnitude, static_cast<unsigned __int128>(parts.significand >> -parts.exponent));
      ASSERT_FALSE(parts.sticky);
    }
  }
}

// The host's fma in the same rounding mode.
TEST(ExactSum, FusedMultiplyAddAgreesWithTheHost) {
  const std::pair<RoundingMode, int> modes[] = {{RoundingMode::NearestEven, FE_TONEAREST},
                                                {RoundingMode::TowardZero, FE_TOWARDZERO},
                                                {RoundingMode::Down, FE_DOWNWARD},
                                                {RoundingMode::Up, FE_UPWARD}};
  std::mt19937_64 rng(2);
  std::vector<double> corners = {
      0.0,      -0.0,      1.0,          -1.0,      0x1p-1074,
      0x1p-537, -0x1p-537, 1e308,        -1e308,    0x1.fffffffffffffp1023,
      kInf,     -kInf,     std::nan(""), 0x1p-1022, 0x1.fffffffffffffp-1023};
  auto pick = [&](double near) {
    switch (rng() % 4) {
      case 0:
        return corners[rng() % corners.size()];
      case 1:  // Cancels, nearly.
        return -near * (1 + static_cast<double>(rng() % 5) * 0x1p-52);
      case 2:  // Any number at all.
        return f64FromBits(rng());
      default:
        return std::ldexp(static_cast<double>(static_cast<int64_t>(rng())),
                          static_cast<int>(rng() % 200) - 160);
    }
  };
  for (int i = 0; i < 100000; ++i) {
    volatile double x = pick(1), y = pick(1), z = pick(x * y);
    for (auto [mode, host] : modes) {
      std::fesetround(host);
      volatile double want = std::fma(x, y, z);
      std::fesetround(FE_TONEAREST);
      const double got = fusedMultiplyAdd(x, y, z, mode);
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(got)) << x << " " << y << " " << z;
      } else {
        ASSERT_EQ(f64Bits(got), f64Bits(want))
            << x << " * " << y << " + " << z << " mode " << static_cast<int>(mode);
      }
    }
  }
}

}  // namespace
}  // namespace mtlc::interp
