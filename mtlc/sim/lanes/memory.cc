// Loads and stores (PTX ISA 9.7.9).
//
// src[0] is the base register (64- or 32-bit; none: the address is imm), imm the offset. One
// element: its register is dst (load) or src[1] (store); several: operandLists from ext. `size` and
// `count` say how much. `target` masks what a narrow load writes into a 16-bit register.
//
// Most warps access memory in one of two ways, consecutive elements or one common address; both
// need one bounds check against the allocation that the instruction hit last. Everything else goes
// through resolveLanes().

#include "mtlc/sim/lanes/windows.h"

namespace mtlc::sim::MTLC_LANES {
namespace {

template <typename T, typename C>
MTLC_INLINE C widen(T v, u32 keep) {
  if constexpr (sizeof(C) == 8) {
    return static_cast<u64>(static_cast<i64>(v));
  } else if constexpr (sizeof(T) == 4) {
    return static_cast<u32>(v);
  } else {
    return static_cast<u32>(static_cast<i32>(v)) & keep;
  }
}
template <typename C>
MTLC_INLINE C* anyColumn(Warp& w, Ref r) {
  if constexpr (sizeof(C) == 8) {
    return column64(w, r);
  } else {
    return column32(w, r);
  }
}

MTLC_INLINE void orderAfter(const Instr& in) {
  if ((in.orderScope & 15) >= static_cast<u8>(Order::acquire))
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

// Writes element e of the lanes of `mask`, found through `at(lane)`.
template <typename T, typename C, typename At>
MTLC_INLINE void loadElement(const Instr& in, Warp& w, LaneMask mask, Ref dst, At at) {
  if (dst == kNoRef) return;
  u32 keep = in.target;
  C* d = anyColumn<C>(w, dst);
  if (mask == kAllLanes) {
    for (unsigned i = 0; i < kLanes; ++i) d[i] = widen<T, C>(read<T>(at(i)), keep);
  } else {
    eachLane(mask, [&](unsigned i) { d[i] = widen<T, C>(read<T>(at(i)), keep); });
  }
}

template <typename T, typename C>
void loadResolved(const Instr& in, Warp& w, LaneMask mask, const u64* address) {
  LaneAccess lanes;
  __builtin_memcpy(lanes.address, address, sizeof lanes.address);
  resolveLanes(w, in, mask, AccessKind::load, sizeof(T) * in.count, lanes);
  if (lanes.ok == 0) return;
  const Ref* list = w.block->program->operandLists.data() + in.ext;
  for (unsigned e = 0; e < in.count; ++e) {
    loadElement<T, C>(in, w, lanes.ok, in.count == 1 ? in.dst : list[e],
                      [&](unsigned i) { return lanes.host[i] + e * sizeof(T); });
  }
  orderAfter(in);
}

template <typename T, typename C, Space kSpace>
void load(const Instr& in, Warp& w, LaneMask mask) {
  alignas(64) u64 address[kLanes];
  laneAddresses(in, w, mask, address);
  Window window = likelyWindow<kSpace>(in, w, address[0], false);
  u32 bytes = sizeof(T) * in.count;
  Pattern pattern = classify(address, window, bytes, mask);
  if (pattern == Pattern::slow) return loadResolved<T, C>(in, w, mask, address);
  observe(in, w, mask, AccessKind::load, bytes, pattern, address, window, kSpace);
  const u8* host = window.host;
  u64 begin = window.begin;
  if (in.count == 1) {
    if (in.dst == kNoRef) return;
    u32 keep = in.target;
    C* d = anyColumn<C>(w, in.dst);
    switch (pattern) {
      case Pattern::consecutive: {
        const u8* p = host + (address[0] - begin);
        for (unsigned i = 0; i < kLanes; ++i) d[i] = widen<T, C>(read<T>(p + i * sizeof(T)), keep);
        break;
      }
      case Pattern::uniform: {
        C v = widen<T, C>(read<T>(host + (address[0] - begin)), keep);
        intoColumn(d, mask, [&](C* out) {
          for (unsigned i = 0; i < kLanes; ++i) out[i] = v;
        });
        break;
      }
      default:
        intoColumn(d, mask, [&](C* out) {
          for (unsigned i = 0; i < kLanes; ++i) {
            out[i] = widen<T, C>(read<T>(host + (address[i] - begin)), keep);
          }
        });
        break;
    }
  } else {
    const Ref* list = w.block->program->operandLists.data() + in.ext;
    for (unsigned e = 0; e < in.count; ++e) {
      loadElement<T, C>(in, w, mask, list[e],
                        [&](unsigned i) { return host + (address[i] - begin) + e * sizeof(T); });
    }
  }
  orderAfter(in);
}

// Rare shapes: narrow elements in 64-bit registers.
template <typename T, typename C>
void loadGeneral(const Instr& in, Warp& w, LaneMask mask) {
  alignas(64) u64 address[kLanes];
  laneAddresses(in, w, mask, address);
  loadResolved<T, C>(in, w, mask, address);
}

// Local memory: the lanes' copies lie a stride apart.
MTLC_INLINE Window likelyLocal(const Instr& in, Warp& w) {
  const Worker::Range& v = likelyVariable(in, w);
  return {v.begin + (w.frame->localBase & w.block->frameMask), v.size, nullptr};
}

template <typename T, typename C>
void loadLocal(const Instr& in, Warp& w, LaneMask mask) {
  alignas(64) u64 address[kLanes];
  laneAddresses(in, w, mask, address);
  u32 bytes = sizeof(T) * in.count;
  Block& b = *w.block;
  const Window window{0, b.localStride,
                      b.local + static_cast<size_t>(w.index) * kLanes * b.localStride};
  Pattern pattern = classify(address, likelyLocal(in, w), bytes, LaneMask{0});
  if (pattern == Pattern::slow) return loadResolved<T, C>(in, w, mask, address);
  observe(in, w, mask, AccessKind::load, bytes, pattern, address, window, Space::local);
  const u8* host = window.host;
  const Ref* list = b.program->operandLists.data() + in.ext;
  for (unsigned e = 0; e < in.count; ++e) {
    loadElement<T, C>(in, w, mask, in.count == 1 ? in.dst : list[e], [&](unsigned i) {
      return host + static_cast<size_t>(i) * b.localStride + address[i] + e * sizeof(T);
    });
  }
}

template <typename T, typename C, typename At>
MTLC_INLINE void storeElement(Warp& w, LaneMask mask, Ref src, At at) {
  const C* s = anyColumn<C>(w, src);
  if (mask == kAllLanes) {
    for (unsigned i = 0; i < kLanes; ++i) write<T>(at(i), static_cast<T>(s[i]));
  } else {
    eachLane(mask, [&](unsigned i) { write<T>(at(i), static_cast<T>(s[i])); });
  }
}

MTLC_INLINE void orderBefore(const Instr& in) {
  if ((in.orderScope & 15) >= static_cast<u8>(Order::acquire))
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

template <typename T, typename C>
void storeResolved(const Instr& in, Warp& w, LaneMask mask, const u64* address) {
  LaneAccess lanes;
  __builtin_memcpy(lanes.address, address, sizeof lanes.address);
  orderBefore(in);
  resolveLanes(w, in, mask, AccessKind::store, sizeof(T) * in.count, lanes);
  if (lanes.ok == 0) return;
  const Ref* list = w.block->program->operandLists.data() + in.ext;
  for (unsigned e = 0; e < in.count; ++e) {
    storeElement<T, C>(w, lanes.ok, in.count == 1 ? in.src[1] : list[e],
                       [&](unsigned i) { return lanes.host[i] + e * sizeof(T); });
  }
}

template <typename T, typename C, Space kSpace>
void store(const Instr& in, Warp& w, LaneMask mask) {
  alignas(64) u64 address[kLanes];
  laneAddresses(in, w, mask, address);
  Window window = likelyWindow<kSpace>(in, w, address[0], true);
  u32 bytes = sizeof(T) * in.count;
  Pattern pattern = classify(address, window, bytes, mask);
  if (pattern == Pattern::slow) return storeResolved<T, C>(in, w, mask, address);
  observe(in, w, mask, AccessKind::store, bytes, pattern, address, window, kSpace);
  orderBefore(in);
  u8* host = window.host;
  u64 begin = window.begin;
  if (in.count == 1 && pattern == Pattern::consecutive) {
    u8* p = host + (address[0] - begin);
    const C* s = anyColumn<C>(w, in.src[1]);
    for (unsigned i = 0; i < kLanes; ++i) write<T>(p + i * sizeof(T), static_cast<T>(s[i]));
    return;
  }
  const Ref* list = w.block->program->operandLists.data() + in.ext;
  for (unsigned e = 0; e < in.count; ++e) {
    storeElement<T, C>(w, mask, in.count == 1 ? in.src[1] : list[e],
                       [&](unsigned i) { return host + (address[i] - begin) + e * sizeof(T); });
  }
}

template <typename T, typename C>
void storeGeneral(const Instr& in, Warp& w, LaneMask mask) {
  alignas(64) u64 address[kLanes];
  laneAddresses(in, w, mask, address);
  storeResolved<T, C>(in, w, mask, address);
}

template <typename T, typename C>
void storeLocal(const Instr& in, Warp& w, LaneMask mask) {
  alignas(64) u64 address[kLanes];
  laneAddresses(in, w, mask, address);
  u32 bytes = sizeof(T) * in.count;
  Block& b = *w.block;
  const Window window{0, b.localStride,
                      b.local + static_cast<size_t>(w.index) * kLanes * b.localStride};
  Pattern pattern = classify(address, likelyLocal(in, w), bytes, LaneMask{0});
  if (pattern == Pattern::slow) return storeResolved<T, C>(in, w, mask, address);
  observe(in, w, mask, AccessKind::store, bytes, pattern, address, window, Space::local);
  u8* host = window.host;
  const Ref* list = b.program->operandLists.data() + in.ext;
  for (unsigned e = 0; e < in.count; ++e) {
    storeElement<T, C>(w, mask, in.count == 1 ? in.src[1] : list[e], [&](unsigned i) {
      return host + static_cast<size_t>(i) * b.localStride + address[i] + e * sizeof(T);
    });
  }
}

template <typename T, typename C>
LaneFn loadSpace(Space space) {
  switch (space) {
    case Space::generic:
      return load<T, C, Space::generic>;
    case Space::global:
      return load<T, C, Space::global>;
    case Space::constant:
      return load<T, C, Space::constant>;
    case Space::shared:
      return load<T, C, Space::shared>;
    case Space::param:
      return load<T, C, Space::param>;
    case Space::local:
      return loadLocal<T, C>;
  }
  return nullptr;
}

template <typename T, typename C>
LaneFn storeSpace(Space space) {
  switch (space) {
    case Space::generic:
      return store<T, C, Space::generic>;
    case Space::global:
      return store<T, C, Space::global>;
    case Space::shared:
      return store<T, C, Space::shared>;
    case Space::local:
      return storeLocal<T, C>;
    default:
      return nullptr;
  }
}

}  // namespace

LaneFn selectLoad(const MemoryShape& s) {
  switch (s.bytes) {
    case 1:
      if (s.wideRegister) return s.isSigned ? loadGeneral<i8, u64> : loadGeneral<u8, u64>;
      return s.isSigned ? loadSpace<i8, u32>(s.space) : loadSpace<u8, u32>(s.space);
    case 2:
      if (s.wideRegister) return s.isSigned ? loadGeneral<i16, u64> : loadGeneral<u16, u64>;
      return s.isSigned ? loadSpace<i16, u32>(s.space) : loadSpace<u16, u32>(s.space);
    case 4:
      if (s.wideRegister) return s.isSigned ? loadGeneral<i32, u64> : loadGeneral<u32, u64>;
      return loadSpace<u32, u32>(s.space);
    case 8:
      return s.wideRegister ? loadSpace<u64, u64>(s.space) : nullptr;
    default:
      return nullptr;
  }
}

LaneFn selectStore(const MemoryShape& s) {
  switch (s.bytes) {
    case 1:
      return s.wideRegister ? storeGeneral<u8, u64> : storeSpace<u8, u32>(s.space);
    case 2:
      return s.wideRegister ? storeGeneral<u16, u64> : storeSpace<u16, u32>(s.space);
    case 4:
      return s.wideRegister ? storeGeneral<u32, u64> : storeSpace<u32, u32>(s.space);
    case 8:
      return s.wideRegister ? storeSpace<u64, u64>(s.space) : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace mtlc::sim::MTLC_LANES
