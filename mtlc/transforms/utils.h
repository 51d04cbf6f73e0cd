// What several passes need.

#ifndef MTLC_TRANSFORMS_UTILS_H_
#define MTLC_TRANSFORMS_UTILS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "mtlc/ir/ir.h"

namespace mtlc::transforms {

// Erases every block that the entry does not reach. Writes Block::scratch. Returns how many went.
uint64_t removeUnreachableBlocks(ir::Function& function);

// Constants at the top of a function's entry block, where they dominate everything: one for each
// type and value.
class ConstantPool {
 public:
  explicit ConstantPool(ir::Function& function) : function_(function) {}

  // `bits` is truncated to the type's width.
  ir::Value* get(ir::Type type, uint64_t bits);

  // Moves all constants of the function to the top of the entry block and merges equal ones.
  // Linear. Returns true if anything moved.
  bool collect();

 private:
  ir::Function& function_;
  absl::flat_hash_map<std::pair<uint64_t, uint64_t>, ir::Value*> values_;
  ir::Operation* last_ = nullptr;  // Of the constants at the top.
};

// The memory that an address is computed from: follows ptr.add and spacecast to a block argument,
// an allocation, a load …, at most kMaxAddressSteps steps. (Longer chains give an address on the
// way; instcombine makes them short.)
inline constexpr int kMaxAddressSteps = 64;
const ir::Value* baseOf(const ir::Value* address);

// True if every use of the allocation's address, and of addresses derived from it in ways that
// baseOf() traces back, is a load or store that is not volatile. With `stores`, appends the stores.
bool addressStaysLocal(ir::Operation* allocation, std::vector<ir::Operation*>* stores = nullptr);

}  // namespace mtlc::transforms

#endif  // MTLC_TRANSFORMS_UTILS_H_
