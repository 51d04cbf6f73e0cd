// Slow path of memory instructions: from the address a lane computed to the host bytes it means,
// with every check.

#ifndef MTLC_SIM_ACCESS_H_
#define MTLC_SIM_ACCESS_H_

#include <cstdint>

#include "mtlc/sim/observer.h"
#include "mtlc/sim/warp.h"

namespace mtlc::sim {

// The lanes of one memory instruction.
struct LaneAccess {
  uint64_t address[kLanes];  // In: as computed. Out: what Access::addresses wants.
  uint8_t* host[kLanes];     // Out; nullptr for lanes outside `ok`.
  Space space[kLanes];       // Out.
  LaneMask ok = 0;           // Lanes whose access may happen.
};

// Resolves `bytes` at each address of `mask` and reports faults. Fills the worker's allocation
// cache for `in`. Tells the observers of the lanes that are fine when `observed`.
void resolveLanes(Warp& w, const Instr& in, LaneMask mask, AccessKind kind, uint32_t bytes,
                  bool observed, LaneAccess& lanes);

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
