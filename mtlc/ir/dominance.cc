#include "mtlc/ir/dominance.h"

#include <algorithm>

namespace mtlc::ir {
namespace {
constexpr uint32_t kNone = ~0u;
}  // namespace

std::vector<Block*> reversePostOrder(const Function& function) {
  for (Block& block : function.blocks()) block.scratch = kNone;
  std::vector<Block*> order;
  if (!function.entry()) return order;
  struct Frame {
    Block* block;
    unsigned next;
  };
  std::vector<Frame> stack;
  // kNone - 1 marks "on the way"; the final numbers are below the block count.
  function.entry()->scratch = kNone - 1;
  stack.push_back({function.entry(), 0});
  while (!stack.empty()) {
    Frame& top = stack.back();
    Operation* term = top.block->terminator();
    if (term && top.next < term->successorCount()) {
      Block* to = term->successor(top.next++).block();
      if (to && to->scratch == kNone) {
        to->scratch = kNone - 1;
        stack.push_back({to, 0});
      }
      continue;
    }
    order.push_back(top.block);
    stack.pop_back();
  }
  std::reverse(order.begin(), order.end());
  for (uint32_t i = 0; i < order.size(); ++i) order[i]->scratch = i;
  return order;
}

DominatorTree::DominatorTree(const Function& function) {
  // Semi-NCA. The depth-first numbering below is a preorder, which differs from the RPO numbers;
  // `pre` maps RPO number to preorder number.
  rpo_ = reversePostOrder(function);
  uint32_t n = static_cast<uint32_t>(rpo_.size());
  idom_.assign(n, kNone);
  in_.assign(n, 0);
  out_.assign(n, 0);
  if (n == 0) return;

  std::vector<uint32_t> pre(n, kNone), vertex, parent;
  vertex.reserve(n);
  parent.reserve(n);
  struct Frame {
    uint32_t node;
    unsigned next;
  };
  std::vector<Frame> stack;
  pre[0] = 0;
  vertex.push_back(0);
  parent.push_back(kNone);
  stack.push_back({0, 0});
  while (!stack.empty()) {
    Frame& top = stack.back();
    Operation* term = rpo_[top.node]->terminator();
    if (!term || top.next >= term->successorCount()) {
      stack.pop_back();
      continue;
    }
    uint32_t to = term->successor(top.next++).block()->scratch;
    if (pre[to] != kNone) continue;
    parent.push_back(pre[top.node]);
    pre[to] = static_cast<uint32_t>(vertex.size());
    vertex.push_back(to);
    stack.push_back({to, 0});
  }

  // Everything from here is in preorder numbers.
  std::vector<uint32_t> semi(n), label(n), ancestor(parent), idom(parent);
  for (uint32_t i = 0; i < n; ++i) semi[i] = label[i] = i;
  std::vector<uint32_t> path;
  // The vertex of least semidominator on the compressed path above v, among those numbered above
  // `limit`.
  auto eval = [&](uint32_t v, uint32_t limit) {
    if (v < limit) return v;
    path.clear();
    uint32_t u = v;
    while (ancestor[u] != kNone && ancestor[u] >= limit) {
      path.push_back(u);
      u = ancestor[u];
    }
    uint32_t best = label[u];
    uint32_t top = u;
    for (size_t i = path.size(); i-- > 0;) {
      uint32_t p = path[i];
      if (semi[best] < semi[label[p]]) label[p] = best;
      best = label[p];
      ancestor[p] = ancestor[top];
    }
    return label[v];
  };
  for (uint32_t w = n - 1; w >= 1; --w) {
    Block* block = rpo_[vertex[w]];
    semi[w] = parent[w];
    for (Successor* s = block->firstPredecessor(); s; s = s->nextPredecessor()) {
      Block* from = s->owner()->block();
      if (!from || from->scratch >= n) continue;
      uint32_t v = pre[from->scratch];
      // Processed vertices (above w) are those whose semidominators are final.
      uint32_t candidate = v <= w ? v : semi[eval(v, w + 1)];
      semi[w] = std::min(semi[w], candidate);
    }
    label[w] = w;
  }
  for (uint32_t w = 1; w < n; ++w) {
    uint32_t d = parent[w];
    while (d > semi[w]) d = idom[d];
    idom[w] = d;
  }
  for (uint32_t w = 1; w < n; ++w) idom_[vertex[w]] = vertex[idom[w]];

  // Interval numbering for constant-time queries.
  std::vector<std::vector<uint32_t>> kids(n);
  for (uint32_t i = 1; i < n; ++i) kids[idom_[i]].push_back(i);
  uint32_t clock = 0;
  in_[0] = clock++;
  stack.push_back({0, 0});
  while (!stack.empty()) {
    Frame& top = stack.back();
    if (top.next < kids[top.node].size()) {
      uint32_t k = kids[top.node][top.next++];
      in_[k] = clock++;
      stack.push_back({k, 0});
    } else {
      out_[top.node] = clock++;
      stack.pop_back();
    }
  }
}

Block* DominatorTree::idom(const Block* block) const {
  if (!reachable(block) || idom_[block->scratch] == kNone) return nullptr;
  return rpo_[idom_[block->scratch]];
}

bool DominatorTree::dominates(const Block* a, const Block* b) const {
  if (a == b || !reachable(b)) return true;
  if (!reachable(a)) return false;
  return in_[a->scratch] <= in_[b->scratch] && out_[b->scratch] <= out_[a->scratch];
}

bool DominatorTree::dominates(const Value* value, const Operation* user) const {
  const Block* from = value->block();
  const Block* to = user->block();
  if (from != to) return from != nullptr && dominates(from, to);
  if (value->isBlockArg()) return true;
  for (const Operation* op = user->prev(); op; op = op->prev()) {
    if (op == value->def()) return true;
  }
  return false;
}

std::vector<std::vector<Block*>> DominatorTree::children() const {
  std::vector<std::vector<Block*>> kids(rpo_.size());
  for (uint32_t i = 1; i < rpo_.size(); ++i) {
    if (idom_[i] != kNone) kids[idom_[i]].push_back(rpo_[i]);
  }
  return kids;
}

}  // namespace mtlc::ir
