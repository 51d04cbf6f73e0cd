// The tensor operations of docs/ir.md §11 on bytes, by their definition: slow, obvious, and
// independent of who executes them. The interpreter runs kernels with it, and code generation is
// tested against it.
//
// Floating-point results are the exact sum rounded once to the accumulator's format, and from there
// to the result's; float64 is one fused multiply-add for each k in turn.

#ifndef MTLC_INTERP_TENSOR_MATH_H_
#define MTLC_INTERP_TENSOR_MATH_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mtlc/ir/descriptors.h"

namespace mtlc::interp {

// Memory from an operand's address on. In `uninit` a set bit marks an uninitialised bit of `bytes`;
// it is as long, or empty, which means that all are initialised.
struct TensorInput {
  std::span<const uint8_t> bytes;
  std::span<const uint8_t> uninit = {};
};
struct TensorOutput {
  std::span<uint8_t> bytes;
  std::span<uint8_t> uninit = {};  // Empty: nothing is noted.

  operator TensorInput() const { return {bytes, uninit}; }
};

// Bytes [begin, end) from an operand's address on.
struct ByteRange {
  uint64_t begin = 0, end = 0;
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};
using ByteRanges = std::vector<ByteRange>;

// True if some byte is in both, where the first list's address is `addressX` and the other's
// `addressY`. Both lists are in increasing order.
bool overlap(uint64_t addressX, const ByteRanges& x, uint64_t addressY, const ByteRanges& y);

// ---- tensor.mma, tensor.matmul, and the tile operations ----

// The descriptor together with what operands say.
struct MmaProblem {
  ir::MmaDesc desc;              // Its leading dimensions are those below, whatever it says.
  uint64_t m = 0, n = 0, k = 0;  // Of the problem.
  uint64_t row = 0, col = 0;     // Where the region begins.
  uint64_t lda = 0, ldb = 0, ldc = 0, ldd = 0, ldsa = 0, ldsb = 0;
  uint64_t ldmeta = 0;  // 0: rows of metadata follow each other.

  // One whole tile: the descriptor's shape and leading dimensions.
  static MmaProblem wholeTile(const ir::MmaDesc& desc);

  uint64_t leading(ir::Slot slot) const;  // Lda … Ldsb, LdMeta
  // The least legal leading dimension of the stored problem.
  uint64_t leastLeading(ir::Slot slot) const;
  // Extent of the part of the region that is in the problem.
  uint64_t rows() const { return row < m ? std::min<uint64_t>(desc.m, m - row) : 0; }
  uint64_t cols() const { return col < n ? std::min<uint64_t>(desc.n, n - col) : 0; }
};

// The bytes of an operand that the operation reads or writes: A, B, C, D, Metadata, ScaleA or
// ScaleB. In increasing order; neighbours are joined. Ends after the first range that ends beyond
// `limit`. Leading dimensions are at least leastLeading(). An offset beyond 2^64 counts as 2^64-1.
ByteRanges touched(const MmaProblem& p, ir::Slot operand, uint64_t limit);

// True if each element of C that is touched is the one of D with the same coordinates, given the
// same address.
bool sameElements(const MmaProblem& p);

// A metadata byte without exactly half of a group's bits, of an initialised byte that is touched.
struct BadMask {
  uint64_t row = 0, group = 0;
  uint8_t mask = 0;
};
std::optional<BadMask> findBadMask(const MmaProblem& p, TensorInput metadata);

struct MmaInputs {
  TensorInput a, b, c, metadata, scaleA, scaleB;
};

// D = A · B + C on the region. Preconditions: touched() lies within each operand; no bad mask; D
// overlaps C only where sameElements(), and nothing else. A result is uninitialised, wholly, if a
// bit that it is computed from is.
void multiply(const MmaProblem& p, const MmaInputs& in, const TensorOutput& d);

// D = C on the region, bit for bit.
void copyAccumulator(const MmaProblem& p, const TensorInput& c, const TensorOutput& d);

// A tile that is kept row by row in the accumulator's format, from and to its home, the problem's
// D.
void widenTile(const MmaProblem& p, const TensorInput& home, const TensorOutput& wide);
void roundTile(const MmaProblem& p, const TensorInput& wide, const TensorOutput& home);

// ---- tensor.epilogue ----

struct EpilogueProblem {
  ir::EpilogueDesc desc;  // As above.
  uint64_t ldd = 0, ldbias = 0;
  // Absent ones are 1, and then multiply nothing.
  std::optional<double> alpha, beta;
  double lo = 0, hi = 0;  // Clamp
  bool scalarsUninit = false;

  uint64_t leastLeading(ir::Slot slot) const;  // Ldd, LdBias
};

// D or Bias.
ByteRanges touched(const EpilogueProblem& p, ir::Slot operand, uint64_t limit);

// D = act(alpha · D + beta · bias).
void applyEpilogue(const EpilogueProblem& p, const TensorInput& bias, const TensorOutput& d);

// ---- tensor.transfer ----

struct TransferProblem {
  ir::TransferDesc desc;  // As above.
  std::array<int64_t, ir::kMaxRank> x{};
  std::array<uint64_t, ir::kMaxRank> extent{};
  std::array<uint64_t, ir::kMaxRank> stride{};  // Bytes; [0] is not looked at.
};

// Of the global side, `Slot::Src` of a load and `Slot::Dst` of a store, in the order of the tile's
// elements; or of the workgroup side, the other one.
ByteRanges touched(const TransferProblem& p, ir::Slot operand, uint64_t limit);

void transfer(const TransferProblem& p, const TensorInput& src, const TensorOutput& dst);

// ---- Elements ----

// The value of an element of kind Float or Scale; tf32 is rounded as tensor inputs are.
double decodeElement(ElementFormat format, uint64_t code);
// The value of one of kind Signed, Unsigned or Bit.
int64_t decodeInteger(ElementFormat format, uint64_t code);

}  // namespace mtlc::interp

#endif  // MTLC_INTERP_TENSOR_MATH_H_
