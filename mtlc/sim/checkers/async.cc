// Asynchronous copies used before they are complete: what a copy writes must not be looked at, nor
// what it reads be changed, before somebody who waited for it says so (PTX ISA 9.7.9.25).
//
// Every four bytes of shared memory know which copy is under way to them; device memory knows how
// many copies still read a word. A copy is under way from its issue until it is delivered: its
// thread waited for its group. Whether its bytes have landed already is no matter, so a fault is
// found whatever the schedule. After delivery the race checker takes over: the copy counts as a
// store of its thread. A bulk copy to shared memory is delivered by the first successful wait for
// its phase of the mbarrier; one from there leaves its source when its thread has waited for that.
//
// Bulk copies use the async proxy. What they read must not have been written through the generic
// proxy by their block unless a proxy fence came after the write: of the writer, of the thread that
// issues the copy, or of any thread between two barriers (PTX ISA 8, "Proxy-preserved base
// causality order"). What was written before the launch, or by other blocks, is not followed. The
// same holds for the initialisation of their mbarrier, where a barrier of the block will do too:
// CUDA's library relies on it. st.async and red.async belong to the generic proxy. Tensor maps that
// the block has changed have fences of their own.

#include "mtlc/sim/async.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "mtlc/sim/checkers/checkers.h"
#include "mtlc/sim/launch_state.h"
#include "mtlc/sim/tensor_map.h"

namespace mtlc::sim {
namespace {

constexpr size_t kSlot = static_cast<size_t>(ObserverSlot::async);
constexpr unsigned kThreadBits = 16;

// The copy that is under way to four bytes: its instruction plus one, and its thread; 0: none.
using Flight = uint64_t;

struct BlockCells {
  std::vector<Flight> shared;
  size_t marked = 0;            // Cells that are not 0.
  std::vector<Flight> sources;  // Bulk copies that may still read.
  size_t sourceCount = 0;
  // Products of warpgroups that may still read, and the last of them.
  std::vector<uint16_t> readers;
  std::vector<Flight> reader;
  size_t readerCount = 0;  // Words with some.
  // When, by the block's clock, and by whom a word was last written through the generic proxy: time
  // above the thread. Fences and initialisations by the same clock.
  uint64_t clock = 1;
  std::vector<uint64_t> written;
  // Of proxy fences for shared and for global memory: the last by thread; whether there was one
  // since the last barrier; writes before this time are followed by a barrier, a fence of any
  // thread, and a barrier.
  struct Fences {
    std::vector<uint64_t> last;
    bool any = false;
    uint64_t covered = 0;
  };
  Fences sharedFences, globalFences;
  std::vector<uint64_t> initFence, mapAcquire, mapRelease;  // By thread.
  uint64_t barrier = 0;                                     // The last barrier of the block.
  uint32_t serial = 0;                                      // Of the block, in the launch.
  std::unordered_map<uint32_t, uint64_t> inits;
};

// The last writes of words of global memory through the generic proxy: when, by the clock of the
// block, and by whom; and which block.
struct WrittenPage {
  static constexpr uint64_t kBytes = 4096;
  std::array<uint64_t, kBytes / 4> stamp{};
  std::array<uint32_t, kBytes / 4> block{};
};

struct ReadWords {
  std::vector<uint32_t> count;  // By word: copies that may still read it.
  std::vector<Flight> last;
};

class AsyncChecker : public Observer {
 public:
  bool sequential() const override { return true; }

  void launchBegin(LaunchState& launch) override {
    launch_ = &launch;
    for (const AsyncSite& a : launch.program->asyncs) {
      bulk_ = bulk_ || a.op == AsyncOp::bulk || a.op == AsyncOp::tensor;
      // Whether copies read global memory, or tensor maps that may lie there.
      bool tensor = a.op == AsyncOp::tensor;
      readsGlobal_ =
          readsGlobal_ || tensor || (a.op == AsyncOp::bulk && a.from.space == Space::global);
    }
    for (const MatrixSite& m : launch.program->matrices) {
      bulk_ = bulk_ || m.warpgroup != nullptr;
    }
  }

  void blockBegin(Block& b) override {
    if (b.observerData[kSlot] == nullptr) {
      owned_.push_back(std::make_unique<BlockCells>());
      b.observerData[kSlot] = owned_.back().get();
    }
    BlockCells& c = cells(b);
    c = BlockCells{};
    c.serial = ++serials_;
    if (bulk_) {
      c.written.assign(b.sharedBytes / 4 + 1, 0);
      for (std::vector<uint64_t>* times : {&c.sharedFences.last, &c.globalFences.last, &c.initFence,
                                           &c.mapAcquire, &c.mapRelease}) {
        times->assign(b.threads, 0);
      }
    }
  }

  void access(Warp& w, const Access& a) override {
    if (a.in.op == Op::async && !changesMap(*w.block, a.in)) return;
    if (readsGlobal_ && a.space == Space::global && a.kind != AccessKind::load) {
      BlockCells& c = cells(*w.block);
      ++c.clock;
      for (LaneMask m = a.mask; m != 0; m &= m - 1) {
        unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
        mark(a.addresses[lane], a.bytes, c.clock << kThreadBits | (w.index * kLanes + lane),
             c.serial);
      }
    }
    if (a.space == Space::shared) {
      BlockCells& c = cells(*w.block);
      bool store = a.kind != AccessKind::load;
      if (store && !c.written.empty()) {
        ++c.clock;
        for (LaneMask m = a.mask; m != 0; m &= m - 1) {
          unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
          for (uint64_t g = a.offset(lane) / 4; g <= (a.offset(lane) + a.bytes - 1) / 4; ++g) {
            c.written[g] = c.clock << kThreadBits | (w.index * kLanes + lane);
          }
        }
      }
      if (store && c.sourceCount != 0) checkSources(w, a, c.sources);
      if (store && c.readerCount != 0) checkSources(w, a, c.reader);
      if (isProduct(a.in)) checkProxy(w, a, c);
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
      if (it == reads_.end()) return checkTargets(w, a);
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
    if (a.space == Space::global) checkTargets(w, a);
  }

  void issued(Warp& w, const LaneCopies& c) override {
    for (LaneMask m = c.lanes; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      const Piece& p = c.pieces[lane];
      checkFree(w, *c.in, lane, static_cast<uint32_t>(p.to), c.bytes);
      goesTo(*w.block, flightOf(w, *c.in, lane), static_cast<uint32_t>(p.to), c.bytes);
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

  void issued(Warp& w, const BulkCopy& c) override {
    BlockCells& k = cells(*w.block);
    unsigned lane = c.thread % kLanes;
    Flight own = flightOf(w, *c.in, lane);
    if (c.map != 0) checkMap(w, k, c, lane);
    if (!c.toGlobal && !c.fromRegisters) {
      auto init = k.inits.find(c.barrier);
      if (init != k.inits.end()) {
        uint64_t time = init->second >> kThreadBits;
        uint32_t by = threadOf(init->second);
        if (std::max({k.initFence[by], k.initFence[c.thread], k.barrier}) < time) {
          reportCheck(w, *c.in, lane, ReportKind::async, DiagId::SimAsyncInitFence,
                      {hexText(c.barrier)});
          k.inits.erase(init);
        }
      }
    }
    for (const Piece& p : c.pieces) {
      if (p.toSpace == Space::shared && p.bytes + p.fill != 0) {
        bool atomic = c.fromRegisters && c.reduction != Mod::none;
        checkFree(w, *c.in, lane, static_cast<uint32_t>(p.to), p.bytes + p.fill, atomic);
      }
    }
    bool told = false;
    for (const Piece& p : c.pieces) {
      if (p.toSpace == Space::shared && p.bytes + p.fill != 0) {
        goesTo(*w.block, own, static_cast<uint32_t>(p.to), p.bytes + p.fill);
      }
      countReads(p, 1, own);
      if (p.fromSpace == Space::shared && p.bytes != 0) {
        if (k.sources.empty()) k.sources.assign(w.block->sharedBytes / 4 + 1, 0);
        eachWord(static_cast<uint32_t>(p.from), p.bytes, [&](uint32_t g) {
          if (c.toGlobal) {
            k.sourceCount += k.sources[g] == 0 ? 1u : 0u;
            k.sources[g] = own;
          }
          if (k.shared.size() > g && k.shared[g] != 0 && !told) {
            told = true;
            report(w, *c.in, lane, AccessKind::load, DiagId::SimAsyncUndelivered, p.from, p.bytes,
                   Space::shared, k.shared[g]);
          }
          uint64_t time = k.written[g] >> kThreadBits;
          uint32_t by = threadOf(k.written[g]);
          if (told || time == 0 || fenced(k.sharedFences, time, by, c.thread)) return;
          told = true;
          reportCheck(w, *c.in, lane, ReportKind::async, DiagId::SimAsyncProxy,
                      {hexText(uint64_t{g} * 4), triple(w.block->threadId(by)), "shared"});
        });
      }
      if (p.fromSpace == Space::global && p.bytes != 0 && !told) {
        eachWritten(p.from, p.bytes, k.serial, [&](uint64_t address, uint64_t& stamp) {
          uint32_t by = threadOf(stamp);
          if (told || fenced(k.globalFences, stamp >> kThreadBits, by, c.thread)) return;
          told = true;
          reportCheck(w, *c.in, lane, ReportKind::async, DiagId::SimAsyncProxy,
                      {hexText(address), triple(w.block->threadId(by)), "global"});
        });
      }
      if (c.toGlobal && p.bytes != 0) targets_[p.to] = {p.to + p.bytes, own, w.block};
    }
  }

  void sourceRead(Block& b, const BulkCopy& c) override {
    if (c.sourceWaited) releaseSource(b, c);
  }

  // What the async proxy has written over is no business of the generic one any more.
  void landed(Block& b, const BulkCopy& c) override {
    BlockCells& k = cells(b);
    for (const Piece& p : c.pieces) {
      uint32_t bytes = p.bytes + p.fill;
      if (bytes == 0) continue;
      if (p.toSpace == Space::global) {
        eachWritten(p.to, bytes, k.serial, [](uint64_t, uint64_t& stamp) { stamp = 0; });
      } else if (!k.written.empty()) {
        uint64_t stamp = c.fromRegisters ? ++k.clock << kThreadBits | c.thread : 0;
        eachWord(static_cast<uint32_t>(p.to), bytes, [&](uint32_t g) { k.written[g] = stamp; });
      }
    }
  }

  void delivered(Block& b, const BulkCopy& c) override {
    Flight own = flightOf(b.warps[c.thread / kLanes], *c.in, c.thread % kLanes);
    for (const Piece& p : c.pieces) {
      if (p.toSpace == Space::shared && p.bytes + p.fill != 0) {
        arrived(b, own, static_cast<uint32_t>(p.to), p.bytes + p.fill);
      }
      countReads(p, -1, 0);
    }
    if (c.toGlobal) {
      releaseSource(b, c);
      releaseTargets(c, own);
    }
  }

  void issued(Warp& w, const WarpgroupProduct& p) override {
    BlockCells& k = cells(*w.block);
    if (k.readers.empty()) {
      k.readers.assign(w.block->sharedBytes / 4 + 1, 0);
      k.reader.assign(w.block->sharedBytes / 4 + 1, 0);
    }
    Flight own = flightOf(w, *p.in, static_cast<unsigned>(__builtin_ctz(p.lanes)));
    for (uint32_t chunk : p.chunks) {
      eachWord(chunk, kRowBytes, [&](uint32_t g) {
        k.readerCount += k.readers[g]++ == 0 ? 1u : 0u;
        k.reader[g] = own;
      });
    }
  }
  void delivered(Warp& w, const WarpgroupProduct& p) override {
    BlockCells& k = cells(*w.block);
    for (uint32_t chunk : p.chunks) {
      eachWord(chunk, kRowBytes, [&](uint32_t g) {
        if (--k.readers[g] != 0) return;
        k.reader[g] = 0;
        --k.readerCount;
      });
    }
  }

  void abandoned(Block& b, const BulkCopy& c) override {
    reportCheck(b.warps[c.thread / kLanes], *c.in, c.thread % kLanes, ReportKind::async,
                DiagId::SimAsyncExit, {c.toGlobal ? "read" : "write"});
  }

  void blockEnd(Block& b) override {
    // Copies of the block that are under way to global memory are done.
    for (auto it = targets_.begin(); it != targets_.end();) {
      it = it->second.block == &b ? targets_.erase(it) : std::next(it);
    }
  }

  void proxyFence(Warp& w, const Instr&, LaneMask mask, ProxyFence kind) override {
    BlockCells& c = cells(*w.block);
    if (c.initFence.empty() || kind == ProxyFence::alias) return;
    ++c.clock;
    bool map = kind == ProxyFence::mapAcquire || kind == ProxyFence::mapRelease;
    bool shared = kind == ProxyFence::async || kind == ProxyFence::asyncShared;
    bool global = kind == ProxyFence::async || kind == ProxyFence::asyncGlobal;
    c.sharedFences.any = c.sharedFences.any || shared;
    c.globalFences.any = c.globalFences.any || global;
    for (LaneMask m = mask; m != 0; m &= m - 1) {
      uint32_t thread = w.index * kLanes + static_cast<unsigned>(__builtin_ctz(m));
      if (map) (kind == ProxyFence::mapAcquire ? c.mapAcquire : c.mapRelease)[thread] = c.clock;
      if (shared || kind == ProxyFence::mbarrierInit) c.initFence[thread] = c.clock;
      if (shared) c.sharedFences.last[thread] = c.clock;
      if (global) c.globalFences.last[thread] = c.clock;
    }
  }

  void barrierReleased(Block& b, uint32_t) override {
    BlockCells& c = cells(b);
    for (BlockCells::Fences* f : {&c.sharedFences, &c.globalFences}) {
      if (f->any) f->covered = c.barrier;
      f->any = false;
    }
    c.barrier = ++c.clock;
  }

  void mbarrierInit(Warp& w, const Instr&, unsigned lane, uint32_t offset) override {
    BlockCells& c = cells(*w.block);
    c.inits[offset] = ++c.clock << kThreadBits | (w.index * kLanes + lane);
  }

 private:
  struct Target {
    uint64_t end = 0;
    Flight flight = 0;
    const Block* block = nullptr;
  };

  // tensormap.replace and its copy are accesses of the generic proxy.
  static bool changesMap(const Block& b, const Instr& in) {
    AsyncOp op = b.program->asyncs[in.ext].op;
    return op == AsyncOp::mapReplace || op == AsyncOp::mapCopy;
  }

  // Whether a fence is between a write of thread `by` and a copy that `issuer` issues now.
  static bool fenced(const BlockCells::Fences& f, uint64_t time, uint32_t by, uint32_t issuer) {
    return std::max(f.last[by], f.last[issuer]) >= time || time < f.covered;
  }

  void mark(uint64_t address, uint64_t bytes, uint64_t stamp, uint32_t serial) {
    for (uint64_t at = address / 4 * 4; at < address + bytes; at += 4) {
      std::unique_ptr<WrittenPage>& page = written_[at / WrittenPage::kBytes];
      if (page == nullptr) page = std::make_unique<WrittenPage>();
      uint64_t word = at % WrittenPage::kBytes / 4;
      page->stamp[word] = stamp;
      page->block[word] = serial;
    }
  }
  // Words in a range that block `serial` has written last.
  template <typename Visit>
  void eachWritten(uint64_t address, uint64_t bytes, uint32_t serial, Visit visit) {
    if (written_.empty()) return;
    for (uint64_t at = address / 4 * 4; at < address + bytes;) {
      auto it = written_.find(at / WrittenPage::kBytes);
      uint64_t next = (at / WrittenPage::kBytes + 1) * WrittenPage::kBytes;
      for (; it != written_.end() && at < std::min(next, address + bytes); at += 4) {
        uint64_t word = at % WrittenPage::kBytes / 4;
        uint64_t& stamp = it->second->stamp[word];
        if (stamp != 0 && it->second->block[word] == serial) visit(at, stamp);
      }
      at = next;
    }
  }

  // A tensor map that the block has changed: by this thread, or by one that has released it.
  void checkMap(Warp& w, BlockCells& k, const BulkCopy& c, unsigned lane) {
    bool told = false;
    eachWritten(c.map, kTensorMapBytes, k.serial, [&](uint64_t, uint64_t& stamp) {
      uint64_t time = stamp >> kThreadBits;
      uint32_t by = threadOf(stamp);
      bool released = by == c.thread || k.mapRelease[by] >= time;
      if (told || (released && k.mapAcquire[c.thread] >= time)) return;
      told = true;
      reportCheck(w, *c.in, lane, ReportKind::async, DiagId::SimAsyncMapFence,
                  {hexText(c.map), triple(w.block->threadId(by))});
    });
  }

  static uint32_t threadOf(uint64_t stamp) { return stamp & ((1u << kThreadBits) - 1); }

  template <typename Visit>
  static void eachWord(uint32_t offset, uint32_t bytes, Visit visit) {
    for (uint32_t g = offset / 4; g <= (offset + bytes - 1) / 4; ++g) visit(g);
  }

  bool isProduct(const Instr& in) const {
    return in.op == Op::matrix && launch_->program->matrices[in.ext].warpgroup != nullptr;
  }

  // A product reads through the async proxy. It belongs to all threads of the warp, so a fence of
  // any will do.
  void checkProxy(Warp& w, const Access& a, const BlockCells& c) {
    const std::vector<uint64_t>& last = c.sharedFences.last;
    auto begin = last.begin() + w.index * kLanes;
    auto latest = std::max_element(begin, begin + std::min<size_t>(kLanes, last.end() - begin));
    auto thread = static_cast<uint32_t>(latest - last.begin());
    for (LaneMask m = a.mask; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      auto offset = static_cast<uint32_t>(a.offset(lane));
      for (uint32_t g = offset / 4; g < (offset + a.bytes) / 4; ++g) {
        uint64_t time = c.written[g] >> kThreadBits;
        uint32_t by = threadOf(c.written[g]);
        if (time == 0 || fenced(c.sharedFences, time, by, thread)) continue;
        reportCheck(w, a.in, lane, ReportKind::async, DiagId::SimAsyncProxy,
                    {hexText(uint64_t{g} * 4), triple(w.block->threadId(by)), "shared"});
        return;
      }
    }
  }

  // A store to what a bulk copy or a product may still read.
  void checkSources(Warp& w, const Access& a, const std::vector<Flight>& sources) {
    for (LaneMask m = a.mask; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      for (uint64_t g = a.offset(lane) / 4; g <= (a.offset(lane) + a.bytes - 1) / 4; ++g) {
        if (sources[g] == 0) continue;
        report(w, a.in, lane, a.kind, DiagId::SimAsyncSource, a.addresses[lane], a.bytes,
               Space::shared, sources[g]);
        break;
      }
    }
  }

  // An access to where a bulk copy is under way to in global memory.
  void checkTargets(Warp& w, const Access& a) {
    if (targets_.empty()) return;
    for (LaneMask m = a.mask; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      uint64_t begin = a.addresses[lane], end = begin + a.bytes;
      auto it = targets_.lower_bound(end);
      if (it == targets_.begin()) continue;
      const Target& t = std::prev(it)->second;
      if (t.end <= begin || t.block != w.block) continue;  // Another block's: a race.
      report(w, a.in, lane, a.kind,
             a.kind == AccessKind::load ? DiagId::SimAsyncUndelivered : DiagId::SimAsyncOverwrite,
             begin, a.bytes, Space::global, t.flight);
    }
  }

  void releaseSource(Block& b, const BulkCopy& c) {
    BlockCells& k = cells(b);
    if (k.sources.empty()) return;
    Flight own = flightOf(b.warps[c.thread / kLanes], *c.in, c.thread % kLanes);
    for (const Piece& p : c.pieces) {
      if (p.bytes == 0) continue;
      eachWord(static_cast<uint32_t>(p.from), p.bytes, [&](uint32_t g) {
        if (k.sources[g] != own) return;
        k.sources[g] = 0;
        --k.sourceCount;
      });
    }
  }

  void releaseTargets(const BulkCopy& c, Flight own) {
    for (const Piece& p : c.pieces) {
      auto it = targets_.find(p.to);
      if (it != targets_.end() && it->second.flight == own) targets_.erase(it);
    }
  }

  static BlockCells& cells(Block& b) { return *static_cast<BlockCells*>(b.observerData[kSlot]); }

  Flight flightOf(const Warp& w, const Instr& in, unsigned lane) const {
    return uint64_t{launch_->pcOf(in) + 1} << kThreadBits | (w.index * kLanes + lane);
  }

  // A copy of `in` is going to these bytes of shared memory: nothing else may be under way to them,
  // or from them. But for one red.async under way to where another goes.
  void checkFree(Warp& w, const Instr& in, unsigned lane, uint32_t offset, uint32_t bytes,
                 bool atomic = false) {
    const BlockCells& c = cells(*w.block);
    auto check = [&](const std::vector<Flight>& flights, DiagId id) {
      for (uint32_t g = offset / 4; g <= (offset + bytes - 1) / 4; ++g) {
        if (flights[g] == 0) continue;
        if (id == DiagId::SimAsyncOverwrite && atomic && isReduction(flights[g])) continue;
        report(w, in, lane, AccessKind::store, id, offset, bytes, Space::shared, flights[g]);
        return;
      }
    };
    if (c.marked != 0) check(c.shared, DiagId::SimAsyncOverwrite);
    if (c.sourceCount != 0) check(c.sources, DiagId::SimAsyncSource);
    if (c.readerCount != 0) check(c.reader, DiagId::SimAsyncSource);
  }

  bool isReduction(Flight flight) const {
    const Instr& in = launch_->program->code[(flight >> kThreadBits) - 1];
    const AsyncSite& site = launch_->program->asyncs[in.ext];
    return site.op == AsyncOp::store && site.reduction != Mod::none;
  }

  static void goesTo(Block& b, Flight flight, uint32_t offset, uint32_t bytes) {
    BlockCells& c = cells(b);
    if (c.shared.empty()) c.shared.assign(b.sharedBytes / 4 + 1, 0);
    for (uint32_t g = offset / 4; g <= (offset + bytes - 1) / 4; ++g) {
      c.marked += c.shared[g] == 0 ? 1u : 0u;
      c.shared[g] = flight;
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
  bool bulk_ = false;         // The program has bulk copies.
  bool readsGlobal_ = false;  // They read global memory.
  uint32_t serials_ = 0;
  std::unordered_map<uint64_t, std::unique_ptr<WrittenPage>> written_;  // By address / kBytes.
  std::unordered_map<uint32_t, ReadWords> reads_;                       // By allocation.
  std::map<uint64_t, Target> targets_;                                  // By address.
};

}  // namespace

std::unique_ptr<Observer> makeAsyncChecker() { return std::make_unique<AsyncChecker>(); }

}  // namespace mtlc::sim
