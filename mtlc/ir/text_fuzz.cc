// Bytes as an IR dump: what is accepted prints, and the print parses to the same.

#include <cstdint>
#include <string>

#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mtlc::SourceManager sources;
  mtlc::DiagnosticEngine diagnostics;
  mtlc::FileId file =
      sources.add("fuzz.mtir", std::string(reinterpret_cast<const char*>(data), size));
  std::unique_ptr<mtlc::ir::Module> module = mtlc::ir::parseModule(sources, file, diagnostics);
  if ((module == nullptr) != diagnostics.hasErrors()) __builtin_trap();
  if (!module) return 0;
  mtlc::ir::verify(*module, diagnostics);
  std::string printed = mtlc::ir::print(*module);
  mtlc::DiagnosticEngine again;
  std::unique_ptr<mtlc::ir::Module> second =
      mtlc::ir::parseModule(sources, sources.add("again.mtir", printed), again);
  if (!second || mtlc::ir::print(*second) != printed) __builtin_trap();
  return 0;
}
