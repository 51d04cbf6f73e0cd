#include "mtlc/interp/tensor_math.h"

#include <bit>
#include <cmath>
#include <limits>

#include "mtlc/interp/exact_sum.h"
#include "mtlc/support/bit_stream.h"
#include "mtlc/support/element_format.h"

namespace mtlc::interp {
namespace {

using ir::Layout;
using ir::Packing;
using ir::ScaleMode;
using ir::Slot;
using ir::Sparsity;
using Wide = unsigned __int128;

uint64_t ceilDiv(uint64_t a, uint64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

// Stored values of a row of A.
uint64_t storedAlongK(Sparsity sparsity, uint64_t k) {
  if (sparsity == Sparsity::Dense) return k;
  const uint64_t group = ir::sparseGroup(sparsity);
  return ceilDiv(k, group) * (group / 2);
}

uint64_t saturated(Wide x) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  return x > kMost ? kMost : static_cast<uint64_t>(x);
}

// Where the elements of a matrix are, from its address on.
struct Matrix {
  Layout layout = Layout::Row;
  bool transposed = false;  // The stored matrix is the transpose of the logical one.
  uint64_t leading = 0;     // In stored elements.
  unsigned distance = 8;    // Bits from one element to the next.
  unsigned bits = 8;        // Of one element's value.

  static Matrix of(ElementFormat format, Packing packing, Layout layout, bool transposed,
                   uint64_t leading) {
    const ElementInfo& info = elementInfo(format);
    return {layout, transposed, leading, packing == Packing::Dense ? info.bits : info.bytes * 8u,
            // Bit 7 of a ue4m3 means nothing.
            format == ElementFormat::UE4M3 ? 7u : info.bits};
  }

  bool rowsAreRuns() const { return (layout == Layout::Row) != transposed; }
  Wide bitOffset(uint64_t r, uint64_t c) const {
    return (rowsAreRuns() ? Wide{r} * leading + c : Wide{c} * leading + r) * distance;
  }
  // Of an element that is within the operand's bytes.
  uint64_t offset(uint64_t r, uint64_t c) const { return static_cast<uint64_t>(bitOffset(r, c)); }
};

// Appends bits [begin, end), joined with the range before where they touch. False once beyond the
// limit.
bool append(ByteRanges& ranges, Wide begin, Wide end, uint64_t limit) {
  const uint64_t first = saturated(begin / 8), last = saturated((end + 7) / 8);
  if (!ranges.empty() && ranges.back().end >= first && ranges.back().begin <= first) {
    ranges.back().end = std::max(ranges.back().end, last);
  } else {
    ranges.push_back({first, last});
  }
  return ranges.back().end <= limit;
}

// The bytes of rows [r, r + rows) and columns [c, c + cols).
ByteRanges rectangle(const Matrix& x, uint64_t r, uint64_t rows, uint64_t c, uint64_t cols,
                     uint64_t limit) {
  ByteRanges ranges;
  if (rows == 0 || cols == 0) return ranges;
  const bool byRow = x.rowsAreRuns();
  const uint64_t runs = byRow ? rows : cols, length = byRow ? cols : rows;
  for (uint64_t i = 0; i < runs; ++i) {
    const Wide begin = byRow ? x.bitOffset(r + i, c) : x.bitOffset(r, c + i);
    if (!append(ranges, begin, begin + Wide{length} * x.distance, limit)) break;
  }
  return ranges;
}

// The operands of a problem as matrices, by logical coordinates. Of a sparse A these are the row
// and the number of the stored value within it.
Matrix matrixA(const MmaProblem& p) {
  return Matrix::of(p.desc.a, p.desc.aPacking, p.desc.aLayout, p.desc.transposeA, p.lda);
}
Matrix matrixB(const MmaProblem& p) {
  return Matrix::of(p.desc.b, p.desc.bPacking, p.desc.bLayout, p.desc.transposeB, p.ldb);
}
Matrix matrixC(const MmaProblem& p) {
  return Matrix::of(p.desc.result, Packing::Logical, p.desc.cLayout, false, p.ldc);
}
Matrix matrixD(const MmaProblem& p) {
  return Matrix::of(p.desc.result, Packing::Logical, p.desc.dLayout, false, p.ldd);
}
Matrix metadataMatrix(const MmaProblem& p) {
  const uint64_t dense = ceilDiv(p.k, ir::sparseGroup(p.desc.sparsity));
  return {Layout::Row, false, p.ldmeta == 0 ? dense : p.ldmeta, 8,
          ir::sparseGroup(p.desc.sparsity)};
}
// Rows and blocks along K; blocks along K and columns.
Matrix scaleMatrixA(const MmaProblem& p) {
  return Matrix::of(p.desc.aScaleFormat, Packing::Logical, Layout::Row, false, p.ldsa);
}
Matrix scaleMatrixB(const MmaProblem& p) {
  return Matrix::of(p.desc.bScaleFormat, Packing::Logical, Layout::Col, false, p.ldsb);
}

// A value read, and whether a bit of it is uninitialised.
struct Element {
  uint64_t code = 0;
  bool uninit = false;
};
Element readElement(const TensorInput& from, const Matrix& x, uint64_t r, uint64_t c) {
  const uint64_t at = x.offset(r, c);
  return {getBits(from.bytes, at, x.bits),
          !from.uninit.empty() && getBits(from.uninit, at, x.bits) != 0};
}
void writeElement(const TensorOutput& to, const Matrix& x, uint64_t r, uint64_t c, Element e) {
  const uint64_t at = x.offset(r, c);
  setBits(to.bytes, at, x.bits, e.code);
  if (!to.uninit.empty()) setBits(to.uninit, at, x.bits, e.uninit ? ~uint64_t{0} : 0);
}

// Calls visit(k, position in A's row) for each product of row r, in increasing order of k. Returns
// true if it is uninitialised which those are.
template <typename Visit>
bool forEachProduct(const MmaProblem& p, const TensorInput& metadata, uint64_t r, Visit visit) {
  if (p.desc.sparsity == Sparsity::Dense) {
    for (uint64_t q = 0; q < p.k; ++q) visit(q, q);
    return false;
  }
  const uint64_t group = ir::sparseGroup(p.desc.sparsity);
  const Matrix masks = metadataMatrix(p);
  bool uninit = false;
  for (uint64_t g = 0; g < ceilDiv(p.k, group); ++g) {
    const Element mask = readElement(metadata, masks, r, g);
    uninit |= mask.uninit;
    uint64_t stored = g * (group / 2);
    for (uint64_t i = 0; i < group; ++i) {
      if ((mask.code >> i & 1) == 0) continue;
      if (g * group + i < p.k && stored < (g + 1) * (group / 2)) visit(g * group + i, stored);
      ++stored;
    }
  }
  return uninit;
}

// The factors of an element of D, with their scales: exact, since a scaled element has 15 bits at
// most and its exponent is far from float64's limits.
class Factors {
 public:
  Factors(const MmaProblem& p, const MmaInputs& in)
      : p_(p),
        in_(in),
        a_(matrixA(p)),
        b_(matrixB(p)),
        scaleA_(scaleMatrixA(p)),
        scaleB_(scaleMatrixB(p)) {}

  Element codeA(uint64_t r, uint64_t stored) const { return readElement(in_.a, a_, r, stored); }
  Element codeB(uint64_t q, uint64_t c) const { return readElement(in_.b, b_, q, c); }

  double a(uint64_t r, uint64_t stored, uint64_t q, bool& uninit) const {
    const Element e = codeA(r, stored);
    uninit |= e.uninit;
    const double value = decodeElement(p_.desc.a, e.code);
    const ScaleMode mode = p_.desc.aScale;
    if (mode == ScaleMode::None) return value;
    const uint32_t block = ir::scaleBlock(mode);
    const Element s = block ? readElement(in_.scaleA, scaleA_, r, q / block)
                            : readElement(in_.scaleA, scaleA_, 0, 0);
    uninit |= s.uninit;
    return value * decodeElement(p_.desc.aScaleFormat, s.code);
  }
  double b(uint64_t q, uint64_t c, bool& uninit) const {
    const Element e = codeB(q, c);
    uninit |= e.uninit;
    const double value = decodeElement(p_.desc.b, e.code);
    const ScaleMode mode = p_.desc.bScale;
    if (mode == ScaleMode::None) return value;
    const uint32_t block = ir::scaleBlock(mode);
    const Element s = block ? readElement(in_.scaleB, scaleB_, q / block, c)
                            : readElement(in_.scaleB, scaleB_, 0, 0);
    uninit |= s.uninit;
    return value * decodeElement(p_.desc.bScaleFormat, s.code);
  }

 private:
  const MmaProblem& p_;
  const MmaInputs& in_;
  Matrix a_, b_, scaleA_, scaleB_;
};

// A sum of products and an addend, as IEEE sums but without intermediate rounding.
class Dot {
 public:
  void start(double addend) {
    sum_.clear();
    specials_ = 0;
    negativeZeros_ = addend == 0 && std::signbit(addend);
    if (std::isfinite(addend)) {
      sum_.add(addend);
    } else {
      specials_ = addend;
    }
  }
  void add(double x, double y) {
    if (std::isfinite(x) && std::isfinite(y)) {
      sum_.addProduct(x, y);
      negativeZeros_ &= (x == 0 || y == 0) && std::signbit(x) != std::signbit(y);
    } else {
      specials_ += x * y;  // Infinities and NaN only: nothing rounds.
    }
  }
  // The sum rounded once.
  uint64_t round(FloatFormat format) const {
    if (specials_ != 0) return encodeFloat(format, specials_);  // NaN differs from 0, too.
    const ExactSum::Parts parts = sum_.parts();
    const bool negative = parts.significand == 0 ? negativeZeros_ : parts.negative;
    return encodeParts(format, negative, parts.significand, parts.exponent, parts.sticky);
  }

 private:
  ExactSum sum_;
  double specials_ = 0;        // The sum of the terms that are infinite or NaN.
  bool negativeZeros_ = true;  // All terms are -0.
};

RoundingMode roundingMode(ir::Rounding rounding) {
  switch (rounding) {
    case ir::Rounding::Default:
    case ir::Rounding::NearestEven:
      return RoundingMode::NearestEven;
    case ir::Rounding::TowardZero:
      return RoundingMode::TowardZero;
    case ir::Rounding::Down:
      return RoundingMode::Down;
    case ir::Rounding::Up:
      return RoundingMode::Up;
  }
  return RoundingMode::NearestEven;
}

Element dotF64(const MmaProblem& p, const MmaInputs& in, const Factors& factors, uint64_t r,
               uint64_t c, Element addend) {
  const RoundingMode mode = roundingMode(p.desc.rounding);
  double sum = f64FromBits(addend.code);
  bool uninit = addend.uninit;
  uninit |= forEachProduct(p, in.metadata, r, [&](uint64_t q, uint64_t stored) {
    const double x = factors.a(r, stored, q, uninit);
    const double y = factors.b(q, c, uninit);
    sum = fusedMultiplyAdd(x, y, sum, mode);
  });
  return {f64Bits(sum), uninit};
}

Element dotFloat(const MmaProblem& p, const MmaInputs& in, const Factors& factors, uint64_t r,
                 uint64_t c, Element addend, Dot& dot) {
  const FloatFormat acc = elementInfo(p.desc.acc).format;
  const FloatFormat result = elementInfo(p.desc.result).format;
  bool uninit = addend.uninit;
  dot.start(decodeFloat(result, addend.code));
  uninit |= forEachProduct(p, in.metadata, r, [&](uint64_t q, uint64_t stored) {
    const double x = factors.a(r, stored, q, uninit);
    dot.add(x, factors.b(q, c, uninit));
  });
  const uint64_t sum = dot.round(acc);
  return {acc == result ? sum : encodeFloat(result, decodeFloat(acc, sum)), uninit};
}

Element dotInteger(const MmaProblem& p, const MmaInputs& in, const Factors& factors, uint64_t r,
                   uint64_t c, Element addend) {
  int64_t sum = decodeInteger(ElementFormat::I32, addend.code);
  bool uninit = addend.uninit;
  uninit |= forEachProduct(p, in.metadata, r, [&](uint64_t q, uint64_t stored) {
    const Element x = factors.codeA(r, stored), y = factors.codeB(q, c);
    uninit |= x.uninit || y.uninit;
    switch (p.desc.math) {
      case ir::TensorMath::MultiplyAdd:
        sum += decodeInteger(p.desc.a, x.code) * decodeInteger(p.desc.b, y.code);
        break;
      case ir::TensorMath::XorPopcount:
        sum += static_cast<int64_t>(x.code ^ y.code);
        break;
      case ir::TensorMath::AndPopcount:
        sum += static_cast<int64_t>(x.code & y.code);
        break;
    }
  });
  if (p.desc.overflow == ir::Overflow::Saturate) {
    sum = std::clamp<int64_t>(sum, std::numeric_limits<int32_t>::min(),
                              std::numeric_limits<int32_t>::max());
  }
  return {static_cast<uint32_t>(sum), uninit};
}

}  // namespace

double decodeElement(ElementFormat format, uint64_t code) {
  if (format == ElementFormat::TF32) code = roundToTf32TiesAway(static_cast<uint32_t>(code));
  return decodeFloat(elementInfo(format).format, code);
}

int64_t decodeInteger(ElementFormat format, uint64_t code) {
  const ElementInfo& info = elementInfo(format);
  code &= (uint64_t{1} << info.bits) - 1;
  if (info.kind != ElementKind::Signed || code >> (info.bits - 1) == 0) {
    return static_cast<int64_t>(code);
  }
  return static_cast<int64_t>(code) - (int64_t{1} << info.bits);
}

bool overlap(uint64_t addressX, const ByteRanges& x, uint64_t addressY, const ByteRanges& y) {
  for (size_t i = 0, j = 0; i < x.size() && j < y.size();) {
    const uint64_t beginX = addressX + x[i].begin, endX = addressX + x[i].end;
    const uint64_t beginY = addressY + y[j].begin, endY = addressY + y[j].end;
    if (endX <= beginY) {
      ++i;
    } else if (endY <= beginX) {
      ++j;
    } else {
      return true;
    }
  }
  return false;
}

// ---- Multiplication ----

MmaProblem MmaProblem::wholeTile(const ir::MmaDesc& d) {
  MmaProblem p;
  p.desc = d;
  p.m = d.m;
  p.n = d.n;
  p.k = d.k;
  p.lda = d.lda;
  p.ldb = d.ldb;
  p.ldc = d.ldc;
  p.ldd = d.ldd;
  p.ldsa = d.ldsa;
  p.ldsb = d.ldsb;
  p.ldmeta = d.ldmeta;
  return p;
}

uint64_t MmaProblem::leading(Slot slot) const {
  switch (slot) {
    case Slot::Lda:
      return lda;
    case Slot::Ldb:
      return ldb;
    case Slot::Ldc:
      return ldc;
    case Slot::Ldd:
      return ldd;
    case Slot::Ldsa:
      return ldsa;
    case Slot::Ldsb:
      return ldsb;
    case Slot::LdMeta:
      return ldmeta;
    default:
      return 0;
  }
}

uint64_t MmaProblem::leastLeading(Slot slot) const {
  auto least = [](Layout layout, bool transposed, uint64_t rows, uint64_t cols) {
    return std::max<uint64_t>((layout == Layout::Row) != transposed ? cols : rows, 1);
  };
  auto blocks = [&](ScaleMode mode) {
    const uint32_t block = ir::scaleBlock(mode);
    return block ? std::max<uint64_t>(ceilDiv(k, block), 1) : 0;
  };
  switch (slot) {
    case Slot::Lda:
      return least(desc.aLayout, desc.transposeA, m, storedAlongK(desc.sparsity, k));
    case Slot::Ldb:
      return least(desc.bLayout, desc.transposeB, k, n);
    case Slot::Ldc:
      return least(desc.cLayout, false, m, n);
    case Slot::Ldd:
      return least(desc.dLayout, false, m, n);
    case Slot::Ldsa:
      return blocks(desc.aScale);
    case Slot::Ldsb:
      return blocks(desc.bScale);
    case Slot::LdMeta:  // 0 where they follow each other anyway.
      return ldmeta == 0 ? 0 : std::max<uint64_t>(ceilDiv(k, ir::sparseGroup(desc.sparsity)), 1);
    default:
      return 0;
  }
}

ByteRanges touched(const MmaProblem& p, Slot operand, uint64_t limit) {
  const uint64_t rows = p.rows(), cols = p.cols();
  const bool outputs = rows > 0 && cols > 0, inputs = outputs && p.k > 0;
  if (operand == Slot::C || operand == Slot::D) {
    const Matrix x = operand == Slot::C ? matrixC(p) : matrixD(p);
    return outputs ? rectangle(x, p.row, rows, p.col, cols, limit) : ByteRanges();
  }
  if (!inputs) return {};
  switch (operand) {
    case Slot::A:
      return rectangle(matrixA(p), p.row, rows, 0, storedAlongK(p.desc.sparsity, p.k), limit);
    case Slot::B:
      return rectangle(matrixB(p), 0, p.k, p.col, cols, limit);
    case Slot::Metadata:
      if (p.desc.sparsity == Sparsity::Dense) return {};
      return rectangle(metadataMatrix(p), p.row, rows, 0,
                       ceilDiv(p.k, ir::sparseGroup(p.desc.sparsity)), limit);
    case Slot::ScaleA:
      if (p.desc.aScale == ScaleMode::None) return {};
      if (p.desc.aScale == ScaleMode::Tensor) return {{0, 1}};
      return rectangle(scaleMatrixA(p), p.row, rows, 0, ceilDiv(p.k, ir::scaleBlock(p.desc.aScale)),
                       limit);
    case Slot::ScaleB:
      if (p.desc.bScale == ScaleMode::None) return {};
      if (p.desc.bScale == ScaleMode::Tensor) return {{0, 1}};
      return rectangle(scaleMatrixB(p), 0, ceilDiv(p.k, ir::scaleBlock(p.desc.bScale)), p.col, cols,
                       limit);
    default:
      return {};
  }
}

bool sameElements(const MmaProblem& p) {
  const Matrix c = matrixC(p), d = matrixD(p);
  for (uint64_t i = 0; i < p.rows(); ++i) {
    for (uint64_t j = 0; j < p.cols(); ++j) {
      if (c.bitOffset(p.row + i, p.col + j) != d.bitOffset(p.row + i, p.col + j)) return false;
    }
  }
  return true;
}

std::optional<BadMask> findBadMask(const MmaProblem& p, TensorInput metadata) {
  if (p.desc.sparsity == Sparsity::Dense || p.cols() == 0) return std::nullopt;
  const uint32_t group = ir::sparseGroup(p.desc.sparsity);
  const Matrix masks = metadataMatrix(p);
  for (uint64_t r = p.row; r < p.row + p.rows(); ++r) {
    for (uint64_t g = 0; g < ceilDiv(p.k, group); ++g) {
      const Element mask = readElement(metadata, masks, r, g);
      if (mask.uninit || std::popcount(mask.code) == static_cast<int>(group / 2)) continue;
      return BadMask{r, g, static_cast<uint8_t>(mask.code)};
    }
  }
  return std::nullopt;
}

void copyAccumulator(const MmaProblem& p, const TensorInput& c, const TensorOutput& d) {
  const Matrix from = matrixC(p), to = matrixD(p);
  for (uint64_t r = p.row; r < p.row + p.rows(); ++r) {
    for (uint64_t q = p.col; q < p.col + p.cols(); ++q) {
      const uint64_t at = from.offset(r, q), goal = to.offset(r, q);
      setBits(d.bytes, goal, to.bits, getBits(c.bytes, at, from.bits));
      if (d.uninit.empty()) continue;
      setBits(d.uninit, goal, to.bits, c.uninit.empty() ? 0 : getBits(c.uninit, at, from.bits));
    }
  }
}

void multiply(const MmaProblem& p, const MmaInputs& in, const TensorOutput& d) {
  if (p.k == 0) return copyAccumulator(p, in.c, d);
  const Matrix from = matrixC(p), to = matrixD(p);
  const Factors factors(p, in);
  const bool isFloat = elementInfo(p.desc.a).isFloat();
  Dot dot;
  for (uint64_t r = p.row; r < p.row + p.rows(); ++r) {
    for (uint64_t c = p.col; c < p.col + p.cols(); ++c) {
      const Element addend = readElement(in.c, from, r, c);
      const Element sum = p.desc.a == ElementFormat::F64 ? dotF64(p, in, factors, r, c, addend)
                          : isFloat ? dotFloat(p, in, factors, r, c, addend, dot)
                                    : dotInteger(p, in, factors, r, c, addend);
      writeElement(d, to, r, c, sum);
    }
  }
}

namespace {

void convertTile(const MmaProblem& p, const Matrix& from, ElementFormat fromFormat,
                 const TensorInput& in, const Matrix& to, ElementFormat toFormat,
                 const TensorOutput& out) {
  const FloatFormat source = elementInfo(fromFormat).format, goal = elementInfo(toFormat).format;
  for (uint64_t r = 0; r < p.desc.m; ++r) {
    for (uint64_t c = 0; c < p.desc.n; ++c) {
      const Element x = readElement(in, from, r, c);
      writeElement(out, to, r, c, {encodeFloat(goal, decodeFloat(source, x.code)), x.uninit});
    }
  }
}
Matrix wideMatrix(const MmaProblem& p) {
  return Matrix::of(p.desc.acc, Packing::Logical, Layout::Row, false, p.desc.n);
}

}  // namespace

void widenTile(const MmaProblem& p, const TensorInput& home, const TensorOutput& wide) {
  convertTile(p, matrixD(p), p.desc.result, home, wideMatrix(p), p.desc.acc, wide);
}

void roundTile(const MmaProblem& p, const TensorInput& wide, const TensorOutput& home) {
  convertTile(p, wideMatrix(p), p.desc.acc, wide, matrixD(p), p.desc.result, home);
}

// ---- Epilogue ----

uint64_t EpilogueProblem::leastLeading(Slot slot) const {
  const Layout layout = slot == Slot::Ldd ? desc.layout : desc.biasLayout;
  if (slot == Slot::LdBias && desc.bias != ir::BiasMode::Matrix) return 0;
  return layout == Layout::Row ? desc.n : desc.m;
}

namespace {

Matrix matrixD(const EpilogueProblem& p) {
  return Matrix::of(p.desc.element, Packing::Logical, p.desc.layout, false, p.ldd);
}
// A vector of biases is a matrix whose rows, or columns, are all the same place.
Matrix biasMatrix(const EpilogueProblem& p) {
  const bool matrix = p.desc.bias == ir::BiasMode::Matrix;
  const Layout layout = matrix                                ? p.desc.biasLayout
                        : p.desc.bias == ir::BiasMode::Column ? Layout::Row
                                                              : Layout::Col;
  return Matrix::of(p.desc.element, Packing::Logical, layout, false, matrix ? p.ldbias : 0);
}

// In T = float or double.
template <typename T>
T epilogueOf(const EpilogueProblem& p, T d, T bias) {
  if (p.alpha) d = static_cast<T>(*p.alpha) * d;
  if (p.desc.bias != ir::BiasMode::None) {
    if (p.beta) bias = static_cast<T>(*p.beta) * bias;
    d = d + bias;
  }
  switch (p.desc.activation) {
    case ir::Activation::Identity:
      break;
    case ir::Activation::Relu:
      if (d < 0) d = 0;
      break;
    case ir::Activation::Clamp:
      if (d < static_cast<T>(p.lo)) d = static_cast<T>(p.lo);
      if (d > static_cast<T>(p.hi)) d = static_cast<T>(p.hi);
      break;
  }
  return d;
}

}  // namespace

ByteRanges touched(const EpilogueProblem& p, Slot operand, uint64_t limit) {
  if (operand == Slot::D) return rectangle(matrixD(p), 0, p.desc.m, 0, p.desc.n, limit);
  switch (p.desc.bias) {
    case ir::BiasMode::None:
      return {};
    case ir::BiasMode::Row:
      return rectangle(biasMatrix(p), 0, p.desc.m, 0, 1, limit);
    case ir::BiasMode::Column:
      return rectangle(biasMatrix(p), 0, 1, 0, p.desc.n, limit);
    case ir::BiasMode::Matrix:
      return rectangle(biasMatrix(p), 0, p.desc.m, 0, p.desc.n, limit);
  }
  return {};
}

void applyEpilogue(const EpilogueProblem& p, const TensorInput& bias, const TensorOutput& d) {
  const Matrix to = matrixD(p), from = biasMatrix(p);
  const ElementFormat format = p.desc.element;
  const bool hasBias = p.desc.bias != ir::BiasMode::None;
  for (uint64_t r = 0; r < p.desc.m; ++r) {
    for (uint64_t c = 0; c < p.desc.n; ++c) {
      const Element x = readElement(d, to, r, c);
      const Element b = hasBias ? readElement(bias, from, r, c) : Element();
      Element result{0, x.uninit || b.uninit || p.scalarsUninit};
      const double value = decodeElement(format, x.code), addend = decodeElement(format, b.code);
      if (format == ElementFormat::F64) {
        result.code = f64Bits(epilogueOf(p, value, addend));
      } else {
        const float sum = epilogueOf(p, f64ToF32(value), f64ToF32(addend));
        result.code = encodeFloat(elementInfo(format).format, f32ToF64(sum));
      }
      writeElement(d, to, r, c, result);
    }
  }
}

// ---- Transfer ----

namespace {

bool isDense(const TransferProblem& p) { return p.desc.packing == Packing::Dense; }
// Of one element: copied as it is, with what its byte holds beside it.
unsigned transferBits(const TransferProblem& p) {
  const ElementInfo& info = elementInfo(p.desc.element);
  return isDense(p) ? info.bits : info.bytes * 8u;
}

// Calls visit(number of the element in the tile, bit offset on the global side or nothing if out of
// range) for each element of the tile, dimension 0 fastest, until it returns false.
template <typename Visit>
void forEachOfTile(const TransferProblem& p, Visit visit) {
  std::array<uint32_t, ir::kMaxRank> at{};
  const unsigned bits = transferBits(p);
  for (uint64_t number = 0;; ++number) {
    bool inside = true;
    Wide offset = 0;
    for (unsigned i = 0; i < p.desc.rank; ++i) {
      const int64_t x = p.x[i] + int64_t{at[i]} * p.desc.step[i];
      inside = inside && x >= 0 && static_cast<uint64_t>(x) < p.extent[i];
      if (!inside) break;
      offset += static_cast<Wide>(x) * (i == 0 ? Wide{bits} : Wide{p.stride[i]} * 8);
    }
    if (!visit(number, inside ? std::optional<Wide>(offset) : std::nullopt)) return;
    unsigned i = 0;
    while (i < p.desc.rank && ++at[i] == p.desc.tile[i]) at[i++] = 0;
    if (i == p.desc.rank) return;
  }
}

}  // namespace

ByteRanges touched(const TransferProblem& p, Slot operand, uint64_t limit) {
  const bool loads = p.desc.direction == ir::Direction::Load;
  const unsigned bits = transferBits(p);
  ByteRanges ranges;
  if (operand == (loads ? Slot::Src : Slot::Dst)) {
    forEachOfTile(p, [&](uint64_t, std::optional<Wide> offset) {
      return !offset || append(ranges, *offset, *offset + bits, limit);
    });
    return ranges;
  }
  // A store reads only what it delivers.
  forEachOfTile(p, [&](uint64_t number, std::optional<Wide> offset) {
    if (!loads && !offset) return true;
    return append(ranges, Wide{number} * bits, Wide{number + 1} * bits, limit);
  });
  return ranges;
}

void transfer(const TransferProblem& p, const TensorInput& src, const TensorOutput& dst) {
  const bool loads = p.desc.direction == ir::Direction::Load;
  const unsigned bits = transferBits(p);
  forEachOfTile(p, [&](uint64_t number, std::optional<Wide> global) {
    if (!global && !loads) return true;
    const uint64_t inTile = number * bits;
    const uint64_t inGlobal = global ? static_cast<uint64_t>(*global) : 0;
    const uint64_t from = loads ? inGlobal : inTile, to = loads ? inTile : inGlobal;
    setBits(dst.bytes, to, bits, global ? getBits(src.bytes, from, bits) : 0);
    if (!dst.uninit.empty()) {
      const bool known = !global || src.uninit.empty();
      setBits(dst.uninit, to, bits, known ? 0 : getBits(src.uninit, from, bits));
    }
    return true;
  });
}

}  // namespace mtlc::interp
