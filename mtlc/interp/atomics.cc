// Atomics and fences, and what they order.
//
// A view machine (Kang, Hur, Lahav, Vafeiadis and Dreyer, "A promising semantics for
// relaxed-memory concurrency", POPL 2017, without promises): a location keeps its last few stores
// in their order; each thread knows, for each location, a store before which it can read none. A
// load takes any later one. Releases send what a thread knows along with a store, acquires take it
// over.

#include <algorithm>
#include <cstring>

#include "mtlc/interp/block_runner.h"
#include "mtlc/interp/combine.h"
#include "mtlc/support/scalar_ops.h"

namespace mtlc::interp {
namespace {

using ir::MemoryOrder;
using ir::Opcode;

constexpr uint8_t kAllRegions = ir::kRegionWorkgroup | ir::kRegionGlobal;

bool acquires(MemoryOrder order) {
  return order == MemoryOrder::Acquire || order == MemoryOrder::AcqRel ||
         order == MemoryOrder::SeqCst;
}
bool releases(MemoryOrder order) {
  return order == MemoryOrder::Release || order == MemoryOrder::AcqRel ||
         order == MemoryOrder::SeqCst;
}

// Stores of a location that loads can still find when the seed is not 0.
constexpr size_t kKeptStores = 8;

}  // namespace

Reach BlockRunner::reachTo(const Thread& thread, uint64_t other) const {
  if (other / launch_.blockThreads != blockIndex_) return Reach::Device;
  const uint64_t size = launch_.spec.options.subgroupSize;
  return other % launch_.blockThreads / size == linearId(thread) / size ? Reach::Subgroup
                                                                        : Reach::Workgroup;
}

void BlockRunner::startClocks() {
  scSubgroups_.assign(threads_.size() / launch_.spec.options.subgroupSize + 1, {});
  scWorkgroup_ = {};
  published_ = {};
  workgroupAtomics_.clear();
  for (Thread& thread : threads_) {
    thread.clock = std::make_unique<ThreadClock>();
    thread.clock->nextEpoch(globalId(thread));
  }
}

// What a barrier, or a collective that orders memory, does for `lanes`.
void BlockRunner::passTogether(Lanes lanes, uint8_t regions, bool releases, bool acquires,
                               Knowledge& published) {
  if (releases) {
    for (Thread* thread : lanes) {
      published.join(thread->clock->current, regions);
      thread->clock->nextEpoch(globalId(*thread));
    }
  }
  if (!acquires) return;
  for (Thread* thread : lanes) thread->clock->current.join(published, regions);
}

void BlockRunner::orderTogether(Lanes lanes) {
  Knowledge published;
  passTogether(lanes, kAllRegions, true, true, published);
}

void BlockRunner::fence(const Thread& thread, MemoryOrder order, ir::Scope scope, uint8_t regions) {
  ThreadClock& clock = *thread.clock;
  const unsigned reaches = reachesOf(scope);
  if (acquires(order)) {
    for (unsigned i = 0; i < reaches; ++i) clock.current.join(clock.acquired[i], regions);
  }
  if (order == MemoryOrder::SeqCst) {
    // All such fences of a scope that includes both have one order: each knows the stores that
    // those before it knew.
    StoreOrder* const orders[kReaches] = {
        &scSubgroups_[linearId(thread) / launch_.spec.options.subgroupSize], &scWorkgroup_,
        &launch_.scDevice};
    for (unsigned pass = 0; pass < 2; ++pass) {
      for (unsigned i = 0; i < reaches; ++i) {
        for (unsigned region = 0; region < 2; ++region) {
          if ((regions >> region & 1) == 0) continue;
          MaxMap& mine = clock.current.of[region].stores;
          MaxMap& all = (*orders[i])[region];
          (pass == 0 ? mine : all).join(pass == 0 ? all : mine);
        }
      }
    }
  }
  if (releases(order)) {
    for (unsigned i = 0; i < reaches; ++i) clock.released[i].join(clock.current, regions);
    clock.nextEpoch(globalId(thread));
  }
}

Order BlockRunner::orderOf(const Thread& thread, Window window) const {
  const bool isWorkgroup = window == Window::Workgroup;
  if (!launch_.hasClocks) return isWorkgroup ? workgroupOrder_ : globalOrder_;
  return {thread.clock->current.of[isWorkgroup ? 0 : 1].epochs, launch_.blockThreads};
}

Access BlockRunner::accessBy(const Thread& thread, const Inst& inst, bool isWrite) const {
  Access now;
  now.inst = inst.id;
  now.block = blockIndex_;
  now.thread = linearId(thread);
  now.phase = launch_.hasClocks ? thread.clock->epoch : phase_;
  now.isWrite = isWrite;
  return now;
}

// A plain access: it races with atomic ones like with plain ones. A store ends what the locations
// there remember, since all of it happens before the store.
void BlockRunner::touchAtomics(const Thread& thread, const Inst& inst, const AccessShape& shape,
                               const Place& place) {
  AtomicMemory& memory = atomicsOf(place);
  if (memory.empty()) return;
  const Location* last = nullptr;
  for (uint64_t at = 0; at < shape.bytes; ++at) {
    Location* location = memory.find(place.address + at);
    if (!location || location == last) continue;
    last = location;
    checkVisits(thread, inst, shape, place, *location, nullptr);
    if (!shape.isWrite) continue;
    location->messages.clear();
    location->visits.clear();
    location->narrowest = ir::Scope::System;
  }
}

// Reports an atomic access that races with this one; `atomic` is null if this one is plain.
void BlockRunner::checkVisits(const Thread& thread, const Inst& inst, const AccessShape& shape,
                              const Place& place, const Location& location,
                              const ir::AtomicAttr* atomic) {
  if (!launch_.checks(FaultKind::Race)) return;
  const bool sameShape =
      atomic && location.address == place.address && location.bytes == shape.bytes;
  const Reach farthest =
      place.object.window == Window::Workgroup ? Reach::Workgroup : Reach::Device;
  auto includes = [](ir::Scope scope, Reach reach) {
    return reachesOf(scope) > static_cast<unsigned>(reach);
  };
  if (sameShape && includes(atomic->scope, farthest) && includes(location.narrowest, farthest)) {
    return;
  }
  const Order order = orderOf(thread, place.object.window);
  const Access now = accessBy(thread, inst, shape.isWrite);
  for (const auto& [key, visit] : location.visits) {
    for (const Access* before : {&visit.write, &visit.read}) {
      if (!before->exists() || (!before->isWrite && !shape.isWrite)) continue;
      const uint64_t other = order.threadOf(*before);
      if (other == globalId(thread) || order.isBefore(*before, now)) continue;
      const Reach reach = reachTo(thread, other);
      if (sameShape && includes(atomic->scope, reach) && includes(visit.scope, reach)) continue;
      reportRace(thread, inst, shape, place, *before);
      return;
    }
  }
}

// The location of an atomic access, which is now noted as one.
Location& BlockRunner::visit(const Thread& thread, const Inst& inst, const AccessShape& shape,
                             const Place& place, const ir::AtomicAttr& atomic) {
  AtomicMemory& memory = atomicsOf(place);
  if (place.object.history) {
    const Access now = accessBy(thread, inst, shape.isWrite);
    if (auto race = place.object.history->findRace(place.offset, shape.bytes, now,
                                                   orderOf(thread, place.object.window))) {
      reportRace(thread, inst, shape, place, *race);
    }
  }
  Location* location = nullptr;
  for (uint32_t at = 0; at < shape.bytes; at += 4) {
    Location* part = memory.find(place.address + at);
    if (!part || part == location) continue;
    location = part;
    checkVisits(thread, inst, shape, place, *part, &atomic);
  }
  if (!location || location->address != place.address || location->bytes != shape.bytes) {
    location = &memory.make(place.address, shape.bytes, ++launch_.locations);
  }
  if (location->messages.empty()) {  // What plain stores left.
    Message base;
    std::memcpy(&base.value.bits, place.bytes, shape.bytes);
    std::memcpy(&base.value.uninit, place.uninit, shape.bytes);
    base.time = ++location->time;
    base.thread = Message::kNobody;
    location->messages.push_back(std::move(base));
  }
  if (launch_.checks(FaultKind::Race)) {
    const size_t before = location->visits.size();
    const uint64_t key = globalId(thread) * 8 + static_cast<uint64_t>(atomic.scope);
    Location::Visit& mine = location->visits[key];
    (shape.isWrite ? mine.write : mine.read) = accessBy(thread, inst, shape.isWrite);
    mine.scope = atomic.scope;
    location->narrowest = std::min(location->narrowest, atomic.scope);
    if (location->visits.size() != before) launch_.budget.take(2 * sizeof(Location::Visit));
  }
  return *location;
}

// The store that a load reads: the last, or with a seed any that the thread may still find.
const Message& BlockRunner::chooseStore(const Location& location, uint64_t oldest) {
  const std::vector<Message>& messages = location.messages;
  if (launch_.spec.options.seed == 0 || random_.below(2) == 0) return messages.back();
  auto first = std::find_if(messages.begin(), messages.end(),
                            [&](const Message& m) { return m.time >= oldest; });
  if (first == messages.end()) return messages.back();
  return first[static_cast<ptrdiff_t>(
      random_.below(static_cast<uint64_t>(messages.end() - first)))];
}

// Takes over what the store's writer released to this thread.
void BlockRunner::readFrom(const Thread& thread, const Message& message, MemoryOrder order,
                           ir::Scope scope) {
  if (message.thread == Message::kNobody) return;
  const size_t reach = static_cast<size_t>(reachTo(thread, message.thread));
  const Knowledge& released = message.released[reach];
  ThreadClock& clock = *thread.clock;
  clock.acquired[reach].join(released);
  if (acquires(order) && reach < reachesOf(scope)) clock.current.join(released);
}

// `replaced`: the store that a read-modify-write read; it goes on releasing what that one did.
void BlockRunner::writeTo(const Thread& thread, Location& location, unsigned region, Reg value,
                          MemoryOrder order, ir::Scope scope, const Message* replaced) {
  ThreadClock& clock = *thread.clock;
  Message message;
  message.value = value;
  message.time = ++location.time;
  message.thread = globalId(thread);
  clock.current.of[region].stores.raise(location.id, message.time);
  for (unsigned i = 0; i < kReaches; ++i) {
    const bool all = releases(order) && i < reachesOf(scope);
    message.released[i] = all ? clock.current : clock.released[i];
    if (replaced) message.released[i].join(replaced->released[i]);
  }
  if (releases(order)) clock.nextEpoch(globalId(thread));
  const size_t kept = launch_.spec.options.seed == 0 ? 1 : kKeptStores;
  if (location.messages.size() == kept) location.messages.erase(location.messages.begin());
  location.messages.push_back(std::move(message));
}

Reg BlockRunner::atomic(const Thread& thread, const Inst& inst, Reg* r, uint32_t* origins) {
  const ir::AtomicAttr attr = inst.op->atomic();
  AccessShape shape{inst.space, inst.opcode != Opcode::AtomicLoad, inst.bytes, inst.imm};
  const Place place = resolve(thread, inst, shape, r[inst.a], origins[inst.a]);
  if (!place.bytes) return {};
  if (place.object.window == Window::Private) [[unlikely]] {  // Through a generic pointer.
    reportBadAddress(thread, inst, shape, place.address,
                     "it is private memory, and atomics act on global and workgroup memory");
    return {};
  }
  const Reg b = r[inst.b];
  const Reg c = r[inst.c];
  Reg last;  // In memory.
  std::memcpy(&last.bits, place.bytes, inst.bytes);
  std::memcpy(&last.uninit, place.uninit, inst.bytes);

  Reg next;  // What is stored.
  MemoryOrder order = attr.order;
  switch (inst.opcode) {
    case Opcode::AtomicStore:
      next = b;
      break;
    case Opcode::AtomicRmw:
      next = combine(attr.kind, inst.type, last, b);
      break;
    case Opcode::AtomicCas:
      if (last.bits == b.bits) {
        next = c;
      } else {
        shape.isWrite = false;
        order = attr.failureOrder;
      }
      if (shape.isWrite && (last.uninit | b.uninit) != 0) next.uninit = scalar::mask(inst.width);
      break;
    default:
      break;
  }

  meetsCopyUnderWay(thread, inst, shape, place);
  // A sequentially consistent operation is a fence and the acquiring or relaxed operation.
  if (attr.order == MemoryOrder::SeqCst) fence(thread, attr.order, attr.scope, kAllRegions);
  Location& location = visit(thread, inst, shape, place, attr);
  const unsigned region = place.object.window == Window::Workgroup ? 0 : 1;
  Reg result = last;
  const Message* read = nullptr;
  if (inst.opcode != Opcode::AtomicStore) {
    MaxMap& stores = thread.clock->current.of[region].stores;
    read = &location.messages.back();
    if (inst.opcode == Opcode::AtomicLoad) {
      read = &chooseStore(location, stores.get(location.id));
      result = read->value;
    }
    stores.raise(location.id, read->time);
    readFrom(thread, *read, order, attr.scope);
  }
  if (shape.isWrite) writeTo(thread, location, region, next, order, attr.scope, read);
  if (shape.isWrite) {
    std::memcpy(place.bytes, &next.bits, inst.bytes);
    std::memcpy(place.uninit, &next.uninit, inst.bytes);
    if (place.object.window == Window::Global) rememberUninitStore(thread, inst, shape, place);
  }
  if (!launch_.checks(FaultKind::Init)) result.uninit = 0;
  if (result.uninit != 0 && inst.resultType != ir::TypeKind::Void) origins[inst.result] = inst.id;
  return result;
}

}  // namespace mtlc::interp
