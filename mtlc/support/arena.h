// Bump-pointer storage for objects that live as long as their owner (a Module, an AST).

#ifndef MTLC_SUPPORT_ARENA_H_
#define MTLC_SUPPORT_ARENA_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace mtlc {

// Objects are never destroyed one by one and their destructors never run: only trivially
// destructible types may be made here. Not thread-safe.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // `align` is a power of two, at most alignof(std::max_align_t).
  void* allocate(size_t bytes, size_t align) {
    uintptr_t p = (reinterpret_cast<uintptr_t>(cursor_) + (align - 1)) & ~(uintptr_t{align} - 1);
    if (p + bytes > reinterpret_cast<uintptr_t>(end_)) return allocateSlow(bytes);
    cursor_ = reinterpret_cast<char*>(p + bytes);
    return reinterpret_cast<void*>(p);
  }

  template <typename T, typename... Args>
  T* make(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>, "arena objects are never destroyed");
    return new (allocate(sizeof(T), alignof(T))) T(std::forward<Args>(args)...);
  }

  // Uninitialised storage for n objects of T.
  template <typename T>
  T* makeArray(size_t n) {
    static_assert(std::is_trivially_destructible_v<T>, "arena objects are never destroyed");
    return static_cast<T*>(allocate(n * sizeof(T), alignof(T)));
  }

  // A copy of `text` that lives as long as the arena.
  std::string_view copy(std::string_view text) {
    if (text.empty()) return {};
    char* p = makeArray<char>(text.size());
    std::memcpy(p, text.data(), text.size());
    return {p, text.size()};
  }

  size_t bytesReserved() const { return reserved_; }

 private:
  void* allocateSlow(size_t bytes);

  char* cursor_ = nullptr;
  char* end_ = nullptr;
  size_t reserved_ = 0;
  std::vector<std::unique_ptr<char[]>> chunks_;
};

}  // namespace mtlc

#endif  // MTLC_SUPPORT_ARENA_H_
