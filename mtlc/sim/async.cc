#include "mtlc/sim/async.h"

#include <algorithm>
#include <cstring>

#include "mtlc/sim/access.h"
#include "mtlc/sim/engine.h"
#include "mtlc/sim/launch_state.h"
#include "mtlc/sim/weak.h"

namespace mtlc::sim {

void asyncAddresses(Warp& w, const AsyncAddress& a, LaneMask mask, uint64_t* out) {
  for (LaneMask m = mask; m != 0; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    if (a.base == kNoRef) {
      out[lane] = static_cast<uint64_t>(a.offset);
    } else if (refBank(a.base) == Bank::r64) {
      out[lane] = w.r64(a.base)[lane] + static_cast<uint64_t>(a.offset);
    } else {
      out[lane] = w.r32(a.base)[lane] + static_cast<uint32_t>(a.offset);
    }
  }
}

AsyncState::AsyncState(Block& block)
    : block_(block),
      copies_(block.warps.size()),
      committed_(block.warps.size() * kLanes, 0),
      bulkCommitted_(block.warps.size() * kLanes, 0),
      products_(block.warps.size()),
      productGroups_(block.warps.size(), 0) {
  if (block.random != 0) {
    uint64_t draw = block.launch->config->seed ^ 0x5bd1e995;
    nextRandom(draw);
    style_ = static_cast<Style>(nextRandom(draw) % 3);
  }
}

void AsyncState::move(const Piece& p) {
  for (Observer* o : block_.launch->observers) o->landing(block_, p);
  if (p.bytes != 0) std::memcpy(p.toHost, p.fromHost, p.bytes);
  for (uint32_t i = 0; i < p.fill; ++i) {
    p.toHost[p.bytes + i] = static_cast<uint8_t>(p.pattern >> (8 * (i & 7)));
  }
  if (block_.weak != nullptr) {
    block_.weak->written(block_, p.toSpace, p.to, uint64_t{p.bytes} + p.fill);
  }
}

void AsyncState::land(LaneCopies& c, LaneMask mask) {
  mask &= c.flying;
  c.flying &= ~mask;
  for (LaneMask m = mask; m != 0; m &= m - 1) {
    move(c.pieces[static_cast<size_t>(__builtin_ctz(m))]);
  }
}

AsyncStatus AsyncState::copy(Warp& w, const Instr& in, const AsyncSite& site, LaneMask mask) {
  LaneAccess to, from;
  asyncAddresses(w, site.to, mask, to.address);
  asyncAddresses(w, site.from, mask, from.address);
  resolveQuietly(w, in, site.to.space, mask, AccessKind::store, site.bytes, to);
  if (w.fault) return AsyncStatus::stopped;
  // Lanes that read all bytes, some, or none.
  std::array<uint32_t, kLanes> amount;
  amount.fill(site.bytes);
  LaneMask whole = to.ok, part = 0;
  if (site.ignore != kNoRef) {
    LaneMask ignored = w.pred(site.ignore) & mask;
    whole &= ~ignored;
    for (LaneMask m = ignored; m != 0; m &= m - 1)
      amount[static_cast<size_t>(__builtin_ctz(m))] = 0;
  }
  if (site.amount != kNoRef) {
    for (LaneMask m = to.ok; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      amount[lane] = w.r32(site.amount)[lane];
      if (amount[lane] == site.bytes) continue;
      whole &= ~(1u << lane);
      if (amount[lane] > site.bytes) {
        reportFault(w, in, lane, DiagId::SimCopySize,
                    {amount[lane], "its destination has " + std::to_string(site.bytes)});
        return AsyncStatus::stopped;
      }
      if (amount[lane] != 0) part |= 1u << lane;
    }
  }
  resolveQuietly(w, in, site.from.space, whole, AccessKind::load, site.bytes, from);
  if (w.fault) return AsyncStatus::stopped;
  observeLanes(w, in, AccessKind::load, site.bytes, from);
  LaneMask good = to.ok & ~(whole & ~from.ok);
  for (LaneMask m = part; m != 0; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    if (!resolveRange(w, in, site.from.space, lane, AccessKind::load, amount[lane], site.bytes,
                      from)) {
      if (w.fault) return AsyncStatus::stopped;
      good &= ~(1u << lane);
    }
  }
  if (good == 0) return AsyncStatus::done;
  std::deque<LaneCopies>& queue = copies_[w.index];
  LaneCopies& c = queue.emplace_back();
  c.in = &in;
  c.warp = w.index;
  c.bytes = site.bytes;
  c.lanes = c.flying = c.open = good;
  for (LaneMask m = good; m != 0; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    Piece& p = c.pieces[lane];
    p.to = to.address[lane];
    p.toHost = to.host[lane];
    p.bytes = amount[lane];
    p.fill = site.bytes - amount[lane];
    if (amount[lane] != 0) {
      p.from = from.address[lane];
      p.fromHost = from.host[lane];
      p.fromSpace = from.space[lane];
    }
    c.group[lane] = committed_[w.index * kLanes + lane] + 1;
  }
  for (Observer* o : block_.launch->observers) o->issued(w, c);
  if (style_ == Style::early) land(c, good);
  return AsyncStatus::done;
}

void AsyncState::wait(Warp& w, LaneMask mask, const std::array<uint32_t, kLanes>& limit) {
  std::deque<LaneCopies>& queue = copies_[w.index];
  bool observed = !block_.launch->observers.empty();
  for (LaneCopies& c : queue) {
    LaneMask now = 0;
    for (LaneMask m = c.open & mask; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      if (c.group[lane] <= limit[lane]) now |= 1u << lane;
    }
    if (now == 0) continue;
    land(c, now);
    c.open &= ~now;
    if (observed) {
      for (Observer* o : block_.launch->observers) o->delivered(w, c, now);
    }
  }
  while (!queue.empty() && queue.front().open == 0) queue.pop_front();
}

AsyncStatus AsyncState::execute(Warp& w, const Instr& in, const AsyncSite& site, LaneMask mask) {
  uint32_t* committed = committed_.data() + size_t{w.index} * kLanes;
  switch (site.op) {
    case AsyncOp::copy:
      return copy(w, in, site, mask);
    case AsyncOp::commit:
      for (LaneMask m = mask; m != 0; m &= m - 1) ++committed[__builtin_ctz(m)];
      return AsyncStatus::done;
    case AsyncOp::waitGroup:
    case AsyncOp::waitAll: {
      std::array<uint32_t, kLanes> limit{};
      for (LaneMask m = mask; m != 0; m &= m - 1) {
        unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
        // wait_all is for copies that were not committed, too.
        if (site.op == AsyncOp::waitAll) ++committed[lane];
        limit[lane] = committed[lane] - std::min(committed[lane], site.groups);
      }
      wait(w, mask, limit);
      return AsyncStatus::done;
    }
    case AsyncOp::copyArrive:
      return copyArrive(w, in, site, mask);
    case AsyncOp::mbarInit:
    case AsyncOp::mbarInval:
    case AsyncOp::mbarExpect:
    case AsyncOp::mbarComplete:
    case AsyncOp::mbarArrive:
    case AsyncOp::mbarWait:
      return mbarriers(w, in, site, mask);
    case AsyncOp::clusterArrive:
    case AsyncOp::clusterWait:
      return clusterBarrier(w, in, site, mask);
    case AsyncOp::proxyFence:
      for (Observer* o : block_.launch->observers) o->proxyFence(w, in, mask, site.fence);
      return AsyncStatus::done;
    case AsyncOp::bulk:
    case AsyncOp::tensor:
      return bulk(w, in, site, mask);
    case AsyncOp::bulkCommit:
      for (LaneMask m = mask; m != 0; m &= m - 1) {
        ++bulkCommitted_[w.index * kLanes + static_cast<unsigned>(__builtin_ctz(m))];
      }
      return AsyncStatus::done;
    case AsyncOp::bulkWait:
      bulkWait(w, site, mask);
      return AsyncStatus::done;
    case AsyncOp::store:
      return store(w, in, site, mask);
    case AsyncOp::mapReplace:
      return mapReplace(w, in, site, mask);
    case AsyncOp::mapCopy:
      return mapCopy(w, in, site, mask);
  }
  return AsyncStatus::done;
}

void AsyncState::turn() {
  for (Warp& w : block_.warps) {
    if ((nextRandom(block_.random) & 3) == 0) tick(w);
  }
  if (style_ != Style::mixed || (nextRandom(block_.random) & 3) != 0) return;
  for (std::deque<LaneCopies>& queue : copies_) {
    for (LaneCopies& c : queue) {
      if (c.flying == 0 || (nextRandom(block_.random) & 1) == 0) continue;
      LaneMask some = nextRandom(block_.random);
      if (c.arrives) {
        landArrivals(c, some);
      } else {
        land(c, some);
      }
    }
    while (!queue.empty() && queue.front().open == 0) queue.pop_front();
  }
  for (BulkCopy& c : bulk_) {
    if (c.landed || (nextRandom(block_.random) & 1) == 0) continue;
    if (c.toGlobal && !c.read) {
      readSource(c);
    } else {
      landPieces(c, 1 + nextRandom(block_.random) % (c.pieces.size() + 1));
    }
  }
  forget();
  for (Warp& w : block_.warps) {
    size_t count = products_[w.index].size();
    if (count != 0) landProducts(w, nextRandom(block_.random) % (count + 1));
  }
}

void AsyncState::blockEnd() {
  // A block's shared memory stays until its cp.async are done; nobody can look at it any more.
  for (std::deque<LaneCopies>& queue : copies_) queue.clear();
  for (BulkCopy& c : bulk_) {
    if (c.toGlobal ? !c.sourceWaited : !c.delivered) {
      for (Observer* o : block_.launch->observers) o->abandoned(block_, c);
    }
    if (c.toGlobal) land(c);
  }
  bulk_.clear();
  // Nobody can look at the registers of products either.
  for (std::deque<WarpgroupProduct>& queue : products_) queue.clear();
}

AsyncStatus executeAsync(Warp& w, const Instr& in, LaneMask mask) {
  Block& b = *w.block;
  if (b.async == nullptr) b.async = std::make_shared<AsyncState>(b);
  return b.async->execute(w, in, b.program->asyncs[in.ext], mask);
}

}  // namespace mtlc::sim
