#include "mtlc/support/arg_spec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "mtlc/support/file_io.h"
#include "mtlc/support/npy.h"
#include "mtlc/support/random.h"

namespace mtlc {
namespace {

template <typename T>
std::vector<T> elements(const ArgSpec& spec) {
  std::vector<T> values(spec.bytes.size() / sizeof(T));
  std::memcpy(values.data(), spec.bytes.data(), values.size() * sizeof(T));
  return values;
}
ArgSpec parsed(std::string_view text) {
  auto spec = parseArgSpec(text);
  EXPECT_TRUE(spec.ok()) << text << ": " << spec.status();
  return spec.ok() ? *spec : ArgSpec();
}
std::string path(const char* name) { return testing::TempDir() + "/" + name; }

// The reference outputs of SplitMix64 for seed 1234567 (published with the algorithm).
TEST(Random, SplitMix64Reference) {
  SplitMix64 random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317u);
  EXPECT_EQ(random.next(), 3203168211198807973u);
  EXPECT_EQ(random.next(), 9817491932198370423u);
  EXPECT_EQ(random.next(), 4593380528125082431u);
  EXPECT_EQ(random.next(), 16408922859458223821u);
  for (int i = 0; i < 1000; ++i) EXPECT_LT(random.below(7), 7u);
}

TEST(ArgSpec, Scalars) {
  ArgSpec spec = parsed("i32:-5");
  EXPECT_EQ(spec.kind, ArgSpec::Kind::Scalar);
  EXPECT_EQ(spec.type, DType::I32);
  EXPECT_EQ(spec.bits, 0xFFFFFFFB);
  EXPECT_EQ(parsed("f32:0.5").bits, 0x3F000000u);
  EXPECT_EQ(parsed("bool:true").bits, 1u);
}

TEST(ArgSpec, TensorMaps) {
  ArgSpec spec = parsed(
      "tensormap:2:f16:dims=100,50,7:strides=208,10400:box=32,8,2:elem_strides=1,2,1:swizzle=64:"
      "fill=nan");
  EXPECT_EQ(spec.kind, ArgSpec::Kind::TensorMap);
  const TensorMapSpec& map = spec.tensorMap;
  EXPECT_EQ(map.buffer, 2u);
  EXPECT_EQ(map.type, "f16");
  EXPECT_EQ(map.dims, (std::vector<uint64_t>{100, 50, 7}));
  EXPECT_EQ(map.strides, (std::vector<uint64_t>{208, 10400}));
  EXPECT_EQ(map.box, (std::vector<uint64_t>{32, 8, 2}));
  EXPECT_EQ(map.elementStrides, (std::vector<uint64_t>{1, 2, 1}));
  EXPECT_EQ(map.swizzle, 64u);
  EXPECT_TRUE(map.nanFill);
  EXPECT_TRUE(parsed("tensormap:0:u8:dims=16:box=16").tensorMap.strides.empty());
  EXPECT_EQ(parsed("workgroup:4096").kind, ArgSpec::Kind::Workgroup);
  EXPECT_EQ(parsed("workgroup:4096").bits, 4096u);
  EXPECT_FALSE(parseArgSpec("workgroup:-1").ok());
  EXPECT_FALSE(parseArgSpec("workgroup:").ok());
  for (const char* bad :
       {"tensormap:0", "tensormap:x:u8:dims=16:box=16", "tensormap:0:u8:dims=16:box=16,2",
        "tensormap:0:u8:dims=16,4:box=16,2", "tensormap:0:u8:dims=16:box=16:swizzle=48",
        "tensormap:0:u8:dims=a:box=16", "tensormap:0:u8:dims=16:box=16:depth=2",
        "tensormap:0:u8:dims=16:box=16:elem_strides=1,1", "tensormap:0:u8:dims=:box=16"}) {
    EXPECT_FALSE(parseArgSpec(bad).ok()) << bad;
  }
}

TEST(ArgSpec, SimpleGenerators) {
  ArgSpec spec = parsed("buf:i16:5:iota");
  EXPECT_EQ(spec.kind, ArgSpec::Kind::Buffer);
  EXPECT_EQ(spec.shape, std::vector<uint64_t>{5});
  EXPECT_TRUE(spec.initialised);
  EXPECT_EQ(elements<int16_t>(spec), (std::vector<int16_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(elements<uint8_t>(parsed("buf:u8:300:iota"))[299], 43);
  EXPECT_EQ(elements<float>(parsed("buf:f32:3:iota")), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(elements<double>(parsed("buf:f64:2:const=-1.5")), (std::vector<double>{-1.5, -1.5}));
  EXPECT_EQ(elements<uint32_t>(parsed("buf:u32:2:zeros")), (std::vector<uint32_t>{0, 0}));
  EXPECT_TRUE(parsed("buf:u32:0:zeros").bytes.empty());
}

TEST(ArgSpec, PoisonIsMarkedAndRecognisable) {
  ArgSpec ints = parsed("buf:i32:2:poison");
  EXPECT_FALSE(ints.initialised);
  EXPECT_EQ(elements<uint32_t>(ints), (std::vector<uint32_t>{0xCDCDCDCD, 0xCDCDCDCD}));
  ArgSpec floats = parsed("buf:f32:2:poison");
  EXPECT_FALSE(floats.initialised);
  EXPECT_TRUE(std::isnan(elements<float>(floats)[1]));
}

// Uniform and normal against a second computation from the published SplitMix64 sequence.
TEST(ArgSpec, RandomGeneratorsFollowTheirDefinition) {
  EXPECT_EQ(elements<uint64_t>(parsed("buf:u64:2:uniform=1234567")),
            (std::vector<uint64_t>{6457827717110365317u, 3203168211198807973u}));
  EXPECT_EQ(elements<uint8_t>(parsed("buf:u8:2:uniform=1234567"))[0], 6457827717110365317u & 0xFF);
  double first = elements<double>(parsed("buf:f64:1:uniform=1234567"))[0];
  EXPECT_EQ(first, 2 * (6457827717110365317u >> 11) * 0x1p-53 - 1);
  for (uint8_t b : elements<uint8_t>(parsed("buf:bool:100:uniform=3"))) EXPECT_LE(b, 1);

  std::vector<double> normal = elements<double>(parsed("buf:f64:20000:normal=7"));
  double sum = 0, squares = 0;
  for (double x : normal) {
    EXPECT_LE(std::abs(x), 6);
    sum += x;
    squares += x * x;
  }
  // Mean 0 and variance 1, five standard errors allowed.
  EXPECT_NEAR(sum / 20000, 0, 5 / std::sqrt(20000.0));
  EXPECT_NEAR(squares / 20000, 1, 5 * std::sqrt(2.0 / 20000));
  // One rounding to float32, of the same numbers.
  EXPECT_EQ(elements<float>(parsed("buf:f32:10:normal=7"))[9], static_cast<float>(normal[9]));
  EXPECT_NE(normal[0], elements<double>(parsed("buf:f64:1:normal=8"))[0]);
}

TEST(ArgSpec, Files) {
  const std::vector<uint64_t> shape = {2, 2};
  const std::vector<uint8_t> data = {1, 0, 2, 0, 3, 0, 4, 0};
  ASSERT_TRUE(writeFile(path("a.npy"), formatNpy(DType::U16, shape, data)).ok());
  ArgSpec spec = parsed("buf:" + path("a.npy"));
  EXPECT_EQ(spec.type, DType::U16);
  EXPECT_EQ(spec.shape, shape);
  EXPECT_EQ(spec.bytes, data);
  ASSERT_TRUE(writeFile(path("raw"), "\x01\x02\x03").ok());
  ArgSpec raw = parsed("bytes:" + path("raw"));
  EXPECT_EQ(raw.kind, ArgSpec::Kind::Bytes);
  EXPECT_EQ(raw.bytes, (std::vector<uint8_t>{1, 2, 3}));
  // A relative path may look like a type.
  EXPECT_FALSE(parseArgSpec("buf:u8").ok());
  EXPECT_NE(std::string(parseArgSpec("buf:u8").status().message()).find("cannot read"),
            std::string::npos);
}

TEST(ArgSpec, RefusesTheRest) {
  for (const char* bad : {"",
                          "i32",
                          "i32:",
                          "i33:1",
                          "buf:",
                          "buf:i32:",
                          "buf:i32:4",
                          "buf:i32:4:",
                          "buf:i32:x:zeros",
                          "buf:i32:-1:zeros",
                          "buf:i32:4:zero",
                          "buf:i32:4:zeros=1",
                          "buf:i32:4:iota=1",
                          "buf:i32:4:const",
                          "buf:i32:4:const=",
                          "buf:i32:4:const=1.5",
                          "buf:u8:4:const=256",
                          "buf:i32:4:normal=1",
                          "buf:f32:4:normal",
                          "buf:f32:4:uniform=x",
                          "buf:f32:4:uniform=-1",
                          "buf:u8:18446744073709551615:zeros",
                          "buf:u64:2305843009213693952:zeros",
                          "buf:/nowhere/x.npy",
                          "bytes:/nowhere/x",
                          "bytes:",
                          "buf:i32:4:poison=0"}) {
    EXPECT_FALSE(parseArgSpec(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace mtlc
