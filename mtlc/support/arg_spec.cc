#include "mtlc/support/arg_spec.h"

#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "mtlc/support/file_io.h"
#include "mtlc/support/npy.h"
#include "mtlc/support/random.h"
#include "mtlc/support/scalar_ops.h"

namespace mtlc {
namespace {

absl::Status invalid(std::string message) { return absl::InvalidArgumentError(std::move(message)); }

// Splits `text` at its first colon; the second part is empty if there is none.
std::pair<std::string_view, std::string_view> splitColon(std::string_view text) {
  size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {text, {}};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

FloatKind floatKind(DType type) {
  return type == DType::F16    ? FloatKind::F16
         : type == DType::BF16 ? FloatKind::BF16
         : type == DType::F32  ? FloatKind::F32
                               : FloatKind::F64;
}

// Fills a buffer element by element with the values that `next` gives.
template <typename Next>
void fill(ArgSpec& spec, uint64_t count, Next next) {
  const size_t size = dtypeInfo(spec.type).bytes;
  spec.bytes.resize(count * size);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t bits = next(i);
    std::memcpy(&spec.bytes[i * size], &bits, size);
  }
}

absl::Status generate(ArgSpec& spec, uint64_t count, std::string_view init) {
  const DType type = spec.type;
  const bool isFloat = dtypeInfo(type).isFloat;
  size_t equals = init.find('=');
  std::string_view name = init.substr(0, equals);
  std::string_view value =
      equals == std::string_view::npos ? std::string_view() : init.substr(equals + 1);
  const bool takesValue = name == "const" || name == "uniform" || name == "normal";
  if (takesValue != (equals != std::string_view::npos)) {
    return invalid(absl::StrFormat(
        takesValue ? "'%s' needs '=' and a value" : "'%s' takes no value, or is not known", name));
  }
  if (name == "zeros") {
    fill(spec, count, [](uint64_t) { return uint64_t{0}; });
  } else if (name == "poison") {
    spec.initialised = false;
    uint64_t bits = isFloat ? scalar::canonicalNan(floatKind(type)) : 0xCDCDCDCDCDCDCDCD;
    fill(spec, count, [bits](uint64_t) { return bits; });
  } else if (name == "iota") {
    fill(spec, count, [type](uint64_t i) { return scalarFromInteger(type, i); });
  } else if (name == "const") {
    absl::StatusOr<uint64_t> bits = parseScalar(type, value);
    if (!bits.ok()) return bits.status();
    fill(spec, count, [&](uint64_t) { return *bits; });
  } else if (takesValue) {
    absl::StatusOr<uint64_t> seed = parseScalar(DType::U64, value);
    if (!seed.ok()) return invalid(absl::StrFormat("'%s' is no seed", value));
    SplitMix64 random(*seed);
    if (name == "normal") {
      if (!isFloat) return invalid("'normal' is for float types; integers have 'uniform'");
      fill(spec, count, [&](uint64_t) {
        double sum = 0;
        for (int k = 0; k < 12; ++k) sum += random.unit();
        return scalar::fromDouble(floatKind(type), sum - 6);
      });
    } else if (isFloat) {
      fill(spec, count,
           [&](uint64_t) { return scalar::fromDouble(floatKind(type), 2 * random.unit() - 1); });
    } else {
      uint64_t mask = type == DType::Bool ? 1 : ~uint64_t{0};
      fill(spec, count, [&](uint64_t) { return random.next() & mask; });
    }
  } else {
    return invalid(absl::StrFormat(
        "'%s' is no way to fill a buffer: use zeros, poison, iota, const=V, uniform=SEED or "
        "normal=SEED",
        name));
  }
  return absl::OkStatus();
}

absl::StatusOr<ArgSpec> parseGenerated(DType type, std::string_view rest) {
  auto [countText, init] = splitColon(rest);
  absl::StatusOr<uint64_t> count = parseScalar(DType::U64, countText);
  if (!count.ok()) return invalid(absl::StrFormat("'%s' is no element count", countText));
  if (*count > kMaxArgBytes / dtypeInfo(type).bytes) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("a buffer of %d elements is too large", *count));
  }
  ArgSpec spec;
  spec.kind = ArgSpec::Kind::Buffer;
  spec.type = type;
  spec.shape = {*count};
  if (absl::Status s = generate(spec, *count, init); !s.ok()) return s;
  return spec;
}

absl::StatusOr<ArgSpec> parseBuffer(std::string_view rest) {
  auto [first, afterFirst] = splitColon(rest);
  if (std::optional<DType> type = dtypeFromName(first); type && first.size() < rest.size()) {
    return parseGenerated(*type, afterFirst);
  }
  std::string path(rest);
  absl::StatusOr<std::string> file = readFile(path, kMaxArgBytes);
  if (!file.ok()) {
    return absl::Status(file.status().code(),
                        absl::StrFormat("cannot read '%s': %s", path, file.status().message()));
  }
  absl::StatusOr<NpyArray> array = parseNpy(*file);
  if (!array.ok()) {
    return absl::Status(array.status().code(),
                        absl::StrFormat("'%s': %s", path, array.status().message()));
  }
  ArgSpec spec;
  spec.kind = ArgSpec::Kind::Buffer;
  spec.type = array->type;
  spec.bytes = std::move(array->data);
  spec.shape = std::move(array->shape);
  return spec;
}

absl::StatusOr<ArgSpec> parseBytes(std::string_view rest) {
  std::string path(rest);
  absl::StatusOr<std::string> file = readFile(path);
  if (!file.ok()) {
    return absl::Status(file.status().code(),
                        absl::StrFormat("cannot read '%s': %s", path, file.status().message()));
  }
  ArgSpec spec;
  spec.kind = ArgSpec::Kind::Bytes;
  spec.bytes.assign(file->begin(), file->end());
  return spec;
}

absl::StatusOr<std::vector<uint64_t>> parseList(std::string_view text) {
  std::vector<uint64_t> out;
  for (;;) {
    size_t comma = text.find(',');
    absl::StatusOr<uint64_t> value = parseScalar(DType::U64, text.substr(0, comma));
    if (!value.ok()) {
      return invalid(absl::StrFormat("'%s' is no number", text.substr(0, comma)));
    }
    out.push_back(*value);
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

absl::StatusOr<ArgSpec> parseTensorMap(std::string_view rest) {
  ArgSpec spec;
  spec.kind = ArgSpec::Kind::TensorMap;
  TensorMapSpec& map = spec.tensorMap;
  auto [indexText, afterIndex] = splitColon(rest);
  absl::StatusOr<uint64_t> index = parseScalar(DType::U32, indexText);
  if (!index.ok()) return invalid(absl::StrFormat("'%s' is no index of an argument", indexText));
  map.buffer = static_cast<size_t>(*index);
  auto [type, fields] = splitColon(afterIndex);
  map.type = std::string(type);
  while (!fields.empty()) {
    auto [field, after] = splitColon(fields);
    fields = after;
    size_t equals = field.find('=');
    std::string_view name = field.substr(0, equals);
    std::string_view text =
        equals == std::string_view::npos ? std::string_view() : field.substr(equals + 1);
    if (name == "fill" && (text == "nan" || text == "zero")) {
      map.nanFill = text == "nan";
      continue;
    }
    std::vector<uint64_t>* list = name == "dims"           ? &map.dims
                                  : name == "strides"      ? &map.strides
                                  : name == "box"          ? &map.box
                                  : name == "elem_strides" ? &map.elementStrides
                                                           : nullptr;
    if (list == nullptr && name != "swizzle") {
      return invalid(absl::StrFormat(
          "'%s' is no part of a tensor map: they are dims, strides, box, elem_strides, "
          "swizzle=32|64|128 and fill=nan",
          field));
    }
    absl::StatusOr<std::vector<uint64_t>> values = parseList(text);
    if (!values.ok()) return values.status();
    if (list != nullptr) {
      *list = *std::move(values);
    } else {
      uint64_t bytes = (*values)[0];
      if (values->size() != 1 || (bytes != 0 && bytes != 32 && bytes != 64 && bytes != 128)) {
        return invalid("a swizzle is of 0, 32, 64 or 128 bytes");
      }
      map.swizzle = static_cast<unsigned>(bytes);
    }
  }
  if (map.dims.empty() || map.box.size() != map.dims.size() ||
      map.strides.size() != map.dims.size() - 1 ||
      (!map.elementStrides.empty() && map.elementStrides.size() != map.dims.size())) {
    return invalid(
        "a tensor map needs as many numbers in box and elem_strides as in dims, and one less in "
        "strides");
  }
  return spec;
}

absl::StatusOr<ArgSpec> parseWorkgroup(std::string_view rest) {
  absl::StatusOr<uint64_t> bytes = parseScalar(DType::U32, rest);
  if (!bytes.ok()) return invalid(absl::StrFormat("'%s' is no size in bytes", rest));
  ArgSpec spec;
  spec.kind = ArgSpec::Kind::Workgroup;
  spec.bits = *bytes;
  return spec;
}

}  // namespace

absl::StatusOr<ArgSpec> parseArgSpec(std::string_view text) {
  auto [head, rest] = splitColon(text);
  if (head.size() == text.size()) {
    return invalid(
        "an argument is TYPE:VALUE, bytes:FILE, buf:TYPE:COUNT:INIT, buf:FILE.npy, "
        "tensormap:INDEX:TYPE:… or workgroup:BYTES");
  }
  if (head == "buf") return parseBuffer(rest);
  if (head == "bytes") return parseBytes(rest);
  if (head == "tensormap") return parseTensorMap(rest);
  if (head == "workgroup") return parseWorkgroup(rest);
  std::optional<DType> type = dtypeFromName(head);
  if (!type) return invalid(absl::StrFormat("'%s' is no type of an argument", head));
  absl::StatusOr<uint64_t> bits = parseScalar(*type, rest);
  if (!bits.ok()) return bits.status();
  ArgSpec spec;
  spec.type = *type;
  spec.bits = *bits;
  return spec;
}

}  // namespace mtlc
