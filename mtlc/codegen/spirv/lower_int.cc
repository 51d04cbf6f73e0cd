// Integers, comparisons, selection. OpenCL leaves division by zero and large shift amounts
// undefined; here they are what docs/ir.md §3 says.

#include "mtlc/codegen/spirv/lowering.h"
#include "spirv/unified1/OpenCL.std.h"

namespace mtlc::spirv {

using ir::Opcode;
using ir::Operation;
using ir::Type;
using ir::Value;

namespace {

// The bits of a constant operand; nullptr for any other.
const Operation* constantOf(const Value* v) {
  const Operation* def = v->def();
  return def != nullptr && def->opcode() == Opcode::Const ? def : nullptr;
}

}  // namespace

Id FunctionLowering::integer(Operation& op) {
  const Id type = typeOf(op.resultType());
  const Id a = use(op.operand(0));
  const Id b = op.operandCount() > 1 ? use(op.operand(1)) : 0;
  auto chosen = [&](spv::Op compare) {
    return choose(type, emit(compare, boolType(), {a, b}), a, b);
  };
  switch (op.opcode()) {
    case Opcode::Add:
      return emit(spv::Op::OpIAdd, type, {a, b});
    case Opcode::Sub:
      return emit(spv::Op::OpISub, type, {a, b});
    case Opcode::Mul:
      return emit(spv::Op::OpIMul, type, {a, b});
    case Opcode::Neg:
      return emit(spv::Op::OpSNegate, type, {a});
    case Opcode::SMin:
      return chosen(spv::Op::OpSLessThan);
    case Opcode::SMax:
      return chosen(spv::Op::OpSGreaterThan);
    case Opcode::UMin:
      return chosen(spv::Op::OpULessThan);
    case Opcode::UMax:
      return chosen(spv::Op::OpUGreaterThan);
    default: {  // Abs
      const Id zero = constInt(op.resultType().bits(), 0);
      return choose(type, emit(spv::Op::OpSLessThan, boolType(), {a, zero}),
                    emit(spv::Op::OpSNegate, type, {a}), a);
    }
  }
}

Id FunctionLowering::mulHigh(Operation& op) {
  const bool isSigned = op.opcode() == Opcode::SMulHi;
  const unsigned bits = op.resultType().bits();
  const Id type = typeOf(op.resultType());
  Id a = use(op.operand(0)), b = use(op.operand(1));
  if (bits == 64) {
    return ext(isSigned ? OpenCLLIB::SMul_hi : OpenCLLIB::UMul_hi, type, {a, b});
  }
  const Id wide = intType(2 * bits);
  const spv::Op extend = isSigned ? spv::Op::OpSConvert : spv::Op::OpUConvert;
  a = emit(extend, wide, {a});
  b = emit(extend, wide, {b});
  const Id product = emit(spv::Op::OpIMul, wide, {a, b});
  const Id high = emit(spv::Op::OpShiftRightLogical, wide, {product, constInt(2 * bits, bits)});
  return emit(spv::Op::OpUConvert, type, {high});
}

// Undefined divisions are by 1 instead, and their results put right.
Id FunctionLowering::division(Operation& op) {
  const bool isSigned = op.opcode() == Opcode::SDiv || op.opcode() == Opcode::SRem;
  const bool remainder = op.opcode() == Opcode::SRem || op.opcode() == Opcode::URem;
  const unsigned bits = op.resultType().bits();
  const Id type = typeOf(op.resultType());
  const Id a = use(op.operand(0)), b = use(op.operand(1));
  const spv::Op divide = isSigned ? (remainder ? spv::Op::OpSRem : spv::Op::OpSDiv)
                                  : (remainder ? spv::Op::OpUMod : spv::Op::OpUDiv);
  const Operation* divisor = constantOf(op.operand(1));
  const uint64_t mask = op.resultType().mask();
  if (divisor != nullptr && divisor->constBits() != 0 &&
      !(isSigned && divisor->constBits() == mask)) {
    return emit(divide, type, {a, b});
  }
  const Id zero = emit(spv::Op::OpIEqual, boolType(), {b, constInt(bits, 0)});
  Id undefined = zero;
  if (isSigned) {
    const Id least = emit(spv::Op::OpIEqual, boolType(), {a, constInt(bits, (mask >> 1) + 1)});
    const Id minusOne = emit(spv::Op::OpIEqual, boolType(), {b, constInt(bits, mask)});
    const Id overflow = emit(spv::Op::OpLogicalAnd, boolType(), {least, minusOne});
    undefined = emit(spv::Op::OpLogicalOr, boolType(), {zero, overflow});
  }
  const Id safe = choose(type, undefined, constInt(bits, 1), b);
  const Id result = emit(divide, type, {a, safe});
  // MIN / 1 and MIN % 1 are MIN / -1 and MIN % -1 as defined.
  return choose(type, zero, remainder ? a : constInt(bits, mask), result);
}

Id FunctionLowering::shift(Operation& op) {
  const unsigned bits = op.resultType().bits();
  const Id type = typeOf(op.resultType());
  Id amount = use(op.operand(1));
  const Operation* known = constantOf(op.operand(1));
  if (known == nullptr || known->constBits() >= bits) {
    amount = emit(spv::Op::OpBitwiseAnd, type, {amount, constInt(bits, bits - 1)});
  }
  const spv::Op how = op.opcode() == Opcode::Shl    ? spv::Op::OpShiftLeftLogical
                      : op.opcode() == Opcode::LShr ? spv::Op::OpShiftRightLogical
                                                    : spv::Op::OpShiftRightArithmetic;
  return emit(how, type, {use(op.operand(0)), amount});
}

// i8 and i16 are counted in 32 bits.
Id FunctionLowering::countBits(Operation& op) {
  const unsigned bits = op.resultType().bits();
  const Id type = typeOf(op.resultType());
  const unsigned width = bits < 32 ? 32 : bits;
  Id a = use(op.operand(0));
  if (bits < 32) a = emit(spv::Op::OpUConvert, intType(32), {a});
  Id count = 0;
  if (op.opcode() == Opcode::Popcount) {
    count = emit(spv::Op::OpBitCount, intType(width), {a});
  } else {
    count = ext(OpenCLLIB::Clz, intType(width), {a});
    if (bits < 32) count = emit(spv::Op::OpISub, intType(32), {count, constInt(32, 32 - bits)});
  }
  return bits < 32 ? emit(spv::Op::OpUConvert, type, {count}) : count;
}

Id FunctionLowering::logic(Operation& op) {
  const Id type = typeOf(op.resultType());
  const Id a = use(op.operand(0)), b = use(op.operand(1));
  const bool isBool = op.resultType().isBool();
  switch (op.opcode()) {
    case Opcode::And:
      return emit(isBool ? spv::Op::OpLogicalAnd : spv::Op::OpBitwiseAnd, type, {a, b});
    case Opcode::Or:
      return emit(isBool ? spv::Op::OpLogicalOr : spv::Op::OpBitwiseOr, type, {a, b});
    default:
      return emit(isBool ? spv::Op::OpLogicalNotEqual : spv::Op::OpBitwiseXor, type, {a, b});
  }
}

Id FunctionLowering::compareInt(Operation& op) {
  const Type type = op.operand(0)->type();
  Id a = use(op.operand(0)), b = use(op.operand(1));
  if (type.isPtr()) {
    a = emit(spv::Op::OpConvertPtrToU, intType(64), {a});
    b = emit(spv::Op::OpConvertPtrToU, intType(64), {b});
  }
  spv::Op how = spv::Op::OpIEqual;
  switch (op.opcode()) {
    case Opcode::CmpEq:
      how = type.isBool() ? spv::Op::OpLogicalEqual : spv::Op::OpIEqual;
      break;
    case Opcode::CmpNe:
      how = type.isBool() ? spv::Op::OpLogicalNotEqual : spv::Op::OpINotEqual;
      break;
    case Opcode::CmpSlt:
      how = spv::Op::OpSLessThan;
      break;
    case Opcode::CmpSle:
      how = spv::Op::OpSLessThanEqual;
      break;
    case Opcode::CmpSgt:
      how = spv::Op::OpSGreaterThan;
      break;
    case Opcode::CmpSge:
      how = spv::Op::OpSGreaterThanEqual;
      break;
    case Opcode::CmpUlt:
      how = spv::Op::OpULessThan;
      break;
    case Opcode::CmpUle:
      how = spv::Op::OpULessThanEqual;
      break;
    case Opcode::CmpUgt:
      how = spv::Op::OpUGreaterThan;
      break;
    default:
      how = spv::Op::OpUGreaterThanEqual;
      break;
  }
  return emit(how, boolType(), {a, b});
}

Id FunctionLowering::select(Operation& op) {
  return choose(typeOf(op.resultType()), use(op.operand(0)), use(op.operand(1)),
                use(op.operand(2)));
}

Id FunctionLowering::castInt(Operation& op) {
  const Type from = op.operand(0)->type(), to = op.resultType();
  const Id a = use(op.operand(0));
  if (to.isBool()) {  // Keeps the lowest bit.
    const unsigned bits = from.bits();
    const Id low = emit(spv::Op::OpBitwiseAnd, typeOf(from), {a, constInt(bits, 1)});
    return emit(spv::Op::OpINotEqual, boolType(), {low, constInt(bits, 0)});
  }
  if (from.isBool()) {
    const uint64_t yes = op.opcode() == Opcode::SExt ? to.mask() : 1;
    return choose(typeOf(to), a, constInt(to.bits(), yes), constInt(to.bits(), 0));
  }
  return emit(op.opcode() == Opcode::SExt ? spv::Op::OpSConvert : spv::Op::OpUConvert, typeOf(to),
              {a});
}

}  // namespace mtlc::spirv
