// Products in a form of the target: how a tile is cut, and the code around the native products.
// A part of tensor-legalize.

#ifndef MTLC_TRANSFORMS_TENSOR_NATIVE_H_
#define MTLC_TRANSFORMS_TENSOR_NATIVE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "mtlc/ir/ir.h"
#include "mtlc/transforms/target_info.h"
#include "mtlc/transforms/tensor_emit.h"
#include "mtlc/transforms/tensor_replay.h"

namespace mtlc::transforms {

// C and D have fewer bits than the accumulator: the sum is rounded once, after its last term, so
// that scalar code cannot continue it.
inline bool isNarrow(const ir::MmaDesc& desc) { return desc.acc != desc.result; }

// Registers of one work-item for a tile of `products` accumulators; see tensor_legalize.h.
uint32_t tuplePeak(const TensorForm& form, uint32_t accumulators);

// How the m × n tile of a product is made of native operations.
struct NativePlan {
  TensorForm form;
  uint32_t m = 0, n = 0;  // Of the tiles that it is cut into: they divide it.
  uint32_t k = 0;         // Terms of one native operation.
  // The whole sum must be one native operation: another would round, saturate or index differently.
  bool once = false;
  uint32_t peak = 0;
};
// Nothing if no part of the product can be native, and why not in `why`. The scope may be a
// workgroup: its subgroups share out the tiles.
std::optional<NativePlan> planNative(const ir::MmaDesc& desc, bool isMatmul, const TensorForm& form,
                                     unsigned budget, std::string* why);

// The product: what the plan covers natively, where operands allow it, and the rest as scalar code.
// `guarded`: whether they do is not known; else the operation has the preconditions of tensor.mma.
// Ordered on entry and exit.
void nativeProduct(Emitter& e, const Product& p, const NativePlan& plan, bool guarded);

}  // namespace mtlc::transforms

#endif  // MTLC_TRANSFORMS_TENSOR_NATIVE_H_
