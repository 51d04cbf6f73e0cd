// Floating point. Every operation is a form that ptxas may not fuse or flush: .rn everywhere, no
// .ftz without the flag.
//
// f16 and bf16. Where the target has no instruction, the operation is done in f32 and rounded once
// more. For add, sub, mul, div and sqrt that second rounding is innocuous: f32 has 24 bits of
// precision, at least 2p + 2 for p = 11 (f16) and p = 8 (bf16) (S. Figueroa, "When is double
// rounding innocuous?", 1995). bf16 has the exponent range of f32, so its subnormal results deserve
// a word: products of two 8-bit significands and sums are exact in f32 where they matter, and a
// quotient stays away from a tie by more than the f32 rounding error. An fma is different: its sum
// is rounded to odd in f32 first.

#include <utility>

#include "mtlc/codegen/ptx/lowering.h"
#include "mtlc/codegen/ptx/match.h"

namespace mtlc::ptx {

using ir::Opcode;
using ir::Operation;
using ir::Type;
using ir::TypeKind;
using ir::Value;

namespace {

constexpr uint64_t kOneBf16 = 0x3F80;
constexpr uint64_t kMinusOneBf16 = 0xBF80;
constexpr uint64_t kMinusZeroBf16 = 0x8000;

bool isHalf(Type type) { return type.kind() == TypeKind::F16 || type.kind() == TypeKind::BF16; }

PtxType floatType(Type type) {
  switch (type.kind()) {
    case TypeKind::F16:
      return PtxType::F16;
    case TypeKind::BF16:
      return PtxType::BF16;
    case TypeKind::F32:
      return PtxType::F32;
    default:
      return PtxType::F64;
  }
}

// 16-bit floats have no immediates.
bool takesImmediates(Type type) { return !isHalf(type); }

}  // namespace

// A float operand: half types in a register, the others also as an immediate.
Opnd FunctionLowering::useFloat(const Value* v) {
  return takesImmediates(v->type()) ? use(v) : useReg(v);
}

bool FunctionLowering::lowerContracted(Operation& op) {
  Contraction c = matchContraction(op);
  if (!c) return false;
  Type type = op.resultType();
  Opnd a = useFloat(c.product->operand(0)), b = useFloat(c.product->operand(1));
  Opnd addend = useFloat(c.addend);
  auto negate = [&](Opnd x) {
    // The sign of a NaN does not matter here, so this can become an operand modifier of the
    // machine.
    if (!isHalf(type)) return emit(MachineOp::Neg, floatType(type), classOf(type), {x});
    return emit(MachineOp::Xor, PtxType::B16, RegClass::B16, {x, imm(0x8000)});
  };
  if (c.negateProduct) {
    if (a.isImm()) std::swap(a, b);
    a = negate(a);
  }
  if (c.negateAddend) addend = negate(addend);
  define(op, emitFma(type, a, b, addend, op));
  return true;
}

void FunctionLowering::lowerFloatArith(Operation& op) {
  if (op.opcode() != Opcode::FMul && lowerContracted(op)) return;
  Type type = op.resultType();
  MachineOp mop = op.opcode() == Opcode::FAdd   ? MachineOp::AddRn
                  : op.opcode() == Opcode::FSub ? MachineOp::SubRn
                                                : MachineOp::MulRn;
  const Value* x = op.operand(0);
  const Value* y = op.operand(1);
  if (type != ir::kBF16 || profile_.has(PtxFeature::Bf16Arith)) {
    Opnd a = useFloat(x), b = useFloat(y);
    if (a.isImm() && op.opcode() != Opcode::FSub) std::swap(a, b);
    define(op, emitFtz(mop, floatType(type), classOf(type), {a, b}, op));
    return;
  }
  if (profile_.has(PtxFeature::Bf16Fma)) {
    // a + b = fma(a, 1, b); a - b = fma(b, -1, a); a × b = fma(a, b, -0): one rounding, and the
    // sign of zero is right.
    Opnd a = useReg(x), b = useReg(y);
    auto constant = [&](uint64_t bits) { return inReg(imm(bits), type); };
    Opnd result = op.opcode() == Opcode::FAdd   ? emitFma(type, a, constant(kOneBf16), b, op)
                  : op.opcode() == Opcode::FSub ? emitFma(type, b, constant(kMinusOneBf16), a, op)
                                                : emitFma(type, a, b, constant(kMinusZeroBf16), op);
    define(op, result);
    return;
  }
  Opnd wide = emit(mop, PtxType::F32, RegClass::F32, {halfToF32(x), halfToF32(y)});
  define(op, f32ToHalf(type, wide, false));
}

Opnd FunctionLowering::emitFma(Type type, Opnd a, Opnd b, Opnd c, const Operation& of) {
  if (type != ir::kBF16 || profile_.has(PtxFeature::Bf16Fma)) {
    return emitFtz(MachineOp::FmaRn, floatType(type), classOf(type), {a, b, c}, of);
  }
  // The product of two bf16 is exact in f32. The sum toward minus and plus infinity differ when it
  // is not; the one toward zero is then made odd.
  Opnd x = halfRegToF32(type, a), y = halfRegToF32(type, b), z = halfRegToF32(type, c);
  Opnd down = emit(MachineOp::FmaRm, PtxType::F32, RegClass::F32, {x, y, z});
  Opnd up = emit(MachineOp::FmaRp, PtxType::F32, RegClass::F32, {x, y, z});
  Opnd zero = emit(MachineOp::FmaRz, PtxType::F32, RegClass::F32, {x, y, z});
  Opnd inexact = emitSetp(CmpOp::Neu, PtxType::F32, down, up);
  // An exact sum of zero is -0 rounded down only; rounded toward zero it has the sign of
  // nearest-even.
  return f32ToHalf(type, roundToOdd(zero, inexact), false);
}

void FunctionLowering::lowerFma(Operation& op) {
  define(op, emitFma(op.resultType(), useFloat(op.operand(0)), useFloat(op.operand(1)),
                     useFloat(op.operand(2)), op));
}

void FunctionLowering::lowerFloatDivSqrt(Operation& op) {
  Type type = op.resultType();
  bool approx = (op.fastMath() & ir::kApprox) != 0 && type != ir::kF64;
  bool isDiv = op.opcode() == Opcode::FDiv;
  MachineOp mop = isDiv ? (approx ? MachineOp::DivFull : MachineOp::DivRn)
                        : (approx ? MachineOp::SqrtApprox : MachineOp::SqrtRn);
  auto operand = [&](unsigned i) {
    return isHalf(type) ? halfToF32(op.operand(i)) : use(op.operand(i));
  };
  PtxType ptx = type == ir::kF64 ? PtxType::F64 : PtxType::F32;
  RegClass cls = type == ir::kF64 ? RegClass::F64 : RegClass::F32;
  Opnd a = operand(0);
  Opnd result =
      isDiv ? emitFtz(mop, ptx, cls, {a, operand(1)}, op) : emitFtz(mop, ptx, cls, {a}, op);
  define(op, isHalf(type) ? f32ToHalf(type, result, false) : result);
}

// fneg and fabs change the sign bit and nothing else, of NaNs too, which PTX's neg and abs of
// floats don't promise. Where a NaN's sign cannot be seen those are taken, because ptxas makes
// operand modifiers of them.
void FunctionLowering::lowerSignBit(Operation& op) {
  Type type = op.resultType();
  bool isNeg = op.opcode() == Opcode::FNeg;
  if (!isHalf(type) && onlyComputedWith(op.result())) {
    define(op, emit(isNeg ? MachineOp::Neg : MachineOp::Abs, floatType(type), classOf(type),
                    {use(op.operand(0))}));
    return;
  }
  uint64_t sign = uint64_t{1} << (type.bits() - 1);
  PtxType bits = isHalf(type) ? PtxType::B16 : type == ir::kF32 ? PtxType::B32 : PtxType::B64;
  Opnd mask = imm(isNeg ? sign : sign - 1);
  define(op, emit(isNeg ? MachineOp::Xor : MachineOp::And, bits, classOf(type),
                  {useReg(op.operand(0)), mask}));
}

// PTX's min and max are the number form with -0 < +0 (PTX ISA, "Floating Point Instructions: min").
void FunctionLowering::lowerFloatMinMax(Operation& op) {
  Type type = op.resultType();
  bool isMin = op.opcode() == Opcode::FMin || op.opcode() == Opcode::FMinNan;
  bool nanForm = op.opcode() == Opcode::FMinNan || op.opcode() == Opcode::FMaxNan;
  bool native = type == ir::kF64   ? !nanForm
                : type == ir::kF32 ? !nanForm || profile_.has(PtxFeature::NanMinMax)
                                   : profile_.has(PtxFeature::HalfMinMax);
  MachineOp plain = isMin ? MachineOp::Min : MachineOp::Max;
  if (native) {
    MachineOp mop = !nanForm ? plain : isMin ? MachineOp::MinNan : MachineOp::MaxNan;
    Opnd a = useFloat(op.operand(0)), b = useFloat(op.operand(1));
    if (a.isImm()) std::swap(a, b);
    define(op, emit(mop, floatType(type), classOf(type), {a, b}));
    return;
  }
  bool half = isHalf(type);
  auto operand = [&](unsigned i) { return half ? halfToF32(op.operand(i)) : use(op.operand(i)); };
  PtxType ptx = type == ir::kF64 ? PtxType::F64 : PtxType::F32;
  RegClass cls = type == ir::kF64 ? RegClass::F64 : RegClass::F32;
  Opnd a = operand(0), b = operand(1);
  Opnd result = emit(plain, ptx, cls, {a, b});
  if (nanForm) {
    Opnd unordered = emitSetp(CmpOp::Nan, ptx, a, b);
    Opnd nan = imm(type == ir::kF64 ? 0x7FF8000000000000 : 0x7FC00000);
    result = emit(MachineOp::Selp, ptx, cls, {nan, result, unordered});
  }
  define(op, half ? f32ToHalf(type, result, true) : result);
}

void FunctionLowering::lowerRounding(Operation& op) {
  Type type = op.resultType();
  // bf16 through f32: what is not integral already is below 2^7, so the result has at most 8 bits.
  // The same holds for f16 with ties away from zero.
  bool viaF32 = type == ir::kBF16 || (type == ir::kF16 && op.opcode() == Opcode::FRound);
  PtxType ptx = viaF32 ? PtxType::F32 : floatType(type);
  RegClass cls = viaF32 ? RegClass::F32 : classOf(type);
  Opnd a = viaF32 ? halfToF32(op.operand(0)) : useReg(op.operand(0));
  a = inReg(a, viaF32 ? ir::kF32 : type);
  Round round = Round::Rzi;
  switch (op.opcode()) {
    case Opcode::FFloor:
      round = Round::Rmi;
      break;
    case Opcode::FCeil:
      round = Round::Rpi;
      break;
    case Opcode::FRoundEven:
      round = Round::Rni;
      break;
    case Opcode::FRound: {
      // Toward zero, after adding the greatest number below one half with the sign of x. The sum is
      // rounded to nearest: up to the next integer exactly from one half on, and never past an x
      // that is integral.
      bool f64 = ptx == PtxType::F64;
      Opnd half = imm(f64 ? 0x3FDFFFFFFFFFFFFF : 0x3EFFFFFF);
      Opnd signedHalf = emit(MachineOp::CopySign, ptx, cls, {a, half});
      a = emit(MachineOp::AddRn, ptx, cls, {a, signedHalf});
      break;
    }
    default:
      break;
  }
  Opnd result = emitCvt(round, ptx, ptx, cls, a);
  define(op, viaF32 ? f32ToHalf(type, result, true) : result);
}

// Mathematical functions with `approx`, on f32: what expand-math leaves to the machine. 16-bit
// types go through f32.
void FunctionLowering::lowerMath(Operation& op) {
  Type type = op.resultType();
  PtxType f32 = PtxType::F32;
  constexpr RegClass cls = RegClass::F32;
  Opnd a = isHalf(type) ? halfToF32(op.operand(0)) : use(op.operand(0));
  auto unary = [&](MachineOp mop, Opnd x) { return emitFtz(mop, f32, cls, {x}, op); };
  auto scaled = [&](Opnd x, uint64_t factor) {
    return emitFtz(MachineOp::MulRn, f32, cls, {x, imm(factor)}, op);
  };
  constexpr uint64_t kLog2E = 0x3FB8AA3B, kLn2 = 0x3F317218;
  Opnd result;
  switch (op.opcode()) {
    case Opcode::RSqrt:
      result = unary(MachineOp::RsqrtApprox, a);
      break;
    case Opcode::Exp:
      result = unary(MachineOp::Ex2Approx, scaled(a, kLog2E));
      break;
    case Opcode::Exp2:
      result = unary(MachineOp::Ex2Approx, a);
      break;
    case Opcode::Log:
      result = scaled(unary(MachineOp::Lg2Approx, a), kLn2);
      break;
    case Opcode::Log2:
      result = unary(MachineOp::Lg2Approx, a);
      break;
    case Opcode::Sin:
      result = unary(MachineOp::SinApprox, a);
      break;
    case Opcode::Cos:
      result = unary(MachineOp::CosApprox, a);
      break;
    default:  // Tanh; PtxTargetInfo::isNative has no other.
      result = emit(MachineOp::TanhApprox, f32, cls, {a});
      break;
  }
  define(op, isHalf(type) ? f32ToHalf(type, result, false) : result);
}

}  // namespace mtlc::ptx
