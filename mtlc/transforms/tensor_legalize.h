// tensor-legalize: tensor operations become what a target has.
//
// Afterwards the module holds, of products, epilogues and tiles (ir.md §6), only what the target
// emits: tensor.acc.begin, .mma, .epilogue, .commit in a form of TargetInfo::tensorForm(), their
// tuples within the budget, executed by full subgroups with aligned operands. (Staging and
// transfers, which move data and compute nothing, have functions of their own.)
// Everything else is *replayed*: written as cooperative scalar code with the same contract, or as
// smaller native operations that go through the home memory.
//
//   tensor.mma      native: acc.begin, acc.mma, acc.commit; cut into smaller tiles when its
//                   accumulators exceed the budget.
//   tensor.matmul   a guarded native interior (C loaded once, all full chunks of K, D stored once)
//                   and exact edges in M, N and K.
//   tensor.acc.*    a region of connected tiles stays in registers (resident) when every operation
//                   has a form with one accumulator layout and the tuple peak is within the budget;
//                   otherwise each operation works on the home memory (replay).
//   tensor.epilogue cooperative code.
//
// The tuple peak of a region counts 32-bit registers of one work-item:
//   (native accumulators + 1) · accRegisters + aRegisters + bRegisters
// for all accumulators of the tile, one A, one B and one result under way.

#ifndef MTLC_TRANSFORMS_TENSOR_LEGALIZE_H_
#define MTLC_TRANSFORMS_TENSOR_LEGALIZE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mtlc/ir/ir.h"
#include "mtlc/support/diagnostics.h"
#include "mtlc/transforms/remarks.h"
#include "mtlc/transforms/target_info.h"

namespace mtlc::transforms {

enum class TensorRegionKind : uint8_t { Mma, Chain, Loop, Pipeline, Matmul, Epilogue };
// "tensor_chain"
std::string_view toString(TensorRegionKind kind);

// What became of one operation, or of the operations on connected tiles.
struct TensorDecision {
  const ir::Function* function = nullptr;
  SourceLoc loc;
  TensorRegionKind kind = TensorRegionKind::Mma;
  bool resident = false;
  uint32_t tiles = 0;      // Products: operations tensor.mma or tensor.acc.mma.
  uint32_t tuplePeak = 0;  // 0 where the target has no form.
  uint32_t budget = 0;
  std::string why;  // Not resident: what stands against it.
};
// "mtlc.tensor_chain resident tiles=4 tuple_peak=32 budget=64"
std::string toString(const TensorDecision& decision);

struct TensorLegalizeOptions {
  // Products for which the target has no form become scalar code; otherwise they are refused.
  bool replay = false;
  // Instead of TargetInfo::tensorTupleBudget(); 0: that one.
  unsigned tupleBudget = 0;
  RemarkLog* remarks = nullptr;
};

// Legalises a module that passed verify() and verifyForDevice(); it passes both afterwards. Reports
// TensorNoForm for each product that neither the target has nor `replay` allows, at its place with
// what would work, and returns false then; the module is unchanged or may be thrown away. Linear in
// the size of the module and of what it grows to. `decisions` are in program order.
bool tensorLegalize(ir::Module& module, const TargetInfo& target,
                    const TensorLegalizeOptions& options, DiagnosticEngine& diags,
                    std::vector<TensorDecision>& decisions);

}  // namespace mtlc::transforms

#endif  // MTLC_TRANSFORMS_TENSOR_LEGALIZE_H_
