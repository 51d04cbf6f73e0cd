// Calls: functions, mathematical functions, GPU operations.

#include "absl/strings/str_format.h"
#include "mtlc/frontend/sema_impl.h"

namespace mtlc::frontend {

using checked::ExprKind;

bool Sema::gpuOperationAllowed(SourceRange at, std::string_view what) {
  if (!function_) {
    error(DiagId::GpuOutsideDevice, at, what, "a constant");
    return false;
  }
  if (mode_ != Mode::host) return true;
  error(DiagId::GpuOutsideDevice, at, what,
        absl::StrFormat("'%s', which 'main' reaches", function_->name));
  return false;
}

void Sema::checkArguments(const ast::CallExpr* e) {
  for (const ast::Argument& a : e->args) value(a.value);
}

void Sema::checkPositional(const ast::CallExpr* e) {
  for (const ast::Argument& a : e->args) {
    if (!a.label) value(a.value);
  }
}

bool Sema::positionalOnly(const ast::CallExpr* e, std::string_view callee) {
  for (const ast::Argument& a : e->args) {
    if (!a.label) continue;
    error(DiagId::NamedArgument, a.labelRange, text(a.label), callee);
    return false;
  }
  return true;
}

bool Sema::argumentCount(const ast::CallExpr* e, size_t expected, std::string_view callee,
                         SourceRange declared) {
  if (e->args.size() == expected) return true;
  failed_ = true;
  Diagnostic& d = diagnostics_.report(DiagId::ArgumentCount, e->range,
                                      {callee, expected, expected == 1 ? "" : "s", e->args.size()});
  if (declared.begin.valid()) d.note(declared, "declared here");
  return false;
}

Sema::Expr* Sema::call(const ast::CallExpr* e) {
  if (e->callee->kind == ast::ExprKind::name) {
    auto* callee = static_cast<const ast::NameExpr*>(e->callee);
    if (!localsHidden_ && bindings_[callee->name.id]) {
      checkArguments(e);
      return nameError(DiagId::NotCallable, callee->range, callee->name);
    }
    bool failed = false;
    Symbol* s = lookup(scope_, callee->name, callee->range, &failed);
    if (s) return callSymbol(s, e);
    if (!failed && decl_) {
      for (size_t i = 0; i < decl_->typeParams.size() && i < typeArgs_.size(); ++i) {
        if (decl_->typeParams[i] == callee->name) return castCall(typeArgs_[i], e);
      }
    }
    if (!failed) {
      if (const Builtin* b = findBuiltin(callee->name)) return callBuiltin(b, e);
    }
    checkArguments(e);
    return failed ? poison() : unknownName(callee->name, callee->range);
  }
  if (e->callee->kind == ast::ExprKind::member) {
    auto* m = static_cast<const ast::MemberExpr*>(e->callee);
    if (m->base->kind == ast::ExprKind::name && !m->arrow) {
      Name base = static_cast<const ast::NameExpr*>(m->base)->name;
      bool failed = false;
      bool isLocal = !localsHidden_ && bindings_[base.id];
      Symbol* s = isLocal ? nullptr : lookup(scope_, base, m->base->range, &failed);
      if (s && s->kind == SymbolKind::module) {
        Symbol* inner = lookupPublic(s->target, m->member, m->memberRange, &failed);
        if (inner) return callSymbol(inner, e);
        checkArguments(e);
        if (failed || s->target->module->hadSyntaxErrors) return poison();
        return error(DiagId::NotInModule, m->memberRange, text(m->member), text(base));
      }
    }
  }
  Expr* callee = expression(e->callee);
  checkArguments(e);
  if (isPoison(callee)) return callee;
  return error(DiagId::NotCallable, e->range, typeName(callee->type));
}

// `(E)(x)` where the parser took E for a function.
Sema::Expr* Sema::castCall(const Type* type, const ast::CallExpr* e) {
  if (e->args.size() != 1 || e->args[0].label || !e->callee->parenthesized) {
    checkArguments(e);
    return typeError(DiagId::TypeCalled, e->range, type);
  }
  return explicitConvert(value(e->args[0].value), type, e->range);
}

Sema::Expr* Sema::callSymbol(Symbol* s, const ast::CallExpr* e) {
  switch (s->kind) {
    case SymbolKind::function:
      break;
    case SymbolKind::enumType:
      return castCall(s->type, e);
    case SymbolKind::hostType:
    case SymbolKind::hostValue:
    case SymbolKind::variable:
      checkArguments(e);
      return symbolValue(s, e->range);
    default:
      checkArguments(e);
      return nameError(DiagId::NotCallable, e->range, s->name);
  }
  if (s->builtin) {
    if (s->builtin->form == BuiltinForm::math) return callMath(s, e);
    return callBuiltin(s->builtin, e);
  }
  const ast::FunctionDecl* decl = s->function;
  if (e->typeArgs.size() != decl->typeParams.size()) {
    checkArguments(e);
    failed_ = true;
    diagnostics_
        .report(DiagId::TypeArgumentCount, e->range,
                {text(s->name), decl->typeParams.size(), e->typeArgs.size(),
                 decl->typeParams.empty()
                     ? std::string("it takes none")
                     : absl::StrFormat("write them after the name: %s<int32>(…)", text(s->name))})
        .note(s->range, "declared here");
    return poison();
  }
  std::vector<const Type*> typeArgs;
  for (const ast::TypeRef* t : e->typeArgs) {
    const Type* type = resolve(t);
    if (type->isError() || type->isHost() || type->isVoid() || type->isArray()) {
      checkArguments(e);
      if (type->isError()) return poison();
      if (type->isHost()) return hostOnly(t->range, typeName(type));
      return typeError(DiagId::TypeArgument, t->range, type);
    }
    typeArgs.push_back(type);
  }
  if (!decl->body && !decl->isExtern) {
    checkArguments(e);
    if (mode_ != Mode::device && !function_) return poison();
    return errorWithNote(DiagId::FunctionWithoutBody, e->range, s->name, s->range,
                         "declared here, and defined nowhere");
  }
  checked::Function* f = instantiate(s, typeArgs, e->range);
  if (!f) {
    checkArguments(e);
    return poison();
  }
  return callFunction(f, e);
}

Sema::Expr* Sema::callFunction(checked::Function* f, const ast::CallExpr* e) {
  if (!positionalOnly(e, f->name) || !argumentCount(e, f->params.size(), f->name, f->range)) {
    checkArguments(e);
    return poison();
  }
  size_t mark = exprs_.size();
  bool good = true;
  for (size_t i = 0; i < e->args.size(); ++i) {
    const ast::Expr* arg = e->args[i].value;
    Expr* v = value(arg);
    // A parameter that was refused is poison for the call as well.
    v = implicitConvert(v, f->params[i]->type, arg->range);
    good = good && !isPoison(v);
    exprs_.push_back(v);
  }
  if (!good || f->result->isError()) {
    exprs_.resize(mark);
    return poison();
  }
  if (f->result->isHost()) {
    exprs_.resize(mark);
    return hostOnly(e->range, typeName(f->result));
  }
  auto* x = make<checked::CallExpr>(e->range, f->result, ExprKind::call);
  x->callee = f;
  x->args = take(exprs_, mark);
  return x;
}

// --- Functions of the compiler ---

checked::BuiltinExpr* Sema::builtinExpr(const Builtin* builtin, SourceRange at, const Type* type) {
  auto* x = make<checked::BuiltinExpr>(at, type, ExprKind::builtin);
  x->builtin = builtin;
  return x;
}

Sema::Expr* Sema::callMath(Symbol* s, const ast::CallExpr* e) {
  const Builtin* b = s->builtin;
  if (!positionalOnly(e, b->name) ||
      !argumentCount(e, b->signature.size() - 1, b->name, s->range)) {
    checkArguments(e);
    return poison();
  }
  if (b->signature.find('n') != std::string_view::npos) return callGenericMath(b, e);
  if (!e->typeArgs.empty()) {
    checkArguments(e);
    return error(DiagId::TypeArgumentCount, e->range, b->name, "0",
                 absl::StrFormat("%d", e->typeArgs.size()));
  }
  size_t mark = exprs_.size();
  bool good = true;
  for (size_t i = 0; i < e->args.size(); ++i) {
    Expr* v = implicitConvert(value(e->args[i].value), signatureType(b->signature[i + 1]),
                              e->args[i].value->range);
    good = good && !isPoison(v);
    exprs_.push_back(v);
  }
  if (!good) {
    exprs_.resize(mark);
    return poison();
  }
  checked::BuiltinExpr* x = builtinExpr(b, e->range, signatureType(b->signature[0]));
  x->args = take(exprs_, mark);
  return x;
}

// min, max, abs, clz, popcount: any integer type, for two operands their common one.
Sema::Expr* Sema::callGenericMath(const Builtin* b, const ast::CallExpr* e) {
  const Type* given = nullptr;
  if (e->typeArgs.size() == 1) given = resolve(e->typeArgs[0]);
  Expr* args[2] = {nullptr, nullptr};
  size_t n = e->args.size();
  for (size_t i = 0; i < n; ++i) args[i] = value(e->args[i].value);
  if (given && given->isError()) return poison();
  for (size_t i = 0; i < n; ++i) {
    if (isPoison(args[i])) return args[i];
    if (!args[i]->type->isIntegral()) {
      return error(DiagId::IntegerArgument, e->args[i].value->range, b->name,
                   typeName(args[i]->type));
    }
  }
  const Type* t = given    ? given
                  : n == 2 ? arithmeticType(args[0], args[1])
                           : promoted(args[0]->type);
  if (!t->isInteger()) return error(DiagId::IntegerArgument, e->range, b->name, typeName(t));
  size_t mark = exprs_.size();
  for (size_t i = 0; i < n; ++i) {
    exprs_.push_back(implicitConvert(args[i], t, e->args[i].value->range));
  }
  checked::BuiltinExpr* x =
      builtinExpr(b, e->range, b->signature[0] == 'n' ? t : signatureType(b->signature[0]));
  x->args = take(exprs_, mark);
  return x;
}

Sema::Expr* Sema::callBuiltin(const Builtin* b, const ast::CallExpr* e) {
  switch (b->form) {
    case BuiltinForm::indexFunction: {
      if (!positionalOnly(e, b->name) || !argumentCount(e, 0, b->name, {})) return poison();
      if (!gpuOperationAllowed(e->range, b->name)) return poison();
      checked::BuiltinExpr* x = builtinExpr(b, e->range, types_.int32());
      x->dim = b->number;
      return x;
    }
    case BuiltinForm::control:
      return barrier(b, e);
    case BuiltinForm::subgroup:
      return subgroup(b, e);
    case BuiltinForm::atomic:
      return atomic(b, e);
    case BuiltinForm::async:
      return async(b, e);
    case BuiltinForm::tensor:
      return tensor(b, e);
    case BuiltinForm::index:
      checkArguments(e);
      return error(DiagId::NotCallable, e->range, b->name);
    case BuiltinForm::math:
      break;
  }
  return poison();
}

}  // namespace mtlc::frontend
