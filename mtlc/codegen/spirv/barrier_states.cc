#include "mtlc/codegen/spirv/barrier_states.h"

#include <algorithm>
#include <vector>

#include "mtlc/analysis/loops.h"
#include "mtlc/ir/builder.h"
#include "mtlc/transforms/utils.h"

namespace mtlc::spirv {

namespace {

using ir::Block;
using ir::Opcode;
using ir::Operation;
using ir::Value;

constexpr int64_t kDone = -1;

bool needsStates(const ir::Function& kernel) {
  bool barriers = false;
  for (Block& block : kernel.blocks()) {
    for (Operation& op : block.ops()) barriers |= op.opcode() == Opcode::Barrier;
  }
  if (!barriers) return false;
  const analysis::Cfg cfg(kernel);
  const analysis::LoopForest loops(cfg);
  for (uint32_t loop = 0; loop < loops.size(); ++loop) {
    if (loops[loop].irreducible) return true;
  }
  return false;
}

// The weakest order that is as strong as each.
ir::MemoryOrder both(ir::MemoryOrder a, ir::MemoryOrder b) {
  const ir::MemoryOrder stronger = std::max(a, b), weaker = std::min(a, b);
  const bool halves = stronger == ir::MemoryOrder::Release && weaker == ir::MemoryOrder::Acquire;
  return halves ? ir::MemoryOrder::AcqRel : stronger;
}

class StateMaker {
 public:
  explicit StateMaker(ir::Function& kernel) : kernel_(kernel), b_(kernel.module()) {}

  void run() {
    Block* entry = kernel_.entry();
    for (Block& block : kernel_.blocks()) {
      for (Operation& op : block.ops()) {
        const bool alloc = op.form() == ir::Form::Alloc || op.form() == ir::Form::AllocDynamic;
        if (alloc && &op != entry->front()) op.moveBefore(entry->front());
      }
    }
    b_.setInsertBefore(entry->front());
    state_ = b_.allocPrivate(ir::kI32, 1);
    meet_ = kernel_.addBlock({}, entry->loc());
    dispatch_ = kernel_.addBlock({}, entry->loc());

    // The entry ends where the first code does that a work-item may come back to.
    Operation* first = entry->front();
    while (!first->isTerminator() && first->opcode() != Opcode::Barrier) first = first->next();
    begin(splitBefore(first));
    b_.setInsertEnd(entry);
    setState(0);
    b_.jump(dispatch_);

    cutAtBarriers();
    demoteArguments();
    demoteValues();
    finish();
  }

 private:
  Block* splitBefore(Operation* op) {
    Block* tail = kernel_.addBlock({}, op->loc());
    tail->moveAfter(op->block());
    op->block()->moveTailTo(op, tail);
    return tail;
  }
  void begin(Block* block) { starts_.push_back(block); }
  // Volatile: what may come next is no business of other compilers, who would make loops of it.
  void setState(int64_t state) {
    b_.store(ir::kI32, b_.constInt(ir::kI32, state), state_, {.align = 4, .isVolatile = true});
  }

  void cutAtBarriers() {
    std::vector<Block*> blocks;
    for (Block& block : kernel_.blocks()) blocks.push_back(&block);
    for (Block* block : blocks) {
      Block* at = block;
      for (Operation* op = at->front(); op != nullptr;) {
        Operation* next = op->next();
        if (op->opcode() == Opcode::Barrier) {
          const ir::BarrierAttr attr = op->barrier();
          barrier_.regions |= attr.regions;
          barrier_.order = both(barrier_.order, attr.order);
          Block* tail = splitBefore(next);
          op->erase();
          b_.setInsertEnd(at);
          setState(static_cast<int64_t>(starts_.size()));
          b_.jump(meet_);
          begin(tail);
          at = tail;
        } else if (op->opcode() == Opcode::Ret) {
          op->erase();
          b_.setInsertEnd(at);
          setState(kDone);
          b_.jump(meet_);
        }
        op = next;
      }
    }
  }

  Value* slotFor(ir::Type type) {
    b_.setInsertBefore(kernel_.entry()->front());
    return b_.allocPrivate(type, 1);
  }

  // Edges store what they pass; the block loads it.
  void demoteArguments() {
    for (Block& block : kernel_.blocks()) {
      if (block.isEntry()) continue;
      while (block.argCount() > 0) {
        const unsigned index = block.argCount() - 1;
        Value* arg = block.arg(index);
        Value* slot = slotFor(arg->type());
        std::vector<Operation*> branches;
        for (ir::Successor* s = block.firstPredecessor(); s; s = s->nextPredecessor()) {
          if (branches.empty() || branches.back() != s->owner()) branches.push_back(s->owner());
        }
        for (Operation* branch : branches) storeArgument(branch, block, index, slot);
        b_.setInsertBefore(block.front());
        arg->replaceAllUsesWith(b_.load(arg->type(), slot));
        block.removeArg(index);
      }
    }
  }

  void storeArgument(Operation* branch, Block& to, unsigned index, Value* slot) {
    Value* passed = nullptr;
    for (unsigned i = 0; i < branch->successorCount(); ++i) {
      if (branch->successor(i).block() != &to) continue;
      Value* value = branch->successorArg(i, index);
      b_.setInsertBefore(branch);
      // Arms are in the order taken, not taken.
      passed = passed == nullptr || passed == value ? value
                                                    : b_.select(branch->operand(0), passed, value);
    }
    b_.setInsertBefore(branch);
    b_.store(passed->type(), passed, slot);
  }

  // What the entry computes is there in all blocks.
  void demoteValues() {
    for (Block& block : kernel_.blocks()) {
      if (block.isEntry()) continue;
      std::vector<Operation*> ops;
      for (Operation& op : block.ops()) ops.push_back(&op);
      for (Operation* op : ops) {
        Value* value = op->result();
        if (value == nullptr) continue;
        std::vector<ir::Use*> outside;
        for (ir::Use* use = value->firstUse(); use; use = use->next()) {
          if (use->owner()->block() != &block) outside.push_back(use);
        }
        if (outside.empty()) continue;
        Value* slot = slotFor(value->type());
        for (ir::Use* use : outside) {
          b_.setInsertBefore(use->owner());
          use->set(b_.load(value->type(), slot));
        }
        b_.setInsertBefore(op->next());
        b_.store(value->type(), value, slot);
      }
    }
  }

  void finish() {
    Block* exit = kernel_.addBlock({}, kernel_.entry()->loc());
    b_.setInsertEnd(exit);
    b_.ret();
    b_.setInsertEnd(meet_);
    b_.barrier(barrier_);
    b_.br(b_.compare(Opcode::CmpEq, loadState(), b_.constInt(ir::kI32, kDone)), exit, dispatch_);
    Block* at = dispatch_;
    b_.setInsertEnd(at);
    Value* state = loadState();
    for (size_t i = 0; i + 1 < starts_.size(); ++i) {
      b_.setInsertEnd(at);
      Value* here =
          b_.compare(Opcode::CmpEq, state, b_.constInt(ir::kI32, static_cast<int64_t>(i)));
      Block* next = i + 2 == starts_.size() ? starts_.back() : kernel_.addBlock({}, at->loc());
      b_.br(here, starts_[i], next);
      at = next;
    }
  }
  Value* loadState() { return b_.load(ir::kI32, state_, {.align = 4, .isVolatile = true}); }

  ir::Function& kernel_;
  ir::Builder b_;
  Value* state_ = nullptr;
  Block* dispatch_ = nullptr;
  Block* meet_ = nullptr;
  std::vector<Block*> starts_;  // By state.
  ir::BarrierAttr barrier_ = {.regions = 0, .order = ir::MemoryOrder::Relaxed};
};

}  // namespace

void makeBarrierStates(ir::Function& kernel) {
  transforms::removeUnreachableBlocks(kernel);
  if (needsStates(kernel)) StateMaker(kernel).run();
}

}  // namespace mtlc::spirv
