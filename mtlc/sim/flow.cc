#include "mtlc/sim/flow.h"

#include <algorithm>

namespace mtlc::sim {
namespace {

constexpr unsigned kMaxLoopDepth = 64;

class Flow {
 public:
  Flow(Program& program, const ProgramFunction& f) : p_(program), begin_(f.entry), end_(f.end) {}

  uint32_t run(uint32_t firstOrder) {
    findBlocks();
    std::vector<uint32_t> all(blocks_.size());
    for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
    region_.assign(blocks_.size(), 0);
    number_.assign(blocks_.size(), 0);
    arrange(all, 0);
    uint32_t order = firstOrder;
    for (uint32_t b : result_) {
      uint32_t stop = b + 1 < blocks_.size() ? blocks_[b + 1] : end_;
      for (uint32_t i = blocks_[b]; i < stop; ++i) p_.code[i].order = order;
      ++order;
    }
    return order;
  }

 private:
  bool endsBlock(const Instr& in) const {
    switch (in.op) {
      case Op::branch:
      case Op::branchTable:
      case Op::call:
      case Op::ret:
      case Op::exit:
      case Op::trap:
      case Op::barrier:
      case Op::group:
      case Op::yield:
        return true;
      default:
        return false;
    }
  }
  bool startsBlock(const Instr& in) const {
    return in.op == Op::barrier || in.op == Op::collective || in.op == Op::matrix ||
           in.op == Op::group;
  }
  bool fallsThrough(const Instr& in) const {
    switch (in.op) {
      case Op::branch:
      case Op::exit:
        return in.guard != kNoRef;
      case Op::branchTable:
      case Op::ret:
      case Op::trap:
        return false;
      default:
        return true;
    }
  }

  void findBlocks() {
    std::vector<bool> leader(end_ - begin_ + 1, false);
    if (end_ > begin_) leader[0] = true;
    for (uint32_t i = begin_; i < end_; ++i) {
      const Instr& in = p_.code[i];
      if (in.op == Op::branch) leader[in.target - begin_] = true;
      if (in.op == Op::branchTable) {
        for (uint32_t t : p_.branchTables[in.ext].targets) leader[t - begin_] = true;
      }
      if (endsBlock(in)) leader[i + 1 - begin_] = true;
      if (startsBlock(in)) leader[i - begin_] = true;
      if (in.op == Op::join) leader[i + 1 - begin_] = true;
    }
    blockOf_.resize(end_ - begin_);
    for (uint32_t i = begin_; i < end_; ++i) {
      if (leader[i - begin_]) blocks_.push_back(i);
      blockOf_[i - begin_] = static_cast<uint32_t>(blocks_.size() - 1);
    }
    successors_.resize(blocks_.size());
    for (uint32_t b = 0; b < blocks_.size(); ++b) {
      uint32_t last = (b + 1 < blocks_.size() ? blocks_[b + 1] : end_) - 1;
      const Instr& in = p_.code[last];
      auto& out = successors_[b];
      if (in.op == Op::branch) out.push_back(blockOf_[in.target - begin_]);
      if (in.op == Op::branchTable) {
        for (uint32_t t : p_.branchTables[in.ext].targets) out.push_back(blockOf_[t - begin_]);
      }
      if (fallsThrough(in) && last + 1 < end_) out.push_back(blockOf_[last + 1 - begin_]);
    }
  }

  // Appends the blocks of `nodes` to the result: strongly connected components in topological
  // order, each loop's header before the rest of the loop, which is arranged in the same way.
  void arrange(const std::vector<uint32_t>& nodes, unsigned depth) {
    uint32_t mark = ++regions_;
    for (uint32_t n : nodes) region_[n] = mark;
    std::vector<std::vector<uint32_t>> components = connected(nodes, mark);
    // Tarjan's algorithm yields them in reverse.
    for (auto it = components.rbegin(); it != components.rend(); ++it) {
      std::vector<uint32_t>& c = *it;
      if (c.size() == 1 || depth >= kMaxLoopDepth) {
        std::sort(c.begin(), c.end());
        result_.insert(result_.end(), c.begin(), c.end());
        continue;
      }
      uint32_t header = c[0];  // The node the search entered first.
      result_.push_back(header);
      c.erase(c.begin());
      arrange(c, depth + 1);
    }
  }

  std::vector<std::vector<uint32_t>> connected(const std::vector<uint32_t>& nodes, uint32_t mark) {
    struct Visit {
      uint32_t node;
      uint32_t next;
    };
    std::vector<std::vector<uint32_t>> out;
    std::vector<uint32_t> stack;
    std::vector<Visit> path;
    uint32_t counter = 0;
    for (uint32_t n : nodes) number_[n] = 0;
    low_.resize(blocks_.size());
    onStack_.resize(blocks_.size());
    std::vector<uint32_t> roots = nodes;
    std::sort(roots.begin(), roots.end());
    for (uint32_t root : roots) {
      if (number_[root] != 0) continue;
      auto enter = [&](uint32_t n) {
        number_[n] = low_[n] = ++counter;
        stack.push_back(n);
        onStack_[n] = true;
        path.push_back({n, 0});
      };
      enter(root);
      while (!path.empty()) {
        Visit& v = path.back();
        if (v.next < successors_[v.node].size()) {
          uint32_t s = successors_[v.node][v.next++];
          if (region_[s] != mark) continue;
          if (number_[s] == 0) {
            enter(s);
          } else if (onStack_[s]) {
            low_[v.node] = std::min(low_[v.node], number_[s]);
          }
          continue;
        }
        uint32_t n = v.node;
        path.pop_back();
        if (!path.empty()) low_[path.back().node] = std::min(low_[path.back().node], low_[n]);
        if (low_[n] != number_[n]) continue;
        std::vector<uint32_t> component;
        uint32_t m;
        do {
          m = stack.back();
          stack.pop_back();
          onStack_[m] = false;
          component.push_back(m);
        } while (m != n);
        std::reverse(component.begin(), component.end());  // n, entered first, comes first.
        out.push_back(std::move(component));
      }
    }
    return out;
  }

  Program& p_;
  uint32_t begin_;
  uint32_t end_;
  std::vector<uint32_t> blocks_;   // First instruction of each.
  std::vector<uint32_t> blockOf_;  // By instruction - begin_.
  std::vector<std::vector<uint32_t>> successors_;
  std::vector<uint32_t> region_;  // Which arrange() call owns the block.
  std::vector<uint32_t> number_;
  std::vector<uint32_t> low_;
  std::vector<bool> onStack_;
  std::vector<uint32_t> result_;
  uint32_t regions_ = 0;
};

}  // namespace

uint32_t orderBlocks(Program& program, uint32_t index, uint32_t firstOrder) {
  return Flow(program, program.functions[index]).run(firstOrder);
}

}  // namespace mtlc::sim
