// Runs a kernel of a module on the reference interpreter, for comparisons of whole results.

#ifndef TEST_RANDOM_RUN_KERNEL_H_
#define TEST_RANDOM_RUN_KERNEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "mtlc/ir/ir.h"

namespace mtlc::random_test {

// One input and one output buffer, then scalars: what all generated kernels take.
struct KernelInput {
  std::string kernel = "k";
  uint32_t grid = 1, block = 1;
  std::vector<uint8_t> input;
  size_t outputBytes = 0;  // The output starts as 0xCD, and may stay so.
  std::vector<uint64_t> scalars;
  uint64_t schedule = 0;  // Order of threads.
};

struct KernelOutput {
  std::string problem;  // Why it didn't run, or the first fault; empty if all went well.
  std::vector<uint8_t> bytes;
  uint64_t instructions = 0;
};

// With all checks on.
KernelOutput runKernel(const ir::Module& module, const KernelInput& input);

// Bits for the scalar parameters of a kernel, from its third parameter on.
std::vector<uint64_t> randomScalars(const ir::Function& kernel, uint64_t seed);

// Where two outputs differ first, with the bytes around, for people; empty if they don't.
std::string describeDifference(const std::vector<uint8_t>& expected,
                               const std::vector<uint8_t>& got);

}  // namespace mtlc::random_test

#endif  // TEST_RANDOM_RUN_KERNEL_H_
