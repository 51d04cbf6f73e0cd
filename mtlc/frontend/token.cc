#include "mtlc/frontend/token.h"

namespace mtlc::frontend {
namespace {

constexpr std::string_view kTokenTexts[] = {
    "end of file", "a name",   "an integer",          "a floating-point number",
    "a character", "a string", "an unreadable token",
#define KEYWORD(Id, text) text,
#define TYPE_KEYWORD(Id, text) text,
#define PUNCT(Id, text) text,
#include "mtlc/frontend/token.def"
};

constexpr std::string_view kKnownNames[] = {
#define KEYWORD(Id, text) text,
#define TYPE_KEYWORD(Id, text) text,
#include "mtlc/frontend/token.def"
#define NAME(Id, text) text,
#include "mtlc/frontend/names.def"
};

}  // namespace

std::string_view tokenText(TokenKind kind) { return kTokenTexts[static_cast<size_t>(kind)]; }

Interner::Interner() {
  texts_.reserve(1024);
  ids_.reserve(1024);
  texts_.push_back({});
  for (std::string_view text : kKnownNames) intern(text);
}

Name Interner::intern(std::string_view text) {
  auto found = ids_.find(text);
  if (found != ids_.end()) return Name{found->second};
  std::string_view kept = arena_.copy(text);
  uint32_t id = static_cast<uint32_t>(texts_.size());
  texts_.push_back(kept);
  ids_.emplace(kept, id);
  return Name{id};
}

}  // namespace mtlc::frontend
