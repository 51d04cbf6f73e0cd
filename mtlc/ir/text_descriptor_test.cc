// Random operations with descriptors and attributes: what is printed parses to the same text and
// verifies.

#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "mtlc/ir/builder.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"

namespace mtlc::ir {
namespace {

using E = ElementFormat;

class Random {
 public:
  Random(Module& module, uint64_t seed) : random_(seed), b_(module) {
    FunctionSpec spec{.name = "k", .isKernel = true};
    spec.params = {Type::ptr(Space::Global), kI32, kI64, kF32, kF64, kI1};
    f_ = module.addFunction(spec);
    b_.setInsertEnd(f_->addBlock("entry"));
    w_ = b_.allocWorkgroup(kF32, 1024);
    // A host function, for launches.
    for (int i = 0; i < 12; ++i) one();
    b_.ret();
    FunctionSpec host{.name = "host"};
    host.params = {kI64, kI32, kF32, kF64, kI1};
    Function* h = module.addFunction(host);
    b_.setInsertEnd(h->addBlock("entry"));
    LaunchAttr launch{.kernel = f_};
    std::vector<Value*> operands;
    for (int i = 0; i < 6; ++i) operands.push_back(h->param(1));
    launch.hasShared = flip();
    if (launch.hasShared) operands.push_back(h->param(1));
    launch.hasStream = flip();
    if (launch.hasStream) operands.push_back(h->param(0));
    for (Value* v :
         {h->param(0), h->param(1), h->param(0), h->param(2), h->param(3), h->param(4)}) {
      operands.push_back(v);
    }
    b_.launch(flip() ? Opcode::Launch : Opcode::LaunchStatus, launch, operands);
    b_.ret();
  }

 private:
  uint32_t pick(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  bool flip() { return pick(2) != 0; }
  template <typename T>
  T oneOf(std::initializer_list<T> values) {
    return values.begin()[pick(static_cast<uint32_t>(values.size()))];
  }
  Value* pointer() { return flip() ? f_->param(0) : w_; }
  Value* index() { return f_->param(1 + pick(2)); }

  void one() {
    switch (pick(9)) {
      case 0:
        return product(false);
      case 1:
        return product(true);
      case 2:
        return epilogue();
      case 3:
        return transfer();
      case 4:
        return tile();
      case 5:
        return atomic();
      case 6:
        return subgroup();
      case 7:
        b_.asyncCopy(kF16, w_, f_->param(0),
                     {.count = 8 * (1 + pick(100)), .transaction = 16, .cacheGlobal = flip()});
        b_.asyncCommit();
        return b_.asyncWait(pick(8));
      default: {
        const FloatFormat format = oneOf({FloatFormat::E4M3, FloatFormat::E5M2, FloatFormat::E2M3,
                                          FloatFormat::E3M2, FloatFormat::E2M1});
        const bool either = format == FloatFormat::E4M3 || format == FloatFormat::E5M2;
        Value* code = b_.encode(f_->param(3 + pick(2)), {format, !either || flip()});
        b_.decode(code, flip() ? format : FloatFormat::UE8M0, oneOf({kF16, kBF16, kF32, kF64}));
        b_.fence({static_cast<uint8_t>(1 + pick(3)),
                  oneOf({MemoryOrder::Acquire, MemoryOrder::Release, MemoryOrder::AcqRel,
                         MemoryOrder::SeqCst}),
                  static_cast<Scope>(1 + pick(4))});
      }
    }
  }

  MmaDesc products() {
    MmaDesc d{.m = 16 * (1 + pick(4)), .n = 16 * (1 + pick(4)), .k = 128 * (1 + pick(3))};
    const auto narrow = {E::E4M3, E::E5M2, E::E2M3, E::E3M2, E::E2M1};
    switch (pick(6)) {
      case 0:
        d.a = d.b = E::F16;
        if (flip()) d.acc = d.result = E::F16;
        break;
      case 1:
        d.a = d.b = oneOf({E::BF16, E::TF32});
        d.result = oneOf({E::F32, E::F16, E::BF16});
        break;
      case 2:
        d.a = oneOf(narrow);
        d.b = oneOf(narrow);
        break;
      case 3:
        d.a = d.b = d.acc = d.result = E::F64;
        d.rounding = static_cast<Rounding>(pick(5));
        break;
      case 4: {
        const bool bytes = flip();
        d.a = bytes ? oneOf({E::I8, E::U8}) : oneOf({E::I4, E::U4});
        d.b = bytes ? oneOf({E::I8, E::U8}) : oneOf({E::I4, E::U4});
        d.acc = d.result = E::I32;
        d.overflow = static_cast<Overflow>(pick(2));
        break;
      }
      default:
        d.a = d.b = E::B1;
        d.acc = d.result = E::I32;
        d.math = oneOf({TensorMath::XorPopcount, TensorMath::AndPopcount});
        d.aPacking = d.bPacking = Packing::Dense;
    }
    if (elementInfo(d.a).isSubByte() && flip()) d.aPacking = Packing::Dense;
    if (elementInfo(d.b).isSubByte() && flip()) d.bPacking = Packing::Dense;
    if (elementInfo(d.a).isFloat() && d.a != E::F64 && flip()) {
      d.aScale = static_cast<ScaleMode>(pick(4));
      d.bScale = static_cast<ScaleMode>(pick(4));
      d.aScaleFormat = oneOf({E::UE8M0, E::UE4M3});
      d.bScaleFormat = oneOf({E::UE8M0, E::UE4M3});
    }
    if (d.a != E::B1 && pick(3) == 0) d.sparsity = static_cast<Sparsity>(pick(4));
    d.aLayout = static_cast<Layout>(pick(2));
    d.bLayout = static_cast<Layout>(pick(2));
    d.cLayout = static_cast<Layout>(pick(2));
    d.dLayout = static_cast<Layout>(pick(2));
    d.transposeA = flip();
    d.transposeB = flip();
    d.scope = flip() ? Scope::Subgroup : Scope::Workgroup;
    return d;
  }

  void inputs(const MmaDesc& d, std::vector<Builder::SlotOperand>& out) {
    out.push_back({Slot::A, pointer()});
    out.push_back({Slot::B, pointer()});
    if (d.sparsity != Sparsity::Dense) out.push_back({Slot::Metadata, pointer()});
    if (d.aScale != ScaleMode::None) out.push_back({Slot::ScaleA, pointer()});
    if (d.bScale != ScaleMode::None) out.push_back({Slot::ScaleB, pointer()});
  }

  void product(bool matmul) {
    MmaDesc d = products();
    std::vector<Builder::SlotOperand> operands;
    inputs(d, operands);
    operands.push_back({Slot::C, pointer()});
    operands.push_back({Slot::D, pointer()});
    // A block of 128 values of packed rows may be shorter than 16 bytes in the other direction.
    auto leading = [&](Slot slot, uint32_t MmaDesc::*member, bool wanted) {
      if (!wanted) return;
      if (flip()) {
        operands.push_back({slot, index()});
      } else {
        d.*member = 4096;
      }
    };
    leading(Slot::Lda, &MmaDesc::lda, true);
    leading(Slot::Ldb, &MmaDesc::ldb, true);
    leading(Slot::Ldc, &MmaDesc::ldc, true);
    leading(Slot::Ldd, &MmaDesc::ldd, true);
    leading(Slot::Ldsa, &MmaDesc::ldsa, scaleBlock(d.aScale) != 0);
    leading(Slot::Ldsb, &MmaDesc::ldsb, scaleBlock(d.bScale) != 0);
    leading(Slot::LdMeta, &MmaDesc::ldmeta, !matmul && d.sparsity != Sparsity::Dense && flip());
    if (!matmul) return b_.tensorMma(d, operands);
    for (Slot s : {Slot::Row, Slot::Col, Slot::M, Slot::N, Slot::K})
      operands.push_back({s, index()});
    b_.tensorMatmul(d, operands);
  }

  void epilogueOperands(EpilogueDesc& d, std::vector<Builder::SlotOperand>& out) {
    d.bias = static_cast<BiasMode>(pick(4));
    d.biasLayout = d.bias == BiasMode::Matrix ? static_cast<Layout>(pick(2)) : Layout::Row;
    d.activation = static_cast<Activation>(pick(3));
    Value* number = f_->param(d.element == E::F64 ? 4 : 3);
    if (flip()) out.push_back({Slot::Alpha, number});
    if (d.bias != BiasMode::None) {
      out.push_back({Slot::Bias, pointer()});
      if (flip()) out.push_back({Slot::Beta, number});
      if (d.bias == BiasMode::Matrix && flip()) out.push_back({Slot::LdBias, index()});
    }
    if (d.activation == Activation::Clamp) {
      out.push_back({Slot::Lo, number});
      out.push_back({Slot::Hi, number});
    }
  }

  void epilogue() {
    EpilogueDesc d{.m = 1 + pick(100), .n = 1 + pick(100)};
    d.element = oneOf({E::F16, E::BF16, E::F32, E::F64});
    d.layout = static_cast<Layout>(pick(2));
    d.scope = flip() ? Scope::Subgroup : Scope::Workgroup;
    std::vector<Builder::SlotOperand> operands = {{Slot::D, pointer()}};
    epilogueOperands(d, operands);
    if (flip()) operands.push_back({Slot::Ldd, index()});
    b_.tensorEpilogue(d, operands);
  }

  void tile() {
    MmaDesc d{.m = 16, .n = 16, .k = 128};
    d.dLayout = static_cast<Layout>(pick(2));
    d.scope = flip() ? Scope::Subgroup : Scope::Workgroup;
    const Builder::SlotOperand begin[] = {{Slot::C, pointer()}, {Slot::D, pointer()}};
    Value* t = b_.accBegin(d, begin);
    std::vector<Builder::SlotOperand> step = {{Slot::Tile, t}};
    inputs(d, step);
    t = b_.accMma(d, step);
    EpilogueDesc e{.m = 16, .n = 16};
    e.scope = d.scope;
    std::vector<Builder::SlotOperand> last = {{Slot::Tile, t}};
    epilogueOperands(e, last);
    b_.accCommit(b_.accEpilogue(e, last));
  }

  void transfer() {
    TransferDesc d;
    d.rank = static_cast<uint8_t>(1 + pick(kMaxRank));
    d.direction = static_cast<Direction>(pick(2));
    d.element = static_cast<E>(pick(kElementFormatCount));
    const ElementInfo& info = elementInfo(d.element);
    if (info.isSubByte() && flip()) d.packing = Packing::Dense;
    std::vector<Builder::SlotOperand> operands;
    const bool load = d.direction == Direction::Load;
    operands.push_back({Slot::Dst, load ? w_ : f_->param(0)});
    operands.push_back({Slot::Src, load ? f_->param(0) : w_});
    if (flip()) operands.push_back({Slot::View, f_->param(0)});
    for (unsigned i = 0; i < d.rank; ++i) {
      operands.push_back({coordinateSlot(i), f_->param(1)});
      d.tile[i] = 1 + pick(4);
      d.step[i] = 1 + pick(2);
      if (flip()) {
        d.extent[i] = 1 + (random_() >> pick(64));
        if (d.extent[i] == 0) d.extent[i] = 1;
      } else {
        operands.push_back({extentSlot(i), index()});
      }
      if (i == 0) {
        d.stride[0] = d.packing == Packing::Dense ? 0 : info.bytes;
      } else if (flip()) {
        d.stride[i] = uint64_t{info.bytes} * (1 + pick(1000));
      } else {
        operands.push_back({strideSlot(i), index()});
      }
    }
    b_.tensorTransfer(d, operands);
  }

  void atomic() {
    using O = MemoryOrder;
    Value* p = pointer();
    const bool shared = p == w_;
    AtomicAttr a;
    a.scope = static_cast<Scope>(pick(shared ? 3 : 5));
    a.order = oneOf({O::Relaxed, O::SeqCst});
    a.failureOrder = O::Relaxed;
    const bool wide = flip();
    const Type type = wide ? kI64 : kI32;
    Value* v = f_->param(wide ? 2 : 1);
    switch (pick(5)) {
      case 0:
        if (flip()) a.order = O::Acquire;
        b_.atomicLoad(type, p, a);
        return;
      case 1:
        if (flip()) a.order = O::Release;
        return b_.atomicStore(type, p, v, a);
      case 2:
        a.order = static_cast<O>(pick(5));
        a.failureOrder = a.order == O::Acquire || a.order == O::AcqRel || a.order == O::SeqCst
                             ? oneOf({O::Relaxed, O::Acquire})
                             : O::Relaxed;
        b_.atomicCas(type, p, v, v, a);
        return;
      case 3:
        a.kind = CombineKind::FAdd;
        b_.atomicRmw(wide ? kF64 : kF32, p, f_->param(wide ? 4 : 3), a);
        return;
      default:
        a.order = static_cast<O>(pick(5));
        a.kind = static_cast<CombineKind>(pick(static_cast<uint32_t>(CombineKind::FAdd)));
        b_.atomicRmw(type, p, v, a);
    }
  }

  void subgroup() {
    Value* n = f_->param(1);
    b_.subgroupLane(flip() ? Opcode::SubgroupBroadcast : Opcode::SubgroupShuffle,
                    f_->param(1 + pick(4)), n);
    b_.subgroupReduce(oneOf({Opcode::SubgroupReduce, Opcode::SubgroupScanInclusive,
                             Opcode::SubgroupScanExclusive}),
                      CombineKind::Add, n);
    b_.subgroupReduce(Opcode::SubgroupReduce,
                      oneOf({CombineKind::FMin, CombineKind::FMax, CombineKind::FAdd}),
                      f_->param(3));
    b_.subgroupBallot(f_->param(5), n);
    b_.subgroupVote(flip() ? Opcode::SubgroupAny : Opcode::SubgroupAll, f_->param(5));
    b_.subgroupIndex(flip() ? Opcode::SubgroupLocalId : Opcode::SubgroupSize);
  }

  std::mt19937_64 random_;
  Builder b_;
  Function* f_ = nullptr;
  Value* w_ = nullptr;
};

TEST(TextDescriptor, RandomOperationsRoundTrip) {
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    SourceManager sources;
    Module module(sources, "random");
    const Random made(module, seed);
    const std::string text = print(module);
    DiagnosticEngine diags;
    ASSERT_TRUE(verify(module, diags)) << renderHuman(diags, sources) << text;
    const FileId file = sources.add("random.mtir", text);
    const std::unique_ptr<Module> parsed = parseModule(sources, file, diags);
    ASSERT_TRUE(parsed) << renderHuman(diags, sources) << text;
    ASSERT_EQ(print(*parsed), text);
    ASSERT_TRUE(verify(*parsed, diags)) << renderHuman(diags, sources) << text;
    // Operation for operation, the descriptors are equal.
    auto copy = parsed->functions().begin();
    for (Function& f : module.functions()) {
      auto block = (*copy).blocks().begin();
      for (Block& b : f.blocks()) {
        auto op = (*block).ops().begin();
        for (Operation& o : b.ops()) {
          if (o.form() == Form::Mma) {
            ASSERT_TRUE(o.mmaDesc() == (*op).mmaDesc()) << text;
          } else if (o.form() == Form::Epilogue) {
            ASSERT_TRUE(o.epilogueDesc() == (*op).epilogueDesc()) << text;
          } else if (o.form() == Form::Transfer) {
            ASSERT_TRUE(o.transferDesc() == (*op).transferDesc()) << text;
          }
          ++op;
        }
        ++block;
      }
      ++copy;
    }
  }
}

}  // namespace
}  // namespace mtlc::ir
