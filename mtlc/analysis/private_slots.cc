#include "mtlc/analysis/private_slots.h"

#include <algorithm>

namespace mtlc::analysis {

PrivateSlots::PrivateSlots(const Cfg& cfg) {
  findSlots(cfg);
  if (slots_.empty()) return;
  const std::vector<uint32_t> idom = immediateDominators(cfg.graph(), 0);
  placeMerges(cfg, idom);
  rename(cfg, idom);
}

void PrivateSlots::findSlots(const Cfg& cfg) {
  std::vector<ir::Value*> pointers;
  for (ir::Block* block : cfg.rpo()) {
    for (ir::Operation& alloc : block->ops()) {
      if (alloc.opcode() != ir::Opcode::AllocPrivate) continue;
      const uint32_t slot = static_cast<uint32_t>(slots_.size());
      Kind kind = alloc.allocCount() == 1 ? Kind::Scalar : Kind::Array;
      auto weaken = [&](Kind to) { kind = std::max(kind, to); };
      pointers.assign(1, alloc.result());
      while (!pointers.empty()) {
        ir::Value* pointer = pointers.back();
        pointers.pop_back();
        for (ir::Use* use = pointer->firstUse(); use; use = use->next()) {
          ir::Operation* user = use->owner();
          if (!user->block() || !cfg.reachable(user->block())) continue;
          if (user->form() == ir::Form::PtrAdd) {
            weaken(Kind::Array);
            pointers.push_back(user->result());
          } else if (user->form() == ir::Form::Load ||
                     (user->form() == ir::Form::Store && use->index() == 1)) {
            if (user->elemType() != alloc.elemType()) weaken(Kind::Array);
            accesses_.add(user);
            slotOfAccess_.push_back(slot);
          } else if (user->form() != ir::Form::Compare) {
            weaken(Kind::Escaped);
          }
        }
      }
      slots_.push_back({&alloc, kind});
    }
  }
  reaching_.resize(accesses_.size());
}

namespace {

// Dominance frontiers, or nothing when they would take more than `budget` entries (Cooper, Harvey
// and Kennedy, "A simple, fast dominance algorithm", 2001, §5).
std::vector<std::vector<uint32_t>> dominanceFrontiers(const Cfg& cfg,
                                                      std::span<const uint32_t> idom,
                                                      size_t budget) {
  std::vector<std::vector<uint32_t>> frontier(cfg.size());
  size_t entries = 0;
  for (uint32_t block = 0; block < cfg.size(); ++block) {
    if (cfg.preds(block).size() < 2 && block != 0) continue;
    for (uint32_t from : cfg.preds(block)) {
      // Once a block on the way up has the entry, all above it have it.
      for (uint32_t b = from; b != kNoNode && b != idom[block]; b = idom[b]) {
        if (!frontier[b].empty() && frontier[b].back() == block) break;
        frontier[b].push_back(block);
        if (++entries > budget) return {};
      }
    }
  }
  return frontier;
}

}  // namespace

void PrivateSlots::placeMerges(const Cfg& cfg, std::span<const uint32_t> idom) {
  // Blocks that store to each slot, and the slots that some block reads before it writes them.
  const uint32_t slotCount = static_cast<uint32_t>(slots_.size());
  std::vector<std::vector<uint32_t>> storeBlocks(slotCount);
  std::vector<bool> exposed(slotCount, false);
  size_t operations = 0;
  for (uint32_t block = 0; block < cfg.size(); ++block) {
    for (ir::Operation& op : cfg.block(block)->ops()) {
      ++operations;
      if (op.form() != ir::Form::Load && op.form() != ir::Form::Store) continue;
      const uint32_t access = accessIndex(&op);
      if (access == kNoNode) continue;
      std::vector<uint32_t>& stores = storeBlocks[slotOf(access)];
      const bool storedHere = !stores.empty() && stores.back() == block;
      if (op.form() == ir::Form::Load) {
        if (!storedHere) exposed[slotOf(access)] = true;
      } else if (!storedHere) {
        stores.push_back(block);
      }
    }
  }

  // Real functions stay far below: a budget only stops inputs made to blow up the number of merges.
  size_t budget = 8 * (operations + cfg.size()) + 4096;
  const std::vector<std::vector<uint32_t>> frontier = dominanceFrontiers(cfg, idom, budget);
  std::vector<uint32_t> mergedFor(cfg.size(), kNoNode), work;
  uint32_t incomingCount = 0;
  for (uint32_t slot = 0; slot < slotCount; ++slot) {
    if (slots_[slot].kind != Kind::Scalar || !exposed[slot]) continue;
    if (frontier.empty()) {
      slots_[slot].kind = Kind::Array;
      continue;
    }
    const size_t mergesBefore = merges_.size();
    const uint32_t incomingBefore = incomingCount;
    work = storeBlocks[slot];
    size_t steps = 0;
    while (!work.empty() && steps <= budget) {
      const uint32_t block = work.back();
      work.pop_back();
      for (uint32_t at : frontier[block]) {
        ++steps;
        if (mergedFor[at] == slot) continue;
        mergedFor[at] = slot;
        const uint32_t edges = static_cast<uint32_t>(cfg.preds(at).size());
        steps += edges;
        merges_.push_back({slot, at, incomingCount, edges});
        incomingCount += edges;
        work.push_back(at);
      }
    }
    if (steps > budget) {
      merges_.resize(mergesBefore);
      incomingCount = incomingBefore;
      slots_[slot].kind = Kind::Array;
      budget = 0;
    } else {
      budget -= steps;
    }
  }
  incoming_.resize(incomingCount);
}

void PrivateSlots::rename(const Cfg& cfg, std::span<const uint32_t> idom) {
  // Merges by block, and how many incoming definitions each has so far.
  std::vector<Digraph::Edge> edges;
  for (uint32_t m = 0; m < merges_.size(); ++m) edges.push_back({merges_[m].block, m});
  const Digraph mergesIn(cfg.size(), edges);
  std::vector<uint32_t> filled(merges_.size(), 0);

  struct Undo {
    uint32_t slot;
    Definition before;
  };
  std::vector<Undo> log;
  std::vector<size_t>
      logAtDepth;  // Length of the log when the open block of each depth was entered.
  std::vector<Definition> current(slots_.size());
  auto define = [&](uint32_t slot, Definition d) {
    log.push_back({slot, current[slot]});
    current[slot] = d;
  };
  const ForestOrder order(idom);
  for (uint32_t block : order.preorder()) {
    while (logAtDepth.size() > order.depth(block)) {
      for (; log.size() > logAtDepth.back(); log.pop_back()) {
        current[log.back().slot] = log.back().before;
      }
      logAtDepth.pop_back();
    }
    logAtDepth.push_back(log.size());
    for (uint32_t m : mergesIn.succs(block)) {
      define(merges_[m].slot, {Definition::Kind::Merge, m});
    }
    for (ir::Operation& op : cfg.block(block)->ops()) {
      if (op.form() != ir::Form::Load && op.form() != ir::Form::Store) continue;
      const uint32_t access = accessIndex(&op);
      if (access == kNoNode || slots_[slotOf(access)].kind != Kind::Scalar) continue;
      if (op.form() == ir::Form::Load) {
        reaching_[access] = current[slotOf(access)];
      } else {
        define(slotOf(access), {Definition::Kind::Store, access});
      }
    }
    for (uint32_t to : cfg.succs(block)) {
      for (uint32_t m : mergesIn.succs(to)) {
        incoming_[merges_[m].first + filled[m]++] = {block, current[merges_[m].slot]};
      }
    }
  }
}

}  // namespace mtlc::analysis
