#include "mtlc/support/scalar_ops.h"

#include <cstdio>
#include <random>

#include "gtest/gtest.h"

namespace mtlc {
namespace {

using namespace scalar;  // NOLINT: the functions under test

constexpr FloatKind kF16 = FloatKind::F16, kBF16 = FloatKind::BF16, kF32 = FloatKind::F32,
                    kF64 = FloatKind::F64;

enum class Op { FAdd, FSub, FMul, FDiv, FSqrt, Fma, FConv, SIToF, UIToF };
struct Case {
  Op op;
  FloatKind kind;
  uint64_t a, b, c, want;
};
const Case kCases[] = {
#include "mtlc/support/scalar_ops_cases.inc"
};

uint64_t evaluate(const Case& t) {
  switch (t.op) {
    case Op::FAdd:
      return fadd(t.kind, t.a, t.b);
    case Op::FSub:
      return fsub(t.kind, t.a, t.b);
    case Op::FMul:
      return fmul(t.kind, t.a, t.b);
    case Op::FDiv:
      return fdiv(t.kind, t.a, t.b);
    case Op::FSqrt:
      return fsqrt(t.kind, t.a);
    case Op::Fma:
      return fma(t.kind, t.a, t.b, t.c);
    case Op::FConv:
      return fconv(static_cast<FloatKind>(t.b), t.kind, t.a);
    case Op::SIToF:
      return sitof(t.kind, static_cast<unsigned>(t.b), t.a);
    case Op::UIToF:
      return uitof(t.kind, static_cast<unsigned>(t.b), t.a);
  }
  return 0;
}

TEST(ScalarOps, ExactRationalCases) {
  for (const Case& t : kCases) {
    EXPECT_EQ(evaluate(t), t.want)
        << "op " << static_cast<int>(t.op) << " kind " << static_cast<int>(t.kind) << std::hex
        << " a " << t.a << " b " << t.b << " c " << t.c;
  }
}

// Every i8 pair against arithmetic in int, with the corner cases spelled out.
TEST(ScalarOps, EveryPairOfI8) {
  for (int i = -128; i < 128; ++i) {
    for (int j = -128; j < 128; ++j) {
      uint64_t a = static_cast<uint8_t>(i), b = static_cast<uint8_t>(j);
      int ui = static_cast<uint8_t>(i), uj = static_cast<uint8_t>(j);
      auto low = [](int v) { return uint64_t{static_cast<uint8_t>(v)}; };
      ASSERT_EQ(add(8, a, b), low(i + j));
      ASSERT_EQ(sub(8, a, b), low(i - j));
      ASSERT_EQ(mul(8, a, b), low(i * j));
      ASSERT_EQ(neg(8, a), low(-i));
      ASSERT_EQ(smulhi(8, a, b), low((i * j) >> 8));
      ASSERT_EQ(umulhi(8, a, b), low((ui * uj) >> 8));
      ASSERT_EQ(sdiv(8, a, b), j == 0 ? 0xFF : low(i / j)) << i << " " << j;
      ASSERT_EQ(srem(8, a, b), j == 0 ? a : low(i % j)) << i << " " << j;
      ASSERT_EQ(udiv(8, a, b), uj == 0 ? 0xFF : low(ui / uj));
      ASSERT_EQ(urem(8, a, b), uj == 0 ? a : low(ui % uj));
      int n = uj % 8;
      ASSERT_EQ(shl(8, a, b), low(ui << n));
      ASSERT_EQ(lshr(8, a, b), low(ui >> n));
      ASSERT_EQ(ashr(8, a, b), low(i >> n));
      ASSERT_EQ(smin(8, a, b), low(std::min(i, j)));
      ASSERT_EQ(smax(8, a, b), low(std::max(i, j)));
      ASSERT_EQ(umin(8, a, b), low(std::min(ui, uj)));
      ASSERT_EQ(umax(8, a, b), low(std::max(ui, uj)));
      ASSERT_EQ(icmp(IntPredicate::Slt, 8, a, b), i < j);
      ASSERT_EQ(icmp(IntPredicate::Sge, 8, a, b), i >= j);
      ASSERT_EQ(icmp(IntPredicate::Ult, 8, a, b), ui < uj);
      ASSERT_EQ(icmp(IntPredicate::Uge, 8, a, b), ui >= uj);
      ASSERT_EQ(icmp(IntPredicate::Eq, 8, a, b), i == j);
    }
  }
}

TEST(ScalarOps, IntegerCornersOfOtherWidths) {
  EXPECT_EQ(sdiv(32, 0x80000000, 0xFFFFFFFF), 0x80000000u);
  EXPECT_EQ(srem(32, 0x80000000, 0xFFFFFFFF), 0u);
  EXPECT_EQ(sdiv(64, uint64_t{1} << 63, ~uint64_t{0}), uint64_t{1} << 63);
  EXPECT_EQ(sdiv(64, 7, 0), ~uint64_t{0});
  EXPECT_EQ(srem(64, 7, 0), 7u);
  EXPECT_EQ(sdiv(16, 0xFFF9, 2), 0xFFFDu);  // -7 / 2 = -3
  EXPECT_EQ(srem(16, 0xFFF9, 2), 0xFFFFu);
  EXPECT_EQ(shl(32, 1, 33), 2u);
  EXPECT_EQ(lshr(64, uint64_t{1} << 63, 127), 1u);
  EXPECT_EQ(ashr(32, 0x80000000, 32 + 31), 0xFFFFFFFFu);
  EXPECT_EQ(abs(32, 0x80000000), 0x80000000u);
  EXPECT_EQ(abs(16, 0xFFFF), 1u);
  EXPECT_EQ(clz(8, 0), 8u);
  EXPECT_EQ(clz(32, 1), 31u);
  EXPECT_EQ(clz(64, 0), 64u);
  EXPECT_EQ(popcount(64, ~uint64_t{0}), 64u);
  EXPECT_EQ(umulhi(64, ~uint64_t{0}, ~uint64_t{0}), ~uint64_t{0} - 1);
  EXPECT_EQ(smulhi(64, ~uint64_t{0}, 1), ~uint64_t{0});
  EXPECT_EQ(smulhi(32, 0x80000000, 0x80000000), 0x40000000u);
  EXPECT_EQ(sext(1, 32, 1), 0xFFFFFFFFu);
  EXPECT_EQ(sext(8, 16, 0x7F), 0x7Fu);
  EXPECT_EQ(add(1, 1, 1), 0u);
}

TEST(ScalarOps, FloatToIntegerSaturates) {
  auto si = [](float x, unsigned w) { return ftosi(kF32, w, f32Bits(x)); };
  auto ui = [](float x, unsigned w) { return ftoui(kF32, w, f32Bits(x)); };
  const float inf = INFINITY;
  EXPECT_EQ(si(NAN, 32), 0u);
  EXPECT_EQ(ui(NAN, 64), 0u);
  EXPECT_EQ(si(inf, 8), 0x7Fu);
  EXPECT_EQ(si(-inf, 8), 0x80u);
  EXPECT_EQ(ui(inf, 8), 0xFFu);
  EXPECT_EQ(ui(-inf, 8), 0u);
  EXPECT_EQ(si(-0.5f, 32), 0u);
  EXPECT_EQ(ui(-0.5f, 32), 0u);
  EXPECT_EQ(ui(255.5f, 8), 255u);
  EXPECT_EQ(si(255.5f, 8), 127u);
  EXPECT_EQ(si(510, 8), 127u);
  EXPECT_EQ(ui(510, 8), 255u);
  EXPECT_EQ(si(-200, 8), 0x80u);
  EXPECT_EQ(ui(-200, 8), 0u);
  EXPECT_EQ(si(-128.9f, 8), 0x80u);
  EXPECT_EQ(si(3e9f, 32), 0x7FFFFFFFu);
  EXPECT_EQ(ui(3e9f, 32), 3000000000u);
  EXPECT_EQ(si(-3e9f, 32), 0x80000000u);
  EXPECT_EQ(si(-2147483648.f, 32), 0x80000000u);
  EXPECT_EQ(si(0x1p63f, 64), 0x7FFFFFFFFFFFFFFFu);
  EXPECT_EQ(si(-0x1p63f, 64), 0x8000000000000000u);
  EXPECT_EQ(si(0x1.FFFFFEp62f, 64), 0x7FFFFF8000000000u);
  EXPECT_EQ(ui(0x1p64f, 64), ~uint64_t{0});
  EXPECT_EQ(ui(0x1.FFFFFEp63f, 64), 0xFFFFFF0000000000u);
  EXPECT_EQ(ftosi(kF64, 64, f64Bits(-9007199254740993.0)), uint64_t(-9007199254740992));
  EXPECT_EQ(ftosi(kF64, 16, f64Bits(-32768.99)), 0x8000u);
  EXPECT_EQ(ftoui(kF64, 16, f64Bits(65535.99)), 0xFFFFu);
  EXPECT_EQ(ftosi(kF16, 8, 0x7C00), 0x7Fu);
  EXPECT_EQ(ftosi(kF16, 32, 0xFBFF), uint64_t{static_cast<uint32_t>(-65504)});
  EXPECT_EQ(ftoui(kBF16, 32, 0x7F7F), 0xFFFFFFFFu);
  EXPECT_EQ(ftoui(kBF16, 32, 0x7FC0), 0u);
}

TEST(ScalarOps, BooleansToFloat) {
  for (FloatKind kind : {kF16, kBF16, kF32, kF64}) {
    EXPECT_EQ(toDouble(kind, sitof(kind, 1, 1)), -1.0);
    EXPECT_EQ(toDouble(kind, uitof(kind, 1, 1)), 1.0);
    EXPECT_EQ(uitof(kind, 1, 0), 0u);
  }
}

TEST(ScalarOps, MinMax) {
  for (FloatKind kind : {kF16, kBF16, kF32, kF64}) {
    uint64_t one = fromDouble(kind, 1), nan = canonicalNan(kind), inf = infinity(kind);
    uint64_t zero = 0, minus = fneg(kind, 0), payloadNan = fneg(kind, inf | 1);
    EXPECT_EQ(fmax(kind, nan, one), one);
    EXPECT_EQ(fmax(kind, one, payloadNan), one);
    EXPECT_EQ(fmin(kind, payloadNan, one), one);
    EXPECT_EQ(fmin(kind, one, nan), one);
    EXPECT_EQ(fmin(kind, payloadNan, payloadNan), nan);
    EXPECT_EQ(fmax(kind, payloadNan, nan), nan);
    EXPECT_EQ(fmax(kind, minus, zero), zero);
    EXPECT_EQ(fmax(kind, zero, minus), zero);
    EXPECT_EQ(fmin(kind, minus, zero), minus);
    EXPECT_EQ(fmin(kind, zero, minus), minus);
    EXPECT_EQ(fmax(kind, inf, nan), inf);
    EXPECT_EQ(fmaxNan(kind, inf, nan), nan);
    EXPECT_EQ(fmaxNan(kind, payloadNan, one), nan);
    EXPECT_EQ(fminNan(kind, one, payloadNan), nan);
    EXPECT_EQ(fminNan(kind, zero, minus), minus);
    EXPECT_EQ(fmaxNan(kind, minus, zero), zero);
    EXPECT_EQ(fmin(kind, one, fneg(kind, inf)), fneg(kind, inf));
    EXPECT_EQ(fmax(kind, one, fneg(kind, inf)), one);
  }
}

// Algebra that is not true for floats (the folder asks the same functions).
TEST(ScalarOps, SpecialValues) {
  uint64_t nan = canonicalNan(kF32), inf = infinity(kF32), minusInf = fneg(kF32, inf);
  uint64_t zero = 0, minus = 0x80000000, one = 0x3F800000;
  EXPECT_EQ(fmul(kF32, inf, zero), nan);
  EXPECT_EQ(fmul(kF32, fneg(kF32, one), zero), minus);
  EXPECT_EQ(fadd(kF32, minus, zero), zero);
  EXPECT_EQ(fadd(kF32, minus, minus), minus);
  EXPECT_EQ(fsub(kF32, zero, zero), zero);
  EXPECT_EQ(fsub(kF32, minusInf, minusInf), nan);
  EXPECT_EQ(fdiv(kF32, one, minus), minusInf);
  EXPECT_EQ(fdiv(kF32, zero, zero), nan);
  EXPECT_EQ(fsqrt(kF32, minus), minus);
  EXPECT_EQ(fsqrt(kF32, fneg(kF32, one)), nan);
  // A NaN operand, whatever its sign and payload and on whichever side, gives the canonical one.
  EXPECT_EQ(fadd(kF32, 0xFFC00001, one), nan);
  EXPECT_EQ(fadd(kF32, one, 0x7F800001), nan);
  EXPECT_EQ(fma(kF32, one, one, 0xFFC00001), nan);
  EXPECT_EQ(fma(kF16, 0x3C00, 0xFE01, 0x3C00), canonicalNan(kF16));
  EXPECT_EQ(fma(kBF16, 0x7F80, 0x0000, 0x3F80), canonicalNan(kBF16));
  EXPECT_EQ(fma(kF16, 0x7BFF, 0x7BFF, 0xFC00), 0xFC00u);
  // Sign operations move bits.
  EXPECT_EQ(fneg(kF32, 0x7FC00001), 0xFFC00001u);
  EXPECT_EQ(fabs(kF32, 0xFF800001), 0x7F800001u);
  EXPECT_EQ(fneg(kF16, 0), 0x8000u);
  EXPECT_EQ(fconv(kF32, kF64, 0xFFA00000), 0xFFFC000000000000u);
  EXPECT_EQ(fconv(kF64, kF16, 0xFFF4000000000000), 0xFF00u);
}

TEST(ScalarOps, NoContraction) {
  // (1 + 2^-12)^2 - (1 + 2^-11): rounding the product first gives 0, fusing gives 2^-24.
  uint64_t x = f32Bits(1 + 0x1p-12f), y = f32Bits(-(1 + 0x1p-11f));
  EXPECT_EQ(fadd(kF32, fmul(kF32, x, x), y), 0u);
  EXPECT_EQ(fma(kF32, x, x, y), f32Bits(0x1p-24f));
}

TEST(ScalarOps, Rounding) {
  struct Row {
    double x, floor, ceil, trunc, round, even;
  };
  const Row rows[] = {
      {0.5, 0, 1, 0, 1, 0},
      {-0.5, -1, -0.0, -0.0, -1, -0.0},
      {1.5, 1, 2, 1, 2, 2},
      {2.5, 2, 3, 2, 3, 2},
      {-2.5, -3, -2, -2, -3, -2},
      {-0.0, -0.0, -0.0, -0.0, -0.0, -0.0},
      {126.5, 126, 127, 126, 127, 126},
      {0.25, 0, 1, 0, 0, 0},
      {-1.75, -2, -1, -1, -2, -2},
  };
  for (FloatKind kind : {kF16, kBF16, kF32, kF64}) {
    for (const Row& r : rows) {
      uint64_t x = fromDouble(kind, r.x);
      EXPECT_EQ(ffloor(kind, x), fromDouble(kind, r.floor)) << r.x;
      EXPECT_EQ(fceil(kind, x), fromDouble(kind, r.ceil)) << r.x;
      EXPECT_EQ(ftrunc(kind, x), fromDouble(kind, r.trunc)) << r.x;
      EXPECT_EQ(fround(kind, x), fromDouble(kind, r.round)) << r.x;
      EXPECT_EQ(froundeven(kind, x), fromDouble(kind, r.even)) << r.x;
    }
    EXPECT_EQ(ffloor(kind, infinity(kind)), infinity(kind));
    EXPECT_EQ(fround(kind, infinity(kind) | 1), canonicalNan(kind));
  }
  // The largest value below one half must not round to 1.
  EXPECT_EQ(fround(kF32, 0x3EFFFFFF), 0u);
  EXPECT_EQ(fround(kF64, f64Bits(0x1.FFFFFFFFFFFFFp-2)), 0u);
  EXPECT_EQ(fround(kF32, f32Bits(8388609.0f)), f32Bits(8388609.0f));
}

TEST(ScalarOps, FloatComparisons) {
  const double values[] = {-INFINITY, -1, -0.0, 0.0, 0x1p-20, 1, INFINITY, NAN};
  for (FloatKind kind : {kF16, kBF16, kF32, kF64}) {
    for (double x : values) {
      for (double y : values) {
        uint64_t a = fromDouble(kind, x), b = fromDouble(kind, y);
        bool nan = std::isnan(x) || std::isnan(y);
        auto test = [&](FloatPredicate ordered, FloatPredicate unordered, bool truth) {
          EXPECT_EQ(fcmp(ordered, kind, a, b), !nan && truth) << x << " " << y;
          EXPECT_EQ(fcmp(unordered, kind, a, b), nan || truth) << x << " " << y;
        };
        test(FloatPredicate::Oeq, FloatPredicate::Ueq, x == y);
        test(FloatPredicate::One, FloatPredicate::Une, x != y);
        test(FloatPredicate::Olt, FloatPredicate::Ult, x < y);
        test(FloatPredicate::Ole, FloatPredicate::Ule, x <= y);
        test(FloatPredicate::Ogt, FloatPredicate::Ugt, x > y);
        test(FloatPredicate::Oge, FloatPredicate::Uge, x >= y);
        EXPECT_EQ(fcmp(FloatPredicate::Ord, kind, a, b), !nan);
        EXPECT_EQ(fcmp(FloatPredicate::Uno, kind, a, b), nan);
      }
    }
  }
}

// fma of the 16-bit types with exact integer arithmetic: a·b + c on a common exponent fits 128 bits
// when the exponents are close.
TEST(ScalarOps, SixteenBitFmaAgainstIntegers) {
  std::mt19937 rng(17);
  for (int i = 0; i < 200000; ++i) {
    FloatKind kind = i % 2 ? kF16 : kBF16;
    int mantissa = i % 2 ? 10 : 7, bias = i % 2 ? 15 : 127;
    auto make = [&](int lowExponent, int highExponent, int64_t* significand, int* exponent) {
      int e = lowExponent + static_cast<int>(rng() % (highExponent - lowExponent + 1));
      uint32_t m = rng() & ((1u << mantissa) - 1);
      if (rng() % 4 == 0) m &= 3u << (mantissa - 2);
      bool negative = rng() & 1;
      *significand = static_cast<int64_t>(m | 1u << mantissa) * (negative ? -1 : 1);
      *exponent = e - mantissa;
      return uint64_t{negative} << 15 | static_cast<uint64_t>(e + bias) << mantissa | m;
    };
    int64_t sa, sb, sc;
    int ea, eb, ec;
    uint64_t a = make(-6, 6, &sa, &ea), b = make(-6, 6, &sb, &eb), c = make(-13, 14, &sc, &ec);
    // Every exponent is at least -40, so these shifts are exact.
    __int128 exact = (static_cast<__int128>(sa * sb) << (ea + eb + 40)) +
                     (static_cast<__int128>(sc) << (ec + 40));
    bool negative = exact < 0;
    unsigned __int128 magnitude = negative ? -exact : exact;
    uint64_t want;
    if (magnitude == 0) {
      want = 0;
    } else {
      bool sticky = false;
      int exponent = -40;
      while (magnitude >> 60) {
        sticky |= static_cast<uint64_t>(magnitude & 1);
        magnitude >>= 1;
        ++exponent;
      }
      want =
          encodeParts(formatOf(kind), negative, static_cast<uint64_t>(magnitude), exponent, sticky);
    }
    EXPECT_EQ(fma(kind, a, b, c), want) << std::hex << a << " " << b << " " << c;
  }
}

}  // namespace
}  // namespace mtlc
