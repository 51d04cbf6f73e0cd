#include "mtlc/support/file_io.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <set>
#include <thread>

#include "gtest/gtest.h"

namespace mtlc {
namespace {

class FileIo : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/file_io_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  std::string at(const std::string& name) const { return folder_ + "/" + name; }
  std::set<std::string> names() const {
    std::set<std::string> out;
    DIR* dir = ::opendir(folder_.c_str());
    while (dirent* entry = ::readdir(dir)) out.insert(entry->d_name);
    ::closedir(dir);
    out.erase(".");
    out.erase("..");
    return out;
  }
  static mode_t mode(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0);
    return info.st_mode & 07777;
  }
  std::string folder_;
};

TEST_F(FileIo, RoundTripsAnyBytes) {
  std::string bytes;
  for (int i = 0; i < 300000; ++i) bytes += static_cast<char>(i * 31);
  ASSERT_TRUE(writeFile(at("a"), bytes).ok());
  EXPECT_EQ(readFile(at("a")).value(), bytes);
  ASSERT_TRUE(writeFile(at("a"), "").ok());
  EXPECT_EQ(readFile(at("a")).value(), "");
  EXPECT_EQ(names(), std::set<std::string>{"a"});
}

TEST_F(FileIo, BoundsTheSize) {
  ASSERT_TRUE(writeFile(at("a"), "12345").ok());
  EXPECT_EQ(readFile(at("a"), 5).value(), "12345");
  EXPECT_EQ(readFile(at("a"), 4).status().code(), absl::StatusCode::kResourceExhausted);
  // No size to look at beforehand, and no end.
  EXPECT_EQ(readFile("/dev/zero", 1 << 20).status().code(), absl::StatusCode::kResourceExhausted);
  // A file that claims to be empty.
  EXPECT_FALSE(readFile("/proc/self/status").value().empty());
}

TEST_F(FileIo, TypesItsErrors) {
  EXPECT_EQ(readFile(at("none")).status(), absl::NotFoundError("no such file or directory"));
  EXPECT_EQ(readFile(folder_).status(), absl::InvalidArgumentError("is a directory"));
  EXPECT_EQ(readFile("").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(writeFile(at("none/x"), "x").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(writeFile(folder_, "x"), absl::InvalidArgumentError("is a directory"));
  EXPECT_EQ(writeFile(at("none/"), "x"), absl::InvalidArgumentError("is a directory"));
  EXPECT_EQ(writeFile("", "x").code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(writeFile(at("f"), "x").ok());
  EXPECT_EQ(writeFile(at("f/x"), "x").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(names(), std::set<std::string>{"f"});
}

TEST_F(FileIo, ReplacesAFileButNotItsModeOrItsLinks) {
  ASSERT_TRUE(writeFile(at("a"), "old").ok());
  ASSERT_EQ(::chmod(at("a").c_str(), 0750), 0);
  ASSERT_EQ(::symlink("a", at("link").c_str()), 0);
  ASSERT_TRUE(writeFile(at("link"), "new").ok());
  EXPECT_EQ(readFile(at("a")).value(), "new");
  EXPECT_EQ(mode(at("a")), 0750u);
  struct stat info;
  ASSERT_EQ(::lstat(at("link").c_str(), &info), 0);
  EXPECT_TRUE(S_ISLNK(info.st_mode));
  ASSERT_EQ(::symlink("nowhere", at("broken").c_str()), 0);
  EXPECT_FALSE(writeFile(at("broken"), "x").ok());
  mode_t mask = ::umask(027);
  ASSERT_TRUE(writeFile(at("fresh"), "x").ok());
  ::umask(mask);
  EXPECT_EQ(mode(at("fresh")), 0640u);
}

TEST_F(FileIo, AFailedWriteLeavesTheOldFileAndNothingElse) {
  ASSERT_TRUE(writeFile(at("a"), "old").ok());
  // Files may not grow past 1000 bytes in this process: the write fails half way.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit tight{1000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  absl::Status status = writeFile(at("a"), std::string(5000, 'x'));
  absl::Status fresh = writeFile(at("b"), std::string(5000, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(fresh.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(readFile(at("a")).value(), "old");
  EXPECT_EQ(names(), std::set<std::string>{"a"});
}

TEST_F(FileIo, WritesInPlaceWhatIsNoRegularFile) {
  EXPECT_TRUE(writeFile("/dev/null", "x").ok());
  struct stat info;
  ASSERT_EQ(::stat("/dev/null", &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = readFile(at("pipe")).value(); });
  EXPECT_TRUE(writeFile(at("pipe"), std::string(200000, 'y')).ok());
  reader.join();
  EXPECT_EQ(got, std::string(200000, 'y'));
  EXPECT_EQ(writeFile("/dev/full", "x").code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(FileIo, StandardStreams) {
  // Redirects this process's standard output to a file, as `tool -o FILE >FILE` would.
  int saved = ::dup(STDOUT_FILENO);
  int file = ::open(at("out").c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  ASSERT_EQ(::dup2(file, STDOUT_FILENO), STDOUT_FILENO);
  absl::Status dash = writeFile("-", "one ");
  absl::Status device = writeFile("/dev/stdout", "two ");
  absl::Status itself = writeFile(at("out"), "three");
  ::dup2(saved, STDOUT_FILENO);
  ::close(saved);
  EXPECT_TRUE(dash.ok() && device.ok() && itself.ok());
  struct stat written, named;
  ASSERT_EQ(::fstat(file, &written), 0);
  ASSERT_EQ(::stat(at("out").c_str(), &named), 0);
  EXPECT_EQ(written.st_ino, named.st_ino) << "the redirected file was replaced";
  EXPECT_EQ(readFile(at("out")).value(), "one two three");

  int input = ::dup(STDIN_FILENO);
  ASSERT_EQ(::lseek(file, 4, SEEK_SET), 4);
  ASSERT_EQ(::dup2(file, STDIN_FILENO), STDIN_FILENO);
  EXPECT_EQ(readFile("-").value(), "two three");
  ::dup2(input, STDIN_FILENO);
  ::close(input);
  ::close(file);
}

}  // namespace
}  // namespace mtlc
