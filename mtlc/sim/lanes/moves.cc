// Moves, packing, addresses and what the engine knows (PTX ISA 9.7.9, 10).

#include "mtlc/sim/access.h"
#include "mtlc/sim/lanes/columns.h"
#include "mtlc/sim/mbarrier.h"

namespace mtlc::sim::MTLC_LANES {
namespace {

struct Same {
  template <typename T>
  static MTLC_INLINE T run(T a) {
    return a;
  }
};

// Between the register widths.
void truncateMove(const Instr& in, Warp& w, LaneMask mask) {
  const u64* a = column64(w, in.src[0]);
  intoColumn(column32(w, in.dst), mask, [&](u32* d) {
    for (unsigned i = 0; i < kLanes; ++i) d[i] = static_cast<u32>(a[i]);
  });
}
template <typename T>
void extendMove(const Instr& in, Warp& w, LaneMask mask) {
  const u32* a = column32(w, in.src[0]);
  intoColumn(column64(w, in.dst), mask, [&](u64* d) {
    for (unsigned i = 0; i < kLanes; ++i)
      d[i] = static_cast<u64>(static_cast<i64>(static_cast<T>(a[i])));
  });
}

void movePred(const Instr& in, Warp& w, LaneMask mask) {
  writePred(w, in.dst, readPred(w, in.src[0]), mask);
}

// kCount elements of kBits each, the first one lowest.
template <typename D, unsigned kBits, unsigned kCount, typename S>
void pack(const Instr& in, Warp& w, LaneMask mask) {
  const Col<S>* s[kCount];
  for (unsigned e = 0; e < kCount; ++e) s[e] = column<S>(w, in.src[e]);
  intoColumn(column<D>(w, in.dst), mask, [&](Col<D>* d) {
    for (unsigned i = 0; i < kLanes; ++i) {
      u64 v = 0;
      for (unsigned e = 0; e < kCount; ++e) {
        v |= (s[e][i] & ((u64{1} << kBits) - 1)) << (kBits * e);
      }
      d[i] = static_cast<Col<D>>(v);
    }
  });
}

template <typename S, unsigned kBits, unsigned kCount>
void unpack(const Instr& in, Warp& w, LaneMask mask) {
  // The source may be one of the destinations.
  alignas(64) Col<S> source[kLanes];
  const Col<S>* from = column<S>(w, in.src[0]);
  for (unsigned i = 0; i < kLanes; ++i) source[i] = from[i];
  const Ref* list = w.block->program->operandLists.data() + in.ext;
  for (unsigned e = 0; e < kCount; ++e) {
    if (list[e] == kNoRef) continue;
    intoColumn(column32(w, list[e]), mask, [&](u32* d) {
      for (unsigned i = 0; i < kLanes; ++i) {
        d[i] =
            static_cast<u32>(static_cast<u64>(source[i]) >> (kBits * e) & ((u64{1} << kBits) - 1));
      }
    });
  }
}

template <typename T>
void localAddress(const Instr& in, Warp& w, LaneMask mask) {
  Col<T> v = static_cast<Col<T>>(static_cast<u64>(in.imm) + w.frame->localBase);
  intoColumn(column<T>(w, in.dst), mask, [&](Col<T>* d) {
    for (unsigned i = 0; i < kLanes; ++i) d[i] = v;
  });
}

// A clock that counts the warp's instructions: monotonic and repeatable.
template <typename T, unsigned kShift>
void clockValue(const Instr& in, Warp& w, LaneMask mask) {
  u64 now = (w.clock += 4) >> kShift;
  intoColumn(column<T>(w, in.dst), mask, [&](Col<T>* d) {
    for (unsigned i = 0; i < kLanes; ++i) d[i] = static_cast<Col<T>>(now);
  });
}

void spaceTest(const Instr& in, Warp& w, LaneMask mask) {
  const u64* a = column64(w, in.src[0]);
  LaneMask result = 0;
  eachLane(mask, [&](unsigned i) {
    if (inSpace(w, a[i], static_cast<Space>(in.imm))) result |= kLaneBit[i];
  });
  writePred(w, in.dst, result, mask);
}

template <bool kToSpace>
void castAddress(const Instr& in, Warp& w, LaneMask mask) {
  u64 window = 0;
  switch (static_cast<Space>(in.imm)) {
    case Space::shared:
      window = kSharedWindow;
      break;
    case Space::local:
      window = kLocalWindow;
      break;
    default:  // Addresses of parameters are generic ones from the start.
      break;
  }
  if (kToSpace) window = 0 - window;
  const u64* a = column64(w, in.src[0]);
  intoColumn(column64(w, in.dst), mask, [&](u64* d) {
    for (unsigned i = 0; i < kLanes; ++i) d[i] = a[i] + window;
  });
}

void activeLanes(const Instr& in, Warp& w, LaneMask mask) {
  intoColumn(column32(w, in.dst), mask, [&](u32* d) {
    for (unsigned i = 0; i < kLanes; ++i) d[i] = mask;
  });
}

// Cache policies are opaque and without effect.
void policy(const Instr& in, Warp& w, LaneMask mask) {
  intoColumn(column64(w, in.dst), mask, [&](u64* d) {
    for (unsigned i = 0; i < kLanes; ++i) d[i] = 1;
  });
}

// A cluster is one block: only rank 0 exists, and its addresses are the block's own.
template <typename T>
void mapAddress(const Instr& in, Warp& w, LaneMask mask) {
  const u32* rank = column32(w, in.src[1]);
  eachLane(mask, [&](unsigned i) {
    if constexpr (sizeof(T) == 8) {
      column64(w, in.dst)[i] = rank[i] == 0 ? column64(w, in.src[0])[i] : ~u64{0};
    } else {
      column32(w, in.dst)[i] = rank[i] == 0 ? column32(w, in.src[0])[i] : ~u32{0};
    }
  });
}

void blockRank(const Instr& in, Warp& w, LaneMask mask) {
  intoColumn(column32(w, in.dst), mask, [&](u32* d) {
    for (unsigned i = 0; i < kLanes; ++i) d[i] = 0;
  });
}

void pendingCount(const Instr& in, Warp& w, LaneMask mask) {
  const u64* state = column64(w, in.src[0]);
  intoColumn(column32(w, in.dst), mask, [&](u32* d) {
    for (unsigned i = 0; i < kLanes; ++i) d[i] = statePending(state[i]);
  });
}

Space spaceOf(const Form& f) {
  switch (f.firstOf({Mod::constSpace, Mod::global, Mod::local, Mod::param, Mod::shared,
                     Mod::sharedCta, Mod::sharedCluster})) {
    case Mod::constSpace:
      return Space::constant;
    case Mod::global:
      return Space::global;
    case Mod::local:
      return Space::local;
    case Mod::param:
      return Space::param;
    default:
      return Space::shared;
  }
}

LaneFn selectMisc(const Form& f) {
  switch (f.row->family) {
    case Family::isspacep:
      return spaceTest;
    case Family::cvta:
      return castAddress<false>;
    case Family::cvtaTo:
      return castAddress<true>;
    case Family::activemask:
      return activeLanes;
    case Family::createPolicy:
      return policy;
    case Family::mapa:
      return typeBits(f.types[0]) == 64 ? mapAddress<u64> : mapAddress<u32>;
    case Family::ctaRank:
      return blockRank;
    case Family::pendingCount:
      return pendingCount;
    default:
      return nullptr;
  }
}

LaneFn selectAny(const Form& f) {
  using Selector = LaneFn (*)(const Form&);
  for (Selector s : {selectIntegers, selectBits, selectHalves, selectFloats, selectApprox,
                     selectCompare, selectConvert, selectCollective, selectVideo, selectMisc}) {
    if (LaneFn fn = s(f)) return fn;
  }
  return nullptr;
}

int64_t details(const Form& f) {
  switch (f.row->family) {
    case Family::set:
    case Family::setp:
      return compareFlags(f);
    case Family::cvt:
    case Family::cvtPair:
    case Family::cvtTf32:
    case Family::cvtNarrow:
      return convertFlags(f);
    case Family::video:
    case Family::video2:
    case Family::video4:
      return videoFlags(f);
    case Family::isspacep:
    case Family::cvta:
    case Family::cvtaTo:
      return static_cast<i64>(spaceOf(f));
    default:
      break;
  }
  Type t = f.types[0];
  if (t == Mod::f16 || t == Mod::f16x2 || t == Mod::bf16 || t == Mod::bf16x2) return halfFlags(f);
  return collectiveFlags(f);
}

}  // namespace

LaneFn selectMove(MoveKind kind) {
  switch (kind) {
    case MoveKind::r32:
      return map1<Same, u32, u32>;
    case MoveKind::r64:
      return map1<Same, u64, u64>;
    case MoveKind::pred:
      return movePred;
    case MoveKind::truncate:
      return truncateMove;
    case MoveKind::zeroExtend:
      return extendMove<u32>;
    case MoveKind::signExtend:
      return extendMove<i32>;
    case MoveKind::pack16:
      return pack<u32, 16, 2, u32>;
    case MoveKind::pack32:
      return pack<u64, 32, 2, u32>;
    case MoveKind::pack16x4:
      return pack<u64, 16, 4, u32>;
    case MoveKind::pack8x4:
      return pack<u32, 8, 4, u32>;
    case MoveKind::pack8x2:
      return pack<u32, 8, 2, u32>;
    case MoveKind::unpack16:
      return unpack<u32, 16, 2>;
    case MoveKind::unpack32:
      return unpack<u64, 32, 2>;
    case MoveKind::unpack16x4:
      return unpack<u64, 16, 4>;
    case MoveKind::unpack8x4:
      return unpack<u32, 8, 4>;
    case MoveKind::unpack8x2:
      return unpack<u32, 8, 2>;
    case MoveKind::localAddress:
      return localAddress<u64>;
    case MoveKind::localAddress32:
      return localAddress<u32>;
    case MoveKind::clock32:
    case MoveKind::globalTimerLo:
      return clockValue<u32, 0>;
    case MoveKind::clock64:
    case MoveKind::globalTimer:
      return clockValue<u64, 0>;
    case MoveKind::clockHi:
    case MoveKind::globalTimerHi:
      return clockValue<u32, 32>;
  }
  return nullptr;
}

const LaneTable& laneTable() {
  static constexpr LaneTable kTable{selectAny,    selectMove,   selectLoad,    selectStore,
                                    selectAtomic, selectMatrix, selectProduct, details};
  return kTable;
}

}  // namespace mtlc::sim::MTLC_LANES
