// What llvm-spirv writes and validators refuse, put right before anything else looks at a module:
//
// - Blocks in LLVM's order, where a loop's body may come behind what follows the loop. SPIR-V wants
//   a block behind those that dominate it.
// - Variables of a function behind other instructions. They come first in the first block.
// - Instructions of OpenCL.DebugInfo.100 that break its rules. Nothing here needs them.
// - Merge instructions of loops with the same merge block. In kernels they are hints.

#ifndef MTLC_SIM_SPIRV_NORMALISE_H_
#define MTLC_SIM_SPIRV_NORMALISE_H_

#include <cstdint>
#include <span>
#include <vector>

namespace mtlc::sim::spirv {

// `words` with the blocks of every function behind their immediate dominators, and otherwise in the
// order that they have; its variables first; without debug information and without merge
// instructions, unless shaders may be in it. Words that make no sense stay as they are, for the
// validator to refuse.
std::vector<uint32_t> normalised(std::span<const uint32_t> words);

}  // namespace mtlc::sim::spirv

#endif  // MTLC_SIM_SPIRV_NORMALISE_H_
