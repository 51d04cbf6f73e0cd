// The input of mtlc-run: a module and the signatures of its kernels.

#ifndef TOOLS_MTLC_RUN_PROGRAM_H_
#define TOOLS_MTLC_RUN_PROGRAM_H_

#include <memory>
#include <string>
#include <vector>

#include "mtlc/frontend/compile.h"
#include "mtlc/ir/ir.h"
#include "mtlc/support/tool_main.h"
#include "mtlc/transforms/pipeline.h"
#include "tools/mtlc-run/arguments.h"

namespace mtlc::run {

struct KernelSignature {
  std::string name;
  std::vector<Parameter> parameters;
};

struct Program {
  std::unique_ptr<ir::Module> module;  // Verified.
  std::vector<KernelSignature> kernels;
};

struct LoadOptions {
  transforms::OptLevel level = transforms::OptLevel::O;
  frontend::CompileOptions compile;  // For .mettle files.
};

// Reads a .mettle or .mtir file (what does not end in .mettle is .mtir), compiles and verifies it,
// and runs the pipeline of the level. False after a report.
bool loadProgram(Tool& tool, const std::string& path, const LoadOptions& options, Program* program);

}  // namespace mtlc::run

#endif  // TOOLS_MTLC_RUN_PROGRAM_H_
