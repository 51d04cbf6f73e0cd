// Epilogues as scalar code.

#include "mtlc/transforms/tensor_replay.h"

namespace mtlc::transforms {

using ir::Opcode;
using ir::Slot;
using ir::Value;

Epilogue epilogueOf(Emitter& e, const ir::Operation& op) {
  Epilogue p;
  p.desc = op.epilogueDesc();
  p.d = op.slot(Slot::D);
  p.bias = op.slot(Slot::Bias);
  p.alpha = op.slot(Slot::Alpha);
  p.beta = op.slot(Slot::Beta);
  p.lo = op.slot(Slot::Lo);
  p.hi = op.slot(Slot::Hi);
  auto index = [&](Slot slot, uint32_t constant) {
    Value* v = op.slot(slot);
    return v ? e.index(v) : Emitter::constant(constant);
  };
  p.ldd = index(Slot::Ldd, p.desc.ldd);
  p.ldbias = index(Slot::LdBias, p.desc.ldbias);
  return p;
}

Epilogue epilogueOf(Emitter& e, const ir::Operation& op, Value* home, ir::Layout layout,
                    Index ldd) {
  Epilogue p = epilogueOf(e, op);
  p.d = home;
  p.desc.layout = layout;
  p.ldd = ldd;
  return p;
}

namespace {

Value* biasAt(Emitter& e, const Epilogue& p, Index row, Index col) {
  const ElementFormat format = p.desc.element;
  switch (p.desc.bias) {
    case ir::BiasMode::None:
      return nullptr;
    case ir::BiasMode::Row:
      return e.at(p.bias, row, storageType(format));
    case ir::BiasMode::Column:
      return e.at(p.bias, col, storageType(format));
    case ir::BiasMode::Matrix:
      return e.place(StoredMatrix::of(p.bias, format, ir::Packing::Logical, p.desc.biasLayout,
                                      false, p.ldbias),
                     row, col);
  }
  return nullptr;
}

}  // namespace

void replayEpilogue(Emitter& e, const Epilogue& p) {
  ir::Builder& b = e.builder;
  const ir::Type stored = storageType(p.desc.element);
  const ir::Type type = stored == ir::kF64 ? ir::kF64 : ir::kF32;
  const StoredMatrix d =
      StoredMatrix::of(p.d, p.desc.element, ir::Packing::Logical, p.desc.layout, false, p.ldd);
  auto choose = [&](Opcode compare, Value* x, Value* limit) {
    return b.select(b.compare(compare, x, limit), limit, x);
  };
  e.order(p.desc.scope);
  e.forEachElement(p.desc.scope, Emitter::constant(p.desc.m), Emitter::constant(p.desc.n), d.byRow,
                   [&](Index row, Index col) {
                     Value* place = e.place(d, row, col);
                     Value* x = e.convert(b.load(stored, place), type);
                     if (p.alpha) x = b.binary(Opcode::FMul, p.alpha, x);
                     if (Value* from = biasAt(e, p, row, col)) {
                       Value* bias = e.convert(b.load(stored, from), type);
                       if (p.beta) bias = b.binary(Opcode::FMul, p.beta, bias);
                       x = b.binary(Opcode::FAdd, x, bias);
                     }
                     switch (p.desc.activation) {
                       case ir::Activation::Identity:
                         break;
                       case ir::Activation::Relu:
                         x = choose(Opcode::FCmpOlt, x, b.constBits(type, 0));
                         break;
                       case ir::Activation::Clamp:
                         x = choose(Opcode::FCmpOlt, x, p.lo);
                         x = choose(Opcode::FCmpOgt, x, p.hi);
                         break;
                     }
                     b.store(stored, e.convert(x, stored), place);
                   });
  e.orderAfter(p.desc.scope);
}

}  // namespace mtlc::transforms
