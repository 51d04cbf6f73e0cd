// Kernel arguments as command lines write them: a scalar, raw bytes, or a buffer from a file or a
// generator. The grammar and the generators: parseArgSpec().

#ifndef MTLC_SUPPORT_ARG_SPEC_H_
#define MTLC_SUPPORT_ARG_SPEC_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "mtlc/support/dtype.h"

namespace mtlc {

// A tensor map over a buffer, for tensor copies of GPUs; dimension 0 is the innermost. What devices
// allow, they check themselves.
struct TensorMapSpec {
  size_t buffer = 0;  // Index of the argument.
  std::string type;   // As CUtensorMapDataType, in lower case: "f16", "u8", "tf32_ftz".
  std::vector<uint64_t> dims;
  std::vector<uint64_t> strides;  // Bytes, of the dimensions from 1 on.
  std::vector<uint64_t> box;
  std::vector<uint64_t> elementStrides;  // Empty: ones.
  unsigned swizzle = 0;                  // Bytes.
  bool nanFill = false;
};

struct ArgSpec {
  enum class Kind : uint8_t { Scalar, Bytes, Buffer, TensorMap, Workgroup };
  Kind kind = Kind::Scalar;
  DType type = DType::U8;       // Of the scalar, or of the buffer's elements.
  uint64_t bits = 0;            // Scalar: the value, zero-extended. Workgroup: bytes.
  std::vector<uint8_t> bytes;   // Bytes and Buffer: the contents.
  std::vector<uint64_t> shape;  // Buffer.
  bool initialised = true;      // Buffer: false for `poison`.
  TensorMapSpec tensorMap;
};

// How a generated buffer starts. Element i:
//   zeros      0
//   poison     NaN, or 0xCD in every byte of an integer; counts as uninitialised
//   iota       i, converted to the type
//   const=V    V, as parseScalar() reads it
//   uniform=S  integers and bool: the low bits of draw i; floats: 2 u(i) - 1, with u(i) draw i as a
//              multiple of 2^-53 in [0, 1)
//   normal=S   floats only: u(12 i) + … + u(12 i + 11) - 6, mean 0 and variance 1 (Irwin-Hall)
// Draws are SplitMix64 with seed S (random.h), sums are float64 from left to right, and the result
// is rounded to the type once; the same numbers on every machine.
//
// Refuses buffers of more than kMaxArgBytes.
inline constexpr uint64_t kMaxArgBytes = uint64_t{1} << 33;

// Reads one argument:
//   TYPE:VALUE             a scalar; TYPE is a name of dtype.h
//   bytes:FILE             the bytes of a parameter that is passed by value
//   buf:TYPE:COUNT:INIT    a generated buffer
//   buf:FILE               a buffer with the contents and shape of a .npy file
//   tensormap:INDEX:TYPE:dims=A,B,…:strides=S,…:box=A,B,…[:elem_strides=A,B,…][:swizzle=32|64|128]
//     [:fill=nan]          a tensor map over the buffer that is argument INDEX
//   workgroup:BYTES        memory of each work-group, for a pointer to it
// `bool` buffers are u8 of 0 and 1. Errors name what is wrong, not the argument as a whole.
absl::StatusOr<ArgSpec> parseArgSpec(std::string_view spec);

}  // namespace mtlc

#endif  // MTLC_SUPPORT_ARG_SPEC_H_
