// Random kernels that accumulate in matrices, with whatever may stand between two updates: for the
// passes that keep accumulators in tiles.

#ifndef TEST_RANDOM_TENSOR_PROGRAM_H_
#define TEST_RANDOM_TENSOR_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "mtlc/ir/ir.h"

namespace mtlc::random_test {

// One workgroup of two subgroups.
inline constexpr uint32_t kTensorSubgroup = 4, kTensorBlock = 8;

// Bytes of the output: matrices of each subgroup, then cells of each work-item, then room for
// tiles that are kept apart from their homes.
inline constexpr uint64_t kMatrixBytes = 8192, kCellBytes = 512, kTileBytes = 8192;
inline constexpr uint64_t kMaxHomes = 16;
inline constexpr uint64_t kCellsAt = kMatrixBytes * (kTensorBlock / kTensorSubgroup);
inline constexpr uint64_t kTilesAt = kCellsAt + kCellBytes * kTensorBlock;
inline constexpr uint64_t kOutputBytes =
    kTilesAt + kTileBytes * kMaxHomes * (kTensorBlock / kTensorSubgroup);

// kernel @k(in: ptr<global>, out: ptr<global>, n0: i32, n1: i32, flag: i32, ld: i64). It may break
// rules: verify it, and run it before relying on it.
struct TensorProgram {
  std::string text;
  std::vector<uint8_t> input, output;
  std::vector<uint64_t> scalars;
};
TensorProgram generateTensorProgram(uint64_t seed);

// Gives each home of a tile memory of its own, from kTilesAt on, where the tile is until it is
// committed: what a target does that keeps tiles in registers. False if there are too many homes.
bool keepTilesApart(ir::Function& kernel);

}  // namespace mtlc::random_test

#endif  // TEST_RANDOM_TENSOR_PROGRAM_H_
