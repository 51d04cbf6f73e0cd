// SPIR-V as a target of the tools. A library of its own, for the text form needs SPIRV-Tools.

#ifndef MTLC_CODEGEN_SPIRV_SPIRV_TARGET_H_
#define MTLC_CODEGEN_SPIRV_SPIRV_TARGET_H_

#include <cstdint>
#include <string>
#include <vector>

namespace mtlc {

// The text form of SPIRV-Tools; empty for words that are no module.
std::string disassembleSpirv(const std::vector<uint32_t>& words);

// Registers the target "spirv" (target.h).
void registerSpirvTarget();

}  // namespace mtlc

#endif  // MTLC_CODEGEN_SPIRV_SPIRV_TARGET_H_
