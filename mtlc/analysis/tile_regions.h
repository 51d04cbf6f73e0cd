// Tiles that hang together: all values that one accumulator takes on, through operations, block
// arguments and joins. A back end gives each region one place, or none.

#ifndef MTLC_ANALYSIS_TILE_REGIONS_H_
#define MTLC_ANALYSIS_TILE_REGIONS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "mtlc/ir/ir.h"

namespace mtlc::analysis {

struct TileRegion {
  std::vector<ir::Operation*> ops;  // tensor.acc.*, in the order of blocks and operations.
  std::vector<ir::Value*> args;     // Block arguments.
  uint32_t products = 0;            // tensor.acc.mma
  bool inLoop = false;              // A product takes a tile that a loop carries.
  bool staged = false;  // An async.wait or barrier stands between two products of a block.
  bool biased = false;  // An epilogue has a bias.
  bool narrow = false;  // The home has fewer bits than the tile, which is rounded once, at the end.
  bool operandsInWorkgroup = false;  // Every A and B is a ptr<workgroup>; false without products.
};

// The regions of one function, in the order of their first operation. A snapshot; linear.
class TileRegions {
 public:
  explicit TileRegions(ir::Function& function);

  std::span<const TileRegion> regions() const { return regions_; }
  // The index of the region of a value of type tile.
  uint32_t indexOf(const ir::Value* tile) const { return byValue_.at(tile); }

 private:
  std::vector<TileRegion> regions_;
  absl::flat_hash_map<const ir::Value*, uint32_t> byValue_;
};

}  // namespace mtlc::analysis

#endif  // MTLC_ANALYSIS_TILE_REGIONS_H_
