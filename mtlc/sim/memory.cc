#include "mtlc/sim/memory.h"

#include <cstdlib>
#include <cstring>

namespace mtlc::sim {
namespace {

constexpr uint64_t kQuarantineBytes = uint64_t{1} << 30;
constexpr uint64_t kMinAlign = 256;

uint64_t alignUp(uint64_t value, uint64_t align) { return (value + align - 1) & ~(align - 1); }

}  // namespace

void Allocation::makeUndefined() {
  if (undefined != nullptr) return;
  undefined.reset(new uint8_t[size() + 1]);
  std::memset(undefined.get(), 0xff, size());
}

void Allocation::makeDefinedShadow() {
  if (undefined == nullptr) undefined.reset(new uint8_t[size() + 1]());
}

void DeviceMemory::FreeHost::operator()(uint8_t* p) const { std::free(p); }

DeviceMemory::DeviceMemory(uint64_t limitBytes) : limit_(limitBytes) {}

Allocation* DeviceMemory::allocate(uint64_t bytes, uint64_t align, std::string name,
                                   AllocationKind kind) {
  if (align < kMinAlign) align = kMinAlign;
  if (bytes > limit_ || limit_ - bytes < inUse_ || (align & (align - 1)) != 0 ||
      align > (1u << 30)) {
    return nullptr;
  }
  uint64_t begin = alignUp(next_ + kGuardBytes, align);
  // The host block has the same alignment so that host code may use it as it is.
  uint64_t hostBytes = alignUp(bytes == 0 ? 1 : bytes, kMinAlign);
  auto* host = static_cast<uint8_t*>(std::aligned_alloc(kMinAlign, hostBytes));
  if (host == nullptr) return nullptr;
  std::memset(host, 0xcd, hostBytes);
  auto a = std::make_unique<Allocation>();
  a->begin = begin;
  a->end = begin + bytes;
  a->host = host;
  a->kind = kind;
  a->live = true;
  a->id = nextId_++;
  a->name = std::move(name);
  Allocation* out = a.get();
  next_ = begin + (bytes == 0 ? 1 : bytes) + kGuardBytes;
  inUse_ += bytes;
  storage_[begin].reset(host);
  byBegin_[begin] = std::move(a);
  return out;
}

Allocation* DeviceMemory::adopt(void* host, uint64_t bytes, std::string name) {
  uint64_t begin = reinterpret_cast<uintptr_t>(host);
  if (bytes == 0 || begin + bytes < begin || begin + bytes > kDeviceBase) return nullptr;
  auto after = byBegin_.lower_bound(begin);
  if (after != byBegin_.end() && after->second->live && after->first < begin + bytes)
    return nullptr;
  if (after != byBegin_.begin()) {
    auto prior = std::prev(after);
    if (prior->second->live && prior->second->end > begin) return nullptr;
  }
  // Dead entries of freed host memory give way.
  for (auto it = byBegin_.begin(); it != byBegin_.end();) {
    bool stale = !it->second->live && it->second->begin < begin + bytes && it->second->end > begin;
    it = stale ? byBegin_.erase(it) : std::next(it);
  }
  auto a = std::make_unique<Allocation>();
  a->begin = begin;
  a->end = begin + bytes;
  a->host = static_cast<uint8_t*>(host);
  a->live = true;
  a->initialised = true;
  a->id = nextId_++;
  a->name = std::move(name);
  Allocation* out = a.get();
  byBegin_[begin] = std::move(a);
  return out;
}

bool DeviceMemory::free(uint64_t address) {
  auto it = byBegin_.find(address);
  if (it == byBegin_.end() || !it->second->live) return false;
  Allocation& a = *it->second;
  a.live = false;
  a.host = nullptr;
  auto s = storage_.find(address);
  if (s != storage_.end()) {
    inUse_ -= a.size();
    storage_.erase(s);
  }
  // Device addresses are never reused; old entries only serve messages.
  freed_.push_back(address);
  freedBytes_ += a.size();
  while (freedBytes_ > kQuarantineBytes || freed_.size() > 65536) {
    auto old = byBegin_.find(freed_.front());
    freed_.pop_front();
    if (old == byBegin_.end() || old->second->live) continue;
    freedBytes_ -= old->second->size();
    byBegin_.erase(old);
  }
  return true;
}

Allocation* DeviceMemory::find(uint64_t address, uint64_t bytes) const {
  auto it = byBegin_.upper_bound(address);
  if (it == byBegin_.begin()) return nullptr;
  Allocation* a = std::prev(it)->second.get();
  return a->live && a->contains(address, bytes) ? a : nullptr;
}

AddressInfo DeviceMemory::describe(uint64_t address) const {
  constexpr uint64_t kReach = 1 << 20;
  AddressInfo best;
  uint64_t bestDistance = kReach;
  auto it = byBegin_.upper_bound(address);
  if (it != byBegin_.end() && it->first - address < bestDistance) {
    bestDistance = it->first - address;
    best.allocation = it->second.get();
    best.distance = -static_cast<int64_t>(bestDistance);
  }
  if (it != byBegin_.begin()) {
    const Allocation* a = std::prev(it)->second.get();
    uint64_t distance = address < a->end ? 0 : address - a->end + 1;
    if (distance < bestDistance) {
      best.allocation = a;
      best.distance = static_cast<int64_t>(distance);
    }
  }
  return best;
}

void DeviceMemory::markWritten(uint64_t address, uint64_t bytes) {
  Allocation* a = find(address, bytes);
  if (a == nullptr || (a->initialised && a->undefined == nullptr)) return;
  if (address == a->begin && bytes == a->size()) {
    a->initialised = true;
    a->undefined.reset();
    return;
  }
  a->makeUndefined();
  std::memset(a->undefined.get() + (address - a->begin), 0, bytes);
}

void* DeviceMemory::hostPointer(uint64_t address, uint64_t bytes) const {
  Allocation* a = find(address, bytes);
  return a == nullptr ? nullptr : a->host + (address - a->begin);
}

}  // namespace mtlc::sim
