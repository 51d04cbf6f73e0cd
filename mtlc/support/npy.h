// NumPy's .npy files, format versions 1.0, 2.0 and 3.0 (numpy.lib.format): little-endian arrays of
// bool, integers and floats in C order.

#ifndef MTLC_SUPPORT_NPY_H_
#define MTLC_SUPPORT_NPY_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "mtlc/support/dtype.h"

namespace mtlc {

struct NpyArray {
  DType type = DType::U8;  // Never BF16 when read: such arrays are U16.
  std::vector<uint64_t> shape;
  std::vector<uint8_t> data;  // Product of `shape` elements.
};

// Reads the bytes of a file. kInvalidArgument for what is no .npy file or one that is cut short or
// goes on, kUnimplemented for other element types, big-endian elements and Fortran order.
absl::StatusOr<NpyArray> parseNpy(std::string_view file);

// The bytes of a file, version 1.0. `data` holds as many elements as `shape` says.
std::string formatNpy(DType type, std::span<const uint64_t> shape, std::span<const uint8_t> data);

}  // namespace mtlc

#endif  // MTLC_SUPPORT_NPY_H_
