// Any bytes either are a .npy file, which then survives writing and reading, or are refused.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "mtlc/support/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto array = mtlc::parseNpy({reinterpret_cast<const char*>(data), size});
  if (!array.ok()) return 0;
  auto again = mtlc::parseNpy(mtlc::formatNpy(array->type, array->shape, array->data));
  if (!again.ok() || again->type != array->type || again->shape != array->shape ||
      again->data != array->data) {
    abort();
  }
  return 0;
}
