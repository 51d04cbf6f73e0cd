#include "tools/targets/target_options.h"

namespace mtlc {

void addTensorOptions(OptionTable& table, TargetOptions* options) {
  table.choice("--tensor-fallback", &options->tensorReplay, {{"error", false}, {"replay", true}},
               "Tensor products that the architecture lacks are refused (the default), or become "
               "scalar code");
  constexpr int64_t kMost = 65535;
  table.integer("--tensor-tuple-budget,--gpu-tensor-tuple-budget", "N", &options->tensorTupleBudget,
                0, kMost,
                "Registers of a work-item for the tuples of one tile; 0 is the architecture's");
}

}  // namespace mtlc
