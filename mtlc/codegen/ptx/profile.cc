#include "mtlc/codegen/ptx/profile.h"

#include <algorithm>
#include <iterator>

#include "mtlc/support/suggest.h"

namespace mtlc {

namespace {

constexpr PtxFeatureRow kFeatures[] = {
#define PTX_FEATURE(Enum, name, major, minor, targets, what) {name, {major, minor}, targets, what},
#include "mtlc/codegen/ptx/ptx_features.def"
};

// A suffix of 0 pastes to nothing.
constexpr std::string_view smName(std::string_view plain, std::string_view a, std::string_view f,
                                  char suffix) {
  return suffix == 'a' ? a : suffix == 'f' ? f : plain;
}

constexpr PtxTargetRow kTargets[] = {
#define PTX_TARGET(number, suffix, minMajor, minMinor, major, minor)    \
  {smName("sm_" #number, "sm_" #number "a", "sm_" #number "f", suffix), \
   number,                                                              \
   suffix,                                                              \
   {minMajor, minMinor},                                                \
   {major, minor}},
#include "mtlc/codegen/ptx/ptx_targets.def"
};

// All released PTX ISA versions that the emitter knows: major, first minor, last minor.
struct VersionRange {
  uint8_t major, first, last;
};
constexpr VersionRange kVersions[] = {{6, 0, 5}, {7, 0, 8}, {8, 0, 8}, {9, 0, 0}};
constexpr std::string_view kVersionsText = "6.0 to 6.5, 7.0 to 7.8, 8.0 to 8.8, 9.0";

bool isKnown(PtxVersion v) {
  return std::any_of(std::begin(kVersions), std::end(kVersions), [v](const VersionRange& r) {
    return v.major == r.major && v.minor >= r.first && v.minor <= r.last;
  });
}

// Does `target` satisfy the column "targets" of a feature row?
bool inTargets(const PtxTargetRow& target, std::string_view targets) {
  if (targets.back() == '+') {
    unsigned least = 0;
    for (char c : targets.substr(3, targets.size() - 4)) least = least * 10 + (c - '0');
    return target.number >= least;
  }
  while (!targets.empty()) {
    size_t end = std::min(targets.find(' '), targets.size());
    if (targets.substr(0, end) == target.name) return true;
    targets.remove_prefix(std::min(end + 1, targets.size()));
  }
  return false;
}

const PtxTargetRow* findRow(std::string_view smName) {
  for (const PtxTargetRow& row : kTargets) {
    if (row.name == smName) return &row;
  }
  return nullptr;
}

// "compute_75" → "sm_75": the virtual architectures have the same rows.
std::string smSpelling(std::string_view arch) {
  if (arch.starts_with("compute_")) return "sm_" + std::string(arch.substr(8));
  return std::string(arch);
}

}  // namespace

std::string toString(PtxVersion version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor);
}

std::string_view knownPtxVersions() { return kVersionsText; }

std::optional<PtxVersion> parsePtxVersion(std::string_view text) {
  auto digit = [](char c) { return c >= '0' && c <= '9'; };
  auto value = [](char c) { return static_cast<uint8_t>(c - '0'); };
  if (text.size() == 3 && digit(text[0]) && text[1] == '.' && digit(text[2])) {
    return PtxVersion{value(text[0]), value(text[2])};
  }
  if (text.size() == 2 && digit(text[0]) && digit(text[1])) {
    return PtxVersion{value(text[0]), value(text[1])};
  }
  return std::nullopt;
}

const PtxFeatureRow& ptxFeature(PtxFeature feature) {
  return kFeatures[static_cast<size_t>(feature)];
}

std::optional<PtxVersion> leastVersionWith(PtxFeature feature, const PtxTargetRow& target) {
  const PtxFeatureRow& row = ptxFeature(feature);
  if (!inTargets(target, row.targets)) return std::nullopt;
  return std::max(row.version, target.minVersion);
}

std::vector<const PtxTargetRow*> ptxTargets() {
  std::vector<const PtxTargetRow*> rows;
  for (const PtxTargetRow& row : kTargets) rows.push_back(&row);
  return rows;
}

bool PtxProfile::isArchName(std::string_view arch) {
  return arch == "gb10" || arch == "portable" || arch.starts_with("sm_") ||
         arch.starts_with("compute_");
}

std::optional<PtxProfile> PtxProfile::resolve(std::string_view arch,
                                              std::optional<PtxVersion> version,
                                              DiagnosticEngine& diags) {
  std::string name = smSpelling(arch);
  if (arch == "gb10") {
    name = "sm_121a";
    if (!version) version = PtxVersion{8, 8};
  } else if (arch == "portable") {
    name = "sm_75";
    if (!version) version = PtxVersion{6, 4};
  }
  const PtxTargetRow* row = findRow(name);
  if (row == nullptr) {
    std::vector<std::string_view> names = {"gb10", "portable"};
    for (const PtxTargetRow& r : kTargets) names.push_back(r.name);
    std::string_view near = nearestSpelling(name, names);
    std::string hint = "known: gb10, portable, and compute_NN or sm_NN with NN one of";
    for (const PtxTargetRow& r : kTargets) (hint += ' ') += r.name.substr(3);
    if (!near.empty()) hint = "did you mean '" + std::string(near) + "'? " + hint;
    diags.report(DiagId::UnknownTarget, {}, {arch, hint});
    return std::nullopt;
  }
  PtxVersion v = version.value_or(row->defaultVersion);
  if (!isKnown(v)) {
    diags.report(DiagId::PtxUnknownVersion, {}, {toString(v), kVersionsText});
    return std::nullopt;
  }
  if (v < row->minVersion) {
    PtxVersion m = row->minVersion;
    diags.report(
        DiagId::PtxVersionTooOld, {},
        {toString(v), row->name, toString(m), std::to_string(m.major) + std::to_string(m.minor)});
    return std::nullopt;
  }
  PtxProfile profile;
  profile.target_ = row;
  profile.version_ = v;
  for (int i = 0; i < kPtxFeatureCount; ++i) {
    const std::optional<PtxVersion> least = leastVersionWith(static_cast<PtxFeature>(i), *row);
    if (least && v >= *least) profile.features_ |= uint64_t{1} << i;
  }
  return profile;
}

std::string PtxProfile::describe() const {
  return std::string(target_->name) + " with PTX " + toString(version_);
}

std::string PtxProfile::needs(PtxFeature feature) {
  const PtxFeatureRow& row = ptxFeature(feature);
  std::string text = "PTX " + toString(row.version) + " and ";
  if (row.targets.back() == '+') {
    return text + std::string(row.targets.substr(0, row.targets.size() - 1)) + " or newer";
  }
  return text + "one of " + std::string(row.targets);
}

}  // namespace mtlc
