// The control-flow graph of a function by dense block numbers.

#ifndef MTLC_ANALYSIS_CFG_H_
#define MTLC_ANALYSIS_CFG_H_

#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "mtlc/analysis/graph.h"
#include "mtlc/analysis/numbering.h"
#include "mtlc/ir/ir.h"

namespace mtlc::analysis {

// A snapshot: valid until an edge or a block of the function changes. Blocks reachable from the
// entry have the numbers 0 … size()-1 in reverse post-order (the entry is 0), the same as
// ir::reversePostOrder gives. Construction writes Block::scratch; look-ups survive its reuse.
class Cfg {
 public:
  // A declaration gives an empty graph.
  explicit Cfg(const ir::Function& function);

  const ir::Function& function() const { return *function_; }
  uint32_t size() const { return blocks_.size(); }
  ir::Block* block(uint32_t index) const { return blocks_[index]; }
  const std::vector<ir::Block*>& rpo() const { return blocks_.items(); }
  // kNoNode for unreachable blocks.
  uint32_t index(const ir::Block* block) const { return blocks_.find(block); }
  bool reachable(const ir::Block* block) const { return index(block) != kNoNode; }

  // One entry per edge, in the order of the terminator's successors: a br with both arms on one
  // block counts twice. Predecessors are reachable ones only.
  std::span<const uint32_t> succs(uint32_t index) const { return succs_.succs(index); }
  std::span<const uint32_t> preds(uint32_t index) const { return preds_.succs(index); }
  const Digraph& graph() const { return succs_; }
  const Digraph& reversedGraph() const { return preds_; }
  // Blocks that end in `ret`, in reverse post-order.
  const std::vector<uint32_t>& returns() const { return returns_; }

 private:
  const ir::Function* function_;
  Numbering<ir::Block> blocks_;
  Digraph succs_, preds_;
  std::vector<uint32_t> returns_;
};

// True for an edge from a block with several successor edges to a block with several predecessor
// edges: code for the edge alone has no place there until the edge is split.
bool isCriticalEdge(const ir::Successor& edge);
// All critical edges between reachable blocks, in reverse post-order of their sources.
std::vector<ir::Successor*> criticalEdges(const Cfg& cfg);

// How reports and printers call the blocks of a function: "^name", or "^bbN" by position for a
// block without a name.
class BlockLabels {
 public:
  explicit BlockLabels(const ir::Function& function);
  std::string operator[](const ir::Block* block) const;

 private:
  absl::flat_hash_map<const ir::Block*, uint32_t> unnamed_;
};

// One line per reachable block: number, successors, predecessors, critical edges; then the
// unreachable blocks.
std::string printCfg(const ir::Function& function);

}  // namespace mtlc::analysis

#endif  // MTLC_ANALYSIS_CFG_H_
