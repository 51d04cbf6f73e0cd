// The same kernels as PTX and as SPIR-V on the simulator.

#ifndef TEST_RANDOM_RUN_ON_SIMULATOR_H_
#define TEST_RANDOM_RUN_ON_SIMULATOR_H_

#include <string>
#include <string_view>

#include "test/random/run_kernel.h"

namespace mtlc::random_test {

// Emits PTX for `arch` from `module` (which has passed the verifiers and may be changed) and runs
// it, with the checks of memory, races and barriers. `text` receives the PTX.
KernelOutput runPtx(ir::Module& module, std::string_view arch, const KernelInput& input,
                    std::string& text);

// The same as SPIR-V of the OpenCL 2.0 profile, with subgroups of so many threads.
KernelOutput runSpirv(ir::Module& module, uint32_t subgroupSize, const KernelInput& input,
                      std::string& text);

}  // namespace mtlc::random_test

#endif  // TEST_RANDOM_RUN_ON_SIMULATOR_H_
