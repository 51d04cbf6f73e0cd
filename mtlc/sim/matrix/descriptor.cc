#include "mtlc/sim/matrix/descriptor.h"

namespace mtlc::sim {
namespace {

constexpr uint32_t kChunk = 16;
constexpr uint32_t kAddressMask = 0x3ffff;  // 18 bits, of which the descriptor has the upper 14.

uint32_t field(uint64_t bits, unsigned at) {
  return static_cast<uint32_t>(bits >> at & 0x3fff) * kChunk;
}

// The chunk at `address` of the layout without a swizzle.
uint32_t exchanged(const MatrixDescriptor& d, uint32_t address) {
  uint32_t line = (address >> 7) - d.base;
  return (address ^ (line & (d.width / kChunk - 1)) * kChunk) & kAddressMask;
}

}  // namespace

MatrixDescriptor decodeDescriptor(uint64_t bits) {
  static constexpr uint32_t kWidths[] = {16, 128, 64, 32};
  MatrixDescriptor d;
  d.start = field(bits, 0);
  d.leading = field(bits, 16);
  d.stride = field(bits, 32);
  d.base = static_cast<uint32_t>(bits >> 49 & 7);
  d.width = kWidths[bits >> 62];
  return d;
}

uint32_t chunkByK(const MatrixDescriptor& d, unsigned line, unsigned along) {
  uint32_t step = d.width == kChunk ? d.leading : kChunk;
  return exchanged(d, d.start + line / 8 * d.stride + line % 8 * d.width + along * step);
}

uint32_t chunkByMn(const MatrixDescriptor& d, unsigned eight, unsigned k) {
  unsigned perLine = d.width / kChunk;
  uint32_t lines = d.width == kChunk ? d.stride : d.leading;
  uint32_t eights = d.width == kChunk ? d.leading : d.stride;
  return exchanged(d, d.start + eight / perLine * lines + eight % perLine * kChunk +
                          k % 8 * d.width + k / 8 * eights);
}

void appendChunks(const MatrixDescriptor& d, bool byMn, unsigned first, unsigned lines,
                  unsigned depth, unsigned elementBits, std::vector<uint32_t>& out) {
  if (byMn) {
    for (unsigned eight = first / 8; eight < (first + lines) / 8; ++eight) {
      for (unsigned k = 0; k < depth; ++k) out.push_back(chunkByMn(d, eight, k));
    }
    return;
  }
  unsigned chunks = depth * elementBits / 8 / kChunk;
  for (unsigned line = first; line < first + lines; ++line) {
    for (unsigned c = 0; c < chunks; ++c) out.push_back(chunkByK(d, line, c));
  }
}

}  // namespace mtlc::sim
