#include "mtlc/support/math/eval.h"

#include "mtlc/support/math/dispatch.h"
#include "mtlc/support/math/host_domain.h"

namespace mtlc::math {
namespace {

constexpr MathFnInfo kFunctions[] = {
#define MATH_FUNCTION(Enum, name, arguments, ulp) {name, arguments, ulp},
#include "mtlc/support/math/functions.def"
};

}  // namespace

const MathFnInfo& mathFnInfo(MathFn fn) { return kFunctions[static_cast<int>(fn)]; }

uint64_t evalMathBits(MathFn fn, FloatKind kind, uint64_t a, uint64_t b) {
  if (kind == FloatKind::F64) {
    return f64Bits(computeF64<HostDomain>(fn, f64FromBits(a), f64FromBits(b)).v);
  }
  if (kind != FloatKind::F32) {
    a = scalar::fconv(kind, FloatKind::F32, a);
    b = scalar::fconv(kind, FloatKind::F32, b);
  }
  float result = computeF32<HostDomain>(fn, f32FromBits(static_cast<uint32_t>(a)),
                                        f32FromBits(static_cast<uint32_t>(b)))
                     .v;
  if (kind == FloatKind::F32) return f32Bits(result);
  return scalar::fconv(FloatKind::F32, kind, f32Bits(result));
}

}  // namespace mtlc::math
