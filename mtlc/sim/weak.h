// Weak memory behaviour by seed: an operational form of the PTX memory model (PTX ISA 8, "Memory
// Consistency Model"), described in docs/simulator-memory-model.md.
//
// Every location that the kernel writes has a history of messages in coherence order. A thread has
// a view: for each location, the oldest message that it may still read. Releases attach views to
// messages, acquires take them over. Host memory always holds the newest messages, so a lane
// function runs unchanged: what a lane is to see is put there for as long as its function runs.

#ifndef MTLC_SIM_WEAK_H_
#define MTLC_SIM_WEAK_H_

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "mtlc/sim/launch_state.h"
#include "mtlc/sim/state.h"

namespace mtlc::sim {

// One for a launch. Not thread-safe: launches with a seed have one host thread.
class WeakMemory {
 public:
  explicit WeakMemory(uint64_t seed) : random_(seed) {}

  void blockBegin(const Block& b);
  void blockEnd(const Block& b);
  // Before `in` executes for lanes of `active`: loads that were put off and that cannot wait.
  void before(Warp& w, const Instr& in, LaneMask active);
  // Executes the load, store or atomic `in`.
  void access(Warp& w, const Instr& in, LaneMask mask);
  // A weak access of one lane by a matrix instruction. Loads see the newest values.
  void loaded(Warp& w, unsigned lane, Space space, uint64_t address, uint8_t* host, uint32_t bytes);
  void store(Warp& w, unsigned lane, Space space, uint64_t address, uint8_t* host,
             const uint8_t* from, uint32_t bytes);
  void fence(Warp& w, const Instr& in, LaneMask mask);
  void warpSync(Warp& w, LaneMask mask);
  // Lanes arrive at barrier `id`; lanes that waited for it go on; it is complete.
  void barrierArrive(Warp& w, LaneMask mask, uint32_t id);
  void barrierWait(Warp& w, LaneMask mask, uint32_t id);
  void barrierReset(const Block& b, uint32_t id);
  // The same for mbarriers and the cluster's barrier (observer.h).
  void mbarrierArrive(Warp& w, LaneMask mask, uint32_t offset, Order order);
  void mbarrierPhase(const Block& b, uint32_t offset);
  void mbarrierWait(Warp& w, LaneMask mask, uint32_t offset, Order order);
  // Bytes in global or shared memory changed in another way: everybody sees the newest ones.
  void written(const Block& b, Space space, uint64_t at, uint64_t bytes);

 private:
  using Key = uint64_t;   // Of a location: device address, or block and offset in shared memory.
  using Time = uint64_t;  // Position in the coherence order of a location.
  using Map = std::unordered_map<Key, Time>;
  using Snapshot = std::shared_ptr<const Map>;

  struct View {
    Snapshot base;  // Shared with others.
    Map own;        // What goes beyond it.
    Time at(Key key) const;
    void raise(Key key, Time time);
    void join(const Map& other);
    void join(const Snapshot& other);
    void join(const View& other);
    Snapshot snapshot();
  };
  // What a release makes visible, and to whom: with `wide` to all, otherwise to its block.
  struct Release {
    Snapshot view;
    bool wide = false;
    uint32_t block = 0;
  };
  struct Message {
    Time time = 0;
    uint64_t value = 0;
    uint32_t block = 0;
    bool wide = false;      // Scope of the write.
    bool strong = false;    // Not a weak write.
    bool attached = false;  // Part of an atomic that read the message before it.
    std::vector<Release> releases;
  };
  using History = std::vector<Message>;  // By time. Empty: host memory is all there is.
  // Eight bytes, seen as locations of one size.
  struct Granule {
    unsigned size = 0;
    Time floor = 0;                // Of what an access of another size made of them.
    std::vector<Release> carried;  // From then.
    std::array<History, 8> histories;
  };
  using Granules = std::unordered_map<Key, Granule>;
  // A release that the thread saw by a strong read of `key`; an acquire may still take it over.
  struct Acquirable {
    Release release;
    Key key = 0;
  };
  // A load whose value is not chosen yet.
  struct Late {
    Ref dst = kNoRef;
    Key key = 0;
    uint8_t* host = nullptr;
    unsigned size = 0;
    Order order = Order::weak;
    bool wide = false;
    Granules* granules = nullptr;
  };
  struct Thread {
    View view;
    Snapshot fenceWide, fenceNarrow;            // The view at the last release fences.
    std::unordered_map<Key, Release> released;  // By releasing writes, for later strong writes.
    std::vector<Acquirable> acquirable;
    Late late;
  };
  struct BlockState {
    uint32_t id = 0;
    std::vector<Thread> threads;
    std::vector<LaneMask> late;  // By warp: lanes with a late load.
    std::array<View, kBarriers> barriers;
    std::unordered_map<uint32_t, std::array<View, 2>> mbarriers;  // This phase, and those before.
    View fences;  // What fence.sc of the block made known.
    Granules shared;
  };
  // Where and how one lane accesses.
  struct Target {
    Key key = 0;
    uint8_t* host = nullptr;
    Granules* granules = nullptr;
    Order order = Order::weak;
    bool wide = false;
  };

  BlockState& state(const Block& b);
  bool locate(Warp& w, const Instr& in, unsigned lane, Target& t, BlockState& b);
  bool locateAt(Space space, uint64_t address, uint8_t* host, Warp& w, Target& t, BlockState& b);
  void accessLane(Warp& w, const Instr& in, unsigned lane, BlockState& b);
  // The history of a location; empty when nobody wrote it, unless `create`.
  History* history(Granules& granules, Key key, unsigned size, uint8_t* host, bool create);
  void changeSize(Granule& g, unsigned size);
  const Message& choose(const Thread& t, const History& h, Key key);
  void read(Thread& t, uint32_t block, Key key, const Message& m, Order order, bool wide);
  void write(Thread& t, uint32_t block, Key key, History& h, uint64_t value, const Target& how,
             bool atomic);
  void acquire(Thread& t, uint32_t block, bool wide, const Key* only);
  void resolve(Warp& w, unsigned lane, BlockState& b);
  // Everybody knows everything: bounds what is kept.
  void forget();

  uint64_t random_;
  uint32_t nextBlock_ = 1;
  std::unordered_map<const Block*, std::unique_ptr<BlockState>> blocks_;
  const Block* lastBlock_ = nullptr;
  BlockState* lastState_ = nullptr;
  Granules device_;
  View fences_;  // What fence.sc of wide scope made known.
};

}  // namespace mtlc::sim

#endif  // MTLC_SIM_WEAK_H_
