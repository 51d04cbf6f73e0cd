// Floating-point arithmetic that is exact or rounded once (PTX ISA 9.7.3, 9.7.4, 9.7.5).

#include "mtlc/sim/oracle/oracle.h"

namespace mtlc::sim::oracle {

Rounding roundingOf(const Form& f) {
  if (f.has(Mod::rz) || f.has(Mod::rzi)) return Rounding::towardZero;
  if (f.has(Mod::rm) || f.has(Mod::rmi)) return Rounding::down;
  if (f.has(Mod::rp) || f.has(Mod::rpi)) return Rounding::up;
  if (f.has(Mod::rna)) return Rounding::nearestAway;
  return Rounding::nearestEven;
}

const BinaryFormat* formatOf(Type t) {
  switch (t) {
    case Mod::f16:
    case Mod::f16x2:
      return &kBinary16;
    case Mod::bf16:
    case Mod::bf16x2:
      return &kBfloat16;
    case Mod::f32:
    case Mod::f32x2:
      return &kBinary32;
    case Mod::f64:
      return &kBinary64;
    case Mod::tf32:
      return &kTensor32;
    case Mod::e4m3x2:
      return &kE4M3;
    case Mod::e5m2x2:
      return &kE5M2;
    default:
      return nullptr;
  }
}

unsigned elementsOf(Type t) {
  switch (t) {
    case Mod::f16x2:
    case Mod::bf16x2:
    case Mod::f32x2:
    case Mod::e4m3x2:
    case Mod::e5m2x2:
    case Mod::e2m1x2:
    case Mod::e2m3x2:
    case Mod::e3m2x2:
    case Mod::ue8m0x2:
      return 2;
    default:
      return 1;
  }
}

namespace {

struct Shape {
  BinaryFormat format;
  unsigned elements;
  Rounding rounding;
  bool ftz, sat, relu;
  unsigned sources;
};

uint64_t elementOf(uint64_t bits, unsigned index, const BinaryFormat& f) {
  uint64_t mask = f.bits() == 64 ? ~uint64_t{0} : (uint64_t{1} << f.bits()) - 1;
  return bits >> (static_cast<unsigned>(f.bits()) * index) & mask;
}

// The bits of a result value under the modifiers of the form.
uint64_t finished(const Exact& value, const Shape& s) {
  Exact v = value;
  if (s.sat && (v.isNan() || v.negative)) return 0;
  if (s.relu && !v.isNan() && v.negative) return 0;
  uint64_t bits = round(v, s.format, s.rounding);
  if (s.sat && compare(unpack(bits, s.format), fromInteger(1)) > 0) v = fromInteger(1);
  return flushed(round(v, s.format, s.rounding), s.format, s.ftz);
}

// Applies `op`, which maps unpacked sources to the exact result, to every element. Double precision
// may pass on any of its NaN operands, made quiet; other formats have one NaN.
template <typename Op>
Oracle arithmetic(const Shape& s, Op op) {
  return [=](const Operands& o) {
    Want w;
    for (unsigned e = 0; e < s.elements; ++e) {
      std::array<Exact, 3> x;
      for (unsigned k = 0; k < s.sources; ++k) {
        uint64_t bits = elementOf(o.src[k], e, s.format);
        x[k] = unpack(flushed(bits, s.format, s.ftz), s.format);
        if (s.format.bits() == 64 && x[k].isNan()) {
          w.choices[w.choiceCount++] = bits | uint64_t{1} << 51;
        }
      }
      Exact r = op(x);
      w.bits |= finished(r, s) << (static_cast<unsigned>(s.format.bits()) * e);
      if (s.format.bits() == 64 && r.isNan()) {
        w.kind = w.choiceCount != 0 ? Want::oneOf : Want::quietNan;
      }
    }
    return w;
  };
}

// Sign operations change the sign bit only. The ISA leaves the NaN that the narrower formats return
// open; ptxas makes additions of them (FADD, HADD2), which return the one NaN of the format.
Oracle signOracle(const Shape& s, bool negates) {
  return [=](const Operands& o) {
    Want w;
    for (unsigned e = 0; e < s.elements; ++e) {
      uint64_t bits = elementOf(o.src[0], e, s.format);
      bool nan = isNanBits(bits, s.format);
      bits = flushed(bits, s.format, s.ftz);
      bits = negates ? bits ^ s.format.signBit() : bits & ~s.format.signBit();
      if (nan && s.format.bits() < 64) bits = s.format.signBit() - 1;
      w.bits |= bits << (static_cast<unsigned>(s.format.bits()) * e);
    }
    return w;
  };
}

Oracle minMaxOracle(const Shape& s, const Form& f, bool isMax) {
  bool nanWins = f.has(Mod::nan), xorSign = f.has(Mod::xorsign), magnitudes = f.has(Mod::absMod);
  return [=](const Operands& o) {
    Want w;
    for (unsigned e = 0; e < s.elements; ++e) {
      uint64_t best = 0, sign = 0;
      bool haveNumber = false, sawNan = false;
      for (unsigned k = 0; k < s.sources; ++k) {
        uint64_t bits = flushed(elementOf(o.src[k], e, s.format), s.format, s.ftz);
        sign ^= bits & s.format.signBit();
        if (magnitudes) bits &= ~s.format.signBit();
        Exact v = unpack(bits, s.format);
        if (v.isNan()) {
          sawNan = true;
          continue;
        }
        if (haveNumber) {
          Exact b = unpack(best, s.format);
          int c = compare(v, b);
          // Of two zeros the negative one is the lesser.
          if (c == 0) c = v.negative == b.negative ? 0 : v.negative ? -1 : 1;
          if (isMax ? c <= 0 : c >= 0) continue;
        }
        best = bits;
        haveNumber = true;
      }
      if (!haveNumber || (nanWins && sawNan)) {
        if (s.format.bits() == 64) {
          w.kind = Want::quietNan;
          return w;
        }
        best = s.format.signBit() - 1;
      } else if (xorSign) {
        best |= sign;
      }
      w.bits |= best << (static_cast<unsigned>(s.format.bits()) * e);
    }
    return w;
  };
}

// Sources of a lower precision than the f32 they are added to or multiplied for (mixed precision).
Oracle mixedOracle(const Form& f, const Shape& s, std::string_view op) {
  BinaryFormat narrow = *formatOf(f.types[1]);
  return [=](const Operands& o) {
    auto wide = [&](unsigned k) { return unpack(flushed(o.src[k], kBinary32, s.ftz), kBinary32); };
    auto half = [&](unsigned k) { return unpack(o.src[k] & 0xffff, narrow); };
    Exact r;
    if (op == "fma") {
      r = add(multiply(half(0), half(1)), wide(2), s.rounding);
    } else {
      r = add(half(0), op == "sub" ? negate(wide(1)) : wide(1), s.rounding);
    }
    return exactly(finished(r, s));
  };
}

}  // namespace

Oracle floatOracle(const Form& f) {
  std::string_view op = f.row->opcode;
  Type t = f.types[0];
  const BinaryFormat* format = formatOf(t);
  if (format == nullptr || f.has(Mod::approx) || f.has(Mod::full)) return {};
  Shape s{*format,
          elementsOf(t),
          roundingOf(f),
          f.has(Mod::ftz),
          f.has(Mod::sat),
          f.has(Mod::relu),
          static_cast<unsigned>(f.row->operands.size() - 1)};
  Rounding mode = s.rounding;
  using Sources = std::array<Exact, 3>;
  if ((op == "add" || op == "sub" || op == "fma") && f.types[1] != Mod::none) {
    return mixedOracle(f, s, op);
  }
  if (op == "add") {
    return arithmetic(s, [=](const Sources& x) { return add(x[0], x[1], mode); });
  }
  if (op == "sub") {
    return arithmetic(s, [=](const Sources& x) { return add(x[0], negate(x[1]), mode); });
  }
  if (op == "mul") return arithmetic(s, [](const Sources& x) { return multiply(x[0], x[1]); });
  if (op == "fma" || op == "mad") {
    return arithmetic(s, [=](const Sources& x) { return add(multiply(x[0], x[1]), x[2], mode); });
  }
  if (op == "div") return arithmetic(s, [](const Sources& x) { return divide(x[0], x[1]); });
  if (op == "rcp") {
    return arithmetic(s, [](const Sources& x) { return divide(fromInteger(1), x[0]); });
  }
  if (op == "sqrt") return arithmetic(s, [](const Sources& x) { return squareRoot(x[0]); });
  if (op == "neg" || op == "abs") return signOracle(s, op == "neg");
  if (op == "min" || op == "max") return minMaxOracle(s, f, op == "max");
  if (op == "copysign") {
    uint64_t sign = s.format.signBit();
    return [=](const Operands& o) { return exactly((o.src[1] & ~sign) | (o.src[0] & sign)); };
  }
  if (op == "testp") {
    BinaryFormat b = s.format;
    Mod what = f.mods[0];
    return [=](const Operands& o) {
      Exact v = unpack(o.src[0], b);
      bool sub = isSubnormal(o.src[0], b), is = false;
      switch (what) {
        case Mod::finite:
          is = v.kind == Exact::finite;
          break;
        case Mod::infinite:
          is = v.kind == Exact::infinity;
          break;
        case Mod::number:
          is = !v.isNan();
          break;
        case Mod::notanumber:
          is = v.isNan();
          break;
        case Mod::normal:  // Neither infinite nor subnormal; zero counts.
          is = v.kind == Exact::finite && !sub;
          break;
        default:
          is = sub;
      }
      return exactly(is ? 1 : 0);
    };
  }
  return {};
}

}  // namespace mtlc::sim::oracle
