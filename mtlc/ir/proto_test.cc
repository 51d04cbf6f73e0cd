#include "mtlc/ir/proto.h"

#include <cctype>
#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "mtlc/ir/builder.h"
#include "mtlc/ir/proto_enums.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/text_names.h"
#include "mtlc/ir/verifier.h"

namespace mtlc::ir {
namespace {

constexpr std::string_view kText = R"(module "m"

kernel @k(%a: ptr<global>, %n: i32) launch_bounds(128, 2) {
^entry:
  %f = load f32, %a : ptr<global>
  %w = alloc.workgroup f32[64] : ptr<workgroup>
  %x = gpu.thread_id x : i32
  barrier {workgroup} acq_rel
  fence {workgroup, global} acq_rel device
  %r = atomic.rmw umax i32, %a, %n : ptr<global> relaxed device
  %c = atomic.cas i32, %a, %n, %r : ptr<global> seq_cst acquire system
  %s = subgroup.reduce fmax %f : f32
  async.copy %w, %a, 64 x f32 transaction 16
  async.wait 3
  %e = encode e4m3 sat %f : f32
  %d = decode e5m2 %e : f32
  tensor.mma a=%a, b=%a, c=%a, d=%a {m16n16k16, a=f16, acc=f32}
  tensor.epilogue d=%a {m16n16, element=f32}
  tensor.transfer dst=%w, src=%a, x0=%n, x1=%n {direction=load, element=f32, tile=[8, 8], extent=[64, 64], stride=[4, 256]}
  %q = fmul contract %d, %s : f32
  %z = const -1 : i32
  %b = cmp.slt %x, %n : i32
  br %b, ^loop(%n), ^exit
^loop(%i: i32):
  %j = sub %i, %i : i32
  %t = cmp.slt %j, %n : i32
  br %t, ^loop(%j), ^exit
^exit:
  call @h(%n)
  ret
}

func @h(%v: i32) {
^entry:
  %g = func.addr @h : ptr<generic>
  gpu.launch @k grid(%v, %v, %v) block(%v, %v, %v) (%g, %v)
  ret
}
)";

// Operations of @k, by their place in kText.
enum : int {
  kLoad,
  kAlloc,
  kThread,
  kBarrier,
  kFence,
  kRmw,
  kCas,
  kReduce,
  kCopy,
  kWait,
  kEncode,
  kDecode,
  kMma,
  kEpilogue,
  kTransfer,
  kFmul,
  kConst,
  kCmp,
  kBr,
};

std::unique_ptr<Module> parseText(SourceManager& sources, std::string_view text) {
  DiagnosticEngine diags;
  auto m = parseModule(sources, sources.add("m.mtir", std::string(text)), diags);
  EXPECT_NE(m, nullptr) << renderHuman(diags, sources);
  return m;
}

proto::Module message() {
  SourceManager sources;
  proto::Module m;
  EXPECT_TRUE(m.ParseFromString(writeProto(*parseText(sources, kText))));
  return m;
}
proto::Operation& op(proto::Module& m, int number) {
  return *m.mutable_functions(0)->mutable_blocks(0)->mutable_operations(number);
}

// The one problem that readProto() has with it, rendered.
void expectRefused(std::string_view bytes, DiagId id, std::string_view wanted) {
  SourceManager sources;
  DiagnosticEngine diags;
  EXPECT_EQ(readProto(sources, "f.mtirpb", bytes, diags), nullptr);
  ASSERT_EQ(diags.errorCount(), 1) << renderHuman(diags, sources);
  EXPECT_EQ(diags.all()[0].id, id) << renderHuman(diags, sources);
  EXPECT_TRUE(renderHuman(diags, sources).starts_with("f.mtirpb:")) << renderHuman(diags, sources);
  EXPECT_NE(diags.all()[0].message.find(wanted), std::string::npos) << diags.all()[0].message;
}
void expectRefused(DiagId id, std::string_view wanted,
                   const std::function<void(proto::Module&)>& change) {
  proto::Module m = message();
  change(m);
  expectRefused(m.SerializeAsString(), id, wanted);
}

std::string upper(std::string_view s) {
  std::string out(s);
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

// "MEMORY_ORDER" of "MemoryOrder".
std::string prefixOf(std::string_view name) {
  std::string out;
  for (char c : name) {
    if (std::isupper(static_cast<unsigned char>(c)) && !out.empty()) out += '_';
    out += c;
  }
  return upper(out) + "_";
}

// The numbers in files belong to the names of the text form.
TEST(Proto, EnumeratorsHaveTheirNames) {
  auto check = [](auto e, auto names, auto spelling) {
    using P = ProtoEnum<decltype(e)>;
    EXPECT_EQ(P::name(0), prefixOf(P::kName) + "UNSPECIFIED");
    int number = 0;
    for (const auto& name : names) {
      EXPECT_EQ(P::name(++number), prefixOf(P::kName) + upper(spelling(name)));
    }
    EXPECT_FALSE(P::known(number + 1)) << P::kName;
  };
  auto same = [](std::string_view name) { return name; };
  check(Layout(), enumNames(Layout()), same);
  check(TensorMath(), enumNames(TensorMath()), same);
  check(Sparsity(), enumNames(Sparsity()), same);
  check(Rounding(), enumNames(Rounding()), same);
  check(Overflow(), enumNames(Overflow()), same);
  check(ScaleMode(), enumNames(ScaleMode()), same);
  check(Packing(), enumNames(Packing()), same);
  check(BiasMode(), enumNames(BiasMode()), same);
  check(Activation(), enumNames(Activation()), same);
  check(Direction(), enumNames(Direction()), same);
  check(Scope(), enumNames(Scope()), same);
  check(MemoryOrder(), kOrderNames, same);
  check(CacheHint(), kCacheNames, same);
  check(Dim(), kDimNames, same);
  check(CombineKind(), kCombineNames, same);
  check(InlineHint(), kInlineNames,
        [](std::string_view name) { return name.empty() ? std::string_view("none") : name; });
  std::vector<int> numbers;
  auto count = [&](int n) {
    numbers.clear();
    for (int i = 0; i < n; ++i) numbers.push_back(i);
    return numbers;
  };
  check(Slot(), count(kSlotCount), [](int i) { return slotName(static_cast<Slot>(i)); });
  check(Space(), count(kSpaceCount), [](int i) { return spaceName(static_cast<Space>(i)); });
  check(ElementFormat(), count(kElementFormatCount),
        [](int i) { return elementInfo(static_cast<ElementFormat>(i)).name; });
  check(FloatFormat(), count(kFloatFormatCount),
        [](int i) { return floatFormatInfo(static_cast<FloatFormat>(i)).name; });
  for (size_t i = 0; i < kFastMathNames.size(); ++i) {
    EXPECT_EQ(proto::FastMath_Name(static_cast<proto::FastMath>(i + 1)),
              "FAST_MATH_" + upper(kFastMathNames[i].name));
  }
  for (size_t i = 0; i < kRegionNames.size(); ++i) {
    EXPECT_EQ(proto::Region_Name(static_cast<proto::Region>(i + 1)),
              "REGION_" + upper(kRegionNames[i].name));
  }
  for (int i = 1; i < static_cast<int>(TypeKind::Ptr); ++i) {
    EXPECT_EQ(proto::TypeKind_Name(static_cast<proto::TypeKind>(i)),
              "TYPE_KIND_" + upper(typeName(Type(static_cast<TypeKind>(i)))));
  }
}

TEST(Proto, SurvivesTheRoundTrip) {
  SourceManager sources;
  auto m = parseText(sources, kText);
  const std::string bytes = writeProto(*m);
  EXPECT_TRUE(isProto(bytes));
  EXPECT_EQ(bytes, writeProto(*m));
  SourceManager others;
  DiagnosticEngine diags;
  auto read = readProto(others, "m.mtirpb", bytes, diags);
  ASSERT_NE(read, nullptr) << renderHuman(diags, others);
  EXPECT_EQ(print(*m), kText);
  EXPECT_EQ(print(*read, {.locations = true}), print(*m, {.locations = true}));
  EXPECT_EQ(writeProto(*read), bytes);
}

// Every field of the descriptors, with a value of its own.
TEST(Proto, KeepsEveryFieldOfADescriptor) {
  SourceManager sources;
  Module m(sources, "m");
  Function* f = m.addFunction({.name = "f", .params = {Type::ptr(Space::Global)}});
  Builder b(m);
  b.setInsertEnd(f->addBlock());
  MmaDesc d{.m = 1,
            .n = 2,
            .k = 3,
            .a = ElementFormat::E4M3,
            .b = ElementFormat::E2M1,
            .acc = ElementFormat::F64,
            .result = ElementFormat::BF16,
            .aLayout = Layout::Col,
            .bLayout = Layout::Row,
            .cLayout = Layout::Col,
            .dLayout = Layout::Col,
            .lda = 4,
            .ldb = 5,
            .ldc = 6,
            .ldd = 7,
            .math = TensorMath::AndPopcount,
            .sparsity = Sparsity::S4to8,
            .rounding = Rounding::Up,
            .overflow = Overflow::Saturate,
            .aScale = ScaleMode::Block16,
            .bScale = ScaleMode::Block32,
            .aScaleFormat = ElementFormat::UE4M3,
            .bScaleFormat = ElementFormat::I32,
            .ldsa = 8,
            .ldsb = 9,
            .ldmeta = 10,
            .aPacking = Packing::Dense,
            .bPacking = Packing::Dense,
            .transposeA = true,
            .transposeB = true,
            .scope = Scope::System};
  EpilogueDesc e{.m = 1,
                 .n = 2,
                 .element = ElementFormat::F16,
                 .layout = Layout::Col,
                 .ldd = 3,
                 .bias = BiasMode::Matrix,
                 .biasLayout = Layout::Col,
                 .ldbias = 4,
                 .activation = Activation::Clamp,
                 .scope = Scope::Device};
  TransferDesc t{.rank = 2,
                 .direction = Direction::Store,
                 .element = ElementFormat::U4,
                 .packing = Packing::Dense,
                 .extent = {1ull << 40, 0},
                 .stride = {0, 1ull << 50},
                 .tile = {7, 8},
                 .step = {2, 3, 1, 1, 1}};
  std::vector<Value*> one = {f->param(0)};
  b.insert({.opcode = Opcode::TensorMma,
            .operands = one,
            .payload = m.tensorPayload(d, SlotSet{Slot::Lda})});
  b.insert({.opcode = Opcode::TensorEpilogue,
            .operands = one,
            .payload = m.tensorPayload(e, SlotSet{Slot::Hi})});
  b.insert({.opcode = Opcode::TensorTransfer,
            .operands = one,
            .payload = m.tensorPayload(t, SlotSet{Slot::Stride4})});
  DiagnosticEngine diags;
  auto read = readProto(sources, "m.mtirpb", writeProto(m), diags);
  ASSERT_NE(read, nullptr) << renderHuman(diags, sources);
  Operation* o = read->functions().begin()->entry()->front();
  EXPECT_EQ(o->mmaDesc(), d);
  EXPECT_EQ(o->tensor().slots, SlotSet{Slot::Lda});
  EXPECT_EQ(o->next()->epilogueDesc(), e);
  EXPECT_EQ(o->next()->tensor().slots, SlotSet{Slot::Hi});
  EXPECT_EQ(o->next()->next()->transferDesc(), t);
  EXPECT_EQ(o->next()->next()->tensor().slots, SlotSet{Slot::Stride4});
}

TEST(Proto, NamesAreBytes) {
  SourceManager sources;
  Module m(sources, std::string_view("m\0\xff", 3));
  Function* f = m.addFunction({.name = std::string_view("f\0\x80", 3)});
  Builder b(m);
  b.setInsertEnd(f->addBlock());
  b.setLoc(SourceLoc(sources.addName("\xfe.cc"), 3, 4));
  b.ret();
  DiagnosticEngine diags;
  auto read = readProto(sources, "m.mtirpb", writeProto(m), diags);
  ASSERT_NE(read, nullptr) << renderHuman(diags, sources);
  EXPECT_EQ(print(*read, {.locations = true}).substr(0, 14), "module \"m\\00\\f");
  EXPECT_NE(read->findFunction(std::string_view("f\0\x80", 3)), nullptr);
  EXPECT_NE(print(*read, {.locations = true}).find("loc(\"\\fe.cc\":3:4)"), std::string::npos);
}

TEST(Proto, PlaceStandsInForALocation) {
  proto::Module m = message();
  for (proto::Function& f : *m.mutable_functions()) {
    f.clear_location();
    for (proto::Block& b : *f.mutable_blocks()) {
      for (proto::Operation& o : *b.mutable_operations()) o.clear_location();
    }
  }
  SourceManager sources;
  DiagnosticEngine diags;
  auto read = readProto(sources, "f.mtirpb", m.SerializeAsString(), diags);
  ASSERT_NE(read, nullptr);
  const Function* h = read->findFunction("h");
  ASSERT_NE(h, nullptr);
  EXPECT_EQ(h->entry()->front()->loc().line(), 25u);  // 19 + 3 + 2 operations come before.
  // The verifier's problems have a place, too.
  h->entry()->back()->erase();
  EXPECT_FALSE(verify(*read, diags));
  EXPECT_TRUE(renderHuman(diags, sources).starts_with("f.mtirpb:2"));
}

TEST(Proto, RefusesOtherFiles) {
  for (std::string_view bytes : {std::string_view(), std::string_view("module \"m\"\n"),
                                 std::string_view("\x0a\x03xyz"), std::string_view("\xff", 1)}) {
    expectRefused(bytes, DiagId::ProtoNotAModule, "no IR module");
  }
  const std::string good = message().SerializeAsString();
  // Every file that is cut short is refused, and most are found damaged.
  int damaged = 0;
  for (size_t n = 0; n < good.size(); ++n) {
    SourceManager sources;
    DiagnosticEngine diags;
    EXPECT_TRUE(readProto(sources, "f", std::string_view(good).substr(0, n), diags) == nullptr ||
                n >= 11)  // Format and version: an empty module.
        << n;
    if (diags.hasErrors() && diags.all()[0].id == DiagId::ProtoMalformed) ++damaged;
  }
  EXPECT_GT(damaged, static_cast<int>(good.size()) * 9 / 10);
}

TEST(Proto, SaysWhereItIsDamaged) {
  proto::Module m = message();
  op(m, kRmw).set_name("a name to be found");
  std::string bytes = m.SerializeAsString();
  const size_t at = bytes.find("a name");
  std::string bad = bytes;
  bad[at - 1] = '\x7f';  // Its length.
  expectRefused(bad, DiagId::ProtoMalformed, "function 0, operation 6 is damaged");
  // Inside a message that the scan does not look into: the attribute.
  m = message();
  op(m, kRmw).mutable_atomic()->Clear();
  op(m, kRmw).mutable_atomic()->set_order(proto::MEMORY_ORDER_SEQ_CST);
  bytes = m.SerializeAsString();
  const std::string attribute = std::string("\xb2\x01\x02\x08\x05", 5);
  ASSERT_NE(bytes.find(attribute), std::string::npos);
  bad = bytes;
  bad[bytes.find(attribute) + 4] = '\x85';  // A varint that goes on beyond its message.
  expectRefused(bad, DiagId::ProtoMalformed, "function 0, operation 6 is damaged");
  expectRefused(bytes + "\x43", DiagId::ProtoMalformed, "the module is damaged");  // A group.
}

TEST(Proto, RefusesOtherVersions) {
  for (uint32_t version : {0u, kProtoVersion + 1, UINT32_MAX}) {
    expectRefused(DiagId::ProtoVersion, "version " + std::to_string(version), [&](auto& m) {
      m.set_version(version);
      m.add_operations("future.operation");  // Not what it complains about.
    });
  }
  expectRefused(DiagId::ProtoNotAModule, "", [](auto& m) { m.set_format("mtlc.xx"); });
}

// A field of number 1000 in each message.
TEST(Proto, RefusesUnknownFields) {
  struct Case {
    std::string_view message;
    std::function<google::protobuf::MessageLite*(proto::Module&)> find;
  };
  const Case cases[] = {
      {"Type", [](auto& m) { return m.mutable_types(0); }},
      {"Function", [](auto& m) { return m.mutable_functions(0); }},
      {"LaunchBounds", [](auto& m) { return m.mutable_functions(0)->mutable_launch_bounds(); }},
      {"Location", [](auto& m) { return m.mutable_functions(0)->mutable_location(); }},
      {"Value", [](auto& m) { return m.mutable_functions(0)->mutable_parameters(1); }},
      {"Value",
       [](auto& m) { return m.mutable_functions(0)->mutable_blocks(1)->mutable_arguments(0); }},
      {"Block", [](auto& m) { return m.mutable_functions(0)->mutable_blocks(1); }},
      {"Operation", [](auto& m) { return &op(m, kLoad); }},
      {"Location", [](auto& m) { return op(m, kLoad).mutable_location(); }},
      {"MemoryAccess", [](auto& m) { return op(m, kLoad).mutable_memory(); }},
      {"Barrier", [](auto& m) { return op(m, kBarrier).mutable_barrier(); }},
      {"Fence", [](auto& m) { return op(m, kFence).mutable_fence(); }},
      {"Atomic", [](auto& m) { return op(m, kRmw).mutable_atomic(); }},
      {"AsyncCopy", [](auto& m) { return op(m, kCopy).mutable_async_copy(); }},
      {"Narrow", [](auto& m) { return op(m, kEncode).mutable_narrow(); }},
      {"MmaDescriptor", [](auto& m) { return op(m, kMma).mutable_mma(); }},
      {"EpilogueDescriptor", [](auto& m) { return op(m, kEpilogue).mutable_epilogue(); }},
      {"TransferDescriptor", [](auto& m) { return op(m, kTransfer).mutable_transfer(); }},
      {"Edge", [](auto& m) { return op(m, kBr).mutable_edges(1); }},
      {"Launch",
       [](auto& m) {
         return m.mutable_functions(1)->mutable_blocks(0)->mutable_operations(1)->mutable_launch();
       }},
  };
  const std::string field = "\xc0\x3e\x01";
  for (const Case& c : cases) {
    SCOPED_TRACE(c.message);
    expectRefused(DiagId::ProtoUnknownField, std::string(c.message) + " has a field of number 1000",
                  [&](auto& m) {
                    google::protobuf::MessageLite* part = c.find(m);
                    ASSERT_TRUE(part->ParseFromString(part->SerializeAsString() + field));
                  });
  }
  expectRefused(message().SerializeAsString() + field, DiagId::ProtoUnknownField,
                "Module has a field of number 1000");
}

TEST(Proto, RefusesUnknownEnumerators) {
  struct Case {
    std::string_view wanted;
    std::function<void(proto::Module&, int)> set;
  };
#define SET(field, Enum) field(static_cast<proto::Enum>(n))
  const Case cases[] = {
      {"operation 1 (load): memory.cache",
       [](auto& m, int n) { op(m, kLoad).mutable_memory()->SET(set_cache, CacheHint); }},
      {"operation 3 (gpu.thread_id): dimension",
       [](auto& m, int n) { op(m, kThread).SET(set_dimension, Dimension); }},
      {"barrier.order",
       [](auto& m, int n) { op(m, kBarrier).mutable_barrier()->SET(set_order, MemoryOrder); }},
      {"regions",
       [](auto& m, int n) { op(m, kBarrier).mutable_barrier()->SET(add_regions, Region); }},
      {"fence.order",
       [](auto& m, int n) { op(m, kFence).mutable_fence()->SET(set_order, MemoryOrder); }},
      {"fence.scope", [](auto& m, int n) { op(m, kFence).mutable_fence()->SET(set_scope, Scope); }},
      {"atomic.order",
       [](auto& m, int n) { op(m, kRmw).mutable_atomic()->SET(set_order, MemoryOrder); }},
      {"atomic.scope", [](auto& m, int n) { op(m, kRmw).mutable_atomic()->SET(set_scope, Scope); }},
      {"atomic.combine",
       [](auto& m, int n) { op(m, kRmw).mutable_atomic()->SET(set_combine, Combine); }},
      {"atomic.failure_order",
       [](auto& m, int n) { op(m, kCas).mutable_atomic()->SET(set_failure_order, MemoryOrder); }},
      {"(subgroup.reduce): combine",
       [](auto& m, int n) { op(m, kReduce).SET(set_combine, Combine); }},
      {"narrow.format",
       [](auto& m, int n) { op(m, kEncode).mutable_narrow()->SET(set_format, FloatFormat); }},
      {"fast_math", [](auto& m, int n) { op(m, kFmul).SET(add_fast_math, FastMath); }},
      {"layout_a", [](auto& m, int n) { op(m, kMma).mutable_mma()->SET(set_layout_a, Layout); }},
      {"scale_format_b",
       [](auto& m, int n) { op(m, kMma).mutable_mma()->SET(set_scale_format_b, ElementFormat); }},
      {"slots", [](auto& m, int n) { op(m, kMma).mutable_mma()->SET(add_slots, Slot); }},
      {"activation",
       [](auto& m, int n) {
         op(m, kEpilogue).mutable_epilogue()->SET(set_activation, Activation);
       }},
      {"direction",
       [](auto& m, int n) { op(m, kTransfer).mutable_transfer()->SET(set_direction, Direction); }},
      {"inline_hint",
       [](auto& m, int n) { m.mutable_functions(1)->SET(set_inline_hint, InlineHint); }},
      {"kind", [](auto& m, int n) { m.add_types()->SET(set_kind, TypeKind); }},
      {"space",
       [](auto& m, int n) {
         m.add_types()->set_kind(proto::TYPE_KIND_PTR);
         m.mutable_types(m.types_size() - 1)->SET(set_space, Space);
       }},
  };
#undef SET
  for (const Case& c : cases) {
    for (int n : {0, 77, -1, 1 << 30}) {
      SCOPED_TRACE(std::string(c.wanted) + " " + std::to_string(n));
      expectRefused(DiagId::ProtoUnknownEnum, std::string(c.wanted) + " is " + std::to_string(n),
                    [&](auto& m) { c.set(m, n); });
    }
  }
}

TEST(Proto, RefusesUnknownOperations) {
  expectRefused(DiagId::ProtoUnknownOperation, "'tensor.mna'",
                [](auto& m) { m.add_operations("tensor.mna"); });
}

TEST(Proto, RefusesIndicesOutOfRange) {
  struct Case {
    std::string_view wanted;
    std::function<void(proto::Module&, uint32_t)> set;
  };
  const Case cases[] = {
      {"operation 1: the operation is", [](auto& m, uint32_t n) { op(m, kLoad).set_operation(n); }},
      {"(load): an operand is", [](auto& m, uint32_t n) { op(m, kLoad).set_operands(0, n); }},
      {"(load): the element type is",
       [](auto& m, uint32_t n) { op(m, kLoad).set_element_type(n); }},
      {"(const): the result type is",
       [](auto& m, uint32_t n) { op(m, kConst).set_result_type(n); }},
      {"(br): the target is",
       [](auto& m, uint32_t n) { op(m, kBr).mutable_edges(1)->set_block(n); }},
      {"(br): an operand is",
       [](auto& m, uint32_t n) { op(m, kBr).mutable_edges(0)->set_arguments(0, n); }},
      {"(call): the callee is",
       [](auto& m, uint32_t n) {
         m.mutable_functions(0)->mutable_blocks(2)->mutable_operations(0)->set_callee(n);
       }},
      {"(gpu.launch): the kernel is",
       [](auto& m, uint32_t n) {
         m.mutable_functions(1)
             ->mutable_blocks(0)
             ->mutable_operations(1)
             ->mutable_launch()
             ->set_kernel(n);
       }},
      {"the location's file is",
       [](auto& m, uint32_t n) { op(m, kLoad).mutable_location()->set_file(n); }},
      {"function @h: the type of a parameter is",
       [](auto& m, uint32_t n) { m.mutable_functions(1)->mutable_parameters(0)->set_type(n); }},
      {"function @h: the result type is",
       [](auto& m, uint32_t n) { m.mutable_functions(1)->set_result_type(n); }},
      {"block 1: the type of an argument is",
       [](auto& m, uint32_t n) {
         m.mutable_functions(0)->mutable_blocks(1)->mutable_arguments(0)->set_type(n);
       }},
  };
  for (const Case& c : cases) {
    for (uint32_t n : {1000u, UINT32_MAX}) {
      SCOPED_TRACE(c.wanted);
      expectRefused(DiagId::ProtoIndex,
                    std::string(c.wanted) + " number " + std::to_string(n) + ", but",
                    [&](auto& m) { c.set(m, n); });
    }
  }
}

TEST(Proto, RefusesNumbersThatDoNotFit) {
  expectRefused(DiagId::ProtoRange, "(async.copy): async_copy.transaction is 260, above",
                [](auto& m) { op(m, kCopy).mutable_async_copy()->set_transaction(260); });
  expectRefused(DiagId::ProtoRange, "line is 268435456",
                [](auto& m) { op(m, kLoad).mutable_location()->set_line(1u << 28); });
  expectRefused(DiagId::ProtoRange, "column is 4194304",
                [](auto& m) { op(m, kLoad).mutable_location()->set_column(1u << 22); });
  expectRefused(DiagId::ProtoRange, "rows is 65552", [](auto& m) {
    proto::Type& t = *m.add_types();
    t.set_kind(proto::TYPE_KIND_TILE);
    t.set_rows(65552);
    t.set_columns(16);
    t.set_format(proto::ELEMENT_FORMAT_F32);
  });
}

TEST(Proto, RefusesZeroBytesInNames) {
  const std::string bad("a\0b", 3);
  expectRefused(DiagId::ProtoName, "operation 1 (load)",
                [&](auto& m) { op(m, kLoad).set_name(bad); });
  expectRefused(DiagId::ProtoName, "block 1",
                [&](auto& m) { m.mutable_functions(0)->mutable_blocks(1)->set_name(bad); });
  expectRefused(DiagId::ProtoName, "function @h",
                [&](auto& m) { m.mutable_functions(1)->mutable_parameters(0)->set_name(bad); });
}

TEST(Proto, RefusesTwoFunctionsOfOneName) {
  expectRefused(DiagId::IrRedefinition, "@k is defined twice",
                [](auto& m) { m.mutable_functions(1)->set_name("k"); });
}

TEST(Proto, RefusesOperationsOfAnotherShape) {
  struct Case {
    std::string_view wanted;
    std::function<void(proto::Module&)> change;
  };
  const Case cases[] = {
      {"(load): it takes 1 operands, not 2", [](auto& m) { op(m, kLoad).add_operands(0); }},
      {"(gpu.launch): it takes at least 6 operands, not 2",
       [](auto& m) {
         m.mutable_functions(1)
             ->mutable_blocks(0)
             ->mutable_operations(1)
             ->mutable_operands()
             ->Truncate(2);
       }},
      {"(gpu.launch): it takes at least 9 operands, not 8",
       [](auto& m) {
         proto::Launch& l =
             *m.mutable_functions(1)->mutable_blocks(0)->mutable_operations(1)->mutable_launch();
         l.clear_kernel();
         l.set_has_shared(true);
         l.set_has_stream(true);
       }},
      {"(ret): it takes up to 1 operands, not 2",
       [](auto& m) {
         proto::Operation& r = *m.mutable_functions(1)->mutable_blocks(0)->mutable_operations(2);
         r.add_operands(0);
         r.add_operands(0);
       }},
      {"(load): its attribute is 'memory', not 'nothing'",
       [](auto& m) { op(m, kLoad).clear_attribute(); }},
      {"(load): its attribute is 'memory', not 'constant'",
       [](auto& m) { op(m, kLoad).set_constant(0); }},
      {"(fmul): its attribute is 'nothing', not 'callee'",
       [](auto& m) { op(m, kFmul).set_callee(0); }},
      {"(br): it has 2 edges, not 1", [](auto& m) { op(m, kBr).mutable_edges()->RemoveLast(); }},
      {"(load): it has 0 edges, not 1", [](auto& m) { op(m, kLoad).add_edges(); }},
      {"(load): the element type is missing", [](auto& m) { op(m, kLoad).clear_element_type(); }},
      {"(fmul): it has no element type", [](auto& m) { op(m, kFmul).set_element_type(0); }},
      {"(barrier): it has no result", [](auto& m) { op(m, kBarrier).set_result_type(0); }},
      {"(barrier): it has a name", [](auto& m) { op(m, kBarrier).set_name("x"); }},
      {"(load): its result is f32, not i32",
       [](auto& m) { op(m, kLoad).set_result_type(op(m, kConst).result_type()); }},
      {"(cmp.slt): its result is i1",
       [](auto& m) { op(m, kCmp).set_result_type(op(m, kConst).result_type()); }},
      {"(encode): its result is i8",
       [](auto& m) { op(m, kEncode).set_result_type(op(m, kConst).result_type()); }},
      {"(decode): only encode saturates",
       [](auto& m) { op(m, kDecode).mutable_narrow()->set_saturate(true); }},
      {"only atomic.cas has a failure_order",
       [](auto& m) {
         op(m, kRmw).mutable_atomic()->set_failure_order(proto::MEMORY_ORDER_RELAXED);
       }},
      {"only atomic.rmw has a combine",
       [](auto& m) { op(m, kCas).mutable_atomic()->set_combine(proto::COMBINE_ADD); }},
      {"5 slots for 4 operands",
       [](auto& m) { op(m, kMma).mutable_mma()->add_slots(proto::SLOT_HI); }},
      {"not in increasing order",
       [](auto& m) { op(m, kMma).mutable_mma()->add_slots(proto::SLOT_D); }},
      {"6 dimensions; there are at most 5",
       [](auto& m) {
         for (int i = 0; i < 4; ++i) op(m, kTransfer).mutable_transfer()->add_tile(1);
       }},
      {"2 dimensions, but 3 numbers in 'stride'",
       [](auto& m) { op(m, kTransfer).mutable_transfer()->add_stride(1); }},
      {"only a pointer has a space",
       [](auto& m) {
         m.add_types()->set_kind(proto::TYPE_KIND_I8);
         m.mutable_types(m.types_size() - 1)->set_space(proto::SPACE_GLOBAL);
       }},
      {"only a tile has rows",
       [](auto& m) {
         m.add_types()->set_kind(proto::TYPE_KIND_I8);
         m.mutable_types(m.types_size() - 1)->set_rows(1);
       }},
      {"at least one row",
       [](auto& m) {
         m.add_types()->set_kind(proto::TYPE_KIND_TILE);
         m.mutable_types(m.types_size() - 1)->set_format(proto::ELEMENT_FORMAT_F32);
       }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.wanted);
    expectRefused(DiagId::ProtoShape, c.wanted, c.change);
  }
  // A launch's status is an i32, and there is one.
  expectRefused(DiagId::ProtoShape, "(gpu.launch.status): its result is i32, not void",
                [](auto& m) {
                  m.add_operations("gpu.launch.status");
                  m.mutable_functions(1)->mutable_blocks(0)->mutable_operations(1)->set_operation(
                      static_cast<uint32_t>(m.operations_size() - 1));
                });
  expectRefused(DiagId::ProtoShape, "(const): the result type is missing", [](auto& m) {
    proto::Operation& o = *m.mutable_functions(1)->mutable_blocks(0)->add_operations();
    o = op(m, kConst);
    o.clear_name();
    o.clear_result_type();
  });
}

TEST(Proto, ReportsAllProblems) {
  proto::Module m = message();
  op(m, kLoad).clear_attribute();
  op(m, kThread).set_dimension(proto::DIMENSION_UNSPECIFIED);
  m.mutable_functions(1)->mutable_blocks(0)->mutable_operations(0)->set_callee(9);
  SourceManager sources;
  DiagnosticEngine diags;
  EXPECT_EQ(readProto(sources, "f", m.SerializeAsString(), diags), nullptr);
  ASSERT_EQ(diags.errorCount(), 3) << renderHuman(diags, sources);
  EXPECT_EQ(diags.all()[0].id, DiagId::ProtoShape);
  EXPECT_EQ(diags.all()[1].id, DiagId::ProtoUnknownEnum);
  EXPECT_EQ(diags.all()[2].id, DiagId::ProtoIndex);
}

// Little input that would take much memory.
TEST(Proto, RefusesWhatIsTooLarge) {
  proto::Module head = message();
  std::string bytes = head.SerializeAsString();
  bytes.reserve(bytes.size() + 2 * kMaxProtoRecords);
  for (size_t i = 0; i < kMaxProtoRecords; ++i) bytes += std::string_view("\x32\x00", 2);
  expectRefused(bytes, DiagId::ProtoTooLarge, "messages; readers take at most 4194304");
  expectRefused(DiagId::ProtoTooLarge, "16384 files", [](auto& m) {
    while (m.files_size() < 16384) m.add_files("x");
  });
  expectRefused(DiagId::ProtoTooLarge, "operands; readers take at most 16777216", [](auto& m) {
    op(m, kLoad).mutable_operands()->Resize(static_cast<int>(kMaxProtoOperands) + 1, 0);
  });
  expectRefused(std::string(kMaxProtoBytes + 1, 'x'), DiagId::ProtoTooLarge, "268435457 bytes");
}

}  // namespace
}  // namespace mtlc::ir
