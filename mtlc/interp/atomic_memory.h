// The atomic locations of memory: what was stored there, and who was there.

#ifndef MTLC_INTERP_ATOMIC_MEMORY_H_
#define MTLC_INTERP_ATOMIC_MEMORY_H_

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "mtlc/interp/access_history.h"
#include "mtlc/interp/budget.h"
#include "mtlc/interp/clock.h"
#include "mtlc/interp/init_bits.h"

namespace mtlc::interp {

// One store to a location. Memory itself always has the last.
struct Message {
  Reg value;
  uint64_t time = 0;    // Position in the order of the stores to the location.
  uint64_t thread = 0;  // Of the launch; kNobody for what was there before.
  // What who reads it acquires, by the reach from its writer.
  std::array<Knowledge, kReaches> released;

  static constexpr uint64_t kNobody = ~uint64_t{0};
};

struct Location {
  uint64_t id = 0;  // Key in Clock::stores.
  uint64_t address = 0;
  uint32_t bytes = 0;
  uint64_t time = 0;              // Of the last store.
  std::vector<Message> messages;  // The last few stores; empty: none since the last plain one.
  ir::Scope narrowest = ir::Scope::System;  // Of `visits`.

  // The last read and write of each thread with each scope.
  struct Visit {
    Access read, write;
    ir::Scope scope;
  };
  absl::flat_hash_map<uint64_t, Visit> visits;
};

class AtomicMemory {
 public:
  explicit AtomicMemory(MemoryBudget* budget) : budget_(budget) {}

  // The location that a byte belongs to; nullptr if none does.
  Location* find(uint64_t address) {
    auto found = byWord_.find(address / 4);
    return found == byWord_.end() ? nullptr : &locations_[found->second];
  }
  // Makes a location of 4 or 8 bytes, in the place of those that have some of its bytes.
  Location& make(uint64_t address, uint32_t bytes, uint64_t id) {
    budget_->take(sizeof(Location) + 2 * sizeof(Message));
    for (uint32_t at = 0; at < bytes; at += 4) {
      if (Location* old = find(address + at)) forget(*old);
    }
    for (uint32_t at = 0; at < bytes; at += 4) byWord_[(address + at) / 4] = locations_.size();
    Location& made = locations_.emplace_back();
    made.id = id;
    made.address = address;
    made.bytes = bytes;
    return made;
  }
  bool empty() const { return byWord_.empty(); }
  void clear() {
    byWord_.clear();
    locations_.clear();
  }

 private:
  void forget(Location& location) {
    for (uint32_t at = 0; at < location.bytes; at += 4) {
      byWord_.erase((location.address + at) / 4);
    }
    location.messages.clear();
    location.visits.clear();
  }

  absl::flat_hash_map<uint64_t, size_t> byWord_;
  std::deque<Location> locations_;
  MemoryBudget* budget_;
};

}  // namespace mtlc::interp

#endif  // MTLC_INTERP_ATOMIC_MEMORY_H_
