#include "mtlc/frontend/stdlib.h"

namespace mtlc::frontend {
namespace {

struct EmbeddedModule {
  std::string_view name;
  std::string_view text;
};
constexpr EmbeddedModule kModules[] = {
#include "mtlc/frontend/stdlib_text.inc"
};

}  // namespace

std::optional<std::string_view> embeddedModule(std::string_view name) {
  for (const EmbeddedModule& m : kModules) {
    if (m.name == name) return m.text;
  }
  return std::nullopt;
}

}  // namespace mtlc::frontend
