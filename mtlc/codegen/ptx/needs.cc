// The first pass of the lowering: what every operation takes, from the last to the first.

#include "mtlc/codegen/ptx/lowering.h"
#include "mtlc/codegen/ptx/match.h"
#include "mtlc/codegen/ptx/tensor_lowering.h"

namespace mtlc::ptx {

using ir::Opcode;
using ir::Operation;
using ir::Value;

// One look at everything: numbers the values, declares the arrays, finds out which pointers take 32
// bits. False if there is an operation that has to be expanded first, which there is not if the
// function is `legalized`.
bool FunctionLowering::scan(bool legalized) {
  bool* narrow = narrowPointers_;
  for (int i = 0; i < ir::kSpaceCount; ++i) narrow[i] = false;
  narrow[static_cast<int>(ir::Space::Workgroup)] = true;
  narrow[static_cast<int>(ir::Space::Private)] = true;
  out_->symbols.emplace_back();  // The launch-sized arena.
  workgroupBytes_ = privateBytes_ = 0;
  needsWarpMask_ = false;
  transferBarrier_ = 0;
  std::vector<const Operation*> unlowered;
  uint32_t next = 0;
  for (ir::Block* block : layout_.order()) {
    for (Value* arg : block->args()) arg->scratch = next++;
    for (Operation& op : block->ops()) {
      if (Value* result = op.result()) result->scratch = next++;
      switch (op.form()) {
        case ir::Form::Alloc:
        case ir::Form::AllocDynamic:
          declareArray(op);
          break;
        case ir::Form::Unary:
        case ir::Form::Binary:
          if (op.info().has(ir::OpTrait::Math) && !targetInfo_.isNative(op)) return false;
          break;
        case ir::Form::Encode:
        case ir::Form::Decode:
          if (!legalized) return false;
          break;
        // Legalised, with the module.
        case ir::Form::AsyncCopy:
        case ir::Form::AsyncCommit:
        case ir::Form::AsyncWait:
          break;
        case ir::Form::Transfer:
          prepareTransfer(op);
          break;
        case ir::Form::Mma:
        case ir::Form::Epilogue:
          // Those on tiles have tiles for results.
          if (op.resultType().kind() != ir::TypeKind::Tile) unlowered.push_back(&op);
          break;
        case ir::Form::FuncAddr:
        case ir::Form::CallIndirect:
        case ir::Form::Launch:
          unlowered.push_back(&op);
          break;
        case ir::Form::Barrier:
          needsWarpMask_ |= op.opcode() == Opcode::SubgroupBarrier;
          break;
        case ir::Form::SubgroupLane:
        case ir::Form::SubgroupReduce:
        case ir::Form::SubgroupBallot:
        case ir::Form::SubgroupVote:
          needsWarpMask_ = true;
          break;
        case ir::Form::Compare:
        case ir::Form::Cast:
        case ir::Form::Load:
        case ir::Form::Store:
        case ir::Form::Call:
        case ir::Form::Return:
          observePointers(op);
          break;
        default:
          break;
      }
    }
  }
  for (const Operation* op : unlowered) {
    diags_.report(DiagId::PtxNoLowering, op->loc(), {op->info().mnemonic});
  }
  values_.assign(next, ValueInfo());
  checkArrays();
  return true;
}

// Pointers into workgroup and private memory are computed in 32 bits when all that is done with
// them is stepping, selecting and accessing: an access of an address of 2^32 or more is out of
// bounds anyway. Any other use could see the upper half.
void FunctionLowering::observePointers(const Operation& op) {
  auto look = [&](const Value* v) {
    if (v->type().isPtr()) narrowPointers_[static_cast<int>(v->type().space())] = false;
  };
  if (op.form() == ir::Form::Load) {
    look(op.result());
    return;
  }
  if (op.form() == ir::Form::Store) {
    look(op.operand(0));
    return;
  }
  for (const ir::Use& use : op.uses()) look(use.value());
  if (op.result() != nullptr) look(op.result());
}

void FunctionLowering::collectNeeds() {
  for (auto block = layout_.order().rbegin(); block != layout_.order().rend(); ++block) {
    for (Operation* op = (*block)->back(); op != nullptr; op = op->prev()) {
      const Value* result = op->result();
      if (result != nullptr && info(result).uses == 0 && ir::isDroppable(*op)) continue;
      needOp(*op);
    }
  }
  propagateDemands();
}

void FunctionLowering::needAddress(const Value* pointer) {
  AddressMatch m = matchAddress(pointer);
  if (asArray(m.base) == nullptr) need(m.base);
}

void FunctionLowering::needPtrAdd(Operation& op) {
  need(op.operand(0));
  PtrIndex index = matchPtrIndex(op);
  switch (index.kind) {
    case PtrIndex::Kind::Constant:
      break;
    case PtrIndex::Kind::Widened:
      need(index.source, index.isSigned ? kExtSign : kExtZero);
      break;
    case PtrIndex::Kind::Product:
    case PtrIndex::Kind::General:
      need(op.operand(1));
      break;
  }
}

void FunctionLowering::needAdd(Operation& op) {
  MulAdd m = matchMulAdd(op);
  switch (m.kind) {
    case MulAdd::Kind::None:
      need(op.operand(0));
      need(op.operand(1));
      return;
    case MulAdd::Kind::Low:
      need(m.a);
      if (m.b != nullptr) need(m.b);
      break;
    case MulAdd::Kind::Wide:
    case MulAdd::Kind::WidenOnly: {
      uint8_t ext = m.wide.isSigned ? kExtSign : kExtZero;
      need(m.wide.a, ext);
      if (m.wide.b != nullptr) need(m.wide.b, ext);
      break;
    }
  }
  need(m.addend);
}

// An integer conversion or comparison that looks at the upper bits of its first operand.
void FunctionLowering::needExtended(Operation& op) {
  const Value* source = op.operand(0);
  // cvt to 64 bits reads a narrow source by itself.
  bool cvtExtends = op.resultType() == ir::kI64;
  uint8_t ext = op.opcode() == Opcode::SExt ? kExtSign : kExtZero;
  need(source, cvtExtends ? uint8_t{kExtNone} : ext);
}

void FunctionLowering::needOp(Operation& op) {
  auto needAll = [&](uint8_t demand = kExtNone) {
    for (const ir::Use& use : op.uses()) need(use.value(), demand);
  };
  switch (op.opcode()) {
    case Opcode::Add:
      needAdd(op);
      break;
    case Opcode::Mul:
    case Opcode::Shl:
      if (WideProduct p = matchWideProduct(op)) {
        uint8_t ext = p.isSigned ? kExtSign : kExtZero;
        need(p.a, ext);
        if (p.b != nullptr) need(p.b, ext);
      } else if (op.opcode() == Opcode::Shl) {
        need(op.operand(0));
        Amount amount = matchAmount(op.operand(1), op.resultType().bits());
        if (!amount.constant) need(amount.value);
      } else {
        needAll();
      }
      break;
    case Opcode::LShr:
    case Opcode::AShr: {
      need(op.operand(0), op.opcode() == Opcode::LShr ? kExtZero : kExtSign);
      Amount amount = matchAmount(op.operand(1), op.resultType().bits());
      if (!amount.constant) need(amount.value);
      break;
    }
    case Opcode::SMulHi:
    case Opcode::SDiv:
    case Opcode::SRem:
    case Opcode::SMin:
    case Opcode::SMax:
    case Opcode::Abs:
    case Opcode::CmpSlt:
    case Opcode::CmpSle:
    case Opcode::CmpSgt:
    case Opcode::CmpSge:
      needAll(kExtSign);
      break;
    case Opcode::UMulHi:
    case Opcode::UDiv:
    case Opcode::URem:
    case Opcode::UMin:
    case Opcode::UMax:
    case Opcode::Clz:
    case Opcode::Popcount:
    case Opcode::CmpUlt:
    case Opcode::CmpUle:
    case Opcode::CmpUgt:
    case Opcode::CmpUge:
      needAll(kExtZero);
      break;
    case Opcode::CmpEq:
    case Opcode::CmpNe:
      needAll(kExtSame);
      break;
    case Opcode::And:
    case Opcode::Or:
      if (op.resultType().isBool()) {
        if (ComparePair pair = matchComparePair(op)) {
          needOp(*pair.compare);
          need(pair.other);
          break;
        }
      }
      needAll();
      break;
    case Opcode::FAdd:
    case Opcode::FSub:
      if (Contraction c = matchContraction(op)) {
        need(c.product->operand(0));
        need(c.product->operand(1));
        need(c.addend);
      } else {
        needAll();
      }
      break;
    case Opcode::SExt:
    case Opcode::ZExt:
      needExtended(op);
      break;
    case Opcode::PtrAdd:
      needPtrAdd(op);
      break;
    case Opcode::Load:
      needAddress(op.operand(0));
      break;
    case Opcode::Store:
      need(op.operand(0));
      needAddress(op.operand(1));
      break;
    case Opcode::Jump:
    case Opcode::Br: {
      if (op.opcode() == Opcode::Br) need(op.operand(0));
      for (ir::Successor& s : op.successors()) {
        for (unsigned i = 0; i < s.argCount(); ++i) {
          if (s.block()->arg(i)->hasUses()) need(op.operand(s.firstArg() + i));
        }
      }
      break;
    }
    case Opcode::AtomicLoad:
    case Opcode::AtomicStore:
    case Opcode::AtomicRmw:
    case Opcode::AtomicCas:
      if (leadsToPrivate(op.operand(0))) {
        need(op.operand(0));
      } else {
        needAddress(op.operand(0));
      }
      for (unsigned i = 1; i < op.operandCount(); ++i) need(op.operand(i));
      break;
    case Opcode::Fence:
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
      needAll();
      break;
    case Opcode::AsyncCopy:
      needAddress(op.operand(0));
      needAddress(op.operand(1));
      break;
    case Opcode::TensorTransfer:
      needTransfer(op);
      break;
    case Opcode::AsyncCommit:
    case Opcode::AsyncWait:
      break;
    case Opcode::Encode:
    case Opcode::Decode:
      needAll();
      break;
    case Opcode::TensorMma:
    case Opcode::TensorMatmul:
    case Opcode::TensorEpilogue:
    case Opcode::FuncAddr:
    case Opcode::CallIndirect:
    case Opcode::Launch:
    case Opcode::LaunchStatus:
      break;  // Refused by scan().
    case Opcode::TensorAccBegin:
    case Opcode::TensorAccMma:
    case Opcode::TensorAccEpilogue:
    case Opcode::TensorAccCommit:
      tensor_->need(op);
      break;
    case Opcode::Const:
    case Opcode::Sub:
    case Opcode::Neg:
    case Opcode::Xor:
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
    case Opcode::Select:
    case Opcode::Trunc:
    case Opcode::FConv:
    case Opcode::FToSI:
    case Opcode::FToUI:
    case Opcode::SIToF:
    case Opcode::UIToF:
    case Opcode::Bitcast:
    case Opcode::PtrToInt:
    case Opcode::IntToPtr:
    case Opcode::SpaceCast:
    case Opcode::ThreadId:
    case Opcode::BlockId:
    case Opcode::BlockDim:
    case Opcode::GridDim:
    case Opcode::AllocWorkgroup:
    case Opcode::AllocPrivate:
    case Opcode::AllocDynamic:
    case Opcode::Barrier:
    case Opcode::Call:
    case Opcode::Ret:
      needAll();
      break;
  }
}

// A block argument wants of what is passed for it what its own users want; round loops until
// nothing is new. Two bits can be added to each value, so the work is linear.
void FunctionLowering::propagateDemands() {
  std::vector<Value*> work;
  for (ir::Block* block : layout_.order()) {
    if (block->isEntry()) continue;
    for (Value* arg : block->args()) {
      ir::Type type = arg->type();
      if (type.isInt() && type.bits() < 32 && info(arg).demand != 0) work.push_back(arg);
    }
  }
  while (!work.empty()) {
    Value* arg = work.back();
    work.pop_back();
    ir::Block* block = arg->argBlock();
    for (ir::Successor* s = block->firstPredecessor(); s != nullptr; s = s->nextPredecessor()) {
      if (s->owner()->block()->scratch >= layout_.order().size()) continue;  // Unreachable.
      Value* passed = s->owner()->operand(s->firstArg() + arg->argIndex());
      ValueInfo& from = info(passed);
      uint8_t demand = from.demand | info(arg).demand;
      if (demand == from.demand) continue;
      from.demand = demand;
      if (passed->isBlockArg() && !passed->argBlock()->isEntry()) work.push_back(passed);
    }
  }
}

}  // namespace mtlc::ptx
