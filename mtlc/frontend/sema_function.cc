// Functions: signatures, decorators, instances of generic helpers, bodies.

#include "absl/strings/str_format.h"
#include "mtlc/frontend/flow.h"
#include "mtlc/frontend/sema_impl.h"

namespace mtlc::frontend {

namespace {

// A generic helper that instantiates itself with ever new types must end somewhere.
constexpr size_t kMaxInstances = 10000;
constexpr uint8_t kMaxPointerDepth = 32;

constexpr uint32_t kMaxLaunchThreads = 1024;  // docs/ir.md V23

}  // namespace

// An extern function with a name (or link name) of builtins.def is that operation.
void Sema::matchBuiltin(Symbol* symbol) {
  const ast::FunctionDecl* f = symbol->function;
  if (!f->isExtern) return;
  const Builtin* row = nullptr;
  if (f->linkName.empty()) {
    row = findMath(symbol->name);
    if (!row) {
      row = findBuiltin(symbol->name);
      bool older =
          row && (row->form == BuiltinForm::indexFunction || row->kind == BuiltinKind::barrier ||
                  row->kind == BuiltinKind::plainBarrier);
      if (!older) row = nullptr;
    }
  } else {
    for (const Builtin& b : builtins()) {
      bool callable = b.form == BuiltinForm::math || b.form == BuiltinForm::indexFunction;
      if (callable && b.name == f->linkName) row = &b;
    }
  }
  if (!row) return;
  scope_ = symbol->home;
  decl_ = nullptr;
  mode_ = Mode::neutral;
  std::string_view codes = row->form == BuiltinForm::math            ? row->signature
                           : row->form == BuiltinForm::indexFunction ? "i"
                                                                     : "v";
  bool good = f->params.size() + 1 == codes.size();
  bool generic = codes.find('n') != std::string_view::npos;
  if (generic) {
    // One type parameter stands for the integer type.
    good = good && f->typeParams.size() == 1;
    for (size_t i = 0; good && i < f->params.size(); ++i) {
      const ast::TypeRef* t = f->params[i].type;
      good = t->kind == ast::TypeRefKind::named && !t->qualifier && t->name == f->typeParams[0];
    }
  } else {
    good = good && f->typeParams.empty();
    const Type* result = f->result ? resolve(f->result) : types_.voidType();
    good = good && (result->isError() || result == signatureType(codes[0]));
    for (size_t i = 0; good && i < f->params.size(); ++i) {
      const Type* t = resolve(f->params[i].type);
      good = t->isError() || t == signatureType(codes[i + 1]);
    }
  }
  if (good) {
    symbol->builtin = row;
    return;
  }
  // Its own meaning for a host program is fine; calling it from a kernel is not, and says so.
  std::string want = absl::StrFormat("fn %s%s(", row->name, generic ? "<T>" : "");
  for (size_t i = 1; i < codes.size(); ++i) {
    absl::StrAppendFormat(&want, "%s%s", i > 1 ? ", " : "",
                          codes[i] == 'n' ? "T" : typeName(signatureType(codes[i])));
  }
  want += ")";
  if (codes[0] != 'v') {
    absl::StrAppendFormat(&want, " -> %s",
                          codes[0] == 'n' ? "T" : typeName(signatureType(codes[0])));
  }
  error(DiagId::BuiltinSignature, f->nameRange, row->name, want);
}

void Sema::compareDeclarations(Symbol* symbol) {
  if (symbol->declarations.size() < 2) return;
  const ast::FunctionDecl* f = symbol->function;
  scope_ = symbol->home;
  mode_ = Mode::neutral;
  auto types = [&](const ast::FunctionDecl* d, std::vector<const Type*>* out) {
    out->push_back(d->result ? resolve(d->result) : types_.voidType());
    for (const ast::Param& p : d->params) out->push_back(resolve(p.type));
  };
  for (const ast::FunctionDecl* d : symbol->declarations) {
    if (d == f) continue;
    bool same = d->params.size() == f->params.size() && d->isKernel == f->isKernel &&
                d->typeParams.size() == f->typeParams.size();
    if (same && f->typeParams.empty()) {
      decl_ = nullptr;
      std::vector<const Type*> a, b;
      types(d, &a);
      types(f, &b);
      for (size_t i = 0; i < a.size(); ++i) {
        same = same && (a[i] == b[i] || a[i]->isError() || b[i]->isError());
      }
    }
    if (!same) {
      errorWithNote(DiagId::DeclarationMismatch, d->nameRange, symbol->name, f->nameRange,
                    "the other declaration is here");
    }
  }
}

const Type* Sema::signatureType(char code) const {
  switch (code) {
    case 'f':
      return types_.float32();
    case 'd':
      return types_.float64();
    case 'h':
      return types_.scalar(TypeKind::uint16);
    case 'i':
      return types_.int32();
    case 'v':
      return types_.voidType();
    default:
      return types_.error();
  }
}

// --- Instances ---

checked::Function* Sema::instantiate(Symbol* symbol, std::span<const Type* const> typeArgs,
                                     SourceRange at) {
  FunctionInstance* instance = nullptr;
  for (FunctionInstance& i : symbol->instances) {
    if (std::equal(i.typeArgs.begin(), i.typeArgs.end(), typeArgs.begin(), typeArgs.end())) {
      instance = &i;
      break;
    }
  }
  if (!instance) {
    bool deep = false;
    for (const Type* t : typeArgs) deep = deep || t->depth > kMaxPointerDepth;
    if (deep || symbol->instances.size() > kMaxInstances / 100 || instanceCount_ > kMaxInstances) {
      if (!typeArgs.empty()) {
        nameError(DiagId::TooManyInstances, at, symbol->name);
        return nullptr;
      }
    }
    if (!typeArgs.empty()) ++instanceCount_;
    symbol->instances.push_back({{typeArgs.begin(), typeArgs.end()}, nullptr});
    instance = &symbol->instances.back();
    checked::Function& f = program_.storage.emplace_back();
    instance->function = &f;
    f.name = std::string(text(symbol->name));
    for (size_t i = 0; i < typeArgs.size(); ++i) {
      absl::StrAppendFormat(&f.name, "%s%s", i ? ", " : "<", typeName(typeArgs[i]));
    }
    if (!typeArgs.empty()) f.name += '>';
    f.range = symbol->range;
    signature(symbol, *instance);
  }
  checked::Function* f = instance->function;
  bool& queued = queued_[f];
  if (!queued) {
    queued = true;
    const ast::FunctionDecl* decl = symbol->function;
    if (decl->body) {
      pending_.push_back({symbol, f, {typeArgs.begin(), typeArgs.end()}, mode_});
    }
    if (mode_ == Mode::device && !decl->isKernel) program_.helpers.push_back(f);
  }
  return f;
}

bool Sema::kernelParameter(const ast::Param& param, const Type* type) {
  const Type* t = type;
  while (t->isPointer()) t = t->elem;
  if (t->isNumeric()) return true;
  error(DiagId::KernelParameter, param.type->range, text(param.name), typeName(type));
  return false;
}

void Sema::signature(Symbol* symbol, FunctionInstance& instance) {
  const ast::FunctionDecl* decl = symbol->function;
  checked::Function* f = instance.function;
  Scope* scope = scope_;
  const ast::FunctionDecl* outer = decl_;
  std::span<const Type* const> outerArgs = typeArgs_;
  checked::Function* outerFunction = function_;
  scope_ = symbol->home;
  decl_ = decl;
  typeArgs_ = instance.typeArgs;
  function_ = f;
  f->isKernel = decl->isKernel;
  f->isExternal = decl->isExtern;
  decorators(decl, f);
  if (decl->isKernel && !decl->typeParams.empty()) {
    nameError(DiagId::GenericKernel, decl->nameRange, decl->name);
  }
  if (decl->isKernel && !decl->body)
    nameError(DiagId::KernelWithoutBody, decl->nameRange, decl->name);
  for (const ast::Param& p : decl->params) {
    const Type* t = p.type->kind == ast::TypeRefKind::array && decl->isKernel
                        ? resolve(p.type->elem)
                        : resolve(p.type);
    if (p.type->kind == ast::TypeRefKind::array && !t->isError() && !t->isHost()) {
      error(decl->isKernel ? DiagId::KernelParameter : DiagId::ArrayParameter, p.type->range,
            text(p.name), "an array");
      t = types_.error();
    } else if (t->isVoid()) {
      typeError(DiagId::PointerToNothing, p.type->range, t);
      t = types_.error();
    } else if (decl->isKernel && !t->isError() && !kernelParameter(p, t)) {
      t = types_.error();
    }
    auto* local = program_.arena.make<checked::Local>();
    local->kind = checked::LocalKind::parameter;
    local->name = p.name;
    local->range = p.nameRange;
    local->type = t;
    local->initialized = true;
    local->index = static_cast<uint32_t>(f->locals.size());
    f->locals.push_back(local);
    f->params.push_back(local);
  }
  f->result = decl->result ? resolve(decl->result) : types_.voidType();
  if (decl->isKernel && !f->result->isVoid() && !f->result->isError()) {
    nameError(DiagId::KernelResult, decl->result->range, decl->name);
    f->result = types_.error();
  }
  if (f->result->isArray()) {
    typeError(DiagId::ArrayResult, decl->result->range, f->result);
    f->result = types_.error();
  }
  scope_ = scope;
  decl_ = outer;
  typeArgs_ = outerArgs;
  function_ = outerFunction;
}

// --- Decorators ---

void Sema::decorators(const ast::FunctionDecl* decl, checked::Function* f) {
  using checked::InlineHint;
  for (size_t i = 0; i < decl->decorators.size(); ++i) {
    const ast::Decorator& d = decl->decorators[i];
    for (size_t k = 0; k < i; ++k) {
      if (decl->decorators[k].name == d.name) {
        nameError(DiagId::RepeatedDecorator, d.range, d.name);
        break;
      }
    }
    if (d.bang && d.name != names::inline_) {
      nameError(DiagId::UnknownDecorator, d.range, d.name);
      continue;
    }
    bool takesArgs = d.name == names::launchBounds || d.name == names::fp;
    if (d.hasArgs && !takesArgs) {
      nameError(DiagId::DecoratorArguments, d.range, d.name);
      continue;
    }
    if (d.name == names::inline_ || d.name == names::noinline_) {
      InlineHint hint = d.name == names::noinline_ ? InlineHint::never
                        : d.bang                   ? InlineHint::always
                                                   : InlineHint::inline_;
      bool other = f->inlineHint != InlineHint::none && f->inlineHint != hint;
      if (other && (hint == InlineHint::never || f->inlineHint == InlineHint::never)) {
        error(DiagId::InlineConflict, d.range);
      }
      f->inlineHint = hint;
    } else if (d.name == names::launchBounds) {
      launchBounds(d, f);
    } else if (d.name == names::fp) {
      fpMode(d, f);
    } else if (d.name != names::pure && d.name != names::noalloc && d.name != names::simd &&
               d.name != names::test) {
      nameError(DiagId::UnknownDecorator, d.range, d.name);
    }
  }
}

void Sema::launchBounds(const ast::Decorator& d, checked::Function* f) {
  if (!f->isKernel) {
    error(DiagId::LaunchBoundsPlace, d.range);
    return;
  }
  if (d.args.empty() || d.args.size() > 2) {
    nameError(DiagId::DecoratorArguments, d.range, d.name);
    return;
  }
  const ast::FunctionDecl* decl = decl_;
  bool hidden = localsHidden_;
  localsHidden_ = true;
  uint32_t values[2] = {0, 0};
  bool good = true;
  for (size_t i = 0; i < d.args.size(); ++i) {
    checked::ConstantExpr* c;
    if (d.args[i].label || !constantInteger(d.args[i].value, DiagId::LaunchBoundsValue, &c)) {
      if (d.args[i].label) nameError(DiagId::DecoratorArguments, d.range, d.name);
      good = false;
      break;
    }
    int64_t v = static_cast<int64_t>(convertBits(*c, types_.int64()));
    if (v < 1 || v > static_cast<int64_t>(kMaxLaunchThreads)) {
      error(DiagId::LaunchBoundsValue, d.args[i].value->range);
      good = false;
      break;
    }
    values[i] = static_cast<uint32_t>(v);
  }
  localsHidden_ = hidden;
  decl_ = decl;
  if (!good) return;
  f->maxThreads = values[0];
  f->minGroups = values[1];
}

void Sema::fpMode(const ast::Decorator& d, checked::Function* f) {
  bool good =
      d.args.size() == 1 && !d.args[0].label && d.args[0].value->kind == ast::ExprKind::name;
  Name mode = good ? static_cast<const ast::NameExpr*>(d.args[0].value)->name : Name();
  if (mode == names::contract) {
    f->fpMode = checked::FpMode::contract;
  } else if (mode == names::strict) {
    f->fpMode = checked::FpMode::strict;
  } else {
    error(DiagId::FpMode, d.range);
  }
}

// --- Bodies ---

void Sema::checkBody(Symbol* symbol, checked::Function* f, std::span<const Type* const> typeArgs,
                     Mode mode) {
  const ast::FunctionDecl* decl = symbol->function;
  scope_ = symbol->home;
  decl_ = decl;
  typeArgs_ = typeArgs;
  function_ = f;
  mode_ = mode;
  failed_ = false;
  quietNames_ = scope_->module->hadSyntaxErrors;
  trackedCount_ = 0;
  targets_.clear();
  pushScope();
  for (size_t i = 0; i < decl->params.size(); ++i) {
    checked::Local* local = f->params[i];
    if (local->type->isHost()) hostOnly(decl->params[i].type->range, typeName(local->type));
    if (!isRedeclared(local->name, local->range)) {
      Binding& b = bindings_[local->name.id];
      undo_.push_back({local->name.id, b});
      b = {local, nullptr, local->range, static_cast<uint32_t>(scopeMarks_.size())};
    }
  }
  if (f->result->isHost()) hostOnly(decl->result->range, typeName(f->result));
  f->end = decl->body->end;
  // The body's own declarations share the scope of the parameters.
  size_t mark = statements_.size();
  for (const ast::Stmt* s : decl->body->statements) statement(s);
  auto* body = makeStmt<checked::Block>(decl->body->range, checked::StmtKind::block);
  body->statements = take(statements_, mark);
  popScope();
  if (!failed_) {
    f->body = body;
    if (!checkFlow(*f, trackedCount_, interner_, diagnostics_)) f->body = nullptr;
  }
  function_ = nullptr;
  decl_ = nullptr;
}

}  // namespace mtlc::frontend
