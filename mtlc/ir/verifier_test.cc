#include "mtlc/ir/verifier.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "gtest/gtest.h"
#include "mtlc/ir/builder.h"
#include "mtlc/ir/text.h"

namespace mtlc::ir {
namespace {

constexpr DiagId kRules[] = {
#define DIAG(Id, severity, message, hint) DiagId::Id,
#include "mtlc/support/diag/ir.def"
#undef DIAG
};

std::string ruleOf(DiagId id) {
  std::string_view name = diagRow(id).name;
  return name.starts_with("Verify") ? std::string(name.substr(6)) : std::string();
}

// Each negative test of test/IR is reported with the rule in its name, on the line marked ERROR,
// and only there.
TEST(Verifier, NegativeFilesFailByTheirRule) {
  std::set<std::string> covered = {"V01", "V05", "V20", "V21", "V22"};  // Built by hand below.
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("test/IR")) {
    std::string name = entry.path().filename().string();
    if (!name.starts_with("verify-")) continue;
    ++files;
    std::ifstream in(entry.path());
    std::stringstream text;
    text << in.rdbuf();
    std::string rule = name.substr(7, 3);
    covered.insert(rule);
    SourceManager sources;
    DiagnosticEngine diags;
    FileId file = sources.add(name, text.str());
    std::unique_ptr<Module> module = parseModule(sources, file, diags);
    ASSERT_NE(module, nullptr) << name << "\n" << renderHuman(diags, sources);
    EXPECT_FALSE(verify(*module, diags)) << name;
    ASSERT_FALSE(diags.all().empty()) << name;
    for (const Diagnostic& d : diags.all()) {
      EXPECT_EQ(ruleOf(d.id), rule) << name << ": " << d.message;
      EXPECT_NE(sources.lineText(d.range.begin).find("ERROR"), std::string_view::npos)
          << name << ": " << d.message;
      EXPECT_NE(d.message.find("[" + rule + "]"), std::string::npos);
    }
  }
  EXPECT_GT(files, 30);
  for (DiagId id : kRules) {
    std::string rule = ruleOf(id);
    EXPECT_TRUE(rule.empty() || covered.contains(rule)) << rule << " has no negative test";
  }
}

struct Fixture {
  SourceManager sources;
  Module module{sources, "m"};
  Builder b{module};
  Function* f = module.addFunction({.name = "f"});
  Fixture() { b.setInsertEnd(f->addBlock()); }
  std::set<DiagId> errors() {
    DiagnosticEngine diags;
    bool good = verify(module, diags);
    EXPECT_EQ(good, diags.all().empty());
    std::set<DiagId> ids;
    for (const Diagnostic& d : diags.all()) ids.insert(d.id);
    return ids;
  }
};

TEST(Verifier, RulesThatTextCannotBreak) {
  using Ids = std::set<DiagId>;
  {
    Fixture x;
    x.b.ret();
    EXPECT_EQ(x.errors(), Ids{});
    x.module.addFunction({.name = "f"});
    x.module.addFunction({.name = ""});
    EXPECT_EQ(x.errors(), Ids{DiagId::VerifyV01});
  }
  {
    Fixture x;
    Value* v = x.b.constInt(kI32, 1);
    Value* const one[] = {v};
    x.b.insert({.opcode = Opcode::Add, .result = kI32, .operands = one});
    x.b.ret();
    EXPECT_EQ(x.errors(), Ids{DiagId::VerifyV05});
  }
  {
    Fixture x;
    Value* v = x.b.constInt(kI32, 1);
    x.b.add(v, v)->def()->setOperand(1, nullptr);
    x.b.ret();
    EXPECT_EQ(x.errors(), Ids{DiagId::VerifyV05});
  }
  {
    Fixture x;
    x.b.insert({.opcode = Opcode::Const, .result = kI8, .payload = 256});
    x.b.insert({.opcode = Opcode::Const, .result = Type::ptr(Space::Global), .payload = 8});
    x.b.ret();
    EXPECT_EQ(x.errors(), Ids{DiagId::VerifyV20});
  }
  {
    Fixture x;
    x.b.ret();
    x.module.addFunction({.name = "g", .params = {kVoid}});
    EXPECT_EQ(x.errors(), Ids{DiagId::VerifyV21});
  }
  {
    Fixture x;
    x.b.insert({.opcode = Opcode::ThreadId, .result = kI32, .payload = 3});
    x.b.ret();
    EXPECT_EQ(x.errors(), Ids{DiagId::VerifyV22});
  }
}

TEST(Verifier, UnreachableCodeMayUseAnything) {
  SourceManager sources;
  DiagnosticEngine diags;
  FileId file = sources.add("t", R"(module "m"
func @f(%c: i1) -> i32 {
^entry:
  %a = const 1 : i32
  ret %a
^dead:
  %b = add %d, %a : i32
  %d = add %b, %a : i32
  jump ^dead
}
)");
  std::unique_ptr<Module> module = parseModule(sources, file, diags);
  ASSERT_NE(module, nullptr) << renderHuman(diags, sources);
  EXPECT_TRUE(verify(*module, diags)) << renderHuman(diags, sources);
}

}  // namespace
}  // namespace mtlc::ir
