// The IR in memory: a Module owns functions, a Function blocks, a Block operations. SSA with block
// arguments, no phi.
//
// Everything lives in the module's arena and is linked intrusively, so creating, moving and erasing
// are cheap and pointers stay valid until the module dies. An operation has at most one result,
// which lives inside it. Use lists are exact at all times. Nothing here checks the rules of
// docs/ir.md: verifier.h does.

#ifndef MTLC_IR_IR_H_
#define MTLC_IR_IR_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mtlc/ir/descriptors.h"
#include "mtlc/ir/op_table.h"
#include "mtlc/ir/types.h"
#include "mtlc/support/arena.h"
#include "mtlc/support/source.h"

namespace mtlc::ir {

class Block;
class Function;
class Module;
class Operation;
class Value;

// One operand slot, linked into the use list of its value.
class Use {
 public:
  Value* value() const { return value_; }
  Operation* owner() const { return owner_; }
  unsigned index() const;  // Position among the owner's operands.
  Use* next() const { return next_; }
  void set(Value* value);  // nullptr drops the use.

 private:
  friend class Module;
  friend class Operation;
  friend class Value;
  Value* value_ = nullptr;
  Operation* owner_ = nullptr;
  Use* next_ = nullptr;
  Use** prev_ = nullptr;
};

// The result of an operation or an argument of a block.
class Value {
 public:
  Type type() const { return type_; }
  bool isBlockArg() const { return isArg_; }
  Operation* def() const { return isArg_ ? nullptr : def_; }  // nullptr for a block argument.
  Block* argBlock() const { return isArg_ ? block_ : nullptr; }
  unsigned argIndex() const { return index_; }  // Block arguments only.
  // The block it is defined in.
  Block* block() const;
  SourceLoc loc() const;

  // A name for dumps; may be empty and need not be unique.
  std::string_view name() const { return name_ ? std::string_view(name_) : std::string_view(); }

  Use* firstUse() const { return uses_; }
  bool hasUses() const { return uses_ != nullptr; }
  bool hasOneUse() const { return uses_ && !uses_->next(); }
  void replaceAllUsesWith(Value* other);

  // A number that passes may use as they like (dense numbering); not preserved between passes.
  uint32_t scratch = 0;

 private:
  friend class Block;
  friend class Module;
  friend class Operation;
  friend class Use;
  Type type_;
  Use* uses_ = nullptr;
  const char* name_ = nullptr;
  union {
    Operation* def_ = nullptr;
    Block* block_;
  };
  uint32_t index_ = 0;
  bool isArg_ = false;
};

enum class Dim : uint8_t { X, Y, Z };
enum class CacheHint : uint8_t { All, Global, Streaming, LastUse };
enum class MemoryOrder : uint8_t { Relaxed, Acquire, Release, AcqRel, SeqCst };
enum RegionMask : uint8_t { kRegionWorkgroup = 1, kRegionGlobal = 2 };

// Permissions of one floating-point operation; none by default.
enum FastMathFlags : uint8_t {
  kContract = 1 << 0,  // May fuse a multiply and an add.
  kReassoc = 1 << 1,
  kNoNaNs = 1 << 2,
  kNoSignedZeros = 1 << 3,
  kFlushSubnormals = 1 << 4,  // "ftz"
  kApprox = 1 << 5,           // Use the hardware approximation (operations with the trait Approx).
};

struct MemAttr {
  uint32_t align = 0;  // In bytes, a power of two.
  bool isVolatile = false;
  CacheHint cache = CacheHint::All;
};
// The payload of a load or store, for Module::OpSpec.
inline uint64_t memoryPayload(MemAttr m) {
  return m.align | uint64_t{m.isVolatile} << 32 | uint64_t{static_cast<uint8_t>(m.cache)} << 40;
}

// How atomics and subgroup reductions combine two values. The float kinds are for f32 and f64; the
// minima and maxima of floats are the number form (docs/ir.md §3).
enum class CombineKind : uint8_t {
  Add,
  Sub,
  SMin,
  SMax,
  UMin,
  UMax,
  And,
  Or,
  Xor,
  Exchange,
  FAdd,
  FMin,
  FMax,
};

struct FenceAttr {
  uint8_t regions = kRegionWorkgroup | kRegionGlobal;  // RegionMask
  MemoryOrder order = MemoryOrder::SeqCst;
  Scope scope = Scope::Device;
};

struct AtomicAttr {
  MemoryOrder order = MemoryOrder::SeqCst;
  MemoryOrder failureOrder = MemoryOrder::SeqCst;  // AtomicCas
  Scope scope = Scope::Device;
  CombineKind kind = CombineKind::Add;  // AtomicRmw
};

struct AsyncAttr {
  uint32_t count = 0;       // Elements of the operation's elemType().
  uint8_t transaction = 4;  // Bytes: 4, 8 or 16.
  bool cacheGlobal = false;
};

struct NarrowAttr {
  FloatFormat format = FloatFormat::E4M3;
  bool saturate = false;  // Encode
};

// What a tensor operation points to; interned in the module, so equal attributes are one object.
struct TensorAttr {
  SlotSet slots;
};
struct MmaAttr : TensorAttr {
  MmaDesc desc;
};
struct EpilogueAttr : TensorAttr {
  EpilogueDesc desc;
};
struct TransferAttr : TensorAttr {
  TransferDesc desc;
};

// Operands: [handle,] grid x y z, block x y z, [shared,] [stream,] arguments.
struct LaunchAttr {
  Function* kernel = nullptr;  // nullptr: operand 0 is the handle, an integer or a pointer.
  bool hasShared = false;
  bool hasStream = false;

  bool hasHandle() const { return kernel == nullptr; }
  unsigned gridOperand() const { return hasHandle() ? 1 : 0; }
  unsigned sharedOperand() const { return gridOperand() + 6; }
  unsigned streamOperand() const { return sharedOperand() + (hasShared ? 1 : 0); }
  unsigned firstArgument() const { return streamOperand() + (hasStream ? 1 : 0); }
};

struct BarrierAttr {
  uint8_t regions = kRegionWorkgroup;  // RegionMask
  MemoryOrder order = MemoryOrder::SeqCst;
};

// One edge of a terminator: target block and the operands that become its arguments.
class Successor {
 public:
  Block* block() const { return block_; }
  Operation* owner() const { return owner_; }
  unsigned firstArg() const { return firstArg_; }  // Index among the owner's operands.
  unsigned argCount() const { return argCount_; }
  unsigned index() const;                               // 0 for jump; 0 taken, 1 not taken for br.
  Successor* nextPredecessor() const { return next_; }  // The next edge into the same block.

 private:
  friend class Block;
  friend class Module;
  friend class Operation;
  Block* block_ = nullptr;
  Operation* owner_ = nullptr;
  Successor* next_ = nullptr;
  Successor** prev_ = nullptr;
  uint32_t firstArg_ = 0;
  uint32_t argCount_ = 0;
};

class Operation {
 public:
  Opcode opcode() const { return opcode_; }
  const OpInfo& info() const { return opInfo(opcode_); }
  Form form() const { return info().form; }
  SourceLoc loc() const { return loc_; }
  void setLoc(SourceLoc loc) { loc_ = loc; }

  Block* block() const { return block_; }
  Function* function() const;
  Operation* next() const { return next_; }
  Operation* prev() const { return prev_; }

  unsigned operandCount() const { return operandCount_; }
  Value* operand(unsigned i) const { return operands_[i].value(); }
  Use& use(unsigned i) { return operands_[i]; }
  std::span<Use> uses() { return {operands_, operandCount_}; }
  std::span<const Use> uses() const { return {operands_, operandCount_}; }
  void setOperand(unsigned i, Value* value) { operands_[i].set(value); }

  // nullptr when the operation has no result.
  Value* result() { return result_.type_.isVoid() ? nullptr : &result_; }
  const Value* result() const { return result_.type_.isVoid() ? nullptr : &result_; }
  Type resultType() const { return result_.type_; }

  bool isTerminator() const { return info().has(OpTrait::Terminator); }
  unsigned successorCount() const { return successorCount_; }
  Successor& successor(unsigned i) { return successors_[i]; }
  const Successor& successor(unsigned i) const { return successors_[i]; }
  std::span<Successor> successors() { return {successors_, successorCount_}; }
  void setSuccessorBlock(unsigned i, Block* block);
  Value* successorArg(unsigned i, unsigned arg) const {
    return operand(successors_[i].firstArg_ + arg);
  }
  // Replaces all arguments passed along edge i.
  void setSuccessorArgs(unsigned i, std::span<Value* const> args);
  void appendSuccessorArg(unsigned i, Value* value);
  void removeSuccessorArg(unsigned i, unsigned arg);

  // Attributes as Module::OpSpec::payload takes them, for copies.
  uint64_t payload() const { return payload_; }

  // Attributes; each is meaningful for the forms named.
  uint64_t constBits() const { return payload_; }         // Const: the value's bits, zero-extended.
  Dim dim() const { return static_cast<Dim>(payload_); }  // GpuIndex
  Type elemType() const { return elem_; }  // PtrAdd, Load, Store, Alloc…, Atomic…, AsyncCopy
  uint64_t allocCount() const { return payload_; }  // Alloc: elements, at least 1.
  // Call, FuncAddr; Launch: the kernel, nullptr with a handle.
  Function* callee() const { return reinterpret_cast<Function*>(payload_ & ~kLaunchBits); }
  void setCallee(Function* callee) {
    payload_ = reinterpret_cast<uint64_t>(callee) | (payload_ & kLaunchBits);
  }
  MemAttr mem() const {  // Load, Store
    return {static_cast<uint32_t>(payload_), (payload_ >> 32 & 1) != 0,
            static_cast<CacheHint>(payload_ >> 40)};
  }
  void setMem(MemAttr m) { payload_ = memoryPayload(m); }
  BarrierAttr barrier() const {
    return {static_cast<uint8_t>(payload_), static_cast<MemoryOrder>(payload_ >> 8)};
  }
  FenceAttr fence() const {
    return {static_cast<uint8_t>(payload_), static_cast<MemoryOrder>(payload_ >> 8),
            static_cast<Scope>(payload_ >> 16)};
  }
  AtomicAttr atomic() const {  // The four Atomic forms
    return {static_cast<MemoryOrder>(payload_), static_cast<MemoryOrder>(payload_ >> 8),
            static_cast<Scope>(payload_ >> 16), static_cast<CombineKind>(payload_ >> 24)};
  }
  CombineKind combineKind() const { return static_cast<CombineKind>(payload_); }  // SubgroupReduce
  AsyncAttr async() const {                                                       // AsyncCopy
    return {static_cast<uint32_t>(payload_), static_cast<uint8_t>(payload_ >> 32),
            (payload_ >> 40 & 1) != 0};
  }
  uint32_t waitCount() const { return static_cast<uint32_t>(payload_); }  // AsyncWait
  NarrowAttr narrow() const {                                             // Encode, Decode
    return {static_cast<FloatFormat>(payload_), (payload_ >> 8 & 1) != 0};
  }
  LaunchAttr launch() const { return {callee(), (payload_ & 1) != 0, (payload_ & 2) != 0}; }
  // Forms Mma, Epilogue, Transfer.
  const TensorAttr& tensor() const { return *reinterpret_cast<const TensorAttr*>(payload_); }
  const MmaDesc& mmaDesc() const { return static_cast<const MmaAttr&>(tensor()).desc; }
  const EpilogueDesc& epilogueDesc() const {
    return static_cast<const EpilogueAttr&>(tensor()).desc;
  }
  const TransferDesc& transferDesc() const {
    return static_cast<const TransferAttr&>(tensor()).desc;
  }
  // The operand in a slot of a tensor operation; nullptr when it has none.
  Value* slot(Slot s) const {
    SlotSet slots = tensor().slots;
    return slots.has(s) ? operand(slots.indexOf(s)) : nullptr;
  }
  // Whose work-items must reach it together: the table's word, or the scope of the descriptor.
  Convergence convergence() const;

  uint8_t fastMath() const { return fastMath_; }  // FastMathFlags
  void setFastMath(uint8_t flags) { fastMath_ = flags; }

  // A number that passes may use as they like; not preserved between passes.
  uint32_t scratch = 0;

  // Takes it out of its block, drops its operands and successors. The result must have no uses.
  void erase();
  // Moves it, within the function, before `position` or to the end of `block`.
  void moveBefore(Operation* position);
  void moveToEnd(Block* block);

 private:
  friend class Block;
  friend class Module;
  friend class Use;
  friend class Successor;
  static constexpr uint64_t kLaunchBits = 7;  // Below the alignment of a function.
  void unlink();
  void dropAll();
  void resizeOperands(unsigned at, unsigned remove, std::span<Value* const> insert);
  void linkSuccessor(Successor& s, Block* block);
  static void unlinkSuccessor(Successor& s);

  Operation* prev_ = nullptr;
  Operation* next_ = nullptr;
  Block* block_ = nullptr;
  Use* operands_ = nullptr;
  Successor* successors_ = nullptr;
  Value result_;
  Type elem_;
  uint64_t payload_ = 0;
  SourceLoc loc_;
  uint32_t operandCount_ = 0;
  uint32_t operandCapacity_ = 0;
  Opcode opcode_ = Opcode::Const;
  uint8_t successorCount_ = 0;
  uint8_t fastMath_ = 0;
  Module* module_ = nullptr;
};

// Iterates an intrusive list; the current element may be erased inside the loop.
template <typename T>
class ListRange {
 public:
  class Iterator {
   public:
    explicit Iterator(T* at) : at_(at), next_(at ? at->next() : nullptr) {}
    T& operator*() const { return *at_; }
    T* operator->() const { return at_; }
    Iterator& operator++() {
      at_ = next_;
      next_ = at_ ? at_->next() : nullptr;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    T* at_;
    T* next_;
  };
  explicit ListRange(T* first) : first_(first) {}
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(nullptr); }

 private:
  T* first_;
};

class Block {
 public:
  Function* function() const { return function_; }
  Block* next() const { return next_; }
  Block* prev() const { return prev_; }
  bool isEntry() const;

  Operation* front() const { return first_; }
  Operation* back() const { return last_; }
  bool empty() const { return first_ == nullptr; }
  ListRange<Operation> ops() const { return ListRange<Operation>(first_); }
  // The last operation if it is a terminator, else nullptr.
  Operation* terminator() const { return last_ && last_->isTerminator() ? last_ : nullptr; }

  unsigned argCount() const { return static_cast<unsigned>(args_.size()); }
  Value* arg(unsigned i) const { return args_[i]; }
  std::span<Value* const> args() const { return args_; }
  // Adds an argument; the caller adds the operand on every incoming edge.
  Value* addArg(Type type, std::string_view name = {});
  // Removes an argument without uses, and the operand passed for it on every incoming edge.
  void removeArg(unsigned i);

  // Incoming edges, one per edge: a br with both arms here counts twice.
  Successor* firstPredecessor() const { return preds_; }
  unsigned predecessorCount() const;
  // The block that jumps here if exactly one edge does, else nullptr.
  Block* singlePredecessor() const;

  SourceLoc loc() const { return loc_; }
  void setLoc(SourceLoc loc) { loc_ = loc; }
  std::string_view name() const { return name_ ? std::string_view(name_) : std::string_view(); }

  // Moves `op` and all after it to the end of `target`.
  void moveTailTo(Operation* op, Block* target);
  // Unlinks and drops the block and its operations. No edge may lead here, no result be used
  // elsewhere.
  void erase();
  // Drops all operands and successors of its operations, so that blocks of a cycle can be erased
  // one by one.
  void dropAllReferences();
  void moveAfter(Block* other);

  uint32_t scratch = 0;

 private:
  friend class Function;
  friend class Module;
  friend class Operation;
  Block* prev_ = nullptr;
  Block* next_ = nullptr;
  Function* function_ = nullptr;
  Operation* first_ = nullptr;
  Operation* last_ = nullptr;
  Successor* preds_ = nullptr;
  std::vector<Value*> args_;
  const char* name_ = nullptr;
  SourceLoc loc_;
};

enum class InlineHint : uint8_t { None, Inline, Always, Never };

struct LaunchBounds {
  uint32_t maxThreads = 0;  // 0: not given.
  uint32_t minGroups = 0;
};

class Function {
 public:
  Module& module() const { return *module_; }
  std::string_view name() const { return name_; }
  bool isKernel() const { return isKernel_; }
  bool isDeclaration() const { return first_ == nullptr; }
  Type resultType() const { return result_; }
  SourceLoc loc() const { return loc_; }
  void setLoc(SourceLoc loc) { loc_ = loc; }

  // Parameter types; for a definition the entry block's arguments have the same.
  std::span<const Type> paramTypes() const { return params_; }
  Value* param(unsigned i) const { return first_->arg(i); }
  unsigned paramCount() const { return static_cast<unsigned>(params_.size()); }

  Block* entry() const { return first_; }
  Block* lastBlock() const { return last_; }
  ListRange<Block> blocks() const { return ListRange<Block>(first_); }
  // Appends an empty block. The first block made is the entry and gets the parameters as arguments.
  Block* addBlock(std::string_view name = {}, SourceLoc loc = {});
  // Numbers the blocks 0, 1, … in list order into Block::scratch; returns how many.
  uint32_t numberBlocks() const;

  InlineHint inlineHint = InlineHint::None;
  LaunchBounds launchBounds;  // Kernels.

  Function* next() const { return next_; }
  Function* prev() const { return prev_; }

 private:
  friend class Block;
  friend class Module;
  Module* module_ = nullptr;
  std::string_view name_;
  Function* prev_ = nullptr;
  Function* next_ = nullptr;
  Block* first_ = nullptr;
  Block* last_ = nullptr;
  std::vector<Type> params_;
  std::vector<std::string_view> paramNames_;
  Type result_;
  SourceLoc loc_;
  bool isKernel_ = false;
};

struct FunctionSpec {
  std::string_view name;
  Type result = kVoid;
  std::vector<Type> params = {};
  std::vector<std::string_view> paramNames = {};  // Empty, or one for each.
  bool isKernel = false;
  SourceLoc loc = {};
};

class Module {
 public:
  // `sources` names the files of locations; it must outlive the module.
  explicit Module(SourceManager& sources, std::string_view name = {});
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  std::string_view name() const { return name_; }
  void setName(std::string_view name) { name_ = arena_.copy(name); }
  SourceManager& sources() const { return sources_; }
  Arena& arena() { return arena_; }

  // Adds a function without blocks (a declaration until it gets some). Its name must be new: see
  // uniqueName().
  Function* addFunction(const FunctionSpec& spec);
  Function* findFunction(std::string_view name) const;
  std::string uniqueName(std::string_view wish) const;
  // No call may refer to it any more.
  void eraseFunction(Function* function);
  ListRange<Function> functions() const { return ListRange<Function>(first_); }

  // An operation outside any block. `operands` of a terminator are followed by those of its
  // successors, in order.
  struct OpSpec {
    Opcode opcode;
    Type result = kVoid;
    std::span<Value* const> operands = {};
    Type elem = kVoid;
    uint64_t payload = 0;
    uint8_t fastMath = 0;
    SourceLoc loc = {};
  };
  Operation* makeOp(const OpSpec& spec);
  // The payload of a tensor operation. Its operands are those of the slots, in their order.
  uint64_t tensorPayload(const MmaDesc& desc, SlotSet slots);
  uint64_t tensorPayload(const EpilogueDesc& desc, SlotSet slots);
  uint64_t tensorPayload(const TransferDesc& desc, SlotSet slots);
  struct Edge {
    Block* block;
    std::span<Value* const> args = {};
  };
  Operation* makeTerminator(Opcode opcode, std::span<Value* const> operands,
                            std::span<const Edge> edges, SourceLoc loc);
  static void append(Block* block, Operation* op);
  static void insertBefore(Operation* position, Operation* op);
  void setValueName(Value* value, std::string_view name);
  // A value that is defined nowhere, for parsers that meet a use before its definition.
  Value* makePlaceholder(Type type);

 private:
  friend class Block;
  friend class Function;
  friend class Operation;
  const char* copyName(std::string_view name);
  Value* makeBlockArg(Block* block, Type type, uint32_t index, std::string_view name);

  struct NameTable;
  SourceManager& sources_;
  Arena arena_;
  std::string_view name_;
  Function* first_ = nullptr;
  Function* last_ = nullptr;
  std::unique_ptr<NameTable> names_;
  std::vector<std::unique_ptr<Block>> blocks_;        // Own a vector, so they need a destructor.
  std::vector<std::unique_ptr<Function>> functions_;  // All ever made.
};

// The payload of a barrier, for OpSpec.
inline uint64_t barrierPayload(BarrierAttr b) {
  return b.regions | uint64_t{static_cast<uint8_t>(b.order)} << 8;
}

// The use that an operation of form Mma makes of its descriptor.
inline MmaUse mmaUse(Opcode opcode) {
  switch (opcode) {
    case Opcode::TensorMatmul:
      return MmaUse::Matmul;
    case Opcode::TensorAccBegin:
      return MmaUse::AccBegin;
    case Opcode::TensorAccMma:
      return MmaUse::AccMma;
    default:
      return MmaUse::Mma;
  }
}

inline uint64_t fencePayload(FenceAttr f) {
  return f.regions | uint64_t{static_cast<uint8_t>(f.order)} << 8 |
         uint64_t{static_cast<uint8_t>(f.scope)} << 16;
}
inline uint64_t atomicPayload(AtomicAttr a) {
  return static_cast<uint64_t>(a.order) | static_cast<uint64_t>(a.failureOrder) << 8 |
         static_cast<uint64_t>(a.scope) << 16 | static_cast<uint64_t>(a.kind) << 24;
}
inline uint64_t asyncPayload(AsyncAttr a) {
  return a.count | uint64_t{a.transaction} << 32 | uint64_t{a.cacheGlobal} << 40;
}
inline uint64_t narrowPayload(NarrowAttr n) {
  return static_cast<uint64_t>(n.format) | uint64_t{n.saturate} << 8;
}
inline uint64_t launchPayload(LaunchAttr l) {
  return reinterpret_cast<uint64_t>(l.kernel) | uint64_t{l.hasShared} | uint64_t{l.hasStream} << 1;
}

// True when the operation may be dropped if its result is unused and may be evaluated anywhere its
// operands exist.
inline bool isPure(const Operation& op) {
  const OpInfo& info = op.info();
  return info.effect == Effect::None && info.convergence == Convergence::None &&
         !info.has(OpTrait::Terminator) && !info.has(OpTrait::Identity);
}
// True when code that is not here runs: a direct or indirect call, or a launch.
inline bool isCall(const Operation& op) {
  return op.form() == Form::Call || op.form() == Form::CallIndirect || op.form() == Form::Launch;
}
// True when it may be dropped if its result is unused.
bool isDroppable(const Operation& op);

// The constant's bits if `value` is a `const`.
inline const Operation* asConst(const Value* value) {
  const Operation* def = value->def();
  return def && def->opcode() == Opcode::Const ? def : nullptr;
}
// Sign-extends the low `width` bits (1 … 64).
inline int64_t signExtend(uint64_t bits, unsigned width) {
  return width >= 64 ? static_cast<int64_t>(bits)
                     : static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
}

}  // namespace mtlc::ir

#endif  // MTLC_IR_IR_H_
