// Tensor maps: the 128 opaque bytes that tell tensor copies what lies where (CUDA Driver API,
// "Tensor Map Object Management", cuTensorMapEncodeTiled). The layout of the bytes is this
// simulator's own.

#ifndef MTLC_SIM_TENSOR_MAP_H_
#define MTLC_SIM_TENSOR_MAP_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "mtlc/sim/isa/types.h"

namespace mtlc::sim {

inline constexpr size_t kTensorMapBytes = 128;
inline constexpr size_t kTensorMapAlign = 64;
inline constexpr unsigned kMaxTensorRank = 5;

// Numbers as in CUtensorMapDataType.
enum class TensorType : uint8_t {
  u8,
  u16,
  u32,
  s32,
  u64,
  s64,
  f16,
  f32,
  f64,
  bf16,
  f32Ftz,
  tf32,
  tf32Ftz,
};
unsigned tensorTypeBytes(TensorType type);
bool isFloatTensor(TensorType type);

// As in CUtensorMapSwizzle: 16-byte chunks of each span are exchanged within 32, 64 or 128 bytes.
enum class TensorSwizzle : uint8_t { none, bytes32, bytes64, bytes128 };

struct TensorMap {
  TensorType type = TensorType::u8;
  unsigned rank = 1;
  uint64_t address = 0;  // A device address.
  // Dimension 0 is the innermost, whose elements follow each other.
  std::array<uint64_t, kMaxTensorRank> dims{1, 1, 1, 1, 1};
  std::array<uint64_t, kMaxTensorRank> strides{};  // Bytes; strides[i] of dimension i, [0] unused.
  std::array<uint32_t, kMaxTensorRank> box{1, 1, 1, 1, 1};
  std::array<uint32_t, kMaxTensorRank> elementStrides{1, 1, 1, 1, 1};
  TensorSwizzle swizzle = TensorSwizzle::none;
  bool nanFill = false;  // What lies outside reads as NaN instead of zero.
  // As tensormap.replace numbers them: 16 or 32 bytes, other units of a swizzle. Not simulated.
  uint8_t interleave = 0;
  uint8_t swizzleAtomicity = 0;

  // Elements of a box in shared memory, in dimension `i`: every elementStrides[i]-th of box[i]; the
  // innermost dimension has no stride.
  uint32_t boxElements(unsigned i) const {
    return i == 0 ? box[0] : (box[i] + elementStrides[i] - 1) / elementStrides[i];
  }
  uint32_t boxBytes() const;
};

// What the documented limits forbid in `map`, or an empty text. Interleaved layouts and im2col do
// not exist here.
std::string checkTensorMap(const TensorMap& map);
// Writes the object to `out`, kTensorMapBytes long, unless checkTensorMap() complains: its text.
std::string encodeTensorMap(const TensorMap& map, void* out);
// False when the bytes are none that encodeTensorMap() wrote. Kernels may have changed them:
// checkTensorMap() says whether the map can be used.
bool decodeTensorMap(const void* bytes, TensorMap& map);
// Writes `value` to a field of encoded bytes, as tensormap.replace with this word does it; of a
// dimension where fields have several. False when the bytes are no tensor map. Whether the result
// can be used is another matter: fields are replaced one by one.
bool replaceInTensorMap(void* bytes, Mod field, unsigned dimension, uint64_t value);

// Where the byte at `offset` of shared memory is kept: a permutation of 16-byte chunks.
uint32_t swizzled(TensorSwizzle swizzle, uint32_t offset);

}  // namespace mtlc::sim

#endif  // MTLC_SIM_TENSOR_MAP_H_
