// The tables of fragments.def, evaluated.

#ifndef MTLC_SIM_MATRIX_FRAGMENTS_H_
#define MTLC_SIM_MATRIX_FRAGMENTS_H_

#include <cstdint>
#include <span>

#include "mtlc/sim/matrix/matrix.h"

namespace mtlc::sim {

enum class FragmentOperand : uint8_t { a, b, c, rowA, columnA, rowB, columnB };

// Which row of fragments.def; the extents of the whole matrix over all lanes, `count` elements in
// each.
struct FragmentKey {
  FragmentOperand operand = FragmentOperand::a;
  bool sparse = false;
  uint16_t m = 0, n = 0, k = 0;
  uint8_t bits = 0;
};

// The coordinates of one element of one lane.
struct FragmentPlace {
  uint16_t row = 0;
  uint16_t column = 0;
};

// The fragment with its `place` filled, or one without registers if there is no such row.
// `registerBits` is 32 or 64. Thread-safe; the tables live as long as the process.
Fragment fragmentOf(const FragmentKey& key, Element element, unsigned registerBits);
// The opaque fragments of wmma: `perLane` elements of the rows x columns matrix, in row order if
// `byRows`, copies where there are more than the matrix has.
Fragment opaqueFragment(Element element, unsigned rows, unsigned columns, bool byRows,
                        unsigned registers);
// Coordinates of element i of a lane of that fragment.
FragmentPlace opaquePlace(unsigned rows, unsigned columns, bool byRows, unsigned perLane,
                          unsigned lane, unsigned i);

// Metadata of sparse A, see MatrixSite::metadata; nullptr if there is no such row.
const MetadataPlace* metadataOf(unsigned k, unsigned bits, unsigned chunks, unsigned& selectors);

// Where the scale of row (A) or column (B) `row` and `block` is.
struct ScalePlace {
  uint8_t lane = 0;
  uint8_t byte = 0;
};
ScalePlace scalePlaceA(unsigned row, unsigned block, unsigned byteId, unsigned thread);
ScalePlace scalePlaceB(unsigned row, unsigned block, unsigned byteId, unsigned thread);

// Bits of an element's container in a register of a fragment, and of an accumulator.
unsigned containerBits(Element e, bool packed);

// All rows, for their test: `visit(key, count, lane, i, row, column)`.
struct FragmentRow {
  FragmentKey key;
  uint8_t count = 0;
  FragmentPlace (*at)(unsigned lane, unsigned i) = nullptr;
};
std::span<const FragmentRow> fragmentRows();

}  // namespace mtlc::sim

#endif  // MTLC_SIM_MATRIX_FRAGMENTS_H_
