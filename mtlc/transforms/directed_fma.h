// Fused multiply-add in float64, rounded in a direction, from operations that round to nearest.

#ifndef MTLC_TRANSFORMS_DIRECTED_FMA_H_
#define MTLC_TRANSFORMS_DIRECTED_FMA_H_

#include "mtlc/ir/builder.h"
#include "mtlc/ir/descriptors.h"

namespace mtlc::transforms {

// a · b + c, an f64, rounded once as IEEE 754 says for `rounding`, which is TowardZero, Down or Up:
// for all values, overflow, subnormals and signs of zeros included. Straight code of some hundred
// integer operations.
ir::Value* directedFma(ir::Builder& builder, ir::Value* a, ir::Value* b, ir::Value* c,
                       ir::Rounding rounding);

}  // namespace mtlc::transforms

#endif  // MTLC_TRANSFORMS_DIRECTED_FMA_H_
