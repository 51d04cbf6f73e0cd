// Calls: activations, parameters, returns.

#include <cstring>

#include "mtlc/sim/async.h"
#include "mtlc/sim/engine.h"

namespace mtlc::sim {
namespace {

constexpr uint32_t kMaxDepth = 4096;

// Makes room for `frame` in the warp's register banks.
void ensureBanks(Warp& w, const Frame& frame) {
  const ProgramFunction& f = *frame.function;
  size_t need32 = static_cast<size_t>(frame.base32 + f.slots32) * kLanes;
  size_t need64 = static_cast<size_t>(frame.base64 + f.slots64) * kLanes;
  size_t needPred = frame.basePred + f.slotsPred;
  if (w.bank32.size() < need32) w.bank32.resize(need32, kPoison32);
  if (w.bank64.size() < need64) w.bank64.resize(need64, kPoison64);
  if (w.bankPred.size() < needPred) w.bankPred.resize(needPred, 0);
}

// An activation that other lanes of the warp already entered from the same place, or a new one.
Frame* activation(Warp& w, uint32_t pc, const ProgramFunction* callee) {
  if (w.groups.size() > 1) {
    for (auto& f : w.frames) {
      if (f->lanes != 0 && f->parent == w.frame && f->callPc == pc && f->function == callee) {
        return f.get();
      }
    }
  }
  Frame* parent = w.frame;
  const ProgramFunction& caller = *parent->function;
  Frame* f = newFrame(w);
  f->parent = parent;
  f->function = callee;
  f->callPc = pc;
  f->returnPc = pc + 1;
  f->base32 = parent->base32 + caller.slots32;
  f->base64 = parent->base64 + caller.slots64;
  f->basePred = parent->basePred + caller.slotsPred;
  f->localBase = (parent->localBase + caller.localBytes + 15) / 16 * 16;
  f->depth = parent->depth + 1;
  return f;
}

// Columns of a frame that is not the current one.
uint32_t* column32(Warp& w, const Frame& f, Ref r) {
  return refFile(r) == File::frame ? w.bank32.data() + size_t{f.base32 + refIndex(r)} * kLanes
                                   : w.r32(r);
}
uint64_t* column64(Warp& w, const Frame& f, Ref r) {
  return refFile(r) == File::frame ? w.bank64.data() + size_t{f.base64 + refIndex(r)} * kLanes
                                   : w.r64(r);
}

// A value between two frames: each side is a register or bytes in local memory.
void transfer(Warp& w, LaneMask mask, const Frame& from, Ref fromRef, uint32_t fromOffset,
              const Frame& to, Ref toRef, uint32_t toOffset, uint32_t bytes) {
  for (LaneMask m = mask; m != 0; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    uint8_t* local = w.local(lane);
    if (fromRef == kNoRef && toRef == kNoRef) {
      std::memmove(local + to.localBase + toOffset, local + from.localBase + fromOffset, bytes);
      continue;
    }
    uint64_t value = 0;
    if (fromRef == kNoRef) {
      std::memcpy(&value, local + from.localBase + fromOffset, bytes);
    } else if (refBank(fromRef) == Bank::r64) {
      value = column64(w, from, fromRef)[lane];
    } else {
      value = column32(w, from, fromRef)[lane];
    }
    if (toRef == kNoRef) {
      std::memcpy(local + to.localBase + toOffset, &value, bytes);
    } else if (refBank(toRef) == Bank::r64) {
      column64(w, to, toRef)[lane] = value;
    } else {
      column32(w, to, toRef)[lane] = static_cast<uint32_t>(value);
    }
  }
}

bool enter(Warp& w, const Instr& in, const CallSite& site, uint32_t index, LaneMask lanes) {
  LaunchState& launch = *w.block->launch;
  const ProgramFunction* callee = &launch.program->functions[index];
  uint32_t pc = launch.pcOf(in);
  bool matches = callee->params.size() == site.arguments.size() &&
                 callee->results.size() == site.results.size();
  for (size_t i = 0; matches && i < site.arguments.size(); ++i) {
    matches = site.arguments[i].bytes == callee->params[i].bytes;
  }
  for (size_t i = 0; matches && i < site.results.size(); ++i) {
    matches = site.results[i].bytes == 0 || site.results[i].bytes == callee->results[i].bytes;
  }
  if (!matches) {
    reportFault(w, in, static_cast<unsigned>(__builtin_ctz(lanes)), DiagId::SimCallMismatch,
                {callee->name});
    return false;
  }
  Frame* caller = w.frame;
  Frame* f = activation(w, pc, callee);
  uint64_t top = uint64_t{f->localBase} + callee->localBytes;
  if (f->depth > kMaxDepth) {
    reportFault(w, in, static_cast<unsigned>(__builtin_ctz(lanes)), DiagId::SimCallDepth,
                {callee->name, kMaxDepth});
    return false;
  }
  if (top > w.block->localStride) {
    reportFault(w, in, static_cast<unsigned>(__builtin_ctz(lanes)), DiagId::SimStackOverflow,
                {callee->name, w.block->localStride});
    return false;
  }
  if (launch.program->usesAlloca) {
    for (LaneMask m = lanes; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      if (top > w.stackTop(lane)) {
        reportFault(w, in, lane, DiagId::SimStackOverflow, {callee->name, w.block->localStride});
        return false;
      }
      f->pieces[lane] = static_cast<uint32_t>(w.stackPieces[lane].size());
    }
  }
  f->lanes |= lanes;
  ensureBanks(w, *f);
  enterFrame(w, caller);  // The banks may have moved.
  for (size_t i = 0; i < site.arguments.size(); ++i) {
    const CallValue& a = site.arguments[i];
    const FormalValue& p = callee->params[i];
    transfer(w, lanes, *caller, a.ref, a.offset, *f, p.ref, p.offset, p.bytes);
  }
  Group& g = w.groups[w.current];
  if (g.mask == lanes) {
    g.pc = callee->entry;
    g.frame = f;
  } else {
    splitGroup(w, lanes, callee->entry, f);
  }
  for (Observer* o : launch.observers) o->called(w, in, lanes, *caller, *f);
  return true;
}

}  // namespace

bool callFunction(Warp& w, const Instr& in) {
  LaunchState& launch = *w.block->launch;
  const CallSite& site = launch.program->calls[in.ext];
  Group& g = w.groups[w.current];
  g.pc = launch.pcOf(in);
  if (site.builtin != Builtin::none) {
    if (!runBuiltin(w, in, site)) return false;
    ++w.groups[w.current].pc;
    return true;
  }
  if (site.callee == kNoRef) return enter(w, in, site, site.function, g.mask);
  // Indirect: lanes with one target go together.
  LaneMask left = g.mask;
  while (left != 0) {
    unsigned first = static_cast<unsigned>(__builtin_ctz(left));
    const uint64_t* handles = w.r64(site.callee);
    uint64_t handle = handles[first];
    LaneMask same = 0;
    for (LaneMask m = left; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      if (handles[lane] == handle) same |= 1u << lane;
    }
    left &= ~same;
    uint32_t index = kNever;
    for (uint32_t i = 0; i < launch.program->functions.size(); ++i) {
      if (launch.program->functions[i].handle == handle) index = i;
    }
    bool allowed = site.allowed.empty() && index != 0;
    for (uint32_t a : site.allowed) allowed = allowed || a == index;
    if (index == kNever || !allowed) {
      reportFault(w, in, first, DiagId::SimBadCallee, {hexText(handle)});
      return false;
    }
    if (!enter(w, in, site, index, same)) return false;
  }
  return true;
}

void returnFromFunction(Warp& w) {
  LaunchState& launch = *w.block->launch;
  Group& g = w.groups[w.current];
  Frame* f = g.frame;
  const Instr& call = launch.program->code[f->callPc];
  const CallSite& site = launch.program->calls[call.ext];
  if (w.block->async != nullptr) w.block->async->returning(w);
  for (size_t i = 0; i < site.results.size(); ++i) {
    const CallValue& r = site.results[i];
    const FormalValue& p = f->function->results[i];
    if (r.bytes == 0) continue;
    transfer(w, g.mask, *f, p.ref, p.offset, *f->parent, r.ref, r.offset, p.bytes);
  }
  for (Observer* o : launch.observers) o->returned(w, call, g.mask, *f->parent, *f);
  if (launch.program->usesAlloca) {
    for (LaneMask m = g.mask; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      w.stackPieces[lane].resize(f->pieces[lane]);
    }
  }
  g.pc = f->returnPc;
  g.frame = f->parent;
  f->lanes &= ~g.mask;
  if (f->lanes == 0) {
    w.freeFrames.push_back(f);
    if (w.frame == f) w.frame = nullptr;
  }
}

}  // namespace mtlc::sim
