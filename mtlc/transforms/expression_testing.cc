#include "mtlc/transforms/expression_testing.h"

#include <random>

#include "absl/container/flat_hash_map.h"
#include "mtlc/ir/builder.h"
#include "mtlc/support/scalar_ops.h"
#include "mtlc/transforms/fold.h"

namespace mtlc::transforms {

using ir::Opcode;
using ir::Operation;
using ir::Type;
using ir::Value;

std::optional<Evaluation> evaluateAll(const ir::Function& function,
                                      std::span<const uint64_t> inputs) {
  absl::flat_hash_map<const Value*, uint64_t> values;
  Evaluation all;
  for (unsigned i = 0; i < function.paramCount(); ++i) values[function.param(i)] = inputs[i];
  for (Operation& op : function.entry()->ops()) {
    uint64_t in[3] = {};
    for (unsigned i = 0; i < op.operandCount() && i < 3; ++i) in[i] = values.at(op.operand(i));
    if (op.opcode() == Opcode::Ret) {
      all.result = in[0];
      return all;
    }
    std::optional<uint64_t> out;
    switch (op.opcode()) {
      case Opcode::Const:
        out = op.constBits();
        break;
      case Opcode::PtrAdd:
        out = in[0] + in[1] * op.elemType().bytes();
        break;
      case Opcode::PtrToInt:
      case Opcode::IntToPtr:
      case Opcode::SpaceCast:
        out = in[0];
        break;
      default:
        out = foldOperation(op.opcode(), op.operand(op.operandCount() - 1)->type(), op.resultType(),
                            op.fastMath(), {in, op.operandCount()});
    }
    if (!out) return std::nullopt;
    values[op.result()] = *out;
    all.values.push_back({op.result(), *out});
  }
  return std::nullopt;
}

std::optional<uint64_t> evaluate(const ir::Function& function, std::span<const uint64_t> inputs) {
  std::optional<Evaluation> all = evaluateAll(function, inputs);
  if (!all) return std::nullopt;
  return all->result;
}

namespace {

constexpr Type kIntTypes[] = {ir::kI1, ir::kI8, ir::kI16, ir::kI32, ir::kI64};
constexpr Type kFloatTypes[] = {ir::kF16, ir::kBF16, ir::kF32, ir::kF64};

uint64_t cornerBits(Type type, std::mt19937& random) {
  const unsigned w = type.bits();
  if (type.isFloat()) {
    const FloatKind kind = floatKind(type);
    const uint64_t inf = scalar::infinity(kind);
    const double numbers[] = {0, 1, 2, 0.5, 3, 1.5, 4, 0.1, 1e4, 0.25, 100.5, 127.5};
    uint64_t bits;
    switch (random() % 8) {
      case 0:
        bits = inf;
        break;
      case 1:
        bits = scalar::canonicalNan(kind);
        break;
      case 2:
        bits = inf + 1;  // Signalling.
        break;
      case 3:
        bits = inf - 1;  // The largest finite number.
        break;
      case 4:
        bits = random() % 3 + 1;  // Subnormal.
        break;
      default:
        bits = scalar::fromDouble(kind, numbers[random() % std::size(numbers)]);
    }
    return random() % 2 ? scalar::fneg(kind, bits) : bits;
  }
  const uint64_t one = uint64_t{1} << random() % w;
  const uint64_t choices[] = {0,
                              1,
                              2,
                              3,
                              ~uint64_t{0},
                              scalar::signBit(w),
                              scalar::signBit(w) - 1,
                              one,
                              one - 1,
                              uint64_t{0} - one,
                              5,
                              7,
                              10,
                              24,
                              100,
                              w,
                              w - 1,
                              8,
                              16};
  return choices[random() % std::size(choices)] & type.mask();
}

uint64_t randomBits(Type type, std::mt19937& random) {
  if (random() % 2) return cornerBits(type, random);
  uint64_t bits = (uint64_t{random()} << 32 | random()) & type.mask();
  if (type.isFloat() && random() % 2) {
    double v = static_cast<double>(static_cast<int32_t>(random())) / (1 << (random() % 31));
    bits = scalar::fromDouble(floatKind(type), v);
  }
  return bits;
}

class Generator {
 public:
  Generator(ir::Module& module, uint32_t seed) : random_(seed), module_(module), b_(module) {}

  ir::Function* make() {
    std::vector<Type> params;
    const unsigned count = 2 + pick(4);
    for (unsigned i = 0; i < count; ++i) params.push_back(anyType());
    // Most expressions stay within one or two types, so that operations meet.
    favourite_ = params[0].isPtr() ? ir::kI64 : params[0];
    const Type result = anyType();
    ir::Function* f =
        module_.addFunction({.name = module_.uniqueName("f"), .result = result, .params = params});
    b_.setInsertEnd(f->addBlock());
    for (Value* v : f->entry()->args()) values_.push_back(v);
    const unsigned length = 2 + pick(22);
    for (unsigned i = 0; i < length; ++i) values_.push_back(operation());
    b_.ret(convert(values_.back(), result));
    return f;
  }

 private:
  unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }
  Type anyType() {
    switch (pick(8)) {
      case 0:
        return Type::ptr(ir::Space::Global);
      case 1:
      case 2:
      case 3:
        return kFloatTypes[pick(4)];
      default:
        return kIntTypes[pick(5)];
    }
  }
  Type intType() { return kIntTypes[1 + pick(4)]; }

  // A value of the type: a recent one, a constant, or a conversion of something.
  Value* value(Type type) {
    if (!type.isPtr() && pick(10) < 3) return b_.constBits(type, cornerBits(type, random_));
    for (unsigned tries = 0; tries < 12; ++tries) {
      const size_t back = pick(static_cast<unsigned>(values_.size()));
      // Later values more often.
      Value* v = values_[values_.size() - 1 - (tries < 6 ? back / 2 : back)];
      if (v->type() == type) return v;
    }
    return convert(values_[values_.size() - 1 - pick(static_cast<unsigned>(values_.size()))], type);
  }

  Value* convert(Value* v, Type to) {
    const Type from = v->type();
    if (from == to) return v;
    if (to.isPtr()) {
      Value* wide = convert(v, ir::kI64);
      return b_.cast(Opcode::IntToPtr, wide, to);
    }
    if (from.isPtr()) return convert(b_.cast(Opcode::PtrToInt, v, ir::kI64), to);
    if (to.isBool()) {
      if (from.isFloat()) return b_.compare(Opcode::FCmpUne, v, b_.constBits(from, 0));
      return b_.compare(Opcode::CmpNe, v, b_.constBits(from, 0));
    }
    if (from.isFloat() && to.isFloat()) return b_.cast(Opcode::FConv, v, to);
    if (from.isFloat()) {
      if (from.bits() == to.bits() && pick(2)) return b_.cast(Opcode::Bitcast, v, to);
      return b_.cast(pick(2) ? Opcode::FToSI : Opcode::FToUI, v, to);
    }
    if (to.isFloat()) {
      if (from.bits() == to.bits() && pick(2)) return b_.cast(Opcode::Bitcast, v, to);
      return b_.cast(pick(2) ? Opcode::SIToF : Opcode::UIToF, v, to);
    }
    if (from.bits() > to.bits()) return b_.cast(Opcode::Trunc, v, to);
    return b_.cast(pick(2) ? Opcode::SExt : Opcode::ZExt, v, to);
  }

  Value* operation() {
    while (true) {
      const Opcode o = static_cast<Opcode>(pick(ir::kOpcodeCount));
      const ir::OpInfo& info = ir::opInfo(o);
      Type type = favourite_;
      const bool wantsFloat = info.typeClass == ir::TypeClass::Float;
      if (wantsFloat != type.isFloat() || pick(3) == 0) {
        type = wantsFloat ? kFloatTypes[pick(4)] : intType();
      }
      switch (info.form) {
        case ir::Form::Unary:
          // The mathematical functions have no rules, and they are slow.
          if (info.has(ir::OpTrait::Math)) continue;
          if (type.isBool()) type = intType();
          return b_.unary(o, value(type));
        case ir::Form::Binary:
          if (info.has(ir::OpTrait::Math)) continue;
          if (info.typeClass == ir::TypeClass::IntOrBool && pick(4) == 0) type = ir::kI1;
          if (info.typeClass == ir::TypeClass::Int && type.isBool()) type = intType();
          return b_.binary(o, value(type), value(type));
        case ir::Form::Ternary:
          return b_.fma(value(type), value(type), value(type));
        case ir::Form::Compare: {
          const bool equality = o == Opcode::CmpEq || o == Opcode::CmpNe;
          if (type.isBool() && !equality) type = intType();
          return b_.compare(o, value(type), value(type));
        }
        case ir::Form::Select: {
          Type t = pick(3) ? favourite_ : anyType();
          return b_.select(value(ir::kI1), value(t), value(t));
        }
        case ir::Form::Cast:
          if (pick(2)) continue;
          return convert(value(pick(2) ? favourite_ : anyType()), pick(2) ? favourite_ : anyType());
        case ir::Form::PtrAdd: {
          const Type elems[] = {ir::kI8, ir::kI16, ir::kF32, ir::kI64};
          return b_.ptrAdd(value(Type::ptr(ir::Space::Global)), value(ir::kI64), elems[pick(4)]);
        }
        default:
          continue;
      }
    }
  }

  std::mt19937 random_;
  ir::Module& module_;
  ir::Builder b_;
  Type favourite_;
  std::vector<Value*> values_;
};

}  // namespace

ir::Function* makeRandomExpression(ir::Module& module, uint32_t seed) {
  return Generator(module, seed).make();
}

std::vector<uint64_t> randomInputs(const ir::Function& function, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint64_t> inputs;
  for (Type type : function.paramTypes()) {
    inputs.push_back(type.isPtr() ? randomBits(ir::kI64, random) : randomBits(type, random));
  }
  return inputs;
}

}  // namespace mtlc::transforms
