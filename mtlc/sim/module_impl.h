// A module made from PTX text. Internal to the simulator.

#ifndef MTLC_SIM_MODULE_IMPL_H_
#define MTLC_SIM_MODULE_IMPL_H_

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "mtlc/sim/device.h"
#include "mtlc/sim/ptx/ast.h"
#include "mtlc/sim/ptx/symbols.h"

namespace mtlc::sim {

class PtxModule : public Module {
 public:
  PtxModule(const SourceManager& sources, DeviceMemory& memory, bool portableLanes);
  ~PtxModule() override;
  bool load(FileId file, DiagnosticEngine& diags);

  const Kernel* kernel(std::string_view name) const override;
  std::vector<const Kernel*> kernels() const override;
  const GlobalVariable* global(std::string_view name) const override;
  std::vector<const GlobalVariable*> globals() const override;
  const Program& program(const Kernel& kernel) const override;
  const SourceManager& sources() const override { return sources_; }

 private:
  struct KernelEntry {
    Kernel kernel;
    const ptx::Function* function = nullptr;
    std::unique_ptr<Program> program;
  };
  bool placeVariables(DiagnosticEngine& diags);
  bool initialise(const ptx::Variable& v, DiagnosticEngine& diags);
  const Program& decoded(KernelEntry& k) const;

  const SourceManager& sources_;
  DeviceMemory& memory_;
  const bool portableLanes_;
  ptx::Module ast_;
  std::unique_ptr<ptx::ModuleSymbols> symbols_;
  std::vector<std::unique_ptr<KernelEntry>> kernels_;
  std::vector<std::unique_ptr<GlobalVariable>> globals_;
  mutable std::mutex mutex_;
};

}  // namespace mtlc::sim

#endif  // MTLC_SIM_MODULE_IMPL_H_
