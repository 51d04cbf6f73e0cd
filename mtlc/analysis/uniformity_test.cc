#include "mtlc/analysis/uniformity.h"

#include "gtest/gtest.h"
#include "mtlc/analysis/test_util.h"

namespace mtlc::analysis {
namespace {

struct Ranks {
  explicit Ranks(std::string_view text) : m(parse(text)), u(*m.module) {}
  Rank value(std::string_view function, std::string_view name) const {
    return u.rank(valueNamed(*m.function(function), name));
  }
  Rank control(std::string_view function, std::string_view block) const {
    return u.controlRank(blockNamed(*m.function(function), block));
  }
  ParsedModule m;
  Uniformity u;
};

TEST(Uniformity, Sources) {
  const Ranks r(R"(
kernel @k(%p: ptr<global>, %c: ptr<constant>, %n: i32) {
^entry:
  %t = gpu.thread_id z : i32
  %b = gpu.block_id x : i32
  %d = gpu.block_dim y : i32
  %g = gpu.grid_dim z : i32
  %seven = const 7 : i32
  %sum = add %b, %n : i32
  %mixed = add %sum, %t : i32
  %global = load i32, %p : ptr<global>
  %i = sext %b : i32 to i64
  %pc = ptr.add %c, %i x i32 : ptr<constant>
  %table = load i32, %pc : ptr<constant>
  %j = sext %t : i32 to i64
  %pv = ptr.add %c, %j x i32 : ptr<constant>
  %own = load i32, %pv : ptr<constant>
  %w = alloc.workgroup i32[4] : ptr<workgroup>
  %shared = load i32, %w : ptr<workgroup>
  %slot = alloc.private i32[1] : ptr<private>
  %address = ptrtoint %slot : ptr<private> to i64
  %shareable = ptrtoint %w : ptr<workgroup> to i64
  ret
}
)");
  for (std::string_view name :
       {"b", "d", "g", "seven", "sum", "n", "p", "table", "w", "shareable"}) {
    EXPECT_EQ(r.value("k", name), Rank::Workgroup) << name;
  }
  for (std::string_view name : {"t", "mixed", "global", "own", "shared", "address"}) {
    EXPECT_EQ(r.value("k", name), Rank::Varying) << name;
  }
}

TEST(Uniformity, SubgroupsAtomicsAndCodes) {
  const Ranks r(R"(
kernel @k(%p: ptr<global>, %n: i32, %f: f32, %b: i1) {
^entry:
  %t = gpu.thread_id x : i32
  %zero = const 0 : i32
  %odd = cmp.eq %t, %zero : i32
  %size = subgroup.size : i32
  %id = subgroup.local_id : i32
  %broadcast = subgroup.broadcast %t, %zero : i32
  %reduce = subgroup.reduce add %t : i32
  %any = subgroup.any %odd
  %all = subgroup.all %odd
  %ballot = subgroup.ballot %odd, %zero : i32
  %wordBySubgroup = subgroup.ballot %odd, %reduce : i32
  %wordByItem = subgroup.ballot %odd, %t : i32
  %inclusive = subgroup.scan_inclusive add %n : i32
  %exclusive = subgroup.scan_exclusive add %n : i32
  %shuffle = subgroup.shuffle %n, %zero : i32
  %load = atomic.load i32, %p : ptr<global> acquire device
  %rmw = atomic.rmw add i32, %p, %n : ptr<global> relaxed device
  %cas = atomic.cas i32, %p, %n, %n : ptr<global> relaxed relaxed device
  %code = encode e4m3 sat %f : f32
  %back = decode e4m3 %code : f32
  %mixed = add %broadcast, %n : i32
  ret
}
)");
  for (std::string_view name : {"size", "code", "back"}) {
    EXPECT_EQ(r.value("k", name), Rank::Workgroup) << name;
  }
  for (std::string_view name :
       {"broadcast", "reduce", "any", "all", "ballot", "wordBySubgroup", "mixed"}) {
    EXPECT_EQ(r.value("k", name), Rank::Subgroup) << name;
  }
  for (std::string_view name :
       {"id", "wordByItem", "inclusive", "exclusive", "shuffle", "load", "rmw", "cas"}) {
    EXPECT_EQ(r.value("k", name), Rank::Varying) << name;
  }
}

TEST(Uniformity, JoinsOfBranches) {
  const Ranks r(R"(
kernel @k(%n: i32) {
^entry:
  %t = gpu.thread_id x : i32
  %zero = const 0 : i32
  %zero2 = const 0 : i32
  %one = const 1 : i32
  %mine = cmp.eq %t, %zero : i32
  %ours = cmp.eq %n, %zero : i32
  br %mine, ^a(%one), ^b
^a(%copied: i32):
  jump ^join(%one, %zero, %n)
^b:
  jump ^join(%zero, %zero2, %n)
^join(%differs: i32, %equalConstants: i32, %sameValue: i32):
  br %ours, ^join2(%zero), ^c
^c:
  jump ^join2(%one)
^join2(%uniform: i32):
  br %mine, ^join3(%zero), ^join3(%one)
^join3(%selected: i32):
  br %mine, ^join4(%one, %n), ^join4(%zero, %n)
^join4(%chosen: i32, %both: i32):
  %same = select %mine, %zero, %zero2 : i32
  %other = select %mine, %zero, %one : i32
  ret
}
)");
  EXPECT_EQ(r.control("k", "a"), Rank::Varying);
  EXPECT_EQ(r.control("k", "join"), Rank::Workgroup);
  EXPECT_EQ(r.control("k", "c"), Rank::Workgroup);
  EXPECT_EQ(r.control("k", "join3"), Rank::Workgroup);
  EXPECT_EQ(r.value("k", "copied"), Rank::Workgroup);
  EXPECT_EQ(r.value("k", "differs"), Rank::Varying);
  EXPECT_EQ(r.value("k", "equalConstants"), Rank::Workgroup);
  EXPECT_EQ(r.value("k", "sameValue"), Rank::Workgroup);
  EXPECT_EQ(r.value("k", "uniform"), Rank::Workgroup);
  EXPECT_EQ(r.value("k", "selected"), Rank::Varying);
  EXPECT_EQ(r.value("k", "chosen"), Rank::Varying);
  EXPECT_EQ(r.value("k", "both"), Rank::Workgroup);
  EXPECT_EQ(r.value("k", "same"), Rank::Workgroup);
  EXPECT_EQ(r.value("k", "other"), Rank::Varying);
}

TEST(Uniformity, ValuesLeavingALoopAfterAVaryingNumberOfTrips) {
  const Ranks r(R"(
kernel @k(%n: i32) {
^entry:
  %t = gpu.thread_id x : i32
  %zero = const 0 : i32
  %one = const 1 : i32
  jump ^varies(%zero)
^varies(%i: i32):
  %i1 = add %i, %one : i32
  %invariant = add %n, %one : i32
  %more = cmp.slt %i1, %t : i32
  br %more, ^varies(%i1), ^between
^between:
  jump ^uniform(%zero)
^uniform(%j: i32):
  %j1 = add %j, %one : i32
  %more2 = cmp.slt %j1, %n : i32
  br %more2, ^uniform(%j1), ^done
^done:
  %last = add %i1, %zero : i32
  %last2 = add %j1, %invariant : i32
  ret
}
)");
  EXPECT_EQ(r.control("k", "varies"), Rank::Varying);
  EXPECT_EQ(r.control("k", "between"), Rank::Workgroup);
  EXPECT_EQ(r.control("k", "uniform"), Rank::Workgroup);
  EXPECT_EQ(r.value("k", "last"), Rank::Varying);
  EXPECT_EQ(r.value("k", "j1"), Rank::Workgroup);
  EXPECT_EQ(r.value("k", "last2"), Rank::Workgroup);
}

// A join reached from blocks that are themselves under divergence, by plain jumps.
TEST(Uniformity, AJoinBehindDivergentBlocks) {
  const Ranks r(R"(
kernel @k(%n: i32) {
^entry:
  %t = gpu.thread_id x : i32
  %zero = const 0 : i32
  %one = const 1 : i32
  %mine = cmp.eq %t, %zero : i32
  br %mine, ^a, ^b
^a:
  jump ^a2
^a2:
  jump ^join(%zero)
^b:
  jump ^join(%one)
^join(%x: i32):
  ret
}
)");
  EXPECT_EQ(r.value("k", "x"), Rank::Varying);
}

TEST(Uniformity, VariablesAreLookedThrough) {
  const Ranks r(R"(
func @fill(%p: ptr<private>) {
^entry:
  ret
}

kernel @k(%n: i32) {
^entry:
  %a = alloc.private i32[1] : ptr<private>
  %b = alloc.private i32[1] : ptr<private>
  %escaped = alloc.private i32[1] : ptr<private>
  %list = alloc.private i32[2] : ptr<private>
  %spoiled = alloc.private i32[2] : ptr<private>
  %t = gpu.thread_id x : i32
  %zero = const 0 : i32
  %one = const 1 : i64
  %mine = cmp.eq %t, %zero : i32
  store i32, %t, %a : ptr<private>
  %a0 = load i32, %a : ptr<private>
  store i32, %n, %a : ptr<private>
  %a1 = load i32, %a : ptr<private>
  store i32, %n, %b : ptr<private>
  store i32, %n, %escaped : ptr<private>
  call @fill(%escaped)
  %e = load i32, %escaped : ptr<private>
  %list1 = ptr.add %list, %one x i32 : ptr<private>
  store i32, %n, %list1 : ptr<private>
  %t64 = sext %t : i32 to i64
  %where = ptr.add %spoiled, %t64 x i32 : ptr<private>
  store i32, %n, %where : ptr<private>
  br %mine, ^then, ^join
^then:
  store i32, %zero, %b : ptr<private>
  jump ^join
^join:
  %a2 = load i32, %a : ptr<private>
  %b2 = load i32, %b : ptr<private>
  %l = load i32, %list1 : ptr<private>
  %mixed = ptr.add %list, %t64 x i32 : ptr<private>
  %l2 = load i32, %mixed : ptr<private>
  %s = load i32, %spoiled : ptr<private>
  ret
}
)");
  for (std::string_view name : {"a1", "a2", "l"})
    EXPECT_EQ(r.value("k", name), Rank::Workgroup) << name;
  for (std::string_view name : {"a0", "b2", "e", "l2", "s"}) {
    EXPECT_EQ(r.value("k", name), Rank::Varying) << name;
  }
}

// `^o` dominates the loop and reads the array once in every round, but only for some work-items in
// each: what a work-item still has from an earlier round differs although the array holds the same
// for all at any time.
TEST(Uniformity, ALoadThatSomeRepeat) {
  const Ranks r(R"(
kernel @k(%n: i32) {
^entry:
  %list = alloc.private i32[2] : ptr<private>
  %t = gpu.thread_id x : i32
  %one = const 1 : i32
  %mine = cmp.eq %t, %n : i32
  store i32, %n, %list : ptr<private>
  jump ^o
^o:
  %old = load i32, %list : ptr<private>
  jump ^x
^x:
  %now = load i32, %list : ptr<private>
  %next = add %now, %one : i32
  store i32, %next, %list : ptr<private>
  %stop = cmp.eq %next, %n : i32
  br %stop, ^done, ^again
^again:
  br %mine, ^o, ^x
^done:
  %used = add %old, %one : i32
  ret
}
)");
  EXPECT_EQ(r.control("k", "x"), Rank::Workgroup);
  EXPECT_EQ(r.value("k", "now"), Rank::Workgroup);
  EXPECT_EQ(r.control("k", "o"), Rank::Varying);
  EXPECT_EQ(r.value("k", "used"), Rank::Varying);
}

TEST(Uniformity, HelpersJoinTheirCallsButResultsDoNot) {
  const Ranks r(R"(
func @pick(%c: i1, %x: i32, %y: i32, %unused: i32) -> i32 {
^entry:
  br %c, ^a, ^b
^a:
  ret %x
^b:
  ret %y
}

func @first(%x: i32, %y: i32) -> i32 {
^entry:
  %two = add %x, %x : i32
  ret %two
}

func @id() -> i32 {
^entry:
  %t = gpu.thread_id x : i32
  ret %t
}

func @unreached(%x: i32) {
^entry:
  ret
}

kernel @k(%n: i32) {
^entry:
  %t = gpu.thread_id x : i32
  %zero = const 0 : i32
  %mine = cmp.eq %t, %zero : i32
  %ours = cmp.eq %n, %zero : i32
  %r0 = call @pick(%ours, %n, %zero, %t) : i32
  %r1 = call @pick(%mine, %n, %zero, %n) : i32
  %r2 = call @first(%n, %t) : i32
  %r3 = call @first(%t, %n) : i32
  %r4 = call @id() : i32
  ret
}
)");
  EXPECT_EQ(r.value("k", "r0"), Rank::Workgroup);
  EXPECT_EQ(r.value("k", "r1"), Rank::Varying);
  EXPECT_EQ(r.value("k", "r2"), Rank::Workgroup);
  EXPECT_EQ(r.value("k", "r3"), Rank::Varying);
  EXPECT_EQ(r.value("k", "r4"), Rank::Varying);
  EXPECT_EQ(r.value("pick", "c"), Rank::Varying);
  EXPECT_EQ(r.control("pick", "a"), Rank::Varying);
  EXPECT_EQ(r.value("pick", "x"), Rank::Workgroup);
  EXPECT_EQ(r.value("pick", "unused"), Rank::Varying);
  EXPECT_EQ(r.value("unreached", "x"), Rank::Varying);
  EXPECT_FALSE(r.u.analyzed(r.m.function("unreached")));
}

// More parameters than there are bits for.
TEST(Uniformity, ManyParameters) {
  std::string params, uniform, mixed;
  for (int i = 0; i < 80; ++i) {
    params += (i ? ", %p" : "%p") + std::to_string(i) + ": i32";
    uniform += i ? ", %n" : "%n";
    mixed += i == 0 ? "%n" : i == 79 ? ", %t" : ", %n";
  }
  const Ranks r("\nfunc @last(" + params + ") -> i32 {\n^entry:\n  ret %p79\n}\nfunc @first(" +
                params + ") -> i32 {\n^entry:\n  ret %p3\n}\nkernel @k(%n: i32) {\n^entry:\n" +
                "  %t = gpu.thread_id x : i32\n  %a = call @last(" + uniform +
                ") : i32\n  %b = call @last(" + mixed + ") : i32\n  %c = call @first(" + mixed +
                ") : i32\n  ret\n}\n");
  EXPECT_EQ(r.value("k", "a"), Rank::Workgroup);
  EXPECT_EQ(r.value("k", "b"), Rank::Varying);
  EXPECT_EQ(r.value("k", "c"), Rank::Workgroup);
}

TEST(Uniformity, RecursionAndExternalsVary) {
  const Ranks r(R"(
declare func @ext(i32) -> i32

func @self(%x: i32) -> i32 {
^entry:
  %r = call @self(%x) : i32
  ret %r
}

kernel @k(%n: i32) {
^entry:
  %a = call @ext(%n) : i32
  %b = call @self(%n) : i32
  ret
}
)");
  EXPECT_EQ(r.value("k", "a"), Rank::Varying);
  EXPECT_EQ(r.value("k", "b"), Rank::Varying);
  EXPECT_EQ(r.value("self", "x"), Rank::Varying);
}

TEST(Uniformity, ReasonsLeadToTheSource) {
  const Ranks r(R"(
func @twice(%x: i32) -> i32 {
^entry:
  %y = add %x, %x : i32
  ret %y
}

kernel @k(%n: i32) {
^entry:
  %v = alloc.private i32[1] : ptr<private>
  %t = gpu.thread_id x : i32
  store i32, %t, %v : ptr<private>
  %seen = load i32, %v : ptr<private>
  %double = call @twice(%seen) : i32
  %c = cmp.eq %double, %n : i32
  br %c, ^then, ^done
^then:
  jump ^done
^done:
  ret
}
)");
  const ir::Function& k = *r.m.function("k");
  EXPECT_TRUE(r.u.explainControl(blockNamed(k, "done"), Rank::Workgroup).empty());
  EXPECT_TRUE(r.u.explainValue(valueNamed(k, "n"), Rank::Workgroup).empty());
  using Kind = ReasonStep::Kind;
  std::vector<Kind> kinds;
  for (const ReasonStep& s : r.u.explainControl(blockNamed(k, "then"), Rank::Workgroup)) {
    kinds.push_back(s.kind);
  }
  EXPECT_EQ(kinds, (std::vector<Kind>{Kind::Branch, Kind::Value, Kind::Value, Kind::Assigned,
                                      Kind::Source}));
  auto steps = r.u.explainValue(valueNamed(*r.m.function("twice"), "y"), Rank::Workgroup);
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_EQ(steps[1].kind, Kind::Parameter);
  EXPECT_EQ(steps[1].name, "x");
  EXPECT_EQ(steps[3].kind, Kind::Source);
}

TEST(Uniformity, Printed) {
  const Ranks r(R"(
func @dead() {
^entry:
  ret
}

kernel @k(%n: i32) {
^entry:
  %t = gpu.thread_id x : i32
  %0 = add %n, %n : i32
  %c = cmp.eq %t, %0 : i32
  br %c, ^then(%0), ^done
^then(%x: i32):
  jump ^done
^done:
  ret
}
)");
  EXPECT_EQ(printUniformity(*r.m.module),
            "func @dead (not reached from a kernel)\n"
            "kernel @k\n"
            "  ^entry: workgroup\n"
            "    %n argument: workgroup\n"
            "    %t gpu.thread_id: varying\n"
            "    %0 add: workgroup\n"
            "    %c cmp.eq: varying\n"
            "  ^then: varying\n"
            "    %x argument: workgroup\n"
            "  ^done: workgroup\n");
}

}  // namespace
}  // namespace mtlc::analysis
