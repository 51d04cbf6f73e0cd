#include "mtlc/codegen/spirv/profile.h"

#include <string>

namespace mtlc {

namespace {

constexpr SpirvProfile kProfiles[] = {
#define SPIRV_PROFILE(name, major, minor, environment, features, description) \
  {name, major, minor, environment, features, description},
#include "mtlc/codegen/spirv/spirv_profiles.def"
};

struct MissingProfile {
  std::string_view name, reason;
};
constexpr MissingProfile kMissing[] = {
#define SPIRV_PROFILE(name, major, minor, environment, features, description)
#define SPIRV_MISSING_PROFILE(name, reason) {name, reason},
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

const SpirvProfile* resolveSpirvProfile(std::string_view name, DiagnosticEngine& diags) {
  if (const SpirvProfile* profile = findSpirvProfile(name)) return profile;
  std::string hint = "known:";
  for (const SpirvProfile& row : kProfiles) (hint += ' ') += row.name;
  for (const MissingProfile& row : kMissing) {
    if (row.name == name) hint = row.reason;
  }
  diags.report(DiagId::UnknownTarget, {}, {name, hint});
  return nullptr;
}

}  // namespace mtlc
