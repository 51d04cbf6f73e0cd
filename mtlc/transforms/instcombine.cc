// instcombine: folds constants, applies identities, and brings operations into the form that back
// ends expect.
//
// A work list holds the operations to look at: all of them at first, then the users of whatever
// changed. Every rule makes the function smaller, cheaper or more canonical, so the list runs dry;
// a budget linear in the function's size guards against a pair of rules that undo each other.
//
// Canonical form: constants on the right, and at the top of the entry block, one of each; `x + -c`
// for `x - c`, `x << k` for `x * 2^k`; constant offsets outermost in address computations; branches
// on the condition itself rather than on its inverse.

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "mtlc/transforms/combiner.h"
#include "mtlc/transforms/fold.h"

namespace mtlc::transforms {

using ir::Block;
using ir::Opcode;
using ir::Operation;
using ir::Use;
using ir::Value;

Value* Combiner::build(Opcode opcode, ir::Type result, std::initializer_list<Value*> operands,
                       uint8_t fastMath) {
  Operation* op = function_.module().makeOp({.opcode = opcode,
                                             .result = result,
                                             .operands = {operands.begin(), operands.size()},
                                             .fastMath = fastMath,
                                             .loc = at_->loc()});
  ir::Module::insertBefore(at_, op);
  push(op);
  return op->result();
}

Value* Combiner::ptrAdd(Value* p, Value* index, ir::Type elem) {
  Value* const operands[] = {p, index};
  Operation* op = function_.module().makeOp({.opcode = Opcode::PtrAdd,
                                             .result = p->type(),
                                             .operands = operands,
                                             .elem = elem,
                                             .loc = at_->loc()});
  ir::Module::insertBefore(at_, op);
  push(op);
  return op->result();
}

Value* Combiner::invert(Value* value) {
  if (Value* inner = notOperand(value)) return inner;
  Operation* def = value->def();
  if (def && def->form() == ir::Form::Compare && value->hasOneUse()) {
    return build(ir::invertedCompare(def->opcode()), ir::kI1, {def->operand(0), def->operand(1)});
  }
  return binary(Opcode::Xor, value, 1);
}

Value* Combiner::setOperand(Operation& op, unsigned i, Value* value) {
  Operation* old = op.operand(i)->def();
  op.setOperand(i, value);
  if (old) push(old);
  inPlace_ = true;
  return op.result();
}

void Combiner::push(Operation* op) {
  // Constants stay where the pool keeps them; dce removes unused ones.
  if (op->scratch || !op->block() || op->opcode() == Opcode::Const) return;
  op->scratch = 1;
  work_.push_back(op);
}

void Combiner::pushUsers(Value* value) {
  for (Use* u = value->firstUse(); u; u = u->next()) push(u->owner());
}

// Rules ask whether an operand has one use only: what becomes so is worth another look at its user.
void Combiner::lostUse(Value* value) {
  if (Operation* def = value->def()) push(def);
  if (value->hasOneUse()) push(value->firstUse()->owner());
}

void Combiner::eraseDead(Operation* op) {
  // Iterative: each operand that loses its last use comes up as dead itself.
  absl::InlinedVector<Value*, 4> operands;
  for (Use& u : op->uses()) operands.push_back(u.value());
  op->erase();
  for (Value* v : operands) lostUse(v);
  changed_ = true;
  context_.count(Stat::OperationsFolded);
}

void Combiner::replace(Operation* op, Value* value) {
  pushUsers(op->result());
  if (Operation* def = value->def()) push(def);
  // The name helps whoever reads dumps.
  if (value->name().empty() && !op->result()->name().empty() && !ir::asConst(value)) {
    function_.module().setValueName(value, op->result()->name());
  }
  op->result()->replaceAllUsesWith(value);
  eraseDead(op);
}

bool Combiner::simplifyBranch(Operation* br) {
  // br (not %c), ^a, ^b → br %c, ^b, ^a
  Value* inner = notOperand(br->operand(0));
  if (!inner) return false;
  std::vector<Value*> args[2];
  for (unsigned i = 0; i < 2; ++i) {
    for (unsigned k = 0; k < br->successor(i).argCount(); ++k) {
      args[i].push_back(br->successorArg(i, k));
    }
  }
  const ir::Module::Edge edges[] = {{br->successor(1).block(), args[1]},
                                    {br->successor(0).block(), args[0]}};
  Value* const operands[] = {inner};
  Operation* made = function_.module().makeTerminator(Opcode::Br, operands, edges, br->loc());
  Block* block = br->block();
  Operation* old = br->operand(0)->def();
  br->erase();
  ir::Module::append(block, made);
  push(old);
  push(made);
  return true;
}

Value* Combiner::applyRules(Operation& op) {
  if (op.info().has(ir::OpTrait::Commutative) && ir::asConst(op.operand(0)) &&
      !ir::asConst(op.operand(1))) {
    Value* a = op.operand(0);
    op.setOperand(0, op.operand(1));
    op.setOperand(1, a);
    changed_ = true;
  }
  switch (op.opcode()) {
    case Opcode::Add:
    case Opcode::Sub:
      return combineAddSub(*this, op);
    case Opcode::Mul:
    case Opcode::SMulHi:
    case Opcode::UMulHi:
      return combineMul(*this, op);
    case Opcode::SDiv:
    case Opcode::UDiv:
    case Opcode::SRem:
    case Opcode::URem:
      return combineDivision(*this, op);
    case Opcode::And:
    case Opcode::Or:
    case Opcode::Xor:
      return combineBitwise(*this, op);
    case Opcode::Shl:
    case Opcode::LShr:
    case Opcode::AShr:
      return combineShift(*this, op);
    case Opcode::SMin:
    case Opcode::SMax:
    case Opcode::UMin:
    case Opcode::UMax:
      return combineMinMax(*this, op);
    case Opcode::Neg:
    case Opcode::Abs:
    case Opcode::Clz:
    case Opcode::Popcount:
      return combineIntUnary(*this, op);
    case Opcode::Select:
      return combineSelect(*this, op);
    case Opcode::Trunc:
    case Opcode::SExt:
    case Opcode::ZExt:
    case Opcode::Bitcast:
    case Opcode::PtrToInt:
    case Opcode::IntToPtr:
    case Opcode::SpaceCast:
      return combineCast(*this, op);
    case Opcode::FConv:
    case Opcode::FToSI:
    case Opcode::FToUI:
    case Opcode::SIToF:
    case Opcode::UIToF:
      return combineFloatCast(*this, op);
    case Opcode::PtrAdd:
    case Opcode::Load:
    case Opcode::Store:
      return combineMemory(*this, op);
    default:
      break;
  }
  if (op.form() == ir::Form::Compare) {
    return op.operand(0)->type().isFloat() ? combineFloatCompare(*this, op)
                                           : combineCompare(*this, op);
  }
  if (op.operandCount() > 0 && op.result() && op.resultType().isFloat() && ir::isPure(op)) {
    return combineFloat(*this, op);
  }
  return nullptr;
}

void Combiner::visit(Operation* op) {
  at_ = op;
  if (op->opcode() == Opcode::Br) {
    if (simplifyBranch(op)) edgesSwapped_ = true;
    return;
  }
  if (op->result() && !op->result()->hasUses() && ir::isDroppable(*op)) {
    eraseDead(op);
    return;
  }
  if (ir::isPure(*op)) {
    if (std::optional<uint64_t> bits = foldOperation(*op)) {
      replace(op, constant(op->resultType(), *bits));
      return;
    }
  }
  inPlace_ = false;
  Value* before[3] = {};
  const unsigned operands = std::min(op->operandCount(), 3u);
  for (unsigned i = 0; i < operands; ++i) before[i] = op->operand(i);
  Value* result = applyRules(*op);
  if (result && result != op->result()) {
    replace(op, result);
  } else if (inPlace_) {
    changed_ = true;
    context_.count(Stat::OperationsFolded);
    push(op);
    if (result) pushUsers(result);
    for (unsigned i = 0; i < operands; ++i) {
      if (before[i] != op->operand(i)) lostUse(before[i]);
    }
  }
}

Change Combiner::run() {
  changed_ = pool_.collect();
  uint64_t count = 0;
  for (Block& block : function_.blocks()) {
    for (Operation& op : block.ops()) {
      op.scratch = 0;
      ++count;
    }
  }
  // The list is a stack: filled backwards, it starts at the top of the function.
  work_.reserve(count);
  for (Block* block = function_.lastBlock(); block; block = block->prev()) {
    for (Operation* op = block->back(); op; op = op->prev()) {
      push(op);
    }
  }
  uint64_t budget = 64 * count + 1024;
  while (!work_.empty() && budget > 0) {
    --budget;
    Operation* op = work_.back();
    work_.pop_back();
    op->scratch = 0;
    if (op->block()) visit(op);
  }
  return edgesSwapped_ ? Change::Cfg : changed_ ? Change::Values : Change::None;
}

Change runInstcombine(ir::Function& unit, PassContext& context) {
  return Combiner(unit, context).run();
}

}  // namespace mtlc::transforms
