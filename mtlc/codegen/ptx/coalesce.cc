#include "mtlc/codegen/ptx/coalesce.h"

#include <algorithm>
#include <numeric>

namespace mtlc::ptx {

namespace {
constexpr uint32_t kNone = ~0u;
}  // namespace

void Coalescer::run(const MachineFunction& function) {
  representatives_.clear();
  if (function.copies.empty()) return;
  collectCandidates(function);
  if (regOf_.empty()) return;
  collectUses(function);
  collectPredecessors(function);
  size_t blocks = function.blocks.size();
  seen_.assign(blocks, kNone);
  lastUse_.assign(blocks, 0);
  constexpr uint64_t kSmall = 1 << 16;
  budget_ = 32 * (uint64_t{function.insts.size()} + blocks + function.copies.size()) + kSmall;
  ranges_.resize(regOf_.size());
  for (Ranges& r : ranges_) r.clear();
  states_.assign(regOf_.size(), State::New);
  parent_.resize(regOf_.size());
  std::iota(parent_.begin(), parent_.end(), 0);
  joinAll(function);

  representatives_.resize(function.regs.size());
  std::iota(representatives_.begin(), representatives_.end(), 0);
  for (uint32_t c = 0; c < regOf_.size(); ++c) representatives_[regOf_[c]] = regOf_[find(c)];
}

void Coalescer::collectCandidates(const MachineFunction& function) {
  candidateOf_.assign(function.regs.size(), kNone);
  regOf_.clear();
  auto add = [&](uint32_t reg) {
    if (candidateOf_[reg] != kNone) return;
    candidateOf_[reg] = static_cast<uint32_t>(regOf_.size());
    regOf_.push_back(reg);
  };
  for (const MachineCopy& copy : function.copies) {
    if (!copy.src.isReg() || function.regs[copy.dst] != function.regs[copy.src.index()]) continue;
    add(copy.dst);
    add(copy.src.index());
  }
}

void Coalescer::collectUses(const MachineFunction& function) {
  size_t n = regOf_.size();
  definitions_.assign(n, Use{0, 0});
  firstUse_.assign(n + 2, 0);
  // Twice over the code: count, then fill.
  for (int pass = 0; pass < 2; ++pass) {
    auto note = [&](Opnd o, uint32_t block, uint32_t position) {
      if (!o.readsReg()) return;
      uint32_t c = candidateOf_[o.index()];
      if (c == kNone) return;
      if (pass == 0) {
        ++firstUse_[c + 2];
      } else {
        uses_[firstUse_[c + 1]++] = {block, position};
      }
    };
    for (uint32_t b = 0; b < function.blocks.size(); ++b) {
      const MachineBlock& block = function.blocks[b];
      if (pass == 0) {
        for (uint32_t a = function.firstBlockArg[b]; a < function.firstBlockArg[b + 1]; ++a) {
          uint32_t c = candidateOf_[function.blockArgs[a]];
          if (c != kNone) definitions_[c] = {b, blockStart(function, b)};
        }
      }
      for (uint32_t i = block.firstInst; i < block.endInst; ++i) {
        const MachineInst& inst = function.insts[i];
        uint32_t position = 2 * (i + b);
        for (int s = 0; s < inst.sources; ++s) note(inst.src[s], b, position);
        if (inst.op == MachineOp::Call) {
          const MachineCall& call = function.calls[static_cast<size_t>(inst.offset)];
          for (uint32_t a = 0; a < call.argCount; ++a) {
            note(function.callArgs[call.firstArg + a], b, position);
          }
        }
        if (inst.op == MachineOp::Grouped) {
          function.forEachGrouped(inst, [&](Opnd o, bool isDestination) {
            if (!isDestination) {
              note(o, b, position);
            } else if (pass == 0 && o.isReg() && candidateOf_[o.index()] != kNone) {
              definitions_[candidateOf_[o.index()]] = {b, position + 1};
            }
          });
        }
        if (pass == 0 && inst.dst.isReg() && candidateOf_[inst.dst.index()] != kNone) {
          definitions_[candidateOf_[inst.dst.index()]] = {b, position + 1};
        }
      }
      uint32_t end = terminator(function, b);
      note(block.cond, b, end);
      for (unsigned e = 0; e < block.edgeCount(); ++e) {
        const MachineEdge& edge = block.edges[e];
        for (uint32_t k = 0; k < edge.copyCount; ++k) {
          note(function.copies[edge.firstCopy + k].src, b, end + 1);
        }
      }
    }
    if (pass == 0) {
      for (size_t c = 2; c < firstUse_.size(); ++c) firstUse_[c] += firstUse_[c - 1];
      uses_.resize(firstUse_.back());
    }
  }
}

void Coalescer::collectPredecessors(const MachineFunction& function) {
  size_t n = function.blocks.size();
  firstPred_.assign(n + 2, 0);
  for (const MachineBlock& block : function.blocks) {
    for (unsigned e = 0; e < block.edgeCount(); ++e) ++firstPred_[block.edges[e].target + 2];
  }
  for (size_t b = 2; b < firstPred_.size(); ++b) firstPred_[b] += firstPred_[b - 1];
  preds_.resize(firstPred_.back());
  for (uint32_t b = 0; b < n; ++b) {
    const MachineBlock& block = function.blocks[b];
    for (unsigned e = 0; e < block.edgeCount(); ++e) {
      preds_[firstPred_[block.edges[e].target + 1]++] = b;
    }
  }
}

bool Coalescer::haveRanges(const MachineFunction& function, uint32_t candidate) {
  if (states_[candidate] == State::New) {
    states_[candidate] = State::Unknown;
    computeRanges(function, candidate);
  }
  return states_[candidate] == State::Known;
}

// From each use upwards to the definition (B. Boissinot et al., "Computing Liveness Sets for
// SSA-Form Programs", 2011).
void Coalescer::computeRanges(const MachineFunction& function, uint32_t candidate) {
  Use def = definitions_[candidate];
  work_.clear();
  touched_.clear();
  auto reach = [&](uint32_t block, uint32_t end) {
    if (seen_[block] == candidate) {
      lastUse_[block] = std::max(lastUse_[block], end);
      return;
    }
    seen_[block] = candidate;
    lastUse_[block] = end;
    touched_.push_back(block);
    if (block != def.block) work_.push_back(block);
  };
  reach(def.block, def.position + 1);
  // firstUse_ was shifted by one while filling.
  for (uint32_t u = firstUse_[candidate]; u < firstUse_[candidate + 1]; ++u) {
    reach(uses_[u].block, uses_[u].position + 1);
  }
  while (!work_.empty()) {
    uint32_t block = work_.back();
    work_.pop_back();
    for (uint32_t p = firstPred_[block]; p < firstPred_[block + 1]; ++p) {
      if (budget_ == 0) return;  // Unknown: joined with nothing.
      --budget_;
      reach(preds_[p], terminator(function, preds_[p]) + 2);
    }
  }
  states_[candidate] = State::Known;
  std::sort(touched_.begin(), touched_.end());
  Ranges& ranges = ranges_[candidate];
  for (uint32_t block : touched_) {
    uint32_t begin = block == def.block ? def.position : blockStart(function, block);
    if (!ranges.empty() && ranges.back().end == begin) {
      ranges.back().end = lastUse_[block];
    } else {
      ranges.push_back({begin, lastUse_[block]});
    }
  }
}

uint32_t Coalescer::find(uint32_t candidate) {
  while (parent_[candidate] != candidate) {
    parent_[candidate] = parent_[parent_[candidate]];
    candidate = parent_[candidate];
  }
  return candidate;
}

// The shorter list is looked up in the longer one.
bool Coalescer::overlap(const Ranges& a, const Ranges& b) {
  if (a.size() > b.size()) return overlap(b, a);
  auto from = b.begin();
  for (const Range& r : a) {
    from = std::lower_bound(from, b.end(), r.begin,
                            [](const Range& x, uint32_t begin) { return x.end <= begin; });
    if (from == b.end()) return false;
    if (from->begin < r.end) return true;
  }
  return false;
}

void Coalescer::merge(Ranges& into, const Ranges& from) {
  // What lies past the end, the usual case, is appended.
  for (const Range& r : from) {
    auto at = into.end();
    if (!into.empty() && into.back().begin > r.begin) {
      at = std::lower_bound(into.begin(), into.end(), r.begin,
                            [](const Range& x, uint32_t begin) { return x.begin < begin; });
    }
    if (at != into.begin() && (at - 1)->end == r.begin) {
      (at - 1)->end = r.end;
      if (at != into.end() && at->begin == r.end) {
        (at - 1)->end = at->end;
        into.erase(at);
      }
    } else if (at != into.end() && at->begin == r.end) {
      at->begin = r.begin;
    } else {
      into.insert(at, r);
    }
  }
}

void Coalescer::joinAll(const MachineFunction& function) {
  struct Edge {
    uint32_t depth;
    const MachineEdge* edge;
  };
  std::vector<Edge> edges;
  for (const MachineBlock& block : function.blocks) {
    for (unsigned e = 0; e < block.edgeCount(); ++e) {
      if (block.edges[e].copyCount != 0) edges.push_back({block.loopDepth, &block.edges[e]});
    }
  }
  std::stable_sort(edges.begin(), edges.end(),
                   [](const Edge& a, const Edge& b) { return a.depth > b.depth; });
  for (const Edge& edge : edges) {
    for (uint32_t k = 0; k < edge.edge->copyCount; ++k) {
      const MachineCopy& copy = function.copies[edge.edge->firstCopy + k];
      if (!copy.src.isReg() || function.regs[copy.dst] != function.regs[copy.src.index()]) continue;
      uint32_t a = find(candidateOf_[copy.dst]), b = find(candidateOf_[copy.src.index()]);
      if (a == b || !haveRanges(function, a) || !haveRanges(function, b)) continue;
      if (overlap(ranges_[a], ranges_[b])) continue;
      if (ranges_[a].size() < ranges_[b].size()) std::swap(a, b);
      merge(ranges_[a], ranges_[b]);
      ranges_[b].clear();
      parent_[b] = a;
    }
  }
}

}  // namespace mtlc::ptx
