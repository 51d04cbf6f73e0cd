// Expressions (docs/language.md §3).

#include "mtlc/frontend/parser_impl.h"

namespace mtlc::frontend {

using namespace ast;  // NOLINT: this file is about nothing else.

namespace {

struct BinaryRow {
  TokenKind token;
  BinaryOp op;
  int precedence;
};
constexpr BinaryRow kBinaryRows[] = {
    {TokenKind::star, BinaryOp::mul, 10},
    {TokenKind::slash, BinaryOp::div, 10},
    {TokenKind::percent, BinaryOp::rem, 10},
    {TokenKind::plus, BinaryOp::add, 9},
    {TokenKind::minus, BinaryOp::sub, 9},
    {TokenKind::shl, BinaryOp::shl, 8},
    {TokenKind::shr, BinaryOp::shr, 8},
    {TokenKind::less, BinaryOp::less, 7},
    {TokenKind::lessEqual, BinaryOp::lessEqual, 7},
    {TokenKind::greater, BinaryOp::greater, 7},
    {TokenKind::greaterEqual, BinaryOp::greaterEqual, 7},
    {TokenKind::equalEqual, BinaryOp::equal, 6},
    {TokenKind::bangEqual, BinaryOp::notEqual, 6},
    {TokenKind::amp, BinaryOp::bitAnd, 5},
    {TokenKind::caret, BinaryOp::bitXor, 4},
    {TokenKind::pipe, BinaryOp::bitOr, 3},
    {TokenKind::ampAmp, BinaryOp::logicalAnd, 2},
    {TokenKind::pipePipe, BinaryOp::logicalOr, 1},
};
constexpr size_t kTokenKinds = static_cast<size_t>(TokenKind::shrEqual) + 1;

struct BinaryTable {
  uint8_t precedence[kTokenKinds] = {};  // 0: no binary operator.
  BinaryOp op[kTokenKinds] = {};
};
constexpr BinaryTable makeBinaryTable() {
  BinaryTable table;
  for (const BinaryRow& row : kBinaryRows) {
    table.precedence[static_cast<size_t>(row.token)] = static_cast<uint8_t>(row.precedence);
    table.op[static_cast<size_t>(row.token)] = row.op;
  }
  return table;
}
constexpr BinaryTable kBinary = makeBinaryTable();

// How far looksLikeTypeArgs() looks: enough for any real list, and constant.
constexpr size_t kTypeArgLookahead = 48;

bool startsOperand(TokenKind kind) {
  switch (kind) {
    case TokenKind::identifier:
    case TokenKind::integer:
    case TokenKind::floating:
    case TokenKind::character:
    case TokenKind::string:
    case TokenKind::tilde:
    case TokenKind::bang:
    case TokenKind::kwThis:
    case TokenKind::kwNew:
      return true;
    default:
      return false;
  }
}

}  // namespace

Expr* Parser::expression() { return binary(1); }

Expr* Parser::binary(int minPrecedence) {
  if (!enter()) return nullptr;
  Expr* lhs = unary();
  while (lhs && continues()) {
    const Token& token = cur();
    int precedence = kBinary.precedence[static_cast<size_t>(token.kind)];
    if (precedence < minPrecedence || precedence == 0) break;
    auto* e = make<BinaryExpr>(token.range());
    e->kind = ExprKind::binary;
    e->op = kBinary.op[static_cast<size_t>(token.kind)];
    e->lhs = lhs;
    advance();
    e->rhs = binary(precedence + 1);
    lhs = e->rhs ? e : nullptr;
  }
  leave();
  return lhs;
}

Expr* Parser::unary() {
  UnaryOp op;
  switch (cur().kind) {
    case K::minus:
      op = UnaryOp::minus;
      break;
    case K::plus:
      op = UnaryOp::plus;
      break;
    case K::star:
      op = UnaryOp::deref;
      break;
    case K::amp:
      op = UnaryOp::addressOf;
      break;
    case K::tilde:
      op = UnaryOp::bitNot;
      break;
    case K::bang:
      op = UnaryOp::logicalNot;
      break;
    case K::lParen:
      if (looksLikeCast()) return castExpression();
      return postfix();
    default:
      return postfix();
  }
  if (!enter()) return nullptr;
  auto* e = make<UnaryExpr>(cur().range());
  e->kind = ExprKind::unary;
  e->op = op;
  advance();
  e->operand = unary();
  leave();
  return e->operand ? e : nullptr;
}

// At `(`: is this `(T)x`? Keywords that name types, and names known to, decide at once; for other
// names what follows does: `(E)x` can be nothing else, `(x)` followed by an operator is an operand.
bool Parser::looksLikeCast() const {
  size_t n = 1;
  if (isTypeKeyword(ahead(n).kind)) return true;
  if (ahead(n).kind != K::identifier) return false;
  bool known = isTypeName(ahead(n).name());
  ++n;
  if (ahead(n).kind == K::dot && ahead(n + 1).kind == K::identifier) {
    n += 2;
    known = false;
  }
  bool pointer = false;
  for (; ahead(n).kind == K::star && n < kTypeArgLookahead; ++n) pointer = true;
  if (ahead(n).kind != K::rParen) return false;
  if (pointer || known) return true;
  const Token& after = ahead(n + 1);
  return startsOperand(after.kind) && (group_ > 0 || !after.newlineBefore);
}

Expr* Parser::castExpression() {
  if (!enter()) return nullptr;
  auto* e = make<CastExpr>(cur().range());
  e->kind = ExprKind::cast;
  {
    Group group(*this);
    advance();
    e->type = type();
    if (!e->type || !expect(K::rParen, "after the type of a cast")) {
      leave();
      return nullptr;
    }
  }
  e->operand = unary();
  leave();
  return e->operand ? e : nullptr;
}

Expr* Parser::postfix() {
  Expr* e = primary();
  // A chain of suffixes makes a deep tree without recursion here, so it is counted.
  int levels = 0;
  while (e && continues()) {
    if (at(K::lParen)) {
      e = call(e, {});
    } else if (at(K::lBracket)) {
      auto* index = make<IndexExpr>(e->range);
      index->kind = ExprKind::index;
      index->base = e;
      Group group(*this);
      advance();
      index->index = expression();
      e = index->index && expect(K::rBracket, "after the index") ? index : nullptr;
    } else if (at(K::dot) || at(K::arrow)) {
      auto* member = make<MemberExpr>(e->range);
      member->kind = ExprKind::member;
      member->base = e;
      member->arrow = at(K::arrow);
      advance();
      if (!at(K::identifier) && !isKeyword(cur().kind)) {
        e = failExpected("a member name");
        break;
      }
      member->member = cur().name();
      member->memberRange = cur().range();
      advance();
      e = member;
    } else if (at(K::less) && e->kind == ExprKind::name && looksLikeTypeArgs()) {
      std::span<TypeRef*> args;
      bool good = typeArgs(&args) && expect(K::greater, "after the type arguments");
      e = good ? call(e, args) : nullptr;
    } else {
      break;
    }
    if (!enter()) return nullptr;
    ++levels;
  }
  depth_ -= levels;
  return e;
}

bool Parser::typeArgs(std::span<TypeRef*>* out) {
  size_t mark = typeStack_.size();
  advance();
  do {
    TypeRef* arg = type();
    if (!arg) {
      typeStack_.resize(mark);
      return false;
    }
    typeStack_.push_back(arg);
  } while (accept(K::comma));
  *out = take(typeStack_, mark);
  return true;
}

// At `<` after a name: is this `f<int32>(x)`? It is when a list of types, `>` and `(` follow.
bool Parser::looksLikeTypeArgs() const {
  size_t n = 1;
  for (;;) {
    K kind = ahead(n).kind;
    if (kind != K::identifier && !isTypeKeyword(kind)) return false;
    ++n;
    if (ahead(n).kind == K::dot && ahead(n + 1).kind == K::identifier) n += 2;
    while (ahead(n).kind == K::star && n < kTypeArgLookahead) ++n;
    if (n >= kTypeArgLookahead) return false;
    if (ahead(n).kind == K::comma) {
      ++n;
      continue;
    }
    return ahead(n).kind == K::greater && ahead(n + 1).kind == K::lParen;
  }
}

Expr* Parser::call(Expr* callee, std::span<TypeRef*> typeArgs) {
  auto* e = make<CallExpr>(callee->range);
  e->kind = ExprKind::call;
  e->callee = callee;
  e->typeArgs = typeArgs;
  Group group(*this);
  advance();
  size_t mark = argumentStack_.size();
  while (!at(K::rParen)) {
    bool word = at(K::identifier) || isKeyword(cur().kind);
    const Token* label = word && ahead(1).kind == K::colon ? &cur() : nullptr;
    if (label) {
      advance();
      advance();
    }
    Expr* value;
    // Words such as `workgroup` and `default` are keywords elsewhere and values here.
    if (isKeyword(cur().kind) && (ahead(1).kind == K::comma || ahead(1).kind == K::rParen) &&
        !at(K::kwThis)) {
      value = nameExpr(cur());
      advance();
    } else {
      value = expression();
    }
    if (!value) {
      argumentStack_.resize(mark);
      return nullptr;
    }
    argumentStack_.push_back(
        {label ? label->name() : Name(), label ? label->range() : SourceRange(), value});
    if (!accept(K::comma)) break;
  }
  e->args = take(argumentStack_, mark);
  return expect(K::rParen, "after the arguments") ? e : nullptr;
}

NameExpr* Parser::nameExpr(const Token& token) {
  auto* e = make<NameExpr>(token.range());
  e->kind = ExprKind::name;
  e->name = token.name();
  return e;
}

Expr* Parser::primary() {
  const Token& token = cur();
  switch (token.kind) {
    case K::integer: {
      auto* e = make<IntegerExpr>(token.range());
      e->kind = ExprKind::integer;
      e->value = buffer_.integers[token.value].value;
      e->decimal = buffer_.integers[token.value].decimal;
      advance();
      return e;
    }
    case K::floating: {
      auto* e = make<FloatExpr>(token.range());
      e->kind = ExprKind::floating;
      e->value = buffer_.floats[token.value].value;
      e->suffixF = buffer_.floats[token.value].suffixF;
      advance();
      return e;
    }
    case K::character: {
      auto* e = make<CharacterExpr>(token.range());
      e->kind = ExprKind::character;
      e->value = static_cast<uint8_t>(token.value);
      advance();
      return e;
    }
    case K::string: {
      auto* e = make<StringExpr>(token.range());
      e->kind = ExprKind::string;
      e->value = buffer_.strings[token.value];
      advance();
      return e;
    }
    case K::identifier:
      if (token.name() == names::sizeof_ && ahead(1).kind == K::lParen) return sizeofExpression();
      [[fallthrough]];
    case K::kwBarrier: {
      Expr* e = nameExpr(token);
      advance();
      return e;
    }
    case K::lParen:
      return parenthesized();
    case K::kwNew:
    case K::kwThis:
    case K::kwMatch:
    case K::kwFn:
      return hostExpression();
    default:
      return failExpected("an expression");
  }
}

Expr* Parser::parenthesized() {
  Group group(*this);
  advance();
  Expr* e = expression();
  if (!e || !expect(K::rParen, "to close the parenthesis")) return nullptr;
  e->parenthesized = true;
  return e;
}

Expr* Parser::sizeofExpression() {
  auto* e = make<SizeofExpr>(cur().range());
  e->kind = ExprKind::sizeofType;
  advance();
  Group group(*this);
  advance();
  e->type = type();
  if (!e->type || !expect(K::rParen, "after the type")) return nullptr;
  return e;
}

Expr* Parser::hostExpression() {
  auto* e = make<HostExpr>(cur().range());
  e->kind = ExprKind::host;
  switch (cur().kind) {
    case K::kwThis:
      e->what = "'this'";
      advance();
      return e;
    case K::kwNew:
      e->what = "'new'";
      advance();
      if (!baseType()) return nullptr;
      break;
    case K::kwMatch:
      e->what = "'match'";
      advance();
      break;
    default:
      e->what = "a function value";
      advance();
      break;
  }
  if (at(K::lParen)) skipGroup();
  if (at(K::arrow)) {
    advance();
    if (!type()) return nullptr;
  }
  if (at(K::lBrace)) skipGroup();
  return e;
}

}  // namespace mtlc::frontend
