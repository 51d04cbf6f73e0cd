// What the way of a SPIR-V module through llvm-spirv to a device that takes SPIR 1.2 needs changed.

#ifndef MTLC_RUNTIME_SPIR_ROUTE_H_
#define MTLC_RUNTIME_SPIR_ROUTE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace mtlc::runtime {

// For PoCL, a CPU, where all address spaces are one:
//
//   OpMemoryBarrier            calls atomic_work_item_fence of OpenCL 2.0, with its order and
//   scope.
//                              llvm-spirv's SPIR 1.2 has mem_fence, which is not there
//   atomics through Generic    go through a pointer to CrossWorkgroup: there are no other functions
//
// Modules without either come back as they are. Any words do: those that are no SPIR-V are an
// InvalidArgument with the word where it went wrong. Linear.
absl::StatusOr<std::vector<uint32_t>> adaptForSpir(std::span<const uint32_t> words);

}  // namespace mtlc::runtime

#endif  // MTLC_RUNTIME_SPIR_ROUTE_H_
