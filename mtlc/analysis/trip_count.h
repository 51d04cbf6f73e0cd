// Constant trip counts of loops whose counter is a block argument or still a variable in private
// memory, so that a verdict that depends on them is the same before and after promotion.

#ifndef MTLC_ANALYSIS_TRIP_COUNT_H_
#define MTLC_ANALYSIS_TRIP_COUNT_H_

#include <optional>

#include "mtlc/analysis/loops.h"
#include "mtlc/analysis/private_slots.h"

namespace mtlc::analysis {

// How often the back edge of a loop is taken, when the loop is natural, has one latch and one exit
// edge (in the header or the latch), counts by a constant from a constant to a constant, and does
// not wrap.
std::optional<uint64_t> constantBackEdges(const LoopForest& loops, const PrivateSlots& slots,
                                          uint32_t loop);

// The same without a walk over the loop, for callers who know its only latch and the block of its
// only exit edge.
std::optional<uint64_t> constantBackEdges(const LoopForest& loops, const PrivateSlots& slots,
                                          uint32_t loop, uint32_t latch, uint32_t exitBlock);

}  // namespace mtlc::analysis

#endif  // MTLC_ANALYSIS_TRIP_COUNT_H_
