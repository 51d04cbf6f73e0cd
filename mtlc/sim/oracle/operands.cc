#include "mtlc/sim/oracle/operands.h"

#include <iterator>

#include "mtlc/sim/oracle/oracle.h"

namespace mtlc::sim::oracle {
namespace {

uint64_t maskOf(unsigned width) { return width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1; }

uint64_t integerOf(unsigned width, bool small, Random& random) {
  static constexpr uint64_t kSmall[] = {
      0,   1,   2,   3,   4,           7,           8,           15,       16,
      17,  23,  24,  30,  31,          32,          33,          40,       47,
      48,  62,  63,  64,  65,          127,         128,         129,      254,
      255, 256, 257, 511, 0xffffffffu, 0x80000000u, 0x7fffffffu, 0x10000u, 0xffffff00u};
  uint64_t mask = maskOf(width);
  if (small && !random.oneIn(5)) {
    return (random.oneIn(3) ? kSmall[random.below(std::size(kSmall))]
                            : random.below(random.oneIn(2) ? 32 : 72)) &
           mask;
  }
  uint64_t top = uint64_t{1} << (width - 1);
  switch (random.below(8)) {
    case 0: {
      const uint64_t kCorner[] = {0, 1, 2, 3, top, top - 1, top + 1, mask, mask - 1, mask - 2};
      return kCorner[random.below(std::size(kCorner))] & mask;
    }
    case 1:  // Around a power of two.
      return ((uint64_t{1} << random.below(width)) + random.below(3) - 1) & mask;
    case 2:
      return (~(uint64_t{1} << random.below(width)) + random.below(3) - 1) & mask;
    case 3:  // Of random length, of either sign.
      return ((random.next() & maskOf(width) >> random.below(width)) ^
              (random.oneIn(2) ? mask : 0)) &
             mask;
    case 4: {  // Bytes of corner values.
      static constexpr uint64_t kByte[] = {0, 1, 0x7f, 0x80, 0x81, 0xff, 0xfe, 0x40};
      uint64_t v = 0;
      for (unsigned i = 0; i < width; i += 8) v |= kByte[random.below(8)] << i;
      return v & mask;
    }
    default:
      return random.next() & mask;
  }
}

uint64_t floatOf(const BinaryFormat& f, Random& random) {
  unsigned width = static_cast<unsigned>(f.bits());
  uint64_t sign = random.oneIn(2) ? f.signBit() : 0;
  uint64_t inf = f.firstSpecial();
  uint64_t one = static_cast<uint64_t>(f.bias()) << f.fractionBits;
  uint64_t hidden = uint64_t{1} << f.fractionBits;
  uint64_t fraction = random.next() & (hidden - 1);
  switch (random.below(10)) {
    case 0: {
      // Zero, subnormals, least normal, one, largest, infinity, quiet and signalling NaN.
      const uint64_t kCorner[] = {0,
                                  1,
                                  2,
                                  hidden - 1,
                                  hidden,
                                  hidden + 1,
                                  one,
                                  one - 1,
                                  one + 1,
                                  one - hidden,
                                  one + hidden,
                                  inf - 1,
                                  inf - 2,
                                  inf,
                                  inf | hidden >> 1,
                                  inf | 1,
                                  inf | (hidden - 1),
                                  one + hidden / 2};
      return (sign | kCorner[random.below(std::size(kCorner))]) & maskOf(width);
    }
    case 1:  // Subnormal.
      return sign | fraction >> random.below(static_cast<uint64_t>(f.fractionBits));
    case 2: {  // A small integer or a half.
      Exact v = fromInteger(static_cast<I128>(random.below(600)));
      v.exponent = -1;
      return sign | round(v, f, Rounding::nearestEven);
    }
    case 3: {  // Around a power of two, for the limits of integer types and of narrower formats.
      Exact v = fromInteger(static_cast<I128>((uint64_t{1} << 40) + random.below(5) - 2));
      v.exponent = static_cast<int>(random.below(140)) - 110;
      return sign | round(v, f, static_cast<Rounding>(random.below(5)));
    }
    case 4:
    case 5: {  // Of moderate exponent, so that sums and products interact.
      uint64_t spread = random.below(32);
      uint64_t exponent = static_cast<uint64_t>(f.bias()) + spread - 16;
      uint64_t limit = (uint64_t{1} << f.exponentBits) - 2;
      if (exponent > limit) exponent = limit;
      return sign | exponent << f.fractionBits | fraction;
    }
    case 6:  // Few bits set: products and ties are exact.
      return sign | (random.next() & (inf & ~(hidden - 1))) |
             (fraction & ~((hidden - 1) >> random.below(8)));
    default:
      return random.next() & maskOf(width);
  }
}

}  // namespace

uint64_t operandOf(Type t, bool small, Random& random) {
  if (t == Mod::pred) return random.next() & 1;
  if (const BinaryFormat* f = formatOf(t)) {
    unsigned elements = elementsOf(t), width = typeBits(t) / elements;
    uint64_t v = 0;
    for (unsigned e = 0; e < elements; ++e) v |= floatOf(*f, random) << (width * e);
    return v;
  }
  if (t == Mod::u16x2 || t == Mod::s16x2) {
    return integerOf(16, false, random) << 16 | integerOf(16, false, random);
  }
  return integerOf(typeBits(t), small, random);
}

uint64_t operandNear(Type t, Random& random) {
  uint64_t sign = random.oneIn(2) ? kBinary32.signBit() : 0;
  Exact v;
  if (t == Mod::ue8m0x2) {
    v = fromInteger(1);
    v.exponent = static_cast<int>(random.below(281)) - 151;
  } else {
    // Half a unit of the last place is 2^-2 at least in e2m1, 2^-5 in e3m2, 2^-4 in e2m3.
    v = fromInteger(static_cast<I128>(random.below(random.oneIn(2) ? 64 : 1024)));
    v.exponent = -5;
  }
  uint64_t bits = round(v, kBinary32, Rounding::nearestEven);
  uint64_t away = random.below(3);
  return sign | (away == 0 && bits != 0 ? bits - 1 : away == 1 ? bits + 1 : bits);
}

uint64_t relatedTo(Type t, uint64_t other, Random& random) {
  if (t == Mod::pred) return other;
  unsigned elements = elementsOf(t), width = typeBits(t) / elements;
  uint64_t one = 0, top = 0;
  for (unsigned e = 0; e < elements; ++e) {
    one |= uint64_t{1} << (width * e);
    top |= uint64_t{1} << (width * e + width - 1);
  }
  uint64_t mask = maskOf(typeBits(t));
  bool floating = formatOf(t) != nullptr;
  switch (random.below(5)) {
    case 0:
      return other;
    case 1:
      return (other + one) & mask;
    case 2:
      return (other - one) & mask;
    case 3:
      return floating ? other ^ top : -other & mask;
    default:
      return floating ? ((other ^ top) + one * random.below(4)) & mask : ~other & mask;
  }
}

}  // namespace mtlc::sim::oracle
