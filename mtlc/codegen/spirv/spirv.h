// The SPIR-V code generator: IR in, a SPIR-V module for OpenCL out. docs/spirv.md describes the
// code it makes.

#ifndef MTLC_CODEGEN_SPIRV_SPIRV_H_
#define MTLC_CODEGEN_SPIRV_SPIRV_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "mtlc/codegen/spirv/profile.h"
#include "mtlc/ir/ir.h"
#include "mtlc/support/diagnostics.h"
#include "mtlc/transforms/remarks.h"
#include "mtlc/transforms/target_info.h"

namespace mtlc {

struct SpirvOptions {
  const SpirvProfile* profile = nullptr;
  bool lineInfo = false;  // OpLine
  // Tensor operations become scalar code; otherwise they are refused, for no profile has any.
  bool tensorReplay = false;
  transforms::RemarkLog* remarks = nullptr;
};

// The words of a module with all kernels of `module` and the functions they reach. Equal modules
// and options give equal words; linear in the size of the module. `module` must have passed
// verify() and verifyForDevice(); it is changed by the legalising passes (docs/spirv.md). A kernel
// that uses the launch-sized arena gets one more parameter for it, a pointer to workgroup memory,
// after all others. Reports what the profile cannot do, and returns nullopt then.
std::optional<std::vector<uint32_t>> emitSpirv(ir::Module& module, const SpirvOptions& options,
                                               DiagnosticEngine& diags);

class SpirvTargetInfo : public TargetInfo {
 public:
  explicit SpirvTargetInfo(const SpirvProfile& profile) : profile_(profile) {}
  std::string_view name() const override { return profile_.name; }
  bool isNative(const ir::Operation& op) const override;
  unsigned subgroupSize() const override { return 0; }

 private:
  const SpirvProfile& profile_;
};

}  // namespace mtlc

#endif  // MTLC_CODEGEN_SPIRV_SPIRV_H_
