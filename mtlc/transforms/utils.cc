#include "mtlc/transforms/utils.h"

namespace mtlc::transforms {

using ir::Block;
using ir::Opcode;
using ir::Operation;
using ir::Successor;
using ir::Type;
using ir::Value;

uint64_t removeUnreachableBlocks(ir::Function& function) {
  if (!function.entry()) return 0;
  for (Block& block : function.blocks()) block.scratch = 0;
  std::vector<Block*> stack = {function.entry()};
  function.entry()->scratch = 1;
  while (!stack.empty()) {
    Operation* term = stack.back()->terminator();
    stack.pop_back();
    if (!term) continue;
    for (Successor& s : term->successors()) {
      if (s.block()->scratch) continue;
      s.block()->scratch = 1;
      stack.push_back(s.block());
    }
  }
  // References among dead blocks may be cyclic: drop them all first.
  uint64_t removed = 0;
  for (Block& block : function.blocks()) {
    if (!block.scratch) block.dropAllReferences();
  }
  for (Block& block : function.blocks()) {
    if (block.scratch) continue;
    block.erase();
    ++removed;
  }
  return removed;
}

Value* ConstantPool::get(Type type, uint64_t bits) {
  bits &= type.mask();
  Value*& value = values_[{type.raw(), bits}];
  if (value) return value;
  ir::Module& module = function_.module();
  Operation* op = module.makeOp({.opcode = Opcode::Const, .result = type, .payload = bits});
  Block* entry = function_.entry();
  Operation* at = last_ ? last_->next() : entry->front();
  if (at) {
    ir::Module::insertBefore(at, op);
  } else {
    ir::Module::append(entry, op);
  }
  last_ = op;
  return value = op->result();
}

bool ConstantPool::collect() {
  bool changed = false;
  Block* entry = function_.entry();
  bool atTop = true;  // Nothing but pooled constants so far.
  for (Block& block : function_.blocks()) {
    for (Operation& op : block.ops()) {
      if (op.opcode() != Opcode::Const) {
        atTop = false;
        continue;
      }
      Value*& value = values_[{op.resultType().raw(), op.constBits()}];
      if (value) {
        op.result()->replaceAllUsesWith(value);
        op.erase();
        changed = true;
        continue;
      }
      value = op.result();
      if (!atTop) {
        op.moveBefore(last_ ? last_->next() : entry->front());
        changed = true;
      }
      last_ = &op;
    }
    atTop = false;
  }
  return changed;
}

const Value* baseOf(const Value* address) {
  for (int i = 0; i < kMaxAddressSteps; ++i) {
    const Operation* def = address->def();
    if (!def || (def->opcode() != Opcode::PtrAdd && def->opcode() != Opcode::SpaceCast)) break;
    address = def->operand(0);
  }
  return address;
}

bool addressStaysLocal(Operation* allocation, std::vector<Operation*>* stores) {
  std::vector<std::pair<Value*, int>> work = {{allocation->result(), 0}};
  while (!work.empty()) {
    auto [address, steps] = work.back();
    work.pop_back();
    if (steps > kMaxAddressSteps) return false;
    for (ir::Use* u = address->firstUse(); u; u = u->next()) {
      Operation* user = u->owner();
      switch (user->opcode()) {
        case Opcode::Load:
          if (user->mem().isVolatile) return false;
          break;
        case Opcode::Store:
          if (u->index() == 0 || user->mem().isVolatile) return false;
          if (stores) stores->push_back(user);
          break;
        case Opcode::PtrAdd:
        case Opcode::SpaceCast:
          work.push_back({user->result(), steps + 1});
          break;
        default:
          return false;
      }
    }
  }
  return true;
}

}  // namespace mtlc::transforms
