// What the parts of tensor-legalize build code with: index arithmetic that folds, structured
// control flow, elements of matrices in memory, and the work-items of a scope.

#ifndef MTLC_TRANSFORMS_TENSOR_EMIT_H_
#define MTLC_TRANSFORMS_TENSOR_EMIT_H_

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "mtlc/ir/builder.h"
#include "mtlc/ir/descriptors.h"
#include "mtlc/ir/ir.h"

namespace mtlc::transforms {

using Values = std::vector<ir::Value*>;

// An unsigned number: a constant, or a value of i32 or i64. What is known not to exceed 32 bits
// stays an i32; the rest is computed modulo 2^64.
struct Index {
  ir::Value* value = nullptr;  // nullptr: the constant `most`.
  uint64_t most = 0;           // Upper bound.

  bool isConst() const { return value == nullptr; }
  bool is(uint64_t c) const { return isConst() && most == c; }
};

// The work-items that execute an operation together.
struct Crew {
  Index rank;  // Of this one, from 0.
  Index size;  // How many are live.
};

// A matrix in memory.
struct StoredMatrix {
  ir::Value* base = nullptr;
  ElementFormat format = ElementFormat::F32;
  bool dense = false;  // Elements follow each other bit by bit.
  bool byRow = true;   // Elements of a row are neighbours, else those of a column.
  Index leading;       // In elements.

  static StoredMatrix of(ir::Value* base, ElementFormat format, ir::Packing packing,
                         ir::Layout layout, bool transposed, Index leading) {
    return {base, format, packing == ir::Packing::Dense && elementInfo(format).isSubByte(),
            (layout == ir::Layout::Row) != transposed, leading};
  }
};

class Emitter {
 public:
  explicit Emitter(ir::Function& function) : builder(function.module()), function_(function) {}

  ir::Builder builder;
  ir::Function& function() const { return function_; }

  // ---- Places ----

  // Splits the block before `op`: code goes between what is before `op` and `op`, until finish().
  void begin(ir::Operation* op);
  void finish();

  // ---- Index arithmetic ----

  static Index constant(uint64_t c) { return {nullptr, c}; }
  // i32 or i64, unsigned.
  static Index index(ir::Value* v);
  ir::Value* as32(Index i);  // i.most < 2^32
  ir::Value* as64(Index i);
  Index add(Index a, Index b);
  Index mul(Index a, Index b);
  // a - b where that is not negative.
  Index sub(Index a, Index b);
  // a - b, or 0.
  Index subOrZero(Index a, Index b);
  Index min(Index a, Index b);
  Index div(Index a, Index b);
  Index rem(Index a, Index b);
  Index ceilDiv(Index a, uint64_t powerOfTwo);
  ir::Value* less(Index a, Index b);  // i1
  ir::Value* equal(Index a, Index b);
  ir::Value* allOf(std::span<ir::Value* const> conditions);  // true if there is none

  ir::Value* at(ir::Value* base, Index i, ir::Type elem);

  // ---- Control flow ----

  // Code of one arm, and what it gives.
  using Arm = std::function<Values()>;
  Values branch(ir::Value* condition, const Arm& then, const Arm& otherwise);
  void branch(ir::Value* condition, const std::function<void()>& then);

  // One round of a loop: takes the carried values; gives the next ones and says whether there is
  // another round.
  struct Round {
    Values next;
    ir::Value* again = nullptr;
  };
  // The carried values after the last round; there is at least one.
  Values loop(const Values& initial,
              const std::function<Round(std::span<ir::Value* const>)>& round);
  // `body` for i = begin, begin + step, … below end. `step` is positive.
  void forEach(Index begin, Index end, Index step, const std::function<void(Index)>& body);

  // ---- Scopes ----

  // Computed once, at the top of the function.
  const Crew& crew(ir::Scope scope);
  // Orders the memory of all work-items of the scope; nothing where that has just been done.
  void order(ir::Scope scope);
  // The same as the last step before finish(), after which it may be about to be done.
  void orderAfter(ir::Scope scope);
  // Calls body(row, column) for each place of a matrix, distributed over the scope; neighbours
  // along the rows, or the columns, go to neighbouring work-items. The product of the extents has
  // 32 bits.
  void forEachElement(ir::Scope scope, Index rows, Index cols, bool byRow,
                      const std::function<void(Index, Index)>& body);

  // ---- Elements ----

  // Where an element is: a pointer to it, or, of a dense matrix, its bit offset from the base.
  ir::Value* place(const StoredMatrix& x, Index row, Index col);
  // From one row, or column, to the next, as advance() takes it.
  Index rowStride(const StoredMatrix& x) { return x.byRow ? x.leading : constant(1); }
  Index colStride(const StoredMatrix& x) { return x.byRow ? constant(1) : x.leading; }
  ir::Value* advance(const StoredMatrix& x, ir::Value* place, Index elements);
  // The code of the element in the least integer type, bits above the code cleared.
  ir::Value* loadCode(const StoredMatrix& x, ir::Value* place);
  // The value of a float in `type`, f32 or f64, exactly; tf32 is rounded as tensor inputs are.
  ir::Value* loadFloat(const StoredMatrix& x, ir::Value* place, ir::Type type);
  // The value of an integer, sign or zero extended.
  ir::Value* loadInteger(const StoredMatrix& x, ir::Value* place, ir::Type type);

  ir::Value* convert(ir::Value* v, ir::Type type) {
    return v->type() == type ? v : builder.cast(ir::Opcode::FConv, v, type);
  }

 private:
  ir::Block* newBlock();  // After the current one.
  std::pair<ir::Value*, ir::Value*> common(Index a, Index b);
  ir::Value* roundTf32(ir::Value* bits);

  ir::Function& function_;
  ir::Block* rest_ = nullptr;
  std::array<Crew, 2> crews_;
  std::array<bool, 2> hasCrew_{};
};

// The type that holds elements of a format of 8 bits or more.
ir::Type storageType(ElementFormat format);

}  // namespace mtlc::transforms

#endif  // MTLC_TRANSFORMS_TENSOR_EMIT_H_
