// How undefined bits of an instruction's sources spread to its result.

#ifndef MTLC_SIM_CHECKERS_SPREAD_H_
#define MTLC_SIM_CHECKERS_SPREAD_H_

#include <array>
#include <cstdint>

#include "mtlc/sim/isa/instructions.h"

namespace mtlc::sim {

// The undefined bits of the result of a form of `row`, where `undefined` are those of the sources
// and `values` what they hold; all 64 where the operation mixes everything.
uint64_t spreadBits(const InstrRow& row, const std::array<uint64_t, 4>& undefined,
                    const std::array<uint64_t, 4>& values);

}  // namespace mtlc::sim

#endif  // MTLC_SIM_CHECKERS_SPREAD_H_
