// Random Mettle programs, compiled without and with optimisation and run on the interpreter,
// against the value that the program has by the language's rules.

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "mtlc/analysis/device_verifier.h"
#include "mtlc/frontend/compile.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"
#include "mtlc/support/options.h"
#include "mtlc/support/tool_main.h"
#include "mtlc/transforms/pipeline.h"
#include "test/random/mettle_program.h"
#include "test/random/run_kernel.h"
#include "test/random/run_on_simulator.h"

namespace mtlc::random_test {
namespace {

// What went wrong: `kind` stays the same while a program is made smaller.
struct Problem {
  std::string kind;
  std::string details;
};

struct Inputs {
  std::vector<uint8_t> source;
  std::vector<uint64_t> scalars;
};

uint64_t randomScalar(MType t, std::mt19937_64& random) {
  if (t == MType::Bool) return random() & 1;
  const unsigned width = widthOf(t);
  const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  if (isFloat(t)) {
    // Special values of the format, and any bits; half are small numbers.
    const unsigned mantissa = t == MType::F32 ? 23 : 52;
    const uint64_t infinity = (mask >> 1) & ~((uint64_t{1} << mantissa) - 1);
    const uint64_t one = (infinity >> 1) & ~((uint64_t{1} << mantissa) - 1);
    const uint64_t values[] = {
        0,
        one,
        infinity,
        infinity | uint64_t{1} << (mantissa - 1),
        infinity - 1,
        1,
        random(),
        one + (random() % 70 << mantissa),
        one + (random() % 8 << mantissa),
        (one + (random() % 16 << mantissa)) | (random() & ((uint64_t{1} << mantissa) - 1))};
    return (values[random() % std::size(values)] ^ (random() % 2 << (width - 1))) & mask;
  }
  const uint64_t values[] = {0,     1,        mask,          mask >> 1,     (mask >> 1) + 1,
                             width, random(), random() % 10, random() % 100};
  return values[random() % std::size(values)] & mask;
}

Inputs makeInputs(const MProgram& program, uint64_t seed) {
  std::mt19937_64 random(seed ^ 0xD1B54A32D192ED03u);
  Inputs inputs;
  inputs.source.resize(8 * kSourceCells);
  for (uint32_t cell = 0; cell < kSourceCells; ++cell) {
    // Each cell is interesting as one type, and whatever it is as the others.
    const uint64_t bits = randomScalar(static_cast<MType>(1 + random() % 10), random);
    std::memcpy(inputs.source.data() + 8 * cell, &bits, 8);
  }
  const MFunction& kernel = program.functions.back();
  for (uint32_t i = 0; i < kernel.paramCount; ++i) {
    inputs.scalars.push_back(randomScalar(kernel.variables[i].type, random));
  }
  return inputs;
}

// Where outputs differ, NaNs of any payload being the same; empty if nowhere.
std::string compareOutputs(const MProgram& program, const std::vector<uint8_t>& expected,
                           const std::vector<uint8_t>& got) {
  for (size_t cell = 0; cell < expected.size() / 8; ++cell) {
    if (std::memcmp(&expected[8 * cell], &got[8 * cell], 8) == 0) continue;
    const MType t = program.cells[cell % kOutputCells];
    uint64_t e, g;
    std::memcpy(&e, &expected[8 * cell], 8);
    std::memcpy(&g, &got[8 * cell], 8);
    auto isNan = [&](uint64_t bits) {
      if (t == MType::F64) return (bits & ~(uint64_t{1} << 63)) > uint64_t{0x7FF} << 52;
      return t == MType::F32 && (bits & 0x7FFFFFFF) > 0x7F800000;
    };
    if (isNan(e) && isNan(g)) continue;
    return absl::StrFormat("thread %d, cell %d (%s): expected %016x, got %016x",
                           cell / kOutputCells, cell % kOutputCells, typeText(t), e, g);
  }
  return "";
}

// What the run has done so far.
struct Totals {
  int64_t tooLong = 0;
  int64_t cells = 0;
  uint64_t instructions = 0;
};
Totals totals;

// Compiles and runs the program in all ways.
std::optional<Problem> check(const MProgram& program, uint64_t seed) {
  const Inputs inputs = makeInputs(program, seed);
  std::vector<uint8_t> expected;
  if (!evaluateProgram(program, inputs.source, inputs.scalars, expected)) {
    ++totals.tooLong;
    return std::nullopt;
  }
  for (MType t : program.cells) totals.cells += t != MType::Void;

  KernelInput input;
  input.grid = kMettleGrid;
  input.block = kMettleBlock;
  input.input = inputs.source;
  input.outputBytes = expected.size();
  input.scalars = inputs.scalars;

  const std::string text = printProgram(program, seed);
  std::vector<uint8_t> unoptimised;
  for (int way = 0; way < 2; ++way) {
    const std::string name = way == 0 ? "-O0" : "-O";
    SourceManager sources;
    DiagnosticEngine diags;
    const FileId file = sources.add("random.mettle", text);
    std::unique_ptr<ir::Module> module = frontend::compileMettle(sources, file, diags);
    if (!module) {
      std::string first = "?";
      for (const Diagnostic& d : diags.all()) {
        if (d.severity == Severity::error && first == "?") first = diagRow(d.id).name;
      }
      return Problem{"refused: " + first, renderHuman(diags, sources)};
    }
    if (!ir::verify(*module, diags)) return Problem{"invalid IR", renderHuman(diags, sources)};
    transforms::PipelineOptions options;
    options.verifyEach = true;
    const auto level = way == 0 ? transforms::OptLevel::O0 : transforms::OptLevel::O;
    if (!analysis::verifyForDevice(*module, diags) ||
        !transforms::runPipeline(*module, level, diags, options) ||
        !analysis::verifyForDevice(*module, diags)) {
      return Problem{name + " verify", renderHuman(diags, sources)};
    }
    const KernelOutput got = runKernel(*module, input);
    totals.instructions += got.instructions;
    if (!got.problem.empty()) return Problem{name + " fault", got.problem};
    std::string difference = compareOutputs(program, expected, got.bytes);
    if (!difference.empty()) return Problem{name + " differs", difference};
    // The emitted code, which may have other NaNs.
    constexpr const char* kArchs[] = {"portable", "sm_80", "sm_90a", "gb10"};
    const std::string copy = ir::print(*module);
    std::string ptx;
    const KernelOutput simulated = runPtx(*module, kArchs[seed % 4], input, ptx);
    if (!simulated.problem.empty()) {
      return Problem{name + " PTX: " + simulated.problem.substr(0, simulated.problem.find('\n')),
                     simulated.problem + ptx};
    }
    difference = compareOutputs(program, expected, simulated.bytes);
    if (!difference.empty()) return Problem{name + " PTX differs", difference + "\n" + ptx};
    const std::unique_ptr<ir::Module> again =
        ir::parseModule(sources, sources.add("random.mtir", copy), diags);
    if (!again) return Problem{name + " IR is not read again", renderHuman(diags, sources)};
    std::string spirv;
    const KernelOutput other = runSpirv(*again, 8u << seed % 4, input, spirv);
    if (!other.problem.empty()) {
      return Problem{name + " SPIR-V: " + other.problem.substr(0, other.problem.find('\n')),
                     other.problem + spirv};
    }
    difference = compareOutputs(program, expected, other.bytes);
    if (!difference.empty()) return Problem{name + " SPIR-V differs", difference + "\n" + spirv};
    if (way == 0) {
      unoptimised = got.bytes;
    } else if (difference = describeDifference(unoptimised, got.bytes); !difference.empty()) {
      return Problem{"-O0 and -O differ", difference};
    }
  }
  return std::nullopt;
}

// ---- Making a failing program smaller ----

class Reducer {
 public:
  Reducer(MProgram& program, uint64_t seed, std::string kind)
      : program_(program), seed_(seed), kind_(std::move(kind)) {}

  void run() {
    for (bool changed = true; changed && attempts_ < kMaxAttempts;) {
      changed = false;
      for (MFunction& f : program_.functions) changed |= shrinkBody(f.body);
      for (MExpr& e : program_.expressions()) changed |= shrinkExpression(e);
    }
  }

 private:
  static constexpr int kMaxAttempts = 6000;

  bool stillFails() {
    if (++attempts_ > kMaxAttempts) return false;
    const std::optional<Problem> p = check(program_, seed_);
    return p && p->kind == kind_;
  }

  bool shrinkBody(MBody& body) {
    bool changed = false;
    for (size_t chunk = body.size(); chunk > 0; chunk /= 2) {
      for (size_t i = 0; i + chunk <= body.size();) {
        MBody without = body;
        without.erase(without.begin() + static_cast<ptrdiff_t>(i),
                      without.begin() + static_cast<ptrdiff_t>(i + chunk));
        std::swap(body, without);
        if (stillFails()) {
          changed = true;
        } else {
          std::swap(body, without);
          ++i;
        }
      }
    }
    for (size_t i = 0; i < body.size(); ++i) {
      MStmt& s = *body[i];
      changed |= shrinkBody(s.body);
      changed |= shrinkBody(s.otherwise);
      for (MCase& c : s.cases) changed |= shrinkBody(c.body);
      // The statement's body instead of the statement.
      for (const MBody* inner : {&s.body, &s.otherwise}) {
        if (inner->empty()) continue;
        MBody flat = body;
        flat.erase(flat.begin() + static_cast<ptrdiff_t>(i));
        flat.insert(flat.begin() + static_cast<ptrdiff_t>(i), inner->begin(), inner->end());
        std::swap(body, flat);
        if (stillFails()) {
          changed = true;
          break;
        }
        std::swap(body, flat);
      }
    }
    return changed;
  }

  bool shrinkExpression(MExpr& e) {
    if (e.args.empty() || e.kind == MExpr::Kind::Address) return false;
    const MExpr before = e;
    for (const MExpr* arg : before.args) {
      if (arg->type != e.type || arg->kind == MExpr::Kind::Address) continue;
      e = *arg;
      if (stillFails()) return true;
      e = before;
    }
    if (e.type != MType::Generic) {
      e = MExpr{};
      e.kind = MExpr::Kind::Literal;
      e.type = before.type;
      if (stillFails()) return true;
      e = before;
    }
    return false;
  }

  MProgram& program_;
  uint64_t seed_;
  std::string kind_;
  int attempts_ = 0;
};

// ---- The run ----

volatile sig_atomic_t currentSeed = 0;

void onCrash(int signal) {
  char text[64] = "crash at seed ";
  size_t n = std::strlen(text);
  char digits[24];
  int count = 0;
  for (uint64_t s = static_cast<uint64_t>(currentSeed); count == 0 || s > 0; s /= 10) {
    digits[count++] = static_cast<char>('0' + s % 10);
  }
  while (count > 0) text[n++] = digits[--count];
  text[n++] = '\n';
  if (::write(STDERR_FILENO, text, n) < 0) ::_exit(2);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

struct Options {
  int64_t first = 1, count = 100, maxFailures = 3;
  bool show = false, reduce = true;
};

int run(const Options& o) {
  for (int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGBUS}) std::signal(signal, onCrash);
  const auto start = std::chrono::steady_clock::now();
  int64_t failures = 0;
  for (int64_t seed = o.first; seed < o.first + o.count && failures < o.maxFailures; ++seed) {
    currentSeed = static_cast<sig_atomic_t>(seed);
    MProgram program;
    generateProgram(program, static_cast<uint64_t>(seed));
    if (o.show) std::fputs(printProgram(program, static_cast<uint64_t>(seed)).c_str(), stdout);
    std::optional<Problem> problem = check(program, static_cast<uint64_t>(seed));
    if (!problem) continue;
    ++failures;
    std::fprintf(stderr, "FAILED seed %lld: %s\n", static_cast<long long>(seed),
                 problem->kind.c_str());
    if (o.reduce) {
      Reducer(program, static_cast<uint64_t>(seed), problem->kind).run();
      problem = check(program, static_cast<uint64_t>(seed));
    }
    std::fprintf(stderr, "%s\n%s\n", problem->details.c_str(),
                 printProgram(program, static_cast<uint64_t>(seed)).c_str());
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf(
      "%s\n",
      absl::StrFormat("%d random Mettle programs (%d of them too long), %d results, %d operations "
                      "executed, %d failures, %.1f s",
                      o.count, totals.tooLong, totals.cells, totals.instructions, failures, seconds)
          .c_str());
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace mtlc::random_test

int main(int argc, char** argv) {
  mtlc::random_test::Options o;
  mtlc::Tool tool("mettle_random", "[options]",
                  "Differential testing of the compiler on random programs.");
  tool.options().integer("--seed", "N", &o.first, 0, INT64_MAX, "The first seed");
  tool.options().integer("--count", "N", &o.count, 0, INT64_MAX, "How many programs");
  tool.options().integer("--max-failures", "N", &o.maxFailures, 1, INT64_MAX, "Stop after so many");
  tool.options().flag("--show", &o.show, "Print every program");
  tool.options().set("--no-reduce", &o.reduce, false, "Don't make failing programs smaller");
  if (std::optional<int> code = tool.start(argc, argv)) return *code;
  return mtlc::random_test::run(o);
}
