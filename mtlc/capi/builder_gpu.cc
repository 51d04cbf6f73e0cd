// mtlc/build.h: barriers, staging, tensor operations, launches.

#include "absl/strings/str_format.h"
#include "mtlc/capi/builder.h"

using mtlc::capi::describe;
using mtlc::capi::irType;
using mtlc::capi::Typed;
namespace ir = mtlc::ir;
using ir::Slot;

namespace {

using Operands = std::vector<ir::Builder::SlotOperand>;

// Collects the operands of a tensor operation; after an error it does nothing.
class Collector {
 public:
  explicit Collector(MtlcFn& fn) : fn_(fn) {}

  void pointer(Slot slot, MtlcValue v) {
    if (v != MTLC_NO_VALUE) add(slot, fn_.readPointer(v, ir::slotName(slot)));
  }
  void index(Slot slot, MtlcValue v) {
    if (v == MTLC_NO_VALUE || !good_) return;
    Typed t = fn_.read(v, ir::slotName(slot));
    if (!t) return fail();
    // Unsigned numbers keep their value in 64 bits.
    const ir::Type have = t.value->type();
    const bool wide = have == ir::kI64 || (have == ir::kI32 && mtlc_type_is_unsigned(t.type));
    add(slot, wide && have == ir::kI64 ? t.value : fn_.readInt(v, ir::slotName(slot), ir::kI32));
  }
  void coordinate(Slot slot, MtlcValue v) {
    if (v != MTLC_NO_VALUE) add(slot, fn_.readInt(v, ir::slotName(slot), ir::kI32));
  }
  void scalar(Slot slot, MtlcValue v, MtlcType* type) {
    if (v != MTLC_NO_VALUE && good_) add(slot, fn_.readAs(v, type, ir::slotName(slot)));
  }

  bool good() const { return good_; }
  const Operands& operands() const { return operands_; }
  ir::SlotSet slots() const {
    ir::SlotSet s;
    for (const auto& o : operands_) s.add(o.slot);
    return s;
  }

 private:
  void fail() { good_ = false; }
  void add(Slot slot, ir::Value* value) {
    if (value == nullptr) return fail();
    if (good_) operands_.push_back({slot, value});
  }
  MtlcFn& fn_;
  Operands operands_;
  bool good_ = true;
};

// Latches the descriptor's problems.
bool accept(MtlcFn& fn, const std::vector<ir::DescriptorProblem>& problems) {
  if (problems.empty()) return true;
  return fn.fail(mtlc::capi::describe(problems),
                 "docs/ir.md section 11 has the rules of descriptors");
}

void mmaOperands(Collector& c, const MtlcTensorMmaOperands& o) {
  c.pointer(Slot::A, o.a);
  c.pointer(Slot::B, o.b);
  c.pointer(Slot::C, o.c);
  c.pointer(Slot::D, o.d);
  c.pointer(Slot::Metadata, o.metadata);
  c.pointer(Slot::ScaleA, o.a_scale);
  c.pointer(Slot::ScaleB, o.b_scale);
  auto stride = [&](unsigned bit, Slot slot, MtlcValue v) {
    if ((o.runtime_stride_mask & bit) != 0) c.index(slot, v);
  };
  stride(MTLC_TENSOR_RUNTIME_STRIDE_A, Slot::Lda, o.a_leading_dimension);
  stride(MTLC_TENSOR_RUNTIME_STRIDE_B, Slot::Ldb, o.b_leading_dimension);
  stride(MTLC_TENSOR_RUNTIME_STRIDE_C, Slot::Ldc, o.c_leading_dimension);
  stride(MTLC_TENSOR_RUNTIME_STRIDE_D, Slot::Ldd, o.d_leading_dimension);
}

// A stride that is an operand is not in the descriptor too.
void dropRuntimeStrides(ir::MmaDesc& d, ir::SlotSet slots) {
  if (slots.has(Slot::Lda)) d.lda = 0;
  if (slots.has(Slot::Ldb)) d.ldb = 0;
  if (slots.has(Slot::Ldc)) d.ldc = 0;
  if (slots.has(Slot::Ldd)) d.ldd = 0;
}

void mma(MtlcFn& fn, const MtlcTensorMmaDesc* desc, const MtlcTensorMmaOperands* operands) {
  if (desc == nullptr || operands == nullptr) {
    fn.fail("the descriptor or the operands are NULL");
    return;
  }
  std::vector<ir::DescriptorProblem> problems;
  ir::MmaDesc d = mtlc::capi::irDesc(*desc, problems);
  Collector c(fn);
  mmaOperands(c, *operands);
  if (!c.good()) return;
  dropRuntimeStrides(d, c.slots());
  ir::setDenseLeading(d, c.slots());
  if (problems.empty()) ir::checkDescriptor(d, ir::MmaUse::Mma, c.slots(), problems);
  if (accept(fn, problems)) fn.ir.tensorMma(d, c.operands());
}

MtlcTensorMmaOperands fourOperands(MtlcValue a, MtlcValue b, MtlcValue c, MtlcValue d) {
  MtlcTensorMmaOperands o;
  mtlc_tensor_mma_operands_init(&o);
  o.a = a;
  o.b = b;
  o.c = c;
  o.d = d;
  return o;
}

}  // namespace

extern "C" {

void mtlc_tensor_mma_operands_init(MtlcTensorMmaOperands* o) {
  if (o == nullptr) return;
  o->a = o->b = o->c = o->d = o->metadata = o->a_scale = o->b_scale = MTLC_NO_VALUE;
  o->runtime_stride_mask = 0;
  o->a_leading_dimension = o->b_leading_dimension = MTLC_NO_VALUE;
  o->c_leading_dimension = o->d_leading_dimension = MTLC_NO_VALUE;
}
void mtlc_tensor_matmul_operands_init(MtlcTensorMatmulOperands* o) {
  if (o == nullptr) return;
  mtlc_tensor_mma_operands_init(&o->matrix);
  o->row_origin = o->column_origin = MTLC_NO_VALUE;
  o->problem_m = o->problem_n = o->problem_k = MTLC_NO_VALUE;
}
void mtlc_tensor_epilogue_operands_init(MtlcTensorEpilogueOperands* o) {
  if (o == nullptr) return;
  o->destination = o->bias = o->alpha = o->beta = MTLC_NO_VALUE;
  o->clamp_min = o->clamp_max = MTLC_NO_VALUE;
  o->leading_dimension = o->bias_leading_dimension = MTLC_NO_VALUE;
}
void mtlc_tensor_transfer_operands_init(MtlcTensorTransferOperands* o) {
  if (o == nullptr) return;
  o->destination = o->source = o->prepared_view = MTLC_NO_VALUE;
  for (MtlcValue& x : o->coordinates) x = MTLC_NO_VALUE;
}

void mtlc_workgroup_barrier(MtlcFn* fn, MtlcMemoryOrder order, unsigned regions) {
  if (fn == nullptr || !fn->ready("mtlc_workgroup_barrier")) return;
  std::optional<ir::MemoryOrder> o = mtlc::capi::irOrder(order, ir::MemoryOrder::SeqCst);
  if (!o || (regions & ~3u) != 0) {
    fn->fail("the order or a region is no value of its enumeration");
    return;
  }
  fn->ir.barrier({.regions = static_cast<uint8_t>(regions == 0 ? 1u : regions), .order = *o});
}

void mtlc_fence(MtlcFn* fn, MtlcMemoryOrder order, unsigned regions, MtlcMemoryScope scope) {
  if (fn == nullptr || !fn->ready("mtlc_fence")) return;
  std::optional<ir::MemoryOrder> o = mtlc::capi::irOrder(order, ir::MemoryOrder::SeqCst);
  std::optional<ir::Scope> s = mtlc::capi::irScope(scope, ir::Scope::Device);
  if (!o || !s || (regions & ~3u) != 0) {
    fn->fail("the order, the scope or a region is no value of its enumeration");
    return;
  }
  fn->ir.fence({static_cast<uint8_t>(regions == 0 ? 3u : regions), *o, *s});
}

void mtlc_async_copy_workgroup(MtlcFn* fn, MtlcValue destination, MtlcValue source,
                               MtlcType* element, uint32_t count, uint32_t transaction,
                               MtlcAsyncCache cache) {
  if (fn == nullptr || !fn->ready("mtlc_async_copy_workgroup")) return;
  ir::Value* to = fn->readPointer(destination, "the destination");
  ir::Value* from = to != nullptr ? fn->readPointer(source, "the source") : nullptr;
  if (from == nullptr) return;
  if (transaction > 16 || cache < MTLC_ASYNC_CACHE_DEFAULT || cache > MTLC_ASYNC_CACHE_GLOBAL) {
    fn->fail("a transaction has 4, 8 or 16 bytes; the cache is a value of MtlcAsyncCache");
    return;
  }
  fn->ir.asyncCopy(irType(element), to, from,
                   {.count = count,
                    .transaction = static_cast<uint8_t>(transaction == 0 ? 4 : transaction),
                    .cacheGlobal = cache == MTLC_ASYNC_CACHE_GLOBAL});
}
void mtlc_async_copy_commit(MtlcFn* fn) {
  if (fn != nullptr && fn->ready("mtlc_async_copy_commit")) fn->ir.asyncCommit();
}
void mtlc_async_copy_wait(MtlcFn* fn, uint32_t pending) {
  if (fn != nullptr && fn->ready("mtlc_async_copy_wait")) fn->ir.asyncWait(pending);
}

void mtlc_tensor_mma(MtlcFn* fn, const MtlcTensorMmaDesc* desc, MtlcValue a, MtlcValue b,
                     MtlcValue c, MtlcValue d) {
  if (fn == nullptr || !fn->ready("mtlc_tensor_mma")) return;
  const MtlcTensorMmaOperands o = fourOperands(a, b, c, d);
  mma(*fn, desc, &o);
}
void mtlc_tensor_mma_ex(MtlcFn* fn, const MtlcTensorMmaDesc* desc,
                        const MtlcTensorMmaOperands* operands) {
  if (fn != nullptr && fn->ready("mtlc_tensor_mma_ex")) mma(*fn, desc, operands);
}
void mtlc_tensor_mma_chain(MtlcFn* fn, const MtlcTensorMmaDesc* desc,
                           const MtlcTensorMmaOperands* tiles, size_t count) {
  if (fn == nullptr || !fn->ready("mtlc_tensor_mma_chain")) return;
  for (size_t i = 0; i < count && !fn->builder.failed(); ++i) {
    mma(*fn, desc, tiles != nullptr ? &tiles[i] : nullptr);
  }
}
void mtlc_tensor_mma_strided(MtlcFn* fn, const MtlcTensorMmaDesc* desc, MtlcValue a, MtlcValue b,
                             MtlcValue c, MtlcValue d, MtlcValue lda, MtlcValue ldb, MtlcValue ldc,
                             MtlcValue ldd) {
  if (fn == nullptr || !fn->ready("mtlc_tensor_mma_strided")) return;
  MtlcTensorMmaOperands o = fourOperands(a, b, c, d);
  o.a_leading_dimension = lda;
  o.b_leading_dimension = ldb;
  o.c_leading_dimension = ldc;
  o.d_leading_dimension = ldd;
  if (lda != MTLC_NO_VALUE) o.runtime_stride_mask |= MTLC_TENSOR_RUNTIME_STRIDE_A;
  if (ldb != MTLC_NO_VALUE) o.runtime_stride_mask |= MTLC_TENSOR_RUNTIME_STRIDE_B;
  if (ldc != MTLC_NO_VALUE) o.runtime_stride_mask |= MTLC_TENSOR_RUNTIME_STRIDE_C;
  if (ldd != MTLC_NO_VALUE) o.runtime_stride_mask |= MTLC_TENSOR_RUNTIME_STRIDE_D;
  mma(*fn, desc, &o);
}

void mtlc_tensor_matmul(MtlcFn* fn, const MtlcTensorMmaDesc* desc,
                        const MtlcTensorMatmulOperands* o) {
  if (fn == nullptr || !fn->ready("mtlc_tensor_matmul")) return;
  if (desc == nullptr || o == nullptr) {
    fn->fail("the descriptor or the operands are NULL");
    return;
  }
  std::vector<ir::DescriptorProblem> problems;
  ir::MmaDesc d = mtlc::capi::irDesc(*desc, problems);
  Collector c(*fn);
  mmaOperands(c, o->matrix);
  c.index(Slot::Row, o->row_origin);
  c.index(Slot::Col, o->column_origin);
  c.index(Slot::M, o->problem_m);
  c.index(Slot::N, o->problem_n);
  c.index(Slot::K, o->problem_k);
  if (!c.good()) return;
  dropRuntimeStrides(d, c.slots());
  if (problems.empty()) ir::checkDescriptor(d, ir::MmaUse::Matmul, c.slots(), problems);
  if (accept(*fn, problems)) fn->ir.tensorMatmul(d, c.operands());
}

void mtlc_tensor_epilogue(MtlcFn* fn, const MtlcTensorEpilogueDesc* desc,
                          const MtlcTensorEpilogueOperands* o) {
  if (fn == nullptr || !fn->ready("mtlc_tensor_epilogue")) return;
  if (desc == nullptr || o == nullptr) {
    fn->fail("the descriptor or the operands are NULL");
    return;
  }
  std::vector<ir::DescriptorProblem> problems;
  ir::EpilogueDesc d = mtlc::capi::irDesc(*desc, problems);
  MtlcType* const scalar = mtlc_type_scalar(
      d.element == mtlc::ElementFormat::F64 ? MTLC_TYPE_FLOAT64 : MTLC_TYPE_FLOAT32);
  Collector c(*fn);
  c.pointer(Slot::D, o->destination);
  if (d.bias != ir::BiasMode::None) c.pointer(Slot::Bias, o->bias);
  if (desc->scale_output != 0) c.scalar(Slot::Alpha, o->alpha, scalar);
  if (desc->scale_bias != 0) c.scalar(Slot::Beta, o->beta, scalar);
  if (d.activation == ir::Activation::Clamp) {
    c.scalar(Slot::Lo, o->clamp_min, scalar);
    c.scalar(Slot::Hi, o->clamp_max, scalar);
  }
  c.index(Slot::Ldd, o->leading_dimension);
  if (d.bias == ir::BiasMode::Matrix) c.index(Slot::LdBias, o->bias_leading_dimension);
  if (!c.good()) return;
  if (c.slots().has(Slot::Ldd)) d.ldd = 0;
  if (c.slots().has(Slot::LdBias)) d.ldbias = 0;
  ir::setDenseLeading(d, c.slots());
  auto wants = [&](uint8_t flag, Slot slot, std::string_view field) {
    if (flag != 0 && !c.slots().has(slot)) {
      problems.push_back({std::string(field), "the flag is set, and the operand is missing"});
    }
  };
  wants(desc->scale_output, Slot::Alpha, "alpha");
  wants(desc->scale_bias, Slot::Beta, "beta");
  if (problems.empty()) ir::checkDescriptor(d, false, c.slots(), problems);
  if (accept(*fn, problems)) fn->ir.tensorEpilogue(d, c.operands());
}

void mtlc_tensor_transfer_workgroup(MtlcFn* fn, const MtlcTensorTransferDesc* desc,
                                    const MtlcTensorTransferOperands* o) {
  if (fn == nullptr || !fn->ready("mtlc_tensor_transfer_workgroup")) return;
  if (desc == nullptr || o == nullptr) {
    fn->fail("the descriptor or the operands are NULL");
    return;
  }
  std::vector<ir::DescriptorProblem> problems;
  const ir::TransferDesc d = mtlc::capi::irDesc(*desc, problems);
  Collector c(*fn);
  c.pointer(Slot::Dst, o->destination);
  c.pointer(Slot::Src, o->source);
  c.pointer(Slot::View, o->prepared_view);
  for (unsigned i = 0; i < ir::kMaxRank && i < d.rank; ++i) {
    c.coordinate(ir::coordinateSlot(i), o->coordinates[i]);
  }
  if (!c.good()) return;
  if (problems.empty()) ir::checkDescriptor(d, c.slots(), problems);
  if (accept(*fn, problems)) fn->ir.tensorTransfer(d, c.operands());
}

void mtlc_gpu_launch(MtlcFn* fn, MtlcValue kernel, MtlcDim3 grid, MtlcDim3 block, MtlcValue shared,
                     MtlcValue stream, const MtlcValue* arguments, MtlcType* const* types,
                     size_t count) {
  if (fn == nullptr || !fn->ready("mtlc_gpu_launch")) return;
  if (count > 0 && arguments == nullptr) {
    fn->fail("the arguments are NULL");
    return;
  }
  std::vector<ir::Value*> operands;
  auto add = [&](ir::Value* v) {
    operands.push_back(v);
    return v != nullptr;
  };
  Typed handle = fn->read(kernel, "the kernel's handle");
  if (!handle || !add(handle.value)) return;
  const MtlcValue dims[] = {grid.x, grid.y, grid.z, block.x, block.y, block.z};
  const char* const names[] = {"grid x", "grid y", "grid z", "block x", "block y", "block z"};
  for (int i = 0; i < 6; ++i) {
    if (!add(fn->readInt(dims[i], names[i], ir::kI32))) return;
  }
  ir::LaunchAttr attr;
  attr.hasShared = shared != MTLC_NO_VALUE;
  attr.hasStream = stream != MTLC_NO_VALUE;
  if (attr.hasShared && !add(fn->readInt(shared, "the shared size", ir::kI64))) return;
  if (attr.hasStream) {
    Typed s = fn->read(stream, "the stream");
    if (!s || !add(s.value)) return;
  }
  for (size_t i = 0; i < count; ++i) {
    const std::string what = absl::StrFormat("argument %d", i + 1);
    ir::Value* v = types != nullptr && types[i] != nullptr
                       ? fn->readAs(arguments[i], types[i], what)
                       : fn->read(arguments[i], what).value;
    if (!add(v)) return;
  }
  fn->ir.launch(ir::Opcode::Launch, attr, operands);
}

}  // extern "C"
