// Control flow of decoded code: basic blocks and the order in which diverged lanes meet.

#ifndef MTLC_SIM_FLOW_H_
#define MTLC_SIM_FLOW_H_

#include "mtlc/sim/program.h"

namespace mtlc::sim {

// Sets Instr::order for the instructions of function `index`, from `firstOrder`; returns the next
// free order.
//
// The order is topological but for back edges, with every loop's blocks in one piece before what
// follows the loop. A scheduler that always runs the lanes with the least order then lets lanes
// wait exactly where paths meet: at the latest at the immediate post-dominator, in any control
// flow.
uint32_t orderBlocks(Program& program, uint32_t index, uint32_t firstOrder);

}  // namespace mtlc::sim

#endif  // MTLC_SIM_FLOW_H_
