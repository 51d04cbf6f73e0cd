// Functions of OpenCL.std that no instruction of PTX computes: the host does, in wider arithmetic.

#ifndef MTLC_SIM_SPIRV_FUNCTIONS_H_
#define MTLC_SIM_SPIRV_FUNCTIONS_H_

#include "mtlc/sim/program.h"

namespace mtlc::sim::spirv {

// Besides the numbers of OpenCL.std: OpFRem and OpFMod, frexp's two results.
inline constexpr uint32_t kHostRemainder = 1000;
inline constexpr uint32_t kHostModulo = 1001;
inline constexpr uint32_t kHostFraction = 1002;
inline constexpr uint32_t kHostExponent = 1003;  // An integer, as kHostIlogb.

inline constexpr uint32_t kHostSign = 1004;      // lgamma_r's second result.
inline constexpr uint32_t kHostQuotient = 1005;  // remquo's.

// Functions of up to three operands of 16, 32 or 64 bits: Instr::imm is the entry. Operands that
// OpenCL.std has as integers are 32-bit columns. Results are rounded once from double, or from long
// double.
LaneFn hostMath(unsigned bits);
// Of one or two floating-point operands, with an integer result: ilogb and the last three above.
LaneFn hostMathToInt(unsigned bits);
bool isHostMath(uint32_t entry);

// Integer functions: Instr::imm is the entry, in bits 47:32 the bits of the operands.
LaneFn hostInteger();
bool isHostInteger(uint32_t entry);

}  // namespace mtlc::sim::spirv

#endif  // MTLC_SIM_SPIRV_FUNCTIONS_H_
