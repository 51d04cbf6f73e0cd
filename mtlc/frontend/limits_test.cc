// Hostile and extreme input: deep, long, large, cut, mutated. Nothing crashes, hangs or takes more
// than linear time; what is refused is refused with a message.

#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "mtlc/frontend/test_util.h"

namespace mtlc::frontend {
namespace {

std::string kernel(const std::string& body) {
  return "import \"std/math\"\n"
         "fn g(x: int32) -> int32 { return x }\n"
         "kernel k(a: int32*, b: bool*, n: int32) {\n" +
         body + "\n}\n";
}

TEST(Limits, DeepNestingIsCompiledOrRefused) {
  onSmallStack([] {
    struct Shape {
      const char *before, *open, *middle, *close, *after;
      size_t most;  // Levels that must still compile.
    };
    const Shape shapes[] = {
        {"a[0] = ", "(", "n", ")", "", 200},
        {"a[0] = ", "-", "n", "", "", 200},
        {"a[0] = ", "~", "n", "", "", 200},
        {"b[0] = ", "!", "n", "", "", 200},
        {"a[0] = ", "(int32)", "n", "", "", 200},
        {"", "{", "a[0] = n", "}", "", 200},
        {"", "if (n > 1) {", "a[0] = n", "}", "", 200},
        {"", "if (n > 1) ", "a[0] = n", "", "", 200},
        {"", "while (n > 1) {", "a[0] = n", "}", "", 200},
        {"", "for (;;) {", "a[0] = n", "}", "", 200},
        {"", "for i in 0..n {", "a[0] = n", "}", "", 200},
        {"", "switch (n) { case 1: ", "a[0] = n", "}", "", 200},
        {"", "if (n > 1) { } else {", "a[0] = n", "}", "", 200},
        {"a[0] = ", "a[", "n", "]", "", 200},
        {"a[0] = ", "g(", "n", ")", "", 200},
        {"a[0] = ", "min(1, ", "n", ")", "", 200},
        {"a[0] = ", "1 + (", "n", ")", "", 100},
        {"b[0] = ", "n > 0 && !(", "n", ")", "", 80},
        {"b[0] = ", "n > 0 || n < 5 && n == 1 & 3 ^ 4 | 5 << (", "n", ")", "", 20},
        {"const C: int32 = ", "(1 + ", "1", ")", "", 100},
        {"var v: int32[", "(", "1", ")", "]", 200},
    };
    for (const Shape& s : shapes) {
      for (size_t n : {size_t{10}, s.most, size_t{255}, size_t{10000}}) {
        Compiled p(kernel(s.before + times(n, s.open) + s.middle + times(n, s.close) + s.after));
        if (n <= s.most) {
          EXPECT_FALSE(p.diagnostics.hasErrors()) << s.open << n << p.text();
          EXPECT_TRUE(p.module) << s.open << n;
        } else if (!p.module) {
          ASSERT_EQ(p.diagnostics.errorCount(), 1) << s.open << n;
          EXPECT_EQ(p.diagnostics.all().back().id, DiagId::NestingTooDeep) << s.open << n;
        }
        if (n == 10000) {
          EXPECT_FALSE(p.module) << s.open;
        }
      }
    }
  });
}

TEST(Limits, LongIsNotDeep) {
  onSmallStack([] {
    constexpr size_t kMany = 20000;
    const std::string bodies[] = {
        times(kMany, "a[0] = a[1] + n\n"),
        "var x: int32 = n\n" + times(kMany, "x = x * 3 + n\n") + "a[0] = x",
        "a[0] = n" + times(kMany, " + n"),
        "a[0] = n" + times(kMany, " * n - 1"),
        "a[0] = 1" + times(kMany, " + 1"),
        "b[0] = n > 0" + times(kMany, " && n > 1"),
        "b[0] = n > 0" + times(kMany, " || n > 1"),
        "b[0] = n > 0" + times(kMany, " && n > 1 || n < 3"),
        "if (n > 0" + times(kMany, " && n > 1 || n < 3") + ") { a[0] = 1 }",
        "b[0] = n" + times(kMany, " == n"),
        "b[0] = n" + times(kMany, " < n"),
        "a = a" + times(kMany, " + 1"),
        "a = 1 + a" + times(kMany, " - n"),
        "if (n == 0) { }" + times(kMany, " else if (n == 1) { a[0] = 1 }"),
        "switch (n) {" + times(kMany, "default: a[0] = 1 ") + "}",
        times(kMany, "{ }"),
        times(kMany, "var q: int32 = n { "),
    };
    for (const std::string& body : bodies) {
      bool refused = body.starts_with("switch") || body.starts_with("var q");
      Compiled p(kernel(body));
      EXPECT_EQ(p.module == nullptr, refused) << body.substr(0, 60) << "\n"
                                              << p.text().substr(0, 500);
    }
    std::string cases, functions, pointers;
    for (size_t i = 0; i < kMany; ++i) {
      absl::StrAppendFormat(&cases, "case %d: a[0] = %d; break\n", i, i);
      absl::StrAppendFormat(&functions, "fn h%d(p: int32*) -> int32* { return h%d(p) }\n", i,
                            i + 1);
      absl::StrAppendFormat(&pointers, "var p%d: int32* = %s\n", i,
                            i ? absl::StrFormat("p%d + 1", i - 1) : "a");
    }
    EXPECT_TRUE(Compiled(kernel("switch (n) {\n" + cases + "}")).module);
    EXPECT_TRUE(Compiled(kernel(pointers)).module);
    // A chain of helpers, each needing the result of the next to know its address space.
    Compiled chain(functions +
                   absl::StrFormat("fn h%d(p: int32*) -> int32* { return p }\n", kMany) +
                   kernel("workgroup var t: int32[4]\nh0(t)[0] = 1"));
    EXPECT_TRUE(chain.module) << chain.text().substr(0, 500);
  });
}

TEST(Limits, ChainsOfDeclarationsAreBounded) {
  onSmallStack([] {
    std::string inOrder, reversed, enums, deep;
    for (int i = 0; i < 5000; ++i) {
      absl::StrAppendFormat(&inOrder, "const A%d: int32 = %s\n", i,
                            i ? absl::StrFormat("A%d + 1", i - 1) : "0");
      absl::StrAppendFormat(&reversed, "const B%d: int32 = B%d + 1\n", i, i + 1);
      absl::StrAppendFormat(&enums, "enum E%d { V%d = V%d }\n", i, i, i + 1);
    }
    for (int i = 0; i < 60; ++i) {
      absl::StrAppendFormat(&deep, "const D%d: int32 = %sD%d\n", i, times(200, "-"), i + 1);
    }
    EXPECT_TRUE(Compiled(inOrder + kernel("a[0] = A4999")).module);
    Compiled r(reversed + "const B5000: int32 = 0\n" + kernel("a[0] = B0"));
    EXPECT_FALSE(r.module);
    EXPECT_EQ(r.diagnostics.all()[0].id, DiagId::NestingTooDeep);
    EXPECT_FALSE(Compiled(enums + "const V5000: int32 = 0\n" + kernel("")).module);
    Compiled d(deep + "const D60: int32 = 0\n" + kernel("a[0] = D0"));
    EXPECT_FALSE(d.module);
    EXPECT_EQ(d.diagnostics.all()[0].id, DiagId::NestingTooDeep);
  });
}

// Recursion is refused by the verifier for device code; here it must end.
TEST(Limits, RecursionEnds) {
  onSmallStack([] {
    const char* sources[] = {
        "fn f(p: int32*, q: int32*) -> int32* { return f(q, p) }\n",
        "fn f(p: int32*, q: int32*) -> int32* { if (p == q) { return p } return f(q + 1, p) }\n",
        "fn f(p: int32*, q: int32*) -> int32* { return g2(q, p) }\n"
        "fn g2(p: int32*, q: int32*) -> int32* { var r: int32* = f(p, q)\n r = f(r, f(q, r))\n"
        "return r }\n",
    };
    for (const char* source : sources) {
      Compiled p(std::string(source) +
                 kernel("workgroup var t: int32[4]\nvar x: int32 = 1\n"
                        "f(a, t)[0] = 1\nf(&x, t)[0] = 1\nf(f(a, t), &x)[0] = 2"));
      EXPECT_TRUE(p.module) << p.text();
    }
    std::string params, rotated, args = "a, t";
    for (int i = 0; i < 12; ++i) {
      absl::StrAppendFormat(&params, "%sp%d: int32*", i ? ", " : "", i);
      absl::StrAppendFormat(&rotated, "%sp%d", i ? ", " : "", (i * 5 + 1) % 12);
    }
    for (int i = 2; i < 12; ++i) args += i % 3 ? ", a" : ", t";
    std::string f = "fn f(" + params + ") {\n f(" + rotated +
                    ")\n f(p1, p0, p3, p2, p5, p4, p7, p6, " + "p9, p8, p11, p10)\n}\n";
    EXPECT_TRUE(Compiled(f + kernel("workgroup var t: int32[4]\nf(" + args + ")")).module);
  });
}

TEST(Limits, LargeNamesAndLines) {
  std::string name(64 << 10, 'q');
  Compiled p("kernel k(" + name + ": int32*) { " + name + "[0] = 1 }");
  EXPECT_TRUE(p.module) << p.text().substr(0, 300);
  Compiled unknown(kernel("a[0] = " + name));
  EXPECT_EQ(unknown.diagnostics.all().size(), 1u);
}

const char* const kSample = R"(import "std/math"
import {cos} from "std/math" if linux
enum Mode { OFF, ON = 4, AUTO }
const W: int32 = 8 * 2
fn pick<T>(p: T*, i: int32) -> T { return p[i] }
@inline fn blend(p: float32*, q: float32*, c: bool) -> float32* { if (c) { return p } return q }
@launch_bounds(256, 2) @fp(contract)
kernel k(a: float32*, b: int32*, u: uint8*, n: int32) {
  workgroup var t: float32[W]
  workgroup var d: uint32*
  private var s: int32[4]
  var i: int32 = block.x * block_dim.x + thread.x
  var x: int32
  if (i < n && u[i] != 0 || !(n > 3)) { x = 1 } else if (n == 2) { x = 2 } else x = 3
  barrier(workgroup, acq_rel)
  outer: while (true) {
    for (var j: int32 = 0; j < n; j += 1) { if (j % 3 == 0) continue outer; if (j > 7) break outer }
    break
  }
  for m in 0..=n { t[m & 15] = (float32)m * 0.5 + sqrtf(a[m]) }
  switch (x) { case 1: case 'a': b[0] = ON; break; case 2..5: b[1] = -1
    default: b[2] = (int32)pick<float32>(blend(a, t, n > 1), 2) }
  b[3] += min(b[4], 0x7F) << 2 >> 1
  u[0] = (uint8)300.5
  d[0] = ~d[1] ^ (uint32)sizeof(int64)
}
)";

TEST(Limits, EveryPrefixEnds) {
  std::string sample = kSample;
  ASSERT_TRUE(Compiled(sample).module) << Compiled(sample).text();
  for (size_t n = 0; n < sample.size(); ++n) {
    Compiled p(sample.substr(0, n));
    EXPECT_LE(p.diagnostics.all().size(), 41u) << n;
    EXPECT_EQ(p.module == nullptr, p.diagnostics.hasErrors()) << n << "\n" << p.text();
  }
}

// Splits into words, numbers and single characters.
std::vector<std::string> tokensOf(const std::string& text) {
  std::vector<std::string> out;
  for (size_t i = 0; i < text.size();) {
    size_t begin = i;
    auto word = [&](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    while (i < text.size() && word(text[i])) ++i;
    if (i == begin) ++i;
    out.push_back(text.substr(begin, i - begin));
  }
  return out;
}

TEST(Limits, MutationsEndInAModuleOrAMessage) {
  std::vector<std::string> tokens = tokensOf(kSample);
  std::mt19937 random(20240611);
  auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  auto check = [](const std::vector<std::string>& list) {
    std::string text;
    for (const std::string& t : list) text += t;
    Compiled p(text);
    EXPECT_EQ(p.module == nullptr, p.diagnostics.hasErrors()) << text << "\n" << p.text();
    EXPECT_LE(p.diagnostics.all().size(), 42u) << text;
    for (const Diagnostic& d : p.diagnostics.all()) EXPECT_TRUE(d.range.begin.valid());
  };
  for (size_t i = 0; i < tokens.size(); ++i) {
    std::vector<std::string> gone = tokens, twice = tokens, swapped = tokens;
    gone.erase(gone.begin() + i);
    twice.insert(twice.begin() + i, tokens[i]);
    if (i + 1 < tokens.size()) std::swap(swapped[i], swapped[i + 1]);
    check(gone);
    check(twice);
    check(swapped);
  }
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string> list = tokens;
    for (size_t edits = 1 + below(4); edits > 0; --edits) {
      size_t at = below(list.size());
      switch (below(4)) {
        case 0:
          list.erase(list.begin() + at);
          break;
        case 1:
          list.insert(list.begin() + at, tokens[below(tokens.size())]);
          break;
        case 2:
          list[at] = tokens[below(tokens.size())];
          break;
        default:
          std::swap(list[at], list[below(list.size())]);
          break;
      }
    }
    check(list);
  }
}

TEST(Limits, OddFiles) {
  for (std::string text :
       {std::string(), std::string("\xEF\xBB\xBF"), std::string("\0\0\0", 3), std::string("}"),
        std::string("}}}}"), std::string("fn 123"),
        std::string("kernel k(a: int32*) { a[0] = 1e999999 }"), std::string("\xFF\xFE\xFD kernel"),
        std::string("/*"), std::string("\"\\"), std::string("'"), std::string("@"),
        std::string("import"), std::string("import {"), std::string("enum E {"),
        std::string("kernel k(a: int32*) { a[0] = 1 }}")}) {
    Compiled p(text);
    EXPECT_EQ(p.module == nullptr, p.diagnostics.hasErrors()) << text;
  }
}

double secondsFor(const std::string& text) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    clock_t begin = clock();
    Compiled p(text);
    EXPECT_TRUE(p.module) << p.text().substr(0, 300);
    best = std::min(best, static_cast<double>(clock() - begin) / CLOCKS_PER_SEC);
  }
  return best;
}

// Twice the input may take somewhat more than twice the time (caches), but not four times.
TEST(Limits, TimeIsLinear) {
  auto kernels = [](int n) {
    std::string text;
    for (int i = 0; i < n; ++i) {
      absl::StrAppendFormat(&text, "kernel k%d(a: float32*, n: int32) {\n", i);
      for (int j = 0; j < 10; ++j)
        absl::StrAppendFormat(&text, "  a[n + %d] = a[n] * 0.5 + %d\n", j, j);
      text += "}\n";
    }
    return text;
  };
  auto statements = [](int n) {
    std::string text = "kernel k(a: float32*, n: int32) {\n";
    for (int i = 0; i < n; ++i) {
      absl::StrAppendFormat(&text, "  var v%d: int32\n  if (n > %d) { v%d = n } else { v%d = 2 }\n",
                            i, i, i, i);
      absl::StrAppendFormat(&text, "  a[%d] = v%d\n", i, i);
    }
    return text + "}\n";
  };
  // The least of some tries: what else the machine does makes one half look slower.
  auto ratio = [&](auto make, int n) {
    double least = 1e9;
    for (int i = 0; i < 5 && least >= 3.2; ++i) {
      least = std::min(least, secondsFor(make(2 * n)) / secondsFor(make(n)));
    }
    return least;
  };
  EXPECT_LT(ratio(kernels, 1000), 3.2);
  EXPECT_LT(ratio(statements, 1500), 3.2);
}

// A program of 4096 modules compiles; one more import is refused.
TEST(Limits, Modules) {
  constexpr int kMost = 4096;
  std::string pattern = testing::TempDir() + "/modules_XXXXXX";
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  std::string imports;
  for (int i = 1; i <= kMost; ++i) {
    std::string path = absl::StrFormat("%s/m%d.mettle", pattern, i);
    std::ofstream(path) << absl::StrFormat("fn f%d(x: int32) -> int32 { return x }\n", i);
    if (i < kMost) imports += absl::StrFormat("import \"%s\"\n", path);
  }
  const std::string last = absl::StrFormat("import \"%s/m%d.mettle\"\n", pattern, kMost);
  const std::string k = "kernel k(a: int32*) { a[0] = 1 }\n";
  Compiled most(imports + k);
  EXPECT_TRUE(most.module) << most.text();
  Compiled more(imports + last + k);
  EXPECT_FALSE(more.module);
  ASSERT_EQ(more.diagnostics.errorCount(), 1) << more.text();
  const Diagnostic& d = more.diagnostics.all()[0];
  EXPECT_TRUE(d.id == DiagId::TooManyModules) << more.text();
  EXPECT_EQ(d.message, "more than 4096 modules");
  EXPECT_EQ(d.range.begin.line(), 4096u) << more.text();
  // A module that is there already is no further one.
  Compiled again(imports + absl::StrFormat("import \"%s/m1.mettle\"\n", pattern) + k);
  EXPECT_TRUE(again.module) << again.text();
  std::filesystem::remove_all(pattern);
}

}  // namespace
}  // namespace mtlc::frontend
