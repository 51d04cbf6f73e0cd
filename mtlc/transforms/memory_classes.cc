#include "mtlc/transforms/memory_classes.h"

#include "mtlc/transforms/utils.h"

namespace mtlc::transforms {

using ir::Opcode;
using ir::Operation;
using ir::Use;
using ir::Value;

MemoryClasses::MemoryClasses(const ir::Function& function) {
  if (!function.entry()) return;
  for (Operation& op : function.entry()->ops()) {
    if (op.opcode() != Opcode::AllocPrivate && op.opcode() != Opcode::AllocWorkgroup) continue;
    if (!addressStaysLocal(&op)) continue;
    classes_[op.result()] = size();
    allocations_.push_back(&op);
  }
}

uint32_t MemoryClasses::classOf(const Value* address) const {
  const Value* base = baseOf(address);
  if (!allocations_.empty()) {
    auto it = classes_.find(base);
    if (it != classes_.end()) return it->second;
  }
  // A cast that baseOf() looked through tells the space even of a generic pointer.
  switch (base->type().space()) {
    case ir::Space::Generic:
      break;
    case ir::Space::Global:
      return kGlobal;
    case ir::Space::Workgroup:
      return kWorkgroup;
    case ir::Space::Private:
      return kPrivate;
    case ir::Space::Constant:
      return kConstant;
  }
  switch (address->type().space()) {
    case ir::Space::Generic:
      return kGeneric;
    case ir::Space::Global:
      return kGlobal;
    case ir::Space::Workgroup:
      return kWorkgroup;
    case ir::Space::Private:
      return kPrivate;
    case ir::Space::Constant:
      return kConstant;
  }
  return kGeneric;
}

}  // namespace mtlc::transforms
