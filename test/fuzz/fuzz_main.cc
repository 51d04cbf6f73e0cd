// A main for fuzz entry points (LLVMFuzzerTestOneInput) that needs no special compiler: replays a
// corpus, then runs deterministic mutations of it. An input that crashes, exhausts memory or takes
// too long is written to a file and ends the run with a non-zero code.

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "mtlc/support/file_io.h"
#include "mtlc/support/options.h"
#include "test/fuzz/mutator.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
// Present only in programs built with a sanitizer.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());
extern "C" __attribute__((weak)) void __asan_init();

namespace mtlc::fuzz {
namespace {

// What the handlers may touch: the input in hand and where it goes.
const char* currentData = nullptr;
size_t currentSize = 0;
char crashPath[4096];

void say(const char* text) {
  if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

// Only calls that are safe in a signal handler.
void saveInput() {
  if (currentData == nullptr) return;
  int fd = ::open(crashPath, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  size_t done = 0;
  while (fd >= 0 && done < currentSize) {
    ssize_t n = ::write(fd, currentData + done, currentSize - done);
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  if (fd >= 0) ::close(fd);
  say("fuzz: the input is in ");
  say(crashPath);
  say("\n");
  currentData = nullptr;
}

void onCrash(int signal) {
  say("fuzz: crashed\n");
  saveInput();
  ::raise(signal);  // SA_RESETHAND: now the default action.
}

void onTimeout(int) {
  say("fuzz: took too long\n");
  saveInput();
  ::_exit(1);
}

void setLimits() {
  // The crash may be a stack overflow.
  static char stack[1 << 16];
  stack_t alternate{};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof stack;
  ::sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_handler = onCrash;
  action.sa_flags = SA_ONSTACK | static_cast<int>(SA_RESETHAND) | SA_NODEFER;
  ::sigaction(SIGABRT, &action, nullptr);
  if (&__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(saveInput);
  // AddressSanitizer handles these itself, and reserves more address space than any limit allows.
  if (&__asan_init == nullptr) {
    for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) ::sigaction(s, &action, nullptr);
    constexpr rlim_t kMemory = rlim_t{4} << 30;
    rlimit limit{kMemory, kMemory};
    ::setrlimit(RLIMIT_AS, &limit);
  }
  action.sa_handler = onTimeout;
  ::sigaction(SIGPROF, &action, nullptr);
}

// Processor time, not wall time: a busy machine is no fault of the input.
void setTimer(int64_t seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = seconds;
  ::setitimer(ITIMER_PROF, &timer, nullptr);
}

// The files under `path`, in the order of their names.
void listFiles(const std::string& path, std::vector<std::string>& out) {
  DIR* dir = ::opendir(path.c_str());
  if (dir == nullptr) {
    out.push_back(path);
    return;
  }
  std::vector<std::string> names;
  while (dirent* entry = ::readdir(dir)) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  ::closedir(dir);
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) listFiles(path + "/" + name, out);
}

class Fuzzer {
 public:
  int main(int argc, char** argv) {
    std::vector<std::string> paths;
    table_.positional("FILE|FOLDER", 0, 1 << 20, &paths);
    table_.integer("--runs", "N", &runs_, 0, INT64_MAX, "Mutations after the corpus");
    table_.integer("--seconds", "S", &seconds_, 0, 1 << 30, "Mutate for so long instead");
    table_.integer("--seed", "N", &seed_, 0, INT64_MAX, "Seed of the mutations");
    table_.integer("--max-len", "BYTES", &maxLength_, 1, 1 << 26, "Longest mutated input");
    table_.integer("--timeout", "S", &timeout_, 1, 1 << 20, "Processor seconds an input may take");
    table_.text("--artifacts", "FOLDER", &folder_, "Where a failing input is written");
    std::vector<std::string> errors = table_.parse(argc, argv);
    for (const std::string& error : errors) std::fprintf(stderr, "fuzz: %s\n", error.c_str());
    if (!errors.empty()) return 2;
    if (table_.helpAsked()) {
      std::fputs(table_.helpText().c_str(), stdout);
      return 0;
    }
    if (!loadCorpus(paths)) return 2;
    setLimits();
    return run();
  }

 private:
  bool loadCorpus(const std::vector<std::string>& paths) {
    std::vector<std::string> files;
    for (const std::string& path : paths) listFiles(path, files);
    for (const std::string& file : files) {
      absl::StatusOr<std::string> text = readFile(file);
      if (!text.ok()) {
        std::fprintf(stderr, "fuzz: cannot read %s: %s\n", file.c_str(),
                     std::string(text.status().message()).c_str());
        return false;
      }
      corpus_.push_back(*std::move(text));
    }
    return true;
  }

  void one(const std::string& input, const std::string& label) {
    std::string path = absl::StrFormat("%s/crash-%s", folder_, label);
    size_t n = std::min(path.size(), sizeof crashPath - 1);
    std::memcpy(crashPath, path.data(), n);
    crashPath[n] = 0;
    // An exact-size copy, so that a sanitizer sees a read past the end.
    std::vector<uint8_t> exact(input.begin(), input.end());
    currentData = input.data();
    currentSize = input.size();
    setTimer(timeout_);
    LLVMFuzzerTestOneInput(exact.data(), exact.size());
    currentData = nullptr;
    ++done_;
  }

  int run() {
    for (size_t i = 0; i < corpus_.size(); ++i) one(corpus_[i], absl::StrFormat("corpus-%d", i));
    Mutator mutator(corpus_, static_cast<uint64_t>(seed_), static_cast<size_t>(maxLength_));
    auto start = std::chrono::steady_clock::now();
    auto elapsed = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    for (int64_t i = 0; seconds_ > 0 ? elapsed() < static_cast<double>(seconds_) : i < runs_; ++i) {
      one(mutator.next(), absl::StrFormat("%d-%d", seed_, i));
    }
    setTimer(0);
    std::printf("fuzz: %zu inputs, %zu of them the corpus, seed %lld, %.1f s\n", done_,
                corpus_.size(), static_cast<long long>(seed_), elapsed());
    return 0;
  }

  OptionTable table_{"fuzz", "[options] [FILE|FOLDER]...",
                     "Replays inputs and mutations of them into a fuzz entry point."};
  int64_t runs_ = 0;
  int64_t seconds_ = 0;
  int64_t seed_ = 1;
  int64_t maxLength_ = 16384;
  int64_t timeout_ = 20;
  std::string folder_ = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR") != nullptr
                            ? std::getenv("TEST_UNDECLARED_OUTPUTS_DIR")
                            : ".";
  std::vector<std::string> corpus_;
  size_t done_ = 0;
};

}  // namespace
}  // namespace mtlc::fuzz

int main(int argc, char** argv) { return mtlc::fuzz::Fuzzer().main(argc, argv); }
