#include "mtlc/ir/ir.h"

#include <algorithm>
#include <random>
#include <set>

#include "gtest/gtest.h"
#include "mtlc/ir/builder.h"
#include "mtlc/ir/dominance.h"

namespace mtlc::ir {
namespace {

struct Fixture {
  SourceManager sources;
  Module module{sources, "m"};
  Builder b{module};
  Function* makeFunction(std::vector<Type> params = {}) {
    return module.addFunction({.name = module.uniqueName("f"), .params = std::move(params)});
  }
};

// The use list of every value agrees with the operands that mention it.
void checkUseLists(const Function& f) {
  std::set<const Use*> expected;
  for (Block& block : f.blocks()) {
    for (Operation& op : block.ops()) {
      for (Use& use : op.uses()) {
        if (use.value()) expected.insert(&use);
      }
    }
  }
  std::set<const Use*> found;
  auto walk = [&](const Value* v) {
    for (const Use* u = v->firstUse(); u; u = u->next()) {
      EXPECT_EQ(u->value(), v);
      EXPECT_TRUE(found.insert(u).second);
    }
  };
  for (Block& block : f.blocks()) {
    for (Value* arg : block.args()) walk(arg);
    for (Operation& op : block.ops()) {
      if (op.result()) walk(op.result());
    }
  }
  EXPECT_EQ(expected, found);
}

TEST(Ir, SuccessorArgumentsKeepTheirPlaces) {
  Fixture x;
  Function* f = x.makeFunction({kI1, kI32, kI32});
  Block* entry = f->addBlock("entry");
  Block* left = f->addBlock("left");
  Block* right = f->addBlock("right");
  left->addArg(kI32);
  right->addArg(kI32);
  right->addArg(kI32);
  x.b.setInsertEnd(entry);
  Value* c = f->param(0);
  Value* p = f->param(1);
  Value* q = f->param(2);
  Value* const one[] = {p};
  Value* const two[] = {q, p};
  Operation* br = x.b.br(c, left, right, one, two);
  br->appendSuccessorArg(0, q);
  left->addArg(kI32);
  EXPECT_EQ(br->successorArg(0, 0), p);
  EXPECT_EQ(br->successorArg(0, 1), q);
  EXPECT_EQ(br->successorArg(1, 0), q);
  EXPECT_EQ(br->successorArg(1, 1), p);
  Value* const three[] = {q, q, q, p};
  br->setSuccessorArgs(0, three);
  EXPECT_EQ(br->operandCount(), 7u);
  EXPECT_EQ(br->successorArg(0, 3), p);
  EXPECT_EQ(br->successorArg(1, 1), p);
  checkUseLists(*f);
  right->removeArg(0);
  EXPECT_EQ(right->argCount(), 1u);
  EXPECT_EQ(right->arg(0)->argIndex(), 0u);
  EXPECT_EQ(br->successorArg(1, 0), p);
  EXPECT_EQ(left->predecessorCount(), 1u);
  br->setSuccessorBlock(0, right);
  EXPECT_EQ(left->predecessorCount(), 0u);
  EXPECT_EQ(right->predecessorCount(), 2u);
  br->erase();
  EXPECT_EQ(right->predecessorCount(), 0u);
  EXPECT_FALSE(p->hasUses());
  checkUseLists(*f);
}

TEST(Ir, ReplaceMoveSplitErase) {
  Fixture x;
  Function* f = x.makeFunction({kI32});
  Block* entry = f->addBlock();
  x.b.setInsertEnd(entry);
  Value* a = f->param(0);
  Value* sum = x.b.add(a, a);
  Value* product = x.b.mul(sum, a);
  Operation* ret = x.b.ret();
  Block* tail = f->addBlock();
  entry->moveTailTo(product->def(), tail);
  EXPECT_EQ(tail->front(), product->def());
  EXPECT_EQ(tail->back(), ret);
  EXPECT_EQ(ret->block(), tail);
  EXPECT_EQ(entry->back(), sum->def());
  sum->replaceAllUsesWith(a);
  EXPECT_FALSE(sum->hasUses());
  sum->def()->erase();
  EXPECT_TRUE(entry->empty());
  product->def()->moveToEnd(entry);
  EXPECT_EQ(entry->front(), product->def());
  checkUseLists(*f);
}

TEST(Ir, ComparesInvertAndSwapConsistently) {
  for (int i = static_cast<int>(Opcode::CmpEq); i <= static_cast<int>(Opcode::FCmpUno); ++i) {
    Opcode op = static_cast<Opcode>(i);
    EXPECT_EQ(invertedCompare(invertedCompare(op)), op);
    EXPECT_EQ(swappedCompare(swappedCompare(op)), op);
    EXPECT_EQ(opInfo(op).has(Commutative), swappedCompare(op) == op);
  }
  for (int i = 0; i < kOpcodeCount; ++i) {
    Opcode op = static_cast<Opcode>(i);
    EXPECT_EQ(opcodeFromMnemonic(opInfo(op).mnemonic), op);
  }
  EXPECT_FALSE(opcodeFromMnemonic("addx").has_value());
}

// Dominance by its definition: a dominates b if b cannot be reached from the entry without a.
bool dominatesByDefinition(const Function& f, const Block* a, const Block* b) {
  std::set<const Block*> seen;
  std::vector<const Block*> work;
  if (f.entry() != a) work.push_back(f.entry());
  while (!work.empty()) {
    const Block* at = work.back();
    work.pop_back();
    if (!seen.insert(at).second) continue;
    if (at == b) return false;
    for (Successor& s : at->terminator()->successors()) {
      if (s.block() != a) work.push_back(s.block());
    }
  }
  return true;
}

TEST(Dominance, AgreesWithTheDefinitionOnRandomGraphs) {
  std::mt19937 rng(7);
  for (int round = 0; round < 400; ++round) {
    Fixture x;
    Function* f = x.makeFunction({kI1});
    int n = 1 + static_cast<int>(rng() % 14);
    std::vector<Block*> blocks;
    for (int i = 0; i < n; ++i) blocks.push_back(f->addBlock());
    for (Block* block : blocks) {
      x.b.setInsertEnd(block);
      Block* s = blocks[rng() % blocks.size()];
      Block* t = blocks[rng() % blocks.size()];
      switch (rng() % 4) {
        case 0:
          x.b.ret();
          break;
        case 1:
          x.b.jump(s);
          break;
        default:
          x.b.br(f->param(0), s, t);
      }
    }
    DominatorTree tree(*f);
    for (Block* a : blocks) {
      for (Block* b : blocks) {
        if (!tree.reachable(b) || !tree.reachable(a)) continue;
        ASSERT_EQ(tree.dominates(a, b), dominatesByDefinition(*f, a, b)) << round;
      }
      if (!tree.reachable(a)) continue;
      if (Block* d = tree.idom(a)) {
        ASSERT_TRUE(dominatesByDefinition(*f, d, a));
        for (Block* b : blocks) {
          if (b != a && tree.reachable(b) && dominatesByDefinition(*f, b, a)) {
            ASSERT_TRUE(dominatesByDefinition(*f, b, d));
          }
        }
      } else {
        ASSERT_EQ(a, f->entry());
      }
    }
  }
}

TEST(Dominance, DeepAndWideGraphsDoNotRecurse) {
  Fixture x;
  Function* f = x.makeFunction({kI1});
  std::vector<Block*> blocks;
  for (int i = 0; i < 200000; ++i) blocks.push_back(f->addBlock());
  for (size_t i = 0; i < blocks.size(); ++i) {
    x.b.setInsertEnd(blocks[i]);
    if (i + 1 == blocks.size()) {
      x.b.ret();
    } else {
      x.b.br(f->param(0), blocks[i + 1], blocks.back());
    }
  }
  DominatorTree tree(*f);
  EXPECT_EQ(tree.idom(blocks[150000]), blocks[149999]);
  EXPECT_EQ(tree.idom(blocks.back()), blocks[0]);
}

}  // namespace
}  // namespace mtlc::ir
