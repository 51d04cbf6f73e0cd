#include "test/fuzz/mutator.h"

#include <algorithm>
#include <set>

#include "gtest/gtest.h"

namespace mtlc::fuzz {
namespace {

TEST(Mutator, IsDeterministicBoundedAndVaried) {
  std::vector<std::string> corpus = {"kernel f(a: i32) { return (a + 1) * 2; }", "", "x"};
  Mutator a(corpus, 1, 200), b(corpus, 1, 200), c(corpus, 2, 200);
  std::set<std::string> seen;
  size_t longest = 0, differing = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string text = a.next();
    ASSERT_EQ(text, b.next());
    differing += text != c.next();
    longest = std::max(longest, text.size());
    seen.insert(std::move(text));
  }
  EXPECT_EQ(longest, 200u);
  EXPECT_GT(differing, 2500u);
  EXPECT_GT(seen.size(), 2500u);
}

TEST(Mutator, ReachesDeepNestingAndEveryPrefix) {
  std::string text = "((a))";
  Mutator m({text}, 3, 5000);
  size_t deepest = 0;
  std::set<std::string> seen;
  for (int i = 0; i < 5000; ++i) {
    std::string made = m.next();
    deepest = std::max<size_t>(deepest, std::count(made.begin(), made.end(), '('));
    seen.insert(made);
  }
  EXPECT_GT(deepest, 1000u);
  for (size_t n = 0; n < text.size(); ++n) EXPECT_TRUE(seen.count(text.substr(0, n))) << n;
}

TEST(Mutator, WorksWithoutACorpus) {
  Mutator m({}, 1, 10);
  size_t total = 0;
  for (int i = 0; i < 100; ++i) total += m.next().size();
  EXPECT_GT(total, 0u);
}

// The published first outputs of SplitMix64 for seed 1234567.
TEST(Random, IsSplitMix64) {
  Random r(1234567);
  EXPECT_EQ(r.next(), 6457827717110365317u);
  EXPECT_EQ(r.next(), 3203168211198807973u);
  EXPECT_EQ(r.next(), 9817491932198370423u);
}

}  // namespace
}  // namespace mtlc::fuzz
