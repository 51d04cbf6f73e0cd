#include "mtlc/support/npy.h"

#include <gtest/gtest.h>

namespace mtlc {
namespace {

using std::string_literals::operator""s;

std::string file(char major, const std::string& header, const std::string& data) {
  std::string f = "\x93NUMPY"s + major + '\0';
  f += static_cast<char>(header.size() & 0xFF);
  f += static_cast<char>(header.size() >> 8);
  if (major >= 2) f += "\0\0"s;
  return f + header + data;
}
std::string floats(const std::string& header) {
  return file(1, header, "\0\0\x80\x3f\0\0\0\x40"s);  // 1, 2
}

// Bytes as NumPy 2.4 writes them: numpy.save(f, numpy.arange(6, dtype='f4').reshape(2, 3)).
const std::string kNumpyFile =
    "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"s +
    std::string(58, ' ') + "\n\0\0\0\0\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40\0\0\xa0\x40"s;

TEST(Npy, ReadsAndWritesWhatNumpyWrites) {
  auto array = parseNpy(kNumpyFile);
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(array->type, DType::F32);
  EXPECT_EQ(array->shape, (std::vector<uint64_t>{2, 3}));
  ASSERT_EQ(array->data.size(), 24u);
  EXPECT_EQ(array->data[22], 0xA0);
  EXPECT_EQ(formatNpy(array->type, array->shape, array->data), kNumpyFile);
}

TEST(Npy, WritesShapesAsNumpyDoes) {
  // The headers of numpy.save for shapes (), (2,), (0, 5).
  auto header = [](std::initializer_list<uint64_t> shape) {
    std::vector<uint8_t> data(2);
    std::string f = formatNpy(DType::Bool, std::vector<uint64_t>(shape), data);
    EXPECT_EQ((f.size() - 2) % 64, 0u);
    return f.substr(10, f.find('}') - 9);
  };
  EXPECT_EQ(header({}), "{'descr': '|b1', 'fortran_order': False, 'shape': (), }");
  EXPECT_EQ(header({2}), "{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }");
  EXPECT_EQ(header({0, 5}), "{'descr': '|b1', 'fortran_order': False, 'shape': (0, 5), }");
}

TEST(Npy, ReadsAllVersionsKeyOrdersAndSpellings) {
  const std::string plain = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
  for (const std::string& f : {
           floats(plain),
           file(2, plain, "\0\0\x80\x3f\0\0\0\x40"s),
           file(3, plain, "\0\0\x80\x3f\0\0\0\x40"s),
           floats("{\"shape\":(2L,),\"fortran_order\":False,\"descr\":\"=f4\"}"),
           floats("{'shape': (2), 'descr': '<f4', 'fortran_order': True}   \n"),
           floats("{'shape': (1, 2), 'descr': '<f4', 'fortran_order': False}"),
       }) {
    auto array = parseNpy(f);
    ASSERT_TRUE(array.ok()) << array.status() << "\n" << f;
    EXPECT_EQ(array->data.size(), 8u);
  }
}

TEST(Npy, ReadsEmptyArraysAndScalars) {
  auto empty = parseNpy(file(1, "{'descr': '<u2', 'fortran_order': False, 'shape': (5, 0), }", ""));
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_EQ(empty->shape, (std::vector<uint64_t>{5, 0}));
  auto scalar =
      parseNpy(file(1, "{'descr': '|i1', 'fortran_order': False, 'shape': (), }", "\x07"));
  ASSERT_TRUE(scalar.ok()) << scalar.status();
  EXPECT_TRUE(scalar->shape.empty());
  EXPECT_EQ(scalar->data, std::vector<uint8_t>{7});
}

TEST(Npy, RefusesWhatItCannotHold) {
  struct Bad {
    std::string file;
    absl::StatusCode code;
    const char* says;
  };
  const auto malformed = absl::StatusCode::kInvalidArgument;
  const auto unsupported = absl::StatusCode::kUnimplemented;
  for (const Bad& b : std::initializer_list<Bad>{
           {"", malformed, "does not start"},
           {"\x93NUMPY", malformed, "cut short"},
           {"PK\x03\x04", malformed, "does not start"},
           {file(4, "{}", ""), unsupported, "4.0"},
           {"\x93NUMPY\x02\0\xff\xff"s, malformed, "cut short"},
           {"\x93NUMPY\x02\0\xff\xff\xff\xff"s, malformed, "header is cut short"},
           {"\x93NUMPY\x01\0\x10\0{}"s, malformed, "header is cut short"},
           {floats("{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}"), unsupported, ">f4"},
           {floats("{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}"), unsupported, "<c8"},
           {floats("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}"), unsupported, "|O"},
           {floats("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}"), malformed,
            "'descr'"},
           {floats("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2)}"), unsupported,
            "Fortran"},
           {floats("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}"), malformed,
            "cut short"},
           {floats("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}"), malformed, "more"},
           {floats("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}"),
            malformed, "cut short"},
           {floats("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}"),
            malformed, "'shape'"},
           {floats("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}"), malformed,
            "'shape'"},
           {floats("{'descr': '<f4', 'fortran_order': False}"), malformed, "lacks"},
           {floats("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}"),
            malformed, "'descr'"},
           {floats("{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}"), malformed, "order"},
           {floats("{'descr': '<f4' 'fortran_order': False, 'shape': (2,)}"), malformed, "comma"},
           {floats("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x"), malformed,
            "goes on"},
           {floats("{'descr': '<f4', 'fortran_order': False, 'shape': (2,"), malformed, "'shape'"},
           {floats("(1, 2)"), malformed, "dictionary"},
           {floats("{'x': (" + std::string(40000, '(') + "}"), malformed, "'x'"},
       }) {
    auto array = parseNpy(b.file);
    ASSERT_FALSE(array.ok()) << b.says;
    EXPECT_EQ(array.status().code(), b.code) << array.status();
    EXPECT_NE(std::string(array.status().message()).find(b.says), std::string::npos)
        << array.status() << " lacks " << b.says;
  }
}

TEST(Npy, EveryPrefixIsRefused) {
  for (size_t n = 0; n < kNumpyFile.size(); ++n) {
    EXPECT_FALSE(parseNpy(std::string_view(kNumpyFile).substr(0, n)).ok()) << n;
  }
}

}  // namespace
}  // namespace mtlc
