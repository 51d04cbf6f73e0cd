// The approximate functions (PTX ISA 9.7.3): computed in double precision and rounded once, so
// within every stated error and exact at the easy points that code relies on.

#include "mtlc/sim/lanes/half.h"

namespace mtlc::sim::MTLC_LANES {
namespace {

struct Ex2 {
  static MTLC_INLINE double run(double x) { return __builtin_exp2(x); }
};
struct Lg2 {
  static MTLC_INLINE double run(double x) { return __builtin_log2(x); }
};
struct Sin {
  static MTLC_INLINE double run(double x) { return __builtin_sin(x); }
};
struct Cos {
  static MTLC_INLINE double run(double x) { return __builtin_cos(x); }
};
struct Tanh {
  static MTLC_INLINE double run(double x) { return __builtin_tanh(x); }
};
struct Rcp {
  static MTLC_INLINE double run(double x) { return 1.0 / x; }
};
struct Sqrt {
  static MTLC_INLINE double run(double x) { return __builtin_sqrt(x); }
};
struct Rsqrt {
  static MTLC_INLINE double run(double x) { return 1.0 / __builtin_sqrt(x); }
};

template <typename F, bool kFtz>
struct SingleApprox {
  static MTLC_INLINE float run(float a) {
    return finish<kFtz, false>(static_cast<float>(F::run(input<kFtz>(a))));
  }
};

template <typename F>
LaneFn single(const Form& f) {
  return f.has(Mod::ftz) ? map1<SingleApprox<F, true>, float, float>
                         : map1<SingleApprox<F, false>, float, float>;
}

struct RsqrtDouble {
  static MTLC_INLINE double run(double a) { return finish64(Rsqrt::run(a), a); }
};

// The gross double-precision forms look at the upper 32 bits of the operand only and give 32 bits.
template <typename F>
struct Gross {
  static MTLC_INLINE double run(double a) {
    u64 b = bitsOf(a) & 0xffffffff00000000u;
    if ((b & 0x7ff0000000000000u) == 0) b &= u64{1} << 63;
    double r = F::run(asDouble(b));
    if (isNan(a) || isNan(r)) return asDouble(0x7fffffff00000000u);
    u64 out = bitsOf(r);
    u64 rest = out & 0xffffffffu;
    out &= 0xffffffff00000000u;
    if (rest > 0x80000000u || (rest == 0x80000000u && (out >> 32 & 1) != 0)) out += u64{1} << 32;
    if ((out & 0x7ff0000000000000u) == 0) out &= u64{1} << 63;
    return asDouble(out);
  }
};

// div.approx multiplies by a reciprocal that is zero for huge divisors.
template <bool kFtz, bool kFull>
struct DivApprox {
  static MTLC_INLINE float run(float a, float b) {
    a = input<kFtz>(a);
    b = input<kFtz>(b);
    float r = static_cast<float>(static_cast<double>(a) / b);
    u32 m = bitsOf(b) & 0x7fffffffu;
    if (!kFull && m > 0x7e800000u && m < 0x7f800000u) {
      bool infinite = (bitsOf(a) & 0x7fffffffu) >= 0x7f800000u;
      r = infinite ? asFloat(kNan32) : asFloat((bitsOf(a) ^ bitsOf(b)) & 0x80000000u);
    }
    return finish<kFtz, false>(r);
  }
};

template <typename F, bool kBrain, bool kPair, bool kFtz>
void narrowApprox(const Instr& in, Warp& w, LaneMask mask) {
  const u32* a = column32(w, in.src[0]);
  auto one = [](u16 h) -> u32 {
    u16 exponent = kBrain ? 0x7f80 : 0x7c00;
    if (kFtz && (h & exponent) == 0) h &= 0x8000;
    double r = F::run(kBrain ? bhalfToFloat(h) : halfToFloat(h));
    u16 bits = kBrain ? toBHalf(r) : toHalf(r);
    if (kFtz && (bits & exponent) == 0) bits &= 0x8000;
    return bits;
  };
  intoColumn(column32(w, in.dst), mask, [&](u32* d) {
    for (unsigned i = 0; i < kLanes; ++i) {
      u32 lo = one(static_cast<u16>(a[i]));
      d[i] = kPair ? lo | one(static_cast<u16>(a[i] >> 16)) << 16 : lo;
    }
  });
}

template <typename F>
LaneFn anyPrecision(const Form& f) {
  bool ftz = f.has(Mod::ftz);
  switch (f.types[0]) {
    case Mod::f32:
      return single<F>(f);
    case Mod::f16:
      return narrowApprox<F, false, false, false>;
    case Mod::f16x2:
      return narrowApprox<F, false, true, false>;
    case Mod::bf16:
      return ftz ? narrowApprox<F, true, false, true> : narrowApprox<F, true, false, false>;
    case Mod::bf16x2:
      return ftz ? narrowApprox<F, true, true, true> : narrowApprox<F, true, true, false>;
    default:
      return nullptr;
  }
}

}  // namespace

LaneFn selectApprox(const Form& f) {
  bool ftz = f.has(Mod::ftz), full = f.has(Mod::full);
  switch (f.row->family) {
    case Family::fltRcpApprox:
      return f.types[0] == Mod::f64 ? map1<Gross<Rcp>, double, double> : single<Rcp>(f);
    case Family::fltSqrtApprox:
      return single<Sqrt>(f);
    case Family::fltRsqrt:
      if (f.types[0] == Mod::f32) return single<Rsqrt>(f);
      return ftz ? map1<Gross<Rsqrt>, double, double> : map1<RsqrtDouble, double, double>;
    case Family::fltDivApprox:
      if (ftz) {
        return full ? map2<DivApprox<true, true>, float, float, float>
                    : map2<DivApprox<true, false>, float, float, float>;
      }
      return full ? map2<DivApprox<false, true>, float, float, float>
                  : map2<DivApprox<false, false>, float, float, float>;
    case Family::fltSin:
      return single<Sin>(f);
    case Family::fltCos:
      return single<Cos>(f);
    case Family::fltLg2:
      return single<Lg2>(f);
    case Family::fltEx2:
      return anyPrecision<Ex2>(f);
    case Family::fltTanh:
      return anyPrecision<Tanh>(f);
    default:
      return nullptr;
  }
}

}  // namespace mtlc::sim::MTLC_LANES
