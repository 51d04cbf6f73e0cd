// The reference interpreter as a device of mtlc-run.

#ifndef TOOLS_MTLC_RUN_INTERP_DEVICE_H_
#define TOOLS_MTLC_RUN_INTERP_DEVICE_H_

#include <memory>

#include "mtlc/ir/ir.h"
#include "tools/mtlc-run/device.h"

namespace mtlc::run {

// `module` is verified and outlives the device.
std::unique_ptr<Device> makeInterpDevice(const ir::Module& module);

}  // namespace mtlc::run

#endif  // TOOLS_MTLC_RUN_INTERP_DEVICE_H_
