// What the tests of this folder share.

#ifndef MTLC_ANALYSIS_TEST_UTIL_H_
#define MTLC_ANALYSIS_TEST_UTIL_H_

#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "mtlc/analysis/graph.h"
#include "mtlc/ir/ir.h"
#include "mtlc/support/diagnostics.h"

namespace mtlc::analysis {

// A module with the sources that it refers to. `text` begins with a newline and has no
// module line. Parsing fails the test on any error, the structural
// verifier's included.
struct ParsedModule {
  std::unique_ptr<SourceManager> sources = std::make_unique<SourceManager>();
  std::unique_ptr<ir::Module> module;

  ir::Function* function(std::string_view name) const { return module->findFunction(name); }
};
ParsedModule parse(std::string_view text, std::string_view fileName = "test.mtir");
ir::Block* blockNamed(const ir::Function& function, std::string_view name);
ir::Value* valueNamed(const ir::Function& function, std::string_view name);

// Adds a kernel whose blocks 0 … blockCount-1 have the edges given (at most two for each block,
// block 0 has none coming in) and nothing else in them but a constant condition. Blocks without an
// edge return.
ir::Function* kernelFromEdges(ir::Module& module, uint32_t blockCount,
                              const std::vector<Digraph::Edge>& edges);
// Up to two successors for each of `blockCount` nodes, none of them node 0.
std::vector<Digraph::Edge> randomEdges(std::mt19937& random, uint32_t blockCount);

}  // namespace mtlc::analysis

#endif  // MTLC_ANALYSIS_TEST_UTIL_H_
