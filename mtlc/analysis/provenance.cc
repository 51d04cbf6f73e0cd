#include "mtlc/analysis/provenance.h"

#include "absl/strings/str_cat.h"

namespace mtlc::analysis {
namespace {

constexpr ir::Space kMemories[] = {ir::Space::Global, ir::Space::Workgroup, ir::Space::Private,
                                   ir::Space::Constant};

// Joins `from` into `into`; true if that changed it.
bool join(Origin& into, const Origin& from) {
  Origin merged = into;
  merged.spaces.add(from.spaces);
  using Kind = Origin::Kind;
  if (into.kind == Kind::None) {
    merged.kind = from.kind;
    merged.base = from.base;
  } else if (from.kind == Kind::Unknown || into.kind == Kind::Unknown) {
    merged.kind = Kind::Unknown;
    merged.base = nullptr;
  } else if (from.kind != Kind::None && (from.kind != into.kind || from.base != into.base)) {
    merged.kind = Kind::Several;
    merged.base = nullptr;
  }
  if (merged == into) return false;
  into = merged;
  return true;
}

}  // namespace

ir::Space SpaceSet::only() const {
  for (ir::Space space : kMemories) {
    if (bits_ == bit(space)) return space;
  }
  return ir::Space::Generic;
}

std::string SpaceSet::print() const {
  std::string out;
  for (ir::Space space : kMemories) {
    if (!contains(space)) continue;
    absl::StrAppend(&out, out.empty() ? "" : "|", std::string(ir::spaceName(space)));
  }
  return out.empty() ? "none" : out;
}

// Nodes are the pointer values of the reachable blocks, then the merges of variables.
struct Provenance::FunctionState {
  Numbering<ir::Value> pointers;
  std::vector<Origin> origins;
  std::vector<Digraph::Edge> edges;
  std::vector<SpaceSet> params;  // Joined over the calls.
};

Provenance::Provenance(const ir::Module& module) : calls_(module), states_(calls_.size()) {
  for (uint32_t f = 0; f < calls_.size(); ++f) {
    states_[f] = std::make_unique<FunctionState>();
    const ir::Function& function = *calls_.function(f);
    states_[f]->params.resize(function.paramCount());
    // Nobody whom we see calls it, or it calls itself: its parameters may be anything.
    if (!calls_.reachableCallsOf(f).empty() && !function.isKernel() && !calls_.recursive(f)) {
      continue;
    }
    for (unsigned i = 0; i < function.paramCount(); ++i) {
      const ir::Type type = function.paramTypes()[i];
      if (type.isPtr()) states_[f]->params[i] = SpaceSet::of(type.space());
    }
  }
  const std::vector<uint32_t>& order = calls_.bottomUp();
  for (size_t i = order.size(); i-- > 0;) {
    if (!calls_.function(order[i])->isDeclaration()) analyze(order[i]);
  }
}

Provenance::~Provenance() = default;

void Provenance::analyze(uint32_t f) {
  FunctionState& state = *states_[f];
  const ir::Function& function = *calls_.function(f);
  const Cfg cfg(function);
  const PrivateSlots slots(cfg);
  for (ir::Block* block : cfg.rpo()) {
    for (ir::Value* arg : block->args()) {
      if (arg->type().isPtr()) state.pointers.add(arg);
    }
    for (ir::Operation& op : block->ops()) {
      if (op.resultType().isPtr()) state.pointers.add(op.result());
    }
  }
  const uint32_t firstMerge = state.pointers.size();
  state.origins.resize(firstMerge + slots.merges().size());
  std::vector<uint32_t> queue;
  auto raise = [&](uint32_t node, const Origin& origin) {
    if (join(state.origins[node], origin)) queue.push_back(node);
  };
  auto edge = [&](const ir::Value* from, uint32_t to) {
    const uint32_t node = state.pointers.find(from);
    if (node != kNoNode) state.edges.push_back({node, to});
  };
  auto define = [&](PrivateSlots::Definition d, uint32_t to) {
    if (d.kind == PrivateSlots::Definition::Kind::Store) {
      const ir::Value* stored = slots.access(d.index)->operand(0);
      if (stored->type().isPtr()) edge(stored, to);
    } else if (d.kind == PrivateSlots::Definition::Kind::Merge) {
      state.edges.push_back({firstMerge + d.index, to});
    }
  };
  auto unknown = [](const ir::Value* v) {
    return Origin{Origin::Kind::Unknown, nullptr, SpaceSet::of(v->type().space())};
  };

  for (uint32_t p = 0; p < firstMerge; ++p) {
    ir::Value* value = state.pointers[p];
    const ir::Operation* op = value->def();
    if (!op) {
      if (value->argBlock()->isEntry()) {
        raise(p, {Origin::Kind::Object, value, state.params[value->argIndex()]});
        continue;
      }
      for (ir::Successor* s = value->argBlock()->firstPredecessor(); s; s = s->nextPredecessor()) {
        if (cfg.reachable(s->owner()->block())) {
          edge(s->owner()->successorArg(s->index(), value->argIndex()), p);
        }
      }
      continue;
    }
    switch (op->form()) {
      case ir::Form::Const:
        break;  // Null.
      case ir::Form::Alloc:
      case ir::Form::AllocDynamic:
        raise(p, {Origin::Kind::Object, value, SpaceSet::of(value->type().space())});
        break;
      case ir::Form::PtrAdd:
        edge(op->operand(0), p);
        break;
      case ir::Form::Select:
        edge(op->operand(1), p);
        edge(op->operand(2), p);
        break;
      case ir::Form::Load: {
        const uint32_t access = slots.accessIndex(op);
        if (access != kNoNode &&
            slots.slots()[slots.slotOf(access)].kind == PrivateSlots::Kind::Scalar) {
          define(slots.reaching(access), p);
        } else {
          raise(p, unknown(value));
        }
        break;
      }
      default:
        if (op->opcode() == ir::Opcode::SpaceCast) {
          edge(op->operand(0), p);
        } else {
          raise(p, unknown(value));
        }
    }
  }
  for (uint32_t m = 0; m < slots.merges().size(); ++m) {
    for (const PrivateSlots::Incoming& i : slots.incoming(slots.merges()[m])) {
      define(i.definition, firstMerge + m);
    }
  }
  // Each node changes a handful of times at most: the lattice is that low.
  const Digraph flow(static_cast<uint32_t>(state.origins.size()), state.edges);
  for (size_t k = 0; k < queue.size(); ++k) {
    for (uint32_t to : flow.succs(queue[k])) raise(to, state.origins[queue[k]]);
  }
  state.edges = {};

  if (!calls_.reachableFromKernel(f)) return;
  for (const ir::Operation* call : calls_.callsIn(f)) {
    if (!cfg.reachable(call->block())) continue;
    FunctionState& callee = *states_[calls_.index(call->callee())];
    for (unsigned i = 0; i < call->operandCount() && i < callee.params.size(); ++i) {
      if (call->operand(i)->type().isPtr()) callee.params[i].add(origin(call->operand(i)).spaces);
    }
  }
}

Origin Provenance::origin(const ir::Value* pointer) const {
  const ir::Block* block = pointer->block();
  if (!block) return {};
  const FunctionState& state = *states_[calls_.index(block->function())];
  const uint32_t node = state.pointers.find(pointer);
  if (node == kNoNode) return {};
  Origin result = state.origins[node];
  // A cast to a narrower space can only succeed there.
  if (pointer->type().space() != ir::Space::Generic && !result.spaces.empty()) {
    result.spaces = SpaceSet::of(pointer->type().space());
  }
  return result;
}

bool Provenance::mayAlias(const ir::Value* a, const ir::Value* b) const {
  const Origin x = origin(a), y = origin(b);
  if (x.kind == Origin::Kind::None || y.kind == Origin::Kind::None) return false;
  if (!x.spaces.intersects(y.spaces)) return false;
  if (x.kind != Origin::Kind::Object || y.kind != Origin::Kind::Object || x.base == y.base) {
    return true;
  }
  auto opcode = [](const Origin& o) {
    return o.base->def() ? o.base->def()->opcode() : ir::Opcode::Const;
  };
  const ir::Opcode p = opcode(x), q = opcode(y);
  if (p == ir::Opcode::AllocDynamic && q == ir::Opcode::AllocDynamic) return true;
  // Both parameters; otherwise one is an allocation of this function, which no other object
  // overlaps.
  return !x.base->def() && !y.base->def();
}

std::string printProvenance(const ir::Module& module) {
  const Provenance provenance(module);
  std::string out;
  for (const ir::Function& f : module.functions()) {
    if (f.isDeclaration()) continue;
    absl::StrAppend(&out, f.isKernel() ? "kernel @" : "func @", std::string(f.name()), "\n");
    uint32_t unnamed = 0;
    auto name = [&](const ir::Value* v) {
      return v->name().empty() ? absl::StrCat("%", unnamed++)
                               : absl::StrCat("%", std::string(v->name()));
    };
    auto line = [&](const ir::Value* v) {
      const std::string label = name(v);
      if (!v->type().isPtr()) return;
      const Origin o = provenance.origin(v);
      absl::StrAppend(&out, "  ", label, ": ");
      switch (o.kind) {
        case Origin::Kind::None:
          absl::StrAppend(&out, "nothing");
          break;
        case Origin::Kind::Object:
          absl::StrAppend(&out,
                          o.base->def() ? std::string(o.base->def()->info().mnemonic) : "parameter",
                          " %", std::string(o.base->name()));
          break;
        case Origin::Kind::Several:
          absl::StrAppend(&out, "several");
          break;
        case Origin::Kind::Unknown:
          absl::StrAppend(&out, "unknown");
          break;
      }
      absl::StrAppend(&out, " in ", o.spaces.print(), "\n");
    };
    for (const ir::Block& block : f.blocks()) {
      for (const ir::Value* arg : block.args()) line(arg);
      for (const ir::Operation& op : block.ops()) {
        if (op.result()) line(op.result());
      }
    }
  }
  return out;
}

}  // namespace mtlc::analysis
