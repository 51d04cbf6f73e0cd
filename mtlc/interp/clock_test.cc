#include "mtlc/interp/clock.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "mtlc/support/random.h"

namespace mtlc::interp {
namespace {

// Many maps that raise and join each other, against std::map.
TEST(MaxMap, BehavesAsItsDefinition) {
  SplitMix64 random(3);
  for (int round = 0; round < 200; ++round) {
    constexpr size_t kMaps = 4;
    std::vector<MaxMap> maps(kMaps);
    std::vector<std::map<uint64_t, uint64_t>> expected(kMaps);
    std::vector<uint64_t> keys;
    for (int i = 0; i < 12; ++i) keys.push_back(random.next() >> random.below(64));
    keys.push_back(0);
    keys.push_back(~uint64_t{0});
    for (int step = 0; step < 100; ++step) {
      const size_t a = random.below(kMaps);
      const size_t b = random.below(kMaps);
      switch (random.below(3)) {
        case 0: {
          const uint64_t key = keys[random.below(keys.size())];
          const uint64_t value = 1 + random.below(20);
          maps[a].raise(key, value);
          expected[a][key] = std::max(expected[a][key], value);
          break;
        }
        case 1:
          maps[a].join(maps[b]);
          for (auto [key, value] : std::map(expected[b])) {
            expected[a][key] = std::max(expected[a][key], value);
          }
          break;
        default:
          maps[a] = maps[b];
          expected[a] = std::map(expected[b]);
          break;
      }
      for (size_t i = 0; i < kMaps; ++i) {
        for (uint64_t key : keys) {
          auto found = expected[i].find(key);
          ASSERT_EQ(maps[i].get(key), found == expected[i].end() ? 0 : found->second);
        }
        ASSERT_EQ(maps[i].get(12345678901), 0u);
      }
    }
  }
}

}  // namespace
}  // namespace mtlc::interp
