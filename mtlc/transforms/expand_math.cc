#include "mtlc/transforms/expand_math.h"

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "mtlc/ir/builder.h"
#include "mtlc/support/math/dispatch.h"
#include "mtlc/transforms/ir_domain.h"
#include "mtlc/transforms/pass.h"

namespace mtlc::transforms {
namespace {

using math::MathFn;

MathFn functionOf(ir::Opcode opcode) {
  switch (opcode) {
#define MATH_FUNCTION(Enum, name, arguments, ulp) \
  case ir::Opcode::Enum:                          \
    return MathFn::Enum;
#include "mtlc/support/math/functions.def"
    default:
      break;
  }
  return MathFn::RSqrt;  // not reached: callers ask about operations with the trait Math
}

bool isTrigonometric(MathFn fn) {
  return fn == MathFn::Sin || fn == MathFn::Cos || fn == MathFn::Tan;
}

bool isCandidate(const ir::Operation& op, const TargetInfo* target) {
  if (!op.info().has(ir::OpTrait::Math)) return false;
  return target ? !target->isNative(op) : (op.fastMath() & ir::kApprox) == 0;
}

// One operation to expand, with the others of its block that take the same argument reduction.
struct Work {
  ir::Operation* op;
  std::vector<ir::Operation*> partners;  // after `op` in the block
};

template <typename F>
F finishTrig(MathFn fn, const math::TrigParts<F, IrI32>& parts) {
  if (fn == MathFn::Sin) return math::sinOf<IrDomain>(parts);
  if (fn == MathFn::Cos) return math::cosOf<IrDomain>(parts);
  return math::tanOf<IrDomain>(parts);
}

class Expander {
 public:
  explicit Expander(ir::Module& module) : builder_(module) {}

  void expand(const Work& work) {
    ir::Operation* op = work.op;
    builder_.setInsertBefore(op);
    builder_.setLoc(op->loc());
    MathFn fn = functionOf(op->opcode());
    if (op->resultType().kind() == ir::TypeKind::F64) {
      IrF64 x(&builder_, op->operand(0));
      if (isTrigonometric(fn)) {
        finishAll(work, math::trigPartsF64<IrDomain>(x));
      } else {
        IrF64 y(&builder_, op->operand(op->operandCount() - 1));
        replace(op, math::computeF64<IrDomain>(fn, x, y).value);
      }
    } else {
      IrF32 x(&builder_, widened(op->operand(0)));
      if (isTrigonometric(fn)) {
        finishAll(work, math::trigPartsF32<IrDomain>(x));
      } else {
        IrF32 y = x;
        if (op->operandCount() > 1) y = IrF32(&builder_, widened(op->operand(1)));
        replace(op, math::computeF32<IrDomain>(fn, x, y).value);
      }
    }
  }

 private:
  ir::Value* widened(ir::Value* v) {
    return v->type() == ir::kF32 ? v : builder_.cast(ir::Opcode::FConv, v, ir::kF32);
  }

  // `result` may be wider than the type of `op`.
  void replace(ir::Operation* op, ir::Value* result) {
    if (result->type() != op->resultType()) {
      result = builder_.cast(ir::Opcode::FConv, result, op->resultType());
    }
    op->result()->replaceAllUsesWith(result);
  }

  template <typename F>
  void finishAll(const Work& work, const math::TrigParts<F, IrI32>& parts) {
    replace(work.op, finishTrig(functionOf(work.op->opcode()), parts).value);
    for (ir::Operation* partner : work.partners) {
      builder_.setLoc(partner->loc());
      replace(partner, finishTrig(functionOf(partner->opcode()), parts).value);
    }
  }

  ir::Builder builder_;
};

// The work of one block, in order.
std::vector<Work> collect(const ir::Block& block, const TargetInfo* target) {
  std::vector<Work> work;
  absl::flat_hash_map<const ir::Value*, size_t> reductions;  // argument → index of its first use
  for (ir::Operation& op : block.ops()) {
    if (!isCandidate(op, target)) continue;
    if (isTrigonometric(functionOf(op.opcode()))) {
      auto [at, isNew] = reductions.try_emplace(op.operand(0), work.size());
      if (!isNew) {
        work[at->second].partners.push_back(&op);
        continue;
      }
    }
    work.push_back({&op, {}});
  }
  return work;
}

size_t expandIn(ir::Function& function, const TargetInfo* target, PassContext* context) {
  Expander expander(function.module());
  std::vector<ir::Block*> blocks;
  for (ir::Block& block : function.blocks()) blocks.push_back(&block);
  size_t count = 0, shared = 0;
  for (ir::Block* block : blocks) {
    std::vector<Work> work = collect(*block, target);
    if (context && context->wantsRemarks()) {
      for (const Work& w : work) {
        context->remark(RemarkId::MathExpanded, function, w.op->loc(),
                        {w.op->info().mnemonic, ir::typeName(w.op->resultType())});
      }
    }
    // Splitting a block moves what follows the operation. From the end, each piece moves once.
    for (size_t i = work.size(); i-- > 0;) {
      expander.expand(work[i]);
      work[i].op->erase();
      for (ir::Operation* partner : work[i].partners) partner->erase();
      count += 1 + work[i].partners.size();
      shared += work[i].partners.size();
    }
  }
  if (context) {
    context->count(Stat::FunctionsExpanded, count);
    context->count(Stat::ReductionsShared, shared);
  }
  return count;
}

}  // namespace

size_t expandMath(ir::Function& function, const TargetInfo* target) {
  return expandIn(function, target, nullptr);
}

size_t expandMath(ir::Module& module, const TargetInfo* target) {
  size_t count = 0;
  for (ir::Function& function : module.functions()) count += expandMath(function, target);
  return count;
}

Change runExpandMath(ir::Function& unit, PassContext& context) {
  return expandIn(unit, nullptr, &context) > 0 ? Change::Cfg : Change::None;
}

}  // namespace mtlc::transforms
