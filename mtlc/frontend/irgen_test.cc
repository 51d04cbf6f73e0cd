// The IR of small sources, as text. Values follow from docs/language.md and docs/ir.md by hand.

#include <string>

#include "gtest/gtest.h"
#include "mtlc/frontend/test_util.h"
#include "mtlc/ir/text.h"

namespace mtlc::frontend {
namespace {

std::string irOf(const std::string& source, const CompileOptions& options = {}) {
  Compiled p(source, options);
  if (!p.module || p.diagnostics.hasErrors()) return p.text();
  std::string out;
  for (const ir::Function& f : p.module->functions()) out += ir::print(f);
  return out;
}

// The operations of the only block of a kernel, without its first lines and `ret`.
std::string body(const std::string& statements,
                 const std::string& params = "a: int32*, n: int32, m: int32") {
  std::string text =
      irOf("import \"std/math\"\nkernel k(" + params + ") {\n" + statements + "\n}\n");
  size_t begin = text.find("^entry:\n");
  size_t end = text.rfind("  ret\n");
  if (begin == std::string::npos || end == std::string::npos) return text;
  begin += 8;
  return text.substr(begin, end - begin);
}

// The constant that `a[0] = expr` stores, with its type; the whole IR if it is no constant.
std::string folded(const std::string& expr, const std::string& type) {
  std::string text = body("a[0] = " + expr, "a: " + type + "*");
  size_t end = text.find('\n');
  return text.starts_with("  %0 = const ") && text.find("  store", end) == end + 1
             ? text.substr(13, end - 13)
             : text;
}

TEST(Compile, SignaturesKeepTheSourcesTypes) {
  SourceManager sources;
  DiagnosticEngine diagnostics;
  FileId file = sources.add("t.mettle", R"(
fn f(x: uint8) -> uint8 { return x }
kernel one(a: float32*, n: uint32, b: bool*, s: int16) { a[0] = (float32)(n + s) }
kernel two() { }
)");
  std::vector<KernelSignature> signatures;
  ASSERT_TRUE(compileMettle(sources, file, diagnostics, {}, &signatures));
  ASSERT_EQ(signatures.size(), 2u);
  EXPECT_EQ(signatures[0].name, "one");
  std::string params;
  for (const auto& p : signatures[0].parameters) params += p.name + ": " + p.type + ", ";
  EXPECT_EQ(params, "a: float32*, n: uint32, b: bool*, s: int16, ");
  EXPECT_EQ(signatures[1].name, "two");
  EXPECT_TRUE(signatures[1].parameters.empty());
}

TEST(IrGen, VectorAdditionFromTheReference) {
  EXPECT_EQ(irOf(R"(kernel vadd(a: float32*, b: float32*, c: float32*, n: int32) {
  var i: int32 = block.x * block_dim.x + thread.x;
  if (i < n) {
    c[i] = a[i] + b[i];
  }
}
)"),
            R"(kernel @vadd(%a: ptr<global>, %b: ptr<global>, %c: ptr<global>, %n: i32) {
^entry:
  %0 = gpu.block_id x : i32
  %1 = gpu.block_dim x : i32
  %2 = mul %0, %1 : i32
  %3 = gpu.thread_id x : i32
  %i = add %2, %3 : i32
  %4 = cmp.slt %i, %n : i32
  br %4, ^then, ^endif
^then:
  %5 = sext %i : i32 to i64
  %6 = ptr.add %c, %5 x f32 : ptr<global>
  %7 = sext %i : i32 to i64
  %8 = ptr.add %a, %7 x f32 : ptr<global>
  %9 = load f32, %8 : ptr<global>
  %10 = sext %i : i32 to i64
  %11 = ptr.add %b, %10 x f32 : ptr<global>
  %12 = load f32, %11 : ptr<global>
  %13 = fadd %9, %12 : f32
  store f32, %13, %6 : ptr<global>
  jump ^endif
^endif:
  ret
}
)");
}

TEST(IrGen, IntegerLiteralsTakeTheFirstTypeThatFits) {
  EXPECT_EQ(folded("2147483647", "int32"), "2147483647 : i32");
  EXPECT_EQ(folded("2147483648 / 1", "int64"), "2147483648 : i64");
  EXPECT_EQ(folded("2147483647 + 1", "int64"), "-2147483648 : i64");  // int32 wraps.
  EXPECT_EQ(folded("-2147483648 - 1", "int64"), "2147483647 : i64");
  EXPECT_EQ(folded("-9223372036854775808", "int64"), "-9223372036854775808 : i64");
  EXPECT_EQ(folded("9223372036854775808 / 2", "uint64"), "4611686018427387904 : i64");
  EXPECT_EQ(folded("-9223372036854775808 / 2", "int64"), "-4611686018427387904 : i64");
  EXPECT_EQ(folded("0xFFFFFFFF / 2", "int64"), "2147483647 : i64");  // uint32.
  EXPECT_EQ(folded("0x7FFFFFFF + 1", "int64"), "-2147483648 : i64");
  EXPECT_EQ(folded("0xFFFFFFFFFFFFFFFF / 2", "uint64"), "9223372036854775807 : i64");
  EXPECT_EQ(folded("010", "int32"), "10 : i32");
  EXPECT_EQ(folded("'a' + 1", "int32"), "98 : i32");
  EXPECT_EQ(folded("0b1010", "int32"), "10 : i32");
}

TEST(IrGen, LiteralExpressionsAreRoundedOnce) {
  // 0.1 + 0.2 in float64 is 0.30000000000000004; rounded to float32 that is 0.3.
  EXPECT_EQ(folded("0.1 + 0.2", "float32"), "0.3 : f32");
  EXPECT_EQ(folded("1 / 3.0", "float32"), "0.33333334 : f32");
  EXPECT_EQ(folded("1 / 3 * 3.0", "float32"), "0.0 : f32");
  EXPECT_EQ(folded("0.1", "float64"), "0.1 : f64");
  // (float64)0.1f is the float32 nearest to 0.1.
  EXPECT_EQ(folded("0.1f", "float64"), "0.10000000149011612 : f64");
  // 16777217 is no float32: in float64 the difference is 1, in float32 it is 0.
  EXPECT_EQ(folded("16777217.0 - 16777216.0", "float32"), "1.0 : f32");
  EXPECT_EQ(folded("16777217.0f - 16777216.0", "float32"), "1.0 : f32");
  EXPECT_EQ(folded("(float32)16777217.0 - (float32)16777216.0", "float32"), "0.0 : f32");
  EXPECT_EQ(folded("-0.0", "float32"), "-0.0 : f32");
  EXPECT_EQ(folded("-(0.5)", "float32"), "-0.5 : f32");
  EXPECT_EQ(folded("1.0 / 0.0", "float32"), "0x7f800000 : f32");
}

TEST(IrGen, FloatLiteralsAdaptToFloat32AndIntegersDoNot) {
  EXPECT_EQ(
      body("a[0] = x * 0.5", "a: float32*, x: float32"),
      "  %0 = const 0.5 : f32\n  %1 = fmul %x, %0 : f32\n  store f32, %1, %a : ptr<global>\n");
  EXPECT_EQ(
      body("a[0] = x * (0.1 + 0.2)", "a: float32*, x: float32"),
      "  %0 = const 0.3 : f32\n  %1 = fmul %x, %0 : f32\n  store f32, %1, %a : ptr<global>\n");
  // A float64 constant is no literal.
  EXPECT_EQ(body("const C: float64 = 0.5\na[0] = x * C", "a: float32*, x: float32"),
            "  %0 = fconv %x : f32 to f64\n  %1 = const 0.5 : f64\n  %2 = fmul %0, %1 : f64\n"
            "  %3 = fconv %2 : f64 to f32\n  store f32, %3, %a : ptr<global>\n");
  EXPECT_EQ(body("a[0] = n * 0.5", "a: float32*, n: int32"),
            "  %0 = sitof %n : i32 to f64\n  %1 = const 0.5 : f64\n  %2 = fmul %0, %1 : f64\n"
            "  %3 = fconv %2 : f64 to f32\n  store f32, %3, %a : ptr<global>\n");
  EXPECT_EQ(body("a[0] = n * 0.5f", "a: float32*, n: int32"),
            "  %0 = sitof %n : i32 to f32\n  %1 = const 0.5 : f32\n  %2 = fmul %0, %1 : f32\n"
            "  store f32, %2, %a : ptr<global>\n");
  // float32 with int64 is float32.
  EXPECT_EQ(body("a[0] = x + l", "a: float32*, x: float32, l: int64"),
            "  %0 = sitof %l : i64 to f32\n  %1 = fadd %x, %0 : f32\n"
            "  store f32, %1, %a : ptr<global>\n");
  EXPECT_EQ(body("a[0] = x + d", "a: float64*, x: float32, d: float64"),
            "  %0 = fconv %x : f32 to f64\n  %1 = fadd %0, %d : f64\n"
            "  store f64, %1, %a : ptr<global>\n");
}

TEST(IrGen, WiderTypeWinsAndUnsignedAtEqualWidth) {
  EXPECT_EQ(body("a[0] = x + y", "a: int8*, x: int8, y: int8"),
            "  %0 = add %x, %y : i8\n  store i8, %0, %a : ptr<global>\n");
  EXPECT_EQ(body("a[0] = x / y", "a: int32*, x: int32, y: uint32"),
            "  %0 = udiv %x, %y : i32\n  store i32, %0, %a : ptr<global>\n");
  EXPECT_EQ(body("a[0] = x / y", "a: int64*, x: int64, y: uint32"),
            "  %0 = zext %y : i32 to i64\n  %1 = sdiv %x, %0 : i64\n"
            "  store i64, %1, %a : ptr<global>\n");
  EXPECT_EQ(body("a[0] = x / y", "a: uint8*, x: int8, y: uint8"),
            "  %0 = udiv %x, %y : i8\n  store i8, %0, %a : ptr<global>\n");
  EXPECT_EQ(body("a[0] = x % y", "a: int32*, x: int32, y: uint8"),
            "  %0 = zext %y : i8 to i32\n  %1 = srem %x, %0 : i32\n"
            "  store i32, %1, %a : ptr<global>\n");
  EXPECT_EQ(body("a[0] = x < y", "a: bool*, x: int32, y: uint32"),
            "  %0 = cmp.ult %x, %y : i32\n  store i1, %0, %a : ptr<global>\n");
  EXPECT_EQ(body("a[0] = x < y", "a: bool*, x: int8, y: uint32"),
            "  %0 = sext %x : i8 to i32\n  %1 = cmp.ult %0, %y : i32\n"
            "  store i1, %1, %a : ptr<global>\n");
}

TEST(IrGen, ShiftsTakeTheTypeOfTheLeftOperand) {
  EXPECT_EQ(body("a[0] = x << 4 >> 4", "a: uint8*, x: uint8"),
            "  %0 = const 4 : i8\n  %1 = shl %x, %0 : i8\n  %2 = const 4 : i8\n"
            "  %3 = lshr %1, %2 : i8\n  store i8, %3, %a : ptr<global>\n");
  EXPECT_EQ(body("a[0] = x >> l", "a: int32*, x: int32, l: int64"),
            "  %0 = trunc %l : i64 to i32\n  %1 = ashr %x, %0 : i32\n"
            "  store i32, %1, %a : ptr<global>\n");
  EXPECT_EQ(body("a[0] = ~x >> 1", "a: uint32*, x: uint32"),
            "  %0 = const -1 : i32\n  %1 = xor %x, %0 : i32\n  %2 = const 1 : i32\n"
            "  %3 = lshr %1, %2 : i32\n  store i32, %3, %a : ptr<global>\n");
  EXPECT_EQ(body("a[0] = -x / 2", "a: uint32*, x: uint32"),
            "  %0 = neg %x : i32\n  %1 = const 2 : i32\n  %2 = udiv %0, %1 : i32\n"
            "  store i32, %2, %a : ptr<global>\n");
}

TEST(IrGen, BoolsAreZeroAndOne) {
  EXPECT_EQ(body("a[0] = (bool)n", "a: bool*, n: int32"),
            "  %0 = const 0 : i32\n  %1 = cmp.ne %n, %0 : i32\n  store i1, %1, %a : ptr<global>\n");
  EXPECT_EQ(folded("(bool)5", "bool"), "true : i1");
  EXPECT_EQ(body("a[0] = (bool)x", "a: bool*, x: float32"),
            "  %0 = const 0.0 : f32\n  %1 = fcmp.une %x, %0 : f32\n"
            "  store i1, %1, %a : ptr<global>\n");
  EXPECT_EQ(body("a[0] = p + q", "a: int32*, p: bool, q: bool"),
            "  %0 = zext %p : i1 to i32\n  %1 = zext %q : i1 to i32\n  %2 = add %0, %1 : i32\n"
            "  store i32, %2, %a : ptr<global>\n");
  EXPECT_EQ(body("a[0] = p & q ^ (p == q)", "a: bool*, p: bool, q: bool"),
            "  %0 = and %p, %q : i1\n  %1 = cmp.eq %p, %q : i1\n  %2 = xor %0, %1 : i1\n"
            "  store i1, %2, %a : ptr<global>\n");
  EXPECT_EQ(body("a[0] = p < q", "a: bool*, p: bool, q: bool"),
            "  %0 = zext %p : i1 to i32\n  %1 = zext %q : i1 to i32\n  %2 = cmp.slt %0, %1 : i32\n"
            "  store i1, %2, %a : ptr<global>\n");
  EXPECT_EQ(body("a[0] = p", "a: float32*, p: bool"),
            "  %0 = uitof %p : i1 to f32\n  store f32, %0, %a : ptr<global>\n");
  EXPECT_EQ(body("a[0] = !n", "a: bool*, n: int32"),
            "  %0 = const 0 : i32\n  %1 = cmp.ne %n, %0 : i32\n  %2 = const true : i1\n"
            "  %3 = xor %1, %2 : i1\n  store i1, %3, %a : ptr<global>\n");
}

TEST(IrGen, FloatComparisonsAreOrderedButNotEqual) {
  std::string text = body("a[0] = x != y\na[1] = x == y\na[2] = x <= y\na[3] = !(x < y)",
                          "a: bool*, x: float32, y: float32");
  EXPECT_NE(text.find("fcmp.une %x, %y"), std::string::npos);
  EXPECT_NE(text.find("fcmp.oeq %x, %y"), std::string::npos);
  EXPECT_NE(text.find("fcmp.ole %x, %y"), std::string::npos);
  EXPECT_NE(text.find("fcmp.olt %x, %y"), std::string::npos);
}

TEST(IrGen, FloatToIntegerByTheSignOfTheTarget) {
  EXPECT_EQ(body("a[0] = (uint8)x", "a: uint8*, x: float32"),
            "  %0 = ftoui %x : f32 to i8\n  store i8, %0, %a : ptr<global>\n");
  EXPECT_EQ(body("a[0] = (int64)x", "a: int64*, x: float64"),
            "  %0 = ftosi %x : f64 to i64\n  store i64, %0, %a : ptr<global>\n");
  EXPECT_EQ(folded("(uint8)300.7", "uint8"), "-1 : i8");  // Saturates at 255.
  EXPECT_EQ(folded("(int32)-3.9", "int32"), "-3 : i32");
  EXPECT_EQ(folded("(int8)(0.0 / 0.0)", "int8"), "0 : i8");
  EXPECT_EQ(body("a[0] = (int64)(uint32)x", "a: int64*, x: int32"),
            "  %0 = zext %x : i32 to i64\n  store i64, %0, %a : ptr<global>\n");
}

TEST(IrGen, ConstantDivisionFollowsTheIr) {
  EXPECT_EQ(folded("-7 / 2", "int32"), "-3 : i32");
  EXPECT_EQ(folded("-7 % 2", "int32"), "-1 : i32");
  EXPECT_EQ(folded("7 % -2", "int32"), "1 : i32");
  EXPECT_EQ(folded("5 / 0", "int32"), "-1 : i32");
  EXPECT_EQ(folded("5 % 0", "int32"), "5 : i32");
  EXPECT_EQ(folded("-2147483648 / -1", "int32"), "-2147483648 : i32");
  EXPECT_EQ(folded("1 << 33", "int32"), "2 : i32");
}

TEST(IrGen, IndicesAreExtendedByTheirOwnSign) {
  EXPECT_EQ(body("a[x] = 1", "a: uint8*, x: uint32"),
            "  %0 = zext %x : i32 to i64\n  %1 = ptr.add %a, %0 x i8 : ptr<global>\n"
            "  %2 = const 1 : i8\n  store i8, %2, %1 : ptr<global>\n");
  EXPECT_EQ(body("*(a - x) = 1", "a: int16*, x: int8"),
            "  %0 = sext %x : i8 to i64\n  %1 = neg %0 : i64\n"
            "  %2 = ptr.add %a, %1 x i16 : ptr<global>\n  %3 = const 1 : i16\n"
            "  store i16, %3, %2 : ptr<global>\n");
  EXPECT_EQ(body("a[0] = p - q", "a: int64*, p: int32*, q: int32*"),
            "  %0 = ptrtoint %p : ptr<global> to i64\n  %1 = ptrtoint %q : ptr<global> to i64\n"
            "  %2 = sub %0, %1 : i64\n  %3 = const 2 : i64\n  %4 = ashr %2, %3 : i64\n"
            "  store i64, %4, %a : ptr<global>\n");
  EXPECT_EQ(body("a[0] = thread.x - 5 < 0", "a: bool*"),
            "  %0 = gpu.thread_id x : i32\n  %1 = const 5 : i32\n  %2 = sub %0, %1 : i32\n"
            "  %3 = const 0 : i32\n  %4 = cmp.slt %2, %3 : i32\n"
            "  store i1, %4, %a : ptr<global>\n");
}

TEST(IrGen, CompoundAssignmentEvaluatesItsTargetOnce) {
  EXPECT_EQ(body("a[n] += m"),
            "  %0 = sext %n : i32 to i64\n  %1 = ptr.add %a, %0 x i32 : ptr<global>\n"
            "  %2 = load i32, %1 : ptr<global>\n  %3 = add %2, %m : i32\n"
            "  store i32, %3, %1 : ptr<global>\n");
  // A narrow target computes in the wider type and comes back.
  EXPECT_EQ(body("a[0] *= 3", "a: uint8*"),
            "  %0 = load i8, %a : ptr<global>\n  %1 = zext %0 : i8 to i32\n  %2 = const 3 : i32\n"
            "  %3 = mul %1, %2 : i32\n  %4 = trunc %3 : i32 to i8\n"
            "  store i8, %4, %a : ptr<global>\n");
}

TEST(IrGen, ShadowingMakesANewVariable) {
  EXPECT_EQ(
      body("var x: int32 = n\n{ var x: int64 = 7\na[0] = (int32)x }\na[1] = x"),
      "  %x = const 7 : i64\n  %0 = trunc %x : i64 to i32\n  store i32, %0, %a : ptr<global>\n"
      "  %1 = const 1 : i64\n  %2 = ptr.add %a, %1 x i32 : ptr<global>\n"
      "  store i32, %n, %2 : ptr<global>\n");
}

TEST(IrGen, ShortCircuitIsControlFlow) {
  EXPECT_EQ(irOf("kernel k(a: int32*, n: int32) { if (n > 0 && a[n] == 1 || n < 0) { a[0] = 1 } }"),
            R"(kernel @k(%a: ptr<global>, %n: i32) {
^entry:
  %0 = const 0 : i32
  %1 = cmp.sgt %n, %0 : i32
  br %1, ^and, ^or
^and:
  %2 = sext %n : i32 to i64
  %3 = ptr.add %a, %2 x i32 : ptr<global>
  %4 = load i32, %3 : ptr<global>
  %5 = const 1 : i32
  %6 = cmp.eq %4, %5 : i32
  br %6, ^then, ^or
^or:
  %7 = const 0 : i32
  %8 = cmp.slt %n, %7 : i32
  br %8, ^then, ^endif
^then:
  %9 = const 1 : i32
  store i32, %9, %a : ptr<global>
  jump ^endif
^endif:
  ret
}
)");
}

TEST(IrGen, LogicalAsAValue) {
  EXPECT_EQ(irOf("kernel k(a: bool*, p: bool) { a[0] = p || a[1] }"),
            R"(kernel @k(%a: ptr<global>, %p: i1) {
^entry:
  %0 = const true : i1
  br %p, ^endlogical(%0), ^or
^or:
  %1 = const 1 : i64
  %2 = ptr.add %a, %1 x i1 : ptr<global>
  %3 = load i1, %2 : ptr<global>
  jump ^endlogical(%3)
^endlogical(%4: i1):
  store i1, %4, %a : ptr<global>
  ret
}
)");
}

TEST(IrGen, RangeLoops) {
  // The inclusive form must end at the largest value of the type.
  EXPECT_EQ(irOf("kernel k(a: int32*, n: uint8) { for i in n..=255 { a[0] = 1 } }"),
            R"(kernel @k(%a: ptr<global>, %n: i8) {
^entry:
  %i = alloc.private i32[1] : ptr<private>
  %0 = zext %n : i8 to i32
  %1 = const 255 : i32
  store i32, %0, %i : ptr<private>
  %2 = cmp.sle %0, %1 : i32
  br %2, ^loop, ^endloop
^loop:
  %3 = const 1 : i32
  store i32, %3, %a : ptr<global>
  jump ^step
^step:
  %4 = load i32, %i : ptr<private>
  %5 = cmp.sge %4, %1 : i32
  br %5, ^endloop, ^next
^next:
  %6 = const 1 : i32
  %7 = add %4, %6 : i32
  store i32, %7, %i : ptr<private>
  jump ^loop
^endloop:
  ret
}
)");
}

TEST(IrGen, SwitchFallsThroughAndTestsInOrder) {
  EXPECT_EQ(irOf(R"(kernel k(a: int32*, n: int32) {
  switch (n) {
    case 2..5: a[0] = 1
    default: a[1] = 2; break
    case 3: a[2] = 3
  }
})"),
            R"(kernel @k(%a: ptr<global>, %n: i32) {
^entry:
  %0 = const 2 : i32
  %1 = sub %n, %0 : i32
  %2 = const 3 : i32
  %3 = cmp.ule %1, %2 : i32
  br %3, ^case, ^test
^test:
  %4 = const 3 : i32
  %5 = cmp.eq %n, %4 : i32
  br %5, ^case_2, ^test_1
^test_1:
  jump ^case_1
^case:
  %6 = const 1 : i32
  store i32, %6, %a : ptr<global>
  jump ^case_1
^case_1:
  %7 = const 1 : i64
  %8 = ptr.add %a, %7 x i32 : ptr<global>
  %9 = const 2 : i32
  store i32, %9, %8 : ptr<global>
  jump ^endswitch
^case_2:
  %10 = const 2 : i64
  %11 = ptr.add %a, %10 x i32 : ptr<global>
  %12 = const 3 : i32
  store i32, %12, %11 : ptr<global>
  jump ^endswitch
^endswitch:
  ret
}
)");
}

TEST(IrGen, UnreachableCodeIsLeftOut) {
  EXPECT_EQ(irOf("kernel k(a: int32*) { while (true) { a[0] = 1 }\n a[1] = 2 }"),
            R"(kernel @k(%a: ptr<global>) {
^entry:
  jump ^loop
^loop:
  jump ^body
^body:
  %0 = const 1 : i32
  store i32, %0, %a : ptr<global>
  jump ^loop
}
)");
  EXPECT_EQ(body("return\na[0] = 1"), "");
}

TEST(IrGen, BarriersAndStorage) {
  EXPECT_EQ(body("workgroup var t: float32[4 * 4]\nworkgroup var d: uint32*\n"
                 "private var p: bool[3]\nvar q: int64[2]\n"
                 "barrier()\nbarrier(global)\nbarrier(acq_rel, global, workgroup)\ngpu_barrier()"),
            "  %t = alloc.workgroup f32[16] : ptr<workgroup>\n"
            "  %d = alloc.dynamic i32 : ptr<workgroup>\n"
            "  %p = alloc.private i1[3] : ptr<private>\n"
            "  %q = alloc.private i64[2] : ptr<private>\n"
            "  barrier {workgroup} seq_cst\n"
            "  barrier {global} seq_cst\n"
            "  barrier {workgroup, global} acq_rel\n"
            "  barrier {workgroup} seq_cst\n");
}

TEST(IrGen, MathNamesDeclaredOrImported) {
  EXPECT_EQ(irOf("extern fn sqrtf(x: float32) -> float32;\n"
                 "extern fn root(x: float32) -> float32 = \"sqrtf\";\n"
                 "kernel k(a: float32*) { a[0] = sqrtf(a[0]) + root(2) }"),
            R"(kernel @k(%a: ptr<global>) {
^entry:
  %0 = load f32, %a : ptr<global>
  %1 = fsqrt %0 : f32
  %2 = const 2.0 : f32
  %3 = fsqrt %2 : f32
  %4 = fadd %1, %3 : f32
  store f32, %4, %a : ptr<global>
  ret
}
)");
  EXPECT_EQ(body("a[0] = fast_expf(0.1)", "a: float32*"),
            "  %0 = const 0.1 : f32\n  %1 = exp approx %0 : f32\n"
            "  store f32, %1, %a : ptr<global>\n");
  EXPECT_EQ(body("a[0] = f2h(h2f(a[0]))", "a: uint16*"),
            "  %0 = load i16, %a : ptr<global>\n  %1 = bitcast %0 : i16 to f16\n"
            "  %2 = fconv %1 : f16 to f32\n  %3 = fconv %2 : f32 to f16\n"
            "  %4 = bitcast %3 : f16 to i16\n  store i16, %4, %a : ptr<global>\n");
  EXPECT_EQ(body("a[0] = min(a[0], u)", "a: int64*, u: uint32"),
            "  %0 = load i64, %a : ptr<global>\n  %1 = zext %u : i32 to i64\n"
            "  %2 = smin %0, %1 : i64\n  store i64, %2, %a : ptr<global>\n");
  EXPECT_EQ(body("a[0] = clz(u) + popcount(l)", "a: int32*, u: uint8, l: int64"),
            "  %0 = clz %u : i8\n  %1 = zext %0 : i8 to i32\n  %2 = popcount %l : i64\n"
            "  %3 = trunc %2 : i64 to i32\n  %4 = add %1, %3 : i32\n"
            "  store i32, %4, %a : ptr<global>\n");
}

TEST(IrGen, OlderIndexFunctions) {
  EXPECT_EQ(irOf("extern fn gpu_tid_x() -> int32\nextern fn gpu_nctaid_z() -> int32;\n"
                 "kernel k(a: int32*) { a[0] = gpu_tid_x() + gpu_nctaid_z() + grid_dim.y }"),
            R"(kernel @k(%a: ptr<global>) {
^entry:
  %0 = gpu.thread_id x : i32
  %1 = gpu.grid_dim z : i32
  %2 = add %0, %1 : i32
  %3 = gpu.grid_dim y : i32
  %4 = add %2, %3 : i32
  store i32, %4, %a : ptr<global>
  ret
}
)");
}

TEST(IrGen, HelpersAreSpecialisedForAddressSpaces) {
  std::string text = irOf(R"(
fn get(p: int32*, i: int32) -> int32 { return p[i] }
fn pass(p: int32*) -> int32* { return p + 1 }
kernel k(a: int32*) {
  workgroup var t: int32[4]
  var x: int32 = 5
  a[0] = get(a, 1) + get(t, 2) + get(&x, 0) + get(pass(t), 0)
})");
  EXPECT_NE(text.find("call @get(%a,"), std::string::npos) << text;
  EXPECT_NE(text.find("call @get$w(%t,"), std::string::npos) << text;
  EXPECT_NE(text.find("call @get$p(%x,"), std::string::npos) << text;
  EXPECT_NE(text.find("call @pass$w(%t) : ptr<workgroup>"), std::string::npos) << text;
  EXPECT_NE(text.find("func @pass$w(%p: ptr<workgroup>) -> ptr<workgroup>"), std::string::npos);
  EXPECT_EQ(text.find("ptr<generic>"), std::string::npos) << text;
}

TEST(IrGen, PointerVariablesTakeTheSpaceOfTheirAssignments) {
  std::string agree = irOf(R"(
kernel k(a: int32*, n: int32) {
  workgroup var t: int32[4]
  var p: int32* = t
  if (n) { p = p + 1 } else { p = &t[2] }
  var q: int32* = 0
  q = p
  q[0] = 1
})");
  EXPECT_EQ(agree.find("generic"), std::string::npos) << agree;
  EXPECT_NE(agree.find("alloc.private ptr<workgroup>[1]"), std::string::npos) << agree;
  std::string mixed = irOf(R"(
kernel k(a: int32*, n: int32) {
  workgroup var t: int32[4]
  var p: int32* = a
  var q: int32* = p
  if (n) { p = t }
  q = p
  q[0] = 1
})");
  // p is generic because of t, and q because of p.
  EXPECT_NE(mixed.find("%p = alloc.private ptr<generic>[1]"), std::string::npos) << mixed;
  EXPECT_NE(mixed.find("%q = alloc.private ptr<generic>[1]"), std::string::npos) << mixed;
  EXPECT_NE(mixed.find("spacecast %t : ptr<workgroup> to ptr<generic>"), std::string::npos);
}

TEST(IrGen, PointersFromMemoryAndIntegersAreGlobal) {
  EXPECT_EQ(body("var p: int32* = pp[1]\nvar q: int32* = (int32*)address\nq[0] = *p",
                 "pp: int32**, address: uint64"),
            "  %0 = const 1 : i64\n  %1 = ptr.add %pp, %0 x ptr<global> : ptr<global>\n"
            "  %p = load ptr<global>, %1 : ptr<global>\n"
            "  %q = inttoptr %address : i64 to ptr<global>\n"
            "  %2 = load i32, %p : ptr<global>\n  store i32, %2, %q : ptr<global>\n");
}

TEST(IrGen, GenericHelpersAndUnreachedFunctions) {
  std::string text = irOf(R"(
fn twice<T>(x: T) -> T { return x + x }
fn unused(x: int32) -> int32 { return x }
fn host() -> int32 { defer host2(); return 1 }
fn host2() { }
kernel k(a: int32*, b: float32*) {
  a[0] = twice<int32>(a[1])
  b[0] = twice<float32>(b[1])
})");
  EXPECT_NE(text.find("func @twice$int32(%x: i32) -> i32"), std::string::npos) << text;
  EXPECT_NE(text.find("func @twice$float32(%x: f32) -> f32"), std::string::npos) << text;
  EXPECT_EQ(text.find("unused"), std::string::npos);
  EXPECT_EQ(text.find("host"), std::string::npos);
}

TEST(IrGen, FloatingPointModes) {
  const std::string source =
      "kernel k(a: float32*, x: float32) { a[0] = x * x + x }\n"
      "@fp(contract) kernel c(a: float32*, x: float32) { a[0] = x * x + x }\n"
      "@fp(strict) kernel s(a: float32*, x: float32) { a[0] = x * x + x }\n";
  auto flags = [&](FpMode mode, const std::string& kernel) {
    CompileOptions options;
    options.fpMode = mode;
    std::string text = irOf(source, options);
    size_t at = text.find("fmul", text.find("@" + kernel + "("));
    return text.substr(at, text.find('%', at) - at);
  };
  EXPECT_EQ(flags(FpMode::strict, "k"), "fmul ");
  EXPECT_EQ(flags(FpMode::strict, "c"), "fmul contract ");
  EXPECT_EQ(flags(FpMode::contract, "k"), "fmul contract ");
  EXPECT_EQ(flags(FpMode::contract, "s"), "fmul ");
  EXPECT_EQ(flags(FpMode::fast, "k"), "fmul contract reassoc nnan nsz ftz ");
}

TEST(IrGen, DecoratorsBecomeAttributes) {
  Compiled p(
      "@inline! fn f(x: int32) -> int32 { return x }\n@noinline fn g() { }\n"
      "const T: int32 = 128\n"
      "@launch_bounds(T * 2, 4) kernel k(a: int32*) { a[0] = f(1)\ng() }");
  ASSERT_TRUE(p.module) << p.text();
  const ir::Function* k = p.module->findFunction("k");
  EXPECT_EQ(k->launchBounds.maxThreads, 256u);
  EXPECT_EQ(k->launchBounds.minGroups, 4u);
  EXPECT_EQ(p.module->findFunction("f")->inlineHint, ir::InlineHint::Always);
  EXPECT_EQ(p.module->findFunction("g")->inlineHint, ir::InlineHint::Never);
  EXPECT_EQ(p.module->name(), "t");
}

TEST(IrGen, EveryOperationHasALocation) {
  Compiled p("kernel k(a: int32*, n: int32) {\n  for i in 0..n {\n    a[i] += 1\n  }\n}\n");
  ASSERT_TRUE(p.module);
  for (const ir::Function& f : p.module->functions()) {
    for (const ir::Block& b : f.blocks()) {
      for (const ir::Operation& op : b.ops()) {
        EXPECT_EQ(op.loc().file(), 1u);
        EXPECT_GE(op.loc().line(), 1u);
        EXPECT_LE(op.loc().line(), 5u);
      }
    }
  }
}

TEST(IrGen, EnumSwitchWithoutDefault) {
  // A value outside the variants matches nothing; what relies on a case finds zeros.
  std::string text = irOf(
      "enum E { A, B }\nfn f(e: E) -> int32 { switch (e) { case A: return 1; case B: return 2 } }\n"
      "kernel k(a: int32*, n: int64) { a[0] = f(n) }");
  EXPECT_NE(text.find("^endswitch:\n  %6 = const 0 : i32\n  ret %6\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace mtlc::frontend
