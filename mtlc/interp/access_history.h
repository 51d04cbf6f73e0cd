// Who touched each byte of an object last: the race detector's memory.
//
// Two accesses race when at least one is a write, they come from different threads, and nothing
// orders them. Program order orders accesses of one thread. Within a block, barriers order accesses
// to the regions of memory that they name: see BarrierOrder. In kernels with atomics, fences or
// tensor operations clocks order what these and barriers order, of all threads of the launch:
// clock.h. Nothing else orders accesses of different blocks of a launch.

#ifndef MTLC_INTERP_ACCESS_HISTORY_H_
#define MTLC_INTERP_ACCESS_HISTORY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "mtlc/interp/budget.h"
#include "mtlc/interp/clock.h"

namespace mtlc::interp {

struct Access {
  uint64_t inst : 32 = 0;   // Number in the Program plus 1; 0: there is no access.
  uint64_t block : 32 = 0;  // Linear index.
  uint64_t thread : 20 = 0;
  uint64_t phase : 43 = 0;  // Barriers that the block had passed; with clocks, the thread's epoch.
  uint64_t isWrite : 1 = 0;
  bool exists() const { return inst != 0; }
};

// What the barriers that a block has passed order, for one region of memory. Phase n lies between
// the block's n-th barrier and the next.
//
// A barrier that releases publishes the accesses before it; one that acquires, the same or a later
// one, orders all that is published before what follows. The usual orders, acq_rel and seq_cst, do
// both at once.
class BarrierOrder {
 public:
  // A barrier that names the region ends phase `phase`.
  void pass(uint64_t phase, bool releases, bool acquires) {
    if (releases) published_ = phase + 1;
    if (acquires) ordered_ = published_;
  }
  // True if accesses of that phase, by any thread of the block, happen before those of now.
  bool isBefore(uint64_t phase) const { return phase < ordered_; }

 private:
  uint64_t published_ = 0;  // Phases below are published,
  uint64_t ordered_ = 0;    // and those below here ordered before now.
};

// What orders earlier accesses before one that a thread makes now: the barriers of its block, or
// its clock.
class Order {
 public:
  Order(const BarrierOrder& barriers) : barriers_(&barriers) {}  // NOLINT: they are the order.
  Order(const MaxMap& epochs, uint64_t blockThreads)
      : epochs_(&epochs), blockThreads_(blockThreads) {}

  bool hasClock() const { return epochs_ != nullptr; }
  uint64_t threadOf(const Access& access) const {
    return access.block * blockThreads_ + access.thread;
  }
  // `before` is by another thread; `now` says which block this one is of.
  bool isBefore(const Access& before, const Access& now) const {
    if (epochs_) return epochs_->get(threadOf(before)) >= before.phase;
    return before.block == now.block && barriers_->isBefore(before.phase);
  }

 private:
  const BarrierOrder* barriers_ = nullptr;
  const MaxMap* epochs_ = nullptr;
  uint64_t blockThreads_ = 0;
};

// The history of one object. Memory is taken page by page, on first touch, at the granularity of
// the accesses seen there; a narrower access refines the page.
//
// A granule remembers its last write and two reads. Two suffice: they are kept from different
// threads, and from different blocks where there are such, so that a later write races with one of
// them if it races with any read since the last write. With clocks, where two don't suffice, those
// of all other threads are kept apart.
class AccessHistory {
 public:
  // The object is global memory, or workgroup memory that is used by block after block: accesses of
  // another block are then as if they had not been. `budget` outlives the history.
  enum class Scope : uint8_t { Global, Workgroup };
  AccessHistory(uint64_t bytes, Scope scope, MemoryBudget* budget);

  // Records an access of `size` bytes (a power of two up to 16; `offset` a multiple of it) and
  // gives an earlier one that it races with. Records nothing once the budget is exhausted. Accesses
  // to different pages may be recorded by different host threads at once.
  std::optional<Access> record(uint64_t offset, uint32_t size, const Access& now,
                               const Order& order);
  // Such an earlier access, without recording this one.
  std::optional<Access> findRace(uint64_t offset, uint32_t size, const Access& now,
                                 const Order& order) const;

  static constexpr uint32_t kPageBytes = 1024;

 private:
  struct Granule {
    Access write;
    Access reads[2];
  };
  struct Page {
    uint8_t granuleLog2 = 0;
    std::vector<Granule> granules;  // Empty: not touched.
    // Reads of a granule beside its two, by thread.
    absl::flat_hash_map<size_t, absl::flat_hash_map<uint64_t, Access>> moreReads;
  };
  std::optional<Access> recordOnPage(uint64_t offset, uint32_t size, const Access& now,
                                     const Order& order);
  std::optional<Access> raceWith(const Page& page, size_t granule, const Access& now,
                                 const Order& order) const;
  bool refine(Page& page, uint8_t granuleLog2);
  bool isUnordered(const Access& before, const Access& now, const Order& order) const;
  void remember(Page& page, size_t at, const Access& read, const Order& order);

  std::vector<Page> pages_;
  Scope scope_;
  MemoryBudget* budget_;
};

}  // namespace mtlc::interp

#endif  // MTLC_INTERP_ACCESS_HISTORY_H_
