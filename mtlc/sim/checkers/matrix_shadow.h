// Undefined bits through instructions on matrices, for the init checker.

#ifndef MTLC_SIM_CHECKERS_MATRIX_SHADOW_H_
#define MTLC_SIM_CHECKERS_MATRIX_SHADOW_H_

#include <array>
#include <cstdint>

#include "mtlc/sim/program.h"

namespace mtlc::sim {

// The shadow of a warp's registers: bits that are 1 have no value.
class RegisterShadow {
 public:
  virtual ~RegisterShadow() = default;
  virtual uint64_t bits(Ref r, unsigned lane) = 0;
  virtual void set(Ref r, unsigned lane, uint64_t bits) = 0;
};

// Bytes of one access of each lane.
using LaneBytes = std::array<std::array<uint8_t, kRowBytes>, kLanes>;

// The thread selectors of scales.
struct ScaleThreads {
  unsigned a = 0, b = 0;
};

// mma, wmma.mma and movmatrix: an element of D has no value if one of its row of A, its column of
// B, or C has none.
void shadowProduct(const Program& p, const MatrixSite& s, LaneMask mask, ScaleThreads threads,
                   RegisterShadow& regs);
// The destinations of an instruction have values.
void shadowDefine(const Program& p, const MatrixSite& s, LaneMask mask, RegisterShadow& regs);
// `memory` of the lanes of `from`, as the access `part` of wmma.load or ldmatrix reads it.
void shadowLoad(const Program& p, const MatrixSite& s, uint32_t part, LaneMask from,
                const LaneBytes& memory, RegisterShadow& regs);
// A product of a warpgroup, without what it reads from memory. `adds`: to D.
void shadowWarpgroup(const Program& p, const MatrixSite& s, LaneMask mask, bool adds,
                     RegisterShadow& regs);
// What it reads: 16-byte chunks 32 * part and on, in the order of descriptor.h, those of A first
// (`loadsA`) and then those of B. Elements of D whose row of A or column of B has undefined bits
// have no value.
void shadowChunks(const Program& p, const MatrixSite& s, bool loadsA, uint32_t part,
                  const LaneBytes& memory, RegisterShadow& regs);
// What the access `part` of wmma.store or stmatrix writes.
void shadowStore(const Program& p, const MatrixSite& s, uint32_t part, LaneBytes& memory,
                 RegisterShadow& regs);

}  // namespace mtlc::sim

#endif  // MTLC_SIM_CHECKERS_MATRIX_SHADOW_H_
