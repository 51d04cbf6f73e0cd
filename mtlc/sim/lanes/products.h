// What products of matrices share: dense arrays from registers and back, the loops over them, exact
// sums, sparse A. For the sources of this folder only.
//
// Numbers: integers are exact, then wrap or saturate. f64 is one fused multiply-add a step, in the
// order of k. All other formats: the exact sum of the products and C, rounded once to nearest-even
// in the format of D. In doubles that sum is exact in any order when its terms span few enough
// bits, which the exponents of the operands tell; otherwise it is summed exactly element by
// element.

#ifndef MTLC_SIM_LANES_PRODUCTS_H_
#define MTLC_SIM_LANES_PRODUCTS_H_

#include <algorithm>

#include "mtlc/sim/lanes/half.h"
#include "mtlc/sim/matrix/fragments.h"

namespace mtlc::sim::MTLC_LANES {
namespace {

constexpr unsigned kMaxRows = 32, kMaxColumns = 32, kMaxDepth = 128;

// Four doubles or eight 32-bit integers at once, on hosts that have such registers.
typedef double Doubles __attribute__((vector_size(32)));
typedef i32 Ints __attribute__((vector_size(32)));

MTLC_INLINE Doubles multiplyAdd(Doubles a, Doubles b, Doubles c) {
#if defined(__FMA__) && defined(__AVX2__)
  return __builtin_ia32_vfmaddpd256(a, b, c);
#else
  return a * b + c;
#endif
}

// D of one product: rows x columns += A (rows x depth) * B (depth x columns), row by row.
// Columns come in groups of eight. In doubles every step must be exact.
template <typename T, typename V>
MTLC_INLINE void accumulate(const T* a, const T* b, T* d, unsigned rows, unsigned columns,
                            unsigned depth, unsigned aStride, unsigned bStride) {
  constexpr unsigned kWidth = sizeof(V) / sizeof(T), kParts = 8 / kWidth, kRows = 4;
  // Unrolled, so that the sums stay in registers.
  for (unsigned j = 0; j < columns; j += 8) {
    for (unsigned i = 0; i < rows; i += kRows) {
      V sum[kRows][kParts];
#pragma GCC unroll 4
      for (unsigned r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
        for (unsigned p = 0; p < kParts; ++p) {
          __builtin_memcpy(&sum[r][p], d + (i + r) * columns + j + p * kWidth, sizeof(V));
        }
      }
      for (unsigned k = 0; k < depth; ++k) {
        V right[kParts];
#pragma GCC unroll 2
        for (unsigned p = 0; p < kParts; ++p) {
          __builtin_memcpy(&right[p], b + k * bStride + j + p * kWidth, sizeof(V));
        }
#pragma GCC unroll 4
        for (unsigned r = 0; r < kRows; ++r) {
          V left = a[(i + r) * aStride + k] - V{};
#pragma GCC unroll 2
          for (unsigned p = 0; p < kParts; ++p) {
            if constexpr (std::is_same_v<V, Doubles>) {
              sum[r][p] = multiplyAdd(left, right[p], sum[r][p]);
            } else {
              sum[r][p] += left * right[p];
            }
          }
        }
      }
#pragma GCC unroll 4
      for (unsigned r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
        for (unsigned p = 0; p < kParts; ++p) {
          __builtin_memcpy(d + (i + r) * columns + j + p * kWidth, &sum[r][p], sizeof(V));
        }
      }
    }
  }
}

// ---- Registers to dense arrays and back ----

MTLC_INLINE const Ref* listOf(Warp& w, u32 first) {
  return w.block->program->operandLists.data() + first;
}
MTLC_INLINE const MatrixSite& siteOf(const Instr& in, Warp& w) {
  return w.block->program->matrices[in.ext];
}

// The registers of a fragment, one after the other.
struct RawFragment {
  alignas(64) u32 words[8 * kLanes];
};
MTLC_INLINE void readWords(Warp& w, const Fragment& f, RawFragment& raw) {
  const Ref* refs = listOf(w, f.first);
  for (unsigned r = 0; r < f.registers; ++r) {
    __builtin_memcpy(raw.words + r * kLanes, column32(w, refs[r]), sizeof(u32) * kLanes);
  }
}

// Writes word or element `number` of a fragment's registers for the lanes of `mask`.
MTLC_INLINE void writeWords(Warp& w, const Fragment& f, const RawFragment& raw, LaneMask mask) {
  const Ref* refs = listOf(w, f.first);
  for (unsigned r = 0; r < f.registers; ++r) {
    if (refs[r] == kNoRef) continue;
    if (mask == kAllLanes) {
      __builtin_memcpy(column32(w, refs[r]), raw.words + r * kLanes, sizeof(u32) * kLanes);
    } else {
      blend(column32(w, refs[r]), raw.words + r * kLanes, mask);
    }
  }
}

// The value of each code of an 8-bit container; what lies beyond the bits of the format is ignored.
struct CodeTable {
  alignas(64) double value[256];
};
// Exponent and mantissa bits, bias; `shift`: where the code begins in its container.
CodeTable makeCodes(int exponentBits, int mantissaBits, int bias, unsigned shift, Element e) {
  CodeTable t{};
  for (unsigned code = 0; code < 256; ++code) {
    unsigned bits = code >> shift;
    unsigned mantissa = bits & ((1u << mantissaBits) - 1);
    unsigned exponent = bits >> mantissaBits & ((1u << exponentBits) - 1);
    bool negative = (bits >> (mantissaBits + exponentBits) & 1) != 0;
    double v = exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissaBits)
                             : std::ldexp(mantissa + (1u << mantissaBits),
                                          static_cast<int>(exponent) - bias - mantissaBits);
    if (e == Element::e4m3 && (bits & 0x7f) == 0x7f) v = __builtin_nan("");
    if (e == Element::e5m2 && exponent == 31) v = mantissa == 0 ? HUGE_VAL : __builtin_nan("");
    t.value[code] = negative ? -v : v;
  }
  return t;
}
const CodeTable& codesOf(Element e, bool packed) {
  static const CodeTable kE4 = makeCodes(4, 3, 7, 0, Element::e4m3);
  static const CodeTable kE5 = makeCodes(5, 2, 15, 0, Element::e5m2);
  static const CodeTable kE3m2 = makeCodes(3, 2, 3, 0, Element::e3m2);
  static const CodeTable kE2m3 = makeCodes(2, 3, 1, 0, Element::e2m3);
  static const CodeTable kE2m1 = makeCodes(2, 1, 1, 2, Element::e2m1);
  static const CodeTable kPacked = makeCodes(2, 1, 1, 0, Element::e2m1);
  switch (e) {
    case Element::e4m3:
      return kE4;
    case Element::e5m2:
      return kE5;
    case Element::e3m2:
      return kE3m2;
    case Element::e2m3:
      return kE2m3;
    default:
      return packed ? kPacked : kE2m1;
  }
}

MTLC_INLINE u8 byteAt(const RawFragment& raw, unsigned number) {
  return reinterpret_cast<const u8*>(raw.words)[number];
}
MTLC_INLINE u8 nibbleAt(const RawFragment& raw, unsigned number) {
  return static_cast<u8>(byteAt(raw, number / 2) >> (number % 2 * 4) & 15);
}

// The fragment of a floating-point format as rows * columns doubles.
void gather(Warp& w, const Fragment& f, double* out) {
  RawFragment raw;
  readWords(w, f, raw);
  unsigned count = f.rows * f.columns;
  const u16* place = f.place;
  switch (f.element) {
    case Element::f16:
    case Element::bf16: {
      // Converted where they lie, many at once, then moved.
      alignas(64) double values[16 * kLanes];
      alignas(64) u16 halves[16 * kLanes];
      unsigned total = f.registers * 2 * kLanes;
      __builtin_memcpy(halves, raw.words, total * sizeof(u16));
      if (f.element == Element::f16) {
        for (unsigned i = 0; i < total; ++i) {
          values[i] = static_cast<double>(halfToFloat(halves[i]));
        }
      } else {
        for (unsigned i = 0; i < total; ++i) {
          values[i] = static_cast<double>(bhalfToFloat(halves[i]));
        }
      }
      for (unsigned i = 0; i < count; ++i) out[i] = values[place[i]];
      return;
    }
    case Element::f32: {
      alignas(64) double values[8 * kLanes];
      for (unsigned i = 0; i < f.registers * kLanes; ++i) {
        values[i] = static_cast<double>(asFloat(raw.words[i]));
      }
      for (unsigned i = 0; i < count; ++i) out[i] = values[place[i]];
      return;
    }
    case Element::tf32:
      // The low 13 bits are no part of the format.
      for (unsigned i = 0; i < count; ++i) {
        out[i] = static_cast<double>(asFloat(raw.words[place[i]] & 0xffffe000u));
      }
      return;
    default: {
      bool packed = f.perRegister == 8;
      const double* value = codesOf(f.element, packed).value;
      if (packed) {
        for (unsigned i = 0; i < count; ++i) out[i] = value[nibbleAt(raw, place[i])];
      } else {
        for (unsigned i = 0; i < count; ++i) out[i] = value[byteAt(raw, place[i])];
      }
      return;
    }
  }
}

void gather(Warp& w, const Fragment& f, i32* out) {
  RawFragment raw;
  readWords(w, f, raw);
  unsigned count = f.rows * f.columns;
  const u16* place = f.place;
  switch (f.element) {
    case Element::s8:
      for (unsigned i = 0; i < count; ++i) out[i] = static_cast<i8>(byteAt(raw, place[i]));
      return;
    case Element::u8:
      for (unsigned i = 0; i < count; ++i) out[i] = byteAt(raw, place[i]);
      return;
    case Element::s4:
      for (unsigned i = 0; i < count; ++i) out[i] = (nibbleAt(raw, place[i]) ^ 8) - 8;
      return;
    case Element::u4:
      for (unsigned i = 0; i < count; ++i) out[i] = nibbleAt(raw, place[i]);
      return;
    default:  // s32, words of b1
      for (unsigned i = 0; i < count; ++i) out[i] = static_cast<i32>(raw.words[place[i]]);
      return;
  }
}

void scatterFloats(Warp& w, const Fragment& f, const double* values, LaneMask mask) {
  RawFragment raw;
  unsigned count = f.rows * f.columns;
  if (f.element == Element::f32) {
    alignas(64) u32 bits[kMaxRows * kMaxColumns];
    for (unsigned i = 0; i < count; ++i) {
      float r = static_cast<float>(values[i]);
      bits[i] = isNan(r) ? kNan32 : bitsOf(r);
    }
    for (unsigned i = 0; i < count; ++i) raw.words[f.place[i]] = bits[i];
  } else {
    u16* halves = reinterpret_cast<u16*>(raw.words);
    for (unsigned i = 0; i < count; ++i) {
      u16 h = toHalf(values[i]);
      __builtin_memcpy(halves + f.place[i], &h, sizeof h);
    }
  }
  writeWords(w, f, raw, mask);
}

// ---- Exact sums ----

// Biased exponents of the nonzero elements; all of them zero: most = 0.
struct Exponents {
  i32 least = 0;
  i32 most = 0;
};
// `count` is a multiple of four.
MTLC_INLINE Exponents exponentsOf(const double* x, unsigned count) {
  // As words, of which every second one has an exponent: the others count as zeros.
  constexpr i32 kField = 0x7ff00000;
  constexpr Ints kMask = {0, kField, 0, kField, 0, kField, 0, kField};
  constexpr i32 kBeyond = 0x800;
  Ints most = {}, down = {};  // The greatest exponent, and the greatest kBeyond - exponent.
  for (unsigned i = 0; i < count; i += 4) {
    Ints word;
    __builtin_memcpy(&word, x + i, sizeof word);
    Ints e = (word & kMask) >> 20;
    Ints d = (kBeyond - e) & (e != 0);
    most = e > most ? e : most;
    down = d > down ? d : down;
  }
  Exponents out;
  i32 lowest = 0;
  for (unsigned i = 0; i < 8; ++i) {
    out.most = most[i] > out.most ? most[i] : out.most;
    lowest = down[i] > lowest ? down[i] : lowest;
  }
  out.least = kBeyond - lowest;
  return out;
}

// Bits of a significand.
i32 precisionOf(Element e) {
  switch (e) {
    case Element::f16:
    case Element::tf32:
      return 11;
    case Element::bf16:
      return 8;
    case Element::e4m3:
    case Element::e2m3:
      return 4;
    case Element::e5m2:
    case Element::e3m2:
      return 3;
    default:
      return 2;
  }
}

// Whether any sum of `depth` products is exact in a double.
MTLC_INLINE bool sumsAreExact(Exponents a, Exponents b, i32 bits, unsigned depth) {
  if (a.most == 0 || b.most == 0) return true;
  if (a.most == 0x7ff || b.most == 0x7ff) return false;
  i32 carries = 31 - __builtin_clz(depth);
  return (a.most - a.least) + (b.most - b.least) + bits + carries <= 53;
}

// The exact sum of terms, none larger than 2^900, rounded to odd (see addRoundOdd). Infinities and
// NaN as in IEEE 754, whatever the order.
class ExactSum {
 public:
  void add(double x) {
    if (x - x != 0) {  // Infinite or NaN.
      special_ += x;
      hasSpecial_ = true;
      return;
    }
    minusZeros_ = minusZeros_ && bitsOf(x) == bitsOf(-0.0);
    unsigned kept = 0;
    for (unsigned i = 0; i < count_; ++i) {
      double y = parts_[i];
      double s = x + y;
      double t = s - x;
      double error = (x - (s - t)) + (y - t);
      if (error != 0) parts_[kept++] = error;
      x = s;
    }
    count_ = kept;
    if (x != 0) parts_[count_++] = x;
  }
  double toOdd() const {
    if (hasSpecial_) return special_;
    if (count_ == 0) return minusZeros_ ? -0.0 : 0.0;
    double high = parts_[count_ - 1];
    for (unsigned i = count_ - 1; i-- > 0;) {
      double s = high + parts_[i];
      double error = parts_[i] - (s - high);
      high = s;
      if (error != 0) {
        // What lies below does not change the sign of the error.
        u64 bits = bitsOf(high);
        if ((bits & 1) != 0) return high;
        return asDouble((error > 0) == (high > 0) ? bits + 1 : bits - 1);
      }
    }
    return high;
  }

 private:
  // Partial sums that do not overlap, in increasing magnitude (J. R. Shewchuk, "Adaptive Precision
  // Floating-Point Arithmetic", 1997): at most one for each 53 bits of the range.
  double parts_[48];
  unsigned count_ = 0;
  bool minusZeros_ = true;  // All terms so far.
  double special_ = 0;
  bool hasSpecial_ = false;
};

// One element of D. `present`: bits of the places along k that a sparse A has, or nullptr.
double exactElement(const double* a, const double* b, unsigned bStride, unsigned depth, double c,
                    const u64* present) {
  ExactSum sum;
  sum.add(c);
  for (unsigned k = 0; k < depth; ++k) {
    if (present != nullptr && (present[k / 64] >> (k % 64) & 1) == 0) continue;
    sum.add(a[k] * b[k * bStride]);
  }
  return sum.toOdd();
}

// ---- Sparse A ----

struct Sparse {
  u64 present[16][2];
};

// Spreads the compressed rows of A over their logical columns.
template <typename T>
void expand(Warp& w, const MatrixSite& s, const T* packed, T* out, Sparse& sparse) {
  const u32* words = column32(w, *listOf(w, s.metadataRegister));
  const MetadataPlace* places = s.metadata + size_t{s.selector} * 16 * s.chunks;
  unsigned half = s.k / 2u, kept = s.indices * s.perIndex;
  for (unsigned r = 0; r < 16; ++r) {
    T* row = out + r * s.k;
    for (unsigned k = 0; k < s.k; ++k) row[k] = T{};
    sparse.present[r][0] = sparse.present[r][1] = 0;
    for (unsigned q = 0; q < s.chunks; ++q) {
      MetadataPlace at = places[r * s.chunks + q];
      u32 code = words[at.lane] >> at.lsb & 15;
      for (unsigned i = 0; i < s.indices; ++i) {
        // Pairs of tf32 elements: one index of two bits counts halves of an element.
        unsigned index = (s.indices == 1 ? code >> 2 & 3 : code >> (2 * i) & 3);
        if (s.indices == 1) index /= 2;
        for (unsigned e = 0; e < s.perIndex; ++e) {
          unsigned k = q * s.chunkWidth + index * s.perIndex + e;
          row[k] = packed[r * half + q * kept + i * s.perIndex + e];
          sparse.present[r][k / 64] |= u64{1} << (k % 64);
        }
      }
    }
  }
}

// Element by element, where sums in doubles may not be exact.
__attribute__((noinline)) void multiplyExactly(unsigned rows, unsigned columns, unsigned depth,
                                               unsigned bStride, const double* a, const double* b,
                                               double* c, const Sparse* sparse) {
  for (unsigned i = 0; i < rows; ++i) {
    for (unsigned j = 0; j < columns; ++j) {
      double& d = c[i * columns + j];
      d = exactElement(a + i * depth, b + j, bStride, depth, d,
                       sparse != nullptr ? sparse->present[i] : nullptr);
    }
  }
}

MTLC_INLINE u32 addInteger(i32 c, i32 sum, bool saturate) {
  i64 exact = i64{c} + sum;
  if (saturate) exact = std::clamp<i64>(exact, INT32_MIN, INT32_MAX);
  return static_cast<u32>(exact);
}

}  // namespace
}  // namespace mtlc::sim::MTLC_LANES

#endif  // MTLC_SIM_LANES_PRODUCTS_H_
