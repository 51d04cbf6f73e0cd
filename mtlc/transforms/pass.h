// What a pass is, and what it gets from the pass manager.

#ifndef MTLC_TRANSFORMS_PASS_H_
#define MTLC_TRANSFORMS_PASS_H_

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "mtlc/ir/ir.h"
#include "mtlc/transforms/function_analyses.h"
#include "mtlc/transforms/remarks.h"

namespace mtlc::transforms {

enum class PassLevel : uint8_t { Function, Module };

enum class OptionId : uint8_t {
#define PASS_OPTION(Pass, Id, name, fallback, least, most, description) Id,
#include "mtlc/transforms/passes.def"
};
inline constexpr int kOptionCount = 0
#define PASS_OPTION(Pass, Id, name, fallback, least, most, description) +1
#include "mtlc/transforms/passes.def"
    ;

enum class Stat : uint8_t {
#define STATISTIC(Pass, Id, description) Id,
#include "mtlc/transforms/passes.def"
};
inline constexpr int kStatCount = 0
#define STATISTIC(Pass, Id, description) +1
#include "mtlc/transforms/passes.def"
    ;

struct PassRow {
  std::string_view name;
  PassLevel level;
  std::string_view description;
};
struct OptionRow {
  PassId pass;
  std::string_view name;
  int64_t fallback, least, most;
  std::string_view description;
};
struct StatRow {
  PassId pass;
  std::string_view description;
};
const PassRow& passRow(PassId id);
const OptionRow& optionRow(OptionId id);
const StatRow& statRow(Stat id);

// One entry of a pipeline: a pass, and the options that differ from their defaults.
struct PassInvocation {
  PassId pass;
  std::vector<std::pair<OptionId, int64_t>> options = {};
};

// What a pass did to a function.
enum class Change : uint8_t {
  None,    // Nothing: the text of the function is the same.
  Values,  // Operations changed; blocks, edges and block order did not.
  Cfg,     // Anything may have changed.
};
inline Change max(Change a, Change b) { return a < b ? b : a; }

using Statistics = std::array<uint64_t, kStatCount>;

// The environment of a run. A pass reads its options, counts, remarks, and asks for analyses; it
// keeps no state of its own between functions.
class PassContext {
 public:
  explicit PassContext(RemarkLog* remarks = nullptr, DiagnosticEngine* diags = nullptr)
      : remarks_(remarks), diags_(diags) {}

  int64_t option(OptionId id) const;
  void count(Stat stat, uint64_t n = 1) { statistics_[static_cast<size_t>(stat)] += n; }
  // Ask before computing the arguments of a remark.
  bool wantsRemarks() const { return remarks_ != nullptr; }
  void remark(RemarkId id, const ir::Function& function, SourceLoc at, DiagArgs args = {}) {
    if (remarks_) remarks_->add(id, function.name(), at, args);
  }
  RemarkLog* remarks() const { return remarks_; }  // nullptr if nobody wants them.
  // For what a pass cannot accept; the run ends after a pass that reported an error. nullptr
  // outside of runPasses().
  DiagnosticEngine* diags() const { return diags_; }
  // Analyses of `function` as it is now. A pass that changes the function calls
  // analyses().invalidate(function, change) before it asks again; the manager does it at the end of
  // a pass, by the pass's result.
  FunctionAnalyses& analyses() { return analyses_; }

  void setInvocation(const PassInvocation* invocation) { invocation_ = invocation; }
  const Statistics& statistics() const { return statistics_; }

 private:
  const PassInvocation* invocation_ = nullptr;
  RemarkLog* remarks_;
  DiagnosticEngine* diags_;
  Statistics statistics_{};
  FunctionAnalyses analyses_;
};

// The passes of passes.def.
namespace internal {
using FunctionUnit = ir::Function;
using ModuleUnit = ir::Module;
}  // namespace internal
#define PASS(Id, name, level, description) \
  Change run##Id(internal::level##Unit& unit, PassContext& context);
#include "mtlc/transforms/passes.def"

}  // namespace mtlc::transforms

#endif  // MTLC_TRANSFORMS_PASS_H_
