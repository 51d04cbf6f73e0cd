// The loops of a function and how they nest.

#ifndef MTLC_ANALYSIS_LOOPS_H_
#define MTLC_ANALYSIS_LOOPS_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mtlc/analysis/cfg.h"

namespace mtlc::analysis {

// A loop is a header and the blocks that reach it again without leaving the part of the depth-first
// tree below it. In a natural loop the header is the only way in; an `irreducible` one has other
// entries, and its header is the entry that the depth-first search met first.
struct Loop {
  uint32_t header = kNoNode;  // A block number of the Cfg.
  uint32_t parent = kNoNode;  // A loop number.
  uint32_t depth = 1;         // 1 for an outermost loop.
  bool irreducible = false;
};

// All loops, an outer one before those in it, otherwise in reverse post-order of the headers. A
// snapshot like the Cfg. Near-linear, irreducible graphs included (Havlak, "Nesting of reducible
// and irreducible loops", 1997; Ramalingam, "Identifying loops in almost linear time", 1999).
class LoopForest {
 public:
  explicit LoopForest(const Cfg& cfg);

  const Cfg& cfg() const { return *cfg_; }
  uint32_t size() const { return static_cast<uint32_t>(loops_.size()); }
  const Loop& operator[](uint32_t loop) const { return loops_[loop]; }
  // The innermost loop around a block; kNoNode outside of all.
  uint32_t loopOf(uint32_t block) const { return innermost_[block]; }
  uint32_t depthOf(uint32_t block) const {
    return innermost_[block] == kNoNode ? 0 : loops_[innermost_[block]].depth;
  }
  bool contains(uint32_t loop, uint32_t block) const {
    return innermost_[block] != kNoNode && order_.isAncestor(loop, innermost_[block]);
  }
  // Every block of the loop, those of inner loops too. The header comes first.
  std::span<const uint32_t> blocks(uint32_t loop) const;

  // The following cost one walk over the loop.
  // Blocks inside with an edge to the header.
  std::vector<uint32_t> latches(uint32_t loop) const;
  // Edges that leave the loop.
  std::vector<ir::Successor*> exits(uint32_t loop) const;
  // Blocks with an edge from outside: the header and, in an irreducible loop, others.
  std::vector<uint32_t> entries(uint32_t loop) const;
  // The only block outside with an edge into the loop, if that edge is its only one and leads to
  // the header; else kNoNode.
  uint32_t preheader(uint32_t loop) const;
  bool isInvariant(uint32_t loop, const ir::Value* value) const;

 private:
  const Cfg* cfg_;
  std::vector<Loop> loops_;
  std::vector<uint32_t> innermost_;  // By block.
  ForestOrder order_;                // Of the loops.
  std::vector<uint32_t> grouped_;  // Blocks by the preorder of their innermost loop, headers first.
  std::vector<uint32_t> groupBegin_, groupEnd_;  // By loop: its range of grouped_.
};

// A natural loop with one latch and one exit edge, taken by the header or the latch, that counts:
// before iteration k (from 0) the induction argument is start + k·step, and the loop goes on
// exactly while `compare(tested, bound)`.
struct CountedLoop {
  ir::Value* induction;       // Argument of the header.
  ir::Value* start;           // Its value on entry.
  uint64_t step;              // Added in each iteration, modulo the width.
  ir::Operation* exitBranch;  // In the header or in the latch.
  ir::Opcode compare;
  ir::Value* tested;  // `induction`, or the value that it has in the next iteration.
  ir::Value* bound;   // Loop-invariant.
  // How often the back edge is taken when start and bound are constants and nothing wraps on the
  // way; a test in the header runs the rest of the body as often, a test in the latch once more.
  std::optional<uint64_t> backEdges;
};
std::optional<CountedLoop> matchCountedLoop(const LoopForest& loops, uint32_t loop);

// The least k ≥ 0 for which compare(first + k·step, bound) is false, if no value wraps before.
// `first`, `step` and `bound` are of `width` bits.
std::optional<uint64_t> countBackEdges(ir::Opcode compare, unsigned width, uint64_t first,
                                       uint64_t step, uint64_t bound);

// One line per loop: header, depth, kind, latches, exits, trip count.
std::string printLoops(const ir::Function& function);

}  // namespace mtlc::analysis

#endif  // MTLC_ANALYSIS_LOOPS_H_
