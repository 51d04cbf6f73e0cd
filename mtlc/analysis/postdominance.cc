#include "mtlc/analysis/postdominance.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace mtlc::analysis {
namespace {

// The first block of every strongly connected component that nothing leaves: neither an edge nor a
// return. Everything reaches such a component or a return.
std::vector<uint32_t> endlessRegions(const Cfg& cfg) {
  const Sccs sccs = stronglyConnectedComponents(cfg.graph());
  std::vector<bool> leaves(sccs.count(), false);
  for (uint32_t i = 0; i < cfg.size(); ++i) {
    for (uint32_t to : cfg.succs(i)) {
      if (sccs.component[to] != sccs.component[i]) leaves[sccs.component[i]] = true;
    }
  }
  // A block without successors ends the function, even if its terminator is missing.
  for (uint32_t i = 0; i < cfg.size(); ++i) {
    if (cfg.succs(i).empty()) leaves[sccs.component[i]] = true;
  }
  std::vector<uint32_t> firsts;
  for (uint32_t i = 0; i < cfg.size(); ++i) {
    if (leaves[sccs.component[i]]) continue;
    leaves[sccs.component[i]] = true;
    firsts.push_back(i);
  }
  return firsts;
}

}  // namespace

PostDominatorTree::PostDominatorTree(const Cfg& cfg) : endless_(endlessRegions(cfg)) {
  const uint32_t exit = cfg.size();
  std::vector<Digraph::Edge> edges;
  for (uint32_t i = 0; i < cfg.size(); ++i) {
    for (uint32_t to : cfg.succs(i)) edges.push_back({to, i});
    if (cfg.succs(i).empty()) edges.push_back({exit, i});
  }
  for (uint32_t i : endless_) edges.push_back({exit, i});
  ipdom_ = immediateDominators(Digraph(exit + 1, edges), exit);
  order_ = ForestOrder(ipdom_);
}

std::string printPostDominators(const ir::Function& function) {
  const Cfg cfg(function);
  const PostDominatorTree tree(cfg);
  const BlockLabels labels(function);
  std::string out;
  for (uint32_t i = 0; i < cfg.size(); ++i) {
    uint32_t p = tree.ipdom(i);
    bool endless = std::binary_search(tree.endless().begin(), tree.endless().end(), i);
    absl::StrAppend(&out, "  ", labels[cfg.block(i)],
                    " ipdom: ", p == tree.exit() ? "exit" : labels[cfg.block(p)],
                    endless ? " (endless region)" : "", "\n");
  }
  return out;
}

}  // namespace mtlc::analysis
