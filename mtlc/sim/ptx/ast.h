// PTX text as parsed: names unresolved, forms of instructions unchecked.

#ifndef MTLC_SIM_PTX_AST_H_
#define MTLC_SIM_PTX_AST_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "mtlc/sim/isa/types.h"
#include "mtlc/support/source.h"

namespace mtlc::sim::ptx {

// The value of a constant expression (PTX ISA 4.5): a 64-bit integer, signed or unsigned, or a
// double. `isF32` marks a 0f literal, whose 32 bits are kept exactly.
struct Constant {
  enum class Kind : uint8_t { integer, float32, float64 };
  Kind kind = Kind::integer;
  bool isUnsigned = false;
  uint64_t bits = 0;
};

struct Operand {
  enum class Kind : uint8_t {
    name,  // register, variable, label or function: `name`, with `component` for v.x, `value` for
           // name+imm or name-imm
    constant,  // `value`
    vector,    // {a, b, …} or a parenthesised list
    address,   // [base], [base+imm], [imm]: `name` (may be empty) and `value`; [base, {a, b}]:
               // `elements` too
    sink,      // _
  };
  Kind kind = Kind::name;
  bool negated = false;       // !name
  bool minus = false;         // -name
  bool hasOffset = false;     // name+imm, [name+imm]
  bool hasSubscript = false;  // name[imm]: `value` counts elements
  SourceLoc loc;
  std::string_view name;
  std::string_view component;
  std::string_view pair;  // The second name of a|b; "_" for a sink.
  Constant value;
  std::vector<Operand> elements;
};

struct Instruction {
  SourceLoc loc;
  uint32_t length = 0;  // Bytes of opcode and modifiers.
  std::string_view guard;
  bool guardNegated = false;
  std::string_view opcode;
  std::vector<Mod> mods;
  std::vector<Operand> operands;
  std::string_view spelling;  // Opcode with modifiers, as written.
  // `call` only: lists in parentheses go here, the callee and the name of a table or prototype to
  // `operands`.
  std::vector<Operand> callReturns;
  std::vector<Operand> callArguments;
};

// One element of an initialiser.
struct InitValue {
  SourceLoc loc;
  uint64_t index = 0;       // Of the element (of a vector: component) that it initialises.
  Constant value;           // The constant, or the offset added to `symbol`.
  std::string_view symbol;  // A variable or function whose address it is.
  bool generic = false;     // generic(symbol)
  bool masked = false;      // 0xFF00(symbol): the byte at maskShift of the address.
  uint8_t maskShift = 0;
};

struct Variable {
  SourceLoc loc;
  std::string_view name;
  Mod space = Mod::none;  // Mod::r for .reg, else global, constSpace, local, shared, param
  Type type = Mod::none;
  uint8_t vector = 1;
  uint32_t align = 0;  // 0: natural.
  bool isArray = false;
  bool unsizedArray = false;      // name[]
  uint64_t elements = 1;          // Product of the dimensions.
  std::vector<uint64_t> extents;  // The dimensions; 0 for the one of name[].
  uint32_t rangeCount = 0;        // name<n> declares name0 … name(n-1).
  bool isRange = false;
  bool isExtern = false;
  bool isVisible = false;
  bool isWeak = false;
  bool isCommon = false;
  bool hasInit = false;
  bool isPtr = false;           // .ptr attribute of a kernel parameter
  std::vector<InitValue> init;  // In order; elements without one are zero.
  uint64_t elementBytes() const { return static_cast<uint64_t>(typeBits(type) + 7) / 8 * vector; }
  uint64_t bytes() const { return elementBytes() * elements; }
};

struct SourceLine {
  uint32_t file = 0;
  uint32_t line = 0;
  uint32_t column = 0;
};

struct Prototype {
  SourceLoc loc;
  std::string_view name;
  std::vector<Variable> returns;
  std::vector<Variable> params;
};

struct Statement {
  enum class Kind : uint8_t {
    instruction,  // index into instructions
    variable,     // index into variables
    label,        // name
    openScope,
    closeScope,
    sourceLine,     // index into lines
    branchTargets,  // name: labels in tables[index]
    callTargets,    // name: functions in tables[index]
    prototype,      // index into prototypes
  };
  Kind kind;
  uint32_t index = 0;
  SourceLoc loc;
  std::string_view name;
};

struct Function {
  SourceLoc loc;
  std::string_view name;
  bool isEntry = false;
  bool isExtern = false;
  bool isVisible = false;
  bool isWeak = false;
  bool noReturn = false;
  bool hasBody = false;
  std::vector<Variable> returns;
  std::vector<Variable> params;
  std::array<uint32_t, 3> maxThreads{};       // .maxntid; 0 where absent.
  std::array<uint32_t, 3> requiredThreads{};  // .reqntid
  std::array<uint32_t, 3> clusterShape{};     // .reqnctapercluster

  std::vector<Statement> body;
  std::vector<Instruction> instructions;
  std::vector<Variable> variables;
  std::vector<SourceLine> lines;
  std::vector<std::vector<std::pair<std::string_view, SourceLoc>>> tables;
  std::vector<Prototype> prototypes;
};

// .alias name, target;
struct Alias {
  std::string_view name, target;
  SourceLoc loc;  // Of the target.
};

struct Module {
  FileId file = 0;
  unsigned version = 0;  // 8.8 is 88.
  unsigned sm = 0;
  bool archSpecific = false;  // Target with suffix a or f.
  std::string_view target;
  unsigned addressSize = 64;
  std::unordered_map<uint32_t, std::string_view> files;  // .file
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::vector<Alias> aliases;
};

}  // namespace mtlc::sim::ptx

#endif  // MTLC_SIM_PTX_AST_H_
