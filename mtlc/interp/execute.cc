// What each operation does. Scalar semantics come from support/scalar_ops.h; a forgotten operation
// is a compile error, since no switch here has a default case.

#include <algorithm>

#include "mtlc/interp/block_runner.h"
#include "mtlc/support/math/eval.h"
#include "mtlc/support/scalar_ops.h"

namespace mtlc::interp {
namespace {

using ir::Opcode;

// A deeper nest of calls is a fault: recursion without end, most likely.
constexpr size_t kMaxCallDepth = 1 << 16;

FloatKind floatKind(ir::TypeKind type) {
  static_assert(static_cast<int>(ir::TypeKind::F64) - static_cast<int>(ir::TypeKind::F16) ==
                static_cast<int>(FloatKind::F64));
  return static_cast<FloatKind>(static_cast<int>(type) - static_cast<int>(ir::TypeKind::F16));
}

// `ftz`: a subnormal float32 becomes a zero of its sign.
uint64_t flushed(uint64_t f32) { return (f32 & 0x7F800000) == 0 ? f32 & 0x80000000 : f32; }

uint32_t component(const Dim3& d, uint64_t dim) { return dim == 0 ? d.x : dim == 1 ? d.y : d.z; }

// Grows a vector that is used as a stack, without ever shrinking it.
template <typename T>
void reserveTop(std::vector<T>& stack, size_t size) {
  if (size > stack.size()) stack.resize(std::max(size, stack.size() * 2));
}

}  // namespace

// Enters a function: constants in their slots, private storage uninitialised. Parameters are the
// caller's to set. May move the registers.
void BlockRunner::pushFrame(ThreadState& state, const FunctionCode& code) {
  Frame frame{&code};
  if (!state.frames.empty()) {
    const Frame& caller = state.frames.back();
    frame.firstSlot = caller.firstSlot + caller.code->slotCount;
  }
  frame.firstPrivate = static_cast<uint32_t>(state.privates.size());
  frame.privateBytes = static_cast<uint32_t>(state.privateBytes.size());
  state.frames.push_back(frame);

  reserveTop(state.regs, size_t{frame.firstSlot} + code.slotCount);
  reserveTop(state.origins, size_t{frame.firstSlot} + code.slotCount);
  Reg* slots = &state.regs[frame.firstSlot];
  slots[kZeroSlot] = {};
  for (size_t i = 0; i < code.constants.size(); ++i) slots[1 + i] = {code.constants[i], 0};

  for (const ir::Operation* op : code.privates) {
    uint32_t elem = op->elemType().bytes();
    uint32_t size = static_cast<uint32_t>(op->allocCount() * elem);
    uint32_t offset = static_cast<uint32_t>(state.privateBytes.size() + 15) & ~15u;
    state.privateBytes.resize(offset + size, kPoisonByte);
    state.privateUninit.resize(offset + size, 0xFF);
    uint64_t slot =
        (state.owner << kGenerationBits | state.generation) << kObjectBits | state.privates.size();
    // No better aligned than an element must be.
    state.privates.push_back({kPrivateLayout.base(Window::Private, slot) + elem, offset, size, op});
  }

  uint64_t taken = state.regs.capacity() * sizeof(Reg) +
                   state.origins.capacity() * sizeof(uint32_t) +
                   state.frames.capacity() * sizeof(Frame) + 2 * state.privateBytes.capacity() +
                   state.privates.capacity() * sizeof(PrivateObject);
  if (taken > state.charged) {
    launch_.budget.take(taken - state.charged);
    state.charged = taken;
  }
}

void BlockRunner::popFrame(ThreadState& state) {
  const Frame& frame = state.frames.back();
  if (state.privates.size() != frame.firstPrivate) {
    state.privates.resize(frame.firstPrivate);
    state.privateBytes.resize(frame.privateBytes);
    state.privateUninit.resize(frame.privateBytes);
    state.generation = (state.generation + 1) % (1 << kGenerationBits);
  }
  state.frames.pop_back();
}

// Reads all sources of an edge's copies, before any destination is written.
void BlockRunner::gather(const ThreadState& state, const FunctionCode& code, const Edge& edge) {
  size_t base = state.frames.back().firstSlot;
  reserveTop(copies_, edge.count);
  for (uint32_t i = 0; i < edge.count; ++i) {
    uint32_t from = code.copies[edge.first + i].from;
    copies_[i] = {state.regs[base + from], state.origins[base + from]};
  }
}

void BlockRunner::scatter(ThreadState& state, const FunctionCode& code, const Edge& edge,
                          size_t base) {
  for (uint32_t i = 0; i < edge.count; ++i) {
    uint32_t to = code.copies[edge.first + i].to;
    state.regs[base + to] = copies_[i].reg;
    state.origins[base + to] = copies_[i].origin;
  }
}

template <bool kTrace>
void BlockRunner::execute(Thread& thread, uint64_t quantum) {
  ThreadState& state = *thread.state;
  const FunctionCode* code;
  const Inst* insts;
  Reg* r;
  uint32_t* origins;
  uint32_t pc;
  auto enterFrame = [&] {
    const Frame& frame = state.frames.back();
    code = frame.code;
    insts = code->insts.data();
    r = &state.regs[frame.firstSlot];
    origins = &state.origins[frame.firstSlot];
    pc = frame.pc;
  };
  enterFrame();

  uint64_t executed = 0;
  auto leave = [&] {
    thread.steps += executed;
    instructions_ += executed;
  };
  // Follows a branch edge: the target's arguments get their values all at once.
  auto follow = [&](const Edge& edge) {
    if (edge.count == 1) {
      const Copy& copy = code->copies[edge.first];
      r[copy.to] = r[copy.from];
      origins[copy.to] = origins[copy.from];
    } else if (edge.count > 1) {
      gather(state, *code, edge);
      scatter(state, *code, edge, state.frames.back().firstSlot);
    }
    pc = edge.target;
  };

  while (executed < quantum) {
    const Inst& inst = insts[pc++];
    ++executed;
    ++byOpcode_[static_cast<size_t>(inst.opcode)];
    const unsigned w = inst.width;
    const Reg& a = r[inst.a];
    const Reg& b = r[inst.b];
    const Reg& c = r[inst.c];
    const FloatKind kind = floatKind(inst.type);
    // Operands of floating-point operations.
    auto x = [&] { return inst.flush ? flushed(a.bits) : a.bits; };
    auto y = [&] { return inst.flush ? flushed(b.bits) : b.bits; };
    auto z = [&] { return inst.flush ? flushed(c.bits) : c.bits; };

    uint64_t value = 0;  // Of operations without memory and control, which break; others continue.
    switch (inst.opcode) {
      case Opcode::Const:
        break;  // Not among the instructions: pushFrame() sets constants.

#define INT1(Enum, fn)             \
  case Opcode::Enum:               \
    value = scalar::fn(w, a.bits); \
    break;
#define INT2(Enum, fn)                     \
  case Opcode::Enum:                       \
    value = scalar::fn(w, a.bits, b.bits); \
    break;
#define INT_COMPARE(Enum, predicate)                                  \
  case Opcode::Enum:                                                  \
    value = scalar::icmp(IntPredicate::predicate, w, a.bits, b.bits); \
    break;
#define FLOAT1(Enum, fn)           \
  case Opcode::Enum:               \
    value = scalar::fn(kind, x()); \
    break;
#define FLOAT2(Enum, fn)                \
  case Opcode::Enum:                    \
    value = scalar::fn(kind, x(), y()); \
    break;
#define FLOAT_COMPARE(Enum, predicate)                                     \
  case Opcode::Enum:                                                       \
    value = scalar::fcmp(FloatPredicate::predicate, kind, a.bits, b.bits); \
    break;
#define MATH(Enum)                                                  \
  case Opcode::Enum:                                                \
    value = math::evalMathBits(math::MathFn::Enum, kind, x(), y()); \
    break;

        INT2(Add, add)
        INT2(Sub, sub)
        INT2(Mul, mul)
        INT2(SMulHi, smulhi)
        INT2(UMulHi, umulhi)
        INT2(SDiv, sdiv)
        INT2(UDiv, udiv)
        INT2(SRem, srem)
        INT2(URem, urem)
        INT1(Neg, neg)
        INT2(Shl, shl)
        INT2(LShr, lshr)
        INT2(AShr, ashr)
        INT2(SMin, smin)
        INT2(SMax, smax)
        INT2(UMin, umin)
        INT2(UMax, umax)
        INT1(Abs, abs)
        INT1(Clz, clz)
        INT1(Popcount, popcount)
      case Opcode::And:
        value = a.bits & b.bits;
        break;
      case Opcode::Or:
        value = a.bits | b.bits;
        break;
      case Opcode::Xor:
        value = a.bits ^ b.bits;
        break;

        FLOAT2(FAdd, fadd)
        FLOAT2(FSub, fsub)
        FLOAT2(FMul, fmul)
        FLOAT2(FDiv, fdiv)
        FLOAT1(FSqrt, fsqrt)
        FLOAT1(FNeg, fneg)
        FLOAT1(FAbs, fabs)
        FLOAT2(FMin, fmin)
        FLOAT2(FMax, fmax)
        FLOAT2(FMinNan, fminNan)
        FLOAT2(FMaxNan, fmaxNan)
        FLOAT1(FFloor, ffloor)
        FLOAT1(FCeil, fceil)
        FLOAT1(FTrunc, ftrunc)
        FLOAT1(FRound, fround)
        FLOAT1(FRoundEven, froundeven)
      case Opcode::Fma:
        value = scalar::fma(kind, x(), y(), z());
        break;

        MATH(RSqrt)
        MATH(Exp)
        MATH(Exp2)
        MATH(Log)
        MATH(Log2)
        MATH(Sin)
        MATH(Cos)
        MATH(Tan)
        MATH(Tanh)
        MATH(Erf)
        MATH(Pow)

        INT_COMPARE(CmpEq, Eq)
        INT_COMPARE(CmpNe, Ne)
        INT_COMPARE(CmpSlt, Slt)
        INT_COMPARE(CmpSle, Sle)
        INT_COMPARE(CmpSgt, Sgt)
        INT_COMPARE(CmpSge, Sge)
        INT_COMPARE(CmpUlt, Ult)
        INT_COMPARE(CmpUle, Ule)
        INT_COMPARE(CmpUgt, Ugt)
        INT_COMPARE(CmpUge, Uge)
        FLOAT_COMPARE(FCmpOeq, Oeq)
        FLOAT_COMPARE(FCmpOgt, Ogt)
        FLOAT_COMPARE(FCmpOge, Oge)
        FLOAT_COMPARE(FCmpOlt, Olt)
        FLOAT_COMPARE(FCmpOle, Ole)
        FLOAT_COMPARE(FCmpOne, One)
        FLOAT_COMPARE(FCmpOrd, Ord)
        FLOAT_COMPARE(FCmpUeq, Ueq)
        FLOAT_COMPARE(FCmpUgt, Ugt)
        FLOAT_COMPARE(FCmpUge, Uge)
        FLOAT_COMPARE(FCmpUlt, Ult)
        FLOAT_COMPARE(FCmpUle, Ule)
        FLOAT_COMPARE(FCmpUne, Une)
        FLOAT_COMPARE(FCmpUno, Uno)

#undef INT1
#undef INT2
#undef INT_COMPARE
#undef FLOAT1
#undef FLOAT2
#undef FLOAT_COMPARE
#undef MATH

      case Opcode::Select:
        value = c.bits != 0 ? a.bits : b.bits;
        break;

      case Opcode::Trunc:
        value = scalar::wrap(inst.resultWidth, a.bits);
        break;
      case Opcode::SExt:
        value = scalar::sext(w, inst.resultWidth, a.bits);
        break;
      case Opcode::ZExt:
      case Opcode::Bitcast:
      case Opcode::PtrToInt:
      case Opcode::IntToPtr:
      case Opcode::SpaceCast:
        value = a.bits;
        break;
      case Opcode::FConv:
        value = scalar::fconv(kind, floatKind(inst.resultType), a.bits);
        break;
      case Opcode::FToSI:
        value = scalar::ftosi(kind, inst.resultWidth, a.bits);
        break;
      case Opcode::FToUI:
        value = scalar::ftoui(kind, inst.resultWidth, a.bits);
        break;
      case Opcode::SIToF:
        value = scalar::sitof(floatKind(inst.resultType), w, a.bits);
        break;
      case Opcode::UIToF:
        value = scalar::uitof(floatKind(inst.resultType), w, a.bits);
        break;

      case Opcode::ThreadId:
        value = component(thread.id, inst.imm);
        break;
      case Opcode::BlockId:
        value = component(blockId_, inst.imm);
        break;
      case Opcode::BlockDim:
        value = component(launch_.spec.block, inst.imm);
        break;
      case Opcode::GridDim:
        value = component(launch_.spec.grid, inst.imm);
        break;

      case Opcode::PtrAdd:
        value = a.bits + b.bits * inst.imm;
        break;
      case Opcode::AllocWorkgroup:
        value = workgroupAddress(inst.imm + 1);
        break;
      case Opcode::AllocDynamic:
        value = workgroupAddress(0);
        break;
      case Opcode::AllocPrivate:
        value = state.privates[state.frames.back().firstPrivate + inst.imm].address;
        break;

      case Opcode::Load:
        r[inst.result] = load(thread, inst, r[inst.a], origins);
        if constexpr (kTrace) trace(inst, &r[inst.result]);
        continue;
      case Opcode::Store:
        store(thread, inst, r[inst.a], b, origins);
        if constexpr (kTrace) trace(inst, nullptr);
        continue;

      case Opcode::SubgroupLocalId:
        value = linearId(thread) % launch_.spec.options.subgroupSize;
        break;
      case Opcode::SubgroupSize:
        value = launch_.spec.options.subgroupSize;
        break;
      case Opcode::Encode: {
        const ir::NarrowAttr narrow = inst.op->narrow();
        value = scalar::encode(kind, narrow.format, narrow.saturate, a.bits);
        break;
      }
      case Opcode::Decode:
        value = scalar::decode(inst.op->narrow().format, floatKind(inst.resultType), a.bits);
        break;

      case Opcode::SubgroupBroadcast:
      case Opcode::SubgroupShuffle:
      case Opcode::SubgroupReduce:
      case Opcode::SubgroupScanInclusive:
      case Opcode::SubgroupScanExclusive:
      case Opcode::SubgroupBarrier:
      case Opcode::SubgroupBallot:
      case Opcode::SubgroupAny:
      case Opcode::SubgroupAll:
      case Opcode::TensorMma:
      case Opcode::TensorMatmul:
      case Opcode::TensorEpilogue:
      case Opcode::TensorTransfer:
      case Opcode::TensorAccBegin:
      case Opcode::TensorAccMma:
      case Opcode::TensorAccEpilogue:
      case Opcode::TensorAccCommit:
        state.frames.back().pc = pc;
        thread.status = ThreadStatus::AtCollective;
        thread.lastOp = inst.op;
        collectivesWait_ = true;
        return leave();

      case Opcode::Fence: {
        const ir::FenceAttr attr = inst.op->fence();
        fence(thread, attr.order, attr.scope, attr.regions);
        if constexpr (kTrace) trace(inst, nullptr);
        continue;
      }
      case Opcode::AtomicLoad:
      case Opcode::AtomicRmw:
      case Opcode::AtomicCas:
        r[inst.result] = atomic(thread, inst, r, origins);
        if constexpr (kTrace) trace(inst, &r[inst.result]);
        continue;
      case Opcode::AtomicStore:
        atomic(thread, inst, r, origins);
        if constexpr (kTrace) trace(inst, nullptr);
        continue;

      case Opcode::AsyncCopy:
        asyncCopy(thread, inst, r, origins);
        if constexpr (kTrace) trace(inst, nullptr);
        continue;
      case Opcode::AsyncCommit:
        asyncCommit(thread, inst);
        if constexpr (kTrace) trace(inst, nullptr);
        continue;
      case Opcode::AsyncWait:
        waitFor(thread, inst.op->waitCount());
        if constexpr (kTrace) trace(inst, nullptr);
        continue;
      case Opcode::FuncAddr:
      case Opcode::CallIndirect:
      case Opcode::Launch:
      case Opcode::LaunchStatus:
        continue;  // Refused before the launch.

      case Opcode::Barrier:
        if constexpr (kTrace) trace(inst, nullptr);
        state.frames.back().pc = pc;
        thread.status = ThreadStatus::AtBarrier;
        thread.lastOp = inst.op;
        return leave();

      case Opcode::Call: {
        if constexpr (kTrace) trace(inst, nullptr);
        const Edge& edge = code->edges[inst.imm];
        const FunctionCode& callee = launch_.program.function(edge.target);
        state.frames.back().pc = pc;
        if (state.frames.size() >= kMaxCallDepth ||
            state.privates.size() + callee.privates.size() > (size_t{1} << kObjectBits)) {
          reportCallDepth(thread, inst);
          return leave();
        }
        gather(state, *code, edge);
        pushFrame(state, callee);
        if (launch_.budget.exhausted()) return leave();
        scatter(state, *code, edge, state.frames.back().firstSlot + callee.firstParam);
        enterFrame();
        continue;
      }

      case Opcode::Jump:
        if constexpr (kTrace) trace(inst, nullptr);
        follow(code->edges[inst.imm]);
        continue;
      case Opcode::Br:
        if constexpr (kTrace) trace(inst, nullptr);
        if (a.uninit != 0) [[unlikely]] {
          reportUninitBranch(thread, inst, origins[inst.a]);
          r[inst.a].uninit = 0;  // Said once.
        }
        follow(code->edges[inst.imm + (a.bits != 0 ? 0 : 1)]);
        continue;

      case Opcode::Ret: {
        if constexpr (kTrace) trace(inst, nullptr);
        Reg result = a;
        uint32_t origin = origins[inst.a];
        popFrame(state);
        if (state.frames.empty()) {
          endThread(thread, inst.op);
          return leave();
        }
        enterFrame();
        const Inst& call = insts[pc - 1];
        if (call.resultType != ir::TypeKind::Void) {
          r[call.result] = result;
          origins[call.result] = origin;
        }
        continue;
      }
    }

    if (inst.flush) value = flushed(value);
    Reg result{value, 0};
    if ((a.uninit | b.uninit | c.uninit) != 0) [[unlikely]] {
      result.uninit = uninitBits(inst, a, b, c);
      origins[inst.result] = origins[a.uninit != 0 ? inst.a : b.uninit != 0 ? inst.b : inst.c];
    }
    r[inst.result] = result;
    if constexpr (kTrace) trace(inst, &result);
  }
  state.frames.back().pc = pc;
  leave();
}

template void BlockRunner::execute<false>(Thread& thread, uint64_t quantum);
template void BlockRunner::execute<true>(Thread& thread, uint64_t quantum);

}  // namespace mtlc::interp
