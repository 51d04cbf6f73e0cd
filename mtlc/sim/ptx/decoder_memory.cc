// Loads, stores, atomics and fences.

#include "mtlc/sim/ptx/decoder_impl.h"

namespace mtlc::sim::ptx {
namespace {

Space spaceOfForm(const Form& f, bool& param) {
  param = false;
  switch (f.firstOf({Mod::constSpace, Mod::global, Mod::local, Mod::param, Mod::paramEntry,
                     Mod::paramFunc, Mod::shared, Mod::sharedCta, Mod::sharedCluster})) {
    case Mod::constSpace:
      return Space::constant;
    case Mod::global:
      return Space::global;
    case Mod::local:
      return Space::local;
    case Mod::param:
    case Mod::paramEntry:
    case Mod::paramFunc:
      param = true;
      return Space::param;
    case Mod::shared:
    case Mod::sharedCta:
    case Mod::sharedCluster:
      return Space::shared;
    default:
      // ldu and the .nc forms without a space mean global.
      return f.row->opcode == "ldu" ? Space::global : Space::generic;
  }
}

unsigned vectorLength(const Form& f) {
  return f.has(Mod::v8) ? 8 : f.has(Mod::v4) ? 4 : f.has(Mod::v2) ? 2 : 1;
}

}  // namespace

void FunctionDecoder::memoryOrder(const Form& form, Instr& out) {
  Order order = Order::weak;
  if (form.has(Mod::relaxed) || form.has(Mod::volatileMod)) order = Order::relaxed;
  if (form.has(Mod::acquire)) order = Order::acquire;
  if (form.has(Mod::release)) order = Order::release;
  if (form.has(Mod::acqRel)) order = Order::acqRel;
  if (form.has(Mod::sc)) order = Order::sc;
  Scope scope = Scope::cta;
  if (form.has(Mod::cluster)) scope = Scope::cluster;
  if (form.has(Mod::gpu) || form.has(Mod::gl)) scope = Scope::gpu;
  if (form.has(Mod::sys) || form.has(Mod::volatileMod)) scope = Scope::sys;
  bool atomic = form.row->family == Family::atom || form.row->family == Family::red;
  // atom and red are relaxed at gpu scope unless they say otherwise (PTX ISA, atom).
  if (atomic && order == Order::weak) order = Order::relaxed;
  if (atomic && form.firstOf({Mod::cta, Mod::cluster, Mod::gpu, Mod::sys}) == Mod::none) {
    scope = Scope::gpu;
  }
  out.orderScope =
      static_cast<uint8_t>(static_cast<uint8_t>(order) | static_cast<uint8_t>(scope) << 4);
  if (form.has(Mod::volatileMod)) out.flags |= kVolatile;
}

// The registers of a vector operand, or the one of a scalar operand.
bool FunctionDecoder::vectorRegisters(const Operand& o, unsigned count, Type type, bool dest,
                                      std::vector<Ref>& refs, bool& wide, Type& regType) {
  unsigned width = 0;  // Of the registers so far.
  auto one = [&](const Operand& e) {
    Type t = type;
    if (dest && e.kind == Operand::Kind::sink) {
      refs.push_back(kNoRef);
      return true;
    }
    auto ref = dest ? destination(e, type, true, &t) : source(e, type, true, false, &t);
    if (!ref) return false;
    bool another = width != 0 && typeBits(t) != width;
    width = e.kind == Operand::Kind::name ? typeBits(t) : width;
    if (another ||
        (!refs.empty() && refs.back() != kNoRef && refBank(refs.back()) != refBank(*ref))) {
      // The elements of a vector are of one width.
      return error(DiagId::PtxOperandType, e.loc, static_cast<uint32_t>(e.name.size()),
                   {e.name, typeRow(t).name, typeRow(type).name});
    }
    wide = refBank(*ref) == Bank::r64;
    regType = t;
    refs.push_back(*ref);
    return true;
  };
  if (count == 1 && o.kind != Operand::Kind::vector) return one(o);
  if (o.kind == Operand::Kind::name && count > 1) {
    // A vector register by its name.
    for (std::string_view c : {"x", "y", "z", "w"}) {
      if (refs.size() == count) break;
      Operand e = o;
      e.component = c;
      if (!one(e)) return false;
    }
    return refs.size() == count;
  }
  if (o.kind != Operand::Kind::vector || o.elements.size() != count) {
    return error(DiagId::PtxOperandKind, o.loc, 1, {"a vector of this length"});
  }
  for (const Operand& e : o.elements) {
    if (!one(e)) return false;
  }
  return true;
}

bool FunctionDecoder::memoryInstruction(const Instruction& in, const Form& form) {
  bool isLoad = form.row->family == Family::ld;
  size_t addressAt = isLoad ? 1 : 0, valueAt = isLoad ? 0 : 1;
  bool hint = form.has(Mod::l2CacheHint);
  if (!operandCount(in, hint ? 3 : 2, hint ? 3 : 2)) return false;
  Type type = form.types[0];
  unsigned count = vectorLength(form);
  unsigned bits = typeBits(type);
  bool param;
  Space asked = spaceOfForm(form, param);
  bool wide = (form.has(Mod::v8) || (count == 4 && bits == 64)) && in.opcode != "ldu" &&
              (asked == Space::generic || asked == Space::global);
  unsigned limit = wide ? 256 : 128;
  if (count * bits > limit) {
    return error(DiagId::PtxUnknownForm, in.loc, in.length, {in.spelling, form.row->pattern});
  }
  // 256 bits at once are for global memory, and came later than the rest of the row (PTX ISA
  // 9.7.9.8).
  if (count * bits > 128) {
    const Module& m = k_.symbols().module();
    if (m.version < 88) {
      return error(DiagId::PtxNeedsVersion, in.loc, in.length, {in.spelling, 8, 8});
    }
    if (m.sm < 100) {
      return error(DiagId::PtxNeedsTarget, in.loc, in.length, {in.spelling, 100, m.target});
    }
  }
  Instr out;
  out.op = Op::memory;
  out.guard = guard_;
  out.size = static_cast<uint8_t>(bits / 8);
  out.count = static_cast<uint8_t>(count);
  out.target = 0xffffffffu;
  memoryOrder(form, out);
  if (!memoryOperand(in.operands[addressAt], asked, param, out)) return false;
  if (param && !isLoad && out.space == Space::param) {
    return error(DiagId::PtxWrongSpace, in.loc, in.length,
                 {"the parameter", "param of a kernel", "writable"});
  }
  if (hint && !source(in.operands[2], Mod::u64, false, false, nullptr)) return false;

  MemoryShape shape;
  shape.bytes = out.size;
  shape.isSigned = typeClass(type) == TypeClass::signedInt;
  shape.space = out.space;
  if (isLoad && shape.isSigned) out.flags |= kSignExtends;
  std::vector<Ref> refs;
  Type regType = type;
  const Operand& value = in.operands[valueAt];
  if (type == Mod::b128) {
    auto r = findRegister(value.name, value.component, value.loc);
    if (!r) return false;
    if (r->type != Mod::b128) {
      return error(DiagId::PtxOperandType, value.loc, static_cast<uint32_t>(value.name.size()),
                   {value.name, typeRow(r->type).name, "b128"});
    }
    refs = {r->ref, r->ref + 1};
    shape.wideRegister = true;
    shape.bytes = 8;
    out.size = 8;
    out.count = 2;
  } else if (!vectorRegisters(value, count, type, isLoad, refs, shape.wideRegister, regType)) {
    return false;
  }
  if (typeBits(regType) == 16) out.target = 0xffffu;
  if (out.count == 1) {
    (isLoad ? out.dst : out.src[1]) = refs[0];
    out.ext = 0;
  } else {
    out.ext = static_cast<uint32_t>(p_.operandLists.size());
    p_.operandLists.insert(p_.operandLists.end(), refs.begin(), refs.end());
  }
  out.fn = isLoad ? k_.lanes().load(shape) : k_.lanes().store(shape);
  if (out.fn == nullptr) {
    return error(DiagId::PtxUnknownForm, in.loc, in.length, {in.spelling, form.row->pattern});
  }
  emit(out);
  return true;
}

bool FunctionDecoder::wideAtomic(const Instruction& in, const Form& form, Instr& out) {
  std::vector<Ref> list;
  bool cas = form.has(Mod::cas);
  for (size_t i : {size_t{0}, size_t{2}, size_t{3}}) {
    if (i == 3 && !cas) break;
    const Operand& o = in.operands[i];
    if (i == 0 && o.kind == Operand::Kind::sink) {
      list.insert(list.end(), {kNoRef, kNoRef});
      continue;
    }
    auto r = findRegister(o.name, o.component, o.loc);
    if (!r) return false;
    if (r->type != Mod::b128) {
      return error(DiagId::PtxOperandType, o.loc, static_cast<uint32_t>(o.name.size()),
                   {o.name, typeRow(r->type).name, "b128"});
    }
    list.insert(list.end(), {r->ref, r->ref + 1});
  }
  out.size = 8;
  out.count = 2;
  out.dst = list[0];
  out.ext = static_cast<uint32_t>(p_.operandLists.size());
  p_.operandLists.insert(p_.operandLists.end(), list.begin(), list.end());
  return true;
}

// atom d, [a], b{, c}{, policy}; red [a], b{, policy}
bool FunctionDecoder::atomicInstruction(const Instruction& in, const Form& form) {
  bool isAtom = form.row->family == Family::atom;
  bool cas = form.has(Mod::cas), hint = form.has(Mod::l2CacheHint);
  size_t want = (isAtom ? 3u : 2u) + (cas ? 1u : 0u) + (hint ? 1u : 0u);
  if (!operandCount(in, want, want)) return false;
  Type type = form.types[0];
  Instr out;
  out.op = Op::memory;
  out.guard = guard_;
  out.size = static_cast<uint8_t>(typeBits(type) / 8);
  memoryOrder(form, out);
  bool param;
  size_t at = isAtom ? 1 : 0;
  if (!memoryOperand(in.operands[at], spaceOfForm(form, param), false, out)) return false;
  if (type == Mod::b128) {
    if (!wideAtomic(in, form, out)) return false;
  } else if (unsigned count = vectorLength(form); count > 1) {
    std::vector<Ref> list(isAtom ? 0 : count, kNoRef), values;
    bool wideRegisters = false;
    Type regType = type;
    if (isAtom && in.operands[0].kind == Operand::Kind::sink) {
      list.assign(count, kNoRef);
    } else if (isAtom &&
               !vectorRegisters(in.operands[0], count, type, true, list, wideRegisters, regType)) {
      return false;
    }
    bool narrow = typeBits(regType) == typeBits(type);
    if (!vectorRegisters(in.operands[at + 1], count, type, false, values, wideRegisters, regType)) {
      return false;
    }
    if (!narrow || typeBits(regType) != typeBits(type)) {
      return error(DiagId::PtxOperandType, in.loc, in.length,
                   {"the vector", typeRow(regType).name, typeRow(type).name});
    }
    for (Ref r : list) {
      if (r != kNoRef) out.dst = r;  // Any, to say that the old values are wanted.
    }
    list.insert(list.end(), values.begin(), values.end());
    out.count = static_cast<uint8_t>(count);
    out.ext = static_cast<uint32_t>(p_.operandLists.size());
    p_.operandLists.insert(p_.operandLists.end(), list.begin(), list.end());
  } else {
    auto b = source(in.operands[at + 1], type, false, false, nullptr);
    if (!b) return false;
    out.src[1] = *b;
    if (cas) {
      auto c = source(in.operands[at + 2], type, false, false, nullptr);
      if (!c) return false;
      out.src[2] = *c;
    }
    if (isAtom && in.operands[0].kind != Operand::Kind::sink) {
      auto d = destination(in.operands[0], type, false, nullptr);
      if (!d) return false;
      out.dst = *d;
    }
  }
  if (hint && !source(in.operands[want - 1], Mod::u64, false, false, nullptr)) return false;
  out.fn = k_.lanes().atomic(form);
  // A returned value, a float sum or an exchange shows the order of the blocks.
  bool commutes = out.dst == kNoRef && typeClass(type) != TypeClass::floating &&
                  typeClass(type) != TypeClass::packed && !cas && !form.has(Mod::exch) &&
                  !form.has(Mod::inc) && !form.has(Mod::dec);
  if (out.space != Space::shared && !commutes) p_.usesOrderedAtomics = true;
  emit(out);
  return true;
}

bool FunctionDecoder::fenceInstruction(const Instruction& in, const Form& form) {
  if (!operandCount(in, 0, 0)) return false;
  Instr out;
  out.op = Op::fence;
  out.guard = guard_;
  memoryOrder(form, out);
  Order order = form.has(Mod::acquire)                       ? Order::acquire
                : form.has(Mod::release)                     ? Order::release
                : form.has(Mod::acqRel)                      ? Order::acqRel
                : form.has(Mod::sc) || in.opcode == "membar" ? Order::sc
                                                             : Order::acqRel;
  out.orderScope = static_cast<uint8_t>((out.orderScope & 0xf0) | static_cast<uint8_t>(order));
  emit(out);
  return true;
}

}  // namespace mtlc::sim::ptx
