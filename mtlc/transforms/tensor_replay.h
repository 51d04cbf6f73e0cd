// Tensor operations as cooperative scalar code: the work-items of the scope share out the elements
// of D, each computes its own with a loop over K. Parts of tensor-legalize.

#ifndef MTLC_TRANSFORMS_TENSOR_REPLAY_H_
#define MTLC_TRANSFORMS_TENSOR_REPLAY_H_

#include "mtlc/ir/ir.h"
#include "mtlc/transforms/tensor_emit.h"

namespace mtlc::transforms {

// A product and the part of it to compute. Pointers and leading dimensions are as the operation has
// them; those that the descriptor needs none of are not looked at.
struct Product {
  ir::MmaDesc desc;
  ir::Value *a = nullptr, *b = nullptr, *c = nullptr, *d = nullptr;
  ir::Value *metadata = nullptr, *scaleA = nullptr, *scaleB = nullptr;
  Index lda, ldb, ldc, ldd, ldsa, ldsb, ldmeta;
  Index k;           // Of the whole problem.
  Index kBegin;      // Sums take the terms from here on; a multiple of scale blocks and groups.
  Index row, col;    // Where the part begins.
  Index rows, cols;  // Of the part, each at most 65535.
  // If doneK is no constant: the first doneRows rows and doneCols columns of the part are in D and
  // lack the terms from doneK on only. kBegin is 0 then.
  Index doneRows, doneCols, doneK;

  // C and D are the same elements.
  bool inPlace() const;
  bool begun() const { return !doneK.isConst(); }
  StoredMatrix matrixA() const;
  StoredMatrix matrixB() const;
  StoredMatrix matrixC() const;
  StoredMatrix matrixD() const;
};

// Of a tensor.mma or tensor.matmul: all of it. Of a tensor.acc.mma whose home is `home`.
Product productOf(Emitter& e, const ir::Operation& op);
Product productOf(Emitter& e, const ir::Operation& mma, ir::Value* home, ir::Layout layout,
                  Index ldd);

// D = C + A · B on the part. Ordered on entry and exit.
void replayProduct(Emitter& e, const Product& p);
// D = C, bit for bit, on the part. Ordered on entry and exit.
void replayCopy(Emitter& e, const Product& p);

// D = act(alpha · D + beta · bias). Ordered on entry and exit.
struct Epilogue {
  ir::EpilogueDesc desc;
  ir::Value *d = nullptr, *bias = nullptr;
  ir::Value *alpha = nullptr, *beta = nullptr, *lo = nullptr, *hi = nullptr;
  Index ldd, ldbias;
};
Epilogue epilogueOf(Emitter& e, const ir::Operation& op);
// Of a tensor.acc.epilogue whose home is `home`.
Epilogue epilogueOf(Emitter& e, const ir::Operation& op, ir::Value* home, ir::Layout layout,
                    Index ldd);
void replayEpilogue(Emitter& e, const Epilogue& p);

}  // namespace mtlc::transforms

#endif  // MTLC_TRANSFORMS_TENSOR_REPLAY_H_
