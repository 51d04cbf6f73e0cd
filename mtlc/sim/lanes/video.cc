// Video instructions (PTX ISA 9.7.18): arithmetic on selected bytes and half-words.
//
// Bits of imm: below 32 what the form says (videoFlags), above what the operands' selectors say
// (see kVideo* in lanes.h).

#include "mtlc/sim/lanes/columns.h"

namespace mtlc::sim::MTLC_LANES {
namespace {

enum Operation { kAdd, kSub, kAverage, kAbsDiff, kMin, kMax, kShl, kShr, kSet, kMad };

constexpr i64 kASigned = 1 << 4, kBSigned = 1 << 5, kDSigned = 1 << 6, kSaturate = 1 << 7;
constexpr unsigned kSecondShift = 8;    // none, add, min, max
constexpr unsigned kCompareShift = 10;  // eq, ne, lt, le, gt, ge
constexpr i64 kWrap = 1 << 13;
constexpr unsigned kScaleShift = 14;  // 0, 7, 15
constexpr i64 kPlusOne = 1 << 16;

MTLC_INLINE i64 clampTo(i128 v, bool isSigned, unsigned bits) {
  i128 most = isSigned ? (i128{1} << (bits - 1)) - 1 : (i128{1} << bits) - 1;
  i128 least = isSigned ? -(i128{1} << (bits - 1)) : 0;
  return static_cast<i64>(v < least ? least : v > most ? most : v);
}

MTLC_INLINE i64 extend(u64 v, unsigned bits, bool isSigned) {
  u64 low = v & ((u64{1} << bits) - 1);
  if (isSigned && (low >> (bits - 1)) != 0) return static_cast<i64>(low) - (i64{1} << bits);
  return static_cast<i64>(low);
}

// Selectors of scalar operands: 0 the word, 1 to 4 a byte, 5 and 6 a half-word.
MTLC_INLINE i64 selectPart(u32 v, unsigned selector, bool isSigned) {
  if (selector == 0) return extend(v, 32, isSigned);
  if (selector <= 4) return extend(v >> (8 * (selector - 1)), 8, isSigned);
  return extend(v >> (16 * (selector - 5)), 16, isSigned);
}

MTLC_INLINE bool holds(unsigned compare, i64 a, i64 b) {
  switch (compare) {
    case 0:
      return a == b;
    case 1:
      return a != b;
    case 2:
      return a < b;
    case 3:
      return a <= b;
    case 4:
      return a > b;
    default:
      return a >= b;
  }
}

MTLC_INLINE i128 operate(i64 imm, i64 a, i64 b) {
  switch (static_cast<Operation>(imm & 15)) {
    case kAdd:
      return a + b;
    case kSub:
      return a - b;
    case kAverage:
      return (a + b + (a + b >= 0 ? 1 : 0)) >> 1;
    case kAbsDiff:
      return a > b ? a - b : b - a;
    case kMin:
      return a < b ? a : b;
    case kMax:
      return a > b ? a : b;
    case kShl:
    case kShr: {
      i64 n = (imm & kWrap) != 0 ? b & 31 : b > 32 ? 32 : b;
      return (imm & 15) == kShl ? static_cast<i128>(a) << n : static_cast<i128>(a >> n);
    }
    default:
      return holds(static_cast<unsigned>(imm >> kCompareShift & 7), a, b) ? 1 : 0;
  }
}

u32 multiplyAdd(i64 imm, i64 a, i64 b, u32 c) {
  bool negateProduct = (imm & kVideoNegateProduct) != 0, negateC = (imm & kVideoNegateAddend) != 0;
  bool isSigned = (imm & (kASigned | kBSigned)) != 0 || negateProduct || negateC;
  i128 t = static_cast<i128>(a) * b;
  i128 addend = extend(c, 32, isSigned);
  if (negateC) addend = extend(~c, 32, true);
  bool one = (imm & kPlusOne) != 0 || negateProduct || negateC;
  t = (negateProduct ? ~t : t) + addend + (one ? 1 : 0);
  unsigned scale = static_cast<unsigned>(imm >> kScaleShift & 3);
  t >>= scale == 1 ? 7 : scale == 2 ? 15 : 0;
  return static_cast<u32>((imm & kSaturate) != 0 ? clampTo(t, isSigned, 32) : static_cast<i64>(t));
}

MTLC_INLINE u32 scalarOne(i64 imm, u32 a, u32 b, u32 c) {
  i64 x = selectPart(a, imm >> kVideoASelector & 7, (imm & kASigned) != 0);
  i64 y = selectPart(b, imm >> kVideoBSelector & 7, (imm & kBSigned) != 0);
  if ((imm & 15) == kMad) return multiplyAdd(imm, x, y, c);
  i128 wide = operate(imm, x, y);
  unsigned part = imm >> kVideoDSelector & 7;
  bool isSigned = (imm & kDSigned) != 0;
  unsigned bits = part == 0 ? 32 : part <= 4 ? 8 : 16;
  u32 t = static_cast<u32>((imm & kSaturate) != 0 ? clampTo(wide, isSigned, bits)
                                                  : static_cast<i64>(wide));
  if (part != 0) {
    unsigned shift = part <= 4 ? 8 * (part - 1) : 16 * (part - 5);
    u32 mask = ((u32{1} << bits) - 1) << shift;
    return (t << shift & mask) | (c & ~mask);
  }
  bool less = isSigned ? static_cast<i32>(t) < static_cast<i32>(c) : t < c;
  switch (imm >> kSecondShift & 3) {
    case 1:
      return t + c;
    case 2:
      return less ? t : c;
    case 3:
      return less ? c : t;
    default:
      return t;
  }
}

// kCount elements of a word; a selector names each of the elements of {b, a} in three bits.
template <unsigned kCount>
MTLC_INLINE u32 vectorOne(i64 imm, u32 a, u32 b, u32 c) {
  constexpr unsigned kBits = 32 / kCount;
  constexpr u32 kElement = kCount == 2 ? 0xffff : 0xff;
  u64 pool = static_cast<u64>(b) << 32 | a;
  u32 merged = 0, sum = c;
  for (unsigned i = 0; i < kCount; ++i) {
    unsigned sa = imm >> (kVideoASelector + 3 * i) & 7, sb = imm >> (kVideoBSelector + 3 * i) & 7;
    i64 x = extend(pool >> (kBits * sa), kBits, (imm & kASigned) != 0);
    i64 y = extend(pool >> (kBits * sb), kBits, (imm & kBSigned) != 0);
    i64 t = static_cast<i64>(operate(imm, x, y));
    if ((imm & kSaturate) != 0) t = clampTo(t, (imm & kDSigned) != 0, kBits);
    bool taken = (imm >> (kVideoDSelector + i) & 1) != 0;
    u32 old = c >> (kBits * i) & kElement;
    merged |= (taken ? static_cast<u32>(t) & kElement : old) << (kBits * i);
    sum += taken ? static_cast<u32>(t) : 0;
  }
  return (imm >> kSecondShift & 3) != 0 ? sum : merged;
}

template <unsigned kCount>
void videoMap(const Instr& in, Warp& w, LaneMask mask) {
  const u32* a = column32(w, in.src[0]);
  const u32* b = column32(w, in.src[1]);
  const u32* c = in.src[2] != kNoRef ? column32(w, in.src[2]) : a;
  i64 imm = in.imm;
  intoColumn(column32(w, in.dst), mask, [&](u32* d) {
    for (unsigned i = 0; i < kLanes; ++i) {
      if constexpr (kCount == 1) {
        d[i] = scalarOne(imm, a[i], b[i], c[i]);
      } else {
        d[i] = vectorOne<kCount>(imm, a[i], b[i], c[i]);
      }
    }
  });
}

}  // namespace

int64_t videoFlags(const Form& f) {
  static constexpr std::string_view kNames[] = {"vadd", "vsub", "vavrg", "vabsdiff", "vmin",
                                                "vmax", "vshl", "vshr",  "vset",     "vmad"};
  std::string_view op = f.row->opcode;
  if (op.back() == '2' || op.back() == '4') op.remove_suffix(1);
  i64 flags = 0;
  for (i64 i = 0; i < 10; ++i) {
    if (kNames[i] == op) flags = i;
  }
  // vset has no destination type.
  bool set = flags == kSet;
  Type d = set ? Mod::u32 : f.types[0], a = f.types[set ? 0 : 1], b = f.types[set ? 1 : 2];
  if (a == Mod::s32) flags |= kASigned;
  if (b == Mod::s32) flags |= kBSigned;
  if (d == Mod::s32) flags |= kDSigned;
  if (f.has(Mod::sat)) flags |= kSaturate;
  if (f.has(Mod::wrap)) flags |= kWrap;
  if (f.has(Mod::po)) flags |= kPlusOne;
  if (f.has(Mod::shr7)) flags |= 1 << kScaleShift;
  if (f.has(Mod::shr15)) flags |= 2 << kScaleShift;
  if (f.has(Mod::add)) flags |= 1 << kSecondShift;
  if (f.has(Mod::minMod)) flags |= 2 << kSecondShift;
  if (f.has(Mod::maxMod)) flags |= 3 << kSecondShift;
  constexpr Mod kCompare[] = {Mod::eq, Mod::ne, Mod::lt, Mod::le, Mod::gt, Mod::ge};
  for (i64 i = 0; i < 6; ++i) {
    if (f.has(kCompare[i])) flags |= i << kCompareShift;
  }
  return flags;
}

LaneFn selectVideo(const Form& f) {
  switch (f.row->family) {
    case Family::video:
      return videoMap<1>;
    case Family::video2:
      return videoMap<2>;
    case Family::video4:
      return videoMap<4>;
    default:
      return nullptr;
  }
}

}  // namespace mtlc::sim::MTLC_LANES
