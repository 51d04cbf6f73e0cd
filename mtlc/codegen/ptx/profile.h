// A PTX profile: which PTX ISA version and which target architecture code is made for, and what
// that combination can do. The tables are ptx_targets.def and ptx_features.def.

#ifndef MTLC_CODEGEN_PTX_PROFILE_H_
#define MTLC_CODEGEN_PTX_PROFILE_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mtlc/support/diagnostics.h"

namespace mtlc {

struct PtxVersion {
  uint8_t major = 0;
  uint8_t minor = 0;
  friend constexpr auto operator<=>(PtxVersion, PtxVersion) = default;
};
// "8.8"
std::string toString(PtxVersion version);
// "8.8", or "88" as in -mattr=+ptx88; nullopt for anything else. Says nothing about whether that
// version exists.
std::optional<PtxVersion> parsePtxVersion(std::string_view text);
// The versions that exist, for people: "6.0 to 6.5, …".
std::string_view knownPtxVersions();

enum class PtxFeature : uint8_t {
#define PTX_FEATURE(Enum, name, major, minor, targets, what) Enum,
#include "mtlc/codegen/ptx/ptx_features.def"
};
inline constexpr int kPtxFeatureCount = 0
#define PTX_FEATURE(Enum, name, major, minor, targets, what) +1
#include "mtlc/codegen/ptx/ptx_features.def"
    ;

struct PtxFeatureRow {
  std::string_view name;     // "bf16-arith"
  PtxVersion version;        // Needs at least this one …
  std::string_view targets;  // … and one of these: "sm_90+", or a list "sm_100a sm_103a".
  std::string_view what;     // What it allows.
};
const PtxFeatureRow& ptxFeature(PtxFeature feature);

struct PtxTargetRow {
  std::string_view name;      // As the directive .target spells it: "sm_121a".
  uint16_t number;            // 121
  char suffix;                // 'a', 'f', or 0.
  PtxVersion minVersion;      // The first PTX version with it.
  PtxVersion defaultVersion;  // What is emitted unless another version is asked for.
};
std::vector<const PtxTargetRow*> ptxTargets();

// The least PTX version with which the target has the feature; nullopt if it never has.
std::optional<PtxVersion> leastVersionWith(PtxFeature feature, const PtxTargetRow& target);

class PtxProfile {
 public:
  // `arch` is sm_NN[a|f], compute_NN[a|f], gb10 (PTX 8.8, sm_121a) or portable (PTX 6.4,
  // compute_75). Without `version` the default of the target is taken. Reports what is wrong with
  // the pair and returns nullopt.
  static std::optional<PtxProfile> resolve(std::string_view arch, std::optional<PtxVersion> version,
                                           DiagnosticEngine& diags);
  // True if `arch` has one of the spellings above, known or not.
  static bool isArchName(std::string_view arch);

  const PtxTargetRow& target() const { return *target_; }
  PtxVersion version() const { return version_; }
  // "sm_121a with PTX 8.8", for messages.
  std::string describe() const;

  bool has(PtxFeature feature) const { return (features_ >> static_cast<int>(feature) & 1) != 0; }
  // "PTX 7.0 and sm_80 or newer": what has() of this feature asks for.
  static std::string needs(PtxFeature feature);

 private:
  PtxProfile() = default;
  const PtxTargetRow* target_ = nullptr;
  PtxVersion version_;
  uint64_t features_ = 0;
};

}  // namespace mtlc

#endif  // MTLC_CODEGEN_PTX_PROFILE_H_
