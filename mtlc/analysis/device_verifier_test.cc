#include "mtlc/analysis/device_verifier.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <string>

#include "gtest/gtest.h"
#include "mtlc/analysis/test_util.h"
#include "mtlc/ir/builder.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"

namespace mtlc::analysis {
namespace {

constexpr DiagId kRules[] = {
#define DIAG(Id, severity, message, hint) DiagId::Id,
#include "mtlc/support/diag/analysis.def"
#undef DIAG
};

// "DeviceD06" → "D06".
std::string ruleOf(DiagId id) { return std::string(diagRow(id).name.substr(6)); }

struct TestFile {
  std::string name;
  std::string text;
  std::string rule() const { return name.substr(name.find('-') + 1, 3); }
};

std::vector<TestFile> filesNamed(std::string_view prefix) {
  std::vector<TestFile> files;
  for (const auto& entry : std::filesystem::directory_iterator("test/Analysis")) {
    TestFile file{entry.path().filename().string(), {}};
    if (!file.name.starts_with(prefix)) continue;
    std::ifstream in(entry.path());
    std::stringstream text;
    text << in.rdbuf();
    file.text = text.str();
    files.push_back(std::move(file));
  }
  return files;
}

// The lines of a text that carry a mark.
std::multiset<uint32_t> linesWith(const std::string& text, std::string_view mark) {
  std::multiset<uint32_t> lines;
  std::istringstream in(text);
  std::string line;
  for (uint32_t number = 1; std::getline(in, line); ++number) {
    if (line.find(mark) != std::string::npos) lines.insert(number);
  }
  return lines;
}

struct Verified {
  SourceManager sources;
  DiagnosticEngine diags;
  std::unique_ptr<ir::Module> module;
  bool ok = false;

  explicit Verified(const TestFile& file) {
    FileId id = sources.add(file.name, file.text);
    module = ir::parseModule(sources, id, diags);
    EXPECT_TRUE(module && ir::verify(*module, diags)) << renderHuman(diags, sources);
    if (module && !diags.hasErrors()) ok = verifyForDevice(*module, diags);
  }
};

// Each negative file breaks the rule in its name and no other: errors at the lines marked ERROR,
// and reason chains that touch exactly the lines marked NOTE.
TEST(DeviceVerifier, NegativeFilesFailByTheirRule) {
  std::set<std::string> covered;
  for (const TestFile& file : filesNamed("device-")) {
    SCOPED_TRACE(file.name);
    covered.insert(file.rule());
    const Verified result(file);
    EXPECT_FALSE(result.ok);
    std::multiset<uint32_t> errors;
    std::set<uint32_t> notes;
    for (const Diagnostic& d : result.diags.all()) {
      EXPECT_EQ(ruleOf(d.id), file.rule()) << d.message;
      EXPECT_NE(d.message.find("[" + file.rule() + "]"), std::string::npos);
      EXPECT_FALSE(d.hint.empty());
      errors.insert(d.range.begin.line());
      for (const DiagNote& note : d.notes) notes.insert(note.range.begin.line());
    }
    if (file.rule() == "D01") {
      EXPECT_EQ(errors, std::multiset<uint32_t>{1});
    } else {
      EXPECT_EQ(errors, linesWith(file.text, "// ERROR"))
          << renderHuman(result.diags, result.sources);
    }
    const std::multiset<uint32_t> marked = linesWith(file.text, "// NOTE");
    EXPECT_EQ(notes, std::set<uint32_t>(marked.begin(), marked.end()))
        << renderHuman(result.diags, result.sources);
  }
  for (DiagId id : kRules)
    EXPECT_TRUE(covered.contains(ruleOf(id))) << ruleOf(id) << " has no negative test";
}

TEST(DeviceVerifier, PositiveFilesPass) {
  std::set<std::string> covered;
  for (const TestFile& file : filesNamed("ok-")) {
    SCOPED_TRACE(file.name);
    covered.insert(file.rule());
    const Verified result(file);
    EXPECT_TRUE(result.ok) << renderHuman(result.diags, result.sources);
  }
  for (DiagId id : kRules)
    EXPECT_TRUE(covered.contains(ruleOf(id))) << ruleOf(id) << " has no positive test";
}

TEST(DeviceVerifier, AnEmptyModuleHasNoKernel) {
  SourceManager sources;
  sources.add("empty.mtir", "");
  ir::Module module(sources);
  DiagnosticEngine diags;
  EXPECT_FALSE(verifyForDevice(module, diags));
  ASSERT_EQ(diags.all().size(), 1u);
  EXPECT_TRUE(diags.all()[0].id == DiagId::DeviceD01);
  EXPECT_EQ(diags.all()[0].range.begin, SourceLoc(1, 1, 1));
}

TEST(DeviceVerifier, TheReasonChainOfAnEarlyReturn) {
  for (const TestFile& file : filesNamed("device-D06-early-return")) {
    const Verified result(file);
    ASSERT_EQ(result.diags.all().size(), 2u);
    std::string notes;
    for (const DiagNote& note : result.diags.all()[0].notes) notes += note.message + "\n";
    EXPECT_EQ(notes,
              "whether a work-item gets there depends on this branch\n"
              "%out varies\n"
              "'k' gets its value here\n"
              "%i varies\n"
              "gpu.thread_id x differs from one work-item to the next\n");
  }
}

// All violations of all rules in one run.
TEST(DeviceVerifier, ReportsEverythingAtOnce) {
  ParsedModule m = parse(R"(
declare func @ext()
func @loop() {
^entry:
  call @loop()
  call @ext()
  ret
}
kernel @a(%w: ptr<workgroup>) {
^entry:
  call @loop()
  ret
}
kernel @b() {
^entry:
  %w = alloc.dynamic f32 : ptr<workgroup>
  %t = gpu.thread_id x : i32
  %z = const 0 : i32
  %c = cmp.eq %t, %z : i32
  br %c, ^then, ^done
^then:
  barrier {workgroup} seq_cst
  call @a(%w)
  jump ^done
^done:
  barrier {workgroup} seq_cst
  ret
}
)");
  DiagnosticEngine diags;
  EXPECT_FALSE(verifyForDevice(*m.module, diags));
  std::multiset<std::string> rules;
  for (const Diagnostic& d : diags.all()) rules.insert(ruleOf(d.id));
  EXPECT_EQ(rules, (std::multiset<std::string>{"D02", "D03", "D04", "D05", "D06"}));
}

double seconds(const std::function<void()>& work) {
  auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A kernel of about `operations` operations with `depth` nested loops at a time, variables in
// slots, barriers under uniform control, helpers called in a chain.
std::unique_ptr<ir::Module> bigModule(SourceManager& sources, int operations, int depth,
                                      bool faulty) {
  auto module = std::make_unique<ir::Module>(sources, "big");
  ir::Builder b(*module);
  ir::Function* previous = nullptr;
  for (int i = 0; i < operations / 20; ++i) {
    ir::Function* f = module->addFunction(
        {.name = "helper" + std::to_string(i), .result = ir::kI32, .params = {ir::kI32, ir::kI32}});
    b.setInsertEnd(f->addBlock("entry"));
    ir::Value* v = b.add(f->param(0), f->param(1));
    if (previous) {
      ir::Value* args[] = {v, f->param(1)};
      v = b.call(previous, args);
    }
    b.ret(v);
    previous = f;
  }
  ir::Function* k =
      module->addFunction({.name = "k", .params = {ir::kI32, ir::kI32}, .isKernel = true});
  b.setInsertEnd(k->addBlock("entry"));
  std::vector<ir::Value*> slots;
  for (int i = 0; i < operations / 60; ++i) slots.push_back(b.allocPrivate(ir::kI32, 1));
  for (ir::Value* slot : slots) b.store(ir::kI32, k->param(0), slot);
  ir::Value* args[] = {k->param(0),
                       faulty ? b.gpuIndex(ir::Opcode::ThreadId, ir::Dim::X) : k->param(1)};
  ir::Value* limit = b.call(previous, args);
  std::vector<ir::Block*> headers, exits;
  for (int i = 0, level = 0; i < operations / 12; ++i) {
    ir::Value* slot = slots[i % slots.size()];
    if (level < depth) {
      headers.push_back(k->addBlock());
      exits.push_back(k->addBlock());
      b.jump(headers.back());
      b.setInsertEnd(headers.back());
      ir::Block* body = k->addBlock();
      b.br(b.compare(ir::Opcode::CmpSlt, b.load(ir::kI32, slot), limit), body, exits.back());
      b.setInsertEnd(body);
      b.barrier();
      ++level;
    } else {
      for (; level > 0; --level) {
        b.store(ir::kI32, b.add(b.load(ir::kI32, slot), k->param(1)), slot);
        b.jump(headers.back());
        b.setInsertEnd(exits.back());
        headers.pop_back();
        exits.pop_back();
      }
    }
    b.store(ir::kI32, b.add(b.load(ir::kI32, slot), k->param(1)), slot);
  }
  while (!headers.empty()) {
    b.jump(headers.back());
    b.setInsertEnd(exits.back());
    headers.pop_back();
    exits.pop_back();
  }
  b.ret();
  return module;
}

// Deep nests, long call chains and many variables: near-linear, and nothing recurses on the host.
TEST(DeviceVerifier, BigModules) {
  for (int depth : {3, 300}) {
    for (bool faulty : {false, true}) {
      double time[2];
      int size = 50'000;
      for (double& t : time) {
        SourceManager sources;
        std::unique_ptr<ir::Module> module = bigModule(sources, size, depth, faulty);
        if (size < 60'000) {
          DiagnosticEngine structure;
          ASSERT_TRUE(ir::verify(*module, structure)) << renderHuman(structure, sources);
        }
        DiagnosticEngine diags;
        t = seconds([&] { EXPECT_EQ(verifyForDevice(*module, diags), !faulty); });
        size *= 2;
      }
      // 100,000 operations take well below a second; the factor leaves room for sanitizers and busy
      // machines.
      EXPECT_LT(time[1], 5.0);
      EXPECT_LT(time[1], 4.0 * time[0] + 0.2) << "depth " << depth;
      RecordProperty("seconds_100k_depth_" + std::to_string(depth) + (faulty ? "_faulty" : ""),
                     std::to_string(time[1]));
      std::printf("100,000 operations, depth %d%s: %.3f s\n", depth, faulty ? ", faulty" : "",
                  time[1]);
    }
  }
}

}  // namespace
}  // namespace mtlc::analysis
