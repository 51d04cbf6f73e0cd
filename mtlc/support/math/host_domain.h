// The host's arithmetic domain: values are plain numbers, operations are those of scalar_ops.h.
//
// A *domain* D is what the function templates of this folder compute in. It has value types F32,
// F64, I32, I64 and Bool, constructible from constants, with
//   F32, F64   + - * / and unary -, fma, sqrt, trunc, abs, fminNan, fmaxNan, each one IEEE
//              operation; comparisons < <= > >= == (ordered) and != (unordered)
//   I32, I64   + - * & | ^ (wrapping), shl, lshr, ashr, umulhi, eq, ne, slt, ult
//   Bool       & | ^ ! and select(Bool, T, T)
//   bits, asF32, asF64        bit casts
//   toF32, toF64, toI64       signed conversions: one rounding; truncating and saturating
//   zext64, trunc32
//   D::branch(Bool, f, g)     f() or g(), for paths too long to compute and discard; both give the
//                             same type, a value or a std::tuple of values
// The other domain, in mtlc/transforms/ir_domain.h, makes IR operations with the same semantics.

#ifndef MTLC_SUPPORT_MATH_HOST_DOMAIN_H_
#define MTLC_SUPPORT_MATH_HOST_DOMAIN_H_

#include <cmath>
#include <cstdint>

#include "mtlc/support/scalar_ops.h"

namespace mtlc::math {

struct HostBool {
  bool v;
  friend HostBool operator&(HostBool a, HostBool b) { return {a.v && b.v}; }
  friend HostBool operator|(HostBool a, HostBool b) { return {a.v || b.v}; }
  friend HostBool operator^(HostBool a, HostBool b) { return {a.v != b.v}; }
  friend HostBool operator!(HostBool a) { return {!a.v}; }
};

template <typename Unsigned, typename Signed>
struct HostInt {
  using Self = HostInt;
  static constexpr unsigned kWidth = sizeof(Unsigned) * 8;
  Unsigned v;
  constexpr HostInt(Unsigned value) : v(value) {}  // NOLINT: constants convert

  friend Self operator+(Self a, Self b) { return a.v + b.v; }
  friend Self operator-(Self a, Self b) { return a.v - b.v; }
  friend Self operator*(Self a, Self b) { return a.v * b.v; }
  friend Self operator&(Self a, Self b) { return a.v & b.v; }
  friend Self operator|(Self a, Self b) { return a.v | b.v; }
  friend Self operator^(Self a, Self b) { return a.v ^ b.v; }
  friend Self shl(Self a, Self n) { return static_cast<Unsigned>(scalar::shl(kWidth, a.v, n.v)); }
  friend Self lshr(Self a, Self n) { return static_cast<Unsigned>(scalar::lshr(kWidth, a.v, n.v)); }
  friend Self ashr(Self a, Self n) { return static_cast<Unsigned>(scalar::ashr(kWidth, a.v, n.v)); }
  friend Self umulhi(Self a, Self b) {
    return static_cast<Unsigned>(scalar::umulhi(kWidth, a.v, b.v));
  }
  friend HostBool eq(Self a, Self b) { return {a.v == b.v}; }
  friend HostBool ne(Self a, Self b) { return {a.v != b.v}; }
  friend HostBool ult(Self a, Self b) { return {a.v < b.v}; }
  friend HostBool slt(Self a, Self b) {
    return {static_cast<Signed>(a.v) < static_cast<Signed>(b.v)};
  }
  friend Self select(HostBool c, Self a, Self b) { return c.v ? a : b; }
};
using HostI32 = HostInt<uint32_t, int32_t>;
using HostI64 = HostInt<uint64_t, int64_t>;

template <typename Number, FloatKind kKind>
struct HostFloat {
  using Self = HostFloat;
  Number v;
  constexpr HostFloat(Number value) : v(value) {}  // NOLINT: constants convert

  // NaN results are canonical, as in scalar_ops.h.
  static Self made(Number x) {
    if constexpr (kKind == FloatKind::F32) {
      return x == x ? x : f32FromBits(static_cast<uint32_t>(scalar::canonicalNan(kKind)));
    } else {
      return x == x ? x : f64FromBits(scalar::canonicalNan(kKind));
    }
  }

  friend Self operator+(Self a, Self b) { return made(a.v + b.v); }
  friend Self operator-(Self a, Self b) { return made(a.v - b.v); }
  friend Self operator*(Self a, Self b) { return made(a.v * b.v); }
  friend Self operator/(Self a, Self b) { return made(a.v / b.v); }
  friend Self operator-(Self a) { return fromBits(scalar::fneg(kKind, toBits(a))); }
  friend Self abs(Self a) { return fromBits(scalar::fabs(kKind, toBits(a))); }
  friend Self fma(Self a, Self b, Self c) { return made(std::fma(a.v, b.v, c.v)); }
  friend Self sqrt(Self a) { return made(std::sqrt(a.v)); }
  friend Self trunc(Self a) { return made(std::trunc(a.v)); }
  friend Self fminNan(Self a, Self b) {
    return fromBits(scalar::fminNan(kKind, toBits(a), toBits(b)));
  }
  friend Self fmaxNan(Self a, Self b) {
    return fromBits(scalar::fmaxNan(kKind, toBits(a), toBits(b)));
  }
  friend HostBool operator<(Self a, Self b) { return {a.v < b.v}; }
  friend HostBool operator<=(Self a, Self b) { return {a.v <= b.v}; }
  friend HostBool operator>(Self a, Self b) { return {a.v > b.v}; }
  friend HostBool operator>=(Self a, Self b) { return {a.v >= b.v}; }
  friend HostBool operator==(Self a, Self b) { return {a.v == b.v}; }
  friend HostBool operator!=(Self a, Self b) { return {a.v != b.v}; }
  friend Self select(HostBool c, Self a, Self b) { return c.v ? a : b; }

  static uint64_t toBits(Self a) {
    if constexpr (kKind == FloatKind::F32) return f32Bits(a.v);
    if constexpr (kKind == FloatKind::F64) return f64Bits(a.v);
  }
  static Self fromBits(uint64_t bits) {
    if constexpr (kKind == FloatKind::F32) return f32FromBits(static_cast<uint32_t>(bits));
    if constexpr (kKind == FloatKind::F64) return f64FromBits(bits);
  }
};
using HostF32 = HostFloat<float, FloatKind::F32>;
using HostF64 = HostFloat<double, FloatKind::F64>;

inline HostI32 bits(HostF32 a) { return f32Bits(a.v); }
inline HostI64 bits(HostF64 a) { return f64Bits(a.v); }
inline HostF32 asF32(HostI32 a) { return f32FromBits(a.v); }
inline HostF64 asF64(HostI64 a) { return f64FromBits(a.v); }
inline HostF32 toF32(HostI32 a) { return static_cast<float>(static_cast<int32_t>(a.v)); }
inline HostF32 toF32(HostI64 a) { return static_cast<float>(static_cast<int64_t>(a.v)); }
inline HostF64 toF64(HostI32 a) { return static_cast<double>(static_cast<int32_t>(a.v)); }
inline HostF64 toF64(HostI64 a) { return static_cast<double>(static_cast<int64_t>(a.v)); }
inline HostI64 toI64(HostF32 a) { return scalar::ftosi(FloatKind::F32, 64, f32Bits(a.v)); }
inline HostI64 toI64(HostF64 a) { return scalar::ftosi(FloatKind::F64, 64, f64Bits(a.v)); }
inline HostI64 zext64(HostI32 a) { return uint64_t{a.v}; }
inline HostI32 trunc32(HostI64 a) { return static_cast<uint32_t>(a.v); }

struct HostDomain {
  using Bool = HostBool;
  using I32 = HostI32;
  using I64 = HostI64;
  using F32 = HostF32;
  using F64 = HostF64;

  template <typename Then, typename Else>
  static auto branch(Bool condition, Then then, Else otherwise) -> decltype(then()) {
    return condition.v ? then() : otherwise();
  }
};

}  // namespace mtlc::math

#endif  // MTLC_SUPPORT_MATH_HOST_DOMAIN_H_
