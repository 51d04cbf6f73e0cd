#include "tools/targets/all_targets.h"

#include "mtlc/codegen/ptx/ptx.h"

namespace mtlc {

void registerAllTargets() { registerPtxTarget(); }

}  // namespace mtlc
