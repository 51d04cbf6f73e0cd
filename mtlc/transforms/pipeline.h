// Running passes over a module: the standard pipelines, pipelines given as text, and what can be
// watched on the way.

#ifndef MTLC_TRANSFORMS_PIPELINE_H_
#define MTLC_TRANSFORMS_PIPELINE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mtlc/ir/ir.h"
#include "mtlc/support/diagnostics.h"
#include "mtlc/transforms/pass.h"
#include "mtlc/transforms/remarks.h"

namespace mtlc::transforms {

enum class OptLevel : uint8_t { O0, O };

// What a run did, for --timing and --stats.
struct PipelineReport {
  struct Step {
    PassId pass;
    double seconds = 0;      // Only with PipelineOptions::timing.
    uint64_t functions = 0;  // How many functions it ran on (1 for a module pass).
    uint64_t changed = 0;    // How many of them it changed.
  };
  std::vector<Step> steps;  // One for each invocation, in order.
  Statistics statistics{};
};
// Tables for people. `renderStatistics` leaves out counters that are zero.
std::string renderTiming(const PipelineReport& report);
std::string renderStatistics(const PipelineReport& report);

struct PipelineOptions {
  // Run ir::verify after each pass, and stop with PassLeftInvalidIr if it finds something.
  bool verifyEach = false;
  // Passes by name whose input or output is printed to `print`.
  bool printBeforeAll = false;
  bool printAfterAll = false;
  bool printChanged = false;  // After each pass that changed the text of the module.
  std::vector<std::string> printBefore;
  std::vector<std::string> printAfter;
  std::function<void(std::string_view)> print;

  bool timing = false;
  PipelineReport* report = nullptr;  // Receives the statistics and, with `timing`, times.
  RemarkLog* remarks = nullptr;      // Receives remarks.

  // Called around each pass on the whole module. A false result of `afterPass` stops the run; the
  // callee has reported why.
  std::function<void(const PassInvocation&, const ir::Module&)> beforePass;
  std::function<bool(const PassInvocation&, const ir::Module&)> afterPass;

  // Something above wants to see the whole module between two passes.
  bool watches() const {
    return verifyEach || printBeforeAll || printAfterAll || printChanged || !printBefore.empty() ||
           !printAfter.empty() || beforePass || afterPass;
  }
};

std::vector<PassInvocation> standardPipeline(OptLevel level);

// Runs the passes in order over a module that verifies. Consecutive function passes run function by
// function, unless the options watch the module between passes; the result is the same.
// Declarations are skipped. Returns false when an error was reported (a module pass or verifyEach
// found one), or afterPass returned false.
bool runPasses(ir::Module& module, std::span<const PassInvocation> passes, DiagnosticEngine& diags,
               const PipelineOptions& options = {});

// runPasses() with the standard pipeline of the level. -O gives the value 0 to a read of private
// memory that was never written, which ir.md leaves undefined; everything else is bit-exact.
bool runPipeline(ir::Module& module, OptLevel level, DiagnosticEngine& diags,
                 const PipelineOptions& options = {});

// Parses `a,b{option=1,other=true},c`. Spaces are ignored. Errors are reported at their place in
// `text`, which is registered in `sources` under `sourceName` (such as "--passes").
std::optional<std::vector<PassInvocation>> parsePipeline(std::string_view text,
                                                         std::string_view sourceName,
                                                         SourceManager& sources,
                                                         DiagnosticEngine& diags);

std::optional<PassId> passFromName(std::string_view name);

// The table of passes with their options, for --list-passes.
std::string renderPassList();

// The first order constraint of pipeline.def that `passes` violates, as a sentence; empty if none.
std::string findOrderViolation(std::span<const PassId> passes);

}  // namespace mtlc::transforms

#endif  // MTLC_TRANSFORMS_PIPELINE_H_
