#include "mtlc/analysis/cfg.h"

#include <algorithm>
#include <random>
#include <set>

#include "gtest/gtest.h"
#include "mtlc/analysis/loops.h"
#include "mtlc/analysis/postdominance.h"
#include "mtlc/analysis/test_util.h"

namespace mtlc::analysis {
namespace {

TEST(Cfg, NumbersReachableBlocksAndSurvivesReuseOfScratch) {
  SourceManager sources;
  ir::Module module(sources);
  // 0 → 1, 2; 1 → 3; 2 → 3; 4 is unreachable and leads to 3.
  ir::Function* f = kernelFromEdges(module, 5, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {4, 3}});
  const Cfg cfg(*f);
  ASSERT_EQ(cfg.size(), 4u);
  EXPECT_EQ(cfg.block(0), f->entry());
  EXPECT_EQ(cfg.preds(3).size(), 2u);
  EXPECT_EQ(cfg.returns(), std::vector<uint32_t>{3});
  for (ir::Block& block : f->blocks()) block.scratch = 1;
  for (uint32_t i = 0; i < cfg.size(); ++i) EXPECT_EQ(cfg.index(cfg.block(i)), i);
  EXPECT_FALSE(cfg.reachable(f->lastBlock()));
  EXPECT_EQ(cfg.index(f->lastBlock()), kNoNode);
}

TEST(Cfg, CriticalEdges) {
  SourceManager sources;
  ir::Module module(sources);
  // A bottom-tested loop with an exit that others reach too: 1 → 1 and 1 → 2 are critical, 0 → 1 is
  // not.
  ir::Function* f = kernelFromEdges(module, 3, {{0, 1}, {0, 2}, {1, 1}, {1, 2}});
  std::vector<std::string> found;
  const BlockLabels labels(*f);
  const Cfg cfg(*f);
  for (ir::Successor* s : criticalEdges(cfg)) {
    found.push_back(labels[s->owner()->block()] + labels[s->block()]);
  }
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, (std::vector<std::string>{"^b0^b1", "^b0^b2", "^b1^b1", "^b1^b2"}));
  // Both arms of a br on one block: two edges from one block, each critical.
  ir::Function* g = kernelFromEdges(module, 2, {{0, 1}, {0, 1}});
  EXPECT_EQ(criticalEdges(Cfg(*g)).size(), 2u);
  ir::Function* h = kernelFromEdges(module, 3, {{0, 1}, {0, 2}, {1, 2}});
  EXPECT_EQ(criticalEdges(Cfg(*h)).size(), 1u);
}

TEST(Cfg, Declaration) {
  SourceManager sources;
  ir::Module module(sources);
  ir::Function* f = module.addFunction({.name = "ext"});
  EXPECT_EQ(Cfg(*f).size(), 0u);
  EXPECT_EQ(LoopForest(Cfg(*f)).size(), 0u);
}

// Some path from `from` to a return, or to where an endless region is entered, that avoids
// `without`?
bool reachesExit(const Cfg& cfg, const PostDominatorTree& tree, uint32_t from, uint32_t without) {
  std::vector<bool> seen(cfg.size(), false);
  std::vector<uint32_t> work;
  auto visit = [&](uint32_t b) {
    if (b != without && !seen[b]) {
      seen[b] = true;
      work.push_back(b);
    }
  };
  visit(from);
  const std::vector<uint32_t>& gated = tree.gatedBlocks();
  while (!work.empty()) {
    uint32_t b = work.back();
    work.pop_back();
    if (cfg.succs(b).empty()) return true;
    for (uint32_t to : cfg.succs(b)) {
      if (std::binary_search(gated.begin(), gated.end(), to)) return true;
      visit(to);
    }
  }
  return false;
}

TEST(PostDominance, AgreesWithTheDefinition) {
  std::mt19937 random(4);
  int endlessGraphs = 0;
  for (int round = 0; round < 500; ++round) {
    SourceManager sources;
    ir::Module module(sources);
    const uint32_t n = 1 + random() % 12;
    ir::Function* f = kernelFromEdges(module, n, randomEdges(random, n));
    const Cfg cfg(*f);
    const PostDominatorTree tree(cfg);
    endlessGraphs += !tree.gatedBlocks().empty();
    for (uint32_t a = 0; a < cfg.size(); ++a) {
      EXPECT_NE(tree.ipdom(a), kNoNode);
      EXPECT_TRUE(tree.postDominates(tree.exit(), a));
      for (uint32_t b = 0; b < cfg.size(); ++b) {
        EXPECT_EQ(tree.postDominates(a, b), a == b || !reachesExit(cfg, tree, b, a));
      }
    }
  }
  EXPECT_GT(endlessGraphs, 50);
}

TEST(PostDominance, AnEndlessLoopLeavesBeforeItsHeader) {
  SourceManager sources;
  ir::Module module(sources);
  // 0 → 1 → {2, 3} → 4 → 1, without any return.
  ir::Function* f = kernelFromEdges(module, 5, {{0, 1}, {1, 2}, {1, 3}, {2, 4}, {3, 4}, {4, 1}});
  const Cfg cfg(*f);
  const PostDominatorTree tree(cfg);
  ASSERT_EQ(tree.gatedBlocks().size(), 1u);
  EXPECT_EQ(cfg.block(tree.gatedBlocks()[0])->name(), "b1");
  // Inside, everything still goes through the latch.
  for (std::string_view inside : {"b1", "b2", "b3"}) {
    EXPECT_TRUE(
        tree.postDominates(cfg.index(blockNamed(*f, "b4")), cfg.index(blockNamed(*f, inside))));
  }
  EXPECT_EQ(printPostDominators(*f),
            "  ^b0 ipdom: gate of ^b1\n"
            "  ^b1 ipdom: ^b4\n"
            "  ^b3 ipdom: ^b4\n"
            "  ^b2 ipdom: ^b4\n"
            "  ^b4 ipdom: gate of ^b1\n"
            "  gate of ^b1 ipdom: exit\n");
}

// The nesting by its definition: the outermost loops are the strongly connected components, the
// inner ones those of a loop without its header.
void checkNesting(const Cfg& cfg, const LoopForest& loops, const std::set<uint32_t>& blocks,
                  uint32_t parent, uint32_t& found) {
  std::vector<Digraph::Edge> edges;
  for (uint32_t b : blocks) {
    for (uint32_t to : cfg.succs(b)) {
      if (blocks.contains(to)) edges.push_back({b, to});
    }
  }
  const Digraph g(cfg.size(), edges);
  const Sccs sccs = stronglyConnectedComponents(g);
  for (uint32_t c = 0; c < sccs.count(); ++c) {
    std::set<uint32_t> body;
    for (uint32_t b : blocks) {
      if (sccs.component[b] == c) body.insert(b);
    }
    if (body.empty()) continue;
    const uint32_t any = *body.begin();
    std::span<const uint32_t> succs = g.succs(any);
    if (body.size() == 1 && std::find(succs.begin(), succs.end(), any) == succs.end()) continue;
    ++found;
    // Which loop has exactly these blocks below `parent`?
    uint32_t loop = kNoNode;
    for (uint32_t l = 0; l < loops.size(); ++l) {
      if (loops[l].parent == parent && body.contains(loops[l].header)) loop = l;
    }
    ASSERT_NE(loop, kNoNode);
    std::span<const uint32_t> got = loops.blocks(loop);
    EXPECT_EQ(std::set<uint32_t>(got.begin(), got.end()), body);
    EXPECT_EQ(got.size(), body.size());
    EXPECT_EQ(got[0], loops[loop].header);
    EXPECT_EQ(loops[loop].depth, parent == kNoNode ? 1 : loops[parent].depth + 1);
    std::set<uint32_t> entries;
    for (uint32_t b : body) {
      EXPECT_TRUE(loops.contains(loop, b));
      for (uint32_t from : cfg.preds(b)) {
        if (!body.contains(from)) entries.insert(b);
      }
    }
    std::vector<uint32_t> gotEntries = loops.entries(loop);
    EXPECT_EQ(std::set<uint32_t>(gotEntries.begin(), gotEntries.end()), entries);
    EXPECT_TRUE(entries.contains(loops[loop].header));
    EXPECT_EQ(loops[loop].irreducible, entries.size() > 1);
    body.erase(loops[loop].header);
    checkNesting(cfg, loops, body, loop, found);
  }
}

TEST(Loops, ForestAgreesWithTheDefinition) {
  std::mt19937 random(5);
  int irreducible = 0;
  uint32_t total = 0;
  for (int round = 0; round < 2000; ++round) {
    SourceManager sources;
    ir::Module module(sources);
    const uint32_t n = 2 + random() % 14;
    ir::Function* f = kernelFromEdges(module, n, randomEdges(random, n));
    const Cfg cfg(*f);
    const LoopForest loops(cfg);
    std::set<uint32_t> all;
    for (uint32_t b = 0; b < cfg.size(); ++b) all.insert(b);
    uint32_t found = 0;
    checkNesting(cfg, loops, all, kNoNode, found);
    EXPECT_EQ(found, loops.size());
    total += found;
    for (uint32_t l = 0; l < loops.size(); ++l) irreducible += loops[l].irreducible;
  }
  EXPECT_GT(irreducible, 100);
  EXPECT_GT(total, 1000u);
}

// A ladder of cross edges into nested loops, and a deep nest: quadratic algorithms take minutes
// here.
TEST(Loops, DeepNestsAreNearLinear) {
  SourceManager sources;
  ir::Module module(sources);
  constexpr uint32_t kN = 100'000;
  std::vector<Digraph::Edge> edges;
  for (uint32_t i = 0; i < kN; ++i) edges.push_back({i, i + 1});
  for (uint32_t i = 1; i < kN; ++i) edges.push_back({kN + i, kN - i});
  for (uint32_t i = 0; i < kN; ++i) edges.push_back({kN + i, kN + i + 1});
  ir::Function* f = kernelFromEdges(module, 2 * kN + 1, edges);
  const Cfg cfg(*f);
  const LoopForest loops(cfg);
  EXPECT_EQ(loops.size(), kN - 1);
  EXPECT_EQ(loops.depthOf(kN), kN - 1);
}

constexpr std::string_view kCounted = R"(
kernel @k(%n: i32) {
^entry:
  %zero = const 0 : i32
  %ten = const 10 : i32
  %three = const 3 : i32
  %low = const -7 : i8
  %high = const 120 : i8
  %step = const 9 : i8
  jump ^top(%zero)
^top(%i: i32):                      // i = 0, 3, 6, 9 (12 stops)
  %go = cmp.slt %i, %ten : i32
  br %go, ^body, ^bottom(%low)
^body:
  %next = add %i, %three : i32
  jump ^top(%next)
^bottom(%b: i8):                    // tests the next value: 2, 11, ..., 119 (128 would wrap)
  %b1 = add %b, %step : i8
  %stop = cmp.sgt %b1, %high : i8
  br %stop, ^runtime(%zero), ^bottom(%b1)
^runtime(%r: i32):
  %r1 = sub %r, %three : i32
  %eq = cmp.eq %n, %r1 : i32
  br %eq, ^done, ^runtime(%r1)
^done:
  ret
}
)";

TEST(Loops, CountedLoops) {
  ParsedModule m = parse(kCounted);
  const Cfg cfg(*m.function("k"));
  const LoopForest loops(cfg);
  ASSERT_EQ(loops.size(), 3u);
  auto top = matchCountedLoop(loops, 0);
  ASSERT_TRUE(top);
  EXPECT_EQ(top->induction->name(), "i");
  EXPECT_EQ(top->backEdges, 4u);
  EXPECT_EQ(top->step, 3u);
  // -7 + 9k exceeds 120 only at 128, which i8 cannot hold.
  auto bottom = matchCountedLoop(loops, 1);
  ASSERT_TRUE(bottom);
  EXPECT_EQ(bottom->tested->name(), "b1");
  EXPECT_EQ(bottom->compare, ir::Opcode::CmpSle);
  EXPECT_FALSE(bottom->backEdges);
  auto runtime = matchCountedLoop(loops, 2);
  ASSERT_TRUE(runtime);
  EXPECT_EQ(runtime->bound->name(), "n");
  EXPECT_EQ(runtime->compare, ir::Opcode::CmpNe);
  EXPECT_EQ(runtime->step, 0xFFFFFFFDu);
  EXPECT_FALSE(runtime->backEdges);
}

// Closed form against counting, for all comparisons on i8.
TEST(Loops, TripCountsAgreeWithCounting) {
  constexpr std::string_view kCompares[] = {"eq",  "ne",  "slt", "sle", "sgt",
                                            "sge", "ult", "ule", "ugt", "uge"};
  std::mt19937 random(6);
  int known = 0;
  for (int round = 0; round < 600; ++round) {
    const int start = static_cast<int8_t>(random()), bound = static_cast<int8_t>(random());
    const int step =
        random() % 2 ? static_cast<int8_t>(random()) : static_cast<int>(random() % 7) - 3;
    const std::string_view compare = kCompares[random() % std::size(kCompares)];
    const bool testNext = random() % 2;
    ParsedModule m = parse(
        "\nkernel @k() {\n^entry:\n  %s = const " + std::to_string(start) + " : i8\n  %b = const " +
        std::to_string(bound) + " : i8\n  %c = const " + std::to_string(step) +
        " : i8\n  jump ^loop(%s)\n^loop(%i: i8):\n  %n = add %i, %c : i8\n  %t = cmp." +
        std::string(compare) + (testNext ? " %n" : " %i") +
        ", %b : i8\n  br %t, ^loop(%n), ^done\n^done:\n  ret\n}\n");
    const Cfg cfg(*m.function("k"));
    const LoopForest loops(cfg);
    ASSERT_EQ(loops.size(), 1u);
    auto counted = matchCountedLoop(loops, 0);
    ASSERT_TRUE(counted);
    auto holds = [&](int bits) {
      const int s = static_cast<int8_t>(bits), u = bits & 255, bu = bound & 255;
      if (compare == "eq") return s == bound;
      if (compare == "ne") return s != bound;
      if (compare == "slt") return s < bound;
      if (compare == "sle") return s <= bound;
      if (compare == "sgt") return s > bound;
      if (compare == "sge") return s >= bound;
      if (compare == "ult") return u < bu;
      if (compare == "ule") return u <= bu;
      if (compare == "ugt") return u > bu;
      return u >= bu;
    };
    uint64_t trips = 0;
    for (int i = start; trips < 1000; i += step, ++trips) {
      if (!holds(testNext ? i + step : i)) break;
    }
    if (counted->backEdges) {
      ++known;
      EXPECT_EQ(*counted->backEdges, trips)
          << compare << " " << start << " " << step << " " << bound << " " << testNext;
    }
  }
  EXPECT_GT(known, 200);
}

TEST(Loops, Printed) {
  ParsedModule m = parse(kCounted);
  EXPECT_EQ(printLoops(*m.function("k")),
            "  loop 0 header: ^top depth: 1 blocks: 2 latches: ^body exits: ^top->^bottom "
            "counted, back edges: 4\n"
            "  loop 1 header: ^bottom depth: 1 blocks: 1 latches: ^bottom exits: "
            "^bottom->^runtime counted\n"
            "  loop 2 header: ^runtime depth: 1 blocks: 1 latches: ^runtime exits: "
            "^runtime->^done counted\n");
}

}  // namespace
}  // namespace mtlc::analysis
