// What the compiler knows by name: the table builtins.def.

#ifndef MTLC_FRONTEND_BUILTINS_H_
#define MTLC_FRONTEND_BUILTINS_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace mtlc::frontend {

enum class BuiltinForm : uint8_t {
  index,
  indexFunction,
  control,
  subgroup,
  atomic,
  async,
  tensor,
  math,
};

enum class BuiltinKind : uint8_t {
  threadId,
  blockId,
  blockDim,
  gridDim,
  barrier,
  plainBarrier,
  fence,
  subgroupLocalId,
  subgroupSize,
  subgroupBroadcast,
  subgroupShuffle,
  subgroupReduceAdd,
  subgroupReduceMin,
  subgroupReduceMax,
  subgroupScanInclusive,
  subgroupScanExclusive,
  subgroupBallot,
  subgroupAny,
  subgroupAll,
  atomicLoad,
  atomicStore,
  atomicAdd,
  atomicSub,
  atomicMin,
  atomicMax,
  atomicAnd,
  atomicOr,
  atomicXor,
  atomicExchange,
  atomicCompareExchange,
  asyncCopy,
  asyncCommit,
  asyncWait,
  tensorMma,
  tensorMatmul,
  tensorEpilogue,
  tensorTransfer,
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

struct Builtin {
  std::string_view name;
  BuiltinForm form;
  BuiltinKind kind;
  uint8_t number = 0;          // indexFunction: the dimension; atomic: how many values
  std::string_view signature;  // math, subgroup: see builtins.def
};

// All rows, in the order of the table.
std::span<const Builtin> builtins();

}  // namespace mtlc::frontend

#endif  // MTLC_FRONTEND_BUILTINS_H_
