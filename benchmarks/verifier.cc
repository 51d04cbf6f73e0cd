// Structural and device verification of modules with every kind of operation: time for n and 2n
// operations, and their ratio within one run.
//
//   bazel run -c opt //benchmarks:verifier

#include "mtlc/ir/verifier.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "mtlc/analysis/device_verifier.h"
#include "mtlc/ir/builder.h"

namespace mtlc {
namespace {

using ir::Block;
using ir::Opcode;
using ir::Slot;
using ir::Value;

// One loop of a kernel: staging, tensor operations, tiles, subgroups, atomics. Returns the number
// of operations.
uint64_t round(ir::Builder& b, ir::Function* f, Value* w, ir::Function* helper) {
  Value* a = f->param(0);
  Value* n = f->param(1);
  Value* tid = b.gpuIndex(Opcode::ThreadId, ir::Dim::X);
  Value* one = b.constInt(ir::kI32, 1);
  Value* first[] = {b.constInt(ir::kI32, 0)};
  Block* header = f->addBlock();
  Block* body = f->addBlock();
  Block* exit = f->addBlock();
  Value* i = header->addArg(ir::kI32);
  const ir::MmaDesc mma{.m = 16, .n = 16, .k = 16};
  const ir::Builder::SlotOperand home[] = {{Slot::C, a}, {Slot::D, a}};
  Value* begun = b.accBegin(mma, home);
  Value* entering[] = {first[0], begun};
  Value* tile = header->addArg(begun->type());
  b.jump(header, entering);
  b.setInsertEnd(header);
  b.br(b.compare(Opcode::CmpSlt, i, n), body, exit);
  b.setInsertEnd(body);
  b.asyncCopy(ir::kF32, w, f->param(2), {.count = 4, .transaction = 16});
  b.asyncCommit();
  b.asyncWait(0);
  b.barrier();
  Value* address = b.ptrAdd(f->param(2), b.cast(Opcode::SExt, tid, ir::kI64), ir::kI32);
  Value* x = b.load(ir::kI32, address);
  Value* sum = b.subgroupReduce(Opcode::SubgroupReduce, ir::CombineKind::Add, x);
  Value* lane = b.subgroupLane(Opcode::SubgroupBroadcast, x, one);
  Value* vote = b.subgroupVote(Opcode::SubgroupAny, b.compare(Opcode::CmpEq, sum, lane));
  b.atomicRmw(ir::kI32, address, b.select(vote, sum, x), {.kind = ir::CombineKind::Add});
  b.fence({});
  const ir::Builder::SlotOperand step[] = {{Slot::Tile, tile}, {Slot::A, w}, {Slot::B, w}};
  Value* stepped = b.accMma(mma, step);
  const ir::Builder::SlotOperand whole[] = {
      {Slot::A, w}, {Slot::B, w}, {Slot::C, f->param(3)}, {Slot::D, f->param(3)}};
  b.tensorMma(mma, whole);
  Value* args[] = {w, f->param(2)};
  b.call(helper, args);
  Value* back[] = {b.add(i, one), stepped};
  b.jump(header, back);
  b.setInsertEnd(exit);
  b.accCommit(tile);
  return 27;
}

struct Times {
  double structure = 1e9, device = 1e9;
};

Times verifyOnce(uint64_t operations, bool* ok) {
  SourceManager sources;
  ir::Module module(sources, "big");
  ir::Builder b(module);
  ir::FunctionSpec helperSpec{.name = "stage"};
  helperSpec.params = {ir::Type::ptr(ir::Space::Workgroup), ir::Type::ptr(ir::Space::Global)};
  ir::Function* helper = module.addFunction(helperSpec);
  b.setInsertEnd(helper->addBlock("entry"));
  b.asyncCopy(ir::kF32, helper->param(0), helper->param(1), {.count = 4, .transaction = 16});
  b.asyncCommit();
  b.asyncWait(0);
  b.ret();
  const ir::Type global = ir::Type::ptr(ir::Space::Global);
  for (uint64_t made = 0, kernels = 0; made < operations; ++kernels) {
    const std::string name = "k" + std::to_string(kernels);
    ir::FunctionSpec spec{.name = name, .isKernel = true};
    spec.params = {global, ir::kI32, global, global};
    ir::Function* f = module.addFunction(spec);
    b.setInsertEnd(f->addBlock("entry"));
    Value* w = b.allocWorkgroup(ir::kF32, 256);
    const uint64_t most = kernels == 0 ? operations / 2 : 2'000;
    for (uint64_t here = 0; here < most && made < operations;) {
      const uint64_t n = round(b, f, w, helper);
      here += n;
      made += n;
    }
    b.ret();
  }
  DiagnosticEngine diags;
  auto measure = [&](auto work) {
    const auto start = std::chrono::steady_clock::now();
    *ok = work() && *ok;
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  *ok = true;
  Times times;
  times.structure = measure([&] { return ir::verify(module, diags); });
  times.device = measure([&] { return analysis::verifyForDevice(module, diags); });
  if (!*ok) std::fputs(renderHuman(diags, sources).substr(0, 2000).c_str(), stderr);
  return times;
}

int run() {
  constexpr uint64_t kSizes[] = {25'000, 50'000, 100'000, 200'000, 400'000};
  constexpr int kCount = std::size(kSizes);
  Times best[kCount];
  for (int repeat = 0; repeat < 5; ++repeat) {
    for (int s = 0; s < kCount; ++s) {
      bool ok = false;
      const Times t = verifyOnce(kSizes[s], &ok);
      if (!ok) return 1;
      best[s].structure = std::min(best[s].structure, t.structure);
      best[s].device = std::min(best[s].device, t.device);
    }
  }
  for (int s = 0; s < kCount; ++s) {
    std::printf("%7llu operations: structure %.3f s, device %.3f s",
                static_cast<unsigned long long>(kSizes[s]), best[s].structure, best[s].device);
    if (s > 0) {
      std::printf(
          ", together %.2f times the half",
          (best[s].structure + best[s].device) / (best[s - 1].structure + best[s - 1].device));
    }
    std::printf("\n");
  }
  return 0;
}

}  // namespace
}  // namespace mtlc

int main() { return mtlc::run(); }
