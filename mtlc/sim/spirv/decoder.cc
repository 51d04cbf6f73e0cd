// Kernels, functions, blocks, control flow and calls.

#include "mtlc/sim/spirv/decoder.h"

#include <algorithm>

#include "mtlc/sim/flow.h"
#include "mtlc/sim/spirv/decoder_impl.h"

namespace mtlc::sim::spirv {
namespace {

// Of by-value parameters, the type behind the pointer.
const Type& parameterType(const Binary& b, const Inst& param) {
  const Type& t = b.type(param.type);
  return t.kind == Kind::pointer && b.decorations(param.result).byValue ? b.type(t.element) : t;
}

Mod modOf(std::string_view spelling, bool& ok) {
  std::optional<Mod> m = findMod(spelling);
  ok = ok && m.has_value();
  return m.value_or(Mod::none);
}

}  // namespace

std::vector<ParamInfo> layoutParams(const Binary& b, const FunctionInfo& kernel, uint32_t& bytes) {
  std::vector<ParamInfo> out;
  uint64_t offset = 0;
  for (uint32_t i : kernel.params) {
    const Inst& in = b.insts()[i];
    const Type& t = parameterType(b, in);
    ParamInfo p;
    p.name = b.nameOf(in.result);
    p.align = static_cast<uint32_t>(std::min<uint64_t>(std::max<uint64_t>(t.align, 1), 128));
    offset = alignUp(offset, p.align);
    p.offset = static_cast<uint32_t>(std::min<uint64_t>(offset, UINT32_MAX));
    p.bytes = static_cast<uint32_t>(std::min<uint64_t>(t.size, UINT32_MAX));
    p.isArray = t.parts != 1;
    if (t.kind == Kind::pointer && t.storage == spv::StorageClass::Workgroup) {
      p.space = Space::shared;
      uint32_t align = b.decorations(in.result).alignment;
      p.pointeeAlign = std::max<uint32_t>(
          align, static_cast<uint32_t>(std::min<uint64_t>(b.type(t.element).align, 128)));
    }
    offset = std::min<uint64_t>(offset + t.size, UINT32_MAX);
    out.push_back(std::move(p));
  }
  bytes = static_cast<uint32_t>(offset);
  return out;
}

std::unique_ptr<Program> decodeKernel(const Binary& binary, const EntryPoint& entry,
                                      const Addresses& addresses, const DecodeOptions& options,
                                      DiagnosticEngine& diags) {
  return KernelDecoder(binary, addresses, options, diags).run(entry);
}

// ---- KernelDecoder ----

bool KernelDecoder::refuse(SourceLoc at, const std::string& what) {
  diags_.report(DiagId::SpirvUnsupported, SourceRange(at), {what});
  return false;
}

bool KernelDecoder::appendScalars(Id id, uint64_t offset, std::vector<Scalar>& out) {
  const Type& t = binary_.type(id);
  if (t.parts > kMaxValueParts) return false;
  switch (t.kind) {
    case Kind::none:
      return true;
    case Kind::vector:
    case Kind::array:
      for (uint32_t i = 0; i < t.count; ++i) {
        if (!appendScalars(t.element, offset + i * binary_.type(t.element).size, out)) return false;
      }
      return true;
    case Kind::structure:
      for (size_t i = 0; i < t.members.size(); ++i) {
        if (!appendScalars(t.members[i], offset + t.offsets[i], out)) return false;
      }
      return true;
    default:
      out.push_back({t.kind == Kind::pointer || t.kind == Kind::event ? Kind::integer : t.kind,
                     t.bits, offset});
      return true;
  }
}

const std::vector<Scalar>* KernelDecoder::scalars(Id type, SourceLoc at) {
  auto [it, fresh] = scalars_.try_emplace(type);
  if (fresh && !appendScalars(type, 0, it->second)) {
    scalars_.erase(it);
    refuse(at, "a value of more than " + std::to_string(kMaxValueParts) + " scalars");
    return nullptr;
  }
  return &it->second;
}

bool KernelDecoder::buildConstant(Id id, SourceLoc at, Value& out) {
  const Inst& in = binary_.def(id);
  auto scalar = [&](const Scalar& s, uint64_t bits) {
    out.push_back(s.kind == Kind::boolean ? builder_.constantPred(bits != 0)
                  : s.bits == 64          ? builder_.constant64(bits)
                                          : builder_.constant32(static_cast<uint32_t>(bits)));
  };
  switch (in.op) {
    case spv::Op::OpConstantNull: {
      const std::vector<Scalar>* list = scalars(in.type, at);
      if (list == nullptr) return false;
      for (const Scalar& s : *list) scalar(s, 0);
      return true;
    }
    case spv::Op::OpConstantComposite:
    case spv::Op::OpSpecConstantComposite:
      if (scalars(in.type, at) == nullptr) return false;
      for (Id part : in.operands) {
        const Inst& undefined = binary_.def(part);
        if (undefined.op == spv::Op::OpUndef) {
          // Compilers fill vectors with it; nobody tells it from a zero.
          const std::vector<Scalar>* list = scalars(undefined.type, at);
          if (list == nullptr) return false;
          for (const Scalar& s : *list) scalar(s, 0);
          continue;
        }
        const Value* v = constant(part, at);
        if (v == nullptr) return refuse(at, "this constant");
        Value copy = *v;  // constants_ may move.
        out.insert(out.end(), copy.begin(), copy.end());
      }
      return true;
    case spv::Op::OpVariable: {
      const Type& pointer = binary_.type(in.type);
      const Type& t = binary_.type(pointer.element);
      if (pointer.storage == spv::StorageClass::Workgroup) {
        uint64_t align =
            std::max<uint64_t>(std::max<uint64_t>(t.align, 1), binary_.decorations(id).alignment);
        std::optional<uint64_t> offset = builder_.placeShared(binary_.nameOf(id), t.size, align);
        if (!offset) {
          diags_.report(DiagId::PtxTooLarge, SourceRange(in.loc),
                        {"shared memory", kMaxSharedBytes});
          return false;
        }
        out.push_back(builder_.constant64(*offset));
        return true;
      }
      auto it = addresses_.find(id);
      if (it == addresses_.end()) return false;
      out.push_back(builder_.constant64(it->second));
      return true;
    }
    default: {
      uint64_t bits;
      const std::vector<Scalar>* list = scalars(in.type, at);
      if (list == nullptr || list->size() != 1) return false;
      auto computed = addresses_.find(id);
      if (computed != addresses_.end()) {
        bits = computed->second;
      } else if (!binary_.constantBits(id, bits)) {
        return false;
      }
      scalar((*list)[0], bits);
      return true;
    }
  }
}

const Value* KernelDecoder::constant(Id id, SourceLoc at) {
  auto it = constants_.find(id);
  if (it != constants_.end()) return &it->second;
  Value v;
  if (!buildConstant(id, at, v)) return nullptr;
  return &constants_.emplace(id, std::move(v)).first->second;
}

bool KernelDecoder::form(const std::string& spelling, Form& out) {
  std::string_view text = spelling;
  std::vector<Mod> mods;
  size_t dot = text.find('.');
  std::string_view opcode = text.substr(0, dot);
  bool ok = true;
  while (dot != text.npos) {
    text = text.substr(dot + 1);
    dot = text.find('.');
    mods.push_back(modOf(text.substr(0, dot), ok));
  }
  if (!ok) return false;
  for (const InstrRow* row : rowsOf(opcode)) {
    if (matchRow(*row, mods, out)) return true;
  }
  return false;
}

const LaneOp& KernelDecoder::lane(const std::string& spelling) {
  auto [it, fresh] = laneOps_.try_emplace(spelling);
  Form f;
  if (fresh && form(spelling, f)) {
    FamilyKind kind = familyKind(f.row->family);
    if (kind == FamilyKind::lane || kind == FamilyKind::collective)
      it->second.fn = lanes_.select(f);
    it->second.imm = lanes_.details(f);
    it->second.row = f.row->index;
    it->second.isConversion = f.row->family == Family::cvt;
  }
  return it->second;
}

std::optional<uint32_t> KernelDecoder::functionIndex(Id id) const {
  auto it = functionIndex_.find(id);
  if (it == functionIndex_.end()) return std::nullopt;
  return it->second;
}

uint32_t KernelDecoder::fileIndex(Id string) {
  Program& p = program();
  if (p.files.empty()) p.files.emplace_back();
  auto [it, fresh] = files_.try_emplace(string, static_cast<uint32_t>(p.files.size()));
  if (fresh) p.files.push_back(binary_.stringOf(string));
  return it->second;
}

std::unique_ptr<Program> KernelDecoder::run(const EntryPoint& entry) {
  Program& p = program();
  const FunctionInfo* kernel = binary_.function(entry.function);
  if (kernel == nullptr || kernel->blocks.empty()) {
    refuse(SourceLoc(), "a kernel without a body");
    return builder_.take();
  }
  p.kernel = entry.name;
  for (uint32_t i : kernel->params) {
    const Inst& in = binary_.insts()[i];
    if (binary_.type(in.type).kind != Kind::none) continue;
    refuse(in.loc, "parameters of the type " + instructionName(binary_.def(in.type).op));
    return builder_.take();
  }
  p.params = layoutParams(binary_, *kernel, p.paramBytes);
  std::copy(std::begin(entry.requiredThreads), std::end(entry.requiredThreads),
            p.requiredThreads.begin());
  builder_.beginSharedBehindNull();
  reachable_.push_back(kernel);
  functionIndex_.emplace(kernel->id, 0);
  for (size_t i = 0; i < reachable_.size(); ++i) {
    for (const Block& block : reachable_[i]->blocks) {
      for (uint32_t n = block.first; n < block.end; ++n) {
        const Inst& in = binary_.insts()[n];
        if (in.op != spv::Op::OpFunctionCall || in.operands.empty()) continue;
        const FunctionInfo* callee = binary_.function(in.operands[0]);
        if (callee == nullptr || callee->blocks.empty()) {
          refuse(in.loc,
                 "the function '" + binary_.nameOf(in.operands[0]) + "', which has no body");
          continue;
        }
        if (functionIndex_.emplace(callee->id, static_cast<uint32_t>(reachable_.size())).second) {
          reachable_.push_back(callee);
        }
      }
    }
  }
  if (diags_.hasErrors()) return builder_.take();
  p.functions.resize(reachable_.size());
  for (size_t i = 0; i < reachable_.size(); ++i) {
    ProgramFunction& f = p.functions[i];
    f.name = reachable_[i]->name;
    if (i == 0) continue;
    uint32_t slots[2] = {0, 0};
    auto formals = [&](Id type, std::vector<FormalValue>& out) {
      const std::vector<Scalar>* list = scalars(type, binary_.insts()[reachable_[i]->inst].loc);
      if (list == nullptr) return;
      for (const Scalar& s : *list) {
        bool wide = s.bits == 64;
        FormalValue v;
        v.ref = makeRef(File::frame, wide ? Bank::r64 : Bank::r32, slots[wide ? 1 : 0]++);
        v.bytes = wide ? 8 : 4;
        out.push_back(v);
      }
    };
    for (uint32_t n : reachable_[i]->params) formals(binary_.insts()[n].type, f.params);
    formals(reachable_[i]->returnType, f.results);
    f.slots32 = slots[0];
    f.slots64 = slots[1];
  }
  uint32_t order = 1;
  for (uint32_t i = 0; i < reachable_.size() && !diags_.full(); ++i) {
    FunctionDecoder(*this, *reachable_[i], i).run();
    if (diags_.hasErrors()) continue;
    order = orderBlocks(p, i, order);
  }
  if (diags_.hasErrors()) return builder_.take();
  uint32_t align = 1;
  for (const ParamInfo& param : p.params) {
    if (param.space == Space::shared) align = std::max(align, param.pointeeAlign);
  }
  builder_.beginDynamicShared(align);
  return builder_.finish();
}

// ---- FunctionDecoder: values and emission ----

Ref FunctionDecoder::newSlot(Bank bank) {
  uint32_t& next = slots_[static_cast<size_t>(bank)];
  if (next >= kMaxSlots) {
    if (!k_.diags().hasErrors()) {
      refuse("a function with more than " + std::to_string(kMaxSlots) + " values");
    }
    return makeRef(File::frame, bank, 0);
  }
  return makeRef(File::frame, bank, next++);
}

const Value* FunctionDecoder::value(Id id) {
  auto it = values_.find(id);
  if (it != values_.end()) return &it->second;
  if (const Value* v = k_.constant(id, loc_)) return v;
  const Inst& in = b_.def(id);
  if (in.op == spv::Op::OpUndef && b_.type(in.type).kind == Kind::vector) {
    // Compilers fill vectors from it, and store them with components that nobody ever set.
    const std::vector<Scalar>* list = scalarsOf(in.type);
    if (list == nullptr) return nullptr;
    Value& zeros = values_[id];
    for (const Scalar& s : *list) zeros.push_back(constantOf(s, 0));
    return &zeros;
  }
  if (in.op == spv::Op::OpUndef && in.type != 0) {
    // Registers that nobody writes.
    if (define(in) != nullptr) return &values_[id];
    return nullptr;
  }
  if (!k_.diags().hasErrors()) refuse("the value " + b_.nameOf(id) + " here");
  return nullptr;
}

Value* FunctionDecoder::define(const Inst& in) {
  auto [it, fresh] = values_.try_emplace(in.result);
  if (!fresh) return &it->second;  // A phi.
  const std::vector<Scalar>* list = scalarsOf(in.type);
  if (list == nullptr) {
    values_.erase(it);
    return nullptr;
  }
  for (const Scalar& s : *list) it->second.push_back(scratchFor(s));
  return &it->second;
}

const Type& FunctionDecoder::elementType(Id typeId) const {
  const Type& t = b_.type(typeId);
  return t.kind == Kind::vector ? b_.type(t.element) : t;
}

Ref FunctionDecoder::constantOf(const Scalar& s, uint64_t bits) {
  return s.kind == Kind::boolean ? k_.builder().constantPred(bits != 0)
         : s.bits == 64          ? constant64(bits)
                                 : constant32(static_cast<uint32_t>(bits));
}

Ref FunctionDecoder::special64(Special s) {
  Ref wide = scratch(Bank::r64);
  emitMove(MoveKind::zeroExtend, wide, special(s));
  return wide;
}

Instr& FunctionDecoder::emit(const Instr& in) {
  if (p_.code.size() >= kMaxCode && !k_.diags().hasErrors()) {
    refuse("a kernel of more than " + std::to_string(kMaxCode) + " steps");
  }
  p_.code.push_back(in);
  InstrInfo info;
  info.loc = loc_;
  info.sourceFile = sourceFile_;
  info.sourceLine = sourceLine_;
  info.sourceColumn = sourceColumn_;
  info.function = index_;
  p_.info.push_back(info);
  return p_.code.back();
}

bool FunctionDecoder::lane(const std::string& spelling, Ref dst,
                           std::initializer_list<Ref> sources) {
  const LaneOp& op = k_.lane(spelling);
  if (op.fn == nullptr) return refuse("an operation like " + spelling);
  Instr in;
  in.op = Op::lane;
  in.fn = op.fn;
  in.imm = op.imm;
  in.row = op.row;
  in.ext = kNoRef;
  in.dst = dst;
  // Conversions fill the whole column.
  if (op.isConversion) in.imm |= refBank(dst) == Bank::r64 ? 64 : 32;
  size_t n = 0;
  for (Ref r : sources) in.src[n++] = r;
  emit(in);
  return true;
}

Ref FunctionDecoder::laneTo(Bank bank, const std::string& spelling,
                            std::initializer_list<Ref> sources) {
  Ref r = scratch(bank);
  lane(spelling, r, sources);
  return r;
}

void FunctionDecoder::emitMove(MoveKind kind, Ref dst, Ref src, int64_t imm) {
  Instr in;
  in.op = Op::lane;
  in.fn = k_.lanes().move(kind);
  in.dst = dst;
  in.src[0] = src;
  in.imm = imm;
  in.flags = kMove | kCountsAsNothing;
  in.size = static_cast<uint8_t>(kind);
  in.ext = kNoRef;
  emit(in);
}

void FunctionDecoder::move(Ref dst, Ref src) {
  if (dst == src) return;
  switch (refBank(dst)) {
    case Bank::r32:
      return emitMove(MoveKind::r32, dst, src);
    case Bank::r64:
      return emitMove(MoveKind::r64, dst, src);
    default:
      return emitMove(MoveKind::pred, dst, src);
  }
}

void FunctionDecoder::hostFunction(LaneFn fn, int64_t imm, const char* like, Ref dst,
                                   std::initializer_list<Ref> sources) {
  Instr in;
  in.op = Op::lane;
  in.fn = fn;
  in.imm = imm;
  in.row = k_.lane(like).row;
  in.ext = kNoRef;
  in.dst = dst;
  size_t n = 0;
  for (Ref r : sources) in.src[n++] = r;
  emit(in);
}

// ---- Structure ----

// A function's own copy of an argument that is passed by value, which lies at `from`: its address.
std::optional<Ref> FunctionDecoder::copyOfArgument(const Inst& in, const Place& from) {
  const Type& t = b_.type(b_.type(in.type).element);
  uint64_t align = std::max<uint64_t>(t.align, b_.decorations(in.result).alignment);
  std::optional<uint64_t> offset = frame_.place(t.size, std::max<uint64_t>(align, 1), true);
  if (!offset) {
    refuse("parameters of this size");
    return std::nullopt;
  }
  p_.functions[index_].variables.push_back(
      {static_cast<uint32_t>(*offset), static_cast<uint32_t>(t.size), b_.nameOf(in.result)});
  Ref address = frameAddress(*offset);
  Place to{address, 0, Space::local};
  if (!copyBytes(to, from, t.size, std::min<uint64_t>(t.align, 8), false)) return std::nullopt;
  return address;
}

// Of a variable in the frame. A kernel's frame is the only one at its place.
Ref FunctionDecoder::frameAddress(uint64_t offset) {
  if (index_ == 0) return constant64(offset);
  Ref r = scratch(Bank::r64);
  emitMove(MoveKind::localAddress, r, kNoRef, static_cast<int64_t>(offset));
  return r;
}

void FunctionDecoder::declareParams() {
  if (index_ != 0) {
    const ProgramFunction& pf = p_.functions[index_];
    slots_[0] = pf.slots32;
    slots_[1] = pf.slots64;
    size_t next = 0;
    for (uint32_t i : f_.params) {
      const Inst& in = b_.insts()[i];
      const std::vector<Scalar>* list = scalarsOf(in.type);
      if (list == nullptr) return;
      Value v;
      for (const Scalar& s : *list) {
        Ref formal = pf.params[next++].ref;
        if (s.kind == Kind::boolean) {
          formal = laneTo(Bank::pred, "setp.ne.u32", {formal, constant32(0)});
        }
        v.push_back(formal);
      }
      if (b_.type(in.type).kind == Kind::pointer && b_.decorations(in.result).byValue) {
        loc_ = in.loc;
        std::optional<Ref> copy = copyOfArgument(in, {v[0], 0, spaceOf(b_.type(in.type).storage)});
        if (!copy) return;
        v = {*copy};
      }
      values_[in.result] = std::move(v);
    }
    return;
  }
  for (size_t i = 0; i < f_.params.size(); ++i) {
    const Inst& in = b_.insts()[f_.params[i]];
    loc_ = in.loc;
    Place at{kNoRef, p_.params[i].offset, Space::param};
    if (b_.type(in.type).kind == Kind::pointer && b_.decorations(in.result).byValue) {
      std::optional<Ref> copy = copyOfArgument(in, at);
      if (!copy) return;
      values_[in.result] = {*copy};
      continue;
    }
    Value* v = define(in);
    if (v == nullptr) return;
    Value copy = *v;
    loadValue(at, in.type, b_.type(in.type).align, false, copy);
  }
}

void FunctionDecoder::declarePhis() {
  for (const Block& block : f_.blocks) {
    for (uint32_t i = block.first; i < block.end; ++i) {
      const Inst& in = b_.insts()[i];
      if (in.op == spv::Op::OpLine || in.op == spv::Op::OpNoLine) continue;
      if (in.op != spv::Op::OpPhi) break;
      loc_ = in.loc;
      define(in);
      phis_[block.label].push_back(i);
    }
  }
}

void FunctionDecoder::run() {
  ProgramFunction& pf = p_.functions[index_];
  pf.entry = static_cast<uint32_t>(p_.code.size());
  loc_ = b_.insts()[f_.inst].loc;
  frame_.beginBehindNull();
  declareParams();
  declareVariables();
  declarePhis();
  for (size_t i = 0; i < f_.blocks.size(); ++i) {
    if (k_.diags().hasErrors() || !block(i)) break;
  }
  // Whoever runs off the end returns; also a target for joins.
  Instr end;
  end.op = index_ == 0 ? Op::exit : Op::ret;
  end.flags = kCountsAsNothing;
  emit(end);
  for (const Fixup& fix : fixups_) {
    auto it = labels_.find(fix.label);
    if (it != labels_.end()) p_.code[fix.instr].target = it->second;
  }
  ProgramFunction& done = p_.functions[index_];
  done.end = static_cast<uint32_t>(p_.code.size());
  done.slots32 = slots_[0];
  done.slots64 = slots_[1];
  done.slotsPred = slots_[2];
  done.localBytes = static_cast<uint32_t>(frame_.bytes());
  done.guardBytes = static_cast<uint32_t>(frame_.guardBytes());
}

bool FunctionDecoder::block(size_t i) {
  const Block& block = f_.blocks[i];
  labels_[block.label] = static_cast<uint32_t>(p_.code.size());
  sourceFile_ = sourceLine_ = sourceColumn_ = 0;
  for (uint32_t n = block.first; n < block.end; ++n) {
    const Inst& in = b_.insts()[n];
    loc_ = in.loc;
    switch (in.op) {
      case spv::Op::OpLine:
        if (in.operands.size() >= 3) {
          sourceFile_ = k_.fileIndex(in.operands[0]);
          sourceLine_ = in.operands[1];
          sourceColumn_ = in.operands[2];
        }
        continue;
      case spv::Op::OpNoLine:
        sourceFile_ = sourceLine_ = sourceColumn_ = 0;
        continue;
      case spv::Op::OpPhi:
      case spv::Op::OpVariable:  // See declareVariables.
      case spv::Op::OpSelectionMerge:
      case spv::Op::OpLoopMerge:
      case spv::Op::OpNop:
      case spv::Op::OpLifetimeStart:
      case spv::Op::OpLifetimeStop:
      case spv::Op::OpUndef:
        continue;
      case spv::Op::OpBranch:
      case spv::Op::OpBranchConditional:
      case spv::Op::OpSwitch:
      case spv::Op::OpReturn:
      case spv::Op::OpReturnValue:
      case spv::Op::OpUnreachable:
        if (!terminator(in, i)) return false;
        continue;
      default:
        if (!instruction(in) || k_.diags().hasErrors()) return false;
    }
  }
  return true;
}

bool FunctionDecoder::instruction(const Inst& in) {
  bool known = true;
  bool ok = arithmetic(in, known);
  if (!known) ok = composite(in, known);
  if (!known) ok = memory(in, known);
  if (!known) ok = group(in, known);
  if (known) return ok;
  switch (in.op) {
    case spv::Op::OpExtInst:
      return extended(in);
    case spv::Op::OpFunctionCall:
      return call(in);
    default:
      return refuse(instructionName(in.op));
  }
}

// ---- Control flow ----

bool FunctionDecoder::hasPhis(Id label) const { return phis_.count(label) != 0; }

// The values that the phis of `to` take on the edge from `from`, all read before any is written.
bool FunctionDecoder::copyPhis(Id from, Id to) {
  auto it = phis_.find(to);
  if (it == phis_.end()) return true;
  std::vector<std::pair<Ref, Ref>> copies;
  for (uint32_t i : it->second) {
    const Inst& phi = b_.insts()[i];
    for (size_t n = 0; n + 1 < phi.operands.size(); n += 2) {
      if (phi.operands[n + 1] != from) continue;
      const Value* source = value(phi.operands[n]);
      if (source == nullptr) return false;
      const Value& target = values_[phi.result];
      if (source->size() != target.size()) return refuse("this phi");
      for (size_t k = 0; k < target.size(); ++k) {
        if (target[k] != (*source)[k]) copies.emplace_back(target[k], (*source)[k]);
      }
      break;
    }
  }
  // Through temporaries where a register is written that is read later.
  std::vector<Ref> written;
  bool conflict = false;
  for (auto [to32, from32] : copies) {
    conflict = conflict || std::find(written.begin(), written.end(), from32) != written.end();
    written.push_back(to32);
  }
  if (conflict) {
    for (auto& [target, source] : copies) {
      Ref t = scratch(refBank(target));
      move(t, source);
      source = t;
    }
  }
  for (auto [target, source] : copies) move(target, source);
  return true;
}

void FunctionDecoder::branchTo(Id label, Ref guard) {
  Instr in;
  in.op = Op::branch;
  in.guard = guard;
  in.target = static_cast<uint32_t>(p_.code.size());  // Something valid until the label is known.
  fixups_.push_back({static_cast<uint32_t>(p_.code.size()), label});
  emit(in);
}

// Goes to `label` behind block `blockIndex`: lanes may meet there even where nothing jumps.
void FunctionDecoder::goTo(Id label, size_t blockIndex) {
  if (blockIndex + 1 < f_.blocks.size() && f_.blocks[blockIndex + 1].label == label) {
    Instr in;
    in.op = Op::join;
    in.flags = kCountsAsNothing;
    emit(in);
    return;
  }
  branchTo(label);
}

bool FunctionDecoder::edge(Id from, Id to, size_t blockIndex) {
  if (!copyPhis(from, to)) return false;
  goTo(to, blockIndex);
  return true;
}

bool FunctionDecoder::conditional(const Inst& in, size_t blockIndex) {
  const Value* condition = value(in.operands[0]);
  if (condition == nullptr || condition->size() != 1) return false;
  Ref guard = (*condition)[0];
  Id from = f_.blocks[blockIndex].label, yes = in.operands[1], no = in.operands[2];
  if (yes == no) return edge(from, yes, blockIndex);
  constexpr size_t kNowhere = SIZE_MAX - 1;
  if (!hasPhis(yes)) {
    branchTo(yes, guard);
    return edge(from, no, blockIndex);
  }
  if (!hasPhis(no)) {
    branchTo(no, guard ^ kNegate);
    return edge(from, yes, blockIndex);
  }
  // Both sides copy: the one that is taken has its copies behind the other's.
  uint32_t branch = static_cast<uint32_t>(p_.code.size());
  Instr out;
  out.op = Op::branch;
  out.guard = guard;
  emit(out);
  if (!edge(from, no, kNowhere)) return false;
  p_.code[branch].target = static_cast<uint32_t>(p_.code.size());
  return edge(from, yes, blockIndex);
}

bool FunctionDecoder::switchOn(const Inst& in, size_t blockIndex) {
  const Value* selector = value(in.operands[0]);
  if (selector == nullptr || selector->size() != 1) return false;
  Ref at = (*selector)[0];
  unsigned bits = typeOfValue(in.operands[0]).bits;
  bool wide = bits == 64;
  if (bits < 32) at = widened(at, bits, false, 32);
  Id from = f_.blocks[blockIndex].label;
  size_t stride = wide ? 3 : 2;
  constexpr size_t kNowhere = SIZE_MAX - 1;
  for (size_t i = 2; i + stride <= in.operands.size(); i += stride) {
    uint64_t literal = in.operands[i];
    if (wide) literal |= uint64_t{in.operands[i + 1]} << 32;
    if (bits < 64) literal &= (uint64_t{1} << bits) - 1;
    Ref c = wide ? constant64(literal) : constant32(static_cast<uint32_t>(literal));
    Ref same = laneTo(Bank::pred, wide ? "setp.eq.u64" : "setp.eq.u32", {at, c});
    Id target = in.operands[i + stride - 1];
    if (!hasPhis(target)) {
      branchTo(target, same);
      continue;
    }
    uint32_t skip = static_cast<uint32_t>(p_.code.size());
    Instr out;
    out.op = Op::branch;
    out.guard = same ^ kNegate;
    emit(out);
    if (!edge(from, target, kNowhere)) return false;
    p_.code[skip].target = static_cast<uint32_t>(p_.code.size());
  }
  return edge(from, in.operands[1], blockIndex);
}

bool FunctionDecoder::terminator(const Inst& in, size_t blockIndex) {
  switch (in.op) {
    case spv::Op::OpBranch:
      return edge(f_.blocks[blockIndex].label, in.operands[0], blockIndex);
    case spv::Op::OpBranchConditional:
      return in.operands.size() >= 3 && conditional(in, blockIndex);
    case spv::Op::OpSwitch:
      return in.operands.size() >= 2 && switchOn(in, blockIndex);
    case spv::Op::OpUnreachable: {
      Instr out;
      out.op = Op::trap;
      emit(out);
      return true;
    }
    default:
      return returnFrom(in);
  }
}

bool FunctionDecoder::returnFrom(const Inst& in) {
  if (in.op == spv::Op::OpReturnValue && index_ != 0) {
    const Value* v = value(in.operands[0]);
    if (v == nullptr) return false;
    const std::vector<FormalValue>& results = p_.functions[index_].results;
    for (size_t i = 0; i < v->size() && i < results.size(); ++i) {
      if (refBank((*v)[i]) == Bank::pred) {
        lane("selp.b32", results[i].ref, {constant32(1), constant32(0), (*v)[i]});
      } else {
        move(results[i].ref, (*v)[i]);
      }
    }
  }
  Instr out;
  out.op = index_ == 0 ? Op::exit : Op::ret;
  emit(out);
  return true;
}

bool FunctionDecoder::call(const Inst& in) {
  std::optional<uint32_t> index = k_.functionIndex(in.operands[0]);
  if (!index || *index == 0) return refuse("this call");
  CallSite site;
  site.function = *index;
  p_.functions[index_].callees.push_back(*index);
  for (Id argument : in.operands.subspan(1)) {
    const Value* v = value(argument);
    if (v == nullptr) return false;
    Value parts = *v;
    for (Ref r : parts) {
      CallValue c;
      c.ref = refBank(r) == Bank::pred
                  ? laneTo(Bank::r32, "selp.b32", {constant32(1), constant32(0), r})
                  : r;
      c.bytes = refBank(r) == Bank::r64 ? 8 : 4;
      site.arguments.push_back(c);
    }
  }
  Value* result = define(in);
  if (result == nullptr) return false;
  Value parts = *result;
  std::vector<std::pair<Ref, Ref>> booleans;
  for (Ref r : parts) {
    CallValue c;
    c.ref = r;
    c.bytes = refBank(r) == Bank::r64 ? 8 : 4;
    if (refBank(r) == Bank::pred) {
      c.ref = scratch(Bank::r32);
      booleans.emplace_back(r, c.ref);
    }
    site.results.push_back(c);
  }
  Instr out;
  out.op = Op::call;
  out.ext = static_cast<uint32_t>(p_.calls.size());
  p_.calls.push_back(std::move(site));
  emit(out);
  for (auto [r, word] : booleans) lane("setp.ne.u32", r, {word, constant32(0)});
  return true;
}

}  // namespace mtlc::sim::spirv
