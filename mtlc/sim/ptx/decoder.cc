#include "mtlc/sim/ptx/decoder.h"

#include <algorithm>

#include "mtlc/sim/flow.h"
#include "mtlc/sim/ptx/decoder_impl.h"

namespace mtlc::sim::ptx {
namespace {

uint64_t alignmentOf(const Variable& v) {
  return std::max<uint64_t>(v.align, std::max<uint64_t>(v.elementBytes(), 1));
}

constexpr std::string_view kReservedPrefix = "%reserved_smem_offset_";

}  // namespace

std::vector<ParamInfo> layoutParams(const Function& kernel, uint32_t& bytes) {
  std::vector<ParamInfo> out;
  uint64_t offset = 0;
  for (const Variable& v : kernel.params) {
    ParamInfo p;
    p.name = std::string(v.name);
    p.align = static_cast<uint32_t>(alignmentOf(v));
    offset = alignUp(offset, p.align);
    p.offset = static_cast<uint32_t>(offset);
    p.bytes = static_cast<uint32_t>(std::min<uint64_t>(v.bytes(), UINT32_MAX));
    p.type = v.type;
    p.isArray = v.isArray;
    offset += v.bytes();
    if (offset > UINT32_MAX) offset = UINT32_MAX;
    out.push_back(std::move(p));
  }
  bytes = static_cast<uint32_t>(offset);
  return out;
}

// ---- KernelDecoder ----

std::optional<uint32_t> KernelDecoder::functionIndex(const Function* f) const {
  auto it = functionIndex_.find(f);
  if (it == functionIndex_.end()) return std::nullopt;
  return it->second;
}

std::optional<uint64_t> KernelDecoder::sharedOffset(const Variable* v) const {
  auto it = shared_.find(v);
  if (it == shared_.end()) return std::nullopt;
  return it->second;
}

uint64_t KernelDecoder::placeShared(const Variable& v) {
  auto it = shared_.find(&v);
  if (it != shared_.end()) return it->second;
  std::optional<uint64_t> offset = builder_.placeShared(v.name, v.bytes(), alignmentOf(v));
  if (!offset) {
    diags_.report(DiagId::PtxTooLarge, SourceRange(v.loc), {"shared memory", kMaxSharedBytes});
  }
  shared_.emplace(&v, offset.value_or(0));
  return offset.value_or(0);
}

void KernelDecoder::scanName(std::string_view name) {
  const ModuleSymbol* s = symbols_.find(name);
  if (s == nullptr) return;
  if (s->kind == ModuleSymbol::Kind::function) {
    scanFunction(*s->function);
    return;
  }
  if (s->variable->space != Mod::shared) return;
  if (s->variable->isExtern || s->variable->unsizedArray) {
    if (std::find(dynamicShared_.begin(), dynamicShared_.end(), s->variable) ==
        dynamicShared_.end()) {
      dynamicShared_.push_back(s->variable);
    }
  } else {
    placeShared(*s->variable);
  }
}

// Only the order of begin, the numbered places and end is documented; CUDA's libraries keep 288
// bytes at place 1.
std::optional<Ref> KernelDecoder::reservedOffset(std::string_view name) {
  if (!name.starts_with(kReservedPrefix)) return std::nullopt;
  std::string_view what = name.substr(kReservedPrefix.size());
  const Program& p = program();
  uint32_t half = p.reservedSharedBytes / 2;
  if (what == "begin" || what == "0" || what == "1") return constant32(p.reservedShared);
  if (what == "2") return constant32(p.reservedShared + half);
  if (what == "end") return constant32(p.reservedShared + p.reservedSharedBytes);
  if (what == "cap") return constant32(p.reservedSharedBytes);
  return std::nullopt;
}

void KernelDecoder::scanFunction(const Function& f) {
  if (f.hasBody && !f.isEntry &&
      functionIndex_.emplace(&f, static_cast<uint32_t>(reachable_.size())).second) {
    reachable_.push_back(&f);
  }
}

void KernelDecoder::scanOperand(const Operand& o) {
  if (!o.name.empty()) scanName(o.name);
  usesReserved_ = usesReserved_ || o.name.starts_with(kReservedPrefix);
  for (const Operand& e : o.elements) scanOperand(e);
}

// Finds the functions and the shared variables that the kernel can reach, and lays out shared
// memory: the offset of dynamic shared memory must be known before any code is made.
void KernelDecoder::scan(const Function& kernel) {
  reachable_.push_back(&kernel);
  functionIndex_.emplace(&kernel, 0);
  bool takenScanned = false;
  for (size_t i = 0; i < reachable_.size(); ++i) {
    const Function& f = *reachable_[i];
    for (const Variable& v : f.variables) {
      if (v.space == Mod::shared) placeShared(v);
    }
    for (const Instruction& in : f.instructions) {
      for (const Operand& o : in.operands) scanOperand(o);
      for (const Operand& o : in.callArguments) scanOperand(o);
      // A call through a register may reach whatever has its address taken anywhere in the module.
      if (in.opcode != "call" || in.operands.empty() || takenScanned) continue;
      const ModuleSymbol* callee = symbols_.find(in.operands[0].name);
      if (callee != nullptr && callee->kind == ModuleSymbol::Kind::function) continue;
      takenScanned = true;
      for (const Function* taken : symbols_.addressTaken()) scanFunction(*taken);
    }
    for (const auto& table : f.tables) {
      for (auto [name, loc] : table) scanName(name);
    }
  }
  if (usesReserved_) builder_.reserveShared();
  uint32_t align = 1;
  for (const Variable* v : dynamicShared_) {
    align = std::max(align, static_cast<uint32_t>(alignmentOf(*v)));
  }
  builder_.beginDynamicShared(align);
  for (const Variable* v : dynamicShared_) shared_.emplace(v, program().dynamicSharedOffset);
}

std::unique_ptr<Program> KernelDecoder::run(const Function& kernel, bool whole) {
  Program& p = program();
  p.kernel = std::string(kernel.name);
  p.params = layoutParams(kernel, p.paramBytes);
  p.maxThreads = kernel.maxThreads;
  p.requiredThreads = kernel.requiredThreads;
  p.clusterShape = kernel.clusterShape;
  for (const auto& [index, name] : symbols_.module().files) {
    if (index < 65536) {
      if (p.files.size() <= index) p.files.resize(index + 1);
      p.files[index] = name;
    }
  }
  scan(kernel);
  p.functions.resize(reachable_.size());
  // Formal parameters first: calls may come before the callee is decoded.
  for (size_t i = 0; i < reachable_.size(); ++i) {
    ProgramFunction& f = p.functions[i];
    f.name = std::string(reachable_[i]->name);
    if (const ModuleSymbol* symbol = symbols_.find(f.name)) f.handle = symbol->address;
    if (i == 0) continue;
    uint64_t offset = 0;
    uint32_t slots[2] = {0, 0};
    auto place = [&](const std::vector<Variable>& formals, std::vector<FormalValue>& out) {
      for (const Variable& v : formals) {
        FormalValue value;
        value.bytes = static_cast<uint32_t>(std::min<uint64_t>(v.bytes(), kMaxFrameBytes));
        if (v.space == Mod::r) {
          Bank bank = typeBits(v.type) == 64 ? Bank::r64 : Bank::r32;
          value.ref = makeRef(File::frame, bank, slots[bank == Bank::r64 ? 1 : 0]++);
        } else {
          offset = alignUp(offset, alignmentOf(v));
          value.offset = static_cast<uint32_t>(std::min(offset, kMaxFrameBytes));
          offset += v.bytes();
          f.variables.push_back({value.offset, value.bytes, std::string(v.name)});
        }
        out.push_back(value);
      }
    };
    place(reachable_[i]->params, f.params);
    place(reachable_[i]->returns, f.results);
    f.localBytes = static_cast<uint32_t>(std::min(offset, kMaxFrameBytes + 1));
    f.slots32 = slots[0];
    f.slots64 = slots[1];
  }
  uint32_t order = 1;
  for (uint32_t i = 0; i < reachable_.size(); ++i) {
    FunctionDecoder(*this, *reachable_[i], i).run();
    if (!whole) return builder_.take();
    if (diags_.hasErrors()) continue;
    order = orderBlocks(p, i, order);
  }
  return diags_.hasErrors() ? builder_.take() : builder_.finish();
}

std::unique_ptr<Program> decodeKernel(const ModuleSymbols& symbols, const Function& kernel,
                                      const DecodeOptions& options, DiagnosticEngine& diags) {
  return KernelDecoder(symbols, options, diags).run(kernel);
}

void checkFunction(const ModuleSymbols& symbols, const Function& function,
                   DiagnosticEngine& diags) {
  KernelDecoder(symbols, DecodeOptions{}, diags).run(function, false);
}

// ---- FunctionDecoder: declarations and statements ----

bool FunctionDecoder::error(DiagId id, SourceLoc loc, uint32_t length, DiagArgs args) {
  k_.diags().report(id, SourceRange(loc, length), args);
  return false;
}

// Labels are known before any instruction, with the scope they stand in.
void FunctionDecoder::collectLabels() {
  uint32_t scope = 0, next = 0;
  scopeParents_.push_back(0);
  for (const Statement& s : f_.body) {
    switch (s.kind) {
      case Statement::Kind::openScope:
        scopeParents_.push_back(scope);
        scope = ++next;
        break;
      case Statement::Kind::closeScope:
        scope = scopeParents_[scope];
        break;
      case Statement::Kind::label:
        if (!labels_[scope].emplace(s.name, Label{}).second) {
          error(DiagId::PtxRedefined, s.loc, static_cast<uint32_t>(s.name.size()), {s.name});
        }
        break;
      case Statement::Kind::branchTargets:
      case Statement::Kind::callTargets:
      case Statement::Kind::prototype:
        directives_[scope].emplace(s.name, &s);
        break;
      default:
        break;
    }
  }
  // Which of them are targets: others need no place to meet. Names are enough for that.
  std::unordered_map<std::string_view, bool> used;
  for (const Instruction& in : f_.instructions) {
    if (in.opcode == "bra" && !in.operands.empty()) used[in.operands[0].name] = true;
  }
  for (const auto& table : f_.tables) {
    for (auto [name, loc] : table) used[name] = true;
  }
  for (auto& [id, names] : labels_) {
    for (auto& [name, label] : names) label.used = used.count(name) != 0;
  }
}

FunctionDecoder::Label* FunctionDecoder::findLabel(std::string_view name, uint32_t scope) {
  for (;;) {
    auto it = labels_.find(scope);
    if (it != labels_.end()) {
      auto l = it->second.find(name);
      if (l != it->second.end()) return &l->second;
    }
    if (scope == 0) return nullptr;
    scope = scopeParents_[scope];
  }
}

const Statement* FunctionDecoder::labelledDirective(std::string_view name, Statement::Kind kind,
                                                    bool equal) {
  for (uint32_t scope = scopes_.back().id;; scope = scopeParents_[scope]) {
    auto it = directives_.find(scope);
    if (it != directives_.end()) {
      auto found = it->second.find(name);
      if (found != it->second.end() && (found->second->kind == kind) == equal) {
        return found->second;
      }
    }
    if (scope == 0) return nullptr;
  }
}

bool FunctionDecoder::addName(std::string_view name, const Local& local, SourceLoc loc) {
  NameScope& scope = scopes_.back();
  auto& into = local.kind == Local::Kind::range ? scope.ranges : scope.names;
  if (into.emplace(name, local).second) return true;
  return error(DiagId::PtxRedefined, loc, static_cast<uint32_t>(name.size()), {name});
}

uint64_t FunctionDecoder::placeLocal(const Variable& v) {
  // Parameters of calls are accessed by name: they get no gaps of their own. A frame ends with one
  // after a variable.
  std::optional<uint64_t> offset = frame_.place(v.bytes(), alignmentOf(v), v.space == Mod::local);
  ProgramFunction& pf = p_.functions[index_];
  if (!offset) {
    error(DiagId::PtxTooLarge, v.loc, static_cast<uint32_t>(v.name.size()),
          {"the frame of the function", kMaxFrameBytes});
    pf.variables.clear();
    return 0;
  }
  pf.variables.push_back({static_cast<uint32_t>(std::min(*offset, kMaxFrameBytes)),
                          static_cast<uint32_t>(std::min(v.bytes(), kMaxFrameBytes)),
                          std::string(v.name)});
  return *offset;
}

void FunctionDecoder::declareParams() {
  ProgramFunction& pf = p_.functions[index_];
  if (index_ == 0 && f_.isEntry) {
    uint32_t bytes;
    std::vector<ParamInfo> layout = layoutParams(f_, bytes);
    for (size_t i = 0; i < f_.params.size(); ++i) {
      Local l;
      l.kind = Local::Kind::entryParam;
      l.variable = &f_.params[i];
      l.type = f_.params[i].type;
      l.space = Space::param;
      l.offset = layout[i].offset;
      addName(f_.params[i].name, l, f_.params[i].loc);
    }
    return;
  }
  auto add = [&](const std::vector<Variable>& formals, const std::vector<FormalValue>& values) {
    for (size_t i = 0; i < formals.size(); ++i) {
      const Variable& v = formals[i];
      Local l;
      l.variable = &v;
      l.type = v.type;
      bool placed = i < values.size();  // A function checked on its own has no layout.
      if (v.space == Mod::r) {
        l.kind = Local::Kind::reg;
        Bank bank = typeBits(v.type) == 64 ? Bank::r64 : Bank::r32;
        l.slot = placed ? refIndex(values[i].ref) : newSlot(bank);
      } else {
        l.kind = Local::Kind::variable;
        l.space = Space::local;
        l.offset = placed ? values[i].offset : placeLocal(v);
      }
      addName(v.name, l, v.loc);
    }
  };
  slots_[0] = pf.slots32;
  slots_[1] = pf.slots64;
  frame_.reset(pf.localBytes);
  if (pf.localBytes > kMaxFrameBytes) {
    error(DiagId::PtxTooLarge, f_.loc, static_cast<uint32_t>(f_.name.size()),
          {"the frame of the function", kMaxFrameBytes});
    frame_.reset(0);
  }
  add(f_.params, pf.params);
  add(f_.returns, pf.results);
}

void FunctionDecoder::declare(const Variable& v) {
  Local l;
  l.variable = &v;
  l.type = v.type;
  l.vector = v.vector;
  switch (v.space) {
    case Mod::r:
      if (v.isArray) {
        error(DiagId::PtxUnknownType, v.loc, static_cast<uint32_t>(v.name.size()), {v.name});
        return;
      }
      if (v.isRange) {
        l.kind = Local::Kind::range;
        l.count = v.rangeCount;
        l.slot = static_cast<uint32_t>(rangeSlots_.size());
        rangeSlots_.emplace_back();
      } else {
        l.kind = Local::Kind::reg;
        Bank bank = v.type == Mod::pred      ? Bank::pred
                    : typeBits(v.type) >= 64 ? Bank::r64
                                             : Bank::r32;
        l.slot = newSlot(bank);
        unsigned more = (v.type == Mod::b128 ? 2u : 1u) * v.vector - 1;
        for (unsigned i = 0; i < more; ++i) newSlot(bank);
      }
      break;
    case Mod::local:
    case Mod::param:
      l.kind = Local::Kind::variable;
      l.space = Space::local;
      l.offset = placeLocal(v);
      break;
    case Mod::shared:
      l.kind = Local::Kind::variable;
      l.space = Space::shared;
      l.offset = k_.placeShared(v);
      break;
    default:
      // Function-scope global and const variables are module variables under a local name; the
      // loader placed them by their unique names.
      if (k_.symbols().find(v.name) == nullptr) {
        error(DiagId::PtxUndefined, v.loc, static_cast<uint32_t>(v.name.size()), {v.name});
      }
      return;
  }
  addName(v.name, l, v.loc);
}

void FunctionDecoder::statement(const Statement& s) {
  switch (s.kind) {
    case Statement::Kind::openScope: {
      NameScope scope;
      scope.parent = scopes_.back().id;
      scope.id = ++nextScope_;
      scopes_.push_back(std::move(scope));
      return;
    }
    case Statement::Kind::closeScope:
      scopes_.pop_back();
      return;
    case Statement::Kind::variable:
      declare(f_.variables[s.index]);
      return;
    case Statement::Kind::sourceLine:
      line_ = f_.lines[s.index];
      return;
    case Statement::Kind::branchTargets:
    case Statement::Kind::callTargets: {
      Local l;
      l.kind = Local::Kind::table;
      addName(s.name, l, s.loc);
      return;
    }
    case Statement::Kind::prototype: {
      Local l;
      l.kind = Local::Kind::prototype;
      addName(s.name, l, s.loc);
      return;
    }
    case Statement::Kind::label: {
      Label& label = labels_[scopes_.back().id].at(s.name);
      uint32_t here = static_cast<uint32_t>(p_.code.size());
      const Instr* last = here > p_.functions[index_].entry ? &p_.code[here - 1] : nullptr;
      bool reached = last != nullptr && last->op != Op::ret && last->op != Op::trap &&
                     last->op != Op::branchTable && last->op != Op::join &&
                     !((last->op == Op::branch || last->op == Op::exit) && last->guard == kNoRef);
      if (label.used && reached) {
        loc_ = s.loc;
        Instr in;
        in.op = Op::join;
        in.flags = kCountsAsNothing;
        emit(in);
      }
      label.target = static_cast<uint32_t>(p_.code.size());
      return;
    }
    case Statement::Kind::instruction:
      instruction(f_.instructions[s.index]);
      return;
  }
}

void FunctionDecoder::resolveFixups() {
  for (const Fixup& fix : fixups_) {
    Label* label = findLabel(fix.label, fix.scope);
    if (label == nullptr || label->target == kNever) {
      error(DiagId::PtxUndefined, fix.loc, static_cast<uint32_t>(fix.label.size()), {fix.label});
      continue;
    }
    if (fix.inTable) {
      p_.branchTables[p_.code[fix.instr].ext].targets[fix.tableEntry] = label->target;
    } else {
      p_.code[fix.instr].target = label->target;
    }
  }
}

void FunctionDecoder::run() {
  ProgramFunction& pf = p_.functions[index_];
  pf.entry = static_cast<uint32_t>(p_.code.size());
  scopes_.emplace_back();
  loc_ = f_.loc;
  collectLabels();
  declareParams();
  if (!f_.isEntry) {
    // The frame's place in local memory, for the addresses of its variables.
    frameBase_ = scratch(Bank::r64);
    emitMove(MoveKind::localAddress, *frameBase_, kNoRef);
  }
  for (const Statement& s : f_.body) {
    if (k_.diags().full()) return;
    statement(s);
  }
  // Whoever runs off the end returns.
  Instr end;
  end.op = f_.isEntry ? Op::exit : Op::ret;
  end.flags = kCountsAsNothing;
  emit(end);
  resolveFixups();
  ProgramFunction& done = p_.functions[index_];
  done.end = static_cast<uint32_t>(p_.code.size());
  done.slots32 = slots_[0];
  done.slots64 = slots_[1];
  done.slotsPred = slots_[2];
  done.localBytes = static_cast<uint32_t>(frame_.bytes());
  done.guardBytes = static_cast<uint32_t>(frame_.guardBytes());
}

Instr& FunctionDecoder::emit(const Instr& in) {
  p_.code.push_back(in);
  Instr& out = p_.code.back();
  out.row = row_;
  InstrInfo info;
  info.loc = loc_;
  info.sourceFile = line_.file;
  info.sourceLine = line_.line;
  info.sourceColumn = line_.column;
  info.function = index_;
  p_.info.push_back(info);
  return out;
}

void FunctionDecoder::emitKind(Instr& in, MoveKind kind) {
  in.fn = k_.lanes().move(kind);
  in.flags |= kMove;
  in.size = static_cast<uint8_t>(kind);
  emit(in);
}

void FunctionDecoder::emitMove(MoveKind kind, Ref dst, Ref src, int64_t imm) {
  Instr in;
  in.op = Op::lane;
  in.fn = k_.lanes().move(kind);
  in.dst = dst;
  in.src[0] = src;
  in.imm = imm;
  in.guard = guard_;
  in.flags = kCountsAsNothing | kMove;
  in.size = static_cast<uint8_t>(kind);
  in.ext = kNoRef;
  emit(in);
}

}  // namespace mtlc::sim::ptx
