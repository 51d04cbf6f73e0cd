#include "mtlc/interp/access_history.h"

#include <algorithm>
#include <bit>
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
    decltype(page.moreReads) moreReads;
    for (const auto& [at, reads] : page.moreReads) {
      for (size_t i = at << shift; i < (at + 1) << shift; ++i) moreReads[i] = reads;
    }
    page.moreReads = std::move(moreReads);
  }
  page.granules = std::move(finer);
  page.granuleLog2 = granuleLog2;
  return true;
}

// True if nothing orders `before` before `now`.
bool AccessHistory::isUnordered(const Access& before, const Access& now, const Order& order) const {
  if (!before.exists()) return false;
  if (before.block != now.block) return scope_ == Scope::Global && !order.isBefore(before, now);
  return before.thread != now.thread && !order.isBefore(before, now);
}

// Keeps a read, in the place of one that says no more: an ordered one first. Of two unordered ones
// the second makes room if both are of another block (now the two stand for different blocks) or
// may be ordered by a barrier earlier than this one. With clocks nothing makes room.
void AccessHistory::remember(Page& page, size_t at, const Access& read, const Order& order) {
  Granule& granule = page.granules[at];
  for (Access& kept : granule.reads) {
    bool sameThread = kept.block == read.block && kept.thread == read.thread;
    if (!kept.exists() || sameThread || !isUnordered(kept, read, order)) {
      kept = read;
      return;
    }
  }
  if (order.hasClock()) {
    auto [entry, isNew] = page.moreReads[at].insert_or_assign(order.threadOf(read), read);
    if (isNew) budget_->take(2 * sizeof(*entry));
    return;
  }
  const Access& first = granule.reads[0];
  Access& second = granule.reads[1];
  if (first.block != second.block) return;
  if (first.block != read.block || second.phase < read.phase) second = read;
}

std::optional<Access> AccessHistory::record(uint64_t offset, uint32_t size, const Access& now,
                                            const Order& order) {
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

std::optional<Access> AccessHistory::findRace(uint64_t offset, uint32_t size, const Access& now,
                                              const Order& order) const {
  for (uint64_t at = offset; at < offset + size; ++at) {
    const Page& page = pages_[at / kPageBytes];
    if (page.granules.empty()) continue;
    if (auto race = raceWith(page, at % kPageBytes >> page.granuleLog2, now, order)) return race;
  }
  return std::nullopt;
}

std::optional<Access> AccessHistory::raceWith(const Page& page, size_t at, const Access& now,
                                              const Order& order) const {
  const Granule& granule = page.granules[at];
  if (isUnordered(granule.write, now, order)) return granule.write;
  if (!now.isWrite) return std::nullopt;
  for (const Access& read : granule.reads) {
    if (isUnordered(read, now, order)) return read;
  }
  if (auto more = page.moreReads.find(at); more != page.moreReads.end()) {
    for (const auto& [thread, read] : more->second) {
      if (isUnordered(read, now, order)) return read;
    }
  }
  return std::nullopt;
}

std::optional<Access> AccessHistory::recordOnPage(uint64_t offset, uint32_t size, const Access& now,
                                                  const Order& order) {
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
  for (size_t at = first; at < first + count; ++at) {
    if (!race) race = raceWith(page, at, now, order);
    if (!now.isWrite) {
      remember(page, at, now, order);
      continue;
    }
    page.granules[at] = {now, {}};
    if (!page.moreReads.empty()) page.moreReads.erase(at);
  }
  return race;
}

}  // namespace mtlc::interp
