#include "mtlc/analysis/call_graph.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace mtlc::analysis {

CallGraph::CallGraph(const ir::Module& module) {
  for (const ir::Function& f : module.functions()) {
    numbers_[&f] = size();
    functions_.push_back(&f);
  }
  calls_.resize(size());
  callers_.resize(size());
  std::vector<Digraph::Edge> edges;
  for (uint32_t i = 0; i < size(); ++i) {
    for (const ir::Block& block : functions_[i]->blocks()) {
      for (ir::Operation& op : block.ops()) {
        if (op.form() != ir::Form::Call) continue;
        calls_[i].push_back(&op);
        edges.push_back({i, index(op.callee())});
      }
    }
  }
  const Digraph graph(size(), edges);

  // Breadth first from all kernels at once.
  depth_.assign(size(), kNoNode);
  reachedBy_.assign(size(), nullptr);
  std::vector<uint32_t> queue;
  for (uint32_t i = 0; i < size(); ++i) {
    if (!functions_[i]->isKernel()) continue;
    depth_[i] = 0;
    queue.push_back(i);
  }
  for (size_t k = 0; k < queue.size(); ++k) {
    for (ir::Operation* call : calls_[queue[k]]) {
      const uint32_t callee = index(call->callee());
      callers_[callee].push_back(call);
      if (depth_[callee] != kNoNode) continue;
      depth_[callee] = depth_[queue[k]] + 1;
      reachedBy_[callee] = call;
      queue.push_back(callee);
    }
  }

  sccs_ = stronglyConnectedComponents(graph);
  recursive_.assign(size(), false);
  for (uint32_t i = 0; i < size(); ++i) recursive_[i] = sccs_.size[sccs_.component[i]] > 1;
  for (const Digraph::Edge& e : edges) {
    if (e.from == e.to) recursive_[e.from] = true;
  }
  bottomUp_.resize(size());
  for (uint32_t i = 0; i < size(); ++i) bottomUp_[i] = i;
  std::stable_sort(bottomUp_.begin(), bottomUp_.end(),
                   [&](uint32_t a, uint32_t b) { return sccs_.component[a] < sccs_.component[b]; });
}

std::vector<ir::Operation*> CallGraph::chainFromKernel(uint32_t function) const {
  std::vector<ir::Operation*> chain;
  while (reachedBy_[function]) {
    chain.push_back(reachedBy_[function]);
    function = index(reachedBy_[function]->function());
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

std::vector<ir::Operation*> CallGraph::cycleThrough(uint32_t function) const {
  if (!recursive_[function]) return {};
  absl::flat_hash_map<uint32_t, ir::Operation*> reachedBy;
  std::vector<uint32_t> queue = {function};
  for (size_t k = 0; k < queue.size(); ++k) {
    for (ir::Operation* call : calls_[queue[k]]) {
      const uint32_t callee = index(call->callee());
      if (component(callee) != component(function)) continue;
      if (!reachedBy.emplace(callee, call).second) continue;
      if (callee == function) {
        std::vector<ir::Operation*> cycle;
        do {
          cycle.push_back(call);
          call = reachedBy[index(call->function())];
        } while (index(cycle.back()->function()) != function);
        std::reverse(cycle.begin(), cycle.end());
        return cycle;
      }
      queue.push_back(callee);
    }
  }
  return {};
}

std::string printCallGraph(const ir::Module& module) {
  const CallGraph graph(module);
  std::string out;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const ir::Function* f = graph.function(i);
    absl::StrAppend(&out, f->isKernel() ? "kernel @" : "func @", std::string(f->name()));
    if (f->isDeclaration()) absl::StrAppend(&out, " external");
    if (!graph.reachableFromKernel(i)) absl::StrAppend(&out, " unreached");
    if (graph.recursive(i)) absl::StrAppend(&out, " recursive");
    absl::StrAppend(&out, " calls:");
    absl::flat_hash_set<const ir::Function*> seen;
    for (const ir::Operation* call : graph.callsIn(i)) {
      if (!seen.insert(call->callee()).second) continue;
      absl::StrAppend(&out, " @", std::string(call->callee()->name()));
    }
    absl::StrAppend(&out, "\n");
  }
  return out;
}

}  // namespace mtlc::analysis
