// Reading and writing whole files for the tools.
//
// Errors are absl::Status whose message is the bare reason ("no such file or directory"); the
// caller knows the path and puts it in front.

#ifndef MTLC_SUPPORT_FILE_IO_H_
#define MTLC_SUPPORT_FILE_IO_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace mtlc {

// A larger input is refused rather than let it exhaust memory.
inline constexpr size_t kMaxInputBytes = size_t{1} << 28;

// The bytes of the file `path`, or of standard input for "-". Pipes and devices work.
// kNotFound, kPermissionDenied, kInvalidArgument (a folder), kResourceExhausted (more than
// `maxBytes`), kUnknown (any other failure).
absl::StatusOr<std::string> readFile(const std::string& path, size_t maxBytes = kMaxInputBytes);

// Puts `contents` at `path`, or on standard output for "-". A regular file appears or changes all
// at once: a temporary file beside it is renamed over it, and on failure it stays as it was. A
// symbolic link keeps pointing where it did; an existing file keeps its permissions. Anything that
// is no regular file (/dev/null, a pipe), and whatever standard output already goes to, is written
// in place. Not flushed to the disk: this guards against failing programs, not failing power.
// Errors as for readFile; kNotFound means that the folder is missing.
absl::Status writeFile(const std::string& path, std::string_view contents);

}  // namespace mtlc

#endif  // MTLC_SUPPORT_FILE_IO_H_
