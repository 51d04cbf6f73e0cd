#include "mtlc/runtime/spir_route.h"

#include <optional>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_format.h"
#define SPV_ENABLE_UTILITY_CODE
#include "spirv/unified1/spirv.hpp11"

namespace mtlc::runtime {

namespace {

using spv::Op;
using Words = std::vector<uint32_t>;

constexpr size_t kHeaderWords = 5;
constexpr size_t kBound = 3;  // The word of the header with the bound of ids.
constexpr std::string_view kFence = "_Z22atomic_work_item_fencej12memory_order12memory_scope";

// The values of OpenCL C for the bits and scopes of SPIR-V (opencl-c-base.h).
uint32_t fenceFlags(uint32_t semantics) {
  const bool local = semantics & static_cast<uint32_t>(spv::MemorySemanticsMask::WorkgroupMemory);
  const bool global =
      semantics & static_cast<uint32_t>(spv::MemorySemanticsMask::CrossWorkgroupMemory);
  return (local ? 1 : 0) | (global ? 2 : 0);
}
uint32_t fenceOrder(uint32_t semantics) {
  auto has = [&](spv::MemorySemanticsMask bit) { return semantics & static_cast<uint32_t>(bit); };
  if (has(spv::MemorySemanticsMask::SequentiallyConsistent)) return 5;
  if (has(spv::MemorySemanticsMask::AcquireRelease)) return 4;
  if (has(spv::MemorySemanticsMask::Release)) return 3;
  if (has(spv::MemorySemanticsMask::Acquire)) return 2;
  return 0;
}
uint32_t fenceScope(uint32_t scope) {
  switch (static_cast<spv::Scope>(scope)) {
    case spv::Scope::Invocation:
      return 0;
    case spv::Scope::Workgroup:
      return 1;
    case spv::Scope::Device:
      return 2;
    case spv::Scope::Subgroup:
      return 4;
    default:
      return 3;
  }
}

void append(Words& words, Op op, std::span<const uint32_t> operands) {
  words.push_back(static_cast<uint32_t>(operands.size() + 1) << spv::WordCountShift |
                  static_cast<uint32_t>(op));
  words.insert(words.end(), operands.begin(), operands.end());
}
void append(Words& words, Op op, std::initializer_list<uint32_t> operands) {
  append(words, op, std::span<const uint32_t>(operands.begin(), operands.size()));
}
void appendString(Words& operands, std::string_view text) {
  const size_t first = operands.size();
  operands.resize(first + text.size() / 4 + 1);
  for (size_t i = 0; i < text.size(); ++i) {
    operands[first + i / 4] |= uint32_t{static_cast<uint8_t>(text[i])} << (i % 4 * 8);
  }
}

// Where the pointer stands among the operands of an atomic; nullopt for other instructions.
std::optional<size_t> atomicPointer(Op op) {
  if (op == Op::OpAtomicStore) return 0;
  if (op >= Op::OpAtomicLoad && op <= Op::OpAtomicXor) return 2;
  return std::nullopt;
}

class Adapter {
 public:
  explicit Adapter(std::span<const uint32_t> words) : words_(words) {}

  absl::StatusOr<Words> run() {
    if (words_.size() < kHeaderWords || words_[0] != spv::MagicNumber) {
      return absl::InvalidArgumentError(
          "this is no SPIR-V module in the byte order of this machine");
    }
    next_ = words_[kBound];
    for (size_t at = kHeaderWords; at < words_.size();) {
      const uint32_t count = words_[at] >> spv::WordCountShift;
      const Op op = static_cast<Op>(words_[at] & spv::OpCodeMask);
      if (count == 0 || count > words_.size() - at || !instruction(op, words_.subspan(at, count))) {
        return absl::InvalidArgumentError(
            absl::StrFormat("malformed SPIR-V: the instruction at word %d", at));
      }
      at += count;
    }
    if (!changed_) return Words(words_.begin(), words_.end());
    // The order of sections: capabilities; all up to the annotations; types; functions.
    Words result(words_.begin(), words_.begin() + kHeaderWords);
    result[kBound] = next_;
    for (const Words* part :
         {&newCapabilities_, &head_, &newAnnotations_, &types_, &newTypes_, &functions_}) {
      result.insert(result.end(), part->begin(), part->end());
    }
    return result;
  }

 private:
  bool instruction(Op op, std::span<const uint32_t> words) {
    const std::span<const uint32_t> operands = words.subspan(1);
    bool hasResult = false, hasType = false;
    spv::HasResultAndType(op, &hasResult, &hasType);
    if (operands.size() < (hasResult ? 1u : 0u) + (hasType ? 1u : 0u)) return false;
    if (hasResult && hasType) typeOf_[operands[1]] = operands[0];
    switch (op) {
      case Op::OpTypeInt:
        if (operands.size() != 3) return false;
        if (operands[1] == 32) u32_ = operands[0];
        break;
      case Op::OpTypeVoid:
        void_ = operands[0];
        break;
      case Op::OpTypePointer:
        if (operands.size() != 3) return false;
        pointers_[operands[0]] = {operands[1], operands[2]};
        pointerTo_[{operands[1], operands[2]}] = operands[0];
        break;
      case Op::OpTypeFunction:
        if (operands.size() == 5 && operands[1] == void_ && operands[2] == u32_ &&
            operands[3] == u32_ && operands[4] == u32_) {
          fenceType_ = operands[0];
        }
        break;
      case Op::OpConstant:
        if (operands.size() < 3) return false;
        if (operands[0] == u32_) {
          values_[operands[1]] = operands[2];
          constants_[operands[2]] = operands[1];
        }
        break;
      case Op::OpFunction:
        inFunctions_ = true;
        break;
      case Op::OpMemoryBarrier:
        return fence(operands);
      default:
        if (const std::optional<size_t> pointer = atomicPointer(op)) {
          return atomic(op, operands, *pointer);
        }
        break;
    }
    if (!inFunctions_) inTypes_ |= isGlobal(op);
    Words& to = inFunctions_ ? functions_ : inTypes_ ? types_ : head_;
    to.insert(to.end(), words.begin(), words.end());
    return true;
  }

  // Types, constants and variables: what comes after the annotations.
  static bool isGlobal(Op op) {
    bool hasResult = false, hasType = false;
    spv::HasResultAndType(op, &hasResult, &hasType);
    return hasResult && op != Op::OpString && op != Op::OpExtInstImport &&
           op != Op::OpDecorationGroup;
  }

  uint32_t constant(uint32_t value) {
    uint32_t& id = constants_[value];
    if (id == 0) {
      id = next_++;
      append(newTypes_, Op::OpConstant, {u32_, id, value});
    }
    return id;
  }

  bool fence(std::span<const uint32_t> operands) {
    if (operands.size() != 2 || !inFunctions_) return false;
    const auto scope = values_.find(operands[0]), semantics = values_.find(operands[1]);
    if (scope == values_.end() || semantics == values_.end()) return false;
    if (fenceFunction_ == 0) declareFence();
    const uint32_t arguments[] = {constant(fenceFlags(semantics->second)),
                                  constant(fenceOrder(semantics->second)),
                                  constant(fenceScope(scope->second))};
    append(functions_, Op::OpFunctionCall,
           {void_, next_++, fenceFunction_, arguments[0], arguments[1], arguments[2]});
    return changed_ = true;
  }

  void declareFence() {
    append(newCapabilities_, Op::OpCapability, {static_cast<uint32_t>(spv::Capability::Linkage)});
    fenceFunction_ = next_++;
    Words operands = {fenceFunction_};
    appendString(operands, kFence);
    append(newAnnotations_, Op::OpName, operands);
    operands = {fenceFunction_, static_cast<uint32_t>(spv::Decoration::LinkageAttributes)};
    appendString(operands, kFence);
    operands.push_back(static_cast<uint32_t>(spv::LinkageType::Import));
    append(newAnnotations_, Op::OpDecorate, operands);
    if (void_ == 0) append(newTypes_, Op::OpTypeVoid, {void_ = next_++});
    if (fenceType_ == 0) {
      fenceType_ = next_++;
      append(newTypes_, Op::OpTypeFunction, {fenceType_, void_, u32_, u32_, u32_});
    }
    // Declarations come before definitions.
    Words declaration;
    append(declaration, Op::OpFunction, {void_, fenceFunction_, 0, fenceType_});
    for (int i = 0; i < 3; ++i) append(declaration, Op::OpFunctionParameter, {u32_, next_++});
    append(declaration, Op::OpFunctionEnd, {});
    functions_.insert(functions_.begin(), declaration.begin(), declaration.end());
  }

  bool atomic(Op op, std::span<const uint32_t> operands, size_t pointer) {
    if (operands.size() <= pointer) return false;
    Words changed(operands.begin(), operands.end());
    const auto type = typeOf_.find(operands[pointer]);
    const auto known = type == typeOf_.end() ? pointers_.end() : pointers_.find(type->second);
    if (known != pointers_.end() &&
        known->second.first == static_cast<uint32_t>(spv::StorageClass::Generic)) {
      constexpr auto kGlobal = static_cast<uint32_t>(spv::StorageClass::CrossWorkgroup);
      uint32_t& global = pointerTo_[{kGlobal, known->second.second}];
      if (global == 0) {
        global = next_++;
        append(newTypes_, Op::OpTypePointer, {global, kGlobal, known->second.second});
      }
      append(functions_, Op::OpGenericCastToPtr, {global, next_, operands[pointer]});
      changed[pointer] = next_++;
      changed_ = true;
    }
    append(functions_, op, changed);
    return inFunctions_;
  }

  std::span<const uint32_t> words_;
  uint32_t next_ = 0;
  bool changed_ = false, inTypes_ = false, inFunctions_ = false;
  uint32_t u32_ = 0, void_ = 0, fenceType_ = 0, fenceFunction_ = 0;
  absl::flat_hash_map<uint32_t, uint32_t> typeOf_;     // By result.
  absl::flat_hash_map<uint32_t, uint32_t> values_;     // Of constants of 32 bits, by result.
  absl::flat_hash_map<uint32_t, uint32_t> constants_;  // And the other way.
  absl::flat_hash_map<uint32_t, std::pair<uint32_t, uint32_t>> pointers_;   // Class, pointee.
  absl::flat_hash_map<std::pair<uint32_t, uint32_t>, uint32_t> pointerTo_;  // And the other way.
  Words newCapabilities_, head_, newAnnotations_, types_, newTypes_, functions_;
};

}  // namespace

absl::StatusOr<std::vector<uint32_t>> adaptForSpir(std::span<const uint32_t> words) {
  return Adapter(words).run();
}

}  // namespace mtlc::runtime
