// Every refusal and warning of semantic analysis and IR generation: a minimal source, the row, and
// where it points. A backtick stands before the place that the message must name.

#include <string>

#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "mtlc/frontend/test_util.h"

namespace mtlc::frontend {
namespace {

struct Case {
  DiagId id;
  const char* text;
};

void expectOnly(const Case& c) {
  std::string source = c.text;
  size_t mark = source.find('`');
  ASSERT_NE(mark, std::string::npos) << source;
  source.erase(mark, 1);
  uint32_t line = 1, column = 1;
  for (size_t i = 0; i < mark; ++i) {
    if (source[i] == '\n') {
      ++line;
      column = 1;
    } else {
      ++column;
    }
  }
  Compiled p(source);
  ASSERT_EQ(p.diagnostics.all().size(), 1u) << source << "\n" << p.text();
  const Diagnostic& d = p.diagnostics.all()[0];
  EXPECT_EQ(d.id, c.id) << source << "\n" << p.text();
  EXPECT_EQ(d.range.begin, SourceLoc(1, line, column)) << source << "\n" << p.text();
  EXPECT_EQ(p.module == nullptr, d.severity == Severity::error) << source;
}

// The cases of a kernel's body: `k(a: int32*, f: float32*, n: int32, x: float32)`.
void expectInKernel(DiagId id, const std::string& body) {
  std::string text =
      "kernel k(a: int32*, f: float32*, n: int32, x: float32) {\n  " + body + "\n}\n";
  expectOnly({id, text.c_str()});
}

TEST(Refusals, ModulesAndNames) {
  const Case cases[] = {
      {DiagId::ModuleNotFound, "import `\"nowhere/at_all\"\nkernel k() { }"},
      {DiagId::ModuleNotFound, "import `\"std/nothing\"\nkernel k() { }"},
      {DiagId::ModuleNotFound, "import `\"\"\nkernel k() { }"},
      {DiagId::ModuleNotFound, "import `\"a\\0b\"\nkernel k() { }"},
      {DiagId::NotInModule, "import {`sine} from \"std/math\"\nkernel k() { }"},
      {DiagId::NotInModule,
       "import \"std/math\" as m\nkernel k(a: float32*) { a[0] = m.`sinus(a[0]) }"},
      {DiagId::NotInModule, "import \"std/math\" as m\nkernel k(a: float32*) { a[0] = m.`pi }"},
      {DiagId::NotInModule, "enum E { A }\nkernel k(a: int64*) { a[0] = 1 + E.`B }"},
      {DiagId::Redefinition, "kernel k() { }\nkernel `k() { }"},
      {DiagId::Redefinition, "fn k() { }\nkernel `k() { }"},
      {DiagId::Redefinition, "const N: int32 = 1\nconst `N: int32 = 2\nkernel k() { }"},
      {DiagId::Redefinition, "kernel k() {\n  var x: int32 = 1\n  var `x: int32 = 2\n}"},
      {DiagId::Redefinition, "kernel k(a: int32, `a: int32) { }"},
      {DiagId::Redefinition, "kernel k(a: int32) {\n  var `a: int32 = 1\n}"},
      {DiagId::Redefinition, "enum E { A, `A }\nkernel k() { }"},
      {DiagId::Redefinition, "enum E { A }\nfn `A() { }\nkernel k() { }"},
      {DiagId::DeclarationMismatch,
       "fn `f(x: int32) -> int32;\nfn f(x: int64) -> int32 { return 1 }\nkernel k() { }"},
      {DiagId::DeclarationMismatch,
       "fn `f(x: int32) -> int32;\nfn f(x: int32) { }\nkernel k() { }"},
      {DiagId::DeclarationMismatch, "fn `f(x: int32);\nfn f() { }\nkernel k() { }"},
      {DiagId::AmbiguousName, "enum E { A }\nenum F { A }\nkernel k(a: int64*) { a[0] = `A }"},
      {DiagId::UnknownName, "kernel k(a: int32*) { a[0] = `b }"},
      {DiagId::UnknownName, "kernel k(a: float32*) { a[0] = `sqrtf(a[1]) }"},
      {DiagId::UnknownName, "kernel k() { `foo(1) }"},
      {DiagId::UnknownType, "kernel k(a: `float*) { }"},
      {DiagId::UnknownType, "kernel k() {\n  var x: `m.E = 1\n}"},
      {DiagId::NotAValue, "fn f() { }\nkernel k(a: int32*) { a[0] = `f }"},
      {DiagId::NotAValue, "kernel k(a: int32*) { a[0] = `barrier }"},
  };
  for (const Case& c : cases) expectOnly(c);
}

TEST(Refusals, SuggestionsNameWhatIsMeant) {
  Compiled math("kernel k(a: float32*) { a[0] = sqrtf(a[1]) }");
  EXPECT_EQ(math.diagnostics.all()[0].hint, "add import \"std/math\"");
  Compiled near("kernel k(width: int32*) { widht[0] = 1 }");
  EXPECT_EQ(near.diagnostics.all()[0].hint, "did you mean 'width'?");
}

TEST(Refusals, TypesAndConstants) {
  const Case cases[] = {
      {DiagId::PointerToNothing, "kernel k(p: `void*) { }"},
      {DiagId::PointerToNothing, "kernel k() { var x: `void = 1 }"},
      {DiagId::PointerToNothing, "kernel k(a: int64*) { a[0] = sizeof(`void) }"},
      {DiagId::PointerToNothing, "fn f(x: `void) { }\nkernel k() { }"},
      {DiagId::ArraySizeMissing, "kernel k() { var a: `int32[] }"},
      {DiagId::ArraySizeNotConstant, "kernel k(n: int32) { var a: int32[`n] }"},
      {DiagId::ArraySizeNotConstant, "kernel k() { var a: int32[`1.5] }"},
      {DiagId::ArraySizeNotPositive, "kernel k() { workgroup var a: int32[`0] }"},
      {DiagId::ArraySizeNotPositive, "kernel k() { var a: int32[`-4] }"},
      {DiagId::ArrayTooLarge, "kernel k() { var a: int64[`536870913] }"},
      {DiagId::ArrayTooLarge, "kernel k() { var a: int8[`18446744073709551615] }"},
      {DiagId::NotConstant, "kernel k(n: int32) { const C: int32 = n `+ 1 }"},
      {DiagId::ConstantType, "const P: `int32* = 0\nkernel k() { }"},
      {DiagId::ConstantCycle, "const `A: int32 = B\nconst B: int32 = A\nkernel k() { }"},
      {DiagId::ConstantCycle, "const `A: int32 = A\nkernel k() { }"},
      {DiagId::ConstantCycle, "enum E { A = `B, B = 1 }\nkernel k() { }"},
      {DiagId::VariantNotConstant, "enum E { A = `1.5 }\nkernel k() { }"},
      {DiagId::NegativeTooLarge, "kernel k(a: int64*) { a[0] = `-9223372036854775809 }"},
      {DiagId::FloatNeedsCast, "const N: int32 = `1.5\nkernel k() { }"},
  };
  for (const Case& c : cases) expectOnly(c);
}

TEST(Refusals, Functions) {
  const Case cases[] = {
      {DiagId::FunctionWithoutBody,
       "fn f(x: int32) -> int32;\nkernel k(a: int32*) { a[0] = `f(1) }"},
      {DiagId::BuiltinSignature, "extern fn `sqrtf(x: float64) -> float32;\nkernel k() { }"},
      {DiagId::BuiltinSignature, "extern fn `min(a: int32, b: int32) -> int32;\nkernel k() { }"},
      {DiagId::BuiltinSignature, "extern fn `gpu_tid_x() -> int64;\nkernel k() { }"},
      {DiagId::BuiltinSignature,
       "extern fn `root(x: float32) -> float64 = \"sqrtf\";\nkernel k() { }"},
      {DiagId::ArrayParameter, "fn f(x: `int32[4]) { }\nkernel k() { }"},
      {DiagId::ArrayResult, "fn f() -> `int32[4] { while (true) { } }\nkernel k() { }"},
      {DiagId::KernelParameter, "kernel k(a: `int32[4]) { }"},
      {DiagId::KernelParameter, "kernel k(a: `string) { }"},
      {DiagId::KernelParameter, "kernel k(a: `cstring) { }"},
      {DiagId::KernelParameter, "struct S { x: int32 }\nkernel k(a: `S) { }"},
      {DiagId::KernelParameter, "struct S { x: int32 }\nkernel k(a: `S*) { }"},
      {DiagId::KernelResult, "kernel k() -> `int32 { return 1 }"},
      {DiagId::GenericKernel, "kernel `k<T>(a: int32*) { }"},
      {DiagId::KernelWithoutBody, "kernel `k(a: int32*);"},
      {DiagId::MissingReturn, "fn f(x: int32) -> int32 { if (x) { return 1 } `}\nkernel k() { }"},
      {DiagId::MissingReturn,
       "fn f(x: int32) -> int32 { while (x) { return 1 } `}\nkernel k() { }"},
      {DiagId::MissingReturn,
       "fn f(x: int32) -> int32 { while (true) { if (x) break } `}\nkernel k() { }"},
      {DiagId::MissingReturn,
       "fn f(x: int32) -> int32 { switch (x) { case 1: return 1 } `}\nkernel k() { }"},
      {DiagId::UnknownDecorator, "@`fastest kernel k() { }"},
      {DiagId::UnknownDecorator, "@`noinline! fn f() { }\nkernel k() { }"},
      {DiagId::RepeatedDecorator, "@pure @`pure fn f() { }\nkernel k() { }"},
      {DiagId::DecoratorArguments, "@`pure(1) fn f() { }\nkernel k() { }"},
      {DiagId::DecoratorArguments, "@`launch_bounds() kernel k() { }"},
      {DiagId::DecoratorArguments, "@`launch_bounds(1, 2, 3) kernel k() { }"},
      {DiagId::DecoratorArguments, "@`launch_bounds(threads: 1) kernel k() { }"},
      {DiagId::InlineConflict, "@inline @`noinline fn f() { }\nkernel k() { }"},
      {DiagId::LaunchBoundsPlace, "@`launch_bounds(64) fn f() { }\nkernel k() { }"},
      {DiagId::LaunchBoundsValue, "@launch_bounds(`0) kernel k() { }"},
      {DiagId::LaunchBoundsValue, "@launch_bounds(64, `1025) kernel k() { }"},
      {DiagId::LaunchBoundsValue, "@launch_bounds(`64.0) kernel k() { }"},
      {DiagId::FpMode, "@`fp(loose) kernel k() { }"},
      {DiagId::FpMode, "@`fp kernel k() { }"},
      {DiagId::TooManyInstances,
       "fn f<T>(p: T*, n: int32) { if (n > 0) { `f<T*>((T**)p, n - 1) } }\n"
       "kernel k(a: int32*) { f<int32>(a, 3) }"},
  };
  for (const Case& c : cases) expectOnly(c);
}

TEST(Refusals, Expressions) {
  const std::pair<DiagId, const char*> bodies[] = {
      {DiagId::VoidValue, "a[0] = 1 + `barrier()"},
      {DiagId::CannotConvert, "a = `f"},
      {DiagId::CannotConvert, "a[0] = `a"},
      {DiagId::CannotConvert, "a = `n"},
      {DiagId::CannotConvert, "a = `1"},
      {DiagId::FloatNeedsCast, "a[0] = `x"},
      {DiagId::FloatNeedsCast, "a[0] = `1.0"},
      {DiagId::FloatNeedsCast, "a[0] `*= 1.5"},
      {DiagId::FloatNeedsCast, "var b: bool = `x"},
      {DiagId::CannotCast, "a[0] = `(int32)a"},
      {DiagId::CannotCast, "a = `(int32*)n"},
      {DiagId::CannotCast, "a = `(int32*)x"},
      {DiagId::CannotCast, "f[0] = `(float32)a"},
      {DiagId::CannotCast, "a[0] = (int32)`(bool)a"},
      {DiagId::ConditionType, "if (`a) { }"},
      {DiagId::ConditionType, "while (n > 0 && `a) { }"},
      {DiagId::ConditionType, "a[0] = !`a"},
      {DiagId::UnaryOperand, "a = `-a"},
      {DiagId::UnaryOperand, "f[0] = `~x"},
      {DiagId::BinaryOperands, "f[0] = x `% 2.0"},
      {DiagId::BinaryOperands, "f[0] = x `& x"},
      {DiagId::BinaryOperands, "f[0] = x `<< 1"},
      {DiagId::BinaryOperands, "a[0] = n `<< x"},
      {DiagId::BinaryOperands, "a = a `* 2"},
      {DiagId::BinaryOperands, "a = a `+ x"},
      {DiagId::BinaryOperands, "a = n `- a"},
      {DiagId::BinaryOperands, "a[0] = a `+ a"},
      {DiagId::BinaryOperands, "a[0] = (int32)(a `- f)"},
      {DiagId::BinaryOperands, "if (a `== f) { }"},
      {DiagId::BinaryOperands, "if (a `== n) { }"},
      {DiagId::BinaryOperands, "if (a `== 1) { }"},
      {DiagId::BinaryOperands, "f[0] `%= x"},
      {DiagId::NotAPointer, "a[0] = `*n"},
      {DiagId::NotIndexable, "a[0] = `n[0]"},
      {DiagId::IndexType, "a[`x] = 1"},
      {DiagId::NoMembers, "a[0] = n.`y"},
      {DiagId::NoMembers, "a[0] = a->`y"},
      {DiagId::IndexMember, "a[0] = thread.`w"},
      {DiagId::IndexWithoutMember, "a[0] = `thread"},
      {DiagId::NotAddressable, "a = `&1"},
      {DiagId::NotAddressable, "a = `&(n + 1)"},
      {DiagId::NotAssignable, "n `+ 1 = 2"},
      {DiagId::NotAssignable, "`barrier() = 2"},
      {DiagId::NotAssignable, "`thread.x = 2"},
      {DiagId::NotCallable, "`n(1)"},
      {DiagId::NotCallable, "`a[0](1)"},
      {DiagId::NotCallable, "`thread(1)"},
      {DiagId::UsedBeforeAssignment, "var v: int32\n  a[0] = `v"},
      {DiagId::UsedBeforeAssignment, "var v: int32\n  `v += 1"},
      {DiagId::UsedBeforeAssignment, "var v: int32\n  if (n) { v = 1 }\n  a[0] = `v"},
      {DiagId::UsedBeforeAssignment, "var v: int32\n  while (n > 0) { v = 1 }\n  a[0] = `v"},
      {DiagId::UsedBeforeAssignment, "var v: int32\n  for i in 0..n { v = 1 }\n  a[0] = `v"},
      {DiagId::UsedBeforeAssignment, "var v: int32\n  switch (n) { case 1: v = 1 }\n  a[0] = `v"},
      {DiagId::UsedBeforeAssignment,
       "var v: int32\n  switch (n) { case 1: v = 1; break; default: }\n  a[0] = `v"},
      {DiagId::UsedBeforeAssignment,
       "var v: int32\n  while (true) { if (n) { break }\n v = 1 }\n  a[0] = `v"},
      {DiagId::UsedBeforeAssignment,
       "for (var i: int32 = 0; i < n; i += 1) { var v: int32\n  a[0] = `v\n  v = 1 }"},
  };
  for (const auto& [id, body] : bodies) {
    expectInKernel(id, body);
  }
  const Case cases[] = {
      {DiagId::TypeCalled, "enum E { A }\nkernel k(a: int64*) { a[0] = `E(1) }"},
      {DiagId::AddressOfStorage, "kernel k(a: int32*) { workgroup var t: int32[4]\n  a = `&t }"},
      {DiagId::AssignToConstant, "const N: int32 = 1\nkernel k() { `N = 2 }"},
      {DiagId::AssignToConstant, "kernel k() { const N: int32 = 1\n  `N += 2 }"},
      {DiagId::AssignToConstant, "enum E { A }\nkernel k() { `A = 2 }"},
      {DiagId::RebindStorage, "kernel k(a: int32*) { workgroup var t: int32[4]\n  `t = a }"},
      {DiagId::RebindStorage, "kernel k(a: int32*) { workgroup var t: int32*\n  `t = a }"},
      {DiagId::RebindStorage, "kernel k(a: int32*) { private var t: int32[4]\n  `t = a }"},
      {DiagId::RebindStorage, "kernel k(a: int32*) { var t: int32[4]\n  `t = a }"},
      {DiagId::RebindStorage, "kernel k(a: int32*) { workgroup var t: int32*\n  `t += 1 }"},
      {DiagId::ArgumentCount, "fn f(x: int32) { }\nkernel k() { `f() }"},
      {DiagId::ArgumentCount, "fn f(x: int32) { }\nkernel k() { `f(1, 2) }"},
      {DiagId::ArgumentCount, "import \"std/math\"\nkernel k(a: float32*) { a[0] = `sqrtf() }"},
      {DiagId::ArgumentCount, "kernel k() { `gpu_barrier(1) }"},
      {DiagId::TypeArgumentCount,
       "fn f<T>(x: T) -> T { return x }\nkernel k(a: int32*) { a[0] = `f(1) }"},
      {DiagId::TypeArgumentCount,
       "fn f(x: int32) -> int32 { return x }\nkernel k(a: int32*) { a[0] = `f<int32>(1) }"},
      {DiagId::TypeArgumentCount,
       "import \"std/math\"\nkernel k(a: float32*) { a[0] = `sqrtf<float32>(a[1]) }"},
      {DiagId::TypeArgument, "fn f<T>() { }\nkernel k() { f<`void>() }"},
      {DiagId::NamedArgument, "fn f(x: int32) { }\nkernel k() { f(`x: 1) }"},
      {DiagId::IntegerArgument,
       "import \"std/math\"\nkernel k(a: float32*) { a[0] = min(`a[0], a[1]) }"},
      {DiagId::CannotConvert, "fn f(x: int32) { }\nkernel k(a: int32*) { f(`a) }"},
      {DiagId::FloatNeedsCast, "fn f() -> int32 { return `1.5 }\nkernel k() { }"},
      {DiagId::ReturnValue, "kernel k() { return `1 }"},
      {DiagId::ReturnWithoutValue, "fn f() -> int32 { `return }\nkernel k() { }"},
  };
  for (const Case& c : cases) expectOnly(c);
}

TEST(Refusals, Statements) {
  const std::pair<DiagId, const char*> bodies[] = {
      {DiagId::ArrayInitializer, "var t: int32[4] = `a"},
      {DiagId::JumpOutsideLoop, "`break"},
      {DiagId::JumpOutsideLoop, "switch (n) { case 1: `continue }"},
      {DiagId::UnknownLabel, "while (true) { break `outer }"},
      {DiagId::UnknownLabel, "outer: while (n > 0) { }\n  while (true) { break `outer }"},
      {DiagId::ContinueSwitch, "s: switch (n) { case 1: while (true) { continue `s } }"},
      {DiagId::RangeType, "for i in `0.5..2 { }"},
      {DiagId::RangeType, "for i in 0..`a { }"},
      {DiagId::RangeType, "for i: `float32 in 0..n { }"},
      {DiagId::SwitchType, "switch (`x) { }"},
      {DiagId::SwitchType, "switch (`a) { case 1: }"},
      {DiagId::CaseNotConstant, "switch (n) { case `n: }"},
      {DiagId::CaseNotConstant, "switch (n) { case `1.5: }"},
      {DiagId::CaseOutOfRange, "switch ((uint8)n) { case `256: }"},
      {DiagId::CaseOutOfRange, "switch ((uint8)n) { case `-1: }"},
      {DiagId::CaseOutOfRange, "switch (n) { case `0xFFFFFFFF: }"},
      {DiagId::CaseOutOfRange, "switch (n > 0) { case `2: }"},
      {DiagId::EmptyCaseRange, "switch (n) { case `5..4: }"},
      {DiagId::RepeatedCase, "switch (n) { case 1: case 2: case `1: }"},
      {DiagId::RepeatedCase, "switch (n) { case 1: break; case 2..3: case `01: }"},
      {DiagId::RepeatedDefault, "switch (n) { default: break\n  `default: }"},
  };
  for (const auto& [id, body] : bodies) {
    expectInKernel(id, body);
  }
}

TEST(Refusals, Dispatch) {
  const Case cases[] = {
      {DiagId::UnknownOption,
       "fn main(h: int64) { dispatch h[grid: (1, 1, 1), block: (1, 1, 1), `size: 3]() }"},
      {DiagId::RepeatedOption,
       "fn main(h: int64) { dispatch h[grid: (1, 1, 1), block: (1, 1, 1), `grid: (1, 1, 1)]() }"},
      {DiagId::MissingOption, "fn main(h: int64) { `dispatch h[grid: (1, 1, 1)]() }"},
      {DiagId::MissingOption, "fn main(h: int64) { `dispatch h[4]() }"},
      {DiagId::DispatchPositional, "fn main(h: int64) { dispatch h[1, 2, `3]() }"},
      {DiagId::DispatchDimensions,
       "fn main(h: int64) { dispatch h[grid: `(1, 1), block: (1, 1, 1)]() }"},
      {DiagId::DispatchDimensions,
       "fn main(h: int64) { dispatch h[grid: (1, 1, 1), block: `64]() }"},
      {DiagId::DispatchDimension,
       "fn main(h: int64) { dispatch h[grid: (1, `0, 1), block: (1, 1, 1)]() }"},
      {DiagId::DispatchDimension, "fn main(h: int64) { dispatch h[1, `2.5]() }"},
      {DiagId::DispatchString, "fn main(h: int64) { dispatch h[1, 2](3, `\"x\") }"},
  };
  for (const Case& c : cases) {
    const std::string source = std::string(c.text) + "\nkernel k() { }";
    expectOnly({c.id, source.c_str()});
  }
  // Expressions are the host's business.
  Compiled good(
      "fn main(h: int64, n: int32) { dispatch h[grid: ((n + 1) / 2, 1, 1), block: (n, 1, 1), "
      "shared: 0, "
      "stream: h](n, 1.5) }\nkernel k() { }");
  EXPECT_EQ(good.diagnostics.errorCount(), 0) << good.text();
}

TEST(Refusals, DeviceCode) {
  const Case cases[] = {
      {DiagId::HostOnly, "kernel k() { var s: `string = \"x\" }"},
      {DiagId::HostOnly, "kernel k() { `defer barrier() }"},
      {DiagId::HostOnly,
       "const P: int32 = 1 + new int32\nkernel k() { workgroup var s: int32[`P] }"},
      {DiagId::HostOnly, "enum E { A = new int32 }\nkernel k(a: int64*) { a[0] = `A }"},
      {DiagId::HostOnly, "kernel k() { `match (1) { } }"},
      {DiagId::HostOnly, "kernel k(h: int64) { `dispatch h[1, 2](3) }"},
      {DiagId::HostOnly, "var g: int32 = 1\nkernel k(a: int32*) { a[0] = `g }"},
      {DiagId::HostOnly, "kernel k(a: int32*) { a = `new int32[4] }"},
      {DiagId::HostOnly, "fn f() { `defer g() }\nfn g() { }\nkernel k() { f() }"},
      {DiagId::HostOnly, "struct S { x: int32 }\nkernel k() { var s: `S }"},
      {DiagId::HostOnly, "import \"std/mem\"\nkernel k() { `malloc(4) }"},
      {DiagId::GpuOutsideDevice, "fn main() { `barrier() }\nkernel k() { }"},
      {DiagId::GpuOutsideDevice,
       "fn f() -> int32 { return `thread.x }\nfn main() { f() }\nkernel k() { }"},
      {DiagId::GpuOutsideDevice, "const N: int32 = `thread.x\nkernel k() { }"},
      {DiagId::StorageOutsideKernel, "`workgroup var t: int32[4]\nkernel k() { }"},
      {DiagId::StorageOutsideKernel, "fn f() { `workgroup var t: int32[4]\n }\nkernel k() { f() }"},
      {DiagId::StorageOutsideKernel, "fn f() { `private var t: int32[4]\n }\nkernel k() { }"},
      {DiagId::StorageInitializer, "kernel k(a: int32*) { workgroup var t: int32[4] = `a }"},
      {DiagId::StorageInitializer, "kernel k(a: int32*) { workgroup var t: int32* = `a }"},
      {DiagId::StorageNotArray, "kernel k() { workgroup var t: `int32 }"},
      {DiagId::StorageNotArray, "kernel k() { private var t: `int32 }"},
      {DiagId::PrivatePointer, "kernel k() { private var t: `int32* }"},
      {DiagId::ArrayElement, "kernel k() { workgroup var t: `int32*[4] }"},
      {DiagId::ArrayElement, "kernel k() { workgroup var t: `int32** }"},
      {DiagId::ArrayElement, "kernel k() { workgroup var t: `string[4] }"},
      {DiagId::ArrayElement, "kernel k() { var t: `int32*[4] }"},
      {DiagId::BarrierWord, "kernel k() { barrier(`relaxed) }"},
      {DiagId::BarrierWord, "kernel k() { barrier(1 `+ 1) }"},
      {DiagId::BarrierWord, "kernel k() { barrier(`scope: workgroup) }"},
      {DiagId::RepeatedWord, "kernel k() { barrier(workgroup, `workgroup) }"},
      {DiagId::RepeatedWord, "kernel k() { barrier(acquire, global, `acquire) }"},
      {DiagId::TwoOrders, "kernel k() { barrier(acquire, `release) }"},
      {DiagId::PointerEscapes, "kernel k(pp: int32**) { workgroup var t: int32[4]\n  pp[0] = `t }"},
      {DiagId::PointerEscapes, "kernel k(pp: int32**) { var x: int32 = 1\n  *pp = `&x }"},
      {DiagId::PointerEscapes,
       "kernel k(a: int32*) { workgroup var t: int32[4]\n  var p: int32* = a\n"
       "  var pp: int32** = &p\n  p = `t\n  pp[0][0] = 1 }"},
  };
  for (const Case& c : cases) expectOnly(c);
}

TEST(Refusals, Warnings) {
  const std::pair<DiagId, const char*> bodies[] = {
      {DiagId::Narrowing, "var u: uint8 = `n"},
      {DiagId::Narrowing, "var l: int64 = 1\n  a[0] = `l"},
      {DiagId::Narrowing, "var b: bool = `n"},
      {DiagId::Narrowing, "var u: uint8 = 1\n  u `+= n"},
      {DiagId::ConstantNarrowed, "var u: uint8 = `300"},
      {DiagId::ConstantNarrowed, "var u: uint8 = `-1"},
      {DiagId::ConstantNarrowed, "var b: bool = `2"},
      {DiagId::ConstantNarrowed, "var i: int8 = `128"},
      {DiagId::ProductWidenedLate, "var l: int64 = `(int64)(n * n)"},
      {DiagId::ProductWidenedLate, "var l: int64 = n `* 67108864"},
      {DiagId::ProductWidenedLate, "var l: int64 = `(int64)(n * n + 1)"},
      {DiagId::DivisionByZero, "a[0] = n `/ 0"},
      {DiagId::DivisionByZero, "a[0] = 5 `% 0"},
      {DiagId::UnusedValue, "n `+ 1"},
      {DiagId::UnusedValue, "`a[0]"},
  };
  for (const auto& [id, body] : bodies) {
    expectInKernel(id, body);
  }
  expectOnly({DiagId::SwitchNotExhaustive,
              "enum E { A, B }\nkernel k(e: int64) { var v: E = e\n  `switch (v) { case A: } }"});
}

TEST(Refusals, NothingIsSaidAboutOrdinaryCode) {
  const char* bodies[] = {
      "var u: uint8 = 255\n  u += 1",
      "var i: int64 = block.x * block_dim.x + thread.x",
      "a[n * n] = 1",
      "var l: int64 = (int64)n * n",
      "f[0] = x * 0.5 + 1",
      "var u: uint32 = -1",
      "var b: bool = n != 0\n  a[0] = b",
      "var v: int32\n  if (n) { v = 1 } else { v = 2 }\n  a[0] = v",
      "var v: int32\n  if (n) { v = 1 } else { return }\n  a[0] = v",
      "var v: int32\n  while (true) { v = 1\n  if (n) break }\n  a[0] = v",
      "var v: int32\n  switch (n) { case 1: v = 1; break; default: v = 2 }\n  a[0] = v",
      "var v: int32\n  switch (n > 0) { case true: v = 1; break; case false: v = 2 }\n  a[0] = v",
      "var v: int32\n  switch (n) { case 1: default: v = 2 }\n  a[0] = v",
      "var v: int32\n  var p: int32* = &v\n  a[0] = v",
      "for (;;) { break }",
      "a[0] = 1 / 2",
      "f[0] = 1.0 / 0.0",
      "a[0] = 'a'",
  };
  for (const char* body : bodies) {
    Compiled p(std::string("kernel k(a: int32*, f: float32*, n: int32, x: float32) {\n  ") + body +
               "\n}\n");
    EXPECT_EQ(p.text(), "") << body;
    EXPECT_TRUE(p.module) << body;
  }
}

TEST(Refusals, SeveralInOneRunWithoutCascades) {
  Compiled p(R"(
const N: int32 = M
fn f(x: int32) -> int32 { var y: floot32 = x; return y + N }
kernel k(a: int32*, n: int32) {
  var v: int32 = q
  a[0] = v + 1
  a[1] = N
  if (zz) { a[2] = f(n) }
  var w: int32 = a
  a[w] = w.x
  var v: int32 = 3
}
)");
  std::vector<uint32_t> lines;
  for (const Diagnostic& d : p.diagnostics.all()) lines.push_back(d.range.begin.line());
  EXPECT_EQ(lines, (std::vector<uint32_t>{2, 5, 8, 9, 10, 11, 3})) << p.text();
}

TEST(Refusals, AtMostTwentyErrorsAndTwentyWarnings) {
  std::string errors = "kernel k(a: int32*) {\n";
  std::string warnings = "kernel k(n: int32) {\n";
  for (int i = 0; i < 100; ++i) {
    errors += absl::StrFormat("  a[0] = unknown%d\n", i);
    warnings += absl::StrFormat("  var v%d: uint8 = n\n", i);
  }
  Compiled e(errors + "}\n");
  EXPECT_EQ(e.diagnostics.all().size(), 21u);
  Compiled w(warnings + "}\n");
  EXPECT_EQ(w.diagnostics.all().size(), 21u);
  EXPECT_EQ(w.diagnostics.all().back().id, DiagId::TooManyWarnings);
  EXPECT_TRUE(w.module);
}

TEST(Refusals, SyntaxErrorsDoNotMakeNamesUnknown) {
  Compiled p("kernel k(a: int32*) {\n  var x = 1\n  a[0] = x + y\n}\n");
  ASSERT_EQ(p.diagnostics.all().size(), 1u) << p.text();
  EXPECT_EQ(p.diagnostics.all()[0].id, DiagId::MissingType);
}

}  // namespace
}  // namespace mtlc::frontend
