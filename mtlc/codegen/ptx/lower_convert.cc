// Conversions: one correctly rounded step each, saturating toward integers, NaN to 0 (docs/ir.md
// §2).

#include "mtlc/codegen/ptx/lowering.h"
#include "mtlc/codegen/ptx/match.h"
#include "mtlc/support/float_format.h"
#include "mtlc/support/scalar_ops.h"

namespace mtlc::ptx {

using ir::Operation;
using ir::Type;
using ir::TypeKind;
using ir::Value;

namespace {

bool isHalf(Type type) { return type.kind() == TypeKind::F16 || type.kind() == TypeKind::BF16; }

FloatKind floatKind(Type type) {
  return static_cast<FloatKind>(static_cast<int>(type.kind()) - static_cast<int>(TypeKind::F16));
}

}  // namespace

Opnd FunctionLowering::halfRegToF32(Type type, Opnd half) {
  if (half.isImm()) {
    return imm(scalar::fconv(floatKind(type), FloatKind::F32, out_->imms[half.index()]));
  }
  if (type == ir::kF16) {
    return emitCvt(Round::None, PtxType::F32, PtxType::F16, RegClass::F32, half);
  }
  return emit(MachineOp::PackHigh, PtxType::B32, RegClass::F32, {half});
}

Opnd FunctionLowering::halfToF32(const Value* v) { return halfRegToF32(v->type(), use(v)); }

Opnd FunctionLowering::f32ToHalf(Type type, Opnd value, bool exact) {
  value = inReg(value, ir::kF32);
  if (type == ir::kF16) {
    return emitCvt(Round::Rn, PtxType::F16, PtxType::F32, RegClass::B16, value);
  }
  auto upperHalf = [&](Opnd bits) {
    Opnd unused = newReg(RegClass::B16);
    return emit(MachineOp::UnpackHigh, PtxType::B32, RegClass::B16, {unused, bits});
  };
  if (exact) return upperHalf(value);
  if (profile_.has(PtxFeature::Bf16FromF32)) {
    return emitCvt(Round::Rn, PtxType::BF16, PtxType::F32, RegClass::B16, value);
  }
  // Nearest-even by hand: add just under half a unit of the result, and the unit's parity.
  auto op32 = [&](MachineOp op, PtxType type, std::initializer_list<Opnd> sources) {
    return emit(op, type, RegClass::B32, sources);
  };
  Opnd parity = op32(MachineOp::Bfe, PtxType::U32, {value, imm(16), imm(1)});
  Opnd bias = op32(MachineOp::Add, PtxType::S32, {parity, imm(0x7FFF)});
  Opnd rounded = op32(MachineOp::Add, PtxType::S32, {value, bias});
  Opnd isNan = emitSetp(CmpOp::Nan, PtxType::F32, value, value);
  return upperHalf(op32(MachineOp::Selp, PtxType::B32, {imm(0x7FFFFFFF), rounded, isNan}));
}

Opnd FunctionLowering::roundToOdd(Opnd rz, Opnd inexact) {
  Opnd odd = emit(MachineOp::Or, PtxType::B32, RegClass::F32, {rz, imm(1)});
  return emit(MachineOp::Selp, PtxType::F32, RegClass::F32, {odd, rz, inexact});
}

Opnd FunctionLowering::f64ToOddF32(Opnd a) {
  Opnd rz = emitCvt(Round::Rz, PtxType::F32, PtxType::F64, RegClass::F32, a);
  Opnd back = emitCvt(Round::None, PtxType::F64, PtxType::F32, RegClass::F64, rz);
  return roundToOdd(rz, emitSetp(CmpOp::Neu, PtxType::F64, back, a));
}

// From f64 by way of f32 rounded to odd, so that the bits are rounded once. Of a pair of codes the
// lower one is the result.
void FunctionLowering::lowerEncode(Operation& op) {
  const Value* source = op.operand(0);
  Opnd x = useReg(source);
  if (isHalf(source->type())) {
    x = halfRegToF32(source->type(), x);
  } else if (source->type() == ir::kF64) {
    x = f64ToOddF32(x);
  }
  const FloatFormat format = op.narrow().format;
  const bool nibbles = format == FloatFormat::E2M1;
  const Opnd pair = newReg(nibbles ? RegClass::B8 : RegClass::B16);
  const bool wholeByte = format == FloatFormat::E4M3 || format == FloatFormat::E5M2;
  // With a zero above it the code fills its byte with zeros, and the register.
  appendGrouped("cvt.rn.satfinite." + std::string(floatFormatInfo(format).name) + "x2.f32",
                {result(plain(pair)), plain(wholeByte ? x : imm(0)), plain(x)})
      .type = PtxType::F32;
  const PtxType from = nibbles ? PtxType::U8 : PtxType::U16;
  define(op, emitCvt(Round::None, PtxType::U32, from, RegClass::B32, pair),
         wholeByte ? kExtNone : kExtZero);
}

// Exact as f16, and scales as bf16.
void FunctionLowering::lowerDecode(Operation& op) {
  Opnd code = useReg(op.operand(0));
  const FloatFormat format = op.narrow().format;
  auto cut = [&](uint64_t mask) {
    code = emit(MachineOp::And, PtxType::B32, RegClass::B32, {code, imm(mask)});
  };
  std::string spelling = "cvt.rn.f16x2.e4m3x2";
  switch (format) {
    case FloatFormat::UE4M3:
      cut(0x7F);
      break;
    case FloatFormat::E2M3:
    case FloatFormat::E3M2:
      cut(0x3F);  // cvt wants zeros above each code.
      [[fallthrough]];
    case FloatFormat::E2M1:
      spelling = "cvt.rn.f16x2." + std::string(floatFormatInfo(format).name) + "x2";
      break;
    case FloatFormat::UE8M0:
      spelling = "cvt.rn.bf16x2.ue8m0x2";
      break;
    default:
      break;
  }
  const bool nibbles = format == FloatFormat::E2M1;
  const Opnd pair = emitCvt(Round::None, nibbles ? PtxType::U8 : PtxType::U16, PtxType::U32,
                            nibbles ? RegClass::B8 : RegClass::B16, code);
  const Opnd numbers = newReg(RegClass::B32);
  appendGrouped(std::move(spelling), {result(plain(numbers)), plain(pair)});
  const Type to = op.resultType();
  const Type exact = format == FloatFormat::UE8M0 ? ir::kBF16 : ir::kF16;
  if (exact == ir::kBF16 && to != ir::kBF16) {
    const Opnd number = emit(MachineOp::Shl, PtxType::B32, RegClass::F32, {numbers, imm(16)});
    return define(op, to == ir::kF32 ? number
                      : to == ir::kF64
                          ? emitCvt(Round::None, PtxType::F64, PtxType::F32, RegClass::F64, number)
                          : f32ToHalf(to, number, /*exact=*/false));
  }
  const Opnd half = emitCvt(Round::None, PtxType::U16, PtxType::U32, RegClass::B16, numbers);
  if (to == exact) return define(op, half);
  if (to == ir::kF64) {
    return define(op, emitCvt(Round::None, PtxType::F64, PtxType::F16, RegClass::F64, half));
  }
  const Opnd number = halfRegToF32(ir::kF16, half);
  define(op, to == ir::kF32 ? number : f32ToHalf(to, number, /*exact=*/true));
}

void FunctionLowering::lowerFConv(Operation& op) {
  const Value* source = op.operand(0);
  Type from = source->type(), to = op.resultType();
  if (from == to) return define(op, use(source));
  Opnd a = use(source);
  if (a.isImm()) {
    return define(op, imm(scalar::fconv(floatKind(from), floatKind(to), out_->imms[a.index()])));
  }
  if (from == ir::kF64) {
    if (to == ir::kF32) {
      define(op, emitCvt(Round::Rn, PtxType::F32, PtxType::F64, RegClass::F32, a));
    } else if (to == ir::kF16) {
      define(op, emitCvt(Round::Rn, PtxType::F16, PtxType::F64, RegClass::B16, a));
    } else if (profile_.has(PtxFeature::Bf16Cvt)) {
      define(op, emitCvt(Round::Rn, PtxType::BF16, PtxType::F64, RegClass::B16, a));
    } else {
      define(op, f32ToHalf(to, f64ToOddF32(a), false));
    }
    return;
  }
  if (from == ir::kF16 && to == ir::kF64) {
    return define(op, emitCvt(Round::None, PtxType::F64, PtxType::F16, RegClass::F64, a));
  }
  Opnd wide = isHalf(from) ? halfRegToF32(from, a) : a;
  if (to == ir::kF32) return define(op, wide);
  if (to == ir::kF64) {
    return define(op, emitCvt(Round::None, PtxType::F64, PtxType::F32, RegClass::F64, wide));
  }
  define(op, f32ToHalf(to, wide, false));
}

// PTX truncates with .rzi and clamps to the range of the destination. A NaN gives 0 only from f16
// and f32 to at most 32 bits, else the bits 1 << (width - 1) (PTX ISA, "Data Movement and
// Conversion Instructions: cvt").
void FunctionLowering::lowerFloatToInt(Operation& op, bool isSigned) {
  const Value* source = op.operand(0);
  Type from = source->type(), to = op.resultType();
  unsigned width = to.bits();
  Opnd a = useReg(source);
  PtxType ptx = from == ir::kF64 ? PtxType::F64 : from == ir::kF16 ? PtxType::F16 : PtxType::F32;
  if (from == ir::kBF16) a = halfRegToF32(from, a);
  if (width < 32) {
    if (from == ir::kF64) {
      // Toward zero twice is toward zero once, and f32 is exact far beyond 16 bits.
      a = emitCvt(Round::Rz, PtxType::F32, PtxType::F64, RegClass::F32, a);
      ptx = PtxType::F32;
    }
    Opnd n = emitCvt(Round::Rzi, isSigned ? PtxType::S32 : PtxType::U32, ptx, RegClass::B32, a);
    if (isSigned) {
      uint64_t most = to.mask() >> 1;
      n = emit(MachineOp::Min, PtxType::S32, RegClass::B32, {n, imm(most)});
      n = emit(MachineOp::Max, PtxType::S32, RegClass::B32, {n, imm(~most & 0xFFFFFFFF)});
      define(op, n, kExtSign);
    } else {
      n = emit(MachineOp::Min, PtxType::U32, RegClass::B32, {n, imm(to.mask())});
      define(op, n, kExtZero);
    }
    return;
  }
  bool fixNan = from == ir::kF64 || width == 64;
  PtxType result = isSigned ? signedType(to) : unsignedType(to);
  if (fixNan && !isSigned && ptx != PtxType::F16) {
    // max gives the 0 for a NaN, and negative numbers end there anyway.
    a = emit(MachineOp::Max, ptx, ptx == PtxType::F64 ? RegClass::F64 : RegClass::F32, {a, imm(0)});
    fixNan = false;
  }
  Opnd n = emitCvt(Round::Rzi, result, ptx, classOf(to), a);
  if (fixNan) {
    Opnd isNan = emitSetp(CmpOp::Nan, ptx, a, a);
    n = emit(MachineOp::Selp, bitsType(to), classOf(to), {imm(0), n, isNan});
  }
  define(op, n);
}

void FunctionLowering::lowerIntToFloat(Operation& op, bool isSigned) {
  const Value* source = op.operand(0);
  Type from = source->type(), to = op.resultType();
  Opnd a = use(source);
  if (a.isImm()) {
    uint64_t bits = out_->imms[a.index()];
    FloatKind kind = floatKind(to);
    return define(op, imm(isSigned ? scalar::sitof(kind, from.bits(), bits)
                                   : scalar::uitof(kind, from.bits(), bits)));
  }
  if (from.isBool()) {
    uint64_t one = scalar::sitof(floatKind(to), 8, isSigned ? 0xFF : 1);
    Opnd yes = imm(a.isReg() ? one : 0), no = imm(a.isReg() ? 0 : one);
    define(op, emit(MachineOp::Selp, bitsType(to), classOf(to), {yes, no, Opnd::reg(a.index())}));
    return;
  }
  // cvt reads a narrow source from the low bits of its register.
  PtxType source_ = PtxType::None;
  switch (from.kind()) {
    case TypeKind::I8:
      source_ = isSigned ? PtxType::S8 : PtxType::U8;
      break;
    case TypeKind::I16:
      source_ = isSigned ? PtxType::S16 : PtxType::U16;
      break;
    case TypeKind::I32:
      source_ = isSigned ? PtxType::S32 : PtxType::U32;
      break;
    default:
      source_ = isSigned ? PtxType::S64 : PtxType::U64;
      break;
  }
  PtxType target = to == ir::kF16   ? PtxType::F16
                   : to == ir::kF32 ? PtxType::F32
                   : to == ir::kF64 ? PtxType::F64
                                    : PtxType::BF16;
  if (to != ir::kBF16 || (profile_.has(PtxFeature::Bf16Cvt) && from.bits() >= 32)) {
    return define(op, emitCvt(Round::Rn, target, source_, classOf(to), a));
  }
  if (from.bits() < 32) {  // Exact in f32.
    Opnd wide = emitCvt(Round::Rn, PtxType::F32, source_, RegClass::F32, a);
    return define(op, f32ToHalf(to, wide, false));
  }
  Opnd rz = emitCvt(Round::Rz, PtxType::F32, source_, RegClass::F32, a);
  Opnd back = emitCvt(Round::Rzi, source_, PtxType::F32, classOf(from), rz);
  Opnd inexact = emitSetp(CmpOp::Ne, isSigned ? signedType(from) : unsignedType(from), back, a);
  define(op, f32ToHalf(to, roundToOdd(rz, inexact), false));
}

void FunctionLowering::lowerBitcast(Operation& op) {
  const Value* source = op.operand(0);
  Type from = source->type(), to = op.resultType();
  Opnd a = use(source);
  bool toHalf = isHalf(to) && !isHalf(from), fromHalf = isHalf(from) && !isHalf(to);
  if (a.isImm() || (!toHalf && !fromHalf)) return define(op, a, info(source).state);
  if (toHalf) {
    return define(op, emitCvt(Round::None, PtxType::U16, PtxType::U32, RegClass::B16, a));
  }
  define(op, emitCvt(Round::None, PtxType::U32, PtxType::U16, RegClass::B32, a), kExtZero);
}

}  // namespace mtlc::ptx
