// Bit-level helpers of binary32 and binary64, for the sources of this folder only.

#ifndef MTLC_SIM_LANES_FLOAT_OPS_H_
#define MTLC_SIM_LANES_FLOAT_OPS_H_

#include "mtlc/sim/lanes/columns.h"

namespace mtlc::sim::MTLC_LANES {
namespace {

constexpr u32 kNan32 = 0x7fffffffu;                // What single-precision instructions return.
constexpr u64 kNan64 = 0xfff8000000000000u;        // Of an invalid double-precision operation.
constexpr u64 kCanonical64 = 0x7fffffffffffffffu;  // min and max of two NaN.

MTLC_INLINE u32 bitsOf(float f) { return __builtin_bit_cast(u32, f); }
MTLC_INLINE u64 bitsOf(double d) { return __builtin_bit_cast(u64, d); }
MTLC_INLINE float asFloat(u32 b) { return __builtin_bit_cast(float, b); }
MTLC_INLINE double asDouble(u64 b) { return __builtin_bit_cast(double, b); }

template <typename T>
MTLC_INLINE bool isNan(T x) {
  return x != x;
}

// Subnormals to zero of the same sign.
MTLC_INLINE float flush(float x) {
  u32 b = bitsOf(x);
  return asFloat((b & 0x7f800000u) == 0 ? b & 0x80000000u : b);
}
template <bool kFtz>
MTLC_INLINE float input(float x) {
  return kFtz ? flush(x) : x;
}
template <bool kFtz>
MTLC_INLINE double input(double x) {
  return x;
}

MTLC_INLINE float saturate(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
MTLC_INLINE double saturate(double x) { return x > 0.0 ? (x < 1.0 ? x : 1.0) : 0.0; }

// The result of a single-precision instruction.
template <bool kFtz, bool kSat>
MTLC_INLINE float finish(float r) {
  if (kFtz) r = flush(r);
  if (kSat) return saturate(r);
  return isNan(r) ? asFloat(kNan32) : r;
}

MTLC_INLINE double quiet(double x) { return asDouble(bitsOf(x) | 0x0008000000000000u); }

// Double precision keeps the payload of the first NaN operand, whatever the host does.
MTLC_INLINE double finish64(double r, double a) {
  return isNan(r) ? (isNan(a) ? quiet(a) : asDouble(kNan64)) : r;
}
MTLC_INLINE double finish64(double r, double a, double b) {
  return isNan(r) ? (isNan(a) ? quiet(a) : isNan(b) ? quiet(b) : asDouble(kNan64)) : r;
}
MTLC_INLINE double finish64(double r, double a, double b, double c) {
  return isNan(r) ? (isNan(a)   ? quiet(a)
                     : isNan(b) ? quiet(b)
                     : isNan(c) ? quiet(c)
                                : asDouble(kNan64))
                  : r;
}

// Runs a lane function with the host rounding as the mode says. The columns are memory that
// fesetround could touch as far as the compiler knows, so no arithmetic moves across the calls.
template <LaneFn kInner, int kMode>
void rounded(const Instr& in, Warp& w, LaneMask mask) {
  std::fesetround(kMode);
  kInner(in, w, mask);
  std::fesetround(FE_TONEAREST);
}

template <LaneFn kInner>
LaneFn withRounding(const Form& f) {
  if (f.has(Mod::rz)) return rounded<kInner, FE_TOWARDZERO>;
  if (f.has(Mod::rm)) return rounded<kInner, FE_DOWNWARD>;
  if (f.has(Mod::rp)) return rounded<kInner, FE_UPWARD>;
  return kInner;
}

}  // namespace
}  // namespace mtlc::sim::MTLC_LANES

#endif  // MTLC_SIM_LANES_FLOAT_OPS_H_
