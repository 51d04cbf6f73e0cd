#include "tools/mtlc-run/arguments.h"

#include <gtest/gtest.h>

namespace mtlc::run {
namespace {

Parameter parameter(Parameter::Kind kind, uint32_t bytes, std::optional<DType> exact = {}) {
  return {kind, bytes, "p", "T", exact};
}
const Parameter kPointer = parameter(Parameter::Kind::Pointer, 8);

absl::Status match(const std::string& spec, const Parameter& parameter) {
  Arguments arguments;
  EXPECT_TRUE(arguments.parse({spec}).ok()) << spec;
  return arguments.match("k", {parameter});
}

TEST(Arguments, ScalarsFitByKindAndWidth) {
  using Kind = Parameter::Kind;
  struct Case {
    Parameter parameter;
    std::vector<const char*> good, bad;
  };
  for (const Case& c : std::initializer_list<Case>{
           {parameter(Kind::Bool, 1), {"bool:1"}, {"u8:1", "i8:1", "u32:1"}},
           {parameter(Kind::Integer, 1), {"i8:1", "u8:1"}, {"bool:1", "i16:1"}},
           {parameter(Kind::Integer, 4), {"i32:1", "u32:1"}, {"i64:1", "f32:1", "i16:1"}},
           {parameter(Kind::Integer, 8), {"i64:1", "u64:1"}, {"f64:1", "i32:1"}},
           {parameter(Kind::Float, 2), {"f16:1", "bf16:1", "u16:1"}, {"f32:1", "i16:1"}},
           {parameter(Kind::Float, 2, DType::BF16), {"bf16:1", "u16:1"}, {"f16:1"}},
           {parameter(Kind::Float, 4), {"f32:1"}, {"f64:1", "u32:1", "i32:1"}},
           {parameter(Kind::Bytes, 4), {"i32:1", "f32:1", "u32:1"}, {"i64:1", "f16:1"}},
           {kPointer, {"u64:0"}, {"i64:0", "u32:0", "f64:0"}},
       }) {
    for (const char* spec : c.good) EXPECT_TRUE(match(spec, c.parameter).ok()) << spec;
    for (const char* spec : c.bad) EXPECT_FALSE(match(spec, c.parameter).ok()) << spec;
  }
}

TEST(Arguments, BuffersFitPointers) {
  auto to = [](DType type) { return parameter(Parameter::Kind::Pointer, 8, type); };
  EXPECT_TRUE(match("buf:f32:4:zeros", kPointer).ok());
  EXPECT_TRUE(match("buf:f32:4:zeros", to(DType::F32)).ok());
  EXPECT_TRUE(match("buf:f16:4:zeros", to(DType::U16)).ok());
  EXPECT_TRUE(match("buf:bf16:4:zeros", to(DType::U16)).ok());
  EXPECT_TRUE(match("buf:u8:4:zeros", to(DType::Bool)).ok());
  EXPECT_TRUE(match("buf:bool:4:zeros", to(DType::Bool)).ok());
  EXPECT_TRUE(match("buf:f64:4:zeros", parameter(Parameter::Kind::Bytes, 8)).ok());
  EXPECT_FALSE(match("buf:f64:4:zeros", parameter(Parameter::Kind::Bytes, 4)).ok());
  EXPECT_FALSE(match("buf:f64:4:zeros", to(DType::F32)).ok());
  EXPECT_FALSE(match("buf:u32:4:zeros", to(DType::I32)).ok());
  EXPECT_FALSE(match("buf:i16:4:zeros", to(DType::U16)).ok());
  EXPECT_FALSE(match("buf:bool:4:zeros", to(DType::U8)).ok());
  EXPECT_FALSE(match("buf:f32:4:zeros", parameter(Parameter::Kind::Integer, 8)).ok());
}

TEST(Arguments, WorkgroupMemoryFitsPointersToIt) {
  Parameter workgroup = parameter(Parameter::Kind::Workgroup, 8);
  EXPECT_TRUE(match("workgroup:64", workgroup).ok());
  EXPECT_FALSE(match("workgroup:64", kPointer).ok());
  EXPECT_FALSE(match("buf:f32:4:zeros", workgroup).ok());
  EXPECT_FALSE(match("u64:64", workgroup).ok());
}

TEST(Arguments, MessagesNameTheArgument) {
  Arguments arguments;
  ASSERT_TRUE(arguments.parse({"i32:1", "buf:f64:2:zeros"}).ok());
  absl::Status status = arguments.match("k", {parameter(Parameter::Kind::Integer, 4)});
  EXPECT_EQ(status.message(), "kernel 'k' takes 1 arguments, and there are 2");
  Parameter typed = {Parameter::Kind::Pointer, 8, "out", "float32*", DType::F32};
  status = arguments.match("k", {parameter(Parameter::Kind::Integer, 4), typed});
  EXPECT_EQ(status.message(),
            "argument 1, 'buf:f64:2:zeros', is parameter 'out' of type float32*: its elements are "
            "f32, not f64");
  Arguments bad;
  status = bad.parse({"i32:1", "i32:x"});
  EXPECT_EQ(status.message().substr(0, 21), "argument 1, 'i32:x': ");
}

TEST(Arguments, ResultsAreBuffersOfEnoughElements) {
  Arguments arguments;
  ASSERT_TRUE(arguments.parse({"i32:1", "buf:f64:2:zeros"}).ok());
  EXPECT_TRUE(arguments.checkResult({1, std::nullopt, ""}).ok());
  EXPECT_TRUE(arguments.checkResult({1, 2, ""}).ok());
  EXPECT_FALSE(arguments.checkResult({1, 3, ""}).ok());
  EXPECT_FALSE(arguments.checkResult({0, std::nullopt, ""}).ok());
  EXPECT_FALSE(arguments.checkResult({2, std::nullopt, ""}).ok());
}

TEST(Arguments, MoveToLaysOutBytes) {
  Arguments arguments;
  ASSERT_TRUE(arguments.parse({"i32:-2", "buf:i16:3:iota", "bool:1", "buf:u8:2:poison"}).ok());
  Request request;
  arguments.moveTo(request, {{3, 1, ""}, {1, std::nullopt, "x"}, {1, 1, ""}});
  ASSERT_EQ(request.arguments.size(), 4u);
  EXPECT_EQ(request.arguments[0].bytes, (std::vector<uint8_t>{0xFE, 0xFF, 0xFF, 0xFF}));
  EXPECT_TRUE(request.arguments[1].isBuffer);
  EXPECT_EQ(request.arguments[2].bytes, std::vector<uint8_t>{1});
  EXPECT_EQ(request.arguments[3].buffer, 1u);
  ASSERT_EQ(request.buffers.size(), 2u);
  EXPECT_EQ(request.buffers[0].bytes, (std::vector<uint8_t>{0, 0, 1, 0, 2, 0}));
  EXPECT_EQ(request.buffers[0].readBack, 6u);
  EXPECT_EQ(request.buffers[1].readBack, 1u);
  EXPECT_TRUE(request.buffers[0].initialised);
  EXPECT_FALSE(request.buffers[1].initialised);
}

TEST(Arguments, ParsesResultRequests) {
  auto out = parseOut("2:dir/a:b.npy");
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->index, 2u);
  EXPECT_EQ(out->file, "dir/a:b.npy");
  auto print = parsePrint("1:16");
  ASSERT_TRUE(print.ok());
  EXPECT_EQ(print->count, 16u);
  EXPECT_EQ(parsePrint("1")->count, std::nullopt);
  for (const char* bad : {"", "x", ":a", "1:", "1", "-1:a", "0x1:a"}) {
    EXPECT_FALSE(parseOut(bad).ok()) << bad;
  }
  for (const char* bad : {"", "x", ":3", "1:", "1:x", "-1", "1:-1"}) {
    EXPECT_FALSE(parsePrint(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace mtlc::run
