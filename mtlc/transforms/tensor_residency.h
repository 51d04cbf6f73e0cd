// When the accumulator of whole-tile products may stay in a tile (docs/tensor-residency.md): the
// one place that knows which updates of a matrix in memory compose exactly, and which operations in
// between see the difference. tensor-chain, tensor-pipeline, tensor-loop and tensor-epilogue ask
// it.

#ifndef MTLC_TRANSFORMS_TENSOR_RESIDENCY_H_
#define MTLC_TRANSFORMS_TENSOR_RESIDENCY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "mtlc/ir/ir.h"
#include "mtlc/transforms/matrix_overlap.h"

namespace mtlc::transforms {

enum class Obstacle : uint8_t {
  None,
#define OBSTACLE(Id, text) Id,
#include "mtlc/transforms/tensor_obstacles.def"
};

// What is in the way, and why.
struct Blocked {
  Obstacle why = Obstacle::None;
  const ir::Operation* op = nullptr;
  explicit operator bool() const { return why != Obstacle::None; }
};
std::string describe(const Blocked& blocked);

// D and C of tensor.mma and tensor.acc.begin; D of tensor.epilogue.
Matrix outputOf(const ir::Operation& op);
Matrix addendOf(const ir::Operation& op);

// tensor.mma that may be one step of a tile: it accumulates in the format of its result, and reads
// D as nothing but C.
Blocked mayBeStep(const ir::Operation& mma);
// The operation continues what is in `home`: tensor.mma or tensor.acc.begin with C and D there.
// Storage if it only has the same pointer.
Blocked continues(const ir::Operation& op, const Matrix& home);
// True if C of the operation has the pointer of D.
bool accumulates(const ir::Operation& op);
// Two products have the same arithmetic: formats, shape, modes. Where operands lie and how is free.
bool sameArithmetic(const ir::MmaDesc& x, const ir::MmaDesc& y);

// The homes of the tiles of one function.
class TileHomes {
 public:
  explicit TileHomes(const ir::Function& function);
  // nullptr where it is not known.
  const Matrix* find(const ir::Value* tile) const;
  void set(const ir::Value* tile, const Matrix& home) { homes_[tile] = home; }

 private:
  absl::flat_hash_map<const ir::Value*, Matrix> homes_;
};

// What may stand between two updates besides work in registers.
enum class Between : uint8_t {
  Registers,  // Accesses to other memory too, and copies that stay under way.
  Stages,     // Handoffs of stages: async.wait, then a barrier that publishes them.
};

// Follows the operations from one update of a matrix to the next, in the order of execution.
class Gap {
 public:
  Gap(const Matrix& home, Between between, const TileHomes& homes)
      : home_(&home), between_(between), homes_(&homes) {}

  // An operation that is no update of the home.
  Blocked pass(const ir::Operation& op);
  // The next update is here: whether it may continue the tile. Starts the next gap.
  Blocked update();
  // No update follows: a copy that is not known to be apart from the home is an obstacle, and so is
  // a wait or barrier after which others may look at it.
  Blocked end() const;
  // A barrier for the accumulator's memory since the last update.
  const ir::Operation* ordered() const { return ordered_; }
  // Since the last update a wait or a barrier was looked at, as part of a stage.
  bool sawStage() const { return sawStage_; }

 private:
  struct Copy {
    const ir::Operation* op;
    uint32_t commits;  // Since, with the one of its own group.
  };
  Blocked passTensor(const ir::Operation& op) const;
  Blocked passWait(const ir::Operation& op);
  Blocked passBarrier(const ir::Operation& op);

  const Matrix* home_;
  Between between_;
  const TileHomes* homes_;
  std::vector<Copy> copies_;
  const ir::Operation* waited_ = nullptr;   // Not yet followed by a barrier.
  const ir::Operation* ordered_ = nullptr;  // A barrier for the memory of the home.
  bool sawStage_ = false;
  Blocked landed_;
};

// ---- Rewriting ----

// tensor.acc.begin of the home of an update (tensor.mma or tensor.acc.begin), C from `c`'s slots.
ir::Operation* makeBegin(const ir::Operation& update, bool fromHome);
// tensor.acc.mma with the inputs of a tensor.mma.
ir::Operation* makeStep(const ir::Operation& mma, ir::Value* tile);
// tensor.acc.epilogue for a tensor.epilogue.
ir::Operation* makeTileEpilogue(const ir::Operation& epilogue, ir::Value* tile);
ir::Operation* makeCommit(ir::Module& module, ir::Value* tile, SourceLoc loc);

// Updates of one home in the order of execution, as they stand: tensor.mma, tensor.acc.begin (its
// commit follows) and tensor.acc.commit.
using Updates = std::vector<ir::Operation*>;
// Places where a tile could go on, but goes through memory.
unsigned countJoins(const Updates& updates);
// Makes one tile of them. With `entry` it continues that tile; else it begins one before the first
// (a commit is the end of a tile that there is). Without `commitAtEnd` gives the last tile
// uncommitted, else nullptr.
ir::Value* joinUpdates(const Updates& updates, ir::Value* entry, bool commitAtEnd,
                       const Matrix& home, TileHomes& homes);

}  // namespace mtlc::transforms

#endif  // MTLC_TRANSFORMS_TENSOR_RESIDENCY_H_
