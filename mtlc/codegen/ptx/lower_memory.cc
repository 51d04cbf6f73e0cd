// Memory, pointers, calls and positions in the launch.

#include "mtlc/codegen/ptx/lowering.h"
#include "mtlc/codegen/ptx/match.h"

namespace mtlc::ptx {

using ir::Opcode;
using ir::Operation;
using ir::Space;
using ir::Type;
using ir::Value;

namespace {

// Workgroup storage is aligned to 32 bytes at least (docs/ir.md §3).
constexpr uint32_t kWorkgroupAlign = 32;

StateSpace stateSpace(Space space) {
  switch (space) {
    case Space::Generic:
      return StateSpace::Generic;
    case Space::Workgroup:
      return StateSpace::Shared;
    case Space::Private:
      return StateSpace::Local;
    case Space::Global:
    case Space::Constant:  // A buffer like any other, that nobody writes: ld.global.nc.
      break;
  }
  return StateSpace::Global;
}

// The part of a value's name that can stand in a PTX identifier.
std::string plainIdentifier(std::string_view name) {
  std::string result;
  for (char c : name) {
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && !(c >= '0' && c <= '9') && c != '_') break;
    result += c;
  }
  return result;
}

}  // namespace

FunctionLowering::Address FunctionLowering::address(const Value* pointer) {
  AddressMatch m = matchAddress(pointer);
  Space space = m.base->type().space();
  Address result{stateSpace(space), space == Space::Constant, Opnd(), m.offset};
  const Operation* array = asArray(m.base);
  result.base = array != nullptr ? Opnd::symbol(array->scratch) : useReg(m.base);
  return result;
}

void FunctionLowering::lowerAlloc(Operation& op) {
  // The address itself; accesses at a constant distance name the array instead (declareArrays).
  PtxType type = isNarrowPointer(op.resultType()) ? PtxType::U32 : PtxType::U64;
  define(op, emit(MachineOp::Mov, type, classOf(op.resultType()), {Opnd::symbol(op.scratch)}));
}

// Operation::scratch of the allocation is the number of its symbol.
void FunctionLowering::declareArray(Operation& op) {
  if (op.opcode() == Opcode::AllocDynamic) {
    op.scratch = 0;
    out_->usesArena = true;
    return;
  }
  bool shared = op.opcode() == Opcode::AllocWorkgroup;
  op.scratch = static_cast<uint32_t>(out_->symbols.size());
  MachineSymbol& symbol = out_->symbols.emplace_back();
  uint32_t size = op.elemType().bytes();
  symbol.space = shared ? StateSpace::Shared : StateSpace::Local;
  symbol.align = shared ? kWorkgroupAlign : size;
  symbol.bytes = op.allocCount() * size;  // At most 4 GiB [V13].
  uint64_t& total = shared ? workgroupBytes_ : privateBytes_;
  total = (total + symbol.align - 1) / symbol.align * symbol.align + symbol.bytes;
  // No mangled function name has a '$' followed by anything but hexadecimal digits.
  symbol.name = std::string(symbolPrefix_) + (shared ? "$shared" : "$local");
  symbol.name += std::to_string(op.scratch);
  std::string readable = plainIdentifier(op.result()->name());
  if (!readable.empty()) symbol.name += "_" + readable;
}

void FunctionLowering::checkArrays() {
  constexpr uint64_t kMaxWorkgroup = 48 * 1024;
  constexpr uint64_t kMaxPrivate = 512 * 1024;
  if (workgroupBytes_ > kMaxWorkgroup) {
    diags_.report(DiagId::PtxWorkgroupTooLarge, function_->loc(),
                  {function_->name(), workgroupBytes_});
  }
  if (privateBytes_ > kMaxPrivate) {
    diags_.report(DiagId::PtxPrivateTooLarge, function_->loc(), {function_->name(), privateBytes_});
  }
}

void FunctionLowering::lowerPtrAdd(Operation& op) {
  Type type = op.resultType();
  bool narrow = isNarrowPointer(type);
  RegClass cls = classOf(type);
  Opnd base = useReg(op.operand(0));
  PtrIndex index = matchPtrIndex(op);
  if (index.kind == PtrIndex::Kind::Constant) {
    if (index.bytes == 0) return define(op, base);
    define(op, emit(MachineOp::Add, signedType(type), cls,
                    {base, imm(static_cast<uint64_t>(index.bytes))}));
    return;
  }
  if (index.kind == PtrIndex::Kind::Widened) {
    Opnd x = useExt(index.source, index.isSigned);
    Opnd factor = imm(static_cast<uint64_t>(index.factor) & 0xFFFFFFFF);
    if (!narrow) {
      define(op, emit(MachineOp::MadWide, index.isSigned ? PtxType::S32 : PtxType::U32, cls,
                      {x, factor, base}));
    } else if (index.factor == 1) {
      define(op, emit(MachineOp::Add, PtxType::S32, cls, {base, inReg(x, ir::kI32)}));
    } else {
      define(op, emit(MachineOp::MadLo, PtxType::S32, cls, {x, factor, base}));
    }
    return;
  }
  Opnd x = use(op.operand(1));
  unsigned size = op.elemType().bytes();
  if (narrow) {
    x = emitCvt(Round::None, PtxType::U32, PtxType::U64, RegClass::B32, x);
    define(op, size == 1 ? emit(MachineOp::Add, PtxType::S32, cls, {base, x})
                         : emit(MachineOp::MadLo, PtxType::S32, cls, {x, imm(size), base}));
    return;
  }
  if (size > 1) {
    unsigned shift = size == 2 ? 1 : size == 4 ? 2 : 3;
    x = emit(MachineOp::Shl, PtxType::B64, RegClass::B64, {x, imm(shift)});
  }
  define(op, emit(MachineOp::Add, PtxType::S64, cls, {base, x}));
}

void FunctionLowering::lowerLoad(Operation& op) {
  Type type = op.elemType();
  Address at = address(op.operand(0));
  ir::MemAttr mem = op.mem();
  auto load = [&](PtxType ptx, RegClass cls, int32_t offset) {
    Opnd dst = newReg(cls);
    MachineInst& inst = append(MachineOp::Ld, ptx, dst, {at.base});
    inst.mod = static_cast<uint8_t>(at.space);
    inst.offset = at.offset + offset;
    inst.isVolatile = mem.isVolatile;
    inst.cache = mem.cache;
    inst.readOnly = at.readOnly && !mem.isVolatile && mem.cache == ir::CacheHint::All;
    return dst;
  };
  if (mem.align != 0 && mem.align < type.bytes()) {
    // PTX accesses must be aligned to their size: read pieces of what is known and put them
    // together.
    bool wide = type.bytes() == 8;
    RegClass cls = wide ? RegClass::B64 : RegClass::B32;
    PtxType bits = wide ? PtxType::B64 : PtxType::B32;
    PtxType piece = mem.align == 1 ? PtxType::U8 : mem.align == 2 ? PtxType::U16 : PtxType::U32;
    Opnd value;
    for (uint32_t i = 0; i < type.bytes(); i += mem.align) {
      Opnd part = load(piece, cls, static_cast<int32_t>(i));
      if (i == 0) {
        value = part;
        continue;
      }
      part = emit(MachineOp::Shl, bits, cls, {part, imm(8 * i)});
      value = emit(MachineOp::Or, bits, cls, {value, part});
    }
    if (type == ir::kF16 || type == ir::kBF16) {
      value = emitCvt(Round::None, PtxType::U16, PtxType::U32, RegClass::B16, value);
    }
    return define(op, value, kExtZero);
  }
  if (type.isBool()) {
    Opnd byte = load(PtxType::U8, RegClass::B32, 0);
    return define(op, emitSetp(CmpOp::Ne, PtxType::S32, byte, imm(0)));
  }
  if (type.isInt() && type.bits() < 32) {
    bool asSigned = (info(op.result()).demand & kExtBoth) == kExtSign;
    PtxType ptx = type == ir::kI8 ? (asSigned ? PtxType::S8 : PtxType::U8)
                                  : (asSigned ? PtxType::S16 : PtxType::U16);
    return define(op, load(ptx, RegClass::B32, 0), asSigned ? kExtSign : kExtZero);
  }
  define(op, load(type.isPtr() ? PtxType::B64 : bitsType(type), classOf(type), 0));
}

void FunctionLowering::lowerStore(Operation& op) {
  Type type = op.elemType();
  const Value* stored = op.operand(0);
  Opnd value = use(stored);
  Address at = address(op.operand(1));
  ir::MemAttr mem = op.mem();
  auto store = [&](PtxType ptx, Opnd v, int32_t offset) {
    MachineInst& inst = append(MachineOp::St, ptx, Opnd(), {at.base, v});
    inst.mod = static_cast<uint8_t>(at.space);
    inst.offset = at.offset + offset;
    inst.isVolatile = mem.isVolatile;
    inst.cache = mem.cache;
  };
  if (type.isBool()) {
    if (!value.isImm()) {
      value =
          emit(MachineOp::Selp, PtxType::B32, RegClass::B32,
               {imm(value.isReg() ? 1 : 0), imm(value.isReg() ? 0 : 1), Opnd::reg(value.index())});
    }
    return store(PtxType::U8, value, 0);
  }
  if (mem.align != 0 && mem.align < type.bytes()) {
    value = inReg(value, type);
    if (type == ir::kF16 || type == ir::kBF16) {
      value = emitCvt(Round::None, PtxType::U32, PtxType::U16, RegClass::B32, value);
    }
    bool wide = type.bytes() == 8;
    PtxType piece = mem.align == 1 ? PtxType::U8 : mem.align == 2 ? PtxType::U16 : PtxType::U32;
    for (uint32_t i = 0; i < type.bytes(); i += mem.align) {
      Opnd part = value;
      if (i != 0) {
        part = emit(MachineOp::Shr, wide ? PtxType::U64 : PtxType::U32,
                    wide ? RegClass::B64 : RegClass::B32, {value, imm(8 * i)});
      }
      store(piece, part, static_cast<int32_t>(i));
    }
    return;
  }
  PtxType ptx = type == ir::kI8    ? PtxType::U8
                : type == ir::kI16 ? PtxType::U16
                : type.isPtr()     ? PtxType::B64
                                   : bitsType(type);
  store(ptx, value, 0);
}

void FunctionLowering::lowerPointerCast(Operation& op) {
  const Value* source = op.operand(0);
  Opnd a = useReg(source);
  // Integers of pointers are generic addresses, and generic and global addresses are the same
  // numbers (PTX ISA, "State Spaces: Generic Addressing").
  if (op.opcode() != Opcode::SpaceCast) return define(op, a);
  Space from = source->type().space(), to = op.resultType().space();
  if (from == to) return define(op, a);
  bool toSpace = to != Space::Generic;
  Opnd dst = newReg(RegClass::B64);
  MachineInst& inst = append(MachineOp::Cvta, PtxType::U64, dst, {a});
  inst.mod = static_cast<uint8_t>(stateSpace(toSpace ? to : from));
  inst.toSpace = toSpace;
  define(op, dst);
}

void FunctionLowering::lowerGpuIndex(Operation& op) {
  uint32_t which =
      (static_cast<uint32_t>(op.opcode()) - static_cast<uint32_t>(Opcode::ThreadId)) * 3 +
      static_cast<uint32_t>(op.dim());
  Opnd& known = special_[which];
  if (!known.isNone()) return define(op, known);
  Opnd value = emit(MachineOp::Mov, PtxType::U32, RegClass::B32, {Opnd::special(which)});
  // The entry block dominates the others.
  if (inEntry_) known = value;
  define(op, value);
}

void FunctionLowering::lowerCall(Operation& op) {
  MachineCall call{op.callee(), 0, op.operandCount()};
  std::vector<Opnd> args;
  for (unsigned i = 0; i < op.operandCount(); ++i) {
    const Value* v = op.operand(i);
    Opnd a = use(v);
    if (v->type().isBool() && !a.isImm()) {
      a = emit(MachineOp::Selp, PtxType::B32, RegClass::B32,
               {imm(a.isReg() ? 1 : 0), imm(a.isReg() ? 0 : 1), Opnd::reg(a.index())});
    } else if (!v->type().isBool()) {
      a = useReg(v);
    }
    args.push_back(a);
  }
  call.firstArg = static_cast<uint32_t>(out_->callArgs.size());
  out_->callArgs.insert(out_->callArgs.end(), args.begin(), args.end());
  Type result = op.resultType();
  bool boolResult = result.isBool();
  Opnd dst = result.isVoid() ? Opnd() : newReg(boolResult ? RegClass::B32 : classOf(result));
  MachineInst& inst = append(MachineOp::Call, PtxType::None, dst, {});
  inst.offset = static_cast<int32_t>(out_->calls.size());
  out_->calls.push_back(call);
  if (result.isVoid()) return;
  define(op, boolResult ? emitSetp(CmpOp::Ne, PtxType::S32, dst, imm(0)) : dst);
}

}  // namespace mtlc::ptx
