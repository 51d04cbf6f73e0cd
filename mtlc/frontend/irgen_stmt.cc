// Statements.

#include "mtlc/frontend/irgen_impl.h"

namespace mtlc::frontend {

using checked::ExprKind;
using checked::StmtKind;
using ir::Opcode;

void IrGenerator::block(const checked::Block* b) {
  for (const checked::Stmt* s : b->statements) {
    if (!live_) return;
    statement(s);
  }
}

void IrGenerator::statement(const checked::Stmt* s) {
  setLoc(s->range);
  switch (s->kind) {
    case StmtKind::block:
      return block(static_cast<const checked::Block*>(s));
    case StmtKind::declare:
      return declaration(static_cast<const checked::DeclareStmt*>(s));
    case StmtKind::assign:
      return assignment(static_cast<const checked::AssignStmt*>(s));
    case StmtKind::compoundAssign:
      return compoundAssignment(static_cast<const checked::CompoundAssignStmt*>(s));
    case StmtKind::expression:
      value(static_cast<const checked::ExprStmt*>(s)->expr);
      return;
    case StmtKind::if_:
      return ifStatement(static_cast<const checked::IfStmt*>(s));
    case StmtKind::loop:
      return loop(static_cast<const checked::LoopStmt*>(s));
    case StmtKind::forRange:
      return forRange(static_cast<const checked::ForRangeStmt*>(s));
    case StmtKind::switch_:
      return switchStatement(static_cast<const checked::SwitchStmt*>(s));
    case StmtKind::break_:
    case StmtKind::continue_:
      return jumpStatement(static_cast<const checked::JumpStmt*>(s));
    case StmtKind::return_:
      return returnStatement(static_cast<const checked::ReturnStmt*>(s));
  }
}

void IrGenerator::declaration(const checked::DeclareStmt* s) {
  LocalState& state = locals_[s->local->index];
  if (s->local->kind != checked::LocalKind::variable) return;
  ir::Type type = localType(s->local);
  if (!s->init) {
    if (!function_->hasOpenEnumSwitch) return;
    b_.store(type, b_.constBits(type, 0), state.address);
    return;
  }
  ir::Value* v = valueAs(s->init, type);
  setLoc(s->range);
  if (state.address) {
    b_.store(type, v, state.address);
    return;
  }
  state.value = v;
  if (v->name().empty() && !v->isBlockArg()) {
    module_->setValueName(v, interner_.text(s->local->name));
  }
}

void IrGenerator::assignment(const checked::AssignStmt* s) {
  ir::Value* address = placeAddress(s->target);
  ir::Type type = s->target->kind == ExprKind::local
                      ? localType(static_cast<const checked::LocalExpr*>(s->target)->local)
                      : irType(s->target->type);
  ir::Value* v = valueAs(s->value, type);
  setLoc(s->range);
  b_.store(type, v, address);
}

void IrGenerator::compoundAssignment(const checked::CompoundAssignStmt* s) {
  ir::Value* address = placeAddress(s->target);
  setLoc(s->range);
  ir::Type type = s->target->kind == ExprKind::local
                      ? localType(static_cast<const checked::LocalExpr*>(s->target)->local)
                      : irType(s->target->type);
  ir::Value* old = b_.load(type, address);
  ir::Value* result;
  if (!s->computeType) {
    ir::Value* index = index64(s->value, s->op == checked::BinaryOp::sub);
    setLoc(s->range);
    result = b_.ptrAdd(old, index, irType(s->target->type->elem));
  } else {
    ir::Value* a = convert(old, s->target->type, s->computeType);
    ir::Value* v = value(s->value);
    setLoc(s->range);
    result = arithmetic(s->op, s->computeType, a, v);
    result = convert(result, s->computeType, s->target->type);
  }
  b_.store(type, result, address);
}

// --- Conditions ---

void IrGenerator::branch(const Expr* e, ir::Block* ifTrue, ir::Block* ifFalse) {
  while (e->kind == ExprKind::logicalNot) {
    e = static_cast<const checked::UnaryExpr*>(e)->operand;
    std::swap(ifTrue, ifFalse);
  }
  if (e->kind == ExprKind::constant) {
    return jump(static_cast<const checked::ConstantExpr*>(e)->bits ? ifTrue : ifFalse);
  }
  if (e->kind == ExprKind::logical) {
    return branchLogical(static_cast<const checked::LogicalExpr*>(e), ifTrue, ifFalse);
  }
  ir::Value* c = value(e);
  setLoc(e->range);
  b_.br(c, ifTrue, ifFalse);
  live_ = false;
}

void IrGenerator::branchLogical(const checked::LogicalExpr* e, ir::Block* ifTrue,
                                ir::Block* ifFalse) {
  bool isAnd = e->isAnd;
  // a && b && c is one run; the leftmost operand comes out last.
  size_t mark = spine_.size();
  const Expr* left = e;
  while (left->kind == ExprKind::logical &&
         static_cast<const checked::LogicalExpr*>(left)->isAnd == isAnd) {
    spine_.push_back(static_cast<const checked::LogicalExpr*>(left)->rhs);
    left = static_cast<const checked::LogicalExpr*>(left)->lhs;
  }
  const Expr* term = left;
  while (spine_.size() > mark && live_) {
    setLoc(term->range);
    ir::Block* next = newBlock(isAnd ? "and" : "or");
    branch(term, isAnd ? next : ifTrue, isAnd ? ifFalse : next);
    place(next);
    term = spine_.back();
    spine_.pop_back();
  }
  spine_.resize(mark);
  if (live_) branch(term, ifTrue, ifFalse);
}

// --- Control flow ---

void IrGenerator::ifStatement(const checked::IfStmt* s) {
  ir::Block* end = newBlock("endif");
  for (size_t i = 0; i < s->arms.size() && live_; ++i) {
    const checked::IfArm& arm = s->arms[i];
    setLoc(arm.condition->range);
    bool last = i + 1 == s->arms.size() && !s->otherwise;
    ir::Block* then = newBlock("then");
    ir::Block* otherwise = last ? end : newBlock("else");
    branch(arm.condition, then, otherwise);
    place(then);
    if (live_) block(arm.body);
    jump(end);
    if (!last) place(otherwise);
  }
  if (s->otherwise && live_) block(s->otherwise);
  jump(end);
  place(end);
}

void IrGenerator::loop(const checked::LoopStmt* s) {
  ir::Block* header = newBlock("loop");
  ir::Block* end = newBlock("endloop");
  ir::Block* step = s->step ? newBlock("step") : header;
  jump(header);
  place(header);
  if (s->condition) {
    ir::Block* body = newBlock("body");
    branch(s->condition, body, end);
    place(body);
  }
  targets_.push_back({s, end, step});
  if (live_) block(s->body);
  targets_.pop_back();
  jump(step);
  if (s->step) {
    place(step);
    if (live_) statement(s->step);
    jump(header);
  }
  place(end);
}

// first..last tests before each round; first..=last tests once before the first round and then
// after each, so that a range up to the largest value of the type ends.
void IrGenerator::forRange(const checked::ForRangeStmt* s) {
  ir::Type type = irType(s->variable->type);
  bool u = s->variable->type->isUnsigned();
  ir::Value* first = value(s->first);
  ir::Value* last = value(s->last);
  ir::Value* slot = locals_[s->variable->index].address;
  setLoc(s->range);
  ir::Block* header = newBlock("loop");
  ir::Block* step = newBlock("step");
  ir::Block* end = newBlock("endloop");
  b_.store(type, first, slot);
  if (s->inclusive) {
    b_.br(b_.compare(u ? Opcode::CmpUle : Opcode::CmpSle, first, last), header, end);
    live_ = false;
    place(header);
  } else {
    jump(header);
    place(header);
    ir::Block* body = newBlock("body");
    ir::Value* i = b_.load(type, slot);
    b_.br(b_.compare(u ? Opcode::CmpUlt : Opcode::CmpSlt, i, last), body, end);
    live_ = false;
    place(body);
  }
  targets_.push_back({s, end, step});
  block(s->body);
  targets_.pop_back();
  jump(step);
  setLoc(s->range);
  place(step);
  if (live_) {
    ir::Value* i = b_.load(type, slot);
    if (s->inclusive) {
      ir::Block* next = newBlock("next");
      b_.br(b_.compare(u ? Opcode::CmpUge : Opcode::CmpSge, i, last), end, next);
      live_ = false;
      place(next);
    }
    b_.store(type, b_.add(i, b_.constInt(type, 1)), slot);
    jump(header);
  }
  place(end);
}

void IrGenerator::switchTest(const checked::SwitchStmt* s, const checked::CaseLabel& label,
                             ir::Value* subject, ir::Block* target, bool always) {
  const Type* t = s->subject->type;
  // A range of bools covers both.
  if (always || (t->isBool() && label.low != label.high)) return jump(target);
  setLoc(label.range);
  ir::Type type = irType(t);
  ir::Value* c;
  if (label.low == label.high) {
    c = b_.compare(Opcode::CmpEq, subject, b_.constBits(type, label.low));
  } else {
    // low <= x <= high is one unsigned comparison of the distance from low.
    ir::Value* distance = b_.sub(subject, b_.constBits(type, label.low));
    c = b_.compare(Opcode::CmpUle, distance, b_.constBits(type, label.high - label.low));
  }
  ir::Block* next = newBlock("test");
  b_.br(c, target, next);
  live_ = false;
  place(next);
}

void IrGenerator::switchStatement(const checked::SwitchStmt* s) {
  ir::Value* subject = value(s->subject);
  setLoc(s->range);
  ir::Block* end = newBlock("endswitch");
  size_t mark = blocks_.size();
  ir::Block* otherwise = end;
  const checked::CaseLabel* last = nullptr;
  for (const checked::SwitchSection& section : s->sections) {
    blocks_.push_back(newBlock("case"));
    for (const checked::CaseLabel& label : section.labels) {
      if (label.isDefault) {
        otherwise = blocks_.back();
      } else {
        last = &label;
      }
    }
  }
  // Where both bools have a case, the last test is no question any more.
  bool covered = s->exhaustive && s->subject->type->isBool() && !s->hasDefault;
  for (size_t i = 0; i < s->sections.size(); ++i) {
    for (const checked::CaseLabel& label : s->sections[i].labels) {
      if (!label.isDefault && live_) {
        switchTest(s, label, subject, blocks_[mark + i], covered && &label == last);
      }
    }
  }
  jump(otherwise);
  targets_.push_back({s, end, nullptr});
  for (size_t i = 0; i < s->sections.size(); ++i) {
    jump(blocks_[mark + i]);  // Falling through.
    place(blocks_[mark + i]);
    if (live_) block(s->sections[i].body);
  }
  targets_.pop_back();
  blocks_.resize(mark);
  jump(end);
  place(end);
}

void IrGenerator::jumpStatement(const checked::JumpStmt* s) {
  for (size_t i = targets_.size(); i-- > 0;) {
    if (targets_[i].stmt != s->target) continue;
    return jump(s->kind == StmtKind::break_ ? targets_[i].breaks : targets_[i].continues);
  }
}

void IrGenerator::returnStatement(const checked::ReturnStmt* s) {
  ir::Value* v = s->value ? valueAs(s->value, ir_->resultType()) : nullptr;
  setLoc(s->range);
  b_.ret(v);
  live_ = false;
}

}  // namespace mtlc::frontend
