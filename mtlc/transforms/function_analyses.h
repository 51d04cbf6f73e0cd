// Analyses of functions, computed when first asked for and kept until a change invalidates them.

#ifndef MTLC_TRANSFORMS_FUNCTION_ANALYSES_H_
#define MTLC_TRANSFORMS_FUNCTION_ANALYSES_H_

#include <memory>

#include "absl/container/flat_hash_map.h"
#include "mtlc/analysis/loops.h"
#include "mtlc/ir/dominance.h"
#include "mtlc/ir/ir.h"

namespace mtlc::transforms {

enum class Change : uint8_t;

class FunctionAnalyses {
 public:
  // The dominator tree, with Block::scratch set to the numbers it uses. The reference is valid
  // until the next invalidate() or forget() of the function; Block::scratch until somebody writes
  // it, so ask again after writing it.
  const ir::DominatorTree& dominators(ir::Function& function);

  // The loops, with the graph they are numbered by (loops(f).cfg()). Block::scratch is of no
  // importance to them.
  const analysis::LoopForest& loops(ir::Function& function);

  void invalidate(const ir::Function& function, Change change);
  // Drops everything known about the function, or about all.
  void forget(const ir::Function& function) { entries_.erase(&function); }
  void clear() { entries_.clear(); }

  // How often an analysis was computed, for tests and statistics.
  uint64_t computed() const { return computed_; }

 private:
  struct Entry {
    std::unique_ptr<ir::DominatorTree> dominators;
    std::unique_ptr<analysis::Cfg> cfg;
    std::unique_ptr<analysis::LoopForest> loops;
  };
  absl::flat_hash_map<const ir::Function*, Entry> entries_;
  uint64_t computed_ = 0;
};

}  // namespace mtlc::transforms

#endif  // MTLC_TRANSFORMS_FUNCTION_ANALYSES_H_
