// What the race checker remembers of a region of memory: the last write and the last read of each
// granule.

#ifndef MTLC_SIM_CHECKERS_RACE_CELLS_H_
#define MTLC_SIM_CHECKERS_RACE_CELLS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mtlc/sim/checkers/race_scan.h"
#include "mtlc/sim/observer.h"

namespace mtlc::sim {

// A weak load that is not in the cells yet.
struct PendingLoad {
  uint64_t tag;
  uint64_t info;
  LaneMask mask;
  uint32_t offset;  // Of the first active lane; scattered: the index in Cells::scattered.
  uint16_t bytes;
  AccessPattern pattern;
};

// Cells of a region, in pages made when first touched, those of writes apart from those of reads.
//
// A page begins as a list of runs: granules that consecutive lanes of one warp instruction accessed
// and that were accessed by nothing else, or by the same lanes again. Whatever does not fit that
// spreads the page into cells, which say the same.
class Cells {
 public:
  explicit Cells(uint64_t bytes) : bytes_(bytes) {}

  unsigned shift() const { return shift_; }

  // Makes granules at most `bytes` wide.
  void refine(unsigned bytes);

  // Cells from the granule of `offset`; `available` says how many follow in one piece. Makes the
  // pages of reads and of writes that are asked for; the others may be missing.
  CellRun at(uint64_t offset, size_t& available, bool reads, bool writes);

  // How many lanes, `perLane` granules each, fit from `offset` to the end of its page; at least 1,
  // which in memory of the host at an odd address may stick out.
  unsigned lanesInPage(uint64_t offset, unsigned perLane) const {
    size_t left = kPageCells - (offset >> shift_) % kPageCells;
    return left <= perLane ? 1 : static_cast<unsigned>(left / perLane);
  }

  // A weak access of `lanes` lanes within a page, the first of them in the access's info. When the
  // pages are still runs, one of the same shape or none is there, and nothing conflicts at first
  // sight: records it and returns true. Else changes nothing.
  bool loadRun(uint64_t offset, unsigned lanes, unsigned perLane, const ScanAccess& access,
               bool checkWrites);
  bool storeRun(uint64_t offset, unsigned lanes, unsigned perLane, const ScanAccess& access);

  // The range counts as never accessed.
  void forget(uint64_t offset, uint64_t bytes);

  // Loads that nothing written so far can conflict with wait here: a barrier, or the end of the
  // launch, makes most of them unimportant before something is written.
  std::vector<PendingLoad> pending;
  std::vector<std::array<uint32_t, kLanes>> scattered;  // Offsets of the lanes.
  uint32_t pendingLow = ~uint32_t{0};                   // Bounds of their offsets, both included.
  uint32_t pendingHigh = 0;
  bool written = false;  // Anything at all; shared memory: in this generation.

  void clearPending() {
    pending.clear();
    scattered.clear();
    pendingLow = ~uint32_t{0};
    pendingHigh = 0;
  }

 private:
  static constexpr size_t kPageCells = 1024;
  static constexpr size_t kMaxPageRuns = 64;

  // Granule `begin` + i of the page: tag, and info with the lane raised by i / perLane.
  struct Run {
    uint16_t begin;
    uint16_t count;
    uint32_t perLane;
    uint64_t tag;
    uint64_t info;
  };
  struct Full {
    uint64_t tag[kPageCells] = {};
    uint64_t info[kPageCells];  // Where the tag is not 0.
  };
  struct Page {
    std::unique_ptr<Full> full;
    std::vector<Run> runs;  // Sorted, without overlaps; empty when there is `full`.
  };
  using Pages = std::vector<std::unique_ptr<Page>>;

  // Where a run would go: `at` has the same shape when `same`. False: another is in its way, or the
  // page has no runs any more.
  struct Spot {
    size_t at = 0;
    bool same = false;
  };
  static bool findSpot(const Page& page, const Run& run, Spot& spot);
  static void put(Page& page, const Run& run, const Spot& spot);

  Page* find(Pages& pages, size_t page, bool create) const;
  static Full& spread(Page& page);
  static void split(Pages& pages);

  uint64_t bytes_;
  unsigned shift_ = 2;
  Pages writes_;
  Pages reads_;
};

}  // namespace mtlc::sim

#endif  // MTLC_SIM_CHECKERS_RACE_CELLS_H_
