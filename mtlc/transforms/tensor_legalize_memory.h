// The parts of tensor-legalize for operations that move data between global and workgroup memory.

#ifndef MTLC_TRANSFORMS_TENSOR_LEGALIZE_MEMORY_H_
#define MTLC_TRANSFORMS_TENSOR_LEGALIZE_MEMORY_H_

#include "mtlc/ir/ir.h"
#include "mtlc/transforms/target_info.h"

namespace mtlc::transforms {

// async.copy that `target` does not have becomes loads and stores by the same work-item, 8 bytes at
// a time where the transaction has as many, done when the copy was issued; async.commit and
// async.wait that it does not have go. Long copies become loops, native ones too: those that are
// left have at most 16 transactions. Returns whether anything changed.
bool legalizeAsync(ir::Function& function, const TargetInfo& target);

// tensor.transfer becomes cooperative copies by the workgroup, 8 bytes at a time where a guard at
// run time finds alignment and range to allow it. One that `target` has stays, under a guard for
// what must hold of its operands (docs/ptx.md, "Transfers"), with the copies as the other arm. So
// each transfer that is left may be executed as it stands; this is not to be called again on the
// result. Returns whether anything changed.
bool legalizeTransfer(ir::Function& function, const TargetInfo& target);

}  // namespace mtlc::transforms

#endif  // MTLC_TRANSFORMS_TENSOR_LEGALIZE_MEMORY_H_
