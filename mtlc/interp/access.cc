// Loads and stores: which object an address belongs to, whether the access may be, and what it
// leaves for the checks.

#include <algorithm>
#include <cstring>
#include <mutex>

#include "absl/strings/str_format.h"
#include "mtlc/interp/block_runner.h"

namespace mtlc::interp {
namespace {

// The window that pointers of a space point into; none for generic ones, which may point anywhere.
// Constant memory is global memory that kernels don't write.
Window expectedWindow(ir::Space space) {
  switch (space) {
    case ir::Space::Generic:
      return Window::None;
    case ir::Space::Global:
    case ir::Space::Constant:
      return Window::Global;
    case ir::Space::Workgroup:
      return Window::Workgroup;
    case ir::Space::Private:
      return Window::Private;
  }
  return Window::None;
}

}  // namespace

uint64_t BlockRunner::workgroupAddress(uint64_t object) const {
  uint64_t owner = blockIndex_ % (1u << kOwnerBits);
  return kWorkgroupLayout.base(Window::Workgroup, owner << kObjectBits | object);
}

// The object that the address is in or near. Without one, gives the reason in `why`.
bool BlockRunner::findObject(const Thread& thread, ir::Space space, uint64_t address,
                             Object* object, std::string* why) {
  const Window window = windowOf(address);
  const Window expected = expectedWindow(space);
  auto none = [&](std::string reason) {
    *why = std::move(reason);
    return false;
  };
  if (address == 0) return none("it is the null pointer");
  if (window != expected && window != Window::None && expected != Window::None) {
    return none(absl::StrFormat("the address is one of %s memory", windowName(window)));
  }
  object->window = window;
  switch (window) {
    case Window::None:
      return none("the address is in no memory space");

    case Window::Global: {
      uint64_t id = kGlobalLayout.slot(address);
      if (id >= launch_.memory.bufferCount()) return none("no buffer has this address");
      Memory::Buffer& buffer = launch_.memory.buffers_[id];
      object->index = static_cast<uint32_t>(id);
      object->base = Memory::address(object->index);
      object->size = buffer.bytes.size();
      object->bytes = buffer.bytes.data();
      object->uninit = buffer.uninit.data();
      if (!launch_.histories.empty()) object->history = &launch_.histories[id];
      return true;
    }

    case Window::Workgroup: {
      uint64_t slot = kWorkgroupLayout.slot(address);
      if (slot >> kObjectBits != blockIndex_ % (1u << kOwnerBits)) {
        return none("it is workgroup memory of another block");
      }
      uint64_t id = slot % (1u << kObjectBits);
      if (id >= workgroup_.size()) return none("no workgroup variable has this address");
      WorkgroupObject& found = workgroup_[id];
      object->index = static_cast<uint32_t>(id);
      object->base = workgroupAddress(id);
      object->size = found.bytes.size();
      object->bytes = found.bytes.data();
      object->uninit = found.uninit.data();
      object->allocation = found.op;
      if (found.history) object->history = &*found.history;
      return true;
    }

    case Window::Private: {
      ThreadState& state = *thread.state;
      uint64_t slot = kPrivateLayout.slot(address);
      if (slot >> (kObjectBits + kGenerationBits) != state.owner) {
        return none("it is private memory of another thread");
      }
      uint64_t id = slot % (1u << kObjectBits);
      if (id >= state.privates.size() || kPrivateLayout.slot(state.privates[id].address) != slot) {
        return none("it is private memory of a call that has returned");
      }
      const PrivateObject& found = state.privates[id];
      object->index = static_cast<uint32_t>(id);
      object->base = found.address;
      object->size = found.size;
      object->bytes = state.privateBytes.data() + found.offset;
      object->uninit = state.privateUninit.data() + found.offset;
      object->allocation = found.op;
      return true;
    }
  }
  return false;
}

// Finds the memory of an access, or reports why there is none; then the place has no bytes.
BlockRunner::Place BlockRunner::resolve(const Thread& thread, const Inst& inst,
                                        const AccessShape& shape, Reg& pointer, uint32_t origin) {
  Place place;
  if (pointer.uninit != 0) [[unlikely]] {
    reportUninitAddress(thread, inst, shape, origin);
    pointer.uninit = 0;  // Said once.
    return place;
  }
  place.address = pointer.bits;
  std::string why;
  if (!findObject(thread, shape.space, place.address, &place.object, &why)) [[unlikely]] {
    reportBadAddress(thread, inst, shape, place.address, why);
    return place;
  }
  place.offset = place.address - place.object.base;
  if (place.offset > place.object.size || place.object.size - place.offset < shape.bytes)
      [[unlikely]] {
    reportOutOfBounds(thread, inst, shape, place);
    return place;
  }
  if (place.address % shape.align != 0) [[unlikely]] {
    reportMisaligned(thread, inst, shape, place);
    return place;
  }
  place.bytes = place.object.bytes + place.offset;
  place.uninit = place.object.uninit + place.offset;
  return place;
}

// Holds the locks of the pages of a buffer that an access touches: one, or two where it straddles.
class BlockRunner::PageGuard {
 public:
  PageGuard(LaunchState& launch, const Place& place, uint32_t bytes) {
    if (!launch.parallel || place.object.window != Window::Global) return;
    const size_t count = launch.pageLocks.size();
    size_t first = (place.offset / AccessHistory::kPageBytes + place.object.index * 37) % count;
    size_t last =
        ((place.offset + bytes - 1) / AccessHistory::kPageBytes + place.object.index * 37) % count;
    // In the order of their numbers, so that two threads can't hold one each and wait.
    locks_[0] = std::unique_lock(launch.pageLocks[std::min(first, last)]);
    if (first != last) locks_[1] = std::unique_lock(launch.pageLocks[std::max(first, last)]);
  }

 private:
  std::unique_lock<std::mutex> locks_[2];
};

void BlockRunner::checkRace(const Thread& thread, const Inst& inst, const AccessShape& shape,
                            const Place& place) {
  const Order order = orderOf(thread, place.object.window);
  const Access now = accessBy(thread, inst, shape.isWrite);
  if (auto other = place.object.history->record(place.offset, shape.bytes, now, order)) {
    reportRace(thread, inst, shape, place, *other);
  }
}

// What an access means for others, before it happens.
void BlockRunner::noteAccess(const Thread& thread, const Inst& inst, const AccessShape& shape,
                             const Place& place) {
  if (place.object.window == Window::Private) return;
  if (!openHomes_.empty() && meetsOpenHome(thread, inst, shape, place)) return;
  if (meetsCopyUnderWay(thread, inst, shape, place)) return;  // A race beside that says no more.
  if (place.object.history) checkRace(thread, inst, shape, place);
  if (launch_.hasAtomics) touchAtomics(thread, inst, shape, place);
}

bool BlockRunner::readMemory(const Thread& thread, const Inst& inst, const AccessShape& shape,
                             Reg& pointer, uint32_t origin, void* bytes, void* uninit) {
  Place place = resolve(thread, inst, shape, pointer, origin);
  if (!place.bytes) return false;
  PageGuard guard(launch_, place, shape.bytes);
  noteAccess(thread, inst, shape, place);
  std::memcpy(bytes, place.bytes, shape.bytes);
  std::memcpy(uninit, place.uninit, shape.bytes);
  return true;
}

bool BlockRunner::writeMemory(const Thread& thread, const Inst& inst, const AccessShape& shape,
                              Reg& pointer, uint32_t origin, const void* bytes,
                              const void* uninit) {
  Place place = resolve(thread, inst, shape, pointer, origin);
  if (!place.bytes) return false;
  PageGuard guard(launch_, place, shape.bytes);
  noteAccess(thread, inst, shape, place);
  std::memcpy(place.bytes, bytes, shape.bytes);
  std::memcpy(place.uninit, uninit, shape.bytes);
  if (place.object.window == Window::Global) rememberUninitStore(thread, inst, shape, place);
  return true;
}

Reg BlockRunner::load(const Thread& thread, const Inst& inst, Reg& pointer, uint32_t* origins) {
  Reg value;
  const AccessShape shape{inst.space, false, inst.bytes, inst.imm};
  if (!readMemory(thread, inst, shape, pointer, origins[inst.a], &value.bits, &value.uninit))
    return {};
  if (inst.type == ir::TypeKind::I1) {  // Any byte but 0 is true.
    value = {value.bits != 0, value.uninit != 0};
  }
  if (!launch_.checks(FaultKind::Init)) value.uninit = 0;
  if (value.uninit != 0) [[unlikely]]
    origins[inst.result] = inst.id;
  return value;
}

void BlockRunner::store(const Thread& thread, const Inst& inst, Reg& pointer, Reg value,
                        const uint32_t* origins) {
  const AccessShape shape{inst.space, true, inst.bytes, inst.imm};
  writeMemory(thread, inst, shape, pointer, origins[inst.a], &value.bits, &value.uninit);
}

// For checkReadBack().
void BlockRunner::rememberUninitStore(const Thread& thread, const Inst& inst,
                                      const AccessShape& shape, const Place& place) {
  if (std::all_of(place.uninit, place.uninit + shape.bytes, [](uint8_t u) { return u == 0; })) {
    return;
  }
  Memory::Buffer& buffer = launch_.memory.buffers_[place.object.index];
  std::call_once(buffer.uninitStoresOnce, [&] {
    if (launch_.budget.take(buffer.bytes.size() * sizeof(UninitStore))) {
      buffer.uninitStores.resize(buffer.bytes.size());
    }
  });
  if (buffer.uninitStores.empty()) return;
  UninitStore who{inst.id, static_cast<uint32_t>(&thread - threads_.data()), blockIndex_};
  std::fill_n(buffer.uninitStores.begin() + static_cast<ptrdiff_t>(place.offset), shape.bytes, who);
}

}  // namespace mtlc::interp
