// What is known about the bits of an integer value from the operations that compute it.

#ifndef MTLC_TRANSFORMS_KNOWN_BITS_H_
#define MTLC_TRANSFORMS_KNOWN_BITS_H_

#include <cstdint>

#include "mtlc/ir/ir.h"

namespace mtlc::transforms {

// Along each dimension a workgroup has at most this many work-items, and a grid at most 2^31 - 1
// workgroups; a launch beyond that is refused on every device. With launch_bounds, the number of
// work-items given there holds instead.
inline constexpr uint32_t kMaxWorkgroupDim = 1u << 16;

// Of the value's `width` low bits; bits above are zero in both masks. No bit is set in both.
struct KnownBits {
  uint64_t zeros = 0;
  uint64_t ones = 0;
  unsigned width = 64;

  uint64_t mask() const { return width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1; }
  uint64_t umin() const { return ones; }
  uint64_t umax() const { return ~zeros & mask(); }
  bool isConstant() const { return (zeros | ones) == mask(); }
  bool nonNegative() const { return zeros >> (width - 1) & 1; }
  bool negative() const { return ones >> (width - 1) & 1; }
  // The signed range.
  int64_t smin() const;
  int64_t smax() const;
};

// `value` has an integer type or i1. Looks at a bounded number of operations.
KnownBits knownBits(const ir::Value* value);

}  // namespace mtlc::transforms

#endif  // MTLC_TRANSFORMS_KNOWN_BITS_H_
