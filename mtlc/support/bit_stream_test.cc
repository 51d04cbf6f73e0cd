#include "mtlc/support/bit_stream.h"

#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace mtlc {
namespace {

// Four 6-bit values in three bytes, packed by hand: 000001 100010 111111 010100 from the low end.
TEST(BitStream, SixBitValuesCrossBytes) {
  const std::vector<uint8_t> want = {0b10'000001, 0b1111'1000, 0b010100'11};
  const uint64_t values[] = {0b000001, 0b100010, 0b111111, 0b010100};
  std::vector<uint8_t> bytes(3);
  for (unsigned i = 0; i < 4; ++i) setBits(bytes, i * 6, 6, values[i]);
  EXPECT_EQ(bytes, want);
  for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(getBits(want, i * 6, 6), values[i]) << i;
}

TEST(BitStream, NibblesAndSingleBits) {
  std::vector<uint8_t> bytes = {0x21, 0x43};
  EXPECT_EQ(getBits(bytes, 0, 4), 1u);
  EXPECT_EQ(getBits(bytes, 4, 4), 2u);
  EXPECT_EQ(getBits(bytes, 12, 4), 4u);
  EXPECT_EQ(getBits(bytes, 8, 1), 1u);
  EXPECT_EQ(getBits(bytes, 10, 1), 0u);
  EXPECT_EQ(getBits(bytes, 3, 0), 0u);
  setBits(bytes, 4, 4, 0xFF);  // The bits above the count don't matter.
  EXPECT_EQ(bytes, (std::vector<uint8_t>{0xF1, 0x43}));
  setBits(bytes, 15, 1, 1);
  EXPECT_EQ(bytes, (std::vector<uint8_t>{0xF1, 0xC3}));
  setBits(bytes, 15, 0, 0);
  EXPECT_EQ(bytes, (std::vector<uint8_t>{0xF1, 0xC3}));
}

// Against a string of '0' and '1', for all widths and offsets.
TEST(BitStream, AgreesWithAStringOfBits) {
  std::mt19937_64 rng(1);
  constexpr unsigned kBits = 96;
  for (unsigned count = 0; count <= 64; ++count) {
    for (unsigned offset = 0; offset + count <= kBits; ++offset) {
      std::vector<uint8_t> bytes(kBits / 8);
      for (uint8_t& b : bytes) b = static_cast<uint8_t>(rng());
      std::string text;
      for (unsigned j = 0; j < kBits; ++j) text += (bytes[j / 8] & 1 << j % 8) ? '1' : '0';
      uint64_t want = 0;
      for (unsigned j = count; j-- > 0;) want = want * 2 + (text[offset + j] == '1');
      ASSERT_EQ(getBits(bytes, offset, count), want) << count << " at " << offset;

      const uint64_t value = rng();
      for (unsigned j = 0; j < count; ++j) text[offset + j] = (value >> j & 1) ? '1' : '0';
      setBits(bytes, offset, count, value);
      for (unsigned j = 0; j < kBits; ++j) {
        ASSERT_EQ((bytes[j / 8] & 1 << j % 8) != 0, text[j] == '1') << count << " at " << offset;
      }
    }
  }
}

}  // namespace
}  // namespace mtlc
