// Dense numbers for the blocks or values of one analysis, fast through their `scratch` field.

#ifndef MTLC_ANALYSIS_NUMBERING_H_
#define MTLC_ANALYSIS_NUMBERING_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "mtlc/analysis/graph.h"

namespace mtlc::analysis {

// Numbers items 0, 1, … in the order of add() and writes the number into the item's `scratch`. A
// look-up checks the scratch number against the item, so the answer stays right when another pass
// reuses the field; it is only slower then (one hash map, built at the first miss).
template <typename T>
class Numbering {
 public:
  uint32_t add(T* item) {
    uint32_t number = size();
    item->scratch = number;
    items_.push_back(item);
    return number;
  }
  uint32_t size() const { return static_cast<uint32_t>(items_.size()); }
  T* operator[](uint32_t number) const { return items_[number]; }
  const std::vector<T*>& items() const { return items_; }

  // kNoNode for an item that was not added.
  uint32_t find(const T* item) const {
    if (item->scratch < items_.size() && items_[item->scratch] == item) return item->scratch;
    if (!slow_) {
      slow_ = std::make_unique<absl::flat_hash_map<const T*, uint32_t>>();
      for (uint32_t i = 0; i < items_.size(); ++i) slow_->emplace(items_[i], i);
    }
    auto it = slow_->find(item);
    return it == slow_->end() ? kNoNode : it->second;
  }

 private:
  std::vector<T*> items_;
  mutable std::unique_ptr<absl::flat_hash_map<const T*, uint32_t>> slow_;
};

}  // namespace mtlc::analysis

#endif  // MTLC_ANALYSIS_NUMBERING_H_
