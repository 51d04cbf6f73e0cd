#include "mtlc/sim/spirv/normalise.h"

#include <functional>
#include <queue>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "spirv/unified1/spirv.hpp11"

namespace mtlc::sim::spirv {
namespace {

constexpr size_t kHeaderWords = 5;
constexpr uint32_t kNone = UINT32_MAX;
constexpr size_t kMaxBlocks = 1u << 14;  // More are not looked at.

struct BlockWords {
  size_t first;  // The label.
  size_t end;
  std::vector<uint32_t> successors;
};

// Labels that the last instruction of a block may name: every operand, for no other id is a label.
std::span<const uint32_t> terminatorWords(std::span<const uint32_t> in) {
  switch (static_cast<spv::Op>(in[0] & spv::OpCodeMask)) {
    case spv::Op::OpBranch:
    case spv::Op::OpBranchConditional:
    case spv::Op::OpSwitch:
      return in.subspan(1);
    default:
      return {};
  }
}

class FunctionOrder {
 public:
  explicit FunctionOrder(std::vector<BlockWords>& blocks) : blocks_(blocks) {}

  // The numbers of the blocks in their new order; empty when they are in order.
  std::vector<uint32_t> order() {
    numberBlocks();
    findDominators();
    bool inOrder = true;
    for (uint32_t b = 1; b < blocks_.size(); ++b) {
      inOrder = inOrder && (dominator_[b] == kNone || dominator_[b] < b);
    }
    if (inOrder) return {};
    std::vector<std::vector<uint32_t>> children(blocks_.size());
    std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
    for (uint32_t b = 0; b < blocks_.size(); ++b) {
      if (b == 0 || dominator_[b] == kNone) {
        ready.push(b);
      } else {
        children[dominator_[b]].push_back(b);
      }
    }
    std::vector<uint32_t> out;
    while (!ready.empty()) {
      uint32_t b = ready.top();
      ready.pop();
      out.push_back(b);
      for (uint32_t c : children[b]) ready.push(c);
    }
    return out;
  }

 private:
  // Post-order numbers of the blocks that control reaches.
  void numberBlocks() {
    number_.assign(blocks_.size(), kNone);
    std::vector<bool> seen(blocks_.size());
    std::vector<std::pair<uint32_t, size_t>> stack = {{0, 0}};
    seen[0] = true;
    while (!stack.empty()) {
      auto& [b, next] = stack.back();
      if (next < blocks_[b].successors.size()) {
        uint32_t s = blocks_[b].successors[next++];
        if (!seen[s]) {
          seen[s] = true;
          stack.emplace_back(s, 0);
        }
        continue;
      }
      number_[b] = static_cast<uint32_t>(postOrder_.size());
      postOrder_.push_back(b);
      stack.pop_back();
    }
  }

  // Cooper, Harvey and Kennedy: A Simple, Fast Dominance Algorithm.
  void findDominators() {
    std::vector<std::vector<uint32_t>> predecessors(blocks_.size());
    for (uint32_t b : postOrder_) {
      for (uint32_t s : blocks_[b].successors) predecessors[s].push_back(b);
    }
    dominator_.assign(blocks_.size(), kNone);
    dominator_[0] = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (auto it = postOrder_.rbegin(); it != postOrder_.rend(); ++it) {
        uint32_t b = *it;
        if (b == 0) continue;
        uint32_t d = kNone;
        for (uint32_t p : predecessors[b]) {
          if (dominator_[p] == kNone) continue;
          d = d == kNone ? p : meet(d, p);
        }
        changed = changed || d != dominator_[b];
        dominator_[b] = d;
      }
    }
  }

  uint32_t meet(uint32_t a, uint32_t b) const {
    while (a != b) {
      while (number_[a] < number_[b]) a = dominator_[a];
      while (number_[b] < number_[a]) b = dominator_[b];
    }
    return a;
  }

  std::vector<BlockWords>& blocks_;
  std::vector<uint32_t> number_;
  std::vector<uint32_t> postOrder_;
  std::vector<uint32_t> dominator_;
};

void appendVariables(std::span<const uint32_t> words, const std::vector<BlockWords>& blocks,
                     std::vector<uint32_t>& out) {
  for (const BlockWords& b : blocks) {
    for (size_t at = b.first; at < b.end; at += words[at] >> spv::WordCountShift) {
      if (static_cast<spv::Op>(words[at] & spv::OpCodeMask) != spv::Op::OpVariable) continue;
      out.insert(out.end(), words.begin() + static_cast<ptrdiff_t>(at),
                 words.begin() + static_cast<ptrdiff_t>(at + (words[at] >> spv::WordCountShift)));
    }
  }
}

// Appends the blocks of a function, whose labels are `labels`.
void appendBlocks(std::span<const uint32_t> words, bool shaders, std::vector<BlockWords>& blocks,
                  const std::unordered_map<uint32_t, uint32_t>& labels,
                  std::vector<uint32_t>& out) {
  std::vector<uint32_t> order;
  if (blocks.size() > 2 && blocks.size() <= kMaxBlocks) {
    for (BlockWords& block : blocks) {
      for (size_t at = block.first; at < block.end; at += words[at] >> spv::WordCountShift) {
        for (uint32_t w : terminatorWords(words.subspan(at, words[at] >> spv::WordCountShift))) {
          auto it = labels.find(w);
          if (it != labels.end()) block.successors.push_back(it->second);
        }
      }
    }
    order = FunctionOrder(blocks).order();
  }
  auto append = [&](const BlockWords& b) {
    for (size_t at = b.first; at < b.end;) {
      size_t count = words[at] >> spv::WordCountShift;
      auto op = static_cast<spv::Op>(words[at] & spv::OpCodeMask);
      bool leftOut = op == spv::Op::OpVariable ||
                     (!shaders && (op == spv::Op::OpLoopMerge || op == spv::Op::OpSelectionMerge));
      if (!leftOut) {
        out.insert(out.end(), words.begin() + static_cast<ptrdiff_t>(at),
                   words.begin() + static_cast<ptrdiff_t>(at + count));
      }
      at += count;
      if (at == b.first + count && &b == blocks.data()) appendVariables(words, blocks, out);
    }
  };
  if (order.empty()) {
    for (const BlockWords& b : blocks) append(b);
  } else {
    for (uint32_t b : order) append(blocks[b]);
  }
  blocks.clear();
}

// `words` without the instructions of debug information, and the names of their results. False:
// they make no sense.
bool dropDebugInfo(std::span<const uint32_t> words, std::vector<uint32_t>& out) {
  constexpr std::string_view kSet = "OpenCL.DebugInfo.";
  std::unordered_set<uint32_t> sets, dropped;
  // Names come before what they name.
  for (bool write : {false, true}) {
    for (size_t at = kHeaderWords; at < words.size();) {
      uint32_t count = words[at] >> spv::WordCountShift;
      if (count == 0 || count > words.size() - at) return false;
      spv::Op op = static_cast<spv::Op>(words[at] & spv::OpCodeMask);
      bool leave = false;
      if (op == spv::Op::OpExtInstImport && count > 2) {
        std::string_view name(reinterpret_cast<const char*>(&words[at + 2]), 4 * (count - 2));
        if (name.substr(0, kSet.size()) == kSet) sets.insert(words[at + 1]);
      } else if (op == spv::Op::OpExtInst && count > 4 && sets.count(words[at + 3]) != 0) {
        dropped.insert(words[at + 2]);
        leave = true;
      } else if (op == spv::Op::OpName && count > 1) {
        leave = dropped.count(words[at + 1]) != 0;
      }
      if (write && !leave) {
        out.insert(out.end(), words.begin() + static_cast<ptrdiff_t>(at),
                   words.begin() + static_cast<ptrdiff_t>(at + count));
      }
      at += count;
    }
  }
  return true;
}

}  // namespace

std::vector<uint32_t> normalised(std::span<const uint32_t> given) {
  std::vector<uint32_t> same(given.begin(), given.end());
  if (given.size() < kHeaderWords || given[0] != spv::MagicNumber) return same;
  std::vector<uint32_t> words(given.begin(), given.begin() + kHeaderWords);
  if (!dropDebugInfo(given, words)) return same;
  std::vector<uint32_t> out(words.begin(), words.begin() + kHeaderWords);
  out.reserve(words.size());
  std::vector<BlockWords> blocks;
  std::unordered_map<uint32_t, uint32_t> labels;
  bool shaders = false;
  for (size_t at = kHeaderWords; at < words.size();) {
    uint32_t count = words[at] >> spv::WordCountShift;
    if (count == 0 || count > words.size() - at) return same;
    spv::Op op = static_cast<spv::Op>(words[at] & spv::OpCodeMask);
    if (op == spv::Op::OpCapability && count == 2) {
      shaders = shaders || static_cast<spv::Capability>(words[at + 1]) == spv::Capability::Shader;
    }
    if (op == spv::Op::OpLabel && count == 2) {
      labels[words[at + 1]] = static_cast<uint32_t>(blocks.size());
      blocks.push_back({at, at + count, {}});
    } else if (op == spv::Op::OpFunctionEnd || blocks.empty()) {
      appendBlocks(words, shaders, blocks, labels, out);
      labels.clear();
      out.insert(out.end(), words.begin() + static_cast<ptrdiff_t>(at),
                 words.begin() + static_cast<ptrdiff_t>(at + count));
    } else {
      blocks.back().end = at + count;
    }
    at += count;
  }
  return blocks.empty() ? out : same;
}

}  // namespace mtlc::sim::spirv
