// Tiles without tiles: the operations of regions that don't stay in registers, on their homes.
// A part of tensor-legalize.

#ifndef MTLC_TRANSFORMS_TENSOR_REGIONS_H_
#define MTLC_TRANSFORMS_TENSOR_REGIONS_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "mtlc/analysis/tile_regions.h"
#include "mtlc/ir/ir.h"
#include "mtlc/transforms/tensor_emit.h"

namespace mtlc::transforms {

// Where the elements of a tile are while it is not in registers.
struct Home {
  ir::Value* pointer = nullptr;
  ir::Value* leading = nullptr;  // nullptr: the constant.
  uint32_t constantLeading = 0;
  ir::Layout layout = ir::Layout::Row;

  Index leadingIndex(Emitter& e) const {
    if (!leading) return Emitter::constant(constantLeading);
    return {leading, e.index(leading).most};
  }
};

// The homes of tiles of one function. Tiles that block arguments stand for get arguments for their
// homes.
class Homes {
 public:
  // Makes homes of all values of the region. Call it for all regions, then connect().
  void add(const analysis::TileRegion& region);
  // Passes homes along the edges that pass tiles.
  void connect();
  // Of a tile of these regions.
  Home of(ir::Value* tile);
  // Erases the operations of the regions, whose work is done elsewhere, and their block arguments.
  void erase();

 private:
  struct Argument {
    ir::Value* tile;
    bool hasLeading;
  };
  absl::flat_hash_map<const ir::Value*, Home> homes_;
  std::vector<Argument> arguments_;
  std::vector<ir::Operation*> ops_;
};

}  // namespace mtlc::transforms

#endif  // MTLC_TRANSFORMS_TENSOR_REGIONS_H_
