#include "mtlc/sim/isa/instructions.h"

#include <gtest/gtest.h>

namespace mtlc::sim {
namespace {

TEST(InstructionTable, EveryRowIsWellFormed) {
  for (std::string_view row : malformedRows()) ADD_FAILURE() << row;
  EXPECT_GT(instructionTable().size(), 200u);
}

TEST(InstructionTable, ModifierNamesAreUnique) {
  for (int i = 1; i < static_cast<int>(Mod::count); ++i) {
    Mod m = static_cast<Mod>(i);
    auto found = findMod(modSpelling(m));
    ASSERT_TRUE(found.has_value()) << modSpelling(m);
    EXPECT_EQ(*found, m) << modSpelling(m);
  }
}

const InstrRow* find(std::string_view opcode, std::vector<Mod> mods) {
  Form form;
  for (const InstrRow* row : rowsOf(opcode)) {
    if (matchRow(*row, mods, form)) return row;
  }
  return nullptr;
}

TEST(InstructionTable, OrderAndPresenceOfModifiersCount) {
  EXPECT_NE(find("add", {Mod::s32}), nullptr);
  EXPECT_NE(find("add", {Mod::sat, Mod::s32}), nullptr);
  EXPECT_EQ(find("add", {Mod::s32, Mod::sat}), nullptr);
  EXPECT_EQ(find("add", {Mod::sat, Mod::u32}), nullptr);
  EXPECT_NE(find("add", {Mod::rz, Mod::ftz, Mod::sat, Mod::f32}), nullptr);
  EXPECT_EQ(find("add", {Mod::ftz, Mod::rz, Mod::f32}), nullptr);
  EXPECT_EQ(find("add", {}), nullptr);
  EXPECT_EQ(find("fma", {Mod::f32}), nullptr);  // The rounding is required.
  EXPECT_NE(find("ld", {Mod::global, Mod::nc, Mod::v4, Mod::f32}), nullptr);
  EXPECT_EQ(find("ld", {Mod::shared, Mod::nc, Mod::f32}), nullptr);
  EXPECT_EQ(find("setp", {Mod::lo, Mod::s32}), nullptr);  // lo, ls, hi, hs are for unsigned types.
  EXPECT_NE(find("setp", {Mod::lo, Mod::u32}), nullptr);
  EXPECT_TRUE(rowsOf("frobnicate").empty());
}

// The form that a spelling in any order means, in the row's order; empty: none.
std::string inAnyOrder(std::string_view opcode, std::vector<Mod> mods) {
  Form form;
  for (const InstrRow* row : rowsOf(opcode)) {
    if (!matchRowInAnyOrder(*row, mods, form)) continue;
    std::string text(opcode);
    for (size_t i = 0; i < form.count; ++i) {
      text += '.';
      text += modSpelling(form.mods[i]);
    }
    return text;
  }
  return {};
}

TEST(InstructionTable, ModifiersInAnyOrder) {
  EXPECT_EQ(inAnyOrder("ex2", {Mod::approx, Mod::f32, Mod::ftz}), "ex2.approx.ftz.f32");
  EXPECT_EQ(inAnyOrder("vote", {Mod::ballot, Mod::sync, Mod::b32}), "vote.sync.ballot.b32");
  EXPECT_EQ(inAnyOrder("atom", {Mod::add, Mod::gpu, Mod::u32}), "atom.gpu.add.u32");
  EXPECT_EQ(inAnyOrder("atom", {Mod::cas, Mod::b16, Mod::cta, Mod::acquire, Mod::global}),
            "atom.acquire.cta.global.cas.b16");
  EXPECT_EQ(inAnyOrder("red", {Mod::andMod, Mod::release, Mod::cta, Mod::b32}),
            "red.release.cta.and.b32");
  EXPECT_EQ(inAnyOrder("add", {Mod::f32, Mod::sat, Mod::rz, Mod::ftz}), "add.rz.ftz.sat.f32");
  // Types keep their order.
  EXPECT_EQ(inAnyOrder("cvt", {Mod::sat, Mod::s32, Mod::f32, Mod::rzi}), "cvt.rzi.sat.s32.f32");
  EXPECT_EQ(inAnyOrder("cvt", {Mod::f16x2, Mod::f32, Mod::rn, Mod::relu}), "cvt.rn.relu.f16x2.f32");
  EXPECT_EQ(inAnyOrder("cvt", {Mod::f32, Mod::f16x2, Mod::rn}), "");
  // Words of the opcode keep their place.
  EXPECT_EQ(inAnyOrder("mul", {Mod::f32, Mod::rn}), "mul.rn.f32");
  EXPECT_EQ(inAnyOrder("mul", {Mod::s32, Mod::lo}), "");
  EXPECT_EQ(inAnyOrder("shf", {Mod::l, Mod::b32, Mod::wrap}), "shf.l.wrap.b32");
  EXPECT_EQ(inAnyOrder("shf", {Mod::wrap, Mod::l, Mod::b32}), "");
  // None twice, none missing.
  EXPECT_EQ(inAnyOrder("add", {Mod::f32, Mod::ftz, Mod::ftz}), "");
  EXPECT_EQ(inAnyOrder("vote", {Mod::ballot, Mod::sync}), "");
}

}  // namespace
}  // namespace mtlc::sim
