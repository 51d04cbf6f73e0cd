// expand-narrow-float: conversions to and from narrow float formats become scalar operations.
//
//   %c = encode e4m3 sat %x : f32
//
// turns into straight-line integer arithmetic on the bits of %x with one rounding, with one float
// addition for results that are subnormal in the format; `decode` shifts exponent and mantissa into
// the place they have in f32 and scales by a power of two, which is exact. No branches, no calls,
// no tables. The results are scalar::encode() and scalar::decode() (mtlc/support/scalar_ops.h).

#ifndef MTLC_TRANSFORMS_EXPAND_NARROW_FLOAT_H_
#define MTLC_TRANSFORMS_EXPAND_NARROW_FLOAT_H_

#include "mtlc/ir/builder.h"
#include "mtlc/ir/ir.h"
#include "mtlc/transforms/target_info.h"

namespace mtlc::transforms {

// Expands the operations `encode` and `decode` that `target` does not emit natively; without a
// target, all. The new operations carry the source location of the old one. Linear in the size of
// the function. Returns how many operations were expanded.
size_t expandNarrowFloat(ir::Function& function, const TargetInfo* target = nullptr);
size_t expandNarrowFloat(ir::Module& module, const TargetInfo* target = nullptr);

// The same for values at hand: appends what `encode` and `decode` expand to and returns the code,
// an i8, or the number, of type `to`.
ir::Value* buildNarrowEncode(ir::Builder& builder, ir::Value* value, ir::NarrowAttr attr);
ir::Value* buildNarrowDecode(ir::Builder& builder, ir::Value* code, FloatFormat format,
                             ir::Type to);

}  // namespace mtlc::transforms

#endif  // MTLC_TRANSFORMS_EXPAND_NARROW_FLOAT_H_
