// The input of mtlc-run: a module and the signatures of its kernels.

#ifndef TOOLS_MTLC_RUN_PROGRAM_H_
#define TOOLS_MTLC_RUN_PROGRAM_H_

#include <memory>
#include <string>
#include <vector>

#include "mtlc/codegen/target.h"
#include "mtlc/frontend/compile.h"
#include "mtlc/ir/ir.h"
#include "mtlc/support/tool_main.h"
#include "mtlc/transforms/pipeline.h"
#include "tools/mtlc-run/arguments.h"

namespace mtlc::run {

struct Program {
  std::unique_ptr<ir::Module> module;  // Verified; null for a .ptx file.
  FileId ptx = 0;                      // The PTX text; 0 if it is not wanted.
  std::vector<KernelSignature> kernels;
};

struct LoadOptions {
  transforms::OptLevel level = transforms::OptLevel::O;
  frontend::CompileOptions compile;  // For .mettle files.
  bool wantsPtx = false;
  TargetOptions target;  // For the PTX.
};

// Reads a .mettle or .ptx file, or an IR module in either form (the suffix tells; any other is a
// module). All but PTX is compiled and verified, the pipeline of the level runs, and PTX is emitted
// if wanted. The kernels of a .ptx file are left to the device. False after a report.
bool loadProgram(Tool& tool, const std::string& path, const LoadOptions& options, Program* program);

}  // namespace mtlc::run

#endif  // TOOLS_MTLC_RUN_PROGRAM_H_
