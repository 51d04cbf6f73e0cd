#include "tools/mtlc-run/program.h"

#include <optional>
#include <string_view>

#include "absl/strings/str_format.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"

namespace mtlc::run {
namespace {

Parameter parameterOf(const ir::Function& kernel, unsigned index) {
  const ir::Value* value = kernel.param(index);
  Parameter parameter;
  parameter.bytes = value->type().bytes();
  parameter.name =
      value->name().empty() ? absl::StrFormat("%d", index) : std::string(value->name());
  parameter.typeName = ir::typeName(value->type());
  if (value->type().isPtr()) {
    parameter.kind = Parameter::Kind::Pointer;
  } else if (value->type().isBool()) {
    parameter.kind = Parameter::Kind::Bool;
  } else if (value->type().isFloat()) {
    parameter.kind = Parameter::Kind::Float;
    parameter.exact = dtypeFromName(parameter.typeName);
  } else {
    parameter.kind = Parameter::Kind::Integer;
  }
  return parameter;
}

}  // namespace

bool loadProgram(Tool& tool, const std::string& path, transforms::OptLevel level,
                 Program* program) {
  std::optional<FileId> file = tool.load(path);
  if (!file) return false;
  DiagnosticEngine& diags = tool.diagnostics();
  program->module = ir::parseModule(tool.sources(), *file, diags);
  if (!program->module || !ir::verify(*program->module, diags)) return false;
  if (!transforms::runPipeline(*program->module, level, diags)) return false;
  if (!ir::verify(*program->module, diags)) return false;
  for (const ir::Function& function : program->module->functions()) {
    if (!function.isKernel()) continue;
    KernelSignature& kernel = program->kernels.emplace_back();
    kernel.name = function.name();
    for (unsigned i = 0; i < function.paramCount(); ++i) {
      kernel.parameters.push_back(parameterOf(function, i));
    }
  }
  return true;
}

}  // namespace mtlc::run
