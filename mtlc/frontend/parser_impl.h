// The parser's state and the members that parser.cc, parser_stmt.cc and parser_expr.cc share.

#ifndef MTLC_FRONTEND_PARSER_IMPL_H_
#define MTLC_FRONTEND_PARSER_IMPL_H_

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "mtlc/frontend/parser.h"

namespace mtlc::frontend {

// Recursive descent. A function that fails has reported the error (or knows that it was), has set
// panic_ and returns nullptr; the statement and declaration loops resynchronise.
// Brackets of all kinds.
constexpr bool opens(TokenKind kind) {
  return kind == TokenKind::lParen || kind == TokenKind::lBracket || kind == TokenKind::lBrace;
}
constexpr bool closes(TokenKind kind) {
  return kind == TokenKind::rParen || kind == TokenKind::rBracket || kind == TokenKind::rBrace;
}

class Parser {
 public:
  Parser(TokenBuffer& tokens, FileId file, const Interner& interner, Arena& arena,
         DiagnosticEngine& diagnostics)
      : buffer_(tokens),
        tokens_(tokens.tokens),
        file_(file),
        interner_(interner),
        arena_(arena),
        diagnostics_(diagnostics),
        typeNames_(interner.size(), false) {}

  ast::File* run();

 private:
  using K = TokenKind;

  // --- Tokens ---
  const Token& cur() const { return tokens_[pos_]; }
  const Token& ahead(size_t n) const { return tokens_[std::min(pos_ + n, tokens_.size() - 1)]; }
  bool at(K kind) const { return cur().kind == kind; }
  bool atEnd() const { return at(K::endOfFile); }
  void advance() {
    if (!atEnd()) ++pos_;
  }
  bool accept(K kind) {
    if (!at(kind)) return false;
    advance();
    return true;
  }
  bool expect(K kind, std::string_view where = {});
  bool atName(Name name) const { return at(K::identifier) && cur().name() == name; }
  // An expression goes on to the next line only inside brackets.
  bool continues() const { return group_ > 0 || !cur().newlineBefore; }
  bool atStatementEnd() const {
    return at(K::semicolon) || at(K::rBrace) || atEnd() || cur().newlineBefore;
  }
  // Consumes what ends a statement; false (and reported) if something else follows.
  bool endStatement();

  // --- Errors ---
  std::nullptr_t fail(DiagId id, SourceRange at, DiagArgs args = {});
  // With one argument, built outside the frame of the caller.
  [[gnu::noinline]] std::nullptr_t failWith(DiagId id, SourceRange at, std::string_view arg) {
    return fail(id, at, {arg});
  }
  std::nullptr_t failExpected(std::string_view what, std::string_view where = {});
  std::string describe(const Token& token) const;
  // Counts one level of nesting; false (reported once, and the rest of the file is skipped) if it
  // is one too many.
  bool enter();
  void leave() { --depth_; }
  void stop();

  // Skips a bracketed group including its end; pos_ is at the opening bracket.
  void skipGroup();

  // --- dispatch (parser_dispatch.cc); pos_ is at the opening bracket and stays there ---
  struct TokenSpan {
    size_t begin, end;  // Positions of tokens.
    size_t size() const { return end - begin; }
  };
  // The comma-separated pieces of a bracketed group.
  std::vector<TokenSpan> pieces(size_t open) const;
  void checkDispatchControls(SourceRange dispatch);
  void checkDispatchDimensions(std::string_view control, TokenSpan value, bool named);
  void checkDispatchArguments();

  void skipToStatementEnd(size_t start);
  // Skips to the `{` of a body on the way to the end of the statement. True if it is there.
  bool skipToBody();
  void skipToDeclaration();

  // --- Declarations (parser.cc) ---
  void topLevel();
  void import();
  void importStr();
  bool decorators();
  ast::Decl* declaration();
  ast::Decl* function(ast::FunctionDecl* f);
  bool typeParams(ast::FunctionDecl* f);
  bool params(ast::FunctionDecl* f);
  ast::Decl* constant();
  ast::Decl* variable(bool isExtern);
  ast::Decl* enumeration();
  ast::Decl* hostDeclaration(std::string_view what, bool isType);
  void findTypeNames();

  // --- Types (parser.cc) ---
  ast::TypeRef* type();
  ast::TypeRef* baseType();
  ast::TypeRef* typeSuffix(ast::TypeRef* base);
  // At `<`: the list, without the closing `>`.
  bool typeArgs(std::span<ast::TypeRef*>* out);

  // --- Statements (parser_stmt.cc) ---
  ast::Block* block();
  std::span<ast::Stmt*> statements(bool inSwitch);
  ast::Stmt* statement();
  ast::Stmt* nested();  // The body of an if or loop: a block or one statement.
  ast::Stmt* varStatement();
  ast::Stmt* constStatement();
  ast::Stmt* simpleStatement();  // Expression or assignment, without its end.
  ast::Stmt* ifStatement();
  ast::Stmt* loopOrSwitch(const Token* label);
  ast::Stmt* whileStatement();
  ast::Stmt* forStatement();
  ast::Stmt* forRange(bool parenthesized);
  bool forRangeHeader(ast::ForRangeStmt* s);
  ast::Stmt* forClassic();
  bool forClassicHeader(ast::ForStmt* s);
  ast::Stmt* switchStatement();
  bool caseLabel();
  bool section();
  ast::Stmt* jump(ast::StmtKind kind);
  ast::Stmt* returnStatement();
  ast::Stmt* hostStatement();
  ast::Expr* condition();  // `(expr)`

  // --- Expressions (parser_expr.cc) ---
  ast::Expr* expression();
  ast::Expr* binary(int minPrecedence);
  ast::Expr* unary();
  ast::Expr* postfix();
  ast::Expr* primary();
  ast::Expr* parenthesized();
  ast::Expr* castExpression();
  ast::Expr* call(ast::Expr* callee, std::span<ast::TypeRef*> typeArgs);
  ast::Expr* sizeofExpression();
  ast::Expr* hostExpression();
  bool looksLikeCast() const;
  bool looksLikeTypeArgs() const;
  bool isTypeName(Name name) const { return name.id < typeNames_.size() && typeNames_[name.id]; }
  ast::NameExpr* nameExpr(const Token& token);

  template <typename T>
  T* make(SourceRange range) {
    T* node = arena_.make<T>();
    node->range = range;
    return node;
  }
  template <typename T>
  std::span<T> copy(const std::vector<T>& items) {
    return copyFrom(items, 0);
  }
  template <typename T>
  std::span<T> copyFrom(const std::vector<T>& items, size_t mark) {
    if (items.size() == mark) return {};
    T* data = arena_.makeArray<T>(items.size() - mark);
    std::copy(items.begin() + mark, items.end(), data);
    return {data, items.size() - mark};
  }
  // The list that was pushed onto a scratch stack since `mark`. Functions of a recursion collect
  // their lists there: a vector of their own would make their frames large.
  template <typename T>
  std::span<T> take(std::vector<T>& stack, size_t mark) {
    std::span<T> list = copyFrom(stack, mark);
    stack.resize(mark);
    return list;
  }

  // Newlines count again inside a block that stands in brackets (none in this grammar yet) and do
  // not inside brackets.
  struct Group {
    explicit Group(Parser& p) : parser(p) { ++parser.group_; }
    ~Group() { --parser.group_; }
    Parser& parser;
  };

  TokenBuffer& buffer_;
  std::vector<Token>& tokens_;  // Mutable: `*=` is split in `p: int32*= q`.
  size_t pos_ = 0;
  FileId file_;
  const Interner& interner_;
  Arena& arena_;
  DiagnosticEngine& diagnostics_;

  int depth_ = 0;
  int group_ = 0;
  bool panic_ = false;    // An error was reported and nothing has resynchronised yet.
  int panicGroup_ = 0;    // group_ where it happened.
  bool stopped_ = false;  // Nothing more is reported.
  bool inForHeader_ = false;
  bool abandonBody_ = false;  // A declaration begins inside a body: its closing brace is missing.
  std::vector<bool> typeNames_;
  std::vector<ast::Decl*> decls_;
  // Scratch stacks, see take().
  std::vector<ast::Stmt*> statementStack_;
  std::vector<ast::Argument> argumentStack_;
  std::vector<ast::TypeRef*> typeStack_;
  std::vector<ast::IfArm> armStack_;
  std::vector<ast::CaseLabel> labelStack_;
  std::vector<ast::SwitchSection> sectionStack_;
  std::vector<ast::Import> imports_;
  std::vector<ast::Decorator> decorators_;
  bool hasExports_ = false;
};

}  // namespace mtlc::frontend

#endif  // MTLC_FRONTEND_PARSER_IMPL_H_
