// Memory of a simulated device: allocations in a flat 64-bit address space with guard zones between
// them.
//
// Generic addresses: device memory (global and const) starts at kDeviceBase and a generic address
// of it is the address itself; shared, local and parameter memory appear through windows. No window
// and no allocation overlaps an address a host program can have, so mixing up host and device
// pointers is always found.

#ifndef MTLC_SIM_MEMORY_H_
#define MTLC_SIM_MEMORY_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mtlc::sim {

inline constexpr uint64_t kDeviceBase = uint64_t{1} << 48;
inline constexpr uint64_t kWindowBytes = uint64_t{1} << 32;
inline constexpr uint64_t kSharedWindow = uint64_t{2} << 48;
inline constexpr uint64_t kLocalWindow = uint64_t{3} << 48;
inline constexpr uint64_t kParamWindow = uint64_t{4} << 48;
inline constexpr uint64_t kFunctionWindow = uint64_t{5} << 48;  // Handles of functions; not memory.
inline constexpr uint64_t kGuardBytes = 512;  // At least, behind and before an allocation.

enum class AllocationKind : uint8_t { global, constant };

struct Allocation {
  uint64_t begin = 0;  // Device addresses [begin, end).
  uint64_t end = 0;
  uint8_t* host = nullptr;
  AllocationKind kind = AllocationKind::global;
  bool live = false;
  bool initialised =
      false;        // Contents count as written (uploaded, zeroed, or with an initialiser).
  uint32_t id = 0;  // Unique for the life of the device, never reused.
  // Of the init checker: one bit for each bit of the contents, set where it was never written.
  // None: see `initialised`.
  std::unique_ptr<uint8_t[]> undefined;
  std::string name;  // Of a variable, or what the caller called it.

  uint64_t size() const { return end - begin; }
  void makeUndefined();      // A shadow of ones, unless there is one.
  void makeDefinedShadow();  // A shadow of zeros, unless there is one.
  // Bytes [address, address + bytes) lie inside.
  bool contains(uint64_t address, uint64_t bytes) const {
    return address >= begin && address < end && end - address >= bytes;
  }
};

// What lies at or near an address, for messages.
struct AddressInfo {
  const Allocation* allocation = nullptr;  // Holding it, or the nearest one within reach.
  int64_t distance = 0;  // 0: inside. > 0: bytes past the end. < 0: bytes before the begin.
};

// Not thread-safe; must not change while a launch runs.
class DeviceMemory {
 public:
  explicit DeviceMemory(uint64_t limitBytes);
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // `bytes` of memory at a multiple of `align` (a power of two, at least 256 is used). The contents
  // are 0xCD bytes and count as uninitialised. nullptr when the limit is passed. Zero bytes give a
  // unique address without contents.
  Allocation* allocate(uint64_t bytes, uint64_t align, std::string name,
                       AllocationKind kind = AllocationKind::global);
  // Makes [host, host + bytes) visible to kernels at the device address `host` points to; the
  // caller keeps ownership and frees with free(). nullptr when the range overlaps another.
  Allocation* adopt(void* host, uint64_t bytes, std::string name);
  // False when `address` is not the begin of a live allocation. Device addresses are never given
  // out again; the last GiB of freed ranges is remembered, so that a use after free can be named.
  bool free(uint64_t address);

  // The live allocation with all of [address, address + bytes), or nullptr.
  Allocation* find(uint64_t address, uint64_t bytes) const;
  AddressInfo describe(uint64_t address) const;
  // The host wrote [address, address + bytes): the contents count as initialised. Nothing outside
  // live allocations.
  void markWritten(uint64_t address, uint64_t bytes);
  // Host pointer of a live range, or nullptr.
  void* hostPointer(uint64_t address, uint64_t bytes) const;
  uint64_t bytesInUse() const { return inUse_; }
  const std::map<uint64_t, std::unique_ptr<Allocation>>& all() const { return byBegin_; }

 private:
  struct FreeHost {
    void operator()(uint8_t* p) const;
  };
  std::map<uint64_t, std::unique_ptr<Allocation>> byBegin_;  // Live and recently freed.
  std::map<uint64_t, std::unique_ptr<uint8_t[], FreeHost>> storage_;
  uint64_t next_ = kDeviceBase + (uint64_t{1} << 20);
  std::deque<uint64_t> freed_;  // Begins, oldest first.
  uint64_t freedBytes_ = 0;
  uint64_t limit_;
  uint64_t inUse_ = 0;
  uint32_t nextId_ = 1;
};

}  // namespace mtlc::sim

#endif  // MTLC_SIM_MEMORY_H_
