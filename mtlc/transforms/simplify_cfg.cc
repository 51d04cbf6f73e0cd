// simplify-cfg: the control-flow graph in its simplest form.
//
//   - a branch on a constant, or with equal arms, becomes a jump; arms that differ in arguments
//   only, selects
//   - a block whose only predecessor jumps to it is merged into it
//   - a block that only jumps on is bypassed
//   - an edge that passes a constant to a block which does nothing but branch on it goes straight
//   to the target
//   - a branch around a few cheap operations without effect becomes selects
//   - arguments that are unused, or get the same value on every edge, go
//   - unreachable blocks go
//
// No operation is ever duplicated, so barriers and other convergent operations keep their count and
// order.

#include <algorithm>
#include <vector>

#include "mtlc/transforms/pass.h"
#include "mtlc/transforms/utils.h"

namespace mtlc::transforms {
namespace {

using ir::Block;
using ir::Opcode;
using ir::Operation;
using ir::Successor;
using ir::Use;
using ir::Value;

// What executing `op` for nothing costs, in cheap operations; a large number if it must not be.
int speculationCost(const Operation& op) {
  constexpr int kNever = 1 << 20;
  if (!ir::isPure(op)) return kNever;
  switch (op.opcode()) {
    case Opcode::Const:
      return 0;
    case Opcode::Bitcast:
    case Opcode::PtrToInt:
    case Opcode::IntToPtr:
    case Opcode::SpaceCast:
    case Opcode::Trunc:
    case Opcode::ZExt:
      return 1;
    case Opcode::SDiv:
    case Opcode::UDiv:
    case Opcode::SRem:
    case Opcode::URem:
    case Opcode::FDiv:
    case Opcode::FSqrt:
      return 20;
    case Opcode::Mul:
    case Opcode::SMulHi:
    case Opcode::UMulHi:
      return op.resultType().bits() == 64 ? 3 : 1;
    default:
      return op.info().has(ir::OpTrait::Math) ? 20 : 1;
  }
}

class Simplifier {
 public:
  Simplifier(ir::Function& function, PassContext& context)
      : function_(function),
        context_(context),
        pool_(function),
        budget_(static_cast<int>(context.option(OptionId::SpeculationCost))) {}

  Change run() {
    removeUnreachable();
    for (Block& block : function_.blocks()) {
      block.scratch = 0;
      threadBudget_ += 4;
    }
    for (Block& block : function_.blocks()) push(&block);
    // In rounds, so that a join of many blocks is seen once after all of them, not once after each.
    std::vector<Block*> round;
    while (!work_.empty()) {
      round.swap(work_);
      work_.clear();
      for (Block* block : round) {
        block->scratch = 0;
        if (!block->empty()) visit(block);
      }
    }
    if (edgesRemoved_) removeUnreachable();
    return changed_ ? Change::Cfg : Change::None;
  }

 private:
  // Block::scratch is 1 while a block is on the list. An erased block is empty.
  void push(Block* block) {
    if (block->scratch || block->empty()) return;
    block->scratch = 1;
    work_.push_back(block);
  }
  // Also the block that may now see it as the arm of a branch.
  void pushWithHead(Block* block) {
    push(block);
    if (Block* head = block->singlePredecessor()) push(head);
  }
  void pushSuccessors(Block* block) {
    for (Successor& s : block->terminator()->successors()) push(s.block());
  }
  void pushPredecessors(Block* block) {
    for (Successor* s = block->firstPredecessor(); s; s = s->nextPredecessor()) {
      push(s->owner()->block());
    }
  }

  void removeUnreachable() {
    uint64_t n = removeUnreachableBlocks(function_);
    if (n == 0) return;
    changed_ = true;
    context_.count(Stat::BlocksRemoved, n);
  }

  void visit(Block* block) {
    if (!block->isEntry()) {
      if (!block->firstPredecessor()) return eraseDead(block);
      simplifyArguments(block);
      if (mergeIntoPredecessor(block) || bypass(block)) return;
      threadConstants(block);
      if (!block->firstPredecessor()) return eraseDead(block);
    }
    Operation* br = block->terminator();
    if (br->opcode() == Opcode::Br && (foldBranch(br) || convertToSelect(br))) push(block);
  }

  static bool isUsedTile(const Value* v) { return v->type().isTile() && v->hasUses(); }

  // A block without predecessors. Whatever uses its values is dead as well.
  void eraseDead(Block* block) {
    // Nothing can stand in for a tile: such blocks go with those that they lead to, at the end.
    bool tiles = false;
    for (const Value* arg : block->args()) tiles |= isUsedTile(arg);
    for (const Operation& op : block->ops()) tiles |= op.result() && isUsedTile(op.result());
    if (tiles) {
      edgesRemoved_ = true;
      return;
    }
    pushSuccessors(block);
    auto drop = [this](Value* v) {
      if (v->hasUses()) v->replaceAllUsesWith(pool_.get(v->type(), 0));
    };
    for (Value* arg : block->args()) drop(arg);
    for (Operation& op : block->ops()) {
      if (op.result()) drop(op.result());
    }
    block->erase();
    changed_ = true;
    context_.count(Stat::BlocksRemoved);
  }

  // ---- Arguments ----

  // The one value that every edge passes for the argument, other than the argument itself; nullptr
  // if there are several. Equal constants count as one.
  Value* commonIncoming(Block* block, unsigned i) {
    Value* common = nullptr;
    const Value* arg = block->arg(i);
    for (Successor* s = block->firstPredecessor(); s; s = s->nextPredecessor()) {
      Value* v = s->owner()->successorArg(s->index(), i);
      if (v == arg || v == common) continue;
      if (!common) {
        common = v;
        continue;
      }
      const Operation* a = ir::asConst(common);
      const Operation* b = ir::asConst(v);
      if (!a || !b || a->constBits() != b->constBits()) return nullptr;
    }
    return common;
  }

  void simplifyArguments(Block* block) {
    for (unsigned i = block->argCount(); i-- > 0;) {
      Value* arg = block->arg(i);
      if (arg->hasUses()) {
        Value* common = commonIncoming(block, i);
        if (!common) continue;
        if (const Operation* c = ir::asConst(common)) {
          // The constant itself may not dominate the block when several equal ones came together.
          common = pool_.get(common->type(), c->constBits());
        }
        for (Use* u = arg->firstUse(); u; u = u->next()) push(u->owner()->block());
        arg->replaceAllUsesWith(common);
      }
      block->removeArg(i);
      changed_ = true;
      context_.count(Stat::ArgumentsRemoved);
      pushPredecessors(block);
    }
  }

  // ---- Blocks ----

  bool mergeIntoPredecessor(Block* block) {
    Block* pred = block->singlePredecessor();
    if (!pred || pred == block) return false;
    Operation* jump = pred->terminator();
    if (jump->opcode() != Opcode::Jump) return false;
    // simplifyArguments() has replaced all arguments.
    jump->erase();
    block->moveTailTo(block->front(), pred);
    block->erase();
    changed_ = true;
    context_.count(Stat::BlocksMerged);
    pushWithHead(pred);
    pushSuccessors(pred);
    return true;
  }

  static bool onlyTerminator(const Block* block) { return block->front() == block->back(); }

  // True if every argument is used by the block's own terminator only.
  static bool argumentsStayLocal(const Block* block) {
    for (Value* arg : block->args()) {
      for (Use* u = arg->firstUse(); u; u = u->next()) {
        if (u->owner() != block->back()) return false;
      }
    }
    return true;
  }

  // What `value`, seen at the end of `block`, is when the block is entered through `edge`.
  static Value* throughEdge(Value* value, const Block* block, const Successor& edge) {
    if (value->argBlock() != block) return value;
    return edge.owner()->successorArg(edge.index(), value->argIndex());
  }

  // Lets `edge` lead to the target of `onward`, an edge of the terminator of the block it leads to.
  void redirect(Successor& edge, const Successor& onward) {
    const Block* via = edge.block();
    std::vector<Value*> args;
    for (unsigned k = 0; k < onward.argCount(); ++k) {
      args.push_back(throughEdge(onward.owner()->successorArg(onward.index(), k), via, edge));
    }
    Operation* owner = edge.owner();
    unsigned index = edge.index();
    owner->setSuccessorArgs(index, args);
    owner->setSuccessorBlock(index, onward.block());
    push(owner->block());
    push(onward.block());
    changed_ = true;
  }

  bool bypass(Block* block) {
    if (!onlyTerminator(block)) return false;
    Operation* jump = block->terminator();
    if (jump->opcode() != Opcode::Jump || jump->successor(0).block() == block) return false;
    if (!argumentsStayLocal(block)) return false;
    const bool all = mayMergeEdges(block, jump->successor(0).block());
    for (Successor* s = block->firstPredecessor(); s;) {
      Successor* next = s->nextPredecessor();
      if (all || decidesBranch(*s, jump->successor(0))) redirect(*s, jump->successor(0));
      s = next;
    }
    if (block->firstPredecessor()) return false;
    context_.count(Stat::EmptyBlocksBypassed);
    push(jump->successor(0).block());
    block->erase();
    return true;
  }

  // A join that feeds another one keeps apart what happened before it: a loop's header gets one
  // value from outside and one from the end of its body, whatever branches there were, and so the
  // loop's variables stay as uniform as they are (docs/device-verifier.md). It costs nothing, as
  // the code falls through.
  static bool mayMergeEdges(const Block* join, const Block* next) {
    return join->singlePredecessor() || next->argCount() == 0;
  }

  // True if `edge`, led on along `onward`, passes a constant to a block that only branches on it:
  // it will be threaded.
  static bool decidesBranch(const Successor& edge, const Successor& onward) {
    const Block* target = onward.block();
    const Operation* br = target->terminator();
    if (!onlyTerminator(target) || br->opcode() != Opcode::Br) return false;
    Value* condition = br->operand(0);
    if (condition->argBlock() != target || !argumentsStayLocal(target)) return false;
    Value* passed = onward.owner()->successorArg(onward.index(), condition->argIndex());
    return ir::asConst(throughEdge(passed, edge.block(), edge)) != nullptr;
  }

  // A block that is nothing but `br %arg, …`: edges that pass a constant for %arg know where they
  // go. The budget ends the chase around an empty endless loop.
  void threadConstants(Block* block) {
    if (!onlyTerminator(block)) return;
    Operation* br = block->terminator();
    if (br->opcode() != Opcode::Br) return;
    Value* condition = br->operand(0);
    if (condition->argBlock() != block || !argumentsStayLocal(block)) return;
    for (Successor* s = block->firstPredecessor(); s;) {
      Successor* next = s->nextPredecessor();
      if (const Operation* c = ir::asConst(throughEdge(condition, block, *s))) {
        const Successor& onward = br->successor(c->constBits() ? 0 : 1);
        if (onward.block() != block && threadBudget_ > 0) {
          --threadBudget_;
          redirect(*s, onward);
          push(block);
          context_.count(Stat::JumpsThreaded);
        }
      }
      s = next;
    }
  }

  // ---- Branches ----

  bool foldBranch(Operation* br) {
    if (const Operation* c = ir::asConst(br->operand(0))) {
      makeJump(br, c->constBits() ? 0 : 1);
      context_.count(Stat::BranchesFolded);
      return true;
    }
    Successor& yes = br->successor(0);
    Successor& no = br->successor(1);
    if (yes.block() != no.block()) return false;
    // Both arms lead to one block: select what they pass. Tiles are not selected but handed on.
    for (unsigned k = 0; k < yes.argCount(); ++k) {
      if (br->successorArg(0, k) != br->successorArg(1, k) &&
          br->successorArg(0, k)->type().isTile()) {
        return false;
      }
    }
    std::vector<Value*> args;
    for (unsigned k = 0; k < yes.argCount(); ++k) {
      Value* a = br->successorArg(0, k);
      Value* b = br->successorArg(1, k);
      if (a != b) {
        Value* const operands[] = {br->operand(0), a, b};
        Operation* select = function_.module().makeOp({.opcode = Opcode::Select,
                                                       .result = a->type(),
                                                       .operands = operands,
                                                       .loc = br->loc()});
        ir::Module::insertBefore(br, select);
        a = select->result();
      }
      args.push_back(a);
    }
    br->setSuccessorArgs(0, args);
    makeJump(br, 0);
    context_.count(Stat::BranchesFolded);
    return true;
  }

  // Replaces a br by a jump along edge `keep`.
  void makeJump(Operation* br, unsigned keep) {
    Block* block = br->block();
    Successor& s = br->successor(keep);
    std::vector<Value*> args;
    for (unsigned k = 0; k < s.argCount(); ++k) args.push_back(br->successorArg(keep, k));
    const ir::Module::Edge edges[] = {{s.block(), args}};
    for (Successor& e : br->successors()) push(e.block());
    Operation* jump = function_.module().makeTerminator(Opcode::Jump, {}, edges, br->loc());
    br->erase();
    ir::Module::append(block, jump);
    pushWithHead(block);
    edgesRemoved_ = true;
    changed_ = true;
  }

  // The arm of a branch: a block entered by it alone that jumps on, with operations cheap enough to
  // execute always.
  bool isArm(const Block* head, const Block* arm, const Block* join, int& cost) const {
    if (arm->singlePredecessor() != head || arm == join || arm->argCount() > 0) return false;
    const Operation* jump = arm->terminator();
    if (jump->opcode() != Opcode::Jump || jump->successor(0).block() != join) return false;
    for (const Operation* op = arm->front(); op != jump; op = op->next()) {
      cost += speculationCost(*op);
      if (cost > kTooCostly) return false;
    }
    return true;
  }

  // br %c, ^arm, ^join  or  br %c, ^arm, ^arm2 with both arms ending in jump ^join.
  bool convertToSelect(Operation* br) {
    Block* head = br->block();
    Block* yes = br->successor(0).block();
    Block* no = br->successor(1).block();
    auto jumpTarget = [](Block* b) -> Block* {
      Operation* t = b->terminator();
      return t->opcode() == Opcode::Jump ? t->successor(0).block() : nullptr;
    };
    Block* arms[2];
    size_t armCount = 0;
    Block* join = nullptr;
    if (jumpTarget(yes) == no) {
      arms[armCount++] = yes;
      join = no;
    } else if (jumpTarget(no) == yes) {
      arms[armCount++] = no;
      join = yes;
    } else if (jumpTarget(yes) && jumpTarget(yes) == jumpTarget(no)) {
      arms[armCount++] = yes;
      arms[armCount++] = no;
      join = jumpTarget(yes);
    } else {
      return false;
    }
    if (join == head) return false;
    int cost = 0;
    for (size_t i = 0; i < armCount; ++i) {
      if (!isArm(head, arms[i], join, cost)) return false;
    }
    if (cost > budget_) {
      if (context_.wantsRemarks()) {
        context_.remark(RemarkId::BranchTooCostly, function_, br->loc(), {cost, budget_});
      }
      return false;
    }
    // Each selected argument costs an operation too, but saves the copies on both edges.
    for (size_t i = 0; i < armCount; ++i) {
      Operation* jump = arms[i]->terminator();
      while (arms[i]->front() != jump) arms[i]->front()->moveBefore(br);
      redirect(br->successor(br->successor(0).block() == arms[i] ? 0 : 1), jump->successor(0));
      arms[i]->erase();
    }
    changed_ = true;
    context_.count(Stat::BranchesIfConverted);
    context_.remark(RemarkId::BranchToSelect, function_, br->loc());
    return true;
  }

  static constexpr int kTooCostly = 1000;

  ir::Function& function_;
  PassContext& context_;
  ConstantPool pool_;
  const int budget_;
  int64_t threadBudget_ = 0;
  std::vector<Block*> work_;
  bool changed_ = false;
  bool edgesRemoved_ = false;
};

}  // namespace

Change runSimplifyCfg(ir::Function& unit, PassContext& context) {
  return Simplifier(unit, context).run();
}

}  // namespace mtlc::transforms
