#include "mtlc/analysis/loops.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace mtlc::analysis {
namespace {

using EdgeList = std::vector<Digraph::Edge>;

// The depth-first tree from the entry and what the loop search needs of it.
struct DepthFirstTree {
  std::vector<uint32_t> preorder;   // Blocks.
  std::vector<uint32_t> parent;     // Blocks by block.
  std::vector<EdgeList> backEdges;  // By target.
  std::vector<EdgeList>
      crossingEdges;  // Forward and cross edges, by the lowest common ancestor of their ends.

  explicit DepthFirstTree(const Cfg& cfg)
      : parent(cfg.size(), kNoNode), backEdges(cfg.size()), crossingEdges(cfg.size()) {
    enum : uint8_t { kNew, kOpen, kDone };
    std::vector<uint8_t> state(cfg.size(), kNew);
    // Finished blocks are united with their parents, so the representative of a finished block is
    // its lowest open ancestor: the lowest common ancestor with the block being visited.
    DisjointSets openAncestor(cfg.size());
    struct Frame {
      uint32_t block;
      uint32_t next;
    };
    std::vector<Frame> stack;
    auto open = [&](uint32_t block) {
      state[block] = kOpen;
      preorder.push_back(block);
      stack.push_back({block, 0});
    };
    if (cfg.size() > 0) open(0);
    while (!stack.empty()) {
      const uint32_t from = stack.back().block;
      if (stack.back().next == cfg.succs(from).size()) {
        stack.pop_back();
        state[from] = kDone;
        if (parent[from] != kNoNode) openAncestor.unite(from, parent[from]);
        continue;
      }
      const uint32_t to = cfg.succs(from)[stack.back().next++];
      if (state[to] == kNew) {
        parent[to] = from;
        open(to);
      } else if (state[to] == kOpen) {
        backEdges[to].push_back({from, to});
      } else {
        crossingEdges[openAncestor.find(to)].push_back({from, to});
      }
    }
  }
};

// Finds the loops from the inside out. Headers are visited in reverse preorder; a finished loop is
// collapsed into its header, so each block is in one worklist only once.
struct LoopSearch {
  std::vector<uint32_t>
      loopParent;  // By block: header of the innermost loop that it is in without heading it.
  std::vector<bool> isHeader, irreducible;

  LoopSearch(const Cfg& cfg, const DepthFirstTree& tree)
      : loopParent(cfg.size(), kNoNode),
        isHeader(cfg.size(), false),
        irreducible(cfg.size(), false),
        collapsed_(cfg.size()),
        marked_(cfg.size()),
        inserted_(cfg.size()) {
    std::vector<bool> inBody(cfg.size(), false);
    std::vector<uint32_t> body;
    for (size_t i = tree.preorder.size(); i-- > 0;) {
      const uint32_t header = tree.preorder[i];
      for (const Digraph::Edge& e : tree.crossingEdges[header]) {
        inserted_[collapsed_.find(e.to)].push_back(e.from);
        markEntered(e.to);
      }
      if (tree.backEdges[header].empty()) continue;
      isHeader[header] = true;
      body.clear();
      auto take = [&](uint32_t block) {
        block = collapsed_.find(block);
        if (block == header || inBody[block]) return;
        inBody[block] = true;
        body.push_back(block);
      };
      for (const Digraph::Edge& e : tree.backEdges[header]) take(e.from);
      for (size_t k = 0; k < body.size(); ++k) {
        const uint32_t block = body[k];
        take(tree.parent[block]);
        for (uint32_t from : inserted_[block]) take(from);
      }
      for (uint32_t block : body) {
        inBody[block] = false;
        loopParent[block] = header;
        collapsed_.unite(block, header);
      }
    }
  }

 private:
  // An edge enters the loops found so far that `block` is in and doesn't head: it comes from
  // outside all of them.
  void markEntered(uint32_t block) {
    for (uint32_t header = loopParent[block]; header != kNoNode; header = loopParent[header]) {
      header = marked_.find(header);
      irreducible[header] = true;
      if (loopParent[header] == kNoNode) break;
      marked_.unite(header, loopParent[header]);
    }
  }

  DisjointSets collapsed_, marked_;
  std::vector<std::vector<uint32_t>>
      inserted_;  // Sources of crossing edges, by the block they lead to.
};

}  // namespace

LoopForest::LoopForest(const Cfg& cfg) : cfg_(&cfg), innermost_(cfg.size(), kNoNode) {
  const LoopSearch search(cfg, DepthFirstTree(cfg));
  // A header is an ancestor in the depth-first tree of all it heads, so it has a smaller number
  // than its body.
  std::vector<uint32_t> loopHeadedBy(cfg.size(), kNoNode), parents;
  for (uint32_t block = 0; block < cfg.size(); ++block) {
    const uint32_t parentHeader = search.loopParent[block];
    const uint32_t around = parentHeader == kNoNode ? kNoNode : loopHeadedBy[parentHeader];
    innermost_[block] = around;
    if (!search.isHeader[block]) continue;
    innermost_[block] = loopHeadedBy[block] = size();
    parents.push_back(around);
    loops_.push_back({block, around, around == kNoNode ? 1 : loops_[around].depth + 1,
                      search.irreducible[block]});
  }
  order_ = ForestOrder(parents);

  // Counting sort of the blocks by their innermost loop's place in the preorder.
  std::vector<uint32_t> begin(size() + 1, 0);
  for (uint32_t block = 0; block < cfg.size(); ++block) {
    if (innermost_[block] != kNoNode) ++begin[order_.preorderIndex(innermost_[block]) + 1];
  }
  for (uint32_t i = 0; i < size(); ++i) begin[i + 1] += begin[i];
  groupBegin_.resize(size());
  groupEnd_.resize(size());
  for (uint32_t loop = 0; loop < size(); ++loop) {
    groupBegin_[loop] = begin[order_.preorderIndex(loop)];
    groupEnd_[loop] = begin[order_.lastIndex(loop) + 1];
  }
  grouped_.resize(begin.back());
  for (uint32_t block = 0; block < cfg.size(); ++block) {
    if (innermost_[block] != kNoNode) {
      grouped_[begin[order_.preorderIndex(innermost_[block])]++] = block;
    }
  }
}

std::span<const uint32_t> LoopForest::blocks(uint32_t loop) const {
  return {grouped_.data() + groupBegin_[loop], groupEnd_[loop] - groupBegin_[loop]};
}

std::vector<uint32_t> LoopForest::latches(uint32_t loop) const {
  std::vector<uint32_t> result;
  for (uint32_t from : cfg_->preds(loops_[loop].header)) {
    if (contains(loop, from) && (result.empty() || result.back() != from)) result.push_back(from);
  }
  return result;
}

std::vector<ir::Successor*> LoopForest::exits(uint32_t loop) const {
  std::vector<ir::Successor*> result;
  for (uint32_t block : blocks(loop)) {
    ir::Operation* term = cfg_->block(block)->terminator();
    if (!term) continue;
    for (ir::Successor& s : term->successors()) {
      if (!contains(loop, cfg_->index(s.block()))) result.push_back(&s);
    }
  }
  return result;
}

std::vector<uint32_t> LoopForest::entries(uint32_t loop) const {
  std::vector<uint32_t> result;
  for (uint32_t block : blocks(loop)) {
    std::span<const uint32_t> preds = cfg_->preds(block);
    bool entered = block == 0 || std::any_of(preds.begin(), preds.end(),
                                             [&](uint32_t from) { return !contains(loop, from); });
    if (entered) result.push_back(block);
  }
  return result;
}

uint32_t LoopForest::preheader(uint32_t loop) const {
  if (loops_[loop].irreducible || loops_[loop].header == 0) return kNoNode;
  uint32_t outside = kNoNode;
  for (uint32_t from : cfg_->preds(loops_[loop].header)) {
    if (contains(loop, from)) continue;
    if (outside != kNoNode) return kNoNode;
    outside = from;
  }
  return outside != kNoNode && cfg_->succs(outside).size() == 1 ? outside : kNoNode;
}

bool LoopForest::isInvariant(uint32_t loop, const ir::Value* value) const {
  const uint32_t block = cfg_->index(value->block());
  return block != kNoNode && !contains(loop, block);
}

namespace {

// The value as a constant, whether or not it is defined in the loop.
std::optional<uint64_t> constantOf(const ir::Value* value) {
  const ir::Operation* op = ir::asConst(value);
  if (!op || !value->type().isInt()) return std::nullopt;
  return op->constBits();
}

// If `next` is `value` plus or minus a constant, that constant modulo the width.
std::optional<uint64_t> stepFrom(const ir::Value* value, const ir::Value* next) {
  const ir::Operation* op = next->def();
  if (!op) return std::nullopt;
  if (op->opcode() == ir::Opcode::Add) {
    if (op->operand(0) == value) return constantOf(op->operand(1));
    if (op->operand(1) == value) return constantOf(op->operand(0));
  } else if (op->opcode() == ir::Opcode::Sub && op->operand(0) == value) {
    if (auto c = constantOf(op->operand(1))) return -*c & value->type().mask();
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> countBackEdges(ir::Opcode compare, unsigned width, uint64_t first,
                                       uint64_t step, uint64_t bound) {
  using ir::Opcode;
  if (compare == Opcode::CmpEq) {
    if (first != bound) return 0;
    return step != 0 ? std::optional<uint64_t>(1) : std::nullopt;
  }
  const bool isSigned = compare == Opcode::CmpSlt || compare == Opcode::CmpSle ||
                        compare == Opcode::CmpSgt || compare == Opcode::CmpSge;
  auto value = [&](uint64_t bits) {
    return isSigned ? static_cast<__int128>(ir::signExtend(bits, width))
                    : static_cast<__int128>(bits);
  };
  const __int128 low = isSigned ? -(static_cast<__int128>(1) << (width - 1)) : 0;
  const __int128 high = low + (static_cast<__int128>(1) << width) - 1;
  const __int128 stride = ir::signExtend(step, width);
  // The distance to go before the comparison fails; measured in the direction of the stride.
  __int128 distance;
  const __int128 gap = value(bound) - value(first);
  switch (compare) {
    case Opcode::CmpNe: {
      if (gap == 0) return 0;
      if (stride == 0) return std::nullopt;
      // The comparison has no sign: the way must not wrap as signed numbers or as unsigned ones.
      const __int128 signedGap = static_cast<__int128>(ir::signExtend(bound, width)) -
                                 static_cast<__int128>(ir::signExtend(first, width));
      for (const __int128 g : {gap, signedGap}) {
        if (g % stride == 0 && g / stride > 0) return static_cast<uint64_t>(g / stride);
      }
      return std::nullopt;
    }
    case Opcode::CmpSlt:
    case Opcode::CmpUlt:
      distance = gap;
      break;
    case Opcode::CmpSle:
    case Opcode::CmpUle:
      distance = gap + 1;
      break;
    case Opcode::CmpSgt:
    case Opcode::CmpUgt:
      distance = -gap;
      break;
    case Opcode::CmpSge:
    case Opcode::CmpUge:
      distance = -gap + 1;
      break;
    default:
      return std::nullopt;
  }
  if (distance <= 0) return 0;
  const bool down = compare == Opcode::CmpSgt || compare == Opcode::CmpUgt ||
                    compare == Opcode::CmpSge || compare == Opcode::CmpUge;
  const __int128 forward = down ? -stride : stride;
  if (forward <= 0) return std::nullopt;
  const __int128 count = (distance + forward - 1) / forward;
  const __int128 last = value(first) + count * stride;
  if (last < low || last > high) return std::nullopt;
  return static_cast<uint64_t>(count);
}

std::optional<CountedLoop> matchCountedLoop(const LoopForest& loops, uint32_t loop) {
  const Cfg& cfg = loops.cfg();
  if (loops[loop].irreducible) return std::nullopt;
  const std::vector<uint32_t> latches = loops.latches(loop);
  const std::vector<ir::Successor*> exits = loops.exits(loop);
  if (latches.size() != 1 || exits.size() != 1) return std::nullopt;
  ir::Operation* branch = exits[0]->owner();
  ir::Block* header = cfg.block(loops[loop].header);
  ir::Block* latch = cfg.block(latches[0]);
  if (branch->block() != header && branch->block() != latch) return std::nullopt;
  const ir::Operation* compare = branch->operand(0)->def();
  if (!compare || compare->form() != ir::Form::Compare || !compare->operand(0)->type().isInt()) {
    return std::nullopt;
  }

  ir::Value* tested = compare->operand(0);
  ir::Value* bound = compare->operand(1);
  ir::Opcode opcode = compare->opcode();
  auto invariant = [&](const ir::Value* v) {
    return loops.isInvariant(loop, v) || constantOf(v).has_value();
  };
  if (invariant(tested)) {
    std::swap(tested, bound);
    opcode = ir::swappedCompare(opcode);
  }
  if (!invariant(bound) || invariant(tested)) return std::nullopt;
  if (exits[0]->index() == 0) opcode = ir::invertedCompare(opcode);

  // One back edge and one entry edge decide the induction argument.
  ir::Successor* back = nullptr;
  ir::Successor* enter = nullptr;
  for (ir::Successor* s = header->firstPredecessor(); s; s = s->nextPredecessor()) {
    const uint32_t from = cfg.index(s->owner()->block());
    if (from == kNoNode) continue;
    ir::Successor*& slot = loops.contains(loop, from) ? back : enter;
    if (slot) return std::nullopt;
    slot = s;
  }
  if (!back || !enter) return std::nullopt;
  for (ir::Value* arg : header->args()) {
    ir::Value* next = back->owner()->successorArg(back->index(), arg->argIndex());
    if (tested != arg && tested != next) continue;
    const std::optional<uint64_t> step = stepFrom(arg, next);
    if (!step) continue;
    ir::Value* start = enter->owner()->successorArg(enter->index(), arg->argIndex());
    CountedLoop result{arg, start, *step, branch, opcode, tested, bound, std::nullopt};
    auto first = constantOf(start);
    auto last = constantOf(bound);
    if (first && last) {
      const uint64_t mask = arg->type().mask();
      const uint64_t testedFirst = tested == arg ? *first : (*first + *step) & mask;
      result.backEdges = countBackEdges(opcode, arg->type().bits(), testedFirst, *step, *last);
    }
    return result;
  }
  return std::nullopt;
}

std::string printLoops(const ir::Function& function) {
  const Cfg cfg(function);
  const LoopForest loops(cfg);
  const BlockLabels labels(function);
  std::string out;
  for (uint32_t i = 0; i < loops.size(); ++i) {
    absl::StrAppend(&out, "  loop ", i, " header: ", labels[cfg.block(loops[i].header)],
                    " depth: ", loops[i].depth, " blocks: ", loops.blocks(i).size());
    if (loops[i].irreducible) {
      absl::StrAppend(&out, " irreducible, entries:");
      for (uint32_t b : loops.entries(i)) absl::StrAppend(&out, " ", labels[cfg.block(b)]);
    }
    absl::StrAppend(&out, " latches:");
    for (uint32_t b : loops.latches(i)) absl::StrAppend(&out, " ", labels[cfg.block(b)]);
    absl::StrAppend(&out, " exits:");
    for (ir::Successor* s : loops.exits(i)) {
      absl::StrAppend(&out, " ", labels[s->owner()->block()], "->", labels[s->block()]);
    }
    if (auto counted = matchCountedLoop(loops, i)) {
      absl::StrAppend(&out, " counted");
      if (counted->backEdges) absl::StrAppend(&out, ", back edges: ", *counted->backEdges);
    }
    absl::StrAppend(&out, "\n");
  }
  return out;
}

}  // namespace mtlc::analysis
