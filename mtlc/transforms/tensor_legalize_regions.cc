#include "mtlc/transforms/tensor_regions.h"

namespace mtlc::transforms {

using ir::Opcode;
using ir::Slot;
using ir::Value;

void Homes::add(const analysis::TileRegion& region) {
  ops_.insert(ops_.end(), region.ops.begin(), region.ops.end());
  // The device verifier has seen that all tiles of a region have the same home.
  const ir::Operation* first = nullptr;
  for (const ir::Operation* op : region.ops) {
    if (op->opcode() != Opcode::TensorAccBegin) continue;
    if (!first) first = op;
    homes_[op->result()] = {op->slot(Slot::D), op->slot(Slot::Ldd), op->mmaDesc().ldd,
                            op->mmaDesc().dLayout};
  }
  if (!first) return;  // Only code that is never reached.
  Home home = homes_.at(first->result());
  for (Value* tile : region.args) {
    ir::Block* block = tile->argBlock();
    home.pointer = block->addArg(first->slot(Slot::D)->type());
    if (home.leading) home.leading = block->addArg(first->slot(Slot::Ldd)->type());
    homes_[tile] = home;
    arguments_.push_back({tile, home.leading != nullptr});
  }
}

void Homes::connect() {
  for (const Argument& argument : arguments_) {
    ir::Block* block = argument.tile->argBlock();
    for (ir::Successor* s = block->firstPredecessor(); s; s = s->nextPredecessor()) {
      ir::Operation* terminator = s->owner();
      const unsigned edge = s->index();
      const Home home = of(terminator->successorArg(edge, argument.tile->argIndex()));
      terminator->appendSuccessorArg(edge, home.pointer);
      if (argument.hasLeading) terminator->appendSuccessorArg(edge, home.leading);
    }
  }
}

Home Homes::of(Value* tile) {
  std::vector<Value*> chain;
  Value* at = tile;
  while (!homes_.contains(at)) {
    chain.push_back(at);
    at = at->def()->slot(Slot::Tile);
  }
  const Home home = homes_.at(at);
  for (Value* each : chain) homes_[each] = home;
  return home;
}

void Homes::erase() {
  auto dropUses = [](Value* v) {
    while (v->firstUse()) v->firstUse()->set(nullptr);
  };
  for (ir::Operation* op : ops_) {
    if (op->result()) dropUses(op->result());
  }
  for (const Argument& argument : arguments_) dropUses(argument.tile);
  for (ir::Operation* op : ops_) op->erase();
  for (const Argument& argument : arguments_) {
    argument.tile->argBlock()->removeArg(argument.tile->argIndex());
  }
}

}  // namespace mtlc::transforms
