// Operand values for oracle tests: corner values of every type, values near each other, and random
// bits.

#ifndef MTLC_SIM_ORACLE_OPERANDS_H_
#define MTLC_SIM_ORACLE_OPERANDS_H_

#include <cstdint>
#include <vector>

#include "mtlc/sim/isa/types.h"

namespace mtlc::sim::oracle {

// A small fixed generator (splitmix64), so that runs repeat on every host.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  uint64_t below(uint64_t n) { return next() % n; }
  bool oneIn(uint64_t n) { return below(n) == 0; }

 private:
  uint64_t state_;
};

// A value of `t`; `small` prefers bit positions and counts.
uint64_t operandOf(Type t, bool small, Random& random);
// A binary32 at, or just beside, a value or a tie of the packed format `t`, or beyond its range.
uint64_t operandNear(Type t, Random& random);
// A value of `t` related to `other`, a value of the same type: equal, next to it, its negative.
uint64_t relatedTo(Type t, uint64_t other, Random& random);

}  // namespace mtlc::sim::oracle

#endif  // MTLC_SIM_ORACLE_OPERANDS_H_
