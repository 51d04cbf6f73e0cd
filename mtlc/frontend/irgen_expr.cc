// Expressions.

#include <bit>

#include "absl/strings/str_format.h"
#include "mtlc/frontend/irgen_impl.h"

namespace mtlc::frontend {

using checked::BinaryOp;
using checked::CompareOp;
using checked::ExprKind;
using ir::Opcode;
using ir::Space;

// --- Values ---

ir::Value* IrGenerator::value(const Expr* e) {
  size_t mark = spine_.size();
  while (const Expr* left = checked::leftOperand(e)) {
    spine_.push_back(e);
    e = left;
  }
  ir::Value* v = leaf(e);
  while (spine_.size() > mark) {
    const Expr* node = spine_.back();
    spine_.pop_back();
    v = combine(node, v);
  }
  return v;
}

ir::Value* IrGenerator::valueAs(const Expr* e, ir::Type type) {
  // Null has no space of its own.
  if (e->kind == ExprKind::constant && type.isPtr()) {
    setLoc(e->range);
    return b_.nullPtr(type.space());
  }
  return coerce(value(e), type, e->range);
}

void IrGenerator::escape(SourceRange at, Space space) {
  if (!firstFailure(at)) return;
  diagnostics_.report(DiagId::PointerEscapes, at, {ir::spaceName(space)});
}

ir::Value* IrGenerator::coerce(ir::Value* v, ir::Type type, SourceRange at) {
  if (v->type() == type) return v;
  if (type.isPtr() && type.space() == Space::Generic) {
    setLoc(at);
    return b_.cast(Opcode::SpaceCast, v, type);
  }
  // Memory holds pointers to global memory.
  escape(at, v->type().space());
  return b_.nullPtr(type.space());
}

ir::Value* IrGenerator::constant(const checked::ConstantExpr* e, ir::Type type) {
  uint64_t bits = e->bits;
  // A float literal that nothing converted.
  if (e->literal && type == ir::kF32) {
    return b_.constF32(static_cast<float>(std::bit_cast<double>(bits)));
  }
  return b_.constBits(type, bits);
}

ir::Value* IrGenerator::leaf(const Expr* e) {
  setLoc(e->range);
  switch (e->kind) {
    case ExprKind::constant:
      return constant(static_cast<const checked::ConstantExpr*>(e), irType(e->type));
    case ExprKind::local: {
      const checked::Local* local = static_cast<const checked::LocalExpr*>(e)->local;
      const LocalState& state = locals_[local->index];
      if (state.value) return state.value;
      return b_.load(localType(local), state.address);
    }
    case ExprKind::element: {
      ir::Value* a = address(static_cast<const checked::ElementExpr*>(e));
      setLoc(e->range);
      return b_.load(irType(e->type), a);
    }
    case ExprKind::addressOf:
    case ExprKind::decay: {
      const Expr* operand = static_cast<const checked::UnaryExpr*>(e)->operand;
      return locals_[static_cast<const checked::LocalExpr*>(operand)->local->index].address;
    }
    case ExprKind::negate: {
      ir::Value* v = value(static_cast<const checked::UnaryExpr*>(e)->operand);
      setLoc(e->range);
      return b_.unary(e->type->isFloat() ? Opcode::FNeg : Opcode::Neg, v);
    }
    case ExprKind::bitNot: {
      ir::Value* v = value(static_cast<const checked::UnaryExpr*>(e)->operand);
      setLoc(e->range);
      return b_.binary(Opcode::Xor, v, b_.constBits(v->type(), ~uint64_t{0}));
    }
    case ExprKind::logicalNot: {
      ir::Value* v = value(static_cast<const checked::UnaryExpr*>(e)->operand);
      setLoc(e->range);
      return b_.binary(Opcode::Xor, v, b_.constBool(true));
    }
    case ExprKind::call:
      return call(static_cast<const checked::CallExpr*>(e));
    case ExprKind::builtin:
      return builtin(static_cast<const checked::BuiltinExpr*>(e));
    case ExprKind::binary:
    case ExprKind::compare:
    case ExprKind::logical:
    case ExprKind::convert:
    case ExprKind::pointerOffset:
    case ExprKind::pointerDifference:
      break;  // Not a leaf: leftOperand() has one.
  }
  return nullptr;
}

ir::Value* IrGenerator::combine(const Expr* node, ir::Value* left) {
  switch (node->kind) {
    case ExprKind::binary: {
      auto* x = static_cast<const checked::BinaryExpr*>(node);
      ir::Value* right = value(x->rhs);
      setLoc(node->range);
      return arithmetic(x->op, x->type, left, right);
    }
    case ExprKind::compare:
      return compare(static_cast<const checked::CompareExpr*>(node), left);
    case ExprKind::logical:
      return logical(static_cast<const checked::LogicalExpr*>(node), left);
    case ExprKind::convert: {
      auto* x = static_cast<const checked::UnaryExpr*>(node);
      setLoc(node->range);
      return convert(left, x->operand->type, x->type);
    }
    case ExprKind::pointerOffset: {
      auto* x = static_cast<const checked::PointerOffsetExpr*>(node);
      ir::Value* pointer = left;
      ir::Value* index;
      if (x->indexFirst) {
        setLoc(x->range);
        index = convert(left, x->index->type, program_.types.int64());
        pointer = value(x->pointer);
      } else {
        index = index64(x->index, x->negative);
      }
      setLoc(x->range);
      return b_.ptrAdd(pointer, index, irType(x->type->elem));
    }
    case ExprKind::pointerDifference:
      return pointerDifference(static_cast<const checked::PointerDifferenceExpr*>(node), left);
    default:
      return left;
  }
}

ir::Value* IrGenerator::arithmetic(BinaryOp op, const Type* type, ir::Value* a, ir::Value* b) {
  if (type->isFloat()) {
    constexpr Opcode kFloat[] = {Opcode::FAdd, Opcode::FSub, Opcode::FMul, Opcode::FDiv};
    return b_.binary(kFloat[static_cast<int>(op)], a, b);
  }
  constexpr Opcode kSigned[] = {Opcode::Add, Opcode::Sub, Opcode::Mul, Opcode::SDiv, Opcode::SRem,
                                Opcode::And, Opcode::Or,  Opcode::Xor, Opcode::Shl,  Opcode::AShr};
  constexpr Opcode kUnsigned[] = {Opcode::Add,  Opcode::Sub, Opcode::Mul, Opcode::UDiv,
                                  Opcode::URem, Opcode::And, Opcode::Or,  Opcode::Xor,
                                  Opcode::Shl,  Opcode::LShr};
  static_assert(static_cast<int>(BinaryOp::shr) == 9);
  return b_.binary((type->isUnsigned() ? kUnsigned : kSigned)[static_cast<int>(op)], a, b);
}

void IrGenerator::sameSpace(ir::Value** a, ir::Value** b) {
  if ((*a)->type() == (*b)->type()) return;
  ir::Type generic = ir::Type::ptr(Space::Generic);
  if ((*a)->type() != generic) *a = b_.cast(Opcode::SpaceCast, *a, generic);
  if ((*b)->type() != generic) *b = b_.cast(Opcode::SpaceCast, *b, generic);
}

ir::Value* IrGenerator::compare(const checked::CompareExpr* e, ir::Value* left) {
  const Type* t = e->lhs->type;
  ir::Value* right;
  if (t->isPointer() && e->rhs->kind == ExprKind::constant) {
    right = valueAs(e->rhs, left->type());
  } else {
    right = value(e->rhs);
  }
  setLoc(e->range);
  constexpr Opcode kFloat[] = {Opcode::FCmpOeq, Opcode::FCmpUne, Opcode::FCmpOlt,
                               Opcode::FCmpOle, Opcode::FCmpOgt, Opcode::FCmpOge};
  constexpr Opcode kSigned[] = {Opcode::CmpEq,  Opcode::CmpNe,  Opcode::CmpSlt,
                                Opcode::CmpSle, Opcode::CmpSgt, Opcode::CmpSge};
  constexpr Opcode kUnsigned[] = {Opcode::CmpEq,  Opcode::CmpNe,  Opcode::CmpUlt,
                                  Opcode::CmpUle, Opcode::CmpUgt, Opcode::CmpUge};
  static_assert(static_cast<int>(CompareOp::greaterEqual) == 5);
  int op = static_cast<int>(e->op);
  if (t->isFloat()) return b_.compare(kFloat[op], left, right);
  if (t->isPointer()) {
    if (e->lhs->kind == ExprKind::constant) left = b_.nullPtr(right->type().space());
    sameSpace(&left, &right);
    return b_.compare(kUnsigned[op], left, right);
  }
  return b_.compare((t->isUnsigned() ? kUnsigned : kSigned)[op], left, right);
}

// As a value; conditions go through branch().
ir::Value* IrGenerator::logical(const checked::LogicalExpr* e, ir::Value* left) {
  setLoc(e->range);
  ir::Block* rest = newBlock(e->isAnd ? "and" : "or");
  ir::Block* end = newBlock("endlogical");
  ir::Value* result = end->addArg(ir::kI1);
  ir::Value* known[] = {b_.constBool(!e->isAnd)};
  if (e->isAnd) {
    b_.br(left, rest, end, {}, known);
  } else {
    b_.br(left, end, rest, known, {});
  }
  place(rest);
  ir::Value* right[] = {value(e->rhs)};
  setLoc(e->range);
  b_.jump(end, right);
  place(end);
  return result;
}

ir::Value* IrGenerator::pointerDifference(const checked::PointerDifferenceExpr* e,
                                          ir::Value* left) {
  ir::Value* right = value(e->rhs);
  setLoc(e->range);
  sameSpace(&left, &right);
  left = b_.cast(Opcode::PtrToInt, left, ir::kI64);
  right = b_.cast(Opcode::PtrToInt, right, ir::kI64);
  ir::Value* bytes = b_.sub(left, right);
  // Both point to elements of one array, so the size divides the distance.
  unsigned size = irType(e->lhs->type->elem).bytes();
  if (size == 1) return bytes;
  return b_.binary(Opcode::AShr, bytes, b_.constInt(ir::kI64, std::countr_zero(size)));
}

// --- Places ---

ir::Value* IrGenerator::index64(const Expr* e, bool negative) {
  if (e->kind == ExprKind::constant) {
    auto* c = static_cast<const checked::ConstantExpr*>(e);
    int64_t v = e->type->isUnsigned() ? static_cast<int64_t>(c->bits)
                                      : ir::signExtend(c->bits, e->type->bits());
    setLoc(e->range);
    return b_.constBits(ir::kI64, negative ? -static_cast<uint64_t>(v) : static_cast<uint64_t>(v));
  }
  ir::Value* v = value(e);
  setLoc(e->range);
  v = convert(v, e->type, program_.types.int64());
  return negative ? b_.unary(Opcode::Neg, v) : v;
}

ir::Value* IrGenerator::address(const checked::ElementExpr* e) {
  ir::Value* pointer = value(e->pointer);
  if (!e->index) return pointer;
  if (e->index->kind == ExprKind::constant &&
      static_cast<const checked::ConstantExpr*>(e->index)->bits == 0) {
    return pointer;
  }
  ir::Value* index = index64(e->index, false);
  setLoc(e->range);
  return b_.ptrAdd(pointer, index, irType(e->type));
}

ir::Value* IrGenerator::placeAddress(const Expr* place) {
  setLoc(place->range);
  if (place->kind == ExprKind::local) {
    return locals_[static_cast<const checked::LocalExpr*>(place)->local->index].address;
  }
  return address(static_cast<const checked::ElementExpr*>(place));
}

// --- Conversions ---

ir::Value* IrGenerator::convert(ir::Value* v, const Type* from, const Type* to) {
  ir::Type type = irType(to);
  if (from->isPointer()) {
    if (to->isPointer()) return v;  // The address space stays.
    return b_.cast(Opcode::PtrToInt, v, ir::kI64);
  }
  if (to->isPointer()) return b_.cast(Opcode::IntToPtr, v, ir::Type::ptr(Space::Global));
  if (to->isBool()) {
    if (from->isBool()) return v;
    ir::Value* zero = b_.constBits(v->type(), 0);
    return b_.compare(from->isFloat() ? Opcode::FCmpUne : Opcode::CmpNe, v, zero);
  }
  if (from->isFloat()) {
    if (to->isFloat()) return from == to ? v : b_.cast(Opcode::FConv, v, type);
    return b_.cast(to->isUnsigned() ? Opcode::FToUI : Opcode::FToSI, v, type);
  }
  if (to->isFloat()) return b_.cast(from->isUnsigned() ? Opcode::UIToF : Opcode::SIToF, v, type);
  if (type == v->type()) return v;
  if (type.bits() < v->type().bits()) return b_.cast(Opcode::Trunc, v, type);
  return b_.cast(from->isUnsigned() ? Opcode::ZExt : Opcode::SExt, v, type);
}

// --- Calls ---

ir::Value* IrGenerator::call(const checked::CallExpr* e) {
  std::vector<Space> spaces;
  spaces_.argumentSpaces(e, *spec_, &spaces);
  Specialization& callee = spaces_.get(e->callee, spaces);
  ir::Function* f = declare(callee);
  size_t mark = args_.size();
  for (size_t i = 0; i < e->args.size(); ++i) {
    ir::Value* v = valueAs(e->args[i], f->paramTypes()[i]);
    args_.push_back(v);
  }
  setLoc(e->range);
  ir::Value* result = b_.call(f, std::span<ir::Value* const>(args_).subspan(mark));
  args_.resize(mark);
  return result;
}

namespace {

struct MathRow {
  BuiltinKind kind;
  Opcode opcode;
  bool approx;
};
constexpr MathRow kMath[] = {
    {BuiltinKind::sqrt, Opcode::FSqrt, false},
    {BuiltinKind::rsqrt, Opcode::RSqrt, false},
    {BuiltinKind::fabs, Opcode::FAbs, false},
    {BuiltinKind::sin, Opcode::Sin, false},
    {BuiltinKind::cos, Opcode::Cos, false},
    {BuiltinKind::tan, Opcode::Tan, false},
    {BuiltinKind::log, Opcode::Log, false},
    {BuiltinKind::log2, Opcode::Log2, false},
    {BuiltinKind::exp, Opcode::Exp, false},
    {BuiltinKind::exp2, Opcode::Exp2, false},
    {BuiltinKind::pow, Opcode::Pow, false},
    {BuiltinKind::tanh, Opcode::Tanh, false},
    {BuiltinKind::erf, Opcode::Erf, false},
    {BuiltinKind::floor, Opcode::FFloor, false},
    {BuiltinKind::ceil, Opcode::FCeil, false},
    {BuiltinKind::trunc, Opcode::FTrunc, false},
    {BuiltinKind::round, Opcode::FRound, false},
    {BuiltinKind::roundEven, Opcode::FRoundEven, false},
    {BuiltinKind::fmin, Opcode::FMin, false},
    {BuiltinKind::fmax, Opcode::FMax, false},
    {BuiltinKind::fastExp, Opcode::Exp, true},
    {BuiltinKind::fastLog, Opcode::Log, true},
    {BuiltinKind::fastSin, Opcode::Sin, true},
    {BuiltinKind::fastCos, Opcode::Cos, true},
    {BuiltinKind::fastRsqrt, Opcode::RSqrt, true},
    {BuiltinKind::fastTanh, Opcode::Tanh, true},
    {BuiltinKind::fastDiv, Opcode::FDiv, true},
};

}  // namespace

ir::Value* IrGenerator::builtin(const checked::BuiltinExpr* e) {
  if (e->builtin->form >= BuiltinForm::subgroup && e->builtin->form <= BuiltinForm::tensor) {
    return gpuOperation(e);
  }
  ir::Value* a[3] = {nullptr, nullptr, nullptr};
  for (size_t i = 0; i < e->args.size() && i < 3; ++i) a[i] = value(e->args[i]);
  setLoc(e->range);
  bool u = !e->args.empty() && e->args[0]->type->isUnsigned();
  switch (e->builtin->kind) {
    case BuiltinKind::threadId:
      return b_.gpuIndex(Opcode::ThreadId, static_cast<ir::Dim>(e->dim));
    case BuiltinKind::blockId:
      return b_.gpuIndex(Opcode::BlockId, static_cast<ir::Dim>(e->dim));
    case BuiltinKind::blockDim:
      return b_.gpuIndex(Opcode::BlockDim, static_cast<ir::Dim>(e->dim));
    case BuiltinKind::gridDim:
      return b_.gpuIndex(Opcode::GridDim, static_cast<ir::Dim>(e->dim));
    case BuiltinKind::barrier:
    case BuiltinKind::plainBarrier:
      b_.barrier({e->gpu->regions, e->gpu->order});
      return nullptr;
    case BuiltinKind::fence:
      b_.fence({e->gpu->regions, e->gpu->order, e->gpu->scope});
      return nullptr;
    case BuiltinKind::fma:
      return b_.fma(a[0], a[1], a[2]);
    case BuiltinKind::halfToFloat:
      return b_.cast(Opcode::FConv, b_.cast(Opcode::Bitcast, a[0], ir::kF16), ir::kF32);
    case BuiltinKind::floatToHalf:
      return b_.cast(Opcode::Bitcast, b_.cast(Opcode::FConv, a[0], ir::kF16), ir::kI16);
    case BuiltinKind::bfloatToFloat:
      return b_.cast(Opcode::FConv, b_.cast(Opcode::Bitcast, a[0], ir::kBF16), ir::kF32);
    case BuiltinKind::floatToBfloat:
      return b_.cast(Opcode::Bitcast, b_.cast(Opcode::FConv, a[0], ir::kBF16), ir::kI16);
    case BuiltinKind::integerMin:
      return b_.binary(u ? Opcode::UMin : Opcode::SMin, a[0], a[1]);
    case BuiltinKind::integerMax:
      return b_.binary(u ? Opcode::UMax : Opcode::SMax, a[0], a[1]);
    case BuiltinKind::integerAbs:
      return u ? a[0] : b_.unary(Opcode::Abs, a[0]);
    case BuiltinKind::clz:
    case BuiltinKind::popcount: {
      ir::Value* v =
          b_.unary(e->builtin->kind == BuiltinKind::clz ? Opcode::Clz : Opcode::Popcount, a[0]);
      if (v->type() == ir::kI32) return v;
      return b_.cast(v->type().bits() > 32 ? Opcode::Trunc : Opcode::ZExt, v, ir::kI32);
    }
    default:
      break;
  }
  for (const MathRow& row : kMath) {
    if (row.kind != e->builtin->kind) continue;
    uint8_t flags = row.approx ? ir::kApprox : 0;
    return a[1] ? b_.binary(row.opcode, a[0], a[1], flags) : b_.unary(row.opcode, a[0], flags);
  }
  return nullptr;
}

}  // namespace mtlc::frontend
