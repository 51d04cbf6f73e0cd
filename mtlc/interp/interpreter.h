// The reference interpreter: runs a kernel of an IR module as docs/ir.md says, and checks what it
// does to memory and barriers. Design and checks: docs/interpreter.md.
//
//   Program program(module);                         // verified; decoded once
//   Memory memory;
//   BufferId x = memory.add(bytes);
//   LaunchSpec spec{.kernel = "scale", .grid = {4}, .block = {64}};
//   spec.args = {KernelArg::buffer(x), KernelArg::scalar(n)};
//   absl::StatusOr<LaunchResult> result = launch(program, memory, spec);

#ifndef MTLC_INTERP_INTERPRETER_H_
#define MTLC_INTERP_INTERPRETER_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "mtlc/interp/memory.h"
#include "mtlc/interp/program.h"
#include "mtlc/ir/op_table.h"
#include "mtlc/support/fault.h"

namespace mtlc::interp {

// One argument of a kernel.
struct KernelArg {
  enum class Kind : uint8_t { Scalar, Buffer };
  Kind kind = Kind::Scalar;
  uint64_t bits = 0;  // Scalar: the value, zero-extended; also a null pointer. Buffer: byte offset.
  BufferId bufferId = 0;

  // The bits above the parameter's width are ignored.
  static KernelArg scalar(uint64_t bits) { return {Kind::Scalar, bits, 0}; }
  // A pointer to byte `offset` of a buffer.
  static KernelArg buffer(BufferId id, uint64_t offset = 0) { return {Kind::Buffer, offset, id}; }
};

// Shows every operation that one thread executes.
struct TraceRequest {
  Dim3 block{0, 0, 0};
  Dim3 thread{0, 0, 0};
  // Gets one line without newline, "FILE:LINE:COL: operation  -> value", after each operation.
  std::function<void(std::string_view line)> sink;
};

struct LaunchOptions {
  CheckMask checks = kCheckAll;
  // Operations that one thread may execute before it counts as hanging.
  uint64_t maxSteps = 100'000'000;
  // Host memory for registers, private and workgroup memory and the checkers' notes.
  uint64_t maxMemoryBytes = uint64_t{4} << 30;
  // Distinct faults kept; the launch ends when there are so many.
  uint32_t maxFaults = 100;
  // Work-items in a subgroup; 1 to 128.
  uint32_t subgroupSize = 32;
  // 0 runs blocks, and the threads of a block, in their order; another number in an order of its
  // own. A kernel without faults and atomics gives the same result in every order. With atomics,
  // another number than 0 also cuts the turns of threads short and shows what weak memory allows.
  uint64_t seed = 0;
  // Host threads, which share out the blocks. Which of several faults is found first may depend on
  // timing when there are two or more. A kernel with atomics or fences takes one.
  uint32_t threads = 1;
  std::optional<TraceRequest> trace;
};

struct LaunchSpec {
  std::string kernel;
  Dim3 grid;
  Dim3 block;
  uint64_t sharedBytes = 0;  // Size of the launch-sized workgroup arena.
  std::vector<KernelArg> args;
  LaunchOptions options;
};

struct LaunchStats {
  uint64_t blocks = 0;
  uint64_t threads = 0;
  uint64_t instructions = 0;  // Executed by all threads together; constants don't count.
  std::array<uint64_t, ir::kOpcodeCount> byOpcode{};
  double seconds = 0;
};

struct LaunchResult {
  std::vector<Fault> faults;  // Each distinct one once, in the order of blocks.
  LaunchStats stats;
  bool ok() const { return faults.empty(); }
};

// Runs the kernel for the whole grid. A grid with a dimension of 0 runs nothing. A thread goes on
// after a fault (a wrong load gives 0, a wrong store does nothing); a block with a divergent
// barrier ends, and the launch ends at the first fault of kind Steps.
//
// Errors, before anything runs: kNotFound (no such kernel), kInvalidArgument (dimensions,
// arguments, options, a call of a function without a body), kResourceExhausted (a limit; the memory
// limit may also be met while running: then the contents of the buffers are in between).
absl::StatusOr<LaunchResult> launch(const Program& program, Memory& memory, const LaunchSpec& spec);

// What is wrong with reading back a buffer: bytes [begin, end) that hold uninitialised bits that a
// kernel stored since their last initialisation. Bytes that nobody wrote are no fault. At most one
// fault for each store operation.
std::vector<Fault> checkReadBack(const Program& program, const Memory& memory, BufferId id,
                                 uint64_t begin, uint64_t end, const LaunchSpec& spec);

}  // namespace mtlc::interp

#endif  // MTLC_INTERP_INTERPRETER_H_
