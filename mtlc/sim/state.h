// The state of running blocks: warps, groups of lanes, activations, barriers. Internal to the
// simulator and its observers; the lane functions see no more of a launch than this.

#ifndef MTLC_SIM_STATE_H_
#define MTLC_SIM_STATE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "mtlc/sim/memory.h"
#include "mtlc/sim/program.h"

namespace mtlc::sim {

inline constexpr unsigned kPtxBarriers = 16;  // That a program can name.
// Those of subgroups of more than one warp follow.
inline constexpr unsigned kBarriers = kPtxBarriers + 16;
inline constexpr uint32_t kNever = 0xffffffffu;
// What registers hold before the program writes them.
inline constexpr uint32_t kPoison32 = 0xcdcdcdcdu;
inline constexpr uint64_t kPoison64 = 0xcdcdcdcdcdcdcdcdu;
inline constexpr size_t kObserverSlots = 6;

// A function's activation. Lanes that are in the same activation share it.
struct Frame {
  Frame* parent = nullptr;
  const ProgramFunction* function = nullptr;
  uint32_t returnPc = 0;
  uint32_t callPc = 0;
  uint32_t base32 = 0;  // First slot of the frame in each bank.
  uint32_t base64 = 0;
  uint32_t basePred = 0;
  uint32_t localBase = 0;  // Offset in each lane's local memory.
  uint32_t depth = 0;
  LaneMask lanes = 0;                     // In it, or in a frame it called.
  std::array<uint32_t, kLanes> pieces{};  // Of Warp::stackPieces when a lane entered.
};

// Local memory of one lane that alloca took, from the end of the lane's memory downwards.
struct StackPiece {
  uint32_t offset = 0;
  uint32_t bytes = 0;
};

enum class GroupState : uint8_t {
  runnable,
  atCollective,  // Waits for the other lanes its mask names.
  atGroup,       // Waits for the other threads of a GroupSite.
  atBarrier,     // Reached an aligned barrier; waits for the rest of the warp before it arrives.
  inBarrier,     // Arrived; waits for completion of barrier `barrier`.
  polling,       // Looked at an mbarrier in vain; looks again soon, see mbarrier.h.
};

// Lanes that execute together.
struct Group {
  LaneMask mask = 0;
  uint32_t pc = 0;
  Frame* frame = nullptr;
  GroupState state = GroupState::runnable;
  uint32_t barrier = 0;
  uint32_t patience = 0;  // polling: turns of the warp until it looks again; else: see mbarrier.h
  uint64_t lastRun = 0;
};

struct Block;
struct LaunchState;
class WeakMemory;
class AsyncState;

// The next number of the generator with this state (an LCG with permuted output, after
// M. E. O'Neill's PCG family). Any state does.
inline uint32_t nextRandom(uint64_t& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  uint32_t mixed = static_cast<uint32_t>((state >> 18 ^ state) >> 27);
  unsigned turn = static_cast<unsigned>(state >> 59);
  return mixed >> turn | mixed << (-turn & 31);
}

// A host thread's counters and caches; on cache lines of their own, for they change all the time.
struct alignas(128) Worker {
  LaunchState* launch = nullptr;
  // The allocation that an instruction hit last; one entry per instruction.
  std::vector<const Allocation*> allocationCache;
  // The variable in shared or local memory that an instruction hit last; in local memory, when the
  // mem checker is on, relative to the current frame. Without the checker it is all of the memory.
  struct Range {
    uint32_t begin = 0;
    uint32_t size = 0;
  };
  std::vector<Range> variableCache;
  uint64_t instructions = 0;
  uint64_t laneInstructions = 0;
  std::vector<uint64_t> rowCounts;  // By row of the instruction table; empty unless asked for.
  std::vector<std::unique_ptr<Block>> spare;  // Finished blocks, for reuse.
};

struct Warp {
  // Columns of the current frame, the constants and the specials, by File.
  uint32_t* files32[3] = {};
  uint64_t* files64[3] = {};
  LaneMask* filesPred[3] = {};
  Worker* worker = nullptr;
  Block* block = nullptr;
  Frame* frame = nullptr;  // Of the group that runs.
  LaneMask active = 0;     // Lanes of the group that runs.
  bool fault = false;      // A memory function could not go on; the launch ends.
  bool observed = false;   // Accesses are told to observers.
  bool followed = false;  // Instructions too. An observer that needs them only at times, and is the
                          // only one that wants any, may switch this.
  uint32_t index = 0;     // In the block.
  uint32_t part = 0;      // Which of its parts a matrix instruction accesses, see MatrixSite.
  LaneMask live = 0;      // Lanes that have not exited.
  LaneMask started = 0;   // Lanes that exist.
  uint32_t current = 0;   // Index in groups.
  uint32_t nextOrder =
      kNever;  // Least order of another runnable group: reaching it means rescheduling.
  uint64_t steps = 0;
  uint64_t clock = 0;
  uint64_t tick = 0;    // Counts choices of a group.
  uint32_t turns = 0;   // Turns that diverged lanes used up since the last rotation.
  bool rotate = false;  // The next choice goes to the group that waited longest.
  std::vector<Group> groups;
  std::vector<std::unique_ptr<Frame>> frames;  // All that were ever needed.
  std::vector<Frame*> freeFrames;
  Columns<uint32_t> bank32;
  Columns<uint64_t> bank64;
  std::vector<LaneMask> bankPred;
  Columns<uint32_t> special32;
  std::array<std::vector<StackPiece>, kLanes> stackPieces;  // By lane, newest last.
  std::array<void*, kObserverSlots> observerData{};

  // Where the memory that alloca took begins.
  uint32_t stackTop(unsigned lane) const;
  uint32_t* r32(Ref r) { return files32[r >> 30] + static_cast<size_t>(refIndex(r)) * kLanes; }
  uint64_t* r64(Ref r) { return files64[r >> 30] + static_cast<size_t>(refIndex(r)) * kLanes; }
  LaneMask& predSlot(Ref r) { return filesPred[r >> 30][refIndex(r)]; }
  // The value of a predicate operand, its negation applied.
  LaneMask pred(Ref r) { return predSlot(r) ^ ((r & kNegate) != 0 ? kAllLanes : 0); }
  uint8_t* local(unsigned lane) const;
};

struct BarrierState {
  std::array<LaneMask, 32> lanes{};  // Arrived, by warp.
  uint32_t arrived = 0;
  uint32_t expected = 0;  // 0: all live threads of the block.
  uint32_t popc = 0;      // Reductions.
  bool all = true;
  bool any = false;
  bool active = false;
};

struct Block {
  LaunchState* launch = nullptr;
  Worker* worker = nullptr;
  const Program* program = nullptr;
  std::array<uint32_t, 3> id{};
  std::array<uint32_t, 3> shape{};
  uint64_t linear = 0;
  uint32_t threads = 0;
  uint32_t liveThreads = 0;
  std::vector<Warp> warps;
  std::unique_ptr<uint8_t[]> sharedStorage;
  uint8_t* shared = nullptr;
  uint32_t sharedBytes = 0;
  std::unique_ptr<uint8_t[]> localStorage;
  uint8_t* local = nullptr;
  uint32_t localStride = 0;   // Bytes of one thread.
  uint32_t frameMask = 0;     // All ones: local ranges of variableCache are relative to frames.
  uint8_t* params = nullptr;  // Of the kernel, read-only.
  uint32_t paramBytes = 0;
  std::array<BarrierState, kBarriers> barriers{};
  bool barriersInUse = false;
  uint32_t nextWarp = 0;
  uint64_t random = 0;  // State of the block's generator; 0 when scheduling is not random.
  WeakMemory* weak = nullptr;
  std::shared_ptr<AsyncState> async;  // From the first instruction of async.h on.
  std::array<void*, kObserverSlots> observerData{};

  std::array<uint32_t, 3> threadId(uint32_t linearThread) const {
    return {linearThread % shape[0], linearThread / shape[0] % shape[1],
            linearThread / shape[0] / shape[1]};
  }
};

inline uint32_t Warp::stackTop(unsigned lane) const {
  return stackPieces[lane].empty() ? block->localStride : stackPieces[lane].back().offset;
}

inline uint8_t* Warp::local(unsigned lane) const {
  return block->local + static_cast<size_t>(index * kLanes + lane) * block->localStride;
}

}  // namespace mtlc::sim

#endif  // MTLC_SIM_STATE_H_
