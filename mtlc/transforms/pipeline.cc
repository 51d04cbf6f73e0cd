#include "mtlc/transforms/pipeline.h"

#include <iterator>

namespace mtlc::transforms {
namespace {

// A last element that is no pass, because a pipeline may be empty.
constexpr PassId kEnd = static_cast<PassId>(kPassCount);
constexpr PassId kStepsO0[] = {
#define STEP_O0(Pass) PassId::Pass,
#include "mtlc/transforms/pipeline.def"
    kEnd};
constexpr PassId kStepsO[] = {
#define STEP_O(Pass) PassId::Pass,
#include "mtlc/transforms/pipeline.def"
    kEnd};
constexpr std::span<const PassId> kPipelineO0 = std::span(kStepsO0).first(std::size(kStepsO0) - 1);
constexpr std::span<const PassId> kPipelineO = std::span(kStepsO).first(std::size(kStepsO) - 1);

struct Constraint {
  PassId pass;
  PassId other;
  bool otherFirst;  // NEEDS, else FOLLOWED_BY.
  std::string_view because;
};
constexpr Constraint kConstraints[] = {
#define NEEDS(Later, Earlier, because) {PassId::Later, PassId::Earlier, true, because},
#define FOLLOWED_BY(Pass, Cleanup, because) {PassId::Pass, PassId::Cleanup, false, because},
#include "mtlc/transforms/pipeline.def"
};

constexpr bool holds(const Constraint& c, std::span<const PassId> passes) {
  bool satisfied = false;
  bool pending = false;
  for (PassId p : passes) {
    if (p == c.pass) {
      if (c.otherFirst && !satisfied) return false;
      pending = true;
    }
    if (p == c.other) {
      satisfied = true;
      if (p != c.pass) pending = false;
    }
  }
  return c.otherFirst || !pending;
}

constexpr const Constraint* firstViolation(std::span<const PassId> passes) {
  for (const Constraint& c : kConstraints) {
    if (!holds(c, passes)) return &c;
  }
  return nullptr;
}

static_assert(firstViolation(kPipelineO0) == nullptr, "-O0 violates a constraint of pipeline.def");
static_assert(firstViolation(kPipelineO) == nullptr, "-O violates a constraint of pipeline.def");

}  // namespace

std::string findOrderViolation(std::span<const PassId> passes) {
  const Constraint* c = firstViolation(passes);
  if (!c) return "";
  std::string text = "'";
  text += passRow(c->pass).name;
  text += c->otherFirst ? "' needs an earlier '" : "' needs a later '";
  text += passRow(c->other).name;
  text += "': ";
  text += c->because;
  return text;
}

std::vector<PassInvocation> standardPipeline(OptLevel level) {
  std::vector<PassInvocation> passes;
  for (PassId p : level == OptLevel::O0 ? kPipelineO0 : kPipelineO) passes.push_back({p});
  return passes;
}

bool runPipeline(ir::Module& module, OptLevel level, DiagnosticEngine& diags,
                 const PipelineOptions& options) {
  return runPasses(module, standardPipeline(level), diags, options);
}

}  // namespace mtlc::transforms
