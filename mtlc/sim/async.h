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
// A block without such instructions has no AsyncState, and none of this costs anything.

#ifndef MTLC_SIM_ASYNC_H_
#define MTLC_SIM_ASYNC_H_

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "mtlc/sim/observer.h"
#include "mtlc/sim/state.h"

namespace mtlc::sim {

// The copies of one cp.async, executed by the lanes of a warp; piece i is that of lane i.
struct LaneCopies {
  const Instr* in = nullptr;
  uint32_t warp = 0;
  uint32_t bytes = 0;   // Of each lane's destination.
  LaneMask lanes = 0;   // Lanes that copy.
  LaneMask flying = 0;  // Of them, those whose bytes have not landed.
  LaneMask open = 0;    // Those that have not been waited for; without observers the same.
  // The commit group that a lane's copy belongs to: groups count from 1 in each thread.
  std::array<uint32_t, kLanes> group{};
  std::array<Piece, kLanes> pieces;
};

// What became of an instruction.
enum class AsyncStatus : uint8_t {
  done,
  waits,    // Its group looks again later.
  stopped,  // The launch ends.
};

class AsyncState {
 public:
  explicit AsyncState(Block& block);

  AsyncStatus execute(Warp& w, const Instr& in, const AsyncSite& site, LaneMask mask);
  // A turn of a random schedule: some bytes may land.
  void turn();
  // The last thread has exited.
  void blockEnd();

 private:
  enum class Style : uint8_t { late, early, mixed };  // When copies land.

  AsyncStatus copy(Warp& w, const Instr& in, const AsyncSite& site, LaneMask mask);
  // Lands, and delivers, the copies of the lanes of `mask` in groups up to limit[lane].
  void wait(Warp& w, LaneMask mask, const std::array<uint32_t, kLanes>& limit);
  void land(LaneCopies& c, LaneMask mask);
  void move(const Piece& p);

  Block& block_;
  Style style_ = Style::late;
  std::vector<std::deque<LaneCopies>> copies_;  // By warp, oldest first.
  std::vector<uint32_t> committed_;             // Groups, by thread.
};

// Executes an instruction of Op::async; makes the block's state when it is the first.
AsyncStatus executeAsync(Warp& w, const Instr& in, LaneMask mask);

// The addresses of the lanes of `mask`, as the registers have them.
void asyncAddresses(Warp& w, const AsyncAddress& a, LaneMask mask, uint64_t* out);

}  // namespace mtlc::sim

#endif  // MTLC_SIM_ASYNC_H_
