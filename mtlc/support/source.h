// Source files and positions in them.

#ifndef MTLC_SUPPORT_SOURCE_H_
#define MTLC_SUPPORT_SOURCE_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace mtlc {

// A file known to a SourceManager; 0 is "no file".
using FileId = uint32_t;

// A position: file, 1-based line and 1-based byte column, in eight bytes without any table. Line or
// column past what fits are clamped. The default value means "unknown".
class SourceLoc {
 public:
  static constexpr uint32_t kMaxFile = (1u << 14) - 1;
  static constexpr uint32_t kMaxLine = (1u << 28) - 1;
  static constexpr uint32_t kMaxColumn = (1u << 22) - 1;

  constexpr SourceLoc() = default;
  constexpr SourceLoc(FileId file, uint32_t line, uint32_t column)
      : bits_(uint64_t{file > kMaxFile ? 0 : file} << 50 |
              uint64_t{line > kMaxLine ? kMaxLine : line} << 22 |
              uint64_t{column > kMaxColumn ? kMaxColumn : column}) {}

  constexpr bool valid() const { return bits_ != 0; }
  constexpr FileId file() const { return static_cast<FileId>(bits_ >> 50); }
  constexpr uint32_t line() const { return static_cast<uint32_t>(bits_ >> 22) & kMaxLine; }
  constexpr uint32_t column() const { return static_cast<uint32_t>(bits_) & kMaxColumn; }

  friend constexpr bool operator==(SourceLoc a, SourceLoc b) = default;
  // Orders by file, then position.
  friend constexpr auto operator<=>(SourceLoc a, SourceLoc b) = default;

 private:
  uint64_t bits_ = 0;
};

// `length` bytes from `begin`, all on one line. Length 0 marks a point.
struct SourceRange {
  SourceLoc begin;
  uint32_t length = 0;

  constexpr SourceRange() = default;
  constexpr SourceRange(SourceLoc loc, uint32_t length = 0)  // NOLINT: a location is a range.
      : begin(loc), length(length) {}
};

// Owns the texts of the files of one compilation. File ids stay valid for its life.
class SourceManager {
 public:
  SourceManager();

  // Registers `text` under `name`. A UTF-8 byte order mark at the start is dropped.
  FileId add(std::string name, std::string text);
  // Registers a name without a text (a location read from an IR dump). The same name gives the same
  // id.
  FileId addName(std::string_view name);

  std::string_view name(FileId file) const;
  std::string_view text(FileId file) const;
  bool hasText(FileId file) const;
  // The line that `loc` is on, without its newline; empty when there is no text.
  std::string_view lineText(SourceLoc loc) const;
  uint32_t fileCount() const { return static_cast<uint32_t>(files_.size()); }

 private:
  struct File {
    std::string name;
    std::string text;
    bool hasText = false;
    mutable std::vector<uint32_t> lineStarts;  // Filled at the first lineText().
  };
  std::deque<File> files_;
};

}  // namespace mtlc

#endif  // MTLC_SUPPORT_SOURCE_H_
