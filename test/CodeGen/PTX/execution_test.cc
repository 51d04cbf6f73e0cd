// Emitted PTX, run on the simulator, gives what the reference interpreter gives for the IR, bit for
// bit (NaNs count as equal where only the class is promised): every operation in every type on
// adversarial operands, for targets that select different code; and the kernels of some text tests,
// for control flow and calls.

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mtlc/codegen/ptx/ptx.h"
#include "mtlc/interp/interpreter.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"
#include "mtlc/sim/device.h"
#include "mtlc/support/file_io.h"

namespace mtlc {
namespace {

using ir::Type;
using ir::TypeKind;

constexpr uint32_t kThreads = 1024;
constexpr uint32_t kSpecials = 32;

struct Rng {
  uint64_t state = 0x9E3779B97F4A7C15;
  uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
};

// Numbers near which conversions, divisions, shifts and roundings go wrong, then random ones.
std::vector<uint64_t> specials(Type type, Rng& rng) {
  std::vector<uint64_t> v;
  switch (type.kind()) {
    case TypeKind::F16:
      v = {0,      0x8000, 1,      0x8001, 0x3FF,  0x400,  0x3C00, 0xBC00, 0x3800, 0x37FF, 0x3E00,
           0x4100, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0xFE01, 0x7C01, 0x57F8, 0xD808, 0x6400};
      break;
    case TypeKind::BF16:
      v = {0,      0x8000, 1,      0x8001, 0x7F,   0x80,   0x3F80, 0xBF80, 0x3F00, 0x3EFF, 0x3FC0,
           0x4020, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC0, 0xFFC1, 0x7F81, 0x42FF, 0xC301, 0x4F00};
      break;
    case TypeKind::F32:
      v = {0,          0x80000000, 1,          0x80000001, 0x7FFFFF,   0x800000,   0x3F800000,
           0xBF800000, 0x3F000000, 0x3EFFFFFF, 0x3FC00000, 0x40200000, 0x7F7FFFFF, 0xFF7FFFFF,
           0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 0x7F800001, 0x42FF0000, 0x4F000000,
           0xCF000001, 0x5F000000, 0x3F808000, 0x3F818000, 0x4B000001, 0x4B7FFFFF};
      break;
    case TypeKind::F64:
      v = {0,
           uint64_t{1} << 63,
           1,
           0x000FFFFFFFFFFFFF,
           0x3FF0000000000000,
           0xBFF0000000000000,
           0x3FE0000000000000,
           0x3FDFFFFFFFFFFFFF,
           0x3FF8000000000000,
           0x4004000000000000,
           0x7FEFFFFFFFFFFFFF,
           0x7FF0000000000000,
           0xFFF0000000000000,
           0x7FF8000000000000,
           0xFFF0000000000001,
           0x41E0000000000000,
           0xC1E0000000200000,
           0x43E0000000000000,
           0x3FF0100000000001,
           0x3F0FFFFFFFFFFFFF,
           0x405FE00000000000,
           0x47EFFFFFE0000000,
           0x36A0000000000001,
           0x40EFFE0000000001};
      break;
    default: {
      uint64_t top = uint64_t{1} << (type.bits() - 1);
      v = {
          0,       1,     2,     3,     5,      7,         8,         15,       16,
          31,      32,    33,    63,    64,     65,        100,       top,      top - 1,
          top + 1, ~0ull, ~1ull, ~7ull, ~31ull, 0x1000003, 0x1000001, top >> 1, 0x7FFFFFFFFFFFFBFF};
      break;
    }
  }
  while (v.size() < kSpecials) v.push_back(rng.next() >> (rng.next() & 63));
  for (uint64_t& x : v) x &= type.mask();
  v.resize(kSpecials);
  return v;
}

bool isNan(Type type, uint64_t bits) {
  switch (type.kind()) {
    case TypeKind::F16:
      return (bits & 0x7FFF) > 0x7C00;
    case TypeKind::BF16:
      return (bits & 0x7FFF) > 0x7F80;
    case TypeKind::F32:
      return (bits & 0x7FFFFFFF) > 0x7F800000;
    case TypeKind::F64:
      return (bits & ~(uint64_t{1} << 63)) > 0x7FF0000000000000;
    default:
      return false;
  }
}

std::string dataFile(const std::string& name) {
  const char* root = std::getenv("TEST_SRCDIR");
  const char* workspace = std::getenv("TEST_WORKSPACE");
  std::string path = std::string(root) + "/" + workspace + "/test/CodeGen/PTX/" + name;
  absl::StatusOr<std::string> text = readFile(path);
  EXPECT_TRUE(text.ok()) << path;
  return text.ok() ? *text : "";
}

class Execution : public testing::TestWithParam<const char*> {
 protected:
  struct Arg {
    bool isBuffer;
    uint64_t bits;
    std::vector<uint8_t> bytes;
  };

  // The interpreter has to see the module before the emitter expands it.
  void load(const std::string& name) {
    std::string text = dataFile(name);
    FileId file = sources_.add(name, text);
    reference_ = ir::parseModule(sources_, file, diags_);
    std::unique_ptr<ir::Module> module = ir::parseModule(sources_, file, diags_);
    ASSERT_TRUE(module != nullptr && ir::verify(*module, diags_)) << renderHuman(diags_, sources_);
    std::optional<PtxProfile> profile = PtxProfile::resolve(GetParam(), {}, diags_);
    std::optional<std::string> ptx = emitPtx(*module, {*profile, false}, diags_);
    ASSERT_TRUE(ptx.has_value()) << renderHuman(diags_, sources_);
    simulated_ = device_.load(sources_.add("out.ptx", *ptx), sources_, diags_);
    ASSERT_NE(simulated_, nullptr) << renderHuman(diags_, sources_);
    program_ = std::make_unique<interp::Program>(*reference_);
  }

  // Runs both; the buffers come back in `want` and `got`.
  void run(const ir::Function& kernel, const std::vector<Arg>& args, uint32_t threads,
           std::vector<std::vector<uint8_t>>& want, std::vector<std::vector<uint8_t>>& got) {
    interp::Memory memory;
    interp::LaunchSpec spec;
    spec.kernel = std::string(kernel.name());
    spec.grid = {1};
    spec.block = {threads};
    const sim::Kernel* k = simulated_->kernel(kernel.name());
    ASSERT_NE(k, nullptr) << kernel.name();
    sim::LaunchConfig config;
    config.block = {threads, 1, 1};
    config.params.resize(k->paramBytes);
    std::vector<sim::Allocation*> allocations;
    for (size_t p = 0; p < args.size(); ++p) {
      uint64_t bits = args[p].bits;
      if (args[p].isBuffer) {
        spec.args.push_back(interp::KernelArg::buffer(memory.add(args[p].bytes)));
        sim::Allocation* a = device_.memory().allocate(args[p].bytes.size(), 256, "buffer");
        std::memcpy(a->host, args[p].bytes.data(), args[p].bytes.size());
        a->initialised = true;
        allocations.push_back(a);
        bits = a->begin;
      } else {
        spec.args.push_back(interp::KernelArg::scalar(bits));
      }
      std::memcpy(config.params.data() + k->params[p].offset, &bits, k->params[p].bytes);
    }
    absl::StatusOr<interp::LaunchResult> reference = interp::launch(*program_, memory, spec);
    ASSERT_TRUE(reference.ok() && reference->ok()) << kernel.name();
    sim::LaunchResult result = device_.launch(*k, config, diags_);
    ASSERT_EQ(result.status, sim::LaunchStatus::ok)
        << kernel.name() << result.message << renderHuman(diags_, sources_);
    for (size_t b = 0; b < allocations.size(); ++b) {
      std::span<const uint8_t> bytes = memory.bytes(static_cast<interp::BufferId>(b));
      want.emplace_back(bytes.begin(), bytes.end());
      got.emplace_back(allocations[b]->host, allocations[b]->host + bytes.size());
      device_.memory().free(allocations[b]->begin);
    }
  }

  SourceManager sources_;
  DiagnosticEngine diags_;
  std::unique_ptr<ir::Module> reference_;
  std::unique_ptr<interp::Program> program_;
  sim::Device device_;
  sim::Module* simulated_ = nullptr;
};

TEST_P(Execution, EveryOperation) {
  load("op_forms.mtir");
  if (HasFatalFailure()) return;
  Rng rng;
  for (ir::Function& kernel : reference_->functions()) {
    // The hardware's approximations have no exact value.
    if (kernel.name().find("_approx") != std::string_view::npos) continue;
    std::vector<Type> types;
    Type result;
    bool movesBits = false;
    for (ir::Operation& op : kernel.entry()->ops()) {
      if (op.opcode() == ir::Opcode::Load) types.push_back(op.elemType());
      if (op.opcode() == ir::Opcode::Store) result = op.elemType();
      movesBits |= op.opcode() == ir::Opcode::FNeg || op.opcode() == ir::Opcode::FAbs ||
                   op.opcode() == ir::Opcode::Select || op.opcode() == ir::Opcode::Bitcast;
    }
    std::vector<Arg> args;
    std::vector<std::vector<uint64_t>> inputs;
    for (size_t i = 0; i < types.size(); ++i) {
      std::vector<uint64_t> special = specials(types[i], rng);
      std::vector<uint64_t>& values = inputs.emplace_back();
      std::vector<uint8_t> bytes(kThreads * types[i].bytes());
      for (uint32_t t = 0; t < kThreads; ++t) {
        uint32_t index = types.size() == 1 ? t : i == 0 ? t / kSpecials : t % kSpecials;
        if (i == 2) index = static_cast<uint32_t>(rng.next());
        uint64_t value = special[index % kSpecials];
        if (types.size() == 1 && t >= kSpecials) value = rng.next() & types[i].mask();
        values.push_back(value);
        std::memcpy(bytes.data() + t * types[i].bytes(), &value, types[i].bytes());
      }
      args.push_back({true, 0, bytes});
    }
    args.push_back({true, 0, std::vector<uint8_t>(kThreads * result.bytes(), 0xCD)});
    std::vector<std::vector<uint8_t>> want, got;
    run(kernel, args, kThreads, want, got);
    if (HasFatalFailure()) return;
    for (uint32_t t = 0; t < kThreads; ++t) {
      uint64_t w = 0, g = 0;
      std::memcpy(&w, want.back().data() + t * result.bytes(), result.bytes());
      std::memcpy(&g, got.back().data() + t * result.bytes(), result.bytes());
      if (w == g || (!movesBits && isNan(result, w) && isNan(result, g))) continue;
      std::string operands;
      for (const std::vector<uint64_t>& input : inputs) {
        operands += testing::PrintToString(input[t]) + " ";
      }
      ADD_FAILURE() << kernel.name() << " of " << operands << std::hex << ": want " << w << ", got "
                    << g;
      break;
    }
  }
}

TEST_P(Execution, TextTests) {
  for (const char* file : {"control.mtir", "calls.mtir", "int-arith.mtir", "int-division.mtir",
                           "int-shift.mtir", "int-bits.mtir", "int-narrow.mtir"}) {
    load(file);
    if (HasFatalFailure()) return;
    Rng rng;
    for (ir::Function& kernel : reference_->functions()) {
      if (!kernel.isKernel() || kernel.name() == "endless") continue;
      for (int round = 0; round < 6; ++round) {
        std::vector<Arg> args;
        for (Type type : kernel.paramTypes()) {
          if (type.isPtr()) {
            std::vector<uint8_t> bytes(256);
            for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(rng.next());
            args.push_back({true, 0, bytes});
          } else {
            uint64_t small = rng.next() % 8;  // Also the number of rounds of loops.
            bool wild = round > 2 && type != ir::kI32 && !type.isFloat();
            if (type == ir::kF32) small = 0x3F800000 + small;
            args.push_back({false, (wild ? rng.next() : small) & type.mask(), {}});
          }
        }
        std::vector<std::vector<uint8_t>> want, got;
        run(kernel, args, 1, want, got);
        if (HasFatalFailure()) return;
        EXPECT_EQ(want, got) << file << " " << kernel.name() << " round " << round;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Execution, testing::Values("portable", "sm_80", "sm_90", "gb10"),
                         [](const testing::TestParamInfo<const char*>& info) {
                           return std::string(info.param);
                         });

}  // namespace
}  // namespace mtlc
