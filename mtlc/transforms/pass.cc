#include "mtlc/transforms/pass.h"

namespace mtlc::transforms {
namespace {

constexpr PassRow kPasses[] = {
#define PASS(Id, name, level, description) {name, PassLevel::level, description},
#include "mtlc/transforms/passes.def"
};
constexpr OptionRow kOptions[] = {
#define PASS_OPTION(Pass, Id, name, fallback, least, most, description) \
  {PassId::Pass, name, fallback, least, most, description},
#include "mtlc/transforms/passes.def"
};
constexpr StatRow kStats[] = {
#define STATISTIC(Pass, Id, description) {PassId::Pass, description},
#include "mtlc/transforms/passes.def"
};

}  // namespace

const PassRow& passRow(PassId id) { return kPasses[static_cast<size_t>(id)]; }
const OptionRow& optionRow(OptionId id) { return kOptions[static_cast<size_t>(id)]; }
const StatRow& statRow(Stat id) { return kStats[static_cast<size_t>(id)]; }

int64_t PassContext::option(OptionId id) const {
  if (invocation_) {
    for (const auto& [given, value] : invocation_->options) {
      if (given == id) return value;
    }
  }
  return optionRow(id).fallback;
}

}  // namespace mtlc::transforms
