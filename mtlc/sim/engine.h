// Execution of a block: warps take turns; in a warp, groups of lanes take turns; in a group,
// instructions run for all lanes.
//
// Lanes of a warp that stand at the same place in the same activation form a group. The group whose
// block comes first in the order of reconvergence (flow.h) runs; reaching a place where another
// group waits merges the two. A group that ran long without merging gives way to the one that
// waited longest, so that lanes waiting for each other through memory (a spinning lock) always make
// progress, as on hardware with independent thread scheduling.

#ifndef MTLC_SIM_ENGINE_H_
#define MTLC_SIM_ENGINE_H_

#include <cstdint>

#include "mtlc/sim/launch_state.h"
#include "mtlc/sim/state.h"

namespace mtlc::sim {

enum class BlockStatus : uint8_t {
  done,
  suspended,  // The quantum is over; call again.
  stopped,    // The launch ends.
};

// Prepares a block for its first run. False when the host has no memory for it.
bool startBlock(Worker& worker, Block& block, uint64_t linear);
// Runs the block for about `quantum` warp turns.
BlockStatus runBlock(Block& block, uint32_t quantum);

// ---- Between the engine's source files ----

enum class WarpStatus : uint8_t { ran, blocked, done, stopped };

// groups.cc: which lanes run next.
// Chooses the next group, merging those that meet. False when none can run.
bool selectGroup(Warp& w);
// Merges groups that stand at the same place in the same state; returns where the group at `index`
// went.
uint32_t mergeGroups(Warp& w, uint32_t index);
// Makes `w.frame` and the register files those of the current group's frame.
void enterFrame(Warp& w, Frame* frame);
// The current group splits: `lanes` continue at `pc` in `frame`; the rest keeps its place.
void splitGroup(Warp& w, LaneMask lanes, uint32_t pc, Frame* frame);
// Lanes of the current group leave for good.
void exitLanes(Warp& w, LaneMask lanes);
Frame* newFrame(Warp& w);
void leaveFrame(Warp& w, Frame* frame, LaneMask lanes);  // Gives frames without lanes back.

// barriers.cc
// The current group reached the barrier instruction `in`. False when the launch ends: bad operands.
bool reachBarrier(Warp& w, const Instr& in);
// Groups that wait for the rest of their warp arrive without it. True when there was one.
bool arriveDiverged(Warp& w);
void checkBarriersAfterExit(Block& b);

// collectives.cc
// The current group reached a collective. True: executed for all its lanes. False: it waits, or was
// split.
bool reachCollective(Warp& w, const Instr& in);
// Runs a waiting collective without the lanes that do not come. True when there was one. `patient`:
// not when one of these lanes waits at a block barrier and may still come.
bool forceCollective(Warp& w, bool patient);

// The lanes of `done` executed the collective `pc`: they go on, the rest of their groups waits.
void leaveCollective(Warp& w, uint32_t pc, LaneMask done);

// group_ops.cc
// The current group reached an Op::group. It waits there; those whose group is complete went on.
void reachGroupOp(Warp& w, const Instr& in);
// Nothing else can run: complete what only exited threads are missing from, then what waits for
// threads that do not come. True when threads went on.
bool forceGroupOp(Block& b);

// calls.cc
// False when the launch ends.
bool callFunction(Warp& w, const Instr& in);
void returnFromFunction(Warp& w);
bool runBuiltin(Warp& w, const Instr& in, const CallSite& site);

}  // namespace mtlc::sim

#endif  // MTLC_SIM_ENGINE_H_
