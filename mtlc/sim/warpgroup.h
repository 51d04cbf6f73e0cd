// Asynchronous products of warpgroups: wgmma (PTX ISA 9.7.15).
//
// Each warp of a warpgroup computes its own rows; what one wrote or read is no business of the
// others but for the shared memory that all read. Like an asynchronous copy, a product is really
// deferred: issuing it reads its descriptors and checks the addresses; operands are read and D is
// written later, in the order of issue, when the warp waits for its group at the latest. So a
// kernel that does not wait finds the old D, and one that changes operands too early finds wrong
// sums. With a seed products land at once, late, or at any turn of the block.

#ifndef MTLC_SIM_WARPGROUP_H_
#define MTLC_SIM_WARPGROUP_H_

#include <cstdint>
#include <vector>

#include "mtlc/sim/program.h"

namespace mtlc::sim {

// A product that was issued by a warp.
struct WarpgroupProduct {
  const Instr* in = nullptr;
  uint32_t warp = 0;
  uint32_t group = 0;  // Commit groups count from 1 in each warp.
  LaneMask lanes = 0;  // That issued it.
  uint32_t frame = 0;  // First 32-bit register of its frame.
  bool accumulate = true;
  bool landed = false;
  // Offsets in shared memory of the 16-byte chunks that it reads: of the warp's rows of A, unless
  // they are in registers, then of B.
  uint32_t chunksOfA = 0;
  std::vector<uint32_t> chunks;
};

// Executes an instruction of the families warpgroup… for the lanes of `mask`.
void executeWarpgroup(Warp& w, const Instr& in, LaneMask mask);

}  // namespace mtlc::sim

#endif  // MTLC_SIM_WARPGROUP_H_
