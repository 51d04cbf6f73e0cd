// What the compiler knows by name: the table builtins.def.

#ifndef MTLC_FRONTEND_BUILTINS_H_
#define MTLC_FRONTEND_BUILTINS_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace mtlc::frontend {

enum class BuiltinForm : uint8_t { index, indexFunction, control, pending, math };

enum class BuiltinKind : uint8_t {
  none,
  threadId,
  blockId,
  blockDim,
  gridDim,
  barrier,
  plainBarrier,
  sqrt,
  rsqrt,
  fabs,
  sin,
  cos,
  tan,
  log,
  log2,
  exp,
  exp2,
  pow,
  tanh,
  erf,
  floor,
  ceil,
  trunc,
  round,
  roundEven,
  fmin,
  fmax,
  fma,
  fastExp,
  fastLog,
  fastSin,
  fastCos,
  fastRsqrt,
  fastTanh,
  fastDiv,
  halfToFloat,
  floatToHalf,
  bfloatToFloat,
  floatToBfloat,
  integerMin,
  integerMax,
  integerAbs,
  clz,
  popcount,
};

enum class MemoryOrder : uint8_t { acquire, release, acqRel, seqCst };

struct Builtin {
  std::string_view name;
  BuiltinForm form;
  BuiltinKind kind;
  uint8_t dim = 0;             // indexFunction
  std::string_view signature;  // math, see builtins.def
};

// All rows, in the order of the table.
std::span<const Builtin> builtins();

}  // namespace mtlc::frontend

#endif  // MTLC_FRONTEND_BUILTINS_H_
