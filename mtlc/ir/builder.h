// Appends operations at a place, with the current source location. Checks nothing and folds
// nothing.

#ifndef MTLC_IR_BUILDER_H_
#define MTLC_IR_BUILDER_H_

#include <cstdint>
#include <initializer_list>
#include <span>

#include "mtlc/ir/ir.h"

namespace mtlc::ir {

class Builder {
 public:
  explicit Builder(Module& module) : module_(module) {}

  Module& module() const { return module_; }
  void setInsertEnd(Block* block) {
    block_ = block;
    before_ = nullptr;
  }
  void setInsertBefore(Operation* op) {
    block_ = op->block();
    before_ = op;
  }
  Block* insertBlock() const { return block_; }
  Operation* insertBefore() const { return before_; }  // nullptr: at the end of insertBlock().
  void setLoc(SourceLoc loc) { loc_ = loc; }
  SourceLoc loc() const { return loc_; }
  // Flags given to every operation with the trait FastMath from now on (kApprox is never among
  // them).
  void setFastMath(uint8_t flags) { fastMath_ = flags; }
  uint8_t fastMath() const { return fastMath_; }

  // Any operation; the helpers below cover all of them.
  Operation* insert(const Module::OpSpec& spec);

  // Constants. `bits` is truncated to the type's width.
  Value* constBits(Type type, uint64_t bits);
  Value* constInt(Type type, int64_t value) {
    return constBits(type, static_cast<uint64_t>(value));
  }
  Value* constBool(bool value) { return constBits(kI1, value); }
  Value* constF32(float value);
  Value* constF64(double value);
  Value* nullPtr(Space space) { return constBits(Type::ptr(space), 0); }

  // The result has the type of the (first) operand.
  Value* unary(Opcode opcode, Value* a, uint8_t extraFlags = 0);
  Value* binary(Opcode opcode, Value* a, Value* b, uint8_t extraFlags = 0);
  Value* fma(Value* a, Value* b, Value* c);
  Value* compare(Opcode opcode, Value* a, Value* b);
  Value* select(Value* condition, Value* ifTrue, Value* ifFalse);
  Value* cast(Opcode opcode, Value* a, Type to);

  Value* add(Value* a, Value* b) { return binary(Opcode::Add, a, b); }
  Value* sub(Value* a, Value* b) { return binary(Opcode::Sub, a, b); }
  Value* mul(Value* a, Value* b) { return binary(Opcode::Mul, a, b); }

  Value* gpuIndex(Opcode opcode, Dim dim);
  // Byte address + index × sizeof(elem). `index` is i64.
  Value* ptrAdd(Value* ptr, Value* index, Type elem);
  Value* load(Type elem, Value* ptr, MemAttr attr = {});  // align 0: natural.
  void store(Type elem, Value* value, Value* ptr, MemAttr attr = {});
  Value* allocWorkgroup(Type elem, uint64_t count);
  Value* allocPrivate(Type elem, uint64_t count);
  Value* allocDynamic(Type elem);
  void barrier(BarrierAttr attr = {});
  void subgroupBarrier(BarrierAttr attr = {});
  void fence(FenceAttr attr = {});

  Value* atomicLoad(Type elem, Value* ptr, AtomicAttr attr = {});
  void atomicStore(Type elem, Value* ptr, Value* value, AtomicAttr attr = {});
  Value* atomicRmw(Type elem, Value* ptr, Value* value, AtomicAttr attr);
  Value* atomicCas(Type elem, Value* ptr, Value* expected, Value* desired, AtomicAttr attr = {});

  Value* subgroupIndex(Opcode opcode);  // SubgroupLocalId, SubgroupSize
  // SubgroupBroadcast, SubgroupShuffle; `lane` is i32.
  Value* subgroupLane(Opcode opcode, Value* value, Value* lane);
  // SubgroupReduce, SubgroupScanInclusive, SubgroupScanExclusive
  Value* subgroupReduce(Opcode opcode, CombineKind kind, Value* value);
  Value* subgroupBallot(Value* predicate, Value* word);
  Value* subgroupVote(Opcode opcode, Value* predicate);  // SubgroupAny, SubgroupAll

  void asyncCopy(Type elem, Value* dst, Value* src, AsyncAttr attr);
  void asyncCommit();
  void asyncWait(uint32_t pending);

  Value* encode(Value* value, NarrowAttr attr);             // i8
  Value* decode(Value* code, FloatFormat format, Type to);  // A code in an i8.

  // Tensor operations; the operands in any order, each slot at most once. Leading dimensions that
  // are 0 in the descriptor and no operand become the least ones, except in a matmul.
  struct SlotOperand {
    Slot slot;
    Value* value;
  };
  void tensorMma(const MmaDesc& desc, std::span<const SlotOperand> operands);
  void tensorMatmul(const MmaDesc& desc, std::span<const SlotOperand> operands);
  void tensorEpilogue(const EpilogueDesc& desc, std::span<const SlotOperand> operands);
  void tensorTransfer(const TransferDesc& desc, std::span<const SlotOperand> operands);
  Value* accBegin(const MmaDesc& desc, std::span<const SlotOperand> operands);
  Value* accMma(const MmaDesc& desc, std::span<const SlotOperand> operands);
  Value* accEpilogue(const EpilogueDesc& desc, std::span<const SlotOperand> operands);
  void accCommit(Value* tile);

  // Host operations.
  Value* funcAddr(Function* function);
  Value* callIndirect(Value* callee, std::span<Value* const> args, Type result);
  // `operands` in the order of LaunchAttr. The result of LaunchStatus is the provider's code, i32.
  Value* launch(Opcode opcode, LaunchAttr attr, std::span<Value* const> operands);

  // nullptr for a void callee.
  Value* call(Function* callee, std::span<Value* const> args);

  Operation* jump(Block* target, std::span<Value* const> args = {});
  Operation* br(Value* condition, Block* ifTrue, Block* ifFalse,
                std::span<Value* const> trueArgs = {}, std::span<Value* const> falseArgs = {});
  Operation* ret(Value* value = nullptr);

 private:
  Operation* place(Operation* op);
  template <typename Desc>
  Operation* tensor(Opcode opcode, const Desc& desc, std::span<const SlotOperand> operands,
                    Type result);

  Module& module_;
  Block* block_ = nullptr;
  Operation* before_ = nullptr;
  SourceLoc loc_;
  uint8_t fastMath_ = 0;
};

}  // namespace mtlc::ir

#endif  // MTLC_IR_BUILDER_H_
