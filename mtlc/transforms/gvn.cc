// gvn: one computation for equal values.
//
// One walk of the dominator tree with a table of the expressions that are available: an operation
// equal to one that dominates it goes. Along the way
//   - below the edge of a branch, its condition is a constant there, and so is what follows from
//   it: after `a < b` was
//     true, `a >= b` is false;
//   - a load of what was loaded or stored before goes, while nothing in between may have written
//   there: no store to
//     overlapping memory, no barrier, no call, no join of control flow;
//   - a store of what the memory holds already, and one that is overwritten before anybody can
//   look, go;
//   - a remainder next to the division of the same operands is computed from the quotient;
//   - of block arguments that get the same values on every edge, one is left.
//
// Barriers are walls for all memory that other work-items can reach, whatever regions they name.

#include <algorithm>
#include <vector>

#include "mtlc/transforms/memory_classes.h"
#include "mtlc/transforms/pass.h"
#include "mtlc/transforms/utils.h"

namespace mtlc::transforms {
namespace {

using ir::Block;
using ir::Opcode;
using ir::Operation;
using ir::Successor;
using ir::Type;
using ir::Value;

constexpr uint32_t kNone = ~0u;

// An expression, or the content of memory (opcode Load).
struct Key {
  Opcode opcode;
  uint8_t fastMath = 0;
  uint64_t type = 0;
  uint64_t elem = 0;
  uint64_t payload = 0;
  const Value* operands[3] = {};

  friend bool operator==(const Key&, const Key&) = default;

  uint64_t hash() const {
    uint64_t h = static_cast<uint64_t>(opcode) * 0x9E3779B97F4A7C15 + fastMath;
    auto mix = [&h](uint64_t v) { h = (h ^ v) * 0xFF51AFD7ED558CCD, h ^= h >> 32; };
    mix(type ^ elem << 16);
    mix(payload);
    for (const Value* v : operands) mix(reinterpret_cast<uintptr_t>(v));
    return h;
  }
};

// Entries can be looked up, and taken back in the reverse order in which they came.
class ScopedTable {
 public:
  struct Entry {
    Key key;
    Value* value;
    uint32_t bucket;
    uint32_t next;
    uint64_t time;  // Memory: when the content was known.
  };

  // `capacity`: how many entries there will be at a time, about.
  explicit ScopedTable(size_t capacity) {
    size_t n = 16;
    while (n < capacity) n *= 2;
    buckets_.assign(n, kNone);
  }
  const Entry* find(const Key& key) const {
    for (uint32_t i = buckets_[bucketOf(key)]; i != kNone; i = entries_[i].next) {
      if (entries_[i].key == key) return &entries_[i];
    }
    return nullptr;
  }
  void insert(const Key& key, Value* value, uint64_t time = 0) {
    const uint32_t bucket = bucketOf(key);
    entries_.push_back({key, value, bucket, buckets_[bucket], time});
    buckets_[bucket] = static_cast<uint32_t>(entries_.size() - 1);
  }
  size_t size() const { return entries_.size(); }
  void shrink(size_t size) {
    while (entries_.size() > size) {
      buckets_[entries_.back().bucket] = entries_.back().next;
      entries_.pop_back();
    }
  }

 private:
  uint32_t bucketOf(const Key& key) const {
    return static_cast<uint32_t>(key.hash()) & static_cast<uint32_t>(buckets_.size() - 1);
  }
  std::vector<uint32_t> buckets_;
  std::vector<Entry> entries_;
};

// Until when the content of each class of memory is as it was: a time per class, restored when the
// walk goes back.
class MemoryState {
 public:
  explicit MemoryState(const MemoryClasses& classes)
      : classes_(classes), written_(classes.size()) {}

  // A later content is not what an earlier access saw.
  uint64_t lastWrite(uint32_t c) const {
    if (c == MemoryClasses::kConstant) return 0;
    return std::max({written_[c], anything_, classes_.isShared(c) ? shared_ : 0});
  }
  void write(uint32_t c) {
    for (uint32_t d = 0; d < MemoryClasses::kFirstAllocation; ++d) {
      if (classes_.overlap(c, d)) set(written_[d]);
    }
    if (c >= MemoryClasses::kFirstAllocation) set(written_[c]);
  }
  void barrier() { set(shared_); }
  void call() {
    set(shared_);
    set(written_[MemoryClasses::kPrivate]);
    set(written_[MemoryClasses::kGeneric]);
  }
  void join() { set(anything_); }
  uint64_t now() const { return clock_; }

  size_t mark() const { return undo_.size(); }
  void restore(size_t mark) {
    while (undo_.size() > mark) {
      *undo_.back().first = undo_.back().second;
      undo_.pop_back();
    }
  }

 private:
  void set(uint64_t& slot) {
    undo_.push_back({&slot, slot});
    slot = ++clock_;
  }
  const MemoryClasses& classes_;
  std::vector<uint64_t> written_;
  uint64_t anything_ = 0;
  uint64_t shared_ = 0;
  uint64_t clock_ = 0;
  std::vector<std::pair<uint64_t*, uint64_t>> undo_;
};

class ValueNumbering {
 public:
  ValueNumbering(ir::Function& function, PassContext& context)
      : function_(function),
        context_(context),
        pool_(function),
        tree_(context.analyses().dominators(function)),
        classes_(function),
        memory_(classes_),
        table_(countOperations(function)) {
    lastStore_.resize(classes_.size());
  }

  Change run() {
    const std::vector<Block*>& rpo = tree_.rpo();
    if (rpo.empty()) return Change::None;
    const uint32_t n = static_cast<uint32_t>(rpo.size());
    std::vector<uint32_t> firstChild(n, kNone), nextSibling(n, kNone);
    for (uint32_t b = n - 1; b >= 1; --b) {
      uint32_t parent = tree_.idom(rpo[b])->scratch;
      nextSibling[b] = firstChild[parent];
      firstChild[parent] = b;
    }
    struct Frame {
      uint32_t child;
      size_t table, facts, memory;
    };
    std::vector<Frame> stack;
    auto enter = [&](uint32_t b) {
      Frame frame{firstChild[b], table_.size(), facts_.size(), memory_.mark()};
      processBlock(rpo[b]);
      stack.push_back(frame);
    };
    enter(0);
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.child == kNone) {
        table_.shrink(top.table);
        dropFacts(top.facts);
        memory_.restore(top.memory);
        stack.pop_back();
        continue;
      }
      uint32_t b = top.child;
      top.child = nextSibling[b];
      enter(b);
    }
    return changed_ ? Change::Values : Change::None;
  }

 private:
  static size_t countOperations(const ir::Function& function) {
    size_t n = 0;
    for (Block& block : function.blocks()) {
      for (Operation& op : block.ops()) {
        op.scratch = 0;
        if (op.result()) op.result()->scratch = 0;
        ++n;
      }
      for (Value* arg : block.args()) arg->scratch = 0;
    }
    return n;
  }

  // ---- Keys ----

  static Key keyOf(const Operation& op) {
    Key key{.opcode = op.opcode(),
            .fastMath = op.fastMath(),
            .type = op.resultType().raw(),
            .elem = op.elemType().raw()};
    key.payload = op.payload();  // Whatever attributes the operation has.
    for (unsigned i = 0; i < op.operandCount() && i < 3; ++i) key.operands[i] = op.operand(i);
    // One form of a > b and b < a, and of a + b and b + a.
    switch (op.opcode()) {
      case Opcode::CmpSgt:
      case Opcode::CmpSge:
      case Opcode::CmpUgt:
      case Opcode::CmpUge:
      case Opcode::FCmpOgt:
      case Opcode::FCmpOge:
      case Opcode::FCmpUgt:
      case Opcode::FCmpUge:
        key.opcode = ir::swappedCompare(op.opcode());
        std::swap(key.operands[0], key.operands[1]);
        break;
      default:
        if (op.info().has(ir::OpTrait::Commutative) && key.operands[1] < key.operands[0]) {
          std::swap(key.operands[0], key.operands[1]);
        }
    }
    return key;
  }
  static Key compareKey(Opcode opcode, const Value* a, const Value* b) {
    Key key{.opcode = opcode, .type = ir::kI1.raw(), .operands = {a, b, nullptr}};
    switch (opcode) {
      case Opcode::CmpSgt:
      case Opcode::CmpSge:
      case Opcode::CmpUgt:
      case Opcode::CmpUge:
      case Opcode::FCmpOgt:
      case Opcode::FCmpOge:
      case Opcode::FCmpUgt:
      case Opcode::FCmpUge:
        key.opcode = ir::swappedCompare(opcode);
        std::swap(key.operands[0], key.operands[1]);
        break;
      default:
        if (ir::opInfo(opcode).has(ir::OpTrait::Commutative) && b < a) {
          std::swap(key.operands[0], key.operands[1]);
        }
    }
    return key;
  }
  static Key memoryKey(const Value* address, Type elem) {
    return {.opcode = Opcode::Load, .elem = elem.raw(), .operands = {address, nullptr, nullptr}};
  }

  // ---- Facts ----

  // `value` is `truth` from here down. Value::scratch is 1 more than the truth of a value under a
  // fact.
  void addFact(Value* value, bool truth, int depth = 0) {
    constexpr int kMaxDepth = 6;
    if (ir::asConst(value) || value->scratch != 0) return;
    value->scratch = 1 + static_cast<uint32_t>(truth);
    facts_.push_back(value);
    const Operation* def = value->def();
    if (!def || depth == kMaxDepth) return;
    if (def->opcode() == (truth ? Opcode::And : Opcode::Or)) {
      addFact(def->operand(0), truth, depth + 1);
      addFact(def->operand(1), truth, depth + 1);
    } else if (def->opcode() == Opcode::Xor) {
      if (const Operation* k = ir::asConst(def->operand(1))) {
        addFact(def->operand(0), truth != (k->constBits() != 0), depth + 1);
      }
    } else if (def->form() == ir::Form::Compare) {
      addComparisons(*def, truth);
    }
  }

  // What follows for other comparisons of the same operands.
  void addComparisons(const Operation& compare, bool truth) {
    const Value* a = compare.operand(0);
    const Value* b = compare.operand(1);
    const Opcode o = compare.opcode();
    auto add = [&](Opcode p, bool value) {
      table_.insert(compareKey(p, a, b), pool_.get(ir::kI1, value));
    };
    if (a->type().isFloat() || a->type().isBool() || a == b) {
      add(ir::invertedCompare(o), !truth);
      return;
    }
    // A set of possible relations: less, equal, greater.
    enum : unsigned { kLess = 1, kEqual = 2, kGreater = 4 };
    auto relations = [](Opcode p) -> unsigned {
      switch (p) {
        case Opcode::CmpEq:
          return kEqual;
        case Opcode::CmpNe:
          return kLess | kGreater;
        case Opcode::CmpSlt:
        case Opcode::CmpUlt:
          return kLess;
        case Opcode::CmpSle:
        case Opcode::CmpUle:
          return kLess | kEqual;
        case Opcode::CmpSgt:
        case Opcode::CmpUgt:
          return kGreater;
        default:
          return kGreater | kEqual;
      }
    };
    const unsigned holds = truth ? relations(o) : ~relations(o) & 7;
    const bool isEquality = o == Opcode::CmpEq || o == Opcode::CmpNe;
    const bool isSigned = o >= Opcode::CmpSlt && o <= Opcode::CmpSge;
    constexpr Opcode kSigned[] = {Opcode::CmpSlt, Opcode::CmpSle, Opcode::CmpSgt, Opcode::CmpSge};
    constexpr Opcode kUnsigned[] = {Opcode::CmpUlt, Opcode::CmpUle, Opcode::CmpUgt, Opcode::CmpUge};
    auto consider = [&](Opcode p) {
      if (p == o) return;
      const unsigned set = relations(p);
      if ((holds & ~set) == 0) add(p, true);
      if ((holds & set) == 0) add(p, false);
    };
    consider(Opcode::CmpEq);
    consider(Opcode::CmpNe);
    if (isSigned || isEquality) {
      for (Opcode p : kSigned) consider(p);
    }
    if (!isSigned) {
      for (Opcode p : kUnsigned) consider(p);
    }
  }

  void dropFacts(size_t size) {
    while (facts_.size() > size) {
      facts_.back()->scratch = 0;
      facts_.pop_back();
    }
  }

  void applyFacts(Operation& op) {
    for (unsigned i = 0; i < op.operandCount(); ++i) {
      Value* v = op.operand(i);
      if (!v->type().isBool() || v->scratch == 0) continue;
      op.setOperand(i, pool_.get(ir::kI1, v->scratch - 1));
      changed_ = true;
      context_.count(Stat::ConditionsKnown);
    }
  }

  // ---- Blocks and operations ----

  void processBlock(Block* block) {
    if (Block* pred = block->singlePredecessor()) {
      Operation* term = pred->terminator();
      if (term->opcode() == Opcode::Br) {
        addFact(term->operand(0), block->firstPredecessor()->index() == 0);
      }
    } else if (!block->isEntry()) {
      memory_.join();
      mergeArguments(block);
    }
    std::fill(lastStore_.begin(), lastStore_.end(), nullptr);
    for (Operation& op : block->ops()) processOperation(op);
  }

  void mergeArguments(Block* block) {
    for (unsigned i = block->argCount(); i-- > 1;) {
      for (unsigned k = 0; k < i && k < 8; ++k) {  // Neighbours only: linear.
        if (block->arg(i)->type() != block->arg(k)->type() || !sameIncoming(block, i, k)) continue;
        block->arg(i)->replaceAllUsesWith(block->arg(k));
        block->removeArg(i);
        changed_ = true;
        context_.count(Stat::ValuesMerged);
        break;
      }
    }
  }
  static bool sameIncoming(const Block* block, unsigned i, unsigned k) {
    const Value* a = block->arg(i);
    const Value* b = block->arg(k);
    for (Successor* s = block->firstPredecessor(); s; s = s->nextPredecessor()) {
      const Value* x = s->owner()->successorArg(s->index(), i);
      const Value* y = s->owner()->successorArg(s->index(), k);
      // An argument that an edge hands back unchanged adds nothing of its own.
      if (x != y && !(x == a && y == b)) return false;
    }
    return true;
  }

  void processOperation(Operation& op) {
    if (!facts_.empty()) applyFacts(op);
    if (op.opcode() == Opcode::Br) return applyEdgeFacts(op);
    if (op.opcode() == Opcode::Load) return processLoad(op);
    if (op.opcode() == Opcode::Store) return processStore(op);
    if (!ir::isPure(op)) return processEffect(op);
    if (op.opcode() == Opcode::SRem || op.opcode() == Opcode::URem) {
      if (Value* v = remainderFromQuotient(op)) return replace(op, v);
    }
    Key key = keyOf(op);
    if (const ScopedTable::Entry* known = table_.find(key)) return replace(op, known->value);
    table_.insert(key, op.result());
  }

  void replace(Operation& op, Value* value) {
    op.result()->replaceAllUsesWith(value);
    op.erase();
    changed_ = true;
    context_.count(Stat::ValuesMerged);
  }

  // What the edges of `br %c` pass for %c.
  void applyEdgeFacts(Operation& br) {
    Value* c = br.operand(0);
    if (ir::asConst(c)) return;
    for (unsigned i = 0; i < 2; ++i) {
      Successor& s = br.successor(i);
      for (unsigned k = 0; k < s.argCount(); ++k) {
        if (br.successorArg(i, k) != c) continue;
        br.setOperand(s.firstArg() + k, pool_.get(ir::kI1, i == 0));
        changed_ = true;
        context_.count(Stat::ConditionsKnown);
      }
    }
  }

  // a % b = a - (a / b) * b, for b = 0 and MIN / -1 too.
  Value* remainderFromQuotient(Operation& op) {
    Key key = keyOf(op);
    key.opcode = op.opcode() == Opcode::SRem ? Opcode::SDiv : Opcode::UDiv;
    const ScopedTable::Entry* quotient = table_.find(key);
    if (!quotient) return nullptr;
    Value* product = insert(Opcode::Mul, quotient->value, op.operand(1), op);
    return insert(Opcode::Sub, op.operand(0), product, op);
  }
  Value* insert(Opcode opcode, Value* a, Value* b, Operation& at) {
    Value* const operands[] = {a, b};
    Operation* made = function_.module().makeOp(
        {.opcode = opcode, .result = a->type(), .operands = operands, .loc = at.loc()});
    ir::Module::insertBefore(&at, made);
    return made->result();
  }

  // ---- Memory ----

  // Somebody may look at what the stores so far have written.
  void observe(uint32_t c) {
    for (uint32_t d = 0; d < lastStore_.size(); ++d) {
      if (classes_.overlap(c, d)) lastStore_[d] = nullptr;
    }
  }

  void processLoad(Operation& op) {
    const uint32_t c = classes_.classOf(op.operand(0));
    if (op.mem().isVolatile) {
      observe(c);
      return;
    }
    Key key = memoryKey(op.operand(0), op.elemType());
    const ScopedTable::Entry* known = table_.find(key);
    if (known && known->time >= memory_.lastWrite(c)) {
      op.result()->replaceAllUsesWith(known->value);
      op.erase();
      changed_ = true;
      context_.count(Stat::LoadsRemoved);
      return;
    }
    observe(c);
    table_.insert(key, op.result(), memory_.now());
  }

  void processStore(Operation& op) {
    const uint32_t c = classes_.classOf(op.operand(1));
    Value* value = op.operand(0);
    Key key = memoryKey(op.operand(1), op.elemType());
    if (op.mem().isVolatile) {
      observe(c);
      memory_.write(c);
      return;
    }
    const ScopedTable::Entry* known = table_.find(key);
    // (An i1 that was loaded may be another byte than 0 or 1.)
    if (known && known->value == value && known->time >= memory_.lastWrite(c) &&
        !value->type().isBool()) {
      op.erase();
      changed_ = true;
      context_.count(Stat::StoresRemoved);
      return;
    }
    if (Operation* last = lastStore_[c];
        last && last->operand(1) == op.operand(1) && last->elemType() == op.elemType()) {
      last->erase();
      changed_ = true;
      context_.count(Stat::StoresRemoved);
    }
    memory_.write(c);
    lastStore_[c] = &op;
    table_.insert(key, value, memory_.now());
  }

  void processEffect(Operation& op) {
    if (op.isTerminator() || op.info().effect == ir::Effect::None) return;
    for (uint32_t c = 0; c < lastStore_.size(); ++c) {
      if (ir::isCall(op) ? classes_.mayCallWrite(c) : classes_.isShared(c)) {
        lastStore_[c] = nullptr;
      }
    }
    if (ir::isCall(op)) {
      memory_.call();
    } else {
      memory_.barrier();
    }
  }

  ir::Function& function_;
  PassContext& context_;
  ConstantPool pool_;
  const ir::DominatorTree& tree_;
  MemoryClasses classes_;
  MemoryState memory_;
  ScopedTable table_;
  std::vector<Value*> facts_;
  std::vector<Operation*>
      lastStore_;  // By class: the last store of this block, while nothing looked.
  bool changed_ = false;
};

}  // namespace

Change runGvn(ir::Function& unit, PassContext& context) {
  return ValueNumbering(unit, context).run();
}

}  // namespace mtlc::transforms
