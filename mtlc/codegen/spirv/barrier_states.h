// Kernels with barriers and loops of several entries, as one loop that PoCL can take.

#ifndef MTLC_CODEGEN_SPIRV_BARRIER_STATES_H_
#define MTLC_CODEGEN_SPIRV_BARRIER_STATES_H_

#include "mtlc/ir/ir.h"

namespace mtlc::spirv {

// A kernel that has barriers (in its own body) and an irreducible loop becomes
//
//   ^entry:     what was before the first branch or barrier; state = 0
//   ^dispatch:  to the code that begins at `state`
//     …         which, in the place of a barrier, sets `state` to what follows it; of a return, to
//     -1
//   ^meet:      barrier, with the regions and orders of all; back to ^dispatch until `state` is -1
//
// All work-items have the same state, for the device verifier has shown that they meet at the same
// barrier. Values that are used in another block go through private memory. Other kernels stay as
// they are. Linear.
void makeBarrierStates(ir::Function& kernel);

}  // namespace mtlc::spirv

#endif  // MTLC_CODEGEN_SPIRV_BARRIER_STATES_H_
