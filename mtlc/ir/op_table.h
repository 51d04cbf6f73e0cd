// What the table ops.def says about each operation.

#ifndef MTLC_IR_OP_TABLE_H_
#define MTLC_IR_OP_TABLE_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace mtlc::ir {

enum class Opcode : uint8_t {
#define OP(Enum, mnemonic, form, cls, effect, conv, traits) Enum,
#include "mtlc/ir/ops.def"
};
inline constexpr int kOpcodeCount = 0
#define OP(Enum, mnemonic, form, cls, effect, conv, traits) +1
#include "mtlc/ir/ops.def"
    ;

// Operands, result and text syntax. `T` is the type written after ':'.
enum class Form : uint8_t {
  Const,         // %r = const 5 : T
  Unary,         // %r = neg %a : T
  Binary,        // %r = add %a, %b : T
  Ternary,       // %r = fma %a, %b, %c : T
  Compare,       // %r = cmp.slt %a, %b : T             result i1
  Select,        // %r = select %c, %a, %b : T          %c is i1
  Cast,          // %r = sext %a : T to U
  GpuIndex,      // %r = gpu.thread_id x : i32
  PtrAdd,        // %r = ptr.add %p, %i x E : T         %i is i64, result T
  Load,          // %r = load E, %p : T                 result E
  Store,         // store E, %v, %p : T
  Alloc,         // %r = alloc.private E[n] : T
  AllocDynamic,  // %r = alloc.dynamic E : T
  Barrier,       // barrier {workgroup, global} acq_rel
  Call,          // %r = call @f(%a, %b) : R            or: call @f(%a, %b)
  Jump,          // jump ^b(%x)
  Branch,        // br %c, ^t(%x), ^f
  Return,        // ret %v                              or: ret
};

enum class TypeClass : uint8_t {
  None,
  Int,  // i8 i16 i32 i64
  I32,
  IntOrBool,  // … and i1
  IntOrPtr,
  IntOrBoolOrPtr,
  Float,     // f16 bf16 f32 f64
  Scalar,    // integers, i1, floats
  AnyValue,  // scalars and pointers
  Ptr,
};

enum class Effect : uint8_t { None, Read, Write, ReadWrite };
enum class Convergence : uint8_t { None, Subgroup, Workgroup };

enum OpTrait : uint8_t {
  Commutative = 1 << 0,
  Terminator = 1 << 1,
  FastMath = 1 << 2,  // May carry FastMathFlags.
  Approx = 1 << 3,    // May carry kApprox.
  Math = 1 << 4,      // Expanded by expand-math where a target has no instruction for it.
  Identity = 1 << 5,  // Each execution makes a distinct thing; never merged with an equal one.
};

struct OpInfo {
  std::string_view mnemonic;
  Form form;
  TypeClass typeClass;
  Effect effect;
  Convergence convergence;
  uint8_t traits;

  bool has(OpTrait trait) const { return (traits & trait) != 0; }
};

namespace detail {
inline constexpr OpInfo kOpTable[kOpcodeCount] = {
#define OP(Enum, mnemonic, form, cls, effect, conv, traits) \
  {mnemonic, Form::form, TypeClass::cls, Effect::effect, Convergence::conv, (traits)},
#include "mtlc/ir/ops.def"
};
}  // namespace detail

inline constexpr const OpInfo& opInfo(Opcode opcode) {
  return detail::kOpTable[static_cast<uint8_t>(opcode)];
}
std::optional<Opcode> opcodeFromMnemonic(std::string_view mnemonic);

// The comparison that holds exactly when `opcode` does not (cmp.slt → cmp.sge, fcmp.olt →
// fcmp.uge).
Opcode invertedCompare(Opcode opcode);
// The comparison with its operands exchanged (cmp.slt → cmp.sgt).
Opcode swappedCompare(Opcode opcode);

}  // namespace mtlc::ir

#endif  // MTLC_IR_OP_TABLE_H_
