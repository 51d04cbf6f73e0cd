#include "mtlc/sim/checkers/race_scan.h"
#include "mtlc/sim/lanes/lanes.h"

namespace mtlc::sim {

namespace {

bool hasV3() {
#ifdef MTLC_HAVE_V3
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi2");
#else
  return false;
#endif
}

}  // namespace

const LaneTable& laneTable(bool portable) {
#ifdef MTLC_HAVE_V3
  if (!portable && hasV3()) return v3::laneTable();
#endif
  (void)portable;
  return base::laneTable();
}

const RaceScan& raceScan() {
#ifdef MTLC_HAVE_V3
  if (hasV3()) return v3::raceScan();
#endif
  return base::raceScan();
}

}  // namespace mtlc::sim
