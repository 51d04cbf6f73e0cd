// Names and operands: from text to register slots, constants and addresses, with the type rules of
// PTX ISA 9.4.

#include <cstring>

#include "mtlc/sim/memory.h"
#include "mtlc/sim/ptx/decoder_impl.h"

namespace mtlc::sim::ptx {
namespace {

Bank bankOf(Type t) {
  if (t == Mod::pred) return Bank::pred;
  return typeBits(t) >= 64 ? Bank::r64 : Bank::r32;
}

double constantAsDouble(const Constant& c) {
  if (c.kind == Constant::Kind::float32) {
    float f;
    uint32_t bits = static_cast<uint32_t>(c.bits);
    std::memcpy(&f, &bits, sizeof f);
    return f;
  }
  double d;
  std::memcpy(&d, &c.bits, sizeof d);
  return d;
}

int componentIndex(std::string_view c) {
  if (c == "x" || c == "r") return 0;
  if (c == "y" || c == "g") return 1;
  if (c == "z" || c == "b") return 2;
  if (c == "w" || c == "a") return 3;
  return -1;
}

struct SpecialName {
  std::string_view name;
  Special value;
};
// Special registers whose value a warp has from the start (PTX ISA 10). Vectors go by
// name.component.
constexpr SpecialName kSpecials[] = {
    {"%tid.x", Special::tidX},
    {"%tid.y", Special::tidY},
    {"%tid.z", Special::tidZ},
    {"%ntid.x", Special::ntidX},
    {"%ntid.y", Special::ntidY},
    {"%ntid.z", Special::ntidZ},
    {"%ctaid.x", Special::ctaidX},
    {"%ctaid.y", Special::ctaidY},
    {"%ctaid.z", Special::ctaidZ},
    {"%nctaid.x", Special::nctaidX},
    {"%nctaid.y", Special::nctaidY},
    {"%nctaid.z", Special::nctaidZ},
    {"%clusterid.x", Special::ctaidX},
    {"%clusterid.y", Special::ctaidY},
    {"%clusterid.z", Special::ctaidZ},
    {"%nclusterid.x", Special::nctaidX},
    {"%nclusterid.y", Special::nctaidY},
    {"%nclusterid.z", Special::nctaidZ},
    {"%cluster_ctaid.x", Special::clusterZero},
    {"%cluster_ctaid.y", Special::clusterZero},
    {"%cluster_ctaid.z", Special::clusterZero},
    {"%cluster_nctaid.x", Special::clusterOne},
    {"%cluster_nctaid.y", Special::clusterOne},
    {"%cluster_nctaid.z", Special::clusterOne},
    {"%cluster_ctarank", Special::clusterZero},
    {"%cluster_nctarank", Special::clusterOne},
    {"%laneid", Special::laneid},
    {"%warpid", Special::warpid},
    {"%nwarpid", Special::nwarpid},
    {"%smid", Special::smid},
    {"%nsmid", Special::nsmid},
    {"%lanemask_eq", Special::lanemaskEq},
    {"%lanemask_le", Special::lanemaskLe},
    {"%lanemask_lt", Special::lanemaskLt},
    {"%lanemask_ge", Special::lanemaskGe},
    {"%lanemask_gt", Special::lanemaskGt},
    {"%total_smem_size", Special::totalShared},
    {"%aggr_smem_size", Special::aggregateShared},
    {"%dynamic_smem_size", Special::dynamicShared},
};

}  // namespace

uint32_t FunctionDecoder::newSlot(Bank bank) {
  uint32_t& n = slots_[static_cast<size_t>(bank)];
  if (n >= kIndexMask / 2) {
    error(DiagId::PtxTooLarge, loc_, 0, {"the register file", kIndexMask / 2});
    return 0;
  }
  return n++;
}

const Local* FunctionDecoder::findLocal(std::string_view name, uint32_t* rangeIndex) {
  // %r12 may be a name of its own or a member of the range %r<n>.
  size_t end = name.size();
  while (end > 1 && name[end - 1] >= '0' && name[end - 1] <= '9') --end;
  std::string_view digits = name.substr(end);
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    auto it = scope->names.find(name);
    if (it != scope->names.end()) return &it->second;
    // Digits may belong to the prefix (%r1<4> makes %r10 to %r13), so every split is tried.
    for (size_t split = 0; split < digits.size() && digits.size() - split <= 9; ++split) {
      if (digits[split] == '0' && split + 1 < digits.size()) continue;
      auto range = scope->ranges.find(name.substr(0, end + split));
      if (range == scope->ranges.end()) continue;
      uint32_t index = 0;
      for (char c : digits.substr(split)) index = index * 10 + static_cast<uint32_t>(c - '0');
      if (index >= range->second.count) continue;
      if (rangeIndex != nullptr) *rangeIndex = index;
      return &range->second;
    }
  }
  return nullptr;
}

std::optional<FunctionDecoder::Register> FunctionDecoder::findRegister(std::string_view name,
                                                                       std::string_view component,
                                                                       SourceLoc loc) {
  uint32_t rangeIndex = 0;
  const Local* l = findLocal(name, &rangeIndex);
  if (l == nullptr || (l->kind != Local::Kind::reg && l->kind != Local::Kind::range)) {
    error(DiagId::PtxUndefined, loc, static_cast<uint32_t>(name.size()), {name});
    return std::nullopt;
  }
  Register r;
  r.type = l->type;
  r.bits = typeBits(l->type);
  Bank bank = bankOf(l->type);
  unsigned slotsEach = l->type == Mod::b128 ? 2 : 1;
  uint32_t slot = l->slot;
  if (l->kind == Local::Kind::range) {
    unsigned perRegister = slotsEach * l->vector;
    std::vector<uint32_t>& slots = rangeSlots_[l->slot];
    if (slots.size() <= rangeIndex) slots.resize(rangeIndex + 1, kNever);
    if (slots[rangeIndex] == kNever) {
      uint32_t first = newSlot(bank);
      for (unsigned i = 1; i < perRegister; ++i) newSlot(bank);
      slots[rangeIndex] = first;
      RegisterName n;
      n.function = index_;
      n.ref = makeRef(File::frame, bank, first);
      n.name = std::string(name);
      p_.names.push_back(std::move(n));
    }
    slot = slots[rangeIndex];
  }
  if (!component.empty()) {
    int c = componentIndex(component);
    if (c < 0 || c >= l->vector) {
      error(DiagId::PtxUndefined, loc, static_cast<uint32_t>(name.size()),
            {std::string(name) + "." + std::string(component)});
      return std::nullopt;
    }
    slot += static_cast<uint32_t>(c) * slotsEach;
  } else if (l->vector != 1) {
    error(DiagId::PtxOperandType, loc, static_cast<uint32_t>(name.size()),
          {name, "a vector", "one register"});
    return std::nullopt;
  }
  r.ref = makeRef(File::frame, bank, slot);
  return r;
}

std::optional<Ref> FunctionDecoder::specialRegister(std::string_view name,
                                                    std::string_view component) {
  std::string full(name);
  if (!component.empty()) {
    full += '.';
    full += component;
  }
  for (const SpecialName& s : kSpecials) {
    if (s.name == full) return k_.special(s.value);
  }
  // Of a cooperative launch the driver says here, to CUDA's cooperative groups, where its blocks
  // meet.
  if (full == "%envreg1" || full == "%envreg2") {
    p_.usesGridWorkspace = true;
    return k_.special(full == "%envreg1" ? Special::gridWorkspaceHigh : Special::gridWorkspaceLow);
  }
  // %envreg0 to %envreg31, %pm0 …: the driver defines them; here they are zero.
  if (full.compare(0, 7, "%envreg") == 0 || full.compare(0, 3, "%pm") == 0) {
    return k_.special(Special::zero);
  }
  return k_.reservedOffset(full);
}

bool FunctionDecoder::compatible(Type reg, Type wanted, bool relaxed) const {
  if (reg == wanted) return true;
  if (reg == Mod::pred || wanted == Mod::pred) return false;
  const TypeRow& r = typeRow(reg);
  const TypeRow& w = typeRow(wanted);
  if (relaxed ? r.bits < w.bits : r.bits != w.bits) return false;
  bool rInt = r.cls == TypeClass::unsignedInt || r.cls == TypeClass::signedInt;
  bool wInt = w.cls == TypeClass::unsignedInt || w.cls == TypeClass::signedInt;
  if (r.cls == TypeClass::bits) return true;
  if (w.cls == TypeClass::bits) return true;
  if (w.cls == TypeClass::packed) return false;
  return rInt && wInt;
}

bool FunctionDecoder::immediateBits(const Constant& c, Type type, SourceLoc loc, uint64_t& bits) {
  const TypeRow& t = typeRow(type);
  if (type == Mod::pred) {
    if (c.kind != Constant::Kind::integer) {
      return error(DiagId::PtxOperandType, loc, 0, {"the constant", "a float", "a predicate"});
    }
    bits = c.bits != 0;
    return true;
  }
  if (c.kind == Constant::Kind::integer) {
    if (t.cls == TypeClass::floating || t.cls == TypeClass::packed) {
      return error(DiagId::PtxOperandType, loc, 0, {"the constant", "an integer", t.name});
    }
    if (t.bits < 64) {
      int64_t s = static_cast<int64_t>(c.bits);
      int64_t least = -(int64_t{1} << (t.bits - 1)), most = (int64_t{1} << t.bits) - 1;
      bool fits = c.isUnsigned ? c.bits <= static_cast<uint64_t>(most) : s >= least && s <= most;
      if (!fits) return error(DiagId::PtxImmediateRange, loc, 0, {t.name});
    }
    bits = t.bits < 64 ? c.bits & ((uint64_t{1} << t.bits) - 1) : c.bits;
    return true;
  }
  // Float constants: for float and untyped operands of their width.
  bool isInt = t.cls == TypeClass::unsignedInt || t.cls == TypeClass::signedInt;
  if (isInt || t.bits < 32 || t.cls == TypeClass::packed) {
    return error(DiagId::PtxOperandType, loc, 0, {"the constant", "a float", t.name});
  }
  if (t.bits == 32) {
    if (c.kind == Constant::Kind::float32) {
      bits = c.bits;
    } else {
      float f = static_cast<float>(constantAsDouble(c));
      uint32_t b;
      std::memcpy(&b, &f, sizeof b);
      bits = b;
    }
  } else {
    double d = constantAsDouble(c);
    std::memcpy(&bits, &d, sizeof bits);
  }
  return true;
}

std::optional<Ref> FunctionDecoder::immediate(const Constant& c, Type type, SourceLoc loc) {
  uint64_t bits;
  if (!immediateBits(c, type, loc, bits)) return std::nullopt;
  switch (bankOf(type)) {
    case Bank::pred:
      return k_.constantPred(bits != 0);
    case Bank::r64:
      return k_.constant64(bits);
    default:
      return k_.constant32(static_cast<uint32_t>(bits));
  }
}

std::optional<Ref> FunctionDecoder::source(const Operand& o, Type type, bool relaxed,
                                           bool negatable, Type* regType) {
  uint32_t length = static_cast<uint32_t>(o.name.size());
  if (regType != nullptr) *regType = type;
  if (o.negated && !negatable) {
    error(DiagId::PtxOperandKind, o.loc, length, {"a negated operand"});
    return std::nullopt;
  }
  if (!o.pair.empty() || o.hasOffset || o.hasSubscript) {
    error(DiagId::PtxOperandKind, o.loc, length, {"an operand of this form"});
    return std::nullopt;
  }
  switch (o.kind) {
    case Operand::Kind::constant:
      return immediate(o.value, type, o.loc);
    case Operand::Kind::name:
      break;
    case Operand::Kind::sink:
      error(DiagId::PtxOperandKind, o.loc, length, {"'_'"});
      return std::nullopt;
    case Operand::Kind::vector:
      error(DiagId::PtxOperandKind, o.loc, 1, {"a vector"});
      return std::nullopt;
    case Operand::Kind::address:
      error(DiagId::PtxOperandKind, o.loc, 1, {"an address"});
      return std::nullopt;
  }
  if (o.name[0] == '%' && findLocal(o.name, nullptr) == nullptr) {
    if (auto ref = specialRegister(o.name, o.component)) {
      // Only mov and conversions between integers read special registers.
      if (instructionTable()[row_].family != Family::cvt || !convertsIntegers_) {
        error(DiagId::PtxOperandKind, o.loc, length, {"a special register"});
        return std::nullopt;
      }
      if (typeBits(type) != 32 || type == Mod::f32) {
        error(DiagId::PtxOperandType, o.loc, length, {o.name, "u32", typeRow(type).name});
        return std::nullopt;
      }
      return ref;
    }
  }
  auto r = findRegister(o.name, o.component, o.loc);
  if (!r) return std::nullopt;
  if (!compatible(r->type, type, relaxed)) {
    error(DiagId::PtxOperandType, o.loc, length,
          {o.name, typeRow(r->type).name, typeRow(type).name});
    return std::nullopt;
  }
  if (regType != nullptr) *regType = r->type;
  return r->ref | (o.negated ? kNegate : 0);
}

std::optional<Ref> FunctionDecoder::destination(const Operand& o, Type type, bool relaxed,
                                                Type* regType) {
  if (regType != nullptr) *regType = type;
  if (o.kind == Operand::Kind::sink) return scratch(bankOf(type));
  if (o.kind != Operand::Kind::name || o.negated || o.hasOffset || o.hasSubscript) {
    error(DiagId::PtxOperandKind, o.loc, static_cast<uint32_t>(o.name.size()),
          {"anything but a register as destination"});
    return std::nullopt;
  }
  auto r = findRegister(o.name, o.component, o.loc);
  if (!r) return std::nullopt;
  if (!compatible(r->type, type, relaxed)) {
    error(DiagId::PtxOperandType, o.loc, static_cast<uint32_t>(o.name.size()),
          {o.name, typeRow(r->type).name, typeRow(type).name});
    return std::nullopt;
  }
  if (regType != nullptr) *regType = r->type;
  return r->ref;
}

// The `|q` of p|q. No second name: kNoRef.
std::optional<Ref> FunctionDecoder::pairDestination(const Operand& o) {
  if (o.pair.empty() || o.pair == "_") return kNoRef;
  auto r = findRegister(o.pair, {}, o.loc);
  if (!r) return std::nullopt;
  if (r->type != Mod::pred) {
    error(DiagId::PtxOperandType, o.loc, static_cast<uint32_t>(o.pair.size()),
          {o.pair, typeRow(r->type).name, "pred"});
    return std::nullopt;
  }
  return r->ref;
}

std::optional<FunctionDecoder::SymbolAddress> FunctionDecoder::symbolAddress(const Operand& o) {
  SymbolAddress a;
  const Variable* v = nullptr;
  if (const Local* l = findLocal(o.name, nullptr)) {
    if (l->kind == Local::Kind::entryParam) {
      a.space = Space::param;
      a.value = kParamWindow + l->offset;
    } else if (l->kind == Local::Kind::variable) {
      a.space = l->space;
      a.value = l->offset;
      if (l->space == Space::local) a.frameRelative = true;
    } else {
      return std::nullopt;
    }
    v = l->variable;
  } else if (const ModuleSymbol* s = k_.symbols().find(o.name)) {
    if (s->kind == ModuleSymbol::Kind::function) {
      a.space = Space::generic;
      a.value = s->address;
      return a;
    }
    v = s->variable;
    if (v->space == Mod::shared) {
      auto offset = k_.sharedOffset(v);
      if (!offset) return std::nullopt;
      a.space = Space::shared;
      a.value = *offset;
    } else {
      a.space = v->space == Mod::constSpace ? Space::constant : Space::global;
      a.value = s->address;
    }
  } else {
    return std::nullopt;
  }
  uint64_t offset = o.value.bits;
  if (o.hasSubscript) offset *= v->elementBytes();
  if (o.hasOffset || o.hasSubscript) a.value += offset;
  return a;
}

// A register, a constant, or the address of a variable, for cvta.
std::optional<Ref> FunctionDecoder::addressValue(const Operand& o, Type type) {
  if (o.kind == Operand::Kind::name) {
    if (auto a = symbolAddress(o)) {
      if (!a->frameRelative) return k_.constant64(a->value);
      Ref t = scratch(Bank::r64);
      emitMove(MoveKind::localAddress, t, kNoRef, static_cast<int64_t>(a->value));
      return t;
    }
  }
  return source(o, type, false, false, nullptr);
}

bool FunctionDecoder::memoryOperand(const Operand& o, Space asked, bool paramSpace, Instr& out) {
  uint32_t length = static_cast<uint32_t>(o.name.size());
  if (o.kind != Operand::Kind::address) {
    return error(DiagId::PtxOperandKind, o.loc, length, {"anything but [address]"});
  }
  if (!o.elements.empty()) {
    return error(DiagId::PtxOperandKind, o.elements[0].loc, 0, {"a list of coordinates"});
  }
  out.space = asked;
  out.imm = 0;
  out.src[0] = kNoRef;
  if (o.name.empty()) {
    out.imm = static_cast<int64_t>(o.value.bits);
    return true;
  }
  Operand symbol = o;
  symbol.kind = Operand::Kind::name;
  if (auto a = symbolAddress(symbol)) {
    bool isParam = a->space == Space::param || (a->frameRelative && paramSpace);
    Space actual = a->space;
    if (paramSpace && !isParam) {
      return error(DiagId::PtxWrongSpace, o.loc, length, {o.name, spaceName(actual), "param"});
    }
    if (!paramSpace && asked != Space::generic && asked != actual) {
      return error(DiagId::PtxWrongSpace, o.loc, length,
                   {o.name, spaceName(actual), spaceName(asked)});
    }
    if (asked == Space::generic && !paramSpace &&
        (actual == Space::param || actual == Space::constant)) {
      return error(DiagId::PtxWrongSpace, o.loc, length,
                   {o.name, spaceName(actual), "global, shared or local"});
    }
    if (a->space == Space::generic) {
      return error(DiagId::PtxOperandKind, o.loc, length, {"the address of a function"});
    }
    // A name without a space is meant in its own.
    out.space = actual;
    if (actual == Space::param) a->value -= kParamWindow;
    out.imm = static_cast<int64_t>(a->value);
    if (a->frameRelative && frameBase_) out.src[0] = *frameBase_;
    return true;
  }
  auto r = findRegister(o.name, {}, o.loc);
  if (!r) return false;
  TypeClass cls = typeClass(r->type);
  bool narrow = r->bits == 32 && (asked == Space::shared || asked == Space::local);
  if ((r->bits != 64 && !narrow) || cls == TypeClass::floating || cls == TypeClass::predicate ||
      o.hasSubscript) {
    return error(DiagId::PtxOperandType, o.loc, length,
                 {o.name, typeRow(r->type).name, "a 64-bit address"});
  }
  out.src[0] = r->ref;
  out.imm = static_cast<int64_t>(o.value.bits);
  // mov gives generic addresses of a kernel's parameters, and local ones of a function's (PTX ISA
  // 9.7.9.4), see symbolAddress.
  if (paramSpace) out.space = f_.isEntry ? Space::generic : Space::local;
  return true;
}

}  // namespace mtlc::sim::ptx
