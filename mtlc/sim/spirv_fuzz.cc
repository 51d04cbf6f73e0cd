// Bytes as SPIR-V whose kernels are launched, with checks and tight limits; and the module that
// they are with some words changed, for few changes of bytes leave one.

#include <cstdio>
#include <cstring>
#include <vector>

#include "mtlc/sim/testing/hostile.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr unsigned kMutations = 4;
  std::vector<uint32_t> words(size / 4);
  if (!words.empty()) std::memcpy(words.data(), data, words.size() * 4);
  uint64_t seed = 0xcbf29ce484222325;  // FNV-1a: a saved input runs the same way.
  for (uint32_t w : words) seed = (seed ^ w) * 0x100000001b3;
  for (unsigned i = 0; i <= kMutations; ++i) {
    mtlc::sim::HostileResult result = mtlc::sim::launchHostileSpirv(
        i == 0 ? words : mtlc::sim::mutateSpirv(words, seed + i), seed);
    if (!result.broken.empty()) {
      std::fprintf(stderr, "broken: %s\n", result.broken.c_str());
      __builtin_trap();
    }
  }
  return 0;
}
