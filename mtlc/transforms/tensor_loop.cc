// tensor-loop: an accumulator that a loop updates in each round stays in a tile around the loop.
//
//   ^head(%i):                                      %t = tensor.acc.begin c=%d, d=%d
//     br (cmp.slt %i, %n), ^body, ^exit           ^head(%i, %u):
//   ^body:                                          br (cmp.slt %i, %n), ^body, ^done
//     tensor.mma a=%a, b=%b, c=%d, d=%d           ^body:
//     jump ^head(add %i, 1)                         %v = tensor.acc.mma tile=%u, a=%a, b=%b
//                                                   jump ^head(add %i, 1, %v)
//                                                 ^done:
//                                                   tensor.acc.commit %u
//
// A loop that may end before its first round gets a guard of its own, a copy of the test, so that
// it touches no memory then; not if an update of the same matrix comes right before the loop, or
// the first test is known to succeed. All loops are planned before any is changed.

#include "mtlc/transforms/tensor_loop.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "mtlc/analysis/loops.h"

namespace mtlc::transforms {
namespace {

using analysis::kNoNode;
using analysis::LoopForest;
using ir::Block;
using ir::Opcode;
using ir::Operation;
using ir::Slot;
using ir::Successor;
using ir::Value;

// Accumulators of one loop that are looked at.
constexpr size_t kMaxAccumulators = 64;
// Loops are looked at if they have at most so many levels of loops in them, so that an operation is
// looked at for a bounded number of loops.
constexpr uint32_t kMaxHeight = 8;

bool isUpdate(const Operation& op) {
  return op.opcode() == Opcode::TensorMma || op.opcode() == Opcode::TensorAccBegin;
}

struct Accumulator {
  Matrix home;
  std::vector<size_t> at;  // Of the updates, in the loop's list of effects.
  Updates updates;
  bool held = false;
  bool afresh = false;      // Not carried: each round begins from another C.
  bool exitsEarly = false;  // The loop is left before the updates of a round.
  Blocked blocked;
};

struct Plan {
  uint32_t loop;
  Block* header;
  Successor* exit;
  bool needsGuard = false;
  std::vector<Accumulator> accumulators;
};

class LoopResidency {
 public:
  LoopResidency(ir::Function& function, const LoopRules& rules, PassContext& context,
                TileHomes& homes)
      : function_(function),
        rules_(rules),
        context_(context),
        homes_(homes),
        loops_(context.analyses().loops(function)) {}

  Change run() {
    findCandidates();
    dominators_ = &context_.analyses().dominators(function_);  // One walk for each call.
    for (uint32_t loop = 0; loop < loops_.size(); ++loop) {
      if (isCandidate_[loop] && height_[loop] <= kMaxHeight) plan(loop);
    }
    if (plans_.empty()) return Change::None;
    for (Block& block : function_.blocks()) block.scratch = kNewBlock | kNoLoop;
    for (uint32_t b = 0; b < loops_.cfg().size(); ++b) loops_.cfg().block(b)->scratch = b;
    for (Plan& p : plans_) apply(p);
    return Change::Cfg;
  }

 private:
  static constexpr uint32_t kNewBlock = 1u << 31;
  static constexpr uint32_t kNoLoop = kNewBlock - 1;

  void findCandidates() {
    isCandidate_.assign(loops_.size(), false);
    waits_.assign(loops_.size(), false);
    height_.assign(loops_.size(), 0);
    for (uint32_t b = 0; b < loops_.cfg().size(); ++b) {
      const uint32_t loop = loops_.loopOf(b);
      if (loop == kNoNode) continue;
      for (Operation& op : loops_.cfg().block(b)->ops()) {
        if (isUpdate(op) && accumulates(op)) isCandidate_[loop] = true;
        if (op.form() == ir::Form::AsyncWait) waits_[loop] = true;
      }
    }
    for (uint32_t loop = loops_.size(); loop-- > 0;) {  // Inner loops come after outer ones.
      const uint32_t parent = loops_[loop].parent;
      if (parent != kNoNode) height_[parent] = std::max(height_[parent], height_[loop] + 1);
      if (rules_.chain.between == Between::Stages && !waits_[loop]) isCandidate_[loop] = false;
    }
  }

  // ---- Plans ----

  struct Effect {
    Operation* op;
    uint32_t block;
    bool isOnce;  // Done exactly once in each round that goes around.
  };

  void plan(uint32_t loop) {
    std::vector<uint32_t> blocks(loops_.blocks(loop).begin(), loops_.blocks(loop).end());
    std::sort(blocks.begin(), blocks.end());
    const std::vector<uint32_t> latches = loops_.latches(loop);
    const std::vector<Successor*> exits = loops_.exits(loop);
    Block* const latch = loops_.cfg().block(latches[0]);

    effects_.clear();
    for (uint32_t b : blocks) {
      Block* block = loops_.cfg().block(b);
      const bool isOnce = loops_.loopOf(b) == loop && dominators_->dominates(block, latch);
      for (Operation& op : block->ops()) {
        if (op.info().effect != ir::Effect::None) effects_.push_back({&op, b, isOnce});
      }
    }
    Plan p{loop, loops_.cfg().block(loops_[loop].header), nullptr, false, {}};
    collect(loop, p.accumulators);
    if (p.accumulators.empty()) return;

    const Blocked shape = shapeOf(loop, latches, exits, p);
    std::vector<Accumulator> carried;
    for (Accumulator& acc : p.accumulators) {
      if (acc.afresh) continue;
      Blocked why = shape;
      if (!why) why = acc.blocked;
      if (!why) why = checkExit(p, acc, exits[0]->owner()->block());
      if (!why) why = checkRound(acc);
      if (!why) why = checkEntry(p, acc);
      if (!why) {
        carried.push_back(std::move(acc));
      } else if (context_.wantsRemarks()) {
        context_.remark(rules_.chain.missed, function_, why.op->loc(), {describe(why)});
      }
    }
    if (carried.empty()) return;
    p.accumulators = std::move(carried);
    Block* behind = p.exit->block();
    if (behind->singlePredecessor() && !p.needsGuard) {
      for (const Accumulator& acc : p.accumulators) committed_[behind].push_back(acc.home);
    }
    plans_.push_back(std::move(p));
  }

  // The accumulators of the loop, in the order of their first update.
  void collect(uint32_t loop, std::vector<Accumulator>& out) {
    absl::flat_hash_map<const Value*, size_t> byPointer;
    for (size_t i = 0; i < effects_.size(); ++i) {
      Operation& op = *effects_[i].op;
      const bool isCommit = op.form() == ir::Form::AccCommit;
      if ((!isUpdate(op) && !isCommit) || loops_.loopOf(effects_[i].block) != loop) continue;
      Matrix home;
      if (isCommit) {
        const Matrix* known = homes_.find(op.operand(0));
        if (!known) continue;
        home = *known;
      } else {
        home = outputOf(op);
      }
      auto [it, isNew] = byPointer.try_emplace(home.pointer, out.size());
      if (isNew) {
        if (out.size() == kMaxAccumulators) {
          byPointer.erase(it);
          continue;
        }
        out.push_back({home, {}, {}, false, isCommit || !accumulates(op), false, {}});
      }
      Accumulator& acc = out[it->second];
      if (!acc.afresh && !acc.blocked) acc.blocked = add(loop, acc, op, effects_[i].isOnce);
      acc.at.push_back(i);
      acc.updates.push_back(&op);
      acc.held = op.opcode() == Opcode::TensorAccBegin;
    }
  }

  // One more update of an accumulator.
  Blocked add(uint32_t loop, const Accumulator& acc, const Operation& op, bool isOnce) {
    if (!isOnce) return {Obstacle::Conditional, &op};
    if (op.form() == ir::Form::AccCommit) {
      if (!acc.held) return {Obstacle::Access, &op};
      return {};
    }
    if (acc.held) return {Obstacle::Access, &op};
    if (!loops_.isInvariant(loop, acc.home.pointer) ||
        (acc.home.leading.value && !loops_.isInvariant(loop, acc.home.leading.value))) {
      return {Obstacle::Varying, &op};
    }
    if (Blocked why = continues(op, acc.home)) return why;
    if (op.opcode() != Opcode::TensorMma) return {};
    if (Blocked why = mayBeStep(op)) return why;
    for (const Operation* other : acc.updates) {
      if (other->opcode() != Opcode::TensorMma) continue;
      if (!sameArithmetic(other->mmaDesc(), op.mmaDesc())) return {Obstacle::Arithmetic, &op};
      break;
    }
    return {};
  }

  Blocked shapeOf(uint32_t loop, const std::vector<uint32_t>& latches,
                  const std::vector<Successor*>& exits, Plan& p) const {
    if (loops_[loop].irreducible) return {Obstacle::Entries, p.header->terminator()};
    if (latches.size() != 1) {
      return {Obstacle::Latches, loops_.cfg().block(latches[1])->terminator()};
    }
    if (exits.empty()) return {Obstacle::NoExit, p.header->terminator()};
    if (exits.size() != 1) return {Obstacle::Exits, exits[1]->owner()};
    p.exit = exits[0];
    return {};
  }

  // Where the loop is left: after all updates of a round, or in the head before all.
  Blocked checkExit(const Plan& p, Accumulator& acc, const Block* from) {
    if (acc.held) return {Obstacle::Access, acc.updates.back()};
    if (dominators_->dominates(acc.updates.back()->block(), from)) return {};
    acc.exitsEarly = true;
    if (from != p.header) return {Obstacle::ExitBetween, p.exit->owner()};
    for (const Effect& effect : effects_) {
      if (loops_.cfg().block(effect.block) == p.header) return {Obstacle::BeforeTest, effect.op};
    }
    return {};
  }

  // Passes effects first … last-1; what is within a tile of its own is not looked at.
  Blocked passAll(Gap& gap, size_t first, size_t last) const {
    for (size_t i = first; i < last; ++i) {
      const Effect& effect = effects_[i];
      const ir::Form form = effect.op->form();
      if (rules_.chain.between == Between::Stages && !effect.isOnce &&
          (form == ir::Form::AsyncWait || form == ir::Form::Barrier)) {
        return {Obstacle::Conditional, effect.op};
      }
      if (Blocked why = gap.pass(*effect.op)) return why;
      if (effect.isOnce || form != ir::Form::AsyncCommit) continue;
      // Perhaps in a loop: as many groups as there can be.
      for (int n = 0; n < 8; ++n) gap.pass(*effect.op);
    }
    return {};
  }

  // From the last update of a round on to that of the next.
  Blocked checkRound(const Accumulator& acc) const {
    Gap gap(acc.home, rules_.chain.between, homes_);
    if (Blocked why = passAll(gap, acc.at.back() + 1, effects_.size())) return why;
    if (Blocked why = gap.end()) return why;
    if (Blocked why = passAll(gap, 0, acc.at[0])) return why;
    if (Blocked why = gap.update()) return why;
    for (size_t i = 1; i < acc.at.size(); ++i) {
      if (acc.updates[i - 1]->opcode() == Opcode::TensorAccBegin) continue;
      if (Blocked why = passAll(gap, acc.at[i - 1] + 1, acc.at[i])) return why;
      if (Blocked why = gap.update()) return why;
    }
    return {};
  }

  // Before the first round: that nobody else writes the matrix between the beginning of the tile
  // and the first update, and that it is touched only if the loop does.
  Blocked checkEntry(Plan& p, const Accumulator& acc) {
    if (isUpdatedBefore(p, acc)) return {};
    Gap gap(acc.home, rules_.chain.between, homes_);
    passAll(gap, 0, acc.at[0]);
    if (gap.ordered()) return {Obstacle::FirstHandoff, gap.ordered()};
    if (!acc.exitsEarly) return {};
    const auto counted = analysis::matchCountedLoop(loops_, p.loop);
    if (counted && counted->backEdges && *counted->backEdges > 0) return {};
    for (Operation& op : p.header->ops()) {
      if (!ir::isPure(op) && !op.isTerminator()) return {Obstacle::BeforeTest, &op};
    }
    p.needsGuard = true;
    return {};
  }

  // Right in front of the loop there is an update of the same matrix that the first one in the loop
  // may continue, or the end of a loop that carries it.
  bool isUpdatedBefore(const Plan& p, const Accumulator& acc) const {
    const uint32_t before = loops_.preheader(p.loop);
    if (before == kNoNode) return false;
    Block* block = loops_.cfg().block(before);
    const Operation* from = nullptr;
    for (Operation* op = block->back(); op && !from; op = op->prev()) {
      if (op->opcode() == Opcode::TensorMma && op->slot(Slot::D) == acc.home.pointer) {
        if (outputOf(*op) != acc.home || mayBeStep(*op)) return false;
        const Operation& first = *acc.updates[0];
        if (first.opcode() == Opcode::TensorMma &&
            !sameArithmetic(op->mmaDesc(), first.mmaDesc())) {
          return false;
        }
        from = op;
      } else if (op->form() == ir::Form::AccCommit) {
        const Matrix* home = homes_.find(op->operand(0));
        if (home && *home == acc.home) from = op;
      } else if (Gap gap(acc.home, rules_.chain.between, homes_);
                 op->info().effect != ir::Effect::None && gap.pass(*op) &&
                 op->form() != ir::Form::Barrier) {
        return false;
      }
    }
    if (!from) {
      auto it = committed_.find(block);
      if (it == committed_.end() ||
          std::find(it->second.begin(), it->second.end(), acc.home) == it->second.end()) {
        return false;
      }
    }
    Gap gap(acc.home, rules_.chain.between, homes_);
    for (Operation* op = from ? from->next() : block->front(); op; op = op->next()) {
      if (gap.pass(*op)) return false;
    }
    return !passAll(gap, 0, acc.at[0]) && !gap.update();
  }

  // ---- Changes ----

  bool isInside(const Block* block, uint32_t loop) const {
    uint32_t l =
        block->scratch & kNewBlock ? block->scratch & ~kNewBlock : loops_.loopOf(block->scratch);
    if (l == kNoLoop) l = kNoNode;
    while (l != kNoNode && loops_[l].depth > loops_[loop].depth) l = loops_[l].parent;
    return l == loop;
  }

  Block* newBlock(uint32_t aroundLoop, Block* after, SourceLoc loc) {
    Block* made = function_.addBlock({}, loc);
    const uint32_t parent = loops_[aroundLoop].parent;
    made->scratch = kNewBlock | (parent == kNoNode ? kNoLoop : parent);
    made->moveAfter(after);
    return made;
  }

  void jump(Block* from, Block* to, std::span<Value* const> args, SourceLoc loc) {
    const ir::Module::Edge edges[] = {{to, args}};
    ir::Module::append(from, function_.module().makeTerminator(Opcode::Jump, {}, edges, loc));
  }

  // The block that jumps to the head, and nothing else enters the loop.
  Block* preheader(const Plan& p) {
    std::vector<Successor*> entering;
    for (Successor* s = p.header->firstPredecessor(); s; s = s->nextPredecessor()) {
      if (!isInside(s->owner()->block(), p.loop)) entering.push_back(s);
    }
    if (entering.size() == 1 && entering[0]->owner()->opcode() == Opcode::Jump) {
      return entering[0]->owner()->block();
    }
    const SourceLoc loc = entering[0]->owner()->loc();
    Block* made = newBlock(p.loop, p.header->prev(), p.header->loc());
    std::vector<Value*> args;
    for (Value* arg : p.header->args()) args.push_back(made->addArg(arg->type(), arg->name()));
    std::reverse(entering.begin(), entering.end());
    for (Successor* s : entering) s->owner()->setSuccessorBlock(s->index(), made);
    jump(made, p.header, args, loc);
    return made;
  }

  void apply(Plan& p) {
    Block* before = preheader(p);
    Block* behind = p.exit->block()->singlePredecessor() ? p.exit->block() : nullptr;
    if (p.needsGuard) {
      before = guard(p, before, behind);
    } else if (!behind) {
      behind = splitExit(p);
    }
    Operation* const firstBehind = behind->front();
    for (Accumulator& acc : p.accumulators) {
      if (context_.wantsRemarks()) {
        context_.remark(rules_.chain.applied, function_, acc.updates[0]->loc());
      }
      context_.count(rules_.loops);
      carry(p, acc, before, firstBehind);
    }
    joinBlock(*before, rules_.chain, quiet_, homes_);
  }

  void carry(const Plan& p, Accumulator& acc, Block* before, Operation* firstBehind) {
    const SourceLoc loc = acc.updates.back()->loc();
    Operation* begin = makeBegin(*acc.updates[0], true);
    ir::Module::insertBefore(before->terminator(), begin);
    Value* tile = p.header->addArg(begin->resultType());
    homes_.set(begin->result(), acc.home);
    homes_.set(tile, acc.home);
    Value* next = joinUpdates(acc.updates, tile, false, acc.home, homes_);
    for (Successor* s = p.header->firstPredecessor(); s; s = s->nextPredecessor()) {
      const bool isEntry = s->owner()->block() == before;
      s->owner()->appendSuccessorArg(s->index(), isEntry ? begin->result() : next);
    }
    ir::Module::insertBefore(firstBehind,
                             makeCommit(function_.module(), acc.exitsEarly ? tile : next, loc));
  }

  // A block on the edge that leaves the loop.
  Block* splitExit(const Plan& p) {
    Operation* term = p.exit->owner();
    Block* to = p.exit->block();
    Block* made = newBlock(p.loop, term->block(), to->loc());
    std::vector<Value*> args;
    const unsigned edge = p.exit->index();
    for (unsigned i = 0; i < p.exit->argCount(); ++i) args.push_back(term->successorArg(edge, i));
    jump(made, to, args, term->loc());
    term->setSuccessorArgs(edge, {});
    term->setSuccessorBlock(edge, made);
    return made;
  }

  // Tests once in front of the loop, with the values of the first round, whether there is a round.
  // Gives the block between the test and the loop; `behind` becomes the block where the loop ends,
  // which goes on to the one where the ways with and without the loop meet.
  Block* guard(const Plan& p, Block* before, Block*& behind) {
    Operation* test = p.header->terminator();
    const unsigned exit = p.exit->index();
    Operation* enter = before->terminator();
    absl::flat_hash_map<const Value*, Value*> first;
    for (unsigned i = 0; i < p.header->argCount(); ++i) {
      first[p.header->arg(i)] = enter->successorArg(0, i);
    }
    auto firstOf = [&](Value* v) {
      auto it = first.find(v);
      return it == first.end() ? v : it->second;
    };
    for (Operation& op : p.header->ops()) {
      if (op.isTerminator()) break;
      std::vector<Value*> operands;
      for (unsigned i = 0; i < op.operandCount(); ++i) operands.push_back(firstOf(op.operand(i)));
      Operation* copy = function_.module().makeOp({.opcode = op.opcode(),
                                                   .result = op.resultType(),
                                                   .operands = operands,
                                                   .elem = op.elemType(),
                                                   .payload = op.payload(),
                                                   .fastMath = op.fastMath(),
                                                   .loc = op.loc()});
      ir::Module::insertBefore(enter, copy);
      first[op.result()] = copy->result();
    }

    // What code behind the loop sees of it, other than by arguments of the exit's target, comes by
    // arguments of a block where both ways meet.
    auto isSeenBehind = [&](const Value* v) {
      for (ir::Use* u = v->firstUse(); u; u = u->next()) {
        if (!isInside(u->owner()->block(), p.loop)) return true;
      }
      return false;
    };
    std::vector<Value*> seen;
    for (Value* arg : p.header->args()) {
      if (isSeenBehind(arg)) seen.push_back(arg);
    }
    for (Operation& op : p.header->ops()) {
      if (op.result() && isSeenBehind(op.result())) seen.push_back(op.result());
    }

    Block* target = p.exit->block();
    Block* begins = newBlock(p.loop, before, p.header->loc());
    Block* ends = newBlock(p.loop, p.header, target->loc());
    // Arguments on the way through the loop, and on that around it.
    std::vector<Value*> through, around;
    for (unsigned i = 0; i < p.exit->argCount(); ++i) {
      through.push_back(test->successorArg(exit, i));
      around.push_back(firstOf(through.back()));
    }
    if (!seen.empty()) {
      Block* meet = newBlock(p.loop, ends, target->loc());
      std::vector<Value*> passedOn;
      for (size_t i = 0; i < through.size(); ++i) {
        passedOn.push_back(meet->addArg(through[i]->type()));
      }
      for (Value* v : seen) {
        through.push_back(v);
        around.push_back(firstOf(v));
        Value* arg = meet->addArg(v->type(), v->name());
        std::vector<ir::Use*> behindUses;
        for (ir::Use* u = v->firstUse(); u; u = u->next()) {
          if (!isInside(u->owner()->block(), p.loop)) behindUses.push_back(u);
        }
        for (ir::Use* u : behindUses) u->set(arg);
      }
      jump(meet, target, passedOn, test->loc());
      target = meet;
    }
    jump(ends, target, through, test->loc());
    test->setSuccessorArgs(exit, {});
    test->setSuccessorBlock(exit, ends);

    std::vector<Value*> entering;
    for (unsigned i = 0; i < p.header->argCount(); ++i) {
      entering.push_back(enter->successorArg(0, i));
    }
    jump(begins, p.header, entering, enter->loc());
    Value* const condition[] = {firstOf(test->operand(0))};
    const ir::Module::Edge past{target, around}, into{begins, {}};
    const ir::Module::Edge edges[] = {exit == 0 ? past : into, exit == 0 ? into : past};
    Operation* decide =
        function_.module().makeTerminator(Opcode::Br, condition, edges, test->loc());
    enter->erase();
    ir::Module::append(before, decide);
    behind = ends;
    return begins;
  }

  ir::Function& function_;
  const LoopRules& rules_;
  PassContext& context_;
  PassContext quiet_;  // For joining what belongs to a remark that was made.
  TileHomes& homes_;
  const LoopForest& loops_;
  const ir::DominatorTree* dominators_ = nullptr;  // While planning: it uses Block::scratch.
  std::vector<bool> isCandidate_, waits_;
  std::vector<uint32_t> height_;  // Levels of loops inside.
  std::vector<Effect> effects_;   // Of the loop that is planned, in the order of a round.
  std::vector<Plan> plans_;
  // By block behind a loop that is planned: what will be committed at its beginning.
  absl::flat_hash_map<const Block*, std::vector<Matrix>> committed_;
};

}  // namespace

Change carryAroundLoops(ir::Function& function, const LoopRules& rules, PassContext& context,
                        TileHomes& homes) {
  if (context.analyses().loops(function).size() == 0) return Change::None;
  return LoopResidency(function, rules, context, homes).run();
}

Change runTensorLoop(ir::Function& unit, PassContext& context) {
  if (!hasProducts(unit)) return Change::None;
  constexpr LoopRules kRules{{Between::Registers, RemarkId::LoopCarried, RemarkId::LoopMissed,
                              Stat::UpdatesChained, false},
                             Stat::LoopsCarried};
  TileHomes homes(unit);
  return carryAroundLoops(unit, kRules, context, homes);
}

Change runTensorPipeline(ir::Function& unit, PassContext& context) {
  if (!hasProducts(unit)) return Change::None;
  constexpr ChainRules kInBlock{Between::Stages, RemarkId::PipelineMade, RemarkId::PipelineMissed,
                                Stat::StagesJoined, true};
  constexpr LoopRules kAround{{Between::Stages, RemarkId::PipelineCarried,
                               RemarkId::PipelineLoopMissed, Stat::StagesJoined, false},
                              Stat::PipelinesCarried};
  TileHomes homes(unit);
  bool joined = false;
  for (Block& block : unit.blocks()) joined |= joinBlock(block, kInBlock, context, homes);
  return max(joined ? Change::Values : Change::None,
             carryAroundLoops(unit, kAround, context, homes));
}

}  // namespace mtlc::transforms
