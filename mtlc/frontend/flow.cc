#include "mtlc/frontend/flow.h"

#include <string>
#include <utility>
#include <vector>

namespace mtlc::frontend {

using namespace checked;  // NOLINT: this file is about nothing else.

namespace {

// Which tracked variables have a value. In unreachable code all have.
struct State {
  std::vector<uint64_t> assigned;
  bool reachable = true;

  void setUnreachable() { reachable = false; }
  bool has(int32_t i) const { return !reachable || (assigned[i / 64] >> (i % 64) & 1) != 0; }
  void set(int32_t i) { assigned[i / 64] |= uint64_t{1} << (i % 64); }
  void join(const State& other) {
    if (!other.reachable) return;
    if (!reachable) {
      *this = other;
      return;
    }
    for (size_t w = 0; w < assigned.size(); ++w) assigned[w] &= other.assigned[w];
  }
};

class Flow {
 public:
  Flow(Function& f, int trackedCount, const Interner& interner, DiagnosticEngine& diagnostics)
      : f_(f), interner_(interner), diagnostics_(diagnostics) {
    state_.assigned.assign((static_cast<size_t>(trackedCount) + 63) / 64, 0);
  }

  bool run() {
    block(f_.body);
    if (state_.reachable && !f_.result->isVoid() && !f_.result->isError()) {
      diagnostics_.report(DiagId::MissingReturn, f_.end, {f_.name}).note(f_.range, "declared here");
      good_ = false;
    }
    return good_;
  }

 private:
  struct Target {
    const Stmt* stmt;
    State breaks;
    State continues;
  };

  State unreachable() const {
    State s;
    s.assigned.resize(state_.assigned.size());
    s.reachable = false;
    return s;
  }

  // What recurses is kept out of line: inlined into one another, the frames of all kinds of
  // statements would add up.

  // --- Expressions ---

  [[gnu::noinline]] void read(const LocalExpr* e) {
    const Local* local = e->local;
    if (local->tracked < 0 || state_.has(local->tracked)) return;
    diagnostics_.report(DiagId::UsedBeforeAssignment, e->range, {interner_.text(local->name)})
        .note(local->range, "declared here without a value");
    state_.set(local->tracked);
    good_ = false;
  }

  [[gnu::noinline]] void expr(const Expr* e) {
    size_t mark = spine_.size();
    while (const Expr* left = leftOperand(e)) {
      spine_.push_back(e);
      e = left;
    }
    leaf(e);
    // What && and || evaluate is certain only up to their first operand.
    std::vector<uint64_t> certain;
    const LogicalExpr* chain = nullptr;
    while (spine_.size() > mark) {
      const Expr* node = spine_.back();
      spine_.pop_back();
      switch (node->kind) {
        case ExprKind::binary:
          leaveChain(chain, certain);
          expr(static_cast<const BinaryExpr*>(node)->rhs);
          break;
        case ExprKind::compare:
          leaveChain(chain, certain);
          expr(static_cast<const CompareExpr*>(node)->rhs);
          break;
        case ExprKind::pointerDifference:
          leaveChain(chain, certain);
          expr(static_cast<const PointerDifferenceExpr*>(node)->rhs);
          break;
        case ExprKind::pointerOffset: {
          leaveChain(chain, certain);
          auto* x = static_cast<const PointerOffsetExpr*>(node);
          expr(x->indexFirst ? x->pointer : x->index);
          break;
        }
        case ExprKind::logical: {
          auto* l = static_cast<const LogicalExpr*>(node);
          // In a && b && c the third operand sees what the second assigned.
          if (chain && chain->isAnd != l->isAnd) leaveChain(chain, certain);
          if (!chain) certain = state_.assigned;
          chain = l;
          expr(l->rhs);
          break;
        }
        default:
          break;
      }
    }
    leaveChain(chain, certain);
  }

  void leaveChain(const LogicalExpr*& chain, std::vector<uint64_t>& certain) {
    if (!chain) return;
    state_.assigned.swap(certain);
    chain = nullptr;
  }

  [[gnu::noinline]] void leaf(const Expr* e) {
    switch (e->kind) {
      case ExprKind::constant:
      case ExprKind::decay:
        return;
      case ExprKind::local:
        return read(static_cast<const LocalExpr*>(e));
      case ExprKind::element: {
        auto* x = static_cast<const ElementExpr*>(e);
        expr(x->pointer);
        if (x->index) expr(x->index);
        return;
      }
      case ExprKind::addressOf: {
        const Local* local =
            static_cast<const LocalExpr*>(static_cast<const UnaryExpr*>(e)->operand)->local;
        if (local->tracked >= 0) state_.set(local->tracked);
        return;
      }
      case ExprKind::negate:
      case ExprKind::bitNot:
      case ExprKind::logicalNot:
        return expr(static_cast<const UnaryExpr*>(e)->operand);
      case ExprKind::call:
        for (const Expr* a : static_cast<const CallExpr*>(e)->args) expr(a);
        return;
      case ExprKind::builtin:
        for (const Expr* a : static_cast<const BuiltinExpr*>(e)->args) expr(a);
        return;
      case ExprKind::binary:
      case ExprKind::compare:
      case ExprKind::logical:
      case ExprKind::pointerOffset:
      case ExprKind::pointerDifference:
      case ExprKind::convert:
        return;  // Not a leaf: leftOperand() has one.
    }
  }

  // --- Statements ---

  void block(const Block* b) {
    for (const Stmt* s : b->statements) statement(s);
  }

  void assigned(const Expr* target) {
    if (target->kind != ExprKind::local) return;
    const Local* local = static_cast<const LocalExpr*>(target)->local;
    if (local->tracked >= 0) state_.set(local->tracked);
  }

  void statement(const Stmt* s) {
    switch (s->kind) {
      case StmtKind::block:
        return block(static_cast<const Block*>(s));
      case StmtKind::declare: {
        auto* d = static_cast<const DeclareStmt*>(s);
        if (d->init) expr(d->init);
        return;
      }
      case StmtKind::assign: {
        auto* a = static_cast<const AssignStmt*>(s);
        if (a->target->kind == ExprKind::element) leaf(a->target);
        expr(a->value);
        return assigned(a->target);
      }
      case StmtKind::compoundAssign: {
        auto* a = static_cast<const CompoundAssignStmt*>(s);
        leaf(a->target);
        expr(a->value);
        return assigned(a->target);
      }
      case StmtKind::expression:
        return expr(static_cast<const ExprStmt*>(s)->expr);
      case StmtKind::if_:
        return ifStatement(static_cast<const IfStmt*>(s));
      case StmtKind::loop:
        return loop(static_cast<const LoopStmt*>(s));
      case StmtKind::forRange:
        return forRange(static_cast<const ForRangeStmt*>(s));
      case StmtKind::switch_:
        return switchStatement(static_cast<const SwitchStmt*>(s));
      case StmtKind::break_:
      case StmtKind::continue_:
        return jump(static_cast<const JumpStmt*>(s));
      case StmtKind::return_: {
        auto* r = static_cast<const ReturnStmt*>(s);
        if (r->value) expr(r->value);
        return state_.setUnreachable();
      }
    }
  }

  void jump(const JumpStmt* s) {
    for (size_t i = targets_.size(); i-- > 0;) {
      if (targets_[i].stmt != s->target) continue;
      (s->kind == StmtKind::break_ ? targets_[i].breaks : targets_[i].continues).join(state_);
      break;
    }
    state_.setUnreachable();
  }

  [[gnu::noinline]] void ifStatement(const IfStmt* s) {
    State after = unreachable();
    for (const IfArm& arm : s->arms) {
      expr(arm.condition);
      State otherwise = state_;
      block(arm.body);
      after.join(state_);
      state_ = std::move(otherwise);
    }
    if (s->otherwise) block(s->otherwise);
    state_.join(after);
  }

  [[gnu::noinline]] void loop(const LoopStmt* s) {
    if (s->condition) expr(s->condition);
    State after = s->endless ? unreachable() : state_;
    targets_.push_back({s, unreachable(), unreachable()});
    block(s->body);
    state_.join(targets_.back().continues);
    if (s->step) statement(s->step);
    after.join(targets_.back().breaks);
    targets_.pop_back();
    state_ = std::move(after);
  }

  [[gnu::noinline]] void forRange(const ForRangeStmt* s) {
    expr(s->first);
    expr(s->last);
    State after = state_;
    targets_.push_back({s, unreachable(), unreachable()});
    block(s->body);
    // Zero rounds are possible, so what the body assigns is not certain.
    after.join(targets_.back().breaks);
    targets_.pop_back();
    state_ = std::move(after);
  }

  [[gnu::noinline]] void switchStatement(const SwitchStmt* s) {
    expr(s->subject);
    const State before = state_;
    targets_.push_back({s, unreachable(), unreachable()});
    state_.setUnreachable();
    for (const SwitchSection& section : s->sections) {
      state_.join(before);
      block(section.body);
    }
    if (!s->hasDefault && !s->exhaustive) state_.join(before);
    state_.join(targets_.back().breaks);
    targets_.pop_back();
  }

  Function& f_;
  const Interner& interner_;
  DiagnosticEngine& diagnostics_;
  State state_;
  std::vector<Target> targets_;
  std::vector<const Expr*> spine_;
  bool good_ = true;
};

}  // namespace

bool checkFlow(Function& function, int trackedCount, const Interner& interner,
               DiagnosticEngine& diagnostics) {
  return Flow(function, trackedCount, interner, diagnostics).run();
}

}  // namespace mtlc::frontend
