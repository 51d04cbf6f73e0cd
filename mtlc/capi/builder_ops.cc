// mtlc/build.h: instructions of scalar code, memory and calls.

#include <array>
#include <iterator>

#include "absl/strings/str_format.h"
#include "mtlc/capi/builder.h"

using mtlc::capi::describe;
using mtlc::capi::Entry;
using mtlc::capi::irType;
using mtlc::capi::isPointer;
using mtlc::capi::Typed;
namespace ir = mtlc::ir;
using ir::Opcode;

namespace {

enum class OpClass : uint8_t { Arithmetic, Bitwise, Shift, Compare, Logical };

// An operator with the operation for signed integers, unsigned ones and floats; Const where there
// is none.
struct Operator {
  std::string_view text;
  OpClass cls;
  Opcode forSigned, forUnsigned, forFloat;
};
constexpr Operator kOperators[] = {
    {"+", OpClass::Arithmetic, Opcode::Add, Opcode::Add, Opcode::FAdd},
    {"-", OpClass::Arithmetic, Opcode::Sub, Opcode::Sub, Opcode::FSub},
    {"*", OpClass::Arithmetic, Opcode::Mul, Opcode::Mul, Opcode::FMul},
    {"/", OpClass::Arithmetic, Opcode::SDiv, Opcode::UDiv, Opcode::FDiv},
    {"%", OpClass::Arithmetic, Opcode::SRem, Opcode::URem, Opcode::Const},
    {"&", OpClass::Bitwise, Opcode::And, Opcode::And, Opcode::Const},
    {"|", OpClass::Bitwise, Opcode::Or, Opcode::Or, Opcode::Const},
    {"^", OpClass::Bitwise, Opcode::Xor, Opcode::Xor, Opcode::Const},
    {"<<", OpClass::Shift, Opcode::Shl, Opcode::Shl, Opcode::Const},
    {">>", OpClass::Shift, Opcode::AShr, Opcode::LShr, Opcode::Const},
    {"==", OpClass::Compare, Opcode::CmpEq, Opcode::CmpEq, Opcode::FCmpOeq},
    {"!=", OpClass::Compare, Opcode::CmpNe, Opcode::CmpNe, Opcode::FCmpUne},
    {"<", OpClass::Compare, Opcode::CmpSlt, Opcode::CmpUlt, Opcode::FCmpOlt},
    {"<=", OpClass::Compare, Opcode::CmpSle, Opcode::CmpUle, Opcode::FCmpOle},
    {">", OpClass::Compare, Opcode::CmpSgt, Opcode::CmpUgt, Opcode::FCmpOgt},
    {">=", OpClass::Compare, Opcode::CmpSge, Opcode::CmpUge, Opcode::FCmpOge},
    {"&&", OpClass::Logical, Opcode::And, Opcode::And, Opcode::And},
    {"||", OpClass::Logical, Opcode::Or, Opcode::Or, Opcode::Or},
};

const Operator* findOperator(const char* text) {
  if (text == nullptr) return nullptr;
  for (const Operator& o : kOperators) {
    if (o.text == text) return &o;
  }
  return nullptr;
}

MtlcType* scalarType(MtlcTypeKind kind) { return mtlc_type_scalar(kind); }

// The type that two numbers are combined in: float64 before float32 before integers; of integers
// the wider, unsigned if one of that width is. Bool counts as int32.
MtlcType* commonType(MtlcType* a, MtlcType* b) {
  if (mtlc_type_is_float(a) || mtlc_type_is_float(b)) {
    const bool wide =
        (mtlc_type_is_float(a) && a->size == 8) || (mtlc_type_is_float(b) && b->size == 8);
    return scalarType(wide ? MTLC_TYPE_FLOAT64 : MTLC_TYPE_FLOAT32);
  }
  auto integer = [](MtlcType* t) {
    return mtlc_type_is_integer(t) ? t : scalarType(MTLC_TYPE_INT32);
  };
  a = integer(a);
  b = integer(b);
  if (a->size != b->size) return a->size > b->size ? a : b;
  return mtlc_type_is_unsigned(a) ? a : b;
}

// An operation on numbers that an intrinsic or a unary operator stands for.
ir::Value* toI64(MtlcFn& fn, Typed t) { return fn.convert(t, scalarType(MTLC_TYPE_INT64)); }

}  // namespace

// The value of `left op right` before its conversion to the type asked for; `type` may decide
// between a pointer and a number.
ir::Value* MtlcFn::arithmetic(std::string_view op, Typed left, Typed right, MtlcType* type) {
  const Operator* o = nullptr;
  for (const Operator& known : kOperators) {
    if (known.text == op) o = &known;
  }
  const bool leftPtr = left.value->type().isPtr(), rightPtr = right.value->type().isPtr();
  if (o->cls == OpClass::Logical) {
    auto truth = [&](Typed t) {
      return t.value->type().isPtr()
                 ? ir.compare(Opcode::CmpNe, t.value, ir.nullPtr(t.value->type().space()))
                 : convert(t, scalarType(MTLC_TYPE_BOOL));
    };
    return ir.binary(o->forSigned, truth(left), truth(right));
  }
  if (leftPtr != rightPtr && isPointer(type) && (op == "+" || (op == "-" && leftPtr))) {
    Typed base = leftPtr ? left : right, offset = leftPtr ? right : left;
    if (!offset.value->type().isIntOrBool()) {
      fail(absl::StrFormat("a pointer %s %s", op, describe(offset.type)));
      return nullptr;
    }
    ir::Value* bytes = toI64(*this, offset);
    if (op == "-") bytes = ir.unary(Opcode::Neg, bytes);
    return ir.ptrAdd(base.value, bytes, ir::kI8);
  }
  if (o->cls == OpClass::Compare && leftPtr && rightPtr) {
    ir::Value *a = left.value, *b = right.value;
    if (a->type() != b->type()) {
      a = inSpace(a, ir::Space::Generic);
      b = inSpace(b, ir::Space::Generic);
    }
    return ir.compare(o->forUnsigned, a, b);
  }
  // Addresses are numbers from here on.
  auto number = [&](Typed t) {
    return t.value->type().isPtr()
               ? Typed{ir.cast(Opcode::PtrToInt, t.value, ir::kI64), scalarType(MTLC_TYPE_UINT64)}
               : t;
  };
  left = number(left);
  right = number(right);
  if (o->cls == OpClass::Shift) {
    // The left operand decides; the amount is taken modulo the width, so its upper bits count for
    // nothing.
    MtlcType* at = mtlc_type_is_integer(left.type) ? left.type : scalarType(MTLC_TYPE_INT32);
    if (!left.value->type().isIntOrBool() || !right.value->type().isIntOrBool()) {
      fail(absl::StrFormat("%s %s %s", describe(left.type), op, describe(right.type)));
      return nullptr;
    }
    const Opcode code = mtlc_type_is_unsigned(at) ? o->forUnsigned : o->forSigned;
    return ir.binary(code, convert(left, at), convert(right, at));
  }
  MtlcType* at = commonType(left.type, right.type);
  if (o->cls == OpClass::Bitwise && left.value->type().isBool() && right.value->type().isBool()) {
    at = scalarType(MTLC_TYPE_BOOL);
  }
  const Opcode code = mtlc_type_is_float(at)      ? o->forFloat
                      : mtlc_type_is_unsigned(at) ? o->forUnsigned
                                                  : o->forSigned;
  if (code == Opcode::Const) {
    fail(absl::StrFormat("'%s' is not for %s", op, describe(at)));
    return nullptr;
  }
  ir::Value *a = convert(left, at), *b = convert(right, at);
  if (a == nullptr || b == nullptr) return nullptr;
  return o->cls == OpClass::Compare ? ir.compare(code, a, b) : ir.binary(code, a, b);
}

namespace {

// The C type of a value that the builder computed: what the conversion to the result's type starts
// from.
MtlcType* typeOf(const ir::Value* v, MtlcType* left, MtlcType* right, const Operator& o) {
  if (v->type().isBool()) return scalarType(MTLC_TYPE_BOOL);
  if (v->type().isPtr()) return mtlc_type_pointer(scalarType(MTLC_TYPE_UINT8));
  if (o.cls == OpClass::Shift)
    return mtlc_type_is_integer(left) ? left : scalarType(MTLC_TYPE_INT32);
  auto number = [](MtlcType* t) { return isPointer(t) ? scalarType(MTLC_TYPE_UINT64) : t; };
  return commonType(number(left), number(right));
}

// One operand, one result of its type.
struct MathRow {
  MtlcIntrinsic intrinsic;
  Opcode opcode;
};
constexpr MathRow kMath[] = {
    {MTLC_INTRINSIC_GPU_SQRT_F32, Opcode::FSqrt}, {MTLC_INTRINSIC_GPU_RSQRT_F32, Opcode::RSqrt},
    {MTLC_INTRINSIC_GPU_ABS_F32, Opcode::FAbs},   {MTLC_INTRINSIC_GPU_SIN_F32, Opcode::Sin},
    {MTLC_INTRINSIC_GPU_COS_F32, Opcode::Cos},    {MTLC_INTRINSIC_GPU_LOG_F32, Opcode::Log},
    {MTLC_INTRINSIC_GPU_EXP_F32, Opcode::Exp},
};

enum class Group : uint8_t { Lane, Reduce };
struct SubgroupRow {
  MtlcIntrinsic intrinsic;  // The U32 form; the F32 form follows it.
  Group group;
  Opcode opcode;
  ir::CombineKind kind, floatKind;
};
constexpr SubgroupRow kSubgroup[] = {
    {MTLC_INTRINSIC_GPU_SUBGROUP_BROADCAST_U32, Group::Lane, Opcode::SubgroupBroadcast, {}, {}},
    {MTLC_INTRINSIC_GPU_SUBGROUP_REDUCE_ADD_U32, Group::Reduce, Opcode::SubgroupReduce,
     ir::CombineKind::Add, ir::CombineKind::FAdd},
    {MTLC_INTRINSIC_GPU_SUBGROUP_REDUCE_MIN_U32, Group::Reduce, Opcode::SubgroupReduce,
     ir::CombineKind::UMin, ir::CombineKind::FMin},
    {MTLC_INTRINSIC_GPU_SUBGROUP_REDUCE_MAX_U32, Group::Reduce, Opcode::SubgroupReduce,
     ir::CombineKind::UMax, ir::CombineKind::FMax},
    {MTLC_INTRINSIC_GPU_SUBGROUP_SCAN_INCLUSIVE_ADD_U32, Group::Reduce,
     Opcode::SubgroupScanInclusive, ir::CombineKind::Add, ir::CombineKind::FAdd},
    {MTLC_INTRINSIC_GPU_SUBGROUP_SCAN_EXCLUSIVE_ADD_U32, Group::Reduce,
     Opcode::SubgroupScanExclusive, ir::CombineKind::Add, ir::CombineKind::FAdd},
    {MTLC_INTRINSIC_GPU_SUBGROUP_SHUFFLE_U32, Group::Lane, Opcode::SubgroupShuffle, {}, {}},
};

struct AtomicRow {
  MtlcIntrinsic intrinsic;  // The U32 form; the U64 form follows it.
  ir::CombineKind kind;
};
constexpr AtomicRow kAtomics[] = {
    {MTLC_INTRINSIC_GPU_ATOMIC_MIN_U32, ir::CombineKind::UMin},
    {MTLC_INTRINSIC_GPU_ATOMIC_ADD_U32, ir::CombineKind::Add},
    {MTLC_INTRINSIC_GPU_ATOMIC_SUB_U32, ir::CombineKind::Sub},
    {MTLC_INTRINSIC_GPU_ATOMIC_MAX_U32, ir::CombineKind::UMax},
    {MTLC_INTRINSIC_GPU_ATOMIC_AND_U32, ir::CombineKind::And},
    {MTLC_INTRINSIC_GPU_ATOMIC_OR_U32, ir::CombineKind::Or},
    {MTLC_INTRINSIC_GPU_ATOMIC_XOR_U32, ir::CombineKind::Xor},
    {MTLC_INTRINSIC_GPU_ATOMIC_EXCHANGE_U32, ir::CombineKind::Exchange},
};

// True if `i` is `u32`, or the form after it, which sets `second`.
bool isPair(MtlcIntrinsic i, MtlcIntrinsic first, bool& second) {
  second = static_cast<int>(i) == static_cast<int>(first) + 1;
  return i == first || second;
}

bool isAtomic(MtlcIntrinsic i) {
  return i >= MTLC_INTRINSIC_GPU_ATOMIC_MIN_U32 && i <= MTLC_INTRINSIC_GPU_ATOMIC_STORE_U64;
}

bool wantArguments(MtlcFn& fn, size_t have, size_t want) {
  return have == want || fn.fail(absl::StrFormat("takes %d arguments, not %d", want, have));
}

// The value computed as `natural`, in the type that the caller asked for.
MtlcValue resultAs(MtlcFn& fn, ir::Value* v, MtlcType* natural, MtlcType* type) {
  if (v == nullptr) return MTLC_NO_VALUE;
  if (type == nullptr || type->kind == MTLC_TYPE_VOID) return MTLC_NO_VALUE;
  ir::Value* converted = fn.convert({v, natural}, type);
  return fn.result(converted, type);
}

MtlcValue intrinsic(MtlcFn& fn, MtlcIntrinsic which, const MtlcValue* args, size_t count,
                    MtlcType* type) {
  MtlcType* const u32 = scalarType(MTLC_TYPE_UINT32);
  MtlcType* const i32 = scalarType(MTLC_TYPE_INT32);
  MtlcType* const f32 = scalarType(MTLC_TYPE_FLOAT32);
  MtlcType* const boolean = scalarType(MTLC_TYPE_BOOL);
  auto arg = [&](size_t i) { return args[i]; };
  if (which >= MTLC_INTRINSIC_GPU_LOCAL_ID_X && which <= MTLC_INTRINSIC_GPU_NUM_GROUPS_Z) {
    constexpr Opcode kIndex[] = {Opcode::ThreadId, Opcode::BlockDim, Opcode::BlockId,
                                 Opcode::GridDim};
    const int i = static_cast<int>(which) - static_cast<int>(MTLC_INTRINSIC_GPU_LOCAL_ID_X);
    if (!wantArguments(fn, count, 0)) return MTLC_NO_VALUE;
    return resultAs(fn, fn.ir.gpuIndex(kIndex[i / 3], static_cast<ir::Dim>(i % 3)), i32, type);
  }
  if (which == MTLC_INTRINSIC_GPU_SUBGROUP_LOCAL_ID || which == MTLC_INTRINSIC_GPU_SUBGROUP_SIZE) {
    if (!wantArguments(fn, count, 0)) return MTLC_NO_VALUE;
    const Opcode o =
        which == MTLC_INTRINSIC_GPU_SUBGROUP_SIZE ? Opcode::SubgroupSize : Opcode::SubgroupLocalId;
    return resultAs(fn, fn.ir.subgroupIndex(o), u32, type);
  }
  for (const MathRow& row : kMath) {
    if (row.intrinsic != which) continue;
    if (!wantArguments(fn, count, 1)) return MTLC_NO_VALUE;
    ir::Value* x = fn.readAs(arg(0), f32, "the argument");
    return x != nullptr ? resultAs(fn, fn.ir.unary(row.opcode, x), f32, type) : MTLC_NO_VALUE;
  }
  for (const SubgroupRow& row : kSubgroup) {
    bool isFloat = false;
    if (!isPair(which, row.intrinsic, isFloat)) continue;
    MtlcType* const t = isFloat ? f32 : u32;
    if (!wantArguments(fn, count, row.group == Group::Lane ? 2 : 1)) return MTLC_NO_VALUE;
    ir::Value* x = fn.readAs(arg(0), t, "the value");
    if (x == nullptr) return MTLC_NO_VALUE;
    if (row.group == Group::Reduce) {
      return resultAs(fn, fn.ir.subgroupReduce(row.opcode, isFloat ? row.floatKind : row.kind, x),
                      t, type);
    }
    ir::Value* lane = fn.readInt(arg(1), "the lane", ir::kI32);
    if (lane == nullptr) return MTLC_NO_VALUE;
    return resultAs(fn, fn.ir.subgroupLane(row.opcode, x, lane), t, type);
  }
  switch (which) {
    case MTLC_INTRINSIC_GPU_SUBGROUP_BALLOT_WORD: {
      if (!wantArguments(fn, count, 2)) return MTLC_NO_VALUE;
      ir::Value* p = fn.readBool(arg(0), "the predicate");
      ir::Value* word = p != nullptr ? fn.readInt(arg(1), "the word", ir::kI32) : nullptr;
      if (word == nullptr) return MTLC_NO_VALUE;
      return resultAs(fn, fn.ir.subgroupBallot(p, word), u32, type);
    }
    case MTLC_INTRINSIC_GPU_SUBGROUP_ANY:
    case MTLC_INTRINSIC_GPU_SUBGROUP_ALL: {
      if (!wantArguments(fn, count, 1)) return MTLC_NO_VALUE;
      ir::Value* p = fn.readBool(arg(0), "the predicate");
      if (p == nullptr) return MTLC_NO_VALUE;
      const Opcode o =
          which == MTLC_INTRINSIC_GPU_SUBGROUP_ANY ? Opcode::SubgroupAny : Opcode::SubgroupAll;
      return resultAs(fn, fn.ir.subgroupVote(o, p), boolean, type);
    }
    case MTLC_INTRINSIC_GPU_WORKGROUP_BARRIER:
      if (!wantArguments(fn, count, 0)) return MTLC_NO_VALUE;
      fn.ir.barrier();
      return MTLC_NO_VALUE;
    case MTLC_INTRINSIC_GPU_F16_BITS_TO_F32: {
      if (!wantArguments(fn, count, 1)) return MTLC_NO_VALUE;
      ir::Value* x = fn.readAs(arg(0), scalarType(MTLC_TYPE_UINT16), "the bits");
      if (x == nullptr) return MTLC_NO_VALUE;
      x = fn.ir.cast(Opcode::FConv, fn.ir.cast(Opcode::Bitcast, x, ir::kF16), ir::kF32);
      return resultAs(fn, x, f32, type);
    }
    case MTLC_INTRINSIC_GPU_F32_TO_F16_BITS: {
      if (!wantArguments(fn, count, 1)) return MTLC_NO_VALUE;
      ir::Value* x = fn.readAs(arg(0), f32, "the argument");
      if (x == nullptr) return MTLC_NO_VALUE;
      x = fn.ir.cast(Opcode::Bitcast, fn.ir.cast(Opcode::FConv, x, ir::kF16), ir::kI16);
      return resultAs(fn, x, scalarType(MTLC_TYPE_UINT16), type);
    }
    default:
      break;
  }
  fn.fail(absl::StrFormat("%d is no intrinsic", static_cast<int>(which)),
          "MtlcIntrinsic lists them");
  return MTLC_NO_VALUE;
}

// The address of element `index` in the space that the operation names, and what it takes by
// default there.
ir::Value* atomicAddress(MtlcFn& fn, MtlcValue pointer, MtlcValue index, ir::Type elem,
                         MtlcAddressSpace space) {
  ir::Value* p = fn.readPointer(pointer, "the pointer");
  if (p == nullptr) return nullptr;
  if (space != MTLC_ADDRESS_SPACE_DEFAULT) {
    const ir::Space wanted = mtlc::capi::irSpace(space, p->type().space());
    if (p->type().space() != wanted && p->type().space() != ir::Space::Generic &&
        wanted != ir::Space::Generic) {
      fn.fail(absl::StrFormat("the pointer is to %s memory, the operation is for %s",
                              ir::spaceName(p->type().space()), ir::spaceName(wanted)));
      return nullptr;
    }
    p = fn.inSpace(p, wanted);
  }
  Typed i = fn.read(index, "the index");
  if (!i) return nullptr;
  if (!i.value->type().isIntOrBool()) {
    fn.fail(absl::StrFormat("the index is %s", describe(i.type)));
    return nullptr;
  }
  return fn.ir.ptrAdd(p, toI64(fn, i), elem);
}

std::optional<ir::AtomicAttr> atomicAttr(MtlcFn& fn, ir::Space space, MtlcMemoryOrder order,
                                         MtlcMemoryOrder failure, MtlcMemoryScope scope,
                                         bool isCas) {
  using O = ir::MemoryOrder;
  const std::optional<O> o = mtlc::capi::irOrder(order, O::SeqCst);
  const std::optional<ir::Scope> s = mtlc::capi::irScope(
      scope, space == ir::Space::Workgroup ? ir::Scope::Workgroup : ir::Scope::Device);
  std::optional<O> f = o;
  if (isCas && o) {
    const O weaker = *o == O::SeqCst                       ? O::SeqCst
                     : *o == O::Acquire || *o == O::AcqRel ? O::Acquire
                                                           : O::Relaxed;
    f = mtlc::capi::irOrder(failure, weaker);
  }
  if (!o || !s || !f) {
    fn.fail("an order or scope is no value of its enumeration");
    return std::nullopt;
  }
  return ir::AtomicAttr{*o, *f, *s};
}

}  // namespace

extern "C" {

void mtlc_assign(MtlcFn* fn, MtlcValue target, MtlcValue value) {
  if (fn == nullptr || !fn->ready("mtlc_assign")) return;
  Typed v = fn->read(value, "the value");
  Entry* e = v ? fn->entry(target, "the target") : nullptr;
  if (e != nullptr) fn->assign(*e, v);
}

MtlcValue mtlc_binary(MtlcFn* fn, const char* op, MtlcValue left, MtlcValue right, MtlcType* type) {
  if (fn == nullptr || !fn->ready("mtlc_binary")) return MTLC_NO_VALUE;
  const Operator* o = findOperator(op);
  if (o == nullptr) {
    fn->fail(absl::StrFormat("'%s' is no operator", op != nullptr ? op : "NULL"),
             "+ - * / % & | ^ << >> == != < <= > >= && ||");
    return MTLC_NO_VALUE;
  }
  Typed a = fn->read(left, "the left operand");
  Typed b = a ? fn->read(right, "the right operand") : Typed();
  if (!b) return MTLC_NO_VALUE;
  ir::Value* v = fn->arithmetic(o->text, a, b, type);
  if (v == nullptr) return MTLC_NO_VALUE;
  return resultAs(*fn, v, typeOf(v, a.type, b.type, *o), type);
}

MtlcValue mtlc_unary(MtlcFn* fn, const char* op, MtlcValue value, MtlcType* type) {
  if (fn == nullptr || !fn->ready("mtlc_unary")) return MTLC_NO_VALUE;
  const std::string_view o = op != nullptr ? op : "";
  if (o == "!") {
    ir::Value* p = fn->readBool(value, "the operand");
    if (p == nullptr) return MTLC_NO_VALUE;
    ir::Value* v = fn->ir.binary(Opcode::Xor, p, fn->ir.constBool(true));
    return resultAs(*fn, v, scalarType(MTLC_TYPE_BOOL), type);
  }
  Typed t = fn->read(value, "the operand");
  if (!t) return MTLC_NO_VALUE;
  if (t.value->type().isPtr() || (o == "~" && t.value->type().isFloat())) {
    fn->fail(absl::StrFormat("'%s' is not for %s", o, describe(t.type)));
    return MTLC_NO_VALUE;
  }
  if (t.value->type().isBool()) {
    t = {fn->convert(t, scalarType(MTLC_TYPE_INT32)), scalarType(MTLC_TYPE_INT32)};
  }
  const ir::Type at = t.value->type();
  if (o == "+") return resultAs(*fn, t.value, t.type, type);
  if (o == "-") {
    return resultAs(*fn, fn->ir.unary(at.isFloat() ? Opcode::FNeg : Opcode::Neg, t.value), t.type,
                    type);
  }
  if (o == "~") {
    return resultAs(*fn, fn->ir.binary(Opcode::Xor, t.value, fn->ir.constBits(at, at.mask())),
                    t.type, type);
  }
  fn->fail(absl::StrFormat("'%s' is no operator", o), "- + ! ~");
  return MTLC_NO_VALUE;
}

MtlcValue mtlc_cast(MtlcFn* fn, MtlcValue value, MtlcType* type) {
  if (fn == nullptr || !fn->ready("mtlc_cast")) return MTLC_NO_VALUE;
  Typed t = fn->read(value, "the value");
  return t ? fn->result(fn->convert(t, type), type) : MTLC_NO_VALUE;
}

MtlcValue mtlc_address_of(MtlcFn* fn, MtlcValue variable, MtlcType* type) {
  if (fn == nullptr || !fn->ready("mtlc_address_of")) return MTLC_NO_VALUE;
  Entry* e = fn->entry(variable, "the variable");
  if (e == nullptr) return MTLC_NO_VALUE;
  if (e->kind == Entry::Kind::Constant || !isPointer(type)) {
    fn->fail(isPointer(type) ? "a constant has no address" : "the type is no pointer");
    return MTLC_NO_VALUE;
  }
  ir::Value* place = e->kind == Entry::Kind::Address ? e->value : e->place;
  if (place == nullptr) {
    fn->fail(absl::StrFormat("'%s' has no space yet", e->name),
             "assign it first, or give it a pointer type with a space");
    return MTLC_NO_VALUE;
  }
  return fn->result(fn->convert({place, type}, type), type);
}

MtlcValue mtlc_load(MtlcFn* fn, MtlcValue address, MtlcType* type) {
  if (fn == nullptr || !fn->ready("mtlc_load")) return MTLC_NO_VALUE;
  ir::Value* p = fn->readPointer(address, "the address");
  if (p == nullptr) return MTLC_NO_VALUE;
  const ir::Type elem = irType(type);
  if (elem.isVoid()) {
    fn->fail(absl::StrFormat("memory holds no %s", describe(type)));
    return MTLC_NO_VALUE;
  }
  return fn->result(fn->ir.load(elem, p), type);
}

void mtlc_store(MtlcFn* fn, MtlcValue address, MtlcValue value, MtlcType* type) {
  if (fn == nullptr || !fn->ready("mtlc_store")) return;
  ir::Value* p = fn->readPointer(address, "the address");
  ir::Value* v = p != nullptr ? fn->readAs(value, type, "the value") : nullptr;
  if (v == nullptr) return;
  const ir::Type elem = irType(type);
  if (elem.isPtr()) v = fn->inSpace(v, elem.space());
  fn->ir.store(elem, v, p);
}

MtlcValue mtlc_call(MtlcFn* fn, const char* callee, const MtlcValue* arguments, size_t count,
                    MtlcType* type) {
  if (fn == nullptr || !fn->ready("mtlc_call")) return MTLC_NO_VALUE;
  if (count > 0 && arguments == nullptr) {
    fn->fail("the arguments are NULL");
    return MTLC_NO_VALUE;
  }
  if (callee == nullptr) {
    fn->fail("the name is NULL");
    return MTLC_NO_VALUE;
  }
  // A function that is known already tells the types; otherwise those given have to be right.
  auto it = fn->builder.byName.find(callee);
  MtlcFn* known = it != fn->builder.byName.end() ? it->second : nullptr;
  if (known != nullptr && known->paramTypes.size() != count) {
    fn->fail(absl::StrFormat("'%s' takes %d arguments, not %d", callee, known->paramTypes.size(),
                             count));
    return MTLC_NO_VALUE;
  }
  std::vector<ir::Value*> args;
  for (size_t i = 0; i < count; ++i) {
    const std::string what = absl::StrFormat("argument %d", i + 1);
    ir::Value* v = nullptr;
    if (known != nullptr) {
      v = fn->readAs(arguments[i], known->paramTypes[i], what);
      const ir::Type want = known->function->paramTypes()[i];
      if (v != nullptr && want.isPtr() && v->type().isPtr()) v = fn->inSpace(v, want.space());
    } else {
      v = fn->read(arguments[i], what).value;
    }
    if (v == nullptr) return MTLC_NO_VALUE;
    args.push_back(v);
  }
  MtlcType* natural = known != nullptr ? known->resultType : type;
  const ir::Type result = irType(natural);
  ir::Operation* op =
      fn->ir.insert({.opcode = Opcode::Call, .result = result, .operands = args, .loc = fn->loc});
  fn->builder.pending.push_back({op, callee, fn});
  return op->result() != nullptr ? resultAs(*fn, op->result(), natural, type) : MTLC_NO_VALUE;
}

MtlcValue mtlc_call_indirect(MtlcFn* fn, MtlcValue callee, const MtlcValue* arguments, size_t count,
                             MtlcType* type) {
  if (fn == nullptr || !fn->ready("mtlc_call_indirect")) return MTLC_NO_VALUE;
  if (count > 0 && arguments == nullptr) {
    fn->fail("the arguments are NULL");
    return MTLC_NO_VALUE;
  }
  ir::Value* target = fn->readPointer(callee, "the function");
  if (target == nullptr) return MTLC_NO_VALUE;
  std::vector<ir::Value*> args;
  for (size_t i = 0; i < count; ++i) {
    Typed t = fn->read(arguments[i], absl::StrFormat("argument %d", i + 1));
    if (!t) return MTLC_NO_VALUE;
    args.push_back(t.value);
  }
  ir::Value* v = fn->ir.callIndirect(fn->inSpace(target, ir::Space::Generic), args, irType(type));
  return v != nullptr ? fn->result(v, type) : MTLC_NO_VALUE;
}

MtlcValue mtlc_function_address(MtlcFn* fn, const char* name) {
  if (fn == nullptr || !fn->ready("mtlc_function_address")) return MTLC_NO_VALUE;
  ir::Operation* op = fn->ir.insert(
      {.opcode = Opcode::FuncAddr, .result = ir::Type::ptr(ir::Space::Generic), .loc = fn->loc});
  fn->builder.pending.push_back({op, name != nullptr ? name : "", fn});
  return fn->result(op->result(),
                    mtlc_type_pointer_in(scalarType(MTLC_TYPE_UINT8), MTLC_ADDRESS_SPACE_GENERIC));
}

MtlcValue mtlc_intrinsic(MtlcFn* fn, MtlcIntrinsic which, const MtlcValue* arguments, size_t count,
                         MtlcType* type) {
  if (fn == nullptr || !fn->ready("mtlc_intrinsic")) return MTLC_NO_VALUE;
  if (count > 0 && arguments == nullptr) {
    fn->fail("the arguments are NULL");
    return MTLC_NO_VALUE;
  }
  if (isAtomic(which)) {
    if (which >= MTLC_INTRINSIC_GPU_ATOMIC_COMPARE_EXCHANGE_U32 &&
        which <= MTLC_INTRINSIC_GPU_ATOMIC_COMPARE_EXCHANGE_U64) {
      if (!wantArguments(*fn, count, 4)) return MTLC_NO_VALUE;
      return mtlc_atomic_compare_exchange(fn, which, arguments[0], arguments[1], arguments[2],
                                          arguments[3], type, MTLC_ADDRESS_SPACE_DEFAULT,
                                          MTLC_MEMORY_ORDER_DEFAULT, MTLC_MEMORY_ORDER_DEFAULT,
                                          MTLC_MEMORY_SCOPE_DEFAULT);
    }
    return mtlc_intrinsic_memory(fn, which, arguments, count, type, MTLC_ADDRESS_SPACE_DEFAULT,
                                 MTLC_MEMORY_ORDER_DEFAULT, MTLC_MEMORY_SCOPE_DEFAULT);
  }
  return intrinsic(*fn, which, arguments, count, type);
}

MtlcValue mtlc_intrinsic_memory(MtlcFn* fn, MtlcIntrinsic which, const MtlcValue* arguments,
                                size_t count, MtlcType* type, MtlcAddressSpace space,
                                MtlcMemoryOrder order, MtlcMemoryScope scope) {
  if (fn == nullptr || !fn->ready("mtlc_intrinsic_memory")) return MTLC_NO_VALUE;
  if (count > 0 && arguments == nullptr) {
    fn->fail("the arguments are NULL");
    return MTLC_NO_VALUE;
  }
  if (which == MTLC_INTRINSIC_GPU_WORKGROUP_BARRIER) {
    mtlc_workgroup_barrier(fn, order, MTLC_MEMORY_REGION_WORKGROUP);
    return MTLC_NO_VALUE;
  }
  bool wide = false, load = false, store = false;
  const AtomicRow* row = nullptr;
  for (const AtomicRow& r : kAtomics) {
    if (isPair(which, r.intrinsic, wide)) {
      row = &r;
      break;
    }
  }
  if (row == nullptr) load = isPair(which, MTLC_INTRINSIC_GPU_ATOMIC_LOAD_U32, wide);
  if (row == nullptr && !load) store = isPair(which, MTLC_INTRINSIC_GPU_ATOMIC_STORE_U32, wide);
  if (row == nullptr && !load && !store) {
    fn->fail(absl::StrFormat("%d is no atomic with these operands", static_cast<int>(which)),
             "mtlc_atomic_compare_exchange has its own call");
    return MTLC_NO_VALUE;
  }
  if (!wantArguments(*fn, count, load ? 2 : 3)) return MTLC_NO_VALUE;
  MtlcType* const elemType = scalarType(wide ? MTLC_TYPE_UINT64 : MTLC_TYPE_UINT32);
  const ir::Type elem = irType(elemType);
  ir::Value* p = atomicAddress(*fn, arguments[0], arguments[1], elem, space);
  if (p == nullptr) return MTLC_NO_VALUE;
  std::optional<ir::AtomicAttr> attr =
      atomicAttr(*fn, p->type().space(), order, MTLC_MEMORY_ORDER_DEFAULT, scope, false);
  if (!attr) return MTLC_NO_VALUE;
  if (load) return resultAs(*fn, fn->ir.atomicLoad(elem, p, *attr), elemType, type);
  ir::Value* v = fn->readAs(arguments[2], elemType, "the value");
  if (v == nullptr) return MTLC_NO_VALUE;
  if (store) {
    fn->ir.atomicStore(elem, p, v, *attr);
    return MTLC_NO_VALUE;
  }
  attr->kind = row->kind;
  return resultAs(*fn, fn->ir.atomicRmw(elem, p, v, *attr), elemType, type);
}

MtlcValue mtlc_atomic_compare_exchange(MtlcFn* fn, MtlcIntrinsic which, MtlcValue pointer,
                                       MtlcValue index, MtlcValue expected, MtlcValue desired,
                                       MtlcType* type, MtlcAddressSpace space,
                                       MtlcMemoryOrder success, MtlcMemoryOrder failure,
                                       MtlcMemoryScope scope) {
  if (fn == nullptr || !fn->ready("mtlc_atomic_compare_exchange")) return MTLC_NO_VALUE;
  bool wide = false;
  if (!isPair(which, MTLC_INTRINSIC_GPU_ATOMIC_COMPARE_EXCHANGE_U32, wide)) {
    fn->fail(absl::StrFormat("%d is no compare-and-exchange", static_cast<int>(which)));
    return MTLC_NO_VALUE;
  }
  MtlcType* const elemType = scalarType(wide ? MTLC_TYPE_UINT64 : MTLC_TYPE_UINT32);
  const ir::Type elem = irType(elemType);
  ir::Value* p = atomicAddress(*fn, pointer, index, elem, space);
  ir::Value* e = p != nullptr ? fn->readAs(expected, elemType, "the expected value") : nullptr;
  ir::Value* d = e != nullptr ? fn->readAs(desired, elemType, "the desired value") : nullptr;
  if (d == nullptr) return MTLC_NO_VALUE;
  std::optional<ir::AtomicAttr> attr =
      atomicAttr(*fn, p->type().space(), success, failure, scope, true);
  if (!attr) return MTLC_NO_VALUE;
  return resultAs(*fn, fn->ir.atomicCas(elem, p, e, d, *attr), elemType, type);
}

}  // extern "C"
