// For tests of passes: straight-line functions as expressions, random ones, and their values.

#ifndef MTLC_TRANSFORMS_EXPRESSION_TESTING_H_
#define MTLC_TRANSFORMS_EXPRESSION_TESTING_H_

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "mtlc/ir/ir.h"

namespace mtlc::transforms {

// The values of all operations of the entry block, by operation order, and what it returns.
struct Evaluation {
  std::vector<std::pair<const ir::Value*, uint64_t>> values;
  uint64_t result = 0;
};
std::optional<Evaluation> evaluateAll(const ir::Function& function,
                                      std::span<const uint64_t> inputs);

// What `function`, one block that ends in `ret %v`, returns. Pointers are numbers. No value if an
// operation has none (memory, calls).
std::optional<uint64_t> evaluate(const ir::Function& function, std::span<const uint64_t> inputs);

// A function of a few parameters of random types that computes a random expression of all pure
// operations, with many of the constants at which rules apply. The same seed gives the same
// function.
ir::Function* makeRandomExpression(ir::Module& module, uint32_t seed);

// Arguments for the function: corner cases of each type, mixed with random bits.
std::vector<uint64_t> randomInputs(const ir::Function& function, uint32_t seed);

}  // namespace mtlc::transforms

#endif  // MTLC_TRANSFORMS_EXPRESSION_TESTING_H_
