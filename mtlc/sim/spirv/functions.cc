#include "mtlc/sim/spirv/functions.h"

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "mtlc/sim/state.h"
#include "mtlc/support/float_format.h"
#include "spirv/unified1/OpenCL.std.h"

namespace mtlc::sim::spirv {
namespace {

struct Half {};

// What each column of lanes holds.
template <typename T>
struct Numbers;
template <>
struct Numbers<float> {
  using Wide = double;
  static Wide get(Warp& w, Ref r, unsigned lane) {
    return f32ToF64(std::bit_cast<float>(w.r32(r)[lane]));
  }
  static void set(Warp& w, Ref r, unsigned lane, Wide v) { w.r32(r)[lane] = f32Bits(f64ToF32(v)); }
};
template <>
struct Numbers<Half> {
  using Wide = double;
  static Wide get(Warp& w, Ref r, unsigned lane) {
    return f16ToF64(static_cast<uint16_t>(w.r32(r)[lane]));
  }
  static void set(Warp& w, Ref r, unsigned lane, Wide v) { w.r32(r)[lane] = f64ToF16(v); }
};
template <>
struct Numbers<double> {
  using Wide = long double;
  static Wide get(Warp& w, Ref r, unsigned lane) { return std::bit_cast<double>(w.r64(r)[lane]); }
  static void set(Warp& w, Ref r, unsigned lane, Wide v) {
    w.r64(r)[lane] = std::bit_cast<uint64_t>(static_cast<double>(v));
  }
};

template <typename W>
constexpr W kPi = static_cast<W>(3.141592653589793238462643383279502884L);

// sin(pi x) and its kind: the argument is reduced exactly first.
template <typename W>
W sinPi(W x) {
  W r = std::remainder(x, W{2});
  if (std::fabs(r) == 1) return std::copysign(W{0}, x);
  if (r > W{0.5}) return std::cos(kPi<W> * (r - W{0.5}));
  if (r < W{-0.5}) return -std::cos(kPi<W> * (r + W{0.5}));
  return std::sin(kPi<W> * r);
}
template <typename W>
W cosPi(W x) {
  W r = std::fabs(std::remainder(x, W{2}));
  if (r == W{0.5}) return 0;
  if (r > W{0.5}) return -std::sin(kPi<W> * (r - W{0.5}));
  return r < W{0.25} ? std::cos(kPi<W> * r) : std::sin(kPi<W> * (W{0.5} - r));
}

template <typename W>
W evaluate1(uint32_t entry, W x) {
  switch (entry) {
    case OpenCLLIB::Acos:
      return std::acos(x);
    case OpenCLLIB::Acosh:
      return std::acosh(x);
    case OpenCLLIB::Acospi:
      return std::acos(x) / kPi<W>;
    case OpenCLLIB::Asin:
      return std::asin(x);
    case OpenCLLIB::Asinh:
      return std::asinh(x);
    case OpenCLLIB::Asinpi:
      return std::asin(x) / kPi<W>;
    case OpenCLLIB::Atan:
      return std::atan(x);
    case OpenCLLIB::Atanh:
      return std::atanh(x);
    case OpenCLLIB::Atanpi:
      return std::atan(x) / kPi<W>;
    case OpenCLLIB::Cbrt:
      return std::cbrt(x);
    case OpenCLLIB::Ceil:
      return std::ceil(x);
    case OpenCLLIB::Floor:
      return std::floor(x);
    case OpenCLLIB::Trunc:
      return std::trunc(x);
    case OpenCLLIB::Rint:
      return std::nearbyint(x);
    case OpenCLLIB::Round:
      return std::round(x);
    case OpenCLLIB::Fabs:
      return std::fabs(x);
    case OpenCLLIB::Cos:
    case OpenCLLIB::Half_cos:
    case OpenCLLIB::Native_cos:
      return std::cos(x);
    case OpenCLLIB::Cosh:
      return std::cosh(x);
    case OpenCLLIB::Cospi:
      return cosPi(x);
    case OpenCLLIB::Erf:
      return std::erf(x);
    case OpenCLLIB::Erfc:
      return std::erfc(x);
    case OpenCLLIB::Exp:
    case OpenCLLIB::Half_exp:
    case OpenCLLIB::Native_exp:
      return std::exp(x);
    case OpenCLLIB::Exp2:
    case OpenCLLIB::Half_exp2:
    case OpenCLLIB::Native_exp2:
      return std::exp2(x);
    case OpenCLLIB::Exp10:
    case OpenCLLIB::Half_exp10:
    case OpenCLLIB::Native_exp10:
      return std::pow(W{10}, x);
    case OpenCLLIB::Expm1:
      return std::expm1(x);
    case OpenCLLIB::Lgamma:
      return std::lgamma(x);
    case OpenCLLIB::Log:
    case OpenCLLIB::Half_log:
    case OpenCLLIB::Native_log:
      return std::log(x);
    case OpenCLLIB::Log2:
    case OpenCLLIB::Half_log2:
    case OpenCLLIB::Native_log2:
      return std::log2(x);
    case OpenCLLIB::Log10:
    case OpenCLLIB::Half_log10:
    case OpenCLLIB::Native_log10:
      return std::log10(x);
    case OpenCLLIB::Log1p:
      return std::log1p(x);
    case OpenCLLIB::Logb:
      return std::logb(x);
    case OpenCLLIB::Half_recip:
    case OpenCLLIB::Native_recip:
      return 1 / x;
    case OpenCLLIB::Rsqrt:
    case OpenCLLIB::Half_rsqrt:
    case OpenCLLIB::Native_rsqrt:
      return 1 / std::sqrt(x);
    case OpenCLLIB::Sin:
    case OpenCLLIB::Half_sin:
    case OpenCLLIB::Native_sin:
      return std::sin(x);
    case OpenCLLIB::Sinh:
      return std::sinh(x);
    case OpenCLLIB::Sinpi:
      return sinPi(x);
    case OpenCLLIB::Sqrt:
    case OpenCLLIB::Half_sqrt:
    case OpenCLLIB::Native_sqrt:
      return std::sqrt(x);
    case OpenCLLIB::Tan:
    case OpenCLLIB::Half_tan:
    case OpenCLLIB::Native_tan:
      return std::tan(x);
    case OpenCLLIB::Tanh:
      return std::tanh(x);
    case OpenCLLIB::Tanpi:
      return sinPi(x) / cosPi(x);
    case OpenCLLIB::Tgamma:
      return std::tgamma(x);
    case OpenCLLIB::Degrees:
      return x * (180 / kPi<W>);
    case OpenCLLIB::Radians:
      return x * (kPi<W> / 180);
    case OpenCLLIB::Sign:
      return std::isnan(x) ? W{0} : x > 0 ? W{1} : x < 0 ? W{-1} : x;
    default: {  // kHostFraction
      int exponent;
      return std::frexp(x, &exponent);
    }
  }
}

// The next half towards y: their bits are in their order.
double nextHalf(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return x + y;
  if (x == y) return y;
  uint16_t bits = f64ToF16(x);
  if (x == 0) return f16ToF64(y < 0 ? 0x8001 : 0x0001);
  return f16ToF64(static_cast<uint16_t>((x < y) == (x > 0) ? bits + 1 : bits - 1));
}

// T is the format that the operands came from.
template <typename T, typename W>
W evaluate2(uint32_t entry, W x, W y) {
  switch (entry) {
    case OpenCLLIB::Atan2:
      return std::atan2(x, y);
    case OpenCLLIB::Atan2pi:
      return std::atan2(x, y) / kPi<W>;
    case OpenCLLIB::Copysign:
      return std::copysign(x, y);
    case OpenCLLIB::Fdim:
      return std::fdim(x, y);
    case OpenCLLIB::Fmax:
    case OpenCLLIB::FMax_common:
      return std::fmax(x, y);
    case OpenCLLIB::Fmin:
    case OpenCLLIB::FMin_common:
      return std::fmin(x, y);
    case OpenCLLIB::Fmod:
    case kHostRemainder:
      return std::fmod(x, y);
    case kHostModulo: {
      W r = std::fmod(x, y);
      return r != 0 && std::signbit(r) != std::signbit(y) ? r + y : r;
    }
    case OpenCLLIB::Hypot:
      return std::hypot(x, y);
    case OpenCLLIB::Maxmag:
      return std::fabs(x) > std::fabs(y) ? x : std::fabs(y) > std::fabs(x) ? y : std::fmax(x, y);
    case OpenCLLIB::Minmag:
      return std::fabs(x) < std::fabs(y) ? x : std::fabs(y) < std::fabs(x) ? y : std::fmin(x, y);
    case OpenCLLIB::Nextafter:
      if constexpr (std::is_same_v<T, Half>) {
        return nextHalf(x, y);
      } else {
        return std::nextafter(static_cast<T>(x), static_cast<T>(y));
      }
    case OpenCLLIB::Pow:
    case OpenCLLIB::Pown:
      return std::pow(x, y);
    case OpenCLLIB::Powr:
    case OpenCLLIB::Half_powr:
    case OpenCLLIB::Native_powr: {
      // Where pow() gives 1 or a sign to what powr() has no value for.
      constexpr W kNaN = std::numeric_limits<W>::quiet_NaN();
      if (x < 0 || std::isnan(x) || std::isnan(y)) return kNaN;
      if ((x == 0 || std::isinf(x)) && y == 0) return kNaN;
      if (x == 1 && std::isinf(y)) return kNaN;
      return std::pow(std::fabs(x), y);
    }
    case OpenCLLIB::Rootn: {
      if (y == 0) return std::numeric_limits<W>::quiet_NaN();
      bool odd = std::fmod(y, W{2}) != 0;
      if (x < 0 && !odd) return std::numeric_limits<W>::quiet_NaN();
      W r = std::pow(std::fabs(x), 1 / y);
      return odd ? std::copysign(r, x) : r;
    }
    case OpenCLLIB::Remainder:
    case OpenCLLIB::Remquo:
      return std::remainder(x, y);
    case OpenCLLIB::Ldexp:
      return std::ldexp(x, static_cast<int>(y));
    case OpenCLLIB::Half_divide:
    case OpenCLLIB::Native_divide:
      return x / y;
    default:  // Step
      return y < x ? 0 : 1;
  }
}

template <typename W>
W evaluate3(uint32_t entry, W x, W y, W z) {
  switch (entry) {
    case OpenCLLIB::FClamp:
      return std::fmin(std::fmax(x, y), z);
    case OpenCLLIB::Mix:
      return x + (y - x) * z;
    default: {  // Smoothstep
      W t = std::fmin(std::fmax((z - x) / (y - x), W{0}), W{1});
      return t * t * (3 - 2 * t);
    }
  }
}

bool secondIsInteger(uint32_t entry) {
  return entry == OpenCLLIB::Pown || entry == OpenCLLIB::Ldexp || entry == OpenCLLIB::Rootn;
}

template <typename T>
void math(const Instr& in, Warp& w, LaneMask mask) {
  using N = Numbers<T>;
  using W = typename N::Wide;
  uint32_t entry = static_cast<uint32_t>(in.imm);
  bool integral = secondIsInteger(entry);
  for (LaneMask m = mask; m != 0; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    W x = N::get(w, in.src[0], lane);
    W result;
    if (in.src[1] == kNoRef) {
      result = evaluate1<W>(entry, x);
    } else {
      W y = integral ? static_cast<W>(static_cast<int32_t>(w.r32(in.src[1])[lane]))
                     : N::get(w, in.src[1], lane);
      result = in.src[2] == kNoRef ? evaluate2<T, W>(entry, x, y)
                                   : evaluate3<W>(entry, x, y, N::get(w, in.src[2], lane));
    }
    N::set(w, in.dst, lane, result);
  }
}

template <typename T>
void mathToInt(const Instr& in, Warp& w, LaneMask mask) {
  for (LaneMask m = mask; m != 0; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    auto x = Numbers<T>::get(w, in.src[0], lane);
    int result = 0;
    if (static_cast<uint32_t>(in.imm) == kHostSign) {
      // gamma's sign: negative between an odd negative integer and the one below.
      bool below = x < 0 && std::floor(x) != x && std::fmod(std::floor(x), 2) != 0;
      result = std::isnan(x) || std::isinf(x) || (x <= 0 && std::floor(x) == x) ? 0
               : below                                                          ? -1
                                                                                : 1;
      if (x == 0) result = std::signbit(x) ? -1 : 1;
    } else if (static_cast<uint32_t>(in.imm) == kHostQuotient) {
      // Seven low bits of the quotient, with its sign.
      auto y = Numbers<T>::get(w, in.src[1], lane);
      if (std::isfinite(x) && !std::isnan(y) && y != 0) {
        // The library gives three bits only; the exact rest of a division by 128 y says the others.
        auto size = std::fabs(y), rest = std::fmod(std::fabs(x), 128 * size);
        int low = 0;
        std::remquo(rest, size, &low);
        int nearly = static_cast<int>(std::nearbyint(rest / size));
        while ((nearly & 7) != (low & 7)) nearly += ((low - nearly) & 7) < 4 ? 1 : -1;
        result = std::signbit(x) != std::signbit(y) ? -(nearly & 0x7f) : nearly & 0x7f;
      }
    } else if (static_cast<uint32_t>(in.imm) == kHostExponent) {
      std::frexp(x, &result);
      if (!std::isfinite(x)) result = 0;
    } else if (std::isnan(x) || x == 0) {
      result = std::numeric_limits<int>::min();  // FP_ILOGBNAN, FP_ILOGB0
    } else {
      result = std::isinf(x) ? std::numeric_limits<int>::max() : std::ilogb(x);
    }
    w.r32(in.dst)[lane] = static_cast<uint32_t>(result);
  }
}

// ---- Integers ----

using Int = __int128;

Int clampTo(Int v, unsigned bits, bool isSigned) {
  Int low = isSigned ? -(Int{1} << (bits - 1)) : Int{0};
  Int high = isSigned ? (Int{1} << (bits - 1)) - 1 : (Int{1} << bits) - 1;
  return v < low ? low : v > high ? high : v;
}

Int low24(Int v, bool isSigned) {
  Int cut = v & 0xffffff;
  return isSigned && (cut & 0x800000) != 0 ? cut - 0x1000000 : cut;
}

bool isSignedEntry(uint32_t entry) {
  switch (entry) {
    case OpenCLLIB::SAbs:
    case OpenCLLIB::SAbs_diff:
    case OpenCLLIB::SAdd_sat:
    case OpenCLLIB::SHadd:
    case OpenCLLIB::SRhadd:
    case OpenCLLIB::SClamp:
    case OpenCLLIB::SMad_hi:
    case OpenCLLIB::SMad_sat:
    case OpenCLLIB::SMax:
    case OpenCLLIB::SMin:
    case OpenCLLIB::SMul_hi:
    case OpenCLLIB::SSub_sat:
    case OpenCLLIB::SMad24:
    case OpenCLLIB::SMul24:
      return true;
    default:
      return false;
  }
}

Int evaluateInteger(uint32_t entry, unsigned bits, Int a, Int b, Int c) {
  bool s = isSignedEntry(entry);
  switch (entry) {
    case OpenCLLIB::SAbs:
      return a < 0 ? -a : a;
    case OpenCLLIB::UAbs:
      return a;
    case OpenCLLIB::SAbs_diff:
    case OpenCLLIB::UAbs_diff:
      return a < b ? b - a : a - b;
    case OpenCLLIB::SAdd_sat:
    case OpenCLLIB::UAdd_sat:
      return clampTo(a + b, bits, s);
    case OpenCLLIB::SSub_sat:
    case OpenCLLIB::USub_sat:
      return clampTo(a - b, bits, s);
    case OpenCLLIB::SHadd:
    case OpenCLLIB::UHadd:
      return (a + b) >> 1;
    case OpenCLLIB::SRhadd:
    case OpenCLLIB::URhadd:
      return (a + b + 1) >> 1;
    case OpenCLLIB::SClamp:
    case OpenCLLIB::UClamp:
      return a < b ? b : a > c ? c : a;
    case OpenCLLIB::SMax:
    case OpenCLLIB::UMax:
      return a < b ? b : a;
    case OpenCLLIB::SMin:
    case OpenCLLIB::UMin:
      return b < a ? b : a;
    case OpenCLLIB::Clz: {
      unsigned n = 0;
      while (n < bits && (a >> (bits - 1 - n) & 1) == 0) ++n;
      return n;
    }
    case OpenCLLIB::Ctz: {
      unsigned n = 0;
      while (n < bits && (a >> n & 1) == 0) ++n;
      return n;
    }
    case OpenCLLIB::Popcount:
      return __builtin_popcountll(static_cast<uint64_t>(a));
    case OpenCLLIB::SMul_hi:
      return (a * b) >> bits;
    case OpenCLLIB::UMul_hi:
      return static_cast<Int>(
          static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b) >> bits);
    case OpenCLLIB::SMad_hi:
      return ((a * b) >> bits) + c;
    case OpenCLLIB::UMad_hi:
      return static_cast<Int>(
                 static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b) >> bits) +
             c;
    case OpenCLLIB::SMad_sat:
      return clampTo(a * b + c, bits, true);
    case OpenCLLIB::UMad_sat: {
      unsigned __int128 product =
          static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b);
      unsigned __int128 most = (static_cast<unsigned __int128>(1) << bits) - 1;
      if (product > most) return static_cast<Int>(most);
      return clampTo(static_cast<Int>(product) + c, bits, false);
    }
    case OpenCLLIB::Rotate: {
      unsigned n = static_cast<unsigned>(b & (bits - 1));
      uint64_t v = static_cast<uint64_t>(a);
      return n == 0 ? a : static_cast<Int>(v << n | v >> (bits - n));
    }
    case OpenCLLIB::U_Upsample:
    case OpenCLLIB::S_Upsample:
      return (a << bits) | (b & ((Int{1} << bits) - 1));
    case OpenCLLIB::SMad24:
      return low24(a, true) * low24(b, true) + c;
    case OpenCLLIB::UMad24:
      return low24(a, false) * low24(b, false) + c;
    case OpenCLLIB::SMul24:
      return low24(a, true) * low24(b, true);
    default:  // UMul24
      return low24(a, false) * low24(b, false);
  }
}

void integer(const Instr& in, Warp& w, LaneMask mask) {
  uint32_t entry = static_cast<uint32_t>(in.imm);
  unsigned bits = static_cast<unsigned>(in.imm >> 32 & 0xffff);
  bool isSigned = isSignedEntry(entry);
  for (LaneMask m = mask; m != 0; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    Int v[3] = {0, 0, 0};
    for (unsigned k = 0; k < 3; ++k) {
      Ref r = in.src[k];
      if (r == kNoRef) continue;
      uint64_t raw = refBank(r) == Bank::r64 ? w.r64(r)[lane] : w.r32(r)[lane];
      unsigned shift = 64 - bits;
      v[k] = isSigned ? Int{static_cast<int64_t>(raw << shift) >> shift}
                      : static_cast<Int>(raw << shift >> shift);
    }
    uint64_t result = static_cast<uint64_t>(evaluateInteger(entry, bits, v[0], v[1], v[2]));
    if (refBank(in.dst) == Bank::r64) {
      w.r64(in.dst)[lane] = result;
    } else {
      w.r32(in.dst)[lane] = static_cast<uint32_t>(result);
    }
  }
}

}  // namespace

LaneFn hostMath(unsigned bits) {
  return bits == 64 ? math<double> : bits == 32 ? math<float> : math<Half>;
}
LaneFn hostMathToInt(unsigned bits) {
  return bits == 64 ? mathToInt<double> : bits == 32 ? mathToInt<float> : mathToInt<Half>;
}
LaneFn hostInteger() { return integer; }

bool isHostMath(uint32_t entry) {
  switch (entry) {
    case OpenCLLIB::Fma:
    case OpenCLLIB::Mad:
    case OpenCLLIB::Fract:
    case OpenCLLIB::Frexp:
    case OpenCLLIB::Ilogb:
    case OpenCLLIB::Lgamma_r:
    case OpenCLLIB::Modf:
    case OpenCLLIB::Nan:
    case OpenCLLIB::Remquo:
    case OpenCLLIB::Sincos:
      return false;
    default:
      return entry <= OpenCLLIB::Native_tan ||
             (entry >= OpenCLLIB::FClamp && entry <= OpenCLLIB::Sign);
  }
}

bool isHostInteger(uint32_t entry) {
  return (entry >= OpenCLLIB::SAbs && entry <= OpenCLLIB::UMul24) ||
         (entry >= OpenCLLIB::UAbs && entry <= OpenCLLIB::UMad_hi);
}

}  // namespace mtlc::sim::spirv
