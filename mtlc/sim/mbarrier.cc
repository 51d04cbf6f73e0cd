// mbarriers (PTX ISA 9.7.13.15) and the barrier of a cluster of one block (9.7.13.4).

#include "mtlc/sim/mbarrier.h"

#include <algorithm>

#include "mtlc/sim/access.h"
#include "mtlc/sim/async.h"
#include "mtlc/sim/launch_state.h"
#include "mtlc/sim/weak.h"

namespace mtlc::sim {
namespace {

// Turns of a warp for which try_wait holds its lanes.
constexpr uint32_t kTryTurns = 8;
// When nothing else happens, this many looks in vain are a deadlock.
constexpr uint32_t kMaxPolls = 1u << 14;

template <typename Visit>
void eachLane(LaneMask mask, Visit visit) {
  for (LaneMask m = mask; m != 0; m &= m - 1) visit(static_cast<unsigned>(__builtin_ctz(m)));
}

// Calls visit(lanes, offset) for each object that the lanes name.
template <typename Visit>
void eachObject(LaneMask mask, const uint32_t* offsets, Visit visit) {
  while (mask != 0) {
    uint32_t offset = offsets[__builtin_ctz(mask)];
    LaneMask same = 0;
    eachLane(mask, [&](unsigned lane) {
      if (offsets[lane] == offset) same |= 1u << lane;
    });
    mask &= ~same;
    visit(same, offset);
  }
}

}  // namespace

bool AsyncState::stops() const { return block_.launch->stop.load(std::memory_order_relaxed); }

bool AsyncState::misuse(Warp& w, const Instr& in, unsigned lane, DiagId id, DiagArgs args) {
  reportCheck(w, in, lane, ReportKind::sync, id, args);
  if (!has(block_.launch->config->checks, Checks::sync)) {
    block_.launch->finish(LaunchStatus::faulted);
  }
  return false;
}

const Mbarrier* AsyncState::mbarrier(uint32_t offset) const {
  auto it = mbarriers_.find(offset);
  return it == mbarriers_.end() ? nullptr : &it->second;
}

bool AsyncState::locate(Warp& w, const Instr& in, const AsyncAddress& at, LaneMask& mask,
                        uint32_t* offsets) {
  LaneAccess l;
  asyncAddresses(w, at, mask, l.address);
  resolveQuietly(w, in, at.space, mask, AccessKind::store, 8, l);
  if (w.fault) return false;
  eachLane(l.ok, [&](unsigned lane) {
    if (l.space[lane] != Space::shared) {
      memoryFault(w, in, lane, MemFault::wrongSpace, Space::shared, l.address[lane],
                  AccessKind::atomic);
      l.ok &= ~(1u << lane);
    }
    offsets[lane] = static_cast<uint32_t>(l.address[lane]);
  });
  mask = l.ok;
  return !w.fault;
}

Mbarrier* AsyncState::find(Warp& w, const Instr& in, unsigned lane, uint32_t offset) {
  auto it = mbarriers_.find(offset);
  if (it != mbarriers_.end()) return &it->second;
  misuse(w, in, lane, DiagId::SimMbarrierMissing,
         {hexText(offset),
          invalidated_.count(offset) != 0 ? "it was invalidated" : "none was initialised there"});
  return nullptr;
}

void AsyncState::wake() {
  polls_ = 0;
  for (Warp& w : block_.warps) {
    for (Group& g : w.groups) {
      if (g.state != GroupState::polling) continue;
      g.state = GroupState::runnable;
      if (g.patience != kPatienceForever) g.patience = kPatienceOver;
    }
  }
}

void AsyncState::settle(uint32_t offset, Mbarrier& b) {
  if (!b.complete()) return;
  b.nextPhase();
  for (Observer* o : block_.launch->observers) o->mbarrierPhase(block_, offset);
  if (block_.weak != nullptr) block_.weak->mbarrierPhase(block_, offset);
  wake();
}

bool AsyncState::addBytes(Warp& w, const Instr& in, unsigned lane, uint32_t offset, int64_t bytes) {
  Mbarrier* b = find(w, in, lane, offset);
  if (b == nullptr) return false;
  int64_t sum = b->bytes + bytes;
  if (sum > kMaxTransactionBytes || sum < -kMaxTransactionBytes) {
    return misuse(w, in, lane, DiagId::SimMbarrierBytes, {hexText(offset), sum});
  }
  b->bytes = sum;
  polls_ = 0;
  return true;
}

bool AsyncState::arrive(Warp& w, const Instr& in, unsigned lane, uint32_t offset, uint32_t count,
                        const AsyncSite& site) {
  Mbarrier* b = find(w, in, lane, offset);
  if (b == nullptr) return false;
  if (count == 0 || count > b->pending) {
    return misuse(w, in, lane, DiagId::SimMbarrierOverflow,
                  {count, hexText(offset), b->phase, b->pending});
  }
  if (site.noComplete && count == b->pending && b->bytes == 0) {
    return misuse(w, in, lane, DiagId::SimMbarrierCompletes, {hexText(offset), b->phase});
  }
  b->pending -= count;
  if (site.drops) b->expected -= count;
  polls_ = 0;
  settle(offset, *b);
  return true;
}

AsyncStatus AsyncState::mbarriers(Warp& w, const Instr& in, const AsyncSite& site, LaneMask mask) {
  uint32_t offsets[kLanes];
  if (!locate(w, in, site.barrier, mask, offsets)) return AsyncStatus::stopped;
  auto amount = [&](unsigned lane) { return w.r32(site.amount)[lane]; };
  const auto& observers = block_.launch->observers;
  switch (site.op) {
    case AsyncOp::mbarInit:
      eachLane(mask, [&](unsigned lane) {
        uint32_t count = amount(lane);
        if (count == 0 || count > kMaxArrivals) {
          misuse(w, in, lane, DiagId::SimMbarrierCount, {count});
          return;
        }
        if (mbarriers_.count(offsets[lane]) != 0) {
          misuse(w, in, lane, DiagId::SimMbarrierLive, {hexText(offsets[lane])});
        }
        mbarriers_[offsets[lane]] = Mbarrier{count, count, 0, 0};
        for (Observer* o : observers) o->mbarrierInit(w, in, lane, offsets[lane]);
      });
      break;
    case AsyncOp::mbarInval:
      eachLane(mask, [&](unsigned lane) {
        if (find(w, in, lane, offsets[lane]) == nullptr) return;
        mbarriers_.erase(offsets[lane]);
        invalidated_.insert(offsets[lane]);
        for (Observer* o : observers) o->mbarrierInval(w, in, lane, offsets[lane]);
      });
      break;
    case AsyncOp::mbarExpect:
    case AsyncOp::mbarComplete:
      eachLane(mask, [&](unsigned lane) {
        int64_t bytes = static_cast<int32_t>(amount(lane));
        if (site.op == AsyncOp::mbarComplete) bytes = -bytes;
        if (!addBytes(w, in, lane, offsets[lane], bytes)) return;
        if (site.op == AsyncOp::mbarComplete) settle(offsets[lane], mbarriers_[offsets[lane]]);
      });
      break;
    case AsyncOp::mbarArrive:
      eachObject(mask, offsets, [&](LaneMask lanes, uint32_t offset) {
        // What the lanes did before counts for the phase that they arrive at.
        if (mbarriers_.count(offset) != 0) {
          for (Observer* o : observers) o->mbarrierArrive(w, lanes, offset, site.order);
          if (block_.weak != nullptr) block_.weak->mbarrierArrive(w, lanes, offset, site.order);
        }
        eachLane(lanes, [&](unsigned lane) {
          const Mbarrier* b = mbarrier(offset);
          uint64_t state = b == nullptr ? 0 : mbarrierState(b->phase, b->pending);
          uint32_t count = 1;
          bool fine = true;
          if (site.expects) {
            fine = addBytes(w, in, lane, offset, static_cast<int32_t>(amount(lane)));
          } else if (site.amount != kNoRef) {
            count = amount(lane);
          }
          if (fine) arrive(w, in, lane, offset, count, site);
          if (in.dst != kNoRef) w.r64(in.dst)[lane] = state;
        });
      });
      break;
    case AsyncOp::mbarWait:
      return waitPhase(w, in, site, mask, offsets);
    default:
      break;
  }
  return stops() ? AsyncStatus::stopped : AsyncStatus::done;
}

AsyncStatus AsyncState::waitPhase(Warp& w, const Instr& in, const AsyncSite& site, LaneMask mask,
                                  const uint32_t* offsets) {
  Group& g = w.groups[w.current];
  bool again = g.patience == kPatienceOver;
  g.patience = 0;
  // Whether the phase that each lane waits for is complete.
  auto look = [&](bool report) {
    LaneMask over = 0;
    eachLane(mask, [&](unsigned lane) {
      const Mbarrier* b = report ? find(w, in, lane, offsets[lane]) : mbarrier(offsets[lane]);
      bool complete = b == nullptr;  // Its misuse is reported; a loop should end.
      if (b != nullptr && site.parity) {
        complete = (b->phase & 1) != (w.r32(site.amount)[lane] & 1);
      } else if (b != nullptr) {
        uint64_t phase = statePhase(w.r64(site.amount)[lane]);
        complete = b->phase != phase;
        if (report && complete && b->phase != phase + 1) {
          misuse(w, in, lane, DiagId::SimMbarrierPhase, {hexText(offsets[lane]), phase, b->phase});
        }
      }
      if (complete) over |= 1u << lane;
    });
    return over;
  };
  auto landAll = [&](LaneMask lanes) {
    eachObject(lanes, offsets, [&](LaneMask, uint32_t offset) { landFor(offset); });
  };
  // Copies land while somebody waits; for test_wait after it failed once.
  bool lands = site.blocking || again;
  if (style_ == Style::mixed) lands = (nextRandom(block_.random) & 1) != 0;
  LaneMask over = look(true);
  if (stops()) return AsyncStatus::stopped;
  if (over != mask && lands) {
    landAll(mask & ~over);
    over = look(false);
  }
  bool failed = over != mask;
  if (failed) g.barrier = offsets[__builtin_ctz(mask & ~over)];
  if (failed && site.blocking && !again) {
    g.state = GroupState::polling;
    g.patience = kTryTurns;
    return AsyncStatus::waits;
  }
  if (in.dst != kNoRef) {
    LaneMask& d = w.predSlot(in.dst);
    d = (d & ~mask) | over;
  }
  eachObject(over, offsets, [&](LaneMask lanes, uint32_t offset) {
    const Mbarrier* b = mbarrier(offset);
    if (b == nullptr) return;
    for (Observer* o : block_.launch->observers) o->mbarrierWait(w, lanes, offset, site.order);
    if (block_.weak != nullptr) block_.weak->mbarrierWait(w, lanes, offset, site.order);
    // The phase before the current one, at least, is complete.
    deliverPhase(offset, b->phase);
  });
  if (!failed) return AsyncStatus::done;
  // Others first; test_wait finds what landed meanwhile when it looks again.
  if (!site.blocking) landAll(mask & ~over);
  g.state = GroupState::polling;
  g.patience = 1;
  return AsyncStatus::yields;
}

void AsyncState::tick(Warp& w) {
  for (Group& g : w.groups) {
    if (g.state != GroupState::polling || g.patience == kPatienceForever) continue;
    if (g.patience == kPatienceOver || --g.patience != 0) continue;
    g.state = GroupState::runnable;
    g.patience = kPatienceOver;
  }
}

bool AsyncState::wakePolls() {
  // Anything that the other groups did is progress.
  uint64_t state = block_.liveThreads;
  bool any = false;
  for (const Warp& w : block_.warps) {
    for (const Group& g : w.groups) {
      bool polls = g.state == GroupState::polling && g.patience != kPatienceForever;
      any = any || polls;
      if (!polls) state = state * 31 + g.pc * 7 + static_cast<uint64_t>(g.state);
    }
  }
  if (!any) return false;
  if (state != lastState_) polls_ = 0;
  lastState_ = state;
  if (++polls_ > kMaxPolls) return false;
  for (Warp& w : block_.warps) {
    for (Group& g : w.groups) {
      if (g.state != GroupState::polling || g.patience == kPatienceForever) continue;
      g.state = GroupState::runnable;
      g.patience = kPatienceOver;
    }
  }
  return true;
}

const Mbarrier* AsyncState::awaited(uint32_t& offset) const {
  for (const Warp& w : block_.warps) {
    for (const Group& g : w.groups) {
      if (g.state != GroupState::polling || g.patience == kPatienceForever) continue;
      offset = g.barrier;
      if (const Mbarrier* b = mbarrier(offset)) return b;
    }
  }
  return nullptr;
}

// ---- Arrivals of cp.async ----

AsyncStatus AsyncState::copyArrive(Warp& w, const Instr& in, const AsyncSite& site, LaneMask mask) {
  uint32_t offsets[kLanes];
  if (!locate(w, in, site.barrier, mask, offsets)) return AsyncStatus::stopped;
  LaneMask good = 0;
  eachLane(mask, [&](unsigned lane) {
    Mbarrier* b = find(w, in, lane, offsets[lane]);
    if (b == nullptr) return;
    if (site.counted && b->pending == kMaxArrivals) {
      misuse(w, in, lane, DiagId::SimMbarrierOverflow,
             {kMaxArrivals + 1, hexText(offsets[lane]), b->phase, kMaxArrivals});
      return;
    }
    if (site.counted) ++b->pending;
    good |= 1u << lane;
  });
  if (stops()) return AsyncStatus::stopped;
  if (good == 0) return AsyncStatus::done;
  LaneCopies& c = copies_[w.index].emplace_back();
  c.in = &in;
  c.warp = w.index;
  c.arrives = true;
  c.lanes = c.flying = c.open = good;
  c.group.fill(~uint32_t{0});  // No wait_group is for it.
  eachLane(good, [&](unsigned lane) { c.pieces[lane].to = offsets[lane]; });
  if (style_ == Style::early) landArrivals(c, good);
  return AsyncStatus::done;
}

void AsyncState::landArrivals(LaneCopies& arrival, LaneMask mask) {
  mask &= arrival.flying;
  if (mask == 0) return;
  arrival.flying &= ~mask;
  arrival.open &= ~mask;
  Warp& w = block_.warps[arrival.warp];
  for (LaneCopies& c : copies_[arrival.warp]) {
    if (&c == &arrival) break;
    if (c.arrives) {
      landArrivals(c, mask);
      continue;
    }
    LaneMask now = c.open & mask;
    if (now == 0) continue;
    land(c, now);
    c.open &= ~now;
    for (Observer* o : block_.launch->observers) o->delivered(w, c, now);
  }
  uint32_t offsets[kLanes];
  eachLane(mask,
           [&](unsigned lane) { offsets[lane] = static_cast<uint32_t>(arrival.pieces[lane].to); });
  const AsyncSite plain;
  eachObject(mask, offsets, [&](LaneMask lanes, uint32_t offset) {
    if (mbarriers_.count(offset) != 0) {
      for (Observer* o : block_.launch->observers) {
        o->mbarrierArrive(w, lanes, offset, Order::release);
      }
      if (block_.weak != nullptr) block_.weak->mbarrierArrive(w, lanes, offset, Order::release);
    }
    eachLane(lanes, [&](unsigned lane) { arrive(w, *arrival.in, lane, offset, 1, plain); });
  });
}

void AsyncState::landFor(uint32_t offset) {
  for (std::deque<LaneCopies>& queue : copies_) {
    for (LaneCopies& c : queue) {
      if (!c.arrives || c.flying == 0) continue;
      LaneMask now = 0;
      eachLane(c.flying, [&](unsigned lane) {
        if (c.pieces[lane].to == offset) now |= 1u << lane;
      });
      landArrivals(c, now);
    }
    while (!queue.empty() && queue.front().open == 0) queue.pop_front();
  }
  for (BulkCopy& c : bulk_) {
    if (!c.toGlobal && !c.landed && c.barrier == offset) land(c);
  }
  forget();
}

void AsyncState::deliverPhase(uint32_t offset, uint64_t before) {
  if (bulk_.empty() || block_.launch->observers.empty()) return;
  for (auto it = bulk_.begin(); it != bulk_.end();) {
    if (it->toGlobal || !it->landed || it->barrier != offset || it->phase >= before) {
      ++it;
      continue;
    }
    for (Observer* o : block_.launch->observers) o->delivered(block_, *it);
    it = bulk_.erase(it);
  }
}

// ---- The barrier of the cluster ----

AsyncStatus AsyncState::clusterBarrier(Warp& w, const Instr&, const AsyncSite& site,
                                       LaneMask mask) {
  if (arrivedPhase_.empty()) {
    arrivedPhase_.assign(block_.warps.size() * kLanes, ~uint64_t{0});
    clusterArrived_.assign(block_.warps.size(), 0);
  }
  block_.barriersInUse = true;
  uint64_t* arrived = arrivedPhase_.data() + size_t{w.index} * kLanes;
  if (site.op == AsyncOp::clusterArrive) {
    for (Observer* o : block_.launch->observers) o->mbarrierArrive(w, mask, kNever, site.order);
    if (block_.weak != nullptr) block_.weak->mbarrierArrive(w, mask, kNever, site.order);
    clusterArrived_[w.index] |= mask;
    eachLane(mask, [&](unsigned lane) { arrived[lane] = clusterPhase_; });
    polls_ = 0;
    settleCluster();
    return AsyncStatus::done;
  }
  bool over = true;
  eachLane(mask, [&](unsigned lane) { over = over && arrived[lane] != clusterPhase_; });
  if (!over) {
    Group& g = w.groups[w.current];
    g.state = GroupState::polling;
    g.patience = kPatienceForever;
    return AsyncStatus::waits;
  }
  w.groups[w.current].patience = 0;
  for (Observer* o : block_.launch->observers) o->mbarrierWait(w, mask, kNever, site.order);
  if (block_.weak != nullptr) block_.weak->mbarrierWait(w, mask, kNever, site.order);
  return AsyncStatus::done;
}

void AsyncState::settleCluster() {
  bool any = false;
  for (size_t i = 0; i < clusterArrived_.size(); ++i) {
    if ((block_.warps[i].live & ~clusterArrived_[i]) != 0) return;
    any = any || clusterArrived_[i] != 0;
  }
  if (!any) return;
  ++clusterPhase_;
  std::fill(clusterArrived_.begin(), clusterArrived_.end(), 0);
  for (Observer* o : block_.launch->observers) o->mbarrierPhase(block_, kNever);
  if (block_.weak != nullptr) block_.weak->mbarrierPhase(block_, kNever);
  wake();
}

void AsyncState::threadsExited() { settleCluster(); }

}  // namespace mtlc::sim
