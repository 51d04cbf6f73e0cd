#include "tools/targets/all_targets.h"

#include "mtlc/codegen/ptx/ptx.h"
#include "mtlc/codegen/spirv/spirv_target.h"

namespace mtlc {

void registerAllTargets() {
  registerPtxTarget();
  registerSpirvTarget();
}

}  // namespace mtlc
