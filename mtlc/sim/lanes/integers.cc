// Integer arithmetic (PTX ISA 9.7.1, 9.7.2).

#include "mtlc/sim/lanes/columns.h"

namespace mtlc::sim::MTLC_LANES {
namespace {

template <typename T>
using Unsigned = std::make_unsigned_t<T>;

template <typename T>
struct WideOf;
template <>
struct WideOf<u16> {
  using type = u32;
};
template <>
struct WideOf<i16> {
  using type = i32;
};
template <>
struct WideOf<u32> {
  using type = u64;
};
template <>
struct WideOf<i32> {
  using type = i64;
};
template <>
struct WideOf<u64> {
  using type = u128;
};
template <>
struct WideOf<i64> {
  using type = i128;
};
template <typename T>
using Wide = typename WideOf<T>::type;

template <typename T>
MTLC_INLINE T wrapAdd(T a, T b) {
  return static_cast<T>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b));
}
template <typename T>
MTLC_INLINE T wrapSub(T a, T b) {
  return static_cast<T>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b));
}
template <typename T>
MTLC_INLINE T wrapNeg(T a) {
  return static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(a));
}
template <typename T>
MTLC_INLINE T mulLow(T a, T b) {
  // The 64-bit type keeps 16-bit operands from promoting to a signed int that overflows.
  return static_cast<T>(static_cast<u64>(a) * static_cast<u64>(b));
}
template <typename T>
MTLC_INLINE T mulHigh(T a, T b) {
  return static_cast<T>((static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b)) >> (8 * sizeof(T)));
}
template <typename T>
MTLC_INLINE T clampS32(i64 v) {
  return static_cast<T>(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v);
}
template <typename T>
MTLC_INLINE T lesser(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
MTLC_INLINE T greater(T a, T b) {
  return a < b ? b : a;
}

struct Add {
  template <typename T>
  static MTLC_INLINE T run(T a, T b) {
    return wrapAdd(a, b);
  }
};
struct AddSat {
  static MTLC_INLINE i32 run(i32 a, i32 b) { return clampS32<i32>(i64{a} + b); }
};
struct Sub {
  template <typename T>
  static MTLC_INLINE T run(T a, T b) {
    return wrapSub(a, b);
  }
};
struct SubSat {
  static MTLC_INLINE i32 run(i32 a, i32 b) { return clampS32<i32>(i64{a} - b); }
};
struct MulLo {
  template <typename T>
  static MTLC_INLINE T run(T a, T b) {
    return mulLow(a, b);
  }
};
struct MulHi {
  template <typename T>
  static MTLC_INLINE T run(T a, T b) {
    return mulHigh(a, b);
  }
};
struct MulWide {
  template <typename T>
  static MTLC_INLINE Wide<T> run(T a, T b) {
    return static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b);
  }
};
struct MadLo {
  template <typename T>
  static MTLC_INLINE T run(T a, T b, T c) {
    return wrapAdd(mulLow(a, b), c);
  }
};
struct MadHi {  // The high half is taken before the addition.
  template <typename T>
  static MTLC_INLINE T run(T a, T b, T c) {
    return wrapAdd(mulHigh(a, b), c);
  }
};
struct MadHiSat {
  static MTLC_INLINE i32 run(i32 a, i32 b, i32 c) { return clampS32<i32>(i64{mulHigh(a, b)} + c); }
};
struct MadWide {
  template <typename T>
  static MTLC_INLINE Wide<T> run(T a, T b, Wide<T> c) {
    return wrapAdd<Wide<T>>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b), c);
  }
};

template <typename T>
MTLC_INLINE i64 low24(T a) {
  if constexpr (std::is_signed_v<T>) {
    return static_cast<i64>(static_cast<u64>(static_cast<u32>(a)) << 40) >> 40;
  } else {
    return a & 0xffffff;
  }
}
struct Mul24Lo {
  template <typename T>
  static MTLC_INLINE T run(T a, T b) {
    return static_cast<T>(low24(a) * low24(b));
  }
};
struct Mul24Hi {  // Bits 47:16 of the 48-bit product.
  template <typename T>
  static MTLC_INLINE T run(T a, T b) {
    return static_cast<T>((low24(a) * low24(b)) >> 16);
  }
};
struct Mad24Lo {
  template <typename T>
  static MTLC_INLINE T run(T a, T b, T c) {
    return wrapAdd(Mul24Lo::run(a, b), c);
  }
};
struct Mad24Hi {
  template <typename T>
  static MTLC_INLINE T run(T a, T b, T c) {
    return wrapAdd(Mul24Hi::run(a, b), c);
  }
};
struct Mad24HiSat {
  static MTLC_INLINE i32 run(i32 a, i32 b, i32 c) {
    return clampS32<i32>(i64{Mul24Hi::run(a, b)} + c);
  }
};
struct Sad {
  template <typename T>
  static MTLC_INLINE T run(T a, T b, T c) {
    T d = a < b ? wrapSub(b, a) : wrapSub(a, b);
    return wrapAdd(c, d);
  }
};
// Division by zero is unspecified in PTX; hardware gives all ones, and the dividend as remainder.
struct Div {
  template <typename T>
  static MTLC_INLINE T run(T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return wrapNeg(a);
    }
    return static_cast<T>(a / b);
  }
};
struct Rem {
  template <typename T>
  static MTLC_INLINE T run(T a, T b) {
    if (b == 0) return a;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
    }
    return static_cast<T>(a % b);
  }
};
struct Abs {
  template <typename T>
  static MTLC_INLINE T run(T a) {
    return a < 0 ? wrapNeg(a) : a;
  }
};
struct Neg {
  template <typename T>
  static MTLC_INLINE T run(T a) {
    return wrapNeg(a);
  }
};
struct Min {
  template <typename T>
  static MTLC_INLINE T run(T a, T b) {
    return lesser(a, b);
  }
};
struct Max {
  template <typename T>
  static MTLC_INLINE T run(T a, T b) {
    return greater(a, b);
  }
};
struct MinRelu {
  template <typename T>
  static MTLC_INLINE T run(T a, T b) {
    return greater(lesser(a, b), T{0});
  }
};
struct MaxRelu {
  template <typename T>
  static MTLC_INLINE T run(T a, T b) {
    return greater(greater(a, b), T{0});
  }
};

// Applies F to both 16-bit halves.
template <typename F, typename T>
struct Pairwise {
  template <typename P>
  static MTLC_INLINE P run(P a, P b) {
    T lo = F::run(static_cast<T>(a.bits), static_cast<T>(b.bits));
    T hi = F::run(static_cast<T>(a.bits >> 16), static_cast<T>(b.bits >> 16));
    return P{static_cast<u32>(static_cast<u16>(lo)) | static_cast<u32>(static_cast<u16>(hi)) << 16};
  }
};

// Maps F over two sources of the form's integer type.
template <typename F>
LaneFn integer2(Type t) {
  switch (t) {
    case Mod::u16:
      return map2<F, u16, u16, u16>;
    case Mod::u32:
      return map2<F, u32, u32, u32>;
    case Mod::u64:
      return map2<F, u64, u64, u64>;
    case Mod::s16:
      return map2<F, i16, i16, i16>;
    case Mod::s32:
      return map2<F, i32, i32, i32>;
    case Mod::s64:
      return map2<F, i64, i64, i64>;
    case Mod::u16x2:
      if constexpr (requires { F::run(u16{}, u16{}); }) {
        return map2<Pairwise<F, u16>, U16x2, U16x2, U16x2>;
      }
      return nullptr;
    case Mod::s16x2:
      return map2<Pairwise<F, i16>, S16x2, S16x2, S16x2>;
    default:
      return nullptr;
  }
}

template <typename F>
LaneFn integer3(Type t) {
  switch (t) {
    case Mod::u16:
      return map3<F, u16, u16, u16, u16>;
    case Mod::u32:
      return map3<F, u32, u32, u32, u32>;
    case Mod::u64:
      return map3<F, u64, u64, u64, u64>;
    case Mod::s16:
      return map3<F, i16, i16, i16, i16>;
    case Mod::s32:
      return map3<F, i32, i32, i32, i32>;
    case Mod::s64:
      return map3<F, i64, i64, i64, i64>;
    default:
      return nullptr;
  }
}

LaneFn selectMul(const Form& f) {
  if (f.has(Mod::lo)) return integer2<MulLo>(f.types[0]);
  if (f.has(Mod::hi)) return integer2<MulHi>(f.types[0]);
  switch (f.types[0]) {
    case Mod::u16:
      return map2<MulWide, u32, u16, u16>;
    case Mod::s16:
      return map2<MulWide, i32, i16, i16>;
    case Mod::u32:
      return map2<MulWide, u64, u32, u32>;
    case Mod::s32:
      return map2<MulWide, i64, i32, i32>;
    default:
      return nullptr;
  }
}

LaneFn selectMad(const Form& f) {
  if (f.has(Mod::sat)) return map3<MadHiSat, i32, i32, i32, i32>;
  if (f.has(Mod::lo)) return integer3<MadLo>(f.types[0]);
  if (f.has(Mod::hi)) return integer3<MadHi>(f.types[0]);
  switch (f.types[0]) {
    case Mod::u16:
      return map3<MadWide, u32, u16, u16, u32>;
    case Mod::s16:
      return map3<MadWide, i32, i16, i16, i32>;
    case Mod::u32:
      return map3<MadWide, u64, u32, u32, u64>;
    case Mod::s32:
      return map3<MadWide, i64, i32, i32, i64>;
    default:
      return nullptr;
  }
}

// Extended precision: the carry flag is a predicate column, src[3] in and dst of the flag in
// operandLists… the decoder puts it at a fixed slot of the frame: index 0 of the predicate bank.
constexpr Ref kCarryRef = makeRef(File::frame, Bank::pred, 0);

enum class CarryOp { add, sub, madLo, madHi };

// After a subtraction the flag means "no borrow", so that subc computes a + ~b + flag.
template <CarryOp kOp, bool kIn, bool kOut, typename T>
void carryMap(const Instr& in, Warp& w, LaneMask mask) {
  const Col<T>* a = column<T>(w, in.src[0]);
  const Col<T>* b = column<T>(w, in.src[1]);
  const Col<T>* c = kOp == CarryOp::madLo || kOp == CarryOp::madHi ? column<T>(w, in.src[2]) : a;
  Col<T>* d = column<T>(w, in.dst);
  LaneMask flags = readPred(w, kCarryRef);
  LaneMask out = 0;
  eachLane(mask, [&](unsigned i) {
    T x = decode<T>(a[i]), y = decode<T>(b[i]);
    u64 left, right;
    if constexpr (kOp == CarryOp::add || kOp == CarryOp::sub) {
      left = static_cast<Unsigned<T>>(x);
      right = static_cast<Unsigned<T>>(kOp == CarryOp::sub ? static_cast<T>(~y) : y);
    } else {
      left = static_cast<Unsigned<T>>(kOp == CarryOp::madLo ? mulLow(x, y) : mulHigh(x, y));
      right = static_cast<Unsigned<T>>(decode<T>(c[i]));
    }
    u64 carry = kIn ? flags >> i & 1 : kOp == CarryOp::sub ? 1 : 0;
    u128 sum = static_cast<u128>(left) + right + carry;
    d[i] = encode<T>(static_cast<T>(sum));
    if ((sum >> (8 * sizeof(T))) != 0) out |= kLaneBit[i];
  });
  if constexpr (kOut) writePred(w, kCarryRef, out, mask);
}

template <CarryOp kOp, bool kIn, bool kOut>
LaneFn carryType(Type t) {
  switch (t) {
    case Mod::u32:
      return carryMap<kOp, kIn, kOut, u32>;
    case Mod::s32:
      return carryMap<kOp, kIn, kOut, i32>;
    case Mod::u64:
      return carryMap<kOp, kIn, kOut, u64>;
    case Mod::s64:
      return carryMap<kOp, kIn, kOut, i64>;
    default:
      return nullptr;
  }
}

template <CarryOp kOp>
LaneFn carryIn(const Form& f) {
  return f.has(Mod::cc) ? carryType<kOp, true, true>(f.types[0])
                        : carryType<kOp, true, false>(f.types[0]);
}

// dp4a, dp2a: the signs of a and b are chosen apart.
template <typename A, typename B>
struct Dp4a {
  static MTLC_INLINE u32 run(u32 a, u32 b, u32 c) {
    for (unsigned i = 0; i < 4; ++i) {
      i64 x = static_cast<A>(a >> (8 * i));
      i64 y = static_cast<B>(b >> (8 * i));
      c += static_cast<u32>(x * y);
    }
    return c;
  }
};
template <typename A, typename B, bool kHigh>
struct Dp2a {
  static MTLC_INLINE u32 run(u32 a, u32 b, u32 c) {
    u32 half = kHigh ? b >> 16 : b;
    for (unsigned i = 0; i < 2; ++i) {
      i64 x = static_cast<A>(a >> (16 * i));
      i64 y = static_cast<B>(half >> (8 * i));
      c += static_cast<u32>(x * y);
    }
    return c;
  }
};

LaneFn selectDp4a(const Form& f) {
  bool sa = f.types[0] == Mod::s32, sb = f.types[1] == Mod::s32;
  if (sa)
    return sb ? map3<Dp4a<i8, i8>, u32, u32, u32, u32> : map3<Dp4a<i8, u8>, u32, u32, u32, u32>;
  return sb ? map3<Dp4a<u8, i8>, u32, u32, u32, u32> : map3<Dp4a<u8, u8>, u32, u32, u32, u32>;
}

template <bool kHigh>
LaneFn selectDp2a(const Form& f) {
  bool sa = f.types[0] == Mod::s32, sb = f.types[1] == Mod::s32;
  if (sa) {
    return sb ? map3<Dp2a<i16, i8, kHigh>, u32, u32, u32, u32>
              : map3<Dp2a<i16, u8, kHigh>, u32, u32, u32, u32>;
  }
  return sb ? map3<Dp2a<u16, i8, kHigh>, u32, u32, u32, u32>
            : map3<Dp2a<u16, u8, kHigh>, u32, u32, u32, u32>;
}

template <typename F>
LaneFn signed1(Type t) {
  switch (t) {
    case Mod::s16:
      return map1<F, i16, i16>;
    case Mod::s32:
      return map1<F, i32, i32>;
    case Mod::s64:
      return map1<F, i64, i64>;
    default:
      return nullptr;
  }
}

template <typename FU, typename FS>
LaneFn word2(Type t) {
  return t == Mod::u32 ? map2<FU, u32, u32, u32> : map2<FS, i32, i32, i32>;
}
template <typename F>
LaneFn word3(Type t) {
  return t == Mod::u32 ? map3<F, u32, u32, u32, u32> : map3<F, i32, i32, i32, i32>;
}

}  // namespace

LaneFn selectIntegers(const Form& f) {
  Type t = f.types[0];
  switch (f.row->family) {
    case Family::intAdd:
      return f.has(Mod::sat) ? map2<AddSat, i32, i32, i32> : integer2<Add>(t);
    case Family::intSub:
      return f.has(Mod::sat) ? map2<SubSat, i32, i32, i32> : integer2<Sub>(t);
    case Family::intMul:
      return selectMul(f);
    case Family::intMad:
      return selectMad(f);
    case Family::mul24:
      return f.has(Mod::lo) ? word2<Mul24Lo, Mul24Lo>(t) : word2<Mul24Hi, Mul24Hi>(t);
    case Family::mad24:
      if (f.has(Mod::sat)) return map3<Mad24HiSat, i32, i32, i32, i32>;
      return f.has(Mod::lo) ? word3<Mad24Lo>(t) : word3<Mad24Hi>(t);
    case Family::sad:
      return integer3<Sad>(t);
    case Family::intDiv:
      return integer2<Div>(t);
    case Family::intRem:
      return integer2<Rem>(t);
    case Family::intAbs:
      return signed1<Abs>(t);
    case Family::intNeg:
      return signed1<Neg>(t);
    case Family::intMin:
      return f.has(Mod::relu) ? integer2<MinRelu>(t) : integer2<Min>(t);
    case Family::intMax:
      return f.has(Mod::relu) ? integer2<MaxRelu>(t) : integer2<Max>(t);
    case Family::addCarry:
      return carryType<CarryOp::add, false, true>(t);
    case Family::addCarryIn:
      return carryIn<CarryOp::add>(f);
    case Family::subCarry:
      return carryType<CarryOp::sub, false, true>(t);
    case Family::subCarryIn:
      return carryIn<CarryOp::sub>(f);
    case Family::madCarry:
      return f.has(Mod::lo) ? carryType<CarryOp::madLo, false, true>(t)
                            : carryType<CarryOp::madHi, false, true>(t);
    case Family::madCarryIn:
      return f.has(Mod::lo) ? carryIn<CarryOp::madLo>(f) : carryIn<CarryOp::madHi>(f);
    case Family::dp4a:
      return selectDp4a(f);
    case Family::dp2a:
      return f.has(Mod::hi) ? selectDp2a<true>(f) : selectDp2a<false>(f);
    default:
      return nullptr;
  }
}

}  // namespace mtlc::sim::MTLC_LANES
