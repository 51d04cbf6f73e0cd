// Tile values are linear (docs/ir.md §11): consumed exactly once on every path, in a chain from
// tensor.acc.begin to tensor.acc.commit that agrees on where the tile's home is.

#ifndef MTLC_ANALYSIS_TILES_H_
#define MTLC_ANALYSIS_TILES_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "mtlc/ir/ir.h"

namespace mtlc::analysis {

struct TileProblem {
  enum class Kind : uint8_t {
    NotConsumed,  // `op` is a return, or the tile's own definition, reached again without a use.
    Twice,        // `op` consumes the tile, and so did `other` on a way to it.
    HomesDiffer,  // `op` is a terminator that passes the tile where others pass one whose home is
                  // that of `other`.
    HomeTouched,  // `op` accesses the home of the tile while it is held.
    TooFar,       // The tiles of the function are held through too many blocks to follow; `op` is
                  // where this one was given up.
  };
  Kind kind;
  const ir::Value* tile;
  const ir::Operation* op;
  const ir::Operation* other;  // HomeTouched: the tensor.acc.begin. May be nullptr.
};

// The tiles of one function. A snapshot; linear for tiles that are consumed in the block that makes
// them, and for each other one in the blocks that it lives through, up to a limit on all of them
// together that only input made to exceed it meets.
class Tiles {
 public:
  explicit Tiles(const ir::Function& function);

  bool any() const { return any_; }
  const std::vector<TileProblem>& problems() const { return problems_; }
  // The tensor.acc.begin that names the home of a tile; nullptr where there is none, or several
  // that do not agree.
  const ir::Operation* home(const ir::Value* tile) const;

 private:
  struct Solver;

  bool any_ = false;
  std::vector<TileProblem> problems_;
  absl::flat_hash_map<const ir::Value*, const ir::Operation*> homes_;
};

// True when two tensor.acc.begin name the same home: pointer, leading dimension, layout, format.
bool sameHome(const ir::Operation& a, const ir::Operation& b);

// For each function with tiles each tile and its home.
std::string printTiles(const ir::Function& function);

}  // namespace mtlc::analysis

#endif  // MTLC_ANALYSIS_TILES_H_
