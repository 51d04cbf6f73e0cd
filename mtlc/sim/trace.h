// The trace of one thread: LaunchConfig::trace. Internal to the simulator.

#ifndef MTLC_SIM_TRACE_H_
#define MTLC_SIM_TRACE_H_

#include <memory>

#include "mtlc/sim/device.h"
#include "mtlc/sim/observer.h"

namespace mtlc::sim {

// Reports the instructions of thread `traceThread` of block `traceBlock` to `config.traceLine`, one
// line each, in the order in which the thread executes them:
//
//   12: add.u32 %r3, %r1, 7 | 0x00000005 0x00000007 -> 0x0000000c
//   13: ld.global.f32 %f1, [%rd1] | 0x… | load global 0x… 4 -> 0x3fc00000 (1.5)
//   14: @%p1 mov.u32 %r3, 1 | skipped
//
// The line in the PTX text, the instruction, the source operands, the access (kind, space, address
// or offset, bytes), the result. Registers of types .f32 and .f64 are also shown in decimal.
// `config` must outlive the observer.
std::unique_ptr<Observer> makeTrace(const LaunchConfig& config);

}  // namespace mtlc::sim

#endif  // MTLC_SIM_TRACE_H_
