// A bound on the host memory that one launch may take.

#ifndef MTLC_INTERP_BUDGET_H_
#define MTLC_INTERP_BUDGET_H_

#include <atomic>
#include <cstdint>

namespace mtlc::interp {

class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t bytes) : left_(static_cast<int64_t>(bytes)) {}

  // Takes `bytes`; false, for good, once they are more than what is left.
  bool take(uint64_t bytes) {
    if (left_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed) >=
        static_cast<int64_t>(bytes)) {
      return true;
    }
    exhausted_.store(true, std::memory_order_relaxed);
    return false;
  }
  void giveBack(uint64_t bytes) {
    left_.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  }
  bool exhausted() const { return exhausted_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> left_;
  std::atomic<bool> exhausted_{false};
};

}  // namespace mtlc::interp

#endif  // MTLC_INTERP_BUDGET_H_
