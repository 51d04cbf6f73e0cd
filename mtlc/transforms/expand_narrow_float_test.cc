#include "mtlc/transforms/expand_narrow_float.h"

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"
#include "mtlc/support/element_format.h"
#include "mtlc/support/scalar_ops.h"
#include "mtlc/transforms/expression_testing.h"

namespace mtlc::transforms {
namespace {

// The formats again, from their definitions (OCP 8-bit Floating Point 1.0, Microscaling 1.0).
struct Format {
  const char* name;
  int exponentBits, mantissaBits, bias;
  int numbers;   // Codes without sign that are numbers; the next ones are infinity and NaN.
  int infinity;  // Its code, or 0.
  int nan;       // Any of its codes, or 0.
  bool isSigned;

  int signBit() const { return 1 << (exponentBits + mantissaBits); }
  double value(int code) const {
    if (mantissaBits == 0) return std::ldexp(1.0, code - bias);
    int exponent = code >> mantissaBits, mantissa = code & ((1 << mantissaBits) - 1);
    if (exponent == 0) return std::ldexp(mantissa, 1 - bias - mantissaBits);
    return std::ldexp(mantissa + (1 << mantissaBits), exponent - bias - mantissaBits);
  }
};
constexpr Format kE4m3{"e4m3", 4, 3, 7, 0x7F, 0, 0x7F, true};
constexpr Format kE5m2{"e5m2", 5, 2, 15, 0x7C, 0x7C, 0x7E, true};
constexpr Format kE2m3{"e2m3", 2, 3, 1, 32, 0, 0, true};
constexpr Format kE3m2{"e3m2", 3, 2, 3, 32, 0, 0, true};
constexpr Format kE2m1{"e2m1", 2, 1, 1, 8, 0, 0, true};
constexpr Format kUe8m0{"ue8m0", 8, 0, 127, 255, 0, 255, false};
constexpr Format kUe4m3{"ue4m3", 4, 3, 7, 0x7F, 0, 0x7F, false};

struct Mode {
  const Format* format;
  bool saturate;
};
constexpr Mode kModes[] = {{&kE4m3, true}, {&kE4m3, false}, {&kE5m2, true}, {&kE5m2, false},
                           {&kE2m3, true}, {&kE3m2, true},  {&kE2m1, true}};

// The code of the nearest number, the even one in the middle; all middles are exact in double.
int encoded(const Format& f, bool saturate, double x) {
  int sign = std::signbit(x) ? f.signBit() : 0;
  if (std::isnan(x)) return f.nan == 0 ? f.numbers - 1 : sign | f.nan;
  double a = std::fabs(x);
  int last = f.numbers - 1;
  // One more number as if the exponent went on: what rounds to it overflows.
  double middle = f.value(last) + (f.value(last) - f.value(last - 1)) / 2;
  if (a > middle || (a == middle && last % 2 == 1)) {
    if (saturate) return sign | last;
    return sign | (f.infinity != 0 ? f.infinity : f.nan);
  }
  int low = 0, high = last;
  while (low < high) {  // The last number that is not above a.
    int at = (low + high + 1) / 2;
    if (f.value(at) <= a) {
      low = at;
    } else {
      high = at - 1;
    }
  }
  if (low < last) {
    double half = (f.value(low) + f.value(low + 1)) / 2;
    if (a > half || (a == half && low % 2 == 1)) ++low;
  }
  return sign | low;
}

struct Expanded {
  SourceManager sources;
  std::unique_ptr<ir::Module> module;
  const ir::Function* function = nullptr;
};

std::unique_ptr<Expanded> expanded(const std::string& operation, const std::string& from,
                                   const std::string& to) {
  std::string text = "module \"m\"\nfunc @f(%x: " + from + ") -> " + to +
                     " {\n^entry:\n  %r = " + operation + "\n  ret %r\n}\n";
  auto e = std::make_unique<Expanded>();
  DiagnosticEngine diags;
  e->module = ir::parseModule(e->sources, e->sources.add("m.mtir", text), diags);
  EXPECT_TRUE(e->module != nullptr) << text;
  EXPECT_EQ(expandNarrowFloat(*e->module), 1u);
  EXPECT_TRUE(ir::verify(*e->module, diags)) << ir::print(*e->module);
  EXPECT_EQ(ir::print(*e->module).find("code"), std::string::npos);
  e->function = e->module->findFunction("f");
  return e;
}

std::unique_ptr<Expanded> encodeFunction(Mode mode, const std::string& type) {
  return expanded(std::string("encode ") + mode.format->name + (mode.saturate ? " sat" : " nosat") +
                      " %x : " + type,
                  type, "i8");
}

void expectEncoded(const Expanded& e, Mode mode, FloatKind kind, uint64_t bits) {
  uint64_t in[] = {bits};
  uint64_t got = *evaluate(*e.function, in);
  double x = scalar::toDouble(kind, bits);
  int want = encoded(*mode.format, mode.saturate, x);
  if (std::isnan(x) && mode.format == &kE5m2) {  // Any of the quiet ones.
    ASSERT_EQ(got | 1, static_cast<uint64_t>(want) | 1) << std::hex << bits;
  } else {
    ASSERT_EQ(got, static_cast<uint64_t>(want))
        << mode.format->name << mode.saturate << std::hex << " " << bits;
  }
  FloatFormat format = elementInfo(*elementFormatFromName(mode.format->name)).format;
  ASSERT_EQ(got, scalar::encode(kind, format, mode.saturate, bits)) << std::hex << bits;
}

TEST(ExpandNarrowFloat, EncodeEveryHalf) {
  for (Mode mode : kModes) {
    auto f16 = encodeFunction(mode, "f16"), bf16 = encodeFunction(mode, "bf16");
    for (uint64_t bits = 0; bits < 0x10000; ++bits) {
      expectEncoded(*f16, mode, FloatKind::F16, bits);
      expectEncoded(*bf16, mode, FloatKind::BF16, bits);
      if (HasFatalFailure()) return;
    }
  }
}

// Every number of the format, every middle and the end of the range, and the next numbers of the
// source on both sides; then random ones, half of them near the range.
TEST(ExpandNarrowFloat, EncodeWords) {
  std::mt19937_64 random(7);
  for (Mode mode : kModes) {
    const Format& f = *mode.format;
    auto f32 = encodeFunction(mode, "f32"), f64 = encodeFunction(mode, "f64");
    auto check32 = [&](uint32_t bits) { expectEncoded(*f32, mode, FloatKind::F32, bits); };
    auto check64 = [&](uint64_t bits) { expectEncoded(*f64, mode, FloatKind::F64, bits); };
    std::vector<double> points = {HUGE_VAL, 0x1p-149, 0x1p-126, 0x1p127, 0x1p1023, 5e-324};
    for (int code = 0; code < f.numbers; ++code) {
      double next =
          code + 1 < f.numbers ? f.value(code + 1) : 2 * f.value(code) - f.value(code - 1);
      points.push_back(f.value(code));
      points.push_back((f.value(code) + next) / 2);
      // Where rounding to f32 first would lead to the middle.
      points.push_back((f.value(code) + next) / 2 * (1 + 0x1p-40));
      points.push_back((f.value(code) + next) / 2 * (1 - 0x1p-40));
    }
    for (double p : points) {
      for (uint64_t sign : {0, 1}) {
        uint32_t w = f32Bits(static_cast<float>(p)) | static_cast<uint32_t>(sign) << 31;
        uint64_t d = f64Bits(p) | sign << 63;
        for (int step = -2; step <= 2; ++step) {
          check32(w + static_cast<uint32_t>(step));
          check64(d + static_cast<uint64_t>(step));
        }
      }
      if (HasFatalFailure()) return;
    }
    for (uint64_t nan : {0x7F800001u, 0x7FC00000u, 0xFFFFFFFFu, 0xFF800001u, 0x7FA00000u}) {
      check32(static_cast<uint32_t>(nan));
      check64(nan << 32);
    }
    check64(0x7FF0000000000001);
    check64(0xFFF00000FFFFFFFF);
    for (int i = 0; i < 20000; ++i) {
      uint64_t r = random();
      check32(static_cast<uint32_t>(r));
      check64(r);
      double near = std::ldexp(static_cast<double>(r >> 11), -53) * f.value(f.numbers - 1) * 1.2;
      if (i % 2) near = std::ldexp(near, -static_cast<int>(r % 24));
      check32(f32Bits(static_cast<float>(near)) | static_cast<uint32_t>(r & 1) << 31);
      check64(f64Bits(near) | (r & 1) << 63);
      if (HasFatalFailure()) return;
    }
  }
}

// Every byte, so that the bits above a code are seen to be ignored.
TEST(ExpandNarrowFloat, DecodeEveryCode) {
  const std::pair<const char*, FloatKind> types[] = {{"f16", FloatKind::F16},
                                                     {"bf16", FloatKind::BF16},
                                                     {"f32", FloatKind::F32},
                                                     {"f64", FloatKind::F64}};
  for (const Format* f : {&kE4m3, &kE5m2, &kE2m3, &kE3m2, &kE2m1, &kUe8m0, &kUe4m3}) {
    for (auto [type, kind] : types) {
      auto e = expanded(std::string("decode ") + f->name + " %x : " + type, "i8", type);
      for (uint64_t byte = 0; byte < 256; ++byte) {
        uint64_t in[] = {byte};
        uint64_t got = *evaluate(*e->function, in);
        int code = static_cast<int>(byte) & (f->signBit() - 1);
        double want = code < f->numbers     ? f->value(code)
                      : code == f->infinity ? HUGE_VAL
                                            : std::nan("");
        if (f->isSigned && (byte & static_cast<uint64_t>(f->signBit())) != 0) want = -want;
        if (std::isnan(want)) {
          ASSERT_TRUE(scalar::isNan(kind, got)) << f->name << type << byte;
        } else {
          // Only ue8m0 has numbers that f16 rounds: to zero at 2^-25, to infinity from 2^16 on.
          if (kind == FloatKind::F16 && want <= 0x1p-25 && want > 0) want = 0;
          if (kind == FloatKind::F16 && want >= 0x1p16) want = HUGE_VAL;
          ASSERT_EQ(f64Bits(scalar::toDouble(kind, got)), f64Bits(want)) << f->name << type << byte;
        }
        ASSERT_EQ(got,
                  scalar::decode(elementInfo(*elementFormatFromName(f->name)).format, kind, byte))
            << f->name << type;
      }
    }
  }
}

class FakeTarget : public TargetInfo {
 public:
  std::string_view name() const override { return "fake"; }
  bool isNative(const ir::Operation& op) const override {
    return op.opcode() == ir::Opcode::Encode;
  }
  unsigned subgroupSize() const override { return 32; }
};

TEST(ExpandNarrowFloat, TheTargetDecides) {
  SourceManager sources;
  DiagnosticEngine diags;
  auto module = ir::parseModule(sources, sources.add("m.mtir", R"(module "m"
func @f(%x: f32) -> f32 {
^entry:
  %c = encode e4m3 sat %x : f32
  %r = decode e4m3 %c : f32
  ret %r
}
)"),
                                diags);
  ASSERT_TRUE(module != nullptr);
  SourceLoc loc = module->findFunction("f")->entry()->front()->next()->loc();
  EXPECT_EQ(expandNarrowFloat(*module, std::make_unique<FakeTarget>().get()), 1u);
  std::string text = ir::print(*module);
  EXPECT_NE(text.find("encode e4m3 sat"), std::string::npos);
  EXPECT_EQ(text.find("decode"), std::string::npos);
  EXPECT_EQ(module->findFunction("f")->entry()->front()->next()->loc(), loc);
}

}  // namespace
}  // namespace mtlc::transforms
