#include "mtlc/analysis/trip_count.h"

namespace mtlc::analysis {
namespace {

// A value seen through variables: an SSA value, a merge of a variable, or nothing.
struct Seen {
  const ir::Value* value = nullptr;
  uint32_t merge = kNoNode;
  friend bool operator==(const Seen&, const Seen&) = default;
  bool known() const { return value || merge != kNoNode; }
};

class Matcher {
 public:
  Matcher(const LoopForest& loops, const PrivateSlots& slots, uint32_t loop)
      : loops_(loops), slots_(slots), cfg_(loops.cfg()), loop_(loop) {}

  std::optional<uint64_t> match(uint32_t latch, uint32_t at) {
    if (loops_[loop_].irreducible) return std::nullopt;
    header_ = loops_[loop_].header;
    latch_ = latch;
    if (at != header_ && at != latch_) return std::nullopt;
    const ir::Operation* branch = cfg_.block(at)->terminator();
    if (branch->form() != ir::Form::Branch) return std::nullopt;
    const bool exitsFirst = !loops_.contains(loop_, cfg_.index(branch->successor(0).block()));
    // The latch must have one edge to the header, or the count is of no use.
    const ir::Operation* compare =
        see(branch->operand(0)).value ? see(branch->operand(0)).value->def() : nullptr;
    if (!compare || compare->form() != ir::Form::Compare || !compare->operand(0)->type().isInt() ||
        !loops_.contains(loop_, cfg_.index(compare->block()))) {
      return std::nullopt;
    }
    ir::Opcode opcode = compare->opcode();
    Seen tested = see(compare->operand(0));
    std::optional<uint64_t> bound = constantOf(see(compare->operand(1)));
    if (!bound) {
      bound = constantOf(tested);
      tested = see(compare->operand(1));
      opcode = ir::swappedCompare(opcode);
    }
    if (!bound || !tested.known()) return std::nullopt;
    if (exitsFirst) opcode = ir::invertedCompare(opcode);
    const unsigned width = compare->operand(0)->type().bits();
    const uint64_t mask = compare->operand(0)->type().mask();

    // The counter itself, or the counter one step on.
    if (std::optional<Counter> c = counter(tested)) {
      return countBackEdges(opcode, width, c->start, c->step, *bound);
    }
    const std::optional<Stepped> next = stepOf(tested);
    if (!next) return std::nullopt;
    std::optional<Counter> c = counter(next->from);
    if (!c || c->next != tested) return std::nullopt;
    return countBackEdges(opcode, width, (c->start + c->step) & mask, c->step, *bound);
  }

 private:
  struct Counter {
    uint64_t start, step;
    Seen next;
  };
  struct Stepped {
    Seen from;
    uint64_t step;
  };

  Seen seenDefinition(PrivateSlots::Definition d) const {
    using Kind = PrivateSlots::Definition::Kind;
    if (d.kind == Kind::Merge) return {nullptr, d.index};
    if (d.kind == Kind::Store) return see(slots_.access(d.index)->operand(0));
    return {};
  }

  // Chains of copies between variables are short; a longer one is not followed.
  Seen see(const ir::Value* value) const {
    for (int hops = 0; hops < 16; ++hops) {
      const ir::Operation* def = value->def();
      if (!def || def->form() != ir::Form::Load) return {value, kNoNode};
      const uint32_t access = slots_.accessIndex(def);
      if (access == kNoNode ||
          slots_.slots()[slots_.slotOf(access)].kind != PrivateSlots::Kind::Scalar) {
        return {value, kNoNode};
      }
      const PrivateSlots::Definition d = slots_.reaching(access);
      using Kind = PrivateSlots::Definition::Kind;
      if (d.kind == Kind::Merge) return {nullptr, d.index};
      if (d.kind != Kind::Store) return {};
      value = slots_.access(d.index)->operand(0);
    }
    return {};
  }

  static std::optional<uint64_t> constantOf(const Seen& s) {
    const ir::Operation* op = s.value ? ir::asConst(s.value) : nullptr;
    if (!op || !s.value->type().isInt()) return std::nullopt;
    return op->constBits();
  }

  std::optional<Stepped> stepOf(const Seen& s) const {
    const ir::Operation* op = s.value ? s.value->def() : nullptr;
    if (!op || (op->opcode() != ir::Opcode::Add && op->opcode() != ir::Opcode::Sub)) {
      return std::nullopt;
    }
    Seen a = see(op->operand(0)), b = see(op->operand(1));
    if (op->opcode() == ir::Opcode::Add && constantOf(a)) std::swap(a, b);
    std::optional<uint64_t> c = constantOf(b);
    if (!c || !a.known()) return std::nullopt;
    const uint64_t mask = s.value->type().mask();
    return Stepped{a, op->opcode() == ir::Opcode::Add ? *c : (0 - *c) & mask};
  }

  // `s` as a value that the header gets: constant on entry, stepped on the back edge.
  std::optional<Counter> counter(const Seen& s) const {
    Seen enter, back;
    if (s.merge != kNoNode) {
      const PrivateSlots::Merge& merge = slots_.merges()[s.merge];
      if (merge.block != header_) return std::nullopt;
      for (const PrivateSlots::Incoming& i : slots_.incoming(merge)) {
        if (!place(i.from, seenDefinition(i.definition), enter, back)) return std::nullopt;
      }
    } else if (s.value && s.value->isBlockArg() && cfg_.index(s.value->argBlock()) == header_) {
      for (ir::Successor* e = s.value->argBlock()->firstPredecessor(); e;
           e = e->nextPredecessor()) {
        const uint32_t from = cfg_.index(e->owner()->block());
        if (from == kNoNode) continue;
        if (!place(from, see(e->owner()->successorArg(e->index(), s.value->argIndex())), enter,
                   back)) {
          return std::nullopt;
        }
      }
    } else {
      return std::nullopt;
    }
    const std::optional<uint64_t> start = constantOf(enter);
    const std::optional<Stepped> step = stepOf(back);
    if (!start || !step || step->from != s) return std::nullopt;
    return Counter{*start, step->step, back};
  }

  // False if two edges of a side disagree.
  bool place(uint32_t from, const Seen& s, Seen& enter, Seen& back) const {
    Seen& slot = loops_.contains(loop_, from) ? back : enter;
    if (slot.known() && slot != s) return false;
    slot = s;
    return s.known();
  }

  const LoopForest& loops_;
  const PrivateSlots& slots_;
  const Cfg& cfg_;
  uint32_t loop_;
  uint32_t header_ = kNoNode, latch_ = kNoNode;
};

}  // namespace

std::optional<uint64_t> constantBackEdges(const LoopForest& loops, const PrivateSlots& slots,
                                          uint32_t loop, uint32_t latch, uint32_t exitBlock) {
  return Matcher(loops, slots, loop).match(latch, exitBlock);
}

std::optional<uint64_t> constantBackEdges(const LoopForest& loops, const PrivateSlots& slots,
                                          uint32_t loop) {
  const std::vector<uint32_t> latches = loops.latches(loop);
  const std::vector<ir::Successor*> exits = loops.exits(loop);
  if (latches.size() != 1 || exits.size() != 1) return std::nullopt;
  return constantBackEdges(loops, slots, loop, latches[0],
                           loops.cfg().index(exits[0]->owner()->block()));
}

}  // namespace mtlc::analysis
