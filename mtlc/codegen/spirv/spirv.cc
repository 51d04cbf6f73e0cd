#include "mtlc/codegen/spirv/spirv.h"

#include <algorithm>
#include <utility>

#include "mtlc/codegen/spirv/barrier_states.h"
#include "mtlc/codegen/spirv/legalize.h"
#include "mtlc/codegen/spirv/lowering.h"
#include "mtlc/transforms/expand_math.h"
#include "mtlc/transforms/expand_narrow_float.h"
#include "mtlc/transforms/pass.h"
#include "mtlc/transforms/tensor_legalize.h"

namespace mtlc {

namespace {

using ir::Function;
using ir::Opcode;
using ir::Operation;

// The functions that kernels reach, callees before callers.
std::vector<Function*> reachable(ir::Module& module) {
  struct Frame {
    Function* function;
    ir::Block* block;
    Operation* next;
  };
  std::vector<Function*> order;
  absl::flat_hash_set<const Function*> seen;
  std::vector<Frame> stack;
  auto open = [&](Function* f) {
    if (!f->isDeclaration() && seen.insert(f).second) {
      stack.push_back({f, f->entry(), f->entry()->front()});
    }
  };
  for (Function& kernel : module.functions()) {
    if (!kernel.isKernel()) continue;
    open(&kernel);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      while (frame.next == nullptr && frame.block != nullptr) {
        frame.block = frame.block->next();
        if (frame.block != nullptr) frame.next = frame.block->front();
      }
      if (frame.next == nullptr) {
        order.push_back(frame.function);
        stack.pop_back();
        continue;
      }
      Operation& op = *frame.next;
      frame.next = op.next();
      if (op.opcode() == Opcode::Call) open(op.callee());
    }
  }
  return order;
}

class ModuleEmitter {
 public:
  ModuleEmitter(ir::Module& module, const SpirvOptions& options, DiagnosticEngine& diags)
      : module_(module), options_(options), diags_(diags), state_(*options.profile) {
    state_.lineInfo = options.lineInfo;
    state_.sources = &module.sources();
  }

  std::optional<std::vector<uint32_t>> run() {
    const SpirvTargetInfo target(*options_.profile);
    std::vector<transforms::TensorDecision> decisions;
    if (!transforms::tensorLegalize(module_, target,
                                    {.replay = options_.tensorReplay, .remarks = options_.remarks},
                                    diags_, decisions)) {
      return std::nullopt;
    }
    transforms::expandNarrowFloat(module_, &target);
    transforms::expandMath(module_, &target);
    spirv::legalize(module_, *options_.profile);
    inlineBarriers();
    const std::vector<Function*> functions = reachable(module_);
    const transforms::PassInvocation reducible{transforms::PassId::MakeReducible,
                                               {{transforms::OptionId::ReducibleOpaque, 1}}};
    transforms::PassContext context;
    context.setInvocation(&reducible);
    for (Function* f : functions) {
      if (f->isKernel()) spirv::makeBarrierStates(*f);
      transforms::runMakeReducible(*f, context);
      look(*f);
    }

    spirv::ModuleBuilder& out = state_.out;
    out.need(spv::Capability::Addresses);
    out.need(spv::Capability::Kernel);
    for (Function* f : functions) spirv::FunctionLowering(state_, *f).lower();
    if (options_.remarks != nullptr) explainArena(functions);
    for (Function* f : functions) finish(*f);
    return out.finish();
  }

 private:
  // Implementations that run a workgroup as loops over its work-items, as PoCL does, take barriers
  // in the kernel's own body only.
  void inlineBarriers() {
    absl::flat_hash_set<const Function*> barriers;
    for (Function* f : reachable(module_)) {
      for (ir::Block& block : f->blocks()) {
        for (Operation& op : block.ops()) {
          if (op.form() == ir::Form::Barrier ||
              (op.opcode() == Opcode::Call && barriers.contains(op.callee()))) {
            barriers.insert(f);
          }
        }
      }
      if (!f->isKernel() && barriers.contains(f)) f->inlineHint = ir::InlineHint::Always;
    }
    if (barriers.empty()) return;
    const transforms::PassInvocation always{transforms::PassId::Inline,
                                            {{transforms::OptionId::InlineOnlyAlways, 1}}};
    transforms::PassContext context(options_.remarks);
    context.setInvocation(&always);
    transforms::runInline(module_, context);
  }

  // What a function does itself and through its callees, which come before it.
  void look(Function& f) {
    for (ir::Block& block : f.blocks()) {
      for (Operation& op : block.ops()) {
        switch (op.form()) {
          case ir::Form::AllocDynamic:
            state_.usesArena.insert(&f);
            break;
          case ir::Form::Barrier:
            state_.hasBarrier.insert(&f);
            break;
          case ir::Form::GpuIndex:
            state_.usesPosition.insert(&f);
            break;
          case ir::Form::Call:
            if (state_.usesArena.contains(op.callee())) state_.usesArena.insert(&f);
            if (state_.hasBarrier.contains(op.callee())) state_.hasBarrier.insert(&f);
            if (state_.usesPosition.contains(op.callee())) state_.usesPosition.insert(&f);
            break;
          default:
            break;
        }
      }
    }
  }

  void explainArena(const std::vector<Function*>& functions) {
    for (const Function* f : functions) {
      if (!f->isKernel() || !state_.usesArena.contains(f)) continue;
      options_.remarks->add(transforms::RemarkId::ArenaParameter, f->name(), f->loc(),
                            {f->paramCount()});
    }
  }

  // The built-in variables of a function and its callees; entry points name them.
  void finish(Function& f) {
    std::vector<spirv::Id> all = state_.builtins[&f];
    for (ir::Block& block : f.blocks()) {
      for (Operation& op : block.ops()) {
        if (op.opcode() != Opcode::Call) continue;
        for (spirv::Id id : state_.builtins[op.callee()]) {
          if (std::find(all.begin(), all.end(), id) == all.end()) all.push_back(id);
        }
      }
    }
    std::sort(all.begin(), all.end());
    state_.builtins[&f] = all;
    if (!f.isKernel()) return;
    const spirv::Id id = state_.functionId(&f);
    state_.out.entryPoint(id, f.name(), all);
    state_.out.executionMode(id, spv::ExecutionMode::ContractionOff);
  }

  ir::Module& module_;
  const SpirvOptions& options_;
  DiagnosticEngine& diags_;
  spirv::ModuleState state_;
};

}  // namespace

bool SpirvTargetInfo::isNative(const Operation& op) const {
  switch (op.form()) {
    case ir::Form::Encode:
    case ir::Form::Decode:
    case ir::Form::AsyncCopy:
    case ir::Form::AsyncCommit:
    case ir::Form::AsyncWait:
    case ir::Form::Transfer:
      return false;
    default:
      break;
  }
  // The functions of OpenCL.std have larger errors than docs/math.md allows.
  return !op.info().has(ir::OpTrait::Math) || (op.fastMath() & ir::kApprox) != 0;
}

std::optional<std::vector<uint32_t>> emitSpirv(ir::Module& module, const SpirvOptions& options,
                                               DiagnosticEngine& diags) {
  return ModuleEmitter(module, options, diags).run();
}

}  // namespace mtlc
