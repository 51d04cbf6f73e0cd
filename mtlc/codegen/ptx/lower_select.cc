// Comparisons, logic on predicates, selection. An i1 is a predicate register; its negation costs
// nothing where a branch or a selection uses it.

#include <utility>

#include "mtlc/codegen/ptx/lowering.h"
#include "mtlc/codegen/ptx/match.h"

namespace mtlc::ptx {

using ir::Opcode;
using ir::Operation;
using ir::Type;
using ir::Value;

namespace {

struct Comparison {
  CmpOp op;
  char kind;  // 's', 'u' or 'f'; '=' where the sign makes no difference.
};

Comparison comparison(Opcode opcode) {
  switch (opcode) {
    case Opcode::CmpEq:
      return {CmpOp::Eq, '='};
    case Opcode::CmpNe:
      return {CmpOp::Ne, '='};
    case Opcode::CmpSlt:
      return {CmpOp::Lt, 's'};
    case Opcode::CmpSle:
      return {CmpOp::Le, 's'};
    case Opcode::CmpSgt:
      return {CmpOp::Gt, 's'};
    case Opcode::CmpSge:
      return {CmpOp::Ge, 's'};
    case Opcode::CmpUlt:
      return {CmpOp::Lt, 'u'};
    case Opcode::CmpUle:
      return {CmpOp::Le, 'u'};
    case Opcode::CmpUgt:
      return {CmpOp::Gt, 'u'};
    case Opcode::CmpUge:
      return {CmpOp::Ge, 'u'};
    case Opcode::FCmpOeq:
      return {CmpOp::Eq, 'f'};
    case Opcode::FCmpOgt:
      return {CmpOp::Gt, 'f'};
    case Opcode::FCmpOge:
      return {CmpOp::Ge, 'f'};
    case Opcode::FCmpOlt:
      return {CmpOp::Lt, 'f'};
    case Opcode::FCmpOle:
      return {CmpOp::Le, 'f'};
    case Opcode::FCmpOne:
      return {CmpOp::Ne, 'f'};
    case Opcode::FCmpOrd:
      return {CmpOp::Num, 'f'};
    case Opcode::FCmpUeq:
      return {CmpOp::Equ, 'f'};
    case Opcode::FCmpUgt:
      return {CmpOp::Gtu, 'f'};
    case Opcode::FCmpUge:
      return {CmpOp::Geu, 'f'};
    case Opcode::FCmpUlt:
      return {CmpOp::Ltu, 'f'};
    case Opcode::FCmpUle:
      return {CmpOp::Leu, 'f'};
    case Opcode::FCmpUne:
      return {CmpOp::Neu, 'f'};
    default:
      return {CmpOp::Nan, 'f'};  // FCmpUno
  }
}

// For a constant on the left of an integer comparison.
CmpOp swapped(CmpOp op) {
  switch (op) {
    case CmpOp::Lt:
      return CmpOp::Gt;
    case CmpOp::Le:
      return CmpOp::Ge;
    case CmpOp::Gt:
      return CmpOp::Lt;
    case CmpOp::Ge:
      return CmpOp::Le;
    default:
      return op;
  }
}

}  // namespace

Opnd FunctionLowering::emitCompare(Operation& op, BoolOp boolOp, Opnd with) {
  const Value* x = op.operand(0);
  const Value* y = op.operand(1);
  Type type = x->type();
  Comparison c = comparison(op.opcode());
  Opnd a, b;
  PtxType ptx;
  if (c.kind == 'f') {
    bool half = type == ir::kF16 || type == ir::kBF16;
    if (type == ir::kBF16 && !profile_.has(PtxFeature::Bf16Arith)) {
      a = halfToF32(x);
      b = halfToF32(y);
      ptx = PtxType::F32;
    } else {
      a = half ? useReg(x) : use(x);
      b = half ? useReg(y) : use(y);
      ptx = type == ir::kF16    ? PtxType::F16
            : type == ir::kBF16 ? PtxType::BF16
            : type == ir::kF32  ? PtxType::F32
                                : PtxType::F64;
    }
  } else {
    bool isSigned = c.kind == 's';
    if (c.kind == '=') {
      // Compare what is there, if both sides have the same.
      auto state = [&](const Value* v) {
        return use(v).isImm() ? uint8_t{kExtBoth} : info(v).state;
      };
      isSigned = (state(x) & state(y) & kExtBoth) == kExtSign ||
                 ((state(x) & state(y)) == 0 && (state(x) & kExtSign) != 0);
    }
    a = useExt(x, isSigned);
    b = useExt(y, isSigned);
    if (a.isImm() && !b.isImm()) {
      std::swap(a, b);
      c.op = swapped(c.op);
    }
    ptx = isSigned || c.kind == '=' ? signedType(type) : unsignedType(type);
  }
  Opnd dst = newReg(RegClass::Pred);
  MachineInst& inst = append(MachineOp::Setp, ptx, dst, {a, b});
  inst.mod = static_cast<uint8_t>(c.op);
  if (boolOp != BoolOp::None) {
    inst.boolOp = boolOp;
    inst.src[inst.sources++] = with;
  }
  return dst;
}

void FunctionLowering::lowerCompare(Operation& op) {
  const Value* x = op.operand(0);
  if (x->type().isBool()) {
    Opnd a = use(x), b = use(op.operand(1));
    if (a.isImm()) std::swap(a, b);
    bool equal = op.opcode() == Opcode::CmpEq;
    if (b.isImm()) {
      bool same = ((out_->imms[b.index()] & 1) != 0) == equal;
      define(op, same ? a : notPred(a));
      return;
    }
    // Negations on either side cancel or move to the result.
    bool negate = equal != (a.isNotReg() != b.isNotReg());
    Opnd differ = emit(MachineOp::Xor, PtxType::Pred, RegClass::Pred,
                       {Opnd::reg(a.index()), Opnd::reg(b.index())});
    define(op, negate ? differ.inverted() : differ);
    return;
  }
  define(op, emitCompare(op, BoolOp::None, Opnd()));
}

// and, or, xor of i1.
void FunctionLowering::lowerBoolLogic(Operation& op) {
  bool isAnd = op.opcode() == Opcode::And, isOr = op.opcode() == Opcode::Or;
  if (isAnd || isOr) {
    if (ComparePair pair = matchComparePair(op)) {
      Opnd other = use(pair.other);
      if (other.isImm()) other = plainPred(other);
      define(op, emitCompare(*pair.compare, isAnd ? BoolOp::And : BoolOp::Or, other));
      return;
    }
  }
  Opnd a = use(op.operand(0)), b = use(op.operand(1));
  if (a.isImm()) std::swap(a, b);
  if (b.isImm()) {
    bool set = (out_->imms[b.index()] & 1) != 0;
    if (isAnd) {
      define(op, set ? a : b);
    } else if (isOr) {
      define(op, set ? b : a);
    } else {
      define(op, set ? notPred(a) : a);
    }
    return;
  }
  if (!isAnd && !isOr) {
    bool negate = a.isNotReg() != b.isNotReg();
    Opnd differ = emit(MachineOp::Xor, PtxType::Pred, RegClass::Pred,
                       {Opnd::reg(a.index()), Opnd::reg(b.index())});
    define(op, negate ? differ.inverted() : differ);
    return;
  }
  define(op, emitLogic(isAnd, a, b));
}

// Two negations become one, of the result.
Opnd FunctionLowering::emitLogic(bool isAnd, Opnd a, Opnd b) {
  if (a.isNotReg() && b.isNotReg()) {
    return emit(isAnd ? MachineOp::Or : MachineOp::And, PtxType::Pred, RegClass::Pred,
                {a.inverted(), b.inverted()})
        .inverted();
  }
  return emit(isAnd ? MachineOp::And : MachineOp::Or, PtxType::Pred, RegClass::Pred,
              {plainPred(a), plainPred(b)});
}

void FunctionLowering::lowerSelect(Operation& op) {
  Type type = op.resultType();
  Opnd condition = use(op.operand(0));
  const Value* yes = op.operand(1);
  const Value* no = op.operand(2);
  if (condition.isImm()) {
    const Value* chosen = (out_->imms[condition.index()] & 1) != 0 ? yes : no;
    define(op, use(chosen), info(chosen).state);
    return;
  }
  if (type.isBool()) {
    // (c and a) or (not c and b), with the constant cases first.
    Opnd a = use(yes), b = use(no);
    auto isSet = [&](Opnd x) { return (out_->imms[x.index()] & 1) != 0; };
    if (a.isImm() && b.isImm()) {
      define(op, isSet(a) == isSet(b) ? a : isSet(a) ? condition : condition.inverted());
    } else if (a.isImm()) {
      define(op, emitLogic(!isSet(a), isSet(a) ? condition : condition.inverted(), b));
    } else if (b.isImm()) {
      define(op, emitLogic(!isSet(b), isSet(b) ? condition.inverted() : condition, a));
    } else {
      Opnd first = emitLogic(true, condition, a);
      Opnd second = emitLogic(true, condition.inverted(), b);
      define(op, emitLogic(false, first, second));
    }
    return;
  }
  if (condition.isNotReg()) {
    std::swap(yes, no);
    condition = condition.inverted();
  }
  auto state = [&](const Value* v) { return use(v).isImm() ? uint8_t{kExtZero} : info(v).state; };
  uint8_t ext = state(yes) & state(no);
  Opnd a = use(yes), b = use(no);
  define(op, emit(MachineOp::Selp, bitsType(type), classOf(type), {a, b, condition}), ext);
}

}  // namespace mtlc::ptx
