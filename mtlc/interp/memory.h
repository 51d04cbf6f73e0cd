// The memory that kernels see: addresses, and the buffers of global memory.
//
// Address spaces are windows of one 64-bit space, told apart by the top two bits, so that a generic
// pointer is any of them and `spacecast` changes nothing. Objects (buffers, allocations) lie far
// apart, each in the middle of a slot of its own: an index that runs out of one object ends in
// unused addresses, not in the next object, and is found whatever its sign. Zero, the null pointer,
// is in no window.
//
//   63..62        61..                                                     0
//   1 global      buffer (22)                                  offset (40)
//   2 workgroup   block (20)   allocation (16)                 offset (26)
//   3 private     thread (20)  generation (4)  object (16)     offset (22)
//
// The number of the block or thread tells memory of others from one's own (modulo 2^20); the
// generation counts calls that returned, so that a pointer into a returned call's storage is known.

#ifndef MTLC_INTERP_MEMORY_H_
#define MTLC_INTERP_MEMORY_H_

#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "mtlc/support/fault.h"

namespace mtlc::interp {

enum class Window : uint8_t { None, Global, Workgroup, Private };

// The addresses of one window: how many low bits are the offset within a slot.
struct WindowLayout {
  unsigned offsetBits;
  // Objects start in the middle of their slot and end before it does.
  constexpr uint64_t maxBytes() const { return uint64_t{1} << (offsetBits - 1); }
  constexpr uint64_t slot(uint64_t address) const {
    return (address & ((uint64_t{1} << 62) - 1)) >> offsetBits;
  }
  constexpr uint64_t base(Window window, uint64_t slot) const {
    return uint64_t{static_cast<uint8_t>(window)} << 62 | slot << offsetBits |
           uint64_t{1} << (offsetBits - 1);
  }
};
inline constexpr WindowLayout kGlobalLayout{40};
inline constexpr WindowLayout kWorkgroupLayout{26};
inline constexpr WindowLayout kPrivateLayout{22};
inline constexpr unsigned kOwnerBits = 20;   // Number of the block or thread in an address.
inline constexpr unsigned kObjectBits = 16;  // Number of the object of a block or thread.
inline constexpr unsigned kGenerationBits = 4;

constexpr Window windowOf(uint64_t address) { return static_cast<Window>(address >> 62); }
// "global", "workgroup", "private"; "no" for Window::None.
std::string_view windowName(Window window);

// Memory starts with this in every byte.
inline constexpr uint8_t kPoisonByte = 0xCD;

// Who stored uninitialised bits into a byte of a buffer, for reports when it is read back.
struct UninitStore {
  uint32_t inst = 0;  // Number in the Program plus 1; 0: nobody.
  uint32_t thread = 0;
  uint64_t block = 0;
};

class Program;
struct LaunchSpec;
using BufferId = uint32_t;

// The buffers of global memory; they live through any number of launches. One launch at a time.
class Memory {
 public:
  static constexpr uint64_t kMaxBufferBytes = kGlobalLayout.maxBytes();
  static constexpr uint32_t kMaxBuffers = 1u << 22;

  // Adds a buffer with the given contents, which count as initialised. `name` is what reports call
  // it; empty: "buffer N".
  BufferId add(std::vector<uint8_t> bytes, std::string name = {});
  // The same with contents that count as uninitialised.
  BufferId addUninitialised(std::vector<uint8_t> bytes, std::string name = {});

  uint32_t bufferCount() const { return static_cast<uint32_t>(buffers_.size()); }
  std::span<uint8_t> bytes(BufferId id) { return buffers_[id].bytes; }
  std::span<const uint8_t> bytes(BufferId id) const { return buffers_[id].bytes; }
  // A set bit marks an uninitialised bit of bytes(id).
  std::span<uint8_t> uninit(BufferId id) { return buffers_[id].uninit; }
  std::span<const uint8_t> uninit(BufferId id) const { return buffers_[id].uninit; }
  const std::string& name(BufferId id) const { return buffers_[id].name; }
  // Copies new contents in and counts them as initialised. The size stays.
  void write(BufferId id, std::span<const uint8_t> bytes);

  // The device address of the buffer's first byte, a multiple of 256.
  static uint64_t address(BufferId id) { return kGlobalLayout.base(Window::Global, id); }

 private:
  friend class BlockRunner;
  friend std::vector<Fault> checkReadBack(const Program& program, const Memory& memory, BufferId id,
                                          uint64_t begin, uint64_t end, const LaunchSpec& spec);
  struct Buffer {
    std::vector<uint8_t> bytes;
    std::vector<uint8_t> uninit;
    std::vector<UninitStore> uninitStores;  // Empty until the first, then one for each byte.
    std::once_flag uninitStoresOnce;
    std::string name;
  };
  std::deque<Buffer> buffers_;
};

}  // namespace mtlc::interp

#endif  // MTLC_INTERP_MEMORY_H_
