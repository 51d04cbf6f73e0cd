// Largest f32 error of each function of one argument over all 2^32 inputs, or every n-th:
//   bazel run -c opt //mtlc/support/math:exhaustive -- [step]

#include <cstdio>
#include <cstdlib>
#include <string>

#include "mtlc/support/math/accuracy.h"

int main(int argc, char** argv) {
  using namespace mtlc::math;  // NOLINT: a main of ten lines
  uint64_t step = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  if (step == 0) step = 1;
  int failures = 0;
  for (int i = 0; i < kMathFnCount; ++i) {
    auto fn = static_cast<MathFn>(i);
    if (mathFnInfo(fn).arguments != 1) continue;
    double worst = 0;
    uint32_t at = 0;
    for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += step) {
      double error = ulpErrorF32(fn, static_cast<uint32_t>(bits), 0);
      if (error > worst) worst = error, at = static_cast<uint32_t>(bits);
    }
    failures += worst > mathFnInfo(fn).maxUlp;
    std::printf("%-6s %.4f ulp at 0x%08X, bound %d\n", std::string(mathFnInfo(fn).name).c_str(),
                worst, at, mathFnInfo(fn).maxUlp);
  }
  return failures == 0 ? 0 : 1;
}
