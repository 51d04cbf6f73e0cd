#include "mtlc/transforms/matrix_overlap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>

namespace mtlc::transforms {
namespace {

// By listing all elements of both.
bool haveCommonElement(uint32_t m0, uint32_t n0, uint32_t m1, uint32_t n1, int64_t leading,
                       int64_t lines, int64_t elements) {
  std::set<int64_t> first;
  for (int64_t r = 0; r < m0; ++r) {
    for (int64_t c = 0; c < n0; ++c) first.insert(r * leading + c);
  }
  for (int64_t r = 0; r < m1; ++r) {
    for (int64_t c = 0; c < n1; ++c) {
      if (first.contains((r + lines) * leading + c + elements)) return true;
    }
  }
  return false;
}

TEST(MatrixOverlap, AgreesWithListingTheElements) {
  std::mt19937 random(7);
  auto pick = [&](int least, int most) {
    return least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
  };
  int disjoint = 0;
  for (int i = 0; i < 60000; ++i) {
    const uint32_t m0 = pick(1, 5), n0 = pick(1, 5), m1 = pick(1, 5), n1 = pick(1, 5);
    const int least = static_cast<int>(std::max(n0, n1));
    const int leading = pick(least, 12);
    const int lines = pick(-7, 7), elements = pick(-30, 30);
    const bool common = haveCommonElement(m0, n0, m1, n1, leading, lines, elements);
    const bool claimed = linesAreDisjoint(m0, n0, m1, n1, leading, lines, elements);
    ASSERT_EQ(claimed, !common) << m0 << 'x' << n0 << ' ' << m1 << 'x' << n1 << " leading "
                                << leading << " lines " << lines << " elements " << elements;
    disjoint += claimed;
  }
  EXPECT_GT(disjoint, 10000);
  EXPECT_LT(disjoint, 50000);
}

// Without a leading dimension the answer holds for every one that the lines fit in.
TEST(MatrixOverlap, AnyLeadingDimension) {
  std::mt19937 random(8);
  auto pick = [&](int least, int most) {
    return least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
  };
  int disjoint = 0;
  for (int i = 0; i < 20000; ++i) {
    const uint32_t m0 = pick(1, 4), n0 = pick(1, 4), m1 = pick(1, 4), n1 = pick(1, 4);
    const int lines = pick(-6, 6), elements = pick(-6, 6);
    if (!linesAreDisjoint(m0, n0, m1, n1, 0, lines, elements)) continue;
    ++disjoint;
    for (int leading = static_cast<int>(std::max(n0, n1)); leading < 24; ++leading) {
      ASSERT_FALSE(haveCommonElement(m0, n0, m1, n1, leading, lines, elements))
          << m0 << 'x' << n0 << ' ' << m1 << 'x' << n1 << " leading " << leading << " lines "
          << lines << " elements " << elements;
    }
  }
  EXPECT_GT(disjoint, 1000);
  EXPECT_TRUE(linesAreDisjoint(16, 16, 16, 16, 0, 16, 0));
  EXPECT_FALSE(linesAreDisjoint(16, 16, 16, 16, 0, 0, 16));  // The next row, for lines of 16.
  EXPECT_FALSE(linesAreDisjoint(16, 16, 16, 16, 0, int64_t{1} << 62, 0));
}

}  // namespace
}  // namespace mtlc::transforms
