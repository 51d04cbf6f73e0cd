#include "mtlc/codegen/ptx/lowering.h"

#include <utility>

#include "mtlc/codegen/ptx/match.h"
#include "mtlc/codegen/ptx/tensor_lowering.h"
#include "mtlc/transforms/expand_math.h"
#include "mtlc/transforms/expand_narrow_float.h"

namespace mtlc::ptx {

using ir::Opcode;
using ir::Operation;
using ir::Type;
using ir::TypeKind;
using ir::Value;

FunctionLowering::FunctionLowering(const PtxOptions& options, const TileFunctions& tiles,
                                   DiagnosticEngine& diags)
    : profile_(options.profile), targetInfo_(options.profile), diags_(diags), tiles_(tiles) {}
FunctionLowering::~FunctionLowering() = default;

// ---- Types ----

RegClass FunctionLowering::classOf(Type type) const {
  switch (type.kind()) {
    case TypeKind::I1:
      return RegClass::Pred;
    case TypeKind::I8:
    case TypeKind::I16:
    case TypeKind::I32:
      return RegClass::B32;
    case TypeKind::F16:
    case TypeKind::BF16:
      return RegClass::B16;
    case TypeKind::F32:
      return RegClass::F32;
    case TypeKind::F64:
      return RegClass::F64;
    case TypeKind::Ptr:
      return isNarrowPointer(type) ? RegClass::B32 : RegClass::B64;
    case TypeKind::I64:
    case TypeKind::Void:
    case TypeKind::Tile:
      break;
  }
  return RegClass::B64;
}

PtxType FunctionLowering::bitsType(Type type) const {
  switch (classOf(type)) {
    case RegClass::Pred:
      return PtxType::Pred;
    case RegClass::B16:
      return PtxType::B16;
    case RegClass::B32:
      return PtxType::B32;
    case RegClass::F32:
      return PtxType::F32;
    case RegClass::B64:
      return PtxType::B64;
    case RegClass::F64:
      return PtxType::F64;
    case RegClass::B8:
      break;  // No type of a value.
  }
  return PtxType::None;
}

PtxType FunctionLowering::signedType(Type type) const {
  return classOf(type) == RegClass::B64 ? PtxType::S64 : PtxType::S32;
}

PtxType FunctionLowering::unsignedType(Type type) const {
  return classOf(type) == RegClass::B64 ? PtxType::U64 : PtxType::U32;
}

// ---- Emission ----

Opnd FunctionLowering::imm(uint64_t bits) {
  std::vector<uint64_t>& imms = out_->imms;
  if (imms.empty() || imms.back() != bits) imms.push_back(bits);
  return Opnd::imm(static_cast<uint32_t>(imms.size() - 1));
}

MachineInst& FunctionLowering::append(MachineOp op, PtxType type, Opnd dst,
                                      std::initializer_list<Opnd> sources) {
  MachineInst& inst = out_->insts.emplace_back();
  inst.op = op;
  inst.type = type;
  inst.dst = dst;
  inst.loc = loc_;
  for (Opnd source : sources) inst.src[inst.sources++] = source;
  return inst;
}

MachineInst& FunctionLowering::appendGrouped(std::string spelling,
                                             std::initializer_list<Group> groups, bool convergent) {
  MachineInst& inst = append(MachineOp::Grouped, PtxType::U32, Opnd(), {});
  inst.offset = static_cast<int32_t>(out_->grouped.size());
  MachineGrouped& grouped = out_->grouped.emplace_back();
  grouped.spelling = std::move(spelling);
  grouped.firstGroup = static_cast<uint32_t>(out_->groups.size());
  grouped.groupCount = static_cast<uint32_t>(groups.size());
  grouped.convergent = convergent;
  for (const Group& group : groups) {
    grouped.dstGroups += group.isDestination ? 1 : 0;
    out_->groups.push_back({group.kind, static_cast<uint32_t>(out_->operands.size()),
                            static_cast<uint32_t>(group.operands.size()), group.offset});
    out_->operands.insert(out_->operands.end(), group.operands.begin(), group.operands.end());
  }
  return inst;
}

Opnd FunctionLowering::emitCvt(Round round, PtxType to, PtxType from, RegClass cls, Opnd a) {
  Opnd dst = newReg(cls);
  MachineInst& inst = append(MachineOp::Cvt, to, dst, {a});
  inst.type2 = from;
  inst.mod = static_cast<uint8_t>(round);
  return dst;
}

Opnd FunctionLowering::emitSetp(CmpOp cmp, PtxType type, Opnd a, Opnd b) {
  Opnd dst = newReg(RegClass::Pred);
  append(MachineOp::Setp, type, dst, {a, b}).mod = static_cast<uint8_t>(cmp);
  return dst;
}

Opnd FunctionLowering::emitFtz(MachineOp op, PtxType type, RegClass cls,
                               std::initializer_list<Opnd> sources, const Operation& of) {
  Opnd dst = newReg(cls);
  append(op, type, dst, sources).ftz =
      type == PtxType::F32 && (of.fastMath() & ir::kFlushSubnormals) != 0;
  return dst;
}

Opnd FunctionLowering::inReg(Opnd opnd, Type type) {
  if (opnd.isReg()) return opnd;
  if (opnd.isNotReg()) return plainPred(opnd);
  return emit(MachineOp::Mov, bitsType(type), classOf(type), {opnd});
}

Opnd FunctionLowering::useReg(const Value* v) { return inReg(use(v), v->type()); }

Opnd FunctionLowering::extend(Opnd reg, Type type, ExtMask ext) {
  if (ext == kExtZero) {
    return emit(MachineOp::And, PtxType::B32, RegClass::B32, {reg, imm(type.mask())});
  }
  return emitCvt(Round::None, PtxType::S32, type == ir::kI8 ? PtxType::S8 : PtxType::S16,
                 RegClass::B32, reg);
}

Opnd FunctionLowering::useExt(const Value* v, ExtMask ext) {
  const ValueInfo& i = info(v);
  Type type = v->type();
  if (i.opnd.isImm()) {
    // Immediates are kept zero-extended.
    if (ext != kExtSign || type.bits() >= 32) return i.opnd;
    uint64_t bits = out_->imms[i.opnd.index()];
    return imm(static_cast<uint64_t>(ir::signExtend(bits, type.bits())) & 0xFFFFFFFF);
  }
  if (!type.isInt() || type.bits() >= 32 || (i.state & ext) != 0) return i.opnd;
  return extend(i.opnd, type, ext);
}

Opnd FunctionLowering::notPred(Opnd opnd) {
  if (opnd.isImm()) return imm(out_->imms[opnd.index()] ^ 1);
  return opnd.inverted();
}

Opnd FunctionLowering::plainPred(Opnd opnd) {
  if (opnd.isReg()) return opnd;
  if (opnd.isNotReg()) {
    return emit(MachineOp::Not, PtxType::Pred, RegClass::Pred, {opnd.inverted()});
  }
  return emit(MachineOp::Mov, PtxType::Pred, RegClass::Pred, {opnd});
}

Opnd FunctionLowering::usePred(const Value* v) { return plainPred(use(v)); }

void FunctionLowering::defineValue(const Value* v, Opnd opnd, uint8_t state) {
  ValueInfo& i = info(v);
  Type type = v->type();
  if (type.isInt() && type.bits() < 32 && !opnd.isImm() && (i.demand & ~state) != 0 &&
      (i.demand & kExtBoth) != 0) {
    // Asked for both, it is zero-extended here and sign-extended at those uses.
    bool zeroDone = (state & kExtZero) != 0, wantsZero = (i.demand & kExtZero) != 0;
    if (wantsZero && !zeroDone) {
      opnd = extend(opnd, type, kExtZero);
      state = kExtZero;
    } else if (!wantsZero && (state & kExtSign) == 0) {
      opnd = extend(opnd, type, kExtSign);
      state = kExtSign;
    }
  }
  i.opnd = opnd;
  i.state = state;
}

void FunctionLowering::define(const Operation& op, Opnd opnd, uint8_t state) {
  defineValue(op.result(), opnd, state);
}

// ---- Function ----

void FunctionLowering::lower(ir::Function& function, std::string_view symbolPrefix,
                             MachineFunction& out) {
  function_ = &function;
  out_ = &out;
  symbolPrefix_ = symbolPrefix;
  out.clear();
  tensor_.reset();
  if (tiles_.functions.contains(&function)) {
    // First: its analyses number the blocks their way.
    tensor_ = std::make_unique<TensorLowering>(*this);
    if (!tensor_->prepare(function, diags_)) return;
  }
  layout_.compute(function);
  if (!scan(/*legalized=*/false)) {
    transforms::expandMath(function, &targetInfo_);
    transforms::expandNarrowFloat(function, &targetInfo_);
    out.clear();
    layout_.compute(function);
    scan(/*legalized=*/true);
  }
  if (tensor_ != nullptr) {
    order_.compute(function, layout_.order(), *tensor_, tiles_);
  }
  collectNeeds();
  for (Opnd& s : special_) s = Opnd();

  // Registers of block arguments first: edges refer to them before their block is reached.
  out.blocks.resize(layout_.order().size());
  for (ir::Block* block : layout_.order()) {
    out.firstBlockArg.push_back(static_cast<uint32_t>(out.blockArgs.size()));
    if (block->isEntry()) continue;
    for (Value* arg : block->args()) {
      if (!arg->hasUses()) continue;
      if (arg->type().kind() == TypeKind::Tile) {
        for (Opnd part : tensor_->makeArg(arg)) out.blockArgs.push_back(part.index());
        continue;
      }
      ValueInfo& i = info(arg);
      i.opnd = newReg(classOf(arg->type()));
      Type type = arg->type();
      if (type.isInt() && type.bits() < 32 && i.demand != 0) {
        i.state = (i.demand & kExtBoth) == kExtSign ? kExtSign : kExtZero;
      }
      out.blockArgs.push_back(i.opnd.index());
    }
  }
  out.firstBlockArg.push_back(static_cast<uint32_t>(out.blockArgs.size()));
  for (uint32_t b = 0; b < layout_.order().size(); ++b) lowerBlock(*layout_.order()[b], b);
}

void FunctionLowering::lowerBlock(ir::Block& block, uint32_t index) {
  MachineBlock& machine = out_->blocks[index];
  machine.firstInst = static_cast<uint32_t>(out_->insts.size());
  machine.loopDepth = layout_.loopDepth(index);
  inEntry_ = block.isEntry();
  if (inEntry_) {
    lowerParams();
    if (needsWarpMask_) computeWarpMask();
    if (tensor_ != nullptr && tensor_->usesLanes()) tensor_->computeLanes();
  }
  if (tensor_ != nullptr) order_.enterBlock(index);
  for (Operation& op : block.ops()) {
    loc_ = op.loc();
    if (tensor_ != nullptr && order_.before(op)) {
      append(MachineOp::BarWarpSync, PtxType::None, Opnd(), {imm(0xFFFFFFFF)});
    }
    if (op.isTerminator()) {
      lowerTerminator(op, machine);
      break;
    }
    const Value* result = op.result();
    if (result != nullptr && info(result).uses == 0 && ir::isDroppable(op)) continue;
    lowerOp(op);
  }
  machine.endInst = static_cast<uint32_t>(out_->insts.size());
}

void FunctionLowering::lowerParams() {
  loc_ = function_->loc();
  bool kernel = function_->isKernel();
  auto load = [&](unsigned p, PtxType type, RegClass cls) {
    Opnd dst = newReg(cls);
    append(MachineOp::LdParam, type, dst, {}).offset = static_cast<int32_t>(p);
    return dst;
  };
  std::vector<Opnd> loaded(function_->paramCount());
  for (unsigned p = 0; p < function_->paramCount(); ++p) {
    const Value* param = function_->param(p);
    if (info(param).uses == 0) continue;
    Type type = param->type();
    if (type.isBool() || (type.isInt() && type.bits() < 32)) {
      PtxType loadType = PtxType::B32;  // Functions.
      bool asSigned = (info(param).demand & kExtBoth) == kExtSign;
      if (kernel && type == ir::kI16) {
        loadType = asSigned ? PtxType::S16 : PtxType::U16;
      } else if (kernel) {
        loadType = asSigned ? PtxType::S8 : PtxType::U8;
      }
      loaded[p] = load(p, loadType, RegClass::B32);
    } else if (type.isPtr()) {
      loaded[p] = load(p, kernel ? PtxType::U64 : PtxType::B64, RegClass::B64);
    } else if (kernel && type.isInt()) {
      loaded[p] = load(p, unsignedType(type), classOf(type));
    } else {
      loaded[p] = load(p, bitsType(type), classOf(type));
    }
  }
  for (unsigned p = 0; p < function_->paramCount(); ++p) {
    const Value* param = function_->param(p);
    if (loaded[p].isNone()) continue;
    Type type = param->type();
    Opnd value = loaded[p];
    uint8_t state = kExtNone;
    if (type.isBool()) {
      value = emitSetp(CmpOp::Ne, PtxType::S32, value, imm(0));
    } else if (isNarrowPointer(type)) {
      value = emitCvt(Round::None, PtxType::U32, PtxType::U64, RegClass::B32, value);
    } else if (kernel && type.isPtr() &&
               (type.space() == ir::Space::Global || type.space() == ir::Space::Constant)) {
      // The driver passes generic addresses.
      value = newReg(RegClass::B64);
      MachineInst& inst = append(MachineOp::Cvta, PtxType::U64, value, {loaded[p]});
      inst.mod = static_cast<uint8_t>(StateSpace::Global);
      inst.toSpace = true;
    } else if (kernel && type.isInt() && type.bits() < 32) {
      state = (info(param).demand & kExtBoth) == kExtSign ? kExtSign : kExtZero;
    }
    defineValue(param, value, state);
  }
}

void FunctionLowering::lowerEdge(const ir::Successor& successor, MachineEdge& edge) {
  ir::Block* target = successor.block();
  edge.target = target->scratch;
  edge.firstCopy = static_cast<uint32_t>(out_->copies.size());
  for (unsigned a = 0; a < successor.argCount(); ++a) {
    Value* arg = target->arg(a);
    if (!arg->hasUses()) continue;
    const Value* passed = successor.owner()->successorArg(successor.index(), a);
    if (arg->type().kind() == TypeKind::Tile) {
      const std::span<const Opnd> to = tensor_->parts(arg), from = tensor_->parts(passed);
      for (size_t i = 0; i < to.size(); ++i) out_->copies.push_back({to[i].index(), from[i]});
      continue;
    }
    const ValueInfo& to = info(arg);
    Opnd source = use(passed);
    if ((to.state & kExtBoth) != 0) {
      source = useExt(passed, static_cast<ExtMask>(to.state));
    } else if (arg->type().isBool() && !source.isImm()) {
      source = plainPred(source);
    }
    out_->copies.push_back({to.opnd.index(), source});
  }
  edge.copyCount = static_cast<uint32_t>(out_->copies.size()) - edge.firstCopy;
}

void FunctionLowering::lowerTerminator(Operation& op, MachineBlock& block) {
  block.termLoc = op.loc();
  switch (op.opcode()) {
    case Opcode::Jump:
      block.term = Term::Jump;
      lowerEdge(op.successor(0), block.edges[0]);
      return;
    case Opcode::Br: {
      Opnd cond = use(op.operand(0));
      if (cond.isImm()) {
        block.term = Term::Jump;
        lowerEdge(op.successor((out_->imms[cond.index()] & 1) != 0 ? 0 : 1), block.edges[0]);
        return;
      }
      block.term = Term::Branch;
      block.cond = cond;
      lowerEdge(op.successor(0), block.edges[0]);
      lowerEdge(op.successor(1), block.edges[1]);
      return;
    }
    default: {  // Ret
      block.term = Term::Ret;
      if (op.operandCount() == 0) return;
      const Value* v = op.operand(0);
      Opnd value = use(v);
      PtxType type = bitsType(v->type());
      if (v->type().isBool()) {
        value = value.isImm() ? value
                              : emit(MachineOp::Selp, PtxType::B32, RegClass::B32,
                                     {imm(value.isReg() ? 1 : 0), imm(value.isReg() ? 0 : 1),
                                      Opnd::reg(value.index())});
        type = PtxType::B32;
      }
      append(MachineOp::StRetval, type, Opnd(),
             {inReg(value, v->type().isBool() ? ir::kI32 : v->type())});
      return;
    }
  }
}

void FunctionLowering::lowerOp(Operation& op) {
  switch (op.opcode()) {
    case Opcode::Const:
      define(op, imm(op.constBits()), kExtNone);
      return;
    case Opcode::Add:
      return lowerAdd(op);
    case Opcode::Sub:
      return define(op, emit(MachineOp::Sub, signedType(op.resultType()), classOf(op.resultType()),
                             {use(op.operand(0)), use(op.operand(1))}));
    case Opcode::Mul:
      return lowerMul(op);
    case Opcode::SMulHi:
      return lowerMulHi(op, true);
    case Opcode::UMulHi:
      return lowerMulHi(op, false);
    case Opcode::SDiv:
      return lowerDivision(op, true, false);
    case Opcode::UDiv:
      return lowerDivision(op, false, false);
    case Opcode::SRem:
      return lowerDivision(op, true, true);
    case Opcode::URem:
      return lowerDivision(op, false, true);
    case Opcode::Neg:
      return define(op, emit(MachineOp::Neg, signedType(op.resultType()), classOf(op.resultType()),
                             {use(op.operand(0))}));
    case Opcode::And:
    case Opcode::Or:
    case Opcode::Xor:
      return op.resultType().isBool() ? lowerBoolLogic(op) : lowerBitwise(op);
    case Opcode::Shl:
    case Opcode::LShr:
    case Opcode::AShr:
      return lowerShift(op);
    case Opcode::SMin:
      return lowerMinMax(op, MachineOp::Min, true);
    case Opcode::SMax:
      return lowerMinMax(op, MachineOp::Max, true);
    case Opcode::UMin:
      return lowerMinMax(op, MachineOp::Min, false);
    case Opcode::UMax:
      return lowerMinMax(op, MachineOp::Max, false);
    case Opcode::Abs:
      return lowerAbs(op);
    case Opcode::Clz:
      return lowerCount(op, MachineOp::Clz);
    case Opcode::Popcount:
      return lowerCount(op, MachineOp::Popc);
    case Opcode::FAdd:
    case Opcode::FSub:
    case Opcode::FMul:
      return lowerFloatArith(op);
    case Opcode::FDiv:
    case Opcode::FSqrt:
      return lowerFloatDivSqrt(op);
    case Opcode::Fma:
      return lowerFma(op);
    case Opcode::FNeg:
    case Opcode::FAbs:
      return lowerSignBit(op);
    case Opcode::FMin:
    case Opcode::FMax:
    case Opcode::FMinNan:
    case Opcode::FMaxNan:
      return lowerFloatMinMax(op);
    case Opcode::FFloor:
    case Opcode::FCeil:
    case Opcode::FTrunc:
    case Opcode::FRound:
    case Opcode::FRoundEven:
      return lowerRounding(op);
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
      return lowerMath(op);
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
      return lowerCompare(op);
    case Opcode::Select:
      return lowerSelect(op);
    case Opcode::Trunc:
      return lowerTrunc(op);
    case Opcode::SExt:
    case Opcode::ZExt:
      return lowerIntCast(op);
    case Opcode::FConv:
      return lowerFConv(op);
    case Opcode::FToSI:
      return lowerFloatToInt(op, true);
    case Opcode::FToUI:
      return lowerFloatToInt(op, false);
    case Opcode::SIToF:
      return lowerIntToFloat(op, true);
    case Opcode::UIToF:
      return lowerIntToFloat(op, false);
    case Opcode::Bitcast:
      return lowerBitcast(op);
    case Opcode::PtrToInt:
    case Opcode::IntToPtr:
    case Opcode::SpaceCast:
      return lowerPointerCast(op);
    case Opcode::ThreadId:
    case Opcode::BlockId:
    case Opcode::BlockDim:
    case Opcode::GridDim:
      return lowerGpuIndex(op);
    case Opcode::PtrAdd:
      return lowerPtrAdd(op);
    case Opcode::Load:
      return lowerLoad(op);
    case Opcode::Store:
      return lowerStore(op);
    case Opcode::AllocWorkgroup:
    case Opcode::AllocPrivate:
    case Opcode::AllocDynamic:
      return lowerAlloc(op);
    case Opcode::Fence:
      return lowerFence(op);
    case Opcode::AtomicLoad:
    case Opcode::AtomicStore:
    case Opcode::AtomicRmw:
    case Opcode::AtomicCas:
      return lowerAtomic(op);
    case Opcode::SubgroupLocalId:
      return define(op, laneId());
    case Opcode::SubgroupSize:
      return define(op, imm(32));
    case Opcode::SubgroupBroadcast:
    case Opcode::SubgroupShuffle:
      return lowerShuffle(op);
    case Opcode::SubgroupReduce:
    case Opcode::SubgroupScanInclusive:
    case Opcode::SubgroupScanExclusive:
      return lowerReduce(op);
    case Opcode::SubgroupBarrier:
      append(MachineOp::BarWarpSync, PtxType::None, Opnd(), {warpMask_});
      return;
    case Opcode::SubgroupBallot:
      return lowerBallot(op);
    case Opcode::SubgroupAny:
    case Opcode::SubgroupAll:
      return lowerVote(op);
    case Opcode::AsyncCopy:
      return lowerAsyncCopy(op);
    case Opcode::AsyncCommit:
      appendGrouped("cp.async.commit_group", {});
      return;
    case Opcode::AsyncWait:
      appendGrouped("cp.async.wait_group", {plain(imm(op.waitCount()))});
      return;
    case Opcode::TensorTransfer:
      return lowerTransfer(op);
    case Opcode::Encode:
      return lowerEncode(op);
    case Opcode::Decode:
      return lowerDecode(op);
    case Opcode::TensorMma:
    case Opcode::TensorMatmul:
    case Opcode::TensorEpilogue:
    case Opcode::FuncAddr:
    case Opcode::CallIndirect:
    case Opcode::Launch:
    case Opcode::LaunchStatus:
      return;  // Refused by scan().
    case Opcode::TensorAccBegin:
    case Opcode::TensorAccMma:
    case Opcode::TensorAccEpilogue:
    case Opcode::TensorAccCommit:
      return tensor_->lower(op);
    case Opcode::Barrier:
      append(MachineOp::BarSync, PtxType::None, Opnd(), {});
      return;
    case Opcode::Call:
      return lowerCall(op);
    case Opcode::Jump:
    case Opcode::Br:
    case Opcode::Ret:
      return;  // lowerTerminator
  }
}

}  // namespace mtlc::ptx
