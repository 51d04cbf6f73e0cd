// licm: operations whose operands do not change in a loop move in front of it.
//
// Pure operations move out of every loop that does not define an operand: they have no traps, so
// executing one that the loop would have skipped is only work. Loads move when nothing in the loop
// may write there (no store to overlapping memory, no call, for shared memory no barrier) and the
// loop would execute them in any case; a load that might not have been executed could be out of
// bounds. Barriers and stores stay where they are.

#include <algorithm>
#include <optional>
#include <vector>

#include "mtlc/analysis/loops.h"
#include "mtlc/transforms/memory_classes.h"
#include "mtlc/transforms/pass.h"

namespace mtlc::transforms {
namespace {

using analysis::kNoNode;
using analysis::Loop;
using analysis::LoopForest;
using ir::Block;
using ir::Opcode;
using ir::Operation;
using ir::Successor;
using ir::Value;

class LoopInvariantMotion {
 public:
  LoopInvariantMotion(ir::Function& function, PassContext& context)
      : function_(function), context_(context), loops_(context.analyses().loops(function)) {}

  Change run() {
    if (loops_.size() == 0) return Change::None;
    places_.resize(loops_.size());
    for (Block& block : function_.blocks()) block.scratch = kNewBlock | kNoLoop;
    for (uint32_t b = 0; b < loops_.cfg().size(); ++b) {
      loops_.cfg().block(b)->scratch = b;
    }
    bool anyLoad = false;
    for (uint32_t b = 0; b < loops_.cfg().size(); ++b) {
      if (loops_.loopOf(b) == kNoNode) continue;
      for (Operation& op : loops_.cfg().block(b)->ops()) anyLoad |= op.opcode() == Opcode::Load;
    }
    if (anyLoad) summarizeWrites();
    // Reverse post-order: operands are seen, and moved, before their users.
    for (uint32_t b = 0; b < loops_.cfg().size(); ++b) {
      if (loops_.loopOf(b) == kNoNode) continue;
      for (Operation& op : loops_.cfg().block(b)->ops()) visit(op, b);
    }
    if (!changed_) return Change::None;
    return newBlocks_ ? Change::Cfg : Change::Values;
  }

 private:
  // Block::scratch: the block's number in the loop forest. Preheaders made since, which have none,
  // are marked, with the loop around the one they belong to.
  uint32_t loopOfValue(const Value* v) const {
    const Block* block = v->block();
    if (block->scratch & kNewBlock) return block->scratch & ~kNewBlock;
    return loops_.loopOf(block->scratch);
  }
  static constexpr uint32_t kNewBlock = 1u << 31;
  static constexpr uint32_t kNoLoop = kNewBlock - 1;

  bool definedIn(uint32_t loop, const Value* v) const {
    uint32_t inner = loopOfValue(v);
    while (inner != kNoNode && inner != kNoLoop) {
      if (inner == loop) return true;
      if (loops_[inner].depth < loops_[loop].depth) return false;
      inner = loops_[inner].parent;
    }
    return false;
  }

  bool operandsOutside(const Operation& op, uint32_t loop) const {
    for (unsigned i = 0; i < op.operandCount(); ++i) {
      if (definedIn(loop, op.operand(i))) return false;
    }
    return true;
  }

  void visit(Operation& op, uint32_t block) {
    const bool load = op.opcode() == Opcode::Load && !op.mem().isVolatile;
    if (op.opcode() == Opcode::Const || (!load && !ir::isPure(op))) return;
    uint32_t target = kNoNode;
    for (uint32_t loop = loops_.loopOf(block); loop != kNoNode; loop = loops_[loop].parent) {
      if (!operandsOutside(op, loop)) break;
      if (load && !mayHoistLoad(op, block, loop)) break;
      // A way into the loop past its header: there is no one place before it.
      if (!loops_[loop].irreducible) target = loop;
    }
    if (target == kNoNode) return;
    op.moveBefore(place(target));
    changed_ = true;
    context_.count(load ? Stat::LoadsHoisted : Stat::OperationsHoisted);
    context_.remark(RemarkId::Hoisted, function_, op.loc(), {op.info().mnemonic});
  }

  // ---- Loads ----

  // For each loop the classes of memory it may write, and whether it calls or waits.
  void summarizeWrites() {
    classes_.emplace(function_);
    writes_.assign(loops_.size(), std::vector<bool>(classes_->size()));
    for (uint32_t b = 0; b < loops_.cfg().size(); ++b) {
      const uint32_t innermost = loops_.loopOf(b);
      if (innermost == kNoNode) continue;
      for (Operation& op : loops_.cfg().block(b)->ops()) {
        const ir::Effect effect = op.info().effect;
        if (effect == ir::Effect::None || effect == ir::Effect::Read) continue;
        for (uint32_t c = 0; c < classes_->size(); ++c) {
          const bool hit = op.opcode() == Opcode::Store
                               ? classes_->overlap(classes_->classOf(op.operand(1)), c)
                           : ir::isCall(op) ? classes_->mayCallWrite(c)
                                            : classes_->isShared(c);
          if (hit) writes_[innermost][c] = true;
        }
      }
    }
    for (uint32_t loop = loops_.size(); loop-- > 0;) {  // Inner loops come after outer ones.
      const uint32_t parent = loops_[loop].parent;
      if (parent == kNoNode) continue;
      for (uint32_t c = 0; c < classes_->size(); ++c) {
        if (writes_[loop][c]) writes_[parent][c] = true;
      }
    }
  }

  bool mayHoistLoad(const Operation& load, uint32_t block, uint32_t loop) {
    if (writes_[loop][classes_->classOf(load.operand(0))]) return false;
    return alwaysExecuted(block, loop);
  }

  // True if whoever enters the loop executes the block before leaving it or going around.
  bool alwaysExecuted(uint32_t block, uint32_t loop) {
    // Only the header is certain without looking at paths; it is also where a loop's own test
    // loads.
    return block == loops_[loop].header;
  }

  // ---- Preheaders ----

  Operation* place(uint32_t loop) {
    if (!places_[loop]) places_[loop] = preheader(loop)->terminator();
    return places_[loop];
  }

  Block* preheader(uint32_t loop) {
    Block* header = loops_.cfg().block(loops_[loop].header);
    Block* only = nullptr;
    std::vector<Successor*> entering;
    for (Successor* s = header->firstPredecessor(); s; s = s->nextPredecessor()) {
      Block* from = s->owner()->block();
      if (isInside(from, loop)) continue;
      entering.push_back(s);
      only = from;
    }
    if (entering.size() == 1 && entering[0]->owner()->opcode() == Opcode::Jump) return only;
    // A new block that all edges from outside go through.
    Block* made = function_.addBlock({}, header->loc());
    const uint32_t parent = loops_[loop].parent;
    made->scratch = kNewBlock | (parent == kNoNode ? kNoLoop : parent);
    if (header->prev()) made->moveAfter(header->prev());
    std::vector<Value*> args;
    for (Value* arg : header->args()) args.push_back(made->addArg(arg->type(), arg->name()));
    std::reverse(entering.begin(), entering.end());
    for (Successor* s : entering) s->owner()->setSuccessorBlock(s->index(), made);
    const ir::Module::Edge edges[] = {{header, args}};
    ir::Module::append(made, function_.module().makeTerminator(Opcode::Jump, {}, edges,
                                                               entering[0]->owner()->loc()));
    newBlocks_ = true;
    context_.count(Stat::PreheadersMade);
    return made;
  }

  bool isInside(const Block* block, uint32_t loop) const {
    if (block->scratch & kNewBlock) {
      uint32_t l = block->scratch & ~kNewBlock;
      return l != kNoLoop && (l == loop || isAncestor(loop, l));
    }
    return loops_.contains(loop, block->scratch);
  }
  bool isAncestor(uint32_t outer, uint32_t inner) const {
    while (inner != kNoNode && loops_[inner].depth > loops_[outer].depth) {
      inner = loops_[inner].parent;
    }
    return inner == outer;
  }

  ir::Function& function_;
  PassContext& context_;
  const LoopForest& loops_;
  std::optional<MemoryClasses> classes_;
  std::vector<std::vector<bool>> writes_;  // By loop and class.
  std::vector<Operation*> places_;         // By loop: what goes out of it is put before this.
  bool changed_ = false;
  bool newBlocks_ = false;
};

}  // namespace

Change runLicm(ir::Function& unit, PassContext& context) {
  return LoopInvariantMotion(unit, context).run();
}

}  // namespace mtlc::transforms
