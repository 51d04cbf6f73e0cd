// How many groups of asynchronous copies are pending at each point (docs/ir.md §6).
//
// The state of a work-item is (groups pending, whether copies stand uncommitted). The analysis
// follows the set of states that can reach each block: exactly through loops with a constant trip
// count, and through others under the rule that one round must leave the state as it found it.
// Helpers are seen through: a function is a relation between states at its entry and at its
// returns. Recursive functions (which devices refuse) count as doing nothing.

#ifndef MTLC_ANALYSIS_ASYNC_GROUPS_H_
#define MTLC_ANALYSIS_ASYNC_GROUPS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mtlc/analysis/call_graph.h"

namespace mtlc::analysis {

inline constexpr unsigned kMaxPendingGroups = 8;

// A set of states, one bit each.
class AsyncStates {
 public:
  static constexpr unsigned kCount = 2 * (kMaxPendingGroups + 1);
  static constexpr unsigned index(unsigned pending, bool uncommitted) {
    return 2 * pending + (uncommitted ? 1 : 0);
  }
  static constexpr AsyncStates of(unsigned pending, bool uncommitted) {
    return AsyncStates(1u << index(pending, uncommitted));
  }
  constexpr AsyncStates() = default;
  constexpr explicit AsyncStates(uint32_t bits) : bits_(bits) {}
  constexpr bool has(unsigned state) const { return (bits_ >> state & 1) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr uint32_t bits() const { return bits_; }
  constexpr bool onlyIdle() const { return (bits_ & ~1u) == 0; }
  friend constexpr AsyncStates operator|(AsyncStates a, AsyncStates b) {
    return AsyncStates(a.bits_ | b.bits_);
  }
  friend constexpr bool operator==(AsyncStates, AsyncStates) = default;
  // "1 group pending and uncommitted copies", several joined by " or ".
  std::string print() const;

 private:
  uint32_t bits_ = 0;
};

struct AsyncProblem {
  enum class Kind : uint8_t {
    TooMany,   // `op` is a commit that makes a ninth group.
    AtExit,    // `op` is a return of a kernel.
    LoopHead,  // `op` is the terminator of a block that closes a loop; the states differ from those
               // on entry.
  };
  Kind kind;
  const ir::Operation* op;
  AsyncStates states;  // Before `op`.
  AsyncStates entry;   // LoopHead: at the loop's entry.
  // An async.copy or async.commit of the function or of one it calls, as the cause; may be nullptr.
  const ir::Operation* cause;
};

// A snapshot of what the kernels of a module reach. Near-linear.
class AsyncGroups {
 public:
  explicit AsyncGroups(const CallGraph& calls);
  ~AsyncGroups();

  const std::vector<AsyncProblem>& problems() const { return problems_; }
  // The states before the block's first operation; empty for blocks that are not reached, and for
  // functions in which no state but the idle one occurs.
  AsyncStates atEntry(const ir::Block* block) const;

 private:
  struct FunctionState;
  struct Solver;

  const CallGraph& calls_;
  std::vector<std::unique_ptr<FunctionState>> states_;  // By function; null where nothing happens.
  std::vector<AsyncProblem> problems_;
};

// For each function its blocks and their states, or that nothing is in flight.
std::string printAsyncGroups(const ir::Module& module);

}  // namespace mtlc::analysis

#endif  // MTLC_ANALYSIS_ASYNC_GROUPS_H_
