#include "mtlc/support/file_io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"

namespace mtlc {
namespace {

// A file descriptor that closes itself; the standard streams are borrowed.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ > STDERR_FILENO) ::close(fd_);
  }
  int get() const { return fd_; }
  // Closes now. False when the system reports a delayed write error.
  bool close() {
    int fd = std::exchange(fd_, -1);
    return fd <= STDERR_FILENO || ::close(fd) == 0;
  }

 private:
  int fd_;
};

absl::Status errnoStatus(int error) {
  char buffer[128];
  std::string text = ::strerror_r(error, buffer, sizeof buffer);  // The GNU form.
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] += 'a' - 'A';
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(text);
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(text);
    case EISDIR:
    case ENAMETOOLONG:
    case EINVAL:
    case ELOOP:
      return absl::InvalidArgumentError(text);
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return absl::ResourceExhaustedError(text);
    default:
      return absl::UnknownError(text);
  }
}

absl::Status writeAll(int fd, std::string_view contents) {
  while (!contents.empty()) {
    ssize_t n = ::write(fd, contents.data(), contents.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return errnoStatus(errno);
    }
    contents.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

bool sameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Creates a file beside `target` that no one else has, and gives its name.
int openTemporary(const std::string& target, std::string& name) {
  static std::atomic<unsigned> counter{0};
  size_t slash = target.rfind('/');
  std::string folder = slash == std::string::npos ? "" : target.substr(0, slash + 1);
  for (int attempt = 0; attempt < 100; ++attempt) {
    name = absl::StrFormat("%s.mtlc-%d-%u.tmp", folder, ::getpid(), counter.fetch_add(1));
    // Mode 0666 and the umask, as for any file that a program creates.
    int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

}  // namespace

absl::StatusOr<std::string> readFile(const std::string& path, size_t maxBytes) {
  Descriptor fd(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return errnoStatus(errno);
  struct stat info;
  if (::fstat(fd.get(), &info) != 0) return errnoStatus(errno);
  std::string out;
  // The size is only a hint: files of /proc say 0, and a file may grow.
  size_t expected = S_ISREG(info.st_mode) ? static_cast<size_t>(info.st_size) : 0;
  if (expected > maxBytes) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("%d bytes, more than the limit of %d", expected, maxBytes));
  }
  size_t have = 0;
  for (size_t step = expected + 1;; step = std::max<size_t>(have, 1 << 16)) {
    out.resize(have + step);
    while (have < out.size()) {
      ssize_t n = ::read(fd.get(), out.data() + have, out.size() - have);
      if (n < 0) {
        if (errno == EINTR) continue;
        return errnoStatus(errno);
      }
      if (n == 0) {
        out.resize(have);
        return out;
      }
      have += static_cast<size_t>(n);
      if (have > maxBytes) {
        return absl::ResourceExhaustedError(
            absl::StrFormat("more than the limit of %d bytes", maxBytes));
      }
    }
  }
}

absl::Status writeFile(const std::string& path, std::string_view contents) {
  if (path == "-") return writeAll(STDOUT_FILENO, contents);
  if (path.empty()) return errnoStatus(ENOENT);
  std::string target = path;
  struct stat info;
  bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists) {
    struct stat out;
    // Renaming over the file that the shell redirects us to would cut the shell off from it.
    if (::fstat(STDOUT_FILENO, &out) == 0 && sameFile(info, out)) {
      return writeAll(STDOUT_FILENO, contents);
    }
    if (S_ISDIR(info.st_mode)) return errnoStatus(EISDIR);
    if (!S_ISREG(info.st_mode)) {
      Descriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
      if (fd.get() < 0) return errnoStatus(errno);
      absl::Status status = writeAll(fd.get(), contents);
      if (status.ok() && !fd.close()) return errnoStatus(errno);
      return status;
    }
    // Renaming needs only the folder's permission; a protected file is still not ours to replace.
    if (::access(path.c_str(), W_OK) != 0) return errnoStatus(errno);
    char real[PATH_MAX];
    if (::realpath(path.c_str(), real) == nullptr) return errnoStatus(errno);
    target = real;
  } else if (errno != ENOENT) {
    return errnoStatus(errno);
  } else if (::lstat(path.c_str(), &info) == 0) {
    return absl::NotFoundError("a symbolic link to nowhere");
  } else if (path.back() == '/') {
    return errnoStatus(EISDIR);
  }
  std::string temporary;
  Descriptor fd(openTemporary(target, temporary));
  if (fd.get() < 0) return errnoStatus(errno);
  absl::Status status = writeAll(fd.get(), contents);
  if (status.ok() && exists && ::fchmod(fd.get(), info.st_mode & 07777) != 0) {
    status = errnoStatus(errno);
  }
  if (!fd.close() && status.ok()) status = errnoStatus(errno);
  if (status.ok() && ::rename(temporary.c_str(), target.c_str()) != 0) status = errnoStatus(errno);
  if (!status.ok()) ::unlink(temporary.c_str());
  return status;
}

}  // namespace mtlc
