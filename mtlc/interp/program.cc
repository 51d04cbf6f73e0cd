#include "mtlc/interp/program.h"

#include <algorithm>

namespace mtlc::interp {

using ir::Form;
using ir::Opcode;

Program::Program(const ir::Module& module) : module_(module) {
  for (ir::Function& function : module.functions()) {
    uint32_t index = static_cast<uint32_t>(functions_.size());
    indexOf_.emplace(&function, index);
    functions_.emplace_back();
    functions_.back().function = &function;
    functions_.back().index = index;
  }
  uint32_t nextId = 1;
  for (FunctionCode& code : functions_) {
    code.firstId = nextId;
    if (code.function->isDeclaration()) continue;
    number(code);
    decode(code);
    nextId += static_cast<uint32_t>(code.insts.size());
  }
}

const FunctionCode* Program::findKernel(std::string_view name) const {
  const ir::Function* function = module_.findFunction(name);
  if (!function || !function->isKernel() || function->isDeclaration()) return nullptr;
  return &functions_[indexOf_.at(function)];
}

const Inst& Program::inst(uint32_t id) const {
  auto after = std::upper_bound(
      functions_.begin(), functions_.end(), id,
      [](uint32_t wanted, const FunctionCode& code) { return wanted < code.firstId; });
  const FunctionCode& code = *std::prev(after);
  return code.insts[id - code.firstId];
}

std::vector<uint32_t> Program::reachableFrom(const FunctionCode& kernel) const {
  std::vector<bool> seen(functions_.size());
  std::vector<uint32_t> found = {kernel.index};
  seen[kernel.index] = true;
  for (size_t next = 0; next < found.size(); ++next) {
    for (uint32_t callee : functions_[found[next]].callees) {
      if (!seen[callee]) found.push_back(callee);
      seen[callee] = true;
    }
  }
  return found;
}

// Gives every value of the function its slot, in Value::scratch, and every block its position, in
// Block::scratch.
void Program::number(FunctionCode& code) {
  uint32_t position = 0;
  for (ir::Block& block : code.function->blocks()) {
    block.scratch = position;
    for (ir::Operation& op : block.ops()) {
      if (op.opcode() != Opcode::Const) {
        ++position;
        continue;
      }
      op.result()->scratch = code.slotCount++;
      code.constants.push_back(op.constBits());
    }
  }
  code.firstParam = code.slotCount;
  for (ir::Block& block : code.function->blocks()) {  // The entry's arguments come first.
    for (ir::Value* arg : block.args()) arg->scratch = code.slotCount++;
    for (ir::Operation& op : block.ops()) {
      if (op.opcode() != Opcode::Const && op.result()) op.result()->scratch = code.slotCount++;
    }
  }
}

void Program::decode(FunctionCode& code) {
  for (ir::Block& block : code.function->blocks()) {
    for (ir::Operation& op : block.ops()) {
      if (op.opcode() == Opcode::Const) continue;
      Inst inst = decodeOp(code, op);
      inst.id = code.firstId + static_cast<uint32_t>(code.insts.size());
      code.insts.push_back(inst);
    }
  }
}

Edge Program::makeEdge(FunctionCode& code, const ir::Successor& successor) {
  Edge edge{successor.block()->scratch, static_cast<uint32_t>(code.copies.size()), 0};
  for (unsigned i = 0; i < successor.argCount(); ++i) {
    uint32_t from = successor.owner()->operand(successor.firstArg() + i)->scratch;
    uint32_t to = successor.block()->arg(i)->scratch;
    if (from != to) code.copies.push_back({from, to});
  }
  edge.count = static_cast<uint32_t>(code.copies.size()) - edge.first;
  return edge;
}

// What `imm` holds:
//   ptr.add         size of the element
//   load, store     alignment; atomic.* the same
//   alloc.private   index into FunctionCode::privates
//   alloc.workgroup index into workgroupAllocs()
//   gpu.*           dimension: 0, 1, 2
//   jump, br, call  index of the (first) edge
//   tensor.*        index of the first operand in FunctionCode::operandSlots
Inst Program::decodeOp(FunctionCode& code, const ir::Operation& op) {
  Inst inst;
  inst.op = &op;
  inst.opcode = op.opcode();
  auto setType = [&](ir::Type type) {
    inst.type = type.kind();
    inst.width = static_cast<uint8_t>(type.bits());
  };
  if (const ir::Value* result = op.result()) {
    inst.result = result->scratch;
    inst.resultType = result->type().kind();
    inst.resultWidth = static_cast<uint8_t>(result->type().bits());
  }
  auto slot = [&](unsigned i) { return op.operand(i)->scratch; };
  switch (op.form()) {
    case Form::Const:
      break;
    case Form::Unary:
    case Form::Cast:
      inst.a = slot(0);
      setType(op.operand(0)->type());
      break;
    case Form::Binary:
    case Form::Compare:
      inst.a = slot(0);
      inst.b = slot(1);
      setType(op.operand(0)->type());
      break;
    case Form::Ternary:
      inst.a = slot(0);
      inst.b = slot(1);
      inst.c = slot(2);
      setType(op.operand(0)->type());
      break;
    case Form::Select:  // The condition is last, so that a and b are the values as elsewhere.
      inst.c = slot(0);
      inst.a = slot(1);
      inst.b = slot(2);
      setType(op.operand(1)->type());
      break;
    case Form::GpuIndex:
      setType(op.resultType());
      inst.imm = static_cast<uint64_t>(op.dim());
      break;
    case Form::PtrAdd:
      inst.a = slot(0);
      inst.b = slot(1);
      setType(op.resultType());
      inst.imm = op.elemType().bytes();
      break;
    case Form::Load:
    case Form::Store: {
      const ir::Value* pointer = op.operand(op.form() == Form::Load ? 0 : 1);
      inst.a = pointer->scratch;
      if (op.form() == Form::Store) inst.b = slot(0);
      setType(op.elemType());
      inst.bytes = static_cast<uint8_t>(op.elemType().bytes());
      inst.space = pointer->type().space();
      inst.imm = op.mem().align != 0 ? op.mem().align : inst.bytes;
      break;
    }
    case Form::Alloc:
      if (op.opcode() == Opcode::AllocPrivate) {
        inst.imm = code.privates.size();
        code.privates.push_back(&op);
      } else {
        inst.imm = workgroupAllocs_.size();
        workgroupAllocs_.push_back(&op);
      }
      break;
    case Form::AllocDynamic:
      break;
    case Form::Fence:
      code.hasAtomics = true;
      break;
    case Form::AtomicLoad:
    case Form::AtomicStore:
    case Form::AtomicRmw:
    case Form::AtomicCas:
      code.hasAtomics = true;
      inst.a = slot(0);
      if (op.operandCount() > 1) inst.b = slot(1);
      if (op.operandCount() > 2) inst.c = slot(2);
      setType(op.elemType());
      inst.bytes = static_cast<uint8_t>(op.elemType().bytes());
      inst.space = op.operand(0)->type().space();
      inst.imm = inst.bytes;
      break;
    case Form::AsyncCopy:
      code.hasAsync = true;
      inst.a = slot(0);
      inst.b = slot(1);
      setType(op.elemType());
      inst.bytes = op.async().transaction;
      inst.imm = inst.bytes;
      break;
    case Form::AsyncCommit:
    case Form::AsyncWait:
      break;
    case Form::FuncAddr:
    case Form::CallIndirect:
    case Form::Launch:
      code.hostOnly = &op;
      break;
    case Form::Mma:
    case Form::Epilogue:
    case Form::Transfer:
    case Form::AccCommit:
      inst.imm = code.operandSlots.size();
      for (unsigned i = 0; i < op.operandCount(); ++i) code.operandSlots.push_back(slot(i));
      code.ordersSubgroups = true;
      break;
    case Form::SubgroupIndex:
      setType(op.resultType());
      break;
    case Form::SubgroupLane:
    case Form::SubgroupBallot:
      inst.a = slot(0);
      inst.b = slot(1);
      setType(op.operand(0)->type());
      break;
    case Form::SubgroupReduce:
    case Form::SubgroupVote:
    case Form::Encode:
    case Form::Decode:
      inst.a = slot(0);
      setType(op.operand(0)->type());
      break;
    case Form::Barrier:
      (op.opcode() == Opcode::Barrier ? code.hasBarrier : code.ordersSubgroups) = true;
      break;
    case Form::Call: {
      inst.imm = code.edges.size();
      uint32_t callee = indexOf_.at(op.callee());
      Edge edge{callee, static_cast<uint32_t>(code.copies.size()), op.operandCount()};
      for (unsigned i = 0; i < op.operandCount(); ++i) code.copies.push_back({slot(i), i});
      code.edges.push_back(edge);
      code.callees.push_back(callee);
      break;
    }
    case Form::Branch:
    case Form::Jump:
      if (op.form() == Form::Branch) inst.a = slot(0);
      inst.imm = code.edges.size();
      for (unsigned i = 0; i < op.successorCount(); ++i) {
        code.edges.push_back(makeEdge(code, op.successor(i)));
      }
      break;
    case Form::Return:
      if (op.operandCount() > 0) inst.a = slot(0);
      break;
  }
  inst.flush =
      (op.fastMath() & ir::kFlushSubnormals) != 0 && op.resultType().kind() == ir::TypeKind::F32;
  return inst;
}

}  // namespace mtlc::interp
