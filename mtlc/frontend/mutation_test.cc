// Hostile sources: every byte prefix of every example, and random token
// mutations of each. Compiling ends, without a crash or a sanitizer report (run
// under --config=asan and ubsan too); what is accepted verifies, what is
// refused says where.

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "mtlc/frontend/compile.h"
#include "mtlc/ir/verifier.h"

namespace mtlc::frontend {
namespace {

constexpr int kMutations = 2000;

std::vector<std::string> examples() {
  std::vector<std::string> texts;
  for (const auto &entry : std::filesystem::directory_iterator("examples")) {
    if (entry.path().extension() != ".mettle") continue;
    std::ifstream in(entry.path());
    std::stringstream text;
    text << in.rdbuf();
    texts.push_back(text.str());
  }
  return texts;
}

// Compiles `text`; counts what was accepted and keeps the longest time.
struct Compiler {
  int accepted = 0;
  double slowest = 0;

  void operator()(const std::string &text) {
    auto start = std::chrono::steady_clock::now();
    SourceManager sources;
    DiagnosticEngine diagnostics;
    FileId file = sources.add("mutant.mettle", text);
    std::unique_ptr<ir::Module> module = compileMettle(sources, file, diagnostics);
    ASSERT_EQ(module == nullptr, diagnostics.hasErrors()) << text;
    ASSERT_LE(diagnostics.all().size(), 200u) << text;
    if (module) {
      ++accepted;
      DiagnosticEngine verifier;
      ASSERT_TRUE(ir::verify(*module, verifier)) << text << renderHuman(verifier, sources);
    } else {
      for (const Diagnostic &d : diagnostics.all()) {
        ASSERT_TRUE(d.range.begin.valid()) << text << "\n" << d.message;
      }
    }
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    slowest = std::max(slowest, took.count());
  }
};

// Words, numbers, strings, single other characters; spaces stay where they are.
std::vector<std::string> split(const std::string &text) {
  std::vector<std::string> pieces;
  size_t i = 0;
  while (i < text.size()) {
    size_t begin = i;
    auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    if (word(text[i])) {
      while (i < text.size() && word(text[i])) ++i;
    } else {
      ++i;
    }
    pieces.push_back(text.substr(begin, i - begin));
  }
  return pieces;
}

TEST(Mutation, EveryPrefix) {
  std::vector<std::string> texts = examples();
  ASSERT_GE(texts.size(), 10u);
  Compiler compile;
  for (const std::string &text : texts) {
    for (size_t n = 0; n < text.size(); ++n) {
      compile(text.substr(0, n));
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(compile.accepted, 0);
  RecordProperty("slowest_milliseconds", static_cast<int>(compile.slowest * 1000));
}

TEST(Mutation, RandomTokens) {
  std::vector<std::string> texts = examples();
  std::mt19937 rng(20);
  const std::string extra[] = {"{",
                               "}",
                               "(",
                               ")",
                               "[",
                               "]",
                               ";",
                               "*",
                               "&",
                               "->",
                               "..",
                               "..=",
                               "kernel",
                               "fn",
                               "var",
                               "const",
                               "barrier",
                               "workgroup",
                               "private",
                               "switch",
                               "case",
                               "0x",
                               "1e9",
                               "9999999999999999999999",
                               "\"",
                               "'",
                               "/*",
                               "*/",
                               "import",
                               "\0",
                               "\xFF",
                               "int8",
                               "float32*",
                               "return",
                               "@inline",
                               "<",
                               ">",
                               "?",
                               ":",
                               "order",
                               "scope",
                               "relaxed",
                               "shape",
                               "m16n8k16",
                               "lda",
                               "f16",
                               "e4m3",
                               "structured_2_to_4",
                               "atomic_fetch_add",
                               "subgroup_any",
                               "async_copy_workgroup",
                               "tensor_mma",
                               "tensor_matmul",
                               "tensor_epilogue",
                               "tensor_transfer_workgroup",
                               "fence"};
  Compiler compile;
  for (const std::string &text : texts) {
    std::vector<std::string> pieces = split(text);
    for (int round = 0; round < kMutations; ++round) {
      std::vector<std::string> mutant = pieces;
      for (unsigned k = rng() % 3 + 1; k > 0; --k) {
        size_t at = rng() % mutant.size();
        switch (rng() % 5) {
          case 0:
            mutant.erase(mutant.begin() + static_cast<ptrdiff_t>(at));
            break;
          case 1:
            mutant.insert(mutant.begin() + static_cast<ptrdiff_t>(at), mutant[at]);
            break;
          case 2:
            std::swap(mutant[at], mutant[(at + 1) % mutant.size()]);
            break;
          case 3:
            mutant[at] = mutant[rng() % mutant.size()];
            break;
          default:
            mutant[at] = extra[rng() % std::size(extra)];
        }
        if (mutant.empty()) mutant.push_back(";");
      }
      std::string joined;
      for (const std::string &piece : mutant) joined += piece;
      compile(joined);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(compile.accepted, 100);
  RecordProperty("slowest_milliseconds", static_cast<int>(compile.slowest * 1000));
}

}  // namespace
}  // namespace mtlc::frontend
