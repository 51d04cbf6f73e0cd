#include "mtlc/interp/access_history.h"

#include <gtest/gtest.h>

#include <vector>

#include "mtlc/support/random.h"

namespace mtlc::interp {
namespace {

constexpr uint64_t kPlenty = uint64_t{1} << 40;

Access access(uint32_t inst, uint32_t block, uint32_t thread, uint64_t phase, bool isWrite = true) {
  Access a;
  a.isWrite = isWrite;
  a.inst = inst;
  a.block = block;
  a.thread = thread;
  a.phase = phase;
  return a;
}

TEST(BarrierOrder, NeedsReleaseAndAcquire) {
  BarrierOrder order;
  EXPECT_FALSE(order.isBefore(0));
  order.pass(0, true, true);
  EXPECT_TRUE(order.isBefore(0));
  EXPECT_FALSE(order.isBefore(1));
  order.pass(1, true, false);  // Publishes phase 1,
  EXPECT_FALSE(order.isBefore(1));
  order.pass(2, false, true);  // which the next acquire orders; phase 2 is not published.
  EXPECT_TRUE(order.isBefore(1));
  EXPECT_FALSE(order.isBefore(2));
  order.pass(3, false, true);
  EXPECT_FALSE(order.isBefore(2));
  order.pass(4, true, true);
  EXPECT_TRUE(order.isBefore(4));
}

// Any sequence of accesses, against the definition: the first race is found, and none before it.
TEST(AccessHistory, FindsTheFirstRaceOfRandomSequences) {
  SplitMix64 random(42);
  int races = 0;
  int longestClean = 0;
  for (int round = 0; round < 20000; ++round) {
    const bool workgroup = round % 4 == 0;
    MemoryBudget budget(kPlenty);
    // Around the border of two pages.
    constexpr uint64_t kBytes = 2 * AccessHistory::kPageBytes;
    AccessHistory history(
        kBytes, workgroup ? AccessHistory::Scope::Workgroup : AccessHistory::Scope::Global,
        &budget);
    const uint64_t blocks = workgroup ? 1 : 1 + random.below(3);
    const uint64_t threads = 1 + random.below(4);
    const uint64_t writePercent = 5 + random.below(60);
    std::vector<BarrierOrder> orders(blocks);
    std::vector<uint64_t> phases(blocks);
    struct Event {
      Access who;
      uint64_t begin, end;
      bool isWrite;
    };
    std::vector<Event> events;
    for (uint32_t step = 1; step < 60; ++step) {
      uint64_t block = random.below(blocks);
      if (random.below(3) == 0) {
        uint64_t kind = random.below(6);  // Mostly the full order.
        orders[block].pass(phases[block]++, kind != 0, kind != 1);
        continue;
      }
      uint32_t size = 1u << random.below(4);
      uint64_t begin = AccessHistory::kPageBytes - 8 + random.below(16);
      if (random.below(8) != 0) begin -= begin % size;
      bool isWrite = random.below(100) < writePercent;
      Access now = access(step, static_cast<uint32_t>(block),
                          static_cast<uint32_t>(random.below(threads)), phases[block], isWrite);
      bool expected = false;
      for (const Event& e : events) {
        bool overlaps = e.begin < begin + size && begin < e.end;
        bool unordered = e.who.block != now.block ||
                         (e.who.thread != now.thread && !orders[block].isBefore(e.who.phase));
        expected |= overlaps && unordered && (e.isWrite || isWrite);
      }
      auto found = history.record(begin, size, now, orders[block]);
      ASSERT_EQ(found.has_value(), expected) << "round " << round << " step " << step;
      if (found) {
        // The other access is a real one that conflicts.
        ASSERT_LT(found->inst, step);
        ++races;
        break;
      }
      events.push_back({now, begin, begin + size, isWrite});
      longestClean = std::max(longestClean, static_cast<int>(events.size()));
    }
  }
  EXPECT_GT(races, 1000);  // Both outcomes occurred, often.
  EXPECT_LT(races, 19000);
  EXPECT_GT(longestClean, 30);
}

TEST(AccessHistory, OtherBlocksOfWorkgroupMemoryAreForgotten) {
  MemoryBudget budget(kPlenty);
  AccessHistory history(64, AccessHistory::Scope::Workgroup, &budget);
  BarrierOrder order;
  EXPECT_FALSE(history.record(0, 4, access(1, 0, 0, 0), order));
  EXPECT_FALSE(history.record(0, 4, access(2, 1, 1, 0), order));
  EXPECT_TRUE(history.record(0, 4, access(3, 1, 0, 0), order));
}

TEST(AccessHistory, NeighbouringBytesAreApart) {
  MemoryBudget budget(kPlenty);
  AccessHistory history(64, AccessHistory::Scope::Global, &budget);
  BarrierOrder order;
  EXPECT_FALSE(history.record(0, 8, access(1, 0, 0, 0, false), order));
  EXPECT_FALSE(history.record(8, 1, access(2, 0, 1, 0), order));
  EXPECT_FALSE(history.record(9, 1, access(3, 0, 2, 0), order));
  EXPECT_TRUE(history.record(9, 1, access(4, 0, 1, 0), order));
  EXPECT_TRUE(history.record(7, 1, access(5, 0, 1, 0), order));
}

TEST(AccessHistory, StopsWithinItsBudget) {
  MemoryBudget budget(100'000);
  AccessHistory history(uint64_t{1} << 20, AccessHistory::Scope::Global, &budget);
  BarrierOrder order;
  for (uint64_t at = 0; at < (1 << 20); ++at) {
    EXPECT_FALSE(history.record(at, 1, access(1, 0, 0, 0), order));
  }
  EXPECT_TRUE(budget.exhausted());
}

}  // namespace
}  // namespace mtlc::interp
