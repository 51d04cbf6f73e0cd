// The work of mtlc-run between its command line and its exit code.

#ifndef TOOLS_MTLC_RUN_RUN_H_
#define TOOLS_MTLC_RUN_RUN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "mtlc/support/fault.h"
#include "mtlc/support/tool_main.h"
#include "tools/mtlc-run/arguments.h"
#include "tools/mtlc-run/program.h"

namespace mtlc::run {

enum class DeviceKind : uint8_t { interp, sim, opencl };
enum class StatsStyle : uint8_t { none, line, json };

struct RunOptions {
  std::string file;
  DeviceKind device = DeviceKind::sim;
  LoadOptions load;

  std::string kernel;  // Empty: the only one.
  std::vector<uint32_t> grid = {1};
  std::vector<uint32_t> block = {1};
  int64_t sharedBytes = 0;
  std::vector<std::string> args;

  std::vector<ResultRequest> out;
  std::vector<ResultRequest> print;
  StatsStyle stats = StatsStyle::none;

  CheckMask checks = kCheckAll;
  int64_t maxSteps = 100'000'000;
  int64_t maxSeconds = 0;  // 0: no limit.
  int64_t subgroupSize = 32;
  int64_t threads = 1;
  int64_t seed = 0;
  bool weakMemory = false;
  std::string trace;
};

// Loads the program, runs the kernel, writes the results. Gives the exit code.
int run(Tool& tool, const RunOptions& options);

}  // namespace mtlc::run

#endif  // TOOLS_MTLC_RUN_RUN_H_
