// The structural verifier: the rules V01 … of docs/ir.md §9, with their messages in
// mtlc/support/diag/ir.def.

#ifndef MTLC_IR_VERIFIER_H_
#define MTLC_IR_VERIFIER_H_

#include "mtlc/ir/ir.h"
#include "mtlc/support/diagnostics.h"

namespace mtlc::ir {

// Reports every violation; true if there was none. Linear in the size of the module, up to a
// logarithm.
bool verify(const Module& module, DiagnosticEngine& diags);

}  // namespace mtlc::ir

#endif  // MTLC_IR_VERIFIER_H_
