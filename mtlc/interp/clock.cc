#include "mtlc/interp/clock.h"

#include <algorithm>
#include <utility>

namespace mtlc::interp {

uint64_t MaxMap::get(uint64_t key) const {
  if (levels_ * kFanoutLog2 < 64 && key >> (levels_ * kFanoutLog2) != 0) return 0;
  const Node* node = root_.get();
  for (unsigned level = levels_ - 1; node && level > 0; --level) {
    node = node->children[digit(key, level)].get();
  }
  return node ? node->values[digit(key, 0)] : 0;
}

void MaxMap::growTo(unsigned levels) {
  for (; levels_ < levels; ++levels_) {
    if (!root_) continue;
    auto above = std::make_shared<Node>();
    above->children[0] = std::move(root_);
    root_ = std::move(above);
  }
}

void MaxMap::raise(uint64_t key, uint64_t value) {
  unsigned levels = 1;
  while (levels * kFanoutLog2 < 64 && key >> (levels * kFanoutLog2) != 0) ++levels;
  growTo(levels);
  root_ = raised(root_, levels_ - 1, key, value);
}

MaxMap::Ref MaxMap::raised(const Ref& node, unsigned level, uint64_t key, uint64_t value) {
  auto copy = node ? std::make_shared<Node>(*node) : std::make_shared<Node>();
  const unsigned at = digit(key, level);
  if (level == 0) {
    copy->values[at] = std::max(copy->values[at], value);
  } else {
    copy->children[at] = raised(copy->children[at], level - 1, key, value);
  }
  return copy;
}

void MaxMap::join(const MaxMap& other) {
  if (!other.root_ || root_ == other.root_) return;
  MaxMap same = other;
  same.growTo(levels_);
  growTo(same.levels_);
  root_ = joined(root_, same.root_);
}

// One of the two where it has all that the other has.
MaxMap::Ref MaxMap::joined(const Ref& a, const Ref& b) {
  if (!b || a == b) return a;
  if (!a) return b;
  Node both;
  bool isA = true;
  bool isB = true;
  for (unsigned i = 0; i < kFanout; ++i) {
    both.children[i] = joined(a->children[i], b->children[i]);
    both.values[i] = std::max(a->values[i], b->values[i]);
    isA &= both.children[i] == a->children[i] && both.values[i] == a->values[i];
    isB &= both.children[i] == b->children[i] && both.values[i] == b->values[i];
  }
  if (isA) return a;
  if (isB) return b;
  return std::make_shared<Node>(std::move(both));
}

}  // namespace mtlc::interp
