// Every refusal of the PTX reader and decoder, provoked by a small module, with its place.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "mtlc/sim/testing/harness.h"

namespace mtlc::sim {
namespace {

enum class Where { column, line };

// `source` holds one backquote, which is no character of PTX: the refusal points at what follows.
struct Case {
  DiagId id;
  std::string source;
  Where where = Where::column;
};

std::string inModule(std::string_view text) {
  return ".version 8.0\n.target sm_80\n.address_size 64\n" + std::string(text) + "\n";
}

std::string withKernel(std::string_view header, std::string_view body) {
  return std::string(header) +
         "\n.visible .entry k(.param .u64 a)\n{\n"
         ".reg .pred %p<4>;\n.reg .b16 %h<4>;\n.reg .b32 %r<4>;\n.reg .b64 %rd<5>;\n"
         ".reg .f32 %f<4>;\n" +
         std::string(body) + "\nret;\n}\n";
}

// `body` in a kernel, behind the declarations `text`.
std::string inKernel(std::string_view body, std::string_view text = "") {
  return withKernel(inModule(text), body);
}

std::string repeated(std::string_view text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

std::vector<Case> cases() {
  constexpr std::string_view kFunction = ".visible .func f(.param .b32 x)\n{\nret;\n}";
  return {
      {DiagId::PtxTensorRank,
       ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %r<4>;\n"
       ".reg .b64 %rd<4>;\ncp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd0, {`%r0}], "
       "[%r1];\nret;\n}\n"},
      {DiagId::PtxCopySize, inKernel("cp.async.ca.shared.global [%r0], [%rd0], `3;")},
      {DiagId::PtxExpected, "`.global .u32 x;"},
      {DiagId::PtxExpected, inModule(".global .u32 x `y;")},
      {DiagId::PtxExpected, inModule(".func f()\n{\nret;") + "`"},
      {DiagId::PtxExpected, inKernel("add.s32 %r0, %r1 `%r2;")},
      {DiagId::PtxUnterminated, inModule("`/* no end\n\n")},
      {DiagId::PtxUnterminated, inModule(".file 1 `\"a.cu")},
      {DiagId::PtxBadCharacter, inModule(".global .u32 x; `#")},
      {DiagId::PtxBadCharacter, inModule(".global .u32 `\xc3\xa9 x;")},
      {DiagId::PtxBadLiteral, ".version `8\n.target sm_80\n.address_size 64\n"},
      {DiagId::PtxBadLiteral, inModule(".global .u64 x = `18446744073709551616;")},
      {DiagId::PtxBadLiteral, inKernel("mov.f32 %f0, `0f3F80000;")},
      {DiagId::PtxBadLiteral, inKernel("mov.u32 %r0, `09;")},
      {DiagId::PtxBadConstant, inModule(".global .u32 x = 1 `/ 0;")},
      {DiagId::PtxBadConstant, inModule(".global .u32 x = 1 `% 0;")},
      {DiagId::PtxBadConstant, inModule(".global .u32 x = `~1.5;")},
      {DiagId::PtxBadConstant, inModule(".global .u32 x;\n.global .u8 y = `0xF0F(x);")},
      {DiagId::PtxBadConstant, inKernel("ld.global.u32 %r0, `[1.5];")},
      {DiagId::PtxOutOfRange, inModule(".global .u32 x[`-1];")},
      {DiagId::PtxOutOfRange, inModule(".global .u32 x[`1.5];")},
      {DiagId::PtxOutOfRange, inKernel(".reg .b32 %x<`4000000000>;")},
      {DiagId::PtxTooDeep,
       inModule("`.global .u32 x = " + repeated("(", 5000) + "1" + repeated(")", 5000) + ";"),
       Where::line},
      {DiagId::PtxTooDeep, inModule("`.global .u32 x = " + repeated("-", 5000) + "1;"),
       Where::line},
      {DiagId::PtxExpected,
       inModule(".global .u32 x = {`" + repeated("{", 5000) + "1" + repeated("}", 5001) + ";")},
      {DiagId::PtxTooDeep, inKernel("`" + repeated("{", 5000) + repeated("}", 5000)), Where::line},
      {DiagId::PtxTooDeep,
       inKernel("`mov.b64 %rd0, " + repeated("{", 5000) + "%r0" + repeated("}", 5000) + ";"),
       Where::line},
      {DiagId::PtxTooLarge, inModule(".global .b8 `x[65536][65537];")},
      {DiagId::PtxTooLarge, inModule(".global .u64 `x[4294967295];")},
      {DiagId::PtxTooLarge, inKernel(".shared .b8 `x[1000000000];")},
      {DiagId::PtxTooLarge, inKernel(".local .b8 `x[1000000000];")},
      {DiagId::PtxUnknownDirective, inModule("`.banana;")},
      {DiagId::PtxUnknownDirective, inModule(".visible .entry k()\n`.banana\n{\nret;\n}")},
      {DiagId::PtxUnknownDirective, inKernel("`.banana;")},
      {DiagId::PtxUnknownType, inModule(".global `.u33 x;")},
      {DiagId::PtxUnknownType, inModule(".global .pred `x;")},
      {DiagId::PtxUnknownType, inKernel(".reg .b32 `x[4];")},
      {DiagId::PtxUnknownTarget, ".version 8.0\n.target `tm_80\n.address_size 64\n"},
      {DiagId::PtxUnknownTarget, ".version 8.0\n.target `sm_80x\n.address_size 64\n"},
      {DiagId::PtxAddressSize, ".version 8.0\n.target sm_80\n.address_size `32\n"},
      {DiagId::PtxNotAtModuleLevel, inModule("`.reg .u32 x;")},
      {DiagId::PtxNotAtModuleLevel, inModule("`.local .u32 x;")},
      {DiagId::PtxBadAlignment, inModule(".global `.align 3 .u32 x;")},
      {DiagId::PtxBadAlignment, inModule(".global `.align 0 .u32 x;")},
      {DiagId::PtxTooManyInitialisers, inModule(".global .u32 x[2] = `{1, 2, 3};")},
      {DiagId::PtxUnknownModifier, inKernel("add`.banana.s32 %r0, %r1, %r2;")},
      {DiagId::PtxUndefined, inModule(".global .u64 x = `y;")},
      {DiagId::PtxUndefined, inModule(".alias f, `g;")},
      {DiagId::PtxUndefined, inKernel("mov.u32 %r0, `%nope;")},
      {DiagId::PtxUndefined, inKernel("mov.u32 %r0, `%r4;")},
      {DiagId::PtxUndefined, inKernel("bra `nowhere;")},
      {DiagId::PtxUndefined, inKernel("brx.idx %r0, `nowhere;")},
      {DiagId::PtxUndefined, inKernel("t: .branchtargets `nowhere;\nbrx.idx %r0, t;")},
      {DiagId::PtxRedefined, inModule(".global .u32 x;\n.global .u32 `x;")},
      {DiagId::PtxRedefined, inModule(".func f()\n{\nret;\n}\n.func `f()\n{\nret;\n}")},
      {DiagId::PtxRedefined, inModule(".global .u32 f;\n.func `f()\n{\nret;\n}")},
      {DiagId::PtxRedefined, inKernel(".reg .b32 x;\n.reg .b32 `x;")},
      {DiagId::PtxRedefined, inKernel(".reg .b32 x<2>;\n.reg .f32 `x<3>;")},
      {DiagId::PtxRedefined, inKernel("here:\n`here:")},
      {DiagId::PtxUnknownOpcode, inKernel("`frobnicate.u32 %r0, %r1;")},
      {DiagId::PtxUnknownOpcode, inKernel("`frobnicate.gently {%r0, %r1}, [%rd0, {%r2}];")},
      // Once, and nothing else of what such an instruction holds.
      {DiagId::PtxUnsupported,
       inKernel("`tex.2d.v4.s32.s32 {%r0, %r1, %r2, %r3}, [%rd0, {%r0, %r1}];\n"
                "tex.2d.v4.s32.s32 {%r0, %r1, %r2, %r3}, [%rd0, {%r0, %r1}];")},
      {DiagId::PtxMatrixVector,
       inKernel("ldmatrix.sync.aligned.m8n8.x2.shared.b16 `{%r0}, [%r1];")},
      {DiagId::PtxMatrixSelector,
       inKernel("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3},\n"
                "{%r0, %r1}, {%r0, %r1}, {%f0, %f1, %f2, %f3}, %r0, `4;")},
      // One error for a declaration, whatever follows it.
      {DiagId::PtxExpected, inKernel("add.s32 %r0, %r1, %r2;", ".global .u32 x[2] = {1, 2 `3};")},
      {DiagId::PtxTooManyInitialisers, inModule(".global .u32 x[2][2] = {{1, 2}, `{1, 2, 3}};")},
      {DiagId::PtxExpected, inModule(".global .u32 x[2][2] = {`1, 2};")},
      {DiagId::PtxExpected, inModule(".global .u32 x[2] = `1;")},
      {DiagId::PtxTooDeep, inModule(".global .u8 `x" + repeated("[1]", 17) + ";")},
      {DiagId::PtxUnknownDirective, inModule(".func f() `.frob 3 {\nadd.s32 a, b, c;\n}")},
      {DiagId::PtxUnknownType, inModule(".func f(.param `.frob x) {\nadd.s32 a, b, c;\n}")},
      {DiagId::PtxUnknownForm, inKernel("`add.pred %p0, %p1, %p2;")},
      {DiagId::PtxUnknownForm, inKernel("`mul.s32 %r0, %r1, %r2;")},
      // PTX ISA: activemask came with PTX 6.2; redux.sync needs sm_80.
      {DiagId::PtxNeedsVersion,
       withKernel(".version 6.1\n.target sm_70\n.address_size 64\n", "`activemask.b32 %r0;")},
      {DiagId::PtxNeedsTarget, withKernel(".version 7.0\n.target sm_75\n.address_size 64\n",
                                          "`redux.sync.add.u32 %r0, %r1, 0xffffffff;")},
      // ptxas of CUDA 13 says the same of 256-bit accesses.
      {DiagId::PtxNeedsVersion, inKernel("`ld.global.v4.b64 {%rd0, %rd1, %rd2, %rd3}, [%rd4];")},
      {DiagId::PtxNeedsTarget, withKernel(".version 8.8\n.target sm_90\n.address_size 64\n",
                                          "`ld.global.v4.b64 {%rd0, %rd1, %rd2, %rd3}, [%rd4];")},
      {DiagId::PtxOperandCount, inKernel("`add.s32 %r0, %r1;")},
      {DiagId::PtxOperandCount, inKernel("`mov.u32 %r0;")},
      {DiagId::PtxOperandCount, inKernel("`bra here, here;\nhere:")},
      {DiagId::PtxOperandCount, inKernel("`bar.sync;")},
      {DiagId::PtxOperandCount, inKernel("`bar.red.popc.u32 %r0;")},
      {DiagId::PtxOperandType, inKernel("add.s32 %r0, %r1, `%rd0;")},
      {DiagId::PtxOperandType, inKernel("add.s32 `%f0, %r1, %r2;")},
      {DiagId::PtxOperandType, inKernel("add.f32 %f0, %f1, `1;")},
      {DiagId::PtxOperandType, inKernel("add.s32 %r0, %r1, `1.0;")},
      {DiagId::PtxOperandType, inKernel("@%r0 `add.s32 %r0, %r1, %r2;")},
      {DiagId::PtxOperandType, inKernel("mov.u64 %rd0, `%tid.x;")},
      {DiagId::PtxOperandKind, inKernel("add.u32 %r0, %r1, `%tid.x;")},
      {DiagId::PtxOperandKind, inKernel("add.s32 %r0, %r1, `-%r2;")},
      {DiagId::PtxOperandKind, inKernel("mov.b64 %rd0, `{-%r1, %r2};")},
      {DiagId::PtxOperandKind, inKernel("vadd.u32.u32.u32 %r0, %r1, `%r2.b4;")},
      {DiagId::PtxOperandKind, inKernel("vadd.u32.u32.u32 `%r0, %r1, %r2, %r3;")},
      {DiagId::PtxOperandKind, inKernel("vadd2.u32.u32.u32 `%r0.h01, %r1, %r2, %r3;")},
      {DiagId::PtxOperandKind, inKernel("vadd4.u32.u32.u32 %r0, `%r1.b012, %r2, %r3;")},
      {DiagId::PtxOperandKind, inKernel("vmad.u32.u32.u32 %r0, -%r1, %r2, `-%r3;")},
      {DiagId::PtxOperandKind, inKernel("add.s32 %r0, %r1, `[%rd2];")},
      {DiagId::PtxOperandKind, inKernel("add.s32 `5, %r1, %r2;")},
      {DiagId::PtxOperandKind, inKernel("add.s32 %r0, `!%r1, %r2;")},
      {DiagId::PtxOperandKind, inKernel("add.s32 %r0, %r1, `_;")},
      {DiagId::PtxOperandKind, inKernel("ld.global.u32 %r0, `%rd0;")},
      {DiagId::PtxOperandKind, inKernel("bra `5;")},
      {DiagId::PtxImmediateRange, inKernel("add.u32 %r0, %r1, `4294967296;")},
      {DiagId::PtxImmediateRange, inKernel("add.u16 %h0, %h1, `65536;")},
      {DiagId::PtxImmediateRange, inKernel("add.s32 %r0, %r1, `-2147483649;")},
      {DiagId::PtxWrongSpace, inKernel("ld.shared.u32 %r0, `[x];", ".global .u32 x;")},
      {DiagId::PtxWrongSpace, inKernel("ld.global.u32 %r0, `[x];", ".shared .u32 x;")},
      {DiagId::PtxWrongSpace, inKernel("ld.u32 %r0, `[x];", ".const .u32 x;")},
      {DiagId::PtxWrongSpace, inKernel("`st.param.u64 [a], %rd0;")},
      {DiagId::PtxWrongSpace, inModule(".shared .u32 x;\n.global .u64 y = `x;")},
      {DiagId::PtxCallMismatch, inKernel("`call f;", kFunction)},
      {DiagId::PtxCallMismatch, inKernel("`call (%r0), f, (%r1);", kFunction)},
      {DiagId::PtxCallMismatch, inKernel(".param .b64 y;\ncall f, (`y);", kFunction)},
      {DiagId::PtxCallsKernel, inKernel("call `k;")},
      {DiagId::PtxNoBody, inKernel("call `elsewhere;", ".extern .func elsewhere();")},
      {DiagId::PtxNoPrototype, inKernel("call `%rd0;")},
      {DiagId::PtxNoPrototype, inKernel("call `%rd0, (%r1);")},
      {DiagId::PtxBarrierNumber, inKernel("bar.sync `16;")},
      {DiagId::PtxBarrierNumber, inKernel("bar.red.popc.u32 %r0, `16, %p0;")},
      {DiagId::PtxBarrierCount, inKernel("bar.sync 0, `33;")},
      {DiagId::PtxBarrierCount, inKernel("barrier.sync 0, `0;")},
  };
}

TEST(PtxRefusals, NameTheRowAndThePlace) {
  for (const Case& c : cases()) {
    std::string source = c.source;
    size_t mark = source.find('`');
    ASSERT_NE(mark, std::string::npos) << source;
    source.erase(mark, 1);
    size_t lineStart = source.rfind('\n', mark - 1);
    lineStart = mark == 0 || lineStart == std::string::npos ? 0 : lineStart + 1;
    uint32_t line = 1 + static_cast<uint32_t>(std::count(
                            source.begin(), source.begin() + static_cast<ptrdiff_t>(mark), '\n'));
    uint32_t column = 1 + static_cast<uint32_t>(mark - lineStart);

    Harness h(source);
    SCOPED_TRACE(std::string(diagRow(c.id).name) + " in:\n" + source.substr(0, 600) + "\ngot:\n" +
                 h.errors().substr(0, 1500));
    EXPECT_FALSE(h.ok());
    ASSERT_FALSE(h.diags().all().empty());
    const Diagnostic& first = h.diags().all().front();
    EXPECT_EQ(first.id, c.id);
    EXPECT_EQ(first.range.begin.line(), line);
    if (c.where == Where::column) {
      EXPECT_EQ(first.range.begin.column(), column);
    }
    // Every argument of the message is filled in, and what follows from it has a place too.
    for (const Diagnostic& d : h.diags().all()) {
      for (std::string_view hole : {"%0", "%1", "%2"}) {
        EXPECT_EQ(d.message.find(hole), std::string::npos) << d.message;
      }
      EXPECT_GT(d.range.begin.line(), 0u) << d.message;
    }
  }
}

// What is wrong is said once: reading goes on behind it, and a function is checked once, however
// many kernels reach it.
TEST(PtxRefusals, OneFaultOneError) {
  const std::vector<std::string> sources = {
      inKernel("add.s32 %r0, %r1, %r2;", ".global .u32 x[2][2] = {{1, 2}, {3, 4, 5}}, y = {6};"),
      inKernel("add.s32 %r0, %r1, %r2;",
               ".global .v4 .u32 x = {1, 2, 3 4};\n.global .u32 z[2] = {1};"),
      inKernel("tcgen05.mma.cta_group::1.kind::f16 [%r0], %rd0, %rd1, %r1, %p0;\n"
               "tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%rd0];\n"
               "add.s32 %r0, %r1, %r2;"),
      inKernel("frobnicate {%r0, %r1}, [%rd0];\nadd.s32 %r0, %r1, %r2;"),
      inKernel("add.s32 %r0, %r1, %r2;", ".func f() .frob 3 {\nadd.s32 a, b, c;\n}"),
      inKernel("add.s32 %r0, %r1, %r2;", ".func f(.param .frob x) {\nadd.s32 a, b, c;\n}"),
      inKernel("call f;",
               ".func f()\n{\n.reg .b32 %a;\nadd.s32 %a, %a, %b;\nret;\n}\n"
               ".func g()\n{\ncall f;\nret;\n}\n.entry l() {\ncall g;\ncall f;\nret;\n}"),
  };
  for (const std::string& source : sources) {
    Harness h(source);
    EXPECT_FALSE(h.ok()) << source;
    EXPECT_EQ(h.diags().all().size(), 1u) << source << h.errors();
  }
}

// The table above has a case for each row of the reader.
TEST(PtxRefusals, AllRowsHaveACase) {
  struct Row {
    DiagId id;
    std::string_view name;
  };
  const Row rows[] = {
#define DIAG(Id, severity, message, hint) {DiagId::Id, #Id},
#include "mtlc/support/diag/sim.def"
#undef DIAG
  };
  const std::vector<Case> all = cases();
  for (const Row& row : rows) {
    if (row.name.substr(0, 3) != "Ptx") continue;
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const Case& c) { return c.id == row.id; }))
        << row.name;
  }
}

}  // namespace
}  // namespace mtlc::sim
