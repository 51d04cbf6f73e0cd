// Rules of instcombine for integer and pointer comparisons.

#include "mtlc/support/scalar_ops.h"
#include "mtlc/transforms/combiner.h"
#include "mtlc/transforms/known_bits.h"

namespace mtlc::transforms {

using ir::Opcode;
using ir::Operation;
using ir::Type;
using ir::Value;

namespace {

bool isEquality(Opcode o) { return o == Opcode::CmpEq || o == Opcode::CmpNe; }
bool isSignedOrder(Opcode o) { return o >= Opcode::CmpSlt && o <= Opcode::CmpSge; }
Opcode asUnsigned(Opcode o) {
  static_assert(static_cast<int>(Opcode::CmpUlt) - static_cast<int>(Opcode::CmpSlt) == 4);
  return isSignedOrder(o) ? static_cast<Opcode>(static_cast<int>(o) + 4) : o;
}
bool holdsForEqual(Opcode o) {
  return o == Opcode::CmpEq || o == Opcode::CmpSle || o == Opcode::CmpSge || o == Opcode::CmpUle ||
         o == Opcode::CmpUge;
}

// The answer if the ranges of the operands decide it.
std::optional<bool> decide(Opcode o, const Value* a, const Value* b) {
  KnownBits p = knownBits(a), q = knownBits(b);
  const bool differ = (p.ones & q.zeros) != 0 || (p.zeros & q.ones) != 0;
  switch (o) {
    case Opcode::CmpEq:
      if (differ) return false;
      break;
    case Opcode::CmpNe:
      if (differ) return true;
      break;
    case Opcode::CmpUlt:
      if (p.umax() < q.umin()) return true;
      if (p.umin() >= q.umax()) return false;
      break;
    case Opcode::CmpUle:
      if (p.umax() <= q.umin()) return true;
      if (p.umin() > q.umax()) return false;
      break;
    case Opcode::CmpSlt:
      if (p.smax() < q.smin()) return true;
      if (p.smin() >= q.smax()) return false;
      break;
    case Opcode::CmpSle:
      if (p.smax() <= q.smin()) return true;
      if (p.smin() > q.smax()) return false;
      break;
    default: {  // The > forms: exchanged.
      return decide(ir::swappedCompare(o), b, a);
    }
  }
  return std::nullopt;
}

// Comparisons of i1: eq and ne only.
Value* combineBoolCompare(Combiner& c, Operation& op) {
  Value* a = op.operand(0);
  auto k = constOf(op.operand(1));
  if (!k) return nullptr;
  const bool same = (op.opcode() == Opcode::CmpEq) == (*k != 0);
  return same ? a : c.invert(a);
}

// (a ext) o (b ext) and (a ext) o k in the narrow type.
Value* combineExtended(Combiner& c, Opcode o, Value* a, Value* b) {
  Operation* x = a->def();
  if (!x || (x->opcode() != Opcode::ZExt && x->opcode() != Opcode::SExt)) return nullptr;
  const bool isZExt = x->opcode() == Opcode::ZExt;
  Value* narrow = x->operand(0);
  const Type type = narrow->type();
  // A zero extension is never negative, so order is unsigned. A sign extension keeps both orders.
  const Opcode in = isZExt ? asUnsigned(o) : o;
  if (type.isBool() && !isEquality(in)) return nullptr;
  if (Operation* y = defBy(b, x->opcode()); y && y->operand(0)->type() == type) {
    return c.compare(in, narrow, y->operand(0));
  }
  if (auto k = constOf(b)) {
    const uint64_t low = *k & type.mask();
    const uint64_t back = isZExt ? low : scalar::sext(type.bits(), a->type().bits(), low);
    if (back == *k) return c.compare(in, narrow, low);
  }
  return nullptr;
}

Value* combineEquality(Combiner& c, Operation& op) {
  const Opcode o = op.opcode();
  Value* a = op.operand(0);
  Value* b = op.operand(1);
  Operation* x = a->def();
  auto k = constOf(b);
  if (x && k) {
    if (x->opcode() == Opcode::Add) {
      if (auto k1 = constOf(x->operand(1))) return c.compare(o, x->operand(0), *k - *k1);
    }
    if (x->opcode() == Opcode::Xor) {
      if (auto k1 = constOf(x->operand(1))) return c.compare(o, x->operand(0), *k ^ *k1);
      if (*k == 0) return c.compare(o, x->operand(0), x->operand(1));
    }
    if (x->opcode() == Opcode::Sub) {
      if (*k == 0) return c.compare(o, x->operand(0), x->operand(1));
      if (auto k1 = constOf(x->operand(0))) return c.compare(o, x->operand(1), *k1 - *k);
    }
    if (x->opcode() == Opcode::Neg) return c.compare(o, x->operand(0), uint64_t{0} - *k);
    if (x->opcode() == Opcode::And && isPowerOfTwo(*k) && isConst(x->operand(1), *k)) {
      return c.compare(ir::invertedCompare(o), a, uint64_t{0});  // (x & 8) == 8
    }
    if (*k == 0 && (x->opcode() == Opcode::Abs || x->opcode() == Opcode::Popcount)) {
      return c.compare(o, x->operand(0), uint64_t{0});
    }
  }
  // x + y == x + z and the like
  Operation* y = b->def();
  if (x && y && x->opcode() == y->opcode() &&
      (x->opcode() == Opcode::Add || x->opcode() == Opcode::Xor)) {
    for (unsigned i = 0; i < 2; ++i) {
      for (unsigned j = 0; j < 2; ++j) {
        if (x->operand(i) == y->operand(j)) {
          return c.compare(o, x->operand(1 - i), y->operand(1 - j));
        }
      }
    }
  }
  return nullptr;
}

// select %c, k1, k2 compared with k3 is %c, its inverse, or known.
Value* combineSelectCompare(Combiner& c, Operation& op) {
  Operation* x = defBy(op.operand(0), Opcode::Select);
  auto k = constOf(op.operand(1));
  if (!x || !k || !x->operand(1)->type().isIntOrBool()) return nullptr;
  auto k1 = constOf(x->operand(1)), k2 = constOf(x->operand(2));
  if (!k1 || !k2) return nullptr;
  auto holds = [&](uint64_t v) {
    return scalar::icmp(
        static_cast<IntPredicate>(static_cast<int>(op.opcode()) - static_cast<int>(Opcode::CmpEq)),
        x->operand(1)->type().bits(), v, *k);
  };
  const bool yes = holds(*k1), no = holds(*k2);
  if (yes == no) return c.constant(ir::kI1, yes);
  return yes ? x->operand(0) : c.invert(x->operand(0));
}

}  // namespace

Value* combineCompare(Combiner& c, Operation& op) {
  const Opcode o = op.opcode();
  Value* a = op.operand(0);
  Value* b = op.operand(1);
  const Type type = a->type();
  if (a == b) return c.constant(ir::kI1, holdsForEqual(o));
  if (type.isBool()) return combineBoolCompare(c, op);
  if (ir::asConst(a) && !ir::asConst(b)) return c.compare(ir::swappedCompare(o), b, a);
  if (type.isPtr()) return nullptr;
  const unsigned w = type.bits();
  if (auto k = constOf(b)) {
    // One form for each: < and > rather than <= and >=, where there is such a constant.
    const uint64_t sign = scalar::signBit(w);
    switch (o) {
      case Opcode::CmpSle:
        if (*k != sign - 1) return c.compare(Opcode::CmpSlt, a, *k + 1);
        break;
      case Opcode::CmpSge:
        if (*k != sign) return c.compare(Opcode::CmpSgt, a, *k - 1);
        break;
      case Opcode::CmpUle:
        if (*k != type.mask()) return c.compare(Opcode::CmpUlt, a, *k + 1);
        break;
      case Opcode::CmpUge:
        if (*k != 0) return c.compare(Opcode::CmpUgt, a, *k - 1);
        break;
      case Opcode::CmpUlt:
        if (*k == 1) return c.compare(Opcode::CmpEq, a, uint64_t{0});
        break;
      case Opcode::CmpUgt:
        if (*k == 0) return c.compare(Opcode::CmpNe, a, b);
        break;
      default:
        break;
    }
  }
  if (std::optional<bool> known = decide(o, a, b)) return c.constant(ir::kI1, *known);
  if (Value* v = combineExtended(c, o, a, b)) return v;
  if (ir::asConst(b)) {
    if (Value* v = combineSelectCompare(c, op)) return v;
  }
  return isEquality(o) ? combineEquality(c, op) : nullptr;
}

}  // namespace mtlc::transforms
