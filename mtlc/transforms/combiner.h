// The machinery of instcombine: what its rules see of the function, and the rules' entry points.
//
// A rule gets one operation and answers with the value that shall replace its result, with the
// result itself when it changed the operation in place, or with nullptr when it has nothing to say.
// It builds new operations through the Combiner, which places them before the operation at hand.

#ifndef MTLC_TRANSFORMS_COMBINER_H_
#define MTLC_TRANSFORMS_COMBINER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "mtlc/ir/ir.h"
#include "mtlc/transforms/pass.h"
#include "mtlc/transforms/utils.h"

namespace mtlc::transforms {

class Combiner {
 public:
  Combiner(ir::Function& function, PassContext& context)
      : function_(function), context_(context), pool_(function) {}

  // Runs the rules until none applies.
  Change run();

  PassContext& context() { return context_; }

  // ---- For rules ----

  ir::Value* constant(ir::Type type, uint64_t bits) { return pool_.get(type, bits); }
  ir::Value* build(ir::Opcode opcode, ir::Type result, std::initializer_list<ir::Value*> operands,
                   uint8_t fastMath = 0);
  ir::Value* unary(ir::Opcode opcode, ir::Value* a, uint8_t fastMath = 0) {
    return build(opcode, a->type(), {a}, fastMath);
  }
  ir::Value* binary(ir::Opcode opcode, ir::Value* a, ir::Value* b, uint8_t fastMath = 0) {
    return build(opcode, a->type(), {a, b}, fastMath);
  }
  // With a constant of `a`'s type on the right.
  ir::Value* binary(ir::Opcode opcode, ir::Value* a, uint64_t b) {
    return binary(opcode, a, constant(a->type(), b));
  }
  ir::Value* compare(ir::Opcode opcode, ir::Value* a, ir::Value* b) {
    return build(opcode, ir::kI1, {a, b});
  }
  ir::Value* compare(ir::Opcode opcode, ir::Value* a, uint64_t b) {
    return compare(opcode, a, constant(a->type(), b));
  }
  ir::Value* select(ir::Value* c, ir::Value* a, ir::Value* b) {
    return build(ir::Opcode::Select, a->type(), {c, a, b});
  }
  ir::Value* cast(ir::Opcode opcode, ir::Value* a, ir::Type to) { return build(opcode, to, {a}); }
  ir::Value* ptrAdd(ir::Value* p, ir::Value* index, ir::Type elem);
  // `value` inverted; `value` is an i1. A comparison that has no other use turns around.
  ir::Value* invert(ir::Value* value);

  // Changes the operation at hand in place. Returns its result, for the rule to return.
  ir::Value* setOperand(ir::Operation& op, unsigned i, ir::Value* value);

 private:
  void push(ir::Operation* op);
  void pushUsers(ir::Value* value);
  void visit(ir::Operation* op);
  void eraseDead(ir::Operation* op);
  void lostUse(ir::Value* value);
  void replace(ir::Operation* op, ir::Value* value);
  ir::Value* applyRules(ir::Operation& op);
  bool simplifyBranch(ir::Operation* br);

  ir::Function& function_;
  PassContext& context_;
  ConstantPool pool_;
  std::vector<ir::Operation*> work_;
  ir::Operation* at_ = nullptr;  // The operation at hand.
  bool inPlace_ = false;         // A rule changed the operation at hand.
  bool changed_ = false;
  bool edgesSwapped_ = false;
};

// ---- Matching ----

inline std::optional<uint64_t> constOf(const ir::Value* v) {
  const ir::Operation* c = ir::asConst(v);
  if (!c) return std::nullopt;
  return c->constBits();
}
inline bool isConst(const ir::Value* v, uint64_t bits) {
  const ir::Operation* c = ir::asConst(v);
  return c && c->constBits() == (bits & v->type().mask());
}
// The operation that defines `v` if it is an `opcode`, else nullptr.
inline ir::Operation* defBy(const ir::Value* v, ir::Opcode opcode) {
  ir::Operation* def = v->def();
  return def && def->opcode() == opcode ? def : nullptr;
}
// `x` of x ^ -1, else nullptr.
inline ir::Value* notOperand(const ir::Value* v) {
  ir::Operation* x = defBy(v, ir::Opcode::Xor);
  return x && isConst(x->operand(1), ~uint64_t{0}) ? x->operand(0) : nullptr;
}
inline bool isPowerOfTwo(uint64_t v) { return v != 0 && (v & (v - 1)) == 0; }

// ---- Rules, by kind of operation ----

ir::Value* combineAddSub(Combiner& c, ir::Operation& op);
ir::Value* combineMul(Combiner& c, ir::Operation& op);
ir::Value* combineBitwise(Combiner& c, ir::Operation& op);
ir::Value* combineShift(Combiner& c, ir::Operation& op);
ir::Value* combineMinMax(Combiner& c, ir::Operation& op);
ir::Value* combineIntUnary(Combiner& c, ir::Operation& op);
ir::Value* combineDivision(Combiner& c, ir::Operation& op);
ir::Value* combineCompare(Combiner& c, ir::Operation& op);
ir::Value* combineSelect(Combiner& c, ir::Operation& op);
ir::Value* combineCast(Combiner& c, ir::Operation& op);
ir::Value* combineFloat(Combiner& c, ir::Operation& op);
ir::Value* combineFloatCompare(Combiner& c, ir::Operation& op);
ir::Value* combineFloatCast(Combiner& c, ir::Operation& op);
ir::Value* combineMemory(Combiner& c, ir::Operation& op);

}  // namespace mtlc::transforms

#endif  // MTLC_TRANSFORMS_COMBINER_H_
