#include "mtlc/codegen/spirv/legalize.h"

#include <vector>

#include "mtlc/ir/builder.h"

namespace mtlc::spirv {

namespace {

using ir::Block;
using ir::CombineKind;
using ir::Opcode;
using ir::Operation;
using ir::Type;
using ir::Value;

bool isCandidate(const Operation& op) {
  switch (op.opcode()) {
    case Opcode::AtomicRmw:
      return op.atomic().kind == CombineKind::FAdd;
    case Opcode::SubgroupShuffle:
      return true;
    case Opcode::SubgroupReduce:
      return op.combineKind() == CombineKind::FMin || op.combineKind() == CombineKind::FMax;
    default:
      return false;
  }
}

class Legalizer {
 public:
  Legalizer(ir::Module& module, const SpirvProfile& profile) : b_(module), profile_(profile) {}

  void run(Operation& op) {
    b_.setInsertBefore(&op);
    b_.setLoc(op.loc());
    Value* result = nullptr;
    switch (op.opcode()) {
      case Opcode::AtomicRmw:
        result = atomicAdd(op);
        break;
      case Opcode::SubgroupReduce:
        result = floatExtreme(op);
        break;
      default:
        result = shuffle(op);
        break;
    }
    op.result()->replaceAllUsesWith(result);
    op.erase();
  }

 private:
  // The operations from `op` on go to a new block with an argument of `type`; the builder is left
  // at the end of the old one.
  Block* split(Operation& op, Type type) {
    Block* head = op.block();
    Block* tail = head->function()->addBlock({}, op.loc());
    tail->moveAfter(head);
    tail->addArg(type);
    head->moveTailTo(&op, tail);
    b_.setInsertEnd(head);
    return tail;
  }

  Block* blockAfter(Block* other, SourceLoc loc) {
    Block* block = other->function()->addBlock({}, loc);
    block->moveAfter(other);
    return block;
  }

  Value* atomicAdd(Operation& op) {
    const Type type = op.elemType(), bits = Type::integer(type.bits());
    ir::AtomicAttr attr = op.atomic();
    attr.failureOrder = ir::MemoryOrder::Relaxed;
    Value* pointer = op.operand(0);
    Value* addend = op.operand(1);
    Block* head = op.block();
    Block* tail = split(op, bits);
    Block* loop = blockAfter(head, op.loc());
    Value* seen = loop->addArg(bits);
    // Relaxed: the exchange that succeeds has the order.
    Value* first = b_.atomicLoad(bits, pointer,
                                 {.order = ir::MemoryOrder::Relaxed,
                                  .failureOrder = ir::MemoryOrder::Relaxed,
                                  .scope = attr.scope});
    Value* start[] = {first};
    b_.jump(loop, start);
    b_.setInsertEnd(loop);
    Value* sum = b_.binary(Opcode::FAdd, b_.cast(Opcode::Bitcast, seen, type), addend);
    Value* old = b_.atomicCas(bits, pointer, seen, b_.cast(Opcode::Bitcast, sum, bits), attr);
    Value* done = b_.compare(Opcode::CmpEq, old, seen);
    Value* again[] = {old};
    b_.br(done, tail, loop, again, again);
    b_.setInsertBefore(&op);
    return b_.cast(Opcode::Bitcast, tail->arg(tail->argCount() - 1), type);
  }

  // x ^ (x >> 31 & 0x7fffffff) orders the bits of floats as signed integers, -0 before +0, and is
  // its own inverse. NaN gets the key that no number loses against: the largest or the least, which
  // is that of a NaN.
  Value* floatExtreme(Operation& op) {
    const bool isMin = op.combineKind() == CombineKind::FMin;
    auto key = [&](Value* bits) {
      Value* sign = b_.binary(Opcode::AShr, bits, b_.constInt(ir::kI32, 31));
      Value* mask = b_.binary(Opcode::And, sign, b_.constInt(ir::kI32, 0x7FFFFFFF));
      return b_.binary(Opcode::Xor, bits, mask);
    };
    Value* x = op.operand(0);
    Value* isNan = b_.compare(Opcode::FCmpUno, x, x);
    Value* nan = b_.constBits(ir::kI32, isMin ? 0x7FFFFFFF : 0x80000000);
    Value* own = b_.select(isNan, nan, key(b_.cast(Opcode::Bitcast, x, ir::kI32)));
    Value* best = b_.subgroupReduce(Opcode::SubgroupReduce,
                                    isMin ? CombineKind::SMin : CombineKind::SMax, own);
    return b_.cast(Opcode::Bitcast, key(best), ir::kF32);
  }

  // Lanes that are live are the first of their subgroup: nobody has left early (device verifier,
  // D06), and the last subgroup may be partial.
  Value* shuffle(Operation& op) {
    Value* value = op.operand(0);
    Value* own = b_.subgroupIndex(Opcode::SubgroupLocalId);
    Value* live =
        b_.subgroupReduce(Opcode::SubgroupReduce, CombineKind::Add, b_.constInt(ir::kI32, 1));
    Value* exists = b_.compare(Opcode::CmpUlt, op.operand(1), live);
    Value* lane = b_.select(exists, op.operand(1), own);
    if (profile_.has(kGroupNonUniform)) {
      return b_.subgroupLane(Opcode::SubgroupShuffle, value, lane);
    }
    const Type type = value->type();
    Block* head = op.block();
    Block* tail = split(op, type);
    Block* loop = blockAfter(head, op.loc());
    Value* i = loop->addArg(ir::kI32);
    Value* found = loop->addArg(type);
    Value* zero = b_.constInt(ir::kI32, 0);
    Value* one = b_.constInt(ir::kI32, 1);
    Value* start[] = {zero, value};
    b_.jump(loop, start);
    b_.setInsertEnd(loop);
    Value* sent = b_.subgroupLane(Opcode::SubgroupBroadcast, value, i);
    Value* mine = b_.compare(Opcode::CmpEq, i, lane);
    Value* now = b_.select(mine, sent, found);
    Value* next = b_.add(i, one);
    Value* more = b_.compare(Opcode::CmpUlt, next, live);
    Value* again[] = {next, now};
    Value* result[] = {now};
    b_.br(more, loop, tail, again, result);
    return tail->arg(tail->argCount() - 1);
  }

  ir::Builder b_;
  const SpirvProfile& profile_;
};

}  // namespace

void legalize(ir::Module& module, const SpirvProfile& profile) {
  Legalizer legalizer(module, profile);
  for (ir::Function& function : module.functions()) {
    std::vector<Operation*> work;
    for (Block& block : function.blocks()) {
      for (Operation& op : block.ops()) {
        if (isCandidate(op)) work.push_back(&op);
      }
    }
    // From the end: what follows an operation is moved once.
    for (size_t i = work.size(); i-- > 0;) legalizer.run(*work[i]);
  }
}

}  // namespace mtlc::spirv
