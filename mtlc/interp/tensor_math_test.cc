// The parts that are easy to say by hand: where elements are, which bytes are touched, what is
// uninitialised. The arithmetic is compared with exact rationals in test/Exec/tensor_*_test.py.

#include "mtlc/interp/tensor_math.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "mtlc/support/bit_stream.h"

namespace mtlc::interp {
namespace {

using ir::Layout;
using ir::MmaDesc;
using ir::Packing;
using ir::Slot;
using E = ElementFormat;
using Bytes = std::vector<uint8_t>;

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

template <typename T>
Bytes bytesOf(std::initializer_list<T> values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}
template <typename T>
std::vector<T> valuesOf(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

MmaDesc desc(uint32_t m, uint32_t n, uint32_t k, E ab, E acc) {
  MmaDesc d;
  d.m = m;
  d.n = n;
  d.k = k;
  d.a = d.b = ab;
  d.acc = d.result = acc;
  d.aPacking = d.bPacking = ir::defaultPacking(ab);
  ir::setDenseLeading(d, {});
  return d;
}

TEST(TensorMath, WholeProductOfBytes) {
  MmaProblem p = MmaProblem::wholeTile(desc(2, 2, 3, E::I8, E::I32));
  const Bytes a = {1, 2, 3, 4, 5, 0xFF};  // Rows 1 2 3 and 4 5 -1.
  const Bytes b = {1, 0, 2, 0, 1, 1};     // Columns 1 0 2 and 0 1 1.
  Bytes d = bytesOf<int32_t>({100, 200, 300, 400});
  multiply(p, {.a = {a}, .b = {b}, .c = {d}, .metadata = {}, .scaleA = {}, .scaleB = {}}, {d});
  EXPECT_EQ(valuesOf<int32_t>(d), (std::vector<int32_t>{107, 205, 302, 404}));
}

TEST(TensorMath, LeadingDimensionsOfAProblem) {
  MmaProblem p;
  p.desc = desc(16, 8, 32, E::E2M1, E::F32);
  p.m = 100;
  p.n = 50;
  p.k = 37;
  EXPECT_EQ(p.leastLeading(Slot::Lda), 37u);
  EXPECT_EQ(p.leastLeading(Slot::Ldb), 37u);
  EXPECT_EQ(p.leastLeading(Slot::Ldc), 50u);
  p.desc.sparsity = ir::Sparsity::S2to4;  // Ten groups, two values each.
  EXPECT_EQ(p.leastLeading(Slot::Lda), 20u);
  p.desc.transposeA = true;
  EXPECT_EQ(p.leastLeading(Slot::Lda), 100u);
  p.desc.bLayout = Layout::Row;
  EXPECT_EQ(p.leastLeading(Slot::Ldb), 50u);
  p.desc.dLayout = Layout::Col;
  EXPECT_EQ(p.leastLeading(Slot::Ldd), 100u);
  p.desc.aScale = ir::ScaleMode::Block16;
  p.desc.bScale = ir::ScaleMode::Tensor;
  EXPECT_EQ(p.leastLeading(Slot::Ldsa), 3u);
  EXPECT_EQ(p.leastLeading(Slot::Ldsb), 0u);
}

TEST(TensorMath, TouchedBytesOfARegion) {
  MmaProblem p;
  p.desc = desc(4, 4, 8, E::F16, E::F32);
  p.m = 6;
  p.n = 9;
  p.k = 5;
  p.row = 4;
  p.col = 8;
  p.lda = 8;
  p.ldb = 5;
  p.ldc = 16;
  p.ldd = 9;
  // Rows 4 and 5, column 8.
  EXPECT_EQ(touched(p, Slot::A, kNoLimit), (ByteRanges{{64, 74}, {80, 90}}));
  EXPECT_EQ(touched(p, Slot::B, kNoLimit), (ByteRanges{{80, 90}}));
  EXPECT_EQ(touched(p, Slot::C, kNoLimit), (ByteRanges{{288, 292}, {352, 356}}));
  EXPECT_EQ(touched(p, Slot::D, kNoLimit), (ByteRanges{{176, 180}, {212, 216}}));
  EXPECT_EQ(touched(p, Slot::C, 290), (ByteRanges{{288, 292}}));  // Ends behind the limit.
  EXPECT_FALSE(sameElements(p));
  p.ldd = 16;
  EXPECT_TRUE(sameElements(p));
  p.desc.transposeA = true;
  p.lda = 6;
  EXPECT_EQ(touched(p, Slot::A, kNoLimit),
            (ByteRanges{{8, 12}, {20, 24}, {32, 36}, {44, 48}, {56, 60}}));
  p.k = 0;
  EXPECT_EQ(touched(p, Slot::A, kNoLimit), ByteRanges());
  EXPECT_EQ(touched(p, Slot::C, kNoLimit).size(), 2u);
  p.row = 6;
  EXPECT_EQ(touched(p, Slot::C, kNoLimit), ByteRanges());
}

TEST(TensorMath, TouchedBytesDontWrapAround) {
  MmaProblem p;
  p.desc = desc(4, 4, 8, E::F64, E::F64);
  p.m = p.n = p.k = kNoLimit;
  p.row = kNoLimit - 2;
  p.lda = p.ldb = p.ldc = p.ldd = kNoLimit;
  EXPECT_EQ(p.rows(), 2u);
  EXPECT_EQ(touched(p, Slot::A, 1000), (ByteRanges{{kNoLimit, kNoLimit}}));
  EXPECT_EQ(touched(p, Slot::D, 1000).front().end, kNoLimit);
  // 2^33 elements a row.
  p.m = 3;
  p.n = p.k = 1;
  p.row = 1;
  p.lda = p.ldb = p.ldc = p.ldd = uint64_t{1} << 33;
  EXPECT_EQ(touched(p, Slot::A, kNoLimit),
            (ByteRanges{{uint64_t{1} << 36, (uint64_t{1} << 36) + 8},
                        {uint64_t{1} << 37, (uint64_t{1} << 37) + 8}}));
}

TEST(TensorMath, DenseSixBitRows) {
  MmaProblem p;
  p.desc = desc(2, 1, 3, E::E2M3, E::F32);
  p.desc.aPacking = Packing::Dense;
  p.m = 2;
  p.n = 1;
  p.k = 3;
  p.lda = 5;  // Row 1 begins at bit 30.
  p.ldb = 3;
  p.ldc = p.ldd = 1;
  EXPECT_EQ(touched(p, Slot::A, kNoLimit), (ByteRanges{{0, 6}}));
  Bytes a(6, 0xFF);
  const uint64_t one = 0b001000, two = 0b010000, half = 0b000100;
  for (unsigned i = 0; i < 3; ++i) setBits(a, i * 6, 6, one);
  setBits(a, 30, 6, two);
  setBits(a, 36, 6, half);
  setBits(a, 42, 6, 0b101000);  // -1
  // The two bits above a logical value mean nothing.
  const Bytes b = {static_cast<uint8_t>(0xC0 | one), static_cast<uint8_t>(0x40 | two),
                   static_cast<uint8_t>(one)};
  const Bytes c = bytesOf<float>({10, 20});
  Bytes d(8);
  multiply(p, {.a = {a}, .b = {b}, .c = {c}, .metadata = {}, .scaleA = {}, .scaleB = {}}, {d});
  EXPECT_EQ(valuesOf<float>(d), (std::vector<float>{14, 22}));
}

TEST(TensorMath, UninitialisedBitsSpoilWhatTheyReach) {
  MmaProblem p = MmaProblem::wholeTile(desc(2, 2, 2, E::E2M1, E::F32));
  const Bytes a(4, 0x2), b(4, 0x2);  // All 1.
  Bytes c(16), d(16, 0xCD), uninitA(4), uninitB(4), uninitC(16), uninitD(16, 0xFF);
  uninitA[0] = 0xF0;  // Above the value: nothing.
  uninitB[2] = 0x01;  // Column 1.
  uninitC[8] = 0x10;  // Row 1, column 0.
  multiply(p,
           {.a = {a, uninitA},
            .b = {b, uninitB},
            .c = {c, uninitC},
            .metadata = {},
            .scaleA = {},
            .scaleB = {}},
           {d, uninitD});
  EXPECT_EQ(valuesOf<uint32_t>(uninitD), (std::vector<uint32_t>{0, ~0u, ~0u, ~0u}));
  EXPECT_EQ(valuesOf<float>(d)[0], 2);
  // A copy keeps each bit's state.
  copyAccumulator(p, {c, uninitC}, {d, uninitD});
  EXPECT_EQ(uninitD, uninitC);
}

TEST(TensorMath, UninitialisedScalesAndMasks) {
  MmaProblem p = MmaProblem::wholeTile(desc(2, 2, 4, E::E4M3, E::F32));
  p.desc.sparsity = ir::Sparsity::S1to2;
  p.desc.aScale = ir::ScaleMode::Block16;
  p.desc.aScaleFormat = E::UE4M3;
  p.lda = 2;
  p.ldsa = 1;
  const Bytes a(4, 0x38), b(8, 0x38), c(16), masks(4, 0x01), scales(2, 0x38);
  Bytes d(16), uninitD(16), uninitMasks(4), uninitScales(2);
  auto run = [&] {
    multiply(p,
             {.a = {a},
              .b = {b},
              .c = {c},
              .metadata = {masks, uninitMasks},
              .scaleA = {scales, uninitScales},
              .scaleB = {}},
             {d, uninitD});
    return valuesOf<uint32_t>(uninitD);
  };
  const std::vector<uint32_t> first = {~0u, ~0u, 0, 0}, second = {0, 0, ~0u, ~0u};
  EXPECT_EQ(run(), std::vector<uint32_t>(4));
  EXPECT_EQ(valuesOf<float>(d), std::vector<float>(4, 2));
  uninitScales[0] = 0x80;  // Bit 7 of a ue4m3.
  EXPECT_EQ(run(), std::vector<uint32_t>(4));
  uninitScales[0] = 0x40;
  EXPECT_EQ(run(), first);
  uninitScales[0] = 0;
  uninitMasks[3] = 0x04;  // Not of a group of two.
  EXPECT_EQ(run(), std::vector<uint32_t>(4));
  uninitMasks[3] = 0x02;
  EXPECT_EQ(run(), second);
}

TEST(TensorMath, Masks) {
  MmaProblem p = MmaProblem::wholeTile(desc(2, 1, 5, E::F16, E::F32));
  p.desc.sparsity = ir::Sparsity::S2to4;
  Bytes masks = {0x3, 0xA, 0xF5, 0xC}, uninit(4);  // The high bits mean nothing.
  EXPECT_FALSE(findBadMask(p, {masks, uninit}));
  masks[2] = 0xF7;
  std::optional<BadMask> bad = findBadMask(p, {masks, uninit});
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->row, 1u);
  EXPECT_EQ(bad->group, 0u);
  EXPECT_EQ(bad->mask, 7);
  uninit[2] = 1;
  EXPECT_FALSE(findBadMask(p, {masks, uninit}));
  p.row = 1;
  p.desc.m = 1;
  masks[0] = 0;  // Not of the region.
  EXPECT_FALSE(findBadMask(p, {masks, uninit}));
}

TEST(TensorMath, Overlap) {
  EXPECT_FALSE(overlap(100, {{0, 4}, {8, 12}}, 104, {{0, 4}, {8, 12}}));
  EXPECT_TRUE(overlap(100, {{0, 4}, {8, 12}}, 103, {{0, 1}}));
  EXPECT_TRUE(overlap(100, {{0, 4}, {8, 12}}, 90, {{0, 4}, {20, 21}}));
  EXPECT_FALSE(overlap(100, {{0, 4}}, 90, {}));
}

TEST(TensorMath, EpilogueRoundsEachStep) {
  EpilogueProblem p;
  p.desc.m = 1;
  p.desc.n = 2;
  p.desc.bias = ir::BiasMode::Column;
  p.ldd = 2;
  p.alpha = 1 + 0x1p-23;
  p.beta = 1;
  // (1 + e)^2 = 1 + 2e + e^2: fused with -1 the e^2 would survive.
  Bytes d = bytesOf<float>({1 + 0x1p-23f, -0.0f});
  const Bytes bias = bytesOf<float>({-1, -0.0f});
  applyEpilogue(p, {bias}, {d});
  EXPECT_EQ(valuesOf<float>(d)[0], 0x1p-22f);
  EXPECT_TRUE(std::signbit(valuesOf<float>(d)[1]));
  EXPECT_EQ(touched(p, Slot::Bias, kNoLimit), (ByteRanges{{0, 8}}));
  EXPECT_EQ(p.leastLeading(Slot::Ldd), 2u);
  EXPECT_EQ(p.leastLeading(Slot::LdBias), 0u);
}

TEST(TensorMath, TransferOfSubBytesLeavesItsNeighbours) {
  TransferProblem p;
  p.desc.rank = 2;
  p.desc.direction = ir::Direction::Store;
  p.desc.element = E::E3M2;
  p.desc.packing = Packing::Dense;
  p.desc.tile = {2, 2};
  p.extent = {5, 3};
  p.stride = {0, 4};
  p.x = {4, -1};  // Element (4, 0) takes the tile's element 2; all others are outside.
  const Bytes tile = {0xFF, 0x5F, 0xA3};
  Bytes global(12, 0), want(12, 0);
  setBits(want, 4 * 6, 6, getBits(tile, 12, 6));
  transfer(p, {tile}, {global});
  EXPECT_EQ(global, want);
  EXPECT_EQ(touched(p, Slot::Dst, kNoLimit), (ByteRanges{{3, 4}}));
  EXPECT_EQ(touched(p, Slot::Src, kNoLimit), (ByteRanges{{1, 3}}));

  p.desc.direction = ir::Direction::Load;
  Bytes back(3, 0xFF), uninit(3, 0xFF);
  transfer(p, {global}, {back, uninit});
  EXPECT_EQ(getBits(back, 12, 6), getBits(tile, 12, 6));
  EXPECT_EQ(getBits(back, 0, 12), 0u);
  EXPECT_EQ(getBits(back, 18, 6), 0u);
  EXPECT_EQ(uninit, Bytes(3));
}

TEST(TensorMath, Decoding) {
  EXPECT_EQ(decodeElement(E::UE4M3, 0xB8), 1);                 // Bit 7 means nothing.
  EXPECT_EQ(decodeElement(E::TF32, 0x3F801000), 1 + 0x1p-10);  // A tie, away from zero.
  EXPECT_TRUE(std::isnan(decodeElement(E::UE8M0, 0xFF)));
  EXPECT_EQ(decodeInteger(E::I4, 0xF8), -8);
  EXPECT_EQ(decodeInteger(E::U4, 0xF8), 8);
  EXPECT_EQ(decodeInteger(E::I8, 0x80), -128);
  EXPECT_EQ(decodeInteger(E::I32, 0xFFFFFFFF), -1);
}

}  // namespace
}  // namespace mtlc::interp
