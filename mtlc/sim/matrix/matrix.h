// What an instruction on matrices does (PTX ISA 9.7.14): the decoder describes it once in a
// MatrixSite, the lane functions work from that.

#ifndef MTLC_SIM_MATRIX_MATRIX_H_
#define MTLC_SIM_MATRIX_MATRIX_H_

#include <cstdint>
#include <vector>

namespace mtlc::sim {

// Formats of matrix elements.
enum class Element : uint8_t {
  none,
  f16,
  bf16,
  tf32,
  f32,
  f64,
  e4m3,
  e5m2,
  e3m2,
  e2m3,
  e2m1,
  s8,
  u8,
  s4,
  u4,
  b1,
  s32,
};

// A matrix in the registers of a warp, by element.
struct Fragment {
  Element element = Element::none;
  uint8_t registers = 0;    // Of a lane.
  uint8_t perRegister = 0;  // Elements.
  bool wide = false;        // 64-bit registers.
  uint16_t rows = 0;
  uint16_t columns = 0;
  // Element (r, c) is number place[r * columns + c] of the warp: (register * 32 + lane) *
  // perRegister + slot. Elements of one bit: words of 32 along k instead. Owned by fragments.cc.
  const uint16_t* place = nullptr;
  uint32_t first = 0;  // Of its registers in Program::operandLists.
};

// Four bits of metadata: where one chunk of a row of sparse A has its indices.
struct MetadataPlace {
  uint8_t lane = 0;
  uint8_t lsb = 0;
};

// Part of a fragment that one access of wmma.load or wmma.store moves in each lane.
struct FragmentPart {
  uint8_t reg = 0;    // Of the fragment.
  uint8_t shift = 0;  // Of the bits in the register, in bytes.
  uint8_t bytes = 0;
};

// Selects one byte of the scale registers: constants, or registers of the program.
struct ScaleOperands {
  uint32_t data = 0;  // Indices into Program::operandLists.
  uint32_t byteId = 0;
  uint32_t threadId = 0;
};

struct Instr;
struct Warp;

// What a product of a warpgroup works on besides registers, for one warp.
struct WarpgroupOperands {
  const uint8_t* shared = nullptr;  // Memory of the block.
  // Where the 16-byte chunks of A (nullptr: it is in registers) and B begin, in the order of
  // descriptor.h.
  const uint32_t* a = nullptr;
  const uint32_t* b = nullptr;
  bool accumulate = true;  // Adds to D.
  uint32_t lanes = 0;      // Which get results.
};
using WarpgroupFn = void (*)(const Instr& in, Warp& w, const WarpgroupOperands& operands);

struct MatrixSite {
  uint16_t m = 0, n = 0, k = 0;
  uint8_t products = 1;  // m8n8k4 of f16 computes four.
  Fragment a, b, c, d;
  bool saturate = false;     // .satfinite of integers
  bool andPopcount = false;  // b1: and instead of xor

  // Sparse A: row r, chunk q of `chunks` has its indices at metadata[(selector * 16 + r) * chunks +
  // q].
  const MetadataPlace* metadata = nullptr;
  uint8_t chunkWidth = 0;  // Logical elements of a chunk.
  uint8_t perIndex = 1;    // Elements that one index names: 2 for pairs.
  uint8_t indices = 0;     // Kept places of a chunk.
  uint8_t chunks = 0;
  uint8_t selector = 0;
  uint32_t metadataRegister = 0;  // Index into Program::operandLists.

  // Block scaling: factors along k of each row of A and column of B; 0: none.
  uint8_t scales = 0;
  bool scaleUe4m3 = false;
  ScaleOperands scaleA, scaleB;

  // Warpgroups: `d` has the registers of all N columns, and the places of the first eight; the
  // others follow in the same way. `c` is the same registers.
  WarpgroupFn warpgroup = nullptr;
  bool negateA = false, negateB = false;
  bool majorA = false, majorB = false;  // By M or N, not by K.
  uint32_t groups = 0;                  // wait_group: those that may stay under way.

  // Matrices in memory. Of wmma: element (r, c) is `stride` * r + c elements from the address, or
  // r + c * `stride` with `byColumns`.
  bool byColumns = false;
  uint32_t stride = 0;               // Index into Program::operandLists.
  std::vector<FragmentPart> parts;   // Of the fragment in `d` (load) or `a` (store).
  std::vector<uint16_t> partPlaces;  // Row and column by part and lane: [2 * (part * 32 + lane)].
  // Of ldmatrix, stmatrix and movmatrix: byte b of register r of a lane is byte bytes[(r * 32 +
  // lane) * 4 + b] of the rows, laid end to end; kRowBytes each, in the order of the lanes that
  // give their addresses.
  std::vector<uint16_t> bytes;
  uint8_t rowCount = 0;     // Lanes that give an address.
  uint8_t elementBits = 8;  // In memory: 6 or 4 unpack to bytes.
};

inline constexpr unsigned kRowBytes = 16;  // Of a row in memory.

// Products of a warpgroup: four warps, the first a multiple of four; warp w has rows 16 * (w % 4)
// and on of A and D.
inline constexpr unsigned kWarpgroupWarps = 4;
inline constexpr unsigned kWarpgroupRows = 16;  // Of each warp.
// Sources of the instruction: the descriptors (of A, unless it is in registers, and of B), and the
// predicate that says whether D is added to.
inline constexpr unsigned kDescriptorA = 0, kDescriptorB = 1, kScaleD = 2;

}  // namespace mtlc::sim

#endif  // MTLC_SIM_MATRIX_MATRIX_H_
