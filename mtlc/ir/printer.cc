#include <charconv>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_format.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/text_descriptor.h"
#include "mtlc/ir/text_names.h"
#include "mtlc/support/float_format.h"

namespace mtlc::ir {
namespace {

bool allDigits(std::string_view s) {
  for (char c : s) {
    if (c < '0' || c > '9') return false;
  }
  return true;
}

// Names that the printer hands out itself must not be taken by others.
bool looksGenerated(std::string_view name, std::string_view prefix) {
  return name.starts_with(prefix) && allDigits(name.substr(prefix.size()));
}

// Gives every value and block of a function a distinct name.
class Namer {
 public:
  explicit Namer(std::string_view generatedPrefix) : prefix_(generatedPrefix) {}

  std::string name(std::string_view wish) {
    std::string base;
    for (char c : wish) base += isNameChar(c) ? c : '_';
    if (base.empty() || looksGenerated(base, prefix_)) {
      return std::string(prefix_) + std::to_string(generated_++);
    }
    if (used_.insert(base).second) return base;
    uint32_t& next = suffix_[base];
    std::string candidate;
    do {
      candidate = base + "_" + std::to_string(++next);
    } while (!used_.insert(candidate).second);
    return candidate;
  }

 private:
  std::string_view prefix_;
  uint32_t generated_ = 0;
  absl::flat_hash_set<std::string> used_;
  absl::flat_hash_map<std::string, uint32_t> suffix_;
};

void appendFloat(std::string& out, Type type, uint64_t bits) {
  char buffer[64];
  std::to_chars_result end{};
  bool finite = false;
  switch (type.kind()) {
    case TypeKind::F64: {
      double v = f64FromBits(bits);
      finite = (bits >> 52 & 0x7FF) != 0x7FF;
      end = std::to_chars(buffer, buffer + sizeof buffer, v);
      break;
    }
    default: {
      float v = type == kF16    ? f16ToF32(static_cast<uint16_t>(bits))
                : type == kBF16 ? bf16ToF32(static_cast<uint16_t>(bits))
                                : f32FromBits(static_cast<uint32_t>(bits));
      finite = (f32Bits(v) >> 23 & 0xFF) != 0xFF;
      end = std::to_chars(buffer, buffer + sizeof buffer, v);
    }
  }
  if (!finite) {
    absl::StrAppendFormat(&out, "0x%0*x", static_cast<int>(type.bits() / 4), bits);
    return;
  }
  std::string_view text(buffer, static_cast<size_t>(end.ptr - buffer));
  out += text;
  if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
}

class Printer {
 public:
  Printer(std::string& out, const PrintOptions& options) : out_(out), options_(options) {}

  void module(const Module& m) {
    out_ += "module ";
    quoted(m.name());
    out_ += '\n';
    sources_ = &m.sources();
    for (const Function& f : m.functions()) {
      out_ += '\n';
      function(f);
    }
  }

  void function(const Function& f) {
    sources_ = &f.module().sources();
    nameAll(f);
    if (f.isDeclaration()) out_ += "declare ";
    out_ += f.isKernel() ? "kernel @" : "func @";
    symbol(f.name());
    out_ += '(';
    for (unsigned i = 0; i < f.paramCount(); ++i) {
      if (i) out_ += ", ";
      if (!f.isDeclaration()) {
        value(f.param(i));
        out_ += ": ";
      }
      out_ += typeName(f.paramTypes()[i]);
    }
    out_ += ')';
    if (!f.resultType().isVoid()) absl::StrAppendFormat(&out_, " -> %s", typeName(f.resultType()));
    if (f.launchBounds.maxThreads) {
      absl::StrAppendFormat(&out_, " launch_bounds(%d", f.launchBounds.maxThreads);
      if (f.launchBounds.minGroups) absl::StrAppendFormat(&out_, ", %d", f.launchBounds.minGroups);
      out_ += ')';
    }
    if (f.inlineHint != InlineHint::None) {
      absl::StrAppendFormat(&out_, " %s", kInlineNames[static_cast<int>(f.inlineHint)]);
    }
    location(f.loc());
    if (f.isDeclaration()) {
      out_ += '\n';
      return;
    }
    out_ += " {\n";
    for (const Block& block : f.blocks()) {
      blockName(&block);
      if (!block.isEntry() && block.argCount() > 0) {
        out_ += '(';
        for (unsigned i = 0; i < block.argCount(); ++i) {
          if (i) out_ += ", ";
          value(block.arg(i));
          absl::StrAppendFormat(&out_, ": %s", typeName(block.arg(i)->type()));
        }
        out_ += ')';
      }
      out_ += ":\n";
      for (const Operation& op : block.ops()) {
        out_ += "  ";
        operation(op);
        out_ += '\n';
      }
    }
    out_ += "}\n";
  }

  void operation(const Operation& op) {
    if (op.result()) {
      value(op.result());
      out_ += " = ";
    }
    out_ += op.info().mnemonic;
    for (const FlagName& f : kFastMathNames) {
      if (op.fastMath() & f.flag) absl::StrAppendFormat(&out_, " %s", f.name);
    }
    switch (op.form()) {
      case Form::Const:
        out_ += ' ';
        constant(op.resultType(), op.constBits());
        colonType(op.resultType());
        break;
      case Form::Unary:
      case Form::Binary:
      case Form::Ternary:
      case Form::Select:
        out_ += ' ';
        operands(op, 0, op.operandCount());
        colonType(op.resultType());
        break;
      case Form::Compare:
        out_ += ' ';
        operands(op, 0, op.operandCount());
        colonType(operandType(op, 0));
        break;
      case Form::Cast:
        out_ += ' ';
        operands(op, 0, op.operandCount());
        colonType(operandType(op, 0));
        absl::StrAppendFormat(&out_, " to %s", typeName(op.resultType()));
        break;
      case Form::GpuIndex:
        absl::StrAppendFormat(&out_, " %s : i32",
                              kDimNames[std::min<size_t>(static_cast<size_t>(op.dim()), 2)]);
        break;
      case Form::PtrAdd:
        out_ += ' ';
        operands(op, 0, op.operandCount());
        absl::StrAppendFormat(&out_, " x %s", typeName(op.elemType()));
        colonType(op.resultType());
        break;
      case Form::Load:
      case Form::Store: {
        absl::StrAppendFormat(&out_, " %s, ", typeName(op.elemType()));
        operands(op, 0, op.operandCount());
        colonType(operandType(op, op.operandCount() - 1));
        MemAttr m = op.mem();
        if (m.align != op.elemType().bytes()) absl::StrAppendFormat(&out_, " align %d", m.align);
        if (m.isVolatile) out_ += " volatile";
        if (m.cache != CacheHint::All) {
          absl::StrAppendFormat(&out_, " cache %s", kCacheNames[static_cast<int>(m.cache)]);
        }
        break;
      }
      case Form::Alloc:
        absl::StrAppendFormat(&out_, " %s[%d]", typeName(op.elemType()), op.allocCount());
        colonType(op.resultType());
        break;
      case Form::AllocDynamic:
        absl::StrAppendFormat(&out_, " %s", typeName(op.elemType()));
        colonType(op.resultType());
        break;
      case Form::Barrier:
        regions(op.barrier().regions);
        absl::StrAppendFormat(&out_, " %s", orderName(op.barrier().order));
        break;
      case Form::Fence:
        regions(op.fence().regions);
        absl::StrAppendFormat(&out_, " %s %s", orderName(op.fence().order),
                              enumName(op.fence().scope));
        break;
      case Form::AtomicLoad:
      case Form::AtomicStore:
      case Form::AtomicRmw:
      case Form::AtomicCas: {
        AtomicAttr a = op.atomic();
        if (op.form() == Form::AtomicRmw) absl::StrAppendFormat(&out_, " %s", combineName(a.kind));
        absl::StrAppendFormat(&out_, " %s, ", typeName(op.elemType()));
        operands(op, 0, op.operandCount());
        colonType(operandType(op, 0));
        absl::StrAppendFormat(&out_, " %s", orderName(a.order));
        if (op.form() == Form::AtomicCas) {
          absl::StrAppendFormat(&out_, " %s", orderName(a.failureOrder));
        }
        absl::StrAppendFormat(&out_, " %s", enumName(a.scope));
        break;
      }
      case Form::SubgroupIndex:
        colonType(op.resultType());
        break;
      case Form::SubgroupReduce:
        absl::StrAppendFormat(&out_, " %s", combineName(op.combineKind()));
        [[fallthrough]];
      case Form::SubgroupLane:
      case Form::SubgroupBallot:
        out_ += ' ';
        operands(op, 0, op.operandCount());
        colonType(op.resultType());
        break;
      case Form::SubgroupVote:
      case Form::AccCommit:
        out_ += ' ';
        operands(op, 0, op.operandCount());
        break;
      case Form::AsyncCopy: {
        AsyncAttr a = op.async();
        out_ += ' ';
        operands(op, 0, op.operandCount());
        absl::StrAppendFormat(&out_, ", %d x %s transaction %d", a.count, typeName(op.elemType()),
                              a.transaction);
        if (a.cacheGlobal) out_ += " cache global";
        break;
      }
      case Form::AsyncCommit:
        break;
      case Form::AsyncWait:
        absl::StrAppendFormat(&out_, " %d", op.waitCount());
        break;
      case Form::Encode:
      case Form::Decode:
        absl::StrAppendFormat(&out_, " %s", floatFormatInfo(op.narrow().format).name);
        if (op.form() == Form::Encode) out_ += op.narrow().saturate ? " sat " : " nosat ";
        if (op.form() == Form::Decode) out_ += ' ';
        operands(op, 0, op.operandCount());
        colonType(op.form() == Form::Encode ? operandType(op, 0) : op.resultType());
        break;
      case Form::Mma:
      case Form::Epilogue:
      case Form::Transfer:
        tensor(op);
        break;
      case Form::FuncAddr:
        out_ += " @";
        symbol(op.callee() ? op.callee()->name() : std::string_view());
        colonType(op.resultType());
        break;
      case Form::CallIndirect:
        out_ += ' ';
        operands(op, 0, 1);
        arguments(op, 1);
        if (!op.resultType().isVoid()) colonType(op.resultType());
        break;
      case Form::Launch: {
        LaunchAttr l = op.launch();
        if (l.hasHandle()) {
          out_ += ' ';
          operands(op, 0, 1);
        } else {
          out_ += " @";
          symbol(l.kernel->name());
        }
        out_ += " grid(";
        operands(op, l.gridOperand(), 3);
        out_ += ") block(";
        operands(op, l.gridOperand() + 3, 3);
        out_ += ')';
        if (l.hasShared) {
          out_ += " shared(";
          operands(op, l.sharedOperand(), 1);
          out_ += ')';
        }
        if (l.hasStream) {
          out_ += " stream(";
          operands(op, l.streamOperand(), 1);
          out_ += ')';
        }
        out_ += ' ';
        arguments(op, l.firstArgument());
        break;
      }
      case Form::Call:
        out_ += " @";
        symbol(op.callee() ? op.callee()->name() : std::string_view());
        arguments(op, 0);
        if (!op.resultType().isVoid()) colonType(op.resultType());
        break;
      case Form::Jump:
        out_ += ' ';
        edge(op, 0);
        break;
      case Form::Branch:
        out_ += ' ';
        operands(op, 0, 1);
        out_ += ", ";
        edge(op, 0);
        out_ += ", ";
        edge(op, 1);
        break;
      case Form::Return:
        if (op.operandCount()) out_ += ' ';
        operands(op, 0, op.operandCount());
        break;
    }
    location(op.loc());
  }

  void setSources(const SourceManager& sources) { sources_ = &sources; }

 private:
  void nameAll(const Function& f) {
    values_.clear();
    blocks_.clear();
    Namer valueNames("");
    Namer blockNames("bb");
    for (const Block& block : f.blocks()) {
      blocks_.emplace(&block, blockNames.name(block.name()));
      for (const Value* arg : block.args()) values_.emplace(arg, valueNames.name(arg->name()));
      for (const Operation& op : block.ops()) {
        if (op.result()) values_.emplace(op.result(), valueNames.name(op.result()->name()));
      }
    }
  }

  static Type operandType(const Operation& op, unsigned i) {
    return i < op.operandCount() && op.operand(i) ? op.operand(i)->type() : kVoid;
  }

  void value(const Value* v) {
    out_ += '%';
    if (!v) {
      out_ += "<null>";
      return;
    }
    auto it = values_.find(v);
    if (it != values_.end()) {
      out_ += it->second;
    } else {
      out_ += v->name().empty() ? std::string_view("?") : v->name();
    }
  }

  void blockName(const Block* b) {
    out_ += '^';
    auto it = blocks_.find(b);
    out_ += it != blocks_.end() ? std::string_view(it->second) : b ? b->name() : "<null>";
  }

  void operands(const Operation& op, unsigned first, unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      if (i) out_ += ", ";
      value(first + i < op.operandCount() ? op.operand(first + i) : nullptr);
    }
  }

  // '(' the operands from `first` on ')'
  void arguments(const Operation& op, unsigned first) {
    out_ += '(';
    if (op.operandCount() > first) operands(op, first, op.operandCount() - first);
    out_ += ')';
  }

  void regions(uint8_t mask) {
    out_ += " {";
    bool first = true;
    for (const FlagName& r : kRegionNames) {
      if (!(mask & r.flag)) continue;
      if (!first) out_ += ", ";
      first = false;
      out_ += r.name;
    }
    out_ += '}';
  }

  void tensor(const Operation& op) {
    const SlotSet slots = op.tensor().slots;
    out_ += ' ';
    unsigned i = 0;
    for (int s = 0; s < kSlotCount; ++s) {
      if (!slots.has(static_cast<Slot>(s))) continue;
      if (i > 0) out_ += ", ";
      out_ += slotName(static_cast<Slot>(s));
      out_ += '=';
      value(i < op.operandCount() ? op.operand(i) : nullptr);
      ++i;
    }
    out_ += ' ';
    switch (op.form()) {
      case Form::Mma:
        printDescriptor(out_, op.mmaDesc(), mmaUse(op.opcode()), slots);
        break;
      case Form::Epilogue:
        printDescriptor(out_, op.epilogueDesc(), op.opcode() == Opcode::TensorAccEpilogue, slots);
        break;
      default:
        printDescriptor(out_, op.transferDesc());
    }
    if (op.result()) colonType(op.resultType());
  }

  void edge(const Operation& op, unsigned i) {
    const Successor& s = op.successor(i);
    blockName(s.block());
    if (s.argCount() == 0) return;
    out_ += '(';
    operands(op, s.firstArg(), s.argCount());
    out_ += ')';
  }

  void colonType(Type type) { absl::StrAppendFormat(&out_, " : %s", typeName(type)); }

  void constant(Type type, uint64_t bits) {
    if (type.isBool()) {
      out_ += bits ? "true" : "false";
    } else if (type.isPtr()) {
      out_ += "null";
    } else if (type.isFloat()) {
      appendFloat(out_, type, bits);
    } else {
      out_ += std::to_string(signExtend(bits, type.bits()));
    }
  }

  void symbol(std::string_view name) {
    bool plain = !name.empty();
    for (char c : name) plain = plain && isNameChar(c);
    if (plain) {
      out_ += name;
    } else {
      quoted(name);
    }
  }

  // Bytes outside printable ASCII, quotes and backslashes travel as \HH.
  void quoted(std::string_view text) {
    out_ += '"';
    for (char c : text) {
      unsigned char u = static_cast<unsigned char>(c);
      if (u < 0x20 || u >= 0x7F || c == '"' || c == '\\') {
        absl::StrAppendFormat(&out_, "\\%02x", u);
      } else {
        out_ += c;
      }
    }
    out_ += '"';
  }

  void location(SourceLoc loc) {
    if (!options_.locations || !loc.valid()) return;
    out_ += " loc(";
    quoted(sources_ ? sources_->name(loc.file()) : std::string_view());
    absl::StrAppendFormat(&out_, ":%d:%d)", loc.line(), loc.column());
  }

  std::string& out_;
  const PrintOptions& options_;
  const SourceManager* sources_ = nullptr;
  absl::flat_hash_map<const Value*, std::string> values_;
  absl::flat_hash_map<const Block*, std::string> blocks_;
};

}  // namespace

std::string print(const Module& module, const PrintOptions& options) {
  std::string out;
  Printer(out, options).module(module);
  return out;
}

std::string print(const Function& function, const PrintOptions& options) {
  std::string out;
  Printer(out, options).function(function);
  return out;
}

std::string print(const Operation& op) {
  std::string out;
  PrintOptions options;
  Printer(out, options).operation(op);
  return out;
}

}  // namespace mtlc::ir
