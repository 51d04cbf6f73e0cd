// set, setp, slct (PTX ISA 9.7.6, 9.7.7).

#include "mtlc/sim/oracle/oracle.h"

namespace mtlc::sim::oracle {
namespace {

// The outcome of a comparison from the order of the operands: -1, 0, 1, or 2 when one is NaN.
bool holds(Mod op, int order) {
  bool unordered = order == 2;
  switch (op) {
    case Mod::eq:
      return order == 0;
    case Mod::ne:
      return order == -1 || order == 1;
    case Mod::lt:
    case Mod::lo:
      return order == -1;
    case Mod::le:
    case Mod::ls:
      return order == -1 || order == 0;
    case Mod::gt:
    case Mod::hi:
      return order == 1;
    case Mod::ge:
    case Mod::hs:
      return order == 1 || order == 0;
    case Mod::equ:
      return unordered || order == 0;
    case Mod::neu:
      return order != 0;
    case Mod::ltu:
      return unordered || order == -1;
    case Mod::leu:
      return order != 1;
    case Mod::gtu:
      return unordered || order == 1;
    case Mod::geu:
      return order != -1;
    case Mod::num:
      return !unordered;
    case Mod::nanCmp:
      return unordered;
    default:
      return false;
  }
}

bool combined(Mod op, bool a, bool c) {
  switch (op) {
    case Mod::andMod:
      return a && c;
    case Mod::orMod:
      return a || c;
    case Mod::xorMod:
      return a != c;
    default:
      return a;
  }
}

int orderOf(Type t, uint64_t a, uint64_t b, bool ftz) {
  const BinaryFormat* f = formatOf(t);
  if (f == nullptr) {
    I128 x = integerValue(t, a), y = integerValue(t, b);
    return x < y ? -1 : x > y ? 1 : 0;
  }
  Exact x = unpack(flushed(a, *f, ftz), *f), y = unpack(flushed(b, *f, ftz), *f);
  return x.isNan() || y.isNan() ? 2 : compare(x, y);
}

// The value of a true element of `set`.
uint64_t trueValue(Type result, unsigned width) {
  switch (result) {
    case Mod::f32:
      return 0x3f800000u;
    case Mod::f16:
    case Mod::f16x2:
      return 0x3c00;
    case Mod::bf16:
    case Mod::bf16x2:
      return 0x3f80;
    default:
      return (uint64_t{1} << width) - 1;
  }
}

}  // namespace

Oracle compareOracle(const Form& f) {
  std::string_view op = f.row->opcode;
  bool ftz = f.has(Mod::ftz);
  if (op == "slct") {
    Type t = f.types[1];
    return [=](const Operands& o) {
      int order = orderOf(t, o.src[2], 0, ftz);
      return exactly(order == 0 || order == 1 ? o.src[0] : o.src[1]);
    };
  }
  if (op != "set" && op != "setp") return {};
  Mod cmp = f.mods[0];
  Mod boolean = f.firstOf({Mod::andMod, Mod::orMod, Mod::xorMod});
  bool toPredicate = op == "setp";
  Type source = toPredicate ? f.types[0] : f.types[1];
  unsigned elements = elementsOf(source);
  unsigned width = typeBits(source) / elements;
  Type result = f.types[0];
  return [=](const Operands& o) {
    std::array<bool, 2> t{};
    for (unsigned e = 0; e < elements; ++e) {
      uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
      t[e] = holds(cmp, orderOf(source, o.src[0] >> (width * e) & mask,
                                o.src[1] >> (width * e) & mask, ftz));
    }
    bool c = o.src[2] != 0;
    Want w;
    if (toPredicate) {
      w.bits = combined(boolean, t[0], c) ? 1 : 0;
      w.predicate = combined(boolean, elements == 2 ? t[1] : !t[0], c);
      return w;
    }
    unsigned out = typeBits(result) / elements;
    for (unsigned e = 0; e < elements; ++e) {
      if (combined(boolean, t[e], c)) w.bits |= trueValue(result, out) << (out * e);
    }
    return w;
  };
}

}  // namespace mtlc::sim::oracle
