#include "mtlc/codegen/ptx/layout.h"

#include <algorithm>
#include <utility>

namespace mtlc::ptx {

bool BlockLayout::spend() {
  if (budget_ == 0) return false;
  --budget_;
  return true;
}

void BlockLayout::push(ir::Block* block) {
  Frame& frame = stack_.emplace_back();
  frame.block = block;
  if (ir::Operation* term = block->terminator()) {
    for (ir::Successor& s : term->successors()) {
      if (frame.count < 2) frame.successors[frame.count++] = s.block();
    }
  }
}

// Innermost loop headers, found in one depth-first search: T. Wei, J. Mao, W. Zou, Y. Chen, "A New
// Algorithm for Identifying Loops in Decompilation" (SAS 2007), without the marking of irreducible
// entries. Walks up header chains are charged to a budget so that a deep nest of loops cannot make
// it quadratic; when it is spent the forest stays incomplete, which costs only the quality of the
// layout.
void BlockLayout::findLoops(ir::Block* entry) {
  auto enter = [&](ir::Block* block, uint32_t position) {
    BlockInfo& info = blocks_[block->scratch];
    info.visited = true;
    info.position = position;
    preorder_.push_back(block->scratch);
    push(block);
  };
  enter(entry, 1);
  while (!stack_.empty()) {
    Frame& frame = stack_.back();
    uint32_t b = frame.block->scratch;
    if (frame.next == frame.count) {
      blocks_[b].position = 0;
      stack_.pop_back();
      if (!stack_.empty()) tag(stack_.back().block->scratch, blocks_[b].header);
      continue;
    }
    ir::Block* next = frame.successors[frame.next++];
    uint32_t s = next->scratch;
    if (!blocks_[s].visited) {
      enter(next, blocks_[b].position + 1);
    } else if (blocks_[s].position > 0) {
      blocks_[s].isHeader = true;
      tag(b, s);
    } else {
      uint32_t h = blocks_[s].header;
      while (h != kNone && blocks_[h].position == 0 && spend()) h = blocks_[h].header;
      if (h != kNone && blocks_[h].position > 0) tag(b, h);
    }
  }
  // A header comes before the blocks of its loop in the search, so one sweep gives the depths.
  for (uint32_t b : preorder_) {
    BlockInfo& info = blocks_[b];
    info.depth = (info.header == kNone ? 0 : blocks_[info.header].depth) + (info.isHeader ? 1 : 0);
  }
}

// Puts `header` into the chain of loop headers above `block`, which is ordered by position.
void BlockLayout::tag(uint32_t block, uint32_t header) {
  if (header == kNone || block == header) return;
  uint32_t at = block;
  while (blocks_[at].header != kNone) {
    if (!spend()) return;
    uint32_t above = blocks_[at].header;
    if (above == header) return;
    if (blocks_[above].position < blocks_[header].position) {
      blocks_[at].header = header;
      at = header;
      header = above;
      if (at == header) return;
    } else {
      at = above;
    }
  }
  blocks_[at].header = header;
}

// True if the edge leaves the innermost loop that holds `from`.
bool BlockLayout::exits(uint32_t from, uint32_t to) {
  auto innermost = [&](uint32_t b) { return blocks_[b].isHeader ? b : blocks_[b].header; };
  uint32_t loop = innermost(from);
  if (loop == kNone) return false;
  uint32_t at = innermost(to);
  while (at != kNone && at != loop && blocks_[at].depth > blocks_[loop].depth && spend()) {
    at = blocks_[at].header;
  }
  return at != loop;
}

void BlockLayout::compute(const ir::Function& function) {
  ir::Block* entry = function.entry();
  order_.clear();
  loopDepth_.clear();
  if (entry->next() == nullptr) {
    entry->scratch = 0;
    order_.push_back(entry);
    loopDepth_.push_back(0);
    return;
  }
  blocks_.assign(function.numberBlocks(), BlockInfo());
  preorder_.clear();
  budget_ = 64 * uint64_t{blocks_.size()} + 1024;
  findLoops(entry);

  // Post-order, visiting first what is to stand last: exits of the loop, then the side not taken.
  auto enter = [&](ir::Block* block) {
    blocks_[block->scratch].placed = true;
    push(block);
    Frame& frame = stack_.back();
    if (frame.count != 2) return;
    bool exit0 = exits(block->scratch, frame.successors[0]->scratch);
    bool exit1 = exits(block->scratch, frame.successors[1]->scratch);
    if (!exit0 || exit1) std::swap(frame.successors[0], frame.successors[1]);
  };
  enter(entry);
  while (!stack_.empty()) {
    Frame& frame = stack_.back();
    if (frame.next == frame.count) {
      order_.push_back(frame.block);
      stack_.pop_back();
      continue;
    }
    ir::Block* next = frame.successors[frame.next++];
    if (!blocks_[next->scratch].placed) enter(next);
  }

  std::reverse(order_.begin(), order_.end());
  for (ir::Block* b : order_) loopDepth_.push_back(blocks_[b->scratch].depth);
  for (ir::Block& b : function.blocks()) b.scratch = kNone;
  uint32_t position = 0;
  for (ir::Block* b : order_) b->scratch = position++;
}

}  // namespace mtlc::ptx
