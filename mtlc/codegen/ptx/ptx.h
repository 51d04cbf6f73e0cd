// The PTX code generator: IR in, PTX text out. docs/ptx.md describes the code it makes.

#ifndef MTLC_CODEGEN_PTX_PTX_H_
#define MTLC_CODEGEN_PTX_PTX_H_

#include <optional>
#include <string>

#include "mtlc/codegen/ptx/profile.h"
#include "mtlc/codegen/target.h"
#include "mtlc/ir/ir.h"
#include "mtlc/support/diagnostics.h"
#include "mtlc/transforms/remarks.h"
#include "mtlc/transforms/target_info.h"

namespace mtlc {

struct PtxOptions {
  PtxProfile profile;
  bool lineInfo = false;  // Emit .file and .loc.
  // Tensor operations that the profile has no instructions for become scalar code; otherwise they
  // are refused.
  bool tensorReplay = false;
  unsigned tensorTupleBudget = 0;  // 0: the architecture's; see tensor_legalize.h.
  transforms::RemarkLog* remarks = nullptr;
};

// PTX text for all kernels of `module` and the functions they reach; the others are dropped. Equal
// modules and options give equal bytes; time is linear in the size of the module. `module` must
// have passed verify() and verifyForDevice(). Mathematical functions that the profile has no
// instruction for are expanded in place (expand-math), and so are tensor operations
// (tensor-legalize); apart from that the module stays as it is, scratch fields excepted. Reports
// what the profile cannot do, and returns nullopt then.
std::optional<std::string> emitPtx(ir::Module& module, const PtxOptions& options,
                                   DiagnosticEngine& diags);

// What passes may know about a profile.
class PtxTargetInfo : public TargetInfo {
 public:
  explicit PtxTargetInfo(const PtxProfile& profile) : profile_(profile) {}
  std::string_view name() const override { return profile_.target().name; }
  bool isNative(const ir::Operation& op) const override;
  unsigned subgroupSize() const override { return 32; }
  std::optional<TensorForm> tensorForm(const ir::MmaDesc& desc,
                                       const TensorUse& use) const override;
  std::string tensorNeeds(const ir::MmaDesc& desc) const override;
  unsigned tensorTupleBudget() const override { return profile_.target().number < 90 ? 64 : 96; }

 private:
  PtxProfile profile_;
};

// Registers the target "ptx" (target.h).
void registerPtxTarget();

}  // namespace mtlc

#endif  // MTLC_CODEGEN_PTX_PTX_H_
