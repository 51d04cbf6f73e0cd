// cvt to and from the formats below eight bits and the scales ue8m0 (PTX ISA 5.2.3, "Alternate
// Floating-Point Data Formats"; 9.7.9.21): all their values are listed, and a number becomes the
// one that the rounding asks for. Nothing is done with bits of fields.

#include <vector>

#include "mtlc/sim/oracle/oracle.h"

namespace mtlc::sim::oracle {
namespace {

Exact scaled(uint64_t mantissa, int exponent) {
  Exact v = fromUnsigned(mantissa);
  v.exponent = exponent;
  return v;
}

// The values of the codes 0, 1, … without sign, in units of the least power of two that occurs.
struct Values {
  int codeBits;  // With the sign.
  int unit;      // Exponent of the units.
  std::vector<uint64_t> units;
};
const Values kE2M1{4, -1, {0, 1, 2, 3, 4, 6, 8, 12}};
const Values kE2M3{6, -3, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                           16, 18, 20, 22, 24, 26, 28, 30, 32, 36, 40, 44, 48, 52, 56, 60}};
const Values kE3M2{
    6, -4, {0,  1,  2,  3,  4,  5,  6,  7,   8,   10,  12,  14,  16,  20,  24,  28,
            32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448}};

const Values* valuesOf(Type t) {
  switch (t) {
    case Mod::e2m1x2:
      return &kE2M1;
    case Mod::e2m3x2:
      return &kE2M3;
    case Mod::e3m2x2:
      return &kE3M2;
    default:
      return nullptr;
  }
}

// The nearest code, of two equally near the even one; NaN and what is too large: the largest.
uint64_t nearestCode(Exact v, const Values& values, bool relu) {
  uint64_t largest = values.units.size() - 1;
  if (v.isNan()) return largest;
  if (v.negative && relu) return 0;
  uint64_t sign = v.negative ? largest + 1 : 0;
  v.negative = false;
  for (uint64_t code = 0; code < largest; ++code) {
    Exact middle = scaled(values.units[code] + values.units[code + 1], values.unit - 1);
    int side = compare(v, middle);
    if (side < 0 || (side == 0 && code % 2 == 0)) return sign | code;
  }
  return sign | largest;
}

// The power of two at |v| or next to it; 254 is the last, 255 is NaN.
uint64_t scaleCode(Exact v, bool up, bool satfinite) {
  if (v.isNan()) return 255;
  v.negative = false;
  uint64_t beyond = satfinite ? 254 : 255;
  if (v.kind == Exact::infinity) return beyond;
  if (up) {
    for (int code = 0; code <= 254; ++code) {
      if (compare(scaled(1, code - 127), v) >= 0) return static_cast<uint64_t>(code);
    }
    return beyond;
  }
  if (compare(v, scaled(1, 128)) >= 0) return beyond;
  for (int code = 254; code > 0; --code) {
    if (compare(scaled(1, code - 127), v) <= 0) return static_cast<uint64_t>(code);
  }
  return 0;
}

uint64_t valueOf(uint64_t code, const Values& values, bool relu, const BinaryFormat& to) {
  uint64_t sign = uint64_t{1} << (values.codeBits - 1);
  Exact v = scaled(values.units[code & (sign - 1)], values.unit);
  v.negative = (code & sign) != 0;
  if (relu && v.negative) return 0;
  return round(v, to, Rounding::nearestEven);
}

uint64_t valueOfScale(uint64_t code) {
  if (code == 255) return 0x7fff;
  return round(scaled(1, static_cast<int>(code) - 127), kBfloat16, Rounding::nearestEven);
}

}  // namespace

Oracle narrowOracle(const Form& f) {
  Type to = f.types[0], from = f.types[1];
  bool relu = f.has(Mod::relu), up = f.has(Mod::rp), satfinite = f.has(Mod::satfinite);
  if (to == Mod::ue8m0x2) {
    bool packed = from == Mod::bf16x2;
    return [=](const Operands& o) {
      Exact hi = packed ? unpack(o.src[0] >> 16 & 0xffff, kBfloat16) : unpack(o.src[0], kBinary32);
      Exact lo = packed ? unpack(o.src[0] & 0xffff, kBfloat16) : unpack(o.src[1], kBinary32);
      return exactly(scaleCode(hi, up, satfinite) << 8 | scaleCode(lo, up, satfinite));
    };
  }
  if (from == Mod::ue8m0x2) {
    return [](const Operands& o) {
      return exactly(valueOfScale(o.src[0] >> 8 & 0xff) << 16 | valueOfScale(o.src[0] & 0xff));
    };
  }
  if (const Values* values = valuesOf(to)) {
    unsigned upper = values->codeBits == 4 ? 4 : 8;
    if (from == Mod::f16x2 || from == Mod::bf16x2) {
      BinaryFormat half = from == Mod::f16x2 ? kBinary16 : kBfloat16;
      return [=](const Operands& o) {
        return exactly(nearestCode(unpack(o.src[0] >> 16 & 0xffff, half), *values, relu) << upper |
                       nearestCode(unpack(o.src[0] & 0xffff, half), *values, relu));
      };
    }
    return [=](const Operands& o) {
      return exactly(nearestCode(unpack(o.src[0], kBinary32), *values, relu) << upper |
                     nearestCode(unpack(o.src[1], kBinary32), *values, relu));
    };
  }
  if (const Values* values = valuesOf(from)) {
    unsigned upper = values->codeBits == 4 ? 4 : 8;
    uint64_t mask = (uint64_t{1} << values->codeBits) - 1;
    BinaryFormat half = to == Mod::f16x2 ? kBinary16 : kBfloat16;
    return [=](const Operands& o) {
      // The ISA asks for zeros above the codes; docs/simulator.md says that they do not count.
      return exactly(valueOf(o.src[0] >> upper & mask, *values, relu, half) << 16 |
                     valueOf(o.src[0] & mask, *values, relu, half));
    };
  }
  return {};
}

}  // namespace mtlc::sim::oracle
