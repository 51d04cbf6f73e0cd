#include "tools/mtlc-run/program.h"

#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "mtlc/analysis/device_verifier.h"
#include "mtlc/frontend/compile.h"
#include "mtlc/ir/verifier.h"
#include "tools/input/module_input.h"

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

// "float32" and the like.
std::optional<DType> dtypeOf(std::string_view type) {
  constexpr std::pair<std::string_view, DType> kTypes[] = {
      {"bool", DType::Bool},   {"int8", DType::I8},     {"uint8", DType::U8},
      {"int16", DType::I16},   {"uint16", DType::U16},  {"int32", DType::I32},
      {"uint32", DType::U32},  {"int64", DType::I64},   {"uint64", DType::U64},
      {"float32", DType::F32}, {"float64", DType::F64},
  };
  for (const auto& [name, dtype] : kTypes) {
    if (name == type) return dtype;
  }
  return std::nullopt;
}

// Whole words; what is left over at the end makes the module malformed, as one word more.
std::vector<uint32_t> wordsOf(std::string_view bytes) {
  std::vector<uint32_t> words((bytes.size() + 3) / 4);
  if (!bytes.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

// Adds what the source says and the IR does not.
void describe(const frontend::KernelSignature& signature, KernelSignature* kernel) {
  for (size_t i = 0; i < kernel->parameters.size() && i < signature.parameters.size(); ++i) {
    Parameter& parameter = kernel->parameters[i];
    parameter.name = signature.parameters[i].name;
    parameter.typeName = signature.parameters[i].type;
    std::string_view type = parameter.typeName;
    if (parameter.kind == Parameter::Kind::Pointer) type.remove_suffix(1);
    parameter.exact = dtypeOf(type);
  }
}

}  // namespace

bool loadProgram(Tool& tool, const std::string& path, const LoadOptions& options,
                 Program* program) {
  DiagnosticEngine& diags = tool.diagnostics();
  std::vector<frontend::KernelSignature> signatures;
  if (path.ends_with(".ptx") || path.ends_with(".spv") || path.ends_with(".mettle")) {
    std::optional<FileId> file = tool.load(path);
    if (!file) return false;
    if (path.ends_with(".spv")) {
      program->spirv = wordsOf(tool.sources().text(*file));
      return true;
    }
    if (path.ends_with(".ptx")) {
      program->ptx = *file;
      return true;
    }
    program->module =
        frontend::compileMettle(tool.sources(), *file, diags, options.compile, &signatures);
    if (!program->module || !ir::verify(*program->module, diags)) return false;
  } else {
    program->module = readModule(tool, path).module;
    if (!program->module) return false;
  }
  if (!analysis::verifyForDevice(*program->module, diags)) return false;
  if (!transforms::runPipeline(*program->module, options.level, diags)) return false;
  if (!ir::verify(*program->module, diags)) return false;
  for (const ir::Function& function : program->module->functions()) {
    if (!function.isKernel()) continue;
    KernelSignature& kernel = program->kernels.emplace_back();
    kernel.name = function.name();
    for (unsigned i = 0; i < function.paramCount(); ++i) {
      kernel.parameters.push_back(parameterOf(function, i));
    }
    for (const frontend::KernelSignature& signature : signatures) {
      if (signature.name == kernel.name) describe(signature, &kernel);
    }
  }
  if (options.code != Code::None) {
    const bool ptx = options.code == Code::Ptx;
    TargetOptions emission = options.target;
    if (emission.arch.empty()) emission.arch = ptx ? "gb10" : "spirv-opencl2.0";
    const Target* target = findTarget(emission.arch, diags);
    if (!target) return false;
    emission.lineInfo = true;  // Reports name the source.
    std::optional<std::string> code = target->emit(*program->module, emission, diags);
    if (!code) return false;
    if (ptx) {
      program->ptx = tool.sources().add(path + ".ptx", *std::move(code));
    } else {
      program->spirv = wordsOf(*code);
    }
  }
  return true;
}

}  // namespace mtlc::run
