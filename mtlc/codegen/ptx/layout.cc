#include "mtlc/codegen/ptx/layout.h"

#include <algorithm>
#include <utility>

namespace mtlc::ptx {

namespace {

constexpr uint32_t kNone = ~0u;

// Innermost loop headers, found in one depth-first search: T. Wei, J. Mao, W. Zou, Y. Chen, "A New
// Algorithm for Identifying Loops in Decompilation" (SAS 2007), without the marking of irreducible
// entries. Walks up header chains are charged to a budget so that a deep nest of loops cannot make
// it quadratic; when it is spent the forest stays incomplete, which costs only the quality of the
// layout.
class LoopForest {
 public:
  explicit LoopForest(const ir::Function& function) {
    uint32_t n = function.numberBlocks();
    header_.assign(n, kNone);
    position_.assign(n, 0);
    visited_.assign(n, false);
    isHeader_.assign(n, false);
    preorder_.reserve(n);
    budget_ = 64 * uint64_t{n} + 1024;
    search(function.entry());
    // A header comes before the blocks of its loop in the search, so one sweep gives the depths.
    depth_.assign(n, 0);
    for (uint32_t b : preorder_) {
      uint32_t outer = header_[b] == kNone ? 0 : depth_[header_[b]];
      depth_[b] = outer + (isHeader_[b] ? 1 : 0);
    }
  }

  uint32_t depth(uint32_t block) const { return depth_[block]; }

  // True if the edge leaves the innermost loop that holds `from`.
  bool exits(uint32_t from, uint32_t to) {
    uint32_t loop = isHeader_[from] ? from : header_[from];
    if (loop == kNone) return false;
    uint32_t at = isHeader_[to] ? to : header_[to];
    while (at != kNone && at != loop && depth_[at] > depth_[loop] && spend()) at = header_[at];
    return at != loop;
  }

 private:
  struct Frame {
    ir::Block* block;
    unsigned nextSuccessor;
  };

  bool spend() {
    if (budget_ == 0) return false;
    --budget_;
    return true;
  }

  void search(ir::Block* entry) {
    std::vector<Frame> stack;
    enter(entry, 1, stack);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      uint32_t b = frame.block->scratch;
      ir::Operation* term = frame.block->terminator();
      if (term == nullptr || frame.nextSuccessor == term->successorCount()) {
        position_[b] = 0;
        stack.pop_back();
        if (!stack.empty()) tag(stack.back().block->scratch, header_[b]);
        continue;
      }
      ir::Block* next = term->successor(frame.nextSuccessor++).block();
      uint32_t s = next->scratch;
      if (!visited_[s]) {
        enter(next, position_[b] + 1, stack);
      } else if (position_[s] > 0) {
        isHeader_[s] = true;
        tag(b, s);
      } else if (header_[s] != kNone) {
        uint32_t h = header_[s];
        while (h != kNone && position_[h] == 0 && spend()) h = header_[h];
        if (h != kNone && position_[h] > 0) tag(b, h);
      }
    }
  }

  void enter(ir::Block* block, uint32_t position, std::vector<Frame>& stack) {
    visited_[block->scratch] = true;
    position_[block->scratch] = position;
    preorder_.push_back(block->scratch);
    stack.push_back({block, 0});
  }

  // Puts `header` into the chain of loop headers above `block`, which is ordered by position.
  void tag(uint32_t block, uint32_t header) {
    if (header == kNone || block == header) return;
    uint32_t at = block;
    while (header_[at] != kNone) {
      if (!spend()) return;
      uint32_t above = header_[at];
      if (above == header) return;
      if (position_[above] < position_[header]) {
        header_[at] = header;
        at = header;
        header = above;
        if (at == header) return;
      } else {
        at = above;
      }
    }
    header_[at] = header;
  }

  std::vector<uint32_t> header_;    // Innermost loop's header, of headers the next outer one.
  std::vector<uint32_t> position_;  // On the search path, from 1; 0 when not on it.
  std::vector<bool> visited_;
  std::vector<bool> isHeader_;
  std::vector<uint32_t> preorder_;
  std::vector<uint32_t> depth_;
  uint64_t budget_ = 0;
};

}  // namespace

BlockLayout layoutBlocks(const ir::Function& function) {
  BlockLayout layout;
  ir::Block* entry = function.entry();
  if (entry->next() == nullptr) {
    entry->scratch = 0;
    ir::Operation* term = entry->terminator();
    layout.order = {entry};
    layout.loopDepth = {term != nullptr && term->successorCount() != 0 ? 1u : 0u};
    return layout;
  }
  LoopForest loops(function);

  // Post-order, visiting first what is to stand last: exits of the loop, then the side not taken.
  struct Frame {
    ir::Block* block;
    unsigned next = 0;
    unsigned count = 0;
    ir::Block* successors[2] = {};
  };
  std::vector<bool> visited(function.numberBlocks(), false);
  std::vector<Frame> stack;
  auto enter = [&](ir::Block* block) {
    visited[block->scratch] = true;
    Frame frame{block};
    if (ir::Operation* term = block->terminator()) {
      for (ir::Successor& s : term->successors()) {
        if (frame.count < 2) frame.successors[frame.count++] = s.block();
      }
    }
    if (frame.count == 2) {
      bool exit0 = loops.exits(block->scratch, frame.successors[0]->scratch);
      bool exit1 = loops.exits(block->scratch, frame.successors[1]->scratch);
      if (!exit0 || exit1) std::swap(frame.successors[0], frame.successors[1]);
    }
    stack.push_back(frame);
  };
  std::vector<ir::Block*> postOrder;
  enter(entry);
  while (!stack.empty()) {
    Frame& frame = stack.back();
    if (frame.next == frame.count) {
      postOrder.push_back(frame.block);
      stack.pop_back();
      continue;
    }
    ir::Block* next = frame.successors[frame.next++];
    if (!visited[next->scratch]) enter(next);
  }

  layout.order.assign(postOrder.rbegin(), postOrder.rend());
  layout.loopDepth.reserve(layout.order.size());
  for (ir::Block* b : layout.order) layout.loopDepth.push_back(loops.depth(b->scratch));
  for (ir::Block& b : function.blocks()) b.scratch = kNone;
  uint32_t position = 0;
  for (ir::Block* b : layout.order) b->scratch = position++;
  return layout;
}

}  // namespace mtlc::ptx
