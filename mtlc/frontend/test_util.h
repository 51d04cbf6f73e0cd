// What the tests of the front end share.

#ifndef MTLC_FRONTEND_TEST_UTIL_H_
#define MTLC_FRONTEND_TEST_UTIL_H_

#include <pthread.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "gtest/gtest.h"
#include "mtlc/frontend/compile.h"
#include "mtlc/ir/verifier.h"

namespace mtlc::frontend {

// One compilation of a text under the name "t.mettle". A module that does not verify is reported
// among the diagnostics.
struct Compiled {
  SourceManager sources;
  DiagnosticEngine diagnostics;
  std::unique_ptr<ir::Module> module;

  explicit Compiled(std::string text, const CompileOptions& options = {}) {
    FileId file = sources.add("t.mettle", std::move(text));
    module = compileMettle(sources, file, diagnostics, options);
    if (module) ir::verify(*module, diagnostics);
  }
  std::string text() const { return renderHuman(diagnostics, sources); }
};

// Runs `f` on a stack of one MiB, as the compiler may find it in a thread.
template <typename F>
void onSmallStack(F f) {
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  pthread_attr_setstacksize(&attr, size_t{1} << 20);
  pthread_t thread;
  auto run = [](void* p) -> void* {
    (*static_cast<F*>(p))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attr, run, &f), 0);
  pthread_join(thread, nullptr);
}

inline std::string times(size_t n, std::string_view text) {
  std::string out;
  out.reserve(n * text.size());
  for (size_t i = 0; i < n; ++i) out += text;
  return out;
}

}  // namespace mtlc::frontend

#endif  // MTLC_FRONTEND_TEST_UTIL_H_
