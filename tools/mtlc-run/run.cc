#include "tools/mtlc-run/run.h"

#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "mtlc/support/npy.h"
#include "tools/mtlc-run/interp_device.h"
#include "tools/mtlc-run/opencl_device.h"
#include "tools/mtlc-run/sim_device.h"

namespace mtlc::run {
namespace {

Dim3 dim3(const std::vector<uint32_t>& values) {
  auto at = [&](size_t i) { return i < values.size() ? values[i] : 1; };
  return {at(0), at(1), at(2)};
}

// "X,Y,Z", each a number.
std::optional<Dim3> parseTriple(std::string_view text) {
  uint32_t parts[3];
  for (int i = 0; i < 3; ++i) {
    size_t comma = i < 2 ? text.find(',') : text.size();
    if (comma == std::string_view::npos) return std::nullopt;
    absl::StatusOr<uint64_t> value = parseScalar(DType::U32, text.substr(0, comma));
    if (!value.ok()) return std::nullopt;
    parts[i] = static_cast<uint32_t>(*value);
    text.remove_prefix(std::min(text.size(), comma + 1));
  }
  return Dim3{parts[0], parts[1], parts[2]};
}

// "X,Y,Z/x,y,z": block and thread.
std::optional<std::pair<Dim3, Dim3>> parseTrace(std::string_view text) {
  size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  std::optional<Dim3> block = parseTriple(text.substr(0, slash));
  std::optional<Dim3> thread = parseTriple(text.substr(slash + 1));
  if (!block || !thread) return std::nullopt;
  return std::pair(*block, *thread);
}

const KernelSignature* findKernel(const Program& program, const std::string& name,
                                  std::string* error) {
  if (name.empty() && program.kernels.size() == 1) return &program.kernels[0];
  std::string names;
  for (const KernelSignature& kernel : program.kernels) {
    if (!name.empty() && kernel.name == name) return &kernel;
    names += (names.empty() ? "" : ", ") + kernel.name;
  }
  if (program.kernels.empty()) {
    *error = "the file has no kernel";
  } else if (name.empty()) {
    *error = "--kernel is missing; the file has " + names;
  } else {
    *error = absl::StrFormat("the file has no kernel '%s'; it has %s", name, names);
  }
  return nullptr;
}

std::string statisticsText(const Statistics& s, StatsStyle style) {
  const bool json = style == StatsStyle::json;
  const double rate = s.seconds > 0 ? static_cast<double>(s.laneInstructions) / s.seconds : 0;
  std::string text =
      absl::StrFormat(json ? "{\"instructions\":%d,\"lane_instructions\":%d,\"seconds\":%.6f,"
                             "\"lane_instructions_per_second\":%.0f,\"classes\":{"
                           : "stats: instructions=%d lane_instructions=%d seconds=%.6f "
                             "lane_instructions_per_second=%.0f",
                      s.instructions, s.laneInstructions, s.seconds, rate);
  const char* separator = "";
  for (const auto& [name, count] : s.classes) {
    if (json) {
      absl::StrAppendFormat(&text, "%s\"%s\":%d", separator, name, count);
      separator = ",";
    } else {
      absl::StrAppendFormat(&text, " %s=%d", name, count);
    }
  }
  return text + (json ? "}}\n" : "\n");
}

// "INDEX: v0 v1 …"
std::string printText(const ResultRequest& print, const ArgSpec& spec, const Buffer& buffer) {
  const size_t size = dtypeInfo(spec.type).bytes;
  const uint64_t count = print.count ? *print.count : buffer.bytes.size() / size;
  std::string text = absl::StrFormat("%d:", print.index);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, &buffer.bytes[i * size], size);
    text += " " + scalarText(spec.type, bits);
  }
  return text + "\n";
}

// What reports call the text of a SPIR-V module.
std::string listingName(const std::string& file) {
  return file + (file.ends_with(".spv") ? "asm" : ".spvasm");
}

// The device with the program loaded; nullptr after a report. Fills in the kernels of a .ptx file.
std::unique_ptr<Device> makeDevice(Tool& tool, DeviceKind kind, const std::string& file,
                                   Program* program) {
  switch (kind) {
    case DeviceKind::interp:
      return makeInterpDevice(*program->module);
    case DeviceKind::sim:
      if (program->ptx == 0) {
        return makeSpirvSimDevice(tool.sources(), listingName(file), program->spirv,
                                  tool.diagnostics(),
                                  program->module ? nullptr : &program->kernels);
      }
      return makeSimDevice(tool.sources(), program->ptx, tool.diagnostics(),
                           program->module ? nullptr : &program->kernels);
    case DeviceKind::opencl:
      return makeOpenClDevice(program->spirv, tool.diagnostics(),
                              program->module ? nullptr : &program->kernels);
  }
  return nullptr;
}

}  // namespace

int run(Tool& tool, const RunOptions& options) {
  if (options.device == DeviceKind::interp && options.file.ends_with(".ptx")) {
    return tool.usageError("--device=interp runs .mettle and .mtir files; use --device=sim");
  }
  const bool spirv = options.file.ends_with(".spv") || options.device == DeviceKind::opencl ||
                     options.load.target.arch.starts_with("spirv");
  if (options.device == DeviceKind::sim && !spirv && options.subgroupSize != 32) {
    return tool.usageError(
        "PTX has subgroups of 32; use --gpu-arch=spirv1.3-opencl or --device=interp for others");
  }
  if (options.device == DeviceKind::interp && (options.weakMemory || options.maxSeconds != 0)) {
    return tool.usageError("--weak-memory and --max-seconds are for --device=sim");
  }
  if (options.device == DeviceKind::interp && options.file.ends_with(".spv")) {
    return tool.usageError("a .spv file runs on --device=sim or --device=opencl");
  }
  if (options.device == DeviceKind::opencl && options.file.ends_with(".ptx")) {
    return tool.usageError("--device=opencl runs .mettle, .mtir and .spv files; use --device=sim");
  }
  if (options.device == DeviceKind::opencl &&
      (options.weakMemory || options.maxSeconds != 0 || !options.trace.empty() ||
       options.seed != 0 || options.subgroupSize != 32)) {
    return tool.usageError(
        "--weak-memory, --max-seconds, --trace, --seed and --subgroup-size are not for "
        "--device=opencl: the driver decides");
  }
  LoadOptions load = options.load;
  if (options.device != DeviceKind::interp) load.code = spirv ? Code::Spirv : Code::Ptx;
  Program program;
  if (!loadProgram(tool, options.file, load, &program)) return tool.finish();
  std::unique_ptr<Device> device = makeDevice(tool, options.device, options.file, &program);
  if (!device) return tool.finish();

  std::string error;
  const KernelSignature* kernel = findKernel(program, options.kernel, &error);
  if (!kernel) return tool.usageError(error);
  Arguments arguments;
  std::vector<ResultRequest> results = options.out;
  results.insert(results.end(), options.print.begin(), options.print.end());
  absl::Status status = arguments.parse(options.args);
  if (status.ok()) status = arguments.match(kernel->name, kernel->parameters);
  for (const ResultRequest& result : results) {
    if (status.ok()) status = arguments.checkResult(result);
  }
  if (!status.ok()) return tool.usageError(std::string(status.message()));

  Request request;
  request.kernel = kernel->name;
  request.grid = dim3(options.grid);
  request.block = dim3(options.block);
  request.sharedBytes = static_cast<uint64_t>(options.sharedBytes);
  request.checks = options.checks;
  request.maxSteps = static_cast<uint64_t>(options.maxSteps);
  request.subgroupSize = static_cast<uint32_t>(options.subgroupSize);
  request.threads = static_cast<uint32_t>(options.threads);
  request.seed = static_cast<uint64_t>(options.seed);
  request.weakMemory = options.weakMemory;
  request.maxSeconds = static_cast<double>(options.maxSeconds);
  request.countClasses = options.stats == StatsStyle::json;
  if (!options.trace.empty()) {
    request.trace = parseTrace(options.trace);
    if (!request.trace) return tool.usageError("--trace takes X,Y,Z/x,y,z: a block and a thread");
    request.traceLine = [](std::string_view line) {
      std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
    };
  }
  arguments.moveTo(request, results);

  absl::StatusOr<Statistics> statistics = device->run(request, tool.diagnostics());
  if (!statistics.ok()) return tool.usageError(std::string(statistics.status().message()));
  if (options.stats != StatsStyle::none) {
    std::fputs(statisticsText(*statistics, options.stats).c_str(), stderr);
  }
  auto bufferOf = [&](size_t index) -> const Buffer& {
    return request.buffers[arguments.bufferIndex(index)];
  };
  for (const ResultRequest& out : options.out) {
    const ArgSpec& spec = arguments.spec(out.index);
    tool.write(out.file, formatNpy(spec.type, spec.shape, bufferOf(out.index).bytes));
  }
  std::string text;
  for (const ResultRequest& print : options.print) {
    text += printText(print, arguments.spec(print.index), bufferOf(print.index));
  }
  if (!text.empty()) tool.write("-", text);
  return tool.finish();
}

}  // namespace mtlc::run
