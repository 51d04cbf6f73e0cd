#include "mtlc/interp/block_runner.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace mtlc::interp {
namespace {

// Operations that a thread executes before another gets its turn.
constexpr uint64_t kTimeSlice = 20'000;

}  // namespace

BlockRunner::BlockRunner(LaunchState& launch) : launch_(launch), workgroupAtomics_(&launch.budget) {
  threads_.resize(launch.blockThreads);
  for (uint64_t i = 0; i < launch.blockThreads; ++i) {
    threads_[i].id = unflatten(i, launch.spec.block);
  }
  turn_.resize(launch.blockThreads);

  std::span allocs = launch.program.workgroupAllocs();
  workgroup_.resize(allocs.size() + 1);
  std::vector<bool> used(allocs.size());
  for (uint32_t function : launch.program.reachableFrom(launch.kernel)) {
    for (const Inst& inst : launch.program.function(function).insts) {
      if (inst.opcode == ir::Opcode::AllocWorkgroup) used[inst.imm] = true;
    }
  }
  for (size_t i = 0; i < workgroup_.size(); ++i) {
    const ir::Operation* op = i == 0 ? nullptr : allocs[i - 1];
    if (op && !used[i - 1]) continue;
    uint64_t size = op ? op->allocCount() * op->elemType().bytes() : launch.spec.sharedBytes;
    if (!launch.budget.take(2 * size)) return;
    WorkgroupObject& object = workgroup_[i];
    object.op = op;
    object.bytes.resize(size);
    object.uninit.resize(size);
    // A use of staged memory without a barrier is found as a race, and is of kind async.
    if (launch.checks(FaultKind::Race) || (launch.hasAsync && launch.checks(FaultKind::Async))) {
      object.history.emplace(size, AccessHistory::Scope::Workgroup, &launch.budget);
    }
  }
}

void BlockRunner::run(uint64_t blockIndex) {
  start(blockIndex);
  while (pass()) {
  }
  finish();
}

bool BlockRunner::pass() {
  if (launch_.hasAtomics) orderThreads();  // Anew in each pass.
  bool ready = false;
  for (uint32_t index : turn_) {
    if (threads_[index].status != ThreadStatus::Ready) continue;
    runThread(index);
    ready |= threads_[index].status == ThreadStatus::Ready;
    if (launch_.stopped()) return false;
  }
  if (collectivesWait_ && runCollectives()) return true;
  return !blockEnded_ && (ready || openBarrier());
}

void BlockRunner::finish() {
  for (Thread& thread : threads_) endThread(thread, nullptr);
}

void BlockRunner::start(uint64_t blockIndex) {
  blockIndex_ = blockIndex;
  blockId_ = unflatten(blockIndex, launch_.spec.grid);
  phase_ = 0;
  workgroupOrder_ = {};
  globalOrder_ = {};
  blockEnded_ = false;
  collectivesWait_ = false;
  tiles_.clear();
  tileNumbers_.clear();
  openHomes_.clear();
  for (WorkgroupObject& object : workgroup_) {
    std::fill(object.bytes.begin(), object.bytes.end(), kPoisonByte);
    std::fill(object.uninit.begin(), object.uninit.end(), 0xFF);
  }
  for (Thread& thread : threads_) {
    thread.steps = 0;
    thread.status = ThreadStatus::Ready;
    thread.lastOp = nullptr;
  }
  random_ = SplitMix64(launch_.spec.options.seed ^ (blockIndex_ + 1) * 0x9E3779B97F4A7C15);
  std::iota(turn_.begin(), turn_.end(), 0);
  orderThreads();
  if (launch_.hasClocks) startClocks();
}

// With a seed, in a random order.
void BlockRunner::orderThreads() {
  if (launch_.spec.options.seed == 0) return;
  for (size_t i = turn_.size(); i > 1; --i) std::swap(turn_[i - 1], turn_[random_.below(i)]);
}

// Operations that the thread may execute in this turn. With atomics and a seed the number is small
// and random, so that threads interleave in many ways.
uint64_t BlockRunner::timeSlice(const Thread& thread) {
  uint64_t slice = kTimeSlice;
  if (launch_.hasAtomics && launch_.spec.options.seed != 0) slice = random_.below(32);
  return std::min(slice, launch_.spec.options.maxSteps - thread.steps);
}

// Gives the thread a state with the kernel's frame. False if there is no memory for it.
bool BlockRunner::startThread(Thread& thread) {
  if (spare_.empty()) spare_.push_back(std::make_unique<ThreadState>());
  thread.state = std::move(spare_.back());
  spare_.pop_back();
  ThreadState& state = *thread.state;
  state.generation = 0;
  state.owner = static_cast<uint64_t>(&thread - threads_.data()) % (1u << kOwnerBits);
  pushFrame(state, launch_.kernel);
  if (launch_.budget.exhausted()) return false;
  uint32_t slot = launch_.kernel.firstParam;
  for (uint64_t bits : launch_.params) state.regs[slot++] = {bits, 0};
  return true;
}

void BlockRunner::endThread(Thread& thread, const ir::Operation* at) {
  thread.status = ThreadStatus::Ended;
  if (at) thread.lastOp = at;
  endStaging(thread, at);
  if (!thread.state) return;
  thread.state->frames.clear();
  thread.state->privates.clear();
  spare_.push_back(std::move(thread.state));
}

void BlockRunner::runThread(uint32_t index) {
  Thread& thread = threads_[index];
  if (!thread.state && !startThread(thread)) return;
  const uint64_t quantum = timeSlice(thread);
  if (isTraced(thread)) {
    execute<true>(thread, quantum);
  } else {
    execute<false>(thread, quantum);
  }
  if (thread.status == ThreadStatus::Ready && thread.steps >= launch_.spec.options.maxSteps) {
    const Frame& frame = thread.state->frames.back();
    reportSteps(thread, frame.code->insts[frame.pc]);
  }
}

// No thread can go on. Opens the barrier that the live ones wait at; false if there is none or if
// they don't wait together, which ends the block.
bool BlockRunner::openBarrier() {
  uint32_t first = 0;
  while (first < threads_.size() && threads_[first].status == ThreadStatus::Ended) ++first;
  if (first == threads_.size()) return false;

  if (launch_.checks(FaultKind::Sync)) {
    // Together: all threads of the block, at the same barrier, reached by the same calls.
    auto together = [&](const Thread& thread) {
      return thread.status == ThreadStatus::AtBarrier && thread.isTogetherWith(threads_[first]);
    };
    if (!std::all_of(threads_.begin(), threads_.end(), together)) {
      lanes_.clear();
      for (Thread& thread : threads_) lanes_.push_back(&thread);
      reportDivergence(lanes_, threads_[first]);
      blockEnded_ = true;
      return false;
    }
  }

  ir::BarrierAttr barrier = threads_[first].lastOp->barrier();
  bool both = barrier.order == ir::MemoryOrder::AcqRel || barrier.order == ir::MemoryOrder::SeqCst;
  bool releases = both || barrier.order == ir::MemoryOrder::Release;
  bool acquires = both || barrier.order == ir::MemoryOrder::Acquire;
  if (barrier.regions & ir::kRegionWorkgroup) workgroupOrder_.pass(phase_, releases, acquires);
  if (barrier.regions & ir::kRegionGlobal) globalOrder_.pass(phase_, releases, acquires);
  ++phase_;
  if (launch_.hasClocks) {
    lanes_.clear();
    for (Thread& thread : threads_) {
      if (thread.status == ThreadStatus::AtBarrier) lanes_.push_back(&thread);
    }
    passTogether(lanes_, barrier.regions, releases, acquires, published_);
  }
  for (Thread& thread : threads_) {
    if (thread.status == ThreadStatus::AtBarrier) thread.status = ThreadStatus::Ready;
  }
  return true;
}

}  // namespace mtlc::interp
