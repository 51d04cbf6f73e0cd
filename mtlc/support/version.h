// The version of the toolchain as a whole; --version and artefacts name it.

#ifndef MTLC_SUPPORT_VERSION_H_
#define MTLC_SUPPORT_VERSION_H_

#include <string_view>

namespace mtlc {
inline constexpr std::string_view kVersion = "0.1.0";
}  // namespace mtlc

#endif  // MTLC_SUPPORT_VERSION_H_
