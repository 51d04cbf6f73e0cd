// Runs of cells against a table of granules that knows nothing of runs.

#include "mtlc/sim/checkers/race_cells.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace mtlc::sim {
namespace {

struct Granule {
  uint64_t writeTag = 0, writeInfo = 0, readTag = 0, readInfo = 0;
};

// The rules for one granule and one lane, as race_scan.h words them.
struct Model {
  std::vector<Granule> granules;

  static bool before(uint64_t tag, const ScanAccess& a) {
    return tag == 0 || (tag >= a.low && tag < a.low + a.span);
  }
  static uint64_t lane(uint64_t info) { return info & kLaneField; }
  static uint64_t infoOf(const ScanAccess& a, unsigned i, unsigned perLane) {
    return a.info + (uint64_t{i / perLane} << kLaneShift);
  }

  bool access(bool load, size_t at, unsigned count, unsigned perLane, const ScanAccess& a) {
    for (unsigned i = 0; i < count; ++i) {
      const Granule& g = granules[at + i];
      uint64_t me = lane(infoOf(a, i, perLane));
      bool wrote = g.writeTag == a.tag && lane(g.writeInfo) == me;
      if (!before(g.writeTag, a) && !wrote) return false;
      bool onlyIRead = g.readTag == a.tag && lane(g.readInfo) == me && (g.readInfo & kMany) == 0;
      if (!load && !before(g.readTag, a) && !onlyIRead) return false;
    }
    for (unsigned i = 0; i < count; ++i) {
      Granule& g = granules[at + i];
      uint64_t info = infoOf(a, i, perLane);
      if (!load) {
        g.writeTag = a.tag;
        g.writeInfo = info;
        g.readTag = 0;
        continue;
      }
      if (!before(g.readTag, a)) {
        // Readers in other lanes count within the epoch, others as long as nothing orders all.
        bool sameEpoch = g.readInfo >> kEpochShift == info >> kEpochShift;
        uint64_t many = g.readInfo & (kManyWarps | kManyBlocks);
        if (g.readTag >> 5 != a.tag >> 5) {
          many |= kManyBlocks;
        } else if (g.readTag != a.tag) {
          many |= kManyWarps;
        } else if (sameEpoch) {
          many |= g.readInfo & kManyLanes;
          if (lane(g.readInfo) != lane(info)) many |= kManyLanes;
        }
        info |= many;
      }
      g.readTag = a.tag;
      g.readInfo = info;
    }
    return true;
  }
};

struct Outcome {
  uint64_t runs = 0, cells = 0, conflicts = 0;
};

// Random accesses with starts at multiples of `step`, of `lanes` lanes most of the time. About
// every `spreading`th operation looks at one cell, which ends the runs of its page.
Outcome compare(uint32_t seed, unsigned step, unsigned lanes, unsigned spreading) {
  constexpr size_t kGranules = 3000;
  std::mt19937 random(seed);
  auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  Model model;
  model.granules.resize(kGranules);
  Cells cells(kGranules * 4);
  const RaceScan& scan = raceScan();
  Outcome out;
  for (unsigned round = 0; round < 4000; ++round) {
    // Whole warps at their places, which stay runs, with few exceptions; or anything.
    bool regular = step >= lanes && below(500) != 0;
    unsigned perLane = regular ? step / lanes : 1u << below(3);
    unsigned used = regular || below(4) != 0 ? lanes : 1 + static_cast<unsigned>(below(lanes));
    unsigned first = regular || below(3) != 0 ? 0 : static_cast<unsigned>(below(32 - used + 1));
    size_t at = below(kGranules / step) * step / perLane * perLane;
    used = std::min(used, static_cast<unsigned>((kGranules - at) / perLane));
    used = std::min(used, cells.lanesInPage(at * 4, perLane));
    if (used == 0) continue;
    ScanAccess a;
    uint64_t block = uint64_t{below(step >= lanes ? 500 : 2) == 0 ? 2u : 1u} << 32;
    uint64_t generation = uint64_t{round / (step >= lanes ? 8 : 100)} << 5;
    a.low = block;
    a.span = generation;
    a.tag = block | generation | below(2);
    uint64_t epoch = round / 3;
    a.info = epoch << kEpochShift | uint64_t{first} << kLaneShift | below(100);
    bool load = below(2) != 0;
    size_t available;
    if (spreading != 0 && below(spreading) == 0) {
      cells.at(below(kGranules) * 4, available, below(2) != 0, below(2) != 0);
    }
    bool expected = model.access(load, at, used * perLane, perLane, a);
    bool done = load ? cells.loadRun(at * 4, used, perLane, a, true)
                     : cells.storeRun(at * 4, used, perLane, a);
    if (done) {
      ++out.runs;
    } else {
      CellRun run = cells.at(at * 4, available, load, !load);
      EXPECT_GE(available, used * perLane);
      done = (load ? scan.loads : scan.stores)(run, used * perLane, perLane, a);
      done ? ++out.cells : ++out.conflicts;
    }
    if (done != expected) {
      ADD_FAILURE() << "operation " << round << " of seed " << seed;
      return out;
    }
  }
  for (size_t i = 0; i < kGranules; ++i) {
    size_t available;
    CellRun c = cells.at(i * 4, available, true, true);
    const Granule& g = model.granules[i];
    EXPECT_EQ(*c.writeTag, g.writeTag) << i;
    EXPECT_EQ(*c.readTag, g.readTag) << i;
    if (g.writeTag != 0) {
      EXPECT_EQ(*c.writeInfo, g.writeInfo) << i;
    }
    if (g.readTag != 0) {
      EXPECT_EQ(*c.readInfo, g.readInfo) << i;
    }
    if (testing::Test::HasFailure()) break;
  }
  return out;
}

TEST(RaceCells, RunsSayWhatCellsSay) {
  Outcome sum;
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    for (unsigned step : {1u, 8u, 32u, 128u}) {
      Outcome o = compare(seed, step, 32, seed % 2 == 0 ? 0 : 300);
      sum.runs += o.runs;
      sum.cells += o.cells;
      sum.conflicts += o.conflicts;
      if (testing::Test::HasFailure()) return;
    }
  }
  // All three happened often enough to mean something.
  EXPECT_GT(sum.runs, 5000u);
  EXPECT_GT(sum.cells, 5000u);
  EXPECT_GT(sum.conflicts, 5000u);
}

TEST(RaceCells, FinerGranulesKeepWhatWasKnown) {
  Cells cells(8192);
  ScanAccess a{uint64_t{1} << 32, 0, uint64_t{1} << 32, 7};
  ASSERT_TRUE(cells.storeRun(4096 - 64, 16, 1, a));
  ASSERT_TRUE(cells.loadRun(4096, 8, 2, a, true));
  cells.refine(1);
  for (unsigned byte = 0; byte < 64; ++byte) {
    size_t available;
    CellRun w = cells.at(4096 - 64 + byte, available, true, true);
    EXPECT_EQ(*w.writeTag, a.tag);
    EXPECT_EQ(*w.writeInfo, a.info + (uint64_t{byte / 4} << kLaneShift)) << byte;
    EXPECT_EQ(*w.readTag, 0u);
    CellRun r = cells.at(4096 + byte, available, true, true);
    EXPECT_EQ(*r.readInfo, a.info + (uint64_t{byte / 8} << kLaneShift)) << byte;
    EXPECT_EQ(*r.writeTag, 0u);
  }
}

}  // namespace
}  // namespace mtlc::sim
