#include "mtlc/runtime/spirv_kernels.h"

#include <gtest/gtest.h>

#include <random>

namespace mtlc::runtime {
namespace {

uint32_t head(uint32_t words, uint32_t op) { return words << 16 | op; }

// A kernel "k" of a global pointer, an i16, a vector of three f32, and the arena; written from the
// SPIR-V specification's opcode numbers.
std::vector<uint32_t> module() {
  return {
      0x07230203,  0x00010000, 0,   100,         0,         // The header.
      head(2, 17), 6,                                       // OpCapability Kernel
      head(4, 15), 6,          20,  'k',                    // OpEntryPoint Kernel %20 "k"
      head(3, 5),  30,         'p',                         // OpName %30 "p"
      head(2, 19), 1,                                       // OpTypeVoid
      head(4, 21), 2,          8,   0,                      // OpTypeInt 8
      head(4, 21), 3,          16,  0,                      // OpTypeInt 16
      head(3, 22), 4,          32,                          // OpTypeFloat 32
      head(4, 23), 5,          4,   3,                      // OpTypeVector f32 3
      head(4, 32), 6,          5,   2,                      // OpTypePointer CrossWorkgroup i8
      head(4, 32), 7,          4,   2,                      // OpTypePointer Workgroup i8
      head(7, 33), 8,          1,   6,           3, 5,  7,  // OpTypeFunction
      head(5, 54), 1,          20,  0,           8,         // OpFunction
      head(3, 55), 6,          30,  head(3, 55), 3, 31,     // OpFunctionParameter
      head(3, 55), 5,          32,  head(3, 55), 7, 33, head(1, 56),  // OpFunctionEnd
  };
}

TEST(SpirvKernels, Parameters) {
  absl::StatusOr<std::vector<SpirvKernel>> kernels = readSpirvKernels(module());
  ASSERT_TRUE(kernels.ok()) << kernels.status();
  ASSERT_EQ(kernels->size(), 1u);
  const SpirvKernel& k = kernels->front();
  EXPECT_EQ(k.name, "k");
  ASSERT_EQ(k.params.size(), 4u);
  EXPECT_EQ(k.params[0].kind, KernelParam::Kind::GlobalPointer);
  EXPECT_EQ(k.params[0].name, "p");
  EXPECT_EQ(k.params[1].kind, KernelParam::Kind::Value);
  EXPECT_EQ(k.params[1].bytes, 2u);
  EXPECT_EQ(k.params[2].bytes, 16u);  // Room for four.
  EXPECT_EQ(k.params[3].kind, KernelParam::Kind::WorkgroupPointer);
}

TEST(SpirvKernels, WhatIsNoModule) {
  EXPECT_FALSE(readSpirvKernels({}).ok());
  std::vector<uint32_t> words = module();
  words[0] = 0x03022307;  // The other byte order.
  EXPECT_FALSE(readSpirvKernels(words).ok());
  words = module();
  words[5] = 0;  // An instruction of no words.
  EXPECT_FALSE(readSpirvKernels(words).ok());
  words = module();
  words[9] = 99;  // An entry point that is no function.
  EXPECT_FALSE(readSpirvKernels(words).ok());
}

// Cut short and changed at random: an answer or an error, never more than the words there are.
TEST(SpirvKernels, Hostile) {
  const std::vector<uint32_t> whole = module();
  for (size_t n = 0; n < whole.size(); ++n) {
    // On the heap with nothing behind it, for the sanitizers.
    std::vector<uint32_t> part(whole.begin(), whole.begin() + n);
    part.shrink_to_fit();
    (void)readSpirvKernels(part);
  }
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::vector<uint32_t> words = whole;
    for (int changes = 1 + static_cast<int>(random() % 4); changes > 0; --changes) {
      uint32_t& word = words[5 + random() % (words.size() - 5)];
      word = random() % 2 != 0 ? random() : word ^ (1u << random() % 32);
    }
    refused += !readSpirvKernels(words).ok();
  }
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 20000);
}

}  // namespace
}  // namespace mtlc::runtime
