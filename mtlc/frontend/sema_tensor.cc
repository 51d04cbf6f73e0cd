// Tensor operations (docs/language.md §8): options to descriptors and operands. What contradicts
// the rules of the IR is found by ir::checkDescriptor() and shown at the option that said it.

#include "absl/strings/str_format.h"
#include "mtlc/frontend/sema_impl.h"
#include "mtlc/support/scalar_ops.h"

namespace mtlc::frontend {

using checked::ConstantExpr;
using ir::Slot;

namespace {

constexpr uint64_t kMaxTile = 65535;  // m, n, k
constexpr uint64_t kMaxLeading = 0xFFFFFFFF;

}  // namespace

void Sema::addOperand(GpuCall& call, uint32_t index, Slot slot, Expr* v) {
  call.slots.add(slot);
  call.operands.push_back({index, slot, v});
}

// A pointer to matrices of `format`, under the type that carries it.
void Sema::tensorPointer(GpuCall& call, uint32_t index, Slot slot, std::string_view what,
                         const ast::Expr* at, Expr* v, ElementFormat format) {
  call.slots.add(slot);
  if (isPoison(v)) return;
  const Type* wanted = types_.pointer(types_.scalar(carrier(format)));
  if (v->type != wanted) {
    call.good = false;
    failed_ = true;
    diagnostics_.report(DiagId::TensorCarrier, at->range,
                        {what, typeName(v->type), elementInfo(format).name, typeName(wanted)});
    return;
  }
  addOperand(call, index, slot, v);
}

// An integer operand of 32 or 64 bits.
Sema::Expr* Sema::indexOperand(GpuCall& call, const ast::Expr* at, Expr* v, std::string_view what) {
  if (isPoison(v)) return v;
  if (!v->type->isIntegral() || v->type->isBool()) {
    problem(call, DiagId::StrideType, at->range, what, typeName(v->type));
    return poison();
  }
  if (v->type->isEnum()) return convert(v, types_.int64());
  if (v->type->bits() >= 32) return v;
  return convert(v, v->type->isUnsigned() ? types_.uint32() : types_.int32());
}

void Sema::leading(GpuCall& call, Option option, Slot slot, uint32_t* out) {
  if (!call.has(option)) return;
  const GivenOption& o = call[option];
  const std::string_view what = optionText(call, option);
  if (ConstantExpr* c = asConstant(o.value); c && c->type->isIntegral() && !c->type->isBool()) {
    if (std::optional<uint64_t> v =
            number(call, o.argument->value, o.value, what, 1, kMaxLeading)) {
      *out = static_cast<uint32_t>(*v);
    } else {
      call.slots.add(slot);  // Reported.
    }
    return;
  }
  call.slots.add(slot);
  Expr* v = indexOperand(call, o.argument->value, o.value, what);
  if (!isPoison(v)) addOperand(call, o.index, slot, v);
}

// Whole and parts, such as input_type and a_type, say the same.
void Sema::exclusive(GpuCall& call, Option whole, std::span<const Option> parts) {
  if (!call.has(whole)) return;
  for (Option part : parts) {
    if (!call.has(part)) continue;
    problem(call, DiagId::OptionConflict, call[part].argument->labelRange, optionText(call, part),
            optionText(call, whole));
  }
}

void Sema::shape(GpuCall& call, uint32_t* m, uint32_t* n, uint32_t* k) {
  constexpr Option kParts[] = {Option::m, Option::n, Option::k};
  const std::span<const Option> parts = std::span(kParts).first(k ? 3 : 2);
  exclusive(call, Option::shape, parts);
  if (!call.has(Option::shape)) {
    uint32_t* const out[] = {m, n, k};
    size_t i = 0;
    bool any = false;
    for (Option part : parts) any = any || call.has(part);
    for (Option part : parts) {
      uint32_t* v = out[i++];
      if (call.has(part)) {
        numberOption(call, part, 1, kMaxTile, v);
      } else if (any) {
        missing(call, part, "the shape is complete with m, n and k");
      }
    }
    if (!any) missing(call, Option::shape, k ? "write shape: m16n8k16" : "write shape: m16n16");
    return;
  }
  const ast::Argument& a = *call[Option::shape].argument;
  std::optional<ShapeWord> s;
  if (a.value->kind == ast::ExprKind::name && !a.value->parenthesized) {
    s = parseShape(text(static_cast<const ast::NameExpr*>(a.value)->name), k != nullptr);
  }
  auto inRange = [](uint32_t v) { return v >= 1 && v <= kMaxTile; };
  if (!s || !inRange(s->m) || !inRange(s->n) || (k && !inRange(s->k))) {
    problem(call, DiagId::ShapeWord, a.value->range, k ? "mMnNkK" : "mMnN",
            k ? "m16n8k16" : "m16n16", absl::StrFormat("%d", kMaxTile));
    return;
  }
  *m = s->m;
  *n = s->n;
  if (k) *k = s->k;
}

// At the options that the fields came from. A field that no option set is a default, so the
// operation as a whole is wrong.
void Sema::descriptorProblems(GpuCall& call, std::span<const ir::DescriptorProblem> problems) {
  for (const ir::DescriptorProblem& p : problems) {
    std::string what = p.field;
    SourceRange at = call.source->range;
    bool known = false;
    for (const FieldRow& row : fieldRows()) {
      if (row.set != call.set || row.field != p.field) continue;
      if (!known) what = optionName(call.set, row.option);
      known = true;
      if (!call.has(row.option)) continue;
      const ast::Argument& a = *call[row.option].argument;
      what = text(a.label);
      if (a.value->kind == ast::ExprKind::name) {
        absl::StrAppendFormat(&what, ": %s",
                              text(static_cast<const ast::NameExpr*>(a.value)->name));
      }
      at = a.value->range;
      break;
    }
    problem(call, DiagId::TensorDescriptor, at, call.builtin->name, what, p.reason);
  }
}

// --- tensor_mma and tensor_matmul ---

// Packings and leading dimensions that are not written.
void Sema::productDefaults(GpuCall& call, ir::MmaUse use) {
  ir::MmaDesc& d = call.attributes->mma;
  if (!call.has(Option::aPacking)) d.aPacking = ir::defaultPacking(d.a);
  if (!call.has(Option::bPacking)) d.bPacking = ir::defaultPacking(d.b);
  if (use == ir::MmaUse::Mma) {
    ir::setDenseLeading(d, call.slots);
    return;
  }
  constexpr struct {
    Option option;
    Slot slot;
  } kRequired[] = {{Option::lda, Slot::Lda},   {Option::ldb, Slot::Ldb},
                   {Option::ldc, Slot::Ldc},   {Option::ldd, Slot::Ldd},
                   {Option::ldsa, Slot::Ldsa}, {Option::ldsb, Slot::Ldsb}};
  for (const auto& [option, slot] : kRequired) {
    if (slot == Slot::Ldsa && ir::scaleBlock(d.aScale) == 0) continue;
    if (slot == Slot::Ldsb && ir::scaleBlock(d.bScale) == 0) continue;
    if (call.has(option)) continue;
    missing(call, option, "the matrices are larger than the region, so their strides are said");
    call.slots.add(slot);  // Reported.
  }
}

void Sema::tensorProduct(GpuCall& call, ir::MmaUse use) {
  ir::MmaDesc& d = call.attributes->mma;
  shape(call, &d.m, &d.n, &d.k);
  constexpr Option kInputs[] = {Option::aType, Option::bType};
  constexpr Option kOutputs[] = {Option::accumulatorType, Option::resultType};
  exclusive(call, Option::inputType, kInputs);
  exclusive(call, Option::outputType, kOutputs);
  bool formats = true;
  // A row for each field; an option with two fields reports its value once.
  std::optional<uint8_t> seen[kOptionCount];
  auto element = [&](Option o, ElementFormat* out) {
    if (!call.has(o)) return;
    std::optional<uint8_t>& v = seen[static_cast<size_t>(o)];
    if (!v) {
      v = wordValue(call, o, Words::ElementFormat);
      if (!v) {
        formats = false;
        v = static_cast<uint8_t>(*out);
      }
    }
    *out = static_cast<ElementFormat>(*v);
  };
#define MMA_ELEMENT(option, member, field) element(Option::option, &d.member);
#define MMA_WORD(option, member, Set, field) word(call, Option::option, Words::Set, &d.member);
#define MMA_FLAG(option, member, field) numberOption(call, Option::option, 0, 1, &d.member);
#define MMA_LEADING(option, member, slot, field) \
  leading(call, Option::option, Slot::slot, &d.member);
#include "mtlc/frontend/gpu_options.def"
  auto needsTypes = [&](Option whole, Option first, Option second) {
    if (call.has(whole)) return;
    if (!call.has(first) && !call.has(second)) {
      missing(call, whole, "name an element format, such as f16");
    } else if (!call.has(first)) {
      missing(call, first, absl::StrFormat("'%s' says one of the two", optionText(call, second)));
    } else if (!call.has(second)) {
      missing(call, second, absl::StrFormat("'%s' says one of the two", optionText(call, first)));
    } else {
      return;
    }
    formats = false;
  };
  needsTypes(Option::inputType, Option::aType, Option::bType);
  needsTypes(Option::outputType, Option::accumulatorType, Option::resultType);

  // What goes with a mode is there exactly when the mode is.
  auto companion = [&](bool wanted, Option option, Slot slot, std::string_view when) {
    if (!wanted) {
      meaningless(call, option, when);
      return;
    }
    if (!call.has(option)) {
      missing(call, option, when);
      call.slots.add(slot);
      return;
    }
    const GivenOption& o = call[option];
    tensorPointer(call, o.index, slot, optionText(call, option), o.argument->value, o.value,
                  ElementFormat::U8);
  };
  companion(
      d.sparsity != Sparsity::Dense, Option::metadata, Slot::Metadata,
      d.sparsity != Sparsity::Dense ? "which values of A are stored" : "where 'sparsity' is dense");
  const struct {
    ScaleMode mode;
    Option scale, type, ld;
    Slot slot, ldSlot;
    uint32_t* member;
  } sides[] = {{d.aScale, Option::aScale, Option::aScaleType, Option::ldsa, Slot::ScaleA,
                Slot::Ldsa, &d.ldsa},
               {d.bScale, Option::bScale, Option::bScaleType, Option::ldsb, Slot::ScaleB,
                Slot::Ldsb, &d.ldsb}};
  for (const auto& side : sides) {
    const bool scaled = side.mode != ScaleMode::None;
    companion(scaled, side.scale, side.slot,
              scaled ? "the scales are read from it" : "without a scale mode");
    if (!scaled) meaningless(call, side.type, "without a scale mode");
    if (scaled && !call.has(side.type)) missing(call, side.type, "write ue8m0 or ue4m3");
    if (ir::scaleBlock(side.mode) == 0 && call.has(side.ld)) {
      meaningless(call, side.ld, scaled ? "with one scale for the tensor" : "without a scale mode");
      *side.member = 0;
      call.slots = call.slots - ir::SlotSet{side.ldSlot};
    }
  }
  if (!formats) return;

  productDefaults(call, use);
  const ElementFormat formatOf[] = {d.a, d.b, d.result, d.result};
  constexpr Slot kMatrices[] = {Slot::A, Slot::B, Slot::C, Slot::D};
  constexpr std::string_view kNames[] = {"a", "b", "c", "d"};
  for (uint32_t i = 0; i < 4; ++i) {
    tensorPointer(call, i, kMatrices[i], kNames[i], call.source->args[i].value, call.positional[i],
                  formatOf[i]);
  }
  if (use == ir::MmaUse::Matmul) {
    constexpr Slot kControls[] = {Slot::Row, Slot::Col, Slot::M, Slot::N, Slot::K};
    constexpr std::string_view kControlNames[] = {"row_origin", "col_origin", "M", "N", "K"};
    for (uint32_t i = 0; i < 5; ++i) {
      call.slots.add(kControls[i]);
      const ast::Expr* at = call.source->args[4 + i].value;
      Expr* v = indexOperand(call, at, call.positional[4 + i], kControlNames[i]);
      if (isPoison(v)) continue;
      if (ConstantExpr* c = asConstant(v); c && c->literal && !v->type->isUnsigned() &&
                                           scalar::signExtend(v->type->bits(), c->bits) >= 0) {
        v = convert(v, v->type->bits() == 32 ? types_.uint32() : types_.uint64());
      }
      if (!v->type->isUnsigned()) {
        problem(call, DiagId::SignedControl, at->range, kControlNames[i], typeName(v->type));
        continue;
      }
      addOperand(call, 4 + i, kControls[i], v);
    }
  }
  if (d.m == 0 || d.n == 0 || d.k == 0) return;  // Reported.
  std::vector<ir::DescriptorProblem> problems;
  ir::checkDescriptor(d, use, call.slots, problems);
  descriptorProblems(call, problems);
}

// --- tensor_epilogue ---

void Sema::tensorEpilogue(GpuCall& call) {
  ir::EpilogueDesc& d = call.attributes->epilogue;
  shape(call, &d.m, &d.n, nullptr);
  if (!call.has(Option::element)) {
    missing(call, Option::element, "write f16, bf16, f32 or f64");
    return;
  }
  if (!word(call, Option::element, Words::ElementFormat, &d.element)) return;
#define EPILOGUE_WORD(option, member, Set, field) word(call, Option::option, Words::Set, &d.member);
#define EPILOGUE_LEADING(option, member, slot, field) \
  leading(call, Option::option, Slot::slot, &d.member);
#include "mtlc/frontend/gpu_options.def"

  const bool matrix = d.bias == BiasMode::Matrix;
  if (d.bias == BiasMode::None) {
    for (Option o : {Option::bias, Option::beta}) meaningless(call, o, "without a bias mode");
  }
  if (!matrix) {
    for (Option o : {Option::biasLayout, Option::ldbias}) {
      meaningless(call, o, "where the bias is no matrix");
    }
    d.ldbias = 0;
    call.slots = call.slots - ir::SlotSet{Slot::LdBias};
  }
  if (d.bias != BiasMode::None) {
    if (call.has(Option::bias)) {
      const GivenOption& o = call[Option::bias];
      tensorPointer(call, o.index, Slot::Bias, "bias", o.argument->value, o.value, d.element);
    } else {
      missing(call, Option::bias, "its mode says that there is one");
      call.slots.add(Slot::Bias);
    }
  }
  const bool clamp = d.activation == Activation::Clamp;
  for (Option o : {Option::clampMin, Option::clampMax}) {
    if (!clamp) meaningless(call, o, "where the activation is no clamp");
    if (clamp && !call.has(o)) {
      missing(call, o, "a clamp has both bounds");
      call.slots.add(o == Option::clampMin ? Slot::Lo : Slot::Hi);
    }
  }
  const Type* real = d.element == ElementFormat::F64 ? types_.float64() : types_.float32();
  auto scalarOption = [&](Option option, Slot slot) {
    if (!call.has(option)) return;
    const GivenOption& o = call[option];
    call.slots.add(slot);
    Expr* v = implicitConvert(o.value, real, o.argument->value->range);
    if (isPoison(v)) {
      call.good = false;
      return;
    }
    addOperand(call, o.index, slot, v);
  };
#define EPILOGUE_SCALAR(option, slot, field) scalarOption(Option::option, Slot::slot);
#include "mtlc/frontend/gpu_options.def"
  if (d.bias == BiasMode::None) call.slots = call.slots - ir::SlotSet{Slot::Beta};
  if (!clamp) call.slots = call.slots - ir::SlotSet{Slot::Lo, Slot::Hi};
  const ElementInfo& info = elementInfo(d.element);
  if (info.isFloat() && info.bits >= 16 && d.element != ElementFormat::TF32) {
    tensorPointer(call, 0, Slot::D, "d", call.source->args[0].value, call.positional[0], d.element);
  } else {
    call.slots.add(Slot::D);
  }
  if (d.m == 0 || d.n == 0) return;  // Reported.
  ir::setDenseLeading(d, call.slots);
  std::vector<ir::DescriptorProblem> problems;
  ir::checkDescriptor(d, /*inTile=*/false, call.slots, problems);
  descriptorProblems(call, problems);
}

// --- tensor_transfer_workgroup ---

void Sema::transferDimension(GpuCall& call, unsigned i) {
  ir::TransferDesc& d = call.attributes->transfer;
  constexpr uint64_t kMax32 = 0xFFFFFFFF, kMax64 = 0x7FFFFFFFFFFFFFFF;
  const ElementInfo& e = elementInfo(d.element);
  auto geometry = [&](Option option, Slot slot, uint64_t* out) {
    if (!call.has(option)) {
      missing(call, option, "every dimension has its extent, stride, tile and coordinate");
      call.slots.add(slot);
      return;
    }
    const GivenOption& o = call[option];
    if (ConstantExpr* c = asConstant(o.value); c && c->type->isIntegral()) {
      if (std::optional<uint64_t> v =
              number(call, o.argument->value, o.value, optionText(call, option), 1, kMax64)) {
        *out = *v;
        return;
      }
      call.slots.add(slot);
      return;
    }
    call.slots.add(slot);
    Expr* v = indexOperand(call, o.argument->value, o.value, optionText(call, option));
    if (!isPoison(v)) addOperand(call, o.index, slot, v);
  };
  geometry(dimension(Option::extent0, i), ir::extentSlot(i), &d.extent[i]);
  if (i == 0) {
    const bool dense = d.packing == Packing::Dense;
    d.stride[0] = dense ? 0 : e.bytes;
    const GivenOption& o = call[Option::stride0];
    if (o.argument && !isPoison(o.value)) {
      ConstantExpr* c = asConstant(o.value);
      if (dense || !c || !c->type->isIntegral() || c->bits != e.bytes) {
        problem(call, DiagId::ContiguousStride, o.argument->value->range,
                absl::StrFormat("%d", e.bytes));
      }
    }
  } else {
    geometry(dimension(Option::stride0, i), ir::strideSlot(i), &d.stride[i]);
  }
  const Option tile = dimension(Option::tile0, i), step = dimension(Option::step0, i);
  if (!call.has(tile)) missing(call, tile, "every dimension has a constant tile");
  numberOption(call, tile, 1, kMax32, &d.tile[i]);
  numberOption(call, step, 1, kMax32, &d.step[i]);
  const Option coordinate = dimension(Option::coordinate0, i);
  call.slots.add(ir::coordinateSlot(i));
  if (!call.has(coordinate)) {
    missing(call, coordinate, "every dimension has the coordinate of the tile");
    return;
  }
  const GivenOption& o = call[coordinate];
  Expr* v = implicitConvert(o.value, types_.int32(), o.argument->value->range);
  if (isPoison(v)) {
    call.good = false;
  } else {
    addOperand(call, o.index, ir::coordinateSlot(i), v);
  }
}

void Sema::tensorTransfer(GpuCall& call) {
  ir::TransferDesc& d = call.attributes->transfer;
  uint32_t rank = 0;
  if (!call.has(Option::rank)) missing(call, Option::rank, "the number of dimensions, 1 to 5");
  const bool hasRank = numberOption(call, Option::rank, 1, ir::kMaxRank, &rank);
  if (!call.has(Option::element)) missing(call, Option::element, "name a format, such as f16");
  const bool hasElement = word(call, Option::element, Words::ElementFormat, &d.element);
  word(call, Option::direction, Words::Direction, &d.direction);
  Bounds bounds;
  word(call, Option::bounds, Words::Bounds, &bounds);
  if (!hasRank || !hasElement) return;
  d.rank = static_cast<uint8_t>(rank);
  d.packing = ir::defaultPacking(d.element);
  tensorPointer(call, 0, Slot::Dst, "dst", call.source->args[0].value, call.positional[0],
                d.element);
  tensorPointer(call, 1, Slot::Src, "src", call.source->args[1].value, call.positional[1],
                d.element);
  for (unsigned i = 0; i < ir::kMaxRank; ++i) {
    if (i < rank) {
      transferDimension(call, i);
      continue;
    }
    for (Option first :
         {Option::extent0, Option::stride0, Option::tile0, Option::coordinate0, Option::step0}) {
      meaningless(call, dimension(first, i), absl::StrFormat("in rank %d", rank));
    }
  }
  if (call.has(Option::view)) {
    const GivenOption& o = call[Option::view];
    Expr* v = o.value;
    const Type* wanted = types_.pointer(types_.scalar(TypeKind::uint8));
    if (isNullLiteral(v)) v = convert(v, wanted);
    tensorPointer(call, o.index, Slot::View, "view", o.argument->value, v, ElementFormat::U8);
  }
  if (!call.good) return;
  std::vector<ir::DescriptorProblem> problems;
  ir::checkDescriptor(d, call.slots, problems);
  descriptorProblems(call, problems);
}

Sema::Expr* Sema::tensor(const Builtin* b, const ast::CallExpr* e) {
  if (!gpuOperationAllowed(e->range, b->name)) {
    checkPositional(e);
    return poison();
  }
  const BuiltinKind kind = b->kind;
  GpuCall call{b, e,
               kind == BuiltinKind::tensorEpilogue   ? OptionSet::Epilogue
               : kind == BuiltinKind::tensorTransfer ? OptionSet::Transfer
                                                     : OptionSet::Mma};
  call.attributes = program_.arena.make<checked::GpuAttributes>();
  constexpr size_t kMma = 4, kMatmul = 9, kEpilogue = 1, kTransfer = 2;
  const size_t positional = kind == BuiltinKind::tensorMma        ? kMma
                            : kind == BuiltinKind::tensorMatmul   ? kMatmul
                            : kind == BuiltinKind::tensorEpilogue ? kEpilogue
                                                                  : kTransfer;
  if (!sortArguments(call, positional)) return poison();
  switch (kind) {
    case BuiltinKind::tensorMma:
      tensorProduct(call, ir::MmaUse::Mma);
      break;
    case BuiltinKind::tensorMatmul:
      tensorProduct(call, ir::MmaUse::Matmul);
      break;
    case BuiltinKind::tensorEpilogue:
      tensorEpilogue(call);
      break;
    default:
      tensorTransfer(call);
      break;
  }
  return finish(call);
}

}  // namespace mtlc::frontend
