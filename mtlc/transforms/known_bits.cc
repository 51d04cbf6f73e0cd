#include "mtlc/transforms/known_bits.h"

#include <algorithm>
#include <bit>

namespace mtlc::transforms {

using ir::Opcode;
using ir::Operation;
using ir::Value;

int64_t KnownBits::smin() const {
  uint64_t sign = uint64_t{1} << (width - 1);
  return ir::signExtend(zeros & sign ? ones : ones | sign, width);
}

int64_t KnownBits::smax() const {
  uint64_t sign = uint64_t{1} << (width - 1);
  return ir::signExtend(ones & sign ? umax() : umax() & ~sign, width);
}

namespace {

constexpr int kMaxDepth = 5;

KnownBits constant(uint64_t bits, unsigned width) {
  KnownBits k{.width = width};
  k.ones = bits & k.mask();
  k.zeros = ~bits & k.mask();
  return k;
}

// The `n` highest bits.
uint64_t highBits(unsigned n, unsigned width) {
  KnownBits k{.width = width};
  if (n >= width) return k.mask();
  return k.mask() & ~(k.mask() >> n);
}
unsigned leadingZeros(const KnownBits& k) {
  return static_cast<unsigned>(std::countl_zero(k.umax())) - (64 - k.width);
}
unsigned trailingZeros(const KnownBits& k) {
  return std::min<unsigned>(static_cast<unsigned>(std::countr_one(k.zeros)), k.width);
}

// Values of 0 … `most`.
KnownBits atMost(uint64_t most, unsigned width) {
  KnownBits k{.width = width};
  k.zeros = most == 0 ? k.mask() : k.mask() & ~(~uint64_t{0} >> std::countl_zero(most));
  return k;
}

KnownBits add(const KnownBits& a, const KnownBits& b, bool carryIn) {
  // Both extreme sums agree on a carry wherever the operands' bits are known (as in LLVM's
  // KnownBits).
  const uint64_t m = a.mask();
  uint64_t least = a.umin() + b.umin() + carryIn;
  uint64_t most = a.umax() + b.umax() + carryIn;
  uint64_t carryZero = ~(most ^ a.zeros ^ b.zeros);
  uint64_t carryOne = least ^ a.ones ^ b.ones;
  uint64_t known = (a.zeros | a.ones) & (b.zeros | b.ones) & (carryZero | carryOne) & m;
  KnownBits k{.width = a.width};
  k.zeros = ~most & known;
  k.ones = least & known;
  return k;
}

KnownBits compute(const Value* value, int depth);

KnownBits intersect(const KnownBits& a, const KnownBits& b) {
  return {a.zeros & b.zeros, a.ones & b.ones, a.width};
}

KnownBits shift(Opcode opcode, const KnownBits& a, uint64_t amount) {
  const unsigned w = a.width;
  const unsigned n = static_cast<unsigned>(amount & (w - 1));
  KnownBits k{.width = w};
  switch (opcode) {
    case Opcode::Shl:
      k.zeros = ((a.zeros << n) | ((uint64_t{1} << n) - 1)) & k.mask();
      k.ones = (a.ones << n) & k.mask();
      break;
    case Opcode::LShr:
      k.zeros = a.zeros >> n | highBits(n, w);
      k.ones = a.ones >> n;
      break;
    default:
      k.zeros = a.zeros >> n | (a.nonNegative() ? highBits(n, w) : 0);
      k.ones = a.ones >> n | (a.negative() ? highBits(n, w) : 0);
      break;
  }
  return k;
}

KnownBits ofOperation(const Operation& op, int depth) {
  const unsigned w = op.resultType().bits();
  KnownBits k{.width = w};
  auto known = [&](unsigned i) { return compute(op.operand(i), depth + 1); };
  switch (op.opcode()) {
    case Opcode::Const:
      return constant(op.constBits(), w);
    case Opcode::And: {
      KnownBits a = known(0), b = known(1);
      return {a.zeros | b.zeros, a.ones & b.ones, w};
    }
    case Opcode::Or: {
      KnownBits a = known(0), b = known(1);
      return {a.zeros & b.zeros, a.ones | b.ones, w};
    }
    case Opcode::Xor: {
      KnownBits a = known(0), b = known(1);
      return {(a.zeros & b.zeros) | (a.ones & b.ones), (a.zeros & b.ones) | (a.ones & b.zeros), w};
    }
    case Opcode::Add:
      return add(known(0), known(1), false);
    case Opcode::Sub: {
      KnownBits b = known(1);
      std::swap(b.zeros, b.ones);
      return add(known(0), b, true);
    }
    case Opcode::Mul: {
      KnownBits a = known(0), b = known(1);
      // An upper bound if the product cannot wrap, and the trailing zeros.
      unsigned __int128 most = static_cast<unsigned __int128>(a.umax()) * b.umax();
      if (most <= k.mask()) k = atMost(static_cast<uint64_t>(most), w);
      unsigned low = std::min(trailingZeros(a) + trailingZeros(b), w);
      k.zeros |= low >= 64 ? ~uint64_t{0} : ((uint64_t{1} << low) - 1);
      k.zeros &= k.mask();
      return k;
    }
    case Opcode::Shl:
    case Opcode::LShr:
    case Opcode::AShr: {
      KnownBits a = known(0);
      if (const Operation* c = ir::asConst(op.operand(1))) {
        return shift(op.opcode(), a, c->constBits());
      }
      if (op.opcode() != Opcode::Shl && a.nonNegative()) k.zeros = highBits(leadingZeros(a), w);
      return k;
    }
    case Opcode::UDiv: {
      // By zero it is all ones.
      KnownBits b = known(1);
      if (b.umin() == 0) return k;
      return atMost(known(0).umax() / b.umin(), w);
    }
    case Opcode::URem: {
      // By zero it is the dividend.
      KnownBits a = known(0), b = known(1);
      uint64_t most = a.umax();
      if (b.umin() > 0) most = std::min(most, b.umax() - 1);
      return atMost(most, w);
    }
    case Opcode::SDiv:
    case Opcode::SRem: {
      KnownBits a = known(0), b = known(1);
      if (!a.nonNegative() || !b.nonNegative()) return k;
      if (op.opcode() == Opcode::SRem) return atMost(a.umax(), w);
      if (b.umin() == 0) return k;
      return atMost(a.umax() / b.umin(), w);
    }
    case Opcode::UMin: {
      return atMost(std::min(known(0).umax(), known(1).umax()), w);
    }
    case Opcode::UMax:
    case Opcode::SMin:
    case Opcode::SMax: {
      KnownBits a = known(0), b = known(1);
      k = intersect(a, b);
      if (op.opcode() == Opcode::SMax && (a.nonNegative() || b.nonNegative())) {
        k.zeros |= highBits(1, w);
      }
      if (op.opcode() == Opcode::SMin && (a.negative() || b.negative())) k.ones |= highBits(1, w);
      return k;
    }
    case Opcode::Clz:
    case Opcode::Popcount:
      return atMost(w, w);
    case Opcode::Select:
      return intersect(known(1), known(2));
    case Opcode::ZExt: {
      KnownBits a = known(0);
      return {a.zeros | (k.mask() & ~a.mask()), a.ones, w};
    }
    case Opcode::SExt: {
      KnownBits a = known(0);
      uint64_t upper = k.mask() & ~a.mask();
      return {a.zeros | (a.nonNegative() ? upper : 0), a.ones | (a.negative() ? upper : 0), w};
    }
    case Opcode::Trunc: {
      KnownBits a = known(0);
      return {a.zeros & k.mask(), a.ones & k.mask(), w};
    }
    case Opcode::ThreadId:
    case Opcode::BlockDim: {
      uint64_t most = kMaxWorkgroupDim;
      const ir::Function* f = op.function();
      if (f && f->launchBounds.maxThreads) most = f->launchBounds.maxThreads;
      return atMost(op.opcode() == Opcode::ThreadId ? most - 1 : most, w);
    }
    case Opcode::BlockId:
    case Opcode::GridDim:
      return atMost(0x7FFFFFFF, w);
    default:
      return k;
  }
}

KnownBits compute(const Value* value, int depth) {
  const Operation* def = value->def();
  if (!def || depth > kMaxDepth) return {.width = value->type().bits()};
  return ofOperation(*def, depth);
}

}  // namespace

KnownBits knownBits(const Value* value) { return compute(value, 0); }

}  // namespace mtlc::transforms
