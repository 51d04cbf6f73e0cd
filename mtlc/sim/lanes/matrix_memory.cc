// Matrices between memory and registers: wmma.load, wmma.store, ldmatrix, stmatrix and movmatrix
// (PTX ISA 9.7.14.4.3, 9.7.14.4.4, 9.7.14.5.15 to 9.7.14.5.17).

#include "mtlc/sim/lanes/windows.h"

namespace mtlc::sim::MTLC_LANES {
namespace {

MTLC_INLINE const MatrixSite& siteOf(const Instr& in, Warp& w) {
  return w.block->program->matrices[in.ext];
}
MTLC_INLINE const Ref* listOf(Warp& w, const Fragment& f) {
  return w.block->program->operandLists.data() + f.first;
}

// Finds `bytes` of host memory at the addresses of `mask` as an ordinary access does; tells
// observers. Sets lanes.host and lanes.ok.
template <Space kSpace>
MTLC_INLINE void findSpace(const Instr& in, Warp& w, LaneMask mask, AccessKind kind, u32 bytes,
                           LaneAccess& lanes) {
  if (w.block->weak == nullptr) {
    // Lanes outside the mask repeat one of it.
    alignas(64) u64 address[kLanes];
    u64 first = lanes.address[__builtin_ctz(mask)];
    for (unsigned i = 0; i < kLanes; ++i) {
      address[i] = (mask & kLaneBit[i]) != 0 ? lanes.address[i] : first;
    }
    Window window = likelyWindow<kSpace>(in, w, address[0], kind != AccessKind::load);
    Pattern pattern = classify(address, window, bytes, mask);
    if (pattern != Pattern::slow) {
      observe(in, w, mask, kind, bytes, pattern, address, window, kSpace);
      for (unsigned i = 0; i < kLanes; ++i)
        lanes.host[i] = window.host + (address[i] - window.begin);
      lanes.ok = mask;
      return;
    }
  }
  resolveLanes(w, in, mask, kind, bytes, lanes);
}

void find(const Instr& in, Warp& w, LaneMask mask, AccessKind kind, u32 bytes, LaneAccess& lanes) {
  switch (in.space) {
    case Space::shared:
      return findSpace<Space::shared>(in, w, mask, kind, bytes, lanes);
    case Space::global:
      return findSpace<Space::global>(in, w, mask, kind, bytes, lanes);
    default:
      return findSpace<Space::generic>(in, w, mask, kind, bytes, lanes);
  }
}

MTLC_INLINE void fetch(Warp& w, const LaneAccess& lanes, unsigned lane, u8* to, u32 bytes) {
  if (__builtin_expect(w.block->weak != nullptr, false)) {
    loadBytes(w, lanes, lane, to, bytes);
  } else {
    __builtin_memcpy(to, lanes.host[lane], bytes);
  }
}
MTLC_INLINE void put(Warp& w, const LaneAccess& lanes, unsigned lane, const u8* from, u32 bytes) {
  if (__builtin_expect(w.block->weak != nullptr, false)) {
    storeBytes(w, lanes, lane, from, bytes);
  } else {
    __builtin_memcpy(lanes.host[lane], from, bytes);
  }
}

// The column of a register as bytes, lane after lane.
MTLC_INLINE u8* bytesOf(Warp& w, const Fragment& f, Ref r) {
  return f.wide ? reinterpret_cast<u8*>(column64(w, r)) : reinterpret_cast<u8*>(column32(w, r));
}

// Addresses and strides of the lanes that may go on: the alignment is that of a fragment, at most
// 32 bytes for the address and 16 for a stride (PTX ISA 9.7.14.4.2; CUDA's ldm).
LaneMask wmmaBase(const Instr& in, Warp& w, LaneMask mask, AccessKind kind, const Fragment& f,
                  u64* base) {
  const MatrixSite& s = siteOf(in, w);
  laneAddresses(in, w, mask, base);
  u32 bytes = u32{f.registers} * (f.wide ? 8 : 4);
  mask = alignedLanes(w, in, mask, kind, base, bytes < 32 ? bytes : 32);
  if (mask == 0) return 0;
  const u32* stride = column32(w, w.block->program->operandLists[s.stride]);
  u64 second[kLanes];
  for (unsigned i = 0; i < kLanes; ++i) second[i] = base[i] + u64{stride[i]} * s.elementBits / 8;
  return alignedLanes(w, in, mask, kind, second, bytes < 16 ? bytes : 16);
}

template <bool kLoad>
void wmmaMemory(const Instr& in, Warp& w, LaneMask mask) {
  const MatrixSite& s = siteOf(in, w);
  const Fragment& f = kLoad ? s.d : s.a;
  constexpr AccessKind kKind = kLoad ? AccessKind::load : AccessKind::store;
  alignas(64) u64 base[kLanes];
  mask = wmmaBase(in, w, mask, kKind, f, base);
  const u32* stride = column32(w, w.block->program->operandLists[s.stride]);
  const Ref* refs = listOf(w, f);
  // All of the matrix is read before a register is written: the address may be in one of them.
  alignas(64) u8 loaded[8 * kLanes * 8];
  unsigned width = f.wide ? 8 : 4;
  LaneMask done = mask;
  for (size_t p = 0; p < s.parts.size() && mask != 0; ++p) {
    const FragmentPart& part = s.parts[p];
    if (!kLoad && refs[part.reg] == kNoRef) continue;
    const u16* place = s.partPlaces.data() + p * 2 * kLanes;
    LaneAccess lanes;
    for (unsigned i = 0; i < kLanes; ++i) {
      u64 row = place[2 * i], column = place[2 * i + 1];
      u64 element = s.byColumns ? column * stride[i] + row : row * stride[i] + column;
      lanes.address[i] = base[i] + element * s.elementBits / 8;
    }
    w.part = static_cast<u32>(p);
    find(in, w, mask, kKind, part.bytes, lanes);
    done &= lanes.ok;
    if (w.fault) return;
    u8* column = kLoad ? loaded + part.reg * width * kLanes : bytesOf(w, f, refs[part.reg]);
    eachLane(lanes.ok, [&](unsigned i) {
      u8* at = column + i * width + part.shift;
      if (kLoad) {
        fetch(w, lanes, i, at, part.bytes);
      } else {
        put(w, lanes, i, at, part.bytes);
      }
    });
  }
  if (!kLoad || done == 0) return;
  for (unsigned r = 0; r < f.registers; ++r) {
    if (refs[r] == kNoRef) continue;
    if (f.wide) {
      blend(column64(w, refs[r]), reinterpret_cast<const u64*>(loaded + r * 8 * kLanes), done);
    } else {
      blend(column32(w, refs[r]), reinterpret_cast<const u32*>(loaded + r * 4 * kLanes), done);
    }
  }
}

// A row of 16 elements of 6 or 4 bits, packed, to one byte each.
void unpackRow(u8* row, unsigned bits) {
  u8 out[kRowBytes];
  for (unsigned e = 0; e < kRowBytes; ++e) {
    unsigned at = e * bits;
    unsigned word = row[at / 8] | (at / 8 + 1 < kRowBytes ? row[at / 8 + 1] << 8 : 0);
    out[e] = static_cast<u8>(word >> (at % 8) & ((1u << bits) - 1));
  }
  __builtin_memcpy(row, out, kRowBytes);
}

struct Rows {
  alignas(64) u8 bytes[kLanes * kRowBytes];
};

void takeBytes(Warp& w, const MatrixSite& s, const Fragment& f, const Rows& rows, LaneMask mask) {
  const Ref* refs = listOf(w, f);
  for (unsigned r = 0; r < f.registers; ++r) {
    if (refs[r] == kNoRef) continue;
    alignas(64) u8 column[4 * kLanes];
    const u16* from = s.bytes.data() + r * 4 * kLanes;
    for (unsigned i = 0; i < 4 * kLanes; ++i) column[i] = rows.bytes[from[i]];
    blend(column32(w, refs[r]), reinterpret_cast<const u32*>(column), mask);
  }
}

void giveBytes(Warp& w, const MatrixSite& s, const Fragment& f, Rows& rows) {
  const Ref* refs = listOf(w, f);
  for (unsigned r = 0; r < f.registers; ++r) {
    const u8* column = reinterpret_cast<const u8*>(column32(w, refs[r]));
    const u16* to = s.bytes.data() + r * 4 * kLanes;
    for (unsigned i = 0; i < 4 * kLanes; ++i) rows.bytes[to[i]] = column[i];
  }
}

// The lanes whose addresses count.
MTLC_INLINE LaneMask rowLanes(const MatrixSite& s, LaneMask mask) {
  return s.rowCount >= kLanes ? mask : mask & ((1u << s.rowCount) - 1);
}

void loadRows(const Instr& in, Warp& w, LaneMask mask) {
  const MatrixSite& s = siteOf(in, w);
  LaneMask giving = rowLanes(s, mask);
  Rows rows{};
  w.part = 0;
  if (giving != 0) {
    LaneAccess lanes;
    laneAddresses(in, w, mask, lanes.address);
    find(in, w, giving, AccessKind::load, kRowBytes, lanes);
    if (w.fault) return;
    eachLane(lanes.ok, [&](unsigned i) {
      u8* row = rows.bytes + i * kRowBytes;
      fetch(w, lanes, i, row, kRowBytes);
      if (s.elementBits < 8) unpackRow(row, s.elementBits);
    });
  }
  takeBytes(w, s, s.d, rows, mask);
}

void storeRows(const Instr& in, Warp& w, LaneMask mask) {
  const MatrixSite& s = siteOf(in, w);
  LaneMask giving = rowLanes(s, mask);
  if (giving == 0) return;
  Rows rows;
  giveBytes(w, s, s.a, rows);
  LaneAccess lanes;
  laneAddresses(in, w, mask, lanes.address);
  w.part = 0;
  find(in, w, giving, AccessKind::store, kRowBytes, lanes);
  if (w.fault) return;
  eachLane(lanes.ok, [&](unsigned i) { put(w, lanes, i, rows.bytes + i * kRowBytes, kRowBytes); });
}

// The registers hold the rows of the source, which has four bytes in each lane.
void moveRows(const Instr& in, Warp& w, LaneMask mask) {
  const MatrixSite& s = siteOf(in, w);
  Rows rows;
  __builtin_memcpy(rows.bytes, column32(w, *listOf(w, s.a)), 4 * kLanes);
  takeBytes(w, s, s.d, rows, mask);
}

}  // namespace

LaneFn selectMatrixMemory(const Form& f, const MatrixSite&) {
  switch (f.row->family) {
    case Family::wmmaLoad:
      return wmmaMemory<true>;
    case Family::wmmaStore:
      return wmmaMemory<false>;
    case Family::ldmatrix:
      return loadRows;
    case Family::stmatrix:
      return storeRows;
    case Family::movmatrix:
      return moveRows;
    default:
      return nullptr;
  }
}

}  // namespace mtlc::sim::MTLC_LANES
