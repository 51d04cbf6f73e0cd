// dce: removes what nothing needs.
//
// Everything is dead until an effect needs it: stores, barriers, calls, conditions and results of
// functions are the roots, and what they use is live. A block argument needs what the edges pass
// for it only when it is live itself, so dead cycles through loop headers go too. A store to an
// allocation that nothing reads is no root; it becomes one when a live load of that allocation, or
// a use of its address that is not understood, is found.

#include <utility>
#include <vector>

#include "mtlc/transforms/pass.h"
#include "mtlc/transforms/utils.h"

namespace mtlc::transforms {
namespace {

using ir::Block;
using ir::Opcode;
using ir::Operation;
using ir::Successor;
using ir::Use;
using ir::Value;

// Operation::scratch and Value::scratch (of block arguments).
enum Mark : uint32_t { kDead = 0, kLive = 1 };

class DeadCodeEliminator {
 public:
  DeadCodeEliminator(ir::Function& function, PassContext& context)
      : function_(function), context_(context) {}

  Change run() {
    for (Block& block : function_.blocks()) {
      for (Value* arg : block.args()) arg->scratch = kDead;
      for (Operation& op : block.ops()) {
        op.scratch = kDead;
        if (op.result()) op.result()->scratch = 0;
      }
    }
    findAllocations();
    for (Block& block : function_.blocks()) {
      for (Operation& op : block.ops()) {
        if (isRoot(op)) markLive(&op);
      }
    }
    propagate();
    return sweep() ? Change::Values : Change::None;
  }

 private:
  // An allocation whose address goes into loads, stores, and address arithmetic only. `scratch` of
  // its result is its index here plus one; 0 for other values.
  struct Allocation {
    std::vector<Operation*> stores;
    bool read = false;
  };

  void findAllocations() {
    for (Operation& op : function_.entry()->ops()) {
      if (op.opcode() != Opcode::AllocPrivate && op.opcode() != Opcode::AllocWorkgroup) continue;
      std::vector<Operation*> stores;
      if (!addressStaysLocal(&op, &stores)) continue;
      allocations_.push_back({std::move(stores)});
      op.result()->scratch = static_cast<uint32_t>(allocations_.size());
    }
  }

  // The understood allocation that the address points into.
  Allocation* allocationOf(const Value* address) {
    const Value* base = baseOf(address);
    const Operation* def = base->def();
    if (!def ||
        (def->opcode() != Opcode::AllocPrivate && def->opcode() != Opcode::AllocWorkgroup)) {
      return nullptr;
    }
    return base->scratch == 0 ? nullptr : &allocations_[base->scratch - 1];
  }

  bool isRoot(const Operation& op) {
    if (op.opcode() == Opcode::Store) {
      return op.mem().isVolatile || allocationOf(op.operand(1)) == nullptr;
    }
    return op.isTerminator() || !ir::isDroppable(op);
  }

  void markLive(Operation* op) {
    if (op->scratch == kLive) return;
    op->scratch = kLive;
    work_.push_back(op);
  }

  void markValue(Value* value) {
    if (Operation* def = value->def()) return markLive(def);
    if (value->scratch == kLive) return;
    value->scratch = kLive;
    const unsigned index = value->argIndex();
    for (Successor* s = value->argBlock()->firstPredecessor(); s; s = s->nextPredecessor()) {
      markValueLater(s->owner()->successorArg(s->index(), index));
    }
  }
  void markValueLater(Value* value) { values_.push_back(value); }

  void propagate() {
    while (true) {
      if (!values_.empty()) {
        Value* v = values_.back();
        values_.pop_back();
        markValue(v);
      } else if (!work_.empty()) {
        Operation* op = work_.back();
        work_.pop_back();
        // Arguments of edges are needed only by live arguments of the target.
        const unsigned n =
            op->successorCount() > 0 ? op->successor(0).firstArg() : op->operandCount();
        for (unsigned i = 0; i < n; ++i) markValueLater(op->operand(i));
        if (op->opcode() == Opcode::Load) needStores(op->operand(0));
      } else {
        return;
      }
    }
  }

  void needStores(const Value* address) {
    Allocation* a = allocationOf(address);
    if (!a || a->read) return;
    a->read = true;
    for (Operation* s : a->stores) markLive(s);
  }

  bool sweep() {
    for (Block& block : function_.blocks()) {
      if (block.isEntry()) continue;
      for (unsigned i = block.argCount(); i-- > 0;) {
        if (block.arg(i)->scratch == kLive) continue;
        deadArgs_.push_back(block.arg(i));
      }
    }
    // First all operands of dead operations, which may be uses of each other in any order.
    for (Block& block : function_.blocks()) {
      for (Operation& op : block.ops()) {
        if (op.scratch == kLive) continue;
        for (Use& use : op.uses()) use.set(nullptr);
        deadOps_.push_back(&op);
      }
    }
    for (Value* arg : deadArgs_) {
      // What is left are edges that pass it to other dead arguments.
      for (Use* u = arg->firstUse(); u;) {
        Use* next = u->next();
        u->set(nullptr);
        u = next;
      }
    }
    for (Value* arg : deadArgs_) arg->argBlock()->removeArg(arg->argIndex());
    for (Operation* op : deadOps_) op->erase();
    context_.count(Stat::DeadArgumentsRemoved, deadArgs_.size());
    context_.count(Stat::OperationsRemoved, deadOps_.size());
    return !deadArgs_.empty() || !deadOps_.empty();
  }

  ir::Function& function_;
  PassContext& context_;
  std::vector<Allocation> allocations_;
  std::vector<Operation*> work_;
  std::vector<Value*> values_;
  std::vector<Value*> deadArgs_;
  std::vector<Operation*> deadOps_;
};

}  // namespace

Change runDce(ir::Function& unit, PassContext& context) {
  return DeadCodeEliminator(unit, context).run();
}

}  // namespace mtlc::transforms
