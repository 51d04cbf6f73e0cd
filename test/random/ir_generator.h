// Random kernels of the IR: valid, terminating, without faults, and different in every bit that
// goes wrong.
//
// The control flow is arbitrary (irreducible too); every edge back spends fuel from a private
// counter. All operations of the table appear, with operands that prefer the corners of their
// types. Each thread writes what it computes into cells of its own in `out`. Barriers stand where
// the uniformity analysis says that all get there together.

#ifndef TEST_RANDOM_IR_GENERATOR_H_
#define TEST_RANDOM_IR_GENERATOR_H_

#include <cstdint>
#include <random>
#include <vector>

#include "mtlc/ir/ir.h"

namespace mtlc::random_test {

// The launch that the kernels are made for.
inline constexpr uint32_t kGrid = 2, kBlock = 5;
inline constexpr uint32_t kInputCells = 32;  // Of eight bytes each.
inline constexpr uint32_t kCellsPerThread = 64;

// kernel @k(in: ptr<global>, out: ptr<global>, scalars…) and some helpers, into an empty module.
void generateModule(ir::Module& module, uint64_t seed);

// Which payload a NaN has is left open by docs/ir.md: makes every NaN the same one before its bits
// can be seen, in bitcasts and in global memory. For comparisons with other devices.
void canonicaliseNans(ir::Module& module);

// The bits of a value of the type, often a corner: 0, 1, -1, the extremes, the width; NaNs,
// infinities, subnormals.
uint64_t randomBits(ir::Type type, std::mt19937_64& random);

}  // namespace mtlc::random_test

#endif  // TEST_RANDOM_IR_GENERATOR_H_
