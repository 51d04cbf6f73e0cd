#include "mtlc/interp/init_bits.h"

#include <bit>

#include "mtlc/support/float_format.h"
#include "mtlc/support/scalar_ops.h"

namespace mtlc::interp {
namespace {

using ir::Opcode;

// The least and greatest value that a choice of the uninitialised bits gives, as unsigned numbers.
uint64_t least(const Reg& r) { return r.bits & ~r.uninit; }
uint64_t greatest(const Reg& r) { return r.bits | r.uninit; }

// The same value as a signed number of width w, biased so that unsigned comparison orders it.
Reg biased(unsigned w, const Reg& r) { return {r.bits ^ scalar::signBit(w), r.uninit}; }

// All bits from the lowest uninitialised one up: carries only travel up.
uint64_t upward(uint64_t uninit) { return uninit | (uint64_t{0} - uninit); }

// A sum's bit varies if an input bit does or the carry into it does, and the carries are extreme
// for the extreme operands (Bit-precise definedness: Seward and Nethercote, 2005, §2.5).
uint64_t ofSum(const Reg& a, const Reg& b) {
  return a.uninit | b.uninit | ((least(a) + least(b)) ^ (greatest(a) + greatest(b)));
}
uint64_t ofDifference(const Reg& a, const Reg& b) {
  return a.uninit | b.uninit | ((least(a) - greatest(b)) ^ (greatest(a) - least(b)));
}

uint64_t ofProduct(const Reg& a, const Reg& b) {
  if (greatest(a) == 0 || greatest(b) == 0) return 0;
  // A known power of two is a shift, and trailing zeros of either operand stay zeros.
  if (a.uninit == 0 && std::has_single_bit(a.bits)) return b.uninit << std::countr_zero(a.bits);
  if (b.uninit == 0 && std::has_single_bit(b.bits)) return a.uninit << std::countr_zero(b.bits);
  int zerosA = std::countr_zero(greatest(a));
  int zerosB = std::countr_zero(greatest(b));
  // Bit i of the product depends on a's bits up to i - zerosB, and the same for b.
  uint64_t fromA = a.uninit != 0 ? upward(a.uninit) << zerosB : 0;
  uint64_t fromB = b.uninit != 0 ? upward(b.uninit) << zerosA : 0;
  return fromA | fromB;
}

uint64_t ofAnd(const Reg& a, const Reg& b) {
  return (a.uninit & greatest(b)) | (b.uninit & greatest(a));
}
uint64_t ofOr(const Reg& a, const Reg& b) {
  return (a.uninit & ~least(b)) | (b.uninit & ~least(a));
}

// Shifts by an initialised amount move the marks with the bits.
uint64_t ofShift(const Inst& inst, const Reg& a, const Reg& amount, uint64_t all) {
  const unsigned w = inst.width;
  if ((amount.uninit & (w - 1)) != 0) return greatest(a) == 0 ? 0 : all;
  switch (inst.opcode) {
    case Opcode::Shl:
      return scalar::shl(w, a.uninit, amount.bits);
    case Opcode::LShr:
      return scalar::lshr(w, a.uninit, amount.bits);
    default:
      return scalar::ashr(w, a.uninit, amount.bits);
  }
}

uint64_t ofEquality(const Reg& a, const Reg& b) {
  // A known difference decides it.
  return ((a.bits ^ b.bits) & ~(a.uninit | b.uninit)) != 0 ? 0 : 1;
}
// a < b, or a > b, as unsigned numbers: known when it is so, or not so, for all choices.
uint64_t ofStrict(const Reg& a, const Reg& b) {
  return greatest(a) < least(b) || least(a) >= greatest(b) ? 0 : 1;
}

// The bits that are the same in all values from `low` to `high`.
uint64_t varying(uint64_t low, uint64_t high) {
  uint64_t difference = low ^ high;
  return difference == 0 ? 0 : ~uint64_t{0} >> std::countl_zero(difference);
}
// Minimum and maximum of unsigned numbers: the one operand if it is known to win.
uint64_t ofMin(const Reg& a, const Reg& b) {
  if (greatest(a) <= least(b)) return a.uninit;
  if (greatest(b) <= least(a)) return b.uninit;
  uint64_t low = least(a) < least(b) ? least(a) : least(b);
  uint64_t high = greatest(a) < greatest(b) ? greatest(a) : greatest(b);
  return varying(low, high);
}
uint64_t ofMax(const Reg& a, const Reg& b) {
  if (greatest(a) <= least(b)) return b.uninit;
  if (greatest(b) <= least(a)) return a.uninit;
  uint64_t low = least(a) < least(b) ? least(b) : least(a);
  uint64_t high = greatest(a) < greatest(b) ? greatest(b) : greatest(a);
  return varying(low, high);
}

// Unsigned division grows with its first operand and falls with its second.
uint64_t ofQuotient(const Reg& a, const Reg& b, uint64_t all) {
  if (least(b) == 0) return all;
  return varying(least(a) / greatest(b), greatest(a) / least(b));
}
uint64_t ofRemainder(const Reg& a, const Reg& b, uint64_t all) {
  if (least(b) == 0) return all;
  if (b.uninit == 0 && std::has_single_bit(b.bits)) return a.uninit & (b.bits - 1);
  return varying(0, greatest(b) - 1);
}
// Signed operations on numbers that are known not to be negative are the unsigned ones.
bool nonNegative(unsigned w, const Reg& r) { return (greatest(r) & scalar::signBit(w)) == 0; }

// A code has at most eight bits: tries all choices.
uint64_t ofDecode(const Inst& inst, const Reg& code) {
  const FloatKind kind = static_cast<FloatKind>(static_cast<int>(inst.resultType) -
                                                static_cast<int>(ir::TypeKind::F16));
  auto decoded = [&](uint64_t bits) {
    return scalar::decode(inst.op->narrow().format, kind, bits & 0xFF);
  };
  const uint64_t first = decoded(least(code));
  uint64_t varies = 0;
  for (uint64_t choice = code.uninit & 0xFF; choice != 0; choice = (choice - 1) & code.uninit) {
    varies |= decoded(least(code) | choice) ^ first;
  }
  return varies;
}

}  // namespace

uint64_t uninitBits(const Inst& inst, const Reg& a, const Reg& b, const Reg& c) {
  const unsigned w = inst.width;
  const uint64_t all = inst.resultWidth == 0 ? 0 : scalar::mask(inst.resultWidth);
  if ((a.uninit | b.uninit | c.uninit) == 0) return 0;
  // Of one value with itself, some operations know the result whatever the bits are.
  const bool same = inst.a == inst.b;
  switch (inst.opcode) {
    case Opcode::Add:
      return ofSum(a, b) & all;
    case Opcode::Sub:
      return same ? 0 : ofDifference(a, b) & all;
    case Opcode::Neg:
      return ofDifference(b, a) & all;  // b is the zero of slot 0.
    case Opcode::Mul:
      return ofProduct(a, b) & all;
    case Opcode::PtrAdd:
      return ofSum(a, {b.bits * inst.imm, ofProduct(b, {inst.imm, 0})});
    case Opcode::And:
      return ofAnd(a, b);
    case Opcode::Or:
      return ofOr(a, b);
    case Opcode::Xor:
      return same ? 0 : a.uninit | b.uninit;
    case Opcode::Shl:
    case Opcode::LShr:
    case Opcode::AShr:
      return ofShift(inst, a, b, all);

    case Opcode::UMin:
      return ofMin(a, b);
    case Opcode::UMax:
      return ofMax(a, b);
    case Opcode::SMin:
      return ofMin(biased(w, a), biased(w, b));
    case Opcode::SMax:
      return ofMax(biased(w, a), biased(w, b));

    case Opcode::UDiv:
      return ofQuotient(a, b, all);
    case Opcode::URem:
      return ofRemainder(a, b, all);
    case Opcode::SDiv:
      return nonNegative(w, a) && nonNegative(w, b) ? ofQuotient(a, b, all) : all;
    case Opcode::SRem:
      return nonNegative(w, a) && nonNegative(w, b) ? ofRemainder(a, b, all) : all;
    case Opcode::UMulHi:
      return varying(scalar::umulhi(w, least(a), least(b)),
                     scalar::umulhi(w, greatest(a), greatest(b)));
    case Opcode::Abs:
      return nonNegative(w, a) ? a.uninit : all;
    case Opcode::Clz:
      return varying(scalar::clz(w, greatest(a)), scalar::clz(w, least(a)));
    case Opcode::Popcount:
      return varying(scalar::popcount(w, least(a)), scalar::popcount(w, greatest(a)));

    // Every bit of a signed high half may change, and so may everything in floating point.
    case Opcode::SMulHi:
    case Opcode::FAdd:
    case Opcode::FSub:
    case Opcode::FMul:
    case Opcode::FDiv:
    case Opcode::Fma:
    case Opcode::FSqrt:
    case Opcode::FMin:
    case Opcode::FMax:
    case Opcode::FMinNan:
    case Opcode::FMaxNan:
    case Opcode::FFloor:
    case Opcode::FCeil:
    case Opcode::FTrunc:
    case Opcode::FRound:
    case Opcode::FRoundEven:
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
    case Opcode::FConv:
    case Opcode::FToSI:
    case Opcode::FToUI:
    case Opcode::SIToF:
    case Opcode::UIToF:
      return all;

    case Opcode::Encode:
      return scalar::mask(floatFormatInfo(inst.op->narrow().format).storageBits);
    case Opcode::Decode:
      return ofDecode(inst, a);

    case Opcode::FNeg:
    case Opcode::Bitcast:
    case Opcode::PtrToInt:
    case Opcode::IntToPtr:
    case Opcode::SpaceCast:
      return a.uninit;
    case Opcode::FAbs:
      return a.uninit & ~scalar::signBit(w);

    case Opcode::CmpEq:
    case Opcode::CmpNe:
      return same ? 0 : ofEquality(a, b);
    case Opcode::CmpUlt:
    case Opcode::CmpUge:
      return same ? 0 : ofStrict(a, b);
    case Opcode::CmpUgt:
    case Opcode::CmpUle:
      return same ? 0 : ofStrict(b, a);
    case Opcode::CmpSlt:
    case Opcode::CmpSge:
      return same ? 0 : ofStrict(biased(w, a), biased(w, b));
    case Opcode::CmpSgt:
    case Opcode::CmpSle:
      return same ? 0 : ofStrict(biased(w, b), biased(w, a));

    case Opcode::Select:
      if (c.uninit == 0) return c.bits != 0 ? a.uninit : b.uninit;
      return a.uninit | b.uninit | (a.bits ^ b.bits);

    case Opcode::Trunc:
      return a.uninit & all;
    case Opcode::ZExt:
      return a.uninit;
    case Opcode::SExt:
      return scalar::sext(w, inst.resultWidth, a.uninit);

    case Opcode::ThreadId:
    case Opcode::BlockId:
    case Opcode::BlockDim:
    case Opcode::GridDim:
    case Opcode::AllocWorkgroup:
    case Opcode::AllocPrivate:
    case Opcode::AllocDynamic:
    case Opcode::SubgroupLocalId:
    case Opcode::SubgroupSize:
      return 0;

    case Opcode::Fence:
    case Opcode::AtomicLoad:
    case Opcode::AtomicStore:
    case Opcode::AtomicRmw:
    case Opcode::AtomicCas:
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
    case Opcode::Const:
    case Opcode::Load:
    case Opcode::Store:
    case Opcode::Barrier:
    case Opcode::Call:
    case Opcode::Jump:
    case Opcode::Br:
    case Opcode::Ret:
      break;  // Excluded by the contract.
  }
  return all;
}

}  // namespace mtlc::interp
