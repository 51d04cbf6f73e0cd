#include "tools/targets/target_options.h"

namespace mtlc {

void addTensorOptions(OptionTable& table, TargetOptions* options) {
  table.choice("--tensor-fallback", &options->tensorReplay, {{"refuse", false}, {"replay", true}},
               "What becomes of tensor products that the architecture has no instruction for");
  constexpr int64_t kMost = 1024;
  table.integer("--tensor-tuple-budget", "N", &options->tensorTupleBudget, 1, kMost,
                "Registers of a work-item for the tuples of one tile; by default the "
                "architecture's");
}

}  // namespace mtlc
