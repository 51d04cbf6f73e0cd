// Launches: configuration checks, workers, results.

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "mtlc/sim/engine.h"
#include "mtlc/sim/launch_state.h"
#include "mtlc/sim/module_impl.h"
#include "mtlc/sim/program_builder.h"
#include "mtlc/sim/spirv/module.h"
#include "mtlc/sim/trace.h"
#include "mtlc/sim/weak.h"

namespace mtlc::sim {
namespace {

// Warp turns before another block gets its turn, and blocks that may be under way at once on one
// host thread: blocks that wait for each other through memory make progress.
constexpr uint32_t kBlockTurns = 4096;
constexpr size_t kResidentBlocks = 64;
constexpr uint64_t kResidentBytes = uint64_t{256} << 20;
constexpr uint64_t kHeapBytes = uint64_t{8} << 20;

using Clock = std::chrono::steady_clock;

const Allocation kNoAllocation;

struct Refusal {
  DiagnosticEngine& diags;
  LaunchResult& result;
  SourceLoc at;
  bool operator()(DiagId id, DiagArgs args) {
    result.status = LaunchStatus::invalidConfig;
    result.message = diags.report(id, SourceRange(at), args).message;
    return false;
  }
};

bool checkConfig(const Kernel& k, const Program& p, const LaunchConfig& c, const DeviceLimits& l,
                 Refusal refuse) {
  static constexpr const char* kAxis[] = {"x", "y", "z"};
  uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    if (c.block[i] == 0 || c.block[i] > l.maxBlock[i]) {
      return refuse(DiagId::SimBlockSize, {kAxis[i], c.block[i], l.maxBlock[i]});
    }
    if (c.grid[i] > l.maxGrid[i]) {
      return refuse(DiagId::SimGridSize, {kAxis[i], c.grid[i], l.maxGrid[i]});
    }
    threads *= c.block[i];
  }
  if (threads > l.maxThreadsPerBlock) {
    return refuse(DiagId::SimBlockThreads, {threads, l.maxThreadsPerBlock});
  }
  if (k.maxThreads[0] != 0) {
    uint64_t most = uint64_t{k.maxThreads[0]} * k.maxThreads[1] * k.maxThreads[2];
    if (threads > most) return refuse(DiagId::SimKernelThreads, {threads, k.name, most});
  }
  if (k.requiredThreads[0] != 0 && k.requiredThreads != c.block) {
    return refuse(DiagId::SimRequiredThreads, {k.name, triple(k.requiredThreads), triple(c.block)});
  }
  if (uint64_t{p.clusterShape[0]} * p.clusterShape[1] * p.clusterShape[2] > 1) {
    return refuse(DiagId::SimClusterShape, {k.name, triple(p.clusterShape)});
  }
  if (c.subgroupSize != 8 && c.subgroupSize != 16 && c.subgroupSize != 32 && c.subgroupSize != 64) {
    return refuse(DiagId::SimSubgroupSize, {c.subgroupSize});
  }
  if (p.staticShared > l.staticSharedBytes) {
    return refuse(DiagId::SimStaticShared, {k.name, p.staticShared, l.staticSharedBytes});
  }
  uint64_t shared = uint64_t{p.dynamicSharedOffset} - p.sharedGuardBytes + c.dynamicShared;
  if (c.dynamicShared != 0 && shared > l.sharedBytes) {
    return refuse(DiagId::SimDynamicShared, {c.dynamicShared, shared, l.sharedBytes});
  }
  if (k.paramBytes > l.maxParamBytes) {
    return refuse(DiagId::SimParamBytes, {k.name, k.paramBytes, l.maxParamBytes});
  }
  if (c.params.size() != k.paramBytes) {
    return refuse(DiagId::SimParamSize, {k.name, k.paramBytes, c.params.size()});
  }
  return true;
}

// Runs blocks until there are no more or the launch stops.
void work(LaunchState& launch, Worker& worker) {
  std::vector<std::unique_ptr<Block>> resident;
  size_t turn = 0;
  uint64_t blockBytes = 0;
  uint64_t random = launch.config->seed;
  bool more = true;  // There may be blocks that have not started.
  while (!launch.stop.load(std::memory_order_relaxed)) {
    std::unique_ptr<Block> block;
    bool mayStart = resident.size() < kResidentBlocks &&
                    (resident.empty() || (resident.size() + 1) * blockBytes < kResidentBytes);
    // Under way blocks take turns; a new one starts when all of them had theirs. A random schedule
    // starts as many as may be under way and then draws one for each turn.
    if (launch.config->seed != 0) {
      bool starts = resident.empty() || (more && mayStart);
      turn = starts ? resident.size() : nextRandom(random) % resident.size();
    }
    if (turn < resident.size()) {
      block = std::move(resident[turn]);
    } else if (mayStart) {
      uint64_t next = launch.nextBlock.fetch_add(1);
      if (next < launch.blocks) {
        if (!worker.spare.empty()) {
          block = std::move(worker.spare.back());
          worker.spare.pop_back();
        } else {
          block = std::make_unique<Block>();
        }
        if (!startBlock(worker, *block, next)) {
          launch.finish(LaunchStatus::outOfMemory);
          break;
        }
        const ProgramFunction& f = launch.program->functions[0];
        blockBytes =
            block->sharedBytes + uint64_t{block->localStride} * block->threads +
            block->warps.size() * (uint64_t{f.slots32} * 128 + uint64_t{f.slots64} * 256 + 4096);
        if (launch.config->seed != 0) {
          resident.push_back(std::move(block));
          continue;
        }
      } else {
        launch.nextBlock.store(launch.blocks);
        more = false;
        if (resident.empty()) break;
        turn = 0;
        continue;
      }
    } else {
      turn = 0;
      continue;
    }
    BlockStatus s = runBlock(*block, kBlockTurns);
    if (s == BlockStatus::stopped) break;
    if (s == BlockStatus::done) {
      worker.spare.push_back(std::move(block));
      if (turn < resident.size()) {
        resident[turn] = std::move(resident.back());
        resident.pop_back();
      }
    } else if (turn < resident.size()) {
      resident[turn] = std::move(block);
      ++turn;
    } else {
      resident.push_back(std::move(block));
      turn = 0;
    }
  }
}

}  // namespace

Device::Device(DeviceLimits limits) : limits_(limits), memory_(limits.memoryBytes) {}
Device::~Device() = default;

Module* Device::load(FileId file, const SourceManager& sources, DiagnosticEngine& diags) {
  auto m = std::make_unique<PtxModule>(sources, memory_, limits_.portableLanes);
  if (!m->load(file, diags)) return nullptr;
  modules_.push_back(std::move(m));
  return modules_.back().get();
}

Module* Device::loadSpirv(std::span<const uint32_t> words, FileId listing,
                          const SourceManager& sources, DiagnosticEngine& diags) {
  auto m = std::make_unique<SpirvModule>(sources, memory_, limits_.portableLanes);
  if (!m->load(words, listing, diags)) return nullptr;
  modules_.push_back(std::move(m));
  return modules_.back().get();
}

std::string spirvListing(std::span<const uint32_t> words) { return spirv::makeListing(words); }

void Device::unload(Module* module) {
  modules_.erase(std::remove_if(modules_.begin(), modules_.end(),
                                [&](const auto& m) { return m.get() == module; }),
                 modules_.end());
}

LaunchResult Device::launch(const Kernel& kernel, const LaunchConfig& config,
                            DiagnosticEngine& diags) {
  LaunchResult result;
  const Program& program = kernel.module->program(kernel);
  SourceLoc at = program.info.empty() ? SourceLoc() : program.info[program.functions[0].entry].loc;
  if (!checkConfig(kernel, program, config, limits_, Refusal{diags, result, at})) return result;
  uint64_t blocks = uint64_t{config.grid[0]} * config.grid[1] * config.grid[2];
  if (blocks == 0) return result;  // An empty grid is a success that touches nothing.

  LaunchState launch;
  std::vector<std::unique_ptr<Observer>> checkers = makeCheckers(config, program);
  for (auto& c : checkers) launch.observers.push_back(c.get());
  std::unique_ptr<Observer> trace = config.trace ? makeTrace(config) : nullptr;
  if (trace != nullptr) launch.observers.push_back(trace.get());
  for (Observer* o : config.observers) launch.observers.push_back(o);
  for (Observer* o : launch.observers) {
    if (o->wantsInstructions()) launch.instructionObservers.push_back(o);
    if (o->wantsResults()) launch.resultObservers.push_back(o);
    if (o->wantsAccesses()) launch.accessObservers.push_back(o);
  }
  launch.program = &program;
  launch.kernel = &kernel;
  launch.config = &config;
  launch.limits = &limits_;
  launch.memory = &memory_;
  launch.module = kernel.module;
  std::unique_ptr<WeakMemory> weak;
  if (config.weakMemory && config.seed != 0) {
    weak = std::make_unique<WeakMemory>(config.seed);
    launch.weak = weak.get();
  }
  launch.goOnAfterFault = has(config.checks, Checks::mem);
  launch.params = config.params;
  launch.grid = config.grid;
  launch.block = config.block;
  launch.blocks = blocks;
  bool dynamic = config.dynamicShared != 0;
  launch.sharedBytes =
      dynamic ? program.dynamicSharedOffset + config.dynamicShared : program.sharedLayoutBytes;
  launch.sharedDeclared =
      dynamic ? launch.sharedBytes - program.sharedGuardBytes : program.staticShared;
  launch.localStride =
      program.recursive ? std::max(limits_.stackBytes, program.localBytes) : program.localBytes;
  launch.localStride = (launch.localStride + 15) / 16 * 16;
  for (const InstrRow* row : rowsOf("bar")) {
    if (row->family == Family::warpSync) launch.warpSyncRow = row->index;
  }
  if (launch.program->usesHeap) {
    launch.heap.open(memory_.allocate(kHeapBytes, 256, "the device heap"));
  }

  constexpr uint64_t kWorkspaceBytes = 64;
  if (program.usesGridWorkspace && blocks <= kResidentBlocks) {
    if (Allocation* a = memory_.allocate(kWorkspaceBytes, 64, "the workspace of the grid")) {
      std::memset(a->host, 0, kWorkspaceBytes);
      a->initialised = true;
      launch.gridWorkspace = a->begin;
    }
  }

  unsigned threads =
      config.threads != 0 ? config.threads : std::max(1u, std::thread::hardware_concurrency());
  bool sequential = launch.program->usesOrderedAtomics && !config.anyOrder;
  for (Observer* o : launch.observers) sequential = sequential || o->sequential();
  if (sequential || config.seed != 0) threads = 1;
  threads = static_cast<unsigned>(std::min<uint64_t>(std::min(threads, 256u), blocks));

  auto start = Clock::now();
  launch.hasDeadline = config.maxSeconds > 0;
  constexpr double kLongest = 1e9;  // Seconds; the clock's own unit would overflow.
  launch.deadline =
      start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                  launch.hasDeadline ? std::min(config.maxSeconds, kLongest) : 0));
  if (!has(config.checks, Checks::init)) {
    // Nobody follows what this launch writes: all memory counts as initialised from now on.
    for (const auto& [begin, a] : memory_.all()) {
      if (a->live) {
        a->initialised = true;
        a->undefined.reset();
      }
    }
  }
  for (Observer* o : launch.observers) o->launchBegin(launch);
  std::vector<Worker> workers(threads);
  for (Worker& w : workers) {
    w.launch = &launch;
    w.allocationCache.assign(program.code.size(), &kNoAllocation);
    w.variableCache.resize(program.code.size());
    if (!launch.goOnAfterFault) {
      for (size_t i = 0; i < program.code.size(); ++i) {
        bool local = program.code[i].space == Space::local;
        w.variableCache[i].size =
            local ? static_cast<uint32_t>(std::min<uint64_t>(launch.localStride, UINT32_MAX))
                  : launch.sharedBytes;
      }
    }
    if (config.countRows) w.rowCounts.assign(instructionTable().size(), 0);
  }
  std::vector<std::thread> pool;
  for (unsigned i = 1; i < threads; ++i) {
    pool.emplace_back([&, i] { work(launch, workers[i]); });
  }
  work(launch, workers[0]);
  for (std::thread& t : pool) t.join();
  for (Observer* o : launch.observers) o->launchEnd(launch);
  result.stats.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  for (const Worker& w : workers) {
    result.stats.instructions += w.instructions;
    result.stats.laneInstructions += w.laneInstructions;
    if (config.countRows) {
      result.stats.byRow.resize(w.rowCounts.size());
      for (size_t i = 0; i < w.rowCounts.size(); ++i) result.stats.byRow[i] += w.rowCounts[i];
    }
  }
  if (launch.heap.memory() != nullptr) memory_.free(launch.heap.memory()->begin);
  if (launch.gridWorkspace != 0) memory_.free(launch.gridWorkspace);
  result.status = static_cast<LaunchStatus>(launch.status.load());
  if (result.status == LaunchStatus::ok && !launch.reports.empty())
    result.status = LaunchStatus::faulted;
  if (result.status == LaunchStatus::timeLimit) {
    result.message = diags.report(DiagId::SimTimeLimit, SourceRange(at), {kernel.name}).message;
  } else if (result.status == LaunchStatus::outOfMemory) {
    result.message = diags.report(DiagId::SimHostMemory, SourceRange(at), {kernel.name}).message;
  }
  result.reports = std::move(launch.reports);
  for (const Report& r : result.reports) emitReport(r, diags);
  return result;
}

bool ParamPacker::add(std::span<const uint8_t> value) {
  if (next_ >= kernel_.params.size()) return false;
  const ParamInfo& p = kernel_.params[next_];
  if (value.size() != p.bytes) return false;
  std::memcpy(bytes_.data() + p.offset, value.data(), value.size());
  ++next_;
  return true;
}

bool ParamPacker::addShared(uint64_t bytes) {
  if (next_ >= kernel_.params.size() || kernel_.params[next_].space != Space::shared) return false;
  uint64_t begin = alignUp(uint64_t{kernel_.dynamicSharedOffset} + shared_,
                           std::max(kernel_.params[next_].pointeeAlign, 16u));
  uint64_t end = begin + bytes - kernel_.dynamicSharedOffset;
  if (bytes > UINT32_MAX || end > UINT32_MAX) return false;
  shared_ = static_cast<uint32_t>(end);
  return add(begin);
}

}  // namespace mtlc::sim
