// Statements (docs/language.md §2).

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_format.h"
#include "mtlc/frontend/sema_impl.h"

namespace mtlc::frontend {

using checked::ExprKind;
using checked::LocalKind;
using checked::StmtKind;

// --- Scopes ---

void Sema::popScope() {
  size_t mark = scopeMarks_.back();
  scopeMarks_.pop_back();
  while (undo_.size() > mark) {
    bindings_[undo_.back().first] = undo_.back().second;
    undo_.pop_back();
  }
}

bool Sema::isRedeclared(Name name, SourceRange at) {
  const Binding& b = bindings_[name.id];
  if (!b || b.scope != scopeMarks_.size()) return false;
  errorWithNote(DiagId::Redefinition, at, name, b.range, "the other declaration is here");
  return true;
}

checked::Local* Sema::declareLocal(LocalKind kind, Name name, SourceRange at, const Type* type) {
  auto* local = program_.arena.make<checked::Local>();
  local->kind = kind;
  local->name = name;
  local->range = at;
  local->type = type;
  local->index = static_cast<uint32_t>(function_->locals.size());
  function_->locals.push_back(local);
  isRedeclared(name, at);
  Binding& b = bindings_[name.id];
  undo_.push_back({name.id, b});
  b = {local, nullptr, at, static_cast<uint32_t>(scopeMarks_.size())};
  return local;
}

void Sema::bindConstant(Name name, SourceRange at, const checked::ConstantExpr& value) {
  auto* kept = program_.arena.make<checked::ConstantExpr>(value);
  isRedeclared(name, at);
  Binding& b = bindings_[name.id];
  undo_.push_back({name.id, b});
  b = {nullptr, kept, at, static_cast<uint32_t>(scopeMarks_.size())};
}

// --- Blocks ---

checked::Block* Sema::block(const ast::Block* b) {
  pushScope();
  size_t mark = statements_.size();
  for (const ast::Stmt* s : b->statements) statement(s);
  auto* out = makeStmt<checked::Block>(b->range, StmtKind::block);
  out->statements = take(statements_, mark);
  popScope();
  return out;
}

checked::Block* Sema::body(const ast::Stmt* s) {
  // The parser puts a block around a lone statement.
  return block(static_cast<const ast::Block*>(s));
}

void Sema::statement(const ast::Stmt* s) {
  switch (s->kind) {
    case ast::StmtKind::block:
      statements_.push_back(block(static_cast<const ast::Block*>(s)));
      return;
    case ast::StmtKind::var:
      return varStatement(static_cast<const ast::VarStmt*>(s));
    case ast::StmtKind::constant:
      return constStatement(static_cast<const ast::ConstStmt*>(s));
    case ast::StmtKind::assign:
      if (checked::Stmt* out = assignment(static_cast<const ast::AssignStmt*>(s))) {
        statements_.push_back(out);
      }
      return;
    case ast::StmtKind::expression:
      return expressionStatement(static_cast<const ast::ExprStmt*>(s));
    case ast::StmtKind::if_:
      return ifStatement(static_cast<const ast::IfStmt*>(s));
    case ast::StmtKind::while_:
      return whileStatement(static_cast<const ast::WhileStmt*>(s));
    case ast::StmtKind::for_:
      return forStatement(static_cast<const ast::ForStmt*>(s));
    case ast::StmtKind::forRange:
      return forRangeStatement(static_cast<const ast::ForRangeStmt*>(s));
    case ast::StmtKind::switch_:
      return switchStatement(static_cast<const ast::SwitchStmt*>(s));
    case ast::StmtKind::break_:
    case ast::StmtKind::continue_:
      return jump(static_cast<const ast::JumpStmt*>(s));
    case ast::StmtKind::return_:
      return returnStatement(static_cast<const ast::ReturnStmt*>(s));
    case ast::StmtKind::host:
      hostOnly(s->range, static_cast<const ast::HostStmt*>(s)->what);
      return;
  }
}

// --- Declarations ---

// Arrays in kernels hold scalars.
bool Sema::arrayType(const Type* type, const ast::TypeRef* ref, std::string_view what) {
  if (type->elem->isNumeric()) return true;
  error(DiagId::ArrayElement, ref->range, what, typeName(type->elem));
  return false;
}

void Sema::storageStatement(const ast::VarStmt* s) {
  bool isWorkgroup = s->storage == ast::Storage::workgroup;
  std::string_view word = isWorkgroup ? "workgroup" : "private";
  bool good = true;
  if (!function_->isKernel) {
    error(DiagId::StorageOutsideKernel, s->range, word);
    good = false;
  }
  if (s->init) {
    error(DiagId::StorageInitializer, s->init->range, text(s->name), word);
    value(s->init);
    good = false;
  }
  const Type* t = resolve(s->type);
  LocalKind kind = isWorkgroup ? LocalKind::workgroupArray : LocalKind::privateArray;
  if (t->isHost()) {
    error(DiagId::ArrayElement, s->type->range, "device storage", typeName(t));
    t = types_.error();
  } else if (t->isPointer()) {
    if (!isWorkgroup) {
      error(DiagId::PrivatePointer, s->type->range, typeName(t->elem));
      t = types_.error();
    } else if (!t->elem->isNumeric()) {
      error(DiagId::ArrayElement, s->type->range, "workgroup memory", typeName(t->elem));
      t = types_.error();
    }
    kind = LocalKind::dynamicWorkgroup;
  } else if (t->isArray()) {
    if (!arrayType(t, s->type, isWorkgroup ? "workgroup memory" : "private memory")) {
      t = types_.error();
    }
  } else if (!t->isError()) {
    error(DiagId::StorageNotArray, s->type->range, word, typeName(t));
    t = types_.error();
  }
  checked::Local* local = declareLocal(kind, s->name, s->nameRange, good ? t : types_.error());
  auto* d = makeStmt<checked::DeclareStmt>(s->range, StmtKind::declare);
  d->local = local;
  statements_.push_back(d);
}

void Sema::varStatement(const ast::VarStmt* s) {
  if (s->storage != ast::Storage::automatic) return storageStatement(s);
  const Type* t = resolve(s->type);
  // One message is enough for `var s: string = "…"`.
  if (t->isHost()) hostOnly(s->type->range, typeName(t));
  Expr* init = s->init && !t->isHost() ? value(s->init) : nullptr;
  LocalKind kind = LocalKind::variable;
  if (t->isHost()) {
    init = nullptr;
  } else if (t->isVoid()) {
    typeError(DiagId::PointerToNothing, s->type->range, t);
    t = types_.error();
  } else if (t->isArray()) {
    kind = LocalKind::privateArray;
    if (!arrayType(t, s->type, "a local array")) t = types_.error();
    if (init && !isPoison(init)) nameError(DiagId::ArrayInitializer, s->init->range, s->name);
    init = nullptr;
  } else if (init) {
    init = implicitConvert(init, t, s->init->range);
  }
  checked::Local* local = declareLocal(kind, s->name, s->nameRange, t);
  local->initialized = s->init != nullptr;
  if (kind == LocalKind::variable && !local->initialized) local->tracked = trackedCount_++;
  auto* d = makeStmt<checked::DeclareStmt>(s->range, StmtKind::declare);
  d->local = local;
  d->init = init;
  statements_.push_back(d);
  if (init && t->isPointer()) function_->pointerAssignments.push_back({local, init});
}

void Sema::constStatement(const ast::ConstStmt* s) {
  checked::ConstantExpr c{};
  evaluateConstant(s->type, s->init, s->name, &c);
  c.range = s->nameRange;
  bindConstant(s->name, s->nameRange, c);
}

// --- Assignment ---

checked::Stmt* Sema::assignment(const ast::AssignStmt* s) {
  Expr* target = place(s->target);
  if (!isPoison(target) && target->kind == ExprKind::local) {
    ++static_cast<checked::LocalExpr*>(target)->local->assignments;
  }
  if (s->compound) return compoundAssignment(s, target);
  Expr* v = value(s->value);
  if (isPoison(target) || isPoison(v)) return nullptr;
  v = implicitConvert(v, target->type, s->value->range);
  if (isPoison(v)) return nullptr;
  auto* out = makeStmt<checked::AssignStmt>(s->range, StmtKind::assign);
  out->target = target;
  out->value = v;
  if (target->type->isPointer() && target->kind == ExprKind::local) {
    function_->pointerAssignments.push_back({static_cast<checked::LocalExpr*>(target)->local, v});
  }
  return out;
}

checked::Stmt* Sema::compoundAssignment(const ast::AssignStmt* s, Expr* target) {
  Expr* v = value(s->value);
  if (isPoison(target) || isPoison(v)) return nullptr;
  // Checks the operands and gives the type of `target op value`.
  Expr* result = binary(s->op, target, v, s->range);
  if (isPoison(result)) return nullptr;
  auto* out = makeStmt<checked::CompoundAssignStmt>(s->range, StmtKind::compoundAssign);
  out->target = target;
  out->computeType = nullptr;
  if (result->kind == ExprKind::pointerOffset && target->type->isPointer()) {
    auto* offset = static_cast<checked::PointerOffsetExpr*>(result);
    out->op = offset->negative ? checked::BinaryOp::sub : checked::BinaryOp::add;
    out->value = offset->index;
    return out;
  }
  if (result->kind != ExprKind::binary) {
    // Pointer differences: the result is no pointer.
    typeError(DiagId::CannotConvert, s->range, result->type, target->type);
    return nullptr;
  }
  auto* b = static_cast<checked::BinaryExpr*>(result);
  if (result->type->isFloat() && !target->type->isFloat()) {
    typeError(DiagId::FloatNeedsCast, s->range, result->type, target->type);
    return nullptr;
  }
  // `x += 1` on a narrow x computes in int32 and comes back; only a wide variable on the right is
  // worth a warning.
  if (!asConstant(v)) warnNarrowing(result, target->type, s->range);
  out->op = b->op;
  out->computeType = result->type;
  out->value = b->rhs;
  return out;
}

void Sema::expressionStatement(const ast::ExprStmt* s) {
  Expr* v = expression(s->expr);
  if (isPoison(v)) return;
  bool acts = v->kind == ExprKind::call;
  if (v->kind == ExprKind::builtin) {
    const BuiltinForm form = static_cast<const checked::BuiltinExpr*>(v)->builtin->form;
    acts = v->type->isVoid() || form == BuiltinForm::atomic;
  }
  if (!acts) {
    warn(DiagId::UnusedValue, s->range);
  }
  if (v->kind == ExprKind::constant) return;
  auto* out = makeStmt<checked::ExprStmt>(s->range, StmtKind::expression);
  out->expr = decayed(v);
  statements_.push_back(out);
}

// --- Control flow ---

void Sema::ifStatement(const ast::IfStmt* s) {
  size_t mark = arms_.size();
  for (const ast::IfArm& arm : s->arms) {
    Expr* c = condition(arm.condition);
    checked::Block* b = body(arm.body);
    arms_.push_back({c, b});
  }
  auto* out = makeStmt<checked::IfStmt>(s->range, StmtKind::if_);
  if (s->otherwise) out->otherwise = body(s->otherwise);
  out->arms = take(arms_, mark);
  statements_.push_back(out);
}

void Sema::whileStatement(const ast::WhileStmt* s) {
  auto* out = makeStmt<checked::LoopStmt>(s->range, StmtKind::loop);
  out->condition = condition(s->condition);
  checked::ConstantExpr* c = asConstant(out->condition);
  out->endless = c && c->bits != 0;
  targets_.push_back({out, s->label, true});
  out->body = body(s->body);
  targets_.pop_back();
  statements_.push_back(out);
}

void Sema::forStatement(const ast::ForStmt* s) {
  pushScope();
  size_t mark = statements_.size();
  if (s->init) statement(s->init);
  auto* out = makeStmt<checked::LoopStmt>(s->range, StmtKind::loop);
  if (s->condition) out->condition = condition(s->condition);
  checked::ConstantExpr* c = out->condition ? asConstant(out->condition) : nullptr;
  out->endless = !out->condition || (c && c->bits != 0);
  targets_.push_back({out, s->label, true});
  out->body = body(s->body);
  targets_.pop_back();
  statements_.push_back(out);
  if (s->step) {
    size_t before = statements_.size();
    statement(s->step);
    if (statements_.size() > before) {
      out->step = statements_.back();
      statements_.resize(before);
    }
  }
  auto* b = makeStmt<checked::Block>(s->range, StmtKind::block);
  b->statements = take(statements_, mark);
  statements_.push_back(b);
  popScope();
}

void Sema::forRangeStatement(const ast::ForRangeStmt* s) {
  Expr* first = value(s->first);
  Expr* last = value(s->last);
  const Type* t = types_.error();
  if (s->type) {
    t = resolve(s->type);
    if (!t->isError() && !t->isInteger()) {
      typeError(DiagId::RangeType, s->type->range, t);
      t = types_.error();
    }
  }
  bool good = !isPoison(first) && !isPoison(last);
  for (const auto& [e, range] : {std::pair(first, s->first->range), {last, s->last->range}}) {
    if (good && !e->type->isIntegral()) {
      typeError(DiagId::RangeType, range, e->type);
      good = false;
    }
  }
  if (good) {
    if (!s->type) t = arithmeticType(first, last);
    first = implicitConvert(first, t, s->first->range);
    last = implicitConvert(last, t, s->last->range);
  }
  pushScope();
  auto* out = makeStmt<checked::ForRangeStmt>(s->range, StmtKind::forRange);
  out->variable = declareLocal(LocalKind::variable, s->name, s->nameRange, t);
  out->variable->initialized = true;
  ++out->variable->assignments;  // By the loop itself.
  out->first = first;
  out->last = last;
  out->inclusive = s->inclusive;
  targets_.push_back({out, s->label, true});
  out->body = body(s->body);
  targets_.pop_back();
  popScope();
  statements_.push_back(out);
}

// --- switch ---

bool Sema::caseValue(const ast::Expr* e, const Type* subject, uint64_t* out) {
  checked::ConstantExpr* c;
  if (!constantInteger(e, DiagId::CaseNotConstant, &c)) return false;
  if (subject->isError()) return false;
  *out = convertBits(*c, subject);
  if (valueFits(*c, subject)) return true;
  typeError(DiagId::CaseOutOfRange, e->range, subject);
  return false;
}

void Sema::switchLabels(const ast::SwitchSection& section, checked::SwitchStmt* out) {
  const Type* t = out->subject->type;
  for (const ast::CaseLabel& l : section.labels) {
    checked::CaseLabel label;
    label.range = l.range;
    if (!l.low) {
      if (out->hasDefault) error(DiagId::RepeatedDefault, l.range);
      out->hasDefault = true;
      label.isDefault = true;
    } else {
      bool good = caseValue(l.low, t, &label.low);
      label.high = label.low;
      if (l.high) {
        label.isRange = true;
        good = caseValue(l.high, t, &label.high) && good;
        if (good) {
          bool empty = t->isUnsigned() ? label.low > label.high
                                       : static_cast<int64_t>(label.low << (64 - t->bits())) >
                                             static_cast<int64_t>(label.high << (64 - t->bits()));
          if (empty) {
            error(DiagId::EmptyCaseRange, l.low->range);
            good = false;
          }
        }
      }
      if (!good) continue;
      label.range = l.low->range;
    }
    labels_.push_back(label);
  }
}

void Sema::checkExhaustive(checked::SwitchStmt* s) {
  const Type* t = s->subject->type;
  auto covered = [&](uint64_t v) {
    for (const checked::SwitchSection& section : s->sections) {
      for (const checked::CaseLabel& l : section.labels) {
        if (l.isDefault) continue;
        bool in = t->isBool() ? l.low <= v && v <= l.high
                              : static_cast<int64_t>(l.low) <= static_cast<int64_t>(v) &&
                                    static_cast<int64_t>(v) <= static_cast<int64_t>(l.high);
        if (in) return true;
      }
    }
    return false;
  };
  if (t->isBool()) {
    s->exhaustive = covered(0) && covered(1);
    return;
  }
  if (!t->isEnum()) return;
  auto* symbol = static_cast<const Symbol*>(t->declaration);
  absl::flat_hash_set<uint64_t> single;
  bool ranges = false;
  for (const checked::SwitchSection& section : s->sections) {
    for (const checked::CaseLabel& l : section.labels) {
      if (!l.isDefault && !l.isRange) single.insert(l.low);
      ranges = ranges || l.isRange;
    }
  }
  const Symbol* missing = nullptr;
  for (const Symbol* v : symbol->variants) {
    if (single.contains(v->value.bits) || (ranges && covered(v->value.bits))) continue;
    missing = v;
    break;
  }
  s->exhaustive = !missing;
  if (s->exhaustive && !s->hasDefault) function_->hasOpenEnumSwitch = true;
  if (missing && !s->hasDefault) {
    warn(DiagId::SwitchNotExhaustive, s->range, text(missing->name), t->name);
  }
}

void Sema::checkRepeatedCases(const checked::SwitchStmt* s) {
  absl::flat_hash_map<uint64_t, SourceRange> seen;
  for (const checked::SwitchSection& section : s->sections) {
    for (const checked::CaseLabel& l : section.labels) {
      if (l.isDefault || l.isRange) continue;
      auto [it, fresh] = seen.emplace(l.low, l.range);
      if (fresh) continue;
      failed_ = true;
      diagnostics_.report(DiagId::RepeatedCase, l.range, {})
          .note(it->second, "the same value is here");
    }
  }
}

void Sema::switchStatement(const ast::SwitchStmt* s) {
  auto* out = makeStmt<checked::SwitchStmt>(s->range, StmtKind::switch_);
  out->subject = value(s->subject);
  if (!isPoison(out->subject) && !out->subject->type->isIntegral()) {
    out->subject = typeError(DiagId::SwitchType, s->subject->range, out->subject->type);
  }
  size_t mark = sections_.size();
  targets_.push_back({out, s->label, false});
  bool before = failed_;
  for (const ast::SwitchSection& section : s->sections) {
    size_t labelMark = labels_.size();
    switchLabels(section, out);
    std::span<checked::CaseLabel> labels = take(labels_, labelMark);
    checked::Block* b = block(section.body);
    sections_.push_back({labels, b});
  }
  targets_.pop_back();
  out->sections = take(sections_, mark);
  checkRepeatedCases(out);
  if (failed_ == before && !isPoison(out->subject)) checkExhaustive(out);
  statements_.push_back(out);
}

// --- Jumps ---

void Sema::jump(const ast::JumpStmt* s) {
  bool isBreak = s->kind == ast::StmtKind::break_;
  std::string_view what = isBreak ? "break" : "continue";
  checked::Stmt* target = nullptr;
  for (size_t i = targets_.size(); i-- > 0;) {
    const Target& t = targets_[i];
    if (s->label) {
      if (t.label != s->label) continue;
      if (!isBreak && !t.isLoop) {
        nameError(DiagId::ContinueSwitch, s->labelRange, s->label);
        return;
      }
    } else if (!isBreak && !t.isLoop) {
      continue;
    }
    target = t.stmt;
    break;
  }
  if (!target) {
    if (s->label) {
      nameError(DiagId::UnknownLabel, s->labelRange, s->label);
    } else {
      error(DiagId::JumpOutsideLoop, s->range, what);
    }
    return;
  }
  auto* out =
      makeStmt<checked::JumpStmt>(s->range, isBreak ? StmtKind::break_ : StmtKind::continue_);
  out->target = target;
  statements_.push_back(out);
}

void Sema::returnStatement(const ast::ReturnStmt* s) {
  const Type* result = function_->result;
  auto* out = makeStmt<checked::ReturnStmt>(s->range, StmtKind::return_);
  if (s->value) {
    Expr* v = expression(s->value);
    if (result->isVoid()) {
      if (!isPoison(v)) error(DiagId::ReturnValue, s->value->range, function_->name);
      return;
    }
    if (v->type->isVoid()) {
      error(DiagId::VoidValue, s->value->range);
      return;
    }
    v = implicitConvert(v, result, s->value->range);
    out->value = v;
    if (!isPoison(v) && result->isPointer()) function_->pointerReturns.push_back(v);
  } else if (!result->isVoid() && !result->isError()) {
    error(DiagId::ReturnWithoutValue, s->range, function_->name, typeName(result));
    return;
  }
  statements_.push_back(out);
}

}  // namespace mtlc::frontend
