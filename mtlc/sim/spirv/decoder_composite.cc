// Vectors, arrays and structures as values: registers change names, nothing moves.

#include <algorithm>

#include "mtlc/sim/spirv/decoder_impl.h"

namespace mtlc::sim::spirv {

// Which scalars of a value `indices` name.
bool FunctionDecoder::extractOffset(Id typeId, std::span<const uint32_t> indices, uint64_t& first,
                                    uint64_t& count, Id& resultType) {
  first = 0;
  for (uint32_t index : indices) {
    const Type& t = b_.type(typeId);
    if (t.kind == Kind::structure) {
      if (index >= t.members.size()) return refuse("this index");
      for (uint32_t i = 0; i < index; ++i) first += b_.type(t.members[i]).parts;
      typeId = t.members[index];
    } else {
      if (index >= t.count) return refuse("this index");
      first += index * b_.type(t.element).parts;
      typeId = t.element;
    }
  }
  count = b_.type(typeId).parts;
  resultType = typeId;
  return true;
}

// An element whose number is known at run time only: one choice for each.
bool FunctionDecoder::dynamicElement(const Inst& in, bool insert) {
  const Value* v = value(in.operands[0]);
  const Value* newElement = insert ? value(in.operands[1]) : nullptr;
  Id indexId = in.operands[insert ? 2 : 1];
  const Value* index = value(indexId);
  if (v == nullptr || index == nullptr || (insert && newElement == nullptr)) return false;
  Value from = *v;
  Ref element = insert ? (*newElement)[0] : kNoRef;
  Ref at = asWord((*index)[0], {Kind::integer, typeOfValue(indexId).bits, 0}, false);
  const Value* result = define(in);
  if (result == nullptr) return false;
  Value to = *result;
  auto choose = [&](Ref dst, Ref yes, Ref no, Ref p) {
    if (refBank(dst) != Bank::pred) {
      lane(refBank(dst) == Bank::r64 ? "selp.b64" : "selp.b32", dst, {yes, no, p});
      return;
    }
    Ref first = laneTo(Bank::pred, "and.pred", {yes, p});
    Ref second = laneTo(Bank::pred, "and.pred", {no, laneTo(Bank::pred, "not.pred", {p})});
    lane("or.pred", dst, {first, second});
  };
  if (!insert) move(to[0], from[0]);
  for (size_t i = 0; i < from.size(); ++i) {
    Ref here = laneTo(Bank::pred, "setp.eq.u32", {at, constant32(static_cast<uint32_t>(i))});
    if (insert) {
      choose(to[i], element, from[i], here);
    } else {
      choose(to[0], from[i], to[0], here);
    }
  }
  return true;
}

bool FunctionDecoder::composite(const Inst& in, bool& known) {
  known = true;
  switch (in.op) {
    case spv::Op::OpCompositeConstruct: {
      Value parts;
      for (Id id : in.operands) {
        const Value* v = value(id);
        if (v == nullptr) return false;
        parts.insert(parts.end(), v->begin(), v->end());
      }
      alias(in, std::move(parts));
      return true;
    }
    case spv::Op::OpCompositeExtract: {
      const Value* v = value(in.operands[0]);
      uint64_t first, count;
      Id type;
      if (v == nullptr ||
          !extractOffset(b_.def(in.operands[0]).type, in.operands.subspan(1), first, count, type)) {
        return false;
      }
      if (first + count > v->size()) return refuse("this index");
      alias(in, Value(v->begin() + static_cast<ptrdiff_t>(first),
                      v->begin() + static_cast<ptrdiff_t>(first + count)));
      return true;
    }
    case spv::Op::OpCompositeInsert: {
      const Value* object = value(in.operands[0]);
      if (object == nullptr) return false;
      Value part = *object;
      const Value* v = value(in.operands[1]);
      uint64_t first, count;
      Id type;
      if (v == nullptr ||
          !extractOffset(b_.def(in.operands[1]).type, in.operands.subspan(2), first, count, type)) {
        return false;
      }
      Value whole = *v;
      if (first + part.size() > whole.size()) return refuse("this index");
      std::copy(part.begin(), part.end(), whole.begin() + static_cast<ptrdiff_t>(first));
      alias(in, std::move(whole));
      return true;
    }
    case spv::Op::OpVectorShuffle: {
      const Value* a = value(in.operands[0]);
      if (a == nullptr) return false;
      Value both = *a;
      const Value* b = value(in.operands[1]);
      if (b == nullptr) return false;
      both.insert(both.end(), b->begin(), b->end());
      Value out;
      for (uint32_t index : in.operands.subspan(2)) {
        if (index == UINT32_MAX) {
          out.push_back(constantOf((*scalarsOf(in.type))[0], 0));  // Undefined, as in OpUndef.
        } else if (index < both.size()) {
          out.push_back(both[index]);
        } else {
          return refuse("this index");
        }
      }
      alias(in, std::move(out));
      return true;
    }
    case spv::Op::OpVectorExtractDynamic:
      return dynamicElement(in, false);
    case spv::Op::OpVectorInsertDynamic:
      return dynamicElement(in, true);
    case spv::Op::OpCopyObject:
    case spv::Op::OpCopyLogical: {
      const Value* v = value(in.operands[0]);
      if (v == nullptr) return false;
      alias(in, Value(*v));
      return true;
    }
    default:
      known = false;
      return true;
  }
}

}  // namespace mtlc::sim::spirv
