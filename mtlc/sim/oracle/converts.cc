// cvt and cvt.pack (PTX ISA 9.7.9).

#include <algorithm>

#include "mtlc/sim/oracle/oracle.h"

namespace mtlc::sim::oracle {
namespace {

struct Conversion {
  Type to, from;
  Rounding rounding;
  bool ftz, sat, satfinite, relu, integral;
};

Want integerToInteger(const Conversion& c, uint64_t bits) {
  I128 v = integerValue(c.from, bits);
  if (c.sat) v = std::clamp(v, leastOf(c.to), greatestOf(c.to));
  return exactly(lowBits(v, typeBits(c.to)));
}

Want floatToInteger(const Conversion& c, uint64_t bits) {
  const BinaryFormat& f = *formatOf(c.from);
  Exact v = unpack(flushed(bits, f, c.ftz && c.from == Mod::f32), f);
  unsigned width = typeBits(c.to);
  if (v.isNan()) {
    return exactly(c.from == Mod::f64 || width == 64 ? uint64_t{1} << (width - 1) : 0);
  }
  I128 r = clampToInteger(toIntegral(v, c.rounding), leastOf(c.to), greatestOf(c.to));
  return exactly(lowBits(r, width));
}

// What an exact value becomes in format `f`.
uint64_t encoded(const Conversion& c, Exact v, const BinaryFormat& f) {
  if (c.sat) {
    if (v.isNan() || v.negative) return 0;
    if (compare(unpack(round(v, f, c.rounding), f), fromInteger(1)) > 0) v = fromInteger(1);
  }
  if (c.relu && !v.isNan() && v.negative) return 0;
  return flushed(round(v, f, c.rounding, c.satfinite), f, c.ftz && c.to == Mod::f32);
}

Want floatToFloat(const Conversion& c, uint64_t bits) {
  const BinaryFormat& from = *formatOf(c.from);
  const BinaryFormat& to = *formatOf(c.to);
  Exact v = unpack(flushed(bits, from, c.ftz && c.from == Mod::f32), from);
  if (v.isNan() && !c.sat && to.bits() == 64) {
    Want w;
    w.kind = Want::quietNan;
    return w;
  }
  if (c.integral) v = toIntegral(v, c.rounding);
  return exactly(encoded(c, v, to));
}

Oracle packOracle(const Form& f) {
  Type t = f.types[0];
  unsigned width = typeBits(t);
  bool merges = f.row->operands.size() == 4;
  return [=](const Operands& o) {
    auto part = [&](uint64_t bits) {
      I128 v = integerValue(Mod::s32, bits);
      return lowBits(std::clamp(v, leastOf(t), greatestOf(t)), width);
    };
    uint64_t d = part(o.src[0]) << width | part(o.src[1]);
    if (merges) d |= o.src[2] << (2 * width);
    return exactly(d & 0xffffffffu);
  };
}

// Two sources, the first into the upper element.
Oracle pairOracle(const Conversion& c) {
  BinaryFormat to = *formatOf(c.to);
  return [=](const Operands& o) {
    uint64_t d = encoded(c, unpack(o.src[0], kBinary32), to) << to.bits() |
                 encoded(c, unpack(o.src[1], kBinary32), to);
    return exactly(d);
  };
}

Oracle elementwiseOracle(const Conversion& c) {
  BinaryFormat to = *formatOf(c.to), from = *formatOf(c.from);
  return [=](const Operands& o) {
    uint64_t d = 0;
    for (int e = 0; e < 2; ++e) {
      uint64_t bits = o.src[0] >> (from.bits() * e) & ((uint64_t{1} << from.bits()) - 1);
      d |= encoded(c, unpack(bits, from), to) << (to.bits() * e);
    }
    return exactly(d);
  };
}

// tf32 sits in the upper 19 bits of a 32-bit register.
Oracle tensorOracle(const Conversion& c) {
  return [=](const Operands& o) {
    uint64_t bits = encoded(c, unpack(o.src[0], kBinary32), kTensor32) << 13;
    Want w = exactly(bits);
    if (isNanBits(o.src[0], kBinary32)) {
      w.kind = Want::oneOf;
      w.choices = {bits, 0x7fffffffu};
      w.choiceCount = 2;
    }
    return w;
  };
}

}  // namespace

Oracle convertOracle(const Form& f) {
  if (f.row->opcode != "cvt") return {};
  if (f.has(Mod::pack)) return packOracle(f);
  if (Oracle narrow = narrowOracle(f)) return narrow;
  Conversion c{f.types[0],       f.types[1],
               roundingOf(f),    f.has(Mod::ftz),
               f.has(Mod::sat),  f.has(Mod::satfinite),
               f.has(Mod::relu), f.firstOf({Mod::rni, Mod::rzi, Mod::rmi, Mod::rpi}) != Mod::none};
  if (c.to == Mod::tf32) return tensorOracle(c);
  if (f.row->operands.size() == 3) return pairOracle(c);
  if (elementsOf(c.to) == 2) return elementwiseOracle(c);
  bool toFloat = formatOf(c.to) != nullptr, fromFloat = formatOf(c.from) != nullptr;
  if (toFloat && fromFloat) return [=](const Operands& o) { return floatToFloat(c, o.src[0]); };
  if (fromFloat) return [=](const Operands& o) { return floatToInteger(c, o.src[0]); };
  if (toFloat) {
    BinaryFormat to = *formatOf(c.to);
    return [=](const Operands& o) {
      return exactly(encoded(c, fromInteger(integerValue(c.from, o.src[0])), to));
    };
  }
  return [=](const Operands& o) { return integerToInteger(c, o.src[0]); };
}

}  // namespace mtlc::sim::oracle
