#include "tools/mtlc-run/sim_device.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <limits>
#include <span>
#include <utility>

#include "absl/strings/str_format.h"
#include "mtlc/sim/device.h"
#include "mtlc/sim/isa/instructions.h"
#include "mtlc/sim/tensor_map.h"

namespace mtlc::run {
namespace {

std::array<uint32_t, 3> array3(const Dim3& d) { return {d.x, d.y, d.z}; }

sim::Checks simChecks(CheckMask mask) {
  sim::Checks checks = sim::Checks::none;
  if (mask & checkBit(FaultKind::Mem)) checks = checks | sim::Checks::mem;
  if (mask & checkBit(FaultKind::Init)) checks = checks | sim::Checks::init;
  if (mask & checkBit(FaultKind::Race)) checks = checks | sim::Checks::race;
  if (mask & checkBit(FaultKind::Sync)) checks = checks | sim::Checks::sync;
  if (mask & checkBit(FaultKind::Async)) checks = checks | sim::Checks::async;
  return checks;
}

absl::StatusOr<std::vector<uint8_t>> encodeTensorMap(const TensorMapSpec& spec, uint64_t address) {
  // In the order of sim::TensorType.
  constexpr std::string_view kTypes[] = {"u8",  "u16", "u32",  "s32",     "u64",  "s64",     "f16",
                                         "f32", "f64", "bf16", "f32_ftz", "tf32", "tf32_ftz"};
  auto type = std::find(std::begin(kTypes), std::end(kTypes), spec.type);
  if (type == std::end(kTypes)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("'%s' is no element type of a tensor map", spec.type));
  }
  if (spec.dims.size() > sim::kMaxTensorRank) {
    return absl::InvalidArgumentError("a tensor map has 1 to 5 dimensions");
  }
  sim::TensorMap map;
  map.type = static_cast<sim::TensorType>(type - std::begin(kTypes));
  map.rank = static_cast<unsigned>(spec.dims.size());
  map.address = address;
  auto narrow = [](uint64_t v) { return static_cast<uint32_t>(std::min<uint64_t>(v, UINT32_MAX)); };
  for (size_t i = 0; i < spec.dims.size(); ++i) {
    map.dims[i] = spec.dims[i];
    map.strides[i] = i == 0 ? 0 : spec.strides[i - 1];
    map.box[i] = narrow(spec.box[i]);
    map.elementStrides[i] = spec.elementStrides.empty() ? 1 : narrow(spec.elementStrides[i]);
  }
  map.swizzle = spec.swizzle == 32    ? sim::TensorSwizzle::bytes32
                : spec.swizzle == 64  ? sim::TensorSwizzle::bytes64
                : spec.swizzle == 128 ? sim::TensorSwizzle::bytes128
                                      : sim::TensorSwizzle::none;
  map.nanFill = spec.nanFill;
  std::vector<uint8_t> bytes(sim::kTensorMapBytes);
  std::string problem = sim::encodeTensorMap(map, bytes.data());
  if (!problem.empty()) return absl::InvalidArgumentError("the tensor map: " + problem);
  return bytes;
}

// The registered file `name` with a text, or 0.
FileId findSource(const SourceManager& sources, std::string_view name) {
  for (FileId file = 1; file <= sources.fileCount(); ++file) {
    if (sources.hasText(file) && sources.name(file) == name) return file;
  }
  return 0;
}

std::string placeText(const sim::Place& place) {
  auto triple = [](const std::array<uint32_t, 3>& a) { return toString({a[0], a[1], a[2]}); };
  std::string text = absl::StrFormat("kernel '%s', block %s, thread %s", place.kernel,
                                     triple(place.block), triple(place.thread));
  if (place.function != place.kernel) {
    absl::StrAppendFormat(&text, ", in function '%s'", place.function);
  }
  return text;
}

// Faults located in the source that the code came from where that is at hand, else in the code,
// which the first note names.
class Reporter {
 public:
  Reporter(const SourceManager& sources, bool isPtx, DiagnosticEngine& diags)
      : sources_(sources), isPtx_(isPtx), diags_(diags) {}

  void report(const sim::Report& r) {
    Diagnostic& d = diags_.report(r.id, rangeOf(r.at));
    d.message = r.message + "; " + placeText(r.at);
    notePtx(d, r.at);
    if (r.hasOther) {
      d.note(rangeOf(r.other), "the other access: " + placeText(r.other));
      notePtx(d, r.other);
    }
    for (size_t i = 0; i < r.waiting.size() && i < kMostPlaces; ++i) {
      d.note(rangeOf(r.waiting[i]), "waiting here: " + placeText(r.waiting[i]));
      notePtx(d, r.waiting[i]);
    }
  }

 private:
  static constexpr size_t kMostPlaces = 32;

  SourceRange rangeOf(const sim::Place& place) {
    FileId file = place.sourceFile.empty() ? 0 : findSource(sources_, place.sourceFile);
    if (file == 0) return SourceRange(place.ptx);
    return SourceRange(SourceLoc(file, place.sourceLine, std::max(place.sourceColumn, 1u)));
  }

  void notePtx(Diagnostic& d, const sim::Place& place) {
    if (place.sourceFile.empty()) return;
    std::string text = isPtx_ ? "in PTX here" : "in SPIR-V here";
    if (rangeOf(place).begin == place.ptx) {
      text =
          absl::StrFormat("from %s:%d:%d", place.sourceFile, place.sourceLine, place.sourceColumn);
    }
    d.note(SourceRange(place.ptx), std::move(text));
  }

  const SourceManager& sources_;
  bool isPtx_;
  DiagnosticEngine& diags_;
};

class SimDevice : public Device {
 public:
  explicit SimDevice(const SourceManager& sources) : sources_(sources) {}

  bool load(FileId file, DiagnosticEngine& diags) {
    module_ = device_.load(file, sources_, diags);
    return module_ != nullptr;
  }
  bool loadSpirv(const std::vector<uint32_t>& words, FileId listing, DiagnosticEngine& diags) {
    module_ = device_.loadSpirv(words, listing, sources_, diags);
    isPtx_ = false;
    return module_ != nullptr;
  }

  std::vector<KernelSignature> signatures() const {
    std::vector<KernelSignature> found;
    for (const sim::Kernel* kernel : module_->kernels()) {
      KernelSignature& signature = found.emplace_back();
      signature.name = kernel->name;
      for (size_t i = 0; i < kernel->params.size(); ++i) {
        const sim::ParamInfo& param = kernel->params[i];
        if (param.space == sim::Space::shared) {
          signature.parameters.push_back({Parameter::Kind::Workgroup, param.bytes, param.name,
                                          "pointer to workgroup memory", std::nullopt});
          // The launch-sized arena of this project's modules: --shared.
          signature.parameters.back().isArena = i + 1 == kernel->params.size();
          continue;
        }
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
    std::vector<sim::Allocation*> readBack;
    for (size_t i = 0; i < allocations.size(); ++i) {
      if (request.buffers[i].readBack != 0) readBack.push_back(allocations[i]);
    }
    sim::LaunchConfig config;
    config.grid = array3(request.grid);
    config.block = array3(request.block);
    config.dynamicShared = static_cast<uint32_t>(
        std::min<uint64_t>(request.sharedBytes, std::numeric_limits<uint32_t>::max()));
    config.subgroupSize = request.subgroupSize;
    config.checks = simChecks(request.checks);
    config.threads = request.threads;
    config.seed = request.seed;
    config.weakMemory = request.weakMemory;
    config.maxSteps = request.maxSteps;
    config.maxSeconds = request.maxSeconds;
    config.readBack = readBack;
    config.countRows = request.countClasses;
    config.print = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); };
    if (request.trace) {
      config.trace = true;
      config.traceBlock = array3(request.trace->first);
      config.traceThread = array3(request.trace->second);
      config.traceLine = request.traceLine;
    }
    sim::ParamPacker packer(*kernel);
    for (const Argument& argument : request.arguments) {
      if (argument.tensorMap) {
        auto map = encodeTensorMap(*argument.tensorMap, allocations[argument.buffer]->begin);
        if (!map.ok()) return map.status();
        bool fits = false;
        if (argument.isPointer) {
          sim::Allocation* a =
              device_.memory().allocate(map->size(), 256, "a tensor map of an argument");
          if (!a)
            return absl::ResourceExhaustedError("the buffers do not fit the simulated device");
          std::memcpy(a->host, map->data(), map->size());
          a->initialised = true;
          fits = packer.add(a->begin);
        } else {
          fits = packer.add(std::span<const uint8_t>(*map));
        }
        if (!fits) return absl::InvalidArgumentError("an argument has not its parameter's size");
        continue;
      }
      bool fits = argument.isBuffer         ? packer.add(allocations[argument.buffer]->begin)
                  : argument.workgroupBytes ? packer.addShared(*argument.workgroupBytes)
                                            : packer.add(std::span(argument.bytes));
      if (!fits) return absl::InvalidArgumentError("an argument has not its parameter's size");
    }
    // What the caller does not know of: the launch-sized arena, the last parameter of SPIR-V.
    if (!packer.complete()) packer.addShared(request.sharedBytes);
    if (!packer.complete()) return absl::InvalidArgumentError("arguments are missing");
    if (!isPtx_) config.dynamicShared = packer.sharedBytes();
    config.params = packer.take();

    DiagnosticEngine located;  // In the PTX; of these, what is no report of a fault is kept.
    sim::LaunchResult result = device_.launch(*kernel, config, located);
    if (result.status == sim::LaunchStatus::invalidConfig) {
      return absl::InvalidArgumentError(result.message);
    }
    if (result.status == sim::LaunchStatus::outOfMemory) {
      return absl::ResourceExhaustedError(result.message);
    }
    if (result.status == sim::LaunchStatus::timeLimit) {
      diags.report(DiagId::SimTimeLimit, located.all().front().range, {kernel->name});
    }
    Reporter reporter(sources_, isPtx_, diags);
    for (const sim::Report& r : result.reports) {
      if (r.id != DiagId::SimUninitReadBack || isLookedAt(r, request, allocations)) {
        reporter.report(r);
      }
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
    countClasses(result.stats, &statistics);
    return statistics;
  }

 private:
  // Uninitialised bits lie in the part of the buffer that is looked at after the run.
  static bool isLookedAt(const sim::Report& report, const Request& request,
                         const std::vector<sim::Allocation*>& allocations) {
    for (size_t i = 0; i < allocations.size(); ++i) {
      const sim::Allocation& a = *allocations[i];
      if (!a.contains(report.address, 1) || a.undefined == nullptr) continue;
      const uint64_t begin = report.address - a.begin;
      const uint64_t end = std::min(begin + report.bytes, request.buffers[i].readBack);
      for (uint64_t at = begin; at < end; ++at) {
        if (a.undefined[at] != 0) return true;
      }
    }
    return false;
  }

  // Instructions of warps by kind of family.
  static void countClasses(const sim::LaunchStats& stats, Statistics* statistics) {
    if (stats.byRow.empty()) return;
    constexpr const char* kNames[] = {"arithmetic", "memory", "collective", "control"};
    uint64_t counts[std::size(kNames)] = {};
    for (const sim::InstrRow& row : sim::instructionTable()) {
      sim::FamilyKind kind = sim::familyKind(row.family);
      if (row.family == sim::Family::mov) kind = sim::FamilyKind::lane;
      counts[static_cast<size_t>(kind)] += stats.byRow[row.index];
    }
    for (size_t i = 0; i < std::size(kNames); ++i) {
      statistics->classes.emplace_back(kNames[i], counts[i]);
    }
  }

  const SourceManager& sources_;
  sim::Device device_;
  sim::Module* module_ = nullptr;  // The device owns it.
  bool isPtx_ = true;
};

}  // namespace

std::unique_ptr<Device> makeSimDevice(const SourceManager& sources, FileId file,
                                      DiagnosticEngine& diags,
                                      std::vector<KernelSignature>* kernels) {
  auto device = std::make_unique<SimDevice>(sources);
  if (!device->load(file, diags)) return nullptr;
  if (kernels) *kernels = device->signatures();
  return device;
}

std::unique_ptr<Device> makeSpirvSimDevice(SourceManager& sources, std::string name,
                                           const std::vector<uint32_t>& words,
                                           DiagnosticEngine& diags,
                                           std::vector<KernelSignature>* kernels) {
  auto device = std::make_unique<SimDevice>(sources);
  FileId listing = sources.add(std::move(name), sim::spirvListing(words));
  if (!device->loadSpirv(words, listing, diags)) return nullptr;
  if (kernels) *kernels = device->signatures();
  return device;
}

}  // namespace mtlc::run
