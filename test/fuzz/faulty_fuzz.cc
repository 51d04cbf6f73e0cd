// A fuzz entry point with faults that its input asks for, to test the fuzzing itself.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

// Overflows the stack for a large n; `sink` keeps the frames.
int recurse(int n, volatile char* sink) {
  volatile char frame[1024];
  frame[n % 1024] = *sink;
  return n == 0 ? 0 : 1 + recurse(n - 1, frame) + frame[0] * 0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.starts_with("CRASH")) *static_cast<volatile int*>(nullptr) = 1;
  if (text.starts_with("ABORT")) std::abort();
  if (text.starts_with("STACK")) {
    volatile char start = 0;
    recurse(1 << 20, &start);
  }
  if (text.starts_with("HANG")) {
    for (volatile int forever = 1; forever == 1;) {
    }
  }
  if (text.starts_with("MEMORY")) {
    for (;;) {
      volatile char* p = new char[size_t{1} << 30];
      p[0] = 1;
    }
  }
  return 0;
}
