// mtlc-llc: compiles an IR module for a target.

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mtlc/analysis/device_verifier.h"
#include "mtlc/codegen/target.h"
#include "mtlc/support/tool_main.h"
#include "mtlc/transforms/remarks.h"
#include "tools/input/module_input.h"
#include "tools/targets/all_targets.h"
#include "tools/targets/target_options.h"
#include "tools/targets/versions.h"

namespace {

void printRows(const std::vector<mtlc::TargetListRow>& rows) {
  for (const mtlc::TargetListRow& row : rows) {
    std::printf("  %-16s %s\n", row.name.c_str(), row.description.c_str());
  }
}

int list(bool architectures) {
  for (const mtlc::Target* target : mtlc::registeredTargets()) {
    std::printf("%s: %s\n", std::string(target->name()).c_str(),
                std::string(target->description()).c_str());
    printRows(architectures ? target->architectures() : target->features());
  }
  return mtlc::kExitSuccess;
}

int listFeatureTables() {
  for (const mtlc::Target* target : mtlc::registeredTargets()) {
    std::fputs(target->featureTable().c_str(), stdout);
  }
  return mtlc::kExitSuccess;
}

}  // namespace

int main(int argc, char** argv) {
  mtlc::registerAllTargets();
  std::vector<std::string> files;
  std::string output = "-";
  std::string ptxVersion;
  std::string fileType;
  mtlc::TargetOptions target;
  target.arch = "gb10";
  bool listTargets = false, listFeatures = false, listTable = false, showRemarks = false;

  mtlc::Tool tool("mtlc-llc", "[options] FILE",
                  "Compiles an IR module (.mtir, .mtirpb) for a target.");
  mtlc::OptionTable& options = tool.options();
  options.positional("FILE", 0, 1, &files);
  options.group("Output");
  options.text("-o,--output", "FILE", &output, "Write to FILE; - is standard output");
  options.text("--filetype", "asm|obj", &fileType,
               "Text, or what a driver loads; default: obj for SPIR-V, asm for PTX");
  options.flag("-g", &target.lineInfo, "Give source positions to debuggers and profilers");
  options.flag("--remarks", &showRemarks, "Show what the code generator decided, and why");
  options.group("Target");
  options.text("-march,--march,--gpu-arch", "ARCH", &target.arch,
               "Architecture: sm_NN[a|f], compute_NN, gb10, portable");
  options.commaList("-mattr,--mattr", "+F,…", &target.attributes, "Features, such as +ptx88");
  options.text("--ptx-version", "M.m", &ptxVersion, "PTX version, the same as -mattr=+ptxMm");
  mtlc::addTensorOptions(options, &target);
  options.flag("--list-targets", &listTargets, "List the architectures");
  options.optionalValue(
      "--list-features", "table",
      [&](std::string_view value) {
        listFeatures = true;
        listTable = value == "table";
        if (listTable || value.empty()) return absl::OkStatus();
        return absl::InvalidArgumentError("the value is 'table' or left out");
      },
      "List the features; table: the PTX version with which each architecture has them");
  mtlc::addVersionLines(tool);
  if (std::optional<int> code = tool.start(argc, argv)) return *code;
  if (listTargets) return list(true);
  if (listTable) return listFeatureTables();
  if (listFeatures) return list(false);
  if (files.empty()) return tool.usageError("no input file");
  if (!fileType.empty() && fileType != "asm" && fileType != "obj") {
    return tool.usageError("--filetype takes asm or obj");
  }
  if (fileType == "asm") target.fileType = mtlc::FileType::Asm;
  if (fileType == "obj") target.fileType = mtlc::FileType::Object;
  if (!ptxVersion.empty()) target.attributes.push_back("+ptx" + ptxVersion);

  mtlc::transforms::RemarkLog remarks;
  if (showRemarks) target.remarks = &remarks;
  mtlc::DiagnosticEngine& diags = tool.diagnostics();
  std::unique_ptr<mtlc::ir::Module> module = mtlc::readModule(tool, files[0]).module;
  if (module != nullptr && mtlc::analysis::verifyForDevice(*module, diags)) {
    if (const mtlc::Target* t = mtlc::findTarget(target.arch, diags)) {
      if (std::optional<std::string> artefact = t->emit(*module, target, diags)) {
        tool.write(output, *artefact);
      }
    }
  }
  const std::string text = renderHuman(remarks, tool.sources());
  std::fwrite(text.data(), 1, text.size(), stderr);
  return tool.finish();
}
