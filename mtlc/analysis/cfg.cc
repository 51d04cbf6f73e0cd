#include "mtlc/analysis/cfg.h"

#include "absl/strings/str_cat.h"
#include "mtlc/ir/dominance.h"

namespace mtlc::analysis {

Cfg::Cfg(const ir::Function& function) : function_(&function) {
  for (ir::Block* block : ir::reversePostOrder(function)) blocks_.add(block);
  std::vector<Digraph::Edge> edges;
  for (uint32_t i = 0; i < blocks_.size(); ++i) {
    ir::Operation* term = blocks_[i]->terminator();
    if (!term) continue;
    for (ir::Successor& s : term->successors()) edges.push_back({i, s.block()->scratch});
    if (term->opcode() == ir::Opcode::Ret) returns_.push_back(i);
  }
  succs_ = Digraph(blocks_.size(), edges);
  preds_ = succs_.reversed();
}

bool isCriticalEdge(const ir::Successor& edge) {
  const ir::Successor* first = edge.block()->firstPredecessor();
  return edge.owner()->successorCount() > 1 && first && first->nextPredecessor();
}

std::vector<ir::Successor*> criticalEdges(const Cfg& cfg) {
  std::vector<ir::Successor*> edges;
  for (ir::Block* block : cfg.rpo()) {
    if (!block->terminator()) continue;
    for (ir::Successor& s : block->terminator()->successors()) {
      if (isCriticalEdge(s)) edges.push_back(&s);
    }
  }
  return edges;
}

BlockLabels::BlockLabels(const ir::Function& function) {
  uint32_t position = 0;
  for (const ir::Block& block : function.blocks()) {
    if (block.name().empty()) unnamed_[&block] = position;
    ++position;
  }
}

std::string BlockLabels::operator[](const ir::Block* block) const {
  auto it = unnamed_.find(block);
  if (it != unnamed_.end()) return absl::StrCat("^bb", it->second);
  return absl::StrCat("^", std::string(block->name()));
}

std::string printCfg(const ir::Function& function) {
  const Cfg cfg(function);
  const BlockLabels labels(function);
  std::string out;
  for (uint32_t i = 0; i < cfg.size(); ++i) {
    absl::StrAppend(&out, "  ", i, " ", labels[cfg.block(i)], " succs:");
    ir::Operation* term = cfg.block(i)->terminator();
    if (term) {
      for (const ir::Successor& s : term->successors()) {
        absl::StrAppend(&out, " ", labels[s.block()], isCriticalEdge(s) ? "(critical)" : "");
      }
    }
    absl::StrAppend(&out, " preds:");
    for (uint32_t p : cfg.preds(i)) absl::StrAppend(&out, " ", labels[cfg.block(p)]);
    absl::StrAppend(&out, "\n");
  }
  for (const ir::Block& block : function.blocks()) {
    if (!cfg.reachable(&block)) absl::StrAppend(&out, "  unreachable ", labels[&block], "\n");
  }
  return out;
}

}  // namespace mtlc::analysis
