// Bytes as a module in protobuf form: what is accepted is written and read again to the same.

#include <cstdint>
#include <string>

#include "mtlc/ir/proto.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace mtlc::ir;
  mtlc::SourceManager sources;
  mtlc::DiagnosticEngine diagnostics;
  std::unique_ptr<Module> module = readProto(
      sources, "fuzz", std::string_view(reinterpret_cast<const char*>(data), size), diagnostics);
  if ((module == nullptr) != diagnostics.hasErrors()) __builtin_trap();
  if (!module) return 0;
  const std::string bytes = writeProto(*module);
  const std::string text = print(*module, {.locations = true});
  mtlc::DiagnosticEngine again;
  std::unique_ptr<Module> second = readProto(sources, "fuzz", bytes, again);
  if (!second || print(*second, {.locations = true}) != text) __builtin_trap();
  if (writeProto(*second) != bytes) __builtin_trap();
  if (!verify(*module, diagnostics)) return 0;
  // What verifies has a text form.
  std::unique_ptr<Module> parsed = parseModule(sources, sources.add("again.mtir", text), again);
  if (!parsed || print(*parsed, {.locations = true}) != text) __builtin_trap();
  return 0;
}
