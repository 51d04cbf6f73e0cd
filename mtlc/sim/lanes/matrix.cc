// Products of matrices in registers: mma and wmma.mma (PTX
// ISA 9.7.14.4.5, 9.7.14.5.14, 9.7.14.6.3).
//
// The fragments are gathered into small dense arrays, multiplied in plain loops, and scattered
// again; products.h has these and says what the numbers are.

#include "mtlc/sim/lanes/products.h"

namespace mtlc::sim::MTLC_LANES {
namespace {

// ---- Scales ----

double scaleValue(u8 code, bool ue4m3) {
  if (!ue4m3) return code == 255 ? __builtin_nan("") : std::ldexp(1.0, code - 127);
  return codesOf(Element::e4m3, false).value[code & 0x7f];
}

// Multiplies the rows of A, or the columns of B, by their scales.
template <bool kB>
void applyScales(Warp& w, const MatrixSite& s, double* x, unsigned count, LaneMask mask) {
  const ScaleOperands& o = kB ? s.scaleB : s.scaleA;
  const u32* data = column32(w, *listOf(w, o.data));
  // Selectors are the same in all lanes.
  unsigned any = static_cast<unsigned>(__builtin_ctz(mask));
  unsigned byteId = column32(w, *listOf(w, o.byteId))[any] & 3;
  unsigned thread = column32(w, *listOf(w, o.threadId))[any] & 3;
  unsigned width = s.k / s.scales;
  for (unsigned r = 0; r < count; ++r) {
    for (unsigned q = 0; q < s.scales; ++q) {
      ScalePlace at = kB ? scalePlaceB(r, q, byteId, thread) : scalePlaceA(r, q, byteId, thread);
      double scale =
          scaleValue(static_cast<u8>(data[at.lane & 31] >> (8 * (at.byte & 3))), s.scaleUe4m3);
      for (unsigned k = q * width; k < (q + 1) * width; ++k) {
        x[kB ? k * s.n + r : r * s.k + k] *= scale;
      }
    }
  }
}

// .satfinite of floating point (PTX ISA, wmma.mma): the largest finite values bound the result, NaN
// becomes +0.
double clampToFinite(double x, Element e) {
  double most = e == Element::f16 ? 65504.0 : 0x1.fffffep127;
  return isNan(x) ? 0.0 : x > most ? most : x < -most ? -most : x;
}

// ---- The instructions ----

struct FloatOperands {
  alignas(64) double a[kMaxRows * kMaxDepth];
  alignas(64) double b[kMaxColumns * kMaxDepth];
  alignas(64) double c[kMaxRows * kMaxColumns];
  alignas(64) double d[kMaxRows * kMaxColumns];
};

template <bool kSparse, bool kScaled>
void multiplyFloats(const Instr& in, Warp& w, LaneMask mask) {
  const MatrixSite& s = siteOf(in, w);
  FloatOperands x;
  Sparse sparse;
  if constexpr (kSparse) {
    alignas(64) double packed[16 * kMaxDepth / 2];
    gather(w, s.a, packed);
    expand(w, s, packed, x.a, sparse);
  } else {
    gather(w, s.a, x.a);
  }
  gather(w, s.b, x.b);
  gather(w, s.c, x.c);
  i32 bits = precisionOf(s.a.element) + precisionOf(s.b.element);
  if constexpr (kScaled) {
    applyScales<false>(w, s, x.a, s.m, mask);
    applyScales<true>(w, s, x.b, s.n, mask);
    if (s.scaleUe4m3) bits += 8;
  }
  unsigned rows = s.m * s.products, columns = s.n, total = rows * columns;
  bool exact =
      sumsAreExact(exponentsOf(x.a, rows * s.k), exponentsOf(x.b, s.k * s.b.columns), bits, s.k);
  if (exact) {
    // Minus zero, so that a sum of minus zeros is one.
    for (unsigned i = 0; i < total; ++i) x.d[i] = -0.0;
    for (unsigned p = 0; p < s.products; ++p) {
      accumulate<double, Doubles>(x.a + p * s.m * s.k, x.b + p * s.n, x.d + p * s.m * s.n, s.m, s.n,
                                  s.k, s.k, s.b.columns);
    }
    for (unsigned i = 0; i < total; ++i) x.c[i] = addRoundOdd(x.d[i], x.c[i]);
  } else {
    for (unsigned p = 0; p < s.products; ++p) {
      multiplyExactly(s.m, s.n, s.k, s.b.columns, x.a + p * s.m * s.k, x.b + p * s.n,
                      x.c + p * s.m * s.n, kSparse ? &sparse : nullptr);
    }
  }
  if (s.saturate) {
    for (unsigned i = 0; i < total; ++i) x.c[i] = clampToFinite(x.c[i], s.d.element);
  }
  scatterFloats(w, s.d, x.c, mask);
}

void gatherWide(Warp& w, const Fragment& f, double* out) {
  const Ref* refs = listOf(w, f.first);
  for (unsigned i = 0; i < unsigned{f.rows} * f.columns; ++i) {
    out[i] = asDouble(column64(w, refs[f.place[i] / kLanes])[f.place[i] % kLanes]);
  }
}

void multiplyDoubles(const Instr& in, Warp& w, LaneMask mask) {
  const MatrixSite& s = siteOf(in, w);
  double a[16 * 16], b[16 * 8], d[16 * 8];
  gatherWide(w, s.a, a);
  gatherWide(w, s.b, b);
  gatherWide(w, s.c, d);
  for (unsigned k = 0; k < s.k; ++k) {
    for (unsigned i = 0; i < s.m; ++i) {
      for (unsigned j = 0; j < s.n; ++j) {
        d[i * s.n + j] = __builtin_fma(a[i * s.k + k], b[k * s.n + j], d[i * s.n + j]);
      }
    }
  }
  const Ref* refs = listOf(w, s.d.first);
  for (unsigned i = 0; i < unsigned{s.m} * s.n; ++i) {
    Ref r = refs[s.d.place[i] / kLanes];
    unsigned lane = s.d.place[i] % kLanes;
    if (r == kNoRef || (mask >> lane & 1) == 0) continue;
    column64(w, r)[lane] = isNan(d[i]) ? kNan64 : bitsOf(d[i]);
  }
}

MTLC_INLINE void addIntegers(Warp& w, const MatrixSite& s, const i32* sum, LaneMask mask) {
  alignas(64) i32 c[kMaxRows * kMaxColumns];
  gather(w, s.c, c);
  RawFragment raw;
  for (unsigned i = 0; i < unsigned{s.m} * s.n; ++i) {
    raw.words[s.d.place[i]] = addInteger(c[i], sum[i], s.saturate);
  }
  writeWords(w, s.d, raw, mask);
}

template <bool kSparse>
void multiplyIntegers(const Instr& in, Warp& w, LaneMask mask) {
  const MatrixSite& s = siteOf(in, w);
  alignas(64) i32 a[kMaxRows * kMaxDepth], b[kMaxColumns * kMaxDepth];
  alignas(64) i32 d[kMaxRows * kMaxColumns] = {};
  if constexpr (kSparse) {
    Sparse sparse;
    i32 packed[16 * kMaxDepth / 2];
    gather(w, s.a, packed);
    expand(w, s, packed, a, sparse);
  } else {
    gather(w, s.a, a);
  }
  gather(w, s.b, b);
  accumulate<i32, Ints>(a, b, d, s.m, s.n, s.k, s.k, s.n);
  addIntegers(w, s, d, mask);
}

void multiplyBits(const Instr& in, Warp& w, LaneMask mask) {
  const MatrixSite& s = siteOf(in, w);
  i32 a[16 * 8], b[8 * 8], d[16 * 8];
  gather(w, s.a, a);
  gather(w, s.b, b);
  unsigned words = s.k / 32;
  for (unsigned i = 0; i < s.m; ++i) {
    for (unsigned j = 0; j < s.n; ++j) {
      int bits = 0;
      for (unsigned k = 0; k < words; ++k) {
        u32 x = static_cast<u32>(a[i * words + k]), y = static_cast<u32>(b[k * s.n + j]);
        bits += __builtin_popcount(s.andPopcount ? x & y : x ^ y);
      }
      d[i * s.n + j] = bits;
    }
  }
  addIntegers(w, s, d, mask);
}

}  // namespace

LaneFn selectMatrix(const Form& f, const MatrixSite& s) {
  if (f.row->family != Family::mma && f.row->family != Family::wmmaMma) {
    LaneFn asynchronous = selectWarpgroup(f);
    return asynchronous != nullptr ? asynchronous : selectMatrixMemory(f, s);
  }
  bool sparse = s.metadata != nullptr;
  switch (s.a.element) {
    case Element::f64:
      return withRounding<multiplyDoubles>(f);
    case Element::b1:
      return multiplyBits;
    case Element::s8:
    case Element::u8:
    case Element::s4:
    case Element::u4:
      return sparse ? multiplyIntegers<true> : multiplyIntegers<false>;
    default:
      if (s.scales != 0) return sparse ? multiplyFloats<true, true> : multiplyFloats<false, true>;
      return sparse ? multiplyFloats<true, false> : multiplyFloats<false, false>;
  }
}

}  // namespace mtlc::sim::MTLC_LANES
