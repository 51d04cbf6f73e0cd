// The shared verifier of device code: what every target needs to hold before it emits
// (docs/device-verifier.md).
//
//   D01 a module has a kernel             D04 nothing calls a kernel
//   D02 no recursion                      D05 kernel parameters are what a host can pass
//   D03 no call without a body            D06 collectives are reached by their whole scope together
//
// The rules concern what the kernels reach; other functions are dropped from device modules.

#ifndef MTLC_ANALYSIS_DEVICE_VERIFIER_H_
#define MTLC_ANALYSIS_DEVICE_VERIFIER_H_

#include "mtlc/ir/ir.h"
#include "mtlc/support/diagnostics.h"

namespace mtlc::analysis {

// Reports every violation, each with the chain of reasons as notes; true if there was none. The
// module must have passed ir::verify. Near-linear in the size of the module. Writes the scratch
// fields.
bool verifyForDevice(const ir::Module& module, DiagnosticEngine& diags);

}  // namespace mtlc::analysis

#endif  // MTLC_ANALYSIS_DEVICE_VERIFIER_H_
