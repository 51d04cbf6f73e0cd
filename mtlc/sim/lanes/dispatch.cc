#include "mtlc/sim/lanes/lanes.h"

namespace mtlc::sim {

const LaneTable& laneTable(bool portable) {
#ifdef MTLC_HAVE_V3
  if (!portable && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2")) {
    return v3::laneTable();
  }
#endif
  (void)portable;
  return base::laneTable();
}

}  // namespace mtlc::sim
