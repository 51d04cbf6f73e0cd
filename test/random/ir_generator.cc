#include "test/random/ir_generator.h"

#include <algorithm>
#include <array>
#include <string>

#include "mtlc/analysis/graph.h"
#include "mtlc/analysis/uniformity.h"
#include "mtlc/ir/builder.h"

namespace mtlc::random_test {
namespace {

using ir::Form;
using ir::Opcode;
using ir::Type;
using ir::Value;

constexpr Type kScalars[] = {ir::kI1,  ir::kI8,   ir::kI16, ir::kI32, ir::kI64,
                             ir::kF16, ir::kBF16, ir::kF32, ir::kF64};

// What a block may use, by type.
struct Pool {
  std::array<std::vector<Value*>, ir::kTypeKindCount> byKind;

  std::vector<Value*>& of(Type type) { return byKind[static_cast<size_t>(type.kind())]; }
  void add(Value* v) { of(v->type()).push_back(v); }
};

class FunctionGenerator {
 public:
  FunctionGenerator(ir::Module& module, std::mt19937_64& random,
                    const std::vector<ir::Function*>& helpers)
      : module_(module), random_(random), helpers_(helpers), b_(module) {}

  ir::Function* make(bool isKernel) {
    const std::string name = isKernel ? "k" : module_.uniqueName("h");
    ir::FunctionSpec spec;
    spec.name = name;
    spec.isKernel = isKernel;
    if (isKernel) spec.params = {Type::ptr(ir::Space::Global), Type::ptr(ir::Space::Global)};
    for (uint32_t i = 2 + pick(5); i > 0; --i) spec.params.push_back(anyScalar());
    if (!isKernel) spec.result = anyScalar();
    function_ = module_.addFunction(spec);

    const uint32_t n = chance(8) ? 1 : 2 + pick(isKernel ? 14 : 6);
    const std::vector<analysis::Digraph::Edge> edges = chooseEdges(n);
    const analysis::Digraph graph(n, edges);
    for (uint32_t i = 0; i < n; ++i) {
      blocks_.push_back(function_->addBlock("b" + std::to_string(i)));
      for (uint32_t k = i == 0 ? 0 : pick(4); k > 0; --k) blocks_[i]->addArg(anyScalar());
    }
    const std::vector<uint32_t> idom = analysis::immediateDominators(graph, 0);
    std::vector<Pool> available(n);
    const analysis::ForestOrder tree(idom);
    for (uint32_t i : tree.preorder()) {
      // An unreachable block sees only what it has itself.
      if (idom[i] != analysis::kNoNode) available[i] = available[idom[i]];
      pool_ = &available[i];
      b_.setInsertEnd(blocks_[i]);
      for (Value* arg : blocks_[i]->args()) {
        if (!arg->type().isPtr()) pool_->add(arg);
      }
      const bool reachable = i == 0 || idom[i] != analysis::kNoNode;
      if (i == 0) prologue(isKernel);
      for (uint32_t k = pick(9); k > 0; --k) statement(reachable);
      terminate(i, graph.succs(i), reachable);
    }
    return function_;
  }

 private:
  uint32_t pick(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  bool chance(uint32_t oneIn) { return pick(oneIn) == 0; }
  Type anyScalar() { return kScalars[pick(std::size(kScalars))]; }
  Type anyInt() { return kScalars[1 + pick(4)]; }
  Type anyFloat() { return kScalars[5 + pick(4)]; }

  // Every block but the last has an edge forward; every other block may have one back.
  std::vector<analysis::Digraph::Edge> chooseEdges(uint32_t n) {
    std::vector<analysis::Digraph::Edge> edges;
    for (uint32_t i = 0; i + 1 < n; ++i) {
      if (i > 0 && chance(9)) continue;  // An early return.
      auto forward = [&] { return std::min(n - 1, i + 1 + (pick(3) ? pick(3) : pick(n))); };
      const uint32_t kind = pick(4);
      if (kind == 0 && i > 0) {
        edges.push_back({i, 1 + pick(i)});  // Back, guarded by fuel; the other arm leads on.
        edges.push_back({i, forward()});
      } else {
        edges.push_back({i, forward()});
        if (kind != 1) edges.push_back({i, forward()});
      }
    }
    return edges;
  }

  Value* constant(Type type) { return b_.constBits(type, randomBits(type, random_)); }
  Value* any(Type type) {
    std::vector<Value*>& values = pool_->of(type);
    if (values.empty() || chance(6)) return constant(type);
    const uint32_t size = static_cast<uint32_t>(values.size());
    return chance(2) ? values[size - 1 - pick(std::min(size, 4u))] : values[pick(size)];
  }
  Value* index(uint32_t limit) {  // A random i64 below a power of two.
    Value* v = any(ir::kI64);
    return b_.binary(Opcode::And, v, b_.constInt(ir::kI64, limit - 1));
  }

  void prologue(bool isKernel) {
    slots_.clear();
    fuel_ = b_.allocPrivate(ir::kI32, 1);
    for (uint32_t i = pick(5); i > 0; --i) {
      slots_.push_back(b_.allocPrivate(anyScalar(), chance(3) ? 4 : 1));
    }
    if (isKernel && chance(2)) shared_ = b_.allocWorkgroup(ir::kI64, 8);
    b_.store(ir::kI32, b_.constInt(ir::kI32, 3 + pick(10)), fuel_);
    if (isKernel) {
      in_ = function_->param(0);
      Value* tid = b_.gpuIndex(Opcode::ThreadId, ir::Dim::X);
      Value* bid = b_.gpuIndex(Opcode::BlockId, ir::Dim::X);
      Value* dim = b_.gpuIndex(Opcode::BlockDim, ir::Dim::X);
      Value* linear = b_.add(b_.mul(bid, dim), tid);
      Value* cell =
          b_.mul(b_.cast(Opcode::ZExt, linear, ir::kI64), b_.constInt(ir::kI64, kCellsPerThread));
      out_ = b_.ptrAdd(function_->param(1), cell, ir::kI64);
      for (Value* v : {bid, dim, b_.gpuIndex(Opcode::GridDim, ir::Dim::Y)}) pool_->add(v);
      if (chance(2)) pool_->add(tid);
      if (shared_) {
        own_ = b_.ptrAdd(shared_, b_.cast(Opcode::ZExt, tid, ir::kI64), ir::kI64);
        b_.store(ir::kI64, constant(ir::kI64), own_);
      }
    }
    // Something of each type that no pass can know.
    for (Type type : kScalars) {
      if (in_ && !type.isBool()) {
        Value* cell = b_.constInt(ir::kI64, pick(kInputCells));
        pool_->add(b_.load(type, b_.ptrAdd(in_, cell, ir::kI64)));
      }
      const Type from = type.isBool() ? anyScalar() : type;
      std::vector<Value*>& known = pool_->of(from);
      if (type.isBool() && !known.empty()) {
        Value* a = known[pick(static_cast<uint32_t>(known.size()))];
        pool_->add(b_.compare(from.isFloat() ? Opcode::FCmpOgt : Opcode::CmpNe, a, constant(from)));
      }
    }
    for (Value* slot : slots_) {
      const ir::Operation* alloc = slot->def();
      const Type type = alloc->elemType();
      for (uint64_t k = 0; k < alloc->allocCount(); ++k) {
        Value* p = slot;
        if (k > 0 || chance(4)) {
          p = b_.ptrAdd(slot, b_.constInt(ir::kI64, static_cast<int64_t>(k)), type);
        }
        b_.store(type, any(type), p);
      }
    }
  }

  void statement(bool reachable) {
    switch (pick(12)) {
      case 0:
        if (!slots_.empty() && reachable) accessSlot(true);
        return;
      case 1:
        if (!slots_.empty() && reachable) accessSlot(false);
        return;
      case 2:
        if (in_ && reachable) {
          const Type type = anyScalar();
          // A bool in memory is 0 or 1, which random bytes aren't.
          if (type.isBool()) return;
          Value* p = b_.ptrAdd(in_, index(kInputCells), ir::kI64);
          pool_->add(b_.load(type, p, {.align = chance(2) ? 8u : 0u, .isVolatile = chance(8)}));
        }
        return;
      case 3:
        if (out_ && reachable) storeResult();
        return;
      case 4:
        if (!helpers_.empty() && reachable) {
          ir::Function* callee = helpers_[pick(static_cast<uint32_t>(helpers_.size()))];
          std::vector<Value*> args;
          for (Type type : callee->paramTypes()) args.push_back(any(type));
          pool_->add(b_.call(callee, args));
        }
        return;
      case 5:
        if (own_ && reachable) {
          if (chance(2)) {
            b_.store(ir::kI64, any(ir::kI64), own_);
          } else {
            pool_->add(b_.load(ir::kI64, own_));
          }
        }
        return;
      default:
        operation();
    }
  }

  void accessSlot(bool isStore) {
    Value* slot = slots_[pick(static_cast<uint32_t>(slots_.size()))];
    const ir::Operation* alloc = slot->def();
    const Type type = alloc->elemType();
    Value* p = slot;
    if (alloc->allocCount() > 1) {
      p = b_.ptrAdd(slot, chance(2) ? b_.constInt(ir::kI64, pick(4)) : index(4), type);
    }
    if (isStore) {
      b_.store(type, any(type), p);
    } else {
      pool_->add(b_.load(type, p));
    }
  }

  void storeResult() {
    const Type type = anyScalar();
    Value* cell = b_.constInt(ir::kI64, static_cast<int64_t>(nextCell_++ % kCellsPerThread));
    b_.store(type, any(type), b_.ptrAdd(out_, cell, ir::kI64));
  }

  // A pure operation of the table with operands of one of its types.
  void operation() {
    const Opcode opcode = static_cast<Opcode>(pick(ir::kOpcodeCount));
    const ir::OpInfo& info = ir::opInfo(opcode);
    Type type;
    switch (info.typeClass) {
      case ir::TypeClass::Int:
        type = anyInt();
        break;
      case ir::TypeClass::I32:
        type = ir::kI32;
        break;
      case ir::TypeClass::IntOrBool:
      case ir::TypeClass::IntOrBoolOrPtr:
        type = kScalars[pick(5)];
        break;
      case ir::TypeClass::IntOrPtr:
        type = anyInt();
        break;
      case ir::TypeClass::Float:
        type = anyFloat();
        break;
      case ir::TypeClass::Scalar:
      case ir::TypeClass::AnyValue:
        type = anyScalar();
        break;
      case ir::TypeClass::Ptr:
      case ir::TypeClass::None:
      case ir::TypeClass::Word:
      case ir::TypeClass::Payload:
      case ir::TypeClass::Tile:
        return;
    }
    // Mathematical functions expand to a hundred operations each.
    if (info.has(ir::OpTrait::Math) && !chance(4)) return;
    switch (info.form) {
      case Form::Const:
        pool_->add(constant(type));
        return;
      case Form::Unary:
        pool_->add(b_.unary(opcode, any(type)));
        return;
      case Form::Binary: {
        Value* a = any(type);
        Value* b = chance(8) ? a : chance(3) ? constant(type) : any(type);
        pool_->add(b_.binary(opcode, a, b));
        return;
      }
      case Form::Ternary:
        pool_->add(b_.fma(any(type), any(type), any(type)));
        return;
      case Form::Compare:
        pool_->add(b_.compare(opcode, any(type), any(type)));
        return;
      case Form::Select:
        pool_->add(b_.select(any(ir::kI1), any(type), any(type)));
        return;
      case Form::Cast:
        if (auto to = castTarget(opcode, type); !to.isVoid()) {
          pool_->add(b_.cast(opcode, any(type), to));
        }
        return;
      default:
        return;  // Made elsewhere.
    }
  }

  // A type that `opcode` converts `from` to, or void.
  Type castTarget(Opcode opcode, Type from) {
    for (int attempt = 0; attempt < 12; ++attempt) {
      const Type to = anyScalar();
      bool fits = false;
      switch (opcode) {
        case Opcode::Trunc:
          fits = to.isInt() && to.bits() < from.bits();
          break;
        case Opcode::SExt:
        case Opcode::ZExt:
          fits = to.isInt() && to.bits() > from.bits();
          break;
        case Opcode::FConv:
          fits = to.isFloat() && to != from;
          break;
        case Opcode::FToSI:
        case Opcode::FToUI:
          fits = to.isInt();
          break;
        case Opcode::SIToF:
        case Opcode::UIToF:
          fits = to.isFloat();
          break;
        case Opcode::Bitcast:
          fits = to != from && to.bits() == from.bits();
          break;
        default:
          break;
      }
      if (fits) return to;
    }
    return ir::kVoid;
  }

  void terminate(uint32_t block, std::span<const uint32_t> succs, bool reachable) {
    std::vector<Value*> args[2];
    for (size_t i = 0; i < succs.size(); ++i) {
      for (Value* arg : blocks_[succs[i]]->args()) args[i].push_back(any(arg->type()));
    }
    if (succs.empty()) {
      if (out_ && reachable) {
        for (int i = 0; i < 6; ++i) storeResult();
      }
      b_.ret(function_->isKernel() ? nullptr : any(function_->resultType()));
    } else if (succs.size() == 1) {
      b_.jump(blocks_[succs[0]], args[0]);
    } else {
      Value* condition = any(ir::kI1);
      if (succs[0] <= block) {
        if (!reachable) {
          condition = b_.constBool(false);
        } else {
          Value* left = b_.load(ir::kI32, fuel_);
          b_.store(ir::kI32, b_.sub(left, b_.constInt(ir::kI32, 1)), fuel_);
          Value* enough = b_.compare(Opcode::CmpSgt, left, b_.constInt(ir::kI32, 0));
          condition = b_.binary(Opcode::And, condition, enough);
        }
      }
      b_.br(condition, blocks_[succs[0]], blocks_[succs[1]], args[0], args[1]);
    }
  }

  ir::Module& module_;
  std::mt19937_64& random_;
  const std::vector<ir::Function*>& helpers_;
  ir::Builder b_;
  ir::Function* function_ = nullptr;
  std::vector<ir::Block*> blocks_;
  Pool* pool_ = nullptr;
  std::vector<Value*> slots_;
  Value* fuel_ = nullptr;
  Value* in_ = nullptr;
  Value* out_ = nullptr;  // This thread's first cell.
  Value* shared_ = nullptr;
  Value* own_ = nullptr;  // This thread's element of `shared_`.
  uint32_t nextCell_ = 0;
};

void insertBarriers(ir::Module& module, std::mt19937_64& random) {
  const analysis::Uniformity uniformity(module);
  ir::Builder b(module);
  std::vector<ir::Block*> chosen;
  for (ir::Function& f : module.functions()) {
    for (ir::Block& block : f.blocks()) {
      if (uniformity.controlRank(&block) == analysis::Rank::Workgroup && random() % 3 == 0) {
        chosen.push_back(&block);
      }
    }
  }
  for (ir::Block* block : chosen) {
    b.setInsertBefore(block->terminator());
    b.barrier({.regions = static_cast<uint8_t>(1 + random() % 3)});
  }
}

}  // namespace

uint64_t randomBits(Type type, std::mt19937_64& random) {
  const unsigned width = type.bits();
  const uint64_t mask = type.mask();
  if (type.isBool()) return random() & 1;
  if (random() % 3 == 0) return random() & mask;
  if (type.isInt()) {
    const uint64_t sign = uint64_t{1} << (width - 1);
    const uint64_t corners[] = {
        0,        1,     mask,      sign,          sign - 1,
        sign + 1, width, width - 1, width + 1,     2 * width,
        mask - 1, 2,     mask / 3,  random() % 16, uint64_t{0} - random() % 16};
    return corners[random() % std::size(corners)] & mask;
  }
  // Exponent and mantissa widths.
  const unsigned m = type == ir::kF16 ? 10 : type == ir::kBF16 ? 7 : type == ir::kF32 ? 23 : 52;
  const uint64_t sign = uint64_t{1} << (width - 1);
  const uint64_t infinity = (sign - 1) & ~((uint64_t{1} << m) - 1);
  const uint64_t one = (infinity >> 1) & ~((uint64_t{1} << m) - 1);
  const uint64_t corners[] = {
      0,
      one,
      infinity,
      infinity | uint64_t{1} << (m - 1),  // NaN
      infinity | 1,                       // Signalling NaN
      infinity - 1,                       // Largest finite
      1,                                  // Smallest subnormal
      (uint64_t{1} << m) - 1,             // Largest subnormal
      uint64_t{1} << m,                   // Smallest normal
      one | 1,
      one - 1,
      one + (random() % 70 << m),  // Powers of two around the widths of integers
      one + (random() % 70 << m) - 1,
      (one + (random() % 8 << m)) | (random() & ((uint64_t{1} << m) - 1))};
  return (corners[random() % std::size(corners)] ^ (random() % 3 == 0 ? sign : 0)) & mask;
}

void canonicaliseNans(ir::Module& module) {
  ir::Builder b(module);
  for (ir::Function& f : module.functions()) {
    for (ir::Block& block : f.blocks()) {
      for (ir::Operation& op : block.ops()) {
        const bool seen =
            op.opcode() == Opcode::Bitcast ||
            (op.opcode() == Opcode::Store && op.operand(1)->type().space() == ir::Space::Global);
        Value* value = seen ? op.operand(0) : nullptr;
        if (value == nullptr || !value->type().isFloat()) continue;
        const Type type = value->type();
        const uint64_t nan = type == ir::kF16    ? 0x7E00
                             : type == ir::kBF16 ? 0x7FC0
                             : type == ir::kF32  ? 0x7FC00000
                                                 : uint64_t{0x7FF8} << 48;
        b.setInsertBefore(&op);
        Value* isNan = b.compare(Opcode::FCmpUno, value, value);
        op.setOperand(0, b.select(isNan, b.constBits(type, nan), value));
      }
    }
  }
}

void generateModule(ir::Module& module, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<ir::Function*> helpers;
  for (uint64_t i = random() % 3; i > 0; --i) {
    helpers.push_back(FunctionGenerator(module, random, helpers).make(false));
  }
  FunctionGenerator(module, random, helpers).make(true);
  insertBarriers(module, random);
}

}  // namespace mtlc::random_test
