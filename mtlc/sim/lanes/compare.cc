// Comparison and selection (PTX ISA 9.7.6, 9.7.7).

#include "mtlc/sim/lanes/half.h"

namespace mtlc::sim::MTLC_LANES {
namespace {

template <Mod kOp, typename T>
MTLC_INLINE bool compare(T a, T b) {
  constexpr bool kFloat = std::is_floating_point_v<T>;
  if constexpr (kFloat) {
    // The unordered forms are true when either side is NaN.
    switch (kOp) {
      case Mod::equ:
        return !(a < b) && !(a > b);
      case Mod::neu:
        return !(a == b);
      case Mod::ltu:
        return !(a >= b);
      case Mod::leu:
        return !(a > b);
      case Mod::gtu:
        return !(a <= b);
      case Mod::geu:
        return !(a < b);
      case Mod::num:
        return a == a && b == b;
      case Mod::nanCmp:
        return a != a || b != b;
      case Mod::ne:
        return a < b || a > b;
      default:
        break;
    }
  }
  switch (kOp) {
    case Mod::eq:
      return a == b;
    case Mod::ne:
      return a != b;
    case Mod::lt:
    case Mod::lo:
      return a < b;
    case Mod::le:
    case Mod::ls:
      return a <= b;
    case Mod::gt:
    case Mod::hi:
      return a > b;
    default:
      return a >= b;
  }
}

MTLC_INLINE LaneMask combine(Mod op, LaneMask a, LaneMask c) {
  switch (op) {
    case Mod::andMod:
      return a & c;
    case Mod::orMod:
      return a | c;
    case Mod::xorMod:
      return a ^ c;
    default:
      return a;
  }
}

// What setp and set do with the outcome. imm of the instruction: the comparison in bits 15:8, the
// Boolean operator in bits 31:24, the result type of set in bits 7:0 (0 for setp). `pair`: the
// source has two elements.
__attribute__((noinline)) void finishCompare(const Instr& in, Warp& w, LaneMask mask,
                                             LaneMask first, LaneMask second, bool pair) {
  u32 shape = static_cast<u32>(in.imm);
  Mod op = static_cast<Mod>(shape >> 24 & 0xff);
  if (op != Mod::none) {
    LaneMask c = readPred(w, in.src[2]);
    first = combine(op, first, c);
    second = combine(op, second, c);
  }
  Mod result = static_cast<Mod>(shape & 0xff);
  if (result == Mod::none) {
    // p|q: the comparison and its complement, or the two elements.
    writePred(w, in.dst, first, mask);
    if (in.ext != kNoRef) writePred(w, in.ext, second, mask);
    return;
  }
  // The value of a true element.
  u32 one;
  switch (result) {
    case Mod::f32:
      one = 0x3f800000u;
      break;
    case Mod::f16:
    case Mod::f16x2:
      one = 0x3c00;
      break;
    case Mod::bf16:
    case Mod::bf16x2:
      one = 0x3f80;
      break;
    case Mod::u16:
    case Mod::s16:
      one = 0xffff;
      break;
    default:
      one = pair ? 0xffff : 0xffffffffu;
      break;
  }
  intoColumn(column32(w, in.dst), mask, [&](u32* d) {
    for (unsigned i = 0; i < kLanes; ++i) {
      u32 v = (first & kLaneBit[i]) != 0 ? one : 0;
      if (pair && (second & kLaneBit[i]) != 0) v |= one << 16;
      d[i] = v;
    }
  });
}

template <typename T, bool kFtz, Mod kOp>
void compareMap(const Instr& in, Warp& w, LaneMask mask) {
  const Col<T>* a = column<T>(w, in.src[0]);
  const Col<T>* b = column<T>(w, in.src[1]);
  LaneMask m = collect([&](unsigned i) {
    if constexpr (kFtz) {
      return compare<kOp>(flush(decode<T>(a[i])), flush(decode<T>(b[i])));
    } else {
      return compare<kOp>(decode<T>(a[i]), decode<T>(b[i]));
    }
  });
  if ((in.imm & 0xff0000ff) == 0 && in.ext == kNoRef) {
    writePred(w, in.dst, m, mask);
  } else {
    finishCompare(in, w, mask, m, ~m, false);
  }
}

bool compareAny(Mod op, float a, float b) {
  switch (op) {
    case Mod::eq:
      return a == b;
    case Mod::ne:
      return compare<Mod::ne>(a, b);
    case Mod::lt:
      return a < b;
    case Mod::le:
      return a <= b;
    case Mod::gt:
      return a > b;
    case Mod::ge:
      return a >= b;
    case Mod::equ:
      return compare<Mod::equ>(a, b);
    case Mod::neu:
      return compare<Mod::neu>(a, b);
    case Mod::ltu:
      return compare<Mod::ltu>(a, b);
    case Mod::leu:
      return compare<Mod::leu>(a, b);
    case Mod::gtu:
      return compare<Mod::gtu>(a, b);
    case Mod::geu:
      return compare<Mod::geu>(a, b);
    case Mod::num:
      return compare<Mod::num>(a, b);
    default:
      return compare<Mod::nanCmp>(a, b);
  }
}

template <bool kBrain, bool kPair, bool kFtz>
void compareNarrow(const Instr& in, Warp& w, LaneMask mask) {
  const u32* a = column32(w, in.src[0]);
  const u32* b = column32(w, in.src[1]);
  Mod op = static_cast<Mod>(in.imm >> 8 & 0xff);
  auto get = [](u32 c, unsigned part) {
    u16 bits = static_cast<u16>(part != 0 ? c >> 16 : c);
    if (kFtz && (bits & 0x7c00) == 0) bits &= 0x8000;
    return kBrain ? bhalfToFloat(bits) : halfToFloat(bits);
  };
  LaneMask first = 0, second = 0;
  for (unsigned i = 0; i < kLanes; ++i) {
    if (compareAny(op, get(a[i], 0), get(b[i], 0))) first |= kLaneBit[i];
    if (kPair && compareAny(op, get(a[i], 1), get(b[i], 1))) second |= kLaneBit[i];
  }
  finishCompare(in, w, mask, first, kPair ? second : ~first, kPair);
}

template <typename T, bool kFtz = false>
LaneFn chooseInteger(const Form& f) {
  switch (f.mods[0]) {
    case Mod::eq:
      return compareMap<T, kFtz, Mod::eq>;
    case Mod::ne:
      return compareMap<T, kFtz, Mod::ne>;
    case Mod::lt:
    case Mod::lo:
      return compareMap<T, kFtz, Mod::lt>;
    case Mod::le:
    case Mod::ls:
      return compareMap<T, kFtz, Mod::le>;
    case Mod::gt:
    case Mod::hi:
      return compareMap<T, kFtz, Mod::gt>;
    case Mod::ge:
    case Mod::hs:
      return compareMap<T, kFtz, Mod::ge>;
    default:
      return nullptr;
  }
}

template <typename T, bool kFtz>
LaneFn chooseFloat(const Form& f) {
  switch (f.mods[0]) {
    case Mod::equ:
      return compareMap<T, kFtz, Mod::equ>;
    case Mod::neu:
      return compareMap<T, kFtz, Mod::neu>;
    case Mod::ltu:
      return compareMap<T, kFtz, Mod::ltu>;
    case Mod::leu:
      return compareMap<T, kFtz, Mod::leu>;
    case Mod::gtu:
      return compareMap<T, kFtz, Mod::gtu>;
    case Mod::geu:
      return compareMap<T, kFtz, Mod::geu>;
    case Mod::num:
      return compareMap<T, kFtz, Mod::num>;
    case Mod::nanCmp:
      return compareMap<T, kFtz, Mod::nanCmp>;
    default:
      return chooseInteger<T, kFtz>(f);
  }
}

LaneFn chooseSource(const Form& f, Type t) {
  bool ftz = f.has(Mod::ftz);
  switch (t) {
    case Mod::u16:
    case Mod::b16:
      return chooseInteger<u16>(f);
    case Mod::u32:
    case Mod::b32:
      return chooseInteger<u32>(f);
    case Mod::u64:
    case Mod::b64:
      return chooseInteger<u64>(f);
    case Mod::s16:
      return chooseInteger<i16>(f);
    case Mod::s32:
      return chooseInteger<i32>(f);
    case Mod::s64:
      return chooseInteger<i64>(f);
    case Mod::f32:
      return ftz ? chooseFloat<float, true>(f) : chooseFloat<float, false>(f);
    case Mod::f64:
      return chooseFloat<double, false>(f);
    case Mod::f16:
      return ftz ? compareNarrow<false, false, true> : compareNarrow<false, false, false>;
    case Mod::f16x2:
      return ftz ? compareNarrow<false, true, true> : compareNarrow<false, true, false>;
    case Mod::bf16:
      return compareNarrow<true, false, false>;
    case Mod::bf16x2:
      return compareNarrow<true, true, false>;
    default:
      return nullptr;
  }
}

template <typename C>
void selpMap(const Instr& in, Warp& w, LaneMask mask) {
  LaneMask p = readPred(w, in.src[2]);
  const C* a;
  const C* b;
  C* d;
  if constexpr (sizeof(C) == 8) {
    a = column64(w, in.src[0]);
    b = column64(w, in.src[1]);
    d = column64(w, in.dst);
  } else {
    a = column32(w, in.src[0]);
    b = column32(w, in.src[1]);
    d = column32(w, in.dst);
  }
  intoColumn(d, mask, [&](C* out) {
#pragma GCC ivdep
    for (unsigned i = 0; i < kLanes; ++i) {
      C keep = (p & kLaneBit[i]) != 0 ? static_cast<C>(~C{0}) : C{0};
      out[i] = (a[i] & keep) | (b[i] & ~keep);
    }
  });
}

struct SlctInt {
  template <typename T>
  static MTLC_INLINE T run(T a, T b, i32 c) {
    return c >= 0 ? a : b;
  }
};
template <bool kFtz>
struct SlctFloat {  // NaN selects b; with ftz a subnormal c is a zero.
  template <typename T>
  static MTLC_INLINE T run(T a, T b, float c) {
    return input<kFtz>(c) >= 0.0f ? a : b;
  }
};

template <typename T>
LaneFn chooseSlct(const Form& f) {
  if (f.types[1] == Mod::s32) return map3<SlctInt, T, T, T, i32>;
  return f.has(Mod::ftz) ? map3<SlctFloat<true>, T, T, T, float>
                         : map3<SlctFloat<false>, T, T, T, float>;
}

}  // namespace

int64_t compareFlags(const Form& f) {
  Mod op = f.firstOf({Mod::andMod, Mod::orMod, Mod::xorMod});
  Type result = f.row->family == Family::set ? f.types[0] : Mod::none;
  return static_cast<i64>(op) << 24 | static_cast<i64>(f.mods[0]) << 8 | static_cast<i64>(result);
}

LaneFn selectCompare(const Form& f) {
  switch (f.row->family) {
    case Family::set:
      return chooseSource(f, f.types[1]);
    case Family::setp:
      return chooseSource(f, f.types[0]);
    case Family::selp:
      return typeBits(f.types[0]) == 64 ? selpMap<u64> : selpMap<u32>;
    case Family::slct:
      return typeBits(f.types[0]) == 64   ? chooseSlct<u64>(f)
             : typeBits(f.types[0]) == 16 ? chooseSlct<u16>(f)
                                          : chooseSlct<u32>(f);
    default:
      return nullptr;
  }
}

}  // namespace mtlc::sim::MTLC_LANES
