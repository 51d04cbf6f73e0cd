// The video instructions (PTX ISA 9.7.18).

#include <algorithm>

#include "mtlc/sim/oracle/oracle.h"

namespace mtlc::sim::oracle {
namespace {

I128 clamped(I128 v, bool isSigned, unsigned width) {
  I128 span = I128{1} << width;
  return isSigned ? std::clamp(v, -span / 2, span / 2 - 1) : std::clamp<I128>(v, 0, span - 1);
}

Type sized(Type t, unsigned width) {
  bool s = isSignedType(t);
  return width == 8 ? (s ? Mod::s8 : Mod::u8) : width == 16 ? (s ? Mod::s16 : Mod::u16) : t;
}

// Where the part that a scalar selector names lies.
struct Part {
  unsigned low = 0, width = 32;
};
Part partOf(const std::string& selector) {
  if (selector.empty()) return {};
  unsigned width = selector[0] == 'b' ? 8 : 16;
  return {static_cast<unsigned>(selector[1] - '0') * width, width};
}

I128 selected(Type t, uint64_t word, const std::string& selector) {
  Part p = partOf(selector);
  return integerValue(sized(t, p.width), word >> p.low);
}

// The primary operation, by the name without the number of elements.
I128 primary(const Form& f, std::string_view name, I128 a, I128 b) {
  if (name == "vadd") return a + b;
  if (name == "vsub") return a - b;
  if (name == "vabsdiff") return a < b ? b - a : a - b;
  if (name == "vmin") return std::min(a, b);
  if (name == "vmax") return std::max(a, b);
  if (name == "vavrg") {
    // Half of the sum, rounded up when it is not negative, else down.
    I128 s = a + b;
    return s >= 0 ? (s + 1) / 2 : -((1 - s) / 2);
  }
  if (name == "vshl" || name == "vshr") {
    I128 n = f.has(Mod::wrap) ? b % 32 : std::min<I128>(b, 32);
    return name == "vshl" ? a * (I128{1} << n) : a >> n;
  }
  bool holds = f.has(Mod::eq)   ? a == b
               : f.has(Mod::ne) ? a != b
               : f.has(Mod::lt) ? a < b
               : f.has(Mod::le) ? a <= b
               : f.has(Mod::gt) ? a > b
                                : a >= b;
  return holds ? 1 : 0;
}

struct Types {
  Type d, a, b;
};

Want multiplyAdd(const Form& f, const Types& t, const Operands& o) {
  I128 a = selected(t.a, o.src[0], o.selectors[1]), b = selected(t.b, o.src[1], o.selectors[2]);
  bool minusProduct = o.minus[1] != o.minus[2], minusAddend = o.minus[3];
  bool isSigned = isSignedType(t.a) || isSignedType(t.b) || minusProduct || minusAddend;
  I128 c = integerValue(isSigned ? Mod::s32 : Mod::u32, o.src[2]);
  I128 r = (minusProduct ? -(a * b) : a * b) + (minusAddend ? -c : c) + (f.has(Mod::po) ? 1 : 0);
  r >>= f.has(Mod::shr7) ? 7 : f.has(Mod::shr15) ? 15 : 0;
  if (f.has(Mod::sat)) r = clamped(r, isSigned, 32);
  return exactly(lowBits(r, 32));
}

Want scalar(const Form& f, std::string_view name, const Types& t, const Operands& o) {
  if (name == "vmad") return multiplyAdd(f, t, o);
  Part part = partOf(o.selectors[0]);
  bool isSigned = isSignedType(t.d);
  I128 r = primary(f, name, selected(t.a, o.src[0], o.selectors[1]),
                   selected(t.b, o.src[1], o.selectors[2]));
  if (f.has(Mod::sat)) r = clamped(r, isSigned, part.width);
  if (part.width != 32) {
    uint64_t mask = ((uint64_t{1} << part.width) - 1) << part.low;
    return exactly((lowBits(r, part.width) << part.low) | (o.src[2] & ~mask & 0xffffffffu));
  }
  I128 c = integerValue(t.d, o.src[2]);
  if (f.has(Mod::add)) return exactly(lowBits(r + c, 32));
  if (f.has(Mod::minMod) || f.has(Mod::maxMod)) {
    bool min = f.has(Mod::minMod);
    Want w = exactly(lowBits(min ? std::min(r, c) : std::max(r, c), 32));
    // What an intermediate result beyond the destination type counts as is not said.
    if (r != clamped(r, isSigned, 32)) w.kind = Want::skip;
    return w;
  }
  return exactly(lowBits(r, 32));
}

Want vector(const Form& f, std::string_view name, const Types& t, unsigned count,
            const Operands& o) {
  unsigned width = 32 / count;
  auto chosen = [&](Type type, const std::string& selector, unsigned first, unsigned i) {
    unsigned index =
        selector.empty() ? first + i : static_cast<unsigned>(selector[count - i] - '0');
    uint64_t word = index < count ? o.src[0] : o.src[1];
    return integerValue(sized(type, width), word >> (width * (index % count)));
  };
  I128 sum = static_cast<I128>(o.src[2]);
  uint64_t merged = 0;
  for (unsigned i = 0; i < count; ++i) {
    I128 r =
        primary(f, name, chosen(t.a, o.selectors[1], 0, i), chosen(t.b, o.selectors[2], count, i));
    if (f.has(Mod::sat)) r = clamped(r, isSignedType(t.d), width);
    const std::string& mask = o.selectors[0];
    bool on = mask.empty() || mask.find(static_cast<char>('0' + i)) != std::string::npos;
    if (on) sum += r;
    merged |= (on ? lowBits(r, width) : lowBits(static_cast<I128>(o.src[2] >> (width * i)), width))
              << (width * i);
  }
  return exactly(f.has(Mod::add) ? lowBits(sum, 32) : merged);
}

}  // namespace

Oracle videoOracle(const Form& f) {
  std::string_view name = f.row->opcode;
  if (name.size() < 4 || name[0] != 'v' || name == "vote") return {};
  unsigned count = name.back() == '2' ? 2 : name.back() == '4' ? 4 : 1;
  if (count != 1) name.remove_suffix(1);
  bool compares = name == "vset";
  Types t = compares ? Types{Mod::u32, f.types[0], f.types[1]}
                     : Types{f.types[0], f.types[1], f.types[2]};
  Form form = f;
  return [=](const Operands& o) {
    return count == 1 ? scalar(form, name, t, o) : vector(form, name, t, count, o);
  };
}

}  // namespace mtlc::sim::oracle
