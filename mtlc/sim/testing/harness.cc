#include "mtlc/sim/testing/harness.h"

namespace mtlc::sim {

Harness::Harness(std::string_view ptx, DeviceLimits limits) : device_(limits) {
  FileId file = sources_.add("test.ptx", std::string(ptx));
  module_ = device_.load(file, sources_, diags_);
}

std::string Harness::errors() const { return renderHuman(diags_, sources_); }

bool Harness::reported(DiagId id) const {
  for (const Diagnostic& d : diags_.all()) {
    if (d.id == id) return true;
  }
  return false;
}

LaunchResult Harness::launch(std::string_view kernel, std::array<uint32_t, 3> grid,
                             std::array<uint32_t, 3> block,
                             const std::vector<std::vector<uint8_t>>& args) {
  LaunchResult refused;
  refused.status = LaunchStatus::invalidConfig;
  if (module_ == nullptr) {
    refused.message = "the module did not load:\n" + errors();
    return refused;
  }
  const Kernel* k = module_->kernel(kernel);
  if (k == nullptr) {
    refused.message = "no such kernel";
    return refused;
  }
  ParamPacker packer(*k);
  for (const auto& a : args) {
    if (!packer.add(std::span<const uint8_t>(a))) {
      refused.message = "argument of another size than the parameter";
      return refused;
    }
  }
  if (!packer.complete()) {
    refused.message = "too few arguments";
    return refused;
  }
  LaunchConfig c = config;
  c.grid = grid;
  c.block = block;
  c.params = packer.take();
  return device_.launch(*k, c, diags_);
}

}  // namespace mtlc::sim
