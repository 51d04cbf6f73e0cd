// What a launch tells those who watch it: checkers, traces, profilers.
//
// Events come per warp instruction, not per lane, from the thread that executes the block. An
// observer that keeps state across blocks says so with sequential(); then the launch uses one host
// thread.

#ifndef MTLC_SIM_OBSERVER_H_
#define MTLC_SIM_OBSERVER_H_

#include <cstdint>

#include "mtlc/sim/program.h"

namespace mtlc::sim {

struct Allocation;
struct Block;
struct LaunchState;
struct Warp;

enum class AccessKind : uint8_t { load, store, atomic, reduction };

// A memory access of the lanes of `mask`, all of which touch `space`, before it happens. Every
// address is aligned, in bounds and resolved to `host`.
struct Access {
  const Instr& in;
  LaneMask mask;
  AccessKind kind;
  Space space;     // global, constant, shared, local or param: never generic
  uint32_t bytes;  // Per lane.
  Order order;
  Scope scope;
  bool isVolatile;
  // Per lane: a device address (global, constant), or an offset into the shared, local or parameter
  // memory.
  const uint64_t* addresses;
  uint8_t* const* host;
};

enum class SyncKind : uint8_t {
  barrierArrive,   // Lanes of `mask` arrived at barrier `id`; they wait unless it is a bar.arrive.
  barrierRelease,  // Barrier `id` completed (once per completion; mask empty).
  warp,            // bar.warp.sync executed by the lanes of `mask`
  collective,      // another .sync instruction of a warp
  fence,
};

struct SyncEvent {
  const Instr& in;
  LaneMask mask;
  SyncKind kind;
  uint32_t id = 0;
  bool waits = true;  // barrierArrive: the lanes wait for completion
  Order order = Order::sc;
  Scope scope = Scope::cta;
};

class Observer {
 public:
  virtual ~Observer() = default;
  // Keeps state across blocks: one host thread, blocks in order.
  virtual bool sequential() const { return false; }
  // Wants instruction() for every instruction. Accesses and synchronisation come anyway.
  virtual bool wantsInstructions() const { return false; }

  virtual void launchBegin(LaunchState&) {}
  virtual void launchEnd(LaunchState&) {}
  virtual void blockBegin(Block&) {}
  virtual void blockEnd(Block&) {}
  // Before `in` executes for the lanes of `mask`; an access() of it comes later.
  virtual void instruction(Warp&, const Instr&, LaneMask) {}
  // After a `lane` or `memory` instruction wrote its destination.
  virtual void executed(Warp&, const Instr&, LaneMask) {}
  virtual void access(Warp&, const Access&) {}
  virtual void sync(Warp&, const SyncEvent&) {}
  virtual void barrierReleased(Block&, uint32_t /*id*/) {}
  virtual void called(Warp&, const Instr&, LaneMask) {}
  virtual void returned(Warp&, const Instr&, LaneMask) {}
  virtual void exited(Warp&, const Instr&, LaneMask) {}
};

}  // namespace mtlc::sim

#endif  // MTLC_SIM_OBSERVER_H_
