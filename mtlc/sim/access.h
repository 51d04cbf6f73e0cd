// Memory instructions beyond the common case: every check of an address, and telling observers.

#ifndef MTLC_SIM_ACCESS_H_
#define MTLC_SIM_ACCESS_H_

#include <cstdint>

#include "mtlc/sim/observer.h"
#include "mtlc/sim/state.h"

namespace mtlc::sim {

// Where the lanes of a memory instruction access.
struct LaneAccess {
  uint64_t address[kLanes];  // In: as computed. Out: as Access::addresses wants.
  uint8_t* host[kLanes];     // Out.
  Space space[kLanes];       // Out.
  LaneMask ok = 0;           // Out: lanes whose access may happen.
};

// Resolves `bytes` at each address of `mask`, reports faults, and remembers the allocation for
// `in`. Tells observers of the lanes that are fine.
void resolveLanes(Warp& w, const Instr& in, LaneMask mask, AccessKind kind, uint32_t bytes,
                  LaneAccess& lanes);

// The same for addresses in `asked`, whatever the instruction's own space; tells nobody.
void resolveQuietly(Warp& w, const Instr& in, Space asked, LaneMask mask, AccessKind kind,
                    uint32_t bytes, LaneAccess& lanes);
// Tells observers of the lanes in `lanes.ok`.
void observeLanes(Warp& w, const Instr& in, AccessKind kind, uint32_t bytes, LaneAccess& lanes);
// Any number of bytes from one lane's address, which is a multiple of `align`: as resolveQuietly,
// but for the size. False after a fault.
bool resolveRange(Warp& w, const Instr& in, Space asked, unsigned lane, AccessKind kind,
                  uint32_t bytes, uint32_t align, LaneAccess& lanes);
// Moves the bytes of one resolved lane of a matrix instruction, with the weak memory told if there
// is one.
void loadBytes(Warp& w, const LaneAccess& lanes, unsigned lane, uint8_t* to, uint32_t bytes);
void storeBytes(Warp& w, const LaneAccess& lanes, unsigned lane, const uint8_t* from,
                uint32_t bytes);
// Reports lanes of `mask` whose address is no multiple of `alignment`; the others.
LaneMask alignedLanes(Warp& w, const Instr& in, LaneMask mask, AccessKind kind,
                      const uint64_t* addresses, uint32_t alignment);

// Tells observers of an access whose lanes all lie in [begin, begin + size) at `base`;
// `windowBegin` is added to the addresses of a window in the generic space. For callers that
// resolved the addresses themselves.
void observeWindow(Warp& w, const Instr& in, LaneMask mask, AccessKind kind, uint32_t bytes,
                   AccessPattern pattern, const uint64_t* addresses, uint64_t begin, uint64_t size,
                   uint8_t* base, Space space);

// isspacep: whether the generic `address` lies in the window of `space`.
bool inSpace(Warp& w, uint64_t address, Space space);

enum class WideAtomic : uint8_t { exchange, compareExchange };
// A 16-byte atomic at `host`; `value` and `expected` are two 64-bit words, `old` gets the former
// contents.
void atomic128(Warp& w, WideAtomic op, uint8_t* host, const uint64_t* value,
               const uint64_t* expected, uint64_t* old);

// Host pointer of `bytes` at a generic address as `lane` sees it, or nullptr. For built-in
// functions.
uint8_t* genericPointer(Warp& w, unsigned lane, uint64_t address, uint64_t bytes);
// The same, and how many bytes are accessible from there.
uint8_t* genericRange(Warp& w, unsigned lane, uint64_t address, uint64_t& available);

}  // namespace mtlc::sim

#endif  // MTLC_SIM_ACCESS_H_
