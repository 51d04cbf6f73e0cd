#include "mtlc/analysis/tile_regions.h"

#include "gtest/gtest.h"
#include "mtlc/analysis/test_util.h"

namespace mtlc::analysis {
namespace {

// Two accumulators of one loop, the second with an epilogue, and a staged chain after it.
constexpr std::string_view kText = R"(
kernel @k(%g: ptr<global>, %h: ptr<global>, %s: ptr<workgroup>, %n: i32) {
^entry:
  %zero = const 0 : i32
  %one = const 1 : i32
  %alpha = const 0x3f800000 : f32
  %t0 = tensor.acc.begin c=%g, d=%g {m16n16, acc=f32} : tile<16x16xf32>
  %u0 = tensor.acc.begin c=%h, d=%h {m16n16, acc=f32} : tile<16x16xf32>
  jump ^head(%zero, %t0, %u0)
^head(%i: i32, %t: tile<16x16xf32>, %u: tile<16x16xf32>):
  %more = cmp.ult %i, %n : i32
  br %more, ^body, ^done
^body:
  %t1 = tensor.acc.mma tile=%t, a=%s, b=%s {m16n16k16, a=f16, b=f16, acc=f32} : tile<16x16xf32>
  %u1 = tensor.acc.mma tile=%u, a=%g, b=%s {m16n16k16, a=f16, b=f16, acc=f32} : tile<16x16xf32>
  %j = add %i, %one : i32
  jump ^head(%j, %t1, %u1)
^done:
  tensor.acc.commit %t
  %u2 = tensor.acc.epilogue tile=%u, bias=%g, alpha=%alpha, beta=%alpha {m16n16, element=f32, bias=row} : tile<16x16xf32>
  tensor.acc.commit %u2
  %v0 = tensor.acc.begin c=%g, d=%g {m16n16, acc=f32} : tile<16x16xf32>
  %v1 = tensor.acc.mma tile=%v0, a=%s, b=%s {m16n16k16, a=f16, b=f16, acc=f32} : tile<16x16xf32>
  barrier {workgroup} acq_rel
  %v2 = tensor.acc.mma tile=%v1, a=%s, b=%s {m16n16k16, a=f16, b=f16, acc=f32} : tile<16x16xf32>
  tensor.acc.commit %v2
  ret
}
)";

TEST(TileRegions, LoopsEpiloguesStages) {
  ParsedModule parsed = parse(kText);
  ASSERT_NE(parsed.module, nullptr);
  ir::Function* f = parsed.function("k");
  const TileRegions regions(*f);
  ASSERT_EQ(regions.regions().size(), 3u);
  const TileRegion& t = regions.regions()[0];
  const TileRegion& u = regions.regions()[1];
  const TileRegion& v = regions.regions()[2];
  EXPECT_EQ(t.ops.size(), 3u);
  EXPECT_EQ(u.ops.size(), 4u);
  EXPECT_EQ(v.ops.size(), 4u);
  EXPECT_EQ(t.args.size(), 1u);
  EXPECT_TRUE(v.args.empty());
  EXPECT_TRUE(t.inLoop && u.inLoop);
  EXPECT_FALSE(v.inLoop);
  EXPECT_TRUE(v.staged);
  EXPECT_FALSE(t.staged || u.staged);
  EXPECT_TRUE(u.biased);
  EXPECT_FALSE(t.biased || v.biased);
  EXPECT_TRUE(t.operandsInWorkgroup && v.operandsInWorkgroup);
  EXPECT_FALSE(u.operandsInWorkgroup);
  EXPECT_EQ(t.products, 1u);
  EXPECT_EQ(v.products, 2u);
  EXPECT_EQ(regions.indexOf(valueNamed(*f, "t1")), 0u);
  EXPECT_EQ(regions.indexOf(valueNamed(*f, "u2")), 1u);
}

// What is passed on without a loop is one region, but in none.
TEST(TileRegions, JoinsAreNoLoops) {
  ParsedModule parsed = parse(R"(
kernel @k(%g: ptr<global>, %s: ptr<workgroup>, %c: i1) {
^entry:
  %t0 = tensor.acc.begin c=%g, d=%g {m16n16, acc=f32} : tile<16x16xf32>
  br %c, ^left, ^right
^left:
  %t1 = tensor.acc.mma tile=%t0, a=%s, b=%s {m16n16k16, a=f16, b=f16, acc=f32} : tile<16x16xf32>
  jump ^join(%t1)
^right:
  jump ^join(%t0)
^join(%t: tile<16x16xf32>):
  tensor.acc.commit %t
  ret
}
)");
  ASSERT_NE(parsed.module, nullptr);
  const TileRegions regions(*parsed.function("k"));
  ASSERT_EQ(regions.regions().size(), 1u);
  EXPECT_FALSE(regions.regions()[0].inLoop);
  EXPECT_EQ(regions.regions()[0].products, 1u);
}

TEST(TileRegions, NoTiles) {
  ParsedModule parsed = parse("\nkernel @k() {\n^entry:\n  ret\n}\n");
  EXPECT_TRUE(TileRegions(*parsed.function("k")).regions().empty());
}

}  // namespace
}  // namespace mtlc::analysis
