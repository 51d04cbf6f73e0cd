// Differential testing of the passes that keep accumulators in tiles, and of tensor-legalize behind
// them: random kernels run on the
// interpreter before and after them, the second time also with each tile in memory of its own until
// it is committed, so that whoever looks at its home too soon sees the old values.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "mtlc/analysis/device_verifier.h"
#include "mtlc/interp/interpreter.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"
#include "mtlc/support/options.h"
#include "mtlc/support/tool_main.h"
#include "mtlc/transforms/pipeline.h"
#include "test/random/run_kernel.h"
#include "test/random/tensor_program.h"

namespace mtlc::random_test {
namespace {

using transforms::PassId;
using transforms::PassInvocation;
using transforms::Stat;

constexpr PassId kPasses[] = {PassId::TensorPipeline, PassId::TensorChain, PassId::TensorLoop,
                              PassId::TensorEpilogue};
constexpr Stat kStats[] = {Stat::UpdatesChained,   Stat::StagesJoined,     Stat::LoopsCarried,
                           Stat::PipelinesCarried, Stat::EpiloguesOnTiles, Stat::TensorsNative,
                           Stat::TensorsReplayed};

KernelOutput runTensorKernel(const ir::Module& module, const TensorProgram& p, uint64_t schedule) {
  KernelOutput output;
  const interp::Program program(module);
  interp::Memory memory;
  const interp::BufferId in = memory.add(p.input, "in");
  const interp::BufferId out = memory.add(p.output, "out");
  interp::LaunchSpec spec;
  spec.kernel = "k";
  spec.grid = {1, 1, 1};
  spec.block = {kTensorBlock, 1, 1};
  spec.args = {interp::KernelArg::buffer(in), interp::KernelArg::buffer(out)};
  for (uint64_t bits : p.scalars) spec.args.push_back(interp::KernelArg::scalar(bits));
  spec.options.maxSteps = 1'000'000;
  spec.options.subgroupSize = kTensorSubgroup;
  spec.options.seed = schedule;
  absl::StatusOr<interp::LaunchResult> result = interp::launch(program, memory, spec);
  if (!result.ok()) {
    output.problem = std::string(result.status().message());
    return output;
  }
  if (!result->faults.empty()) {
    output.problem = absl::StrFormat("%d faults, the first: %s", result->faults.size(),
                                     faultMessage(result->faults[0]));
  }
  std::span<const uint8_t> bytes = memory.bytes(out).first(kTilesAt);
  output.bytes.assign(bytes.begin(), bytes.end());
  return output;
}

class TensorCase {
 public:
  explicit TensorCase(uint64_t seed) : seed_(seed), program_(generateTensorProgram(seed)) {
    DiagnosticEngine diags;
    std::unique_ptr<ir::Module> module = parse(diags);
    if (!module || !ir::verify(*module, diags)) {
      broken_ = renderHuman(diags, sources_);
      return;
    }
    if (!analysis::verifyForDevice(*module, diags)) return;
    expected_ = runTensorKernel(*module, program_, seed % 3);
    isGood_ = expected_.problem.empty();
    reason_ = expected_.problem;
  }

  const std::string& text() const { return program_.text; }
  // Not even the structural rules hold: the generator is wrong.
  const std::string& broken() const { return broken_; }
  // Breaks no rule of the device and none while running.
  bool isGood() const { return isGood_; }
  const std::string& reason() const { return reason_; }
  // Sums are of integers, or of float64 in the order of k; in others, scalar code may round more
  // often than the interpreter's sums.
  bool isExact() const {
    return program_.text.find("acc=f32") == std::string::npos &&
           program_.text.find("acc=f16") == std::string::npos;
  }

  std::string check(std::span<const PassInvocation> passes, transforms::Statistics* stats) {
    DiagnosticEngine diags;
    std::unique_ptr<ir::Module> module = parse(diags);
    transforms::PipelineOptions options;
    transforms::PipelineReport report;
    options.verifyEach = true;
    options.report = &report;
    if (!runPasses(*module, passes, diags, options)) return renderHuman(diags, sources_);
    if (stats) {
      for (size_t i = 0; i < stats->size(); ++i) (*stats)[i] += report.statistics[i];
    }
    if (!analysis::verifyForDevice(*module, diags)) {
      return "verdict changed: " + renderHuman(diags, sources_) + ir::print(*module);
    }
    std::string what = compare(*module);
    if (!what.empty()) return what + "\n" + ir::print(*module);
    if (!keepTilesApart(*module->findFunction("k"))) return "too many homes";
    if (!ir::verify(*module, diags)) return "apart: " + renderHuman(diags, sources_);
    what = compare(*module);
    return what.empty() ? "" : "with tiles kept apart: " + what + "\n" + ir::print(*module);
  }

 private:
  std::unique_ptr<ir::Module> parse(DiagnosticEngine& diags) {
    const FileId file = sources_.add(absl::StrCat("seed", seed_, ".mtir"), program_.text);
    return ir::parseModule(sources_, file, diags);
  }
  std::string compare(const ir::Module& module) const {
    const KernelOutput got = runTensorKernel(module, program_, seed_ % 3);
    if (!got.problem.empty()) return got.problem;
    return describeDifference(expected_.bytes, got.bytes);
  }

  uint64_t seed_;
  TensorProgram program_;
  SourceManager sources_;
  KernelOutput expected_;
  std::string broken_, reason_;
  bool isGood_ = false;
};

std::vector<std::vector<PassInvocation>> pipelines(uint64_t seed, bool isExact) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<PassInvocation>> result(3);
  for (PassId p : kPasses) result[0].push_back({p});
  for (int i = 0; i < 6; ++i) result[1].push_back({kPasses[random() % std::size(kPasses)]});
  result[2] = transforms::standardPipeline(transforms::OptLevel::O);
  if (!isExact) return result;
  // As scalar code, and as products of some form, with tiles in registers as the budget has it.
  using transforms::OptionId;
  result.push_back({{PassId::TensorLegalize}});
  result.push_back(result[random() % 2]);
  result.back().push_back({PassId::TensorLegalize,
                           {{OptionId::TensorFormM, 4},
                            {OptionId::TensorFormN, 4},
                            {OptionId::TensorFormK, random() % 2 ? 4 : 16},
                            {OptionId::TensorBudget, 24 + 8 * static_cast<int64_t>(random() % 3)},
                            {OptionId::TensorCoordinates, static_cast<int64_t>(random() % 2)}}});
  return result;
}

std::string describe(std::span<const PassInvocation> passes) {
  std::string text;
  for (const PassInvocation& p : passes) {
    absl::StrAppend(&text, text.empty() ? "" : ",", std::string(transforms::passRow(p.pass).name));
  }
  return text;
}

int run(uint64_t first, uint64_t count, bool show) {
  const auto start = std::chrono::steady_clock::now();
  uint64_t good = 0, failures = 0;
  transforms::Statistics stats{};
  for (uint64_t seed = first; seed < first + count && failures < 3; ++seed) {
    TensorCase test(seed);
    if (show) {
      std::fputs(test.text().c_str(), stdout);
      std::fprintf(stderr, "%s\n", test.reason().c_str());
    }
    if (!test.broken().empty()) {
      std::fprintf(stderr, "BROKEN seed %llu: %s\n%s\n", static_cast<unsigned long long>(seed),
                   test.broken().c_str(), test.text().c_str());
      return 1;
    }
    if (!test.isGood()) continue;
    ++good;
    for (const std::vector<PassInvocation>& passes : pipelines(seed, test.isExact())) {
      const std::string what = test.check(passes, &stats);
      if (what.empty()) continue;
      ++failures;
      std::fprintf(stderr, "FAILED seed %llu, passes '%s': %s\nbefore:\n%s\n",
                   static_cast<unsigned long long>(seed), describe(passes).c_str(), what.c_str(),
                   test.text().c_str());
      break;
    }
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%llu programs without faults of %llu, %.1f s\n",
              static_cast<unsigned long long>(good), static_cast<unsigned long long>(count),
              seconds);
  bool all = true;
  for (Stat s : kStats) {
    const uint64_t n = stats[static_cast<size_t>(s)];
    std::printf("%8llu %s\n", static_cast<unsigned long long>(n),
                std::string(transforms::statRow(s).description).c_str());
    all = all && (n > 0 || count < 500);
  }
  // A generator whose programs are all refused, or never touched, tests nothing.
  if (good * 4 < count || !all) {
    std::fprintf(stderr, "too little was tested\n");
    return 1;
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace mtlc::random_test

int main(int argc, char** argv) {
  int64_t seed = 1, count = 500;
  bool show = false;
  mtlc::Tool tool("tensor_random", "[options]",
                  "Runs random kernels with accumulators before and after the passes for tiles.");
  tool.options().integer("--seed", "N", &seed, 0, INT64_MAX, "The first seed");
  tool.options().integer("--count", "N", &count, 0, INT64_MAX, "How many programs");
  tool.options().flag("--show", &show, "Print each program");
  if (std::optional<int> code = tool.start(argc, argv)) return *code;
  return mtlc::random_test::run(static_cast<uint64_t>(seed), static_cast<uint64_t>(count), show);
}
