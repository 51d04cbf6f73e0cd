#include <algorithm>
#include <functional>
#include <vector>

#include "mtlc/transforms/tensor_emit.h"
#include "mtlc/transforms/tensor_legalize_memory.h"

namespace mtlc::transforms {
namespace {

using ir::Opcode;
using ir::Operation;
using ir::Value;

// Pieces under way at once: a copy loads so many before it stores the first.
constexpr unsigned kInFlight = 4;
// Copies of more pieces than that are loops.
constexpr unsigned kMostStraight = 16;

// Calls piece(first, count) for all `total` pieces, in order, `count` of them at a time.
void inPieces(Emitter& e, Operation& op, unsigned total,
              const std::function<void(Index, unsigned)>& piece) {
  if (total <= kMostStraight) {  // Straight code, for which no block is cut.
    e.builder.setInsertBefore(&op);
    e.builder.setLoc(op.loc());
    for (unsigned i = 0; i < total; i += kInFlight) {
      piece(Emitter::constant(i), std::min(kInFlight, total - i));
    }
    return;
  }
  const unsigned looped = total / kInFlight * kInFlight;
  e.begin(&op);
  e.forEach(Emitter::constant(0), Emitter::constant(looped), Emitter::constant(kInFlight),
            [&](Index i) { piece(i, kInFlight); });
  if (looped < total) piece(Emitter::constant(looped), total - looped);
  e.finish();
}

void replayCopy(Emitter& e, Operation& op) {
  const ir::AsyncAttr attr = op.async();
  const unsigned unit = std::min<unsigned>(attr.transaction, 8);
  const ir::Type type = unit == 8 ? ir::kI64 : ir::kI32;
  Value *to = op.operand(0), *from = op.operand(1);
  inPieces(e, op, attr.count * op.elemType().bytes() / unit, [&](Index first, unsigned count) {
    const ir::MemAttr load{.cache = attr.cacheGlobal ? ir::CacheHint::Global : ir::CacheHint::All};
    Value* values[kInFlight];
    for (unsigned i = 0; i < count; ++i) {
      Value* at = e.at(from, e.add(first, Emitter::constant(i)), type);
      values[i] = e.builder.load(type, at, load);
    }
    for (unsigned i = 0; i < count; ++i) {
      e.builder.store(type, values[i], e.at(to, e.add(first, Emitter::constant(i)), type));
    }
  });
}

// A native copy of many transactions as a loop of shorter ones.
void cutCopy(Emitter& e, Operation& op) {
  const ir::AsyncAttr attr = op.async();
  const unsigned size = op.elemType().bytes();
  Value *to = op.operand(0), *from = op.operand(1);
  inPieces(e, op, attr.count * size / attr.transaction, [&](Index first, unsigned count) {
    ir::AsyncAttr part = attr;
    part.count = count * attr.transaction / size;
    const Index offset = e.mul(first, Emitter::constant(attr.transaction));
    Value* target = e.at(to, offset, ir::kI8);
    e.builder.asyncCopy(op.elemType(), target, e.at(from, offset, ir::kI8), part);
  });
}

}  // namespace

bool legalizeAsync(ir::Function& function, const TargetInfo& target) {
  Emitter e(function);
  std::vector<ir::Block*> blocks;
  for (ir::Block& block : function.blocks()) blocks.push_back(&block);
  bool changed = false;
  // From the end of a block, so that what follows a copy moves once.
  for (ir::Block* block : blocks) {
    for (Operation *op = block->back(), *previous = nullptr; op; op = previous) {
      previous = op->prev();
      const Opcode opcode = op->opcode();
      if (opcode != Opcode::AsyncCopy && opcode != Opcode::AsyncCommit &&
          opcode != Opcode::AsyncWait) {
        continue;
      }
      const bool native = target.isNative(*op);
      if (opcode == Opcode::AsyncCopy) {
        const ir::AsyncAttr attr = op->async();
        const unsigned transactions = attr.count * op->elemType().bytes() / attr.transaction;
        if (native && transactions <= kMostStraight) continue;
        native ? cutCopy(e, *op) : replayCopy(e, *op);
      } else if (native) {
        continue;
      }
      op->erase();
      changed = true;
    }
  }
  return changed;
}

}  // namespace mtlc::transforms
