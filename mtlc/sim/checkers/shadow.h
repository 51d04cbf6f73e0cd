// What the init checker keeps of undefined bits.

#ifndef MTLC_SIM_CHECKERS_SHADOW_H_
#define MTLC_SIM_CHECKERS_SHADOW_H_

#include <cstdint>
#include <cstring>
#include <vector>

#include "mtlc/sim/program.h"

namespace mtlc::sim {

// The shadow of a warp's register banks.
struct WarpShadow {
  Columns<uint32_t> bits32;  // Meaningful for the lanes in `undefined32`.
  Columns<uint64_t> bits64;
  std::vector<LaneMask> undefined32;  // By slot: lanes with an undefined bit.
  std::vector<LaneMask> undefined64;
  std::vector<LaneMask> pred;
  uint32_t undefinedSlots = 0;  // Entries of the three that are not 0.

  void mark(LaneMask& m, LaneMask value) {
    undefinedSlots += (value != 0 ? 1u : 0u) - (m != 0 ? 1u : 0u);
    m = value;
  }
};

struct BlockShadow {
  std::vector<WarpShadow> warps;
  std::vector<uint8_t> shared;
  std::vector<uint8_t> local;
};

inline bool allZero(const uint8_t* p, size_t n) {
  uint64_t any = 0;
  size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    uint64_t v[4];
    std::memcpy(v, p + i, sizeof v);
    any |= v[0] | v[1] | v[2] | v[3];
  }
  for (; i + 8 <= n; i += 8) {
    uint64_t v;
    std::memcpy(&v, p + i, 8);
    any |= v;
  }
  for (; i < n; ++i) any |= p[i];
  return any == 0;
}

// True if an element with these undefined bits is worth a report when the host reads it. Copies
// of structures carry their padding along: whole bytes that are undefined beside whole bytes that
// are not.
inline bool tellsOnReading(const uint8_t* undefined, size_t bytes) {
  size_t none = 0, all = 0;
  for (size_t i = 0; i < bytes; ++i) {
    none += undefined[i] == 0;
    all += undefined[i] == 0xff;
  }
  return none + all < bytes || none == 0;
}

}  // namespace mtlc::sim

#endif  // MTLC_SIM_CHECKERS_SHADOW_H_
