// Barriers, fences, atomics, subgroup operations.
//
// An order covers all memory (docs/ir.md §5), so the semantics of an atomic name both regions; a
// barrier orders the regions it names. A seq_cst atomic is a seq_cst fence and an acquiring or
// releasing operation: OpenCL's own, like C11's, does not order other accesses as a fence does.

#include "mtlc/codegen/spirv/lowering.h"

namespace mtlc::spirv {

using ir::CombineKind;
using ir::MemoryOrder;
using ir::Opcode;
using ir::Operation;
using ir::Type;
using ir::Value;

namespace {

constexpr uint8_t kBothRegions = ir::kRegionWorkgroup | ir::kRegionGlobal;

spv::Op atomicOp(CombineKind kind) {
  switch (kind) {
    case CombineKind::Add:
      return spv::Op::OpAtomicIAdd;
    case CombineKind::Sub:
      return spv::Op::OpAtomicISub;
    case CombineKind::SMin:
      return spv::Op::OpAtomicSMin;
    case CombineKind::SMax:
      return spv::Op::OpAtomicSMax;
    case CombineKind::UMin:
      return spv::Op::OpAtomicUMin;
    case CombineKind::UMax:
      return spv::Op::OpAtomicUMax;
    case CombineKind::And:
      return spv::Op::OpAtomicAnd;
    case CombineKind::Or:
      return spv::Op::OpAtomicOr;
    case CombineKind::Xor:
      return spv::Op::OpAtomicXor;
    case CombineKind::Exchange:
    case CombineKind::FAdd:  // Legalised to compare-exchange loops.
    case CombineKind::FMin:
    case CombineKind::FMax:
      break;
  }
  return spv::Op::OpAtomicExchange;
}

spv::Op groupOp(CombineKind kind) {
  switch (kind) {
    case CombineKind::FAdd:
      return spv::Op::OpGroupFAdd;
    case CombineKind::SMin:
      return spv::Op::OpGroupSMin;
    case CombineKind::SMax:
      return spv::Op::OpGroupSMax;
    case CombineKind::UMin:
      return spv::Op::OpGroupUMin;
    case CombineKind::UMax:
      return spv::Op::OpGroupUMax;
    default:  // Add; minima and maxima of floats are legalised.
      return spv::Op::OpGroupIAdd;
  }
}

}  // namespace

Id FunctionLowering::semantics(MemoryOrder order, uint8_t regions) {
  auto mask = spv::MemorySemanticsMask::MaskNone;
  switch (order) {
    case MemoryOrder::Relaxed:
      return out_.word(0);
    case MemoryOrder::Acquire:
      mask = spv::MemorySemanticsMask::Acquire;
      break;
    case MemoryOrder::Release:
      mask = spv::MemorySemanticsMask::Release;
      break;
    case MemoryOrder::AcqRel:
      mask = spv::MemorySemanticsMask::AcquireRelease;
      break;
    case MemoryOrder::SeqCst:
      mask = spv::MemorySemanticsMask::SequentiallyConsistent;
      break;
  }
  if (regions & ir::kRegionWorkgroup) mask = mask | spv::MemorySemanticsMask::WorkgroupMemory;
  if (regions & ir::kRegionGlobal) mask = mask | spv::MemorySemanticsMask::CrossWorkgroupMemory;
  return out_.word(static_cast<uint32_t>(mask));
}

Id FunctionLowering::scope(ir::Scope scope) {
  switch (scope) {
    case ir::Scope::WorkItem:
      return out_.word(static_cast<uint32_t>(spv::Scope::Invocation));
    case ir::Scope::Subgroup:
      return out_.word(static_cast<uint32_t>(spv::Scope::Subgroup));
    case ir::Scope::Workgroup:
      return out_.word(static_cast<uint32_t>(spv::Scope::Workgroup));
    case ir::Scope::Device:
      return out_.word(static_cast<uint32_t>(spv::Scope::Device));
    case ir::Scope::System:
      break;
  }
  return out_.word(static_cast<uint32_t>(spv::Scope::CrossDevice));
}

void FunctionLowering::barrier(Operation& op) {
  if (op.opcode() == Opcode::Fence) {
    const ir::FenceAttr attr = op.fence();
    effect(spv::Op::OpMemoryBarrier, {scope(attr.scope), semantics(attr.order, attr.regions)});
    return;
  }
  const ir::BarrierAttr attr = op.barrier();
  const Id who = scope(op.opcode() == Opcode::Barrier ? ir::Scope::Workgroup : ir::Scope::Subgroup);
  effect(spv::Op::OpControlBarrier, {who, who, semantics(attr.order, attr.regions)});
}

Id FunctionLowering::atomic(Operation& op) {
  const ir::AtomicAttr attr = op.atomic();
  const Type elem = op.elemType();
  if (elem.bits() == 64) out_.need(spv::Capability::Int64Atomics);
  const Id type = typeOf(elem);
  const Id pointer = typedPointer(op.operand(0), elem);
  const Id where = scope(attr.scope);
  MemoryOrder own = attr.order, failure = attr.failureOrder;
  if (own == MemoryOrder::SeqCst) {
    effect(spv::Op::OpMemoryBarrier, {where, semantics(own, kBothRegions)});
    own = op.opcode() == Opcode::AtomicStore ? MemoryOrder::Release : MemoryOrder::Acquire;
    if (failure == MemoryOrder::SeqCst) failure = MemoryOrder::Acquire;
  }
  const Id order = semantics(own, kBothRegions);
  switch (op.opcode()) {
    case Opcode::AtomicLoad:
      return emit(spv::Op::OpAtomicLoad, type, {pointer, where, order});
    case Opcode::AtomicStore:
      effect(spv::Op::OpAtomicStore, {pointer, where, order, use(op.operand(1))});
      return 0;
    case Opcode::AtomicCas:
      return emit(spv::Op::OpAtomicCompareExchange, type,
                  {pointer, where, order, semantics(failure, kBothRegions), use(op.operand(2)),
                   use(op.operand(1))});
    default:
      return emit(atomicOp(attr.kind), type, {pointer, where, order, use(op.operand(1))});
  }
}

Id FunctionLowering::subgroup(Operation& op) {
  const Id here = scope(ir::Scope::Subgroup);
  const Id type = typeOf(op.resultType());
  switch (op.opcode()) {
    case Opcode::SubgroupLocalId:
      return builtinWord(spv::BuiltIn::SubgroupLocalInvocationId);
    case Opcode::SubgroupSize:  // Of whole subgroups, also in a partial one.
      return builtinWord(spv::BuiltIn::SubgroupMaxSize);
    case Opcode::SubgroupBroadcast:
      out_.need(spv::Capability::Groups);
      return emit(spv::Op::OpGroupBroadcast, type, {here, use(op.operand(0)), use(op.operand(1))});
    case Opcode::SubgroupShuffle:  // The lane is a live one: see legalize.cc.
      out_.need(spv::Capability::GroupNonUniform);
      out_.need(spv::Capability::GroupNonUniformShuffle);
      return emit(spv::Op::OpGroupNonUniformShuffle, type,
                  {here, use(op.operand(0)), use(op.operand(1))});
    case Opcode::SubgroupReduce:
    case Opcode::SubgroupScanInclusive:
    case Opcode::SubgroupScanExclusive: {
      out_.need(spv::Capability::Groups);
      const spv::GroupOperation how =
          op.opcode() == Opcode::SubgroupReduce          ? spv::GroupOperation::Reduce
          : op.opcode() == Opcode::SubgroupScanInclusive ? spv::GroupOperation::InclusiveScan
                                                         : spv::GroupOperation::ExclusiveScan;
      return emit(groupOp(op.combineKind()), type,
                  {here, static_cast<uint32_t>(how), use(op.operand(0))});
    }
    case Opcode::SubgroupAny:
    case Opcode::SubgroupAll:
      out_.need(spv::Capability::Groups);
      return emit(op.opcode() == Opcode::SubgroupAny ? spv::Op::OpGroupAny : spv::Op::OpGroupAll,
                  type, {here, use(op.operand(0))});
    default:
      break;
  }
  // Ballot: four words, of which one is wanted; words past the fourth are 0.
  const Id vector = out_.vectorType(intType(32), 4);
  const Id vote = use(op.operand(0)), word = use(op.operand(1));
  Id mask = 0;
  if (out_.profile().has(kGroupNonUniform)) {
    out_.need(spv::Capability::GroupNonUniform);
    out_.need(spv::Capability::GroupNonUniformBallot);
    mask = emit(spv::Op::OpGroupNonUniformBallot, vector, {here, vote});
  } else {
    out_.need(spv::Capability::SubgroupBallotKHR);
    out_.needExtension("SPV_KHR_shader_ballot");
    mask = emit(spv::Op::OpSubgroupBallotKHR, vector, {vote});
  }
  const Id exists = emit(spv::Op::OpULessThan, boolType(), {word, constInt(32, 4)});
  const Id index = choose(type, exists, word, constInt(32, 0));
  const Id bits = emit(spv::Op::OpVectorExtractDynamic, type, {mask, index});
  return choose(type, exists, bits, constInt(32, 0));
}

}  // namespace mtlc::spirv
