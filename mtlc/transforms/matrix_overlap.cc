#include "mtlc/transforms/matrix_overlap.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "mtlc/support/element_format.h"
#include "mtlc/transforms/utils.h"

namespace mtlc::transforms {
namespace {

using ir::Opcode;
using ir::Operation;
using ir::Space;
using ir::Value;

bool isAllocation(const Value* v) {
  const Operation* def = v->def();
  return def && (def->form() == ir::Form::Alloc || def->form() == ir::Form::AllocDynamic);
}

// ---- Addresses as polynomials ----

// Sums with more terms, and expressions nested deeper, are not taken apart.
constexpr size_t kMaxTerms = 12;
constexpr int kMaxDepth = 8;

// A sum of products of up to two 64-bit values, modulo 2^64.
class Polynomial {
 public:
  struct Term {
    const Value *x, *y;  // y may be nullptr; not after x by its address otherwise.
    uint64_t factor;
  };

  static Polynomial constant(uint64_t c) {
    Polynomial p;
    p.constant_ = c;
    return p;
  }
  static Polynomial of(const Value* v) {
    Polynomial p;
    p.terms_.push_back({v, nullptr, 1});
    return p;
  }

  uint64_t constant() const { return constant_; }
  const std::vector<Term>& terms() const { return terms_; }
  bool isTooLong() const { return terms_.size() > kMaxTerms; }
  bool isConstant() const { return terms_.empty(); }

  void add(const Polynomial& other, uint64_t factor) {
    constant_ += other.constant_ * factor;
    for (const Term& t : other.terms_) addTerm({t.x, t.y, t.factor * factor});
  }
  // False if a product of three values would be among the terms.
  static bool multiply(const Polynomial& a, const Polynomial& b, Polynomial& out) {
    out.add(a, b.constant_);
    Polynomial withoutConstant = b;
    withoutConstant.constant_ = 0;
    out.add(withoutConstant, a.constant_);
    for (const Term& s : a.terms_) {
      for (const Term& t : b.terms_) {
        if (s.y || t.y) return false;
        auto [x, y] = std::minmax(s.x, t.x, std::less<const Value*>());
        out.addTerm({y, x, s.factor * t.factor});
      }
    }
    return true;
  }

 private:
  void addTerm(const Term& t) {
    for (Term& mine : terms_) {
      if (mine.x != t.x || mine.y != t.y) continue;
      mine.factor += t.factor;
      if (mine.factor == 0) {
        mine = terms_.back();
        terms_.pop_back();
      }
      return;
    }
    if (t.factor != 0) terms_.push_back(t);
  }

  uint64_t constant_ = 0;
  std::vector<Term> terms_;
};

// Narrower arithmetic wraps, so a value that is widened is taken as a whole.
Polynomial polynomialOf(const Value* v, int depth) {
  const Operation* def = v->def();
  if (!def || depth == 0) return Polynomial::of(v);
  if (def->opcode() == Opcode::Const) return Polynomial::constant(def->constBits());
  Polynomial out;
  switch (def->opcode()) {
    case Opcode::Add:
    case Opcode::Sub:
      out = polynomialOf(def->operand(0), depth - 1);
      out.add(polynomialOf(def->operand(1), depth - 1),
              def->opcode() == Opcode::Add ? 1 : ~uint64_t{0});
      break;
    case Opcode::Mul:
      if (!Polynomial::multiply(polynomialOf(def->operand(0), depth - 1),
                                polynomialOf(def->operand(1), depth - 1), out)) {
        return Polynomial::of(v);
      }
      break;
    case Opcode::Shl: {
      const Operation* amount = ir::asConst(def->operand(1));
      if (!amount) return Polynomial::of(v);
      out.add(polynomialOf(def->operand(0), depth - 1), uint64_t{1} << (amount->constBits() & 63));
      break;
    }
    default:
      return Polynomial::of(v);
  }
  return out.isTooLong() ? Polynomial::of(v) : out;
}

// The byte address, less that of the base.
struct Address {
  const Value* base;
  Polynomial offset;
};
Address addressOf(const Value* pointer) {
  Address a{pointer, {}};
  for (int i = 0; i < kMaxAddressSteps; ++i) {
    const Operation* def = a.base->def();
    if (!def) break;
    if (def->opcode() == Opcode::PtrAdd) {
      a.offset.add(polynomialOf(def->operand(1), kMaxDepth), def->elemType().bytes());
    } else if (def->opcode() != Opcode::SpaceCast) {
      break;
    }
    a.base = def->operand(0);
    if (a.offset.isTooLong()) break;
  }
  return a;
}

// How far `value` counts leading dimensions: 1 for the operand or its zero-extension.
bool isLeading(const Value* value, const Value* leading) {
  if (value == leading) return leading->type() == ir::kI64;
  const Operation* def = value->def();
  return def && def->opcode() == Opcode::ZExt && def->operand(0) == leading;
}

}  // namespace

bool mayAlias(const Value* pointer, const Value* home) {
  const Value* x = baseOf(pointer);
  const Value* y = baseOf(home);
  if (x == y) return true;
  const Space a = x->type().space(), b = y->type().space();
  if (a != Space::Generic && b != Space::Generic && a != b) return false;
  if (a == Space::Constant || b == Space::Constant) return false;
  if (!isAllocation(x) || !isAllocation(y)) return true;
  // Views of the dynamic memory are one memory.
  return x->def()->form() == ir::Form::AllocDynamic && y->def()->form() == ir::Form::AllocDynamic;
}

bool linesAreDisjoint(uint32_t m0, uint32_t n0, uint32_t m1, uint32_t n1, uint64_t leading,
                      int64_t lines, int64_t elements) {
  // Elements are the same where (line0 - line1 - lines) · leading = elements + at1 - at0.
  constexpr int64_t kFar = int64_t{1} << 40;
  if (lines <= -kFar || lines >= kFar || elements <= -kFar || elements >= kFar) return false;
  const int64_t uFirst = -int64_t{m1 - 1} - lines, uLast = int64_t{m0 - 1} - lines;
  const int64_t wFirst = elements - int64_t{n0 - 1}, wLast = elements + int64_t{n1 - 1};
  const int64_t least = std::max(n0, n1);
  if (leading == 0) {
    if (wFirst <= -least || wLast >= least) return false;
    const bool bothZero = wFirst <= 0 && wLast >= 0 && uFirst <= 0 && uLast >= 0;
    return !bothZero;
  }
  if (leading < static_cast<uint64_t>(least)) return false;  // A violated rule; lines overlap.
  const int64_t step = static_cast<int64_t>(leading);
  // The multiples of the leading dimension in wFirst … wLast: a few, since the lines are shorter.
  int64_t u = wFirst >= 0 ? (wFirst + step - 1) / step : -(-wFirst / step);
  for (; u * step <= wLast; ++u) {
    if (u >= uFirst && u <= uLast) return false;
  }
  return true;
}

bool areDisjoint(const Matrix& x, const Matrix& y) {
  if (!mayAlias(x.pointer, y.pointer)) return true;
  if (x.leading != y.leading || x.layout != y.layout || x.format != y.format) return false;
  Address from = addressOf(x.pointer);
  const Address to = addressOf(y.pointer);
  if (from.base != to.base) return false;
  Polynomial distance = to.offset;
  distance.add(from.offset, ~uint64_t{0});
  const int64_t bytes = elementInfo(x.format).bytes;
  int64_t lines = 0;
  for (const Polynomial::Term& t : distance.terms()) {
    if (t.y || !x.leading.value || !isLeading(t.x, x.leading.value) || lines != 0) return false;
    lines = static_cast<int64_t>(t.factor);
  }
  int64_t elements = static_cast<int64_t>(distance.constant());
  if (lines % bytes != 0 || elements % bytes != 0) return false;
  const bool rows = x.layout == ir::Layout::Row;
  return linesAreDisjoint(rows ? x.m : x.n, rows ? x.n : x.m, rows ? y.m : y.n, rows ? y.n : y.m,
                          x.leading.constant, lines / bytes, elements / bytes);
}

}  // namespace mtlc::transforms
