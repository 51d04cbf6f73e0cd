#include "mtlc/transforms/pipeline.h"

#include <gtest/gtest.h>

#include "mtlc/ir/builder.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"

namespace mtlc::transforms {
namespace {

std::unique_ptr<ir::Module> parse(SourceManager& sources, std::string_view text) {
  DiagnosticEngine diags;
  FileId file = sources.add("test.mtir", std::string(text));
  auto module = ir::parseModule(sources, file, diags);
  EXPECT_TRUE(module && ir::verify(*module, diags)) << renderHuman(diags, sources);
  return module;
}

constexpr std::string_view kTwoFunctions = R"(module "m"
func @f(%c: i1, %a: i32, %b: i32) -> i32 {
^entry:
  %x = alloc.private i32[1] : ptr<private>
  store i32, %a, %x : ptr<private>
  br %c, ^then, ^join
^then:
  store i32, %b, %x : ptr<private>
  jump ^join
^join:
  %v = load i32, %x : ptr<private>
  ret %v
}
declare func @external(i32)
func @g(%n: i32) {
^entry:
  %f = const false : i1
  br %f, ^then, ^end
^then:
  call @external(%n)
  jump ^end
^end:
  ret
}
)";

TEST(Pipeline, OrderConstraintsAreChecked) {
  std::vector<PassId> standard;
  for (const PassInvocation& p : standardPipeline(OptLevel::O)) standard.push_back(p.pass);
  EXPECT_EQ(findOrderViolation(standard), "");
  EXPECT_EQ(findOrderViolation({}), "");

  const PassId early[] = {PassId::Promote, PassId::SimplifyCfg, PassId::Dce};
  EXPECT_EQ(findOrderViolation(early).substr(0, 41), "'promote' needs an earlier 'simplify-cfg'");
  const PassId noCleanup[] = {PassId::SimplifyCfg, PassId::Instcombine, PassId::Dce,
                              PassId::SimplifyCfg};
  EXPECT_EQ(findOrderViolation(noCleanup).substr(0, 43),
            "'simplify-cfg' needs a later 'instcombine':");
  const PassId noDce[] = {PassId::Dce, PassId::Instcombine};
  EXPECT_EQ(findOrderViolation(noDce).substr(0, 34), "'instcombine' needs a later 'dce':");
}

TEST(Pipeline, GroupedAndWatchedRunsGiveTheSameModule) {
  SourceManager sources;
  DiagnosticEngine diags;
  auto grouped = parse(sources, kTwoFunctions);
  auto watched = parse(sources, kTwoFunctions);
  PipelineReport report;
  PipelineOptions options;
  options.report = &report;
  ASSERT_TRUE(runPipeline(*grouped, OptLevel::O, diags, options));
  options.verifyEach = true;
  ASSERT_TRUE(runPipeline(*watched, OptLevel::O, diags, options)) << renderHuman(diags, sources);
  EXPECT_EQ(ir::print(*grouped), ir::print(*watched));
  EXPECT_EQ(report.statistics[static_cast<size_t>(Stat::SlotsPromoted)], 1u);
  // @f and @g; the declaration has nothing to run on.
  for (const PipelineReport::Step& step : report.steps) {
    EXPECT_LE(step.functions, passRow(step.pass).level == PassLevel::Function ? 2u : 1u);
  }
}

TEST(Pipeline, O0LeavesSlotsAlone) {
  SourceManager sources;
  DiagnosticEngine diags;
  auto module = parse(sources, kTwoFunctions);
  ASSERT_TRUE(runPipeline(*module, OptLevel::O0, diags));
  EXPECT_NE(ir::print(*module).find("alloc.private"), std::string::npos);
}

TEST(Pipeline, VerifyEachNamesThePass) {
  SourceManager sources;
  ir::Module module(sources, "broken");
  ir::Function* f = module.addFunction({.name = "f", .result = ir::kI32, .params = {ir::kI64}});
  ir::Builder b(module);
  b.setInsertEnd(f->addBlock());
  b.ret(f->param(0));  // i64 for i32, and no pass repairs it.
  DiagnosticEngine diags;
  PipelineOptions options;
  options.verifyEach = true;
  const PassInvocation passes[] = {{PassId::Dce}, {PassId::SimplifyCfg}};
  EXPECT_FALSE(runPasses(module, passes, diags, options));
  ASSERT_GE(diags.all().size(), 2u);
  EXPECT_EQ(diags.all().back().id, DiagId::PassLeftInvalidIr);
  EXPECT_NE(diags.all().back().message.find("'dce'"), std::string::npos);
}

TEST(Pipeline, ObserversSeeEachPassAndCanStop) {
  SourceManager sources;
  DiagnosticEngine diags;
  auto module = parse(sources, kTwoFunctions);
  PipelineOptions options;
  std::vector<std::string> seen;
  options.beforePass = [&](const PassInvocation& p, const ir::Module&) {
    seen.push_back("before " + std::string(passRow(p.pass).name));
  };
  options.afterPass = [&](const PassInvocation& p, const ir::Module&) {
    seen.push_back("after " + std::string(passRow(p.pass).name));
    return p.pass != PassId::Promote;
  };
  const PassInvocation passes[] = {{PassId::SimplifyCfg}, {PassId::Promote}, {PassId::Dce}};
  EXPECT_FALSE(runPasses(*module, passes, diags, options));
  EXPECT_EQ(seen, (std::vector<std::string>{"before simplify-cfg", "after simplify-cfg",
                                            "before promote", "after promote"}));
}

TEST(Pipeline, TextGivesPassesAndOptions) {
  SourceManager sources;
  DiagnosticEngine diags;
  auto passes = parsePipeline(" promote { max-elements = 0x10 , max-elements=3 } ,dce", "--passes",
                              sources, diags);
  ASSERT_TRUE(passes.has_value()) << renderHuman(diags, sources);
  ASSERT_EQ(passes->size(), 2u);
  EXPECT_EQ((*passes)[0].pass, PassId::Promote);
  ASSERT_EQ((*passes)[0].options.size(), 1u);  // The last one wins.
  EXPECT_EQ((*passes)[0].options[0].second, 3);
  EXPECT_EQ((*passes)[1].pass, PassId::Dce);
  EXPECT_TRUE((*passes)[1].options.empty());
}

TEST(Pipeline, EveryPrefixOfAPipelineTextEnds) {
  const std::string text = "promote{max-elements=3},dce,simplify-cfg{speculation-cost=1}";
  for (size_t n = 0; n <= text.size(); ++n) {
    SourceManager sources;
    DiagnosticEngine diags;
    auto passes = parsePipeline(text.substr(0, n), "--passes", sources, diags);
    EXPECT_EQ(passes.has_value(), !diags.hasErrors()) << n;
  }
}

TEST(FunctionAnalyses, KeepsTheTreeUntilTheGraphChanges) {
  SourceManager sources;
  auto module = parse(sources, kTwoFunctions);
  ir::Function& f = *module->findFunction("f");
  FunctionAnalyses analyses;
  const ir::DominatorTree* tree = &analyses.dominators(f);
  for (ir::Block& block : f.blocks()) block.scratch = 77;  // Somebody numbers blocks.
  analyses.invalidate(f, Change::Values);
  EXPECT_EQ(&analyses.dominators(f), tree);
  EXPECT_EQ(analyses.computed(), 1u);
  EXPECT_EQ(tree->idom(f.lastBlock()), f.entry());
  analyses.invalidate(f, Change::Cfg);
  analyses.dominators(f);
  EXPECT_EQ(analyses.computed(), 2u);
}

TEST(Passes, TableIsWellFormed) {
  for (int i = 0; i < kPassCount; ++i) {
    std::string name(passRow(static_cast<PassId>(i)).name);
    EXPECT_EQ(passFromName(name), static_cast<PassId>(i)) << "two passes named " << name;
  }
  for (int i = 0; i < kOptionCount; ++i) {
    const OptionRow& row = optionRow(static_cast<OptionId>(i));
    EXPECT_TRUE(row.least <= row.fallback && row.fallback <= row.most) << row.name;
  }
}

}  // namespace
}  // namespace mtlc::transforms
