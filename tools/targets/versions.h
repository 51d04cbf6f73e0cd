// What --version of every tool shows besides the toolchain's own version.

#ifndef TOOLS_TARGETS_VERSIONS_H_
#define TOOLS_TARGETS_VERSIONS_H_

#include "mtlc/support/tool_main.h"

namespace mtlc {

// Adds the lines for the formats this build reads and writes. Call before Tool::start().
void addVersionLines(Tool& tool);

}  // namespace mtlc

#endif  // TOOLS_TARGETS_VERSIONS_H_
