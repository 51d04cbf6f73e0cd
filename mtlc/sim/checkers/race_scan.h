// The inner loops of the race checker over runs of shadow cells. Compiled once per instruction set
// of the host, as the lane functions are (lanes/lanes.h).

#ifndef MTLC_SIM_CHECKERS_RACE_SCAN_H_
#define MTLC_SIM_CHECKERS_RACE_SCAN_H_

#include <cstddef>
#include <cstdint>

namespace mtlc::sim {

// Who touched a granule last, as two words.
//   tag   block + 1 in bits 63:32, the block's barrier generation in 31:5, the warp in 4:0; 0:
//         nobody
//   info  the warp's epoch in bits 63:37, kMany… in 36:34, scope in 33:32, strong in 31, lane in
//         30:26, instruction in 25:0
//
// Readers in several lanes of the warp within the epoch of the last one, in several warps of the
// block within the generation of the last one, in several blocks.
inline constexpr uint64_t kManyLanes = uint64_t{1} << 34;
inline constexpr uint64_t kManyWarps = uint64_t{1} << 35;
inline constexpr uint64_t kManyBlocks = uint64_t{1} << 36;
// The reader that an info names is not the only one.
inline constexpr uint64_t kMany = kManyLanes | kManyWarps | kManyBlocks;
inline constexpr unsigned kEpochShift = 37;
inline constexpr uint64_t kStrongBit = uint64_t{1} << 31;
inline constexpr unsigned kLaneShift = 26;
inline constexpr uint64_t kLaneField = uint64_t{31} << kLaneShift;

// The kMany… of a new last reader, when nothing of the whole block or before it lies between the
// old one and it. Readers in earlier epochs of the warp are forgotten: what ended the epoch may
// order them before whatever comes. Without branches, for vector loops; always inlined, as those
// are compiled for several instruction sets.
inline __attribute__((always_inline)) uint64_t manyReaders(uint64_t oldTag, uint64_t oldInfo,
                                                           uint64_t tag, uint64_t info) {
  auto allOnes = [](bool b) __attribute__((always_inline)) { return b ? ~uint64_t{0} : 0; };
  uint64_t sameWarp = allOnes(oldTag == tag);
  uint64_t sameBlock = allOnes((oldTag ^ tag) < 32);
  uint64_t sameEpoch = allOnes((oldInfo ^ info) < uint64_t{1} << kEpochShift);
  uint64_t otherLane = allOnes(((oldInfo ^ info) & kLaneField) != 0);
  return (sameWarp & sameEpoch & ((otherLane & kManyLanes) | (oldInfo & kManyLanes))) |
         (~sameWarp & sameBlock & kManyWarps) | (~sameBlock & kManyBlocks) |
         (oldInfo & (kManyWarps | kManyBlocks));
}

// Arrays of equal length: the last write and the last read of each granule. For scans only, either
// pair may be missing: nobody wrote, nobody read.
struct CellRun {
  uint64_t* writeTag;
  uint64_t* writeInfo;
  uint64_t* readTag;
  uint64_t* readInfo;
};

// The access: tags in [low, low + span) are ordered before it; its own tag and its info without the
// lane.
struct ScanAccess {
  uint64_t low;
  uint64_t span;
  uint64_t tag;
  uint64_t info;
};

// loads, stores: a weak load (or store) of `count` granules, `perLane` of them by each lane from
// the one that the access's info names up. When nothing conflicts at first sight, records it and
// returns true. Else changes nothing and returns false. A load needs the arrays of reads, a store
// those of writes. breaks: the lanes whose address is not `bytes` behind that of the lane before;
// lane 0 is one. offsets: the distances of 32 addresses from `begin`, and bounds [low, high] of
// them.
struct RaceScan {
  bool (*loads)(const CellRun& cells, size_t count, unsigned perLane, const ScanAccess& access);
  bool (*stores)(const CellRun& cells, size_t count, unsigned perLane, const ScanAccess& access);
  uint32_t (*breaks)(const uint64_t* addresses, uint64_t bytes);
  void (*offsets)(const uint64_t* addresses, uint64_t begin, uint32_t* out, uint32_t& low,
                  uint32_t& high);
};

namespace base {
const RaceScan& raceScan();
}
namespace v3 {
const RaceScan& raceScan();
}
// The best one for this machine.
const RaceScan& raceScan();

}  // namespace mtlc::sim

#endif  // MTLC_SIM_CHECKERS_RACE_SCAN_H_
