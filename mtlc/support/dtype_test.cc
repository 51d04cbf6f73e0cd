#include "mtlc/support/dtype.h"

#include <gtest/gtest.h>

namespace mtlc {
namespace {

struct Good {
  DType type;
  const char* text;
  uint64_t bits;
};

// Bits from IEEE 754's encodings and two's complement.
TEST(DType, ParsesScalars) {
  for (const Good& g : std::initializer_list<Good>{
           {DType::Bool, "true", 1},
           {DType::Bool, "0", 0},
           {DType::I8, "-128", 0x80},
           {DType::I8, "0x80", 0x80},
           {DType::I8, "127", 0x7F},
           {DType::U8, "255", 0xFF},
           {DType::I16, "-1", 0xFFFF},
           {DType::I32, "-2147483648", 0x80000000},
           {DType::U32, "4294967295", 0xFFFFFFFF},
           {DType::U32, "0xFFFFFFFF", 0xFFFFFFFF},
           {DType::I64, "-9223372036854775808", 0x8000000000000000},
           {DType::U64, "18446744073709551615", ~uint64_t{0}},
           {DType::F32, "1", 0x3F800000},
           {DType::F32, "-0.0", 0x80000000},
           {DType::F32, "0.1", 0x3DCCCCCD},
           {DType::F32, "1e-45", 1},
           {DType::F32, "nan", 0x7FC00000},
           {DType::F32, "-inf", 0xFF800000},
           {DType::F32, "0x1.8p1", 0x40400000},
           {DType::F32, "-0x1p-149", 0x80000001},
           {DType::F32, "0x7fc00001", 0x7FC00001},
           {DType::F64, "0.1", 0x3FB999999999999A},
           {DType::F64, "0x3ff", 0x3FF},
           {DType::F16, "65504", 0x7BFF},
           {DType::F16, "65520", 0x7C00},
           {DType::BF16, "3.14", 0x4049},
           {DType::BF16, "inf", 0x7F80},
       }) {
    auto bits = parseScalar(g.type, g.text);
    ASSERT_TRUE(bits.ok()) << g.text << ": " << bits.status();
    EXPECT_EQ(*bits, g.bits) << dtypeInfo(g.type).name << " " << g.text;
  }
}

TEST(DType, RefusesWhatIsNoValueOfTheType) {
  struct Bad {
    DType type;
    const char* text;
  };
  for (const Bad& b : std::initializer_list<Bad>{
           {DType::I8, "128"},
           {DType::I8, "-129"},
           {DType::U8, "-1"},
           {DType::U8, "256"},
           {DType::I8, "0x100"},
           {DType::I32, "1.5"},
           {DType::I32, ""},
           {DType::I32, "-"},
           {DType::I32, "1 "},
           {DType::I32, " 1"},
           {DType::I32, "+1"},
           {DType::I32, "--1"},
           {DType::I32, "0x"},
           {DType::U64, "18446744073709551616"},
           {DType::I64, "9223372036854775808"},
           {DType::F32, ""},
           {DType::F32, "-"},
           {DType::F32, "1e999"},
           {DType::F32, "1f"},
           {DType::F32, "NaN?"},
           {DType::F32, "0x1p"},
           {DType::F32, "infinity"},
           {DType::F32, "--1"},
           {DType::F32, "0x100000000"},
           {DType::F64, "1e400"},
           {DType::Bool, "2"},
           {DType::Bool, "yes"},
       }) {
    EXPECT_FALSE(parseScalar(b.type, b.text).ok()) << dtypeInfo(b.type).name << " " << b.text;
  }
}

TEST(DType, IntegersConvertToEveryType) {
  EXPECT_EQ(scalarFromInteger(DType::U8, 300), 44u);
  EXPECT_EQ(scalarFromInteger(DType::Bool, 300), 1u);
  EXPECT_EQ(scalarFromInteger(DType::F32, 16777217), 0x4B800000u);  // 2^24, a tie to even
  EXPECT_EQ(scalarFromInteger(DType::F64, 3), 0x4008000000000000u);
  EXPECT_EQ(scalarFromInteger(DType::F16, 2049), 0x6800u);  // 2048, a tie to even
}

TEST(DType, TextReadsBack) {
  EXPECT_EQ(scalarText(DType::F32, 0x3DCCCCCD), "0.1");
  EXPECT_EQ(scalarText(DType::F64, 0x3FB999999999999A), "0.1");
  EXPECT_EQ(scalarText(DType::F32, 0xFF800000), "-inf");
  EXPECT_EQ(scalarText(DType::F32, 0x7FC00000), "nan");
  EXPECT_EQ(scalarText(DType::I8, 0x80), "-128");
  EXPECT_EQ(scalarText(DType::U64, ~uint64_t{0}), "18446744073709551615");
  EXPECT_EQ(scalarText(DType::Bool, 1), "1");
  // All 16-bit floats survive text.
  for (DType type : {DType::F16, DType::BF16}) {
    for (uint64_t bits = 0; bits < 0x10000; ++bits) {
      std::string text = scalarText(type, bits);
      if (text == "nan" || text == "-nan") continue;
      auto back = parseScalar(type, text);
      ASSERT_TRUE(back.ok()) << text;
      ASSERT_EQ(*back, bits) << text;
    }
  }
}

TEST(DType, NamesRoundTrip) {
  for (int i = 0; i < kDTypeCount; ++i) {
    EXPECT_EQ(dtypeFromName(dtypeInfo(static_cast<DType>(i)).name), static_cast<DType>(i));
  }
  EXPECT_EQ(dtypeFromName("float"), std::nullopt);
}

}  // namespace
}  // namespace mtlc
