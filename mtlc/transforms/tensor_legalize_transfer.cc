// The tile is cut into units of whole bytes on the side that is written, so that no two work-items
// write one byte: single elements; with dense packing the least group of elements that fills bytes.
// The unit's number is unravelled into coordinates, the slower dimensions give the row's address.
//
//   whole rows      step 1 in dimension 0, the row inside the tensor, both sides aligned: units are
//                   pieces of the row of up to 8 bytes. Decided at run time, the same for everyone.
//   elements        everything else.

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "mtlc/support/element_format.h"
#include "mtlc/transforms/tensor_emit.h"
#include "mtlc/transforms/tensor_legalize_memory.h"

namespace mtlc::transforms {
namespace {

using ir::Opcode;
using ir::Operation;
using ir::Slot;
using ir::Value;

// A power of two that divides every address the pointer can have; 1 where nothing is known.
uint64_t knownAlignment(const Value* pointer) {
  uint64_t align = 32;  // Of workgroup storage (docs/ir.md §5).
  while (const Operation* op = pointer->def()) {
    if (op->opcode() == Opcode::AllocWorkgroup || op->opcode() == Opcode::AllocDynamic) {
      return align;
    }
    if (op->opcode() == Opcode::SpaceCast) {
      pointer = op->operand(0);
      continue;
    }
    if (op->opcode() != Opcode::PtrAdd) break;
    const Operation* index = ir::asConst(op->operand(1));
    const uint64_t offset = op->elemType().bytes() * (index ? index->constBits() : uint64_t{1});
    if (offset != 0) align = std::min(align, offset & (0 - offset));
    pointer = op->operand(0);
  }
  return 1;
}

class Replay {
 public:
  Replay(Emitter& e, const Operation& op)
      : e_(e), b_(e.builder), op_(op), desc_(op.transferDesc()) {
    const ElementInfo& info = elementInfo(desc_.element);
    dense_ = desc_.packing == ir::Packing::Dense;
    bits_ = dense_ ? info.bits : info.bytes * 8u;
    load_ = desc_.direction == ir::Direction::Load;
    workgroup_ = op.slot(load_ ? Slot::Dst : Slot::Src);
    global_ = op.slot(load_ ? Slot::Src : Slot::Dst);
    for (unsigned i = 0; i < desc_.rank; ++i) {
      x_[i] = b_.cast(Opcode::SExt, op.slot(ir::coordinateSlot(i)), ir::kI64);
      const Slot extent = ir::extentSlot(i);
      extent_[i] = op.tensor().slots.has(extent) ? Emitter::index(op.slot(extent))
                                                 : Emitter::constant(desc_.extent[i]);
      if (i == 0) continue;
      const Slot stride = ir::strideSlot(i);
      stride_[i] = op.tensor().slots.has(stride) ? Emitter::index(op.slot(stride))
                                                 : Emitter::constant(desc_.stride[i]);
      rows_ *= desc_.tile[i];
    }
  }

  void run() {
    e_.order(ir::Scope::Workgroup);
    const unsigned width = pieceBytes();
    if (width == 0) {
      elements();
    } else {
      e_.branch(
          wholeRows(width),
          [&] {
            pieces(width);
            return Values();
          },
          [&] {
            elements();
            return Values();
          });
    }
    e_.orderAfter(ir::Scope::Workgroup);
  }

 private:
  Value* constant64(uint64_t c) { return b_.constBits(ir::kI64, c); }
  Value* constant32(uint32_t c) { return b_.constBits(ir::kI32, c); }

  // Bytes of a piece of a row, 0 where pieces would be no more than elements.
  unsigned pieceBytes() const {
    const uint64_t rowBits = uint64_t{desc_.tile[0]} * bits_;
    if (desc_.step[0] != 1 || rowBits % 8 != 0) return 0;
    const uint64_t rowBytes = rowBits / 8;
    const unsigned width = static_cast<unsigned>(std::gcd(rowBytes, uint64_t{8}));
    return width * 8 > bits_ || dense_ ? width : 0;
  }

  // Whether all rows lie inside the tensor and begin at multiples of `width`.
  Value* wholeRows(unsigned width) {
    std::vector<Value*> conditions = {
        b_.compare(Opcode::CmpSge, x_[0], constant64(0)),
        e_.less(Emitter::index(b_.add(x_[0], constant64(desc_.tile[0] - 1))), extent_[0])};
    // The first row's beginning, the distances of the rows, and the tile, or-ed together.
    Value* low = nullptr;
    auto consider = [&](Value* v) { low = low ? b_.binary(Opcode::Or, low, v) : v; };
    if (dense_) {
      Value* first = b_.mul(x_[0], constant64(bits_));
      Value* inByte = b_.binary(Opcode::And, first, constant64(7));
      conditions.push_back(b_.compare(Opcode::CmpEq, inByte, constant64(0)));
    }
    if (width > 1) {
      consider(b_.add(b_.cast(Opcode::PtrToInt, global_, ir::kI64), rowOffset()));
      for (unsigned i = 1; i < desc_.rank; ++i) {
        if (!stride_[i].isConst() || stride_[i].most % width != 0) consider(e_.as64(stride_[i]));
      }
      if (knownAlignment(workgroup_) % width != 0) {
        consider(b_.cast(Opcode::PtrToInt, workgroup_, ir::kI64));
      }
      Value* rest = b_.binary(Opcode::And, low, constant64(width - 1));
      conditions.push_back(b_.compare(Opcode::CmpEq, rest, constant64(0)));
    }
    return e_.allOf(conditions);
  }

  // Bytes from the beginning of a row of the tensor to that of the tile.
  Value* rowOffset() {
    Value* offset = b_.mul(x_[0], constant64(bits_));
    return b_.binary(Opcode::AShr, offset, constant64(3));
  }

  // Coordinate i of the tile's element at `t`, and whether it is inside.
  Value* coordinate(unsigned i, Index t) {
    const Index distance = e_.mul(t, Emitter::constant(desc_.step[i]));
    return distance.is(0) ? x_[i] : b_.add(x_[i], e_.as64(distance));
  }
  void inside(Value* at, Index extent, std::vector<Value*>& conditions) {
    // Read as unsigned, a negative coordinate is below an extent of more than 2^63 only.
    if (extent.most > uint64_t{1} << 63) {
      conditions.push_back(b_.compare(Opcode::CmpSge, at, constant64(0)));
    }
    conditions.push_back(e_.less(Emitter::index(at), extent));
  }

  // A row of the tile: where its line of the tensor begins, and whether that is inside in all
  // dimensions but the first.
  struct Row {
    Value* line;
    std::vector<Value*> conditions;
  };
  Row row(Index number) {
    Row r{global_, {}};
    Value* offset = nullptr;
    for (unsigned i = 1; i < desc_.rank; ++i) {
      const Index size = Emitter::constant(desc_.tile[i]);
      const bool last = i + 1 == desc_.rank;
      Value* at = coordinate(i, last ? number : e_.rem(number, size));
      if (!last) number = e_.div(number, size);
      inside(at, extent_[i], r.conditions);
      Value* bytes = b_.mul(at, e_.as64(stride_[i]));
      offset = offset ? b_.add(offset, bytes) : bytes;
    }
    if (offset) r.line = b_.ptrAdd(global_, offset, ir::kI8);
    return r;
  }

  void pieces(unsigned width) {
    const ir::Type type = width == 8   ? ir::kI64
                          : width == 4 ? ir::kI32
                          : width == 2 ? ir::kI16
                                       : ir::kI8;
    const uint64_t perRow = uint64_t{desc_.tile[0]} * bits_ / 8 / width;
    const Crew crew = e_.crew(ir::Scope::Workgroup);
    Value* first = rowOffset();
    e_.forEach(crew.rank, Emitter::constant(perRow * rows_), crew.size, [&](Index piece) {
      const Index per = Emitter::constant(perRow);
      Row r = row(e_.div(piece, per));
      Value* at = b_.ptrAdd(r.line, first, ir::kI8);
      at = e_.at(at, e_.rem(piece, per), type);
      Value* here = e_.at(workgroup_, piece, type);
      move(type, here, at, e_.allOf(r.conditions));
    });
  }

  // One piece or element, both sides aligned.
  void move(ir::Type type, Value* here, Value* there, Value* isInside) {
    if (!load_) {
      e_.branch(isInside, [&] { b_.store(type, b_.load(type, here), there); });
      return;
    }
    const Values v = e_.branch(
        isInside, [&] { return Values{b_.load(type, there)}; },
        [&] { return Values{b_.constBits(type, 0)}; });
    b_.store(type, v[0], here);
  }

  void elements() {
    if (dense_) {
      load_ ? loadGroups() : storeGroups();
      return;
    }
    const unsigned bytes = bits_ / 8;
    const ir::Type type = bytes == 8   ? ir::kI64
                          : bytes == 4 ? ir::kI32
                          : bytes == 2 ? ir::kI16
                                       : ir::kI8;
    const Crew crew = e_.crew(ir::Scope::Workgroup);
    const Index across = Emitter::constant(desc_.tile[0]);
    e_.forEach(crew.rank, Emitter::constant(desc_.tile[0] * rows_), crew.size, [&](Index n) {
      Row r = row(e_.div(n, across));
      Value* at = coordinate(0, e_.rem(n, across));
      inside(at, extent_[0], r.conditions);
      move(type, e_.at(workgroup_, n, type), b_.ptrAdd(r.line, at, type), e_.allOf(r.conditions));
    });
  }

  // ---- Dense packing ----

  // Elements in the least group that fills whole bytes: 2 of 4 bits, 4 of 6, 8 of one.
  unsigned groupSize() const { return std::lcm(bits_, 8u) / bits_; }
  unsigned groupBytes() const { return std::lcm(bits_, 8u) / 8; }

  // The code at bit offset `bit`, an i64, from `base`, as an i32.
  Value* loadCode(Value* base, Value* bit) {
    Value* byte = b_.ptrAdd(base, b_.binary(Opcode::LShr, bit, constant64(3)), ir::kI8);
    Value* shift = b_.binary(Opcode::And, b_.cast(Opcode::Trunc, bit, ir::kI32), constant32(7));
    Value* word = b_.cast(Opcode::ZExt, b_.load(ir::kI8, byte), ir::kI32);
    if (8 % bits_ != 0) {
      // The second byte of a value that has one, else the first again: the next may not exist.
      Value* last = b_.add(shift, constant32(bits_ - 1));
      Value* next = b_.cast(Opcode::ZExt, b_.binary(Opcode::LShr, last, constant32(3)), ir::kI64);
      Value* high = b_.load(ir::kI8, b_.ptrAdd(byte, next, ir::kI8));
      high = b_.binary(Opcode::Shl, b_.cast(Opcode::ZExt, high, ir::kI32), constant32(8));
      word = b_.binary(Opcode::Or, word, high);
    }
    return b_.binary(Opcode::And, b_.binary(Opcode::LShr, word, shift),
                     constant32((1u << bits_) - 1));
  }

  // Puts the bits of `word` that `mask` has into the bytes of group `at`; the others stay.
  void storeGroup(Value* at, Value* word, Value* mask) {
    for (unsigned k = 0; k < groupBytes(); ++k) {
      auto part = [&](Value* v) {
        return b_.cast(Opcode::Trunc, b_.binary(Opcode::LShr, v, constant32(8 * k)), ir::kI8);
      };
      Value *wanted = part(mask), *bits = part(word);
      Value* byte = b_.ptrAdd(at, constant64(k), ir::kI8);
      Value* some = b_.compare(Opcode::CmpNe, wanted, b_.constBits(ir::kI8, 0));
      e_.branch(some, [&] {
        Value* all = b_.compare(Opcode::CmpEq, wanted, b_.constBits(ir::kI8, 0xFF));
        const Values old = e_.branch(
            all, [&] { return Values{b_.constBits(ir::kI8, 0)}; },
            [&] { return Values{b_.load(ir::kI8, byte)}; });
        Value* others = b_.binary(Opcode::Xor, wanted, b_.constBits(ir::kI8, 0xFF));
        Value* kept = b_.binary(Opcode::And, old[0], others);
        b_.store(ir::kI8, b_.binary(Opcode::Or, kept, bits), byte);
      });
    }
  }

  // A group of the tile; the last may have fewer elements.
  void loadGroups() {
    const uint64_t total = desc_.tile[0] * rows_;
    const unsigned size = groupSize();
    const Crew crew = e_.crew(ir::Scope::Workgroup);
    const uint64_t groups = (total + size - 1) / size;
    e_.forEach(crew.rank, Emitter::constant(groups), crew.size, [&](Index group) {
      const Index first = e_.mul(group, Emitter::constant(size));
      Value *word = constant32(0), *mask = constant32(0);
      for (unsigned k = 0; k < size; ++k) {
        const Index n = e_.add(first, Emitter::constant(k));
        const unsigned at = k * bits_;
        const uint32_t ones = ((1u << bits_) - 1) << at;
        auto take = [&] {
          const Index across = Emitter::constant(desc_.tile[0]);
          Row r = row(e_.div(n, across));
          Value* x = coordinate(0, e_.rem(n, across));
          inside(x, extent_[0], r.conditions);
          const Values code = e_.branch(
              e_.allOf(r.conditions),
              [&] { return Values{loadCode(r.line, b_.mul(x, constant64(bits_)))}; },
              [&] { return Values{constant32(0)}; });
          Value* placed = at == 0 ? code[0] : b_.binary(Opcode::Shl, code[0], constant32(at));
          return Values{b_.binary(Opcode::Or, word, placed),
                        b_.binary(Opcode::Or, mask, constant32(ones))};
        };
        Values next;
        if (total % size == 0 || k == 0) {
          next = take();
        } else {
          next = e_.branch(e_.less(n, Emitter::constant(total)), take, [&] {
            return Values{word, mask};
          });
        }
        word = next[0];
        mask = next[1];
      }
      storeGroup(e_.at(workgroup_, e_.mul(group, Emitter::constant(groupBytes())), ir::kI8), word,
                 mask);
    });
  }

  // The code of the tile's element, moved to the place that `at` has in its group, and ones there.
  struct Placed {
    Value *word, *mask;
  };
  Placed placed(Value* element, Value* at) {
    Value* code = loadCode(workgroup_, b_.mul(element, constant64(bits_)));
    Value* shift = b_.mul(at, constant32(bits_));
    return {b_.binary(Opcode::Shl, code, shift),
            b_.binary(Opcode::Shl, constant32((1u << bits_) - 1), shift)};
  }

  // Groups count from the beginning of a line of the tensor, so that rows that begin within a byte
  // share none.
  Value* groupOf(Value* x) {
    return b_.binary(Opcode::AShr, x, constant64(std::countr_zero(groupSize())));
  }
  void storeGroup(Row& r, Value* group, Value* word, Value* mask) {
    storeGroup(b_.ptrAdd(r.line, b_.mul(group, constant64(groupBytes())), ir::kI8), word, mask);
  }

  void storeGroups() {
    const unsigned size = groupSize();
    const Crew crew = e_.crew(ir::Scope::Workgroup);
    if (desc_.step[0] >= size) {  // No two elements are in one group.
      const Index across = Emitter::constant(desc_.tile[0]);
      e_.forEach(crew.rank, Emitter::constant(desc_.tile[0] * rows_), crew.size, [&](Index n) {
        Row r = row(e_.div(n, across));
        Value* x = coordinate(0, e_.rem(n, across));
        inside(x, extent_[0], r.conditions);
        e_.branch(e_.allOf(r.conditions), [&] {
          Value* at =
              b_.binary(Opcode::And, b_.cast(Opcode::Trunc, x, ir::kI32), constant32(size - 1));
          const Placed p = placed(e_.as64(n), at);
          storeGroup(r, groupOf(x), p.word, p.mask);
        });
      });
      return;
    }
    const uint64_t span = uint64_t{desc_.tile[0] - 1} * desc_.step[0] + 1;
    const Index perRow = Emitter::constant((span + size - 2) / size + 1);
    Value* firstGroup = groupOf(x_[0]);
    e_.forEach(crew.rank, Emitter::constant(perRow.most * rows_), crew.size, [&](Index n) {
      const Index number = e_.div(n, perRow);
      Row r = row(number);
      Value* group = b_.add(firstGroup, e_.as64(e_.rem(n, perRow)));
      Value* tileRow = e_.as64(e_.mul(number, Emitter::constant(desc_.tile[0])));
      e_.branch(e_.allOf(r.conditions), [&] {
        Value *word = constant32(0), *mask = constant32(0);
        for (unsigned k = 0; k < size; ++k) {
          Value* x = b_.add(b_.mul(group, constant64(size)), constant64(k));
          Value* distance = b_.sub(x, x_[0]);
          std::vector<Value*> conditions = {b_.compare(Opcode::CmpUlt, distance, constant64(span))};
          inside(x, extent_[0], conditions);
          Index t = Emitter::index(distance);
          if (desc_.step[0] != 1) {
            const Index step = Emitter::constant(desc_.step[0]);
            conditions.push_back(e_.equal(e_.rem(t, step), Emitter::constant(0)));
            t = e_.div(t, step);
          }
          const Values next = e_.branch(
              e_.allOf(conditions),
              [&] {
                const Placed p = placed(b_.add(tileRow, e_.as64(t)), constant32(k));
                return Values{b_.binary(Opcode::Or, word, p.word),
                              b_.binary(Opcode::Or, mask, p.mask)};
              },
              [&] {
                return Values{word, mask};
              });
          word = next[0];
          mask = next[1];
        }
        storeGroup(r, group, word, mask);
      });
    });
  }

  Emitter& e_;
  ir::Builder& b_;
  const Operation& op_;
  const ir::TransferDesc& desc_;
  bool dense_ = false, load_ = false;
  unsigned bits_ = 0;  // From one element to the next.
  uint64_t rows_ = 1;  // Of the tile.
  Value *workgroup_ = nullptr, *global_ = nullptr;
  Value* x_[ir::kMaxRank] = {};
  Index extent_[ir::kMaxRank], stride_[ir::kMaxRank];
};

// What a target's own copy needs of the operands: a view, 64-byte aligned; the tile aligned to
// `alignment`.
Value* viewIsUsable(Emitter& e, const Operation& op) {
  constexpr uint64_t kViewAlignment = 64, kTileAlignment = 128;
  ir::Builder& b = e.builder;
  auto misaligned = [&](Value* address, uint64_t align) {
    return b.binary(Opcode::And, address, b.constBits(ir::kI64, align - 1));
  };
  Value* zero = b.constBits(ir::kI64, 0);
  Value* view = b.cast(Opcode::PtrToInt, op.slot(Slot::View), ir::kI64);
  Value* rest = misaligned(view, kViewAlignment);
  const bool load = op.transferDesc().direction == ir::Direction::Load;
  Value* tile = op.slot(load ? Slot::Dst : Slot::Src);
  Value* tileRest = misaligned(b.cast(Opcode::PtrToInt, tile, ir::kI64), kTileAlignment);
  rest = b.binary(Opcode::Or, rest, tileRest);
  Value* conditions[] = {b.compare(Opcode::CmpNe, view, zero),
                         b.compare(Opcode::CmpEq, rest, zero)};
  return e.allOf(conditions);
}

}  // namespace

bool legalizeTransfer(ir::Function& function, const TargetInfo& target) {
  Emitter e(function);
  std::vector<ir::Block*> blocks;
  for (ir::Block& block : function.blocks()) blocks.push_back(&block);
  bool changed = false;
  // From the end of a block, so that what follows a transfer moves once.
  for (ir::Block* block : blocks) {
    for (Operation *op = block->back(), *previous = nullptr; op; op = previous) {
      previous = op->prev();
      if (op->opcode() != Opcode::TensorTransfer) continue;
      e.begin(op);
      const bool native = op->tensor().slots.has(Slot::View) && target.isNative(*op);
      if (!native) {
        Replay(e, *op).run();
      } else {
        e.branch(
            viewIsUsable(e, *op),
            [&] {
              std::vector<ir::Builder::SlotOperand> operands;
              for (int s = 0; s < ir::kSlotCount; ++s) {
                const Slot slot = static_cast<Slot>(s);
                if (op->tensor().slots.has(slot)) operands.push_back({slot, op->slot(slot)});
              }
              e.builder.tensorTransfer(op->transferDesc(), operands);
              return Values();
            },
            [&] {
              Replay(e, *op).run();
              return Values();
            });
      }
      e.finish();
      op->erase();
      changed = true;
    }
  }
  return changed;
}

}  // namespace mtlc::transforms
