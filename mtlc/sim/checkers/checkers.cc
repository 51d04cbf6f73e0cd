#include "mtlc/sim/warp.h"

namespace mtlc::sim {

std::vector<std::unique_ptr<Observer>> makeCheckers(const LaunchConfig& config) {
  std::vector<std::unique_ptr<Observer>> out;
  (void)config;
  return out;
}

}  // namespace mtlc::sim
