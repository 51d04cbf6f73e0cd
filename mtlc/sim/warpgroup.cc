#include "mtlc/sim/warpgroup.h"

#include <algorithm>

#include "mtlc/sim/access.h"
#include "mtlc/sim/async.h"
#include "mtlc/sim/launch_state.h"
#include "mtlc/sim/matrix/descriptor.h"
#include "mtlc/sim/matrix/fragments.h"

namespace mtlc::sim {
namespace {

// Adds the chunks of an operand. Lane values are those of the lowest lane.
void addChunks(Warp& w, const Instr& in, unsigned source, unsigned lane, bool byMn, unsigned first,
               unsigned lines, unsigned depth, Element e, std::vector<uint32_t>& out) {
  MatrixDescriptor d = decodeDescriptor(w.r64(in.src[source])[lane]);
  appendChunks(d, byMn, first, lines, depth, containerBits(e, false), out);
}

// Checks the chunks as loads of 16 bytes, which the lanes share, and tells observers. False when
// one is no place to read from.
bool chunksAreFine(Warp& w, const Instr& in, const std::vector<uint32_t>& chunks) {
  const LaunchState& launch = *w.block->launch;
  uint32_t most = *std::max_element(chunks.begin(), chunks.end());
  bool inside = uint64_t{most} + kRowBytes <= w.block->sharedBytes;
  if (inside && !launch.goOnAfterFault && launch.accessObservers.empty()) return true;
  bool fine = true;
  for (size_t begin = 0; begin < chunks.size(); begin += kLanes) {
    LaneAccess lanes;
    size_t count = std::min<size_t>(kLanes, chunks.size() - begin);
    LaneMask mask = count == kLanes ? kAllLanes : (1u << count) - 1;
    for (size_t i = 0; i < count; ++i) lanes.address[i] = chunks[begin + i];
    w.part = static_cast<uint32_t>(begin / kLanes);
    resolveQuietly(w, in, Space::shared, mask, AccessKind::load, kRowBytes, lanes);
    fine = fine && lanes.ok == mask && !w.fault;
    if (w.fault) return false;
    observeLanes(w, in, AccessKind::load, kRowBytes, lanes);
  }
  return fine;
}

}  // namespace

void AsyncState::issueProduct(Warp& w, const Instr& in, LaneMask mask) {
  const MatrixSite& s = block_.program->matrices[in.ext];
  unsigned lane = static_cast<unsigned>(__builtin_ctz(mask));
  WarpgroupProduct p;
  p.in = &in;
  p.warp = w.index;
  p.group = productGroups_[w.index] + 1;
  p.lanes = mask;
  p.frame = w.frame->base32;
  p.accumulate = (w.pred(in.src[kScaleD]) >> lane & 1) != 0;
  if (in.src[kDescriptorA] != kNoRef) {
    unsigned depth = s.metadata != nullptr ? s.k / 2u : s.k;
    addChunks(w, in, kDescriptorA, lane, s.majorA, w.index % kWarpgroupWarps * kWarpgroupRows,
              kWarpgroupRows, depth, s.a.element, p.chunks);
    p.chunksOfA = static_cast<uint32_t>(p.chunks.size());
  }
  addChunks(w, in, kDescriptorB, lane, s.majorB, 0, s.n, s.k, s.b.element, p.chunks);
  if (!chunksAreFine(w, in, p.chunks)) return;
  std::deque<WarpgroupProduct>& queue = products_[w.index];
  queue.push_back(std::move(p));
  for (Observer* o : block_.launch->observers) o->issued(w, queue.back());
  if (style_ == Style::early) landProducts(w, queue.size());
}

void AsyncState::landProducts(Warp& w, size_t count) {
  std::deque<WarpgroupProduct>& queue = products_[w.index];
  uint32_t* current = w.files32[0];
  for (size_t i = 0; i < count; ++i) {
    WarpgroupProduct& p = queue[i];
    if (p.landed) continue;
    p.landed = true;
    WarpgroupOperands o;
    o.shared = block_.shared;
    o.a = p.chunksOfA != 0 ? p.chunks.data() : nullptr;
    o.b = p.chunks.data() + p.chunksOfA;
    o.accumulate = p.accumulate;
    o.lanes = p.lanes;
    w.files32[0] = w.bank32.data() + size_t{p.frame} * kLanes;
    block_.program->matrices[p.in->ext].warpgroup(*p.in, w, o);
  }
  w.files32[0] = current;
}

void AsyncState::waitProducts(Warp& w, uint32_t groups) {
  std::deque<WarpgroupProduct>& queue = products_[w.index];
  uint32_t committed = productGroups_[w.index];
  uint32_t limit = committed - std::min(committed, groups);
  size_t count = 0;
  while (count < queue.size() && queue[count].group <= limit) ++count;
  landProducts(w, count);
  for (; count != 0; --count) {
    for (Observer* o : block_.launch->observers) o->delivered(w, queue.front());
    queue.pop_front();
  }
}

void AsyncState::warpgroup(Warp& w, const Instr& in, LaneMask mask) {
  switch (instructionTable()[in.row].family) {
    case Family::warpgroupProduct:
      return issueProduct(w, in, mask);
    case Family::warpgroupCommit:
      ++productGroups_[w.index];
      return;
    case Family::warpgroupWait:
      return waitProducts(w, block_.program->matrices[in.ext].groups);
    default:
      for (Observer* o : block_.launch->observers) o->warpgroupFence(w, in);
      return;
  }
}

void executeWarpgroup(Warp& w, const Instr& in, LaneMask mask) {
  Block& b = *w.block;
  if (b.async == nullptr) b.async = std::make_shared<AsyncState>(b);
  b.async->warpgroup(w, in, mask);
}

}  // namespace mtlc::sim
