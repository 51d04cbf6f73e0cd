// tensor-chain: updates of one accumulator that follow each other in a block become one tile.
//
//   tensor.mma a=%a0, b=%b0, c=%c, d=%d      %t = tensor.acc.begin c=%c, d=%d
//   tensor.mma a=%a1, b=%b1, c=%d, d=%d      %u = tensor.acc.mma tile=%t, a=%a0, b=%b0
//                                            %v = tensor.acc.mma tile=%u, a=%a1, b=%b1
//                                            tensor.acc.commit %v
//
// tensor.acc.commit followed by tensor.acc.begin of the same home goes, too. tensor-pipeline is the
// same across handoffs of stages: async.wait and the barrier that publishes what was copied.

#include "mtlc/transforms/tensor_chain.h"

#include <algorithm>
#include <memory>
#include <optional>

namespace mtlc::transforms {
namespace {

using ir::Block;
using ir::Opcode;
using ir::Operation;
using ir::Slot;
using ir::Value;

// Accumulators that are followed at a time; one more lets go of the one that waits longest.
constexpr size_t kMaxOpen = 64;

// The updates of one home in one block.
struct Chain {
  Chain(const Matrix& matrix, Between between, const TileHomes& homes)
      : home(matrix), gap(home, between, homes) {}
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  const Matrix home;
  Gap gap;
  Updates updates;
  std::optional<ir::MmaDesc> arithmetic;  // Of the last product, where known.
  bool held = false;                      // Between tensor.acc.begin and its commit.
  bool staged = false;                    // Has a handoff of a stage among its gaps.
  Blocked blocked;                        // Nothing can be added any more.
};

class BlockJoiner {
 public:
  BlockJoiner(const ChainRules& rules, PassContext& context, TileHomes& homes)
      : rules_(rules), context_(context), homes_(homes) {}

  bool run(Block& block) {
    for (Operation& op : block.ops()) visit(op);
    bool changed = false;
    for (auto& chain : done_) changed |= rewrite(*chain);
    for (auto& chain : open_) changed |= rewrite(*chain);
    return changed;
  }

 private:
  void visit(Operation& op) {
    switch (op.opcode()) {
      case Opcode::TensorMma:
      case Opcode::TensorAccBegin:
        others(op, op.slot(Slot::D));
        return update(op);
      case Opcode::TensorAccCommit:
        return commit(op);
      case Opcode::TensorAccMma:
      case Opcode::TensorAccEpilogue: {
        const Matrix* home = homes_.find(op.slot(Slot::Tile));
        others(op, home ? home->pointer : nullptr);
        Chain* chain = home ? find(home->pointer) : nullptr;
        if (chain && chain->held && op.opcode() == Opcode::TensorAccMma) {
          chain->arithmetic = op.mmaDesc();
        }
        return;
      }
      default:
        if (op.info().effect != ir::Effect::None) others(op, nullptr);
    }
  }

  // What the operation means to the accumulators that it does not update.
  void others(const Operation& op, const Value* updated) {
    for (auto& chain : open_) {
      if (chain->held || chain->blocked || chain->home.pointer == updated) continue;
      chain->blocked = chain->gap.pass(op);
    }
  }

  Chain* find(const Value* pointer) {
    for (auto& chain : open_) {
      if (chain->home.pointer == pointer) return chain.get();
    }
    return nullptr;
  }

  void close(const Value* pointer) {
    auto it = std::find_if(open_.begin(), open_.end(),
                           [&](const auto& chain) { return chain->home.pointer == pointer; });
    if (it == open_.end()) return;
    done_.push_back(std::move(*it));
    open_.erase(it);
  }

  Chain& start(const Matrix& home) {
    close(home.pointer);
    if (open_.size() == kMaxOpen) close(open_[0]->home.pointer);
    open_.push_back(std::make_unique<Chain>(home, rules_.between, homes_));
    return *open_.back();
  }

  void update(Operation& op) {
    const bool isMma = op.opcode() == Opcode::TensorMma;
    Chain* chain = find(op.slot(Slot::D));
    Blocked why;
    const bool goesOn = chain && !chain->held && accumulates(op);
    bool sawStage = false;
    if (goesOn) {
      why = continues(op, chain->home);
      if (!why && chain->arithmetic && isMma && !sameArithmetic(*chain->arithmetic, op.mmaDesc())) {
        why = {Obstacle::Arithmetic, &op};
      }
      if (!why) why = chain->blocked;
      if (chain->gap.sawStage()) chain->staged = sawStage = true;
      if (!why) why = chain->gap.update();
    }
    if (!why && isMma) why = mayBeStep(op);
    // A sum in a narrower format is worth a word only where it is added to again.
    if (why && (goesOn || why.why == Obstacle::ReadsHome) && isConcern(sawStage)) missed(why);
    const bool mayStart = !isMma || !mayBeStep(op);
    if (!goesOn || why) {
      if (!mayStart) {
        // The next one of this home shall hear why.
        Chain& refused = start(outputOf(op));
        refused.blocked = mayBeStep(op);
        return;
      }
      chain = &start(outputOf(op));
    }
    chain->updates.push_back(&op);
    chain->held = !isMma;
    if (isMma) chain->arithmetic = op.mmaDesc();
  }

  void commit(Operation& op) {
    const Matrix* home = homes_.find(op.operand(0));
    others(op, home ? home->pointer : nullptr);
    if (!home) return;
    Chain* chain = find(home->pointer);
    if (!chain || !chain->held) chain = &start(*home);
    chain->held = false;
    chain->updates.push_back(&op);
  }

  // tensor-pipeline leaves what has no stages to tensor-chain.
  bool isConcern(bool staged) const { return !rules_.stagedOnly || staged; }

  void missed(const Blocked& why) {
    if (context_.wantsRemarks()) {
      context_.remark(rules_.missed, *why.op->function(), why.op->loc(), {describe(why)});
    }
  }

  bool rewrite(Chain& chain) {
    const unsigned joins = countJoins(chain.updates);
    if (joins == 0 || !isConcern(chain.staged)) return false;
    if (context_.wantsRemarks()) {
      context_.remark(rules_.applied, *chain.updates[0]->function(), chain.updates[0]->loc(),
                      {joins});
    }
    context_.count(rules_.joins, joins);
    joinUpdates(chain.updates, nullptr, true, chain.home, homes_);
    return true;
  }

  const ChainRules& rules_;
  PassContext& context_;
  TileHomes& homes_;
  std::vector<std::unique_ptr<Chain>> open_, done_;
};

}  // namespace

bool hasProducts(const ir::Function& function) {
  for (Block& block : function.blocks()) {
    for (Operation& op : block.ops()) {
      if (op.opcode() == Opcode::TensorMma || op.opcode() == Opcode::TensorAccBegin) return true;
    }
  }
  return false;
}

bool joinBlock(Block& block, const ChainRules& rules, PassContext& context, TileHomes& homes) {
  return BlockJoiner(rules, context, homes).run(block);
}

Change runTensorChain(ir::Function& unit, PassContext& context) {
  if (!hasProducts(unit)) return Change::None;
  constexpr ChainRules kRules{Between::Registers, RemarkId::ChainMade, RemarkId::ChainMissed,
                              Stat::UpdatesChained, false};
  TileHomes homes(unit);
  bool changed = false;
  for (Block& block : unit.blocks()) changed |= joinBlock(block, kRules, context, homes);
  return changed ? Change::Values : Change::None;
}

}  // namespace mtlc::transforms
