// Checked functions to IR.

#ifndef MTLC_FRONTEND_IRGEN_H_
#define MTLC_FRONTEND_IRGEN_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "mtlc/frontend/sema.h"
#include "mtlc/ir/ir.h"
#include "mtlc/support/diagnostics.h"
#include "mtlc/support/source.h"

namespace mtlc::frontend {

struct IrGenOptions {
  std::string_view moduleName;
  uint8_t fastMath = 0;  // ir::FastMathFlags of functions without @fp.
};

// The module of the program's kernels and the helpers they reach, one function for each
// combination of pointer address spaces a helper is called with. Variables that change, or whose
// address is taken, are private allocations that the `promote` pass turns into values. The only
// errors are pointers that would leave their address space through memory; nullptr after one.
std::unique_ptr<ir::Module> generateIr(const Program& program, const Interner& interner,
                                       SourceManager& sources, DiagnosticEngine& diagnostics,
                                       const IrGenOptions& options);

}  // namespace mtlc::frontend

#endif  // MTLC_FRONTEND_IRGEN_H_
