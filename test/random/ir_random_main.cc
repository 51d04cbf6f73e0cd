// Differential testing of the passes: random kernels run on the interpreter before and after them.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "mtlc/analysis/device_verifier.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"
#include "mtlc/support/options.h"
#include "mtlc/support/tool_main.h"
#include "mtlc/transforms/pipeline.h"
#include "test/random/ir_generator.h"
#include "test/random/run_kernel.h"

namespace mtlc::random_test {
namespace {

using transforms::PassId;
using transforms::PassInvocation;

std::string describe(std::span<const PassInvocation> passes) {
  std::string text;
  for (const PassInvocation& p : passes) {
    absl::StrAppend(&text, text.empty() ? "" : ",", std::string(transforms::passRow(p.pass).name));
  }
  return text;
}

class IrCase {
 public:
  explicit IrCase(uint64_t seed) : seed_(seed) {
    ir::Module module(sources_, "random");
    generateModule(module, seed);
    text_ = ir::print(module);
    const ir::Function* kernel = module.findFunction("k");
    std::mt19937_64 random(seed ^ 0x9E3779B97F4A7C15u);
    input_.grid = kGrid;
    input_.block = kBlock;
    input_.input.resize(8 * kInputCells);
    for (uint8_t& byte : input_.input) byte = static_cast<uint8_t>(random());
    input_.outputBytes = size_t{8} * kGrid * kBlock * kCellsPerThread;
    input_.scalars = randomScalars(*kernel, seed);
    input_.schedule = seed % 3;
    expected_ = runKernel(module, input_);
    if (!expected_.problem.empty()) problem_ = "before any pass: " + expected_.problem;
  }

  const std::string& text() const { return text_; }
  // Empty if the generated module is fine.
  const std::string& problem() const { return problem_; }
  uint64_t instructions() const { return expected_.instructions; }

  // What goes wrong with the text itself or after the passes; empty if nothing does.
  std::string check(std::span<const PassInvocation> passes) {
    DiagnosticEngine diags;
    const FileId file = sources_.add(absl::StrCat("seed", seed_, ".mtir"), text_);
    std::unique_ptr<ir::Module> module = ir::parseModule(sources_, file, diags);
    if (!module) return "parse: " + renderHuman(diags, sources_);
    if (ir::print(*module) != text_) return "the text does not round-trip";
    if (!ir::verify(*module, diags) || !analysis::verifyForDevice(*module, diags)) {
      return "verify: " + renderHuman(diags, sources_);
    }
    transforms::PipelineOptions options;
    options.verifyEach = true;
    if (!runPasses(*module, passes, diags, options)) {
      return renderHuman(diags, sources_);
    }
    if (!analysis::verifyForDevice(*module, diags)) {
      return "verdict changed: " + renderHuman(diags, sources_);
    }
    const KernelOutput got = runKernel(*module, input_);
    if (!got.problem.empty()) return got.problem;
    return describeDifference(expected_.bytes, got.bytes);
  }

  // The shortest beginning of the pipeline that goes wrong.
  std::span<const PassInvocation> shortest(std::span<const PassInvocation> passes) {
    for (size_t n = 0; n < passes.size(); ++n) {
      if (!check(passes.first(n)).empty()) return passes.first(n);
    }
    return passes;
  }

 private:
  uint64_t seed_;
  SourceManager sources_;
  std::string text_;
  KernelInput input_;
  KernelOutput expected_;
  std::string problem_;
};

std::vector<std::vector<PassInvocation>> pipelines(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<PassInvocation>> result;
  result.push_back(transforms::standardPipeline(transforms::OptLevel::O));
  // Each pass by itself in turn, and some sequence.
  result.push_back({{static_cast<PassId>(seed % transforms::kPassCount)}});
  std::vector<PassInvocation> sequence;
  for (int i = 0; i < 5; ++i) {
    sequence.push_back({static_cast<PassId>(random() % transforms::kPassCount)});
  }
  result.push_back(std::move(sequence));
  return result;
}

int run(uint64_t first, uint64_t count, uint64_t maxFailures, bool show, bool verbose) {
  const auto start = std::chrono::steady_clock::now();
  uint64_t failures = 0, instructions = 0;
  for (uint64_t seed = first; seed < first + count && failures < maxFailures; ++seed) {
    if (verbose) std::fprintf(stderr, "seed %llu\n", static_cast<unsigned long long>(seed));
    IrCase test(seed);
    instructions += test.instructions();
    if (show) std::fputs(test.text().c_str(), stdout);
    std::string what = test.problem();
    std::vector<PassInvocation> failing;
    if (what.empty()) {
      for (const std::vector<PassInvocation>& passes : pipelines(seed)) {
        if (test.check(passes).empty()) continue;
        std::span<const PassInvocation> guilty = test.shortest(passes);
        what = test.check(guilty);
        failing.assign(guilty.begin(), guilty.end());
        break;
      }
    }
    if (what.empty()) continue;
    ++failures;
    std::fprintf(stderr, "FAILED seed %llu, passes '%s': %s\n",
                 static_cast<unsigned long long>(seed), describe(failing).c_str(), what.c_str());
    if (failures == 1) std::fputs(test.text().c_str(), stderr);
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%llu random IR modules, %llu operations executed, %llu failures, %.1f s\n",
              static_cast<unsigned long long>(count), static_cast<unsigned long long>(instructions),
              static_cast<unsigned long long>(failures), seconds);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace mtlc::random_test

int main(int argc, char** argv) {
  int64_t first = 1, count = 100, maxFailures = 3;
  bool show = false, verbose = false;
  mtlc::Tool tool("ir_random", "[options]", "Differential testing of passes on random IR.");
  tool.options().integer("--seed", "N", &first, 0, INT64_MAX, "The first seed");
  tool.options().integer("--count", "N", &count, 0, INT64_MAX, "How many modules");
  tool.options().integer("--max-failures", "N", &maxFailures, 0, INT64_MAX, "Stop after so many");
  tool.options().flag("--show", &show, "Print every module");
  tool.options().flag("--verbose", &verbose, "Print every seed before it runs");
  if (std::optional<int> code = tool.start(argc, argv)) return *code;
  return mtlc::random_test::run(static_cast<uint64_t>(first), static_cast<uint64_t>(count),
                                static_cast<uint64_t>(maxFailures), show, verbose);
}
