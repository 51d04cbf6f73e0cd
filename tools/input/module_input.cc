#include "tools/input/module_input.h"

#include <optional>
#include <utility>

#include "mtlc/ir/proto.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"

namespace mtlc {

ModuleInput readModule(Tool& tool, const std::string& path) {
  ModuleInput input;
  std::optional<std::string> bytes = tool.read(path);
  if (!bytes) return input;
  const std::string name = path == "-" ? "<stdin>" : path;
  if (path.ends_with(".mtirpb") || ir::isProto(*bytes)) {
    input.form = ModuleForm::proto;
    input.module = ir::readProto(tool.sources(), name, *bytes, tool.diagnostics());
  } else {
    const FileId file = tool.sources().add(name, *std::move(bytes));
    input.module = ir::parseModule(tool.sources(), file, tool.diagnostics());
  }
  if (input.module && !ir::verify(*input.module, tool.diagnostics())) input.module = nullptr;
  return input;
}

}  // namespace mtlc
