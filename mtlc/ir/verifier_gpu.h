// The part of the structural verifier for atomics, subgroups, staging, tensors and host operations.

#ifndef MTLC_IR_VERIFIER_GPU_H_
#define MTLC_IR_VERIFIER_GPU_H_

#include "absl/container/flat_hash_set.h"
#include "mtlc/ir/ir.h"
#include "mtlc/support/diagnostics.h"

namespace mtlc::ir {

// Rules V24 to V33 for an operation with the right number of operands, each with a type. `known`
// are the functions of the module.
void verifyGpuOperation(const Operation& op, const absl::flat_hash_set<const Function*>& known,
                        DiagnosticEngine& diags);

}  // namespace mtlc::ir

#endif  // MTLC_IR_VERIFIER_GPU_H_
