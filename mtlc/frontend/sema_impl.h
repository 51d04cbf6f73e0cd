// The state of semantic analysis and the members that the sema_*.cc files share.

#ifndef MTLC_FRONTEND_SEMA_IMPL_H_
#define MTLC_FRONTEND_SEMA_IMPL_H_

#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "mtlc/frontend/ast.h"
#include "mtlc/frontend/checked.h"
#include "mtlc/frontend/gpu_options.h"
#include "mtlc/frontend/sema.h"

namespace mtlc::frontend {

struct Scope;

enum class SymbolKind : uint8_t {
  function,
  constant,
  variable,  // A global variable: host programs only.
  enumType,
  variant,
  hostType,
  hostValue,  // import_str and the like.
  module,     // import "p" as name
  ambiguous,  // Imported twice with different meanings, or two variants of one name.
};

enum class Progress : uint8_t { waiting, running, done };

struct FunctionInstance {
  std::vector<const Type*> typeArgs;
  checked::Function* function;
};

// A name of a module.
struct Symbol {
  SymbolKind kind = SymbolKind::function;
  Scope* home = nullptr;
  Name name;
  SourceRange range;
  const ast::Decl* decl = nullptr;
  bool isPublic = true;
  Progress progress = Progress::waiting;

  // constant, variant: the value once `done`; its type is an error if it could not be found.
  checked::ConstantExpr value{};
  // constant, variant: the value needs the host, which is an error only where a kernel uses it.
  bool hostValue = false;
  // enumType: the type and its variants. variant: the enum in `owner`.
  const Type* type = nullptr;
  Symbol* owner = nullptr;
  std::vector<Symbol*> variants;
  const ast::EnumVariant* variant = nullptr;
  // module
  Scope* target = nullptr;
  // ambiguous
  const Symbol* first = nullptr;
  const Symbol* second = nullptr;

  // function: the definition if there is one, else the first declaration.
  const ast::FunctionDecl* function = nullptr;
  std::vector<const ast::FunctionDecl*> declarations;
  const Builtin* builtin = nullptr;         // An extern function that the compiler implements.
  std::vector<FunctionInstance> instances;  // The only one of a function that is not generic.
};

// The names of one module.
struct Scope {
  Module* module = nullptr;
  absl::flat_hash_map<uint32_t, Symbol*> own;
  absl::flat_hash_map<uint32_t, Symbol*> imported;
};

// What a body is checked for.
enum class Mode : uint8_t {
  device,   // A kernel reaches it: host-only constructs are errors.
  host,     // `main` reaches it: GPU operations are errors, host-only constructs are passed over.
  neutral,  // Neither: both are passed over.
};

class Sema {
 public:
  Sema(std::deque<Module>& modules, const Interner& interner, DiagnosticEngine& diagnostics,
       Program* program);
  bool run();

 private:
  using Expr = checked::Expr;

  // --- Errors ---
  // Out of line, so that their temporaries are not in the frames of the recursion.
  [[gnu::noinline]] Expr* error(DiagId id, SourceRange at, std::string_view a = {},
                                std::string_view b = {}, std::string_view c = {});
  [[gnu::noinline]] Expr* typeError(DiagId id, SourceRange at, const Type* a,
                                    const Type* b = nullptr);
  [[gnu::noinline]] Expr* nameError(DiagId id, SourceRange at, Name name);
  // With a note that points at a declaration.
  [[gnu::noinline]] Expr* errorWithNote(DiagId id, SourceRange at, Name name, SourceRange note,
                                        std::string_view noteText);
  [[gnu::noinline]] void warn(DiagId id, SourceRange at, std::string_view a = {},
                              std::string_view b = {});
  [[gnu::noinline]] Expr* tooDeep(SourceRange at);
  // Something only host programs have. An error where a kernel reaches it.
  [[gnu::noinline]] Expr* hostOnly(SourceRange at, std::string_view what);
  Expr* poison() { return &poison_; }
  static bool isPoison(const Expr* e) { return e->type->isError(); }
  std::string_view text(Name name) const { return interner_.text(name); }
  std::string_view keep(std::string_view s) { return program_.arena.copy(s); }

  // --- Names (sema.cc) ---
  void declareModules();
  void declare(Scope* scope, const ast::Decl* decl, bool isPublic);
  void declareFunction(Scope* scope, const ast::FunctionDecl* decl, bool isPublic);
  void declareEnum(Scope* scope, const ast::EnumDecl* decl, bool isPublic);
  Symbol* addSymbol(Scope* scope, SymbolKind kind, Name name, SourceRange range,
                    const ast::Decl* decl, bool isPublic);
  void importAll();
  void importSymbol(Scope* scope, Symbol* symbol);
  // The symbol of a name in a module, following imports; null if there is none. Reports ambiguity.
  Symbol* lookup(Scope* scope, Name name, SourceRange at, bool* failed);
  // A public name of another module.
  Symbol* lookupPublic(Scope* scope, Name name, SourceRange at, bool* failed);
  Expr* unknownName(Name name, SourceRange at);

  void checkMainFile();
  void checkPending();
  void checkDuplicateEntryNames();

  // --- Functions (sema_function.cc) ---
  checked::Function* instantiate(Symbol* symbol, std::span<const Type* const> typeArgs,
                                 SourceRange at);
  void signature(Symbol* symbol, FunctionInstance& instance);
  void decorators(const ast::FunctionDecl* decl, checked::Function* function);
  void launchBounds(const ast::Decorator& decorator, checked::Function* function);
  void fpMode(const ast::Decorator& decorator, checked::Function* function);
  bool kernelParameter(const ast::Param& param, const Type* type);
  void compareDeclarations(Symbol* symbol);
  void matchBuiltin(Symbol* symbol);
  void checkBody(Symbol* symbol, checked::Function* function, std::span<const Type* const> typeArgs,
                 Mode mode);

  // --- Types and constants (sema_type.cc) ---
  const Type* resolve(const ast::TypeRef* ref);
  const Type* resolveNamed(const ast::TypeRef* ref);
  const Type* resolveArray(const ast::TypeRef* ref);
  // The value of `e` as a constant integer. False (reported) if it is none.
  bool constantInteger(const ast::Expr* e, DiagId notConstant, checked::ConstantExpr** out);
  void resolveConstant(Symbol* symbol);
  void resolveVariants(Symbol* enumSymbol);
  void evaluateConstant(const ast::TypeRef* type, const ast::Expr* init, Name name,
                        checked::ConstantExpr* out);

  // --- Conversions and folding (sema_convert.cc) ---
  checked::ConstantExpr* constant(SourceRange at, const Type* type, uint64_t bits);
  static checked::ConstantExpr* asConstant(Expr* e) {
    return e->kind == checked::ExprKind::constant && !isPoison(e)
               ? static_cast<checked::ConstantExpr*>(e)
               : nullptr;
  }
  static bool isFloatLiteral(const Expr* e) {
    return e->kind == checked::ExprKind::constant && e->type->isFloat() &&
           static_cast<const checked::ConstantExpr*>(e)->literal;
  }
  // The bits of `c` converted to the numeric type `to`.
  static uint64_t convertBits(const checked::ConstantExpr& c, const Type* to);
  // Whether `to`, integral as the constant, has its value.
  static bool valueFits(const checked::ConstantExpr& c, const Type* to);
  // A conversion that is known to be allowed.
  Expr* convert(Expr* e, const Type* to);
  // What assignment, initialisation, arguments and return values do.
  Expr* implicitConvert(Expr* e, const Type* to, SourceRange at, bool quiet = false);
  Expr* explicitConvert(Expr* e, const Type* to, SourceRange at);
  Expr* toCondition(Expr* e);
  Expr* decayed(Expr* e);
  const Type* promoted(const Type* type) const;
  const Type* arithmeticType(const Expr* a, const Expr* b) const;
  void warnNarrowing(Expr* e, const Type* to, SourceRange at);
  void warnWidenedProduct(Expr* e, const Type* to, SourceRange at);
  Expr* foldBinary(checked::BinaryOp op, checked::ConstantExpr* a, checked::ConstantExpr* b,
                   SourceRange at);
  Expr* foldLiteral(ast::BinaryOp op, checked::ConstantExpr* a, checked::ConstantExpr* b,
                    SourceRange at);
  Expr* foldCompare(checked::CompareOp op, checked::ConstantExpr* a, checked::ConstantExpr* b,
                    SourceRange at);
  static bool isNullLiteral(const Expr* e);

  // What recurses is kept out of line: inlined into one another, the frames of all kinds of nodes
  // would add up.

  // --- Expressions (sema_expr.cc) ---
  // Never null; poison after an error. `value` also refuses void and decays arrays.
  [[gnu::noinline]] Expr* expression(const ast::Expr* e);
  Expr* value(const ast::Expr* e);
  Expr* condition(const ast::Expr* e);
  [[gnu::noinline]] Expr* name(const ast::NameExpr* e);
  Expr* symbolValue(Symbol* symbol, SourceRange at);
  [[gnu::noinline]] Expr* integer(const ast::IntegerExpr* e, bool negative, SourceRange at);
  [[gnu::noinline]] Expr* floating(const ast::FloatExpr* e);
  [[gnu::noinline]] Expr* unary(const ast::UnaryExpr* e);
  Expr* negate(Expr* operand, SourceRange at);
  [[gnu::noinline]] Expr* addressOf(const ast::UnaryExpr* e);
  [[gnu::noinline]] Expr* dereference(const ast::UnaryExpr* e);
  [[gnu::noinline]] Expr* binarySpine(const ast::BinaryExpr* e);
  Expr* binary(ast::BinaryOp op, Expr* lhs, Expr* rhs, SourceRange at);
  [[gnu::noinline]] Expr* arithmetic(ast::BinaryOp op, Expr* lhs, Expr* rhs, SourceRange at);
  [[gnu::noinline]] Expr* shift(ast::BinaryOp op, Expr* lhs, Expr* rhs, SourceRange at);
  [[gnu::noinline]] Expr* comparison(ast::BinaryOp op, Expr* lhs, Expr* rhs, SourceRange at);
  [[gnu::noinline]] Expr* pointerArithmetic(ast::BinaryOp op, Expr* lhs, Expr* rhs, SourceRange at);
  [[gnu::noinline]] Expr* logical(ast::BinaryOp op, Expr* lhs, Expr* rhs, SourceRange at);
  Expr* operandError(ast::BinaryOp op, Expr* lhs, Expr* rhs, SourceRange at);
  [[gnu::noinline]] Expr* cast(const ast::CastExpr* e);
  [[gnu::noinline]] Expr* index(const ast::IndexExpr* e);
  [[gnu::noinline]] Expr* member(const ast::MemberExpr* e);
  [[gnu::noinline]] Expr* sizeofType(const ast::SizeofExpr* e);
  Expr* element(Expr* pointer, Expr* index, SourceRange at);
  Expr* pointerOffset(Expr* pointer, Expr* index, bool negative, SourceRange at);
  // A variable or memory that may be assigned. Poison (reported) for anything else.
  Expr* place(const ast::Expr* e);

  // --- Calls (sema_call.cc) ---
  [[gnu::noinline]] Expr* call(const ast::CallExpr* e);
  [[gnu::noinline]] Expr* callSymbol(Symbol* symbol, const ast::CallExpr* e);
  [[gnu::noinline]] Expr* callFunction(checked::Function* function, const ast::CallExpr* e);
  [[gnu::noinline]] Expr* callMath(Symbol* symbol, const ast::CallExpr* e);
  [[gnu::noinline]] Expr* callGenericMath(const Builtin* builtin, const ast::CallExpr* e);
  [[gnu::noinline]] Expr* callBuiltin(const Builtin* builtin, const ast::CallExpr* e);
  [[gnu::noinline]] Expr* castCall(const Type* type, const ast::CallExpr* e);

  // --- GPU operations (sema_gpu.cc, sema_tensor.cc) ---
  // A named argument as it was given, and its value unless it is a word.
  struct GivenOption {
    const ast::Argument* argument = nullptr;
    Expr* value = nullptr;
    uint32_t index = 0;  // Among all arguments.
  };
  // A call with options on its way through the checks. `good` is false after an error; the checks
  // go on, so that all errors of a call come at once.
  struct GpuCall {
    const Builtin* builtin;
    const ast::CallExpr* source;
    OptionSet set;
    bool good = true;
    std::vector<Expr*> positional = {};
    std::vector<GivenOption> options = {};  // By Option.
    checked::GpuAttributes* attributes = nullptr;
    struct Operand {
      uint32_t index;  // Of the argument.
      ir::Slot slot;
      Expr* value;
    };
    std::vector<Operand> operands = {};
    ir::SlotSet slots = {};

    const GivenOption& operator[](Option o) const { return options[static_cast<size_t>(o)]; }
    bool has(Option o) const { return (*this)[o].argument != nullptr; }
  };
  [[gnu::noinline]] Expr* barrier(const Builtin* builtin, const ast::CallExpr* e);
  [[gnu::noinline]] Expr* subgroup(const Builtin* builtin, const ast::CallExpr* e);
  [[gnu::noinline]] Expr* atomic(const Builtin* builtin, const ast::CallExpr* e);
  [[gnu::noinline]] Expr* async(const Builtin* builtin, const ast::CallExpr* e);
  [[gnu::noinline]] Expr* asyncCopy(const Builtin* builtin, const ast::CallExpr* e);
  [[gnu::noinline]] Expr* tensor(const Builtin* builtin, const ast::CallExpr* e);
  // Sorts the arguments into positional ones and options. False if the operation can't be checked
  // further.
  bool sortArguments(GpuCall& call, size_t positional);
  [[gnu::noinline]] void problem(GpuCall& call, DiagId id, SourceRange at, std::string_view a = {},
                                 std::string_view b = {}, std::string_view c = {});
  SourceRange optionRange(const GpuCall& call, Option option) const;
  std::string_view optionText(const GpuCall& call, Option option) const;
  std::optional<uint8_t> wordValue(GpuCall& call, Option option, Words words);
  template <typename E>
  bool word(GpuCall& call, Option option, Words words, E* out) {
    if (!call.has(option)) return false;
    std::optional<uint8_t> v = wordValue(call, option, words);
    if (v) *out = static_cast<E>(*v);
    return v.has_value();
  }
  // A constant integer from `low` to `high`.
  std::optional<uint64_t> number(GpuCall& call, const ast::Expr* at, Expr* value,
                                 std::string_view what, uint64_t low, uint64_t high);
  template <typename T>
  bool numberOption(GpuCall& call, Option option, uint64_t low, uint64_t high, T* out) {
    if (!call.has(option)) return false;
    const GivenOption& o = call[option];
    std::optional<uint64_t> v =
        number(call, o.argument->value, o.value, text(o.argument->label), low, high);
    if (v) *out = static_cast<T>(*v);
    return v.has_value();
  }
  // An atomic's value: of exactly the element's type.
  Expr* exactValue(GpuCall& call, const ast::Expr* at, Expr* value, const Type* type);
  void atomicOrders(GpuCall& call);
  void missing(GpuCall& call, Option option, std::string_view hint);
  void meaningless(GpuCall& call, Option option, std::string_view when);
  void addOperand(GpuCall& call, uint32_t index, ir::Slot slot, Expr* value);
  void tensorPointer(GpuCall& call, uint32_t index, ir::Slot slot, std::string_view what,
                     const ast::Expr* at, Expr* value, ElementFormat format);
  void leading(GpuCall& call, Option option, ir::Slot slot, uint32_t* out);
  Expr* indexOperand(GpuCall& call, const ast::Expr* at, Expr* value, std::string_view what);
  void shape(GpuCall& call, uint32_t* m, uint32_t* n, uint32_t* k);
  void exclusive(GpuCall& call, Option whole, std::span<const Option> parts);
  void descriptorProblems(GpuCall& call, std::span<const ir::DescriptorProblem> problems);
  [[gnu::noinline]] void tensorProduct(GpuCall& call, ir::MmaUse use);
  void productDefaults(GpuCall& call, ir::MmaUse use);
  [[gnu::noinline]] void tensorEpilogue(GpuCall& call);
  [[gnu::noinline]] void tensorTransfer(GpuCall& call);
  void transferDimension(GpuCall& call, unsigned i);
  Expr* finish(GpuCall& call);
  bool gpuOperationAllowed(SourceRange at, std::string_view what);
  bool positionalOnly(const ast::CallExpr* e, std::string_view callee);
  bool argumentCount(const ast::CallExpr* e, size_t expected, std::string_view callee,
                     SourceRange declared);
  void checkArguments(const ast::CallExpr* e);   // For the errors in them only.
  void checkPositional(const ast::CallExpr* e);  // The same where named ones may be words.
  checked::BuiltinExpr* builtinExpr(const Builtin* builtin, SourceRange at, const Type* type);
  const Type* signatureType(char code) const;
  const Builtin* findBuiltin(Name name) const {
    return name.id < builtinByName_.size() ? builtinByName_[name.id] : nullptr;
  }
  const Builtin* findMath(Name name) const {
    return name.id < mathByName_.size() ? mathByName_[name.id] : nullptr;
  }

  // --- Statements (sema_stmt.cc) ---
  [[gnu::noinline]] checked::Block* block(const ast::Block* b);
  checked::Block* body(const ast::Stmt* s);
  [[gnu::noinline]] void statement(const ast::Stmt* s);  // Appends to statements_.
  [[gnu::noinline]] void varStatement(const ast::VarStmt* s);
  [[gnu::noinline]] void storageStatement(const ast::VarStmt* s);
  bool arrayType(const Type* type, const ast::TypeRef* ref, std::string_view what);
  [[gnu::noinline]] void constStatement(const ast::ConstStmt* s);
  [[gnu::noinline]] checked::Stmt* assignment(const ast::AssignStmt* s);
  [[gnu::noinline]] checked::Stmt* compoundAssignment(const ast::AssignStmt* s, Expr* target);
  [[gnu::noinline]] void expressionStatement(const ast::ExprStmt* s);
  [[gnu::noinline]] void ifStatement(const ast::IfStmt* s);
  [[gnu::noinline]] void whileStatement(const ast::WhileStmt* s);
  [[gnu::noinline]] void forStatement(const ast::ForStmt* s);
  [[gnu::noinline]] void forRangeStatement(const ast::ForRangeStmt* s);
  [[gnu::noinline]] void switchStatement(const ast::SwitchStmt* s);
  [[gnu::noinline]] void switchLabels(const ast::SwitchSection& section, checked::SwitchStmt* out);
  [[gnu::noinline]] bool caseValue(const ast::Expr* e, const Type* subject, uint64_t* out);
  [[gnu::noinline]] void checkExhaustive(checked::SwitchStmt* s);
  [[gnu::noinline]] void checkRepeatedCases(const checked::SwitchStmt* s);
  [[gnu::noinline]] void jump(const ast::JumpStmt* s);
  [[gnu::noinline]] void returnStatement(const ast::ReturnStmt* s);
  checked::Local* declareLocal(checked::LocalKind kind, Name name, SourceRange at,
                               const Type* type);
  void bindConstant(Name name, SourceRange at, const checked::ConstantExpr& value);
  void pushScope() { scopeMarks_.push_back(undo_.size()); }
  void popScope();
  bool isRedeclared(Name name, SourceRange at);

  template <typename T>
  T* make(SourceRange at, const Type* type, checked::ExprKind kind) {
    T* e = program_.arena.make<T>();
    e->kind = kind;
    e->range = at;
    e->type = type;
    return e;
  }
  template <typename T>
  T* makeStmt(SourceRange at, checked::StmtKind kind) {
    T* s = program_.arena.make<T>();
    s->kind = kind;
    s->range = at;
    return s;
  }
  template <typename T>
  std::span<T> take(std::vector<T>& stack, size_t mark) {
    size_t n = stack.size() - mark;
    if (n == 0) return {};
    T* data = program_.arena.makeArray<T>(n);
    std::copy(stack.begin() + mark, stack.end(), data);
    stack.resize(mark);
    return {data, n};
  }

  // What a name means inside a function: a variable or a constant.
  struct Binding {
    checked::Local* local = nullptr;
    const checked::ConstantExpr* constant = nullptr;
    SourceRange range;
    uint32_t scope = 0;
    explicit operator bool() const { return local || constant; }
  };
  struct Target {  // A statement that break or continue may name.
    checked::Stmt* stmt;
    Name label;
    bool isLoop;
  };
  struct Pending {
    Symbol* symbol;
    checked::Function* function;
    std::vector<const Type*> typeArgs;
    Mode mode;
  };

  std::deque<Module>& modules_;
  const Interner& interner_;
  DiagnosticEngine& diagnostics_;
  Program& program_;
  TypeContext& types_;

  std::deque<Scope> scopes_;  // One for each module, in their order.
  absl::flat_hash_map<const Module*, Scope*> scopeOf_;
  std::deque<Symbol> symbols_;
  std::vector<const Builtin*> builtinByName_;  // By name id.
  std::vector<const Builtin*> mathByName_;
  absl::flat_hash_map<const checked::Function*, bool> queued_;
  std::deque<Pending> pending_;
  size_t instanceCount_ = 0;
  int constantDepth_ = 0;
  int warnings_ = 0;

  // The function being checked.
  Scope* scope_ = nullptr;
  const ast::FunctionDecl* decl_ = nullptr;
  std::span<const Type* const> typeArgs_;
  checked::Function* function_ = nullptr;
  Mode mode_ = Mode::neutral;
  bool failed_ = false;            // An error was reported in this body.
  bool quietNames_ = false;        // Syntax errors may have swallowed declarations.
  bool localsHidden_ = false;      // A constant of the module is being evaluated.
  int depth_ = 0;                  // Of the recursion, constants of constants included.
  std::vector<Binding> bindings_;  // By name id.
  std::vector<std::pair<uint32_t, Binding>> undo_;
  std::vector<size_t> scopeMarks_;
  std::vector<Target> targets_;
  int32_t trackedCount_ = 0;

  // Scratch stacks of the recursion, see take().
  std::vector<checked::Stmt*> statements_;
  std::vector<Expr*> exprs_;
  std::vector<const ast::BinaryExpr*> spine_;
  std::vector<checked::IfArm> arms_;
  std::vector<checked::CaseLabel> labels_;
  std::vector<checked::SwitchSection> sections_;

  checked::Expr poison_{};
};

}  // namespace mtlc::frontend

#endif  // MTLC_FRONTEND_SEMA_IMPL_H_
