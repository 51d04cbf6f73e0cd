// Types as written, and constants.

#include "absl/strings/str_format.h"
#include "mtlc/frontend/sema_impl.h"

namespace mtlc::frontend {

namespace {

// The name of a keyword type; error for another name.
TypeKind scalarKind(Name name) {
  if (!Interner::isKeyword(name)) {
    if (name == names::bool_) return TypeKind::bool_;
    if (name == names::void_) return TypeKind::void_;
    return TypeKind::error;
  }
  switch (Interner::keywordKind(name)) {
    case TokenKind::kwInt8:
      return TypeKind::int8;
    case TokenKind::kwInt16:
      return TypeKind::int16;
    case TokenKind::kwInt32:
      return TypeKind::int32;
    case TokenKind::kwInt64:
      return TypeKind::int64;
    case TokenKind::kwUint8:
      return TypeKind::uint8;
    case TokenKind::kwUint16:
      return TypeKind::uint16;
    case TokenKind::kwUint32:
      return TypeKind::uint32;
    case TokenKind::kwUint64:
      return TypeKind::uint64;
    case TokenKind::kwFloat32:
      return TypeKind::float32;
    case TokenKind::kwFloat64:
      return TypeKind::float64;
    default:
      return TypeKind::error;
  }
}

// Constants that refer to later ones, in a chain.
constexpr int kMaxConstantDepth = 64;

}  // namespace

const Type* Sema::resolve(const ast::TypeRef* ref) {
  // Pointers first, so that a long row of stars is no recursion.
  size_t stars = 0;
  while (ref->kind == ast::TypeRefKind::pointer) {
    ref = ref->elem;
    ++stars;
  }
  const Type* t = nullptr;
  switch (ref->kind) {
    case ast::TypeRefKind::named:
      t = resolveNamed(ref);
      break;
    case ast::TypeRefKind::array:
      t = resolveArray(ref);
      break;
    case ast::TypeRefKind::host:
    case ast::TypeRefKind::pointer:
      t = types_.host("a function type");
      break;
  }
  if (t->isError()) return t;
  if (stars > 0 && (t->isVoid() || t->isArray())) {
    typeError(DiagId::PointerToNothing, ref->range, t);
    return types_.error();
  }
  // A pointer to a host type is one as well.
  if (t->isHost()) return t;
  for (; stars > 0; --stars) t = types_.pointer(t);
  return t;
}

const Type* Sema::resolveNamed(const ast::TypeRef* ref) {
  if (!ref->qualifier) {
    if (decl_) {
      for (size_t i = 0; i < decl_->typeParams.size() && i < typeArgs_.size(); ++i) {
        if (decl_->typeParams[i] == ref->name) return typeArgs_[i];
      }
    }
    if (Interner::isKeyword(ref->name)) {
      TypeKind kind = scalarKind(ref->name);
      return kind == TypeKind::error ? types_.host("string") : types_.scalar(kind);
    }
  }
  Scope* scope = scope_;
  bool failed = false;
  Symbol* s = nullptr;
  if (ref->qualifier) {
    Symbol* m = lookup(scope, ref->qualifier, ref->range, &failed);
    if (m && m->kind == SymbolKind::module)
      s = lookupPublic(m->target, ref->name, ref->range, &failed);
  } else {
    s = lookup(scope, ref->name, ref->range, &failed);
  }
  if (failed) return types_.error();
  if (s && (s->kind == SymbolKind::enumType || s->kind == SymbolKind::hostType)) return s->type;
  if (!ref->qualifier && !s) {
    TypeKind kind = scalarKind(ref->name);
    if (kind != TypeKind::error) return types_.scalar(kind);
    if (ref->name == names::cstring) return types_.host("cstring");
  }
  failed_ = true;
  if (s || !quietNames_) nameError(DiagId::UnknownType, ref->range, ref->name);
  return types_.error();
}

const Type* Sema::resolveArray(const ast::TypeRef* ref) {
  const Type* elem = resolve(ref->elem);
  if (elem->isError()) return elem;
  if (elem->isHost()) return elem;
  if (elem->isVoid()) {
    typeError(DiagId::PointerToNothing, ref->range, elem);
    return types_.error();
  }
  if (!ref->size) {
    error(DiagId::ArraySizeMissing, ref->range);
    return types_.error();
  }
  checked::ConstantExpr* size;
  if (!constantInteger(ref->size, DiagId::ArraySizeNotConstant, &size)) return types_.error();
  constexpr uint64_t kMaxBytes = uint64_t{1} << 32;
  bool negative =
      !size->type->isUnsigned() && static_cast<int64_t>(convertBits(*size, types_.int64())) < 0;
  uint64_t count = convertBits(*size, types_.int64());
  if (negative || count == 0) {
    error(DiagId::ArraySizeNotPositive, ref->size->range,
          negative ? absl::StrFormat("%d", static_cast<int64_t>(count)) : std::string("0"));
    return types_.error();
  }
  if (count > kMaxBytes / elem->bytes()) {
    error(DiagId::ArrayTooLarge, ref->size->range, absl::StrFormat("%d", count));
    return types_.error();
  }
  return types_.array(elem, count);
}

bool Sema::constantInteger(const ast::Expr* e, DiagId notConstant, checked::ConstantExpr** out) {
  Expr* v = value(e);
  if (isPoison(v)) return false;
  checked::ConstantExpr* c = asConstant(v);
  if (!c || !c->type->isIntegral()) {
    error(notConstant, e->range);
    return false;
  }
  *out = c;
  return true;
}

void Sema::evaluateConstant(const ast::TypeRef* type, const ast::Expr* init, Name name,
                            checked::ConstantExpr* out) {
  const Type* t = resolve(type);
  Expr* v = value(init);
  out->kind = checked::ExprKind::constant;
  out->type = types_.error();
  if (t->isError() || isPoison(v)) return;
  if (t->isHost()) {
    out->type = t;  // A string: legal until a kernel uses it.
    return;
  }
  if (!t->isNumeric()) {
    typeError(DiagId::ConstantType, type->range, t);
    return;
  }
  Expr* converted = implicitConvert(v, t, init->range);
  if (isPoison(converted)) return;
  checked::ConstantExpr* c = asConstant(converted);
  if (!c) {
    nameError(DiagId::NotConstant, init->range, name);
    return;
  }
  out->type = t;
  out->bits = c->bits;
  out->literal = false;
}

void Sema::resolveConstant(Symbol* symbol) {
  if (symbol->progress == Progress::done) return;
  auto* decl = static_cast<const ast::ConstDecl*>(symbol->decl);
  if (symbol->progress == Progress::running || constantDepth_ >= kMaxConstantDepth) {
    if (symbol->progress == Progress::running) {
      nameError(DiagId::ConstantCycle, symbol->range, symbol->name);
    } else {
      error(DiagId::NestingTooDeep, symbol->range, absl::StrFormat("%d", kMaxConstantDepth));
    }
    symbol->value.type = types_.error();
    symbol->progress = Progress::done;
    return;
  }
  symbol->progress = Progress::running;
  symbol->value.type = types_.error();
  // A constant sees its module only, not the function that happens to use it first.
  Scope* scope = scope_;
  const ast::FunctionDecl* functionDecl = decl_;
  bool hidden = localsHidden_;
  localsHidden_ = true;
  bool quiet = quietNames_;
  scope_ = symbol->home;
  decl_ = nullptr;
  quietNames_ = symbol->home->module->hadSyntaxErrors;
  ++constantDepth_;
  checked::ConstantExpr value{};
  int errors = diagnostics_.errorCount();
  bool failed = failed_;
  failed_ = false;
  evaluateConstant(decl->type, decl->init, decl->name, &value);
  symbol->hostValue = failed_ && !quietNames_ && diagnostics_.errorCount() == errors;
  failed_ = failed || failed_;
  --constantDepth_;
  quietNames_ = quiet;
  localsHidden_ = hidden;
  decl_ = functionDecl;
  scope_ = scope;
  if (symbol->progress != Progress::done) symbol->value = value;
  symbol->progress = Progress::done;
}

void Sema::resolveVariants(Symbol* enumSymbol) {
  if (enumSymbol->progress != Progress::waiting || constantDepth_ >= kMaxConstantDepth) return;
  enumSymbol->progress = Progress::running;
  Scope* scope = scope_;
  const ast::FunctionDecl* functionDecl = decl_;
  bool hidden = localsHidden_;
  localsHidden_ = true;
  scope_ = enumSymbol->home;
  decl_ = nullptr;
  ++constantDepth_;
  uint64_t next = 0;
  for (Symbol* v : enumSymbol->variants) {
    v->value.kind = checked::ExprKind::constant;
    v->value.type = enumSymbol->type;
    if (v->variant->value) {
      checked::ConstantExpr* c;
      int errors = diagnostics_.errorCount();
      if (constantInteger(v->variant->value, DiagId::VariantNotConstant, &c)) {
        next = convertBits(*c, types_.int64());
      } else {
        v->value.type = types_.error();
        v->hostValue = !quietNames_ && diagnostics_.errorCount() == errors;
      }
    }
    v->value.bits = next++;
    // A later variant may refer to this one.
    v->progress = Progress::done;
  }
  --constantDepth_;
  localsHidden_ = hidden;
  decl_ = functionDecl;
  scope_ = scope;
  enumSymbol->progress = Progress::done;
}

}  // namespace mtlc::frontend
