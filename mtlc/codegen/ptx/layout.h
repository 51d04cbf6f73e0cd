// The order of a function's blocks in the PTX text.

#ifndef MTLC_CODEGEN_PTX_LAYOUT_H_
#define MTLC_CODEGEN_PTX_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "mtlc/ir/ir.h"

namespace mtlc::ptx {

// A reverse post-order in which loops are contiguous and the taken side of a branch comes first, so
// that the common shapes need no jump: a definition always stands before its uses. Linear in the
// number of blocks. One object serves many functions and keeps its storage.
class BlockLayout {
 public:
  // Block::scratch becomes the position in order(), ~0u for unreachable blocks.
  void compute(const ir::Function& function);

  const std::vector<ir::Block*>& order() const { return order_; }  // Reachable blocks.
  uint32_t loopDepth(uint32_t position) const { return loopDepth_[position]; }

 private:
  struct Frame {
    ir::Block* block;
    unsigned next = 0;
    unsigned count = 0;
    ir::Block* successors[2] = {};
  };
  static constexpr uint32_t kNone = ~0u;

  void findLoops(ir::Block* entry);
  void tag(uint32_t block, uint32_t header);
  bool exits(uint32_t from, uint32_t to);
  bool spend();
  void push(ir::Block* block);

  std::vector<ir::Block*> order_;
  std::vector<uint32_t> loopDepth_;
  std::vector<Frame> stack_;
  // By block number, in the order of the function.
  struct BlockInfo {
    uint32_t header = kNone;  // Of the innermost loop around it; of a header, the next outer one.
    uint32_t position = 0;    // On the search path, from 1; 0 when not on it.
    uint32_t depth = 0;
    bool visited = false;
    bool isHeader = false;
    bool placed = false;
  };
  std::vector<BlockInfo> blocks_;
  std::vector<uint32_t> preorder_;
  uint64_t budget_ = 0;
};

}  // namespace mtlc::ptx

#endif  // MTLC_CODEGEN_PTX_LAYOUT_H_
