// What transforms may ask about the machine that code is made for, without knowing which it is.

#ifndef MTLC_TRANSFORMS_TARGET_INFO_H_
#define MTLC_TRANSFORMS_TARGET_INFO_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mtlc/ir/ir.h"

namespace mtlc {

// How a target multiplies tiles natively: one product of fixed size, and what its operands take up.
struct TensorForm {
  // Of one native product. The m, n and k of an operation in this form are multiples of these; the
  // code generator makes a grid of native products of it.
  uint32_t m = 0, n = 0, k = 0;
  // 32-bit registers that one work-item holds for one native A, B and accumulator.
  uint32_t aRegisters = 0, bRegisters = 0, accRegisters = 0;
  // Accumulators of forms with different numbers lie in registers in different ways: all operations
  // on one tile need the same.
  uint32_t accumulatorLayout = 0;
  // The target knows where each element lies, so that epilogues with a bias stay in registers and
  // tiles may be stored in fewer bits than they are kept in.
  bool coordinatesKnown = false;

  friend bool operator==(const TensorForm&, const TensorForm&) = default;
};

// Where a tile is used: what the choice of a form may depend on besides the descriptor.
struct TensorUse {
  bool operandsInWorkgroup = false;  // All A and B lie in workgroup memory.
  bool biased = false;               // An epilogue of the tile has a bias.
  bool narrow = false;               // C and D have another format than the accumulator.
};

// Implemented by each code generator (mtlc/codegen). Answers are constant for the life of the
// object.
class TargetInfo {
 public:
  virtual ~TargetInfo() = default;

  // As diagnostics and remarks name it: "sm_121a".
  virtual std::string_view name() const = 0;

  // True if the code generator emits `op` as it stands. What is false here has to be expanded by a
  // legalising pass: mathematical functions without `approx` by expand-math, encode and decode by
  // expand-narrow-float, staging, transfers and all other tensor operations by tensor-legalize.
  // Never asked about tensor.mma, tensor.matmul, tensor.epilogue and tensor.acc.*: see
  // tensorForm().
  virtual bool isNative(const ir::Operation& op) const = 0;

  // Work-items of a subgroup; 0 when only known at run time.
  virtual unsigned subgroupSize() const = 0;

  // The form of a product with this descriptor (of a tensor.mma, or a chunk of a tensor.matmul
  // whose k may be any multiple of the form's), nullopt if the target has none. A target that has a
  // form emits tensor.acc.begin, .mma and .commit on it, and .epilogue if there is no bias or
  // coordinatesKnown is set. Preconditions are those of tensor.mma: aligned, by a full subgroup.
  virtual std::optional<TensorForm> tensorForm(const ir::MmaDesc& /*desc*/,
                                               const TensorUse& /*use*/) const {
    return std::nullopt;
  }
  // What would have a native form for the descriptor, for messages: "sm_120a or sm_121a with
  // PTX 8.8"; empty if nothing has.
  virtual std::string tensorNeeds(const ir::MmaDesc& /*desc*/) const { return {}; }
  // Most 32-bit registers of a work-item that the tuples of one tile may take before its operations
  // go through memory instead; see tensor_legalize.h for how they are counted.
  virtual unsigned tensorTupleBudget() const { return 0; }
};

}  // namespace mtlc

#endif  // MTLC_TRANSFORMS_TARGET_INFO_H_
