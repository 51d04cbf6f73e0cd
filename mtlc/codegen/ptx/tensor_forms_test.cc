// Which instruction a product becomes on which profile, and what it is said to take.

#include <gtest/gtest.h>

#include "mtlc/codegen/ptx/ptx.h"

namespace mtlc {
namespace {

using ir::MmaDesc;

PtxTargetInfo target(std::string_view arch, std::optional<PtxVersion> version = {}) {
  DiagnosticEngine diags;
  return PtxTargetInfo(*PtxProfile::resolve(arch, version, diags));
}

MmaDesc product(uint32_t m, uint32_t n, uint32_t k, ElementFormat a, ElementFormat acc) {
  MmaDesc d;
  d.m = m;
  d.n = n;
  d.k = k;
  d.a = d.b = a;
  d.acc = d.result = acc;
  return d;
}

constexpr ElementFormat kF16 = ElementFormat::F16;
constexpr ElementFormat kAcc32 = ElementFormat::F32;

uint32_t peak(const TensorForm& form, const MmaDesc& d) {
  return (d.m / form.m * (d.n / form.n) + 1) * form.accRegisters + form.aRegisters +
         form.bRegisters;
}

TEST(TensorForms, WmmaFromGlobalMemory) {
  const MmaDesc d = product(16, 16, 16, kF16, kAcc32);
  const std::optional<TensorForm> form = target("sm_80").tensorForm(d, {});
  ASSERT_TRUE(form);
  EXPECT_EQ(form->m, 16u);
  EXPECT_EQ(form->n, 16u);
  EXPECT_FALSE(form->coordinatesKnown);
  EXPECT_EQ(peak(*form, d), 32u);
  const MmaDesc large = product(32, 32, 32, kF16, kAcc32);
  EXPECT_EQ(peak(*target("sm_80").tensorForm(large, {}), large), 56u);
}

TEST(TensorForms, MmaWherePlacesMatter) {
  const MmaDesc d = product(16, 16, 16, kF16, kAcc32);
  for (const TensorUse use : {TensorUse{.operandsInWorkgroup = true}, TensorUse{.biased = true},
                              TensorUse{.narrow = true}}) {
    const std::optional<TensorForm> form = target("sm_80").tensorForm(d, use);
    ASSERT_TRUE(form);
    EXPECT_EQ(form->n, 8u);
    EXPECT_TRUE(form->coordinatesKnown);
  }
  // sm_70 has nothing but wmma.
  EXPECT_FALSE(target("sm_70").tensorForm(d, {.biased = true})->coordinatesKnown);
  EXPECT_FALSE(target("sm_70").tensorForm(d, {.narrow = true}));
  MmaDesc narrow = d;
  narrow.result = ElementFormat::BF16;
  EXPECT_EQ(target("sm_80").tensorForm(narrow, {})->n, 8u);
  EXPECT_FALSE(target("sm_70").tensorForm(narrow, {}));
}

TEST(TensorForms, AccumulatorsOfOneTileAgree) {
  const PtxTargetInfo t = target("sm_80");
  const TensorForm f16 = *t.tensorForm(product(16, 16, 16, kF16, kAcc32), {});
  EXPECT_EQ(t.tensorForm(product(16, 16, 16, ElementFormat::BF16, kAcc32), {})->accumulatorLayout,
            f16.accumulatorLayout);
  EXPECT_NE(t.tensorForm(product(16, 16, 8, ElementFormat::TF32, kAcc32), {})->accumulatorLayout,
            f16.accumulatorLayout);
  EXPECT_NE(t.tensorForm(product(16, 16, 16, kF16, kAcc32), {true, false})->accumulatorLayout,
            f16.accumulatorLayout);
}

TEST(TensorForms, WhatNoFormDivides) {
  // A part can be native.
  EXPECT_TRUE(target("sm_80").tensorForm(product(19, 23, 21, kF16, kAcc32), {}));
  // 24 columns are no multiple of 16, but of 8.
  EXPECT_EQ(target("sm_80").tensorForm(product(48, 24, 16, kF16, kAcc32), {})->n, 8u);
}

TEST(TensorForms, WmmaLoadsFromCornersThatAreAligned) {
  // Tiles of 8 rows that follow each other in a column begin 16 bytes apart, half of
  // what wmma.load of a fragment of 8 registers asks for.
  MmaDesc tall = product(24, 32, 16, kF16, kAcc32), wide = product(32, 24, 16, kF16, kAcc32);
  for (std::string_view arch : {"sm_75", "sm_80"}) {
    EXPECT_EQ(target(arch).tensorForm(tall, {})->m, 8u);
    EXPECT_EQ(target(arch).tensorForm(wide, {})->n, 8u);
    for (MmaDesc* d : {&tall, &wide}) {
      MmaDesc across = *d;
      across.aLayout = ir::Layout::Col;
      across.bLayout = ir::Layout::Row;
      const std::optional<TensorForm> form = target(arch).tensorForm(across, {});
      EXPECT_TRUE(!form || form->coordinatesKnown || (form->m == 16 && form->n == 16)) << arch;
      // One tile alone begins where the operand does, and those of bf16 have smaller fragments.
      across.m = d == &tall ? 8 : 32;
      across.n = d == &tall ? 32 : 8;
      EXPECT_EQ(target(arch).tensorForm(across, {})->m, across.m);
      if (arch == "sm_75") continue;
      MmaDesc bf16 = product(d->m, d->n, 16, ElementFormat::BF16, kAcc32);
      bf16.aLayout = ir::Layout::Col;
      bf16.bLayout = ir::Layout::Row;
      EXPECT_EQ(target(arch).tensorForm(bf16, {})->m, across.m);
    }
  }
}

TEST(TensorForms, ScalesNeedTheFamily) {
  MmaDesc d = product(16, 8, 64, ElementFormat::E2M1, kAcc32);
  d.aScale = d.bScale = ir::ScaleMode::Block32;
  for (std::string_view arch : {"sm_80", "sm_90a", "sm_120", "sm_121", "sm_100a"}) {
    EXPECT_FALSE(target(arch).tensorForm(d, {})) << arch;
  }
  for (std::string_view arch : {"sm_120a", "sm_120f", "sm_121a", "sm_121f"}) {
    EXPECT_EQ(target(arch).tensorForm(d, {})->k, 64u) << arch;
  }
  EXPECT_EQ(target("sm_80").tensorNeeds(d), "PTX 8.7 and one of sm_120a sm_120f sm_121a sm_121f");
  d.aScaleFormat = ElementFormat::UE4M3;  // For blocks of 16 only.
  EXPECT_FALSE(target("sm_121a").tensorForm(d, {}));
  EXPECT_EQ(target("sm_80").tensorNeeds(d), "");
}

TEST(TensorForms, RoundingAndPacking) {
  const PtxTargetInfo t = target("sm_90");
  MmaDesc d = product(16, 8, 8, ElementFormat::F64, ElementFormat::F64);
  EXPECT_EQ(t.tensorForm(d, {true, false})->m, 16u);
  d.rounding = ir::Rounding::Down;  // Of wmma alone.
  EXPECT_EQ(t.tensorForm(d, {true, false})->m, 8u);
  MmaDesc packed = product(16, 16, 64, ElementFormat::I4, ElementFormat::I32);
  packed.aPacking = packed.bPacking = ir::Packing::Dense;
  EXPECT_TRUE(t.tensorForm(packed, {}));
  packed.aLayout = ir::Layout::Col;  // Neighbours in a byte belong to different rows.
  EXPECT_FALSE(t.tensorForm(packed, {}));
}

TEST(TensorForms, Budget) {
  EXPECT_EQ(target("sm_89").tensorTupleBudget(), 64u);
  EXPECT_EQ(target("sm_90").tensorTupleBudget(), 96u);
  EXPECT_EQ(target("sm_121a").tensorTupleBudget(), 96u);
}

}  // namespace
}  // namespace mtlc
