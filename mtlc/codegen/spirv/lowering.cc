#include "mtlc/codegen/spirv/lowering.h"

#include <algorithm>

#include "spirv/unified1/OpenCL.std.h"

namespace mtlc::spirv {

using ir::Opcode;
using ir::Operation;
using ir::Space;
using ir::Type;
using ir::TypeKind;
using ir::Value;

// ---- Types ----

spv::StorageClass FunctionLowering::storageOf(Space space) {
  switch (space) {
    case Space::Generic:
      return spv::StorageClass::Generic;
    case Space::Global:
      return spv::StorageClass::CrossWorkgroup;
    case Space::Workgroup:
      return spv::StorageClass::Workgroup;
    case Space::Private:
      return spv::StorageClass::Function;
    case Space::Constant:
      break;
  }
  return spv::StorageClass::UniformConstant;
}

Id FunctionLowering::typeOf(Type type) {
  switch (type.kind()) {
    case TypeKind::I1:
      return boolType();
    case TypeKind::I8:
    case TypeKind::I16:
    case TypeKind::I32:
    case TypeKind::I64:
      return intType(type.bits());
    case TypeKind::F16:
    case TypeKind::BF16:
      return intType(16);
    case TypeKind::F32:
      return f32Type();
    case TypeKind::F64:
      return f64Type();
    case TypeKind::Ptr:
      return out_.pointerType(storageOf(type.space()), intType(8));
    case TypeKind::Void:
    case TypeKind::Tile:  // Legalised.
      break;
  }
  return out_.voidType();
}

Id FunctionLowering::storedType(Type type) { return type.isBool() ? intType(8) : typeOf(type); }

Id FunctionLowering::constant(Type type, uint64_t bits) {
  switch (type.kind()) {
    case TypeKind::I1:
      return out_.boolConstant(bits != 0);
    case TypeKind::F32:
      return out_.floatConstant(32, bits);
    case TypeKind::F64:
      return out_.floatConstant(64, bits);
    case TypeKind::Ptr:
      return out_.nullConstant(typeOf(type));
    default:
      return out_.intConstant(type.bits(), bits);
  }
}

Id FunctionLowering::ext(uint32_t instruction, Id type, std::initializer_list<uint32_t> operands) {
  const Id set = out_.openclStd(), id = out_.newId();
  Words& words = out_.functions();
  words.push_back(static_cast<uint32_t>(operands.size() + 5) << 16 |
                  static_cast<uint32_t>(spv::Op::OpExtInst));
  words.insert(words.end(), {type, id, set, instruction});
  words.insert(words.end(), operands);
  return id;
}

// ---- Function ----

// Reverse post-order; numbers the blocks and all values.
void FunctionLowering::collectBlocks() {
  uint32_t values = 0;
  for (ir::Block& block : function_.blocks()) {
    block.scratch = ~0u;
    for (Value* arg : block.args()) arg->scratch = values++;
    for (Operation& op : block.ops()) {
      if (op.result() != nullptr) op.result()->scratch = values++;
    }
  }
  values_.assign(values, 0);
  struct Frame {
    ir::Block* block;
    unsigned next;
  };
  std::vector<Frame> stack;
  auto open = [&](ir::Block* block) {
    if (block->scratch != ~0u) return;
    block->scratch = 0;
    stack.push_back({block, block->terminator()->successorCount()});
  };
  open(function_.entry());
  while (!stack.empty()) {
    Frame& frame = stack.back();
    if (frame.next == 0) {
      order_.push_back(frame.block);
      stack.pop_back();
      continue;
    }
    --frame.next;
    open(frame.block->terminator()->successor(frame.next).block());
  }
  std::reverse(order_.begin(), order_.end());
  labels_.resize(order_.size());
  for (uint32_t i = 0; i < order_.size(); ++i) {
    order_[i]->scratch = i;
    labels_[i] = out_.newId();
  }
}

void FunctionLowering::lower() {
  const bool kernel = function_.isKernel();
  const bool arena = state_.usesArena.contains(&function_);
  collectBlocks();
  lastLine_ = {};
  std::vector<Id> params;
  for (Type type : function_.paramTypes()) {
    params.push_back(kernel ? storedType(type) : typeOf(type));
  }
  const Id arenaType = arena ? typeOf(Type::ptr(Space::Workgroup)) : 0;
  if (arena) params.push_back(arenaType);
  const Id result = typeOf(function_.resultType());
  const Id type = out_.functionType(result, params);
  const Id id = state_.functionId(&function_);
  out_.name(id, function_.name());

  auto control = spv::FunctionControlMask::MaskNone;
  if (!kernel) {
    const bool barrier = state_.hasBarrier.contains(&function_);
    if (barrier || function_.inlineHint == ir::InlineHint::Always ||
        function_.inlineHint == ir::InlineHint::Inline) {
      control = spv::FunctionControlMask::Inline;
    } else if (function_.inlineHint == ir::InlineHint::Never &&
               !state_.usesPosition.contains(&function_)) {
      // PoCL knows the position in functions that it inlines only, and cannot load others.
      control = spv::FunctionControlMask::DontInline;
    }
  }
  effect(spv::Op::OpFunction, {result, id, static_cast<uint32_t>(control), type});
  for (unsigned p = 0; p < function_.paramCount(); ++p) {
    const Id param = emit(spv::Op::OpFunctionParameter, params[p], {});
    define(function_.param(p), param);
    if (!function_.param(p)->name().empty()) out_.name(param, function_.param(p)->name());
  }
  if (arena) {
    arena_ = emit(spv::Op::OpFunctionParameter, arenaType, {});
    out_.name(arena_, "workgroup_arena");
    // The views have any element type up to 8 bytes, or vectors of 16.
    if (kernel) out_.decorate(arena_, spv::Decoration::Alignment, {32});
  }
  for (ir::Block* block : order_) lowerBlock(*block);
  finishPhis();
  effect(spv::Op::OpFunctionEnd, {});
}

void FunctionLowering::lowerBlock(ir::Block& block) {
  effect(spv::Op::OpLabel, {labels_[block.scratch]});
  lastLine_ = {};
  if (block.isEntry()) {
    declareParams();
  } else {
    lowerPhis(block);
  }
  for (Operation& op : block.ops()) {
    line(op.loc());
    op.isTerminator() ? lowerTerminator(op) : lowerOp(op);
  }
}

// Variables have to stand first; then what parameters need to become values.
void FunctionLowering::declareParams() {
  std::vector<std::pair<Operation*, Id>> variables;
  for (Operation& op : function_.entry()->ops()) {
    if (op.opcode() != Opcode::AllocPrivate) continue;
    const Id array = out_.arrayType(storedType(op.elemType()), constInt(64, op.allocCount()));
    const Id type = out_.pointerType(spv::StorageClass::Function, array);
    const Id variable =
        emit(spv::Op::OpVariable, type, {static_cast<uint32_t>(spv::StorageClass::Function)});
    if (!op.result()->name().empty()) out_.name(variable, op.result()->name());
    variables.push_back({&op, variable});
  }
  for (auto [op, variable] : variables) {
    define(op->result(), emit(spv::Op::OpBitcast, typeOf(op->resultType()), {variable}));
  }
  if (!function_.isKernel()) return;
  for (unsigned p = 0; p < function_.paramCount(); ++p) {
    const Value* param = function_.param(p);
    if (!param->type().isBool() || !param->hasUses()) continue;
    define(param, emit(spv::Op::OpINotEqual, boolType(), {use(param), constInt(8, 0)}));
  }
}

// One pair for each predecessor; the values may come later and are filled in by finishPhis().
void FunctionLowering::lowerPhis(ir::Block& block) {
  std::vector<ir::Block*> predecessors;
  for (ir::Successor* edge = block.firstPredecessor(); edge != nullptr;
       edge = edge->nextPredecessor()) {
    ir::Block* from = edge->owner()->block();
    if (from->scratch != ~0u) predecessors.push_back(from);
  }
  std::sort(predecessors.begin(), predecessors.end(),
            [](const ir::Block* a, const ir::Block* b) { return a->scratch < b->scratch; });
  predecessors.erase(std::unique(predecessors.begin(), predecessors.end()), predecessors.end());
  for (const Value* arg : block.args()) {
    if (!arg->hasUses()) continue;
    const Id type = typeOf(arg->type()), id = out_.newId();
    Words& words = out_.functions();
    words.push_back(static_cast<uint32_t>(3 + 2 * predecessors.size()) << 16 |
                    static_cast<uint32_t>(spv::Op::OpPhi));
    words.push_back(type);
    words.push_back(id);
    phis_.push_back({words.size(), arg});
    for (const ir::Block* from : predecessors) {
      words.push_back(0);
      words.push_back(labels_[from->scratch]);
    }
    define(arg, id);
  }
}

void FunctionLowering::finishPhis() {
  Words& words = out_.functions();
  for (const Phi& phi : phis_) {
    const ir::Block* block = phi.arg->argBlock();
    const uint32_t pairs = ((words[phi.at - 3] >> 16) - 3) / 2;
    for (ir::Successor* edge = block->firstPredecessor(); edge != nullptr;
         edge = edge->nextPredecessor()) {
      const ir::Block* from = edge->owner()->block();
      if (from->scratch == ~0u) continue;
      // The pairs are in the order of their labels.
      uint32_t low = 0, high = pairs;
      while (high - low > 1) {
        const uint32_t middle = (low + high) / 2;
        (words[phi.at + 2 * middle + 1] <= labels_[from->scratch] ? low : high) = middle;
      }
      // A branch with both arms here has chosen the value already.
      const auto merged = merged_.find({edge->owner(), phi.arg});
      const Value* passed = edge->owner()->successorArg(edge->index(), phi.arg->argIndex());
      words[phi.at + 2 * low] = merged != merged_.end() ? merged->second : use(passed);
    }
  }
}

void FunctionLowering::line(SourceLoc loc) {
  if (!state_.lineInfo || loc == lastLine_ || !loc.valid()) return;
  lastLine_ = loc;
  const Id file = out_.sourceFile(state_.sources->name(loc.file()));
  effect(spv::Op::OpLine, {file, loc.line(), loc.column()});
}

void FunctionLowering::lowerTerminator(Operation& op) {
  switch (op.opcode()) {
    case Opcode::Br: {
      ir::Successor& taken = op.successor(0);
      ir::Successor& other = op.successor(1);
      if (taken.block() != other.block()) {
        effect(spv::Op::OpBranchConditional, {use(op.operand(0)), labels_[taken.block()->scratch],
                                              labels_[other.block()->scratch]});
        return;
      }
      // OpPhi tells predecessors apart by block, not by edge.
      for (const Value* arg : taken.block()->args()) {
        const Value* a = op.successorArg(0, arg->argIndex());
        const Value* b = op.successorArg(1, arg->argIndex());
        if (!arg->hasUses() || a == b) continue;
        merged_[{&op, arg}] = choose(typeOf(arg->type()), use(op.operand(0)), use(a), use(b));
      }
      effect(spv::Op::OpBranch, {labels_[taken.block()->scratch]});
      return;
    }
    case Opcode::Jump:
      effect(spv::Op::OpBranch, {labels_[op.successor(0).block()->scratch]});
      return;
    default:
      if (op.operandCount() == 0) {
        effect(spv::Op::OpReturn, {});
      } else {
        effect(spv::Op::OpReturnValue, {use(op.operand(0))});
      }
  }
}

void FunctionLowering::lowerCall(Operation& op) {
  const Id type = typeOf(op.resultType());
  const Id id = out_.newId();
  Words operands = {type, id, state_.functionId(op.callee())};
  for (const ir::Use& argument : op.uses()) operands.push_back(use(argument.value()));
  if (state_.usesArena.contains(op.callee())) operands.push_back(arena());
  append(out_.functions(), spv::Op::OpFunctionCall, operands);
  if (op.result() != nullptr) define(op.result(), id);
}

void FunctionLowering::lowerOp(Operation& op) {
  Id result = 0;
  switch (op.opcode()) {
    case Opcode::Const:
      result = constant(op.resultType(), op.constBits());
      break;
    case Opcode::Add:
    case Opcode::Sub:
    case Opcode::Mul:
    case Opcode::Neg:
    case Opcode::SMin:
    case Opcode::SMax:
    case Opcode::UMin:
    case Opcode::UMax:
    case Opcode::Abs:
      result = integer(op);
      break;
    case Opcode::SMulHi:
    case Opcode::UMulHi:
      result = mulHigh(op);
      break;
    case Opcode::SDiv:
    case Opcode::UDiv:
    case Opcode::SRem:
    case Opcode::URem:
      result = division(op);
      break;
    case Opcode::And:
    case Opcode::Or:
    case Opcode::Xor:
      result = logic(op);
      break;
    case Opcode::Shl:
    case Opcode::LShr:
    case Opcode::AShr:
      result = shift(op);
      break;
    case Opcode::Clz:
    case Opcode::Popcount:
      result = countBits(op);
      break;
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
      result = floatOp(op);
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
      result = mathFunction(op);
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
      result = compareInt(op);
      break;
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
      result = compareFloat(op);
      break;
    case Opcode::Select:
      result = select(op);
      break;
    case Opcode::Trunc:
    case Opcode::SExt:
    case Opcode::ZExt:
      result = castInt(op);
      break;
    case Opcode::FConv:
      result = convertFloat(op);
      break;
    case Opcode::FToSI:
    case Opcode::FToUI:
      result = floatToInt(op);
      break;
    case Opcode::SIToF:
    case Opcode::UIToF:
      result = intToFloat(op);
      break;
    case Opcode::Bitcast:
      result = bitcast(op);
      break;
    case Opcode::PtrToInt:
    case Opcode::IntToPtr:
    case Opcode::SpaceCast:
      result = castPointer(op);
      break;
    case Opcode::ThreadId:
    case Opcode::BlockId:
    case Opcode::BlockDim:
    case Opcode::GridDim:
      result = position(op);
      break;
    case Opcode::PtrAdd:
      result = pointerAdd(op);
      break;
    case Opcode::Load:
      result = load(op);
      break;
    case Opcode::Store:
      return store(op);
    case Opcode::AllocWorkgroup:
    case Opcode::AllocPrivate:
    case Opcode::AllocDynamic:
      return allocate(op);
    case Opcode::Barrier:
    case Opcode::SubgroupBarrier:
    case Opcode::Fence:
      return barrier(op);
    case Opcode::AtomicLoad:
    case Opcode::AtomicStore:
    case Opcode::AtomicRmw:
    case Opcode::AtomicCas:
      result = atomic(op);
      break;
    case Opcode::SubgroupLocalId:
    case Opcode::SubgroupSize:
    case Opcode::SubgroupBroadcast:
    case Opcode::SubgroupShuffle:
    case Opcode::SubgroupReduce:
    case Opcode::SubgroupScanInclusive:
    case Opcode::SubgroupScanExclusive:
    case Opcode::SubgroupBallot:
    case Opcode::SubgroupAny:
    case Opcode::SubgroupAll:
      result = subgroup(op);
      break;
    case Opcode::Call:
      return lowerCall(op);
    case Opcode::AsyncCopy:  // Expanded or refused before.
    case Opcode::AsyncCommit:
    case Opcode::AsyncWait:
    case Opcode::Encode:
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
    case Opcode::Jump:  // lowerTerminator
    case Opcode::Br:
    case Opcode::Ret:
      return;
  }
  if (op.result() != nullptr) define(op.result(), result);
}

}  // namespace mtlc::spirv
