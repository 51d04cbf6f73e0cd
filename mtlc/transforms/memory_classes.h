// Which accesses of one function can touch the same memory: a coarse partition that costs one walk
// over the function.

#ifndef MTLC_TRANSFORMS_MEMORY_CLASSES_H_
#define MTLC_TRANSFORMS_MEMORY_CLASSES_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "mtlc/ir/ir.h"

namespace mtlc::transforms {

// Every address belongs to a class: an allocation whose address goes nowhere but into accesses has
// a class of its own, other addresses the class of their space. Accesses of different classes never
// overlap, except that Generic overlaps Global, Workgroup and Private. Constant memory is never
// written.
class MemoryClasses {
 public:
  enum : uint32_t { kGeneric, kGlobal, kWorkgroup, kPrivate, kConstant, kFirstAllocation };

  explicit MemoryClasses(const ir::Function& function);

  uint32_t size() const { return kFirstAllocation + static_cast<uint32_t>(allocations_.size()); }
  uint32_t classOf(const ir::Value* address) const;
  bool overlap(uint32_t a, uint32_t b) const {
    return a == b || (a == kGeneric && b < kConstant) || (b == kGeneric && a < kConstant);
  }
  // True if other work-items can write to it, so that a barrier may change what it holds.
  bool isShared(uint32_t c) const {
    if (c < kFirstAllocation) return c != kPrivate && c != kConstant;
    return allocations_[c - kFirstAllocation]->opcode() == ir::Opcode::AllocWorkgroup;
  }
  // True if a called function may write to it, or wait at a barrier that makes others' writes
  // visible.
  bool mayCallWrite(uint32_t c) const { return c < kConstant || isShared(c); }

 private:
  std::vector<const ir::Operation*> allocations_;
  absl::flat_hash_map<const ir::Value*, uint32_t> classes_;
};

}  // namespace mtlc::transforms

#endif  // MTLC_TRANSFORMS_MEMORY_CLASSES_H_
