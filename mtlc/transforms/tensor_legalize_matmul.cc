// Native products with what they need around them: cuts, guards, edges.

#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/strings/str_format.h"
#include "mtlc/support/element_format.h"
#include "mtlc/transforms/tensor_native.h"

namespace mtlc::transforms {

using ir::Opcode;
using ir::Scope;
using ir::Slot;
using ir::Value;
using Operands = std::vector<ir::Builder::SlotOperand>;

namespace {

// Operands of native products begin at multiples of this, their lines at multiples of half of it.
constexpr uint64_t kAlignBits = 256;

// A static product takes at most this many steps of the form's k in one operation.
constexpr uint32_t kMaxSteps = 8;

unsigned distanceBits(const StoredMatrix& x) {
  const ElementInfo& info = elementInfo(x.format);
  return x.dense ? info.bits : info.bytes * 8u;
}

// Least number of elements along contiguous lines that is a whole number of alignments.
uint64_t alignedElements(const StoredMatrix& x) {
  return kAlignBits / std::gcd<uint64_t>(kAlignBits, distanceBits(x));
}

Product shapeOf(const ir::MmaDesc& desc) {
  Product p;
  p.desc = desc;
  return p;
}

// Multiples of this many rows, columns and terms keep all operands aligned; leading dimensions do
// it for even numbers of lines.
struct Steps {
  uint64_t m = 2, n = 2, k = 2;
};
Steps alignedSteps(const ir::MmaDesc& desc) {
  const Product p = shapeOf(desc);
  Steps s;
  auto take = [](uint64_t& step, const StoredMatrix& x) {
    step = std::lcm(step, alignedElements(x));
  };
  const StoredMatrix a = p.matrixA(), b = p.matrixB(), c = p.matrixC(), d = p.matrixD();
  // Stored values are half as many along K where A is sparse.
  uint64_t stored = 2;
  if (a.byRow) take(stored, a);
  s.k = desc.sparsity == ir::Sparsity::Dense ? stored : 2 * stored;
  if (!b.byRow) take(s.k, b);
  if (!a.byRow) take(s.m, a);
  if (b.byRow) take(s.n, b);
  for (const StoredMatrix* x : {&c, &d}) take(x->byRow ? s.n : s.m, *x);
  for (ir::ScaleMode mode : {desc.aScale, desc.bScale}) {
    if (const uint32_t block = ir::scaleBlock(mode)) s.k = std::lcm(s.k, block);
  }
  return s;
}

// The descriptor of tensor.acc.mma on one tile of the plan.
ir::MmaDesc tileDesc(const ir::MmaDesc& desc, uint32_t m, uint32_t n, uint32_t k) {
  ir::MmaDesc d = desc;
  d.m = m;
  d.n = n;
  d.k = k;
  d.scope = Scope::Subgroup;
  return d;
}

}  // namespace

uint32_t tuplePeak(const TensorForm& form, uint32_t accumulators) {
  const uint64_t peak = (uint64_t{accumulators} + 1) * form.accRegisters +
                        (uint64_t{form.aRegisters} + form.bRegisters);
  return static_cast<uint32_t>(std::min<uint64_t>(peak, ~uint32_t{0}));
}

std::optional<NativePlan> planNative(const ir::MmaDesc& desc, bool isMatmul, const TensorForm& form,
                                     unsigned budget, std::string* why) {
  auto refuse = [&](std::string reason) {
    *why = std::move(reason);
    return std::nullopt;
  };
  NativePlan plan;
  plan.form = form;
  if (desc.m % form.m != 0 || desc.n % form.n != 0) {
    return refuse(absl::StrFormat("a tile of %d by %d is none of native %d by %d", desc.m, desc.n,
                                  form.m, form.n));
  }
  const Steps steps = alignedSteps(desc);

  // ---- Terms ----
  const uint64_t aligned = std::lcm<uint64_t>(steps.k, form.k);
  const bool sparse = desc.sparsity != ir::Sparsity::Dense;
  plan.once = desc.overflow == ir::Overflow::Saturate;  // At the end of the sum.
  if (plan.once) {
    plan.k = form.k;
    if (!isMatmul && desc.k != plan.k) {
      return refuse(absl::StrFormat("%d terms are not one native step of %d", desc.k, form.k));
    }
  } else if (!isMatmul && desc.k % form.k == 0 && desc.k <= kMaxSteps * form.k) {
    plan.k = desc.k;
  } else if (aligned > 65535 || (!isMatmul && desc.k < aligned)) {
    return refuse(absl::StrFormat("fewer terms than the %d of native steps", aligned));
  } else {
    plan.k = static_cast<uint32_t>(aligned);
    while (!isMatmul && 2 * plan.k <= kMaxSteps / 2 * form.k && desc.k % (2 * plan.k) == 0) {
      plan.k *= 2;
    }
    if (!isMatmul && isNarrow(desc) && desc.k % plan.k != 0) {
      return refuse(absl::StrFormat(
          "%d terms are not whole steps of %d, and the sum is rounded once", desc.k, plan.k));
    }
  }

  // ---- Cuts: of those that fit, the one with the least loads of A and B. ----
  const uint32_t rows = desc.m / form.m, cols = desc.n / form.n;
  uint64_t least = ~uint64_t{0};
  for (uint32_t i = 1; i <= rows && tuplePeak(form, i) <= budget; ++i) {
    if (rows % i != 0 || (i != rows && i * form.m % steps.m != 0)) continue;
    for (uint32_t j = 1; j <= cols && tuplePeak(form, i * j) <= budget; ++j) {
      if (cols % j != 0 || (j != cols && j * form.n % steps.n != 0)) continue;
      const uint64_t loads = uint64_t{rows} * (cols / j) * std::max(form.aRegisters, 1u) +
                             uint64_t{cols} * (rows / i) * std::max(form.bRegisters, 1u);
      if (loads > least) continue;
      least = loads;
      plan.m = i * form.m;
      plan.n = j * form.n;
      plan.peak = tuplePeak(form, i * j);
    }
  }
  if (plan.m == 0) {
    plan.peak = tuplePeak(form, 1);
    return refuse(plan.peak > budget
                      ? absl::StrFormat("one native tile takes %d registers", plan.peak)
                      : std::string("aligned tiles take more registers than the budget"));
  }

  // ---- What the operations of the plan must satisfy ----
  ir::MmaDesc d = tileDesc(desc, plan.m, plan.n, plan.k);
  ir::SlotSet slots{Slot::Tile, Slot::A, Slot::B};
  if (sparse) {
    slots.add(Slot::Metadata);
    slots.add(Slot::LdMeta);
    d.ldmeta = 0;
  }
  if (desc.aScale != ir::ScaleMode::None) slots.add(Slot::ScaleA);
  if (desc.bScale != ir::ScaleMode::None) slots.add(Slot::ScaleB);
  if (desc.lda == 0) slots.add(Slot::Lda);
  if (desc.ldb == 0) slots.add(Slot::Ldb);
  if (desc.ldsa == 0 && ir::scaleBlock(desc.aScale)) slots.add(Slot::Ldsa);
  if (desc.ldsb == 0 && ir::scaleBlock(desc.bScale)) slots.add(Slot::Ldsb);
  std::vector<ir::DescriptorProblem> problems;
  ir::checkDescriptor(ir::normalizedFor(ir::MmaUse::AccMma, d), ir::MmaUse::AccMma, slots,
                      problems);
  slots = {Slot::C, Slot::D};
  if (desc.ldc == 0) slots.add(Slot::Ldc);
  if (desc.ldd == 0) slots.add(Slot::Ldd);
  ir::checkDescriptor(ir::normalizedFor(ir::MmaUse::AccBegin, d), ir::MmaUse::AccBegin, slots,
                      problems);
  if (!problems.empty()) return refuse(problems[0].field + ": " + problems[0].reason);
  return plan;
}

namespace {

class Native {
 public:
  Native(Emitter& e, const Product& p, const NativePlan& plan)
      : e_(e),
        b_(e.builder),
        p_(p),
        plan_(plan),
        a_(p.matrixA()),
        matrixB_(p.matrixB()),
        c_(p.matrixC()),
        d_(p.matrixD()) {}

  // True, for the whole scope, where the native part may run: what its operations ask for.
  Value* guard() {
    std::vector<Value*> conditions;
    const Index step = Emitter::constant(plan_.k);
    conditions.push_back(plan_.once ? e_.equal(p_.k, step) : notLess(p_.k, step));
    if (!plan_.once && isNarrow(p_.desc)) {
      conditions.push_back(e_.equal(e_.rem(p_.k, step), Emitter::constant(0)));
    }
    if (p_.desc.m == plan_.m) conditions.push_back(e_.equal(p_.rows, Emitter::constant(plan_.m)));
    if (p_.desc.n == plan_.n) conditions.push_back(e_.equal(p_.cols, Emitter::constant(plan_.n)));
    conditions.push_back(isZero(misalignment(), kAlignBits / 8 - 1));
    if (Value* lines = lineBits()) conditions.push_back(isZero(lines, kAlignBits / 2 - 1));
    conditions.push_back(fullSubgroups());
    return e_.allOf(conditions);
  }

  // All tiles of [0, rows) × [0, cols), multiples of the plan's, with `chunks` steps along K.
  void tiles(Index rows, Index cols, Index chunks) {
    const Index m = Emitter::constant(plan_.m), n = Emitter::constant(plan_.n);
    const Index across = e_.div(cols, n), count = e_.mul(e_.div(rows, m), across);
    auto one = [&](Index i) {
      tile(e_.add(p_.row, e_.mul(e_.div(i, across), m)),
           e_.add(p_.col, e_.mul(e_.rem(i, across), n)), chunks);
    };
    if (p_.desc.scope == Scope::Workgroup) {
      e_.forEach(subgroup(), count, subgroups(), one);
    } else if (count.is(1)) {
      tile(p_.row, p_.col, chunks);
    } else {
      e_.forEach(Emitter::constant(0), count, Emitter::constant(1), one);
    }
  }

 private:
  Value* notLess(Index a, Index b) {
    if (a.isConst()) return b_.constBool(a.most >= b.most);
    const bool narrow = a.most <= 0xFFFFFFFF;
    return b_.compare(Opcode::CmpUge, narrow ? e_.as32(a) : e_.as64(a),
                      narrow ? e_.as32(b) : e_.as64(b));
  }
  Value* isZero(Value* bits, uint64_t mask) {
    return b_.compare(Opcode::CmpEq, b_.binary(Opcode::And, bits, b_.constBits(bits->type(), mask)),
                      b_.constBits(bits->type(), 0));
  }
  static Value* orOf(ir::Builder& b, Value* all, Value* more) {
    return all ? b.binary(Opcode::Or, all, more) : more;
  }

  // Has a bit of an alignment's mask set where an operand of the region is not aligned.
  Value* misalignment() {
    Value* bits = nullptr;
    auto take = [&](const StoredMatrix& x, Index row, Index col) {
      Value* place = e_.place(x, row, col);
      if (x.dense) {
        // No whole byte counts as misaligned, too.
        bits = orOf(b_, bits, b_.binary(Opcode::And, place, b_.constBits(ir::kI64, 7)));
        place = bytePointer(x, place);
      }
      bits = orOf(b_, bits, b_.cast(Opcode::PtrToInt, place, ir::kI64));
    };
    const Index zero = Emitter::constant(0);
    take(a_, p_.row, zero);
    take(matrixB_, zero, p_.col);
    take(c_, p_.row, p_.col);
    if (!p_.inPlace()) take(d_, p_.row, p_.col);
    return bits;
  }
  // The lengths of lines in bits, put together by or; nullptr if they are all constants, which the
  // plan has checked.
  Value* lineBits() {
    Value* bits = nullptr;
    for (const StoredMatrix* x : {&a_, &matrixB_, &c_, &d_}) {
      if (x->leading.isConst() || (x == &d_ && p_.inPlace())) continue;
      Value* length = e_.as64(x->leading);
      bits = orOf(b_, bits, b_.mul(length, b_.constBits(ir::kI64, distanceBits(*x))));
    }
    return bits;
  }

  Value* fullSubgroups() {
    const Crew& crew = e_.crew(p_.desc.scope);
    Value* size = b_.subgroupIndex(Opcode::SubgroupSize);
    if (p_.desc.scope == Scope::Workgroup) {
      return b_.compare(Opcode::CmpEq, b_.binary(Opcode::URem, e_.as32(crew.size), size),
                        b_.constBits(ir::kI32, 0));
    }
    // The same for all of the subgroup; the vote tells whoever reads the code, too.
    return b_.subgroupVote(Opcode::SubgroupAll,
                           b_.compare(Opcode::CmpEq, e_.as32(crew.size), size));
  }
  Index subgroup() {
    const Crew& crew = e_.crew(Scope::Workgroup);
    Value* number =
        b_.binary(Opcode::UDiv, e_.as32(crew.rank), b_.subgroupIndex(Opcode::SubgroupSize));
    return {b_.subgroupLane(Opcode::SubgroupBroadcast, number, b_.constBits(ir::kI32, 0)),
            crew.rank.most};
  }
  Index subgroups() {
    const Crew& crew = e_.crew(Scope::Workgroup);
    return {b_.binary(Opcode::UDiv, e_.as32(crew.size), b_.subgroupIndex(Opcode::SubgroupSize)),
            crew.size.most};
  }

  Value* bytePointer(const StoredMatrix& x, Value* place) {
    if (!x.dense) return place;
    if (const ir::Operation* c = ir::asConst(place); c && c->constBits() == 0) return x.base;
    return b_.ptrAdd(x.base, b_.binary(Opcode::LShr, place, b_.constBits(ir::kI64, 3)), ir::kI8);
  }

  // A leading dimension: a constant of the descriptor or an operand.
  static void leading(Index value, Slot slot, uint32_t& constant, Operands& operands) {
    constant = value.isConst() ? static_cast<uint32_t>(value.most) : 0;
    if (!value.isConst()) operands.push_back({slot, value.value});
  }

  void tile(Index row, Index col, Index chunks) {
    ir::MmaDesc desc = tileDesc(p_.desc, plan_.m, plan_.n, plan_.k);
    ir::MmaDesc begin = ir::normalizedFor(ir::MmaUse::AccBegin, desc);
    Operands operands{{Slot::C, e_.place(c_, row, col)}};
    operands.push_back({Slot::D, p_.inPlace() ? operands[0].value : e_.place(d_, row, col)});
    leading(p_.ldc, Slot::Ldc, begin.ldc, operands);
    leading(p_.ldd, Slot::Ldd, begin.ldd, operands);
    Value* start = b_.accBegin(begin, operands);

    Operands shared;  // The same for each step.
    desc = ir::normalizedFor(ir::MmaUse::AccMma, desc);
    leading(p_.lda, Slot::Lda, desc.lda, shared);
    leading(p_.ldb, Slot::Ldb, desc.ldb, shared);
    const Index zero = Emitter::constant(0);
    Value* metadata = nullptr;
    if (p_.metadata) {
      leading(p_.ldmeta, Slot::LdMeta, desc.ldmeta, shared);
      metadata = e_.at(p_.metadata, e_.mul(row, p_.ldmeta), ir::kI8);
    }
    auto scale = [&](ir::ScaleMode mode, Value* base, Index line, Index ld, Slot slot,
                     uint32_t& constant) -> Value* {
      if (mode == ir::ScaleMode::None) return nullptr;
      if (!ir::scaleBlock(mode)) return base;
      leading(ld, slot, constant, shared);
      return e_.at(base, e_.mul(line, ld), ir::kI8);
    };
    Value* scaleA = scale(p_.desc.aScale, p_.scaleA, row, p_.ldsa, Slot::Ldsa, desc.ldsa);
    Value* scaleB = scale(p_.desc.bScale, p_.scaleB, col, p_.ldsb, Slot::Ldsb, desc.ldsb);

    Value* a = bytePointer(a_, e_.place(a_, row, zero));
    Value* b = bytePointer(matrixB_, e_.place(matrixB_, zero, col));
    auto step = [&](Value* tile, Value* atA, Value* atB, Value* atScaleA, Value* atScaleB,
                    Value* atMetadata) {
      Operands all = shared;
      all.push_back({Slot::Tile, tile});
      all.push_back({Slot::A, atA});
      all.push_back({Slot::B, atB});
      if (atScaleA) all.push_back({Slot::ScaleA, atScaleA});
      if (atScaleB) all.push_back({Slot::ScaleB, atScaleB});
      if (atMetadata) all.push_back({Slot::Metadata, atMetadata});
      return b_.accMma(desc, all);
    };
    if (plan_.once || chunks.is(1)) {
      b_.accCommit(step(start, a, b, scaleA, scaleB, metadata));
      return;
    }
    const uint64_t storedK = ir::storedK(p_.desc.sparsity, plan_.k);
    const Index strideA = bytes(a_, e_.mul(e_.colStride(a_), Emitter::constant(storedK)));
    const Index strideB =
        bytes(matrixB_, e_.mul(e_.rowStride(matrixB_), Emitter::constant(plan_.k)));
    Values initial{start, a, b, chunks.most > 0xFFFFFFFF ? e_.as64(chunks) : e_.as32(chunks)};
    const bool movesA = scaleA && ir::scaleBlock(p_.desc.aScale);
    const bool movesB = scaleB && ir::scaleBlock(p_.desc.bScale);
    if (movesA) initial.push_back(scaleA);
    if (movesB) initial.push_back(scaleB);
    if (metadata) initial.push_back(metadata);
    const Values last = e_.loop(initial, [&](std::span<Value* const> now) {
      size_t at = 4;
      Value* nowA = movesA ? now[at++] : scaleA;
      Value* nowB = movesB ? now[at++] : scaleB;
      Value* masks = metadata ? now[at++] : nullptr;
      Value* left = b_.sub(now[3], b_.constBits(now[3]->type(), 1));
      Values next{step(now[0], now[1], now[2], nowA, nowB, masks), e_.at(now[1], strideA, ir::kI8),
                  e_.at(now[2], strideB, ir::kI8), left};
      auto advance = [&](ir::ScaleMode mode, Value* scale) {
        const Index blocks = Emitter::constant(plan_.k / ir::scaleBlock(mode));
        next.push_back(e_.at(scale, blocks, ir::kI8));
      };
      if (movesA) advance(p_.desc.aScale, nowA);
      if (movesB) advance(p_.desc.bScale, nowB);
      if (masks) {
        const Index groups = Emitter::constant(plan_.k / ir::sparseGroup(p_.desc.sparsity));
        next.push_back(e_.at(masks, groups, ir::kI8));
      }
      return Emitter::Round{next, b_.compare(Opcode::CmpNe, left, b_.constBits(left->type(), 0))};
    });
    b_.accCommit(last[0]);
  }
  // Of that many elements, which are whole bytes.
  Index bytes(const StoredMatrix& x, Index elements) {
    if (!x.dense) return e_.mul(elements, Emitter::constant(elementInfo(x.format).bytes));
    return e_.div(e_.mul(elements, Emitter::constant(elementInfo(x.format).bits)),
                  Emitter::constant(8));
  }

  Emitter& e_;
  ir::Builder& b_;
  const Product& p_;
  const NativePlan& plan_;
  StoredMatrix a_, matrixB_, c_, d_;
};

}  // namespace

void nativeProduct(Emitter& e, const Product& p, const NativePlan& plan, bool guarded) {
  const bool byWorkgroup = p.desc.scope == Scope::Workgroup;
  Native native(e, p, plan);
  const Index step = Emitter::constant(plan.k);
  if (!guarded) {
    const Index chunks = e.div(p.k, step), done = e.mul(chunks, step);
    if (byWorkgroup) e.order(p.desc.scope);
    native.tiles(p.rows, p.cols, chunks);
    if (done.most == p.k.most) {
      if (byWorkgroup) e.orderAfter(p.desc.scope);
      return;
    }
    Product rest = p;
    rest.c = p.d;
    rest.desc.cLayout = p.desc.dLayout;
    rest.ldc = p.ldd;
    rest.kBegin = done;
    replayProduct(e, rest);
    return;
  }

  const Index m = Emitter::constant(plan.m), n = Emitter::constant(plan.n);
  Value* condition = native.guard();
  const bool wide = p.k.most > 0xFFFFFFFF;
  Product rest = p;
  auto number = [&](Index i, bool is64) { return is64 ? e.as64(i) : e.as32(i); };
  const Index zero = Emitter::constant(0);
  const Values done = e.branch(
      condition,
      [&] {
        // Whole tiles of the plan, all terms but a last part of a step.
        const bool oneTile = p.desc.m == plan.m && p.desc.n == plan.n;
        const Index rows = oneTile || p.desc.m == plan.m ? m : e.mul(e.div(p.rows, m), m);
        const Index cols = oneTile || p.desc.n == plan.n ? n : e.mul(e.div(p.cols, n), n);
        const Index chunks = plan.once ? Emitter::constant(1) : e.div(p.k, step);
        if (byWorkgroup) e.order(p.desc.scope);
        native.tiles(rows, cols, chunks);
        return Values{e.as32(rows), e.as32(cols),
                      plan.once ? number(step, wide) : number(e.mul(chunks, step), wide)};
      },
      [&] {
        return Values{e.as32(zero), e.as32(zero), number(zero, wide)};
      });
  rest.doneRows = {done[0], p.desc.m};
  rest.doneCols = {done[1], p.desc.n};
  rest.doneK = {done[2], p.k.most};
  replayProduct(e, rest);
}

}  // namespace mtlc::transforms
