// Barrier divergence, lanes that a collective's mask names but that do not come, and shuffles from
// lanes that are not there (PTX ISA 9.7.9.6, 9.7.13.1, 9.7.13.9).

#include "mtlc/sim/checkers/checkers.h"
#include "mtlc/sim/launch_state.h"

namespace mtlc::sim {
namespace {

class SyncChecker : public Observer {
 public:
  bool wantsAccesses() const override { return false; }
  void blockBegin(Block& b) override {
    if (b.observerData[kSlot] == nullptr) {
      owned_.push_back(std::make_unique<Arrivals>());
      b.observerData[kSlot] = owned_.back().get();
    }
    *static_cast<Arrivals*>(b.observerData[kSlot]) = Arrivals{};
  }

  void sync(Warp& w, const SyncEvent& e) override {
    switch (e.kind) {
      case SyncKind::barrierArrive:
        arrive(w, e);
        return;
      case SyncKind::warp:
      case SyncKind::collective:
        collective(w, e);
        return;
      case SyncKind::fence:
        return;
    }
  }

  void barrierReleased(Block& b, uint32_t id) override {
    auto& arrivals = *static_cast<Arrivals*>(b.observerData[kSlot]);
    const Instr* in = arrivals.last[id];
    // Threads that exited cannot arrive; hardware lets the others go on, the PTX ISA does not
    // promise it.
    if (in != nullptr && arrivals.wantsAll[id] && b.liveThreads < b.threads) {
      Warp& w = b.warps[arrivals.warp[id]];
      reportCheck(w, *in, arrivals.lane[id], ReportKind::sync, DiagId::SimBarrierExited,
                  {b.threads - b.liveThreads, b.threads});
    }
    arrivals.last[id] = nullptr;
  }

 private:
  static constexpr size_t kSlot = static_cast<size_t>(ObserverSlot::sync);
  struct Arrivals {
    std::array<const Instr*, kBarriers> last{};
    std::array<uint32_t, kBarriers> warp{};
    std::array<uint8_t, kBarriers> lane{};
    std::array<bool, kBarriers> wantsAll{};
  };

  void arrive(Warp& w, const SyncEvent& e) {
    unsigned first = static_cast<unsigned>(__builtin_ctz(e.mask));
    if (e.diverged) {
      reportCheck(w, e.in, first, ReportKind::sync, DiagId::SimBarrierDiverged,
                  {__builtin_popcount(e.mask), __builtin_popcount(w.live)});
    }
    auto& arrivals = *static_cast<Arrivals*>(w.block->observerData[kSlot]);
    arrivals.last[e.id] = &e.in;
    arrivals.warp[e.id] = w.index;
    arrivals.lane[e.id] = static_cast<uint8_t>(first);
    arrivals.wantsAll[e.id] = e.expected == 0;
  }

  void collective(Warp& w, const SyncEvent& e) {
    unsigned first = static_cast<unsigned>(__builtin_ctz(e.mask));
    if (e.in.op == Op::matrix) {
      if (e.mask != kAllLanes) {
        reportCheck(w, e.in, first, ReportKind::sync, DiagId::SimMatrixLanes,
                    {__builtin_popcount(e.mask), hexText(e.mask)});
      }
      return;
    }
    LaneMask missing = e.named & w.live & ~e.mask;
    if (missing != 0) {
      reportCheck(w, e.in, first, ReportKind::sync, DiagId::SimMissingLanes,
                  {hexText(e.named), hexText(missing)});
    }
    LaneMask outside = e.mask & ~e.named;
    if (outside != 0) {
      reportCheck(w, e.in, static_cast<unsigned>(__builtin_ctz(outside)), ReportKind::sync,
                  DiagId::SimLaneNotNamed, {hexText(e.named)});
    }
    if (instructionTable()[e.in.row].family == Family::shflSync) shuffle(w, e);
  }

  // Every lane in range must read from a lane that takes part.
  void shuffle(Warp& w, const SyncEvent& e) {
    const uint32_t* b = w.r32(e.in.src[1]);
    const uint32_t* c = w.r32(e.in.src[2]);
    for (LaneMask m = e.mask; m != 0; m &= m - 1) {
      int lane = __builtin_ctz(m);
      int segment = static_cast<int>(c[lane] >> 8 & 31), clamp = static_cast<int>(c[lane] & 31);
      int distance = static_cast<int>(b[lane] & 31);
      int most = (lane & segment) | (clamp & ~segment);
      int from = lane;
      bool inRange = true;
      switch (static_cast<Mod>(e.in.imm)) {
        case Mod::up:
          from = lane - distance;
          inRange = from >= most;
          break;
        case Mod::down:
          from = lane + distance;
          inRange = from <= most;
          break;
        case Mod::bfly:
          from = lane ^ distance;
          inRange = from <= most;
          break;
        default:
          from = (lane & segment) | (distance & ~segment);
          inRange = from <= most;
          break;
      }
      if (inRange && from != lane && (e.mask >> from & 1) == 0) {
        reportCheck(w, e.in, static_cast<unsigned>(lane), ReportKind::sync,
                    DiagId::SimShuffleSource, {from, hexText(e.mask)});
      }
    }
  }

  std::vector<std::unique_ptr<Arrivals>> owned_;
};

}  // namespace

std::unique_ptr<Observer> makeSyncChecker() { return std::make_unique<SyncChecker>(); }

}  // namespace mtlc::sim
