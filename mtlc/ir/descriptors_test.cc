// The rules of tensor descriptors: every reason for a refusal, and every legal pair of formats
// against a table written from docs/ir.md §6.

#include "mtlc/ir/descriptors.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace mtlc::ir {
namespace {

using E = ElementFormat;
using Problems = std::vector<DescriptorProblem>;

const SlotSet kMmaSlots{Slot::A, Slot::B, Slot::C, Slot::D};
const SlotSet kMatmulSlots =
    kMmaSlots | SlotSet{Slot::Lda, Slot::Ldb, Slot::Ldc, Slot::Ldd, Slot::Row,
                        Slot::Col, Slot::M,   Slot::N,   Slot::K};
const SlotSet kBeginSlots{Slot::C, Slot::D};
const SlotSet kStepSlots{Slot::Tile, Slot::A, Slot::B};

std::string show(const Problems& problems) {
  std::string out;
  for (const DescriptorProblem& p : problems) out += p.field + ": " + p.reason + "\n";
  return out;
}

// Exactly one problem, of that field, with those words.
void expectOne(const Problems& problems, std::string_view field, std::string_view words) {
  ASSERT_EQ(problems.size(), 1u) << field << "\n" << show(problems);
  EXPECT_EQ(problems[0].field, field);
  EXPECT_NE(problems[0].reason.find(words), std::string::npos) << show(problems);
}

// ---- Matrix products ----

struct MmaCase {
  std::string_view field, words;
  std::function<void(MmaDesc&, SlotSet&)> change;
  MmaUse use = MmaUse::Mma;
};

SlotSet slotsOf(MmaUse use) {
  switch (use) {
    case MmaUse::Mma:
      return kMmaSlots;
    case MmaUse::Matmul:
      return kMatmulSlots;
    case MmaUse::AccBegin:
      return kBeginSlots;
    case MmaUse::AccMma:
      return kStepSlots;
  }
  return {};
}

Problems checked(MmaUse use, const std::function<void(MmaDesc&, SlotSet&)>& change) {
  MmaDesc d{.m = 16, .n = 16, .k = 32};
  SlotSet slots = slotsOf(use);
  if (use != MmaUse::Matmul) setDenseLeading(d, slots);
  d = normalizedFor(use, d);
  if (change) change(d, slots);
  Problems problems;
  checkDescriptor(d, use, slots, problems);
  return problems;
}

void setInputs(MmaDesc& d, E f) {
  d.a = d.b = f;
  const ElementInfo& info = elementInfo(f);
  if (info.isInteger() || info.kind == ElementKind::Bit) d.acc = d.result = E::I32;
  if (f == E::F64) d.acc = d.result = E::F64;
  if (info.kind == ElementKind::Bit) {
    d.math = TensorMath::XorPopcount;
    d.aPacking = d.bPacking = Packing::Dense;
    d.k = 128;
    d.lda = d.ldb = 128;
  }
}

TEST(MmaDescriptor, TheBaseIsLegal) {
  for (MmaUse use : {MmaUse::Mma, MmaUse::Matmul, MmaUse::AccBegin, MmaUse::AccMma}) {
    EXPECT_EQ(show(checked(use, nullptr)), "");
  }
}

TEST(MmaDescriptor, EveryReason) {
  const MmaCase kCases[] = {
      {"m", "0 is not in 1", [](MmaDesc& d, SlotSet&) { d.m = 0; }},
      {"n", "0 is not in 1", [](MmaDesc& d, SlotSet&) { d.n = 0; }},
      {"k", "0 is not in 1", [](MmaDesc& d, SlotSet&) { d.k = 0; }},
      {"m", "65536 is not in 1", [](MmaDesc& d, SlotSet&) { d.m = 65536; }, MmaUse::Matmul},
      {"scope", "workitem takes no part", [](MmaDesc& d, SlotSet&) { d.scope = Scope::WorkItem; }},
      {"scope", "device takes no part", [](MmaDesc& d, SlotSet&) { d.scope = Scope::Device; }},
      {"b", "f16 times bf16", [](MmaDesc& d, SlotSet&) { d.b = E::BF16; }},
      {"a", "f32 times f32", [](MmaDesc& d, SlotSet&) { d.a = d.b = E::F32; }},
      {"a", "ue8m0 times f16", [](MmaDesc& d, SlotSet&) { d.a = E::UE8M0; }},
      {"a", "i32 times i32", [](MmaDesc& d, SlotSet&) { d.a = d.b = E::I32; }},
      {"acc", "bf16 inputs give f32, not f16",
       [](MmaDesc& d, SlotSet&) { setInputs(d, E::BF16), d.acc = E::F16; }},
      {"acc", "f16 inputs give f16 or f32, not f64", [](MmaDesc& d, SlotSet&) { d.acc = E::F64; }},
      {"acc", "f64 inputs give f64, not f32",
       [](MmaDesc& d, SlotSet&) { setInputs(d, E::F64), d.acc = E::F32; }},
      {"result", "f64 inputs give f64, not f32",
       [](MmaDesc& d, SlotSet&) { setInputs(d, E::F64), d.result = E::F32; }},
      {"acc", "i8 inputs give i32, not f32",
       [](MmaDesc& d, SlotSet&) { setInputs(d, E::I8), d.acc = E::F32; }},
      {"result", "i8 inputs give i32, not f32",
       [](MmaDesc& d, SlotSet&) { setInputs(d, E::I8), d.result = E::F32; }},
      {"result", "an f16 accumulator gives f16, not f32",
       [](MmaDesc& d, SlotSet&) { d.acc = E::F16; }},
      {"result", "an f32 accumulator is stored as f32, f16 or bf16, not f64",
       [](MmaDesc& d, SlotSet&) { d.result = E::F64; }},
      {"math", "b1 inputs need",
       [](MmaDesc& d, SlotSet&) { setInputs(d, E::B1), d.math = TensorMath::MultiplyAdd; }},
      {"math", "xor_popcount is for b1 inputs, not f16",
       [](MmaDesc& d, SlotSet&) { d.math = TensorMath::XorPopcount; }},
      {"rounding", "toward_zero is for f64, not f16",
       [](MmaDesc& d, SlotSet&) { d.rounding = Rounding::TowardZero; }},
      {"overflow", "saturate is for integers, not f16",
       [](MmaDesc& d, SlotSet&) { d.overflow = Overflow::Saturate; }},
      {"sparsity", "needs values, not single bits",
       [](MmaDesc& d, SlotSet& s) {
         setInputs(d, E::B1), d.sparsity = Sparsity::S2to4, s.add(Slot::Metadata);
       }},
      {"packing_a", "dense packs formats below 8 bits, not f16",
       [](MmaDesc& d, SlotSet&) { d.aPacking = Packing::Dense; }},
      {"packing_b", "dense packs formats below 8 bits, not f16",
       [](MmaDesc& d, SlotSet&) { d.bPacking = Packing::Dense; }},
      {"packing_a", "b1 is always dense",
       [](MmaDesc& d, SlotSet&) { setInputs(d, E::B1), d.aPacking = Packing::Logical; }},
      {"scale_a", "tensor belongs to floating-point inputs of up to 32 bits, not i8",
       [](MmaDesc& d, SlotSet& s) {
         setInputs(d, E::I8), d.aScale = ScaleMode::Tensor, s.add(Slot::ScaleA);
       }},
      {"scale_b", "tensor belongs to floating-point inputs of up to 32 bits, not f64",
       [](MmaDesc& d, SlotSet& s) {
         setInputs(d, E::F64), d.bScale = ScaleMode::Tensor, s.add(Slot::ScaleB);
       }},
      {"scale_format_a", "f16 is no scale",
       [](MmaDesc& d, SlotSet& s) {
         d.aScale = ScaleMode::Tensor, d.aScaleFormat = E::F16, s.add(Slot::ScaleA);
       }},
      {"result", "the home of a tile of f32 has that format, f16 or bf16, not i32",
       [](MmaDesc& d, SlotSet&) { d.result = E::I32; }, MmaUse::AccBegin},
      {"result", "the home of a tile of f16 has that format, not f32",
       [](MmaDesc& d, SlotSet&) { d.acc = E::F16; }, MmaUse::AccBegin},
      {"result", "a tile keeps its accumulator's format f32",
       [](MmaDesc& d, SlotSet&) { d.result = E::F16; }, MmaUse::AccMma},
      {"a", "missing", [](MmaDesc&, SlotSet& s) { s = s - SlotSet{Slot::A}; }},
      {"d", "missing", [](MmaDesc&, SlotSet& s) { s = s - SlotSet{Slot::D}; }},
      {"tile", "missing", [](MmaDesc&, SlotSet& s) { s = s - SlotSet{Slot::Tile}; },
       MmaUse::AccMma},
      {"row", "missing", [](MmaDesc&, SlotSet& s) { s = s - SlotSet{Slot::Row}; }, MmaUse::Matmul},
      {"metadata", "missing", [](MmaDesc& d, SlotSet&) { d.sparsity = Sparsity::S2to4; }},
      {"scale_a", "missing", [](MmaDesc& d, SlotSet&) { d.aScale = ScaleMode::Tensor; }},
      {"metadata", "takes no such operand", [](MmaDesc&, SlotSet& s) { s.add(Slot::Metadata); }},
      {"bias", "takes no such operand", [](MmaDesc&, SlotSet& s) { s.add(Slot::Bias); }},
      {"m", "takes no such operand", [](MmaDesc&, SlotSet& s) { s.add(Slot::M); }},
      {"lda", "given besides the operand", [](MmaDesc&, SlotSet& s) { s.add(Slot::Lda); }},
      {"ldsa", "2 means nothing here", [](MmaDesc& d, SlotSet&) { d.ldsa = 2; }},
      {"lda", "8 means nothing here", [](MmaDesc& d, SlotSet&) { d.lda = 8; }, MmaUse::AccBegin},
      {"ldd", "16 means nothing here", [](MmaDesc& d, SlotSet&) { d.ldd = 16; }, MmaUse::AccMma},
      {"ldb", "a leading dimension is a constant above 0", [](MmaDesc& d, SlotSet&) { d.ldb = 0; }},
      {"ldb", "a leading dimension is a constant above 0",
       [](MmaDesc&, SlotSet& s) { s = s - SlotSet{Slot::Ldb}; }, MmaUse::Matmul},
      {"lda", "24 is shorter than the stored tile's 32", [](MmaDesc& d, SlotSet&) { d.lda = 24; }},
      {"ldd", "12 is shorter than the stored tile's 16", [](MmaDesc& d, SlotSet&) { d.ldd = 12; }},
      // A is stored transposed: 16 to a row.
      {"lda", "8 is shorter than the stored tile's 16",
       [](MmaDesc& d, SlotSet&) { d.transposeA = true, d.lda = 8; }},
      // Half of 32 values are stored.
      {"lda", "8 is shorter than the stored tile's 16",
       [](MmaDesc& d, SlotSet& s) {
         d.sparsity = Sparsity::S2to4, d.lda = 8, s.add(Slot::Metadata);
       }},
      {"ldsa", "1 is shorter than the stored tile's 2",
       [](MmaDesc& d, SlotSet& s) {
         d.aScale = ScaleMode::Block16, d.ldsa = 1, s.add(Slot::ScaleA);
       }},
      {"ldmeta", "7 is shorter than the stored tile's 8",
       [](MmaDesc& d, SlotSet& s) {
         d.sparsity = Sparsity::S2to4, d.lda = 16, d.ldmeta = 7, s.add(Slot::Metadata);
       }},
      {"ldmeta", "given besides the operand",
       [](MmaDesc& d, SlotSet& s) {
         d.sparsity = Sparsity::S2to4, d.lda = 16, d.ldmeta = 8, s.add(Slot::Metadata),
         s.add(Slot::LdMeta);
       }},
      {"ldmeta", "8 means nothing here", [](MmaDesc& d, SlotSet&) { d.ldmeta = 8; }},
      {"ldmeta", "8 means nothing here",
       [](MmaDesc& d, SlotSet& s) {
         d.sparsity = Sparsity::S2to4, d.ldmeta = 8, s.add(Slot::Metadata);
       },
       MmaUse::Matmul},
      {"ldmeta", "takes no such operand", [](MmaDesc&, SlotSet& s) { s.add(Slot::LdMeta); }},
      {"lda", "36 elements of f16 are no multiple of 16 bytes; use a multiple of 8",
       [](MmaDesc& d, SlotSet&) { d.lda = 36; }},
      {"ldd", "18 elements of f32 are no multiple of 16 bytes; use a multiple of 4",
       [](MmaDesc& d, SlotSet&) { d.ldd = 18; }},
      {"lda", "use a multiple of 64",
       [](MmaDesc& d, SlotSet&) {
         setInputs(d, E::E2M3), d.aPacking = Packing::Dense, d.lda = 32, d.ldb = 32;
       }},
  };
  for (const MmaCase& c : kCases) {
    SCOPED_TRACE(std::string(c.field) + ": " + std::string(c.words));
    expectOne(checked(c.use, c.change), c.field, c.words);
  }
}

TEST(MmaDescriptor, EveryCombinationOfFormats) {
  // From docs/ir.md §6, by name.
  const std::set<std::string_view> kNarrow = {"e4m3", "e5m2", "e2m3", "e3m2", "e2m1"};
  auto results = [&](std::string_view a,
                     std::string_view b) -> std::set<std::pair<std::string, std::string>> {
    const std::set<std::pair<std::string, std::string>> toF32 = {
        {"f32", "f32"}, {"f32", "f16"}, {"f32", "bf16"}};
    if (a == "f16" && b == "f16") {
      auto both = toF32;
      both.insert({"f16", "f16"});
      return both;
    }
    if ((a == "bf16" || a == "tf32") && a == b) return toF32;
    if (kNarrow.contains(a) && kNarrow.contains(b)) return toF32;
    if (a == "f64" && b == "f64") return {{"f64", "f64"}};
    const bool bytes = (a == "i8" || a == "u8") && (b == "i8" || b == "u8");
    const bool nibbles = (a == "i4" || a == "u4") && (b == "i4" || b == "u4");
    if (bytes || nibbles || (a == "b1" && b == "b1")) return {{"i32", "i32"}};
    return {};
  };
  int legal = 0;
  auto each = [](auto visit) {
    for (int i = 0; i < kElementFormatCount; ++i) visit(static_cast<E>(i));
  };
  each([&](E a) {
    each([&](E b) {
      const auto allowed = results(elementInfo(a).name, elementInfo(b).name);
      each([&](E acc) {
        each([&](E result) {
          MmaDesc d{.m = 64, .n = 64, .k = 256, .a = a, .b = b, .acc = acc, .result = result};
          d.aPacking = defaultPacking(a);
          d.bPacking = defaultPacking(b);
          if (a == E::B1 && b == E::B1) d.math = TensorMath::AndPopcount;
          setDenseLeading(d, kMmaSlots);
          Problems problems;
          checkDescriptor(d, MmaUse::Mma, kMmaSlots, problems);
          const bool wanted = allowed.contains(
              {std::string(elementInfo(acc).name), std::string(elementInfo(result).name)});
          EXPECT_EQ(problems.empty(), wanted)
              << elementInfo(a).name << " " << elementInfo(b).name << " " << elementInfo(acc).name
              << " " << elementInfo(result).name << "\n"
              << show(problems);
          legal += wanted;
        });
      });
    });
  });
  // f16: 4, bf16 and tf32: 3 each, 25 narrow pairs: 3 each, f64, 4 + 4 + 1 of integers.
  EXPECT_EQ(legal, 4 + 6 + 75 + 1 + 9);
}

TEST(MmaDescriptor, LegalModes) {
  auto legal = [](const std::function<void(MmaDesc&, SlotSet&)>& change) {
    EXPECT_EQ(show(checked(MmaUse::Mma, change)), "");
  };
  legal([](MmaDesc& d, SlotSet&) { setInputs(d, E::F64), d.rounding = Rounding::Down; });
  legal([](MmaDesc& d, SlotSet&) { d.rounding = Rounding::NearestEven; });
  legal([](MmaDesc& d, SlotSet&) { setInputs(d, E::U8), d.overflow = Overflow::Saturate; });
  legal([](MmaDesc& d, SlotSet&) { setInputs(d, E::B1); });
  legal([](MmaDesc& d, SlotSet& s) { s.add(Slot::Lda), d.lda = 0; });
  legal([](MmaDesc& d, SlotSet&) { d.scope = Scope::Workgroup; });
  for (Sparsity sparsity : {Sparsity::S1to2, Sparsity::S2to4, Sparsity::S4to8}) {
    legal(
        [&](MmaDesc& d, SlotSet& s) { d.sparsity = sparsity, d.lda = 16, s.add(Slot::Metadata); });
  }
  for (E format : {E::UE8M0, E::UE4M3}) {
    legal([&](MmaDesc& d, SlotSet& s) {
      d.aScale = ScaleMode::Block16, d.aScaleFormat = format, d.ldsa = 2, s.add(Slot::ScaleA);
      d.bScale = ScaleMode::Block32, d.bScaleFormat = format, d.ldsb = 1, s.add(Slot::ScaleB);
    });
  }
  legal([](MmaDesc& d, SlotSet& s) {
    d.aScale = ScaleMode::Block32, s.add(Slot::ScaleA), s.add(Slot::Ldsa);
  });
  // 64 values of six bits are 48 bytes.
  legal(
      [](MmaDesc& d, SlotSet&) { setInputs(d, E::E3M2), d.aPacking = Packing::Dense, d.lda = 64; });
}

TEST(MmaDescriptor, StoredValuesOfSparseRows) {
  // Half of each group, a started group in full (docs/ir.md §6).
  struct {
    Sparsity sparsity;
    uint64_t k, stored;
  } const kCases[] = {{Sparsity::Dense, 7, 7},  {Sparsity::S1to2, 7, 4}, {Sparsity::S1to2, 8, 4},
                      {Sparsity::S2to4, 7, 4},  {Sparsity::S2to4, 9, 6}, {Sparsity::S4to8, 1, 4},
                      {Sparsity::S4to8, 17, 12}};
  for (const auto& c : kCases) EXPECT_EQ(storedK(c.sparsity, c.k), c.stored);
}

// ---- Epilogues ----

Problems checkedEpilogue(bool inTile, const std::function<void(EpilogueDesc&, SlotSet&)>& change) {
  EpilogueDesc d{.m = 8, .n = 16};
  SlotSet slots = inTile ? SlotSet{Slot::Tile} : SlotSet{Slot::D};
  if (!inTile) setDenseLeading(d, slots);
  if (change) change(d, slots);
  Problems problems;
  checkDescriptor(d, inTile, slots, problems);
  return problems;
}

TEST(EpilogueDescriptor, EveryReason) {
  const struct {
    std::string_view field, words;
    std::function<void(EpilogueDesc&, SlotSet&)> change;
    bool inTile = false;
  } kCases[] = {
      {"m", "0 is not in 1", [](EpilogueDesc& d, SlotSet&) { d.m = 0; }},
      {"n", "70000 is not in 1", [](EpilogueDesc& d, SlotSet&) { d.n = 70000, d.ldd = 70000; }},
      {"scope", "system takes no part", [](EpilogueDesc& d, SlotSet&) { d.scope = Scope::System; }},
      {"element", "i32 has no epilogue", [](EpilogueDesc& d, SlotSet&) { d.element = E::I32; }},
      {"element", "tf32 has no epilogue", [](EpilogueDesc& d, SlotSet&) { d.element = E::TF32; }},
      {"d", "missing", [](EpilogueDesc&, SlotSet& s) { s = SlotSet{}; }},
      {"tile", "missing", [](EpilogueDesc&, SlotSet& s) { s = SlotSet{}; }, true},
      {"d", "takes no such operand", [](EpilogueDesc&, SlotSet& s) { s.add(Slot::D); }, true},
      {"bias", "missing", [](EpilogueDesc& d, SlotSet&) { d.bias = BiasMode::Row; }},
      {"beta", "takes no such operand", [](EpilogueDesc&, SlotSet& s) { s.add(Slot::Beta); }},
      {"lo", "takes no such operand", [](EpilogueDesc&, SlotSet& s) { s.add(Slot::Lo); }},
      {"hi", "missing",
       [](EpilogueDesc& d, SlotSet& s) { d.activation = Activation::Clamp, s.add(Slot::Lo); }},
      {"ldd", "15 is shorter than the stored tile's 16",
       [](EpilogueDesc& d, SlotSet&) { d.ldd = 15; }},
      {"ldd", "16 means nothing here", [](EpilogueDesc& d, SlotSet&) { d.ldd = 16; }, true},
      {"ldbias", "4 means nothing here", [](EpilogueDesc& d, SlotSet&) { d.ldbias = 4; }},
      {"ldbias", "a leading dimension is a constant above 0",
       [](EpilogueDesc& d, SlotSet& s) { d.bias = BiasMode::Matrix, s.add(Slot::Bias); }},
      {"ldbias", "7 is shorter than the stored tile's 8",
       [](EpilogueDesc& d, SlotSet& s) {
         d.bias = BiasMode::Matrix, d.biasLayout = Layout::Col, d.ldbias = 7, s.add(Slot::Bias);
       }},
      {"ldbias", "takes no such operand",
       [](EpilogueDesc& d, SlotSet& s) {
         d.bias = BiasMode::Row, s.add(Slot::Bias), s.add(Slot::LdBias);
       }},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(std::string(c.field) + ": " + std::string(c.words));
    expectOne(checkedEpilogue(c.inTile, c.change), c.field, c.words);
  }
}

TEST(EpilogueDescriptor, Legal) {
  EXPECT_EQ(show(checkedEpilogue(false, nullptr)), "");
  EXPECT_EQ(show(checkedEpilogue(true, nullptr)), "");
  for (E element : {E::F16, E::BF16, E::F32, E::F64}) {
    for (BiasMode bias : {BiasMode::None, BiasMode::Row, BiasMode::Column, BiasMode::Matrix}) {
      EXPECT_EQ(show(checkedEpilogue(false,
                                     [&](EpilogueDesc& d, SlotSet& s) {
                                       d.element = element;
                                       d.bias = bias;
                                       if (bias == BiasMode::Matrix) d.ldbias = 16;
                                       if (bias != BiasMode::None) {
                                         s = s | SlotSet{Slot::Bias, Slot::Beta};
                                       }
                                       d.activation = Activation::Clamp;
                                       s = s | SlotSet{Slot::Alpha, Slot::Lo, Slot::Hi};
                                     })),
                "");
    }
  }
}

// ---- Transfers ----

Problems checkedTransfer(const std::function<void(TransferDesc&, SlotSet&)>& change) {
  TransferDesc d;
  d.rank = 2;
  d.element = E::F32;
  d.extent = {100, 50};
  d.stride = {4, 400};
  d.tile = {16, 8};
  SlotSet slots{Slot::Dst, Slot::Src, Slot::X0, Slot::X1};
  if (change) change(d, slots);
  Problems problems;
  checkDescriptor(d, slots, problems);
  return problems;
}

TEST(TransferDescriptor, EveryReason) {
  const struct {
    std::string_view field, words;
    std::function<void(TransferDesc&, SlotSet&)> change;
  } kCases[] = {
      {"rank", "0 is not in 1", [](TransferDesc& d, SlotSet&) { d.rank = 0; }},
      {"rank", "6 is not in 1", [](TransferDesc& d, SlotSet&) { d.rank = 6; }},
      {"packing", "dense packs formats below 8 bits, not f32",
       [](TransferDesc& d, SlotSet&) { d.packing = Packing::Dense, d.stride[0] = 0; }},
      {"tile2", "dimension 2 is beyond the rank", [](TransferDesc& d, SlotSet&) { d.tile[2] = 1; }},
      {"tile3", "dimension 3 is beyond the rank", [](TransferDesc& d, SlotSet&) { d.step[3] = 2; }},
      {"tile1", "at least one element", [](TransferDesc& d, SlotSet&) { d.tile[1] = 0; }},
      {"step0", "at least 1", [](TransferDesc& d, SlotSet&) { d.step[0] = 0; }},
      {"extent0", "a constant above 0 or an operand",
       [](TransferDesc& d, SlotSet&) { d.extent[0] = 0; }},
      {"extent1", "given besides the operand",
       [](TransferDesc&, SlotSet& s) { s.add(Slot::Extent1); }},
      {"stride0", "8 bytes; dimension 0 is contiguous: 4",
       [](TransferDesc& d, SlotSet&) { d.stride[0] = 8; }},
      {"stride1", "a constant above 0 or an operand",
       [](TransferDesc& d, SlotSet&) { d.stride[1] = 0; }},
      {"stride1", "given besides the operand",
       [](TransferDesc&, SlotSet& s) { s.add(Slot::Stride1); }},
      {"stride1", "402 bytes are no multiple of an element's 4",
       [](TransferDesc& d, SlotSet&) { d.stride[1] = 402; }},
      {"tile", "larger than 65536 bytes",
       [](TransferDesc& d, SlotSet&) {
         d.tile = {16384, 2};
       }},
      {"tile", "larger than 65536 bytes",
       [](TransferDesc& d, SlotSet&) {
         d.tile = {~0u, ~0u};
       }},
      {"x1", "missing", [](TransferDesc&, SlotSet& s) { s = s - SlotSet{Slot::X1}; }},
      {"dst", "missing", [](TransferDesc&, SlotSet& s) { s = s - SlotSet{Slot::Dst}; }},
      {"x2", "takes no such operand", [](TransferDesc&, SlotSet& s) { s.add(Slot::X2); }},
      {"bias", "takes no such operand", [](TransferDesc&, SlotSet& s) { s.add(Slot::Bias); }},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(std::string(c.field) + ": " + std::string(c.words));
    expectOne(checkedTransfer(c.change), c.field, c.words);
  }
}

TEST(TransferDescriptor, Legal) {
  EXPECT_EQ(show(checkedTransfer(nullptr)), "");
  EXPECT_EQ(show(checkedTransfer([](TransferDesc& d, SlotSet& s) {
              d.extent = {0, 0}, d.stride[1] = 0, d.step = {2, 3, 1, 1, 1};
              s = s | SlotSet{Slot::Extent0, Slot::Extent1, Slot::Stride1, Slot::View};
            })),
            "");
  // The largest tile.
  EXPECT_EQ(show(checkedTransfer([](TransferDesc& d, SlotSet&) { d.tile = {16384, 1}; })), "");
  for (uint8_t rank = 1; rank <= kMaxRank; ++rank) {
    EXPECT_EQ(show(checkedTransfer([&](TransferDesc& d, SlotSet& s) {
                d.rank = rank;
                s = SlotSet{Slot::Dst, Slot::Src};
                for (unsigned i = 0; i < kMaxRank; ++i) {
                  const bool used = i < rank;
                  d.extent[i] = used ? 10 : 0;
                  d.stride[i] = !used ? 0 : i == 0 ? 4 : 40;
                  d.tile[i] = used ? 2 : 0;
                  if (used) s.add(coordinateSlot(i));
                }
              })),
              "");
  }
}

}  // namespace
}  // namespace mtlc::ir
