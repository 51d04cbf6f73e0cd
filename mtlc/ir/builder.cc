#include "mtlc/ir/builder.h"

#include <bit>

namespace mtlc::ir {

Operation* Builder::place(Operation* op) {
  if (before_) {
    Module::insertBefore(before_, op);
  } else {
    Module::append(block_, op);
  }
  return op;
}

Operation* Builder::insert(const Module::OpSpec& spec) { return place(module_.makeOp(spec)); }

Value* Builder::constBits(Type type, uint64_t bits) {
  return insert(
             {.opcode = Opcode::Const, .result = type, .payload = bits & type.mask(), .loc = loc_})
      ->result();
}

Value* Builder::constF32(float value) { return constBits(kF32, std::bit_cast<uint32_t>(value)); }
Value* Builder::constF64(double value) { return constBits(kF64, std::bit_cast<uint64_t>(value)); }

Value* Builder::unary(Opcode opcode, Value* a, uint8_t extraFlags) {
  Value* const operands[] = {a};
  uint8_t flags = opInfo(opcode).has(OpTrait::FastMath) ? fastMath_ : 0;
  return insert({.opcode = opcode,
                 .result = a->type(),
                 .operands = operands,
                 .fastMath = static_cast<uint8_t>(flags | extraFlags),
                 .loc = loc_})
      ->result();
}

Value* Builder::binary(Opcode opcode, Value* a, Value* b, uint8_t extraFlags) {
  Value* const operands[] = {a, b};
  uint8_t flags = opInfo(opcode).has(OpTrait::FastMath) ? fastMath_ : 0;
  return insert({.opcode = opcode,
                 .result = a->type(),
                 .operands = operands,
                 .fastMath = static_cast<uint8_t>(flags | extraFlags),
                 .loc = loc_})
      ->result();
}

Value* Builder::fma(Value* a, Value* b, Value* c) {
  Value* const operands[] = {a, b, c};
  return insert({.opcode = Opcode::Fma,
                 .result = a->type(),
                 .operands = operands,
                 .fastMath = fastMath_,
                 .loc = loc_})
      ->result();
}

Value* Builder::compare(Opcode opcode, Value* a, Value* b) {
  Value* const operands[] = {a, b};
  return insert({.opcode = opcode, .result = kI1, .operands = operands, .loc = loc_})->result();
}

Value* Builder::select(Value* condition, Value* ifTrue, Value* ifFalse) {
  Value* const operands[] = {condition, ifTrue, ifFalse};
  return insert({.opcode = Opcode::Select,
                 .result = ifTrue->type(),
                 .operands = operands,
                 .loc = loc_})
      ->result();
}

Value* Builder::cast(Opcode opcode, Value* a, Type to) {
  Value* const operands[] = {a};
  return insert({.opcode = opcode, .result = to, .operands = operands, .loc = loc_})->result();
}

Value* Builder::gpuIndex(Opcode opcode, Dim dim) {
  return insert(
             {.opcode = opcode, .result = kI32, .payload = static_cast<uint64_t>(dim), .loc = loc_})
      ->result();
}

Value* Builder::ptrAdd(Value* ptr, Value* index, Type elem) {
  Value* const operands[] = {ptr, index};
  return insert({.opcode = Opcode::PtrAdd,
                 .result = ptr->type(),
                 .operands = operands,
                 .elem = elem,
                 .loc = loc_})
      ->result();
}

Value* Builder::load(Type elem, Value* ptr, MemAttr attr) {
  if (attr.align == 0) attr.align = elem.bytes();
  Value* const operands[] = {ptr};
  Operation* op = insert(
      {.opcode = Opcode::Load, .result = elem, .operands = operands, .elem = elem, .loc = loc_});
  op->setMem(attr);
  return op->result();
}

void Builder::store(Type elem, Value* value, Value* ptr, MemAttr attr) {
  if (attr.align == 0) attr.align = elem.bytes();
  Value* const operands[] = {value, ptr};
  insert({.opcode = Opcode::Store, .operands = operands, .elem = elem, .loc = loc_})->setMem(attr);
}

Value* Builder::allocWorkgroup(Type elem, uint64_t count) {
  return insert({.opcode = Opcode::AllocWorkgroup,
                 .result = Type::ptr(Space::Workgroup),
                 .elem = elem,
                 .payload = count,
                 .loc = loc_})
      ->result();
}

Value* Builder::allocPrivate(Type elem, uint64_t count) {
  return insert({.opcode = Opcode::AllocPrivate,
                 .result = Type::ptr(Space::Private),
                 .elem = elem,
                 .payload = count,
                 .loc = loc_})
      ->result();
}

Value* Builder::allocDynamic(Type elem) {
  return insert({.opcode = Opcode::AllocDynamic,
                 .result = Type::ptr(Space::Workgroup),
                 .elem = elem,
                 .loc = loc_})
      ->result();
}

void Builder::barrier(BarrierAttr attr) {
  insert({.opcode = Opcode::Barrier, .payload = barrierPayload(attr), .loc = loc_});
}

Value* Builder::call(Function* callee, std::span<Value* const> args) {
  return insert({.opcode = Opcode::Call,
                 .result = callee->resultType(),
                 .operands = args,
                 .payload = reinterpret_cast<uint64_t>(callee),
                 .loc = loc_})
      ->result();
}

Operation* Builder::jump(Block* target, std::span<Value* const> args) {
  const Module::Edge edges[] = {{target, args}};
  return place(module_.makeTerminator(Opcode::Jump, {}, edges, loc_));
}

Operation* Builder::br(Value* condition, Block* ifTrue, Block* ifFalse,
                       std::span<Value* const> trueArgs, std::span<Value* const> falseArgs) {
  Value* const operands[] = {condition};
  const Module::Edge edges[] = {{ifTrue, trueArgs}, {ifFalse, falseArgs}};
  return place(module_.makeTerminator(Opcode::Br, operands, edges, loc_));
}

Operation* Builder::ret(Value* value) {
  if (!value) return place(module_.makeTerminator(Opcode::Ret, {}, {}, loc_));
  Value* const operands[] = {value};
  return place(module_.makeTerminator(Opcode::Ret, operands, {}, loc_));
}

}  // namespace mtlc::ir
