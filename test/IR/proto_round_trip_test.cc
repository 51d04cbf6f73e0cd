// The protobuf form keeps every module of the test suite, and random ones.

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "gtest/gtest.h"
#include "mtlc/ir/proto.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"
#include "test/random/ir_generator.h"

namespace mtlc::ir {
namespace {

std::string problems(const Module& module) {
  DiagnosticEngine diags(1000);
  verify(module, diags);
  return renderJson(diags, module.sources());
}

void expectRoundTrip(const Module& module, const std::string& name) {
  SCOPED_TRACE(name);
  const std::string bytes = writeProto(module);
  SourceManager sources;
  DiagnosticEngine diags;
  std::unique_ptr<Module> read = readProto(sources, name + "pb", bytes, diags);
  ASSERT_NE(read, nullptr) << renderHuman(diags, sources);
  EXPECT_EQ(print(*read), print(module));
  EXPECT_EQ(print(*read, {.locations = true}), print(module, {.locations = true}));
  EXPECT_EQ(writeProto(*read), bytes);
  // Columns of an excerpt are missing in the other, but nothing else.
  EXPECT_EQ(problems(*read), problems(module));
}

TEST(ProtoRoundTrip, EveryFile) {
  int good = 0, refused = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           "test", std::filesystem::directory_options::follow_directory_symlink)) {
    if (entry.path().extension() != ".mtir") continue;
    std::ifstream in(entry.path());
    std::stringstream text;
    text << in.rdbuf();
    SourceManager sources;
    DiagnosticEngine diags;
    const std::string name = entry.path().string();
    std::unique_ptr<Module> module = parseModule(sources, sources.add(name, text.str()), diags);
    if (module) {
      ++good;
      expectRoundTrip(*module, name);
    } else {
      ++refused;
    }
  }
  std::printf("%d modules, %d files that are none\n", good, refused);
  EXPECT_GE(good, 170);
  EXPECT_LT(refused, 20);
}

TEST(ProtoRoundTrip, RandomModules) {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    SourceManager sources;
    Module generated(sources, "random");
    random_test::generateModule(generated, seed);
    // Through the text, where operations get locations.
    const std::string name = "random-" + std::to_string(seed) + ".mtir";
    DiagnosticEngine diags;
    std::unique_ptr<Module> module =
        parseModule(sources, sources.add(name, print(generated)), diags);
    ASSERT_NE(module, nullptr);
    expectRoundTrip(*module, name);
  }
}

}  // namespace
}  // namespace mtlc::ir
