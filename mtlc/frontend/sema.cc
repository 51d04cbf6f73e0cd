// Names of modules, imports, and the order of the work. Bodies: sema_function.cc and the files it
// calls.

#include "mtlc/frontend/sema.h"

#include "absl/strings/str_format.h"
#include "mtlc/frontend/flow.h"
#include "mtlc/frontend/sema_impl.h"
#include "mtlc/support/suggest.h"

namespace mtlc::frontend {

// --- Errors ---

Sema::Expr* Sema::error(DiagId id, SourceRange at, std::string_view a, std::string_view b,
                        std::string_view c) {
  failed_ = true;
  diagnostics_.report(id, at, {a, b, c});
  return poison();
}

Sema::Expr* Sema::typeError(DiagId id, SourceRange at, const Type* a, const Type* b) {
  return error(id, at, typeName(a), b ? typeName(b) : std::string());
}

Sema::Expr* Sema::nameError(DiagId id, SourceRange at, Name name) {
  constexpr size_t kShown = 60;
  return error(id, at, text(name).substr(0, kShown));
}

Sema::Expr* Sema::errorWithNote(DiagId id, SourceRange at, Name name, SourceRange note,
                                std::string_view noteText) {
  failed_ = true;
  diagnostics_.report(id, at, {text(name)}).note(note, std::string(noteText));
  return poison();
}

void Sema::warn(DiagId id, SourceRange at, std::string_view a, std::string_view b) {
  constexpr int kWarningLimit = 20;
  if (warnings_ == kWarningLimit) diagnostics_.report(DiagId::TooManyWarnings, at);
  if (warnings_++ < kWarningLimit) diagnostics_.report(id, at, {a, b});
}

Sema::Expr* Sema::hostOnly(SourceRange at, std::string_view what) {
  // A function with such a construct is never compiled, whether that is an error or not.
  failed_ = true;
  if (mode_ == Mode::device) {
    std::string reached = function_ ? function_->name : std::string();
    diagnostics_.report(DiagId::HostOnly, at, {what, reached});
  }
  return poison();
}

Sema::Expr* Sema::unknownName(Name name, SourceRange at) {
  failed_ = true;
  if (quietNames_) return poison();
  if (findMath(name)) {
    diagnostics_.report(DiagId::UnknownName, at, {text(name), "add import \"std/math\""});
    return poison();
  }
  // Only what is in scope is worth a suggestion; the list is built for an error only.
  std::vector<std::string_view> candidates;
  for (uint32_t id = 1; id < bindings_.size() && candidates.size() < 5000; ++id) {
    if (bindings_[id]) candidates.push_back(interner_.text(Name{id}));
  }
  for (const auto& [id, symbol] : scope_->own) candidates.push_back(interner_.text(Name{id}));
  for (const auto& [id, symbol] : scope_->imported) candidates.push_back(interner_.text(Name{id}));
  for (const Builtin& b : builtins()) {
    if (b.form != BuiltinForm::math) candidates.push_back(b.name);
  }
  // The maps have no order of their own.
  std::sort(candidates.begin(), candidates.end());
  std::string_view near = nearestSpelling(text(name), candidates);
  diagnostics_.report(
      DiagId::UnknownName, at,
      {text(name), near.empty() ? std::string("declare it, or import the module that does")
                                : absl::StrFormat("did you mean '%s'?", near)});
  return poison();
}

// --- Declarations ---

Sema::Sema(std::deque<Module>& modules, const Interner& interner, DiagnosticEngine& diagnostics,
           Program* program)
    : modules_(modules),
      interner_(interner),
      diagnostics_(diagnostics),
      program_(*program),
      types_(program->types),
      builtinByName_(interner.size()),
      mathByName_(interner.size()),
      bindings_(interner.size()) {
  poison_.kind = checked::ExprKind::constant;
  poison_.type = types_.error();
  absl::flat_hash_map<std::string_view, const Builtin*> rows;
  for (const Builtin& b : builtins()) rows.emplace(b.name, &b);
  for (uint32_t id = 1; id < interner.size(); ++id) {
    auto row = rows.find(interner.text(Name{id}));
    if (row == rows.end()) continue;
    (row->second->form == BuiltinForm::math ? mathByName_ : builtinByName_)[id] = row->second;
  }
}

Symbol* Sema::addSymbol(Scope* scope, SymbolKind kind, Name name, SourceRange range,
                        const ast::Decl* decl, bool isPublic) {
  Symbol& s = symbols_.emplace_back();
  s.kind = kind;
  s.home = scope;
  s.name = name;
  s.range = range;
  s.decl = decl;
  s.isPublic = isPublic;
  Symbol*& slot = scope->own[name.id];
  if (!slot) {
    slot = &s;
    return &s;
  }
  if (kind == SymbolKind::variant &&
      (slot->kind == SymbolKind::variant || slot->kind == SymbolKind::ambiguous)) {
    // Legal until somebody uses the name.
    Symbol& both = symbols_.emplace_back();
    both.kind = SymbolKind::ambiguous;
    both.name = name;
    both.first = slot->kind == SymbolKind::variant ? slot : slot->first;
    both.second = &s;
    both.isPublic = isPublic;
    slot = &both;
    return &s;
  }
  errorWithNote(DiagId::Redefinition, range, name, slot->range, "the other declaration is here");
  return &s;
}

void Sema::declareFunction(Scope* scope, const ast::FunctionDecl* decl, bool isPublic) {
  auto known = scope->own.find(decl->name.id);
  if (known == scope->own.end() || known->second->kind != SymbolKind::function) {
    Symbol* s = addSymbol(scope, SymbolKind::function, decl->name, decl->nameRange, decl, isPublic);
    s->function = decl;
    s->declarations.push_back(decl);
    return;
  }
  Symbol* s = known->second;
  if (decl->body && s->function->body) {
    errorWithNote(DiagId::Redefinition, decl->nameRange, decl->name, s->function->nameRange,
                  "the other definition is here");
    return;
  }
  s->declarations.push_back(decl);
  s->isPublic = s->isPublic || isPublic;
  if (decl->body) {
    s->function = decl;
    s->range = decl->nameRange;
  }
}

void Sema::declareEnum(Scope* scope, const ast::EnumDecl* decl, bool isPublic) {
  Symbol* s = addSymbol(scope, SymbolKind::enumType, decl->name, decl->nameRange, decl, isPublic);
  s->type = types_.makeEnum(text(decl->name), s);
  for (const ast::EnumVariant& v : decl->variants) {
    for (const Symbol* before : s->variants) {
      // A scan is enough for real enums; huge ones are left to the map of the module.
      if (s->variants.size() > 64) break;
      if (before->name == v.name) {
        errorWithNote(DiagId::Redefinition, v.range, v.name, before->range,
                      "the other variant is here");
        break;
      }
    }
    Symbol* variant = addSymbol(scope, SymbolKind::variant, v.name, v.range, decl, isPublic);
    variant->owner = s;
    variant->variant = &v;
    variant->type = s->type;
    s->variants.push_back(variant);
  }
}

void Sema::declare(Scope* scope, const ast::Decl* decl, bool isPublic) {
  switch (decl->kind) {
    case ast::DeclKind::function:
      declareFunction(scope, static_cast<const ast::FunctionDecl*>(decl), isPublic);
      return;
    case ast::DeclKind::constant:
      addSymbol(scope, SymbolKind::constant, decl->name, decl->nameRange, decl, isPublic);
      return;
    case ast::DeclKind::variable: {
      auto* v = static_cast<const ast::VarDecl*>(decl);
      if (v->storage != ast::Storage::automatic) {
        error(DiagId::StorageOutsideKernel, v->range,
              v->storage == ast::Storage::workgroup ? "workgroup" : "private");
      }
      addSymbol(scope, SymbolKind::variable, decl->name, decl->nameRange, decl, isPublic);
      return;
    }
    case ast::DeclKind::enum_:
      declareEnum(scope, static_cast<const ast::EnumDecl*>(decl), isPublic);
      return;
    case ast::DeclKind::host: {
      auto* h = static_cast<const ast::HostDecl*>(decl);
      if (!h->name) return;
      Symbol* s = addSymbol(scope, h->isType ? SymbolKind::hostType : SymbolKind::hostValue,
                            decl->name, decl->nameRange, decl, isPublic);
      if (h->isType) s->type = types_.host(text(decl->name), s);
      return;
    }
  }
}

void Sema::declareModules() {
  for (Module& m : modules_) {
    Scope& scope = scopes_.emplace_back();
    scope.module = &m;
    scopeOf_[&m] = &scope;
    scope.own.reserve(m.ast->decls.size());
    for (const ast::Decl* d : m.ast->decls) {
      declare(&scope, d, !m.ast->hasExports || d->exported);
    }
  }
  importAll();
}

void Sema::importSymbol(Scope* scope, Symbol* symbol) {
  Symbol*& slot = scope->imported[symbol->name.id];
  if (!slot) {
    slot = symbol;
  } else if (slot != symbol) {
    Symbol& both = symbols_.emplace_back();
    both.kind = SymbolKind::ambiguous;
    both.name = symbol->name;
    both.first = slot->kind == SymbolKind::ambiguous ? slot->first : slot;
    both.second = symbol->kind == SymbolKind::ambiguous ? symbol->second : symbol;
    slot = &both;
  }
}

void Sema::importAll() {
  for (Scope& scope : scopes_) {
    for (const ResolvedImport& i : scope.module->imports) {
      if (!i.module) continue;
      Scope* from = scopeOf_[i.module];
      if (i.import->alias) {
        Symbol* s = addSymbol(&scope, SymbolKind::module, i.import->alias, i.import->range, nullptr,
                              /*isPublic=*/false);
        s->target = from;
      } else if (i.import->selective) {
        for (const ast::ImportedName& n : i.import->names) {
          bool failed = false;
          Symbol* s = lookupPublic(from, n.name, n.range, &failed);
          if (!s) {
            if (!failed && !i.module->hadSyntaxErrors) {
              error(DiagId::NotInModule, n.range, text(n.name), i.import->path);
            }
            continue;
          }
          importSymbol(&scope, s);
          for (Symbol* variant : s->variants) importSymbol(&scope, variant);
        }
      } else if (from != &scope) {
        for (const auto& [id, symbol] : from->own) {
          if (symbol->isPublic && symbol->kind != SymbolKind::module) importSymbol(&scope, symbol);
        }
      }
    }
  }
}

Symbol* Sema::lookup(Scope* scope, Name name, SourceRange at, bool* failed) {
  auto found = scope->own.find(name.id);
  Symbol* s = nullptr;
  if (found != scope->own.end()) {
    s = found->second;
  } else {
    auto imported = scope->imported.find(name.id);
    if (imported != scope->imported.end()) s = imported->second;
  }
  if (!s || s->kind != SymbolKind::ambiguous) return s;
  failed_ = true;
  *failed = true;
  diagnostics_.report(DiagId::AmbiguousName, at, {text(name)})
      .note(s->first->range, "it may be this one")
      .note(s->second->range, "or this one");
  return nullptr;
}

Symbol* Sema::lookupPublic(Scope* scope, Name name, SourceRange at, bool* failed) {
  auto found = scope->own.find(name.id);
  if (found == scope->own.end() || !found->second->isPublic) return nullptr;
  return lookup(scope, name, at, failed);
}

// --- Order of the work ---

void Sema::checkPending() {
  while (!pending_.empty()) {
    Pending p = std::move(pending_.front());
    pending_.pop_front();
    if (diagnostics_.full()) continue;
    checkBody(p.symbol, p.function, p.typeArgs, p.mode);
  }
}

void Sema::checkMainFile() {
  Scope& main = scopes_.front();
  auto queue = [&](const ast::Decl* d, Mode mode) {
    auto* f = static_cast<const ast::FunctionDecl*>(d);
    auto found = main.own.find(f->name.id);
    if (found == main.own.end() || found->second->function != f) return;
    Symbol* symbol = found->second;
    scope_ = &main;
    mode_ = mode;
    checked::Function* function = instantiate(symbol, {}, f->nameRange);
    if (f->isKernel && function) program_.kernels.push_back(function);
  };
  auto each = [&](auto wanted, Mode mode) {
    for (const ast::Decl* d : main.module->ast->decls) {
      if (d->kind != ast::DeclKind::function) continue;
      auto* f = static_cast<const ast::FunctionDecl*>(d);
      if (wanted(f)) queue(d, mode);
    }
    checkPending();
  };
  // What kernels reach first, so that it is checked as device code; then what `main` reaches.
  each([](const ast::FunctionDecl* f) { return f->isKernel; }, Mode::device);
  each([](const ast::FunctionDecl* f) { return f->name == names::main && f->typeParams.empty(); },
       Mode::host);
  each([](const ast::FunctionDecl* f) { return !f->isKernel && f->typeParams.empty(); },
       Mode::neutral);
}

bool Sema::run() {
  declareModules();
  for (Symbol& s : symbols_) {
    if (diagnostics_.full()) break;
    if (s.kind == SymbolKind::function) {
      matchBuiltin(&s);
      compareDeclarations(&s);
    }
  }
  // In source order, so that only references forward recurse.
  Scope& main = scopes_.front();
  for (size_t i = 0; i < symbols_.size() && !diagnostics_.full(); ++i) {
    Symbol& s = symbols_[i];
    if (s.home != &main) continue;
    mode_ = Mode::neutral;
    if (s.kind == SymbolKind::constant) resolveConstant(&s);
    if (s.kind == SymbolKind::enumType) resolveVariants(&s);
  }
  checkMainFile();
  return !diagnostics_.hasErrors();
}

bool analyze(std::deque<Module>& modules, const Interner& interner, DiagnosticEngine& diagnostics,
             Program* program) {
  return Sema(modules, interner, diagnostics, program).run();
}

}  // namespace mtlc::frontend
