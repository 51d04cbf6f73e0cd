#include "mtlc/support/npy.h"

#include <algorithm>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"

namespace mtlc {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kAlignment = 64;  // Of the data in the file.
constexpr size_t kMaxDimensions = 32;

absl::Status malformed(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrFormat("not a .npy file: %s", what));
}

// Reads the header, a Python dictionary literal with the keys descr, fortran_order and shape.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  absl::Status parse() {
    if (!take('{')) return malformed("its header is no dictionary");
    while (!take('}')) {
      std::optional<std::string_view> key = string();
      if (!key || !take(':')) return malformed("its header has no key where one should be");
      bool known = false;
      if (*key == "descr") known = setOnce(descr, string());
      if (*key == "fortran_order") known = setOnce(fortranOrder, boolean());
      if (*key == "shape") known = setOnce(shape, tuple());
      if (!known) {
        return malformed(absl::StrFormat("its header's '%s' cannot be read", *key));
      }
      if (!take(',') && peek() != '}') return malformed("its header lacks a comma");
    }
    skipSpace();
    if (at_ != text_.size()) return malformed("its header goes on after the dictionary");
    if (!descr || !fortranOrder || !shape) {
      return malformed("its header lacks descr, fortran_order or shape");
    }
    return absl::OkStatus();
  }

  std::optional<std::string_view> descr;
  std::optional<bool> fortranOrder;
  std::optional<std::vector<uint64_t>> shape;

 private:
  template <typename T>
  static bool setOnce(std::optional<T>& field, std::optional<T> value) {
    if (field || !value) return false;
    field = std::move(value);
    return true;
  }

  void skipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) {
      ++at_;
    }
  }
  char peek() {
    skipSpace();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  // Without escapes: the keys and type strings have none.
  std::optional<std::string_view> string() {
    char quote = peek();
    if (quote != '\'' && quote != '"') return std::nullopt;
    size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string_view found = text_.substr(at_ + 1, end - at_ - 1);
    if (found.find('\\') != std::string_view::npos) return std::nullopt;
    at_ = end + 1;
    return found;
  }
  std::optional<bool> boolean() {
    skipSpace();
    for (auto [word, value] : {std::pair<std::string_view, bool>("True", true), {"False", false}}) {
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return value;
    }
    return std::nullopt;
  }
  std::optional<uint64_t> number() {
    uint64_t value = 0;
    size_t start = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      if (value > (~uint64_t{0} - 9) / 10) return std::nullopt;
      value = value * 10 + static_cast<uint64_t>(text_[at_] - '0');
    }
    if (at_ == start) return std::nullopt;
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote long integers so.
    return value;
  }
  std::optional<std::vector<uint64_t>> tuple() {
    std::vector<uint64_t> values;
    if (!take('(')) return std::nullopt;
    while (!take(')')) {
      skipSpace();
      std::optional<uint64_t> value = number();
      if (!value || values.size() == kMaxDimensions) return std::nullopt;
      values.push_back(*value);
      if (!take(',') && peek() != ')') return std::nullopt;
    }
    return values;
  }

  std::string_view text_;
  size_t at_ = 0;
};

std::optional<DType> typeFromDescr(std::string_view descr) {
  for (int i = 0; i < kDTypeCount; ++i) {
    DType type = static_cast<DType>(i);
    if (type == DType::BF16) continue;  // Written as uint16.
    std::string_view known = dtypeInfo(type).npy;
    // One byte has no order, whatever is said of it; '=' is the order of the host, little here.
    if (descr == known) return type;
    if (descr.size() == known.size() && descr.substr(1) == known.substr(1)) {
      bool orderless = dtypeInfo(type).bytes == 1;
      if (orderless && (descr[0] == '<' || descr[0] == '>' || descr[0] == '=')) return type;
      if (!orderless && descr[0] == '=') return type;
    }
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<NpyArray> parseNpy(std::string_view file) {
  if (file.substr(0, kMagic.size()) != kMagic) return malformed("it does not start like one");
  if (file.size() < 10) return malformed("it is cut short");
  auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(file[i])); };
  const size_t major = byte(6), minor = byte(7);
  if (major < 1 || major > 3 || minor != 0) {
    return absl::UnimplementedError(absl::StrFormat(
        "format version %d.%d of .npy is not known; 1.0, 2.0 and 3.0 are", major, minor));
  }
  size_t start = 10;
  size_t length = byte(8) | byte(9) << 8;
  if (major >= 2) {
    if (file.size() < 12) return malformed("it is cut short");
    start = 12;
    length |= byte(10) << 16 | byte(11) << 24;
  }
  if (length > file.size() - start) return malformed("its header is cut short");
  HeaderParser header(file.substr(start, length));
  if (absl::Status s = header.parse(); !s.ok()) return s;

  NpyArray array;
  std::optional<DType> type = typeFromDescr(*header.descr);
  if (!type) {
    return absl::UnimplementedError(absl::StrFormat(
        "elements of type '%s' are not supported; use little-endian bool, integers or floats",
        *header.descr));
  }
  array.type = *type;
  array.shape = std::move(*header.shape);
  if (*header.fortranOrder && array.shape.size() > 1) {
    return absl::UnimplementedError("it is in Fortran order; save numpy.ascontiguousarray(…)");
  }
  const std::string_view data = file.substr(start + length);
  uint64_t bytes = dtypeInfo(array.type).bytes;
  const bool isEmpty =
      std::find(array.shape.begin(), array.shape.end(), uint64_t{0}) != array.shape.end();
  for (uint64_t extent : array.shape) {
    if (isEmpty) extent = 0;
    if (extent != 0 && bytes > data.size() / extent) return malformed("its data are cut short");
    bytes *= extent;
  }
  if (bytes != data.size()) return malformed("there is more in it than its shape says");
  array.data.assign(data.begin(), data.end());
  return array;
}

std::string formatNpy(DType type, std::span<const uint64_t> shape, std::span<const uint8_t> data) {
  std::string dims;
  for (uint64_t extent : shape) absl::StrAppendFormat(&dims, "%d, ", extent);
  if (shape.size() > 1) dims.resize(dims.size() - 2);  // (3, 4), but (3,)
  if (shape.size() == 1) dims.resize(dims.size() - 1);
  std::string header = absl::StrFormat("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
                                       dtypeInfo(type).npy, dims);
  const size_t before = kMagic.size() + 4;
  size_t length = header.size() + 1;
  length += (kAlignment - (before + length) % kAlignment) % kAlignment;
  header.resize(length - 1, ' ');
  header += '\n';

  std::string file(kMagic);
  file += '\x01';
  file += '\x00';
  file += static_cast<char>(length & 0xFF);
  file += static_cast<char>(length >> 8);
  file += header;
  file.append(reinterpret_cast<const char*>(data.data()), data.size());
  return file;
}

}  // namespace mtlc
