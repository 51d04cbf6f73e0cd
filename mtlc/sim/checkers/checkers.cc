#include "mtlc/sim/checkers/checkers.h"

#include "mtlc/sim/launch_state.h"

namespace mtlc::sim {

std::vector<std::unique_ptr<Observer>> makeCheckers(const LaunchConfig& config) {
  std::vector<std::unique_ptr<Observer>> out;
  if (has(config.checks, Checks::init)) out.push_back(makeInitChecker());
  if (has(config.checks, Checks::race)) out.push_back(makeRaceChecker());
  if (has(config.checks, Checks::sync)) out.push_back(makeSyncChecker());
  if (has(config.checks, Checks::async)) out.push_back(makeAsyncChecker());
  return out;
}

}  // namespace mtlc::sim
