// The code of one function between instruction selection and text: PTX instructions in SSA form
// over virtual registers, in blocks that still pass arguments along their edges. Plain arrays,
// built once, walked linearly.

#ifndef MTLC_CODEGEN_PTX_MACHINE_H_
#define MTLC_CODEGEN_PTX_MACHINE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mtlc/ir/ir.h"
#include "mtlc/support/source.h"

namespace mtlc::ptx {

// Kinds of virtual registers. 32- and 64-bit floats have names of their own but are declared .b32
// and .b64, so that a bitcast needs no instruction. Registers of 8 bits hold pairs of e2m1 within
// the lowering of one operation; there is no mov of theirs.
enum class RegClass : uint8_t { Pred, B8, B16, B32, F32, B64, F64 };
inline constexpr int kRegClassCount = 7;

enum class PtxType : uint8_t {
  None,
  Pred,
  B16,
  B32,
  B64,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  BF16,
  F32,
  F64,
};
// ".s32"; "" for None.
std::string_view typeSuffix(PtxType type);

enum class MachineOp : uint8_t {
#define MOP(Enum, stem, shape) Enum,
#include "mtlc/codegen/ptx/machine_ops.def"
};

// How an instruction is printed after its stem.
enum class Shape : uint8_t {
  Plain,        // [.ftz].type d, a, …;
  Bits,         // As Plain, with masks in hexadecimal.
  Operands,     // .type a, …;
  Setp,         // .cmp[.and|.or].type p, a, b[, [!]q];
  PackHigh,     // .b32 d, {0, a};
  UnpackHigh,   // .b32 {a, d}, b;      a is a register nobody reads
  Cvt,          // [.round].type.type2 d, a;
  Cvta,         // [.to].space.u64 d, a;
  Fence,        // .order.scope;
  Atom,         // .order.scope.space.op.type d, [address], a[, b];
  Red,          // .order.scope.space.op.type [address], a;
  Load,         // [.volatile].space[.cache].type d, [address];
  Store,        // [.volatile].space[.cache].type [address], a;
  LoadParam,    // .type d, [parameter];
  StoreRetval,  // .type [func_retval0], a;
  Barrier,      // 0;
  Call,
  Grouped,   // The spelling and groups of MachineGrouped.
  WaitLoop,  // label: stem p, [address], a; @!p bra label;
};

enum class CmpOp : uint8_t {
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Lo,
  Ls,
  Hi,
  Hs,
  Equ,
  Neu,
  Ltu,
  Leu,
  Gtu,
  Geu,
  Num,
  Nan,
};
enum class BoolOp : uint8_t { None, And, Or };
enum class Round : uint8_t { None, Rn, Rz, Rm, Rp, Rni, Rzi, Rmi, Rpi };
// Memory orders and scopes of PTX, as instructions spell them; None is a plain access, ScopeOnly
// the relaxed atom and red of targets without a memory model.
enum class MemOrder : uint8_t { None, ScopeOnly, Relaxed, Acquire, Release, AcqRel, Sc };
enum class MemScope : uint8_t { Cta, Gpu, Sys };
enum class AtomOp : uint8_t { Add, Min, Max, And, Or, Xor, Exch, Cas };
// State spaces of memory operations; the order is that of the name table in asm_printer.cc.
enum class StateSpace : uint8_t { Generic, Global, Shared, Local };

// An operand: a register, a negated predicate, an immediate (in MachineFunction::imms), a symbol
// (in symbols) or a special register.
class Opnd {
 public:
  enum class Kind : uint8_t { None, Reg, NotReg, Imm, Symbol, Special };
  constexpr Opnd() = default;
  static constexpr Opnd reg(uint32_t vreg) { return Opnd(Kind::Reg, vreg); }
  static constexpr Opnd imm(uint32_t index) { return Opnd(Kind::Imm, index); }
  static constexpr Opnd symbol(uint32_t index) { return Opnd(Kind::Symbol, index); }
  static constexpr Opnd special(uint32_t index) { return Opnd(Kind::Special, index); }

  constexpr Kind kind() const { return static_cast<Kind>(bits_ >> 29); }
  constexpr uint32_t index() const { return bits_ & 0x1FFFFFFF; }
  constexpr bool isNone() const { return kind() == Kind::None; }
  constexpr bool isReg() const { return kind() == Kind::Reg; }
  constexpr bool isNotReg() const { return kind() == Kind::NotReg; }
  constexpr bool readsReg() const { return isReg() || isNotReg(); }
  constexpr bool isImm() const { return kind() == Kind::Imm; }
  constexpr bool isSymbol() const { return kind() == Kind::Symbol; }
  // The other truth value of a predicate register.
  constexpr Opnd inverted() const { return Opnd(isReg() ? Kind::NotReg : Kind::Reg, index()); }
  friend constexpr bool operator==(Opnd, Opnd) = default;

 private:
  constexpr Opnd(Kind kind, uint32_t index) : bits_(static_cast<uint32_t>(kind) << 29 | index) {}
  uint32_t bits_ = 0;
};

inline constexpr int kMaxSources = 4;

struct MachineInst {
  MachineOp op;
  PtxType type = PtxType::None;
  PtxType type2 = PtxType::None;  // Cvt: of the source.
  uint8_t mod = 0;                // Setp: CmpOp; Cvt: Round; Ld, St: StateSpace; Cvta: StateSpace.
  BoolOp boolOp = BoolOp::None;   // Setp
  bool ftz = false;
  bool isVolatile = false;                   // Ld, St
  bool toSpace = false;                      // Cvta: from generic.
  bool readOnly = false;                     // Ld: .nc
  ir::CacheHint cache = ir::CacheHint::All;  // Ld, St
  MemOrder order = MemOrder::None;           // Ld, St, Fence, Atom, Red
  MemScope scope = MemScope::Gpu;
  AtomOp atom = AtomOp::Add;  // Atom, Red
  uint8_t sources = 0;
  Opnd dst;
  Opnd src[kMaxSources];  // Ld: address; St: address, value; Call: none (see MachineCall).
  // Ld, St: added to the address. LdParam: parameter number. Call, Grouped: index into calls,
  // grouped.
  int32_t offset = 0;
  SourceLoc loc;
};

// One argument passed along an edge: both are registers of one class, or `src` is an immediate.
struct MachineCopy {
  uint32_t dst;
  Opnd src;
};

struct MachineEdge {
  uint32_t target = 0;  // Block number.
  uint32_t firstCopy = 0;
  uint32_t copyCount = 0;
};

enum class Term : uint8_t { Ret, Jump, Branch };

struct MachineBlock {
  uint32_t firstInst = 0;
  uint32_t endInst = 0;
  uint32_t loopDepth = 0;
  Term term = Term::Ret;
  Opnd cond;  // Branch: edge 0 is taken when it holds.
  MachineEdge edges[2];
  SourceLoc termLoc;

  unsigned edgeCount() const { return term == Term::Ret ? 0 : term == Term::Jump ? 1 : 2; }
};

struct MachineCall {
  const ir::Function* callee;
  uint32_t firstArg;  // In callArgs.
  uint32_t argCount;
};

// One comma-separated part of an instruction whose operands are vectors and addresses.
struct OperandGroup {
  enum class Kind : uint8_t {
    Plain,    // a
    Vector,   // {a, b, …}
    Address,  // [a+offset]; with more operands [a+offset, {b, c, …}]
    Guard,    // A predicate in front of the instruction; the last group.
  };
  Kind kind = Kind::Plain;
  uint32_t first = 0;  // In MachineFunction::operands.
  uint32_t count = 0;
  int32_t offset = 0;
};

// An instruction of any number of destinations and sources: the first groups are destinations, and
// the rest is read. MachineInst::type is that of immediates.
struct MachineGrouped {
  std::string spelling;  // All up to the operands.
  uint32_t firstGroup = 0;
  uint32_t groupCount = 0;
  uint32_t dstGroups = 0;
  bool convergent = false;  // The warp executes it together.
};

// An array in .shared or .local storage; symbol 0 is the launch-sized arena.
struct MachineSymbol {
  std::string name;
  StateSpace space = StateSpace::Shared;
  uint64_t bytes = 0;
  uint32_t align = 0;
};

struct MachineFunction {
  std::vector<MachineInst> insts;
  std::vector<MachineBlock> blocks;  // In layout order.
  std::vector<uint32_t> blockArgs;   // The registers of all block arguments, block after block …
  std::vector<uint32_t>
      firstBlockArg;  // … where those of block b begin; one more entry than blocks.
  std::vector<MachineCopy> copies;
  std::vector<RegClass> regs;  // By virtual register.
  std::vector<uint64_t> imms;
  std::vector<MachineCall> calls;
  std::vector<Opnd> callArgs;
  std::vector<MachineGrouped> grouped;
  std::vector<OperandGroup> groups;
  std::vector<Opnd> operands;  // Of groups.
  std::vector<MachineSymbol> symbols;
  bool usesArena = false;  // Symbol 0 is.

  // Calls `visit(operand, isDestination)` for every operand of a grouped instruction.
  template <typename Visit>
  void forEachGrouped(const MachineInst& inst, Visit visit) const {
    const MachineGrouped& g = grouped[static_cast<size_t>(inst.offset)];
    for (uint32_t i = 0; i < g.groupCount; ++i) {
      const OperandGroup& group = groups[g.firstGroup + i];
      for (uint32_t k = 0; k < group.count; ++k) {
        visit(operands[group.first + k], i < g.dstGroups);
      }
    }
  }

  // Keeps the storage.
  void clear();
};

// What a register of the class is moved with, and how wide it is.
PtxType moveType(RegClass cls);

}  // namespace mtlc::ptx

#endif  // MTLC_CODEGEN_PTX_MACHINE_H_
