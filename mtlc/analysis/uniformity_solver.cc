#include "mtlc/analysis/uniformity_solver.h"

#include <bit>

namespace mtlc::analysis {

UniformitySolver::UniformitySolver(const ir::Function& function,
                                   std::span<const UniformityBits> params,
                                   const SummaryOf& summaryOf)
    : cfg_(function), slots_(cfg_) {
  const PostDominatorTree postDominators(cfg_);
  controlCount_ = postDominators.size();
  numberValues();
  const uint32_t nodeCount = arrayNode(static_cast<uint32_t>(slots_.slots().size()));
  bits_.assign(nodeCount, 0);
  pending_.assign(nodeCount, 0);
  for (std::vector<uint32_t>& c : causes_) c.assign(nodeCount, kNoNode);

  addControlEdges(postDominators);
  addMergeEdges();
  for (uint32_t b = 0; b < cfg_.size(); ++b) {
    for (ir::Operation& op : cfg_.block(b)->ops()) addOperation(op, b, summaryOf);
  }
  for (uint32_t i = 0; i < params.size() && cfg_.size() > 0; ++i) {
    raise(valueNode(function.param(i)), params[i], kNoNode);
  }
  propagate(postDominators);
  edges_ = {};
  pending_ = {};
  queue_ = {};
  unmarked_.clear();
}

void UniformitySolver::numberValues() {
  for (ir::Block* block : cfg_.rpo()) {
    for (ir::Value* arg : block->args()) values_.add(arg);
    for (ir::Operation& op : block->ops()) {
      if (op.result()) values_.add(op.result());
    }
  }
  // A definition comes before its uses in reverse post-order, so one walk sees through chains of
  // variables.
  seenThrough_.resize(values_.size());
  for (uint32_t v = 0; v < values_.size(); ++v) {
    seenThrough_[v] = firstValue() + v;
    const ir::Operation* def = values_[v]->def();
    if (!def || def->form() != ir::Form::Load) continue;
    const uint32_t access = slots_.accessIndex(def);
    if (access == kNoNode) continue;
    if (slots_.slots()[slots_.slotOf(access)].kind == PrivateSlots::Kind::Scalar) {
      seenThrough_[v] = definitionNode(slots_.reaching(access));
    }
  }
}

uint32_t UniformitySolver::definitionNode(PrivateSlots::Definition definition) const {
  using Kind = PrivateSlots::Definition::Kind;
  switch (definition.kind) {
    case Kind::Uninitialized:
      return kNoNode;
    case Kind::Store:
      return seenThrough(slots_.access(definition.index)->operand(0));
    case Kind::Merge:
      return mergeNode(definition.index);
  }
  return kNoNode;
}

uint32_t UniformitySolver::seenThrough(const ir::Value* value) const {
  const uint32_t v = values_.find(value);
  return v == kNoNode ? kNoNode : seenThrough_[v];
}

uint32_t UniformitySolver::valueNode(const ir::Value* value) const {
  const uint32_t v = values_.find(value);
  return v == kNoNode ? kNoNode : firstValue() + v;
}

UniformityBits UniformitySolver::valueBits(const ir::Value* value) const {
  const uint32_t node = valueNode(value);
  return node == kNoNode ? kVaryingBits : bits_[node];
}

UniformityBits UniformitySolver::controlBits(const ir::Block* block) const {
  const uint32_t b = cfg_.index(block);
  return b == kNoNode ? 0 : bits_[blockNode(b)];
}

UniformitySolver::NodeKind UniformitySolver::kind(uint32_t node) const {
  if (node < branchNode(0)) return NodeKind::Block;
  if (node < joinNode(0)) return NodeKind::Branch;
  if (node < returnNode()) return NodeKind::Join;
  if (node == returnNode()) return NodeKind::Return;
  if (node < mergeNode(0)) return NodeKind::Value;
  return node < arrayNode(0) ? NodeKind::Merge : NodeKind::Array;
}

uint32_t UniformitySolver::indexOf(uint32_t node) const {
  switch (kind(node)) {
    case NodeKind::Block:
      return node;
    case NodeKind::Branch:
      return node - branchNode(0);
    case NodeKind::Join:
      return node - joinNode(0);
    case NodeKind::Return:
      return 0;
    case NodeKind::Value:
      return node - firstValue();
    case NodeKind::Merge:
      return node - mergeNode(0);
    case NodeKind::Array:
      return node - arrayNode(0);
  }
  return 0;
}

// True if all nodes but `except` are one, or equal constants: which way control came makes no
// difference then.
bool UniformitySolver::allSame(std::span<const uint32_t> nodes, uint32_t except) const {
  uint32_t first = kNoNode;
  auto constant = [&](uint32_t node) {
    return kind(node) == NodeKind::Value ? ir::asConst(valueOf(node)) : nullptr;
  };
  for (uint32_t node : nodes) {
    // Uninitialised memory has no value to compare; a decision on it is reported elsewhere, but it
    // isn't "the same".
    if (node == kNoNode) return false;
    if (node == except || node == first) continue;
    if (first == kNoNode) {
      first = node;
      continue;
    }
    const ir::Operation* a = constant(first);
    const ir::Operation* b = constant(node);
    if (!a || !b || a->resultType() != b->resultType() || a->constBits() != b->constBits()) {
      return false;
    }
  }
  return true;
}

void UniformitySolver::addControlEdges(const PostDominatorTree& postDominators) {
  // A gate is a branch that all decide alike: it carries what it depends on to the blocks behind
  // it.
  for (uint32_t gate = postDominators.exit() + 1; gate < postDominators.size(); ++gate) {
    edge(blockNode(gate), branchNode(gate));
  }
  const ForestOrder dominators(immediateDominators(cfg_.graph(), 0));
  std::vector<uint32_t> returned;
  for (uint32_t b = 0; b < cfg_.size(); ++b) {
    ir::Operation* term = cfg_.block(b)->terminator();
    if (!term) continue;
    if (cfg_.succs(b).size() > 1) {
      edge(blockNode(b), branchNode(b));
      for (uint32_t i = 0; i < term->successor(0).firstArg(); ++i) {
        edge(valueNode(term->operand(i)), branchNode(b));
      }
    }
    if (cfg_.preds(b).size() > 1) {
      const uint32_t entry = onlyEntry(b, dominators, postDominators);
      for (uint32_t from : cfg_.preds(b)) {
        if (leadsOnlyTo(from, b)) {
          edge(blockNode(from), joinNode(b));
        } else {
          edge(from == entry ? blockNode(b) : branchNode(from), joinNode(b));
        }
      }
    }
    if (term->opcode() == ir::Opcode::Ret && term->operandCount() > 0) {
      returned.push_back(seenThrough(term->operand(0)));
      edge(valueNode(term->operand(0)), returnNode());
    }
  }
  if (cfg_.returns().size() > 1 && !allSame(returned, kNoNode)) {
    for (uint32_t b : cfg_.returns()) edge(blockNode(b), returnNode());
  }
}

// A loop entered straight from a branch: the block of that branch, if no other edge enters the loop
// and all ways from the branch lead into it; else kNoNode. A block on the edge would then
// post-dominate the branch, and whatever it is control-dependent on the header is, too: the header
// speaks for it.
uint32_t UniformitySolver::onlyEntry(uint32_t header, const ForestOrder& dominators,
                                     const PostDominatorTree& postDominators) const {
  if (postDominators.entryOf(header) != header) return kNoNode;
  uint32_t entry = kNoNode;
  for (uint32_t from : cfg_.preds(header)) {
    if (dominators.isAncestor(header, from)) continue;  // A back edge.
    if (entry != kNoNode) return kNoNode;
    entry = from;
  }
  return entry != kNoNode && postDominators.postDominates(header, entry) ? entry : kNoNode;
}

bool UniformitySolver::leadsOnlyTo(uint32_t from, uint32_t to) const {
  for (uint32_t succ : cfg_.succs(from)) {
    if (succ != to) return false;
  }
  return true;
}

void UniformitySolver::addMergeEdges() {
  std::vector<uint32_t> incoming;
  auto merge = [&](uint32_t node, uint32_t block) {
    for (uint32_t from : incoming) edge(from, node);
    if (incoming.size() > 1 && !allSame(incoming, node)) edge(joinNode(block), node);
  };
  for (uint32_t b = 0; b < cfg_.size(); ++b) {
    ir::Block* block = cfg_.block(b);
    for (ir::Value* arg : block->args()) {
      incoming.clear();
      for (ir::Successor* s = block->firstPredecessor(); s; s = s->nextPredecessor()) {
        if (!cfg_.reachable(s->owner()->block())) continue;
        incoming.push_back(seenThrough(s->owner()->successorArg(s->index(), arg->argIndex())));
      }
      merge(valueNode(arg), b);
      // A branch with all its arms here selects a value.
      for (uint32_t from : cfg_.preds(b)) {
        const ir::Operation* term = cfg_.block(from)->terminator();
        if (term->successorCount() < 2 || !leadsOnlyTo(from, b)) continue;
        incoming.clear();
        for (unsigned i = 0; i < term->successorCount(); ++i) {
          incoming.push_back(seenThrough(term->successorArg(i, arg->argIndex())));
        }
        if (!allSame(incoming, kNoNode)) edge(branchNode(from), valueNode(arg));
      }
    }
  }
  for (uint32_t m = 0; m < slots_.merges().size(); ++m) {
    incoming.clear();
    for (const PrivateSlots::Incoming& i : slots_.incoming(slots_.merges()[m])) {
      incoming.push_back(definitionNode(i.definition));
    }
    merge(mergeNode(m), slots_.merges()[m].block);
  }
}

void UniformitySolver::addOperation(ir::Operation& op, uint32_t block, const SummaryOf& summaryOf) {
  const uint32_t result = op.result() ? valueNode(op.result()) : kNoNode;
  auto dependsOnOperands = [&] {
    for (const ir::Use& use : op.uses()) edge(valueNode(use.value()), result);
  };
  switch (op.form()) {
    case ir::Form::Const:
    // The address of an allocation is the same for everyone who may look at it: workgroup memory is
    // shared, and a private address only has a meaning as an offset. What makes a number of it is
    // treated below.
    case ir::Form::Alloc:
    case ir::Form::AllocDynamic:
    case ir::Form::Barrier:
    // Control flow is in addControlEdges and addMergeEdges.
    case ir::Form::Jump:
    case ir::Form::Branch:
    case ir::Form::Return:
      return;
    case ir::Form::Unary:
    case ir::Form::Binary:
    case ir::Form::Ternary:
    case ir::Form::Compare:
    case ir::Form::PtrAdd:
      dependsOnOperands();
      return;
    case ir::Form::Select: {
      // As for a join of two ways: the choice only matters between different values.
      const uint32_t arms[] = {seenThrough(op.operand(1)), seenThrough(op.operand(2))};
      if (!allSame(arms, kNoNode)) edge(valueNode(op.operand(0)), result);
      edge(valueNode(op.operand(1)), result);
      edge(valueNode(op.operand(2)), result);
      return;
    }
    case ir::Form::Cast:
      dependsOnOperands();
      if (op.opcode() == ir::Opcode::PtrToInt) {
        const ir::Space space = op.operand(0)->type().space();
        if (space == ir::Space::Private || space == ir::Space::Generic) {
          raise(result, kVaryingBits, kNoNode);
        }
      }
      return;
    case ir::Form::GpuIndex:
      if (op.opcode() == ir::Opcode::ThreadId) raise(result, kVaryingBits, kNoNode);
      return;
    case ir::Form::Fence:
    case ir::Form::AtomicStore:
    case ir::Form::AsyncCopy:
    case ir::Form::AsyncCommit:
    case ir::Form::AsyncWait:
    case ir::Form::AccCommit:
    case ir::Form::FuncAddr:
    // A tile is held by all of its scope together.
    case ir::Form::Mma:
    case ir::Form::Epilogue:
    case ir::Form::Transfer:
      return;
    case ir::Form::Encode:
    case ir::Form::Decode:
      dependsOnOperands();
      return;
    case ir::Form::AtomicLoad:
    case ir::Form::AtomicRmw:
    case ir::Form::AtomicCas:
    case ir::Form::CallIndirect:
    case ir::Form::Launch:
      if (result != kNoNode) raise(result, kVaryingBits, kNoNode);
      return;
    case ir::Form::SubgroupIndex:
      if (op.opcode() == ir::Opcode::SubgroupLocalId) raise(result, kVaryingBits, kNoNode);
      return;
    case ir::Form::SubgroupLane:
      raise(result,
            op.opcode() == ir::Opcode::SubgroupBroadcast ? kDiffersInWorkgroup : kVaryingBits,
            kNoNode);
      return;
    case ir::Form::SubgroupReduce:
      raise(result, op.opcode() == ir::Opcode::SubgroupReduce ? kDiffersInWorkgroup : kVaryingBits,
            kNoNode);
      return;
    case ir::Form::SubgroupVote:
      raise(result, kDiffersInWorkgroup, kNoNode);
      return;
    case ir::Form::SubgroupBallot:
      // A varying word makes the result vary.
      raise(result, kDiffersInWorkgroup, kNoNode);
      edge(valueNode(op.operand(1)), result);
      return;
    case ir::Form::Load:
    case ir::Form::Store:
      addMemoryAccess(op, block);
      return;
    case ir::Form::Call: {
      if (result == kNoNode) return;
      const UniformityBits summary = summaryOf(op.callee());
      if (summary & kVaryingBits) raise(result, summary & kVaryingBits, kNoNode);
      for (unsigned i = 0; i < op.operandCount(); ++i) {
        if (summary & parameterBit(i)) edge(valueNode(op.operand(i)), result);
      }
      return;
    }
  }
}

void UniformitySolver::addMemoryAccess(ir::Operation& op, uint32_t block) {
  const bool isLoad = op.form() == ir::Form::Load;
  const uint32_t access = slots_.accessIndex(&op);
  if (access != kNoNode) {
    const uint32_t slot = slots_.slotOf(access);
    switch (slots_.slots()[slot].kind) {
      case PrivateSlots::Kind::Scalar:
        if (isLoad) edge(seenThrough(op.result()), valueNode(op.result()));
        return;
      case PrivateSlots::Kind::Array:
        // Without an order of stores, the contents are the same only if everyone stores the same
        // things in the same sequence, and a load sees the same only where all have done the same
        // stores.
        if (isLoad) {
          edge(arrayNode(slot), valueNode(op.result()));
          edge(valueNode(op.operand(0)), valueNode(op.result()));
          edge(blockNode(block), valueNode(op.result()));
        } else {
          edge(valueNode(op.operand(0)), arrayNode(slot));
          edge(valueNode(op.operand(1)), arrayNode(slot));
          edge(blockNode(block), arrayNode(slot));
        }
        return;
      case PrivateSlots::Kind::Escaped:
        break;
    }
  }
  if (!isLoad) return;
  if (op.operand(0)->type().space() == ir::Space::Constant) {
    edge(valueNode(op.operand(0)), valueNode(op.result()));
  } else {
    raise(valueNode(op.result()), kVaryingBits, kNoNode);
  }
}

void UniformitySolver::raise(uint32_t node, UniformityBits bits, uint32_t from) {
  const UniformityBits added = bits & ~bits_[node];
  if (added == 0) return;
  bits_[node] |= added;
  for (unsigned level = 0; level < kUniformityLevels; ++level) {
    if (added >> level & 1) causes_[level][node] = from;
  }
  if (pending_[node] == 0) queue_.push_back(node);
  pending_[node] |= added;
}

// First in, first out, so that the causes make up shortest chains.
void UniformitySolver::propagate(const PostDominatorTree& postDominators) {
  const Digraph flow(static_cast<uint32_t>(bits_.size()), edges_);
  for (size_t k = 0; k < queue_.size(); ++k) {
    const uint32_t node = queue_[k];
    const UniformityBits bits = pending_[node];
    pending_[node] = 0;
    for (uint32_t to : flow.succs(node)) raise(to, bits, node);
    if (kind(node) == NodeKind::Branch) spreadBranch(postDominators, indexOf(node), bits);
  }
}

// Gives the bits to all blocks that are control-dependent on the branch of `block`: those on the
// way up the post-dominator tree from a successor to the branch's own immediate post-dominator.
// Blocks that have a bit are skipped for good, so all calls together are near-linear for each bit.
void UniformitySolver::spreadBranch(const PostDominatorTree& postDominators, uint32_t block,
                                    UniformityBits bits) {
  const uint32_t stop = postDominators.ipdom(block);
  std::vector<uint32_t> targets;
  if (postDominators.isGate(block)) {
    targets.push_back(postDominators.gated(block));
  } else {
    for (uint32_t to : cfg_.succs(block)) targets.push_back(postDominators.entryOf(to));
  }
  while (bits != 0) {
    const unsigned bit = static_cast<unsigned>(std::countr_zero(bits));
    bits &= bits - 1;
    if (unmarked_.size() <= bit) unmarked_.resize(bit + 1);
    if (!unmarked_[bit]) unmarked_[bit] = std::make_unique<DisjointSets>(controlCount_);
    DisjointSets& unmarked = *unmarked_[bit];
    for (uint32_t to : targets) {
      uint32_t b = unmarked.find(to);
      while (postDominators.depth(b) > postDominators.depth(stop)) {
        raise(blockNode(b), UniformityBits{1} << bit, branchNode(block));
        unmarked.unite(b, postDominators.ipdom(b));
        b = unmarked.find(b);
      }
    }
  }
}

}  // namespace mtlc::analysis
