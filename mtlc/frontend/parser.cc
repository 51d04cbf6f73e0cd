// Tokens, recovery, declarations and types. Statements and expressions: parser_stmt.cc,
// parser_expr.cc.

#include "mtlc/frontend/parser.h"

#include "absl/strings/str_format.h"
#include "mtlc/frontend/parser_impl.h"

namespace mtlc::frontend {

using namespace ast;  // NOLINT: this file is about nothing else.

namespace {

// Begins a declaration wherever it stands at the start of a line.
bool startsDeclaration(TokenKind kind) {
  switch (kind) {
    case TokenKind::kwImport:
    case TokenKind::kwImportStr:
    case TokenKind::kwExtern:
    case TokenKind::kwExport:
    case TokenKind::kwStruct:
    case TokenKind::kwEnum:
    case TokenKind::kwTrait:
    case TokenKind::kwImpl:
    case TokenKind::kwFn:
    case TokenKind::kwKernel:
    case TokenKind::kwVar:
    case TokenKind::kwConst:
    case TokenKind::at:
      return true;
    default:
      return false;
  }
}

// Begins a statement, so that a bracket left open before it will not be closed any more.
bool startsStatement(TokenKind kind) {
  switch (kind) {
    case TokenKind::kwVar:
    case TokenKind::kwConst:
    case TokenKind::kwIf:
    case TokenKind::kwWhile:
    case TokenKind::kwFor:
    case TokenKind::kwSwitch:
    case TokenKind::kwReturn:
    case TokenKind::kwBreak:
    case TokenKind::kwContinue:
    case TokenKind::kwCase:
    case TokenKind::kwDefault:
    case TokenKind::kwFn:
    case TokenKind::kwKernel:
    case TokenKind::kwExport:
    case TokenKind::kwImport:
      return true;
    default:
      return false;
  }
}

}  // namespace

// --- Tokens and errors ---

bool Parser::expect(K kind, std::string_view where) {
  if (accept(kind)) return true;
  failExpected(absl::StrFormat("'%s'", tokenText(kind)), where);
  return false;
}

bool Parser::endStatement() {
  if (accept(K::semicolon)) return true;
  if (group_ == 0 && (atStatementEnd() || at(K::kwElse))) return true;
  failExpected("';' or a new line", "after the statement");
  return false;
}

std::nullptr_t Parser::fail(DiagId id, SourceRange at, DiagArgs args) {
  if (!panic_ && !stopped_) {
    panicGroup_ = group_;
    // The lexer has reported its own tokens already.
    if (cur().kind != K::error || !(at.begin == cur().loc)) diagnostics_.report(id, at, args);
    if (diagnostics_.full()) stop();
  }
  panic_ = true;
  if (atEnd()) abandonBody_ = true;  // That the blocks are open too goes without saying.
  return nullptr;
}

std::nullptr_t Parser::failExpected(std::string_view what, std::string_view where) {
  if (panic_ || stopped_) {
    panic_ = true;
    return nullptr;
  }
  SourceRange range = cur().range();
  std::string found = describe(cur());
  if (pos_ > 0 && group_ == 0 && cur().newlineBefore) {
    // What is missing belongs at the end of the line before.
    const Token& before = tokens_[pos_ - 1];
    if (before.loc.line() < cur().loc.line() && pos_ != 0) {
      range =
          SourceRange(SourceLoc(file_, before.loc.line(), before.loc.column() + before.length), 0);
      if (!atEnd()) found = "the end of the line";
    }
  }
  std::string wanted(what);
  if (!where.empty()) absl::StrAppendFormat(&wanted, " %s", where);
  return fail(DiagId::ExpectedToken, range, {wanted, found});
}

std::string Parser::describe(const Token& token) const {
  switch (token.kind) {
    case K::endOfFile:
    case K::integer:
    case K::floating:
    case K::character:
    case K::string:
    case K::error:
      return std::string(tokenText(token.kind));
    case K::identifier: {
      constexpr size_t kShown = 40;
      std::string_view text = interner_.text(token.name());
      return absl::StrFormat("'%s%s'", text.substr(0, kShown), text.size() > kShown ? "…" : "");
    }
    default:
      return absl::StrFormat("'%s'", tokenText(token.kind));
  }
}

bool Parser::enter() {
  if (++depth_ <= kMaxNesting) return true;
  if (!stopped_ && !panic_) {
    diagnostics_.report(DiagId::NestingTooDeep, cur().range(), {kMaxNesting});
  }
  stop();
  panic_ = true;
  return false;
}

void Parser::stop() {
  stopped_ = true;
  pos_ = tokens_.size() - 1;
}

void Parser::skipGroup() {
  SourceRange opening = cur().range();
  std::string_view text = tokenText(cur().kind);
  size_t open = 0;
  do {
    if (opens(cur().kind)) ++open;
    if (closes(cur().kind)) --open;
    if (atEnd()) {
      fail(DiagId::UnclosedBracket, opening, {text});
      return;
    }
    advance();
  } while (open > 0);
}

bool Parser::skipToBody() {
  int open = std::max(0, panicGroup_ - group_);
  for (bool first = true;; first = false) {
    if (at(K::lBrace)) return true;
    if (at(K::rBrace) || atEnd()) return false;
    if (at(K::semicolon) && !inForHeader_) return false;
    if (!first && cur().newlineBefore && (open == 0 || startsStatement(cur().kind))) return false;
    if (opens(cur().kind)) ++open;
    if (closes(cur().kind) && open > 0) --open;
    advance();
  }
}

void Parser::skipToStatementEnd(size_t start) {
  panic_ = false;
  int open = std::max(0, panicGroup_ - group_);
  panicGroup_ = group_;
  for (;; advance()) {
    while (at(K::lBrace)) {
      skipGroup();
      if (!at(K::kwElse)) return;
    }
    if (atEnd() || at(K::rBrace)) return;
    if (at(K::semicolon)) {
      advance();
      if (!at(K::kwElse)) return;
    }
    if (pos_ != start && cur().newlineBefore && !at(K::kwElse) &&
        (open == 0 || startsStatement(cur().kind))) {
      return;
    }
    if (opens(cur().kind)) ++open;
    if (closes(cur().kind) && open > 0) --open;
  }
}

void Parser::skipToDeclaration() {
  panic_ = false;
  for (;; advance()) {
    while (at(K::lBrace)) skipGroup();
    panic_ = false;
    if (atEnd() || (cur().newlineBefore && startsDeclaration(cur().kind))) return;
  }
}

// --- Declarations ---

// Names that are types wherever they stand, for telling `(E)-x` from `(x) - y`.
void Parser::findTypeNames() {
  auto add = [&](Name name) {
    if (name.id < typeNames_.size()) typeNames_[name.id] = true;
  };
  add(names::bool_);
  add(names::void_);
  add(names::cstring);
  for (size_t i = 0; i + 1 < tokens_.size(); ++i) {
    if ((tokens_[i].kind == K::kwEnum || tokens_[i].kind == K::kwStruct) &&
        tokens_[i + 1].kind == K::identifier) {
      add(tokens_[i + 1].name());
    }
  }
}

File* Parser::run() {
  findTypeNames();
  while (!atEnd()) {
    if (accept(K::semicolon)) continue;
    size_t start = pos_;
    topLevel();
    if (panic_) {
      if (pos_ == start) advance();
      skipToDeclaration();
    }
  }
  auto* file = arena_.make<File>();
  file->id = file_;
  file->imports = copy(imports_);
  file->decls = copy(decls_);
  file->hasExports = hasExports_;
  return file;
}

void Parser::topLevel() {
  if (at(K::rBrace)) {
    fail(DiagId::UnexpectedClosingBrace, cur().range());
    return;
  }
  if (at(K::kwImport)) return import();
  if (at(K::kwImportStr)) return importStr();
  decorators_.clear();
  if (!decorators()) return;
  bool exported = accept(K::kwExport);
  if (exported && !decorators()) return;
  Decl* d = declaration();
  if (!d) return;
  d->exported = exported;
  hasExports_ = hasExports_ || exported;
  decls_.push_back(d);
}

void Parser::import() {
  Import i;
  i.range = cur().range();
  advance();
  if (at(K::lBrace)) {
    i.selective = true;
    std::vector<ImportedName> names;
    advance();
    while (!at(K::rBrace)) {
      if (!at(K::identifier)) {
        failExpected("a name to import");
        return;
      }
      names.push_back({cur().name(), cur().range()});
      advance();
      if (!accept(K::comma)) break;
    }
    if (!expect(K::rBrace, "after the imported names")) return;
    if (!atName(names::from)) {
      failExpected("'from'", "and the path");
      return;
    }
    advance();
    i.names = copy(names);
  }
  if (!at(K::string)) {
    failExpected("the path of the module, a string");
    return;
  }
  i.range = cur().range();
  i.path = buffer_.strings[cur().value];
  advance();
  if (!i.selective && atName(names::as)) {
    advance();
    if (!at(K::identifier)) {
      failExpected("a name", "after 'as'");
      return;
    }
    i.alias = cur().name();
    advance();
  }
  if (at(K::kwIf) && !cur().newlineBefore) {
    advance();
    if (!atName(names::windows) && !atName(names::linux_)) {
      failExpected("'windows' or 'linux'", "after 'if'");
      return;
    }
    i.platform = cur().name();
    advance();
  }
  if (endStatement()) imports_.push_back(i);
}

// Text of a file as a string constant: for host programs only.
void Parser::importStr() {
  auto* d = make<HostDecl>(cur().range());
  d->kind = DeclKind::host;
  d->what = "'import_str'";
  advance();
  while (!atStatementEnd()) {
    if (at(K::identifier) && !d->name) {
      d->name = cur().name();
      d->nameRange = cur().range();
    }
    advance();
  }
  if (endStatement() && d->name) decls_.push_back(d);
}

bool Parser::decorators() {
  while (at(K::at)) {
    Decorator d;
    advance();
    if (!at(K::identifier)) {
      failExpected("the name of a decorator", "after '@'");
      return false;
    }
    d.name = cur().name();
    d.range = cur().range();
    advance();
    d.bang = accept(K::bang);
    if (at(K::lParen) && !cur().newlineBefore) {
      d.hasArgs = true;
      Expr* e = call(nameExpr(tokens_[pos_ - 1]), {});
      if (!e) return false;
      d.args = static_cast<CallExpr*>(e)->args;
    }
    decorators_.push_back(d);
  }
  return true;
}

Decl* Parser::declaration() {
  bool isExtern = accept(K::kwExtern);
  switch (cur().kind) {
    case K::kwFn:
    case K::kwKernel: {
      auto* f = make<FunctionDecl>(cur().range());
      f->kind = DeclKind::function;
      f->isExtern = isExtern;
      f->isKernel = at(K::kwKernel);
      f->decorators = copy(decorators_);
      return function(f);
    }
    default:
      break;
  }
  if (!decorators_.empty()) return failExpected("'fn' or 'kernel'", "after a decorator");
  switch (cur().kind) {
    case K::kwVar:
    case K::kwWorkgroup:
    case K::kwPrivate:
      return variable(isExtern);
    case K::kwConst:
      return constant();
    case K::kwEnum:
      return enumeration();
    case K::kwStruct:
      return hostDeclaration("a struct", true);
    case K::kwTrait:
      return hostDeclaration("a trait", true);
    case K::kwImpl:
      return hostDeclaration("'impl'", false);
    default:
      return failExpected("a declaration ('fn', 'kernel', 'const', 'import', …)");
  }
}

Decl* Parser::function(FunctionDecl* f) {
  advance();
  if (!at(K::identifier))
    return failExpected("a name", f->isKernel ? "after 'kernel'" : "after 'fn'");
  f->name = cur().name();
  f->nameRange = cur().range();
  advance();
  std::vector<uint32_t> added;
  if (at(K::less)) {
    if (!typeParams(f)) return nullptr;
    for (Name name : f->typeParams) {
      if (name.id < typeNames_.size() && !typeNames_[name.id]) {
        typeNames_[name.id] = true;
        added.push_back(name.id);
      }
    }
  }
  struct Forget {
    std::vector<bool>& names;
    std::vector<uint32_t>& added;
    ~Forget() {
      for (uint32_t id : added) names[id] = false;
    }
  } forget{typeNames_, added};

  if (!params(f)) return nullptr;
  if (at(K::arrow) || at(K::colon)) {
    advance();
    f->result = type();
    if (!f->result) return nullptr;
  }
  if (at(K::kwWhere)) {
    while (!at(K::lBrace) && !at(K::semicolon) && !atEnd()) advance();
  }
  if (f->isExtern && accept(K::equal)) {
    if (!at(K::string)) return failExpected("the link name, a string");
    f->linkName = buffer_.strings[cur().value];
    advance();
  }
  if (at(K::lBrace) && !f->isExtern) {
    abandonBody_ = false;
    f->body = block();
    abandonBody_ = false;
    return f->body ? f : nullptr;
  }
  if (!f->isExtern && !at(K::semicolon)) {
    return failExpected("'{' or ';'", "after the head of the function");
  }
  return endStatement() ? f : nullptr;
}

bool Parser::typeParams(FunctionDecl* f) {
  advance();
  std::vector<Name> list;
  do {
    if (!at(K::identifier)) {
      failExpected("the name of a type parameter");
      return false;
    }
    list.push_back(cur().name());
    advance();
    if (accept(K::colon)) {  // A trait bound, for host programs.
      if (!type()) return false;
    }
  } while (accept(K::comma));
  f->typeParams = copy(list);
  return expect(K::greater, "after the type parameters");
}

bool Parser::params(FunctionDecl* f) {
  if (!at(K::lParen)) {
    failExpected("'('", "and the parameters");
    return false;
  }
  Group group(*this);
  advance();
  std::vector<Param> list;
  while (!at(K::rParen)) {
    Param p;
    if (!at(K::identifier)) {
      failExpected("the name of a parameter");
      return false;
    }
    p.name = cur().name();
    p.nameRange = cur().range();
    advance();
    if (!at(K::colon)) {
      fail(DiagId::MissingType, p.nameRange, {interner_.text(p.name)});
      return false;
    }
    advance();
    p.type = type();
    if (!p.type) return false;
    list.push_back(p);
    if (!accept(K::comma)) break;
  }
  if (!expect(K::rParen, "after the parameters")) return false;
  f->params = copy(list);
  return true;
}

Decl* Parser::constant() {
  auto* d = make<ConstDecl>(cur().range());
  d->kind = DeclKind::constant;
  advance();
  if (!at(K::identifier)) return failExpected("a name", "after 'const'");
  d->name = cur().name();
  d->nameRange = cur().range();
  advance();
  if (!at(K::colon)) return fail(DiagId::MissingType, d->nameRange, {interner_.text(d->name)});
  advance();
  d->type = type();
  if (!d->type || !expect(K::equal, "and the value of the constant")) return nullptr;
  d->init = expression();
  return d->init && endStatement() ? d : nullptr;
}

Decl* Parser::variable(bool isExtern) {
  auto* d = make<VarDecl>(cur().range());
  d->kind = DeclKind::variable;
  d->isExtern = isExtern;
  if (accept(K::kwWorkgroup)) {
    d->storage = Storage::workgroup;
  } else if (accept(K::kwPrivate)) {
    d->storage = Storage::private_;
  }
  if (!expect(K::kwVar)) return nullptr;
  if (!at(K::identifier)) return failExpected("a name", "after 'var'");
  d->name = cur().name();
  d->nameRange = cur().range();
  advance();
  if (!at(K::colon)) return fail(DiagId::MissingType, d->nameRange, {interner_.text(d->name)});
  advance();
  d->type = type();
  if (!d->type) return nullptr;
  if (accept(K::equal)) {
    d->init = expression();
    if (!d->init) return nullptr;
  }
  return endStatement() ? d : nullptr;
}

Decl* Parser::enumeration() {
  auto* d = make<EnumDecl>(cur().range());
  d->kind = DeclKind::enum_;
  advance();
  if (!at(K::identifier)) return failExpected("a name", "after 'enum'");
  d->name = cur().name();
  d->nameRange = cur().range();
  advance();
  if (!at(K::lBrace)) return failExpected("'{'", "and the variants");
  size_t opening = pos_;
  advance();
  std::vector<EnumVariant> list;
  while (!at(K::rBrace)) {
    EnumVariant v;
    if (!at(K::identifier)) return failExpected("the name of a variant");
    v.name = cur().name();
    v.range = cur().range();
    advance();
    if (at(K::lParen) || at(K::lBrace)) {
      // Variants with contents are for host programs.
      pos_ = opening;
      auto* host = make<HostDecl>(d->range);
      host->kind = DeclKind::host;
      host->what = "an enum with contents";
      host->isType = true;
      host->name = d->name;
      host->nameRange = d->nameRange;
      skipGroup();
      return panic_ ? nullptr : host;
    }
    if (accept(K::equal)) {
      v.value = expression();
      if (!v.value) return nullptr;
    }
    list.push_back(v);
    if (!accept(K::comma) && !accept(K::semicolon) && !cur().newlineBefore) break;
  }
  if (!expect(K::rBrace, "after the variants")) return nullptr;
  d->variants = copy(list);
  return d;
}

Decl* Parser::hostDeclaration(std::string_view what, bool isType) {
  auto* d = make<HostDecl>(cur().range());
  d->kind = DeclKind::host;
  d->what = what;
  d->isType = isType;
  advance();
  if (!at(K::identifier)) return failExpected("a name");
  if (isType) {
    d->name = cur().name();
    d->nameRange = cur().range();
  }
  while (!at(K::lBrace) && !at(K::semicolon) && !atEnd()) {
    if (pos_ > 0 && cur().newlineBefore && startsDeclaration(cur().kind)) break;
    advance();
  }
  if (!at(K::lBrace)) return failExpected("'{'");
  skipGroup();
  return panic_ ? nullptr : d;
}

// --- Types ---

TypeRef* Parser::type() {
  TypeRef* t = baseType();
  return t ? typeSuffix(t) : nullptr;
}

TypeRef* Parser::baseType() {
  auto* t = make<TypeRef>(cur().range());
  t->kind = TypeRefKind::named;
  if (isTypeKeyword(cur().kind)) {
    t->name = cur().name();
    advance();
    return t;
  }
  if (at(K::kwFn)) {
    t->kind = TypeRefKind::host;
    advance();
    if (at(K::lParen)) skipGroup();
    if (accept(K::arrow) && !type()) return nullptr;
    return panic_ ? nullptr : t;
  }
  if (!at(K::identifier)) return failExpected("a type");
  t->name = cur().name();
  advance();
  if (at(K::dot) && ahead(1).kind == K::identifier) {
    advance();
    t->qualifier = t->name;
    t->name = cur().name();
    advance();
  }
  if (at(K::less)) {
    if (!enter()) return nullptr;
    if (!typeArgs(&t->typeArgs)) return nullptr;
    leave();
    if (at(K::shr)) {
      // `A<B<C>>`: give one half back.
      Token& token = tokens_[pos_];
      token.kind = K::greater;
      token.loc = SourceLoc(file_, token.loc.line(), token.loc.column() + 1);
      token.length = 1;
      return t;
    }
    if (!expect(K::greater, "after the type arguments")) return nullptr;
  }
  return t;
}

TypeRef* Parser::typeSuffix(TypeRef* base) {
  TypeRef* t = base;
  int levels = 0;
  while (at(K::star) || at(K::starEqual)) {
    if (!enter()) return nullptr;
    ++levels;
    auto* pointer = make<TypeRef>(base->range);
    pointer->kind = TypeRefKind::pointer;
    pointer->elem = t;
    t = pointer;
    if (at(K::starEqual)) {
      // `p: int32*= q` is `*` and `=`.
      Token& token = tokens_[pos_];
      token.kind = K::equal;
      token.loc = SourceLoc(file_, token.loc.line(), token.loc.column() + 1);
      token.length = 1;
      break;
    }
    advance();
  }
  depth_ -= levels;
  if (!at(K::lBracket) || cur().newlineBefore) return t;
  auto* array = make<TypeRef>(base->range);
  array->kind = TypeRefKind::array;
  array->elem = t;
  {
    Group group(*this);
    advance();
    if (!at(K::rBracket)) {
      array->size = expression();
      if (!array->size) return nullptr;
    }
    if (!expect(K::rBracket, "after the array size")) return nullptr;
  }
  if (at(K::lBracket) && !cur().newlineBefore) return fail(DiagId::ArrayOfArrays, cur().range());
  return array;
}

// --- Entry ---

File* parse(TokenBuffer& tokens, FileId file, const Interner& interner, Arena& arena,
            DiagnosticEngine& diagnostics) {
  return Parser(tokens, file, interner, arena, diagnostics).run();
}

}  // namespace mtlc::frontend
