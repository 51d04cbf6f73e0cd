#include "mtlc/transforms/expand_math.h"

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "gtest/gtest.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"
#include "mtlc/support/math/eval.h"
#include "mtlc/support/math/test_inputs.h"
#include "mtlc/support/scalar_ops.h"

namespace mtlc::transforms {
namespace {

using ir::Opcode;
using math::MathFn;

struct Parsed {
  SourceManager sources;
  std::unique_ptr<ir::Module> module;
};

std::unique_ptr<Parsed> parse(const std::string& functions) {
  std::string text = "module \"test\"\n" + functions;
  auto parsed = std::make_unique<Parsed>();
  DiagnosticEngine diags;
  parsed->module = ir::parseModule(parsed->sources, parsed->sources.add("test.mtir", text), diags);
  EXPECT_TRUE(parsed->module != nullptr) << text;
  return parsed;
}

void expectValid(const ir::Module& module) {
  DiagnosticEngine diags;
  EXPECT_TRUE(ir::verify(module, diags)) << ir::print(module);
}

FloatKind floatKind(ir::Type type) {
  return static_cast<FloatKind>(static_cast<int>(type.kind()) -
                                static_cast<int>(ir::TypeKind::F16));
}

// Runs one function of scalar operations and branches.
class Evaluator {
 public:
  // Which bits a NaN has that an operation makes is unspecified: with `allOnes` every one is set,
  // as on NVIDIA hardware, but for the sign.
  explicit Evaluator(bool allOnes = false) : allOnes_(allOnes) {}

  uint64_t run(const ir::Function& f, std::vector<uint64_t> args) {
    const ir::Block* block = f.entry();
    for (;;) {
      for (unsigned i = 0; i < block->argCount(); ++i) values_[block->arg(i)] = args[i];
      const ir::Operation* op = block->front();
      for (; !op->isTerminator(); op = op->next())
        values_[op->result()] = payload(*op, compute(*op));
      if (op->opcode() == Opcode::Ret) return get(op->operand(0));
      const ir::Successor& edge =
          op->successor(op->opcode() == Opcode::Br && get(op->operand(0)) == 0 ? 1 : 0);
      args.clear();
      for (unsigned i = 0; i < edge.argCount(); ++i) {
        args.push_back(get(op->operand(edge.firstArg() + i)));
      }
      block = edge.block();
    }
  }

 private:
  uint64_t get(const ir::Value* v) { return values_.at(v); }

  uint64_t payload(const ir::Operation& op, uint64_t result) const {
    ir::Type type = op.resultType();
    bool movesBits = op.opcode() == Opcode::Const || op.opcode() == Opcode::Select ||
                     op.opcode() == Opcode::Bitcast || op.opcode() == Opcode::FNeg ||
                     op.opcode() == Opcode::FAbs;
    if (!allOnes_ || movesBits || !type.isFloat() || !scalar::isNan(floatKind(type), result)) {
      return result;
    }
    return scalar::mask(type.bits() - 1);
  }

  uint64_t compute(const ir::Operation& op) {
    using namespace scalar;  // NOLINT: one name per opcode
    if (op.opcode() == Opcode::Const) return op.constBits();
    uint64_t a = get(op.operand(0));
    uint64_t b = op.operandCount() > 1 ? get(op.operand(1)) : 0;
    uint64_t c = op.operandCount() > 2 ? get(op.operand(2)) : 0;
    ir::Type type = op.operand(0)->type();
    unsigned w = type.bits();
    FloatKind k = type.isFloat() ? floatKind(type) : FloatKind::F32;
    ir::Type to = op.resultType();
    switch (op.opcode()) {
      case Opcode::Add:
        return add(w, a, b);
      case Opcode::Sub:
        return sub(w, a, b);
      case Opcode::Mul:
        return mul(w, a, b);
      case Opcode::And:
        return a & b;
      case Opcode::Or:
        return a | b;
      case Opcode::Xor:
        return a ^ b;
      case Opcode::Shl:
        return shl(w, a, b);
      case Opcode::LShr:
        return lshr(w, a, b);
      case Opcode::AShr:
        return ashr(w, a, b);
      case Opcode::UMulHi:
        return umulhi(w, a, b);
      case Opcode::CmpEq:
        return a == b;
      case Opcode::CmpNe:
        return a != b;
      case Opcode::CmpUlt:
        return a < b;
      case Opcode::CmpSlt:
        return icmp(IntPredicate::Slt, w, a, b);
      case Opcode::FAdd:
        return fadd(k, a, b);
      case Opcode::FSub:
        return fsub(k, a, b);
      case Opcode::FMul:
        return fmul(k, a, b);
      case Opcode::FDiv:
        return fdiv(k, a, b);
      case Opcode::Fma:
        return scalar::fma(k, a, b, c);
      case Opcode::FSqrt:
        return fsqrt(k, a);
      case Opcode::FNeg:
        return fneg(k, a);
      case Opcode::FAbs:
        return scalar::fabs(k, a);
      case Opcode::FTrunc:
        return ftrunc(k, a);
      case Opcode::FMinNan:
        return fminNan(k, a, b);
      case Opcode::FMaxNan:
        return fmaxNan(k, a, b);
      case Opcode::FCmpOeq:
        return fcmp(FloatPredicate::Oeq, k, a, b);
      case Opcode::FCmpOlt:
        return fcmp(FloatPredicate::Olt, k, a, b);
      case Opcode::FCmpOle:
        return fcmp(FloatPredicate::Ole, k, a, b);
      case Opcode::FCmpOgt:
        return fcmp(FloatPredicate::Ogt, k, a, b);
      case Opcode::FCmpOge:
        return fcmp(FloatPredicate::Oge, k, a, b);
      case Opcode::FCmpUne:
        return fcmp(FloatPredicate::Une, k, a, b);
      case Opcode::Select:
        return a != 0 ? b : c;
      case Opcode::Trunc:
        return wrap(to.bits(), a);
      case Opcode::ZExt:
        return a;
      case Opcode::Bitcast:
        return a;
      case Opcode::FConv:
        return fconv(k, floatKind(to), a);
      case Opcode::FToSI:
        return ftosi(k, to.bits(), a);
      case Opcode::SIToF:
        return sitof(floatKind(to), w, a);
      default:
        break;
    }
    ADD_FAILURE() << "operation without a case: " << op.info().mnemonic;
    return 0;
  }

  bool allOnes_;
  std::unordered_map<const ir::Value*, uint64_t> values_;
};

std::string functionText(MathFn fn, std::string_view type, std::string_view flags = "") {
  const math::MathFnInfo& info = math::mathFnInfo(fn);
  std::string t(type), f(flags), name(info.name);
  return "func @f(%x: " + t + ", %y: " + t + ") -> " + t + " {\n^entry:\n  %r = " + name + f +
         (info.arguments == 2 ? " %x, %y" : " %x") + " : " + t + "\n  ret %r\n}\n";
}

constexpr std::string_view kTypeNames[] = {"f16", "bf16", "f32", "f64"};

template <typename Bits, typename Float>
void expectSameBits(MathFn fn, FloatKind kind, int count) {
  auto parsed = parse(functionText(fn, kTypeNames[static_cast<int>(kind)]));
  ASSERT_EQ(expandMath(*parsed->module), 1u);
  expectValid(*parsed->module);
  math::Inputs<Bits, Float> inputs(fn, 3);
  Evaluator evaluator;
  const ir::Function& f = *parsed->module->findFunction("f");
  for (int i = 0; i < count; ++i) {
    Bits a, b;
    inputs.next(static_cast<uint64_t>(i), &a, &b);
    uint64_t x = a, y = b;
    if (scalar::floatBits(kind) == 16) {
      x &= 0xFFFF;
      y = y >> 8 & 0xFFFF;
    }
    uint64_t want = math::evalMathBits(fn, kind, x, y);
    ASSERT_EQ(evaluator.run(f, {x, y}), want)
        << math::mathFnInfo(fn).name << std::hex << " " << x << " " << y;
  }
}

// The expanded operations and the host's evaluation give the same bits.
TEST(ExpandMath, SameBitsAsTheHost) {
  for (int i = 0; i < math::kMathFnCount; ++i) {
    auto fn = static_cast<MathFn>(i);
    expectSameBits<uint32_t, float>(fn, FloatKind::F32, 12000);
    expectSameBits<uint64_t, double>(fn, FloatKind::F64, 40000);
    expectSameBits<uint32_t, float>(fn, FloatKind::F16, 2000);
    expectSameBits<uint32_t, float>(fn, FloatKind::BF16, 2000);
  }
}

// No result depends on the payload of a NaN: code that takes the bits of a value which may be NaN
// must not turn them into a number.
TEST(ExpandMath, NanPayloadsDontMatter) {
  const double inf = std::numeric_limits<double>::infinity();
  for (int i = 0; i < math::kMathFnCount; ++i) {
    auto fn = static_cast<MathFn>(i);
    for (FloatKind kind : {FloatKind::F16, FloatKind::BF16, FloatKind::F32, FloatKind::F64}) {
      auto parsed = parse(functionText(fn, kTypeNames[static_cast<int>(kind)]));
      expandMath(*parsed->module);
      const ir::Function& f = *parsed->module->findFunction("f");
      std::vector<uint64_t> values;
      for (double x : {0.0, 0.5, 1.0, 2.5, 100.0, 1e5, inf}) {
        values.push_back(scalar::fromDouble(kind, x));
        values.push_back(scalar::fromDouble(kind, -x));
      }
      uint64_t top = scalar::infinity(kind);
      for (uint64_t nan :
           {top | 1, scalar::canonicalNan(kind), scalar::mask(scalar::floatBits(kind) - 1)}) {
        values.push_back(nan);
        values.push_back(scalar::fneg(kind, nan));
      }
      for (uint64_t x : values) {
        for (uint64_t y : values) {
          if (math::mathFnInfo(fn).arguments == 1 && y != x) continue;
          uint64_t want = math::evalMathBits(fn, kind, x, y);
          uint64_t got = Evaluator(/*allOnes=*/true).run(f, {x, y});
          if (scalar::isNan(kind, want)) {
            EXPECT_TRUE(scalar::isNan(kind, got))
                << math::mathFnInfo(fn).name << std::hex << " " << x << " " << y << " " << got;
          } else {
            EXPECT_EQ(got, want) << math::mathFnInfo(fn).name << std::hex << " " << x << " " << y;
          }
        }
      }
    }
  }
}

unsigned countOps(const ir::Function& f, const std::function<bool(const ir::Operation&)>& wanted) {
  unsigned n = 0;
  for (const ir::Block& block : f.blocks()) {
    for (const ir::Operation& op : block.ops()) n += wanted(op);
  }
  return n;
}
unsigned countOps(const ir::Function& f, Opcode opcode) {
  return countOps(f, [&](const ir::Operation& op) { return op.opcode() == opcode; });
}

// The common path of the functions that kernels use most has to stay short.
TEST(ExpandMath, SizeOfTheExpansion) {
  auto size = [](MathFn fn) {
    auto parsed = parse(functionText(fn, "f32"));
    expandMath(*parsed->module);
    return countOps(*parsed->module->findFunction("f"), [](const ir::Operation& op) {
      return op.opcode() != Opcode::Const && op.opcode() != Opcode::Bitcast && !op.isTerminator();
    });
  };
  EXPECT_LE(size(MathFn::RSqrt), 26u);
  EXPECT_LE(size(MathFn::Exp), 20u);
  EXPECT_LE(size(MathFn::Exp2), 19u);
  EXPECT_LE(size(MathFn::Tanh), 22u);
}

TEST(ExpandMath, ExpIsStraightLineCode) {
  for (MathFn fn : {MathFn::Exp, MathFn::Exp2, MathFn::Tanh}) {
    auto parsed = parse(functionText(fn, "f32"));
    expandMath(*parsed->module);
    EXPECT_EQ(countOps(*parsed->module->findFunction("f"), Opcode::Br), 0u);
  }
}

TEST(ExpandMath, ApproximationsStay) {
  auto parsed = parse(functionText(MathFn::Exp, "f32", " approx"));
  EXPECT_EQ(expandMath(*parsed->module), 0u);
  EXPECT_EQ(countOps(*parsed->module->findFunction("f"), Opcode::Exp), 1u);
}

class FakeTarget : public TargetInfo {
 public:
  explicit FakeTarget(Opcode native) : native_(native) {}
  std::string_view name() const override { return "fake"; }
  bool isNative(const ir::Operation& op) const override { return op.opcode() == native_; }
  unsigned subgroupSize() const override { return 32; }

 private:
  Opcode native_;
};

TEST(ExpandMath, TheTargetDecides) {
  auto parsed = parse(functionText(MathFn::Exp, "f32", " approx"));
  FakeTarget withExp(Opcode::Exp), withLog(Opcode::Log);
  EXPECT_EQ(expandMath(*parsed->module, &withExp), 0u);
  // `approx` permits an approximation; it does not demand one.
  EXPECT_EQ(expandMath(*parsed->module, &withLog), 1u);
  EXPECT_EQ(countOps(*parsed->module->findFunction("f"), Opcode::Exp), 0u);
  expectValid(*parsed->module);
}

// sin, cos and tan of one value: one reduction, and the results in the right places.
TEST(ExpandMath, TrigonometryOfOneValueIsShared) {
  auto parsed = parse(R"(
func @f(%x: f32) -> f32 {
^entry:
  %s = sin %x : f32
  %a = fadd %s, %s : f32
  %c = cos %x : f32
  %t = tan %x : f32
  %b = fmul %a, %c : f32
  %d = fadd %b, %t : f32
  ret %d
}
)");
  EXPECT_EQ(expandMath(*parsed->module), 3u);
  expectValid(*parsed->module);
  const ir::Function& f = *parsed->module->findFunction("f");
  EXPECT_EQ(countOps(f, Opcode::Br), 1u);
  Evaluator evaluator;
  for (float x : {0.0f, 1.0f, -2.5f, 4e4f, 1e6f, -3e30f, 1e-40f}) {
    uint64_t bits = f32Bits(x);
    auto eval = [&](MathFn fn) { return math::evalMathBits(fn, FloatKind::F32, bits, 0); };
    uint64_t s = eval(MathFn::Sin);
    uint64_t want = scalar::fadd(
        FloatKind::F32,
        scalar::fmul(FloatKind::F32, scalar::fadd(FloatKind::F32, s, s), eval(MathFn::Cos)),
        eval(MathFn::Tan));
    EXPECT_EQ(evaluator.run(f, {bits}), want) << x;
  }
}

// Chains, several blocks, values that live across an expansion, and one in a loop.
TEST(ExpandMath, WithinOtherCode) {
  auto parsed = parse(R"(
func @f(%x: f32, %n: i32) -> f32 {
^entry:
  %0 = const 0 : i32
  %1 = const 1 : i32
  jump ^loop(%0, %x)
^loop(%i: i32, %v: f32):
  %l = log %v : f32
  %e = exp %l : f32
  %s = sin %e : f32
  %w = pow %e, %s : f32
  %next = add %i, %1 : i32
  %more = cmp.slt %next, %n : i32
  br %more, ^loop(%next, %w), ^exit
^exit:
  %z = fadd %w, %l : f32
  ret %z
}
)");
  EXPECT_EQ(expandMath(*parsed->module), 4u);
  expectValid(*parsed->module);
  auto eval = [&](MathFn fn, uint64_t a, uint64_t b = 0) {
    return math::evalMathBits(fn, FloatKind::F32, a, b);
  };
  Evaluator evaluator;
  for (float x : {0.5f, 3.0f, 1e-42f, 1e20f}) {
    uint64_t v = f32Bits(x), log = 0;
    for (int i = 0; i < 5; ++i) {
      log = eval(MathFn::Log, v);
      uint64_t e = eval(MathFn::Exp, log);
      v = eval(MathFn::Pow, e, eval(MathFn::Sin, e));
    }
    EXPECT_EQ(evaluator.run(*parsed->module->findFunction("f"), {f32Bits(x), 5}),
              scalar::fadd(FloatKind::F32, v, log));
  }
}

TEST(ExpandMath, KeepsTheLocation) {
  auto parsed = parse(functionText(MathFn::Log, "f32"));
  ir::Function& f = *parsed->module->findFunction("f");
  SourceLoc loc = f.entry()->front()->loc();
  expandMath(f);
  for (const ir::Block& block : f.blocks()) {
    for (const ir::Operation& op : block.ops()) {
      if (op.opcode() == Opcode::Ret) continue;
      EXPECT_EQ(op.loc(), loc);
    }
  }
}

// Ten thousand expansions that each split the one block.
TEST(ExpandMath, LongBlock) {
  constexpr int kCount = 10000;
  std::string text = "func @f(%v0: f32) -> f32 {\n^entry:\n";
  for (int i = 0; i < kCount; ++i) {
    text += "  %v" + std::to_string(i + 1) + " = log %v" + std::to_string(i) + " : f32\n";
  }
  text += "  ret %v" + std::to_string(kCount) + "\n}\n";
  auto parsed = parse(text);
  EXPECT_EQ(expandMath(*parsed->module), static_cast<size_t>(kCount));
  expectValid(*parsed->module);
  // log log 3 is negative: from the third on everything is NaN.
  EXPECT_EQ(Evaluator().run(*parsed->module->findFunction("f"), {f32Bits(3.0f)}),
            scalar::canonicalNan(FloatKind::F32));
}

}  // namespace
}  // namespace mtlc::transforms
