// The checked tree: what sema makes of the syntax tree. Every name is resolved, every expression
// has its type, every conversion is a node of its own, and nothing in it can be wrong any more.
//
// There is one checked Function for each instance of a generic helper. Nodes live in an arena.
// As in the syntax tree, left operands may be deeply nested: see leftOperand().

#ifndef MTLC_FRONTEND_CHECKED_H_
#define MTLC_FRONTEND_CHECKED_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mtlc/frontend/builtins.h"
#include "mtlc/frontend/token.h"
#include "mtlc/frontend/types.h"
#include "mtlc/ir/ir.h"
#include "mtlc/support/source.h"

namespace mtlc::frontend::checked {

struct Function;
struct Stmt;

enum class LocalKind : uint8_t {
  parameter,
  variable,
  privateArray,      // type: array
  workgroupArray,    // type: array
  dynamicWorkgroup,  // type: pointer; a view of the launch-sized arena
};

struct Local {
  LocalKind kind = LocalKind::variable;
  bool addressTaken = false;
  bool initialized = false;  // Has a value from its declaration on.
  Name name;
  SourceRange range;
  const Type* type = nullptr;
  uint32_t index = 0;        // Among Function::locals.
  uint32_t assignments = 0;  // Not counting the initial value.
  int32_t tracked = -1;      // Number among the variables whose assignment flow analysis follows.
};

// --- Expressions ---

enum class ExprKind : uint8_t {
  constant,
  local,      // Value of a variable, or the variable as a place.
  element,    // pointer[index] or *pointer: value or place.
  addressOf,  // &variable
  decay,      // Address of the first element of an array.
  negate,
  bitNot,
  logicalNot,
  binary,             // Both operands have the type of the result (shifts too).
  compare,            // Both operands have the same type; the result is bool.
  logical,            // && and ||
  convert,            // Between numeric types, pointer types, and pointers and 64-bit integers.
  pointerOffset,      // pointer ± index elements
  pointerDifference,  // In elements, int64.
  call,
  builtin,
};

enum class BinaryOp : uint8_t { add, sub, mul, div, rem, bitAnd, bitOr, bitXor, shl, shr };
enum class CompareOp : uint8_t { equal, notEqual, less, lessEqual, greater, greaterEqual };

struct Expr {
  ExprKind kind;
  SourceRange range;
  const Type* type = nullptr;
};

struct ConstantExpr : Expr {
  // The value's bits, zeros above its width. A float *literal expression* (docs/language.md §3)
  // holds a float64 whatever its type, to be rounded once when it is used.
  uint64_t bits = 0;
  bool literal = false;
};
struct LocalExpr : Expr {
  Local* local;
};
struct ElementExpr : Expr {
  Expr* pointer;
  Expr* index = nullptr;  // Optional; of any integer type.
};
struct UnaryExpr
    : Expr {  // addressOf and decay (of a LocalExpr), negate, bitNot, logicalNot, convert
  Expr* operand;
};
struct BinaryExpr : Expr {
  BinaryOp op;
  Expr* lhs;
  Expr* rhs;
};
struct CompareExpr : Expr {
  CompareOp op;
  Expr* lhs;
  Expr* rhs;
};
struct LogicalExpr : Expr {
  bool isAnd;
  Expr* lhs;
  Expr* rhs;
};
struct PointerOffsetExpr : Expr {
  Expr* pointer;
  Expr* index;  // Of any integer type.
  bool negative;
  bool indexFirst = false;  // Written `index + pointer`, so evaluated in that order.
};
struct PointerDifferenceExpr : Expr {
  Expr* lhs;
  Expr* rhs;
};
struct CallExpr : Expr {
  Function* callee;
  std::span<Expr*> args;
};
// What the words and options of a GPU operation say, by operation; the operands are arguments of
// the call.
struct GpuAttributes {
  uint8_t regions = 0;  // barrier, fence: ir::RegionMask
  ir::MemoryOrder order = ir::MemoryOrder::SeqCst;
  ir::MemoryOrder failureOrder = ir::MemoryOrder::SeqCst;
  // Atomics: what is not written follows from the pointer's address space.
  bool hasScope = false;
  ir::Scope scope = ir::Scope::Device;
  SourceRange scopeRange;
  bool hasSpace = false;
  ir::Space space = ir::Space::Global;
  ir::AsyncAttr async;
  uint32_t wait = 0;
  ir::MmaDesc mma;
  ir::EpilogueDesc epilogue;
  ir::TransferDesc transfer;
  std::span<ir::Slot> slots;  // Tensor operations: of each argument.
};
struct BuiltinExpr : Expr {
  const Builtin* builtin;
  std::span<Expr*> args;               // In the order of the source.
  uint8_t dim = 0;                     // Index built-ins: 0 x, 1 y, 2 z.
  const GpuAttributes* gpu = nullptr;  // Operations with words or options.
};

// The operand that is evaluated first, where it may be nested without bound (`a + b + c + …`);
// null for other expressions. A walker collects these in a loop and applies them from the innermost
// outwards; everything else is at most as deep as the source is nested.
const Expr* leftOperand(const Expr* e);

// --- Statements ---

enum class StmtKind : uint8_t {
  block,
  declare,
  assign,
  compoundAssign,
  expression,
  if_,
  loop,
  forRange,
  switch_,
  break_,
  continue_,
  return_,
};

struct Stmt {
  StmtKind kind;
  SourceRange range;
};
struct Block : Stmt {
  std::span<Stmt*> statements;
};
struct DeclareStmt : Stmt {
  Local* local;
  Expr* init = nullptr;  // Optional.
};
struct AssignStmt : Stmt {
  Expr* target;  // local or element
  Expr* value;   // Of the target's type.
};
// target = (target's type)((computeType)target op value), the place evaluated once.
struct CompoundAssignStmt : Stmt {
  Expr* target;
  BinaryOp op;              // add or sub when the target is a pointer.
  const Type* computeType;  // Null for a pointer.
  Expr* value;              // Of computeType; of an integer type for a pointer.
};
struct ExprStmt : Stmt {
  Expr* expr;
};
struct IfArm {
  Expr* condition;
  Block* body;
};
struct IfStmt : Stmt {
  std::span<IfArm> arms;
  Block* otherwise = nullptr;  // Optional.
};
struct LoopStmt : Stmt {
  Expr* condition = nullptr;  // Optional; tested before each round.
  Stmt* step = nullptr;       // Optional.
  Block* body = nullptr;
  bool endless = false;  // No condition, or one that is a true constant.
};
struct ForRangeStmt : Stmt {
  Local* variable;
  Expr* first;  // Both of the variable's type.
  Expr* last;
  bool inclusive;
  Block* body = nullptr;
};
struct CaseLabel {
  uint64_t low = 0;  // Bits of the subject's type.
  uint64_t high = 0;
  bool isRange = false;
  bool isDefault = false;
  SourceRange range;
};
struct SwitchSection {
  std::span<CaseLabel> labels;
  Block* body;
};
struct SwitchStmt : Stmt {
  Expr* subject;
  std::span<SwitchSection> sections;
  bool hasDefault = false;
  bool exhaustive = false;  // Every value of the bool, or every variant of the enum, has a case.
};
struct JumpStmt : Stmt {  // break_, continue_
  Stmt* target;
};
struct ReturnStmt : Stmt {
  Expr* value = nullptr;
};

// --- Functions ---

enum class InlineHint : uint8_t { none, inline_, always, never };
enum class FpMode : uint8_t { unset, strict, contract };  // @fp(…)

struct PointerAssignment {
  Local* local;
  Expr* value;
};

struct Function {
  std::string name;  // In the source, with type arguments: "f", "f<int32>".
  SourceRange range;
  bool isKernel = false;
  bool isExternal = false;  // No body anywhere: an `extern fn`.
  InlineHint inlineHint = InlineHint::none;
  uint32_t maxThreads = 0;  // @launch_bounds; 0: not given.
  uint32_t minGroups = 0;
  FpMode fpMode = FpMode::unset;

  std::vector<Local*> params;
  const Type* result = nullptr;
  SourceRange end;  // The closing brace.

  // Set once the body has been checked without an error.
  Block* body = nullptr;
  std::vector<Local*> locals;  // Parameters first.
  // What the address spaces of pointer variables and of the result follow from.
  std::vector<PointerAssignment> pointerAssignments;
  std::vector<Expr*> pointerReturns;
  // An enum switch without default counts as covering everything, so a value outside the variants
  // may reach code that relies on it: variables start as zero and the end returns zero.
  bool hasOpenEnumSwitch = false;
};

}  // namespace mtlc::frontend::checked

#endif  // MTLC_FRONTEND_CHECKED_H_
