// The front end as one call: Mettle source in, IR out.

#ifndef MTLC_FRONTEND_COMPILE_H_
#define MTLC_FRONTEND_COMPILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mtlc/ir/ir.h"
#include "mtlc/support/diagnostics.h"
#include "mtlc/support/source.h"

namespace mtlc::frontend {

// What rounding a compiler may change (docs/language.md §4); @fp(…) overrides it for one function.
enum class FpMode : uint8_t {
  strict,    // As written: every operation rounds.
  contract,  // A multiplication and an addition may be fused.
  fast,      // All fast-math flags of the IR.
};

struct CompileOptions {
  std::vector<std::string> includePaths;  // -I
  std::string stdlibDir;                  // --stdlib; empty: the embedded standard library.
  FpMode fpMode = FpMode::strict;
};

// A kernel as the source declares it; the IR does not tell int32 from uint32, nor what a pointer
// points to.
struct KernelSignature {
  struct Parameter {
    std::string name;
    std::string type;  // "uint32", "float32*"
  };
  std::string name;
  std::vector<Parameter> parameters;
};

// Compiles the file `file` of `sources`, which has been added under its path (imports are looked
// for beside it), to a GPU module: its kernels and the helpers they reach. Imported files are added
// to `sources`, which must outlive the module. All problems are reported into `diagnostics`;
// returns nullptr if there was an error. The module satisfies the structural verifier; the rules
// for device code (call graph, uniformity) are still to be checked. `signatures`, if not null,
// receives the kernels of the module.
std::unique_ptr<ir::Module> compileMettle(SourceManager& sources, FileId file,
                                          DiagnosticEngine& diagnostics,
                                          const CompileOptions& options = {},
                                          std::vector<KernelSignature>* signatures = nullptr);

}  // namespace mtlc::frontend

#endif  // MTLC_FRONTEND_COMPILE_H_
