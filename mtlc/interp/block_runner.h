// Executes the blocks of a launch, one after the other, on one host thread.
//
// Every work-item has a stack of frames of its own. A block runs its threads in turn: each goes on
// until it waits at a barrier, ends, or has used up its time slice, so that one that waits for
// another in a loop doesn't starve it. When no thread can go on, all live ones wait; the barrier
// opens if they all wait at the same one.
//
// Collectives. A thread that comes to an operation with convergence (a subgroup operation, a tensor
// operation) waits there. When all live threads of the operation's scope (their subgroup, or the
// block) wait at the same operation, reached by the same calls, collective() runs once for all of
// them, in the order of their linear ids; then they go on. A thread that has ended is not live and
// not waited for. A scope none of whose threads can go on, and that isn't together, is a fault.
// While they wait the operands stay in their registers: operand() reads them, setResult() writes
// the result.

#ifndef MTLC_INTERP_BLOCK_RUNNER_H_
#define MTLC_INTERP_BLOCK_RUNNER_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "mtlc/interp/access_history.h"
#include "mtlc/interp/atomic_memory.h"
#include "mtlc/interp/clock.h"
#include "mtlc/interp/init_bits.h"
#include "mtlc/interp/launch_state.h"
#include "mtlc/interp/memory.h"
#include "mtlc/interp/program.h"
#include "mtlc/interp/tensor_math.h"
#include "mtlc/support/random.h"

namespace mtlc::interp {

// One activation of a function.
struct Frame {
  const FunctionCode* code;
  uint32_t pc = 0;            // The next instruction; of a caller, the one after the call.
  uint32_t firstSlot = 0;     // In ThreadState::regs.
  uint32_t firstPrivate = 0;  // In ThreadState::privates.
  uint32_t privateBytes = 0;  // Size of ThreadState::privateBytes when the frame began.

  // True if both are at the same place in the same function.
  static bool samePosition(const Frame& x, const Frame& y) {
    return x.code == y.code && x.pc == y.pc;
  }
};

// Storage of one `alloc.private` in one frame.
struct PrivateObject {
  uint64_t address;
  uint32_t offset;  // In ThreadState::privateBytes.
  uint32_t size;
  const ir::Operation* op;
};

enum class ThreadStatus : uint8_t { Ready, AtBarrier, AtCollective, Ended };

// What a thread has while it runs. States are reused, so that their vectors keep their capacity.
struct ThreadState {
  std::vector<Frame> frames;
  std::vector<Reg> regs;
  // For a register with uninitialised bits: number of the load they came from, plus 1.
  std::vector<uint32_t> origins;
  std::vector<PrivateObject> privates;
  std::vector<uint8_t> privateBytes;
  std::vector<uint8_t> privateUninit;
  uint64_t owner = 0;       // Linear index of the thread, modulo 2^kOwnerBits.
  uint64_t generation = 0;  // Counts returns from frames with private storage.
  uint64_t charged = 0;     // Taken from the budget.
};

// One step of an asynchronous copy.
struct Transaction {
  uint64_t source = 0;
  uint64_t target = 0;
  bool isRead = false;  // Then the bytes are those of the source.
  std::array<uint8_t, 16> bytes{};
  std::array<uint8_t, 16> uninit{};
};
struct AsyncCopy {
  const Inst* inst = nullptr;
  std::vector<Transaction> transactions;
};
// The asynchronous copies of a thread that are under way.
struct Staging {
  std::vector<AsyncCopy> open;                // Not committed.
  std::deque<std::vector<AsyncCopy>> groups;  // The oldest first.
};

struct Thread {
  std::unique_ptr<ThreadState> state;  // Null before the start and after the end.
  Dim3 id;
  uint64_t steps = 0;
  ThreadStatus status = ThreadStatus::Ready;
  std::unique_ptr<ThreadClock> clock;  // In kernels with clocks.
  std::unique_ptr<Staging> staging;    // Once it copies asynchronously.
  // The barrier, collective or return that it stopped at.
  const ir::Operation* lastOp = nullptr;

  // While it waits: the operation.
  const Inst& waitsAt() const {
    const Frame& frame = state->frames.back();
    return frame.code->insts[frame.pc - 1];
  }
  bool isTogetherWith(const Thread& other) const {
    return status == other.status &&
           std::equal(state->frames.begin(), state->frames.end(), other.state->frames.begin(),
                      other.state->frames.end(), Frame::samePosition);
  }
};

class BlockRunner {
 public:
  explicit BlockRunner(LaunchState& launch);

  // Runs one block to its end: start(), pass() until it is false, finish().
  void run(uint64_t blockIndex);
  void start(uint64_t blockIndex);
  // Gives each thread a turn. False when the block has ended.
  bool pass();
  void finish();

  // Of all blocks so far.
  uint64_t instructions() const { return instructions_; }
  const std::array<uint64_t, ir::kOpcodeCount>& byOpcode() const { return byOpcode_; }

 private:
  // A buffer or an allocation.
  struct Object {
    Window window = Window::None;
    uint32_t index = 0;  // Of its kind.
    uint64_t base = 0;
    uint64_t size = 0;
    uint8_t* bytes = nullptr;
    uint8_t* uninit = nullptr;                  // A bit for each bit of `bytes`.
    AccessHistory* history = nullptr;           // Null where races can't be.
    const ir::Operation* allocation = nullptr;  // Null for a buffer and the launch-sized arena.
  };
  // The memory of one access.
  struct Place {
    Object object;
    uint64_t address = 0;
    uint64_t offset = 0;       // In the object.
    uint8_t* bytes = nullptr;  // Null: there is none.
    uint8_t* uninit = nullptr;
  };
  struct WorkgroupObject {
    std::vector<uint8_t> bytes;
    std::vector<uint8_t> uninit;
    std::optional<AccessHistory> history;
    const ir::Operation* op = nullptr;  // Null: the launch-sized arena.
  };
  // What an operation accesses.
  struct AccessShape {
    ir::Space space;
    bool isWrite;
    uint32_t bytes;
    uint64_t align;
  };
  class PageGuard;

  // block_runner.cc: scheduling and barriers.
  void orderThreads();
  uint64_t timeSlice(const Thread& thread);
  bool startThread(Thread& thread);
  void endThread(Thread& thread, const ir::Operation* at);
  void runThread(uint32_t index);
  bool openBarrier();
  uint64_t linearId(const Thread& thread) const {
    return static_cast<uint64_t>(&thread - threads_.data());
  }
  // In the launch.
  uint64_t globalId(const Thread& thread) const {
    return blockIndex_ * launch_.blockThreads + linearId(thread);
  }
  bool isTraced(const Thread& thread) const {
    const std::optional<TraceRequest>& traced = launch_.spec.options.trace;
    return traced && traced->block == blockId_ && traced->thread == thread.id;
  }

  // collective.cc: threads that act together.
  using Lanes = std::span<Thread* const>;
  bool runCollectives();
  bool runCollective(Lanes live, const Thread& waiting);
  // What the operation does, given all live threads of its scope by ascending linear id: at least
  // one. A handler may compare operands and report; the threads go on whatever it does.
  void collective(Lanes lanes, const Inst& inst);
  // Operand `i` of the operation that the thread waits at; for operations whose slots are in
  // FunctionCode::operandSlots (tensor operations), in the order of Operation::operand().
  Reg operand(const Thread& thread, const Inst& inst, unsigned i) const;
  // Slots of the frame of a waiting thread: Inst::a, b, c.
  static Reg& slotOf(const Thread& thread, uint32_t slot) {
    return thread.state->regs[thread.state->frames.back().firstSlot + slot];
  }
  static uint32_t& originOf(const Thread& thread, uint32_t slot) {
    return thread.state->origins[thread.state->frames.back().firstSlot + slot];
  }
  static void setResult(Thread& thread, const Inst& inst, Reg value) {
    slotOf(thread, inst.result) = value;  // No operand has this slot.
  }
  void subgroupBroadcast(Lanes lanes, const Inst& inst);
  void subgroupShuffle(Lanes lanes, const Inst& inst);
  void subgroupCombine(Lanes lanes, const Inst& inst);
  void subgroupVote(Lanes lanes, const Inst& inst);

  // tensor.cc: tensor operations.
  class TensorRun;
  // A tile of tensor.acc.begin: operations on it are replayed on its home, which `begin` writes.
  struct TileHome {
    uint64_t address;
    ir::Space space;
    MmaProblem begin;
    // Where the home has fewer bits than the tile: the tile, row by row, and its uninitialised
    // bits. `commit` rounds it into the home.
    std::vector<uint8_t> wide, wideUninit;

    bool narrow() const { return begin.desc.acc != begin.desc.result; }
  };
  void tensorOperation(Lanes lanes, const Inst& inst);
  // The value of registers that hold the tile.
  uint64_t internTile(const Inst& begin, const TileHome& home);
  // The home of a tile between `begin` and `commit`: nobody else may touch it.
  struct OpenHome {
    uint64_t tile;
    const Inst* begin;
    uint64_t address;
    ByteRanges ranges;
  };
  void closeHome(uint64_t tile);
  // Reports an access to such a home.
  bool meetsOpenHome(const Thread& thread, const Inst& inst, const AccessShape& shape,
                     const Place& place);

  // execute.cc: the operations.
  template <bool kTrace>
  void execute(Thread& thread, uint64_t quantum);
  void pushFrame(ThreadState& state, const FunctionCode& code);
  void popFrame(ThreadState& state);
  void gather(const ThreadState& state, const FunctionCode& code, const Edge& edge);
  void scatter(ThreadState& state, const FunctionCode& code, const Edge& edge, size_t base);

  // atomics.cc: atomics, fences, and what orders memory in kernels that have clocks.
  void startClocks();
  Reach reachTo(const Thread& thread, uint64_t other) const;
  void passTogether(Lanes lanes, uint8_t regions, bool releases, bool acquires,
                    Knowledge& published);
  // What the lanes did happens before what any of them does next, in all regions: what a tensor
  // operation does on entry and on exit. Needs LaunchState::hasClocks.
  void orderTogether(Lanes lanes);
  void fence(const Thread& thread, ir::MemoryOrder order, ir::Scope scope, uint8_t regions);
  Order orderOf(const Thread& thread, Window window) const;
  Access accessBy(const Thread& thread, const Inst& inst, bool isWrite) const;
  AtomicMemory& atomicsOf(const Place& place) {
    return place.object.window == Window::Workgroup ? workgroupAtomics_ : launch_.globalAtomics;
  }
  void touchAtomics(const Thread& thread, const Inst& inst, const AccessShape& shape,
                    const Place& place);
  void checkVisits(const Thread& thread, const Inst& inst, const AccessShape& shape,
                   const Place& place, const Location& location, const ir::AtomicAttr* atomic);
  Location& visit(const Thread& thread, const Inst& inst, const AccessShape& shape,
                  const Place& place, const ir::AtomicAttr& atomic);
  const Message& chooseStore(const Location& location, uint64_t oldest);
  void readFrom(const Thread& thread, const Message& message, ir::MemoryOrder order,
                ir::Scope scope);
  void writeTo(const Thread& thread, Location& location, unsigned region, Reg value,
               ir::MemoryOrder order, ir::Scope scope, const Message* replaced);
  // `r` and `origins` are the current frame's.
  Reg atomic(const Thread& thread, const Inst& inst, Reg* r, uint32_t* origins);

  // async.cc: asynchronous copies. `r` and `origins` are the current frame's.
  void asyncCopy(Thread& thread, const Inst& inst, Reg* r, uint32_t* origins);
  void asyncCommit(Thread& thread, const Inst& inst);
  void waitFor(Thread& thread, size_t left);
  void deliver(const Thread& thread, const AsyncCopy& copy);
  void forgetUnderWay(const AsyncCopy& copy);
  void endStaging(Thread& thread, const ir::Operation* at);
  bool meetsCopyUnderWay(const Thread& thread, const Inst& inst, const AccessShape& shape,
                         const Place& place);
  void reportCopyUnderWay(const Thread& thread, const Inst& inst, const AccessShape& shape,
                          const Place& place, bool isTarget);

  // access.cc: loads and stores. `origins` are those of the current frame's registers.
  Reg load(const Thread& thread, const Inst& inst, Reg& pointer, uint32_t* origins);
  void store(const Thread& thread, const Inst& inst, Reg& pointer, Reg value,
             const uint32_t* origins);
  uint64_t workgroupAddress(uint64_t object) const;
  bool findObject(const Thread& thread, ir::Space space, uint64_t address, Object* object,
                  std::string* why);
  Place resolve(const Thread& thread, const Inst& inst, const AccessShape& shape, Reg& pointer,
                uint32_t origin);
  // Reads or writes memory for one thread, with all checks: `bytes` and `uninit` (a bit for each
  // bit) are shape.bytes long. False if there is no such memory, which is reported. `origin` is
  // where an uninitialised pointer comes from.
  bool readMemory(const Thread& thread, const Inst& inst, const AccessShape& shape, Reg& pointer,
                  uint32_t origin, void* bytes, void* uninit);
  bool writeMemory(const Thread& thread, const Inst& inst, const AccessShape& shape, Reg& pointer,
                   uint32_t origin, const void* bytes, const void* uninit);
  void checkRace(const Thread& thread, const Inst& inst, const AccessShape& shape,
                 const Place& place);
  void noteAccess(const Thread& thread, const Inst& inst, const AccessShape& shape,
                  const Place& place);
  void rememberUninitStore(const Thread& thread, const Inst& inst, const AccessShape& shape,
                           const Place& place);

  // report.cc: what is said about faults.
  Fault makeFault(DiagId id, FaultKind kind, const Thread& thread, const ir::Operation* at) const;
  std::string objectName(const Object& object) const;
  Fault accessFault(DiagId id, FaultKind kind, const Thread& thread, const Inst& inst,
                    const AccessShape& shape, uint64_t address) const;
  void reportBadAddress(const Thread& thread, const Inst& inst, const AccessShape& shape,
                        uint64_t address, const std::string& why);
  void reportOutOfBounds(const Thread& thread, const Inst& inst, const AccessShape& shape,
                         const Place& place);
  void reportMisaligned(const Thread& thread, const Inst& inst, const AccessShape& shape,
                        const Place& place);
  void reportUninitBranch(const Thread& thread, const Inst& inst, uint32_t origin);
  void reportUninitAddress(const Thread& thread, const Inst& inst, const AccessShape& shape,
                           uint32_t origin);
  void reportUninit(Fault fault, const Inst& inst, uint32_t origin);
  void reportRace(const Thread& thread, const Inst& inst, const AccessShape& shape,
                  const Place& place, const Access& other);
  void reportStagedUse(const Thread& thread, const Inst& inst, const AccessShape& shape,
                       const Place& place, const Access& other);
  void reportBroadcast(const Thread& thread, const Inst& inst, const std::string& why);
  void reportDivergence(Lanes scope, const Thread& waiting);
  void reportSteps(const Thread& thread, const Inst& inst);
  void reportCallDepth(const Thread& thread, const Inst& inst);
  const std::string& operationText(const ir::Operation* op);
  void trace(const Inst& inst, const Reg* result);

  LaunchState& launch_;
  std::vector<Thread> threads_;
  std::vector<uint32_t> turn_;  // The order in which threads run.
  std::vector<std::unique_ptr<ThreadState>> spare_;
  // Index 0 is the launch-sized arena; i + 1 is allocation i of the program, empty if not
  // reachable.
  std::vector<WorkgroupObject> workgroup_;
  struct CopiedReg {
    Reg reg;
    uint32_t origin;
  };
  std::vector<CopiedReg> copies_;  // Of one edge, on their way.

  uint64_t blockIndex_ = 0;
  Dim3 blockId_;
  uint64_t phase_ = 0;  // Barriers passed in this block.
  BarrierOrder workgroupOrder_;
  BarrierOrder globalOrder_;
  // In kernels with clocks: of sequentially consistent fences, of barriers, of workgroup memory.
  std::vector<StoreOrder> scSubgroups_;
  StoreOrder scWorkgroup_;
  Knowledge published_;
  AtomicMemory workgroupAtomics_;
  SplitMix64 random_{0};
  // How many copies under way fill, or read, each four bytes, by address / 4.
  absl::flat_hash_map<uint64_t, uint32_t> targetsUnderWay_;
  absl::flat_hash_map<uint64_t, uint32_t> sourcesUnderWay_;

  bool blockEnded_ = false;       // By a fault.
  bool collectivesWait_ = false;  // A thread came to a collective since the last look.
  std::vector<Thread*> lanes_;    // Of runCollectives().

  std::vector<TileHome> tiles_;  // Of this block; tile i + 1 is the i-th.
  std::vector<OpenHome> openHomes_;
  uint64_t actingTile_ = 0;  // The one that a tensor operation is working on.
  // By the operation, the address, and the leading dimension.
  absl::flat_hash_map<std::tuple<uint32_t, uint64_t, uint64_t>, uint64_t> tileNumbers_;

  absl::flat_hash_map<const ir::Operation*, std::string> operationTexts_;  // For the trace.

  uint64_t instructions_ = 0;
  std::array<uint64_t, ir::kOpcodeCount> byOpcode_{};
};

}  // namespace mtlc::interp

#endif  // MTLC_INTERP_BLOCK_RUNNER_H_
