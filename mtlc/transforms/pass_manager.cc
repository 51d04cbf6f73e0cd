#include <algorithm>
#include <chrono>

#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"
#include "mtlc/transforms/pipeline.h"

namespace mtlc::transforms {
namespace {

using FunctionPass = Change (*)(ir::Function&, PassContext&);
using ModulePass = Change (*)(ir::Module&, PassContext&);

// Exactly one of the two is set.
struct PassBody {
  FunctionPass onFunction = nullptr;
  ModulePass onModule = nullptr;
  constexpr PassBody(FunctionPass f) : onFunction(f) {}  // NOLINT
  constexpr PassBody(ModulePass m) : onModule(m) {}      // NOLINT
};
constexpr PassBody kBodies[] = {
#define PASS(Id, name, level, description) &run##Id,
#include "mtlc/transforms/passes.def"
};

class Run {
 public:
  Run(ir::Module& module, std::span<const PassInvocation> passes, DiagnosticEngine& diags,
      const PipelineOptions& options)
      : module_(module),
        passes_(passes),
        diags_(diags),
        options_(options),
        context_(options.remarks, &diags) {
    for (const PassInvocation& p : passes) report_.steps.push_back({.pass = p.pass});
  }

  bool run() {
    bool ok = options_.watches() ? runWatched() : runGrouped();
    report_.statistics = context_.statistics();
    if (options_.report) *options_.report = std::move(report_);
    return ok;
  }

 private:
  static const PassBody& body(const PassInvocation& p) {
    return kBodies[static_cast<size_t>(p.pass)];
  }

  // One function at a time through as many passes as possible: it stays in the cache.
  bool runGrouped() {
    size_t i = 0;
    while (i < passes_.size()) {
      if (body(passes_[i]).onModule) {
        runModulePass(i++);
        if (diags_.errorCount() > errorsBefore_) return false;
        continue;
      }
      size_t end = i;
      while (end < passes_.size() && body(passes_[end]).onFunction) ++end;
      for (ir::Function& f : module_.functions()) {
        if (f.isDeclaration()) continue;
        for (size_t k = i; k < end; ++k) runFunctionPass(k, f);
        context_.analyses().forget(f);
      }
      i = end;
    }
    return true;
  }

  bool runWatched() {
    std::string before = options_.printChanged ? ir::print(module_) : "";
    for (size_t i = 0; i < passes_.size(); ++i) {
      std::string_view name = passRow(passes_[i].pass).name;
      if (options_.printBeforeAll || isNamed(options_.printBefore, name)) dump("before", name);
      if (options_.beforePass) options_.beforePass(passes_[i], module_);
      if (body(passes_[i]).onModule) {
        runModulePass(i);
      } else {
        for (ir::Function& f : module_.functions()) {
          if (!f.isDeclaration()) runFunctionPass(i, f);
        }
      }
      if (diags_.errorCount() > errorsBefore_) return false;
      if (options_.printAfterAll || isNamed(options_.printAfter, name)) {
        dump("after", name);
      } else if (options_.printChanged) {
        std::string after = ir::print(module_);
        if (after != before) dump("after", name);
        before = std::move(after);
      }
      if (options_.verifyEach && !ir::verify(module_, diags_)) {
        diags_.report(DiagId::PassLeftInvalidIr, SourceRange(), {name});
        return false;
      }
      if (options_.afterPass && !options_.afterPass(passes_[i], module_)) return false;
    }
    return true;
  }

  static bool isNamed(const std::vector<std::string>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  void dump(std::string_view when, std::string_view pass) {
    if (!options_.print) return;
    std::string text = "// ---- ";
    text += when;
    text += ' ';
    text += pass;
    text += " ----\n";
    text += ir::print(module_);
    options_.print(text);
  }

  void runModulePass(size_t i) {
    context_.setInvocation(&passes_[i]);
    Change change = timed(i, [&] { return body(passes_[i]).onModule(module_, context_); });
    record(i, change);
    // A module pass may have changed or removed any function.
    if (change != Change::None) context_.analyses().clear();
  }

  void runFunctionPass(size_t i, ir::Function& f) {
    context_.setInvocation(&passes_[i]);
    Change change = timed(i, [&] { return body(passes_[i]).onFunction(f, context_); });
    record(i, change);
    context_.analyses().invalidate(f, change);
  }

  void record(size_t i, Change change) {
    ++report_.steps[i].functions;
    if (change != Change::None) ++report_.steps[i].changed;
  }

  template <typename Body>
  Change timed(size_t i, Body run) {
    if (!options_.timing) return run();
    auto start = std::chrono::steady_clock::now();
    Change change = run();
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    report_.steps[i].seconds += took.count();
    return change;
  }

  ir::Module& module_;
  std::span<const PassInvocation> passes_;
  DiagnosticEngine& diags_;
  const PipelineOptions& options_;
  PassContext context_;
  const int errorsBefore_ = diags_.errorCount();
  PipelineReport report_;
};

}  // namespace

bool runPasses(ir::Module& module, std::span<const PassInvocation> passes, DiagnosticEngine& diags,
               const PipelineOptions& options) {
  return Run(module, passes, diags, options).run();
}

}  // namespace mtlc::transforms
