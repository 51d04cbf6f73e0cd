// A random Mettle program as a tree of its own, which knows nothing of the compiler: it is printed
// as source text, and evaluated by the language's rules (docs/language.md) as an independent
// expectation.

#ifndef TEST_RANDOM_METTLE_PROGRAM_H_
#define TEST_RANDOM_METTLE_PROGRAM_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace mtlc::random_test {

// The scalar types of Mettle; Generic stands for the type parameter of the function it is in.
enum class MType : uint8_t { Bool, I8, I16, I32, I64, U8, U16, U32, U64, F32, F64, Generic, Void };
inline constexpr int kScalarMTypes = 11;

constexpr bool isFloat(MType t) { return t == MType::F32 || t == MType::F64; }
constexpr bool isInt(MType t) { return t >= MType::I8 && t <= MType::U64; }
constexpr bool isSigned(MType t) { return t >= MType::I8 && t <= MType::I64; }
constexpr unsigned widthOf(MType t) {
  constexpr unsigned kWidths[] = {1, 8, 16, 32, 64, 8, 16, 32, 64, 32, 64, 0, 0};
  return kWidths[static_cast<int>(t)];
}
std::string_view typeText(MType t);
// The type that arithmetic on two operands is done in.
MType commonType(MType a, MType b);

// Operators by source text; `&&` and `||` included.
enum class MOp : uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  Rem,
  And,
  Or,
  Xor,
  Shl,
  Shr,
  Lt,
  Le,
  Gt,
  Ge,
  Eq,
  Ne,
  LogicalAnd,
  LogicalOr,
  Neg,
  Not,
  LogicalNot,
};
std::string_view opText(MOp op);

enum class MBuiltin : uint8_t {
  Sqrt,
  Fabs,
  Floor,
  Ceil,
  Trunc,
  Round,
  RoundEven,
  Fmin,
  Fmax,
  Fma,
  Min,
  Max,
  Abs,
  Clz,
  Popcount,
  ThroughHalf,
  ThroughBfloat,
};

struct MExpr {
  enum class Kind : uint8_t {
    Literal,   // `bits` of the type; floats are finite
    Adapted,   // a float literal written bare, beside or into a float32: `number`
    Const,     // a named constant: `index` into Program::consts
    Variable,  // `index` into the function's variables
    Element,   // args[0] indexes the array or pointer variable `index`; wrapped by `mask`
    Source,    // element args[0] (wrapped by `mask`) of the input seen as an array of the type
    Position,  // thread.x, block.x, block_dim.x, grid_dim.x: `index`
    Unary,
    Binary,
    Cast,
    Call,  // of function `index`; a generic one with `typeArgument`
    Builtin,
    Address,  // for pointer parameters: of variable `index`, or from element `mask` of an array on
  };
  Kind kind;
  MType type;  // Of the value; for Address, of what it points to.
  uint64_t bits = 0;
  double number = 0;
  uint32_t index = 0;
  uint64_t mask = 0;
  MOp op = MOp::Add;
  MBuiltin builtin = MBuiltin::Sqrt;
  MType typeArgument = MType::Void;
  std::vector<MExpr*> args;
};

struct MStmt;
using MBody = std::vector<MStmt*>;

struct MCase {
  bool isDefault = false;
  std::vector<std::pair<int64_t, int64_t>> ranges;  // Of which some hold one value.
  MBody body;
};

struct MStmt {
  enum class Kind : uint8_t {
    Declare,   // variable `index`, value; an array is filled with value + i
    Assign,    // target (Variable or Element) = value
    Compound,  // target op= value
    Output,    // cell `index` of the thread, seen as `type`, = value
    If,
    While,
    For,       // variable `index` from value while cond, then step
    ForRange,  // variable `index` from value to cond, which is included if `inclusive`
    Break,     // of the loop or switch with label `label`, or the innermost if 0
    Continue,
    Switch,
    Return,
    Barrier,
    Block,
  };
  Kind kind;
  uint32_t index = 0;
  MType type = MType::Void;
  MExpr* target = nullptr;
  MExpr* value = nullptr;
  MExpr* cond = nullptr;
  MOp op = MOp::Add;
  bool inclusive = false;
  uint32_t label = 0;  // Of a loop: its label if not 0. Labels are unique in a function.
  MStmt* step = nullptr;
  MBody body, otherwise;
  std::vector<MCase> cases;
};

struct MVariable {
  std::string name;
  MType type;
  uint32_t elements = 0;   // 0: a scalar. Otherwise a power of two.
  bool isPointer = false;  // A parameter that points to `elements` elements.
  bool isReadOnly = false;
};

struct MFunction {
  std::string name;
  MType result = MType::Void;
  bool isGeneric = false;
  uint32_t paramCount = 0;  // The first variables.
  std::vector<MVariable> variables;
  MBody body;
};

struct MConst {
  std::string name;
  MType type;
  MExpr* value;
};

struct MProgram {
  std::vector<MConst> consts;
  std::vector<MFunction> functions;  // Helpers, callees first; the kernel is the last.
  std::vector<MType> cells;          // What each output cell of a thread holds; Void: nothing.

  MExpr* make(MExpr e) { return &expressions_.emplace_back(std::move(e)); }
  MStmt* make(MStmt s) { return &statements_.emplace_back(std::move(s)); }
  // All nodes ever made, for reducers.
  std::deque<MExpr>& expressions() { return expressions_; }
  std::deque<MStmt>& statements() { return statements_; }

  MProgram() = default;
  MProgram(const MProgram&) = delete;  // The nodes point to each other.

 private:
  std::deque<MExpr> expressions_;
  std::deque<MStmt> statements_;
};

inline constexpr uint32_t kSourceCells = 32;  // Of eight bytes each.
inline constexpr uint32_t kOutputCells = 32;  // For each thread.
inline constexpr uint32_t kMettleGrid = 2, kMettleBlock = 3;

// A terminating program without faults. The kernel is `k(src: uint64*, dst: uint64*, scalars…)`.
void generateProgram(MProgram& program, uint64_t seed);

// As source text. `style` varies layout, parentheses and spelling without changing the meaning.
std::string printProgram(const MProgram& program, uint64_t style);

// What the kernel leaves in `dst` (which starts as 0xCD), by the language's rules. `source` is
// `src`, `scalars` the bits of the kernel's other parameters. Returns false if it takes too many
// steps.
bool evaluateProgram(const MProgram& program, const std::vector<uint8_t>& source,
                     const std::vector<uint64_t>& scalars, std::vector<uint8_t>& destination);

}  // namespace mtlc::random_test

#endif  // TEST_RANDOM_METTLE_PROGRAM_H_
