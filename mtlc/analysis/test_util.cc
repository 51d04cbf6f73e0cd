#include "mtlc/analysis/test_util.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "mtlc/ir/builder.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"

namespace mtlc::analysis {

ParsedModule parse(std::string_view text, std::string_view fileName) {
  ParsedModule result;
  DiagnosticEngine diags;
  FileId file = result.sources->add(std::string(fileName),
                                    absl::StrCat("module \"test\"", std::string(text)));
  result.module = ir::parseModule(*result.sources, file, diags);
  if (result.module) ir::verify(*result.module, diags);
  EXPECT_FALSE(diags.hasErrors()) << renderHuman(diags, *result.sources);
  if (!result.module) result.module = std::make_unique<ir::Module>(*result.sources);
  return result;
}

ir::Block* blockNamed(const ir::Function& function, std::string_view name) {
  for (ir::Block& block : function.blocks()) {
    if (block.name() == name) return &block;
  }
  ADD_FAILURE() << "no block " << name;
  return nullptr;
}

ir::Value* valueNamed(const ir::Function& function, std::string_view name) {
  for (ir::Block& block : function.blocks()) {
    for (ir::Value* arg : block.args()) {
      if (arg->name() == name) return arg;
    }
    for (ir::Operation& op : block.ops()) {
      if (op.result() && op.result()->name() == name) return op.result();
    }
  }
  ADD_FAILURE() << "no value " << name;
  return nullptr;
}

ir::Function* kernelFromEdges(ir::Module& module, uint32_t blockCount,
                              const std::vector<Digraph::Edge>& edges) {
  ir::Function* f = module.addFunction({.name = module.uniqueName("k"), .isKernel = true});
  std::vector<ir::Block*> blocks;
  for (uint32_t i = 0; i < blockCount; ++i) blocks.push_back(f->addBlock("b" + std::to_string(i)));
  const Digraph graph(blockCount, edges);
  ir::Builder builder(module);
  for (uint32_t i = 0; i < blockCount; ++i) {
    builder.setInsertEnd(blocks[i]);
    std::span<const uint32_t> succs = graph.succs(i);
    if (succs.empty()) {
      builder.ret();
    } else if (succs.size() == 1) {
      builder.jump(blocks[succs[0]]);
    } else {
      builder.br(builder.constBool(true), blocks[succs[0]], blocks[succs[1]]);
    }
  }
  return f;
}

std::vector<Digraph::Edge> randomEdges(std::mt19937& random, uint32_t blockCount) {
  std::vector<Digraph::Edge> edges;
  for (uint32_t i = 0; i < blockCount && blockCount > 1; ++i) {
    const uint32_t kind = random() % 8;  // 0: return, 1 to 3: jump, else: br.
    for (uint32_t k = 0; k < (kind == 0 ? 0 : kind < 4 ? 1 : 2); ++k) {
      // Mostly near and forward, as code is; sometimes anywhere.
      uint32_t to = random() % 3 ? i + 1 + random() % 3 : 1 + random() % (blockCount - 1);
      if (to >= blockCount) to = 1 + random() % (blockCount - 1);
      edges.push_back({i, to});
    }
  }
  return edges;
}

}  // namespace mtlc::analysis
