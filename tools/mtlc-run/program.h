// The input of mtlc-run: a module and the signatures of its kernels.

#ifndef TOOLS_MTLC_RUN_PROGRAM_H_
#define TOOLS_MTLC_RUN_PROGRAM_H_

#include <memory>
#include <string>
#include <vector>

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

// Reads FILE.mtir, verifies it, runs the pipeline of the level, and verifies again. False after a
// report.
bool loadProgram(Tool& tool, const std::string& path, transforms::OptLevel level, Program* program);

}  // namespace mtlc::run

#endif  // TOOLS_MTLC_RUN_PROGRAM_H_
