#include "mtlc/support/arena.h"

#include <algorithm>

namespace mtlc {
namespace {
constexpr size_t kFirstChunk = size_t{4} << 10;
constexpr size_t kLargestChunk = size_t{1} << 20;
}  // namespace

void* Arena::allocateSlow(size_t bytes) {
  // A large request gets a chunk of its own, so that the current one is not wasted.
  size_t chunk = std::min(kLargestChunk, std::max(kFirstChunk, reserved_));
  if (bytes > chunk / 4) {
    chunks_.emplace_back(new char[bytes]);
    reserved_ += bytes;
    return chunks_.back().get();
  }
  chunks_.emplace_back(new char[chunk]);
  reserved_ += chunk;
  char* start = chunks_.back().get();
  cursor_ = start + bytes;
  end_ = start + chunk;
  return start;
}

}  // namespace mtlc
