// Block barriers (PTX ISA 9.7.13.1): arrivals, completion, reductions.

#include "mtlc/sim/async.h"
#include "mtlc/sim/engine.h"
#include "mtlc/sim/weak.h"

namespace mtlc::sim {
namespace {

uint32_t valueAt(Warp& w, Ref r, unsigned lane) { return w.r32(r)[lane]; }

// Waiting groups of barrier `id` go on; reductions deliver their result.
void release(Block& b, uint32_t id) {
  BarrierState& s = b.barriers[id];
  for (Observer* o : b.launch->observers) o->barrierReleased(b, id);
  for (Warp& w : b.warps) {
    for (Group& g : w.groups) {
      if (g.state != GroupState::inBarrier || g.barrier != id) continue;
      const Instr& in = b.launch->program->code[g.pc];
      const BarrierSite& site = b.launch->program->barriers[in.ext];
      if (site.predicate != kNoRef) {
        Frame* before = w.frame;
        enterFrame(w, g.frame);
        if (site.kind == BarrierKind::redPopc) {
          uint32_t* d = w.r32(in.dst);
          for (unsigned i = 0; i < kLanes; ++i) {
            if ((g.mask >> i & 1) != 0) d[i] = s.popc;
          }
        } else {
          bool value = site.kind == BarrierKind::redAnd ? s.all : s.any;
          LaneMask& d = w.predSlot(in.dst);
          d = (d & ~g.mask) | (value ? g.mask : 0);
        }
        if (before != nullptr) enterFrame(w, before);
      }
      if (b.weak != nullptr) b.weak->barrierWait(w, g.mask, id);
      g.state = GroupState::runnable;
      ++g.pc;
    }
  }
  if (b.weak != nullptr) b.weak->barrierReset(b, id);
  s = BarrierState{};
}

bool complete(const Block& b, const BarrierState& s) {
  return s.expected != 0 ? s.arrived >= s.expected : s.arrived >= b.liveThreads;
}

// The lanes of `g` arrive. False when the launch ends: bad operands.
bool arrive(Warp& w, Group& g, bool diverged) {
  Block& b = *w.block;
  LaunchState& launch = *b.launch;
  const Instr& in = launch.program->code[g.pc];
  const BarrierSite& site = launch.program->barriers[in.ext];
  enterFrame(w, g.frame);
  unsigned first = static_cast<unsigned>(__builtin_ctz(g.mask));
  uint32_t id = valueAt(w, site.id, first);
  uint32_t expected = 0;
  if (site.count != kNoRef) {
    expected = valueAt(w, site.count, first);
    bool bad = expected == 0 || expected % kLanes != 0;
    if (bad) {
      reportCheck(w, in, first, ReportKind::sync, DiagId::SimBarrierCount, {expected});
      launch.finish(LaunchStatus::faulted);
      return false;
    }
  }
  if (id >= kBarriers || (id >= kPtxBarriers && !site.subgroup)) {
    reportCheck(w, in, first, ReportKind::sync, DiagId::SimBarrierNumber, {id});
    launch.finish(LaunchStatus::faulted);
    return false;
  }
  BarrierState& s = b.barriers[id];
  b.barriersInUse = true;
  s.expected = expected;
  s.active = true;
  s.arrived += static_cast<uint32_t>(__builtin_popcount(g.mask));
  s.lanes[w.index] |= g.mask;
  // Lanes that never existed or are gone count with their warp, for barriers that count threads.
  if (expected != 0 && s.lanes[w.index] == w.live) {
    s.arrived += kLanes - static_cast<uint32_t>(__builtin_popcount(w.live));
  }
  if (site.predicate != kNoRef) {
    LaneMask p = w.pred(site.predicate) & g.mask;
    s.popc += static_cast<uint32_t>(__builtin_popcount(p));
    s.all = s.all && p == g.mask;
    s.any = s.any || p != 0;
  }
  if (b.weak != nullptr) b.weak->barrierArrive(w, g.mask, id);
  bool waits = site.kind != BarrierKind::arrive;
  if (!launch.observers.empty()) {
    SyncEvent e{in, g.mask, SyncKind::barrierArrive};
    e.id = id;
    e.waits = waits;
    e.expected = expected;
    e.diverged = diverged;
    for (Observer* o : launch.observers) o->sync(w, e);
  }
  if (waits) {
    g.state = GroupState::inBarrier;
    g.barrier = id;
  } else {
    g.state = GroupState::runnable;
    ++g.pc;
  }
  if (complete(b, s)) release(b, id);
  return true;
}

}  // namespace

bool reachBarrier(Warp& w, const Instr& in) {
  const BarrierSite& site = w.block->program->barriers[in.ext];
  w.groups[w.current].pc = w.block->launch->pcOf(in);
  if (!site.aligned || w.groups[w.current].mask == w.live) {
    return arrive(w, w.groups[w.current], false);
  }
  // Lanes that came here before join.
  w.groups[w.current].state = GroupState::atBarrier;
  uint32_t merged = mergeGroups(w, w.current);
  return w.groups[merged].mask != w.live || arrive(w, w.groups[merged], false);
}

bool arriveDiverged(Warp& w) {
  bool any = false;
  for (size_t i = 0; i < w.groups.size(); ++i) {
    if (w.groups[i].state != GroupState::atBarrier) continue;
    // One event tells that the warp came apart, whatever the number of its parts.
    if (!arrive(w, w.groups[i], !any && w.groups[i].mask != w.live)) return true;
    any = true;
  }
  return any;
}

void checkBarriersAfterExit(Block& b) {
  if (b.async != nullptr) b.async->threadsExited();
  for (uint32_t id = 0; id < kBarriers; ++id) {
    BarrierState& s = b.barriers[id];
    if (s.active && s.expected == 0 && b.liveThreads != 0 && complete(b, s)) release(b, id);
  }
}

}  // namespace mtlc::sim
