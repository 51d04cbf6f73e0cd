// Dominator tree of a function's control-flow graph.

#ifndef MTLC_IR_DOMINANCE_H_
#define MTLC_IR_DOMINANCE_H_

#include <vector>

#include "mtlc/ir/ir.h"

namespace mtlc::ir {

// Reverse post-order of the blocks reachable from the entry. Writes each block's position into
// Block::scratch, and ~0u into that of unreachable blocks.
std::vector<Block*> reversePostOrder(const Function& function);

// A snapshot: valid until an edge or a block of the function changes, and until Block::scratch is
// written. Computed in O(n log n) (semi-NCA: Georgiadis, "Linear-time algorithms for dominators and
// related problems", 2005).
class DominatorTree {
 public:
  explicit DominatorTree(const Function& function);

  const std::vector<Block*>& rpo() const { return rpo_; }
  bool reachable(const Block* block) const { return block->scratch < rpo_.size(); }
  // nullptr for the entry and for unreachable blocks.
  Block* idom(const Block* block) const;
  // True if every path from the entry to `b` goes through `a`; a block dominates itself.
  // Unreachable blocks are dominated by every block.
  bool dominates(const Block* a, const Block* b) const;
  // True if `value` is available at `user` (as an operand). Walks back through the block when both
  // are in the same one: number the operations instead where many such questions are asked.
  bool dominates(const Value* value, const Operation* user) const;
  // Children in the tree, in reverse post-order.
  std::vector<std::vector<Block*>> children() const;  // Indexed by Block::scratch.

 private:
  std::vector<Block*> rpo_;
  std::vector<uint32_t> idom_;      // By RPO number.
  std::vector<uint32_t> in_, out_;  // Interval numbering of the tree.
};

}  // namespace mtlc::ir

#endif  // MTLC_IR_DOMINANCE_H_
