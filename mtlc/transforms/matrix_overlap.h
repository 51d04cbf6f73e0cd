// Whether two parts of matrices in memory can have an element in common, from how their addresses
// are computed.

#ifndef MTLC_TRANSFORMS_MATRIX_OVERLAP_H_
#define MTLC_TRANSFORMS_MATRIX_OVERLAP_H_

#include <cstdint>

#include "mtlc/ir/ir.h"

namespace mtlc::transforms {

// A leading dimension: an operand, or a constant.
struct Leading {
  const ir::Value* value = nullptr;
  uint32_t constant = 0;
  friend bool operator==(const Leading&, const Leading&) = default;
};

// A matrix in memory.
struct Matrix {
  const ir::Value* pointer = nullptr;
  Leading leading;
  ir::Layout layout = ir::Layout::Row;
  ElementFormat format = ElementFormat::F32;
  uint32_t m = 0, n = 0;
  ir::Scope scope = ir::Scope::Subgroup;  // Who works on it together.
  friend bool operator==(const Matrix&, const Matrix&) = default;
};

// False only if no access through `pointer` can touch what `home` points into: other memory, or
// another allocation. Generic pointers are looked through where they come from a cast.
bool mayAlias(const ir::Value* pointer, const ir::Value* home);

// True only if no element of one is one of the other. They may be parts of one larger matrix: the
// distance of their addresses is compared as an integer polynomial of what they are computed from,
// without narrowing, and may contain the leading dimension.
bool areDisjoint(const Matrix& x, const Matrix& y);

// The same for two tiles of `m0` × `n0` and `m1` × `n1` elements in lines of `leading` elements,
// which begin `lines`·leading + `elements` apart. `leading` 0: any that both fit in.
bool linesAreDisjoint(uint32_t m0, uint32_t n0, uint32_t m1, uint32_t n1, uint64_t leading,
                      int64_t lines, int64_t elements);

}  // namespace mtlc::transforms

#endif  // MTLC_TRANSFORMS_MATRIX_OVERLAP_H_
