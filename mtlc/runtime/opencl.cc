#include "mtlc/runtime/opencl.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_format.h"
#include "mtlc/runtime/spir_route.h"

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

extern char** environ;

namespace mtlc::runtime {

std::string openClErrorName(int code) {
  switch (code) {
    case CL_SUCCESS:
      return "CL_SUCCESS";
#define CL_ERROR_CODE(name) \
  case name:                \
    return #name;
#include "mtlc/runtime/opencl_errors.def"
    default:
      return absl::StrFormat("OpenCL error %d", code);
  }
}

namespace {

constexpr std::string_view kTranslators[] = {"llvm-spirv-15", "llvm-spirv-14"};

struct Api {
#define CL_FUNCTION(name) decltype(&::name) name = nullptr;
#include "mtlc/runtime/opencl_api.def"
};

absl::StatusOr<Api> loadApi() {
  void* library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::NotFoundError(
        "there is no OpenCL here: libOpenCL.so.1, the ICD loader, cannot be loaded");
  }
  Api api;
#define CL_FUNCTION(name)                                                             \
  api.name = reinterpret_cast<decltype(&::name)>(dlsym(library, #name));              \
  if (api.name == nullptr) {                                                          \
    return absl::NotFoundError("libOpenCL.so.1 is older than OpenCL 2.1: no " #name); \
  }
#include "mtlc/runtime/opencl_api.def"
  return api;
}

absl::Status failure(std::string_view call, cl_int code) {
  return absl::InternalError(absl::StrFormat("%s: %s", call, openClErrorName(code)));
}

// A path in the directories of PATH; empty when it is in none.
std::string findOnPath(std::string_view program) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    std::string candidate(rest.substr(0, end));
    candidate += '/';
    candidate += program;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

// A directory that goes with the object.
class ScratchDir {
 public:
  ScratchDir() {
    const char* base = std::getenv("TMPDIR");
    path_ = std::string(base == nullptr ? "/tmp" : base) + "/mtlc-XXXXXX";
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~ScratchDir() {
    for (const std::string& file : files_) unlink(file.c_str());
    if (!path_.empty()) rmdir(path_.c_str());
  }
  bool ok() const { return !path_.empty(); }
  std::string file(std::string_view name) {
    files_.push_back(path_ + "/" + std::string(name));
    return files_.back();
  }

 private:
  std::string path_;
  std::vector<std::string> files_;
};

std::optional<std::string> readFile(const std::string& path) {
  FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return std::nullopt;
  std::string bytes;
  char chunk[65536];
  for (size_t n; (n = std::fread(chunk, 1, sizeof chunk, file)) > 0;) bytes.append(chunk, n);
  std::fclose(file);
  return bytes;
}

// The bitcode that a translator makes of a module.
absl::StatusOr<std::string> translate(const std::string& translator,
                                      std::span<const uint32_t> words) {
  ScratchDir scratch;
  if (!scratch.ok()) return absl::InternalError("no directory for temporary files can be made");
  const std::string in = scratch.file("module.spv"), out = scratch.file("module.bc");
  const std::string log = scratch.file("log");
  FILE* file = std::fopen(in.c_str(), "wb");
  if (file == nullptr) return absl::InternalError("a temporary file cannot be written");
  const bool written = std::fwrite(words.data(), 4, words.size(), file) == words.size();
  if (std::fclose(file) != 0 || !written) {
    return absl::InternalError("a temporary file cannot be written");
  }
  std::string args[] = {translator, "-r", "--spirv-target-env=CL1.2", in, "-o", out};
  std::vector<char*> argv;
  for (std::string& arg : args) argv.push_back(arg.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  const int spawned =
      posix_spawn(&child, translator.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (spawned != 0 || waitpid(child, &status, 0) != child) {
    return absl::InternalError(absl::StrFormat("%s cannot be run", translator));
  }
  std::optional<std::string> bitcode = readFile(out);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || !bitcode) {
    return absl::InvalidArgumentError(absl::StrFormat("%s refuses the module: %s", translator,
                                                      readFile(log).value_or("no message")));
  }
  return *std::move(bitcode);
}

class Device final : public OpenClDevice {
 public:
  explicit Device(Api api) : api_(api) {}

  ~Device() override {
    for (auto& [id, memory] : buffers_) api_.clReleaseMemObject(memory);
    if (program_ != nullptr) api_.clReleaseProgram(program_);
    if (queue_ != nullptr) api_.clReleaseCommandQueue(queue_);
    if (context_ != nullptr) api_.clReleaseContext(context_);
  }

  absl::Status openAny() {
    cl_uint platforms = 0;
    if (api_.clGetPlatformIDs(0, nullptr, &platforms) != CL_SUCCESS || platforms == 0) {
      return absl::NotFoundError("OpenCL has no platform here: no vendor's driver is installed");
    }
    std::vector<cl_platform_id> ids(platforms);
    api_.clGetPlatformIDs(platforms, ids.data(), nullptr);
    std::string refused;
    for (cl_platform_id platform : ids) {
      cl_uint count = 0;
      if (api_.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS) {
        continue;
      }
      std::vector<cl_device_id> devices(count);
      api_.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr);
      for (cl_device_id device : devices) {
        device_ = device;
        name_ = info(CL_DEVICE_NAME);
        if (chooseRoute()) return start();
        refused += refused.empty() ? name_ : ", " + name_;
      }
    }
    if (refused.empty()) return absl::NotFoundError("OpenCL has no device here");
    return absl::FailedPreconditionError(absl::StrFormat(
        "no OpenCL device takes SPIR-V, or SPIR with llvm-spirv-15 installed (seen: %s)", refused));
  }

  std::string_view name() const override { return name_; }
  std::string_view route() const override { return route_; }
  const std::vector<SpirvKernel>& kernels() const override { return kernels_; }

  absl::Status load(std::span<const uint32_t> spirv) override {
    absl::StatusOr<std::vector<SpirvKernel>> kernels = readSpirvKernels(spirv);
    if (!kernels.ok()) return kernels.status();
    cl_int code = CL_SUCCESS;
    cl_program program = nullptr;
    if (translator_.empty()) {
      program = api_.clCreateProgramWithIL(context_, spirv.data(), spirv.size_bytes(), &code);
      if (program == nullptr) return failure("clCreateProgramWithIL", code);
    } else {
      absl::StatusOr<std::vector<uint32_t>> adapted = adaptForSpir(spirv);
      if (!adapted.ok()) return adapted.status();
      absl::StatusOr<std::string> bitcode = translate(translator_, *adapted);
      if (!bitcode.ok()) return bitcode.status();
      const auto* bytes = reinterpret_cast<const unsigned char*>(bitcode->data());
      const size_t size = bitcode->size();
      cl_int status = CL_SUCCESS;
      program =
          api_.clCreateProgramWithBinary(context_, 1, &device_, &size, &bytes, &status, &code);
      if (program == nullptr || status != CL_SUCCESS) {
        if (program != nullptr) api_.clReleaseProgram(program);
        return failure("clCreateProgramWithBinary", status != CL_SUCCESS ? status : code);
      }
    }
    // IR division and square root are correctly rounded, which OpenCL does only when told.
    std::string options = "-cl-fp32-correctly-rounded-divide-sqrt";
    if (!translator_.empty()) options += " -x spir -spir-std=1.2";
    code = api_.clBuildProgram(program, 1, &device_, options.c_str(), nullptr, nullptr);
    if (code != CL_SUCCESS) {
      std::string log = buildLog(program);
      api_.clReleaseProgram(program);
      return absl::InvalidArgumentError(
          absl::StrFormat("clBuildProgram: %s on %s: %s", openClErrorName(code), name_, log));
    }
    if (program_ != nullptr) api_.clReleaseProgram(program_);
    program_ = program;
    kernels_ = *std::move(kernels);
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> allocate(uint64_t bytes) override {
    cl_int code = CL_SUCCESS;
    cl_mem memory =
        api_.clCreateBuffer(context_, CL_MEM_READ_WRITE, bytes == 0 ? 1 : bytes, nullptr, &code);
    if (memory == nullptr) return failure("clCreateBuffer", code);
    buffers_[nextBuffer_] = memory;
    return nextBuffer_++;
  }

  absl::Status write(int64_t buffer, std::span<const uint8_t> bytes) override {
    const auto found = buffers_.find(buffer);
    if (found == buffers_.end()) return absl::InvalidArgumentError("no such buffer");
    if (bytes.empty()) return absl::OkStatus();
    const cl_int code = api_.clEnqueueWriteBuffer(queue_, found->second, CL_TRUE, 0, bytes.size(),
                                                  bytes.data(), 0, nullptr, nullptr);
    return code == CL_SUCCESS ? absl::OkStatus() : failure("clEnqueueWriteBuffer", code);
  }

  absl::Status read(int64_t buffer, std::span<uint8_t> bytes) override {
    const auto found = buffers_.find(buffer);
    if (found == buffers_.end()) return absl::InvalidArgumentError("no such buffer");
    if (bytes.empty()) return absl::OkStatus();
    const cl_int code = api_.clEnqueueReadBuffer(queue_, found->second, CL_TRUE, 0, bytes.size(),
                                                 bytes.data(), 0, nullptr, nullptr);
    return code == CL_SUCCESS ? absl::OkStatus() : failure("clEnqueueReadBuffer", code);
  }

  void free(int64_t buffer) override {
    const auto found = buffers_.find(buffer);
    if (found == buffers_.end()) return;
    api_.clReleaseMemObject(found->second);
    buffers_.erase(found);
  }

  absl::StatusOr<OpenClTimes> launch(const OpenClLaunch& launch) override {
    const SpirvKernel* kernel = nullptr;
    for (const SpirvKernel& k : kernels_) {
      if (k.name == launch.kernel) kernel = &k;
    }
    if (kernel == nullptr) {
      return absl::NotFoundError(absl::StrFormat("there is no kernel '%s'", launch.kernel));
    }
    absl::Status status = checkArguments(*kernel, launch);
    if (!status.ok()) return status;
    cl_int code = CL_SUCCESS;
    cl_kernel handle = api_.clCreateKernel(program_, kernel->name.c_str(), &code);
    if (handle == nullptr) return failure("clCreateKernel", code);
    absl::StatusOr<OpenClTimes> times = run(handle, *kernel, launch);
    api_.clReleaseKernel(handle);
    return times;
  }

 private:
  std::string info(cl_device_info what) {
    size_t size = 0;
    if (api_.clGetDeviceInfo(device_, what, 0, nullptr, &size) != CL_SUCCESS || size == 0)
      return {};
    std::string text(size, '\0');
    api_.clGetDeviceInfo(device_, what, size, text.data(), nullptr);
    text.resize(text.find('\0') == std::string::npos ? size : text.find('\0'));
    return text;
  }

  bool chooseRoute() {
    if (info(CL_DEVICE_IL_VERSION).find("SPIR-V") != std::string::npos) {
      route_ = "SPIR-V";
      return true;
    }
    if (info(CL_DEVICE_EXTENSIONS).find("cl_khr_spir") == std::string::npos) return false;
    for (std::string_view translator : kTranslators) {
      translator_ = findOnPath(translator);
      if (translator_.empty()) continue;
      route_ = "SPIR, by " + std::string(translator);
      return true;
    }
    return false;
  }

  absl::Status start() {
    cl_int code = CL_SUCCESS;
    context_ = api_.clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &code);
    if (context_ == nullptr) return failure("clCreateContext", code);
    queue_ = api_.clCreateCommandQueue(context_, device_, CL_QUEUE_PROFILING_ENABLE, &code);
    return queue_ != nullptr ? absl::OkStatus() : failure("clCreateCommandQueue", code);
  }

  std::string buildLog(cl_program program) {
    size_t size = 0;
    api_.clGetProgramBuildInfo(program, device_, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
    std::string log(size, '\0');
    if (size != 0) {
      api_.clGetProgramBuildInfo(program, device_, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
      log.resize(log.find('\0') == std::string::npos ? size : log.find('\0'));
    }
    return log.empty() ? "the driver says no more" : log;
  }

  // The arena is a parameter that the caller does not know of.
  static bool isArena(const SpirvKernel& kernel, size_t index) {
    return index + 1 == kernel.params.size() &&
           kernel.params[index].kind == KernelParam::Kind::WorkgroupPointer;
  }

  absl::Status checkArguments(const SpirvKernel& kernel, const OpenClLaunch& launch) const {
    const bool arena = !kernel.params.empty() && isArena(kernel, kernel.params.size() - 1);
    const size_t wanted = kernel.params.size() - (arena ? 1 : 0);
    if (launch.arguments.size() != wanted) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "kernel '%s' takes %d arguments, not %d", kernel.name, wanted, launch.arguments.size()));
    }
    for (size_t i = 0; i < wanted; ++i) {
      const KernelParam& param = kernel.params[i];
      const OpenClArgument& argument = launch.arguments[i];
      std::string problem;
      switch (param.kind) {
        case KernelParam::Kind::Value:
          if (argument.buffer >= 0) {
            problem = "is a value, not a buffer";
          } else if (argument.size != param.bytes) {
            problem = absl::StrFormat("has %d bytes, not %d", param.bytes, argument.size);
          }
          break;
        case KernelParam::Kind::GlobalPointer:
        case KernelParam::Kind::ConstantPointer:
          if (argument.buffer >= 0 && !buffers_.contains(argument.buffer)) {
            problem = "gets a buffer that does not exist";
          } else if (argument.buffer < 0 && argument.size != 0) {
            problem = "is a pointer: it takes a buffer";
          }
          break;
        case KernelParam::Kind::WorkgroupPointer:
        case KernelParam::Kind::Other:
          problem = "is of a kind that cannot be passed";
          break;
      }
      if (!problem.empty()) {
        return absl::InvalidArgumentError(absl::StrFormat(
            "parameter %d%s of kernel '%s' %s", i,
            param.name.empty() ? "" : " (" + param.name + ")", kernel.name, problem));
      }
    }
    for (int d = 0; d < 3; ++d) {
      if (launch.grid[d] == 0 || launch.block[d] == 0) {
        return absl::InvalidArgumentError("a dimension of the launch is 0");
      }
    }
    if (arena && launch.sharedBytes == 0) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "kernel '%s' uses workgroup memory of the launch's size, and the launch gives none",
          kernel.name));
    }
    return absl::OkStatus();
  }

  // What this kernel may have on this device.
  absl::Status checkLimits(cl_kernel handle, const SpirvKernel& kernel,
                           const OpenClLaunch& launch) const {
    const uint64_t items = uint64_t{launch.block[0]} * launch.block[1] * uint64_t{launch.block[2]};
    size_t most = 0;
    if (api_.clGetKernelWorkGroupInfo(handle, device_, CL_KERNEL_WORK_GROUP_SIZE, sizeof most,
                                      &most, nullptr) == CL_SUCCESS &&
        items > most) {
      return absl::InvalidArgumentError(
          absl::StrFormat("a workgroup of %d work-items: kernel '%s' may have %d on %s", items,
                          kernel.name, most, name_));
    }
    cl_ulong own = 0, memory = 0;
    if (api_.clGetKernelWorkGroupInfo(handle, device_, CL_KERNEL_LOCAL_MEM_SIZE, sizeof own, &own,
                                      nullptr) == CL_SUCCESS &&
        api_.clGetDeviceInfo(device_, CL_DEVICE_LOCAL_MEM_SIZE, sizeof memory, &memory, nullptr) ==
            CL_SUCCESS &&
        own + launch.sharedBytes > memory) {
      return absl::InvalidArgumentError(
          absl::StrFormat("kernel '%s' needs %d bytes of workgroup memory, and the launch gives %d "
                          "more: %s has %d",
                          kernel.name, own, launch.sharedBytes, name_, memory));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<OpenClTimes> run(cl_kernel handle, const SpirvKernel& kernel,
                                  const OpenClLaunch& launch) {
    // Before the arguments are set: their sizes count as the kernel's own afterwards.
    if (absl::Status status = checkLimits(handle, kernel, launch); !status.ok()) return status;
    for (size_t i = 0; i < kernel.params.size(); ++i) {
      cl_int code = CL_SUCCESS;
      const cl_uint index = static_cast<cl_uint>(i);
      if (isArena(kernel, i)) {
        code = api_.clSetKernelArg(handle, index, launch.sharedBytes, nullptr);
      } else if (kernel.params[i].kind == KernelParam::Kind::Value) {
        code =
            api_.clSetKernelArg(handle, index, launch.arguments[i].size, launch.arguments[i].bytes);
      } else {
        const int64_t buffer = launch.arguments[i].buffer;
        cl_mem memory = buffer < 0 ? nullptr : buffers_.at(buffer);
        code = api_.clSetKernelArg(handle, index, sizeof memory, &memory);
      }
      if (code != CL_SUCCESS) {
        return failure(absl::StrFormat("clSetKernelArg of parameter %d", i), code);
      }
    }
    size_t global[3], local[3];
    for (int d = 0; d < 3; ++d) {
      local[d] = launch.block[d];
      global[d] = static_cast<size_t>(launch.grid[d]) * launch.block[d];
    }
    cl_event event = nullptr;
    cl_int code =
        api_.clEnqueueNDRangeKernel(queue_, handle, 3, nullptr, global, local, 0, nullptr, &event);
    if (code != CL_SUCCESS) return failure("clEnqueueNDRangeKernel", code);
    code = api_.clWaitForEvents(1, &event);
    cl_int ended = CL_COMPLETE;
    api_.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof ended, &ended, nullptr);
    cl_ulong queued = 0, start = 0, end = 0;
    api_.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED, sizeof queued, &queued,
                                 nullptr);
    api_.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, nullptr);
    api_.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr);
    api_.clReleaseEvent(event);
    if (ended < 0) return failure("the kernel", ended);
    if (code != CL_SUCCESS) return failure("clWaitForEvents", code);
    return OpenClTimes{static_cast<double>(start - queued) * 1e-9,
                       static_cast<double>(end - start) * 1e-9};
  }

  Api api_;
  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_program program_ = nullptr;
  std::string name_, route_, translator_;
  std::vector<SpirvKernel> kernels_;
  absl::flat_hash_map<int64_t, cl_mem> buffers_;
  int64_t nextBuffer_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<OpenClDevice>> OpenClDevice::open() {
  absl::StatusOr<Api> api = loadApi();
  if (!api.ok()) return api.status();
  auto device = std::make_unique<Device>(*api);
  absl::Status status = device->openAny();
  if (!status.ok()) return status;
  return std::unique_ptr<OpenClDevice>(std::move(device));
}

}  // namespace mtlc::runtime
