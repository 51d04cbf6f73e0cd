// Joining the updates of accumulators within one block, for tensor-chain and the passes that make
// new neighbours.

#ifndef MTLC_TRANSFORMS_TENSOR_CHAIN_H_
#define MTLC_TRANSFORMS_TENSOR_CHAIN_H_

#include "mtlc/transforms/pass.h"
#include "mtlc/transforms/tensor_residency.h"

namespace mtlc::transforms {

struct ChainRules {
  Between between;
  RemarkId applied;  // %0: how often it goes through memory no more.
  RemarkId missed;   // %0: what is in the way.
  Stat joins;
  bool stagedOnly;  // Leave alone what has no stages between updates.
};

// The function has something that these passes could change. One walk.
bool hasProducts(const ir::Function& function);

// Makes one tile of updates of the same home that may go on in one, and tells of those that may
// not. Linear, with a bound on the accumulators that are followed at a time. True if it changed
// something.
bool joinBlock(ir::Block& block, const ChainRules& rules, PassContext& context, TileHomes& homes);

}  // namespace mtlc::transforms

#endif  // MTLC_TRANSFORMS_TENSOR_CHAIN_H_
