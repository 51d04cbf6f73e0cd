// The arithmetic domain whose operations append to the IR; the concept and the meaning of each
// operation are in mtlc/support/math/host_domain.h.
//
// A value remembers the builder it belongs to. Constants have none until an operation with another
// operand needs them, so at least one operand of every operation is no constant.

#ifndef MTLC_TRANSFORMS_IR_DOMAIN_H_
#define MTLC_TRANSFORMS_IR_DOMAIN_H_

#include <cstdint>
#include <tuple>
#include <vector>

#include "mtlc/ir/builder.h"
#include "mtlc/support/float_format.h"

namespace mtlc::transforms {

struct IrBool {
  ir::Builder* builder;
  ir::Value* value;

  friend IrBool operator&(IrBool a, IrBool b) { return a.combine(ir::Opcode::And, b); }
  friend IrBool operator|(IrBool a, IrBool b) { return a.combine(ir::Opcode::Or, b); }
  friend IrBool operator^(IrBool a, IrBool b) { return a.combine(ir::Opcode::Xor, b); }
  friend IrBool operator!(IrBool a) {
    return {a.builder, a.builder->binary(ir::Opcode::Xor, a.value, a.builder->constBool(true))};
  }

 private:
  IrBool combine(ir::Opcode opcode, IrBool b) const {
    return {builder, builder->binary(opcode, value, b.value)};
  }
};

// A value of type kKind, or a constant given by its bits.
template <typename Constant, ir::TypeKind kKind>
struct IrNumber {
  using Self = IrNumber;
  static constexpr ir::Type kType{kKind};
  ir::Builder* builder = nullptr;
  ir::Value* value = nullptr;
  uint64_t constant = 0;

  IrNumber(ir::Builder* b, ir::Value* v) : builder(b), value(v) {}
  IrNumber(Constant c) : constant(bitsOf(c)) {}  // NOLINT: constants convert

  // The value, made here if it is a constant.
  ir::Value* in(ir::Builder* b) const { return value ? value : b->constBits(kType, constant); }

  Self unary(ir::Opcode opcode) const { return {builder, builder->unary(opcode, value)}; }
  static Self binary(ir::Opcode opcode, Self a, Self b) {
    ir::Builder* at = a.builder ? a.builder : b.builder;
    ir::Value* left = a.in(at);
    return {at, at->binary(opcode, left, b.in(at))};
  }
  static IrBool compare(ir::Opcode opcode, Self a, Self b) {
    ir::Builder* at = a.builder ? a.builder : b.builder;
    ir::Value* left = a.in(at);
    return {at, at->compare(opcode, left, b.in(at))};
  }

  static Self choose(IrBool c, Self a, Self b) {
    ir::Value* ifTrue = a.in(c.builder);
    return {c.builder, c.builder->select(c.value, ifTrue, b.in(c.builder))};
  }

 private:
  static uint64_t bitsOf(float c) { return f32Bits(c); }
  static uint64_t bitsOf(double c) { return f64Bits(c); }
  static uint64_t bitsOf(uint32_t c) { return c; }
  static uint64_t bitsOf(uint64_t c) { return c; }
};

template <typename Constant, ir::TypeKind kKind>
struct IrInt : IrNumber<Constant, kKind> {
  using Base = IrNumber<Constant, kKind>;
  using Self = IrInt;
  using Base::Base;
  IrInt(Base base) : Base(base) {}  // NOLINT: same representation

  friend Self operator+(Self a, Self b) { return Base::binary(ir::Opcode::Add, a, b); }
  friend Self operator-(Self a, Self b) { return Base::binary(ir::Opcode::Sub, a, b); }
  friend Self operator*(Self a, Self b) { return Base::binary(ir::Opcode::Mul, a, b); }
  friend Self operator&(Self a, Self b) { return Base::binary(ir::Opcode::And, a, b); }
  friend Self operator|(Self a, Self b) { return Base::binary(ir::Opcode::Or, a, b); }
  friend Self operator^(Self a, Self b) { return Base::binary(ir::Opcode::Xor, a, b); }
  friend Self shl(Self a, Self n) { return Base::binary(ir::Opcode::Shl, a, n); }
  friend Self lshr(Self a, Self n) { return Base::binary(ir::Opcode::LShr, a, n); }
  friend Self ashr(Self a, Self n) { return Base::binary(ir::Opcode::AShr, a, n); }
  friend Self umulhi(Self a, Self b) { return Base::binary(ir::Opcode::UMulHi, a, b); }
  friend IrBool eq(Self a, Self b) { return Base::compare(ir::Opcode::CmpEq, a, b); }
  friend IrBool ne(Self a, Self b) { return Base::compare(ir::Opcode::CmpNe, a, b); }
  friend IrBool ult(Self a, Self b) { return Base::compare(ir::Opcode::CmpUlt, a, b); }
  friend Self select(IrBool c, Self a, Self b) { return Base::choose(c, a, b); }
  friend IrBool slt(Self a, Self b) { return Base::compare(ir::Opcode::CmpSlt, a, b); }
};

template <typename Constant, ir::TypeKind kKind>
struct IrFloat : IrNumber<Constant, kKind> {
  using Base = IrNumber<Constant, kKind>;
  using Self = IrFloat;
  using Base::Base;
  IrFloat(Base base) : Base(base) {}  // NOLINT: same representation

  friend Self operator+(Self a, Self b) { return Base::binary(ir::Opcode::FAdd, a, b); }
  friend Self operator-(Self a, Self b) { return Base::binary(ir::Opcode::FSub, a, b); }
  friend Self operator*(Self a, Self b) { return Base::binary(ir::Opcode::FMul, a, b); }
  friend Self operator/(Self a, Self b) { return Base::binary(ir::Opcode::FDiv, a, b); }
  friend Self operator-(Self a) {
    // The negative of a constant is one.
    if (!a.value) return Self(-constantOf(a));
    return a.unary(ir::Opcode::FNeg);
  }
  friend Self abs(Self a) { return a.unary(ir::Opcode::FAbs); }
  friend Self sqrt(Self a) { return a.unary(ir::Opcode::FSqrt); }
  friend Self trunc(Self a) { return a.unary(ir::Opcode::FTrunc); }
  friend Self fma(Self a, Self b, Self c) {
    ir::Builder* at = a.builder ? a.builder : b.builder ? b.builder : c.builder;
    ir::Value *x = a.in(at), *y = b.in(at), *z = c.in(at);
    return {at, at->fma(x, y, z)};
  }
  friend Self fminNan(Self a, Self b) { return Base::binary(ir::Opcode::FMinNan, a, b); }
  friend Self fmaxNan(Self a, Self b) { return Base::binary(ir::Opcode::FMaxNan, a, b); }
  friend Self select(IrBool c, Self a, Self b) { return Base::choose(c, a, b); }
  friend IrBool operator<(Self a, Self b) { return Base::compare(ir::Opcode::FCmpOlt, a, b); }
  friend IrBool operator<=(Self a, Self b) { return Base::compare(ir::Opcode::FCmpOle, a, b); }
  friend IrBool operator>(Self a, Self b) { return Base::compare(ir::Opcode::FCmpOgt, a, b); }
  friend IrBool operator>=(Self a, Self b) { return Base::compare(ir::Opcode::FCmpOge, a, b); }
  friend IrBool operator==(Self a, Self b) { return Base::compare(ir::Opcode::FCmpOeq, a, b); }
  friend IrBool operator!=(Self a, Self b) { return Base::compare(ir::Opcode::FCmpUne, a, b); }

 private:
  static Constant constantOf(Self a) {
    if constexpr (kKind == ir::TypeKind::F32) {
      return f32FromBits(static_cast<uint32_t>(a.constant));
    } else {
      return f64FromBits(a.constant);
    }
  }
};

using IrI32 = IrInt<uint32_t, ir::TypeKind::I32>;
using IrI64 = IrInt<uint64_t, ir::TypeKind::I64>;
using IrF32 = IrFloat<float, ir::TypeKind::F32>;
using IrF64 = IrFloat<double, ir::TypeKind::F64>;

template <typename To, typename From>
To irCast(ir::Opcode opcode, From a) {
  return {a.builder, a.builder->cast(opcode, a.value, To::kType)};
}
inline IrI32 bits(IrF32 a) { return irCast<IrI32>(ir::Opcode::Bitcast, a); }
inline IrI64 bits(IrF64 a) { return irCast<IrI64>(ir::Opcode::Bitcast, a); }
inline IrF32 asF32(IrI32 a) { return irCast<IrF32>(ir::Opcode::Bitcast, a); }
inline IrF64 asF64(IrI64 a) { return irCast<IrF64>(ir::Opcode::Bitcast, a); }
inline IrF32 toF32(IrI32 a) { return irCast<IrF32>(ir::Opcode::SIToF, a); }
inline IrF32 toF32(IrI64 a) { return irCast<IrF32>(ir::Opcode::SIToF, a); }
inline IrF64 toF64(IrI32 a) { return irCast<IrF64>(ir::Opcode::SIToF, a); }
inline IrF64 toF64(IrI64 a) { return irCast<IrF64>(ir::Opcode::SIToF, a); }
inline IrI64 toI64(IrF32 a) { return irCast<IrI64>(ir::Opcode::FToSI, a); }
inline IrI64 toI64(IrF64 a) { return irCast<IrI64>(ir::Opcode::FToSI, a); }
inline IrI64 zext64(IrI32 a) { return irCast<IrI64>(ir::Opcode::ZExt, a); }
inline IrI32 trunc32(IrI64 a) { return irCast<IrI32>(ir::Opcode::Trunc, a); }

struct IrDomain {
  using Bool = IrBool;
  using I32 = IrI32;
  using I64 = IrI64;
  using F32 = IrF32;
  using F64 = IrF64;

  // Splits the insertion block: both arms lead to a new block, whose arguments are the results and
  // where insertion goes on. An arm without operations gets no block.
  template <typename Then, typename Else>
  static auto branch(Bool condition, Then then, Else otherwise) -> decltype(then());

 private:
  // One arm: its block, or nullptr if it is the edge itself, and the values it passes.
  struct Arm {
    ir::Block* block = nullptr;
    std::vector<ir::Value*> values;
  };
  template <typename Result, typename Body>
  static Result makeArm(ir::Builder& builder, ir::Block* origin, Body body, Arm* arm);

  template <typename T>
  static void flatten(const T& value, ir::Builder& builder, std::vector<ir::Value*>* out) {
    out->push_back(value.in(&builder));
  }
  template <typename... T>
  static void flatten(const std::tuple<T...>& values, ir::Builder& builder,
                      std::vector<ir::Value*>* out) {
    std::apply([&](const T&... each) { (flatten(each, builder, out), ...); }, values);
  }
  // The results again, now arguments of `join`, which are added here.
  template <typename T>
  static T received(ir::Builder& builder, ir::Block* join, const T*) {
    return T(&builder, join->addArg(T::kType));
  }
  template <typename... T>
  static std::tuple<T...> received(ir::Builder& builder, ir::Block* join, const std::tuple<T...>*) {
    // Braces: arguments are evaluated, and added, from left to right.
    return std::tuple<T...>{received(builder, join, static_cast<const T*>(nullptr))...};
  }
};

template <typename Result, typename Body>
Result IrDomain::makeArm(ir::Builder& builder, ir::Block* origin, Body body, Arm* arm) {
  ir::Block* first = origin->function()->addBlock();
  first->moveAfter(builder.insertBlock());
  builder.setInsertEnd(first);
  Result result = body();
  bool isEmpty = first->empty();
  if (isEmpty) {
    // Constants among the results then stand in the block that branches.
    first->erase();
    builder.setInsertEnd(origin);
  } else {
    arm->block = first;
  }
  flatten(result, builder, &arm->values);
  return result;
}

template <typename Then, typename Else>
auto IrDomain::branch(Bool condition, Then then, Else otherwise) -> decltype(then()) {
  using Result = decltype(then());
  ir::Builder& builder = *condition.builder;
  ir::Block* origin = builder.insertBlock();
  ir::Operation* rest = builder.insertBefore();
  ir::Block* join = origin->function()->addBlock();
  join->moveAfter(origin);
  if (rest) origin->moveTailTo(rest, join);

  builder.setInsertEnd(origin);
  Arm arms[2];
  makeArm<Result>(builder, origin, then, &arms[0]);
  ir::Block* thenEnd = builder.insertBlock();
  makeArm<Result>(builder, origin, otherwise, &arms[1]);
  ir::Block* elseEnd = builder.insertBlock();

  ir::Block* ends[2] = {thenEnd, elseEnd};
  for (int i = 0; i < 2; ++i) {
    if (!arms[i].block) continue;
    builder.setInsertEnd(ends[i]);
    builder.jump(join, arms[i].values);
  }
  builder.setInsertEnd(origin);
  auto target = [&](const Arm& arm) { return arm.block ? arm.block : join; };
  auto passed = [&](const Arm& arm) {
    return arm.block ? std::span<ir::Value* const>() : std::span<ir::Value* const>(arm.values);
  };
  builder.br(condition.value, target(arms[0]), target(arms[1]), passed(arms[0]), passed(arms[1]));
  if (rest) {
    builder.setInsertBefore(rest);
  } else {
    builder.setInsertEnd(join);
  }
  return received(builder, join, static_cast<const Result*>(nullptr));
}

}  // namespace mtlc::transforms

#endif  // MTLC_TRANSFORMS_IR_DOMAIN_H_
