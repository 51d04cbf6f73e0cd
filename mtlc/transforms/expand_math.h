// expand-math: mathematical functions become scalar operations.
//
//   %y = exp2 %x : f32
//
// turns into the clamp, rounding, polynomial and scaling of mtlc/support/math/exp.h, operation for
// operation what the host computes for constants and the interpreter for `exp2`. Functions with a
// rare long path (rsqrt, log, log2, sin, cos, tan, pow, f64 erf) become several blocks. Everything
// is expanded in place: no calls are made. sin, cos and tan of one value in one block share the
// argument reduction and both polynomials. f16 and bf16 are computed in f32 and rounded once.

#ifndef MTLC_TRANSFORMS_EXPAND_MATH_H_
#define MTLC_TRANSFORMS_EXPAND_MATH_H_

#include "mtlc/ir/ir.h"
#include "mtlc/transforms/target_info.h"

namespace mtlc::transforms {

// Expands the operations with the trait Math that `target` does not emit natively; without a
// target, all that don't carry `approx`. Results keep their bits, whatever flags the operation had;
// the new operations carry no flags and the source location of the old one. Linear in the size of
// the function. Returns how many operations were expanded.
size_t expandMath(ir::Function& function, const TargetInfo* target = nullptr);
size_t expandMath(ir::Module& module, const TargetInfo* target = nullptr);

}  // namespace mtlc::transforms

#endif  // MTLC_TRANSFORMS_EXPAND_MATH_H_
