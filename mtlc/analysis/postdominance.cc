#include "mtlc/analysis/postdominance.h"

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

PostDominatorTree::PostDominatorTree(const Cfg& cfg)
    : exit_(cfg.size()), gated_(endlessRegions(cfg)) {
  entryOf_.resize(cfg.size());
  for (uint32_t i = 0; i < cfg.size(); ++i) entryOf_[i] = i;
  std::vector<Digraph::Edge> edges;
  for (uint32_t k = 0; k < gated_.size(); ++k) {
    const uint32_t gate = exit_ + 1 + k;
    entryOf_[gated_[k]] = gate;
    edges.push_back({gated_[k], gate});
    edges.push_back({exit_, gate});
  }
  for (uint32_t i = 0; i < cfg.size(); ++i) {
    for (uint32_t to : cfg.succs(i)) edges.push_back({entryOf_[to], i});
    if (cfg.succs(i).empty()) edges.push_back({exit_, i});
  }
  const uint32_t nodes = exit_ + 1 + static_cast<uint32_t>(gated_.size());
  ipdom_ = immediateDominators(Digraph(nodes, edges), exit_);
  order_ = ForestOrder(ipdom_);
}

std::string printPostDominators(const ir::Function& function) {
  const Cfg cfg(function);
  const PostDominatorTree tree(cfg);
  const BlockLabels labels(function);
  auto label = [&](uint32_t node) {
    if (node == tree.exit()) return std::string("exit");
    if (tree.isGate(node)) return absl::StrCat("gate of ", labels[cfg.block(tree.gated(node))]);
    return labels[cfg.block(node)];
  };
  std::string out;
  for (uint32_t i = 0; i < tree.size(); ++i) {
    if (i != tree.exit()) {
      absl::StrAppend(&out, "  ", label(i), " ipdom: ", label(tree.ipdom(i)), "\n");
    }
  }
  return out;
}

}  // namespace mtlc::analysis
