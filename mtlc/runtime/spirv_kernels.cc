#include "mtlc/runtime/spirv_kernels.h"

#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_format.h"
#include "spirv/unified1/spirv.hpp11"

namespace mtlc::runtime {

namespace {

constexpr size_t kHeaderWords = 5;

struct TypeInfo {
  spv::Op op = spv::Op::OpNop;
  std::span<const uint32_t> operands;  // After the result.
};

// A literal string at the front of `words`; nullopt when it does not end.
std::optional<std::string> stringAt(std::span<const uint32_t> words) {
  std::string text;
  for (uint32_t word : words) {
    for (int i = 0; i < 4; ++i, word >>= 8) {
      if ((word & 0xFF) == 0) return text;
      text += static_cast<char>(word & 0xFF);
    }
  }
  return std::nullopt;
}

class Reader {
 public:
  explicit Reader(std::span<const uint32_t> words) : words_(words) {}

  absl::StatusOr<std::vector<SpirvKernel>> read() {
    if (words_.size() < kHeaderWords || words_[0] != spv::MagicNumber) {
      return absl::InvalidArgumentError(
          "this is no SPIR-V module in the byte order of this machine");
    }
    for (size_t at = kHeaderWords; at < words_.size();) {
      const uint32_t count = words_[at] >> spv::WordCountShift;
      if (count == 0 || count > words_.size() - at) return broken(at);
      if (!instruction(static_cast<spv::Op>(words_[at] & spv::OpCodeMask),
                       words_.subspan(at + 1, count - 1))) {
        return broken(at);
      }
      at += count;
    }
    std::vector<SpirvKernel> kernels;
    for (const auto& [id, name] : entryPoints_) {
      const auto function = functions_.find(id);
      if (function == functions_.end()) {
        return absl::InvalidArgumentError(
            absl::StrFormat("entry point '%s' names no function of the module", name));
      }
      SpirvKernel& kernel = kernels.emplace_back();
      kernel.name = name;
      for (const auto& [param, type] : function->second) {
        kernel.params.push_back(describe(type));
        if (const auto known = names_.find(param); known != names_.end()) {
          kernel.params.back().name = known->second;
        }
      }
    }
    return kernels;
  }

 private:
  static absl::Status broken(size_t at) {
    return absl::InvalidArgumentError(
        absl::StrFormat("malformed SPIR-V: the instruction at word %d", at));
  }

  bool instruction(spv::Op op, std::span<const uint32_t> operands) {
    switch (op) {
      case spv::Op::OpEntryPoint: {
        if (operands.size() < 3) return false;
        if (operands[0] != static_cast<uint32_t>(spv::ExecutionModel::Kernel)) return true;
        std::optional<std::string> name = stringAt(operands.subspan(2));
        if (!name) return false;
        entryPoints_.push_back({operands[1], *std::move(name)});
        return true;
      }
      case spv::Op::OpName: {
        if (operands.size() < 2) return false;
        std::optional<std::string> name = stringAt(operands.subspan(1));
        if (!name) return false;
        names_[operands[0]] = *std::move(name);
        return true;
      }
      case spv::Op::OpTypeInt:
      case spv::Op::OpTypeFloat:
      case spv::Op::OpTypeVector:
      case spv::Op::OpTypePointer:
      case spv::Op::OpTypeBool:
        if (operands.size() < (op == spv::Op::OpTypeBool ? 1u : 2u)) return false;
        types_[operands[0]] = {op, operands.subspan(1)};
        return true;
      case spv::Op::OpFunction:
        if (operands.size() != 4) return false;
        current_ = operands[1];
        functions_[current_];
        return true;
      case spv::Op::OpFunctionParameter:
        if (operands.size() != 2) return false;
        functions_[current_].push_back({operands[1], operands[0]});
        return true;
      default:
        return true;
    }
  }

  KernelParam describe(uint32_t type) const {
    KernelParam param;
    const auto known = types_.find(type);
    if (known == types_.end()) {
      param.kind = KernelParam::Kind::Other;
      return param;
    }
    const TypeInfo& info = known->second;
    if (info.op == spv::Op::OpTypePointer) {
      switch (static_cast<spv::StorageClass>(info.operands[0])) {
        case spv::StorageClass::CrossWorkgroup:
          param.kind = KernelParam::Kind::GlobalPointer;
          break;
        case spv::StorageClass::UniformConstant:
          param.kind = KernelParam::Kind::ConstantPointer;
          break;
        case spv::StorageClass::Workgroup:
          param.kind = KernelParam::Kind::WorkgroupPointer;
          break;
        default:  // A structure by value, among others.
          param.kind = KernelParam::Kind::Other;
      }
      return param;
    }
    param.bytes = bytesOf(type, 0);
    if (param.bytes == 0) param.kind = KernelParam::Kind::Other;
    return param;
  }

  uint32_t bytesOf(uint32_t type, int depth) const {
    const auto known = types_.find(type);
    if (known == types_.end() || depth > 1) return 0;
    const TypeInfo& info = known->second;
    if (info.op == spv::Op::OpTypeInt || info.op == spv::Op::OpTypeFloat) {
      return info.operands[0] <= 64 ? info.operands[0] / 8 : 0;
    }
    if (info.op != spv::Op::OpTypeVector || info.operands.size() < 2 || info.operands[1] > 16) {
      return 0;
    }
    // A vector of three takes the room of four (OpenCL C, 6.1.5).
    const uint32_t count = info.operands[1] == 3 ? 4 : info.operands[1];
    return bytesOf(info.operands[0], depth + 1) * count;
  }

  std::span<const uint32_t> words_;
  absl::flat_hash_map<uint32_t, TypeInfo> types_;
  absl::flat_hash_map<uint32_t, std::string> names_;
  absl::flat_hash_map<uint32_t, std::vector<std::pair<uint32_t, uint32_t>>> functions_;
  std::vector<std::pair<uint32_t, std::string>> entryPoints_;
  uint32_t current_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<SpirvKernel>> readSpirvKernels(std::span<const uint32_t> words) {
  return Reader(words).read();
}

}  // namespace mtlc::runtime
