#include "tools/mtlc-run/opencl_device.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "mtlc/runtime/opencl.h"

namespace mtlc::run {
namespace {

using runtime::KernelParam;
using runtime::OpenClArgument;
using runtime::OpenClDevice;
using runtime::OpenClTimes;

class OpenClRunner : public Device {
 public:
  explicit OpenClRunner(std::unique_ptr<OpenClDevice> device) : device_(std::move(device)) {}

  absl::StatusOr<Statistics> run(Request& request, DiagnosticEngine&) override {
    if (request.grid.count() == 0) return Statistics{};
    std::vector<int64_t> ids;
    absl::StatusOr<Statistics> result = runWith(request, ids);
    for (int64_t id : ids) device_->free(id);
    return result;
  }

 private:
  absl::StatusOr<Statistics> runWith(Request& request, std::vector<int64_t>& ids) {
    for (const Buffer& buffer : request.buffers) {
      absl::StatusOr<int64_t> id = device_->allocate(buffer.bytes.size());
      if (!id.ok()) return id.status();
      ids.push_back(*id);
      absl::Status written = device_->write(*id, buffer.bytes);
      if (!written.ok()) return written;
    }
    runtime::OpenClLaunch launch;
    launch.kernel = request.kernel;
    launch.grid = {request.grid.x, request.grid.y, request.grid.z};
    launch.block = {request.block.x, request.block.y, request.block.z};
    launch.sharedBytes = request.sharedBytes;
    for (const Argument& argument : request.arguments) {
      OpenClArgument& to = launch.arguments.emplace_back();
      if (argument.isBuffer) {
        to.buffer = ids[argument.buffer];
      } else {
        to.bytes = argument.bytes.data();
        to.size = argument.bytes.size();
      }
    }
    absl::StatusOr<OpenClTimes> times = device_->launch(launch);
    if (!times.ok()) return times.status();
    for (size_t i = 0; i < ids.size(); ++i) {
      absl::Status read = device_->read(ids[i], request.buffers[i].bytes);
      if (!read.ok()) return read;
    }
    Statistics statistics;
    statistics.seconds = times->kernelSeconds;
    return statistics;
  }

  std::unique_ptr<OpenClDevice> device_;
};

}  // namespace

std::unique_ptr<Device> makeOpenClDevice(const std::vector<uint32_t>& spirv,
                                         DiagnosticEngine& diags,
                                         std::vector<KernelSignature>* kernels) {
  absl::StatusOr<std::unique_ptr<OpenClDevice>> device = OpenClDevice::open();
  absl::Status status = device.status();
  if (status.ok()) status = (*device)->load(spirv);
  if (!status.ok()) {
    diags.report(DiagId::OpenClUnusable, {}, {std::string(status.message())});
    return nullptr;
  }
  if (kernels != nullptr) {
    for (const runtime::SpirvKernel& kernel : (*device)->kernels()) {
      KernelSignature& signature = kernels->emplace_back();
      signature.name = kernel.name;
      for (size_t i = 0; i < kernel.params.size(); ++i) {
        const KernelParam& param = kernel.params[i];
        if (param.kind == KernelParam::Kind::WorkgroupPointer && i + 1 == kernel.params.size()) {
          break;  // The launch-sized arena: --shared.
        }
        const bool pointer = param.kind != KernelParam::Kind::Value;
        signature.parameters.push_back(
            {pointer ? Parameter::Kind::Pointer : Parameter::Kind::Bytes, param.bytes,
             param.name.empty() ? absl::StrFormat("%d", i) : param.name,
             pointer ? "pointer" : absl::StrFormat("%d bytes", param.bytes), std::nullopt});
      }
    }
  }
  return std::make_unique<OpenClRunner>(*std::move(device));
}

}  // namespace mtlc::run
