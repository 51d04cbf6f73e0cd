// mettle: compiles Mettle source to PTX or IR.

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mtlc/analysis/device_verifier.h"
#include "mtlc/codegen/target.h"
#include "mtlc/frontend/compile.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"
#include "mtlc/support/tool_main.h"
#include "mtlc/transforms/pipeline.h"
#include "tools/targets/all_targets.h"
#include "tools/targets/target_options.h"
#include "tools/targets/versions.h"

namespace {

using mtlc::frontend::FpMode;
using mtlc::transforms::OptLevel;

enum class Emit { none, ir, rawIr, ptx, spirv };

struct Options {
  std::vector<std::string> files;
  std::string output;
  Emit emit = Emit::none;
  OptLevel level = OptLevel::O0;
  mtlc::TargetOptions target;
  std::string ptxVersion;
  mtlc::frontend::CompileOptions compile;
  bool dumpIr = false;
  bool explain = false;
  bool timing = false;
  bool stats = false;
  mtlc::transforms::PipelineOptions pipeline;
};

void declareOptions(mtlc::OptionTable& table, Options& o) {
  table.positional("FILE", 0, 1, &o.files);
  table.group("Output");
  table.set("--emit-ptx", &o.emit, Emit::ptx, "Write PTX for NVIDIA GPUs");
  table.set("--emit-spirv", &o.emit, Emit::spirv, "Write a SPIR-V module for OpenCL");
  table.optionalValue(
      "--emit-ir", "raw",
      [&o](std::string_view value) {
        if (!value.empty() && value != "raw") {
          return absl::InvalidArgumentError("the value is 'raw' or left out");
        }
        o.emit = value.empty() ? Emit::ir : Emit::rawIr;
        return absl::OkStatus();
      },
      "Write IR; raw: before passes and device checks");
  table.text("-o,--output", "FILE", &o.output, "Write to FILE; by default FILE.ptx, .spv or .mtir");
  table.set("-O", &o.level, OptLevel::O, "Optimise");
  table.set("-O0", &o.level, OptLevel::O0, "Do not optimise (the default)");
  table.flag("-g", &o.target.lineInfo, "Give source positions to debuggers and profilers");
  table.group("Target");
  table.text("--gpu-arch,-march,--march", "ARCH", &o.target.arch,
             "Architecture: sm_NN[a|f], compute_NN, gb10, portable; spirv-opencl2.0 and others");
  table.text("--ptx-version", "M.m", &o.ptxVersion, "PTX version; by default the architecture's");
  addTensorOptions(table, &o.target);
  table.group("Source");
  table.list("-I", "DIR", &o.compile.includePaths, "Look for imported modules in DIR too").joined();
  table.text("--stdlib", "DIR", &o.compile.stdlibDir, "Take the standard library from DIR");
  table.choice("--fp", &o.compile.fpMode,
               {{"strict", FpMode::strict}, {"contract", FpMode::contract}, {"fast", FpMode::fast}},
               "What floating-point rounding may change");
  table.group("Watching (on standard error)");
  table.flag("--dump-ir", &o.dumpIr, "Print the IR that code is generated from");
  table.flag("--explain", &o.explain, "Show what passes did, and did not do and why");
  table.flag("--verify-each", &o.pipeline.verifyEach, "Verify the module after each pass");
  table.flag("--print-after-all", &o.pipeline.printAfterAll, "Print the module after each pass");
  table.flag("--timing", &o.timing, "Show the time that each pass took");
  table.flag("--stats", &o.stats, "Show what the passes counted");
}

void printError(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

// kernels/k.mettle gives k.ptx, in the current folder; standard input gives standard output.
std::string defaultOutput(std::string_view input, std::string_view suffix) {
  if (input == "-") return "-";
  size_t slash = input.find_last_of('/');
  if (slash != std::string_view::npos) input.remove_prefix(slash + 1);
  if (input.ends_with(".mettle")) input.remove_suffix(7);
  return std::string(input) + std::string(suffix);
}

bool optimise(mtlc::ir::Module& module, Options& o, mtlc::Tool& tool) {
  mtlc::transforms::PipelineReport report;
  mtlc::transforms::RemarkLog remarks;
  o.pipeline.print = printError;
  o.pipeline.timing = o.timing;
  o.pipeline.report = &report;
  if (o.explain) o.pipeline.remarks = &remarks;
  if (!runPipeline(module, o.level, tool.diagnostics(), o.pipeline)) return false;
  if (o.explain) printError(renderHuman(remarks, tool.sources()));
  if (o.timing) printError(renderTiming(report));
  if (o.stats) printError(renderStatistics(report));
  return true;
}

void run(Options& o, mtlc::Tool& tool) {
  mtlc::DiagnosticEngine& diags = tool.diagnostics();
  // An unknown architecture is worth saying even if the source has errors too.
  const mtlc::Target* target = nullptr;
  if (o.emit == Emit::ptx || o.emit == Emit::spirv) {
    target = mtlc::findTarget(o.target.arch, diags);
    if (!target) return;
  }
  std::optional<mtlc::FileId> file = tool.load(o.files[0]);
  if (!file) return;
  std::unique_ptr<mtlc::ir::Module> module =
      mtlc::frontend::compileMettle(tool.sources(), *file, diags, o.compile);
  if (!module || !mtlc::ir::verify(*module, diags)) return;
  if (o.emit == Emit::rawIr) {
    tool.write(o.output, mtlc::ir::print(*module));
    return;
  }
  if (!mtlc::analysis::verifyForDevice(*module, diags) || !optimise(*module, o, tool)) return;
  if (o.dumpIr) printError(mtlc::ir::print(*module));
  if (o.emit == Emit::ir) {
    tool.write(o.output, mtlc::ir::print(*module));
    return;
  }
  mtlc::transforms::RemarkLog remarks;
  if (o.explain) o.target.remarks = &remarks;
  if (std::optional<std::string> artefact = target->emit(*module, o.target, diags)) {
    tool.write(o.output, *artefact);
  }
  printError(renderHuman(remarks, tool.sources()));
}

}  // namespace

int main(int argc, char** argv) {
  mtlc::registerAllTargets();
  Options o;
  mtlc::Tool tool("mettle", "[options] FILE", "Compiles the kernels of a Mettle file.");
  declareOptions(tool.options(), o);
  mtlc::addVersionLines(tool);
  if (std::optional<int> code = tool.start(argc, argv)) return *code;
  if (o.files.empty()) return tool.usageError("no input file");
  if (o.emit == Emit::none)
    return tool.usageError("say what to write: --emit-ptx, --emit-spirv or --emit-ir");
  const bool spirv = o.emit == Emit::spirv;
  if (o.target.arch.empty()) o.target.arch = spirv ? "spirv-opencl2.0" : "gb10";
  if (o.emit == Emit::ptx || spirv) {
    if (o.target.arch.starts_with("spirv") != spirv) {
      return tool.usageError("'" + o.target.arch + "' is no architecture of " +
                             (spirv ? "SPIR-V: --emit-ptx" : "PTX: --emit-spirv") +
                             " writes code for it");
    }
  }
  if (!o.ptxVersion.empty()) o.target.attributes.push_back("+ptx" + o.ptxVersion);
  if (o.output.empty()) {
    o.output = defaultOutput(o.files[0], o.emit == Emit::ptx ? ".ptx" : spirv ? ".spv" : ".mtir");
  }
  run(o, tool);
  return tool.finish();
}
