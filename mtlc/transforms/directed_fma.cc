#include "mtlc/transforms/directed_fma.h"

#include "mtlc/transforms/ir_domain.h"

namespace mtlc::transforms {
namespace {

using ir::Rounding;

constexpr uint64_t kSign = uint64_t{1} << 63;
constexpr uint64_t kInfinity = uint64_t{0x7FF} << 52;

IrI64 widened(IrBool b) {
  return {b.builder, b.builder->cast(ir::Opcode::ZExt, b.value, ir::kI64)};
}
IrI64 chosen(IrBool c, IrI64 a, IrI64 b) { return select(c, a, b); }
IrI64 least(IrI64 a, IrI64 b) { return chosen(slt(a, b), a, b); }
IrI64 most(IrI64 a, IrI64 b) { return chosen(slt(a, b), b, a); }

// |x| = significand · 2^exponent of a finite x. Subnormals are not normalised.
struct Parts {
  IrI64 negative;  // All ones if the sign bit is set, else 0.
  IrI64 significand, exponent;
};
Parts partsOf(IrI64 bits) {
  const IrI64 biased = lshr(bits, uint64_t{52}) & uint64_t{0x7FF};
  const IrI64 hidden = widened(ne(biased, uint64_t{0}));
  return {ashr(bits, uint64_t{63}), (bits & ((uint64_t{1} << 52) - 1)) | shl(hidden, uint64_t{52}),
          biased + (uint64_t{1} - hidden) - uint64_t{1075}};
}

// Two's complement, modulo 2^128.
struct Wide {
  IrI64 high, low;
};
Wide sum(Wide a, Wide b) {
  const IrI64 low = a.low + b.low;
  return {a.high + b.high + widened(ult(low, a.low)), low};
}
// -x if `negative` is all ones, x if it is 0.
Wide signedBy(IrI64 negative, Wide x) {
  return sum({x.high ^ negative, x.low ^ negative}, {uint64_t{0}, negative & uint64_t{1}});
}
// By 0 … 127. Amounts of shifts count modulo 64.
Wide shiftLeft(IrI64 x, IrI64 by) {
  const IrBool far = !ult(by, uint64_t{64});
  const IrI64 shifted = shl(x, by);
  const IrI64 carried = lshr(lshr(x, uint64_t{1}), uint64_t{63} - by);
  return {chosen(far, shifted, carried), chosen(far, uint64_t{0}, shifted)};
}
// By 0 … 127; the lowest bit is set if any that is lost is.
Wide shiftRight(Wide x, IrI64 by) {
  const IrBool far = !ult(by, uint64_t{64});
  const IrI64 high = chosen(far, uint64_t{0}, x.high);
  const IrI64 low = chosen(far, x.high, x.low);
  const IrI64 gone = chosen(far, x.low, uint64_t{0});
  // What moves from one word to the next: 64 - by places up, in two steps since by may be 0.
  const IrI64 up = uint64_t{63} - by;
  const IrI64 lost = gone | shl(shl(low, uint64_t{1}), up);
  return {lshr(high, by),
          lshr(low, by) | shl(shl(high, uint64_t{1}), up) | widened(ne(lost, uint64_t{0}))};
}

}  // namespace

ir::Value* directedFma(ir::Builder& builder, ir::Value* a, ir::Value* b, ir::Value* c,
                       Rounding rounding) {
  const IrF64 nearest(&builder, builder.fma(a, b, c));
  const IrI64 bitsA = bits(IrF64(&builder, a)), bitsB = bits(IrF64(&builder, b));
  const IrI64 bitsC = bits(IrF64(&builder, c)), r = bits(nearest);
  const Parts x = partsOf(bitsA), y = partsOf(bitsB), z = partsOf(bitsC), n = partsOf(r);

  // The sign of a · b + c - nearest says to which neighbour the directed result may differ. All
  // three are put into 128 bits. The product, of 106 bits, begins 19 bits up; the addend is moved
  // to it, by 72 places up at most, and otherwise the product down to the addend. What falls out at
  // the bottom only counts as more than nothing: it is far below the last place of the result.
  const IrI64 productSign = x.negative ^ y.negative;
  const IrI64 low = x.significand * y.significand;
  const IrI64 high = umulhi(x.significand, y.significand);
  const Wide product{shl(high, uint64_t{19}) | lshr(low, uint64_t{45}), shl(low, uint64_t{19})};
  const IrI64 unit = x.exponent + y.exponent - uint64_t{19};
  const IrI64 distance = z.exponent - unit;
  const IrI64 down = most(distance - uint64_t{72}, uint64_t{0});
  const IrI64 bottom = unit + down;
  const Wide left = shiftRight(product, least(down, uint64_t{127}));
  const IrI64 up = least(distance, uint64_t{72});
  const IrBool isUp = !slt(up, uint64_t{0});
  const IrI64 none = uint64_t{0};
  const Wide above = shiftLeft(z.significand, chosen(isUp, up, none));
  const Wide below = shiftRight({none, z.significand}, least(uint64_t{0} - up, uint64_t{127}));
  const Wide addend{chosen(isUp, above.high, none), chosen(isUp, above.low, below.low)};

  // The nearest result is about as large as the sum, so it fits; where it has bits below the bottom
  // they are 0.
  const IrI64 place = n.exponent - bottom;
  const IrBool placeUp = !slt(place, uint64_t{0});
  const Wide aboveN = shiftLeft(n.significand, chosen(placeUp, place, none));
  const Wide belowN = shiftRight({none, n.significand}, least(uint64_t{0} - place, uint64_t{127}));
  const Wide result{chosen(placeUp, aboveN.high, none), chosen(placeUp, aboveN.low, belowN.low)};

  const Wide error = sum(sum(signedBy(productSign, left), signedBy(z.negative, addend)),
                         signedBy(n.negative ^ ~uint64_t{0}, result));
  const IrI64 magnitude = r & ~kSign;
  const IrBool overflow = eq(magnitude, kInfinity);
  const IrBool isNegative =
      ne(chosen(overflow, n.negative ^ ~uint64_t{0}, ashr(error.high, uint64_t{63})), uint64_t{0});
  const IrBool isExact = eq(error.high | error.low, uint64_t{0}) & !overflow;

  // Towards zero: one less if the nearest lies beyond. Up and down: the neighbour on that side, one
  // more or one less in magnitude.
  const IrBool nearestNegative = ne(n.negative, uint64_t{0});
  IrI64 directed = r;
  if (rounding == Rounding::TowardZero) {
    // A zero does not lie beyond anything.
    directed =
        chosen((isNegative ^ nearestNegative) & ne(magnitude, uint64_t{0}), r - uint64_t{1}, r);
  } else {
    const uint64_t side = rounding == Rounding::Up ? 0 : ~uint64_t{0};
    const IrI64 away = n.negative ^ side;  // 0 if that neighbour is the one of greater magnitude.
    const IrI64 tiny = uint64_t{1} | (side & kSign);
    const IrI64 neighbour = chosen(eq(magnitude, uint64_t{0}), tiny, r + (away | uint64_t{1}));
    const IrBool wanted = rounding == Rounding::Up ? !isNegative : isNegative;
    directed = chosen(wanted, neighbour, r);
  }
  IrI64 exact = r;
  if (rounding == Rounding::Down) {
    // Zeros that cancel, or of both signs, are negative.
    const IrI64 sign = shl((productSign | z.negative) & uint64_t{1}, uint64_t{63});
    exact = chosen(eq(magnitude, uint64_t{0}), sign, r);
  }
  directed = chosen(isExact, exact, directed);

  // Where an operand is no number there is nothing to round.
  auto finite = [](IrI64 v) { return ult(v & ~kSign, kInfinity); };
  const IrI64 final = chosen(finite(bitsA) & finite(bitsB) & finite(bitsC), directed, r);
  return asF64(final).value;
}

}  // namespace mtlc::transforms
