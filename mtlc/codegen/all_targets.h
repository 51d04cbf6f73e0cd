// Every target this build has.

#ifndef MTLC_CODEGEN_ALL_TARGETS_H_
#define MTLC_CODEGEN_ALL_TARGETS_H_

namespace mtlc {

void registerAllTargets();

}  // namespace mtlc

#endif  // MTLC_CODEGEN_ALL_TARGETS_H_
