// A module made from SPIR-V words. Internal to the simulator.

#ifndef MTLC_SIM_SPIRV_MODULE_H_
#define MTLC_SIM_SPIRV_MODULE_H_

#include <memory>
#include <span>
#include <vector>

#include "mtlc/sim/device.h"
#include "mtlc/sim/spirv/binary.h"
#include "mtlc/sim/spirv/decoder.h"

namespace mtlc::sim {

class SpirvModule : public Module {
 public:
  SpirvModule(const SourceManager& sources, DeviceMemory& memory, bool portableLanes)
      : sources_(sources), memory_(memory), portableLanes_(portableLanes) {}
  ~SpirvModule() override;
  bool load(std::span<const uint32_t> words, FileId listing, DiagnosticEngine& diags);

  const Kernel* kernel(std::string_view name) const override;
  std::vector<const Kernel*> kernels() const override;
  const GlobalVariable* global(std::string_view name) const override;
  std::vector<const GlobalVariable*> globals() const override;
  const Program& program(const Kernel& kernel) const override;
  const SourceManager& sources() const override { return sources_; }

 private:
  struct KernelEntry {
    Kernel kernel;
    std::unique_ptr<Program> program;
  };
  bool placeVariables(DiagnosticEngine& diags);

  const SourceManager& sources_;
  DeviceMemory& memory_;
  const bool portableLanes_;
  spirv::Binary binary_;
  spirv::Addresses addresses_;
  std::vector<std::unique_ptr<KernelEntry>> kernels_;
  std::vector<std::unique_ptr<GlobalVariable>> globals_;
};

}  // namespace mtlc::sim

#endif  // MTLC_SIM_SPIRV_MODULE_H_
