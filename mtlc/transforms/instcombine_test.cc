// instcombine against evaluation: whatever it does to an expression, every input must give the same
// bits. The expressions are all operations with all 8-bit constants, divisions by many constants at
// all widths, and random ones.

#include <gtest/gtest.h>

#include <random>

#include "mtlc/ir/builder.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"
#include "mtlc/transforms/expression_testing.h"
#include "mtlc/transforms/fold.h"
#include "mtlc/transforms/known_bits.h"
#include "mtlc/transforms/pass.h"

namespace mtlc::transforms {
namespace {

using ir::Opcode;
using ir::Type;
using ir::Value;

void optimize(ir::Function& f) {
  PassContext context;
  runInstcombine(f, context);
  runDce(f, context);
}

size_t countOps(const ir::Function& f) {
  size_t n = 0;
  for (ir::Operation& op : f.entry()->ops()) n += op.opcode() != Opcode::Const;
  return n;
}

bool contains(const ir::Function& f, Opcode opcode) {
  for (ir::Operation& op : f.entry()->ops()) {
    if (op.opcode() == opcode) return true;
  }
  return false;
}

std::vector<Opcode> opsOf(std::initializer_list<ir::Form> forms, ir::TypeClass least) {
  std::vector<Opcode> ops;
  for (int i = 0; i < ir::kOpcodeCount; ++i) {
    const ir::OpInfo& info = ir::opInfo(static_cast<Opcode>(i));
    bool integer = info.typeClass == ir::TypeClass::Int ||
                   info.typeClass == ir::TypeClass::IntOrBool ||
                   info.typeClass == ir::TypeClass::IntOrPtr ||
                   info.typeClass == ir::TypeClass::IntOrBoolOrPtr;
    if (integer != (least == ir::TypeClass::Int)) continue;
    if (std::find(forms.begin(), forms.end(), info.form) != forms.end()) {
      ops.push_back(static_cast<Opcode>(i));
    }
  }
  return ops;
}

// One function `f(x) = build(x)`; `check` gets it before and after.
class OneArgument {
 public:
  OneArgument(Type type, Type result) : module_(sources_, "t"), b_(module_) {
    f_ = module_.addFunction({.name = "f", .result = result, .params = {type}});
    b_.setInsertEnd(f_->addBlock());
  }
  ir::Function& function() { return *f_; }
  ir::Builder& builder() { return b_; }
  Value* x() { return f_->param(0); }
  std::string text() { return ir::print(module_); }

 private:
  SourceManager sources_;
  ir::Module module_;
  ir::Builder b_;
  ir::Function* f_;
};

TEST(Instcombine, EveryBinaryOperationWithEvery8BitConstant) {
  for (Opcode o : opsOf({ir::Form::Binary, ir::Form::Compare}, ir::TypeClass::Int)) {
    const bool isCompare = ir::opInfo(o).form == ir::Form::Compare;
    for (uint64_t k = 0; k < 256; ++k) {
      for (bool left : {false, true}) {
        OneArgument t(ir::kI8, isCompare ? ir::kI1 : ir::kI8);
        Value* c = t.builder().constBits(ir::kI8, k);
        Value* a = left ? c : t.x();
        Value* b = left ? t.x() : c;
        t.builder().ret(isCompare ? t.builder().compare(o, a, b) : t.builder().binary(o, a, b));
        uint64_t expected[256];
        for (uint64_t x = 0; x < 256; ++x) {
          uint64_t pair[] = {left ? k : x, left ? x : k};
          expected[x] = *foldOperation(o, ir::kI8, ir::kI8, 0, pair);
        }
        optimize(t.function());
        for (uint64_t x = 0; x < 256; ++x) {
          uint64_t in[] = {x};
          ASSERT_EQ(evaluate(t.function(), in), expected[x])
              << ir::opInfo(o).mnemonic << " x=" << x << " k=" << k << " left=" << left << "\n"
              << t.text();
        }
      }
    }
  }
}

// Pairs of operations with constants, which is where most rules apply.
TEST(Instcombine, PairsOfOperationsWith8BitConstants) {
  const std::vector<Opcode> ops = opsOf({ir::Form::Binary, ir::Form::Compare}, ir::TypeClass::Int);
  const uint64_t constants[] = {0, 1, 2, 3, 4, 7, 8, 10, 15, 0x7F, 0x80, 0x81, 0xF0, 0xFE, 0xFF};
  for (Opcode first : ops) {
    if (ir::opInfo(first).form == ir::Form::Compare) continue;
    for (Opcode second : ops) {
      const bool isCompare = ir::opInfo(second).form == ir::Form::Compare;
      for (uint64_t k1 : constants) {
        for (uint64_t k2 : constants) {
          for (int shape = 0; shape < 3; ++shape) {
            OneArgument t(ir::kI8, isCompare ? ir::kI1 : ir::kI8);
            ir::Builder& b = t.builder();
            Value* c1 = b.constBits(ir::kI8, k1);
            Value* c2 = b.constBits(ir::kI8, k2);
            // (x o k1) o k2, (k1 o x) o k2, (x o k1) o x
            Value* inner = shape == 1 ? b.binary(first, c1, t.x()) : b.binary(first, t.x(), c1);
            Value* right = shape == 2 ? t.x() : c2;
            if (shape == 2 && k2 != 0) continue;
            b.ret(isCompare ? b.compare(second, inner, right) : b.binary(second, inner, right));
            uint64_t expected[8];
            const uint64_t inputs[8] = {0, 1, 0x7F, 0x80, 0xFF, 5, 0xA5, 0x3C};
            for (int i = 0; i < 8; ++i) expected[i] = *evaluate(t.function(), {&inputs[i], 1});
            optimize(t.function());
            for (int i = 0; i < 8; ++i) {
              ASSERT_EQ(evaluate(t.function(), {&inputs[i], 1}), expected[i])
                  << ir::opInfo(first).mnemonic << " " << k1 << ", " << ir::opInfo(second).mnemonic
                  << " " << k2 << " shape " << shape << " x=" << inputs[i] << "\n"
                  << t.text();
            }
          }
        }
      }
    }
  }
}

// Builds one function per call of `make`, and compares its values on `inputs` before and after.
template <typename Make>
void expectSameValues(Type type, Type result, std::span<const uint64_t> inputs, Make make) {
  OneArgument t(type, result);
  t.builder().ret(make(t.builder(), t.x()));
  std::vector<std::optional<uint64_t>> expected;
  for (uint64_t x : inputs) expected.push_back(evaluate(t.function(), {&x, 1}));
  const std::string original = t.text();
  optimize(t.function());
  for (size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_EQ(evaluate(t.function(), inputs.subspan(i, 1)), expected[i])
        << "x = " << inputs[i] << "\n"
        << original << "\n"
        << t.text();
  }
}

std::vector<uint64_t> all8Bit() {
  std::vector<uint64_t> v(256);
  for (uint64_t i = 0; i < 256; ++i) v[i] = i;
  return v;
}

// Zeros, units, infinities, NaN of each kind, subnormal and extreme numbers, with both signs.
std::vector<uint64_t> floatCorners(Type type) {
  const FloatKind kind = floatKind(type);
  const uint64_t inf = scalar::infinity(kind);
  std::vector<uint64_t> v;
  for (double d : {0.0, 1.0, 2.0, 0.5, 1.5, 2.5, 3.0, 0x1p-14, 100.25, 0x1p15, 0x1p127}) {
    v.push_back(scalar::fromDouble(kind, d));
  }
  for (uint64_t bits : {inf, inf - 1, scalar::canonicalNan(kind), inf + 1,
                        scalar::canonicalNan(kind) + 1, uint64_t{1}, uint64_t{3}}) {
    v.push_back(bits);
  }
  const size_t n = v.size();
  for (size_t i = 0; i < n; ++i) v.push_back(scalar::fneg(kind, v[i]));
  return v;
}

std::vector<Opcode> floatOps(ir::Form form) {
  std::vector<Opcode> ops;
  for (int i = 0; i < ir::kOpcodeCount; ++i) {
    const ir::OpInfo& info = ir::opInfo(static_cast<Opcode>(i));
    if (info.typeClass == ir::TypeClass::Float && info.form == form &&
        !info.has(ir::OpTrait::Math)) {
      ops.push_back(static_cast<Opcode>(i));
    }
  }
  return ops;
}

TEST(Instcombine, PairsOfFloatOperations) {
  for (Type type : {ir::kF16, ir::kF32}) {
    const std::vector<uint64_t> corners = floatCorners(type);
    for (Opcode first : floatOps(ir::Form::Binary)) {
      for (uint64_t k1 : corners) {
        // x o k1 alone, which may not meet a canonical NaN, and of an x that is the result of
        // arithmetic.
        for (bool arithmetic : {false, true}) {
          auto make = [&](ir::Builder& b, Value* x) {
            if (arithmetic) x = b.binary(Opcode::FMinNan, x, x);
            return b.binary(first, x, b.constBits(type, k1));
          };
          expectSameValues(type, type, corners, make);
          expectSameValues(type, type, corners, [&](ir::Builder& b, Value* x) {
            if (arithmetic) x = b.binary(Opcode::FMaxNan, x, x);
            return b.binary(first, b.constBits(type, k1), x);
          });
        }
        for (Opcode second : floatOps(ir::Form::Unary)) {
          expectSameValues(type, type, corners, [&](ir::Builder& b, Value* x) {
            return b.unary(second, b.binary(first, x, b.constBits(type, k1)));
          });
          expectSameValues(type, type, corners, [&](ir::Builder& b, Value* x) {
            return b.binary(first, b.unary(second, x), b.constBits(type, k1));
          });
        }
      }
      for (Opcode second : floatOps(ir::Form::Unary)) {
        for (int shape = 0; shape < 4; ++shape) {
          expectSameValues(type, type, corners, [&](ir::Builder& b, Value* x) {
            Value* y = b.unary(second, x);
            return shape == 0   ? b.binary(first, y, x)
                   : shape == 1 ? b.binary(first, x, y)
                   : shape == 2 ? b.binary(first, y, y)
                                : b.binary(first, y, b.unary(second, y));
          });
        }
      }
    }
    for (Opcode o : floatOps(ir::Form::Compare)) {
      for (uint64_t k : corners) {
        for (Opcode inner : floatOps(ir::Form::Unary)) {
          expectSameValues(type, ir::kI1, corners, [&](ir::Builder& b, Value* x) {
            return b.compare(o, b.unary(inner, x), b.constBits(type, k));
          });
        }
      }
      expectSameValues(type, ir::kI1, corners,
                       [&](ir::Builder& b, Value* x) { return b.compare(o, x, x); });
    }
  }
}

TEST(Instcombine, FmaWithConstants) {
  const std::vector<uint64_t> corners = floatCorners(ir::kF32);
  const uint64_t some[] = {f32Bits(0.0f), f32Bits(-0.0f), f32Bits(1.0f), f32Bits(-1.0f),
                           f32Bits(3.0f), 0x7F800000,     0x7FC00001};
  for (uint64_t k1 : some) {
    for (uint64_t k2 : some) {
      for (int shape = 0; shape < 5; ++shape) {
        expectSameValues(ir::kF32, ir::kF32, corners, [&](ir::Builder& b, Value* x) {
          Value* c1 = b.constBits(ir::kF32, k1);
          Value* c2 = b.constBits(ir::kF32, k2);
          Value* minus = b.unary(Opcode::FNeg, x);
          switch (shape) {
            case 0:
              return b.fma(x, c1, c2);
            case 1:
              return b.fma(c1, x, c2);
            case 2:
              return b.fma(minus, c1, x);
            case 3:
              return b.fma(minus, minus, c2);
            default:
              return b.fma(c1, c2, x);
          }
        });
      }
    }
  }
}

TEST(Instcombine, PairsOfConversions) {
  const Type types[] = {ir::kI1,  ir::kI8,   ir::kI16, ir::kI32, ir::kI64,
                        ir::kF16, ir::kBF16, ir::kF32, ir::kF64};
  const Opcode casts[] = {Opcode::Trunc, Opcode::SExt,  Opcode::ZExt,
                          Opcode::FConv, Opcode::FToSI, Opcode::FToUI,
                          Opcode::SIToF, Opcode::UIToF, Opcode::Bitcast};
  auto allowed = [](Opcode o, Type a, Type b) {
    switch (o) {
      case Opcode::Trunc:
        return a.isInt() && b.isInt() && a.bits() > b.bits();
      case Opcode::SExt:
      case Opcode::ZExt:
        return a.isIntOrBool() && b.isInt() && a.bits() < b.bits();
      case Opcode::FConv:
        return a.isFloat() && b.isFloat() && a != b;
      case Opcode::FToSI:
      case Opcode::FToUI:
        return a.isFloat() && b.isInt();
      case Opcode::SIToF:
      case Opcode::UIToF:
        return a.isIntOrBool() && b.isFloat();
      default:
        return a.bits() == b.bits() && a != b;
    }
  };
  std::mt19937_64 random(3);
  for (Type from : types) {
    std::vector<uint64_t> inputs;
    if (from.isFloat()) inputs = floatCorners(from);
    for (uint64_t v :
         {0ull, 1ull, 0x7Full, 0x80ull, 0xFFull, 0x8000ull, 0xFFFFull, 0x7FFFFFFFull, 0x80000000ull,
          0xFFFFFFFFull, 0x8000000000000000ull, ~0ull, 0x0102030405060708ull}) {
      inputs.push_back(v & from.mask());
    }
    for (int i = 0; i < 30; ++i) inputs.push_back(random() & from.mask());
    for (Opcode o1 : casts) {
      for (Type mid : types) {
        if (!allowed(o1, from, mid)) continue;
        for (Opcode o2 : casts) {
          for (Type to : types) {
            if (!allowed(o2, mid, to)) continue;
            expectSameValues(from, to, inputs, [&](ir::Builder& b, Value* x) {
              return b.cast(o2, b.cast(o1, x, mid), to);
            });
          }
        }
      }
    }
  }
}

TEST(Instcombine, SelectsOfComparedValues) {
  const std::vector<uint64_t> inputs = all8Bit();
  const uint64_t constants[] = {0, 1, 2, 5, 0x7E, 0x7F, 0x80, 0x81, 0xFE, 0xFF};
  for (Opcode o : opsOf({ir::Form::Compare}, ir::TypeClass::Int)) {
    for (uint64_t k1 : constants) {
      for (uint64_t k2 : constants) {
        for (int shape = 0; shape < 6; ++shape) {
          expectSameValues(ir::kI8, ir::kI8, inputs, [&](ir::Builder& b, Value* x) {
            Value* c1 = b.constBits(ir::kI8, k1);
            Value* c2 = b.constBits(ir::kI8, k2);
            Value* minus = b.unary(Opcode::Neg, x);
            Value* c = b.compare(o, x, c1);
            switch (shape) {
              case 0:
                return b.select(c, x, c2);
              case 1:
                return b.select(c, c2, x);
              case 2:
                return b.select(c, x, minus);
              case 3:
                return b.select(c, minus, x);
              case 4:
                return b.select(c, c1, c2);
              default: {  // A comparison of a select.
                Value* d = b.compare(o, b.select(c, c1, c2), c2);
                return b.select(d, x, c2);
              }
            }
          });
        }
      }
    }
  }
}

// The narrow sum may wrap: then its extension is not the sum of the extensions.
TEST(Instcombine, IndicesKeepTheirWidth) {
  const std::vector<uint64_t> inputs = all8Bit();
  for (Opcode ext : {Opcode::SExt, Opcode::ZExt}) {
    for (uint64_t k = 0; k < 256; ++k) {
      for (int range = 0; range < 4; ++range) {
        expectSameValues(ir::kI8, ir::kI64, inputs, [&](ir::Builder& b, Value* x) {
          Value* seven = b.constBits(ir::kI8, 0x7F);
          Value* one = b.constBits(ir::kI8, 1);
          if (range == 1) x = b.binary(Opcode::And, x, seven);
          if (range == 2) x = b.binary(Opcode::LShr, x, one);
          if (range == 3) x = b.binary(Opcode::AShr, x, one);
          Value* i = b.cast(ext, b.add(x, b.constBits(ir::kI8, k)), ir::kI64);
          Value* p = b.ptrAdd(b.nullPtr(ir::Space::Global), i, ir::kF32);
          return b.cast(Opcode::PtrToInt, p, ir::kI64);
        });
      }
    }
  }
}

TEST(KnownBits, AgreeWithTheValues) {
  size_t known = 0;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    SourceManager sources;
    ir::Module module(sources, "random");
    ir::Function& f = *makeRandomExpression(module, seed + 1000000);
    for (uint32_t k = 0; k < 8; ++k) {
      std::optional<Evaluation> all = evaluateAll(f, randomInputs(f, seed * 8 + k));
      ASSERT_TRUE(all.has_value());
      for (const auto& [value, bits] : all->values) {
        if (!value->type().isIntOrBool()) continue;
        KnownBits b = knownBits(value);
        ASSERT_EQ(b.width, value->type().bits());
        ASSERT_EQ(b.zeros & b.ones, 0u);
        ASSERT_EQ(bits & b.zeros, 0u) << ir::print(*value->def()) << "\n" << ir::print(f);
        ASSERT_EQ(bits & b.ones, b.ones) << ir::print(*value->def()) << "\n" << ir::print(f);
        const int64_t s = ir::signExtend(bits, b.width);
        ASSERT_TRUE(b.smin() <= s && s <= b.smax()) << ir::print(*value->def());
        if (!ir::asConst(value)) known += b.zeros != 0 || b.ones != 0;
      }
    }
  }
  EXPECT_GT(known, 10000u);  // It does know something.
}

// Quotient and remainder from first principles, not from the folder: 128-bit arithmetic of the
// compiler.
uint64_t expectedDivision(Opcode o, unsigned w, uint64_t x, uint64_t k) {
  const uint64_t mask = w == 64 ? ~uint64_t{0} : (uint64_t{1} << w) - 1;
  const bool isSigned = o == Opcode::SDiv || o == Opcode::SRem;
  __int128 a = isSigned ? static_cast<__int128>(ir::signExtend(x, w)) : static_cast<__int128>(x);
  __int128 b = isSigned ? static_cast<__int128>(ir::signExtend(k, w)) : static_cast<__int128>(k);
  __int128 q = b == 0 ? -1 : a / b;
  __int128 r = b == 0 ? a : a % b;
  return static_cast<uint64_t>(o == Opcode::SDiv || o == Opcode::UDiv ? q : r) & mask;
}

TEST(Instcombine, DivisionByConstantsAtAllWidths) {
  std::mt19937_64 random(7);
  for (Type type : {ir::kI8, ir::kI16, ir::kI32, ir::kI64}) {
    const unsigned w = type.bits();
    std::vector<uint64_t> divisors;
    for (uint64_t k = 0; k <= 130; ++k) {
      divisors.push_back(k);
      divisors.push_back(~k);
    }
    for (unsigned s = 0; s < w; ++s) {
      for (int d = -1; d <= 1; ++d) {
        divisors.push_back((uint64_t{1} << s) + static_cast<uint64_t>(d));
        divisors.push_back((uint64_t{3} << s) + static_cast<uint64_t>(d));
        divisors.push_back(uint64_t{0} - (uint64_t{1} << s) + static_cast<uint64_t>(d));
      }
    }
    for (uint64_t k : {641ull, 6700417ull, 1000000007ull, 274177ull, 1000000000000ull})
      divisors.push_back(k);
    for (int i = 0; i < 60; ++i) divisors.push_back(random() >> (random() % 64));
    for (Opcode o : {Opcode::SDiv, Opcode::UDiv, Opcode::SRem, Opcode::URem}) {
      for (uint64_t k : divisors) {
        k &= type.mask();
        OneArgument t(type, type);
        Value* c = t.builder().constBits(type, k);
        t.builder().ret(t.builder().binary(o, t.x(), c));
        optimize(t.function());
        ASSERT_FALSE(contains(t.function(), o)) << t.text();
        std::vector<uint64_t> inputs = {0,
                                        1,
                                        2,
                                        3,
                                        type.mask(),
                                        type.mask() >> 1,
                                        (type.mask() >> 1) + 1,
                                        (type.mask() >> 1) + 2,
                                        255,
                                        256};
        for (uint64_t q : {1ull, 2ull, 50ull, 0x5555ull, 0x7FFFFFFFull, 0xFFFFFFFFull}) {
          for (int d = -1; d <= 1; ++d) {
            inputs.push_back(k * q + static_cast<uint64_t>(d));
            inputs.push_back(uint64_t{0} - k * q + static_cast<uint64_t>(d));
          }
        }
        for (int i = 0; i < 24; ++i) inputs.push_back(random() >> (random() % 64));
        // The largest multiples, where an inexact reciprocal shows first.
        if (k > 1) {
          uint64_t top = type.mask() / k * k;
          for (uint64_t v : {top, top - 1, top / 2 / k * k, top / 2 / k * k - 1})
            inputs.push_back(v);
        }
        for (uint64_t x : inputs) {
          x &= type.mask();
          uint64_t in[] = {x};
          ASSERT_EQ(evaluate(t.function(), in), expectedDivision(o, w, x, k))
              << ir::opInfo(o).mnemonic << " i" << w << " " << x << " / " << k << "\n"
              << t.text();
        }
      }
    }
  }
}

TEST(Instcombine, DivisionCasesFromFaultReports) {
  struct Case {
    int64_t a, b, q, r;
  };
  for (Case k : {Case{-7, 2, -3, -1}, Case{7, -2, -3, 1}, Case{-7, -2, 3, -1}, Case{-8, 2, -4, 0},
                 Case{-1, 2, 0, -1}, Case{-1, 1024, 0, -1}, Case{110, 55, 2, 0}}) {
    for (Opcode o : {Opcode::SDiv, Opcode::SRem}) {
      OneArgument t(ir::kI32, ir::kI32);
      Value* c = t.builder().constInt(ir::kI32, k.b);
      t.builder().ret(t.builder().binary(o, t.x(), c));
      optimize(t.function());
      uint64_t in[] = {static_cast<uint32_t>(k.a)};
      EXPECT_EQ(evaluate(t.function(), in), static_cast<uint32_t>(o == Opcode::SDiv ? k.q : k.r));
    }
  }
}

class RandomExpressions : public testing::TestWithParam<int> {};

TEST_P(RandomExpressions, KeepTheirBits) {
  // 250 expressions a shard, 48 inputs each; a failure prints the seed.
  size_t before = 0, after = 0;
  for (uint32_t i = 0; i < 250; ++i) {
    const uint32_t seed = static_cast<uint32_t>(GetParam()) * 1000 + i;
    SourceManager sources;
    ir::Module module(sources, "random");
    ir::Function& f = *makeRandomExpression(module, seed);
    DiagnosticEngine diags;
    ASSERT_TRUE(ir::verify(module, diags)) << renderHuman(diags, sources) << ir::print(module);
    const std::string original = ir::print(module);
    std::vector<std::vector<uint64_t>> inputs;
    std::vector<uint64_t> expected;
    for (uint32_t k = 0; k < 48; ++k) {
      inputs.push_back(randomInputs(f, seed * 64 + k));
      std::optional<uint64_t> v = evaluate(f, inputs.back());
      ASSERT_TRUE(v.has_value()) << original;
      expected.push_back(*v);
    }
    before += countOps(f);
    optimize(f);
    after += countOps(f);
    ASSERT_TRUE(ir::verify(module, diags)) << renderHuman(diags, sources) << ir::print(module);
    for (size_t k = 0; k < inputs.size(); ++k) {
      ASSERT_EQ(evaluate(f, inputs[k]), expected[k]) << "seed " << seed << "\n"
                                                     << original << "\n"
                                                     << ir::print(module);
    }
    // A second run finds nothing more to do.
    std::string once = ir::print(module);
    PassContext context;
    EXPECT_EQ(runInstcombine(f, context), Change::None) << "seed " << seed << "\n"
                                                        << once << ir::print(module);
  }
  EXPECT_LT(after, before);
}

INSTANTIATE_TEST_SUITE_P(Shards, RandomExpressions, testing::Range(0, 16));

TEST(Fold, HonoursTargetDependentFlags) {
  const uint64_t one = f32Bits(1.0f), subnormal = 1, tiny = f32Bits(0x1p-126f),
                 half = f32Bits(0.5f);
  auto fold = [](Opcode o, uint8_t flags, std::initializer_list<uint64_t> v) {
    return foldOperation(o, ir::kF32, ir::kF32, flags, {v.begin(), v.size()});
  };
  EXPECT_EQ(fold(Opcode::FAdd, 0, {one, one}), f32Bits(2.0f));
  EXPECT_EQ(fold(Opcode::FMul, 0, {tiny, half}), 0x00400000u);
  EXPECT_EQ(fold(Opcode::FMul, ir::kFlushSubnormals, {one, half}), half);
  EXPECT_EQ(fold(Opcode::FMul, ir::kFlushSubnormals, {tiny, half}), std::nullopt);
  EXPECT_EQ(fold(Opcode::FAdd, ir::kFlushSubnormals, {subnormal, one}), std::nullopt);
  EXPECT_EQ(fold(Opcode::Exp2, ir::kApprox, {one}), std::nullopt);
  EXPECT_EQ(fold(Opcode::Exp2, 0, {one}), f32Bits(2.0f));
}

TEST(Fold, LeavesWhatIsNoFunctionOfBits) {
  const uint64_t two[] = {0, 0};
  for (Opcode o : {Opcode::Load, Opcode::Store, Opcode::PtrAdd, Opcode::Call, Opcode::ThreadId,
                   Opcode::AllocPrivate, Opcode::Barrier, Opcode::PtrToInt, Opcode::SpaceCast}) {
    EXPECT_EQ(foldOperation(o, ir::kI64, ir::kI64, 0, two), std::nullopt);
  }
}

}  // namespace
}  // namespace mtlc::transforms
