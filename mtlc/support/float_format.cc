#include "mtlc/support/float_format.h"

namespace mtlc {
namespace {

constexpr FloatFormatInfo kFormats[] = {
#define MTLC_X(id, name, storage, isSigned, exponent, mantissa, bias, specials, unused) \
  {name, storage, isSigned, exponent, mantissa, bias, FloatSpecials::specials, unused},
    MTLC_FLOAT_FORMATS(MTLC_X)
#undef MTLC_X
};

// Sign and unused low bits around a magnitude code.
uint64_t assemble(const FloatFormatInfo& info, bool negative, uint64_t code) {
  uint64_t sign =
      negative && info.isSigned ? uint64_t{1} << (info.exponentBits + info.mantissaBits) : 0;
  return (sign | code) << info.unusedLowBits;
}

// A quiet NaN with the top bits of `payload` (52 bits, left-aligned as in float64).
uint64_t encodeNan(const FloatFormatInfo& info, bool negative, uint64_t payload) {
  uint64_t ones = (uint64_t{1} << (info.exponentBits + info.mantissaBits)) - 1;
  switch (info.specials) {
    case FloatSpecials::None:
      return assemble(info, false, info.maxFiniteCode());
    case FloatSpecials::FiniteNan:
      return assemble(info, negative, ones);
    case FloatSpecials::Ieee:
      break;
  }
  uint64_t exponentField = ones & ~((uint64_t{1} << info.mantissaBits) - 1);
  uint64_t quiet = uint64_t{1} << (info.mantissaBits - 1);
  return assemble(info, negative, exponentField | quiet | payload >> (52 - info.mantissaBits));
}

uint64_t encodeOverflow(const FloatFormatInfo& info, bool negative, FloatOverflow overflow) {
  if (overflow == FloatOverflow::Saturate || info.specials == FloatSpecials::None) {
    return assemble(info, negative, info.maxFiniteCode());
  }
  // One past the largest finite code is infinity or, in a format without one, NaN.
  return assemble(info, negative, info.maxFiniteCode() + 1);
}

}  // namespace

const FloatFormatInfo& floatFormatInfo(FloatFormat format) {
  return kFormats[static_cast<size_t>(format)];
}

double decodeFloat(FloatFormat format, uint64_t code) {
  const FloatFormatInfo& info = floatFormatInfo(format);
  code >>= info.unusedLowBits;
  int magnitudeBits = info.exponentBits + info.mantissaBits;
  uint64_t mantissa = code & ((uint64_t{1} << info.mantissaBits) - 1);
  uint64_t biased = code >> info.mantissaBits & ((uint64_t{1} << info.exponentBits) - 1);
  uint64_t sign = info.isSigned ? (code >> magnitudeBits & 1) << 63 : 0;
  uint64_t magnitude = biased << info.mantissaBits | mantissa;
  uint64_t alignedMantissa = mantissa << (52 - info.mantissaBits);

  if (info.specials == FloatSpecials::FiniteNan && magnitude > info.maxFiniteCode()) {
    return f64FromBits(sign | 0x7FF8000000000000);
  }
  if (info.specials == FloatSpecials::Ieee && magnitude > info.maxFiniteCode()) {
    uint64_t quiet = mantissa != 0 ? 0x0008000000000000 : 0;
    return f64FromBits(sign | 0x7FF0000000000000 | quiet | alignedMantissa);
  }
  if (biased == 0 && info.hasSubnormals()) {
    if (format == FloatFormat::F64) return f64FromBits(sign | mantissa);
    // mantissa · 2^(1 - bias - mantissaBits): both factors and the product are exact and normal.
    double unit =
        f64FromBits(static_cast<uint64_t>(1 - info.bias - info.mantissaBits + 1023) << 52);
    return f64FromBits(sign | f64Bits(static_cast<double>(mantissa) * unit));
  }
  uint64_t exponent = biased + static_cast<uint64_t>(1023 - info.bias);
  return f64FromBits(sign | exponent << 52 | alignedMantissa);
}

uint64_t encodeParts(FloatFormat format, bool negative, uint64_t significand, int exponent,
                     bool sticky, FloatOverflow overflow) {
  const FloatFormatInfo& info = floatFormatInfo(format);
  int minExponent = info.hasSubnormals() ? 1 - info.bias : -info.bias;
  if (significand == 0) {
    return assemble(info, negative, 0);
  }
  int lead = std::countl_zero(significand);
  significand <<= lead;
  exponent += 63 - lead;  // the value lies in [2^exponent, 2^(exponent + 1))
  int shift = 63 - info.mantissaBits;
  uint64_t base = 0;
  if (exponent >= minExponent) {
    // The implicit bit adds one to the exponent field; hence one less here.
    base = static_cast<uint64_t>(exponent - minExponent) << info.mantissaBits;
    if (exponent - minExponent > (1 << info.exponentBits)) {
      return negative && !info.isSigned ? encodeNan(info, negative, 0)
                                        : encodeOverflow(info, negative, overflow);
    }
    // Without subnormals the field of the smallest exponent is 0, so the implicit bit goes.
    if (!info.hasSubnormals()) base -= uint64_t{1} << info.mantissaBits;
  } else {
    shift += minExponent - exponent;
    if (!info.hasSubnormals()) return negative ? encodeNan(info, true, 0) : 0;
  }
  uint64_t quotient = 0;
  bool half = false;
  if (shift < 64) {
    quotient = significand >> shift;
    half = significand >> (shift - 1) & 1;
    sticky |= (significand & ((uint64_t{1} << (shift - 1)) - 1)) != 0;
  } else if (shift == 64) {
    half = true;  // normalised: the leading bit is worth half a unit
    sticky |= (significand << 1) != 0;
  } else {
    sticky = true;
  }
  uint64_t code = base + quotient;
  // Rounding up may carry into the exponent; the codes are consecutive, so that is right.
  code += half && (sticky || (code & 1));
  if (code == 0 && info.hasSubnormals()) return assemble(info, negative, 0);
  if (negative && !info.isSigned) return encodeNan(info, negative, 0);
  if (code > info.maxFiniteCode()) return encodeOverflow(info, negative, overflow);
  return assemble(info, negative, code);
}

uint64_t encodeFloat(FloatFormat format, double value, FloatOverflow overflow) {
  const FloatFormatInfo& info = floatFormatInfo(format);
  uint64_t bits = f64Bits(value);
  bool negative = bits >> 63;
  uint64_t biased = bits >> 52 & 0x7FF;
  uint64_t mantissa = bits & 0x000FFFFFFFFFFFFF;
  if (biased == 0x7FF) {
    if (mantissa != 0) return encodeNan(info, negative, mantissa);
    if (negative && !info.isSigned) return encodeNan(info, negative, 0);
    return encodeOverflow(info, negative, overflow);
  }
  uint64_t significand = biased == 0 ? mantissa : mantissa | uint64_t{1} << 52;
  int exponent = static_cast<int>(biased == 0 ? 1 : biased) - 1075;
  return encodeParts(format, negative, significand, exponent, /*sticky=*/false, overflow);
}

uint64_t encodeSigned(FloatFormat format, int64_t value, FloatOverflow overflow) {
  uint64_t magnitude =
      value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  return encodeParts(format, value < 0, magnitude, 0, /*sticky=*/false, overflow);
}

uint64_t encodeUnsigned(FloatFormat format, uint64_t value, FloatOverflow overflow) {
  return encodeParts(format, false, value, 0, /*sticky=*/false, overflow);
}

uint32_t roundToTf32TiesAway(uint32_t bits) {
  if (isNanF32(bits)) return (bits | 0x00400000) & 0xFFFFE000;
  if ((bits & 0x7F800000) == 0x7F800000) return bits;
  return (bits + 0x1000) & 0xFFFFE000;
}

namespace internal {

uint16_t f32ToF16Slow(uint32_t bits) {
  return static_cast<uint16_t>(
      encodeFloat(FloatFormat::F16, f32ToF64(f32FromBits(bits)), FloatOverflow::Default));
}

}  // namespace internal
}  // namespace mtlc
