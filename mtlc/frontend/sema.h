// Semantic analysis: syntax trees to checked functions.

#ifndef MTLC_FRONTEND_SEMA_H_
#define MTLC_FRONTEND_SEMA_H_

#include <deque>
#include <vector>

#include "mtlc/frontend/checked.h"
#include "mtlc/frontend/modules.h"
#include "mtlc/frontend/types.h"
#include "mtlc/support/arena.h"
#include "mtlc/support/diagnostics.h"

namespace mtlc::frontend {

// The checked program for a GPU module: the kernels of the main file and what they reach.
struct Program {
  Arena arena;
  TypeContext types;
  std::deque<checked::Function> storage;
  std::vector<checked::Function*> kernels;  // In the order of the file.
  std::vector<checked::Function*> helpers;  // In the order of their first use.
};

// Checks all functions of the main file (the first module) and everything reachable from its
// kernels, reports all problems, and fills `program`. What only host programs may use is reported
// in functions that a kernel reaches and passed over in others. Returns false if there was an
// error (then `program` is incomplete).
bool analyze(std::deque<Module>& modules, const Interner& interner, DiagnosticEngine& diagnostics,
             Program* program);

}  // namespace mtlc::frontend

#endif  // MTLC_FRONTEND_SEMA_H_
