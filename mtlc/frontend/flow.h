// Checks that follow control flow: variables are assigned before they are read, and functions with
// a result return one on every path.

#ifndef MTLC_FRONTEND_FLOW_H_
#define MTLC_FRONTEND_FLOW_H_

#include "mtlc/frontend/checked.h"
#include "mtlc/support/diagnostics.h"

namespace mtlc::frontend {

// `trackedCount` variables have a Local::tracked number. Each variable is reported once, at its
// first bad read. Returns false if anything was reported.
bool checkFlow(checked::Function& function, int trackedCount, const Interner& interner,
               DiagnosticEngine& diagnostics);

}  // namespace mtlc::frontend

#endif  // MTLC_FRONTEND_FLOW_H_
