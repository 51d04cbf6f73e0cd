// Data races: two accesses to a byte, at least one of them a write, not both strong with scopes
// that include each other, and neither ordered before the other (PTX ISA 8, "Memory Consistency
// Model").
//
// What orders: program order; a barrier of the whole block (a new generation of the block);
// bar.warp.sync (epochs of the warp); partial barriers and releases that an acquire reads, by
// explicit knowledge: how far a thread knows the others to have come. Fences make the strong
// accesses around them release and acquire patterns. A barrier also completes relaxed reads before
// it, as hardware does and as the threadfence-reduction pattern needs; the PTX model asks for a
// fence there.
//
// Each granule of memory (4 bytes, fewer where narrower accesses happen) remembers its last write
// and its last read; of several concurrent readers one is kept, with a note how far apart they
// were. So a race may be missed, but two accesses that something orders are never reported. Writes
// of a value that is already there are no race with another write.

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>

#include "mtlc/sim/async.h"
#include "mtlc/sim/checkers/checkers.h"
#include "mtlc/sim/checkers/race_cells.h"
#include "mtlc/sim/checkers/race_scan.h"
#include "mtlc/sim/launch_state.h"

namespace mtlc::sim {
namespace {

constexpr size_t kSlot = static_cast<size_t>(ObserverSlot::race);
constexpr uint64_t kPcField = (uint64_t{1} << 26) - 1;
constexpr unsigned kScopeShift = 32;
// Loads that wait before they are put into cells, for each shared memory and each allocation; of
// scattered ones fewer, they are large.
constexpr size_t kMaxPendingShared = 2048;
constexpr size_t kMaxPendingGlobal = size_t{1} << 18;
constexpr size_t kMaxPendingScattered = 16384;
constexpr int kMaxRuns = 8;  // More are not worth a scan each.

uint32_t tagBlock(uint64_t tag) { return static_cast<uint32_t>(tag >> 32); }  // Plus one.
uint32_t tagGeneration(uint64_t tag) { return static_cast<uint32_t>(tag) >> 5; }
uint32_t tagWarp(uint64_t tag) { return static_cast<uint32_t>(tag) & 31; }
unsigned infoLane(uint64_t info) { return static_cast<unsigned>(info >> kLaneShift & 31); }
uint32_t infoEpoch(uint64_t info) { return static_cast<uint32_t>(info >> kEpochShift); }
bool infoStrong(uint64_t info) { return (info & kStrongBit) != 0; }
Scope infoScope(uint64_t info) { return static_cast<Scope>(info >> kScopeShift & 3); }

// What a thread knows of others beyond its own block's generations and warp's epochs: everything
// that happened before these points happened before its next access.
struct Knowledge {
  std::unordered_map<uint32_t, uint32_t> generations;  // By tagBlock: all accesses below.
  std::unordered_map<uint64_t, std::array<uint32_t, kLanes>>
      epochs;  // By block << 5 | warp: up to, plus one.

  void merge(const Knowledge& o) {
    for (auto [block, generation] : o.generations) {
      uint32_t& mine = generations[block];
      mine = std::max(mine, generation);
    }
    for (const auto& [warp, theirs] : o.epochs) {
      auto& mine = epochs[warp];
      for (unsigned i = 0; i < kLanes; ++i) mine[i] = std::max(mine[i], theirs[i]);
    }
  }
};
using KnowledgeRef = std::shared_ptr<const Knowledge>;

KnowledgeRef merged(const KnowledgeRef& a, const KnowledgeRef& b) {
  if (a == nullptr || a == b) return b;
  if (b == nullptr) return a;
  auto k = std::make_shared<Knowledge>(*a);
  k->merge(*b);
  return k;
}

// A release that later acquires may read, by location.
struct Release {
  KnowledgeRef knowledge;
  Scope scope = Scope::cta;
  uint32_t block = 0;
};
using Releases = std::vector<Release>;

struct WarpClock {
  uint32_t epoch = 0;
  bool touched = false;  // Anything but the epoch may differ from the start.
  // known[i][j]: lane i knows the accesses of lane j in epochs below this.
  std::array<std::array<uint32_t, kLanes>, kLanes> known{};
  std::array<KnowledgeRef, kLanes> knowledge;
  std::array<KnowledgeRef, kLanes> pending;   // Read by relaxed accesses, waiting for a fence.
  std::array<uint32_t, kLanes> fenceEpoch{};  // Epoch of the last fence, plus one; 0: none.
  std::array<Scope, kLanes> fenceScope{};
};

struct BlockClock {
  explicit BlockClock(uint64_t sharedBytes) : shared(sharedBytes) {}
  uint32_t generation = 0;
  std::vector<WarpClock> warps;
  Cells shared;
  std::unordered_map<uint64_t, Releases> sharedReleases;
  // Of mbarriers: what arrivals at the current phase knew, and those at phases before it.
  struct Phases {
    KnowledgeRef current;
    KnowledgeRef complete;
  };
  std::unordered_map<uint32_t, Phases> phases;
  // Lanes that wait at a barrier, and the epoch in which they arrived, by barrier and warp.
  std::array<std::array<LaneMask, 32>, kBarriers> waiting{};
  std::array<std::array<uint32_t, 32>, kBarriers> arrivalEpoch{};
};

class RaceChecker : public Observer {
 public:
  bool sequential() const override { return true; }

  void launchBegin(LaunchState& launch) override {
    launch_ = &launch;
    scan_ = &raceScan();
  }

  void blockBegin(Block& b) override {
    if (b.observerData[kSlot] == nullptr) {
      owned_.push_back(std::make_unique<BlockClock>(b.sharedBytes));
      b.observerData[kSlot] = owned_.back().get();
    }
    BlockClock& c = blockClock(b);
    c.generation = 0;
    c.warps.resize(b.warps.size());
    for (WarpClock& w : c.warps) {
      if (w.touched) w = WarpClock{};
      w.epoch = 0;
    }
    c.sharedReleases.clear();
    c.phases.clear();
    c.shared.clearPending();
    c.shared.written = false;
    c.waiting = {};
    for (size_t i = 0; i < b.warps.size(); ++i) b.warps[i].observerData[kSlot] = &c.warps[i];
  }

  void access(Warp& w, const Access& a) override {
    if (a.space != Space::global && a.space != Space::shared) return;
    bool shared = a.space == Space::shared;
    Cells& cells = shared ? blockClock(*w.block).shared : globalCells(*a.allocation);
    if ((1u << cells.shift()) > a.in.size) cells.refine(a.in.size);
    Scope scope = a.scope();
    bool strong = a.kind >= AccessKind::atomic || a.order() != Order::weak;
    if (!strong && a.kind == AccessKind::load && !cells.written && a.size <= UINT32_MAX) {
      return postpone(w, a, cells);
    }
    if (!cells.pending.empty() && (strong || cells.written || touchesPending(a, cells))) {
      replay(cells, a.space == Space::shared);
    }
    if (a.kind != AccessKind::load) cells.written = true;
    if (strong) return strongAccess(w, a, cells, scope);
    ScanAccess s = scanOf(w, a, 0);
    unsigned perLane = a.bytes >> cells.shift();
    if (a.pattern == AccessPattern::uniform && a.kind == AccessKind::load) {
      return uniformLoad(w, a, cells, s, perLane);
    }
    LaneMask runs = a.mask;  // First lanes of runs.
    if (a.pattern == AccessPattern::consecutive) {
      runs = 1;
    } else if (a.pattern == AccessPattern::scattered) {
      runs = a.mask & (scan_->breaks(a.addresses, a.bytes) | ~(a.mask << 1));
    }
    if (__builtin_popcount(runs) > kMaxRuns) runs = a.mask;
    for (LaneMask m = runs; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      // The run ends where the next begins or a lane is missing.
      LaneMask stop = (~a.mask | runs) & (lane == 31 ? 0 : kAllLanes << (lane + 1));
      unsigned end = stop == 0 ? kLanes : static_cast<unsigned>(__builtin_ctz(stop));
      while (lane < end) {
        unsigned piece = std::min(end - lane, cells.lanesInPage(a.offset(lane), perLane));
        if (piece > 1 && scanRun(a, cells, s, perLane, lane, piece)) {
          lane += piece;
          continue;
        }
        for (; piece != 0; --piece, ++lane) laneAccess(w, a, cells, s, perLane, lane);
      }
    }
  }

  // Copies to shared memory: at their issue, nothing may be unordered with them; afterwards only
  // the thread that waited for them, and who comes after it, may use the bytes.
  void issued(Warp& w, const LaneCopies& c) override {
    copied(w, c, c.lanes, [&](const Access& a, Cells& cells, const ScanAccess& s, unsigned lane) {
      eachCell(a, cells, lane, [&](const CellRun& run) {
        checkWrite(w, a, run, s, lane);
        checkRead(w, a, run, s, lane);
      });
    });
  }
  void delivered(Warp& w, const LaneCopies& c, LaneMask mask) override {
    copied(w, c, mask, [&](const Access& a, Cells& cells, const ScanAccess& s, unsigned lane) {
      eachCell(a, cells, lane, [&](const CellRun& run) { recordWrite(run, s, lane); });
    });
  }

  // A bulk copy's accesses are its thread's. Bytes that come to shared memory count as stored when
  // they have landed, for those that the mbarrier tells.
  void issued(Warp& w, const BulkCopy& c) override {
    for (const Piece& p : c.pieces) {
      if (p.bytes != 0) bytesAccessed(w, c, p.fromSpace, p.from, p.bytes, AccessKind::load, true);
      bytesAccessed(w, c, p.toSpace, p.to, p.bytes + p.fill, AccessKind::store, c.toGlobal);
    }
  }
  void landed(Block& b, const BulkCopy& c) override {
    if (c.toGlobal) return;
    Warp& w = b.warps[c.thread / kLanes];
    LaneMask one = 1u << (c.thread % kLanes);
    for (const Piece& p : c.pieces) {
      storeLanded(w, c, p.to, p.bytes + p.fill);
    }
    mbarrierArrive(w, one, c.barrier, Order::release);
  }

  void mbarrierInit(Warp& w, const Instr&, unsigned, uint32_t offset) override {
    blockClock(*w.block).phases.erase(offset);
  }
  void mbarrierArrive(Warp& w, LaneMask mask, uint32_t offset, Order order) override {
    WarpClock& c = warpClock(w);
    c.touched = true;
    KnowledgeRef& into = blockClock(*w.block).phases[offset].current;
    auto all = std::make_shared<Knowledge>();
    KnowledgeRef last;
    bool any = false;
    for (LaneMask m = mask; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      uint32_t epoch = order == Order::release ? c.epoch + 1 : c.fenceEpoch[lane];
      if (epoch == 0) continue;
      any = true;
      uint32_t& generation = all->generations[blockNumber(*w.block)];
      generation = std::max(generation, blockClock(*w.block).generation);
      auto& epochs = all->epochs[warpKey(*w.block, w.index)];
      for (unsigned j = 0; j < kLanes; ++j) epochs[j] = std::max(epochs[j], c.known[lane][j]);
      epochs[lane] = std::max(epochs[lane], epoch);
      if (c.knowledge[lane] != nullptr && c.knowledge[lane] != last) {
        last = c.knowledge[lane];
        all->merge(*last);
      }
    }
    if (!any) return;
    into = merged(into, all);
    ++c.epoch;
  }
  void mbarrierPhase(Block& b, uint32_t offset) override {
    BlockClock::Phases& p = blockClock(b).phases[offset];
    p.complete = merged(p.complete, p.current);
    p.current = nullptr;
  }
  void mbarrierWait(Warp& w, LaneMask mask, uint32_t offset, Order order) override {
    WarpClock& c = warpClock(w);
    const KnowledgeRef& known = blockClock(*w.block).phases[offset].complete;
    if (known == nullptr) return;
    c.touched = true;
    KnowledgeRef before, after;
    for (LaneMask m = mask; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      KnowledgeRef& mine = order == Order::acquire ? c.knowledge[lane] : c.pending[lane];
      // Lanes mostly know the same.
      if (after == nullptr || mine != before) {
        before = mine;
        after = merged(mine, known);
      }
      mine = after;
    }
  }

  void allocated(const Allocation& heap, uint64_t offset, uint64_t bytes) override {
    Cells& cells = globalCells(heap);
    cells.written = true;  // Loads of the range before must not be taken for later ones.
    replay(cells, false);
    cells.forget(offset, bytes);
  }

  void sync(Warp& w, const SyncEvent& e) override {
    WarpClock& c = warpClock(w);
    switch (e.kind) {
      case SyncKind::warp:
        c.touched = true;
        warpSync(c, e.mask);
        return;
      case SyncKind::fence:
        c.touched = true;
        for (LaneMask m = e.mask; m != 0; m &= m - 1) {
          unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
          fence(c, lane, e.scope);
        }
        ++c.epoch;
        return;
      case SyncKind::barrierArrive: {
        BlockClock& b = blockClock(*w.block);
        for (LaneMask m = c.touched ? e.mask : 0; m != 0; m &= m - 1) {
          unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
          takePending(c, lane);
        }
        if (e.waits) b.waiting[e.id][w.index] |= e.mask;
        b.arrivalEpoch[e.id][w.index] = c.epoch;
        ++c.epoch;
        return;
      }
      case SyncKind::collective:
        return;  // Exchanges values, orders no memory.
    }
  }

  void barrierReleased(Block& b, uint32_t id) override {
    BlockClock& c = blockClock(b);
    const BarrierState& s = b.barriers[id];
    bool whole = true;
    KnowledgeRef all;
    for (size_t i = 0; i < b.warps.size(); ++i) {
      whole = whole && c.waiting[id][i] == b.warps[i].live;
      if (!c.warps[i].touched) continue;  // Knows nothing.
      for (LaneMask m = s.lanes[i]; m != 0; m &= m - 1) {
        all = merged(all, c.warps[i].knowledge[static_cast<size_t>(__builtin_ctz(m))]);
      }
    }
    if (whole) {
      ++c.generation;
      // All that was before is ordered before all that comes.
      c.shared.clearPending();
      c.shared.written = false;
    } else {
      auto k = all == nullptr ? std::make_shared<Knowledge>() : std::make_shared<Knowledge>(*all);
      for (size_t i = 0; i < b.warps.size(); ++i) {
        if (s.lanes[i] == 0) continue;
        auto& epochs = k->epochs[warpKey(b, static_cast<uint32_t>(i))];
        for (LaneMask m = s.lanes[i]; m != 0; m &= m - 1) {
          unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
          for (unsigned j = 0; j < kLanes; ++j)
            epochs[j] = std::max(epochs[j], c.warps[i].known[lane][j]);
          epochs[lane] = std::max(epochs[lane], c.arrivalEpoch[id][i] + 1);
        }
      }
      all = k;
    }
    for (size_t i = 0; i < b.warps.size(); ++i) {
      if (all != nullptr) {
        c.warps[i].touched = true;
        for (LaneMask m = c.waiting[id][i]; m != 0; m &= m - 1) {
          KnowledgeRef& mine = c.warps[i].knowledge[static_cast<size_t>(__builtin_ctz(m))];
          mine = whole ? all : merged(mine, all);
        }
      }
      c.waiting[id][i] = 0;
    }
  }

 private:
  static BlockClock& blockClock(Block& b) {
    return *static_cast<BlockClock*>(b.observerData[kSlot]);
  }
  static WarpClock& warpClock(Warp& w) { return *static_cast<WarpClock*>(w.observerData[kSlot]); }
  static uint32_t blockNumber(const Block& b) { return static_cast<uint32_t>(b.linear + 1); }
  static uint64_t warpKey(const Block& b, uint32_t warp) {
    return uint64_t{blockNumber(b)} << 5 | warp;
  }

  Cells& globalCells(const Allocation& a) {
    if (a.id >= global_.size()) global_.resize(a.id + 1);
    if (global_[a.id] == nullptr) global_[a.id] = std::make_unique<Cells>(a.size());
    return *global_[a.id];
  }

  ScanAccess scanOf(Warp& w, const Access& a, uint64_t strength) {
    BlockClock& b = blockClock(*w.block);
    ScanAccess s;
    uint64_t block = uint64_t{blockNumber(*w.block)} << 32;
    uint64_t generation = uint64_t{b.generation} << 5;
    // Older tags in shared memory belong to blocks that are gone.
    s.low = a.space == Space::shared ? 0 : block;
    s.span = block + generation - s.low;
    s.tag = block | generation | w.index;
    s.info =
        uint64_t{warpClock(w).epoch} << kEpochShift | strength | (launch_->pcOf(a.in) & kPcField);
    return s;
  }

  // ---- Loads that wait ----

  void postpone(Warp& w, const Access& a, Cells& cells) {
    size_t most = a.space == Space::shared ? kMaxPendingShared : kMaxPendingGlobal;
    if (cells.pending.size() >= most || cells.scattered.size() >= kMaxPendingScattered) {
      replay(cells, a.space == Space::shared);
    }
    PendingLoad& p = cells.pending.emplace_back();
    ScanAccess s = scanOf(w, a, 0);
    p.tag = s.tag;
    p.info = s.info;
    p.mask = a.mask;
    p.bytes = static_cast<uint16_t>(a.bytes);
    p.pattern = a.pattern;
    uint32_t low, high;
    if (a.pattern != AccessPattern::scattered) {
      low = high = p.offset =
          static_cast<uint32_t>(a.offset(static_cast<unsigned>(__builtin_ctz(a.mask))));
      if (a.pattern == AccessPattern::consecutive) high += (kLanes - 1) * a.bytes;
    } else {
      p.offset = static_cast<uint32_t>(cells.scattered.size());
      uint32_t* offsets = cells.scattered.emplace_back().data();
      if (a.mask == kAllLanes) {
        scan_->offsets(a.addresses, a.begin, offsets, low, high);
      } else {
        low = ~uint32_t{0};
        high = 0;
        for (LaneMask m = a.mask; m != 0; m &= m - 1) {
          unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
          uint32_t o = offsets[lane] = static_cast<uint32_t>(a.offset(lane));
          low = std::min(low, o);
          high = std::max(high, o);
        }
      }
    }
    cells.pendingLow = std::min(cells.pendingLow, low);
    cells.pendingHigh = std::max(cells.pendingHigh, high + (a.bytes - 1));
  }

  // Whether an access may touch a granule that a waiting load read.
  static bool touchesPending(const Access& a, const Cells& cells) {
    uint64_t low = ~uint64_t{0}, high = 0;
    for (LaneMask m = a.mask; m != 0; m &= m - 1) {
      uint64_t o = a.offset(static_cast<unsigned>(__builtin_ctz(m)));
      low = std::min(low, o);
      high = std::max(high, o);
    }
    return low <= uint64_t{cells.pendingHigh} + 3 &&
           high + a.bytes + 3 > uint64_t{cells.pendingLow};
  }

  // Puts the waiting loads into the cells, in order. No write that was there when they happened
  // conflicts.
  void replay(Cells& cells, bool shared) {
    size_t available;
    for (const PendingLoad& p : cells.pending) {
      ScanAccess s;
      s.low = shared ? 0 : p.tag >> 32 << 32;
      s.span = (p.tag & ~uint64_t{31}) - s.low;
      s.tag = p.tag;
      s.info = p.info;
      unsigned perLane = p.bytes >> cells.shift();
      if (p.pattern == AccessPattern::uniform) {
        unsigned last = 31 - static_cast<unsigned>(__builtin_clz(p.mask));
        for (unsigned k = 0; k < perLane; ++k) {
          CellRun c = cells.at(p.offset + (uint64_t{k} << cells.shift()), available, true, false);
          recordUniform(c, s, last, p.mask);
        }
        continue;
      }
      if (p.pattern == AccessPattern::consecutive) {
        for (unsigned lane = 0; lane < kLanes;) {
          uint64_t offset = p.offset + uint64_t{lane} * p.bytes;
          unsigned piece = std::min(kLanes - lane, cells.lanesInPage(offset, perLane));
          ScanAccess from = s;
          from.info |= uint64_t{lane} << kLaneShift;
          if (!cells.loadRun(offset, piece, perLane, from, false)) {
            CellRun c = cells.at(offset, available, true, false);
            c.writeTag = nullptr;
            size_t count = size_t{perLane} * piece;
            if (available < count || !scan_->loads(c, count, perLane, from)) {
              for (unsigned i = 0; i < piece; ++i) {
                replayLane(cells, s, offset + uint64_t{i} * p.bytes, perLane, lane + i);
              }
            }
          }
          lane += piece;
        }
        continue;
      }
      const auto& offsets = cells.scattered[p.offset];
      for (LaneMask m = p.mask; m != 0; m &= m - 1) {
        unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
        replayLane(cells, s, offsets[lane], perLane, lane);
      }
    }
    cells.clearPending();
  }

  static void replayLane(Cells& cells, const ScanAccess& s, uint64_t offset, unsigned perLane,
                         unsigned lane) {
    size_t available;
    for (unsigned k = 0; k < perLane; ++k) {
      uint64_t o = offset + (uint64_t{k} << cells.shift());
      recordRead(cells.at(o, available, true, false), s, lane);
    }
  }

  // ---- Synchronisation ----

  static void takePending(WarpClock& c, unsigned lane) {
    if (c.pending[lane] == nullptr) return;
    c.knowledge[lane] = merged(c.knowledge[lane], c.pending[lane]);
    c.pending[lane] = nullptr;
  }

  static void fence(WarpClock& c, unsigned lane, Scope scope) {
    takePending(c, lane);
    c.fenceEpoch[lane] = c.epoch + 1;
    c.fenceScope[lane] = scope;
  }

  static void warpSync(WarpClock& c, LaneMask mask) {
    std::array<uint32_t, kLanes> known{};
    KnowledgeRef all;
    for (LaneMask m = mask; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      takePending(c, lane);
      for (unsigned j = 0; j < kLanes; ++j) known[j] = std::max(known[j], c.known[lane][j]);
      known[lane] = c.epoch + 1;
      all = merged(all, c.knowledge[lane]);
    }
    // A lane's own number stays what it was unless it took part; program order needs none.
    for (LaneMask m = mask; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      c.known[lane] = known;
      c.knowledge[lane] = all;
    }
    ++c.epoch;
  }

  // All that lane knows now, its own accesses up to `epoch` included.
  KnowledgeRef snapshot(Warp& w, unsigned lane, uint32_t epochPlusOne) {
    WarpClock& c = warpClock(w);
    auto k = c.knowledge[lane] == nullptr ? std::make_shared<Knowledge>()
                                          : std::make_shared<Knowledge>(*c.knowledge[lane]);
    uint32_t& generation = k->generations[blockNumber(*w.block)];
    generation = std::max(generation, blockClock(*w.block).generation);
    auto& epochs = k->epochs[warpKey(*w.block, w.index)];
    for (unsigned j = 0; j < kLanes; ++j) epochs[j] = std::max(epochs[j], c.known[lane][j]);
    epochs[lane] = std::max(epochs[lane], epochPlusOne);
    return k;
  }

  Releases& releasesOf(Warp& w, const Access& a, unsigned lane) {
    return a.space == Space::shared ? blockClock(*w.block).sharedReleases[a.offset(lane)]
                                    : releases_[a.addresses[lane]];
  }

  static bool reaches(const Release& r, Scope mine, uint32_t myBlock) {
    return r.block == myBlock || (r.scope >= Scope::gpu && mine >= Scope::gpu);
  }

  void acquireFrom(Warp& w, const Access& a, unsigned lane, Scope scope, bool now) {
    WarpClock& c = warpClock(w);
    for (const Release& r : releasesOf(w, a, lane)) {
      if (!reaches(r, scope, blockNumber(*w.block))) continue;
      KnowledgeRef& into = now ? c.knowledge[lane] : c.pending[lane];
      into = merged(into, r.knowledge);
    }
  }

  void releaseTo(Warp& w, const Access& a, unsigned lane, Scope scope, bool explicitly,
                 bool keepsOthers) {
    WarpClock& c = warpClock(w);
    Releases& at = releasesOf(w, a, lane);
    if (!keepsOthers) at.clear();
    uint32_t epoch = explicitly ? c.epoch + 1 : c.fenceEpoch[lane];
    if (epoch == 0) return;
    Release r;
    r.knowledge = snapshot(w, lane, epoch);
    r.scope = explicitly ? scope : std::min(scope, c.fenceScope[lane]);
    r.block = blockNumber(*w.block);
    for (Release& other : at) {
      if (other.scope == r.scope && (other.block == r.block || r.scope >= Scope::gpu)) {
        other.knowledge = merged(other.knowledge, r.knowledge);
        if (other.block != r.block) other.block = 0;
        return;
      }
    }
    at.push_back(std::move(r));
  }

  // ---- Accesses ----

  bool orderedBefore(Warp& w, unsigned lane, uint64_t tag, uint64_t info) {
    if (tag == 0) return true;
    BlockClock& b = blockClock(*w.block);
    WarpClock& c = warpClock(w);
    unsigned other = infoLane(info);
    if (tagBlock(tag) == blockNumber(*w.block)) {
      if (tagGeneration(tag) < b.generation) return true;
      if (tagWarp(tag) == w.index && (other == lane || c.known[lane][other] > infoEpoch(info)))
        return true;
    }
    const KnowledgeRef& k = c.knowledge[lane];
    if (k == nullptr) return false;
    auto g = k->generations.find(tagBlock(tag));
    if (g != k->generations.end() && tagGeneration(tag) < g->second) return true;
    auto e = k->epochs.find(uint64_t{tagBlock(tag)} << 5 | tagWarp(tag));
    return e != k->epochs.end() && e->second[other] > infoEpoch(info);
  }

  static bool morallyStrong(uint64_t tag, uint64_t info, const ScanAccess& s) {
    if (!infoStrong(info) || !infoStrong(s.info)) return false;
    return tagBlock(tag) == tagBlock(s.tag) ||
           (infoScope(info) >= Scope::gpu && infoScope(s.info) >= Scope::gpu);
  }

  // Whether the rows that stmatrix stores at the addresses of two lanes are equal.
  static bool sameRow(Warp& w, const Instr& in, unsigned lane, unsigned other) {
    if (instructionTable()[in.row].family != Family::stmatrix) return false;
    const MatrixSite& s = w.block->program->matrices[in.ext];
    std::array<uint8_t, 16> rows[2] = {};
    for (unsigned r = 0; r < s.a.registers; ++r) {
      const auto* column =
          reinterpret_cast<const uint8_t*>(w.r32(w.block->program->operandLists[s.a.first + r]));
      for (unsigned i = 0; i < 4 * kLanes; ++i) {
        unsigned to = s.bytes[r * 4 * kLanes + i];
        if (to / 16 == lane) rows[0][to % 16] = column[i];
        if (to / 16 == other) rows[1][to % 16] = column[i];
      }
    }
    return rows[0] == rows[1];
  }

  // Whether the bytes that `lane` stores into the granule are there already, or are what lane
  // `other` of the same instruction stores.
  bool sameValue(Warp& w, const Access& a, unsigned lane, unsigned other, bool sameInstruction) {
    if (a.kind != AccessKind::store || a.in.op == Op::async) return false;
    if (a.in.op == Op::matrix) {
      return sameInstruction && (a.mask >> other & 1) != 0 &&
             a.addresses[lane] == a.addresses[other] && sameRow(w, a.in, lane, other);
    }
    const Ref* list =
        a.in.count == 1 ? &a.in.src[1] : w.block->program->operandLists.data() + a.in.ext;
    bool inMemory = true, inOther = sameInstruction && (a.mask >> other & 1) != 0 &&
                                    a.addresses[lane] == a.addresses[other];
    for (unsigned e = 0; e < a.in.count; ++e) {
      auto value = [&](unsigned l) -> uint64_t {
        return refBank(list[e]) == Bank::r64 ? w.r64(list[e])[l] : w.r32(list[e])[l];
      };
      uint64_t mine = value(lane), there = 0;
      uint64_t keep = a.in.size >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * a.in.size)) - 1;
      std::memcpy(&there, a.host(lane) + e * a.in.size, a.in.size);
      inMemory = inMemory && (mine & keep) == there;
      inOther = inOther && (mine & keep) == (value(other) & keep);
    }
    return inMemory || inOther;
  }

  // The weak access of `lanes` lanes from `first`, whose addresses follow each other within a page
  // of cells, when nothing conflicts at first sight.
  bool scanRun(const Access& a, Cells& cells, ScanAccess s, unsigned perLane, unsigned first,
               unsigned lanes) {
    size_t available;
    bool load = a.kind == AccessKind::load;
    uint64_t offset = a.offset(first);
    s.info |= uint64_t{first} << kLaneShift;
    if (load ? cells.loadRun(offset, lanes, perLane, s, true)
             : cells.storeRun(offset, lanes, perLane, s)) {
      return true;
    }
    CellRun run = cells.at(offset, available, load, !load);
    size_t count = size_t{perLane} * lanes;
    if (available < count) return false;
    return (load ? scan_->loads : scan_->stores)(run, count, perLane, s);
  }

  void laneAccess(Warp& w, const Access& a, Cells& cells, const ScanAccess& s, unsigned perLane,
                  unsigned lane) {
    for (unsigned k = 0; k < perLane; ++k) {
      size_t available;
      CellRun c = cells.at(a.offset(lane) + (uint64_t{k} << cells.shift()), available, true, true);
      if (a.kind == AccessKind::load) {
        checkWrite(w, a, c, s, lane);
        recordRead(c, s, lane);
      } else {
        checkWrite(w, a, c, s, lane);
        checkRead(w, a, c, s, lane);
        recordWrite(c, s, lane);
      }
    }
  }

  static void recordWrite(const CellRun& c, const ScanAccess& s, unsigned lane) {
    *c.writeTag = s.tag;
    *c.writeInfo = s.info | uint64_t{lane} << kLaneShift;
    *c.readTag = 0;
  }

  // The lanes of `mask` as stores of their threads; `visit` is called for each.
  template <typename Visit>
  void copied(Warp& w, const LaneCopies& c, LaneMask mask, Visit visit) {
    Cells& cells = blockClock(*w.block).shared;
    if ((1u << cells.shift()) > c.bytes) cells.refine(c.bytes);
    if (!cells.pending.empty()) replay(cells, true);
    cells.written = true;
    uint64_t addresses[kLanes];
    Access a{
        *c.in,     mask, AccessKind::store,    Space::shared,   c.bytes, AccessPattern::scattered,
        addresses, 0,    w.block->sharedBytes, w.block->shared, 0,       nullptr};
    ScanAccess s = scanOf(w, a, 0);
    for (LaneMask m = mask; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      addresses[lane] = c.pieces[lane].to;
      visit(a, cells, s, lane);
    }
  }

  // `visit` is called for each cell of `bytes` at an address that a copy's thread accesses.
  template <typename Visit>
  void cellsOf(Warp& w, const BulkCopy& c, Space space, uint64_t at, uint32_t bytes,
               AccessKind kind, Visit visit) {
    if (space != Space::shared && space != Space::global) return;
    bool shared = space == Space::shared;
    const Allocation* a = shared ? nullptr : launch_->memory->find(at, bytes);
    if (bytes == 0 || (!shared && a == nullptr)) return;
    Cells& cells = shared ? blockClock(*w.block).shared : globalCells(*a);
    unsigned width = 1u << cells.shift();
    while ((at | bytes) % width != 0) width /= 2;
    if (width != 1u << cells.shift()) cells.refine(width);
    if (!cells.pending.empty()) replay(cells, shared);
    if (kind != AccessKind::load) cells.written = true;
    unsigned lane = c.thread % kLanes;
    uint64_t addresses[kLanes];
    addresses[lane] = at;
    Access access{*c.in,
                  1u << lane,
                  kind,
                  space,
                  bytes,
                  AccessPattern::scattered,
                  addresses,
                  shared ? 0 : a->begin,
                  shared ? w.block->sharedBytes : a->size(),
                  shared ? w.block->shared : a->host,
                  0,
                  a};
    ScanAccess s = scanOf(w, access, 0);
    eachCell(access, cells, lane, [&](const CellRun& run) { visit(access, run, s, lane); });
  }
  void bytesAccessed(Warp& w, const BulkCopy& c, Space space, uint64_t at, uint32_t bytes,
                     AccessKind kind, bool record) {
    bool load = kind == AccessKind::load;
    cellsOf(w, c, space, at, bytes, kind,
            [&](const Access& a, const CellRun& run, const ScanAccess& s, unsigned lane) {
              // Reductions are atomic among each other.
              bool atomic = space == Space::global || c.fromRegisters;
              if (c.reduction != Mod::none && !load && atomic) return;
              checkWrite(w, a, run, s, lane);
              if (!load) checkRead(w, a, run, s, lane);
              if (!record) return;
              if (load) {
                recordRead(run, s, lane);
              } else {
                recordWrite(run, s, lane);
              }
            });
  }
  void storeLanded(Warp& w, const BulkCopy& c, uint64_t at, uint32_t bytes) {
    cellsOf(w, c, Space::shared, at, bytes, AccessKind::store,
            [&](const Access&, const CellRun& run, const ScanAccess& s, unsigned lane) {
              recordWrite(run, s, lane);
            });
  }

  template <typename Visit>
  static void eachCell(const Access& a, Cells& cells, unsigned lane, Visit visit) {
    for (uint64_t at = 0; at < a.bytes; at += uint64_t{1} << cells.shift()) {
      size_t available;
      visit(cells.at(a.offset(lane) + at, available, true, true));
    }
  }

  // Against the last write of the granule.
  void checkWrite(Warp& w, const Access& a, const CellRun& c, const ScanAccess& s, unsigned lane) {
    uint64_t tag = *c.writeTag, info = *c.writeInfo;
    if (tag == 0 || tag - s.low < s.span) return;
    if (tag == s.tag && infoLane(info) == lane) return;
    if (morallyStrong(tag, info, s) || orderedBefore(w, lane, tag, info)) return;
    bool same = tag == s.tag && (info & kPcField) == (s.info & kPcField);
    if (sameValue(w, a, lane, infoLane(info), same)) return;
    race(w, a, lane, tag, info, Other::write);
  }

  // A write against the last read.
  void checkRead(Warp& w, const Access& a, const CellRun& c, const ScanAccess& s, unsigned lane) {
    uint64_t tag = *c.readTag, info = *c.readInfo;
    if (tag == 0 || tag - s.low < s.span) return;
    bool own = tag == s.tag && infoLane(info) == lane;
    if (own && (info & kMany) == 0) return;
    if (morallyStrong(tag, info, s)) return;
    if (own) {
      // Others read too. In the same warp and epoch nothing orders them; further away only
      // knowledge would.
      if (warpClock(w).knowledge[lane] != nullptr) return;
      if ((info & (kManyWarps | kManyBlocks)) == 0 && infoEpoch(info) != warpClock(w).epoch) return;
    } else if (orderedBefore(w, lane, tag, info)) {
      return;
    }
    race(w, a, lane, tag, info, own ? Other::readWithMore : Other::read);
  }

  static void recordRead(const CellRun& c, const ScanAccess& s, unsigned lane) {
    uint64_t info = s.info | uint64_t{lane} << kLaneShift;
    uint64_t tag = *c.readTag, old = *c.readInfo;
    if (tag == 0 || tag - s.low < s.span || (infoStrong(old) && !infoStrong(info))) {
      *c.readTag = s.tag;
      *c.readInfo = info;
      return;
    }
    *c.readTag = s.tag;
    *c.readInfo = info | manyReaders(tag, old, s.tag, info);
  }

  void uniformLoad(Warp& w, const Access& a, Cells& cells, const ScanAccess& s, unsigned perLane) {
    // The highest lane stands for all: what a single lane writes later is mostly written by the
    // lowest.
    unsigned last = 31 - static_cast<unsigned>(__builtin_clz(a.mask));
    for (unsigned k = 0; k < perLane; ++k) {
      size_t available;
      CellRun c = cells.at(a.offset(last) + (uint64_t{k} << cells.shift()), available, true, true);
      uint64_t tag = *c.writeTag;
      if (tag != 0 && tag - s.low >= s.span) {
        for (LaneMask m = a.mask; m != 0; m &= m - 1) {
          checkWrite(w, a, c, s, static_cast<unsigned>(__builtin_ctz(m)));
        }
      }
      recordUniform(c, s, last, a.mask);
    }
  }

  static void recordUniform(const CellRun& c, const ScanAccess& s, unsigned last, LaneMask mask) {
    recordRead(c, s, last);
    if ((mask & (mask - 1)) != 0 && *c.readTag == s.tag) *c.readInfo |= kManyLanes;
  }

  // Atomic, relaxed, acquiring, releasing and volatile accesses.
  void strongAccess(Warp& w, const Access& a, Cells& cells, Scope scope) {
    bool reads = a.kind != AccessKind::store, writes = a.kind != AccessKind::load;
    warpClock(w).touched = true;
    Order order = a.order();
    bool acquires = order == Order::acquire || order == Order::acqRel || order == Order::sc;
    bool releases = order == Order::release || order == Order::acqRel || order == Order::sc;
    unsigned perLane = a.bytes >> cells.shift();
    ScanAccess s = scanOf(w, a, kStrongBit | static_cast<uint64_t>(scope) << kScopeShift);
    for (LaneMask m = a.mask; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      if (reads) acquireFrom(w, a, lane, scope, acquires);
      laneAccess(w, a, cells, s, perLane, lane);
      if (writes) releaseTo(w, a, lane, scope, releases, a.kind != AccessKind::store);
    }
    if (writes && releases) ++warpClock(w).epoch;
  }

  // The other access; readWithMore: several threads read, the one that is kept is the writer.
  enum class Other { write, read, readWithMore };
  void race(Warp& w, const Access& a, unsigned lane, uint64_t tag, uint64_t info, Other other) {
    uint32_t pc = launch_->pcOf(a.in), otherPc = static_cast<uint32_t>(info & kPcField);
    uint64_t otherBlock = tagBlock(tag) - 1;
    const auto& grid = launch_->grid;
    std::array<uint32_t, 3> blockId{static_cast<uint32_t>(otherBlock % grid[0]),
                                    static_cast<uint32_t>(otherBlock / grid[0] % grid[1]),
                                    static_cast<uint32_t>(otherBlock / grid[0] / grid[1])};
    Report r;
    r.kind = ReportKind::race;
    r.id = DiagId::SimRace;
    r.at = launch_->place(w, a.in, lane);
    r.other =
        launch_->place(otherPc, blockId, w.block->threadId(tagWarp(tag) * kLanes + infoLane(info)));
    r.hasOther = true;
    r.otherIsOneOfMany = other == Other::readWithMore;
    r.address = a.addresses[lane];
    r.space = a.space;
    r.bytes = a.bytes;
    static constexpr const char* kNames[] = {"load", "store", "atomic operation", "reduction"};
    const char* who = tagBlock(tag) != blockNumber(*w.block) ? "a thread of another block"
                      : other != Other::readWithMore         ? "a thread of the same block"
                      : (info & kManyBlocks) != 0 ? "this thread and others, of other blocks too"
                                                  : "this thread and others of the same block";
    DiagnosticEngine text;
    r.message = text.report(r.id, SourceRange(),
                            {kNames[static_cast<size_t>(a.kind)], a.bytes, hexText(r.address),
                             spaceName(a.space), other == Other::write ? "write" : "read", who})
                    .message;
    launch_->report(std::move(r), std::min(pc, otherPc), std::max(pc, otherPc));
  }

  LaunchState* launch_ = nullptr;
  const RaceScan* scan_ = nullptr;
  std::vector<std::unique_ptr<BlockClock>> owned_;
  std::vector<std::unique_ptr<Cells>> global_;  // By allocation.
  std::unordered_map<uint64_t, Releases> releases_;
};

}  // namespace

std::unique_ptr<Observer> makeRaceChecker() { return std::make_unique<RaceChecker>(); }

}  // namespace mtlc::sim
