// Loads of A and B: with wmma.load, ldmatrix, words, or element by element, in that order of
// preference; scales and metadata.

#include <bit>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mtlc/codegen/ptx/match.h"
#include "mtlc/codegen/ptx/tensor_lowering.h"

namespace mtlc::ptx {

using ir::Layout;
using ir::Operation;
using ir::Packing;
using ir::ScaleMode;
using ir::Slot;
using ir::Value;

namespace {

constexpr uint32_t kWordBytes = 4;
constexpr uint32_t kMatrixRowBytes = 16;  // Of ldmatrix.

uint32_t storageBits(ElementFormat format, Packing packing) {
  const ElementInfo& info = elementInfo(format);
  return packing == Packing::Dense ? info.bits : info.bytes * 8u;
}

// The two least significant bits of a code of ordered metadata are the place of the first of two
// values in a group of four, the others that of the second (PTX ISA, "Sparse matrix storage"). One
// nibble for each occupancy mask; one that does not have two bits is taken for 0b0011.
constexpr uint64_t kMaskCodes = [] {
  uint64_t table = 0;
  for (uint64_t mask = 0; mask < 16; ++mask) {
    uint64_t first = 0, second = 1;
    if (std::popcount(mask) == 2) {
      first = static_cast<uint64_t>(std::countr_zero(mask));
      second = static_cast<uint64_t>(std::bit_width(mask)) - 1;
    }
    table |= (first | second << 2) << (4 * mask);
  }
  return table;
}();

}  // namespace

Opnd TensorLowering::pack16(Opnd low, Opnd high) {
  Opnd word = f_.newReg(RegClass::B32);
  const Opnd halves[] = {low, high};
  f_.appendGrouped("mov.b32", {FunctionLowering::result(FunctionLowering::plain(word)),
                               FunctionLowering::vector(halves)});
  return word;
}

std::array<Opnd, 2> TensorLowering::unpack16(Opnd word) {
  const std::array<Opnd, 2> halves{f_.newReg(RegClass::B16), f_.newReg(RegClass::B16)};
  f_.appendGrouped("mov.b32", {FunctionLowering::result(FunctionLowering::vector(halves)),
                               FunctionLowering::plain(word)});
  return halves;
}

Opnd TensorLowering::roundPair(ElementFormat format, Opnd low, Opnd high) {
  const bool bf16 = format == ElementFormat::BF16;
  if (!f_.profile_.has(PtxFeature::Bf16FromF32)) {  // Of pairs of f16 as well.
    const ir::Type type = bf16 ? ir::kBF16 : ir::kF16;
    return pack16(f_.f32ToHalf(type, low, false), f_.f32ToHalf(type, high, false));
  }
  Opnd word = f_.newReg(RegClass::B32);
  f_.appendGrouped(bf16 ? "cvt.rn.bf16x2.f32" : "cvt.rn.f16x2.f32",
                   {FunctionLowering::result(FunctionLowering::plain(word)),
                    FunctionLowering::plain(high), FunctionLowering::plain(low)})
      .type = PtxType::F32;
  return word;
}

Opnd TensorLowering::packBytes(const Opnd* bytes) {
  Opnd low = b32(MachineOp::Prmt, {bytes[0], bytes[1], imm(0x0040)});
  Opnd high = b32(MachineOp::Prmt, {bytes[2], bytes[3], imm(0x0040)});
  return b32(MachineOp::Prmt, {low, high, imm(0x5410)});
}

// Eight values in the low halves of the bytes of two words, as eight halves of bytes.
Opnd TensorLowering::packNibbles(Opnd low, Opnd high) {
  auto pairs = [&](Opnd word) {
    Opnd values = b32(MachineOp::And, {word, imm(0x0F0F0F0F)});
    Opnd moved = f_.emit(MachineOp::Shr, PtxType::U32, RegClass::B32, {values, imm(4)});
    return b32(MachineOp::Or, {values, moved});
  };
  return b32(MachineOp::Prmt, {pairs(low), pairs(high), imm(0x6420)});
}

// A narrow value sits in the low bits of its byte in memory; in registers FP4 takes bits 2 to 5
// (PTX ISA, ".kind::f8f6f4"), and what is around a value has to be zero.
Opnd TensorLowering::adjusted(const Operand& x, Opnd word) {
  const ElementFormat format = x.format;
  if (x.shape->bits != 8) return word;
  if (format == ElementFormat::E2M1) {
    word = b32(MachineOp::Shl, {word, imm(2)});
    return b32(MachineOp::And, {word, imm(0x3C3C3C3C)});
  }
  if (elementInfo(format).isFloat() && elementInfo(format).bits == 6) {
    return b32(MachineOp::And, {word, imm(0x3F3F3F3F)});
  }
  return word;
}

// The order of terms is free as long as A and B agree on it: where both lie along K, a lane takes
// the registers of both steps of a native product from neighbouring words. Scales of blocks shorter
// than the native K would not agree.
bool TensorLowering::loadsPairs(const Operation& op, const TensorFormRow& row) const {
  if (row.api != TensorApi::Mma && row.inputs != TensorInputs::MxNarrow) return false;
  const ir::MmaDesc& d = op.mmaDesc();
  const FragmentShape& shape = fragmentShape(row.fragments);
  if (shape.bRegisters() != 2) return false;
  auto fits = [&](Slot slot, ElementFormat format, Packing packing, bool alongK) {
    const Value* base = matchAddress(op.slot(slot)).base;
    return alongK && storageBits(format, packing) == shape.bits &&
           base->type().space() != ir::Space::Workgroup;
  };
  return fits(Slot::A, d.a, d.aPacking, logicalLayout(d.aLayout, d.transposeA) == Layout::Row) &&
         fits(Slot::B, d.b, d.bPacking, logicalLayout(d.bLayout, d.transposeB) == Layout::Col);
}

void TensorLowering::setUpOperand(Operand& x, const Operation& op, const TensorFormRow& row) {
  const ir::MmaDesc& d = op.mmaDesc();
  x.format = x.isA ? d.a : d.b;
  const Packing packing = x.isA ? d.aPacking : d.bPacking;
  x.layout =
      x.isA ? logicalLayout(d.aLayout, d.transposeA) : logicalLayout(d.bLayout, d.transposeB);
  x.matrix = matrix(op.slot(x.isA ? Slot::A : Slot::B), storageBits(x.format, packing),
                    x.isA ? d.lda : d.ldb, op.slot(x.isA ? Slot::Lda : Slot::Ldb));
  x.alongK = (x.layout == Layout::Row) == x.isA;
  x.tileMajor = x.isA ? row.m : row.n;
  if (row.api == TensorApi::Wmma) {
    x.registers = x.isA ? row.aRegisters : row.bRegisters;
    x.tileK = row.k;
    return;
  }
  x.shape = &fragmentShape(row.fragments);
  x.registers = x.isA ? x.shape->aRegisters() : x.shape->bRegisters();
  x.tileK = x.isA ? x.shape->ka : x.shape->kb;
  const uint32_t p = x.shape->perRegister();
  const bool words = x.alongK && x.matrix.bits == x.shape->bits;
  x.ldmatrix = x.matrix.space == StateSpace::Shared && x.shape->bits <= 32 &&
               f_.profile_.has(PtxFeature::MmaM8) &&
               (words || (!x.alongK && x.matrix.bits == 16 && x.shape->bits == 16));
  x.paired = loadsPairs(op, row);
  if (x.ldmatrix) {
    setUpLdmatrix(x);
  } else if (x.paired) {
    x.view = view(x.matrix, group_, inGroup_, 2 * p * x.matrix.bits / 8);
  } else if (x.alongK && x.matrix.bits == 6) {
    // Four values are the three bytes from 3 t on, in one word or two neighbours.
    Opnd byte = s32(MachineOp::MulLo, {inGroup_, imm(3)});
    Opnd first = u32(MachineOp::Shr, {byte, imm(2)});
    Opnd second = s32(MachineOp::Add, {first, imm(1)});
    second = u32(MachineOp::Min, {second, imm(2)});
    x.shift = b32(MachineOp::Shl, {byte, imm(3)});
    x.view = view(x.matrix, group_, first, kWordBytes);
    x.upper = view(x.matrix, group_, second, kWordBytes);
  } else if (x.alongK) {
    x.view = view(x.matrix, group_, inGroup_, p * x.matrix.bits / 8);
  } else {
    Opnd line = p == 1 ? inGroup_ : b32(MachineOp::Shl, {inGroup_, imm(std::countr_zero(p))});
    x.view = view(x.matrix, line, group_, x.matrix.bits / 8);
  }
  if (row.api == TensorApi::Scaled) setUpScale(x, op, row);
  if (row.api == TensorApi::Sparse && x.isA) setUpMasks(x, op, row);
}

// Lane l gives the address of row l % 8 of matrix l / 8; the matrices are the registers of the
// fragment in their order (PTX ISA, "ldmatrix").
void TensorLowering::setUpLdmatrix(Operand& x) {
  Opnd lane = f_.laneId();
  auto bits = [&](uint32_t from, uint32_t mask) {
    Opnd value = from == 0 ? lane : u32(MachineOp::Shr, {lane, imm(from)});
    return b32(MachineOp::And, {value, imm(mask)});
  };
  Opnd line, piece;
  if (x.isA && x.alongK) {
    // Registers go down the rows first, then along K.
    line = bits(0, x.shape->m == 16 ? 15 : 7);
    if (x.registers == 4) piece = bits(4, 1);
  } else if (x.isA) {
    line = bits(0, 7);
    piece = bits(3, 1);
    if (x.registers == 4) {
      Opnd upper = b32(MachineOp::And, {u32(MachineOp::Shr, {lane, imm(1)}), imm(8)});
      line = b32(MachineOp::Or, {line, upper});
    }
  } else if (x.alongK) {
    line = bits(0, 7);
    if (x.registers > 1) piece = bits(3, x.registers - 1);
  } else {
    line = bits(0, 8 * x.registers - 1);
  }
  x.view = view(x.matrix, line, piece, kMatrixRowBytes);
}

std::vector<Opnd> TensorLowering::loadFragment(Operand& x, const TensorFormRow& row, uint32_t major,
                                               uint32_t step) {
  std::vector<Opnd> registers = row.api == TensorApi::Wmma ? loadWmma(x, row, major, step)
                                : x.ldmatrix               ? loadLdmatrix(x, major, step)
                                : x.paired                 ? loadPairs(x, major, step)
                                : x.alongK                 ? loadWords(x, major, step)
                                                           : loadElements(x, major, step);
  if (x.format == ElementFormat::TF32) {
    for (Opnd& r : registers) {
      Opnd rounded = f_.newReg(RegClass::B32);
      f_.appendGrouped(
          "cvt.rna.tf32.f32",
          {FunctionLowering::result(FunctionLowering::plain(rounded)), FunctionLowering::plain(r)});
      r = rounded;
    }
  }
  return registers;
}

std::vector<Opnd> TensorLowering::loadWmma(Operand& x, const TensorFormRow& row, uint32_t major,
                                           uint32_t step) {
  constexpr std::string_view kSpaces[] = {"", ".global", ".shared", ".local"};
  const bool rowMajor = x.layout == Layout::Row;
  std::string spelling = x.isA ? "wmma.load.a.sync.aligned." : "wmma.load.b.sync.aligned.";
  spelling += rowMajor ? "row." : "col.";
  spelling += row.shape();
  spelling += kSpaces[static_cast<int>(x.matrix.space)];
  spelling += '.';
  spelling += ptxElementName(x.format);
  const int64_t majorAt = int64_t{major} * x.tileMajor, kAt = int64_t{step} * x.tileK;
  const int64_t line = x.alongK ? majorAt : kAt, element = x.alongK ? kAt : majorAt;
  Pointer p = lineAt(x.matrix, line, element * x.matrix.bits / 8);
  const bool wide = x.format == ElementFormat::F64;
  std::vector<Opnd> registers(wide ? x.registers / 2 : x.registers);
  for (Opnd& r : registers) r = f_.newReg(wide ? RegClass::F64 : RegClass::B32);
  f_.appendGrouped(
      std::move(spelling),
      {FunctionLowering::result(FunctionLowering::vector(registers)),
       FunctionLowering::addressed(p.base, p.offset), FunctionLowering::plain(x.matrix.leading)},
      true);
  return registers;
}

std::vector<Opnd> TensorLowering::loadLdmatrix(Operand& x, uint32_t major, uint32_t step) {
  std::string spelling = "ldmatrix.sync.aligned.m8n8.x" + std::to_string(x.registers);
  if (!x.alongK) spelling += ".trans";
  spelling += ".shared.b16";
  const int64_t majorAt = int64_t{major} * x.tileMajor, kAt = int64_t{step} * x.tileK;
  const int64_t line = x.alongK ? majorAt : kAt, element = x.alongK ? kAt : majorAt;
  Pointer p = at(x.view, line, element * x.matrix.bits / 8);
  std::vector<Opnd> registers(x.registers);
  for (Opnd& r : registers) r = f_.newReg(RegClass::B32);
  f_.appendGrouped(std::move(spelling),
                   {FunctionLowering::result(FunctionLowering::vector(registers)),
                    FunctionLowering::addressed(p.base, p.offset)},
                   true);
  for (Opnd& r : registers) r = adjusted(x, r);
  return registers;
}

std::vector<Opnd> TensorLowering::loadPairs(Operand& x, uint32_t major, uint32_t step) {
  const Matrix& m = x.matrix;
  const RegClass cls = x.shape->bits == 64 ? RegClass::F64 : RegClass::B32;
  const uint32_t lines = x.registers / 2;
  std::vector<Opnd> registers(x.registers);
  for (uint32_t i = 0; i < lines; ++i) {
    const int64_t line = int64_t{major} * x.tileMajor + 8 * i;
    Pointer p = at(x.view, line, int64_t{step} * x.tileK * m.bits / 8);
    const std::vector<Opnd> pair = loadVector(m, p, cls, 2);
    for (uint32_t q = 0; q < 2; ++q) registers[i + lines * q] = adjusted(x, pair[q]);
  }
  return registers;
}

// Values that follow each other along K: what a register holds is contiguous in memory.
std::vector<Opnd> TensorLowering::loadWords(Operand& x, uint32_t major, uint32_t step) {
  const Matrix& m = x.matrix;
  const bool wide = x.shape->bits == 64;
  std::vector<Opnd> registers;
  for (uint32_t r = 0; r < x.registers; ++r) {
    const ElementPlace place = x.isA ? placeInA(*x.shape, r, 0) : placeInB(*x.shape, r, 0);
    const LaneCoordinate& k = x.isA ? place.col : place.row;
    const LaneCoordinate& line = x.isA ? place.row : place.col;
    const int64_t lineAt = int64_t{major} * x.tileMajor + line.constant;
    const int64_t bytes = (int64_t{step} * x.tileK + k.constant) * m.bits / 8;
    if (m.bits == 6) {
      Opnd low = loadScalar(m, at(x.view, lineAt, bytes), PtxType::B32, RegClass::B32);
      Opnd high = loadScalar(m, at(x.upper, lineAt, bytes), PtxType::B32, RegClass::B32);
      Opnd values = b32(MachineOp::ShfRWrap, {low, high, x.shift});
      // One value to each byte.
      Opnd word = b32(MachineOp::And, {values, imm(0x3F)});
      for (uint32_t i = 1; i < 4; ++i) {
        Opnd moved = b32(MachineOp::Shl, {values, imm(2 * i)});
        moved = b32(MachineOp::And, {moved, imm(uint64_t{0x3F} << (8 * i))});
        word = b32(MachineOp::Or, {word, moved});
      }
      registers.push_back(word);
    } else if (m.bits == 4 && x.shape->bits == 8) {
      Opnd values = loadScalar(m, at(x.view, lineAt, bytes), PtxType::U16, RegClass::B32);
      Opnd word;
      for (uint32_t i = 0; i < 4; ++i) {
        Opnd moved = b32(MachineOp::Shl, {values, imm(4 * i + 2)});
        moved = b32(MachineOp::And, {moved, imm(uint64_t{0x3C} << (8 * i))});
        word = i == 0 ? moved : b32(MachineOp::Or, {word, moved});
      }
      registers.push_back(word);
    } else if (m.bits == 8 && x.shape->bits == 4) {
      std::vector<Opnd> bytesOf = loadVector(m, at(x.view, lineAt, bytes), RegClass::B32, 2);
      registers.push_back(packNibbles(bytesOf[0], bytesOf[1]));
    } else if (wide) {
      registers.push_back(loadScalar(m, at(x.view, lineAt, bytes), PtxType::F64, RegClass::F64));
    } else {
      Opnd word = loadScalar(m, at(x.view, lineAt, bytes), PtxType::B32, RegClass::B32);
      registers.push_back(adjusted(x, word));
    }
  }
  return registers;
}

// Values whose neighbours along K are a line away, one by one.
std::vector<Opnd> TensorLowering::loadElements(Operand& x, uint32_t major, uint32_t step) {
  const Matrix& m = x.matrix;
  const uint32_t p = x.shape->perRegister();
  std::vector<Opnd> registers;
  for (uint32_t r = 0; r < x.registers; ++r) {
    Opnd elements[8];
    for (uint32_t s = 0; s < p; ++s) {
      const ElementPlace place = x.isA ? placeInA(*x.shape, r, s) : placeInB(*x.shape, r, s);
      const LaneCoordinate& k = x.isA ? place.col : place.row;
      const LaneCoordinate& line = x.isA ? place.row : place.col;
      const int64_t element = int64_t{major} * x.tileMajor + line.constant;
      Pointer from = at(x.view, int64_t{step} * x.tileK + k.constant, element * m.bits / 8);
      switch (m.bits) {
        case 8:
          elements[s] = loadScalar(m, from, PtxType::U8, RegClass::B32);
          break;
        case 16:
          elements[s] = loadScalar(m, from, PtxType::B16, RegClass::B16);
          break;
        case 32:
          elements[s] = loadScalar(m, from, PtxType::B32, RegClass::B32);
          break;
        default:
          elements[s] = loadScalar(m, from, PtxType::F64, RegClass::F64);
          break;
      }
    }
    if (p == 1) {
      registers.push_back(elements[0]);
    } else if (p == 2) {
      registers.push_back(pack16(elements[0], elements[1]));
    } else if (p == 4) {
      registers.push_back(adjusted(x, packBytes(elements)));
    } else {
      registers.push_back(packNibbles(packBytes(elements), packBytes(elements + 4)));
    }
  }
  return registers;
}

// ---- Scales ----

// Lane 4 g + t, t < 2, has the scales of row g + 8 t of A; lane 4 g those of column g of B (PTX
// ISA, "Block scaling", with identifiers 0). The other lanes load what these do.
void TensorLowering::setUpScale(Operand& x, const Operation& op, const TensorFormRow& row) {
  const ir::MmaDesc& d = op.mmaDesc();
  x.scale = x.isA ? d.aScale : d.bScale;
  x.scaleFormat = row.inputs == TensorInputs::NvFp4 ? ElementFormat::UE4M3 : ElementFormat::UE8M0;
  x.scaleBlocks = row.inputs == TensorInputs::NvFp4 ? 4 : row.inputs == TensorInputs::MxFp4 ? 2 : 1;
  const bool isE4M3 = x.scaleFormat == ElementFormat::UE4M3;
  if (x.scale == ScaleMode::None) {
    const uint64_t one = isE4M3 ? 0x38 : 0x7F;
    x.scaleConstant = b32(MachineOp::Mov, {imm(one * 0x01010101)});
    return;
  }
  x.scaleMatrix = matrix(op.slot(x.isA ? Slot::ScaleA : Slot::ScaleB), 8,
                         x.scale == ScaleMode::Tensor ? 1
                         : x.isA                      ? d.ldsa
                                                      : d.ldsb,
                         op.slot(x.isA ? Slot::Ldsa : Slot::Ldsb));
  if (x.scale == ScaleMode::Tensor) {
    Opnd byte = loadScalar(x.scaleMatrix, lineAt(x.scaleMatrix, 0, 0), PtxType::U8, RegClass::B32);
    if (isE4M3) byte = b32(MachineOp::And, {byte, imm(0x7F)});
    x.scaleConstant = x.scaleBlocks == 1 ? byte : b32(MachineOp::Prmt, {byte, byte, imm(0)});
    return;
  }
  Opnd line = group_;
  if (x.isA) {
    Opnd upper = b32(MachineOp::And, {inGroup_, imm(1)});
    line = s32(MachineOp::MadLo, {upper, imm(8), group_});
  }
  x.scaleView = view(x.scaleMatrix, line, Opnd(), 0);
}

Opnd TensorLowering::loadScale(Operand& x, uint32_t major, uint32_t step) {
  if (!x.scaleConstant.isNone()) return x.scaleConstant;
  Opnd bytes[4];
  for (uint32_t i = 0; i < x.scaleBlocks; ++i) {
    Pointer p = at(x.scaleView, int64_t{major} * x.tileMajor, int64_t{step} * x.scaleBlocks + i);
    bytes[i] = loadScalar(x.scaleMatrix, p, PtxType::U8, RegClass::B32);
  }
  Opnd word = x.scaleBlocks == 1   ? bytes[0]
              : x.scaleBlocks == 2 ? b32(MachineOp::Prmt, {bytes[0], bytes[1], imm(0x0040)})
                                   : packBytes(bytes);
  if (x.scaleFormat == ElementFormat::UE4M3) word = b32(MachineOp::And, {word, imm(0x7F7F7F7F)});
  return word;
}

// ---- Sparse A ----

// With selector 0, lane 4 g has the codes of rows g and g + 8 of the first four groups along K, in
// its lower and upper half; with K of 32, lane 4 g + 1 those of the other four.
void TensorLowering::setUpMasks(Operand& x, const Operation& op, const TensorFormRow& row) {
  const ir::MmaDesc& d = op.mmaDesc();
  x.maskMatrix =
      matrix(op.slot(Slot::Metadata), 8, d.ldmeta != 0 ? d.ldmeta : d.k / 4, op.slot(Slot::LdMeta));
  Opnd piece;
  if (row.k == 32) piece = b32(MachineOp::And, {inGroup_, imm(1)});
  x.maskView = view(x.maskMatrix, group_, piece, 4);
  x.maskTable = f_.emit(MachineOp::Mov, PtxType::B64, RegClass::B64, {imm(kMaskCodes)});
}

Opnd TensorLowering::loadMasks(Operand& x, uint32_t major, uint32_t step) {
  const uint32_t groups = x.shape->kb / 4;
  Opnd word;
  for (uint32_t half = 0; half < 2; ++half) {
    for (uint32_t i = 0; i < 4; ++i) {
      Pointer p =
          at(x.maskView, int64_t{major} * x.tileMajor + 8 * half, int64_t{step} * groups + i);
      Opnd mask = loadScalar(x.maskMatrix, p, PtxType::U8, RegClass::B32);
      Opnd amount = b32(MachineOp::Shl, {mask, imm(2)});
      amount = b32(MachineOp::And, {amount, imm(60)});
      Opnd code = f_.emit(MachineOp::Shr, PtxType::U64, RegClass::B64, {x.maskTable, amount});
      code = f_.emitCvt(Round::None, PtxType::U32, PtxType::U64, RegClass::B32, code);
      code = b32(MachineOp::And, {code, imm(15)});
      if (half + i != 0) {
        code = b32(MachineOp::Shl, {code, imm(16 * half + 4 * i)});
        word = b32(MachineOp::Or, {word, code});
      } else {
        word = code;
      }
    }
  }
  return word;
}

}  // namespace mtlc::ptx
