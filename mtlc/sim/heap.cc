#include "mtlc/sim/heap.h"

#include <algorithm>
#include <iterator>

namespace mtlc::sim {
namespace {

constexpr uint64_t kAlign = 16;
constexpr uint64_t kGap = 32;

}  // namespace

void DeviceHeap::open(Allocation* memory) {
  memory_ = memory;
  if (memory != nullptr) free_[memory->begin + kGap] = memory->size() - kGap;
}

uint64_t DeviceHeap::take(uint64_t bytes, uint64_t reserved) {
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->second < reserved) continue;
    uint64_t address = it->first, rest = it->second - reserved;
    free_.erase(it);
    if (rest != 0) free_[address + reserved] = rest;
    blocks_[address] = {bytes, reserved, true};
    return address;
  }
  return 0;
}

uint64_t DeviceHeap::allocate(uint64_t bytes) {
  if (memory_ == nullptr || bytes > memory_->size()) return 0;
  std::lock_guard lock(mutex_);
  uint64_t reserved = (std::max<uint64_t>(bytes, 1) + kAlign - 1) / kAlign * kAlign + kGap;
  uint64_t address = take(bytes, reserved);
  while (address == 0 && !freed_.empty()) {
    // Many at a time: each search walks the free ranges.
    for (size_t n = freed_.size() / 2 + 1; n > 0; --n) {
      recycle(freed_.front());
      freed_.pop_front();
    }
    address = take(bytes, reserved);
  }
  return address;
}

void DeviceHeap::recycle(uint64_t begin) {
  auto block = blocks_.find(begin);
  uint64_t size = block->second.reserved;
  blocks_.erase(block);
  auto at = free_.emplace(begin, size).first;
  auto next = std::next(at);
  if (next != free_.end() && at->first + at->second == next->first) {
    at->second += next->second;
    free_.erase(next);
  }
  if (at == free_.begin()) return;
  auto prior = std::prev(at);
  if (prior->first + prior->second == at->first) {
    prior->second += at->second;
    free_.erase(at);
  }
}

bool DeviceHeap::free(uint64_t address) {
  std::lock_guard lock(mutex_);
  auto it = blocks_.find(address);
  if (it == blocks_.end() || !it->second.live) return false;
  it->second.live = false;
  freed_.push_back(address);
  return true;
}

DeviceHeap::Place DeviceHeap::place(uint64_t address, uint64_t bytes) const {
  std::lock_guard lock(mutex_);
  auto it = blocks_.upper_bound(address);
  if (it == blocks_.begin()) return Place::outside;
  const auto& [begin, block] = *std::prev(it);
  if (address - begin >= block.bytes || block.bytes - (address - begin) < bytes) {
    return Place::outside;
  }
  return block.live ? Place::inside : Place::freed;
}

std::string DeviceHeap::describe(uint64_t address) const {
  std::lock_guard lock(mutex_);
  auto it = blocks_.upper_bound(address);
  std::string place;
  const Block* block = nullptr;
  if (it != blocks_.begin()) {
    const auto& [begin, before] = *std::prev(it);
    uint64_t distance = address - begin;
    block = &before;
    place = distance < before.bytes
                ? std::to_string(distance) + " bytes into"
                : std::to_string(distance - before.bytes) + " bytes past the end of";
    // Nearer to the next block than to this one?
    if (it != blocks_.end() && distance >= before.bytes &&
        it->first - address < distance - before.bytes) {
      block = nullptr;
    }
  }
  if (block == nullptr) {
    if (it == blocks_.end()) return "in the device heap, where nothing was allocated";
    block = &it->second;
    place = std::to_string(it->first - address) + " bytes before";
  }
  return place + (block->live ? " a block" : " a freed block") + " of " +
         std::to_string(block->bytes) + " bytes from malloc";
}

}  // namespace mtlc::sim
