#include "mtlc/ir/text.h"

#include <random>

#include "gtest/gtest.h"
#include "mtlc/ir/builder.h"
#include "mtlc/ir/verifier.h"

namespace mtlc::ir {
namespace {

// Every form once, in the spelling the printer uses.
constexpr std::string_view kAllForms = R"(module "all forms \22quoted\22"

declare func @ext(f32, ptr<generic>) -> f32

func @"odd name"(%x: i1) -> i1 noinline {
^entry:
  ret %x
}

kernel @k(%p: ptr<global>, %q: ptr<constant>, %n: i32, %f: f32, %h: f16, %b: bf16, %d: f64) launch_bounds(256, 2) {
^entry:
  %tile = alloc.workgroup f32[64] : ptr<workgroup>
  %dyn = alloc.dynamic i8 : ptr<workgroup>
  %slot = alloc.private ptr<global>[1] : ptr<private>
  %0 = const -1 : i8
  %1 = const true : i1
  %2 = const null : ptr<global>
  %3 = const 0.1 : f32
  %4 = const 1e+30 : f32
  %5 = const 0x7fc00001 : f32
  %6 = const 0xfff0000000000000 : f64
  %7 = const -0.0 : f64
  %8 = const 0.1 : f64
  %9 = const 0.33325195 : f16
  %10 = const 1.0 : bf16
  %11 = const -9223372036854775808 : i64
  %12 = gpu.thread_id x : i32
  %13 = gpu.block_dim z : i32
  %14 = sext %12 : i32 to i64
  %15 = ptr.add %p, %14 x f32 : ptr<global>
  %16 = load f32, %15 : ptr<global> align 16 volatile cache streaming
  %17 = fma contract nnan %16, %f, %3 : f32
  %18 = exp approx %17 : f32
  %19 = fcmp.uno %18, %3 : f32
  %20 = select %19, %17, %18 : f32
  %21 = spacecast %15 : ptr<global> to ptr<generic>
  %22 = call @ext(%20, %21) : f32
  %23 = call @"odd name"(%19) : i1
  store f32, %22, %15 : ptr<global>
  store ptr<global>, %p, %slot : ptr<private>
  barrier {workgroup, global} acq_rel
  br %23, ^loop(%12, %22), ^done
^loop(%i: i32, %acc: f32):
  %24 = cmp.slt %i, %n : i32
  br %24, ^loop(%13, %acc), ^bb0
^bb0:
  jump ^done
^done:
  ret
}
)";

std::unique_ptr<Module> parse(SourceManager& sources, DiagnosticEngine& diags,
                              std::string_view text) {
  return parseModule(sources, sources.add("t.mtir", std::string(text)), diags);
}

TEST(Text, RoundTripsEveryForm) {
  SourceManager sources;
  DiagnosticEngine diags;
  std::unique_ptr<Module> module = parse(sources, diags, kAllForms);
  ASSERT_NE(module, nullptr) << renderHuman(diags, sources);
  EXPECT_TRUE(verify(*module, diags)) << renderHuman(diags, sources);
  EXPECT_EQ(print(*module), kAllForms);
  PrintOptions locations{.locations = true};
  std::string located = print(*module, locations);
  EXPECT_NE(located.find("loc(\"t.mtir\":14:3)"), std::string::npos) << located;
  std::unique_ptr<Module> again = parse(sources, diags, located);
  ASSERT_NE(again, nullptr) << renderHuman(diags, sources);
  EXPECT_EQ(print(*again, locations), located);
}

TEST(Text, NamesStayDistinctAndReadable) {
  SourceManager sources;
  Module module(sources, "m");
  Function* f = module.addFunction({.name = "f", .params = {kI32, kI32}, .paramNames = {"x", "x"}});
  Builder b(module);
  b.setInsertEnd(f->addBlock("bb7"));
  Value* v = b.add(f->param(0), f->param(1));
  module.setValueName(v, "x_1");
  Value* w = b.add(v, v);
  module.setValueName(w, "a b%");
  module.setValueName(b.add(w, w), "17");
  b.ret();
  std::string text = print(module);
  EXPECT_EQ(text,
            "module \"m\"\n\nfunc @f(%x: i32, %x_1: i32) {\n^bb0:\n  %x_1_1 = add %x, %x_1 : i32\n"
            "  %a_b_ = add %x_1_1, %x_1_1 : i32\n  %0 = add %a_b_, %a_b_ : i32\n  ret\n}\n");
  DiagnosticEngine diags;
  std::unique_ptr<Module> again = parse(sources, diags, text);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(print(*again), text);
}

TEST(Text, ConstantsOfEveryWidth) {
  std::mt19937_64 rng(3);
  const Type types[] = {kI8, kI16, kI32, kI64, kF16, kBF16, kF32, kF64};
  SourceManager sources;
  Module module(sources, "m");
  Function* f = module.addFunction({.name = "f"});
  Builder b(module);
  b.setInsertEnd(f->addBlock());
  for (Type t : types) {
    for (uint64_t edge :
         {uint64_t{0}, uint64_t{1}, ~uint64_t{0}, t.mask() >> 1, (t.mask() >> 1) + 1}) {
      b.constBits(t, edge);
    }
    for (int i = 0; i < 3000; ++i) b.constBits(t, rng());
    // All 16-bit codes, NaNs included.
    if (t.bits() == 16) {
      for (uint64_t i = 0; i < 65536; ++i) b.constBits(t, i);
    }
  }
  b.ret();
  DiagnosticEngine diags;
  std::unique_ptr<Module> again = parse(sources, diags, print(module));
  ASSERT_NE(again, nullptr) << renderHuman(diags, sources);
  const Operation* x = f->entry()->front();
  const Operation* y = again->findFunction("f")->entry()->front();
  for (; x; x = x->next(), y = y->next()) {
    ASSERT_EQ(x->constBits(), y->constBits()) << print(*x);
  }
}

struct BadCase {
  std::string_view text;
  DiagId id;
  uint32_t line, column;
};

TEST(Text, ErrorsHavePlaceAndKind) {
  const BadCase cases[] = {
      {"func", DiagId::IrExpected, 1, 1},
      {"module \"m\"\nfunc @f( {", DiagId::IrExpected, 2, 10},
      {"module \"m\"\nfunc @f() {\n^e:\n  %x = frob %y : i32\n  ret\n}", DiagId::IrUnknownOperation,
       4, 8},
      {"module \"m\"\nfunc @f() {\n^e:\n  %x = const 300 : i8\n  ret\n}", DiagId::IrLiteral, 4, 14},
      {"module \"m\"\nfunc @f() {\n^e:\n  %x = const 0x1ff : i8\n  ret\n}", DiagId::IrLiteral, 4,
       14},
      {"module \"m\"\nfunc @f() {\n^e:\n  %x = const inf : f32\n  ret\n}", DiagId::IrLiteral, 4,
       14},
      {"module \"m\"\nfunc @f() {\n^e:\n  %x = const 1 : i7\n  ret\n}", DiagId::IrUnknownType, 4,
       18},
      {"module \"m\"\nfunc @f() {\n^e:\n  %x = neg %y : i32\n  ret\n}", DiagId::IrUndefinedValue, 4,
       12},
      {"module \"m\"\nfunc @f() {\n^e:\n  jump ^g\n}", DiagId::IrUndefinedBlock, 4, 8},
      {"module \"m\"\nfunc @f() {\n^e:\n  call @g()\n  ret\n}", DiagId::IrUndefinedFunction, 4, 8},
      {"module \"m\"\nfunc @f(%a: i32, %a: i32) {\n^e:\n  ret\n}", DiagId::IrRedefinition, 2, 18},
      {"module \"m\"\nfunc @f() {\n^e:\n  ret\n^e:\n  ret\n}", DiagId::IrRedefinition, 5, 1},
      {"module \"m\"\nfunc @f() {\n^e:\n  ret\n}\nfunc @f() {\n^e:\n  ret\n}",
       DiagId::IrRedefinition, 6, 6},
      {"module \"m\n", DiagId::IrUnterminatedString, 1, 8},
      {"module \"m\"\n\x01", DiagId::IrBadCharacter, 2, 1},
      {"module \"m\"\nfunc @f() {\n^e:\n  ret\n", DiagId::IrExpected, 5, 1},
      {"module \"m\"\nfunc @f() {\n}", DiagId::IrExpected, 2, 6},
  };
  for (const BadCase& c : cases) {
    SourceManager sources;
    DiagnosticEngine diags;
    EXPECT_EQ(parse(sources, diags, c.text), nullptr) << c.text;
    ASSERT_FALSE(diags.all().empty()) << c.text;
    const Diagnostic& d = diags.all().front();
    EXPECT_EQ(diagRow(d.id).name, diagRow(c.id).name) << c.text;
    EXPECT_EQ(d.range.begin.line(), c.line) << c.text << d.message;
    EXPECT_EQ(d.range.begin.column(), c.column) << c.text << d.message;
  }
}

TEST(Text, SeveralErrorsInOneRun) {
  SourceManager sources;
  DiagnosticEngine diags;
  EXPECT_EQ(parse(sources, diags,
                  "module \"m\"\nfunc @f() {\n^e:\n  %x = frob 1\n  %y = const q : i32\n  ret\n}\n"
                  "func @g() {\n^e:\n  jump ^nowhere\n}\n"),
            nullptr);
  EXPECT_EQ(diags.errorCount(), 3) << renderHuman(diags, sources);
}

// Hostile input: whatever happens to the bytes, parsing ends, and what it accepts prints and parses
// again.
TEST(Text, SurvivesMutations) {
  std::mt19937 rng(11);
  int accepted = 0;
  auto check = [&](std::string_view text) {
    SourceManager sources;
    DiagnosticEngine diags;
    std::unique_ptr<Module> module = parse(sources, diags, text);
    EXPECT_EQ(module == nullptr, diags.hasErrors());
    if (!module) return;
    ++accepted;
    verify(*module, diags);
    std::string printed = print(*module);
    DiagnosticEngine again;
    std::unique_ptr<Module> second = parse(sources, again, printed);
    ASSERT_NE(second, nullptr) << printed << renderHuman(again, sources);
    EXPECT_EQ(print(*second), printed);
  };
  for (size_t n = 0; n <= kAllForms.size(); ++n) check(kAllForms.substr(0, n));
  const std::string_view pieces[] = {"%",
                                     "^",
                                     "@",
                                     "\"",
                                     "{",
                                     "}",
                                     "(",
                                     ")",
                                     ",",
                                     ":",
                                     "ret",
                                     "%i",
                                     "0x",
                                     "-",
                                     "9999999999999999999999",
                                     "\xFF",
                                     std::string_view("\0", 1)};
  for (int round = 0; round < 3000; ++round) {
    std::string text(kAllForms);
    for (unsigned k = rng() % 3 + 1; k > 0; --k) {
      size_t at = rng() % text.size();
      switch (rng() % 3) {
        case 0:
          text.erase(at, rng() % 12 + 1);
          break;
        case 1:
          text.insert(at, pieces[rng() % std::size(pieces)]);
          break;
        default: {
          size_t from = rng() % text.size();
          text.insert(at, text.substr(from, rng() % 40));
        }
      }
    }
    check(text);
  }
  EXPECT_GT(accepted, 10);
}

}  // namespace
}  // namespace mtlc::ir
