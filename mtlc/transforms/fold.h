// The constant folder: operations on constants, with exactly the semantics that the interpreter
// executes (both call mtlc/support/scalar_ops.h and mtlc/support/math).

#ifndef MTLC_TRANSFORMS_FOLD_H_
#define MTLC_TRANSFORMS_FOLD_H_

#include <cstdint>
#include <optional>
#include <span>

#include "mtlc/ir/ir.h"
#include "mtlc/support/scalar_ops.h"

namespace mtlc::transforms {

// The bits of the result of an operation whose operands have type `operandType` (select: its last
// two) and the bits given, zero-extended; `fastMath` are its flags. No value when the operation is
// not a function of its operands' bits (memory, calls, positions in the launch, pointers; encode
// and decode, which have a format), or when its result depends on the target: `approx`, and `ftz`
// where a subnormal is met.
std::optional<uint64_t> foldOperation(ir::Opcode opcode, ir::Type operandType, ir::Type resultType,
                                      uint8_t fastMath, std::span<const uint64_t> operands);

// The same for an operation in the IR, when all its operands are constants.
std::optional<uint64_t> foldOperation(const ir::Operation& op);

// The float type's format; `type` is a float.
inline FloatKind floatKind(ir::Type type) {
  return static_cast<FloatKind>(static_cast<int>(type.kind()) -
                                static_cast<int>(ir::TypeKind::F16));
}

}  // namespace mtlc::transforms

#endif  // MTLC_TRANSFORMS_FOLD_H_
