// Exchanges between the lanes of a warp (PTX ISA 9.7.9.6, 9.7.13.9 to 9.7.13.13).
//
// The mask a function gets is the set of lanes that take part together; the engine has gathered
// them. imm holds the mode.

#include "mtlc/sim/lanes/half.h"

namespace mtlc::sim::MTLC_LANES {
namespace {

// The lane whose value lane `i` gets, and whether it is in range.
struct Source {
  unsigned lane;
  bool valid;
};
MTLC_INLINE Source shuffleSource(Mod mode, unsigned i, u32 b, u32 c) {
  unsigned bval = b & 31, cval = c & 31, segment = c >> 8 & 31;
  unsigned maxLane = (i & segment) | (cval & ~segment & 31);
  unsigned minLane = i & segment;
  int j;
  bool valid;
  switch (mode) {
    case Mod::up:
      j = static_cast<int>(i) - static_cast<int>(bval);
      valid = j >= static_cast<int>(maxLane);
      break;
    case Mod::down:
      j = static_cast<int>(i + bval);
      valid = j <= static_cast<int>(maxLane);
      break;
    case Mod::bfly:
      j = static_cast<int>(i ^ bval);
      valid = j <= static_cast<int>(maxLane);
      break;
    default:
      j = static_cast<int>(minLane | (bval & ~segment & 31));
      valid = j <= static_cast<int>(maxLane);
      break;
  }
  return {valid ? static_cast<unsigned>(j) & 31 : i, valid};
}

void shuffle(const Instr& in, Warp& w, LaneMask mask) {
  const u32* a = column32(w, in.src[0]);
  const u32* b = column32(w, in.src[1]);
  const u32* c = column32(w, in.src[2]);
  Mod mode = static_cast<Mod>(in.imm);
  alignas(64) u32 t[kLanes];
  LaneMask valid = 0;
  for (unsigned i = 0; i < kLanes; ++i) {
    Source s = shuffleSource(mode, i, b[i], c[i]);
    t[i] = a[s.lane];
    if (s.valid) valid |= kLaneBit[i];
  }
  if (in.dst != kNoRef) blend(column32(w, in.dst), t, mask);
  writePred(w, in.ext, valid, mask);
}

void vote(const Instr& in, Warp& w, LaneMask mask) {
  LaneMask p = readPred(w, in.src[0]) & mask;
  bool value = false;
  switch (static_cast<Mod>(in.imm)) {
    case Mod::ballot:
      intoColumn(column32(w, in.dst), mask, [&](u32* d) {
        for (unsigned i = 0; i < kLanes; ++i) d[i] = p;
      });
      return;
    case Mod::any:
      value = p != 0;
      break;
    case Mod::all:
      value = p == mask;
      break;
    default:
      value = p == 0 || p == mask;
      break;
  }
  writePred(w, in.dst, value ? kAllLanes : 0, mask);
}

template <typename C>
void match(const Instr& in, Warp& w, LaneMask mask) {
  const C* a;
  if constexpr (sizeof(C) == 8) {
    a = column64(w, in.src[0]);
  } else {
    a = column32(w, in.src[0]);
  }
  alignas(64) u32 t[kLanes] = {};
  if (static_cast<Mod>(in.imm) == Mod::all) {
    C first = a[__builtin_ctz(mask)];
    bool same = true;
    eachLane(mask, [&](unsigned i) { same = same && a[i] == first; });
    for (unsigned i = 0; i < kLanes; ++i) t[i] = same ? mask : 0;
    writePred(w, in.ext, same ? kAllLanes : 0, mask);
  } else {
    eachLane(mask, [&](unsigned i) {
      eachLane(mask, [&](unsigned j) {
        if (a[i] == a[j]) t[i] |= kLaneBit[j];
      });
    });
  }
  if (in.dst != kNoRef) blend(column32(w, in.dst), t, mask);
}

// Bits of imm for redux: the operator, and flags for single precision.
constexpr i64 kSigned = 1 << 8, kFloat = 1 << 9, kAbs = 1 << 10, kNan = 1 << 11;

MTLC_INLINE u32 reduceFloat(Mod op, u32 x, u32 y, bool nanWins) {
  float a = asFloat(x), b = asFloat(y);
  if (isNan(a) || isNan(b)) {
    if (nanWins || (isNan(a) && isNan(b))) return kNan32;
    return isNan(a) ? y : x;
  }
  if (a == b) return op == Mod::maxMod ? x & y : x | y;
  return (a < b) == (op == Mod::minMod) ? x : y;
}

MTLC_INLINE u32 reduceWord(Mod op, bool isSigned, u32 x, u32 y) {
  switch (op) {
    case Mod::add:
      return x + y;
    case Mod::andMod:
      return x & y;
    case Mod::orMod:
      return x | y;
    case Mod::xorMod:
      return x ^ y;
    default: {
      bool less = isSigned ? static_cast<i32>(x) < static_cast<i32>(y) : x < y;
      return less == (op == Mod::minMod) ? x : y;
    }
  }
}

void reduce(const Instr& in, Warp& w, LaneMask mask) {
  const u32* a = column32(w, in.src[0]);
  Mod op = static_cast<Mod>(in.imm & 0xff);
  u32 keep = (in.imm & kAbs) != 0 ? 0x7fffffffu : 0xffffffffu;
  bool first = true;
  u32 r = 0;
  eachLane(mask, [&](unsigned i) {
    u32 x = a[i] & keep;
    if (first) {
      r = (in.imm & kFloat) != 0 && isNan(asFloat(x)) ? kNan32 : x;
      first = false;
    } else if ((in.imm & kFloat) != 0) {
      r = reduceFloat(op, r, x, (in.imm & kNan) != 0);
    } else {
      r = reduceWord(op, (in.imm & kSigned) != 0, r, x);
    }
  });
  intoColumn(column32(w, in.dst), mask, [&](u32* d) {
    for (unsigned i = 0; i < kLanes; ++i) d[i] = r;
  });
}

void elect(const Instr& in, Warp& w, LaneMask mask) {
  u32 leader = static_cast<u32>(__builtin_ctz(mask));
  if (in.dst != kNoRef) {
    intoColumn(column32(w, in.dst), mask, [&](u32* d) {
      for (unsigned i = 0; i < kLanes; ++i) d[i] = leader;
    });
  }
  writePred(w, in.ext, kLaneBit[leader], mask);
}

void nothing(const Instr&, Warp&, LaneMask) {}

}  // namespace

int64_t collectiveFlags(const Form& f) {
  switch (f.row->family) {
    case Family::shflSync:
    case Family::shfl:
      return static_cast<i64>(f.firstOf({Mod::up, Mod::down, Mod::bfly, Mod::idx}));
    case Family::voteSync:
    case Family::vote:
      return static_cast<i64>(f.firstOf({Mod::any, Mod::all, Mod::uni, Mod::ballot}));
    case Family::matchSync:
      return static_cast<i64>(f.firstOf({Mod::any, Mod::all}));
    case Family::reduxSync: {
      i64 flags = static_cast<i64>(
          f.firstOf({Mod::add, Mod::minMod, Mod::maxMod, Mod::andMod, Mod::orMod, Mod::xorMod}));
      if (f.types[0] == Mod::s32) flags |= kSigned;
      if (f.types[0] == Mod::f32) flags |= kFloat;
      if (f.has(Mod::absMod)) flags |= kAbs;
      if (f.has(Mod::nan)) flags |= kNan;
      return flags;
    }
    default:
      return 0;
  }
}

LaneFn selectCollective(const Form& f) {
  switch (f.row->family) {
    case Family::shflSync:
    case Family::shfl:
      return shuffle;
    case Family::voteSync:
    case Family::vote:
      return vote;
    case Family::matchSync:
      return f.types[0] == Mod::b64 ? match<u64> : match<u32>;
    case Family::reduxSync:
      return reduce;
    case Family::electSync:
      return elect;
    case Family::warpSync:
      return nothing;
    default:
      return nullptr;
  }
}

}  // namespace mtlc::sim::MTLC_LANES
