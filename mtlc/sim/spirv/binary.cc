#define SPV_ENABLE_UTILITY_CODE
#include "mtlc/sim/spirv/binary.h"

#include <algorithm>

#include "mtlc/sim/program_builder.h"
#include "mtlc/sim/spirv/normalise.h"
#include "spirv-tools/libspirv.hpp"

namespace mtlc::sim::spirv {
namespace {

constexpr spv_target_env kEnvironment = SPV_ENV_UNIVERSAL_1_6;
constexpr uint64_t kMaxTypeBytes = uint64_t{1} << 40;
constexpr uint64_t kMaxTypeParts = uint64_t{1} << 40;
constexpr uint32_t kMaxTypeDepth = 256;
constexpr size_t kHeaderWords = 5;

// A literal string at the front of `words`, and the words it takes.
std::string literalString(std::span<const uint32_t> words, size_t* used = nullptr) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
      char c = static_cast<char>(words[i] >> shift & 0xff);
      if (c == 0) {
        if (used != nullptr) *used = i + 1;
        return text;
      }
      text += c;
    }
  }
  if (used != nullptr) *used = words.size();
  return text;
}

// Whole bytes that a scalar of `bits` takes.
uint64_t scalarBytes(unsigned bits) { return bits <= 8 ? 1 : bits / 8; }

const Inst kNoInst;
const Type kNoType;
const Decorations kNoDecorations;

}  // namespace

std::string instructionName(spv::Op op) {
  return std::string("Op") + spvOpcodeString(static_cast<uint32_t>(op));
}

std::string makeListing(std::span<const uint32_t> words) {
  spvtools::SpirvTools tools(kEnvironment);
  tools.SetMessageConsumer(
      [](spv_message_level_t, const char*, const spv_position_t&, const char*) {});
  std::string text;
  uint32_t options = SPV_BINARY_TO_TEXT_OPTION_NO_HEADER | SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES;
  std::vector<uint32_t> valid = normalised(words);
  if (!tools.Disassemble(valid, &text, options)) return {};
  return text;
}

const Inst& Binary::def(Id id) const {
  return id < defs_.size() && defs_[id] != 0 ? insts_[defs_[id] - 1] : kNoInst;
}

const Type& Binary::type(Id id) const {
  auto it = types_.find(id);
  return it == types_.end() ? kNoType : it->second;
}

const Decorations& Binary::decorations(Id id) const {
  auto it = decorations_.find(id);
  return it == decorations_.end() ? kNoDecorations : it->second;
}

std::string Binary::nameOf(Id id) const {
  auto it = names_.find(id);
  return it == names_.end() || it->second.empty() ? "%" + std::to_string(id) : it->second;
}

const FunctionInfo* Binary::function(Id id) const {
  auto it = functionAt_.find(id);
  return it == functionAt_.end() ? nullptr : &functions_[it->second];
}

std::string_view Binary::stringOf(Id id) const {
  auto it = strings_.find(id);
  return it == strings_.end() ? std::string_view() : it->second;
}

bool Binary::constantBits(Id id, uint64_t& bits) const {
  const Inst& in = def(id);
  const Type& t = type(in.type);
  switch (in.op) {
    case spv::Op::OpConstantTrue:
    case spv::Op::OpSpecConstantTrue:
      bits = 1;
      return true;
    case spv::Op::OpConstantFalse:
    case spv::Op::OpSpecConstantFalse:
    case spv::Op::OpConstantNull:
      bits = 0;
      return t.parts == 1;
    case spv::Op::OpConstant:
    case spv::Op::OpSpecConstant:
      bits = in.operands.empty() ? 0 : in.operands[0];
      if (in.operands.size() > 1) bits |= uint64_t{in.operands[1]} << 32;
      if (t.bits < 64) bits &= (uint64_t{1} << t.bits) - 1;
      return true;
    default:
      return false;
  }
}

bool Binary::constantWord(Id id, uint32_t& value) const {
  uint64_t bits;
  if (!constantBits(id, bits) || bits > UINT32_MAX) return false;
  value = static_cast<uint32_t>(bits);
  return true;
}

bool Binary::read(std::span<const uint32_t> words, FileId listing, DiagnosticEngine& diags) {
  words_ = normalised(words);
  spvtools::SpirvTools tools(kEnvironment);
  std::string problem;
  tools.SetMessageConsumer(
      [&](spv_message_level_t level, const char*, const spv_position_t& at, const char* message) {
        if (level > SPV_MSG_ERROR || !problem.empty()) return;
        problem = message;
        if (at.index != 0) problem += " (at word " + std::to_string(at.index) + ")";
        problem = problem.substr(0, problem.find('\n'));
      });
  if (!tools.Validate(words_.data(), words_.size())) {
    diags.report(DiagId::SpirvInvalid, SourceRange(SourceLoc(listing, 1, 1)),
                 {problem.empty() ? "it is damaged" : problem});
    return false;
  }
  return index(listing, diags);
}

// Types in memory. False: too large.
bool Binary::layout(const Inst& in) {
  Type t;
  auto word = [&](size_t i) { return i < in.operands.size() ? in.operands[i] : 0; };
  switch (in.op) {
    case spv::Op::OpTypeVoid:
      break;
    case spv::Op::OpTypeBool:
      t.kind = Kind::boolean;
      t.bits = 1;
      t.size = t.align = t.parts = 1;
      break;
    case spv::Op::OpTypeInt:
    case spv::Op::OpTypeFloat:
      t.kind = in.op == spv::Op::OpTypeInt ? Kind::integer : Kind::floating;
      t.bits = static_cast<uint16_t>(word(0));
      t.size = t.align = scalarBytes(t.bits);
      t.parts = 1;
      break;
    case spv::Op::OpTypeForwardPointer:
      // Structures may contain it before what it points to is known.
      t.kind = Kind::pointer;
      t.bits = 64;
      t.size = t.align = 8;
      t.parts = 1;
      t.storage = static_cast<spv::StorageClass>(word(1));
      types_[word(0)] = std::move(t);
      return true;
    case spv::Op::OpTypePointer:
      t.kind = Kind::pointer;
      t.bits = 64;
      t.size = t.align = 8;
      t.parts = 1;
      t.storage = static_cast<spv::StorageClass>(word(0));
      t.element = word(1);
      break;
    case spv::Op::OpTypeEvent:
    case spv::Op::OpTypeDeviceEvent:
      t.kind = Kind::event;
      t.bits = 64;
      t.size = t.align = 8;
      t.parts = 1;
      break;
    case spv::Op::OpTypeVector:
    case spv::Op::OpTypeArray: {
      const Type& e = type(word(0));
      t.kind = in.op == spv::Op::OpTypeVector ? Kind::vector : Kind::array;
      t.element = word(0);
      t.count = word(1);
      if (t.kind == Kind::array && !constantWord(word(1), t.count)) return false;
      t.depth = e.depth + 1;
      // Of nothing there would be any number without taking room.
      if (t.count > kMaxTypeParts / std::max<uint64_t>({e.size, e.parts, 1})) return false;
      if (e.parts == 0) t.count = 0;
      t.size = e.size * t.count;
      t.align = e.align;
      if (t.kind == Kind::vector) {
        t.size = e.size * (t.count == 3 ? 4 : t.count);
        t.align = t.size;
      }
      t.parts = e.parts * t.count;
      break;
    }
    case spv::Op::OpTypeStruct: {
      t.kind = Kind::structure;
      bool packed = decorations(in.result).packed;
      for (Id m : in.operands) {
        const Type& e = type(m);
        uint64_t align = packed ? 1 : std::max<uint64_t>(e.align, 1);
        t.size = alignUp(t.size, align);
        t.members.push_back(m);
        t.offsets.push_back(t.size);
        t.size += e.size;
        t.parts += e.parts;
        t.align = std::max(t.align, align);
        t.depth = std::max(t.depth, e.depth + 1);
        if (t.size > kMaxTypeBytes || t.parts > kMaxTypeParts) return false;
      }
      t.size = alignUp(t.size, t.align);
      break;
    }
    default:
      return true;
  }
  if (t.size > kMaxTypeBytes || t.parts > kMaxTypeParts || t.depth > kMaxTypeDepth) return false;
  types_[in.result] = std::move(t);
  return true;
}

void Binary::decorate(const Inst& in) {
  if (in.operands.size() < 2) return;
  Decorations& d = decorations_[in.operands[0]];
  uint32_t argument = in.operands.size() > 2 ? in.operands[2] : 0;
  switch (static_cast<spv::Decoration>(in.operands[1])) {
    case spv::Decoration::BuiltIn:
      d.builtin = argument;
      break;
    case spv::Decoration::Alignment:
      d.alignment = argument;
      break;
    case spv::Decoration::FPRoundingMode:
      d.rounding = argument;
      break;
    case spv::Decoration::CPacked:
      d.packed = true;
      break;
    case spv::Decoration::SaturatedConversion:
      d.saturated = true;
      break;
    case spv::Decoration::FuncParamAttr:
      d.byValue =
          d.byValue || argument == static_cast<uint32_t>(spv::FunctionParameterAttribute::ByVal);
      break;
    case spv::Decoration::Volatile:
      d.isVolatile = true;
      break;
    case spv::Decoration::LinkageAttributes:
      names_.emplace(in.operands[0], literalString(in.operands.subspan(2)));
      break;
    default:
      break;
  }
}

bool Binary::index(FileId listing, DiagnosticEngine& diags) {
  defs_.assign(words_[3], 0);
  uint32_t line = 1;
  for (size_t at = kHeaderWords; at < words_.size();) {
    uint32_t count = words_[at] >> spv::WordCountShift;
    if (count == 0 || count > words_.size() - at) break;  // The validator saw to it.
    Inst in;
    in.op = static_cast<spv::Op>(words_[at] & spv::OpCodeMask);
    in.loc = SourceLoc(listing, line, 1);
    std::span<const uint32_t> rest(words_.data() + at + 1, count - 1);
    bool hasResult = false, hasType = false;
    spv::HasResultAndType(in.op, &hasResult, &hasType);
    if (hasType && !rest.empty()) {
      in.type = rest[0];
      rest = rest.subspan(1);
    }
    if (hasResult && !rest.empty()) {
      in.result = rest[0];
      rest = rest.subspan(1);
    }
    in.operands = rest;
    // Strings go over as many lines in the listing as they have.
    ++line;
    for (uint32_t w : rest) {
      bool text = in.op == spv::Op::OpSource || in.op == spv::Op::OpSourceContinued ||
                  in.op == spv::Op::OpString || in.op == spv::Op::OpName ||
                  in.op == spv::Op::OpModuleProcessed || in.op == spv::Op::OpEntryPoint;
      for (unsigned shift = 0; text && shift < 32; shift += 8) {
        line += (w >> shift & 0xff) == '\n' ? 1 : 0;
      }
    }
    if (in.result != 0 && in.result < defs_.size()) {
      defs_[in.result] = static_cast<uint32_t>(insts_.size()) + 1;
    }
    insts_.push_back(in);
    at += count;
  }
  for (const Inst& in : insts_) {
    if (in.op == spv::Op::OpDecorate) decorate(in);
    if (in.op == spv::Op::OpGroupDecorate && !in.operands.empty()) {
      Decorations group = decorations(in.operands[0]);
      for (Id target : in.operands.subspan(1)) decorations_[target].add(group);
    }
    if (in.op == spv::Op::OpString) strings_[in.result] = literalString(in.operands);
    if (in.op == spv::Op::OpName && in.operands.size() > 1) {
      names_[in.operands[0]] = literalString(in.operands.subspan(1));
    }
  }
  auto refuse = [&](const Inst& in, const std::string& what) {
    diags.report(DiagId::SpirvUnsupported, SourceRange(in.loc), {what});
    return false;
  };
  FunctionInfo* open = nullptr;
  for (uint32_t i = 0; i < insts_.size(); ++i) {
    const Inst& in = insts_[i];
    if (!layout(in)) return refuse(in, "a type of this size");
    switch (in.op) {
      case spv::Op::OpMemoryModel:
        if (in.operands.size() < 2 ||
            static_cast<spv::AddressingModel>(in.operands[0]) != spv::AddressingModel::Physical64) {
          return refuse(in, "this addressing model");
        }
        break;
      case spv::Op::OpSource:
        // llvm-spirv writes the work-group's scope for OpenCL C before 2.0.
        if (in.operands.size() >= 2 &&
            static_cast<spv::SourceLanguage>(in.operands[0]) == spv::SourceLanguage::OpenCL_C) {
          unscopedAtomics_ = in.operands[1] < 200000;
        }
        break;
      case spv::Op::OpExtInstImport:
        if (literalString(in.operands) == "OpenCL.std") openclStd_ = in.result;
        break;
      case spv::Op::OpEntryPoint: {
        if (in.operands.size() < 3 ||
            static_cast<spv::ExecutionModel>(in.operands[0]) != spv::ExecutionModel::Kernel) {
          return refuse(in, "an entry point that is no kernel");
        }
        EntryPoint e;
        e.function = in.operands[1];
        e.name = literalString(in.operands.subspan(2));
        entryPoints_.push_back(std::move(e));
        break;
      }
      case spv::Op::OpExecutionMode:
        if (in.operands.size() >= 5 &&
            static_cast<spv::ExecutionMode>(in.operands[1]) == spv::ExecutionMode::LocalSize) {
          for (EntryPoint& e : entryPoints_) {
            if (e.function != in.operands[0]) continue;
            std::copy(in.operands.begin() + 2, in.operands.begin() + 5, e.requiredThreads);
          }
        }
        break;
      case spv::Op::OpVariable:
        if (open == nullptr) globals_.push_back(i);
        break;
      case spv::Op::OpFunction:
        functionAt_.emplace(in.result, static_cast<uint32_t>(functions_.size()));
        open = &functions_.emplace_back();
        open->inst = i;
        open->id = in.result;
        open->returnType = in.type;
        open->name = nameOf(in.result);
        break;
      case spv::Op::OpFunctionParameter:
        if (open != nullptr) open->params.push_back(i);
        break;
      case spv::Op::OpFunctionEnd:
        if (open != nullptr && !open->blocks.empty()) open->blocks.back().end = i;
        open = nullptr;
        break;
      case spv::Op::OpLabel:
        if (open == nullptr) break;
        if (!open->blocks.empty()) open->blocks.back().end = i;
        open->blocks.push_back({in.result, i + 1, i + 1});
        break;
      default:
        break;
    }
  }
  for (const EntryPoint& e : entryPoints_) {
    auto it = functionAt_.find(e.function);
    if (it != functionAt_.end()) functions_[it->second].name = e.name;
  }
  return true;
}

}  // namespace mtlc::sim::spirv
