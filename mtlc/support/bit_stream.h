// Dense bit streams: values of n bits, one after the other, least significant bit first. Value i of
// a stream of n-bit values is bits [i·n, i·n + n), and bit j of a stream is bit j % 8 of byte j /
// 8, so that a value may cross bytes (6-bit formats do).

#ifndef MTLC_SUPPORT_BIT_STREAM_H_
#define MTLC_SUPPORT_BIT_STREAM_H_

#include <algorithm>
#include <cstdint>
#include <span>

namespace mtlc {

// The `count` bits (0 … 64) from bit `offset` on. All of them lie within `bytes`.
inline uint64_t getBits(std::span<const uint8_t> bytes, uint64_t offset, unsigned count) {
  uint64_t value = 0;
  for (unsigned done = 0; done < count;) {
    const unsigned skip = static_cast<unsigned>(offset + done) % 8;
    const unsigned here = std::min(8 - skip, count - done);
    const uint64_t piece = uint64_t{bytes[(offset + done) / 8]} >> skip & ((1u << here) - 1);
    value |= piece << done;
    done += here;
  }
  return value;
}

// Replaces them by the low `count` bits of `value`, and leaves all others as they are.
inline void setBits(std::span<uint8_t> bytes, uint64_t offset, unsigned count, uint64_t value) {
  for (unsigned done = 0; done < count;) {
    const unsigned skip = static_cast<unsigned>(offset + done) % 8;
    const unsigned here = std::min(8 - skip, count - done);
    const unsigned mask = ((1u << here) - 1) << skip;
    uint8_t& byte = bytes[(offset + done) / 8];
    const unsigned piece = static_cast<unsigned>(value >> done) << skip & mask;
    byte = static_cast<uint8_t>((byte & ~mask) | piece);
    done += here;
  }
}

}  // namespace mtlc

#endif  // MTLC_SUPPORT_BIT_STREAM_H_
