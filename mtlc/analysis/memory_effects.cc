#include "mtlc/analysis/memory_effects.h"

#include "absl/strings/str_cat.h"

namespace mtlc::analysis {

void MemoryEffects::add(const MemoryEffects& other) {
  reads.add(other.reads);
  writes.add(other.writes);
  collective |= other.collective;
  unknown |= other.unknown;
  isVolatile |= other.isVolatile;
}

namespace {

void addShared(MemoryEffects& effects) {
  for (ir::Space space : {ir::Space::Global, ir::Space::Workgroup}) {
    effects.reads.add(SpaceSet::of(space));
    effects.writes.add(SpaceSet::of(space));
  }
}

}  // namespace

MemoryEffects ModuleEffects::of(const ir::Operation& op) const {
  MemoryEffects result;
  result.collective = op.info().convergence != ir::Convergence::None;
  switch (op.form()) {
    case ir::Form::Load:
      result.reads = provenance_.origin(op.operand(0)).spaces;
      result.isVolatile = op.mem().isVolatile;
      break;
    case ir::Form::Store:
      result.writes = provenance_.origin(op.operand(1)).spaces;
      result.isVolatile = op.mem().isVolatile;
      break;
    case ir::Form::Barrier: {
      // It makes others' writes visible and ours to them: nothing moves across in these regions.
      const uint8_t regions = op.barrier().regions;
      if (regions & ir::kRegionWorkgroup) result.reads.add(SpaceSet::of(ir::Space::Workgroup));
      if (regions & ir::kRegionGlobal) result.reads.add(SpaceSet::of(ir::Space::Global));
      result.writes = result.reads;
      break;
    }
    case ir::Form::Fence: {
      const uint8_t regions = op.fence().regions;
      if (regions & ir::kRegionWorkgroup) result.reads.add(SpaceSet::of(ir::Space::Workgroup));
      if (regions & ir::kRegionGlobal) result.reads.add(SpaceSet::of(ir::Space::Global));
      result.writes = result.reads;
      break;
    }
    case ir::Form::AtomicLoad:
    case ir::Form::AtomicStore:
    case ir::Form::AtomicRmw:
    case ir::Form::AtomicCas:
      result.reads = result.writes = provenance_.origin(op.operand(0)).spaces;
      if (op.atomic().order != ir::MemoryOrder::Relaxed) addShared(result);
      break;
    case ir::Form::AsyncCopy:
      result.writes = provenance_.origin(op.operand(0)).spaces;
      result.reads = provenance_.origin(op.operand(1)).spaces;
      break;
    case ir::Form::AsyncCommit:
      // It touches nothing itself, but which copies a wait waits for depends on where it stands.
    case ir::Form::AsyncWait:
      // What was copied is there from now on.
      result.reads.add(SpaceSet::of(ir::Space::Workgroup));
      result.writes = result.reads;
      break;
    case ir::Form::Mma:
    case ir::Form::Epilogue:
    case ir::Form::Transfer:
    case ir::Form::AccCommit:
      // Ordered on entry and exit, for both.
      addShared(result);
      break;
    case ir::Form::CallIndirect:
    case ir::Form::Launch:
      result.unknown = true;
      result.reads.add(SpaceSet::of(ir::Space::Generic));
      result.reads.add(SpaceSet::of(ir::Space::Constant));
      result.writes.add(SpaceSet::of(ir::Space::Generic));
      break;
    case ir::Form::Call:
      result.add(of(op.callee()));
      break;
    default:
      break;
  }
  return result;
}

ModuleEffects::ModuleEffects(const ir::Module& module)
    : provenance_(module), calls_(module), effects_(calls_.size()) {
  const std::vector<uint32_t>& order = calls_.bottomUp();
  for (size_t begin = 0, end; begin < order.size(); begin = end) {
    // All members of a cycle at once.
    MemoryEffects together;
    for (end = begin;
         end < order.size() && calls_.component(order[end]) == calls_.component(order[begin]);
         ++end) {
      const ir::Function& function = *calls_.function(order[end]);
      if (function.isDeclaration()) {
        together.unknown = true;
        together.reads.add(SpaceSet::of(ir::Space::Generic));
        together.reads.add(SpaceSet::of(ir::Space::Constant));
        together.writes.add(SpaceSet::of(ir::Space::Generic));
        continue;
      }
      const Cfg cfg(function);
      const PrivateSlots slots(cfg);
      for (ir::Block* block : cfg.rpo()) {
        for (const ir::Operation& op : block->ops()) {
          const uint32_t access = op.form() == ir::Form::Load || op.form() == ir::Form::Store
                                      ? slots.accessIndex(&op)
                                      : kNoNode;
          if (access != kNoNode &&
              slots.slots()[slots.slotOf(access)].kind != PrivateSlots::Kind::Escaped &&
              !op.mem().isVolatile) {
            continue;
          }
          together.add(of(op));
        }
      }
    }
    for (size_t i = begin; i < end; ++i) effects_[order[i]] = together;
  }
}

std::string printMemoryEffects(const ir::Module& module) {
  const ModuleEffects effects(module);
  std::string out;
  for (const ir::Function& f : module.functions()) {
    const MemoryEffects& e = effects.of(&f);
    absl::StrAppend(&out, f.isKernel() ? "kernel @" : "func @", std::string(f.name()),
                    " reads: ", e.reads.print(), " writes: ", e.writes.print(),
                    e.collective ? " collective" : "", e.isVolatile ? " volatile" : "",
                    e.unknown ? " unknown calls" : "", e.isPure() ? " pure" : "", "\n");
  }
  return out;
}

}  // namespace mtlc::analysis
