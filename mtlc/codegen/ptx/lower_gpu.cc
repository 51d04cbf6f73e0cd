// Fences, atomics and subgroup operations.
//
// A seq_cst access is `fence.sc` and then the acquire form, or the relaxed store (PTX ISA, "Memory
// Consistency Model"). Before sm_70 there are no orders: accesses are volatile or atomic, and
// membar stands where an order needs it. Subgroup operations are warp instructions over the lanes
// that exist: the last warp of a workgroup may be partial, and no lane has left early (device
// verifier, D06).

#include <string>
#include <string_view>

#include "mtlc/codegen/ptx/lowering.h"
#include "mtlc/codegen/ptx/match.h"

namespace mtlc::ptx {

using ir::CombineKind;
using ir::MemoryOrder;
using ir::Opcode;
using ir::Operation;
using ir::Type;
using ir::Value;

namespace {

constexpr uint32_t kLaneIdRegister = 12;  // In the printer's table of special registers.

MemScope memScope(ir::Scope scope) {
  switch (scope) {
    case ir::Scope::WorkItem:
    case ir::Scope::Subgroup:
    case ir::Scope::Workgroup:
      return MemScope::Cta;
    case ir::Scope::Device:
      return MemScope::Gpu;
    case ir::Scope::System:
      break;
  }
  return MemScope::Sys;
}

MemOrder memOrder(MemoryOrder order) {
  switch (order) {
    case MemoryOrder::Relaxed:
      return MemOrder::Relaxed;
    case MemoryOrder::Acquire:
    case MemoryOrder::SeqCst:  // After a fence.sc.
      return MemOrder::Acquire;
    case MemoryOrder::Release:
      return MemOrder::Release;
    case MemoryOrder::AcqRel:
      break;
  }
  return MemOrder::AcqRel;
}

// One order for both outcomes of an exchange.
MemoryOrder strongest(MemoryOrder success, MemoryOrder failure) {
  if (failure == MemoryOrder::SeqCst) return MemoryOrder::SeqCst;
  if (failure != MemoryOrder::Acquire) return success;
  if (success == MemoryOrder::Relaxed) return MemoryOrder::Acquire;
  return success == MemoryOrder::Release ? MemoryOrder::AcqRel : success;
}

// What combines with any value to that value.
uint64_t identityOf(CombineKind kind) {
  switch (kind) {
    case CombineKind::SMin:
      return 0x7FFFFFFF;
    case CombineKind::SMax:
      return 0x80000000;
    case CombineKind::UMin:
      return 0xFFFFFFFF;
    default:
      return 0;
  }
}

}  // namespace

void FunctionLowering::emitFence(MemoryOrder order, ir::Scope scope) {
  if (!profile_.has(PtxFeature::MemoryModel)) {
    constexpr std::string_view kMembar[] = {"membar.cta", "membar.gl", "membar.sys"};
    appendGrouped(std::string(kMembar[static_cast<int>(memScope(scope))]), {});
    return;
  }
  MachineInst& fence = append(MachineOp::Fence, PtxType::None, Opnd(), {});
  fence.order = order == MemoryOrder::SeqCst ? MemOrder::Sc : MemOrder::AcqRel;
  fence.scope = memScope(scope);
}

void FunctionLowering::lowerFence(Operation& op) { emitFence(op.fence().order, op.fence().scope); }

void FunctionLowering::lowerAtomic(Operation& op) {
  const ir::AtomicAttr attr = op.atomic();
  const Type type = op.elemType();
  const bool cas = op.form() == ir::Form::AtomicCas;
  const MemoryOrder order = cas ? strongest(attr.order, attr.failureOrder) : attr.order;
  const Address at = leadsToPrivate(op.operand(0))
                         ? Address{StateSpace::Generic, false, useReg(op.operand(0)), 0}
                         : address(op.operand(0));
  std::vector<Opnd> values;
  for (unsigned i = 1; i < op.operandCount(); ++i) values.push_back(useReg(op.operand(i)));
  const bool hasOrders = profile_.has(PtxFeature::MemoryModel);
  const bool releases = order == MemoryOrder::Release || order == MemoryOrder::AcqRel;
  const bool acquires = order == MemoryOrder::Acquire || order == MemoryOrder::AcqRel;
  if (order == MemoryOrder::SeqCst || (!hasOrders && releases)) emitFence(order, attr.scope);
  auto finish = [&](MachineInst& inst) {
    inst.mod = static_cast<uint8_t>(at.space);
    inst.offset = at.offset;
    inst.order = memOrder(order);
    inst.scope = memScope(attr.scope);
    if (hasOrders) return;
    const bool plain = inst.op == MachineOp::Ld || inst.op == MachineOp::St;
    inst.isVolatile = plain;
    inst.order = plain ? MemOrder::None : MemOrder::ScopeOnly;
  };
  // What follows an access that has no order of its own.
  auto fenceAfter = [&] {
    if (!hasOrders && (order == MemoryOrder::SeqCst || acquires)) emitFence(order, attr.scope);
  };
  if (op.form() == ir::Form::AtomicLoad) {
    Opnd dst = newReg(classOf(type));
    finish(append(MachineOp::Ld, bitsType(type), dst, {at.base}));
    define(op, dst);
    return fenceAfter();
  }
  if (op.form() == ir::Form::AtomicStore) {
    MachineInst& store = append(MachineOp::St, bitsType(type), Opnd(), {at.base, values[0]});
    finish(store);
    if (order == MemoryOrder::SeqCst && hasOrders) store.order = MemOrder::Relaxed;
    return fenceAfter();
  }
  const bool wide = type.bits() == 64;
  const PtxType bits = wide ? PtxType::B64 : PtxType::B32;
  const PtxType asUnsigned = wide ? PtxType::U64 : PtxType::U32;
  const PtxType asSigned = wide ? PtxType::S64 : PtxType::S32;
  AtomOp atom = AtomOp::Cas;
  PtxType as = bits;
  if (!cas) {
    switch (attr.kind) {
      case CombineKind::Sub:
        values[0] = emit(MachineOp::Neg, asSigned, classOf(type), {values[0]});
        [[fallthrough]];
      case CombineKind::Add:
        atom = AtomOp::Add;
        as = asUnsigned;
        break;
      case CombineKind::SMin:
      case CombineKind::UMin:
        atom = AtomOp::Min;
        as = attr.kind == CombineKind::SMin ? asSigned : asUnsigned;
        break;
      case CombineKind::SMax:
      case CombineKind::UMax:
        atom = AtomOp::Max;
        as = attr.kind == CombineKind::SMax ? asSigned : asUnsigned;
        break;
      case CombineKind::And:
        atom = AtomOp::And;
        break;
      case CombineKind::Or:
        atom = AtomOp::Or;
        break;
      case CombineKind::Xor:
        atom = AtomOp::Xor;
        break;
      case CombineKind::Exchange:
        atom = AtomOp::Exch;
        break;
      case CombineKind::FAdd:
      case CombineKind::FMin:  // Refused by the verifier [V24].
      case CombineKind::FMax:
        atom = AtomOp::Add;
        as = wide ? PtxType::F64 : PtxType::F32;
        break;
    }
  }
  const bool used = info(op.result()).uses != 0;
  // red has no acquire: nothing is read that could be ordered. It has no exchange either.
  const bool reduction = !used && !cas && atom != AtomOp::Exch &&
                         (order == MemoryOrder::Relaxed || order == MemoryOrder::Release);
  Opnd dst = reduction ? Opnd() : newReg(classOf(type));
  MachineInst& inst =
      cas ? append(MachineOp::Atom, as, dst, {at.base, values[0], values[1]})
          : append(reduction ? MachineOp::Red : MachineOp::Atom, as, dst, {at.base, values[0]});
  finish(inst);
  inst.atom = atom;
  if (!reduction) define(op, dst);
  fenceAfter();
}

// ---- Subgroups ----

Opnd FunctionLowering::laneId() {
  Opnd& known = special_[kLaneIdRegister];
  if (!known.isNone()) return known;
  Opnd value = emit(MachineOp::Mov, PtxType::U32, RegClass::B32, {Opnd::special(kLaneIdRegister)});
  if (inEntry_) known = value;
  return value;
}

// In the entry block, which dominates every use.
void FunctionLowering::computeWarpMask() {
  auto special = [&](uint32_t which) {
    Opnd& known = special_[which];
    if (known.isNone()) {
      known = emit(MachineOp::Mov, PtxType::U32, RegClass::B32, {Opnd::special(which)});
    }
    return known;
  };
  auto mad = [&](Opnd a, Opnd b, Opnd c) {
    return emit(MachineOp::MadLo, PtxType::S32, RegClass::B32, {a, b, c});
  };
  Opnd tx = special(0), ty = special(1), tz = special(2);
  Opnd nx = special(6), ny = special(7), nz = special(8);
  Opnd linear = mad(mad(tz, ny, ty), nx, tx);
  Opnd plane = emit(MachineOp::MulLo, PtxType::S32, RegClass::B32, {nx, ny});
  Opnd total = emit(MachineOp::MulLo, PtxType::S32, RegClass::B32, {plane, nz});
  Opnd first = emit(MachineOp::Sub, PtxType::S32, RegClass::B32, {linear, laneId()});
  Opnd rest = emit(MachineOp::Sub, PtxType::S32, RegClass::B32, {total, first});
  warpLanes_ = emit(MachineOp::Min, PtxType::S32, RegClass::B32, {rest, imm(32)});
  Opnd missing = emit(MachineOp::Sub, PtxType::S32, RegClass::B32, {imm(32), warpLanes_});
  Opnd all = emit(MachineOp::Mov, PtxType::B32, RegClass::B32, {imm(0xFFFFFFFF)});
  warpMask_ = emit(MachineOp::Shr, PtxType::U32, RegClass::B32, {all, missing});
}

Opnd FunctionLowering::shuffle(MachineOp mop, RegClass cls, Opnd value, Opnd lane, Opnd clamp) {
  return emit(mop, PtxType::B32, cls, {value, lane, clamp, warpMask_});
}

void FunctionLowering::lowerShuffle(Operation& op) {
  const Value* v = op.operand(0);
  const Type type = v->type();
  Opnd lane = useReg(op.operand(1));
  if (op.opcode() == Opcode::SubgroupShuffle) {
    // A lane that does not exist gives the own value: lanes count from 0, so one comparison does.
    Opnd exists = emitSetp(CmpOp::Lo, PtxType::U32, lane, warpLanes_);
    lane = emit(MachineOp::Selp, PtxType::B32, RegClass::B32, {lane, laneId(), exists});
  }
  auto move = [&](RegClass cls, Opnd x) {
    return shuffle(MachineOp::ShflIdx, cls, x, lane, imm(31));
  };
  Opnd x = useReg(v);
  switch (classOf(type)) {
    case RegClass::B32:
    case RegClass::F32:
      return define(op, move(classOf(type), x));
    case RegClass::B16: {
      Opnd wide = emitCvt(Round::None, PtxType::U32, PtxType::U16, RegClass::B32, x);
      return define(op, emitCvt(Round::None, PtxType::U16, PtxType::U32, RegClass::B16,
                                move(RegClass::B32, wide)));
    }
    default:
      break;
  }
  if (type == ir::kF64) x = emit(MachineOp::Mov, PtxType::B64, RegClass::B64, {x});
  Opnd low = emitCvt(Round::None, PtxType::U32, PtxType::U64, RegClass::B32, x);
  Opnd upper = emit(MachineOp::Shr, PtxType::U64, RegClass::B64, {x, imm(32)});
  Opnd high = emitCvt(Round::None, PtxType::U32, PtxType::U64, RegClass::B32, upper);
  low = move(RegClass::B32, low);
  high = move(RegClass::B32, high);
  Opnd wideLow = emitCvt(Round::None, PtxType::U64, PtxType::U32, RegClass::B64, low);
  Opnd wideHigh = emitCvt(Round::None, PtxType::U64, PtxType::U32, RegClass::B64, high);
  wideHigh = emit(MachineOp::Shl, PtxType::B64, RegClass::B64, {wideHigh, imm(32)});
  Opnd value = emit(MachineOp::Or, PtxType::B64, RegClass::B64, {wideLow, wideHigh});
  if (type == ir::kF64) value = emit(MachineOp::Mov, PtxType::B64, RegClass::F64, {value});
  define(op, value);
}

Opnd FunctionLowering::combine(CombineKind kind, Opnd a, Opnd b) {
  switch (kind) {
    case CombineKind::FAdd:
      return emit(MachineOp::AddRn, PtxType::F32, RegClass::F32, {a, b});
    case CombineKind::FMin:
      return emit(MachineOp::Min, PtxType::F32, RegClass::F32, {a, b});
    case CombineKind::FMax:
      return emit(MachineOp::Max, PtxType::F32, RegClass::F32, {a, b});
    case CombineKind::SMin:
      return emit(MachineOp::Min, PtxType::S32, RegClass::B32, {a, b});
    case CombineKind::SMax:
      return emit(MachineOp::Max, PtxType::S32, RegClass::B32, {a, b});
    case CombineKind::UMin:
      return emit(MachineOp::Min, PtxType::U32, RegClass::B32, {a, b});
    case CombineKind::UMax:
      return emit(MachineOp::Max, PtxType::U32, RegClass::B32, {a, b});
    default:
      return emit(MachineOp::Add, PtxType::S32, RegClass::B32, {a, b});
  }
}

void FunctionLowering::lowerReduce(Operation& op) {
  const CombineKind kind = op.combineKind();
  const RegClass cls = classOf(op.resultType());
  const PtxType bits = cls == RegClass::F32 ? PtxType::F32 : PtxType::B32;
  Opnd value = useReg(op.operand(0));
  auto select = [&](Opnd condition, Opnd yes, Opnd no) {
    return emit(MachineOp::Selp, bits, cls, {yes, no, condition});
  };
  if (op.opcode() == Opcode::SubgroupReduce) {
    if (cls == RegClass::B32 && profile_.has(PtxFeature::Redux)) {
      const bool isSigned = kind == CombineKind::SMin || kind == CombineKind::SMax;
      const MachineOp mop = kind == CombineKind::Add ? MachineOp::ReduxAdd
                            : kind == CombineKind::SMin || kind == CombineKind::UMin
                                ? MachineOp::ReduxMin
                                : MachineOp::ReduxMax;
      return define(op, emit(mop, isSigned ? PtxType::S32 : PtxType::U32, cls, {value, warpMask_}));
    }
    // Lane i takes in lane i + step while that one exists; lane 0 ends up with everything.
    for (unsigned step = 16; step > 0; step /= 2) {
      Opnd other = emit(MachineOp::Add, PtxType::S32, RegClass::B32, {laneId(), imm(step)});
      Opnd exists = emitSetp(CmpOp::Lo, PtxType::U32, other, warpLanes_);
      Opnd from = emit(MachineOp::Selp, PtxType::B32, RegClass::B32, {other, laneId(), exists});
      Opnd got = shuffle(MachineOp::ShflIdx, cls, value, from, imm(31));
      value = select(exists, combine(kind, value, got), value);
    }
    return define(op, shuffle(MachineOp::ShflIdx, cls, value, imm(0), imm(31)));
  }
  for (unsigned step = 1; step < 32; step *= 2) {
    Opnd got = shuffle(MachineOp::ShflUp, cls, value, imm(step), imm(0));
    Opnd exists = emitSetp(CmpOp::Hs, PtxType::U32, laneId(), imm(step));
    value = select(exists, combine(kind, got, value), value);
  }
  if (op.opcode() == Opcode::SubgroupScanExclusive) {
    Opnd before = shuffle(MachineOp::ShflUp, cls, value, imm(1), imm(0));
    Opnd first = emitSetp(CmpOp::Eq, PtxType::S32, laneId(), imm(0));
    value = select(first, imm(identityOf(kind)), before);
  }
  define(op, value);
}

void FunctionLowering::lowerBallot(Operation& op) {
  Opnd mask =
      emit(MachineOp::VoteBallot, PtxType::B32, RegClass::B32, {usePred(op.operand(0)), warpMask_});
  Opnd word = useReg(op.operand(1));
  Opnd first = emitSetp(CmpOp::Eq, PtxType::S32, word, imm(0));
  define(op, emit(MachineOp::Selp, PtxType::B32, RegClass::B32, {mask, imm(0), first}));
}

void FunctionLowering::lowerVote(Operation& op) {
  const MachineOp mop =
      op.opcode() == Opcode::SubgroupAny ? MachineOp::VoteAny : MachineOp::VoteAll;
  define(op, emit(mop, PtxType::Pred, RegClass::Pred, {usePred(op.operand(0)), warpMask_}));
}

}  // namespace mtlc::ptx
