#include "mtlc/ir/ir.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace mtlc::ir {

// ---- Use, Value ----

unsigned Use::index() const { return static_cast<unsigned>(this - owner_->uses().data()); }

void Use::set(Value* value) {
  if (value_) {
    *prev_ = next_;
    if (next_) next_->prev_ = prev_;
  }
  value_ = value;
  if (value) {
    next_ = value->uses_;
    prev_ = &value->uses_;
    if (next_) next_->prev_ = &next_;
    value->uses_ = this;
  } else {
    next_ = nullptr;
    prev_ = nullptr;
  }
}

Block* Value::block() const { return isArg_ ? block_ : (def_ ? def_->block() : nullptr); }

SourceLoc Value::loc() const {
  if (isArg_) return block_->loc();
  return def_ ? def_->loc() : SourceLoc();
}

void Value::replaceAllUsesWith(Value* other) {
  while (uses_) uses_->set(other);
}

// ---- Successor ----

unsigned Successor::index() const {
  return static_cast<unsigned>(this - owner_->successors().data());
}

void Operation::unlinkSuccessor(Successor& s) {
  if (!s.block_) return;
  *s.prev_ = s.next_;
  if (s.next_) s.next_->prev_ = s.prev_;
  s.block_ = nullptr;
}

void Operation::linkSuccessor(Successor& s, Block* block) {
  unlinkSuccessor(s);
  s.block_ = block;
  if (!block) return;
  s.next_ = block->preds_;
  s.prev_ = &block->preds_;
  if (s.next_) s.next_->prev_ = &s.next_;
  block->preds_ = &s;
}

void Operation::setSuccessorBlock(unsigned i, Block* block) {
  linkSuccessor(successors_[i], block);
}

// ---- Operation ----

Function* Operation::function() const { return block_ ? block_->function() : nullptr; }

// Replaces `remove` operands from `at` on by `insert`. Existing Use objects keep their order; their
// addresses change when the array grows.
void Operation::resizeOperands(unsigned at, unsigned remove, std::span<Value* const> insert) {
  // `insert` may hold values only; take the tail out first, then put everything back.
  uint32_t tail = operandCount_ - at - remove;
  uint32_t count = at + static_cast<uint32_t>(insert.size()) + tail;
  std::vector<Value*> rest;
  rest.reserve(insert.size() + tail);
  rest.assign(insert.begin(), insert.end());
  for (uint32_t i = 0; i < tail; ++i) rest.push_back(operand(at + remove + i));
  for (uint32_t i = at; i < operandCount_; ++i) operands_[i].set(nullptr);
  if (count > operandCapacity_) {
    uint32_t capacity = std::max(count, operandCapacity_ * 2);
    Use* grown = module_->arena().makeArray<Use>(capacity);
    for (uint32_t i = 0; i < capacity; ++i) {
      new (&grown[i]) Use();
      grown[i].owner_ = this;
    }
    for (uint32_t i = 0; i < at; ++i) {
      Value* v = operands_[i].value();
      operands_[i].set(nullptr);
      grown[i].set(v);
    }
    operands_ = grown;
    operandCapacity_ = capacity;
  }
  operandCount_ = count;
  for (uint32_t i = at; i < count; ++i) operands_[i].set(rest[i - at]);
}

void Operation::setSuccessorArgs(unsigned i, std::span<Value* const> args) {
  Successor& s = successors_[i];
  int32_t delta = static_cast<int32_t>(args.size()) - static_cast<int32_t>(s.argCount_);
  if (delta == 0) {
    for (size_t k = 0; k < args.size(); ++k) {
      setOperand(s.firstArg_ + static_cast<unsigned>(k), args[k]);
    }
    return;
  }
  std::vector<Value*> copy(args.begin(), args.end());
  resizeOperands(s.firstArg_, s.argCount_, copy);
  s.argCount_ = static_cast<uint32_t>(args.size());
  for (unsigned k = i + 1; k < successorCount_; ++k) successors_[k].firstArg_ += delta;
}

void Operation::appendSuccessorArg(unsigned i, Value* value) {
  Successor& s = successors_[i];
  Value* const one[] = {value};
  resizeOperands(s.firstArg_ + s.argCount_, 0, one);
  ++s.argCount_;
  for (unsigned k = i + 1; k < successorCount_; ++k) ++successors_[k].firstArg_;
}

void Operation::removeSuccessorArg(unsigned i, unsigned arg) {
  Successor& s = successors_[i];
  resizeOperands(s.firstArg_ + arg, 1, {});
  --s.argCount_;
  for (unsigned k = i + 1; k < successorCount_; ++k) --successors_[k].firstArg_;
}

void Operation::unlink() {
  if (!block_) return;
  (prev_ ? prev_->next_ : block_->first_) = next_;
  (next_ ? next_->prev_ : block_->last_) = prev_;
  prev_ = next_ = nullptr;
  block_ = nullptr;
}

void Operation::dropAll() {
  for (uint32_t i = 0; i < operandCount_; ++i) operands_[i].set(nullptr);
  for (unsigned i = 0; i < successorCount_; ++i) unlinkSuccessor(successors_[i]);
  operandCount_ = 0;
  successorCount_ = 0;
}

void Operation::erase() {
  dropAll();
  unlink();
}

void Operation::moveBefore(Operation* position) {
  if (position == this) return;
  unlink();
  Module::insertBefore(position, this);
}

void Operation::moveToEnd(Block* block) {
  unlink();
  Module::append(block, this);
}

// ---- Block ----

bool Block::isEntry() const { return function_ && function_->entry() == this; }

Value* Block::addArg(Type type, std::string_view name) {
  args_.push_back(function_->module().makeBlockArg(this, type, argCount(), name));
  return args_.back();
}

void Block::removeArg(unsigned i) {
  for (Successor* s = preds_; s; s = s->next_) s->owner_->removeSuccessorArg(s->index(), i);
  args_.erase(args_.begin() + i);
  for (unsigned k = i; k < argCount(); ++k) args_[k]->index_ = k;
}

unsigned Block::predecessorCount() const {
  unsigned n = 0;
  for (Successor* s = preds_; s; s = s->next_) ++n;
  return n;
}

Block* Block::singlePredecessor() const {
  return preds_ && !preds_->next_ ? preds_->owner_->block() : nullptr;
}

void Block::moveTailTo(Operation* op, Block* target) {
  if (!op) return;
  Operation* last = last_;
  last_ = op->prev_;
  (last_ ? last_->next_ : first_) = nullptr;
  op->prev_ = target->last_;
  (target->last_ ? target->last_->next_ : target->first_) = op;
  target->last_ = last;
  for (Operation* o = op; o; o = o->next_) o->block_ = target;
}

void Block::dropAllReferences() {
  for (Operation* op = first_; op; op = op->next_) op->dropAll();
}

void Block::erase() {
  dropAllReferences();
  (prev_ ? prev_->next_ : function_->first_) = next_;
  (next_ ? next_->prev_ : function_->last_) = prev_;
  first_ = last_ = nullptr;
  prev_ = next_ = nullptr;
}

void Block::moveAfter(Block* other) {
  if (other == this || other->next_ == this) return;
  (prev_ ? prev_->next_ : function_->first_) = next_;
  (next_ ? next_->prev_ : function_->last_) = prev_;
  prev_ = other;
  next_ = other->next_;
  (next_ ? next_->prev_ : function_->last_) = this;
  other->next_ = this;
}

// ---- Function ----

Block* Function::addBlock(std::string_view name, SourceLoc loc) {
  module_->blocks_.push_back(std::make_unique<Block>());
  Block* block = module_->blocks_.back().get();
  block->function_ = this;
  block->name_ = module_->copyName(name);
  block->loc_ = loc;
  block->prev_ = last_;
  (last_ ? last_->next_ : first_) = block;
  last_ = block;
  if (block == first_) {
    for (size_t i = 0; i < params_.size(); ++i) {
      block->addArg(params_[i], i < paramNames_.size() ? paramNames_[i] : std::string_view());
    }
  }
  return block;
}

uint32_t Function::numberBlocks() const {
  uint32_t n = 0;
  for (Block& block : blocks()) block.scratch = n++;
  return n;
}

// ---- Module ----

namespace {

// Enough of a descriptor to tell most apart.
template <typename H>
H combineDesc(H h, const MmaDesc& d) {
  return H::combine(std::move(h), d.m, d.n, d.k, d.a, d.b, d.acc, d.lda, d.ldb, d.ldc, d.ldd,
                    d.aLayout, d.bLayout, d.sparsity, d.aScale);
}
template <typename H>
H combineDesc(H h, const EpilogueDesc& d) {
  return H::combine(std::move(h), d.m, d.n, d.element, d.ldd, d.bias, d.activation);
}
template <typename H>
H combineDesc(H h, const TransferDesc& d) {
  return H::combine(std::move(h), d.rank, d.direction, d.element, d.extent, d.stride, d.tile);
}

template <typename Attr>
struct AttrKey {
  const Attr* attr;
  friend bool operator==(AttrKey a, AttrKey b) {
    return a.attr->slots == b.attr->slots && a.attr->desc == b.attr->desc;
  }
  template <typename H>
  friend H AbslHashValue(H h, AttrKey key) {
    return combineDesc(H::combine(std::move(h), key.attr->slots.bits()), key.attr->desc);
  }
};

}  // namespace

struct Module::NameTable {
  absl::flat_hash_map<std::string_view, Function*> functions;
  absl::flat_hash_set<AttrKey<MmaAttr>> mma;
  absl::flat_hash_set<AttrKey<EpilogueAttr>> epilogue;
  absl::flat_hash_set<AttrKey<TransferAttr>> transfer;
};

namespace {

template <typename Attr, typename Set, typename Desc>
uint64_t intern(Arena& arena, Set& set, const Desc& desc, SlotSet slots) {
  Attr wanted;
  wanted.slots = slots;
  wanted.desc = desc;
  auto it = set.find(AttrKey<Attr>{&wanted});
  if (it == set.end()) {
    Attr* kept = arena.make<Attr>();
    *kept = wanted;
    it = set.insert(AttrKey<Attr>{kept}).first;
  }
  return reinterpret_cast<uint64_t>(static_cast<const TensorAttr*>(it->attr));
}

}  // namespace

uint64_t Module::tensorPayload(const MmaDesc& desc, SlotSet slots) {
  return intern<MmaAttr>(arena_, names_->mma, desc, slots);
}
uint64_t Module::tensorPayload(const EpilogueDesc& desc, SlotSet slots) {
  return intern<EpilogueAttr>(arena_, names_->epilogue, desc, slots);
}
uint64_t Module::tensorPayload(const TransferDesc& desc, SlotSet slots) {
  return intern<TransferAttr>(arena_, names_->transfer, desc, slots);
}

Convergence Operation::convergence() const {
  switch (form()) {
    case Form::Mma:
      return mmaDesc().scope == Scope::Workgroup ? Convergence::Workgroup : Convergence::Subgroup;
    case Form::Epilogue:
      return epilogueDesc().scope == Scope::Workgroup ? Convergence::Workgroup
                                                      : Convergence::Subgroup;
    case Form::AccCommit: {
      const Value* tile = operandCount() > 0 ? operand(0) : nullptr;
      return tile && tile->type().tileOfWorkgroup() ? Convergence::Workgroup
                                                    : Convergence::Subgroup;
    }
    default:
      return info().convergence;
  }
}

Module::Module(SourceManager& sources, std::string_view name)
    : sources_(sources), names_(std::make_unique<NameTable>()) {
  name_ = arena_.copy(name);
}

Module::~Module() = default;

const char* Module::copyName(std::string_view name) {
  if (name.empty()) return nullptr;
  char* p = arena_.makeArray<char>(name.size() + 1);
  std::copy(name.begin(), name.end(), p);
  p[name.size()] = '\0';
  return p;
}

Function* Module::addFunction(const FunctionSpec& spec) {
  functions_.push_back(std::make_unique<Function>());
  Function* f = functions_.back().get();
  f->module_ = this;
  f->name_ = arena_.copy(spec.name);
  f->result_ = spec.result;
  f->params_ = spec.params;
  for (std::string_view n : spec.paramNames) f->paramNames_.push_back(arena_.copy(n));
  f->isKernel_ = spec.isKernel;
  f->loc_ = spec.loc;
  f->prev_ = last_;
  (last_ ? last_->next_ : first_) = f;
  last_ = f;
  names_->functions.emplace(f->name_, f);
  return f;
}

Function* Module::findFunction(std::string_view name) const {
  auto it = names_->functions.find(name);
  return it == names_->functions.end() ? nullptr : it->second;
}

std::string Module::uniqueName(std::string_view wish) const {
  std::string name(wish);
  for (uint64_t n = 1; findFunction(name); ++n) {
    name = std::string(wish) + "." + std::to_string(n);
  }
  return name;
}

void Module::eraseFunction(Function* function) {
  for (Block& block : function->blocks()) block.dropAllReferences();
  for (Block& block : function->blocks()) block.erase();
  (function->prev_ ? function->prev_->next_ : first_) = function->next_;
  (function->next_ ? function->next_->prev_ : last_) = function->prev_;
  auto it = names_->functions.find(function->name_);
  if (it != names_->functions.end() && it->second == function) names_->functions.erase(it);
}

Operation* Module::makeOp(const OpSpec& spec) {
  Operation* op = arena_.make<Operation>();
  op->module_ = this;
  op->opcode_ = spec.opcode;
  op->elem_ = spec.elem;
  op->payload_ = spec.payload;
  op->fastMath_ = spec.fastMath;
  op->loc_ = spec.loc;
  op->result_.type_ = spec.result;
  op->result_.def_ = op;
  op->operandCount_ = op->operandCapacity_ = static_cast<uint32_t>(spec.operands.size());
  op->operands_ = arena_.makeArray<Use>(spec.operands.size());
  for (size_t i = 0; i < spec.operands.size(); ++i) {
    Use* use = new (&op->operands_[i]) Use();
    use->owner_ = op;
    use->set(spec.operands[i]);
  }
  return op;
}

Operation* Module::makeTerminator(Opcode opcode, std::span<Value* const> operands,
                                  std::span<const Edge> edges, SourceLoc loc) {
  size_t count = operands.size();
  for (const Edge& e : edges) count += e.args.size();
  Value* small[16];
  std::vector<Value*> large;
  Value** all = small;
  if (count > 16) {
    large.resize(count);
    all = large.data();
  }
  size_t at = 0;
  for (Value* v : operands) all[at++] = v;
  for (const Edge& e : edges) {
    for (Value* v : e.args) all[at++] = v;
  }
  Operation* op = makeOp({.opcode = opcode, .operands = {all, count}, .loc = loc});
  op->successorCount_ = static_cast<uint8_t>(edges.size());
  op->successors_ = arena_.makeArray<Successor>(edges.size());
  uint32_t first = static_cast<uint32_t>(operands.size());
  for (size_t i = 0; i < edges.size(); ++i) {
    Successor* s = new (&op->successors_[i]) Successor();
    s->owner_ = op;
    s->firstArg_ = first;
    s->argCount_ = static_cast<uint32_t>(edges[i].args.size());
    first += s->argCount_;
    op->linkSuccessor(*s, edges[i].block);
  }
  return op;
}

void Module::append(Block* block, Operation* op) {
  op->block_ = block;
  op->prev_ = block->last_;
  op->next_ = nullptr;
  (block->last_ ? block->last_->next_ : block->first_) = op;
  block->last_ = op;
}

void Module::insertBefore(Operation* position, Operation* op) {
  Block* block = position->block_;
  op->block_ = block;
  op->next_ = position;
  op->prev_ = position->prev_;
  (op->prev_ ? op->prev_->next_ : block->first_) = op;
  position->prev_ = op;
}

void Module::setValueName(Value* value, std::string_view name) { value->name_ = copyName(name); }

Value* Module::makePlaceholder(Type type) {
  Value* v = arena_.make<Value>();
  v->type_ = type;
  return v;
}

Value* Module::makeBlockArg(Block* block, Type type, uint32_t index, std::string_view name) {
  Value* v = arena_.make<Value>();
  v->type_ = type;
  v->isArg_ = true;
  v->block_ = block;
  v->index_ = index;
  v->name_ = copyName(name);
  return v;
}

bool isDroppable(const Operation& op) {
  const OpInfo& info = op.info();
  if (info.has(OpTrait::Terminator) || info.convergence != Convergence::None) return false;
  if (info.effect == Effect::None) return true;
  return info.form == Form::Load && !op.mem().isVolatile;
}

}  // namespace mtlc::ir
