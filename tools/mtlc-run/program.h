// The input of mtlc-run: a module and the signatures of its kernels.

#ifndef TOOLS_MTLC_RUN_PROGRAM_H_
#define TOOLS_MTLC_RUN_PROGRAM_H_

#include <cstdint>
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
  std::unique_ptr<ir::Module> module;  // Verified; null for a .ptx or .spv file.
  FileId ptx = 0;                      // The PTX text; 0 if it is not wanted.
  std::vector<uint32_t> spirv;         // The words; empty if they are not wanted.
  std::vector<KernelSignature> kernels;
};

enum class Code : uint8_t { None, Ptx, Spirv };

struct LoadOptions {
  transforms::OptLevel level = transforms::OptLevel::O;
  frontend::CompileOptions compile;  // For .mettle files.
  Code code = Code::None;            // What the device runs.
  TargetOptions target;              // For the code; an empty arch is the default of its kind.
};

// Reads a .mettle, .ptx or .spv file, or an IR module in either form (the suffix tells; any other
// is a module). Source and IR are compiled and verified, the pipeline of the level runs, and code
// is emitted if wanted. The kernels of .ptx and .spv files are left to the device. False after a
// report.
bool loadProgram(Tool& tool, const std::string& path, const LoadOptions& options, Program* program);

}  // namespace mtlc::run

#endif  // TOOLS_MTLC_RUN_PROGRAM_H_
