// Asynchronous work of a block: copies that were issued and have not happened yet, and the counters
// of those who wait for them (PTX ISA 9.7.9.25 "Data Movement and Conversion Instructions:
// Asynchronous copy").
//
// A copy is really deferred. Issuing it resolves and checks its addresses; its bytes are read and
// written later, when somebody waits for it at the latest. Without a seed that is when they land:
// what a program reads too early it finds unchanged. With a seed they land at once, or late, or, a
// few at a time and in any order, at any turn of the block; the seed says which.
//
//   issue            -> LaneCopies in AsyncState::copies, one record for a warp instruction
//   turn of a block  -> asyncTurn() lands some               (random schedules only)
//   wait             -> lands those it waits for; observers hear that they are delivered
//   end of the block -> everything lands
//
// Bulk copies (PTX ISA 9.7.9.25.4, and 9.7.9.27 of tensors) are of one thread each: a list of
// pieces that land in any order. One to shared memory then tells its mbarrier; one from there first
// reads all of its source.
//
// A block without such instructions has no AsyncState, and none of this costs anything.

#ifndef MTLC_SIM_ASYNC_H_
#define MTLC_SIM_ASYNC_H_

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "mtlc/sim/mbarrier.h"
#include "mtlc/sim/observer.h"
#include "mtlc/sim/state.h"
#include "mtlc/sim/warpgroup.h"
#include "mtlc/support/diagnostics.h"

namespace mtlc::sim {

// The copies of one cp.async, executed by the lanes of a warp; piece i is that of lane i.
struct LaneCopies {
  const Instr* in = nullptr;
  uint32_t warp = 0;
  uint32_t bytes = 0;    // Of each lane's destination.
  LaneMask lanes = 0;    // Lanes that copy.
  LaneMask flying = 0;   // Of them, those whose bytes have not landed.
  LaneMask open = 0;     // Those that have not been waited for; without observers the same.
  bool arrives = false;  // An arrival at an mbarrier when the copies before it have landed instead.
  // The commit group that a lane's copy belongs to: groups count from 1 in each thread.
  std::array<uint32_t, kLanes> group{};
  std::array<Piece, kLanes> pieces;
};

// A bulk copy of one thread, or a st.async or red.async of one: its pieces are filled with values
// instead of copied.
struct BulkCopy {
  const Instr* in = nullptr;
  uint32_t thread = 0;  // Of the block.
  bool toGlobal = false;
  bool fromRegisters = false;  // st.async, red.async: in the generic proxy.
  uint64_t map = 0;            // Address of the tensor map, if it has one in global memory.
  // The part of shared memory that it writes, or reads when `toGlobal`.
  uint32_t shared = 0;
  uint32_t sharedBytes = 0;
  uint32_t barrier = 0;  // Offset of the mbarrier, unless toGlobal.
  uint64_t phase = 0;    // Of the mbarrier, once it was told.
  uint32_t group = 0;    // toGlobal: counts from 1 in each thread.
  bool read = false;     // toGlobal: the source is in `taken`.
  bool landed = false;
  bool sourceWaited = false;  // toGlobal: the thread knows that the source was read,
  bool delivered = false;     // somebody knows that all is done.
  Mod reduction = Mod::none;
  Type type = Mod::none;
  uint16_t byteMask = 0xffff;
  std::vector<Piece> pieces;
  size_t next = 0;  // Those before it have landed.
  std::vector<uint8_t> taken;
};

// What became of an instruction.
enum class AsyncStatus : uint8_t {
  done,
  waits,    // Its group looks again later.
  yields,   // Done, but others first.
  stopped,  // The launch ends.
};

class AsyncState {
 public:
  explicit AsyncState(Block& block);

  AsyncStatus execute(Warp& w, const Instr& in, const AsyncSite& site, LaneMask mask);
  // A turn of a random schedule: some bytes may land, some waits look again.
  void turn();
  // The turn of a warp: groups whose patience is over look again.
  void tick(Warp& w);
  // Nothing else in the block can run: waits look again. False when there is none, or when they
  // have done so for too long.
  bool wakePolls();
  // wgmma (warpgroup.h), by a warp.
  void warpgroup(Warp& w, const Instr& in, LaneMask mask);
  // A function returns: products may have their operands in its registers, so they land.
  void returning(Warp& w) { landProducts(w, products_[w.index].size()); }
  // Threads have exited: the barrier of the cluster does not wait for them.
  void threadsExited();
  // The last thread has exited.
  void blockEnd();
  // The mbarrier at `offset`, or nullptr.
  const Mbarrier* mbarrier(uint32_t offset) const;
  // The first group that waits for an mbarrier, and for which one.
  const Mbarrier* awaited(uint32_t& offset) const;

 private:
  enum class Style : uint8_t { late, early, mixed };  // When copies land.

  // async.cc
  AsyncStatus copy(Warp& w, const Instr& in, const AsyncSite& site, LaneMask mask);
  // Lands, and delivers, the copies of the lanes of `mask` in groups up to limit[lane].
  void wait(Warp& w, LaneMask mask, const std::array<uint32_t, kLanes>& limit);
  void land(LaneCopies& c, LaneMask mask);
  void move(const Piece& p);

  // mbarrier.cc
  AsyncStatus mbarriers(Warp& w, const Instr& in, const AsyncSite& site, LaneMask mask);
  AsyncStatus waitPhase(Warp& w, const Instr& in, const AsyncSite& site, LaneMask mask,
                        const uint32_t* offsets);
  // Offsets of the objects that the lanes name; false when the launch ends.
  bool locate(Warp& w, const Instr& in, const AsyncAddress& at, LaneMask& mask, uint32_t* offsets);
  Mbarrier* find(Warp& w, const Instr& in, unsigned lane, uint32_t offset);
  // A fault of the program's synchronisation: reported; with the sync check the launch goes on.
  bool misuse(Warp& w, const Instr& in, unsigned lane, DiagId id, DiagArgs args);
  bool arrive(Warp& w, const Instr& in, unsigned lane, uint32_t offset, uint32_t count,
              const AsyncSite& site);
  bool addBytes(Warp& w, const Instr& in, unsigned lane, uint32_t offset, int64_t bytes);
  void settle(uint32_t offset, Mbarrier& b);  // Completes the phase if it can.
  void wake();
  // Lands copies that the mbarrier at `offset` waits for.
  void landFor(uint32_t offset);
  AsyncStatus copyArrive(Warp& w, const Instr& in, const AsyncSite& site, LaneMask mask);
  // The arrivals behind the copies of these lanes.
  void landArrivals(LaneCopies& c, LaneMask mask);
  void deliverPhase(uint32_t offset, uint64_t before);
  AsyncStatus clusterBarrier(Warp& w, const Instr& in, const AsyncSite& site, LaneMask mask);
  void settleCluster();
  bool stops() const;

  // bulk.cc
  AsyncStatus bulk(Warp& w, const Instr& in, const AsyncSite& site, LaneMask mask);
  AsyncStatus tensor(Warp& w, const Instr& in, const AsyncSite& site, LaneMask mask);
  AsyncStatus store(Warp& w, const Instr& in, const AsyncSite& site, LaneMask mask);
  AsyncStatus mapReplace(Warp& w, const Instr& in, const AsyncSite& site, LaneMask mask);
  AsyncStatus mapCopy(Warp& w, const Instr& in, const AsyncSite& site, LaneMask mask);
  bool startBulk(Warp& w, const Instr& in, const AsyncSite& site, unsigned lane, BulkCopy copy);
  void readSource(BulkCopy& c);
  void landPieces(BulkCopy& c, size_t count);
  void land(BulkCopy& c) { landPieces(c, c.pieces.size()); }
  void bulkWait(Warp& w, const AsyncSite& site, LaneMask mask);
  void forget();  // Copies that nobody needs any more.

  // warpgroup.cc
  void issueProduct(Warp& w, const Instr& in, LaneMask mask);
  void landProducts(Warp& w, size_t count);  // The oldest.
  void waitProducts(Warp& w, uint32_t groups);

  Block& block_;
  Style style_ = Style::late;
  std::vector<std::deque<LaneCopies>> copies_;  // By warp, oldest first.
  std::vector<uint32_t> committed_;             // Groups, by thread.
  std::vector<uint32_t> bulkCommitted_;
  std::deque<BulkCopy> bulk_;
  std::vector<std::deque<WarpgroupProduct>> products_;  // By warp, oldest first.
  std::vector<uint32_t> productGroups_;                 // Committed, by warp.
  std::map<uint32_t, Mbarrier> mbarriers_;
  std::set<uint32_t> invalidated_;
  uint32_t polls_ = 0;  // Since anything happened.
  uint64_t lastState_ = 0;
  // The barrier of the cluster: threads that have arrived, by warp; the phase in which a thread
  // did.
  uint64_t clusterPhase_ = 0;
  std::vector<LaneMask> clusterArrived_;
  std::vector<uint64_t> arrivedPhase_;
};

// Executes an instruction of Op::async; makes the block's state when it is the first.
AsyncStatus executeAsync(Warp& w, const Instr& in, LaneMask mask);

// The addresses of the lanes of `mask`, as the registers have them.
void asyncAddresses(Warp& w, const AsyncAddress& a, LaneMask mask, uint64_t* out);

}  // namespace mtlc::sim

#endif  // MTLC_SIM_ASYNC_H_
