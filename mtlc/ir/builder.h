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
  // nullptr for a void callee.
  Value* call(Function* callee, std::span<Value* const> args);

  Operation* jump(Block* target, std::span<Value* const> args = {});
  Operation* br(Value* condition, Block* ifTrue, Block* ifFalse,
                std::span<Value* const> trueArgs = {}, std::span<Value* const> falseArgs = {});
  Operation* ret(Value* value = nullptr);

 private:
  Operation* place(Operation* op);

  Module& module_;
  Block* block_ = nullptr;
  Operation* before_ = nullptr;
  SourceLoc loc_;
  uint8_t fastMath_ = 0;
};

}  // namespace mtlc::ir

#endif  // MTLC_IR_BUILDER_H_
