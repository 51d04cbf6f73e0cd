// Any text is an argument or is refused. Counts are cut to three digits, so that buffers stay
// small.

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "mtlc/support/arg_spec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text;
  size_t digits = 0;
  for (size_t i = 0; i < size && data[i] != '\n'; ++i) {
    digits = isdigit(data[i]) ? digits + 1 : 0;
    if (digits <= 3) text += static_cast<char>(data[i]);
  }
  if (text.find('/') != std::string::npos || text.ends_with(":-")) return 0;
  auto spec = mtlc::parseArgSpec(text);
  if (!spec.ok()) return 0;
  if (spec->kind == mtlc::ArgSpec::Kind::Buffer && spec->type != mtlc::DType::Bool) {
    uint64_t count = 1;
    for (uint64_t extent : spec->shape) count *= extent;
    if (count * mtlc::dtypeInfo(spec->type).bytes != spec->bytes.size()) abort();
  }
  return 0;
}
