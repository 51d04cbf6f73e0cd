#include "mtlc/interp/access_history.h"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

namespace mtlc::interp {

AccessHistory::AccessHistory(uint64_t bytes, Scope scope, MemoryBudget* budget)
    : scope_(scope), budget_(budget) {
  uint64_t pages = (bytes + kPageBytes - 1) / kPageBytes;
  if (budget_->take(pages * sizeof(Page))) pages_.resize(pages);
}

// Gives the page granules of 2^granuleLog2 bytes, which is less than before or the first time.
bool AccessHistory::refine(Page& page, uint8_t granuleLog2) {
  size_t count = kPageBytes >> granuleLog2;
  if (!budget_->take((count - page.granules.size()) * sizeof(Granule))) return false;
  std::vector<Granule> finer(count);
  if (!page.granules.empty()) {
    unsigned shift = page.granuleLog2 - granuleLog2;
    for (size_t i = 0; i < count; ++i) finer[i] = page.granules[i >> shift];
  }
  page.granules = std::move(finer);
  page.granuleLog2 = granuleLog2;
  return true;
}

// True if nothing orders `before` before `now`.
bool AccessHistory::isUnordered(const Access& before, const Access& now,
                                const BarrierOrder& order) const {
  if (!before.exists()) return false;
  if (before.block != now.block) return scope_ == Scope::Global;
  return before.thread != now.thread && !order.isBefore(before.phase);
}

// Keeps a read, in the place of one that says no more: an ordered one first. Of two unordered ones
// the second makes room if both are of another block (now the two stand for different blocks) or
// may be ordered by a barrier earlier than this one.
void AccessHistory::remember(Granule& granule, const Access& read,
                             const BarrierOrder& order) const {
  for (Access& kept : granule.reads) {
    bool sameThread = kept.block == read.block && kept.thread == read.thread;
    if (!kept.exists() || sameThread || !isUnordered(kept, read, order)) {
      kept = read;
      return;
    }
  }
  const Access& first = granule.reads[0];
  Access& second = granule.reads[1];
  if (first.block != second.block) return;
  if (first.block != read.block || second.phase < read.phase) second = read;
}

std::optional<Access> AccessHistory::record(uint64_t offset, uint32_t size, const Access& now,
                                            const BarrierOrder& order) {
  std::optional<Access> race;
  while (size > 0) {  // Once, but for an access that straddles pages.
    uint32_t onPage =
        static_cast<uint32_t>(std::min<uint64_t>(size, kPageBytes - offset % kPageBytes));
    std::optional<Access> found = recordOnPage(offset, onPage, now, order);
    if (!race) race = found;
    offset += onPage;
    size -= onPage;
  }
  return race;
}

std::optional<Access> AccessHistory::recordOnPage(uint64_t offset, uint32_t size, const Access& now,
                                                  const BarrierOrder& order) {
  if (budget_->exhausted()) return std::nullopt;
  Page& page = pages_[offset / kPageBytes];
  // The largest granules that the access is made of.
  uint8_t granuleLog2 = static_cast<uint8_t>(std::countr_zero(offset | size));
  if (page.granules.empty() || granuleLog2 < page.granuleLog2) {
    if (!refine(page, granuleLog2)) return std::nullopt;
  }
  size_t first = offset % kPageBytes >> page.granuleLog2;
  size_t count = size_t{size} >> page.granuleLog2;
  std::optional<Access> race;
  for (Granule& granule : std::span(page.granules).subspan(first, count)) {
    if (!race && isUnordered(granule.write, now, order)) race = granule.write;
    if (!now.isWrite) {
      remember(granule, now, order);
      continue;
    }
    for (Access& read : granule.reads) {
      if (!race && isUnordered(read, now, order)) race = read;
      read = {};
    }
    granule.write = now;
  }
  return race;
}

}  // namespace mtlc::interp
