// Accumulators that are carried around a loop in tiles, for tensor-loop and tensor-pipeline.

#ifndef MTLC_TRANSFORMS_TENSOR_LOOP_H_
#define MTLC_TRANSFORMS_TENSOR_LOOP_H_

#include "mtlc/transforms/tensor_chain.h"

namespace mtlc::transforms {

struct LoopRules {
  ChainRules
      chain;  // `applied` and `missed` are remarks about loops, without arguments and with %0.
  Stat loops;
};

// In every loop of the function. With Between::Stages those alone that wait for copies.
Change carryAroundLoops(ir::Function& function, const LoopRules& rules, PassContext& context,
                        TileHomes& homes);

}  // namespace mtlc::transforms

#endif  // MTLC_TRANSFORMS_TENSOR_LOOP_H_
