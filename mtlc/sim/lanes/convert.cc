// cvt in all its forms (PTX ISA 9.7.9.21, 9.7.9.22).
//
// imm of the instruction holds the width of the destination register, to which narrow integers are
// extended.

#include "mtlc/sim/lanes/half.h"

namespace mtlc::sim::MTLC_LANES {
namespace {

MTLC_INLINE u32 registerMask(const Instr& in) {
  return (in.imm & 0xff) == 16 ? 0xffffu : 0xffffffffu;
}

// An integer of type T as the bits of its column; types below 32 bits are extended by their sign
// and cut to the register.
template <typename T>
MTLC_INLINE Col<T> extend(T v, u32 mask) {
  if constexpr (sizeof(T) == 8) {
    return static_cast<u64>(v);
  } else {
    return static_cast<u32>(static_cast<i32>(v)) & mask;
  }
}

template <typename T>
constexpr T kMax = static_cast<T>(std::is_signed_v<T> ? (u64{1} << (8 * sizeof(T) - 1)) - 1
                                                      : ~u64{0});
template <typename T>
constexpr T kMin = std::is_signed_v<T> ? static_cast<T>(-kMax<T> - 1) : T{0};

template <typename S, typename D, bool kSat>
void intToInt(const Instr& in, Warp& w, LaneMask mask) {
  const Col<S>* a = column<S>(w, in.src[0]);
  u32 keep = registerMask(in);
  intoColumn(column<D>(w, in.dst), mask, [&](Col<D>* d) {
#pragma GCC ivdep
    for (unsigned i = 0; i < kLanes; ++i) {
      S v = static_cast<S>(a[i]);
      if constexpr (kSat) {
        i128 x = v;
        i128 lo = kMin<D>, hi = kMax<D>;
        d[i] = extend<D>(static_cast<D>(x < lo ? lo : x > hi ? hi : x), keep);
      } else {
        d[i] = extend<D>(static_cast<D>(v), keep);
      }
    }
  });
}

template <Round kMode>
MTLC_INLINE double toIntegral(double x) {
  switch (kMode) {
    case Round::zero:
      return __builtin_trunc(x);
    case Round::down:
      return __builtin_floor(x);
    case Round::up:
      return __builtin_ceil(x);
    default:
      return __builtin_rint(x);
  }
}
double toIntegralAny(Round mode, double x) {
  switch (mode) {
    case Round::zero:
      return toIntegral<Round::zero>(x);
    case Round::down:
      return toIntegral<Round::down>(x);
    case Round::up:
      return toIntegral<Round::up>(x);
    default:
      return toIntegral<Round::nearest>(x);
  }
}

// Clamps to the range of D. NaN: zero between narrow types, else the top bit (PTX ISA, cvt).
template <typename D, bool kFromDouble>
MTLC_INLINE D clampToInt(double x) {
  constexpr bool kTopBit = kFromDouble || sizeof(D) == 8;
  constexpr D kNanResult =
      kTopBit ? static_cast<D>(u64{1} << (8 * sizeof(D) - 1)) : static_cast<D>(0);
  if constexpr (sizeof(D) == 8) {
    constexpr double kTop = std::is_signed_v<D> ? 0x1p63 : 0x1p64;
    constexpr double kBottom = std::is_signed_v<D> ? -0x1p63 : 0.0;
    if (x != x) return kNanResult;
    if (x >= kTop) return kMax<D>;
    if (x <= kBottom) return kMin<D>;
    return static_cast<D>(x);
  } else {
    constexpr double kTop = static_cast<double>(kMax<D>);
    constexpr double kBottom = static_cast<double>(kMin<D>);
    double c = x > kTop ? kTop : x < kBottom ? kBottom : x;
    c = x != x ? 0.0 : c;
    D r = static_cast<D>(static_cast<i64>(c));
    return x != x ? kNanResult : r;
  }
}

template <typename S, typename D, Round kMode, bool kFtz>
void floatToInt(const Instr& in, Warp& w, LaneMask mask) {
  const Col<S>* a = column<S>(w, in.src[0]);
  u32 keep = registerMask(in);
  intoColumn(column<D>(w, in.dst), mask, [&](Col<D>* d) {
#pragma GCC ivdep
    for (unsigned i = 0; i < kLanes; ++i) {
      double x = input<kFtz>(decode<S>(a[i]));
      d[i] = extend<D>(clampToInt<D, sizeof(S) == 8>(toIntegral<kMode>(x)), keep);
    }
  });
}

// Rounding mode in bits 15:8 of imm.
template <bool kBrain, typename D>
void narrowToInt(const Instr& in, Warp& w, LaneMask mask) {
  const u32* a = column32(w, in.src[0]);
  u32 keep = registerMask(in);
  Round mode = static_cast<Round>(in.imm >> 8 & 0xff);
  intoColumn(column<D>(w, in.dst), mask, [&](Col<D>* d) {
    for (unsigned i = 0; i < kLanes; ++i) {
      u16 bits = static_cast<u16>(a[i]);
      double x = kBrain ? bhalfToFloat(bits) : halfToFloat(bits);
      d[i] = extend<D>(clampToInt<D, false>(toIntegralAny(mode, x)), keep);
    }
  });
}

template <typename S, typename D, bool kSat>
struct IntToFloat {
  static MTLC_INLINE D run(S a) {
    // A zero keeps its sign in every rounding mode.
    D r = a == 0 ? D{0} : static_cast<D>(a);
    return kSat ? saturate(r) : r;
  }
};

// |v| rounded to odd in 53 bits.
MTLC_INLINE double magnitudeToOdd(u64 m) {
  if (m == 0) return 0;
  int drop = 11 - __builtin_clzll(m);
  if (drop > 0) {
    u64 rest = m & ((u64{1} << drop) - 1);
    m = (m >> drop | (rest != 0 ? 1 : 0)) << drop;
  }
  return static_cast<double>(m);
}

template <typename S>
MTLC_INLINE double intToOdd(S a) {
  if constexpr (std::is_signed_v<S>) {
    if (a < 0) return -magnitudeToOdd(u64{0} - static_cast<u64>(static_cast<i64>(a)));
  }
  return magnitudeToOdd(static_cast<u64>(a));
}

// Flags of a conversion to a narrow format in imm: rounding mode in bits 15:8, then the bits below.
constexpr i64 kSatBit = 1 << 16;
constexpr i64 kFiniteBit = 1 << 17;
constexpr i64 kReluBit = 1 << 18;
constexpr i64 kFtzBit = 1 << 19;

MTLC_INLINE u16 toNarrow(double x, const Format& f, i64 flags) {
  if ((flags & kSatBit) != 0) x = saturate(x);
  if ((flags & kReluBit) != 0 && x <= 0) x = 0;
  return static_cast<u16>(
      roundToFormat(x, f, static_cast<Round>(flags >> 8 & 0xff), (flags & kFiniteBit) != 0, 15));
}

template <typename S>
MTLC_INLINE double asExactDouble(Col<S> c, bool ftz) {
  if constexpr (std::is_same_v<S, Half>) {
    return halfToFloat(static_cast<u16>(c));
  } else if constexpr (std::is_same_v<S, BHalf>) {
    return bhalfToFloat(static_cast<u16>(c));
  } else if constexpr (std::is_same_v<S, float>) {
    float x = asFloat(c);
    return ftz ? flush(x) : x;
  } else if constexpr (std::is_same_v<S, double>) {
    return asDouble(c);
  } else {
    return intToOdd(decode<S>(c));
  }
}

template <typename S, bool kBrain>
void anyToNarrow(const Instr& in, Warp& w, LaneMask mask) {
  const Col<S>* a = column<S>(w, in.src[0]);
  bool ftz = (in.imm & kFtzBit) != 0;
  intoColumn(column32(w, in.dst), mask, [&](u32* d) {
    for (unsigned i = 0; i < kLanes; ++i) {
      d[i] = toNarrow(asExactDouble<S>(a[i], ftz), kBrain ? kBHalf : kHalf, in.imm);
    }
  });
}

template <bool kFtz, bool kSat>
struct DoubleToFloat {
  static MTLC_INLINE float run(double a) { return finish<kFtz, kSat>(static_cast<float>(a)); }
};
template <bool kFtz, bool kSat>
struct FloatToDouble {
  static MTLC_INLINE double run(float a) {
    double r = static_cast<double>(input<kFtz>(a));
    if (kSat) return saturate(r);
    return isNan(r) ? quiet(r) : r;
  }
};
template <typename S, bool kFtz, bool kSat>
struct NarrowToFloat {
  static MTLC_INLINE float run(S a) {
    float x = std::is_same_v<S, Half> ? halfToFloat(a.bits) : bhalfToFloat(a.bits);
    return finish<kFtz, kSat>(x);
  }
};
template <typename S, bool kSat>
struct NarrowToDouble {
  static MTLC_INLINE double run(S a) {
    double r = std::is_same_v<S, Half> ? halfToFloat(a.bits) : bhalfToFloat(a.bits);
    if (kSat) return saturate(r);
    return isNan(r) ? quiet(r) : r;
  }
};

// Same type: integral rounding when there is a mode.
template <bool kIntegral, Round kMode, bool kFtz, bool kSat>
struct FloatToFloat {
  static MTLC_INLINE float run(float a) {
    a = input<kFtz>(a);
    if (kIntegral) a = static_cast<float>(toIntegral<kMode>(a));
    return finish<kFtz, kSat>(a);
  }
};
template <bool kIntegral, Round kMode, bool kSat>
struct DoubleToDouble {
  static MTLC_INLINE double run(double a) {
    double r = kIntegral ? toIntegral<kMode>(a) : a;
    if (kSat) return saturate(r);
    return isNan(r) ? quiet(r) : r;
  }
};
// imm: mode, sat, and bit 20 for integral rounding.
constexpr i64 kIntegralBit = 1 << 20;
template <bool kBrain>
void narrowToNarrow(const Instr& in, Warp& w, LaneMask mask) {
  const u32* a = column32(w, in.src[0]);
  Round mode = static_cast<Round>(in.imm >> 8 & 0xff);
  intoColumn(column32(w, in.dst), mask, [&](u32* d) {
    for (unsigned i = 0; i < kLanes; ++i) {
      u16 bits = static_cast<u16>(a[i]);
      double x = kBrain ? bhalfToFloat(bits) : halfToFloat(bits);
      if ((in.imm & kIntegralBit) != 0) x = toIntegralAny(mode, x);
      if ((in.imm & kSatBit) != 0) x = saturate(x);
      d[i] = kBrain ? toBHalf(x) : toHalf(x);
    }
  });
}

template <typename S, typename D>
LaneFn intToIntFor(bool sat) {
  return sat ? intToInt<S, D, true> : intToInt<S, D, false>;
}
template <typename S>
LaneFn chooseIntDest(Type d, bool sat) {
  switch (d) {
    case Mod::u8:
      return intToIntFor<S, u8>(sat);
    case Mod::u16:
      return intToIntFor<S, u16>(sat);
    case Mod::u32:
      return intToIntFor<S, u32>(sat);
    case Mod::u64:
      return intToIntFor<S, u64>(sat);
    case Mod::s8:
      return intToIntFor<S, i8>(sat);
    case Mod::s16:
      return intToIntFor<S, i16>(sat);
    case Mod::s32:
      return intToIntFor<S, i32>(sat);
    case Mod::s64:
      return intToIntFor<S, i64>(sat);
    default:
      return nullptr;
  }
}

template <typename S, typename D, Round kMode>
LaneFn floatToIntFtz(bool ftz) {
  if constexpr (std::is_same_v<S, float>) {
    if (ftz) return floatToInt<S, D, kMode, true>;
  }
  return floatToInt<S, D, kMode, false>;
}
template <typename S, typename D>
LaneFn floatToIntMode(const Form& f) {
  bool ftz = f.has(Mod::ftz);
  switch (roundOf(f)) {
    case Round::zero:
      return floatToIntFtz<S, D, Round::zero>(ftz);
    case Round::down:
      return floatToIntFtz<S, D, Round::down>(ftz);
    case Round::up:
      return floatToIntFtz<S, D, Round::up>(ftz);
    default:
      return floatToIntFtz<S, D, Round::nearest>(ftz);
  }
}
template <typename D>
LaneFn chooseFloatSource(const Form& f) {
  switch (f.types[1]) {
    case Mod::f32:
      return floatToIntMode<float, D>(f);
    case Mod::f64:
      return floatToIntMode<double, D>(f);
    case Mod::f16:
      return narrowToInt<false, D>;
    case Mod::bf16:
      return narrowToInt<true, D>;
    default:
      return nullptr;
  }
}

template <typename S>
LaneFn chooseFloatDest(const Form& f) {
  bool sat = f.has(Mod::sat);
  switch (f.types[0]) {
    case Mod::f32:
      return sat ? withRounding<map1<IntToFloat<S, float, true>, float, S>>(f)
                 : withRounding<map1<IntToFloat<S, float, false>, float, S>>(f);
    case Mod::f64:
      return sat ? withRounding<map1<IntToFloat<S, double, true>, double, S>>(f)
                 : withRounding<map1<IntToFloat<S, double, false>, double, S>>(f);
    case Mod::f16:
      return anyToNarrow<S, false>;
    case Mod::bf16:
      return anyToNarrow<S, true>;
    default:
      return chooseIntDest<S>(f.types[0], sat);
  }
}

template <template <bool, bool> typename F, typename D, typename S>
LaneFn withFtzSat(const Form& f) {
  if (f.has(Mod::ftz)) {
    return f.has(Mod::sat) ? withRounding<map1<F<true, true>, D, S>>(f)
                           : withRounding<map1<F<true, false>, D, S>>(f);
  }
  return f.has(Mod::sat) ? withRounding<map1<F<false, true>, D, S>>(f)
                         : withRounding<map1<F<false, false>, D, S>>(f);
}

bool hasIntegralMode(const Form& f) {
  return f.firstOf({Mod::rni, Mod::rzi, Mod::rmi, Mod::rpi}) != Mod::none;
}

template <bool kIntegral, Round kMode>
LaneFn floatToFloatMode(const Form& f) {
  if (f.types[0] == Mod::f64) {
    return f.has(Mod::sat) ? map1<DoubleToDouble<kIntegral, kMode, true>, double, double>
                           : map1<DoubleToDouble<kIntegral, kMode, false>, double, double>;
  }
  if (f.has(Mod::ftz)) {
    return f.has(Mod::sat) ? map1<FloatToFloat<kIntegral, kMode, true, true>, float, float>
                           : map1<FloatToFloat<kIntegral, kMode, true, false>, float, float>;
  }
  return f.has(Mod::sat) ? map1<FloatToFloat<kIntegral, kMode, false, true>, float, float>
                         : map1<FloatToFloat<kIntegral, kMode, false, false>, float, float>;
}
LaneFn chooseSameFloat(const Form& f) {
  if (!hasIntegralMode(f)) return floatToFloatMode<false, Round::nearest>(f);
  switch (roundOf(f)) {
    case Round::zero:
      return floatToFloatMode<true, Round::zero>(f);
    case Round::down:
      return floatToFloatMode<true, Round::down>(f);
    case Round::up:
      return floatToFloatMode<true, Round::up>(f);
    default:
      return floatToFloatMode<true, Round::nearest>(f);
  }
}

template <bool kFtz, bool kSat>
using HalfToFloatOp = NarrowToFloat<Half, kFtz, kSat>;

LaneFn chooseFromFloat(const Form& f) {
  Type d = f.types[0], s = f.types[1];
  if (d == s) {
    if (s == Mod::f16) return narrowToNarrow<false>;
    if (s == Mod::bf16) return narrowToNarrow<true>;
    return chooseSameFloat(f);
  }
  switch (d) {
    case Mod::f32:
      if (s == Mod::f64) return withFtzSat<DoubleToFloat, float, double>(f);
      if (s == Mod::f16) return withFtzSat<HalfToFloatOp, float, Half>(f);
      return map1<NarrowToFloat<BHalf, false, false>, float, BHalf>;
    case Mod::f64:
      if (s == Mod::f32) return withFtzSat<FloatToDouble, double, float>(f);
      if (s == Mod::f16) {
        return f.has(Mod::sat) ? map1<NarrowToDouble<Half, true>, double, Half>
                               : map1<NarrowToDouble<Half, false>, double, Half>;
      }
      return map1<NarrowToDouble<BHalf, false>, double, BHalf>;
    case Mod::f16:
      return s == Mod::f32   ? anyToNarrow<float, false>
             : s == Mod::f64 ? anyToNarrow<double, false>
                             : anyToNarrow<BHalf, false>;
    case Mod::bf16:
      return s == Mod::f32   ? anyToNarrow<float, true>
             : s == Mod::f64 ? anyToNarrow<double, true>
                             : anyToNarrow<Half, true>;
    case Mod::u8:
      return chooseFloatSource<u8>(f);
    case Mod::u16:
      return chooseFloatSource<u16>(f);
    case Mod::u32:
      return chooseFloatSource<u32>(f);
    case Mod::u64:
      return chooseFloatSource<u64>(f);
    case Mod::s8:
      return chooseFloatSource<i8>(f);
    case Mod::s16:
      return chooseFloatSource<i16>(f);
    case Mod::s32:
      return chooseFloatSource<i32>(f);
    case Mod::s64:
      return chooseFloatSource<i64>(f);
    default:
      return nullptr;
  }
}

LaneFn chooseCvt(const Form& f) {
  switch (f.types[1]) {
    case Mod::u8:
      return chooseFloatDest<u8>(f);
    case Mod::u16:
      return chooseFloatDest<u16>(f);
    case Mod::u32:
      return chooseFloatDest<u32>(f);
    case Mod::u64:
      return chooseFloatDest<u64>(f);
    case Mod::s8:
      return chooseFloatDest<i8>(f);
    case Mod::s16:
      return chooseFloatDest<i16>(f);
    case Mod::s32:
      return chooseFloatDest<i32>(f);
    case Mod::s64:
      return chooseFloatDest<i64>(f);
    default:
      return chooseFromFloat(f);
  }
}

// Two single-precision sources; the first becomes the upper half.
template <bool kBrain>
void pairFromFloats(const Instr& in, Warp& w, LaneMask mask) {
  const u32* a = column32(w, in.src[0]);
  const u32* b = column32(w, in.src[1]);
  const Format& f = kBrain ? kBHalf : kHalf;
  intoColumn(column32(w, in.dst), mask, [&](u32* d) {
    for (unsigned i = 0; i < kLanes; ++i) {
      u32 hi = toNarrow(asFloat(a[i]), f, in.imm), lo = toNarrow(asFloat(b[i]), f, in.imm);
      d[i] = hi << 16 | lo;
    }
  });
}

// How two codes of a packed format lie in a register; the sign is the highest bit of a code.
struct Packed {
  Format format;
  unsigned signBit;
  unsigned upper;  // Where the code of the first source begins.
  u32 firstNan;    // Of the codes without sign.
};
constexpr u32 kNoNan = 0x100;
constexpr Packed kE4m3x2{kE4m3, 7, 8, 0x7f};
constexpr Packed kE5m2x2{kE5m2, 7, 8, 0x7d};
constexpr Packed kE2m1x2{kE2m1, 3, 4, kNoNan};
constexpr Packed kE2m3x2{kE2m3, 5, 8, kNoNan};
constexpr Packed kE3m2x2{kE3m2, 5, 8, kNoNan};

template <const Packed& kTo>
MTLC_INLINE u32 toCode(double x, bool relu) {
  if (relu && x <= 0) x = 0;
  return roundToFormat(x, kTo.format, Round::nearest, true, kTo.signBit);
}

template <const Packed& kTo>
void codesFromFloats(const Instr& in, Warp& w, LaneMask mask) {
  const u32* a = column32(w, in.src[0]);
  const u32* b = column32(w, in.src[1]);
  bool relu = (in.imm & kReluBit) != 0;
  intoColumn(column32(w, in.dst), mask, [&](u32* d) {
    for (unsigned i = 0; i < kLanes; ++i) {
      d[i] = toCode<kTo>(asFloat(a[i]), relu) << kTo.upper | toCode<kTo>(asFloat(b[i]), relu);
    }
  });
}

template <const Packed& kTo, bool kBrain>
void codesFromHalves(const Instr& in, Warp& w, LaneMask mask) {
  const u32* a = column32(w, in.src[0]);
  bool relu = (in.imm & kReluBit) != 0;
  auto code = [&](u32 half) {
    u16 bits = static_cast<u16>(half);
    return toCode<kTo>(kBrain ? bhalfToFloat(bits) : halfToFloat(bits), relu);
  };
  intoColumn(column32(w, in.dst), mask, [&](u32* d) {
    for (unsigned i = 0; i < kLanes; ++i) d[i] = code(a[i] >> 16) << kTo.upper | code(a[i]);
  });
}

// With exponent and mantissa in the places that they have in a half, the number is too small by
// the difference of the biases. Bits above the sign do not count.
template <const Packed& kFrom>
MTLC_INLINE u16 codeToHalf(u32 code, bool relu) {
  constexpr const Format& f = kFrom.format;
  constexpr double kScale = static_cast<double>(u32{1} << (kHalf.bias - f.bias));
  u32 magnitudeBits = code & ((u32{1} << kFrom.signBit) - 1);
  if (magnitudeBits >= kFrom.firstNan) return 0x7fff;
  u16 h = static_cast<u16>(magnitudeBits << (kHalf.mantissa - f.mantissa));
  if (f.bias != kHalf.bias) h = toHalf(halfToFloat(h) * kScale);
  h |= static_cast<u16>((code >> kFrom.signBit & 1) << 15);
  return relu && (h & 0x8000) != 0 ? 0 : h;
}

// Every value of these formats is one of both halves.
template <const Packed& kFrom, bool kBrain>
void halvesFromCodes(const Instr& in, Warp& w, LaneMask mask) {
  const u32* a = column32(w, in.src[0]);
  bool relu = (in.imm & kReluBit) != 0;
  bool finite = (in.imm & kFiniteBit) != 0;
  auto half = [&](u32 code) -> u32 {
    u16 h = codeToHalf<kFrom>(code, relu);
    if (finite && (h & 0x7fff) == 0x7c00) return (h & 0x8000) | (kBrain ? 0x7f7f : 0x7bff);
    return kBrain ? toBHalf(halfToFloat(h)) : h;
  };
  intoColumn(column32(w, in.dst), mask, [&](u32* d) {
    for (unsigned i = 0; i < kLanes; ++i) d[i] = half(a[i] >> kFrom.upper) << 16 | half(a[i]);
  });
}

// The power of two next to |x|, toward zero or up, as an exponent with the bias 127; what is less
// than the smallest becomes the smallest. The sign does not count.
MTLC_INLINE u32 toScale(u32 bits, bool up, bool finite) {
  u32 magnitudeBits = bits & 0x7fffffffu;
  if (magnitudeBits > 0x7f800000u) return 0xff;
  u32 code = magnitudeBits >> 23;
  u32 rest = magnitudeBits & 0x7fffffu;
  // The smallest is half of the smallest normal number.
  if (up && rest > (code == 0 ? 0x400000u : 0)) ++code;
  return finite && code > 254 ? 254 : code;
}

template <bool kPairOfFloats>
void scalesFrom(const Instr& in, Warp& w, LaneMask mask) {
  const u32* a = column32(w, in.src[0]);
  const u32* b = kPairOfFloats ? column32(w, in.src[1]) : a;
  bool up = static_cast<Round>(in.imm >> 8 & 0xff) == Round::up;
  bool finite = (in.imm & kFiniteBit) != 0;
  intoColumn(column32(w, in.dst), mask, [&](u32* d) {
    for (unsigned i = 0; i < kLanes; ++i) {
      u32 hi = kPairOfFloats ? a[i] : a[i] & 0xffff0000u;
      u32 lo = kPairOfFloats ? b[i] : a[i] << 16;
      d[i] = toScale(hi, up, finite) << 8 | toScale(lo, up, finite);
    }
  });
}

MTLC_INLINE u32 scaleToBHalf(u32 code) {
  return code == 0xff ? 0x7fff : code == 0 ? 0x40 : code << 7;
}

void bhalvesFromScales(const Instr& in, Warp& w, LaneMask mask) {
  const u32* a = column32(w, in.src[0]);
  intoColumn(column32(w, in.dst), mask, [&](u32* d) {
    for (unsigned i = 0; i < kLanes; ++i) {
      d[i] = scaleToBHalf(a[i] >> 8 & 0xff) << 16 | scaleToBHalf(a[i] & 0xff);
    }
  });
}

// A tf32 is a binary32 whose low 13 bits are zero.
void floatToTf32(const Instr& in, Warp& w, LaneMask mask) {
  const u32* a = column32(w, in.src[0]);
  Round mode = static_cast<Round>(in.imm >> 8 & 0xff);
  bool finite = (in.imm & kFiniteBit) != 0, relu = (in.imm & kReluBit) != 0;
  intoColumn(column32(w, in.dst), mask, [&](u32* d) {
    for (unsigned i = 0; i < kLanes; ++i) {
      double x = asFloat(a[i]);
      if (relu && x <= 0) x = 0;
      d[i] = isNan(x) ? kNan32 : roundToFormat(x, kTf32, mode, finite, 18) << 13;
    }
  });
}

template <typename D>
MTLC_INLINE u32 saturateWord(u32 v) {
  i32 x = static_cast<i32>(v);
  i32 lo = kMin<D>, hi = kMax<D>;
  return static_cast<std::make_unsigned_t<D>>(x < lo ? lo : x > hi ? hi : x);
}
template <typename D>
struct Pack2 {
  static MTLC_INLINE u32 run(u32 a, u32 b) {
    return saturateWord<D>(a) << (8 * sizeof(D)) | saturateWord<D>(b);
  }
};
template <typename D>
struct Pack3 {
  static MTLC_INLINE u32 run(u32 a, u32 b, u32 c) { return c << 16 | Pack2<D>::run(a, b); }
};

LaneFn choosePair(const Form& f) {
  switch (f.types[0]) {
    case Mod::f16x2:
      return pairFromFloats<false>;
    case Mod::bf16x2:
      return pairFromFloats<true>;
    case Mod::e4m3x2:
      return codesFromFloats<kE4m3x2>;
    case Mod::e5m2x2:
      return codesFromFloats<kE5m2x2>;
    case Mod::e2m1x2:
      return codesFromFloats<kE2m1x2>;
    case Mod::e2m3x2:
      return codesFromFloats<kE2m3x2>;
    case Mod::e3m2x2:
      return codesFromFloats<kE3m2x2>;
    case Mod::ue8m0x2:
      return scalesFrom<true>;
    default:
      return nullptr;
  }
}

template <const Packed& kTo>
LaneFn codesFrom(const Form& f) {
  return f.types[1] == Mod::bf16x2 ? codesFromHalves<kTo, true> : codesFromHalves<kTo, false>;
}
template <const Packed& kFrom>
LaneFn codesTo(const Form& f) {
  return f.types[0] == Mod::bf16x2 ? halvesFromCodes<kFrom, true> : halvesFromCodes<kFrom, false>;
}

LaneFn chooseNarrow(const Form& f) {
  switch (f.types[0]) {
    case Mod::ue8m0x2:
      return scalesFrom<false>;
    case Mod::e4m3x2:
      return codesFrom<kE4m3x2>(f);
    case Mod::e5m2x2:
      return codesFrom<kE5m2x2>(f);
    case Mod::e2m1x2:
      return codesFrom<kE2m1x2>(f);
    case Mod::e2m3x2:
      return codesFrom<kE2m3x2>(f);
    case Mod::e3m2x2:
      return codesFrom<kE3m2x2>(f);
    default:
      break;
  }
  switch (f.types[1]) {
    case Mod::ue8m0x2:
      return bhalvesFromScales;
    case Mod::e4m3x2:
      return codesTo<kE4m3x2>(f);
    case Mod::e5m2x2:
      return codesTo<kE5m2x2>(f);
    case Mod::e2m1x2:
      return codesTo<kE2m1x2>(f);
    case Mod::e2m3x2:
      return codesTo<kE2m3x2>(f);
    case Mod::e3m2x2:
      return codesTo<kE3m2x2>(f);
    default:
      return nullptr;
  }
}

LaneFn choosePack(const Form& f) {
  switch (f.types[0]) {
    case Mod::u16:
      return map2<Pack2<u16>, u32, u32, u32>;
    case Mod::s16:
      return map2<Pack2<i16>, u32, u32, u32>;
    case Mod::u8:
      return map3<Pack3<u8>, u32, u32, u32, u32>;
    case Mod::s8:
      return map3<Pack3<i8>, u32, u32, u32, u32>;
    default:
      return nullptr;
  }
}

}  // namespace

// The detail that the functions above expect in imm, but for the width of the destination register.
int64_t convertFlags(const Form& f) {
  i64 flags = static_cast<i64>(roundOf(f)) << 8;
  if (f.has(Mod::sat)) flags |= kSatBit;
  if (f.has(Mod::satfinite)) flags |= kFiniteBit;
  if (f.has(Mod::relu)) flags |= kReluBit;
  if (f.has(Mod::ftz)) flags |= kFtzBit;
  if (hasIntegralMode(f)) flags |= kIntegralBit;
  return flags;
}

LaneFn selectConvert(const Form& f) {
  switch (f.row->family) {
    case Family::cvt:
      return chooseCvt(f);
    case Family::cvtPair:
      return choosePair(f);
    case Family::cvtTf32:
      return floatToTf32;
    case Family::cvtNarrow:
      return chooseNarrow(f);
    case Family::cvtPack:
      return choosePack(f);
    default:
      return nullptr;
  }
}

}  // namespace mtlc::sim::MTLC_LANES
