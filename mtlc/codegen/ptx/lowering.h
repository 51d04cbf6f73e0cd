// Instruction selection: one IR function to machine code in SSA form (machine.h).
//
// Two passes over the blocks in layout order. The first runs backwards: it decides what each
// operation takes from its operands (a load takes the base of its address, not the ptr.add) and
// counts, so that what is left without a use is never emitted. The second runs forwards and emits.
// Both ask the same questions of match.h, whose answers depend on the IR alone.
//
// i8 and i16 values live in 32-bit registers. Only the low bits count; what the upper bits hold is
// known for each value (ExtMask), and operations that look at them ask for what they need. A value
// that is asked for it is extended once, where it is made, or loaded that way in the first place.

#ifndef MTLC_CODEGEN_PTX_LOWERING_H_
#define MTLC_CODEGEN_PTX_LOWERING_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mtlc/codegen/ptx/layout.h"
#include "mtlc/codegen/ptx/machine.h"
#include "mtlc/codegen/ptx/ptx.h"
#include "mtlc/codegen/ptx/tensor_order.h"
#include "mtlc/ir/ir.h"
#include "mtlc/support/diagnostics.h"

namespace mtlc::ptx {

// What the bits above a narrow value hold in its register; also what its users want there.
enum ExtMask : uint8_t {
  kExtNone = 0,
  kExtZero = 1,
  kExtSign = 2,
  kExtBoth = kExtZero | kExtSign,  // As a state: non-negative, so that both hold.
  kExtSame = 4,  // As a demand: one of the two, the same as that of another operand (cmp.eq).
};

class TensorLowering;

class FunctionLowering {
 public:
  // `tiles` has to live as long.
  FunctionLowering(const PtxOptions& options, const TileFunctions& tiles, DiagnosticEngine& diags);
  ~FunctionLowering();

  // Fills `out`. `symbolPrefix` is the function's PTX name; symbols of its arrays start with it.
  // Writes the scratch fields of the function's values, operations and blocks.
  void lower(ir::Function& function, std::string_view symbolPrefix, MachineFunction& out);

 private:
  friend class TensorLowering;
  struct ValueInfo {
    Opnd opnd;
    uint32_t uses = 0;  // By emitted operations, as a register or immediate.
    uint8_t demand = kExtNone;
    uint8_t state = kExtNone;
  };

  // ---- First pass (needs.cc) ----
  bool scan(bool legalized);
  void observePointers(const ir::Operation& op);
  void declareArray(ir::Operation& op);
  void checkArrays();
  void collectNeeds();
  void needOp(ir::Operation& op);
  void needAddress(const ir::Value* pointer);
  void needPtrAdd(ir::Operation& op);
  void needAdd(ir::Operation& op);
  void needExtended(ir::Operation& op);
  void need(const ir::Value* v, uint8_t demand = kExtNone) {
    ValueInfo& i = info(v);
    ++i.uses;
    i.demand |= demand;
  }
  void propagateDemands();

  // ---- Second pass ----
  void lowerBlock(ir::Block& block, uint32_t index);
  void lowerParams();
  void lowerOp(ir::Operation& op);
  void lowerTerminator(ir::Operation& op, MachineBlock& block);
  void lowerEdge(const ir::Successor& successor, MachineEdge& edge);

  // Integers (lower_int.cc).
  void lowerAdd(ir::Operation& op);
  void lowerMul(ir::Operation& op);
  void lowerMulHi(ir::Operation& op, bool isSigned);
  void lowerDivision(ir::Operation& op, bool isSigned, bool remainder);
  void lowerShift(ir::Operation& op);
  void lowerBitwise(ir::Operation& op);
  void lowerMinMax(ir::Operation& op, MachineOp mop, bool isSigned);
  void lowerAbs(ir::Operation& op);
  void lowerCount(ir::Operation& op, MachineOp mop);
  void lowerIntCast(ir::Operation& op);
  void lowerTrunc(ir::Operation& op);

  // Floats (lower_float.cc).
  void lowerFloatArith(ir::Operation& op);
  bool lowerContracted(ir::Operation& op);
  void lowerFma(ir::Operation& op);
  Opnd emitFma(ir::Type type, Opnd a, Opnd b, Opnd c, const ir::Operation& of);
  Opnd useFloat(const ir::Value* v);
  void lowerFloatDivSqrt(ir::Operation& op);
  void lowerSignBit(ir::Operation& op);
  void lowerFloatMinMax(ir::Operation& op);
  void lowerRounding(ir::Operation& op);
  void lowerMath(ir::Operation& op);

  // Conversions (lower_convert.cc).
  void lowerFConv(ir::Operation& op);
  void lowerFloatToInt(ir::Operation& op, bool isSigned);
  void lowerIntToFloat(ir::Operation& op, bool isSigned);
  void lowerBitcast(ir::Operation& op);
  void lowerEncode(ir::Operation& op);
  void lowerDecode(ir::Operation& op);
  // A 16-bit float as f32 (exact), and back with one rounding, or none when `exact`.
  Opnd halfToF32(const ir::Value* v);
  Opnd halfRegToF32(ir::Type type, Opnd half);
  Opnd f32ToHalf(ir::Type type, Opnd value, bool exact);
  // `rz` is x rounded toward zero to f32; sets its last bit when that was inexact, as `inexact`
  // says. A value rounded to odd can be rounded again to a format of at most 22 bits as if it never
  // had been (Boldo and Melquiond, 2008).
  Opnd roundToOdd(Opnd rz, Opnd inexact);
  Opnd f64ToOddF32(Opnd a);

  // Comparisons and selection (lower_select.cc).
  void lowerCompare(ir::Operation& op);
  Opnd emitCompare(ir::Operation& op, BoolOp boolOp, Opnd with);
  Opnd emitLogic(bool isAnd, Opnd a, Opnd b);
  void lowerBoolLogic(ir::Operation& op);
  void lowerSelect(ir::Operation& op);

  // Memory (lower_memory.cc).
  void lowerAlloc(ir::Operation& op);
  void lowerPtrAdd(ir::Operation& op);
  void lowerLoad(ir::Operation& op);
  void lowerStore(ir::Operation& op);
  void lowerPointerCast(ir::Operation& op);
  void lowerGpuIndex(ir::Operation& op);
  void lowerCall(ir::Operation& op);

  // Fences, atomics, subgroups (lower_gpu.cc).
  void lowerFence(ir::Operation& op);
  void lowerAtomic(ir::Operation& op);
  void emitFence(ir::MemoryOrder order, ir::Scope scope);
  void lowerShuffle(ir::Operation& op);
  void lowerReduce(ir::Operation& op);
  void lowerBallot(ir::Operation& op);
  void lowerVote(ir::Operation& op);
  Opnd laneId();
  void computeWarpMask();
  // A 32-bit register moved between lanes.
  Opnd shuffle(MachineOp mop, RegClass cls, Opnd value, Opnd lane, Opnd clamp);
  Opnd combine(ir::CombineKind kind, Opnd a, Opnd b);

  // Staging and transfers (lower_async.cc).
  void lowerAsyncCopy(ir::Operation& op);
  void lowerTransfer(ir::Operation& op);
  void prepareTransfer(const ir::Operation& op);
  void needTransfer(const ir::Operation& op);
  Opnd isFirstThread();

  struct Address {
    StateSpace space;
    bool readOnly;
    Opnd base;
    int32_t offset;
  };
  Address address(const ir::Value* pointer);

  // ---- Emission helpers (lowering.cc) ----
  ValueInfo& info(const ir::Value* v) { return values_[v->scratch]; }
  Opnd newReg(RegClass cls) {
    out_->regs.push_back(cls);
    return Opnd::reg(static_cast<uint32_t>(out_->regs.size() - 1));
  }
  Opnd imm(uint64_t bits);
  MachineInst& append(MachineOp op, PtxType type, Opnd dst, std::initializer_list<Opnd> sources);
  // Appends an instruction of many operands: begin with its spelling, then add its groups, those of
  // the destinations first.
  struct Group {
    OperandGroup::Kind kind;
    std::span<const Opnd> operands;
    int32_t offset = 0;
    bool isDestination = false;
  };
  static Group plain(const Opnd& o) { return {OperandGroup::Kind::Plain, {&o, 1}}; }
  static Group vector(std::span<const Opnd> list) { return {OperandGroup::Kind::Vector, list}; }
  // A vector, or its only element alone.
  static Group vectorOrPlain(std::span<const Opnd> list) {
    return {list.size() == 1 ? OperandGroup::Kind::Plain : OperandGroup::Kind::Vector, list};
  }
  static Group addressed(const Opnd& base, int32_t offset) {
    return {OperandGroup::Kind::Address, {&base, 1}, offset};
  }
  static Group guard(const Opnd& predicate) { return {OperandGroup::Kind::Guard, {&predicate, 1}}; }
  static Group result(Group group) {
    group.isDestination = true;
    return group;
  }
  MachineInst& appendGrouped(std::string spelling, std::initializer_list<Group> groups,
                             bool convergent = false);
  // Appends `op` into a new register.
  Opnd emit(MachineOp op, PtxType type, RegClass cls, std::initializer_list<Opnd> sources) {
    Opnd dst = newReg(cls);
    append(op, type, dst, sources);
    return dst;
  }
  Opnd emitCvt(Round round, PtxType to, PtxType from, RegClass cls, Opnd a);
  Opnd emitSetp(CmpOp cmp, PtxType type, Opnd a, Opnd b);
  Opnd emitFtz(MachineOp op, PtxType type, RegClass cls, std::initializer_list<Opnd> sources,
               const ir::Operation& of);

  // The operand for v: register, immediate or negated predicate.
  Opnd use(const ir::Value* v) { return info(v).opnd; }
  // As a register; an immediate or symbol is moved into one.
  Opnd useReg(const ir::Value* v);
  Opnd inReg(Opnd opnd, ir::Type type);
  // A narrow value whose upper bits are as wanted; wider ones as they are.
  Opnd useExt(const ir::Value* v, ExtMask ext);
  Opnd useExt(const ir::Value* v, bool isSigned) {
    return useExt(v, isSigned ? kExtSign : kExtZero);
  }
  Opnd signedImm(Opnd immediate, ir::Type type);
  Opnd extend(Opnd reg, ir::Type type, ExtMask ext);
  // A predicate register that is not negated.
  Opnd usePred(const ir::Value* v);
  Opnd plainPred(Opnd opnd);
  Opnd notPred(Opnd opnd);

  // Binds the result of `op`; a narrow one is extended here if its users ask for more than `state`.
  void define(const ir::Operation& op, Opnd opnd, uint8_t state = kExtNone);
  void defineValue(const ir::Value* v, Opnd opnd, uint8_t state);

  RegClass classOf(ir::Type type) const;
  // The type that integer arithmetic on it is done in, b16 … for moves and memory.
  PtxType bitsType(ir::Type type) const;
  PtxType signedType(ir::Type type) const;
  PtxType unsignedType(ir::Type type) const;
  // Pointers into workgroup and private memory take 32 bits where nobody looks at more.
  bool isNarrowPointer(ir::Type type) const {
    return type.isPtr() && narrowPointers_[static_cast<int>(type.space())];
  }

  const PtxProfile& profile_;
  PtxTargetInfo targetInfo_;
  DiagnosticEngine& diags_;
  ir::Function* function_ = nullptr;
  MachineFunction* out_ = nullptr;
  std::string_view symbolPrefix_;
  BlockLayout layout_;
  std::vector<ValueInfo> values_;  // By Value::scratch.
  bool narrowPointers_[ir::kSpaceCount] = {};
  uint64_t workgroupBytes_ = 0, privateBytes_ = 0;
  bool inEntry_ = false;
  SourceLoc loc_;
  Opnd special_[13];  // Special registers already read in the entry block.
  // The lanes of the warp that exist, and how many: of functions with subgroup operations.
  bool needsWarpMask_ = false;
  Opnd warpMask_, warpLanes_;
  uint32_t transferBarrier_ = 0;  // Symbol of the mbarrier of transfers, 0 without.
  // Of functions with tiles; otherwise nullptr.
  std::unique_ptr<TensorLowering> tensor_;
  const TileFunctions& tiles_;
  TensorOrder order_;
};

}  // namespace mtlc::ptx

#endif  // MTLC_CODEGEN_PTX_LOWERING_H_
