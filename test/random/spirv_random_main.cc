// Random IR as SPIR-V on the simulator, against the interpreter: see docs/testing.md.

#include <chrono>
#include <cstdio>
#include <random>

#include "absl/strings/str_cat.h"
#include "mtlc/analysis/device_verifier.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"
#include "mtlc/support/options.h"
#include "mtlc/support/tool_main.h"
#include "mtlc/transforms/pipeline.h"
#include "test/random/ir_generator.h"
#include "test/random/run_kernel.h"
#include "test/random/run_on_simulator.h"

namespace mtlc::random_test {
namespace {

// What goes wrong with the kernel of a seed, and its text; empty if nothing does.
std::string check(uint64_t seed, std::string& text) {
  SourceManager sources;
  ir::Module module(sources, "random");
  generateModule(module, seed);
  canonicaliseNans(module);
  text = ir::print(module);
  std::mt19937_64 random(seed ^ 0x9E3779B97F4A7C15u);
  KernelInput input;
  input.grid = kGrid;
  input.block = kBlock;
  input.input.resize(8 * kInputCells);
  for (uint8_t& byte : input.input) byte = static_cast<uint8_t>(random());
  input.outputBytes = size_t{8} * kGrid * kBlock * kCellsPerThread;
  input.scalars = randomScalars(*module.findFunction("k"), seed);
  const KernelOutput expected = runKernel(module, input);
  if (!expected.problem.empty()) return "on the interpreter: " + expected.problem;

  for (const auto level : {transforms::OptLevel::O0, transforms::OptLevel::O}) {
    const char* name = level == transforms::OptLevel::O0 ? "-O0: " : "-O: ";
    DiagnosticEngine diags;
    const FileId file = sources.add(absl::StrCat("seed", seed, ".mtir"), text);
    const std::unique_ptr<ir::Module> copy = ir::parseModule(sources, file, diags);
    if (!copy || !ir::verify(*copy, diags) ||
        !runPasses(*copy, transforms::standardPipeline(level), diags, {}) ||
        !analysis::verifyForDevice(*copy, diags)) {
      return name + renderHuman(diags, sources);
    }
    std::string spirv;
    const KernelOutput got = runSpirv(*copy, 8u << seed % 4, input, spirv);
    std::string problem = got.problem;
    if (problem.empty()) problem = describeDifference(expected.bytes, got.bytes);
    if (!problem.empty()) return absl::StrCat(name, problem, "\n", spirv);
  }
  return "";
}

int run(uint64_t first, uint64_t count, uint64_t maxFailures, bool show) {
  const auto start = std::chrono::steady_clock::now();
  uint64_t failures = 0;
  for (uint64_t seed = first; seed < first + count && failures < maxFailures; ++seed) {
    std::string text;
    const std::string what = check(seed, text);
    if (show) std::fputs(text.c_str(), stdout);
    if (what.empty()) continue;
    ++failures;
    std::fprintf(stderr, "FAILED seed %llu: %s\n", static_cast<unsigned long long>(seed),
                 what.c_str());
    if (failures == 1) std::fputs(text.c_str(), stderr);
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%llu random IR modules as SPIR-V, %llu failures, %.1f s\n",
              static_cast<unsigned long long>(count), static_cast<unsigned long long>(failures),
              seconds);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace mtlc::random_test

int main(int argc, char** argv) {
  int64_t first = 1, count = 100, maxFailures = 3;
  bool show = false;
  mtlc::Tool tool("spirv_random", "[options]", "Random IR as SPIR-V on the simulator.");
  tool.options().integer("--seed", "N", &first, 0, INT64_MAX, "The first seed");
  tool.options().integer("--count", "N", &count, 0, INT64_MAX, "How many modules");
  tool.options().integer("--max-failures", "N", &maxFailures, 0, INT64_MAX, "Stop after so many");
  tool.options().flag("--show", &show, "Print every module");
  if (std::optional<int> code = tool.start(argc, argv)) return *code;
  return mtlc::random_test::run(static_cast<uint64_t>(first), static_cast<uint64_t>(count),
                                static_cast<uint64_t>(maxFailures), show);
}
