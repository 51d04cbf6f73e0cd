#include "mtlc/codegen/ptx/profile.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace mtlc {
namespace {

std::optional<PtxProfile> resolve(std::string_view arch, std::optional<PtxVersion> version = {}) {
  DiagnosticEngine diags;
  return PtxProfile::resolve(arch, version, diags);
}

DiagId refusal(std::string_view arch, std::optional<PtxVersion> version, std::string* hint = {}) {
  DiagnosticEngine diags;
  EXPECT_FALSE(PtxProfile::resolve(arch, version, diags).has_value());
  EXPECT_EQ(diags.errorCount(), 1);
  if (hint != nullptr) *hint = diags.all().front().hint;
  return diags.all().front().id;
}

TEST(PtxProfileTest, NamedProfiles) {
  EXPECT_EQ(resolve("gb10")->describe(), "sm_121a with PTX 8.8");
  EXPECT_EQ(resolve("portable")->describe(), "sm_75 with PTX 6.4");
  EXPECT_EQ(resolve("compute_75")->describe(), "sm_75 with PTX 6.4");
  EXPECT_EQ(resolve("sm_90a")->describe(), "sm_90a with PTX 8.4");
  EXPECT_EQ(resolve("gb10", PtxVersion{9, 0})->describe(), "sm_121a with PTX 9.0");
}

// The lowest .version that ptxas 13.0 accepts for each .target (measured, see docs/ptx.md).
TEST(PtxProfileTest, MinimumVersions) {
  struct Row {
    std::string_view arch;
    PtxVersion least, below;
  };
  const Row rows[] = {
      {"sm_75", {6, 3}, {6, 2}},   {"sm_80", {7, 0}, {6, 5}},   {"sm_86", {7, 1}, {7, 0}},
      {"sm_87", {7, 4}, {7, 3}},   {"sm_89", {7, 8}, {7, 7}},   {"sm_90", {7, 8}, {7, 7}},
      {"sm_90a", {8, 0}, {7, 8}},  {"sm_100", {8, 6}, {8, 5}},  {"sm_100a", {8, 6}, {8, 5}},
      {"sm_103a", {8, 8}, {8, 7}}, {"sm_110a", {9, 0}, {8, 8}}, {"sm_120", {8, 7}, {8, 6}},
      {"sm_120f", {8, 8}, {8, 7}}, {"sm_121a", {8, 8}, {8, 7}}, {"sm_121f", {8, 8}, {8, 7}},
  };
  for (const Row& row : rows) {
    EXPECT_TRUE(resolve(row.arch, row.least).has_value()) << row.arch;
    EXPECT_EQ(refusal(row.arch, row.below), DiagId::PtxVersionTooOld) << row.arch;
  }
}

TEST(PtxProfileTest, DefaultsAreKnownAndSufficient) {
  for (const PtxTargetRow* row : ptxTargets()) {
    EXPECT_TRUE(resolve(row->name).has_value()) << row->name;
    EXPECT_GE(row->defaultVersion, row->minVersion) << row->name;
  }
}

TEST(PtxProfileTest, Refusals) {
  std::string hint;
  EXPECT_EQ(refusal("sm_121b", {}, &hint), DiagId::UnknownTarget);
  EXPECT_NE(hint.find("did you mean 'sm_121"), std::string::npos) << hint;
  EXPECT_EQ(refusal("sm_", {}), DiagId::UnknownTarget);
  EXPECT_EQ(refusal("compute_", {}), DiagId::UnknownTarget);
  EXPECT_EQ(refusal("", {}), DiagId::UnknownTarget);
  EXPECT_EQ(refusal("sm_121a", PtxVersion{8, 9}, &hint), DiagId::PtxUnknownVersion);
  EXPECT_NE(hint.find("8.8"), std::string::npos);
  EXPECT_EQ(refusal("sm_121a", PtxVersion{6, 4}, &hint), DiagId::PtxVersionTooOld);
  EXPECT_NE(hint.find("8.8"), std::string::npos);
}

TEST(PtxProfileTest, Features) {
  EXPECT_FALSE(resolve("sm_75")->has(PtxFeature::Bf16Fma));
  EXPECT_TRUE(resolve("sm_80")->has(PtxFeature::Bf16Fma));
  EXPECT_FALSE(resolve("sm_89")->has(PtxFeature::Bf16Arith));
  EXPECT_TRUE(resolve("sm_90")->has(PtxFeature::Bf16Arith));
  EXPECT_TRUE(resolve("sm_90a")->has(PtxFeature::Bf16Arith));
  EXPECT_TRUE(resolve("gb10")->has(PtxFeature::Bf16Cvt));
  // The version counts too.
  EXPECT_FALSE(resolve("portable")->has(PtxFeature::TanhApprox));
  EXPECT_TRUE(resolve("sm_75", PtxVersion{7, 0})->has(PtxFeature::TanhApprox));
  EXPECT_EQ(PtxProfile::needs(PtxFeature::Bf16Arith), "PTX 7.8 and sm_90 or newer");
}

TEST(PtxProfileTest, VersionText) {
  EXPECT_EQ(parsePtxVersion("8.8"), (PtxVersion{8, 8}));
  EXPECT_EQ(parsePtxVersion("88"), (PtxVersion{8, 8}));
  EXPECT_EQ(parsePtxVersion("8"), std::nullopt);
  EXPECT_EQ(parsePtxVersion("8.10"), std::nullopt);
  EXPECT_EQ(parsePtxVersion(""), std::nullopt);
  EXPECT_EQ(parsePtxVersion("8,8"), std::nullopt);
  EXPECT_EQ(toString(PtxVersion{7, 0}), "7.0");
}

}  // namespace
}  // namespace mtlc
