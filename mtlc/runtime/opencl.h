// OpenCL devices: programs from SPIR-V, buffers, launches with times.
//
// The ICD loader is found at run time; without it open() says so. A device that reports an IL
// version takes the SPIR-V words as they are. One that only takes SPIR, LLVM's bitcode (PoCL as
// Debian builds it), gets what llvm-spirv makes of them, if that is installed; scopes and orders of
// atomics are then lost to the device's strongest ones.

#ifndef MTLC_RUNTIME_OPENCL_H_
#define MTLC_RUNTIME_OPENCL_H_

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "mtlc/runtime/spirv_kernels.h"

namespace mtlc::runtime {

// "CL_INVALID_VALUE" for -30; the number for one that OpenCL does not define.
std::string openClErrorName(int code);

// One kernel argument. Workgroup pointers get none: the launch gives their sizes.
struct OpenClArgument {
  const void* bytes = nullptr;  // Value
  size_t size = 0;
  int64_t buffer = -1;  // Buffer id for a pointer.
};

struct OpenClLaunch {
  std::string_view kernel;
  std::array<uint32_t, 3> grid = {1, 1, 1};   // Workgroups.
  std::array<uint32_t, 3> block = {1, 1, 1};  // Work-items of each.
  uint64_t sharedBytes = 0;  // Of the arena, the last parameter of kernels that use it.
  std::vector<OpenClArgument> arguments;
};

// Device time, from the event of the launch.
struct OpenClTimes {
  double queuedSeconds = 0;  // From the call to the start.
  double kernelSeconds = 0;
};

class OpenClDevice {
 public:
  // The first device of the first platform whose device takes SPIR-V or SPIR. Errors: NotFound (no
  // loader, no platform, no device), FailedPrecondition (none takes programs that we have).
  static absl::StatusOr<std::unique_ptr<OpenClDevice>> open();
  virtual ~OpenClDevice() = default;

  virtual std::string_view name() const = 0;
  // How programs reach the device: "SPIR-V" or "SPIR, by llvm-spirv-15".
  virtual std::string_view route() const = 0;

  // Builds the module; replaces the one before. InvalidArgument with the driver's log.
  virtual absl::Status load(std::span<const uint32_t> spirv) = 0;
  virtual const std::vector<SpirvKernel>& kernels() const = 0;

  // Buffers by id.
  virtual absl::StatusOr<int64_t> allocate(uint64_t bytes) = 0;
  virtual absl::Status write(int64_t buffer, std::span<const uint8_t> bytes) = 0;
  virtual absl::Status read(int64_t buffer, std::span<uint8_t> bytes) = 0;
  virtual void free(int64_t buffer) = 0;

  // Runs the kernel to its end. InvalidArgument where arguments do not fit the kernel's parameters:
  // checked before anything is started.
  virtual absl::StatusOr<OpenClTimes> launch(const OpenClLaunch& launch) = 0;
};

}  // namespace mtlc::runtime

#endif  // MTLC_RUNTIME_OPENCL_H_
