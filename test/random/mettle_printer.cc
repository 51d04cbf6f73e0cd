#include <bit>
#include <cstring>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "test/random/mettle_program.h"

namespace mtlc::random_test {
namespace {

constexpr int kUnary = 11, kPostfix = 12;

// Binding strength, as the table of docs/language.md §3 from low to high.
int strength(MOp op) {
  switch (op) {
    case MOp::LogicalOr:
      return 1;
    case MOp::LogicalAnd:
      return 2;
    case MOp::Or:
      return 3;
    case MOp::Xor:
      return 4;
    case MOp::And:
      return 5;
    case MOp::Eq:
    case MOp::Ne:
      return 6;
    case MOp::Lt:
    case MOp::Le:
    case MOp::Gt:
    case MOp::Ge:
      return 7;
    case MOp::Shl:
    case MOp::Shr:
      return 8;
    case MOp::Add:
    case MOp::Sub:
      return 9;
    case MOp::Mul:
    case MOp::Div:
    case MOp::Rem:
      return 10;
    case MOp::Neg:
    case MOp::Not:
    case MOp::LogicalNot:
      return kUnary;
  }
  return 0;
}

class Printer {
 public:
  Printer(const MProgram& program, uint64_t style) : program_(program), random_(style) {}

  std::string run() {
    out_ = "import \"std/math\"\n\n";
    for (const MConst& c : program_.consts) {
      absl::StrAppend(&out_, "const ", c.name, ": ", text(c.type), " = ", expression(*c.value, 0),
                      "\n");
    }
    for (const MFunction& f : program_.functions) function(f, &f == &program_.functions.back());
    return std::move(out_);
  }

 private:
  bool chance(uint32_t oneIn) { return random_() % oneIn == 0; }
  static std::string text(MType t) { return std::string(typeText(t)); }

  // ---- Expressions: text of at least the strength asked for ----

  std::string enclosed(std::string e, int has, int needed) {
    return has < needed || chance(6) ? absl::StrCat("(", e, ")") : e;
  }

  std::string decimal(double d) {
    std::string s = absl::StrFormat("%.17g", d);
    if (s.find_first_of(".e") == std::string::npos) s += ".0";
    return s;
  }

  std::string literal(const MExpr& e, int needed) {
    switch (e.type) {
      case MType::Bool:
        return e.bits ? "true" : "false";
      case MType::F32:
      case MType::F64: {
        const std::string number = decimal(e.number);
        const bool negative = number[0] == '-';
        return enclosed(
            absl::StrCat("(", text(e.type), ")", negative ? "(" : "", number, negative ? ")" : ""),
            kUnary, needed);
      }
      case MType::Generic:
        return enclosed(absl::StrCat("(T)", e.bits), kUnary, needed);
      default:
        break;
    }
    const unsigned width = widthOf(e.type);
    const int64_t value = static_cast<int64_t>(e.bits << (64 - width)) >> (64 - width);
    const bool negative = isSigned(e.type) && value < 0;
    std::string number = negative || isSigned(e.type) ? absl::StrCat(value) : absl::StrCat(e.bits);
    // What type does the bare number have?
    MType bare = MType::U64;
    if (negative ? value >= INT32_MIN : e.bits <= INT32_MAX) {
      bare = MType::I32;
    } else if (negative || e.bits <= INT64_MAX) {
      bare = MType::I64;
    }
    if (bare == MType::I32 && !negative && chance(8)) number = absl::StrFormat("0x%x", e.bits);
    if (bare == e.type) return negative ? enclosed(number, kUnary, needed) : number;
    if (negative) number = absl::StrCat("(", number, ")");
    return enclosed(absl::StrCat("(", text(e.type), ")", number), kUnary, needed);
  }

  const MVariable& variable(uint32_t index) const { return function_->variables[index]; }

  // `index` wrapped to stay below a power of two.
  std::string wrappedIndex(const MExpr& e) {
    const MExpr& index = *e.args[0];
    if (index.kind == MExpr::Kind::Literal && isInt(index.type) && index.bits <= e.mask) {
      return absl::StrCat(index.bits);
    }
    if (e.mask == 0) return "0";
    return absl::StrCat(expression(index, strength(MOp::And)), " & ", e.mask);
  }

  std::string expression(const MExpr& e, int needed) {
    using Kind = MExpr::Kind;
    switch (e.kind) {
      case Kind::Literal:
        return literal(e, needed);
      case Kind::Adapted:
        return decimal(e.number);
      case Kind::Const:
        return program_.consts[e.index].name;
      case Kind::Variable:
        return variable(e.index).name;
      case Kind::Element:
        return absl::StrCat(variable(e.index).name, "[", wrappedIndex(e), "]");
      case Kind::Source:
        return absl::StrCat(
            e.type == MType::U64 ? "src" : absl::StrCat("((", text(e.type), "*)src)"), "[",
            wrappedIndex(e), "]");
      case Kind::Position: {
        constexpr const char* kNames[] = {"thread.x", "block.x", "block_dim.x", "grid_dim.x"};
        return kNames[e.index];
      }
      case Kind::Unary: {
        std::string operand = expression(*e.args[0], kUnary);
        // `--x` could be read as another operator, and `-5` as a literal.
        if (operand[0] == '-' ||
            (e.op == MOp::Neg && (operand[0] == '.' || (operand[0] >= '0' && operand[0] <= '9')))) {
          operand = absl::StrCat("(", operand, ")");
        }
        return enclosed(absl::StrCat(std::string(opText(e.op)), operand), kUnary, needed);
      }
      case Kind::Binary: {
        const int own = strength(e.op);
        // Comparisons of comparisons are always in parentheses: `a < b > (c)` would name a type
        // argument.
        const bool isComparison = own == strength(MOp::Lt);
        std::string left = expression(*e.args[0], isComparison ? own + 1 : own);
        std::string right = expression(*e.args[1], own + 1);
        return enclosed(absl::StrCat(left, " ", std::string(opText(e.op)), " ", right), own,
                        needed);
      }
      case Kind::Cast:
        return enclosed(absl::StrCat("(", text(e.type), ")", expression(*e.args[0], kUnary)),
                        kUnary, needed);
      case Kind::Call: {
        const MFunction& f = program_.functions[e.index];
        std::string call = f.name;
        if (f.isGeneric) absl::StrAppend(&call, "<", text(e.typeArgument), ">");
        for (size_t i = 0; i < e.args.size(); ++i) {
          // `f(a < b, c > (d))` could name type arguments.
          absl::StrAppend(&call, i ? ", " : "(", expression(*e.args[i], strength(MOp::Shl)));
        }
        return call + ")";
      }
      case Kind::Builtin:
        return builtin(e);
      case Kind::Address: {
        if (e.bits != 0) {
          const std::string base = absl::StrCat("(", text(e.type), "*)src");
          return e.mask == 0 ? base : absl::StrCat(base, " + ", e.mask);
        }
        const MVariable& v = variable(e.index);
        if (!v.isPointer && v.elements == 0) return absl::StrCat("&", v.name);
        if (e.mask == 0) return v.name;
        return chance(2) ? absl::StrCat(v.name, " + ", e.mask)
                         : absl::StrCat("&", v.name, "[", e.mask, "]");
      }
    }
    return "";
  }

  std::string builtin(const MExpr& e) {
    constexpr const char* kNames[] = {"sqrt",  "fabs",      "floor", "ceil", "trunc",
                                      "round", "roundeven", "fmin",  "fmax", "fma",
                                      "min",   "max",       "abs",   "clz",  "popcount"};
    std::string args;
    for (const MExpr* a : e.args) {
      absl::StrAppend(&args, args.empty() ? "" : ", ", expression(*a, strength(MOp::Shl)));
    }
    if (e.builtin == MBuiltin::ThroughHalf) return absl::StrCat("h2f(f2h(", args, "))");
    if (e.builtin == MBuiltin::ThroughBfloat) return absl::StrCat("bf2f(f2bf(", args, "))");
    return absl::StrCat(kNames[static_cast<int>(e.builtin)], e.type == MType::F32 ? "f" : "", "(",
                        args, ")");
  }

  // ---- Statements ----

  void line(int indent, std::string_view s) {
    out_.append(static_cast<size_t>(2 * indent), ' ');
    out_ += s;
    out_ += chance(5) ? ";\n" : "\n";
  }
  void open(int indent, const std::string& s) {
    out_.append(static_cast<size_t>(2 * indent), ' ');
    absl::StrAppend(&out_, s, " {\n");
  }
  void close(int indent) {
    out_.append(static_cast<size_t>(2 * indent), ' ');
    out_ += "}\n";
  }

  std::string assignment(const MStmt& s) {
    return absl::StrCat(expression(*s.target, kPostfix), " ",
                        s.kind == MStmt::Kind::Compound ? std::string(opText(s.op)) : "", "= ",
                        expression(*s.value, 0));
  }
  std::string labelled(const MStmt& s) { return s.label ? absl::StrCat("L", s.label, ": ") : ""; }

  void body(const MBody& statements, int indent) {
    for (const MStmt* s : statements) statement(*s, indent);
  }

  void statement(const MStmt& s, int indent) {
    using Kind = MStmt::Kind;
    switch (s.kind) {
      case Kind::Declare: {
        const MVariable& v = variable(s.index);
        if (v.elements == 0) {
          line(indent,
               absl::StrCat("var ", v.name, ": ", text(v.type), " = ", expression(*s.value, 0)));
          return;
        }
        const std::string first = absl::StrCat(v.name, "_0");
        line(indent,
             absl::StrCat("var ", first, ": ", text(v.type), " = ", expression(*s.value, 0)));
        line(indent, absl::StrCat("var ", v.name, ": ", text(v.type), "[", v.elements, "]"));
        for (uint32_t i = 0; i < v.elements; ++i)
          line(indent, absl::StrCat(v.name, "[", i, "] = ", first));
        return;
      }
      case Kind::Assign:
      case Kind::Compound:
        line(indent, assignment(s));
        return;
      case Kind::Output: {
        const unsigned perCell = s.type == MType::Bool ? 8 : 64 / widthOf(s.type);
        line(indent, absl::StrCat("((", text(s.type), "*)dst)[(base + ", s.index, ") * ", perCell,
                                  "] = ", expression(*s.value, 0)));
        return;
      }
      case Kind::If:
        if (s.otherwise.empty() && s.body.size() == 1 && s.body[0]->kind == Kind::Assign &&
            chance(2)) {
          line(indent, absl::StrCat("if (", expression(*s.cond, 0), ") ", assignment(*s.body[0])));
          return;
        }
        open(indent, absl::StrCat("if (", expression(*s.cond, 0), ")"));
        body(s.body, indent + 1);
        if (!s.otherwise.empty()) {
          out_.append(static_cast<size_t>(2 * indent), ' ');
          out_ += chance(2) ? "} else {\n" : "}\nelse {\n";
          body(s.otherwise, indent + 1);
        }
        close(indent);
        return;
      case Kind::While:
        open(indent, absl::StrCat(labelled(s), "while (", expression(*s.cond, 0), ")"));
        body(s.body, indent + 1);
        close(indent);
        return;
      case Kind::For: {
        const MVariable& v = variable(s.index);
        open(indent, absl::StrCat(labelled(s), "for (var ", v.name, ": ", text(v.type), " = ",
                                  expression(*s.value, 0), "; ", expression(*s.cond, 0), "; ",
                                  assignment(*s.step), ")"));
        body(s.body, indent + 1);
        close(indent);
        return;
      }
      case Kind::ForRange: {
        const MVariable& v = variable(s.index);
        open(indent, absl::StrCat(labelled(s), "for ", v.name, ": ", text(v.type), " in ",
                                  expression(*s.value, 9), s.inclusive ? "..=" : "..",
                                  expression(*s.cond, 9)));
        body(s.body, indent + 1);
        close(indent);
        return;
      }
      case Kind::Break:
      case Kind::Continue:
        line(indent, absl::StrCat(s.kind == Kind::Break ? "break" : "continue",
                                  s.label ? absl::StrCat(" L", s.label) : ""));
        return;
      case Kind::Switch:
        open(indent, absl::StrCat("switch (", expression(*s.value, 0), ")"));
        for (const MCase& c : s.cases) {
          for (const auto& [low, high] : c.ranges) {
            out_.append(static_cast<size_t>(2 * indent + 2), ' ');
            absl::StrAppend(&out_, "case ", low, low == high ? "" : absl::StrCat("..", high),
                            ":\n");
          }
          if (c.isDefault) {
            out_.append(static_cast<size_t>(2 * indent + 2), ' ');
            out_ += "default:\n";
          }
          body(c.body, indent + 2);
        }
        close(indent);
        return;
      case Kind::Return:
        line(indent, s.value ? absl::StrCat("return ", expression(*s.value, 0)) : "return");
        return;
      case Kind::Barrier:
        line(indent, "barrier(workgroup)");
        return;
      case Kind::Block:
        open(indent, "");
        body(s.body, indent + 1);
        close(indent);
        return;
    }
  }

  void function(const MFunction& f, bool isKernel) {
    function_ = &f;
    out_ += isKernel ? "\nkernel " : "\nfn ";
    absl::StrAppend(&out_, f.name, f.isGeneric ? "<T>" : "", "(");
    if (isKernel) out_ += "src: uint64*, dst: uint64*";
    for (uint32_t i = 0; i < f.paramCount; ++i) {
      const MVariable& v = f.variables[i];
      absl::StrAppend(&out_, i || isKernel ? ", " : "", v.name, ": ", text(v.type),
                      v.isPointer ? "*" : "");
    }
    out_ += ")";
    if (f.result != MType::Void) absl::StrAppend(&out_, " -> ", text(f.result));
    out_ += " {\n";
    if (isKernel) {
      line(1,
           absl::StrCat("var base: int32 = (block.x * block_dim.x + thread.x) * ", kOutputCells));
    }
    body(f.body, 1);
    out_ += "}\n";
  }

  const MProgram& program_;
  std::mt19937_64 random_;
  const MFunction* function_ = nullptr;
  std::string out_;
};

}  // namespace

std::string printProgram(const MProgram& program, uint64_t style) {
  return Printer(program, style).run();
}

}  // namespace mtlc::random_test
