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
struct BulkCopy;
struct LaneCopies;
struct Frame;
struct LaunchState;
struct Warp;
struct WarpgroupProduct;

enum class AccessKind : uint8_t { load, store, atomic, reduction };

// How the addresses of a warp lie: lane i at the first address + i * bytes; all equal; anything
// else.
enum class AccessPattern : uint8_t { consecutive, uniform, scattered };

// A memory access of the lanes of `mask`, before it happens. All of them touch one region: an
// allocation, the shared memory of the block, the local memory of their threads, or the kernel's
// parameters. Every address is aligned and in bounds.
struct Access {
  const Instr& in;
  LaneMask mask;
  AccessKind kind;
  Space space;            // global, constant, shared, local or param: never generic
  uint32_t bytes;         // Per lane.
  AccessPattern pattern;  // Of all lanes with `consecutive`, of the lanes of `mask` otherwise.
  const uint64_t*
      addresses;        // Of the lanes of `mask`: device addresses, or offsets in the other spaces.
  uint64_t begin;       // Address of the region's first byte.
  uint64_t size;        // Bytes of the region; of one thread for local memory.
  uint8_t* base;        // Host memory of the region; of lane 0 for local memory.
  uint64_t laneStride;  // Distance of the lanes' copies: 0 but for local memory.
  const Allocation* allocation;  // global, constant

  uint64_t offset(unsigned lane) const { return addresses[lane] - begin; }
  uint8_t* host(unsigned lane) const { return base + lane * laneStride + offset(lane); }
  Order order() const { return static_cast<Order>(in.orderScope & 15); }
  Scope scope() const { return static_cast<Scope>(in.orderScope >> 4); }
};

// Bytes that an asynchronous copy moves in one piece; `fill` bytes of a pattern, mostly zero,
// behind `bytes` copied ones.
struct Piece {
  uint64_t to = 0;  // A device address, or an offset in shared memory.
  uint64_t from = 0;
  uint8_t* toHost = nullptr;
  const uint8_t* fromHost = nullptr;
  uint32_t bytes = 0;
  uint32_t fill = 0;
  uint64_t pattern = 0;  // What `fill` repeats, for elements of up to 8 bytes.
  Space toSpace = Space::shared;
  Space fromSpace = Space::global;
};

enum class SyncKind : uint8_t {
  barrierArrive,  // Lanes of `mask` arrived at barrier `id`; they wait unless it is a bar.arrive.
  warp,           // bar.warp.sync of the lanes of `mask`
  collective,     // another .sync instruction of a warp
  fence,
};

struct SyncEvent {
  const Instr& in;
  LaneMask mask;
  SyncKind kind;
  uint32_t id = 0;
  bool waits = true;      // barrierArrive: the lanes wait for completion
  bool diverged = false;  // barrierArrive: an aligned barrier without all lanes of the warp
  uint32_t expected = 0;  // barrierArrive: threads that the instruction names; 0: all of the block
  LaneMask named = 0;     // warp, collective: the mask the instruction names
  Order order = Order::sc;
  Scope scope = Scope::cta;
};

class Observer {
 public:
  virtual ~Observer() = default;
  // Keeps state across blocks: one host thread, blocks in order.
  virtual bool sequential() const { return false; }
  // Wants instruction() or executed() for every instruction, access(). The other events come
  // anyway.
  virtual bool wantsInstructions() const { return false; }
  virtual bool wantsResults() const { return false; }
  virtual bool wantsAccesses() const { return true; }

  virtual void launchBegin(LaunchState&) {}
  virtual void launchEnd(LaunchState&) {}
  virtual void blockBegin(Block&) {}
  virtual void blockEnd(Block&) {}
  // Before `in` executes for the lanes of `mask`; an access() of it comes later.
  virtual void instruction(Warp&, const Instr&, LaneMask) {}
  // After an instruction wrote its destination.
  virtual void executed(Warp&, const Instr&, LaneMask) {}
  virtual void access(Warp&, const Access&) {}
  virtual void sync(Warp&, const SyncEvent&) {}
  // Barrier `id` is complete: the waiting lanes will go on. Its state still says who arrived.
  virtual void barrierReleased(Block&, uint32_t /*id*/) {}
  // The call `in` was entered (its arguments are in the callee's frame) or left (its results are in
  // the caller's).
  virtual void called(Warp&, const Instr&, LaneMask, const Frame& /*caller*/,
                      const Frame& /*callee*/) {}
  virtual void returned(Warp&, const Instr&, LaneMask, const Frame& /*caller*/,
                        const Frame& /*callee*/) {}
  // A function that the simulator itself provides wrote its results.
  virtual void builtinReturned(Warp&, const Instr&, LaneMask) {}
  // malloc() of a kernel gave out this range of the device heap; nobody used it since its last
  // free().
  virtual void allocated(const Allocation& /*heap*/, uint64_t /*offset*/, uint64_t /*bytes*/) {}
  virtual void exited(Warp&, const Instr&, LaneMask) {}

  // ---- Asynchronous copies (async.h). Their reads of memory come as access() when they are
  // issued. A cp.async was issued.
  virtual void issued(Warp&, const LaneCopies&) {}
  // Bytes have arrived, or are about to: those of both places are still the old ones.
  virtual void landing(Block&, const Piece&) {}
  // The lanes of `mask` waited for these copies of theirs, or an mbarrier will; they have landed.
  virtual void delivered(Warp&, const LaneCopies&, LaneMask /*mask*/) {}
  // A bulk copy was issued; its source has been read; all its bytes have landed, and its mbarrier
  // is about to be told; somebody waited for it.
  virtual void issued(Warp&, const BulkCopy&) {}
  virtual void sourceRead(Block&, const BulkCopy&) {}
  virtual void landed(Block&, const BulkCopy&) {}
  virtual void delivered(Block&, const BulkCopy&) {}
  // The block ends, and nobody waited for the copy's use of its shared memory.
  virtual void abandoned(Block&, const BulkCopy&) {}
  // A product of a warpgroup was issued by one of its warps, all its loads told; the warp waited
  // for it. wgmma.fence.
  virtual void issued(Warp&, const WarpgroupProduct&) {}
  virtual void delivered(Warp&, const WarpgroupProduct&) {}
  virtual void warpgroupFence(Warp&, const Instr&) {}
  // A proxy fence, or one of mbarrier initialisations.
  virtual void proxyFence(Warp&, const Instr&, LaneMask, ProxyFence) {}

  // ---- mbarriers, by their offset in shared memory; the barrier of the cluster is at kNever.
  virtual void mbarrierInit(Warp&, const Instr&, unsigned /*lane*/, uint32_t /*offset*/) {}
  virtual void mbarrierInval(Warp&, const Instr&, unsigned /*lane*/, uint32_t /*offset*/) {}
  virtual void mbarrierArrive(Warp&, LaneMask, uint32_t /*offset*/, Order) {}
  virtual void mbarrierPhase(Block&, uint32_t /*offset*/) {}                 // One is complete.
  virtual void mbarrierWait(Warp&, LaneMask, uint32_t /*offset*/, Order) {}  // Successful.
};

}  // namespace mtlc::sim

#endif  // MTLC_SIM_OBSERVER_H_
