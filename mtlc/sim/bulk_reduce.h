// What cp.reduce.async.bulk does to memory (PTX ISA 9.7.9.25.5).

#ifndef MTLC_SIM_BULK_REDUCE_H_
#define MTLC_SIM_BULK_REDUCE_H_

#include <cstdint>

#include "mtlc/sim/isa/types.h"

namespace mtlc::sim {

// to[i] = op(to[i], from[i]) for `bytes` of elements of `type`, each atomically. Sums of f16 and
// bf16 are rounded once to nearest; so are those of f32 and f64.
void reduceBytes(Mod op, Type type, uint8_t* to, const uint8_t* from, uint32_t bytes);

}  // namespace mtlc::sim

#endif  // MTLC_SIM_BULK_REDUCE_H_
