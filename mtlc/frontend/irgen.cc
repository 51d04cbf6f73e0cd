// Modules, functions, blocks. Statements and expressions: irgen_stmt.cc, irgen_expr.cc.

#include "mtlc/frontend/irgen.h"

#include "mtlc/frontend/irgen_impl.h"

namespace mtlc::frontend {

using checked::LocalKind;
using ir::Space;

IrGenerator::IrGenerator(const Program& program, const Interner& interner, SourceManager& sources,
                         DiagnosticEngine& diagnostics, const IrGenOptions& options)
    : program_(program),
      interner_(interner),
      diagnostics_(diagnostics),
      options_(options),
      module_(std::make_unique<ir::Module>(sources, options.moduleName)),
      b_(*module_) {}

std::unique_ptr<ir::Module> IrGenerator::run() {
  // Kernels first: their names are those of the source.
  for (const checked::Function* k : program_.kernels) {
    std::vector<Space> spaces;
    for (const checked::Local* p : k->params) {
      if (p->type->isPointer()) spaces.push_back(Space::Global);
    }
    declare(spaces_.get(k, spaces));
  }
  while (!pending_.empty()) {
    Specialization* s = pending_.front();
    pending_.pop_front();
    define(*s);
  }
  return failed_ ? nullptr : std::move(module_);
}

// f<int32*>$w: letters that every target takes in names.
std::string IrGenerator::symbolName(const Specialization& s) const {
  std::string name;
  for (char c : s.function->name) {
    if (c == '<' || c == ',') {
      name += '$';
    } else if (c == '*') {
      name += 'p';
    } else if (c != ' ' && c != '>') {
      name += c;
    }
  }
  bool allGlobal = true;
  for (Space space : s.params) allGlobal = allGlobal && space == Space::Global;
  if (allGlobal) return name;
  constexpr char kLetters[ir::kSpaceCount] = {'x', 'g', 'w', 'p', 'c'};
  name += '$';
  for (Space space : s.params) name += kLetters[static_cast<int>(space)];
  return name;
}

ir::Function* IrGenerator::declare(Specialization& s) {
  if (s.ir) return s.ir;
  const checked::Function& f = *s.function;
  ir::FunctionSpec spec;
  std::string wish = symbolName(s);
  std::string name = module_->uniqueName(wish);
  spec.name = name;
  size_t next = 0;
  for (const checked::Local* p : f.params) {
    spec.params.push_back(irType(p->type, p->type->isPointer() ? s.params[next++] : Space::Global));
    spec.paramNames.push_back(interner_.text(p->name));
  }
  spec.result = irType(f.result, s.result);
  spec.isKernel = f.isKernel;
  spec.loc = f.range.begin;
  s.ir = module_->addFunction(spec);
  constexpr ir::InlineHint kHints[] = {ir::InlineHint::None, ir::InlineHint::Inline,
                                       ir::InlineHint::Always, ir::InlineHint::Never};
  s.ir->inlineHint = kHints[static_cast<int>(f.inlineHint)];
  s.ir->launchBounds = {f.maxThreads, f.minGroups};
  if (f.body) pending_.push_back(&s);
  return s.ir;
}

ir::Type IrGenerator::irType(const Type* type, Space space) const {
  switch (type->kind) {
    case TypeKind::bool_:
      return ir::kI1;
    case TypeKind::int8:
    case TypeKind::uint8:
      return ir::kI8;
    case TypeKind::int16:
    case TypeKind::uint16:
      return ir::kI16;
    case TypeKind::int32:
    case TypeKind::uint32:
      return ir::kI32;
    case TypeKind::int64:
    case TypeKind::uint64:
    case TypeKind::enum_:
      return ir::kI64;
    case TypeKind::float32:
      return ir::kF32;
    case TypeKind::float64:
      return ir::kF64;
    case TypeKind::pointer:
      return ir::Type::ptr(space);
    case TypeKind::array:
      return irType(type->elem);
    case TypeKind::error:
    case TypeKind::host:
    case TypeKind::void_:
      break;
  }
  return ir::kVoid;
}

ir::Type IrGenerator::localType(const checked::Local* local) const {
  if (!local->type->isPointer()) return irType(local->type);
  return ir::Type::ptr(spec_->locals[local->index]);
}

ir::Block* IrGenerator::newBlock(std::string_view name) { return ir_->addBlock(name, b_.loc()); }

void IrGenerator::place(ir::Block* block) {
  if (!block->firstPredecessor()) {
    block->erase();
    live_ = false;
    return;
  }
  block->moveAfter(lastPlaced_);
  lastPlaced_ = block;
  b_.setInsertEnd(block);
  live_ = true;
}

void IrGenerator::jump(ir::Block* target) {
  if (!live_) return;
  b_.jump(target);
  live_ = false;
}

void IrGenerator::allocateLocals(const checked::Function& f) {
  locals_.assign(f.locals.size(), {});
  for (const checked::Local* l : f.locals) {
    LocalState& state = locals_[l->index];
    setLoc(l->range);
    switch (l->kind) {
      case LocalKind::parameter: {
        ir::Value* v = ir_->param(l->index);
        if (l->assignments == 0 && !l->addressTaken) {
          state.value = v;
        } else {
          state.address = b_.allocPrivate(localType(l), 1);
          module_->setValueName(state.address, interner_.text(l->name));
        }
        break;
      }
      case LocalKind::variable:
        if (l->assignments > 0 || l->addressTaken || !l->initialized) {
          state.address = b_.allocPrivate(localType(l), 1);
          module_->setValueName(state.address, interner_.text(l->name));
        }
        break;
      case LocalKind::privateArray:
        state.address = b_.allocPrivate(irType(l->type), l->type->count);
        module_->setValueName(state.address, interner_.text(l->name));
        break;
      case LocalKind::workgroupArray:
        state.address = b_.allocWorkgroup(irType(l->type), l->type->count);
        module_->setValueName(state.address, interner_.text(l->name));
        break;
      case LocalKind::dynamicWorkgroup:
        state.value = b_.allocDynamic(irType(l->type->elem));
        module_->setValueName(state.value, interner_.text(l->name));
        break;
    }
  }
  for (const checked::Local* p : f.params) {
    LocalState& state = locals_[p->index];
    if (!state.address) continue;
    setLoc(p->range);
    ir::Value* v = coerce(ir_->param(p->index), localType(p), p->range);
    b_.store(v->type(), v, state.address);
  }
}

void IrGenerator::define(Specialization& s) {
  const checked::Function& f = *s.function;
  spec_ = &s;
  function_ = &f;
  ir_ = s.ir;
  uint8_t flags = options_.fastMath;
  if (f.fpMode == checked::FpMode::strict) flags = 0;
  if (f.fpMode == checked::FpMode::contract) flags = ir::kContract;
  b_.setFastMath(flags);
  setLoc(f.range);
  ir::Block* entry = ir_->addBlock("entry", f.range.begin);
  lastPlaced_ = entry;
  b_.setInsertEnd(entry);
  live_ = true;
  allocateLocals(f);
  block(f.body);
  if (!live_) return;
  setLoc(f.end);
  if (f.result->isVoid()) {
    b_.ret();
  } else {
    // Only a value outside the variants of an exhaustive enum switch comes here.
    b_.ret(b_.constBits(ir_->resultType(), 0));
  }
  live_ = false;
}

std::unique_ptr<ir::Module> generateIr(const Program& program, const Interner& interner,
                                       SourceManager& sources, DiagnosticEngine& diagnostics,
                                       const IrGenOptions& options) {
  return IrGenerator(program, interner, sources, diagnostics, options).run();
}

}  // namespace mtlc::frontend
