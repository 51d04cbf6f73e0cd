// SPIR-V profiles (spirv_profiles.def).

#ifndef MTLC_CODEGEN_SPIRV_PROFILE_H_
#define MTLC_CODEGEN_SPIRV_PROFILE_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "mtlc/support/diagnostics.h"

namespace mtlc {

enum SpirvFeature : uint32_t {
  kSubgroupBallotKhr = 1 << 0,  // SPV_KHR_shader_ballot
  kGroupNonUniform = 1 << 1,    // OpGroupNonUniform…, of SPIR-V 1.3
};

struct SpirvProfile {
  std::string_view name;  // "spirv-opencl2.0"
  uint8_t major, minor;   // The SPIR-V version in the module's header.
  std::string_view environment;
  uint32_t features;
  std::string_view description;

  bool has(SpirvFeature feature) const { return (features & feature) != 0; }
};

std::span<const SpirvProfile> spirvProfiles();
const SpirvProfile* findSpirvProfile(std::string_view name);
// The same; reports UnknownTarget with the reason for one that is not there.
const SpirvProfile* resolveSpirvProfile(std::string_view name, DiagnosticEngine& diags);

}  // namespace mtlc

#endif  // MTLC_CODEGEN_SPIRV_PROFILE_H_
