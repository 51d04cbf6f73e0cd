// Lane functions: what an instruction does to the registers of a warp.
//
// The sources of this folder are compiled once per instruction set of the host (MTLC_LANES names
// the namespace): `base` for every machine, `v3` for x86-64 with AVX2 and FMA. Everything in them
// has internal linkage except the select functions, so that no code compiled for the better set can
// end up shared.

#ifndef MTLC_SIM_LANES_LANES_H_
#define MTLC_SIM_LANES_LANES_H_

#include "mtlc/sim/isa/instructions.h"
#include "mtlc/sim/program.h"

namespace mtlc::sim {

// Data-movement functions that no row names, made by the decoder for `mov` and calls.
enum class MoveKind : uint8_t {
  r32,  // dst, src[0]: 32-bit column
  r64,
  pred,
  truncate,    // dst.32 = low half of src0.64
  zeroExtend,  // dst.64 = src0.32
  signExtend,
  pack16,    // dst.32 = {src0.16, src1.16}
  pack32,    // dst.64 = {src0.32, src1.32}
  pack16x4,  // dst.64 = four 16-bit
  pack8x4,   // dst.32 = four 8-bit
  pack8x2,   // dst.16 = two 8-bit
  unpack16,  // operandLists[ext…]: {lo, hi} = src0.32; a kNoRef is skipped
  unpack32,
  unpack16x4,
  unpack8x4,
  unpack8x2,
  localAddress,  // dst.64 = imm + the frame's offset in local memory
  localAddress32,
  clock32,
  clockHi,
  clock64,
  globalTimer,
  globalTimerLo,
  globalTimerHi,
};

// Where Instr::imm of a video instruction has the selectors of its operands: a part of a word, or
// three bits for each element of a vector; of the destination, a part or a mask of elements.
inline constexpr unsigned kVideoASelector = 32, kVideoBSelector = 44, kVideoDSelector = 56;
inline constexpr int64_t kVideoNegateProduct = int64_t{1} << 60;
inline constexpr int64_t kVideoNegateAddend = int64_t{1} << 61;

// A load or store of elements of one size.
struct MemoryShape {
  unsigned bytes = 4;         // Of an element: 1, 2, 4, 8.
  bool isSigned = false;      // Narrow loads extend by sign.
  bool wideRegister = false;  // The registers are 64-bit.
  Space space = Space::generic;
};

// The lane functions of one host instruction set.
struct LaneTable {
  // A form of kind lane or collective; nullptr when the table has a combination without a function.
  LaneFn (*select)(const Form& form);
  LaneFn (*move)(MoveKind kind);
  LaneFn (*load)(const MemoryShape& shape);
  LaneFn (*store)(const MemoryShape& shape);
  LaneFn (*atomic)(const Form& form);
  // A form of kind matrix.
  LaneFn (*matrix)(const Form& form, const MatrixSite& site);
  // What a product of a warpgroup computes.
  WarpgroupFn (*warpgroup)(const MatrixSite& site);
  // What the functions of this form expect in Instr::imm, see there.
  int64_t (*details)(const Form& form);
};

namespace base {
const LaneTable& laneTable();
}
namespace v3 {
const LaneTable& laneTable();
}

// The best table for this machine; `portable` asks for the one that every machine has.
const LaneTable& laneTable(bool portable = false);

}  // namespace mtlc::sim

#endif  // MTLC_SIM_LANES_LANES_H_
