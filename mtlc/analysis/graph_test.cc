#include "mtlc/analysis/graph.h"

#include <random>

#include "gtest/gtest.h"

namespace mtlc::analysis {
namespace {

using Edges = std::vector<Digraph::Edge>;

Edges randomGraph(std::mt19937& random, uint32_t n, uint32_t m) {
  Edges edges;
  for (uint32_t i = 0; i < m; ++i) {
    edges.push_back({static_cast<uint32_t>(random() % n), static_cast<uint32_t>(random() % n)});
  }
  return edges;
}

// By definition: everything found by a search from `from` that doesn't enter `without`.
std::vector<bool> reachable(const Digraph& g, uint32_t from, uint32_t without) {
  std::vector<bool> seen(g.size(), false);
  std::vector<uint32_t> work;
  if (from != without) {
    seen[from] = true;
    work.push_back(from);
  }
  while (!work.empty()) {
    uint32_t node = work.back();
    work.pop_back();
    for (uint32_t to : g.succs(node)) {
      if (to == without || seen[to]) continue;
      seen[to] = true;
      work.push_back(to);
    }
  }
  return seen;
}

TEST(Graph, RowsKeepTheOrderOfEdges) {
  Digraph g(3, Edges{{0, 2}, {1, 0}, {0, 1}, {0, 2}});
  ASSERT_EQ(g.succs(0).size(), 3u);
  EXPECT_EQ(g.succs(0)[0], 2u);
  EXPECT_EQ(g.succs(0)[1], 1u);
  EXPECT_EQ(g.succs(0)[2], 2u);
  EXPECT_EQ(g.reversed().succs(2).size(), 2u);
  EXPECT_EQ(Digraph().size(), 0u);
}

TEST(Graph, DominatorsAgreeWithTheDefinition) {
  std::mt19937 random(1);
  for (int round = 0; round < 400; ++round) {
    const uint32_t n = 1 + random() % 14;
    const Digraph g(n, randomGraph(random, n, random() % (3 * n)));
    const std::vector<uint32_t> idom = immediateDominators(g, 0);
    const std::vector<bool> all = reachable(g, 0, kNoNode);
    std::vector<std::vector<bool>> without;
    for (uint32_t d = 0; d < n; ++d) without.push_back(reachable(g, 0, d));
    for (uint32_t b = 0; b < n; ++b) {
      if (!all[b] || b == 0) {
        EXPECT_EQ(idom[b], kNoNode);
        continue;
      }
      // The dominators by the tree are those whose removal cuts b off.
      std::vector<bool> onChain(n, false);
      for (uint32_t d = b; d != kNoNode; d = idom[d]) onChain[d] = true;
      for (uint32_t d = 0; d < n; ++d) {
        EXPECT_EQ(onChain[d], all[d] && (d == b || !without[d][b])) << "round " << round;
      }
    }
  }
}

TEST(Graph, ComponentsAgreeWithTheDefinition) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    const uint32_t n = 1 + random() % 12;
    const Digraph g(n, randomGraph(random, n, random() % (2 * n)));
    const Sccs sccs = stronglyConnectedComponents(g);
    std::vector<std::vector<bool>> reach;
    for (uint32_t i = 0; i < n; ++i) reach.push_back(reachable(g, i, kNoNode));
    std::vector<uint32_t> members(sccs.count(), 0);
    for (uint32_t a = 0; a < n; ++a) {
      ++members[sccs.component[a]];
      for (uint32_t b = 0; b < n; ++b) {
        EXPECT_EQ(sccs.component[a] == sccs.component[b], reach[a][b] && reach[b][a]);
      }
      for (uint32_t to : g.succs(a)) EXPECT_LE(sccs.component[to], sccs.component[a]);
    }
    EXPECT_EQ(members, sccs.size);
  }
}

TEST(Graph, ForestOrderAnswersAncestorQueries) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const uint32_t n = 1 + random() % 15;
    std::vector<uint32_t> parents(n, kNoNode);
    // Parents may have larger numbers than their children.
    std::vector<uint32_t> shuffled(n);
    for (uint32_t i = 0; i < n; ++i) shuffled[i] = i;
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    for (uint32_t i = 1; i < n; ++i) {
      if (random() % 4) parents[shuffled[i]] = shuffled[random() % i];
    }
    const ForestOrder order(parents);
    ASSERT_EQ(order.preorder().size(), n);
    for (uint32_t b = 0; b < n; ++b) {
      EXPECT_EQ(order.preorder()[order.preorderIndex(b)], b);
      std::vector<bool> above(n, false);
      uint32_t depth = 0;
      for (uint32_t a = b; a != kNoNode; a = parents[a]) above[a] = true, ++depth;
      EXPECT_EQ(order.depth(b), depth - 1);
      for (uint32_t a = 0; a < n; ++a) EXPECT_EQ(order.isAncestor(a, b), above[a]);
    }
  }
}

// A path of a million nodes would overflow the stack of anything recursive; a ladder of back edges
// makes naive dominator algorithms quadratic.
TEST(Graph, DeepGraphsAreNoProblem) {
  constexpr uint32_t kN = 300'000;
  Edges edges;
  for (uint32_t i = 0; i + 1 < kN; ++i) {
    edges.push_back({i, i + 1});
    edges.push_back({i + 1, i / 2});
  }
  const Digraph g(kN, edges);
  EXPECT_EQ(stronglyConnectedComponents(g).count(), 1u);
  const std::vector<uint32_t> idom = immediateDominators(g, 0);
  for (uint32_t i = 1; i < kN; ++i) ASSERT_EQ(idom[i], i - 1);
  EXPECT_EQ(ForestOrder(idom).depth(kN - 1), kN - 1);
}

}  // namespace
}  // namespace mtlc::analysis
