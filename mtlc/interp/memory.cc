#include "mtlc/interp/memory.h"

#include <algorithm>

namespace mtlc::interp {

std::string_view windowName(Window window) {
  switch (window) {
    case Window::None:
      return "no";
    case Window::Global:
      return "global";
    case Window::Workgroup:
      return "workgroup";
    case Window::Private:
      return "private";
  }
  return "no";
}

BufferId Memory::add(std::vector<uint8_t> bytes, std::string name) {
  BufferId id = bufferCount();
  if (name.empty()) name = "buffer " + std::to_string(id);
  Buffer& buffer = buffers_.emplace_back();
  buffer.uninit.resize(bytes.size());
  buffer.bytes = std::move(bytes);
  buffer.name = std::move(name);
  return id;
}

BufferId Memory::addUninitialised(std::vector<uint8_t> bytes, std::string name) {
  BufferId id = add(std::move(bytes), std::move(name));
  std::fill(buffers_[id].uninit.begin(), buffers_[id].uninit.end(), 0xFF);
  return id;
}

void Memory::write(BufferId id, std::span<const uint8_t> bytes) {
  Buffer& buffer = buffers_[id];
  size_t count = std::min(bytes.size(), buffer.bytes.size());
  std::copy_n(bytes.begin(), count, buffer.bytes.begin());
  std::fill_n(buffer.uninit.begin(), count, 0);
}

}  // namespace mtlc::interp
