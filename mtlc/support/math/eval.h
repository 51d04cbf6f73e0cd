// Evaluation of the mathematical functions on the host, for the constant folder and the reference
// interpreter. Bit for bit what the expanded IR computes (mtlc/transforms/expand_math.h): both come
// from the templates of this folder.

#ifndef MTLC_SUPPORT_MATH_EVAL_H_
#define MTLC_SUPPORT_MATH_EVAL_H_

#include <cstdint>
#include <string_view>

#include "mtlc/support/scalar_ops.h"

namespace mtlc::math {

enum class MathFn : uint8_t {
#define MATH_FUNCTION(Enum, name, arguments, ulp) Enum,
#include "mtlc/support/math/functions.def"
};

inline constexpr int kMathFnCount = 0
#define MATH_FUNCTION(Enum, name, arguments, ulp) +1
#include "mtlc/support/math/functions.def"
    ;

struct MathFnInfo {
  std::string_view name;
  int arguments;  // 1 or 2
  int maxUlp;     // f32 and f64
};

const MathFnInfo& mathFnInfo(MathFn fn);

// `a` and `b` are bit patterns of `kind` as in scalar_ops.h; `b` is ignored by functions of one
// argument.
uint64_t evalMathBits(MathFn fn, FloatKind kind, uint64_t a, uint64_t b);

}  // namespace mtlc::math

#endif  // MTLC_SUPPORT_MATH_EVAL_H_
