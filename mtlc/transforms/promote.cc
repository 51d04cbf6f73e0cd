// promote: private slots become SSA values.
//
//   %x = alloc.private i32[1]            ^entry:
//   store i32, %a, %x                      br %c, ^then, ^join(%a)
//   br %c, ^then, ^join                  ^then:
// ^then:                            →      jump ^join(%b)
//   store i32, %b, %x                    ^join(%x: i32):
//   jump ^join                             use %x
// ^join:
//   %v = load i32, %x
//   use %v
//
// A slot is one element of an alloc.private whose address is used for loads and stores of that
// element only, at constant offsets. Within a block, loads see the last store directly; for what is
// left, block arguments are placed on the iterated dominance frontier of the stores, where the slot
// is live (Sreedhar and Gao, "A linear time algorithm for placing φ-nodes", 1995), and one walk of
// the dominator tree renames. A slot costs as much as it is live in blocks, and nothing where one
// store dominates all loads.
//
// A load that no store reaches reads uninitialised memory, which is undefined; it becomes 0.

#include <algorithm>
#include <queue>
#include <string>
#include <vector>

#include "mtlc/transforms/pass.h"
#include "mtlc/transforms/utils.h"

namespace mtlc::transforms {
namespace {

using ir::Block;
using ir::Opcode;
using ir::Operation;
using ir::Successor;
using ir::Type;
using ir::Use;
using ir::Value;

constexpr uint32_t kNone = ~0u;

struct Slot {
  Operation* alloc;
  Type type;
};

// A load of a slot before any store of its block, or the last store of a slot in a block.
struct Access {
  uint32_t slot;
  uint32_t block;  // RPO number.
  Operation* op;
};

class Promoter {
 public:
  Promoter(ir::Function& function, PassContext& context)
      : function_(function), context_(context), pool_(function) {}

  Change run() {
    if (!hasPrivateStorage()) return Change::None;
    const bool removed = removeUnreachableBlocks(function_) > 0;
    if (removed) context_.analyses().invalidate(function_, Change::Cfg);
    collectSlots();
    if (slots_.empty()) return removed ? Change::Cfg : Change::None;
    const ir::DominatorTree& tree = context_.analyses().dominators(function_);
    rpo_ = tree.rpo();
    forwardWithinBlocks();
    if (!exposed_.empty()) renameAcrossBlocks(tree);
    for (const Access& a : stores_) a.op->erase();
    for (auto it = addresses_.rbegin(); it != addresses_.rend(); ++it) (*it)->erase();
    context_.count(Stat::SlotsPromoted, slots_.size());
    return removed ? Change::Cfg : Change::Values;
  }

 private:
  static bool isAccess(const Operation* op) {
    return op->opcode() == Opcode::Load || op->opcode() == Opcode::Store;
  }

  bool hasPrivateStorage() const {
    for (Operation& op : function_.entry()->ops()) {
      if (op.opcode() == Opcode::AllocPrivate) return true;
    }
    return false;
  }

  void collectSlots() {
    for (Block& block : function_.blocks()) {
      for (Operation& op : block.ops()) op.scratch = kNone;
    }
    for (Operation& op : function_.entry()->ops()) {
      if (op.opcode() == Opcode::AllocPrivate) considerAlloc(op);
    }
  }

  std::string nameOf(const Operation& alloc) const {
    std::string name(const_cast<Operation&>(alloc).result()->name());
    return name.empty() ? "slot" : name;
  }

  // Walks the addresses derived from `alloc`. If all uses fit, numbers its slots and marks every
  // access with its slot (Operation::scratch).
  void considerAlloc(Operation& alloc) {
    const uint64_t count = alloc.allocCount();
    const uint64_t limit = static_cast<uint64_t>(context_.option(OptionId::PromoteMaxElements));
    if (count > limit) {
      context_.remark(RemarkId::SlotTooLong, function_, alloc.loc(), {nameOf(alloc), count, limit});
      return;
    }
    const Type elem = alloc.elemType();
    const uint64_t size = elem.bytes();
    struct Derived {
      Value* address;
      uint64_t offset;
    };
    std::vector<Derived> work = {{alloc.result(), 0}};
    std::vector<std::pair<Operation*, uint32_t>> accesses;
    std::vector<Operation*> addresses;
    while (!work.empty()) {
      Derived d = work.back();
      work.pop_back();
      for (Use* use = d.address->firstUse(); use; use = use->next()) {
        Operation* user = use->owner();
        if (user->opcode() == Opcode::PtrAdd && use->index() == 0) {
          const Operation* index = ir::asConst(user->operand(1));
          if (!index) {
            context_.remark(RemarkId::SlotDynamicIndex, function_, user->loc(), {nameOf(alloc)});
            return;
          }
          work.push_back(
              {user->result(), d.offset + index->constBits() * user->elemType().bytes()});
          addresses.push_back(user);
          continue;
        }
        const bool isAddress =
            isAccess(user) && use->index() == (user->opcode() == Opcode::Load ? 0u : 1u);
        if (!isAddress) {
          context_.remark(RemarkId::SlotAddressEscapes, function_, user->loc(),
                          {nameOf(alloc), user->info().mnemonic});
          return;
        }
        if (user->mem().isVolatile) {
          context_.remark(RemarkId::SlotVolatile, function_, user->loc(), {nameOf(alloc)});
          return;
        }
        if (user->elemType() != elem || d.offset % size != 0 || d.offset / size >= count) {
          context_.remark(RemarkId::SlotMixedTypes, function_, user->loc(),
                          {nameOf(alloc), ir::typeName(user->elemType()), ir::typeName(elem)});
          return;
        }
        accesses.push_back({user, static_cast<uint32_t>(d.offset / size)});
      }
    }
    const uint32_t first = static_cast<uint32_t>(slots_.size());
    for (uint64_t i = 0; i < count; ++i) slots_.push_back({&alloc, elem});
    for (const auto& [op, element] : accesses) op->scratch = first + element;
    addresses_.push_back(&alloc);
    addresses_.insert(addresses_.end(), addresses.begin(), addresses.end());
    if (context_.wantsRemarks()) {
      context_.remark(RemarkId::SlotPromoted, function_, alloc.loc(), {nameOf(alloc)});
    }
  }

  // Leaves, for each block and slot, at most one load (that sees the value at the block's start)
  // and the last store.
  void forwardWithinBlocks() {
    std::vector<uint32_t> seenIn(slots_.size(), kNone);
    std::vector<Value*> current(slots_.size());
    std::vector<Operation*> lastStore(slots_.size());
    std::vector<uint32_t> touched;
    for (uint32_t b = 0; b < rpo_.size(); ++b) {
      touched.clear();
      for (Operation& op : rpo_[b]->ops()) {
        const uint32_t slot = op.scratch;
        if (slot == kNone || !isAccess(&op)) continue;
        if (seenIn[slot] != b) {
          seenIn[slot] = b;
          touched.push_back(slot);
          current[slot] = nullptr;
          lastStore[slot] = nullptr;
        }
        if (op.opcode() == Opcode::Load) {
          if (current[slot]) {
            op.result()->replaceAllUsesWith(current[slot]);
            op.erase();
            context_.count(Stat::LoadsForwarded);
          } else {
            current[slot] = op.result();
            exposed_.push_back({slot, b, &op});
          }
        } else {
          if (lastStore[slot]) lastStore[slot]->erase();
          lastStore[slot] = &op;
          current[slot] = op.operand(0);
        }
      }
      for (uint32_t slot : touched) {
        if (lastStore[slot]) stores_.push_back({slot, b, lastStore[slot]});
      }
    }
  }

  // Both lists are in block order; this gives, for one list, the entries of each slot.
  struct BySlot {
    std::vector<uint32_t> start, item;
    BySlot(const std::vector<Access>& list, size_t slots) : start(slots + 1), item(list.size()) {
      for (const Access& a : list) ++start[a.slot + 1];
      for (size_t i = 1; i < start.size(); ++i) start[i] += start[i - 1];
      std::vector<uint32_t> at(start.begin(), start.end() - 1);
      for (uint32_t i = 0; i < list.size(); ++i) item[at[list[i].slot]++] = i;
    }
    std::span<const uint32_t> of(uint32_t slot) const {
      return {item.data() + start[slot], start[slot + 1] - start[slot]};
    }
  };

  void renameAcrossBlocks(const ir::DominatorTree& tree) {
    buildTree(tree);
    BySlot loads(exposed_, slots_.size());
    BySlot stores(stores_, slots_.size());
    newArgs_.resize(rpo_.size());
    for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
      if (loads.of(slot).empty() || stores.of(slot).empty()) continue;
      if (hasDominatingStore(loads.of(slot), stores.of(slot), tree)) continue;
      placeArguments(slot, loads.of(slot), stores.of(slot));
    }
    rename();
  }

  void buildTree(const ir::DominatorTree& tree) {
    const size_t n = rpo_.size();
    level_.assign(n, 0);
    parent_.assign(n, kNone);
    firstChild_.assign(n, kNone);
    nextSibling_.assign(n, kNone);
    for (uint32_t b = 1; b < n; ++b) {
      parent_[b] = tree.idom(rpo_[b])->scratch;
      level_[b] = level_[parent_[b]] + 1;
    }
    for (uint32_t b = static_cast<uint32_t>(n) - 1; b >= 1; --b) {
      nextSibling_[b] = firstChild_[parent_[b]];
      firstChild_[parent_[b]] = b;
    }
    firstLiveChild_.assign(n, kNone);
    nextLiveSibling_.assign(n, kNone);
    childStamp_.assign(n, kNone);
    liveStamp_.assign(n, kNone);
    defStamp_.assign(n, kNone);
    argStamp_.assign(n, kNone);
    visitStamp_.assign(n, kNone);
  }

  // Then no argument is needed.
  bool hasDominatingStore(std::span<const uint32_t> loads, std::span<const uint32_t> stores,
                          const ir::DominatorTree& tree) const {
    if (stores.size() != 1) return false;
    const uint32_t store = stores_[stores[0]].block;
    return std::all_of(loads.begin(), loads.end(), [&](uint32_t i) {
      const uint32_t load = exposed_[i].block;  // In the store's block it comes before the store.
      return load != store && tree.dominates(rpo_[store], rpo_[load]);
    });
  }

  // Stamps the blocks at whose start the slot is live, and links those that have the same immediate
  // dominator.
  void findLiveBlocks(uint32_t slot, std::span<const uint32_t> loads) {
    std::vector<uint32_t>& work = work_;
    work.clear();
    auto reach = [&](uint32_t b) {
      if (liveStamp_[b] == slot) return;
      liveStamp_[b] = slot;
      work.push_back(b);
      const uint32_t parent = parent_[b];
      if (parent == kNone) return;
      if (childStamp_[parent] != slot) {
        childStamp_[parent] = slot;
        firstLiveChild_[parent] = kNone;
      }
      nextLiveSibling_[b] = firstLiveChild_[parent];
      firstLiveChild_[parent] = b;
    };
    for (uint32_t i : loads) reach(exposed_[i].block);
    while (!work.empty()) {
      uint32_t b = work.back();
      work.pop_back();
      for (Successor* s = rpo_[b]->firstPredecessor(); s; s = s->nextPredecessor()) {
        uint32_t p = s->owner()->block()->scratch;
        if (defStamp_[p] != slot) reach(p);
      }
    }
  }

  void placeArguments(uint32_t slot, std::span<const uint32_t> loads,
                      std::span<const uint32_t> stores) {
    for (uint32_t i : stores) defStamp_[stores_[i].block] = slot;
    findLiveBlocks(slot, loads);
    std::vector<uint32_t>& work = work_;
    // The iterated dominance frontier, deepest definitions first.
    auto shallower = [this](uint32_t a, uint32_t b) {
      return level_[a] != level_[b] ? level_[a] < level_[b] : a > b;
    };
    std::priority_queue<uint32_t, std::vector<uint32_t>, decltype(shallower)> queue(shallower);
    for (uint32_t i : stores) queue.push(stores_[i].block);
    while (!queue.empty()) {
      const uint32_t root = queue.top();
      queue.pop();
      if (visitStamp_[root] == slot) continue;
      visitStamp_[root] = slot;
      work.assign(1, root);
      while (!work.empty()) {
        uint32_t b = work.back();
        work.pop_back();
        for (Successor& s : rpo_[b]->terminator()->successors()) {
          uint32_t to = s.block()->scratch;
          if (level_[to] > level_[root] || argStamp_[to] == slot || liveStamp_[to] != slot)
            continue;
          argStamp_[to] = slot;
          newArgs_[to].push_back({slot, nullptr});
          if (defStamp_[to] != slot) queue.push(to);
        }
        // An edge to where the slot is live comes from a definition or from a block where it is
        // live, and so are all blocks on the way down to that one, unless a definition is among
        // them, whose own turn has been.
        if (childStamp_[b] != slot) continue;
        for (uint32_t c = firstLiveChild_[b]; c != kNone; c = nextLiveSibling_[c]) {
          if (visitStamp_[c] == slot) continue;
          visitStamp_[c] = slot;
          work.push_back(c);
        }
      }
    }
  }

  Value* zero(uint32_t slot) { return pool_.get(slots_[slot].type, 0); }

  void rename() {
    for (uint32_t b = 0; b < rpo_.size(); ++b) {
      for (NewArg& a : newArgs_[b]) {
        a.value = rpo_[b]->addArg(slots_[a.slot].type, slots_[a.slot].alloc->result()->name());
        context_.count(Stat::ArgumentsMade);
      }
    }
    // The lists are ordered by block.
    std::vector<uint32_t> loadStart = startByBlock(exposed_), storeStart = startByBlock(stores_);
    std::vector<Value*> current(slots_.size(), nullptr);
    std::vector<std::pair<uint32_t, Value*>> undo;
    struct Frame {
      uint32_t block;
      uint32_t child;
      size_t undo;
    };
    auto assign = [&](uint32_t slot, Value* value) {
      undo.push_back({slot, current[slot]});
      current[slot] = value;
    };
    auto enter = [&](uint32_t b) {
      for (const NewArg& a : newArgs_[b]) assign(a.slot, a.value);
      for (uint32_t i = loadStart[b]; i < loadStart[b + 1]; ++i) {
        const Access& a = exposed_[i];
        Value* value = current[a.slot] ? current[a.slot] : zero(a.slot);
        a.op->result()->replaceAllUsesWith(value);
        a.op->erase();
        context_.count(Stat::LoadsForwarded);
      }
      for (uint32_t i = storeStart[b]; i < storeStart[b + 1]; ++i) {
        assign(stores_[i].slot, stores_[i].op->operand(0));
      }
      passArguments(rpo_[b], current);
    };
    std::vector<Frame> stack;
    enter(0);
    stack.push_back({0, firstChild_[0], 0});
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.child == kNone) {
        while (undo.size() > top.undo) {
          current[undo.back().first] = undo.back().second;
          undo.pop_back();
        }
        stack.pop_back();
        continue;
      }
      uint32_t b = top.child;
      top.child = nextSibling_[b];
      size_t mark = undo.size();
      enter(b);
      stack.push_back({b, firstChild_[b], mark});
    }
  }

  std::vector<uint32_t> startByBlock(const std::vector<Access>& list) const {
    std::vector<uint32_t> start(rpo_.size() + 1, 0);
    for (const Access& a : list) ++start[a.block + 1];
    for (size_t i = 1; i < start.size(); ++i) start[i] += start[i - 1];
    return start;
  }

  void passArguments(Block* block, const std::vector<Value*>& current) {
    Operation* term = block->terminator();
    for (unsigned i = 0; i < term->successorCount(); ++i) {
      const std::vector<NewArg>& wanted = newArgs_[term->successor(i).block()->scratch];
      if (wanted.empty()) continue;
      std::vector<Value*> args;
      for (unsigned k = 0; k < term->successor(i).argCount(); ++k) {
        args.push_back(term->successorArg(i, k));
      }
      for (const NewArg& a : wanted) {
        args.push_back(current[a.slot] ? current[a.slot] : zero(a.slot));
      }
      term->setSuccessorArgs(i, args);
    }
  }

  struct NewArg {
    uint32_t slot;
    Value* value;
  };

  ir::Function& function_;
  PassContext& context_;
  ConstantPool pool_;
  std::vector<Slot> slots_;
  std::vector<Operation*>
      addresses_;  // Allocations and ptr.adds of promoted slots; users after what they use.
  std::vector<Block*> rpo_;
  std::vector<Access> exposed_;
  std::vector<Access> stores_;
  std::vector<uint32_t> level_, parent_, firstChild_, nextSibling_;
  // By block: the last slot it holds for; the last says of which slot the live children are.
  std::vector<uint32_t> liveStamp_, defStamp_, argStamp_, visitStamp_, childStamp_;
  std::vector<uint32_t> firstLiveChild_, nextLiveSibling_;
  std::vector<uint32_t> work_;
  std::vector<std::vector<NewArg>> newArgs_;
};

}  // namespace

Change runPromote(ir::Function& unit, PassContext& context) {
  return Promoter(unit, context).run();
}

}  // namespace mtlc::transforms
