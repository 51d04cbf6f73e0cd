// Threads that act together: waiting for each other, and what subgroup operations do.

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "mtlc/interp/block_runner.h"
#include "mtlc/interp/combine.h"
#include "mtlc/support/scalar_ops.h"

namespace mtlc::interp {

using ir::Opcode;

// Runs every collective whose threads are all there; true if one was. Ends the block if threads of
// a scope wait for others that cannot come.
bool BlockRunner::runCollectives() {
  collectivesWait_ = false;
  bool any = false;
  // Looks at the threads from `begin` on that make up one scope.
  auto look = [&](size_t begin, size_t end, ir::Convergence scope) {
    const Thread* waiting = nullptr;
    lanes_.clear();
    for (size_t i = begin; i < end; ++i) {
      Thread& thread = threads_[i];
      if (thread.status == ThreadStatus::Ended) continue;
      lanes_.push_back(&thread);
      if (thread.status == ThreadStatus::Ready) {
        collectivesWait_ = true;  // The others may wait for it.
        return;
      }
      if (!waiting && thread.status == ThreadStatus::AtCollective &&
          thread.lastOp->convergence() == scope) {
        waiting = &thread;
      }
    }
    if (waiting) any |= runCollective(lanes_, *waiting);
  };
  const size_t size = launch_.spec.options.subgroupSize;
  for (size_t first = 0; first < threads_.size() && !blockEnded_; first += size) {
    look(first, std::min(first + size, threads_.size()), ir::Convergence::Subgroup);
  }
  if (!any && !blockEnded_) look(0, threads_.size(), ir::Convergence::Workgroup);
  if (any) collectivesWait_ = true;  // Others may wait still.
  return any;
}

// `waiting` and the other live threads of its scope cannot go on without each other. True unless
// the block has ended.
bool BlockRunner::runCollective(Lanes live, const Thread& waiting) {
  std::vector<Thread*> together;
  for (Thread* thread : live) {
    if (thread->isTogetherWith(waiting)) together.push_back(thread);
  }
  if (together.size() != live.size() && launch_.checks(FaultKind::Sync)) {
    reportDivergence(live, waiting);
    blockEnded_ = true;
    return false;
  }
  const Inst& inst = waiting.waitsAt();
  collective(together, inst);
  for (Thread* thread : together) {
    thread->status = ThreadStatus::Ready;
    if (isTraced(*thread)) {
      trace(inst, inst.resultType == ir::TypeKind::Void ? nullptr : &slotOf(*thread, inst.result));
    }
  }
  return true;
}

Reg BlockRunner::operand(const Thread& thread, const Inst& inst, unsigned i) const {
  return slotOf(thread, thread.state->frames.back().code->operandSlots[inst.imm + i]);
}

void BlockRunner::collective(Lanes lanes, const Inst& inst) {
  switch (inst.opcode) {
    case Opcode::SubgroupBroadcast:
      return subgroupBroadcast(lanes, inst);
    case Opcode::SubgroupShuffle:
      return subgroupShuffle(lanes, inst);
    case Opcode::SubgroupReduce:
    case Opcode::SubgroupScanInclusive:
    case Opcode::SubgroupScanExclusive:
      return subgroupCombine(lanes, inst);
    case Opcode::SubgroupBallot:
    case Opcode::SubgroupAny:
    case Opcode::SubgroupAll:
      return subgroupVote(lanes, inst);
    case Opcode::SubgroupBarrier:
      return orderTogether(lanes);
    case Opcode::TensorMma:
    case Opcode::TensorMatmul:
    case Opcode::TensorEpilogue:
    case Opcode::TensorTransfer:
    case Opcode::TensorAccBegin:
    case Opcode::TensorAccMma:
    case Opcode::TensorAccEpilogue:
    case Opcode::TensorAccCommit:
      return tensorOperation(lanes, inst);
    default:
      return;  // No other operation waits.
  }
}

// The lane is the same for all and names a live one, or else there is a fault and everyone keeps
// its own value.
void BlockRunner::subgroupBroadcast(Lanes lanes, const Inst& inst) {
  const uint64_t size = launch_.spec.options.subgroupSize;
  const Reg wanted = slotOf(*lanes[0], inst.b);
  const Thread* source = nullptr;
  for (Thread* thread : lanes) {
    if (linearId(*thread) % size == wanted.bits) source = thread;
  }
  const auto other = std::find_if(lanes.begin(), lanes.end(), [&](const Thread* thread) {
    return slotOf(*thread, inst.b).bits != wanted.bits;
  });
  if (other != lanes.end() || !source) {
    std::string why = absl::StrFormat("lane %d is not live", wanted.bits);
    if (wanted.bits >= size) {
      why = absl::StrFormat("lane %d is not in a subgroup of %d", wanted.bits, size);
    }
    if (other != lanes.end()) {
      why =
          absl::StrFormat("thread %s names lane %d, but thread %s lane %d", toString(lanes[0]->id),
                          wanted.bits, toString((*other)->id), slotOf(**other, inst.b).bits);
    }
    reportBroadcast(*lanes[0], inst, why);
    source = nullptr;
  }
  Reg sent = source ? slotOf(*source, inst.a) : Reg{};
  const uint32_t origin = originOf(*(source ? source : lanes[0]), inst.a);
  for (Thread* thread : lanes) {
    Reg value = source ? sent : slotOf(*thread, inst.a);
    originOf(*thread, inst.result) = source ? origin : originOf(*thread, inst.a);
    if (slotOf(*thread, inst.b).uninit != 0) {
      value.uninit = scalar::mask(inst.width);
      originOf(*thread, inst.result) = originOf(*thread, inst.b);
    }
    setResult(*thread, inst, value);
  }
}

void BlockRunner::subgroupShuffle(Lanes lanes, const Inst& inst) {
  const uint64_t size = launch_.spec.options.subgroupSize;
  for (Thread* thread : lanes) {
    const Reg lane = slotOf(*thread, inst.b);
    const Thread* source = thread;  // Its own value, unless the lane is live.
    for (const Thread* candidate : lanes) {
      if (linearId(*candidate) % size == lane.bits) source = candidate;
    }
    Reg value = slotOf(*source, inst.a);
    uint32_t origin = originOf(*source, inst.a);
    if (lane.uninit != 0) {
      value.uninit = scalar::mask(inst.width);
      origin = originOf(*thread, inst.b);
    }
    setResult(*thread, inst, value);
    originOf(*thread, inst.result) = origin;
  }
}

// Reductions and scans combine the values by ascending lane.
void BlockRunner::subgroupCombine(Lanes lanes, const Inst& inst) {
  std::vector<Reg> inclusive;
  uint32_t origin = 0;
  for (const Thread* thread : lanes) {
    const Reg own = slotOf(*thread, inst.a);
    if (own.uninit != 0 && origin == 0) origin = originOf(*thread, inst.a);
    inclusive.push_back(inclusive.empty()
                            ? own
                            : combine(inst.op->combineKind(), inst.type, inclusive.back(), own));
  }
  for (size_t i = 0; i < lanes.size(); ++i) {
    Reg result = inclusive.back();
    if (inst.opcode == Opcode::SubgroupScanInclusive) result = inclusive[i];
    if (inst.opcode == Opcode::SubgroupScanExclusive) result = i == 0 ? Reg{} : inclusive[i - 1];
    setResult(*lanes[i], inst, result);
    if (result.uninit != 0) originOf(*lanes[i], inst.result) = origin;
  }
}

// any, all, ballot. A lane that is not live votes for nothing.
void BlockRunner::subgroupVote(Lanes lanes, const Inst& inst) {
  const uint64_t size = launch_.spec.options.subgroupSize;
  bool someTrue = false;
  bool someFalse = false;
  uint32_t origin = 0;  // Of the first uninitialised vote.
  for (const Thread* thread : lanes) {
    const Reg vote = slotOf(*thread, inst.a);
    if (vote.uninit != 0) {
      if (origin == 0) origin = originOf(*thread, inst.a);
      continue;
    }
    (vote.bits != 0 ? someTrue : someFalse) = true;
  }
  for (Thread* caller : lanes) {
    const Reg word = slotOf(*caller, inst.b);
    bool anyTrue = false;
    bool allTrue = true;
    Reg ballot;
    for (const Thread* thread : lanes) {
      const Reg vote = slotOf(*thread, inst.a);
      anyTrue |= vote.bits != 0;
      allTrue &= vote.bits != 0;
      const uint64_t lane = linearId(*thread) % size;
      if (lane / 32 != word.bits) continue;
      ballot.bits |= (vote.bits & 1) << lane % 32;
      ballot.uninit |= (vote.uninit & 1) << lane % 32;
    }
    // One known vote decides it; otherwise the unknown ones do.
    Reg result = ballot;
    if (inst.opcode == Opcode::SubgroupAny) result = {anyTrue, origin != 0 && !someTrue};
    if (inst.opcode == Opcode::SubgroupAll) result = {allTrue, origin != 0 && !someFalse};
    originOf(*caller, inst.result) = origin;
    if (inst.opcode == Opcode::SubgroupBallot && word.uninit != 0) {
      result.uninit = scalar::mask(32);
      originOf(*caller, inst.result) = originOf(*caller, inst.b);
    }
    setResult(*caller, inst, result);
  }
}

}  // namespace mtlc::interp
