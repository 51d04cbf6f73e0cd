// mtlc-run: runs one kernel of a file on a device.

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "mtlc/support/fault.h"
#include "mtlc/support/tool_main.h"
#include "tools/mtlc-run/run.h"
#include "tools/targets/all_targets.h"
#include "tools/targets/target_options.h"
#include "tools/targets/versions.h"

namespace {

using mtlc::frontend::FpMode;
using mtlc::run::DeviceKind;
using mtlc::run::ResultRequest;
using mtlc::run::StatsStyle;
using mtlc::transforms::OptLevel;

// Appends what `parse` makes of an option's value.
template <typename Parse>
mtlc::OptionTable::Apply appendTo(std::vector<ResultRequest>* list, Parse parse) {
  return [list, parse](std::string_view text) {
    absl::StatusOr<ResultRequest> result = parse(text);
    if (result.ok()) list->push_back(*std::move(result));
    return result.status();
  };
}

}  // namespace

int main(int argc, char** argv) {
  mtlc::registerAllTargets();
  mtlc::run::RunOptions run;
  std::vector<std::string> files;
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

  mtlc::Tool tool(
      "mtlc-run", "FILE [options]",
      "Runs one kernel of a Mettle file (.mettle), IR module (.mtir, .mtirpb) or PTX file "
      "(.ptx) or SPIR-V module (.spv) on a device."
      " Results are printed on standard output, faults on standard error.");
  mtlc::OptionTable& options = tool.options();
  options.positional("FILE", 1, 1, &files);

  options.group("Compilation");
  options.set("-O", &run.load.level, OptLevel::O, "Optimise, which is the default");
  options.set("-O0", &run.load.level, OptLevel::O0, "Do not optimise");
  options.list("-I", "DIR", &run.load.compile.includePaths, "Look for imports in DIR too").joined();
  options.text("--stdlib", "DIR", &run.load.compile.stdlibDir,
               "Take the standard library from DIR instead of the built-in one");
  options.choice(
      "--fp", &run.load.compile.fpMode,
      {{"strict", FpMode::strict}, {"contract", FpMode::contract}, {"fast", FpMode::fast}},
      "What the compiler may change in floating point");

  options.text("--gpu-arch", "ARCH", &run.load.target.arch,
               "What the device's code is made for: sm_NN …, spirv-…");
  options.flag("-g", &run.load.target.lineInfo,
               "Emit line information; always done for the simulator");

  addTensorOptions(options, &run.load.target);
  options.group("Launch");
  options.text("--kernel", "NAME", &run.kernel, "The kernel; may be left out if there is one");
  options.integers("--grid", "X[,Y[,Z]]", &run.grid, 1, 3, "Blocks in the grid");
  options.integers("--block", "X[,Y[,Z]]", &run.block, 1, 3, "Threads in a block");
  options.integer("--shared", "BYTES", &run.sharedBytes, 0, kMax,
                  "Size of the launch-sized workgroup memory");
  options.list("--arg", "SPEC", &run.args,
               "One per parameter, in order: TYPE:VALUE, bytes:FILE, buf:FILE.npy, "
               "tensormap:INDEX:TYPE:dims=…:strides=…:box=…, workgroup:BYTES "
               "(mtlc/support/arg_spec.h), or "
               "buf:TYPE:COUNT:INIT with INIT zeros, poison, iota, const=V, uniform=SEED or "
               "normal=SEED. Types: bool u8 i8 u16 i16 f16 bf16 u32 i32 f32 u64 i64 f64");

  options.group("Device");
  options.choice(
      "--device", &run.device,
      {{"sim", DeviceKind::sim}, {"interp", DeviceKind::interp}, {"opencl", DeviceKind::opencl}},
      "PTX, or with --gpu-arch=spirv-… SPIR-V, on the simulator, which is the default; the IR on "
      "the reference interpreter; or SPIR-V on an OpenCL device");
  options.integer(
      "--subgroup-size", "N", &run.subgroupSize, 1, 128,
      "Work-items in a subgroup: 32 for PTX, 8, 16, 32 or 64 for SPIR-V on the simulator");
  options.integer("--threads", "N", &run.threads, 1, 256, "Host threads");
  options.integer("--seed", "N", &run.seed, 0, kMax,
                  "Order of blocks and threads; 0 is the natural one");
  options.flag("--weak-memory", &run.weakMemory,
               "Let the simulator delay loads and stores as the memory model allows; with --seed");

  options.group("Checks");
  options.value(
      "--check", "LIST",
      [&run](std::string_view text) -> absl::Status {
        std::optional<mtlc::CheckMask> mask = mtlc::parseCheckMask(text);
        if (!mask) {
          return absl::InvalidArgumentError("use none, all, or some of mem,init,race,sync,async");
        }
        run.checks = *mask;
        return absl::OkStatus();
      },
      "none, all, or some of mem,init,race,sync,async (default all)");
  options.integer("--max-steps", "N", &run.maxSteps, 1, kMax,
                  "Instructions that one thread may execute");
  options.integer("--max-seconds", "N", &run.maxSeconds, 0, 1'000'000,
                  "Time the kernel may take on the simulator; 0 is no limit");

  options.group("Results");
  options.value("--out", "INDEX:FILE.npy", appendTo(&run.out, mtlc::run::parseOut),
                "Write the buffer of an argument, counted from 0, to FILE");
  options.value("--print", "INDEX[:COUNT]", appendTo(&run.print, mtlc::run::parsePrint),
                "Print the first COUNT elements, or all, of the buffer of an argument");
  options.optionalValue(
      "--stats", "json",
      [&run](std::string_view text) -> absl::Status {
        if (!text.empty() && text != "json") return absl::InvalidArgumentError("use --stats=json");
        run.stats = text.empty() ? StatsStyle::line : StatsStyle::json;
        return absl::OkStatus();
      },
      "Say on standard error what was executed, and how fast");
  options.text("--trace", "X,Y,Z/x,y,z", &run.trace,
               "Show every instruction of one thread of one block on standard error");

  mtlc::addVersionLines(tool);
  if (std::optional<int> code = tool.start(argc, argv)) return *code;
  run.file = files[0];
  return mtlc::run::run(tool, run);
}
