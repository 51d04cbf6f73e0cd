// Asynchronous copies used before they are complete: what a copy writes must not be looked at, nor
// what it reads be changed, before somebody who waited for it says so (PTX ISA 9.7.9.25).
//
// Every four bytes of shared memory know which copy is under way to them; device memory knows how
// many copies still read a word. A copy is under way from its issue until it is delivered: its
// thread waited for its group. Whether its bytes have landed already is no matter, so a fault is
// found whatever the schedule. After delivery the race checker takes over: the copy counts as a
// store of its thread.

#include "mtlc/sim/async.h"

#include <unordered_map>

#include "mtlc/sim/checkers/checkers.h"
#include "mtlc/sim/launch_state.h"

namespace mtlc::sim {
namespace {

constexpr size_t kSlot = static_cast<size_t>(ObserverSlot::async);
constexpr unsigned kThreadBits = 16;

// The copy that is under way to four bytes: its instruction plus one, and its thread; 0: none.
using Flight = uint64_t;

struct BlockCells {
  std::vector<Flight> shared;
  size_t marked = 0;  // Cells that are not 0.
};

struct ReadWords {
  std::vector<uint32_t> count;  // By word: copies that may still read it.
  std::vector<Flight> last;
};

class AsyncChecker : public Observer {
 public:
  bool sequential() const override { return true; }

  void launchBegin(LaunchState& launch) override { launch_ = &launch; }

  void blockBegin(Block& b) override {
    if (b.observerData[kSlot] == nullptr) {
      owned_.push_back(std::make_unique<BlockCells>());
      b.observerData[kSlot] = owned_.back().get();
    }
    BlockCells& c = cells(b);
    c.shared.clear();
    c.marked = 0;
  }

  void access(Warp& w, const Access& a) override {
    if (a.in.op == Op::async) return;
    if (a.space == Space::shared) {
      BlockCells& c = cells(*w.block);
      if (c.marked == 0) return;
      for (LaneMask m = a.mask; m != 0; m &= m - 1) {
        unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
        for (uint64_t g = a.offset(lane) / 4; g <= (a.offset(lane) + a.bytes - 1) / 4; ++g) {
          if (c.shared[g] == 0) continue;
          report(
              w, a.in, lane, a.kind,
              a.kind == AccessKind::load ? DiagId::SimAsyncUndelivered : DiagId::SimAsyncOverwrite,
              a.addresses[lane], a.bytes, Space::shared, c.shared[g]);
          break;
        }
      }
    } else if (a.space == Space::global && a.kind != AccessKind::load) {
      auto it = reads_.find(a.allocation->id);
      if (it == reads_.end()) return;
      const ReadWords& r = it->second;
      for (LaneMask m = a.mask; m != 0; m &= m - 1) {
        unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
        for (uint64_t g = a.offset(lane) / 4; g <= (a.offset(lane) + a.bytes - 1) / 4; ++g) {
          if (r.count[g] == 0) continue;
          report(w, a.in, lane, a.kind, DiagId::SimAsyncSource, a.addresses[lane], a.bytes,
                 Space::global, r.last[g]);
          break;
        }
      }
    }
  }

  void issued(Warp& w, const LaneCopies& c) override {
    for (LaneMask m = c.lanes; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      const Piece& p = c.pieces[lane];
      goesTo(w, *c.in, lane, static_cast<uint32_t>(p.to), c.bytes);
      countReads(p, 1, flightOf(w, *c.in, lane));
    }
  }

  void delivered(Warp& w, const LaneCopies& c, LaneMask mask) override {
    for (LaneMask m = mask; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      const Piece& p = c.pieces[lane];
      arrived(*w.block, flightOf(w, *c.in, lane), static_cast<uint32_t>(p.to), c.bytes);
      countReads(p, -1, 0);
    }
  }

 private:
  static BlockCells& cells(Block& b) { return *static_cast<BlockCells*>(b.observerData[kSlot]); }

  Flight flightOf(const Warp& w, const Instr& in, unsigned lane) const {
    return uint64_t{launch_->pcOf(in) + 1} << kThreadBits | (w.index * kLanes + lane);
  }

  // A copy of `in` is under way to these bytes of shared memory.
  void goesTo(Warp& w, const Instr& in, unsigned lane, uint32_t offset, uint32_t bytes) {
    BlockCells& c = cells(*w.block);
    if (c.shared.empty()) c.shared.assign(w.block->sharedBytes / 4 + 1, 0);
    Flight own = flightOf(w, in, lane);
    bool told = false;
    for (uint32_t g = offset / 4; g <= (offset + bytes - 1) / 4; ++g) {
      if (c.shared[g] != 0 && !told) {
        told = true;
        report(w, in, lane, AccessKind::store, DiagId::SimAsyncOverwrite, offset, bytes,
               Space::shared, c.shared[g]);
      }
      c.marked += c.shared[g] == 0 ? 1u : 0u;
      c.shared[g] = own;
    }
  }

  static void arrived(Block& b, Flight flight, uint32_t offset, uint32_t bytes) {
    BlockCells& c = cells(b);
    for (uint32_t g = offset / 4; g <= (offset + bytes - 1) / 4; ++g) {
      if (c.shared[g] != flight) continue;
      c.shared[g] = 0;
      --c.marked;
    }
  }

  void countReads(const Piece& p, int change, Flight flight) {
    if (p.fromSpace != Space::global || p.bytes < 4) return;
    const Allocation* a = launch_->memory->find(p.from, p.bytes);
    if (a == nullptr) return;
    ReadWords& r = reads_[a->id];
    if (r.count.empty()) {
      r.count.assign(a->size() / 4 + 1, 0);
      r.last.assign(a->size() / 4 + 1, 0);
    }
    uint64_t first = (p.from - a->begin) / 4;
    for (uint64_t g = first; g < first + p.bytes / 4; ++g) {
      r.count[g] += static_cast<uint32_t>(change);
      if (change > 0) r.last[g] = flight;
    }
  }

  void report(Warp& w, const Instr& in, unsigned lane, AccessKind kind, DiagId id, uint64_t address,
              uint32_t bytes, Space space, Flight flight) {
    static constexpr const char* kNames[] = {"load", "store", "atomic operation", "reduction"};
    const char* what = in.op == Op::async ? "copy" : kNames[static_cast<size_t>(kind)];
    uint32_t other = static_cast<uint32_t>(flight >> kThreadBits) - 1;
    Report r;
    r.kind = ReportKind::async;
    r.id = id;
    r.at = launch_->place(w, in, lane);
    r.other =
        launch_->place(other, w.block->id, w.block->threadId(flight & ((1u << kThreadBits) - 1)));
    r.hasOther = true;
    r.address = address;
    r.space = space;
    r.bytes = bytes;
    DiagnosticEngine text;
    r.message =
        text.report(id, SourceRange(), {what, bytes, hexText(address), spaceName(space)}).message;
    launch_->report(std::move(r), launch_->pcOf(in), other);
  }

  LaunchState* launch_ = nullptr;
  std::vector<std::unique_ptr<BlockCells>> owned_;
  std::unordered_map<uint32_t, ReadWords> reads_;  // By allocation.
};

}  // namespace

std::unique_ptr<Observer> makeAsyncChecker() { return std::make_unique<AsyncChecker>(); }

}  // namespace mtlc::sim
