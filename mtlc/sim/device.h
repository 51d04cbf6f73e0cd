// The library face of the simulator: a device with memory, modules loaded into it, kernels launched
// on it.
//
//   Device device;
//   DiagnosticEngine diags; SourceManager sources;
//   Module* module = device.load(sources.add("k.ptx", text), sources, diags);      // nullptr: see
//   diags const Kernel* kernel = module->kernel("vadd"); Allocation* a =
//   device.memory().allocate(bytes, 256, "a");                      // a->host, a->begin
//   LaunchConfig config; config.grid = {8, 1, 1}; config.block = {128, 1, 1};
//   config.params = …;                                   // raw bytes; ParamPacker lays arguments
//   out LaunchResult result = device.launch(*kernel, config, diags);
//
// A launch is synchronous. One launch at a time per device; several devices may run at once.
// Nothing here throws, and no input text, launch configuration or program makes the process crash:
// faults of the simulated program are results.

#ifndef MTLC_SIM_DEVICE_H_
#define MTLC_SIM_DEVICE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mtlc/sim/memory.h"
#include "mtlc/sim/program.h"
#include "mtlc/support/diagnostics.h"
#include "mtlc/support/source.h"

namespace mtlc::sim {

class Device;
class Module;
class Observer;

// Limits of the simulated device; the defaults are those of current hardware (CUDA C++ Programming
// Guide, "Compute Capabilities").
struct DeviceLimits {
  uint64_t memoryBytes = uint64_t{8} << 30;
  uint32_t maxThreadsPerBlock = 1024;
  std::array<uint32_t, 3> maxBlock{1024, 1024, 64};
  std::array<uint32_t, 3> maxGrid{2147483647u, 65535u, 65535u};
  uint32_t staticSharedBytes = 48u << 10;
  uint32_t sharedBytes = 227u << 10;  // Static and dynamic together.
  uint32_t maxParamBytes = 32764;
  uint32_t stackBytes = 64u << 10;  // Local memory of a thread of recursive programs.
  uint32_t multiprocessors = 16;
  // Of the host, for tests: only code that every host machine runs.
  bool portableLanes = false;
};

struct Kernel {
  std::string name;
  std::vector<ParamInfo> params;
  uint32_t paramBytes = 0;
  uint32_t staticShared = 0;
  uint32_t dynamicSharedOffset = 0;  // Where memory sized at launch begins in shared memory.
  uint32_t localBytes = 0;
  uint32_t registers = 0;  // Simulated registers; no prediction of hardware.
  std::array<uint32_t, 3> maxThreads{};
  std::array<uint32_t, 3> requiredThreads{};
  const Module* module = nullptr;
};

// A variable of a module, in device memory.
struct GlobalVariable {
  std::string name;
  uint64_t address = 0;
  uint64_t bytes = 0;
  bool constant = false;
};

// PTX or SPIR-V loaded into a device. Variables live as long as the module.
class Module {
 public:
  virtual ~Module() = default;
  virtual const Kernel* kernel(std::string_view name) const = 0;
  virtual std::vector<const Kernel*> kernels() const = 0;
  virtual const GlobalVariable* global(std::string_view name) const = 0;
  virtual std::vector<const GlobalVariable*> globals() const = 0;
  // The program as the simulator runs it; decoded on first use. Never null for a kernel of this
  // module.
  virtual const Program& program(const Kernel& kernel) const = 0;
  virtual const SourceManager& sources() const = 0;
};

enum class Checks : uint32_t {
  none = 0,
  mem = 1,
  init = 2,
  race = 4,
  sync = 8,
  async = 16,
  all = 31
};
constexpr Checks operator|(Checks a, Checks b) {
  return static_cast<Checks>(static_cast<uint32_t>(a) | static_cast<uint32_t>(b));
}
constexpr bool has(Checks set, Checks one) {
  return (static_cast<uint32_t>(set) & static_cast<uint32_t>(one)) != 0;
}

struct LaunchConfig {
  std::array<uint32_t, 3> grid{1, 1, 1};
  std::array<uint32_t, 3> block{1, 1, 1};
  uint32_t dynamicShared = 0;
  // Threads of a subgroup, for SPIR-V: 8, 16, 32 or 64. Warps have 32 lanes whatever it is.
  uint32_t subgroupSize = 32;
  std::vector<uint8_t> params;  // kernel.paramBytes bytes, each parameter at its offset.

  Checks checks = Checks::none;
  std::vector<Observer*> observers;  // Besides the checkers.
  // Memory that the host reads afterwards: the init checker reports values stored there that have
  // no defined bits.
  std::vector<Allocation*> readBack;
  bool countRows = false;  // Fill LaunchStats::byRow.
  // Host threads; 0: as many as the machine has. A program whose result may depend on the order of
  // its blocks (an atomic with a result, a floating-point reduction) runs on one unless `anyOrder`.
  unsigned threads = 1;
  bool anyOrder = false;
  uint64_t seed = 0;        // Not 0: warps, groups and atomics are scheduled at random, repeatably.
  bool weakMemory = false;  // Loads and stores may be delayed as the memory model allows; needs a
                            // seed to be useful.
  uint64_t maxSteps = uint64_t{1} << 40;  // Instructions of one thread.
  double maxSeconds = 0;                  // 0: no limit.
  // Text that the kernel prints; nullptr: dropped.
  std::function<void(std::string_view)> print;
  // One thread whose every instruction is reported to `traceLine`.
  bool trace = false;  // See trace.h for the lines; uses one host thread.
  std::array<uint32_t, 3> traceBlock{};
  std::array<uint32_t, 3> traceThread{};
  std::function<void(std::string_view)> traceLine;
};

enum class LaunchStatus : uint8_t {
  ok,
  invalidConfig,  // A limit of the device or of the kernel; nothing ran.
  faulted,        // An access that hardware would fault, or a checker's report.
  trapped,        // trap or a failed assertion.
  deadlock,
  stepLimit,
  timeLimit,
  outOfMemory,  // The host could not give the memory of a block.
};

struct LaunchStats {
  uint64_t instructions = 0;      // Executed by warps.
  uint64_t laneInstructions = 0;  // Instructions times active lanes.
  double seconds = 0;
  std::vector<uint64_t>
      byRow;  // With `countRows`: warp instructions per row of the instruction table.
};

enum class ReportKind : uint8_t { mem, init, race, sync, async, steps, trap };
std::string_view reportName(ReportKind kind);

// A place in a running kernel.
struct Place {
  std::string kernel;
  std::string function;
  SourceLoc ptx;
  std::string sourceFile;  // From .loc; empty where there is none.
  uint32_t sourceLine = 0;
  uint32_t sourceColumn = 0;
  std::array<uint32_t, 3> block{};
  std::array<uint32_t, 3> thread{};
};

// One distinct fault: the first occurrence of a kind at an instruction (for a race: a pair of
// instructions).
struct Report {
  ReportKind kind = ReportKind::mem;
  DiagId id;
  std::string message;
  Place at;
  uint64_t address = 0;
  Space space = Space::generic;
  uint32_t bytes = 0;
  bool hasOther = false;
  Place other;  // A race: the earlier access.
  // Of several reads by several threads; `other` is that of the thread itself.
  bool otherIsOneOfMany = false;
  std::vector<Place> waiting;  // A deadlock: where each warp stands.
  uint64_t occurrences = 1;
};

struct LaunchResult {
  LaunchStatus status = LaunchStatus::ok;
  std::string message;  // Of a refused configuration.
  std::vector<Report> reports;
  LaunchStats stats;
};

class Device {
 public:
  explicit Device(DeviceLimits limits = {});
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Parses and decodes the PTX text `file` and places its variables. nullptr when `diags` got an
  // error. `sources` must outlive the module. The device owns the module.
  Module* load(FileId file, const SourceManager& sources, DiagnosticEngine& diags);
  // The same for a SPIR-V module. `listing` is the text that reports are located in: a file with
  // what spirvListing made of the words.
  Module* loadSpirv(std::span<const uint32_t> words, FileId listing, const SourceManager& sources,
                    DiagnosticEngine& diags);
  void unload(Module* module);

  DeviceMemory& memory() { return memory_; }
  const DeviceLimits& limits() const { return limits_; }

  // Checks the configuration, runs the kernel to its end, and reports each fault both in the result
  // and, located in the PTX text, to `diags`.
  LaunchResult launch(const Kernel& kernel, const LaunchConfig& config, DiagnosticEngine& diags);

 private:
  DeviceLimits limits_;
  DeviceMemory memory_;
  std::vector<std::unique_ptr<Module>> modules_;
};

// SPIR-V as text, one line an instruction; empty when the words are no SPIR-V.
std::string spirvListing(std::span<const uint32_t> words);

// Lays out kernel arguments in order, as the parameters of `kernel` want them.
class ParamPacker {
 public:
  explicit ParamPacker(const Kernel& kernel) : kernel_(kernel), bytes_(kernel.paramBytes) {}
  // False when there are no more parameters or `value` has another size than the next one.
  bool add(std::span<const uint8_t> value);
  template <typename T>
  bool add(const T& value) {
    return add(std::span(reinterpret_cast<const uint8_t*>(&value), sizeof value));
  }
  // Memory for a pointer to shared memory; it adds to sharedBytes().
  bool addShared(uint64_t bytes);
  // What LaunchConfig::dynamicShared has to be at least.
  uint32_t sharedBytes() const { return shared_; }
  bool complete() const { return next_ == kernel_.params.size(); }
  std::vector<uint8_t> take() { return std::move(bytes_); }

 private:
  const Kernel& kernel_;
  std::vector<uint8_t> bytes_;
  size_t next_ = 0;
  uint32_t shared_ = 0;
};

}  // namespace mtlc::sim

#endif  // MTLC_SIM_DEVICE_H_
