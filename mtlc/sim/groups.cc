// Groups of lanes: splitting, merging, choosing.

#include <algorithm>

#include "mtlc/sim/engine.h"

namespace mtlc::sim {
namespace {

uint32_t orderAt(const Warp& w, uint32_t pc) { return w.block->launch->program->code[pc].order; }

// Whether `a` should run before `b`. Groups in different activations compare at the activation they
// share.
bool before(const Warp& w, const Group& a, const Group& b) {
  const Frame* fa = a.frame;
  const Frame* fb = b.frame;
  uint32_t pa = a.pc, pb = b.pc;
  while (fa != fb) {
    if (fa->depth >= fb->depth) {
      pa = fa->callPc;
      fa = fa->parent;
    } else {
      pb = fb->callPc;
      fb = fb->parent;
    }
  }
  uint32_t oa = orderAt(w, pa), ob = orderAt(w, pb);
  if (oa != ob) return oa < ob;
  if (a.frame->depth != b.frame->depth) return a.frame->depth > b.frame->depth;
  return a.pc < b.pc;
}

// The order in the current group's activation at which `other` has to be looked at again.
uint32_t meetingOrder(const Warp& w, const Frame* current, const Group& other) {
  if (other.frame == current) return orderAt(w, other.pc);
  const Frame* f = other.frame;
  uint32_t pc = other.pc;
  while (f != nullptr && f->depth > current->depth) {
    pc = f->callPc;
    f = f->parent;
  }
  return f == current ? orderAt(w, pc) : kNever;
}

}  // namespace

uint32_t mergeGroups(Warp& w, uint32_t index) {
  for (uint32_t i = 0; i < w.groups.size(); ++i) {
    for (uint32_t j = i + 1; j < w.groups.size();) {
      Group& a = w.groups[i];
      Group& b = w.groups[j];
      bool same = a.pc == b.pc && a.frame == b.frame && a.state == b.state &&
                  a.state != GroupState::inBarrier;
      if (!same) {
        ++j;
        continue;
      }
      a.mask |= b.mask;
      a.lastRun = std::min(a.lastRun, b.lastRun);
      uint32_t last = static_cast<uint32_t>(w.groups.size() - 1);
      if (index == j) {
        index = i;
      } else if (index == last) {
        index = j;
      }
      w.groups[j] = w.groups.back();
      w.groups.pop_back();
    }
  }
  return index;
}

void enterFrame(Warp& w, Frame* frame) {
  w.frame = frame;
  w.files32[0] = w.bank32.data() + static_cast<size_t>(frame->base32) * kLanes;
  w.files64[0] = w.bank64.data() + static_cast<size_t>(frame->base64) * kLanes;
  w.filesPred[0] = w.bankPred.data() + frame->basePred;
}

bool selectGroup(Warp& w) {
  if (w.groups.size() > 1) mergeGroups(w, 0);
  uint32_t best = kNever, seen = 0;
  // Half of the random choices are the usual one, so that groups meet.
  bool atRandom = w.block->random != 0 && w.groups.size() > 1 && (nextRandom(w.block->random) & 1);
  for (uint32_t i = 0; i < w.groups.size(); ++i) {
    const Group& g = w.groups[i];
    if (g.state != GroupState::runnable) continue;
    if (atRandom) {
      if (nextRandom(w.block->random) % ++seen == 0) best = i;
      continue;
    }
    if (best == kNever) {
      best = i;
    } else if (w.rotate ? g.lastRun < w.groups[best].lastRun : before(w, g, w.groups[best])) {
      best = i;
    }
  }
  w.rotate = false;
  if (best == kNever) return false;
  w.current = best;
  Group& g = w.groups[best];
  g.lastRun = ++w.tick;
  w.active = g.mask;
  if (w.frame != g.frame) enterFrame(w, g.frame);
  w.nextOrder = kNever;
  for (uint32_t i = 0; i < w.groups.size(); ++i) {
    if (i == best || w.groups[i].state != GroupState::runnable) continue;
    w.nextOrder = std::min(w.nextOrder, meetingOrder(w, g.frame, w.groups[i]));
  }
  return true;
}

void splitGroup(Warp& w, LaneMask lanes, uint32_t pc, Frame* frame) {
  Group& g = w.groups[w.current];
  Group other = g;
  g.mask &= ~lanes;
  other.mask = lanes;
  other.pc = pc;
  other.frame = frame;
  other.state = GroupState::runnable;
  w.groups.push_back(other);
}

void exitLanes(Warp& w, LaneMask lanes) {
  Group& g = w.groups[w.current];
  w.live &= ~lanes;
  w.block->liveThreads -= static_cast<uint32_t>(__builtin_popcount(lanes));
  leaveFrame(w, g.frame, lanes);
  g.mask &= ~lanes;
  w.active = g.mask;
  if (g.mask == 0) {
    w.groups[w.current] = w.groups.back();
    w.groups.pop_back();
  }
  if (w.groups.empty() || w.block->barriersInUse) checkBarriersAfterExit(*w.block);
}

Frame* newFrame(Warp& w) {
  if (!w.freeFrames.empty()) {
    Frame* f = w.freeFrames.back();
    w.freeFrames.pop_back();
    *f = Frame{};
    return f;
  }
  w.frames.push_back(std::make_unique<Frame>());
  return w.frames.back().get();
}

void leaveFrame(Warp& w, Frame* frame, LaneMask lanes) {
  while (frame != nullptr) {
    frame->lanes &= ~lanes;
    Frame* parent = frame->parent;
    if (frame->lanes == 0) {
      if (w.frame == frame) w.frame = nullptr;
      w.freeFrames.push_back(frame);
    }
    frame = parent;
  }
}

}  // namespace mtlc::sim
