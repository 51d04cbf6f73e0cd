#include "mtlc/transforms/tensor_residency.h"

#include <utility>

#include "mtlc/analysis/tiles.h"

namespace mtlc::transforms {

using ir::Form;
using ir::Opcode;
using ir::Operation;
using ir::Slot;
using ir::SlotSet;
using ir::Space;
using ir::Value;

namespace {

constexpr std::string_view kObstacles[] = {
    "",
#define OBSTACLE(Id, text) text,
#include "mtlc/transforms/tensor_obstacles.def"
};

Leading leadingOf(const Operation& op, Slot slot, uint32_t constant) {
  return {op.slot(slot), constant};
}

// Memory that `pointer` may point to, as a RegionMask: both for a generic one.
uint8_t regionsOf(const Value* pointer) {
  const Space space = pointer->type().space();
  if (space == Space::Global) return ir::kRegionGlobal;
  if (space == Space::Workgroup) return ir::kRegionWorkgroup;
  return ir::kRegionGlobal | ir::kRegionWorkgroup;
}

bool isTileStep(const Operation& op) {
  return op.opcode() == Opcode::TensorAccMma || op.opcode() == Opcode::TensorAccEpilogue ||
         op.opcode() == Opcode::TensorAccCommit;
}
const Value* tileOf(const Operation& op) {
  return op.form() == Form::AccCommit ? op.operand(0) : op.slot(Slot::Tile);
}

}  // namespace

std::string describe(const Blocked& blocked) {
  std::string text(kObstacles[static_cast<size_t>(blocked.why)]);
  const size_t at = text.find("%0");
  if (at != std::string::npos) text.replace(at, 2, blocked.op->info().mnemonic);
  return text;
}

Matrix outputOf(const Operation& op) {
  if (op.form() == Form::Epilogue) {
    const ir::EpilogueDesc& d = op.epilogueDesc();
    return {op.slot(Slot::D), leadingOf(op, Slot::Ldd, d.ldd), d.layout, d.element, d.m, d.n,
            d.scope};
  }
  const ir::MmaDesc& d = op.mmaDesc();
  return {op.slot(Slot::D), leadingOf(op, Slot::Ldd, d.ldd), d.dLayout, d.result, d.m, d.n,
          d.scope};
}

Matrix addendOf(const Operation& op) {
  const ir::MmaDesc& d = op.mmaDesc();
  return {op.slot(Slot::C), leadingOf(op, Slot::Ldc, d.ldc), d.cLayout, d.result, d.m, d.n,
          d.scope};
}

Blocked mayBeStep(const Operation& mma) {
  const ir::MmaDesc& d = mma.mmaDesc();
  if (d.acc != d.result) return {Obstacle::Narrow, &mma};
  const Value* home = mma.slot(Slot::D);
  for (Slot s : {Slot::A, Slot::B, Slot::Metadata, Slot::ScaleA, Slot::ScaleB}) {
    if (mma.slot(s) == home) return {Obstacle::ReadsHome, &mma};
  }
  return {};
}

bool accumulates(const Operation& op) { return op.slot(Slot::C) == op.slot(Slot::D); }

Blocked continues(const Operation& op, const Matrix& home) {
  if (outputOf(op) != home || addendOf(op) != home) return {Obstacle::Storage, &op};
  return {};
}

bool sameArithmetic(const ir::MmaDesc& x, const ir::MmaDesc& y) {
  // All but where operands lie and how.
  auto arithmetic = [](const ir::MmaDesc& d) {
    ir::MmaDesc out = d;
    const ir::MmaDesc none;
    out.aLayout = none.aLayout, out.bLayout = none.bLayout;
    out.cLayout = none.cLayout, out.dLayout = none.dLayout;
    out.lda = out.ldb = out.ldc = out.ldd = out.ldsa = out.ldsb = out.ldmeta = 0;
    out.aPacking = none.aPacking, out.bPacking = none.bPacking;
    out.transposeA = out.transposeB = false;
    if (out.rounding == ir::Rounding::NearestEven) out.rounding = ir::Rounding::Default;
    return out;
  };
  return arithmetic(x) == arithmetic(y);
}

// ---- Homes ----

TileHomes::TileHomes(const ir::Function& function) {
  bool any = false;
  for (ir::Block& block : function.blocks()) {
    for (Operation& op : block.ops()) any |= op.opcode() == Opcode::TensorAccBegin;
  }
  if (!any) return;
  const analysis::Tiles tiles(function);
  auto add = [&](const Value* v) {
    if (!v || !v->type().isTile()) return;
    const Operation* begin = tiles.home(v);
    // Another operation on a narrow home would take the rounded sum, one on the tile does not.
    if (begin == nullptr || begin->mmaDesc().acc != begin->mmaDesc().result) return;
    homes_.emplace(v, outputOf(*begin));
  };
  for (ir::Block& block : function.blocks()) {
    for (const Value* arg : block.args()) add(arg);
    for (Operation& op : block.ops()) add(op.result());
  }
}

const Matrix* TileHomes::find(const Value* tile) const {
  auto it = homes_.find(tile);
  return it == homes_.end() ? nullptr : &it->second;
}

// ---- Gaps ----

Blocked Gap::pass(const Operation& op) {
  if (landed_) return landed_;
  if (op.info().effect == ir::Effect::None) return {};
  auto access = [&](const Value* pointer) -> Blocked {
    if (mayAlias(pointer, home_->pointer)) return {Obstacle::Access, &op};
    return {};
  };
  switch (op.form()) {
    case Form::Load:
    case Form::Store:
      if (op.mem().isVolatile) return {Obstacle::Volatile, &op};
      return access(op.operand(op.form() == Form::Load ? 0 : 1));
    case Form::AtomicLoad:
    case Form::AtomicStore:
    case Form::AtomicRmw:
    case Form::AtomicCas:
      return {Obstacle::Atomic, &op};
    case Form::Barrier:
      return passBarrier(op);
    case Form::AsyncCopy:
      if (op.operand(0) == home_->pointer || op.operand(1) == home_->pointer) {
        return {Obstacle::Access, &op};
      }
      if (access(op.operand(0)) || access(op.operand(1))) copies_.push_back({&op, 0});
      return {};
    case Form::AsyncCommit:
      for (Copy& copy : copies_) ++copy.commits;
      return {};
    case Form::AsyncWait:
      return passWait(op);
    case Form::Mma:
    case Form::Epilogue:
    case Form::Transfer:
    case Form::AccCommit:
      return passTensor(op);
    default:
      return {ir::isCall(op) ? Obstacle::Call : Obstacle::Synchronises, &op};
  }
}

Blocked Gap::passWait(const Operation& op) {
  if (between_ == Between::Registers) return {Obstacle::Synchronises, &op};
  sawStage_ = true;
  // A copy that is under way at the next update neither reads nor writes what that updates: nobody
  // may write a source or touch a destination before the wait (docs/ir.md §6). One that this wait
  // is for might.
  for (const Copy& copy : copies_) {
    if (copy.commits > op.waitCount()) return landed_ = {Obstacle::CopyLands, copy.op};
  }
  waited_ = &op;
  return {};
}

Blocked Gap::passBarrier(const Operation& op) {
  const ir::BarrierAttr b = op.barrier();
  if (between_ == Between::Registers) return {Obstacle::Synchronises, &op};
  sawStage_ = true;
  // A stage is handed over to the whole workgroup.
  if (op.convergence() != ir::Convergence::Workgroup) return {Obstacle::Synchronises, &op};
  const bool strong = (b.order == ir::MemoryOrder::AcqRel || b.order == ir::MemoryOrder::SeqCst) &&
                      (b.regions & ir::kRegionWorkgroup) != 0;
  if (waited_ && !strong) return {Obstacle::WeakBarrier, &op};
  if ((b.regions & regionsOf(home_->pointer)) != 0) {
    // Others could look at the accumulator's memory now, if they did anything but come here, too.
    if (!waited_) return {Obstacle::Unstaged, &op};
    ordered_ = &op;
  }
  waited_ = nullptr;
  return {};
}

Blocked Gap::passTensor(const Operation& op) const {
  if (op.convergence() == ir::Convergence::Workgroup && home_->scope == ir::Scope::Subgroup) {
    return {Obstacle::Synchronises, &op};
  }
  const Blocked access{Obstacle::Access, &op};
  if (isTileStep(op)) {
    const Matrix* home = homes_->find(tileOf(op));
    if (!home || !areDisjoint(*home, *home_)) return access;
    if (op.form() == Form::AccCommit) return {};
  }
  for (int i = 0; i < ir::kSlotCount; ++i) {
    const Slot s = static_cast<Slot>(i);
    const Value* pointer = ir::slotClass(s) == ir::SlotClass::Pointer ? op.slot(s) : nullptr;
    if (!pointer || !mayAlias(pointer, home_->pointer)) continue;
    // Tiles next to each other in one matrix.
    const bool whole = op.opcode() == Opcode::TensorMma || op.opcode() == Opcode::TensorAccBegin ||
                       op.opcode() == Opcode::TensorEpilogue;
    if (whole && s == Slot::D && areDisjoint(outputOf(op), *home_)) continue;
    if (whole && s == Slot::C && areDisjoint(addendOf(op), *home_)) continue;
    return access;
  }
  return {};
}

Blocked Gap::update() {
  if (landed_) return landed_;
  if (waited_) return {Obstacle::Unpublished, waited_};
  copies_.clear();
  ordered_ = nullptr;
  sawStage_ = false;
  return {};
}

Blocked Gap::end() const {
  if (landed_) return landed_;
  if (ordered_) return {Obstacle::Synchronises, ordered_};
  if (!copies_.empty()) return {Obstacle::Access, copies_[0].op};
  return {};
}

// ---- Rewriting ----

namespace {

// The operation's operands in `keep`, and others in their slots.
class SlotOperands {
 public:
  SlotOperands(const Operation& op, SlotSet keep) {
    for (int i = 0; i < ir::kSlotCount; ++i) {
      const Slot s = static_cast<Slot>(i);
      if (keep.has(s) && op.slot(s)) set(s, op.slot(s));
    }
  }
  void set(Slot s, Value* v) {
    slots_.add(s);
    values_[static_cast<size_t>(s)] = v;
  }
  template <typename Desc>
  Operation* make(ir::Module& module, Opcode opcode, const Desc& desc, ir::Type result,
                  SourceLoc loc) const {
    std::vector<Value*> operands;
    for (int i = 0; i < ir::kSlotCount; ++i) {
      if (slots_.has(static_cast<Slot>(i))) operands.push_back(values_[i]);
    }
    return module.makeOp({.opcode = opcode,
                          .result = result,
                          .operands = operands,
                          .payload = module.tensorPayload(desc, slots_),
                          .loc = loc});
  }

 private:
  SlotSet slots_;
  Value* values_[ir::kSlotCount] = {};
};

constexpr SlotSet kAll{~uint64_t{0}};

}  // namespace

Operation* makeBegin(const Operation& update, bool fromHome) {
  ir::MmaDesc d = ir::normalizedFor(ir::MmaUse::AccBegin, update.mmaDesc());
  SlotOperands operands(update, {Slot::C, Slot::D, Slot::Ldc, Slot::Ldd});
  if (fromHome) {
    operands = SlotOperands(update, {Slot::D, Slot::Ldd});
    operands.set(Slot::C, update.slot(Slot::D));
    if (Value* ldd = update.slot(Slot::Ldd)) operands.set(Slot::Ldc, ldd);
    d.ldc = d.ldd;
    d.cLayout = d.dLayout;
  }
  return operands.make(update.function()->module(), Opcode::TensorAccBegin, d, ir::tileType(d),
                       update.loc());
}

Operation* makeStep(const Operation& mma, Value* tile) {
  SlotOperands operands(mma, kAll - SlotSet{Slot::C, Slot::D, Slot::Ldc, Slot::Ldd});
  operands.set(Slot::Tile, tile);
  return operands.make(mma.function()->module(), Opcode::TensorAccMma,
                       ir::normalizedFor(ir::MmaUse::AccMma, mma.mmaDesc()), tile->type(),
                       mma.loc());
}

Operation* makeTileEpilogue(const Operation& epilogue, Value* tile) {
  SlotOperands operands(epilogue, kAll - SlotSet{Slot::D, Slot::Ldd});
  operands.set(Slot::Tile, tile);
  ir::EpilogueDesc d = epilogue.epilogueDesc();
  d.ldd = 0;
  d.layout = ir::EpilogueDesc().layout;
  return operands.make(epilogue.function()->module(), Opcode::TensorAccEpilogue, d, tile->type(),
                       epilogue.loc());
}

Operation* makeCommit(ir::Module& module, Value* tile, SourceLoc loc) {
  Value* const operands[] = {tile};
  return module.makeOp({.opcode = Opcode::TensorAccCommit, .operands = operands, .loc = loc});
}

unsigned countJoins(const Updates& updates) {
  unsigned joins = 0;
  for (size_t i = 1; i < updates.size(); ++i) {
    joins += updates[i - 1]->opcode() != Opcode::TensorAccBegin &&
             updates[i]->opcode() != Opcode::TensorAccCommit;
  }
  return joins;
}

Value* joinUpdates(const Updates& updates, Value* entry, bool commitAtEnd, const Matrix& home,
                   TileHomes& homes) {
  Value* tile = entry;
  Operation* after = nullptr;  // Where a commit goes.
  SourceLoc loc;
  for (size_t i = 0; i < updates.size(); ++i) {
    Operation* op = updates[i];
    const bool isLast = i + 1 == updates.size();
    loc = op->loc();
    switch (op->opcode()) {
      case Opcode::TensorMma: {
        if (!tile) {
          Operation* begin = makeBegin(*op, false);
          ir::Module::insertBefore(op, begin);
          tile = begin->result();
          homes.set(tile, home);
        }
        Operation* step = makeStep(*op, tile);
        ir::Module::insertBefore(op, step);
        tile = step->result();
        homes.set(tile, home);
        op->erase();
        after = step;
        break;
      }
      case Opcode::TensorAccBegin:
        // Its last tile comes with the commit that follows.
        if (tile) {
          op->result()->replaceAllUsesWith(tile);
          op->erase();
        }
        tile = nullptr;
        after = nullptr;
        break;
      default:  // The commit.
        if (isLast && commitAtEnd) return nullptr;
        tile = op->operand(0);
        op->erase();
        break;
    }
  }
  if (!commitAtEnd) return tile;
  if (tile) {
    Operation* commit = makeCommit(tile->block()->function()->module(), tile, loc);
    ir::Module::insertBefore(after->next(), commit);
  }
  return nullptr;
}

}  // namespace mtlc::transforms
