// Hostile PTX: prefixes of real modules and random changes of their words. Reading, decoding and
// running end, without a crash or a sanitizer's report; what is refused says where.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "mtlc/sim/testing/hostile.h"
#include "test/fuzz/mutator.h"

namespace mtlc::sim {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPrefixes = 60;  // Of each module.
constexpr int kMutations = 1500;
constexpr double kMostSeconds = 60;  // Slow machines check less.

std::vector<std::string> modules() {
  std::vector<std::string> texts;
  for (const char* folder : {"test/Sim/ptx", "mtlc/sim/testdata"}) {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".ptx") paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) {
      std::ifstream in(path);
      std::stringstream text;
      text << in.rdbuf();
      texts.push_back(text.str());
    }
  }
  return texts;
}

bool timeIsUp(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count() > kMostSeconds;
}

TEST(Mutation, TheModulesThemselvesRun) {
  std::vector<std::string> texts = modules();
  ASSERT_GE(texts.size(), 8u);
  for (const std::string& text : texts) {
    HostileResult r = launchHostile(text, 1);
    EXPECT_EQ(r.broken, "") << text.substr(0, 400);
    EXPECT_TRUE(r.loaded) << text.substr(0, 400);
    EXPECT_GT(r.launches, 0u) << text.substr(0, 400);
  }
}

TEST(Mutation, Prefixes) {
  auto start = Clock::now();
  for (const std::string& text : modules()) {
    for (size_t i = 0; i < kPrefixes && !timeIsUp(start); ++i) {
      std::string prefix = text.substr(0, text.size() * i / kPrefixes);
      HostileResult r = launchHostile(prefix, i);
      ASSERT_EQ(r.broken, "") << prefix;
    }
  }
}

TEST(Mutation, Words) {
  auto start = Clock::now();
  fuzz::Mutator mutator(modules(), 20240613, 20000);
  int loaded = 0;
  for (int i = 0; i < kMutations && !timeIsUp(start); ++i) {
    std::string text = mutator.next();
    HostileResult r = launchHostile(text, static_cast<uint64_t>(i));
    ASSERT_EQ(r.broken, "") << text;
    loaded += r.loaded;
  }
  EXPECT_GT(loaded, 0);
}

}  // namespace
}  // namespace mtlc::sim
