// A kernel decoded for execution: registers are slots, operands are references, names are gone.
//
// One Program holds a kernel and every function it can reach. A register is a column of kLanes
// values; the registers of a warp lie in three banks (32-bit, 64-bit, predicate masks), so that
// lane i of a slot is always at the same place of its bank and frames of different lanes may
// overlap.

#ifndef MTLC_SIM_PROGRAM_H_
#define MTLC_SIM_PROGRAM_H_

#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "mtlc/sim/isa/instructions.h"
#include "mtlc/sim/matrix/matrix.h"
#include "mtlc/support/source.h"

namespace mtlc::sim {

inline constexpr unsigned kLanes = 32;
using LaneMask = uint32_t;
inline constexpr LaneMask kAllLanes = 0xffffffffu;

// A reference to a column: bits 31:30 file, 29 negate (predicates), 28:27 bank, 26:0 index.
using Ref = uint32_t;
enum class File : uint8_t { frame, constant, special };
enum class Bank : uint8_t { r32, r64, pred };
inline constexpr Ref kNoRef = 0xffffffffu;
inline constexpr Ref kIndexMask = (1u << 27) - 1;
inline constexpr Ref kNegate = 1u << 29;
constexpr Ref makeRef(File f, Bank b, uint32_t index) {
  return static_cast<Ref>(f) << 30 | static_cast<Ref>(b) << 27 | index;
}
constexpr File refFile(Ref r) { return static_cast<File>(r >> 30); }
constexpr Bank refBank(Ref r) { return static_cast<Bank>(r >> 27 & 3); }
constexpr uint32_t refIndex(Ref r) { return r & kIndexMask; }

// Storage of columns: vector loads of a whole column need this alignment.
inline constexpr size_t kColumnAlign = 64;
template <typename T>
struct ColumnAllocator {
  using value_type = T;
  ColumnAllocator() = default;
  template <typename U>
  ColumnAllocator(const ColumnAllocator<U>&) {}  // NOLINT
  T* allocate(size_t n) {
    return static_cast<T*>(::operator new (n * sizeof(T), std::align_val_t{kColumnAlign}));
  }
  void deallocate(T* p, size_t) { ::operator delete (p, std::align_val_t{kColumnAlign}); }
  friend bool operator==(const ColumnAllocator&, const ColumnAllocator&) { return true; }
};
template <typename T>
using Columns = std::vector<T, ColumnAllocator<T>>;

struct Warp;
struct Instr;
// Executes `in` for the lanes of `mask` (never empty) in the warp's current frame.
using LaneFn = void (*)(const Instr& in, Warp& w, LaneMask mask);

enum class Op : uint8_t {
  lane,         // fn; cannot fail
  memory,       // fn; may set the warp's fault
  join,         // a place where diverged lanes may meet; no instruction of the program
  branch,       // guard decides per lane; target in `target`
  branchTable,  // src[0] index; ext: BranchTable
  call,         // ext: CallSite
  ret,
  exit,  // guarded lanes leave
  trap,
  barrier,     // ext: BarrierSite
  async,       // ext: AsyncSite
  collective,  // src[maskSource] names the lanes that take part; fn
  matrix,      // The same of all lanes; ext: MatrixSite; fn may set the warp's fault.
  group,       // ext: GroupSite
  fence,
  yield,  // nanosleep
  nop,
};

enum InstrFlags : uint8_t {
  kCountsAsNothing = 1,  // made by the decoder, not by the program
  kUniform = 2,          // .uni, .aligned
  kVolatile = 4,
  kMove = 8,          // a MoveKind in `size`
  kSignExtends = 16,  // a load of a signed type
};

// Which source of an Op::matrix instruction names its lanes: all of them, in a constant.
inline constexpr unsigned kMatrixLanes = 3;

struct alignas(64) Instr {
  LaneFn fn = nullptr;
  Ref dst = kNoRef;
  Ref src[4] = {kNoRef, kNoRef, kNoRef, kNoRef};
  Ref guard = kNoRef;
  int64_t imm = 0;      // Address offset, immediate operand.
  uint32_t target = 0;  // branch: instruction index.
  uint32_t ext = 0;     // Index into the table that `op` says, or of operand lists.
  uint32_t order = 0;   // Position of its block in the order of reconvergence.
  uint16_t row = 0;     // Of the instruction table.
  Op op = Op::lane;
  uint8_t flags = 0;
  // memory
  Space space = Space::generic;
  uint8_t size = 0;        // Bytes of one element.
  uint8_t count = 1;       // Elements.
  uint8_t orderScope = 0;  // Order | Scope << 4.
};
static_assert(sizeof(Instr) == 64);

// Where an instruction comes from.
struct InstrInfo {
  SourceLoc loc;            // In the PTX text.
  uint32_t sourceFile = 0;  // .loc; 0 where there is none.
  uint32_t sourceLine = 0;
  uint32_t sourceColumn = 0;
  uint32_t function = 0;
};

struct BranchTable {
  std::vector<uint32_t> targets;
};

// How an argument or a result travels: from the register `ref` or the caller's local bytes at
// `from` to the callee's local bytes (or register) of the formal parameter.
struct CallValue {
  Ref ref = kNoRef;     // The caller's register or constant; kNoRef: bytes.
  uint32_t offset = 0;  // In the caller's frame, when there is no ref.
  uint32_t bytes = 0;
};

// The last three are alloca, stacksave and stackrestore.
enum class Builtin : uint8_t {
  none,
  vprintf,
  assertFail,
  malloc,
  free,
  stackAlloc,
  stackSave,
  stackRestore,
};

struct CallSite {
  uint32_t function = 0;          // Direct: index of the function.
  Ref callee = kNoRef;            // Indirect: register with the function's handle.
  std::vector<uint32_t> allowed;  // Indirect: functions of the .calltargets table; empty: any.
  Builtin builtin = Builtin::none;
  std::vector<CallValue> arguments;
  std::vector<CallValue> results;
};

struct FormalValue {
  Ref ref = kNoRef;  // Parameters declared .reg.
  uint32_t offset = 0;
  uint32_t bytes = 0;
};

// Exchanges of values between the threads of a subgroup or of a block (group_ops.cc). Other than a
// warp, a subgroup is what the program calls so: 8, 16, 32 or 64 threads that follow each other.
enum class GroupOp : uint8_t {
  all,
  any,
  allEqual,
  elect,
  ballot,  // Results: four words.
  broadcast,
  broadcastFirst,
  shuffle,
  shuffleXor,
  shuffleUp,
  shuffleDown,
  reduce,
  inclusiveScan,
  exclusiveScan,
};
enum class GroupCombine : uint8_t { add, mul, min, max, bitAnd, bitOr, bitXor };
enum class GroupValue : uint8_t { boolean, signedInt, unsignedInt, floating };

struct GroupSite {
  GroupOp op = GroupOp::all;
  GroupCombine combine = GroupCombine::add;
  GroupValue value = GroupValue::unsignedInt;
  uint8_t bits = 32;        // Of a value.
  bool wholeBlock = false;  // Of the block, not of a subgroup.
  bool uniform = false;     // All threads of the group have to come; else those that come together.
  uint32_t cluster = 0;     // reduce: parts of so many threads; 0: one.
  std::vector<Ref> values;  // Components, exchanged alike; predicates of the votes.
  std::vector<Ref> results;
  std::array<Ref, 3> index{kNoRef, kNoRef, kNoRef};  // broadcast: one, or a position in the block;
                                                     // shuffles: lane, mask or distance
};

enum class BarrierKind : uint8_t { sync, arrive, redPopc, redAnd, redOr };

struct BarrierSite {
  BarrierKind kind = BarrierKind::sync;
  Ref id = kNoRef;
  Ref count = kNoRef;  // kNoRef: all threads of the block.
  Ref predicate = kNoRef;
  bool aligned = true;
  bool subgroup = false;  // Of a subgroup of more than one warp.
};

// Asynchronous copies, mbarriers and proxy fences (async.h).
enum class AsyncOp : uint8_t {
  copy,           // cp.async
  commit,         // cp.async.commit_group
  waitGroup,      // cp.async.wait_group
  waitAll,        // cp.async.wait_all
  copyArrive,     // cp.async.mbarrier.arrive
  mbarInit,       // mbarrier.init
  mbarInval,      // mbarrier.inval
  mbarExpect,     // mbarrier.expect_tx
  mbarComplete,   // mbarrier.complete_tx
  mbarArrive,     // mbarrier.arrive, mbarrier.arrive_drop
  mbarWait,       // mbarrier.test_wait, mbarrier.try_wait
  clusterArrive,  // barrier.cluster.arrive
  clusterWait,    // barrier.cluster.wait
  proxyFence,     // fence.proxy, fence.mbarrier_init
  bulk,           // cp.async.bulk, cp.reduce.async.bulk
  tensor,         // cp.async.bulk.tensor, cp.reduce.async.bulk.tensor
  bulkCommit,     // cp.async.bulk.commit_group
  bulkWait,       // cp.async.bulk.wait_group
  store,          // st.async, red.async
  mapReplace,     // tensormap.replace
  mapCopy,        // tensormap.cp_fenceproxy
};

// async is for all memory, the next two for one space; acquire and release are of tensor maps.
enum class ProxyFence : uint8_t {
  alias,
  async,
  asyncGlobal,
  asyncShared,
  mbarrierInit,
  mapAcquire,
  mapRelease,
};

struct AsyncAddress {
  Ref base = kNoRef;
  int64_t offset = 0;
  Space space = Space::generic;
};

struct AsyncSite {
  AsyncOp op = AsyncOp::copy;
  AsyncAddress to, from, barrier;
  AsyncAddress map;     // tensor, mapReplace: the tensor map
  uint32_t bytes = 0;   // copy, store: of the destination
  uint32_t groups = 0;  // waits: groups that may stay under way
  Ref amount = kNoRef;  // copy: bytes to read, others are zero; bulk: bytes; mbarriers: the count,
                        // bytes, state or parity; mapReplace: the new value
  Ref ignore = kNoRef;  // copy: a predicate that makes all bytes zero
  Ref multicast = kNoRef;  // bulk, tensor: blocks of the cluster
  Ref byteMask = kNoRef;   // bulk: bytes of each 16 that are written
  bool counted = false;    // copyArrive: the pending count goes up first
  bool drops = false;      // mbarArrive: for later phases too
  bool expects = false;    // mbarArrive: `amount` is bytes, not arrivals
  bool noComplete = false;
  bool parity = false;    // mbarWait: `amount` is a parity, not a state
  bool blocking = false;  // mbarWait: try_wait
  bool read = false;      // bulkWait: of the sources only
  Order order = Order::weak;
  ProxyFence fence = ProxyFence::async;
  Mod reduction = Mod::none;  // bulk, tensor, store
  Type type = Mod::none;      // Of its elements.
  Mod field = Mod::none;      // mapReplace: which, and of which dimension
  uint32_t dimension = 0;
  std::vector<Ref> values;       // store: the elements
  std::vector<Ref> coordinates;  // tensor
  std::vector<Ref> reads;        // Every register that the instruction reads, but for `values`.
};

// A variable in shared memory, or in a frame (its offset counts from the frame's begin). Guard gaps
// that belong to no variable lie between them, so that an index that is a little too large does not
// reach the neighbour; sizes that a program or a user can see do not count the gaps.
inline constexpr uint64_t kVariableGuardBytes = 32;
struct VariablePlace {
  uint32_t offset = 0;
  uint32_t bytes = 0;
  std::string name;
};
// The last of `places`, sorted by offset, that begins at or before `offset`; nullptr: none does.
const VariablePlace* variableBefore(const std::vector<VariablePlace>& places, uint64_t offset);

struct ProgramFunction {
  std::string name;
  uint64_t handle = 0;  // What a pointer to it holds.
  uint32_t entry = 0;   // First instruction.
  uint32_t end = 0;
  uint32_t slots32 = 0;
  uint32_t slots64 = 0;
  uint32_t slotsPred = 0;
  uint32_t localBytes = 0;  // Frame: .local variables, .param variables and formal parameters.
  uint32_t guardBytes = 0;  // Of them, gaps.
  std::vector<VariablePlace> variables;  // Of the frame.
  std::vector<FormalValue> params;
  std::vector<FormalValue> results;
  // Slots that may be read before they are written: they get a fixed pattern so that runs repeat.
  std::vector<Ref> poison;
  std::vector<uint32_t> callees;
  bool indirectCalls = false;
};

enum class Special : uint8_t {
  tidX,
  tidY,
  tidZ,
  ntidX,
  ntidY,
  ntidZ,
  ctaidX,
  ctaidY,
  ctaidZ,
  nctaidX,
  nctaidY,
  nctaidZ,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  gridid,
  lanemaskEq,
  lanemaskLe,
  lanemaskLt,
  lanemaskGe,
  lanemaskGt,
  clusterZero,
  clusterOne,  // Parts of a position in, and of the shape of, a cluster of one block.
  dynamicShared,
  totalShared,
  aggregateShared,
  zero,
  gridWorkspaceLow,  // The address of LaunchState::gridWorkspace.
  gridWorkspaceHigh,
  localLinear,  // Of the thread in its block.
  subgroupLane,
  subgroupId,
  subgroupCount,  // In the block.
  subgroupSize,   // Threads in this one: the last of a block may have fewer.
  subgroupMaxSize,
  subgroupMask,     // Of its lanes in the warp.
  subgroupBarrier,  // Number of the barrier of a subgroup of more than one warp.
  subgroupThreads,  // And what it waits for: threads of whole warps.
  count
};

struct ParamInfo {
  std::string name;
  uint32_t offset = 0;
  uint32_t bytes = 0;
  uint32_t align = 1;
  Type type = Mod::none;
  bool isArray = false;
  // shared: an offset in shared memory, of as many bytes as the launch says.
  Space space = Space::generic;
  uint32_t pointeeAlign = 1;
};

// Names of registers, for traces and reports: index by slot of a bank, entry function only where
// shared.
struct RegisterName {
  uint32_t function = 0;
  Ref ref = kNoRef;
  std::string name;
};

struct Program {
  std::string kernel;
  std::vector<Instr> code;
  std::vector<InstrInfo> info;             // One per instruction.
  std::vector<ProgramFunction> functions;  // [0] is the kernel.
  std::vector<BranchTable> branchTables;
  std::vector<CallSite> calls;
  std::vector<BarrierSite> barriers;
  std::vector<AsyncSite> asyncs;
  std::vector<MatrixSite> matrices;
  std::vector<GroupSite> groups;
  std::vector<Ref> operandLists;  // Vector operands, see Instr::ext.

  // Constant columns, already spread over the lanes.
  Columns<uint32_t> const32;  // kLanes per slot
  Columns<uint64_t> const64;
  std::vector<LaneMask> constPred;
  // Special columns in use: slot i of the 32-bit bank of File::special.
  std::vector<Special> specials;

  std::vector<ParamInfo> params;
  uint32_t paramBytes = 0;
  uint32_t staticShared = 0;                   // Without gaps.
  uint32_t sharedLayoutBytes = 0;              // With them.
  uint32_t dynamicSharedOffset = 0;            // Where extern shared arrays begin.
  uint32_t sharedGuardBytes = 0;               // Gaps before them.
  std::vector<VariablePlace> sharedVariables;  // Static ones.
  // Shared memory that the system reserves, zeros at first, where the program asks for its place
  // (PTX ISA, %reserved_smem_offset_…); counts as a gap.
  uint32_t reservedShared = 0;
  uint32_t reservedSharedBytes = 0;
  uint32_t dynamicSharedAlign = 1;
  std::array<uint32_t, 3> maxThreads{};       // 0: no .maxntid
  std::array<uint32_t, 3> requiredThreads{};  // 0: no .reqntid
  std::array<uint32_t, 3> clusterShape{};     // 0: no .reqnctapercluster
  uint32_t localBytes = 0;                    // Deepest non-recursive stack of frames.
  uint32_t declaredLocalBytes = 0;            // The same without gaps.
  bool recursive = false;                     // Or indirect calls: the stack limit counts.
  bool usesHeap = false;                      // malloc
  bool usesGridWorkspace = false;             // Memory through which all blocks may meet.
  bool usesAlloca = false;                    // Takes local memory at run time.
  bool usesOrderedAtomics =
      false;  // Results depend on the order of blocks; see LaunchOptions::threads.
  std::vector<std::string_view> files;  // Source files; views into the module.
  std::vector<RegisterName> names;
  std::vector<uint32_t> realBefore;  // Instructions of the program itself before each index; one
                                     // more entry at the end.

  const std::string& functionName(uint32_t instr) const {
    return functions[info[instr].function].name;
  }
};

}  // namespace mtlc::sim

#endif  // MTLC_SIM_PROGRAM_H_
