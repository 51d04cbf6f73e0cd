// Where a warp waits for itself: operations on tiles are ordered on entry and exit for the subgroup
// (docs/ir.md §11), which one `bar.warp.sync` before or after a group of accesses does.
//
// What was accessed since the last barrier is followed through the function, and a barrier put
// before the access that could meet it: products that follow each other and only read need none.
// Exits are ordered late, before the next access that matters, but not in blocks that the subgroup
// may not execute together: the barrier comes before they are entered.

#ifndef MTLC_CODEGEN_PTX_TENSOR_ORDER_H_
#define MTLC_CODEGEN_PTX_TENSOR_ORDER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "mtlc/ir/ir.h"

namespace mtlc::ptx {

class TensorLowering;

// What has to be known of a module before its functions are lowered.
struct TileFunctions {
  absl::flat_hash_set<const ir::Function*> functions;  // Those with tiles.
  // That a subgroup may execute in parts, or some of it more often than others.
  absl::flat_hash_set<const ir::Block*> divergentBlocks;
};

class TensorOrder {
 public:
  // `order` are the reachable blocks, Block::scratch their positions in it.
  void compute(const ir::Function& function, std::span<ir::Block* const> order,
               const TensorLowering& tensors, const TileFunctions& tiles);

  // Call for each block in any order, then for its operations in theirs.
  void enterBlock(uint32_t position) { state_ = atEntry_[position]; }
  // True if a barrier belongs before `op`.
  bool before(const ir::Operation& op) { return step(op, state_); }

 private:
  static constexpr int32_t kNone = -1, kSeveral = -2;
  // Workgroup and global memory, as bits; a generic pointer may lead into either.
  using Spaces = uint8_t;
  static constexpr Spaces kWorkgroup = 1, kGlobal = 2, kBoth = 3;
  static constexpr int kSpaces = 2;
  // Accesses since the last barrier that another lane's may have to wait for.
  struct State {
    Spaces read = 0, write = 0;  // Of single work-items.
    Spaces tileWrite = 0;
    int32_t tileRead[kSpaces] = {kNone, kNone};  // The region whose operations read.

    bool merge(const State& other);
    void readTile(Spaces spaces, int32_t region);
    // Where operations on tiles of other regions than `region` have read.
    Spaces tileReads(int32_t region = kNone) const;
    friend bool operator==(const State&, const State&) = default;
  };
  static Spaces spacesOf(const ir::Value* pointer);
  // Whether a block may follow that not all of the subgroup execute together.
  bool divides(const ir::Operation& terminator) const;
  bool step(const ir::Operation& op, State& state) const;
  bool stepTile(const ir::Operation& op, State& state) const;

  bool isKernel_ = false;
  const TensorLowering* tensors_ = nullptr;
  const TileFunctions* tiles_ = nullptr;
  std::vector<State> atEntry_;
  State state_;
};

}  // namespace mtlc::ptx

#endif  // MTLC_CODEGEN_PTX_TENSOR_ORDER_H_
