// The kernels of a SPIR-V module for OpenCL and what they take, read from its words.

#ifndef MTLC_RUNTIME_SPIRV_KERNELS_H_
#define MTLC_RUNTIME_SPIRV_KERNELS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace mtlc::runtime {

struct KernelParam {
  enum class Kind : uint8_t {
    Value,             // `bytes` of it.
    GlobalPointer,     // A buffer.
    ConstantPointer,   // A buffer that is only read.
    WorkgroupPointer,  // A size: the driver allocates.
    Other,             // Images, samplers, … which nothing here can pass.
  };
  Kind kind = Kind::Value;
  uint32_t bytes = 8;
  std::string name;  // OpName; may be empty.
};

struct SpirvKernel {
  std::string name;
  std::vector<KernelParam> params;
};

// Reads the entry points of execution model Kernel. Any words do: what is no SPIR-V, or refers to
// ids that are not there, is an InvalidArgument with the word where it went wrong. Linear.
absl::StatusOr<std::vector<SpirvKernel>> readSpirvKernels(std::span<const uint32_t> words);

}  // namespace mtlc::runtime

#endif  // MTLC_RUNTIME_SPIRV_KERNELS_H_
