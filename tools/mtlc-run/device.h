// What mtlc-run needs of a device: run one kernel on host buffers and say what went wrong.
//
// A device is made for one program; adding one means a class with run() and a row where devices are
// made (run.cc).

#ifndef TOOLS_MTLC_RUN_DEVICE_H_
#define TOOLS_MTLC_RUN_DEVICE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "mtlc/support/arg_spec.h"
#include "mtlc/support/diagnostics.h"
#include "mtlc/support/fault.h"

namespace mtlc::run {

struct Buffer {
  std::vector<uint8_t> bytes;  // Contents, replaced by those after the run.
  bool initialised = true;
  std::string name;  // For reports.
  // Bytes that are looked at after the run: [0, readBack).
  uint64_t readBack = 0;
};

struct Argument {
  bool isBuffer = false;
  uint32_t buffer = 0;  // Index into Request::buffers.
  // A tensor map over `buffer`; by value, or with `isPointer` a pointer to one.
  std::optional<TensorMapSpec> tensorMap;
  bool isPointer = false;
  std::optional<uint64_t> workgroupBytes;  // A pointer to so much memory of the work-group.
  std::vector<uint8_t> bytes;              // Otherwise: the parameter's bytes.
};

struct Request {
  std::string kernel;
  Dim3 grid;
  Dim3 block;
  uint64_t sharedBytes = 0;
  std::vector<Argument> arguments;
  std::vector<Buffer> buffers;

  CheckMask checks = kCheckAll;
  uint64_t maxSteps = 100'000'000;
  double maxSeconds = 0;  // 0: no limit.
  uint32_t subgroupSize = 32;
  uint32_t threads = 1;
  uint64_t seed = 0;
  bool weakMemory = false;    // Loads and stores may be delayed as the memory model allows.
  bool countClasses = false;  // Fill Statistics::classes, where that costs time.
  std::optional<std::pair<Dim3, Dim3>> trace;  // Block and thread to show.
  std::function<void(std::string_view)> traceLine;
};

struct Statistics {
  uint64_t instructions = 0;      // As the device issues them.
  uint64_t laneInstructions = 0;  // Summed over work-items.
  double seconds = 0;
  std::vector<std::pair<std::string, uint64_t>> classes;  // Instructions of each class.
};

class Device {
 public:
  virtual ~Device() = default;

  // Runs the kernel to its end. Faults of the kernel go to `diags`; an error is a launch that did
  // not happen or could not be finished, and its message says why.
  virtual absl::StatusOr<Statistics> run(Request& request, DiagnosticEngine& diags) = 0;
};

}  // namespace mtlc::run

#endif  // TOOLS_MTLC_RUN_DEVICE_H_
