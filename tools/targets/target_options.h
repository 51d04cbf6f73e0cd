// Options of code generation that several tools have.

#ifndef TOOLS_TARGETS_TARGET_OPTIONS_H_
#define TOOLS_TARGETS_TARGET_OPTIONS_H_

#include "mtlc/codegen/target.h"
#include "mtlc/support/options.h"

namespace mtlc {

// Adds --tensor-fallback and --tensor-tuple-budget to the current group.
void addTensorOptions(OptionTable& table, TargetOptions* options);

}  // namespace mtlc

#endif  // TOOLS_TARGETS_TARGET_OPTIONS_H_
