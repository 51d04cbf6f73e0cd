// make-reducible: every loop gets one header.
//
//   before                                   after
//     ^a:  br %c, ^x(%p), ^y                   ^a:  br %c, ^d(0, %p), ^d(1, %zero)
//     ^x(%q: f32):                             ^d(%way: i32, %f: f32):
//          br %k, ^y, ^out                          %first = cmp.eq %way, 0
//     ^y:  jump ^x(%r)                              br %first, ^x(%f), ^y
//                                              ^x(%q: f32):
//                                                   br %k, ^d(1, %zero), ^out
//                                              ^y:  jump ^d(0, %r)
//
// Edges into the entries of an irreducible loop lead to a new block that knows the way on. The
// loops are those of Havlak's forest, inner ones first. An entry that is the header of an inner
// loop keeps the edges from there, so that loop stays. Then each way round a loop passes its
// header: entries are reached from the new block only, and the rest of the loop is acyclic up to
// inner loops. Whatever dominated a block still does: a path through the new block that was none
// before ends like a path that was one, from outside the loop into the same entry. No operation is
// copied or moved.
//
// For code generators of targets whose compilers want reducible graphs; nothing in the pipelines
// needs it. Linear in edges times the nesting of irreducible loops.

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "mtlc/ir/builder.h"
#include "mtlc/transforms/pass.h"
#include "mtlc/transforms/utils.h"

namespace mtlc::transforms {
namespace {

using analysis::kNoNode;
using ir::Block;
using ir::Opcode;
using ir::Operation;
using ir::Successor;
using ir::Type;
using ir::Value;

class ReducibleMaker {
 public:
  ReducibleMaker(ir::Function& function, PassContext& context)
      : function_(function),
        context_(context),
        loops_(context.analyses().loops(function)),
        pool_(function),
        builder_(function.module()) {}

  Change run() {
    for (uint32_t i = 0; i < loops_.cfg().size(); ++i) front_.push_back(loops_.cfg().block(i));
    bool changed = false;
    for (uint32_t loop = loops_.size(); loop-- > 0;) {
      if (loops_[loop].irreducible) changed |= merge(loop);
    }
    return changed ? Change::Cfg : Change::None;
  }

 private:
  // The innermost loop around a block, old or new.
  uint32_t loopOf(const Block* block) const {
    const auto made = made_.find(block);
    if (made != made_.end()) return made->second;
    const uint32_t index = loops_.cfg().index(block);
    return index == kNoNode ? kNoNode : loops_.loopOf(index);
  }
  // The loop of the given depth around a block; kNoNode if there is none.
  uint32_t loopAt(uint32_t depth, const Block* block) const {
    uint32_t loop = loopOf(block);
    while (loop != kNoNode && loops_[loop].depth > depth) loop = loops_[loop].parent;
    return loop != kNoNode && loops_[loop].depth == depth ? loop : kNoNode;
  }

  bool merge(uint32_t loop) {
    std::vector<Block*> entries;
    const std::vector<uint32_t> indices = loops_.entries(loop);
    for (uint32_t index : indices) {
      Block* front = front_[index];
      if (std::find(entries.begin(), entries.end(), front) == entries.end()) {
        entries.push_back(front);
      }
    }
    if (entries.size() < 2) return false;  // An inner loop has become the only way in.
    for (const Block* entry : entries) {
      for (const Value* arg : entry->args()) {
        if (arg->type().isTile()) return false;  // There is no other value to pass for a tile.
      }
    }
    const SourceLoc loc = entries[0]->loc();
    Block* head = function_.addBlock({}, loc);
    head->moveAfter(entries[0]->prev());
    made_[head] = loop;
    head->addArg(ir::kI32);
    std::vector<unsigned> firstArg;
    for (const Block* entry : entries) {
      firstArg.push_back(head->argCount());
      for (const Value* arg : entry->args()) head->addArg(arg->type(), arg->name());
    }
    for (size_t way = 0; way < entries.size(); ++way) {
      redirect(loop, entries[way], head, way, firstArg[way]);
    }
    dispatch(loop, head, entries, firstArg);
    for (uint32_t index : indices) front_[index] = head;
    context_.count(Stat::LoopsMadeReducible);
    return true;
  }

  // Edges into `entry` go to `head`, but for those from a loop inside `loop` that it heads.
  void redirect(uint32_t loop, Block* entry, Block* head, size_t way, unsigned firstArg) {
    const uint32_t innerDepth = loops_[loop].depth + 1;
    const uint32_t inner = loopAt(innerDepth, entry);
    std::vector<Successor*> edges;
    for (Successor* s = entry->firstPredecessor(); s; s = s->nextPredecessor()) {
      if (inner == kNoNode || loopAt(innerDepth, s->owner()->block()) != inner) edges.push_back(s);
    }
    for (Successor* edge : edges) {
      Operation* branch = edge->owner();
      const unsigned index = edge->index();
      std::vector<Value*> args = {pool_.get(ir::kI32, way)};
      for (unsigned k = 1; k < head->argCount(); ++k) {
        const bool mine = k >= firstArg && k - firstArg < entry->argCount();
        args.push_back(mine ? branch->successorArg(index, k - firstArg)
                            : pool_.get(head->arg(k)->type(), 0));
      }
      branch->setSuccessorArgs(index, args);
      branch->setSuccessorBlock(index, head);
    }
  }

  // head: way == 0 ? entries[0] : way == 1 ? entries[1] : …
  void dispatch(uint32_t loop, Block* head, const std::vector<Block*>& entries,
                const std::vector<unsigned>& firstArg) {
    auto argsOf = [&](size_t way) {
      const auto first = head->args().begin() + firstArg[way];
      return std::vector<Value*>(first, first + entries[way]->argCount());
    };
    builder_.setLoc(head->loc());
    Value* chosen = head->arg(0);
    if (context_.option(OptionId::ReducibleOpaque) != 0) {
      const ir::MemAttr access = {.align = 4, .isVolatile = true};
      builder_.setInsertBefore(function_.entry()->front());
      Value* slot = builder_.allocPrivate(ir::kI32, 1);
      builder_.setInsertEnd(head);
      builder_.store(ir::kI32, chosen, slot, access);
      chosen = builder_.load(ir::kI32, slot, access);
    }
    Block* at = head;
    for (size_t way = 0; way + 1 < entries.size(); ++way) {
      builder_.setInsertEnd(at);
      Value* taken = builder_.compare(Opcode::CmpEq, chosen, pool_.get(ir::kI32, way));
      const std::vector<Value*> args = argsOf(way);
      if (way + 2 == entries.size()) {
        builder_.br(taken, entries[way], entries[way + 1], args, argsOf(way + 1));
        return;
      }
      Block* next = function_.addBlock({}, head->loc());
      next->moveAfter(at);
      made_[next] = loop;
      builder_.br(taken, entries[way], next, args, {});
      at = next;
    }
  }

  ir::Function& function_;
  PassContext& context_;
  const analysis::LoopForest& loops_;
  ConstantPool pool_;
  ir::Builder builder_;
  std::vector<Block*> front_;  // By block: where edges to it from outside its loops lead now.
  absl::flat_hash_map<const Block*, uint32_t> made_;  // New blocks: their innermost loop.
};

}  // namespace

Change runMakeReducible(ir::Function& unit, PassContext& context) {
  return ReducibleMaker(unit, context).run();
}

}  // namespace mtlc::transforms
