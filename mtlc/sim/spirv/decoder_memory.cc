// Variables, pointers, loads and stores, atomics, built-in variables.
//
// A pointer is a 64-bit register. What it holds depends on its storage class: offsets in shared
// memory (Workgroup) and in the thread's local memory (Function), device addresses (CrossWorkgroup,
// UniformConstant), and for Generic the simulator's generic addresses, which windows give to the
// first two.

#include <algorithm>

#include "mtlc/sim/spirv/decoder_impl.h"

namespace mtlc::sim::spirv {
namespace {

constexpr uint64_t kMaxCopyBytes = 1u << 16;

// Literals of memory operands.
struct MemoryOperands {
  uint64_t align = 0;
  bool isVolatile = false;
};

// What is known of the address of a part at `offset` from an address of this alignment.
uint64_t alignmentAt(uint64_t align, uint64_t offset) {
  uint64_t bits = align | offset;
  return bits & (0 - bits);
}

MemoryOperands memoryOperands(std::span<const uint32_t> words) {
  MemoryOperands m;
  if (words.empty()) return m;
  m.isVolatile = (words[0] & static_cast<uint32_t>(spv::MemoryAccessMask::Volatile)) != 0;
  if ((words[0] & static_cast<uint32_t>(spv::MemoryAccessMask::Aligned)) != 0 && words.size() > 1) {
    m.align = words[1];
  }
  return m;
}

}  // namespace

Space FunctionDecoder::spaceOf(spv::StorageClass storage) {
  switch (storage) {
    case spv::StorageClass::Function:
      return Space::local;
    case spv::StorageClass::Workgroup:
      return Space::shared;
    case spv::StorageClass::CrossWorkgroup:
      return Space::global;
    default:
      // Buffers that a kernel gets for constant memory are ordinary ones.
      return Space::generic;
  }
}

void FunctionDecoder::declareVariables() {
  for (const Block& block : f_.blocks) {
    for (uint32_t i = block.first; i < block.end; ++i) {
      const Inst& in = b_.insts()[i];
      if (in.op != spv::Op::OpVariable) continue;
      loc_ = in.loc;
      if (!variable(in)) return;
    }
  }
}

bool FunctionDecoder::variable(const Inst& in) {
  const Type& t = b_.type(b_.type(in.type).element);
  uint64_t align =
      std::max<uint64_t>(std::max<uint64_t>(t.align, 1), b_.decorations(in.result).alignment);
  std::optional<uint64_t> offset = frame_.place(t.size, align, true);
  if (!offset) return refuse("a function with variables of more than a MiB");
  p_.functions[index_].variables.push_back(
      {static_cast<uint32_t>(*offset), static_cast<uint32_t>(t.size), b_.nameOf(in.result)});
  values_[in.result] = {frameAddress(*offset)};
  if (in.operands.size() < 2) return true;
  const Value* init = value(in.operands[1]);
  if (init == nullptr) return false;
  std::optional<Place> at = place(in.result);
  return at && storeValue(*at, b_.type(in.type).element, 0, false, Value(*init));
}

std::optional<Place> FunctionDecoder::place(Id pointer) {
  const Value* v = value(pointer);
  if (v == nullptr) return std::nullopt;
  const Type& t = typeOfValue(pointer);
  if (t.kind != Kind::pointer || v->size() != 1) {
    refuse("this pointer");
    return std::nullopt;
  }
  return Place{(*v)[0], 0, spaceOf(t.storage)};
}

void FunctionDecoder::access(bool isLoad, const Place& at, unsigned bytes,
                             std::span<const Ref> registers, bool isVolatile, uint8_t orderScope) {
  Instr in;
  in.op = Op::memory;
  in.size = static_cast<uint8_t>(bytes);
  in.count = static_cast<uint8_t>(registers.size());
  in.target = UINT32_MAX;
  in.space = at.space;
  in.src[0] = at.base;
  in.imm = at.offset;
  in.orderScope = orderScope;
  in.row = k_.lane(isLoad ? "ld.b32" : "st.b32").row;
  if (isVolatile) {
    in.flags |= kVolatile;
    if (orderScope == 0) {
      in.orderScope = static_cast<uint8_t>(static_cast<uint8_t>(Order::relaxed) |
                                           static_cast<uint8_t>(Scope::sys) << 4);
    }
  }
  MemoryShape shape;
  shape.bytes = bytes;
  shape.wideRegister = refBank(registers[0]) == Bank::r64;
  shape.space = at.space;
  if (registers.size() == 1) {
    (isLoad ? in.dst : in.src[1]) = registers[0];
  } else {
    in.ext = static_cast<uint32_t>(p_.operandLists.size());
    p_.operandLists.insert(p_.operandLists.end(), registers.begin(), registers.end());
  }
  in.fn = isLoad ? k_.lanes().load(shape) : k_.lanes().store(shape);
  emit(in);
}

// One scalar; in pieces where less than its own alignment is promised.
void FunctionDecoder::accessScalar(bool isLoad, const Place& at, const Scalar& s, uint64_t align,
                                   Ref r, bool isVolatile) {
  unsigned bytes = s.bytes();
  if (s.kind == Kind::boolean) {
    Ref word = scratch(Bank::r32);
    if (isLoad) {
      access(true, at, 1, {&word, 1}, isVolatile);
      lane("setp.ne.u32", r, {word, constant32(0)});
    } else {
      lane("selp.b32", word, {constant32(1), constant32(0), r});
      access(false, at, 1, {&word, 1}, isVolatile);
    }
    return;
  }
  if (align >= bytes) {
    access(isLoad, at, bytes, {&r, 1}, isVolatile);
    return;
  }
  unsigned piece = static_cast<unsigned>(align);
  Bank bank = s.bank();
  std::string width = s.bits == 64 ? "64" : "32";
  Ref sum = kNoRef;
  for (unsigned k = 0; k < bytes / piece; ++k) {
    Place p = at;
    p.offset += k * piece;
    Ref distance = constant32(k * piece * 8);
    Ref part = scratch(bank);
    if (isLoad) {
      access(true, p, piece, {&part, 1}, isVolatile);
      if (k != 0) {
        part = laneTo(bank, "shl.b" + width, {part, distance});
        part = laneTo(bank, "or.b" + width, {sum, part});
      }
      sum = part;
    } else {
      lane("shr.u" + width, part, {r, distance});
      access(false, p, piece, {&part, 1}, isVolatile);
    }
  }
  if (isLoad) move(r, sum);
}

bool FunctionDecoder::loadValue(const Place& at, Id type, uint64_t align, bool isVolatile,
                                const Value& to) {
  const Type& t = b_.type(type);
  const std::vector<Scalar>* list = scalarsOf(type);
  if (list == nullptr) return false;
  if (align == 0) align = std::max<uint64_t>(t.align, 1);
  if (t.kind == Kind::vector && (t.count == 2 || t.count == 4) && t.size <= 16 &&
      align % t.size == 0 && elementType(type).kind != Kind::boolean) {
    access(true, at, (*list)[0].bytes(), to, isVolatile);
    return true;
  }
  for (size_t i = 0; i < list->size(); ++i) {
    Place p = at;
    p.offset += static_cast<int64_t>((*list)[i].offset);
    accessScalar(true, p, (*list)[i], alignmentAt(align, (*list)[i].offset), to[i], isVolatile);
  }
  return true;
}

bool FunctionDecoder::storeValue(const Place& at, Id type, uint64_t align, bool isVolatile,
                                 const Value& from) {
  const Type& t = b_.type(type);
  const std::vector<Scalar>* list = scalarsOf(type);
  if (list == nullptr || list->size() != from.size()) return false;
  if (align == 0) align = std::max<uint64_t>(t.align, 1);
  if (t.kind == Kind::vector && (t.count == 2 || t.count == 4) && t.size <= 16 &&
      align % t.size == 0 && elementType(type).kind != Kind::boolean) {
    access(false, at, (*list)[0].bytes(), from, isVolatile);
    return true;
  }
  for (size_t i = 0; i < list->size(); ++i) {
    Place p = at;
    p.offset += static_cast<int64_t>((*list)[i].offset);
    accessScalar(false, p, (*list)[i], alignmentAt(align, (*list)[i].offset), from[i], isVolatile);
  }
  return true;
}

bool FunctionDecoder::loadOrStore(const Inst& in) {
  bool isLoad = in.op == spv::Op::OpLoad;
  Id pointer = in.operands[0];
  if (isLoad) {
    auto it = builtinPointers_.find(pointer);
    if (it != builtinPointers_.end()) return builtinLoad(in, 0, std::nullopt);
    const Inst& variable = b_.def(pointer);
    if (variable.op == spv::Op::OpVariable &&
        b_.type(variable.type).storage == spv::StorageClass::Input) {
      return builtinLoad(in, pointer, std::nullopt);
    }
  }
  MemoryOperands m = memoryOperands(in.operands.subspan(isLoad ? 1 : 2));
  m.isVolatile = m.isVolatile || b_.decorations(pointer).isVolatile;
  std::optional<Place> at = place(pointer);
  if (!at) return false;
  if (isLoad) {
    const Value* to = define(in);
    return to != nullptr && loadValue(*at, in.type, m.align, m.isVolatile, Value(*to));
  }
  const Value* from = value(in.operands[1]);
  return from != nullptr &&
         storeValue(*at, b_.def(in.operands[1]).type, m.align, m.isVolatile, Value(*from));
}

// base + index * scale, the index taken as signed.
Ref FunctionDecoder::scaledAdd(Ref base, Ref index, const Scalar& s, uint64_t scale) {
  if (s.bits == 32 && scale <= INT32_MAX) {
    return laneTo(Bank::r64, "mad.wide.s32",
                  {index, constant32(static_cast<uint32_t>(scale)), base});
  }
  Ref wide = s.bits == 64 ? index : widened(index, s.bits, true, 64);
  return laneTo(Bank::r64, "mad.lo.s64", {wide, constant64(scale), base});
}

// Pointers into pointers. `element`: the first index counts whole objects of the base's type.
bool FunctionDecoder::accessChain(const Inst& in, bool element) {
  Id baseId = in.operands[0];
  const Inst& variable = b_.def(baseId);
  if (variable.op == spv::Op::OpVariable &&
      b_.type(variable.type).storage == spv::StorageClass::Input) {
    uint32_t component;
    if (in.operands.size() != 2 || !b_.constantWord(in.operands[1], component)) {
      return refuse("this use of a built-in variable");
    }
    builtinPointers_[in.result] = {b_.decorations(baseId).builtin, component};
    return true;
  }
  const Value* base = value(baseId);
  if (base == nullptr) return false;
  Ref at = (*base)[0];
  Id type = typeOfValue(baseId).element;
  uint64_t offset = 0;
  for (size_t i = 1; i < in.operands.size(); ++i) {
    Id indexId = in.operands[i];
    const Type& t = b_.type(type);
    uint64_t known = 0;
    bool constant = b_.constantBits(indexId, known);
    const Type& indexType = typeOfValue(indexId);
    unsigned shift = 64 - std::max<unsigned>(indexType.bits, 1);
    int64_t number = static_cast<int64_t>(known << shift) >> shift;
    uint64_t scale;
    if (element && i == 1) {
      scale = alignUp(t.size, std::max<uint64_t>(t.align, 1));
    } else if (t.kind == Kind::structure) {
      if (!constant || known >= t.members.size()) return refuse("this index");
      offset += t.offsets[known];
      type = t.members[known];
      continue;
    } else {
      if (t.element == 0 || t.kind == Kind::pointer) return refuse("this index");
      scale = b_.type(t.element).size;
      type = t.element;
    }
    if (constant) {
      offset += static_cast<uint64_t>(number) * scale;
      continue;
    }
    const Value* index = value(indexId);
    if (index == nullptr) return false;
    at = scaledAdd(at, (*index)[0], {Kind::integer, indexType.bits, 0}, scale);
  }
  if (offset != 0) {
    at = laneTo(Bank::r64, "add.s64", {at, constant64(offset)});
  }
  alias(in, {at});
  return true;
}

bool FunctionDecoder::copyBytes(const Place& to, const Place& from, uint64_t bytes, uint64_t align,
                                bool isVolatile) {
  if (bytes > kMaxCopyBytes) {
    return refuse("copies of more than " + std::to_string(kMaxCopyBytes) + " bytes");
  }
  align = std::min<uint64_t>(alignmentAt(std::max<uint64_t>(align, 1), 0), 8);
  for (uint64_t done = 0; done < bytes;) {
    uint64_t piece = 8;
    while (piece > align || piece > bytes - done) piece /= 2;
    Ref r = scratch(piece == 8 ? Bank::r64 : Bank::r32);
    Place f = from, t = to;
    f.offset += static_cast<int64_t>(done);
    t.offset += static_cast<int64_t>(done);
    access(true, f, static_cast<unsigned>(piece), {&r, 1}, isVolatile);
    access(false, t, static_cast<unsigned>(piece), {&r, 1}, isVolatile);
    done += piece;
  }
  return true;
}

bool FunctionDecoder::copyMemory(const Inst& in) {
  std::optional<Place> to = place(in.operands[0]);
  std::optional<Place> from = place(in.operands[1]);
  if (!to || !from) return false;
  bool sized = in.op == spv::Op::OpCopyMemorySized;
  MemoryOperands m = memoryOperands(in.operands.subspan(sized ? 3 : 2));
  if (sized) {
    uint64_t bytes;
    if (!b_.constantBits(in.operands[2], bytes))
      return refuse("copies of a size known at run time");
    return copyBytes(*to, *from, bytes, std::clamp<uint64_t>(m.align, 1, 8), m.isVolatile);
  }
  const Type& t = b_.type(typeOfValue(in.operands[0]).element);
  uint64_t align = m.align != 0 ? m.align : std::max<uint64_t>(t.align, 1);
  return copyBytes(*to, *from, t.size, std::min<uint64_t>(align, 8), m.isVolatile);
}

bool FunctionDecoder::pointerCast(const Inst& in) {
  const Value* v = value(in.operands[0]);
  if (v == nullptr) return false;
  Ref from = (*v)[0];
  const Type& source = typeOfValue(in.operands[0]);
  const Type& target = b_.type(in.type);
  auto name = [](spv::StorageClass c) -> const char* {
    return c == spv::StorageClass::Workgroup  ? "shared"
           : c == spv::StorageClass::Function ? "local"
                                              : nullptr;
  };
  switch (in.op) {
    case spv::Op::OpConvertPtrToU:
      if (target.bits < 64) {
        alias(in, {asWord(from, {Kind::integer, 64, 0}, false)});
      } else {
        alias(in, {from});
      }
      return true;
    case spv::Op::OpConvertUToPtr:
      alias(in, {source.bits < 64 ? widened(from, source.bits, false, 64) : from});
      return true;
    case spv::Op::OpPtrCastToGeneric: {
      const char* space = name(source.storage);
      alias(in,
            {space == nullptr ? from
                              : laneTo(Bank::r64, std::string("cvta.") + space + ".u64", {from})});
      return true;
    }
    case spv::Op::OpGenericCastToPtr: {
      const char* space = name(target.storage);
      alias(in, {space == nullptr
                     ? from
                     : laneTo(Bank::r64, std::string("cvta.to.") + space + ".u64", {from})});
      return true;
    }
    default: {  // OpGenericCastToPtrExplicit: null for pointers into other memory.
      const char* space = name(target.storage);
      std::string where = space == nullptr ? "global" : space;
      Ref inside = laneTo(Bank::pred, "isspacep." + where, {from});
      Ref to = space == nullptr ? from : laneTo(Bank::r64, "cvta.to." + where + ".u64", {from});
      alias(in, {laneTo(Bank::r64, "selp.b64", {to, constant64(0), inside})});
      return true;
    }
  }
}

bool FunctionDecoder::atomic(const Inst& in) {
  using spv::Op;
  bool isStore = in.op == Op::OpAtomicStore || in.op == Op::OpAtomicFlagClear;
  std::optional<Place> at = place(in.operands[0]);
  if (!at) return false;
  uint8_t order, scope;
  if (!memorySemantics(in.operands[1], in.operands[2], order, scope)) return false;
  if (b_.unscopedAtomics()) {
    scope = std::max(scope, static_cast<uint8_t>(Scope::gpu));
  }
  bool sequential = order == static_cast<uint8_t>(Order::sc);
  if (sequential) {
    fence(order, scope);
    order = static_cast<uint8_t>(isStore                     ? Order::release
                                 : in.op == Op::OpAtomicLoad ? Order::acquire
                                                             : Order::acqRel);
  }
  Id elementId = typeOfValue(in.operands[0]).element;
  const Type& t = b_.type(elementId);
  unsigned bits = t.bits;
  if (t.parts != 1 || (bits != 32 && bits != 64)) return refuse("atomic operations on this type");
  bool wide = bits == 64;
  auto operand = [&](size_t i) -> Ref {
    const Value* v = i < in.operands.size() ? value(in.operands[i]) : nullptr;
    return v == nullptr || v->empty() ? kNoRef : (*v)[0];
  };
  uint8_t orderScope = static_cast<uint8_t>(order | scope << 4);
  Ref dst = kNoRef;
  bool flag = in.op == Op::OpAtomicFlagTestAndSet;
  if (in.op == Op::OpAtomicLoad) {
    const Value* to = define(in);
    if (to == nullptr) return false;
    dst = (*to)[0];
    access(true, *at, bits / 8, {&dst, 1}, false, orderScope);
    return true;
  }
  if (isStore) {
    Ref v = in.op == Op::OpAtomicStore ? operand(3) : constant32(0);
    if (v == kNoRef) return false;
    access(false, *at, bits / 8, {&v, 1}, false, orderScope);
    return true;
  }
  Ref b = kNoRef, c = kNoRef;
  std::string type = std::to_string(bits);
  std::string op;
  Bank bank = wide ? Bank::r64 : Bank::r32;
  auto negated = [&](Ref r) { return laneTo(bank, "neg.s" + type, {r}); };
  Ref one = wide ? constant64(1) : constant32(1);
  Ref minusOne = wide ? constant64(~uint64_t{0}) : constant32(~0u);
  switch (in.op) {
    case Op::OpAtomicExchange:
      op = "exch.b" + type;
      b = operand(3);
      break;
    case Op::OpAtomicCompareExchange:
    case Op::OpAtomicCompareExchangeWeak:
      op = "cas.b" + type;
      b = operand(5);
      c = operand(4);
      if (c == kNoRef) return false;
      break;
    case Op::OpAtomicFlagTestAndSet:
      op = "exch.b" + type;
      b = one;
      break;
    case Op::OpAtomicIIncrement:
      op = "add.u" + type;
      b = one;
      break;
    case Op::OpAtomicIDecrement:
      op = "add.u" + type;
      b = minusOne;
      break;
    case Op::OpAtomicIAdd:
      op = "add.u" + type;
      b = operand(3);
      break;
    case Op::OpAtomicISub:
      op = "add.u" + type;
      b = operand(3);
      if (b != kNoRef) b = negated(b);
      break;
    case Op::OpAtomicSMin:
      op = "min.s" + type;
      b = operand(3);
      break;
    case Op::OpAtomicUMin:
      op = "min.u" + type;
      b = operand(3);
      break;
    case Op::OpAtomicSMax:
      op = "max.s" + type;
      b = operand(3);
      break;
    case Op::OpAtomicUMax:
      op = "max.u" + type;
      b = operand(3);
      break;
    case Op::OpAtomicAnd:
      op = "and.b" + type;
      b = operand(3);
      break;
    case Op::OpAtomicOr:
      op = "or.b" + type;
      b = operand(3);
      break;
    case Op::OpAtomicXor:
      op = "xor.b" + type;
      b = operand(3);
      break;
    default:  // OpAtomicFAddEXT
      op = "add.f" + type;
      b = operand(3);
      break;
  }
  if (b == kNoRef) return false;
  if (flag) {
    dst = scratch(Bank::r32);
  } else {
    const Value* to = define(in);
    if (to == nullptr) return false;
    dst = (*to)[0];
  }
  Form f;
  const char* space = at->space == Space::global   ? ".global"
                      : at->space == Space::shared ? ".shared"
                                                   : "";
  if (!k_.form("atom" + std::string(space) + "." + op, f)) return refuse("this atomic operation");
  Instr out;
  out.op = mtlc::sim::Op::memory;
  out.size = static_cast<uint8_t>(bits / 8);
  out.orderScope = orderScope;
  out.space = at->space;
  out.src[0] = at->base;
  out.imm = at->offset;
  out.src[1] = b;
  out.src[2] = c;
  out.dst = dst;
  out.fn = k_.lanes().atomic(f);
  out.row = f.row->index;
  if (out.fn == nullptr) return refuse("this atomic operation");
  // A result that is used shows the order of the blocks.
  if (out.space != Space::shared) p_.usesOrderedAtomics = true;
  emit(out);
  if (flag) {
    const Value* to = define(in);
    if (to == nullptr) return false;
    lane("setp.ne.u32", (*to)[0], {dst, constant32(0)});
  }
  return true;
}

// ---- Built-in variables ----

bool FunctionDecoder::builtinPart(uint32_t builtin, uint32_t component, const Scalar& s, Ref dst) {
  using spv::BuiltIn;
  auto axis = [&](Special x) { return static_cast<Special>(static_cast<unsigned>(x) + component); };
  auto put = [&](Special which) {
    if (s.bits == 64) {
      emitMove(MoveKind::zeroExtend, dst, special(which));
    } else {
      move(dst, special(which));
    }
    return true;
  };
  auto put64 = [&](Ref wide) {
    if (s.bits == 64) {
      move(dst, wide);
    } else {
      emitMove(MoveKind::truncate, dst, wide);
    }
    return true;
  };
  auto constant = [&](uint32_t v) {
    move(dst, s.bits == 64 ? constant64(v) : constant32(v));
    return true;
  };
  bool vector = component < 3;
  auto size = [&](uint32_t i) {
    Special grid = static_cast<Special>(static_cast<unsigned>(Special::nctaidX) + i);
    Special block = static_cast<Special>(static_cast<unsigned>(Special::ntidX) + i);
    return laneTo(Bank::r64, "mul.wide.u32", {special(grid), special(block)});
  };
  auto global = [&](uint32_t i) {
    Special at = static_cast<Special>(static_cast<unsigned>(Special::ctaidX) + i);
    Special block = static_cast<Special>(static_cast<unsigned>(Special::ntidX) + i);
    Special thread = static_cast<Special>(static_cast<unsigned>(Special::tidX) + i);
    return laneTo(Bank::r64, "mad.wide.u32", {special(at), special(block), special64(thread)});
  };
  switch (static_cast<BuiltIn>(builtin)) {
    case BuiltIn::NumWorkgroups:
      return vector && put(axis(Special::nctaidX));
    case BuiltIn::WorkgroupSize:
    case BuiltIn::EnqueuedWorkgroupSize:
      return vector && put(axis(Special::ntidX));
    case BuiltIn::WorkgroupId:
      return vector && put(axis(Special::ctaidX));
    case BuiltIn::LocalInvocationId:
      return vector && put(axis(Special::tidX));
    case BuiltIn::GlobalInvocationId:
      return vector && put64(global(component));
    case BuiltIn::GlobalSize:
      return vector && put64(size(component));
    case BuiltIn::GlobalOffset:
      return constant(0);
    case BuiltIn::WorkDim:
      return constant(3);
    case BuiltIn::LocalInvocationIndex:
      return put(Special::localLinear);
    case BuiltIn::GlobalLinearId: {
      Ref yz = laneTo(Bank::r64, "mad.lo.u64", {global(2), size(1), global(1)});
      return put64(laneTo(Bank::r64, "mad.lo.u64", {yz, size(0), global(0)}));
    }
    case BuiltIn::SubgroupSize:
      return put(Special::subgroupSize);
    case BuiltIn::SubgroupMaxSize:
      return put(Special::subgroupMaxSize);
    case BuiltIn::NumSubgroups:
    case BuiltIn::NumEnqueuedSubgroups:
      return put(Special::subgroupCount);
    case BuiltIn::SubgroupId:
      return put(Special::subgroupId);
    case BuiltIn::SubgroupLocalInvocationId:
      return put(Special::subgroupLane);
    case BuiltIn::SubgroupEqMask:
    case BuiltIn::SubgroupGeMask:
    case BuiltIn::SubgroupGtMask:
    case BuiltIn::SubgroupLeMask:
    case BuiltIn::SubgroupLtMask: {
      if (component >= 2) return constant(0);
      // 64 bits of it, of which this is a half.
      Ref lane = special(Special::subgroupLane);
      Ref bit = laneTo(Bank::r64, "shl.b64", {constant64(1), lane});
      Ref below = laneTo(Bank::r64, "sub.s64", {bit, constant64(1)});
      Ref size64 = special64(Special::subgroupSize);
      Ref past = asWord(size64, {Kind::integer, 64, 0}, false);
      // (1 << size) - 1: a shift by 64 gives 0.
      Ref all = laneTo(Bank::r64, "sub.s64",
                       {laneTo(Bank::r64, "shl.b64", {constant64(1), past}), constant64(1)});
      Ref upTo = laneTo(Bank::r64, "or.b64", {below, bit});
      Ref mask = kNoRef;
      switch (static_cast<BuiltIn>(builtin)) {
        case BuiltIn::SubgroupEqMask:
          mask = bit;
          break;
        case BuiltIn::SubgroupLtMask:
          mask = below;
          break;
        case BuiltIn::SubgroupLeMask:
          mask = upTo;
          break;
        case BuiltIn::SubgroupGeMask:
          mask = laneTo(Bank::r64, "and.b64", {all, laneTo(Bank::r64, "not.b64", {below})});
          break;
        default:
          mask = laneTo(Bank::r64, "and.b64", {all, laneTo(Bank::r64, "not.b64", {upTo})});
          break;
      }
      if (component == 1) mask = laneTo(Bank::r64, "shr.u64", {mask, constant32(32)});
      emitMove(MoveKind::truncate, dst, mask);
      return true;
    }
    default:
      return refuse("the built-in variable of number " + std::to_string(builtin));
  }
}

bool FunctionDecoder::builtinLoad(const Inst& in, Id variable, std::optional<uint32_t>) {
  auto pointer = builtinPointers_.find(in.operands[0]);
  bool part = pointer != builtinPointers_.end();
  uint32_t builtin = part ? pointer->second.builtin : b_.decorations(variable).builtin;
  const std::vector<Scalar>* list = scalarsOf(in.type);
  const Value* result = define(in);
  if (list == nullptr || result == nullptr) return false;
  Value to = *result;
  for (size_t i = 0; i < to.size(); ++i) {
    uint32_t component = part ? pointer->second.component.value_or(0) : static_cast<uint32_t>(i);
    if (!builtinPart(builtin, component, (*list)[i], to[i])) {
      return k_.diags().hasErrors() ? false : refuse("this component of a built-in variable");
    }
  }
  return true;
}

bool FunctionDecoder::memory(const Inst& in, bool& known) {
  known = true;
  using spv::Op;
  switch (in.op) {
    case Op::OpLoad:
    case Op::OpStore:
      return loadOrStore(in);
    case Op::OpAccessChain:
    case Op::OpInBoundsAccessChain:
      return accessChain(in, false);
    case Op::OpPtrAccessChain:
    case Op::OpInBoundsPtrAccessChain:
      return accessChain(in, true);
    case Op::OpPtrDiff: {
      const Value* a = value(in.operands[0]);
      const Value* b = value(in.operands[1]);
      if (a == nullptr || b == nullptr) return false;
      Ref difference = laneTo(Bank::r64, "sub.s64", {(*a)[0], (*b)[0]});
      uint64_t size = b_.type(typeOfValue(in.operands[0]).element).size;
      Ref count =
          laneTo(Bank::r64, "div.s64", {difference, constant64(std::max<uint64_t>(size, 1))});
      alias(in,
            {b_.type(in.type).bits == 64 ? count : asWord(count, {Kind::integer, 64, 0}, true)});
      return true;
    }
    case Op::OpCopyMemory:
    case Op::OpCopyMemorySized:
      return copyMemory(in);
    case Op::OpConvertPtrToU:
    case Op::OpConvertUToPtr:
    case Op::OpPtrCastToGeneric:
    case Op::OpGenericCastToPtr:
    case Op::OpGenericCastToPtrExplicit:
      return pointerCast(in);
    case Op::OpAtomicLoad:
    case Op::OpAtomicStore:
    case Op::OpAtomicExchange:
    case Op::OpAtomicCompareExchange:
    case Op::OpAtomicCompareExchangeWeak:
    case Op::OpAtomicIIncrement:
    case Op::OpAtomicIDecrement:
    case Op::OpAtomicIAdd:
    case Op::OpAtomicISub:
    case Op::OpAtomicSMin:
    case Op::OpAtomicUMin:
    case Op::OpAtomicSMax:
    case Op::OpAtomicUMax:
    case Op::OpAtomicAnd:
    case Op::OpAtomicOr:
    case Op::OpAtomicXor:
    case Op::OpAtomicFlagTestAndSet:
    case Op::OpAtomicFlagClear:
    case Op::OpAtomicFAddEXT:
      return atomic(in);
    default:
      known = false;
      return true;
  }
}

}  // namespace mtlc::sim::spirv
