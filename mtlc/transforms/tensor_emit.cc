#include "mtlc/transforms/tensor_emit.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "mtlc/support/element_format.h"

namespace mtlc::transforms {

using ir::Opcode;
using ir::Type;
using ir::Value;

namespace {

constexpr uint64_t kMost32 = std::numeric_limits<uint32_t>::max();
constexpr uint64_t kMost64 = std::numeric_limits<uint64_t>::max();
// Of a workgroup; with it, elements of a tile and one more step still have 32 bits.
constexpr uint64_t kMostWorkItems = 131070;

uint64_t saturatingAdd(uint64_t a, uint64_t b) { return a > kMost64 - b ? kMost64 : a + b; }
uint64_t saturatingMul(uint64_t a, uint64_t b) {
  return b != 0 && a > kMost64 / b ? kMost64 : a * b;
}

}  // namespace

ir::Type storageType(ElementFormat format) {
  switch (format) {
    case ElementFormat::F16:
      return ir::kF16;
    case ElementFormat::BF16:
      return ir::kBF16;
    case ElementFormat::TF32:
    case ElementFormat::F32:
      return ir::kF32;
    case ElementFormat::F64:
      return ir::kF64;
    case ElementFormat::I32:
      return ir::kI32;
    default:
      return ir::kI8;
  }
}

// ---- Places ----

void Emitter::begin(ir::Operation* op) {
  ir::Block* origin = op->block();
  rest_ = function_.addBlock();
  rest_->moveAfter(origin);
  origin->moveTailTo(op, rest_);
  builder.setInsertEnd(origin);
  builder.setLoc(op->loc());
}

void Emitter::finish() {
  builder.jump(rest_);
  rest_ = nullptr;
}

ir::Block* Emitter::newBlock() {
  ir::Block* block = function_.addBlock();
  block->moveAfter(builder.insertBlock());
  return block;
}

// ---- Index arithmetic ----

Index Emitter::index(Value* v) {
  if (const ir::Operation* c = ir::asConst(v)) return constant(c->constBits());
  return {v, v->type() == ir::kI32 ? kMost32 : kMost64};
}

Value* Emitter::as32(Index i) {
  if (i.isConst()) return builder.constBits(ir::kI32, i.most);
  return i.value->type() == ir::kI32 ? i.value : builder.cast(Opcode::Trunc, i.value, ir::kI32);
}

Value* Emitter::as64(Index i) {
  if (i.isConst()) return builder.constBits(ir::kI64, i.most);
  return i.value->type() == ir::kI64 ? i.value : builder.cast(Opcode::ZExt, i.value, ir::kI64);
}

std::pair<Value*, Value*> Emitter::common(Index a, Index b) {
  if (a.most <= kMost32 && b.most <= kMost32) {
    Value* left = as32(a);
    return {left, as32(b)};
  }
  Value* left = as64(a);
  return {left, as64(b)};
}

Index Emitter::add(Index a, Index b) {
  if (a.isConst() && b.isConst()) return constant(a.most + b.most);
  if (a.is(0)) return b;
  if (b.is(0)) return a;
  const uint64_t most = saturatingAdd(a.most, b.most);
  if (most <= kMost32) return {builder.add(as32(a), as32(b)), most};
  Value* left = as64(a);
  return {builder.add(left, as64(b)), most};
}

Index Emitter::mul(Index a, Index b) {
  if (a.isConst() && b.isConst()) return constant(a.most * b.most);
  if (a.is(0) || b.is(1)) return a;
  if (b.is(0) || a.is(1)) return b;
  const uint64_t most = saturatingMul(a.most, b.most);
  if (a.isConst()) std::swap(a, b);
  const bool narrow = most <= kMost32;
  Value* left = narrow ? as32(a) : as64(a);
  if (b.isConst() && std::has_single_bit(b.most)) {
    Value* shift = builder.constBits(left->type(), std::countr_zero(b.most));
    return {builder.binary(Opcode::Shl, left, shift), most};
  }
  return {builder.mul(left, narrow ? as32(b) : as64(b)), most};
}

Index Emitter::sub(Index a, Index b) {
  if (b.is(0)) return a;
  if (a.isConst() && b.isConst()) return constant(a.most - b.most);
  auto [left, right] = common(a, b);
  return {builder.sub(left, right), a.most};
}

Index Emitter::subOrZero(Index a, Index b) { return sub(a, min(a, b)); }

Index Emitter::min(Index a, Index b) {
  if (a.isConst() && b.isConst()) return constant(std::min(a.most, b.most));
  if (a.is(0) || (b.isConst() && b.most >= a.most && !a.isConst())) return a;
  if (b.is(0) || (a.isConst() && a.most >= b.most && !b.isConst())) return b;
  auto [left, right] = common(a, b);
  Index least{builder.binary(Opcode::UMin, left, right), std::min(a.most, b.most)};
  if (least.most <= kMost32) least.value = as32(least);
  return least;
}

Index Emitter::div(Index a, Index b) {
  if (b.is(1)) return a;
  if (b.is(0)) return constant(kMost64);  // As udiv does.
  if (a.isConst() && b.isConst()) return constant(a.most / b.most);
  auto [left, right] = common(a, b);
  if (b.isConst() && std::has_single_bit(b.most)) {
    const int shift = std::countr_zero(b.most);
    return {builder.binary(Opcode::LShr, left, builder.constBits(left->type(), shift)),
            a.most >> shift};
  }
  return {builder.binary(Opcode::UDiv, left, right), b.isConst() ? a.most / b.most : a.most};
}

Index Emitter::rem(Index a, Index b) {
  if (b.is(1)) return constant(0);
  if (b.is(0)) return a;  // As urem does.
  if (a.isConst() && b.isConst()) return constant(a.most % b.most);
  auto [left, right] = common(a, b);
  const uint64_t most = std::min(a.most, b.most - 1);
  if (b.isConst() && std::has_single_bit(b.most)) {
    return {builder.binary(Opcode::And, left, builder.constBits(left->type(), b.most - 1)), most};
  }
  return {builder.binary(Opcode::URem, left, right), most};
}

Index Emitter::ceilDiv(Index a, uint64_t powerOfTwo) {
  if (a.isConst()) return constant(a.most / powerOfTwo + (a.most % powerOfTwo != 0));
  if (a.most <= kMost64 - powerOfTwo) {
    return div(add(a, constant(powerOfTwo - 1)), constant(powerOfTwo));
  }
  // a / p + (a % p != 0), for what is near 2^64.
  const Index whole = div(a, constant(powerOfTwo));
  Value* some = builder.compare(Opcode::CmpNe, as64(rem(a, constant(powerOfTwo))),
                                builder.constBits(ir::kI64, 0));
  return add(whole, {builder.cast(Opcode::ZExt, some, ir::kI64), 1});
}

Value* Emitter::less(Index a, Index b) {
  if (a.isConst() && b.isConst()) return builder.constBool(a.most < b.most);
  auto [left, right] = common(a, b);
  return builder.compare(Opcode::CmpUlt, left, right);
}

Value* Emitter::equal(Index a, Index b) {
  if (a.isConst() && b.isConst()) return builder.constBool(a.most == b.most);
  auto [left, right] = common(a, b);
  return builder.compare(Opcode::CmpEq, left, right);
}

Value* Emitter::allOf(std::span<Value* const> conditions) {
  Value* all = nullptr;
  for (Value* c : conditions) {
    const ir::Operation* known = ir::asConst(c);
    if (known && known->constBits() != 0) continue;
    all = all ? builder.binary(Opcode::And, all, c) : c;
  }
  return all ? all : builder.constBool(true);
}

Value* Emitter::at(Value* base, Index i, Type elem) {
  return i.is(0) ? base : builder.ptrAdd(base, as64(i), elem);
}

// ---- Control flow ----

Values Emitter::branch(Value* condition, const Arm& then, const Arm& otherwise) {
  if (const ir::Operation* known = ir::asConst(condition)) {
    return known->constBits() != 0 ? then() : otherwise();
  }
  ir::Block* origin = builder.insertBlock();
  ir::Block* join = newBlock();
  ir::Block* second = newBlock();
  ir::Block* first = newBlock();
  builder.setInsertEnd(first);
  const Values a = then();
  builder.jump(join, a);
  builder.setInsertEnd(second);
  const Values b = otherwise();
  ir::Block* target = second;
  if (second->empty()) {
    second->erase();
    target = join;
  } else {
    builder.jump(join, b);
  }
  Values results;
  for (Value* v : a) results.push_back(join->addArg(v->type()));
  builder.setInsertEnd(origin);
  builder.br(condition, first, target, {}, target == join ? b : Values());
  builder.setInsertEnd(join);
  return results;
}

void Emitter::branch(Value* condition, const std::function<void()>& then) {
  branch(
      condition,
      [&] {
        then();
        return Values();
      },
      [] { return Values(); });
}

Values Emitter::loop(const Values& initial,
                     const std::function<Round(std::span<Value* const>)>& round) {
  ir::Block* exit = newBlock();
  ir::Block* body = newBlock();
  builder.jump(body, initial);
  for (Value* v : initial) body->addArg(v->type());
  builder.setInsertEnd(body);
  const Values carried(body->args().begin(), body->args().end());
  const Round result = round(carried);
  builder.br(result.again, body, exit, result.next, result.next);
  Values last;
  for (Value* v : initial) last.push_back(exit->addArg(v->type()));
  builder.setInsertEnd(exit);
  return last;
}

void Emitter::forEach(Index begin, Index end, Index step, const std::function<void(Index)>& body) {
  if (end.is(0)) return;  // Of what is known to be outside of a problem, nothing is left.
  branch(less(begin, end), [&] {
    const uint64_t most = saturatingAdd(end.most, step.most);
    const bool narrow = most <= kMost32;
    loop({narrow ? as32(begin) : as64(begin)}, [&](std::span<Value* const> carried) {
      const Index i{carried[0], end.most == 0 ? 0 : end.most - 1};
      body(i);
      Value* next = builder.add(carried[0], narrow ? as32(step) : as64(step));
      return Round{{next}, less({next, most}, end)};
    });
  });
}

// ---- Scopes ----

const Crew& Emitter::crew(ir::Scope scope) {
  const size_t which = scope == ir::Scope::Workgroup ? 1 : 0;
  if (hasCrew_[which]) return crews_[which];
  hasCrew_[which] = true;
  ir::Block* at = builder.insertBlock();
  ir::Operation* before = builder.insertBefore();
  ir::Operation* first = function_.entry()->front();
  if (first) {
    builder.setInsertBefore(first);
  } else {
    builder.setInsertEnd(function_.entry());
  }
  auto get = [&](Opcode opcode, ir::Dim dim) { return builder.gpuIndex(opcode, dim); };
  Value* width = get(Opcode::BlockDim, ir::Dim::X);
  Value* height = get(Opcode::BlockDim, ir::Dim::Y);
  Value* area = builder.mul(width, height);
  Value* total = builder.mul(area, get(Opcode::BlockDim, ir::Dim::Z));
  Value* x = get(Opcode::ThreadId, ir::Dim::X);
  Value* y = builder.mul(get(Opcode::ThreadId, ir::Dim::Y), width);
  Value* z = builder.mul(get(Opcode::ThreadId, ir::Dim::Z), area);
  Value* linear = builder.add(builder.add(x, y), z);
  if (which == 1) {
    crews_[1] = {{linear, kMostWorkItems - 1}, {total, kMostWorkItems}};
  } else {
    Value* lane = builder.subgroupIndex(Opcode::SubgroupLocalId);
    // The last subgroup of a block may be partial.
    Value* left = builder.sub(total, builder.sub(linear, lane));
    Value* live = builder.binary(Opcode::UMin, left, builder.subgroupIndex(Opcode::SubgroupSize));
    crews_[0] = {{lane, kMostWorkItems - 1}, {live, kMostWorkItems}};
  }
  if (before) {
    builder.setInsertBefore(before);
  } else {
    builder.setInsertEnd(at);
  }
  return crews_[which];
}

namespace {

constexpr ir::BarrierAttr kOrder{ir::kRegionWorkgroup | ir::kRegionGlobal, ir::MemoryOrder::AcqRel};

bool orders(const ir::Operation* op, ir::Scope scope) {
  return op &&
         op->opcode() ==
             (scope == ir::Scope::Workgroup ? Opcode::Barrier : Opcode::SubgroupBarrier) &&
         op->payload() == ir::barrierPayload(kOrder);
}

}  // namespace

void Emitter::order(ir::Scope scope) {
  const ir::Operation* last =
      builder.insertBefore() ? builder.insertBefore()->prev() : builder.insertBlock()->back();
  if (orders(last, scope)) return;
  if (scope == ir::Scope::Workgroup) {
    builder.barrier(kOrder);
  } else {
    builder.subgroupBarrier(kOrder);
  }
}

void Emitter::orderAfter(ir::Scope scope) {
  const ir::Operation* next = rest_ ? rest_->front()->next() : nullptr;
  while (next && isPure(*next)) next = next->next();
  if (!orders(next, scope)) order(scope);
}

void Emitter::forEachElement(ir::Scope scope, Index rows, Index cols, bool byRow,
                             const std::function<void(Index, Index)>& body) {
  const Crew members = crew(scope);
  const Index fast = byRow ? cols : rows;
  forEach(members.rank, mul(rows, cols), members.size, [&](Index e) {
    const Index slow = div(e, fast), quick = rem(e, fast);
    body(byRow ? slow : quick, byRow ? quick : slow);
  });
}

// ---- Elements ----

Value* Emitter::place(const StoredMatrix& x, Index row, Index col) {
  const Index major = x.byRow ? row : col, minor = x.byRow ? col : row;
  const Index element = add(mul(major, x.leading), minor);
  if (!x.dense) return at(x.base, element, storageType(x.format));
  return as64(mul(element, constant(elementInfo(x.format).bits)));
}

Value* Emitter::advance(const StoredMatrix& x, Value* place, Index elements) {
  if (elements.is(0)) return place;
  if (!x.dense) return at(place, elements, storageType(x.format));
  return builder.add(place, as64(mul(elements, constant(elementInfo(x.format).bits))));
}

Value* Emitter::loadCode(const StoredMatrix& x, Value* place) {
  const ElementInfo& info = elementInfo(x.format);
  auto lowBits = [&](Value* v) {
    return builder.binary(Opcode::And, v, builder.constBits(v->type(), (1u << info.bits) - 1));
  };
  if (!x.dense) {
    Value* code = builder.load(storageType(x.format), place);
    return info.isSubByte() ? lowBits(code) : code;
  }
  auto constant64 = [&](uint64_t c) { return builder.constBits(ir::kI64, c); };
  Value* byte = builder.ptrAdd(x.base, builder.binary(Opcode::LShr, place, constant64(3)), ir::kI8);
  Value* shift = builder.binary(Opcode::And, builder.cast(Opcode::Trunc, place, ir::kI32),
                                builder.constBits(ir::kI32, 7));
  Value* bits = builder.cast(Opcode::ZExt, builder.load(ir::kI8, byte), ir::kI32);
  if (8 % info.bits != 0) {
    // The second byte of a value that has one, else the first again: the next may not be there.
    Value* last = builder.add(shift, builder.constBits(ir::kI32, info.bits - 1));
    Value* further = builder.cast(
        Opcode::ZExt, builder.binary(Opcode::LShr, last, builder.constBits(ir::kI32, 3)), ir::kI64);
    Value* high = builder.load(ir::kI8, builder.ptrAdd(byte, further, ir::kI8));
    high = builder.binary(Opcode::Shl, builder.cast(Opcode::ZExt, high, ir::kI32),
                          builder.constBits(ir::kI32, 8));
    bits = builder.binary(Opcode::Or, bits, high);
  }
  Value* code = lowBits(builder.binary(Opcode::LShr, bits, shift));
  return builder.cast(Opcode::Trunc, code, ir::kI8);
}

Value* Emitter::roundTf32(Value* bits) {
  auto constant32 = [&](uint32_t c) { return builder.constBits(ir::kI32, c); };
  Value* magnitude = builder.binary(Opcode::And, bits, constant32(0x7FFFFFFF));
  Value* special = builder.compare(Opcode::CmpUge, magnitude, constant32(0x7F800000));
  Value* rounded =
      builder.binary(Opcode::And, builder.add(bits, constant32(0x1000)), constant32(0xFFFFE000));
  return builder.select(special, bits, rounded);
}

Value* Emitter::loadFloat(const StoredMatrix& x, Value* place, Type type) {
  const ElementInfo& info = elementInfo(x.format);
  if (x.format == ElementFormat::TF32) {
    Value* bits = roundTf32(builder.load(ir::kI32, place));
    return convert(builder.cast(Opcode::Bitcast, bits, ir::kF32), type);
  }
  if (info.bits > 8) return convert(builder.load(storageType(x.format), place), type);
  return builder.decode(loadCode(x, place), info.format, type);
}

Value* Emitter::loadInteger(const StoredMatrix& x, Value* place, Type type) {
  const ElementInfo& info = elementInfo(x.format);
  Value* code = loadCode(x, place);
  if (code->type() == type) return code;
  if (info.kind != ElementKind::Signed) return builder.cast(Opcode::ZExt, code, type);
  if (info.bits == code->type().bits()) return builder.cast(Opcode::SExt, code, type);
  Value* unused = builder.constBits(type, type.bits() - info.bits);
  Value* high = builder.binary(Opcode::Shl, builder.cast(Opcode::ZExt, code, type), unused);
  return builder.binary(Opcode::AShr, high, unused);
}

}  // namespace mtlc::transforms
