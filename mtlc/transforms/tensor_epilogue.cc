// tensor-epilogue: an epilogue right after the last update of its matrix is applied to the tile.
//
//   tensor.acc.commit %t                %u = tensor.acc.epilogue tile=%t, bias=%b {…}
//   tensor.epilogue d=%d, bias=%b {…}   tensor.acc.commit %u
//
// A lone tensor.mma before it becomes a tile for that. The way from the one to the other may lead
// through jumps to blocks that nothing else jumps to, such as the block behind a loop.

#include <algorithm>
#include <memory>
#include <vector>

#include "mtlc/transforms/tensor_chain.h"

namespace mtlc::transforms {
namespace {

using ir::Block;
using ir::Opcode;
using ir::Operation;
using ir::Slot;
using ir::Value;

// Accumulators that are followed at a time; uses of a matrix that are looked at for a remark.
constexpr size_t kMaxOpen = 64;
constexpr int kMaxUses = 64;

// A matrix whose last update was `update`: tensor.mma or tensor.acc.commit.
struct Ended {
  Ended(const Matrix& matrix, Operation* op, const TileHomes& homes)
      : home(matrix), update(op), gap(home, Between::Registers, homes) {}
  Ended(const Ended&) = delete;
  Ended& operator=(const Ended&) = delete;

  const Matrix home;
  Operation* update;
  Gap gap;
  Blocked blocked;
};

class EpilogueMover {
 public:
  EpilogueMover(ir::Function& function, PassContext& context)
      : function_(function), context_(context), homes_(function) {}

  Change run() {
    for (Block& block : function_.blocks()) {
      if (comesFrom(block)) continue;
      ended_.clear();
      for (Block* b = &block; b; b = goesTo(*b)) {
        for (Operation& op : b->ops()) visit(op);
      }
    }
    return changed_ ? Change::Values : Change::None;
  }

 private:
  // The block that this one follows on the only way here, by a jump; it is visited right after it.
  static Block* comesFrom(const Block& block) {
    Block* from = block.isEntry() ? nullptr : block.singlePredecessor();
    return from && from->terminator()->opcode() == Opcode::Jump && from != &block ? from : nullptr;
  }
  static Block* goesTo(const Block& block) {
    if (block.terminator()->opcode() != Opcode::Jump) return nullptr;
    Block* to = block.terminator()->successor(0).block();
    return comesFrom(*to) == &block ? to : nullptr;
  }

  void visit(Operation& op) {
    if (op.info().effect == ir::Effect::None) return;
    switch (op.opcode()) {
      case Opcode::TensorMma:
        others(op, op.slot(Slot::D));
        return end(outputOf(op), op);
      case Opcode::TensorAccBegin:
        others(op, nullptr);
        return forget(op.slot(Slot::D));
      case Opcode::TensorAccCommit:
        if (const Matrix* home = homes_.find(op.operand(0))) {
          others(op, home->pointer);
          return end(Matrix(*home), op);
        }
        return others(op, nullptr);
      case Opcode::TensorEpilogue:
        others(op, op.slot(Slot::D));
        return epilogue(op);
      default:
        return others(op, nullptr);
    }
  }

  void others(const Operation& op, const Value* updated) {
    for (auto& ended : ended_) {
      if (!ended->blocked && ended->home.pointer != updated) ended->blocked = ended->gap.pass(op);
    }
  }

  std::vector<std::unique_ptr<Ended>>::iterator find(const Value* pointer) {
    return std::find_if(ended_.begin(), ended_.end(),
                        [&](const auto& ended) { return ended->home.pointer == pointer; });
  }
  void forget(const Value* pointer) {
    auto it = find(pointer);
    if (it != ended_.end()) ended_.erase(it);
  }
  void end(const Matrix& home, Operation& op) {
    forget(home.pointer);
    if (ended_.size() == kMaxOpen) ended_.erase(ended_.begin());
    ended_.push_back(std::make_unique<Ended>(home, &op, homes_));
  }

  void epilogue(Operation& op) {
    const Value* pointer = op.slot(Slot::D);
    auto it = find(pointer);
    if (it == ended_.end()) {
      if (isAccumulated(pointer)) missed({Obstacle::OtherWays, &op});
      return;
    }
    Ended& ended = **it;
    if (Blocked why = mayMove(ended, op)) {
      missed(why);
      ended_.erase(it);
      return;
    }
    Operation* update = ended.update;
    Value* tile;
    if (update->opcode() == Opcode::TensorMma) {
      Operation* begin = makeBegin(*update, false);
      ir::Module::insertBefore(update, begin);
      homes_.set(begin->result(), ended.home);
      Operation* step = makeStep(*update, begin->result());
      ir::Module::insertBefore(update, step);
      tile = step->result();
      homes_.set(tile, ended.home);
    } else {
      tile = update->operand(0);
    }
    Operation* moved = makeTileEpilogue(op, tile);
    ir::Module::insertBefore(&op, moved);
    homes_.set(moved->result(), ended.home);
    Operation* commit = makeCommit(function_.module(), moved->result(), op.loc());
    ir::Module::insertBefore(&op, commit);
    context_.remark(RemarkId::EpilogueOnTile, function_, op.loc());
    context_.count(Stat::EpiloguesOnTiles);
    changed_ = true;
    update->erase();
    op.erase();
    const Matrix home = ended.home;
    end(home, *commit);
  }

  static Blocked mayMove(Ended& ended, const Operation& op) {
    const Matrix target = outputOf(op);
    const Matrix& home = ended.home;
    if (target.m != home.m || target.n != home.n || target.format != home.format ||
        target.scope != home.scope) {
      return {Obstacle::Shape, &op};
    }
    if (target != home) return {Obstacle::Storage, &op};
    if (op.slot(Slot::Bias) == home.pointer) return {Obstacle::ReadsHome, &op};
    if (ended.update->opcode() == Opcode::TensorMma) {
      if (Blocked why = mayBeStep(*ended.update)) return why;
    }
    if (ended.blocked) return ended.blocked;
    return ended.gap.update();
  }

  // True if somewhere in the function there are products for the matrix.
  static bool isAccumulated(const Value* pointer) {
    int seen = 0;
    for (const ir::Use* u = pointer->firstUse(); u && seen < kMaxUses; u = u->next(), ++seen) {
      const Operation& op = *u->owner();
      if ((op.opcode() == Opcode::TensorMma || op.opcode() == Opcode::TensorAccBegin) &&
          op.slot(Slot::D) == pointer) {
        return true;
      }
    }
    return false;
  }

  void missed(const Blocked& why) {
    if (context_.wantsRemarks()) {
      context_.remark(RemarkId::EpilogueMissed, function_, why.op->loc(), {describe(why)});
    }
  }

  ir::Function& function_;
  PassContext& context_;
  TileHomes homes_;
  std::vector<std::unique_ptr<Ended>> ended_;
  bool changed_ = false;
};

bool hasEpilogues(const ir::Function& function) {
  for (Block& block : function.blocks()) {
    for (Operation& op : block.ops()) {
      if (op.opcode() == Opcode::TensorEpilogue) return true;
    }
  }
  return false;
}

}  // namespace

Change runTensorEpilogue(ir::Function& unit, PassContext& context) {
  if (!hasEpilogues(unit)) return Change::None;
  return EpilogueMover(unit, context).run();
}

}  // namespace mtlc::transforms
