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

}  // namespace
}  // namespace mtlc::sim
