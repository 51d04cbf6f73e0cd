// What OpenCL's SPIR-V has no instruction for, written with those it has.

#ifndef MTLC_CODEGEN_SPIRV_LEGALIZE_H_
#define MTLC_CODEGEN_SPIRV_LEGALIZE_H_

#include "mtlc/codegen/spirv/profile.h"
#include "mtlc/ir/ir.h"

namespace mtlc::spirv {

// Replaces, in a module that verifies:
//   atomic.rmw fadd           by a compare-exchange loop on the bits
//   subgroup.reduce fmin|fmax by an integer minimum or maximum of keys in the order of the numbers
//   subgroup.shuffle          by one from a lane that is live (profiles with the instruction), or
//   by
//                             a broadcast from each lane in turn
// The module verifies afterwards.
void legalize(ir::Module& module, const SpirvProfile& profile);

}  // namespace mtlc::spirv

#endif  // MTLC_CODEGEN_SPIRV_LEGALIZE_H_
