// Matrices in shared memory as the descriptors of wgmma describe them (PTX ISA 9.7.15.5.1.2).
//
// Memory is seen in chunks of 16 bytes. By K, a chunk has elements of one row (of A; column of B)
// that follow each other along K. By M or N, it has eight 16-bit elements along M or N of one k.
// With a swizzle of W bytes the atom is eight lines of W bytes, and chunks are exchanged in each
// line as tensor copies do it, by address bits 7 to 9.

#ifndef MTLC_SIM_MATRIX_DESCRIPTOR_H_
#define MTLC_SIM_MATRIX_DESCRIPTOR_H_

#include <cstdint>
#include <vector>

namespace mtlc::sim {

struct MatrixDescriptor {
  uint32_t start = 0;    // Bytes.
  uint32_t leading = 0;  // Leading dimension byte offset.
  uint32_t stride = 0;   // Stride dimension byte offset.
  uint32_t base = 0;     // Base offset: lines between a pattern's start and a multiple of 8 lines.
  uint32_t width = 16;   // Bytes of a line of the swizzle; 16: none.
};
MatrixDescriptor decodeDescriptor(uint64_t bits);

// By K: row or column `line`, chunk `along` of K.
uint32_t chunkByK(const MatrixDescriptor& d, unsigned line, unsigned along);
// By M or N: elements 8 * `eight` and on, of `k`.
uint32_t chunkByMn(const MatrixDescriptor& d, unsigned eight, unsigned k);

// Appends the offsets of all chunks of `lines` rows or columns, the first of them a multiple of
// eight: by K line after line, else all k of eight lines after each other. `depth`: elements along
// K.
void appendChunks(const MatrixDescriptor& d, bool byMn, unsigned first, unsigned lines,
                  unsigned depth, unsigned elementBits, std::vector<uint32_t>& out);

}  // namespace mtlc::sim

#endif  // MTLC_SIM_MATRIX_DESCRIPTOR_H_
