// Rules of instcombine for select.

#include "mtlc/support/scalar_ops.h"
#include "mtlc/transforms/combiner.h"

namespace mtlc::transforms {

using ir::Opcode;
using ir::Operation;
using ir::Type;
using ir::Value;

namespace {

Value* combineBoolSelect(Combiner& c, Value* condition, Value* a, Value* b) {
  if (auto k = constOf(a)) {
    // Two constants differ, or they would be one.
    if (ir::asConst(b)) return *k ? condition : c.invert(condition);
    return *k ? c.binary(Opcode::Or, condition, b) : c.binary(Opcode::And, c.invert(condition), b);
  }
  if (auto k = constOf(b)) {
    return *k ? c.binary(Opcode::Or, c.invert(condition), a) : c.binary(Opcode::And, condition, a);
  }
  if (a == condition) return c.binary(Opcode::Or, condition, b);
  if (b == condition) return c.binary(Opcode::And, condition, a);
  return nullptr;
}

// select (x < y), x, y and its relatives, for integers only: for floats, NaN and the sign of zero
// would change.
Value* combineIntMinMax(Combiner& c, Operation* compare, Value* a, Value* b) {
  Value* x = compare->operand(0);
  Value* y = compare->operand(1);
  Opcode o = compare->opcode();
  if (!x->type().isInt()) return nullptr;
  // x < k ? x : k - 1 and x > k ? x : k + 1 are the forms that canonical comparisons leave behind.
  auto k = constOf(y);
  auto near = [&](Value* v, int64_t delta) {
    return k && isConst(v, *k + static_cast<uint64_t>(delta));
  };
  const unsigned w = x->type().bits();
  const uint64_t sign = scalar::signBit(w);
  switch (o) {
    case Opcode::CmpSlt:
      if (a == x && k && *k != sign && near(b, -1)) return c.binary(Opcode::SMin, a, b);
      if (b == x && k && *k != sign && near(a, -1)) return c.binary(Opcode::SMax, b, a);
      break;
    case Opcode::CmpSgt:
      if (a == x && k && *k != sign - 1 && near(b, 1)) return c.binary(Opcode::SMax, a, b);
      if (b == x && k && *k != sign - 1 && near(a, 1)) return c.binary(Opcode::SMin, b, a);
      break;
    case Opcode::CmpUlt:
      if (a == x && k && *k != 0 && near(b, -1)) return c.binary(Opcode::UMin, a, b);
      if (b == x && k && *k != 0 && near(a, -1)) return c.binary(Opcode::UMax, b, a);
      break;
    case Opcode::CmpUgt:
      if (a == x && k && *k != x->type().mask() && near(b, 1)) return c.binary(Opcode::UMax, a, b);
      if (b == x && k && *k != x->type().mask() && near(a, 1)) return c.binary(Opcode::UMin, b, a);
      break;
    default:
      break;
  }
  if (a == y && b == x) {
    o = ir::swappedCompare(o);
    std::swap(x, y);
  }
  if (a != x || b != y) return nullptr;
  switch (o) {
    case Opcode::CmpSlt:
    case Opcode::CmpSle:
      return c.binary(Opcode::SMin, x, y);
    case Opcode::CmpSgt:
    case Opcode::CmpSge:
      return c.binary(Opcode::SMax, x, y);
    case Opcode::CmpUlt:
    case Opcode::CmpUle:
      return c.binary(Opcode::UMin, x, y);
    case Opcode::CmpUgt:
    case Opcode::CmpUge:
      return c.binary(Opcode::UMax, x, y);
    case Opcode::CmpEq:  // x == y ? x : y
      return y;
    case Opcode::CmpNe:
      return x;
    default:
      return nullptr;
  }
}

// x < 0 ? -x : x
Value* combineAbs(Combiner& c, Operation* compare, Value* a, Value* b) {
  Value* x = compare->operand(0);
  if (!x->type().isInt()) return nullptr;
  auto isNeg = [&](Value* v) {
    Operation* n = defBy(v, Opcode::Neg);
    return n && n->operand(0) == x;
  };
  const bool below = compare->opcode() == Opcode::CmpSlt && isConst(compare->operand(1), 0);
  const bool above =
      compare->opcode() == Opcode::CmpSgt &&
      (isConst(compare->operand(1), ~uint64_t{0}) || isConst(compare->operand(1), 0));
  if ((below && isNeg(a) && b == x) || (above && a == x && isNeg(b))) {
    return c.unary(Opcode::Abs, x);
  }
  return nullptr;
}

}  // namespace

Value* combineSelect(Combiner& c, Operation& op) {
  Value* condition = op.operand(0);
  Value* a = op.operand(1);
  Value* b = op.operand(2);
  const Type type = op.resultType();
  if (a == b) return a;
  if (auto k = constOf(condition)) return *k ? a : b;
  if (Value* inner = notOperand(condition)) return c.select(inner, b, a);
  if (type.isBool()) {
    if (Value* v = combineBoolSelect(c, condition, a, b)) return v;
  }
  // The other arm of a nested select on the same condition is never taken.
  if (Operation* x = defBy(a, Opcode::Select); x && x->operand(0) == condition) {
    return c.setOperand(op, 1, x->operand(1));
  }
  if (Operation* x = defBy(b, Opcode::Select); x && x->operand(0) == condition) {
    return c.setOperand(op, 2, x->operand(2));
  }
  if (type.isInt()) {
    auto ka = constOf(a), kb = constOf(b);
    if (ka && kb && *kb == 0 && *ka == 1) return c.cast(Opcode::ZExt, condition, type);
    if (ka && kb && *kb == 0 && *ka == type.mask()) return c.cast(Opcode::SExt, condition, type);
    if (ka && kb && *ka == 0 && *kb == 1) {
      return c.cast(Opcode::ZExt, c.invert(condition), type);
    }
    if (ka && kb && *ka == 0 && *kb == type.mask()) {
      return c.cast(Opcode::SExt, c.invert(condition), type);
    }
  }
  Operation* compare = condition->def();
  if (compare && compare->form() == ir::Form::Compare && type.isInt()) {
    if (Value* v = combineIntMinMax(c, compare, a, b)) return v;
    if (Value* v = combineAbs(c, compare, a, b)) return v;
  }
  return nullptr;
}

}  // namespace mtlc::transforms
