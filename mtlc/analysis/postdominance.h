// Post-dominator tree of a function, with one virtual exit behind all returns.

#ifndef MTLC_ANALYSIS_POSTDOMINANCE_H_
#define MTLC_ANALYSIS_POSTDOMINANCE_H_

#include <string>
#include <vector>

#include "mtlc/analysis/cfg.h"

namespace mtlc::analysis {

// Nodes are the block numbers of the Cfg, then exit() for the virtual exit, then one gate for each
// region that no `ret` can be reached from (an endless loop). A gate stands before the region's
// first block in reverse post-order: all edges into that block go through it, and it has an edge to
// the exit that is never taken, so that every block has a post-dominator. The tree is a snapshot
// like the Cfg.
class PostDominatorTree {
 public:
  explicit PostDominatorTree(const Cfg& cfg);

  uint32_t exit() const { return exit_; }
  uint32_t size() const { return static_cast<uint32_t>(ipdom_.size()); }  // Of all nodes.
  // The immediate post-dominator; kNoNode for exit().
  uint32_t ipdom(uint32_t node) const { return ipdom_[node]; }
  // True if every path from `b` to the exit passes `a`; a node post-dominates itself.
  bool postDominates(uint32_t a, uint32_t b) const { return order_.isAncestor(a, b); }
  uint32_t depth(uint32_t node) const { return order_.depth(node); }  // 0 for exit().

  // Where an edge into a block leads: its gate if it has one, else the block.
  uint32_t entryOf(uint32_t block) const { return entryOf_[block]; }
  bool isGate(uint32_t node) const { return node > exit_; }
  // The block behind a gate.
  uint32_t gated(uint32_t gate) const { return gated_[gate - exit_ - 1]; }
  // All blocks with a gate before them, ascending.
  const std::vector<uint32_t>& gatedBlocks() const { return gated_; }

 private:
  uint32_t exit_;
  std::vector<uint32_t> gated_;
  std::vector<uint32_t> entryOf_;  // By block.
  std::vector<uint32_t> ipdom_;
  ForestOrder order_;
};

// One line per reachable block: its immediate post-dominator; endless regions are marked.
std::string printPostDominators(const ir::Function& function);

}  // namespace mtlc::analysis

#endif  // MTLC_ANALYSIS_POSTDOMINANCE_H_
