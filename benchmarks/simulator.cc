// How fast the simulator runs kernels: with and without checkers, on one and two host threads, and
// the memory it needs. Everything is measured in one run, in turns, so that the ratios mean
// something on a machine that does other things too.
//
//   bazel run //benchmarks:simulator [-- --repeat=N] [--only=KERNEL] [--size=S] [--json]
//
// KERNEL is matmul (512 x 512 float32 through shared memory), mma_gemm (the same in float16 with
// tensor instructions; sizes are multiples of 64), softmax (1024 rows of 1000) or vadd (one million
// threads); numbers are the best of N. --size: another number of rows; vadd has 256
// times as many threads.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "mtlc/sim/device.h"

namespace mtlc::sim {
namespace {

struct Setting {
  const char* name;
  Checks checks;
  unsigned threads;
};
constexpr Setting kSettings[] = {
    {"off", Checks::none, 1},  {"mem", Checks::mem, 1},   {"sync", Checks::sync, 1},
    {"init", Checks::init, 1}, {"race", Checks::race, 1}, {"all", Checks::all, 1},
    {"off2", Checks::none, 2},
};

std::string fileText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// One kernel with its memory and arguments.
class Case {
 public:
  Case(const std::string& folder, std::string_view name, uint32_t size) : name_(name) {
    FileId file = sources_.add(name_ + ".ptx", fileText(folder + "/" + name_ + ".ptx"));
    Module* module = device_.load(file, sources_, diags_);
    if (module == nullptr) return;
    kernel_ = module->kernel(name == "matmul" ? "matmul_tiled" : name_);
    if (kernel_ == nullptr) return;
    ParamPacker args(*kernel_);
    bool fits = true;
    auto number = [&](int32_t v) { fits = args.add(v) && fits; };
    auto halves = [&](size_t count) {
      Allocation* a = device_.memory().allocate(count * 2, 256, "buffer");
      auto* values = reinterpret_cast<uint16_t*>(a->host);
      // From 1 to 8, and their negatives.
      for (size_t i = 0; i < count; ++i) {
        values[i] = static_cast<uint16_t>((i & 1) << 15 | (0x3c00 + i * 37 % 0xc00));
      }
      a->initialised = true;
      fits = args.add(a->begin) && fits;
    };
    auto memory = [&](size_t count, bool input) {
      Allocation* a = device_.memory().allocate(count * 4, 256, "buffer");
      if (input) {
        auto* values = reinterpret_cast<float*>(a->host);
        for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 251) * 0.25f;
        a->initialised = true;
      }
      fits = args.add(a->begin) && fits;
    };
    bool matmul = name == "matmul", softmax = name == "softmax", mma = name == "mma_gemm";
    uint32_t n = size != 0 ? size : matmul || mma ? 512 : softmax ? 1024 : 4096;
    auto rows = static_cast<int32_t>(n);
    if (matmul) {
      for (bool input : {true, true, false}) memory(size_t{n} * n, input);
      for (int i = 0; i < 6; ++i) number(rows);
      config_.grid = {(n + 15) / 16, (n + 15) / 16, 1};
      config_.block = {16, 16, 1};
    } else if (mma) {
      n = std::max(64u, n / 64 * 64);
      halves(size_t{n} * n);
      halves(size_t{n} * n);
      memory(size_t{n} * n, false);
      fits = args.add(n) && fits;
      config_.grid = {n / 64, n / 64, 1};
      config_.block = {128, 1, 1};
      operations_ = 2.0 * n * n * n;
    } else if (softmax) {
      for (bool input : {true, false}) memory(size_t{n} * 1000, input);
      for (int i = 0; i < 3; ++i) number(1000);
      config_.grid = {n, 1, 1};
      config_.block = {256, 1, 1};
    } else {
      for (bool input : {true, true, false}) memory(size_t{n} * 256, input);
      number(rows * 256);
      config_.grid = {n, 1, 1};
      config_.block = {256, 1, 1};
    }
    config_.params = args.take();
    if (!fits) kernel_ = nullptr;
  }

  bool run(const Setting& s, LaunchStats& stats) {
    if (kernel_ == nullptr) return false;
    config_.checks = s.checks;
    config_.threads = s.threads;
    LaunchResult r = device_.launch(*kernel_, config_, diags_);
    stats = r.stats;
    return r.status == LaunchStatus::ok;
  }
  std::string errors() const { return renderHuman(diags_, sources_); }
  // Floating-point operations of tensor instructions; 0: none.
  double operations() const { return operations_; }

 private:
  double operations_ = 0;
  std::string name_;
  SourceManager sources_;
  DiagnosticEngine diags_;
  Device device_;
  const Kernel* kernel_ = nullptr;
  LaunchConfig config_;
};

// Peak resident memory in MB of a process that loads and runs the kernel once; -1: it failed.
double peakMegabytes(const std::string& folder, std::string_view name, uint32_t size,
                     const Setting& s) {
  std::fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    Case c(folder, name, size);
    LaunchStats stats;
    _exit(c.run(s, stats) ? 0 : 1);
  }
  int status = 0;
  rusage usage{};
  if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0) return -1;
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

int run(int argc, char** argv) {
  std::string folder = std::string(argv[0]) + ".runfiles/mtlc/benchmarks";
  std::string_view only;
  std::string_view setting;
  int repeat = 5;
  uint32_t size = 0;
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    std::string_view a = argv[i];
    if (a.starts_with("--repeat=")) {
      repeat = std::max(1, std::atoi(argv[i] + 9));
    } else if (a.starts_with("--size=")) {
      size = static_cast<uint32_t>(std::clamp(std::atoi(argv[i] + 7), 0, 4096));
    } else if (a.starts_with("--only=")) {
      only = a.substr(7);
    } else if (a.starts_with("--setting=")) {
      setting = a.substr(10);
    } else if (a.starts_with("--ptx=")) {
      folder = a.substr(6);
    } else if (a == "--json") {
      json = true;
    } else {
      std::fprintf(stderr,
                   "usage: simulator [--repeat=N] [--only=matmul|mma_gemm|softmax|vadd] [--size=S] "
                   "[--setting=NAME] [--ptx=FOLDER] [--json]\n");
      return 2;
    }
  }
  if (json) std::printf("[");
  const char* separator = "";
  for (std::string_view name : {"matmul", "mma_gemm", "softmax", "vadd"}) {
    if (!only.empty() && only != name) continue;
    double peak[2] = {};
    if (setting.empty()) {
      peak[0] = peakMegabytes(folder, name, size, kSettings[0]);
      peak[1] = peakMegabytes(folder, name, size, kSettings[5]);
    }
    Case c(folder, name, size);
    double best[std::size(kSettings)] = {};
    LaunchStats stats;
    for (int r = 0; r < repeat; ++r) {
      for (size_t i = 0; i < std::size(kSettings); ++i) {
        if (!setting.empty() && setting != kSettings[i].name) continue;
        if (!c.run(kSettings[i], stats)) {
          std::fprintf(stderr, "%s fails with %s:\n%s", name.data(), kSettings[i].name,
                       c.errors().c_str());
          return 1;
        }
        if (best[i] == 0 || stats.seconds < best[i]) best[i] = stats.seconds;
      }
    }
    double lanes = static_cast<double>(stats.laneInstructions);
    if (!json) {
      std::printf("%s: %.1f M lane instructions", name.data(), lanes / 1e6);
      if (setting.empty()) std::printf(", peak %.0f MB off, %.0f MB all", peak[0], peak[1]);
      std::printf("\n");
    }
    for (size_t i = 0; i < std::size(kSettings); ++i) {
      if (best[i] == 0) continue;
      if (json) {
        std::printf("%s{\"kernel\": \"%s\", \"setting\": \"%s\", \"seconds\": %.6f}", separator,
                    name.data(), kSettings[i].name, best[i]);
        separator = ",\n ";
      } else {
        std::printf("  %-5s %8.2f ms %8.1f M/s", kSettings[i].name, best[i] * 1e3,
                    lanes / best[i] / 1e6);
        if (best[0] != 0) std::printf("   time / off %5.2f", best[i] / best[0]);
        if (c.operations() != 0) std::printf("   %6.2f GFLOP/s", c.operations() / best[i] / 1e9);
        std::printf("\n");
      }
    }
  }
  if (json) std::printf("]\n");
  return 0;
}

}  // namespace
}  // namespace mtlc::sim

int main(int argc, char** argv) { return mtlc::sim::run(argc, argv); }
