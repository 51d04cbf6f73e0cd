// Looks through the private memory of a function: which store a load sees, as if the slots had been
// promoted to SSA.
//
// Front ends keep local variables in `alloc.private` slots, and the verifier must give the same
// verdict before and after promotion. This analysis renames the scalar slots without touching the
// IR, so that the others can follow values through variables.

#ifndef MTLC_ANALYSIS_PRIVATE_SLOTS_H_
#define MTLC_ANALYSIS_PRIVATE_SLOTS_H_

#include <span>
#include <string>
#include <vector>

#include "mtlc/analysis/cfg.h"

namespace mtlc::analysis {

// A snapshot of the reachable blocks: valid until the function changes. Construction writes
// Operation::scratch of the accesses. The work is bounded by a multiple of the function's size:
// past it, the remaining slots are treated as arrays, which every client must handle anyway.
class PrivateSlots {
 public:
  explicit PrivateSlots(const Cfg& cfg);

  enum class Kind : uint8_t {
    Scalar,   // One element, only loaded and stored whole: reaching() tells what a load sees.
    Array,    // Only loaded and stored, at addresses made by ptr.add: a load may see any store.
    Escaped,  // Its address goes elsewhere (a call, memory, a cast, a select): a load may see
              // anything.
  };
  struct Slot {
    ir::Operation* alloc;
    Kind kind;
  };
  // What a scalar slot holds at a point: a store's value, a merge, or nothing yet.
  struct Definition {
    enum class Kind : uint8_t { Uninitialized, Store, Merge };
    Kind kind = Kind::Uninitialized;
    uint32_t index = 0;  // Of an access or of a merge.
    friend bool operator==(Definition, Definition) = default;
  };
  struct Incoming {
    uint32_t from;  // A block.
    Definition definition;
  };
  // Where definitions meet: what would become a block argument.
  struct Merge {
    uint32_t slot;
    uint32_t block;
    uint32_t first;  // Into the list of all incoming definitions.
    uint32_t count;  // One for each edge into the block.
  };

  const std::vector<Slot>& slots() const { return slots_; }
  const std::vector<Merge>& merges() const { return merges_; }
  std::span<const Incoming> incoming(const Merge& merge) const {
    return {incoming_.data() + merge.first, merge.count};
  }

  // Loads and stores of slots have numbers; kNoNode for other operations.
  uint32_t accessIndex(const ir::Operation* op) const { return accesses_.find(op); }
  ir::Operation* access(uint32_t index) const { return accesses_[index]; }
  uint32_t accessCount() const { return accesses_.size(); }
  uint32_t slotOf(uint32_t access) const { return slotOfAccess_[access]; }
  // For a load from a scalar slot.
  Definition reaching(uint32_t access) const { return reaching_[access]; }

 private:
  void findSlots(const Cfg& cfg);
  void placeMerges(const Cfg& cfg, std::span<const uint32_t> idom);
  void rename(const Cfg& cfg, std::span<const uint32_t> idom);

  std::vector<Slot> slots_;
  Numbering<ir::Operation> accesses_;
  std::vector<uint32_t> slotOfAccess_;
  std::vector<Definition> reaching_;
  std::vector<Merge> merges_;
  std::vector<Incoming> incoming_;
};

}  // namespace mtlc::analysis

#endif  // MTLC_ANALYSIS_PRIVATE_SLOTS_H_
