#include "mtlc/sim/testing/hostile.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

#include "mtlc/sim/device.h"
#include "mtlc/sim/tensor_map.h"

namespace mtlc::sim {
namespace {

constexpr size_t kMostKernels = 4;
constexpr uint32_t kLanesOfPtx = 32;

// SplitMix64.
uint64_t next(uint64_t& state) {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

LaunchConfig configFor(uint64_t& random, uint32_t subgroupSize) {
  static constexpr uint32_t kBlocks[] = {1, 5, 32, 33, 48, 64, 96};
  LaunchConfig c;
  c.block[0] = kBlocks[next(random) % std::size(kBlocks)];
  c.block[1] = 1 + next(random) % 4 / 3;
  c.grid[0] = 1 + static_cast<uint32_t>(next(random) % 3);
  c.dynamicShared = static_cast<uint32_t>(next(random) % 3) * 512;
  c.checks = static_cast<Checks>(next(random) % 2 == 0 ? 31 : next(random) % 32);
  c.seed = next(random) % 4 == 0 ? next(random) : 0;
  c.weakMemory = c.seed % 2 != 0;
  c.threads = 1 + next(random) % 2;
  c.maxSteps = 400;
  c.maxSeconds = 1;
  c.print = [](std::string_view) {};
  c.subgroupSize = subgroupSize;
  return c;
}

DeviceLimits tightLimits() {
  DeviceLimits limits;
  limits.memoryBytes = 64u << 20;
  limits.stackBytes = 4096;
  return limits;
}

// `load` gives the module.
template <typename Load>
HostileResult check(Load load, bool launch, uint64_t random, bool spirv = false) {
  HostileResult result;
  SourceManager sources;
  DiagnosticEngine diags;
  Device device(tightLimits());
  Module* module = load(device, sources, diags);
  if ((module == nullptr) != diags.hasErrors()) {
    result.broken = "loading fails exactly when there are errors";
    return result;
  }
  for (const Diagnostic& d : diags.all()) {
    if (!d.range.begin.valid()) result.broken = "errors are located: " + d.message;
  }
  renderHuman(diags, sources);
  if (module == nullptr || !result.broken.empty()) return result;
  result.loaded = true;
  std::vector<const Kernel*> kernels = module->kernels();
  for (const Kernel* kernel : kernels) module->program(*kernel);
  if (!launch) return result;
  if (kernels.size() > kMostKernels) kernels.resize(kMostKernels);
  for (const Kernel* kernel : kernels) {
    LaunchConfig config = configFor(random, spirv ? 8u << next(random) % 4 : kLanesOfPtx);
    std::vector<Allocation*> buffers;
    config.params.resize(kernel->paramBytes);
    for (const ParamInfo& param : kernel->params) {
      uint64_t value = next(random) % 70;
      if (param.bytes == 8 && next(random) % 8 != 0) {
        Allocation* a = device.memory().allocate(1024, 256, param.name);
        if (a == nullptr) return result;
        std::memset(a->host, static_cast<int>(value), a->size());
        a->initialised = next(random) % 4 != 0;
        if (next(random) % 2 == 0) config.readBack.push_back(a);
        buffers.push_back(a);
        value = a->begin;
      }
      if (param.bytes == kTensorMapBytes && next(random) % 8 != 0) {
        // Four rows of 64 bytes, of which there are as many as a buffer holds, or twice as many.
        Allocation* a = device.memory().allocate(1024, 256, param.name);
        if (a == nullptr) return result;
        a->initialised = true;
        buffers.push_back(a);
        TensorMap map;
        map.type = static_cast<TensorType>(next(random) % 10);
        map.rank = 2;
        map.address = a->begin;
        map.dims = {64 / tensorTypeBytes(map.type), 16 + next(random) % 2 * 16, 1, 1, 1};
        map.strides[1] = 64;
        map.box = {static_cast<uint32_t>(map.dims[0]), 4, 1, 1, 1};
        map.swizzle = static_cast<TensorSwizzle>(next(random) % 4);
        encodeTensorMap(map, config.params.data() + param.offset);
        continue;
      }
      std::memcpy(config.params.data() + param.offset, &value, std::min<size_t>(param.bytes, 8));
    }
    DiagnosticEngine faults;
    LaunchResult r = device.launch(*kernel, config, faults);
    ++result.launches;
    if ((r.status == LaunchStatus::ok) != (r.reports.empty() && !faults.hasErrors())) {
      result.broken = "a launch is ok exactly when there is no report";
    }
    if (r.status == LaunchStatus::invalidConfig && r.message.empty()) {
      result.broken = "a refused launch says why";
    }
    for (const Report& report : r.reports) {
      if (!report.at.ptx.valid()) result.broken = "reports are located: " + report.message;
    }
    renderHuman(faults, sources);
    for (Allocation* a : buffers) device.memory().free(a->begin);
  }
  return result;
}

}  // namespace

namespace {

auto ptxLoader(std::string_view ptx) {
  return [ptx](Device& device, SourceManager& sources, DiagnosticEngine& diags) {
    return device.load(sources.add("hostile.ptx", std::string(ptx)), sources, diags);
  };
}

}  // namespace

HostileResult loadHostile(std::string_view ptx) { return check(ptxLoader(ptx), false, 0); }
HostileResult launchHostile(std::string_view ptx, uint64_t seed) {
  return check(ptxLoader(ptx), true, seed);
}

HostileResult launchHostileSpirv(std::span<const uint32_t> words, uint64_t seed) {
  auto load = [words](Device& device, SourceManager& sources, DiagnosticEngine& diags) {
    FileId listing = sources.add("hostile.spvasm", spirvListing(words));
    return device.loadSpirv(words, listing, sources, diags);
  };
  return check(load, true, seed, true);
}

std::vector<uint32_t> mutateSpirv(std::span<const uint32_t> words, uint64_t seed) {
  constexpr size_t kHeader = 5;
  std::vector<uint32_t> out(words.begin(), words.end());
  uint64_t random = seed;
  for (uint64_t edits = 1 + next(random) % 3; edits != 0; --edits) {
    std::vector<size_t> starts;
    for (size_t at = kHeader; at < out.size();) {
      size_t count = out[at] >> 16;
      if (count == 0 || count > out.size() - at) break;
      starts.push_back(at);
      at += count;
    }
    if (starts.empty()) return out;
    size_t at = starts[next(random) % starts.size()], count = out[at] >> 16;
    size_t other = starts[next(random) % starts.size()], otherCount = out[other] >> 16;
    size_t word = at + (count > 1 ? 1 + next(random) % (count - 1) : 0);
    static constexpr uint32_t kExtremes[] = {0,   1,     2,          16,         31,        64,
                                             255, 65535, 0x7fffffff, 0x80000000, 0xffffffff};
    auto position = [&](size_t i) { return out.begin() + static_cast<ptrdiff_t>(i); };
    switch (next(random) % 8) {
      case 0:
        if (count > 1 && otherCount > 1)
          out[word] = out[other + 1 + next(random) % (otherCount - 1)];
        break;
      case 1:
        if (count > 1) out[word] += next(random) % 2 == 0 ? 1 : ~0u;
        break;
      case 2:
        if (count > 1) out[word] = kExtremes[next(random) % std::size(kExtremes)];
        break;
      case 3:  // Another opcode, if it may have as many operands.
        if (count == otherCount) out[at] = out[other];
        break;
      case 4:  // Any opcode.
        out[at] = static_cast<uint32_t>(count << 16 | next(random) % 450);
        break;
      case 5: {  // The instruction, somewhere else too.
        std::vector<uint32_t> copy(position(at), position(at + count));
        out.insert(position(other), copy.begin(), copy.end());
        break;
      }
      case 6:
        out.erase(position(at), position(at + count));
        break;
      default:
        if (count > 1) out[word] ^= 1u << next(random) % 32;
        break;
    }
  }
  return out;
}

}  // namespace mtlc::sim
