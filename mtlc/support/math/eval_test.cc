#include "mtlc/support/math/eval.h"

#include <cstdio>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "mtlc/support/math/accuracy.h"
#include "mtlc/support/math/test_inputs.h"

namespace mtlc::math {
namespace {

const float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();
const float kMax = std::numeric_limits<float>::max();

std::vector<MathFn> allFunctions() {
  std::vector<MathFn> all;
  for (int i = 0; i < kMathFnCount; ++i) all.push_back(static_cast<MathFn>(i));
  return all;
}

TEST(MathAccuracy, F32) {
  constexpr uint64_t kCount = 1'100'000;
  for (MathFn fn : allFunctions()) {
    Inputs<uint32_t, float> inputs(fn, 1);
    double worst = 0;
    uint32_t worstA = 0, worstB = 0;
    for (uint64_t i = 0; i < kCount; ++i) {
      uint32_t a, b;
      inputs.next(i, &a, &b);
      double error = ulpErrorF32(fn, a, b);
      if (error > worst) worst = error, worstA = a, worstB = b;
    }
    std::printf("f32 %-6s largest error %.3f ulp, bound %d\n",
                std::string(mathFnInfo(fn).name).c_str(), worst, mathFnInfo(fn).maxUlp);
    EXPECT_LE(worst, mathFnInfo(fn).maxUlp) << mathFnInfo(fn).name << std::hexfloat << " at "
                                            << f32FromBits(worstA) << " " << f32FromBits(worstB);
    EXPECT_GT(worst, 0.5);  // the oracle is not the code under test
  }
}

TEST(MathAccuracy, F64) {
  constexpr uint64_t kCount = 120'000;
  for (MathFn fn : allFunctions()) {
    Inputs<uint64_t, double> inputs(fn, 2);
    double worst = 0;
    uint64_t worstA = 0, worstB = 0;
    for (uint64_t i = 0; i < kCount; ++i) {
      uint64_t a, b;
      inputs.next(i, &a, &b);
      double error = ulpErrorF64(fn, a, b);
      if (error > worst) worst = error, worstA = a, worstB = b;
    }
    std::printf("f64 %-6s largest error %.3f ulp, bound %d\n",
                std::string(mathFnInfo(fn).name).c_str(), worst, mathFnInfo(fn).maxUlp);
    EXPECT_LE(worst, mathFnInfo(fn).maxUlp) << mathFnInfo(fn).name << std::hexfloat << " at "
                                            << f64FromBits(worstA) << " " << f64FromBits(worstB);
    EXPECT_GT(worst, 0.5);
  }
}

// Every value of the 16-bit types. Their error is that of one rounding and little more.
TEST(MathAccuracy, SixteenBitTypesExhaustively) {
  for (MathFn fn : allFunctions()) {
    for (FloatKind kind : {FloatKind::F16, FloatKind::BF16}) {
      int precision = kind == FloatKind::F16 ? 11 : 8;
      int minExponent = kind == FloatKind::F16 ? -14 : -126;
      int maxExponent = kind == FloatKind::F16 ? 15 : 127;
      for (uint64_t a = 0; a < 65536; ++a) {
        uint64_t b = (a * 40503 + 12345) & 0xFFFF;
        double got = scalar::toDouble(kind, evalMathBits(fn, kind, a, b));
        double exact = referenceDouble(fn, scalar::toDouble(kind, a), scalar::toDouble(kind, b));
        double error = ulpError(got, exact, precision, minExponent, maxExponent);
        ASSERT_LE(error, 0.502) << mathFnInfo(fn).name << " " << std::hex << a << " " << b;
      }
    }
  }
}

struct Special {
  MathFn fn;
  float x, y, want;
};

// Special values, ISO C Annex F.10; and results that must be exact.
const Special kSpecials[] = {
    {MathFn::RSqrt, 0.0f, 0, kInf},
    {MathFn::RSqrt, -0.0f, 0, -kInf},
    {MathFn::RSqrt, kInf, 0, 0.0f},
    {MathFn::RSqrt, -1.0f, 0, kNan},
    {MathFn::RSqrt, -kInf, 0, kNan},
    {MathFn::RSqrt, kNan, 0, kNan},
    {MathFn::RSqrt, 4.0f, 0, 0.5f},
    {MathFn::RSqrt, 0x1p-148f, 0, 0x1p74f},
    {MathFn::RSqrt, 0x1p126f, 0, 0x1p-63f},
    {MathFn::Exp, 0.0f, 0, 1.0f},
    {MathFn::Exp, -0.0f, 0, 1.0f},
    {MathFn::Exp, kInf, 0, kInf},
    {MathFn::Exp, -kInf, 0, 0.0f},
    {MathFn::Exp, kNan, 0, kNan},
    {MathFn::Exp, -kNan, 0, kNan},
    {MathFn::Exp, kMax, 0, kInf},
    {MathFn::Exp, -kMax, 0, 0.0f},
    {MathFn::Exp, 89.0f, 0, kInf},
    {MathFn::Exp, -105.0f, 0, 0.0f},
    {MathFn::Exp, -103.5f, 0, 0x1p-149f},
    {MathFn::Exp, 0x1p-140f, 0, 1.0f},
    {MathFn::Exp2, 0.0f, 0, 1.0f},
    {MathFn::Exp2, -127.0f, 0, 0x1p-127f},
    {MathFn::Exp2, -149.0f, 0, 0x1p-149f},
    {MathFn::Exp2, -150.0f, 0, 0.0f},
    {MathFn::Exp2, -149.5f, 0, 0x1p-149f},
    {MathFn::Exp2, 127.0f, 0, 0x1p127f},
    {MathFn::Exp2, 128.0f, 0, kInf},
    {MathFn::Exp2, kInf, 0, kInf},
    {MathFn::Exp2, -kInf, 0, 0.0f},
    {MathFn::Exp2, kNan, 0, kNan},
    {MathFn::Log, 1.0f, 0, 0.0f},
    {MathFn::Log, 0.0f, 0, -kInf},
    {MathFn::Log, -0.0f, 0, -kInf},
    {MathFn::Log, kInf, 0, kInf},
    {MathFn::Log, -1.0f, 0, kNan},
    {MathFn::Log, -0x1p-149f, 0, kNan},
    {MathFn::Log, -kInf, 0, kNan},
    {MathFn::Log, kNan, 0, kNan},
    {MathFn::Log2, 1.0f, 0, 0.0f},
    {MathFn::Log2, 0x1p-149f, 0, -149.0f},
    {MathFn::Log2, 0x1p-126f, 0, -126.0f},
    {MathFn::Log2, 0x1p127f, 0, 127.0f},
    {MathFn::Log2, 0.0f, 0, -kInf},
    {MathFn::Log2, -0.0f, 0, -kInf},
    {MathFn::Log2, kInf, 0, kInf},
    {MathFn::Log2, -2.0f, 0, kNan},
    {MathFn::Log2, kNan, 0, kNan},
    {MathFn::Sin, 0.0f, 0, 0.0f},
    {MathFn::Sin, -0.0f, 0, -0.0f},
    {MathFn::Sin, 0x1p-149f, 0, 0x1p-149f},
    {MathFn::Sin, kInf, 0, kNan},
    {MathFn::Sin, -kInf, 0, kNan},
    {MathFn::Sin, kNan, 0, kNan},
    {MathFn::Cos, 0.0f, 0, 1.0f},
    {MathFn::Cos, -0.0f, 0, 1.0f},
    {MathFn::Cos, kInf, 0, kNan},
    {MathFn::Cos, -kInf, 0, kNan},
    {MathFn::Cos, kNan, 0, kNan},
    {MathFn::Tan, 0.0f, 0, 0.0f},
    {MathFn::Tan, -0.0f, 0, -0.0f},
    {MathFn::Tan, -0x1p-149f, 0, -0x1p-149f},
    {MathFn::Tan, kInf, 0, kNan},
    {MathFn::Tan, -kInf, 0, kNan},
    {MathFn::Tan, kNan, 0, kNan},
    {MathFn::Tanh, 0.0f, 0, 0.0f},
    {MathFn::Tanh, -0.0f, 0, -0.0f},
    {MathFn::Tanh, 0x1p-149f, 0, 0x1p-149f},
    {MathFn::Tanh, 1e-20f, 0, 1e-20f},
    {MathFn::Tanh, 20.0f, 0, 1.0f},
    {MathFn::Tanh, 1000.0f, 0, 1.0f},
    {MathFn::Tanh, kInf, 0, 1.0f},
    {MathFn::Tanh, -kInf, 0, -1.0f},
    {MathFn::Tanh, kNan, 0, kNan},
    {MathFn::Erf, 0.0f, 0, 0.0f},
    {MathFn::Erf, -0.0f, 0, -0.0f},
    {MathFn::Erf, 5.0f, 0, 1.0f},
    {MathFn::Erf, kInf, 0, 1.0f},
    {MathFn::Erf, -kInf, 0, -1.0f},
    {MathFn::Erf, kNan, 0, kNan},
    {MathFn::Pow, 2.0f, 10.0f, 1024.0f},
    {MathFn::Pow, -2.0f, 3.0f, -8.0f},
    {MathFn::Pow, -2.0f, 2.0f, 4.0f},
    {MathFn::Pow, 2.0f, -149.0f, 0x1p-149f},
    {MathFn::Pow, 0x1p-149f, 1.0f, 0x1p-149f},
    {MathFn::Pow, 4.0f, 0.5f, 2.0f},
    {MathFn::Pow, 0.0f, -3.0f, kInf},
    {MathFn::Pow, -0.0f, -3.0f, -kInf},
    {MathFn::Pow, -0.0f, -2.0f, kInf},
    {MathFn::Pow, -0.0f, -2.5f, kInf},
    {MathFn::Pow, 0.0f, -kInf, kInf},
    {MathFn::Pow, -0.0f, -kInf, kInf},
    {MathFn::Pow, -0.0f, 3.0f, -0.0f},
    {MathFn::Pow, 0.0f, 3.0f, 0.0f},
    {MathFn::Pow, -0.0f, 2.0f, 0.0f},
    {MathFn::Pow, -0.0f, 2.5f, 0.0f},
    {MathFn::Pow, -1.0f, kInf, 1.0f},
    {MathFn::Pow, -1.0f, -kInf, 1.0f},
    {MathFn::Pow, 1.0f, kNan, 1.0f},
    {MathFn::Pow, 1.0f, kInf, 1.0f},
    {MathFn::Pow, kNan, 0.0f, 1.0f},
    {MathFn::Pow, kNan, -0.0f, 1.0f},
    {MathFn::Pow, kInf, 0.0f, 1.0f},
    {MathFn::Pow, -8.0f, 0.5f, kNan},
    {MathFn::Pow, -8.0f, 1.0f / 3, kNan},
    {MathFn::Pow, 0.5f, -kInf, kInf},
    {MathFn::Pow, -0.5f, -kInf, kInf},
    {MathFn::Pow, 1.5f, -kInf, 0.0f},
    {MathFn::Pow, 0.5f, kInf, 0.0f},
    {MathFn::Pow, -1.5f, kInf, kInf},
    {MathFn::Pow, -kInf, -3.0f, -0.0f},
    {MathFn::Pow, -kInf, -2.0f, 0.0f},
    {MathFn::Pow, -kInf, 3.0f, -kInf},
    {MathFn::Pow, -kInf, 2.5f, kInf},
    {MathFn::Pow, kInf, -0.1f, 0.0f},
    {MathFn::Pow, kInf, 0.1f, kInf},
    {MathFn::Pow, 2.0f, kNan, kNan},
    {MathFn::Pow, kNan, 2.0f, kNan},
    {MathFn::Pow, 2.0f, 1e30f, kInf},
    {MathFn::Pow, 2.0f, -1e30f, 0.0f},
    {MathFn::Pow, -2.0f, kMax, kInf},         // huge floats are even integers
    {MathFn::Pow, -1.0f, 16777217.0f, 1.0f},  // 2^24, even
    {MathFn::Pow, -1.0f, 16777215.0f, -1.0f},
    {MathFn::Pow, 1.0f + 0x1p-23f, kMax, kInf},
};

TEST(MathSpecials, F32AndF64) {
  for (const Special& t : kSpecials) {
    uint64_t got = evalMathBits(t.fn, FloatKind::F32, f32Bits(t.x), f32Bits(t.y));
    if (std::isnan(t.want)) {
      EXPECT_TRUE(isNanF32(static_cast<uint32_t>(got))) << mathFnInfo(t.fn).name << " " << t.x;
    } else {
      EXPECT_EQ(got, f32Bits(t.want)) << mathFnInfo(t.fn).name << " " << t.x << " " << t.y;
    }
  }
}

// The same in double, except where the answer depends on the format's range or precision: there
// the C library decides.
TEST(MathSpecials, F64) {
  for (const Special& t : kSpecials) {
    double x = t.x, y = t.y, want = referenceDouble(t.fn, x, y);
    uint64_t got = evalMathBits(t.fn, FloatKind::F64, f64Bits(x), f64Bits(y));
    if (std::isnan(want)) {
      EXPECT_TRUE(isNanF64(got)) << mathFnInfo(t.fn).name << " " << t.x << " " << t.y;
    } else if (want == 0 || std::isinf(want) || want == std::nearbyint(want)) {
      EXPECT_EQ(got, f64Bits(want)) << mathFnInfo(t.fn).name << " " << t.x << " " << t.y;
    }
  }
  auto f64 = [](MathFn fn, double x, double y = 0) {
    return f64FromBits(evalMathBits(fn, FloatKind::F64, f64Bits(x), f64Bits(y)));
  };
  EXPECT_EQ(f64(MathFn::Exp2, -1074), 0x1p-1074);
  EXPECT_EQ(f64(MathFn::Exp2, -1023), 0x1p-1023);
  EXPECT_EQ(f64(MathFn::Exp2, -1076), 0);
  EXPECT_EQ(f64(MathFn::Exp2, 1024), std::numeric_limits<double>::infinity());
  EXPECT_EQ(f64(MathFn::Exp, 710), std::numeric_limits<double>::infinity());
  EXPECT_EQ(f64(MathFn::Exp, -746), 0);
  EXPECT_EQ(f64(MathFn::Log2, 0x1p-1074), -1074);
  EXPECT_EQ(f64(MathFn::Tanh, 22), 1);
  EXPECT_EQ(f64(MathFn::Tanh, 0x1p-1074), 0x1p-1074);
  EXPECT_EQ(f64(MathFn::Erf, 6), 1);
  EXPECT_EQ(f64(MathFn::Pow, -3, 3), -27);
  EXPECT_EQ(f64(MathFn::Pow, -1, 9007199254740991.0), -1);
  EXPECT_EQ(f64(MathFn::Pow, -1, 9007199254740992.0), 1);
  EXPECT_EQ(f64(MathFn::Pow, 2, -1074), 0x1p-1074);
}

TEST(MathSpecials, PowersOfTwoAreExact) {
  auto f32 = [](MathFn fn, double x) {
    float a = static_cast<float>(x);
    return f32FromBits(static_cast<uint32_t>(evalMathBits(fn, FloatKind::F32, f32Bits(a), 0)));
  };
  auto f64 = [](MathFn fn, double x) {
    return f64FromBits(evalMathBits(fn, FloatKind::F64, f64Bits(x), 0));
  };
  for (int n = -149; n <= 127; ++n) {
    double power = std::ldexp(1.0, n);
    EXPECT_EQ(f32(MathFn::Exp2, n), power) << n;
    EXPECT_EQ(f32(MathFn::Log2, power), n);
    if (n % 2 != 0) continue;
    EXPECT_EQ(f32(MathFn::RSqrt, power), std::ldexp(1.0, -n / 2)) << n;
  }
  for (int n = -1074; n <= 1023; ++n) {
    double power = std::ldexp(1.0, n);
    EXPECT_EQ(f64(MathFn::Exp2, n), power) << n;
    EXPECT_EQ(f64(MathFn::Log2, power), n);
    if (n % 2 != 0) continue;
    EXPECT_EQ(f64(MathFn::RSqrt, power), std::ldexp(1.0, -n / 2)) << n;
  }
}

// Values printed in tables, to tie the whole chain to something outside any C library.
TEST(MathKnownValues, F64) {
  auto f64 = [](MathFn fn, double x) {
    return f64FromBits(evalMathBits(fn, FloatKind::F64, f64Bits(x), 0));
  };
  EXPECT_DOUBLE_EQ(f64(MathFn::Exp, 1), 2.718281828459045235360287);
  EXPECT_DOUBLE_EQ(f64(MathFn::Log, 10), 2.302585092994045684017991);
  EXPECT_DOUBLE_EQ(f64(MathFn::Log2, 10), 3.321928094887362347870319);
  EXPECT_DOUBLE_EQ(f64(MathFn::Sin, 1), 0.8414709848078965066525023);
  EXPECT_DOUBLE_EQ(f64(MathFn::Cos, 1), 0.5403023058681397174009366);
  EXPECT_DOUBLE_EQ(f64(MathFn::Tan, 1), 1.557407724654902230506975);
  EXPECT_DOUBLE_EQ(f64(MathFn::Sin, 1e22), -0.8522008497671888017727058);
  EXPECT_DOUBLE_EQ(f64(MathFn::Erf, 0.5), 0.5204998778130465376827466);
  EXPECT_DOUBLE_EQ(f64(MathFn::Tanh, 0.5), 0.4621171572600097585023185);
}

}  // namespace
}  // namespace mtlc::math
