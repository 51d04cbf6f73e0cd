// Conversions between types, and constant folding. The values are those of
// mtlc/support/scalar_ops.h, the one definition of the scalar semantics.

#include "absl/strings/str_format.h"
#include "mtlc/frontend/sema_impl.h"
#include "mtlc/support/scalar_ops.h"

namespace mtlc::frontend {

using checked::ConstantExpr;
using checked::ExprKind;

namespace {

FloatKind floatKind(const Type* t) {
  return t->kind == TypeKind::float32 ? FloatKind::F32 : FloatKind::F64;
}

// A literal expression's float64 is rounded to its type here, and only here.
uint64_t settledBits(const ConstantExpr& c) {
  if (c.literal && c.type->kind == TypeKind::float32) {
    return scalar::fconv(FloatKind::F64, FloatKind::F32, c.bits);
  }
  return c.bits;
}

double literalDouble(const ConstantExpr& c) {
  if (c.type->isFloat()) return f64FromBits(c.bits);
  if (c.type->isUnsigned()) return static_cast<double>(c.bits);
  return static_cast<double>(scalar::signExtend(c.type->bits(), c.bits));
}

}  // namespace

ConstantExpr* Sema::constant(SourceRange at, const Type* type, uint64_t bits) {
  auto* c = make<ConstantExpr>(at, type, ExprKind::constant);
  c->bits = bits;
  return c;
}

uint64_t Sema::convertBits(const ConstantExpr& c, const Type* to) {
  uint64_t bits = settledBits(c);
  const Type* from = c.type;
  unsigned width = to->bits();
  if (from->isFloat()) {
    FloatKind kind = floatKind(from);
    if (to->isBool()) {
      return scalar::fcmp(FloatPredicate::Une, kind, bits, 0);
    }
    if (to->isFloat()) {
      // A float64 literal that meets float32 is rounded once; everything else converts as it is.
      return from->kind == to->kind ? bits : scalar::fconv(kind, floatKind(to), bits);
    }
    return to->isUnsigned() ? scalar::ftoui(kind, width, bits) : scalar::ftosi(kind, width, bits);
  }
  unsigned fromWidth = from->bits();
  if (to->isBool()) return bits != 0;
  if (to->isFloat()) {
    return from->isUnsigned() ? scalar::uitof(floatKind(to), fromWidth, bits)
                              : scalar::sitof(floatKind(to), fromWidth, bits);
  }
  if (width <= fromWidth) return scalar::wrap(width, bits);
  return from->isUnsigned() ? bits : scalar::sext(fromWidth, width, bits);
}

Sema::Expr* Sema::convert(Expr* e, const Type* to) {
  if (e->type == to && !isFloatLiteral(e)) return e;
  if (ConstantExpr* c = asConstant(e); c && c->type->isNumeric() && to->isNumeric()) {
    return constant(e->range, to, convertBits(*c, to));
  }
  if (isNullLiteral(e) && to->isPointer()) return constant(e->range, to, 0);
  auto* x = make<checked::UnaryExpr>(e->range, to, ExprKind::convert);
  x->operand = e;
  return x;
}

bool Sema::isNullLiteral(const Expr* e) {
  if (e->kind != ExprKind::constant || !e->type->isInteger()) return false;
  auto* c = static_cast<const ConstantExpr*>(e);
  return c->literal && c->bits == 0;
}

Sema::Expr* Sema::decayed(Expr* e) {
  if (!e->type->isArray()) return e;
  auto* x = make<checked::UnaryExpr>(e->range, types_.pointer(e->type->elem), ExprKind::decay);
  x->operand = e;
  return x;
}

bool Sema::valueFits(const ConstantExpr& c, const Type* to) {
  unsigned width = to->bits();
  int64_t v = static_cast<int64_t>(c.bits);
  if (c.type->isUnsigned()) {
    uint64_t most = scalar::mask(width) >> (to->isUnsigned() ? 0 : 1);
    return c.bits <= most;
  }
  v = scalar::signExtend(c.type->bits(), c.bits);
  if (to->isUnsigned()) return v >= 0 && static_cast<uint64_t>(v) <= scalar::mask(width);
  return v == scalar::signExtend(width, scalar::wrap(width, c.bits));
}

// Integer conversions that lose bits. Constants warn only if their value changes.
void Sema::warnNarrowing(Expr* e, const Type* to, SourceRange at) {
  const Type* from = e->type;
  if (!from->isInteger() || !(to->isInteger() || to->isBool())) return;
  if (to->bits() >= from->bits()) return;
  if (ConstantExpr* c = asConstant(e)) {
    if (valueFits(*c, to)) return;
    std::string shown = from->isUnsigned()
                            ? absl::StrFormat("%d", c->bits)
                            : absl::StrFormat("%d", scalar::signExtend(from->bits(), c->bits));
    warn(DiagId::ConstantNarrowed, at, shown, typeName(to));
    return;
  }
  warn(DiagId::Narrowing, at, typeName(from), typeName(to));
}

namespace {

bool isIndexBuiltin(const checked::Expr* e) {
  while (e->kind == ExprKind::convert) e = static_cast<const checked::UnaryExpr*>(e)->operand;
  return e->kind == ExprKind::builtin &&
         static_cast<const checked::BuiltinExpr*>(e)->builtin->kind >= BuiltinKind::threadId &&
         static_cast<const checked::BuiltinExpr*>(e)->builtin->kind <= BuiltinKind::gridDim;
}

// A product computed in 32 bits, alone or in a sum. `block.x * block_dim.x` is not meant: a launch
// has fewer work-items than 2^31 along a dimension in practice.
const checked::Expr* product32(const checked::Expr* e, int depth) {
  if (e->kind != ExprKind::binary || e->type->bits() != 32 || depth == 0) return nullptr;
  auto* b = static_cast<const checked::BinaryExpr*>(e);
  if (b->op == checked::BinaryOp::mul) {
    return isIndexBuiltin(b->lhs) && isIndexBuiltin(b->rhs) ? nullptr : b;
  }
  if (b->op != checked::BinaryOp::add && b->op != checked::BinaryOp::sub) return nullptr;
  if (const checked::Expr* p = product32(b->lhs, depth - 1)) return p;
  return product32(b->rhs, depth - 1);
}

}  // namespace

void Sema::warnWidenedProduct(Expr* e, const Type* to, SourceRange at) {
  if (!to->isInteger() || to->bits() != 64 || !e->type->isInteger() || e->type->bits() != 32)
    return;
  constexpr int kDepth = 4;
  if (product32(e, kDepth)) warn(DiagId::ProductWidenedLate, at, typeName(e->type), typeName(to));
}

Sema::Expr* Sema::implicitConvert(Expr* e, const Type* to, SourceRange at, bool quiet) {
  if (isPoison(e) || to->isError()) return poison();
  e = decayed(e);
  const Type* from = e->type;
  if (from->isHost() || to->isHost()) return hostOnly(at, typeName(from->isHost() ? from : to));
  if (from == to) return convert(e, to);
  if (from->isNumeric() && to->isNumeric()) {
    if (from->isFloat() && !to->isFloat()) return typeError(DiagId::FloatNeedsCast, at, from, to);
    if (!quiet) warnNarrowing(e, to, at);
    warnWidenedProduct(e, to, at);
    return convert(e, to);
  }
  if (to->isPointer() && isNullLiteral(e)) return convert(e, to);
  return typeError(DiagId::CannotConvert, at, from, to);
}

Sema::Expr* Sema::explicitConvert(Expr* e, const Type* to, SourceRange at) {
  if (isPoison(e) || to->isError()) return poison();
  const Type* from = e->type;
  if (from->isHost() || to->isHost()) return hostOnly(at, typeName(from->isHost() ? from : to));
  auto wide = [](const Type* t) { return t->isInteger() && t->bits() == 64; };
  bool good = (from->isNumeric() && to->isNumeric()) || (from->isPointer() && to->isPointer()) ||
              (from->isPointer() && wide(to)) || (wide(from) && to->isPointer()) ||
              (to->isPointer() && isNullLiteral(e));
  if (!good) return typeError(DiagId::CannotCast, at, from, to);
  warnWidenedProduct(e, to, at);
  Expr* converted = convert(e, to);
  if (converted == e && e->kind == ExprKind::constant) {
    // A cast ends a literal expression.
    auto* c = static_cast<ConstantExpr*>(e);
    if (c->literal) return constant(at, to, c->bits);
  }
  return converted;
}

Sema::Expr* Sema::toCondition(Expr* e) {
  if (isPoison(e)) return e;
  e = decayed(e);
  if (e->type->isBool()) return e;
  if (e->type->isHost()) return hostOnly(e->range, typeName(e->type));
  if (!e->type->isNumeric()) return typeError(DiagId::ConditionType, e->range, e->type);
  return convert(e, types_.boolType());
}

const Type* Sema::promoted(const Type* type) const {
  if (type->isBool()) return types_.int32();
  if (type->isEnum()) return types_.int64();
  return type;
}

const Type* Sema::arithmeticType(const Expr* a, const Expr* b) const {
  const Type* ta = promoted(a->type);
  const Type* tb = promoted(b->type);
  if (ta->isFloat() && tb->isFloat()) {
    if (ta == tb) return ta;
    // A float64 literal adapts to float32; between two literals the suffix decides.
    const Expr* wide = ta == types_.float64() ? a : b;
    return isFloatLiteral(wide) ? types_.float32() : types_.float64();
  }
  if (ta->isFloat()) return ta;
  if (tb->isFloat()) return tb;
  if (ta->bits() != tb->bits()) return ta->bits() > tb->bits() ? ta : tb;
  return ta->isUnsigned() ? ta : tb;
}

// --- Folding ---

// Operands of one type, not part of a literal expression.
Sema::Expr* Sema::foldBinary(checked::BinaryOp op, ConstantExpr* a, ConstantExpr* b,
                             SourceRange at) {
  using Op = checked::BinaryOp;
  const Type* t = a->type;
  uint64_t x = settledBits(*a), y = settledBits(*b), r = 0;
  if (t->isFloat()) {
    FloatKind k = floatKind(t);
    switch (op) {
      case Op::add:
        r = scalar::fadd(k, x, y);
        break;
      case Op::sub:
        r = scalar::fsub(k, x, y);
        break;
      case Op::mul:
        r = scalar::fmul(k, x, y);
        break;
      case Op::div:
        r = scalar::fdiv(k, x, y);
        break;
      default:
        return nullptr;
    }
  } else {
    unsigned w = t->bits();
    bool u = t->isUnsigned();
    switch (op) {
      case Op::add:
        r = scalar::add(w, x, y);
        break;
      case Op::sub:
        r = scalar::sub(w, x, y);
        break;
      case Op::mul:
        r = scalar::mul(w, x, y);
        break;
      case Op::div:
        r = u ? scalar::udiv(w, x, y) : scalar::sdiv(w, x, y);
        break;
      case Op::rem:
        r = u ? scalar::urem(w, x, y) : scalar::srem(w, x, y);
        break;
      case Op::bitAnd:
        r = x & y;
        break;
      case Op::bitOr:
        r = x | y;
        break;
      case Op::bitXor:
        r = x ^ y;
        break;
      case Op::shl:
        r = scalar::shl(w, x, y);
        break;
      case Op::shr:
        r = u ? scalar::lshr(w, x, y) : scalar::ashr(w, x, y);
        break;
    }
  }
  ConstantExpr* c = constant(at, t, r);
  // + - * / of integer literals may still take part in a literal expression.
  c->literal = a->literal && b->literal && !t->isFloat() && op <= Op::div;
  return c;
}

// + - * / on literals, at least one of them a float: in float64, rounded when it is used.
Sema::Expr* Sema::foldLiteral(ast::BinaryOp op, ConstantExpr* a, ConstantExpr* b, SourceRange at) {
  double x = literalDouble(*a), y = literalDouble(*b), r = 0;
  switch (op) {
    case ast::BinaryOp::add:
      r = x + y;
      break;
    case ast::BinaryOp::sub:
      r = x - y;
      break;
    case ast::BinaryOp::mul:
      r = x * y;
      break;
    case ast::BinaryOp::div:
      r = x / y;
      break;
    default:
      return nullptr;
  }
  bool single = a->type == types_.float32() || b->type == types_.float32();
  uint64_t bits = r != r ? scalar::canonicalNan(FloatKind::F64) : f64Bits(r);
  ConstantExpr* c = constant(at, single ? types_.float32() : types_.float64(), bits);
  c->literal = true;
  return c;
}

Sema::Expr* Sema::foldCompare(checked::CompareOp op, ConstantExpr* a, ConstantExpr* b,
                              SourceRange at) {
  using Op = checked::CompareOp;
  const Type* t = a->type;
  uint64_t x = settledBits(*a), y = settledBits(*b);
  bool r;
  if (t->isFloat()) {
    constexpr FloatPredicate kFloat[] = {FloatPredicate::Oeq, FloatPredicate::Une,
                                         FloatPredicate::Olt, FloatPredicate::Ole,
                                         FloatPredicate::Ogt, FloatPredicate::Oge};
    r = scalar::fcmp(kFloat[static_cast<int>(op)], floatKind(t), x, y);
  } else {
    constexpr IntPredicate kSigned[] = {IntPredicate::Eq,  IntPredicate::Ne,  IntPredicate::Slt,
                                        IntPredicate::Sle, IntPredicate::Sgt, IntPredicate::Sge};
    constexpr IntPredicate kUnsigned[] = {IntPredicate::Eq,  IntPredicate::Ne,  IntPredicate::Ult,
                                          IntPredicate::Ule, IntPredicate::Ugt, IntPredicate::Uge};
    bool u = t->isUnsigned() || t->isPointer();
    r = scalar::icmp((u ? kUnsigned : kSigned)[static_cast<int>(op)], t->bits(), x, y);
  }
  static_assert(static_cast<int>(Op::greaterEqual) == 5);
  return constant(at, types_.boolType(), r);
}

}  // namespace mtlc::frontend
