// What all blocks of one launch share.

#ifndef MTLC_INTERP_LAUNCH_STATE_H_
#define MTLC_INTERP_LAUNCH_STATE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "mtlc/interp/access_history.h"
#include "mtlc/interp/atomic_memory.h"
#include "mtlc/interp/budget.h"
#include "mtlc/interp/interpreter.h"

namespace mtlc::interp {

// Collects faults of all host threads, each distinct one once.
class FaultLog {
 public:
  explicit FaultLog(uint32_t limit) : limit_(limit) {}

  // What makes faults distinct: the row, and the operation or pair of operations.
  struct Key {
    DiagId id;
    uint32_t inst = 0;
    uint32_t otherInst = 0;
    friend bool operator==(const Key&, const Key&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& k) {
      return H::combine(std::move(h), static_cast<uint16_t>(k.id), k.inst, k.otherInst);
    }
  };

  // True for the first fault of its key: the caller then makes it and calls add().
  bool isNew(const Key& key);
  void add(uint64_t blockIndex, Fault fault);
  bool full() const { return full_.load(std::memory_order_relaxed); }
  // In the order of blocks, then of time.
  std::vector<Fault> take();

 private:
  struct Entry {
    uint64_t blockIndex;
    Fault fault;
  };
  std::mutex mutex_;
  absl::flat_hash_set<Key> seen_;
  std::vector<Entry> entries_;
  uint32_t limit_;
  std::atomic<bool> full_{false};
};

struct LaunchState {
  LaunchState(const Program& program, Memory& memory, const LaunchSpec& spec,
              const FunctionCode& kernel);

  bool checks(FaultKind kind) const { return (spec.options.checks & checkBit(kind)) != 0; }
  // True if the fault is to be reported: its kind is checked, and it is the first of its key.
  bool isNewFault(FaultKind kind, const FaultLog::Key& key) {
    return (kind == FaultKind::Steps || checks(kind)) && faults.isNew(key);
  }
  bool stopped() const {
    return stop.load(std::memory_order_relaxed) || budget.exhausted() || faults.full();
  }

  const Program& program;
  Memory& memory;
  const LaunchSpec& spec;
  const FunctionCode& kernel;
  std::vector<uint64_t> params;  // The values of the kernel's parameters.
  uint64_t blockThreads;
  uint64_t gridBlocks;

  MemoryBudget budget;
  std::vector<AccessHistory> histories;  // Of the buffers; empty without the race check.
  FaultLog faults;
  std::atomic<bool> stop{false};

  // The kernel has atomics or fences: its blocks run interleaved, on one host thread.
  bool hasAtomics = false;
  // Clocks order accesses: with atomics, fences and tensor operations.
  bool hasClocks = false;
  bool hasAsync = false;
  AtomicMemory globalAtomics;
  uint64_t locations = 0;  // Made so far, of all blocks.
  StoreOrder scDevice;

  // With several host threads, one of these guards each page of a buffer: contents and history.
  bool parallel;
  std::array<std::mutex, 256> pageLocks;
};

}  // namespace mtlc::interp

#endif  // MTLC_INTERP_LAUNCH_STATE_H_
