// Rules of instcombine for and, or, xor and shifts.

#include <algorithm>
#include <bit>

#include "mtlc/support/scalar_ops.h"
#include "mtlc/transforms/combiner.h"
#include "mtlc/transforms/known_bits.h"

namespace mtlc::transforms {

using ir::Opcode;
using ir::Operation;
using ir::Type;
using ir::Value;

namespace {

// x >= 0 & x < k is x <u k for k >= 0.
Value* combineRangeCheck(Combiner& c, Value* a, Value* b) {
  for (int i = 0; i < 2; ++i, std::swap(a, b)) {
    Operation* low = defBy(a, Opcode::CmpSgt);
    Operation* high = defBy(b, Opcode::CmpSlt);
    if (!low || !high || low->operand(0) != high->operand(0)) continue;
    if (!isConst(low->operand(1), ~uint64_t{0})) continue;
    if (!knownBits(high->operand(1)).nonNegative()) continue;
    return c.compare(Opcode::CmpUlt, high->operand(0), high->operand(1));
  }
  return nullptr;
}

Value* combineAnd(Combiner& c, Operation& op) {
  Value* a = op.operand(0);
  Value* b = op.operand(1);
  const Type type = op.resultType();
  if (a == b) return a;
  if (auto k = constOf(b)) {
    if (*k == 0) return b;
    if (*k == type.mask()) return a;
    if (Operation* x = defBy(a, Opcode::And)) {
      if (auto k1 = constOf(x->operand(1))) return c.binary(Opcode::And, x->operand(0), *k1 & *k);
    }
    if (Operation* x = defBy(a, Opcode::Or)) {
      if (auto k1 = constOf(x->operand(1))) {
        if ((*k1 & *k) == 0) return c.binary(Opcode::And, x->operand(0), *k);
        if ((*k1 & *k) == *k) return b;
      }
    }
    // The mask clears nothing that may be set.
    KnownBits known = knownBits(a);
    if ((known.umax() & ~*k) == 0) return a;
    return nullptr;
  }
  if (notOperand(a) == b || notOperand(b) == a) return c.constant(type, 0);
  for (unsigned i = 0; i < 2; ++i) {  // x & (x | y)
    Operation* x = defBy(op.operand(i), Opcode::Or);
    Value* other = op.operand(1 - i);
    if (x && (x->operand(0) == other || x->operand(1) == other)) return other;
  }
  return type.isBool() ? combineRangeCheck(c, a, b) : nullptr;
}

Value* combineOr(Combiner& c, Operation& op) {
  Value* a = op.operand(0);
  Value* b = op.operand(1);
  const Type type = op.resultType();
  if (a == b) return a;
  if (auto k = constOf(b)) {
    if (*k == 0) return a;
    if (*k == type.mask()) return b;
    if (Operation* x = defBy(a, Opcode::Or)) {
      if (auto k1 = constOf(x->operand(1))) return c.binary(Opcode::Or, x->operand(0), *k1 | *k);
    }
    if (Operation* x = defBy(a, Opcode::And)) {
      auto k1 = constOf(x->operand(1));
      if (k1 && (*k1 | *k) == type.mask()) return c.binary(Opcode::Or, x->operand(0), *k);
    }
    return nullptr;
  }
  if (notOperand(a) == b || notOperand(b) == a) return c.constant(type, type.mask());
  for (unsigned i = 0; i < 2; ++i) {  // x | (x & y)
    Operation* x = defBy(op.operand(i), Opcode::And);
    Value* other = op.operand(1 - i);
    if (x && (x->operand(0) == other || x->operand(1) == other)) return other;
  }
  return nullptr;
}

Value* combineXor(Combiner& c, Operation& op) {
  Value* a = op.operand(0);
  Value* b = op.operand(1);
  const Type type = op.resultType();
  if (a == b) return c.constant(type, 0);
  if (auto k = constOf(b)) {
    if (*k == 0) return a;
    if (Operation* x = defBy(a, Opcode::Xor)) {
      if (auto k1 = constOf(x->operand(1))) return c.binary(Opcode::Xor, x->operand(0), *k1 ^ *k);
    }
    if (type.isBool()) {
      Operation* def = a->def();
      if (def && def->form() == ir::Form::Compare && a->hasOneUse()) {
        return c.compare(ir::invertedCompare(def->opcode()), def->operand(0), def->operand(1));
      }
    }
    if (*k == type.mask()) {
      if (Operation* x = defBy(a, Opcode::Neg)) {  // ~(-x) = x - 1
        return c.binary(Opcode::Add, x->operand(0), ~uint64_t{0});
      }
      if (Operation* x = defBy(a, Opcode::Add)) {  // ~(x + k1) = (-1 - k1) - x
        if (auto k1 = constOf(x->operand(1))) {
          return c.binary(Opcode::Sub, c.constant(type, ~*k1), x->operand(0));
        }
      }
    }
    return nullptr;
  }
  if (notOperand(a) == b || notOperand(b) == a) return c.constant(type, type.mask());
  return nullptr;
}

// The amount without operations that leave its low log2(width) bits alone.
Value* strippedAmount(Value* amount) {
  const uint64_t used = amount->type().bits() - 1;
  for (int steps = 0; steps < 8; ++steps) {
    const Operation* def = amount->def();
    if (!def || def->operandCount() != 2) break;
    auto k = constOf(def->operand(1));
    if (!k) break;
    const bool keeps = def->opcode() == Opcode::And ? (*k & used) == used
                       : def->opcode() == Opcode::Or || def->opcode() == Opcode::Xor ||
                               def->opcode() == Opcode::Add
                           ? (*k & used) == 0
                           : false;
    if (!keeps) break;
    amount = def->operand(0);
  }
  return amount;
}

Value* combineShl(Combiner& c, Value* a, unsigned n, Type type) {
  const unsigned w = type.bits();
  if (Operation* x = defBy(a, Opcode::Shl)) {
    if (auto k = constOf(x->operand(1))) {
      uint64_t sum = (*k & (w - 1)) + n;
      return sum < w ? c.binary(Opcode::Shl, x->operand(0), sum) : c.constant(type, 0);
    }
  }
  if (Operation* x = defBy(a, Opcode::Mul)) {
    if (auto k = constOf(x->operand(1))) {
      return c.binary(Opcode::Mul, x->operand(0), *k << n);
    }
  }
  if (a->def() && (a->def()->opcode() == Opcode::LShr || a->def()->opcode() == Opcode::AShr) &&
      isConst(a->def()->operand(1), n)) {  // (x >> n) << n
    return c.binary(Opcode::And, a->def()->operand(0), type.mask() << n);
  }
  if (Operation* x = defBy(a, Opcode::Add); x && a->hasOneUse()) {  // (x + k) << n
    if (auto k = constOf(x->operand(1))) {
      return c.binary(Opcode::Add, c.binary(Opcode::Shl, x->operand(0), n), *k << n);
    }
  }
  return nullptr;
}

Value* combineLShr(Combiner& c, Value* a, unsigned n, Type type) {
  const unsigned w = type.bits();
  if (Operation* x = defBy(a, Opcode::LShr)) {
    if (auto k = constOf(x->operand(1))) {
      uint64_t sum = (*k & (w - 1)) + n;
      return sum < w ? c.binary(Opcode::LShr, x->operand(0), sum) : c.constant(type, 0);
    }
  }
  if (Operation* x = defBy(a, Opcode::Shl); x && isConst(x->operand(1), n)) {  // (x << n) >> n
    return c.binary(Opcode::And, x->operand(0), type.mask() >> n);
  }
  if (Operation* x = defBy(a, Opcode::AShr); x && n == w - 1) {  // The sign bit.
    return c.binary(Opcode::LShr, x->operand(0), n);
  }
  if (knownBits(a).umax() >> n == 0) return c.constant(type, 0);
  return nullptr;
}

Value* combineAShr(Combiner& c, Value* a, unsigned n, Type type) {
  const unsigned w = type.bits();
  if (Operation* x = defBy(a, Opcode::AShr)) {
    if (auto k = constOf(x->operand(1))) {
      uint64_t sum = std::min<uint64_t>((*k & (w - 1)) + n, w - 1);
      return c.binary(Opcode::AShr, x->operand(0), sum);
    }
  }
  if (Operation* x = defBy(a, Opcode::Shl); x && isConst(x->operand(1), n)) {
    Type narrow = Type::integer(w - n);  // (x << n) >> n keeps the low w - n bits, with their sign.
    if (narrow.isInt())
      return c.cast(Opcode::SExt, c.cast(Opcode::Trunc, x->operand(0), narrow), type);
  }
  if (knownBits(a).nonNegative()) return c.binary(Opcode::LShr, a, n);
  return nullptr;
}

}  // namespace

Value* combineBitwise(Combiner& c, Operation& op) {
  switch (op.opcode()) {
    case Opcode::And:
      return combineAnd(c, op);
    case Opcode::Or:
      return combineOr(c, op);
    default:
      return combineXor(c, op);
  }
}

Value* combineShift(Combiner& c, Operation& op) {
  Value* a = op.operand(0);
  const Type type = op.resultType();
  const unsigned w = type.bits();
  if (isConst(a, 0)) return a;
  if (op.opcode() == Opcode::AShr && isConst(a, ~uint64_t{0})) return a;
  auto k = constOf(op.operand(1));
  if (!k) {
    Value* amount = strippedAmount(op.operand(1));
    return amount == op.operand(1) ? nullptr : c.setOperand(op, 1, amount);
  }
  const unsigned n = static_cast<unsigned>(*k & (w - 1));  // The amount is taken modulo the width.
  if (n == 0) return a;
  if (n != *k) return c.setOperand(op, 1, c.constant(type, n));
  switch (op.opcode()) {
    case Opcode::Shl:
      return combineShl(c, a, n, type);
    case Opcode::LShr:
      return combineLShr(c, a, n, type);
    default:
      return combineAShr(c, a, n, type);
  }
}

}  // namespace mtlc::transforms
