// Faults of the simulated program: from a place in a running warp to a report and to a diagnostic.

#include <cstdio>
#include <cstring>

#include "mtlc/sim/async.h"
#include "mtlc/sim/launch_state.h"

namespace mtlc::sim {
namespace {

std::string formatted(DiagId id, DiagArgs args) {
  DiagnosticEngine one;
  return one.report(id, SourceRange(), args).message;
}

std::string describePlace(const Place& p) {
  std::string text =
      "kernel '" + p.kernel + "', block " + triple(p.block) + ", thread " + triple(p.thread);
  if (p.function != p.kernel) text += ", in function '" + p.function + "'";
  if (!p.sourceFile.empty()) {
    text += ", from " + p.sourceFile + ":" + std::to_string(p.sourceLine);
    if (p.sourceColumn != 0) text += ":" + std::to_string(p.sourceColumn);
  }
  return text;
}

void record(Warp& w, const Instr& in, unsigned lane, ReportKind kind, DiagId id, DiagArgs args) {
  Report r;
  r.kind = kind;
  r.id = id;
  r.message = formatted(id, args);
  r.at = w.block->launch->place(w, in, lane);
  w.block->launch->report(std::move(r), w.block->launch->pcOf(in));
}

const char* accessName(AccessKind kind) {
  switch (kind) {
    case AccessKind::load:
      return "load";
    case AccessKind::store:
      return "store";
    case AccessKind::atomic:
      return "atomic operation";
    case AccessKind::reduction:
      return "reduction";
  }
  return "";
}

// "8 bytes past the end of 'a' (400 bytes)"
std::string whereabouts(const LaunchState& launch, Warp& w, Space space, uint64_t address) {
  // Past the last variable before `offset`; empty: there is none, or the memory ends there.
  auto variable = [](const std::vector<VariablePlace>& places, uint64_t offset, uint64_t end) {
    const VariablePlace* v = offset < end ? variableBefore(places, offset) : nullptr;
    if (v == nullptr) return std::string();
    uint64_t in = offset - v->offset;
    std::string where = in < v->bytes ? std::to_string(in) + " bytes into '"
                                      : std::to_string(in - v->bytes) + " bytes past the end of '";
    return where + v->name + "' (" + std::to_string(v->bytes) + " bytes)";
  };
  switch (space) {
    case Space::shared: {
      uint64_t offset = address >> 48 == kSharedWindow >> 48 ? address - kSharedWindow : address;
      std::string text = variable(launch.program->sharedVariables, offset, w.block->sharedBytes);
      if (!text.empty()) return text;
      return "the block has " + std::to_string(launch.sharedDeclared) + " bytes";
    }
    case Space::local: {
      uint64_t offset = address >> 48 == kLocalWindow >> 48 ? address - kLocalWindow : address;
      for (const auto& pieces : w.stackPieces) {
        if (!pieces.empty() && offset >= pieces.back().offset) {
          return "it belongs to no alloca of the thread";
        }
      }
      const Frame* f = w.frame;
      while (f->localBase > offset && f->parent != nullptr) f = f->parent;
      std::string text = variable(f->function->variables, offset - f->localBase,
                                  w.block->localStride - f->localBase);
      if (!text.empty()) return text;
      return "the thread has " + std::to_string(w.block->localStride) + " bytes";
    }
    case Space::param:
      return "the kernel has " + std::to_string(launch.params.size()) + " bytes of parameters";
    default:
      break;
  }
  AddressInfo info = launch.memory->describe(address);
  if (info.allocation == nullptr) return "in no allocation";
  const Allocation& a = *info.allocation;
  if (&a == launch.heap.memory() && info.distance == 0) return launch.heap.describe(address);
  std::string name =
      (a.live ? "'" : "freed '") + a.name + "' (" + std::to_string(a.size()) + " bytes)";
  if (info.distance == 0) {
    return std::to_string(address - a.begin) + " bytes into " + name;
  }
  if (info.distance > 0)
    return std::to_string(info.distance - 1) + " bytes past the end of " + name;
  return std::to_string(-info.distance) + " bytes before " + name;
}

}  // namespace

std::string triple(const std::array<uint32_t, 3>& t) {
  return "(" + std::to_string(t[0]) + "," + std::to_string(t[1]) + "," + std::to_string(t[2]) + ")";
}

std::string hexText(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string_view reportName(ReportKind kind) {
  static constexpr std::string_view kNames[] = {"mem",   "init",  "race", "sync",
                                                "async", "steps", "trap"};
  return kNames[static_cast<size_t>(kind)];
}

void LaunchState::finish(LaunchStatus why) {
  uint8_t ok = 0;
  status.compare_exchange_strong(ok, static_cast<uint8_t>(why));
  stop.store(true);
}

Place LaunchState::place(uint32_t pc, const std::array<uint32_t, 3>& blockId,
                         const std::array<uint32_t, 3>& threadId) const {
  Place p;
  const InstrInfo& info = program->info[pc];
  p.kernel = program->kernel;
  p.function = program->functions[info.function].name;
  p.ptx = info.loc;
  if (info.sourceFile != 0 && info.sourceFile < program->files.size() && info.sourceLine != 0) {
    p.sourceFile = std::string(program->files[info.sourceFile]);
    p.sourceLine = info.sourceLine;
    p.sourceColumn = info.sourceColumn;
  }
  p.block = blockId;
  p.thread = threadId;
  return p;
}

Place LaunchState::place(const Warp& w, const Instr& in, unsigned lane) const {
  return place(pcOf(in), w.block->id, w.block->threadId(w.index * kLanes + lane));
}

void LaunchState::report(Report r, uint32_t pc, uint32_t otherPc) {
  std::array<uint64_t, 2> key{static_cast<uint64_t>(r.id) << 32 | pc, otherPc};
  std::lock_guard lock(reportMutex);
  for (size_t i = 0; i < reportKeys_.size(); ++i) {
    if (reportKeys_[i] == key) {
      ++reports[i].occurrences;
      return;
    }
  }
  if (reports.size() >= 1000) return;
  reportKeys_.push_back(key);
  reports.push_back(std::move(r));
}

void memoryFault(Warp& w, const Instr& in, unsigned lane, MemFault what, Space space,
                 uint64_t address, AccessKind access) {
  LaunchState& launch = *w.block->launch;
  uint32_t bytes = uint32_t{in.size} * in.count;
  std::string_view spaceText = spaceName(space);
  Report r;
  r.kind = ReportKind::mem;
  std::string at = hexText(address);
  switch (what) {
    case MemFault::outOfBounds:
      r.id = DiagId::SimOutOfBounds;
      break;
    case MemFault::misaligned:
      r.id = DiagId::SimMisaligned;
      break;
    case MemFault::null:
      r.id = DiagId::SimNull;
      break;
    case MemFault::useAfterFree:
      r.id = DiagId::SimUseAfterFree;
      break;
    case MemFault::readOnly:
      r.id = DiagId::SimReadOnly;
      break;
    case MemFault::wrongSpace:
      r.id = DiagId::SimWrongWindow;
      break;
  }
  r.message = formatted(
      r.id, {accessName(access), bytes, spaceText, at, whereabouts(launch, w, space, address)});
  r.at = launch.place(w, in, lane);
  r.address = address;
  r.space = space;
  r.bytes = bytes;
  launch.report(std::move(r), launch.pcOf(in));
  if (!launch.goOnAfterFault) {
    w.fault = true;
    launch.finish(LaunchStatus::faulted);
  }
}

void reportFault(Warp& w, const Instr& in, unsigned lane, DiagId id, DiagArgs args) {
  record(w, in, lane, ReportKind::mem, id, args);
  w.block->launch->finish(LaunchStatus::faulted);
}

void reportTrap(Warp& w, const Instr& in, unsigned lane, DiagId id, DiagArgs args) {
  record(w, in, lane, ReportKind::trap, id, args);
  w.block->launch->finish(LaunchStatus::trapped);
}

void reportLimit(Warp& w, const Instr& in, unsigned lane, DiagId id, DiagArgs args) {
  record(w, in, lane, ReportKind::steps, id, args);
  w.block->launch->finish(LaunchStatus::stepLimit);
}

void reportCheck(Warp& w, const Instr& in, unsigned lane, ReportKind kind, DiagId id,
                 DiagArgs args) {
  record(w, in, lane, kind, id, args);
}

void reportDeadlock(Block& b) {
  LaunchState& launch = *b.launch;
  Report r;
  r.kind = ReportKind::sync;
  r.id = DiagId::SimDeadlock;
  uint32_t pc = kNever;
  for (Warp& w : b.warps) {
    for (const Group& g : w.groups) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(g.mask));
      // A wait that answered `false` has gone on by one instruction.
      const Instr& in = launch.program->code[g.pc];
      bool waits = in.op == Op::async && launch.program->asyncs[in.ext].op >= AsyncOp::mbarWait &&
                   launch.program->asyncs[in.ext].op <= AsyncOp::clusterWait;
      uint32_t at = g.state == GroupState::polling && !waits ? g.pc - 1 : g.pc;
      Place p = launch.place(w, launch.program->code[at], lane);
      if (pc == kNever) {
        pc = at;
        r.at = p;
      }
      r.waiting.push_back(std::move(p));
    }
  }
  uint32_t offset = 0;
  const Mbarrier* m = b.async == nullptr ? nullptr : b.async->awaited(offset);
  if (m != nullptr) {
    r.id = DiagId::SimMbarrierDeadlock;
    r.message =
        formatted(r.id, {r.waiting.size(), hexText(offset), m->phase, m->pending, m->bytes});
  } else {
    r.message = formatted(r.id, {r.waiting.size()});
  }
  launch.report(std::move(r), pc);
  launch.finish(LaunchStatus::deadlock);
}

void emitReport(const Report& r, DiagnosticEngine& diags) {
  Diagnostic& d = diags.report(r.id, SourceRange(r.at.ptx));
  d.message = r.message;
  d.note(SourceRange(r.at.ptx), describePlace(r.at));
  if (r.hasOther) d.note(SourceRange(r.other.ptx), "the other access: " + describePlace(r.other));
  for (size_t i = 0; i < r.waiting.size() && i < 32; ++i) {
    d.note(SourceRange(r.waiting[i].ptx), "waiting here: " + describePlace(r.waiting[i]));
  }
}

}  // namespace mtlc::sim
