// Directed graphs over the nodes 0 … n-1, and the classic algorithms on them that the analyses
// share. Nothing here recurses, so the depth of the input is no concern; everything is linear up to
// a logarithm.

#ifndef MTLC_ANALYSIS_GRAPH_H_
#define MTLC_ANALYSIS_GRAPH_H_

#include <cstdint>
#include <span>
#include <vector>

namespace mtlc::analysis {

inline constexpr uint32_t kNoNode = ~0u;

// A graph in compressed rows. Parallel edges and self loops are kept. With targets that are no
// nodes it serves as a plain multimap, of which only succs() makes sense.
class Digraph {
 public:
  struct Edge {
    uint32_t from;
    uint32_t to;
  };

  Digraph() = default;
  // The successors of a node keep the order of `edges`.
  Digraph(uint32_t nodeCount, std::span<const Edge> edges);

  uint32_t size() const { return static_cast<uint32_t>(rows_.empty() ? 0 : rows_.size() - 1); }
  uint32_t edgeCount() const { return static_cast<uint32_t>(targets_.size()); }
  std::span<const uint32_t> succs(uint32_t node) const {
    return {targets_.data() + rows_[node], rows_[node + 1] - rows_[node]};
  }
  // Every edge turned around.
  Digraph reversed() const;

 private:
  std::vector<uint32_t> rows_;
  std::vector<uint32_t> targets_;
};

// Strongly connected components (Tarjan, "Depth-first search and linear graph algorithms", 1972).
struct Sccs {
  std::vector<uint32_t> component;  // By node. An edge leads to the same or a smaller number.
  std::vector<uint32_t> size;       // By component.
  uint32_t count() const { return static_cast<uint32_t>(size.size()); }
};
Sccs stronglyConnectedComponents(const Digraph& graph);

// The immediate dominator of each node on the paths from `root`; kNoNode for the root and for nodes
// it doesn't reach. Semi-NCA (Georgiadis, "Linear-time algorithms for dominators and related
// problems", 2005).
std::vector<uint32_t> immediateDominators(const Digraph& graph, uint32_t root);

// A forest given by parents (kNoNode at roots), numbered for constant-time ancestor queries.
class ForestOrder {
 public:
  ForestOrder() = default;
  explicit ForestOrder(std::span<const uint32_t> parents);

  // Every node is an ancestor of itself.
  bool isAncestor(uint32_t a, uint32_t b) const { return in_[a] <= in_[b] && in_[b] <= last_[a]; }
  uint32_t depth(uint32_t node) const { return depth_[node]; }  // 0 at roots.
  uint32_t preorderIndex(uint32_t node) const { return in_[node]; }
  // Parents before children; siblings by number.
  const std::vector<uint32_t>& preorder() const { return order_; }
  // The largest preorder index in the subtree of `node`.
  uint32_t lastIndex(uint32_t node) const { return last_[node]; }

 private:
  std::vector<uint32_t> in_, last_, depth_, order_;
};

// Disjoint sets whose representative is chosen by the caller.
class DisjointSets {
 public:
  explicit DisjointSets(uint32_t n) : parent_(n) {
    for (uint32_t i = 0; i < n; ++i) parent_[i] = i;
  }
  uint32_t find(uint32_t x) {
    while (parent_[x] != x) {
      parent_[x] = parent_[parent_[x]];
      x = parent_[x];
    }
    return x;
  }
  // Afterwards find() gives `into`'s representative for the members of both.
  void unite(uint32_t x, uint32_t into) { parent_[find(x)] = find(into); }

 private:
  std::vector<uint32_t> parent_;
};

}  // namespace mtlc::analysis

#endif  // MTLC_ANALYSIS_GRAPH_H_
