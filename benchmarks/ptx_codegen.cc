// How fast the PTX emitter is, in IR operations per second, and that its time is linear in their
// number.
//
//   bazel run //benchmarks:ptx_codegen

#include <benchmark/benchmark.h>

#include <optional>
#include <string>
#include <vector>

#include "mtlc/codegen/ptx/ptx.h"
#include "mtlc/ir/builder.h"

namespace mtlc {
namespace {

using ir::Block;
using ir::Builder;
using ir::kF32;
using ir::kI32;
using ir::kI64;
using ir::Opcode;
using ir::Value;

const ir::Type kGlobalPtr = ir::Type::ptr(ir::Space::Global);

int64_t operations(const ir::Module& module) {
  int64_t n = 0;
  for (ir::Function& f : module.functions()) {
    for (ir::Block& b : f.blocks()) {
      for ([[maybe_unused]] ir::Operation& op : b.ops()) ++n;
    }
  }
  return n;
}

ir::Function* addKernel(ir::Module& module, const std::string& name) {
  ir::FunctionSpec spec;
  spec.name = name;
  spec.isKernel = true;
  spec.params = {kGlobalPtr, kGlobalPtr, kI32, kF32};
  return module.addFunction(spec);
}

Value* threadIndex(Builder& b) {
  Value* block = b.gpuIndex(Opcode::BlockId, ir::Dim::X);
  Value* size = b.gpuIndex(Opcode::BlockDim, ir::Dim::X);
  Value* thread = b.gpuIndex(Opcode::ThreadId, ir::Dim::X);
  return b.add(b.mul(block, size), thread);
}

// A guarded loop over a row: about 25 operations, six blocks.
void addRowKernel(ir::Module& module, int number) {
  ir::Function* f = addKernel(module, "row" + std::to_string(number));
  Builder b(module);
  b.setInsertEnd(f->addBlock());
  Block* pre = f->addBlock();
  Block* head = f->addBlock();
  Block* body = f->addBlock();
  Block* done = f->addBlock();
  Block* exit = f->addBlock();
  Value* i = head->addArg(kI32);
  Value* sum = head->addArg(kF32);
  Value* row = threadIndex(b);
  b.br(b.compare(Opcode::CmpSlt, row, f->param(2)), pre, exit);
  b.setInsertEnd(pre);
  std::vector<Value*> init = {b.constInt(kI32, 0), b.constF32(0)};
  b.jump(head, init);
  b.setInsertEnd(head);
  b.br(b.compare(Opcode::CmpSlt, i, f->param(2)), body, done);
  b.setInsertEnd(body);
  Value* index = b.cast(Opcode::SExt, b.add(b.mul(row, f->param(2)), i), kI64);
  Value* x = b.load(kF32, b.ptrAdd(f->param(0), index, kF32));
  Value* term = b.binary(Opcode::FMul, x, f->param(3));
  std::vector<Value*> next = {b.add(i, b.constInt(kI32, 1)), b.binary(Opcode::FAdd, sum, term)};
  b.jump(head, next);
  b.setInsertEnd(done);
  Value* out = b.ptrAdd(f->param(1), b.cast(Opcode::SExt, row, kI64), kF32);
  b.store(kF32, sum, out);
  b.jump(exit);
  b.setInsertEnd(exit);
  b.ret();
}

// One kernel of `statements` statements: loads, arithmetic, stores, every fourth under a condition
// that merges a value.
void addLongKernel(ir::Module& module, int statements) {
  ir::Function* f = addKernel(module, "long");
  Builder b(module);
  b.setInsertEnd(f->addBlock());
  Value* index = b.cast(Opcode::SExt, threadIndex(b), kI64);
  Value* x = b.load(kF32, b.ptrAdd(f->param(0), index, kF32));
  Value* n = f->param(2);
  for (int s = 0; s < statements; ++s) {
    Value* at = b.ptrAdd(f->param(0), b.constInt(kI64, s), kF32);
    Value* y = b.binary(Opcode::FMul, b.load(kF32, at), f->param(3));
    if (s % 4 == 0) {
      Block* then = f->addBlock();
      Block* join = f->addBlock();
      Value* merged = join->addArg(kF32);
      std::vector<Value*> same = {x};
      b.br(b.compare(Opcode::FCmpOlt, x, y), then, join, {}, same);
      b.setInsertEnd(then);
      std::vector<Value*> changed = {b.binary(Opcode::FAdd, x, y)};
      b.jump(join, changed);
      b.setInsertEnd(join);
      x = merged;
    } else {
      x = b.binary(Opcode::FAdd, x, y);
    }
    n = b.add(b.mul(n, n), b.constInt(kI32, s));
    b.store(kI32, n, b.ptrAdd(f->param(1), b.constInt(kI64, s), kI32));
  }
  b.store(kF32, x, f->param(1));
  b.ret();
}

void emitAll(benchmark::State& state, ir::Module& module) {
  DiagnosticEngine diags;
  PtxOptions options{*PtxProfile::resolve("gb10", {}, diags), false};
  size_t bytes = 0;
  for (auto _ : state) {
    std::optional<std::string> ptx = emitPtx(module, options, diags);
    bytes = ptx->size();
    benchmark::DoNotOptimize(bytes);
  }
  state.counters["ops/s"] = benchmark::Counter(
      static_cast<double>(operations(module) * state.iterations()), benchmark::Counter::kIsRate);
  state.counters["bytes"] = static_cast<double>(bytes);
  state.SetComplexityN(state.range(0));
}

void manyKernels(benchmark::State& state) {
  SourceManager sources;
  ir::Module module(sources);
  for (int k = 0; k < state.range(0); ++k) addRowKernel(module, k);
  emitAll(state, module);
}
BENCHMARK(manyKernels)->Arg(2500)->Arg(5000)->Arg(10000)->Complexity(benchmark::oN);

void longKernel(benchmark::State& state) {
  SourceManager sources;
  ir::Module module(sources);
  addLongKernel(module, static_cast<int>(state.range(0)));
  emitAll(state, module);
}
BENCHMARK(longKernel)->Arg(4000)->Arg(8000)->Arg(16000)->Complexity(benchmark::oN);

}  // namespace
}  // namespace mtlc
