// atom and red (PTX ISA 9.7.13.4, 9.7.13.6).
//
// src[0] and imm give the address as for a load, src[1] and src[2] the operands; dst may be
// missing. Lanes go in order.

#include "mtlc/sim/access.h"
#include "mtlc/sim/lanes/half.h"

namespace mtlc::sim::MTLC_LANES {
namespace {

// Every operation: the new value from the old one and the operands. `global`: the memory is global.
struct AAdd {
  template <typename T>
  static MTLC_INLINE T run(T old, T b, T, bool) {
    return old + b;
  }
};
struct AAddF32 {  // In global memory subnormals are zeros (PTX ISA, atom).
  static MTLC_INLINE u32 run(u32 old, u32 b, u32, bool global) {
    float r = global ? flush(flush(asFloat(old)) + flush(asFloat(b))) : asFloat(old) + asFloat(b);
    return isNan(r) ? kNan32 : bitsOf(r);
  }
};
struct AAddF64 {
  static MTLC_INLINE u64 run(u64 old, u64 b, u64, bool) {
    double x = asDouble(old), y = asDouble(b);
    return bitsOf(finish64(x + y, x, y));
  }
};
template <bool kBrain>
struct AAddHalf {
  static MTLC_INLINE u16 run(u16 old, u16 b, u16, bool) {
    return kBrain ? toBHalf(static_cast<double>(bhalfToFloat(old)) + bhalfToFloat(b))
                  : toHalf(static_cast<double>(halfToFloat(old)) + halfToFloat(b));
  }
};
template <bool kBrain>
struct AAddHalfX2 {
  static MTLC_INLINE u32 run(u32 old, u32 b, u32, bool g) {
    using One = AAddHalf<kBrain>;
    u32 lo = One::run(static_cast<u16>(old), static_cast<u16>(b), 0, g);
    u32 hi = One::run(static_cast<u16>(old >> 16), static_cast<u16>(b >> 16), 0, g);
    return hi << 16 | lo;
  }
};
template <typename S, bool kMax>
struct AMinMax {
  template <typename T>
  static MTLC_INLINE T run(T old, T b, T, bool) {
    S x = static_cast<S>(old), y = static_cast<S>(b);
    return (x < y) != kMax ? old : b;
  }
};
template <bool kBrain, bool kMax>
struct AMinMaxHalf {
  static MTLC_INLINE u16 run(u16 old, u16 b, u16, bool) { return minMax<kBrain, kMax>(old, b, 0); }
};
template <bool kBrain, bool kMax>
struct AMinMaxHalfX2 {
  static MTLC_INLINE u32 run(u32 old, u32 b, u32, bool) {
    u32 lo = minMax<kBrain, kMax>(static_cast<u16>(old), static_cast<u16>(b), 0);
    u32 hi = minMax<kBrain, kMax>(static_cast<u16>(old >> 16), static_cast<u16>(b >> 16), 0);
    return hi << 16 | lo;
  }
};
struct AAnd {
  template <typename T>
  static MTLC_INLINE T run(T old, T b, T, bool) {
    return old & b;
  }
};
struct AOr {
  template <typename T>
  static MTLC_INLINE T run(T old, T b, T, bool) {
    return old | b;
  }
};
struct AXor {
  template <typename T>
  static MTLC_INLINE T run(T old, T b, T, bool) {
    return old ^ b;
  }
};
struct AExch {
  template <typename T>
  static MTLC_INLINE T run(T, T b, T, bool) {
    return b;
  }
};
struct ACas {  // b is compared, c stored.
  template <typename T>
  static MTLC_INLINE T run(T old, T b, T c, bool) {
    return old == b ? c : old;
  }
};
struct AInc {
  static MTLC_INLINE u32 run(u32 old, u32 b, u32, bool) { return old >= b ? 0 : old + 1; }
};
struct ADec {
  static MTLC_INLINE u32 run(u32 old, u32 b, u32, bool) {
    return old == 0 || old > b ? b : old - 1;
  }
};

template <typename C>
MTLC_INLINE C* wordColumn(Warp& w, Ref r) {
  if constexpr (sizeof(C) == 8) {
    return column64(w, r);
  } else {
    return column32(w, r);
  }
}

MTLC_INLINE void atomicAddresses(const Instr& in, Warp& w, LaneAccess& lanes) {
  for (unsigned i = 0; i < kLanes; ++i) {
    if (in.src[0] == kNoRef) {
      lanes.address[i] = static_cast<u64>(in.imm);
    } else if (refBank(in.src[0]) == Bank::r64) {
      lanes.address[i] = column64(w, in.src[0])[i] + static_cast<u64>(in.imm);
    } else {
      lanes.address[i] = column32(w, in.src[0])[i] + static_cast<u32>(in.imm);
    }
  }
}

template <typename T, typename F>
void atomic(const Instr& in, Warp& w, LaneMask mask) {
  using C = std::conditional_t<sizeof(T) == 8, u64, u32>;
  LaneAccess lanes;
  atomicAddresses(in, w, lanes);
  AccessKind kind = in.dst == kNoRef ? AccessKind::reduction : AccessKind::atomic;
  resolveLanes(w, in, mask, kind, sizeof(T), lanes);
  const C* b = wordColumn<C>(w, in.src[1]);
  const C* c = in.src[2] == kNoRef ? b : wordColumn<C>(w, in.src[2]);
  alignas(64) C result[kLanes] = {};
  eachLane(lanes.ok, [&](unsigned i) {
    T* p = reinterpret_cast<T*>(lanes.host[i]);
    bool global = lanes.space[i] == Space::global;
    T old = __atomic_load_n(p, __ATOMIC_RELAXED);
    T next;
    do {
      next = F::run(old, static_cast<T>(b[i]), static_cast<T>(c[i]), global);
    } while (!__atomic_compare_exchange_n(p, &old, next, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    result[i] = old;
  });
  if (in.dst != kNoRef) blend(wordColumn<C>(w, in.dst), result, lanes.ok);
}

// Vectors: each element on its own. operandLists from ext: the destinations, kNoRef for those not
// wanted, then the operands.
template <typename T, typename F>
void atomicVector(const Instr& in, Warp& w, LaneMask mask) {
  LaneAccess lanes;
  atomicAddresses(in, w, lanes);
  const Ref* list = w.block->program->operandLists.data() + in.ext;
  unsigned count = in.count;
  AccessKind kind = in.dst == kNoRef ? AccessKind::reduction : AccessKind::atomic;
  resolveLanes(w, in, mask, kind, static_cast<u32>(sizeof(T)) * count, lanes);
  eachLane(lanes.ok, [&](unsigned i) {
    T* p = reinterpret_cast<T*>(lanes.host[i]);
    bool global = lanes.space[i] == Space::global;
    T results[8];
    for (unsigned e = 0; e < count; ++e) {
      T b = static_cast<T>(column32(w, list[count + e])[i]);
      T old = __atomic_load_n(p + e, __ATOMIC_RELAXED);
      T next;
      do {
        next = F::run(old, b, 0, global);
      } while (!__atomic_compare_exchange_n(p + e, &old, next, true, __ATOMIC_SEQ_CST,
                                            __ATOMIC_RELAXED));
      results[e] = old;
    }
    for (unsigned e = 0; e < count; ++e) {
      if (list[e] != kNoRef) column32(w, list[e])[i] = results[e];
    }
  });
}

template <template <bool> typename OnHalf, template <bool> typename OnPair>
LaneFn vectorOp(Type t) {
  switch (t) {
    case Mod::f16:
      return atomicVector<u16, OnHalf<false>>;
    case Mod::bf16:
      return atomicVector<u16, OnHalf<true>>;
    case Mod::f16x2:
      return atomicVector<u32, OnPair<false>>;
    case Mod::bf16x2:
      return atomicVector<u32, OnPair<true>>;
    default:
      return nullptr;
  }
}
template <bool kBrain>
using AMinHalf = AMinMaxHalf<kBrain, false>;
template <bool kBrain>
using AMaxHalf = AMinMaxHalf<kBrain, true>;
template <bool kBrain>
using AMinHalfX2 = AMinMaxHalfX2<kBrain, false>;
template <bool kBrain>
using AMaxHalfX2 = AMinMaxHalfX2<kBrain, true>;

LaneFn selectVector(const Form& f) {
  Type t = f.types[0];
  if (f.has(Mod::minMod)) return vectorOp<AMinHalf, AMinHalfX2>(t);
  if (f.has(Mod::maxMod)) return vectorOp<AMaxHalf, AMaxHalfX2>(t);
  if (t == Mod::f32) return atomicVector<u32, AAddF32>;
  return vectorOp<AAddHalf, AAddHalfX2>(t);
}

// 16-byte operands: pairs of 64-bit registers in operandLists from ext: d, b, and c where there is
// one.
template <WideAtomic kOp>
void atomicWide(const Instr& in, Warp& w, LaneMask mask) {
  LaneAccess lanes;
  atomicAddresses(in, w, lanes);
  resolveLanes(w, in, mask, AccessKind::atomic, 16, lanes);
  const Ref* list = w.block->program->operandLists.data() + in.ext;
  eachLane(lanes.ok, [&](unsigned i) {
    u64 b[2] = {column64(w, list[2])[i], column64(w, list[3])[i]};
    u64 c[2] = {};
    if (kOp == WideAtomic::compareExchange) {
      c[0] = column64(w, list[4])[i];
      c[1] = column64(w, list[5])[i];
    }
    u64 old[2];
    if (kOp == WideAtomic::compareExchange) {
      atomic128(w, kOp, lanes.host[i], c, b, old);
    } else {
      atomic128(w, kOp, lanes.host[i], b, nullptr, old);
    }
    for (unsigned k = 0; k < 2; ++k) {
      if (list[k] != kNoRef) column64(w, list[k])[i] = old[k];
    }
  });
}

template <typename F>
LaneFn bitsOp(Type t) {
  return typeBits(t) == 64 ? atomic<u64, F> : atomic<u32, F>;
}

LaneFn selectAdd(Type t) {
  switch (t) {
    case Mod::u32:
    case Mod::s32:
      return atomic<u32, AAdd>;
    case Mod::u64:
      return atomic<u64, AAdd>;
    case Mod::f32:
      return atomic<u32, AAddF32>;
    case Mod::f64:
      return atomic<u64, AAddF64>;
    case Mod::f16:
      return atomic<u16, AAddHalf<false>>;
    case Mod::bf16:
      return atomic<u16, AAddHalf<true>>;
    case Mod::f16x2:
      return atomic<u32, AAddHalfX2<false>>;
    case Mod::bf16x2:
      return atomic<u32, AAddHalfX2<true>>;
    default:
      return nullptr;
  }
}

template <bool kMax>
LaneFn selectMinMax(Type t) {
  switch (t) {
    case Mod::u32:
      return atomic<u32, AMinMax<u32, kMax>>;
    case Mod::s32:
      return atomic<u32, AMinMax<i32, kMax>>;
    case Mod::u64:
      return atomic<u64, AMinMax<u64, kMax>>;
    case Mod::s64:
      return atomic<u64, AMinMax<i64, kMax>>;
    default:
      return nullptr;
  }
}

}  // namespace

LaneFn selectAtomic(const Form& f) {
  if (f.firstOf({Mod::v2, Mod::v4, Mod::v8}) != Mod::none) return selectVector(f);
  Type t = f.types[0];
  switch (f.firstOf({Mod::add, Mod::minMod, Mod::maxMod, Mod::andMod, Mod::orMod, Mod::xorMod,
                     Mod::exch, Mod::cas, Mod::inc, Mod::dec})) {
    case Mod::add:
      return selectAdd(t);
    case Mod::minMod:
      return selectMinMax<false>(t);
    case Mod::maxMod:
      return selectMinMax<true>(t);
    case Mod::andMod:
      return bitsOp<AAnd>(t);
    case Mod::orMod:
      return bitsOp<AOr>(t);
    case Mod::xorMod:
      return bitsOp<AXor>(t);
    case Mod::exch:
      if (t == Mod::b128) return atomicWide<WideAtomic::exchange>;
      return bitsOp<AExch>(t);
    case Mod::cas:
      if (t == Mod::b128) return atomicWide<WideAtomic::compareExchange>;
      if (t == Mod::b16) return atomic<u16, ACas>;
      return bitsOp<ACas>(t);
    case Mod::inc:
      return atomic<u32, AInc>;
    case Mod::dec:
      return atomic<u32, ADec>;
    default:
      return nullptr;
  }
}

}  // namespace mtlc::sim::MTLC_LANES
