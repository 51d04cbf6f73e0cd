#include "mtlc/frontend/compile.h"

#include "mtlc/frontend/irgen.h"
#include "mtlc/frontend/modules.h"
#include "mtlc/frontend/sema.h"
#include "mtlc/support/arena.h"

namespace mtlc::frontend {
namespace {

uint8_t fastMathFlags(FpMode mode) {
  switch (mode) {
    case FpMode::strict:
      return 0;
    case FpMode::contract:
      return ir::kContract;
    case FpMode::fast:
      return ir::kContract | ir::kReassoc | ir::kNoNaNs | ir::kNoSignedZeros | ir::kFlushSubnormals;
  }
  return 0;
}

std::vector<KernelSignature> signaturesOf(const Program& program, const Interner& interner) {
  std::vector<KernelSignature> signatures;
  for (const checked::Function* kernel : program.kernels) {
    KernelSignature& signature = signatures.emplace_back();
    signature.name = kernel->name;
    for (const checked::Local* param : kernel->params) {
      signature.parameters.push_back(
          {std::string(interner.text(param->name)), typeName(param->type)});
    }
  }
  return signatures;
}

// The file's name without folder and suffix.
std::string_view moduleName(std::string_view path) {
  size_t slash = path.find_last_of('/');
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  if (path.ends_with(".mettle")) path.remove_suffix(7);
  return path;
}

}  // namespace

std::unique_ptr<ir::Module> compileMettle(SourceManager& sources, FileId file,
                                          DiagnosticEngine& diagnostics,
                                          const CompileOptions& options,
                                          std::vector<KernelSignature>* signatures) {
  Interner interner;
  Arena arena;
  ModuleOptions moduleOptions{options.includePaths, options.stdlibDir};
  ModuleLoader loader(sources, interner, arena, diagnostics, moduleOptions);
  loader.load(file);
  Program program;
  if (!analyze(loader.modules(), interner, diagnostics, &program)) return nullptr;
  if (signatures) *signatures = signaturesOf(program, interner);
  IrGenOptions irOptions;
  irOptions.moduleName = moduleName(sources.name(file));
  irOptions.fastMath = fastMathFlags(options.fpMode);
  return generateIr(program, interner, sources, diagnostics, irOptions);
}

}  // namespace mtlc::frontend
