// The order of a function's blocks in the PTX text.

#ifndef MTLC_CODEGEN_PTX_LAYOUT_H_
#define MTLC_CODEGEN_PTX_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "mtlc/ir/ir.h"

namespace mtlc::ptx {

struct BlockLayout {
  std::vector<ir::Block*>
      order;  // Reachable blocks; Block::scratch is the position, ~0u for the others.
  std::vector<uint32_t> loopDepth;  // By position.
};

// A reverse post-order in which loops are contiguous and the taken side of a branch comes first, so
// that the common shapes need no jump: a definition always stands before its uses. Linear in the
// number of blocks.
BlockLayout layoutBlocks(const ir::Function& function);

}  // namespace mtlc::ptx

#endif  // MTLC_CODEGEN_PTX_LAYOUT_H_
