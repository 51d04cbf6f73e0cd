#include "test/random/run_on_simulator.h"

#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "mtlc/codegen/ptx/ptx.h"
#include "mtlc/codegen/spirv/spirv.h"
#include "mtlc/sim/device.h"

namespace mtlc::random_test {

namespace {

KernelOutput failed(std::string_view what, const DiagnosticEngine& diags,
                    const SourceManager& sources) {
  KernelOutput output;
  output.problem = absl::StrCat(std::string(what), "\n", renderHuman(diags, sources));
  return output;
}

KernelOutput launch(sim::Device& device, sim::Module* loaded, uint32_t subgroupSize,
                    const KernelInput& input, DiagnosticEngine& diags,
                    const SourceManager& sources) {
  auto fail = [&](std::string_view what) { return failed(what, diags, sources); };
  if (!loaded) return fail("not loaded");
  const sim::Kernel* kernel = loaded->kernel(input.kernel);
  if (!kernel) return fail("kernel not found");
  sim::Allocation* in = device.memory().allocate(input.input.size(), 256, "in");
  sim::Allocation* out = device.memory().allocate(input.outputBytes, 256, "out");
  if (!in || !out) return fail("no memory");
  std::memcpy(in->host, input.input.data(), input.input.size());
  in->initialised = true;
  std::memset(out->host, 0xCD, input.outputBytes);

  std::vector<uint64_t> values = {in->begin, out->begin};
  values.insert(values.end(), input.scalars.begin(), input.scalars.end());
  if (values.size() != kernel->params.size()) return fail("another number of parameters");
  sim::ParamPacker packer(*kernel);
  for (size_t i = 0; i < values.size(); ++i) {
    // Little-endian: the low bytes of the bits.
    const auto* bytes = reinterpret_cast<const uint8_t*>(&values[i]);
    if (!packer.add(std::span(bytes, kernel->params[i].bytes))) return fail("parameter sizes");
  }
  sim::LaunchConfig config;
  config.grid = {input.grid, 1, 1};
  config.block = {input.block, 1, 1};
  config.params = packer.take();
  config.checks = sim::Checks::mem | sim::Checks::race | sim::Checks::sync;
  config.maxSteps = 4'000'000;
  config.subgroupSize = subgroupSize;
  const sim::LaunchResult result = device.launch(*kernel, config, diags);
  if (result.status != sim::LaunchStatus::ok) {
    return fail(absl::StrCat("launch failed: ", result.message));
  }
  KernelOutput output;
  output.instructions = result.stats.laneInstructions;
  output.bytes.assign(out->host, out->host + input.outputBytes);
  return output;
}

}  // namespace

KernelOutput runPtx(ir::Module& module, std::string_view arch, const KernelInput& input,
                    std::string& text) {
  SourceManager sources;
  DiagnosticEngine diags;
  const std::optional<PtxProfile> profile = PtxProfile::resolve(arch, std::nullopt, diags);
  if (!profile) return failed("no such profile", diags, sources);
  std::optional<std::string> ptx = emitPtx(module, {.profile = *profile}, diags);
  if (!ptx) return failed("not emitted", diags, sources);
  text = *ptx;
  sim::Device device;
  sim::Module* loaded = device.load(sources.add("random.ptx", text), sources, diags);
  return launch(device, loaded, 32, input, diags, sources);
}

KernelOutput runSpirv(ir::Module& module, uint32_t subgroupSize, const KernelInput& input,
                      std::string& text) {
  SourceManager sources;
  DiagnosticEngine diags;
  const std::optional<std::vector<uint32_t>> words =
      emitSpirv(module, {.profile = findSpirvProfile("spirv-opencl2.0")}, diags);
  if (!words) return failed("not emitted", diags, sources);
  text = sim::spirvListing(*words);
  sim::Device device;
  sim::Module* loaded =
      device.loadSpirv(*words, sources.add("random.spvasm", text), sources, diags);
  return launch(device, loaded, subgroupSize, input, diags, sources);
}

}  // namespace mtlc::random_test
