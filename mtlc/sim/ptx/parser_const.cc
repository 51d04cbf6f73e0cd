// Constant expressions of PTX (PTX ISA 4.5.5): C operators over 64-bit integers and doubles.

#include <cstring>

#include "mtlc/sim/ptx/parser_impl.h"

namespace mtlc::sim::ptx {
namespace {

constexpr size_t kMaxDepth = 64;

double asDouble(const Constant& c) {
  if (c.kind == Constant::Kind::float64) {
    double d;
    std::memcpy(&d, &c.bits, sizeof d);
    return d;
  }
  if (c.kind == Constant::Kind::float32) {
    uint32_t bits = static_cast<uint32_t>(c.bits);
    float f;
    std::memcpy(&f, &bits, sizeof f);
    return f;
  }
  return c.isUnsigned ? static_cast<double>(c.bits)
                      : static_cast<double>(static_cast<int64_t>(c.bits));
}

Constant fromDouble(double d) {
  Constant c;
  c.kind = Constant::Kind::float64;
  std::memcpy(&c.bits, &d, sizeof d);
  return c;
}

Constant fromInt(uint64_t bits, bool isUnsigned) {
  Constant c;
  c.bits = bits;
  c.isUnsigned = isUnsigned;
  return c;
}

bool isInt(const Constant& c) { return c.kind == Constant::Kind::integer; }
bool truth(const Constant& c) { return isInt(c) ? c.bits != 0 : asDouble(c) != 0; }

int precedence(uint16_t op) {
  switch (op) {
    case punct2('|', '|'):
      return 1;
    case punct2('&', '&'):
      return 2;
    case '|':
      return 3;
    case '^':
      return 4;
    case '&':
      return 5;
    case punct2('=', '='):
    case punct2('!', '='):
      return 6;
    case '<':
    case '>':
    case punct2('<', '='):
    case punct2('>', '='):
      return 7;
    case punct2('<', '<'):
    case punct2('>', '>'):
      return 8;
    case '+':
    case '-':
      return 9;
    case '*':
    case '/':
    case '%':
      return 10;
    default:
      return 0;
  }
}

// False: the operator does not apply to doubles, or the divisor is zero.
bool applyFloat(uint16_t op, double a, double b, Constant& out) {
  switch (op) {
    case '+':
      out = fromDouble(a + b);
      return true;
    case '-':
      out = fromDouble(a - b);
      return true;
    case '*':
      out = fromDouble(a * b);
      return true;
    case '/':
      out = fromDouble(a / b);
      return true;
    case '<':
      out = fromInt(a < b, false);
      return true;
    case '>':
      out = fromInt(a > b, false);
      return true;
    case punct2('<', '='):
      out = fromInt(a <= b, false);
      return true;
    case punct2('>', '='):
      out = fromInt(a >= b, false);
      return true;
    case punct2('=', '='):
      out = fromInt(a == b, false);
      return true;
    case punct2('!', '='):
      out = fromInt(a != b, false);
      return true;
    default:
      return false;
  }
}

bool applyInt(uint16_t op, const Constant& l, const Constant& r, Constant& out) {
  bool u = l.isUnsigned || r.isUnsigned;
  uint64_t a = l.bits, b = r.bits;
  int64_t sa = static_cast<int64_t>(a), sb = static_cast<int64_t>(b);
  switch (op) {
    case '+':
      out = fromInt(a + b, u);
      return true;
    case '-':
      out = fromInt(a - b, u);
      return true;
    case '*':
      out = fromInt(a * b, u);
      return true;
    case '/':
    case '%':
      if (b == 0) return false;
      if (u) {
        out = fromInt(op == '/' ? a / b : a % b, true);
      } else if (sb == -1) {
        out = fromInt(op == '/' ? 0 - a : 0, false);
      } else {
        out = fromInt(static_cast<uint64_t>(op == '/' ? sa / sb : sa % sb), false);
      }
      return true;
    case '&':
      out = fromInt(a & b, u);
      return true;
    case '|':
      out = fromInt(a | b, u);
      return true;
    case '^':
      out = fromInt(a ^ b, u);
      return true;
    case punct2('<', '<'):
      out = fromInt(b > 63 ? 0 : a << b, l.isUnsigned);
      return true;
    case punct2('>', '>'):
      if (l.isUnsigned) {
        out = fromInt(b > 63 ? 0 : a >> b, true);
      } else {
        out = fromInt(static_cast<uint64_t>(sa >> (b > 63 ? 63 : b)), false);
      }
      return true;
    case punct2('=', '='):
      out = fromInt(a == b, false);
      return true;
    case punct2('!', '='):
      out = fromInt(a != b, false);
      return true;
    case '<':
      out = fromInt(u ? a < b : sa < sb, false);
      return true;
    case '>':
      out = fromInt(u ? a > b : sa > sb, false);
      return true;
    case punct2('<', '='):
      out = fromInt(u ? a <= b : sa <= sb, false);
      return true;
    case punct2('>', '='):
      out = fromInt(u ? a >= b : sa >= sb, false);
      return true;
    case punct2('&', '&'):
      out = fromInt(a != 0 && b != 0, false);
      return true;
    case punct2('|', '|'):
      out = fromInt(a != 0 || b != 0, false);
      return true;
    default:
      return false;
  }
}

}  // namespace

bool Parser::constant(Constant& out) { return constTernary(out, 0); }

bool Parser::constTernary(Constant& out, size_t depth) {
  if (depth > kMaxDepth) {
    diags_.report(DiagId::PtxTooDeep, rangeOf(peek()));
    return false;
  }
  if (!constBinary(out, 1, depth)) return false;
  if (!accept('?')) return true;
  Constant yes, no;
  if (!constTernary(yes, depth + 1) || !expect(':') || !constTernary(no, depth + 1)) return false;
  out = truth(out) ? yes : no;
  return true;
}

bool Parser::constBinary(Constant& out, int minPrecedence, size_t depth) {
  if (!constUnary(out, depth)) return false;
  while (peek().kind == Tok::punct) {
    Token op = peek();
    int p = precedence(op.punct);
    if (p == 0 || p < minPrecedence) return true;
    take();
    Constant right;
    if (depth > kMaxDepth) {
      diags_.report(DiagId::PtxTooDeep, rangeOf(op));
      return false;
    }
    if (!constBinary(right, p + 1, depth + 1)) return false;
    bool ok = isInt(out) && isInt(right)
                  ? applyInt(op.punct, out, right, out)
                  : applyFloat(op.punct, asDouble(out), asDouble(right), out);
    if (!ok) {
      diags_.report(DiagId::PtxBadConstant, rangeOf(op));
      return false;
    }
  }
  return true;
}

bool Parser::constUnary(Constant& out, size_t depth) {
  if (depth > kMaxDepth) {
    diags_.report(DiagId::PtxTooDeep, rangeOf(peek()));
    return false;
  }
  Token t = peek();
  if (t.kind == Tok::integer) {
    take();
    out = fromInt(t.value, t.isUnsigned);
    return true;
  }
  if (t.kind == Tok::float32 || t.kind == Tok::float64) {
    take();
    out = Constant{};
    out.kind = t.kind == Tok::float32 ? Constant::Kind::float32 : Constant::Kind::float64;
    out.bits = t.value;
    return true;
  }
  if (t.kind == Tok::ident && t.text == "WARP_SZ") {
    take();
    out = fromInt(32, false);
    return true;
  }
  if (t.kind != Tok::punct) return unexpected("a constant");
  switch (t.punct) {
    case '(': {
      take();
      // A cast, (.s64) or (.u64), or a parenthesis.
      if (isDot("s64") || isDot("u64")) {
        bool u = take().text == "u64";
        if (!expect(')') || !constUnary(out, depth + 1)) return false;
        if (isInt(out)) {
          out.isUnsigned = u;
        } else {
          double d = asDouble(out);
          bool fits = u ? d > -1.0 && d < 0x1p64 : d >= -0x1p63 && d < 0x1p63;
          if (!fits) {
            diags_.report(DiagId::PtxBadConstant, rangeOf(t));
            return false;
          }
          out = fromInt(
              u ? static_cast<uint64_t>(d) : static_cast<uint64_t>(static_cast<int64_t>(d)), u);
        }
        return true;
      }
      return constTernary(out, depth + 1) && expect(')');
    }
    case '-':
      take();
      if (!constUnary(out, depth + 1)) return false;
      if (isInt(out)) {
        out.bits = 0 - out.bits;
        // The least int64 is written with a minus before an unsigned literal.
        if (out.bits == uint64_t{1} << 63) out.isUnsigned = false;
      } else if (out.kind == Constant::Kind::float32) {
        out.bits ^= 0x80000000u;
      } else {
        out.bits ^= uint64_t{1} << 63;
      }
      return true;
    case '+':
      take();
      return constUnary(out, depth + 1);
    case '~':
    case '!':
      take();
      if (!constUnary(out, depth + 1)) return false;
      if (t.punct == '!') {
        out = fromInt(!truth(out), false);
        return true;
      }
      if (!isInt(out)) {
        diags_.report(DiagId::PtxBadConstant, rangeOf(t));
        return false;
      }
      out.bits = ~out.bits;
      return true;
    default:
      return unexpected("a constant");
  }
}

bool Parser::unsignedConstant(uint64_t limit, uint64_t& out) {
  Token at = peek();
  Constant c;
  if (!constant(c)) return false;
  bool negative = !c.isUnsigned && static_cast<int64_t>(c.bits) < 0;
  if (!isInt(c) || negative || c.bits > limit) {
    diags_.report(DiagId::PtxOutOfRange, rangeOf(at), {limit});
    return false;
  }
  out = c.bits;
  return true;
}

}  // namespace mtlc::sim::ptx
