// The PTX simulator as a device of mtlc-run.

#ifndef TOOLS_MTLC_RUN_SIM_DEVICE_H_
#define TOOLS_MTLC_RUN_SIM_DEVICE_H_

#include <memory>
#include <vector>

#include "mtlc/support/source.h"
#include "tools/mtlc-run/arguments.h"
#include "tools/mtlc-run/device.h"

namespace mtlc::run {

// A device with the PTX text `file` of `sources` loaded, both of which outlive it; nullptr after a
// report. `kernels`, if not null, receives what PTX says about the kernels: sizes of parameters.
std::unique_ptr<Device> makeSimDevice(const SourceManager& sources, FileId file,
                                      DiagnosticEngine& diags,
                                      std::vector<KernelSignature>* kernels);

}  // namespace mtlc::run

#endif  // TOOLS_MTLC_RUN_SIM_DEVICE_H_
