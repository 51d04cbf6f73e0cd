// Bytes through the simulator, for the fuzz targets and the mutation test: whatever they say, the
// library keeps its promises.

#ifndef MTLC_SIM_TESTING_HOSTILE_H_
#define MTLC_SIM_TESTING_HOSTILE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mtlc::sim {

struct HostileResult {
  std::string broken;  // The promise that was not kept; empty if all were.
  bool loaded = false;
  uint32_t launches = 0;
};

// Loads `ptx` and decodes every kernel.
HostileResult loadHostile(std::string_view ptx);
// Also launches the first kernels, each with a small configuration that `seed` chooses, arguments
// that point to small buffers, and tight limits.
HostileResult launchHostile(std::string_view ptx, uint64_t seed);

// The same with a module of SPIR-V.
HostileResult launchHostileSpirv(std::span<const uint32_t> words, uint64_t seed);
// The module with a few words changed, most of them so that it stays one: ids, opcodes, literals
// and whole instructions become others of the module.
std::vector<uint32_t> mutateSpirv(std::span<const uint32_t> words, uint64_t seed);

}  // namespace mtlc::sim

#endif  // MTLC_SIM_TESTING_HOSTILE_H_
