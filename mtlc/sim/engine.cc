#include "mtlc/sim/engine.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "mtlc/sim/async.h"
#include "mtlc/sim/weak.h"

namespace mtlc::sim {
namespace {

// Branches that a warp may take before another warp gets its turn.
constexpr uint32_t kWarpTurn = 256;
// Turns of one group before the group that waited longest gets one; at once when it used atomics,
// for it may spin.
constexpr uint32_t kGroupTurns = 16;

uint32_t specialValue(const Block& b, const Warp& w, Special s, unsigned lane) {
  const LaunchState& l = *b.launch;
  std::array<uint32_t, 3> t = b.threadId(w.index * kLanes + lane);
  switch (s) {
    case Special::tidX:
      return t[0];
    case Special::tidY:
      return t[1];
    case Special::tidZ:
      return t[2];
    case Special::ntidX:
      return l.block[0];
    case Special::ntidY:
      return l.block[1];
    case Special::ntidZ:
      return l.block[2];
    case Special::ctaidX:
      return b.id[0];
    case Special::ctaidY:
      return b.id[1];
    case Special::ctaidZ:
      return b.id[2];
    case Special::nctaidX:
      return l.grid[0];
    case Special::nctaidY:
      return l.grid[1];
    case Special::nctaidZ:
      return l.grid[2];
    case Special::laneid:
      return lane;
    case Special::warpid:
      return w.index;
    case Special::nwarpid:
      return static_cast<uint32_t>(b.warps.size());
    case Special::smid:
      return static_cast<uint32_t>(b.linear % l.limits->multiprocessors);
    case Special::nsmid:
      return l.limits->multiprocessors;
    case Special::lanemaskEq:
      return 1u << lane;
    case Special::lanemaskLe:
      return static_cast<uint32_t>((uint64_t{2} << lane) - 1);
    case Special::lanemaskLt:
      return (1u << lane) - 1;
    case Special::lanemaskGe:
      return ~((1u << lane) - 1);
    case Special::lanemaskGt:
      return static_cast<uint32_t>(~((uint64_t{2} << lane) - 1));
    case Special::clusterOne:
      return 1;
    case Special::dynamicShared:
      return l.config->dynamicShared;
    case Special::totalShared:
    case Special::aggregateShared:
      return l.sharedDeclared;
    case Special::gridWorkspaceLow:
      return static_cast<uint32_t>(l.gridWorkspace);
    case Special::gridWorkspaceHigh:
      return static_cast<uint32_t>(l.gridWorkspace >> 32);
    case Special::localLinear:
      return w.index * kLanes + lane;
    case Special::subgroupLane:
      return (w.index * kLanes + lane) % l.config->subgroupSize;
    case Special::subgroupId:
      return (w.index * kLanes + lane) / l.config->subgroupSize;
    case Special::subgroupCount:
      return (b.threads + l.config->subgroupSize - 1) / l.config->subgroupSize;
    case Special::subgroupSize: {
      uint32_t size = l.config->subgroupSize;
      uint32_t first = (w.index * kLanes + lane) / size * size;
      return first < b.threads ? std::min(size, b.threads - first) : size;
    }
    case Special::subgroupMaxSize:
      return l.config->subgroupSize;
    case Special::subgroupMask: {
      uint32_t size = l.config->subgroupSize;
      return size >= kLanes ? kAllLanes : ((1u << size) - 1) << lane / size * size;
    }
    case Special::subgroupBarrier:
      return kPtxBarriers + w.index * kLanes / l.config->subgroupSize;
    case Special::subgroupThreads: {
      uint32_t perGroup = std::max(1u, l.config->subgroupSize / kLanes);
      uint32_t first = w.index / perGroup * perGroup;
      uint32_t warps = static_cast<uint32_t>(b.warps.size()) - first;
      return std::min(perGroup, warps) * kLanes;
    }
    default:
      return 0;
  }
}

bool changesWithBlock(Special s) {
  return s == Special::ctaidX || s == Special::ctaidY || s == Special::ctaidZ || s == Special::smid;
}

void startWarp(Block& b, Warp& w, bool fresh) {
  const Program& p = *b.launch->program;
  const ProgramFunction& f = p.functions[0];
  uint32_t first = w.index * kLanes;
  uint32_t lanes = std::min(kLanes, b.threads - first);
  w.live = lanes == kLanes ? kAllLanes : (1u << lanes) - 1;
  w.started = w.live;
  w.worker = b.worker;
  w.block = &b;
  w.fault = false;
  w.observed = !b.launch->accessObservers.empty();
  w.followed = !b.launch->instructionObservers.empty();
  w.steps = 0;
  w.clock = 0;
  w.tick = 0;
  w.rotate = false;
  w.turns = 0;
  if (fresh) {
    w.bank32.assign(static_cast<size_t>(f.slots32) * kLanes + 16, kPoison32);
    w.bank64.assign(static_cast<size_t>(f.slots64) * kLanes + 8, kPoison64);
    w.bankPred.assign(f.slotsPred, 0);
    w.special32.resize(p.specials.size() * kLanes);
  } else {
    std::fill(w.bank32.begin(), w.bank32.end(), kPoison32);
    std::fill(w.bank64.begin(), w.bank64.end(), kPoison64);
    std::fill(w.bankPred.begin(), w.bankPred.end(), 0);
  }
  for (size_t i = 0; i < p.specials.size(); ++i) {
    if (!fresh && !changesWithBlock(p.specials[i])) continue;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      w.special32[i * kLanes + lane] = specialValue(b, w, p.specials[i], lane);
    }
  }
  w.files32[1] = const_cast<uint32_t*>(p.const32.data());
  w.files64[1] = const_cast<uint64_t*>(p.const64.data());
  w.filesPred[1] = const_cast<LaneMask*>(p.constPred.data());
  w.files32[2] = w.special32.data();
  for (auto& pieces : w.stackPieces) pieces.clear();
  w.freeFrames.clear();
  for (auto& frame : w.frames) {
    frame->lanes = 0;
    w.freeFrames.push_back(frame.get());
  }
  Frame* frame = newFrame(w);
  frame->function = &f;
  frame->lanes = w.live;
  w.frame = nullptr;
  Group g;
  g.mask = w.live;
  g.pc = f.entry;
  g.frame = frame;
  w.groups.assign(1, g);
}

// How a warp runs: freely; with observers told; with the schedule drawn at random (observers are
// told if there are any), where `turn` counts instructions instead of branches.
enum class Run { free, observed, random };

template <Run kRun>
WarpStatus runWarp(Warp& w, uint32_t turn) {
  constexpr bool kObserved = kRun != Run::free;
  constexpr bool kRandom = kRun == Run::random;
  LaunchState& launch = *w.block->launch;
  const Program& program = *launch.program;
  const Instr* code = program.code.data();
  const uint32_t* real = program.realBefore.data();
  Worker& worker = *w.worker;
  bool spinning = false;

  const Instr* ip = nullptr;
  const Instr* segment = nullptr;  // First instruction not yet counted.
  LaneMask active = 0;

  auto count = [&](const Instr* end) {
    uint32_t n = real[end - code] - real[segment - code];
    if constexpr (kObserved) {
      if (!worker.rowCounts.empty()) {
        for (const Instr* i = segment; i != end; ++i) {
          if ((i->flags & kCountsAsNothing) == 0) ++worker.rowCounts[i->row];
        }
      }
    }
    worker.instructions += n;
    worker.laneInstructions += uint64_t{n} * static_cast<unsigned>(__builtin_popcount(active));
    w.steps += n;
    segment = end;
  };
  // Chooses a group and loads its state; false when none can run.
  auto load = [&]() {
    if (!selectGroup(w)) return false;
    ip = segment = code + w.groups[w.current].pc;
    active = w.active;
    return true;
  };
  auto park = [&](const Instr* at) {
    count(at);
    w.groups[w.current].pc = static_cast<uint32_t>(at - code);
  };
  auto guarded = [&](const Instr& in) {
    return in.guard == kNoRef ? active : active & w.pred(in.guard);
  };

  if (!load()) return WarpStatus::blocked;
  for (;;) {
    const Instr& in = *ip;
    if constexpr (kRandom) {
      if (turn == 0) {
        park(ip);
        return WarpStatus::ran;
      }
      --turn;
      if (w.block->weak != nullptr) w.block->weak->before(w, in, active);
    }
    switch (in.op) {
      case Op::lane: {
        LaneMask m = guarded(in);
        if (kObserved && w.followed) {
          for (Observer* o : launch.instructionObservers) o->instruction(w, in, m);
        }
        if (m != 0) {
          in.fn(in, w, m);
          if constexpr (kObserved) {
            for (Observer* o : launch.resultObservers) o->executed(w, in, m);
          }
        }
        ++ip;
        break;
      }
      case Op::memory: {
        LaneMask m = guarded(in);
        if (kObserved && w.followed) {
          for (Observer* o : launch.instructionObservers) o->instruction(w, in, m);
        }
        if (m != 0) {
          if (kRandom && w.block->weak != nullptr) {
            w.block->weak->access(w, in, m);
          } else {
            in.fn(in, w, m);
          }
          if (w.fault) {
            count(ip + 1);
            return WarpStatus::stopped;
          }
          if constexpr (kObserved) {
            for (Observer* o : launch.resultObservers) o->executed(w, in, m);
          }
          spinning = spinning || in.orderScope != 0;
        }
        ++ip;
        break;
      }
      case Op::async: {
        LaneMask m = guarded(in);
        if (kObserved && w.followed) {
          for (Observer* o : launch.instructionObservers) o->instruction(w, in, m);
        }
        if (m != 0) {
          AsyncStatus s = executeAsync(w, in, m);
          if (s == AsyncStatus::stopped) {
            count(ip + 1);
            return WarpStatus::stopped;
          }
          if (s == AsyncStatus::waits) {
            park(ip);
            if (!load()) return WarpStatus::blocked;
            break;
          }
          if constexpr (kObserved) {
            for (Observer* o : launch.resultObservers) o->executed(w, in, m);
          }
          if (s == AsyncStatus::yields) {
            park(ip + 1);
            if (!load()) return WarpStatus::blocked;
            break;
          }
        }
        ++ip;
        break;
      }
      case Op::nop:
        ++ip;
        break;
      case Op::join:
        ++ip;
        if (ip->order >= w.nextOrder) {
          park(ip);
          load();
        }
        break;
      case Op::branch: {
        if (kObserved && w.followed) {
          for (Observer* o : launch.instructionObservers) o->instruction(w, in, active);
        }
        LaneMask taken = guarded(in);
        count(ip + 1);
        const Instr* next = ip + 1;
        if (taken == active) {
          next = code + in.target;
        } else if (taken != 0) {
          w.groups[w.current].pc = static_cast<uint32_t>(next - code);
          splitGroup(w, taken, in.target, w.groups[w.current].frame);
          load();
          next = ip;
        }
        ip = segment = next;
        if (ip->order >= w.nextOrder) {
          park(ip);
          load();
        }
        if (!kRandom && --turn == 0) {
          park(ip);
          if (w.groups.size() > 1 && (spinning || ++w.turns >= kGroupTurns)) {
            w.turns = 0;
            w.rotate = true;
          }
          return WarpStatus::ran;
        }
        break;
      }
      case Op::branchTable: {
        if (kObserved && w.followed) {
          for (Observer* o : launch.instructionObservers) o->instruction(w, in, active);
        }
        count(ip + 1);
        const BranchTable& table = program.branchTables[in.ext];
        const uint32_t* index = w.r32(in.src[0]);
        Frame* frame = w.groups[w.current].frame;
        LaneMask left = active;
        while (left != 0) {
          unsigned first = static_cast<unsigned>(__builtin_ctz(left));
          uint32_t i = index[first];
          if (i >= table.targets.size()) {
            reportFault(w, in, first, DiagId::SimBranchIndex, {i, table.targets.size()});
            return WarpStatus::stopped;
          }
          LaneMask same = 0;
          for (LaneMask m = left; m != 0; m &= m - 1) {
            unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
            if (index[lane] == i) same |= 1u << lane;
          }
          left &= ~same;
          if (left == 0) {
            w.groups[w.current].pc = table.targets[i];
          } else {
            splitGroup(w, same, table.targets[i], frame);
          }
        }
        load();
        if (!kRandom && --turn == 0) return WarpStatus::ran;
        break;
      }
      case Op::exit: {
        LaneMask m = guarded(in);
        if (m == 0) {
          ++ip;
          break;
        }
        park(ip + 1);
        if constexpr (kObserved) {
          if (w.followed) {
            for (Observer* o : launch.instructionObservers) o->instruction(w, in, m);
          }
          for (Observer* o : launch.observers) o->exited(w, in, m);
        }
        exitLanes(w, m);
        if (w.groups.empty()) return WarpStatus::done;
        if (!load()) return WarpStatus::blocked;
        break;
      }
      case Op::trap:
        count(ip + 1);
        reportTrap(w, in, static_cast<unsigned>(__builtin_ctz(active)), DiagId::SimTrap, {});
        return WarpStatus::stopped;
      case Op::barrier:
        count(ip + 1);
        if (kObserved && w.followed) {
          for (Observer* o : launch.instructionObservers) o->instruction(w, in, active);
        }
        if (!reachBarrier(w, in)) return WarpStatus::stopped;
        if (!load()) return WarpStatus::blocked;
        break;
      case Op::collective:
      case Op::matrix:
        count(ip + 1);
        if (bool together = reachCollective(w, in); w.fault) {
          return WarpStatus::stopped;
        } else if (together) {
          w.groups[w.current].pc = static_cast<uint32_t>(ip + 1 - code);
          active = w.active;
          ++ip;
        } else if (!load()) {
          return WarpStatus::blocked;
        }
        break;
      case Op::group:
        count(ip + 1);
        if (kObserved && w.followed) {
          for (Observer* o : launch.instructionObservers) o->instruction(w, in, active);
        }
        reachGroupOp(w, in);
        if (!load()) return WarpStatus::blocked;
        break;
      case Op::fence:
        if (LaneMask m = guarded(in)) {
          __atomic_thread_fence(__ATOMIC_SEQ_CST);
          if (kRandom && w.block->weak != nullptr) w.block->weak->fence(w, in, m);
          if (!launch.observers.empty()) {
            SyncEvent e{in, m, SyncKind::fence};
            e.order = static_cast<Order>(in.orderScope & 15);
            e.scope = static_cast<Scope>(in.orderScope >> 4);
            for (Observer* o : launch.observers) o->sync(w, e);
          }
        }
        ++ip;
        break;
      case Op::yield:
        ++ip;
        park(ip);
        w.rotate = true;
        return WarpStatus::ran;
      case Op::call:
        count(ip + 1);
        if (!callFunction(w, in)) return WarpStatus::stopped;
        load();
        if (!kRandom && --turn == 0) return WarpStatus::ran;
        break;
      case Op::ret:
        count(ip + 1);
        returnFromFunction(w);
        load();
        break;
    }
  }
}

// Whether the launch ends because the warp or the launch as a whole ran for too long.
bool overLimit(Warp& w) {
  LaunchState& launch = *w.block->launch;
  if (launch.hasDeadline && std::chrono::steady_clock::now() > launch.deadline) {
    launch.finish(LaunchStatus::timeLimit);
    return true;
  }
  if (w.steps <= launch.config->maxSteps || w.groups.empty()) return false;
  const Group& g = w.groups[w.current < w.groups.size() ? w.current : 0];
  const Instr& in = launch.program->code[g.pc];
  unsigned lane = static_cast<unsigned>(__builtin_ctz(g.mask));
  reportLimit(w, in, lane, DiagId::SimStepLimit, {launch.config->maxSteps});
  return true;
}

// Nothing in the block can run: lanes that wait for the rest of their warp go on without it, or it
// is a deadlock. True when something can run again.
bool unblock(Block& b) {
  if (b.async != nullptr && b.async->wakePolls()) return true;
  for (Warp& w : b.warps) {
    if (!w.groups.empty() && forceCollective(w, true)) return true;
  }
  if (forceGroupOp(b)) return true;
  for (Warp& w : b.warps) {
    if (!w.groups.empty() && arriveDiverged(w)) return true;
  }
  for (Warp& w : b.warps) {
    if (!w.groups.empty() && forceCollective(w, false)) return true;
  }
  return false;
}

// The turns of a block under a random schedule: any warp that can run may be next, for a few
// instructions or for many. Half of the seeds switch often throughout.
BlockStatus runBlockAtRandom(Block& b) {
  LaunchState& launch = *b.launch;
  uint64_t style = launch.config->seed;
  bool often = (nextRandom(style) & 1) != 0;
  for (uint32_t turns = 1 + nextRandom(b.random) % (often ? 2 : 16); turns != 0; --turns) {
    if (b.async != nullptr) b.async->turn();
    std::array<uint8_t, kLanes> ready;
    uint32_t count = 0;
    bool any = false;
    for (Warp& w : b.warps) {
      any = any || !w.groups.empty();
      for (const Group& g : w.groups) {
        if (g.state != GroupState::runnable) continue;
        ready[count++] = static_cast<uint8_t>(w.index);
        break;
      }
    }
    if (!any) {
      if (b.async != nullptr) b.async->blockEnd();
      for (Observer* o : launch.observers) o->blockEnd(b);
      if (b.weak != nullptr) b.weak->blockEnd(b);
      return BlockStatus::done;
    }
    if (count == 0) {
      if (unblock(b)) continue;
      if (!launch.stop.load()) reportDeadlock(b);
      return BlockStatus::stopped;
    }
    Warp& w = b.warps[ready[nextRandom(b.random) % count]];
    uint32_t length = nextRandom(b.random);
    uint32_t most = (length & 1) != 0 || often ? 3 : (length & 6) != 0 ? 24 : 400;
    WarpStatus s = runWarp<Run::random>(w, 1 + (length >> 8) % most);
    if (s == WarpStatus::stopped || launch.stop.load(std::memory_order_relaxed)) {
      return BlockStatus::stopped;
    }
    if (overLimit(w)) return BlockStatus::stopped;
  }
  return BlockStatus::suspended;
}

// More local memory than any host should be asked for by one block; hardware has up to 512 MiB
// (CUDA C++ Programming Guide, "Compute Capabilities").
constexpr uint64_t kMaxLocalBytes = uint64_t{32} << 30;

}  // namespace

bool startBlock(Worker& worker, Block& b, uint64_t linear) {
  LaunchState& launch = *worker.launch;
  const Program& p = *launch.program;
  bool fresh = b.launch == nullptr;
  b.launch = &launch;
  b.program = &p;
  b.shape = launch.block;
  b.params = launch.params.data();
  b.paramBytes = static_cast<uint32_t>(launch.params.size());
  b.worker = &worker;
  b.linear = linear;
  b.id = {static_cast<uint32_t>(linear % launch.grid[0]),
          static_cast<uint32_t>(linear / launch.grid[0] % launch.grid[1]),
          static_cast<uint32_t>(linear / launch.grid[0] / launch.grid[1])};
  b.threads = launch.block[0] * launch.block[1] * launch.block[2];
  b.liveThreads = b.threads;
  b.barriers.fill(BarrierState{});
  b.barriersInUse = false;
  b.nextWarp = 0;
  b.random = 0;
  b.async.reset();
  if (launch.config->seed != 0) {
    uint64_t seed = launch.config->seed * 0x9e3779b97f4a7c15u + linear;
    nextRandom(seed);
    b.random = seed | 1;
  }
  if (fresh) {
    b.sharedBytes = launch.sharedBytes;
    b.sharedStorage.reset(new (std::nothrow) uint8_t[b.sharedBytes + 256]);
    uint64_t stride = launch.localStride;
    uint32_t warps = (b.threads + kLanes - 1) / kLanes;
    uint64_t localBytes = uint64_t{warps} * kLanes * stride;
    if (stride > UINT32_MAX || localBytes > kMaxLocalBytes) return false;
    b.localStride = static_cast<uint32_t>(stride);
    b.frameMask = launch.goOnAfterFault ? ~0u : 0;
    b.localStorage.reset(new (std::nothrow) uint8_t[localBytes + 64]);
    b.local = b.localStorage.get();
    if (b.sharedStorage == nullptr || b.localStorage == nullptr) return false;
    uintptr_t s = reinterpret_cast<uintptr_t>(b.sharedStorage.get());
    b.shared = b.sharedStorage.get() + ((256 - s % 256) % 256);
    b.warps.resize(warps);
  }
  std::memset(b.shared, 0xcd, b.sharedBytes);
  std::memset(b.shared + b.program->reservedShared, 0, b.program->reservedSharedBytes);
  if (b.localStride != 0) {
    std::memset(b.local, 0xcd, b.warps.size() * kLanes * b.localStride);
  }
  for (uint32_t i = 0; i < b.warps.size(); ++i) {
    b.warps[i].index = i;
    startWarp(b, b.warps[i], fresh);
  }
  b.weak = launch.weak;
  if (b.weak != nullptr) b.weak->blockBegin(b);
  for (Observer* o : launch.observers) o->blockBegin(b);
  return true;
}

BlockStatus runBlock(Block& b, uint32_t quantum) {
  LaunchState& launch = *b.launch;
  if (b.random != 0) return runBlockAtRandom(b);
  bool observed = !launch.observers.empty() || launch.config->countRows;
  for (;;) {
    bool any = false, progress = false;
    for (size_t k = 0; k < b.warps.size(); ++k) {
      Warp& w = b.warps[b.nextWarp];
      b.nextWarp = b.nextWarp + 1 == b.warps.size() ? 0 : b.nextWarp + 1;
      if (w.groups.empty()) continue;
      any = true;
      if (b.async != nullptr) b.async->tick(w);
      WarpStatus s =
          observed ? runWarp<Run::observed>(w, kWarpTurn) : runWarp<Run::free>(w, kWarpTurn);
      if (s == WarpStatus::stopped || launch.stop.load(std::memory_order_relaxed)) {
        return BlockStatus::stopped;
      }
      if (s != WarpStatus::blocked) progress = true;
      if (overLimit(w)) return BlockStatus::stopped;
      if (quantum == 0) return BlockStatus::suspended;
      --quantum;
    }
    if (!any) {
      if (b.async != nullptr) b.async->blockEnd();
      for (Observer* o : launch.observers) o->blockEnd(b);
      return BlockStatus::done;
    }
    if (progress) continue;
    // A warp that was blocked when its turn came may run since another one arrived.
    bool runnable = false;
    for (Warp& w : b.warps) {
      for (const Group& g : w.groups) runnable = runnable || g.state == GroupState::runnable;
    }
    if (runnable || unblock(b)) continue;
    if (!launch.stop.load()) reportDeadlock(b);
    return BlockStatus::stopped;
  }
}

}  // namespace mtlc::sim
