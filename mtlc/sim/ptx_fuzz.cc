// Bytes through the reader and the decoder of PTX.

#include <cstdio>

#include "mtlc/sim/testing/hostile.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mtlc::sim::HostileResult result =
      mtlc::sim::loadHostile({reinterpret_cast<const char*>(data), size});
  if (!result.broken.empty()) {
    std::fprintf(stderr, "broken: %s\n", result.broken.c_str());
    __builtin_trap();
  }
  return 0;
}
