// The project's pseudo-random numbers: small, fast, and the same on every machine, so that a seed
// names an input for good.

#ifndef MTLC_SUPPORT_RANDOM_H_
#define MTLC_SUPPORT_RANDOM_H_

#include <cstdint>

namespace mtlc {

// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014):
// number i of the sequence is a mix of seed + (i + 1) · 0x9E3779B97F4A7C15.
class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  // An integer in [0, n), n > 0: the high half of next() · n (bias below n / 2^64).
  uint64_t below(uint64_t n) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(next()) * n >> 64);
  }
  // A multiple of 2^-53 in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

}  // namespace mtlc

#endif  // MTLC_SUPPORT_RANDOM_H_
