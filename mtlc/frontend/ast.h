// The syntax tree of one Mettle file: what was written, before any name is resolved.
//
// Nodes live in an Arena and are trivially destructible. No pointer that a comment does not call
// optional is null: where something could not be parsed, the whole statement or declaration is
// left out (and the error is reported). The depth of the tree is bounded by kMaxNesting except
// along the left operands of binary operators (`a + b + c + …`), which walkers must follow in a
// loop.

#ifndef MTLC_FRONTEND_AST_H_
#define MTLC_FRONTEND_AST_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "mtlc/frontend/token.h"
#include "mtlc/support/source.h"

namespace mtlc::frontend::ast {

// Brackets, blocks, unary operators, calls and suffixes inside one another.
inline constexpr int kMaxNesting = 256;

struct Block;
struct Expr;
struct Stmt;
struct TypeRef;

// --- Types ---

enum class TypeRefKind : uint8_t {
  named,    // int32, MyEnum, T, module.E
  pointer,  // elem*
  array,    // elem[size]
  host,     // A type that only host programs have (function types and the like).
};

struct TypeRef {
  TypeRefKind kind;
  SourceRange range;
  Name name;                     // named
  Name qualifier;                // named, optional: the `m` of m.E
  TypeRef* elem = nullptr;       // pointer, array
  Expr* size = nullptr;          // array; optional (`T[]`)
  std::span<TypeRef*> typeArgs;  // named, host generics
};

// --- Expressions ---

enum class ExprKind : uint8_t {
  integer,
  floating,
  character,
  string,
  name,
  unary,
  binary,
  cast,
  call,
  index,
  member,
  sizeofType,
  host,  // new, this, match, … as an expression
};

enum class UnaryOp : uint8_t { minus, plus, deref, addressOf, bitNot, logicalNot };

enum class BinaryOp : uint8_t {
  mul,
  div,
  rem,
  add,
  sub,
  shl,
  shr,
  less,
  lessEqual,
  greater,
  greaterEqual,
  equal,
  notEqual,
  bitAnd,
  bitXor,
  bitOr,
  logicalAnd,
  logicalOr,
};
std::string_view binaryOpText(BinaryOp op);

struct Expr {
  ExprKind kind;
  bool parenthesized = false;
  // The token that a message points at: the operator of a binary expression, the first token of
  // others.
  SourceRange range;
};

struct IntegerExpr : Expr {
  uint64_t value = 0;
  bool decimal = true;
};
struct FloatExpr : Expr {
  double value = 0;
  bool suffixF = false;
};
struct CharacterExpr : Expr {
  uint8_t value = 0;
};
struct StringExpr : Expr {
  std::string_view value;
};
struct NameExpr : Expr {
  Name name;
};
struct UnaryExpr : Expr {
  UnaryOp op;
  Expr* operand;
};
struct BinaryExpr : Expr {
  BinaryOp op;
  Expr* lhs;
  Expr* rhs;
};
struct CastExpr : Expr {
  TypeRef* type;
  Expr* operand;
};
struct Argument {
  Name label;  // Optional: `label: value`.
  SourceRange labelRange;
  Expr* value;
};
struct CallExpr : Expr {
  Expr* callee;
  std::span<TypeRef*> typeArgs;
  std::span<Argument> args;
};
struct IndexExpr : Expr {
  Expr* base;
  Expr* index;
};
struct MemberExpr : Expr {
  Expr* base;
  Name member;
  SourceRange memberRange;
  bool arrow;
};
struct SizeofExpr : Expr {
  TypeRef* type;
};
struct HostExpr : Expr {
  std::string_view what;  // "'new'", for messages.
};

// --- Statements ---

enum class StmtKind : uint8_t {
  block,
  var,
  constant,
  assign,
  expression,
  if_,
  while_,
  for_,
  forRange,
  switch_,
  break_,
  continue_,
  return_,
  host,  // dispatch, defer, match, asm, …
};

struct Stmt {
  StmtKind kind;
  SourceRange range;  // The first token; the operator of an assignment.
};

struct Block : Stmt {
  std::span<Stmt*> statements;
  SourceRange end;  // The closing brace.
};

enum class Storage : uint8_t { automatic, workgroup, private_ };

struct VarStmt : Stmt {
  Storage storage = Storage::automatic;
  Name name;
  SourceRange nameRange;
  TypeRef* type;
  Expr* init = nullptr;  // Optional.
};
struct ConstStmt : Stmt {
  Name name;
  SourceRange nameRange;
  TypeRef* type;
  Expr* init;
};
struct AssignStmt : Stmt {
  Expr* target;
  bool compound = false;
  BinaryOp op = BinaryOp::add;  // Compound only.
  Expr* value;
};
struct ExprStmt : Stmt {
  Expr* expr;
};
struct IfArm {
  Expr* condition;
  Stmt* body;
};
// An `else if` chain is one statement, so that long chains are not deep.
struct IfStmt : Stmt {
  std::span<IfArm> arms;
  Stmt* otherwise = nullptr;  // Optional.
};
struct LoopStmt : Stmt {
  Name label;  // Optional.
  SourceRange labelRange;
  Stmt* body;
};
struct WhileStmt : LoopStmt {
  Expr* condition;
};
struct ForStmt : LoopStmt {
  Stmt* init = nullptr;       // Optional.
  Expr* condition = nullptr;  // Optional.
  Stmt* step = nullptr;       // Optional.
};
struct ForRangeStmt : LoopStmt {
  Name name;
  SourceRange nameRange;
  TypeRef* type = nullptr;  // Optional.
  Expr* first;
  Expr* last;
  bool inclusive = false;
};
struct CaseLabel {
  SourceRange range;
  Expr* low = nullptr;   // Null: default.
  Expr* high = nullptr;  // Optional: `low..high`, both ends included.
};
// One or more labels and the statements up to the next label.
struct SwitchSection {
  std::span<CaseLabel> labels;
  Block* body;
};
struct SwitchStmt : Stmt {
  Name label;  // Optional.
  SourceRange labelRange;
  Expr* subject;
  std::span<SwitchSection> sections;
};
struct JumpStmt : Stmt {  // break, continue
  Name label;             // Optional.
  SourceRange labelRange;
};
struct ReturnStmt : Stmt {
  Expr* value = nullptr;  // Optional.
};
struct HostStmt : Stmt {
  std::string_view what;  // "'defer'", for messages.
  Stmt* body = nullptr;   // Optional: the statement of a defer.
};

// --- Declarations ---

enum class DeclKind : uint8_t { function, constant, variable, enum_, host };

struct Decl {
  DeclKind kind;
  SourceRange range;
  Name name;
  SourceRange nameRange;
  bool exported = false;
};

struct Param {
  Name name;
  SourceRange nameRange;
  TypeRef* type;
};

struct Decorator {
  Name name;
  SourceRange range;
  bool bang = false;  // `@inline!`
  bool hasArgs = false;
  std::span<Argument> args;
};

struct FunctionDecl : Decl {
  bool isKernel = false;
  bool isExtern = false;
  std::span<Decorator> decorators;
  std::span<Name> typeParams;
  std::span<Param> params;
  TypeRef* result = nullptr;  // Optional: no result.
  Block* body = nullptr;      // Optional: forward or extern declaration.
  std::string_view linkName;  // extern, optional.
};
struct ConstDecl : Decl {
  TypeRef* type;
  Expr* init;
};
struct VarDecl : Decl {
  Storage storage = Storage::automatic;
  bool isExtern = false;
  TypeRef* type;
  Expr* init = nullptr;  // Optional.
};
struct EnumVariant {
  Name name;
  SourceRange range;
  Expr* value = nullptr;  // Optional: one more than the variant before.
};
struct EnumDecl : Decl {
  std::span<EnumVariant> variants;
};
// struct, trait, impl, import_str: known by name only (a struct may be a parameter of a host
// function).
struct HostDecl : Decl {
  std::string_view what;
  bool isType = false;
};

struct ImportedName {
  Name name;
  SourceRange range;
};
struct Import {
  SourceRange range;
  std::string_view path;
  Name alias;                     // Optional: `as alias`.
  std::span<ImportedName> names;  // `{x, y} from`; empty means all.
  bool selective = false;
  Name platform;  // Optional: `if windows`.
};

struct File {
  FileId id = 0;
  std::span<Import> imports;
  std::span<Decl*> decls;
  bool hasExports = false;  // Something is marked `export`, so the rest is private.
};

}  // namespace mtlc::frontend::ast

#endif  // MTLC_FRONTEND_AST_H_
