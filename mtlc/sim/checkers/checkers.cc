#include "mtlc/sim/checkers/checkers.h"

#include <algorithm>

#include "mtlc/sim/launch_state.h"

namespace mtlc::sim {

std::vector<std::unique_ptr<Observer>> makeCheckers(const LaunchConfig& config,
                                                    const Program& program) {
  std::vector<std::unique_ptr<Observer>> out;
  if (has(config.checks, Checks::init)) out.push_back(makeInitChecker());
  if (has(config.checks, Checks::race)) out.push_back(makeRaceChecker());
  if (has(config.checks, Checks::sync)) out.push_back(makeSyncChecker());
  bool mbarriers = std::any_of(program.asyncs.begin(), program.asyncs.end(),
                               [](const AsyncSite& a) { return a.op == AsyncOp::mbarInit; });
  if (has(config.checks, Checks::sync) && mbarriers) out.push_back(makeMbarrierAccessChecker());
  if (has(config.checks, Checks::async)) out.push_back(makeAsyncChecker());
  bool products = std::any_of(program.matrices.begin(), program.matrices.end(),
                              [](const MatrixSite& m) { return m.warpgroup != nullptr; });
  if (has(config.checks, Checks::async) && products) out.push_back(makeProductChecker());
  if (has(config.checks, Checks::sync) && products) out.push_back(makeWarpgroupChecker());
  return out;
}

}  // namespace mtlc::sim
