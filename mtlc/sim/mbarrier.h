// The mbarrier object (PTX ISA 9.7.13.15): phases, pending arrivals, and bytes of asynchronous
// copies.
//
// An object lives beside shared memory, keyed by its offset; its eight bytes there are opaque and
// hold nothing. A wait that fails suspends its lanes: test_wait for one turn of their warp, after
// it answered; try_wait for a few, before it does. Nobody starves while others spin, and when all
// that is left in a block is waits that failed again and again, it is a deadlock.

#ifndef MTLC_SIM_MBARRIER_H_
#define MTLC_SIM_MBARRIER_H_

#include <cstdint>

namespace mtlc::sim {

inline constexpr uint32_t kMaxArrivals = (1u << 20) - 1;
inline constexpr int64_t kMaxTransactionBytes = (1 << 20) - 1;

struct Mbarrier {
  uint32_t expected = 0;  // Arrivals of a phase, those that dropped taken off.
  uint32_t pending = 0;   // Missing in the current phase.
  int64_t bytes = 0;      // The tx-count.
  uint64_t phase = 0;     // The current one.

  bool complete() const { return pending == 0 && bytes == 0; }
  void nextPhase() {
    ++phase;
    pending = expected;
  }
};

// The opaque state that an arrival returns: the phase it belongs to, and the pending count before.
constexpr uint64_t mbarrierState(uint64_t phase, uint32_t pending) {
  return phase << 20 | (pending & kMaxArrivals);
}
constexpr uint64_t statePhase(uint64_t state) { return state >> 20; }
constexpr uint32_t statePending(uint64_t state) {
  return static_cast<uint32_t>(state) & kMaxArrivals;
}

// Group::patience: what a group that looks again does when it is still in vain.
inline constexpr uint32_t kPatienceOver = ~uint32_t{0};         // Goes on with `false`.
inline constexpr uint32_t kPatienceForever = ~uint32_t{0} - 1;  // Waits on.

}  // namespace mtlc::sim

#endif  // MTLC_SIM_MBARRIER_H_
