// How many IR operations a second the pipeline of -O takes, on a file of many kernels and on one
// long kernel. The time at 2n should be at most 2.3 times the time at n.
//
//   bazel run -c opt //benchmarks:transforms_benchmark

#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "mtlc/frontend/compile.h"
#include "mtlc/ir/ir.h"
#include "mtlc/transforms/pipeline.h"

namespace mtlc {
namespace {

// Kernels of about 25 lines: a guard, a loop, a helper, private variables, a bit of everything.
std::string manyKernels(int64_t count) {
  std::string text = R"(
fn blend(a: float32, b: float32, t: float32) -> float32 {
  if (t < 0.0) { return a; }
  return a + (b - a) * t;
}
)";
  for (int64_t i = 0; i < count; ++i) {
    absl::StrAppendFormat(&text, R"(
kernel k%d(x: float32*, y: float32*, n: int32, scale: float32) {
  var i: int32 = block.x * block_dim.x + thread.x;
  if (i < n) {
    var sum: float32 = 0.0;
    var best: float32 = x[i];
    for j in 0..%d {
      var k: int32 = (i + j * %d) %% n;
      var v: float32 = x[k] * scale;
      if (v > best && j != %d) {
        best = v;
      } else {
        sum += v;
      }
      if (k == 7) { continue; }
      sum = blend(sum, best, v);
    }
    var q: int32 = i / %d;
    var r: int32 = i %% %d;
    if (q > r) {
      y[i] = sum + (float32)q;
    } else {
      y[i] = sum * best - (float32)r;
    }
  }
}
)",
                          i, 4 + i % 13, 1 + i % 7, i % 5, 3 + i % 29, 3 + i % 29);
  }
  return text;
}

// One kernel of `count` statements that depend on each other, with branches and loops here and
// there.
std::string longKernel(int64_t count) {
  std::string text = "kernel k(x: float32*, y: int32*, n: int32) {\n  var i: int32 = thread.x;\n";
  for (int v = 0; v < 16; ++v) {
    absl::StrAppendFormat(&text, "  var f%d: float32 = x[i + %d];\n  var g%d: int32 = y[i * %d];\n",
                          v, v, v, v + 1);
  }
  for (int64_t s = 0; s < count; s += 4) {
    int64_t a = s * 7 % 16, b = s * 11 / 4 % 16, c = s * 5 / 3 % 16;
    absl::StrAppendFormat(&text,
                          "  f%d = f%d * f%d + x[i + %d];\n"
                          "  g%d = (g%d + g%d * %d) ^ (g%d >> %d);\n",
                          a, b, c, s, b, a, c, s % 100, c, s % 32);
    if (s % 40 == 0) {
      absl::StrAppendFormat(&text,
                            "  if (g%d > %d) { f%d = f%d - 1.5; } else { y[i + %d] = g%d; }\n", a,
                            s, b, c, s, b);
    } else if (s % 200 == 4) {
      absl::StrAppendFormat(&text, "  for j in 0..n { f%d += x[j]; g%d -= j; }\n", c, a);
    } else {
      absl::StrAppendFormat(&text, "  g%d = g%d / %d;\n  f%d = f%d / 4.0;\n", a, b, s % 9 + 2, c,
                            a);
    }
  }
  for (int v = 0; v < 16; ++v) {
    absl::StrAppendFormat(&text, "  x[i + %d] = f%d;\n  y[i + %d] = g%d;\n", v, v, v, v);
  }
  return text + "}\n";
}

uint64_t countOperations(const ir::Module& module) {
  uint64_t n = 0;
  for (ir::Function& f : module.functions()) {
    for (ir::Block& block : f.blocks()) {
      for (ir::Operation& op : block.ops()) n += op.opcode() != ir::Opcode::Const;
    }
  }
  return n;
}

void optimize(benchmark::State& state, const std::string& text) {
  uint64_t operations = 0;
  for (auto _ : state) {
    state.PauseTiming();
    SourceManager sources;
    DiagnosticEngine diags;
    FileId file = sources.add("benchmark.mettle", text);
    std::unique_ptr<ir::Module> module = frontend::compileMettle(sources, file, diags);
    if (!module) {
      state.SkipWithError(renderHuman(diags, sources).c_str());
      return;
    }
    operations = countOperations(*module);
    state.ResumeTiming();
    transforms::runPipeline(*module, transforms::OptLevel::O, diags);
    state.PauseTiming();
    module.reset();
    state.ResumeTiming();
  }
  state.counters["ops/s"] = benchmark::Counter(static_cast<double>(operations),
                                               benchmark::Counter::kIsIterationInvariantRate);
  state.counters["ops"] = static_cast<double>(operations);
}

void manyKernelsAtO(benchmark::State& state) { optimize(state, manyKernels(state.range(0))); }
void longKernelAtO(benchmark::State& state) { optimize(state, longKernel(state.range(0))); }

BENCHMARK(manyKernelsAtO)->Arg(2500)->Arg(5000)->Unit(benchmark::kMillisecond);
BENCHMARK(longKernelAtO)->Arg(4000)->Arg(8000)->Arg(16000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace mtlc
