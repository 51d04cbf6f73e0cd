// What memory operations and functions touch, and whether they synchronise.

#ifndef MTLC_ANALYSIS_MEMORY_EFFECTS_H_
#define MTLC_ANALYSIS_MEMORY_EFFECTS_H_

#include <string>
#include <vector>

#include "mtlc/analysis/provenance.h"

namespace mtlc::analysis {

struct MemoryEffects {
  SpaceSet reads;
  SpaceSet writes;
  bool collective =
      false;  // Contains an operation with a convergence scope: it must not be moved or duplicated.
  bool unknown = false;     // Calls something without a body: anything may happen.
  bool isVolatile = false;  // Contains a volatile access.

  // May be dropped when its result is unused and merged with an equal one (termination is assumed).
  bool isPure() const {
    return reads.empty() && writes.empty() && !collective && !unknown && !isVolatile;
  }
  void add(const MemoryEffects& other);
  friend bool operator==(const MemoryEffects&, const MemoryEffects&) = default;
};

// Summaries of all functions of a module, as their callers see them: accesses to a function's own
// private variables, whose addresses go nowhere, are left out. A snapshot; near-linear. Members of
// a recursive cycle share the join of the cycle.
class ModuleEffects {
 public:
  explicit ModuleEffects(const ir::Module& module);

  const MemoryEffects& of(const ir::Function* function) const {
    return effects_[calls_.index(function)];
  }
  // Of one operation by itself; a call has its callee's.
  MemoryEffects of(const ir::Operation& op) const;

 private:
  Provenance provenance_;
  CallGraph calls_;
  std::vector<MemoryEffects> effects_;
};

// One line per function.
std::string printMemoryEffects(const ir::Module& module);

}  // namespace mtlc::analysis

#endif  // MTLC_ANALYSIS_MEMORY_EFFECTS_H_
