// Single- and double-precision arithmetic, exact as IEEE 754 (PTX ISA 9.7.3).

#include "mtlc/sim/lanes/half.h"

namespace mtlc::sim::MTLC_LANES {
namespace {

struct OpAdd {
  template <typename T>
  static MTLC_INLINE T run(T a, T b) {
    return a + b;
  }
};
struct OpSub {
  template <typename T>
  static MTLC_INLINE T run(T a, T b) {
    return a - b;
  }
};
struct OpMul {
  template <typename T>
  static MTLC_INLINE T run(T a, T b) {
    return a * b;
  }
};
struct OpDiv {
  template <typename T>
  static MTLC_INLINE T run(T a, T b) {
    return a / b;
  }
};
struct OpRcp {
  template <typename T>
  static MTLC_INLINE T run(T a) {
    return T{1} / a;
  }
};
struct OpSqrt {
  static MTLC_INLINE float run(float a) { return __builtin_sqrtf(a); }
  static MTLC_INLINE double run(double a) { return __builtin_sqrt(a); }
};

MTLC_INLINE float fusedMultiplyAdd(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
MTLC_INLINE double fusedMultiplyAdd(double a, double b, double c) { return __builtin_fma(a, b, c); }

template <typename F, bool kFtz, bool kSat>
struct Single {
  static MTLC_INLINE float run(float a) { return finish<kFtz, kSat>(F::run(input<kFtz>(a))); }
  static MTLC_INLINE float run(float a, float b) {
    return finish<kFtz, kSat>(F::run(input<kFtz>(a), input<kFtz>(b)));
  }
};
template <typename F>
struct Double {
  static MTLC_INLINE double run(double a) { return finish64(F::run(a), a); }
  static MTLC_INLINE double run(double a, double b) { return finish64(F::run(a, b), a, b); }
};
template <bool kFtz, bool kSat>
struct SingleFma {
  static MTLC_INLINE float run(float a, float b, float c) {
    return finish<kFtz, kSat>(fusedMultiplyAdd(input<kFtz>(a), input<kFtz>(b), input<kFtz>(c)));
  }
};
struct DoubleFma {
  static MTLC_INLINE double run(double a, double b, double c) {
    return finish64(fusedMultiplyAdd(a, b, c), a, b, c);
  }
};

// Applies F to both single-precision halves.
template <typename F>
struct Both {
  static MTLC_INLINE float lo(F32x2 x) { return asFloat(static_cast<u32>(x.bits)); }
  static MTLC_INLINE float hi(F32x2 x) { return asFloat(static_cast<u32>(x.bits >> 32)); }
  static MTLC_INLINE F32x2 pack(float l, float h) {
    return F32x2{static_cast<u64>(bitsOf(h)) << 32 | bitsOf(l)};
  }
  static MTLC_INLINE F32x2 run(F32x2 a, F32x2 b) {
    return pack(F::run(lo(a), lo(b)), F::run(hi(a), hi(b)));
  }
  static MTLC_INLINE F32x2 run(F32x2 a, F32x2 b, F32x2 c) {
    return pack(F::run(lo(a), lo(b), lo(c)), F::run(hi(a), hi(b), hi(c)));
  }
};

template <typename F, bool kFtz, bool kSat>
LaneFn single2(const Form& f) {
  return withRounding<map2<Single<F, kFtz, kSat>, float, float, float>>(f);
}

template <typename F>
LaneFn arithmetic2(const Form& f) {
  bool ftz = f.has(Mod::ftz), sat = f.has(Mod::sat);
  switch (f.types[0]) {
    case Mod::f32:
      if (ftz) return sat ? single2<F, true, true>(f) : single2<F, true, false>(f);
      return sat ? single2<F, false, true>(f) : single2<F, false, false>(f);
    case Mod::f64:
      return withRounding<map2<Double<F>, double, double, double>>(f);
    case Mod::f32x2:
      if (ftz) return withRounding<map2<Both<Single<F, true, false>>, F32x2, F32x2, F32x2>>(f);
      return withRounding<map2<Both<Single<F, false, false>>, F32x2, F32x2, F32x2>>(f);
    default:
      return nullptr;
  }
}

template <bool kFtz, bool kSat>
LaneFn singleFma(const Form& f) {
  return withRounding<map3<SingleFma<kFtz, kSat>, float, float, float, float>>(f);
}

LaneFn selectFma(const Form& f) {
  bool ftz = f.has(Mod::ftz), sat = f.has(Mod::sat);
  switch (f.types[0]) {
    case Mod::f32:
      if (ftz) return sat ? singleFma<true, true>(f) : singleFma<true, false>(f);
      return sat ? singleFma<false, true>(f) : singleFma<false, false>(f);
    case Mod::f64:
      return withRounding<map3<DoubleFma, double, double, double, double>>(f);
    case Mod::f32x2:
      if (ftz)
        return withRounding<map3<Both<SingleFma<true, false>>, F32x2, F32x2, F32x2, F32x2>>(f);
      return withRounding<map3<Both<SingleFma<false, false>>, F32x2, F32x2, F32x2, F32x2>>(f);
    default:
      return nullptr;
  }
}

// Sources of half precision with an addend in single: exact in single, then one rounding.
template <bool kBrain>
MTLC_INLINE float widened(u16 h) {
  return kBrain ? bhalfToFloat(h) : halfToFloat(h);
}
template <bool kBrain, bool kSubtract, bool kSat>
struct MixedSum {
  static MTLC_INLINE float run(Half a, float c) {
    float x = widened<kBrain>(a.bits);
    return finish<false, kSat>(kSubtract ? x - c : x + c);
  }
};
template <bool kBrain, bool kSat>
struct MixedFma {
  static MTLC_INLINE float run(Half a, Half b, float c) {
    return finish<false, kSat>(
        fusedMultiplyAdd(widened<kBrain>(a.bits), widened<kBrain>(b.bits), c));
  }
};

template <bool kBrain, bool kSat>
LaneFn mixedOf(const Form& f) {
  if (f.row->opcode == "fma") {
    return withRounding<map3<MixedFma<kBrain, kSat>, float, Half, Half, float>>(f);
  }
  if (f.row->opcode == "sub") {
    return withRounding<map2<MixedSum<kBrain, true, kSat>, float, Half, float>>(f);
  }
  return withRounding<map2<MixedSum<kBrain, false, kSat>, float, Half, float>>(f);
}

LaneFn selectMixed(const Form& f) {
  bool sat = f.has(Mod::sat);
  if (f.types[1] == Mod::bf16) return sat ? mixedOf<true, true>(f) : mixedOf<true, false>(f);
  return sat ? mixedOf<false, true>(f) : mixedOf<false, false>(f);
}

template <typename F>
LaneFn arithmetic1(const Form& f) {
  if (f.types[0] == Mod::f64) return withRounding<map1<Double<F>, double, double>>(f);
  if (f.has(Mod::ftz)) return withRounding<map1<Single<F, true, false>, float, float>>(f);
  return withRounding<map1<Single<F, false, false>, float, float>>(f);
}

// Sign operations: single precision makes every NaN canonical, double precision keeps the other
// bits.
template <bool kFtz, bool kNegate>
struct SingleSign {
  static MTLC_INLINE float run(float a) {
    float x = input<kFtz>(a);
    u32 b = kNegate ? bitsOf(x) ^ 0x80000000u : bitsOf(x) & 0x7fffffffu;
    return isNan(a) ? asFloat(kNan32) : asFloat(b);
  }
};
template <bool kNegate>
struct DoubleSign {
  static MTLC_INLINE double run(double a) {
    return asDouble(kNegate ? bitsOf(a) ^ (u64{1} << 63) : bitsOf(a) & ~(u64{1} << 63));
  }
};

template <bool kNegate>
LaneFn selectSign(const Form& f) {
  switch (f.types[0]) {
    case Mod::f32:
      return f.has(Mod::ftz) ? map1<SingleSign<true, kNegate>, float, float>
                             : map1<SingleSign<false, kNegate>, float, float>;
    case Mod::f64:
      return map1<DoubleSign<kNegate>, double, double>;
    default:
      return nullptr;
  }
}

// The lesser or greater of two numbers; -0 is less than +0.
template <bool kMax, typename T>
MTLC_INLINE T choose(T a, T b) {
  T ordered = kMax ? (a < b ? b : a) : (b < a ? b : a);
  auto equal = kMax ? bitsOf(a) & bitsOf(b) : bitsOf(a) | bitsOf(b);
  return a == b ? __builtin_bit_cast(T, equal) : ordered;
}

template <typename T>
MTLC_INLINE T magnitude(T a) {
  if constexpr (sizeof(T) == 4) {
    return asFloat(bitsOf(a) & 0x7fffffffu);
  } else {
    return asDouble(bitsOf(a) & ~(u64{1} << 63));
  }
}

template <bool kMax, bool kNan, bool kFtz, bool kXorSign>
struct SingleMinMax {
  static MTLC_INLINE float run(float a, float b) {
    a = input<kFtz>(a);
    b = input<kFtz>(b);
    u32 sign = (bitsOf(a) ^ bitsOf(b)) & 0x80000000u;
    float x = kXorSign ? magnitude(a) : a, y = kXorSign ? magnitude(b) : b;
    float r = choose<kMax>(x, y);
    float other = isNan(x) ? y : x;
    bool one = isNan(x) || isNan(y);
    r = one ? (kNan ? asFloat(kNan32) : other) : r;
    if (kXorSign) r = asFloat(bitsOf(r) | sign);
    return isNan(r) ? asFloat(kNan32) : r;
  }
};
template <bool kMax>
struct DoubleMinMax {
  static MTLC_INLINE double run(double a, double b) {
    double r = choose<kMax>(a, b);
    double other = isNan(a) ? b : a;
    r = isNan(a) || isNan(b) ? other : r;
    return isNan(r) ? asDouble(kCanonical64) : r;
  }
};
template <bool kMax, bool kNan, bool kFtz, bool kAbs>
struct SingleMinMax3 {
  static MTLC_INLINE float run(float a, float b, float c) {
    if (kAbs) {
      a = magnitude(a);
      b = magnitude(b);
      c = magnitude(c);
    }
    using Two = SingleMinMax<kMax, kNan, kFtz, false>;
    return Two::run(Two::run(a, b), c);
  }
};

template <bool kMax, bool kNan>
LaneFn minMaxSingle(const Form& f) {
  bool ftz = f.has(Mod::ftz);
  if (f.row->operands.size() == 4) {
    bool abs = f.has(Mod::absMod);
    if (ftz) {
      return abs ? map3<SingleMinMax3<kMax, kNan, true, true>, float, float, float, float>
                 : map3<SingleMinMax3<kMax, kNan, true, false>, float, float, float, float>;
    }
    return abs ? map3<SingleMinMax3<kMax, kNan, false, true>, float, float, float, float>
               : map3<SingleMinMax3<kMax, kNan, false, false>, float, float, float, float>;
  }
  bool xorSign = f.has(Mod::xorsign);
  if (ftz) {
    return xorSign ? map2<SingleMinMax<kMax, kNan, true, true>, float, float, float>
                   : map2<SingleMinMax<kMax, kNan, true, false>, float, float, float>;
  }
  return xorSign ? map2<SingleMinMax<kMax, kNan, false, true>, float, float, float>
                 : map2<SingleMinMax<kMax, kNan, false, false>, float, float, float>;
}

template <bool kMax>
LaneFn selectMinMax(const Form& f) {
  switch (f.types[0]) {
    case Mod::f32:
      return f.has(Mod::nan) ? minMaxSingle<kMax, true>(f) : minMaxSingle<kMax, false>(f);
    case Mod::f64:
      return map2<DoubleMinMax<kMax>, double, double, double>;
    default:
      return nullptr;
  }
}

// Sign of the first operand, magnitude of the second.
struct CopySign {
  static MTLC_INLINE float run(float a, float b) {
    return asFloat((bitsOf(a) & 0x80000000u) | (bitsOf(b) & 0x7fffffffu));
  }
  static MTLC_INLINE double run(double a, double b) {
    return asDouble((bitsOf(a) & (u64{1} << 63)) | (bitsOf(b) & ~(u64{1} << 63)));
  }
};

template <typename T>
MTLC_INLINE bool testProperty(T x, Mod property) {
  constexpr bool kSingle = sizeof(T) == 4;
  u64 magnitudeBits = kSingle ? bitsOf(static_cast<float>(x)) & 0x7fffffffu
                              : bitsOf(static_cast<double>(x)) & ~(u64{1} << 63);
  constexpr u64 kInf = kSingle ? 0x7f800000u : 0x7ff0000000000000u;
  constexpr u64 kMinNormal = kSingle ? 0x00800000u : 0x0010000000000000u;
  switch (property) {
    case Mod::finite:
      return magnitudeBits < kInf;
    case Mod::infinite:
      return magnitudeBits == kInf;
    case Mod::number:
      return magnitudeBits <= kInf;
    case Mod::notanumber:
      return magnitudeBits > kInf;
    case Mod::normal:  // Zero counts as normal (PTX ISA, testp).
      return magnitudeBits == 0 || (magnitudeBits < kInf && magnitudeBits >= kMinNormal);
    default:
      return magnitudeBits != 0 && magnitudeBits < kMinNormal;
  }
}

template <typename T, Mod kProperty>
void testpMap(const Instr& in, Warp& w, LaneMask mask) {
  const Col<T>* a = column<T>(w, in.src[0]);
  writePred(w, in.dst,
            collect([&](unsigned i) { return testProperty<T>(decode<T>(a[i]), kProperty); }), mask);
}

template <typename T>
LaneFn selectTestp(const Form& f) {
  switch (f.mods[0]) {
    case Mod::finite:
      return testpMap<T, Mod::finite>;
    case Mod::infinite:
      return testpMap<T, Mod::infinite>;
    case Mod::number:
      return testpMap<T, Mod::number>;
    case Mod::notanumber:
      return testpMap<T, Mod::notanumber>;
    case Mod::normal:
      return testpMap<T, Mod::normal>;
    default:
      return testpMap<T, Mod::subnormal>;
  }
}

}  // namespace

LaneFn selectFloats(const Form& f) {
  bool single = f.types[0] == Mod::f32;
  switch (f.row->family) {
    case Family::fltAdd:
      return arithmetic2<OpAdd>(f);
    case Family::fltSub:
      return arithmetic2<OpSub>(f);
    case Family::fltMul:
      return arithmetic2<OpMul>(f);
    case Family::fltFma:
      return selectFma(f);
    case Family::fltMixed:
      return selectMixed(f);
    case Family::fltDiv:
      return arithmetic2<OpDiv>(f);
    case Family::fltRcp:
      return arithmetic1<OpRcp>(f);
    case Family::fltSqrt:
      return arithmetic1<OpSqrt>(f);
    case Family::fltAbs:
      return selectSign<false>(f);
    case Family::fltNeg:
      return selectSign<true>(f);
    case Family::fltMin:
      return selectMinMax<false>(f);
    case Family::fltMax:
      return selectMinMax<true>(f);
    case Family::copysign:
      return single ? map2<CopySign, float, float, float> : map2<CopySign, double, double, double>;
    case Family::testp:
      return single ? selectTestp<float>(f) : selectTestp<double>(f);
    default:
      return nullptr;
  }
}

}  // namespace mtlc::sim::MTLC_LANES
