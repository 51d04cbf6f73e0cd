#include "mtlc/sim/tensor_copy.h"

#include <algorithm>
#include <string>

#include "mtlc/sim/access.h"
#include "mtlc/sim/async.h"
#include "mtlc/sim/launch_state.h"

namespace mtlc::sim {
namespace {

// The type that a reduction takes elements for; none: it cannot.
Type reductionType(TensorType type, Mod op) {
  bool bits = op == Mod::andMod || op == Mod::orMod || op == Mod::xorMod;
  bool order = op == Mod::minMod || op == Mod::maxMod;
  bool wraps = op == Mod::inc || op == Mod::dec;
  switch (type) {
    case TensorType::u32:
      return Mod::u32;
    case TensorType::s32:
      return wraps ? Mod::none : Mod::s32;
    case TensorType::u64:
      return wraps ? Mod::none : Mod::u64;
    case TensorType::s64:
      return wraps || op == Mod::add ? Mod::none : Mod::s64;
    case TensorType::f16:
      return bits || wraps ? Mod::none : Mod::f16;
    case TensorType::bf16:
      return bits || wraps ? Mod::none : Mod::bf16;
    case TensorType::f32:
      return bits || wraps || order ? Mod::none : Mod::f32;
    case TensorType::f64:
      return bits || wraps || order ? Mod::none : Mod::f64;
    default:
      return Mod::none;
  }
}

uint64_t nanPattern(TensorType type) {
  switch (tensorTypeBytes(type)) {
    case 2:
      return 0x7fff7fff7fff7fff;
    case 4:
      return 0x7fffffff7fffffff;
    default:
      return 0x7fffffffffffffff;
  }
}

}  // namespace

bool TensorSide::locate(const AsyncSite& site) {
  LaneAccess l;
  LaneMask one = 1u << lane;
  asyncAddresses(w, site.map, one, l.address);
  uint64_t given = l.address[lane];
  if (!resolveRange(w, in, site.map.space, lane, AccessKind::load, kTensorMapBytes, kTensorMapAlign,
                    l)) {
    return false;
  }
  auto refuse = [&](const std::string& why) {
    reportFault(w, in, lane, DiagId::SimTensorMap, {hexText(given), why});
    return false;
  };
  if (!decodeTensorMap(l.host[lane], map)) return refuse("there is none");
  if (std::string why = checkTensorMap(map); !why.empty()) return refuse(why);
  if (l.space[lane] == Space::global) mapAddress = l.address[lane];
  if (map.rank != site.coordinates.size()) {
    return refuse("it has rank " + std::to_string(map.rank));
  }
  if (map.type >= TensorType::f32Ftz)
    return refuse("copies that convert elements are not simulated");
  if (site.reduction != Mod::none) {
    type = reductionType(map.type, site.reduction);
    if (type == Mod::none) return refuse("its elements have no such reduction");
  }
  for (size_t i = 0; i < site.coordinates.size(); ++i) {
    at[i] = static_cast<int32_t>(w.r32(site.coordinates[i])[lane]);
  }
  sharedBytes = map.boxBytes();
  const AsyncAddress& side = toGlobal ? site.from : site.to;
  asyncAddresses(w, side, one, l.address);
  // Tensor copies want 128 bytes of alignment in shared memory (PTX ISA 5.5.5). A swizzle spreads
  // the last chunks over all of their 128 bytes.
  uint32_t span =
      map.swizzle == TensorSwizzle::none ? sharedBytes : (sharedBytes + 127) / 128 * 128;
  if (!resolveRange(w, in, Space::shared, lane, toGlobal ? AccessKind::load : AccessKind::store,
                    span, 128, l)) {
    return false;
  }
  shared = static_cast<uint32_t>(l.address[lane]);
  sharedHost = l.host[lane];
  return true;
}

bool TensorSide::pieces(std::vector<Piece>& out) {
  const uint32_t size = tensorTypeBytes(map.type);
  const uint32_t rowBytes = map.box[0] * size;
  const uint32_t rows = sharedBytes / rowBytes;
  const uint64_t pattern = map.nanFill ? nanPattern(map.type) : 0;
  // Rows of one box mostly lie in one allocation.
  const Allocation* allocation = nullptr;
  // Elements [first, last) of each row lie in the tensor.
  int64_t left = at[0], dim0 = static_cast<int64_t>(map.dims[0]);
  int64_t first = std::clamp<int64_t>(-left, 0, map.box[0]);
  int64_t last = std::clamp<int64_t>(dim0 - left, first, map.box[0]);
  for (uint32_t row = 0; row < rows; ++row) {
    uint64_t address = map.address;
    bool inside = first < last;
    uint32_t rest = row;
    for (unsigned i = 1; i < map.rank; ++i) {
      uint32_t n = map.boxElements(i);
      int64_t c = int64_t{at[i]} + int64_t{rest % n} * map.elementStrides[i];
      rest /= n;
      inside = inside && c >= 0 && c < static_cast<int64_t>(map.dims[i]);
      address += static_cast<uint64_t>(c) * map.strides[i];
    }
    const uint32_t begin = inside ? static_cast<uint32_t>(first) * size : rowBytes;
    const uint32_t end = inside ? static_cast<uint32_t>(last) * size : rowBytes;
    if (begin < end) {
      address += static_cast<uint64_t>(left) * size;
      if (allocation == nullptr || !allocation->contains(address + begin, end - begin)) {
        allocation = w.block->launch->memory->find(address + begin, end - begin);
      }
      if (allocation == nullptr || (toGlobal && allocation->kind == AllocationKind::constant)) {
        memoryFault(w, in, lane, allocation == nullptr ? MemFault::outOfBounds : MemFault::readOnly,
                    Space::global, address + begin,
                    toGlobal ? AccessKind::store : AccessKind::load);
        return false;
      }
    }
    // 16 bytes at a time, as they may be exchanged; or a whole run.
    auto add = [&](uint32_t from, uint32_t to, bool data) {
      uint32_t step = map.swizzle == TensorSwizzle::none ? rowBytes : 16;
      while (from < to) {
        uint32_t stop = std::min(to, (from / step + 1) * step);
        uint32_t offset = swizzled(map.swizzle, shared + row * rowBytes + from);
        Piece p;
        uint64_t global = data ? address + from : 0;
        uint8_t* globalHost = data ? allocation->host + (global - allocation->begin) : nullptr;
        uint8_t* host = sharedHost + (offset - shared);
        if (toGlobal) {
          p.to = global;
          p.toHost = globalHost;
          p.from = offset;
          p.fromHost = host;
          p.toSpace = Space::global;
          p.fromSpace = Space::shared;
        } else {
          p.to = offset;
          p.toHost = host;
          p.from = global;
          p.fromHost = globalHost;
        }
        (data ? p.bytes : p.fill) = stop - from;
        p.pattern = pattern;
        out.push_back(p);
        from = stop;
      }
    };
    if (!toGlobal) add(0, begin, false);
    if (begin < end) add(begin, end, true);
    if (!toGlobal) add(end, rowBytes, false);
  }
  return true;
}

}  // namespace mtlc::sim
