#include "mtlc/codegen/ptx/tensor_order.h"

namespace mtlc::ptx {

using ir::Opcode;
using ir::Operation;

namespace {

// Memory that other lanes access, too.
bool isShared(const ir::Value* pointer) {
  const ir::Space space = pointer->type().space();
  return space != ir::Space::Private && space != ir::Space::Constant;
}

}  // namespace

bool TensorOrder::State::merge(const State& other) {
  const State before = *this;
  read |= other.read;
  write |= other.write;
  tileWrite |= other.tileWrite;
  if (tileRead == kNone) {
    tileRead = other.tileRead;
  } else if (other.tileRead != kNone && other.tileRead != tileRead) {
    tileRead = kSeveral;
  }
  return !(*this == before);
}

void TensorOrder::compute(const ir::Function& function, std::span<ir::Block* const> order,
                          const analysis::TileRegions& regions, const TileFunctions& tiles) {
  isKernel_ = function.isKernel();
  regions_ = &regions;
  tiles_ = &tiles;
  atEntry_.assign(order.size(), State());
  if (order.empty()) return;
  // Before a kernel nothing has been accessed.
  if (!isKernel_) atEntry_[0].read = atEntry_[0].write = true;
  std::vector<bool> queued(order.size(), true);
  std::vector<uint32_t> work;
  for (uint32_t b = static_cast<uint32_t>(order.size()); b-- > 0;) work.push_back(b);
  while (!work.empty()) {
    const uint32_t b = work.back();
    work.pop_back();
    queued[b] = false;
    State state = atEntry_[b];
    for (const Operation& op : order[b]->ops()) {
      step(op, state);
      if (!op.isTerminator()) continue;
      for (unsigned s = 0; s < op.successorCount(); ++s) {
        const uint32_t target = op.successor(s).block()->scratch;
        if (atEntry_[target].merge(state) && !queued[target]) {
          queued[target] = true;
          work.push_back(target);
        }
      }
      break;
    }
  }
}

bool TensorOrder::stepTile(const Operation& op, State& state) const {
  const ir::Value* tile = op.result() != nullptr ? op.result() : op.operand(0);
  const int32_t region = static_cast<int32_t>(regions_->indexOf(tile));
  if (op.opcode() == Opcode::TensorAccCommit) {
    // What the tile was computed from does not lie where it goes (docs/ir.md §11), or is what the
    // same lane has read.
    const bool barrier = state.read || state.write || state.tileWrite ||
                         (state.tileRead != kNone && state.tileRead != region);
    if (barrier) state = State();
    state.tileWrite = true;
    return barrier;
  }
  const bool barrier = state.write || state.tileWrite;
  if (barrier) state = State();
  const bool reads = op.opcode() != Opcode::TensorAccEpilogue || op.slot(ir::Slot::Bias) != nullptr;
  if (reads) {
    State now;
    now.tileRead = region;
    state.merge(now);
  }
  return barrier;
}

bool TensorOrder::step(const Operation& op, State& state) const {
  auto access = [&](bool reads, bool writes) {
    const bool barrier = state.tileWrite || (writes && state.tileRead != kNone);
    if (barrier) state = State();
    state.read |= reads;
    state.write |= writes;
    return barrier;
  };
  // Ends what was ordered so far; whatever comes next may meet accesses that nobody here knows.
  auto unknown = [&] {
    const bool barrier = state.tileWrite || state.tileRead != kNone;
    state = State();
    state.read = state.write = true;
    return barrier;
  };
  switch (op.opcode()) {
    case Opcode::TensorAccBegin:
    case Opcode::TensorAccMma:
    case Opcode::TensorAccEpilogue:
    case Opcode::TensorAccCommit:
      return stepTile(op, state);
    case Opcode::Load:
      return isShared(op.operand(0)) && access(true, false);
    case Opcode::Store:
      return isShared(op.operand(1)) && access(false, true);
    case Opcode::AtomicLoad:
      return access(true, false);
    case Opcode::AtomicStore:
    case Opcode::AtomicRmw:
    case Opcode::AtomicCas:
    case Opcode::AsyncCopy:
    // What has been copied is there for this work-item now, and for the others after a barrier.
    case Opcode::AsyncWait:
    case Opcode::TensorTransfer:
      return access(true, true);
    case Opcode::Barrier:
    case Opcode::SubgroupBarrier:
      state = State();
      return false;
    case Opcode::Call:
      return unknown();
    case Opcode::Br:
      return !tiles_->uniformBranches.contains(&op) && unknown();
    case Opcode::Ret:
      return !isKernel_ && unknown();
    default:
      return false;
  }
}

}  // namespace mtlc::ptx
