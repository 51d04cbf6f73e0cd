// A module from text, with buffers, for the interpreter's tests.

#ifndef MTLC_INTERP_TEST_UTIL_H_
#define MTLC_INTERP_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mtlc/interp/interpreter.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"

namespace mtlc::interp {

class Bench {
 public:
  // `functions` are those of a module; line 1 of the file is their first line.
  explicit Bench(std::string_view functions) {
    FileId file = sources_.add("t.mtir", "module \"t\" " + std::string(functions));
    module_ = ir::parseModule(sources_, file, diags_);
    if (!module_ || !ir::verify(*module_, diags_)) {
      ADD_FAILURE() << renderHuman(diags_, sources_);
      module_ = std::make_unique<ir::Module>(sources_);
    }
    program_ = std::make_unique<Program>(*module_);
  }

  template <typename T>
  BufferId add(const std::vector<T>& values) {
    return memory.add(bytesOf(values));
  }
  // Uninitialised: 0xCD in every byte.
  template <typename T>
  BufferId addOutput(size_t count) {
    return memory.addUninitialised(std::vector<uint8_t>(count * sizeof(T), 0xCD));
  }
  template <typename T>
  std::vector<T> read(BufferId id) const {
    std::span<const uint8_t> bytes = memory.bytes(id);
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
  }

  absl::StatusOr<LaunchResult> tryLaunch() { return launch(*program_, memory, spec); }
  // Launches, which must work; faults are kept.
  LaunchResult run() {
    absl::StatusOr<LaunchResult> result = tryLaunch();
    if (!result.ok()) {
      ADD_FAILURE() << result.status();
      return {};
    }
    return *std::move(result);
  }
  // Launches, and there must be no fault.
  LaunchResult runClean() {
    LaunchResult result = run();
    for (const Fault& fault : result.faults) ADD_FAILURE() << text(fault);
    return result;
  }
  std::vector<Fault> readBack(BufferId id) const {
    return checkReadBack(*program_, memory, id, 0, memory.bytes(id).size(), spec);
  }

  // As the tools show it.
  std::string text(const Fault& fault) const {
    DiagnosticEngine diags;
    reportFault(fault, diags);
    return renderHuman(diags, sources_);
  }

  Memory memory;
  LaunchSpec spec{
      .kernel = "k", .grid = {}, .block = {}, .sharedBytes = 0, .args = {}, .options = {}};

 private:
  template <typename T>
  static std::vector<uint8_t> bytesOf(const std::vector<T>& values) {
    std::vector<uint8_t> bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }

  SourceManager sources_;
  DiagnosticEngine diags_;
  std::unique_ptr<ir::Module> module_;
  std::unique_ptr<Program> program_;
};

}  // namespace mtlc::interp

#endif  // MTLC_INTERP_TEST_UTIL_H_
