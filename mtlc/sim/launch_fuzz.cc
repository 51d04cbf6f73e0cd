// Bytes as PTX whose kernels are launched, with checks and tight limits.

#include <cstdio>

#include "mtlc/sim/testing/hostile.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  uint64_t seed = 0xcbf29ce484222325;  // FNV-1a of the text: a saved input launches the same way.
  for (size_t i = 0; i < size; ++i) seed = (seed ^ data[i]) * 0x100000001b3;
  mtlc::sim::HostileResult result =
      mtlc::sim::launchHostile({reinterpret_cast<const char*>(data), size}, seed);
  if (!result.broken.empty()) {
    std::fprintf(stderr, "broken: %s\n", result.broken.c_str());
    __builtin_trap();
  }
  return 0;
}
