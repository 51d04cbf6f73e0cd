#include "mtlc/codegen/ptx/tensor_order.h"

#include "mtlc/codegen/ptx/tensor_lowering.h"

namespace mtlc::ptx {

using ir::Opcode;
using ir::Operation;

bool TensorOrder::State::merge(const State& other) {
  const State before = *this;
  read |= other.read;
  write |= other.write;
  tileWrite |= other.tileWrite;
  for (int i = 0; i < kSpaces; ++i) {
    if (tileRead[i] == kNone) {
      tileRead[i] = other.tileRead[i];
    } else if (other.tileRead[i] != kNone && other.tileRead[i] != tileRead[i]) {
      tileRead[i] = kSeveral;
    }
  }
  return !(*this == before);
}

void TensorOrder::State::readTile(Spaces spaces, int32_t region) {
  State now;
  for (int i = 0; i < kSpaces; ++i) {
    if ((spaces >> i & 1) != 0) now.tileRead[i] = region;
  }
  merge(now);
}

TensorOrder::Spaces TensorOrder::State::tileReads(int32_t region) const {
  Spaces spaces = 0;
  for (int i = 0; i < kSpaces; ++i) {
    if (tileRead[i] != kNone && tileRead[i] != region) spaces |= static_cast<Spaces>(1 << i);
  }
  return spaces;
}

TensorOrder::Spaces TensorOrder::spacesOf(const ir::Value* pointer) {
  switch (pointer->type().space()) {
    case ir::Space::Workgroup:
      return kWorkgroup;
    case ir::Space::Global:
      return kGlobal;
    case ir::Space::Generic:
      return kBoth;
    case ir::Space::Private:   // Nobody else's.
    case ir::Space::Constant:  // Never written.
      break;
  }
  return 0;
}

void TensorOrder::compute(const ir::Function& function, std::span<ir::Block* const> order,
                          const TensorLowering& tensors, const TileFunctions& tiles) {
  isKernel_ = function.isKernel();
  tensors_ = &tensors;
  tiles_ = &tiles;
  atEntry_.assign(order.size(), State());
  if (order.empty()) return;
  // Before a kernel nothing has been accessed.
  if (!isKernel_) atEntry_[0].read = atEntry_[0].write = kBoth;
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
  const int32_t region = static_cast<int32_t>(tensors_->regions().indexOf(tile));
  if (op.opcode() == Opcode::TensorAccCommit) {
    const Operation& home = *tensors_->homes().home(tile);
    const Spaces to = spacesOf(home.slot(ir::Slot::D));
    // What the tile was computed from does not lie where it goes (docs/ir.md §11), but for C, which
    // the same lane has read unless lanes write for each other.
    const bool exchanges =
        tensors_->storesMatrices(op) && (spacesOf(home.slot(ir::Slot::C)) & to) != 0;
    const Spaces reads = state.tileReads(exchanges ? kNone : region);
    const bool barrier = ((state.read | state.write | state.tileWrite | reads) & to) != 0;
    if (barrier) state = State();
    state.tileWrite |= to;
    return barrier;
  }
  Spaces from = 0;
  for (ir::Slot slot : {ir::Slot::A, ir::Slot::B, ir::Slot::C, ir::Slot::Metadata, ir::Slot::ScaleA,
                        ir::Slot::ScaleB, ir::Slot::Bias}) {
    if (const ir::Value* pointer = op.slot(slot)) from |= spacesOf(pointer);
  }
  const bool barrier = ((state.write | state.tileWrite) & from) != 0;
  if (barrier) state = State();
  state.readTile(from, region);
  return barrier;
}

bool TensorOrder::divides(const Operation& terminator) const {
  for (unsigned s = 0; s < terminator.successorCount(); ++s) {
    if (tiles_->divergentBlocks.contains(terminator.successor(s).block())) return true;
  }
  return false;
}

bool TensorOrder::step(const Operation& op, State& state) const {
  auto access = [&](Spaces reads, Spaces writes) {
    const bool barrier =
        (state.tileWrite & (reads | writes)) != 0 || (state.tileReads() & writes) != 0;
    if (barrier) state = State();
    state.read |= reads;
    state.write |= writes;
    return barrier;
  };
  // Ends what was ordered so far; whatever comes next may meet accesses that nobody here knows.
  auto unknown = [&] {
    const bool barrier = state.tileWrite != 0 || state.tileReads() != 0;
    state = State();
    state.read = state.write = kBoth;
    return barrier;
  };
  // No barrier can stand in what follows.
  auto settle = [&] {
    const bool barrier = state.tileWrite != 0 || state.tileReads() != 0;
    if (barrier) state = State();
    return barrier;
  };
  switch (op.opcode()) {
    case Opcode::TensorAccBegin:
    case Opcode::TensorAccMma:
    case Opcode::TensorAccEpilogue:
    case Opcode::TensorAccCommit:
      return stepTile(op, state);
    case Opcode::Load:
      return access(spacesOf(op.operand(0)), 0);
    case Opcode::Store:
      return access(0, spacesOf(op.operand(1)));
    case Opcode::AtomicLoad:
      return access(spacesOf(op.operand(0)), 0);
    case Opcode::AtomicStore:
    case Opcode::AtomicRmw:
    case Opcode::AtomicCas:
      return access(spacesOf(op.operand(0)), spacesOf(op.operand(0)));
    case Opcode::AsyncCopy:
      return access(kGlobal, kWorkgroup);
    case Opcode::AsyncWait:
      // What has been copied is there for this work-item now, and for the others after a barrier.
      return access(0, kWorkgroup);
    case Opcode::TensorTransfer:
      return access(kBoth, kBoth);
    case Opcode::Barrier:
    case Opcode::SubgroupBarrier:
      state = State();
      return false;
    case Opcode::Call:
      return unknown();
    case Opcode::Br:
    case Opcode::Jump:
      return divides(op) && settle();
    case Opcode::Ret:
      return !isKernel_ && unknown();
    default:
      return false;
  }
}

}  // namespace mtlc::ptx
