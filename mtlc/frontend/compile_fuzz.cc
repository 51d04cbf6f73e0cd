// Bytes through the whole front end and the verifier.

#include <cstdint>
#include <string>

#include "mtlc/frontend/compile.h"
#include "mtlc/ir/verifier.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mtlc::SourceManager sources;
  mtlc::DiagnosticEngine diagnostics;
  mtlc::FileId file =
      sources.add("fuzz.mettle", std::string(reinterpret_cast<const char *>(data), size));
  std::unique_ptr<mtlc::ir::Module> module =
      mtlc::frontend::compileMettle(sources, file, diagnostics);
  if ((module == nullptr) != diagnostics.hasErrors()) __builtin_trap();
  if (module && !mtlc::ir::verify(*module, diagnostics)) __builtin_trap();
  return 0;
}
