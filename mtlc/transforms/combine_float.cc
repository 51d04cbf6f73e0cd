// Rules of instcombine for floating point.
//
// Without flags, a rule must give the same bits for every operand: signed zeros, infinities,
// subnormals and NaN. As an arithmetic operation turns any NaN into the canonical one, x + (-0) or
// x * 1 may become x only where x cannot be another NaN, that is, where x is itself the result of
// arithmetic. What flags permit is named beside each rule.

#include <bit>

#include "mtlc/support/scalar_ops.h"
#include "mtlc/transforms/combiner.h"
#include "mtlc/transforms/fold.h"

namespace mtlc::transforms {

using ir::Opcode;
using ir::Operation;
using ir::Type;
using ir::Value;

namespace {

uint64_t bitsOf(Type type, double v) { return scalar::fromDouble(floatKind(type), v); }
bool isFloat(const Value* v, double x) { return isConst(v, bitsOf(v->type(), x)); }

// True if `v` is never a NaN with a payload or a sign: it is what arithmetic gives, or a constant.
bool hasCanonicalNan(const Value* v) {
  const Operation* def = v->def();
  if (!def) return false;
  if (def->opcode() == Opcode::Const) {
    FloatKind kind = floatKind(v->type());
    return !scalar::isNan(kind, def->constBits()) || def->constBits() == scalar::canonicalNan(kind);
  }
  switch (def->opcode()) {
    case Opcode::FAdd:
    case Opcode::FSub:
    case Opcode::FMul:
    case Opcode::FDiv:
    case Opcode::Fma:
    case Opcode::FSqrt:
    case Opcode::FMin:
    case Opcode::FMax:
    case Opcode::FMinNan:
    case Opcode::FMaxNan:
    case Opcode::FFloor:
    case Opcode::FCeil:
    case Opcode::FTrunc:
    case Opcode::FRound:
    case Opcode::FRoundEven:
    case Opcode::SIToF:
    case Opcode::UIToF:
      return true;
    default:
      return false;
  }
}

Value* negated(const Value* v) {
  Operation* n = defBy(v, Opcode::FNeg);
  return n ? n->operand(0) : nullptr;
}

// A product that may be fused into a sum with `flags`.
Operation* contractible(const Value* v, uint8_t flags) {
  if (!(flags & ir::kContract)) return nullptr;
  Operation* m = defBy(v, Opcode::FMul);
  return m && (m->fastMath() & ir::kContract) ? m : nullptr;
}

// The flags of an operation that stands for both.
uint8_t common(const Operation& a, const Operation& b) { return a.fastMath() & b.fastMath(); }

class FloatRules {
 public:
  FloatRules(Combiner& c, Operation& op)
      : c_(c),
        op_(op),
        flags_(op.fastMath() & ~ir::kApprox),
        type_(op.resultType()),
        a_(op.operand(0)),
        b_(op.operandCount() > 1 ? op.operand(1) : nullptr) {}

  Value* run() {
    switch (op_.opcode()) {
      case Opcode::FAdd:
        return add();
      case Opcode::FSub:
        return sub();
      case Opcode::FMul:
        return mul();
      case Opcode::FDiv:
        return div();
      case Opcode::Fma:
        return fma();
      case Opcode::FNeg:
        return neg();
      case Opcode::FAbs:
        return abs();
      case Opcode::FMin:
      case Opcode::FMax:
      case Opcode::FMinNan:
      case Opcode::FMaxNan:
        return minMax();
      case Opcode::FFloor:
      case Opcode::FCeil:
      case Opcode::FTrunc:
      case Opcode::FRound:
      case Opcode::FRoundEven:
        return round();
      default:
        return nullptr;
    }
  }

 private:
  bool may(uint8_t flags) const { return (flags_ & flags) == flags; }
  // `v` may stand for this operation when the real numbers are equal: neither NaN bits nor, with
  // ftz, subnormals differ.
  bool keeps(const Value* v) const {
    return (hasCanonicalNan(v) || may(ir::kNoNaNs)) && !may(ir::kFlushSubnormals);
  }
  Value* constant(double v) { return c_.constant(type_, bitsOf(type_, v)); }
  Value* make(Opcode opcode, Value* a, Value* b) { return c_.binary(opcode, a, b, flags_); }
  Value* makeFma(const Operation& product, Value* a, Value* b, Value* addend) {
    return c_.build(Opcode::Fma, type_, {a, b, addend}, common(product, op_));
  }

  Value* add() {
    if (isFloat(b_, -0.0) && keeps(a_)) return a_;
    // x + 0 is x but for x = -0.
    if (isFloat(b_, 0.0) && may(ir::kNoSignedZeros) && keeps(a_)) return a_;
    if (Value* y = negated(b_)) return make(Opcode::FSub, a_, y);
    if (Value* x = negated(a_)) return make(Opcode::FSub, b_, x);
    if (Operation* m = contractible(a_, flags_)) {
      return makeFma(*m, m->operand(0), m->operand(1), b_);
    }
    if (Operation* m = contractible(b_, flags_)) {
      return makeFma(*m, m->operand(0), m->operand(1), a_);
    }
    return nullptr;
  }

  Value* sub() {
    if (isFloat(b_, 0.0) && keeps(a_)) return a_;
    if (isFloat(b_, -0.0) && may(ir::kNoSignedZeros) && keeps(a_)) return a_;
    // inf - inf is NaN.
    if (a_ == b_ && may(ir::kNoNaNs)) return constant(0.0);
    // -0 - x is -x, but for the sign of a NaN; 0 - x also for x = 0.
    if (may(ir::kNoNaNs) && !may(ir::kFlushSubnormals)) {
      if (isFloat(a_, -0.0)) return c_.unary(Opcode::FNeg, b_);
      if (isFloat(a_, 0.0) && may(ir::kNoSignedZeros)) return c_.unary(Opcode::FNeg, b_);
    }
    if (Value* y = negated(b_)) return make(Opcode::FAdd, a_, y);
    if (Operation* m = contractible(a_, flags_)) {
      return makeFma(*m, m->operand(0), m->operand(1), c_.unary(Opcode::FNeg, b_));
    }
    if (Operation* m = contractible(b_, flags_)) {
      return makeFma(*m, c_.unary(Opcode::FNeg, m->operand(0)), m->operand(1), a_);
    }
    return nullptr;
  }

  Value* mul() {
    if (isFloat(b_, 1.0) && keeps(a_)) return a_;
    if (isFloat(b_, -1.0) && may(ir::kNoNaNs) && !may(ir::kFlushSubnormals)) {
      return c_.unary(Opcode::FNeg, a_);
    }
    // inf * 0 is NaN, and -1 * 0 is -0.
    if (isFloat(b_, 0.0) && may(ir::kNoNaNs | ir::kNoSignedZeros)) return b_;
    return negatedFactors();
  }

  // (-a) * (-b) = a * b, (-a) * k = a * -k; the same for quotients.
  Value* negatedFactors() {
    Value* x = negated(a_);
    if (!x) return nullptr;
    if (Value* y = negated(b_)) return c_.binary(op_.opcode(), x, y, op_.fastMath());
    if (auto k = constOf(b_)) {
      Value* minusK = c_.constant(type_, scalar::fneg(floatKind(type_), *k));
      return c_.binary(op_.opcode(), x, minusK, op_.fastMath());
    }
    return nullptr;
  }

  Value* div() {
    if (isFloat(b_, 1.0) && keeps(a_)) return a_;
    // 0 / 0 and inf / inf are NaN.
    if (a_ == b_ && may(ir::kNoNaNs)) return constant(1.0);
    if (auto k = constOf(b_)) {
      // Dividing by 2^n is multiplying by 2^-n, exactly, while both are normal numbers.
      const FloatFormatInfo& format = floatFormatInfo(formatOf(floatKind(type_)));
      const uint64_t fraction = *k & ((uint64_t{1} << format.mantissaBits) - 1);
      const uint64_t exponentMask = (uint64_t{1} << format.exponentBits) - 1;
      const uint64_t exponent = *k >> format.mantissaBits & exponentMask;
      const uint64_t twiceBias = 2 * static_cast<uint64_t>(format.bias);
      if (fraction == 0 && exponent >= 1 && exponent < twiceBias) {
        const uint64_t sign = *k & scalar::signBit(type_.bits());
        const uint64_t inverse = sign | (twiceBias - exponent) << format.mantissaBits;
        return make(Opcode::FMul, a_, c_.constant(type_, inverse));
      }
    }
    return negatedFactors();
  }

  Value* fma() {
    Value* addend = op_.operand(2);
    if (isFloat(b_, 1.0)) return make(Opcode::FAdd, a_, addend);
    if (isFloat(b_, -1.0)) return make(Opcode::FSub, addend, a_);
    if (isFloat(a_, 1.0) || isFloat(a_, -1.0) || (ir::asConst(a_) && !ir::asConst(b_))) {
      std::swap(a_, b_);
      c_.setOperand(op_, 0, a_);
      return c_.setOperand(op_, 1, b_);
    }
    if (isFloat(addend, -0.0)) return make(Opcode::FMul, a_, b_);
    if (isFloat(addend, 0.0) && may(ir::kNoSignedZeros)) return make(Opcode::FMul, a_, b_);
    Value* x = negated(a_);
    Value* y = negated(b_);
    if (x && y) {
      c_.setOperand(op_, 0, x);
      return c_.setOperand(op_, 1, y);
    }
    if (auto k = constOf(b_); k && x) {
      c_.setOperand(op_, 0, x);
      return c_.setOperand(op_, 1, c_.constant(type_, scalar::fneg(floatKind(type_), *k)));
    }
    return nullptr;
  }

  // Only bits move: these hold for every NaN too.
  Value* neg() { return negated(a_); }
  Value* abs() {
    if (defBy(a_, Opcode::FAbs) || defBy(a_, Opcode::UIToF)) return a_;
    if (Value* x = negated(a_)) return c_.unary(Opcode::FAbs, x);
    return nullptr;
  }

  Value* minMax() {
    if (a_ == b_ && hasCanonicalNan(a_)) return a_;
    auto k = constOf(b_);
    if (!k) return nullptr;
    const FloatKind kind = floatKind(type_);
    const bool nanForm = op_.opcode() == Opcode::FMinNan || op_.opcode() == Opcode::FMaxNan;
    if (scalar::isNan(kind, *k)) {
      if (nanForm) return c_.constant(type_, scalar::canonicalNan(kind));
      return hasCanonicalNan(a_) ? a_ : nullptr;
    }
    // min(x, +inf) is x, but for NaN in the number form.
    const bool isMin = op_.opcode() == Opcode::FMin || op_.opcode() == Opcode::FMinNan;
    const uint64_t neutral =
        isMin ? scalar::infinity(kind) : scalar::fneg(kind, scalar::infinity(kind));
    if (nanForm && *k == neutral && hasCanonicalNan(a_)) return a_;
    // min(min(x, k1), k)
    Operation* inner = defBy(a_, op_.opcode());
    if (inner && ir::asConst(inner->operand(1))) {
      return c_.binary(op_.opcode(), inner->operand(0),
                       c_.binary(op_.opcode(), inner->operand(1), b_));
    }
    return nullptr;
  }

  Value* round() {
    const Operation* def = a_->def();
    if (!def) return nullptr;
    switch (def->opcode()) {  // An integral value stays.
      case Opcode::FFloor:
      case Opcode::FCeil:
      case Opcode::FTrunc:
      case Opcode::FRound:
      case Opcode::FRoundEven:
      case Opcode::SIToF:
      case Opcode::UIToF:
        return a_;
      default:
        return nullptr;
    }
  }

  Combiner& c_;
  Operation& op_;
  const uint8_t flags_;
  const Type type_;
  Value* a_;
  Value* b_;
};

// True if every value of `from` is one of `to`.
bool widens(Type from, Type to) {
  const FloatFormatInfo& a = floatFormatInfo(formatOf(floatKind(from)));
  const FloatFormatInfo& b = floatFormatInfo(formatOf(floatKind(to)));
  return from != to && a.exponentBits <= b.exponentBits && a.mantissaBits <= b.mantissaBits;
}

}  // namespace

Value* combineFloat(Combiner& c, Operation& op) { return FloatRules(c, op).run(); }

Value* combineFloatCompare(Combiner& c, Operation& op) {
  const Opcode o = op.opcode();
  Value* a = op.operand(0);
  Value* b = op.operand(1);
  const FloatKind kind = floatKind(a->type());
  const auto predicate =
      static_cast<FloatPredicate>(static_cast<int>(o) - static_cast<int>(Opcode::FCmpOeq));
  auto constant = [&](bool v) { return c.constant(ir::kI1, v); };
  if (ir::asConst(a) && !ir::asConst(b)) return c.compare(ir::swappedCompare(o), b, a);
  const uint64_t nan = scalar::canonicalNan(kind);
  if (a == b && o != Opcode::FCmpOrd && o != Opcode::FCmpUno) {
    const bool number = scalar::fcmp(predicate, kind, 0, 0);
    const bool notNumber = scalar::fcmp(predicate, kind, nan, nan);
    if (number == notNumber) return constant(number);
    return c.compare(number ? Opcode::FCmpOrd : Opcode::FCmpUno, a, a);
  }
  auto k = constOf(b);
  if (k && scalar::isNan(kind, *k)) return constant(scalar::fcmp(predicate, kind, nan, nan));
  if (Value* x = negated(a)) {
    if (Value* y = negated(b)) return c.compare(ir::swappedCompare(o), x, y);
    if (k) return c.compare(ir::swappedCompare(o), x, scalar::fneg(kind, *k));
  }
  // Widening is exact and keeps order and NaN.
  if (Operation* x = defBy(a, Opcode::FConv); x && widens(x->operand(0)->type(), a->type())) {
    const Type narrow = x->operand(0)->type();
    if (Operation* y = defBy(b, Opcode::FConv); y && y->operand(0)->type() == narrow) {
      return c.compare(o, x->operand(0), y->operand(0));
    }
    if (k) {
      const uint64_t low = scalar::fconv(kind, floatKind(narrow), *k);
      if (scalar::fconv(floatKind(narrow), kind, low) == *k)
        return c.compare(o, x->operand(0), low);
    }
  }
  return nullptr;
}

Value* combineFloatCast(Combiner& c, Operation& op) {
  Value* a = op.operand(0);
  const Type to = op.resultType();
  Operation* x = a->def();
  if (!x) return nullptr;
  switch (op.opcode()) {
    case Opcode::FConv: {
      // Through a wider type and on: the first step is exact, so there is one rounding either way.
      if (x->opcode() != Opcode::FConv || !widens(x->operand(0)->type(), a->type())) return nullptr;
      Value* from = x->operand(0);
      if (from->type() != to) return c.cast(Opcode::FConv, from, to);
      return hasCanonicalNan(from) ? from : nullptr;  // A signalling NaN would stay one.
    }
    case Opcode::FToSI:
    case Opcode::FToUI:
      if (x->opcode() == Opcode::FTrunc) return c.cast(op.opcode(), x->operand(0), to);
      if (x->opcode() == Opcode::FConv && widens(x->operand(0)->type(), a->type())) {
        return c.cast(op.opcode(), x->operand(0), to);
      }
      return nullptr;
    default:
      // From the narrow integer at once. After a zero extension the sign is known.
      if (x->opcode() == Opcode::ZExt) return c.cast(Opcode::UIToF, x->operand(0), to);
      if (x->opcode() == Opcode::SExt && op.opcode() == Opcode::SIToF) {
        return c.cast(Opcode::SIToF, x->operand(0), to);
      }
      return nullptr;
  }
}

}  // namespace mtlc::transforms
