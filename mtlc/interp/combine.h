// How atomics and subgroup reductions combine two values (ir::CombineKind).

#ifndef MTLC_INTERP_COMBINE_H_
#define MTLC_INTERP_COMBINE_H_

#include "mtlc/interp/init_bits.h"
#include "mtlc/support/scalar_ops.h"

namespace mtlc::interp {

// `type` is that of both: i32, i64, f32 or f64. Every bit of a result that depends on uninitialised
// ones may vary, but of an exchange.
inline Reg combine(ir::CombineKind kind, ir::TypeKind type, Reg a, Reg b) {
  using ir::CombineKind;
  const bool isWide = type == ir::TypeKind::I64 || type == ir::TypeKind::F64;
  const unsigned w = isWide ? 64 : 32;
  const FloatKind f = isWide ? FloatKind::F64 : FloatKind::F32;
  const uint64_t uninit = (a.uninit | b.uninit) != 0 ? scalar::mask(w) : 0;
  switch (kind) {
    case CombineKind::Add:
      return {scalar::add(w, a.bits, b.bits), uninit};
    case CombineKind::Sub:
      return {scalar::sub(w, a.bits, b.bits), uninit};
    case CombineKind::SMin:
      return {scalar::smin(w, a.bits, b.bits), uninit};
    case CombineKind::SMax:
      return {scalar::smax(w, a.bits, b.bits), uninit};
    case CombineKind::UMin:
      return {scalar::umin(w, a.bits, b.bits), uninit};
    case CombineKind::UMax:
      return {scalar::umax(w, a.bits, b.bits), uninit};
    case CombineKind::And:
      return {a.bits & b.bits, uninit};
    case CombineKind::Or:
      return {a.bits | b.bits, uninit};
    case CombineKind::Xor:
      return {a.bits ^ b.bits, uninit};
    case CombineKind::Exchange:
      return b;
    case CombineKind::FAdd:
      return {scalar::fadd(f, a.bits, b.bits), uninit};
    case CombineKind::FMin:
      return {scalar::fmin(f, a.bits, b.bits), uninit};
    case CombineKind::FMax:
      return {scalar::fmax(f, a.bits, b.bits), uninit};
  }
  return {};
}

}  // namespace mtlc::interp

#endif  // MTLC_INTERP_COMBINE_H_
