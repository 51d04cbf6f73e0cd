// Rows of known_bad_test.cc, which explains them.

#ifndef MTLC_SIM_TESTING_KNOWN_BAD_H_
#define MTLC_SIM_TESTING_KNOWN_BAD_H_

#include <cstdint>
#include <ostream>
#include <vector>

#include "mtlc/sim/device.h"

namespace mtlc::sim::known_bad {

struct Row {
  const char* name;
  DiagId id;
  const char* body;
  uint32_t threads = 64;
  uint32_t blocks = 1;
  Checks checks = Checks::all;
  bool poison = false;  // `out` is not initialised.
  uint32_t dynamicShared = 0;
  const char* head = nullptr;  // What the kernel begins with, unless as usual.
};

inline void PrintTo(const Row& row, std::ostream* os) { *os << row.name; }

// Those about asynchronous copies.
const std::vector<Row>& asyncRows();
// Those about products of warpgroups.
const std::vector<Row>& warpgroupRows();

}  // namespace mtlc::sim::known_bad

#endif  // MTLC_SIM_TESTING_KNOWN_BAD_H_
