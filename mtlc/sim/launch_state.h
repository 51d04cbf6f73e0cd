// A running launch as its workers and observers share it, and how faults are reported. Internal to
// the simulator.

#ifndef MTLC_SIM_LAUNCH_STATE_H_
#define MTLC_SIM_LAUNCH_STATE_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "mtlc/sim/device.h"
#include "mtlc/sim/heap.h"
#include "mtlc/sim/observer.h"
#include "mtlc/sim/state.h"

namespace mtlc::sim {

enum class MemFault : uint8_t { outOfBounds, misaligned, null, useAfterFree, readOnly, wrongSpace };

struct LaunchState {
  const Program* program = nullptr;
  const Kernel* kernel = nullptr;
  const LaunchConfig* config = nullptr;
  const DeviceLimits* limits = nullptr;
  DeviceMemory* memory = nullptr;
  WeakMemory* weak = nullptr;  // With weakMemory and a seed.
  DeviceHeap heap;             // Has memory in programs that call malloc.
  // Zeros, where all blocks are under way at the same time; else null, as without a cooperative
  // launch.
  uint64_t gridWorkspace = 0;
  const Module* module = nullptr;
  std::vector<Observer*> observers;             // All of the launch.
  std::vector<Observer*> instructionObservers;  // Those that want every instruction.
  std::vector<Observer*> resultObservers;
  std::vector<Observer*> accessObservers;
  bool goOnAfterFault = false;  // The mem checker: report, skip the access, go on.
  std::vector<uint8_t> params;
  std::array<uint32_t, 3> grid{};
  std::array<uint32_t, 3> block{};
  uint64_t blocks = 0;
  bool hasDeadline = false;  // maxSeconds; looked at after each turn of a warp.
  std::chrono::steady_clock::time_point deadline;
  uint32_t sharedBytes = 0;                         // Of a block, gaps included.
  uint32_t sharedDeclared = 0;                      // What the program sees.
  uint64_t localStride = 0;                         // Of a thread.
  alignas(128) std::atomic<uint64_t> nextBlock{0};  // Apart from what all workers only read.
  alignas(128) std::atomic<bool> stop{false};
  std::atomic<uint8_t> status{0};  // LaunchStatus; the first one that is not ok wins.
  uint16_t warpSyncRow = 0;        // Of bar.warp.sync in the instruction table.

  std::mutex reportMutex;
  std::vector<Report> reports;
  std::mutex printMutex;
  std::mutex wideAtomicMutex;

  // Records a report, or counts it when one of the same kind, id and place is known. Thread-safe.
  void report(Report report, uint32_t pc, uint32_t otherPc = kNever);
  void finish(LaunchStatus why);  // Sets the status once and asks all workers to stop.
  Place place(const Warp& w, const Instr& in, unsigned lane) const;
  Place place(uint32_t pc, const std::array<uint32_t, 3>& blockId,
              const std::array<uint32_t, 3>& threadId) const;
  uint32_t pcOf(const Instr& in) const { return static_cast<uint32_t>(&in - program->code.data()); }

 private:
  std::vector<std::array<uint64_t, 2>> reportKeys_;
};

// Reports a memory fault of one lane; sets w.fault unless the launch goes on after faults.
// `address` is as the program gave it.
void memoryFault(Warp& w, const Instr& in, unsigned lane, MemFault kind, Space space,
                 uint64_t address, AccessKind access);
// Reports `r` to `diags` at its place, with notes.
void emitReport(const Report& r, DiagnosticEngine& diags);
// The checkers that `config` asks for.
std::vector<std::unique_ptr<Observer>> makeCheckers(const LaunchConfig& config,
                                                    const Program& program);
// A fault of one lane that ends the launch; a trap; a limit.
void reportFault(Warp& w, const Instr& in, unsigned lane, DiagId id, DiagArgs args);
void reportTrap(Warp& w, const Instr& in, unsigned lane, DiagId id, DiagArgs args);
void reportLimit(Warp& w, const Instr& in, unsigned lane, DiagId id, DiagArgs args);
void reportDeadlock(Block& b);
// What a checker found in one lane; the launch goes on.
void reportCheck(Warp& w, const Instr& in, unsigned lane, ReportKind kind, DiagId id,
                 DiagArgs args);
// A number as 0x….
std::string hexText(uint64_t value);
// "(x,y,z)"
std::string triple(const std::array<uint32_t, 3>& t);

}  // namespace mtlc::sim

#endif  // MTLC_SIM_LAUNCH_STATE_H_
