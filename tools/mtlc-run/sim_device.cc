#include "tools/mtlc-run/sim_device.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "absl/strings/str_format.h"
#include "mtlc/sim/device.h"

namespace mtlc::run {
namespace {

std::array<uint32_t, 3> array3(const Dim3& d) { return {d.x, d.y, d.z}; }

sim::Checks simChecks(CheckMask mask) {
  sim::Checks checks = sim::Checks::none;
  if (mask & checkBit(FaultKind::Mem)) checks = checks | sim::Checks::mem;
  if (mask & checkBit(FaultKind::Init)) checks = checks | sim::Checks::init;
  if (mask & checkBit(FaultKind::Race)) checks = checks | sim::Checks::race;
  if (mask & checkBit(FaultKind::Sync)) checks = checks | sim::Checks::sync;
  return checks;
}

class SimDevice : public Device {
 public:
  bool load(const SourceManager& sources, FileId file, DiagnosticEngine& diags) {
    module_ = device_.load(file, sources, diags);
    return module_ != nullptr;
  }

  std::vector<KernelSignature> signatures() const {
    std::vector<KernelSignature> found;
    for (const sim::Kernel* kernel : module_->kernels()) {
      KernelSignature& signature = found.emplace_back();
      signature.name = kernel->name;
      for (const sim::ParamInfo& param : kernel->params) {
        signature.parameters.push_back({Parameter::Kind::Bytes, param.bytes, param.name,
                                        absl::StrFormat("%d bytes", param.bytes), std::nullopt});
      }
    }
    return found;
  }

  absl::StatusOr<Statistics> run(Request& request, DiagnosticEngine& diags) override {
    const sim::Kernel* kernel = module_->kernel(request.kernel);
    if (!kernel) {
      return absl::NotFoundError(absl::StrFormat("there is no kernel '%s'", request.kernel));
    }
    if (request.grid.count() == 0) return Statistics{};
    std::vector<sim::Allocation*> allocations;
    for (const Buffer& buffer : request.buffers) {
      sim::Allocation* a = device_.memory().allocate(buffer.bytes.size(), 256, buffer.name);
      if (!a) return absl::ResourceExhaustedError("the buffers do not fit the simulated device");
      if (!buffer.bytes.empty()) std::memcpy(a->host, buffer.bytes.data(), buffer.bytes.size());
      a->initialised = buffer.initialised;
      allocations.push_back(a);
    }
    sim::LaunchConfig config;
    config.grid = array3(request.grid);
    config.block = array3(request.block);
    config.dynamicShared = static_cast<uint32_t>(
        std::min<uint64_t>(request.sharedBytes, std::numeric_limits<uint32_t>::max()));
    config.checks = simChecks(request.checks);
    config.threads = request.threads;
    config.seed = request.seed;
    config.maxSteps = request.maxSteps;
    config.print = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); };
    if (request.trace) {
      config.trace = true;
      config.traceBlock = array3(request.trace->first);
      config.traceThread = array3(request.trace->second);
      config.traceLine = request.traceLine;
    }
    sim::ParamPacker packer(*kernel);
    for (const Argument& argument : request.arguments) {
      bool fits = argument.isBuffer ? packer.add(allocations[argument.buffer]->begin)
                                    : packer.add(std::span(argument.bytes));
      if (!fits) return absl::InvalidArgumentError("an argument has not its parameter's size");
    }
    if (!packer.complete()) return absl::InvalidArgumentError("arguments are missing");
    config.params = packer.take();

    sim::LaunchResult result = device_.launch(*kernel, config, diags);
    if (result.status == sim::LaunchStatus::invalidConfig) {
      return absl::InvalidArgumentError(result.message);
    }
    if (result.status == sim::LaunchStatus::outOfMemory) {
      return absl::ResourceExhaustedError(result.message);
    }
    for (size_t i = 0; i < allocations.size(); ++i) {
      std::vector<uint8_t>& bytes = request.buffers[i].bytes;
      if (!bytes.empty()) std::memcpy(bytes.data(), allocations[i]->host, bytes.size());
      device_.memory().free(allocations[i]->begin);
    }
    Statistics statistics;
    statistics.instructions = result.stats.instructions;
    statistics.laneInstructions = result.stats.laneInstructions;
    statistics.seconds = result.stats.seconds;
    return statistics;
  }

 private:
  sim::Device device_;
  sim::Module* module_ = nullptr;  // The device owns it.
};

}  // namespace

std::unique_ptr<Device> makeSimDevice(const SourceManager& sources, FileId file,
                                      DiagnosticEngine& diags,
                                      std::vector<KernelSignature>* kernels) {
  auto device = std::make_unique<SimDevice>();
  if (!device->load(sources, file, diags)) return nullptr;
  if (kernels) *kernels = device->signatures();
  return device;
}

}  // namespace mtlc::run
