// Logic, shifts and bit fields (PTX ISA 9.7.1.13 to 9.7.1.22, 9.7.8, prmt of 9.7.9).

#include "mtlc/sim/lanes/columns.h"

namespace mtlc::sim::MTLC_LANES {
namespace {

struct And {
  template <typename T>
  static MTLC_INLINE T run(T a, T b) {
    return a & b;
  }
};
struct Or {
  template <typename T>
  static MTLC_INLINE T run(T a, T b) {
    return a | b;
  }
};
struct Xor {
  template <typename T>
  static MTLC_INLINE T run(T a, T b) {
    return a ^ b;
  }
};
struct Not {
  template <typename T>
  static MTLC_INLINE T run(T a) {
    return static_cast<T>(~a);
  }
};
struct Cnot {
  template <typename T>
  static MTLC_INLINE T run(T a) {
    return a == 0;
  }
};
// Shift amounts are 32-bit and clamp at the width.
struct Shl {
  template <typename T>
  static MTLC_INLINE T run(T a, u32 n) {
    return n < 8 * sizeof(T) ? static_cast<T>(static_cast<Col<T>>(a) << (n & 63)) : T{0};
  }
};
struct Shr {
  template <typename T>
  static MTLC_INLINE T run(T a, u32 n) {
    if constexpr (std::is_signed_v<T>) {
      return static_cast<T>(a >> (n < 8 * sizeof(T) ? n : 8 * sizeof(T) - 1));
    } else {
      return n < 8 * sizeof(T) ? static_cast<T>(static_cast<Col<T>>(a) >> (n & 63)) : T{0};
    }
  }
};

template <bool kLeft, bool kWrap>
struct Shf {
  static MTLC_INLINE u32 run(u32 a, u32 b, u32 c) {
    u32 n = kWrap ? c & 31 : (c < 32 ? c : 32);
    u64 both = static_cast<u64>(b) << 32 | a;
    return kLeft ? static_cast<u32>((both << n) >> 32) : static_cast<u32>(both >> n);
  }
};

struct Popc {
  template <typename T>
  static MTLC_INLINE u32 run(T a) {
    return static_cast<u32>(__builtin_popcountll(a));
  }
};
struct Clz {
  template <typename T>
  static MTLC_INLINE u32 run(T a) {
    constexpr u32 kWidth = 8 * sizeof(T);
    return a == 0 ? kWidth : static_cast<u32>(__builtin_clzll(a)) - (64 - kWidth);
  }
};
template <bool kShift>
struct Bfind {
  template <typename T>
  static MTLC_INLINE u32 run(T a) {
    if constexpr (std::is_signed_v<T>) {
      if (a < 0) a = static_cast<T>(~a);
    }
    if (a == 0) return 0xffffffffu;
    u32 top = 63 - static_cast<u32>(__builtin_clzll(static_cast<u64>(a)));
    return kShift ? 8 * sizeof(T) - 1 - top : top;
  }
};
struct Brev {
  template <typename T>
  static MTLC_INLINE T run(T a) {
    u64 x = a;
    x = (x >> 1 & 0x5555555555555555u) | (x & 0x5555555555555555u) << 1;
    x = (x >> 2 & 0x3333333333333333u) | (x & 0x3333333333333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0f0f0f0f0fu) | (x & 0x0f0f0f0f0f0f0f0fu) << 4;
    x = __builtin_bswap64(x);
    return static_cast<T>(x >> (64 - 8 * sizeof(T)));
  }
};
struct Fns {
  static MTLC_INLINE u32 run(u32 mask, u32 base, i32 offset) {
    if (base > 31) return 0xffffffffu;
    if (offset == 0) return (mask >> base & 1) != 0 ? base : 0xffffffffu;
    i64 count = (offset < 0 ? -i64{offset} : i64{offset}) - 1;
    int step = offset > 0 ? 1 : -1;
    for (int pos = static_cast<int>(base); pos >= 0 && pos < 32; pos += step) {
      if ((mask >> pos & 1) != 0 && count-- == 0) return static_cast<u32>(pos);
    }
    return 0xffffffffu;
  }
};
// The low `len` bits set; any len.
template <typename T>
MTLC_INLINE T lowMask(u32 len) {
  return len >= 8 * sizeof(T) ? static_cast<T>(~T{0})
                              : static_cast<T>((std::make_unsigned_t<T>{1} << (len & 63)) - 1);
}
struct Bfe {
  template <typename T>
  static MTLC_INLINE T run(T a, u32 b, u32 c) {
    using U = std::make_unsigned_t<T>;
    constexpr u32 kTop = 8 * sizeof(T) - 1;
    u32 pos = b & 0xff, len = c & 0xff;
    U bits = pos > kTop ? U{0} : static_cast<U>(static_cast<U>(a) >> (pos & kTop));
    // Bits past the register or the field are copies of the sign bit: that of the field, or the top
    // one.
    u32 have = pos > kTop ? 0 : kTop + 1 - pos;
    u32 keep = len < have ? len : have;
    U field = static_cast<U>(bits & lowMask<U>(keep));
    if constexpr (std::is_signed_v<T>) {
      u32 at = pos + len - 1;
      bool sign = len != 0 && ((static_cast<U>(a) >> (at < kTop ? at : kTop)) & 1) != 0;
      if (sign) field |= static_cast<U>(~lowMask<U>(keep));
    }
    return static_cast<T>(field);
  }
};
struct Bfi {  // Source a into b.
  template <typename T>
  static MTLC_INLINE T insert(T a, T b, u32 c, u32 d) {
    constexpr u32 kTop = 8 * sizeof(T) - 1;
    u32 pos = c & 0xff, len = d & 0xff;
    if (pos > kTop) return b;
    T field = static_cast<T>(lowMask<T>(len) << pos);
    return static_cast<T>((static_cast<T>(a << pos) & field) | (b & ~field));
  }
};
template <bool kWrap>
struct Szext {
  template <typename T>
  static MTLC_INLINE T run(T a, u32 b) {
    u32 n = kWrap ? b & 31 : (b < 32 ? b : 32);
    if (n == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      return static_cast<T>(static_cast<u32>(a) << (32 - n)) >> (32 - n);
    } else {
      return static_cast<u32>(a) << (32 - n) >> (32 - n);
    }
  }
};
template <bool kClamp>
struct Bmsk {
  static MTLC_INLINE u32 run(u32 a, u32 b) {
    u32 start = a & 31, width = b & 31, sum = start + width;
    u32 mask0 = 0xffffffffu << start;
    u32 mask1 = sum >= 32 ? 0 : 0xffffffffu << sum;
    if (kClamp) {
      if (a >= 32) return 0;
      if (b >= 32) mask1 = 0;
    }
    return mask0 & ~mask1;
  }
};

template <typename T>
void bfiMap(const Instr& in, Warp& w, LaneMask mask) {
  const Col<T>* a = column<T>(w, in.src[0]);
  const Col<T>* b = column<T>(w, in.src[1]);
  const u32* c = column32(w, in.src[2]);
  const u32* d = column32(w, in.src[3]);
  intoColumn(column<T>(w, in.dst), mask, [&](Col<T>* out) {
#pragma GCC ivdep
    for (unsigned i = 0; i < kLanes; ++i) out[i] = Bfi::insert<T>(a[i], b[i], c[i], d[i]);
  });
}

// The table is in imm: bit (a b c) of it is the result.
MTLC_INLINE u32 lop3Value(u32 a, u32 b, u32 c, u32 lut) {
  u32 r = 0;
  if (lut & 0x01) r |= ~a & ~b & ~c;
  if (lut & 0x02) r |= ~a & ~b & c;
  if (lut & 0x04) r |= ~a & b & ~c;
  if (lut & 0x08) r |= ~a & b & c;
  if (lut & 0x10) r |= a & ~b & ~c;
  if (lut & 0x20) r |= a & ~b & c;
  if (lut & 0x40) r |= a & b & ~c;
  if (lut & 0x80) r |= a & b & c;
  return r;
}

void lop3Map(const Instr& in, Warp& w, LaneMask mask) {
  const u32* a = column32(w, in.src[0]);
  const u32* b = column32(w, in.src[1]);
  const u32* c = column32(w, in.src[2]);
  u32 lut = static_cast<u32>(in.imm);
  intoColumn(column32(w, in.dst), mask, [&](u32* out) {
#pragma GCC ivdep
    for (unsigned i = 0; i < kLanes; ++i) out[i] = lop3Value(a[i], b[i], c[i], lut);
  });
}

// p = (d != 0) op q; d may be a sink.
template <bool kAnd>
void lop3Bool(const Instr& in, Warp& w, LaneMask mask) {
  const u32* a = column32(w, in.src[0]);
  const u32* b = column32(w, in.src[1]);
  const u32* c = column32(w, in.src[2]);
  u32 lut = static_cast<u32>(in.imm);
  alignas(64) u32 t[kLanes];
  for (unsigned i = 0; i < kLanes; ++i) t[i] = lop3Value(a[i], b[i], c[i], lut);
  LaneMask nonZero = collect([&](unsigned i) { return t[i] != 0; });
  LaneMask q = readPred(w, in.src[3]);
  if (in.dst != kNoRef) blend(column32(w, in.dst), t, mask);
  writePred(w, in.ext, kAnd ? nonZero & q : nonZero | q, mask);
}

// Byte numbers for d.b3 … d.b0 as the nibbles of a selector, by mode and c[1:0].
constexpr u16 kPrmtModes[6][4] = {
    {0x3210, 0x4321, 0x5432, 0x6543},  // f4e
    {0x5670, 0x6701, 0x7012, 0x0123},  // b4e
    {0x0000, 0x1111, 0x2222, 0x3333},  // rc8
    {0x3210, 0x3211, 0x3222, 0x3333},  // ecl
    {0x0000, 0x1110, 0x2210, 0x3210},  // ecr
    {0x1010, 0x3232, 0x1010, 0x3232},  // rc16
};

struct Prmt {
  static MTLC_INLINE u32 run(u32 a, u32 b, u32 c) {
    u64 both = static_cast<u64>(b) << 32 | a;
    u32 out = 0;
    for (unsigned i = 0; i < 4; ++i) {
      u32 sel = c >> (4 * i) & 15;
      u32 byte = static_cast<u32>(both >> (8 * (sel & 7))) & 0xff;
      if ((sel & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
      out |= byte << (8 * i);
    }
    return out;
  }
};
template <unsigned kMode>
struct PrmtMode {
  static MTLC_INLINE u32 run(u32 a, u32 b, u32 c) {
    return Prmt::run(a, b, kPrmtModes[kMode][c & 3]);
  }
};

template <typename F>
LaneFn bits2(Type t) {
  switch (t) {
    case Mod::b16:
      return map2<F, u16, u16, u16>;
    case Mod::b32:
      return map2<F, u32, u32, u32>;
    case Mod::b64:
      return map2<F, u64, u64, u64>;
    default:
      return nullptr;
  }
}
template <typename F>
LaneFn bits1(Type t) {
  switch (t) {
    case Mod::b16:
      return map1<F, u16, u16>;
    case Mod::b32:
      return map1<F, u32, u32>;
    case Mod::b64:
      return map1<F, u64, u64>;
    default:
      return nullptr;
  }
}

template <typename F>
void pred2(const Instr& in, Warp& w, LaneMask mask) {
  writePred(w, in.dst, F::run(readPred(w, in.src[0]), readPred(w, in.src[1])), mask);
}
void predNot(const Instr& in, Warp& w, LaneMask mask) {
  writePred(w, in.dst, ~readPred(w, in.src[0]), mask);
}

template <typename F>
LaneFn logic2(Type t) {
  return t == Mod::pred ? pred2<F> : bits2<F>(t);
}

LaneFn selectShift(const Form& f) {
  bool left = f.row->family == Family::shl;
  switch (f.types[0]) {
    case Mod::b16:
    case Mod::u16:
      return left ? map2<Shl, u16, u16, u32> : map2<Shr, u16, u16, u32>;
    case Mod::b32:
    case Mod::u32:
      return left ? map2<Shl, u32, u32, u32> : map2<Shr, u32, u32, u32>;
    case Mod::b64:
    case Mod::u64:
      return left ? map2<Shl, u64, u64, u32> : map2<Shr, u64, u64, u32>;
    case Mod::s16:
      return map2<Shr, i16, i16, u32>;
    case Mod::s32:
      return map2<Shr, i32, i32, u32>;
    case Mod::s64:
      return map2<Shr, i64, i64, u32>;
    default:
      return nullptr;
  }
}

template <bool kShift>
LaneFn selectBfind(Type t) {
  switch (t) {
    case Mod::u32:
      return map1<Bfind<kShift>, u32, u32>;
    case Mod::u64:
      return map1<Bfind<kShift>, u32, u64>;
    case Mod::s32:
      return map1<Bfind<kShift>, u32, i32>;
    case Mod::s64:
      return map1<Bfind<kShift>, u32, i64>;
    default:
      return nullptr;
  }
}

LaneFn selectBfe(Type t) {
  switch (t) {
    case Mod::u32:
      return map3<Bfe, u32, u32, u32, u32>;
    case Mod::u64:
      return map3<Bfe, u64, u64, u32, u32>;
    case Mod::s32:
      return map3<Bfe, i32, i32, u32, u32>;
    case Mod::s64:
      return map3<Bfe, i64, i64, u32, u32>;
    default:
      return nullptr;
  }
}

LaneFn selectPrmt(const Form& f) {
  switch (f.firstOf({Mod::f4e, Mod::b4e, Mod::rc8, Mod::ecl, Mod::ecr, Mod::rc16})) {
    case Mod::f4e:
      return map3<PrmtMode<0>, u32, u32, u32, u32>;
    case Mod::b4e:
      return map3<PrmtMode<1>, u32, u32, u32, u32>;
    case Mod::rc8:
      return map3<PrmtMode<2>, u32, u32, u32, u32>;
    case Mod::ecl:
      return map3<PrmtMode<3>, u32, u32, u32, u32>;
    case Mod::ecr:
      return map3<PrmtMode<4>, u32, u32, u32, u32>;
    case Mod::rc16:
      return map3<PrmtMode<5>, u32, u32, u32, u32>;
    default:
      return map3<Prmt, u32, u32, u32, u32>;
  }
}

}  // namespace

LaneFn selectBits(const Form& f) {
  Type t = f.types[0];
  switch (f.row->family) {
    case Family::logicAnd:
      return logic2<And>(t);
    case Family::logicOr:
      return logic2<Or>(t);
    case Family::logicXor:
      return logic2<Xor>(t);
    case Family::logicNot:
      return t == Mod::pred ? predNot : bits1<Not>(t);
    case Family::cnot:
      return bits1<Cnot>(t);
    case Family::lop3:
      if (f.has(Mod::andMod)) return lop3Bool<true>;
      return f.has(Mod::orMod) ? lop3Bool<false> : lop3Map;
    case Family::shl:
    case Family::shr:
      return selectShift(f);
    case Family::shf:
      if (f.has(Mod::l)) {
        return f.has(Mod::wrap) ? map3<Shf<true, true>, u32, u32, u32, u32>
                                : map3<Shf<true, false>, u32, u32, u32, u32>;
      }
      return f.has(Mod::wrap) ? map3<Shf<false, true>, u32, u32, u32, u32>
                              : map3<Shf<false, false>, u32, u32, u32, u32>;
    case Family::popc:
      return t == Mod::b32 ? map1<Popc, u32, u32> : map1<Popc, u32, u64>;
    case Family::clz:
      return t == Mod::b32 ? map1<Clz, u32, u32> : map1<Clz, u32, u64>;
    case Family::bfind:
      return f.has(Mod::shiftamt) ? selectBfind<true>(t) : selectBfind<false>(t);
    case Family::brev:
      return bits1<Brev>(t);
    case Family::fns:
      return map3<Fns, u32, u32, u32, i32>;
    case Family::bfe:
      return selectBfe(t);
    case Family::bfi:
      return t == Mod::b32 ? bfiMap<u32> : bfiMap<u64>;
    case Family::szext:
      if (t == Mod::u32) {
        return f.has(Mod::wrap) ? map2<Szext<true>, u32, u32, u32>
                                : map2<Szext<false>, u32, u32, u32>;
      }
      return f.has(Mod::wrap) ? map2<Szext<true>, i32, i32, u32>
                              : map2<Szext<false>, i32, i32, u32>;
    case Family::bmsk:
      return f.has(Mod::clamp) ? map2<Bmsk<true>, u32, u32, u32> : map2<Bmsk<false>, u32, u32, u32>;
    case Family::prmt:
      return selectPrmt(f);
    default:
      return nullptr;
  }
}

}  // namespace mtlc::sim::MTLC_LANES
