// The uniformity analysis inside one function; uniformity.h puts functions together.

#ifndef MTLC_ANALYSIS_UNIFORMITY_SOLVER_H_
#define MTLC_ANALYSIS_UNIFORMITY_SOLVER_H_

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "mtlc/analysis/cfg.h"
#include "mtlc/analysis/postdominance.h"
#include "mtlc/analysis/private_slots.h"

namespace mtlc::analysis {

// A set of reasons to differ between work-items, one bit each:
//   bit 0       may differ within a workgroup (not workgroup-uniform),
//   bit 1       may differ within a subgroup too (varying); never without bit 0,
//   bits 2 …    depends on parameter 0, 1, …; the last bit stands for all remaining parameters.
// A rank is the first two bits. The parameter bits turn a function's result into a summary that
// each call site fills in, so that one call with a varying argument doesn't spoil the result of
// another.
using UniformityBits = uint64_t;
inline constexpr UniformityBits kDiffersInWorkgroup = 1, kDiffersInSubgroup = 2;
inline constexpr UniformityBits kVaryingBits = kDiffersInWorkgroup | kDiffersInSubgroup;
inline constexpr unsigned kUniformityLevels = 2;
inline constexpr UniformityBits parameterBit(unsigned index) {
  return UniformityBits{1} << (kUniformityLevels + (index < 61 ? index : 61));
}

// How it works, and why it is sound (docs/analysis.md has the proof). Values, blocks and variables
// are nodes of one graph; bits flow along its edges until nothing changes. A block gets the bits of
// each branch that it is control-dependent on, a branch those of its condition and its block; a
// join gets those of the branches and blocks that lead to it and hands them to its arguments. The
// blocks left without a level's bit are executed by all work-items of that level in the same
// sequence ("in lockstep"), and a value without the bit is the same for all of them whenever a
// block in lockstep uses it. That covers early returns, break and continue, and values that leave a
// loop after a varying number of trips: the loop's header is control-dependent on its exit, so its
// arguments vary.
class UniformitySolver {
 public:
  // `params` has the bits of the parameters; `summaryOf` those of the result of a call.
  using SummaryOf = std::function<UniformityBits(const ir::Function*)>;
  UniformitySolver(const ir::Function& function, std::span<const UniformityBits> params,
                   const SummaryOf& summaryOf);

  const Cfg& cfg() const { return cfg_; }
  const PrivateSlots& slots() const { return slots_; }

  // Of a value of a reachable block; kVaryingBits for others.
  UniformityBits valueBits(const ir::Value* value) const;
  // Of the decisions within the function that lead to a block. 0 for unreachable blocks.
  UniformityBits controlBits(const ir::Block* block) const;
  UniformityBits resultBits() const { return bits_[returnNode()]; }

  // The nodes, for reason chains.
  enum class NodeKind : uint8_t { Block, Branch, Join, Return, Value, Merge, Array };
  NodeKind kind(uint32_t node) const;
  uint32_t blockNode(uint32_t block) const { return block; }
  uint32_t branchNode(uint32_t block) const { return controlCount_ + block; }
  uint32_t joinNode(uint32_t block) const { return 2 * controlCount_ + block; }
  uint32_t returnNode() const { return 3 * controlCount_; }
  uint32_t valueNode(const ir::Value* value) const;  // Of a value of a reachable block.
  // The block of a Block, Branch or Join node (or, past the blocks, a gate of the post-dominator
  // tree); the number of a merge; the slot of an Array node.
  uint32_t indexOf(uint32_t node) const;
  ir::Value* valueOf(uint32_t node) const { return values_[node - firstValue()]; }
  // The node that first handed this level's bit on; kNoNode where it arose.
  uint32_t cause(uint32_t node, unsigned level) const { return causes_[level][node]; }
  // The node whose value a store or a block argument's incoming value stands for, seen through
  // variables; kNoNode for uninitialised memory.
  uint32_t seenThrough(const ir::Value* value) const;
  uint32_t definitionNode(PrivateSlots::Definition definition) const;

 private:
  uint32_t firstValue() const { return 3 * controlCount_ + 1; }
  uint32_t mergeNode(uint32_t merge) const { return firstValue() + values_.size() + merge; }
  uint32_t arrayNode(uint32_t slot) const {
    return firstValue() + values_.size() + static_cast<uint32_t>(slots_.merges().size()) + slot;
  }

  void numberValues();
  void addControlEdges(const PostDominatorTree& postDominators);
  void addMergeEdges();
  void addOperation(ir::Operation& op, uint32_t block, const SummaryOf& summaryOf);
  void addMemoryAccess(ir::Operation& op, uint32_t block);
  uint32_t onlyEntry(uint32_t header, const ForestOrder& dominators,
                     const PostDominatorTree& postDominators) const;
  bool leadsOnlyTo(uint32_t from, uint32_t to) const;
  bool allSame(std::span<const uint32_t> nodes, uint32_t except) const;
  void edge(uint32_t from, uint32_t to) {
    if (from != kNoNode) edges_.push_back({from, to});
  }
  void raise(uint32_t node, UniformityBits bits, uint32_t from);
  void propagate(const PostDominatorTree& postDominators);
  void spreadBranch(const PostDominatorTree& postDominators, uint32_t block, UniformityBits bits);

  Cfg cfg_;
  PrivateSlots slots_;
  uint32_t controlCount_ = 0;  // Nodes of the post-dominator tree.
  Numbering<ir::Value> values_;
  std::vector<uint32_t> seenThrough_;  // By value.
  std::vector<UniformityBits> bits_;
  std::vector<uint32_t> causes_[kUniformityLevels];

  // While solving.
  std::vector<Digraph::Edge> edges_;
  std::vector<UniformityBits> pending_;
  std::vector<uint32_t> queue_;
  // For each bit met at a branch: the post-dominator tree with the blocks that have the bit
  // skipped.
  std::vector<std::unique_ptr<DisjointSets>> unmarked_;
};

}  // namespace mtlc::analysis

#endif  // MTLC_ANALYSIS_UNIFORMITY_SOLVER_H_
