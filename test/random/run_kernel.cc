#include "test/random/run_kernel.h"

#include <algorithm>
#include <random>

#include "absl/strings/str_format.h"
#include "mtlc/interp/interpreter.h"
#include "test/random/ir_generator.h"

namespace mtlc::random_test {

KernelOutput runKernel(const ir::Module& module, const KernelInput& input) {
  KernelOutput output;
  const interp::Program program(module);
  interp::Memory memory;
  const interp::BufferId in = memory.add(input.input, "in");
  const interp::BufferId out =
      memory.addUninitialised(std::vector<uint8_t>(input.outputBytes, interp::kPoisonByte), "out");
  interp::LaunchSpec spec;
  spec.kernel = input.kernel;
  spec.grid = {input.grid, 1, 1};
  spec.block = {input.block, 1, 1};
  spec.args = {interp::KernelArg::buffer(in), interp::KernelArg::buffer(out)};
  for (uint64_t bits : input.scalars) spec.args.push_back(interp::KernelArg::scalar(bits));
  spec.options.maxSteps = 1'000'000;
  spec.options.seed = input.schedule;
  absl::StatusOr<interp::LaunchResult> result = interp::launch(program, memory, spec);
  if (!result.ok()) {
    output.problem = std::string(result.status().message());
    return output;
  }
  std::vector<Fault> faults = result->faults;
  for (Fault& f : interp::checkReadBack(program, memory, out, 0, input.outputBytes, spec)) {
    faults.push_back(std::move(f));
  }
  if (!faults.empty()) {
    output.problem =
        absl::StrFormat("%d faults, the first: %s", faults.size(), faultMessage(faults[0]));
  }
  output.instructions = result->stats.instructions;
  std::span<const uint8_t> bytes = memory.bytes(out);
  output.bytes.assign(bytes.begin(), bytes.end());
  return output;
}

std::vector<uint64_t> randomScalars(const ir::Function& kernel, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> scalars;
  for (unsigned i = 2; i < kernel.paramCount(); ++i) {
    scalars.push_back(randomBits(kernel.paramTypes()[i], random));
  }
  return scalars;
}

std::string describeDifference(const std::vector<uint8_t>& expected,
                               const std::vector<uint8_t>& got) {
  if (expected.size() != got.size()) {
    return absl::StrFormat("%d bytes instead of %d", got.size(), expected.size());
  }
  const auto [e, g] = std::mismatch(expected.begin(), expected.end(), got.begin());
  if (e == expected.end()) return "";
  const size_t cell = static_cast<size_t>(e - expected.begin()) / 8;
  std::string text = absl::StrFormat("cell %d: expected", cell);
  for (size_t i = 8 * cell; i < std::min(8 * cell + 8, expected.size()); ++i) {
    absl::StrAppendFormat(&text, " %02x", expected[i]);
  }
  text += ", got";
  for (size_t i = 8 * cell; i < std::min(8 * cell + 8, got.size()); ++i) {
    absl::StrAppendFormat(&text, " %02x", got[i]);
  }
  return text;
}

}  // namespace mtlc::random_test
