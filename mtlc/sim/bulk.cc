// Bulk copies between global and shared memory, and reductions (PTX ISA 9.7.9.25.4); st.async and
// red.async (9.7.9.12, 9.7.13.7); tensor maps that kernels change (9.7.9.28).

#include <algorithm>
#include <cstring>

#include "mtlc/sim/access.h"
#include "mtlc/sim/async.h"
#include "mtlc/sim/bulk_reduce.h"
#include "mtlc/sim/launch_state.h"
#include "mtlc/sim/tensor_copy.h"
#include "mtlc/sim/weak.h"

namespace mtlc::sim {
namespace {

// Pieces of a copy without a tensor map.
constexpr uint32_t kPieceBytes = 64;

void plainPieces(const LaneAccess& to, const LaneAccess& from, unsigned lane, uint32_t bytes,
                 std::vector<Piece>& out) {
  for (uint32_t at = 0; at < bytes; at += kPieceBytes) {
    Piece p;
    p.to = to.address[lane] + at;
    p.from = from.address[lane] + at;
    p.toHost = to.host[lane] + at;
    p.fromHost = from.host[lane] + at;
    p.bytes = std::min(kPieceBytes, bytes - at);
    p.toSpace = to.space[lane];
    p.fromSpace = from.space[lane];
    out.push_back(p);
  }
}

}  // namespace

AsyncStatus AsyncState::bulk(Warp& w, const Instr& in, const AsyncSite& site, LaneMask mask) {
  for (LaneMask m = mask; m != 0 && !stops(); m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    // Of the cluster's blocks there is the first only.
    if (site.multicast != kNoRef && (w.r32(site.multicast)[lane] & 1) == 0) continue;
    BulkCopy c;
    c.in = &in;
    c.thread = w.index * kLanes + lane;
    c.toGlobal = site.to.space == Space::global;
    c.reduction = site.reduction;
    c.type = site.type;
    LaneAccess to, from;
    LaneMask one = 1u << lane;
    if (site.op == AsyncOp::tensor) {
      TensorSide side{w, in, lane, c.toGlobal};
      if (!side.locate(site)) continue;
      c.shared = side.shared;
      c.sharedBytes = side.sharedBytes;
      c.type = side.type;
      c.map = side.mapAddress;
      if (!side.pieces(c.pieces)) continue;
    } else {
      uint32_t bytes = w.r32(site.amount)[lane];
      if (bytes % 16 != 0) {
        reportFault(w, in, lane, DiagId::SimCopySize, {bytes, "bulk copies are multiples of 16"});
        return AsyncStatus::stopped;
      }
      asyncAddresses(w, site.to, one, to.address);
      asyncAddresses(w, site.from, one, from.address);
      if (!resolveRange(w, in, site.to.space, lane, AccessKind::store, bytes, 16, to) ||
          !resolveRange(w, in, site.from.space, lane, AccessKind::load, bytes, 16, from)) {
        continue;
      }
      if (site.byteMask != kNoRef) {
        c.byteMask = static_cast<uint16_t>(w.r32(site.byteMask)[lane]);
      }
      c.shared = static_cast<uint32_t>(c.toGlobal ? from.address[lane] : to.address[lane]);
      c.sharedBytes = bytes;
      plainPieces(to, from, lane, bytes, c.pieces);
    }
    startBulk(w, in, site, lane, std::move(c));
  }
  return stops() ? AsyncStatus::stopped : AsyncStatus::done;
}

// Each element is a piece that its value fills.
AsyncStatus AsyncState::store(Warp& w, const Instr& in, const AsyncSite& site, LaneMask mask) {
  LaneAccess to;
  asyncAddresses(w, site.to, mask, to.address);
  uint64_t given[kLanes];
  std::copy(to.address, to.address + kLanes, given);
  resolveQuietly(w, in, site.to.space, mask, AccessKind::store, site.bytes, to);
  const uint32_t size = typeBits(site.type) / 8;
  for (LaneMask m = to.ok; m != 0 && !stops(); m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    if (to.space[lane] != Space::shared) {
      memoryFault(w, in, lane, MemFault::wrongSpace, Space::shared, given[lane], AccessKind::store);
      continue;
    }
    BulkCopy c;
    c.in = &in;
    c.thread = w.index * kLanes + lane;
    c.fromRegisters = true;
    c.reduction = site.reduction;
    c.type = site.type;
    c.shared = static_cast<uint32_t>(to.address[lane]);
    c.sharedBytes = site.bytes;
    for (size_t i = 0; i < site.values.size(); ++i) {
      Ref r = site.values[i];
      Piece p;
      p.to = to.address[lane] + i * size;
      p.toHost = to.host[lane] + i * size;
      p.fill = size;
      p.pattern = refBank(r) == Bank::r64 ? w.r64(r)[lane] : w.r32(r)[lane];
      c.pieces.push_back(p);
    }
    startBulk(w, in, site, lane, std::move(c));
  }
  return stops() ? AsyncStatus::stopped : AsyncStatus::done;
}

// An access to all of the map, by each lane on its own.
AsyncStatus AsyncState::mapReplace(Warp& w, const Instr& in, const AsyncSite& site, LaneMask mask) {
  for (LaneMask m = mask; m != 0 && !stops(); m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    LaneAccess l;
    asyncAddresses(w, site.map, 1u << lane, l.address);
    uint64_t given = l.address[lane];
    if (!resolveRange(w, in, site.map.space, lane, AccessKind::store, kTensorMapBytes,
                      kTensorMapAlign, l)) {
      continue;
    }
    l.ok = 1u << lane;
    uint8_t bytes[kTensorMapBytes];
    loadBytes(w, l, lane, bytes, kTensorMapBytes);
    uint64_t value =
        refBank(site.amount) == Bank::r64 ? w.r64(site.amount)[lane] : w.r32(site.amount)[lane];
    if (!replaceInTensorMap(bytes, site.field, site.dimension, value)) {
      reportFault(w, in, lane, DiagId::SimTensorMap, {hexText(given), "there is none"});
      continue;
    }
    observeLanes(w, in, AccessKind::store, kTensorMapBytes, l);
    storeBytes(w, l, lane, bytes, kTensorMapBytes);
  }
  return stops() ? AsyncStatus::stopped : AsyncStatus::done;
}

// The warp copies one map; all lanes name the same places, so the first does it.
AsyncStatus AsyncState::mapCopy(Warp& w, const Instr& in, const AsyncSite& site, LaneMask mask) {
  unsigned lane = static_cast<unsigned>(__builtin_ctz(mask));
  LaneMask one = 1u << lane;
  LaneAccess to, from;
  asyncAddresses(w, site.to, one, to.address);
  asyncAddresses(w, site.from, one, from.address);
  if (!resolveRange(w, in, site.to.space, lane, AccessKind::store, kTensorMapBytes, kTensorMapBytes,
                    to) ||
      !resolveRange(w, in, site.from.space, lane, AccessKind::load, kTensorMapBytes,
                    kTensorMapBytes, from)) {
    return stops() ? AsyncStatus::stopped : AsyncStatus::done;
  }
  to.ok = from.ok = one;
  observeLanes(w, in, AccessKind::load, kTensorMapBytes, from);
  observeLanes(w, in, AccessKind::store, kTensorMapBytes, to);
  uint8_t bytes[kTensorMapBytes];
  loadBytes(w, from, lane, bytes, kTensorMapBytes);
  storeBytes(w, to, lane, bytes, kTensorMapBytes);
  Piece p;
  p.to = to.address[lane];
  p.toHost = to.host[lane];
  p.toSpace = Space::global;
  p.from = from.address[lane];
  p.fromHost = from.host[lane];
  p.fromSpace = Space::shared;
  p.bytes = kTensorMapBytes;
  for (Observer* o : block_.launch->observers) {
    o->landing(block_, p);  // What is defined of the bytes.
    o->proxyFence(w, in, mask, ProxyFence::mapRelease);
  }
  return AsyncStatus::done;
}

bool AsyncState::startBulk(Warp& w, const Instr& in, const AsyncSite& site, unsigned lane,
                           BulkCopy c) {
  if (!c.toGlobal) {
    uint32_t offsets[kLanes];
    LaneMask one = 1u << lane;
    if (!locate(w, in, site.barrier, one, offsets) || one == 0) return false;
    if (find(w, in, lane, offsets[lane]) == nullptr) return false;
    c.barrier = offsets[lane];
  } else {
    c.group = bulkCommitted_[c.thread] + 1;
  }
  bulk_.push_back(std::move(c));
  BulkCopy& kept = bulk_.back();
  for (Observer* o : block_.launch->observers) o->issued(w, kept);
  if (style_ == Style::early) {
    land(kept);
    forget();
  }
  return true;
}

void AsyncState::readSource(BulkCopy& c) {
  if (c.read) return;
  c.read = true;
  for (const Piece& p : c.pieces) c.taken.insert(c.taken.end(), p.fromHost, p.fromHost + p.bytes);
  size_t at = 0;
  for (Piece& p : c.pieces) {
    p.fromHost = c.taken.data() + at;
    at += p.bytes;
  }
  for (Observer* o : block_.launch->observers) o->sourceRead(block_, c);
}

void AsyncState::landPieces(BulkCopy& c, size_t count) {
  if (c.landed) return;
  if (c.toGlobal) readSource(c);
  for (; count != 0 && c.next < c.pieces.size(); --count, ++c.next) {
    if (style_ == Style::mixed) {
      size_t other = c.next + nextRandom(block_.random) % (c.pieces.size() - c.next);
      std::swap(c.pieces[c.next], c.pieces[other]);
    }
    const Piece& p = c.pieces[c.next];
    if (c.reduction != Mod::none) {
      const uint8_t* value = reinterpret_cast<const uint8_t*>(&p.pattern);
      reduceBytes(c.reduction, c.type, p.toHost, c.fromRegisters ? value : p.fromHost,
                  p.bytes + p.fill);
      if (block_.weak != nullptr) block_.weak->written(block_, p.toSpace, p.to, p.bytes + p.fill);
    } else if (c.byteMask != 0xffff) {
      for (uint32_t i = 0; i < p.bytes; ++i) {
        if ((c.byteMask >> (i % 16) & 1) != 0) p.toHost[i] = p.fromHost[i];
      }
      if (block_.weak != nullptr) block_.weak->written(block_, p.toSpace, p.to, p.bytes);
    } else {
      move(p);
    }
  }
  if (c.next < c.pieces.size()) return;
  c.landed = true;
  polls_ = 0;
  for (Observer* o : block_.launch->observers) o->landed(block_, c);
  if (c.toGlobal) return;
  Warp& w = block_.warps[c.thread / kLanes];
  unsigned lane = c.thread % kLanes;
  auto it = mbarriers_.find(c.barrier);
  if (it == mbarriers_.end()) {
    find(w, *c.in, lane, c.barrier);  // Reports.
    return;
  }
  c.phase = it->second.phase;
  if (addBytes(w, *c.in, lane, c.barrier, -int64_t{c.sharedBytes})) settle(c.barrier, it->second);
}

void AsyncState::bulkWait(Warp& w, const AsyncSite& site, LaneMask mask) {
  for (BulkCopy& c : bulk_) {
    if (!c.toGlobal || c.thread / kLanes != w.index || (mask >> (c.thread % kLanes) & 1) == 0) {
      continue;
    }
    uint32_t committed = bulkCommitted_[c.thread];
    if (c.group > committed - std::min(committed, site.groups)) continue;
    readSource(c);
    c.sourceWaited = true;
    if (site.read) {
      for (Observer* o : block_.launch->observers) o->sourceRead(block_, c);
      continue;
    }
    land(c);
    if (c.delivered) continue;
    c.delivered = true;
    for (Observer* o : block_.launch->observers) o->delivered(block_, c);
  }
  forget();
}

void AsyncState::forget() {
  bool observed = !block_.launch->observers.empty();
  bulk_.erase(
      std::remove_if(bulk_.begin(), bulk_.end(),
                     [&](const BulkCopy& c) { return c.landed && (!observed || c.delivered); }),
      bulk_.end());
}

}  // namespace mtlc::sim
