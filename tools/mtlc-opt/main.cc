// mtlc-opt: runs passes over an IR module and writes the result.

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mtlc/analysis/device_verifier.h"
#include "mtlc/analysis/print_analysis.h"
#include "mtlc/ir/proto.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"
#include "mtlc/support/tool_main.h"
#include "mtlc/transforms/pipeline.h"
#include "tools/input/module_input.h"
#include "tools/targets/versions.h"

namespace {

using mtlc::transforms::OptLevel;
using mtlc::transforms::PassInvocation;
using mtlc::transforms::PipelineOptions;

enum class Emit { same, text, pb, none };
enum class Render { none, human, json };

struct Options {
  std::vector<std::string> files;
  std::string output = "-";
  Emit emit = Emit::same;
  bool locations = false;
  bool listPasses = false;
  bool verifyDevice = false;
  std::vector<std::string> analyses;
  bool timing = false;
  bool stats = false;
  Render remarks = Render::none;
  PipelineOptions pipeline;
  // Each --pass, --passes and -O in the order given.
  struct Part {
    std::string option;
    std::string text;
  };
  std::vector<Part> parts;
};

void declareOptions(mtlc::OptionTable& table, Options& o) {
  table.positional("FILE", 0, 1, &o.files);
  auto part = [&o](std::string option) {
    return [&o, option](std::string_view text) {
      o.parts.push_back({option, std::string(text)});
      return absl::OkStatus();
    };
  };
  table.group("Passes");
  table.value("--pass", "NAME", part("--pass"), "Run this pass; repeatable, in the order given");
  table.value("--passes", "LIST", part("--passes"), "Run a pipeline such as 'promote,dce'");
  table.action(
      "-O", [part] { return part("-O")(""); }, "Run the pipeline of mettle -O");
  table.action(
      "-O0", [part] { return part("-O0")(""); }, "Run the pipeline of mettle -O0");
  table.flag("--list-passes", &o.listPasses, "Show all passes and their options, and end");
  table.group("Output");
  table.text("-o,--output", "FILE", &o.output, "Where the result goes");
  table.choice("--emit", &o.emit,
               {{"same", Emit::same}, {"text", Emit::text}, {"pb", Emit::pb}, {"none", Emit::none}},
               "Form of the result: that of FILE, .mtir, protobuf (.mtirpb), or no result");
  table.commaList("--print-analysis", "NAMES", &o.analyses,
                  "Write what these analyses find, not the module ('help' lists them)");
  table.flag("--locations", &o.locations, "Print the source location of each operation");
  table.group("Watching (on standard error)");
  table.flag("--verify-each", &o.pipeline.verifyEach, "Verify the module after each pass");
  table.flag("--verify-device", &o.verifyDevice, "Verify at the end what every device needs, too");
  table.flag("--print-before-all", &o.pipeline.printBeforeAll, "Print the module before each pass");
  table.flag("--print-after-all", &o.pipeline.printAfterAll, "Print the module after each pass");
  table.flag("--print-changed", &o.pipeline.printChanged, "Print it after passes that change it");
  table.commaList("--print-before", "PASSES", &o.pipeline.printBefore, "Print it before these");
  table.commaList("--print-after", "PASSES", &o.pipeline.printAfter, "Print it after these");
  table.flag("--timing", &o.timing, "Show the time that each pass took");
  table.flag("--stats", &o.stats, "Show what the passes counted");
  table.choice("--remarks", &o.remarks,
               {{"none", Render::none}, {"human", Render::human}, {"json", Render::json}},
               "Show what passes did, and did not do and why");
}

std::optional<std::vector<PassInvocation>> pipelineOf(const Options& o, mtlc::Tool& tool) {
  std::vector<PassInvocation> all;
  for (const Options::Part& part : o.parts) {
    std::optional<std::vector<PassInvocation>> some;
    if (part.option == "-O" || part.option == "-O0") {
      some = mtlc::transforms::standardPipeline(part.option == "-O" ? OptLevel::O : OptLevel::O0);
    } else {
      some = mtlc::transforms::parsePipeline(part.text, part.option, tool.sources(),
                                             tool.diagnostics());
    }
    if (!some) return std::nullopt;
    all.insert(all.end(), some->begin(), some->end());
  }
  return all;
}

void printError(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

void run(Options& o, mtlc::Tool& tool) {
  std::optional<std::vector<PassInvocation>> passes = pipelineOf(o, tool);
  if (!passes) return;
  mtlc::ModuleInput input = mtlc::readModule(tool, o.files[0]);
  const auto& module = input.module;
  if (!module) return;
  if (o.emit == Emit::same) {
    o.emit = input.form == mtlc::ModuleForm::proto ? Emit::pb : Emit::text;
  }

  mtlc::transforms::PipelineReport report;
  mtlc::transforms::RemarkLog remarks;
  o.pipeline.print = printError;
  o.pipeline.timing = o.timing;
  o.pipeline.report = &report;
  if (o.remarks != Render::none) o.pipeline.remarks = &remarks;
  if (!runPasses(*module, *passes, tool.diagnostics(), o.pipeline)) return;
  if (o.remarks == Render::human) printError(renderHuman(remarks, tool.sources()));
  if (o.remarks == Render::json) printError(renderJson(remarks, tool.sources()));
  if (o.timing) printError(renderTiming(report));
  if (o.stats) printError(renderStatistics(report));
  if (!mtlc::ir::verify(*module, tool.diagnostics())) return;
  if (o.verifyDevice && !mtlc::analysis::verifyForDevice(*module, tool.diagnostics())) return;
  if (!o.analyses.empty()) {
    std::string text;
    for (const std::string& name : o.analyses) {
      text += *mtlc::analysis::printAnalysis(name, *module);
    }
    tool.write(o.output, text);
    return;
  }
  if (o.emit == Emit::text) {
    tool.write(o.output, mtlc::ir::print(*module, {.locations = o.locations}));
  } else if (o.emit == Emit::pb) {
    tool.write(o.output, mtlc::ir::writeProto(*module));
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  mtlc::Tool tool("mtlc-opt", "[options] FILE", "Runs passes over an IR module (.mtir, .mtirpb).");
  declareOptions(tool.options(), options);
  mtlc::addVersionLines(tool);
  if (std::optional<int> code = tool.start(argc, argv)) return *code;
  if (options.listPasses) {
    std::fputs(mtlc::transforms::renderPassList().c_str(), stdout);
    return mtlc::kExitSuccess;
  }
  if (options.files.empty()) return tool.usageError("FILE is missing");
  for (const auto* names : {&options.pipeline.printBefore, &options.pipeline.printAfter}) {
    for (const std::string& name : *names) {
      if (!mtlc::transforms::passFromName(name)) {
        return tool.usageError("there is no pass '" + name + "'");
      }
    }
  }
  for (const std::string& name : options.analyses) {
    std::string known;
    bool found = false;
    for (const auto& info : mtlc::analysis::analyses()) {
      found = found || info.name == name;
      known += (known.empty() ? "" : ", ") + std::string(info.name);
    }
    if (!found) return tool.usageError("no analysis '" + name + "'; there are " + known);
  }
  run(options, tool);
  return tool.finish();
}
