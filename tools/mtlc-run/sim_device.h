// The PTX simulator as a device of mtlc-run.

#ifndef TOOLS_MTLC_RUN_SIM_DEVICE_H_
#define TOOLS_MTLC_RUN_SIM_DEVICE_H_

#include <memory>
#include <string>
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
// The same for SPIR-V; its listing is registered under `name`.
std::unique_ptr<Device> makeSpirvSimDevice(SourceManager& sources, std::string name,
                                           const std::vector<uint32_t>& words,
                                           DiagnosticEngine& diags,
                                           std::vector<KernelSignature>* kernels);

}  // namespace mtlc::run

#endif  // TOOLS_MTLC_RUN_SIM_DEVICE_H_
