// Deep and large input for everything that verifies a module for a device: nothing recurses on the
// host's stack, and nothing takes forever.

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "mtlc/analysis/device_verifier.h"
#include "mtlc/ir/builder.h"
#include "mtlc/ir/verifier.h"

namespace mtlc::analysis {
namespace {

using ir::Block;
using ir::Opcode;
using ir::Slot;
using ir::Value;

constexpr ir::MmaDesc kTile{.m = 16, .n = 16, .k = 16};

struct Big {
  Big() {
    ir::FunctionSpec spec{.name = "k", .isKernel = true};
    spec.params = {ir::Type::ptr(ir::Space::Global), ir::kI32};
    f = module.addFunction(spec);
    b.setInsertEnd(f->addBlock("entry"));
    w = b.allocWorkgroup(ir::kF32, 64);
  }
  void copy() {
    b.asyncCopy(ir::kF32, w, f->param(0), {.count = 4, .transaction = 16});
    b.asyncCommit();
    b.asyncWait(0);
  }
  Value* condition(int64_t n) {
    return b.compare(Opcode::CmpSlt, f->param(1), b.constInt(ir::kI32, n));
  }
  bool verifies() { return ir::verify(module, diags) && verifyForDevice(module, diags); }
  SourceManager sources;
  ir::Module module{sources, "big"};
  ir::Function* f;
  ir::Builder b{module};
  Value* w;
  DiagnosticEngine diags;
};

// Each helper calls the next and the last one copies: a chain of relations.
TEST(Hostile, ChainOfCalls) {
  Big big;
  ir::Function* next = nullptr;
  for (int i = 0; i < 50'000; ++i) {
    const std::string name = "h" + std::to_string(i);
    ir::FunctionSpec spec{.name = name};
    spec.params = {ir::Type::ptr(ir::Space::Workgroup), ir::Type::ptr(ir::Space::Global)};
    ir::Function* h = big.module.addFunction(spec);
    ir::Builder b(big.module);
    b.setInsertEnd(h->addBlock("entry"));
    Value* args[] = {h->param(0), h->param(1)};
    if (next) {
      b.call(next, args);
    } else {
      b.asyncCopy(ir::kF32, args[0], args[1], {.count = 4, .transaction = 16});
      b.asyncCommit();
      b.subgroupVote(Opcode::SubgroupAny, b.constBool(true));
    }
    b.ret();
    next = h;
  }
  Value* args[] = {big.w, big.f->param(0)};
  big.b.call(next, args);
  big.b.asyncWait(0);
  big.b.ret();
  EXPECT_TRUE(big.verifies());
}

void nest(Big& big, int depth, bool exitsOutermost) {
  std::vector<Block*> headers, exits;
  Block* out = big.f->addBlock("out");
  for (int i = 0; i < depth; ++i) {
    Block* header = big.f->addBlock();
    Block* body = big.f->addBlock();
    headers.push_back(header);
    exits.push_back(big.f->addBlock());
    big.b.jump(header);
    big.b.setInsertEnd(header);
    big.b.br(big.condition(i), body, exits.back());
    big.b.setInsertEnd(body);
    if (exitsOutermost) {
      Block* on = big.f->addBlock();
      big.b.br(big.condition(-i), on, out);
      big.b.setInsertEnd(on);
    }
  }
  big.copy();
  big.b.subgroupVote(Opcode::SubgroupAny, big.b.constBool(true));
  for (int i = depth; i-- > 0;) {
    big.b.jump(headers[static_cast<size_t>(i)]);
    big.b.setInsertEnd(exits[static_cast<size_t>(i)]);
  }
  big.b.jump(out);
  big.b.setInsertEnd(out);
  big.b.ret();
}

TEST(Hostile, NestOfLoops) {
  Big big;
  nest(big, 10'000, false);
  EXPECT_TRUE(big.verifies());
}

TEST(Hostile, NestOfLoopsThatAllLeaveAltogether) {
  Big big;
  nest(big, 10'000, true);
  EXPECT_TRUE(big.verifies());
}

TEST(Hostile, NestOfBranches) {
  Big big;
  std::vector<Block*> joins;
  for (int i = 0; i < 10'000; ++i) {
    Block* yes = big.f->addBlock();
    joins.push_back(big.f->addBlock());
    big.b.br(big.condition(i), yes, joins.back());
    big.b.setInsertEnd(yes);
  }
  big.copy();
  for (size_t i = joins.size(); i-- > 0;) {
    big.b.jump(joins[i]);
    big.b.setInsertEnd(joins[i]);
    big.b.barrier();
  }
  big.b.ret();
  EXPECT_TRUE(big.verifies());
}

// A tile handed through a long chain of blocks, and used once in each of many arms.
TEST(Hostile, TileOfManyUses) {
  Big big;
  Value* home = big.f->param(0);
  const ir::Builder::SlotOperand operands[] = {{Slot::C, home}, {Slot::D, home}};
  Value* tile = big.b.accBegin(kTile, operands);
  for (int i = 0; i < 10'000; ++i) {
    Block* yes = big.f->addBlock();
    Block* no = big.f->addBlock();
    big.b.br(big.condition(i), yes, no);
    big.b.setInsertEnd(yes);
    big.b.accCommit(tile);
    big.b.ret();
    big.b.setInsertEnd(no);
  }
  big.b.accCommit(tile);
  big.b.ret();
  EXPECT_TRUE(big.verifies());
}

// One block with many accesses of the home while many tiles are held: all are refused, once each.
TEST(Hostile, ManyTouchesOfManyTiles) {
  Big big;
  Value* home = big.f->param(0);
  const ir::Builder::SlotOperand operands[] = {{Slot::C, home}, {Slot::D, home}};
  std::vector<Value*> tiles;
  for (int i = 0; i < 10'000; ++i) tiles.push_back(big.b.accBegin(kTile, operands));
  for (int i = 0; i < 10'000; ++i) big.b.load(ir::kF32, home);
  for (Value* t : tiles) big.b.accCommit(t);
  big.b.ret();
  EXPECT_TRUE(ir::verify(big.module, big.diags));
  EXPECT_FALSE(verifyForDevice(big.module, big.diags));
  EXPECT_EQ(big.diags.errorCount(), 9'999 + 10'000);
}

}  // namespace
}  // namespace mtlc::analysis
