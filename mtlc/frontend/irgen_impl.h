// The state of IR generation and the members that the irgen*.cc files share.

#ifndef MTLC_FRONTEND_IRGEN_IMPL_H_
#define MTLC_FRONTEND_IRGEN_IMPL_H_

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "mtlc/frontend/checked.h"
#include "mtlc/frontend/irgen.h"
#include "mtlc/frontend/spaces.h"
#include "mtlc/ir/builder.h"

namespace mtlc::frontend {

class IrGenerator {
 public:
  IrGenerator(const Program& program, const Interner& interner, SourceManager& sources,
              DiagnosticEngine& diagnostics, const IrGenOptions& options);
  std::unique_ptr<ir::Module> run();

 private:
  using Expr = checked::Expr;

  // --- Functions (irgen.cc) ---
  ir::Function* declare(Specialization& s);
  std::string symbolName(const Specialization& s) const;
  void define(Specialization& s);
  void allocateLocals(const checked::Function& f);

  // Blocks are made when the first edge to them is, and take their place in the function when
  // place() is called. A block that nothing leads to is dropped, and what follows is not generated.
  ir::Block* newBlock(std::string_view name);
  void place(ir::Block* block);
  void jump(ir::Block* target);
  bool live() const { return live_; }
  void setLoc(SourceRange at) { b_.setLoc(at.begin); }

  ir::Type irType(const Type* type, ir::Space space = ir::Space::Global) const;
  ir::Type localType(const checked::Local* local) const;

  // What recurses is kept out of line: inlined into one another, the frames of all kinds of nodes
  // would add up.

  // --- Statements (irgen_stmt.cc) ---
  [[gnu::noinline]] void block(const checked::Block* b);
  void statement(const checked::Stmt* s);
  [[gnu::noinline]] void declaration(const checked::DeclareStmt* s);
  [[gnu::noinline]] void assignment(const checked::AssignStmt* s);
  [[gnu::noinline]] void compoundAssignment(const checked::CompoundAssignStmt* s);
  [[gnu::noinline]] void ifStatement(const checked::IfStmt* s);
  [[gnu::noinline]] void loop(const checked::LoopStmt* s);
  [[gnu::noinline]] void forRange(const checked::ForRangeStmt* s);
  [[gnu::noinline]] void switchStatement(const checked::SwitchStmt* s);
  [[gnu::noinline]] void switchTest(const checked::SwitchStmt* s, const checked::CaseLabel& label,
                                    ir::Value* subject, ir::Block* target, bool always);
  [[gnu::noinline]] void jumpStatement(const checked::JumpStmt* s);
  [[gnu::noinline]] void returnStatement(const checked::ReturnStmt* s);
  // Branches on a condition, `&&` and `||` by control flow. Ends the current block.
  [[gnu::noinline]] void branch(const Expr* condition, ir::Block* ifTrue, ir::Block* ifFalse);
  [[gnu::noinline]] void branchLogical(const checked::LogicalExpr* e, ir::Block* ifTrue,
                                       ir::Block* ifFalse);

  // --- Expressions (irgen_expr.cc) ---
  [[gnu::noinline]] ir::Value* value(const Expr* e);
  [[gnu::noinline]] ir::Value* leaf(const Expr* e);
  // The value of `node` when that of leftOperand(node) is `left`.
  [[gnu::noinline]] ir::Value* combine(const Expr* node, ir::Value* left);
  // A value of exactly this type: pointers are converted to generic where needed.
  ir::Value* valueAs(const Expr* e, ir::Type type);
  ir::Value* coerce(ir::Value* v, ir::Type type, SourceRange at);
  [[gnu::noinline]] ir::Value* constant(const checked::ConstantExpr* e, ir::Type type);
  [[gnu::noinline]] ir::Value* address(const checked::ElementExpr* e);
  ir::Value* placeAddress(const Expr* place);
  ir::Value* convert(ir::Value* v, const Type* from, const Type* to);
  [[gnu::noinline]] ir::Value* index64(const Expr* e, bool negative);
  ir::Value* arithmetic(checked::BinaryOp op, const Type* type, ir::Value* a, ir::Value* b);
  [[gnu::noinline]] ir::Value* compare(const checked::CompareExpr* e, ir::Value* left);
  [[gnu::noinline]] ir::Value* logical(const checked::LogicalExpr* e, ir::Value* left);
  [[gnu::noinline]] ir::Value* pointerDifference(const checked::PointerDifferenceExpr* e,
                                                 ir::Value* left);
  [[gnu::noinline]] ir::Value* call(const checked::CallExpr* e);
  [[gnu::noinline]] ir::Value* builtin(const checked::BuiltinExpr* e);

  // --- GPU operations (irgen_gpu.cc) ---
  [[gnu::noinline]] ir::Value* gpuOperation(const checked::BuiltinExpr* e);
  ir::Value* subgroup(const checked::BuiltinExpr* e, std::span<ir::Value* const> args);
  ir::Value* atomic(const checked::BuiltinExpr* e, std::span<ir::Value* const> args);
  ir::Value* atomicPointer(const checked::BuiltinExpr* e, ir::Value* pointer);
  void async(const checked::BuiltinExpr* e, std::span<ir::Value* const> args);
  void tensor(const checked::BuiltinExpr* e, std::span<ir::Value* const> args);
  bool firstFailure(SourceRange at);
  void sameSpace(ir::Value** a, ir::Value** b);
  void escape(SourceRange at, ir::Space space);

  struct LocalState {
    ir::Value* value = nullptr;    // An unchanging variable.
    ir::Value* address = nullptr;  // A slot, or the storage of an array.
  };
  struct Target {
    const checked::Stmt* stmt;
    ir::Block* breaks;
    ir::Block* continues;
  };

  const Program& program_;
  const Interner& interner_;
  DiagnosticEngine& diagnostics_;
  const IrGenOptions& options_;
  std::unique_ptr<ir::Module> module_;
  ir::Builder b_;
  SpaceAnalysis spaces_;
  std::deque<Specialization*> pending_;
  absl::flat_hash_set<uint64_t> escapes_;  // Reported places, by SourceLoc.
  bool failed_ = false;

  // The function being generated.
  Specialization* spec_ = nullptr;
  const checked::Function* function_ = nullptr;
  ir::Function* ir_ = nullptr;
  ir::Block* lastPlaced_ = nullptr;
  bool live_ = false;
  std::vector<LocalState> locals_;
  std::vector<Target> targets_;
  std::vector<const Expr*> spine_;
  std::vector<ir::Value*> args_;
  std::vector<ir::Block*> blocks_;
};

}  // namespace mtlc::frontend

#endif  // MTLC_FRONTEND_IRGEN_IMPL_H_
