// What a thread knows of the others: the order of memory in kernels with atomics, fences or tensor
// operations (design: docs/interpreter.md, "Atomics").

#ifndef MTLC_INTERP_CLOCK_H_
#define MTLC_INTERP_CLOCK_H_

#include <array>
#include <cstdint>
#include <memory>

#include "mtlc/ir/ir.h"

namespace mtlc::interp {

// A map of numbers to numbers, 0 where nothing was set, whose join takes the greater value of each
// key. A tree of immutable nodes that copies share: copying costs nothing, and joining what
// differs, so that thousands of threads can know thousands.
class MaxMap {
 public:
  uint64_t get(uint64_t key) const;
  // The value becomes `value` if it is less.
  void raise(uint64_t key, uint64_t value);
  void join(const MaxMap& other);

 private:
  static constexpr unsigned kFanoutLog2 = 3;
  static constexpr unsigned kFanout = 1 << kFanoutLog2;
  struct Node;
  using Ref = std::shared_ptr<const Node>;
  struct Node {
    std::array<Ref, kFanout> children;          // Above the last level,
    std::array<uint64_t, kFanout> values = {};  // and on it.
  };
  static unsigned digit(uint64_t key, unsigned level) {
    return static_cast<unsigned>(key >> (kFanoutLog2 * level)) % kFanout;
  }
  static Ref raised(const Ref& node, unsigned level, uint64_t key, uint64_t value);
  static Ref joined(const Ref& a, const Ref& b);
  void growTo(unsigned levels);

  Ref root_;
  unsigned levels_ = 1;  // Keys are below kFanout to this power.
};

// For one region of memory.
struct Clock {
  // Of each thread of the launch, the last epoch whose accesses happen before what follows.
  MaxMap epochs;
  // Of each atomic location, the time of the last store that is known: none before it can be read.
  MaxMap stores;
};

struct Knowledge {
  std::array<Clock, 2> of;  // Workgroup, global.

  // `regions` is an ir::RegionMask.
  void join(const Knowledge& other, uint8_t regions = ir::kRegionWorkgroup | ir::kRegionGlobal) {
    for (unsigned i = 0; i < of.size(); ++i) {
      if ((regions >> i & 1) == 0) continue;
      of[i].epochs.join(other.of[i].epochs);
      of[i].stores.join(other.of[i].stores);
    }
  }
};

// How far apart two threads are, and how far a scope reaches. One device is all there is.
enum class Reach : uint8_t { Subgroup, Workgroup, Device };
inline constexpr unsigned kReaches = 3;
// The number of reaches that a scope includes: the first so many.
constexpr unsigned reachesOf(ir::Scope scope) {
  return scope >= ir::Scope::Device ? 3 : static_cast<unsigned>(scope);
}

// What sequentially consistent fences hand on, for each region.
using StoreOrder = std::array<MaxMap, 2>;

// Of one thread. An epoch ends when the thread publishes what it did.
struct ThreadClock {
  Knowledge current;
  // By reach: what stores that release nothing themselves publish, from the fences before them,
  std::array<Knowledge, kReaches> released;
  // and what loads that acquire nothing leave for a fence after them.
  std::array<Knowledge, kReaches> acquired;
  uint64_t epoch = 0;

  void nextEpoch(uint64_t thread) {
    ++epoch;
    for (Clock& clock : current.of) clock.epochs.raise(thread, epoch);
  }
};

}  // namespace mtlc::interp

#endif  // MTLC_INTERP_CLOCK_H_
