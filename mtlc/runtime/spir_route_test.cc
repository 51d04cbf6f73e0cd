#include "mtlc/runtime/spir_route.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace mtlc::runtime {
namespace {

uint32_t head(uint32_t words, uint32_t op) { return words << 16 | op; }

// A kernel with a fence of device scope, acquire and release over both memories (0x308), and an
// atomic addition through a generic pointer; by the SPIR-V specification's opcode numbers.
std::vector<uint32_t> module() {
  return {
      0x07230203,
      0x00010000,
      0,
      100,
      0,  // The header.
      head(2, 17),
      6,  // OpCapability Kernel
      head(4, 15),
      6,
      20,
      'k',  // OpEntryPoint Kernel %20 "k"
      head(3, 5),
      20,
      'k',  // OpName %20 "k"
      head(2, 19),
      1,  // OpTypeVoid
      head(4, 21),
      2,
      32,
      0,  // OpTypeInt 32
      head(4, 32),
      3,
      8,
      2,  // OpTypePointer Generic
      head(4, 33),
      4,
      1,
      3,  // OpTypeFunction
      head(4, 43),
      2,
      5,
      1,  // OpConstant %5 = 1
      head(4, 43),
      2,
      6,
      0x308,  // OpConstant %6
      head(5, 54),
      1,
      20,
      0,
      4,  // OpFunction
      head(3, 55),
      3,
      21,
      head(2, 248),
      22,  // OpLabel
      head(3, 225),
      5,
      6,  // OpMemoryBarrier %5 %6
      head(7, 234),
      2,
      23,
      21,
      5,
      6,
      5,  // OpAtomicIAdd
      head(1, 253),
      head(1, 56),  // OpReturn, OpFunctionEnd
  };
}

std::multimap<uint32_t, std::vector<uint32_t>> instructions(const std::vector<uint32_t>& words) {
  std::multimap<uint32_t, std::vector<uint32_t>> result;
  for (size_t at = 5; at < words.size(); at += words[at] >> 16) {
    result.insert(
        {words[at] & 0xFFFF, {words.begin() + at + 1, words.begin() + at + (words[at] >> 16)}});
  }
  return result;
}

TEST(SpirRoute, Fence) {
  const absl::StatusOr<std::vector<uint32_t>> words = adaptForSpir(module());
  ASSERT_TRUE(words.ok()) << words.status();
  auto found = instructions(*words);
  EXPECT_EQ(found.count(225), 0u);
  ASSERT_EQ(found.count(57), 1u);  // OpFunctionCall
  const std::vector<uint32_t> call = found.find(57)->second;
  std::map<uint32_t, uint32_t> constants;
  for (auto [at, end] = found.equal_range(43); at != end; ++at) {
    constants[at->second[1]] = at->second[2];
  }
  ASSERT_EQ(call.size(), 6u);
  EXPECT_EQ(call[0], 1u);
  EXPECT_EQ(constants[call[3]], 3u);  // CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE
  EXPECT_EQ(constants[call[4]], 4u);  // memory_order_acq_rel
  EXPECT_EQ(constants[call[5]], 2u);  // memory_scope_device
  // Declared before the kernel, and imported.
  EXPECT_EQ(found.find(54)->second[1], call[2]);
  EXPECT_EQ(found.find(71)->second[0], call[2]);
  EXPECT_EQ(found.find(17)->second[0], 5u);  // Linkage
  EXPECT_GT((*words)[3], call[2]);
}

TEST(SpirRoute, GenericAtomic) {
  const absl::StatusOr<std::vector<uint32_t>> words = adaptForSpir(module());
  ASSERT_TRUE(words.ok()) << words.status();
  auto found = instructions(*words);
  ASSERT_EQ(found.count(122), 1u);  // OpGenericCastToPtr
  const std::vector<uint32_t> cast = found.find(122)->second;
  EXPECT_EQ(cast[2], 21u);
  EXPECT_EQ(found.find(234)->second[2], cast[1]);
  bool known = false;
  for (auto [at, end] = found.equal_range(32); at != end; ++at) {
    known |= at->second == std::vector<uint32_t>{cast[0], 5, 2};  // CrossWorkgroup, of u32
  }
  EXPECT_TRUE(known);
}

TEST(SpirRoute, OthersStay) {
  std::vector<uint32_t> words = module();
  words.erase(words.end() - 12, words.end() - 2);  // The barrier and the atomic.
  const absl::StatusOr<std::vector<uint32_t>> same = adaptForSpir(words);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(*same, words);
}

TEST(SpirRoute, WhatIsNoModule) {
  EXPECT_FALSE(adaptForSpir({}).ok());
  const std::vector<uint32_t> whole = module();
  for (size_t n = 0; n < whole.size(); ++n) {
    (void)adaptForSpir(std::span(whole).first(n));
  }
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<uint32_t> words = whole;
    for (int k = 0; k < 3; ++k) {
      uint32_t& word = words[5 + random() % (words.size() - 5)];
      word = random() % 2 == 0 ? head(1 + random() % 8, random() % 256) : random() % 40;
    }
    (void)adaptForSpir(words);
  }
  std::vector<uint32_t> words = whole;
  words[5] = 0;  // An instruction of no words.
  const absl::Status status = adaptForSpir(words).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "malformed SPIR-V: the instruction at word 5");
}

}  // namespace
}  // namespace mtlc::runtime
