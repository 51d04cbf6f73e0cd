// Builds, checks, optimises and prints a module with the C++ API: the kernel that
// `examples/capi:expression --ir "x * 2 + y"` builds with the C one.

#include <cstdio>
#include <string>

#include "mtlc/analysis/device_verifier.h"
#include "mtlc/ir/builder.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"
#include "mtlc/transforms/pipeline.h"

namespace {

using mtlc::ir::Dim;
using mtlc::ir::kF32;
using mtlc::ir::kI32;
using mtlc::ir::kI64;
using mtlc::ir::Opcode;
using mtlc::ir::Value;

void buildKernel(mtlc::ir::Module& module) {
  const mtlc::ir::Type pointer = mtlc::ir::Type::ptr(mtlc::ir::Space::Global);
  mtlc::ir::Function* kernel = module.addFunction({.name = "expression",
                                                   .params = {pointer, kI32, pointer, pointer},
                                                   .paramNames = {"out", "n", "x", "y"},
                                                   .isKernel = true});
  mtlc::ir::Block* entry = kernel->addBlock("entry");
  mtlc::ir::Block* body = kernel->addBlock();
  mtlc::ir::Block* end = kernel->addBlock("end");

  mtlc::ir::Builder b(module);
  b.setInsertEnd(entry);
  auto index = [&](Opcode opcode) {
    return b.cast(Opcode::SExt, b.gpuIndex(opcode, Dim::X), kI64);
  };
  Value* block = index(Opcode::BlockId);
  Value* size = index(Opcode::BlockDim);
  Value* thread = index(Opcode::ThreadId);
  Value* i = b.add(b.mul(block, size), thread);
  Value* n = b.cast(Opcode::SExt, kernel->param(1), kI64);
  b.br(b.compare(Opcode::CmpSlt, i, n), body, end);

  b.setInsertEnd(body);
  Value* x = b.load(kF32, b.ptrAdd(kernel->param(2), i, kI32));
  Value* scaled = b.binary(Opcode::FMul, x, b.constF32(2));
  Value* y = b.load(kF32, b.ptrAdd(kernel->param(3), i, kI32));
  Value* sum = b.binary(Opcode::FAdd, scaled, y);
  b.store(kF32, sum, b.ptrAdd(kernel->param(0), i, kI32));
  b.jump(end);

  b.setInsertEnd(end);
  b.ret();
}

}  // namespace

int main() {
  mtlc::SourceManager sources;
  mtlc::DiagnosticEngine diags;
  mtlc::ir::Module module(sources);
  buildKernel(module);
  const bool good = mtlc::ir::verify(module, diags) &&
                    mtlc::analysis::verifyForDevice(module, diags) &&
                    mtlc::transforms::runPipeline(module, mtlc::transforms::OptLevel::O, diags);
  if (!good) {
    std::fputs(renderHuman(diags, sources).c_str(), stderr);
    return 1;
  }
  std::fputs(mtlc::ir::print(module).c_str(), stdout);
}
