// Where the lanes of a memory instruction access, for the sources of this folder only.

#ifndef MTLC_SIM_LANES_WINDOWS_H_
#define MTLC_SIM_LANES_WINDOWS_H_

#include "mtlc/sim/access.h"
#include "mtlc/sim/lanes/columns.h"

namespace mtlc::sim::MTLC_LANES {
namespace {

// Addresses of all lanes; those outside `mask` repeat an active one.
MTLC_INLINE void laneAddresses(const Instr& in, Warp& w, LaneMask mask, u64* address) {
  if (in.src[0] == kNoRef) {
    for (unsigned i = 0; i < kLanes; ++i) address[i] = static_cast<u64>(in.imm);
    return;
  }
  if (refBank(in.src[0]) == Bank::r64) {
    const u64* base = column64(w, in.src[0]);
    for (unsigned i = 0; i < kLanes; ++i) address[i] = base[i] + static_cast<u64>(in.imm);
  } else {
    const u32* base = column32(w, in.src[0]);
    u32 offset = static_cast<u32>(in.imm);
    for (unsigned i = 0; i < kLanes; ++i) address[i] = base[i] + offset;
  }
  if (mask != kAllLanes) {
    u64 first = address[__builtin_ctz(mask)];
    for (unsigned i = 0; i < kLanes; ++i) {
      u64 keep = (mask & kLaneBit[i]) != 0 ? ~u64{0} : 0;
      address[i] = (address[i] & keep) | (first & ~keep);
    }
  }
}

// Addresses [begin, begin + size) are at host.
struct Window {
  u64 begin;
  u64 size;
  u8* host;
};

// The variable in shared or local memory that the instruction hit last.
MTLC_INLINE const Worker::Range& likelyVariable(const Instr& in, Warp& w) {
  return w.worker->variableCache[static_cast<size_t>(&in - w.block->program->code.data())];
}

// What a warp most probably accesses, from its first address. Size 0: no idea.
template <Space kSpace>
MTLC_INLINE Window likelyWindow(const Instr& in, Warp& w, u64 first, bool store) {
  Block& b = *w.block;
  if constexpr (kSpace == Space::shared) {
    const Worker::Range& v = likelyVariable(in, w);
    return {v.begin, v.size, b.shared + v.begin};
  } else if constexpr (kSpace == Space::param) {
    return {0, store ? 0 : u64{b.paramBytes}, b.params};
  } else {
    if (kSpace == Space::generic && first >> 48 == kSharedWindow >> 48) {
      const Worker::Range& v = likelyVariable(in, w);
      return {kSharedWindow + v.begin, v.size, b.shared + v.begin};
    }
    const Allocation* a =
        w.worker->allocationCache[static_cast<size_t>(&in - b.program->code.data())];
    bool constant = a->kind == AllocationKind::constant;
    if (kSpace == Space::constant ? !constant : constant && (store || kSpace == Space::global)) {
      return {0, 0, nullptr};
    }
    return {a->begin, a->end - a->begin, a->host};
  }
}

enum class Pattern { consecutive, uniform, scattered, slow };

// Tells observers, if there are any, of an access that classify() found to be fine.
MTLC_INLINE void observe(const Instr& in, Warp& w, LaneMask mask, AccessKind kind, u32 bytes,
                         Pattern pattern, const u64* address, const Window& window, Space space) {
  if (__builtin_expect(w.observed, false)) {
    AccessPattern p = pattern == Pattern::consecutive ? AccessPattern::consecutive
                      : pattern == Pattern::uniform   ? AccessPattern::uniform
                                                      : AccessPattern::scattered;
    observeWindow(w, in, mask, kind, bytes, p, address, window.begin, window.size, window.host,
                  space);
  }
}

// `bytes` is a power of two.
MTLC_INLINE Pattern classify(const u64* address, const Window& window, u32 bytes, LaneMask mask) {
  if (window.size < bytes) return Pattern::slow;
  u64 first = address[0];
  u64 limit = window.size - bytes;
  u64 differs = 0, moved = 0;
  for (unsigned i = 0; i < kLanes; ++i) {
    differs |= address[i] ^ first;
    moved |= address[i] ^ (first + u64{i} * bytes);
  }
  u64 start = first - window.begin;
  if (moved == 0 && mask == kAllLanes) {
    bool inside = start <= limit && limit - start >= u64{kLanes - 1} * bytes;
    return inside && (first & (bytes - 1)) == 0 ? Pattern::consecutive : Pattern::slow;
  }
  if (differs == 0) {
    return start <= limit && (first & (bytes - 1)) == 0 ? Pattern::uniform : Pattern::slow;
  }
  u64 low = 0;
  u32 outside = 0;
  for (unsigned i = 0; i < kLanes; ++i) {
    u64 offset = address[i] - window.begin;
    low |= address[i];
    outside |= offset > limit ? 1u : 0u;
  }
  return outside == 0 && (low & (bytes - 1)) == 0 ? Pattern::scattered : Pattern::slow;
}

template <typename T>
MTLC_INLINE T read(const u8* p) {
  T v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <typename T>
MTLC_INLINE void write(u8* p, T v) {
  __builtin_memcpy(p, &v, sizeof v);
}

}  // namespace
}  // namespace mtlc::sim::MTLC_LANES

#endif  // MTLC_SIM_LANES_WINDOWS_H_
