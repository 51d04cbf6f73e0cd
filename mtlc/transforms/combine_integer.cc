// Rules of instcombine for integer arithmetic. All hold for wrapping arithmetic at the type's own
// width.

#include <algorithm>

#include "mtlc/support/scalar_ops.h"
#include "mtlc/transforms/combiner.h"
#include "mtlc/transforms/known_bits.h"

namespace mtlc::transforms {

using ir::Opcode;
using ir::Operation;
using ir::Type;
using ir::Value;

namespace {

// v as x * factor; the factor is 1 for anything but a product or a shift by a constant.
struct Product {
  Value* x;
  uint64_t factor;
};
Product asProduct(Value* v) {
  if (Operation* mul = defBy(v, Opcode::Mul)) {
    if (auto k = constOf(mul->operand(1))) return {mul->operand(0), *k};
  }
  if (Operation* shl = defBy(v, Opcode::Shl)) {
    if (auto k = constOf(shl->operand(1))) {
      return {shl->operand(0), uint64_t{1} << (*k & (v->type().bits() - 1))};
    }
  }
  return {v, 1};
}

Value* combineAdd(Combiner& c, Operation& op) {
  Value* a = op.operand(0);
  Value* b = op.operand(1);
  const Type type = op.resultType();
  if (auto k = constOf(b)) {
    if (*k == 0) return a;
    if (Operation* x = defBy(a, Opcode::Add)) {  // (x + k1) + k
      if (auto k1 = constOf(x->operand(1))) return c.binary(Opcode::Add, x->operand(0), *k1 + *k);
    }
    if (Operation* x = defBy(a, Opcode::Sub)) {  // (k1 - x) + k
      if (auto k1 = constOf(x->operand(0))) {
        return c.binary(Opcode::Sub, c.constant(type, *k1 + *k), x->operand(1));
      }
    }
    if (Value* x = notOperand(a)) {  // (-1 - x) + k
      return c.binary(Opcode::Sub, c.constant(type, *k - 1), x);
    }
    return nullptr;
  }
  if (Operation* x = defBy(b, Opcode::Neg)) return c.binary(Opcode::Sub, a, x->operand(0));
  if (Operation* x = defBy(a, Opcode::Neg)) return c.binary(Opcode::Sub, b, x->operand(0));
  if (Operation* x = defBy(a, Opcode::Sub); x && x->operand(1) == b) return x->operand(0);
  if (Operation* x = defBy(b, Opcode::Sub); x && x->operand(1) == a) return x->operand(0);
  // x * k1 + x * k2
  Product p = asProduct(a), q = asProduct(b);
  if (p.x == q.x && (p.factor == 1 || a->hasOneUse()) && (q.factor == 1 || b->hasOneUse())) {
    return c.binary(Opcode::Mul, p.x, p.factor + q.factor);
  }
  return nullptr;
}

Value* combineSub(Combiner& c, Operation& op) {
  Value* a = op.operand(0);
  Value* b = op.operand(1);
  const Type type = op.resultType();
  if (a == b) return c.constant(type, 0);
  if (auto k = constOf(b)) return c.binary(Opcode::Add, a, uint64_t{0} - *k);
  if (auto k = constOf(a)) {
    if (*k == 0) return c.unary(Opcode::Neg, b);
    if (*k == type.mask()) return c.binary(Opcode::Xor, b, ~uint64_t{0});
    if (Operation* x = defBy(b, Opcode::Add)) {  // k - (x + k1)
      if (auto k1 = constOf(x->operand(1))) {
        return c.binary(Opcode::Sub, c.constant(type, *k - *k1), x->operand(0));
      }
    }
    if (Operation* x = defBy(b, Opcode::Sub)) {  // k - (k1 - x)
      if (auto k1 = constOf(x->operand(0))) {
        return c.binary(Opcode::Add, x->operand(1), *k - *k1);
      }
    }
  }
  if (Operation* x = defBy(b, Opcode::Neg)) return c.binary(Opcode::Add, a, x->operand(0));
  if (Operation* x = defBy(a, Opcode::Add)) {
    if (x->operand(0) == b) return x->operand(1);
    if (x->operand(1) == b) return x->operand(0);
  }
  if (Operation* x = defBy(b, Opcode::Add)) {
    if (x->operand(0) == a) return c.unary(Opcode::Neg, x->operand(1));
    if (x->operand(1) == a) return c.unary(Opcode::Neg, x->operand(0));
  }
  if (Operation* x = defBy(b, Opcode::Sub); x && x->operand(0) == a) return x->operand(1);
  if (Operation* x = defBy(a, Opcode::Sub); x && x->operand(0) == b) {
    return c.unary(Opcode::Neg, x->operand(1));
  }
  Product p = asProduct(a), q = asProduct(b);
  if (p.x == q.x && (p.factor == 1 || a->hasOneUse()) && (q.factor == 1 || b->hasOneUse())) {
    return c.binary(Opcode::Mul, p.x, p.factor - q.factor);
  }
  // A multiply-add takes a negative factor as well as a positive one.
  if (Operation* x = defBy(b, Opcode::Mul); x && b->hasOneUse()) {
    if (auto k = constOf(x->operand(1))) {
      return c.binary(Opcode::Add, a, c.binary(Opcode::Mul, x->operand(0), uint64_t{0} - *k));
    }
  }
  return nullptr;
}

}  // namespace

Value* combineAddSub(Combiner& c, Operation& op) {
  return op.opcode() == Opcode::Add ? combineAdd(c, op) : combineSub(c, op);
}

Value* combineMul(Combiner& c, Operation& op) {
  Value* a = op.operand(0);
  Value* b = op.operand(1);
  const Type type = op.resultType();
  const unsigned w = type.bits();
  auto k = constOf(b);
  if (op.opcode() == Opcode::UMulHi) {
    if (k && *k <= 1) return c.constant(type, 0);
    if (k && isPowerOfTwo(*k)) {
      return c.binary(Opcode::LShr, a, w - static_cast<unsigned>(std::countr_zero(*k)));
    }
    return nullptr;
  }
  if (op.opcode() == Opcode::SMulHi) {
    if (k && *k == 0) return b;
    if (k && *k == 1) return c.binary(Opcode::AShr, a, w - 1);
    return nullptr;
  }
  if (k) {
    if (*k == 0) return b;
    if (*k == 1) return a;
    if (*k == type.mask()) return c.unary(Opcode::Neg, a);
    if (isPowerOfTwo(*k)) {
      return c.binary(Opcode::Shl, a, static_cast<uint64_t>(std::countr_zero(*k)));
    }
    if (Product p = asProduct(a); p.x != a) return c.binary(Opcode::Mul, p.x, p.factor * *k);
    if (Operation* x = defBy(a, Opcode::Neg)) {
      return c.binary(Opcode::Mul, x->operand(0), uint64_t{0} - *k);
    }
    if (Operation* x = defBy(a, Opcode::Add); x && a->hasOneUse()) {  // (x + k1) * k
      if (auto k1 = constOf(x->operand(1))) {
        return c.binary(Opcode::Add, c.binary(Opcode::Mul, x->operand(0), *k), *k1 * *k);
      }
    }
    return nullptr;
  }
  if (Operation* x = defBy(a, Opcode::Neg)) {
    if (Operation* y = defBy(b, Opcode::Neg)) {
      return c.binary(Opcode::Mul, x->operand(0), y->operand(0));
    }
  }
  // A factor of 0 or 1 selects.
  for (unsigned i = 0; i < 2; ++i) {
    Operation* x = defBy(op.operand(i), Opcode::ZExt);
    if (x && x->operand(0)->type().isBool()) {
      return c.select(x->operand(0), op.operand(1 - i), c.constant(type, 0));
    }
  }
  return nullptr;
}

Value* combineMinMax(Combiner& c, Operation& op) {
  Value* a = op.operand(0);
  Value* b = op.operand(1);
  if (a == b) return a;
  const bool isSigned = op.opcode() == Opcode::SMin || op.opcode() == Opcode::SMax;
  const bool isMin = op.opcode() == Opcode::SMin || op.opcode() == Opcode::UMin;
  if (auto k = constOf(b)) {
    Operation* x = defBy(a, op.opcode());
    if (x && constOf(x->operand(1))) {  // min(min(x, k1), k): the folder computes min(k1, k).
      return c.binary(op.opcode(), x->operand(0), c.binary(op.opcode(), x->operand(1), b));
    }
  }
  // One operand is never beyond the other.
  KnownBits p = knownBits(a), q = knownBits(b);
  bool aBelow = isSigned ? p.smax() <= q.smin() : p.umax() <= q.umin();
  bool bBelow = isSigned ? q.smax() <= p.smin() : q.umax() <= p.umin();
  if (aBelow) return isMin ? a : b;
  if (bBelow) return isMin ? b : a;
  return nullptr;
}

Value* combineIntUnary(Combiner& c, Operation& op) {
  Value* a = op.operand(0);
  const Type type = op.resultType();
  if (op.opcode() == Opcode::Neg) {
    if (Operation* x = defBy(a, Opcode::Neg)) return x->operand(0);
    if (Operation* x = defBy(a, Opcode::Sub); x && a->hasOneUse()) {
      return c.binary(Opcode::Sub, x->operand(1), x->operand(0));
    }
    if (Operation* x = defBy(a, Opcode::Add)) {  // -(x + k)
      if (auto k = constOf(x->operand(1))) {
        return c.binary(Opcode::Sub, c.constant(type, uint64_t{0} - *k), x->operand(0));
      }
    }
    if (Operation* x = defBy(a, Opcode::Mul); x && a->hasOneUse()) {
      if (auto k = constOf(x->operand(1))) {
        return c.binary(Opcode::Mul, x->operand(0), uint64_t{0} - *k);
      }
    }
    if (Value* x = notOperand(a)) return c.binary(Opcode::Add, x, 1);
    if (Operation* x = defBy(a, Opcode::ZExt); x && x->operand(0)->type().isBool()) {
      return c.cast(Opcode::SExt, x->operand(0), type);
    }
    if (Operation* x = defBy(a, Opcode::SExt); x && x->operand(0)->type().isBool()) {
      return c.cast(Opcode::ZExt, x->operand(0), type);
    }
    return nullptr;
  }
  if (op.opcode() == Opcode::Abs) {
    if (Operation* x = defBy(a, Opcode::Neg)) return c.unary(Opcode::Abs, x->operand(0));
    if (defBy(a, Opcode::Abs)) return a;  // abs(MIN) = MIN, and again.
    if (knownBits(a).nonNegative()) return a;
  }
  return nullptr;
}

}  // namespace mtlc::transforms
