// The state of a running launch: host threads (workers), blocks, warps, groups of lanes. Internal
// to the simulator and its observers.

#ifndef MTLC_SIM_WARP_H_
#define MTLC_SIM_WARP_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "mtlc/sim/device.h"
#include "mtlc/sim/memory.h"
#include "mtlc/sim/observer.h"
#include "mtlc/sim/program.h"

namespace mtlc::sim {

inline constexpr unsigned kBarriers = 16;
inline constexpr uint32_t kNever = 0xffffffffu;
// What registers hold before the program writes them.
inline constexpr uint32_t kPoison32 = 0xcdcdcdcdu;
inline constexpr uint64_t kPoison64 = 0xcdcdcdcdcdcdcdcdu;

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
  LaneMask lanes = 0;  // In it, or in a frame it called.
};

enum class GroupState : uint8_t {
  runnable,
  atCollective,  // Waits for the other lanes its mask names.
  atBarrier,     // Reached an aligned barrier; waits for the rest of the warp before it arrives.
  inBarrier,     // Arrived; waits for completion of barrier `barrier`.
};

// Lanes that execute together.
struct Group {
  LaneMask mask = 0;
  uint32_t pc = 0;
  Frame* frame = nullptr;
  GroupState state = GroupState::runnable;
  uint32_t barrier = 0;
  uint64_t lastRun = 0;
};

struct Block;
struct Worker;
struct LaunchState;

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
  uint32_t index = 0;      // In the block.
  LaneMask live = 0;       // Lanes that have not exited.
  LaneMask started = 0;    // Lanes that exist.
  uint32_t current = 0;    // Index in groups.
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
  std::array<void*, 6> observerData{};

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
  std::array<uint32_t, 3> id{};
  uint64_t linear = 0;
  uint32_t threads = 0;
  uint32_t liveThreads = 0;
  std::vector<Warp> warps;
  std::unique_ptr<uint8_t[]> sharedStorage;
  uint8_t* shared = nullptr;
  uint32_t sharedBytes = 0;
  std::unique_ptr<uint8_t[]> localStorage;
  uint32_t localStride = 0;  // Bytes of one thread.
  std::array<BarrierState, kBarriers> barriers{};
  bool barriersInUse = false;
  uint32_t nextWarp = 0;
  uint64_t random = 0;  // State of the block's generator; 0 when scheduling is not random.
  std::array<void*, 6> observerData{};

  std::array<uint32_t, 3> threadId(uint32_t linearThread) const;
};

inline uint8_t* Warp::local(unsigned lane) const {
  return block->localStorage.get() +
         static_cast<size_t>(index * kLanes + lane) * block->localStride;
}

// A host thread and what it reuses from block to block.
struct Worker {
  LaunchState* launch = nullptr;
  // Last allocation an instruction hit.
  std::vector<const Allocation*> allocationCache;
  uint64_t instructions = 0;
  uint64_t laneInstructions = 0;
  std::vector<std::unique_ptr<Block>> spare;  // Finished blocks, for reuse.
};

enum class MemFault : uint8_t { outOfBounds, misaligned, null, useAfterFree, readOnly, wrongSpace };

struct LaunchState {
  const Program* program = nullptr;
  const Kernel* kernel = nullptr;
  const LaunchConfig* config = nullptr;
  const DeviceLimits* limits = nullptr;
  DeviceMemory* memory = nullptr;
  Allocation* heap = nullptr;  // Of programs that call malloc.
  const Module* module = nullptr;
  std::vector<Observer*> observers;  // All of the launch.
  bool observeInstructions = false;
  bool goOnAfterFault = false;  // The mem checker: report, skip the access, go on.
  std::vector<uint8_t> params;
  std::array<uint32_t, 3> grid{};
  std::array<uint32_t, 3> block{};
  uint64_t blocks = 0;
  std::atomic<uint64_t> nextBlock{0};
  std::atomic<bool> stop{false};
  std::atomic<uint8_t> status{0};  // LaunchStatus; the first one that is not ok wins.

  uint16_t warpSyncRow = 0;  // Of bar.warp.sync in the instruction table.

  std::mutex reportMutex;
  std::vector<Report> reports;
  std::mutex printMutex;
  std::mutex wideAtomicMutex;

  // The device heap of malloc() in kernels: an allocation of the launch. Thread-safe; 0 when it is
  // full.
  uint64_t heapAllocate(uint64_t bytes);
  bool heapFree(uint64_t address);

  // Records a report, or counts it when one of the same kind, id and place is known. Thread-safe.
  void report(Report report, uint32_t pc, uint32_t otherPc = kNever);
  void finish(LaunchStatus why);  // Sets the status once and asks all workers to stop.
  Place place(const Warp& w, const Instr& in, unsigned lane) const;
  Place place(uint32_t pc, const std::array<uint32_t, 3>& blockId,
              const std::array<uint32_t, 3>& threadId) const;
  uint32_t pcOf(const Instr& in) const { return static_cast<uint32_t>(&in - program->code.data()); }

 private:
  std::vector<std::array<uint64_t, 2>> reportKeys_;
  std::mutex heapMutex_;
  std::map<uint64_t, uint64_t> heapFree_;  // Begin and size of free ranges.
  std::map<uint64_t, uint64_t> heapUsed_;
  bool heapReady_ = false;
};

// Reports a memory fault of one lane; sets w.fault unless the launch goes on after faults.
// `address` is as the program gave it.
void memoryFault(Warp& w, const Instr& in, unsigned lane, MemFault kind, Space space,
                 uint64_t address, AccessKind access);

// Reports `r` to `diags` at its place, with notes.
void emitReport(const Report& r, DiagnosticEngine& diags);
// The checkers that `config` asks for.
std::vector<std::unique_ptr<Observer>> makeCheckers(const LaunchConfig& config);
// A fault of one lane that ends the launch, and a trap.
void reportFault(Warp& w, const Instr& in, unsigned lane, DiagId id, DiagArgs args);
void reportTrap(Warp& w, const Instr& in, unsigned lane, DiagId id, DiagArgs args);
void reportLimit(Warp& w, const Instr& in, unsigned lane, DiagId id, DiagArgs args);
void reportDeadlock(Block& b);
// The same for misuse of barriers and collectives by the lanes of `mask`. Always recorded; the
// launch goes on.
void reportSync(Warp& w, const Instr& in, LaneMask mask, DiagId id, DiagArgs args);

}  // namespace mtlc::sim

#endif  // MTLC_SIM_WARP_H_
