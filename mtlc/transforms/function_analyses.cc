#include "mtlc/transforms/function_analyses.h"

#include "mtlc/transforms/pass.h"

namespace mtlc::transforms {

const ir::DominatorTree& FunctionAnalyses::dominators(ir::Function& function) {
  Entry& entry = entries_[&function];
  if (!entry.dominators) {
    entry.dominators = std::make_unique<ir::DominatorTree>(function);
    ++computed_;
    return *entry.dominators;
  }
  // The tree is as it was, but the numbers in Block::scratch may be somebody else's.
  for (ir::Block& block : function.blocks()) block.scratch = ~0u;
  const std::vector<ir::Block*>& rpo = entry.dominators->rpo();
  for (uint32_t i = 0; i < rpo.size(); ++i) rpo[i]->scratch = i;
  return *entry.dominators;
}

const analysis::LoopForest& FunctionAnalyses::loops(ir::Function& function) {
  Entry& entry = entries_[&function];
  if (!entry.loops) {
    entry.cfg = std::make_unique<analysis::Cfg>(function);
    entry.loops = std::make_unique<analysis::LoopForest>(*entry.cfg);
    ++computed_;
  }
  return *entry.loops;
}

void FunctionAnalyses::invalidate(const ir::Function& function, Change change) {
  if (change == Change::Cfg) entries_.erase(&function);
}

}  // namespace mtlc::transforms
