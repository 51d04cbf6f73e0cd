// The device heap: what malloc() and free() of a kernel work on.
//
// Blocks lie in one allocation of the launch, with gaps between them; a freed block is used again
// as late as possible. So an access beside a block, or to one that was freed, can be named.

#ifndef MTLC_SIM_HEAP_H_
#define MTLC_SIM_HEAP_H_

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>

#include "mtlc/sim/memory.h"

namespace mtlc::sim {

// Thread-safe, but for open().
class DeviceHeap {
 public:
  enum class Place : uint8_t { inside, freed, outside };

  // Gives the heap its memory. Without it every allocation fails.
  void open(Allocation* memory);
  Allocation* memory() const { return memory_; }
  // A block of at least `bytes` at a multiple of 16, never of size 0; 0 when there is no room.
  uint64_t allocate(uint64_t bytes);
  // False when `address` is not the begin of a live block.
  bool free(uint64_t address);
  // Where the range lies: inside a live block, inside a freed one, or neither.
  Place place(uint64_t address, uint64_t bytes) const;
  // "8 bytes past the end of a block of 16 bytes from malloc"
  std::string describe(uint64_t address) const;

 private:
  struct Block {
    uint64_t bytes;     // As asked for.
    uint64_t reserved;  // With the gap behind it.
    bool live;
  };

  uint64_t take(uint64_t bytes, uint64_t reserved);
  void recycle(uint64_t begin);

  Allocation* memory_ = nullptr;
  mutable std::mutex mutex_;
  std::map<uint64_t, Block> blocks_;   // By begin.
  std::map<uint64_t, uint64_t> free_;  // Begin and size of ranges without a block.
  std::deque<uint64_t> freed_;         // Dead blocks, oldest first.
};

}  // namespace mtlc::sim

#endif  // MTLC_SIM_HEAP_H_
