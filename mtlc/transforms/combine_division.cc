// Rules of instcombine for division and remainder by constants.
//
// Division by a power of two becomes shifts, signed division with the bias that makes it truncate
// toward zero (an arithmetic shift alone rounds down). Division by other constants becomes a
// multiplication by a scaled reciprocal (Granlund and Montgomery, "Division by invariant integers
// using multiplication", 1994; Warren, "Hacker's Delight", 2nd ed., chapter 10). A remainder is the
// dividend minus quotient times divisor. The corner cases of ir.md hold: x / 0 = -1 (all ones), x %
// 0 = x, MIN / -1 = MIN, MIN % -1 = 0.

#include <bit>

#include "mtlc/support/scalar_ops.h"
#include "mtlc/transforms/combiner.h"
#include "mtlc/transforms/known_bits.h"

namespace mtlc::transforms {

using ir::Opcode;
using ir::Operation;
using ir::Type;
using ir::Use;
using ir::Value;

namespace {

using uint128 = unsigned __int128;

// floor(x / d) as (umulhi(x, m) [+ x]) >> shift, for all x of `w` bits. Without `add`, m fits in w
// bits.
struct UnsignedReciprocal {
  uint64_t m;
  unsigned shift;
  bool add;  // The multiplier is m + 2^w.
};

// `d` is no power of two and at least 3. ceil(2^(w+s) / d) with s = ceil(log2 d) is always exact
// enough and has w+1 bits; the smallest s for which the rounding error stays below 2^s is used.
UnsignedReciprocal unsignedReciprocal(uint64_t d, unsigned w) {
  const unsigned ceilLog = 64 - static_cast<unsigned>(std::countl_zero(d - 1));
  for (unsigned s = 0; s <= ceilLog; ++s) {
    // ceil(2^(w+s) / d) and how far m * d is above 2^(w+s). w + s < 128.
    uint128 power = static_cast<uint128>(1) << (w + s);
    uint128 m = (power + d - 1) / d;
    uint128 excess = m * d - power;  // < d
    if (excess > static_cast<uint128>(1) << s) continue;
    bool add = m >> w != 0;
    uint64_t low = static_cast<uint64_t>(m) & scalar::mask(w);
    return {low, s, add};
  }
  return {};  // Not reached: s = ceilLog qualifies.
}

// Divides an unsigned value by a constant that is no power of two.
Value* divideUnsigned(Combiner& c, Value* x, uint64_t d) {
  const Type type = x->type();
  const unsigned w = type.bits();
  if (w < 32) {
    // Exact in 32 bits: x < 2^16, d < 2^16, and the error of ceil(2^32 / d) is below d.
    Value* wide = c.cast(Opcode::ZExt, x, ir::kI32);
    uint64_t m = ((uint64_t{1} << 32) + d - 1) / d;
    return c.cast(Opcode::Trunc, c.binary(Opcode::UMulHi, wide, m), type);
  }
  // An even divisor that would need w+1 bits does not after a shift.
  UnsignedReciprocal r = unsignedReciprocal(d, w);
  const unsigned twos = static_cast<unsigned>(std::countr_zero(d));
  if (r.add && twos > 0) {
    // x >> twos has w - twos bits, for which w bits of multiplier suffice.
    const uint64_t odd = d >> twos;
    const unsigned ceilLog = 64 - static_cast<unsigned>(std::countl_zero(odd - 1));
    for (unsigned s = 0; s <= ceilLog; ++s) {
      uint128 power = static_cast<uint128>(1) << (w + s);
      uint128 m = (power + odd - 1) / odd;
      // error * x < 2^(w+s) for x < 2^(w-twos)
      if (m * odd - power > static_cast<uint128>(1) << (s + twos)) continue;
      if (m >> w != 0) break;
      Value* q =
          c.binary(Opcode::UMulHi, c.binary(Opcode::LShr, x, twos), static_cast<uint64_t>(m));
      return s ? c.binary(Opcode::LShr, q, s) : q;
    }
  }
  Value* q = c.binary(Opcode::UMulHi, x, r.m);
  if (r.add) {
    // (q + x) >> s may overflow by one bit: ((x - q) >> 1) + q is its half.
    Value* half = c.binary(Opcode::LShr, c.binary(Opcode::Sub, x, q), 1);
    q = c.binary(Opcode::Add, half, q);
    return r.shift > 1 ? c.binary(Opcode::LShr, q, r.shift - 1) : q;
  }
  return r.shift ? c.binary(Opcode::LShr, q, r.shift) : q;
}

// Divides a signed value by ±d for d >= 3, no power of two. `negative`: by -d.
Value* divideSigned(Combiner& c, Value* x, uint64_t d, bool negative) {
  const Type type = x->type();
  const unsigned w = type.bits();
  Value* q;
  if (w < 32) {
    // floor(x * m / 2^32) is the quotient rounded down for |x| <= 2^15; m < 2^31 because d >= 3.
    Value* wide = c.cast(Opcode::SExt, x, ir::kI32);
    uint64_t m = ((uint64_t{1} << 32) + d - 1) / d;
    q = c.cast(Opcode::Trunc, c.binary(Opcode::SMulHi, wide, m), type);
  } else {
    // The smallest p >= w for which m = ceil(2^p / d) is exact enough for |x| <= 2^(w-1): m * d -
    // 2^p <= 2^(p-w+1).
    unsigned p = w;
    uint128 m;
    while (true) {
      uint128 power = static_cast<uint128>(1) << p;
      m = (power + d - 1) / d;
      if (m * d - power <= static_cast<uint128>(1) << (p - w + 1)) break;
      ++p;
    }
    // m < 2^w; as a signed factor it may be m - 2^w, which costs an addition of x.
    uint64_t factor = static_cast<uint64_t>(m) & scalar::mask(w);
    q = c.binary(Opcode::SMulHi, x, factor);
    if (factor >> (w - 1)) q = c.binary(Opcode::Add, q, x);
    if (p > w) q = c.binary(Opcode::AShr, q, p - w);
  }
  // Rounded down so far; toward zero is one more for a negative x.
  if (!knownBits(x).nonNegative()) {
    Value* sign = c.binary(Opcode::LShr, x, w - 1);
    q = c.binary(Opcode::Add, q, sign);
  }
  return negative ? c.unary(Opcode::Neg, q) : q;
}

// Divides a signed value by 2^k, 1 <= k <= w-2, truncating.
Value* divideSignedByPower(Combiner& c, Value* x, unsigned k) {
  const unsigned w = x->type().bits();
  if (knownBits(x).nonNegative()) return c.binary(Opcode::LShr, x, k);
  // Adds 2^k - 1 to a negative dividend.
  Value* sign = k == 1 ? x : c.binary(Opcode::AShr, x, w - 1);
  Value* bias = c.binary(Opcode::LShr, sign, w - k);
  return c.binary(Opcode::AShr, c.binary(Opcode::Add, x, bias), k);
}

Value* combineSDiv(Combiner& c, Value* x, uint64_t k, Type type) {
  const unsigned w = type.bits();
  if (k == 0) return c.constant(type, type.mask());
  if (k == 1) return x;
  if (k == type.mask()) return c.unary(Opcode::Neg, x);
  if (k == scalar::signBit(w)) {  // Only MIN / MIN is 1; everything else is smaller.
    return c.cast(Opcode::ZExt, c.compare(Opcode::CmpEq, x, k), type);
  }
  const bool negative = k >> (w - 1);
  const uint64_t d = negative ? scalar::neg(w, k) : k;
  if (isPowerOfTwo(d)) {
    Value* q = divideSignedByPower(c, x, static_cast<unsigned>(std::countr_zero(d)));
    return negative ? c.unary(Opcode::Neg, q) : q;
  }
  if (knownBits(x).nonNegative() && !negative) return c.binary(Opcode::UDiv, x, k);
  return divideSigned(c, x, d, negative);
}

Value* combineUDiv(Combiner& c, Value* x, uint64_t k, Type type) {
  if (k == 0) return c.constant(type, type.mask());
  if (k == 1) return x;
  if (isPowerOfTwo(k)) {
    return c.binary(Opcode::LShr, x, static_cast<uint64_t>(std::countr_zero(k)));
  }
  if (k >> (type.bits() - 1)) {  // The quotient is 0 or 1.
    return c.cast(Opcode::ZExt, c.compare(Opcode::CmpUge, x, k), type);
  }
  return divideUnsigned(c, x, k);
}

// True if only `== 0` and `!= 0` look at the value.
bool onlyComparedToZero(const Value* v) {
  for (const Use* u = v->firstUse(); u; u = u->next()) {
    Opcode o = u->owner()->opcode();
    if ((o != Opcode::CmpEq && o != Opcode::CmpNe) || !isConst(u->owner()->operand(1), 0)) {
      return false;
    }
  }
  return true;
}

Value* combineRem(Combiner& c, Operation& op, uint64_t k) {
  Value* x = op.operand(0);
  const Type type = op.resultType();
  const unsigned w = type.bits();
  const bool isSigned = op.opcode() == Opcode::SRem;
  if (k == 0) return x;
  const uint64_t d =
      isSigned && k >> (w - 1) ? scalar::neg(w, k) : k;  // The sign of k is irrelevant.
  if (d == 1) return c.constant(type, 0);
  if (isSigned && isPowerOfTwo(d)) {
    // A remainder has the sign of the dividend, but is zero for the same dividends as without sign.
    if (knownBits(x).nonNegative() || onlyComparedToZero(op.result())) {
      return c.binary(Opcode::And, x, d - 1);
    }
    if (d == scalar::signBit(w)) {  // x % MIN is x, except for MIN itself.
      return c.select(c.compare(Opcode::CmpEq, x, d), c.constant(type, 0), x);
    }
    // x - (x / d) * d, where the division's bias is at hand: (x + bias) with the low bits cleared.
    const unsigned bits = static_cast<unsigned>(std::countr_zero(d));
    Value* sign = bits == 1 ? x : c.binary(Opcode::AShr, x, w - 1);
    Value* biased = c.binary(Opcode::Add, x, c.binary(Opcode::LShr, sign, w - bits));
    return c.binary(Opcode::Sub, x, c.binary(Opcode::And, biased, ~(d - 1)));
  }
  if (isPowerOfTwo(d)) return c.binary(Opcode::And, x, d - 1);
  Value* q = isSigned ? combineSDiv(c, x, d, type) : combineUDiv(c, x, d, type);
  return c.binary(Opcode::Sub, x, c.binary(Opcode::Mul, q, d));
}

}  // namespace

Value* combineDivision(Combiner& c, Operation& op) {
  Value* x = op.operand(0);
  Value* y = op.operand(1);
  const Type type = op.resultType();
  const bool isSigned = op.opcode() == Opcode::SDiv || op.opcode() == Opcode::SRem;
  const bool isRem = op.opcode() == Opcode::SRem || op.opcode() == Opcode::URem;
  if (auto k = constOf(y)) {
    if (isRem) return combineRem(c, op, *k);
    return isSigned ? combineSDiv(c, x, *k, type) : combineUDiv(c, x, *k, type);
  }
  // 1 << n is never 0.
  if (Operation* shl = defBy(y, Opcode::Shl); shl && isConst(shl->operand(0), 1) && !isSigned) {
    if (isRem) return c.binary(Opcode::And, x, c.binary(Opcode::Add, y, ~uint64_t{0}));
    return c.binary(Opcode::LShr, x, shl->operand(1));
  }
  // Without negative operands the sign does not matter; a divisor of 0 gives all ones either way.
  if (isSigned && knownBits(x).nonNegative() && knownBits(y).nonNegative()) {
    return c.binary(isRem ? Opcode::URem : Opcode::UDiv, x, y);
  }
  return nullptr;
}

}  // namespace mtlc::transforms
