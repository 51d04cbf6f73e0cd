#include "mtlc/sim/program_builder.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace mtlc::sim {

Ref ProgramBuilder::constant32(uint32_t value) {
  auto [it, fresh] = constants32_.emplace(value, kNoRef);
  if (fresh) {
    it->second = makeRef(File::constant, Bank::r32,
                         static_cast<uint32_t>(program_->const32.size() / kLanes));
    program_->const32.insert(program_->const32.end(), kLanes, value);
  }
  return it->second;
}

Ref ProgramBuilder::constant64(uint64_t value) {
  auto [it, fresh] = constants64_.emplace(value, kNoRef);
  if (fresh) {
    it->second = makeRef(File::constant, Bank::r64,
                         static_cast<uint32_t>(program_->const64.size() / kLanes));
    program_->const64.insert(program_->const64.end(), kLanes, value);
  }
  return it->second;
}

Ref ProgramBuilder::constantPred(bool value) {
  auto& ref = constantsPred_[value ? 1 : 0];
  if (!ref) {
    ref = makeRef(File::constant, Bank::pred, static_cast<uint32_t>(program_->constPred.size()));
    program_->constPred.push_back(value ? kAllLanes : 0);
  }
  return *ref;
}

Ref ProgramBuilder::special(Special s) {
  auto [it, fresh] = specials_.emplace(static_cast<uint32_t>(s), kNoRef);
  if (fresh) {
    it->second =
        makeRef(File::special, Bank::r32, static_cast<uint32_t>(program_->specials.size()));
    program_->specials.push_back(s);
  }
  return it->second;
}

std::optional<uint64_t> ProgramBuilder::placeShared(std::string_view name, uint64_t bytes,
                                                    uint64_t align) {
  Program& p = *program_;
  // Limits apply to what is declared.
  uint64_t declared = alignUp(p.staticShared, align) + bytes;
  uint64_t gap = p.sharedLayoutBytes == 0 ? 0 : kVariableGuardBytes;
  uint64_t offset = alignUp(p.sharedLayoutBytes + gap, align);
  if (declared > kMaxSharedBytes || offset + bytes > 2 * kMaxSharedBytes) return std::nullopt;
  p.staticShared = static_cast<uint32_t>(declared);
  p.sharedLayoutBytes = static_cast<uint32_t>(offset + bytes);
  p.sharedVariables.push_back(
      {static_cast<uint32_t>(offset), static_cast<uint32_t>(bytes), std::string(name)});
  return offset;
}

// A gap, as any other: it follows a byte that is no variable's.
void ProgramBuilder::beginSharedBehindNull() { program_->sharedLayoutBytes = 1; }

void ProgramBuilder::reserveShared() {
  constexpr uint32_t kReservedBytes = 1024;
  Program& p = *program_;
  if (p.reservedSharedBytes != 0) return;
  uint64_t gap = p.sharedLayoutBytes == 0 ? 0 : kVariableGuardBytes;
  p.reservedShared = static_cast<uint32_t>(alignUp(p.sharedLayoutBytes + gap, 128));
  p.reservedSharedBytes = kReservedBytes;
  p.sharedLayoutBytes = p.reservedShared + kReservedBytes;
  p.sharedVariables.push_back({p.reservedShared, kReservedBytes, "the reserved shared memory"});
}

void ProgramBuilder::beginDynamicShared(uint32_t align) {
  Program& p = *program_;
  p.dynamicSharedAlign = std::max(p.dynamicSharedAlign, align);
  uint32_t least = std::max(p.dynamicSharedAlign, 16u);
  uint64_t gap = p.sharedLayoutBytes == 0 ? 0 : kVariableGuardBytes;
  p.dynamicSharedOffset = static_cast<uint32_t>(alignUp(p.sharedLayoutBytes + gap, least));
  p.sharedGuardBytes =
      static_cast<uint32_t>(p.dynamicSharedOffset - alignUp(p.staticShared, least));
}

// The deepest sum of frames over the call graph, or recursion.
void ProgramBuilder::computeStack() {
  std::vector<ProgramFunction>& fs = program_->functions;
  std::vector<uint8_t> state(fs.size(), 0);  // 0 new, 1 open, 2 done
  std::vector<uint64_t> depth(fs.size(), 0);
  std::vector<uint64_t> declared(fs.size(), 0);  // Without gaps.
  std::vector<std::pair<uint32_t, size_t>> path;
  path.emplace_back(0, 0);
  state[0] = 1;
  while (!path.empty()) {
    auto& [f, next] = path.back();
    if (fs[f].indirectCalls || program_->usesAlloca) program_->recursive = true;
    if (next < fs[f].callees.size()) {
      uint32_t callee = fs[f].callees[next++];
      if (state[callee] == 1) {
        program_->recursive = true;
      } else if (state[callee] == 0) {
        state[callee] = 1;
        path.emplace_back(callee, 0);
      }
      continue;
    }
    uint64_t deepest = 0, deepestDeclared = 0;
    for (uint32_t c : fs[f].callees) {
      if (state[c] != 2) continue;
      deepest = std::max(deepest, depth[c]);
      deepestDeclared = std::max(deepestDeclared, declared[c]);
    }
    depth[f] = alignUp(fs[f].localBytes, 16) + deepest;
    declared[f] = alignUp(fs[f].localBytes - fs[f].guardBytes, 16) + deepestDeclared;
    state[f] = 2;
    path.pop_back();
  }
  program_->localBytes = static_cast<uint32_t>(std::min<uint64_t>(depth[0], UINT32_MAX));
  program_->declaredLocalBytes = static_cast<uint32_t>(std::min<uint64_t>(declared[0], UINT32_MAX));
}

std::unique_ptr<Program> ProgramBuilder::finish() {
  computeStack();
  Program& p = *program_;
  p.realBefore.reserve(p.code.size() + 1);
  uint32_t real = 0;
  for (const Instr& in : p.code) {
    p.realBefore.push_back(real);
    real += (in.flags & kCountsAsNothing) == 0 ? 1 : 0;
  }
  p.realBefore.push_back(real);
  return take();
}

std::optional<uint64_t> FrameLayout::place(uint64_t bytes, uint64_t align, bool gaps) {
  uint64_t before = bytes_, gap = gaps ? kVariableGuardBytes : 0;
  if (gap != 0 && before != 0 && before != guardEnd_) bytes_ += gap;
  bytes_ = alignUp(bytes_, align);
  uint64_t offset = bytes_;
  bytes_ += bytes + gap;
  if (gap != 0) guardEnd_ = bytes_;
  guardBytes_ += bytes_ - bytes - alignUp(before, align);
  if (bytes_ - guardBytes_ > kMaxFrameBytes || bytes_ > 2 * kMaxFrameBytes) {
    reset(0);
    return std::nullopt;
  }
  return offset;
}

void FrameLayout::beginBehindNull() { bytes_ = guardBytes_ = guardEnd_ = kVariableGuardBytes; }

void FrameLayout::reset(uint64_t bytes) {
  bytes_ = bytes;
  guardBytes_ = guardEnd_ = 0;
}

}  // namespace mtlc::sim
