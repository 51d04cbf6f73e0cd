// Warp-level .sync instructions: their lanes are gathered before they execute.

#include <cstring>

#include "mtlc/sim/engine.h"
#include "mtlc/sim/weak.h"

namespace mtlc::sim {
namespace {

// Which register names the lanes that take part.
Ref lanesOf(const Instr& in) { return in.src[in.op == Op::matrix ? kMatrixLanes : in.size]; }

// Executes for the lanes of the current group, apart for each mask that they name.
void execute(Warp& w, const Instr& in, LaneMask lanes) {
  LaunchState& launch = *w.block->launch;
  bool pure = in.row == launch.warpSyncRow;
  // The masks are read before the destination, which may be the same register, is written.
  uint32_t named[kLanes];
  std::memcpy(named, w.r32(lanesOf(in)), sizeof named);
  while (lanes != 0) {
    uint32_t mask = named[__builtin_ctz(lanes)];
    LaneMask same = 0;
    for (LaneMask m = lanes; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      if (named[lane] == mask) same |= 1u << lane;
    }
    lanes &= ~same;
    if (!launch.observers.empty()) {
      SyncEvent e{in, same, pure ? SyncKind::warp : SyncKind::collective};
      e.named = mask;
      for (Observer* o : launch.observers) o->sync(w, e);
      for (Observer* o : launch.instructionObservers) o->instruction(w, in, same);
    }
    if (pure && w.block->weak != nullptr) w.block->weak->warpSync(w, same);
    in.fn(in, w, same);
    for (Observer* o : launch.resultObservers) o->executed(w, in, same);
  }
}

// The lanes of `mask` whose partners, as far as they live, are all in `mask`.
LaneMask readyLanes(Warp& w, const Instr& in, LaneMask mask) {
  const uint32_t* named = w.r32(lanesOf(in));
  LaneMask ready = 0;
  for (LaneMask m = mask; m != 0; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    if ((named[lane] & w.live & ~mask) == 0) ready |= 1u << lane;
  }
  return ready;
}

// Activations of one function whose registers lie at the same places: any of them stands for all.
bool sameRegisters(const Frame& a, const Frame& b) {
  return a.base32 == b.base32 && a.base64 == b.base64 && a.basePred == b.basePred;
}

// Whether `o` waits at the collective `pc` so that its lanes can take part with those of `frame`.
bool waitsHere(const Group& o, uint32_t pc, const Frame& frame) {
  return o.state == GroupState::atCollective && o.pc == pc && sameRegisters(*o.frame, frame);
}

}  // namespace

void leaveCollective(Warp& w, uint32_t pc, LaneMask done) {
  size_t count = w.groups.size();
  for (size_t i = 0; i < count; ++i) {
    Group& o = w.groups[i];
    LaneMask part = o.mask & done;
    if (part == 0) continue;
    Group on = o;
    on.mask = part;
    on.pc = pc + 1;
    on.state = GroupState::runnable;
    if (part == o.mask) {
      o = on;
    } else {
      o.mask &= ~part;
      w.groups.push_back(on);
    }
  }
}

bool reachCollective(Warp& w, const Instr& in) {
  Group& g = w.groups[w.current];
  uint32_t pc = w.block->launch->pcOf(in);
  // Lanes that wait here in the same activation join.
  for (size_t i = 0; i < w.groups.size(); ++i) {
    Group& o = w.groups[i];
    if (i == w.current || o.state != GroupState::atCollective || o.pc != pc || o.frame != g.frame) {
      continue;
    }
    g.mask |= o.mask;
    o.mask = 0;
  }
  for (size_t i = w.groups.size(); i-- > 0;) {
    if (w.groups[i].mask != 0) continue;
    if (w.current == w.groups.size() - 1) w.current = static_cast<uint32_t>(i);
    w.groups[i] = w.groups.back();
    w.groups.pop_back();
  }
  Group& now = w.groups[w.current];
  // Lanes that came here through other calls take part; they stay groups of their own.
  LaneMask elsewhere = 0;
  for (const Group& o : w.groups) {
    if (&o != &now && waitsHere(o, pc, *now.frame)) elsewhere |= o.mask;
  }
  if (elsewhere != 0) {
    LaneMask done = readyLanes(w, in, now.mask | elsewhere);
    now.pc = pc;
    now.state = GroupState::atCollective;
    if (done != 0) execute(w, in, done);
    leaveCollective(w, pc, done);
    return false;
  }
  LaneMask ready = now.mask == w.live ? now.mask : readyLanes(w, in, now.mask);
  w.active = now.mask;
  if (ready == now.mask) {
    execute(w, in, ready);
    return true;
  }
  // Those that have all their partners go on as a group of their own.
  if (ready != 0) execute(w, in, ready);
  now.pc = pc;
  now.state = GroupState::atCollective;
  if (ready != 0) splitGroup(w, ready, pc + 1, now.frame);
  return false;
}

bool forceCollective(Warp& w, bool patient) {
  LaneMask inBarrier = 0;
  for (const Group& g : w.groups) {
    if (g.state == GroupState::inBarrier) inBarrier |= g.mask;
  }
  for (Group& g : w.groups) {
    if (g.state != GroupState::atCollective) continue;
    const Instr& in = w.block->launch->program->code[g.pc];
    enterFrame(w, g.frame);
    LaneMask here = 0;
    for (const Group& o : w.groups) {
      if (waitsHere(o, g.pc, *g.frame)) here |= o.mask;
    }
    if (patient) {
      LaneMask missing = 0;
      const uint32_t* named = w.r32(lanesOf(in));
      for (LaneMask m = here; m != 0; m &= m - 1) missing |= named[__builtin_ctz(m)];
      if ((missing & w.live & ~here & inBarrier) != 0) continue;
    }
    execute(w, in, here);
    leaveCollective(w, g.pc, here);
    return true;
  }
  return false;
}

}  // namespace mtlc::sim
