#include "mtlc/support/source.h"

#include <utility>

namespace mtlc {

SourceManager::SourceManager() { files_.emplace_back(); }

FileId SourceManager::add(std::string name, std::string text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  files_.push_back({std::move(name), std::move(text), true, {}});
  return static_cast<FileId>(files_.size() - 1);
}

FileId SourceManager::addName(std::string_view name) {
  for (size_t i = 1; i < files_.size(); ++i) {
    if (files_[i].name == name) return static_cast<FileId>(i);
  }
  files_.push_back({std::string(name), {}, false, {}});
  return static_cast<FileId>(files_.size() - 1);
}

std::string_view SourceManager::name(FileId file) const {
  return file < files_.size() ? std::string_view(files_[file].name) : std::string_view();
}

std::string_view SourceManager::text(FileId file) const {
  return file < files_.size() ? std::string_view(files_[file].text) : std::string_view();
}

bool SourceManager::hasText(FileId file) const {
  return file < files_.size() && files_[file].hasText;
}

std::string_view SourceManager::lineText(SourceLoc loc) const {
  if (!hasText(loc.file()) || loc.line() == 0) return {};
  const File& file = files_[loc.file()];
  if (file.lineStarts.empty()) {
    file.lineStarts.push_back(0);
    for (size_t i = 0; i < file.text.size(); ++i) {
      if (file.text[i] == '\n') file.lineStarts.push_back(static_cast<uint32_t>(i + 1));
    }
  }
  if (loc.line() > file.lineStarts.size()) return {};
  std::string_view rest = std::string_view(file.text).substr(file.lineStarts[loc.line() - 1]);
  rest = rest.substr(0, rest.find('\n'));
  if (rest.ends_with('\r')) rest.remove_suffix(1);
  return rest;
}

}  // namespace mtlc
