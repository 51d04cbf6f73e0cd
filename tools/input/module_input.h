// The IR module that a tool is given, in either form.

#ifndef TOOLS_INPUT_MODULE_INPUT_H_
#define TOOLS_INPUT_MODULE_INPUT_H_

#include <memory>
#include <string>

#include "mtlc/ir/ir.h"
#include "mtlc/support/tool_main.h"

namespace mtlc {

enum class ModuleForm { text, proto };

struct ModuleInput {
  std::unique_ptr<ir::Module> module;  // Verified (ir::verify); nullptr after a report.
  ModuleForm form = ModuleForm::text;
};

// Reads `path` ("-": standard input). It is in protobuf form if it is named .mtirpb or begins so.
ModuleInput readModule(Tool& tool, const std::string& path);

}  // namespace mtlc

#endif  // TOOLS_INPUT_MODULE_INPUT_H_
