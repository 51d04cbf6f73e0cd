#include "mtlc/interp/interpreter.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <thread>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "mtlc/interp/block_runner.h"
#include "mtlc/interp/launch_state.h"
#include "mtlc/support/random.h"

namespace mtlc::interp {

bool FaultLog::isNew(const Key& key) {
  std::lock_guard lock(mutex_);
  return seen_.insert(key).second;
}

void FaultLog::add(uint64_t blockIndex, Fault fault) {
  std::lock_guard lock(mutex_);
  if (entries_.size() < limit_) entries_.push_back({blockIndex, std::move(fault)});
  full_ = entries_.size() == limit_;
}

std::vector<Fault> FaultLog::take() {
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const Entry& x, const Entry& y) { return x.blockIndex < y.blockIndex; });
  std::vector<Fault> faults;
  for (Entry& entry : entries_) faults.push_back(std::move(entry.fault));
  entries_.clear();
  return faults;
}

LaunchState::LaunchState(const Program& program, Memory& memory, const LaunchSpec& spec,
                         const FunctionCode& kernel)
    : program(program),
      memory(memory),
      spec(spec),
      kernel(kernel),
      blockThreads(spec.block.count()),
      gridBlocks(spec.grid.count()),
      budget(spec.options.maxMemoryBytes),
      faults(spec.options.maxFaults),
      globalAtomics(&budget),
      parallel(spec.options.threads > 1) {
  for (uint32_t index : program.reachableFrom(kernel)) {
    hasAsync |= program.function(index).hasAsync;
    hasAtomics |= program.function(index).hasAtomics;
    hasClocks |= hasAtomics || program.function(index).ordersSubgroups;
  }
  if (!checks(FaultKind::Race)) return;
  histories.reserve(memory.bufferCount());
  for (BufferId id = 0; id < memory.bufferCount(); ++id) {
    histories.emplace_back(memory.bytes(id).size(), AccessHistory::Scope::Global, &budget);
  }
}

namespace {

std::string dimText(const Dim3& d) { return absl::StrFormat("%dx%dx%d", d.x, d.y, d.z); }

absl::Status checkShape(const LaunchSpec& spec, const FunctionCode& kernel) {
  const Dim3& block = spec.block;
  if (block.x == 0 || block.y == 0 || block.z == 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "a block of %s threads: every dimension must be at least 1", dimText(block)));
  }
  constexpr uint64_t kMaxThreads = uint64_t{1} << kOwnerBits;
  if (block.x > kMaxThreads || block.y > kMaxThreads || block.z > kMaxThreads ||
      uint64_t{block.x} * block.y > kMaxThreads || block.count() > kMaxThreads) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("a block of %s threads: the most is %d", dimText(block), kMaxThreads));
  }
  constexpr uint64_t kMaxBlocks = std::numeric_limits<uint32_t>::max();
  const Dim3& grid = spec.grid;
  if (grid.z != 0 && uint64_t{grid.x} * grid.y > kMaxBlocks / grid.z) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("a grid of %s blocks: the most is %d", dimText(grid), kMaxBlocks));
  }
  const uint32_t bound = kernel.function->launchBounds.maxThreads;
  if (bound != 0 && block.count() > bound) {
    return absl::InvalidArgumentError(
        absl::StrFormat("a block of %s threads, but kernel '%s' is bound to %d", dimText(block),
                        spec.kernel, bound));
  }
  const LaunchOptions& options = spec.options;
  if (options.subgroupSize < 1 || options.subgroupSize > 128) {
    return absl::InvalidArgumentError(
        absl::StrFormat("a subgroup size of %d is not in 1 … 128", options.subgroupSize));
  }
  if (options.threads < 1 || options.maxSteps < 1 || options.maxFaults < 1) {
    return absl::InvalidArgumentError("threads, maxSteps and maxFaults must be at least 1");
  }
  return absl::OkStatus();
}

absl::Status checkCode(const Program& program, const FunctionCode& kernel) {
  for (uint32_t index : program.reachableFrom(kernel)) {
    const FunctionCode& code = program.function(index);
    if (code.function->isDeclaration()) {
      return absl::InvalidArgumentError(absl::StrFormat("kernel '%s' calls '%s', which has no body",
                                                        kernel.function->name(),
                                                        code.function->name()));
    }
    if (code.hostOnly) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "kernel '%s' reaches '%s', which contains %s: an operation of host code, "
          "which a kernel cannot execute",
          kernel.function->name(), code.function->name(), code.hostOnly->info().mnemonic));
    }
    if (code.privates.size() > (size_t{1} << kObjectBits)) {
      return absl::ResourceExhaustedError(
          absl::StrFormat("'%s' has %d private variables; the most is %d", code.function->name(),
                          code.privates.size(), size_t{1} << kObjectBits));
    }
    for (const ir::Operation* op : code.privates) {
      // An object starts one element into its half slot.
      uint64_t limit = kPrivateLayout.maxBytes() / op->elemType().bytes() - 1;
      if (op->allocCount() > limit) {
        return absl::ResourceExhaustedError(
            absl::StrFormat("a private variable of %d elements in '%s'; the most is %d",
                            op->allocCount(), code.function->name(), limit));
      }
    }
    for (const Inst& inst : code.insts) {
      if (inst.opcode != ir::Opcode::AllocWorkgroup) continue;
      uint64_t limit = kWorkgroupLayout.maxBytes() / inst.op->elemType().bytes();
      if (inst.op->allocCount() > limit) {
        return absl::ResourceExhaustedError(
            absl::StrFormat("a workgroup variable of %d elements in '%s'; the most is %d",
                            inst.op->allocCount(), code.function->name(), limit));
      }
    }
  }
  if (program.workgroupAllocs().size() >= (size_t{1} << kObjectBits)) {
    return absl::ResourceExhaustedError("too many workgroup variables in one module");
  }
  return absl::OkStatus();
}

absl::Status bindArguments(LaunchState& state) {
  const LaunchSpec& spec = state.spec;
  std::span<const ir::Type> types = state.kernel.function->paramTypes();
  if (types.size() != spec.args.size()) {
    return absl::InvalidArgumentError(absl::StrFormat("kernel '%s' takes %d arguments, not %d",
                                                      spec.kernel, types.size(), spec.args.size()));
  }
  for (size_t i = 0; i < types.size(); ++i) {
    const KernelArg& arg = spec.args[i];
    const ir::Type type = types[i];
    if (arg.kind == KernelArg::Kind::Scalar) {
      state.params.push_back(arg.bits & type.mask());
      continue;
    }
    if (!type.isPtr() || type.space() == ir::Space::Workgroup) {
      return absl::InvalidArgumentError(
          absl::StrFormat("argument %d of kernel '%s' is a buffer, but its type is %s", i,
                          spec.kernel, ir::typeName(type)));
    }
    if (arg.bufferId >= state.memory.bufferCount()) {
      return absl::InvalidArgumentError(
          absl::StrFormat("argument %d: there is no buffer %d", i, arg.bufferId));
    }
    state.params.push_back(Memory::address(arg.bufferId) + arg.bits);
  }
  return absl::OkStatus();
}

absl::Status outOfMemory(const LaunchSpec& spec) {
  return absl::ResourceExhaustedError(
      absl::StrFormat("the launch needs more than %d MiB of memory for its threads and checks",
                      spec.options.maxMemoryBytes >> 20));
}

// Position `i` in the order of blocks that the seed gives: an affine permutation.
class BlockOrder {
 public:
  BlockOrder(uint64_t count, uint64_t seed) : count_(count) {
    if (seed == 0 || count < 2) return;
    SplitMix64 random(seed);
    offset_ = random.below(count);
    do {
      factor_ = 1 + random.below(count - 1);
    } while (std::gcd(factor_, count) != 1);
  }
  uint64_t at(uint64_t i) const { return (i * factor_ + offset_) % count_; }

 private:
  uint64_t count_;
  uint64_t factor_ = 1;
  uint64_t offset_ = 0;
};

// Blocks that a device holds at once, when blocks may talk to each other.
constexpr uint64_t kResidentBlocks = 8;

// Runs all blocks on this host thread, a few at once: in turn, or as the seed says.
template <typename Count>
void runInterleaved(LaunchState& state, const BlockOrder& order, Count count) {
  const uint64_t resident = std::min(kResidentBlocks, state.gridBlocks);
  const uint64_t seed = state.spec.options.seed;
  SplitMix64 random(seed);
  std::vector<std::unique_ptr<BlockRunner>> runners;
  for (uint64_t i = 0; i < resident; ++i) {
    runners.push_back(std::make_unique<BlockRunner>(state));
    runners.back()->start(order.at(i));
  }
  uint64_t next = resident;
  uint64_t blocks = 0;  // Ended, not yet counted.
  for (size_t turn = 0; !runners.empty(); ++turn) {
    const size_t at = seed == 0 ? turn % runners.size() : random.below(runners.size());
    BlockRunner& runner = *runners[at];
    if (!state.stopped() && runner.pass()) continue;
    runner.finish();
    ++blocks;
    if (!state.stopped() && next < state.gridBlocks) {
      runner.start(order.at(next++));
      continue;
    }
    count(runner, std::exchange(blocks, 0));
    runners.erase(runners.begin() + static_cast<ptrdiff_t>(at));
  }
}

}  // namespace

absl::StatusOr<LaunchResult> launch(const Program& program, Memory& memory,
                                    const LaunchSpec& spec) {
  const FunctionCode* kernel = program.findKernel(spec.kernel);
  if (!kernel) {
    return absl::NotFoundError(absl::StrFormat("there is no kernel '%s'", spec.kernel));
  }
  if (absl::Status s = checkShape(spec, *kernel); !s.ok()) return s;
  if (absl::Status s = checkCode(program, *kernel); !s.ok()) return s;
  if (spec.sharedBytes > kWorkgroupLayout.maxBytes()) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("%d bytes of launch-sized workgroup memory; the most is %d",
                        spec.sharedBytes, kWorkgroupLayout.maxBytes()));
  }
  LaunchState state(program, memory, spec, *kernel);
  if (absl::Status s = bindArguments(state); !s.ok()) return s;

  LaunchResult result;
  if (state.gridBlocks == 0) return result;
  const auto start = std::chrono::steady_clock::now();
  const BlockOrder order(state.gridBlocks, spec.options.seed);
  std::atomic<uint64_t> next{0};
  std::mutex mutex;
  auto count = [&](const BlockRunner& runner, uint64_t blocks) {
    std::lock_guard lock(mutex);
    LaunchStats& stats = result.stats;
    stats.blocks += blocks;
    stats.threads += blocks * state.blockThreads;
    stats.instructions += runner.instructions();
    for (size_t i = 0; i < stats.byOpcode.size(); ++i) stats.byOpcode[i] += runner.byOpcode()[i];
  };
  auto work = [&] {
    BlockRunner runner(state);
    uint64_t blocks = 0;
    while (!state.stopped()) {
      uint64_t position = next.fetch_add(1);
      if (position >= state.gridBlocks) break;
      runner.run(order.at(position));
      ++blocks;
    }
    count(runner, blocks);
  };
  if (state.hasAtomics) {
    runInterleaved(state, order, count);
  } else {
    std::vector<std::thread> helpers;
    const uint64_t wanted = std::min<uint64_t>(spec.options.threads, state.gridBlocks);
    for (uint64_t i = 1; i < wanted; ++i) helpers.emplace_back(work);
    work();
    for (std::thread& helper : helpers) helper.join();
  }
  result.stats.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (state.budget.exhausted()) return outOfMemory(spec);
  result.faults = state.faults.take();
  return result;
}

std::vector<Fault> checkReadBack(const Program& program, const Memory& memory, BufferId id,
                                 uint64_t begin, uint64_t end, const LaunchSpec& spec) {
  std::vector<Fault> faults;
  const Memory::Buffer& buffer = memory.buffers_[id];
  if (buffer.uninitStores.empty()) return faults;
  absl::flat_hash_set<uint32_t> seen;
  for (uint64_t at = begin; at < std::min<uint64_t>(end, buffer.bytes.size()); ++at) {
    const UninitStore& store = buffer.uninitStores[at];
    if (buffer.uninit[at] == 0 || store.inst == 0 || !seen.insert(store.inst).second) continue;
    const ir::Operation* op = program.inst(store.inst).op;
    Fault fault;
    fault.id = DiagId::FaultUninitOutput;
    fault.kind = FaultKind::Init;
    fault.loc = op->loc();
    fault.kernel = spec.kernel;
    fault.block = unflatten(store.block, spec.grid);
    fault.thread = unflatten(store.thread, spec.block);
    fault.space = "global";
    fault.address = Memory::address(id) + at;
    fault.size = op->elemType().bytes();
    fault.args = {buffer.name, std::to_string(at)};
    faults.push_back(std::move(fault));
  }
  return faults;
}

}  // namespace mtlc::interp
