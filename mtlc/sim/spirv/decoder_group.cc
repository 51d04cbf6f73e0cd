// Barriers, fences, and what the threads of a group do together.
//
// Memory semantics name kinds of memory; here an order holds for all of it, as in PTX. So a barrier
// that names too little is not found.

#include <algorithm>

#include "mtlc/sim/spirv/decoder_impl.h"

namespace mtlc::sim::spirv {
namespace {

Scope scopeOf(uint32_t scope) {
  switch (static_cast<spv::Scope>(scope)) {
    case spv::Scope::CrossDevice:
      return Scope::sys;
    case spv::Scope::Device:
      return Scope::gpu;
    default:
      return Scope::cta;
  }
}

Order orderOf(uint32_t semantics) {
  auto has = [&](spv::MemorySemanticsMask m) {
    return (semantics & static_cast<uint32_t>(m)) != 0;
  };
  if (has(spv::MemorySemanticsMask::SequentiallyConsistent)) return Order::sc;
  bool acquire = has(spv::MemorySemanticsMask::Acquire);
  bool release = has(spv::MemorySemanticsMask::Release);
  if (has(spv::MemorySemanticsMask::AcquireRelease) || (acquire && release)) return Order::acqRel;
  return acquire ? Order::acquire : release ? Order::release : Order::relaxed;
}

// A reduction or scan: how it combines what.
struct Combine {
  GroupCombine combine;
  GroupValue value;
};

bool combineOf(spv::Op op, Combine& out) {
  using spv::Op;
  using C = GroupCombine;
  using V = GroupValue;
  switch (op) {
    case Op::OpGroupIAdd:
    case Op::OpGroupNonUniformIAdd:
      out = {C::add, V::unsignedInt};
      return true;
    case Op::OpGroupFAdd:
    case Op::OpGroupNonUniformFAdd:
      out = {C::add, V::floating};
      return true;
    case Op::OpGroupNonUniformIMul:
      out = {C::mul, V::unsignedInt};
      return true;
    case Op::OpGroupNonUniformFMul:
      out = {C::mul, V::floating};
      return true;
    case Op::OpGroupFMin:
    case Op::OpGroupNonUniformFMin:
      out = {C::min, V::floating};
      return true;
    case Op::OpGroupUMin:
    case Op::OpGroupNonUniformUMin:
      out = {C::min, V::unsignedInt};
      return true;
    case Op::OpGroupSMin:
    case Op::OpGroupNonUniformSMin:
      out = {C::min, V::signedInt};
      return true;
    case Op::OpGroupFMax:
    case Op::OpGroupNonUniformFMax:
      out = {C::max, V::floating};
      return true;
    case Op::OpGroupUMax:
    case Op::OpGroupNonUniformUMax:
      out = {C::max, V::unsignedInt};
      return true;
    case Op::OpGroupSMax:
    case Op::OpGroupNonUniformSMax:
      out = {C::max, V::signedInt};
      return true;
    case Op::OpGroupNonUniformBitwiseAnd:
      out = {C::bitAnd, V::unsignedInt};
      return true;
    case Op::OpGroupNonUniformBitwiseOr:
      out = {C::bitOr, V::unsignedInt};
      return true;
    case Op::OpGroupNonUniformBitwiseXor:
      out = {C::bitXor, V::unsignedInt};
      return true;
    case Op::OpGroupNonUniformLogicalAnd:
      out = {C::bitAnd, V::boolean};
      return true;
    case Op::OpGroupNonUniformLogicalOr:
      out = {C::bitOr, V::boolean};
      return true;
    case Op::OpGroupNonUniformLogicalXor:
      out = {C::bitXor, V::boolean};
      return true;
    default:
      return false;
  }
}

bool isUniformOp(spv::Op op) { return op >= spv::Op::OpGroupAll && op <= spv::Op::OpGroupSMax; }

}  // namespace

bool FunctionDecoder::memorySemantics(Id scopeId, Id semanticsId, uint8_t& order,
                                      uint8_t& scopeOut) {
  uint32_t scope, semantics;
  if (!b_.constantWord(scopeId, scope) || !b_.constantWord(semanticsId, semantics)) {
    return refuse("scopes and memory semantics that are no constants");
  }
  order = static_cast<uint8_t>(orderOf(semantics));
  scopeOut = static_cast<uint8_t>(scopeOf(scope));
  return true;
}

void FunctionDecoder::fence(uint8_t order, uint8_t scope) {
  Instr in;
  in.op = Op::fence;
  in.orderScope = static_cast<uint8_t>(order | scope << 4);
  in.row = k_.lane("fence.acq_rel.gpu").row;
  emit(in);
}

void FunctionDecoder::workgroupBarrier() {
  BarrierSite site;
  site.id = constant32(0);
  Instr in;
  in.op = Op::barrier;
  in.flags = kUniform;
  in.row = k_.lane("bar.sync").row;
  in.ext = static_cast<uint32_t>(p_.barriers.size());
  p_.barriers.push_back(site);
  emit(in);
}

bool FunctionDecoder::barrier(const Inst& in) {
  uint32_t execution;
  uint8_t order, scope;
  if (!b_.constantWord(in.operands[0], execution)) {
    return refuse("scopes and memory semantics that are no constants");
  }
  if (!memorySemantics(in.operands[1], in.operands[2], order, scope)) return false;
  bool fences =
      order > static_cast<uint8_t>(Order::relaxed) && scope > static_cast<uint8_t>(Scope::cta);
  if (fences) fence(order, scope);
  switch (static_cast<spv::Scope>(execution)) {
    case spv::Scope::Invocation:
      break;
    case spv::Scope::Workgroup:
      workgroupBarrier();
      break;
    case spv::Scope::Subgroup: {
      // Within a warp a barrier of its lanes; across warps a numbered one.
      Ref wide = laneTo(Bank::pred, "setp.gt.u32",
                        {special(Special::subgroupMaxSize), constant32(kLanes)});
      uint32_t toWide = static_cast<uint32_t>(p_.code.size());
      Instr branch;
      branch.op = Op::branch;
      branch.guard = wide;
      branch.flags = kCountsAsNothing;
      emit(branch);
      const LaneOp& sync = k_.lane("bar.warp.sync");
      Instr lanes;
      lanes.op = Op::collective;
      lanes.fn = sync.fn;
      lanes.imm = sync.imm;
      lanes.row = sync.row;
      lanes.ext = kNoRef;
      lanes.src[0] = special(Special::subgroupMask);
      lanes.size = 0;
      emit(lanes);
      uint32_t toEnd = static_cast<uint32_t>(p_.code.size());
      branch.guard = kNoRef;
      emit(branch);
      p_.code[toWide].target = static_cast<uint32_t>(p_.code.size());
      BarrierSite site;
      site.id = special(Special::subgroupBarrier);
      site.count = special(Special::subgroupThreads);
      site.subgroup = true;
      Instr warps;
      warps.op = Op::barrier;
      warps.flags = kUniform;
      warps.row = k_.lane("bar.sync").row;
      warps.ext = static_cast<uint32_t>(p_.barriers.size());
      p_.barriers.push_back(site);
      emit(warps);
      Instr join;
      join.op = Op::join;
      join.flags = kCountsAsNothing;
      emit(join);
      p_.code[toEnd].target = static_cast<uint32_t>(p_.code.size());
      break;
    }
    default:
      return refuse("barriers of more than a work-group");
  }
  if (fences) fence(order, scope);
  return true;
}

// Validators do not look at the types of OpGroup… and of some extensions' instructions.
bool FunctionDecoder::groupTypesFit(const Inst& in, const GroupSite& site,
                                    const std::vector<Scalar>& operand) {
  const std::vector<Scalar>* result = scalarsOf(in.type);
  if (result == nullptr || result->empty()) return false;
  auto all = [](const std::vector<Scalar>& list, Kind kind, unsigned bits) {
    return std::all_of(list.begin(), list.end(),
                       [&](const Scalar& s) { return s.kind == kind && s.bits == bits; });
  };
  Kind kind = operand[0].kind;
  if (!all(operand, kind, operand[0].bits)) return false;
  switch (site.op) {
    case GroupOp::all:
    case GroupOp::any:
    case GroupOp::allEqual:
      return (site.op == GroupOp::allEqual || (kind == Kind::boolean && operand.size() == 1)) &&
             result->size() == 1 && (*result)[0].kind == Kind::boolean;
    case GroupOp::ballot:
      return kind == Kind::boolean && operand.size() == 1 && all(*result, Kind::integer, 32);
    case GroupOp::reduce:
    case GroupOp::inclusiveScan:
    case GroupOp::exclusiveScan: {
      Kind wanted = site.value == GroupValue::boolean    ? Kind::boolean
                    : site.value == GroupValue::floating ? Kind::floating
                                                         : Kind::integer;
      return kind == wanted && result->size() == operand.size() &&
             all(*result, kind, operand[0].bits);
    }
    default:
      return result->size() == operand.size() && all(*result, kind, operand[0].bits);
  }
}

bool FunctionDecoder::emitGroup(const Inst& in, GroupSite site, Id valueId, Id indexId) {
  if (valueId != 0) {
    const Value* v = value(valueId);
    const std::vector<Scalar>* list = scalarsOf(b_.def(valueId).type);
    if (v == nullptr || list == nullptr || list->empty()) return false;
    if (!groupTypesFit(in, site, *list)) return refuse("a group operation on this type");
    site.values = *v;
    site.bits = static_cast<uint8_t>((*list)[0].bits);
    if ((*list)[0].kind == Kind::boolean) site.value = GroupValue::boolean;
    if (site.op == GroupOp::allEqual && (*list)[0].kind == Kind::floating) {
      site.value = GroupValue::floating;
    }
  }
  if (indexId != 0) {
    const Value* v = value(indexId);
    if (v == nullptr) return false;
    const Type& t = elementType(b_.def(indexId).type);
    if (t.kind != Kind::integer) return refuse("a group operation with this index");
    unsigned bits = t.bits;
    Value parts = *v;
    for (size_t i = 0; i < parts.size() && i < site.index.size(); ++i) {
      site.index[i] = bits < 32 ? widened(parts[i], bits, false, 32) : parts[i];
    }
  }
  const Value* result = define(in);
  if (result == nullptr) return false;
  site.results = *result;
  Instr out;
  out.op = Op::group;
  out.row = k_.lane("redux.sync.add.u32").row;
  out.ext = static_cast<uint32_t>(p_.groups.size());
  p_.groups.push_back(std::move(site));
  emit(out);
  return true;
}

// Numbers about a ballot that a thread has: no exchange.
bool FunctionDecoder::ballotQuery(const Inst& in) {
  bool counts = in.op == spv::Op::OpGroupNonUniformBallotBitCount;
  const Value* v = value(in.operands[counts ? 2 : 1]);
  if (v == nullptr || v->size() < 2) return false;
  Value words = *v;
  Ref low = scratch(Bank::r64), high = scratch(Bank::r64);
  emitMove(MoveKind::zeroExtend, low, words[0]);
  emitMove(MoveKind::zeroExtend, high, words[1]);
  high = laneTo(Bank::r64, "shl.b64", {high, constant32(32)});
  Ref bits = laneTo(Bank::r64, "or.b64", {low, high});
  auto belowBit = [&](Ref distance) {
    Ref bit = laneTo(Bank::r64, "shl.b64", {constant64(1), distance});
    return laneTo(Bank::r64, "sub.s64", {bit, constant64(1)});
  };
  Ref lane32 = special(Special::subgroupLane);
  Ref inGroup = laneTo(Bank::r64, "and.b64", {bits, belowBit(special(Special::subgroupSize))});
  auto put = [&](Ref r) {
    const Value* to = define(in);
    if (to == nullptr) return false;
    Ref dst = (*to)[0];
    if (refBank(dst) == Bank::r64) {
      emitMove(MoveKind::zeroExtend, dst, r);
    } else {
      move(dst, r);
    }
    return true;
  };
  switch (in.op) {
    case spv::Op::OpGroupNonUniformInverseBallot:
    case spv::Op::OpGroupNonUniformBallotBitExtract: {
      Ref at = lane32;
      if (in.op == spv::Op::OpGroupNonUniformBallotBitExtract) {
        const Value* index = value(in.operands[2]);
        if (index == nullptr) return false;
        at = asWord((*index)[0], {Kind::integer, typeOfValue(in.operands[2]).bits, 0}, false);
      }
      Ref shifted = laneTo(Bank::r64, "shr.u64", {bits, at});
      Ref one = laneTo(Bank::r64, "and.b64", {shifted, constant64(1)});
      const Value* to = define(in);
      return to != nullptr && lane("setp.ne.u64", (*to)[0], {one, constant64(0)});
    }
    case spv::Op::OpGroupNonUniformBallotFindLSB: {
      Ref reversed = laneTo(Bank::r64, "brev.b64", {inGroup});
      return put(laneTo(Bank::r32, "clz.b64", {reversed}));
    }
    case spv::Op::OpGroupNonUniformBallotFindMSB: {
      Ref n = laneTo(Bank::r32, "clz.b64", {inGroup});
      return put(laneTo(Bank::r32, "sub.s32", {constant32(63), n}));
    }
    default:
      break;
  }
  Ref counted = inGroup;
  switch (static_cast<spv::GroupOperation>(in.operands[1])) {
    case spv::GroupOperation::Reduce:
      break;
    case spv::GroupOperation::InclusiveScan: {
      Ref next = laneTo(Bank::r32, "add.s32", {lane32, constant32(1)});
      counted = laneTo(Bank::r64, "and.b64", {inGroup, belowBit(next)});
      break;
    }
    case spv::GroupOperation::ExclusiveScan:
      counted = laneTo(Bank::r64, "and.b64", {inGroup, belowBit(lane32)});
      break;
    default:
      return refuse("this group operation");
  }
  return put(laneTo(Bank::r32, "popc.b64", {counted}));
}

// `scoped`: the first operand is the scope.
bool FunctionDecoder::groupOperation(const Inst& in, GroupSite site, size_t first, bool scoped) {
  site.uniform = isUniformOp(in.op);
  if (scoped) {
    uint32_t scope;
    if (!b_.constantWord(in.operands[0], scope)) return refuse("scopes that are no constants");
    switch (static_cast<spv::Scope>(scope)) {
      case spv::Scope::Subgroup:
        break;
      case spv::Scope::Workgroup:
        site.wholeBlock = true;
        break;
      default:
        return refuse("group operations of this scope");
    }
  }
  Id valueId = first < in.operands.size() ? in.operands[first] : 0;
  bool indexed = site.op == GroupOp::broadcast || site.op == GroupOp::shuffle ||
                 site.op == GroupOp::shuffleXor || site.op == GroupOp::shuffleUp ||
                 site.op == GroupOp::shuffleDown;
  Id indexId = indexed && first + 1 < in.operands.size() ? in.operands[first + 1] : 0;
  return emitGroup(in, std::move(site), valueId, indexId);
}

// async_work_group_copy: the work-items copy, each every so many elements.
bool FunctionDecoder::asyncCopy(const Inst& in) {
  std::optional<Place> to = place(in.operands[1]);
  std::optional<Place> from = place(in.operands[2]);
  const Value* n = value(in.operands[3]);
  if (!to || !from || n == nullptr) return false;
  Ref count = (*n)[0];
  unsigned countBits = typeOfValue(in.operands[3]).bits;
  if (countBits < 64) count = widened(count, countBits, false, 64);
  const Value* s = value(in.operands[4]);
  if (s == nullptr) return false;
  Ref stride = (*s)[0];
  unsigned strideBits = typeOfValue(in.operands[4]).bits;
  if (strideBits < 64) stride = widened(stride, strideBits, false, 64);
  Id elementId = typeOfValue(in.operands[1]).element;
  const Type& element = b_.type(elementId);
  const std::vector<Scalar>* list = scalarsOf(elementId);
  if (list == nullptr) return false;
  Ref size = constant64(alignUp(element.size, std::max<uint64_t>(element.align, 1)));
  Ref i = scratch(Bank::r64);
  emitMove(MoveKind::zeroExtend, i, special(Special::localLinear));
  Ref xy = laneTo(Bank::r32, "mul.lo.u32", {special(Special::ntidX), special(Special::ntidY)});
  Ref threads = laneTo(Bank::r32, "mul.lo.u32", {xy, special(Special::ntidZ)});
  Ref step = scratch(Bank::r64);
  emitMove(MoveKind::zeroExtend, step, threads);
  Instr join;
  join.op = Op::join;
  join.flags = kCountsAsNothing;
  emit(join);
  uint32_t top = static_cast<uint32_t>(p_.code.size());
  Ref done = laneTo(Bank::pred, "setp.ge.u64", {i, count});
  uint32_t leave = static_cast<uint32_t>(p_.code.size());
  Instr branch;
  branch.op = Op::branch;
  branch.guard = done;
  emit(branch);
  Ref far = laneTo(Bank::r64, "mul.lo.u64", {i, stride});
  bool toShared = to->space == Space::shared;
  Place t = *to, f = *from;
  t.base = laneTo(Bank::r64, "mad.lo.u64", {toShared ? i : far, size, t.base});
  f.base = laneTo(Bank::r64, "mad.lo.u64", {toShared ? far : i, size, f.base});
  Value v;
  for (const Scalar& scalar : *list) v.push_back(scratchFor(scalar));
  if (!loadValue(f, elementId, 0, false, v) || !storeValue(t, elementId, 0, false, v)) return false;
  lane("add.s64", i, {i, step});
  branch.guard = kNoRef;
  branch.target = top;
  emit(branch);
  p_.code[leave].target = static_cast<uint32_t>(p_.code.size());
  alias(in, {constant64(0)});
  return true;
}

bool FunctionDecoder::group(const Inst& in, bool& known) {
  known = true;
  using spv::Op;
  auto site = [](GroupOp op) {
    GroupSite s;
    s.op = op;
    return s;
  };
  Combine combine;
  if (combineOf(in.op, combine)) {
    GroupSite s;
    s.combine = combine.combine;
    s.value = combine.value;
    switch (static_cast<spv::GroupOperation>(in.operands[1])) {
      case spv::GroupOperation::Reduce:
        s.op = GroupOp::reduce;
        break;
      case spv::GroupOperation::InclusiveScan:
        s.op = GroupOp::inclusiveScan;
        break;
      case spv::GroupOperation::ExclusiveScan:
        s.op = GroupOp::exclusiveScan;
        break;
      case spv::GroupOperation::ClusteredReduce:
        s.op = GroupOp::reduce;
        if (in.operands.size() < 4 || !b_.constantWord(in.operands[3], s.cluster) ||
            s.cluster == 0) {
          return refuse("this cluster size");
        }
        break;
      default:
        return refuse("this group operation");
    }
    return groupOperation(in, std::move(s), 2, true);
  }
  switch (in.op) {
    case Op::OpControlBarrier:
      return barrier(in);
    case Op::OpMemoryBarrier: {
      uint8_t order, scope;
      if (!memorySemantics(in.operands[0], in.operands[1], order, scope)) return false;
      if (order > static_cast<uint8_t>(Order::relaxed)) fence(order, scope);
      return true;
    }
    case Op::OpGroupAll:
    case Op::OpGroupNonUniformAll:
      return groupOperation(in, site(GroupOp::all), 1, true);
    case Op::OpGroupAny:
    case Op::OpGroupNonUniformAny:
      return groupOperation(in, site(GroupOp::any), 1, true);
    case Op::OpGroupNonUniformAllEqual:
      return groupOperation(in, site(GroupOp::allEqual), 1, true);
    case Op::OpGroupNonUniformElect:
      return groupOperation(in, site(GroupOp::elect), SIZE_MAX, true);
    case Op::OpGroupBroadcast:
    case Op::OpGroupNonUniformBroadcast:
      return groupOperation(in, site(GroupOp::broadcast), 1, true);
    case Op::OpGroupNonUniformBroadcastFirst:
      return groupOperation(in, site(GroupOp::broadcastFirst), 1, true);
    case Op::OpGroupNonUniformBallot:
      return groupOperation(in, site(GroupOp::ballot), 1, true);
    case Op::OpGroupNonUniformShuffle:
      return groupOperation(in, site(GroupOp::shuffle), 1, true);
    case Op::OpGroupNonUniformShuffleXor:
      return groupOperation(in, site(GroupOp::shuffleXor), 1, true);
    case Op::OpGroupNonUniformShuffleUp:
      return groupOperation(in, site(GroupOp::shuffleUp), 1, true);
    case Op::OpGroupNonUniformShuffleDown:
      return groupOperation(in, site(GroupOp::shuffleDown), 1, true);
    case Op::OpGroupNonUniformInverseBallot:
    case Op::OpGroupNonUniformBallotBitExtract:
    case Op::OpGroupNonUniformBallotBitCount:
    case Op::OpGroupNonUniformBallotFindLSB:
    case Op::OpGroupNonUniformBallotFindMSB:
      return ballotQuery(in);
    case Op::OpSubgroupBallotKHR:
      return groupOperation(in, site(GroupOp::ballot), 0, false);
    case Op::OpSubgroupFirstInvocationKHR:
      return groupOperation(in, site(GroupOp::broadcastFirst), 0, false);
    case Op::OpSubgroupAllKHR:
      return groupOperation(in, site(GroupOp::all), 0, false);
    case Op::OpSubgroupAnyKHR:
      return groupOperation(in, site(GroupOp::any), 0, false);
    case Op::OpSubgroupAllEqualKHR:
      return groupOperation(in, site(GroupOp::allEqual), 0, false);
    case Op::OpSubgroupReadInvocationKHR:
      return groupOperation(in, site(GroupOp::broadcast), 0, false);
    case Op::OpSubgroupShuffleINTEL:
      return groupOperation(in, site(GroupOp::shuffle), 0, false);
    case Op::OpSubgroupShuffleXorINTEL:
      return groupOperation(in, site(GroupOp::shuffleXor), 0, false);
    case Op::OpGroupAsyncCopy:
      return asyncCopy(in);
    case Op::OpGroupWaitEvents:
      workgroupBarrier();
      return true;
    default:
      known = false;
      return true;
  }
}

}  // namespace mtlc::sim::spirv
