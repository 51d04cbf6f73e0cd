#include "mtlc/analysis/graph.h"

#include <algorithm>

namespace mtlc::analysis {

Digraph::Digraph(uint32_t nodeCount, std::span<const Edge> edges)
    : rows_(nodeCount + 1, 0), targets_(edges.size()) {
  for (const Edge& e : edges) ++rows_[e.from + 1];
  for (uint32_t i = 0; i < nodeCount; ++i) rows_[i + 1] += rows_[i];
  std::vector<uint32_t> next(rows_.begin(), rows_.end() - 1);
  for (const Edge& e : edges) targets_[next[e.from]++] = e.to;
}

Digraph Digraph::reversed() const {
  std::vector<Edge> edges;
  edges.reserve(targets_.size());
  for (uint32_t from = 0; from < size(); ++from) {
    for (uint32_t to : succs(from)) edges.push_back({to, from});
  }
  return Digraph(size(), edges);
}

Sccs stronglyConnectedComponents(const Digraph& graph) {
  const uint32_t n = graph.size();
  Sccs result;
  result.component.assign(n, kNoNode);
  std::vector<uint32_t> index(n, kNoNode), low(n, 0), open;
  struct Frame {
    uint32_t node;
    uint32_t next;
  };
  std::vector<Frame> stack;
  uint32_t clock = 0;
  for (uint32_t start = 0; start < n; ++start) {
    if (index[start] != kNoNode) continue;
    stack.push_back({start, 0});
    index[start] = low[start] = clock++;
    open.push_back(start);
    while (!stack.empty()) {
      Frame& top = stack.back();
      const uint32_t node = top.node;
      std::span<const uint32_t> succs = graph.succs(node);
      if (top.next < succs.size()) {
        uint32_t to = succs[top.next++];
        if (index[to] == kNoNode) {
          index[to] = low[to] = clock++;
          open.push_back(to);
          stack.push_back({to, 0});
        } else if (result.component[to] == kNoNode) {
          low[node] = std::min(low[node], index[to]);
        }
        continue;
      }
      stack.pop_back();
      if (!stack.empty()) low[stack.back().node] = std::min(low[stack.back().node], low[node]);
      if (low[node] != index[node]) continue;
      uint32_t members = 0;
      uint32_t member;
      do {
        member = open.back();
        open.pop_back();
        result.component[member] = result.count();
        ++members;
      } while (member != node);
      result.size.push_back(members);
    }
  }
  return result;
}

std::vector<uint32_t> immediateDominators(const Digraph& graph, uint32_t root) {
  const uint32_t n = graph.size();
  std::vector<uint32_t> result(n, kNoNode);
  // Preorder numbers of the nodes reached; `parent` and all below are in these numbers.
  std::vector<uint32_t> pre(n, kNoNode), vertex, parent;
  struct Frame {
    uint32_t node;
    uint32_t next;
  };
  std::vector<Frame> stack;
  auto visit = [&](uint32_t node, uint32_t from) {
    pre[node] = static_cast<uint32_t>(vertex.size());
    vertex.push_back(node);
    parent.push_back(from);
    stack.push_back({node, 0});
  };
  visit(root, kNoNode);
  while (!stack.empty()) {
    Frame& top = stack.back();
    std::span<const uint32_t> succs = graph.succs(top.node);
    if (top.next == succs.size()) {
      stack.pop_back();
      continue;
    }
    uint32_t to = succs[top.next++];
    if (pre[to] == kNoNode) visit(to, pre[top.node]);
  }

  const uint32_t reached = static_cast<uint32_t>(vertex.size());
  std::vector<uint32_t> semi(parent), label(reached), above(parent), idom(parent);
  for (uint32_t i = 0; i < reached; ++i) label[i] = i;
  std::vector<uint32_t> path;
  // The vertex with the least semidominator on the way from v up to the last one numbered at least
  // `limit`, which are the vertices whose semidominator is known.
  auto eval = [&](uint32_t v, uint32_t limit) {
    if (above[v] == kNoNode || above[v] < limit) return label[v];
    path.clear();
    while (above[v] != kNoNode && above[v] >= limit) {
      path.push_back(v);
      v = above[v];
    }
    while (!path.empty()) {
      uint32_t w = path.back();
      path.pop_back();
      above[w] = above[v];
      if (semi[label[v]] < semi[label[w]]) label[w] = label[v];
      v = w;
    }
    return label[v];
  };
  const Digraph preds = graph.reversed();
  for (uint32_t w = reached - 1; w >= 1; --w) {
    for (uint32_t from : preds.succs(vertex[w])) {
      if (pre[from] == kNoNode) continue;
      uint32_t v = pre[from];
      semi[w] = std::min(semi[w], v <= w ? v : semi[eval(v, w + 1)]);
    }
  }
  for (uint32_t w = 1; w < reached; ++w) {
    while (idom[w] > semi[w]) idom[w] = idom[idom[w]];
    result[vertex[w]] = vertex[idom[w]];
  }
  return result;
}

ForestOrder::ForestOrder(std::span<const uint32_t> parents)
    : in_(parents.size()), last_(parents.size()), depth_(parents.size(), 0) {
  const uint32_t n = static_cast<uint32_t>(parents.size());
  std::vector<Digraph::Edge> edges;
  edges.reserve(n);
  for (uint32_t i = 0; i < n; ++i) {
    if (parents[i] != kNoNode) edges.push_back({parents[i], i});
  }
  const Digraph children(n, edges);
  order_.reserve(n);
  std::vector<uint32_t> stack;
  for (uint32_t root = 0; root < n; ++root) {
    if (parents[root] != kNoNode) continue;
    stack.push_back(root);
    while (!stack.empty()) {
      uint32_t node = stack.back();
      stack.pop_back();
      in_[node] = static_cast<uint32_t>(order_.size());
      order_.push_back(node);
      std::span<const uint32_t> kids = children.succs(node);
      for (size_t i = kids.size(); i-- > 0;) {
        depth_[kids[i]] = depth_[node] + 1;
        stack.push_back(kids[i]);
      }
    }
  }
  for (uint32_t i = 0; i < n; ++i) last_[i] = in_[i];
  for (size_t i = order_.size(); i-- > 0;) {
    uint32_t node = order_[i];
    if (parents[node] != kNoNode) {
      last_[parents[node]] = std::max(last_[parents[node]], last_[node]);
    }
  }
}

}  // namespace mtlc::analysis
