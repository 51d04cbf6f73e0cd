// Every target this build has.

#ifndef TOOLS_TARGETS_ALL_TARGETS_H_
#define TOOLS_TARGETS_ALL_TARGETS_H_

namespace mtlc {

void registerAllTargets();

}  // namespace mtlc

#endif  // TOOLS_TARGETS_ALL_TARGETS_H_
