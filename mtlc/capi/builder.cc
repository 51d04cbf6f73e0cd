// mtlc/build.h: functions, values, control flow.

#include "mtlc/capi/builder.h"

#include <bit>
#include <cstdio>

#include "absl/strings/str_format.h"
#include "mtlc/ir/verifier.h"
#include "mtlc/support/float_format.h"
#include "mtlc/transforms/pipeline.h"

using mtlc::DiagId;
using mtlc::SourceLoc;
using mtlc::capi::describe;
using mtlc::capi::Entry;
using mtlc::capi::irSpace;
using mtlc::capi::irType;
using mtlc::capi::isPointer;
using mtlc::capi::Typed;
namespace ir = mtlc::ir;

// ---- Builder ----

MtlcBuilder::MtlcBuilder()
    : sources(std::make_unique<mtlc::SourceManager>()),
      module(std::make_unique<ir::Module>(*sources)) {}

void MtlcBuilder::error(SourceLoc at, std::string_view call, std::string_view what,
                        std::string_view hint) {
  if (!failed()) diags.report(DiagId::CapiMisuse, at, {call, what, hint});
}

void MtlcBuilder::notInBuild(SourceLoc at, std::string_view what, std::string_view hint) {
  if (!failed()) diags.report(DiagId::CapiNotInBuild, at, {what, hint});
}

bool MtlcBuilder::check() {
  if (checked) return good;
  checked = true;
  for (MtlcFn& fn : functions) fn.end();
  for (PendingCall& p : pending) {
    auto it = byName.find(p.callee);
    if (it == byName.end()) {
      error(p.op->loc(), "mtlc_call", absl::StrFormat("there is no function '%s'", p.callee),
            "make it with mtlc_builder_function, as an extern one if its body is elsewhere");
      break;
    }
    p.op->setCallee(it->second->function);
  }
  if (failed() || !ir::verify(*module, diags)) return false;
  // Variables become values; what is left of the entry blocks goes.
  std::optional<std::vector<mtlc::transforms::PassInvocation>> passes =
      mtlc::transforms::parsePipeline("promote,simplify-cfg", "finish", *sources, diags);
  good = passes && mtlc::transforms::runPasses(*module, *passes, diags);
  return good;
}

// ---- Functions ----

MtlcFn::MtlcFn(MtlcBuilder& b, ir::Function* f, MtlcType* result)
    : builder(b), function(f), resultType(result), ir(*b.module) {}

bool MtlcFn::ready(std::string_view name) {
  call = name;
  return !builder.failed() && !builder.checked && body != nullptr;
}

bool MtlcFn::fail(std::string_view what, std::string_view hint) {
  builder.error(loc, call, what, hint);
  return false;
}

namespace {

MtlcFn* addFunction(MtlcBuilder* b, std::string_view call, const char* name, MtlcType* result,
                    const char* const* names, MtlcType* const* types, size_t count, bool isKernel,
                    bool isExtern) {
  if (b == nullptr || b->failed() || b->checked) return nullptr;
  auto fail = [&](std::string what) {
    b->error({}, call, what, "docs/c-api.md has what each call takes");
    return nullptr;
  };
  if (name == nullptr || *name == '\0') return fail("the name is empty");
  if (b->byName.contains(name)) return fail(absl::StrFormat("'%s' is defined twice", name));
  if (count > 0 && types == nullptr) return fail("the parameter types are NULL");
  ir::FunctionSpec spec{.name = name, .isKernel = isKernel};
  const ir::Space pointers = ir::Space::Global;
  if (result != nullptr && result->kind != MTLC_TYPE_VOID) {
    spec.result = irType(result, pointers);
    if (spec.result.isVoid()) {
      return fail(absl::StrFormat("'%s' returns %s, which device code does not have", name,
                                  describe(result)));
    }
  }
  for (size_t i = 0; i < count; ++i) {
    const ir::Type t = irType(types[i], pointers);
    if (t.isVoid()) {
      return fail(absl::StrFormat("parameter %d of '%s' is %s, which device code does not have",
                                  i + 1, name, describe(types[i])));
    }
    spec.params.push_back(t);
    spec.paramNames.push_back(names != nullptr && names[i] != nullptr ? names[i] : "");
  }
  ir::Function* f = b->module->addFunction(spec);
  MtlcFn& fn = b->functions.emplace_back(*b, f, result);
  fn.paramTypes.assign(types, types + count);
  b->byName.emplace(name, &fn);
  if (isExtern) return &fn;
  fn.entryBlock = f->addBlock("entry");
  fn.body = f->addBlock("body");
  // Parameters can be assigned to like other values.
  for (size_t i = 0; i < count; ++i) {
    Entry e{.kind = Entry::Kind::Variable, .type = types[i]};
    e.name = spec.paramNames[i];
    ir::Value* param = f->param(static_cast<unsigned>(i));
    fn.allocate(e, param->type());
    fn.ir.setInsertEnd(fn.entryBlock);
    fn.ir.store(param->type(), param, e.place);
    fn.add(std::move(e));
  }
  fn.ir.setInsertEnd(fn.body);
  return &fn;
}

}  // namespace

void MtlcFn::end() {
  if (body == nullptr || builder.failed()) return;
  call = "mtlc_builder_finish";
  for (auto& [name, l] : labels) {
    if (!l.defined) {
      loc = l.firstUse;
      fail(absl::StrFormat("'%s' jumps to label '%s', which is nowhere", function->name(), name),
           "mtlc_label begins the block");
      return;
    }
  }
  ir::Block* last = ir.insertBlock();
  if (last->terminator() == nullptr) {
    if (function->resultType().isVoid()) {
      ir.ret();
    } else if (last->firstPredecessor() == nullptr && last != body) {
      // Nothing leads here.
      ir.ret(ir.constBits(function->resultType(), 0));
    } else {
      fail(absl::StrFormat("'%s' can end without returning its %s", function->name(),
                           describe(resultType)),
           "return a value on every path");
      return;
    }
  }
  ir.setInsertEnd(entryBlock);
  ir.jump(body);
}

// ---- Values ----

MtlcValue MtlcFn::add(Entry e) {
  values.push_back(std::move(e));
  return static_cast<MtlcValue>(values.size() - 1);
}

Entry* MtlcFn::entry(MtlcValue v, std::string_view what) {
  if (v >= 0 && static_cast<size_t>(v) < values.size()) return &values[static_cast<size_t>(v)];
  fail(v == MTLC_NO_VALUE ? absl::StrFormat("%s has no value", what)
                          : absl::StrFormat("%s: %d is no value of this function", what, v));
  return nullptr;
}

// Where allocations go: before everything else in the entry block.
ir::Builder MtlcFn::atEntry() {
  ir::Builder b(*builder.module);
  if (ir::Operation* first = entryBlock->front()) {
    b.setInsertBefore(first);
  } else {
    b.setInsertEnd(entryBlock);
  }
  b.setLoc(loc);
  return b;
}

// Makes the slot of a variable. It stands in the entry block, before its first store.
void MtlcFn::allocate(Entry& variable, ir::Type held) {
  variable.held = held;
  ir::Builder b = atEntry();
  variable.place = b.allocPrivate(held, 1);
  if (!variable.name.empty()) builder.module->setValueName(variable.place, variable.name);
}

Typed MtlcFn::read(MtlcValue v, std::string_view what) {
  Entry* e = entry(v, what);
  if (e == nullptr) return {};
  switch (e->kind) {
    case Entry::Kind::Constant:
      return {constant(e->type, e->bits), e->type};
    case Entry::Kind::Address:
      return {e->value, e->type};
    case Entry::Kind::Variable:
      if (e->place == nullptr) {
        fail(absl::StrFormat("%s: variable '%s' is read before it is assigned", what, e->name));
        return {};
      }
      return {ir.load(e->held, e->place), e->type};
  }
  return {};
}

ir::Value* MtlcFn::constant(MtlcType* type, uint64_t bits) {
  const ir::Type t = irType(type, ir::Space::Global);
  if (!t.isPtr() || bits == 0) return ir.constBits(t, bits);
  return inSpace(ir.cast(ir::Opcode::IntToPtr, ir.constBits(ir::kI64, bits),
                         ir::Type::ptr(ir::Space::Generic)),
                 t.space());
}

ir::Value* MtlcFn::inSpace(ir::Value* pointer, ir::Space space) {
  if (pointer->type().space() == space) return pointer;
  if (pointer->type().space() != ir::Space::Generic && space != ir::Space::Generic) {
    pointer = ir.cast(ir::Opcode::SpaceCast, pointer, ir::Type::ptr(ir::Space::Generic));
  }
  return ir.cast(ir::Opcode::SpaceCast, pointer, ir::Type::ptr(space));
}

// By the rules of docs/ir.md §4, the source's sign deciding how an integer widens.
ir::Value* MtlcFn::convert(Typed from, MtlcType* to) {
  using ir::Opcode;
  ir::Value* v = from.value;
  const ir::Type have = v->type();
  if (isPointer(to)) {
    if (have.isPtr()) {
      // A pointer in the DEFAULT space keeps the space that it has.
      return to->address_space == MTLC_ADDRESS_SPACE_DEFAULT
                 ? v
                 : inSpace(v, irSpace(to->address_space, have.space()));
    }
    if (!have.isInt()) {
      fail(absl::StrFormat("%s does not become %s", describe(from.type), describe(to)));
      return nullptr;
    }
    if (have != ir::kI64) {
      v = ir.cast(mtlc_type_is_unsigned(from.type) ? Opcode::ZExt : Opcode::SExt, v, ir::kI64);
    }
    const ir::Space space = irSpace(to->address_space, ir::Space::Global);
    if (space == ir::Space::Global || space == ir::Space::Generic) {
      return ir.cast(Opcode::IntToPtr, v, ir::Type::ptr(space));
    }
    return inSpace(ir.cast(Opcode::IntToPtr, v, ir::Type::ptr(ir::Space::Generic)), space);
  }
  const ir::Type want = irType(to);
  if (want.isVoid()) {
    fail(absl::StrFormat("%s is no type of a value in device code", describe(to)));
    return nullptr;
  }
  if (have.isPtr()) {
    v = ir.cast(Opcode::PtrToInt, v, ir::kI64);
    return convert({v, mtlc_type_scalar(MTLC_TYPE_UINT64)}, to);
  }
  if (have == want) return v;
  const bool fromUnsigned = mtlc_type_is_unsigned(from.type) || have.isBool();
  if (want.isBool()) {
    return ir.compare(have.isFloat() ? Opcode::FCmpUne : Opcode::CmpNe, v, ir.constBits(have, 0));
  }
  if (have.isIntOrBool() && want.isInt()) {
    if (want.bits() < have.bits()) return ir.cast(Opcode::Trunc, v, want);
    return ir.cast(fromUnsigned ? Opcode::ZExt : Opcode::SExt, v, want);
  }
  if (have.isIntOrBool()) return ir.cast(fromUnsigned ? Opcode::UIToF : Opcode::SIToF, v, want);
  if (want.isFloat()) return ir.cast(Opcode::FConv, v, want);
  return ir.cast(mtlc_type_is_unsigned(to) ? Opcode::FToUI : Opcode::FToSI, v, want);
}

ir::Value* MtlcFn::readAs(MtlcValue v, MtlcType* type, std::string_view what) {
  Typed t = read(v, what);
  return t ? convert(t, type) : nullptr;
}

ir::Value* MtlcFn::readPointer(MtlcValue v, std::string_view what) {
  Typed t = read(v, what);
  if (!t) return nullptr;
  if (t.value->type().isPtr()) return t.value;
  if (!t.value->type().isInt()) {
    fail(absl::StrFormat("%s is %s, not an address", what, describe(t.type)));
    return nullptr;
  }
  return convert(t, mtlc_type_pointer(mtlc_type_scalar(MTLC_TYPE_UINT8)));
}

ir::Value* MtlcFn::readInt(MtlcValue v, std::string_view what, ir::Type type) {
  Typed t = read(v, what);
  if (!t) return nullptr;
  if (!t.value->type().isIntOrBool()) {
    fail(absl::StrFormat("%s is %s, not an integer", what, describe(t.type)));
    return nullptr;
  }
  return convert(t, mtlc_type_scalar(type == ir::kI64 ? MTLC_TYPE_INT64 : MTLC_TYPE_INT32));
}

ir::Value* MtlcFn::readBool(MtlcValue v, std::string_view what) {
  Typed t = read(v, what);
  if (!t) return nullptr;
  if (t.value->type().isPtr()) {
    return ir.compare(ir::Opcode::CmpNe, t.value, ir.nullPtr(t.value->type().space()));
  }
  return convert(t, mtlc_type_scalar(MTLC_TYPE_BOOL));
}

MtlcValue MtlcFn::result(ir::Value* value, MtlcType* type) {
  if (value == nullptr || builder.failed()) return MTLC_NO_VALUE;
  Entry e{.kind = Entry::Kind::Variable, .type = type};
  allocate(e, value->type());
  ir.store(value->type(), value, e.place);
  return add(std::move(e));
}

bool MtlcFn::assign(Entry& target, Typed value) {
  if (target.kind != Entry::Kind::Variable) {
    return fail(target.kind == Entry::Kind::Constant ? "a constant cannot be assigned to"
                                                     : "an array cannot be assigned to",
                "assign to a value of mtlc_local");
  }
  ir::Value* v = convert(value, target.type);
  if (v == nullptr) return false;
  // The first assignment tells the space of a pointer that has none of its own.
  if (target.place == nullptr) allocate(target, v->type());
  if (v->type() != target.held) {
    return fail(absl::StrFormat("'%s' holds %s and is assigned %s", target.name,
                                ir::typeName(target.held), ir::typeName(v->type())),
                "give the variable a pointer type in the GENERIC space");
  }
  ir.store(target.held, v, target.place);
  return true;
}

// ---- Blocks ----

ir::Block* MtlcFn::label(const char* name) {
  if (name == nullptr || *name == '\0') {
    fail("the label has no name");
    return nullptr;
  }
  Label& l = labels[name];
  if (l.block == nullptr) {
    l.block = function->addBlock(name, loc);
    l.firstUse = loc;
  }
  return l.block;
}

void MtlcFn::startDead() { ir.setInsertEnd(function->addBlock()); }

extern "C" {

MtlcBuilder* mtlc_builder_create(void) { return new MtlcBuilder(); }
void mtlc_builder_destroy(MtlcBuilder* b) { delete b; }
int mtlc_builder_check(MtlcBuilder* b) { return b != nullptr && b->check() ? 1 : 0; }

MtlcModule* mtlc_builder_finish(MtlcBuilder* b) {
  if (b == nullptr) return nullptr;
  std::unique_ptr<MtlcBuilder> owner(b);
  if (!b->check()) {
    // The only way left to see the reason.
    if (!b->errorRead) std::fputs(renderHuman(b->diags, *b->sources).c_str(), stderr);
    return nullptr;
  }
  auto* module = new MtlcModule();
  module->sources = std::move(b->sources);
  module->ir = std::move(b->module);
  return module;
}

const char* mtlc_builder_error(const MtlcBuilder* b) {
  if (b == nullptr || !b->diags.hasErrors()) return "";
  b->errorRead = true;
  b->text = renderHuman(b->diags, *b->sources);
  return b->text.c_str();
}

MtlcFn* mtlc_builder_function(MtlcBuilder* b, const char* name, MtlcType* result,
                              const char* const* names, MtlcType* const* types, size_t count,
                              int is_extern) {
  return addFunction(b, "mtlc_builder_function", name, result, names, types, count, false,
                     is_extern != 0);
}
MtlcFn* mtlc_builder_kernel(MtlcBuilder* b, const char* name, const char* const* names,
                            MtlcType* const* types, size_t count) {
  return addFunction(b, "mtlc_builder_kernel", name, nullptr, names, types, count, true, false);
}
void mtlc_builder_global(MtlcBuilder* b, const char* name, MtlcType*, long long, int) {
  if (b == nullptr) return;
  b->notInBuild({}, absl::StrFormat("a variable of the module, '%s'", name != nullptr ? name : ""),
                "pass a pointer to the kernel, or use a constant");
}

void mtlc_fn_set_location(MtlcFn* fn, const char* file, unsigned line, unsigned column) {
  if (fn == nullptr) return;
  fn->loc = line == 0 || file == nullptr
                ? SourceLoc()
                : SourceLoc(fn->builder.sources->addName(file), line, column);
  fn->ir.setLoc(fn->loc);
  if (fn->values.size() <= fn->paramTypes.size() && !fn->function->loc().valid()) {
    fn->function->setLoc(fn->loc);
  }
}

MtlcValue mtlc_fn_param(MtlcFn* fn, size_t index) {
  if (fn == nullptr || !fn->ready("mtlc_fn_param")) return MTLC_NO_VALUE;
  if (index >= fn->paramTypes.size()) {
    fn->fail(absl::StrFormat("'%s' has %d parameters, no number %d (they count from 0)",
                             fn->function->name(), fn->paramTypes.size(), index));
    return MTLC_NO_VALUE;
  }
  return static_cast<MtlcValue>(index);  // The first values of a function.
}

MtlcValue mtlc_const_int(MtlcFn* fn, MtlcType* type, long long value) {
  if (fn == nullptr || !fn->ready("mtlc_const_int")) return MTLC_NO_VALUE;
  if (mtlc_type_is_float(type)) return mtlc_const_float(fn, type, static_cast<double>(value));
  const ir::Type t = irType(type);
  if (t.isVoid()) {
    fn->fail(absl::StrFormat("there is no constant of type %s", describe(type)));
    return MTLC_NO_VALUE;
  }
  const uint64_t bits = t.isBool() ? (value != 0 ? 1 : 0) : static_cast<uint64_t>(value);
  return fn->add({.kind = Entry::Kind::Constant, .type = type, .bits = bits & t.mask()});
}

MtlcValue mtlc_const_float(MtlcFn* fn, MtlcType* type, double value) {
  if (fn == nullptr || !fn->ready("mtlc_const_float")) return MTLC_NO_VALUE;
  if (!mtlc_type_is_float(type)) {
    fn->fail(absl::StrFormat("%s is no float type", describe(type)));
    return MTLC_NO_VALUE;
  }
  const uint64_t bits =
      type->kind == MTLC_TYPE_FLOAT32 ? mtlc::f32Bits(mtlc::f64ToF32(value)) : mtlc::f64Bits(value);
  return fn->add({.kind = Entry::Kind::Constant, .type = type, .bits = bits});
}

MtlcValue mtlc_local(MtlcFn* fn, const char* name, MtlcType* type) {
  if (fn == nullptr || !fn->ready("mtlc_local")) return MTLC_NO_VALUE;
  Entry e{.kind = Entry::Kind::Variable, .type = type};
  if (name != nullptr) e.name = name;
  const ir::Type t = irType(type);
  if (t.isVoid()) {
    fn->fail(absl::StrFormat("a variable of type %s", describe(type)));
    return MTLC_NO_VALUE;
  }
  if (!isPointer(type) || type->address_space != MTLC_ADDRESS_SPACE_DEFAULT) fn->allocate(e, t);
  return fn->add(std::move(e));
}

MtlcValue mtlc_address_space_alloc(MtlcFn* fn, const char* name, MtlcType* element, size_t count,
                                   MtlcAddressSpace space) {
  if (fn == nullptr || !fn->ready("mtlc_address_space_alloc")) return MTLC_NO_VALUE;
  if (space != MTLC_ADDRESS_SPACE_WORKGROUP && space != MTLC_ADDRESS_SPACE_PRIVATE) {
    fn->fail("an array is in WORKGROUP or PRIVATE memory");
    return MTLC_NO_VALUE;
  }
  const ir::Type t = irType(element);
  if (!t.isScalar() || count == 0) {
    fn->fail(absl::StrFormat("an array of %d elements of type %s", count, describe(element)),
             "an array has at least one element, a number or bool");
    return MTLC_NO_VALUE;
  }
  ir::Builder b = fn->atEntry();
  Entry e{.kind = Entry::Kind::Address, .type = mtlc_type_pointer_in(element, space)};
  e.value =
      space == MTLC_ADDRESS_SPACE_WORKGROUP ? b.allocWorkgroup(t, count) : b.allocPrivate(t, count);
  if (name != nullptr && *name != '\0') fn->builder.module->setValueName(e.value, name);
  return fn->add(std::move(e));
}

MtlcValue mtlc_dynamic_workgroup_view(MtlcFn* fn, const char* name, MtlcType* element) {
  if (fn == nullptr || !fn->ready("mtlc_dynamic_workgroup_view")) return MTLC_NO_VALUE;
  const ir::Type t = irType(element);
  if (!t.isScalar()) {
    fn->fail(absl::StrFormat("a view of elements of type %s", describe(element)));
    return MTLC_NO_VALUE;
  }
  ir::Builder b = fn->atEntry();
  Entry e{.kind = Entry::Kind::Address,
          .type = mtlc_type_pointer_in(element, MTLC_ADDRESS_SPACE_WORKGROUP)};
  e.value = b.allocDynamic(t);
  if (name != nullptr && *name != '\0') fn->builder.module->setValueName(e.value, name);
  return fn->add(std::move(e));
}

MtlcValue mtlc_global_ref(MtlcFn* fn, const char* name) {
  if (fn == nullptr || !fn->ready("mtlc_global_ref")) return MTLC_NO_VALUE;
  fn->builder.notInBuild(
      fn->loc, absl::StrFormat("a variable of the module, '%s'", name != nullptr ? name : ""),
      "pass a pointer to the kernel, or use a constant");
  return MTLC_NO_VALUE;
}

// ---- Control ----

void mtlc_label(MtlcFn* fn, const char* name) {
  if (fn == nullptr || !fn->ready("mtlc_label")) return;
  ir::Block* block = fn->label(name);
  if (block == nullptr) return;
  MtlcFn::Label& l = fn->labels[name];
  if (l.defined) {
    fn->fail(absl::StrFormat("label '%s' is defined twice", name));
    return;
  }
  l.defined = true;
  block->setLoc(fn->loc);
  fn->ir.jump(block);
  block->moveAfter(fn->ir.insertBlock());
  fn->ir.setInsertEnd(block);
}

void mtlc_jump(MtlcFn* fn, const char* name) {
  if (fn == nullptr || !fn->ready("mtlc_jump")) return;
  if (ir::Block* block = fn->label(name)) {
    fn->ir.jump(block);
    fn->startDead();
  }
}

void mtlc_branch_if_zero(MtlcFn* fn, MtlcValue value, const char* name) {
  if (fn == nullptr || !fn->ready("mtlc_branch_if_zero")) return;
  ir::Value* condition = fn->readBool(value, "the condition");
  ir::Block* target = condition != nullptr ? fn->label(name) : nullptr;
  if (target == nullptr) return;
  ir::Block* next = fn->function->addBlock({}, fn->loc);
  next->moveAfter(fn->ir.insertBlock());
  fn->ir.br(condition, next, target);
  fn->ir.setInsertEnd(next);
}

void mtlc_return(MtlcFn* fn, MtlcValue value) {
  if (fn == nullptr || !fn->ready("mtlc_return")) return;
  if (fn->function->resultType().isVoid()) {
    if (value != MTLC_NO_VALUE) {
      fn->fail(absl::StrFormat("'%s' returns nothing", fn->function->name()));
      return;
    }
    fn->ir.ret();
  } else {
    ir::Value* v = fn->readAs(value, fn->resultType, "the result");
    if (v == nullptr) return;
    if (v->type() != fn->function->resultType()) {
      fn->fail(absl::StrFormat("the result is %s, not %s", ir::typeName(v->type()),
                               ir::typeName(fn->function->resultType())));
      return;
    }
    fn->ir.ret(v);
  }
  fn->startDead();
}

}  // extern "C"
