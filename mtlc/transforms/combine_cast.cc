// Rules of instcombine for conversions among integers and pointers, and for addresses.

#include "mtlc/support/scalar_ops.h"
#include "mtlc/transforms/combiner.h"
#include "mtlc/transforms/known_bits.h"

namespace mtlc::transforms {

using ir::Opcode;
using ir::Operation;
using ir::Type;
using ir::Value;

namespace {

bool isExtension(const Operation* op) {
  return op && (op->opcode() == Opcode::ZExt || op->opcode() == Opcode::SExt);
}

// `x` extended or truncated to `to`.
Value* resize(Combiner& c, Opcode extension, Value* x, Type to) {
  const unsigned from = x->type().bits();
  if (from == to.bits()) return x;
  return c.cast(from < to.bits() ? extension : Opcode::Trunc, x, to);
}

// True if the low bits of `v` are at hand in a value no wider than `to`, or in a constant.
bool isFreeToTruncate(const Value* v, Type to) {
  if (ir::asConst(v)) return true;
  const Operation* x = v->def();
  return isExtension(x) && x->operand(0)->type().bits() <= to.bits();
}

Value* combineTrunc(Combiner& c, Operation& op) {
  Value* a = op.operand(0);
  const Type to = op.resultType();
  Operation* x = a->def();
  if (!x) return nullptr;
  if (x->opcode() == Opcode::Trunc) return c.cast(Opcode::Trunc, x->operand(0), to);
  if (isExtension(x)) return resize(c, x->opcode(), x->operand(0), to);
  if (!a->hasOneUse()) return nullptr;
  switch (x->opcode()) {
    // The low bits of these depend on the low bits of the operands only.
    case Opcode::Add:
    case Opcode::Sub:
    case Opcode::Mul:
    case Opcode::And:
    case Opcode::Or:
    case Opcode::Xor:
      if (isFreeToTruncate(x->operand(0), to) && isFreeToTruncate(x->operand(1), to)) {
        return c.binary(x->opcode(), c.cast(Opcode::Trunc, x->operand(0), to),
                        c.cast(Opcode::Trunc, x->operand(1), to));
      }
      return nullptr;
    case Opcode::Shl: {
      auto k = constOf(x->operand(1));
      if (!k || !isFreeToTruncate(x->operand(0), to)) return nullptr;
      const uint64_t n = *k & (a->type().bits() - 1);
      if (n >= to.bits()) return c.constant(to, 0);
      return c.binary(Opcode::Shl, c.cast(Opcode::Trunc, x->operand(0), to), n);
    }
    default:
      return nullptr;
  }
}

Value* combineZExt(Combiner& c, Operation& op) {
  Value* a = op.operand(0);
  const Type to = op.resultType();
  Operation* x = a->def();
  if (!x) return nullptr;
  if (x->opcode() == Opcode::ZExt) return c.cast(Opcode::ZExt, x->operand(0), to);
  if (x->opcode() == Opcode::Trunc) {  // Clears the upper bits.
    Value* wide = x->operand(0);
    const uint64_t keep = a->type().mask();
    if (wide->type() == to) return c.binary(Opcode::And, wide, keep);
    if (wide->type().bits() > to.bits()) {
      return c.binary(Opcode::And, c.cast(Opcode::Trunc, wide, to), keep);
    }
  }
  return nullptr;
}

Value* combineSExt(Combiner& c, Operation& op) {
  Value* a = op.operand(0);
  const Type to = op.resultType();
  if (Operation* x = a->def()) {
    if (x->opcode() == Opcode::SExt) return c.cast(Opcode::SExt, x->operand(0), to);
    if (x->opcode() == Opcode::ZExt) return c.cast(Opcode::ZExt, x->operand(0), to);
  }
  if (!a->type().isBool() && knownBits(a).nonNegative()) return c.cast(Opcode::ZExt, a, to);
  return nullptr;
}

// ---- Addresses ----

// The element type in which `bytes` is a whole number of elements: `wish`, or i8.
Value* constantOffset(Combiner& c, Value* p, uint64_t bytes, Type wish) {
  int64_t offset = static_cast<int64_t>(bytes);
  int64_t size = static_cast<int64_t>(wish.bytes());
  if (offset % size != 0) {
    wish = ir::kI8;
    size = 1;
  }
  return c.ptrAdd(p, c.constant(ir::kI64, static_cast<uint64_t>(offset / size)), wish);
}

// The 64-bit index `v` as x + k, where that is the same number.
struct Split {
  Value* x = nullptr;
  uint64_t k = 0;
};
Split splitIndex(Combiner& c, Value* v) {
  if (Operation* add = defBy(v, Opcode::Add)) {
    if (auto k = constOf(add->operand(1))) return {add->operand(0), *k};
    return {};
  }
  // ext(x + k) is ext(x) + k if the narrow sum does not wrap.
  Operation* ext = v->def();
  if (!isExtension(ext)) return {};
  Operation* add = defBy(ext->operand(0), Opcode::Add);
  if (!add) return {};
  auto k = constOf(add->operand(1));
  if (!k) return {};
  const Type type = add->resultType();
  const unsigned w = type.bits();
  KnownBits known = knownBits(add->operand(0));
  const int64_t signedK = scalar::signExtend(w, *k);
  if (ext->opcode() == Opcode::ZExt) {
    if (known.umax() + *k > type.mask()) return {};
    return {c.cast(Opcode::ZExt, add->operand(0), ir::kI64), *k};
  }
  const int64_t most = static_cast<int64_t>(scalar::signBit(w) - 1);
  if (w == 64 || known.smax() + signedK > most || known.smin() + signedK < -most - 1) return {};
  return {c.cast(Opcode::SExt, add->operand(0), ir::kI64), static_cast<uint64_t>(signedK)};
}

// Constant offsets go to the outside, where loads and stores take them for nothing:
//   (p + k1) + k2 → p + (k1 + k2)        (p + k) + i → (p + i) + k        p + (i + k) → (p + i) + k
Value* combinePtrAdd(Combiner& c, Operation& op) {
  Value* p = op.operand(0);
  Value* index = op.operand(1);
  const Type elem = op.elemType();
  const uint64_t size = elem.bytes();
  auto k = constOf(index);
  if (k && *k == 0) return p;
  if (Operation* inner = defBy(p, Opcode::PtrAdd)) {
    if (auto k1 = constOf(inner->operand(1))) {
      const uint64_t innerBytes = *k1 * inner->elemType().bytes();
      if (k) return constantOffset(c, inner->operand(0), innerBytes + *k * size, elem);
      return constantOffset(c, c.ptrAdd(inner->operand(0), index, elem), innerBytes,
                            inner->elemType());
    }
  }
  // A cast to generic goes closer to the access, which then needs none.
  if (Operation* inner = defBy(p, Opcode::SpaceCast);
      inner && p->type().space() == ir::Space::Generic) {
    return c.cast(Opcode::SpaceCast, c.ptrAdd(inner->operand(0), index, elem), op.resultType());
  }
  if (k) return nullptr;
  if (Split s = splitIndex(c, index); s.x) {
    return constantOffset(c, c.ptrAdd(p, s.x, elem), s.k * size, elem);
  }
  // p + (i << n) of a small element is p + i of a larger one.
  if (Operation* shl = defBy(index, Opcode::Shl)) {
    if (auto n = constOf(shl->operand(1)); n && *n < 4 && size << *n <= 8) {
      return c.ptrAdd(p, shl->operand(0), Type::integer(static_cast<unsigned>(size << *n) * 8));
    }
  }
  return nullptr;
}

// A generic access whose space is known.
Value* combineAccess(Combiner& c, Operation& op) {
  const unsigned i = op.opcode() == Opcode::Load ? 0 : 1;
  Operation* cast = defBy(op.operand(i), Opcode::SpaceCast);
  if (!cast || op.operand(i)->type().space() != ir::Space::Generic) return nullptr;
  return c.setOperand(op, i, cast->operand(0));
}

}  // namespace

Value* combineCast(Combiner& c, Operation& op) {
  Value* a = op.operand(0);
  const Type to = op.resultType();
  Operation* x = a->def();
  switch (op.opcode()) {
    case Opcode::Trunc:
      return combineTrunc(c, op);
    case Opcode::ZExt:
      return combineZExt(c, op);
    case Opcode::SExt:
      return combineSExt(c, op);
    case Opcode::Bitcast:
      if (x && x->opcode() == Opcode::Bitcast) {
        Value* from = x->operand(0);
        return from->type() == to ? from : c.cast(Opcode::Bitcast, from, to);
      }
      return nullptr;
    case Opcode::PtrToInt:
      return x && x->opcode() == Opcode::IntToPtr ? x->operand(0) : nullptr;
    case Opcode::IntToPtr:
      if (x && x->opcode() == Opcode::PtrToInt && x->operand(0)->type() == to) {
        return x->operand(0);
      }
      return nullptr;
    default:  // SpaceCast there and back.
      if (x && x->opcode() == Opcode::SpaceCast && x->operand(0)->type() == to) {
        return x->operand(0);
      }
      return nullptr;
  }
}

Value* combineMemory(Combiner& c, Operation& op) {
  return op.opcode() == Opcode::PtrAdd ? combinePtrAdd(c, op) : combineAccess(c, op);
}

}  // namespace mtlc::transforms
