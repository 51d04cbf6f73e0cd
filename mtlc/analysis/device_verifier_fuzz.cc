// Bytes as an IR dump: whatever passes the structural verifier gets a verdict for the device, and
// an error if it is refused.

#include <cstdint>
#include <string>

#include "mtlc/analysis/device_verifier.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mtlc::SourceManager sources;
  mtlc::DiagnosticEngine diagnostics;
  const mtlc::FileId file =
      sources.add("fuzz.mtir", std::string(reinterpret_cast<const char*>(data), size));
  const std::unique_ptr<mtlc::ir::Module> module =
      mtlc::ir::parseModule(sources, file, diagnostics);
  if (!module || !mtlc::ir::verify(*module, diagnostics)) return 0;
  const bool ok = mtlc::analysis::verifyForDevice(*module, diagnostics);
  if (ok == diagnostics.hasErrors()) __builtin_trap();
  return 0;
}
