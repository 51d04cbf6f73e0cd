#include "mtlc/support/float_format.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace mtlc {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

const FloatFormat kAll[] = {
#define MTLC_X(id, ...) FloatFormat::id,
    MTLC_FLOAT_FORMATS(MTLC_X)
#undef MTLC_X
};

// The textbook value of a code, computed with ldexp from field widths written down a second time
// here, so that neither the table nor the decoder vouches for itself.
double textbookValue(FloatFormat format, uint64_t code) {
  struct Fields {
    FloatFormat format;
    int exponent, mantissa;
    double bias;
  };
  static const Fields kFields[] = {
      {FloatFormat::F16, 5, 10, 15}, {FloatFormat::BF16, 8, 7, 127}, {FloatFormat::E4M3, 4, 3, 7},
      {FloatFormat::E5M2, 5, 2, 15}, {FloatFormat::E2M3, 2, 3, 1},   {FloatFormat::E3M2, 3, 2, 3},
      {FloatFormat::E2M1, 2, 1, 1},  {FloatFormat::UE4M3, 4, 3, 7},
  };
  if (format == FloatFormat::UE8M0) return code == 255 ? kNan : std::ldexp(1.0, int(code) - 127);
  for (const Fields& f : kFields) {
    if (f.format != format) continue;
    int magnitudeBits = f.exponent + f.mantissa;
    bool negative = format != FloatFormat::UE4M3 && (code >> magnitudeBits & 1);
    int m = int(code & ((1u << f.mantissa) - 1));
    int e = int(code >> f.mantissa & ((1u << f.exponent) - 1));
    int top = (1 << f.exponent) - 1;
    double magnitude;
    bool ieee =
        format == FloatFormat::F16 || format == FloatFormat::BF16 || format == FloatFormat::E5M2;
    if (ieee && e == top) {
      magnitude = m == 0 ? kInf : kNan;
    } else if ((format == FloatFormat::E4M3 || format == FloatFormat::UE4M3) && e == top &&
               m == 7) {
      magnitude = kNan;
    } else if (e == 0) {
      magnitude = std::ldexp(m, int(1 - f.bias) - f.mantissa);
    } else {
      magnitude = std::ldexp(m + (1 << f.mantissa), int(e - f.bias) - f.mantissa);
    }
    return negative ? -magnitude : magnitude;
  }
  return kNan;
}

TEST(FloatFormat, DecodesEveryCodeOfTheSmallFormats) {
  for (FloatFormat format : kAll) {
    const FloatFormatInfo& info = floatFormatInfo(format);
    if (info.storageBits > 16) continue;
    for (uint64_t code = 0; code < uint64_t{1} << info.storageBits; ++code) {
      double want = textbookValue(format, code), got = decodeFloat(format, code);
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got)) << info.name << " code " << code;
      } else {
        EXPECT_EQ(f64Bits(want), f64Bits(got)) << info.name << " code " << code;
      }
    }
  }
}

TEST(FloatFormat, LargestValues) {
  EXPECT_EQ(decodeFloat(FloatFormat::F16, 0x7BFF), 65504.0);
  EXPECT_EQ(decodeFloat(FloatFormat::BF16, 0x7F7F), 0x1.FEp127);
  EXPECT_EQ(decodeFloat(FloatFormat::E4M3, 0x7E), 448.0);
  EXPECT_EQ(decodeFloat(FloatFormat::E5M2, 0x7B), 57344.0);
  EXPECT_EQ(decodeFloat(FloatFormat::E2M3, 0x1F), 7.5);
  EXPECT_EQ(decodeFloat(FloatFormat::E3M2, 0x1F), 28.0);
  EXPECT_EQ(decodeFloat(FloatFormat::E2M1, 0x7), 6.0);
  EXPECT_EQ(decodeFloat(FloatFormat::UE4M3, 0x7E), 448.0);
  EXPECT_EQ(decodeFloat(FloatFormat::UE8M0, 0xFE), 0x1p127);
  EXPECT_EQ(decodeFloat(FloatFormat::TF32, 0x7F7FE000), 0x1.FFCp127);
  EXPECT_EQ(decodeFloat(FloatFormat::F32, 1), 0x1p-149);
  EXPECT_EQ(decodeFloat(FloatFormat::F64, 1), 0x1p-1074);
}

// The positive finite codes of a format in increasing order of value.
std::vector<double> positiveValues(FloatFormat format) {
  std::vector<double> values;
  for (uint64_t code = 0;; ++code) {
    double v = textbookValue(format, code);
    if (std::isnan(v) || std::isinf(v)) break;
    values.push_back(v);
    if (code == floatFormatInfo(format).maxFiniteCode()) break;
  }
  return values;
}

// Nearest code by comparing exact distances: an independent statement of round-to-nearest-even.
// The step past the largest value is the same as the one before it.
uint64_t nearestCode(const std::vector<double>& values, double x) {
  size_t n = values.size();
  double top = values[n - 1];
  if (x >= top) {
    // Differences of the same binade and their halves are exact in double.
    double half = (top - values[n - 2]) / 2;
    if (x - top < half) return n - 1;
    if (x - top > half) return n;
    return (n - 1) % 2 == 0 ? n - 1 : n;
  }
  size_t hi = std::upper_bound(values.begin(), values.end(), x) - values.begin();
  size_t lo = hi - 1;
  double middle = (values[lo] + values[hi]) / 2;  // exact: at most 12 bits more than the format
  if (x < middle) return lo;
  if (x > middle) return hi;
  return lo % 2 == 0 ? lo : hi;
}

TEST(FloatFormat, EncodesNearestEven) {
  std::mt19937_64 rng(7);
  for (FloatFormat format :
       {FloatFormat::F16, FloatFormat::BF16, FloatFormat::E4M3, FloatFormat::E5M2,
        FloatFormat::E2M3, FloatFormat::E3M2, FloatFormat::E2M1, FloatFormat::UE4M3}) {
    const FloatFormatInfo& info = floatFormatInfo(format);
    std::vector<double> values = positiveValues(format);
    uint64_t signBit = info.isSigned ? uint64_t{1} << (info.storageBits - 1) : 0;
    auto check = [&](double x) {
      uint64_t code = nearestCode(values, x);
      bool over = code == values.size();
      uint64_t want = code;
      if (over && info.specials == FloatSpecials::None) want = values.size() - 1;
      EXPECT_EQ(encodeFloat(format, x), want) << info.name << " " << x;
      EXPECT_EQ(encodeFloat(format, x, FloatOverflow::Saturate), over ? values.size() - 1 : code)
          << info.name << " " << x;
      if (!info.isSigned) return;
      EXPECT_EQ(encodeFloat(format, -x), want | signBit) << info.name << -x;
    };
    for (size_t i = 0; i < values.size(); ++i) {
      double next = i + 1 < values.size() ? values[i + 1] : 2 * values[i] - values[i - 1];
      double middle = (values[i] + next) / 2;
      for (double x : {values[i], middle}) {
        check(x);
        check(std::nextafter(x, kInf));
        if (x > 0) check(std::nextafter(x, 0));
      }
      std::uniform_real_distribution<double> between(values[i], next);
      check(between(rng));
    }
    check(5e-324);
    check(values.back() * 16);
    check(1e300);
  }
}

TEST(FloatFormat, UnsignedScaleFormat) {
  EXPECT_EQ(encodeFloat(FloatFormat::UE8M0, 1.0), 127u);
  EXPECT_EQ(encodeFloat(FloatFormat::UE8M0, 1.49), 127u);
  EXPECT_EQ(encodeFloat(FloatFormat::UE8M0, 1.5), 128u);  // tie, code 127 is odd
  EXPECT_EQ(encodeFloat(FloatFormat::UE8M0, 3.0), 128u);  // tie, code 128 is even
  EXPECT_EQ(encodeFloat(FloatFormat::UE8M0, 0.0), 0u);
  EXPECT_EQ(encodeFloat(FloatFormat::UE8M0, 1e-300), 0u);
  EXPECT_EQ(encodeFloat(FloatFormat::UE8M0, 0x1p-127), 0u);
  EXPECT_EQ(encodeFloat(FloatFormat::UE8M0, 0x1p-126), 1u);
  EXPECT_EQ(encodeFloat(FloatFormat::UE8M0, 0x1p128), 255u);
  EXPECT_EQ(encodeFloat(FloatFormat::UE8M0, kInf, FloatOverflow::Saturate), 254u);
  EXPECT_EQ(encodeFloat(FloatFormat::UE8M0, kNan), 255u);
  EXPECT_EQ(encodeFloat(FloatFormat::UE8M0, -1.0), 255u);
  EXPECT_EQ(encodeFloat(FloatFormat::UE8M0, -0x1p-127), 255u);
  EXPECT_EQ(encodeFloat(FloatFormat::UE4M3, -1.0), 0x7Fu);
  EXPECT_EQ(encodeFloat(FloatFormat::UE4M3, -kInf), 0x7Fu);
  EXPECT_EQ(encodeFloat(FloatFormat::UE4M3, -1e-9), 0u);
}

// Special values and the two overflow modes of the 8-bit formats.
TEST(FloatFormat, EightBitSpecials) {
  auto def = [](FloatFormat f, double x) { return encodeFloat(f, x); };
  auto sat = [](FloatFormat f, double x) { return encodeFloat(f, x, FloatOverflow::Saturate); };
  const FloatFormat e4 = FloatFormat::E4M3, e5 = FloatFormat::E5M2;
  for (double x : {447., 448., 456., 464.}) {
    EXPECT_EQ(def(e4, x), 0x7Eu) << x;
    EXPECT_EQ(sat(e4, x), 0x7Eu) << x;
  }
  for (double x : {465., 1000., kInf}) {
    EXPECT_EQ(def(e4, x), 0x7Fu) << x;
    EXPECT_EQ(def(e4, -x), 0xFFu) << x;
    EXPECT_EQ(sat(e4, x), 0x7Eu) << x;
    EXPECT_EQ(sat(e4, -x), 0xFEu) << x;
  }
  EXPECT_EQ(def(e5, 57344), 0x7Bu);
  EXPECT_EQ(def(e5, 61439), 0x7Bu);
  EXPECT_EQ(def(e5, 61440), 0x7Cu);
  EXPECT_EQ(sat(e5, 61440), 0x7Bu);
  EXPECT_EQ(def(e5, -kInf), 0xFCu);
  EXPECT_EQ(sat(e5, -kInf), 0xFBu);
  for (auto mode : {FloatOverflow::Default, FloatOverflow::Saturate}) {
    EXPECT_EQ(encodeFloat(e4, kNan, mode) & 0x7F, 0x7Fu);
    EXPECT_GT(encodeFloat(e5, kNan, mode) & 0x7F, 0x7Cu);
    EXPECT_EQ(encodeFloat(FloatFormat::E2M1, kNan, mode), 0x7u);
    EXPECT_EQ(encodeFloat(FloatFormat::E2M3, -kNan, mode), 0x1Fu);
    EXPECT_EQ(encodeFloat(FloatFormat::E3M2, kNan, mode), 0x1Fu);
    EXPECT_EQ(encodeFloat(FloatFormat::E2M1, -kInf, mode), 0xFu);
  }
  EXPECT_EQ(def(e4, -1e-30), 0x80u);
  EXPECT_EQ(def(e5, -1e-30), 0x80u);
  EXPECT_EQ(def(FloatFormat::E2M1, -0.0), 0x8u);
}

TEST(FloatFormat, F16FastPathsEqualTheGenericCode) {
  for (uint32_t i = 0; i < 65536; ++i) {
    uint16_t h = uint16_t(i);
    EXPECT_EQ(f64Bits(f16ToF64(h)), f64Bits(decodeFloat(FloatFormat::F16, h))) << i;
    EXPECT_EQ(f64Bits(bf16ToF64(h)), f64Bits(decodeFloat(FloatFormat::BF16, h))) << i;
    uint16_t quiet16 = isNanF16(h) ? h | 0x200 : h, quietB = isNanBf16(h) ? h | 0x40 : h;
    EXPECT_EQ(f32ToF16(f16ToF32(h)), quiet16);
    EXPECT_EQ(f32ToBf16(bf16ToF32(h)), quietB);
    EXPECT_EQ(f64ToF16(f16ToF64(h)), quiet16);
    EXPECT_EQ(f64ToBf16(bf16ToF64(h)), quietB);
  }
  std::mt19937 rng(11);
  for (int i = 0; i < 300000; ++i) {
    uint32_t bits = rng();
    // Half of the values have an exponent that f16 reaches, and many are ties.
    if (i % 2) bits = (bits & 0x8FFFFFFF) | (0x3u << 28) | (rng() & 0x40000000);
    if (i % 3 == 0) bits = (bits & ~0x1FFFu) | 0x1000;
    if (i % 3 == 1) bits = (bits & ~0xFFFFu) | 0x8000;
    float x = f32FromBits(bits);
    EXPECT_EQ(f32ToF16(x), encodeFloat(FloatFormat::F16, f32ToF64(x))) << bits;
    EXPECT_EQ(f32ToBf16(x), encodeFloat(FloatFormat::BF16, f32ToF64(x))) << bits;
  }
}

TEST(FloatFormat, Bf16KnownAnswers) {
  auto convert = [](uint32_t bits) { return f32ToBf16(f32FromBits(bits)); };
  EXPECT_EQ(f32ToBf16(3.14f), 0x4049);
  EXPECT_EQ(convert(0x3F808000), 0x3F80);
  EXPECT_EQ(convert(0x3F818000), 0x3F82);
  EXPECT_EQ(convert(0x7F7FFFFF), 0x7F80);
  EXPECT_EQ(convert(0x7F800001), 0x7FC0);
  EXPECT_EQ(convert(0xFFFFFFFF), 0xFFFF);
  EXPECT_EQ(convert(0x00000001), 0);
  EXPECT_EQ(convert(0x80000000), 0x8000);
}

// f64 → f16 through f32 would round twice: just above a tie of f16, the f32 step lands on it.
TEST(FloatFormat, NoDoubleRounding) {
  double aboveTie = 1 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(f64ToF16(aboveTie), 0x3C01);
  EXPECT_EQ(f32ToF16(static_cast<float>(aboveTie)), 0x3C00);
  EXPECT_EQ(f64ToBf16(1 + 0x1p-8 + 0x1p-40), 0x3F81);
  // Integers: 2^11 + 1 + a little is above a tie of f16; the same for bf16 and f32.
  EXPECT_EQ(encodeSigned(FloatFormat::F16, 2049), 0x6800u);
  EXPECT_EQ(encodeSigned(FloatFormat::F16, -2051), 0xE802u);
  EXPECT_EQ(encodeSigned(FloatFormat::BF16, (int64_t{1} << 54) + (int64_t{1} << 46) + 1), 0x5A81u);
  EXPECT_EQ(encodeSigned(FloatFormat::F32, (int64_t{1} << 62) + (int64_t{1} << 38) + 1),
            0x5E800001u);
  EXPECT_EQ(encodeUnsigned(FloatFormat::F32, ~uint64_t{0}), 0x5F800000u);
  EXPECT_EQ(encodeSigned(FloatFormat::F32, std::numeric_limits<int64_t>::min()), 0xDF000000u);
  EXPECT_EQ(encodeUnsigned(FloatFormat::F16, 65519), 0x7BFFu);
  EXPECT_EQ(encodeUnsigned(FloatFormat::F16, 65520), 0x7C00u);
}

TEST(FloatFormat, IntegersAgainstTheHost) {
  std::mt19937_64 rng(3);
  for (int i = 0; i < 200000; ++i) {
    uint64_t u = rng() >> (i % 64);
    int64_t s = static_cast<int64_t>(rng()) >> (i % 64);
    EXPECT_EQ(encodeUnsigned(FloatFormat::F32, u), f32Bits(static_cast<float>(u)));
    EXPECT_EQ(encodeSigned(FloatFormat::F32, s), f32Bits(static_cast<float>(s)));
    EXPECT_EQ(encodeUnsigned(FloatFormat::F64, u), f64Bits(static_cast<double>(u)));
    EXPECT_EQ(encodeSigned(FloatFormat::F64, s), f64Bits(static_cast<double>(s)));
  }
}

TEST(FloatFormat, F32AndF64AgainstTheHost) {
  std::mt19937_64 rng(5);
  for (int i = 0; i < 300000; ++i) {
    uint64_t bits = rng();
    if (i % 2) {  // exponents that f32 reaches
      uint64_t exponent = 1023 - 155 + rng() % 290;
      bits = (bits & 0x800FFFFFFFFFFFFF) | exponent << 52;
    }
    double x = f64FromBits(bits);
    if (std::isnan(x)) continue;
    EXPECT_EQ(encodeFloat(FloatFormat::F32, x), f32Bits(static_cast<float>(x))) << bits;
    EXPECT_EQ(encodeFloat(FloatFormat::F64, x), bits);
    EXPECT_EQ(f64Bits(decodeFloat(FloatFormat::F64, bits)), bits);
    uint32_t narrow = static_cast<uint32_t>(rng());
    if (isNanF32(narrow)) continue;
    EXPECT_EQ(decodeFloat(FloatFormat::F32, narrow), double{f32FromBits(narrow)});
  }
}

TEST(FloatFormat, NanKeepsSignAndTopPayloadAndIsQuiet) {
  EXPECT_EQ(f64Bits(f32ToF64(f32FromBits(0xFFA12345))), 0xFFFC2468A0000000u);
  EXPECT_EQ(f32Bits(f64ToF32(f64FromBits(0xFFF42468A0000001))), 0xFFE12345u);
  EXPECT_EQ(f32Bits(f64ToF32(f64FromBits(0x7FF0000000000001))), 0x7FC00000u);
  EXPECT_EQ(f32ToF16(f32FromBits(0xFFA10000)), 0xFF08);
  EXPECT_EQ(f32ToF16(f32FromBits(0x7F800001)), 0x7E00);
  EXPECT_EQ(f32Bits(f16ToF32(0xFD55)), 0xFFEAA000u);
  EXPECT_EQ(f32Bits(bf16ToF32(0xFF81)), 0xFFC10000u);
  EXPECT_EQ(f64ToBf16(f64FromBits(0xFFF0000000000001)), 0xFFC0);
  EXPECT_EQ(encodeFloat(FloatFormat::F64, f64FromBits(0x7FF0000000000001)), 0x7FF8000000000001u);
}

TEST(FloatFormat, Tf32) {
  // Nearest-even, and the ties-away rounding of tensor inputs.
  EXPECT_EQ(encodeFloat(FloatFormat::TF32, 1 + 0x1p-11), 0x3F800000u);
  EXPECT_EQ(encodeFloat(FloatFormat::TF32, 1 + 0x3p-11), 0x3F804000u);
  EXPECT_EQ(encodeFloat(FloatFormat::TF32, 0x1.FFEp127), 0x7F800000u);
  EXPECT_EQ(decodeFloat(FloatFormat::TF32, 0x3F803FFF), 1 + 0x1p-10);
  EXPECT_EQ(roundToTf32TiesAway(f32Bits(1 + 0x1p-11f)), f32Bits(1 + 0x1p-10f));
  EXPECT_EQ(roundToTf32TiesAway(f32Bits(-1 - 0x1p-11f)), f32Bits(-1 - 0x1p-10f));
  EXPECT_EQ(roundToTf32TiesAway(0x3F800FFF), 0x3F800000u);
  EXPECT_EQ(roundToTf32TiesAway(0x7F7FF000), 0x7F800000u);
  EXPECT_EQ(roundToTf32TiesAway(0x7F800000), 0x7F800000u);
  EXPECT_EQ(roundToTf32TiesAway(0xFF800001), 0xFFC00000u);
  EXPECT_EQ(roundToTf32TiesAway(0x00001000), 0x00002000u);
}

TEST(FloatFormat, StickyBreaksTies) {
  // 2^12 + 2^1 is a tie of f16 (steps of 4 there).
  EXPECT_EQ(encodeParts(FloatFormat::F16, false, 4096 + 2, 0, false), 0x6C00u);
  EXPECT_EQ(encodeParts(FloatFormat::F16, false, 4096 + 2, 0, true), 0x6C01u);
  EXPECT_EQ(encodeParts(FloatFormat::F16, false, 4096 + 1, 0, true), 0x6C00u);
  EXPECT_EQ(encodeParts(FloatFormat::F16, true, uint64_t{1} << 63, -88, false), 0x8000u);
  EXPECT_EQ(encodeParts(FloatFormat::F16, true, uint64_t{1} << 63, -88, true), 0x8001u);
}

}  // namespace
}  // namespace mtlc
