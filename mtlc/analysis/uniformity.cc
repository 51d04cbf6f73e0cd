#include "mtlc/analysis/uniformity.h"

#include <optional>

#include "absl/strings/str_cat.h"

namespace mtlc::analysis {
namespace {

Rank rankOf(UniformityBits bits) {
  if (bits & kDiffersInSubgroup) return Rank::Varying;
  return bits & kDiffersInWorkgroup ? Rank::Subgroup : Rank::Workgroup;
}

}  // namespace

std::string_view rankName(Rank rank) {
  switch (rank) {
    case Rank::Workgroup:
      return "workgroup";
    case Rank::Subgroup:
      return "subgroup";
    case Rank::Varying:
      return "varying";
  }
  return "";
}

struct Uniformity::FunctionState {
  // For each level the call that brought it here first.
  struct Inherited {
    UniformityBits bits = 0;
    const ir::Operation* call[kUniformityLevels] = {};

    void join(UniformityBits more, const ir::Operation* from) {
      for (unsigned level = 0; level < kUniformityLevels; ++level) {
        if ((more & ~bits) >> level & 1) call[level] = from;
      }
      bits |= more & kVaryingBits;
    }
  };
  bool summaryNeeded = false;
  bool analysisNeeded = false;
  Inherited control;              // From the blocks of the calls.
  std::vector<Inherited> params;  // From their arguments.
  // Of the result in terms of the parameters, and how that came about. Helpers only.
  UniformityBits summary = 0;
  std::unique_ptr<UniformitySolver> symbolic;
  std::unique_ptr<UniformitySolver> actual;
};

Uniformity::Uniformity(const ir::Module& module, Extent extent)
    : calls_(module), states_(calls_.size()) {
  choose(extent);
  const std::vector<uint32_t>& order = calls_.bottomUp();
  for (uint32_t f : order) {
    if (states_[f] && states_[f]->summaryNeeded) summarize(f);
  }
  for (size_t i = order.size(); i-- > 0;) {
    if (states_[order[i]] && states_[order[i]]->analysisNeeded) analyze(order[i]);
  }
}

// Decides which functions to look at, and makes their states.
void Uniformity::choose(Extent extent) {
  const std::vector<uint32_t>& order = calls_.bottomUp();
  auto hasCollective = [](const ir::Function& function) {
    for (const ir::Block& block : function.blocks()) {
      for (const ir::Operation& op : block.ops()) {
        if (op.info().convergence != ir::Convergence::None) return true;
      }
    }
    return false;
  };
  std::vector<bool> wanted(calls_.size(), false);
  for (uint32_t f : order) {
    if (!calls_.reachableFromKernel(f) || calls_.function(f)->isDeclaration()) continue;
    wanted[f] = extent == Extent::All || calls_.recursive(f) || hasCollective(*calls_.function(f));
    for (const ir::Operation* call : calls_.callsIn(f)) {
      wanted[f] = wanted[f] || wanted[calls_.index(call->callee())];
    }
  }
  auto stateOf = [&](uint32_t f) -> FunctionState& {
    if (!states_[f]) {
      states_[f] = std::make_unique<FunctionState>();
      states_[f]->params.resize(calls_.function(f)->paramCount());
    }
    return *states_[f];
  };
  for (size_t i = order.size(); i-- > 0;) {
    const uint32_t f = order[i];
    if (wanted[f]) stateOf(f).analysisNeeded = true;
    if (!states_[f]) continue;
    for (const ir::Operation* call : calls_.callsIn(f)) {
      stateOf(calls_.index(call->callee())).summaryNeeded = true;
    }
  }
}

Uniformity::~Uniformity() = default;

void Uniformity::summarize(uint32_t f) {
  const ir::Function& function = *calls_.function(f);
  FunctionState& state = *states_[f];
  state.summary = kVaryingBits;
  if (function.isDeclaration() || function.isKernel() || calls_.recursive(f)) return;
  if (function.resultType().isVoid()) {
    state.summary = 0;
    return;
  }
  std::vector<UniformityBits> params(function.paramCount());
  for (unsigned i = 0; i < params.size(); ++i) params[i] = parameterBit(i);
  state.symbolic = std::make_unique<UniformitySolver>(
      function, params, [this](const ir::Function* callee) { return summaryOf(callee); });
  state.summary = state.symbolic->resultBits();
}

// Callers come first, so what they hand down is complete.
void Uniformity::analyze(uint32_t f) {
  const ir::Function& function = *calls_.function(f);
  FunctionState& state = *states_[f];
  std::vector<UniformityBits> params(function.paramCount());
  for (size_t i = 0; i < params.size(); ++i) {
    params[i] = calls_.recursive(f) ? kVaryingBits : state.params[i].bits;
  }
  state.actual = std::make_unique<UniformitySolver>(
      function, params, [this](const ir::Function* callee) { return summaryOf(callee); });
  for (const ir::Operation* call : calls_.callsIn(f)) {
    if (!state.actual->cfg().reachable(call->block())) continue;
    FunctionState& callee = *states_[calls_.index(call->callee())];
    callee.control.join(state.control.bits | state.actual->controlBits(call->block()), call);
    for (unsigned i = 0; i < call->operandCount() && i < callee.params.size(); ++i) {
      callee.params[i].join(state.actual->valueBits(call->operand(i)), call);
    }
  }
}

UniformityBits Uniformity::summaryOf(const ir::Function* function) const {
  const FunctionState* state = stateOf(function);
  // A member of a cycle that has no summary yet.
  return state ? state->summary : kVaryingBits;
}

const Uniformity::FunctionState* Uniformity::stateOf(const ir::Function* function) const {
  return states_[calls_.index(function)].get();
}

bool Uniformity::analyzed(const ir::Function* function) const {
  const FunctionState* state = stateOf(function);
  return state && state->actual;
}

Rank Uniformity::rank(const ir::Value* value) const {
  const ir::Block* block = value->block();
  const FunctionState* state = block ? stateOf(block->function()) : nullptr;
  return state && state->actual ? rankOf(state->actual->valueBits(value)) : Rank::Varying;
}

Rank Uniformity::controlRank(const ir::Block* block) const {
  const FunctionState* state = stateOf(block->function());
  if (!state || !state->actual) return Rank::Varying;
  return rankOf(state->control.bits | state->actual->controlBits(block));
}

// A node of one function's graph, with the parameters' actual ranks or as symbols.
struct Uniformity::Cursor {
  const ir::Function* function;
  bool symbolic;
  uint32_t node;
};

std::vector<ReasonStep> Uniformity::explainControl(const ir::Block* block, Rank above) const {
  const FunctionState* state = stateOf(block->function());
  if (controlRank(block) <= above || !state || !state->actual) return {};
  const uint32_t index = state->actual->cfg().index(block);
  if (index == kNoNode) return {};
  return explain({block->function(), false, state->actual->blockNode(index)},
                 static_cast<unsigned>(above));
}

std::vector<ReasonStep> Uniformity::explainValue(const ir::Value* value, Rank above) const {
  const FunctionState* state = value->block() ? stateOf(value->block()->function()) : nullptr;
  if (!state || !state->actual || rank(value) <= above) return {};
  const uint32_t node = state->actual->valueNode(value);
  if (node == kNoNode) return {};
  return explain({value->block()->function(), false, node}, static_cast<unsigned>(above));
}

namespace {

std::string_view variableName(const UniformitySolver& solver, uint32_t slot) {
  return solver.slots().slots()[slot].alloc->result()->name();
}

// The store that gave a merge the value behind `cause`, if it was one.
const ir::Operation* storeBehind(const UniformitySolver& solver, uint32_t merge, uint32_t cause) {
  const PrivateSlots& slots = solver.slots();
  for (const PrivateSlots::Incoming& i : slots.incoming(slots.merges()[merge])) {
    if (i.definition.kind == PrivateSlots::Definition::Kind::Store &&
        solver.definitionNode(i.definition) == cause) {
      return slots.access(i.definition.index);
    }
  }
  return nullptr;
}

// A store into an array for which `cause` (its value, its address or its block) spoils the
// contents.
const ir::Operation* storeInto(const UniformitySolver& solver, uint32_t slot, uint32_t cause) {
  const PrivateSlots& slots = solver.slots();
  for (uint32_t a = 0; a < slots.accessCount(); ++a) {
    const ir::Operation* op = slots.access(a);
    if (slots.slotOf(a) != slot || op->form() != ir::Form::Store) continue;
    if (cause == solver.valueNode(op->operand(0)) || cause == solver.valueNode(op->operand(1)) ||
        cause == solver.blockNode(solver.cfg().index(op->block()))) {
      return op;
    }
  }
  return nullptr;
}

// What a value adds to the chain. Loads from scalar variables stand for the assignment they see.
std::optional<ReasonStep> valueStep(const UniformitySolver& solver, ir::Value* value,
                                    bool isSource) {
  using Kind = ReasonStep::Kind;
  const ir::Operation* op = value->def();
  if (!op) return ReasonStep{Kind::Value, nullptr, value->name(), value->loc()};
  if (isSource) {
    const Kind kind = op->form() == ir::Form::Call ? Kind::Result : Kind::Source;
    return ReasonStep{kind, op, value->name(), op->loc()};
  }
  const PrivateSlots& slots = solver.slots();
  const uint32_t access = op->form() == ir::Form::Load ? slots.accessIndex(op) : kNoNode;
  if (access == kNoNode) return ReasonStep{Kind::Value, op, value->name(), op->loc()};
  const PrivateSlots::Definition seen = slots.reaching(access);
  if (slots.slots()[slots.slotOf(access)].kind != PrivateSlots::Kind::Scalar ||
      seen.kind != PrivateSlots::Definition::Kind::Store) {
    return std::nullopt;  // The merge or the array is a link of its own.
  }
  const ir::Operation* store = slots.access(seen.index);
  return ReasonStep{Kind::Assigned, store, variableName(solver, slots.slotOf(access)),
                    store->loc()};
}

}  // namespace

std::vector<ReasonStep> Uniformity::explain(Cursor at, unsigned level) const {
  using Kind = ReasonStep::Kind;
  using NodeKind = UniformitySolver::NodeKind;
  std::vector<ReasonStep> steps;
  auto add = [&](Kind kind, const ir::Operation* op, std::string_view name) {
    steps.push_back({kind, op, name, op->loc()});
  };
  while (steps.size() < kMaxSteps) {
    const FunctionState& state = *stateOf(at.function);
    const UniformitySolver& solver = at.symbolic ? *state.symbolic : *state.actual;
    const uint32_t cause = solver.cause(at.node, level);
    const uint32_t index = solver.indexOf(at.node);
    switch (solver.kind(at.node)) {
      case NodeKind::Block: {
        if (cause != kNoNode) {
          const uint32_t from = solver.indexOf(cause);
          // A gate is no branch that one could show.
          if (from < solver.cfg().size()) {
            add(Kind::Branch, solver.cfg().block(from)->terminator(), {});
          }
          break;
        }
        const ir::Operation* call = state.control.call[level];
        if (!call) return steps;
        add(Kind::CalledFrom, call, at.function->name());
        const UniformitySolver& caller = *stateOf(call->function())->actual;
        at = {call->function(), false, caller.blockNode(caller.cfg().index(call->block()))};
        continue;
      }
      case NodeKind::Join:
        if (cause != kNoNode && solver.kind(cause) == NodeKind::Branch) {
          add(Kind::Join, solver.cfg().block(solver.indexOf(cause))->terminator(), {});
        }
        break;
      case NodeKind::Branch:
      case NodeKind::Return:
        break;
      case NodeKind::Merge: {
        const PrivateSlots::Merge& merge = solver.slots().merges()[index];
        const ir::Operation* store = storeBehind(solver, index, cause);
        const ir::Operation* alloc = solver.slots().slots()[merge.slot].alloc;
        add(Kind::Assigned, store ? store : alloc, variableName(solver, merge.slot));
        break;
      }
      case NodeKind::Array: {
        const ir::Operation* store = storeInto(solver, index, cause);
        const ir::Operation* alloc = solver.slots().slots()[index].alloc;
        add(Kind::Array, store ? store : alloc, variableName(solver, index));
        break;
      }
      case NodeKind::Value: {
        ir::Value* value = solver.valueOf(at.node);
        const bool isParam = value->isBlockArg() && value->argBlock()->isEntry();
        if (isParam && cause == kNoNode) {
          const ir::Operation* call =
              at.symbolic ? nullptr : state.params[value->argIndex()].call[level];
          if (!call) return steps;
          add(Kind::Parameter, call, value->name());
          const UniformitySolver& caller = *stateOf(call->function())->actual;
          at = {call->function(), false, caller.valueNode(call->operand(value->argIndex()))};
          continue;
        }
        if (auto step = valueStep(solver, value, cause == kNoNode)) steps.push_back(*step);
        if (cause != kNoNode || steps.empty() || steps.back().kind != Kind::Result) break;
        const ir::Function* callee = value->def()->callee();
        const FunctionState* calleeState = stateOf(callee);
        if (!calleeState || !calleeState->symbolic) return steps;
        at = {callee, true, calleeState->symbolic->returnNode()};
        continue;
      }
    }
    if (cause == kNoNode) return steps;
    at.node = cause;
  }
  return steps;
}

std::string printUniformity(const ir::Module& module) {
  const Uniformity uniformity(module);
  const CallGraph& calls = uniformity.callGraph();
  std::string out;
  for (uint32_t f = 0; f < calls.size(); ++f) {
    const ir::Function* function = calls.function(f);
    if (function->isDeclaration()) continue;
    absl::StrAppend(&out, function->isKernel() ? "kernel @" : "func @",
                    std::string(function->name()),
                    calls.reachableFromKernel(f) ? "\n" : " (not reached from a kernel)\n");
    if (!calls.reachableFromKernel(f)) continue;
    const BlockLabels labels(*function);
    uint32_t unnamed = 0;
    auto line = [&](const ir::Value* v, std::string_view what) {
      absl::StrAppend(&out, "    %",
                      v->name().empty() ? absl::StrCat(unnamed++) : std::string(v->name()), " ",
                      std::string(what), ": ", std::string(rankName(uniformity.rank(v))), "\n");
    };
    for (const ir::Block& block : function->blocks()) {
      absl::StrAppend(&out, "  ", labels[&block], ": ",
                      std::string(rankName(uniformity.controlRank(&block))), "\n");
      for (const ir::Value* arg : block.args()) line(arg, "argument");
      for (const ir::Operation& op : block.ops()) {
        if (op.result()) line(op.result(), op.info().mnemonic);
      }
    }
  }
  return out;
}

}  // namespace mtlc::analysis
