// Differential testing of the SPIR-V code generator: random kernels run on the interpreter and on
// an OpenCL device, bit for bit, before and after the optimiser. A child process runs them, so that
// a kernel that does not end, or ends the process, is one failure with its seed.

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "mtlc/analysis/device_verifier.h"
#include "mtlc/codegen/spirv/spirv.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"
#include "mtlc/runtime/opencl.h"
#include "mtlc/support/options.h"
#include "mtlc/support/tool_main.h"
#include "mtlc/transforms/pipeline.h"
#include "test/random/ir_generator.h"
#include "test/random/run_kernel.h"

namespace mtlc::random_test {
namespace {

constexpr int kNoDevice = 77;

struct Options {
  uint64_t first = 1, count = 40, maxFailures = 3, seconds = 60;
  bool show = false;
};

std::string runOpenCl(runtime::OpenClDevice& device, ir::Module& module, const KernelInput& input,
                      std::vector<uint8_t>& bytes) {
  SourceManager sources;
  DiagnosticEngine diags;
  const std::optional<std::vector<uint32_t>> words =
      emitSpirv(module, {.profile = findSpirvProfile("spirv-opencl2.0")}, diags);
  if (!words) return "not emitted: " + renderHuman(diags, sources);
  absl::Status status = device.load(*words);
  if (!status.ok()) return std::string(status.message());
  const std::vector<runtime::KernelParam>& params = device.kernels().at(0).params;
  if (params.size() != input.scalars.size() + 2) return "another number of parameters";

  runtime::OpenClLaunch launch;
  launch.kernel = input.kernel;
  launch.grid = {input.grid, 1, 1};
  launch.block = {input.block, 1, 1};
  bytes.assign(input.outputBytes, 0xCD);
  const std::vector<uint8_t>* contents[] = {&input.input, &bytes};
  for (const std::vector<uint8_t>* content : contents) {
    absl::StatusOr<int64_t> id = device.allocate(content->size());
    if (!id.ok()) return std::string(id.status().message());
    if (status = device.write(*id, *content); !status.ok()) return std::string(status.message());
    launch.arguments.push_back({.buffer = *id});
  }
  for (size_t i = 0; i < input.scalars.size(); ++i) {
    // Little-endian: the low bytes of the bits.
    launch.arguments.push_back({.bytes = &input.scalars[i], .size = params[i + 2].bytes});
  }
  status = device.launch(launch).status();
  if (status.ok()) status = device.read(launch.arguments[1].buffer, bytes);
  for (int i = 0; i < 2; ++i) device.free(launch.arguments[i].buffer);
  return std::string(status.message());
}

// What goes wrong with the kernel of a seed, and its text; empty if nothing does.
std::string check(runtime::OpenClDevice& device, uint64_t seed, std::string& text) {
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
    std::vector<uint8_t> bytes;
    std::string problem = runOpenCl(device, *copy, input, bytes);
    if (problem.empty()) problem = describeDifference(expected.bytes, bytes);
    if (!problem.empty()) return name + problem;
  }
  return "";
}

// The child: a byte for each seed that went well. Ends with the first failure.
int runSeeds(uint64_t seed, uint64_t end, bool show, int progress) {
  absl::StatusOr<std::unique_ptr<runtime::OpenClDevice>> device = runtime::OpenClDevice::open();
  if (!device.ok()) {
    std::fprintf(stderr, "%s\n", std::string(device.status().message()).c_str());
    return kNoDevice;
  }
  for (; seed < end; ++seed) {
    std::string text;
    const std::string what = check(**device, seed, text);
    if (show) std::fputs(text.c_str(), stdout);
    if (!what.empty()) {
      std::fprintf(stderr, "FAILED seed %llu: %s\n%s", static_cast<unsigned long long>(seed),
                   what.c_str(), text.c_str());
      return 1;
    }
    if (write(progress, "", 1) != 1) return 1;
  }
  return 0;
}

class Child {
 public:
  Child(uint64_t first, uint64_t end, bool show) {
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    std::fflush(stdout);
    pid_ = fork();
    if (pid_ < 0) std::abort();
    if (pid_ == 0) {
      close(ends[0]);
      const int code = runSeeds(first, end, show, ends[1]);
      std::fflush(stdout);
      _exit(code);  // The threads of the driver may still be busy.
    }
    close(ends[1]);
    progress_ = ends[0];
  }
  ~Child() { close(progress_); }

  // Seeds that went well until the child ended, or one took longer than `seconds`.
  uint64_t follow(uint64_t seconds, bool& timedOut) {
    uint64_t good = 0;
    timedOut = false;
    for (;;) {
      pollfd ready = {progress_, POLLIN, 0};
      const int count = poll(&ready, 1, static_cast<int>(seconds * 1000));
      if (count == 0) {
        timedOut = true;
        kill(pid_, SIGKILL);
        break;
      }
      char bytes[64];
      const ssize_t n = read(progress_, bytes, sizeof bytes);
      if (n <= 0) break;
      good += static_cast<uint64_t>(n);
    }
    waitpid(pid_, &status_, 0);
    return good;
  }
  int status() const { return status_; }

 private:
  pid_t pid_ = -1;
  int progress_ = -1, status_ = 0;
};

int run(const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  uint64_t failures = 0, seed = options.first;
  const uint64_t end = options.first + options.count;
  while (seed < end && failures < options.maxFailures) {
    Child child(seed, end, options.show);
    bool timedOut = false;
    seed += child.follow(options.seconds, timedOut);
    const int status = child.status();
    if (WIFEXITED(status) && WEXITSTATUS(status) == kNoDevice) return kNoDevice;
    if (seed == end && status == 0) break;
    ++failures;
    if (timedOut) {
      std::fprintf(stderr, "FAILED seed %llu: did not end within %llu s\n",
                   static_cast<unsigned long long>(seed),
                   static_cast<unsigned long long>(options.seconds));
    } else if (!WIFEXITED(status)) {
      std::fprintf(stderr, "FAILED seed %llu: the process died of signal %d\n",
                   static_cast<unsigned long long>(seed), WTERMSIG(status));
    }
    ++seed;
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%llu random IR modules on OpenCL, %llu failures, %.1f s\n",
              static_cast<unsigned long long>(seed - options.first),
              static_cast<unsigned long long>(failures), seconds);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace mtlc::random_test

int main(int argc, char** argv) {
  int64_t first = 1, count = 40, maxFailures = 3, seconds = 60;
  bool show = false;
  mtlc::Tool tool("opencl_random", "[options]",
                  "Differential testing of SPIR-V on an OpenCL device with random IR.");
  tool.options().integer("--seed", "N", &first, 0, INT64_MAX, "The first seed");
  tool.options().integer("--count", "N", &count, 0, INT64_MAX, "How many modules");
  tool.options().integer("--max-failures", "N", &maxFailures, 0, INT64_MAX, "Stop after so many");
  tool.options().integer("--seconds", "N", &seconds, 1, 1'000'000, "For each module");
  tool.options().flag("--show", &show, "Print every module");
  if (std::optional<int> code = tool.start(argc, argv)) return *code;
  return mtlc::random_test::run({static_cast<uint64_t>(first), static_cast<uint64_t>(count),
                                 static_cast<uint64_t>(maxFailures), static_cast<uint64_t>(seconds),
                                 show});
}
