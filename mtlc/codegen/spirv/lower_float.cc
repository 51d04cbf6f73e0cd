// Floating point. f16 and bf16 are computed in f32 and rounded once more, which gives the correctly
// rounded result of + - * / sqrt (Figueroa, "When is double rounding innocuous?", 1995); a fused
// multiply-add rounds to odd in between (Boldo and Melquiond, 2008).

#include "mtlc/codegen/spirv/lowering.h"
#include "spirv/unified1/OpenCL.std.h"

namespace mtlc::spirv {

using ir::Opcode;
using ir::Operation;
using ir::Type;
using ir::TypeKind;
using ir::Value;

namespace {

constexpr uint32_t kOne = 0x3F800000, kInf = 0x7F800000, kSign = 0x80000000;

}  // namespace

// ---- 16-bit floats ----

Id FunctionLowering::widen(const Value* v) {
  return isHalf(v->type()) ? widenHalf(v->type(), use(v)) : use(v);
}

Id FunctionLowering::widenHalf(Type type, Id bits) {
  const Id u32 = intType(32);
  const Id wide = emit(spv::Op::OpUConvert, u32, {bits});
  if (type == ir::kBF16) {
    const Id shifted = emit(spv::Op::OpShiftLeftLogical, u32, {wide, constInt(32, 16)});
    return emit(spv::Op::OpBitcast, f32Type(), {shifted});
  }
  const Id sign =
      emit(spv::Op::OpShiftLeftLogical, u32,
           {emit(spv::Op::OpBitwiseAnd, u32, {wide, constInt(32, 0x8000)}), constInt(32, 16)});
  const Id magnitude = emit(spv::Op::OpBitwiseAnd, u32, {wide, constInt(32, 0x7FFF)});
  const Id shifted = emit(spv::Op::OpShiftLeftLogical, u32, {magnitude, constInt(32, 13)});
  // Normal numbers get another bias; subnormal ones are multiples of 2^-24; what is beyond keeps
  // its payload.
  const Id normal = emit(spv::Op::OpIAdd, u32, {shifted, constInt(32, 112u << 23)});
  const Id small =
      emit(spv::Op::OpFMul, f32Type(),
           {emit(spv::Op::OpConvertUToF, f32Type(), {magnitude}), constF32(0x33800000)});
  const Id smallBits = emit(spv::Op::OpBitcast, u32, {small});
  const Id special = emit(spv::Op::OpBitwiseOr, u32, {shifted, constInt(32, kInf)});
  const Id isSmall = emit(spv::Op::OpULessThan, boolType(), {magnitude, constInt(32, 0x400)});
  const Id isSpecial =
      emit(spv::Op::OpUGreaterThanEqual, boolType(), {magnitude, constInt(32, 0x7C00)});
  Id result = choose(u32, isSmall, smallBits, normal);
  result = choose(u32, isSpecial, special, result);
  return emit(spv::Op::OpBitcast, f32Type(), {emit(spv::Op::OpBitwiseOr, u32, {result, sign})});
}

Id FunctionLowering::narrow(Type type, Id f32) {
  const Id u32 = intType(32);
  const Id bits = emit(spv::Op::OpBitcast, u32, {f32});
  auto shiftRight = [&](Id a, unsigned n) {
    return emit(spv::Op::OpShiftRightLogical, u32, {a, constInt(32, n)});
  };
  auto mask = [&](Id a, uint32_t m) {
    return emit(spv::Op::OpBitwiseAnd, u32, {a, constInt(32, m)});
  };
  auto add = [&](Id a, Id b) { return emit(spv::Op::OpIAdd, u32, {a, b}); };
  const Id magnitude = mask(bits, ~kSign);
  const Id isNan = emit(spv::Op::OpUGreaterThan, boolType(), {magnitude, constInt(32, kInf)});
  Id result = 0;
  if (type == ir::kBF16) {
    const Id odd = mask(shiftRight(bits, 16), 1);
    const Id rounded = shiftRight(add(add(bits, constInt(32, 0x7FFF)), odd), 16);
    result = choose(u32, isNan, constInt(32, 0x7FC0), rounded);
  } else {
    // From 65,520 on it is infinity, which the clamped value rounds to.
    const Id large = constInt(32, 0x47800000);
    const Id clamped =
        choose(u32, emit(spv::Op::OpULessThan, boolType(), {magnitude, large}), magnitude, large);
    const Id odd = mask(shiftRight(clamped, 13), 1);
    const Id rounded = shiftRight(add(add(clamped, constInt(32, 0xFFF)), odd), 13);
    const Id normal = add(rounded, constInt(32, 0u - (112u << 10)));
    // Below 2^-14 adding 0.5 makes the hardware round at 2^-24.
    const Id half = emit(spv::Op::OpFAdd, f32Type(),
                         {emit(spv::Op::OpBitcast, f32Type(), {magnitude}), constF32(0x3F000000)});
    const Id small = add(emit(spv::Op::OpBitcast, u32, {half}), constInt(32, 0u - 0x3F000000u));
    const Id isSmall =
        emit(spv::Op::OpULessThan, boolType(), {magnitude, constInt(32, 0x38800000)});
    result = choose(u32, isSmall, small, normal);
    result = choose(u32, isNan, constInt(32, 0x7E00), result);
    result = emit(spv::Op::OpBitwiseOr, u32, {result, mask(shiftRight(bits, 16), 0x8000)});
  }
  return emit(spv::Op::OpUConvert, intType(16), {result});
}

Id FunctionLowering::toOdd(Id f32Bits, Id inexact, Id isLarger) {
  const Id u32 = intType(32);
  const Id below = emit(spv::Op::OpISub, u32, {f32Bits, constInt(32, 1)});
  const Id truncated = choose(u32, isLarger, below, f32Bits);
  const Id odd = emit(spv::Op::OpBitwiseOr, u32, {truncated, constInt(32, 1)});
  return choose(u32, inexact, odd, truncated);
}

// ---- Arithmetic ----

Id FunctionLowering::floatOp(Operation& op) {
  const Type type = op.resultType();
  const bool half = isHalf(type);
  const unsigned bits = half ? 16 : type.bits();
  if (op.opcode() == Opcode::FNeg || op.opcode() == Opcode::FAbs) {
    const bool negate = op.opcode() == Opcode::FNeg;
    if (!half) {
      return negate ? emit(spv::Op::OpFNegate, typeOf(type), {use(op.operand(0))})
                    : ext(OpenCLLIB::Fabs, typeOf(type), {use(op.operand(0))});
    }
    return emit(negate ? spv::Op::OpBitwiseXor : spv::Op::OpBitwiseAnd, intType(16),
                {use(op.operand(0)), constInt(16, negate ? 0x8000 : 0x7FFF)});
  }
  if (op.opcode() == Opcode::Fma && half) return halfFma(op);
  const Id computed = half ? f32Type() : typeOf(type);
  Id operands[3] = {};
  for (unsigned i = 0; i < op.operandCount(); ++i) operands[i] = widen(op.operand(i));
  const Id a = operands[0], b = operands[1];
  Id result = 0;
  switch (op.opcode()) {
    case Opcode::FAdd:
      result = emit(spv::Op::OpFAdd, computed, {a, b});
      break;
    case Opcode::FSub:
      result = emit(spv::Op::OpFSub, computed, {a, b});
      break;
    case Opcode::FMul:
      result = emit(spv::Op::OpFMul, computed, {a, b});
      break;
    case Opcode::FDiv:
      result = emit(spv::Op::OpFDiv, computed, {a, b});
      break;
    case Opcode::Fma:
      result = ext(OpenCLLIB::Fma, computed, {a, b, operands[2]});
      break;
    case Opcode::FSqrt:
      result = ext(OpenCLLIB::Sqrt, computed, {a});
      break;
    case Opcode::FFloor:
      result = roundToIntegral(computed, half ? 32 : bits, OpenCLLIB::Floor, a);
      break;
    case Opcode::FCeil:
      result = roundToIntegral(computed, half ? 32 : bits, OpenCLLIB::Ceil, a);
      break;
    case Opcode::FTrunc:
      result = roundToIntegral(computed, half ? 32 : bits, OpenCLLIB::Trunc, a);
      break;
    case Opcode::FRound:
      result = roundToIntegral(computed, half ? 32 : bits, OpenCLLIB::Round, a);
      break;
    case Opcode::FRoundEven:
      result = roundToIntegral(computed, half ? 32 : bits, OpenCLLIB::Rint, a);
      break;
    default:
      result = floatMinMax(computed, half ? 32 : bits, op.opcode(), a, b);
      break;
  }
  return half ? narrow(type, result) : result;
}

// The functions of OpenCL.std are exact, but PoCL's convert to integers in between: of a constant
// that does not fit, such as infinity, LLVM makes an undefined branch there, and drops the kernel.
// So they get numbers that can have a fraction; the others are their own result, NaN made quiet.
Id FunctionLowering::roundToIntegral(Id type, unsigned bits, uint32_t function, Id a) {
  const Id zero = out_.floatConstant(bits, 0);
  const uint64_t limit = bits == 32 ? uint64_t{0x4B000000} : uint64_t{0x433} << 52;  // 2^23, 2^52
  const Id magnitude = ext(OpenCLLIB::Fabs, type, {a});
  const Id small =
      emit(spv::Op::OpFOrdLessThan, boolType(), {magnitude, out_.floatConstant(bits, limit)});
  const Id rounded = ext(function, type, {choose(type, small, a, zero)});
  return choose(type, small, rounded, emit(spv::Op::OpFAdd, type, {a, zero}));
}

// OpenCL leaves the order of zeros open, and which NaN counts: comparisons decide here.
Id FunctionLowering::floatMinMax(Id type, unsigned bits, Opcode opcode, Id a, Id b) {
  const bool isMin = opcode == Opcode::FMin || opcode == Opcode::FMinNan;
  const bool nanWins = opcode == Opcode::FMinNan || opcode == Opcode::FMaxNan;
  const Id word = intType(bits);
  const Id aBits = emit(spv::Op::OpBitcast, word, {a}), bBits = emit(spv::Op::OpBitcast, word, {b});
  const Id first =
      emit(isMin ? spv::Op::OpFOrdLessThan : spv::Op::OpFOrdGreaterThan, boolType(), {a, b});
  // Equal numbers differ at most in the sign of zero.
  const Id equal = emit(spv::Op::OpFOrdEqual, boolType(), {a, b});
  const Id merged =
      emit(isMin ? spv::Op::OpBitwiseOr : spv::Op::OpBitwiseAnd, word, {aBits, bBits});
  Id result = choose(word, first, aBits, bBits);
  result = choose(word, equal, merged, result);
  const Id aNan = emit(spv::Op::OpIsNan, boolType(), {a});
  const Id bNan = emit(spv::Op::OpIsNan, boolType(), {b});
  const Id quiet = constInt(bits, bits == 32 ? uint64_t{0x7FC00000} : uint64_t{0x7FF8} << 48);
  if (nanWins) {
    result = choose(word, emit(spv::Op::OpLogicalOr, boolType(), {aNan, bNan}), quiet, result);
  } else {
    result = choose(word, bNan, choose(word, aNan, quiet, aBits), result);
  }
  return emit(spv::Op::OpBitcast, type, {result});
}

// The exact product and the third operand are added in a format wide enough for the product; the
// error of that sum (Knuth's TwoSum) makes it odd where it is inexact.
Id FunctionLowering::halfFma(Operation& op) {
  const Type type = op.resultType();
  // The product of two f16 is a normal f32 or 0; of two bf16 it may be beyond f32.
  const bool wide = type == ir::kBF16;
  const unsigned bits = wide ? 64 : 32;
  const Id f = wide ? f64Type() : f32Type(), word = intType(bits);
  Id x[3];
  for (unsigned i = 0; i < 3; ++i) {
    x[i] = widen(op.operand(i));
    if (wide) x[i] = emit(spv::Op::OpFConvert, f, {x[i]});
  }
  auto add = [&](Id a, Id b) { return emit(spv::Op::OpFAdd, f, {a, b}); };
  auto sub = [&](Id a, Id b) { return emit(spv::Op::OpFSub, f, {a, b}); };
  const Id product = emit(spv::Op::OpFMul, f, {x[0], x[1]});
  const Id sum = add(product, x[2]);
  const Id part = sub(sum, product);
  const Id error = add(sub(product, sub(sum, part)), sub(x[2], part));
  // Infinities and NaN make the error NaN: ordered comparisons leave them alone.
  const Id zero = wide ? out_.floatConstant(64, 0) : constF32(0);
  const Id up = emit(spv::Op::OpFOrdGreaterThan, boolType(), {error, zero});
  const Id down = emit(spv::Op::OpFOrdLessThan, boolType(), {error, zero});
  const Id positive = emit(spv::Op::OpFOrdGreaterThan, boolType(), {sum, zero});
  const Id inexact = emit(spv::Op::OpLogicalOr, boolType(), {up, down});
  const Id sumBits = emit(spv::Op::OpBitcast, word, {sum});
  // Nearest is even where it is not odd: then the neighbour on the error's side is the odd one.
  const Id away = emit(spv::Op::OpLogicalEqual, boolType(), {up, positive});
  const Id step = choose(word, away, constInt(bits, 1), constInt(bits, ~uint64_t{0}));
  const Id neighbour = emit(spv::Op::OpIAdd, word, {sumBits, step});
  const Id low = emit(spv::Op::OpBitwiseAnd, word, {sumBits, constInt(bits, 1)});
  const Id even = emit(spv::Op::OpIEqual, boolType(), {low, constInt(bits, 0)});
  const Id moves = emit(spv::Op::OpLogicalAnd, boolType(), {inexact, even});
  const Id odd = emit(spv::Op::OpBitcast, f, {choose(word, moves, neighbour, sumBits)});
  if (!wide) return narrow(type, odd);
  // Odd once more on the way to f32.
  const Id single = emit(spv::Op::OpFConvert, f32Type(), {odd});
  const Id back = emit(spv::Op::OpFConvert, f, {single});
  const Id differs = emit(spv::Op::OpFOrdNotEqual, boolType(), {back, odd});
  const Id larger = emit(spv::Op::OpFOrdGreaterThan, boolType(),
                         {ext(OpenCLLIB::Fabs, f, {back}), ext(OpenCLLIB::Fabs, f, {odd})});
  const Id oddBits = toOdd(emit(spv::Op::OpBitcast, intType(32), {single}), differs, larger);
  return narrow(type, emit(spv::Op::OpBitcast, f32Type(), {oddBits}));
}

// Only those with `approx` are left; the others were expanded.
Id FunctionLowering::mathFunction(Operation& op) {
  static constexpr struct {
    Opcode opcode;
    OpenCLLIB::Entrypoints function;
  } kFunctions[] = {
      {Opcode::RSqrt, OpenCLLIB::Rsqrt}, {Opcode::Exp, OpenCLLIB::Exp},
      {Opcode::Exp2, OpenCLLIB::Exp2},   {Opcode::Log, OpenCLLIB::Log},
      {Opcode::Log2, OpenCLLIB::Log2},   {Opcode::Sin, OpenCLLIB::Sin},
      {Opcode::Cos, OpenCLLIB::Cos},     {Opcode::Tan, OpenCLLIB::Tan},
      {Opcode::Tanh, OpenCLLIB::Tanh},   {Opcode::Erf, OpenCLLIB::Erf},
      {Opcode::Pow, OpenCLLIB::Pow},
  };
  const Type type = op.resultType();
  const Id computed = isHalf(type) ? f32Type() : typeOf(type);
  for (const auto& row : kFunctions) {
    if (row.opcode != op.opcode()) continue;
    const Id a = widen(op.operand(0));
    const Id result = op.operandCount() == 1
                          ? ext(row.function, computed, {a})
                          : ext(row.function, computed, {a, widen(op.operand(1))});
    return isHalf(type) ? narrow(type, result) : result;
  }
  return 0;
}

Id FunctionLowering::compareFloat(Operation& op) {
  const Id a = widen(op.operand(0)), b = widen(op.operand(1));
  auto compare = [&](spv::Op how) { return emit(how, boolType(), {a, b}); };
  switch (op.opcode()) {
    case Opcode::FCmpOeq:
      return compare(spv::Op::OpFOrdEqual);
    case Opcode::FCmpOgt:
      return compare(spv::Op::OpFOrdGreaterThan);
    case Opcode::FCmpOge:
      return compare(spv::Op::OpFOrdGreaterThanEqual);
    case Opcode::FCmpOlt:
      return compare(spv::Op::OpFOrdLessThan);
    case Opcode::FCmpOle:
      return compare(spv::Op::OpFOrdLessThanEqual);
    case Opcode::FCmpOne:
      return compare(spv::Op::OpFOrdNotEqual);
    case Opcode::FCmpOrd:
      return compare(spv::Op::OpOrdered);
    case Opcode::FCmpUeq:
      return compare(spv::Op::OpFUnordEqual);
    case Opcode::FCmpUgt:
      return compare(spv::Op::OpFUnordGreaterThan);
    case Opcode::FCmpUge:
      return compare(spv::Op::OpFUnordGreaterThanEqual);
    case Opcode::FCmpUlt:
      return compare(spv::Op::OpFUnordLessThan);
    case Opcode::FCmpUle:
      return compare(spv::Op::OpFUnordLessThanEqual);
    case Opcode::FCmpUne:
      return compare(spv::Op::OpFUnordNotEqual);
    default:
      return compare(spv::Op::OpUnordered);
  }
}

// ---- Conversions ----

Id FunctionLowering::convertFloat(Operation& op) {
  const Value* v = op.operand(0);
  const Type from = v->type(), to = op.resultType();
  if (from == to) return use(v);
  if (!isHalf(to)) {
    const Id wide = widen(v);
    const bool same = (isHalf(from) || from == ir::kF32) && to == ir::kF32;
    if (!same) return emit(spv::Op::OpFConvert, typeOf(to), {wide});
    // Quiet, as any other conversion makes NaN.
    const Id bits = emit(spv::Op::OpBitcast, intType(32), {wide});
    const Id quiet = emit(spv::Op::OpBitwiseOr, intType(32), {bits, constInt(32, 0x400000)});
    const Id isNan = emit(spv::Op::OpIsNan, boolType(), {wide});
    return emit(spv::Op::OpBitcast, f32Type(), {choose(intType(32), isNan, quiet, bits)});
  }
  if (from != ir::kF64) return narrow(to, widen(v));
  const Id exact = use(v);
  const Id single = emit(spv::Op::OpFConvert, f32Type(), {exact});
  const Id back = emit(spv::Op::OpFConvert, f64Type(), {single});
  const Id differs = emit(spv::Op::OpFOrdNotEqual, boolType(), {back, exact});
  const Id larger =
      emit(spv::Op::OpFOrdGreaterThan, boolType(),
           {ext(OpenCLLIB::Fabs, f64Type(), {back}), ext(OpenCLLIB::Fabs, f64Type(), {exact})});
  const Id odd = toOdd(emit(spv::Op::OpBitcast, intType(32), {single}), differs, larger);
  return narrow(to, emit(spv::Op::OpBitcast, f32Type(), {odd}));
}

// Saturated conversions give 0 for NaN (OpenCL C, 6.2.3.3); said again here, for it is only
// recommended there.
Id FunctionLowering::floatToInt(Operation& op) {
  const bool isSigned = op.opcode() == Opcode::FToSI;
  const unsigned bits = op.resultType().bits();
  const Id type = typeOf(op.resultType());
  const Id a = widen(op.operand(0));
  const Id converted = emit(isSigned ? spv::Op::OpConvertFToS : spv::Op::OpConvertFToU, type, {a});
  out_.decorate(converted, spv::Decoration::SaturatedConversion);
  const Id isNan = emit(spv::Op::OpIsNan, boolType(), {a});
  return choose(type, isNan, constInt(bits, 0), converted);
}

Id FunctionLowering::intToFloat(Operation& op) {
  const bool isSigned = op.opcode() == Opcode::SIToF;
  const Type from = op.operand(0)->type(), to = op.resultType();
  Id a = use(op.operand(0));
  if (from.isBool()) {
    if (isHalf(to)) {
      const uint64_t one = to == ir::kF16 ? 0x3C00 : 0x3F80;
      return choose(intType(16), a, constInt(16, isSigned ? one | 0x8000 : one), constInt(16, 0));
    }
    const bool wide = to == ir::kF64;
    uint64_t one = wide ? uint64_t{0x3FF0} << 48 : kOne;
    if (isSigned) one |= wide ? uint64_t{1} << 63 : kSign;
    return choose(typeOf(to), a, out_.floatConstant(to.bits(), one),
                  out_.floatConstant(to.bits(), 0));
  }
  const spv::Op convert = isSigned ? spv::Op::OpConvertSToF : spv::Op::OpConvertUToF;
  if (!isHalf(to)) return emit(convert, typeOf(to), {a});
  const unsigned bits = from.bits();
  Id single = emit(convert, f32Type(), {a});
  if (bits > 16) {
    // Rounded to odd: what converts back to another integer was inexact.
    const Id type = typeOf(from);
    const Id back =
        emit(isSigned ? spv::Op::OpConvertFToS : spv::Op::OpConvertFToU, type, {single});
    out_.decorate(back, spv::Decoration::SaturatedConversion);
    const Id differs = emit(spv::Op::OpINotEqual, boolType(), {back, a});
    const Id above =
        emit(isSigned ? spv::Op::OpSGreaterThan : spv::Op::OpUGreaterThan, boolType(), {back, a});
    Id larger = above;
    if (isSigned) {
      // Of negative numbers the smaller one is larger in magnitude.
      const Id negative = emit(spv::Op::OpSLessThan, boolType(), {a, constInt(bits, 0)});
      larger = emit(spv::Op::OpLogicalNotEqual, boolType(), {above, negative});
      larger = emit(spv::Op::OpLogicalAnd, boolType(), {larger, differs});
    }
    const Id odd = toOdd(emit(spv::Op::OpBitcast, intType(32), {single}), differs, larger);
    single = emit(spv::Op::OpBitcast, f32Type(), {odd});
  }
  return narrow(to, single);
}

Id FunctionLowering::bitcast(Operation& op) {
  const Id from = typeOf(op.operand(0)->type()), to = typeOf(op.resultType());
  return from == to ? use(op.operand(0)) : emit(spv::Op::OpBitcast, to, {use(op.operand(0))});
}

}  // namespace mtlc::spirv
