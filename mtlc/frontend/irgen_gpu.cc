// GPU operations with options: what depends on the address spaces of their pointers is decided and
// checked here, where the spaces are known.

#include "mtlc/frontend/gpu_options.h"
#include "mtlc/frontend/irgen_impl.h"

namespace mtlc::frontend {

using ir::CombineKind;
using ir::Opcode;

// One message for each place, however many specialisations a helper has.
bool IrGenerator::firstFailure(SourceRange at) {
  failed_ = true;
  const uint64_t key =
      uint64_t{at.begin.file()} << 50 | uint64_t{at.begin.line()} << 22 | at.begin.column();
  return escapes_.insert(key).second;
}

ir::Value* IrGenerator::gpuOperation(const checked::BuiltinExpr* e) {
  const size_t mark = args_.size();
  const bool isAtomic = e->builtin->form == BuiltinForm::atomic;
  for (size_t i = 0; i < e->args.size(); ++i) {
    // A constant index becomes an offset; zero becomes nothing.
    const bool offset = isAtomic && i == 1 && e->args[1]->kind == checked::ExprKind::constant;
    ir::Value* v = offset ? nullptr : value(e->args[i]);
    args_.push_back(v);
  }
  std::vector<ir::Value*> args(args_.begin() + static_cast<ptrdiff_t>(mark), args_.end());
  args_.resize(mark);
  setLoc(e->range);
  switch (e->builtin->form) {
    case BuiltinForm::subgroup:
      return subgroup(e, args);
    case BuiltinForm::atomic:
      return atomic(e, args);
    case BuiltinForm::async:
      async(e, args);
      return nullptr;
    default:
      tensor(e, args);
      return nullptr;
  }
}

ir::Value* IrGenerator::subgroup(const checked::BuiltinExpr* e, std::span<ir::Value* const> args) {
  auto reduce = [&](Opcode opcode, CombineKind s, CombineKind u, CombineKind f) {
    const Type* t = e->type;
    return b_.subgroupReduce(opcode, t->isFloat() ? f : t->isUnsigned() ? u : s, args[0]);
  };
  using K = CombineKind;
  switch (e->builtin->kind) {
    case BuiltinKind::subgroupLocalId:
      return b_.subgroupIndex(Opcode::SubgroupLocalId);
    case BuiltinKind::subgroupSize:
      return b_.subgroupIndex(Opcode::SubgroupSize);
    case BuiltinKind::subgroupBroadcast:
      return b_.subgroupLane(Opcode::SubgroupBroadcast, args[0], args[1]);
    case BuiltinKind::subgroupShuffle:
      return b_.subgroupLane(Opcode::SubgroupShuffle, args[0], args[1]);
    case BuiltinKind::subgroupReduceAdd:
      return reduce(Opcode::SubgroupReduce, K::Add, K::Add, K::FAdd);
    case BuiltinKind::subgroupReduceMin:
      return reduce(Opcode::SubgroupReduce, K::SMin, K::UMin, K::FMin);
    case BuiltinKind::subgroupReduceMax:
      return reduce(Opcode::SubgroupReduce, K::SMax, K::UMax, K::FMax);
    case BuiltinKind::subgroupScanInclusive:
      return reduce(Opcode::SubgroupScanInclusive, K::Add, K::Add, K::FAdd);
    case BuiltinKind::subgroupScanExclusive:
      return reduce(Opcode::SubgroupScanExclusive, K::Add, K::Add, K::FAdd);
    case BuiltinKind::subgroupBallot:
      return b_.subgroupBallot(args[0], args[1]);
    case BuiltinKind::subgroupAny:
      return b_.subgroupVote(Opcode::SubgroupAny, args[0]);
    default:
      return b_.subgroupVote(Opcode::SubgroupAll, args[0]);
  }
}

// --- Atomics ---

// The pointer in the space that the operation works on.
ir::Value* IrGenerator::atomicPointer(const checked::BuiltinExpr* e, ir::Value* pointer) {
  const checked::GpuAttributes& g = *e->gpu;
  const SourceRange at = e->args[0]->range;
  const Space space = pointer->type().space();
  if (space == Space::Private || space == Space::Constant) {
    if (firstFailure(at)) {
      diagnostics_.report(DiagId::AtomicSpace, at, {ir::spaceName(space), e->builtin->name});
    }
    return nullptr;
  }
  if (g.hasSpace && g.space != space) {
    if (space != Space::Generic) {
      if (firstFailure(at)) {
        diagnostics_.report(DiagId::AtomicOtherSpace, at,
                            {ir::spaceName(space), ir::spaceName(g.space)});
      }
      return nullptr;
    }
    pointer = b_.cast(Opcode::SpaceCast, pointer, ir::Type::ptr(g.space));
  }
  if (pointer->type().space() == Space::Workgroup && g.hasScope && g.scope > ir::Scope::Workgroup) {
    if (firstFailure(g.scopeRange)) {
      diagnostics_.report(DiagId::AtomicScope, g.scopeRange,
                          {wordText(Words::Scope, static_cast<uint8_t>(g.scope))});
    }
    return nullptr;
  }
  return pointer;
}

ir::Value* IrGenerator::atomic(const checked::BuiltinExpr* e, std::span<ir::Value* const> args) {
  const checked::GpuAttributes& g = *e->gpu;
  const Type* elemType = e->args[0]->type->elem;
  const ir::Type elem = irType(elemType);
  ir::Value* pointer = atomicPointer(e, args[0]);
  if (!pointer) return b_.constBits(elem, 0);
  const Expr* index = e->args[1];
  if (args[1]) {
    ir::Value* i = convert(args[1], index->type, program_.types.int64());
    pointer = b_.ptrAdd(pointer, i, elem);
  } else if (static_cast<const checked::ConstantExpr*>(index)->bits != 0) {
    ir::Value* i = index64(index, false);
    setLoc(e->range);
    pointer = b_.ptrAdd(pointer, i, elem);
  }
  ir::AtomicAttr a;
  a.order = g.order;
  a.failureOrder = g.failureOrder;
  a.scope = g.hasScope                                    ? g.scope
            : pointer->type().space() == Space::Workgroup ? ir::Scope::Workgroup
                                                          : ir::Scope::Device;
  const bool u = elemType->isUnsigned();
  switch (e->builtin->kind) {
    case BuiltinKind::atomicLoad:
      return b_.atomicLoad(elem, pointer, a);
    case BuiltinKind::atomicStore:
      b_.atomicStore(elem, pointer, args[2], a);
      return nullptr;
    case BuiltinKind::atomicCompareExchange:
      return b_.atomicCas(elem, pointer, args[2], args[3], a);
    case BuiltinKind::atomicAdd:
      a.kind = elemType->isFloat() ? CombineKind::FAdd : CombineKind::Add;
      break;
    case BuiltinKind::atomicSub:
      a.kind = CombineKind::Sub;
      break;
    case BuiltinKind::atomicMin:
      a.kind = u ? CombineKind::UMin : CombineKind::SMin;
      break;
    case BuiltinKind::atomicMax:
      a.kind = u ? CombineKind::UMax : CombineKind::SMax;
      break;
    case BuiltinKind::atomicAnd:
      a.kind = CombineKind::And;
      break;
    case BuiltinKind::atomicOr:
      a.kind = CombineKind::Or;
      break;
    case BuiltinKind::atomicXor:
      a.kind = CombineKind::Xor;
      break;
    default:
      a.kind = CombineKind::Exchange;
      break;
  }
  return b_.atomicRmw(elem, pointer, args[2], a);
}

// --- Staging ---

void IrGenerator::async(const checked::BuiltinExpr* e, std::span<ir::Value* const> args) {
  switch (e->builtin->kind) {
    case BuiltinKind::asyncCommit:
      return b_.asyncCommit();
    case BuiltinKind::asyncWait:
      return b_.asyncWait(e->gpu->wait);
    default:
      break;
  }
  bool good = true;
  auto needs = [&](size_t i, Space wanted, std::string_view what) {
    const Space space = args[i]->type().space();
    if (space == wanted) return;
    good = false;
    if (!firstFailure(e->args[i]->range)) return;
    diagnostics_.report(DiagId::AsyncSpace, e->args[i]->range,
                        {what, ir::spaceName(space), ir::spaceName(wanted)});
  };
  needs(0, Space::Workgroup, "destination");
  needs(1, Space::Global, "source");
  if (good) b_.asyncCopy(irType(e->args[0]->type->elem), args[0], args[1], e->gpu->async);
}

// --- Tensor operations ---

void IrGenerator::tensor(const checked::BuiltinExpr* e, std::span<ir::Value* const> args) {
  const checked::GpuAttributes& g = *e->gpu;
  const BuiltinKind kind = e->builtin->kind;
  std::vector<ir::Builder::SlotOperand> operands;
  bool good = true;
  for (size_t i = 0; i < args.size(); ++i) {
    const ir::Slot slot = g.slots[i];
    operands.push_back({slot, args[i]});
    if (!args[i]->type().isPtr()) continue;
    const Space space = args[i]->type().space();
    std::string_view hint;
    if (kind == BuiltinKind::tensorTransfer && (slot == ir::Slot::Dst || slot == ir::Slot::Src)) {
      const bool toWorkgroup = g.transfer.direction == Direction::Load;
      const Space wanted =
          (slot == ir::Slot::Dst) == toWorkgroup ? Space::Workgroup : Space::Global;
      if (space == wanted) continue;
      hint = wanted == Space::Workgroup ? "this side of the transfer is workgroup memory"
                                        : "this side of the transfer is global memory";
    } else if (space == Space::Private || space == Space::Constant) {
      hint = "tensor operations work on global and workgroup memory";
    } else {
      continue;
    }
    good = false;
    if (firstFailure(e->args[i]->range)) {
      diagnostics_.report(DiagId::TensorSpace, e->args[i]->range,
                          {ir::slotName(slot), ir::spaceName(space), hint});
    }
  }
  if (!good) return;
  switch (kind) {
    case BuiltinKind::tensorMma:
      return b_.tensorMma(g.mma, operands);
    case BuiltinKind::tensorMatmul:
      return b_.tensorMatmul(g.mma, operands);
    case BuiltinKind::tensorEpilogue:
      return b_.tensorEpilogue(g.epilogue, operands);
    default:
      return b_.tensorTransfer(g.transfer, operands);
  }
}

}  // namespace mtlc::frontend
