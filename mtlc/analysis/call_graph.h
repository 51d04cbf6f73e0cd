// Who calls whom in a module, and what the kernels reach.

#ifndef MTLC_ANALYSIS_CALL_GRAPH_H_
#define MTLC_ANALYSIS_CALL_GRAPH_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "mtlc/analysis/graph.h"
#include "mtlc/ir/ir.h"

namespace mtlc::analysis {

// A snapshot: valid until a call or a function of the module changes. Calls in unreachable blocks
// count like any other.
class CallGraph {
 public:
  explicit CallGraph(const ir::Module& module);

  // Functions have numbers in module order.
  uint32_t size() const { return static_cast<uint32_t>(functions_.size()); }
  const ir::Function* function(uint32_t i) const { return functions_[i]; }
  uint32_t index(const ir::Function* function) const { return numbers_.at(function); }

  // The calls in a function, in program order.
  const std::vector<ir::Operation*>& callsIn(uint32_t function) const { return calls_[function]; }
  // The calls of a function from functions that a kernel reaches.
  const std::vector<ir::Operation*>& reachableCallsOf(uint32_t function) const {
    return callers_[function];
  }

  // True for kernels and for what they call, directly or not.
  bool reachableFromKernel(uint32_t function) const { return depth_[function] != kNoNode; }
  // A shortest way from a kernel to the function: the calls on it, outermost first. Empty for
  // kernels and unreachable functions.
  std::vector<ir::Operation*> chainFromKernel(uint32_t function) const;

  // True if the function can call itself, directly or through others.
  bool recursive(uint32_t function) const { return recursive_[function]; }
  // For a recursive function: a shortest sequence of calls that leads from it back to it.
  std::vector<ir::Operation*> cycleThrough(uint32_t function) const;
  // Functions that call each other share a number; a call leads to the same or a smaller number.
  uint32_t component(uint32_t function) const { return sccs_.component[function]; }

  // All functions, callees before their callers (members of a cycle in any order).
  const std::vector<uint32_t>& bottomUp() const { return bottomUp_; }

 private:
  std::vector<const ir::Function*> functions_;
  absl::flat_hash_map<const ir::Function*, uint32_t> numbers_;
  std::vector<std::vector<ir::Operation*>> calls_, callers_;
  std::vector<uint32_t> depth_;            // Calls from the nearest kernel.
  std::vector<ir::Operation*> reachedBy_;  // The last call of a shortest way there.
  std::vector<bool> recursive_;
  Sccs sccs_;
  std::vector<uint32_t> bottomUp_;
};

// One line per function: kind, callees, and whether it is reached from a kernel, recursive or
// external.
std::string printCallGraph(const ir::Module& module);

}  // namespace mtlc::analysis

#endif  // MTLC_ANALYSIS_CALL_GRAPH_H_
