// Post-dominator tree of a function, with one virtual exit behind all returns.

#ifndef MTLC_ANALYSIS_POSTDOMINANCE_H_
#define MTLC_ANALYSIS_POSTDOMINANCE_H_

#include <string>
#include <vector>

#include "mtlc/analysis/cfg.h"

namespace mtlc::analysis {

// Nodes are the block numbers of the Cfg, and exit() for the virtual exit. A region that no `ret`
// can be reached from (an endless loop) is given one edge, never taken, from its first block in
// reverse post-order to the exit, so that every block has a post-dominator. The tree is a snapshot
// like the Cfg.
class PostDominatorTree {
 public:
  explicit PostDominatorTree(const Cfg& cfg);

  uint32_t exit() const { return static_cast<uint32_t>(ipdom_.size() - 1); }
  // The immediate post-dominator; kNoNode for exit().
  uint32_t ipdom(uint32_t node) const { return ipdom_[node]; }
  // True if every path from `b` to the exit passes `a`; a node post-dominates itself.
  bool postDominates(uint32_t a, uint32_t b) const { return order_.isAncestor(a, b); }
  uint32_t depth(uint32_t node) const { return order_.depth(node); }  // 0 for exit().
  // Blocks with an artificial edge to the exit, ascending.
  const std::vector<uint32_t>& endless() const { return endless_; }

 private:
  std::vector<uint32_t> ipdom_;
  std::vector<uint32_t> endless_;
  ForestOrder order_;
};

// One line per reachable block: its immediate post-dominator; endless regions are marked.
std::string printPostDominators(const ir::Function& function);

}  // namespace mtlc::analysis

#endif  // MTLC_ANALYSIS_POSTDOMINANCE_H_
