// Loops over the columns of a warp, for the sources of this folder only.
//
// A lane function is an instance of one of the map templates below with an operation: a struct with
// a static `run`. With all lanes active the loop writes straight to the destination and vectorises;
// with some, it computes all lanes and keeps the old values of the others, so an operation must be
// harmless for any operand bits.

#ifndef MTLC_SIM_LANES_COLUMNS_H_
#define MTLC_SIM_LANES_COLUMNS_H_

#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "mtlc/sim/lanes/lanes.h"
#include "mtlc/sim/state.h"

#ifndef MTLC_LANES
#error "compile with MTLC_LANES naming the instruction-set namespace"
#endif

#define MTLC_INLINE inline __attribute__((always_inline))

namespace mtlc::sim::MTLC_LANES {
namespace {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i8 = int8_t;
using i16 = int16_t;
using i32 = int32_t;
using i64 = int64_t;
using u128 = unsigned __int128;
using i128 = __int128;

// 16-bit floats as distinct types over their bits.
struct Half {
  u16 bits;
};
struct BHalf {
  u16 bits;
};
// Two 16-bit elements in a 32-bit register.
struct HalfX2 {
  u32 bits;
};
struct BHalfX2 {
  u32 bits;
};
struct U16x2 {
  u32 bits;
};
struct S16x2 {
  u32 bits;
};
struct F32x2 {
  u64 bits;
};

MTLC_INLINE u32* column32(Warp& w, Ref r) {
  return static_cast<u32*>(__builtin_assume_aligned(
      w.files32[r >> 30] + static_cast<size_t>(r & kIndexMask) * kLanes, 64));
}
MTLC_INLINE u64* column64(Warp& w, Ref r) {
  return static_cast<u64*>(__builtin_assume_aligned(
      w.files64[r >> 30] + static_cast<size_t>(r & kIndexMask) * kLanes, 64));
}
MTLC_INLINE LaneMask readPred(Warp& w, Ref r) {
  return w.filesPred[r >> 30][r & kIndexMask] ^ ((r & kNegate) != 0 ? kAllLanes : 0);
}
MTLC_INLINE void writePred(Warp& w, Ref r, LaneMask value, LaneMask mask) {
  if (r == kNoRef) return;
  LaneMask& p = w.filesPred[r >> 30][r & kIndexMask];
  p = (p & ~mask) | (value & mask);
}

// The element type of the column that holds a T.
template <typename T>
struct ColumnOf {
  using type = std::conditional_t<sizeof(T) == 8, u64, u32>;
};
template <typename T>
using Col = typename ColumnOf<T>::type;

template <typename T>
MTLC_INLINE Col<T>* column(Warp& w, Ref r) {
  if constexpr (sizeof(T) == 8) {
    return column64(w, r);
  } else {
    return column32(w, r);
  }
}

template <typename T>
MTLC_INLINE T decode(Col<T> c) {
  if constexpr (sizeof(T) == sizeof(Col<T>)) {
    return __builtin_bit_cast(T, c);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(c);
  } else {
    return T{static_cast<u16>(c)};
  }
}
template <typename T>
MTLC_INLINE Col<T> encode(T v) {
  if constexpr (sizeof(T) == sizeof(Col<T>)) {
    return __builtin_bit_cast(Col<T>, v);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<std::make_unsigned_t<T>>(v);
  } else {
    return v.bits;
  }
}

alignas(64) constexpr u32 kLaneBit[kLanes] = {
    1u << 0,  1u << 1,  1u << 2,  1u << 3,  1u << 4,  1u << 5,  1u << 6,  1u << 7,
    1u << 8,  1u << 9,  1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15,
    1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23,
    1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31};

template <typename C>
MTLC_INLINE void blend(C* d, const C* t, LaneMask mask) {
#pragma GCC ivdep
  for (unsigned i = 0; i < kLanes; ++i) {
    C keep = (mask & kLaneBit[i]) != 0 ? static_cast<C>(~C{0}) : C{0};
    d[i] = (t[i] & keep) | (d[i] & ~keep);
  }
}

// Runs `loop(out)` on the destination column, or on a temporary that is then merged under the mask.
template <typename C, typename Loop>
MTLC_INLINE void intoColumn(C* d, LaneMask mask, Loop loop) {
  if (mask == kAllLanes) {
    loop(d);
  } else {
    alignas(64) C t[kLanes];
    loop(t);
    blend(d, t, mask);
  }
}

template <typename F, typename D, typename A>
void map1(const Instr& in, Warp& w, LaneMask mask) {
  const Col<A>* a = column<A>(w, in.src[0]);
  intoColumn(column<D>(w, in.dst), mask, [&](Col<D>* d) {
#pragma GCC ivdep
    for (unsigned i = 0; i < kLanes; ++i) d[i] = encode<D>(F::run(decode<A>(a[i])));
  });
}

template <typename F, typename D, typename A, typename B>
void map2(const Instr& in, Warp& w, LaneMask mask) {
  const Col<A>* a = column<A>(w, in.src[0]);
  const Col<B>* b = column<B>(w, in.src[1]);
  intoColumn(column<D>(w, in.dst), mask, [&](Col<D>* d) {
#pragma GCC ivdep
    for (unsigned i = 0; i < kLanes; ++i) {
      d[i] = encode<D>(F::run(decode<A>(a[i]), decode<B>(b[i])));
    }
  });
}

template <typename F, typename D, typename A, typename B, typename C>
void map3(const Instr& in, Warp& w, LaneMask mask) {
  const Col<A>* a = column<A>(w, in.src[0]);
  const Col<B>* b = column<B>(w, in.src[1]);
  const Col<C>* c = column<C>(w, in.src[2]);
  intoColumn(column<D>(w, in.dst), mask, [&](Col<D>* d) {
#pragma GCC ivdep
    for (unsigned i = 0; i < kLanes; ++i) {
      d[i] = encode<D>(F::run(decode<A>(a[i]), decode<B>(b[i]), decode<C>(c[i])));
    }
  });
}

// The lanes for which `test(i)` holds, as a mask.
template <typename Test>
MTLC_INLINE LaneMask collect(Test test) {
  alignas(64) u32 bits[kLanes];
  for (unsigned i = 0; i < kLanes; ++i) bits[i] = test(i) ? kLaneBit[i] : 0;
  u32 m = 0;
  for (unsigned i = 0; i < kLanes; ++i) m |= bits[i];
  return m;
}

// Lane by lane, for functions that no loop makes faster.
template <typename Body>
MTLC_INLINE void eachLane(LaneMask mask, Body body) {
  while (mask != 0) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(mask));
    mask &= mask - 1;
    body(lane);
  }
}

}  // namespace

// One selector per source file; nullptr when the family belongs to another.
LaneFn selectIntegers(const Form& form);
LaneFn selectBits(const Form& form);
LaneFn selectFloats(const Form& form);
LaneFn selectHalves(const Form& form);
LaneFn selectApprox(const Form& form);
LaneFn selectCompare(const Form& form);
LaneFn selectConvert(const Form& form);
int64_t convertFlags(const Form& form);
int64_t halfFlags(const Form& form);
int64_t compareFlags(const Form& form);
LaneFn selectLoad(const MemoryShape& shape);
LaneFn selectStore(const MemoryShape& shape);
LaneFn selectAtomic(const Form& form);
LaneFn selectMove(MoveKind kind);
LaneFn selectMatrix(const Form& form, const MatrixSite& site);
LaneFn selectMatrixMemory(const Form& form, const MatrixSite& site);
LaneFn selectWarpgroup(const Form& form);
WarpgroupFn selectProduct(const MatrixSite& site);
int64_t collectiveFlags(const Form& form);
LaneFn selectCollective(const Form& form);
int64_t videoFlags(const Form& form);
LaneFn selectVideo(const Form& form);
LaneFn selectMisc(const Form& form);

}  // namespace mtlc::sim::MTLC_LANES

#endif  // MTLC_SIM_LANES_COLUMNS_H_
