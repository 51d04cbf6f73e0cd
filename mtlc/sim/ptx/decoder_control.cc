// Instructions that move control: branches, calls, barriers, and the rest that the engine executes
// itself.

#include "mtlc/sim/ptx/decoder_impl.h"

namespace mtlc::sim::ptx {

bool FunctionDecoder::operandCount(const Instruction& in, size_t least, size_t most) {
  if (in.operands.size() >= least && in.operands.size() <= most) return true;
  return error(DiagId::PtxOperandCount, in.loc, in.length, {in.spelling, most, in.operands.size()});
}

// The engine executes these operations for whole groups of lanes, so lanes whose guard is false go
// around.
void FunctionDecoder::beginGuarded(const Instruction& in) {
  skip_.reset();
  if (in.guard.empty()) return;
  Instr out;
  out.op = Op::branch;
  out.guard = guard_ ^ kNegate;
  out.flags = kCountsAsNothing;
  emit(out);
  skip_ = static_cast<uint32_t>(p_.code.size() - 1);
  guard_ = kNoRef;
}

void FunctionDecoder::endGuarded() {
  if (!skip_) return;
  Instr out;
  out.op = Op::join;
  out.flags = kCountsAsNothing;
  emit(out);
  p_.code[*skip_].target = static_cast<uint32_t>(p_.code.size());
  // The target needs an instruction even at the end of the function; run() always emits one.
  skip_.reset();
}

bool FunctionDecoder::branchInstruction(const Instruction& in, const Form& form) {
  if (!operandCount(in, 1, 1)) return false;
  const Operand& o = in.operands[0];
  if (o.kind != Operand::Kind::name || o.negated) {
    return error(DiagId::PtxOperandKind, o.loc, 1, {"anything but a label"});
  }
  Instr out;
  out.op = Op::branch;
  out.guard = guard_;
  if (form.has(Mod::uni)) out.flags |= kUniform;
  emit(out);
  Fixup fix{};
  fix.instr = static_cast<uint32_t>(p_.code.size() - 1);
  fix.label = o.name;
  fix.scope = scopes_.back().id;
  fix.loc = o.loc;
  fixups_.push_back(fix);
  p_.code.back().target = fix.instr;  // Something valid until the label is known.
  return true;
}

bool FunctionDecoder::branchTableInstruction(const Instruction& in, const Form& form) {
  if (!operandCount(in, 2, 2)) return false;
  auto index = source(in.operands[0], Mod::u32, false, false, nullptr);
  if (!index) return false;
  const Operand& t = in.operands[1];
  const Statement* table = labelledDirective(t.name, Statement::Kind::branchTargets, true);
  if (table == nullptr) {
    return error(DiagId::PtxUndefined, t.loc, static_cast<uint32_t>(t.name.size()), {t.name});
  }
  const std::vector<std::pair<std::string_view, SourceLoc>>* labels = &f_.tables[table->index];
  Instr out;
  out.op = Op::branchTable;
  out.src[0] = *index;
  if (form.has(Mod::uni)) out.flags |= kUniform;
  out.ext = static_cast<uint32_t>(p_.branchTables.size());
  p_.branchTables.emplace_back();
  p_.branchTables.back().targets.resize(labels->size(), static_cast<uint32_t>(p_.code.size()));
  emit(out);
  for (uint32_t i = 0; i < labels->size(); ++i) {
    Fixup fix{};
    fix.instr = static_cast<uint32_t>(p_.code.size() - 1);
    fix.inTable = true;
    fix.tableEntry = i;
    fix.label = (*labels)[i].first;
    fix.scope = scopes_.back().id;
    fix.loc = (*labels)[i].second;
    fixups_.push_back(fix);
  }
  return true;
}

bool FunctionDecoder::callValues(const std::vector<Operand>& operands,
                                 const std::vector<FormalValue>& formals, bool results,
                                 SourceLoc loc, std::vector<CallValue>& out) {
  if (operands.size() != formals.size()) {
    return error(DiagId::PtxCallMismatch, loc, 4,
                 {results ? "results" : "arguments", formals.size(), operands.size()});
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    const Operand& o = operands[i];
    CallValue value;
    value.bytes = formals[i].bytes;
    if (o.kind == Operand::Kind::sink && results) {
      value.bytes = 0;
      out.push_back(value);
      continue;
    }
    if (o.kind == Operand::Kind::name) {
      const Local* l = findLocal(o.name, nullptr);
      if (l != nullptr && l->kind == Local::Kind::variable && l->space == Space::local) {
        if (l->variable->bytes() != formals[i].bytes) {
          return error(DiagId::PtxCallMismatch, o.loc, static_cast<uint32_t>(o.name.size()),
                       {"bytes of the parameter", formals[i].bytes, l->variable->bytes()});
        }
        value.offset = static_cast<uint32_t>(l->offset);
        out.push_back(value);
        continue;
      }
    }
    // Registers and constants.
    Type type = formals[i].bytes == 8   ? Mod::b64
                : formals[i].bytes == 4 ? Mod::b32
                : formals[i].bytes == 2 ? Mod::b16
                                        : Mod::b8;
    auto ref =
        results ? destination(o, type, false, nullptr) : source(o, type, false, false, nullptr);
    if (!ref) return false;
    value.ref = *ref;
    out.push_back(value);
  }
  return true;
}

namespace {

std::vector<FormalValue> formalsOf(const std::vector<Variable>& variables) {
  std::vector<FormalValue> out;
  for (const Variable& v : variables) {
    FormalValue f;
    f.bytes = static_cast<uint32_t>(v.bytes());
    out.push_back(f);
  }
  return out;
}

Builtin builtinNamed(std::string_view name) {
  if (name == "vprintf") return Builtin::vprintf;
  if (name == "__assertfail") return Builtin::assertFail;
  if (name == "malloc") return Builtin::malloc;
  if (name == "free") return Builtin::free;
  return Builtin::none;
}

}  // namespace

bool FunctionDecoder::callInstruction(const Instruction& in, const Form& form) {
  if (in.operands.empty()) return operandCount(in, 1, 2);
  const Operand& callee = in.operands[0];
  CallSite site;
  Instr out;
  out.op = Op::call;
  if (form.has(Mod::uni)) out.flags |= kUniform;
  uint32_t length = static_cast<uint32_t>(callee.name.size());
  const ModuleSymbol* s =
      callee.kind == Operand::Kind::name && findLocal(callee.name, nullptr) == nullptr
          ? k_.symbols().find(callee.name)
          : nullptr;
  std::vector<FormalValue> params, results;
  if (s != nullptr && s->kind == ModuleSymbol::Kind::function) {
    params = formalsOf(s->function->params);
    results = formalsOf(s->function->returns);
    if (s->function->isEntry) {
      return error(DiagId::PtxCallsKernel, callee.loc, length, {callee.name});
    }
    if (s->function->hasBody) {
      auto index = k_.functionIndex(s->function);
      if (!index) return error(DiagId::PtxUndefined, callee.loc, length, {callee.name});
      site.function = *index;
      p_.functions[index_].callees.push_back(*index);
    } else {
      site.builtin = builtinNamed(callee.name);
      p_.usesHeap = p_.usesHeap || site.builtin == Builtin::malloc;
      if (site.builtin == Builtin::none) {
        return error(DiagId::PtxNoBody, callee.loc, length, {callee.name});
      }
    }
  } else {
    // Through a register, with a prototype or a list of possible callees.
    auto ref = source(callee, Mod::u64, false, false, nullptr);
    if (!ref) return false;
    site.callee = *ref;
    p_.functions[index_].indirectCalls = true;
    const Statement* types =
        in.operands.size() > 1
            ? labelledDirective(in.operands[1].name, Statement::Kind::branchTargets, false)
            : nullptr;
    if (types == nullptr) return error(DiagId::PtxNoPrototype, callee.loc, length, {callee.name});
    if (types->kind == Statement::Kind::prototype) {
      params = formalsOf(f_.prototypes[types->index].params);
      results = formalsOf(f_.prototypes[types->index].returns);
    } else {
      for (auto [name, loc] : f_.tables[types->index]) {
        const ModuleSymbol* t = k_.symbols().find(name);
        auto index = t != nullptr && t->kind == ModuleSymbol::Kind::function
                         ? k_.functionIndex(t->function)
                         : std::nullopt;
        if (!index)
          return error(DiagId::PtxUndefined, loc, static_cast<uint32_t>(name.size()), {name});
        site.allowed.push_back(*index);
        params = formalsOf(t->function->params);
        results = formalsOf(t->function->returns);
      }
    }
  }
  if (!callValues(in.callArguments, params, false, in.loc, site.arguments)) return false;
  if (!callValues(in.callReturns, results, true, in.loc, site.results)) return false;
  out.ext = static_cast<uint32_t>(p_.calls.size());
  p_.calls.push_back(std::move(site));
  emit(out);
  return true;
}

// alloca, stacksave, stackrestore (PTX ISA 9.7.17).
bool FunctionDecoder::stackInstruction(const Instruction& in, const Form& form) {
  CallSite site;
  Instr out;
  out.op = Op::call;
  auto take = [](std::vector<CallValue>& list, const std::optional<Ref>& ref, uint32_t bytes) {
    if (ref) list.push_back({*ref, 0, bytes});
    return ref.has_value();
  };
  const std::vector<Operand>& o = in.operands;
  if (form.row->family == Family::stackRestore) {
    if (!operandCount(in, 1, 1)) return false;
    site.builtin = Builtin::stackRestore;
    if (!take(site.arguments, source(o[0], Mod::u64, false, false, nullptr), 8)) return false;
  } else {
    bool alloc = form.row->family == Family::stackAlloc;
    if (!operandCount(in, alloc ? 2 : 1, alloc ? 3 : 1)) return false;
    site.builtin = alloc ? Builtin::stackAlloc : Builtin::stackSave;
    if (!take(site.results, destination(o[0], Mod::u64, false, nullptr), 8)) return false;
    if (alloc) {
      if (!take(site.arguments, source(o[1], Mod::u64, false, false, nullptr), 8)) return false;
      uint64_t align = 8;
      if (o.size() == 3) {
        align = o[2].value.bits;
        if (o[2].kind != Operand::Kind::constant || align == 0 || (align & (align - 1)) != 0 ||
            align > 4096) {
          return error(DiagId::PtxOperandType, o[2].loc, 0,
                       {"the alignment", "this", "a power of two, as a constant"});
        }
      }
      site.arguments.push_back({k_.constant32(static_cast<uint32_t>(align)), 0, 4});
      p_.usesAlloca = true;
    }
  }
  out.ext = static_cast<uint32_t>(p_.calls.size());
  p_.calls.push_back(std::move(site));
  emit(out);
  return true;
}

// bar and barrier (PTX ISA 9.7.13.1).
bool FunctionDecoder::barrierInstruction(const Instruction& in, const Form& form) {
  BarrierSite site;
  Instr out;
  out.op = Op::barrier;
  site.aligned = in.opcode == "bar" || form.has(Mod::aligned);
  if (site.aligned) out.flags |= kUniform;
  std::vector<const Operand*> numbers;
  size_t first = 0;
  switch (form.row->family) {
    case Family::barSync:
      site.kind = BarrierKind::sync;
      break;
    case Family::barArrive:
      site.kind = BarrierKind::arrive;
      break;
    default: {
      site.kind = form.has(Mod::popc)     ? BarrierKind::redPopc
                  : form.has(Mod::andMod) ? BarrierKind::redAnd
                                          : BarrierKind::redOr;
      Type type = site.kind == BarrierKind::redPopc ? Mod::u32 : Mod::pred;
      auto dst = destination(in.operands[0], type, false, nullptr);
      auto p = source(in.operands.back(), Mod::pred, false, true, nullptr);
      if (!dst || !p) return false;
      out.dst = *dst;
      site.predicate = *p;
      first = 1;
      break;
    }
  }
  size_t last = in.operands.size() - (site.predicate != kNoRef ? 1 : 0);
  for (size_t i = first; i < last; ++i) numbers.push_back(&in.operands[i]);
  if (numbers.empty() || numbers.size() > 2) return operandCount(in, 1, 2);
  auto id = source(*numbers[0], Mod::u32, false, false, nullptr);
  if (!id) return false;
  if (numbers[0]->kind == Operand::Kind::constant && numbers[0]->value.bits > 15) {
    return error(DiagId::PtxBarrierNumber, numbers[0]->loc, 0, {numbers[0]->value.bits});
  }
  site.id = *id;
  if (numbers.size() == 2) {
    auto count = source(*numbers[1], Mod::u32, false, false, nullptr);
    if (!count) return false;
    if (numbers[1]->kind == Operand::Kind::constant &&
        (numbers[1]->value.bits == 0 || numbers[1]->value.bits % 32 != 0)) {
      return error(DiagId::PtxBarrierCount, numbers[1]->loc, 0, {numbers[1]->value.bits});
    }
    site.count = *count;
  }
  out.ext = static_cast<uint32_t>(p_.barriers.size());
  p_.barriers.push_back(site);
  emit(out);
  return true;
}

bool FunctionDecoder::simpleControl(const Instruction& in, const Form& form) {
  Instr out;
  out.guard = guard_;
  switch (form.row->family) {
    case Family::exit:
      out.op = Op::exit;
      break;
    case Family::ret:
      if (f_.isEntry) {
        out.op = Op::exit;
        break;
      }
      beginGuarded(in);
      out.guard = kNoRef;
      out.op = Op::ret;
      emit(out);
      endGuarded();
      return true;
    case Family::trap:
      beginGuarded(in);
      out.guard = kNoRef;
      out.op = Op::trap;
      emit(out);
      endGuarded();
      return true;
    case Family::nanosleep: {
      auto t = source(in.operands[0], Mod::u32, false, false, nullptr);
      if (!t) return false;
      beginGuarded(in);
      out.guard = kNoRef;
      out.op = Op::yield;
      emit(out);
      endGuarded();
      return true;
    }
    default:
      if (in.opcode == "setmaxnreg" && in.operands[0].kind == Operand::Kind::constant &&
          (in.operands[0].value.bits < 24 || in.operands[0].value.bits > 256 ||
           in.operands[0].value.bits % 8 != 0)) {
        return error(DiagId::PtxMatrixSelector, in.operands[0].loc, 1,
                     {"register count", "a multiple of 8 from 24 to 256"});
      }
      // Hints and breakpoints: operands are checked, nothing happens.
      for (size_t i = 0; i < in.operands.size(); ++i) {
        const OperandSpec& spec = form.row->operands[i];
        if (spec.role == OperandRole::memory) {
          Instr ignored;
          Space space = form.has(Mod::local)    ? Space::local
                        : form.has(Mod::global) ? Space::global
                                                : Space::generic;
          if (!memoryOperand(in.operands[i], space, false, ignored)) return false;
        } else if (in.operands[i].kind != Operand::Kind::constant) {
          return error(DiagId::PtxOperandKind, in.operands[i].loc, 0, {"anything but a constant"});
        }
      }
      out.op = Op::nop;
      break;
  }
  emit(out);
  return true;
}

}  // namespace mtlc::sim::ptx
