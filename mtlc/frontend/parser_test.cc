#include "mtlc/frontend/parser.h"

#include <cstring>
#include <string>

#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "mtlc/frontend/lexer.h"
#include "mtlc/frontend/test_util.h"

namespace mtlc::frontend {
namespace {

using namespace ast;  // NOLINT

struct Parsed {
  SourceManager sources;
  Interner interner;
  Arena arena;
  DiagnosticEngine diagnostics;
  File* file;

  explicit Parsed(std::string text) {
    FileId id = sources.add("t.mettle", std::move(text));
    TokenBuffer tokens = lex(sources, id, interner, arena, diagnostics);
    file = parse(tokens, id, interner, arena, diagnostics);
  }
  std::string text() const { return renderHuman(diagnostics, sources); }
  const FunctionDecl* function(size_t i = 0) const {
    return static_cast<const FunctionDecl*>(file->decls[i]);
  }
};

std::string show(const Interner& names, const TypeRef* t) {
  switch (t->kind) {
    case TypeRefKind::named:
      return (t->qualifier ? std::string(names.text(t->qualifier)) + "." : "") +
             std::string(names.text(t->name));
    case TypeRefKind::pointer:
      return show(names, t->elem) + "*";
    case TypeRefKind::array:
      return show(names, t->elem) + "[]";
    case TypeRefKind::host:
      return "host";
  }
  return "";
}

std::string show(const Interner& names, const Expr* e) {
  auto sub = [&](const Expr* x) { return show(names, x); };
  switch (e->kind) {
    case ExprKind::integer:
      return std::to_string(static_cast<const IntegerExpr*>(e)->value);
    case ExprKind::floating:
      return absl::StrFormat("%g", static_cast<const FloatExpr*>(e)->value);
    case ExprKind::character:
      return absl::StrFormat("'%d'", static_cast<const CharacterExpr*>(e)->value);
    case ExprKind::string:
      return "str";
    case ExprKind::name:
      return std::string(names.text(static_cast<const NameExpr*>(e)->name));
    case ExprKind::unary: {
      auto* u = static_cast<const UnaryExpr*>(e);
      return absl::StrFormat("(%c %s)", "-+*&~!"[static_cast<int>(u->op)], sub(u->operand));
    }
    case ExprKind::binary: {
      auto* b = static_cast<const BinaryExpr*>(e);
      return absl::StrFormat("(%s %s %s)", binaryOpText(b->op), sub(b->lhs), sub(b->rhs));
    }
    case ExprKind::cast: {
      auto* c = static_cast<const CastExpr*>(e);
      return absl::StrFormat("(cast %s %s)", show(names, c->type), sub(c->operand));
    }
    case ExprKind::call: {
      auto* c = static_cast<const CallExpr*>(e);
      std::string out = "(call " + sub(c->callee);
      for (const TypeRef* t : c->typeArgs) out += " <" + show(names, t) + ">";
      for (const Argument& a : c->args) {
        out += a.label ? absl::StrFormat(" %s:", names.text(a.label)) : " ";
        out += sub(a.value);
      }
      return out + ")";
    }
    case ExprKind::index: {
      auto* i = static_cast<const IndexExpr*>(e);
      return absl::StrFormat("([] %s %s)", sub(i->base), sub(i->index));
    }
    case ExprKind::member: {
      auto* m = static_cast<const MemberExpr*>(e);
      return absl::StrFormat("(%s %s %s)", m->arrow ? "->" : ".", sub(m->base),
                             names.text(m->member));
    }
    case ExprKind::sizeofType:
      return "(sizeof " + show(names, static_cast<const SizeofExpr*>(e)->type) + ")";
    case ExprKind::host:
      return "host";
  }
  return "";
}

// `text` as the only statement of a function.
std::string expr(const std::string& text) {
  Parsed p("fn f<T>() {\n" + text + "\n}\nenum E { A }\n");
  if (p.diagnostics.hasErrors()) return p.text();
  const Block* body = p.function()->body;
  if (body->statements.size() != 1 || body->statements[0]->kind != StmtKind::expression)
    return absl::StrFormat("%d statements", body->statements.size());
  return show(p.interner, static_cast<const ExprStmt*>(body->statements[0])->expr);
}

TEST(Parser, Precedence) {
  EXPECT_EQ(expr("a || b && c | d ^ e & f == g < h << i + j * -k"),
            "(|| a (&& b (| c (^ d (& e (== f (< g (<< h (+ i (* j (- k)))))))))))");
  EXPECT_EQ(expr("a - b - c"), "(- (- a b) c)");
  EXPECT_EQ(expr("a / b % c * d"), "(* (% (/ a b) c) d)");
  EXPECT_EQ(expr("a & b == c"), "(& a (== b c))");
  EXPECT_EQ(expr("a << 1 + 2"), "(<< a (+ 1 2))");
  EXPECT_EQ(expr("-a[1].x * *p"), "(* (- (. ([] a 1) x)) (* p))");
  EXPECT_EQ(expr("!a == b"), "(== (! a) b)");
  EXPECT_EQ(expr("(a + b) * c"), "(* (+ a b) c)");
}

TEST(Parser, Casts) {
  EXPECT_EQ(expr("(int32)x + 1"), "(+ (cast int32 x) 1)");
  EXPECT_EQ(expr("(float32*)p"), "(cast float32* p)");
  EXPECT_EQ(expr("(bool)-x"), "(cast bool (- x))");
  EXPECT_EQ(expr("(T)(x)"), "(cast T x)");
  EXPECT_EQ(expr("(T*)p[1]"), "(cast T* ([] p 1))");
  EXPECT_EQ(expr("(E)-x"), "(cast E (- x))");
  EXPECT_EQ(expr("(m.E)x"), "(cast m.E x)");
  EXPECT_EQ(expr("(a)-x"), "(- a x)");
  EXPECT_EQ(expr("(a)*x"), "(* a x)");
  EXPECT_EQ(expr("(Other)x"), "(cast Other x)");
  EXPECT_EQ(expr("(int32)(uint8)x"), "(cast int32 (cast uint8 x))");
}

TEST(Parser, GenericCallsAndComparisons) {
  EXPECT_EQ(expr("f<int32>(x)"), "(call f <int32> x)");
  EXPECT_EQ(expr("f<int32*, T>(x, y)"), "(call f <int32*> <T> x y)");
  EXPECT_EQ(expr("a < b"), "(< a b)");
  EXPECT_EQ(expr("a < b > c"), "(> (< a b) c)");
  EXPECT_EQ(expr("g(a < b, c > d)"), "(call g (< a b) (> c d))");
}

TEST(Parser, NamedArgumentsAndWords) {
  EXPECT_EQ(expr("barrier(workgroup, global, acq_rel)"), "(call barrier workgroup global acq_rel)");
  EXPECT_EQ(expr("atomic_load(p, i, order: acquire, scope: workgroup)"),
            "(call atomic_load p i order:acquire scope:workgroup)");
  EXPECT_EQ(expr("f(rounding: default, x: -1)"), "(call f rounding:default x:(- 1))");
  EXPECT_EQ(expr("sizeof(int64*)"), "(sizeof int64*)");
}

TEST(Parser, NewlinesEndStatementsOutsideBrackets) {
  EXPECT_EQ(expr("f(a,\n  b\n  + c)"), "(call f a (+ b c))");
  EXPECT_EQ(expr("a +\n b"), "(+ a b)");
  EXPECT_EQ(expr("a\n+ b"), "2 statements");
  EXPECT_EQ(expr("a\n(b)"), "2 statements");
  EXPECT_EQ(expr("a = 1 b = 2"), "2 statements");
  EXPECT_EQ(expr("a = p[\n1\n]; b = 2;"), "2 statements");
}

TEST(Parser, EveryStatementForm) {
  Parsed p(R"(
import "std/math"
import "a" as b;
import {x, y} from "p" if windows
const N: int32 = 4 * 4
enum E { A, B = 5
  C }
struct S { x: int32; method f() { } }
extern fn g(x: float32) -> float32 = "g_link"
fn fwd(x: int32) -> int32;
@inline! fn h<T>(x: T): T { return x }
@launch_bounds(256, 2) @fp(contract)
export kernel k(a: int32*, n: int32)
{
  workgroup var t: float32[N];
  private var q: int32[4]
  var p: int32*= a
  const M: int64 = 3;
  if (n > 0) a[0] = 1; else a[0] = 2
  if (n) { }
  else if (n == 2)
    { a[1] += 1 }
  else { }
  outer: while (true) { break outer }
  for (;;) { break }
  for (var i: int32 = 0; i < n; i += 1) continue
  for i in 0..n { }
  for (j: int64 in 0..=n) { a[j] = 0 }
  switch (n) { case 1: case 2: a[0] = 1; break; case 3..5: default: { } }
  switch (n) { }
  { ; }
  @simd for i in 0..3 { }
  dispatch f[1, 2](3)
  defer g(1.0)
  return
}
)");
  EXPECT_EQ(p.text(), "");
  ASSERT_EQ(p.file->imports.size(), 3u);
  EXPECT_TRUE(p.file->imports[2].selective);
  EXPECT_EQ(p.file->imports[2].platform, names::windows);
  ASSERT_EQ(p.file->decls.size(), 7u);
  const FunctionDecl* k = p.function(6);
  EXPECT_TRUE(k->isKernel && k->exported && p.file->hasExports);
  EXPECT_EQ(k->decorators.size(), 2u);
  EXPECT_EQ(k->body->statements.size(), 18u);
}

struct Refusal {
  const char* text;
  DiagId id;
  uint32_t line, column;
};

TEST(Parser, Refusals) {
  const Refusal cases[] = {
      {"fn 123", DiagId::ExpectedToken, 1, 4},
      {"}", DiagId::UnexpectedClosingBrace, 1, 1},
      {"fn f() {\n  var x = 1\n}", DiagId::MissingType, 2, 7},
      {"const N = 1", DiagId::MissingType, 1, 7},
      {"fn f(x) { }", DiagId::MissingType, 1, 6},
      {"fn f() {\n  x = (1 + \n}", DiagId::ExpectedToken, 3, 1},
      {"fn f() {\n  if (a b) { x = 1 }\n}", DiagId::ExpectedToken, 2, 9},
      {"fn f() {\n  g(1\n", DiagId::ExpectedToken, 3, 1},
      {"fn f() {\n  x = 1\n", DiagId::UnclosedBlock, 1, 8},
      {"fn f() {\n  x = 1\nkernel k() {\n}", DiagId::UnclosedBlock, 1, 8},
      {"fn f() {\n  else { }\n}", DiagId::ElseWithoutIf, 2, 3},
      {"fn f() {\n  case 1:\n}", DiagId::CaseOutsideSwitch, 2, 3},
      {"fn f() {\n  var a: int32[2][3]\n}", DiagId::ArrayOfArrays, 2, 18},
      {"struct S {\n", DiagId::UnclosedBracket, 1, 10},
      {"fn f() {\n  switch (a) { x = 1 }\n}", DiagId::ExpectedToken, 2, 16},
      {"fn f() {\n  var x: int32 = 1 y = 2\n}", DiagId::ExpectedToken, 2, 20},
      {"fn f() {\n  x = 1 +\n}", DiagId::ExpectedToken, 2, 10},
      {"import p", DiagId::ExpectedToken, 1, 8},
      {"@ fn f() { }", DiagId::ExpectedToken, 1, 3},
      {"x = 1", DiagId::ExpectedToken, 1, 1},
  };
  for (const Refusal& c : cases) {
    Parsed p(c.text);
    ASSERT_EQ(p.diagnostics.all().size(), 1u) << c.text << "\n" << p.text();
    const Diagnostic& d = p.diagnostics.all()[0];
    EXPECT_EQ(d.id, c.id) << c.text << ": " << d.message;
    EXPECT_EQ(d.range.begin, SourceLoc(1, c.line, c.column)) << c.text << "\n" << p.text();
  }
}

TEST(Parser, OneMessageForEachMistake) {
  Parsed p(R"(
fn f() {
  var x: int32 = ) 3
  if (a b) {
    y = * / 2
  }
  for (i = 0 i < 3; i += 1) { z = 1 }
  g(1, 2
  var w: int32 = 3
  h(]
}
kernel k( { }
fn ok() { }
)");
  std::vector<uint32_t> lines;
  for (const Diagnostic& d : p.diagnostics.all()) lines.push_back(d.range.begin.line());
  EXPECT_EQ(lines, (std::vector<uint32_t>{3, 4, 5, 7, 9, 10, 12})) << p.text();
  EXPECT_EQ(p.file->decls.size(), 2u);
}

TEST(Parser, ErrorsStopAtTheLimit) {
  std::string text = "fn f() {\n";
  for (int i = 0; i < 1000; ++i) text += "var x = 1\n";
  Parsed p(text + "}\n");
  EXPECT_LE(p.diagnostics.all().size(), 21u);
}

TEST(Parser, NestingIsBounded) {
  onSmallStack([] {
    struct Shape {
      const char *open, *middle, *close;
    };
    const Shape shapes[] = {
        {"(", "1", ")"},
        {"-", "1", ""},
        {"{", "", "}"},
        {"if (1) ", "x = 1", ""},
        {"a[", "1", "]"},
        {"f(", "1", ")"},
        {"(int32)", "1", ""},
        {"1 + (", "1", ")"},
        {"while (1) { ", "", "}"},
        {"switch (1) { case 1: ", "", "}"},
        {"a && !(", "1", ")"},
    };
    for (const Shape& s : shapes) {
      for (size_t n : {10, 200, 10000, 1000000}) {
        // Two or three levels each.
        if (n == 200 && (std::string_view(s.open) == "a && !(" || s.open[0] == '1')) continue;
        if (n == 1000000 && !std::strchr("(-{", s.open[0])) continue;
        bool statement = std::string_view(s.open).find_first_of("{wis") == 0 &&
                         std::string_view(s.open) != "(int32)";
        Parsed p("fn f() {\n" + std::string(statement ? "" : "x = ") + times(n, s.open) + s.middle +
                 times(n, s.close) + "\n}\n");
        if (n <= 200) {
          EXPECT_EQ(p.text(), "") << s.open << n;
        } else {
          ASSERT_EQ(p.diagnostics.all().size(), 1u) << s.open << n;
          EXPECT_EQ(p.diagnostics.all()[0].id, DiagId::NestingTooDeep);
          EXPECT_EQ(p.diagnostics.all()[0].message, "nesting too deep (limit 256)");
          EXPECT_EQ(p.diagnostics.all()[0].range.begin.line(), 2u);
        }
      }
    }
    // Suffixes and pointers make deep trees without brackets.
    for (std::string text : {"x = p" + times(5000, "[0]"), "x = p" + times(5000, ".q"),
                             "x = p" + times(5000, "(1)"), "var p: int32" + times(5000, "*")}) {
      Parsed p("fn f() {\n" + text + "\n}\n");
      ASSERT_EQ(p.diagnostics.all().size(), 1u);
      EXPECT_EQ(p.diagnostics.all()[0].id, DiagId::NestingTooDeep);
    }
  });
}

TEST(Parser, LongIsNotDeep) {
  onSmallStack([] {
    for (std::string text : {times(20000, "x = x + 1\n"), "x = 1" + times(20000, " + 1"),
                             "if (x) { }" + times(20000, " else if (x) { }"),
                             "x = a" + times(20000, " && a"), "f(" + times(20000, "1, ") + "1)",
                             "switch (x) {" + times(20000, "case 1: x = 1 ") + "}"}) {
      Parsed p("fn f() {\n" + text + "\n}\n");
      EXPECT_EQ(p.text(), "");
      ASSERT_EQ(p.file->decls.size(), 1u);
    }
  });
}

TEST(Parser, EveryPrefixAndEveryTokenDeletedEnds) {
  const std::string text = R"(import {a} from "b"
@launch_bounds(64) kernel k(a: int32*, n: int32) {
  workgroup var t: float32[16]
  for (var i: int32 = 0; i < n; i += 1) { if (i % 2 == 0) { a[i] = f<int32>(i) } else { break } }
  switch (n) { case 1..2: x = -1; default: y = "s" }
  l: while (!(n > 3)) continue l
}
)";
  for (size_t n = 0; n < text.size(); ++n) {
    Parsed prefix(text.substr(0, n));
    EXPECT_LE(prefix.diagnostics.all().size(), 21u);
    Parsed deleted(text.substr(0, n) + text.substr(n + 1));
    EXPECT_LE(deleted.diagnostics.all().size(), 21u);
    for (const char* extra : {"}", "{", ")", "(", "else", "\"", "\n"}) {
      Parsed inserted(text.substr(0, n) + extra + text.substr(n));
      EXPECT_LE(inserted.diagnostics.all().size(), 21u);
    }
  }
}

}  // namespace
}  // namespace mtlc::frontend
