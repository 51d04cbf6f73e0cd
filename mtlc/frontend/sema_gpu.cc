// GPU operations with words and options: barriers, fences, subgroups, atomics, staging
// (docs/language.md §8). Tensor operations: sema_tensor.cc.

#include <algorithm>

#include "absl/strings/str_format.h"
#include "mtlc/frontend/sema_impl.h"
#include "mtlc/support/scalar_ops.h"
#include "mtlc/support/suggest.h"

namespace mtlc::frontend {

using checked::ConstantExpr;
using ir::MemoryOrder;

namespace {

// An argument that is one word, such as `workgroup`; no name for anything else.
Name plainWord(const ast::Argument& a) {
  if (a.value->kind != ast::ExprKind::name || a.value->parenthesized) return Name();
  return static_cast<const ast::NameExpr*>(a.value)->name;
}

constexpr Name kWorkgroupWord = Interner::keywordName(TokenKind::kwWorkgroup);

// The IR's region of a word; 0 for other words.
uint8_t regionOf(Name w) {
  return w == kWorkgroupWord ? ir::kRegionWorkgroup : w == names::global ? ir::kRegionGlobal : 0;
}

}  // namespace

// --- Arguments and options ---

void Sema::problem(GpuCall& call, DiagId id, SourceRange at, std::string_view a, std::string_view b,
                   std::string_view c) {
  call.good = false;
  error(id, at, a, b, c);
}

SourceRange Sema::optionRange(const GpuCall& call, Option option) const {
  return call.has(option) ? call[option].argument->value->range : call.source->range;
}

// As the source spells it.
std::string_view Sema::optionText(const GpuCall& call, Option option) const {
  if (call.has(option)) return text(call[option].argument->label);
  return optionName(call.set, option);
}

bool Sema::sortArguments(GpuCall& call, size_t positional) {
  const ast::CallExpr* e = call.source;
  const std::string_view name = call.builtin->name;
  call.options.resize(kOptionCount);
  if (!e->typeArgs.empty()) {
    problem(call, DiagId::TypeArgumentCount, e->range, name, "0",
            absl::StrFormat("%d", e->typeArgs.size()));
  }
  bool named = false, behind = false;
  size_t count = 0;
  for (uint32_t i = 0; i < e->args.size(); ++i) {
    const ast::Argument& a = e->args[i];
    if (!a.label) {
      if (named && !behind) problem(call, DiagId::PositionalAfterNamed, a.value->range, name);
      behind = behind || named;
      ++count;
      Expr* v = value(a.value);
      call.good = call.good && !isPoison(v);
      call.positional.push_back(v);
      continue;
    }
    named = true;
    const std::string_view label = text(a.label);
    const OptionRow* row = findOption(call.set, label);
    if (!row) {
      if (!plainWord(a)) value(a.value);
      std::vector<std::string_view> known;
      for (const OptionRow& r : optionRows()) {
        if (r.set == call.set) known.push_back(r.spelling);
      }
      std::string_view near = nearestSpelling(label, known);
      if (near.empty()) near = known.front();
      problem(call, DiagId::UnknownOption, a.labelRange, name, label, near);
      continue;
    }
    GivenOption& o = call.options[static_cast<size_t>(row->option)];
    if (o.argument) {
      call.good = false;
      failed_ = true;
      diagnostics_.report(DiagId::RepeatedOption, a.labelRange, {name, text(o.argument->label)})
          .note(o.argument->labelRange, "the first one is here");
      continue;
    }
    o.argument = &a;
    o.index = i;
    if (row->kind == OptionKind::Word) continue;
    o.value = value(a.value);
    call.good = call.good && !isPoison(o.value);
  }
  if (count == positional) return true;
  if (call.good || count < positional) {
    problem(call, DiagId::PositionalCount, e->range, name, absl::StrFormat("%d", positional),
            absl::StrFormat("%d", count));
  }
  return false;
}

std::optional<uint8_t> Sema::wordValue(GpuCall& call, Option option, Words words) {
  const ast::Argument& a = *call[option].argument;
  Name w = plainWord(a);
  if (w) {
    if (std::optional<uint8_t> v = findWord(words, text(w))) return v;
  }
  problem(call, DiagId::OptionValue, a.value->range, text(a.label),
          w ? text(w) : std::string_view("this expression"), wordList(words));
  return std::nullopt;
}

std::optional<uint64_t> Sema::number(GpuCall& call, const ast::Expr* at, Expr* v,
                                     std::string_view what, uint64_t low, uint64_t high) {
  if (isPoison(v)) return std::nullopt;
  if (ConstantExpr* c = asConstant(v); c && c->type->isIntegral()) {
    const bool negative =
        !c->type->isUnsigned() && scalar::signExtend(c->type->bits(), c->bits) < 0;
    if (!negative && c->bits >= low && c->bits <= high) return c->bits;
  }
  problem(call, DiagId::OptionNumber, at->range, what, absl::StrFormat("%d", low),
          absl::StrFormat("%d", high));
  return std::nullopt;
}

void Sema::missing(GpuCall& call, Option option, std::string_view hint) {
  problem(call, DiagId::MissingOption, call.source->range, call.builtin->name,
          optionName(call.set, option), hint);
}

void Sema::meaningless(GpuCall& call, Option option, std::string_view when) {
  if (!call.has(option)) return;
  problem(call, DiagId::OptionMeaningless, call[option].argument->labelRange,
          optionText(call, option), when);
}

// The operation, its operands in the order of the source.
Sema::Expr* Sema::finish(GpuCall& call) {
  if (!call.good) return poison();
  std::sort(call.operands.begin(), call.operands.end(),
            [](const GpuCall::Operand& a, const GpuCall::Operand& b) { return a.index < b.index; });
  checked::BuiltinExpr* x = builtinExpr(call.builtin, call.source->range, types_.voidType());
  const size_t n = call.operands.size();
  Expr** args = program_.arena.makeArray<Expr*>(n);
  ir::Slot* slots = program_.arena.makeArray<ir::Slot>(n);
  for (size_t i = 0; i < n; ++i) {
    args[i] = call.operands[i].value;
    slots[i] = call.operands[i].slot;
  }
  x->args = {args, n};
  call.attributes->slots = {slots, n};
  x->gpu = call.attributes;
  return x;
}

// --- Barriers and fences ---

Sema::Expr* Sema::barrier(const Builtin* b, const ast::CallExpr* e) {
  if (!gpuOperationAllowed(e->range, b->name)) return poison();
  const bool isFence = b->kind == BuiltinKind::fence;
  auto* attributes = program_.arena.make<checked::GpuAttributes>();
  checked::BuiltinExpr* x = builtinExpr(b, e->range, types_.voidType());
  x->gpu = attributes;
  bool hasOrder = false;
  if (b->kind == BuiltinKind::plainBarrier) {
    if (!argumentCount(e, 0, b->name, {})) return poison();
  }
  const DiagId unknown = isFence ? DiagId::FenceWord : DiagId::BarrierWord;
  for (const ast::Argument& a : e->args) {
    Name w = plainWord(a);
    if (a.label) {
      if (!isFence || text(a.label) != optionName(OptionSet::Fence, Option::scope)) {
        return error(unknown, a.labelRange, text(a.label));
      }
      if (attributes->hasScope) return error(DiagId::RepeatedWord, a.labelRange, "scope", b->name);
      std::optional<uint8_t> scope = w ? findWord(Words::Scope, text(w)) : std::nullopt;
      if (!scope || static_cast<ir::Scope>(*scope) == ir::Scope::WorkItem) {
        return error(DiagId::FenceScope, a.value->range, w ? text(w) : "this expression");
      }
      attributes->hasScope = true;
      attributes->scope = static_cast<ir::Scope>(*scope);
      continue;
    }
    if (uint8_t region = regionOf(w)) {
      if (attributes->regions & region) {
        return error(DiagId::RepeatedWord, a.value->range, text(w), b->name);
      }
      attributes->regions |= region;
      continue;
    }
    std::optional<uint8_t> order = w ? findWord(Words::MemoryOrder, text(w)) : std::nullopt;
    if (!order || static_cast<MemoryOrder>(*order) == MemoryOrder::Relaxed) {
      return error(unknown, a.value->range, w ? text(w) : "this expression");
    }
    if (hasOrder) {
      bool same = static_cast<MemoryOrder>(*order) == attributes->order;
      return same ? error(DiagId::RepeatedWord, a.value->range, text(w), b->name)
                  : error(DiagId::TwoOrders, a.value->range, b->name);
    }
    hasOrder = true;
    attributes->order = static_cast<MemoryOrder>(*order);
  }
  if (isFence) {
    // What is not said is the strongest that the memory has use for.
    if (attributes->regions == 0) attributes->regions = ir::kRegionWorkgroup | ir::kRegionGlobal;
    if (!attributes->hasScope) {
      attributes->scope =
          attributes->regions & ir::kRegionGlobal ? ir::Scope::Device : ir::Scope::Workgroup;
    }
  } else if (attributes->regions == 0) {
    attributes->regions = ir::kRegionWorkgroup;
  }
  return x;
}

// --- Subgroups ---

Sema::Expr* Sema::subgroup(const Builtin* b, const ast::CallExpr* e) {
  if (!gpuOperationAllowed(e->range, b->name)) {
    checkPositional(e);
    return poison();
  }
  const char code = b->signature.empty() ? 0 : b->signature[0];
  const size_t count = code == 0                                ? 0
                       : code == 'v'                            ? 2
                       : b->kind == BuiltinKind::subgroupBallot ? 2
                                                                : 1;
  if (!positionalOnly(e, b->name) || !argumentCount(e, count, b->name, {})) {
    checkArguments(e);
    return poison();
  }
  if (!e->typeArgs.empty()) {
    checkArguments(e);
    return error(DiagId::TypeArgumentCount, e->range, b->name, "0",
                 absl::StrFormat("%d", e->typeArgs.size()));
  }
  Expr* args[2] = {nullptr, nullptr};
  for (size_t i = 0; i < count; ++i) args[i] = value(e->args[i].value);
  for (size_t i = 0; i < count; ++i) {
    if (isPoison(args[i])) return args[i];
  }
  const Type* result = types_.uint32();
  if (code == 'p') {
    if (!args[0]->type->isBool()) {
      return error(DiagId::SubgroupPredicate, e->args[0].value->range, b->name,
                   typeName(args[0]->type));
    }
    if (b->kind != BuiltinKind::subgroupBallot) result = types_.boolType();
  } else if (code != 0) {
    const Type* t = args[0]->type;
    if (code == 'r' && isFloatLiteral(args[0])) t = types_.float32();
    const bool narrow = t->bits() < (code == 'r' ? 32 : 16);
    const bool good = t->isInteger() || t->isFloat();
    if (!good || narrow || (code == 'r' && t->bits() > 32)) {
      return error(DiagId::SubgroupType, e->args[0].value->range, b->name, typeName(t),
                   code == 'r' ? "uint32, int32 and float32" : "numbers of 16, 32 and 64 bits");
    }
    args[0] = convert(args[0], t);
    result = t;
  }
  if (count == 2) args[1] = implicitConvert(args[1], types_.uint32(), e->args[1].value->range);
  if (count == 2 && isPoison(args[1])) return poison();
  size_t mark = exprs_.size();
  for (size_t i = 0; i < count; ++i) exprs_.push_back(args[i]);
  checked::BuiltinExpr* x = builtinExpr(b, e->range, result);
  x->args = take(exprs_, mark);
  return x;
}

// --- Atomics ---

Sema::Expr* Sema::exactValue(GpuCall& call, const ast::Expr* at, Expr* v, const Type* type) {
  if (isPoison(v) || type->isError()) return v;
  if (v->type == type && !isFloatLiteral(v)) return v;
  if (ConstantExpr* c = asConstant(v); c && c->literal && c->type->isNumeric()) {
    const bool fits =
        type->isFloat() || (c->type->isIntegral() && !c->type->isBool() && valueFits(*c, type));
    if (fits) return convert(v, type);
  }
  problem(call, DiagId::AtomicValue, at->range, typeName(v->type), typeName(type));
  return poison();
}

void Sema::atomicOrders(GpuCall& call) {
  checked::GpuAttributes& a = *call.attributes;
  const BuiltinKind kind = call.builtin->kind;
  const bool written = word(call, Option::order, Words::MemoryOrder, &a.order);
  using O = MemoryOrder;
  const bool load = kind == BuiltinKind::atomicLoad, store = kind == BuiltinKind::atomicStore;
  if (written && ((load && (a.order == O::Release || a.order == O::AcqRel)) ||
                  (store && (a.order == O::Acquire || a.order == O::AcqRel)))) {
    problem(call, DiagId::AtomicOrder, optionRange(call, Option::order),
            load ? "a load" : "a store",
            wordText(Words::MemoryOrder, static_cast<uint8_t>(a.order)),
            load ? "relaxed, acquire or seq_cst" : "relaxed, release or seq_cst");
  }
  if (kind != BuiltinKind::atomicCompareExchange) return;
  a.failureOrder = a.order == O::SeqCst                            ? O::SeqCst
                   : a.order == O::Acquire || a.order == O::AcqRel ? O::Acquire
                                                                   : O::Relaxed;
  const O most = a.failureOrder;
  if (!word(call, Option::failureOrder, Words::MemoryOrder, &a.failureOrder)) return;
  const std::string_view shown = wordText(Words::MemoryOrder, static_cast<uint8_t>(a.failureOrder));
  if (a.failureOrder == O::Release || a.failureOrder == O::AcqRel) {
    problem(call, DiagId::AtomicOrder, optionRange(call, Option::failureOrder), "a failed exchange",
            shown, "relaxed, acquire or seq_cst, as it writes nothing");
  } else if (a.failureOrder > most) {
    problem(call, DiagId::FailureOrder, optionRange(call, Option::failureOrder), shown,
            wordText(Words::MemoryOrder, static_cast<uint8_t>(a.order)),
            wordText(Words::MemoryOrder, static_cast<uint8_t>(most)));
  }
}

Sema::Expr* Sema::atomic(const Builtin* b, const ast::CallExpr* e) {
  if (!gpuOperationAllowed(e->range, b->name)) {
    checkPositional(e);
    return poison();
  }
  GpuCall call{
      b, e,
      b->kind == BuiltinKind::atomicCompareExchange ? OptionSet::Exchange : OptionSet::Atomic};
  call.attributes = program_.arena.make<checked::GpuAttributes>();
  const bool complete = sortArguments(call, 2u + b->number);
  checked::GpuAttributes& a = *call.attributes;
  atomicOrders(call);
  a.hasScope = word(call, Option::scope, Words::Scope, &a.scope);
  a.scopeRange = optionRange(call, Option::scope);
  a.hasSpace = word(call, Option::space, Words::Space, &a.space);
  if (a.hasScope && a.hasSpace && a.space == Space::Workgroup && a.scope > ir::Scope::Workgroup) {
    problem(call, DiagId::AtomicScope, a.scopeRange,
            wordText(Words::Scope, static_cast<uint8_t>(a.scope)));
  }
  if (!complete) return poison();

  std::vector<Expr*>& args = call.positional;
  const Type* elem = types_.error();
  if (!isPoison(args[0])) {
    const Type* t = args[0]->type;
    const bool isInteger =
        t->isPointer() && t->elem->isInteger() && (t->elem->bits() == 32 || t->elem->bits() == 64);
    const bool isFloat = t->isPointer() && t->elem->isFloat() && b->kind == BuiltinKind::atomicAdd;
    if (isInteger || isFloat) {
      elem = t->elem;
    } else {
      problem(call, DiagId::AtomicPointer, e->args[0].value->range, b->name, typeName(t),
              b->kind == BuiltinKind::atomicAdd
                  ? "uint32*, int32*, uint64*, int64*, float32* or float64*"
                  : "uint32*, int32*, uint64* or int64*");
    }
  }
  if (!isPoison(args[1]) && !args[1]->type->isIntegral()) {
    problem(call, DiagId::IndexType, e->args[1].value->range, typeName(args[1]->type));
  }
  for (size_t i = 2; i < args.size(); ++i) {
    args[i] = exactValue(call, e->args[i].value, args[i], elem);
    call.good = call.good && !isPoison(args[i]);
  }
  if (!call.good) return poison();
  checked::BuiltinExpr* x =
      builtinExpr(b, e->range, b->kind == BuiltinKind::atomicStore ? types_.voidType() : elem);
  size_t mark = exprs_.size();
  exprs_.insert(exprs_.end(), args.begin(), args.end());
  x->args = take(exprs_, mark);
  x->gpu = call.attributes;
  return x;
}

// --- Staging ---

Sema::Expr* Sema::async(const Builtin* b, const ast::CallExpr* e) {
  if (!gpuOperationAllowed(e->range, b->name)) {
    checkPositional(e);
    return poison();
  }
  if (b->kind == BuiltinKind::asyncCopy) return asyncCopy(b, e);
  const bool isWait = b->kind == BuiltinKind::asyncWait;
  if (!positionalOnly(e, b->name) || !argumentCount(e, isWait ? 1 : 0, b->name, {})) {
    checkArguments(e);
    return poison();
  }
  checked::BuiltinExpr* x = builtinExpr(b, e->range, types_.voidType());
  if (!isWait) return x;
  constexpr uint64_t kMaxPending = 7;
  GpuCall call{b, e, OptionSet::Async};
  std::optional<uint64_t> n = number(call, e->args[0].value, value(e->args[0].value),
                                     "the number of pending groups", 0, kMaxPending);
  if (!n) return poison();
  auto* attributes = program_.arena.make<checked::GpuAttributes>();
  attributes->wait = static_cast<uint32_t>(*n);
  x->gpu = attributes;
  return x;
}

Sema::Expr* Sema::asyncCopy(const Builtin* b, const ast::CallExpr* e) {
  constexpr uint64_t kMaxCount = 4096, kMaxBytes = 65536;
  GpuCall call{b, e, OptionSet::Async};
  call.attributes = program_.arena.make<checked::GpuAttributes>();
  const bool complete = sortArguments(call, 3);
  ir::AsyncAttr& a = call.attributes->async;
  bool goodTransaction = true;
  if (call.has(Option::transaction)) {
    const GivenOption& o = call[Option::transaction];
    ConstantExpr* c = asConstant(o.value);
    const uint64_t v = c && c->type->isIntegral() ? c->bits : 0;
    goodTransaction = v == 4 || v == 8 || v == 16;
    if (goodTransaction) {
      a.transaction = static_cast<uint8_t>(v);
    } else if (!isPoison(o.value)) {
      problem(call, DiagId::AsyncTransaction, o.argument->value->range);
    }
  }
  ir::CacheHint cache = ir::CacheHint::All;
  word(call, Option::cache, Words::CacheHint, &cache);
  a.cacheGlobal = cache == ir::CacheHint::Global;
  if (a.cacheGlobal && a.transaction != 16 && goodTransaction) {
    problem(call, DiagId::AsyncCache, optionRange(call, Option::cache),
            absl::StrFormat("%d", a.transaction));
  }
  if (!complete) return poison();
  std::vector<Expr*>& args = call.positional;
  const Type* elem = nullptr;
  if (!isPoison(args[0]) && !isPoison(args[1])) {
    const Type *dst = args[0]->type, *src = args[1]->type;
    if (dst == src && dst->isPointer() && dst->elem->isNumeric()) {
      elem = dst->elem;
    } else {
      problem(call, DiagId::AsyncPointers, e->range, typeName(dst), typeName(src));
    }
  }
  std::optional<uint64_t> count =
      number(call, e->args[2].value, args[2], "the number of elements", 1, kMaxCount);
  if (elem && count) {
    a.count = static_cast<uint32_t>(*count);
    const uint64_t bytes = *count * elem->bytes();
    static_assert(kMaxCount * 8 <= kMaxBytes);
    if (goodTransaction && bytes % a.transaction != 0) {
      problem(call, DiagId::AsyncBytes, e->args[2].value->range, absl::StrFormat("%d", bytes),
              absl::StrFormat("%d", a.transaction));
    }
  }
  if (!call.good) return poison();
  checked::BuiltinExpr* x = builtinExpr(b, e->range, types_.voidType());
  size_t mark = exprs_.size();
  exprs_.push_back(args[0]);
  exprs_.push_back(args[1]);
  x->args = take(exprs_, mark);
  x->gpu = call.attributes;
  return x;
}

}  // namespace mtlc::frontend
