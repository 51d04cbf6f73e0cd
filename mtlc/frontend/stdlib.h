// The standard library, embedded in the tools.

#ifndef MTLC_FRONTEND_STDLIB_H_
#define MTLC_FRONTEND_STDLIB_H_

#include <optional>
#include <string_view>

namespace mtlc::frontend {

// The source of "std/<name>": stdlib/std/<name>.mettle of this folder. Nothing for an unknown name.
std::optional<std::string_view> embeddedModule(std::string_view name);

}  // namespace mtlc::frontend

#endif  // MTLC_FRONTEND_STDLIB_H_
