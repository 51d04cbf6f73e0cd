#include "mtlc/codegen/ptx/asm_printer.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace mtlc::ptx {

using ir::Type;

namespace {

constexpr std::string_view kTypeSuffixes[] = {"",     ".pred", ".b16",  ".b32", ".b64", ".u8",
                                              ".u16", ".u32",  ".u64",  ".s8",  ".s16", ".s32",
                                              ".s64", ".f16",  ".bf16", ".f32", ".f64"};
constexpr std::string_view kRegNames[kRegClassCount] = {"%p", "%b", "%h", "%r", "%f", "%rd", "%fd"};
constexpr std::string_view kRegDecls[kRegClassCount] = {
    ".pred %p", ".b8 %b", ".b16 %h", ".b32 %r", ".b32 %f", ".b64 %rd", ".b64 %fd"};
constexpr std::string_view kCmpNames[] = {".eq",  ".ne",  ".lt",  ".le",  ".gt",  ".ge",
                                          ".lo",  ".ls",  ".hi",  ".hs",  ".equ", ".neu",
                                          ".ltu", ".leu", ".gtu", ".geu", ".num", ".nan"};
constexpr std::string_view kBoolNames[] = {"", ".and", ".or"};
constexpr std::string_view kRoundNames[] = {"",     ".rn",  ".rz",  ".rm", ".rp",
                                            ".rni", ".rzi", ".rmi", ".rpi"};
constexpr std::string_view kSpaceNames[] = {"", ".global", ".shared", ".local"};
constexpr std::string_view kSpecialNames[] = {
    "%tid.x",  "%tid.y",  "%tid.z",    "%ctaid.x",  "%ctaid.y",  "%ctaid.z", "%ntid.x",
    "%ntid.y", "%ntid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z", "%laneid"};
constexpr std::string_view kOrderNames[] = {"",         "",         ".relaxed", ".acquire",
                                            ".release", ".acq_rel", ".sc"};
constexpr std::string_view kScopeNames[] = {".cta", ".gpu", ".sys"};
constexpr std::string_view kAtomNames[] = {".add", ".min", ".max",  ".and",
                                           ".or",  ".xor", ".exch", ".cas"};

struct OpRow {
  std::string_view stem;
  Shape shape;
};
constexpr OpRow kOps[] = {
#define MOP(Enum, stem, shape) {stem, Shape::shape},
#include "mtlc/codegen/ptx/machine_ops.def"
};

std::string_view loadCache(ir::CacheHint hint) {
  switch (hint) {
    case ir::CacheHint::All:
      return "";
    case ir::CacheHint::Global:
      return ".cg";
    case ir::CacheHint::Streaming:
      return ".cs";
    case ir::CacheHint::LastUse:
      return ".lu";
  }
  return "";
}

// Stores have no last-use policy.
std::string_view storeCache(ir::CacheHint hint) {
  return hint == ir::CacheHint::LastUse ? "" : loadCache(hint);
}

// The type of a parameter: kernels keep the natural width, functions pass at least 32 bits of an
// integer.
std::string_view paramType(Type type, bool kernel) {
  switch (type.kind()) {
    case ir::TypeKind::I1:
    case ir::TypeKind::I8:
      return kernel ? ".u8" : ".b32";
    case ir::TypeKind::I16:
      return kernel ? ".u16" : ".b32";
    case ir::TypeKind::I32:
      return kernel ? ".u32" : ".b32";
    case ir::TypeKind::I64:
      return kernel ? ".u64" : ".b64";
    case ir::TypeKind::F16:
    case ir::TypeKind::BF16:
      return ".b16";
    case ir::TypeKind::F32:
      return kernel ? ".f32" : ".b32";
    case ir::TypeKind::F64:
      return kernel ? ".f64" : ".b64";
    case ir::TypeKind::Ptr:
      return kernel ? ".u64" : ".b64";
    case ir::TypeKind::Void:
    case ir::TypeKind::Tile:
      break;
  }
  return "";
}

void appendNumber(std::string& s, uint64_t n) {
  char buffer[20];
  char* end = buffer + sizeof buffer;
  char* p = end;
  do {
    *--p = static_cast<char>('0' + n % 10);
    n /= 10;
  } while (n != 0);
  s.append(p, static_cast<size_t>(end - p));
}

void appendHex(std::string& s, uint64_t n, unsigned digits) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (unsigned i = digits; i-- > 0;) s += kDigits[n >> (4 * i) & 15];
}

}  // namespace

std::string_view typeSuffix(PtxType type) { return kTypeSuffixes[static_cast<int>(type)]; }

void MachineFunction::clear() {
  insts.clear();
  blocks.clear();
  blockArgs.clear();
  firstBlockArg.clear();
  copies.clear();
  regs.clear();
  imms.clear();
  calls.clear();
  callArgs.clear();
  grouped.clear();
  groups.clear();
  operands.clear();
  symbols.clear();
  usesArena = false;
}

PtxType moveType(RegClass cls) {
  constexpr PtxType kTypes[] = {PtxType::Pred, PtxType::U8,  PtxType::B16, PtxType::B32,
                                PtxType::F32,  PtxType::B64, PtxType::F64};
  return kTypes[static_cast<int>(cls)];
}

void AsmPrinter::number(uint64_t n) { appendNumber(body_, n); }

void AsmPrinter::immediate(uint64_t bits, PtxType type, bool hex) {
  unsigned width = 32;
  bool isSigned = true;
  switch (type) {
    case PtxType::F32:
      text("0f");
      appendHex(body_, bits, 8);
      return;
    case PtxType::F64:
      text("0d");
      appendHex(body_, bits, 16);
      return;
    case PtxType::Pred:
      body_ += (bits & 1) != 0 ? '1' : '0';
      return;
    case PtxType::U8:
      width = 8;
      isSigned = false;
      break;
    case PtxType::U16:
    case PtxType::B16:
    case PtxType::F16:
    case PtxType::BF16:
      width = 16;
      isSigned = false;
      break;
    case PtxType::U32:
      isSigned = false;
      break;
    case PtxType::B64:
    case PtxType::S64:
    case PtxType::U64:  // A number past 2^63 − 1 would need a suffix.
      width = 64;
      break;
    default:
      break;
  }
  uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  bits &= mask;
  constexpr uint64_t kReadableDecimal = 0xFFFF;
  if (hex && bits > kReadableDecimal && bits != mask) {
    text("0x");
    unsigned digits = width / 4;
    while (digits > 1 && (bits >> (4 * (digits - 1)) & 15) == 0) --digits;
    appendHex(body_, bits, digits);
    return;
  }
  int64_t value = isSigned ? ir::signExtend(bits, width) : static_cast<int64_t>(bits);
  if (value < 0) {
    body_ += '-';
    number(uint64_t{0} - static_cast<uint64_t>(value));
  } else {
    number(static_cast<uint64_t>(value));
  }
}

void AsmPrinter::reg(uint32_t vreg) {
  uint32_t r = coalescer_.representative(vreg);
  int cls = static_cast<int>(classes_[r]);
  uint32_t& name = names_[r];
  if (name == 0) name = ++counts_[cls];
  text(kRegNames[cls]);
  number(name);
}

void AsmPrinter::operand(Opnd o, PtxType type, bool hex) {
  switch (o.kind()) {
    case Opnd::Kind::None:
      break;
    case Opnd::Kind::NotReg:
      body_ += '!';
      [[fallthrough]];
    case Opnd::Kind::Reg:
      reg(o.index());
      break;
    case Opnd::Kind::Imm:
      immediate(machine_->imms[o.index()], type, hex);
      break;
    case Opnd::Kind::Symbol:
      text(o.index() == 0 ? kArenaName : std::string_view(machine_->symbols[o.index()].name));
      break;
    case Opnd::Kind::Special:
      text(kSpecialNames[o.index()]);
      break;
  }
}

void AsmPrinter::printAddress(Opnd base, int32_t offset) {
  body_ += '[';
  operand(base, PtxType::B64);
  if (offset != 0) {
    body_ += '+';
    immediate(static_cast<uint64_t>(int64_t{offset}), PtxType::S64, false);
  }
  body_ += ']';
}

void AsmPrinter::printLoc(SourceLoc loc) {
  if (!loc.valid() || loc == lastLoc_ || loc.file() == 0) return;
  lastLoc_ = loc;
  auto at = std::find(files_.begin(), files_.end(), loc.file());
  size_t index = static_cast<size_t>(at - files_.begin());
  if (at == files_.end()) files_.push_back(loc.file());
  text("\t.loc ");
  number(index + 1);
  body_ += ' ';
  number(loc.line());
  body_ += ' ';
  number(loc.column());
  body_ += '\n';
}

void AsmPrinter::printFiles(const SourceManager& sources) {
  for (size_t i = 0; i < files_.size(); ++i) {
    out_ += "\t.file ";
    appendNumber(out_, i + 1);
    out_ += " \"";
    for (char c : sources.name(files_[i])) {
      if (c == '"' || c == '\\') out_ += '\\';
      out_ += static_cast<unsigned char>(c) < ' ' ? '?' : c;
    }
    out_ += "\"\n";
  }
}

void AsmPrinter::printInst(const MachineInst& inst) {
  const OpRow& row = kOps[static_cast<int>(inst.op)];
  if (lineInfo_) printLoc(inst.loc);
  if (row.shape == Shape::Call) {
    printCall(inst);
    return;
  }
  if (row.shape == Shape::WaitLoop) {
    printWaitLoop(inst, row.stem);
    return;
  }
  body_ += '\t';
  text(row.stem);
  switch (row.shape) {
    case Shape::Plain:
    case Shape::Bits: {
      if (inst.ftz) text(".ftz");
      text(typeSuffix(inst.type));
      body_ += ' ';
      reg(inst.dst.index());
      for (int i = 0; i < inst.sources; ++i) {
        text(", ");
        // The addend of a widening multiply-add is as wide as the product.
        const bool isWideAddend = inst.op == MachineOp::MadWide && i == 2;
        operand(inst.src[i], isWideAddend ? PtxType::S64 : inst.type, row.shape == Shape::Bits);
      }
      break;
    }
    case Shape::Operands:
      text(typeSuffix(inst.type));
      for (int i = 0; i < inst.sources; ++i) {
        text(i == 0 ? " " : ", ");
        operand(inst.src[i], inst.type);
      }
      break;
    case Shape::Setp:
      text(kCmpNames[inst.mod]);
      text(kBoolNames[static_cast<int>(inst.boolOp)]);
      text(typeSuffix(inst.type));
      body_ += ' ';
      reg(inst.dst.index());
      for (int i = 0; i < inst.sources; ++i) {
        text(", ");
        operand(inst.src[i], inst.type);
      }
      break;
    case Shape::PackHigh:
      text(".b32 ");
      reg(inst.dst.index());
      text(", {0, ");
      operand(inst.src[0], PtxType::B16);
      body_ += '}';
      break;
    case Shape::UnpackHigh:
      text(".b32 {");
      operand(inst.src[0], PtxType::B16);
      text(", ");
      reg(inst.dst.index());
      text("}, ");
      operand(inst.src[1], PtxType::B32);
      break;
    case Shape::Cvt:
      text(kRoundNames[inst.mod]);
      text(typeSuffix(inst.type));
      text(typeSuffix(inst.type2));
      body_ += ' ';
      reg(inst.dst.index());
      text(", ");
      operand(inst.src[0], inst.type2);
      break;
    case Shape::Cvta:
      if (inst.toSpace) text(".to");
      text(kSpaceNames[inst.mod]);
      text(".u64 ");
      reg(inst.dst.index());
      text(", ");
      operand(inst.src[0], PtxType::U64);
      break;
    case Shape::Load:
      if (inst.isVolatile) text(".volatile");
      printOrder(inst);
      text(kSpaceNames[inst.mod]);
      if (!inst.isVolatile) text(loadCache(inst.cache));
      if (inst.readOnly) text(".nc");
      text(typeSuffix(inst.type));
      body_ += ' ';
      reg(inst.dst.index());
      text(", ");
      printAddress(inst.src[0], inst.offset);
      break;
    case Shape::Store:
      if (inst.isVolatile) text(".volatile");
      printOrder(inst);
      text(kSpaceNames[inst.mod]);
      if (!inst.isVolatile) text(storeCache(inst.cache));
      text(typeSuffix(inst.type));
      body_ += ' ';
      printAddress(inst.src[0], inst.offset);
      text(", ");
      operand(inst.src[1], inst.type);
      break;
    case Shape::Fence:
      printOrder(inst);
      break;
    case Shape::Atom:
    case Shape::Red:
      printOrder(inst);
      text(kSpaceNames[inst.mod]);
      text(kAtomNames[static_cast<int>(inst.atom)]);
      text(typeSuffix(inst.type));
      body_ += ' ';
      if (row.shape == Shape::Atom) {
        reg(inst.dst.index());
        text(", ");
      }
      printAddress(inst.src[0], inst.offset);
      for (int i = 1; i < inst.sources; ++i) {
        text(", ");
        operand(inst.src[i], inst.type);
      }
      break;
    case Shape::LoadParam:
      text(typeSuffix(inst.type));
      body_ += ' ';
      reg(inst.dst.index());
      text(", [");
      text(functionName_);
      text("_param_");
      number(static_cast<uint64_t>(inst.offset));
      body_ += ']';
      break;
    case Shape::StoreRetval:
      text(typeSuffix(inst.type));
      text(" [func_retval0], ");
      operand(inst.src[0], inst.type);
      break;
    case Shape::Barrier:
      text(" 0");
      break;
    case Shape::Grouped:
      printGroups(inst);
      break;
    case Shape::Call:
    case Shape::WaitLoop:
      break;
  }
  text(";\n");
}

// The hardware may give up waiting at any time.
void AsmPrinter::printWaitLoop(const MachineInst& inst, std::string_view stem) {
  auto waitLabel = [&] {
    text(labelPrefix_);
    text("wait");
    number(static_cast<uint64_t>(&inst - machine_->insts.data()));
  };
  waitLabel();
  text(":\n\t");
  text(stem);
  body_ += ' ';
  reg(inst.dst.index());
  text(", ");
  printAddress(inst.src[0], inst.offset);
  text(", ");
  operand(inst.src[1], PtxType::U32);
  text(";\n\t@!");
  reg(inst.dst.index());
  text(" bra ");
  waitLabel();
  text(";\n");
}

void AsmPrinter::printGroups(const MachineInst& inst) {
  const MachineGrouped& grouped = machine_->grouped[static_cast<size_t>(inst.offset)];
  uint32_t groups = grouped.groupCount;
  if (groups != 0) {
    const OperandGroup& last = machine_->groups[grouped.firstGroup + groups - 1];
    if (last.kind == OperandGroup::Kind::Guard) {
      --groups;
      body_ += '@';
      operand(machine_->operands[last.first], PtxType::Pred);
      body_ += ' ';
    }
  }
  text(grouped.spelling);
  for (uint32_t i = 0; i < groups; ++i) {
    const OperandGroup& group = machine_->groups[grouped.firstGroup + i];
    const Opnd* operands = machine_->operands.data() + group.first;
    text(i == 0 ? " " : ", ");
    auto list = [&](uint32_t from) {
      body_ += '{';
      for (uint32_t k = from; k < group.count; ++k) {
        if (k != from) text(", ");
        operand(operands[k], inst.type);
      }
      body_ += '}';
    };
    switch (group.kind) {
      case OperandGroup::Kind::Plain:
        operand(operands[0], inst.type);
        break;
      case OperandGroup::Kind::Vector:
        list(0);
        break;
      case OperandGroup::Kind::Address:
        if (group.count == 1) {
          printAddress(operands[0], group.offset);
          break;
        }
        printAddress(operands[0], group.offset);
        body_.pop_back();
        text(", ");
        list(1);
        body_ += ']';
        break;
      case OperandGroup::Kind::Guard:
        break;
    }
  }
}

void AsmPrinter::printOrder(const MachineInst& inst) {
  if (inst.order == MemOrder::None) return;
  text(kOrderNames[static_cast<int>(inst.order)]);
  text(kScopeNames[static_cast<int>(inst.scope)]);
}

void AsmPrinter::printCall(const MachineInst& inst) {
  const MachineCall& call = machine_->calls[static_cast<size_t>(inst.offset)];
  const ir::Function& callee = *call.callee;
  bool hasResult = inst.dst.isReg();
  text("\t{\n");
  for (uint32_t i = 0; i < call.argCount; ++i) {
    Opnd arg = machine_->callArgs[call.firstArg + i];
    std::string_view type = paramType(callee.paramTypes()[i], false);
    text("\t.param ");
    text(type);
    text(" param");
    number(i);
    text(";\n\tst.param");
    text(type);
    text(" [param");
    number(i);
    text("], ");
    operand(arg, PtxType::B32);
    text(";\n");
  }
  if (hasResult) {
    text("\t.param ");
    text(paramType(callee.resultType(), false));
    text(" retval0;\n");
  }
  text("\tcall ");
  if (hasResult) text("(retval0), ");
  text(nameOf_(callee));
  if (call.argCount != 0) {
    text(", (");
    for (uint32_t i = 0; i < call.argCount; ++i) {
      if (i != 0) text(", ");
      text("param");
      number(i);
    }
    body_ += ')';
  }
  text(";\n");
  if (hasResult) {
    text("\tld.param");
    text(paramType(callee.resultType(), false));
    body_ += ' ';
    reg(inst.dst.index());
    text(", [retval0];\n");
  }
  text("\t}\n");
}

// ---- Control flow ----

void AsmPrinter::label(uint32_t block) {
  text(labelPrefix_);
  number(block);
}

void AsmPrinter::edgeLabel(uint32_t block) {
  text(labelPrefix_);
  number(block);
  text("_edge");
}

bool AsmPrinter::hasCopies(const MachineEdge& edge) const {
  for (uint32_t k = 0; k < edge.copyCount; ++k) {
    const MachineCopy& copy = machine_->copies[edge.firstCopy + k];
    if (!copy.src.isReg() ||
        coalescer_.representative(copy.dst) != coalescer_.representative(copy.src.index())) {
      return true;
    }
  }
  return false;
}

void AsmPrinter::printCopies(const MachineEdge& edge) {
  moves_.clear();
  ordered_.clear();
  for (uint32_t k = 0; k < edge.copyCount; ++k) {
    const MachineCopy& copy = machine_->copies[edge.firstCopy + k];
    uint32_t dst = coalescer_.representative(copy.dst);
    Opnd src = copy.src;
    if (src.isReg()) {
      src = Opnd::reg(coalescer_.representative(src.index()));
      if (src.index() == dst) continue;
    }
    moves_.push_back({dst, src});
  }
  if (moves_.empty()) return;
  parallel_.order(moves_, static_cast<uint32_t>(classes_.size()), ordered_, [&](uint32_t like) {
    classes_.push_back(classes_[like]);
    names_.push_back(0);
    return static_cast<uint32_t>(classes_.size() - 1);
  });
  for (const ParallelCopies::Move& move : ordered_) {
    // Registers here are representatives, or made above and not known to the coalescer.
    auto name = [&](uint32_t r) {
      int cls = static_cast<int>(classes_[r]);
      if (names_[r] == 0) names_[r] = ++counts_[cls];
      text(kRegNames[cls]);
      number(names_[r]);
    };
    PtxType type = moveType(classes_[move.dst]);
    text("\tmov");
    text(typeSuffix(type));
    body_ += ' ';
    name(move.dst);
    text(", ");
    if (move.src.isReg()) {
      name(move.src.index());
    } else {
      operand(move.src, type);
    }
    text(";\n");
  }
}

void AsmPrinter::printJump(uint32_t target) {
  text("\tbra.uni ");
  label(target);
  text(";\n");
}

AsmPrinter::BranchPlan AsmPrinter::planBranch(uint32_t index, uint32_t next) const {
  const MachineBlock& block = machine_->blocks[index];
  BranchPlan plan;
  plan.fall = &block.edges[0];
  if (block.term == Term::Jump) return plan;
  const MachineEdge& taken = block.edges[0];
  const MachineEdge& other = block.edges[1];
  bool takenCopies = hasCopies(taken), otherCopies = hasCopies(other);
  if (taken.target == other.target && !takenCopies && !otherCopies) return plan;
  bool leaveTaken;
  if (takenCopies != otherCopies) {
    leaveTaken = otherCopies;  // Fall into the copies.
  } else if (takenCopies) {
    leaveTaken = taken.target == next;  // Copies of the edge that goes on come last.
  } else {
    leaveTaken = taken.target != next;
  }
  plan.away = leaveTaken ? &taken : &other;
  plan.fall = leaveTaken ? &other : &taken;
  plan.holds = leaveTaken;
  plan.awayCopies = takenCopies && otherCopies;
  return plan;
}

// A loop that is tested at its head costs a jump and a branch a round. Where the head is short, the
// jump back to it is replaced by the head itself, which is right because registers are mere storage
// by now. Nothing convergent is copied.
bool AsmPrinter::repeatsHead(uint32_t index) const {
  constexpr uint32_t kMaxHead = 4;
  const MachineBlock& block = machine_->blocks[index];
  if (block.term != Term::Jump || block.edges[0].target > index) return false;
  uint32_t headIndex = block.edges[0].target;
  const MachineBlock& head = machine_->blocks[headIndex];
  if (head.term != Term::Branch || head.endInst - head.firstInst > kMaxHead) return false;
  for (uint32_t i = head.firstInst; i < head.endInst; ++i) {
    const MachineInst& inst = machine_->insts[i];
    if (inst.op == MachineOp::Call || inst.op == MachineOp::BarSync ||
        inst.op == MachineOp::BarWarpSync || inst.op == MachineOp::MbarrierWait) {
      return false;
    }
    if (inst.op == MachineOp::Grouped &&
        machine_->grouped[static_cast<size_t>(inst.offset)].convergent) {
      return false;
    }
  }
  return !planBranch(headIndex, index + 1).awayCopies;
}

void AsmPrinter::printBranchTo(Opnd cond, bool holds) {
  text("\t@");
  if (cond.isNotReg() == holds) body_ += '!';
  reg(cond.index());
  text(" bra ");
}

void AsmPrinter::printTerminator(uint32_t index) {
  const MachineBlock& block = machine_->blocks[index];
  size_t before = body_.size();
  if (lineInfo_) printLoc(block.termLoc);
  size_t afterLoc = body_.size();
  if (block.term == Term::Ret) {
    text("\tret;\n");
  } else if (repeatsHead(index)) {
    uint32_t head = block.edges[0].target;
    printCopies(block.edges[0]);
    printInsts(machine_->blocks[head]);
    printExit(head, index + 1);
  } else {
    printExit(index, index + 1);
  }
  if (body_.size() == afterLoc && afterLoc != before) {
    body_.resize(before);
    lastLoc_ = SourceLoc();
  }
}

// Leaves block `index` by jump or branch; `next` is the block that follows in the text.
void AsmPrinter::printExit(uint32_t index, uint32_t next) {
  BranchPlan plan = planBranch(index, next);
  if (plan.away != nullptr) {
    printBranchTo(machine_->blocks[index].cond, plan.holds);
    plan.awayCopies ? edgeLabel(index) : label(plan.away->target);
    text(";\n");
  }
  printCopies(*plan.fall);
  if (plan.awayCopies) {
    printJump(plan.fall->target);
    edgeLabel(index);
    text(":\n");
    printCopies(*plan.away);
    if (plan.away->target != next) printJump(plan.away->target);
  } else if (plan.fall->target != next) {
    printJump(plan.fall->target);
  }
}

void AsmPrinter::printInsts(const MachineBlock& block) {
  for (uint32_t i = block.firstInst; i < block.endInst; ++i) printInst(machine_->insts[i]);
}

void AsmPrinter::printBody(const MachineFunction& machine, uint32_t number) {
  labelPrefix_ = "$L" + std::to_string(number) + "_";
  labelled_.assign(machine.blocks.size(), false);
  for (uint32_t b = 0; b < machine.blocks.size(); ++b) {
    if (machine.blocks[b].term == Term::Ret) continue;
    uint32_t from = repeatsHead(b) ? machine.blocks[b].edges[0].target : b;
    BranchPlan plan = planBranch(from, b + 1);
    if (plan.away != nullptr && (!plan.awayCopies || plan.away->target != b + 1)) {
      labelled_[plan.away->target] = true;
    }
    if (plan.awayCopies || plan.fall->target != b + 1) labelled_[plan.fall->target] = true;
  }
  for (uint32_t b = 0; b < machine.blocks.size(); ++b) {
    const MachineBlock& block = machine.blocks[b];
    if (labelled_[b]) {
      label(b);
      text(":\n");
    }
    printInsts(block);
    printTerminator(b);
  }
}

// ---- Functions ----

void AsmPrinter::printSignature(const ir::Function& function) {
  bool kernel = function.isKernel();
  std::string_view name = nameOf_(function);
  if (kernel) {
    out_ += ".visible .entry ";
  } else {
    out_ += ".func ";
    if (!function.resultType().isVoid()) {
      out_ += "(.param ";
      out_ += paramType(function.resultType(), false);
      out_ += " func_retval0) ";
    }
  }
  out_ += name;
  out_ += '(';
  for (unsigned p = 0; p < function.paramCount(); ++p) {
    Type type = function.paramTypes()[p];
    out_ += p == 0 ? "\n\t.param " : ",\n\t.param ";
    out_ += paramType(type, kernel);
    if (kernel && type.isPtr() &&
        (type.space() == ir::Space::Global || type.space() == ir::Space::Constant)) {
      out_ += " .ptr .global .align 1";
    }
    out_ += ' ';
    out_ += name;
    out_ += "_param_";
    appendNumber(out_, p);
  }
  out_ += function.paramCount() == 0 ? ")" : "\n)";
}

void AsmPrinter::printPrototype(const ir::Function& function) {
  printSignature(function);
  out_ += ";\n";
}

void AsmPrinter::printFunction(const ir::Function& function, const MachineFunction& machine,
                               uint32_t number, std::span<const std::string> comments) {
  machine_ = &machine;
  functionName_ = nameOf_(function);
  coalescer_.run(machine);
  classes_ = machine.regs;
  names_.assign(machine.regs.size(), 0);
  std::fill(std::begin(counts_), std::end(counts_), 0);
  lastLoc_ = SourceLoc();
  body_.clear();
  printBody(machine, number);

  printSignature(function);
  out_ += '\n';
  if (function.isKernel() && function.launchBounds.maxThreads != 0) {
    out_ += ".maxntid ";
    appendNumber(out_, function.launchBounds.maxThreads);
    out_ += '\n';
    if (function.launchBounds.minGroups != 0) {
      out_ += ".minnctapersm ";
      appendNumber(out_, function.launchBounds.minGroups);
      out_ += '\n';
    }
  }
  out_ += "{\n";
  for (const std::string& comment : comments) {
    out_ += "\t// ";
    out_ += comment;
    out_ += '\n';
  }
  for (int cls = 0; cls < kRegClassCount; ++cls) {
    if (counts_[cls] == 0) continue;
    out_ += "\t.reg ";
    out_ += kRegDecls[cls];
    out_ += '<';
    appendNumber(out_, counts_[cls] + 1);
    out_ += ">;\n";
  }
  for (size_t s = 1; s < machine.symbols.size(); ++s) {
    const MachineSymbol& symbol = machine.symbols[s];
    out_ += '\t';
    out_ += kSpaceNames[static_cast<int>(symbol.space)];
    out_ += " .align ";
    appendNumber(out_, symbol.align);
    out_ += " .b8 ";
    out_ += symbol.name;
    out_ += '[';
    appendNumber(out_, symbol.bytes);
    out_ += "];\n";
  }
  out_ += '\n';
  out_ += body_;
  out_ += "}\n";
}

}  // namespace mtlc::ptx
