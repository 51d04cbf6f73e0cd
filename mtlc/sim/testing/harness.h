// Runs kernels of PTX text in tests: load, pass arguments, launch, read back.
//
//   Harness h(ptx);                                     // EXPECTs nothing; look at h.ok() and
//   h.errors() auto a = h.buffer<float>({1, 2, 3});                 // device buffer with a host
//   view LaunchResult r = h.run("k", {1, 1, 1}, {32, 1, 1}, a, uint32_t{3}); EXPECT_EQ(a[0], 2.0f);

#ifndef MTLC_SIM_TESTING_HARNESS_H_
#define MTLC_SIM_TESTING_HARNESS_H_

#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "mtlc/sim/device.h"

namespace mtlc::sim {

// A device buffer of T. As a kernel argument it is its device address.
template <typename T>
class Buffer {
 public:
  explicit Buffer(Allocation* a) : allocation_(a) {}
  T& operator[](size_t i) { return reinterpret_cast<T*>(allocation_->host)[i]; }
  size_t size() const { return allocation_->size() / sizeof(T); }
  std::span<T> view() { return {reinterpret_cast<T*>(allocation_->host), size()}; }
  std::vector<T> values() { return {view().begin(), view().end()}; }
  uint64_t address() const { return allocation_->begin; }
  Allocation* allocation() { return allocation_; }

 private:
  Allocation* allocation_;
};

class Harness {
 public:
  explicit Harness(std::string_view ptx, DeviceLimits limits = {});

  bool ok() const { return module_ != nullptr; }
  // Rendered diagnostics of loading and of all launches.
  std::string errors() const;
  bool reported(DiagId id) const;
  const DiagnosticEngine& diags() const { return diags_; }

  // A buffer that counts as initialised, or one of poison that does not.
  template <typename T>
  Buffer<T> buffer(const std::vector<T>& values, std::string name = "buffer") {
    Allocation* a = device_.memory().allocate(values.size() * sizeof(T), 256, std::move(name));
    if (!values.empty()) std::memcpy(a->host, values.data(), values.size() * sizeof(T));
    a->initialised = true;
    return Buffer<T>(a);
  }
  template <typename T>
  Buffer<T> poison(size_t count, std::string name = "buffer") {
    return Buffer<T>(device_.memory().allocate(count * sizeof(T), 256, std::move(name)));
  }

  // Launch options that run() starts from; grid, block and params are overwritten.
  LaunchConfig config;

  template <typename... Args>
  LaunchResult run(std::string_view kernel, std::array<uint32_t, 3> grid,
                   std::array<uint32_t, 3> block, Args... args) {
    std::vector<std::vector<uint8_t>> bytes;
    (bytes.push_back(argumentBytes(args)), ...);
    return launch(kernel, grid, block, bytes);
  }

  Device& device() { return device_; }
  Module* module() { return module_; }
  SourceManager& sources() { return sources_; }

 private:
  template <typename T>
  static std::vector<uint8_t> argumentBytes(const Buffer<T>& b) {
    return argumentBytes(b.address());
  }
  template <typename T>
  static std::vector<uint8_t> argumentBytes(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<uint8_t> out(sizeof value);
    std::memcpy(out.data(), &value, sizeof value);
    return out;
  }
  LaunchResult launch(std::string_view kernel, std::array<uint32_t, 3> grid,
                      std::array<uint32_t, 3> block, const std::vector<std::vector<uint8_t>>& args);

  SourceManager sources_;
  DiagnosticEngine diags_;
  Device device_;
  Module* module_ = nullptr;
};

}  // namespace mtlc::sim

#endif  // MTLC_SIM_TESTING_HARNESS_H_
