#include "mtlc/transforms/fold.h"

#include "mtlc/support/math/eval.h"

namespace mtlc::transforms {

using ir::Opcode;
using ir::Type;

static_assert(static_cast<int>(ir::TypeKind::F64) - static_cast<int>(ir::TypeKind::F16) ==
              static_cast<int>(FloatKind::F64));
static_assert(static_cast<int>(Opcode::CmpUge) - static_cast<int>(Opcode::CmpEq) ==
              static_cast<int>(IntPredicate::Uge));
static_assert(static_cast<int>(Opcode::FCmpUno) - static_cast<int>(Opcode::FCmpOeq) ==
              static_cast<int>(FloatPredicate::Uno));
static_assert(static_cast<int>(Opcode::Pow) - static_cast<int>(Opcode::RSqrt) ==
              static_cast<int>(math::MathFn::Pow));

namespace {

bool isSubnormal(Type type, uint64_t bits) {
  FloatKind kind = floatKind(type);
  uint64_t magnitude = scalar::fabs(kind, bits);
  const FloatFormatInfo& format = floatFormatInfo(formatOf(kind));
  return magnitude != 0 && magnitude >> format.mantissaBits == 0;
}

uint64_t foldInteger(Opcode opcode, unsigned w, uint64_t a, uint64_t b) {
  switch (opcode) {
    case Opcode::Add:
      return scalar::add(w, a, b);
    case Opcode::Sub:
      return scalar::sub(w, a, b);
    case Opcode::Mul:
      return scalar::mul(w, a, b);
    case Opcode::SMulHi:
      return scalar::smulhi(w, a, b);
    case Opcode::UMulHi:
      return scalar::umulhi(w, a, b);
    case Opcode::SDiv:
      return scalar::sdiv(w, a, b);
    case Opcode::UDiv:
      return scalar::udiv(w, a, b);
    case Opcode::SRem:
      return scalar::srem(w, a, b);
    case Opcode::URem:
      return scalar::urem(w, a, b);
    case Opcode::Neg:
      return scalar::neg(w, a);
    case Opcode::And:
      return a & b;
    case Opcode::Or:
      return a | b;
    case Opcode::Xor:
      return a ^ b;
    case Opcode::Shl:
      return scalar::shl(w, a, b);
    case Opcode::LShr:
      return scalar::lshr(w, a, b);
    case Opcode::AShr:
      return scalar::ashr(w, a, b);
    case Opcode::SMin:
      return scalar::smin(w, a, b);
    case Opcode::SMax:
      return scalar::smax(w, a, b);
    case Opcode::UMin:
      return scalar::umin(w, a, b);
    case Opcode::UMax:
      return scalar::umax(w, a, b);
    case Opcode::Abs:
      return scalar::abs(w, a);
    case Opcode::Clz:
      return scalar::clz(w, a);
    default:
      return scalar::popcount(w, a);
  }
}

uint64_t foldFloat(Opcode opcode, FloatKind kind, uint64_t a, uint64_t b, uint64_t c) {
  switch (opcode) {
    case Opcode::FAdd:
      return scalar::fadd(kind, a, b);
    case Opcode::FSub:
      return scalar::fsub(kind, a, b);
    case Opcode::FMul:
      return scalar::fmul(kind, a, b);
    case Opcode::FDiv:
      return scalar::fdiv(kind, a, b);
    case Opcode::Fma:
      return scalar::fma(kind, a, b, c);
    case Opcode::FSqrt:
      return scalar::fsqrt(kind, a);
    case Opcode::FNeg:
      return scalar::fneg(kind, a);
    case Opcode::FAbs:
      return scalar::fabs(kind, a);
    case Opcode::FMin:
      return scalar::fmin(kind, a, b);
    case Opcode::FMax:
      return scalar::fmax(kind, a, b);
    case Opcode::FMinNan:
      return scalar::fminNan(kind, a, b);
    case Opcode::FMaxNan:
      return scalar::fmaxNan(kind, a, b);
    case Opcode::FFloor:
      return scalar::ffloor(kind, a);
    case Opcode::FCeil:
      return scalar::fceil(kind, a);
    case Opcode::FTrunc:
      return scalar::ftrunc(kind, a);
    case Opcode::FRound:
      return scalar::fround(kind, a);
    default:
      return scalar::froundeven(kind, a);
  }
}

}  // namespace

std::optional<uint64_t> foldOperation(Opcode opcode, Type from, Type to, uint8_t fastMath,
                                      std::span<const uint64_t> operands) {
  const uint64_t a = operands.empty() ? 0 : operands[0];
  const uint64_t b = operands.size() > 1 ? operands[1] : 0;
  const uint64_t c = operands.size() > 2 ? operands[2] : 0;
  if (fastMath & ir::kApprox) return std::nullopt;
  if (fastMath & ir::kFlushSubnormals) {
    for (uint64_t bits : operands) {
      if (isSubnormal(from, bits)) return std::nullopt;
    }
  }
  std::optional<uint64_t> result;
  // No default: a new operation has to be placed here.
  switch (opcode) {
    case Opcode::Add:
    case Opcode::Sub:
    case Opcode::Mul:
    case Opcode::SMulHi:
    case Opcode::UMulHi:
    case Opcode::SDiv:
    case Opcode::UDiv:
    case Opcode::SRem:
    case Opcode::URem:
    case Opcode::Neg:
    case Opcode::And:
    case Opcode::Or:
    case Opcode::Xor:
    case Opcode::Shl:
    case Opcode::LShr:
    case Opcode::AShr:
    case Opcode::SMin:
    case Opcode::SMax:
    case Opcode::UMin:
    case Opcode::UMax:
    case Opcode::Abs:
    case Opcode::Clz:
    case Opcode::Popcount:
      return foldInteger(opcode, from.bits(), a, b);

    case Opcode::FAdd:
    case Opcode::FSub:
    case Opcode::FMul:
    case Opcode::FDiv:
    case Opcode::Fma:
    case Opcode::FSqrt:
    case Opcode::FNeg:
    case Opcode::FAbs:
    case Opcode::FMin:
    case Opcode::FMax:
    case Opcode::FMinNan:
    case Opcode::FMaxNan:
    case Opcode::FFloor:
    case Opcode::FCeil:
    case Opcode::FTrunc:
    case Opcode::FRound:
    case Opcode::FRoundEven:
      result = foldFloat(opcode, floatKind(from), a, b, c);
      break;

    case Opcode::RSqrt:
    case Opcode::Exp:
    case Opcode::Exp2:
    case Opcode::Log:
    case Opcode::Log2:
    case Opcode::Sin:
    case Opcode::Cos:
    case Opcode::Tan:
    case Opcode::Tanh:
    case Opcode::Erf:
    case Opcode::Pow:
      result = math::evalMathBits(
          static_cast<math::MathFn>(static_cast<int>(opcode) - static_cast<int>(Opcode::RSqrt)),
          floatKind(from), a, b);
      break;

    case Opcode::CmpEq:
    case Opcode::CmpNe:
    case Opcode::CmpSlt:
    case Opcode::CmpSle:
    case Opcode::CmpSgt:
    case Opcode::CmpSge:
    case Opcode::CmpUlt:
    case Opcode::CmpUle:
    case Opcode::CmpUgt:
    case Opcode::CmpUge:
      return scalar::icmp(
          static_cast<IntPredicate>(static_cast<int>(opcode) - static_cast<int>(Opcode::CmpEq)),
          from.bits(), a, b);

    case Opcode::FCmpOeq:
    case Opcode::FCmpOgt:
    case Opcode::FCmpOge:
    case Opcode::FCmpOlt:
    case Opcode::FCmpOle:
    case Opcode::FCmpOne:
    case Opcode::FCmpOrd:
    case Opcode::FCmpUeq:
    case Opcode::FCmpUgt:
    case Opcode::FCmpUge:
    case Opcode::FCmpUlt:
    case Opcode::FCmpUle:
    case Opcode::FCmpUne:
    case Opcode::FCmpUno:
      return scalar::fcmp(
          static_cast<FloatPredicate>(static_cast<int>(opcode) - static_cast<int>(Opcode::FCmpOeq)),
          floatKind(from), a, b);

    case Opcode::Select:
      return a ? b : c;

    case Opcode::Trunc:
      return scalar::wrap(to.bits(), a);
    case Opcode::SExt:
      return scalar::sext(from.bits(), to.bits(), a);
    case Opcode::ZExt:
    case Opcode::Bitcast:
      return a;
    case Opcode::FConv:
      return scalar::fconv(floatKind(from), floatKind(to), a);
    case Opcode::FToSI:
      return scalar::ftosi(floatKind(from), to.bits(), a);
    case Opcode::FToUI:
      return scalar::ftoui(floatKind(from), to.bits(), a);
    case Opcode::SIToF:
      return scalar::sitof(floatKind(to), from.bits(), a);
    case Opcode::UIToF:
      return scalar::uitof(floatKind(to), from.bits(), a);

    case Opcode::Const:
    case Opcode::Fence:
    case Opcode::AtomicLoad:
    case Opcode::AtomicStore:
    case Opcode::AtomicRmw:
    case Opcode::AtomicCas:
    case Opcode::SubgroupLocalId:
    case Opcode::SubgroupSize:
    case Opcode::SubgroupBroadcast:
    case Opcode::SubgroupShuffle:
    case Opcode::SubgroupReduce:
    case Opcode::SubgroupScanInclusive:
    case Opcode::SubgroupScanExclusive:
    case Opcode::SubgroupBarrier:
    case Opcode::SubgroupBallot:
    case Opcode::SubgroupAny:
    case Opcode::SubgroupAll:
    case Opcode::AsyncCopy:
    case Opcode::AsyncCommit:
    case Opcode::AsyncWait:
    case Opcode::Encode:  // A format has to be named: the overload for operations.
    case Opcode::Decode:
    case Opcode::TensorMma:
    case Opcode::TensorMatmul:
    case Opcode::TensorEpilogue:
    case Opcode::TensorTransfer:
    case Opcode::TensorAccBegin:
    case Opcode::TensorAccMma:
    case Opcode::TensorAccEpilogue:
    case Opcode::TensorAccCommit:
    case Opcode::FuncAddr:
    case Opcode::CallIndirect:
    case Opcode::Launch:
    case Opcode::LaunchStatus:
    case Opcode::PtrToInt:
    case Opcode::IntToPtr:
    case Opcode::SpaceCast:
    case Opcode::ThreadId:
    case Opcode::BlockId:
    case Opcode::BlockDim:
    case Opcode::GridDim:
    case Opcode::PtrAdd:
    case Opcode::Load:
    case Opcode::Store:
    case Opcode::AllocWorkgroup:
    case Opcode::AllocPrivate:
    case Opcode::AllocDynamic:
    case Opcode::Barrier:
    case Opcode::Call:
    case Opcode::Jump:
    case Opcode::Br:
    case Opcode::Ret:
      return std::nullopt;
  }
  if (result && (fastMath & ir::kFlushSubnormals) && isSubnormal(to, *result)) return std::nullopt;
  return result;
}

std::optional<uint64_t> foldOperation(const ir::Operation& op) {
  const unsigned n = op.operandCount();
  if (n == 0 || n > 3 || !op.result()) return std::nullopt;
  uint64_t bits[3];
  for (unsigned i = 0; i < n; ++i) {
    const ir::Operation* c = ir::asConst(op.operand(i));
    if (!c) return std::nullopt;
    bits[i] = c->constBits();
  }
  if (op.opcode() == Opcode::Encode) {
    const ir::NarrowAttr narrow = op.narrow();
    return scalar::encode(floatKind(op.operand(0)->type()), narrow.format, narrow.saturate,
                          bits[0]);
  }
  if (op.opcode() == Opcode::Decode) {
    return scalar::decode(op.narrow().format, floatKind(op.resultType()), bits[0]);
  }
  return foldOperation(op.opcode(), op.operand(n - 1)->type(), op.resultType(), op.fastMath(),
                       {bits, n});
}

}  // namespace mtlc::transforms
