// Statements (docs/language.md §2).

#include "mtlc/frontend/parser_impl.h"

namespace mtlc::frontend {

using namespace ast;  // NOLINT: this file is about nothing else.

namespace {

bool isLoopKeyword(TokenKind kind) {
  return kind == TokenKind::kwWhile || kind == TokenKind::kwFor || kind == TokenKind::kwSwitch;
}

// The operator of `op=`. False for another token.
bool compoundOp(TokenKind kind, BinaryOp* op) {
  switch (kind) {
    case TokenKind::plusEqual:
      *op = BinaryOp::add;
      return true;
    case TokenKind::minusEqual:
      *op = BinaryOp::sub;
      return true;
    case TokenKind::starEqual:
      *op = BinaryOp::mul;
      return true;
    case TokenKind::slashEqual:
      *op = BinaryOp::div;
      return true;
    case TokenKind::percentEqual:
      *op = BinaryOp::rem;
      return true;
    case TokenKind::ampEqual:
      *op = BinaryOp::bitAnd;
      return true;
    case TokenKind::pipeEqual:
      *op = BinaryOp::bitOr;
      return true;
    case TokenKind::caretEqual:
      *op = BinaryOp::bitXor;
      return true;
    case TokenKind::shlEqual:
      *op = BinaryOp::shl;
      return true;
    case TokenKind::shrEqual:
      *op = BinaryOp::shr;
      return true;
    default:
      return false;
  }
}

}  // namespace

Block* Parser::block() {
  auto* b = make<Block>(cur().range());
  b->kind = StmtKind::block;
  SourceRange opening = cur().range();
  if (!expect(K::lBrace)) return nullptr;
  if (!enter()) return nullptr;
  int group = group_;
  group_ = 0;
  b->statements = statements(/*inSwitch=*/false);
  group_ = group;
  leave();
  b->end = cur().range();
  if (!accept(K::rBrace) && !abandonBody_ && !stopped_) {
    // Every enclosing block is open too; one message is enough.
    abandonBody_ = true;
    diagnostics_.report(DiagId::UnclosedBlock, opening);
  }
  return b;
}

// Up to `}` (or, in a switch, the next label), which is left.
std::span<Stmt*> Parser::statements(bool inSwitch) {
  size_t mark = statementStack_.size();
  while (!atEnd() && !at(K::rBrace) && !abandonBody_) {
    if (inSwitch && (at(K::kwCase) || at(K::kwDefault))) break;
    if (accept(K::semicolon)) continue;
    // A declaration cannot stand in a body, so the body's end is missing.
    if (cur().newlineBefore &&
        (at(K::kwKernel) || (at(K::kwFn) && ahead(1).kind == K::identifier))) {
      break;
    }
    size_t start = pos_;
    Stmt* s = statement();
    if (s) statementStack_.push_back(s);
    if (panic_) skipToStatementEnd(start);
  }
  return take(statementStack_, mark);
}

Stmt* Parser::statement() {
  switch (cur().kind) {
    case K::lBrace:
      return block();
    case K::kwVar:
    case K::kwWorkgroup:
    case K::kwPrivate:
      return varStatement();
    case K::kwConst:
      return constStatement();
    case K::kwIf:
      return ifStatement();
    case K::kwWhile:
    case K::kwFor:
    case K::kwSwitch:
      return loopOrSwitch(nullptr);
    case K::kwBreak:
      return jump(StmtKind::break_);
    case K::kwContinue:
      return jump(StmtKind::continue_);
    case K::kwReturn:
      return returnStatement();
    case K::kwDispatch:
    case K::kwDefer:
    case K::kwErrdefer:
    case K::kwAsm:
    case K::kwMatch:
      return hostStatement();
    case K::kwElse:
      return fail(DiagId::ElseWithoutIf, cur().range());
    case K::kwCase:
    case K::kwDefault:
      return failWith(DiagId::CaseOutsideSwitch, cur().range(), tokenText(cur().kind));
    case K::at:
      // A loop may carry @simd; it is a promise that nothing here needs.
      if (ahead(1).kind == K::identifier && ahead(1).name() == names::simd) {
        advance();
        advance();
        if (isLoopKeyword(cur().kind)) return loopOrSwitch(nullptr);
        return failExpected("a loop", "after '@simd'");
      }
      return failExpected("a statement");
    case K::identifier:
      if (ahead(1).kind == K::colon && isLoopKeyword(ahead(2).kind)) {
        const Token* label = &cur();
        advance();
        advance();
        return loopOrSwitch(label);
      }
      break;
    default:
      break;
  }
  // The end is optional here: `a = 1 b = 2` are two statements.
  Stmt* s = simpleStatement();
  if (s) accept(K::semicolon);
  return s;
}

Stmt* Parser::nested() {
  if (at(K::lBrace)) return block();
  auto* b = make<Block>(cur().range());
  b->kind = StmtKind::block;
  b->end = cur().range();
  if (accept(K::semicolon)) return b;
  if (at(K::rBrace) || atEnd()) return failExpected("a statement");
  // A lone statement is a scope of its own. It is counted as a level of nesting.
  if (!enter()) return nullptr;
  Stmt* s = statement();
  leave();
  if (!s) return nullptr;
  b->statements = {arena_.makeArray<Stmt*>(1), 1};
  b->statements[0] = s;
  return b;
}

Stmt* Parser::varStatement() {
  auto* s = make<VarStmt>(cur().range());
  s->kind = StmtKind::var;
  if (accept(K::kwWorkgroup)) {
    s->storage = Storage::workgroup;
  } else if (accept(K::kwPrivate)) {
    s->storage = Storage::private_;
  }
  if (!expect(K::kwVar)) return nullptr;
  s->name = cur().name();
  s->nameRange = cur().range();
  if (!at(K::identifier)) return failExpected("a name", "after 'var'");
  advance();
  if (!at(K::colon)) return failWith(DiagId::MissingType, s->nameRange, interner_.text(s->name));
  advance();
  s->type = type();
  if (!s->type) return nullptr;
  if (accept(K::equal)) {
    s->init = expression();
    if (!s->init) return nullptr;
  }
  return endStatement() ? s : nullptr;
}

Stmt* Parser::constStatement() {
  auto* s = make<ConstStmt>(cur().range());
  s->kind = StmtKind::constant;
  advance();
  s->name = cur().name();
  s->nameRange = cur().range();
  if (!at(K::identifier)) return failExpected("a name", "after 'const'");
  advance();
  if (!at(K::colon)) return failWith(DiagId::MissingType, s->nameRange, interner_.text(s->name));
  advance();
  s->type = type();
  if (!s->type || !expect(K::equal, "and the value of the constant")) return nullptr;
  s->init = expression();
  return s->init && endStatement() ? s : nullptr;
}

Stmt* Parser::simpleStatement() {
  Expr* target = expression();
  if (!target) return nullptr;
  const Token& token = cur();
  BinaryOp op = BinaryOp::add;
  bool compound = compoundOp(token.kind, &op);
  if (continues() && (compound || at(K::equal))) {
    auto* s = make<AssignStmt>(token.range());
    s->kind = StmtKind::assign;
    s->target = target;
    s->compound = compound;
    s->op = op;
    advance();
    s->value = expression();
    return s->value ? s : nullptr;
  }
  auto* s = make<ExprStmt>(target->range);
  s->kind = StmtKind::expression;
  s->expr = target;
  return s;
}

Expr* Parser::condition() {
  if (!at(K::lParen)) return failExpected("'('", "before the condition");
  Group group(*this);
  advance();
  Expr* e = expression();
  return e && expect(K::rParen, "after the condition") ? e : nullptr;
}

Stmt* Parser::ifStatement() {
  auto* s = make<IfStmt>(cur().range());
  s->kind = StmtKind::if_;
  size_t mark = armStack_.size();
  bool good = true;
  for (;;) {
    advance();  // if
    Expr* c = condition();
    good = good && c;
    if (!c) {
      if (!skipToBody()) break;
      panic_ = false;
    }
    Stmt* body = nested();
    good = good && body;
    if (!body) break;
    armStack_.push_back({c, body});
    if (!at(K::kwElse)) break;
    advance();
    if (at(K::kwIf)) continue;
    s->otherwise = nested();
    good = good && s->otherwise;
    break;
  }
  s->arms = take(armStack_, mark);
  return good ? s : nullptr;
}

Stmt* Parser::loopOrSwitch(const Token* label) {
  Name name;
  SourceRange range;
  if (label) {
    name = label->name();
    range = label->range();
  }
  if (at(K::kwSwitch)) {
    Stmt* s = switchStatement();
    if (!s) return nullptr;
    static_cast<SwitchStmt*>(s)->label = name;
    static_cast<SwitchStmt*>(s)->labelRange = range;
    return s;
  }
  Stmt* s = at(K::kwWhile) ? whileStatement() : forStatement();
  if (!s) return nullptr;
  static_cast<LoopStmt*>(s)->label = name;
  static_cast<LoopStmt*>(s)->labelRange = range;
  return s;
}

Stmt* Parser::whileStatement() {
  auto* s = make<WhileStmt>(cur().range());
  s->kind = StmtKind::while_;
  advance();
  s->condition = condition();
  if (!s->condition) {
    if (!skipToBody()) return nullptr;
    panic_ = false;
  }
  s->body = nested();
  return s->body && s->condition ? s : nullptr;
}

Stmt* Parser::forStatement() {
  // `for i in a..b`, also in parentheses; everything else is `for (init; condition; step)`.
  size_t n = ahead(1).kind == K::lParen ? 2 : 1;
  bool isRange = ahead(n).kind == K::identifier &&
                 (ahead(n + 1).kind == K::colon ||
                  (ahead(n + 1).kind == K::identifier && ahead(n + 1).name() == names::in));
  return isRange ? forRange(n == 2) : forClassic();
}

Stmt* Parser::forRange(bool parenthesized) {
  auto* s = make<ForRangeStmt>(cur().range());
  s->kind = StmtKind::forRange;
  advance();
  bool good;
  if (parenthesized) {
    Group group(*this);
    advance();
    good = forRangeHeader(s) && expect(K::rParen, "after the range");
  } else {
    good = forRangeHeader(s);
  }
  if (!good) {
    if (!skipToBody()) return nullptr;
    panic_ = false;
  }
  s->body = nested();
  return good && s->body ? s : nullptr;
}

// From the loop variable to the end of the range.
bool Parser::forRangeHeader(ForRangeStmt* s) {
  s->name = cur().name();
  s->nameRange = cur().range();
  advance();
  if (accept(K::colon)) {
    s->type = type();
    if (!s->type) return false;
  }
  if (!atName(names::in)) {
    failExpected("'in'", "after the loop variable");
    return false;
  }
  advance();
  s->first = expression();
  if (!s->first) return false;
  s->inclusive = at(K::dotDotEqual);
  if (!s->inclusive && !at(K::dotDot)) {
    failExpected("'..' or '..='", "in the range");
    return false;
  }
  advance();
  s->last = expression();
  return s->last != nullptr;
}

Stmt* Parser::forClassic() {
  auto* s = make<ForStmt>(cur().range());
  s->kind = StmtKind::for_;
  advance();
  if (!at(K::lParen)) return failExpected("'(' or a loop variable", "after 'for'");
  bool outer = inForHeader_;
  inForHeader_ = true;
  bool good = forClassicHeader(s);
  bool body = good || skipToBody();
  inForHeader_ = outer;
  if (!body) return nullptr;
  if (!good) panic_ = false;
  s->body = nested();
  return good && s->body ? s : nullptr;
}

// `(init; condition; step)`, every part optional.
bool Parser::forClassicHeader(ForStmt* s) {
  Group group(*this);
  advance();
  if (!accept(K::semicolon)) {
    // varStatement() takes its own `;`, which newlines do not replace here.
    s->init = at(K::kwVar) ? varStatement() : simpleStatement();
    if (!s->init) return false;
    if (s->init->kind != StmtKind::var && !expect(K::semicolon, "after the first part of 'for'")) {
      return false;
    }
  }
  if (!at(K::semicolon)) {
    s->condition = expression();
    if (!s->condition) return false;
  }
  if (!expect(K::semicolon, "after the condition of 'for'")) return false;
  if (!at(K::rParen)) {
    s->step = simpleStatement();
    if (!s->step) return false;
  }
  return expect(K::rParen, "after the parts of 'for'");
}

// Pushes onto labelStack_.
bool Parser::caseLabel() {
  CaseLabel label;
  label.range = cur().range();
  if (accept(K::kwDefault)) {
    labelStack_.push_back(label);
    return expect(K::colon, "after 'default'");
  }
  advance();  // case
  label.low = expression();
  if (!label.low) return false;
  if (at(K::dotDot) || at(K::dotDotEqual)) {
    advance();
    label.high = expression();
    if (!label.high) return false;
  }
  labelStack_.push_back(label);
  return expect(K::colon, "after the value of 'case'");
}

// Labels and the statements up to the next ones. False (and resynchronised) after an error in the
// labels.
bool Parser::section() {
  size_t start = pos_;
  size_t mark = labelStack_.size();
  bool good = true;
  while (good && (at(K::kwCase) || at(K::kwDefault))) good = caseLabel();
  if (good && labelStack_.size() == mark) {
    failExpected("'case' or 'default'");
    good = false;
  }
  if (!good) {
    labelStack_.resize(mark);
    skipToStatementEnd(start);
    return false;
  }
  auto* body = make<Block>(labelStack_.back().range);
  body->kind = StmtKind::block;
  std::span<CaseLabel> labels = take(labelStack_, mark);
  body->statements = statements(/*inSwitch=*/true);
  body->end = cur().range();
  sectionStack_.push_back({labels, body});
  return true;
}

Stmt* Parser::switchStatement() {
  auto* s = make<SwitchStmt>(cur().range());
  s->kind = StmtKind::switch_;
  advance();
  s->subject = condition();
  bool good = s->subject != nullptr;
  if (!good) {
    if (!skipToBody()) return nullptr;
    panic_ = false;
  }
  SourceRange opening = cur().range();
  if (!expect(K::lBrace, "after 'switch (…)'") || !enter()) return nullptr;
  size_t mark = sectionStack_.size();
  size_t before = pos_;
  while (!atEnd() && !at(K::rBrace) && !abandonBody_) {
    if (accept(K::semicolon)) continue;
    before = pos_;
    good = section() && good;
    if (pos_ == before) break;  // The body's end is missing.
  }
  s->sections = take(sectionStack_, mark);
  leave();
  if (!accept(K::rBrace) && !abandonBody_ && !stopped_) {
    abandonBody_ = true;
    diagnostics_.report(DiagId::UnclosedBlock, opening);
    return nullptr;
  }
  return good ? s : nullptr;
}

Stmt* Parser::jump(StmtKind kind) {
  auto* s = make<JumpStmt>(cur().range());
  s->kind = kind;
  advance();
  if (at(K::identifier) && !cur().newlineBefore) {
    s->label = cur().name();
    s->labelRange = cur().range();
    advance();
  }
  return endStatement() ? s : nullptr;
}

Stmt* Parser::returnStatement() {
  auto* s = make<ReturnStmt>(cur().range());
  s->kind = StmtKind::return_;
  advance();
  if (!atStatementEnd() && !at(K::kwElse)) {
    s->value = expression();
    if (!s->value) return nullptr;
  }
  return endStatement() ? s : nullptr;
}

Stmt* Parser::hostStatement() {
  auto* s = make<HostStmt>(cur().range());
  s->kind = StmtKind::host;
  TokenKind kind = cur().kind;
  advance();
  switch (kind) {
    case K::kwDefer:
    case K::kwErrdefer:
      s->what = kind == K::kwDefer ? "'defer'" : "'errdefer'";
      s->body = nested();
      return s->body ? s : nullptr;
    case K::kwDispatch:
      s->what = "'dispatch'";
      if (!primary()) return nullptr;
      while (at(K::dot) || at(K::identifier)) advance();
      if (!at(K::lBracket)) return failExpected("'['", "and the launch dimensions");
      checkDispatchControls(s->range);
      skipGroup();
      if (!at(K::lParen)) return failExpected("'('", "and the arguments of the launch");
      checkDispatchArguments();
      skipGroup();
      return endStatement() ? s : nullptr;
    case K::kwMatch:
      s->what = "'match'";
      if (at(K::lParen)) skipGroup();
      break;
    default:
      s->what = "'asm'";
      break;
  }
  while (!at(K::lBrace) && !atStatementEnd()) advance();
  if (at(K::lBrace)) skipGroup();
  return s;
}

}  // namespace mtlc::frontend
