#include "mtlc/codegen/ptx/ptx.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "mtlc/ir/builder.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"

namespace mtlc {
namespace {

using ir::kF32;
using ir::kI1;
using ir::kI32;
using ir::kI64;

class PtxTest : public testing::Test {
 protected:
  std::unique_ptr<ir::Module> parse(std::string text) {
    FileId file = sources_.add("test.mtir", std::move(text));
    std::unique_ptr<ir::Module> module = ir::parseModule(sources_, file, diags_);
    EXPECT_TRUE(module != nullptr && ir::verify(*module, diags_)) << renderHuman(diags_, sources_);
    return module;
  }

  std::optional<std::string> emit(ir::Module& module, std::string_view arch,
                                  std::optional<PtxVersion> version = {}) {
    std::optional<PtxProfile> profile = PtxProfile::resolve(arch, version, diags_);
    return emitPtx(module, {*profile, false}, diags_);
  }

  static int count(std::string_view text, std::string_view what) {
    int n = 0;
    for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++n;
    return n;
  }

  SourceManager sources_;
  DiagnosticEngine diags_;
};

const ir::Type kGlobalPtr = ir::Type::ptr(ir::Space::Global);

// A kernel whose parameters are `count` i64, all used.
void addWideKernel(ir::Module& module, int count) {
  ir::FunctionSpec spec;
  spec.name = "wide";
  spec.isKernel = true;
  spec.params.assign(static_cast<size_t>(count), kI64);
  ir::Function* f = module.addFunction(spec);
  ir::Builder b(module);
  b.setInsertEnd(f->addBlock("entry"));
  b.ret();
}

// The device verifier refuses host operations in kernels (D07); without it the emitter does.
TEST_F(PtxTest, HostOperationsAreRefused) {
  std::unique_ptr<ir::Module> module = parse(R"(module "m"
func @f() {
^entry:
  ret
}
kernel @k() {
^entry:
  %p = func.addr @f : ptr<generic>
  call.indirect %p()
  ret
}
)");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(emit(*module, "sm_90"), std::nullopt);
  ASSERT_EQ(diags_.errorCount(), 2);
  EXPECT_EQ(diags_.all()[0].id, DiagId::PtxNoLowering);
}

TEST_F(PtxTest, ParametersThatDoNotFit) {
  ir::Module module(sources_);
  addWideKernel(module, 513);
  EXPECT_FALSE(emit(module, "sm_75").has_value());
  ASSERT_EQ(diags_.errorCount(), 1);
  EXPECT_EQ(diags_.all().front().id, DiagId::PtxParamsTooLarge);
  EXPECT_NE(diags_.all().front().hint.find("PTX 8.1"), std::string::npos);
  diags_.clear();
  EXPECT_TRUE(emit(module, "sm_75", PtxVersion{8, 1}).has_value());
  ir::Module larger(sources_);
  addWideKernel(larger, 4096);
  EXPECT_FALSE(emit(larger, "gb10").has_value());
  EXPECT_EQ(diags_.all().front().id, DiagId::PtxParamsTooLarge);
}

TEST_F(PtxTest, SameInputSameBytes) {
  const char* text = R"(module "m"
func @helper(%x: f32) -> f32 {
^entry:
  %y = exp %x : f32
  ret %y
}
kernel @k(%o: ptr<global>, %x: f32) {
^entry:
  %y = call @helper(%x) : f32
  %z = log %y : f32
  store f32, %z, %o : ptr<global>
  ret
}
)";
  std::optional<std::string> first = emit(*parse(text), "gb10");
  std::optional<std::string> second = emit(*parse(text), "gb10");
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(*first, *second);
  // Emitting again gives the same code: what was expanded in place stays.
  std::unique_ptr<ir::Module> module = parse(text);
  EXPECT_EQ(emit(*module, "gb10"), first);
  EXPECT_EQ(emit(*module, "gb10"), first);
}

// The device verifier refuses recursion and external calls; the emitter itself must end all the
// same.
TEST_F(PtxTest, FunctionsThatCallEachOtherAreDeclaredFirst) {
  std::unique_ptr<ir::Module> module = parse(R"(module "m"
func @a(%n: i32) {
^entry:
  call @b(%n)
  ret
}
func @b(%n: i32) {
^entry:
  call @a(%n)
  ret
}
kernel @k(%n: i32) {
^entry:
  call @a(%n)
  ret
}
)");
  std::optional<std::string> ptx = emit(*module, "gb10");
  ASSERT_TRUE(ptx.has_value());
  size_t prototype = ptx->find(".func a(\n\t.param .b32 a_param_0\n);");
  EXPECT_NE(prototype, std::string::npos) << *ptx;
  EXPECT_LT(prototype, ptx->find(".func b("));
  EXPECT_EQ(count(*ptx, "\ncall") + count(*ptx, "\tcall"), 3);
}

// One loop in another, `depth` times.
void addNest(ir::Module& module, int depth) {
  ir::FunctionSpec spec;
  spec.name = "nest";
  spec.isKernel = true;
  spec.params = {kGlobalPtr, kI32};
  ir::Function* f = module.addFunction(spec);
  ir::Builder b(module);
  ir::Block* at = f->addBlock("entry");
  b.setInsertEnd(at);
  ir::Value* zero = b.constInt(kI32, 0);
  ir::Value* one = b.constInt(kI32, 1);
  std::vector<ir::Block*> heads, exits;
  for (int i = 0; i < depth; ++i) {
    ir::Block* head = f->addBlock();
    ir::Block* body = f->addBlock();
    ir::Block* exit = f->addBlock();
    ir::Value* index = head->addArg(kI32);
    b.jump(head, std::vector<ir::Value*>{zero});
    b.setInsertEnd(head);
    b.br(b.compare(ir::Opcode::CmpSlt, index, f->param(1)), body, exit);
    b.setInsertEnd(body);
    heads.push_back(head);
    exits.push_back(exit);
  }
  b.store(kI32, one, f->param(0));
  for (int i = depth - 1; i >= 0; --i) {
    ir::Value* next = b.add(heads[static_cast<size_t>(i)]->arg(0), one);
    b.jump(heads[static_cast<size_t>(i)], std::vector<ir::Value*>{next});
    b.setInsertEnd(exits[static_cast<size_t>(i)]);
  }
  b.ret();
}

TEST_F(PtxTest, DeepLoopNest) {
  constexpr int kDepth = 100;
  ir::Module module(sources_);
  addNest(module, kDepth);
  std::optional<std::string> ptx = emit(module, "gb10");
  ASSERT_TRUE(ptx.has_value());
  EXPECT_EQ(count(*ptx, "st.global.b32"), 1);
  // Each counter is one register: set to 0 once, counted up in place.
  EXPECT_EQ(count(*ptx, "\tmov.b32"), kDepth);
  EXPECT_EQ(count(*ptx, "\tadd.s32"), kDepth);
  // A nest that is too deep for that ends all the same, the innermost loops still without copies.
  ir::Module deep(sources_);
  addNest(deep, 3000);
  ptx = emit(deep, "gb10");
  ASSERT_TRUE(ptx.has_value());
  size_t innermost = ptx->find("st.global.b32");
  EXPECT_EQ(count(ptx->substr(innermost, 500), "\tmov.b32"), 0);
}

// `vars` values live through `ifs` conditionals that each change one of them.
void addWebs(ir::Module& module, int ifs, int vars) {
  ir::FunctionSpec spec;
  spec.name = "webs";
  spec.isKernel = true;
  spec.params = {kGlobalPtr, kI32};
  ir::Function* f = module.addFunction(spec);
  ir::Builder b(module);
  b.setInsertEnd(f->addBlock("entry"));
  std::vector<ir::Value*> values;
  for (int v = 0; v < vars; ++v) values.push_back(b.load(kI32, f->param(0)));
  ir::Value* one = b.constInt(kI32, 1);
  for (int i = 0; i < ifs; ++i) {
    ir::Block* then = f->addBlock();
    ir::Block* join = f->addBlock();
    ir::Value*& changed = values[static_cast<size_t>(i % vars)];
    ir::Value* merged = join->addArg(kI32);
    ir::Value* condition = b.compare(ir::Opcode::CmpSlt, changed, f->param(1));
    std::vector<ir::Value*> unchanged = {changed};
    b.br(condition, then, join, {}, unchanged);
    b.setInsertEnd(then);
    std::vector<ir::Value*> sum = {b.add(changed, one)};
    b.jump(join, sum);
    b.setInsertEnd(join);
    changed = merged;
  }
  for (ir::Value* v : values) b.store(kI32, v, f->param(0));
  b.ret();
}

TEST_F(PtxTest, VariablesThroughManyConditionals) {
  ir::Module module(sources_);
  addWebs(module, 3000, 4);
  std::optional<std::string> ptx = emit(module, "gb10");
  ASSERT_TRUE(ptx.has_value());
  EXPECT_EQ(count(*ptx, "\tmov."), 0);
  // Too many long live ranges to look at them all: the code has copies then, and still ends soon.
  ir::Module large(sources_);
  addWebs(large, 20000, 500);
  ptx = emit(large, "gb10");
  ASSERT_TRUE(ptx.has_value());
  EXPECT_EQ(count(*ptx, "\tadd.s32"), 20000);
}

TEST_F(PtxTest, WhatPassesMayAsk) {
  DiagnosticEngine diags;
  PtxTargetInfo old(*PtxProfile::resolve("portable", {}, diags));
  PtxTargetInfo recent(*PtxProfile::resolve("gb10", {}, diags));
  EXPECT_EQ(recent.name(), "sm_121a");
  EXPECT_EQ(recent.subgroupSize(), 32u);
  ir::Module module(sources_);
  ir::FunctionSpec spec;
  spec.name = "f";
  spec.params = {kF32, ir::kF64};
  ir::Function* f = module.addFunction(spec);
  ir::Builder b(module);
  b.setInsertEnd(f->addBlock());
  auto op = [&](ir::Opcode opcode, unsigned param, uint8_t flags) -> const ir::Operation& {
    return *b.unary(opcode, f->param(param), flags)->def();
  };
  EXPECT_TRUE(old.isNative(op(ir::Opcode::FSqrt, 0, 0)));
  EXPECT_FALSE(old.isNative(op(ir::Opcode::Exp, 0, 0)));
  EXPECT_TRUE(old.isNative(op(ir::Opcode::Exp, 0, ir::kApprox)));
  EXPECT_FALSE(old.isNative(op(ir::Opcode::Exp, 1, ir::kApprox)));
  EXPECT_FALSE(old.isNative(op(ir::Opcode::Tanh, 0, ir::kApprox)));
  EXPECT_TRUE(recent.isNative(op(ir::Opcode::Tanh, 0, ir::kApprox)));
}

}  // namespace
}  // namespace mtlc
