// From parsed PTX to a Program: resolves names, checks every instruction against the table, lays
// out memory.

#ifndef MTLC_SIM_PTX_DECODER_H_
#define MTLC_SIM_PTX_DECODER_H_

#include <memory>

#include "mtlc/sim/lanes/lanes.h"
#include "mtlc/sim/program.h"
#include "mtlc/sim/ptx/symbols.h"

namespace mtlc::sim::ptx {

struct DecodeOptions {
  bool portable = false;  // Only lane functions for every host machine.
};

// Decodes the entry `kernel` and every function it may call. Errors go to `diags`; the result is
// then unusable. The program refers to texts of the module.
std::unique_ptr<Program> decodeKernel(const ModuleSymbols& symbols, const Function& kernel,
                                      const DecodeOptions& options, DiagnosticEngine& diags);

// Checks a function that no kernel need call, as decodeKernel would.
void checkFunction(const ModuleSymbols& symbols, const Function& function, DiagnosticEngine& diags);

// The offsets of a kernel's parameters (PTX ISA 5.1.6.1: each at its own alignment, in order).
std::vector<ParamInfo> layoutParams(const Function& kernel, uint32_t& bytes);

}  // namespace mtlc::sim::ptx

#endif  // MTLC_SIM_PTX_DECODER_H_
