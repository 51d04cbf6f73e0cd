#include "tools/mtlc-run/arguments.h"

#include <algorithm>
#include <span>
#include <utility>

#include "absl/strings/str_format.h"

namespace mtlc::run {
namespace {

absl::Status invalid(std::string message) { return absl::InvalidArgumentError(std::move(message)); }

// True if elements of type `given` may fill memory that the source declares as `wanted`. Formats of
// 16 bits travel as u16, and bool as u8.
bool fillsMemory(DType wanted, DType given) {
  if (wanted == given) return true;
  if (wanted == DType::Bool) return given == DType::U8;
  if (wanted == DType::U16) return given == DType::F16 || given == DType::BF16;
  if (wanted == DType::F16 || wanted == DType::BF16) return given == DType::U16;
  return false;
}

// True if a scalar of this type may be the parameter. Signedness is the source language's affair.
bool fitsScalar(const Parameter& parameter, DType given) {
  const DTypeInfo& info = dtypeInfo(given);
  if (parameter.bytes != info.bytes) return false;
  switch (parameter.kind) {
    case Parameter::Kind::Bool:
      return given == DType::Bool;
    case Parameter::Kind::Integer:
      return !info.isFloat && given != DType::Bool;
    case Parameter::Kind::Float:  // Formats of 16 bits travel as u16, too.
      if (parameter.exact && info.isFloat) return given == *parameter.exact;
      return info.isFloat || given == DType::U16;
    case Parameter::Kind::Pointer:  // An address.
      return given == DType::U64;
    case Parameter::Kind::Bytes:
      return true;
    case Parameter::Kind::Workgroup:
      return false;
  }
  return false;
}

// Splits "INDEX:REST"; no REST without a colon.
absl::StatusOr<std::pair<size_t, std::optional<std::string_view>>> splitIndex(
    std::string_view text) {
  size_t colon = text.find(':');
  absl::StatusOr<uint64_t> index = parseScalar(DType::U32, text.substr(0, colon));
  if (!index.ok() || text.substr(0, 2) == "0x") {
    return invalid(absl::StrFormat("'%s' is no index of an argument", text.substr(0, colon)));
  }
  std::optional<std::string_view> rest;
  if (colon != std::string_view::npos) rest = text.substr(colon + 1);
  return std::pair(static_cast<size_t>(*index), rest);
}

}  // namespace

absl::StatusOr<ResultRequest> parseOut(std::string_view text) {
  auto split = splitIndex(text);
  if (!split.ok()) return split.status();
  if (!split->second || split->second->empty()) return invalid("write INDEX:FILE.npy");
  return ResultRequest{split->first, std::nullopt, std::string(*split->second)};
}

absl::StatusOr<ResultRequest> parsePrint(std::string_view text) {
  auto split = splitIndex(text);
  if (!split.ok()) return split.status();
  ResultRequest result{split->first, std::nullopt, ""};
  if (split->second) {
    absl::StatusOr<uint64_t> count = parseScalar(DType::U64, *split->second);
    if (!count.ok()) return invalid(absl::StrFormat("'%s' is no element count", *split->second));
    result.count = *count;
  }
  return result;
}

absl::Status Arguments::parse(const std::vector<std::string>& specs) {
  uint32_t buffers = 0;
  for (size_t i = 0; i < specs.size(); ++i) {
    absl::StatusOr<ArgSpec> spec = parseArgSpec(specs[i]);
    if (!spec.ok()) {
      return absl::Status(spec.status().code(), absl::StrFormat("argument %d, '%s': %s", i,
                                                                specs[i], spec.status().message()));
    }
    specs_.push_back(*std::move(spec));
    texts_.push_back(specs[i]);
    bufferIndex_.push_back(specs_[i].kind == ArgSpec::Kind::Buffer ? buffers++ : 0);
  }
  return absl::OkStatus();
}

absl::Status Arguments::match(std::string_view kernel, const std::vector<Parameter>& all) {
  std::span<const Parameter> parameters = all;
  if (!all.empty() && all.back().isArena &&
      (specs_.size() < all.size() || specs_[all.size() - 1].kind != ArgSpec::Kind::Workgroup)) {
    parameters = parameters.first(all.size() - 1);
  }
  // Buffers that only tensor maps name follow the parameters' arguments.
  std::vector<bool> mapped(specs_.size(), false);
  for (const ArgSpec& spec : specs_) {
    if (spec.kind == ArgSpec::Kind::TensorMap && spec.tensorMap.buffer < specs_.size()) {
      mapped[spec.tensorMap.buffer] = true;
    }
  }
  bool fits = parameters.size() <= specs_.size();
  for (size_t i = parameters.size(); i < specs_.size(); ++i) {
    fits = fits && mapped[i] && specs_[i].kind == ArgSpec::Kind::Buffer;
  }
  if (!fits) {
    return invalid(absl::StrFormat("kernel '%s' takes %d arguments, and there are %d", kernel,
                                   parameters.size(), specs_.size()));
  }
  parameterCount_ = parameters.size();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const ArgSpec& spec = specs_[i];
    const Parameter& parameter = parameters[i];
    isPointer_.push_back(parameter.bytes != 128);
    std::string problem;
    switch (spec.kind) {
      case ArgSpec::Kind::Scalar:
        if (!fitsScalar(parameter, spec.type)) {
          problem = absl::StrFormat("%s does not fit it", dtypeInfo(spec.type).name);
        }
        break;
      case ArgSpec::Kind::Bytes:
        if (spec.bytes.size() != parameter.bytes) {
          problem = absl::StrFormat("it has %d bytes, not %d", parameter.bytes, spec.bytes.size());
        }
        break;
      case ArgSpec::Kind::TensorMap:
        if (spec.tensorMap.buffer >= specs_.size() ||
            specs_[spec.tensorMap.buffer].kind != ArgSpec::Kind::Buffer) {
          problem = absl::StrFormat("argument %d is no buffer", spec.tensorMap.buffer);
        } else if (parameter.kind != Parameter::Kind::Pointer && parameter.bytes != 8 &&
                   parameter.bytes != 128) {
          problem = "a tensor map has 128 bytes, or is pointed to";
        }
        break;
      case ArgSpec::Kind::Workgroup:
        if (parameter.kind != Parameter::Kind::Workgroup) {
          problem = "it is no pointer to memory of the work-group";
        }
        break;
      case ArgSpec::Kind::Buffer:
        if (parameter.kind == Parameter::Kind::Bytes && parameter.bytes == 8) break;
        if (parameter.kind != Parameter::Kind::Pointer) {
          problem = "a buffer needs a pointer";
        } else if (parameter.exact && !fillsMemory(*parameter.exact, spec.type)) {
          problem = absl::StrFormat("its elements are %s, not %s", dtypeInfo(*parameter.exact).name,
                                    dtypeInfo(spec.type).name);
        }
        break;
    }
    if (!problem.empty()) {
      return invalid(absl::StrFormat("argument %d, '%s', is parameter '%s' of type %s: %s", i,
                                     texts_[i], parameter.name, parameter.typeName, problem));
    }
  }
  return absl::OkStatus();
}

absl::Status Arguments::checkResult(const ResultRequest& result) const {
  if (result.index >= specs_.size()) {
    return invalid(absl::StrFormat("there is no argument %d; they count from 0", result.index));
  }
  const ArgSpec& spec = specs_[result.index];
  if (spec.kind != ArgSpec::Kind::Buffer) {
    return invalid(absl::StrFormat("argument %d is no buffer", result.index));
  }
  const uint64_t count = spec.bytes.size() / dtypeInfo(spec.type).bytes;
  if (result.count && *result.count > count) {
    return invalid(
        absl::StrFormat("argument %d has %d elements, not %d", result.index, count, *result.count));
  }
  return absl::OkStatus();
}

void Arguments::moveTo(Request& request, const std::vector<ResultRequest>& results) {
  for (size_t i = 0; i < specs_.size(); ++i) {
    ArgSpec& spec = specs_[i];
    const size_t size = dtypeInfo(spec.type).bytes;
    Argument argument;
    switch (spec.kind) {
      case ArgSpec::Kind::Scalar:
        for (size_t byte = 0; byte < size; ++byte) {
          argument.bytes.push_back(static_cast<uint8_t>(spec.bits >> (8 * byte)));
        }
        break;
      case ArgSpec::Kind::Bytes:
        argument.bytes = spec.bytes;
        break;
      case ArgSpec::Kind::Workgroup:
        argument.workgroupBytes = spec.bits;
        break;
      case ArgSpec::Kind::TensorMap:
        argument.buffer = bufferIndex_[spec.tensorMap.buffer];
        argument.isPointer = i < isPointer_.size() && isPointer_[i];
        argument.tensorMap = std::move(spec.tensorMap);
        break;
      case ArgSpec::Kind::Buffer: {
        argument.isBuffer = true;
        argument.buffer = bufferIndex_[i];
        Buffer buffer;
        for (const ResultRequest& result : results) {
          if (result.index != i) continue;
          uint64_t bytes = result.count ? *result.count * size : spec.bytes.size();
          buffer.readBack = std::max(buffer.readBack, bytes);
        }
        buffer.bytes = std::move(spec.bytes);
        buffer.initialised = spec.initialised;
        buffer.name = absl::StrFormat("the buffer of argument %d", i);
        request.buffers.push_back(std::move(buffer));
        break;
      }
    }
    if (i < parameterCount_) request.arguments.push_back(std::move(argument));
  }
}

}  // namespace mtlc::run
