// Instructions of many operands: how they are printed, and that register sharing sees all of their
// operands.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "mtlc/codegen/ptx/asm_printer.h"
#include "mtlc/ir/ir.h"

namespace mtlc::ptx {
namespace {

Opnd newReg(MachineFunction& f, RegClass cls) {
  f.regs.push_back(cls);
  return Opnd::reg(static_cast<uint32_t>(f.regs.size() - 1));
}

struct Part {
  OperandGroup::Kind kind;
  std::vector<Opnd> operands;
  int32_t offset = 0;
};

void grouped(MachineFunction& f, std::string spelling, uint32_t dstGroups,
             const std::vector<Part>& parts) {
  MachineInst& inst = f.insts.emplace_back();
  inst.op = MachineOp::Grouped;
  inst.type = PtxType::U32;
  inst.offset = static_cast<int32_t>(f.grouped.size());
  f.grouped.push_back({std::move(spelling), static_cast<uint32_t>(f.groups.size()),
                       static_cast<uint32_t>(parts.size()), dstGroups, false});
  for (const Part& part : parts) {
    f.groups.push_back({part.kind, static_cast<uint32_t>(f.operands.size()),
                        static_cast<uint32_t>(part.operands.size()), part.offset});
    f.operands.insert(f.operands.end(), part.operands.begin(), part.operands.end());
  }
}

std::string print(const MachineFunction& f) {
  SourceManager sources;
  ir::Module module(sources);
  ir::Function* function = module.addFunction({.name = "k", .isKernel = true});
  std::string out;
  AsmPrinter printer(out, false, [](const ir::Function&) { return std::string_view("k"); });
  printer.printFunction(*function, f, 0);
  return out;
}

using Kind = OperandGroup::Kind;

TEST(Machine, GroupsArePrinted) {
  MachineFunction f;
  f.symbols.emplace_back();
  Opnd a = newReg(f, RegClass::B32), b = newReg(f, RegClass::B32), p = newReg(f, RegClass::B64);
  f.imms.push_back(3);
  grouped(f, "ld.global.v2.b32", 1, {{Kind::Vector, {a, b}}, {Kind::Address, {p}, 16}});
  grouped(f, "st.v2.b32", 0, {{Kind::Address, {p}}, {Kind::Vector, {b, a}}});
  grouped(f, "copy.tensor", 0, {{Kind::Address, {p, a, b}}, {Kind::Plain, {Opnd::imm(0)}}});
  f.blocks.emplace_back();
  f.blocks[0].endInst = 3;
  f.firstBlockArg = {0, 0};
  const std::string text = print(f);
  EXPECT_NE(text.find("\tld.global.v2.b32 {%r1, %r2}, [%rd1+16];\n"
                      "\tst.v2.b32 [%rd1], {%r2, %r1};\n"
                      "\tcopy.tensor [%rd1, {%r1, %r2}], 3;\n"
                      "\tret;\n"),
            std::string::npos)
      << text;
}

// The value passed to a block argument is read again after the argument has been: one register for
// both would be wrong, which only the operand list shows.
TEST(Machine, OperandListsKeepRegistersApart) {
  for (const bool usedLater : {false, true}) {
    MachineFunction f;
    f.symbols.emplace_back();
    Opnd x = newReg(f, RegClass::B32), y = newReg(f, RegClass::B32);
    Opnd p = newReg(f, RegClass::B64), arg = newReg(f, RegClass::B32);
    Opnd next = newReg(f, RegClass::B32);
    grouped(f, "load", 1, {{Kind::Vector, {x, y}}, {Kind::Address, {p}}});
    grouped(f, "step", 1, {{Kind::Vector, {next}}, {Kind::Vector, {arg}}});
    grouped(f, "store", 0, {{Kind::Address, {p}}, {Kind::Vector, {next, usedLater ? x : y}}});
    f.blocks.resize(2);
    f.blocks[0].endInst = 1;
    f.blocks[0].term = Term::Jump;
    f.blocks[0].edges[0] = {1, 0, 1};
    f.blocks[1].firstInst = 1;
    f.blocks[1].endInst = 3;
    f.copies.push_back({arg.index(), x});
    f.blockArgs = {arg.index()};
    f.firstBlockArg = {0, 0, 1};
    Coalescer coalescer;
    coalescer.run(f);
    EXPECT_EQ(coalescer.representative(arg.index()) == coalescer.representative(x.index()),
              !usedLater);
  }
}

}  // namespace
}  // namespace mtlc::ptx
