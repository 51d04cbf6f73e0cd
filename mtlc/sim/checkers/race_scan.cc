#include "mtlc/sim/checkers/race_scan.h"

namespace mtlc::sim::MTLC_LANES {
namespace {

inline __attribute__((always_inline)) uint64_t allOnes(bool b) { return b ? ~uint64_t{0} : 0; }

inline __attribute__((always_inline)) bool ordered(uint64_t tag, const ScanAccess& a) {
  return tag == 0 || tag - a.low < a.span;
}

template <unsigned kPerLane>
bool loads(const CellRun& c, size_t count, const ScanAccess& a) {
  const uint64_t first = a.info & kLaneField;
  if (c.writeTag != nullptr) {
    uint64_t bad = 0;
    for (size_t i = 0; i < count; ++i) {
      uint64_t lane = first + (static_cast<uint64_t>(i / kPerLane) << kLaneShift);
      bool own = c.writeTag[i] == a.tag && (c.writeInfo[i] & kLaneField) == lane;
      bad |= allOnes(!(ordered(c.writeTag[i], a) || own));
    }
    if (bad != 0) return false;
  }
  for (size_t i = 0; i < count; ++i) {
    uint64_t info = a.info + (static_cast<uint64_t>(i / kPerLane) << kLaneShift);
    uint64_t oldTag = c.readTag[i], oldInfo = c.readInfo[i];
    uint64_t fresh = allOnes(ordered(oldTag, a));
    c.readTag[i] = a.tag;
    c.readInfo[i] = info | (~fresh & manyReaders(oldTag, oldInfo, a.tag, info));
  }
  return true;
}

template <unsigned kPerLane>
bool stores(const CellRun& c, size_t count, const ScanAccess& a) {
  const uint64_t first = a.info & kLaneField;
  uint64_t bad = 0;
  for (size_t i = 0; i < count; ++i) {
    uint64_t lane = first + (static_cast<uint64_t>(i / kPerLane) << kLaneShift);
    bool ownWrite = c.writeTag[i] == a.tag && (c.writeInfo[i] & kLaneField) == lane;
    bad |= allOnes(!(ordered(c.writeTag[i], a) || ownWrite));
  }
  if (c.readTag != nullptr) {
    for (size_t i = 0; i < count; ++i) {
      uint64_t lane = first + (static_cast<uint64_t>(i / kPerLane) << kLaneShift);
      bool ownRead = c.readTag[i] == a.tag && (c.readInfo[i] & (kLaneField | kMany)) == lane;
      bad |= allOnes(!(ordered(c.readTag[i], a) || ownRead));
    }
  }
  if (bad != 0) return false;
  for (size_t i = 0; i < count; ++i) {
    c.writeTag[i] = a.tag;
    c.writeInfo[i] = a.info + (static_cast<uint64_t>(i / kPerLane) << kLaneShift);
  }
  if (c.readTag != nullptr) {
    for (size_t i = 0; i < count; ++i) c.readTag[i] = 0;
  }
  return true;
}

uint32_t breaks(const uint64_t* addresses, uint64_t bytes) {
  uint32_t out = 1;
  for (unsigned i = 1; i < 32; ++i) {
    out |= static_cast<uint32_t>(addresses[i] - addresses[i - 1] != bytes) << i;
  }
  return out;
}

void offsets(const uint64_t* addresses, uint64_t begin, uint32_t* out, uint32_t& low,
             uint32_t& high) {
  uint32_t least = ~uint32_t{0}, most = 0;
  for (unsigned i = 0; i < 32; ++i) out[i] = static_cast<uint32_t>(addresses[i] - begin);
  for (unsigned i = 0; i < 32; ++i) {
    least = out[i] < least ? out[i] : least;
    most = out[i] > most ? out[i] : most;
  }
  low = least;
  high = most;
}

bool anyLoads(const CellRun& c, size_t count, unsigned perLane, const ScanAccess& a) {
  switch (perLane) {
    case 1:
      return loads<1>(c, count, a);
    case 2:
      return loads<2>(c, count, a);
    case 4:
      return loads<4>(c, count, a);
    case 8:
      return loads<8>(c, count, a);
    default:
      return false;
  }
}

bool anyStores(const CellRun& c, size_t count, unsigned perLane, const ScanAccess& a) {
  switch (perLane) {
    case 1:
      return stores<1>(c, count, a);
    case 2:
      return stores<2>(c, count, a);
    case 4:
      return stores<4>(c, count, a);
    case 8:
      return stores<8>(c, count, a);
    default:
      return false;
  }
}

}  // namespace

const RaceScan& raceScan() {
  static constexpr RaceScan kScan{anyLoads, anyStores, breaks, offsets};
  return kScan;
}

}  // namespace mtlc::sim::MTLC_LANES
