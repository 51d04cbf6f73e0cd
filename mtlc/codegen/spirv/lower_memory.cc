// Memory and positions in the launch.

#include <algorithm>
#include <string>

#include "mtlc/codegen/spirv/lowering.h"

namespace mtlc::spirv {

using ir::Opcode;
using ir::Operation;
using ir::Space;
using ir::Type;
using ir::Value;

// Variables of a kernel in workgroup memory belong to the module. Those in private memory stand at
// the head of the function, see declareParams().
void FunctionLowering::allocate(Operation& op) {
  if (op.opcode() == Opcode::AllocPrivate) return;
  if (op.opcode() == Opcode::AllocDynamic) return define(op.result(), arena());
  const Id array = out_.arrayType(storedType(op.elemType()), constInt(64, op.allocCount()));
  const Id variable = out_.variable(spv::StorageClass::Workgroup, array, 32);
  std::string name(function_.name());
  name += '.';
  name += op.result()->name().empty() ? std::string_view("workgroup") : op.result()->name();
  out_.name(variable, name);
  define(op.result(), emit(spv::Op::OpBitcast, typeOf(op.resultType()), {variable}));
}

Id FunctionLowering::arena() { return arena_; }

Id FunctionLowering::typedPointer(const Value* pointer, Type elem) {
  const Id stored = storedType(elem);
  const Id type = out_.pointerType(storageOf(pointer->type().space()), stored);
  if (stored == intType(8)) return use(pointer);
  if (auto known = typed_.find({pointer, type}); known != typed_.end()) return known->second;
  return emit(spv::Op::OpBitcast, type, {use(pointer)});
}

Id FunctionLowering::pointerAdd(Operation& op) {
  const Value* base = op.operand(0);
  const Id type = out_.pointerType(storageOf(base->type().space()), storedType(op.elemType()));
  const Id moved = emit(spv::Op::OpPtrAccessChain, type,
                        {typedPointer(base, op.elemType()), use(op.operand(1))});
  const Id bytes = typeOf(op.resultType());
  if (type == bytes) return moved;
  typed_[{op.result(), type}] = moved;
  return emit(spv::Op::OpBitcast, bytes, {moved});
}

Id FunctionLowering::load(Operation& op) {
  const ir::MemAttr attr = op.mem();
  const Type elem = op.elemType();
  const Id pointer = typedPointer(op.operand(0), elem);
  uint32_t access = static_cast<uint32_t>(spv::MemoryAccessMask::Aligned);
  if (attr.isVolatile) access |= static_cast<uint32_t>(spv::MemoryAccessMask::Volatile);
  if (attr.cache == ir::CacheHint::Streaming) {
    access |= static_cast<uint32_t>(spv::MemoryAccessMask::Nontemporal);
  }
  const Id value = emit(spv::Op::OpLoad, storedType(elem), {pointer, access, attr.align});
  if (!elem.isBool()) return value;
  return emit(spv::Op::OpINotEqual, boolType(), {value, constInt(8, 0)});
}

void FunctionLowering::store(Operation& op) {
  const ir::MemAttr attr = op.mem();
  const Type elem = op.elemType();
  const Id pointer = typedPointer(op.operand(1), elem);
  uint32_t access = static_cast<uint32_t>(spv::MemoryAccessMask::Aligned);
  if (attr.isVolatile) access |= static_cast<uint32_t>(spv::MemoryAccessMask::Volatile);
  if (attr.cache == ir::CacheHint::Streaming) {
    access |= static_cast<uint32_t>(spv::MemoryAccessMask::Nontemporal);
  }
  Id value = use(op.operand(0));
  if (elem.isBool()) value = choose(intType(8), value, constInt(8, 1), constInt(8, 0));
  effect(spv::Op::OpStore, {pointer, value, access, attr.align});
}

Id FunctionLowering::castPointer(Operation& op) {
  const Id type = typeOf(op.resultType()), a = use(op.operand(0));
  switch (op.opcode()) {
    case Opcode::PtrToInt:
      return emit(spv::Op::OpConvertPtrToU, type, {a});
    case Opcode::IntToPtr:
      return emit(spv::Op::OpConvertUToPtr, type, {a});
    default:
      return emit(op.resultType().space() == Space::Generic ? spv::Op::OpPtrCastToGeneric
                                                            : spv::Op::OpGenericCastToPtr,
                  type, {a});
  }
}

Id FunctionLowering::builtinVariable(spv::BuiltIn which) {
  const Id variable = out_.builtin(which);
  std::vector<Id>& used = state_.builtins[&function_];
  if (std::find(used.begin(), used.end(), variable) == used.end()) used.push_back(variable);
  return variable;
}

// Built-ins are loaded where they are needed: the variables are constant, equal loads cost nothing.
Id FunctionLowering::builtinWord(spv::BuiltIn which) {
  return emit(spv::Op::OpLoad, intType(32), {builtinVariable(which)});
}

Id FunctionLowering::position(Operation& op) {
  spv::BuiltIn which = spv::BuiltIn::NumWorkgroups;
  if (op.opcode() == Opcode::ThreadId) which = spv::BuiltIn::LocalInvocationId;
  if (op.opcode() == Opcode::BlockId) which = spv::BuiltIn::WorkgroupId;
  if (op.opcode() == Opcode::BlockDim) which = spv::BuiltIn::WorkgroupSize;
  const Id vector =
      emit(spv::Op::OpLoad, out_.vectorType(intType(64), 3), {builtinVariable(which)});
  const Id wide =
      emit(spv::Op::OpCompositeExtract, intType(64), {vector, static_cast<uint32_t>(op.dim())});
  return emit(spv::Op::OpUConvert, intType(32), {wide});
}

}  // namespace mtlc::spirv
