// SPIR-V on an OpenCL device.

#ifndef TOOLS_MTLC_RUN_OPENCL_DEVICE_H_
#define TOOLS_MTLC_RUN_OPENCL_DEVICE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "mtlc/support/diagnostics.h"
#include "tools/mtlc-run/arguments.h"
#include "tools/mtlc-run/device.h"

namespace mtlc::run {

// nullptr after a report: there is no OpenCL here, or it refuses the module. Appends the kernels to
// `kernels` unless that is nullptr.
std::unique_ptr<Device> makeOpenClDevice(const std::vector<uint32_t>& spirv,
                                         DiagnosticEngine& diags,
                                         std::vector<KernelSignature>* kernels);

}  // namespace mtlc::run

#endif  // TOOLS_MTLC_RUN_OPENCL_DEVICE_H_
