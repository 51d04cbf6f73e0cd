// The checkers of a launch, each an observer in its own file. Out-of-bounds, misaligned and other
// impossible accesses need no observer: every access is checked anyway, and the mem checker only
// makes the launch go on to find the next one.

#ifndef MTLC_SIM_CHECKERS_CHECKERS_H_
#define MTLC_SIM_CHECKERS_CHECKERS_H_

#include <memory>

#include "mtlc/sim/observer.h"

namespace mtlc::sim {

// Which of Warp::observerData and Block::observerData a checker uses.
enum class ObserverSlot : uint8_t { init, race, sync, async, products, warpgroups };

// Follows uninitialised bits through registers and memory and reports where they decide something.
std::unique_ptr<Observer> makeInitChecker();
// Finds conflicting accesses that nothing orders.
std::unique_ptr<Observer> makeRaceChecker();
// Finds barriers and collectives that not all lanes reach, and shuffles from lanes that are not
// there.
std::unique_ptr<Observer> makeSyncChecker();

// Finds ordinary accesses to mbarriers; part of the sync checks of programs that have some.
std::unique_ptr<Observer> makeMbarrierAccessChecker();
// Finds asynchronous copies that are used, or disturbed, before somebody waited for them.
std::unique_ptr<Observer> makeAsyncChecker();

// Of programs with wgmma. Finds registers of products that nobody has waited for in other
// instructions, and products whose registers no wgmma.fence separates from other accesses; part of
// the async checks.
std::unique_ptr<Observer> makeProductChecker();
// Finds warpgroups whose warps do not all do the same; part of the sync checks.
std::unique_ptr<Observer> makeWarpgroupChecker();

}  // namespace mtlc::sim

#endif  // MTLC_SIM_CHECKERS_CHECKERS_H_
