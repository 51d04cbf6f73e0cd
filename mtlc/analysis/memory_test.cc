#include "gtest/gtest.h"
#include "mtlc/analysis/call_graph.h"
#include "mtlc/analysis/memory_effects.h"
#include "mtlc/analysis/print_analysis.h"
#include "mtlc/analysis/provenance.h"
#include "mtlc/analysis/test_util.h"

namespace mtlc::analysis {
namespace {

constexpr std::string_view kPointers = R"(
declare func @ext(ptr<generic>) -> ptr<generic>

func @use(%g: ptr<generic>) -> f32 {
^entry:
  %v = load f32, %g : ptr<generic>
  ret %v
}

func @nobody(%g: ptr<generic>) {
^entry:
  ret
}

kernel @k(%p: ptr<global>, %q: ptr<global>, %n: i32) {
^entry:
  %tile = alloc.workgroup f32[64] : ptr<workgroup>
  %tile2 = alloc.workgroup f32[64] : ptr<workgroup>
  %dyn = alloc.dynamic i8 : ptr<workgroup>
  %dyn2 = alloc.dynamic f32 : ptr<workgroup>
  %own = alloc.private f32[4] : ptr<private>
  %where = alloc.private ptr<global>[1] : ptr<private>
  %null = const null : ptr<global>
  %one = const 1 : i64
  %zero = const 0 : i32
  %c = cmp.eq %n, %zero : i32
  store ptr<global>, %p, %where : ptr<private>
  %p0 = load ptr<global>, %where : ptr<private>
  %p1 = ptr.add %p0, %one x f32 : ptr<global>
  %gen = spacecast %tile : ptr<workgroup> to ptr<generic>
  %gen2 = spacecast %own : ptr<private> to ptr<generic>
  %back = spacecast %gen : ptr<generic> to ptr<workgroup>
  %made = inttoptr %one : i64 to ptr<global>
  %r = call @ext(%gen) : ptr<generic>
  %a = call @use(%gen) : f32
  %b = call @use(%gen2) : f32
  br %c, ^then, ^join(%p, %null)
^then:
  store ptr<global>, %q, %where : ptr<private>
  jump ^join(%q, %p1)
^join(%either: ptr<global>, %maybe: ptr<global>):
  %merged = load ptr<global>, %where : ptr<private>
  %sel = select %c, %tile, %tile2 : ptr<workgroup>
  ret
^dead:
  %gone = ptr.add %p, %one x f32 : ptr<global>
  ret
}
)";

TEST(Provenance, FollowsPointers) {
  ParsedModule m = parse(kPointers);
  const Provenance provenance(*m.module);
  const ir::Function& k = *m.function("k");
  auto origin = [&](std::string_view name) { return provenance.origin(valueNamed(k, name)); };
  using Kind = Origin::Kind;
  for (std::string_view name : {"p", "p0", "p1", "maybe"}) {
    EXPECT_EQ(origin(name).kind, Kind::Object) << name;
    EXPECT_EQ(origin(name).base, valueNamed(k, "p")) << name;
    EXPECT_EQ(origin(name).spaces.only(), ir::Space::Global) << name;
  }
  EXPECT_EQ(origin("null").kind, Kind::None);
  EXPECT_EQ(origin("gone").kind, Kind::None);
  for (std::string_view name : {"either", "merged", "sel"})
    EXPECT_EQ(origin(name).kind, Kind::Several) << name;
  EXPECT_EQ(origin("gen").base, valueNamed(k, "tile"));
  EXPECT_EQ(origin("gen").spaces.only(), ir::Space::Workgroup);
  EXPECT_EQ(origin("back").base, valueNamed(k, "tile"));
  EXPECT_EQ(origin("made").kind, Kind::Unknown);
  EXPECT_EQ(origin("made").spaces.only(), ir::Space::Global);
  EXPECT_EQ(origin("r").kind, Kind::Unknown);
  EXPECT_EQ(origin("r").spaces.print(), "global|workgroup|private");
  // The helper is called with workgroup and private memory, never with global.
  EXPECT_EQ(provenance.origin(valueNamed(*m.function("use"), "g")).spaces.print(),
            "workgroup|private");
  EXPECT_EQ(provenance.origin(valueNamed(*m.function("nobody"), "g")).spaces.print(),
            "global|workgroup|private");
}

TEST(Provenance, Aliasing) {
  ParsedModule m = parse(kPointers);
  const Provenance provenance(*m.module);
  const ir::Function& k = *m.function("k");
  auto alias = [&](std::string_view a, std::string_view b) {
    const bool one = provenance.mayAlias(valueNamed(k, a), valueNamed(k, b));
    EXPECT_EQ(one, provenance.mayAlias(valueNamed(k, b), valueNamed(k, a)));
    return one;
  };
  EXPECT_TRUE(alias("p", "q"));
  EXPECT_TRUE(alias("p", "p1"));
  EXPECT_TRUE(alias("tile", "gen"));
  EXPECT_TRUE(alias("sel", "tile"));
  EXPECT_TRUE(alias("dyn", "dyn2"));
  EXPECT_TRUE(alias("r", "tile"));
  EXPECT_TRUE(alias("made", "p"));
  EXPECT_FALSE(alias("p", "tile"));
  EXPECT_FALSE(alias("tile", "tile2"));
  EXPECT_FALSE(alias("tile", "dyn"));
  EXPECT_FALSE(alias("own", "where"));
  EXPECT_FALSE(alias("gen", "gen2"));
  EXPECT_FALSE(alias("null", "p"));
}

TEST(MemoryEffects, Summaries) {
  ParsedModule m = parse(R"(
declare func @ext(i32)

func @variables(%x: i32) -> i32 {
^entry:
  %v = alloc.private i32[1] : ptr<private>
  store i32, %x, %v : ptr<private>
  %r = load i32, %v : ptr<private>
  ret %r
}

func @reader(%p: ptr<global>) -> i32 {
^entry:
  %r = load i32, %p : ptr<global>
  %s = call @variables(%r) : i32
  ret %s
}

func @sync(%p: ptr<workgroup>) {
^entry:
  barrier {workgroup} seq_cst
  ret
}

func @fill(%p: ptr<private>, %x: i32) {
^entry:
  store i32, %x, %p : ptr<private>
  ret
}

func @even(%p: ptr<global>) {
^entry:
  call @odd(%p)
  ret
}

func @odd(%p: ptr<global>) {
^entry:
  %zero = const 0 : i32
  store i32, %zero, %p : ptr<global>
  call @even(%p)
  ret
}

func @watch(%p: ptr<global>) {
^entry:
  %r = load i32, %p : ptr<global> volatile
  ret
}

kernel @k(%p: ptr<global>, %n: i32) {
^entry:
  call @ext(%n)
  ret
}
)");
  EXPECT_EQ(*printAnalysis("memory-effects", *m.module),
            "func @ext reads: global|workgroup|private|constant writes: global|workgroup|private "
            "unknown calls\n"
            "func @variables reads: none writes: none pure\n"
            "func @reader reads: global writes: none\n"
            "func @sync reads: workgroup writes: workgroup collective\n"
            "func @fill reads: none writes: private\n"
            "func @even reads: none writes: global\n"
            "func @odd reads: none writes: global\n"
            "func @watch reads: global writes: none volatile\n"
            "kernel @k reads: global|workgroup|private|constant writes: global|workgroup|private "
            "unknown calls\n");
}

TEST(CallGraph, ReachabilityCyclesAndChains) {
  ParsedModule m = parse(R"(
declare func @ext()

func @leaf() {
^entry:
  call @ext()
  ret
}

func @a() {
^entry:
  call @b()
  ret
}

func @b() {
^entry:
  call @leaf()
  call @c()
  ret
}

func @c() {
^entry:
  call @a()
  call @c()
  ret
}

func @dead() {
^entry:
  call @a()
  ret
}

kernel @k() {
^entry:
  call @b()
  ret
}

kernel @near() {
^entry:
  call @leaf()
  ret
}
)");
  const CallGraph g(*m.module);
  auto index = [&](std::string_view name) { return g.index(m.function(name)); };
  EXPECT_TRUE(g.reachableFromKernel(index("ext")));
  EXPECT_FALSE(g.reachableFromKernel(index("dead")));
  EXPECT_TRUE(g.recursive(index("a")));
  EXPECT_TRUE(g.recursive(index("c")));
  EXPECT_FALSE(g.recursive(index("leaf")));
  EXPECT_EQ(g.component(index("a")), g.component(index("c")));
  EXPECT_EQ(g.cycleThrough(index("a")).size(), 3u);
  EXPECT_EQ(g.cycleThrough(index("c")).size(), 1u);
  EXPECT_TRUE(g.cycleThrough(index("leaf")).empty());
  const std::vector<ir::Operation*> chain = g.chainFromKernel(index("ext"));
  ASSERT_EQ(chain.size(), 2u);
  EXPECT_EQ(chain[0]->function()->name(), "near");
  EXPECT_EQ(chain[1]->function()->name(), "leaf");
  EXPECT_EQ(g.reachableCallsOf(index("a")).size(), 1u);  // The one in @dead doesn't count.
  std::vector<uint32_t> place(g.size());
  for (uint32_t i = 0; i < g.size(); ++i) place[g.bottomUp()[i]] = i;
  EXPECT_LT(place[index("ext")], place[index("leaf")]);
  EXPECT_LT(place[index("leaf")], place[index("b")]);
  EXPECT_LT(place[index("b")], place[index("k")]);
  EXPECT_EQ(*printAnalysis("call-graph", *m.module),
            "func @ext external calls:\n"
            "func @leaf calls: @ext\n"
            "func @a recursive calls: @b\n"
            "func @b recursive calls: @leaf @c\n"
            "func @c recursive calls: @a @c\n"
            "func @dead unreached calls: @a\n"
            "kernel @k calls: @b\n"
            "kernel @near calls: @leaf\n");
}

TEST(PrintAnalysis, EveryNamePrintsEveryModule) {
  ParsedModule m = parse(kPointers);
  ParsedModule empty = parse("\n");
  for (const AnalysisInfo& info : analyses()) {
    EXPECT_FALSE(info.description.empty());
    ASSERT_TRUE(printAnalysis(info.name, *m.module)) << info.name;
    EXPECT_FALSE(printAnalysis(info.name, *m.module)->empty()) << info.name;
    EXPECT_EQ(*printAnalysis(info.name, *empty.module), "") << info.name;
  }
  EXPECT_FALSE(printAnalysis("nonsense", *m.module));
}

}  // namespace
}  // namespace mtlc::analysis
