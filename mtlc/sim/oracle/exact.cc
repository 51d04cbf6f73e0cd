#include "mtlc/sim/oracle/exact.h"

#include <algorithm>

namespace mtlc::sim::oracle {
namespace {

int bitLength(U128 v) {
  auto hi = static_cast<uint64_t>(v >> 64), lo = static_cast<uint64_t>(v);
  if (hi != 0) return 128 - __builtin_clzll(hi);
  return lo != 0 ? 64 - __builtin_clzll(lo) : 0;
}

// The same value with the top bit of the mantissa at `top`; bits shifted out make it sticky.
Exact normalized(Exact a, int top) {
  int shift = top - (bitLength(a.mantissa) - 1);
  if (shift >= 0) {
    a.mantissa <<= shift;
  } else {
    a.sticky = a.sticky || (a.mantissa & ((U128{1} << -shift) - 1)) != 0;
    a.mantissa >>= -shift;
  }
  a.exponent -= shift;
  return a;
}

void shiftRight(Exact& a, int by) {
  if (by <= 0) return;
  a.exponent += by;
  if (by > 127) {
    a.sticky = a.sticky || a.mantissa != 0;
    a.mantissa = 0;
    return;
  }
  a.sticky = a.sticky || (a.mantissa & ((U128{1} << by) - 1)) != 0;
  a.mantissa >>= by;
}

Exact nanValue() {
  Exact r;
  r.kind = Exact::nan;
  return r;
}

// Whether the integer part `kept` grows by one, given the rest as a fraction of one: `half` is its
// comparison with 1/2, `inexact` whether it is not zero.
bool roundsUp(bool odd, int half, bool inexact, bool negative, Rounding rounding) {
  switch (rounding) {
    case Rounding::nearestEven:
      return half > 0 || (half == 0 && odd);
    case Rounding::nearestAway:
      return half >= 0;
    case Rounding::towardZero:
      return false;
    case Rounding::down:
      return inexact && negative;
    case Rounding::up:
      return inexact && !negative;
  }
  return false;
}

// The mantissa after dropping its low `drop` bits with rounding.
U128 roundedMantissa(const Exact& a, int drop, Rounding rounding) {
  U128 kept = 0;
  bool inexact = a.sticky || a.mantissa != 0;
  int half = -1;
  if (drop < 128) {
    kept = a.mantissa >> drop;
    U128 rest = a.mantissa & ((U128{1} << drop) - 1);
    U128 middle = drop > 0 ? U128{1} << (drop - 1) : 0;
    inexact = rest != 0 || a.sticky;
    if (drop > 0) half = rest > middle ? 1 : rest < middle ? -1 : a.sticky ? 1 : 0;
  }
  return kept + (roundsUp((kept & 1) != 0, half, inexact, a.negative, rounding) ? 1 : 0);
}

}  // namespace

Exact unpack(uint64_t bits, const BinaryFormat& f) {
  Exact r;
  r.negative = (bits & f.signBit()) != 0;
  uint64_t magnitude = bits & (f.signBit() - 1);
  if (magnitude >= f.firstSpecial()) {
    r.kind = f.infinities && magnitude == f.firstSpecial() ? Exact::infinity : Exact::nan;
    return r;
  }
  uint64_t fraction = magnitude & ((uint64_t{1} << f.fractionBits) - 1);
  int biased = static_cast<int>(magnitude >> f.fractionBits);
  r.mantissa = biased == 0 ? fraction : fraction | uint64_t{1} << f.fractionBits;
  r.exponent = std::max(biased, 1) - f.bias() - f.fractionBits;
  return r;
}

Exact fromUnsigned(U128 value) {
  Exact r;
  r.mantissa = value;
  return r;
}

Exact fromInteger(I128 value) {
  Exact r = fromUnsigned(value < 0 ? -static_cast<U128>(value) : static_cast<U128>(value));
  r.negative = value < 0;
  return r;
}

Exact negate(Exact a) {
  a.negative = !a.negative;
  return a;
}

Exact add(const Exact& a, const Exact& b, Rounding rounding) {
  if (a.isNan() || b.isNan()) return nanValue();
  if (a.kind == Exact::infinity || b.kind == Exact::infinity) {
    if (a.kind == b.kind && a.negative != b.negative) return nanValue();
    return a.kind == Exact::infinity ? a : b;
  }
  if (a.isZero() && b.isZero()) {
    Exact r = a;
    if (a.negative != b.negative) r.negative = rounding == Rounding::down;
    return r;
  }
  if (a.isZero()) return b;
  if (b.isZero()) return a;
  Exact x = normalized(a, 125), y = normalized(b, 125);
  if (x.exponent < y.exponent) std::swap(x, y);
  shiftRight(y, x.exponent - y.exponent);
  if (x.negative == y.negative) {
    x.mantissa += y.mantissa;
    x.sticky = x.sticky || y.sticky;
    return x;
  }
  if (x.mantissa < y.mantissa) std::swap(x, y);
  x.mantissa -= y.mantissa;
  if (y.sticky) {
    x.mantissa -= 1;
    x.sticky = true;
  }
  if (x.isZero()) {
    x.negative = rounding == Rounding::down;
    x.exponent = 0;
  }
  return x;
}

Exact multiply(const Exact& a, const Exact& b) {
  if (a.isNan() || b.isNan()) return nanValue();
  Exact r;
  r.negative = a.negative != b.negative;
  if (a.kind == Exact::infinity || b.kind == Exact::infinity) {
    if (a.isZero() || b.isZero()) return nanValue();
    r.kind = Exact::infinity;
    return r;
  }
  r.mantissa = a.mantissa * b.mantissa;
  r.exponent = a.exponent + b.exponent;
  return r;
}

Exact divide(const Exact& a, const Exact& b) {
  if (a.isNan() || b.isNan()) return nanValue();
  Exact r;
  r.negative = a.negative != b.negative;
  if (a.kind == Exact::infinity) {
    if (b.kind == Exact::infinity) return nanValue();
    r.kind = Exact::infinity;
    return r;
  }
  if (b.kind == Exact::infinity) return r;
  if (b.isZero()) {
    if (a.isZero()) return nanValue();
    r.kind = Exact::infinity;
    return r;
  }
  if (a.isZero()) return r;
  Exact x = normalized(a, 126);
  r.mantissa = x.mantissa / b.mantissa;
  r.sticky = x.mantissa % b.mantissa != 0;
  r.exponent = x.exponent - b.exponent;
  return r;
}

Exact squareRoot(const Exact& a) {
  if (a.isNan() || (a.negative && !a.isZero())) return nanValue();
  if (a.kind == Exact::infinity || a.isZero()) return a;
  Exact x = normalized(a, 120);
  if ((x.exponent & 1) != 0) {
    x.mantissa <<= 1;
    x.exponent -= 1;
  }
  U128 root = 0;
  for (int bit = 62; bit >= 0; --bit) {
    U128 next = root | U128{1} << bit;
    if (next * next <= x.mantissa) root = next;
  }
  Exact r;
  r.sticky = root * root != x.mantissa;
  r.mantissa = root;
  r.exponent = x.exponent / 2;
  return r;
}

int compare(const Exact& a, const Exact& b) {
  if (a.isZero() && b.isZero()) return 0;
  if (a.isZero()) return b.negative ? 1 : -1;
  if (b.isZero()) return a.negative ? -1 : 1;
  if (a.negative != b.negative) return a.negative ? -1 : 1;
  int sign = a.negative ? -1 : 1;
  if (a.kind == Exact::infinity || b.kind == Exact::infinity) {
    if (a.kind == b.kind) return 0;
    return a.kind == Exact::infinity ? sign : -sign;
  }
  Exact x = normalized(a, 120), y = normalized(b, 120);
  if (x.exponent != y.exponent) return x.exponent > y.exponent ? sign : -sign;
  if (x.mantissa != y.mantissa) return x.mantissa > y.mantissa ? sign : -sign;
  return 0;
}

Exact toIntegral(const Exact& a, Rounding rounding) {
  if (a.kind != Exact::finite || a.isZero() || a.exponent >= 0) return a;
  Exact r = a;
  r.mantissa = roundedMantissa(a, -a.exponent, rounding);
  r.sticky = false;
  r.exponent = 0;
  return r;
}

I128 clampToInteger(const Exact& a, I128 low, I128 high) {
  if (a.kind == Exact::infinity || a.exponent > 64 ||
      (a.exponent > 0 && a.mantissa >> (100 - a.exponent) != 0)) {
    if (a.isZero()) return 0;
    return a.negative ? low : high;
  }
  I128 v = static_cast<I128>(a.mantissa << std::max(a.exponent, 0));
  if (a.negative) v = -v;
  return std::clamp(v, low, high);
}

uint64_t round(const Exact& a, const BinaryFormat& f, Rounding rounding, bool finiteOnly) {
  uint64_t sign = a.negative ? f.signBit() : 0;
  if (a.isNan()) return f.signBit() - 1;
  uint64_t largest = f.firstSpecial() - 1;
  if (a.kind == Exact::infinity) return sign | (finiteOnly ? largest : f.firstSpecial());
  if (a.isZero()) return sign;
  Exact x = normalized(a, 126);
  int least = 1 - f.bias();
  int e = std::max(x.exponent + 126, least);
  U128 q = roundedMantissa(x, e - f.fractionBits - x.exponent, rounding);
  if (q >> (f.fractionBits + 1) != 0) {
    q >>= 1;
    e += 1;
  }
  bool normal = q >> f.fractionBits != 0;
  bool overflow = e + f.bias() >= 1 << f.exponentBits;
  uint64_t bits = 0;
  if (!overflow) {
    uint64_t fraction = static_cast<uint64_t>(q) & ((uint64_t{1} << f.fractionBits) - 1);
    bits = fraction | (normal ? static_cast<uint64_t>(e + f.bias()) << f.fractionBits : 0);
    overflow = bits >= f.firstSpecial();
  }
  if (!overflow) return sign | bits;
  bool away = rounding == Rounding::nearestEven || rounding == Rounding::nearestAway ||
              (rounding == Rounding::down && a.negative) ||
              (rounding == Rounding::up && !a.negative);
  return sign | (finiteOnly || !away ? largest : f.firstSpecial());
}

bool isNanBits(uint64_t bits, const BinaryFormat& f) { return unpack(bits, f).isNan(); }

bool isSubnormal(uint64_t bits, const BinaryFormat& f) {
  uint64_t magnitude = bits & (f.signBit() - 1);
  return magnitude != 0 && magnitude >> f.fractionBits == 0;
}

}  // namespace mtlc::sim::oracle
