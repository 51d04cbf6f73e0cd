#include "mtlc/sim/checkers/race_cells.h"

#include <algorithm>

namespace mtlc::sim {
namespace {

bool ordered(uint64_t tag, const ScanAccess& a) { return tag == 0 || tag - a.low < a.span; }

}  // namespace

void Cells::refine(unsigned bytes) {
  while ((1u << shift_) > bytes) {
    // Each cell becomes two.
    --shift_;
    split(writes_);
    split(reads_);
  }
}

CellRun Cells::at(uint64_t offset, size_t& available, bool reads, bool writes) {
  uint64_t cell = offset >> shift_;
  size_t page = cell / kPageCells, in = cell % kPageCells;
  available = kPageCells - in;
  CellRun out{nullptr, nullptr, nullptr, nullptr};
  if (Page* w = find(writes_, page, writes)) {
    Full& full = w->full != nullptr ? *w->full : spread(*w);
    out.writeTag = full.tag + in;
    out.writeInfo = full.info + in;
  }
  if (Page* r = find(reads_, page, reads)) {
    Full& full = r->full != nullptr ? *r->full : spread(*r);
    out.readTag = full.tag + in;
    out.readInfo = full.info + in;
  }
  return out;
}

void Cells::forget(uint64_t offset, uint64_t bytes) {
  for (uint64_t cell = offset >> shift_; cell << shift_ < offset + bytes; ++cell) {
    size_t available;
    CellRun c = at(cell << shift_, available, false, false);
    if (c.writeTag != nullptr) *c.writeTag = 0;
    if (c.readTag != nullptr) *c.readTag = 0;
  }
}

bool Cells::findSpot(const Page& page, const Run& run, Spot& spot) {
  if (page.full != nullptr) return false;
  const std::vector<Run>& runs = page.runs;
  unsigned end = run.begin + run.count;
  if (end > kPageCells) return false;
  spot.same = false;
  if (runs.empty() || runs.back().begin + runs.back().count <= run.begin) {
    spot.at = runs.size();
  } else {
    auto it = std::lower_bound(runs.begin(), runs.end(), run.begin,
                               [](const Run& r, uint16_t begin) { return r.begin < begin; });
    spot.at = static_cast<size_t>(it - runs.begin());
    if (it != runs.end() && it->begin < end) {
      spot.same = it->begin == run.begin && it->count == run.count && it->perLane == run.perLane &&
                  ((it->info ^ run.info) & kLaneField) == 0;
      return spot.same;
    }
    if (it != runs.begin() && std::prev(it)->begin + std::prev(it)->count > run.begin) return false;
  }
  return runs.size() < kMaxPageRuns;
}

void Cells::put(Page& page, const Run& run, const Spot& spot) {
  if (spot.same) {
    page.runs[spot.at] = run;
  } else {
    page.runs.insert(page.runs.begin() + static_cast<ptrdiff_t>(spot.at), run);
  }
}

bool Cells::loadRun(uint64_t offset, unsigned lanes, unsigned perLane, const ScanAccess& a,
                    bool checkWrites) {
  uint64_t cell = offset >> shift_;
  size_t page = cell / kPageCells;
  Run run{static_cast<uint16_t>(cell % kPageCells), static_cast<uint16_t>(lanes * perLane), perLane,
          a.tag, a.info};
  Spot spot;
  if (const Page* w = checkWrites ? find(writes_, page, false) : nullptr) {
    if (!findSpot(*w, run, spot)) return false;
    if (spot.same && !ordered(w->runs[spot.at].tag, a) && w->runs[spot.at].tag != a.tag)
      return false;
  }
  Page& r = *find(reads_, page, true);
  if (!findSpot(r, run, spot)) return false;
  if (spot.same) {
    const Run& old = r.runs[spot.at];
    if (!ordered(old.tag, a)) run.info |= manyReaders(old.tag, old.info, a.tag, a.info);
  }
  put(r, run, spot);
  return true;
}

bool Cells::storeRun(uint64_t offset, unsigned lanes, unsigned perLane, const ScanAccess& a) {
  uint64_t cell = offset >> shift_;
  size_t page = cell / kPageCells;
  Run run{static_cast<uint16_t>(cell % kPageCells), static_cast<uint16_t>(lanes * perLane), perLane,
          a.tag, a.info};
  Spot read, spot;
  Page* r = find(reads_, page, false);
  if (r != nullptr) {
    if (!findSpot(*r, run, read)) return false;
    if (read.same) {
      const Run& old = r->runs[read.at];
      bool own = old.tag == a.tag && (old.info & kMany) == 0;
      if (!ordered(old.tag, a) && !own) return false;
    }
  }
  Page& w = *find(writes_, page, true);
  if (!findSpot(w, run, spot)) return false;
  if (spot.same && !ordered(w.runs[spot.at].tag, a) && w.runs[spot.at].tag != a.tag) return false;
  put(w, run, spot);
  if (r != nullptr && read.same) r->runs.erase(r->runs.begin() + static_cast<ptrdiff_t>(read.at));
  return true;
}

Cells::Page* Cells::find(Pages& pages, size_t page, bool create) const {
  if (page >= pages.size()) {
    if (!create) return nullptr;
    pages.resize(std::max(page + 1, static_cast<size_t>((bytes_ >> shift_) / kPageCells + 1)));
  }
  if (pages[page] == nullptr && create) pages[page] = std::make_unique<Page>();
  return pages[page].get();
}

Cells::Full& Cells::spread(Page& page) {
  page.full.reset(new Full);
  for (const Run& r : page.runs) {
    for (unsigned i = 0; i < r.count; ++i) {
      page.full->tag[r.begin + i] = r.tag;
      page.full->info[r.begin + i] = r.info + (uint64_t{i / r.perLane} << kLaneShift);
    }
  }
  page.runs.clear();
  page.runs.shrink_to_fit();
  return *page.full;
}

void Cells::split(Pages& pages) {
  Pages old = std::move(pages);
  pages.clear();
  pages.resize(old.size() * 2);
  for (size_t p = 0; p < old.size(); ++p) {
    if (old[p] == nullptr) continue;
    const Full& from = old[p]->full != nullptr ? *old[p]->full : spread(*old[p]);
    for (size_t half = 0; half < 2; ++half) {
      pages[2 * p + half] = std::make_unique<Page>();
      Full& to = spread(*pages[2 * p + half]);
      for (size_t i = 0; i < kPageCells; ++i) {
        size_t at = half * (kPageCells / 2) + i / 2;
        to.tag[i] = from.tag[at];
        to.info[i] = to.tag[i] == 0 ? 0 : from.info[at];
      }
    }
  }
}

}  // namespace mtlc::sim
