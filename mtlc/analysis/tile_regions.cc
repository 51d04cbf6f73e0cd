#include "mtlc/analysis/tile_regions.h"

#include "mtlc/analysis/loops.h"

namespace mtlc::analysis {
namespace {

using ir::Form;
using ir::Operation;
using ir::Value;

bool isTile(const Value* v) { return v->type().kind() == ir::TypeKind::Tile; }

// The tile that an operation consumes; nullptr for acc.begin and all other operations.
Value* consumed(const Operation& op) {
  for (unsigned i = 0; i < op.operandCount(); ++i) {
    if (isTile(op.operand(i))) return op.operand(i);
  }
  return nullptr;
}

class UnionFind {
 public:
  uint32_t add() {
    parents_.push_back(static_cast<uint32_t>(parents_.size()));
    return parents_.back();
  }
  uint32_t find(uint32_t i) {
    while (parents_[i] != i) i = parents_[i] = parents_[parents_[i]];
    return i;
  }
  // The smaller number stays the representative.
  void unite(uint32_t a, uint32_t b) {
    a = find(a);
    b = find(b);
    if (a < b) {
      parents_[b] = a;
    } else {
      parents_[a] = b;
    }
  }
  uint32_t size() const { return static_cast<uint32_t>(parents_.size()); }

 private:
  std::vector<uint32_t> parents_;
};

bool inWorkgroup(const Operation& mma) {
  return mma.slot(ir::Slot::A)->type().space() == ir::Space::Workgroup &&
         mma.slot(ir::Slot::B)->type().space() == ir::Space::Workgroup;
}

}  // namespace

TileRegions::TileRegions(ir::Function& function) {
  UnionFind sets;
  auto number = [&](const Value* v) {
    auto [at, isNew] = byValue_.try_emplace(v, 0);
    if (isNew) at->second = sets.add();
    return at->second;
  };
  for (ir::Block& block : function.blocks()) {
    for (Value* arg : block.args()) {
      if (isTile(arg)) number(arg);
    }
    for (Operation& op : block.ops()) {
      const Value* in = nullptr;
      if (op.isTerminator()) {
        for (unsigned s = 0; s < op.successorCount(); ++s) {
          const ir::Block* target = op.successor(s).block();
          for (unsigned a = 0; a < target->argCount(); ++a) {
            if (!isTile(target->arg(a))) continue;
            sets.unite(number(target->arg(a)), number(op.successorArg(s, a)));
          }
        }
      } else if ((in = consumed(op)) != nullptr) {
        const uint32_t from = number(in);
        if (op.result() != nullptr && isTile(op.result())) sets.unite(from, number(op.result()));
      } else if (op.result() != nullptr && isTile(op.result())) {
        number(op.result());
      }
    }
  }
  if (byValue_.empty()) return;

  // Representatives become dense numbers in the order of first operations.
  constexpr uint32_t kNone = ~0u;
  std::vector<uint32_t> dense(sets.size(), kNone);
  auto regionOf = [&](const Value* v) -> TileRegion& {
    uint32_t& index = dense[sets.find(byValue_.at(v))];
    if (index == kNone) {
      index = static_cast<uint32_t>(regions_.size());
      regions_.emplace_back();
    }
    return regions_[index];
  };
  bool anyArgs = false;
  // The last product of each region: its block, and the waits and barriers before it.
  struct Product {
    const ir::Block* block = nullptr;
    uint64_t handOffs = 0;
  };
  std::vector<Product> lastProduct;
  uint64_t handOffs = 0;
  for (ir::Block& block : function.blocks()) {
    for (Operation& op : block.ops()) {
      if (op.opcode() == ir::Opcode::AsyncWait || op.opcode() == ir::Opcode::Barrier) ++handOffs;
      const Value* tile = op.isTerminator() ? nullptr : consumed(op);
      if (tile == nullptr && op.result() != nullptr && isTile(op.result())) tile = op.result();
      if (tile == nullptr) continue;
      TileRegion& region = regionOf(tile);
      region.ops.push_back(&op);
      if (op.opcode() == ir::Opcode::TensorAccBegin) {
        region.narrow |= op.mmaDesc().acc != op.mmaDesc().result;
      } else if (op.opcode() == ir::Opcode::TensorAccEpilogue) {
        region.biased |= op.epilogueDesc().bias != ir::BiasMode::None;
      } else if (op.opcode() == ir::Opcode::TensorAccMma) {
        region.operandsInWorkgroup =
            inWorkgroup(op) && (region.products == 0 || region.operandsInWorkgroup);
        ++region.products;
        const size_t index = static_cast<size_t>(&region - regions_.data());
        if (lastProduct.size() < regions_.size()) lastProduct.resize(regions_.size());
        Product& last = lastProduct[index];
        region.staged |= last.block == &block && last.handOffs != handOffs;
        last = {&block, handOffs};
      }
    }
    for (Value* arg : block.args()) {
      if (!isTile(arg)) continue;
      anyArgs = true;
      regionOf(arg).args.push_back(arg);
    }
  }
  if (anyArgs) {
    const Cfg cfg(function);
    const LoopForest loops(cfg);
    for (TileRegion& region : regions_) {
      for (const Operation* op : region.ops) {
        if (op->opcode() != ir::Opcode::TensorAccMma || region.inLoop) continue;
        const uint32_t block = cfg.index(op->block());
        if (block == kNoNode) continue;
        for (uint32_t loop = loops.loopOf(block); loop != kNoNode; loop = loops[loop].parent) {
          for (const Value* arg : cfg.block(loops[loop].header)->args()) {
            if (isTile(arg) && dense[sets.find(byValue_.at(arg))] ==
                                   static_cast<uint32_t>(&region - regions_.data())) {
              region.inLoop = true;
            }
          }
        }
      }
    }
  }
  for (auto& [value, index] : byValue_) index = dense[sets.find(index)];
}

}  // namespace mtlc::analysis
