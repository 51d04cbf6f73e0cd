// Products as scalar code.

#include <algorithm>
#include <limits>

#include "mtlc/support/element_format.h"
#include "mtlc/transforms/directed_fma.h"
#include "mtlc/transforms/tensor_replay.h"

namespace mtlc::transforms {

using ir::Opcode;
using ir::ScaleMode;
using ir::Slot;
using ir::Sparsity;
using ir::Type;
using ir::Value;

StoredMatrix Product::matrixA() const {
  return StoredMatrix::of(a, desc.a, desc.aPacking, desc.aLayout, desc.transposeA, lda);
}
StoredMatrix Product::matrixB() const {
  return StoredMatrix::of(b, desc.b, desc.bPacking, desc.bLayout, desc.transposeB, ldb);
}
StoredMatrix Product::matrixC() const {
  return StoredMatrix::of(c, desc.result, ir::Packing::Logical, desc.cLayout, false, ldc);
}
StoredMatrix Product::matrixD() const {
  return StoredMatrix::of(d, desc.result, ir::Packing::Logical, desc.dLayout, false, ldd);
}

bool Product::inPlace() const {
  return c == d && desc.cLayout == desc.dLayout && ldc.value == ldd.value && ldc.most == ldd.most;
}

namespace {

// A leading dimension; one that turns out to be constant becomes the descriptor's.
Index leadingOf(Emitter& e, Value* operand, uint32_t& constant) {
  if (!operand) return Emitter::constant(constant);
  const Index i = e.index(operand);
  if (!i.isConst()) return i;
  if (i.most == 0 || i.most > std::numeric_limits<uint32_t>::max()) return {operand, i.most};
  constant = static_cast<uint32_t>(i.most);
  return i;
}

}  // namespace

Product productOf(Emitter& e, const ir::Operation& op) {
  Product p;
  ir::MmaDesc& desc = p.desc = op.mmaDesc();
  p.a = op.slot(Slot::A);
  p.b = op.slot(Slot::B);
  p.c = op.slot(Slot::C);
  p.d = op.slot(Slot::D);
  p.metadata = op.slot(Slot::Metadata);
  p.scaleA = op.slot(Slot::ScaleA);
  p.scaleB = op.slot(Slot::ScaleB);
  p.lda = leadingOf(e, op.slot(Slot::Lda), desc.lda);
  p.ldb = leadingOf(e, op.slot(Slot::Ldb), desc.ldb);
  p.ldc = leadingOf(e, op.slot(Slot::Ldc), desc.ldc);
  p.ldd = leadingOf(e, op.slot(Slot::Ldd), desc.ldd);
  p.ldsa = leadingOf(e, op.slot(Slot::Ldsa), desc.ldsa);
  p.ldsb = leadingOf(e, op.slot(Slot::Ldsb), desc.ldsb);
  const bool sparse = desc.sparsity != Sparsity::Dense;
  if (sparse && (desc.ldmeta != 0 || op.slot(Slot::LdMeta))) {
    p.ldmeta = leadingOf(e, op.slot(Slot::LdMeta), desc.ldmeta);
  }
  p.rows = Emitter::constant(desc.m);
  p.cols = Emitter::constant(desc.n);
  p.k = Emitter::constant(desc.k);
  if (op.opcode() == Opcode::TensorMatmul) {
    p.k = e.index(op.slot(Slot::K));
    p.row = e.index(op.slot(Slot::Row));
    p.col = e.index(op.slot(Slot::Col));
    p.rows = e.min(e.subOrZero(e.index(op.slot(Slot::M)), p.row), p.rows);
    p.cols = e.min(e.subOrZero(e.index(op.slot(Slot::N)), p.col), p.cols);
  }
  // Without gaps.
  if (sparse && p.ldmeta.is(0)) p.ldmeta = e.ceilDiv(p.k, ir::sparseGroup(desc.sparsity));
  return p;
}

Product productOf(Emitter& e, const ir::Operation& mma, Value* home, ir::Layout layout, Index ldd) {
  Product p = productOf(e, mma);
  p.c = p.d = home;
  p.desc.cLayout = p.desc.dLayout = layout;
  p.ldc = p.ldd = ldd;
  p.desc.ldc = p.desc.ldd = ldd.isConst() ? static_cast<uint32_t>(ldd.most) : 0;
  return p;
}

namespace {

// The code for one element of D.
class Dot {
 public:
  Dot(Emitter& e, const Product& p)
      : e_(e),
        b_(e.builder),
        p_(p),
        matrixA_(p.matrixA()),
        matrixB_(p.matrixB()),
        kBegin_(p.kBegin),
        count_(e.sub(p.k, p.kBegin)) {
    const ElementInfo& a = elementInfo(p.desc.a);
    scaled_ = p.desc.aScale != ScaleMode::None || p.desc.bScale != ScaleMode::None;
    // The larger block is a multiple of the smaller, so scales don't change within the smaller.
    for (ScaleMode mode : {p.desc.aScale, p.desc.bScale}) {
      const uint32_t block = ir::scaleBlock(mode);
      if (block != 0) block_ = block_ == 0 ? block : std::min(block_, block);
    }
    if (!a.isFloat()) {
      sum_ = p.desc.overflow == ir::Overflow::Saturate ? ir::kI64 : ir::kI32;
      factor_ = ir::kI32;
    } else {
      // With scales, products of 8-bit exponents may leave the range of f32 and come back.
      const bool wide =
          p.desc.a == ElementFormat::F64 ||
          (scaled_ && (p.desc.a == ElementFormat::BF16 || p.desc.a == ElementFormat::TF32));
      sum_ = factor_ = wide ? ir::kF64 : ir::kF32;
    }
    total_ = scaled_ ? ir::kF64 : sum_;
    group_ = ir::sparseGroup(p.desc.sparsity);
    sparse_ = p.desc.sparsity != Sparsity::Dense;
  }

  // Of place (row, col) of the part: computes the element and stores it.
  void element(Index row, Index col) {
    row_ = e_.add(p_.row, row);
    col_ = e_.add(p_.col, col);
    const Type stored = storageType(p_.desc.result);
    Value* to = e_.place(p_.matrixD(), row_, col_);
    Value* from = p_.inPlace() ? to : e_.place(p_.matrixC(), row_, col_);
    if (p_.begun()) {
      Value* inside = b_.binary(Opcode::And, e_.less(row, p_.doneRows), e_.less(col, p_.doneCols));
      Value* first = p_.doneK.value;
      kBegin_ = {b_.select(inside, first, b_.constBits(first->type(), 0)), p_.doneK.most};
      count_ = e_.sub(p_.k, kBegin_);
      if (from == to) {
        // What is there continues either way.
      } else if (from->type() != to->type()) {
        from = b_.cast(Opcode::SpaceCast, from, Type::ptr(ir::Space::Generic));
        Value* done = b_.cast(Opcode::SpaceCast, to, Type::ptr(ir::Space::Generic));
        from = b_.select(inside, done, from);
      } else {
        from = b_.select(inside, to, from);
      }
    }
    Value* addend = b_.load(stored, from);
    // Without terms nothing is converted, so that even NaN keep their bits.
    const Values result = e_.branch(
        e_.less(Emitter::constant(0), count_), [&] { return Values{sum(addend)}; },
        [&] { return Values{addend}; });
    b_.store(stored, result[0], to);
  }

 private:
  // What a loop over K carries.
  struct State {
    Value* sum;
    Value *a, *b;  // Places.
    Value* mask;   // Of the next group: a pointer.

    Values values(bool sparse) const {
      return sparse ? Values{sum, a, b, mask} : Values{sum, a, b};
    }
    static State of(std::span<Value* const> v) {
      return {v[0], v[1], v[2], v.size() > 3 ? v[3] : nullptr};
    }
  };

  Value* sum(Value* addend) {
    State s;
    const Index stored = sparse_ ? e_.div(kBegin_, Emitter::constant(2)) : kBegin_;
    s.a = e_.place(matrixA_, row_, stored);
    s.b = e_.place(matrixB_, kBegin_, col_);
    s.mask = nullptr;
    if (sparse_) {
      const Index group = e_.div(kBegin_, Emitter::constant(group_));
      s.mask = e_.at(p_.metadata, e_.add(e_.mul(row_, p_.ldmeta), group), ir::kI8);
    }
    Value* total = toTotal(addend);
    if (!scaled_) {
      s.sum = total;
      return fromTotal(run(s, count_).sum);
    }
    // -0, to which adding changes nothing.
    auto zero = [&] { return b_.constBits(sum_, uint64_t{1} << (sum_.bits() - 1)); };
    if (block_ == 0 || (count_.isConst() && count_.most <= block_)) {
      s.sum = zero();
      return fromTotal(scaledSum(run(s, count_).sum, kBegin_, total));
    }
    const Index step = Emitter::constant(block_);
    const bool wholeBlocks = count_.isConst() && count_.most % block_ == 0;
    s.sum = total;
    Values initial = s.values(sparse_);
    const bool wide = p_.k.most > std::numeric_limits<uint32_t>::max() - block_;
    initial.push_back(wide ? e_.as64(kBegin_) : e_.as32(kBegin_));
    const Values last = e_.loop(initial, [&](std::span<Value* const> carried) {
      const Index k{carried.back(), p_.k.most};
      State inner = State::of(carried.first(carried.size() - 1));
      inner.sum = zero();
      const Index left = e_.sub(p_.k, k);
      State after = run(inner, wholeBlocks ? step : e_.min(left, step));
      after.sum = scaledSum(after.sum, k, carried[0]);
      Values next = after.values(sparse_);
      next.push_back(b_.add(carried.back(), b_.constBits(carried.back()->type(), block_)));
      return Emitter::Round{next, e_.less(step, left)};
    });
    return fromTotal(last[0]);
  }

  // Adds `count` terms, at least one. All but the last call of a sum take whole groups.
  State run(State s, Index count) {
    const Index perRound = Emitter::constant(group_);
    if (count.isConst() && count.most <= group_) return terms(s, count);
    Values initial = s.values(sparse_);
    const bool wide = count.most > std::numeric_limits<uint32_t>::max();
    initial.push_back(wide ? e_.as64(count) : e_.as32(count));
    const Values last = e_.loop(initial, [&](std::span<Value* const> carried) {
      const Index left{carried.back(), count.most};
      const State after = terms(State::of(carried.first(carried.size() - 1)),
                                count.isConst() && count.most % group_ == 0 ? perRound : left);
      Values next = after.values(sparse_);
      Value* fewer = b_.sub(carried.back(), b_.constBits(carried.back()->type(), group_));
      next.push_back(fewer);
      Value* again = sparse_ ? e_.less(perRound, left)
                             : b_.compare(Opcode::CmpNe, fewer, b_.constBits(fewer->type(), 0));
      return Emitter::Round{next, again};
    });
    return State::of(std::span<Value* const>(last).first(last.size() - 1));
  }

  // One term, or those of one group of which `left` logical values exist.
  State terms(State s, Index left) {
    const Index strideA = e_.colStride(matrixA_), strideB = e_.rowStride(matrixB_);
    if (!sparse_) {
      Value* a = loadFactor(matrixA_, s.a);
      s.sum = multiplyAdd(a, loadFactor(matrixB_, s.b), s.sum);
      s.a = e_.advance(matrixA_, s.a, strideA);
      s.b = e_.advance(matrixB_, s.b, strideB);
      return s;
    }
    Value* mask = safeMask(b_.cast(Opcode::ZExt, b_.load(ir::kI8, s.mask), ir::kI32));
    const bool whole = left.isConst() && left.most >= group_;
    for (uint32_t i = 0; i < group_ / 2; ++i) {
      // The lowest bit that is set is the position; then it is cleared.
      Value* below = b_.sub(mask, b_.constBits(ir::kI32, 1));
      Value* position = b_.unary(
          Opcode::Popcount,
          b_.binary(Opcode::And, b_.binary(Opcode::Xor, mask, b_.constBits(ir::kI32, ~0u)), below));
      mask = b_.binary(Opcode::And, mask, below);
      const Index offset{position, group_ - 1};
      const State now = s;
      s.sum = e_.branch(
          whole ? b_.constBool(true) : e_.less(offset, left),
          [&] {
            Value* place = e_.advance(matrixB_, now.b, e_.mul(offset, strideB));
            Value* a = loadFactor(matrixA_, now.a);
            return Values{multiplyAdd(a, loadFactor(matrixB_, place), now.sum)};
          },
          [&] { return Values{now.sum}; })[0];
      s.a = e_.advance(matrixA_, s.a, strideA);
    }
    s.b = e_.advance(matrixB_, s.b, e_.mul(Emitter::constant(group_), strideB));
    s.mask = e_.at(s.mask, Emitter::constant(1), ir::kI8);
    return s;
  }

  // The mask, or one with the low half set if it has the wrong number of bits.
  Value* safeMask(Value* mask) {
    auto constant = [&](uint32_t c) { return b_.constBits(ir::kI32, c); };
    mask = b_.binary(Opcode::And, mask, constant((1u << group_) - 1));
    Value* bits = b_.unary(Opcode::Popcount, mask);
    Value* right = b_.compare(Opcode::CmpEq, bits, constant(group_ / 2));
    return b_.select(right, mask, constant((1u << (group_ / 2)) - 1));
  }

  Value* loadFactor(const StoredMatrix& x, Value* place) {
    return factor_.isFloat() ? e_.loadFloat(x, place, factor_) : e_.loadInteger(x, place, factor_);
  }

  Value* multiplyAdd(Value* x, Value* y, Value* sum) {
    if (factor_.isFloat()) {
      const bool nearest = p_.desc.rounding == ir::Rounding::Default ||
                           p_.desc.rounding == ir::Rounding::NearestEven;
      return nearest ? b_.fma(x, y, sum) : directedFma(b_, x, y, sum, p_.desc.rounding);
    }
    constexpr Opcode kMath[] = {Opcode::Mul, Opcode::Xor, Opcode::And};
    Value* product = b_.binary(kMath[static_cast<int>(p_.desc.math)], x, y);
    if (sum_ == ir::kI64) product = b_.cast(Opcode::SExt, product, sum_);
    return b_.add(sum, product);
  }

  // The sum of a block from k on with its scales, added to `total`.
  Value* scaledSum(Value* sum, Index k, Value* total) {
    Value* scale = nullptr;
    auto apply = [&](ScaleMode mode, ElementFormat format, Value* base, Index line, Index leading) {
      if (mode == ScaleMode::None) return;
      Index at = Emitter::constant(0);
      if (const uint32_t block = ir::scaleBlock(mode)) {
        at = e_.add(e_.mul(line, leading), e_.div(k, Emitter::constant(block)));
      }
      Value* code = b_.load(ir::kI8, e_.at(base, at, ir::kI8));
      Value* factor = b_.decode(code, elementInfo(format).format, ir::kF64);
      scale = scale ? b_.binary(Opcode::FMul, scale, factor) : factor;
    };
    apply(p_.desc.aScale, p_.desc.aScaleFormat, p_.scaleA, row_, p_.ldsa);
    apply(p_.desc.bScale, p_.desc.bScaleFormat, p_.scaleB, col_, p_.ldsb);
    return b_.fma(e_.convert(sum, ir::kF64), scale, total);
  }

  Value* toTotal(Value* addend) {
    if (total_ == ir::kI64) return b_.cast(Opcode::SExt, addend, total_);
    return total_.isFloat() ? e_.convert(addend, total_) : addend;
  }
  Value* fromTotal(Value* total) {
    if (total_ == ir::kI64) {
      auto constant = [&](int64_t c) { return b_.constInt(ir::kI64, c); };
      using Limits = std::numeric_limits<int32_t>;
      total = b_.binary(Opcode::SMax, total, constant(Limits::min()));
      total = b_.binary(Opcode::SMin, total, constant(Limits::max()));
      return b_.cast(Opcode::Trunc, total, ir::kI32);
    }
    if (!total_.isFloat()) return total;
    return e_.convert(e_.convert(total, storageType(p_.desc.acc)), storageType(p_.desc.result));
  }

  Emitter& e_;
  ir::Builder& b_;
  const Product& p_;
  StoredMatrix matrixA_, matrixB_;
  Index kBegin_;  // Of the current element: the first term,
  Index count_;   // and how many.
  bool scaled_ = false, sparse_ = false;
  uint32_t block_ = 0;  // 0: the scales are the same all along K.
  uint32_t group_ = 1;
  Type factor_, sum_;  // Of elements, and of what is added without scales.
  Type total_;
  Index row_, col_;
};

}  // namespace

void replayProduct(Emitter& e, const Product& p) {
  auto elements = [&] {
    e.order(p.desc.scope);
    Dot dot(e, p);
    e.forEachElement(p.desc.scope, p.rows, p.cols, p.matrixD().byRow,
                     [&](Index row, Index col) { dot.element(row, col); });
    e.orderAfter(p.desc.scope);
  };
  if (!p.begun()) return elements();
  ir::Builder& b = e.builder;
  Value* whole = b.binary(Opcode::And, e.equal(p.doneRows, p.rows), e.equal(p.doneCols, p.cols));
  Value* complete = b.binary(Opcode::And, whole, e.equal(p.doneK, p.k));
  e.branch(b.binary(Opcode::Xor, complete, b.constBool(true)), elements);
}

void replayCopy(Emitter& e, const Product& p) {
  e.order(p.desc.scope);
  const StoredMatrix c = p.matrixC(), d = p.matrixD();
  const Type type = storageType(p.desc.result);
  e.forEachElement(p.desc.scope, p.rows, p.cols, d.byRow, [&](Index row, Index col) {
    const Index r = e.add(p.row, row), q = e.add(p.col, col);
    Value* element = e.builder.load(type, e.place(c, r, q));
    e.builder.store(type, element, e.place(d, r, q));
  });
  e.orderAfter(p.desc.scope);
}

}  // namespace mtlc::transforms
