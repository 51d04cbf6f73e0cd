// Which values and which control flow are the same for all work-items of a workgroup or a subgroup
// (docs/analysis.md).

#ifndef MTLC_ANALYSIS_UNIFORMITY_H_
#define MTLC_ANALYSIS_UNIFORMITY_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mtlc/analysis/call_graph.h"
#include "mtlc/analysis/uniformity_solver.h"

namespace mtlc::analysis {

// From the most to the least uniform. A value of rank Workgroup is the same for all work-items of a
// workgroup.
enum class Rank : uint8_t { Workgroup, Subgroup, Varying };
std::string_view rankName(Rank rank);  // "workgroup", "subgroup", "varying"

// One link of the chain that explains a rank, from the effect towards the source.
struct ReasonStep {
  enum class Kind : uint8_t {
    Branch,     // `op` is a branch that decides whether the place is reached.
    Join,       // `op` is a branch; the value depends on the way taken from it.
    Assigned,   // `op` stores into the variable `name`.
    Array,      // The value is read from the array `name`, which holds different things.
    Value,      // `op` computes the value, or it is the block argument `name` (then op is nullptr).
    Parameter,  // The value is the parameter `name`; `op` is a call that passes a varying argument.
    CalledFrom,  // `op` is a call under the control explained next.
    Result,      // `op` is a call of a function that returns different values.
    Source,      // `op` gives different values by itself.
  };
  Kind kind;
  const ir::Operation* op;
  std::string_view name;  // Empty if there is none.
  SourceLoc loc;
};

// The ranks of everything that the kernels of a module reach. A snapshot: valid until the module
// changes. Sound: when in doubt, a value varies. Private variables are looked through
// (private_slots.h), so promotion changes no verdict. Near-linear. A rank of a value says: whenever
// a block of uniform control uses it, it is the same for all work-items of the workgroup
// (subgroup). Values of unreachable code have rank Varying.
//
// A parameter of a helper has the join of its arguments over all calls that a kernel reaches; the
// result of a call depends on this call's arguments only. Recursive functions (which devices
// refuse) have varying parameters and results.
class Uniformity {
 public:
  enum class Extent : uint8_t {
    All,
    // Only functions that contain a collective or call one that does: what a check of collectives
    // needs. The rest counts as unreachable.
    Collectives,
  };
  explicit Uniformity(const ir::Module& module, Extent extent = Extent::All);
  ~Uniformity();

  const CallGraph& callGraph() const { return calls_; }

  // False for functions that no kernel reaches or that the extent leaves out.
  bool analyzed(const ir::Function* function) const;
  Rank rank(const ir::Value* value) const;
  // Of the decisions that lead to a block: its own function's and those around every call of the
  // function.
  Rank controlRank(const ir::Block* block) const;

  // Why a rank is above `above` (which is not Varying): the shortest chain found from the block's
  // control or the value back to a source. At most kMaxSteps links.
  static constexpr size_t kMaxSteps = 64;
  std::vector<ReasonStep> explainControl(const ir::Block* block, Rank above) const;
  std::vector<ReasonStep> explainValue(const ir::Value* value, Rank above) const;

 private:
  struct FunctionState;
  struct Cursor;

  void choose(Extent extent);
  void summarize(uint32_t function);
  void analyze(uint32_t function);
  UniformityBits summaryOf(const ir::Function* function) const;
  const FunctionState* stateOf(const ir::Function* function) const;
  std::vector<ReasonStep> explain(Cursor cursor, unsigned level) const;

  CallGraph calls_;
  std::vector<std::unique_ptr<FunctionState>>
      states_;  // By function of the call graph; null if not reached.
};

// For each reached function its blocks with their control rank and every value with its rank.
std::string printUniformity(const ir::Module& module);

}  // namespace mtlc::analysis

#endif  // MTLC_ANALYSIS_UNIFORMITY_H_
