// Integer operations. The rules that PTX leaves open (division by zero, MIN / -1) or has
// differently (shifts past the width) are those of docs/ir.md §2.

#include <utility>

#include "mtlc/codegen/ptx/lowering.h"
#include "mtlc/codegen/ptx/match.h"

namespace mtlc::ptx {

using ir::asConst;
using ir::Opcode;
using ir::Operation;
using ir::Type;
using ir::Value;

// A narrow constant as the shorter number: -1 rather than 255. For operations that only look at the
// low bits.
Opnd FunctionLowering::signedImm(Opnd immediate, Type type) {
  uint64_t bits = out_->imms[immediate.index()];
  return imm(static_cast<uint64_t>(ir::signExtend(bits, type.bits())) & 0xFFFFFFFF);
}

void FunctionLowering::lowerAdd(Operation& op) {
  Type type = op.resultType();
  RegClass cls = classOf(type);
  MulAdd m = matchMulAdd(op);
  Opnd result;
  switch (m.kind) {
    case MulAdd::Kind::None: {
      Opnd a = use(op.operand(0)), b = use(op.operand(1));
      if (a.isImm()) std::swap(a, b);
      if (b.isImm() && type.bits() < 32) b = signedImm(b, type);
      result = emit(MachineOp::Add, signedType(type), cls, {a, b});
      break;
    }
    case MulAdd::Kind::Low: {
      Opnd b = m.b != nullptr ? use(m.b) : imm(static_cast<uint64_t>(m.factor));
      result = emit(MachineOp::MadLo, signedType(type), cls, {use(m.a), b, use(m.addend)});
      break;
    }
    case MulAdd::Kind::Wide:
    case MulAdd::Kind::WidenOnly: {
      bool isSigned = m.wide.isSigned;
      Opnd a = useExt(m.wide.a, isSigned);
      Opnd b = m.wide.b != nullptr ? useExt(m.wide.b, isSigned)
                                   : imm(static_cast<uint64_t>(m.wide.factor) & 0xFFFFFFFF);
      result = emit(MachineOp::MadWide, isSigned ? PtxType::S32 : PtxType::U32, cls,
                    {a, b, use(m.addend)});
      break;
    }
  }
  define(op, result);
}

void FunctionLowering::lowerMul(Operation& op) {
  Type type = op.resultType();
  if (WideProduct p = matchWideProduct(op)) {
    Opnd b = p.b != nullptr ? useExt(p.b, p.isSigned)
                            : imm(static_cast<uint64_t>(p.factor) & 0xFFFFFFFF);
    define(op, emit(MachineOp::MulWide, p.isSigned ? PtxType::S32 : PtxType::U32, RegClass::B64,
                    {useExt(p.a, p.isSigned), b}));
    return;
  }
  Opnd a = use(op.operand(0)), b = use(op.operand(1));
  if (a.isImm()) std::swap(a, b);
  define(op, emit(MachineOp::MulLo, signedType(type), classOf(type), {a, b}));
}

void FunctionLowering::lowerMulHi(Operation& op, bool isSigned) {
  Type type = op.resultType();
  Opnd a = useExt(op.operand(0), isSigned), b = useExt(op.operand(1), isSigned);
  if (a.isImm()) std::swap(a, b);
  PtxType ptx = isSigned ? signedType(type) : unsignedType(type);
  if (type.bits() >= 32) {
    define(op, emit(MachineOp::MulHi, ptx, classOf(type), {a, b}));
    return;
  }
  Opnd product = emit(MachineOp::MulLo, PtxType::S32, RegClass::B32, {a, b});
  define(op, emit(MachineOp::Shr, ptx, RegClass::B32, {product, imm(type.bits())}),
         isSigned ? kExtSign : kExtZero);
}

void FunctionLowering::lowerDivision(Operation& op, bool isSigned, bool remainder) {
  Type type = op.resultType();
  unsigned width = type.bits();
  RegClass cls = classOf(type);
  PtxType ptx = isSigned ? signedType(type) : unsignedType(type);
  PtxType bits = bitsType(type);
  const Value* dividend = op.operand(0);
  const Value* divisor = op.operand(1);
  uint8_t ext = isSigned ? kExtSign : kExtZero;
  MachineOp mop = remainder ? MachineOp::Rem : MachineOp::Div;

  if (const Operation* constant = asConst(divisor)) {
    uint64_t c = constant->constBits();
    if (c == 0) {
      remainder ? define(op, use(dividend), info(dividend).state) : define(op, imm(type.mask()));
      return;
    }
    if (c == 1) {
      remainder ? define(op, imm(0)) : define(op, use(dividend), info(dividend).state);
      return;
    }
    if (isSigned && c == type.mask()) {  // -1
      remainder ? define(op, imm(0)) : define(op, emit(MachineOp::Neg, ptx, cls, {use(dividend)}));
      return;
    }
    Opnd a = useExt(dividend, isSigned);
    if (!isSigned && (c & (c - 1)) == 0) {
      if (remainder) {
        define(op, emit(MachineOp::And, bits, cls, {a, imm(c - 1)}), kExtZero);
      } else {
        unsigned shift = 0;
        while ((c >> shift & 1) == 0) ++shift;
        define(op, emit(MachineOp::Shr, ptx, cls, {a, imm(shift)}), kExtZero);
      }
      return;
    }
    define(op, emit(mop, ptx, cls, {a, useExt(divisor, isSigned)}), ext);
    return;
  }

  Opnd a = useExt(dividend, isSigned), b = useExt(divisor, isSigned);
  Opnd result = emit(mop, ptx, cls, {a, b});
  // In a 32-bit register -MIN of a narrow type is a number like any other, and its low bits are
  // those of MIN.
  bool overflows = isSigned && !knownNonNegative(divisor) && !knownNonNegative(dividend);
  if (overflows && width < 32) {
    if (!remainder) ext = kExtNone;
  } else if (overflows) {
    Opnd minusOne = emitSetp(CmpOp::Eq, ptx, b, imm(type.mask()));
    Opnd other = remainder ? imm(0) : emit(MachineOp::Neg, ptx, cls, {a});
    result = emit(MachineOp::Selp, bits, cls, {other, result, minusOne});
  }
  if (!knownNonZero(divisor)) {
    Opnd zero = emitSetp(CmpOp::Eq, ptx, b, imm(0));
    Opnd other = remainder ? a : imm(isSigned && width < 32 ? 0xFFFFFFFF : type.mask());
    result = emit(MachineOp::Selp, bits, cls, {other, result, zero});
  }
  define(op, result, ext);
}

void FunctionLowering::lowerShift(Operation& op) {
  Type type = op.resultType();
  unsigned width = type.bits();
  RegClass cls = classOf(type);
  bool left = op.opcode() == Opcode::Shl;
  bool arithmetic = op.opcode() == Opcode::AShr;
  if (left) {
    if (matchWideProduct(op)) return lowerMul(op);
  }
  const Value* base = op.operand(0);
  Opnd a = left ? use(base) : useExt(base, arithmetic ? kExtSign : kExtZero);
  MachineOp mop = left ? MachineOp::Shl : MachineOp::Shr;
  PtxType ptx = left ? bitsType(type) : arithmetic ? signedType(type) : unsignedType(type);
  uint8_t state = left ? kExtNone : arithmetic ? kExtSign : kExtZero;

  Amount amount = matchAmount(op.operand(1), width);
  if (amount.constant) {
    if (*amount.constant == 0) return define(op, a, left ? info(base).state : state);
    return define(op, emit(mop, ptx, cls, {a, imm(*amount.constant)}), state);
  }
  Opnd n = use(amount.value);
  if (amount.value->type() == ir::kI64) {
    n = emitCvt(Round::None, PtxType::U32, PtxType::U64, RegClass::B32, n);
  }
  if (!amount.below && width == 32 && !arithmetic) {
    // The funnel shifts of PTX take the amount modulo 32 themselves.
    define(op, left ? emit(MachineOp::ShfLWrap, PtxType::B32, cls, {imm(0), a, n})
                    : emit(MachineOp::ShfRWrap, PtxType::B32, cls, {a, imm(0), n}));
    return;
  }
  if (!amount.below) {
    n = emit(MachineOp::And, PtxType::B32, RegClass::B32, {n, imm(width - 1)});
  }
  define(op, emit(mop, ptx, cls, {a, n}), state);
}

void FunctionLowering::lowerBitwise(Operation& op) {
  Type type = op.resultType();
  RegClass cls = classOf(type);
  PtxType bits = bitsType(type);
  const Value* x = op.operand(0);
  const Value* y = op.operand(1);
  if (asConst(x) != nullptr) std::swap(x, y);
  bool narrow = type.bits() < 32;
  uint8_t stateX = info(x).state;
  if (const Operation* constant = asConst(y)) {
    uint64_t c = constant->constBits();
    if (op.opcode() == Opcode::Xor && c == type.mask()) {
      define(op, emit(MachineOp::Not, bits, cls, {use(x)}), stateX & kExtSign);
      return;
    }
    // A zero-extended mask makes `and` zero-extend; the others keep what x has when the constant is
    // alike.
    bool negative = narrow && (c >> (type.bits() - 1) & 1) != 0;
    uint8_t state = kExtZero | (negative ? kExtNone : kExtSign);
    Opnd b = use(y);
    if (op.opcode() != Opcode::And) {
      if (negative && (stateX & kExtZero) == 0) {
        b = useExt(y, kExtSign);
        state = kExtSign;
      }
      state &= stateX;
    }
    MachineOp mop = op.opcode() == Opcode::And  ? MachineOp::And
                    : op.opcode() == Opcode::Or ? MachineOp::Or
                                                : MachineOp::Xor;
    define(op, emit(mop, bits, cls, {use(x), b}), narrow ? state : uint8_t{kExtNone});
    return;
  }
  uint8_t stateY = info(y).state;
  uint8_t state = stateX & stateY;
  MachineOp mop = MachineOp::Xor;
  if (op.opcode() == Opcode::And) {
    mop = MachineOp::And;
    state |= (stateX | stateY) & kExtZero;
  } else if (op.opcode() == Opcode::Or) {
    mop = MachineOp::Or;
  }
  define(op, emit(mop, bits, cls, {use(x), use(y)}), state);
}

void FunctionLowering::lowerMinMax(Operation& op, MachineOp mop, bool isSigned) {
  Type type = op.resultType();
  Opnd a = useExt(op.operand(0), isSigned), b = useExt(op.operand(1), isSigned);
  if (a.isImm()) std::swap(a, b);
  define(op, emit(mop, isSigned ? signedType(type) : unsignedType(type), classOf(type), {a, b}),
         isSigned ? kExtSign : kExtZero);
}

// The absolute value of a narrow MIN is 2^(w-1), whose low bits are MIN again.
void FunctionLowering::lowerAbs(Operation& op) {
  Type type = op.resultType();
  define(op,
         emit(MachineOp::Abs, signedType(type), classOf(type), {useExt(op.operand(0), kExtSign)}),
         kExtZero);
}

void FunctionLowering::lowerCount(Operation& op, MachineOp mop) {
  Type type = op.resultType();
  Opnd count = emit(mop, bitsType(type), RegClass::B32, {useExt(op.operand(0), kExtZero)});
  if (type == ir::kI64) {
    count = emitCvt(Round::None, PtxType::U64, PtxType::U32, RegClass::B64, count);
  } else if (mop == MachineOp::Clz && type.bits() < 32) {
    count = emit(MachineOp::Add, PtxType::S32, RegClass::B32,
                 {count, imm(static_cast<uint32_t>(type.bits()) - 32u)});
  }
  define(op, count, kExtBoth);
}

// sext and zext.
void FunctionLowering::lowerIntCast(Operation& op) {
  const Value* source = op.operand(0);
  Type from = source->type(), to = op.resultType();
  bool isSigned = op.opcode() == Opcode::SExt;
  if (from.isBool()) {
    Opnd p = use(source);
    if (p.isImm()) {
      bool set = (out_->imms[p.index()] & 1) != 0;
      return define(op, imm(!set ? 0 : isSigned ? to.mask() : 1));
    }
    uint64_t one = isSigned ? ~uint64_t{0} : 1;
    Opnd a = imm(p.isReg() ? one : 0), b = imm(p.isReg() ? 0 : one);
    define(op, emit(MachineOp::Selp, bitsType(to), classOf(to), {a, b, Opnd::reg(p.index())}),
           isSigned ? kExtSign : kExtBoth);
    return;
  }
  Opnd a = use(source);
  if (a.isImm()) {
    uint64_t bits = out_->imms[a.index()];
    if (isSigned) bits = static_cast<uint64_t>(ir::signExtend(bits, from.bits())) & to.mask();
    return define(op, imm(bits));
  }
  if (to == ir::kI64) {
    PtxType sourceType = from == ir::kI8    ? (isSigned ? PtxType::S8 : PtxType::U8)
                         : from == ir::kI16 ? (isSigned ? PtxType::S16 : PtxType::U16)
                                            : (isSigned ? PtxType::S32 : PtxType::U32);
    define(op, emitCvt(Round::None, isSigned ? PtxType::S64 : PtxType::U64, sourceType,
                       RegClass::B64, a));
    return;
  }
  // To 32 bits, or i8 to i16: the register as it is, once it is extended.
  define(op, useExt(source, isSigned), isSigned ? kExtSign : kExtBoth);
}

void FunctionLowering::lowerTrunc(Operation& op) {
  const Value* source = op.operand(0);
  Type to = op.resultType();
  Opnd a = use(source);
  if (a.isImm()) return define(op, imm(out_->imms[a.index()] & to.mask()));
  if (source->type() == ir::kI64) {
    a = emitCvt(Round::None, PtxType::U32, PtxType::U64, RegClass::B32, a);
  }
  define(op, a);
}

}  // namespace mtlc::ptx
