// Named arguments of GPU operations: the table gpu_options.def.

#ifndef MTLC_FRONTEND_GPU_OPTIONS_H_
#define MTLC_FRONTEND_GPU_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mtlc/frontend/types.h"
#include "mtlc/ir/ir.h"
#include "mtlc/support/element_format.h"

namespace mtlc::frontend {

// Operations that have the same options.
enum class OptionSet : uint8_t { Fence, Atomic, Exchange, Async, Mma, Epilogue, Transfer };

enum class OptionKind : uint8_t { Word, Constant, Value };

// What an option is about, whatever its spelling. Those of one dimension stand in the order of the
// dimensions.
enum class Option : uint8_t {
  order,
  failureOrder,
  scope,
  space,
  transaction,
  cache,
  shape,
  m,
  n,
  k,
  inputType,
  aType,
  bType,
  outputType,
  accumulatorType,
  resultType,
  aLayout,
  bLayout,
  cLayout,
  dLayout,
  lda,
  ldb,
  ldc,
  ldd,
  math,
  sparsity,
  metadata,
  rounding,
  overflow,
  aScaleMode,
  bScaleMode,
  aScaleType,
  bScaleType,
  aScale,
  bScale,
  ldsa,
  ldsb,
  aPacking,
  bPacking,
  transposeA,
  transposeB,
  element,
  layout,
  biasMode,
  bias,
  biasLayout,
  ldbias,
  alpha,
  beta,
  activation,
  clampMin,
  clampMax,
  rank,
  direction,
  bounds,
  view,
  extent0,
  extent1,
  extent2,
  extent3,
  extent4,
  stride0,
  stride1,
  stride2,
  stride3,
  stride4,
  tile0,
  tile1,
  tile2,
  tile3,
  tile4,
  coordinate0,
  coordinate1,
  coordinate2,
  coordinate3,
  coordinate4,
  step0,
  step1,
  step2,
  step3,
  step4,
};
inline constexpr size_t kOptionCount = static_cast<size_t>(Option::step4) + 1;

// The option of dimension `i`, from that of dimension 0.
constexpr Option dimension(Option first, unsigned i) {
  return static_cast<Option>(static_cast<unsigned>(first) + i);
}

struct OptionRow {
  OptionSet set;
  std::string_view spelling;
  Option option;
  OptionKind kind;
};
std::span<const OptionRow> optionRows();
// nullptr if the operations of `set` have no such option.
const OptionRow* findOption(OptionSet set, std::string_view spelling);
// The first spelling.
std::string_view optionName(OptionSet set, Option option);

// Sets of words, named after the enumeration that they stand for.
enum class Bounds : uint8_t { Zero };
using ir::Activation;
using ir::BiasMode;
using ir::CacheHint;
using ir::Direction;
using ir::Layout;
using ir::MemoryOrder;
using ir::Overflow;
using ir::Packing;
using ir::Rounding;
using ir::ScaleMode;
using ir::Space;
using ir::Sparsity;
using ir::TensorMath;

enum class Words : uint8_t {
  MemoryOrder,
  Scope,
  Space,
  CacheHint,
  Layout,
  TensorMath,
  Sparsity,
  Rounding,
  Overflow,
  ScaleMode,
  Packing,
  BiasMode,
  Activation,
  Direction,
  Bounds,
  ElementFormat,
};
// The value that `spelling` stands for.
std::optional<uint8_t> findWord(Words words, std::string_view spelling);
// The first spelling of a value.
std::string_view wordText(Words words, uint8_t value);
// "row, col": each value's first spelling.
std::string wordList(Words words);

// mMnNkK; without K if `withK` is false. The numbers are at most 9 digits.
struct ShapeWord {
  uint32_t m, n, k;
};
std::optional<ShapeWord> parseShape(std::string_view word, bool withK);

// What a pointer to matrices of a format points to.
TypeKind carrier(ElementFormat format);

// The option that sets what the IR calls `field`; several may (input_type and a_type).
struct FieldRow {
  OptionSet set;
  Option option;
  std::string_view field;
};
std::span<const FieldRow> fieldRows();

}  // namespace mtlc::frontend

#endif  // MTLC_FRONTEND_GPU_OPTIONS_H_
