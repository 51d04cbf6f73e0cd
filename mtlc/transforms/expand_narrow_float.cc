#include "mtlc/transforms/expand_narrow_float.h"

#include "mtlc/support/float_format.h"
#include "mtlc/transforms/pass.h"

namespace mtlc::transforms {
namespace {

using ir::Opcode;
using ir::Value;

// The number to encode as a 32-bit word: sign, exponent, mantissa.
struct Word {
  Value* bits;
  unsigned mantissaBits;
  unsigned bias;
};

class Emitter {
 public:
  explicit Emitter(ir::Builder& builder) : b_(builder) {}

  Value* encode(Value* x, ir::NarrowAttr attr) {
    const FloatFormatInfo& format = floatFormatInfo(attr.format);
    if (x->type() == ir::kF16 || x->type() == ir::kBF16) {  // Exact.
      x = b_.cast(Opcode::FConv, x, ir::kF32);
    }
    const Word word = toWord(x);
    const unsigned signAt = format.exponentBits + format.mantissaBits;
    Value* magnitude = both(word.bits, 0x7FFFFFFF);
    Value* sign = both(shiftRight(word.bits, 31 - signAt), 1u << signAt);

    // A normal result: another bias, then the mantissa cut off, rounding to nearest-even. The carry
    // of the mantissa goes into the exponent, where it belongs.
    const unsigned cut = word.mantissaBits - format.mantissaBits;
    const unsigned rebias = (word.bias - static_cast<unsigned>(format.bias)) << word.mantissaBits;
    Value* parity = both(shiftRight(magnitude, cut), 1);
    Value* bias = constant((1u << (cut - 1)) - 1 - rebias);
    Value* normal = shiftRight(b_.add(b_.add(magnitude, bias), parity), cut);

    // A subnormal one: added to the number whose last bit weighs as much as the last of the format,
    // the rounded mantissa is what the low bits grow by.
    Value* subnormal = mantissaBelow(x, 1 - format.bias - format.mantissaBits);
    const unsigned leastNormal = rebias + (1u << word.mantissaBits);
    Value* isSubnormal = b_.compare(Opcode::CmpUlt, magnitude, constant(leastNormal));
    Value* code = b_.select(isSubnormal, subnormal, normal);

    unsigned limit = static_cast<unsigned>(format.maxFiniteCode());
    if (!attr.saturate && format.specials != FloatSpecials::None) ++limit;  // Infinity, or NaN.
    code = b_.binary(Opcode::UMin, code, constant(limit));

    const unsigned infinity = (word.bias * 2 + 1) << word.mantissaBits;
    auto isNan = [&] { return b_.compare(Opcode::CmpUgt, magnitude, constant(infinity)); };
    switch (format.specials) {
      case FloatSpecials::Ieee: {
        Value* payload = both(shiftRight(magnitude, cut), (1u << format.mantissaBits) - 1);
        const unsigned least =
            static_cast<unsigned>(format.maxFiniteCode()) + 1 + (1u << (format.mantissaBits - 1));
        code = b_.select(isNan(), either(payload, constant(least)), code);
        break;
      }
      case FloatSpecials::FiniteNan:
        // Without saturation a NaN has gone to the limit, which is the code of NaN.
        if (attr.saturate) code = b_.select(isNan(), constant(limit + 1), code);
        break;
      case FloatSpecials::None:
        sign = b_.select(isNan(), constant(0), sign);
        break;
    }
    return b_.cast(Opcode::Trunc, either(sign, code), ir::kI8);
  }

  Value* decode(Value* code, FloatFormat which, ir::Type to) {
    const FloatFormatInfo& format = floatFormatInfo(which);
    Value* word = b_.cast(Opcode::ZExt, code, ir::kI32);
    if (which == FloatFormat::E5M2 && to != ir::kBF16) return decodeUpperHalf(word, to);
    Value* bits = which == FloatFormat::UE8M0 ? decodeScale(word) : decodeNumber(word, format);
    if (to == ir::kBF16) {  // All values have at most 8 significant bits.
      Value* upper = b_.cast(Opcode::Trunc, shiftRight(bits, 16), ir::kI16);
      return b_.cast(Opcode::Bitcast, upper, ir::kBF16);
    }
    Value* number = b_.cast(Opcode::Bitcast, bits, ir::kF32);
    return to == ir::kF32 ? number : b_.cast(Opcode::FConv, number, to);
  }

 private:
  Value* constant(uint32_t bits) { return b_.constBits(ir::kI32, bits); }
  Value* both(Value* a, uint32_t mask) { return b_.binary(Opcode::And, a, constant(mask)); }
  Value* either(Value* a, Value* b) { return b_.binary(Opcode::Or, a, b); }
  Value* shiftRight(Value* a, unsigned n) { return b_.binary(Opcode::LShr, a, constant(n)); }
  Value* shiftLeft(Value* a, unsigned n) { return b_.binary(Opcode::Shl, a, constant(n)); }

  // Of an f64 the upper half, its last bit set if anything is below: rounded to odd in 21 bits,
  // which a later rounding to a few bits does not notice.
  Word toWord(Value* x) {
    if (x->type() == ir::kF32) return {b_.cast(Opcode::Bitcast, x, ir::kI32), 23, 127};
    Value* bits = b_.cast(Opcode::Bitcast, x, ir::kI64);
    Value* high =
        b_.cast(Opcode::Trunc, b_.binary(Opcode::LShr, bits, b_.constBits(ir::kI64, 32)), ir::kI32);
    Value* low = b_.cast(Opcode::Trunc, bits, ir::kI32);
    Value* rest = b_.cast(Opcode::ZExt, b_.compare(Opcode::CmpNe, low, constant(0)), ir::kI32);
    return {either(high, rest), 20, 1023};
  }

  // |x| / 2^exponent rounded to an integer; right where that is less than 2^22.
  Value* mantissaBelow(Value* x, int exponent) {
    const bool isDouble = x->type() == ir::kF64;
    const uint64_t magic = isDouble ? static_cast<uint64_t>(exponent + 52 + 1023) << 52
                                    : static_cast<uint64_t>(exponent + 23 + 127) << 23;
    Value* sum = b_.binary(Opcode::FAdd, b_.unary(Opcode::FAbs, x), b_.constBits(x->type(), magic));
    Value* bits = b_.cast(Opcode::Bitcast, sum, isDouble ? ir::kI64 : ir::kI32);
    if (isDouble) return b_.cast(Opcode::Trunc, bits, ir::kI32);
    return b_.sub(bits, constant(static_cast<uint32_t>(magic)));
  }

  // The bits of the f32. With the mantissa in its place, the number is too small by the difference
  // of the biases, subnormal or not.
  Value* decodeNumber(Value* word, const FloatFormatInfo& format) {
    const unsigned signAt = format.exponentBits + format.mantissaBits;
    const unsigned shift = 23u - format.mantissaBits;
    Value* magnitude = both(word, (1u << signAt) - 1);
    Value* placed = b_.cast(Opcode::Bitcast, shiftLeft(magnitude, shift), ir::kF32);
    const uint32_t factor = static_cast<uint32_t>(2 * 127 - format.bias) << 23;
    Value* scaled = b_.binary(Opcode::FMul, placed, b_.constBits(ir::kF32, factor));
    Value* bits = b_.cast(Opcode::Bitcast, scaled, ir::kI32);
    const unsigned last = static_cast<unsigned>(format.maxFiniteCode());
    if (format.specials == FloatSpecials::FiniteNan) {
      Value* isNan = b_.compare(Opcode::CmpUgt, magnitude, constant(last));
      bits = b_.select(isNan, constant(0x7FC00000), bits);
    } else if (format.specials == FloatSpecials::Ieee) {
      Value* payload = shiftLeft(magnitude, shift);
      Value* isNan = b_.compare(Opcode::CmpUgt, magnitude, constant(last + 1));
      Value* least = b_.select(isNan, constant(0x7FC00000), constant(0x7F800000));
      Value* isSpecial = b_.compare(Opcode::CmpUgt, magnitude, constant(last));
      bits = b_.select(isSpecial, either(payload, least), bits);
    }
    if (!format.isSigned) return bits;
    return either(bits, shiftLeft(both(word, 1u << signAt), 31 - signAt));
  }

  // e5m2 is the upper byte of an f16. A conversion makes a NaN quiet.
  Value* decodeUpperHalf(Value* word, ir::Type to) {
    Value* bits = shiftLeft(word, 8);
    if (to == ir::kF16) {
      Value* magnitude = both(bits, 0x7FFF);
      Value* isNan = b_.compare(Opcode::CmpUgt, magnitude, constant(0x7C00));
      bits = b_.select(isNan, either(bits, constant(0x0200)), bits);
    }
    bits = b_.cast(Opcode::Trunc, bits, ir::kI16);
    Value* half = b_.cast(Opcode::Bitcast, bits, ir::kF16);
    return to == ir::kF16 ? half : b_.cast(Opcode::FConv, half, to);
  }

  // 2^(code - 127): the smallest is subnormal in f32.
  Value* decodeScale(Value* word) {
    Value* bits = shiftLeft(word, 23);
    Value* isZero = b_.compare(Opcode::CmpEq, word, constant(0));
    bits = b_.select(isZero, constant(0x00400000), bits);
    Value* isNan = b_.compare(Opcode::CmpEq, word, constant(0xFF));
    return b_.select(isNan, constant(0x7FC00000), bits);
  }

  ir::Builder& b_;
};

size_t expandIn(ir::Function& function, const TargetInfo* target, PassContext* context) {
  ir::Builder builder(function.module());
  size_t count = 0;
  for (ir::Block& block : function.blocks()) {
    for (ir::Operation *op = block.front(), *next = nullptr; op != nullptr; op = next) {
      next = op->next();
      const bool encodes = op->opcode() == Opcode::Encode;
      if (!encodes && op->opcode() != Opcode::Decode) continue;
      if (target != nullptr && target->isNative(*op)) continue;
      if (context != nullptr && context->wantsRemarks()) {
        const ir::Type type = encodes ? op->operand(0)->type() : op->resultType();
        context->remark(
            RemarkId::NarrowFloatExpanded, function, op->loc(),
            {op->info().mnemonic, floatFormatInfo(op->narrow().format).name, ir::typeName(type)});
      }
      builder.setInsertBefore(op);
      builder.setLoc(op->loc());
      Value* result = encodes ? buildNarrowEncode(builder, op->operand(0), op->narrow())
                              : buildNarrowDecode(builder, op->operand(0), op->narrow().format,
                                                  op->resultType());
      op->result()->replaceAllUsesWith(result);
      op->erase();
      ++count;
    }
  }
  if (context != nullptr) context->count(Stat::NarrowFloatsExpanded, count);
  return count;
}

}  // namespace

Value* buildNarrowEncode(ir::Builder& builder, Value* value, ir::NarrowAttr attr) {
  return Emitter(builder).encode(value, attr);
}

Value* buildNarrowDecode(ir::Builder& builder, Value* code, FloatFormat format, ir::Type to) {
  return Emitter(builder).decode(code, format, to);
}

size_t expandNarrowFloat(ir::Function& function, const TargetInfo* target) {
  return expandIn(function, target, nullptr);
}

size_t expandNarrowFloat(ir::Module& module, const TargetInfo* target) {
  size_t count = 0;
  for (ir::Function& function : module.functions()) count += expandNarrowFloat(function, target);
  return count;
}

Change runExpandNarrowFloat(ir::Function& unit, PassContext& context) {
  return expandIn(unit, nullptr, &context) > 0 ? Change::Values : Change::None;
}

}  // namespace mtlc::transforms
