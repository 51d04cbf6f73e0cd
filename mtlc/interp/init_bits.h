// How uninitialised bits travel through operations.
//
// Every register carries a second word: a set bit says that the bit of the value depends on
// uninitialised memory. Memory carries the same, bit for bit. An operation's result bit is
// uninitialised when some choice of the uninitialised input bits could change it. Where that is
// costly to know exactly the answer errs toward "uninitialised": floating point, signed division of
// negative numbers, products of two uninitialised numbers, and relations between values (x - x is
// known to be 0, (x + 1) - x is not).

#ifndef MTLC_INTERP_INIT_BITS_H_
#define MTLC_INTERP_INIT_BITS_H_

#include <cstdint>

#include "mtlc/interp/program.h"

namespace mtlc::interp {

struct Reg {
  uint64_t bits = 0;
  uint64_t uninit = 0;  // Never a bit above the value's width.
};

// The uninitialised bits of the result of `inst`, which touches neither memory nor control, given
// its operands (a defined zero where it has none).
uint64_t uninitBits(const Inst& inst, const Reg& a, const Reg& b, const Reg& c);

}  // namespace mtlc::interp

#endif  // MTLC_INTERP_INIT_BITS_H_
