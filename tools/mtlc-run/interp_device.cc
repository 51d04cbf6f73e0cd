#include "tools/mtlc-run/interp_device.h"

#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "mtlc/interp/interpreter.h"

namespace mtlc::run {
namespace {

// The classes of --stats.
constexpr std::array<std::string_view, 8> kClasses = {"integer", "float", "conversion", "memory",
                                                      "control", "other", "subgroup",   "tensor"};

size_t classOf(ir::Opcode opcode) {
  const ir::OpInfo& info = ir::opInfo(opcode);
  switch (info.form) {
    case ir::Form::Cast:
    case ir::Form::Encode:
    case ir::Form::Decode:
      return 2;
    case ir::Form::Load:
    case ir::Form::Store:
    case ir::Form::PtrAdd:
    case ir::Form::AtomicLoad:
    case ir::Form::AtomicStore:
    case ir::Form::AtomicRmw:
    case ir::Form::AtomicCas:
    case ir::Form::AsyncCopy:
    case ir::Form::AsyncCommit:
    case ir::Form::AsyncWait:
      return 3;
    case ir::Form::SubgroupIndex:
    case ir::Form::SubgroupLane:
    case ir::Form::SubgroupReduce:
    case ir::Form::SubgroupBallot:
    case ir::Form::SubgroupVote:
      return 6;
    case ir::Form::Mma:
    case ir::Form::Epilogue:
    case ir::Form::Transfer:
    case ir::Form::AccCommit:
      return 7;
    case ir::Form::Fence:
    case ir::Form::FuncAddr:
    case ir::Form::CallIndirect:
    case ir::Form::Launch:
    case ir::Form::Barrier:
    case ir::Form::Call:
    case ir::Form::Jump:
    case ir::Form::Branch:
    case ir::Form::Return:
      return 4;
    case ir::Form::Unary:
    case ir::Form::Binary:
    case ir::Form::Ternary:
    case ir::Form::Compare:
      return info.typeClass == ir::TypeClass::Float ? 1 : 0;
    case ir::Form::Const:
    case ir::Form::Select:
    case ir::Form::GpuIndex:
    case ir::Form::Alloc:
    case ir::Form::AllocDynamic:
      return 5;
  }
  return 5;
}

class InterpDevice : public Device {
 public:
  explicit InterpDevice(const ir::Module& module) : program_(module) {}

  absl::StatusOr<Statistics> run(Request& request, DiagnosticEngine& diags) override {
    interp::Memory memory;
    for (Buffer& buffer : request.buffers) {
      if (buffer.initialised) {
        memory.add(std::move(buffer.bytes), buffer.name);
      } else {
        memory.addUninitialised(std::move(buffer.bytes), buffer.name);
      }
    }
    interp::LaunchSpec spec;
    spec.kernel = request.kernel;
    spec.grid = request.grid;
    spec.block = request.block;
    spec.sharedBytes = request.sharedBytes;
    for (const Argument& argument : request.arguments) {
      if (argument.tensorMap) {
        return absl::InvalidArgumentError("the interpreter has no tensor maps");
      }
      if (argument.isBuffer) {
        spec.args.push_back(interp::KernelArg::buffer(argument.buffer));
        continue;
      }
      uint64_t bits = 0;
      std::memcpy(&bits, argument.bytes.data(), std::min(sizeof bits, argument.bytes.size()));
      spec.args.push_back(interp::KernelArg::scalar(bits));
    }
    spec.options.checks = request.checks;
    spec.options.maxSteps = request.maxSteps;
    spec.options.subgroupSize = request.subgroupSize;
    spec.options.threads = request.threads;
    spec.options.seed = request.seed;
    if (request.trace) {
      spec.options.trace =
          interp::TraceRequest{request.trace->first, request.trace->second, request.traceLine};
    }

    absl::StatusOr<interp::LaunchResult> result = interp::launch(program_, memory, spec);
    if (!result.ok()) return result.status();
    for (const Fault& fault : result->faults) reportFault(fault, diags);
    for (interp::BufferId id = 0; id < request.buffers.size(); ++id) {
      Buffer& buffer = request.buffers[id];
      if (request.checks & checkBit(FaultKind::Init)) {
        for (const Fault& fault :
             interp::checkReadBack(program_, memory, id, 0, buffer.readBack, spec)) {
          reportFault(fault, diags);
        }
      }
      std::span<const uint8_t> bytes = memory.bytes(id);
      buffer.bytes.assign(bytes.begin(), bytes.end());
    }

    Statistics statistics;
    statistics.instructions = result->stats.instructions;
    statistics.laneInstructions = result->stats.instructions;
    statistics.seconds = result->stats.seconds;
    std::array<uint64_t, kClasses.size()> counts{};
    for (int i = 0; i < ir::kOpcodeCount; ++i) {
      counts[classOf(static_cast<ir::Opcode>(i))] += result->stats.byOpcode[i];
    }
    for (size_t i = 0; i < kClasses.size(); ++i) {
      statistics.classes.emplace_back(kClasses[i], counts[i]);
    }
    return statistics;
  }

 private:
  interp::Program program_;
};

}  // namespace

std::unique_ptr<Device> makeInterpDevice(const ir::Module& module) {
  return std::make_unique<InterpDevice>(module);
}

}  // namespace mtlc::run
