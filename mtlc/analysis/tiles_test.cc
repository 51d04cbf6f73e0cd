// Tile linearity against a walk of every operation on random control flow.

#include "mtlc/analysis/tiles.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "mtlc/analysis/graph.h"
#include "mtlc/analysis/test_util.h"
#include "mtlc/ir/builder.h"
#include "mtlc/ir/dominance.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"

namespace mtlc::analysis {
namespace {

using ir::Block;
using ir::Operation;
using ir::Slot;
using ir::Value;
using Kind = TileProblem::Kind;

constexpr ir::MmaDesc kTile{.m = 16, .n = 16, .k = 16};

// Random blocks with tiles that are begun, stepped, committed and handed on, often wrongly.
void makeKernel(ir::Module& module, std::mt19937& random) {
  auto pick = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  const uint32_t n = 2 + pick(6);
  const std::vector<Digraph::Edge> edges = randomEdges(random, n);
  const Digraph graph(n, edges);
  const ir::Type pointer = ir::Type::ptr(ir::Space::Global);
  ir::FunctionSpec spec{.name = "k", .isKernel = true};
  spec.params = {pointer, pointer, pointer, ir::kI1};
  ir::Function* f = module.addFunction(spec);
  std::vector<Block*> blocks;
  const ir::Type tile = ir::tileType(kTile);
  for (uint32_t i = 0; i < n; ++i) {
    blocks.push_back(f->addBlock(absl::StrCat("b", i)));
    if (i > 0 && pick(3) == 0) blocks[i]->addArg(tile);
    if (i > 0 && pick(8) == 0) blocks[i]->addArg(tile);
  }
  const std::vector<uint32_t> idom = immediateDominators(graph, 0);
  const ForestOrder tree(idom);
  // Tiles that dominate each block; those used already come last and are rarely taken again.
  std::vector<std::vector<Value*>> available(n);
  ir::Builder b(module);
  for (uint32_t i : tree.preorder()) {
    std::vector<Value*>& tiles = available[i];
    if (idom[i] != kNoNode) tiles = available[idom[i]];
    b.setInsertEnd(blocks[i]);
    for (Value* arg : blocks[i]->args()) {
      if (arg->type().isTile()) tiles.push_back(arg);
    }
    std::vector<Value*> used;
    auto begin = [&] {
      Value* home = f->param(pick(2));
      const ir::Builder::SlotOperand operands[] = {{Slot::C, home}, {Slot::D, home}};
      return b.accBegin(kTile, operands);
    };
    auto take = [&]() -> Value* {
      if (tiles.empty() || pick(10) == 0) {
        if (used.empty() || pick(3)) return begin();
        return used[pick(static_cast<uint32_t>(used.size()))];
      }
      const uint32_t at = static_cast<uint32_t>(tiles.size()) - 1;
      Value* v = tiles[at];
      if (pick(12)) tiles.erase(tiles.begin() + at);
      used.push_back(v);
      return v;
    };
    for (uint32_t k = pick(4); k > 0; --k) {
      switch (pick(5)) {
        case 0:
          tiles.push_back(begin());
          break;
        case 1: {
          if (tiles.empty()) break;
          Value* a = f->param(pick(4) ? 2 : pick(2));
          const ir::Builder::SlotOperand operands[] = {
              {Slot::Tile, take()}, {Slot::A, a}, {Slot::B, a}};
          tiles.push_back(b.accMma(kTile, operands));
          break;
        }
        case 2:
          if (!tiles.empty()) b.accCommit(take());
          break;
        case 3:
          if (pick(3) == 0) b.load(ir::kF32, f->param(pick(2)));
          break;
        default:
          break;
      }
    }
    const std::span<const uint32_t> succs = graph.succs(i);
    if (succs.empty()) {
      while (!tiles.empty() && pick(8)) b.accCommit(take());
      b.ret();
      continue;
    }
    std::vector<Value*> args[2];
    const std::vector<Value*> before = tiles;
    for (size_t s = 0; s < succs.size(); ++s) {
      if (pick(4)) tiles = before;  // Each way may take the same tile.
      for (size_t k = 0; k < blocks[succs[s]]->args().size(); ++k) args[s].push_back(take());
    }
    if (pick(4) == 0) tiles = before;
    if (succs.size() == 1) {
      b.jump(blocks[succs[0]], args[0]);
    } else {
      b.br(f->param(3), blocks[succs[0]], blocks[succs[1]], args[0], args[1]);
    }
  }
}

unsigned usesOf(const Operation& op, const Value* v, unsigned first, unsigned count) {
  unsigned n = 0;
  for (unsigned i = first; i < first + count; ++i) n += op.operand(i) == v;
  return n;
}

// All that can happen to a tile, from its definition on.
struct Walk {
  std::set<Kind> kinds;
  std::set<const Operation*> held;  // Operations executed while the tile is held.

  explicit Walk(const Value* v) : tile(v) {
    if (v->isBlockArg()) {
      run(v->argBlock()->front(), 0);
    } else {
      run(v->def()->next(), 0);
    }
    while (!work.empty()) {
      auto [op, consumed] = work.back();
      work.pop_back();
      run(op, consumed);
    }
  }

 private:
  void run(const Operation* op, unsigned consumed) {
    for (; op; op = op->next()) {
      if (!seen.insert({op, consumed}).second) return;
      if (op == tile->def()) {
        if (consumed == 0) kinds.insert(Kind::NotConsumed);
        return;
      }
      if (consumed == 0) held.insert(op);
      if (op->isTerminator()) break;
      consumed += usesOf(*op, tile, 0, op->operandCount());
      if (consumed > 1) {
        kinds.insert(Kind::Twice);
        return;
      }
    }
    if (op->successorCount() == 0 && consumed == 0) kinds.insert(Kind::NotConsumed);
    for (unsigned e = 0; e < op->successorCount(); ++e) {
      const ir::Successor& s = op->successor(e);
      const unsigned now = consumed + usesOf(*op, tile, s.firstArg(), s.argCount());
      if (now > 1) {
        kinds.insert(Kind::Twice);
      } else if (tile->isBlockArg() && s.block() == tile->argBlock()) {
        if (now == 0) kinds.insert(Kind::NotConsumed);
      } else {
        work.push_back({s.block()->front(), now});
      }
    }
  }
  const Value* tile;
  std::set<std::pair<const Operation*, unsigned>> seen;
  std::vector<std::pair<const Operation*, unsigned>> work;
};

// The acc.begin operations that a tile may come from.
std::set<const Operation*> begins(const Value* v, const std::set<const Block*>& reachable) {
  std::set<const Operation*> out;
  std::set<const Value*> seen;
  std::vector<const Value*> work = {v};
  while (!work.empty()) {
    const Value* t = work.back();
    work.pop_back();
    if (!seen.insert(t).second) continue;
    if (!t->isBlockArg()) {
      if (t->def()->opcode() == ir::Opcode::TensorAccBegin) {
        out.insert(t->def());
      } else {
        work.push_back(t->def()->slot(Slot::Tile));
      }
      continue;
    }
    for (ir::Successor* s = t->argBlock()->firstPredecessor(); s; s = s->nextPredecessor()) {
      if (reachable.contains(s->owner()->block())) {
        work.push_back(s->owner()->successorArg(s->index(), t->argIndex()));
      }
    }
  }
  return out;
}

bool touches(const Operation& op, const Value* pointer) {
  switch (op.opcode()) {
    case ir::Opcode::Load:
      return op.operand(0) == pointer;
    case ir::Opcode::TensorAccBegin:
      return op.slot(Slot::C) == pointer || op.slot(Slot::D) == pointer;
    case ir::Opcode::TensorAccMma:
      return op.slot(Slot::A) == pointer || op.slot(Slot::B) == pointer;
    default:
      return false;
  }
}

TEST(TilesBruteForce, ProblemsAreThoseOfTheWalk) {
  int good = 0, bad[4] = {};
  for (uint32_t seed = 1; seed <= 20000; ++seed) {
    std::mt19937 random(seed);
    SourceManager sources;
    ir::Module module(sources, "random");
    makeKernel(module, random);
    DiagnosticEngine diags;
    ASSERT_TRUE(ir::verify(module, diags)) << renderHuman(diags, sources) << ir::print(module);
    const ir::Function& f = *module.findFunction("k");
    const Tiles tiles(f);
    SCOPED_TRACE(absl::StrCat("seed ", seed));

    std::map<const Value*, Kind> linear;
    std::set<const Operation*> touched;
    bool differ = false;
    for (const TileProblem& p : tiles.problems()) {
      ASSERT_NE(p.kind, Kind::TooFar);
      if (p.kind == Kind::HomesDiffer) {
        differ = true;
      } else if (p.kind == Kind::HomeTouched) {
        EXPECT_TRUE(touched.insert(p.op).second);
      } else {
        EXPECT_TRUE(linear.emplace(p.tile, p.kind).second);
      }
    }

    const std::vector<Block*> order = ir::reversePostOrder(f);
    const std::set<const Block*> reachable(order.begin(), order.end());
    std::set<const Operation*> wantedTouched;
    bool wantedDiffer = false;
    auto check = [&](const Value* v) {
      if (!v->type().isTile()) return;
      const Walk walk(v);
      const auto got = linear.find(v);
      EXPECT_EQ(got != linear.end(), !walk.kinds.empty()) << ir::print(module);
      if (got != linear.end()) {
        EXPECT_TRUE(walk.kinds.contains(got->second)) << ir::print(module);
        ++bad[static_cast<int>(got->second)];
      }
      const std::set<const Operation*> from = begins(v, reachable);
      std::set<const Value*> homes;
      for (const Operation* begin : from) homes.insert(begin->slot(Slot::D));
      if (homes.size() > 1 && v->isBlockArg()) wantedDiffer = true;
      if (homes.size() != 1) return;
      EXPECT_NE(tiles.home(v), nullptr);
      if (!tiles.home(v)) return;
      EXPECT_EQ(tiles.home(v)->slot(Slot::D), *homes.begin()) << ir::print(module);
      for (const Operation* op : walk.held) {
        if (touches(*op, *homes.begin())) wantedTouched.insert(op);
      }
    };
    for (const Block* block : order) {
      for (const Value* arg : block->args()) check(arg);
      for (const Operation& op : block->ops()) {
        if (op.result()) check(op.result());
      }
    }
    EXPECT_EQ(differ, wantedDiffer) << ir::print(module);
    // Where a tile is wrong already, not all is followed.
    if (!wantedDiffer && linear.empty()) {
      EXPECT_EQ(touched, wantedTouched) << ir::print(module);
    }
    bad[2] += differ;
    bad[3] += !touched.empty();
    good += tiles.any() && tiles.problems().empty();
    if (testing::Test::HasFailure()) return;
  }
  std::printf("good %d, not consumed %d, twice %d, homes differ %d, touched %d\n", good, bad[0],
              bad[1], bad[2], bad[3]);
  EXPECT_GT(good, 1000);
  for (int n : bad) EXPECT_GT(n, 200);
}

// A tile that leaves a loop in which it was not made, along the exit edge only.
TEST(Tiles, AnExitEdgeIsTakenOnce) {
  ParsedModule m = parse(R"(
kernel @k(%c: ptr<global>, %p: i1) {
^entry:
  %t = tensor.acc.begin c=%c, d=%c {m16n16, acc=f32} : tile<16x16xf32>
  jump ^head
^head:
  br %p, ^done(%t), ^head
^done(%u: tile<16x16xf32>):
  tensor.acc.commit %u
  ret
}
)");
  EXPECT_TRUE(Tiles(*m.function("k")).problems().empty());
}

// Thousands of tiles held through thousands of blocks are refused, not followed.
TEST(Tiles, ManyTilesThroughManyBlocks) {
  SourceManager sources;
  ir::Module module(sources, "big");
  ir::FunctionSpec spec{.name = "k", .isKernel = true};
  spec.params = {ir::Type::ptr(ir::Space::Global)};
  ir::Function* f = module.addFunction(spec);
  ir::Builder b(module);
  b.setInsertEnd(f->addBlock("entry"));
  std::vector<Value*> held;
  const ir::Builder::SlotOperand operands[] = {{Slot::C, f->param(0)}, {Slot::D, f->param(0)}};
  for (int i = 0; i < 10'000; ++i) held.push_back(b.accBegin(kTile, operands));
  for (int i = 0; i < 10'000; ++i) {
    Block* next = f->addBlock();
    b.jump(next);
    b.setInsertEnd(next);
  }
  for (Value* v : held) b.accCommit(v);
  b.ret();
  const Tiles tiles(*f);
  EXPECT_EQ(std::count_if(tiles.problems().begin(), tiles.problems().end(),
                          [](const TileProblem& p) { return p.kind == Kind::TooFar; }),
            1);
}

}  // namespace
}  // namespace mtlc::analysis
