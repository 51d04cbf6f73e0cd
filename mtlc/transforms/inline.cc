// inline: the body of a helper in the place of a call.
//
// Device code is inlined wherever that is sensible, as calls are expensive on GPUs and hide
// everything from the other passes: helpers that are small, called once, or asked for with
// `inline`; always those with `inline_always`; never those with `noinline`, recursive ones, and
// declarations. Callees come before callers, so what is copied has its own calls inlined already,
// and the limit on its size bounds the growth: each call adds at most that many operations.
//
// Barriers in a helper are copied with it, once for each call that executed them before.

#include <string>
#include <vector>

#include "mtlc/analysis/call_graph.h"
#include "mtlc/transforms/pass.h"
#include "mtlc/transforms/utils.h"

namespace mtlc::transforms {
namespace {

using ir::Block;
using ir::Function;
using ir::Opcode;
using ir::Operation;
using ir::Successor;
using ir::Value;

class Inliner {
 public:
  Inliner(ir::Module& module, PassContext& context)
      : module_(module),
        context_(context),
        graph_(module),
        limit_(static_cast<uint64_t>(context.option(OptionId::InlineLimit))),
        onlyAsked_(context.option(OptionId::InlineOnlyAlways) != 0) {}

  Change run() {
    std::vector<Function*> functions;
    for (Function& f : module_.functions()) functions.push_back(&f);
    size_.assign(graph_.size(), 0);
    callCount_.assign(graph_.size(), 0);
    for (uint32_t f = 0; f < graph_.size(); ++f) {
      for (const Operation* call : graph_.callsIn(f)) ++callCount_[graph_.index(call->callee())];
    }
    for (uint32_t f : graph_.bottomUp()) {
      size_[f] = countOperations(*functions[f]);
      if (!graph_.callsIn(f).empty()) inlineInto(f);
    }
    return changed_ ? Change::Cfg : Change::None;
  }

 private:
  static uint64_t countOperations(const Function& f) {
    uint64_t n = 0;
    for (Block& block : f.blocks()) {
      for (Operation& op : block.ops()) n += op.opcode() != Opcode::Const;
    }
    return n;
  }

  void inlineInto(uint32_t caller) {
    // Backwards: the tail that a call's block loses is then only what lies between two calls.
    const std::vector<Operation*>& calls = graph_.callsIn(caller);
    for (size_t i = calls.size(); i-- > 0;) {
      Operation* call = calls[i];
      const uint32_t callee = graph_.index(call->callee());
      if (!shouldInline(call, callee, caller)) continue;
      context_.remark(RemarkId::Inlined, *graph_.function(caller), call->loc(),
                      {call->callee()->name()});
      context_.count(Stat::CallsInlined);
      size_[caller] += size_[callee];
      inlineCall(call);
      changed_ = true;
    }
  }

  bool shouldInline(Operation* call, uint32_t callee, uint32_t caller) {
    const Function& f = *call->callee();
    const Function& in = *graph_.function(caller);
    if (f.isDeclaration() || f.isKernel()) return false;
    if (graph_.recursive(callee)) {
      context_.remark(RemarkId::NotInlinedRecursive, in, call->loc(), {f.name()});
      return false;
    }
    switch (f.inlineHint) {
      case ir::InlineHint::Never:
        context_.remark(RemarkId::NotInlinedAsked, in, call->loc(), {f.name()});
        return false;
      case ir::InlineHint::Always:
        break;
      case ir::InlineHint::None:
      case ir::InlineHint::Inline: {
        if (onlyAsked_) return false;
        uint64_t limit = f.inlineHint == ir::InlineHint::Inline ? 4 * limit_ : limit_;
        if (callCount_[callee] == 1) limit = kLimitOfOnlyCall;
        if (size_[callee] > limit) {
          context_.remark(RemarkId::NotInlinedTooLarge, in, call->loc(),
                          {f.name(), size_[callee], limit});
          return false;
        }
        break;
      }
    }
    if (size_[caller] + size_[callee] > kLargestFunction) {
      context_.remark(RemarkId::NotInlinedCallerTooLarge, in, call->loc(),
                      {f.name(), kLargestFunction});
      return false;
    }
    return true;
  }

  // ---- Copying ----

  void inlineCall(Operation* call) {
    Function& callee = *call->callee();
    std::vector<Block*> order = ir::reversePostOrder(callee);
    uint32_t count = 0;
    for (Block* block : order) {
      for (Value* arg : block->args()) arg->scratch = count++;
      for (Operation& op : block->ops()) {
        if (op.result()) op.result()->scratch = count++;
      }
    }
    copies_.assign(count, nullptr);
    for (unsigned i = 0; i < callee.paramCount(); ++i) {
      copies_[callee.param(i)->scratch] = call->operand(i);
    }
    Value* result = nullptr;
    if (order.size() == 1) {
      result = copyInPlace(*order[0], call);
    } else {
      result = copyBlocks(order, call);
    }
    if (call->result()) call->result()->replaceAllUsesWith(result);
    call->erase();
  }

  Value* copyOf(const Value* v) const { return copies_[v->scratch]; }

  // A copy of `op`, no terminator, placed before `at`; allocations go to the entry block.
  void copyOperation(const Operation& op, Operation* at) {
    operands_.clear();
    for (const ir::Use& use : op.uses()) operands_.push_back(copyOf(use.value()));
    Operation* made = module_.makeOp({.opcode = op.opcode(),
                                      .result = op.resultType(),
                                      .operands = operands_,
                                      .elem = op.elemType(),
                                      .payload = op.payload(),
                                      .fastMath = op.fastMath(),
                                      .loc = op.loc()});
    const bool isAlloc = op.form() == ir::Form::Alloc || op.form() == ir::Form::AllocDynamic;
    ir::Module::insertBefore(isAlloc ? at->function()->entry()->front() : at, made);
    if (!op.result()) return;
    copies_[op.result()->scratch] = made->result();
    if (!op.result()->name().empty()) module_.setValueName(made->result(), op.result()->name());
  }

  // A callee of one block needs no new block. Returns what it returns.
  Value* copyInPlace(const Block& body, Operation* call) {
    for (Operation& op : body.ops()) {
      if (!op.isTerminator()) copyOperation(op, call);
    }
    const Operation* ret = body.terminator();
    return ret->operandCount() > 0 ? copyOf(ret->operand(0)) : nullptr;
  }

  Value* copyBlocks(const std::vector<Block*>& order, Operation* call) {
    Function& caller = *call->function();
    Block* before = call->block();
    Block* after = caller.addBlock({}, call->loc());
    after->moveAfter(before);
    // The call itself ends up last in `before`; it goes when the copies are in place.
    before->moveTailTo(call->next(), after);
    Value* result =
        call->result() ? after->addArg(call->resultType(), call->result()->name()) : nullptr;
    std::vector<Block*> blocks(order.size());
    blocks[0] = before;
    for (size_t i = 1; i < order.size(); ++i) {
      blocks[i] = caller.addBlock(order[i]->name(), order[i]->loc());
      blocks[i]->moveAfter(i == 1 ? before : blocks[i - 1]);
      for (Value* arg : order[i]->args()) {
        copies_[arg->scratch] = blocks[i]->addArg(arg->type(), arg->name());
      }
    }
    for (size_t i = 0; i < order.size(); ++i) {
      const Operation* term = order[i]->terminator();
      Operation* jump = copyTerminator(*term, blocks, after);
      ir::Module::append(blocks[i], jump);
      pending_.push_back({term, jump});
      for (Operation& op : order[i]->ops()) {
        if (!op.isTerminator()) copyOperation(op, i == 0 ? call : jump);
      }
    }
    // Now that every value has its copy, the terminators get theirs.
    for (auto& [term, copy] : pending_) fillTerminator(*term, copy);
    pending_.clear();
    return result;
  }

  // The copy of a terminator without its operands.
  Operation* copyTerminator(const Operation& term, const std::vector<Block*>& blocks,
                            Block* after) {
    if (term.opcode() == Opcode::Ret) {
      const ir::Module::Edge edges[] = {{after}};
      return module_.makeTerminator(Opcode::Jump, {}, edges, term.loc());
    }
    std::vector<ir::Module::Edge> edges;
    for (unsigned i = 0; i < term.successorCount(); ++i) {
      edges.push_back({blocks[term.successor(i).block()->scratch]});
    }
    if (term.opcode() == Opcode::Jump) {
      return module_.makeTerminator(Opcode::Jump, {}, edges, term.loc());
    }
    Value* const condition[] = {nullptr};
    return module_.makeTerminator(term.opcode(), condition, edges, term.loc());
  }

  void fillTerminator(const Operation& term, Operation* copy) {
    if (term.opcode() == Opcode::Ret) {
      if (term.operandCount() > 0 && copy->successor(0).block()->argCount() > 0) {
        Value* const value[] = {copyOf(term.operand(0))};
        copy->setSuccessorArgs(0, value);
      }
      return;
    }
    if (term.opcode() == Opcode::Br) copy->setOperand(0, copyOf(term.operand(0)));
    for (unsigned i = 0; i < term.successorCount(); ++i) {
      operands_.clear();
      for (unsigned k = 0; k < term.successor(i).argCount(); ++k) {
        operands_.push_back(copyOf(term.successorArg(i, k)));
      }
      copy->setSuccessorArgs(i, operands_);
    }
  }

  static constexpr uint64_t kLimitOfOnlyCall = 20'000;
  static constexpr uint64_t kLargestFunction = 200'000;

  ir::Module& module_;
  PassContext& context_;
  analysis::CallGraph graph_;
  const uint64_t limit_;
  const bool onlyAsked_;
  std::vector<uint64_t> size_, callCount_;  // By function.
  std::vector<Value*> copies_;              // By Value::scratch of the callee's values.
  std::vector<Value*> operands_;
  std::vector<std::pair<const Operation*, Operation*>> pending_;
  bool changed_ = false;
};

}  // namespace

Change runInline(ir::Module& unit, PassContext& context) { return Inliner(unit, context).run(); }

Change runDropFunctions(ir::Module& unit, PassContext& context) {
  const analysis::CallGraph graph(unit);
  std::vector<Function*> dead;
  bool anyKernel = false;
  uint32_t i = 0;
  for (Function& f : unit.functions()) {
    anyKernel |= f.isKernel();
    if (!graph.reachableFromKernel(i++)) dead.push_back(&f);
  }
  // A module without kernels is a library: nothing says what its users need.
  if (!anyKernel || dead.empty()) return Change::None;
  for (Function* f : dead) unit.eraseFunction(f);
  context.count(Stat::FunctionsDropped, dead.size());
  return Change::Cfg;
}

}  // namespace mtlc::transforms
