// tensor.acc.begin, .mma, .epilogue, .commit.

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mtlc/codegen/ptx/match.h"
#include "mtlc/codegen/ptx/tensor_lowering.h"

namespace mtlc::ptx {

using ir::Layout;
using ir::Opcode;
using ir::Operation;
using ir::Slot;
using ir::Value;

namespace {

constexpr std::string_view kSpaces[] = {"", ".global", ".shared", ".local"};

// A tile that no product works on lies as those of mma.
bool plainLayout(uint32_t rows, uint32_t cols, AccLayout& layout) {
  if (cols % 8 != 0 || rows % 8 != 0) return false;
  layout = rows % 16 == 0 ? AccLayout::M16N8 : AccLayout::M8N8;
  return true;
}

}  // namespace

// ---- Choice ----

bool TensorLowering::prepare(ir::Function& function, DiagnosticEngine& diags) {
  regions_ = std::make_unique<analysis::TileRegions>(function);
  tiles_ = std::make_unique<analysis::Tiles>(function);
  info_.clear();
  byTile_.clear();
  parts_.clear();
  group_ = inGroup_ = Opnd();
  usesLanes_ = false;
  bool good = true;
  for (const analysis::TileRegion& region : regions_->regions()) {
    Region& info = info_.emplace_back();
    info.use = {region.operandsInWorkgroup, region.biased, region.narrow};
    const TensorFormRow* form = nullptr;
    const Operation* bad = nullptr;
    const Value* tile = nullptr;
    for (Operation* op : region.ops) {
      if (op->opcode() == Opcode::TensorAccMma) {
        const TensorFormRow* row = findTensorForm(f_.profile_, op->mmaDesc(), info.use);
        if (row == nullptr || !divides(*row, op->mmaDesc()) ||
            (form != nullptr && form->accLayout != row->accLayout)) {
          bad = op;
        }
        if (form == nullptr) form = row;
      }
      if (op->opcode() == Opcode::TensorAccBegin && op->mmaDesc().scope != ir::Scope::Subgroup) {
        bad = op;
      }
      if (op->opcode() == Opcode::TensorAccCommit && tiles_->home(op->operand(0)) == nullptr) {
        bad = op;
      }
      tile = op->result() != nullptr ? op->result() : op->operand(0);
    }
    const ir::Type type = tile->type();
    info.format = info.stored = type.tileFormat();
    if (const Operation* home = tiles_->home(tile)) info.stored = home->mmaDesc().result;
    if (form != nullptr) {
      info.layout = form->accLayout;
      info.wmma = form->api == TensorApi::Wmma;
      info.shape = form->shape();
      info.m = form->m;
      info.n = form->n;
      info.registers = form->accRegisters;
    } else if (bad == nullptr) {
      if (!plainLayout(type.tileRows(), type.tileCols(), info.layout)) bad = region.ops.front();
      info.m = info.layout == AccLayout::M16N8 ? 16 : 8;
      info.n = 8;
    }
    if (info.wmma && (region.biased || info.narrow())) bad = region.ops.front();
    if (bad != nullptr) {
      diags.report(DiagId::PtxNoLowering, bad->loc(), {bad->info().mnemonic});
      good = false;
      continue;
    }
    info.rows = type.tileRows() / info.m;
    info.cols = type.tileCols() / info.n;
    switch (info.format) {
      case ElementFormat::F64:
        info.cls = RegClass::F64;
        break;
      case ElementFormat::F32:
        info.cls = RegClass::F32;
        break;
      default:  // i32, two f16.
        info.cls = RegClass::B32;
        break;
    }
    if (!info.wmma) {
      const uint32_t elements = info.m * info.n / 32;
      info.registers = info.format == ElementFormat::F16 ? elements / 2 : elements;
      usesLanes_ = true;
    } else if (info.format == ElementFormat::F64) {
      info.registers /= 2;
    }
  }
  return good;
}

bool TensorLowering::storesMatrices(const Operation& commit) const {
  const Value* tile = commit.operand(0);
  const Region& region = regionOf(tile);
  const Value* to = matchAddress(tiles_->home(tile)->slot(Slot::D)).base;
  return !region.wmma && region.layout == AccLayout::M16N8 &&
         elementInfo(region.stored).bytes == 2 && to->type().space() == ir::Space::Workgroup &&
         f_.profile_.has(PtxFeature::Stmatrix);
}

void TensorLowering::computeLanes() {
  group_ = u32(MachineOp::Shr, {f_.laneId(), imm(2)});
  inGroup_ = b32(MachineOp::And, {f_.laneId(), imm(3)});
}

const TensorLowering::Region& TensorLowering::regionOf(const Value* tile) const {
  return info_[regions_->indexOf(tile)];
}

std::span<const Opnd> TensorLowering::parts(const Value* tile) const {
  const Parts& p = byTile_.at(tile);
  return {parts_.data() + p.first, p.count};
}

void TensorLowering::define(const Value* tile, std::span<const Opnd> parts) {
  byTile_[tile] = {static_cast<uint32_t>(parts_.size()), static_cast<uint32_t>(parts.size())};
  parts_.insert(parts_.end(), parts.begin(), parts.end());
}

std::span<const Opnd> TensorLowering::makeArg(const Value* tile) {
  const Region& region = regionOf(tile);
  std::vector<Opnd> made(size_t{region.rows} * region.cols * region.registers);
  for (Opnd& r : made) r = f_.newReg(region.cls);
  define(tile, made);
  return parts(tile);
}

// ---- Passes over the code ----

void TensorLowering::need(Operation& op) {
  auto needSlots = [&](const Operation& of, std::initializer_list<Slot> slots) {
    for (Slot s : slots) {
      const Value* v = of.slot(s);
      if (v == nullptr) continue;
      if (v->type().isPtr()) {
        f_.needAddress(v);
      } else {
        f_.need(v);
      }
    }
  };
  switch (op.opcode()) {
    case Opcode::TensorAccBegin:
      return needSlots(op, {Slot::C, Slot::Ldc});
    case Opcode::TensorAccCommit:
      f_.need(op.operand(0));
      return needSlots(*tiles_->home(op.operand(0)), {Slot::D, Slot::Ldd});
    default:
      return needSlots(
          op, {Slot::Tile, Slot::A, Slot::B, Slot::Metadata, Slot::ScaleA, Slot::ScaleB, Slot::Lda,
               Slot::Ldb, Slot::Ldsa, Slot::Ldsb, Slot::LdMeta, Slot::Bias, Slot::LdBias,
               Slot::Alpha, Slot::Beta, Slot::Lo, Slot::Hi});
  }
}

void TensorLowering::lower(Operation& op) {
  switch (op.opcode()) {
    case Opcode::TensorAccBegin:
      return lowerBegin(op);
    case Opcode::TensorAccMma:
      return lowerMma(op);
    case Opcode::TensorAccEpilogue:
      return lowerEpilogue(op);
    default:
      return lowerCommit(op);
  }
}

// ---- Addresses ----

TensorLowering::Matrix TensorLowering::matrix(const Value* pointer, uint32_t bits, uint32_t leading,
                                              const Value* leadingValue) {
  Matrix m;
  const ir::Type base = matchAddress(pointer).base->type();
  FunctionLowering::Address address = f_.address(pointer);
  m.space = address.space;
  m.narrow = f_.isNarrowPointer(base);
  m.base = address.base;
  m.offset = address.offset;
  m.bits = bits;
  if (leadingValue == nullptr) {
    m.strideBytes = uint64_t{leading} * bits / 8;
    m.leading = imm(leading);
    return m;
  }
  Opnd value = f_.useReg(leadingValue);
  const bool wide = leadingValue->type() == ir::kI64;
  m.leading =
      wide ? f_.emitCvt(Round::None, PtxType::U32, PtxType::U64, RegClass::B32, value) : value;
  // Addresses of 32 bits are computed modulo 2^32.
  const RegClass cls = m.narrow ? RegClass::B32 : RegClass::B64;
  const PtxType signedType = m.narrow ? PtxType::S32 : PtxType::S64;
  const PtxType bitsType = m.narrow ? PtxType::B32 : PtxType::B64;
  Opnd stride = m.narrow ? m.leading : value;
  if (!m.narrow && !wide) {
    stride = f_.emitCvt(Round::None, PtxType::U64, PtxType::U32, RegClass::B64, value);
  }
  if (bits == 6) stride = f_.emit(MachineOp::MulLo, signedType, cls, {stride, imm(3)});
  const uint32_t unit = bits == 6 ? 2 : bits;  // 6 bits: 3 · 2 bits.
  if (unit > 8) {
    stride = f_.emit(MachineOp::Shl, bitsType, cls, {stride, imm(std::countr_zero(unit / 8))});
  } else if (unit < 8) {
    const PtxType unsignedType = m.narrow ? PtxType::U32 : PtxType::U64;
    stride = f_.emit(MachineOp::Shr, unsignedType, cls, {stride, imm(std::countr_zero(8 / unit))});
  }
  m.stride = stride;
  return m;
}

Opnd TensorLowering::baseRegister(const Matrix& m) {
  if (!m.base.isSymbol()) return m.base;
  return m.narrow ? f_.emit(MachineOp::Mov, PtxType::U32, RegClass::B32, {m.base})
                  : f_.emit(MachineOp::Mov, PtxType::U64, RegClass::B64, {m.base});
}

TensorLowering::Pointer TensorLowering::displaced(const Matrix& m, Opnd base, int64_t offset) {
  // What the instruction can add, with room for the vector.
  constexpr int64_t kLimit = std::numeric_limits<int32_t>::max() - 64;
  if (offset >= -kLimit && offset <= kLimit) return {base, static_cast<int32_t>(offset)};
  const uint64_t bits = static_cast<uint64_t>(offset);
  if (base.isSymbol()) base = baseRegister(m);
  return {m.narrow ? f_.emit(MachineOp::Add, PtxType::S32, RegClass::B32, {base, imm(bits)})
                   : f_.emit(MachineOp::Add, PtxType::S64, RegClass::B64, {base, imm(bits)}),
          0};
}

TensorLowering::LaneView TensorLowering::view(const Matrix& m, Opnd line, Opnd contiguous,
                                              uint32_t contiguousBytes) {
  LaneView v;
  v.matrix = &m;
  Opnd pointer = baseRegister(m);
  constexpr uint64_t kMax32 = std::numeric_limits<uint32_t>::max();
  auto add = [&](Opnd count, uint64_t bytes) {
    if (m.narrow) {
      pointer = s32(MachineOp::MadLo, {count, imm(bytes & kMax32), pointer});
    } else if (bytes <= kMax32) {
      pointer =
          f_.emit(MachineOp::MadWide, PtxType::U32, RegClass::B64, {count, imm(bytes), pointer});
    } else {
      Opnd wide = f_.emitCvt(Round::None, PtxType::U64, PtxType::U32, RegClass::B64, count);
      pointer = f_.emit(MachineOp::MadLo, PtxType::S64, RegClass::B64, {wide, imm(bytes), pointer});
    }
  };
  if (!line.isNone()) {
    if (m.stride.isNone()) {
      add(line, m.strideBytes);
    } else if (m.narrow) {
      pointer = s32(MachineOp::MadLo, {line, m.stride, pointer});
    } else {
      Opnd wide = f_.emitCvt(Round::None, PtxType::U64, PtxType::U32, RegClass::B64, line);
      pointer = f_.emit(MachineOp::MadLo, PtxType::S64, RegClass::B64, {wide, m.stride, pointer});
    }
  }
  if (!contiguous.isNone()) add(contiguous, contiguousBytes);
  v.pointer = pointer;
  return v;
}

TensorLowering::Pointer TensorLowering::at(LaneView& v, int64_t line, int64_t contiguousBytes) {
  const Matrix& m = *v.matrix;
  int64_t offset = m.offset + contiguousBytes;
  if (m.stride.isNone()) {
    offset += line * static_cast<int64_t>(m.strideBytes);
    return displaced(m, v.pointer, offset);
  }
  if (line == 0) return displaced(m, v.pointer, offset);
  auto known = std::find_if(v.lines.begin(), v.lines.end(),
                            [&](const auto& entry) { return entry.first == line; });
  if (known == v.lines.end()) {
    const uint64_t times = static_cast<uint64_t>(line);
    Opnd pointer = m.narrow ? s32(MachineOp::MadLo, {m.stride, imm(times), v.pointer})
                            : f_.emit(MachineOp::MadLo, PtxType::S64, RegClass::B64,
                                      {m.stride, imm(times), v.pointer});
    known = v.lines.insert(v.lines.end(), {line, pointer});
  }
  return displaced(m, known->second, offset);
}

TensorLowering::Pointer TensorLowering::lineAt(const Matrix& m, int64_t line,
                                               int64_t contiguousBytes) {
  const int64_t offset = m.offset + contiguousBytes;
  if (m.stride.isNone()) {
    return displaced(m, m.base, offset + line * static_cast<int64_t>(m.strideBytes));
  }
  if (line == 0) return displaced(m, m.base, offset);
  const uint64_t times = static_cast<uint64_t>(line);
  Opnd base = baseRegister(m);
  return displaced(m,
                   m.narrow ? s32(MachineOp::MadLo, {m.stride, imm(times), base})
                            : f_.emit(MachineOp::MadLo, PtxType::S64, RegClass::B64,
                                      {m.stride, imm(times), base}),
                   offset);
}

Opnd TensorLowering::loadScalar(const Matrix& m, Pointer p, PtxType type, RegClass cls) {
  Opnd dst = f_.newReg(cls);
  MachineInst& inst = f_.append(MachineOp::Ld, type, dst, {p.base});
  inst.mod = static_cast<uint8_t>(m.space);
  inst.offset = p.offset;
  return dst;
}

void TensorLowering::storeScalar(const Matrix& m, Pointer p, PtxType type, Opnd value) {
  MachineInst& inst = f_.append(MachineOp::St, type, Opnd(), {p.base, value});
  inst.mod = static_cast<uint8_t>(m.space);
  inst.offset = p.offset;
}

std::vector<Opnd> TensorLowering::loadVector(const Matrix& m, Pointer p, RegClass cls,
                                             uint32_t count) {
  std::vector<Opnd> values(count);
  for (Opnd& v : values) v = f_.newReg(cls);
  std::string spelling = "ld";
  spelling += kSpaces[static_cast<int>(m.space)];
  spelling += ".v" + std::to_string(count);
  spelling += typeSuffix(moveType(cls));
  f_.appendGrouped(std::move(spelling), {FunctionLowering::result(FunctionLowering::vector(values)),
                                         FunctionLowering::addressed(p.base, p.offset)});
  return values;
}

void TensorLowering::storeVector(const Matrix& m, Pointer p, RegClass cls,
                                 std::span<const Opnd> values) {
  std::string spelling = "st";
  spelling += kSpaces[static_cast<int>(m.space)];
  spelling += ".v" + std::to_string(values.size());
  spelling += typeSuffix(moveType(cls));
  f_.appendGrouped(std::move(spelling), {FunctionLowering::addressed(p.base, p.offset),
                                         FunctionLowering::vector(values)});
}

// ---- Accumulators in memory ----

std::string TensorLowering::wmmaAccess(std::string_view what, const Region& region, const Matrix& m,
                                       Layout layout) {
  std::string spelling(what);
  spelling += layout == Layout::Row ? "row." : "col.";
  spelling += region.shape;
  spelling += kSpaces[static_cast<int>(m.space)];
  spelling += '.';
  spelling += ptxElementName(region.format);
  return spelling;
}

void TensorLowering::loadAccumulators(const Region& region, const Matrix& c, Layout layout,
                                      std::vector<Opnd>& parts) {
  const bool rowMajor = layout == Layout::Row;
  const int64_t size = c.bits / 8;
  LaneView v;
  if (!region.wmma) {
    if (rowMajor) {
      v = view(c, group_, inGroup_, static_cast<uint32_t>(2 * size));
    } else {
      v = view(c, b32(MachineOp::Shl, {inGroup_, imm(1)}), group_, static_cast<uint32_t>(size));
    }
  }
  for (uint32_t i = 0; i < region.rows; ++i) {
    for (uint32_t j = 0; j < region.cols; ++j) {
      const int64_t row = int64_t{i} * region.m, col = int64_t{j} * region.n;
      if (region.wmma) {
        Pointer p = lineAt(c, rowMajor ? row : col, (rowMajor ? col : row) * size);
        std::vector<Opnd> made(region.registers);
        for (Opnd& r : made) r = f_.newReg(region.cls);
        f_.appendGrouped(
            wmmaAccess("wmma.load.c.sync.aligned.", region, c, layout),
            {FunctionLowering::result(FunctionLowering::vector(made)),
             FunctionLowering::addressed(p.base, p.offset), FunctionLowering::plain(c.leading)},
            true);
        parts.insert(parts.end(), made.begin(), made.end());
        continue;
      }
      for (uint32_t e = 0; e < region.m * region.n / 32; e += 2) {
        const int64_t r = row + placeInAcc(e).row.constant;
        const bool half = region.format == ElementFormat::F16;
        if (rowMajor) {
          Pointer p = at(v, r, col * size);
          if (half) {
            parts.push_back(loadScalar(c, p, PtxType::B32, RegClass::B32));
          } else {
            std::vector<Opnd> pair = loadVector(c, p, region.cls, 2);
            parts.insert(parts.end(), pair.begin(), pair.end());
          }
          continue;
        }
        Opnd pair[2];
        for (uint32_t k = 0; k < 2; ++k) {
          const RegClass cls = half ? RegClass::B16 : region.cls;
          pair[k] = loadScalar(c, at(v, col + k, r * size), moveType(cls), cls);
        }
        if (half) {
          parts.push_back(pack16(pair[0], pair[1]));
        } else {
          parts.insert(parts.end(), pair, pair + 2);
        }
      }
    }
  }
}

void TensorLowering::storeAccumulators(const Region& region, const Matrix& d, Layout layout,
                                       std::span<const Opnd> parts) {
  const bool rowMajor = layout == Layout::Row;
  const int64_t size = d.bits / 8;
  LaneView v;
  if (!region.wmma) {
    if (rowMajor) {
      v = view(d, group_, inGroup_, static_cast<uint32_t>(2 * size));
    } else {
      v = view(d, b32(MachineOp::Shl, {inGroup_, imm(1)}), group_, static_cast<uint32_t>(size));
    }
  }
  size_t next = 0;
  for (uint32_t i = 0; i < region.rows; ++i) {
    for (uint32_t j = 0; j < region.cols; ++j) {
      const int64_t row = int64_t{i} * region.m, col = int64_t{j} * region.n;
      if (region.wmma) {
        Pointer p = lineAt(d, rowMajor ? row : col, (rowMajor ? col : row) * size);
        f_.appendGrouped(wmmaAccess("wmma.store.d.sync.aligned.", region, d, layout),
                         {FunctionLowering::addressed(p.base, p.offset),
                          FunctionLowering::vector(parts.subspan(next, region.registers)),
                          FunctionLowering::plain(d.leading)},
                         true);
        next += region.registers;
        continue;
      }
      for (uint32_t e = 0; e < region.m * region.n / 32; e += 2) {
        const int64_t r = row + placeInAcc(e).row.constant;
        const bool half = region.format == ElementFormat::F16;
        if (rowMajor) {
          Pointer p = at(v, r, col * size);
          if (half) {
            storeScalar(d, p, PtxType::B32, parts[next]);
          } else {
            storeVector(d, p, region.cls, parts.subspan(next, 2));
          }
        } else {
          const std::array<Opnd, 2> pair =
              half ? unpack16(parts[next]) : std::array{parts[next], parts[next + 1]};
          const PtxType type = moveType(half ? RegClass::B16 : region.cls);
          for (uint32_t k = 0; k < 2; ++k) {
            storeScalar(d, at(v, col + k, r * size), type, pair[k]);
          }
        }
        next += half ? 1 : 2;
      }
    }
  }
}

// A register holds a matrix of 8 by 8, two of them, one below the other, a native accumulator. Up
// to four are stored at once: lane l gives the address of line l % 8 of matrix l / 8 (PTX ISA,
// "stmatrix"); the lines are 16 bytes at multiples of that, as docs/ir.md §11 asks for. Of the last
// accumulator alone, lanes 16 to 31 give addresses that nobody looks at.
void TensorLowering::storeMatrices(const Region& region, const Matrix& d, Layout layout,
                                   std::span<const Opnd> parts) {
  constexpr uint32_t kSide = 8, kBytes = 2;
  const bool rowMajor = layout == Layout::Row;
  const Opnd lane = f_.laneId();
  Opnd line, piece;
  if (rowMajor) {
    line = b32(MachineOp::And, {lane, imm(15)});
    piece = u32(MachineOp::Shr, {lane, imm(4)});
  } else {
    Opnd right = b32(MachineOp::And, {u32(MachineOp::Shr, {lane, imm(1)}), imm(kSide)});
    line = b32(MachineOp::Or, {b32(MachineOp::And, {lane, imm(7)}), right});
    piece = b32(MachineOp::And, {u32(MachineOp::Shr, {lane, imm(3)}), imm(1)});
  }
  LaneView v = view(d, line, piece, kSide * kBytes);
  for (uint32_t i = 0; i < region.rows; ++i) {
    for (uint32_t j = 0; j < region.cols; j += 2) {
      const uint32_t count = std::min(region.cols - j, 2u) * region.registers;
      const int64_t row = int64_t{i} * region.m, col = int64_t{j} * region.n;
      Pointer p = rowMajor ? at(v, row, col * kBytes) : at(v, col, row * kBytes);
      std::string spelling = "stmatrix.sync.aligned.m8n8.x" + std::to_string(count);
      if (!rowMajor) spelling += ".trans";
      const size_t first = (size_t{i} * region.cols + j) * region.registers;
      f_.appendGrouped(spelling + ".shared.b16",
                       {FunctionLowering::addressed(p.base, p.offset),
                        FunctionLowering::vector(parts.subspan(first, count))},
                       true);
    }
  }
}

TensorLowering::Region TensorLowering::packed(const Region& region) {
  Region out = region;
  out.format = ElementFormat::F16;  // Or any other of 16 bits.
  out.registers /= 2;
  out.cls = RegClass::B32;
  return out;
}

void TensorLowering::lowerBegin(Operation& op) {
  const ir::MmaDesc& d = op.mmaDesc();
  const Region& region = regionOf(op.result());
  Matrix c = matrix(op.slot(Slot::C), elementInfo(d.result).bytes * 8u, d.ldc, op.slot(Slot::Ldc));
  std::vector<Opnd> parts;
  if (!region.narrow()) {
    loadAccumulators(region, c, d.cLayout, parts);
    return define(op.result(), parts);
  }
  std::vector<Opnd> pairs;
  loadAccumulators(packed(region), c, d.cLayout, pairs);
  const ir::Type type = region.stored == ElementFormat::BF16 ? ir::kBF16 : ir::kF16;
  for (Opnd pair : pairs) {
    for (Opnd half : unpack16(pair)) parts.push_back(f_.halfRegToF32(type, half));
  }
  define(op.result(), parts);
}

void TensorLowering::lowerCommit(Operation& op) {
  const Value* tile = op.operand(0);
  const Operation& home = *tiles_->home(tile);
  const ir::MmaDesc& d = home.mmaDesc();
  Matrix to =
      matrix(home.slot(Slot::D), elementInfo(d.result).bytes * 8u, d.ldd, home.slot(Slot::Ldd));
  std::span<const Opnd> all = parts(tile);
  const bool narrow = regionOf(tile).narrow();
  const Region region = narrow ? packed(regionOf(tile)) : regionOf(tile);
  std::vector<Opnd> pairs;
  if (narrow) {
    for (size_t i = 0; i < all.size(); i += 2) {
      pairs.push_back(roundPair(region.stored, all[i], all[i + 1]));
    }
    all = pairs;
  }
  if (storesMatrices(op)) {
    storeMatrices(region, to, d.dLayout, all);
  } else {
    storeAccumulators(region, to, d.dLayout, all);
  }
}

// ---- Products ----

void TensorLowering::lowerMma(Operation& op) {
  const Value* tile = op.slot(Slot::Tile);
  const Region& region = regionOf(tile);
  const ir::MmaDesc& d = op.mmaDesc();
  const TensorFormRow& row = *findTensorForm(f_.profile_, d, region.use);
  const uint32_t steps = d.k / row.k;
  // A saturating sum is exact until it meets C; single bits have no saturating form at all.
  const bool saturates = d.overflow == ir::Overflow::Saturate;
  const bool stepwise = saturates && (steps > 1 || d.a == ElementFormat::B1);
  const std::string spelling = spell(row, d, stepwise);

  Operand a, b;
  a.isA = true;
  setUpOperand(a, op, row);
  setUpOperand(b, op, row);
  std::vector<Opnd> sums(parts(tile).begin(), parts(tile).end());
  std::vector<Opnd> before;
  if (stepwise) {
    before = sums;
    Opnd zero = b32(MachineOp::Mov, {imm(0)});
    std::fill(sums.begin(), sums.end(), zero);
  }

  struct Loaded {
    std::vector<Opnd> registers;
    Opnd extra;  // Scales or metadata.
  };
  auto load = [&](Operand& x, uint32_t major, uint32_t step) {
    Loaded l;
    l.registers = loadFragment(x, row, major, step);
    if (row.api == TensorApi::Scaled) l.extra = loadScale(x, major, step);
    if (row.api == TensorApi::Sparse && x.isA) l.extra = loadMasks(x, major, step);
    return l;
  };
  auto multiply = [&](const Loaded& x, const Loaded& y, uint32_t i, uint32_t j) {
    Opnd* acc = sums.data() + (size_t{i} * region.cols + j) * region.registers;
    const std::vector<Opnd> sources(acc, acc + region.registers);
    for (uint32_t r = 0; r < region.registers; ++r) acc[r] = f_.newReg(region.cls);
    using F = FunctionLowering;
    const std::span<const Opnd> results(acc, region.registers);
    const Opnd zero = imm(0);
    // f64 m8n8k4 has one register of A and B, still in braces.
    if (row.api == TensorApi::Scaled) {
      const Opnd ids[] = {zero, zero};
      f_.appendGrouped(spelling,
                       {F::result(F::vector(results)), F::vector(x.registers),
                        F::vector(y.registers), F::vector(sources), F::plain(x.extra),
                        F::vector(ids), F::plain(y.extra), F::vector(ids)},
                       true);
    } else if (row.api == TensorApi::Sparse) {
      f_.appendGrouped(
          spelling,
          {F::result(F::vector(results)), F::vector(x.registers), F::vector(y.registers),
           F::vector(sources), F::plain(x.extra), F::plain(zero)},
          true);
    } else {
      f_.appendGrouped(spelling,
                       {F::result(F::vector(results)), F::vector(x.registers),
                        F::vector(y.registers), F::vector(sources)},
                       true);
    }
  };
  // The operand with fewer native tiles is loaded once, the other one again for each of them.
  for (uint32_t step = 0; step < steps; ++step) {
    if (region.rows <= region.cols) {
      for (uint32_t i = 0; i < region.rows; ++i) {
        Loaded x = load(a, i, step);
        for (uint32_t j = 0; j < region.cols; ++j) multiply(x, load(b, j, step), i, j);
      }
    } else {
      for (uint32_t j = 0; j < region.cols; ++j) {
        Loaded y = load(b, j, step);
        for (uint32_t i = 0; i < region.rows; ++i) multiply(load(a, i, step), y, i, j);
      }
    }
  }
  if (stepwise) {
    for (size_t i = 0; i < sums.size(); ++i) {
      sums[i] = s32(MachineOp::AddSat, {before[i], sums[i]});
    }
  }
  define(op.result(), sums);
}

// ---- Epilogues ----

void TensorLowering::lowerEpilogue(Operation& op) {
  const Value* tile = op.slot(Slot::Tile);
  const Region& region = regionOf(tile);
  const ir::EpilogueDesc& d = op.epilogueDesc();
  const bool half = region.format == ElementFormat::F16;
  const bool wide = region.format == ElementFormat::F64;
  const RegClass cls = wide ? RegClass::F64 : RegClass::F32;
  const PtxType type = wide ? PtxType::F64 : PtxType::F32;
  auto factor = [&](Slot slot) {
    const Value* v = op.slot(slot);
    return v == nullptr ? Opnd() : f_.useReg(v);
  };
  const Opnd alpha = factor(Slot::Alpha), beta = factor(Slot::Beta);
  const Opnd lo = factor(Slot::Lo), hi = factor(Slot::Hi);

  Matrix bias;
  LaneView biasView;
  const uint32_t size = elementInfo(d.element).bytes;
  const bool rowMajor = d.biasLayout == Layout::Row;
  if (d.bias != ir::BiasMode::None) {
    const bool isMatrix = d.bias == ir::BiasMode::Matrix;
    bias = matrix(op.slot(Slot::Bias), size * 8, isMatrix ? d.ldbias : 1, op.slot(Slot::LdBias));
    Opnd column = b32(MachineOp::Shl, {inGroup_, imm(1)});
    if (d.bias == ir::BiasMode::Row) {
      biasView = view(bias, Opnd(), group_, size);
    } else if (d.bias == ir::BiasMode::Column) {
      biasView = view(bias, Opnd(), column, size);
    } else {
      biasView = rowMajor ? view(bias, group_, column, size) : view(bias, column, group_, size);
    }
  }
  auto loadBias = [&](uint32_t row, uint32_t col) {
    Pointer p = d.bias == ir::BiasMode::Row      ? at(biasView, 0, int64_t{row} * size)
                : d.bias == ir::BiasMode::Column ? at(biasView, 0, int64_t{col} * size)
                : rowMajor                       ? at(biasView, row, int64_t{col} * size)
                                                 : at(biasView, col, int64_t{row} * size);
    Opnd value = half ? f_.halfRegToF32(ir::kF16, loadScalar(bias, p, PtxType::B16, RegClass::B16))
                      : loadScalar(bias, p, type, cls);
    return beta.isNone() ? value : f_.emit(MachineOp::MulRn, type, cls, {beta, value});
  };
  // Biases of a row or a column serve many elements.
  std::vector<std::pair<uint32_t, Opnd>> loaded;
  auto biasAt = [&](uint32_t row, uint32_t col) {
    if (d.bias == ir::BiasMode::Matrix) return loadBias(row, col);
    const uint32_t key = d.bias == ir::BiasMode::Row ? row : col;
    for (const auto& [at, value] : loaded) {
      if (at == key) return value;
    }
    loaded.emplace_back(key, loadBias(row, col));
    return loaded.back().second;
  };
  auto select = [&](CmpOp cmp, Opnd a, Opnd b, Opnd ifTrue, Opnd ifFalse) {
    Opnd p = f_.emitSetp(cmp, type, a, b);
    return f_.emit(MachineOp::Selp, wide ? PtxType::F64 : PtxType::F32, cls, {ifTrue, ifFalse, p});
  };
  auto apply = [&](Opnd x, uint32_t row, uint32_t col) {
    if (!alpha.isNone()) x = f_.emit(MachineOp::MulRn, type, cls, {alpha, x});
    if (d.bias != ir::BiasMode::None) {
      x = f_.emit(MachineOp::AddRn, type, cls, {x, biasAt(row, col)});
    }
    switch (d.activation) {
      case ir::Activation::Identity:
        break;
      case ir::Activation::Relu:
        x = select(CmpOp::Lt, x, imm(0), imm(0), x);
        break;
      case ir::Activation::Clamp:
        x = select(CmpOp::Lt, x, lo, lo, x);
        x = select(CmpOp::Gt, x, hi, hi, x);
        break;
    }
    return x;
  };

  std::vector<Opnd> results;
  const std::span<const Opnd> sources = parts(tile);
  size_t next = 0;
  for (uint32_t i = 0; i < region.rows; ++i) {
    for (uint32_t j = 0; j < region.cols; ++j) {
      for (uint32_t r = 0; r < region.registers; ++r) {
        const Opnd x = sources[next++];
        // Where the elements of a wmma accumulator lie nobody asks.
        auto place = [&](uint32_t element) {
          const ElementPlace p = placeInAcc(element);
          return std::pair(i * region.m + p.row.constant, j * region.n + p.col.constant);
        };
        if (!half) {
          const auto [row, col] = place(r);
          results.push_back(apply(x, row, col));
          continue;
        }
        std::array<Opnd, 2> pair = unpack16(x);
        for (uint32_t k = 0; k < 2; ++k) {
          const auto [row, col] = place(2 * r + k);
          Opnd value = apply(f_.halfRegToF32(ir::kF16, pair[k]), row, col);
          pair[k] = f_.f32ToHalf(ir::kF16, value, false);
        }
        results.push_back(pack16(pair[0], pair[1]));
      }
    }
  }
  define(op.result(), results);
}

}  // namespace mtlc::ptx
