#include "mtlc/sim/access.h"

#include <algorithm>
#include <cstring>

#include "mtlc/sim/launch_state.h"
#include "mtlc/sim/weak.h"

namespace mtlc::sim {

const VariablePlace* variableBefore(const std::vector<VariablePlace>& places, uint64_t offset) {
  auto after = std::upper_bound(places.begin(), places.end(), offset,
                                [](uint64_t o, const VariablePlace& v) { return o < v.offset; });
  return after == places.begin() ? nullptr : &*std::prev(after);
}

namespace {

enum class Window : uint8_t { device, shared, local, param, none };

// Which part of the generic address space; `offset` is within a window.
Window windowOf(uint64_t address, uint64_t& offset) {
  offset = address;
  switch (address >> 48) {
    case kSharedWindow >> 48:
      offset = address - kSharedWindow;
      return Window::shared;
    case kLocalWindow >> 48:
      offset = address - kLocalWindow;
      return Window::local;
    case kParamWindow >> 48:
      offset = address - kParamWindow;
      return Window::param;
    case 0:
    case kDeviceBase >> 48:
      return Window::device;
    default:
      return Window::none;
  }
}

struct Resolver {
  Warp& w;
  const Instr& in;
  AccessKind kind;
  uint32_t bytes;
  uint32_t align;
  Space asked;

  bool fault(unsigned lane, MemFault what, Space space, uint64_t given) {
    memoryFault(w, in, lane, what, space, given, kind);
    return false;
  }

  bool device(unsigned lane, Space asked, uint64_t given, LaneAccess& l) {
    const Allocation*& cached = w.worker->allocationCache[w.block->launch->pcOf(in)];
    const Allocation* a = cached;
    if (!a->contains(given, bytes)) {
      a = w.block->launch->memory->find(given, bytes);
      if (a == nullptr) {
        AddressInfo info = w.block->launch->memory->describe(given);
        MemFault what = given < 4096 ? MemFault::null
                        : info.allocation != nullptr && !info.allocation->live && info.distance == 0
                            ? MemFault::useAfterFree
                            : MemFault::outOfBounds;
        return fault(lane, what, asked == Space::generic ? Space::global : asked, given);
      }
      // Accesses to the heap are looked at one by one: blocks lie beside each other there.
      LaunchState& launch = *w.block->launch;
      if (a == launch.heap.memory() && launch.goOnAfterFault) {
        DeviceHeap::Place place = launch.heap.place(given, bytes);
        if (place != DeviceHeap::Place::inside) {
          return fault(
              lane,
              place == DeviceHeap::Place::freed ? MemFault::useAfterFree : MemFault::outOfBounds,
              Space::global, given);
        }
      } else {
        cached = a;
      }
    }
    if (a->kind == AllocationKind::constant && kind != AccessKind::load) {
      return fault(lane, MemFault::readOnly, Space::constant, given);
    }
    if (asked == Space::constant && a->kind != AllocationKind::constant) {
      return fault(lane, MemFault::wrongSpace, asked, given);
    }
    l.host[lane] = a->host + (given - a->begin);
    l.space[lane] = a->kind == AllocationKind::constant ? Space::constant : Space::global;
    return true;
  }

  // Whether the access stays within one variable; only the mem checker asks.
  bool inVariable(unsigned lane, Space space, uint64_t offset) {
    Block& b = *w.block;
    if (!b.launch->goOnAfterFault || space == Space::param) return true;
    const Program& p = *b.program;
    if (p.usesAlloca && space == Space::local && offset >= w.stackTop(lane)) {
      for (const StackPiece& piece : w.stackPieces[lane]) {
        if (offset >= piece.offset && offset - piece.offset <= piece.bytes &&
            piece.bytes - (offset - piece.offset) >= bytes) {
          return true;
        }
      }
      return false;
    }
    Worker::Range& cached = w.worker->variableCache[b.launch->pcOf(in)];
    if (space == Space::shared && b.launch->config->dynamicShared != 0 &&
        offset >= p.dynamicSharedOffset) {
      cached = {p.dynamicSharedOffset, b.sharedBytes - p.dynamicSharedOffset};
      return true;
    }
    const std::vector<VariablePlace>* places = &p.sharedVariables;
    bool current = true;
    if (space == Space::local) {
      const Frame* f = w.frame;
      while (f->localBase > offset && f->parent != nullptr) f = f->parent;
      places = &f->function->variables;
      offset -= f->localBase;
      current = f == w.frame;
    }
    const VariablePlace* v = variableBefore(*places, offset);
    if (v == nullptr || offset - v->offset > v->bytes || v->bytes - (offset - v->offset) < bytes)
      return false;
    // Ranges of local memory count only in this frame, and only for instructions that name it.
    if (current && (space == Space::shared || in.space == Space::local))
      cached = {v->offset, v->bytes};
    return true;
  }

  bool inside(unsigned lane, Space space, uint64_t given, uint64_t offset, uint8_t* base,
              uint64_t size, LaneAccess& l) {
    if (offset > size || size - offset < bytes || !inVariable(lane, space, offset)) {
      return fault(lane, MemFault::outOfBounds, space, given);
    }
    l.address[lane] = offset;
    l.host[lane] = base + offset;
    l.space[lane] = space;
    return true;
  }

  bool lane(unsigned lane, LaneAccess& l) {
    uint64_t given = l.address[lane];
    uint64_t offset = given;
    Window window = Window::device;
    switch (asked) {
      case Space::generic:
        window = windowOf(given, offset);
        if (window == Window::none) return fault(lane, MemFault::outOfBounds, asked, given);
        break;
      case Space::global:
      case Space::constant: {
        window = windowOf(given, offset);
        if (window != Window::device) return fault(lane, MemFault::wrongSpace, asked, given);
        break;
      }
      case Space::shared:
        window = Window::shared;
        break;
      case Space::local:
        window = Window::local;
        break;
      case Space::param:
        window = Window::param;
        break;
    }
    if ((given & (align - 1)) != 0) return fault(lane, MemFault::misaligned, asked, given);
    Block& b = *w.block;
    switch (window) {
      case Window::shared:
        return inside(lane, Space::shared, given, offset, b.shared, b.sharedBytes, l);
      case Window::local:
        return inside(lane, Space::local, given, offset, w.local(lane), b.localStride, l);
      case Window::param:
        if (kind != AccessKind::load) return fault(lane, MemFault::readOnly, Space::param, given);
        return inside(lane, Space::param, given, offset, b.params, b.paramBytes, l);
      default:
        return device(lane, asked, given, l);
    }
  }
};

}  // namespace

namespace {

// The region that a resolved lane accesses.
void describeRegion(Warp& w, const LaneAccess& lanes, unsigned lane, Access& a) {
  Block& b = *w.block;
  a.space = lanes.space[lane];
  a.begin = 0;
  a.laneStride = 0;
  a.allocation = nullptr;
  switch (a.space) {
    case Space::shared:
      a.base = b.shared;
      a.size = b.sharedBytes;
      break;
    case Space::local:
      a.base = w.local(0);
      a.size = a.laneStride = b.localStride;
      break;
    case Space::param:
      a.base = b.params;
      a.size = b.paramBytes;
      break;
    default: {
      const Allocation* allocation = b.launch->memory->find(lanes.address[lane], 1);
      a.allocation = allocation;
      a.begin = allocation->begin;
      a.base = allocation->host;
      a.size = allocation->size();
      break;
    }
  }
}

void tell(Warp& w, const Access& a) {
  for (Observer* o : w.block->launch->accessObservers) o->access(w, a);
}

}  // namespace

void resolveQuietly(Warp& w, const Instr& in, Space asked, LaneMask mask, AccessKind kind,
                    uint32_t bytes, LaneAccess& lanes) {
  Resolver r{w, in, kind, bytes, bytes, asked};
  lanes.ok = 0;
  for (LaneMask m = mask; m != 0; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    lanes.host[lane] = nullptr;
    if (r.lane(lane, lanes)) {
      lanes.ok |= 1u << lane;
    } else if (w.fault) {
      lanes.ok = 0;
      return;
    }
  }
}

bool resolveRange(Warp& w, const Instr& in, Space asked, unsigned lane, AccessKind kind,
                  uint32_t bytes, uint32_t align, LaneAccess& lanes) {
  Resolver r{w, in, kind, bytes, align, asked};
  lanes.host[lane] = nullptr;
  return r.lane(lane, lanes);
}

void observeLanes(Warp& w, const Instr& in, AccessKind kind, uint32_t bytes, LaneAccess& lanes) {
  if (!w.observed) return;
  // One event for each region.
  LaneMask left = lanes.ok;
  while (left != 0) {
    Access a{in, 0,       kind, Space::global, bytes, AccessPattern::scattered, lanes.address, 0,
             0,  nullptr, 0,    nullptr};
    describeRegion(w, lanes, static_cast<unsigned>(__builtin_ctz(left)), a);
    for (LaneMask m = left; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      bool same = lanes.space[lane] == a.space &&
                  (a.allocation == nullptr || a.allocation->contains(lanes.address[lane], bytes));
      if (same) a.mask |= 1u << lane;
    }
    left &= ~a.mask;
    tell(w, a);
  }
}

void resolveLanes(Warp& w, const Instr& in, LaneMask mask, AccessKind kind, uint32_t bytes,
                  LaneAccess& lanes) {
  resolveQuietly(w, in, in.space, mask, kind, bytes, lanes);
  observeLanes(w, in, kind, bytes, lanes);
}

void loadBytes(Warp& w, const LaneAccess& lanes, unsigned lane, uint8_t* to, uint32_t bytes) {
  std::memcpy(to, lanes.host[lane], bytes);
  if (w.block->weak != nullptr) {
    w.block->weak->loaded(w, lane, lanes.space[lane], lanes.address[lane], lanes.host[lane], bytes);
  }
}

void storeBytes(Warp& w, const LaneAccess& lanes, unsigned lane, const uint8_t* from,
                uint32_t bytes) {
  if (w.block->weak != nullptr) {
    w.block->weak->store(w, lane, lanes.space[lane], lanes.address[lane], lanes.host[lane], from,
                         bytes);
  } else {
    std::memcpy(lanes.host[lane], from, bytes);
  }
}

LaneMask alignedLanes(Warp& w, const Instr& in, LaneMask mask, AccessKind kind,
                      const uint64_t* addresses, uint32_t alignment) {
  LaneMask fine = mask;
  for (LaneMask m = mask; m != 0 && !w.fault; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    if (addresses[lane] % alignment == 0) continue;
    fine &= ~(1u << lane);
    memoryFault(w, in, lane, MemFault::misaligned, in.space, addresses[lane], kind);
  }
  return w.fault ? 0 : fine;
}

void observeWindow(Warp& w, const Instr& in, LaneMask mask, AccessKind kind, uint32_t bytes,
                   AccessPattern pattern, const uint64_t* addresses, uint64_t begin, uint64_t size,
                   uint8_t* base, Space space) {
  Access a{in, mask, kind, space, bytes, pattern, addresses, begin, size, base, 0, nullptr};
  if (space == Space::local) {
    a.laneStride = w.block->localStride;
  } else if (space == Space::shared || begin >> 48 == kSharedWindow >> 48) {
    // The variable that was found is not the region.
    a.space = Space::shared;
    a.begin = space == Space::shared ? 0 : kSharedWindow;
    a.base = w.block->shared;
    a.size = w.block->sharedBytes;
  } else if (space != Space::param) {
    a.allocation = w.worker->allocationCache[w.block->launch->pcOf(in)];
    a.space = a.allocation->kind == AllocationKind::constant ? Space::constant : Space::global;
  }
  tell(w, a);
}

bool inSpace(Warp& w, uint64_t address, Space space) {
  uint64_t offset;
  Window window = windowOf(address, offset);
  switch (space) {
    case Space::shared:
      return window == Window::shared;
    case Space::local:
      return window == Window::local;
    case Space::param:
      return window == Window::param;
    case Space::constant:
    case Space::global: {
      if (window != Window::device) return false;
      const Allocation* a = w.block->launch->memory->find(address, 1);
      bool constant = a != nullptr && a->kind == AllocationKind::constant;
      return constant == (space == Space::constant);
    }
    case Space::generic:
      return false;
  }
  return false;
}

void atomic128(Warp& w, WideAtomic op, uint8_t* host, const uint64_t* value,
               const uint64_t* expected, uint64_t* old) {
  std::lock_guard lock(w.block->launch->wideAtomicMutex);
  std::memcpy(old, host, 16);
  if (op == WideAtomic::exchange || (old[0] == expected[0] && old[1] == expected[1])) {
    std::memcpy(host, value, 16);
  }
}

uint8_t* genericRange(Warp& w, unsigned lane, uint64_t address, uint64_t& available) {
  uint64_t offset;
  Block& b = *w.block;
  available = 0;
  auto within = [&](uint8_t* base, uint64_t size) -> uint8_t* {
    if (offset >= size) return nullptr;
    available = size - offset;
    return base + offset;
  };
  switch (windowOf(address, offset)) {
    case Window::shared:
      return within(b.shared, b.sharedBytes);
    case Window::local:
      return within(w.local(lane), b.localStride);
    case Window::param:
      return within(b.params, b.paramBytes);
    case Window::device: {
      const Allocation* a = b.launch->memory->find(address, 1);
      if (a == nullptr) return nullptr;
      available = a->end - address;
      return a->host + (address - a->begin);
    }
    default:
      return nullptr;
  }
}

uint8_t* genericPointer(Warp& w, unsigned lane, uint64_t address, uint64_t bytes) {
  uint64_t available;
  uint8_t* p = genericRange(w, lane, address, available);
  return p != nullptr && available >= bytes ? p : nullptr;
}

}  // namespace mtlc::sim
