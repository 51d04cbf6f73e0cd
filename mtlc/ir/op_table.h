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
  Const,           // %r = const 5 : T
  Unary,           // %r = neg %a : T
  Binary,          // %r = add %a, %b : T
  Ternary,         // %r = fma %a, %b, %c : T
  Compare,         // %r = cmp.slt %a, %b : T             result i1
  Select,          // %r = select %c, %a, %b : T          %c is i1
  Cast,            // %r = sext %a : T to U
  GpuIndex,        // %r = gpu.thread_id x : i32
  PtrAdd,          // %r = ptr.add %p, %i x E : T         %i is i64, result T
  Load,            // %r = load E, %p : T                 result E
  Store,           // store E, %v, %p : T
  Alloc,           // %r = alloc.private E[n] : T
  AllocDynamic,    // %r = alloc.dynamic E : T
  Barrier,         // barrier {workgroup, global} acq_rel
  Fence,           // fence {workgroup, global} acq_rel device
  AtomicLoad,      // %r = atomic.load E, %p : T acquire device
  AtomicStore,     // atomic.store E, %p, %v : T release device
  AtomicRmw,       // %r = atomic.rmw umax E, %p, %v : T relaxed device
  AtomicCas,       // %r = atomic.cas E, %p, %expected, %desired : T seq_cst acquire device
  SubgroupIndex,   // %r = subgroup.size : i32
  SubgroupLane,    // %r = subgroup.shuffle %v, %lane : T        %lane is i32
  SubgroupReduce,  // %r = subgroup.reduce umax %v : T
  SubgroupBallot,  // %r = subgroup.ballot %p, %word : i32       %p is i1, %word i32
  SubgroupVote,    // %r = subgroup.any %p                       i1
  AsyncCopy,       // async.copy %dst, %src, 64 x E transaction 16 cache global
  AsyncCommit,     // async.commit
  AsyncWait,       // async.wait 1
  Encode,          // %r = encode e4m3 sat %x : T                result i8
  Decode,          // %r = decode e4m3 %code : T                 %code is i8
  Mma,             // tensor.mma a=%a, b=%b, c=%c, d=%d {m16n16k16, a=f16, acc=f32}
  Epilogue,        // tensor.epilogue d=%d, bias=%b {m16n16, element=f32, bias=row}
  Transfer,   // tensor.transfer dst=%d, src=%s, x0=%x {direction=load, element=f16, tile=[64], …}
  AccCommit,  // tensor.acc.commit %t
  FuncAddr,   // %r = func.addr @f : ptr<generic>
  CallIndirect,  // %r = call.indirect %f(%a, %b) : R          or: call.indirect %f(%a, %b)
  Launch,        // gpu.launch @k grid(%x, %y, %z) block(%x, %y, %z) shared(%n) stream(%s) (%a)
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
  Word,     // i32, f32
  Payload,  // i16 i32 i64 f16 bf16 f32 f64
  Tile,
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
