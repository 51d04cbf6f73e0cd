#include "mtlc/sim/checkers/matrix_shadow.h"

#include <bitset>
#include <cstring>

#include "mtlc/sim/matrix/fragments.h"

namespace mtlc::sim {
namespace {

// Visits the elements of a fragment: visit(row, column, register, lane, mask of its bits).
template <typename Visit>
void eachElement(const Program& p, const Fragment& f, Visit visit) {
  unsigned width = (f.wide ? 64u : 32u) / f.perRegister;
  uint64_t ones = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  for (unsigned r = 0; r < f.rows; ++r) {
    for (unsigned c = 0; c < f.columns; ++c) {
      unsigned number = f.place[r * f.columns + c], slot = number % f.perRegister;
      unsigned place = number / f.perRegister;
      visit(r, c, p.operandLists[f.first + place / kLanes], place % kLanes, ones << (slot * width));
    }
  }
}

bool anyUndefined(const Program& p, const Fragment& f, RegisterShadow& regs) {
  for (unsigned r = 0; r < f.registers; ++r) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if (regs.bits(p.operandLists[f.first + r], lane) != 0) return true;
    }
  }
  return false;
}

// Rows of A whose metadata has undefined bits.
void metadataRows(const Program& p, const MatrixSite& s, RegisterShadow& regs,
                  std::bitset<64>& rows) {
  if (s.metadata == nullptr) return;
  for (unsigned r = 0; r < 16; ++r) {
    for (unsigned q = 0; q < s.chunks; ++q) {
      MetadataPlace at = s.metadata[(s.selector * 16u + r) * s.chunks + q];
      if ((regs.bits(p.operandLists[s.metadataRegister], at.lane) >> at.lsb & 15) != 0) rows.set(r);
    }
  }
}

void shadowMove(const Program& p, const MatrixSite& s, LaneMask mask, RegisterShadow& regs) {
  uint8_t rows[kLanes * 4];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    auto bits = static_cast<uint32_t>(regs.bits(p.operandLists[s.a.first], lane));
    std::memcpy(rows + 4 * lane, &bits, 4);
  }
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    uint64_t bits = 0;
    for (unsigned b = 0; b < 4; ++b) bits |= uint64_t{rows[s.bytes[lane * 4 + b]]} << (8 * b);
    regs.set(p.operandLists[s.d.first], lane, bits);
  }
}

}  // namespace

void shadowDefine(const Program& p, const MatrixSite& s, LaneMask mask, RegisterShadow& regs) {
  for (unsigned r = 0; r < s.d.registers; ++r) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if ((mask >> lane & 1) != 0) regs.set(p.operandLists[s.d.first + r], lane, 0);
    }
  }
}

void shadowProduct(const Program& p, const MatrixSite& s, LaneMask mask, ScaleThreads threads,
                   RegisterShadow& regs) {
  if (!s.bytes.empty()) return shadowMove(p, s, mask, regs);
  std::bitset<64> rows, columns;
  if (anyUndefined(p, s.a, regs)) {
    eachElement(p, s.a, [&](unsigned r, unsigned, Ref ref, unsigned lane, uint64_t bits) {
      if ((regs.bits(ref, lane) & bits) != 0) rows.set(r);
    });
  }
  if (anyUndefined(p, s.b, regs)) {
    eachElement(p, s.b, [&](unsigned, unsigned c, Ref ref, unsigned lane, uint64_t bits) {
      if ((regs.bits(ref, lane) & bits) != 0) columns.set(c);
    });
  }
  metadataRows(p, s, regs, rows);
  auto scaleUndefined = [&](const ScaleOperands& o, ScalePlace at) {
    return regs.bits(p.operandLists[o.data], at.lane & 31) == 0xffffffffu;
  };
  for (unsigned i = 0; s.scales != 0 && i < s.m; ++i) {
    if (scaleUndefined(s.scaleA, scalePlaceA(i, 0, 0, threads.a))) rows.set(i);
  }
  for (unsigned i = 0; s.scales != 0 && i < s.n; ++i) {
    if (scaleUndefined(s.scaleB, scalePlaceB(i, 0, 0, threads.b))) columns.set(i);
  }
  // Elements of C and D lie at the same places or not, so C is looked at as a whole first.
  std::bitset<32 * 32> undefined;
  if (anyUndefined(p, s.c, regs)) {
    eachElement(p, s.c, [&](unsigned r, unsigned c, Ref ref, unsigned lane, uint64_t bits) {
      if ((regs.bits(ref, lane) & bits) != 0) undefined.set(r * 32 + c);
    });
  }
  shadowDefine(p, s, mask, regs);
  if (rows.none() && columns.none() && undefined.none()) return;
  eachElement(p, s.d, [&](unsigned r, unsigned c, Ref ref, unsigned lane, uint64_t bits) {
    unsigned column = s.products == 1 ? c : r / s.m * s.n + c;
    if (!rows[r] && !columns[column] && !undefined[r * 32 + c]) return;
    if ((mask >> lane & 1) != 0) regs.set(ref, lane, regs.bits(ref, lane) | bits);
  });
}

namespace {

// All elements of some rows, and all of some columns, have no value.
void undefineWarpgroup(const Program& p, const MatrixSite& s, const std::bitset<64>& rows,
                       const std::bitset<256>& columns, LaneMask mask, RegisterShadow& regs) {
  if (rows.none() && columns.none()) return;
  unsigned tiles = s.n / 8u;
  Fragment tile = s.d;
  tile.registers = static_cast<uint8_t>(s.d.registers / tiles);
  for (unsigned t = 0; t < tiles; ++t) {
    eachElement(p, tile, [&](unsigned r, unsigned c, Ref ref, unsigned lane, uint64_t bits) {
      if (!rows[r] && !columns[8 * t + c]) return;
      if ((mask >> lane & 1) != 0) regs.set(ref, lane, regs.bits(ref, lane) | bits);
    });
    tile.first += tile.registers;
  }
}

}  // namespace

void shadowWarpgroup(const Program& p, const MatrixSite& s, LaneMask mask, bool adds,
                     RegisterShadow& regs) {
  std::bitset<64> rows;
  if (anyUndefined(p, s.a, regs)) {
    eachElement(p, s.a, [&](unsigned r, unsigned, Ref ref, unsigned lane, uint64_t bits) {
      if ((regs.bits(ref, lane) & bits) != 0) rows.set(r);
    });
  }
  metadataRows(p, s, regs, rows);
  if (!adds) shadowDefine(p, s, mask, regs);
  undefineWarpgroup(p, s, rows, {}, mask, regs);
}

void shadowChunks(const Program& p, const MatrixSite& s, bool loadsA, uint32_t part,
                  const LaneBytes& memory, RegisterShadow& regs) {
  std::bitset<64> rows;
  std::bitset<256> columns;
  unsigned bits = containerBits(s.a.element, false);
  unsigned depthA = s.metadata != nullptr ? s.k / 2u : s.k;
  unsigned ofA = loadsA ? kWarpgroupRows * depthA * bits / 128 : 0;
  auto mark = [](const std::array<uint8_t, kRowBytes>& bytes, unsigned index, bool byMn,
                 unsigned depth, unsigned width, auto& lines) {
    for (unsigned b = 0; b < kRowBytes; ++b) {
      if (bytes[b] == 0) continue;
      lines.set(byMn ? index / depth * 8 + b / 2 : index / (depth * width / 128));
    }
  };
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    unsigned index = part * kLanes + lane;
    bool zero = true;
    for (uint8_t b : memory[lane]) zero = zero && b == 0;
    if (zero) continue;
    if (index < ofA) {
      mark(memory[lane], index, s.majorA, depthA, bits, rows);
    } else {
      mark(memory[lane], index - ofA, s.majorB, s.k, bits, columns);
    }
  }
  undefineWarpgroup(p, s, rows, columns, kAllLanes, regs);
}

void shadowLoad(const Program& p, const MatrixSite& s, uint32_t part, LaneMask from,
                const LaneBytes& memory, RegisterShadow& regs) {
  if (!s.parts.empty()) {
    const FragmentPart& at = s.parts[part];
    Ref ref = p.operandLists[s.d.first + at.reg];
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if ((from >> lane & 1) == 0) continue;
      uint64_t bits = 0, ones = at.bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * at.bytes)) - 1;
      std::memcpy(&bits, memory[lane].data(), at.bytes);
      unsigned shift = 8 * at.shift;
      regs.set(ref, lane, (regs.bits(ref, lane) & ~(ones << shift)) | bits << shift);
    }
    return;
  }
  for (unsigned r = 0; r < s.d.registers; ++r) {
    Ref ref = p.operandLists[s.d.first + r];
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      uint64_t bits = 0;
      for (unsigned b = 0; b < 4; ++b) {
        unsigned byte = s.bytes[(r * kLanes + lane) * 4 + b];
        unsigned row = byte / kRowBytes, column = byte % kRowBytes;
        if ((from >> row & 1) == 0) continue;
        uint64_t undefined = memory[row][column];
        if (s.elementBits < 8) {
          // Packed elements.
          unsigned at = column * s.elementBits;
          unsigned word = memory[row][at / 8];
          if (at / 8 + 1 < kRowBytes) word |= unsigned{memory[row][at / 8 + 1]} << 8;
          undefined = word >> (at % 8) & ((1u << s.elementBits) - 1);
        }
        bits |= undefined << (8 * b);
      }
      if (bits != 0) regs.set(ref, lane, regs.bits(ref, lane) | bits);
    }
  }
}

void shadowStore(const Program& p, const MatrixSite& s, uint32_t part, LaneBytes& memory,
                 RegisterShadow& regs) {
  if (!s.parts.empty()) {
    const FragmentPart& at = s.parts[part];
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      uint64_t bits = regs.bits(p.operandLists[s.a.first + at.reg], lane) >> (8 * at.shift);
      std::memcpy(memory[lane].data(), &bits, at.bytes);
    }
    return;
  }
  for (unsigned r = 0; r < s.a.registers; ++r) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      uint64_t bits = regs.bits(p.operandLists[s.a.first + r], lane);
      for (unsigned b = 0; b < 4; ++b) {
        unsigned byte = s.bytes[(r * kLanes + lane) * 4 + b];
        memory[byte / kRowBytes][byte % kRowBytes] = static_cast<uint8_t>(bits >> (8 * b));
      }
    }
  }
}

}  // namespace mtlc::sim
