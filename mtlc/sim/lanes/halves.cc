// Half-precision arithmetic, f16 and bf16, one or two to a register (PTX ISA 9.7.4).
//
// Operands convert to double exactly; sums and products of them round to 53 bits without harm
// because that is more than twice the target precision and two bits; fused operations round to odd
// first.

#include "mtlc/sim/lanes/half.h"

namespace mtlc::sim::MTLC_LANES {
namespace {

enum class HalfOp { add, sub, mul, fma, neg, abs, min, max };

template <HalfOp kOp, bool kBrain>
MTLC_INLINE u16 apply(u16 a, u16 b, u16 c, i64 flags) {
  using N = Narrow<kBrain>;
  if ((flags & kHalfFtz) != 0) {
    a = N::flushed(a);
    b = N::flushed(b);
    c = N::flushed(c);
  }
  if constexpr (kOp == HalfOp::neg) return N::nan(a) ? 0x7fff : a ^ 0x8000;
  if constexpr (kOp == HalfOp::abs) return N::nan(a) ? 0x7fff : a & 0x7fff;
  if constexpr (kOp == HalfOp::min) return minMax<kBrain, false>(a, b, flags);
  if constexpr (kOp == HalfOp::max) return minMax<kBrain, true>(a, b, flags);
  double x = N::decode(a), y = N::decode(b), r;
  if constexpr (kOp == HalfOp::add) {
    r = x + y;
  } else if constexpr (kOp == HalfOp::sub) {
    r = x - y;
  } else if constexpr (kOp == HalfOp::mul) {
    r = x * y;
  } else {
    r = addRoundOdd(x * y, N::decode(c));
  }
  if ((flags & kHalfSat) != 0) r = saturate(r);
  if ((flags & kHalfRelu) != 0 && r <= 0) r = 0;
  u16 bits = N::encode(r);
  if ((flags & kHalfFtz) != 0) bits = N::flushed(bits);
  return bits;
}

template <HalfOp kOp, bool kBrain, bool kPair>
void halfMap(const Instr& in, Warp& w, LaneMask mask) {
  const u32* a = column32(w, in.src[0]);
  const u32* b = kOp == HalfOp::neg || kOp == HalfOp::abs ? a : column32(w, in.src[1]);
  const u32* c = kOp == HalfOp::fma ? column32(w, in.src[2]) : a;
  i64 flags = in.imm;
  intoColumn(column32(w, in.dst), mask, [&](u32* d) {
    for (unsigned i = 0; i < kLanes; ++i) {
      u32 x = a[i], y = b[i], z = c[i];
      u32 r =
          apply<kOp, kBrain>(static_cast<u16>(x), static_cast<u16>(y), static_cast<u16>(z), flags);
      if (kPair) {
        r |= static_cast<u32>(apply<kOp, kBrain>(static_cast<u16>(x >> 16),
                                                 static_cast<u16>(y >> 16),
                                                 static_cast<u16>(z >> 16), flags))
             << 16;
      }
      d[i] = r;
    }
  });
}

template <HalfOp kOp>
LaneFn forType(Type t) {
  switch (t) {
    case Mod::f16:
      return halfMap<kOp, false, false>;
    case Mod::f16x2:
      return halfMap<kOp, false, true>;
    case Mod::bf16:
      return halfMap<kOp, true, false>;
    case Mod::bf16x2:
      return halfMap<kOp, true, true>;
    default:
      return nullptr;
  }
}

}  // namespace

int64_t halfFlags(const Form& f) {
  i64 flags = 0;
  if (f.has(Mod::ftz)) flags |= kHalfFtz;
  if (f.has(Mod::sat)) flags |= kHalfSat;
  if (f.has(Mod::relu)) flags |= kHalfRelu;
  if (f.has(Mod::nan)) flags |= kHalfNan;
  if (f.has(Mod::xorsign)) flags |= kHalfXorSign;
  return flags;
}

LaneFn selectHalves(const Form& f) {
  Type t = f.types[0];
  switch (f.row->family) {
    case Family::fltAdd:
      return forType<HalfOp::add>(t);
    case Family::fltSub:
      return forType<HalfOp::sub>(t);
    case Family::fltMul:
      return forType<HalfOp::mul>(t);
    case Family::fltFma:
      return forType<HalfOp::fma>(t);
    case Family::fltNeg:
      return forType<HalfOp::neg>(t);
    case Family::fltAbs:
      return forType<HalfOp::abs>(t);
    case Family::fltMin:
      return forType<HalfOp::min>(t);
    case Family::fltMax:
      return forType<HalfOp::max>(t);
    default:
      return nullptr;
  }
}

}  // namespace mtlc::sim::MTLC_LANES
