#include "mtlc/codegen/spirv/profile.h"

namespace mtlc {

namespace {

constexpr SpirvProfile kProfiles[] = {
#define SPIRV_PROFILE(name, major, minor, environment, features, description) \
  {name, major, minor, environment, features, description},
#include "mtlc/codegen/spirv/spirv_profiles.def"
};

}  // namespace

std::span<const SpirvProfile> spirvProfiles() { return kProfiles; }

const SpirvProfile* findSpirvProfile(std::string_view name) {
  for (const SpirvProfile& profile : kProfiles) {
    if (profile.name == name) return &profile;
  }
  return nullptr;
}

}  // namespace mtlc
