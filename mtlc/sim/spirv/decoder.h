// From a SPIR-V module to a Program: resolves ids to registers, lays out memory, and expresses
// every instruction by the lane functions of the simulator.

#ifndef MTLC_SIM_SPIRV_DECODER_H_
#define MTLC_SIM_SPIRV_DECODER_H_

#include <memory>
#include <unordered_map>
#include <vector>

#include "mtlc/sim/program.h"
#include "mtlc/sim/spirv/binary.h"
#include "mtlc/support/diagnostics.h"

namespace mtlc::sim::spirv {

struct DecodeOptions {
  bool portable = false;  // Only lane functions for every host machine.
};

// Device addresses of the module's variables in global and constant memory.
// Addresses of module-level variables in device memory, and the bits of constants that are
// computed.
using Addresses = std::unordered_map<Id, uint64_t>;

// Decodes an entry point and every function it calls. Errors go to `diags`; the result is then
// unusable. `files` has the names that OpLine uses, by Program::files; the program refers to them.
std::unique_ptr<Program> decodeKernel(const Binary& binary, const EntryPoint& entry,
                                      const Addresses& addresses, const DecodeOptions& options,
                                      DiagnosticEngine& diags);

// The parameters of a kernel, each at its own alignment, in order. A pointer to workgroup memory
// has Space::shared.
std::vector<ParamInfo> layoutParams(const Binary& binary, const FunctionInfo& kernel,
                                    uint32_t& bytes);

// Bytes of a constant as they lie in memory, into `to`, which has the size of its type. `addresses`
// has the variables whose addresses it may name. False: something of it has no bytes.
// Adds the scalars that OpSpecConstantOp computes of constants and of addresses that are `known`.
// What cannot be computed is left out.
void computeConstants(const Binary& binary, Addresses& known);

// Writes a constant as it lies in memory, over zeros. False: it has no value here.
bool constantBytes(const Binary& binary, Id constant, const Addresses& addresses, uint8_t* to);

}  // namespace mtlc::sim::spirv

#endif  // MTLC_SIM_SPIRV_DECODER_H_
