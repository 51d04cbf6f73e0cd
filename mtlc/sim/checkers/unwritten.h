// Which registers of a program a thread may read before it wrote them.
//
// All others never hold anything but computed values where they are read; the init checker follows
// them only while something undefined is about.

#ifndef MTLC_SIM_CHECKERS_UNWRITTEN_H_
#define MTLC_SIM_CHECKERS_UNWRITTEN_H_

#include <vector>

#include "mtlc/sim/lanes/lanes.h"
#include "mtlc/sim/program.h"

namespace mtlc::sim {

// By function: the registers of its frame that some path reads without a write before, and those
// that other lanes may read (shuffles), which no path of the reading lane tells about. Sorted,
// without negation. Never too few.
std::vector<std::vector<Ref>> maybeUnwritten(const Program& program);

// Moves that write a list of registers, and how many.
constexpr bool isUnpack(MoveKind k) {
  return k == MoveKind::unpack16 || k == MoveKind::unpack32 || k == MoveKind::unpack16x4 ||
         k == MoveKind::unpack8x4 || k == MoveKind::unpack8x2;
}
constexpr unsigned unpackCount(MoveKind k) {
  return k == MoveKind::unpack16x4 || k == MoveKind::unpack8x4 ? 4 : 2;
}

}  // namespace mtlc::sim

#endif  // MTLC_SIM_CHECKERS_UNWRITTEN_H_
