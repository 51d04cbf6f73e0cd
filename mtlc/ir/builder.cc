#include "mtlc/ir/builder.h"

#include <bit>
#include <vector>

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

void Builder::subgroupBarrier(BarrierAttr attr) {
  insert({.opcode = Opcode::SubgroupBarrier, .payload = barrierPayload(attr), .loc = loc_});
}

void Builder::fence(FenceAttr attr) {
  insert({.opcode = Opcode::Fence, .payload = fencePayload(attr), .loc = loc_});
}

Value* Builder::atomicLoad(Type elem, Value* ptr, AtomicAttr attr) {
  Value* const operands[] = {ptr};
  return insert({.opcode = Opcode::AtomicLoad,
                 .result = elem,
                 .operands = operands,
                 .elem = elem,
                 .payload = atomicPayload(attr),
                 .loc = loc_})
      ->result();
}

void Builder::atomicStore(Type elem, Value* ptr, Value* value, AtomicAttr attr) {
  Value* const operands[] = {ptr, value};
  insert({.opcode = Opcode::AtomicStore,
          .operands = operands,
          .elem = elem,
          .payload = atomicPayload(attr),
          .loc = loc_});
}

Value* Builder::atomicRmw(Type elem, Value* ptr, Value* value, AtomicAttr attr) {
  Value* const operands[] = {ptr, value};
  return insert({.opcode = Opcode::AtomicRmw,
                 .result = elem,
                 .operands = operands,
                 .elem = elem,
                 .payload = atomicPayload(attr),
                 .loc = loc_})
      ->result();
}

Value* Builder::atomicCas(Type elem, Value* ptr, Value* expected, Value* desired, AtomicAttr attr) {
  Value* const operands[] = {ptr, expected, desired};
  return insert({.opcode = Opcode::AtomicCas,
                 .result = elem,
                 .operands = operands,
                 .elem = elem,
                 .payload = atomicPayload(attr),
                 .loc = loc_})
      ->result();
}

Value* Builder::subgroupIndex(Opcode opcode) {
  return insert({.opcode = opcode, .result = kI32, .loc = loc_})->result();
}

Value* Builder::subgroupLane(Opcode opcode, Value* value, Value* lane) {
  Value* const operands[] = {value, lane};
  return insert({.opcode = opcode, .result = value->type(), .operands = operands, .loc = loc_})
      ->result();
}

Value* Builder::subgroupReduce(Opcode opcode, CombineKind kind, Value* value) {
  Value* const operands[] = {value};
  return insert({.opcode = opcode,
                 .result = value->type(),
                 .operands = operands,
                 .payload = static_cast<uint64_t>(kind),
                 .loc = loc_})
      ->result();
}

Value* Builder::subgroupBallot(Value* predicate, Value* word) {
  Value* const operands[] = {predicate, word};
  return insert(
             {.opcode = Opcode::SubgroupBallot, .result = kI32, .operands = operands, .loc = loc_})
      ->result();
}

Value* Builder::subgroupVote(Opcode opcode, Value* predicate) {
  Value* const operands[] = {predicate};
  return insert({.opcode = opcode, .result = kI1, .operands = operands, .loc = loc_})->result();
}

void Builder::asyncCopy(Type elem, Value* dst, Value* src, AsyncAttr attr) {
  Value* const operands[] = {dst, src};
  insert({.opcode = Opcode::AsyncCopy,
          .operands = operands,
          .elem = elem,
          .payload = asyncPayload(attr),
          .loc = loc_});
}

void Builder::asyncCommit() { insert({.opcode = Opcode::AsyncCommit, .loc = loc_}); }

void Builder::asyncWait(uint32_t pending) {
  insert({.opcode = Opcode::AsyncWait, .payload = pending, .loc = loc_});
}

Value* Builder::encode(Value* value, NarrowAttr attr) {
  Value* const operands[] = {value};
  return insert({.opcode = Opcode::Encode,
                 .result = kI8,
                 .operands = operands,
                 .payload = narrowPayload(attr),
                 .loc = loc_})
      ->result();
}

Value* Builder::decode(Value* code, FloatFormat format, Type to) {
  Value* const operands[] = {code};
  return insert({.opcode = Opcode::Decode,
                 .result = to,
                 .operands = operands,
                 .payload = narrowPayload({.format = format}),
                 .loc = loc_})
      ->result();
}

template <typename Desc>
Operation* Builder::tensor(Opcode opcode, const Desc& desc, std::span<const SlotOperand> operands,
                           Type result) {
  SlotSet slots;
  Value* bySlot[kSlotCount] = {};
  for (const SlotOperand& o : operands) {
    slots.add(o.slot);
    bySlot[static_cast<int>(o.slot)] = o.value;
  }
  Value* ordered[kSlotCount];
  unsigned count = 0;
  for (int i = 0; i < kSlotCount; ++i) {
    if (slots.has(static_cast<Slot>(i))) ordered[count++] = bySlot[i];
  }
  return insert({.opcode = opcode,
                 .result = result,
                 .operands = {ordered, count},
                 .payload = module_.tensorPayload(desc, slots),
                 .loc = loc_});
}

namespace {

SlotSet slotsOf(std::span<const Builder::SlotOperand> operands) {
  SlotSet slots;
  for (const Builder::SlotOperand& o : operands) slots.add(o.slot);
  return slots;
}

template <typename Desc>
Desc withLeading(Desc desc, std::span<const Builder::SlotOperand> operands) {
  setDenseLeading(desc, slotsOf(operands));
  return desc;
}

Type tileOf(std::span<const Builder::SlotOperand> operands) {
  for (const Builder::SlotOperand& o : operands) {
    if (o.slot == Slot::Tile && o.value) return o.value->type();
  }
  return kVoid;
}

}  // namespace

void Builder::tensorMma(const MmaDesc& desc, std::span<const SlotOperand> operands) {
  tensor(Opcode::TensorMma, withLeading(desc, operands), operands, kVoid);
}
void Builder::tensorMatmul(const MmaDesc& desc, std::span<const SlotOperand> operands) {
  tensor(Opcode::TensorMatmul, desc, operands, kVoid);
}
void Builder::tensorEpilogue(const EpilogueDesc& desc, std::span<const SlotOperand> operands) {
  tensor(Opcode::TensorEpilogue, withLeading(desc, operands), operands, kVoid);
}
void Builder::tensorTransfer(const TransferDesc& desc, std::span<const SlotOperand> operands) {
  tensor(Opcode::TensorTransfer, desc, operands, kVoid);
}
Value* Builder::accBegin(const MmaDesc& desc, std::span<const SlotOperand> operands) {
  MmaDesc d = normalizedFor(MmaUse::AccBegin, withLeading(desc, operands));
  return tensor(Opcode::TensorAccBegin, d, operands, tileType(d))->result();
}
Value* Builder::accMma(const MmaDesc& desc, std::span<const SlotOperand> operands) {
  return tensor(Opcode::TensorAccMma, normalizedFor(MmaUse::AccMma, withLeading(desc, operands)),
                operands, tileOf(operands))
      ->result();
}
Value* Builder::accEpilogue(const EpilogueDesc& desc, std::span<const SlotOperand> operands) {
  EpilogueDesc d = withLeading(desc, operands);
  d.ldd = 0;
  return tensor(Opcode::TensorAccEpilogue, d, operands, tileOf(operands))->result();
}
void Builder::accCommit(Value* tile) {
  Value* const operands[] = {tile};
  insert({.opcode = Opcode::TensorAccCommit, .operands = operands, .loc = loc_});
}

Value* Builder::funcAddr(Function* function) {
  return insert({.opcode = Opcode::FuncAddr,
                 .result = Type::ptr(Space::Generic),
                 .payload = reinterpret_cast<uint64_t>(function),
                 .loc = loc_})
      ->result();
}

Value* Builder::callIndirect(Value* callee, std::span<Value* const> args, Type result) {
  std::vector<Value*> operands = {callee};
  operands.insert(operands.end(), args.begin(), args.end());
  return insert(
             {.opcode = Opcode::CallIndirect, .result = result, .operands = operands, .loc = loc_})
      ->result();
}

Value* Builder::launch(Opcode opcode, LaunchAttr attr, std::span<Value* const> operands) {
  return insert({.opcode = opcode,
                 .result = opcode == Opcode::LaunchStatus ? kI32 : kVoid,
                 .operands = operands,
                 .payload = launchPayload(attr),
                 .loc = loc_})
      ->result();
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
