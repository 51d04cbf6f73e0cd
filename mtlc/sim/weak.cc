#include "mtlc/sim/weak.h"

#include <algorithm>
#include <cstring>

#include "mtlc/sim/isa/instructions.h"
#include "mtlc/sim/lanes/lanes.h"

namespace mtlc::sim {
namespace {

constexpr uint64_t kStep = uint64_t{1} << 20;  // Between messages: room for later ones.
constexpr size_t kMaxMessages = 12;            // Of a location; older ones are forgotten.
constexpr size_t kMaxReleases = 8;             // Of a message; more are made one.
constexpr size_t kMaxAcquirable = 32;
constexpr size_t kMaxGranules = size_t{1} << 18;
constexpr uint32_t kEveryBlock = 0;
constexpr uint64_t kSharedKey = uint64_t{1} << 63;

bool isWide(uint8_t orderScope) { return static_cast<Scope>(orderScope >> 4) >= Scope::gpu; }

// Whether a scope of an operation in block `from` has block `to` in it.
bool reaches(bool wide, uint32_t from, uint32_t to) {
  return wide || from == to || from == kEveryBlock;
}

bool acquires(Order o) { return o == Order::acquire || o >= Order::acqRel; }
bool releases(Order o) { return o >= Order::release; }

bool names(const Instr& in, Ref r) {
  // A pair of registers is named by its first one.
  auto is = [&](Ref x) { return x != kNoRef && (x == r || x + 1 == r); };
  return is(in.dst) || is(in.src[0]) || is(in.src[1]) || is(in.src[2]) || is(in.src[3]);
}

// Whether a load into `dst` must have happened before `in`: it uses the register, or orders the
// load, or we cannot tell.
bool needs(const Instr& in, Ref dst) {
  switch (in.op) {
    case Op::join:
    case Op::nop:
    case Op::branch:  // A guard that depends on the load had it chosen before.
      return false;
    case Op::memory:
      return (in.orderScope & 15) >= static_cast<uint8_t>(Order::acquire) || in.count != 1 ||
             names(in, dst);
    case Op::lane: {
      MoveKind move = static_cast<MoveKind>(in.size);
      bool list =
          (in.flags & kMove) != 0 && move >= MoveKind::unpack16 && move <= MoveKind::unpack8x2;
      return list || names(in, dst);
    }
    default:
      return true;
  }
}

}  // namespace

WeakMemory::Time WeakMemory::View::at(Key key) const {
  auto o = own.find(key);
  if (o != own.end()) return o->second;
  if (base == nullptr) return 0;
  auto b = base->find(key);
  return b == base->end() ? 0 : b->second;
}

void WeakMemory::View::raise(Key key, Time time) {
  if (time > at(key)) own[key] = time;
}

void WeakMemory::View::join(const Map& other) {
  for (auto [key, time] : other) raise(key, time);
}

void WeakMemory::View::join(const Snapshot& other) {
  if (other == nullptr || other == base) return;
  if (base == nullptr) {
    Map mine;
    mine.swap(own);
    base = other;
    join(mine);
  } else {
    join(*other);
  }
}

void WeakMemory::View::join(const View& other) {
  join(other.base);
  join(other.own);
}

WeakMemory::Snapshot WeakMemory::View::snapshot() {
  if (base == nullptr || !own.empty()) {
    auto all = base == nullptr ? std::make_shared<Map>() : std::make_shared<Map>(*base);
    for (auto [key, time] : own) (*all)[key] = time;
    base = std::move(all);
    own.clear();
  }
  return base;
}

void WeakMemory::blockBegin(const Block& b) {
  auto s = std::make_unique<BlockState>();
  s->id = nextBlock_++;
  s->threads.resize(b.warps.size() * kLanes);
  s->late.resize(b.warps.size());
  blocks_[&b] = std::move(s);
  lastBlock_ = nullptr;
}

void WeakMemory::blockEnd(const Block& b) {
  blocks_.erase(&b);
  lastBlock_ = nullptr;
}

WeakMemory::BlockState& WeakMemory::state(const Block& b) {
  if (lastBlock_ != &b) {
    lastBlock_ = &b;
    lastState_ = blocks_[&b].get();
  }
  return *lastState_;
}

void WeakMemory::forget() {
  device_.clear();
  fences_ = View{};
  for (auto& [block, s] : blocks_) {
    s->shared.clear();
    s->barriers.fill(View{});
    s->mbarriers.clear();
    s->fences = View{};
    for (Thread& t : s->threads) {
      Late late = t.late;
      t = Thread{};
      t.late = late;
    }
  }
}

void WeakMemory::changeSize(Granule& g, unsigned size) {
  for (History& h : g.histories) {
    if (h.empty()) continue;
    g.floor = std::max(g.floor, h.back().time);
    for (Release& r : h.back().releases) g.carried.push_back(std::move(r));
    h.clear();
  }
  if (g.carried.size() > kMaxReleases) {
    View all;
    for (const Release& r : g.carried) all.join(r.view);
    g.carried = {Release{all.snapshot(), true, kEveryBlock}};
  }
  g.size = size;
}

WeakMemory::History* WeakMemory::history(Granules& granules, Key key, unsigned size, uint8_t* host,
                                         bool create) {
  auto at = granules.find(key >> 3);
  if (at == granules.end()) {
    if (!create) return nullptr;
    at = granules.emplace(key >> 3, Granule{}).first;
    at->second.size = size;
  }
  Granule& g = at->second;
  if (g.size != size) changeSize(g, size);
  History& h = g.histories[(key & 7) / size];
  if (h.empty()) {
    if (!create && g.carried.empty()) return nullptr;
    Message first;
    first.time = g.floor;
    std::memcpy(&first.value, host, size);
    first.block = kEveryBlock;
    first.wide = true;
    first.strong = !g.carried.empty();
    first.releases = g.carried;
    h.push_back(std::move(first));
  }
  return &h;
}

const WeakMemory::Message& WeakMemory::choose(const Thread& t, const History& h, Key key) {
  if (h.size() == 1 || (nextRandom(random_) & 1) != 0) return h.back();
  Time floor = t.view.at(key);
  size_t first = h.size() - 1;
  while (first > 0 && h[first - 1].time >= floor) --first;
  return h[first + nextRandom(random_) % (h.size() - first)];
}

void WeakMemory::acquire(Thread& t, uint32_t block, bool wide, const Key* only) {
  size_t kept = 0;
  for (Acquirable& a : t.acquirable) {
    bool takes = (only == nullptr || *only == a.key) &&
                 reaches(a.release.wide, a.release.block, block) &&
                 reaches(wide, a.release.block, block);
    if (takes) {
      t.view.join(a.release.view);
    } else if (&t.acquirable[kept++] != &a) {
      t.acquirable[kept - 1] = std::move(a);
    }
  }
  t.acquirable.resize(kept);
}

void WeakMemory::read(Thread& t, uint32_t block, Key key, const Message& m, Order order,
                      bool wide) {
  t.view.raise(key, m.time);
  if (order == Order::weak) return;
  if (m.strong && reaches(m.wide, m.block, block) && reaches(wide, m.block, block)) {
    for (const Release& r : m.releases) {
      bool known = false;
      for (const Acquirable& a : t.acquirable) {
        known = known || (a.key == key && a.release.view == r.view && a.release.wide == r.wide);
      }
      if (!known) t.acquirable.push_back({r, key});
    }
  }
  if (acquires(order)) acquire(t, block, wide, &key);
  // Taking over more than one has to is no fault.
  while (t.acquirable.size() > kMaxAcquirable) {
    t.view.join(t.acquirable.front().release.view);
    t.acquirable.erase(t.acquirable.begin());
  }
}

void WeakMemory::write(Thread& t, uint32_t block, Key key, History& h, uint64_t value,
                       const Target& how, bool atomic) {
  Message m;
  m.value = value;
  m.block = block;
  m.wide = how.wide;
  m.strong = how.order != Order::weak;
  m.attached = atomic;
  if (m.strong) {
    if (releases(how.order)) {
      t.released[key] = Release{t.view.snapshot(), how.wide, block};
    }
    auto own = t.released.find(key);
    if (own != t.released.end()) m.releases.push_back(own->second);
    if (t.fenceWide != nullptr) m.releases.push_back({t.fenceWide, true, block});
    if (t.fenceNarrow != nullptr && t.fenceNarrow != t.fenceWide) {
      m.releases.push_back({t.fenceNarrow, false, block});
    }
  }
  if (atomic) {
    // What reads this also observes the writes that it goes back to.
    const Message& source = h.back();
    if (source.strong && reaches(source.wide, source.block, block) &&
        reaches(how.wide, source.block, block)) {
      for (const Release& r : source.releases) {
        bool known = false;
        for (const Release& o : m.releases) known = known || (o.view == r.view && o.wide == r.wide);
        if (!known) m.releases.push_back(r);
      }
    }
    if (m.releases.size() > kMaxReleases) {
      View all;
      for (const Release& r : m.releases) all.join(r.view);
      m.releases = {Release{all.snapshot(), true, kEveryBlock}};
    }
  }
  // Behind all others, or before some that the thread does not know of.
  size_t at = h.size();
  Time floor = t.view.at(key);
  m.time = std::max(h.back().time, floor) + kStep;
  if (!atomic && (nextRandom(random_) & 3) == 0) {
    size_t first = h.size();
    while (first > 1 && h[first - 1].time > floor) --first;
    size_t p = first + nextRandom(random_) % (h.size() - first + 1);
    if (p < h.size() && !h[p].attached) {
      Time low = std::max(h[p - 1].time, floor);
      if (h[p].time > low && h[p].time - low >= 2) {
        at = p;
        m.time = low + (h[p].time - low) / 2;
      }
    }
  }
  t.view.raise(key, m.time);
  h.insert(h.begin() + static_cast<ptrdiff_t>(at), std::move(m));
  if (h.size() > kMaxMessages) h.erase(h.begin());
}

bool WeakMemory::locate(Warp& w, const Instr& in, unsigned lane, Target& t, BlockState& b) {
  uint64_t address = static_cast<uint64_t>(in.imm);
  if (in.src[0] != kNoRef) {
    if (refBank(in.src[0]) == Bank::r64) {
      address += w.r64(in.src[0])[lane];
    } else {
      address = w.r32(in.src[0])[lane] + static_cast<uint32_t>(in.imm);
    }
  }
  uint64_t bytes = uint64_t{in.size} * in.count;
  if (address % bytes != 0) return false;
  Block& block = *w.block;
  uint64_t offset = address;
  if (in.space == Space::generic && address >> 48 == kSharedWindow >> 48) {
    offset = address - kSharedWindow;
  }
  if (in.space == Space::shared || offset != address) {
    if (offset > block.sharedBytes || block.sharedBytes - offset < bytes) return false;
    t.host = block.shared + offset;
    t.key = kSharedKey | uint64_t{b.id} << 20 | offset;
    t.granules = &b.shared;
    return true;
  }
  LaunchState& launch = *block.launch;
  const Allocation* a = launch.memory->find(address, bytes);
  // The device heap is given out again and again; it stays without histories.
  if (a == nullptr || a->kind != AllocationKind::global || a == launch.heap.memory()) return false;
  t.host = a->host + (address - a->begin);
  t.key = address;
  t.granules = &device_;
  return true;
}

void WeakMemory::resolve(Warp& w, unsigned lane, BlockState& b) {
  Thread& t = b.threads[w.index * kLanes + lane];
  const Late late = t.late;
  b.late[w.index] &= ~(1u << lane);
  uint64_t value = 0;
  std::memcpy(&value, late.host, late.size);
  if (History* h = history(*late.granules, late.key, late.size, late.host, false)) {
    const Message& m = choose(t, *h, late.key);
    value = m.value;
    read(t, b.id, late.key, m, late.order, late.wide);
  }
  if (late.size == 8) {
    w.r64(late.dst)[lane] = value;
  } else {
    w.r32(late.dst)[lane] = static_cast<uint32_t>(value);
  }
}

void WeakMemory::before(Warp& w, const Instr& in, LaneMask active) {
  BlockState& b = state(*w.block);
  for (LaneMask m = b.late[w.index] & active; m != 0; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    if (needs(in, b.threads[w.index * kLanes + lane].late.dst)) resolve(w, lane, b);
  }
}

void WeakMemory::accessLane(Warp& w, const Instr& in, unsigned lane, BlockState& b) {
  Target target;
  LaneMask bit = 1u << lane;
  if (!locate(w, in, lane, target, b)) {
    in.fn(in, w, bit);
    return;
  }
  target.order = static_cast<Order>(in.orderScope & 15);
  target.wide = isWide(in.orderScope);
  Family family = instructionTable()[in.row].family;
  bool loads = family == Family::ld, stores = family == Family::st;
  unsigned size = in.size, count = in.count;
  Thread& t = b.threads[w.index * kLanes + lane];
  if ((b.late[w.index] & bit) != 0) {
    bool apart = t.late.key + t.late.size <= target.key || t.late.key >= target.key + size * count;
    if (!apart) resolve(w, lane, b);
  }
  // Observers hear of a load when it is issued: a strong one that reads later would mislead them.
  if (loads && (b.late[w.index] & bit) == 0 && count == 1 &&
      (target.order == Order::weak || (target.order == Order::relaxed && !w.observed)) &&
      in.dst != kNoRef && size == (refBank(in.dst) == Bank::r64 ? 8u : 4u) &&
      nextRandom(random_) % 4 == 0) {
    in.fn(in, w, bit);  // For faults and observers; what it loaded is replaced.
    if (w.fault) return;
    t.late = {in.dst, target.key, target.host, size, target.order, target.wide, target.granules};
    b.late[w.index] |= bit;
    return;
  }
  std::array<History*, 8> histories{};
  for (unsigned e = 0; e < count; ++e) {
    histories[e] =
        history(*target.granules, target.key + e * size, size, target.host + e * size, !loads);
  }
  if (loads) {
    // A strong access of several elements may be one of 16 bytes: no mixture of old and new.
    bool newest = count > 1 && target.order != Order::weak;
    for (unsigned e = 0; e < count; ++e) {
      if (histories[e] == nullptr) continue;
      Key key = target.key + e * size;
      const Message& m = newest ? histories[e]->back() : choose(t, *histories[e], key);
      std::memcpy(target.host + e * size, &m.value, size);
      read(t, b.id, key, m, target.order, target.wide);
    }
    in.fn(in, w, bit);
  } else {
    if (!stores) {
      // The read is an acquire or relaxed one, the write a release or relaxed one.
      for (unsigned e = 0; e < count; ++e) {
        read(t, b.id, target.key + e * size, histories[e]->back(), target.order, target.wide);
      }
      if (target.order == Order::acquire) target.order = Order::relaxed;
    }
    in.fn(in, w, bit);
    for (unsigned e = 0; e < count; ++e) {
      uint64_t value = 0;
      std::memcpy(&value, target.host + e * size, size);
      write(t, b.id, target.key + e * size, *histories[e], value, target, !stores);
    }
  }
  for (unsigned e = 0; e < count; ++e) {
    if (histories[e] != nullptr) {
      std::memcpy(target.host + e * size, &histories[e]->back().value, size);
    }
  }
}

void WeakMemory::access(Warp& w, const Instr& in, LaneMask mask) {
  if (in.space == Space::local || in.space == Space::param || in.space == Space::constant) {
    in.fn(in, w, mask);
    return;
  }
  BlockState& b = state(*w.block);
  if (device_.size() > kMaxGranules) forget();
  for (LaneMask m = mask; m != 0 && !w.fault; m &= m - 1) {
    accessLane(w, in, static_cast<unsigned>(__builtin_ctz(m)), b);
  }
}

bool WeakMemory::locateAt(Space space, uint64_t address, uint8_t* host, Warp& w, Target& t,
                          BlockState& b) {
  t.host = host;
  if (space == Space::shared) {
    t.key = kSharedKey | uint64_t{b.id} << 20 | address;
    t.granules = &b.shared;
    return true;
  }
  LaunchState& launch = *w.block->launch;
  const Allocation* a = space == Space::global ? launch.memory->find(address, 1) : nullptr;
  if (a == nullptr || a->kind != AllocationKind::global || a == launch.heap.memory()) return false;
  t.key = address;
  t.granules = &device_;
  return true;
}

void WeakMemory::loaded(Warp& w, unsigned lane, Space space, uint64_t address, uint8_t* host,
                        uint32_t bytes) {
  BlockState& b = state(*w.block);
  Target target;
  if (!locateAt(space, address, host, w, target, b)) return;
  unsigned size = bytes < 4 ? bytes : 4;
  Thread& t = b.threads[w.index * kLanes + lane];
  for (unsigned e = 0; e < bytes; e += size) {
    if (History* h = history(*target.granules, target.key + e, size, target.host + e, false)) {
      read(t, b.id, target.key + e, h->back(), Order::weak, false);
    }
  }
}

void WeakMemory::store(Warp& w, unsigned lane, Space space, uint64_t address, uint8_t* host,
                       const uint8_t* from, uint32_t bytes) {
  BlockState& b = state(*w.block);
  if (device_.size() > kMaxGranules) forget();
  Target target;
  if (!locateAt(space, address, host, w, target, b)) {
    std::memcpy(host, from, bytes);
    return;
  }
  unsigned size = bytes < 4 ? bytes : 4;
  Thread& t = b.threads[w.index * kLanes + lane];
  for (unsigned e = 0; e < bytes; e += size) {
    History* h = history(*target.granules, target.key + e, size, target.host + e, true);
    uint64_t value = 0;
    std::memcpy(&value, from + e, size);
    write(t, b.id, target.key + e, *h, value, target, false);
    std::memcpy(target.host + e, &h->back().value, size);
  }
}

void WeakMemory::fence(Warp& w, const Instr& in, LaneMask mask) {
  BlockState& b = state(*w.block);
  Order order = static_cast<Order>(in.orderScope & 15);
  bool wide = isWide(in.orderScope);
  for (LaneMask m = mask; m != 0; m &= m - 1) {
    Thread& t = b.threads[w.index * kLanes + static_cast<unsigned>(__builtin_ctz(m))];
    if (acquires(order)) acquire(t, b.id, wide, nullptr);
    if (order == Order::sc) {
      // In the order in which they execute, each fence knows what those before it knew whose scope
      // has it and that it has in its scope.
      t.view.join(b.fences);
      if (wide) t.view.join(fences_);
      b.fences.join(t.view);
      if (wide) fences_.join(t.view);
    }
    if (releases(order)) {
      t.fenceNarrow = t.view.snapshot();
      if (wide) t.fenceWide = t.fenceNarrow;
    }
  }
}

void WeakMemory::warpSync(Warp& w, LaneMask mask) {
  BlockState& b = state(*w.block);
  View all;
  for (LaneMask m = mask; m != 0; m &= m - 1) {
    Thread& t = b.threads[w.index * kLanes + static_cast<unsigned>(__builtin_ctz(m))];
    acquire(t, b.id, true, nullptr);
    all.join(t.view);
  }
  Snapshot s = all.snapshot();
  for (LaneMask m = mask; m != 0; m &= m - 1) {
    View& v = b.threads[w.index * kLanes + static_cast<unsigned>(__builtin_ctz(m))].view;
    v.base = s;
    v.own.clear();
  }
}

void WeakMemory::barrierArrive(Warp& w, LaneMask mask, uint32_t id) {
  BlockState& b = state(*w.block);
  for (LaneMask m = mask; m != 0; m &= m - 1) {
    Thread& t = b.threads[w.index * kLanes + static_cast<unsigned>(__builtin_ctz(m))];
    // More than the model asks for; the race checker does the same.
    acquire(t, b.id, true, nullptr);
    b.barriers[id].join(t.view);
  }
}

void WeakMemory::barrierWait(Warp& w, LaneMask mask, uint32_t id) {
  BlockState& b = state(*w.block);
  Snapshot s = b.barriers[id].snapshot();
  for (LaneMask m = mask; m != 0; m &= m - 1) {
    View& v = b.threads[w.index * kLanes + static_cast<unsigned>(__builtin_ctz(m))].view;
    v.base = s;  // What the lane knew is part of it.
    v.own.clear();
  }
}

void WeakMemory::mbarrierArrive(Warp& w, LaneMask mask, uint32_t offset, Order order) {
  BlockState& b = state(*w.block);
  View& into = b.mbarriers[offset][0];
  for (LaneMask m = mask; m != 0; m &= m - 1) {
    Thread& t = b.threads[w.index * kLanes + static_cast<unsigned>(__builtin_ctz(m))];
    if (releases(order)) {
      into.join(t.view);
    } else {
      into.join(t.fenceNarrow);
    }
  }
}

void WeakMemory::mbarrierPhase(const Block& block, uint32_t offset) {
  auto& views = state(block).mbarriers[offset];
  views[1].join(views[0]);
  views[0] = View{};
}

void WeakMemory::mbarrierWait(Warp& w, LaneMask mask, uint32_t offset, Order order) {
  BlockState& b = state(*w.block);
  View& done = b.mbarriers[offset][1];
  Snapshot known = done.snapshot();
  for (LaneMask m = mask; m != 0; m &= m - 1) {
    Thread& t = b.threads[w.index * kLanes + static_cast<unsigned>(__builtin_ctz(m))];
    if (acquires(order)) {
      t.view.join(known);
    } else {
      t.acquirable.push_back({Release{known, true, b.id}, ~Key{0}});
    }
  }
}

void WeakMemory::written(const Block& block, Space space, uint64_t at, uint64_t bytes) {
  if (bytes == 0) return;
  BlockState& b = state(block);
  bool shared = space == Space::shared;
  Granules& granules = shared ? b.shared : device_;
  Key first = shared ? kSharedKey | uint64_t{b.id} << 20 | at : at;
  for (Key g = first >> 3; g <= (first + bytes - 1) >> 3; ++g) {
    auto it = granules.find(g);
    if (it != granules.end()) changeSize(it->second, it->second.size);
  }
}

void WeakMemory::barrierReset(const Block& b, uint32_t id) { state(b).barriers[id] = View{}; }

}  // namespace mtlc::sim
