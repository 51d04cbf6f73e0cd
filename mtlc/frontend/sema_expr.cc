// Expressions (docs/language.md §3).

#include "absl/strings/str_format.h"
#include "mtlc/frontend/sema_impl.h"
#include "mtlc/support/scalar_ops.h"

namespace mtlc::frontend {

using checked::ConstantExpr;
using checked::ExprKind;

namespace {

// The nesting that one tree may have, and what constants of constants may add to it.
constexpr int kMaxDepth = ast::kMaxNesting + 64;

checked::BinaryOp arithmeticOp(ast::BinaryOp op) {
  switch (op) {
    case ast::BinaryOp::add:
      return checked::BinaryOp::add;
    case ast::BinaryOp::sub:
      return checked::BinaryOp::sub;
    case ast::BinaryOp::mul:
      return checked::BinaryOp::mul;
    case ast::BinaryOp::div:
      return checked::BinaryOp::div;
    case ast::BinaryOp::rem:
      return checked::BinaryOp::rem;
    case ast::BinaryOp::bitAnd:
      return checked::BinaryOp::bitAnd;
    case ast::BinaryOp::bitOr:
      return checked::BinaryOp::bitOr;
    case ast::BinaryOp::bitXor:
      return checked::BinaryOp::bitXor;
    case ast::BinaryOp::shl:
      return checked::BinaryOp::shl;
    default:
      return checked::BinaryOp::shr;
  }
}

checked::CompareOp compareOp(ast::BinaryOp op) {
  switch (op) {
    case ast::BinaryOp::equal:
      return checked::CompareOp::equal;
    case ast::BinaryOp::notEqual:
      return checked::CompareOp::notEqual;
    case ast::BinaryOp::less:
      return checked::CompareOp::less;
    case ast::BinaryOp::lessEqual:
      return checked::CompareOp::lessEqual;
    case ast::BinaryOp::greater:
      return checked::CompareOp::greater;
    default:
      return checked::CompareOp::greaterEqual;
  }
}

bool isComparison(ast::BinaryOp op) {
  return op >= ast::BinaryOp::less && op <= ast::BinaryOp::notEqual;
}
bool isBitwise(ast::BinaryOp op) {
  return op >= ast::BinaryOp::bitAnd && op <= ast::BinaryOp::bitOr;
}

}  // namespace

Sema::Expr* Sema::value(const ast::Expr* e) {
  Expr* v = expression(e);
  if (v->type->isVoid()) return error(DiagId::VoidValue, e->range);
  return decayed(v);
}

Sema::Expr* Sema::tooDeep(SourceRange at) {
  return error(DiagId::NestingTooDeep, at, absl::StrFormat("%d", kMaxDepth));
}

Sema::Expr* Sema::condition(const ast::Expr* e) { return toCondition(value(e)); }

Sema::Expr* Sema::expression(const ast::Expr* e) {
  if (++depth_ > kMaxDepth) {
    --depth_;
    return tooDeep(e->range);
  }
  Expr* result = nullptr;
  switch (e->kind) {
    case ast::ExprKind::integer:
      result = integer(static_cast<const ast::IntegerExpr*>(e), false, e->range);
      break;
    case ast::ExprKind::floating:
      result = floating(static_cast<const ast::FloatExpr*>(e));
      break;
    case ast::ExprKind::character: {
      ConstantExpr* c =
          constant(e->range, types_.int32(), static_cast<const ast::CharacterExpr*>(e)->value);
      c->literal = true;
      result = c;
      break;
    }
    case ast::ExprKind::string:
      result = hostOnly(e->range, "a string");
      break;
    case ast::ExprKind::name:
      result = name(static_cast<const ast::NameExpr*>(e));
      break;
    case ast::ExprKind::unary:
      result = unary(static_cast<const ast::UnaryExpr*>(e));
      break;
    case ast::ExprKind::binary:
      result = binarySpine(static_cast<const ast::BinaryExpr*>(e));
      break;
    case ast::ExprKind::cast:
      result = cast(static_cast<const ast::CastExpr*>(e));
      break;
    case ast::ExprKind::call:
      result = call(static_cast<const ast::CallExpr*>(e));
      break;
    case ast::ExprKind::index:
      result = index(static_cast<const ast::IndexExpr*>(e));
      break;
    case ast::ExprKind::member:
      result = member(static_cast<const ast::MemberExpr*>(e));
      break;
    case ast::ExprKind::sizeofType:
      result = sizeofType(static_cast<const ast::SizeofExpr*>(e));
      break;
    case ast::ExprKind::host:
      result = hostOnly(e->range, static_cast<const ast::HostExpr*>(e)->what);
      break;
  }
  --depth_;
  return result;
}

// --- Literals and names ---

Sema::Expr* Sema::integer(const ast::IntegerExpr* e, bool negative, SourceRange at) {
  uint64_t v = e->value;
  constexpr uint64_t k31 = uint64_t{1} << 31, k63 = uint64_t{1} << 63;
  const Type* t;
  if (e->decimal) {
    // A literal directly under a minus is taken with its sign.
    uint64_t extra = negative ? 1 : 0;
    if (v < k31 + extra) {
      t = types_.int32();
    } else if (v < k63 + extra) {
      t = types_.int64();
    } else if (!negative) {
      t = types_.uint64();
    } else {
      return error(DiagId::NegativeTooLarge, at);
    }
  } else if (v < k31) {
    t = types_.int32();
  } else if (v < uint64_t{1} << 32) {
    t = types_.uint32();
  } else {
    t = v < k63 ? types_.int64() : types_.uint64();
  }
  ConstantExpr* c = constant(at, t, negative ? scalar::neg(t->bits(), v) : v);
  c->literal = true;
  return c;
}

Sema::Expr* Sema::floating(const ast::FloatExpr* e) {
  ConstantExpr* c =
      constant(e->range, e->suffixF ? types_.float32() : types_.float64(), f64Bits(e->value));
  c->literal = true;
  return c;
}

Sema::Expr* Sema::name(const ast::NameExpr* e) {
  if (!localsHidden_) {
    const Binding& b = bindings_[e->name.id];
    if (b.local) {
      if (b.local->type->isError()) return poison();
      if (b.local->type->isHost()) return hostOnly(e->range, typeName(b.local->type));
      auto* x = make<checked::LocalExpr>(e->range, b.local->type, ExprKind::local);
      x->local = b.local;
      return x;
    }
    if (b.constant) {
      if (b.constant->type->isError()) return poison();
      if (b.constant->type->isHost()) return hostOnly(e->range, "a string");
      return constant(e->range, b.constant->type, b.constant->bits);
    }
  }
  bool failed = false;
  Symbol* s = lookup(scope_, e->name, e->range, &failed);
  if (failed) return poison();
  if (s) return symbolValue(s, e->range);
  if (e->name == names::true_ || e->name == names::false_) {
    return constant(e->range, types_.boolType(), e->name == names::true_);
  }
  if (const Builtin* b = findBuiltin(e->name)) {
    if (b->form == BuiltinForm::index)
      return nameError(DiagId::IndexWithoutMember, e->range, e->name);
    return nameError(DiagId::NotAValue, e->range, e->name);
  }
  return unknownName(e->name, e->range);
}

Sema::Expr* Sema::symbolValue(Symbol* s, SourceRange at) {
  switch (s->kind) {
    case SymbolKind::constant:
      resolveConstant(s);
      if (s->hostValue) return hostOnly(at, "a constant with a host value");
      if (s->value.type->isError()) return poison();
      if (s->value.type->isHost()) return hostOnly(at, "a string");
      return constant(at, s->value.type, s->value.bits);
    case SymbolKind::variant:
      if (s->progress != Progress::done && s->owner->progress == Progress::waiting) {
        resolveVariants(s->owner);
      }
      if (s->progress != Progress::done) {
        return nameError(DiagId::ConstantCycle, at, s->name);
      }
      if (s->hostValue) return hostOnly(at, "a constant with a host value");
      if (s->value.type->isError()) return poison();
      return constant(at, s->value.type, s->value.bits);
    case SymbolKind::variable:
      return hostOnly(at, "a global variable");
    case SymbolKind::hostType:
    case SymbolKind::hostValue:
      return hostOnly(at, static_cast<const ast::HostDecl*>(s->decl)->what);
    case SymbolKind::function:
    case SymbolKind::enumType:
    case SymbolKind::module:
    case SymbolKind::ambiguous:
      break;
  }
  return nameError(DiagId::NotAValue, at, s->name);
}

Sema::Expr* Sema::member(const ast::MemberExpr* e) {
  if (e->base->kind == ast::ExprKind::name && !e->arrow) {
    Name base = static_cast<const ast::NameExpr*>(e->base)->name;
    bool isLocal = !localsHidden_ && bindings_[base.id];
    if (!isLocal) {
      bool failed = false;
      Symbol* s = lookup(scope_, base, e->base->range, &failed);
      if (failed) return poison();
      if (s && s->kind == SymbolKind::module) {
        Symbol* inner = lookupPublic(s->target, e->member, e->memberRange, &failed);
        if (failed) return poison();
        if (inner) return symbolValue(inner, e->memberRange);
        if (s->target->module->hadSyntaxErrors) return poison();
        return error(DiagId::NotInModule, e->memberRange, text(e->member), text(base));
      }
      if (s && s->kind == SymbolKind::enumType) {
        for (Symbol* v : s->variants) {
          if (v->name == e->member) return symbolValue(v, e->memberRange);
        }
        return error(DiagId::NotInModule, e->memberRange, text(e->member), text(base));
      }
      const Builtin* b = s ? nullptr : findBuiltin(base);
      if (b && b->form == BuiltinForm::index) {
        bool known = e->member == names::x || e->member == names::y || e->member == names::z;
        if (!known) return nameError(DiagId::IndexMember, e->memberRange, e->member);
        if (!gpuOperationAllowed(e->range, b->name)) return poison();
        checked::BuiltinExpr* x = builtinExpr(b, e->range, types_.int32());
        x->dim = e->member == names::x ? 0 : e->member == names::y ? 1 : 2;
        return x;
      }
    }
  }
  Expr* base = expression(e->base);
  if (isPoison(base)) return base;
  return error(DiagId::NoMembers, e->memberRange, text(e->member), typeName(base->type));
}

Sema::Expr* Sema::sizeofType(const ast::SizeofExpr* e) {
  const Type* t = resolve(e->type);
  if (t->isError()) return poison();
  if (t->isHost()) return hostOnly(e->range, typeName(t));
  if (t->isVoid()) return typeError(DiagId::PointerToNothing, e->type->range, t);
  return constant(e->range, types_.int64(), t->bytes());
}

// --- Unary operators ---

Sema::Expr* Sema::negate(Expr* v, SourceRange at) {
  const Type* t = promoted(v->type);
  if (ConstantExpr* c = asConstant(v)) {
    if (c->literal && t->isFloat()) {
      ConstantExpr* r = constant(at, t, scalar::fneg(FloatKind::F64, c->bits));
      r->literal = true;
      return r;
    }
    uint64_t bits = convertBits(*c, t);
    FloatKind kind = t->kind == TypeKind::float32 ? FloatKind::F32 : FloatKind::F64;
    ConstantExpr* r =
        constant(at, t, t->isFloat() ? scalar::fneg(kind, bits) : scalar::neg(t->bits(), bits));
    r->literal = c->literal;
    return r;
  }
  auto* x = make<checked::UnaryExpr>(at, t, ExprKind::negate);
  x->operand = convert(v, t);
  return x;
}

Sema::Expr* Sema::unary(const ast::UnaryExpr* e) {
  switch (e->op) {
    case ast::UnaryOp::addressOf:
      return addressOf(e);
    case ast::UnaryOp::deref:
      return dereference(e);
    case ast::UnaryOp::minus:
      if (e->operand->kind == ast::ExprKind::integer && !e->operand->parenthesized) {
        auto* i = static_cast<const ast::IntegerExpr*>(e->operand);
        if (i->decimal) return integer(i, true, e->range);
      }
      break;
    default:
      break;
  }
  Expr* v = value(e->operand);
  if (isPoison(v)) return v;
  if (e->op == ast::UnaryOp::logicalNot) {
    Expr* c = toCondition(v);
    if (isPoison(c)) return c;
    if (ConstantExpr* k = asConstant(c)) return constant(e->range, types_.boolType(), !k->bits);
    auto* x = make<checked::UnaryExpr>(e->range, types_.boolType(), ExprKind::logicalNot);
    x->operand = c;
    return x;
  }
  constexpr char kText[] = "-+*&~!";
  bool good = v->type->isNumeric() && !(e->op == ast::UnaryOp::bitNot && v->type->isFloat());
  if (!good) {
    return error(DiagId::UnaryOperand, e->range, std::string(1, kText[static_cast<int>(e->op)]),
                 typeName(v->type));
  }
  if (e->op == ast::UnaryOp::minus) return negate(v, e->range);
  const Type* t = promoted(v->type);
  if (e->op == ast::UnaryOp::plus) return t == v->type ? v : convert(v, t);
  if (ConstantExpr* c = asConstant(v)) {
    return constant(e->range, t, scalar::wrap(t->bits(), ~convertBits(*c, t)));
  }
  auto* x = make<checked::UnaryExpr>(e->range, t, ExprKind::bitNot);
  x->operand = convert(v, t);
  return x;
}

Sema::Expr* Sema::addressOf(const ast::UnaryExpr* e) {
  Expr* v = expression(e->operand);
  if (isPoison(v)) return v;
  if (v->kind == ExprKind::element) {
    auto* x = static_cast<checked::ElementExpr*>(v);
    return x->index ? pointerOffset(x->pointer, x->index, false, e->range) : x->pointer;
  }
  if (v->kind == ExprKind::local) {
    checked::Local* local = static_cast<checked::LocalExpr*>(v)->local;
    if (local->kind == checked::LocalKind::parameter ||
        local->kind == checked::LocalKind::variable) {
      local->addressTaken = true;
      auto* x =
          make<checked::UnaryExpr>(e->range, types_.pointer(local->type), ExprKind::addressOf);
      x->operand = v;
      return x;
    }
    return nameError(DiagId::AddressOfStorage, e->range, local->name);
  }
  return error(DiagId::NotAddressable, e->range);
}

Sema::Expr* Sema::dereference(const ast::UnaryExpr* e) {
  Expr* v = value(e->operand);
  if (isPoison(v)) return v;
  if (!v->type->isPointer()) return typeError(DiagId::NotAPointer, e->range, v->type);
  return element(v, nullptr, e->range);
}

Sema::Expr* Sema::element(Expr* pointer, Expr* index, SourceRange at) {
  auto* x = make<checked::ElementExpr>(at, pointer->type->elem, ExprKind::element);
  x->pointer = pointer;
  x->index = index;
  return x;
}

Sema::Expr* Sema::index(const ast::IndexExpr* e) {
  Expr* base = value(e->base);
  Expr* i = value(e->index);
  if (isPoison(base)) return base;
  if (isPoison(i)) return i;
  if (!base->type->isPointer()) return typeError(DiagId::NotIndexable, e->range, base->type);
  if (!i->type->isIntegral()) return typeError(DiagId::IndexType, e->index->range, i->type);
  return element(base, convert(i, promoted(i->type)), e->range);
}

Sema::Expr* Sema::cast(const ast::CastExpr* e) {
  const Type* t = resolve(e->type);
  Expr* v = value(e->operand);
  if (t->isArray() || t->isVoid()) return typeError(DiagId::CannotCast, e->range, v->type, t);
  return explicitConvert(v, t, e->range);
}

// --- Binary operators ---

// `a + b + c + …` in a loop: only right operands recurse.
Sema::Expr* Sema::binarySpine(const ast::BinaryExpr* e) {
  size_t mark = spine_.size();
  const ast::Expr* leftmost = e;
  while (leftmost->kind == ast::ExprKind::binary) {
    auto* b = static_cast<const ast::BinaryExpr*>(leftmost);
    spine_.push_back(b);
    leftmost = b->lhs;
  }
  Expr* lhs = value(leftmost);
  while (spine_.size() > mark) {
    const ast::BinaryExpr* b = spine_.back();
    spine_.pop_back();
    Expr* rhs = value(b->rhs);
    lhs = binary(b->op, lhs, rhs, b->range);
  }
  return lhs;
}

Sema::Expr* Sema::binary(ast::BinaryOp op, Expr* lhs, Expr* rhs, SourceRange at) {
  if (isPoison(lhs)) return lhs;
  if (isPoison(rhs)) return rhs;
  if (op == ast::BinaryOp::logicalAnd || op == ast::BinaryOp::logicalOr) {
    return logical(op, lhs, rhs, at);
  }
  if (isComparison(op)) return comparison(op, lhs, rhs, at);
  if (lhs->type->isPointer() || rhs->type->isPointer()) {
    return pointerArithmetic(op, lhs, rhs, at);
  }
  if (op == ast::BinaryOp::shl || op == ast::BinaryOp::shr) return shift(op, lhs, rhs, at);
  return arithmetic(op, lhs, rhs, at);
}

Sema::Expr* Sema::operandError(ast::BinaryOp op, Expr* lhs, Expr* rhs, SourceRange at) {
  return error(DiagId::BinaryOperands, at, ast::binaryOpText(op), typeName(lhs->type),
               typeName(rhs->type));
}

Sema::Expr* Sema::logical(ast::BinaryOp op, Expr* lhs, Expr* rhs, SourceRange at) {
  lhs = toCondition(lhs);
  rhs = toCondition(rhs);
  if (isPoison(lhs)) return lhs;
  if (isPoison(rhs)) return rhs;
  bool isAnd = op == ast::BinaryOp::logicalAnd;
  ConstantExpr* a = asConstant(lhs);
  ConstantExpr* b = asConstant(rhs);
  if (a && b) {
    return constant(at, types_.boolType(), isAnd ? a->bits & b->bits : a->bits | b->bits);
  }
  auto* x = make<checked::LogicalExpr>(at, types_.boolType(), ExprKind::logical);
  x->isAnd = isAnd;
  x->lhs = lhs;
  x->rhs = rhs;
  return x;
}

Sema::Expr* Sema::comparison(ast::BinaryOp op, Expr* lhs, Expr* rhs, SourceRange at) {
  bool equality = op == ast::BinaryOp::equal || op == ast::BinaryOp::notEqual;
  const Type* t;
  if (lhs->type->isPointer() || rhs->type->isPointer()) {
    t = lhs->type->isPointer() ? lhs->type : rhs->type;
    bool good = lhs->type == rhs->type || isNullLiteral(lhs) || isNullLiteral(rhs);
    if (!good) return operandError(op, lhs, rhs, at);
  } else if (!lhs->type->isNumeric() || !rhs->type->isNumeric()) {
    return operandError(op, lhs, rhs, at);
  } else if (equality && lhs->type->isBool() && rhs->type->isBool()) {
    t = types_.boolType();
  } else {
    t = arithmeticType(lhs, rhs);
  }
  lhs = convert(lhs, t);
  rhs = convert(rhs, t);
  ConstantExpr* a = asConstant(lhs);
  ConstantExpr* b = asConstant(rhs);
  if (a && b) return foldCompare(compareOp(op), a, b, at);
  auto* x = make<checked::CompareExpr>(at, types_.boolType(), ExprKind::compare);
  x->op = compareOp(op);
  x->lhs = lhs;
  x->rhs = rhs;
  return x;
}

Sema::Expr* Sema::shift(ast::BinaryOp op, Expr* lhs, Expr* rhs, SourceRange at) {
  if (!lhs->type->isIntegral() || !rhs->type->isIntegral()) return operandError(op, lhs, rhs, at);
  const Type* t = promoted(lhs->type);
  lhs = convert(lhs, t);
  // The amount is taken modulo the width, a power of two, so its low bits are enough.
  rhs = convert(convert(rhs, promoted(rhs->type)), t);
  ConstantExpr* a = asConstant(lhs);
  ConstantExpr* b = asConstant(rhs);
  if (a && b) return foldBinary(arithmeticOp(op), a, b, at);
  auto* x = make<checked::BinaryExpr>(at, t, ExprKind::binary);
  x->op = arithmeticOp(op);
  x->lhs = lhs;
  x->rhs = rhs;
  return x;
}

Sema::Expr* Sema::arithmetic(ast::BinaryOp op, Expr* lhs, Expr* rhs, SourceRange at) {
  if (!lhs->type->isNumeric() || !rhs->type->isNumeric()) return operandError(op, lhs, rhs, at);
  const Type* t;
  if (isBitwise(op) && lhs->type->isBool() && rhs->type->isBool()) {
    t = types_.boolType();
  } else {
    t = arithmeticType(lhs, rhs);
  }
  bool integersOnly = isBitwise(op) || op == ast::BinaryOp::rem;
  if (integersOnly && t->isFloat()) return operandError(op, lhs, rhs, at);
  ConstantExpr* a = asConstant(lhs);
  ConstantExpr* b = asConstant(rhs);
  if (a && b && a->literal && b->literal && t->isFloat()) return foldLiteral(op, a, b, at);
  lhs = convert(lhs, t);
  rhs = convert(rhs, t);
  a = asConstant(lhs);
  b = asConstant(rhs);
  bool division = op == ast::BinaryOp::div || op == ast::BinaryOp::rem;
  if (division && !t->isFloat() && b && b->bits == 0) {
    warn(DiagId::DivisionByZero, at, op == ast::BinaryOp::div ? "division" : "remainder",
         op == ast::BinaryOp::rem ? "the dividend"
         : t->isUnsigned()        ? "the largest value"
                                  : "-1");
  }
  if (a && b) {
    if (Expr* folded = foldBinary(arithmeticOp(op), a, b, at)) return folded;
  }
  auto* x = make<checked::BinaryExpr>(at, t, ExprKind::binary);
  x->op = arithmeticOp(op);
  x->lhs = lhs;
  x->rhs = rhs;
  return x;
}

Sema::Expr* Sema::pointerOffset(Expr* pointer, Expr* index, bool negative, SourceRange at) {
  auto* x = make<checked::PointerOffsetExpr>(at, pointer->type, ExprKind::pointerOffset);
  x->pointer = pointer;
  x->index = convert(index, promoted(index->type));
  x->negative = negative;
  return x;
}

Sema::Expr* Sema::pointerArithmetic(ast::BinaryOp op, Expr* lhs, Expr* rhs, SourceRange at) {
  bool add = op == ast::BinaryOp::add;
  bool sub = op == ast::BinaryOp::sub;
  if (lhs->type->isPointer() && rhs->type->isIntegral() && (add || sub)) {
    return pointerOffset(lhs, rhs, sub, at);
  }
  if (rhs->type->isPointer() && lhs->type->isIntegral() && add) {
    auto* x = static_cast<checked::PointerOffsetExpr*>(pointerOffset(rhs, lhs, false, at));
    x->indexFirst = true;
    return x;
  }
  if (lhs->type == rhs->type && sub) {
    auto* x = make<checked::PointerDifferenceExpr>(at, types_.int64(), ExprKind::pointerDifference);
    x->lhs = lhs;
    x->rhs = rhs;
    return x;
  }
  return operandError(op, lhs, rhs, at);
}

// --- Places ---

Sema::Expr* Sema::place(const ast::Expr* e) {
  // A constant's name would give its value; say that it is one.
  if (e->kind == ast::ExprKind::name && !localsHidden_) {
    Name n = static_cast<const ast::NameExpr*>(e)->name;
    if (bindings_[n.id].constant) return nameError(DiagId::AssignToConstant, e->range, n);
    if (!bindings_[n.id]) {
      bool failed = false;
      Symbol* s = lookup(scope_, n, e->range, &failed);
      if (s && (s->kind == SymbolKind::constant || s->kind == SymbolKind::variant)) {
        return nameError(DiagId::AssignToConstant, e->range, n);
      }
      if (failed) return poison();
    }
  }
  Expr* v = expression(e);
  if (isPoison(v)) return v;
  if (v->kind == ExprKind::element) return v;
  if (v->kind == ExprKind::local) {
    checked::Local* local = static_cast<checked::LocalExpr*>(v)->local;
    if (local->kind == checked::LocalKind::parameter ||
        local->kind == checked::LocalKind::variable) {
      return v;
    }
    return nameError(DiagId::RebindStorage, e->range, local->name);
  }
  return error(DiagId::NotAssignable, e->range);
}

}  // namespace mtlc::frontend
