// Every form of the instruction table that works on registers of one lane, against its oracle.
//
// MTLC_ORACLE_TUPLES sets the operand tuples per form (the default keeps the test quick).

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "mtlc/sim/oracle/driver.h"

namespace mtlc::sim::oracle {
namespace {

unsigned tuplesPerForm() {
  const char* text = std::getenv("MTLC_ORACLE_TUPLES");
  unsigned n = text != nullptr ? static_cast<unsigned>(std::atoi(text)) : 2048;
  return std::max(128u, n / 128 * 128);
}

bool tested(const InstrRow& row) {
  return familyKind(row.family) == FamilyKind::lane && !dependsOnContext(row.family);
}

// A form without an oracle is a failure, so that no row comes without a test.
TEST(LanesOracle, EveryFormHasAnOracle) {
  size_t rows = 0, forms = 0;
  for (const InstrRow& row : instructionTable()) {
    if (!tested(row)) continue;
    ++rows;
    for (const Form& f : formsOf(row)) {
      ++forms;
      EXPECT_TRUE(static_cast<bool>(oracleOf(f))) << spelling(f);
    }
  }
  std::printf("%zu rows, %zu forms\n", rows, forms);
  EXPECT_GT(forms, 3000u);
}

// BC-54: values known from elsewhere, so that the oracle is not its own witness.
TEST(LanesOracle, KnownCornerValues) {
  auto value = [](std::string_view opcode, std::vector<Mod> mods, std::array<uint64_t, 6> src) {
    Form form;
    for (const InstrRow* row : rowsOf(opcode)) {
      Operands o;
      o.src = src;
      if (matchRow(*row, mods, form)) return oracleOf(form)(o).bits;
    }
    ADD_FAILURE() << opcode;
    return uint64_t{0};
  };
  constexpr uint64_t kAll = 0xffffffffu, kOne = 0x3f800000u, kTiny = 0x30800000u;  // 1, 2^-30
  EXPECT_EQ(value("mad", {Mod::hi, Mod::u32}, {kAll, kAll, kAll}), 0xfffffffdu);
  EXPECT_EQ(value("bfe", {Mod::u32}, {0x80000000u, 32, 4}), 0u);
  EXPECT_EQ(value("bfe", {Mod::u32}, {0x80000000u, 40, 4}), 0u);
  EXPECT_EQ(value("bfe", {Mod::s32}, {0x80000000u, 32, 4}), kAll);
  EXPECT_EQ(value("cvt", {Mod::rz, Mod::f32, Mod::s32}, {16777219}), 0x4b800001u);  // 16777218
  EXPECT_EQ(value("cvt", {Mod::rn, Mod::f32, Mod::s32}, {16777219}), 0x4b800002u);  // 16777220
  EXPECT_EQ(value("add", {Mod::u64}, {0xffffffff00000001u, 0x1ffffffffu}), 0x0000000100000000u);
  EXPECT_EQ(value("clz", {Mod::b64}, {1}), 63u);
  EXPECT_EQ(value("add", {Mod::rm, Mod::f32}, {kOne, kTiny}), kOne);
  EXPECT_EQ(value("add", {Mod::rp, Mod::f32}, {kOne, kTiny}), kOne + 1);
  EXPECT_EQ(value("shf", {Mod::l, Mod::clamp, Mod::b32}, {7, 5, 40}), 7u);
  EXPECT_EQ(value("shf", {Mod::r, Mod::clamp, Mod::b32}, {7, 5, 40}), 5u);
}

// One test per opcode.
class Opcode : public testing::TestWithParam<std::string> {};

TEST_P(Opcode, AgreesWithTheOracle) {
  std::vector<Variant> variants;
  size_t forms = 0;
  for (const InstrRow& row : instructionTable()) {
    if (!tested(row) || row.opcode != GetParam()) continue;
    for (const Form& f : formsOf(row)) {
      ++forms;
      for (const Variant& v : variantsOf(f, tuplesPerForm())) variants.push_back(v);
    }
  }
  Outcome outcome;
  runVariants(variants, 20240607, outcome);
  size_t shown = 0;
  for (const std::string& f : outcome.failures) {
    if (++shown <= 40) ADD_FAILURE() << f;
  }
  EXPECT_LE(shown, 40u) << "failures in all";
  EXPECT_GT(outcome.tuples, outcome.skipped / 4);
  std::printf("%s: %zu forms, %zu kernels, %zu tuples compared, %zu left open\n",
              GetParam().c_str(), forms, static_cast<size_t>(outcome.kernels),
              static_cast<size_t>(outcome.tuples), static_cast<size_t>(outcome.skipped));
}

std::vector<std::string> opcodes() {
  std::vector<std::string> out;
  for (const InstrRow& row : instructionTable()) {
    if (tested(row) && (out.empty() || out.back() != row.opcode)) {
      if (std::find(out.begin(), out.end(), row.opcode) == out.end()) out.emplace_back(row.opcode);
    }
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(Table, Opcode, testing::ValuesIn(opcodes()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace mtlc::sim::oracle
