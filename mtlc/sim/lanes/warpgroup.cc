// Products of warpgroups (PTX ISA 9.7.15.5.2, 9.7.15.6.4), the part of one warp: sixteen rows of A
// and D, and all of B, eight columns at a time.

#include "mtlc/sim/warpgroup.h"

#include "mtlc/sim/lanes/products.h"

namespace mtlc::sim::MTLC_LANES {
namespace {

constexpr unsigned kRows = kWarpgroupRows, kTile = 8;

// The elements of a chunk of memory.
void readChunk(Element e, const u8* from, double* out) {
  switch (e) {
    case Element::f16:
    case Element::bf16: {
      u16 halves[8];
      __builtin_memcpy(halves, from, sizeof halves);
      bool brain = e == Element::bf16;
      for (unsigned i = 0; i < 8; ++i) {
        out[i] = static_cast<double>(brain ? bhalfToFloat(halves[i]) : halfToFloat(halves[i]));
      }
      return;
    }
    case Element::tf32: {
      u32 words[4];
      __builtin_memcpy(words, from, sizeof words);
      for (unsigned i = 0; i < 4; ++i) {
        out[i] = static_cast<double>(asFloat(words[i] & 0xffffe000u));
      }
      return;
    }
    default: {
      const double* value = codesOf(e, false).value;
      for (unsigned i = 0; i < kRowBytes; ++i) out[i] = value[from[i]];
      return;
    }
  }
}
void readChunk(Element e, const u8* from, i32* out) {
  switch (e) {
    case Element::s8:
      for (unsigned i = 0; i < kRowBytes; ++i) out[i] = static_cast<i8>(from[i]);
      return;
    case Element::u8:
      for (unsigned i = 0; i < kRowBytes; ++i) out[i] = from[i];
      return;
    default:  // Words of b1.
      __builtin_memcpy(out, from, kRowBytes);
      return;
  }
}

// Elements along K that one chunk has, and that a dense array has for one row: b1 counts in words.
MTLC_INLINE unsigned perChunk(Element e) {
  return e == Element::b1 ? 4 : kRowBytes * 8 / containerBits(e, false);
}
MTLC_INLINE unsigned depthOf(const MatrixSite& s) {
  return s.a.element == Element::b1 ? s.k / 32u : s.k;
}

// A as rows of `depth` elements, from memory.
template <typename T>
void readRows(const MatrixSite& s, const WarpgroupOperands& o, unsigned depth, T* out) {
  Element e = s.a.element;
  unsigned each = perChunk(e);
  T chunk[kRowBytes];
  const u32* at = o.a;
  if (s.majorA) {
    for (unsigned r = 0; r < kRows; r += kTile) {
      for (unsigned k = 0; k < depth; ++k) {
        readChunk(e, o.shared + *at++, chunk);
        for (unsigned i = 0; i < kTile; ++i) out[(r + i) * depth + k] = chunk[i];
      }
    }
    return;
  }
  for (unsigned r = 0; r < kRows; ++r) {
    for (unsigned k = 0; k < depth; k += each) {
      readChunk(e, o.shared + *at++, chunk);
      for (unsigned i = 0; i < each; ++i) out[r * depth + k + i] = chunk[i];
    }
  }
}

// Eight columns of B as `depth` rows, from memory; `at` goes on.
template <typename T>
void readColumns(const MatrixSite& s, const u8* shared, unsigned depth, const u32*& at, T* out) {
  Element e = s.b.element;
  unsigned each = perChunk(e);
  T chunk[kRowBytes];
  if (s.majorB) {
    for (unsigned k = 0; k < depth; ++k) readChunk(e, shared + *at++, out + k * kTile);
    return;
  }
  for (unsigned j = 0; j < kTile; ++j) {
    for (unsigned k = 0; k < depth; k += each) {
      readChunk(e, shared + *at++, chunk);
      for (unsigned i = 0; i < each; ++i) out[(k + i) * kTile + j] = chunk[i];
    }
  }
}

// A with all its logical columns.
template <typename T>
void readA(Warp& w, const MatrixSite& s, const WarpgroupOperands& o, T* out, Sparse& sparse) {
  unsigned depth = depthOf(s);
  if (s.metadata == nullptr) {
    if (o.a == nullptr) return gather(w, s.a, out);
    return readRows(s, o, depth, out);
  }
  alignas(64) T packed[kRows * kMaxDepth / 2];
  if (o.a == nullptr) {
    gather(w, s.a, packed);
  } else {
    readRows(s, o, depth / 2, packed);
  }
  expand(w, s, packed, out, sparse);
}

// The registers of D for eight columns.
MTLC_INLINE Fragment tileOf(const MatrixSite& s, unsigned tile) {
  Fragment f = s.d;
  f.registers = static_cast<u8>(s.d.registers / (s.n / kTile));
  f.first += tile * f.registers;
  return f;
}

void floats(const Instr& in, Warp& w, const WarpgroupOperands& o) {
  const MatrixSite& s = siteOf(in, w);
  alignas(64) double a[kRows * kMaxDepth], b[kTile * kMaxDepth];
  alignas(64) double c[kRows * kTile], d[kRows * kTile];
  Sparse sparse;
  readA(w, s, o, a, sparse);
  if (s.negateA) {
    for (unsigned i = 0; i < kRows * s.k; ++i) a[i] = -a[i];
  }
  Exponents left = exponentsOf(a, kRows * s.k);
  i32 bits = precisionOf(s.a.element) + precisionOf(s.b.element);
  const u32* at = o.b;
  for (unsigned tile = 0; tile < s.n / kTile; ++tile) {
    Fragment f = tileOf(s, tile);
    readColumns(s, o.shared, s.k, at, b);
    if (s.negateB) {
      for (unsigned i = 0; i < kTile * s.k; ++i) b[i] = -b[i];
    }
    if (o.accumulate) {
      gather(w, f, c);
    } else {
      std::fill(std::begin(c), std::end(c), 0.0);
    }
    if (sumsAreExact(left, exponentsOf(b, kTile * s.k), bits, s.k)) {
      // Minus zero, so that a sum of minus zeros is one.
      std::fill(std::begin(d), std::end(d), -0.0);
      accumulate<double, Doubles>(a, b, d, kRows, kTile, s.k, s.k, kTile);
      for (unsigned i = 0; i < kRows * kTile; ++i) c[i] = addRoundOdd(d[i], c[i]);
    } else {
      multiplyExactly(kRows, kTile, s.k, kTile, a, b, c, s.metadata != nullptr ? &sparse : nullptr);
    }
    scatterFloats(w, f, c, o.lanes);
  }
}

void addTile(Warp& w, const MatrixSite& s, const WarpgroupOperands& o, unsigned tile,
             const i32* sum) {
  Fragment f = tileOf(s, tile);
  alignas(64) i32 c[kRows * kTile] = {};
  if (o.accumulate) gather(w, f, c);
  RawFragment raw;
  for (unsigned i = 0; i < kRows * kTile; ++i) {
    raw.words[f.place[i]] = addInteger(c[i], sum[i], s.saturate);
  }
  writeWords(w, f, raw, o.lanes);
}

void integers(const Instr& in, Warp& w, const WarpgroupOperands& o) {
  const MatrixSite& s = siteOf(in, w);
  alignas(64) i32 a[kRows * kMaxDepth], b[kTile * kMaxDepth];
  Sparse sparse;
  readA(w, s, o, a, sparse);
  const u32* at = o.b;
  for (unsigned tile = 0; tile < s.n / kTile; ++tile) {
    alignas(64) i32 d[kRows * kTile] = {};
    readColumns(s, o.shared, s.k, at, b);
    accumulate<i32, Ints>(a, b, d, kRows, kTile, s.k, s.k, kTile);
    addTile(w, s, o, tile, d);
  }
}

void bits(const Instr& in, Warp& w, const WarpgroupOperands& o) {
  const MatrixSite& s = siteOf(in, w);
  constexpr unsigned kWords = 8;
  i32 a[kRows * kWords], b[kTile * kWords], d[kRows * kTile];
  Sparse none;
  readA(w, s, o, a, none);
  const u32* at = o.b;
  for (unsigned tile = 0; tile < s.n / kTile; ++tile) {
    readColumns(s, o.shared, kWords, at, b);
    for (unsigned i = 0; i < kRows; ++i) {
      for (unsigned j = 0; j < kTile; ++j) {
        int count = 0;
        for (unsigned k = 0; k < kWords; ++k) {
          count += __builtin_popcount(static_cast<u32>(a[i * kWords + k] & b[k * kTile + j]));
        }
        d[i * kTile + j] = count;
      }
    }
    addTile(w, s, o, tile, d);
  }
}

void warpgroup(const Instr& in, Warp& w, LaneMask mask) { executeWarpgroup(w, in, mask); }

}  // namespace

WarpgroupFn selectProduct(const MatrixSite& s) {
  switch (s.a.element) {
    case Element::b1:
      return bits;
    case Element::s8:
    case Element::u8:
      return integers;
    default:
      return floats;
  }
}

LaneFn selectWarpgroup(const Form& f) {
  switch (f.row->family) {
    case Family::warpgroupProduct:
    case Family::warpgroupFence:
    case Family::warpgroupCommit:
    case Family::warpgroupWait:
      return warpgroup;
    default:
      return nullptr;
  }
}

}  // namespace mtlc::sim::MTLC_LANES
